/*
 * clock_drift.c - the slope of the offset between two clocks over time, and how sure it is.
 */
#include <math.h>
#include <stdlib.h>

#include "clock_match.h"

#define SPAN_MIN_NS 1000000000 /* in less no clock drifts visibly */
#define BINS	    32
#define BIN_MIN	    8	   /* pairs in a stretch of time, or it says nothing */
#define REACH_NS    200000 /* a lower bound that is so far away says nothing */

struct bin {
	double x, y;
};

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static double quantile(double *values, size_t count, double at)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[(size_t)(at * (double)(count - 1) + 0.5)];
}

/*
 * The middle between the quickest upper and the latest lower bounds of a stretch of time. Load on the
 * machine moves both, but apart; a drift moves them together.
 */
static bool find_middle(const struct tl_clock_bound *bounds, size_t count, int64_t from,
			int64_t width, double *scratch, double *middle)
{
	size_t used = 0, lows = 0;
	double high;

	for (size_t i = 0; i < count; i++)
		if (bounds[i].time >= from && bounds[i].time - from < width)
			scratch[used++] = (double)bounds[i].high;
	if (used < BIN_MIN)
		return false;
	high = quantile(scratch, used, 0.1);
	for (size_t i = 0; i < count; i++)
		if (bounds[i].time >= from && bounds[i].time - from < width &&
		    (double)bounds[i].low > high - REACH_NS)
			scratch[lows++] = (double)bounds[i].low;
	*middle = lows < BIN_MIN ? high : (high + quantile(scratch, lows, 0.9)) / 2;
	return true;
}

static size_t fill_bins(const struct tl_clock_bound *bounds, size_t count, struct bin *bins,
			double *scratch, double *span)
{
	int64_t first = INT64_MAX, last = INT64_MIN, width;
	size_t filled = 0;

	for (size_t i = 0; i < count; i++) {
		first = bounds[i].time < first ? bounds[i].time : first;
		last = bounds[i].time > last ? bounds[i].time : last;
	}
	*span = count ? (double)last - (double)first : 0;
	if (*span < SPAN_MIN_NS)
		return 0;
	width = (int64_t)(*span / BINS) + 1;
	for (int b = 0; b < BINS; b++) {
		int64_t from = first + b * width;

		bins[filled].x = (double)b * (double)width;
		filled += find_middle(bounds, count, from, width, scratch, &bins[filled].y);
	}
	return filled;
}

/* Theil-Sen, and the error that a straight line would have whose points stray as far. */
static void fit(const struct bin *bins, size_t count, double *scratch, struct tl_clock_drift *out)
{
	double mean = 0, square = 0, spread, centre;
	size_t slopes = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			scratch[slopes++] = (bins[i].y - bins[k].y) / (bins[i].x - bins[k].x);
	out->drift = quantile(scratch, slopes, 0.5);
	for (size_t i = 0; i < count; i++) {
		scratch[i] = bins[i].y - out->drift * bins[i].x;
		mean += bins[i].x / (double)count;
	}
	centre = quantile(scratch, count, 0.5);
	for (size_t i = 0; i < count; i++) {
		scratch[i] = fabs(scratch[i] - centre);
		square += (bins[i].x - mean) * (bins[i].x - mean);
	}
	spread = 1.4826 * quantile(scratch, count, 0.5) + 1; /* a nanosecond: nothing is exact */
	out->error = spread / sqrt(square);
	out->is_known = true;
}

int tl_clock_fit_drift(const struct tl_clock_bound *bounds, size_t count,
		       struct tl_clock_drift *out, struct tl_error *err)
{
	struct bin bins[BINS + 1];
	double *scratch = tl_alloc(count + BINS * BINS, sizeof(*scratch), err);
	size_t filled;

	*out = (struct tl_clock_drift) { 0 };
	if (!scratch)
		return TL_NOMEM;
	filled = fill_bins(bounds, count, bins, scratch, &out->span_ns);
	if (filled >= BINS / 4)
		fit(bins, filled, scratch, out);
	free(scratch);
	return TL_OK;
}
