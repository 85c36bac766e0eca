/*
 * steps_test.c - steps of a case through the writer: series, classes, stored rows. The arithmetic
 * has tests of its own (steps_model_test.c).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "near_test.h"
#include "source_example.h"

static void mark(int64_t number, int32_t rank, int64_t ts, int64_t duration)
{
	struct tl_event ev = { .kind = TL_EVENT_STEP, .has_ts = ts >= 0, .ts = ts };

	ev.step.number = number;
	ev.step.rank = rank;
	ev.step.duration_ns = duration;
	emit(&ev);
}

/* 100 ms with a little noise; steps 50 to 55 are 30 % slower. */
static int64_t duration_of(int64_t step)
{
	int64_t noise = step * 7919 % 13 * 200000;

	return 100000000 + noise + (step >= 50 && step <= 55 ? 30000000 : 0);
}

static void a_transient_is_found_and_stored(void **state)
{
	struct tl_steps steps;
	int64_t ts = 0;

	(void)state;
	begin_source("train.log");
	for (int64_t i = 0; i < 120; i++) {
		mark(i + 1000, 0, ts, duration_of(i));
		ts += duration_of(i);
	}
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(steps.series_count, 1);
	assert_int_equal(steps.series[0].count, 120);
	assert_true(steps.series[0].is_alarm);
	assert_int_equal(steps.series[0].episode_count, 1);
	assert_string_equal(steps.series[0].episodes[0].kind, "transient");
	assert_int_equal(steps.series[0].episodes[0].first, 50);
	assert_int_equal(steps.series[0].episodes[0].last, 55);
	assert_non_null(strstr(steps.series[0].verdict, "steps 1050-1055"));
	tl_steps_release(&steps);
	assert_int_equal(value("SELECT count(*) FROM step"), 120);
	assert_int_equal(value("SELECT count(*) FROM step WHERE class = 'slow'"), 6);
	assert_int_equal(value("SELECT min(number) FROM step_view WHERE class = 'slow'"), 1050);
	assert_int_equal(value("SELECT count(*) FROM episode WHERE json_extract(detail, "
			       "'$.excess_ns') > 0"),
			 1);
}

/* Lines for ten steps each: 1 to 1000 in 100 ms each, but 301 to 400 in 130. */
static void rows_of_ten(void)
{
	int64_t ts = 0;

	begin_source("train.log");
	for (int64_t i = 0; i < 100; i++) {
		struct tl_event ev = { .kind = TL_EVENT_STEP, .has_ts = true, .ts = ts };

		ev.step =
			(struct tl_event_step) { .number = 10 * (i + 1), .rank = -1, .count = 10 };
		ev.step.duration_ns =
			1000000000 + i * 7919 % 13 * 200000 + (i >= 30 && i < 40 ? 300000000 : 0);
		emit(&ev);
		ts += ev.step.duration_ns;
	}
	end_source();
}

static void a_row_of_ten_steps_counts_as_ten(void **state)
{
	const struct tl_steps_episode *e;
	struct tl_steps steps;

	(void)state;
	rows_of_ten();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(steps.series[0].step_count, 1000);
	assert_int_equal(steps.series[0].steps_per_row, 10);
	assert_in_range((uint64_t)steps.series[0].baseline_ns, 100000000, 100400000);
	assert_int_equal(steps.series[0].episode_count, 1);
	e = &steps.series[0].episodes[0];
	assert_int_equal(tl_step_first(&steps.series[0].steps[e->first]), 301);
	assert_int_equal(steps.series[0].steps[e->last].number, 400);
	assert_int_equal(tl_steps_counted(&steps.series[0], e->first, e->last), 100);
	/* 100 steps of 30 ms more */
	assert_in_range((uint64_t)e->excess_ns, 2950000000, 3050000000);
	assert_int_equal(e->recovery_steps, 100);
	assert_in_range((uint64_t)e->recovery_ns, 13000000000, 13050000000);
	assert_non_null(strstr(steps.series[0].verdict, "steps 301-400"));
	assert_non_null(strstr(steps.series[0].verdict, "a row stands for 10 steps"));
	tl_steps_release(&steps);
}

