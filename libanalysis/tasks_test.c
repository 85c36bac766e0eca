/*
 * tasks_test.c - lifetimes and names of threads, and address spaces over time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "maps.h"
#include "tasks.h"

static struct tl_interner names;
static struct tl_tasks tasks;

static int setup(void **state)
{
	(void)state;
	tl_tasks_init(&tasks, &names);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tl_tasks_release(&tasks);
	tl_interner_release(&names);
	return 0;
}

static void comm(int64_t ts, int32_t pid, int32_t tid, const char *name, bool is_exec)
{
	struct tl_event_comm ev = { .task = { pid, tid }, .name = name, .is_exec = is_exec };

	assert_int_equal(tl_tasks_comm(&tasks, ts, &ev, NULL), TL_OK);
}

static bool fork_task(int64_t ts, int32_t ppid, int32_t ptid, int32_t pid, int32_t tid)
{
	struct tl_event_fork ev = { .child = { pid, tid }, .parent = { ppid, ptid } };
	bool is_new;

	assert_int_equal(tl_tasks_fork(&tasks, ts, &ev, &is_new, NULL), TL_OK);
	return is_new;
}

static uint32_t thread_at(int64_t ts, int32_t pid, int32_t tid)
{
	uint32_t thread;

	assert_int_equal(tl_tasks_thread(&tasks, ts, (struct tl_task) { pid, tid }, &thread, NULL),
			 TL_OK);
	return thread;
}

static const char *name_at(int64_t ts, int32_t pid, int32_t tid)
{
	uint32_t name;

	assert_int_equal(tl_tasks_name(&tasks, thread_at(ts, pid, tid), ts, &name, NULL), TL_OK);
	return names.strings[name].text;
}

static void hear(int64_t ts, int32_t tid, const char *name)
{
	struct tl_event_comm ev = { .task = { TL_ID_NONE, tid }, .name = name, .is_hearsay = true };

	assert_int_equal(tl_tasks_comm(&tasks, ts, &ev, NULL), TL_OK);
}

static const char *heard_name_at(int64_t ts, int32_t tid)
{
	uint32_t name, thread = thread_at(ts, TL_ID_NONE, tid);

	assert_int_equal(tl_tasks_name_by_hearsay(&tasks, thread, ts, &name, NULL), TL_OK);
	return names.strings[name].text;
}

static void a_name_holds_from_its_time_on(void **state)
{
	(void)state;
	comm(INT64_MIN, 10, 10, "sh", false);
	comm(100, 10, 10, "perf-exec", false);
	comm(200, 10, 10, "load", true);
	assert_string_equal(name_at(99, 10, 10), "sh");
	assert_string_equal(name_at(100, 10, 10), "perf-exec");
	assert_string_equal(name_at(5000, 10, 10), "load");
}

static void hearsay_names_only_those_without_a_name_and_only_who_asks(void **state)
{
	(void)state;
	comm(50, 10, 10, "load", false);
	hear(10, 10, "heard");
	hear(60, 10, "heard");
	hear(20, 22, "ksoftirqd/1");
	hear(30, 22, "renamed");
	assert_string_equal(heard_name_at(70, 10), "load");
	assert_string_equal(heard_name_at(20, 22), "ksoftirqd/1");
	assert_string_equal(heard_name_at(99, 22), "renamed");
	assert_string_equal(heard_name_at(5, 22), "ksoftirqd/1"); /* nobody said anything earlier */
	assert_string_equal(heard_name_at(5, 23), ":23");
	assert_string_equal(name_at(99, 22, 22), ":22"); /* what perf prints of its samples */
}

static void a_forked_thread_has_its_parents_name(void **state)
{
	(void)state;
	comm(INT64_MIN, 10, 10, "load", false);
	assert_false(fork_task(50, 10, 10, 10, 11)); /* a thread */
	assert_true(fork_task(60, 10, 10, 12, 12));  /* a process */
	comm(70, 10, 10, "renamed", false);
	assert_string_equal(name_at(80, 10, 11), "load");
	assert_string_equal(name_at(80, 12, 12), "load");
	assert_int_equal(tasks.threads[thread_at(80, 10, 11)].process,
			 tasks.threads[thread_at(80, 10, 10)].process);
	assert_true(tasks.threads[thread_at(80, 12, 12)].process !=
		    tasks.threads[thread_at(80, 10, 10)].process);
}

