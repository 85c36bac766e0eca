/*
 * segment.h - private: where the level of a series changes.
 *
 * Works on logarithms, so a change is a ratio. Knows levels and noise, not what a segment means:
 * that is steps_model.h.
 */
#ifndef TL_SEGMENT_H
#define TL_SEGMENT_H

#include "analysis.h"

/* Penalty of one change point: kappa ln n, in units of the noise variance. */
#define TL_KAPPA 3.0

/*
 * What the values themselves say about the clock they were read from. Durations that repeat are
 * `is_tied` (fewer than 70 % distinct): the median absolute deviation then jumps between 0 and one
 * tick, and the smallest difference is taken for the tick.
 */
struct tl_resolution {
	bool is_tied;
	double sigma_floor; /* of ln x: 0.001, or tick/(sqrt(12) median) */
};
int tl_resolution(struct tl_resolution *out, const double *x, size_t n, struct tl_error *err);

/*
 * Noise of residuals around a known level 0: 1.4826 median |r|; of tied data at least
 * (q90 - q10)/2.563; never below the floor. Reorders and changes r.
 */
double tl_level_sigma(double *r, size_t n, const struct tl_resolution *resolution);

/*
 * Minimises sum over segments of SSE/sigma^2, plus beta for every change point, exactly. `starts`
 * (room for n) becomes the first index of every segment, 0 first; *count how many. Of segmentations
 * that cost the same the one with the earliest last start wins.
 *
 * The recursion of optimal partitioning (Jackson et al. 2005) with the pruning of PELT (Killick,
 * Fearnhead, Eckley 2012), which alone never prunes a series without changes, and functional
 * pruning (Maidstone, Hocking, Rigaill, Fearnhead 2017), which then leaves a handful of candidates.
 * Time is about n times their number; memory is O(n).
 */
int tl_pelt(size_t *starts, size_t *count, const double *y, size_t n, double sigma, double beta,
	    struct tl_error *err);

struct tl_segmentation {
	size_t n;
	double *log_x;	/* ln x, n of them */
	size_t *starts; /* count + 1 of them: the last is n */
	size_t count;
	double sigma; /* noise of ln x inside segments */
	double acf1;  /* lag-1 autocorrelation of that noise, 0 unless significant, at most 0.8 */
	struct tl_resolution resolution;
};

/*
 * Three passes over x (n > 0 durations of any unit):
 *   A, penalty 6 kappa ln n, finds large shifts; B, kappa ln n, finds short bumps. Noise and its
 *   autocorrelation phi come from the residuals of A without the steps that B puts into segments of
 *   fewer than 8 steps more than 4 sigma off. C, kappa ln n (1+phi)/(1-phi), is the result.
 */
int tl_segment(struct tl_segmentation *out, const double *x, size_t n, double kappa,
	       struct tl_error *err);
void tl_segmentation_release(struct tl_segmentation *s);

#endif
