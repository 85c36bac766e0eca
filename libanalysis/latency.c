/*
 * latency.c - durations of system calls: modes, threshold, histogram, quantiles.
 *
 * Pure arithmetic on int64 nanoseconds.
 */
#include "latency.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "select.h"
#include "stats.h"

#define PEAK_SHARE	 0.005
#define PEAK_CALLS	 2.0
#define VALLEY_DEPTH	 0.5
#define NORMAL_SHARE	 0.05
#define THRESHOLD_SIGMAS 5.0
#define SIGMA_MIN	 0.25 /* of ln: no mode of real calls is narrower */
#define FEW_CALLS	 20
#define FEW_FACTOR	 10.0

TL_DEFINE_SELECT(select_ns, int64_t)

static int check_ns(const int64_t *ns, size_t n, struct tl_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (ns[i] < 0)
			return tl_fail(err, TL_USAGE, "call %zu lasts %lld ns, expected 0 or more",
				       i, (long long)ns[i]);
	}
	return TL_OK;
}

/* sqrt(2) with 63 binary places, rounded down: shifted, the last integer below 2^(k + 1/2). */
#define SQRT_2 0xb504f333f9de6484u

/* 1 + floor(2 log2(ns)), without a logarithm: this is done for every call. */
uint32_t tl_latency_bin(int64_t ns)
{
	unsigned k = ns > 1 ? 63 - (unsigned)__builtin_clzll((unsigned long long)ns) : 0;

	return 1 + 2 * k + (ns > 1 && (uint64_t)ns > SQRT_2 >> (63 - k));
}

int64_t tl_latency_bin_begin(uint32_t bin)
{
	double ns = ceil(exp2((bin - 1) / 2.0));

	return bin < 2 ? 0 : ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

/* ---- modes ------------------------------------------------------------------------------------ */

static void smooth(double *out, const uint64_t *bins)
{
	for (size_t k = 0; k < TL_LATENCY_BINS; k++) {
		uint64_t before = k ? bins[k - 1] : 0;
		uint64_t after = k + 1 < TL_LATENCY_BINS ? bins[k + 1] : 0;

		out[k] = (double)(before + 2 * bins[k] + after) / 4.0;
	}
}

static size_t lowest(const double *v, size_t first, size_t last)
{
	size_t best = first;

	for (size_t k = first + 1; k <= last; k++) {
		if (v[k] < v[best])
			best = k;
	}
	return best;
}

/* Where modes end: the lowest bin between two peaks, if it is low enough. Returns how many. */
static size_t find_cuts(size_t *cuts, const double *height, size_t n)
{
	double least = fmax(PEAK_CALLS, PEAK_SHARE * (double)n);
	size_t count = 0, peak = 0; /* bin 0 is never a peak */

	for (size_t k = 1; k + 1 < TL_LATENCY_BINS; k++) {
		size_t valley;

		if (!(height[k] > height[k - 1] && height[k] >= height[k + 1] &&
		      height[k] >= least))
			continue;
		if (peak == 0) {
			peak = k;
			continue;
		}
		valley = lowest(height, peak, k);
		if (height[valley] <= VALLEY_DEPTH * fmin(height[peak], height[k])) {
			cuts[count++] = valley;
			peak = k;
		} else if (height[k] > height[peak]) {
			peak = k;
		}
	}
	return count;
}

int tl_latency_modes(struct tl_latency_modes *out, const int64_t *ns, size_t n,
		     struct tl_error *err)
{
	uint64_t bins[TL_LATENCY_BINS] = { 0 };
	double height[TL_LATENCY_BINS];
	size_t cuts[TL_LATENCY_BINS], cut_count;
	uint32_t begin = 0;
	int ret = check_ns(ns, n, err);

	out->count = 0;
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < n; i++)
		bins[tl_latency_bin(ns[i])]++;
	smooth(height, bins);
	cut_count = find_cuts(cuts, height, n);
	for (size_t i = 0; i <= cut_count; i++) {
		uint32_t end = i < cut_count ? (uint32_t)cuts[i] : TL_LATENCY_BINS;
		uint64_t count = 0;

		for (uint32_t k = begin; k < end; k++)
			count += bins[k];
		if (count)
			out->mode[out->count++] =
				(struct tl_latency_mode) { begin, end - 1, count };
		begin = end;
	}
	return TL_OK;
}

/* ---- threshold -------------------------------------------------------------------------------- */

