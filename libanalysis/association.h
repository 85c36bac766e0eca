/*
 * association.h - private: do two things happen together, beyond what a common cause explains?
 *
 * Pure arithmetic: activity and duration are numbers per step, a stratum is the caller's. Resampling
 * has fixed seeds, so the same case has the same p.
 */
#ifndef TL_ASSOCIATION_H
#define TL_ASSOCIATION_H

#include "analysis.h"

/*
 * Spearman's rho of a and x, and its p by all circular shifts of a (every s-th beyond 2000): keeps
 * the autocorrelation of both. (1 + #|rho_s| >= |rho|) / (1 + shifts).
 */
int tl_circular_rank(double *rho, double *p, const double *a, const double *x, size_t n,
		     struct tl_error *err);

struct tl_stratified_rank {
	double r;	      /* pooled rank correlation inside strata */
	double p;	      /* one-sided, by permuting inside strata */
	size_t stratum_count; /* with at least 3 members; 0: r and p are unknown */
	size_t largest;	      /* members of the largest stratum: how many events were compared */
};

/*
 * Association of a and x inside strata of equal offset since an event: ranks centred in each
 * stratum, r = sum cov / sqrt(sum var sum var). What acts on all members of a stratum alike, like
 * a checkpoint before them, cancels.
 */
int tl_stratified_rank(struct tl_stratified_rank *out, const double *a, const double *x,
		       const int64_t *stratum, size_t n, uint32_t permutations, uint64_t seed,
		       struct tl_error *err);
#define TL_STRATIFIED_PERMUTATIONS 999
#define TL_STRATIFIED_SEED	   5

struct tl_time_span {
	int64_t start_ns, end_ns; /* [start, end) */
};

struct tl_overlap {
	double overlap_ns, expected_ns; /* observed; mean of the rotations */
	double ratio; /* +inf when nothing is expected, 1 when nothing is seen either */
	double p;     /* one-sided */
};

/*
 * Total overlap of stalls with activity against the same with the activity rotated by a random
 * amount inside every step: what acts on whole steps cancels. Both may still prefer the same part
 * of a step: never a verdict alone. Steps, stalls and acts: each sorted and without overlaps
 * (TL_USAGE).
 */
int tl_overlap_test(struct tl_overlap *out, const struct tl_time_span *steps, size_t step_count,
		    const struct tl_time_span *stalls, size_t stall_count,
		    const struct tl_time_span *acts, size_t act_count, uint32_t rotations,
		    struct tl_error *err);
#define TL_OVERLAP_ROTATIONS 200

struct tl_epoch_row {
	int offset; /* steps since the event */
	size_t count;
	double ratio;	  /* mean of duration / baseline */
	double low, high; /* 95 %, bootstrap over events; NaN below 3 */
};

/*
 * Superposed epochs: the mean ratio at every offset from `before` steps before the events to `after`
 * steps behind; offsets without a step are left out. Events are step numbers below n. Returns rows (free() them).
 */
int tl_epoch_fold(struct tl_epoch_row **out, size_t *count, const double *x, size_t n,
		  const size_t *events, size_t event_count, int before, int after, double baseline,
		  uint32_t resamples, struct tl_error *err);
#define TL_EPOCH_RESAMPLES 1000

#endif
