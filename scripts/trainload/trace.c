/*
 * trace.c - the trace of a rank in the layout of PyTorch's profiler: spans of operators, launches and
 * the kernels that a device would have run, with the arrows between them.
 */
#include "trainload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STREAM = 7, NAME_SIZE = 40 };

enum { KIND_SPAN, KIND_LAUNCH };

struct event {
	int64_t begin, end, run, run_end;
	const char *category;
	char name[NAME_SIZE];
	int kind;
};

struct trace {
	const char *path;
	int rank, ranks, tid; /* the thread that opened it makes all events */
	struct event *events;
	size_t count, limit;
};

void trace_open(struct trace **out, const char *path, int rank, int ranks, size_t event_limit)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (t)
		t->events = malloc(event_limit * sizeof(*t->events));
	if (!t || !t->events)
		die("memory of the trace");
	/* No page of it is new when a step is measured. */
	memset(t->events, 0, event_limit * sizeof(*t->events));
	t->path = path;
	t->rank = rank;
	t->tid = (int)syscall(SYS_gettid);
	t->ranks = ranks;
	t->limit = event_limit;
	*out = t;
}

static struct event *add(struct trace *t, const char *category, const char *name, int64_t begin,
			 int64_t end)
{
	struct event *e;

	if (t->count == t->limit)
		die("more events than were planned for");
	e = &t->events[t->count++];
	e->begin = begin;
	e->end = end;
	e->category = category;
	snprintf(e->name, sizeof(e->name), "%s", name);
	return e;
}

void trace_span(struct trace *t, const char *category, const char *name, int64_t begin, int64_t end)
{
	add(t, category, name, begin, end);
}

void trace_launch(struct trace *t, int64_t begin, int64_t end, const char *kernel, int64_t run,
		  int64_t run_end)
{
	struct event *e = add(t, "kernel", kernel, begin, end);

	e->kind = KIND_LAUNCH;
	e->run = run;
	e->run_end = run_end;
}

/* Times are microseconds since a base near the beginning, with three decimals. */
static void write_time(FILE *out, const char *key, int64_t ns)
{
	fprintf(out, ", \"%s\": %" PRId64 ".%03" PRId64, key, ns / 1000, ns % 1000);
}

static void write_span(FILE *out, const struct trace *t, const struct event *e, int64_t base)
{
	fprintf(out, "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d",
		e->category, e->name, getpid(), t->tid);
	write_time(out, "ts", e->begin - base);
	write_time(out, "dur", e->end - e->begin);
	fputs("}", out);
}

static void write_arrow(FILE *out, const char *end, size_t id, int pid, int tid, int64_t ts)
{
	fprintf(out,
		",\n  {\"ph\": %s, \"id\": %zu, \"cat\": \"ac2g\", \"name\": \"ac2g\", "
		"\"pid\": %d, \"tid\": %d",
		end, id, pid, tid);
	write_time(out, "ts", ts);
	fputs("}", out);
}

static void write_launch(FILE *out, const struct trace *t, const struct event *e, size_t id,
			 int64_t base)
{
	int pid = getpid();

	fprintf(out,
		"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
		"\"pid\": %d, \"tid\": %d",
		pid, t->tid);
	write_time(out, "ts", e->begin - base);
	write_time(out, "dur", e->end - e->begin);
	fprintf(out, ", \"args\": {\"correlation\": %zu}}", id);
	fprintf(out,
		",\n  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": %d, "
		"\"tid\": %d",
		e->name, t->rank, STREAM);
	write_time(out, "ts", e->run - base);
	write_time(out, "dur", e->run_end - e->run);
	fprintf(out, ", \"args\": {\"device\": %d, \"stream\": %d, \"correlation\": %zu}}", t->rank,
		STREAM, id);
	write_arrow(out, "\"s\"", id, pid, t->tid, e->begin - base);
	write_arrow(out, "\"f\", \"bp\": \"e\"", id, t->rank, STREAM, e->run - base);
}

static void write_names(FILE *out, const struct trace *t)
{
	fprintf(out,
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": 0, \"args\": "
		"{\"name\": \"trainload\"}},\n"
		"  {\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": %d, \"tid\": 0, \"args\": "
		"{\"labels\": \"CPU\"}},\n"
		"  {\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": %d, \"tid\": 0, \"args\": "
		"{\"labels\": \"GPU %d\"}},\n"
		"  {\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %d, \"args\": "
		"{\"name\": \"stream %d\"}}",
		getpid(), getpid(), t->rank, t->rank, t->rank, STREAM, STREAM);
}

void trace_close(struct trace *t)
{
	/* Kineto's base is a whole number of days or so before; what counts is that the sum is right. */
	int64_t base = t->count ? t->events[0].begin / 1000000000 * 1000000000 : 0;
	char host[64] = "localhost";
	FILE *out = fopen(t->path, "w");

	if (!out)
		die(t->path);
	gethostname(host, sizeof(host) - 1);
	fprintf(out,
		"{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": %d, \"name\": \"Planned "
		"Device\"}],\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, "
		"\"world_size\": %d},\n  \"host_name\": \"%s\",\n  \"displayTimeUnit\": \"ms\",\n"
		"  \"baseTimeNanoseconds\": %" PRId64 ",\n  \"traceEvents\": [\n  ",
		t->rank, t->rank, t->ranks, host, base);
	write_names(out, t);
	for (size_t i = 0; i < t->count; i++) {
		fputs(",\n  ", out);
		if (t->events[i].kind == KIND_LAUNCH)
			write_launch(out, t, &t->events[i], i + 1, base);
		else
			write_span(out, t, &t->events[i], base);
	}
	fprintf(out, "\n  ],\n  \"traceName\": \"rank%d.pt.trace.json\"\n}\n", t->rank);
	if (fclose(out))
		die(t->path);
	free(t->events);
	free(t);
}
