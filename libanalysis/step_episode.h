/*
 * step_episode.h - private: runs of slow or fast steps, how they end, and how sure one can be.
 *
 * Knows a series, its baseline and nothing else; whether episodes are periodic or a drift is judged
 * by steps_model.c.
 */
#ifndef TL_STEP_EPISODE_H
#define TL_STEP_EPISODE_H

#include "step_baseline.h"
#include "steps_model.h"

/*
 * An episode is a run of raised (or lowered) segments; a gap of up to 2 steps between two of them
 * is absorbed if one is longer than a spike. Steps above b->spike_threshold outside are spikes.
 * A slow episode ends where 3 steps in a row are inside the recovery band. Each one longer than a
 * spike is tested three ways against the steps around it. `x` are the durations of seg->log_x.
 */
int tl_step_episodes(struct tl_episode **out, size_t *count, const double *x,
		     const struct tl_segmentation *seg, const struct tl_step_baseline *b,
		     struct tl_error *err);

/*
 * The period and phase that explain most of the onsets, exactly or within one step; needs `least`
 * onsets on it, 60 % of all onsets, 60 % of the slots in n steps, and a chance below p_max:
 * 2 candidates P(Bin(m-1, (2 tolerance + 1)/period) >= members - 1). `onsets` ascending. Returns 1
 * and fills *out, 0 if there is none, or a negative status.
 */
int tl_find_period(struct tl_period *out, const size_t *onsets, size_t count, size_t n,
		   size_t least, double p_max, struct tl_error *err);

#endif
