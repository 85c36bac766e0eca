/*
 * clock_anchor.h - private: the straight line through snapshots of a clock, and the claims that follow
 * from the snapshots of a case (table clock_anchor).
 *
 * A snapshot (anchor) says: this clock showed value_ns when the wall clock of the same machine showed
 * realtime_ns, give or take half of width_ns. That is a bound, not a spread: the clock was read between
 * two readings of the wall clock. The line is that of least weighted squares, the weights from the
 * widths, so that a snapshot that was disturbed counts little.
 */
#ifndef TL_CLOCK_ANCHOR_H
#define TL_CLOCK_ANCHOR_H

#include "clock.h"

struct tl_clock_anchor {
	int64_t realtime_ns, value_ns;
	int64_t width_ns; /* not negative */
};

struct tl_clock_fit {
	struct tl_clock_line line; /* realtime = slope * value + offset */
	/*
	 * Between the first and the last anchor: half of the median width, and how far the line misses
	 * what some anchor allows. The first is how well the clocks were read, the second how much they
	 * are no straight line: a wall clock that was set, or steered.
	 */
	int64_t residual_ns, miss_ns;
	double slope_error;	   /* of the slope, for times outside */
	int64_t first_ns, last_ns; /* values */
	size_t count;
};

/* Returns false where nothing can be fitted: no anchors, or values that no clock shows. */
bool tl_clock_fit(const struct tl_clock_anchor *anchors, size_t count, struct tl_clock_fit *out);

/* The uncertainty of times between two values of the clock, given what the fit rests on. */
int64_t tl_clock_fit_residual(const struct tl_clock_fit *fit, int64_t first_ns, int64_t last_ns);

/*
 * Claims of method anchored, made anew for every source whose clock was read by snapshots of the same
 * host at about the time of the source. The reference is the source that holds the snapshots. To be
 * called before tl_clock_apply, within a transaction.
 */
int tl_clock_anchor_claims(struct tl_store *store, struct tl_error *err);

#endif