static void a_reused_id_is_another_life(void **state)
{
	struct tl_event_exit end = { .task = { 20, 20 } };
	uint32_t first, second;

	(void)state;
	comm(INT64_MIN, 1, 1, "init", false);
	fork_task(10, 1, 1, 20, 20);
	comm(11, 20, 20, "first", true);
	assert_int_equal(tl_tasks_exit(&tasks, 50, &end, NULL), TL_OK);
	fork_task(90, 1, 1, 20, 20);
	comm(91, 20, 20, "second", true);
	first = thread_at(60, 20, 20); /* dying: records may follow the EXIT */
	second = thread_at(95, 20, 20);
	assert_true(first != second);
	assert_int_equal(tasks.threads[first].end_ts, 50);
	assert_int_equal(tasks.processes[tasks.threads[first].process].end_ts, 50);
	assert_int_equal(tasks.threads[second].end_ts, INT64_MAX);
	assert_string_equal(name_at(60, 20, 20), "first");
	assert_string_equal(name_at(95, 20, 20), "second");
}

static void unknown_threads_are_named_as_perf_does(void **state)
{
	(void)state;
	assert_string_equal(name_at(5, TL_ID_NONE, 0), "swapper");
	assert_string_equal(name_at(5, 77, 78), ":78");
}

static void a_thread_known_by_tid_alone_joins_its_process_later(void **state)
{
	uint32_t thread;

	(void)state;
	thread = thread_at(5, TL_ID_NONE, 31);
	assert_int_equal(tasks.processes[tasks.threads[thread].process].pid, TL_ID_NONE);
	assert_int_equal(thread_at(6, 30, 31), thread);
	assert_int_equal(tasks.processes[tasks.threads[thread].process].pid, 30);
}

static void a_synthesized_fork_describes_a_known_thread(void **state)
{
	(void)state;
	comm(INT64_MIN, 10, 11, "worker", false);
	fork_task(INT64_MIN, 10, 10, 10, 11);
	fork_task(INT64_MIN, 10, 10, 10, 11);
	assert_int_equal(tasks.threads[thread_at(1, 10, 11)].start_ts, INT64_MIN);
	assert_string_equal(name_at(1, 10, 11), "worker");
}

/* ---- maps ---- */

static struct tl_spaces spaces;

static void map(uint32_t space, int64_t ts, uint64_t start, uint64_t end, uint32_t dso,
		bool is_exec)
{
	struct tl_map m = { .start = start, .end = end, .ts = ts, .dso = dso, .is_exec = is_exec };

	assert_int_equal(tl_space_map(&spaces, space, &m, NULL), TL_OK);
}

static int dso_at(uint32_t space, uint64_t ip, int64_t ts)
{
	struct tl_map_found found;

	if (!tl_space_find(&spaces, space, ip, ts, &found))
		return -1;
	assert_true(found.valid_from <= ts && ts < found.valid_to);
	return (int)found.map.dso;
}

static void a_later_map_hides_an_earlier_one_from_its_time_on(void **state)
{
	uint32_t space;

	(void)state;
	assert_int_equal(tl_spaces_add(&spaces, UINT32_MAX, 0, &space, NULL), TL_OK);
	map(space, INT64_MIN, 0x1000, 0x9000, 1, true);
	map(space, 100, 0x3000, 0x4000, 2, true);
	assert_int_equal(dso_at(space, 0x3500, 99), 1);
	assert_int_equal(dso_at(space, 0x3500, 100), 2);
	assert_int_equal(dso_at(space, 0x4000, 100), 1); /* end is one past */
	assert_int_equal(dso_at(space, 0x2fff, 100), 1);
	assert_int_equal(dso_at(space, 0x9000, 100), -1);
	assert_int_equal(dso_at(space, 0xfff, 100), -1);
	tl_spaces_release(&spaces);
}

