/*
 * partition_test.c - every nanosecond has one name: small windows by hand, random ones nanosecond by
 * nanosecond; scheduler states and stolen time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "partition.h"
#include "random.h"

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))
#define LABELS	 8

static void sum(int64_t *sums, int64_t *gap, int64_t begin, int64_t end,
		const struct tl_interval *v, size_t n)
{
	struct tl_partition p;

	memset(sums, 0, LABELS * sizeof(*sums));
	*gap = 0;
	assert_int_equal(tl_partition(&p, begin, end, v, n, NULL), TL_OK);
	assert_int_equal(tl_partition_sum(&p, begin, end, sums, LABELS, gap, NULL), TL_OK);
	tl_partition_release(&p);
}

static void inner_interval_wins_over_outer(void **state)
{
	static const struct tl_interval v[] = { { 0, 100, 0, 0 },
						{ 20, 50, 0, 1 },
						{ 30, 40, 0, 2 } };
	int64_t sums[LABELS], gap;

	(void)state;
	sum(sums, &gap, 0, 100, v, COUNT(v));
	assert_int_equal(sums[0], 70);
	assert_int_equal(sums[1], 20);
	assert_int_equal(sums[2], 10);
	assert_int_equal(gap, 0);
}

static void higher_layer_wins_over_inner(void **state)
{
	static const struct tl_interval v[] = { { 20, 50, 1, 1 }, { 10, 60, 0, 0 } };
	int64_t sums[LABELS], gap;

	(void)state;
	sum(sums, &gap, 0, 100, v, COUNT(v));
	assert_int_equal(sums[0], 50);
	assert_int_equal(sums[1], 0);
	assert_int_equal(gap, 50);
}

static void same_interval_twice_belongs_to_the_last(void **state)
{
	static const struct tl_interval v[] = { { 0, 10, 0, 0 }, { 0, 10, 0, 1 } };
	int64_t sums[LABELS], gap;

	(void)state;
	sum(sums, &gap, 0, 10, v, COUNT(v));
	assert_int_equal(sums[0], 0);
	assert_int_equal(sums[1], 10);
}

/* Overlapping without nesting: from 20 on the later start is the inner one, until it ends. */
static void later_start_is_the_inner_one(void **state)
{
	static const struct tl_interval v[] = { { 10, 30, 0, 0 }, { 20, 40, 0, 1 } };
	int64_t sums[LABELS], gap;

	(void)state;
	sum(sums, &gap, 0, 50, v, COUNT(v));
	assert_int_equal(sums[0], 10);
	assert_int_equal(sums[1], 20);
	assert_int_equal(gap, 20);
}

static void what_began_before_the_window_is_the_outer_one(void **state)
{
	static const struct tl_interval v[] = { { -5, 100, 0, 1 }, { -50, 100, 0, 0 } };
	int64_t sums[LABELS], gap;

	(void)state;
	sum(sums, &gap, 0, 10, v, COUNT(v));
	assert_int_equal(sums[1], 10);
}

static void nothing_at_all_is_a_gap(void **state)
{
	int64_t sums[LABELS], gap;

	(void)state;
	sum(sums, &gap, 5, 25, NULL, 0);
	assert_int_equal(gap, 20);
	sum(sums, &gap, 5, 5, NULL, 0);
	assert_int_equal(gap, 0);
}

static void unix_time_in_nanoseconds_is_exact(void **state)
{
	int64_t t = INT64_C(1764509000123456789), sums[LABELS], gap;
	struct tl_interval v[] = { { t + 1, t + 3, 0, 0 } };

	(void)state;
	sum(sums, &gap, t, t + 1000000007, v, 1);
	assert_int_equal(sums[0], 2);
	assert_int_equal(gap, 1000000005);
}

static void pieces_follow_each_other_without_holes(void **state)
{
	static const struct tl_interval v[] = { { 0, 100, 0, 0 },
						{ 20, 50, 0, 1 },
						{ 50, 60, 0, 1 },
						{ 60, 60, 0, 2 },
						{ 90, 200, 1, 3 } };
	static const struct tl_piece expected[] = { { -10, 0, TL_LABEL_GAP },
						    { 0, 20, 0 },
						    { 20, 60, 1 },
						    { 60, 100, 0 },
						    { 100, 150, 3 } };
	struct tl_partition p;

	(void)state;
	assert_int_equal(tl_partition(&p, -10, 150, v, COUNT(v), NULL), TL_OK);
	assert_int_equal(p.count, COUNT(expected));
	for (size_t i = 0; i < p.count; i++) {
		assert_int_equal(p.pieces[i].start_ns, expected[i].start_ns);
		assert_int_equal(p.pieces[i].end_ns, expected[i].end_ns);
		assert_int_equal(p.pieces[i].label, expected[i].label);
	}
	tl_partition_release(&p);
}

