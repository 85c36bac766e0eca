/*
 * comparison.h - private: is one series of steps slower than another, and by how much?
 *
 * Pure arithmetic on two series; batch sizes, ranks and files are the caller's. Ratios are b/a: a is
 * the good one. Durations may have any unit, the same for both.
 */
#ifndef TL_COMPARISON_H
#define TL_COMPARISON_H

#include "ranks.h"

enum tl_comparison_verdict {
	TL_COMPARISON_TOO_FEW, /* no grouping of so few steps can be significant */
	TL_COMPARISON_SLOWER,
	TL_COMPARISON_FASTER,
	TL_COMPARISON_SAME, /* the interval is inside 0.95 ... 1.05 */
	TL_COMPARISON_INCONCLUSIVE,
	TL_COMPARISON_VERDICT_COUNT
};

const char *tl_comparison_verdict_name(enum tl_comparison_verdict verdict);

struct tl_comparison_options {
	double alpha;	    /* of the test; 0.05. The intervals are always 95 % */
	double min_change;  /* the interval must exclude 1 -/+ this; 0 */
	uint32_t resamples; /* of the bootstrap; 2000 */
	bool is_raw;	    /* do not leave out warm-up, spikes and periodic steps */
};

struct tl_comparison {
	size_t good_count, slow_count;	     /* steps compared */
	size_t good_left_out, slow_left_out; /* warm-up, spikes, periodic */
	double good_median, slow_median;
	double median_ratio, hl_ratio, hl_low, hl_high; /* 0 and +inf where not reachable */
	double p;
	enum tl_test_method p_method;
	double cliff, slower_probability;     /* of a random pair: (cliff + 1) / 2 */
	double bootstrap_low, bootstrap_high; /* of the ratio of medians; NaN without resamples */
	double acf1;
	double smallest_p; /* that so many steps could reach; 0 for 200 and more */
	enum tl_comparison_verdict verdict;
};

/*
 * Hodges-Lehmann ratio exp(median of all ln b - ln a) with its interval, Mann-Whitney p, Cliff's
 * delta, and a moving-block bootstrap (circular, fixed seed) of the ratio of medians with blocks of
 * round((2 phi/(1-phi^2))^(2/3) n^(1/3)). phi is the larger autocorrelation of the two: it widens
 * interval and test by (1+phi)/(1-phi). Series of 8 and more steps are judged by the steps model
 * first and their warm-up, spikes and periodic steps left out, unless that is more than half.
 * `opt` may be NULL. TL_NOTHING when a series is empty.
 */
int tl_compare_series(struct tl_comparison *out, const double *a, size_t n, const double *b,
		      size_t m, const struct tl_comparison_options *opt, struct tl_error *err);

#endif
