/*
 * step_pauses_test.c - which gaps between steps are pauses; the series are made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "step_pauses.h"
#include "steps.h"

#define MS    INT64_C(1000000)
#define S     (1000 * MS)
#define STEPS 60

static struct tl_step step[STEPS];
static struct tl_steps_series series;
static struct tl_error err;

static int setup(void **state)
{
	(void)state;
	memset(&err, 0, sizeof(err));
	memset(&series, 0, sizeof(series));
	series.steps = step;
	series.baseline_ns = (double)(100 * MS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(series.pauses);
	return 0;
}

/* Steps of 100 ms, 1 ms apart; `pause` more after each step whose number is a multiple of `every`. */
static void make(size_t count, int64_t pause, int64_t every)
{
	int64_t ts = 12345678;

	for (size_t i = 0; i < count; i++) {
		step[i] = (struct tl_step) {
			.number = (int64_t)i,
			.has_ts = true,
			.ts = ts,
			.duration_ns = 100 * MS,
			.span_ns = 100 * MS,
		};
		ts += 101 * MS + ((int64_t)i % every == every - 1 ? pause : 0);
	}
	series.count = count;
}

static void a_regular_pause_is_found_with_its_period(void **state)
{
	(void)state;
	make(STEPS, 50 * MS, 10);
	assert_int_equal(tl_step_pauses(&series, &err), TL_OK);
	assert_int_equal(series.pause_count, 5); /* what follows the last step is not known */
	assert_int_equal(series.pauses[0].after, 9);
	assert_int_equal(series.pauses[0].ts, 12345678 + 9 * 101 * MS + 100 * MS);
	assert_int_equal(series.pauses[0].duration_ns, 51 * MS);
	assert_int_equal(series.pause_period, 10);
	assert_int_equal((int64_t)series.gap_ns, MS);
	assert_int_equal((int64_t)series.pause_total_ns, 5 * 51 * MS);
}

static void what_is_short_beside_a_step_is_no_pause(void **state)
{
	(void)state;
	make(STEPS, 9 * MS, 10);
	assert_int_equal(tl_step_pauses(&series, &err), TL_OK);
	assert_int_equal(series.pause_count, 0);
}

static void missing_steps_are_no_pause(void **state)
{
	(void)state;
	make(STEPS, 50 * MS, 10);
	for (size_t i = 10; i < STEPS; i++)
		step[i].number += 30; /* a profiler that rested between 9 and 40 */
	assert_int_equal(tl_step_pauses(&series, &err), TL_OK);
	assert_int_equal(series.pause_count, 4);
	assert_int_equal(series.pauses[0].after, 19);
}

static void logs_that_tell_of_every_tenth_step_have_pauses_too(void **state)
{
	(void)state;
	make(STEPS, 50 * MS, 10);
	for (size_t i = 0; i < STEPS; i++)
		step[i].number *= 10;
	assert_int_equal(tl_step_pauses(&series, &err), TL_OK);
	assert_int_equal(series.pause_count, 5);
}

static void gaps_within_the_unit_of_the_times_are_not_known(void **state)
{
	(void)state;
	make(STEPS, 0, 10);
	for (size_t i = 0; i < STEPS; i++)
		step[i].ts = (int64_t)i / 9 * S; /* nine lines a second */
	assert_int_equal(tl_step_pauses(&series, &err), TL_OK);
	assert_int_equal(series.pause_count, 0);
	for (size_t i = 30; i < STEPS; i++)
		step[i].ts += 5 * S;
	assert_int_equal(tl_step_pauses(&series, &err), TL_OK);
	assert_int_equal(series.pause_count, 1);
	assert_int_equal(series.pauses[0].after, 29);
}

static void steps_without_times_have_no_gaps(void **state)
{
	(void)state;
	make(STEPS, 50 * MS, 10);
	for (size_t i = 0; i < STEPS; i++)
		step[i].has_ts = false;
	assert_int_equal(tl_step_pauses(&series, &err), TL_OK);
	assert_int_equal(series.pause_count, 0);
	assert_true(series.gap_ns != series.gap_ns);
}

static void times_and_numbers_at_the_ends_of_their_range_do_no_harm(void **state)
{
	(void)state;
	make(4, 0, 10);
	step[0].ts = INT64_MIN;
	step[1].ts = INT64_MAX;
	step[2].number = INT64_MIN;
	step[3].number = INT64_MAX;
	assert_int_equal(tl_step_pauses(&series, &err), TL_OK);
	assert_int_equal(series.pause_count, 0);
}

static void the_step_that_is_on_is_found(void **state)
{
	(void)state;
	make(3, 0, 10);
	step[1].span_ns = 50 * MS;
	assert_int_equal(tl_steps_at(&series, step[0].ts - 1), 3);
	assert_int_equal(tl_steps_at(&series, step[0].ts), 0);
	assert_int_equal(tl_steps_at(&series, step[1].ts + 50 * MS - 1), 1);
	assert_int_equal(tl_steps_at(&series, step[1].ts + 50 * MS), 3); /* between two */
	assert_int_equal(tl_steps_at(&series, INT64_MAX), 3);
	step[0].ts = INT64_MIN;
	assert_int_equal(tl_steps_at(&series, step[1].ts - 1), 3);
}

static void the_usual_stride_is_the_median_of_those_that_ascend(void **state)
{
	double stride;

	(void)state;
	make(6, 0, 10);
	step[2].number = 11; /* 0 1 11 3 4 5: 1, 10, 1, 1 */
	assert_int_equal(tl_steps_stride(&series, &stride, &err), TL_OK);
	assert_true(stride == 1);
	make(1, 0, 10);
	assert_int_equal(tl_steps_stride(&series, &stride, &err), TL_OK);
	assert_true(stride == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_step_that_is_on_is_found),
		TEST(the_usual_stride_is_the_median_of_those_that_ascend),
		TEST(a_regular_pause_is_found_with_its_period),
		TEST(what_is_short_beside_a_step_is_no_pause),
		TEST(missing_steps_are_no_pause),
		TEST(logs_that_tell_of_every_tenth_step_have_pauses_too),
		TEST(gaps_within_the_unit_of_the_times_are_not_known),
		TEST(steps_without_times_have_no_gaps),
		TEST(times_and_numbers_at_the_ends_of_their_range_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
