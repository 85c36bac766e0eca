/*
 * step_view_rows.c - steps of a log that has no line for each: a row stands for several, and rows can be
 * compared when they stand for equally many.
 */
#include "step_view.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_compared(const struct tl_view_step *s)
{
	return s->class_ != TL_STEP_OTHER;
}

static int by_size(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

/* The usual number of steps of the rows that are compared, the median; 1 where there are none. */
static int usual_size(const struct tl_step_view *view, int64_t *usual, struct tl_error *err)
{
	int64_t *sizes = tl_alloc(view->step_count + 1, sizeof(*sizes), err);
	size_t n = 0;

	if (!sizes)
		return TL_NOMEM;
	for (size_t i = 0; i < view->step_count; i++)
		if (is_compared(&view->steps[i]))
			sizes[n++] = view->steps[i].count;
	qsort(sizes, n, sizeof(*sizes), by_size);
	*usual = n ? sizes[n / 2] : 1;
	free(sizes);
	return TL_OK;
}

int tl_view_even_rows(struct tl_step_view *view, struct tl_error *err)
{
	bool has_slow[2] = { false, false }, has_good[2] = { false, false };
	int ret = usual_size(view, &view->steps_per_row, err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < view->step_count; i++) {
		struct tl_view_step *s = &view->steps[i];
		bool is_even = s->count == view->steps_per_row;

		has_slow[is_even] |= s->class_ == TL_STEP_SLOW;
		has_good[is_even] |= s->class_ == TL_STEP_GOOD;
		if (is_even || !is_compared(s))
			continue;
		view->uneven_count++;
		s->class_ = TL_STEP_OTHER;
	}
	if ((has_slow[false] && !has_slow[true]) || (has_good[false] && !has_good[true]))
		return tl_fail(
			err, TL_NOTHING,
			"a line of %.200s stands for several steps, slow and good ones for "
			"different numbers of them, so that their times cannot be compared: a "
			"log with a line for each step, or with times finer than a second, or "
			"the profiler's trace, tells more",
			view->step_source);
	return TL_OK;
}
