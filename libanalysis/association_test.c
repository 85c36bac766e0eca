/*
 * association_test.c - things that happen together, and things that only seem to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "association.h"
#include "near_test.h"

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))

/* Shifts of 1 2 3 4 against itself correlate with -.2 -.6 -.2: none reaches 1. */
static void circular_p_counts_shifts(void **state)
{
	static const double v[] = { 1, 2, 3, 4 };
	double rho, p;

	(void)state;
	assert_int_equal(tl_circular_rank(&rho, &p, v, v, 4, NULL), TL_OK);
	assert_near(rho, 1, 1e-15);
	assert_near(p, 1.0 / 4, 1e-15);
}

static void constant_activity_is_never_significant(void **state)
{
	static const double flat[] = { 0, 0, 0, 0 }, v[] = { 1, 2, 3, 4 };
	double rho, p;

	(void)state;
	assert_int_equal(tl_circular_rank(&rho, &p, flat, v, 4, NULL), TL_OK);
	assert_true(rho == 0 && p == 1);
}

static void no_steps_have_no_correlation(void **state)
{
	double rho, p;

	(void)state;
	assert_int_equal(tl_circular_rank(&rho, &p, NULL, NULL, 0, NULL), TL_OK);
	assert_true(rho == 0 && p == 1);
}

/* Both grow from stratum to stratum, but inside each they go opposite ways. */
static void what_acts_on_a_whole_stratum_cancels(void **state)
{
	static const double a[] = { 1, 2, 3, 11, 12, 13 }, x[] = { 3, 2, 1, 13, 12, 11 };
	static const int64_t stratum[] = { 0, 0, 0, 1, 1, 1 };
	struct tl_stratified_rank s;

	(void)state;
	assert_int_equal(tl_stratified_rank(&s, a, x, stratum, 6, 999, 5, NULL), TL_OK);
	assert_near(s.r, -1, 1e-15);
	assert_near(s.p, 1, 1e-15);
	assert_int_equal(s.stratum_count, 2);
	assert_int_equal(s.largest, 3);
}

/* All 36 ways to permute two strata of three: one is as good. */
static void agreement_inside_strata_has_the_p_of_its_permutations(void **state)
{
	static const double v[] = { 1, 2, 3, 11, 12, 13 };
	static const int64_t stratum[] = { 0, 0, 0, 1, 1, 1 };
	struct tl_stratified_rank s;

	(void)state;
	assert_int_equal(tl_stratified_rank(&s, v, v, stratum, 6, 20000, 5, NULL), TL_OK);
	assert_near(s.r, 1, 1e-15);
	assert_near(s.p, 1.0 / 36, 0.004); /* 3.5 standard errors */
}

static void strata_of_two_say_nothing(void **state)
{
	static const double v[] = { 1, 2, 3, 4 };
	static const int64_t stratum[] = { 0, 0, 1, 1 };
	struct tl_stratified_rank s;

	(void)state;
	assert_int_equal(tl_stratified_rank(&s, v, v, stratum, 4, 99, 5, NULL), TL_OK);
	assert_int_equal(s.stratum_count, 0);
	assert_true(isnan(s.p));
}

/* ---- overlap ------------------------------------------------------------------------------------ */

static struct tl_overlap overlap(const struct tl_time_span *steps, size_t n,
				 const struct tl_time_span *stalls, size_t m,
				 const struct tl_time_span *acts, size_t k)
{
	struct tl_overlap o;

	assert_int_equal(
		tl_overlap_test(&o, steps, n, stalls, m, acts, k, TL_OVERLAP_ROTATIONS, NULL),
		TL_OK);
	return o;
}

/* 10 ns of 1000 in both: 10 observed, 10 * 10 / 1000 = 0.1 expected. */
static void stalls_inside_activity_are_no_chance(void **state)
{
	struct tl_time_span steps[20], stalls[20];
	struct tl_overlap o;

	(void)state;
	for (int i = 0; i < 20; i++) {
		steps[i] = (struct tl_time_span) { i * 1000, (i + 1) * 1000 };
		stalls[i] = (struct tl_time_span) { i * 1000 + 40 * i, i * 1000 + 40 * i + 10 };
	}
	o = overlap(steps, 20, stalls, 20, stalls, 20);
	assert_true(o.overlap_ns == 200);
	assert_near(o.expected_ns, 2, 1);
	assert_near(o.p, 1.0 / 201, 1e-15);
}