/* The definition itself, applied to one nanosecond. */
static uint32_t name_of(const struct tl_interval *v, size_t n, int64_t t)
{
	const struct tl_interval *best = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct tl_interval *w = &v[i];

		if (w->start_ns > t || w->end_ns <= t)
			continue;
		if (!best || w->layer < best->layer ||
		    (w->layer == best->layer &&
		     (w->start_ns > best->start_ns ||
		      (w->start_ns == best->start_ns && w->end_ns <= best->end_ns))))
			best = w;
	}
	return best ? best->label : TL_LABEL_GAP;
}

static void random_windows_agree_nanosecond_by_nanosecond(void **state)
{
	struct tl_random rng = { 11 };

	(void)state;
	for (int round = 0; round < 500; round++) {
		int64_t sums[LABELS], gap, expected[LABELS] = { 0 }, expected_gap = 0;
		struct tl_interval v[20];
		size_t n = tl_random_below(&rng, 20);

		for (size_t i = 0; i < n; i++) {
			v[i].start_ns = (int64_t)tl_random_below(&rng, 100) - 10;
			v[i].end_ns = v[i].start_ns + tl_random_below(&rng, 40);
			v[i].layer = tl_random_below(&rng, 3);
			v[i].label = tl_random_below(&rng, LABELS);
		}
		for (int64_t t = 3; t < 97; t++) {
			uint32_t label = name_of(v, n, t);

			*(label == TL_LABEL_GAP ? &expected_gap : &expected[label]) += 1;
		}
		sum(sums, &gap, 3, 97, v, n);
		assert_memory_equal(sums, expected, sizeof(sums));
		assert_int_equal(gap, expected_gap);
	}
}

static void steps_of_one_partition_add_up_to_the_whole(void **state)
{
	static const struct tl_interval v[] = { { 0, 100, 0, 0 }, { 20, 50, 0, 1 } };
	int64_t sums[LABELS] = { 0 }, gap = 0;
	struct tl_partition p;

	(void)state;
	assert_int_equal(tl_partition(&p, 0, 120, v, 2, NULL), TL_OK);
	for (int64_t t = 0; t < 120; t += 7)
		assert_int_equal(tl_partition_sum(&p, t, t + 7, sums, LABELS, &gap, NULL), TL_OK);
	assert_int_equal(sums[0], 70);
	assert_int_equal(sums[1], 30);
	assert_int_equal(gap, 20);
	tl_partition_release(&p);
}

static void interval_that_ends_before_it_starts_is_refused(void **state)
{
	static const struct tl_interval v[] = { { 0, 10, 0, 0 }, { 50, 40, 0, 1 } };
	struct tl_partition p;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(tl_partition(&p, 0, 100, v, 2, &err), TL_USAGE);
	assert_string_equal(err.text, "interval 1 ends at 40 ns, before it starts at 50 ns");
}

static void window_that_is_no_time_is_refused(void **state)
{
	struct tl_partition p;

	(void)state;
	assert_int_equal(tl_partition(&p, 10, 0, NULL, 0, NULL), TL_USAGE);
	assert_int_equal(tl_partition(&p, INT64_MIN, INT64_MAX, NULL, 0, NULL), TL_USAGE);
}

static void label_without_a_place_is_refused(void **state)
{
	static const struct tl_interval v[] = { { 0, 10, 0, 9 } };
	int64_t sums[LABELS] = { 0 }, gap = 0;
	struct tl_partition p;

	(void)state;
	assert_int_equal(tl_partition(&p, 0, 10, v, 1, NULL), TL_OK);
	assert_int_equal(tl_partition_sum(&p, 0, 10, sums, LABELS, &gap, NULL), TL_USAGE);
	tl_partition_release(&p);
}

/* 10 * 1/3, 10 * 2/3, 10: 3 6 10. */
static void shares_add_up_exactly(void **state)
{
	static const uint64_t weights[] = { 1, 1, 1 };
	int64_t parts[3];

	(void)state;
	assert_int_equal(tl_apportion(parts, 10, weights, 3, NULL), TL_OK);
	assert_int_equal(parts[0], 3);
	assert_int_equal(parts[1], 3);
	assert_int_equal(parts[2], 4);
}

