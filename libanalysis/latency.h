/*
 * latency.h - private: durations of system calls: modes, the threshold beyond which a call is an
 * outlier, histograms, exact quantiles.
 *
 * Pure arithmetic on int64 nanoseconds; which calls are "good" is the caller's knowledge. Durations
 * below 0 are refused in words.
 */
#ifndef TL_LATENCY_H
#define TL_LATENCY_H

#include "analysis.h"

/* Half-octave bins: 0 is unused, bin k > 0 holds 2^((k-1)/2) <= ns < 2^(k/2). */
#define TL_LATENCY_BINS 130
uint32_t tl_latency_bin(int64_t ns);
int64_t tl_latency_bin_begin(uint32_t bin); /* the shortest that it holds */

struct tl_latency_mode {
	uint32_t first_bin, last_bin;
	uint64_t count;
};

struct tl_latency_modes {
	struct tl_latency_mode mode[TL_LATENCY_BINS]; /* fastest first */
	size_t count;
};

/*
 * Peaks of the histogram smoothed 1-2-1 that hold at least max(2, 0.5 %) calls; two of them are
 * separate modes if the valley between them is at most half of the lower one.
 */
int tl_latency_modes(struct tl_latency_modes *out, const int64_t *ns, size_t n,
		     struct tl_error *err);

enum tl_threshold_method {
	TL_THRESHOLD_MODE,  /* of the slowest normal mode */
	TL_THRESHOLD_FEW,   /* fewer than 20 calls: 10 times the slowest */
	TL_THRESHOLD_FLOOR, /* no calls to learn from, or the floor is higher */
};

struct tl_latency_threshold {
	double threshold_ns; /* a call that lasts longer is an outlier */
	enum tl_threshold_method method;
	size_t learnt_from;	       /* calls */
	struct tl_latency_mode normal; /* MODE: the slowest mode with 5 % of the calls */
	double normal_median_ns;
};

#define TL_LATENCY_FLOOR_NS 1000000 /* 1 ms: nobody waits for less */

/*
 * From the good calls of one thread and call: the slowest mode that holds at least 5 % of them is
 * still normal; max(floor, median exp(5 max(0.25, 1.4826 MAD_up))) of that mode, MAD_up over values
 * of at least the median, in ln. Fences around the median of all calls fail: a fast path and a
 * blocking path are two modes. Below 20 calls: max(floor, 10 x slowest).
 */
int tl_latency_threshold(struct tl_latency_threshold *out, const int64_t *good_ns, size_t n,
			 double floor_ns, struct tl_error *err);

/* Bucket k counts 2^k <= ns < 2^(k+1); bucket 0 also 0 ns. Adds to bucket[0..63]. */
int tl_latency_histogram(uint64_t *bucket, const int64_t *ns, size_t n, struct tl_error *err);

/*
 * Exact quantiles (type 7, as tl_quantile) of n values for `count` probabilities in ascending order;
 * reorders ns. O(n), no sorting. NaN when n is 0.
 */
void tl_latency_quantiles(double *out, const double *p, size_t count, int64_t *ns, size_t n);

#endif
