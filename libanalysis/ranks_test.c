/*
 * ranks_test.c - rank tests against values counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "near_test.h"
#include "ranks.h"

static struct tl_mann_whitney test(const double *a, size_t n, const double *b, size_t m,
				   enum tl_alternative alternative)
{
	struct tl_mann_whitney mw;

	assert_int_equal(tl_mann_whitney(&mw, a, n, b, m, alternative, NULL), TL_OK);
	return mw;
}

static void equal_values_share_their_mean_rank(void **state)
{
	static const double v[] = { 20, 10, 30, 20 };
	double rank[4], ties;

	(void)state;
	assert_int_equal(tl_midranks(rank, &ties, v, 4, NULL), TL_OK);
	assert_true(rank[0] == 2.5 && rank[1] == 1 && rank[2] == 4 && rank[3] == 2.5);
	assert_true(ties == 6); /* 2^3 - 2 */
}

/* One grouping of 70 is as extreme on each side. */
static void four_against_four_apart_has_p_2_of_70(void **state)
{
	static const double a[] = { 1, 2, 3, 4 }, b[] = { 5, 6, 7, 8 };
	struct tl_mann_whitney mw = test(a, 4, b, 4, TL_DIFFERENT);

	(void)state;
	assert_near(mw.p, 2.0 / 70, 1e-15);
	assert_int_equal(mw.method, TL_TEST_EXACT);
	assert_true(mw.u == 16 && mw.cliff == 1);
}

static void one_sided_p_looks_at_one_side(void **state)
{
	static const double a[] = { 1, 2, 3, 4 }, b[] = { 5, 6, 7, 8 };

	(void)state;
	assert_near(test(a, 4, b, 4, TL_GREATER).p, 1.0 / 70, 1e-15);
	assert_near(test(b, 4, a, 4, TL_GREATER).p, 1, 1e-15);
}

/* Ranks 1 2.5 2.5 4; sums of two: 3.5 3.5 5 5 6.5 6.5, and b has 6.5. */
static void ties_are_counted_exactly(void **state)
{
	static const double a[] = { 1, 2 }, b[] = { 2, 3 };
	struct tl_mann_whitney mw = test(a, 2, b, 2, TL_DIFFERENT);

	(void)state;
	assert_near(mw.p, 2.0 / 3, 1e-15);
	assert_true(mw.u == 3.5 && mw.cliff == 0.75);
}

/* C(6,1) = 6 groupings: the larger group is not the one that is counted. */
static void groups_may_differ_in_size(void **state)
{
	static const double a[] = { 9 }, b[] = { 1, 2, 3, 4, 5 };

	(void)state;
	assert_near(test(a, 1, b, 5, TL_DIFFERENT).p, 2.0 / 6, 1e-15);
	assert_near(test(a, 1, b, 5, TL_GREATER).p, 1, 1e-15);
	assert_near(test(b, 5, a, 1, TL_GREATER).p, 1.0 / 6, 1e-15);
}

/* u = 2500, mean 1250, variance 50 * 50 * 101 / 12, continuity 1/2. */
static void many_values_use_the_normal_distribution(void **state)
{
	double a[50], b[50], z = 1249.5 / sqrt(2500 * 101 / 12.0);
	struct tl_mann_whitney mw;

	(void)state;
	for (int i = 0; i < 50; i++) {
		a[i] = i;
		b[i] = 50 + i;
	}
	mw = test(a, 50, b, 50, TL_DIFFERENT);
	assert_int_equal(mw.method, TL_TEST_NORMAL);
	assert_near(mw.p / erfc(z / sqrt(2)), 1, 1e-12);
}

static void equal_values_show_no_difference(void **state)
{
	double a[60] = { 0 };
	struct tl_mann_whitney mw = test(a, 60, a, 60, TL_DIFFERENT);

	(void)state;
	assert_int_equal(mw.method, TL_TEST_DEGENERATE);
	assert_true(mw.p == 1);
	assert_true(test(a, 3, a, 3, TL_DIFFERENT).p == 1);
}

static void empty_group_has_no_test(void **state)
{
	static const double a[] = { 1 };
	struct tl_mann_whitney mw = test(a, 1, a, 0, TL_DIFFERENT);

	(void)state;
	assert_int_equal(mw.method, TL_TEST_NONE);
	assert_true(mw.p == 1 && isnan(mw.u));
}

static void not_a_number_is_refused(void **state)
{
	static const double a[] = { 1, NAN }, b[] = { 2 };
	struct tl_mann_whitney mw;
	struct tl_shift shift;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(tl_mann_whitney(&mw, a, 2, b, 1, TL_DIFFERENT, &err), TL_USAGE);
	assert_string_equal(err.text, "ranks: value 1 is nan, expected a finite number");
	assert_int_equal(tl_hodges_lehmann(&shift, b, 1, a, 2, 0.95, 1, NULL), TL_USAGE);
}