static void data_never_hides_code(void **state)
{
	uint32_t space;

	(void)state;
	assert_int_equal(tl_spaces_add(&spaces, UINT32_MAX, 0, &space, NULL), TL_OK);
	map(space, 1, 0x1000, 0x2000, 1, true);
	map(space, 2, 0x1000, 0x2000, 2, false);
	map(space, 2, 0x5000, 0x6000, 3, false);
	assert_int_equal(dso_at(space, 0x1800, 5), 1);
	assert_int_equal(dso_at(space, 0x5800, 5), 3);
	tl_spaces_release(&spaces);
}

static void a_child_sees_its_parents_maps_as_of_the_fork(void **state)
{
	uint32_t parent, child;

	(void)state;
	assert_int_equal(tl_spaces_add(&spaces, UINT32_MAX, 0, &parent, NULL), TL_OK);
	assert_int_equal(tl_spaces_add(&spaces, parent, 50, &child, NULL), TL_OK);
	map(parent, 10, 0x1000, 0x2000, 1, true);
	map(parent, 60, 0x1000, 0x2000, 2, true); /* after the fork */
	map(child, 70, 0x8000, 0x9000, 3, true);
	assert_int_equal(dso_at(child, 0x1000, 65), 1);
	assert_int_equal(dso_at(child, 0x1000, 500), 1);
	assert_int_equal(dso_at(parent, 0x1000, 65), 2);
	assert_int_equal(dso_at(child, 0x8000, 71), 3);
	assert_int_equal(dso_at(child, 0x8000, 69), -1);
	tl_spaces_release(&spaces);
}

static void a_hole_names_nothing(void **state)
{
	uint32_t space;

	(void)state;
	assert_int_equal(tl_spaces_add(&spaces, UINT32_MAX, 0, &space, NULL), TL_OK);
	map(space, 10, 0x1000, 0x2000, 1, true);
	map(space, 20, 0x1000, 0x2000, TL_MAP_HOLE, true);
	assert_int_equal(dso_at(space, 0x1000, 15), 1);
	assert_int_equal(dso_at(space, 0x1000, 25), -1);
	tl_spaces_release(&spaces);
}

/* Against a walk over all maps, on many random ones. */
static void lookups_agree_with_a_plain_search(void **state)
{
	enum { COUNT = 400 };
	struct tl_map maps[COUNT];
	uint64_t seed = 42;
	uint32_t space;

	(void)state;
	assert_int_equal(tl_spaces_add(&spaces, UINT32_MAX, 0, &space, NULL), TL_OK);
	for (uint32_t i = 0; i < COUNT; i++) {
		seed = tl_hash_u64(seed, i);
		maps[i] = (struct tl_map) { .start = seed % 1000,
					    .end = seed % 1000 + 1 + (seed >> 32) % 60,
					    .ts = (int64_t)(seed >> 16 & 0xff),
					    .dso = i,
					    .is_exec = true };
		map(space, maps[i].ts, maps[i].start, maps[i].end, i, true);
	}
	for (uint64_t ip = 0; ip < 1100; ip += 3) {
		for (int64_t ts = 0; ts < 260; ts += 7) {
			int best = -1;

			for (int i = 0; i < COUNT; i++)
				if (maps[i].start <= ip && ip < maps[i].end && maps[i].ts <= ts &&
				    (best < 0 || maps[i].ts >= maps[best].ts))
					best = i;
			assert_int_equal(dso_at(space, ip, ts), best);
		}
	}
	tl_spaces_release(&spaces);
}

#define TASK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TASK_TEST(a_name_holds_from_its_time_on),
		TASK_TEST(hearsay_names_only_those_without_a_name_and_only_who_asks),
		TASK_TEST(a_forked_thread_has_its_parents_name),
		TASK_TEST(a_reused_id_is_another_life),
		TASK_TEST(unknown_threads_are_named_as_perf_does),
		TASK_TEST(a_thread_known_by_tid_alone_joins_its_process_later),
		TASK_TEST(a_synthesized_fork_describes_a_known_thread),
		cmocka_unit_test(a_later_map_hides_an_earlier_one_from_its_time_on),
		cmocka_unit_test(data_never_hides_code),
		cmocka_unit_test(a_child_sees_its_parents_maps_as_of_the_fork),
		cmocka_unit_test(a_hole_names_nothing),
		cmocka_unit_test(lookups_agree_with_a_plain_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