static void the_slow_rows_cover_all_their_steps(void **state)
{
	struct tl_time_range *ranges;
	size_t count, step_count;

	(void)state;
	rows_of_ten();
	assert_int_equal(value("SELECT sum(dur) / 1000000000 FROM step WHERE class = 'slow'"), 13);
	assert_int_equal(value("SELECT sum(step_count) FROM step WHERE class = 'slow'"), 100);
	assert_int_equal(tl_steps_ranges(store, "305", &ranges, &count, &step_count, &err), TL_OK);
	assert_int_equal(count, 1);
	assert_in_range((uint64_t)(ranges[0].end_ns - ranges[0].begin_ns), 1300000000, 1310000000);
	assert_int_equal(step_count, 10);
	free(ranges);
}

static void ranks_are_judged_apart(void **state)
{
	struct tl_steps steps;
	const struct tl_steps_options only = { .has_rank = true, .rank = 1 };

	(void)state;
	begin_source("train.log");
	for (int64_t i = 0; i < 20; i++) {
		mark(i, 0, -1, 100);
		mark(i, 1, -1, 200);
	}
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(steps.series_count, 2);
	assert_near(steps.series[0].baseline_ns, 100, 1e-6);
	assert_near(steps.series[1].baseline_ns, 200, 1e-6);
	tl_steps_release(&steps);
	assert_int_equal(tl_steps_load(store, &only, &steps, &err), TL_OK);
	assert_int_equal(steps.series_count, 1);
	assert_int_equal(steps.series[0].rank, 1);
	tl_steps_release(&steps);
}

static void a_mark_without_duration_lasts_until_the_next(void **state)
{
	struct tl_steps steps;

	(void)state;
	begin_source("train.log");
	mark(1, -1, 1000, -1);
	mark(2, -1, 1400, -1);
	mark(3, -1, 2000, -1); /* its end is not known */
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(steps.series[0].count, 2);
	assert_int_equal(steps.series[0].left_out, 1);
	assert_int_equal(steps.series[0].steps[1].duration_ns, 600);
	tl_steps_release(&steps);
}

static void a_long_slow_start_is_told(void **state)
{
	struct tl_steps steps;

	(void)state;
	begin_source("train.log");
	for (int64_t i = 0; i < 100; i++)
		mark(i, 0, -1, 100000000 + i * 7919 % 13 * 200000 + (i < 20 ? 30000000 : 0));
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(steps.series[0].warmup_count, 20);
	assert_non_null(strstr(steps.series[0].verdict, "the first 20 steps are slower by 29"));
	tl_steps_release(&steps);
}

static void steps_without_durations_are_no_steps(void **state)
{
	struct tl_steps steps;

	(void)state;
	begin_source("train.log");
	mark(1, 0, -1, 0);
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_NOTHING);
	assert_non_null(strstr(err.text, "none of the 1"));
}

static void slices_that_match_a_name_are_steps(void **state)
{
	const struct tl_steps_options named = { .name_pattern = "^iter ([0-9]+)$" };
	struct tl_event track = { .kind = TL_EVENT_TRACK };
	struct tl_event slice = { .kind = TL_EVENT_SLICE, .has_ts = true };
	struct tl_steps steps;
	char name[32];

	(void)state;
	begin_source("trace.json");
	track.track.kind = TL_TRACK_THREAD;
	track.track.task = (struct tl_task) { 7, 8 };
	track.track.device = track.track.stream = -1;
	emit(&track);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), i % 2 ? "iter %d" : "other %d", i);
		slice.ts = i * 1000;
		slice.slice.name = name;
		slice.slice.name_length = strlen(name);
		slice.slice.duration_ns = 900;
		slice.slice.stream = -1;
		emit(&slice);
	}
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_NOTHING);
	assert_non_null(strstr(err.text, "--step-name"));
	memset(&err, 0, sizeof(err));
	assert_int_equal(tl_steps_load(store, &named, &steps, &err), TL_OK);
	assert_int_equal(steps.series[0].count, 5);
	assert_int_equal(steps.series[0].steps[4].number, 9);
	assert_int_equal(steps.series[0].tid, 8);
	tl_steps_release(&steps);
}

