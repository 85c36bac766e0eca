/*
 * stats.h - private: sums, means, medians and quantiles of plain arrays.
 *
 * Knows no steps, no threads and no units: a result has the unit of its input. Values must be
 * finite (tl_check_finite): with a NaN among them an order means nothing.
 */
#ifndef TL_STATS_H
#define TL_STATS_H

#include "analysis.h"

/* Consistency factor of the median absolute deviation with the normal sigma: 1/Phi^-1(3/4). */
#define TL_MAD_FACTOR 1.482602218505602

/* ---- exact sums ------------------------------------------------------------------------- */

/*
 * A sum without rounding until it is read, so that it does not depend on the order of its terms:
 * Shewchuk, Adaptive precision floating-point arithmetic (1997); the same value as Python's
 * math.fsum. Start with {0}.
 */
struct tl_sum {
	double partial[48]; /* not overlapping, growing: 2098 bits need at most 41 */
	int count;
};
void tl_sum_add(struct tl_sum *sum, double value);
double tl_sum_value(const struct tl_sum *sum);

double tl_mean(const double *v, size_t n);     /* NaN when n is 0 */
double tl_variance(const double *v, size_t n); /* with n-1; NaN when n < 2 */

/* ---- order statistics ------------------------------------------------------------------- */

/* These reorder v. NaN when n is 0. */
double tl_median(double *v, size_t n);
/* Type 7 of Hyndman and Fan (1996): h = (n-1)p, linear between neighbours. 0 <= p <= 1. */
double tl_quantile(double *v, size_t n, double p);
/* Replaces v by |v - centre|; 1.4826 times their median, 0 when n is 0. */
double tl_mad_sigma(double *v, size_t n, double centre);
int tl_compare_double(const void *a, const void *b); /* for qsort */
void tl_sort(double *v, size_t n);

/* ---- what may go in -------------------------------------------------------------------- */

/* TL_USAGE unless every value is finite; `what` names the array in the message. */
int tl_check_finite(const double *v, size_t n, const char *what, struct tl_error *err);
/* The same for durations: finite, positive and below 1e100. */
int tl_check_durations(const double *v, size_t n, struct tl_error *err);

#endif
