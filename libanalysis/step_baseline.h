/*
 * step_baseline.h - private: which level of a segmented series is the normal one, and which segments
 * lie above or below it.
 *
 * Knows levels and states, no episodes. Levels are natural logarithms of durations.
 */
#ifndef TL_STEP_BASELINE_H
#define TL_STEP_BASELINE_H

#include "segment.h"

struct tl_step_baseline {
	double level;	/* median of the steps of the baseline state */
	double sigma;	/* their spread */
	double min_log; /* ln(1 + min_change): smaller is no change */
	double band;	/* a step below this level has recovered */
	bool *is_base;	/* by step: belongs to the baseline state */
	size_t base_count;
	double *segment_level;	/* median of each segment */
	int8_t *segment_class;	/* +1 raised, -1 lowered, 0 neither */
	size_t warmup_count;	/* slow steps before the first of the baseline */
	double spike_threshold; /* a single step above the baseline by more is a spike */
};

/*
 * Segments of 3 steps and more whose levels differ by less than min_change are one state. The
 * baseline is the earliest state with at least max(5, n/10) steps; but a slow first state that ends
 * within min(max(10, n/4), 60) steps and gives way to the longest, faster state is warm-up.
 * A segment is raised when its level exceeds the baseline by more than min_change and 3 standard
 * errors, lowered likewise.
 */
int tl_step_baseline(struct tl_step_baseline *out, const struct tl_segmentation *seg,
		     double min_change, struct tl_error *err);
void tl_step_baseline_release(struct tl_step_baseline *b);

/*
 * How many sigma a single step of `n` must be off to be a spike: 1 % per series for normal noise,
 * z(1 - 0.01/n) (1 + 6/n + 60/n^2), the factor fitted by simulation for sigmas estimated by MAD.
 */
double tl_spike_sigmas(size_t n);

#endif
