/*
 * proof.c - what each step did, by the program's own clock and the kernel's counters: the truth that
 * a case is accepted by, made without any recorder. Read between steps, written at the end.
 */
#include "trainload.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Counters of /proc/vmstat, summed by prefix: allocstall has one for each zone. */
static const char *const counters[] = {
	"compact_stall",    "compact_fail",	  "compact_migrate_scanned",
	"thp_fault_alloc",  "thp_fault_fallback", "thp_collapse_alloc",
	"allocstall",	    "pgsteal_direct",	  "pgsteal_kswapd",
	"pgmigrate_success"
};

enum { COUNTERS = sizeof(counters) / sizeof(counters[0]), TEXT = 32 << 10 };

struct reading {
	int64_t user_us, system_us, run_delay_ns, steal_ticks;
	int64_t voluntary, involuntary, small_faults, counter[COUNTERS];
};

struct row {
	int step;
	int64_t begin, end, part_ns[PART_COUNT];
	struct reading d;
};

struct proof {
	const char *path;
	int vmstat, schedstat, stat;
	struct row *rows;
	int count, limit;
	struct reading before;
	char text[TEXT];
};

static const char *read_text(struct proof *p, int fd)
{
	ssize_t n = pread(fd, p->text, sizeof(p->text) - 1, 0);

	p->text[n > 0 ? n : 0] = 0;
	return p->text;
}

static void read_vmstat(struct proof *p, struct reading *r)
{
	for (const char *line = read_text(p, p->vmstat); line && *line;) {
		const char *blank = strchr(line, ' ');

		for (int i = 0; blank && i < COUNTERS; i++) {
			size_t len = strlen(counters[i]);
			bool whole = blank == line + len;
			bool zone = line[len] == '_' && !strcmp(counters[i], "allocstall");

			if (!strncmp(line, counters[i], len) && (whole || zone))
				r->counter[i] += strtoll(blank, NULL, 10);
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
}

static void read_all(struct proof *p, struct reading *r)
{
	struct rusage usage;
	const char *at;

	memset(r, 0, sizeof(*r));
	getrusage(RUSAGE_THREAD, &usage);
	r->user_us = usage.ru_utime.tv_sec * INT64_C(1000000) + usage.ru_utime.tv_usec;
	r->system_us = usage.ru_stime.tv_sec * INT64_C(1000000) + usage.ru_stime.tv_usec;
	r->voluntary = usage.ru_nvcsw;
	r->involuntary = usage.ru_nivcsw;
	r->small_faults = usage.ru_minflt;
	at = strchr(read_text(p, p->schedstat), ' ');
	r->run_delay_ns = at ? strtoll(at, NULL, 10) : 0;
	/* "cpu user nice system idle iowait irq softirq steal" of all processors */
	at = read_text(p, p->stat);
	for (int field = 0; at && field < 9; field++)
		at = strchr(at + 1, ' ');
	r->steal_ticks = at ? strtoll(at, NULL, 10) : 0;
	read_vmstat(p, r);
}

void proof_open(struct proof **out, const char *path, int steps)
{
	struct proof *p = calloc(1, sizeof(*p));

	if (p)
		p->rows = malloc((size_t)steps * sizeof(*p->rows));
	if (!p || !p->rows)
		die("memory of the proof");
	memset(p->rows, 0, (size_t)steps * sizeof(*p->rows));
	p->path = path;
	p->limit = steps;
	p->vmstat = open("/proc/vmstat", O_RDONLY);
	p->schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	p->stat = open("/proc/stat", O_RDONLY);
	read_all(p, &p->before);
	*out = p;
}

void proof_step(struct proof *p, int step, int64_t begin, int64_t end, int64_t part_ns[PART_COUNT])
{
	struct reading now;
	struct row *row = &p->rows[p->count++];
	const struct reading *b = &p->before;

	if (p->count > p->limit)
		die("more steps than were planned for");
	read_all(p, &now);
	row->step = step;
	row->begin = begin;
	row->end = end;
	memcpy(row->part_ns, part_ns, sizeof(row->part_ns));
	memset(part_ns, 0, sizeof(row->part_ns));
	row->d = now;
	row->d.user_us -= b->user_us;
	row->d.system_us -= b->system_us;
	row->d.run_delay_ns -= b->run_delay_ns;
	row->d.steal_ticks -= b->steal_ticks;
	row->d.voluntary -= b->voluntary;
	row->d.involuntary -= b->involuntary;
	row->d.small_faults -= b->small_faults;
	for (int i = 0; i < COUNTERS; i++)
		row->d.counter[i] -= b->counter[i];
	p->before = now;
}

static void write_row(FILE *out, const struct row *row)
{
	fprintf(out, "%d,%" PRId64 ",%" PRId64, row->step, row->begin, row->end - row->begin);
	for (int i = 0; i < PART_COUNT; i++)
		fprintf(out, ",%" PRId64, row->part_ns[i]);
	fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, row->d.user_us,
		row->d.system_us, row->d.run_delay_ns, row->d.steal_ticks);
	fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64, row->d.voluntary, row->d.involuntary,
		row->d.small_faults);
	for (int i = 0; i < COUNTERS; i++)
		fprintf(out, ",%" PRId64, row->d.counter[i]);
	fputc('\n', out);
}

void proof_close(struct proof *p)
{
	FILE *out = fopen(p->path, "w");

	if (!out)
		die(p->path);
	fputs("step,begin_ns,duration_ns", out);
	for (int i = 0; i < PART_COUNT; i++)
		fprintf(out, ",%s_ns", part_names[i]);
	fputs(",user_us,system_us,run_delay_ns,steal_ticks,voluntary,involuntary,small_faults",
	      out);
	for (int i = 0; i < COUNTERS; i++)
		fprintf(out, ",%s", counters[i]);
	fputc('\n', out);
	for (int i = 0; i < p->count; i++)
		write_row(out, &p->rows[i]);
	if (fclose(out))
		die(p->path);
	close(p->vmstat);
	close(p->schedstat);
	close(p->stat);
	free(p->rows);
	free(p);
}
