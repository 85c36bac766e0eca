/*
 * stats_test.c - sums, medians and quantiles against values counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "near_test.h"
#include "random.h"
#include "stats.h"

#define COUNT(v) (sizeof(v) / sizeof((v)[0]))

static void sum_keeps_what_rounding_would_lose(void **state)
{
	static const double v[] = { 1e100, 1, -1e100, 1e16, 1, 1, -1e16 };
	struct tl_sum sum = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++)
		tl_sum_add(&sum, v[i]);
	assert_true(tl_sum_value(&sum) == 3);
}

static void sum_of_ten_tenths_is_one(void **state)
{
	struct tl_sum sum = { 0 };

	(void)state;
	for (int i = 0; i < 10; i++)
		tl_sum_add(&sum, 0.1);
	assert_true(tl_sum_value(&sum) == 1);
}

static void sum_does_not_depend_on_order(void **state)
{
	struct tl_sum forward = { 0 }, backward = { 0 };
	struct tl_random rng = { 1 };
	double v[1000];

	(void)state;
	for (int i = 0; i < 1000; i++)
		v[i] = ldexp(tl_random_unit(&rng) - 0.5, (int)tl_random_below(&rng, 200));
	for (int i = 0; i < 1000; i++) {
		tl_sum_add(&forward, v[i]);
		tl_sum_add(&backward, v[999 - i]);
	}
	assert_true(tl_sum_value(&forward) == tl_sum_value(&backward));
}

static void sum_of_nothing_is_zero(void **state)
{
	struct tl_sum sum = { 0 };

	(void)state;
	assert_true(tl_sum_value(&sum) == 0);
}

static void mean_of_nothing_is_not_a_number(void **state)
{
	(void)state;
	assert_true(isnan(tl_mean(NULL, 0)));
}

static void variance_divides_by_one_less(void **state)
{
	static const double v[] = { 1, 2, 3, 4 };

	(void)state;
	assert_near(tl_variance(v, 4), 5.0 / 3, 1e-15);
	assert_true(isnan(tl_variance(v, 1)));
}

static void median_of_odd_count_is_the_middle(void **state)
{
	double v[] = { 3, 1, 2 };

	(void)state;
	assert_true(tl_median(v, 3) == 2);
}

static void median_of_even_count_is_between_the_middle_two(void **state)
{
	double v[] = { 4, 1, 3, 2 };

	(void)state;
	assert_true(tl_median(v, 4) == 2.5);
}

static void median_of_one_is_it_and_of_none_is_not_a_number(void **state)
{
	double v[] = { 7 };

	(void)state;
	assert_true(tl_median(v, 1) == 7);
	assert_true(isnan(tl_median(v, 0)));
}

static void quantile_is_linear_between_neighbours(void **state)
{
	double v[] = { 4, 2, 1, 3 };

	(void)state;
	assert_near(tl_quantile(v, 4, 0.9), 3.7, 1e-15);
}

static void quantiles_zero_and_one_are_the_ends(void **state)
{
	double v[] = { 4, 2, 1, 3 };

	(void)state;
	assert_true(tl_quantile(v, 4, 0) == 1);
	assert_true(tl_quantile(v, 4, 1) == 4);
}

/* Deviations from 2: 1 1 0 0 2 4 7, their median 1. */
static void mad_sigma_is_scaled_to_the_normal(void **state)
{
	double v[] = { 1, 1, 2, 2, 4, 6, 9 };

	(void)state;
	assert_near(tl_mad_sigma(v, COUNT(v), 2), TL_MAD_FACTOR, 1e-15);
}

static void selection_agrees_with_sorting(void **state)
{
	struct tl_random rng = { 2 };

	(void)state;
	for (size_t n = 1; n < 200; n++) {
		double v[200], sorted[200];

		for (size_t i = 0; i < n; i++)
			v[i] = sorted[i] = tl_random_below(&rng, 1 + (uint32_t)n / 2);
		tl_sort(sorted, n);
		assert_true(tl_quantile(v, n, 0.25) ==
			    sorted[(n - 1) / 4] +
				    ((double)(n - 1) * 0.25 - (double)((n - 1) / 4)) *
					    (sorted[(n + 2) / 4] - sorted[(n - 1) / 4]));
	}
}

static void refusal_names_the_value_that_is_not_finite(void **state)
{
	static const double v[] = { 1, NAN };
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(tl_check_finite(v, 2, "activity", &err), TL_USAGE);
	assert_string_equal(err.text, "activity: value 1 is nan, expected a finite number");
}

static void durations_must_be_finite_and_positive(void **state)
{
	static const double bad[] = { 0, -1, NAN, INFINITY, -INFINITY, 1e300, 1e-300 };
	static const double good[] = { 1e-9, 1, 1e18 };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct tl_error err = { 0 };

		assert_int_equal(tl_check_durations(&bad[i], 1, &err), TL_USAGE);
		assert_non_null(strstr(err.text, "duration 0 is "));
	}
	assert_int_equal(tl_check_durations(good, COUNT(good), NULL), TL_OK);
}

/* The first output for seed 0 that the authors of the generator published. */
static void random_numbers_are_those_of_splitmix64(void **state)
{
	struct tl_random rng = { 0 };

	(void)state;
	assert_true(tl_random_u64(&rng) == UINT64_C(0xe220a8397b1dcdaf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sum_keeps_what_rounding_would_lose),
		cmocka_unit_test(sum_of_ten_tenths_is_one),
		cmocka_unit_test(sum_does_not_depend_on_order),
		cmocka_unit_test(sum_of_nothing_is_zero),
		cmocka_unit_test(mean_of_nothing_is_not_a_number),
		cmocka_unit_test(variance_divides_by_one_less),
		cmocka_unit_test(median_of_odd_count_is_the_middle),
		cmocka_unit_test(median_of_even_count_is_between_the_middle_two),
		cmocka_unit_test(median_of_one_is_it_and_of_none_is_not_a_number),
		cmocka_unit_test(quantile_is_linear_between_neighbours),
		cmocka_unit_test(quantiles_zero_and_one_are_the_ends),
		cmocka_unit_test(mad_sigma_is_scaled_to_the_normal),
		cmocka_unit_test(selection_agrees_with_sorting),
		cmocka_unit_test(refusal_names_the_value_that_is_not_finite),
		cmocka_unit_test(durations_must_be_finite_and_positive),
		cmocka_unit_test(random_numbers_are_those_of_splitmix64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