/* However it is turned: every rotation is a tie, and a tie is no evidence. */
static void activity_all_the_time_is_no_evidence(void **state)
{
	static const struct tl_time_span steps[] = { { INT64_C(1764509000000000007),
						       INT64_C(1764509001000000000) } };
	static const struct tl_time_span stalls[] = { { INT64_C(1764509000100000003),
							INT64_C(1764509000200000004) } };
	struct tl_overlap o = overlap(steps, 1, stalls, 1, steps, 1);

	(void)state;
	assert_true(o.overlap_ns == 100000001);
	assert_near(o.ratio, 1, 1e-9);
	assert_true(o.p == 1);
}

static void without_activity_there_is_no_overlap(void **state)
{
	static const struct tl_time_span steps[] = { { 0, 100 } }, stalls[] = { { 10, 20 } };
	struct tl_overlap o = overlap(steps, 1, stalls, 1, NULL, 0);

	(void)state;
	assert_true(o.overlap_ns == 0 && o.ratio == 1 && o.p == 1);
}

static void what_lies_outside_the_steps_does_not_count(void **state)
{
	static const struct tl_time_span steps[] = { { 100, 200 } },
					 v[] = { { 90, 110 }, { 190, 300 } };
	struct tl_overlap o = overlap(steps, 1, v, 2, v, 2);

	(void)state;
	assert_true(o.overlap_ns == 20);
}

static void overlapping_stalls_are_refused(void **state)
{
	static const struct tl_time_span steps[] = { { 0, 100 } },
					 bad[] = { { 0, 20 }, { 10, 30 } };
	struct tl_overlap o;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(tl_overlap_test(&o, steps, 1, bad, 2, steps, 1, 9, &err), TL_USAGE);
	assert_string_equal(err.text,
			    "stall 1 starts at 10 ns, before the end of the one it follows");
}

/* ---- epochs ------------------------------------------------------------------------------------- */

static void epochs_are_laid_on_top_of_each_other(void **state)
{
	static const double x[] = { 1, 1, 2, 1, 1, 2, 1, 1, 2 };
	static const size_t events[] = { 2, 5, 8 };
	struct tl_epoch_row *rows;
	size_t count;

	(void)state;
	assert_int_equal(tl_epoch_fold(&rows, &count, x, COUNT(x), events, 3, 1, 1, 1.0, 100, NULL),
			 TL_OK);
	assert_int_equal(count, 3);
	assert_int_equal(rows[0].offset, -1);
	assert_true(rows[0].ratio == 1 && rows[0].count == 3);
	assert_true(rows[1].ratio == 2 && rows[1].low == 2 && rows[1].high == 2);
	/* The last one has no step behind it; two are too few for an interval. */
	assert_int_equal(rows[2].count, 2);
	assert_true(rows[2].ratio == 1 && isnan(rows[2].low));
	free(rows);
}

static void event_outside_the_series_is_refused(void **state)
{
	static const double x[] = { 1, 1 };
	static const size_t events[] = { 2 };
	struct tl_epoch_row *rows;
	size_t count;

	(void)state;
	assert_int_equal(tl_epoch_fold(&rows, &count, x, 2, events, 1, 1, 1, 1.0, 100, NULL),
			 TL_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(circular_p_counts_shifts),
		cmocka_unit_test(constant_activity_is_never_significant),
		cmocka_unit_test(no_steps_have_no_correlation),
		cmocka_unit_test(what_acts_on_a_whole_stratum_cancels),
		cmocka_unit_test(agreement_inside_strata_has_the_p_of_its_permutations),
		cmocka_unit_test(strata_of_two_say_nothing),
		cmocka_unit_test(stalls_inside_activity_are_no_chance),
		cmocka_unit_test(activity_all_the_time_is_no_evidence),
		cmocka_unit_test(without_activity_there_is_no_overlap),
		cmocka_unit_test(what_lies_outside_the_steps_does_not_count),
		cmocka_unit_test(overlapping_stalls_are_refused),
		cmocka_unit_test(epochs_are_laid_on_top_of_each_other),
		cmocka_unit_test(event_outside_the_series_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
