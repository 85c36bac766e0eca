/*
 * segment_test.c - change points: small cases by hand, random ones against the recursion without
 * any pruning.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "near_test.h"
#include "random.h"
#include "segment.h"

static const double step[] = { 0, 0, 0, 0, 10, 10, 10, 10 };

static size_t cut(size_t *starts, const double *y, size_t n, double sigma, double beta)
{
	size_t count;

	assert_int_equal(tl_pelt(starts, &count, y, n, sigma, beta, NULL), TL_OK);
	return count;
}

/* In one piece the step costs 8 * 5^2 = 200; in two, the penalty. */
static void change_is_found_when_it_is_worth_the_penalty(void **state)
{
	size_t starts[8];

	(void)state;
	assert_int_equal(cut(starts, step, 8, 1, 199), 2);
	assert_int_equal(starts[0], 0);
	assert_int_equal(starts[1], 4);
	assert_int_equal(cut(starts, step, 8, 1, 201), 1);
}

static void noise_scales_the_cost(void **state)
{
	size_t starts[8];

	(void)state;
	assert_int_equal(cut(starts, step, 8, 2, 49), 2);
	assert_int_equal(cut(starts, step, 8, 2, 51), 1);
}

static void of_equal_costs_the_earlier_start_wins(void **state)
{
	size_t starts[8];

	(void)state;
	assert_int_equal(cut(starts, step, 8, 1, 200), 1);
}

static void one_value_is_one_segment(void **state)
{
	size_t starts[1];

	(void)state;
	assert_int_equal(cut(starts, step, 1, 1, 3), 1);
	assert_int_equal(starts[0], 0);
}

static void no_value_has_no_segment(void **state)
{
	size_t starts[1];

	(void)state;
	assert_int_equal(cut(starts, step, 0, 1, 3), 0);
}

/* Optimal partitioning as published: every start is a candidate for ever. */
static size_t cut_slowly(size_t *starts, const double *y, size_t n, double sigma, double beta)
{
	double *s1 = calloc(n + 1, sizeof(double)), *s2 = calloc(n + 1, sizeof(double));
	double *best = calloc(n + 1, sizeof(double));
	size_t *previous = calloc(n + 1, sizeof(size_t)), count = 0;

	best[0] = -beta;
	for (size_t t = 1; t <= n; t++) {
		double v = (y[t - 1] - y[0]) / sigma;

		s1[t] = s1[t - 1] + v;
		s2[t] = s2[t - 1] + v * v;
		best[t] = INFINITY;
		for (size_t s = 0; s < t; s++) {
			double w = s1[t] - s1[s];
			double cost = best[s] + (s2[t] - s2[s]) - w * w / (double)(t - s);

			if (cost < best[t] - 1e-12) {
				best[t] = cost;
				previous[t] = s;
			}
		}
		best[t] += beta;
	}
	for (size_t t = n; t > 0; t = previous[t])
		count++;
	for (size_t t = n, k = count; t > 0; t = previous[t])
		starts[--k] = previous[t];
	free(s1);
	free(s2);
	free(best);
	free(previous);
	return count;
}

/* Levels that come and go; in every other series coarse values, so that costs are often equal. */
static void random_series(double *y, size_t n, struct tl_random *rng, bool is_coarse)
{
	double level = 0;

	for (size_t i = 0; i < n; i++) {
		if (tl_random_below(rng, 40) == 0)
			level = (double)tl_random_below(rng, 4);
		y[i] = level + (is_coarse ? (double)tl_random_below(rng, 2) : tl_random_unit(rng));
	}
}

static void pruning_does_not_change_the_result(void **state)
{
	struct tl_random rng = { 3 };

	(void)state;
	for (int i = 0; i < 300; i++) {
		double y[400], beta = 1 + 20 * tl_random_unit(&rng);
		size_t n = 1 + tl_random_below(&rng, 400), fast[400], slow[400];

		random_series(y, n, &rng, i & 1);
		assert_int_equal(cut(fast, y, n, 0.3, beta), cut_slowly(slow, y, n, 0.3, beta));
		for (size_t k = 0; k < cut_slowly(slow, y, n, 0.3, beta); k++)
			assert_int_equal(fast[k], slow[k]);
	}
}

static void repeated_values_give_away_the_tick(void **state)
{
	static const double x[] = { 1, 1, 1, 2 };
	struct tl_resolution r;

	(void)state;
	assert_int_equal(tl_resolution(&r, x, 4, NULL), TL_OK);
	assert_true(r.is_tied);
	assert_near(r.sigma_floor, 1 / sqrt(12), 1e-15);
}

static void distinct_values_have_the_floor_of_a_thousandth(void **state)
{
	static const double x[] = { 1, 2, 3, 4 };
	struct tl_resolution r;

	(void)state;
	assert_int_equal(tl_resolution(&r, x, 4, NULL), TL_OK);
	assert_false(r.is_tied);
	assert_true(r.sigma_floor == 1e-3);
}

static void constant_series_is_one_segment(void **state)
{
	struct tl_segmentation s;
	double x[100];

	(void)state;
	for (int i = 0; i < 100; i++)
		x[i] = 0.5;
	assert_int_equal(tl_segment(&s, x, 100, TL_KAPPA, NULL), TL_OK);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.starts[1], 100);
	assert_true(s.sigma == 1e-3 && s.acf1 == 0);
	tl_segmentation_release(&s);
}

static void duration_that_is_none_is_refused(void **state)
{
	static const double x[] = { 1, 2, -3 };
	struct tl_segmentation s;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(tl_segment(&s, x, 3, TL_KAPPA, &err), TL_USAGE);
	assert_string_equal(err.text, "duration 2 is -3, expected a finite number above 0");
	assert_int_equal(tl_segment(&s, x, 0, TL_KAPPA, NULL), TL_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(change_is_found_when_it_is_worth_the_penalty),
		cmocka_unit_test(noise_scales_the_cost),
		cmocka_unit_test(of_equal_costs_the_earlier_start_wins),
		cmocka_unit_test(one_value_is_one_segment),
		cmocka_unit_test(no_value_has_no_segment),
		cmocka_unit_test(pruning_does_not_change_the_result),
		cmocka_unit_test(repeated_values_give_away_the_tick),
		cmocka_unit_test(distinct_values_have_the_floor_of_a_thousandth),
		cmocka_unit_test(constant_series_is_one_segment),
		cmocka_unit_test(duration_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