static double log_seconds(int64_t ns)
{
	return log((double)(ns > 1 ? ns : 1) * 1e-9);
}

/* The values of a mode as logarithms of seconds, at least 1 ns. */
static size_t logs_of_mode(double *out, const struct tl_latency_mode *mode, const int64_t *ns,
			   size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t bin = tl_latency_bin(ns[i]);

		if (mode->first_bin <= bin && bin <= mode->last_bin)
			out[count++] = log_seconds(ns[i]);
	}
	return count;
}

static double mode_threshold_ns(double *logs, size_t n, double *median_ns)
{
	double centre = tl_median(logs, n), sigma;
	size_t upper = 0;

	for (size_t i = 0; i < n; i++) {
		if (logs[i] >= centre)
			logs[upper++] = logs[i] - centre;
	}
	sigma = TL_MAD_FACTOR * tl_median(logs, upper);
	*median_ns = exp(centre) * 1e9;
	return exp(centre + THRESHOLD_SIGMAS * fmax(sigma, SIGMA_MIN)) * 1e9;
}

static const struct tl_latency_mode *slowest_normal(const struct tl_latency_modes *modes, size_t n)
{
	for (size_t i = modes->count; i-- > 0;) {
		if ((double)modes->mode[i].count >= NORMAL_SHARE * (double)n)
			return &modes->mode[i];
	}
	return NULL;
}

static int learn(struct tl_latency_threshold *out, const int64_t *ns, size_t n,
		 struct tl_error *err)
{
	struct tl_latency_modes modes;
	const struct tl_latency_mode *normal;
	double *logs, threshold;
	int ret = tl_latency_modes(&modes, ns, n, err);

	if (ret < 0)
		return ret;
	normal = slowest_normal(&modes, n);
	if (!normal) /* 21 modes or more without a main one */
		return TL_OK;
	logs = tl_alloc(normal->count, sizeof(*logs), err);
	if (!logs)
		return TL_NOMEM;
	out->normal = *normal;
	threshold =
		mode_threshold_ns(logs, logs_of_mode(logs, normal, ns, n), &out->normal_median_ns);
	if (threshold > out->threshold_ns) {
		out->threshold_ns = threshold;
		out->method = TL_THRESHOLD_MODE;
	}
	free(logs);
	return TL_OK;
}

int tl_latency_threshold(struct tl_latency_threshold *out, const int64_t *good_ns, size_t n,
			 double floor_ns, struct tl_error *err)
{
	int ret = check_ns(good_ns, n, err);

	*out = (struct tl_latency_threshold) { .threshold_ns = floor_ns,
					       .method = TL_THRESHOLD_FLOOR,
					       .learnt_from = n };
	if (ret < 0)
		return ret;
	if (n >= FEW_CALLS)
		return learn(out, good_ns, n, err);
	for (size_t i = 0; i < n; i++) {
		double threshold = FEW_FACTOR * (double)good_ns[i];

		if (threshold > out->threshold_ns) {
			out->threshold_ns = threshold;
			out->method = TL_THRESHOLD_FEW;
		}
	}
	return TL_OK;
}

/* ---- histogram, quantiles ---------------------------------------------------------------------- */

int tl_latency_histogram(uint64_t *bucket, const int64_t *ns, size_t n, struct tl_error *err)
{
	int ret = check_ns(ns, n, err);

	for (size_t i = 0; ret == TL_OK && i < n; i++)
		bucket[ns[i] ? 63 - __builtin_clzll((unsigned long long)ns[i]) : 0]++;
	return ret;
}

void tl_latency_quantiles(double *out, const double *p, size_t count, int64_t *ns, size_t n)
{
	size_t sorted = 0; /* everything before is no larger than what is behind */

	for (size_t i = 0; i < count; i++) {
		double h = n ? (double)(n - 1) * p[i] : 0;
		size_t k = (size_t)floor(h);
		int64_t next;

		if (n == 0) {
			out[i] = NAN;
			continue;
		}
		if (k >= sorted)
			select_ns(ns + sorted, n - sorted, k - sorted);
		sorted = k;
		out[i] = (double)ns[k];
		if (k + 1 >= n)
			continue;
		next = ns[k + 1];
		for (size_t j = k + 2; j < n; j++)
			next = ns[j] < next ? ns[j] : next;
		out[i] += (h - (double)k) * ((double)next - (double)ns[k]);
	}
}
