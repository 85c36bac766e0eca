/*
 * capture_clocks.c - reads every clock of this machine at one moment, for capture.sh.
 *
 * Stands alone: builds with any C compiler and nothing of traceloom (cc -O2 -o traceloom-clocks
 * capture_clocks.c), because machines that are recorded have little installed. One line a clock:
 *
 *	anchor LABEL CLOCK REALTIME_NS CLOCK_NS WIDTH_NS
 *	marker LABEL NAME REALTIME_NS WIDTH_NS
 *	absent LABEL CLOCK WHY
 *
 * as its help explains. NAME is "tl~" and the wall clock's nanoseconds, a moment before, in base 36.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define READINGS	200 /* some 20 microseconds a clock; the narrowest of them is undisturbed */
#define MARKS		8
#define NAME_MAX_LENGTH 15 /* TASK_COMM_LEN - 1 */

static const char help[] =
	"usage: traceloom-clocks [LABEL]\n"
	"       traceloom-clocks --stamp\n"
	"\n"
	"Reads every clock of this machine at one moment, for traceloom-capture or by hand: what it prints\n"
	"before, while and after a recording, in one file, is imported with the recording and puts it on\n"
	"the common clock. Needs no privileges; without those that perf needs the clock of perf and of the\n"
	"kernel's log (sched_clock) cannot be read, and that is told.\n"
	"\n"
	"  LABEL        a word for this moment, in each line (now)\n"
	"  --stamp      print the wall clock alone: seconds since 1970, nine places\n"
	"  -h, --help   this text\n"
	"\n"
	"What is printed:\n"
	"  anchor LABEL CLOCK REALTIME_NS CLOCK_NS WIDTH_NS  CLOCK showed CLOCK_NS when the wall clock showed\n"
	"                                                    REALTIME_NS, give or take half of WIDTH_NS: it was\n"
	"                                                    read between two readings of the wall clock, many\n"
	"                                                    times; the narrowest pair is kept\n"
	"  marker LABEL NAME REALTIME_NS WIDTH_NS            this process was called NAME at that moment, which\n"
	"                                                    a recording of perf shows, too\n"
	"  absent LABEL CLOCK WHY                            what could not be read\n"
	"\n"
	"Exit status:\n"
	"  0   printed\n"
	"  2   arguments that make no sense, or standard output cannot be written\n"
	"\n"
	"Examples:\n"
	"  traceloom-clocks begin >clocks.txt; perf record -a sleep 9; traceloom-clocks end >>clocks.txt\n"
	"  traceloom import -o case.db perf.data clocks.txt\n";

struct reading {
	int64_t realtime_ns, value_ns, width_ns;
};

static int64_t now(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		return -1;
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void keep_narrower(struct reading *best, int64_t before, int64_t value, int64_t after)
{
	/* the wall clock was set back in between: no width at all */
	if (after < before || (best->width_ns >= 0 && after - before >= best->width_ns))
		return;
	best->realtime_ns = before + (after - before) / 2;
	best->value_ns = value;
	best->width_ns = after - before;
}

static void print_clock(const char *label, const char *name, clockid_t clock)
{
	struct reading best = { .width_ns = -1 };

	if (now(clock) < 0) {
		printf("absent %s %s %s\n", label, name, strerror(errno));
		return;
	}
	for (int i = 0; i < READINGS; i++) {
		int64_t before = now(CLOCK_REALTIME);
		int64_t value = now(clock);

		keep_narrower(&best, before, value, now(CLOCK_REALTIME));
	}
	if (best.width_ns < 0)
		printf("absent %s %s the wall clock was set meanwhile\n", label, name);
	else
		printf("anchor %s %s %" PRId64 " %" PRId64 " %" PRId64 "\n", label, name,
		       best.realtime_ns, best.value_ns, best.width_ns);
}

/* ---- the clock that perf uses unless told otherwise ------------------------------------------- */

/*
 * No call reads it. But the kernel writes it into the record of a changed name, and every process
 * may record itself.
 */
struct recorder {
	int fd;
	size_t page_size;
	struct perf_event_mmap_page *page;
	uint64_t tail;
};

static bool recorder_open(struct recorder *r)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.comm = 1,
		.sample_id_all = 1,
	};

	r->page_size = (size_t)sysconf(_SC_PAGESIZE);
	r->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return false;
	r->page = mmap(NULL, 2 * r->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	r->tail = 0;
	return r->page != MAP_FAILED;
}