static void two_series_are_compared(void **state)
{
	struct tl_steps steps;
	struct tl_steps_comparison c;

	(void)state;
	begin_source("train.log");
	for (int64_t i = 0; i < 40; i++) {
		mark(i, 0, -1, 100000 + i * 37 % 11 * 100);
		mark(i, 1, -1, 120000 + i * 37 % 11 * 100);
	}
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_steps_compare(&steps.series[0], &steps.series[1], 0, &c, &err), TL_OK);
	assert_string_equal(c.verdict, "slower");
	assert_true(c.ratio > 1.18 && c.ratio < 1.22);
	assert_true(c.ratio_low <= c.ratio && c.ratio <= c.ratio_high);
	tl_steps_release(&steps);
}

/* 120 steps from `ts` on, of a source whose clock was mapped by `method`. */
static void add_steps(const char *path, enum tl_clock_method method, int64_t ts)
{
	begin_source(path);
	emit(&(struct tl_event) {
		.kind = TL_EVENT_CLOCK,
		.clock = { "test", method, 0, method == TL_CLOCK_ASSUMED ? -1 : 1000, "why" } });
	for (int64_t i = 0; i < 120; i++) {
		mark(i, 0, ts, duration_of(i));
		ts += duration_of(i);
	}
	end_source();
}

static size_t slow_steps(struct tl_time_range **ranges, size_t *count)
{
	struct tl_steps steps;
	size_t step_count;

	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	tl_steps_release(&steps);
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
	assert_int_equal(tl_steps_ranges(store, "slow", ranges, count, &step_count, &err), TL_OK);
	return step_count;
}

static void steps_of_an_assumed_clock_are_laid_nowhere_if_others_are_known(void **state)
{
	struct tl_time_range *ranges;
	struct tl_clock_join join;
	size_t count;

	(void)state;
	add_steps("rank0.json", TL_CLOCK_EXACT, INT64_C(100000000000));
	add_steps("train.log", TL_CLOCK_ASSUMED, INT64_C(3700000000000));
	assert_int_equal(slow_steps(&ranges, &count), 6);
	assert_true(ranges[count - 1].end_ns < INT64_C(3700000000000));
	free(ranges);
	assert_int_equal(tl_clock_join_steps(store, "slow", TL_CLOCK_DATA_CALLS, &join, &err),
			 TL_OK);
	assert_true(join.is_allowed);
	assert_non_null(strstr(join.text, "steps of 1 source whose clock is only assumed"));
}

static void steps_of_an_assumed_clock_alone_are_there(void **state)
{
	struct tl_time_range *ranges;
	size_t count;

	(void)state;
	add_steps("train.log", TL_CLOCK_ASSUMED, INT64_C(3700000000000));
	assert_int_equal(slow_steps(&ranges, &count), 6);
	free(ranges);
}

#define STEPS_TEST(name) cmocka_unit_test_setup_teardown(name, setup_store, teardown_store)

static void a_comparison_names_the_slowest_steps(void **state)
{
	struct tl_steps_comparison c;
	struct tl_steps steps;

	(void)state;
	begin_source("train.log");
	for (int64_t i = 0; i < 8; i++) {
		mark(i, 0, -1, 100000000 + i * 1000);
		mark(i, 1, -1, i == 5 ? 90000000 : 150000000 + (i * 3 % 8) * 1000000);
	}
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(steps.series_count, 2);
	assert_int_equal(tl_steps_compare(&steps.series[0], &steps.series[1], 0, &c, &err), TL_OK);
	assert_string_equal(c.verdict, "slower");
	/* 3i mod 8, of steps 0 to 7: 0 3 6 1 4 - 2 5; step 5 is fast */
	assert_int_equal(c.slowest_count, TL_SLOWEST_STEPS);
	assert_int_equal(c.slowest[0], 2);
	assert_int_equal(c.slowest[1], 7);
	assert_int_equal(c.slowest[2], 4);
	assert_int_equal(c.slowest[4], 6);
	assert_non_null(strstr(c.says, "slower: +5"));
	assert_non_null(strstr(c.says, "slowest there: 2 (156 ms), 7 (155 ms)"));
	assert_int_equal(tl_steps_compare(&steps.series[1], &steps.series[0], 0, &c, &err), TL_OK);
	assert_int_equal(c.slowest_count, 0); /* none is slower than the other side */
	tl_steps_release(&steps);
}