static void large_shares_do_not_overflow(void **state)
{
	static const uint64_t weights[] = { (uint64_t)1 << 60, (uint64_t)1 << 61,
					    (uint64_t)1 << 60 };
	int64_t parts[3];

	(void)state;
	assert_int_equal(tl_apportion(parts, INT64_MAX - 3, weights, 3, NULL), TL_OK);
	assert_int_equal(parts[0], INT64_MAX / 4);
	assert_int_equal(parts[1], INT64_MAX / 2 - 1);
	assert_int_equal(parts[2], INT64_MAX / 4);
}

/* Against floating point where that is exact enough to decide. */
static void random_shares_are_in_proportion(void **state)
{
	struct tl_random rng = { 5 };

	(void)state;
	for (int round = 0; round < 2000; round++) {
		int64_t parts[5], total = (int64_t)(tl_random_u64(&rng) >> 20), sum = 0;
		uint64_t weights[5], all = 0;

		for (int i = 0; i < 5; i++)
			all += weights[i] = tl_random_below(&rng, 1000);
		assert_int_equal(tl_apportion(parts, total, weights, 5, NULL), TL_OK);
		for (int i = 0; i < 5; i++) {
			double share = (double)total * (double)weights[i] / (double)all;

			assert_true((double)parts[i] - share < 1.01 &&
				    share - (double)parts[i] < 1.01);
			sum += parts[i];
		}
		assert_true(sum == total);
	}
}

static void no_weight_takes_nothing(void **state)
{
	static const uint64_t weights[] = { 0, 0 };
	int64_t parts[2] = { 7, 7 };

	(void)state;
	assert_int_equal(tl_apportion(parts, 10, weights, 2, NULL), TL_OK);
	assert_true(parts[0] == 0 && parts[1] == 0);
	assert_int_equal(tl_apportion(parts, -1, weights, 2, NULL), TL_USAGE);
}

/* ---- scheduler ---------------------------------------------------------------------------------- */

static const struct tl_sched_event events[] = {
	{ 10, TL_SCHED_IN, 1, 0 },
	{ 20, TL_SCHED_OUT, -1, TL_SWITCH_SLEEPING },
	{ 35, TL_SCHED_WAKE, 2, 0 },
	{ 40, TL_SCHED_IN, 2, 0 },
	{ 50, TL_SCHED_OUT, -1, TL_SWITCH_RUNNABLE },
	{ 58, TL_SCHED_IN, 3, 0 },
	{ 70, TL_SCHED_OUT, -1, TL_SWITCH_UNINTERRUPTIBLE },
	{ 80, TL_SCHED_IN, 1, 0 },
};

static size_t states(struct tl_sched_interval **v, int64_t begin, int64_t end)
{
	size_t count;

	assert_int_equal(tl_sched_intervals(v, &count, events, COUNT(events), begin, end, NULL),
			 TL_OK);
	return count;
}

static void switches_and_wakeups_become_states(void **state)
{
	static const struct tl_sched_interval expected[] = {
		{ 10, 20, TL_SCHED_RUNNING, 1 },	 { 20, 35, TL_SCHED_SLEEPING, 1 },
		{ 35, 40, TL_SCHED_RUNNABLE, 2 },	 { 40, 50, TL_SCHED_RUNNING, 2 },
		{ 50, 58, TL_SCHED_RUNNABLE, 3 },	 { 58, 70, TL_SCHED_RUNNING, 3 },
		{ 70, 80, TL_SCHED_UNINTERRUPTIBLE, 3 }, { 80, 90, TL_SCHED_RUNNING, 1 },
	};
	struct tl_sched_interval *v;

	(void)state;
	assert_int_equal(states(&v, 0, 90), COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++) {
		assert_int_equal(v[i].start_ns, expected[i].start_ns);
		assert_int_equal(v[i].end_ns, expected[i].end_ns);
		assert_int_equal(v[i].state, expected[i].state);
		assert_int_equal(v[i].cpu, expected[i].cpu);
	}
	free(v);
}

static void states_are_clipped_to_the_window(void **state)
{
	struct tl_sched_interval *v;

	(void)state;
	assert_int_equal(states(&v, 15, 38), 3);
	assert_int_equal(v[0].start_ns, 15);
	assert_int_equal(v[2].end_ns, 38);
	free(v);
}

