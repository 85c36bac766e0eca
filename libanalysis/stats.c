/*
 * stats.c - sums, means, medians and quantiles of plain arrays.
 *
 * Knows no steps and no units, and allocates nothing.
 */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

#include "select.h"

#define DURATION_MAX 1e100 /* of any unit; squares and sums of this stay finite */

TL_DEFINE_SELECT(select_double, double)

void tl_sum_add(struct tl_sum *sum, double value)
{
	int kept = 0;

	for (int i = 0; i < sum->count; i++) {
		double other = sum->partial[i], high, low;

		if (fabs(value) < fabs(other)) {
			high = value + other;
			low = value - (high - other);
		} else {
			high = value + other;
			low = other - (high - value);
		}
		if (low != 0.0)
			sum->partial[kept++] = low;
		value = high;
	}
	sum->partial[kept++] = value;
	sum->count = kept;
}

double tl_sum_value(const struct tl_sum *sum)
{
	int i = sum->count;
	double high, low = 0.0;

	if (i == 0)
		return 0.0;
	high = sum->partial[--i];
	while (i > 0 && low == 0.0) {
		double before = high, next = sum->partial[--i];

		high = before + next;
		low = next - (high - before);
	}
	/* Half-way cases round to even only if what lies below says nothing else. */
	if (i > 0 && ((low < 0.0 && sum->partial[i - 1] < 0.0) ||
		      (low > 0.0 && sum->partial[i - 1] > 0.0))) {
		double twice = low * 2.0, up = high + twice;

		if (up - high == twice)
			high = up;
	}
	return high;
}

double tl_mean(const double *v, size_t n)
{
	struct tl_sum sum = { 0 };

	if (n == 0)
		return NAN;
	for (size_t i = 0; i < n; i++)
		tl_sum_add(&sum, v[i]);
	return tl_sum_value(&sum) / (double)n;
}

double tl_variance(const double *v, size_t n)
{
	struct tl_sum sum = { 0 };
	double mean = tl_mean(v, n);

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < n; i++)
		tl_sum_add(&sum, (v[i] - mean) * (v[i] - mean));
	return tl_sum_value(&sum) / (double)(n - 1);
}

static double largest(const double *v, size_t n)
{
	double top = v[0];

	for (size_t i = 1; i < n; i++)
		top = v[i] > top ? v[i] : top;
	return top;
}

static double smallest(const double *v, size_t n)
{
	double low = v[0];

	for (size_t i = 1; i < n; i++)
		low = v[i] < low ? v[i] : low;
	return low;
}

double tl_median(double *v, size_t n)
{
	if (n == 0)
		return NAN;
	select_double(v, n, n / 2);
	if (n & 1)
		return v[n / 2];
	return 0.5 * (largest(v, n / 2) + v[n / 2]);
}

double tl_quantile(double *v, size_t n, double p)
{
	double h, low;
	size_t k;

	if (n == 0)
		return NAN;
	h = (double)(n - 1) * p;
	k = (size_t)floor(h);
	if (k + 1 >= n)
		return largest(v, n);
	select_double(v, n, k);
	low = v[k];
	return low + (h - (double)k) * (smallest(v + k + 1, n - k - 1) - low);
}

double tl_mad_sigma(double *v, size_t n, double centre)
{
	if (n == 0)
		return 0.0;
	for (size_t i = 0; i < n; i++)
		v[i] = fabs(v[i] - centre);
	return TL_MAD_FACTOR * tl_median(v, n);
}

int tl_compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void tl_sort(double *v, size_t n)
{
	if (n > 1)
		qsort(v, n, sizeof(*v), tl_compare_double);
}

int tl_check_finite(const double *v, size_t n, const char *what, struct tl_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(v[i]))
			return tl_fail(err, TL_USAGE,
				       "%s: value %zu is %g, expected a finite number", what, i,
				       v[i]);
	}
	return TL_OK;
}

int tl_check_durations(const double *v, size_t n, struct tl_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!(v[i] > 1 / DURATION_MAX && v[i] < DURATION_MAX))
			return tl_fail(err, TL_USAGE,
				       "duration %zu is %g, expected a finite number above 0", i,
				       v[i]);
	}
	return TL_OK;
}
