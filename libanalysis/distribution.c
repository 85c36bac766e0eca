/*
 * distribution.c - tails and quantiles.
 *
 * Quantiles are found by bisection of the tail: slower than a rational approximation, but as exact
 * as the tail, and called a handful of times per answer.
 */
#include "distribution.h"

#include <math.h>

/* Enough to halve any interval of doubles down to neighbours. */
#define BISECTIONS 200

double tl_normal_tail(double z)
{
	return 0.5 * erfc(z / sqrt(2.0));
}

double tl_normal_quantile(double p)
{
	double low = -40.0, high = 40.0;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = 0.5 * (low + high);

		if (1.0 - tl_normal_tail(middle) < p)
			low = middle;
		else
			high = middle;
	}
	return 0.5 * (low + high);
}

double tl_log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

static double away_from_zero(double v)
{
	return fabs(v) > 1e-300 ? v : 1e-300;
}

/* Converges fast for x < (a+1)/(a+b+2) only. */
static double beta_fraction(double a, double b, double x)
{
	double log_front = tl_log_gamma(a + b) - tl_log_gamma(a) - tl_log_gamma(b) + a * log(x) +
			   b * log1p(-x);
	double c = 1.0, d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1)), h = d;

	for (int m = 1; m < 500; m++) {
		double term[2] = { m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
				   -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)) };

		for (int i = 0; i < 2; i++) {
			d = 1.0 / away_from_zero(1.0 + term[i] * d);
			c = away_from_zero(1.0 + term[i] / c);
			h *= d * c;
		}
		if (fabs(d * c - 1) < 1e-15)
			break;
	}
	return exp(log_front) * h / a;
}

double tl_beta_ratio(double a, double b, double x)
{
	if (x <= 0)
		return 0.0;
	if (x >= 1)
		return 1.0;
	if (x > (a + 1) / (a + b + 2))
		return 1.0 - beta_fraction(b, a, 1 - x);
	return beta_fraction(a, b, x);
}

double tl_student_tail(double t, double df)
{
	double p = 0.5 * tl_beta_ratio(df / 2.0, 0.5, df / (df + t * t));

	return t >= 0 ? p : 1.0 - p;
}

double tl_student_quantile(double p, double df)
{
	double low = 0.0, high = 1e6;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = 0.5 * (low + high);

		if (tl_student_tail(middle, df) > 1 - p)
			low = middle;
		else
			high = middle;
	}
	return 0.5 * (low + high);
}

double tl_choose(size_t n, size_t k)
{
	double c = 1.0;

	if (k > n)
		return 0.0;
	if (k > n - k)
		k = n - k;
	/* c * (n-i) is divisible by i+1: every step is a binomial coefficient. */
	for (size_t i = 0; i < k && isfinite(c); i++)
		c = c * (double)(n - i) / (double)(i + 1);
	return c;
}

/* One term of the binomial distribution; by logarithms where the coefficient leaves the doubles. */
static double binomial_term(size_t n, double p, size_t k)
{
	double c = tl_choose(n, k), rest = (double)(n - k);

	if (isfinite(c))
		return c * pow(p, (double)k) * pow(1 - p, rest);
	if (p >= 1) /* k < n here: k == n has the coefficient 1 */
		return 0.0;
	return exp(tl_log_gamma((double)n + 1) - tl_log_gamma((double)k + 1) -
		   tl_log_gamma(rest + 1) + (double)k * log(p) + rest * log1p(-p));
}

double tl_binomial_tail(size_t n, double p, size_t k)
{
	double sum = 0;

	/* From the smallest term up, so that little is lost in rounding. */
	for (size_t j = n + 1; j-- > k;)
		sum += binomial_term(n, p, j);
	return sum;
}