static void ring_copy(const struct recorder *r, uint64_t at, void *out, size_t size)
{
	const unsigned char *ring = (const unsigned char *)r->page + r->page_size;

	for (size_t i = 0; i < size; i++)
		((unsigned char *)out)[i] = ring[(at + i) % r->page_size];
}

/* The time of the newest record; -1: there is no new one. Its last word is the time. */
static int64_t recorder_time(struct recorder *r)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t time = 0;
	bool has_time = false;

	while (r->tail < head) {
		struct perf_event_header header;

		ring_copy(r, r->tail, &header, sizeof(header));
		if (header.size < sizeof(header) + sizeof(time) || r->tail + header.size > head)
			break;
		if (header.type == PERF_RECORD_COMM) {
			ring_copy(r, r->tail + header.size - sizeof(time), &time, sizeof(time));
			has_time = true;
		}
		r->tail += header.size;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
	return has_time ? (int64_t)time : -1;
}

/* "tl~" and the wall clock's nanoseconds in base 36: the name itself tells when it was given. */
static void marker_name(char name[NAME_MAX_LENGTH + 1], int64_t realtime_ns)
{
	uint64_t left = (uint64_t)realtime_ns;

	memcpy(name, "tl~", 3);
	for (int i = NAME_MAX_LENGTH - 1; i >= 3; i--) {
		name[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[left % 36];
		left /= 36;
	}
	name[NAME_MAX_LENGTH] = '\0';
}

/* The names that are taken are what perf sees; what is seen of them here is perf's clock. */
static void print_marks(const char *label)
{
	struct recorder recorder = { .fd = -1, .page = MAP_FAILED };
	bool is_open = recorder_open(&recorder);
	int failure = errno;
	struct reading clock = { .width_ns = -1 }, marker = { .width_ns = -1 };
	char name[NAME_MAX_LENGTH + 1], best_name[NAME_MAX_LENGTH + 1] = "";

	for (int i = 0; i < MARKS; i++) {
		int64_t before, after, value, width = marker.width_ns;

		marker_name(name, now(CLOCK_REALTIME));
		before = now(CLOCK_REALTIME);
		prctl(PR_SET_NAME, name, 0, 0, 0);
		after = now(CLOCK_REALTIME);
		keep_narrower(&marker, before, 0, after);
		if (marker.width_ns != width)
			memcpy(best_name, name, sizeof(name));
		value = is_open ? recorder_time(&recorder) : -1;
		if (value >= 0)
			keep_narrower(&clock, before, value, after);
	}
	if (marker.width_ns >= 0)
		printf("marker %s %s %" PRId64 " %" PRId64 "\n", label, best_name,
		       marker.realtime_ns, marker.width_ns);
	if (!is_open)
		printf("absent %s sched_clock perf_event_open: %s\n", label, strerror(failure));
	else if (clock.width_ns < 0)
		printf("absent %s sched_clock no record of a changed name came\n", label);
	else
		printf("anchor %s sched_clock %" PRId64 " %" PRId64 " %" PRId64 "\n", label,
		       clock.realtime_ns, clock.value_ns, clock.width_ns);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		clockid_t clock;
	} clocks[] = {
		{ "monotonic", CLOCK_MONOTONIC },
		{ "monotonic_raw", CLOCK_MONOTONIC_RAW },
		{ "boottime", CLOCK_BOOTTIME },
		{ "tai", CLOCK_TAI },
	};
	const char *label = argc > 1 ? argv[1] : "now";

	if (argc == 2 && !strcmp(argv[1], "--stamp")) {
		int64_t t = now(CLOCK_REALTIME);

		printf("%" PRId64 ".%09" PRId64 "\n", t / 1000000000, t % 1000000000);
		return fflush(stdout) ? 2 : 0;
	}
	if (argc == 2 && (!strcmp(label, "-h") || !strcmp(label, "--help")))
		return fputs(help, stdout) < 0 || fflush(stdout) ? 2 : 0;
	if (argc > 2 || label[0] == '-' || !*label || strpbrk(label, " \t\n")) {
		fprintf(stderr, "usage: traceloom-clocks [LABEL | --stamp]; see --help\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		print_clock(label, clocks[i].name, clocks[i].clock);
	print_marks(label);
	return fflush(stdout) || ferror(stdout) ? 2 : 0;
}
