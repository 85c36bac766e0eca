/*
 * attribution_test.c - two parts in four steps, counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "attribution.h"
#include "near_test.h"

/* Steps 0 and 1 are slow, 2 and 3 good. */
static const double part_a[] = { 2, 4, 1, 3 }, part_b[] = { 5, 7, 2, 2 }, wall[] = { 7, 11, 3, 5 };
static const double *const parts[] = { part_a, part_b };
static const size_t slow[] = { 0, 1 }, good[] = { 2, 3 };

static struct tl_attribution attribute(size_t good_count, size_t slow_count)
{
	struct tl_attribution a;

	assert_int_equal(tl_attribute(&a, parts, 2, wall, good, good_count, slow, slow_count, NULL),
			 TL_OK);
	return a;
}

static void differences_add_up_to_the_difference_of_the_wall_time(void **state)
{
	struct tl_attribution a = attribute(2, 2);

	(void)state;
	assert_true(a.wall_difference == 5 && a.sum_of_differences == 5);
	tl_attribution_release(&a);
}

static void largest_difference_comes_first(void **state)
{
	struct tl_attribution a = attribute(2, 2);

	(void)state;
	assert_int_equal(a.rows[0].category, 1);
	assert_true(a.rows[0].difference == 4 && a.rows[0].slow_mean == 6 &&
		    a.rows[0].good_mean == 2);
	assert_near(a.rows[0].share, 0.8, 1e-15);
	assert_near(a.rows[1].share, 0.2, 1e-15);
	tl_attribution_release(&a);
}

/* Variances 2 and 2, one degree of freedom: 12.7062 sqrt(2/2 + 2/2). */
static void interval_is_that_of_welch(void **state)
{
	struct tl_attribution a = attribute(2, 2);

	(void)state;
	assert_near(a.rows[1].high, 1 + 12.7062047364 * sqrt(2), 1e-8);
	assert_near(a.rows[1].low, 1 - 12.7062047364 * sqrt(2), 1e-8);
	tl_attribution_release(&a);
}

/* Wall 7 11 3 5: deviations .5 4.5 -3.5 -1.5, power 35; of a with it 11, of b 24. */
static void dose_shares_follow_the_steps(void **state)
{
	struct tl_attribution a = attribute(2, 2);

	(void)state;
	assert_near(a.rows[0].dose_share, 24.0 / 35, 1e-15);
	assert_near(a.rows[1].dose_share, 11.0 / 35, 1e-15);
	tl_attribution_release(&a);
}

/* b is apart: 2 of C(4,2) = 6; a is not: ranks of its slow ones 2 4. Two parts: q = 2 p. */
static void p_is_adjusted_for_the_number_of_parts(void **state)
{
	struct tl_attribution a = attribute(2, 2);

	(void)state;
	assert_near(a.rows[0].p, 1.0 / 3, 1e-15);
	assert_near(a.rows[0].q, 2.0 / 3, 1e-15);
	assert_near(a.rows[1].p, 2.0 / 3, 1e-15);
	assert_near(a.rows[1].q, 2.0 / 3, 1e-15);
	tl_attribution_release(&a);
}

static void one_slow_step_has_no_interval(void **state)
{
	struct tl_attribution a = attribute(2, 1);

	(void)state;
	assert_true(a.rows[0].difference == 3);
	assert_true(isinf(a.rows[0].low) && isinf(a.rows[0].high));
	tl_attribution_release(&a);
}

static void no_slow_step_has_no_answer(void **state)
{
	struct tl_attribution a;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(tl_attribute(&a, parts, 2, wall, good, 2, slow, 0, &err), TL_NOTHING);
	assert_string_equal(err.text, "2 good and 0 slow steps: nothing to compare");
	tl_attribution_release(&a);
}

static void time_that_is_no_number_is_refused(void **state)
{
	static const double bad[] = { NAN, 1, 1, 1 };
	static const double *const bad_parts[] = { bad };
	struct tl_attribution a;

	(void)state;
	assert_int_equal(tl_attribute(&a, bad_parts, 1, wall, good, 2, slow, 2, NULL), TL_USAGE);
	assert_int_equal(tl_attribute(&a, parts, 2, bad, good, 2, slow, 2, NULL), TL_USAGE);
	tl_attribution_release(&a);
}

/* 30 in 2 slow steps, 10 in 5 good ones: 15 - 2 = 13, error sqrt(30/4 + 10/25) = sqrt(7.9). */
static void samples_are_compared_per_step(void **state)
{
	static const uint64_t good_samples[] = { 50, 10, 0 }, slow_samples[] = { 20, 30, 0 };
	struct tl_count_row rows[3];

	(void)state;
	assert_int_equal(tl_attribute_counts(rows, good_samples, slow_samples, 3, 5, 2, NULL),
			 TL_OK);
	assert_int_equal(rows[0].category, 1);
	assert_near(rows[0].difference, 13, 1e-15);
	assert_near(rows[0].standard_error, sqrt(7.9), 1e-15);
	assert_near(rows[0].p, erfc(13 / sqrt(2 * 7.9)), 1e-15);
	assert_near(rows[0].q, 3 * rows[0].p, 1e-15);
	assert_true(rows[1].difference == 0 && rows[1].p == 1);
	assert_true(rows[2].standard_error == 0 && rows[2].p == 1);
}

static void samples_without_steps_have_no_answer(void **state)
{
	(void)state;
	assert_int_equal(tl_attribute_counts(NULL, NULL, NULL, 0, 5, 0, NULL), TL_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_add_up_to_the_difference_of_the_wall_time),
		cmocka_unit_test(largest_difference_comes_first),
		cmocka_unit_test(interval_is_that_of_welch),
		cmocka_unit_test(dose_shares_follow_the_steps),
		cmocka_unit_test(p_is_adjusted_for_the_number_of_parts),
		cmocka_unit_test(one_slow_step_has_no_interval),
		cmocka_unit_test(no_slow_step_has_no_answer),
		cmocka_unit_test(time_that_is_no_number_is_refused),
		cmocka_unit_test(samples_are_compared_per_step),
		cmocka_unit_test(samples_without_steps_have_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
