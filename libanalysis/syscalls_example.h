/*
 * syscalls_example.h - for tests: a case of calls that are made by hand.
 */
#ifndef TL_SYSCALLS_EXAMPLE_H
#define TL_SYSCALLS_EXAMPLE_H

#include "store_example.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static struct tl_writer *writer;
static struct tl_syscalls calls;

static inline int setup(void **state)
{
	memset(&calls, 0, sizeof(calls));
	return setup_store(state);
}

static inline int teardown(void **state)
{
	tl_syscalls_release(&calls);
	return teardown_store(state);
}

static inline void begin_source(const char *name, bool aggregate_only)
{
	const struct tl_source_description source = { .path = name, .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true,
					       .aggregate_only = aggregate_only };

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
}

static inline void end_source(void)
{
	const struct tl_import_result result = { .records = 1 };

	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
	writer = NULL;
}

static inline void emit(const struct tl_event *ev)
{
	struct tl_sink *sink = tl_writer_sink(writer);

	assert_int_equal(sink->emit(sink, ev, &err), TL_OK);
}

static inline void comm(int32_t pid, int32_t tid, const char *name)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_COMM,
				  .ts = INT64_MIN,
				  .comm = { .task = { pid, tid }, .name = name } });
}

/* A call that returned 0; what else is to be said of it is said before it is emitted. */
static inline struct tl_event made(int32_t tid, const char *name, const char *operation, int64_t ts,
				   int64_t duration_ns)
{
	struct tl_event ev = { .kind = TL_EVENT_SYSCALL, .has_ts = true, .ts = ts };
	struct tl_event_syscall *c = &ev.syscall;

	c->task = (struct tl_task) { 100, tid };
	c->duration_ns = duration_ns;
	c->name = name;
	c->name_length = strlen(name);
	c->operation = operation;
	c->operation_length = operation ? strlen(operation) : 0;
	c->has_result = true;
	return ev;
}

static inline void call(int32_t tid, const char *name, const char *operation, int64_t ts,
			int64_t duration_ns)
{
	const struct tl_event ev = made(tid, name, operation, ts, duration_ns);

	emit(&ev);
}

static inline void failed_call(int32_t tid, const char *name, int64_t ts, int64_t duration_ns,
			       const char *error)
{
	struct tl_event ev = made(tid, name, NULL, ts, duration_ns);

	ev.syscall.error = error;
	ev.syscall.error_length = strlen(error);
	ev.syscall.result = -1;
	emit(&ev);
}

static inline void step(int64_t number, int64_t ts, int64_t dur, const char *class)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO step(series, source_id, position, number, ts, dur, class) "
		 "VALUES(1, 1, %lld, %lld, %lld, %lld, '%s')",
		 (long long)number, (long long)number, (long long)ts, (long long)dur, class);
	assert_int_equal(tl_store_execute(store, sql, &err), TL_OK);
}

static inline int ask(const struct tl_syscall_options *opt)
{
	const struct tl_syscall_options all = { .longest_count = 3 };

	tl_syscalls_release(&calls);
	memset(&err, 0, sizeof(err));
	return tl_syscalls(store, opt ? opt : &all, &calls, &err);
}

/* The sum of a thread and call; NULL: there is none. */
static inline const struct tl_syscall_sum *sum_of(int32_t tid, const char *name)
{
	for (size_t i = 0; i < calls.sum_count; i++)
		if (calls.threads[calls.sums[i].thread].tid == tid &&
		    !strcmp(calls.sums[i].name, name))
			return &calls.sums[i];
	return NULL;
}

static inline const struct tl_syscall_one *look_up(struct tl_syscall_one *one)
{
	assert_int_equal(tl_syscalls_look_up(store, &calls, &one, 1, &err), TL_OK);
	return one;
}

#endif
