/*
 * ranks.c - ranks, and the tests and estimates made of them.
 *
 * Knows no steps and no units; sums of half-integer ranks are exact in double up to 10^7 values.
 */
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distribution.h"
#include "memory.h"
#include "stats.h"

/* The exact distribution is counted up to here; both limits keep it below some milliseconds. */
#define EXACT_VALUES_MAX 80
#define EXACT_WORK_MAX	 6000000

struct ranked {
	double value;
	size_t index;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static struct ranked *sort_ranked(const double *v, size_t n, struct tl_error *err)
{
	struct ranked *r = tl_alloc(n, sizeof(*r), err);

	if (!r)
		return NULL;
	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked) { v[i], i };
	if (n > 1)
		qsort(r, n, sizeof(*r), compare_ranked);
	return r;
}

int tl_midranks(double *rank, double *tie_term, const double *v, size_t n, struct tl_error *err)
{
	double ties = 0;
	struct ranked *r;
	int ret = tl_check_finite(v, n, "ranks", err);

	if (ret < 0)
		return ret;
	r = sort_ranked(v, n, err);
	if (!r)
		return TL_NOMEM;
	for (size_t i = 0, j; i < n; i = j) {
		double t;

		for (j = i + 1; j < n && r[j].value == r[i].value; j++)
			;
		for (size_t k = i; k < j; k++)
			rank[r[k].index] = 0.5 * (double)(i + j - 1) + 1.0;
		t = (double)(j - i);
		ties += t * t * t - t;
	}
	if (tie_term)
		*tie_term = ties;
	free(r);
	return TL_OK;
}

/* ---- Mann-Whitney ------------------------------------------------------------------------- */

/*
 * Adds up how many ways there are to choose `take` of the n doubled ranks with a given sum:
 * ways[k][s], in place, one rank after the other. Counts above 2^53 are rounded to 16 digits.
 */
static void count_sums(double *ways, const size_t *doubled, size_t n, size_t take, size_t sum_max)
{
	size_t top = 0;

	ways[0] = 1;
	for (size_t i = 0; i < n; i++) {
		size_t w = doubled[i];

		top = top + w < sum_max ? top + w : sum_max;
		for (size_t k = take; k > 0; k--) {
			double *with = ways + k * (sum_max + 1), *without = with - (sum_max + 1);

			for (size_t s = top + 1; s-- > w;)
				with[s] += without[s - w];
		}
	}
}

static double sum_range(const double *v, size_t begin, size_t end)
{
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += v[i];
	return sum;
}

/* The exact p-value; returns 1 if it was computed, 0 if that would cost too much. */
static int exact_p(double *p, const double *rank, size_t n, size_t m,
		   enum tl_alternative alternative, struct tl_error *err)
{
	size_t doubled[EXACT_VALUES_MAX], sorted[EXACT_VALUES_MAX], total = n + m;
	/* The sum of the smaller group is counted; it is b, unless a has fewer values. */
	size_t take = m <= n ? m : n, first = m <= n ? n : 0;
	size_t sum_max = 0, observed = 0;
	double *ways, *row, above, below, all = tl_choose(total, take);

	if (total > EXACT_VALUES_MAX)
		return 0;
	for (size_t i = 0; i < total; i++) {
		size_t w = doubled[i] = (size_t)lrint(2 * rank[i]), k = i;

		for (; k > 0 && sorted[k - 1] > w; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = w;
	}
	for (size_t i = 0; i < take; i++) {
		observed += doubled[first + i];
		sum_max += sorted[total - 1 - i];
	}
	if (total * take * sum_max > EXACT_WORK_MAX)
		return 0;
	ways = tl_alloc((take + 1) * (sum_max + 1), sizeof(*ways), err);
	if (!ways)
		return TL_NOMEM;
	count_sums(ways, doubled, total, take, sum_max);
	row = ways + take * (sum_max + 1);
	above = sum_range(row, observed, sum_max + 1);
	below = sum_range(row, 0, observed + 1);
	if (m > n) { /* the sum counted was a's: b greater is a smaller */
		double swap = above;

		above = below;
		below = swap;
	}
	free(ways);
	if (alternative == TL_GREATER)
		*p = above / all;
	else
		*p = fmin(1.0, 2.0 * fmin(above, below) / all);
	return 1;
}

static void normal_p(struct tl_mann_whitney *out, size_t n, size_t m, double tie_term,
		     enum tl_alternative alternative)
{
	double nm = (double)n * (double)m, total = (double)(n + m), mean = nm / 2.0;
	double variance = nm / 12.0 * ((total + 1) - tie_term / (total * (total - 1.0)));
	double deviation;

