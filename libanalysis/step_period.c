/*
 * step_period.c - do slow steps come at a fixed distance, as checkpoints and evaluations do?
 *
 * Knows only where they begin.
 */
#include "step_episode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distribution.h"
#include "memory.h"
#include "stats.h"

#define PERIOD_MIN   3
#define PHASES_TRIED 3	 /* the first onsets: one of them is on the period, or it explains little */
#define COVERAGE_MIN 0.6 /* of the onsets and of the slots */

struct trial {
	size_t period, origin, tolerance;
	size_t members, slots, off; /* off: distance of the period from the median gap */
	double p;
};

struct search {
	const size_t *onsets;
	size_t count, n, least, gap, candidates;
	double p_max;
};

static size_t distance_to_slot(size_t onset, size_t origin, size_t period)
{
	size_t after = onset >= origin ? (onset - origin) % period
				       : (period - (origin - onset) % period) % period;

	return after < period - after ? after : period - after;
}

static bool is_member(const struct trial *t, size_t onset)
{
	return distance_to_slot(onset, t->origin, t->period) <= t->tolerance;
}

static bool is_better(const struct trial *a, const struct trial *b)
{
	if (a->members != b->members)
		return a->members > b->members;
	if (a->p != b->p)
		return a->p < b->p;
	return a->off < b->off;
}

/* Fills in what the trial explains; false if that is too little. */
static bool try_period(const struct search *s, struct trial *t)
{
	double width = (2 * (double)t->tolerance + 1) / (double)t->period;

	for (size_t i = 0; i < s->count; i++)
		t->members += is_member(t, s->onsets[i]);
	t->slots = (s->n - 1 - t->origin % t->period) / t->period + 1;
	t->off = t->period > s->gap ? t->period - s->gap : s->gap - t->period;
	if (t->members < s->least || (double)t->members < COVERAGE_MIN * (double)t->slots ||
	    (double)t->members < COVERAGE_MIN * (double)s->count)
		return false;
	t->p = 2 * (double)s->candidates *
	       tl_binomial_tail(s->count - 1, fmin(1.0, width), t->members - 1);
	return t->p < s->p_max;
}

static bool search_periods(struct search *s, struct trial *best)
{
	size_t first = (size_t)((double)s->gap * 0.9), last = (size_t)((double)s->gap * 1.1) + 1;
	size_t phases = s->count < PHASES_TRIED ? s->count : PHASES_TRIED;

	first = first < PERIOD_MIN ? PERIOD_MIN : first;
	s->candidates = (last + 1 - first) * phases;
	for (size_t tolerance = 0; tolerance <= 1; tolerance++) {
		for (size_t period = first; period <= last; period++) {
			for (size_t i = 0; i < phases; i++) {
				struct trial t = { period, s->onsets[i], tolerance, 0, 0, 0, 1 };

				if (try_period(s, &t) && is_better(&t, best))
					*best = t;
			}
		}
	}
	return best->members > 0;
}

static int take_members(struct tl_period *out, const struct search *s, const struct trial *t,
			struct tl_error *err)
{
	*out = (struct tl_period) { .period = t->period,
				    .phase = t->origin % t->period,
				    .coverage = (double)t->members / (double)t->slots,
				    .p = t->p };
	out->members = tl_alloc(t->members, sizeof(*out->members), err);
	if (!out->members)
		return TL_NOMEM;
	for (size_t i = 0; i < s->count; i++) {
		if (is_member(t, s->onsets[i]))
			out->members[out->member_count++] = s->onsets[i];
	}
	return 1;
}

int tl_find_period(struct tl_period *out, const size_t *onsets, size_t count, size_t n,
		   size_t least, double p_max, struct tl_error *err)
{
	struct search s = {
		.onsets = onsets, .count = count, .n = n, .least = least, .p_max = p_max
	};
	struct trial best = { 0 };
	double *gaps;

	if (count < least || count < 2)
		return 0;
	gaps = tl_alloc(count - 1, sizeof(*gaps), err);
	if (!gaps)
		return TL_NOMEM;
	for (size_t i = 0; i + 1 < count; i++)
		gaps[i] = (double)(onsets[i + 1] - onsets[i]);
	s.gap = (size_t)rint(tl_median(gaps, count - 1)); /* halves to even */
	free(gaps);
	if (s.gap < PERIOD_MIN || !search_periods(&s, &best))
		return 0;
	return take_members(out, &s, &best, err);
}