static void a_slow_phase_that_medians_hide_is_told_when_compared(void **state)
{
	struct tl_steps_comparison c;
	struct tl_steps steps;

	(void)state;
	begin_source("train.log");
	for (int64_t i = 0; i < 100; i++) {
		mark(i, 0, -1, 100000000 + i * 7919 % 13 * 100000);
		mark(i, 1, -1,
		     100000000 + i * 7919 % 13 * 100000 + (i >= 60 && i < 80 ? 50000000 : 0));
	}
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_steps_compare(&steps.series[0], &steps.series[1], 0, &c, &err), TL_OK);
	assert_string_not_equal(c.verdict, "slower");
	assert_true(c.has_own_alarm && c.is_alarm);
	assert_near(c.slow_mean_ns - c.good_mean_ns, 1e7, 1e6);
	assert_non_null(strstr(c.says, "there, unlike here: transient: steps 60-79"));
	assert_non_null(strstr(c.says, "the mean of all steps: +9."));
	assert_int_equal(tl_steps_compare(&steps.series[1], &steps.series[0], 0, &c, &err), TL_OK);
	assert_false(c.is_alarm);
	tl_steps_release(&steps);
}

static void a_change_below_the_smallest_worth_is_no_alarm(void **state)
{
	struct tl_steps_comparison c;
	struct tl_steps steps;

	(void)state;
	begin_source("train.log");
	for (int64_t i = 0; i < 100; i++) {
		mark(i, 0, -1, 100000000 + i * 7919 % 13 * 10000);
		mark(i, 1, -1, 101000000 + i * 7919 % 13 * 10000);
	}
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_steps_compare(&steps.series[0], &steps.series[1], 0, &c, &err), TL_OK);
	assert_string_equal(c.verdict, "slower");
	assert_true(c.is_alarm);
	assert_int_equal(tl_steps_compare(&steps.series[0], &steps.series[1], 0.1, &c, &err),
			 TL_OK);
	assert_false(c.is_alarm);
	tl_steps_release(&steps);
}

static void where_most_steps_are_faster_than_the_baseline_the_others_are_named(void **state)
{
	struct tl_steps steps;

	(void)state;
	begin_source("train.log");
	for (int64_t i = 0; i < 300; i++)
		mark(i, 0, -1,
		     100000000 + i * 7919 % 13 * 100000 +
			     (i < 20 || (i >= 150 && i < 170) ? 30000000 : 0));
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_non_null(strstr(steps.series[0].verdict,
			       "260 of 300 steps are faster than the first ones; measured by them, "
			       "40 steps are slower by 29."));
	assert_non_null(strstr(steps.series[0].verdict, ": 0-19, 150-169"));
	tl_steps_release(&steps);
}

static void steps_that_get_faster_are_no_alarm(void **state)
{
	struct tl_steps steps;

	(void)state;
	begin_source("train.log");
	for (int64_t i = 0; i < 300; i++)
		mark(i, 0, -1, 100000000 - i * 100000 + i * 7919 % 13 * 400000);
	end_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_true(steps.series[0].has_drift);
	assert_false(steps.series[0].is_alarm);
	tl_steps_release(&steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(a_slow_phase_that_medians_hide_is_told_when_compared),
		STEPS_TEST(a_change_below_the_smallest_worth_is_no_alarm),
		STEPS_TEST(where_most_steps_are_faster_than_the_baseline_the_others_are_named),
		STEPS_TEST(steps_that_get_faster_are_no_alarm),
		STEPS_TEST(a_transient_is_found_and_stored),
		STEPS_TEST(a_row_of_ten_steps_counts_as_ten),
		STEPS_TEST(the_slow_rows_cover_all_their_steps),
		STEPS_TEST(ranks_are_judged_apart),
		STEPS_TEST(a_mark_without_duration_lasts_until_the_next),
		STEPS_TEST(a_long_slow_start_is_told),
		STEPS_TEST(steps_without_durations_are_no_steps),
		STEPS_TEST(slices_that_match_a_name_are_steps),
		STEPS_TEST(two_series_are_compared),
		STEPS_TEST(steps_of_an_assumed_clock_are_laid_nowhere_if_others_are_known),
		STEPS_TEST(steps_of_an_assumed_clock_alone_are_there),
		STEPS_TEST(a_comparison_names_the_slowest_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