/* Differences 1 2 2 3 3 4 4 5 6. */
static void shift_is_the_median_of_all_differences(void **state)
{
	static const double a[] = { 1, 2, 3 }, b[] = { 4, 5, 7 };
	struct tl_shift shift;

	(void)state;
	assert_int_equal(tl_hodges_lehmann(&shift, a, 3, b, 3, 0.95, 1, NULL), TL_OK);
	assert_true(shift.estimate == 3);
}

static void six_values_cannot_bound_a_shift(void **state)
{
	static const double a[] = { 1, 2, 3 }, b[] = { 4, 5, 7 };
	struct tl_shift shift;

	(void)state;
	assert_int_equal(tl_hodges_lehmann(&shift, a, 3, b, 3, 0.95, 1, NULL), TL_OK);
	assert_true(isinf(shift.low) && isinf(shift.high));
}

/* k = floor(12.5 - 1.96 sqrt(25 * 11 / 12)) = 3; smallest -39 -29 -28, largest 45 35 34. */
static void interval_is_the_third_difference_from_each_end(void **state)
{
	static const double a[] = { 0, 10, 20, 30, 40 }, b[] = { 45, 34, 23, 12, 1 };
	struct tl_shift shift;

	(void)state;
	assert_int_equal(tl_hodges_lehmann(&shift, a, 5, b, 5, 0.95, 1, NULL), TL_OK);
	assert_true(shift.low == -28 && shift.estimate == 3 && shift.high == 34);
}

static void even_number_of_differences_has_a_median_between(void **state)
{
	static const double a[] = { 0 }, b[] = { 1, 4 };
	struct tl_shift shift;

	(void)state;
	assert_int_equal(tl_hodges_lehmann(&shift, a, 1, b, 2, 0.95, 1, NULL), TL_OK);
	assert_true(shift.estimate == 2.5);
}

static void shift_of_nothing_is_unknown(void **state)
{
	static const double a[] = { 0 };
	struct tl_shift shift;

	(void)state;
	assert_int_equal(tl_hodges_lehmann(&shift, a, 1, a, 0, 0.95, 1, NULL), TL_OK);
	assert_true(isnan(shift.estimate));
}

static void rank_correlation_sees_order_only(void **state)
{
	static const double a[] = { 1, 2, 3, 4 }, up[] = { 1, 4, 9, 16 }, down[] = { 8, 4, 2, 1 };
	double rho;

	(void)state;
	assert_int_equal(tl_spearman(&rho, a, up, 4, NULL), TL_OK);
	assert_near(rho, 1, 1e-15);
	assert_int_equal(tl_spearman(&rho, a, down, 4, NULL), TL_OK);
	assert_near(rho, -1, 1e-15);
}

static void constant_or_two_values_correlate_with_nothing(void **state)
{
	static const double a[] = { 1, 2, 3 }, flat[] = { 5, 5, 5 };
	double rho;

	(void)state;
	assert_int_equal(tl_spearman(&rho, a, flat, 3, NULL), TL_OK);
	assert_true(rho == 0);
	assert_int_equal(tl_spearman(&rho, a, a, 2, NULL), TL_OK);
	assert_true(rho == 0);
}

/* Sorted .005 .01 .03 .04 times 4/rank: .02 .02 .04 .04. */
static void adjusted_p_is_monotone(void **state)
{
	static const double p[] = { .01, .04, .03, .005 };
	double q[4];

	(void)state;
	assert_int_equal(tl_adjust_p(q, p, 4, NULL), TL_OK);
	assert_near(q[0], .02, 1e-15);
	assert_near(q[1], .04, 1e-15);
	assert_near(q[2], .04, 1e-15);
	assert_near(q[3], .02, 1e-15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_values_share_their_mean_rank),
		cmocka_unit_test(four_against_four_apart_has_p_2_of_70),
		cmocka_unit_test(one_sided_p_looks_at_one_side),
		cmocka_unit_test(ties_are_counted_exactly),
		cmocka_unit_test(groups_may_differ_in_size),
		cmocka_unit_test(many_values_use_the_normal_distribution),
		cmocka_unit_test(equal_values_show_no_difference),
		cmocka_unit_test(empty_group_has_no_test),
		cmocka_unit_test(not_a_number_is_refused),
		cmocka_unit_test(shift_is_the_median_of_all_differences),
		cmocka_unit_test(six_values_cannot_bound_a_shift),
		cmocka_unit_test(interval_is_the_third_difference_from_each_end),
		cmocka_unit_test(even_number_of_differences_has_a_median_between),
		cmocka_unit_test(shift_of_nothing_is_unknown),
		cmocka_unit_test(rank_correlation_sees_order_only),
		cmocka_unit_test(constant_or_two_values_correlate_with_nothing),
		cmocka_unit_test(adjusted_p_is_monotone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
