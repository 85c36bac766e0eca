/*
 * thp_epochs.c - steps around checkpoints, all checkpoints laid over each other: what follows them
 * every time is seen, and whether memory management does. Judges nothing. Declared in thp.h.
 */
#include "thp.h"

#include <math.h>
#include <stdlib.h>

#define EPOCHS_MIN 2 /* below, the list of steps says the same */
#define BEFORE	   5
#define AFTER	   30

static int find_checkpoints(const struct tl_thp_work *w, size_t **out, size_t *count,
			    struct tl_error *err)
{
	*count = 0;
	*out = tl_alloc(w->n, sizeof(**out), err);
	if (!*out)
		return TL_NOMEM;
	for (size_t i = 0; i < w->n; i++)
		if (w->is_checkpoint[i] && !w->is_unsure[i])
			(*out)[(*count)++] = i;
	return TL_OK;
}

/* An epoch must not reach into the next one. */
static int reach(const size_t *checkpoints, size_t count)
{
	size_t least = AFTER + 1;

	for (size_t i = 1; i < count; i++)
		if (checkpoints[i] - checkpoints[i - 1] < least)
			least = checkpoints[i] - checkpoints[i - 1];
	return (int)least - 1;
}

/* Means of what the thread spent with memory management, and daemons worked, at that offset. */
static void add_means(const struct tl_thp_work *w, const size_t *checkpoints, size_t count,
		      struct tl_thp_epoch *e)
{
	bool has_mechanism =
		w->steps.sees & (TL_THP_SEES_DIRECT | TL_THP_SEES_STOLEN | TL_THP_SEES_LOCK);
	bool has_activity = w->out->sees_activity && !w->has_daemon_counters;
	double mechanism = 0, activity = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = checkpoints[i] + (size_t)(int64_t)e->offset; /* wraps below 0 */

		if (at >= w->n)
			continue;
		mechanism += w->direct[at] + w->stolen[at] + w->lock[at];
		activity += w->activity[at];
	}
	e->mechanism_ns = has_mechanism ? mechanism / (double)e->checkpoint_count : NAN;
	e->activity_ns = has_activity ? activity / (double)e->checkpoint_count : NAN;
}

int tl_thp_find_epochs(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_epoch_row *rows = NULL;
	size_t *checkpoints, count, row_count = 0;
	int ret = find_checkpoints(w, &checkpoints, &count, err);

	if (ret == TL_OK && count >= EPOCHS_MIN && w->model.baseline > 0) {
		int after = reach(checkpoints, count);

		ret = tl_epoch_fold(&rows, &row_count, w->duration, w->n, checkpoints, count,
				    after < BEFORE ? after : BEFORE, after, w->model.baseline,
				    TL_EPOCH_RESAMPLES, err);
	}
	if (ret == TL_OK && row_count) {
		w->out->epochs = tl_alloc(row_count, sizeof(*w->out->epochs), err);
		ret = w->out->epochs ? TL_OK : TL_NOMEM;
	}
	for (size_t i = 0; i < row_count && ret == TL_OK; i++) {
		struct tl_thp_epoch *e = &w->out->epochs[w->out->epoch_count++];

		*e = (struct tl_thp_epoch) { .offset = rows[i].offset,
					     .checkpoint_count = rows[i].count,
					     .ratio = rows[i].ratio,
					     .ratio_low = rows[i].low,
					     .ratio_high = rows[i].high };
		add_means(w, checkpoints, count, e);
	}
	free(rows);
	free(checkpoints);
	return ret;
}
