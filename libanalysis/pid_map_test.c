/*
 * pid_map_test.c - numbers of a container turned into those of the host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pid_map.h"

static struct tl_error err;
static struct tl_event seen[8];
static size_t seen_count;

static int take(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *e)
{
	(void)sink;
	(void)e;
	assert_true(seen_count < 8);
	seen[seen_count++] = *ev;
	return TL_OK;
}

static struct tl_sink end = { take };

static int add(struct tl_pid_map *map, const char *text)
{
	memset(&err, 0, sizeof(err));
	return tl_pid_map_add(map, text, strlen(text), &err);
}

static struct tl_event call_of(int32_t pid, int32_t tid)
{
	struct tl_event ev = { .kind = TL_EVENT_SYSCALL, .has_ts = true, .ts = 5 };

	ev.syscall.task = (struct tl_task) { pid, tid };
	return ev;
}

static void numbers_are_turned_and_told_once(void **state)
{
	struct tl_pid_map map = { 0 };
	struct tl_pid_map_sink s;
	struct tl_event ev = call_of(12, 13);

	(void)state;
	seen_count = 0;
	assert_int_equal(add(&map, "12:4711,13:4712"), TL_OK);
	tl_pid_map_sink_init(&s, &map, &end);
	for (int i = 0; i < 2; i++)
		assert_int_equal(s.sink.emit(&s.sink, &ev, &err), TL_OK);
	assert_int_equal(seen_count, 3);
	assert_int_equal(seen[0].kind, TL_EVENT_NAMESPACE);
	assert_int_equal(seen[0].ns.task.pid, 4711);
	assert_int_equal(seen[0].ns.inner_pid, 12);
	assert_int_equal(seen[1].syscall.task.pid, 4711);
	assert_int_equal(seen[2].syscall.task.tid, 4712);
	assert_int_equal(tl_pid_map_sink_finish(&s, &err), TL_OK);
	assert_int_equal(seen_count, 3);
	tl_pid_map_release(&map);
}

static void what_the_map_lacks_stays_and_is_said(void **state)
{
	struct tl_pid_map map = { 0 };
	struct tl_pid_map_sink s;
	struct tl_event ev = call_of(TL_ID_NONE, 99);

	(void)state;
	seen_count = 0;
	assert_int_equal(add(&map, "12:4711"), TL_OK);
	tl_pid_map_sink_init(&s, &map, &end);
	assert_int_equal(s.sink.emit(&s.sink, &ev, &err), TL_OK);
	assert_int_equal(seen[0].syscall.task.tid, 99);
	assert_int_equal(seen[0].syscall.task.pid, TL_ID_NONE);
	assert_int_equal(tl_pid_map_sink_finish(&s, &err), TL_OK);
	assert_int_equal(seen[1].kind, TL_EVENT_DIAGNOSTIC);
	assert_int_equal(seen[1].diagnostic.count, 1);
	tl_pid_map_release(&map);
}

static void lines_of_status_files_are_read(void **state)
{
	struct tl_pid_map map = { 0 };

	(void)state;
	assert_int_equal(add(&map, "Name:\tpython\nNSpid:\t4711\t40\t12\nNSpid:\t1\nfoo"), TL_OK);
	assert_int_equal(map.count, 1);
	assert_int_equal(map.pairs[0].inner, 12);
	assert_int_equal(map.pairs[0].host, 4711);
	tl_pid_map_release(&map);
}

static void what_is_no_map_is_refused(void **state)
{
	static const char *const texts[] = {
		"",	    "12",    "12:",	  ":5",
		"1:2,,3:4", "0:5",   "1:9999999", "Name: x\nNSpid: 1\n",
		"1:2,1:3",  "1:2:3", "12:13 "
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tl_pid_map map = { 0 };

		assert_int_equal(add(&map, texts[i]), TL_USAGE);
		assert_true(err.text[0] != 0);
		tl_pid_map_release(&map);
	}
}

static void watch(struct tl_pid_map *map, const char *text)
{
	struct tl_pid_watch watch = { 0 };

	memset(&err, 0, sizeof(err));
	assert_int_equal(tl_pid_map_watch(map, &watch, text, strlen(text), &err), TL_OK);
	tl_pid_map_watched(map, &watch);
}

/* What becomes of (pid, tid); `notes`: whether it is said that it is not sure. */
static struct tl_task turned(struct tl_pid_map *map, int32_t pid, int32_t tid, bool *is_noted)
{
	struct tl_pid_map_sink s;
	struct tl_event ev = call_of(pid, tid);
	struct tl_task task;

	seen_count = 0;
	tl_pid_map_sink_init(&s, map, &end);
	assert_int_equal(s.sink.emit(&s.sink, &ev, &err), TL_OK);
	task = seen[seen_count - 1].syscall.task;
	assert_int_equal(tl_pid_map_sink_finish(&s, &err), TL_OK);
	*is_noted = s.ambiguous_count == 1 && seen[seen_count - 1].kind == TL_EVENT_DIAGNOSTIC;
	tl_pid_map_release(map);
	return task;
}

static void a_number_that_the_host_has_too_is_not_turned(void **state)
{
	struct tl_pid_map map = { 0 };
	struct tl_task task;
	bool is_noted;

	(void)state;
	/* 7 and its thread 8 are of the host; a container calls its 90, 91, 92 so, and 9 */
	watch(&map, "NSpid: 90 7\nNSpid: 91 8\nNSpid: 92 9\nNSpid: 7\n");
	task = turned(&map, 7, 9, &is_noted);
	assert_int_equal(task.pid, 7);
	assert_int_equal(task.tid, 9);
	assert_true(is_noted);
}

static void other_numbers_of_that_container_are_turned(void **state)
{
	struct tl_pid_map map = { 0 };
	struct tl_task task;
	bool is_noted;

	(void)state;
	watch(&map, "Name:\tNSpid: 92 1\nNSpid: 90 7\nNSpid: 92 9\nNSpid: 7\n");
	task = turned(&map, 9, 9, &is_noted);
	assert_int_equal(task.pid, 92);
	assert_int_equal(task.tid, 92);
	assert_false(is_noted);
}

static void where_two_containers_share_a_number_none_is_turned(void **state)
{
	struct tl_pid_map map = { 0 };
	struct tl_task task;
	bool is_noted;

	(void)state;
	watch(&map, "NSpid: 90 7\nNSpid: 91 8\nNSpid: 95 7\n");
	task = turned(&map, 8, 8, &is_noted);
	assert_int_equal(task.pid, 8);
	assert_int_equal(task.tid, 8);
	assert_true(is_noted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_turned_and_told_once),
		cmocka_unit_test(what_the_map_lacks_stays_and_is_said),
		cmocka_unit_test(lines_of_status_files_are_read),
		cmocka_unit_test(what_is_no_map_is_refused),
		cmocka_unit_test(a_number_that_the_host_has_too_is_not_turned),
		cmocka_unit_test(other_numbers_of_that_container_are_turned),
		cmocka_unit_test(where_two_containers_share_a_number_none_is_turned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
