/*
 * step_pauses.c - pauses between steps. Knows times and numbers of steps, not what happened in the
 * pauses. Declared in step_pauses.h.
 */
#include "step_pauses.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "stats.h"
#include "step_episode.h"
#include "steps.h"

#define NS_PER_S     INT64_C(1000000000)
#define PAUSE_SHARE  0.1 /* of a baseline step */
#define PAUSE_SPREAD 5	 /* times that of the gaps */
#define PERIOD_LEAST 4	 /* pauses at one distance */
#define PERIOD_P_MAX 0.01

/* The time between step i and its successor, 0 when they overlap; false when that is not the next. */
static bool gap_after(const struct tl_steps_series *s, size_t i, int64_t stride, double *gap)
{
	const struct tl_step *x = &s->steps[i], *next = x + 1;
	int64_t distance, numbers;

	if (!x->has_ts || !next->has_ts || next->ts < x->ts ||
	    __builtin_sub_overflow(next->ts, x->ts, &distance) ||
	    __builtin_sub_overflow(next->number, x->number, &numbers) ||
	    numbers != (next->count > 1 ? next->count : stride))
		return false;
	*gap = distance > x->span_ns ? (double)(distance - x->span_ns) : 0;
	return true;
}

/* The unit of the times, a power of ten from 1 ms to 1 s: what is below it in a gap is made up. */
static int64_t unit_of_times(const struct tl_steps_series *s)
{
	for (int64_t unit = NS_PER_S; unit >= NS_PER_S / 1000; unit /= 10) {
		bool at_begin = true, at_end = true;

		for (size_t i = 0; i < s->count && (at_begin || at_end); i++) {
			const struct tl_step *x = &s->steps[i];

			at_begin &= !x->has_ts || x->ts % unit == 0;
			at_end &= !x->has_ts || (x->ts + x->span_ns) % unit == 0;
		}
		if (at_begin || at_end)
			return unit;
	}
	return 0;
}

static int find_period(struct tl_steps_series *s, struct tl_error *err)
{
	struct tl_period period = { 0 };
	size_t *after;
	int ret;

	if (s->pause_count < PERIOD_LEAST)
		return TL_OK;
	after = tl_alloc(s->pause_count, sizeof(*after), err);
	if (!after)
		return TL_NOMEM;
	for (size_t i = 0; i < s->pause_count; i++)
		after[i] = s->pauses[i].after;
	ret = tl_find_period(&period, after, s->pause_count, s->count, PERIOD_LEAST, PERIOD_P_MAX,
			     err);
	if (ret > 0)
		s->pause_period =
			period.period * (size_t)(s->steps_per_row > 1 ? s->steps_per_row : 1);
	free(period.members);
	free(after);
	return ret < 0 ? ret : TL_OK;
}

static int add_pause(struct tl_steps_series *s, size_t *capacity, size_t after, double gap,
		     struct tl_error *err)
{
	int ret = tl_grow(&s->pauses, capacity, s->pause_count + 1, err);

	if (ret < 0)
		return ret;
	s->pauses[s->pause_count++] = (struct tl_step_pause) {
		.after = after,
		.ts = s->steps[after].ts + s->steps[after].span_ns,
		.duration_ns = llround(gap),
	};
	s->pause_total_ns += gap;
	return TL_OK;
}

int tl_step_pauses(struct tl_steps_series *s, struct tl_error *err)
{
	double *gaps, least, gap, usual;
	int64_t stride;
	size_t count = 0, capacity = 0;
	int ret = tl_steps_stride(s, &usual, err);

	s->gap_ns = NAN;
	if (ret < 0)
		return ret;
	gaps = tl_alloc(s->count + 1, sizeof(*gaps), err);
	if (!gaps)
		return TL_NOMEM;
	stride = usual > 0 && usual < 1e15 ? llround(usual) : 1;
	for (size_t i = 0; i + 1 < s->count; i++)
		if (gap_after(s, i, stride, &gap))
			gaps[count++] = gap;
	if (!count)
		goto out;
	s->gap_ns = tl_median(gaps, count);
	least = s->gap_ns + fmax(fmax(PAUSE_SHARE * s->baseline_ns,
				      PAUSE_SPREAD * tl_mad_sigma(gaps, count, s->gap_ns)),
				 (double)unit_of_times(s));
	for (size_t i = 0; i + 1 < s->count && ret == TL_OK; i++)
		if (gap_after(s, i, stride, &gap) && gap > least)
			ret = add_pause(s, &capacity, i, gap, err);
	if (ret == TL_OK)
		ret = find_period(s, err);
out:
	free(gaps);
	return ret;
}
