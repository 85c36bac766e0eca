/*
 * thread_tracers_test.c - two logs with the same numbers: of one thread, or of two.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "source_example.h"

#define MS INT64_C(1000000)

/* Thread 7, every 10 ms: a wait of 6 ms from `wait`, a read of 1 ms from `read`; -1: none of these. */
struct log {
	const char *path;
	int64_t wait, read;
	enum tl_call_timing timing;
};

static void emit_call(const struct log *log, const char *name, int64_t begin, int64_t length)
{
	struct tl_event ev = { .kind = TL_EVENT_SYSCALL, .has_ts = true, .ts = begin };

	ev.syscall.task = (struct tl_task) { TL_ID_NONE, 7 };
	ev.syscall.timing = log->timing;
	ev.syscall.duration_ns = length;
	ev.syscall.name = name;
	ev.syscall.name_length = strlen(name);
	emit(&ev);
}

static void import(const struct log *log)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	begin_source(log->path);
	ev.clock = (struct tl_event_clock) { "test", TL_CLOCK_EXACT, 0, 1000, "why" };
	emit(&ev);
	for (int64_t i = 100; i < 150; i++) {
		if (log->wait >= 0)
			emit_call(log, "futex", i * 10 * MS + log->wait, 6 * MS);
		if (log->read >= 0)
			emit_call(log, "read", i * 10 * MS + log->read, 1 * MS);
	}
	end_source();
}

static int64_t threads(void)
{
	return value("SELECT count(*) FROM thread WHERE tid = 7");
}

static int64_t notes(void)
{
	return value("SELECT count(*) FROM lost WHERE message LIKE '%kept apart%'");
}

static void calls_within_other_calls_are_of_another_thread(void **state)
{
	(void)state;
	import(&(struct log) { "a", 0, 7 * MS, TL_CALL_MEASURED });
	import(&(struct log) { "b", 5 * MS, 2 * MS, TL_CALL_MEASURED });
	assert_int_equal(threads(), 2);
	assert_int_equal(value("SELECT count(DISTINCT process_id) FROM thread WHERE tid = 7"), 2);
	assert_int_equal(value("SELECT count(DISTINCT thread_id) FROM syscall"), 2);
	assert_int_equal(notes(), 2);
	/* and it stays so, said once */
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
	assert_int_equal(threads(), 2);
	assert_int_equal(notes(), 2);
}

static void each_of_many_is_told_once(void **state)
{
	(void)state;
	import(&(struct log) { "a", 0, 7 * MS, TL_CALL_MEASURED });
	import(&(struct log) { "b", 5 * MS, 2 * MS, TL_CALL_MEASURED });
	import(&(struct log) { "c", 85 * MS / 10, 46 * MS / 10, TL_CALL_MEASURED });
	assert_int_equal(threads(), 3);
	assert_int_equal(notes(), 3);
	assert_int_equal(
		value("SELECT count FROM lost WHERE message LIKE '%that b and 1 more tell of%'"),
		2); /* a's */
}

static void a_copy_is_of_the_same_thread(void **state)
{
	(void)state;
	import(&(struct log) { "a", 0, 7 * MS, TL_CALL_MEASURED });
	import(&(struct log) { "b", 20000, 7 * MS + 20000, TL_CALL_MEASURED });
	assert_int_equal(threads(), 1);
	assert_int_equal(notes(), 0);
}

static void logs_of_different_calls_are_of_the_same_thread(void **state)
{
	(void)state;
	import(&(struct log) { "a", 0, -1, TL_CALL_MEASURED });
	import(&(struct log) { "b", -1, 7 * MS, TL_CALL_MEASURED });
	assert_int_equal(threads(), 1);
	assert_int_equal(notes(), 0);
}

/* From line to line a call may seem longer than it was. */
static void calls_that_were_not_measured_say_nothing(void **state)
{
	(void)state;
	import(&(struct log) { "a", 0, 7 * MS, TL_CALL_DERIVED });
	import(&(struct log) { "b", 5 * MS, 2 * MS, TL_CALL_MEASURED });
	assert_int_equal(threads(), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_store, teardown_store)
	const struct CMUnitTest tests[] = {
		TEST(calls_within_other_calls_are_of_another_thread),
		TEST(each_of_many_is_told_once),
		TEST(a_copy_is_of_the_same_thread),
		TEST(logs_of_different_calls_are_of_the_same_thread),
		TEST(calls_that_were_not_measured_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
