/*
 * step_repeats.c - one step that a trace tells of several times: on every thread of a process, or twice
 * by mistake. Knows no rows of a case.
 */
#include "step_repeats.h"

#include <stdlib.h>

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_unsigned(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_track(const void *left, const void *right)
{
	const struct tl_step_span *a = left, *b = right;

	return compare_unsigned(a->track, b->track);
}

/* Steps of one number side by side, in order of time. */
static int by_number(const void *left, const void *right)
{
	const struct tl_step_span *a = left, *b = right;
	int order = compare_unsigned(a->process, b->process);

	if (!order)
		order = compare(a->number, b->number);
	if (!order)
		order = compare(a->ts, b->ts);
	return order ? order : compare(a->slice_id, b->slice_id);
}

static void count_tracks(struct tl_step_span *spans, size_t count)
{
	qsort(spans, count, sizeof(*spans), by_track);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && spans[end].track == spans[first].track;)
			end++;
		for (size_t i = first; i < end; i++)
			spans[i].track_steps =
				end - first < UINT32_MAX ? (uint32_t)(end - first) : UINT32_MAX;
	}
}

/* `b` begins when `a` does, or later. */
static bool is_same_step(const struct tl_step_span *a, const struct tl_step_span *b)
{
	int64_t shorter = a->duration_ns < b->duration_ns ? a->duration_ns : b->duration_ns;
	uint64_t late = (uint64_t)b->ts - (uint64_t)a->ts, shared;

	if (a->process != b->process || a->number != b->number || late >= (uint64_t)a->duration_ns)
		return false;
	shared = (uint64_t)a->duration_ns - late;
	if (shared > (uint64_t)b->duration_ns)
		shared = (uint64_t)b->duration_ns;
	return shared > (uint64_t)shorter / 2;
}

static bool is_better(const struct tl_step_span *a, const struct tl_step_span *b)
{
	if (a->track_steps != b->track_steps)
		return a->track_steps > b->track_steps;
	if (a->track != b->track)
		return a->track < b->track;
	return a->slice_id < b->slice_id;
}

int64_t tl_step_spans_mark(struct tl_step_span *spans, size_t count)
{
	struct tl_step_span *kept = spans;
	int64_t repeats = 0;

	if (count < 2)
		return 0;
	count_tracks(spans, count);
	qsort(spans, count, sizeof(*spans), by_number);
	for (size_t i = 1; i < count; i++) {
		struct tl_step_span *x = &spans[i];
		bool is_new = !is_same_step(kept, x), is_next = is_new || is_better(x, kept);

		repeats += !is_new;
		if (!is_new)
			(is_next ? kept : x)->is_repeat = true;
		if (is_next)
			kept = x;
	}
	return repeats;
}
