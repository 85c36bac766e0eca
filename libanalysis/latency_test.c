/*
 * latency_test.c - modes, thresholds, histograms and quantiles of durations counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "latency.h"
#include "near_test.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

/* n times the same; returns what comes behind. */
static int64_t *repeat(int64_t *at, size_t n, int64_t ns)
{
	while (n--)
		*at++ = ns;
	return at;
}

static struct tl_latency_threshold learn(const int64_t *ns, size_t n)
{
	struct tl_latency_threshold t;

	assert_int_equal(tl_latency_threshold(&t, ns, n, TL_LATENCY_FLOOR_NS, NULL), TL_OK);
	return t;
}

static void bins_are_half_octaves(void **state)
{
	(void)state;
	assert_int_equal(tl_latency_bin(1), 1);
	assert_int_equal(tl_latency_bin(2), 3);
	assert_int_equal(tl_latency_bin(3), 4); /* sqrt(8) = 2.83 */
	assert_int_equal(tl_latency_bin(1024), 21);
	assert_int_equal(tl_latency_bin(0), 1);
	assert_true(tl_latency_bin(INT64_MAX) < TL_LATENCY_BINS);
}

static void two_paths_are_two_modes(void **state)
{
	int64_t ns[100];
	struct tl_latency_modes m;

	(void)state;
	repeat(repeat(ns, 70, 2 * US), 30, 2 * MS);
	assert_int_equal(tl_latency_modes(&m, ns, 100, NULL), TL_OK);
	assert_int_equal(m.count, 2);
	assert_int_equal(m.mode[0].count, 70);
	assert_int_equal(m.mode[1].count, 30);
}

static void no_calls_have_no_modes(void **state)
{
	struct tl_latency_modes m;

	(void)state;
	assert_int_equal(tl_latency_modes(&m, NULL, 0, NULL), TL_OK);
	assert_int_equal(m.count, 0);
}

/* 2 ms exp(5 * 0.25): the slow path is normal, and its values do not spread. */
static void threshold_lies_above_the_slow_path(void **state)
{
	int64_t ns[100];
	struct tl_latency_threshold t;

	(void)state;
	repeat(repeat(ns, 70, 2 * US), 30, 2 * MS);
	t = learn(ns, 100);
	assert_int_equal(t.method, TL_THRESHOLD_MODE);
	assert_near(t.threshold_ns, 2e6 * exp(1.25), 1e-3);
	assert_near(t.normal_median_ns, 2e6, 1e-3);
	assert_int_equal(t.normal.count, 30);
}

/* 4 of 100 are below 5 %: not normal, so they are found. */
static void rare_slow_calls_are_outliers(void **state)
{
	int64_t ns[100];
	struct tl_latency_threshold t;

	(void)state;
	repeat(repeat(ns, 96, 2 * MS), 4, 50 * MS);
	t = learn(ns, 100);
	assert_near(t.threshold_ns, 2e6 * exp(1.25), 1e-3);
}

static void nobody_waits_for_less_than_the_floor(void **state)
{
	int64_t ns[100];
	struct tl_latency_threshold t;

	(void)state;
	repeat(ns, 100, 2 * US);
	t = learn(ns, 100);
	assert_int_equal(t.method, TL_THRESHOLD_FLOOR);
	assert_true(t.threshold_ns == 1e6);
}

static void few_calls_allow_ten_times_the_slowest(void **state)
{
	static const int64_t ns[] = { 1 * MS, 5 * MS, 2 * MS };
	struct tl_latency_threshold t = learn(ns, 3);

	(void)state;
	assert_int_equal(t.method, TL_THRESHOLD_FEW);
	assert_true(t.threshold_ns == 50e6);
	assert_int_equal(t.learnt_from, 3);
}

static void no_calls_leave_the_floor(void **state)
{
	struct tl_latency_threshold t = learn(NULL, 0);

	(void)state;
	assert_int_equal(t.method, TL_THRESHOLD_FLOOR);
	assert_int_equal(t.learnt_from, 0);
}

static void negative_duration_is_refused(void **state)
{
	static const int64_t ns[] = { 1, -7 };
	struct tl_latency_threshold t;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(tl_latency_threshold(&t, ns, 2, 1e6, &err), TL_USAGE);
	assert_string_equal(err.text, "call 1 lasts -7 ns, expected 0 or more");
}

static void histogram_has_powers_of_two(void **state)
{
	static const int64_t ns[] = { 0, 1, 2, 3, 4, 1023, 1024, INT64_MAX };
	uint64_t bucket[64] = { 0 };

	(void)state;
	assert_int_equal(tl_latency_histogram(bucket, ns, 8, NULL), TL_OK);
	assert_int_equal(bucket[0], 2);
	assert_int_equal(bucket[1], 2);
	assert_int_equal(bucket[2], 1);
	assert_int_equal(bucket[9], 1);
	assert_int_equal(bucket[10], 1);
	assert_int_equal(bucket[62], 1);
}

/* 1 ... 1000 shuffled: h = 999 p. */
static void quantiles_are_exact(void **state)
{
	static const double p[] = { 0, 0.5, 0.9, 0.9, 0.99, 0.999, 1 };
	static const double expected[] = { 1, 500.5, 900.1, 900.1, 990.01, 999.001, 1000 };
	int64_t ns[1000];
	double out[7];

	(void)state;
	for (int64_t i = 0; i < 1000; i++)
		ns[i] = 1 + i * 377 % 1000;
	tl_latency_quantiles(out, p, 7, ns, 1000);
	for (int i = 0; i < 7; i++)
		assert_near(out[i], expected[i], 1e-9);
}

static void quantiles_of_one_are_it_and_of_none_are_not_a_number(void **state)
{
	static const double p[] = { 0.5, 0.99 };
	int64_t ns[] = { 7 };
	double out[2];

	(void)state;
	tl_latency_quantiles(out, p, 2, ns, 1);
	assert_true(out[0] == 7 && out[1] == 7);
	tl_latency_quantiles(out, p, 2, ns, 0);
	assert_true(isnan(out[0]) && isnan(out[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_are_half_octaves),
		cmocka_unit_test(two_paths_are_two_modes),
		cmocka_unit_test(no_calls_have_no_modes),
		cmocka_unit_test(threshold_lies_above_the_slow_path),
		cmocka_unit_test(rare_slow_calls_are_outliers),
		cmocka_unit_test(nobody_waits_for_less_than_the_floor),
		cmocka_unit_test(few_calls_allow_ten_times_the_slowest),
		cmocka_unit_test(no_calls_leave_the_floor),
		cmocka_unit_test(negative_duration_is_refused),
		cmocka_unit_test(histogram_has_powers_of_two),
		cmocka_unit_test(quantiles_are_exact),
		cmocka_unit_test(quantiles_of_one_are_it_and_of_none_are_not_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
