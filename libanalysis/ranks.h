/*
 * ranks.h - private: ranks, and the tests and estimates made of them: nothing here assumes a
 * distribution.
 *
 * Knows no steps and no units. Values must be finite, and a NaN is refused in words.
 */
#ifndef TL_RANKS_H
#define TL_RANKS_H

#include "analysis.h"

/*
 * Ranks 1 ... n, equal values share their mean rank. *tie_term (may be NULL) becomes the sum of
 * t^3 - t over groups of t equal values.
 */
int tl_midranks(double *rank, double *tie_term, const double *v, size_t n, struct tl_error *err);

enum tl_alternative {
	TL_DIFFERENT, /* two-sided */
	TL_GREATER    /* b is greater than a */
};

enum tl_test_method {
	TL_TEST_NONE,	    /* a group was empty */
	TL_TEST_EXACT,	    /* counted over all groupings */
	TL_TEST_NORMAL,	    /* normal approximation with tie and continuity correction */
	TL_TEST_ADJUSTED,   /* the same, widened for autocorrelation */
	TL_TEST_DEGENERATE, /* all values are equal */
};

struct tl_mann_whitney {
	double u; /* #(b > a) + #(b == a)/2 over all pairs; NaN without pairs */
	double p;
	double cliff; /* Cliff's delta: P(b > a) - P(b < a) = 2u/(nm) - 1 */
	enum tl_test_method method;
};

/*
 * Mann-Whitney U test of b (m values) against a (n values). Exact and conditional on ties, by
 * dynamic programming over doubled midranks, while n+m <= 80 and the table is affordable.
 * Two-sided p is twice the smaller tail, at most 1.
 */
int tl_mann_whitney(struct tl_mann_whitney *out, const double *a, size_t n, const double *b,
		    size_t m, enum tl_alternative alternative, struct tl_error *err);

struct tl_shift {
	double estimate;  /* median of all b - a */
	double low, high; /* -inf, +inf when the confidence cannot be reached with so few values */
};

/*
 * Hodges-Lehmann shift with the distribution-free interval: order statistics k and nm+1-k of the
 * nm differences, k = floor(nm/2 - z sqrt(inflation nm(n+m+1)/12)); Hollander and Wolfe,
 * Nonparametric statistical methods, 4.2-4.3. `inflation` (1 for independent values) is
 * (1+phi)/(1-phi) for an autocorrelation phi. The differences are never stored: memory is O(n+m).
 */
int tl_hodges_lehmann(struct tl_shift *out, const double *a, size_t n, const double *b, size_t m,
		      double confidence, double inflation, struct tl_error *err);

/* Pearson's and Spearman's correlation; 0 when n < 3 or a side is constant. */
double tl_pearson(const double *a, const double *b, size_t n);
int tl_spearman(double *out, const double *a, const double *b, size_t n, struct tl_error *err);

/*
 * Benjamini and Hochberg (1995): q[i] is the smallest false discovery rate at which p[i] is
 * accepted. p and q may be the same array.
 */
int tl_adjust_p(double *q, const double *p, size_t n, struct tl_error *err);

#endif
