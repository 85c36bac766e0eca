/*
 * step_class_test.c - which steps are slow, good, apart or spikes, as every question means it: from
 * spans on a thread, through the writer. What comes out is known from how the durations were made.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_example.h"

#define MS INT64_C(1000000)

static void span(const char *name, int64_t step, int64_t ts, int64_t dur)
{
	struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true, .ts = ts };

	ev.slice.class_ = TL_SLICE_ANNOTATION;
	ev.slice.duration_ns = dur;
	ev.slice.name = name;
	ev.slice.name_length = strlen(name);
	ev.slice.has_step = step >= 0;
	ev.slice.step = step;
	ev.slice.stream = -1;
	emit(&ev);
}

#define COUNT 100
#define FIRST 60

enum spans { NO_SPAN, IN_FIRST_SLOW, IN_ALL };

/* Steps of 100 ms and a little noise; from FIRST on, some take longer by the excesses, until 0. */
static void make_case(const int64_t *excess_ms, enum spans spans)
{
	const struct tl_source_description source = { .path = "trace", .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true };
	const struct tl_import_result result = { .records = 1 };
	int64_t ts = 1000 * MS;
	size_t slow = 0;

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	emit(&(struct tl_event) { .kind = TL_EVENT_TRACK,
				  .track = { .kind = TL_TRACK_THREAD,
					     .task = { 7, 7 },
					     .key_pid = "7",
					     .key_tid = "7",
					     .device = -1,
					     .stream = -1 } });
	for (int64_t i = 0; i < COUNT; i++) {
		int64_t dur = 100 * MS + i * 7919 % 13 * (MS / 5);

		if (i >= FIRST && excess_ms[slow])
			dur += excess_ms[slow++] * MS;
		span("ProfilerStep", i, ts, dur);
		if (spans == IN_ALL || (spans == IN_FIRST_SLOW && i == FIRST))
			span("save_checkpoint", -1, ts + MS, dur / 2);
		ts += dur;
	}
	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
}

static int64_t count_of(const char *class_)
{
	char sql[100];
	int64_t count = -1;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM step WHERE class = '%s'", class_);
	assert_int_equal(tl_store_value(store, sql, -1, &count, &err), TL_OK);
	return count;
}

static int64_t count_ranges(const char *which)
{
	struct tl_time_range *ranges;
	size_t count, step_count = 0;
	int ret = tl_steps_ranges(store, which, &ranges, &count, &step_count, &err);

	free(ranges);
	return ret == TL_OK ? (int64_t)step_count : ret;
}

static void steps_of_an_episode_are_slow(void **state)
{
	(void)state;
	make_case((int64_t[]) { 40, 40, 40, 40, 40, 40, 0 }, NO_SPAN);
	assert_int_equal(count_of("slow"), 6);
	assert_int_equal(count_of("good"), COUNT - 6);
	assert_int_equal(count_ranges("slow"), 6);
}

static void the_step_whose_excess_is_thrice_the_next_is_apart(void **state)
{
	(void)state;
	make_case((int64_t[]) { 130, 40, 40, 40, 40, 40, 0 }, NO_SPAN);
	assert_int_equal(count_of("slow"), 5);
	assert_int_equal(count_of("apart"), 1);
	assert_int_equal(count_ranges("slow"), 5);
	assert_int_equal(count_ranges("apart"), 1);
}

static void a_longest_step_among_its_like_is_slow(void **state)
{
	(void)state;
	make_case((int64_t[]) { 100, 40, 40, 40, 40, 40, 0 }, NO_SPAN);
	assert_int_equal(count_of("slow"), 6);
	assert_int_equal(count_of("apart"), 0);
}

static void a_step_that_a_checkpoint_fills_is_apart(void **state)
{
	(void)state;
	make_case((int64_t[]) { 40, 40, 40, 40, 40, 40, 0 }, IN_FIRST_SLOW);
	assert_int_equal(count_of("slow"), 5);
	assert_int_equal(count_of("apart"), 1);
}

/* Recomputing activations is called checkpointing, too. */
static void a_name_of_checkpoints_in_every_step_says_nothing(void **state)
{
	(void)state;
	make_case((int64_t[]) { 40, 40, 40, 40, 40, 40, 0 }, IN_ALL);
	assert_int_equal(count_of("slow"), 6);
	assert_int_equal(count_of("apart"), 0);
}

static void three_slow_steps_stay_whatever_else_they_are(void **state)
{
	(void)state;
	make_case((int64_t[]) { 400, 40, 40, 0 }, NO_SPAN);
	assert_int_equal(count_of("slow"), 3);
	assert_int_equal(count_of("apart"), 0);
}

static void a_single_slow_step_is_a_spike(void **state)
{
	(void)state;
	make_case((int64_t[]) { 80, 0 }, NO_SPAN);
	assert_int_equal(count_of("slow"), 0);
	assert_int_equal(count_of("spike"), 1);
	assert_int_equal(count_ranges("spike"), 1);
	assert_int_equal(count_ranges("slow"), TL_NOTHING);
	assert_non_null(strstr(err.text, "--steps spike"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup_store, teardown_store)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(steps_of_an_episode_are_slow),
		CASE(the_step_whose_excess_is_thrice_the_next_is_apart),
		CASE(a_longest_step_among_its_like_is_slow),
		CASE(a_step_that_a_checkpoint_fills_is_apart),
		CASE(a_name_of_checkpoints_in_every_step_says_nothing),
		CASE(three_slow_steps_stay_whatever_else_they_are),
		CASE(a_single_slow_step_is_a_spike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
