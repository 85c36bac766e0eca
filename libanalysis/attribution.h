/*
 * attribution.h - private: which parts of a step's time make the slow steps slow.
 *
 * Pure arithmetic: a category is a number, its name and meaning are the caller's. Any unit, the same
 * for all; the parts of a step should add up to its wall time exactly.
 */
#ifndef TL_ATTRIBUTION_H
#define TL_ATTRIBUTION_H

#include "analysis.h"

struct tl_attribution_row {
	size_t category;
	double good_mean, slow_mean;
	double difference; /* slow - good */
	double low,
		high; /* 95 %: Welch with min(n)-1 degrees of freedom; -inf, +inf below 2 steps */
	double share; /* of the difference of the wall time; they sum to 1 */
	double dose_share; /* cov(part, wall) / var(wall) over slow and good steps; sum to 1, too */
	double p, q;	   /* Mann-Whitney two-sided; Benjamini-Hochberg over the categories */
};

struct tl_attribution {
	size_t good_count, slow_count;
	double wall_difference;	   /* of the means: the parts add up to it, medians would not */
	double sum_of_differences; /* equal to it when the parts add up in every step */
	struct tl_attribution_row *rows; /* largest |difference| first, then by category */
	size_t row_count;
};

/*
 * parts[c][i] is the time of category c in step i, wall[i] the step's wall time; good and slow are
 * step numbers. Needs at least one step on each side (TL_NOTHING).
 */
int tl_attribute(struct tl_attribution *out, const double *const *parts, size_t category_count,
		 const double *wall, const size_t *good, size_t good_count, const size_t *slow,
		 size_t slow_count, struct tl_error *err);
void tl_attribution_release(struct tl_attribution *a);

/* How often one function was sampled. */
struct tl_count_row {
	size_t category;
	uint64_t good, slow;   /* samples */
	double difference;     /* samples per slow step - samples per good step */
	double standard_error; /* Poisson: sqrt(slow/steps^2 + good/steps^2) */
	double p, q;	       /* normal, two-sided; Benjamini-Hochberg over the categories */
};

/*
 * Which of n categories were sampled more or less often per step. Fills rows[0..n), the largest
 * |difference| first, then by category. TL_NOTHING without steps on a side.
 */
int tl_attribute_counts(struct tl_count_row *rows, const uint64_t *good, const uint64_t *slow,
			size_t n, size_t good_steps, size_t slow_steps, struct tl_error *err);

#endif