static void wakeup_of_a_running_thread_changes_nothing(void **state)
{
	static const struct tl_sched_event woken[] = { { 0, TL_SCHED_IN, 1, 0 },
						       { 5, TL_SCHED_WAKE, 0, 0 } };
	struct tl_sched_interval *v;
	size_t count;

	(void)state;
	assert_int_equal(tl_sched_intervals(&v, &count, woken, 2, 0, 10, NULL), TL_OK);
	assert_int_equal(count, 1);
	assert_int_equal(v[0].end_ns, 10);
	free(v);
}

static void nothing_is_known_without_events(void **state)
{
	struct tl_sched_interval *v;
	size_t count;

	(void)state;
	assert_int_equal(tl_sched_intervals(&v, &count, NULL, 0, 0, 10, NULL), TL_OK);
	assert_int_equal(count, 0);
	free(v);
}

static void events_out_of_order_are_refused(void **state)
{
	static const struct tl_sched_event bad[] = { { 5, TL_SCHED_IN, 1, 0 },
						     { 4, TL_SCHED_WAKE, 1, 0 } };
	struct tl_sched_interval *v;
	size_t count;

	(void)state;
	assert_int_equal(tl_sched_intervals(&v, &count, bad, 2, 0, 10, NULL), TL_USAGE);
}

/* Waits on CPU 2 from 35 to 40, on CPU 3 from 50 to 58. */
static void waiting_is_charged_to_who_ran_there(void **state)
{
	static const struct tl_cpu_run runs[] = {
		{ 39, 45, 2, 1 }, { 30, 38, 2, 0 }, { 0, 100, 1, 2 }, { 54, 56, 3, 3 }
	};
	int64_t sums[LABELS] = { 0 };
	struct tl_sched_interval *v;
	size_t n = states(&v, 0, 90);

	(void)state;
	assert_int_equal(tl_stolen_time(sums, LABELS, v, n, runs, COUNT(runs), NULL), TL_OK);
	assert_int_equal(sums[0], 3);
	assert_int_equal(sums[1], 1);
	assert_int_equal(sums[2], 0);
	assert_int_equal(sums[3], 2);
	free(v);
}

/* A long run that began first reaches over a short one behind it. */
static void runs_that_overlap_are_all_found(void **state)
{
	static const struct tl_cpu_run runs[] = { { 0, 100, 2, 0 },
						  { 1, 2, 2, 1 },
						  { 3, 4, 2, 1 } };
	static const struct tl_sched_interval wait = { 35, 40, TL_SCHED_RUNNABLE, 2 };
	int64_t sums[LABELS] = { 0 };

	(void)state;
	assert_int_equal(tl_stolen_time(sums, LABELS, &wait, 1, runs, COUNT(runs), NULL), TL_OK);
	assert_int_equal(sums[0], 5);
	assert_int_equal(sums[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inner_interval_wins_over_outer),
		cmocka_unit_test(higher_layer_wins_over_inner),
		cmocka_unit_test(same_interval_twice_belongs_to_the_last),
		cmocka_unit_test(later_start_is_the_inner_one),
		cmocka_unit_test(what_began_before_the_window_is_the_outer_one),
		cmocka_unit_test(nothing_at_all_is_a_gap),
		cmocka_unit_test(unix_time_in_nanoseconds_is_exact),
		cmocka_unit_test(pieces_follow_each_other_without_holes),
		cmocka_unit_test(random_windows_agree_nanosecond_by_nanosecond),
		cmocka_unit_test(steps_of_one_partition_add_up_to_the_whole),
		cmocka_unit_test(interval_that_ends_before_it_starts_is_refused),
		cmocka_unit_test(window_that_is_no_time_is_refused),
		cmocka_unit_test(label_without_a_place_is_refused),
		cmocka_unit_test(shares_add_up_exactly),
		cmocka_unit_test(large_shares_do_not_overflow),
		cmocka_unit_test(random_shares_are_in_proportion),
		cmocka_unit_test(no_weight_takes_nothing),
		cmocka_unit_test(switches_and_wakeups_become_states),
		cmocka_unit_test(states_are_clipped_to_the_window),
		cmocka_unit_test(wakeup_of_a_running_thread_changes_nothing),
		cmocka_unit_test(nothing_is_known_without_events),
		cmocka_unit_test(events_out_of_order_are_refused),
		cmocka_unit_test(waiting_is_charged_to_who_ran_there),
		cmocka_unit_test(runs_that_overlap_are_all_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