	/* All equal: 0 but for rounding, which a variance of real ties is far above. */
	if (variance <= nm * 1e-9) {
		out->p = 1.0;
		out->method = TL_TEST_DEGENERATE;
		return;
	}
	deviation = sqrt(variance);
	out->method = TL_TEST_NORMAL;
	if (alternative == TL_GREATER)
		out->p = tl_normal_tail((out->u - mean - 0.5) / deviation);
	else
		out->p = fmin(1.0, 2.0 * tl_normal_tail(fmax(0.0, fabs(out->u - mean) - 0.5) /
							deviation));
}

int tl_mann_whitney(struct tl_mann_whitney *out, const double *a, size_t n, const double *b,
		    size_t m, enum tl_alternative alternative, struct tl_error *err)
{
	double *rank, *both, tie_term, rank_sum = 0;
	int ret = TL_OK;

	*out = (struct tl_mann_whitney) { .u = NAN, .p = 1.0, .method = TL_TEST_NONE };
	if (n == 0 || m == 0)
		return TL_OK;
	both = tl_alloc(2 * (n + m), sizeof(*both), err);
	if (!both)
		return TL_NOMEM;
	rank = both + n + m;
	memcpy(both, a, n * sizeof(*a));
	memcpy(both + n, b, m * sizeof(*b));
	ret = tl_midranks(rank, &tie_term, both, n + m, err);
	if (ret < 0)
		goto out;
	for (size_t i = n; i < n + m; i++)
		rank_sum += rank[i];
	out->u = rank_sum - (double)m * (double)(m + 1) / 2.0;
	out->cliff = 2.0 * out->u / ((double)n * (double)m) - 1.0;
	ret = exact_p(&out->p, rank, n, m, alternative, err);
	if (ret < 0)
		goto out;
	if (ret == 1)
		out->method = TL_TEST_EXACT;
	else
		normal_p(out, n, m, tie_term, alternative);
	ret = TL_OK;
out:
	free(both);
	return ret;
}

/* ---- Hodges-Lehmann ----------------------------------------------------------------------- */

/* Doubles as integers in the same order, so that an interval of them can be halved. */
static uint64_t order_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_at(uint64_t order)
{
	uint64_t bits = order >> 63 ? order & ~(UINT64_C(1) << 63) : ~order;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* How many of the differences b - a are at most d. Both sorted: one walk, for y - x falls with x. */
static uint64_t count_differences(const double *a, size_t n, const double *b, size_t m, double d)
{
	uint64_t count = 0;
	size_t i = 0;

	for (size_t j = 0; j < m; j++) {
		while (i < n && b[j] - a[i] > d)
			i++;
		count += n - i;
	}
	return count;
}

/* The k-th smallest (from 1) of all b - a, exactly as computed in double. */
static double nth_difference(const double *a, size_t n, const double *b, size_t m, uint64_t k)
{
	uint64_t low = order_of(b[0] - a[n - 1]), high = order_of(b[m - 1] - a[0]);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (count_differences(a, n, b, m, value_at(middle)) >= k)
			high = middle;
		else
			low = middle + 1;
	}
	return value_at(low);
}

int tl_hodges_lehmann(struct tl_shift *out, const double *a, size_t n, const double *b, size_t m,
		      double confidence, double inflation, struct tl_error *err)
{
	double *sorted_a, *sorted_b, z, k;
	uint64_t pairs = (uint64_t)n * m;
	int ret;

	*out = (struct tl_shift) { NAN, -INFINITY, INFINITY };
	if ((ret = tl_check_finite(a, n, "first group", err)) < 0 ||
	    (ret = tl_check_finite(b, m, "second group", err)) < 0)
		return ret;
	if (pairs == 0)
		return TL_OK;
	sorted_a = tl_alloc(n + m, sizeof(*sorted_a), err);
	if (!sorted_a)
		return TL_NOMEM;
	sorted_b = sorted_a + n;
	memcpy(sorted_a, a, n * sizeof(*a));
	memcpy(sorted_b, b, m * sizeof(*b));
	tl_sort(sorted_a, n);
	tl_sort(sorted_b, m);

	out->estimate = nth_difference(sorted_a, n, sorted_b, m, pairs / 2 + 1);
	if (pairs % 2 == 0)
		out->estimate =
			0.5 * (nth_difference(sorted_a, n, sorted_b, m, pairs / 2) + out->estimate);
	z = tl_normal_quantile(0.5 + confidence / 2.0);
	k = floor((double)pairs / 2.0 -
		  z * sqrt(inflation * (double)n * (double)m * (double)(n + m + 1) / 12.0));
	if (k >= 1) {
		out->low = nth_difference(sorted_a, n, sorted_b, m, (uint64_t)k);
		out->high = nth_difference(sorted_a, n, sorted_b, m, pairs - (uint64_t)k + 1);
	}
	free(sorted_a);
	return TL_OK;
}

/* ---- correlation, many tests --------------------------------------------------------------- */

double tl_pearson(const double *a, const double *b, size_t n)
{
	struct tl_sum ab = { 0 }, aa = { 0 }, bb = { 0 };
	double mean_a = tl_mean(a, n), mean_b = tl_mean(b, n);

	if (n < 3)
		return 0.0;
	for (size_t i = 0; i < n; i++) {
		tl_sum_add(&ab, (a[i] - mean_a) * (b[i] - mean_b));
		tl_sum_add(&aa, (a[i] - mean_a) * (a[i] - mean_a));
		tl_sum_add(&bb, (b[i] - mean_b) * (b[i] - mean_b));
	}
	if (tl_sum_value(&aa) <= 0 || tl_sum_value(&bb) <= 0)
		return 0.0;
	return tl_sum_value(&ab) / sqrt(tl_sum_value(&aa) * tl_sum_value(&bb));
}

int tl_spearman(double *out, const double *a, const double *b, size_t n, struct tl_error *err)
{
	double *rank = tl_alloc(2 * n, sizeof(*rank), err);
	int ret;

	*out = 0.0;
	if (!rank)
		return TL_NOMEM;
	ret = tl_midranks(rank, NULL, a, n, err);
	if (ret == TL_OK)
		ret = tl_midranks(rank + n, NULL, b, n, err);
	if (ret == TL_OK)
		*out = tl_pearson(rank, rank + n, n);
	free(rank);
	return ret;
}

int tl_adjust_p(double *q, const double *p, size_t n, struct tl_error *err)
{
	double smallest = 1.0;
	struct ranked *r;
	int ret = tl_check_finite(p, n, "p-values", err);

	if (ret < 0)
		return ret;
	r = sort_ranked(p, n, err);
	if (!r)
		return TL_NOMEM;
	for (size_t i = n; i-- > 0;) {
		smallest = fmin(smallest, r[i].value * (double)n / (double)(i + 1));
		q[r[i].index] = smallest;
	}
	free(r);
	return TL_OK;
}
