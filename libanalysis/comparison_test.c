/*
 * comparison_test.c - two series against each other, with answers known beforehand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "comparison.h"
#include "near_test.h"

static const double four[] = { 1, 1.01, 1.02, 1.03 };

static struct tl_comparison compare(const double *a, size_t n, const double *b, size_t m,
				    const struct tl_comparison_options *opt)
{
	struct tl_comparison c;

	assert_int_equal(tl_compare_series(&c, a, n, b, m, opt, NULL), TL_OK);
	return c;
}

static void calm(double *x, size_t n, double level)
{
	for (size_t i = 0; i < n; i++)
		x[i] = level * (1 + 0.01 * sin((double)(i * i) * 0.7 + (double)i));
}

/* Apart, one of C(8,4) = 70 groupings on each side; 1.2 times everywhere. */
static void four_against_four_slower_ones_are_slower(void **state)
{
	double slow[4];
	struct tl_comparison c;

	(void)state;
	for (int i = 0; i < 4; i++)
		slow[i] = 1.2 * four[i];
	c = compare(four, 4, slow, 4, NULL);
	assert_int_equal(c.verdict, TL_COMPARISON_SLOWER);
	assert_near(c.p, 2.0 / 70, 1e-15);
	assert_near(c.smallest_p, 2.0 / 70, 1e-15);
	assert_near(c.hl_ratio, 1.2, 1e-12);
	assert_near(c.median_ratio, 1.2, 1e-12);
	assert_true(c.cliff == 1 && c.slower_probability == 1);
}

static void exchanged_they_are_faster(void **state)
{
	double slow[4];
	struct tl_comparison c;

	(void)state;
	for (int i = 0; i < 4; i++)
		slow[i] = 1.2 * four[i];
	c = compare(slow, 4, four, 4, NULL);
	assert_int_equal(c.verdict, TL_COMPARISON_FASTER);
	assert_near(c.hl_ratio, 1 / 1.2, 1e-12);
}

/* 2 / C(6,3) = 0.1: whatever three against three show is not significant. */
static void three_against_three_are_too_few(void **state)
{
	static const double slow[] = { 9, 10, 11 };
	struct tl_comparison c = compare(four, 3, slow, 3, NULL);

	(void)state;
	assert_int_equal(c.verdict, TL_COMPARISON_TOO_FEW);
	assert_near(c.smallest_p, 0.1, 1e-15);
	assert_true(c.hl_low == 0 && isinf(c.hl_high));
}

static void equal_series_have_no_change_and_say_how_sure(void **state)
{
	double a[60], b[60];
	struct tl_comparison c;

	(void)state;
	calm(a, 60, 1);
	calm(b, 60, 1);
	c = compare(a, 60, b, 60, NULL);
	assert_int_equal(c.verdict, TL_COMPARISON_SAME);
	assert_true(c.hl_low <= 1 && 1 <= c.hl_high);
	assert_true(c.bootstrap_low <= 1 && 1 <= c.bootstrap_high);
}

static void change_below_the_wanted_one_is_not_slower(void **state)
{
	static const struct tl_comparison_options opt = { 0.05, 0.1, 100, false };
	double a[60], b[60];

	(void)state;
	calm(a, 60, 1);
	calm(b, 60, 1.08);
	assert_int_equal(compare(a, 60, b, 60, NULL).verdict, TL_COMPARISON_SLOWER);
	assert_int_equal(compare(a, 60, b, 60, &opt).verdict, TL_COMPARISON_INCONCLUSIVE);
}

static void spikes_and_warm_up_are_left_out(void **state)
{
	double a[60], b[60];
	struct tl_comparison c;

	(void)state;
	calm(a, 60, 1);
	calm(b, 60, 1);
	a[0] *= 3;
	a[1] *= 3;
	a[2] *= 3;
	b[30] *= 5;
	c = compare(a, 60, b, 60, NULL);
	assert_int_equal(c.good_left_out, 3);
	assert_int_equal(c.slow_left_out, 1);
	assert_int_equal(c.good_count + c.slow_count, 116);
}

static void raw_comparison_leaves_out_nothing(void **state)
{
	static const struct tl_comparison_options raw = { 0.05, 0, 100, true };
	double a[60], b[60];
	struct tl_comparison c;

	(void)state;
	calm(a, 60, 1);
	calm(b, 60, 1);
	b[30] *= 5;
	c = compare(a, 60, b, 60, &raw);
	assert_int_equal(c.slow_left_out, 0);
	assert_int_equal(c.slow_count, 60);
}

static void same_input_gives_the_same_interval(void **state)
{
	double a[30], b[30];
	struct tl_comparison c, d;

	(void)state;
	calm(a, 30, 1);
	calm(b, 30, 1.1);
	c = compare(a, 30, b, 30, NULL);
	d = compare(a, 30, b, 30, NULL);
	assert_true(c.bootstrap_low == d.bootstrap_low && c.bootstrap_high == d.bootstrap_high);
	assert_true(c.bootstrap_low < 1.1 && 1.1 < c.bootstrap_high);
}

static void nothing_is_not_compared(void **state)
{
	struct tl_comparison c;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(tl_compare_series(&c, four, 4, NULL, 0, NULL, &err), TL_NOTHING);
	assert_string_equal(err.text, "4 good and 0 slow steps: nothing to compare");
}

static void one_against_one_is_too_few(void **state)
{
	(void)state;
	assert_int_equal(compare(four, 1, four + 3, 1, NULL).verdict, TL_COMPARISON_TOO_FEW);
}

static void duration_that_is_none_is_refused(void **state)
{
	static const double bad[] = { 1, NAN };
	struct tl_comparison c;

	(void)state;
	assert_int_equal(tl_compare_series(&c, four, 4, bad, 2, NULL, NULL), TL_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_against_four_slower_ones_are_slower),
		cmocka_unit_test(exchanged_they_are_faster),
		cmocka_unit_test(three_against_three_are_too_few),
		cmocka_unit_test(equal_series_have_no_change_and_say_how_sure),
		cmocka_unit_test(change_below_the_wanted_one_is_not_slower),
		cmocka_unit_test(spikes_and_warm_up_are_left_out),
		cmocka_unit_test(raw_comparison_leaves_out_nothing),
		cmocka_unit_test(same_input_gives_the_same_interval),
		cmocka_unit_test(nothing_is_not_compared),
		cmocka_unit_test(one_against_one_is_too_few),
		cmocka_unit_test(duration_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
