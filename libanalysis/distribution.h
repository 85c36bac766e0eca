/*
 * distribution.h - private: tails and quantiles of the distributions the tests need.
 *
 * Pure functions of numbers; no arrays, no state.
 */
#ifndef TL_DISTRIBUTION_H
#define TL_DISTRIBUTION_H

#include <stddef.h>

double tl_normal_tail(double z);     /* P(Z > z) */
double tl_normal_quantile(double p); /* z with P(Z <= z) = p, 0 < p < 1 */

/* Regularised incomplete beta function I_x(a, b): Lentz's continued fraction, DLMF 8.17.22. */
double tl_beta_ratio(double a, double b, double x);
double tl_student_tail(double t, double df);	 /* P(T > t) */
double tl_student_quantile(double p, double df); /* t with P(T <= t) = p, 0.5 < p < 1 */

/* P(Bin(n, p) >= k). */
double tl_binomial_tail(size_t n, double p, size_t k);
/* n over k, exact below 2^53; +inf above 1e308. */
double tl_choose(size_t n, size_t k);
double tl_log_gamma(double x); /* ln Gamma(x), x > 0; touches no global, unlike lgamma */

#endif
