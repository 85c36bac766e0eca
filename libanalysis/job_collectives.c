/*
 * job_collectives.c - how long the steps of one rank spend in collectives. Knows no other rank. Declared in
 * job_collectives.h.
 */
#include "job_collectives.h"

#include <stdlib.h>

#include "device_work.h"
#include "memory.h"
#include "steps.h"

/* Collectives are of the step that launched them: they may run on into the next one. */
static int sum_collectives(const struct tl_steps_series *s, const struct tl_steps_part *part,
			   const struct tl_device_work *work, int64_t *sums, struct tl_error *err)
{
	int64_t *until = tl_alloc(s->count + 1, sizeof(*until), err);

	if (!until)
		return TL_NOMEM;
	for (size_t i = part->first; i < part->end; i++)
		sums[i] = 0;
	for (size_t d = 0; d < work->device_count; d++) {
		for (size_t i = 0; i < s->count; i++)
			until[i] = INT64_MIN;
		for (size_t i = 0; i < work->devices[d].task_count; i++) {
			const struct tl_device_task *task = &work->devices[d].tasks[i];
			size_t step =
				tl_steps_at(s, task->launch_ns != TL_TIME_UNKNOWN ? task->launch_ns
										  : task->begin_ns);
			int64_t begin = task->begin_ns, span;

			if (step < part->first || step >= part->end)
				continue;
			/* two at once count once: tasks are in order of their begin */
			begin = begin > until[step] ? begin : until[step];
			if (task->end_ns <= begin ||
			    __builtin_sub_overflow(task->end_ns, begin, &span) ||
			    __builtin_add_overflow(sums[step], span, &sums[step]))
				continue;
			until[step] = task->end_ns;
		}
	}
	free(until);
	return TL_OK;
}

static bool is_ordered(const struct tl_steps_series *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->steps[i].has_ts || (i && s->steps[i].ts < s->steps[i - 1].ts))
			return false;
	return true;
}

/* Another file of the same profiler tells nothing of these steps. */
static bool is_other_part(const struct tl_steps_series *s, const struct tl_steps_part *part,
			  int64_t source_id)
{
	for (size_t i = 0; i <= s->more_count; i++)
		if (tl_steps_part(s, i).source_id == source_id)
			return source_id != part->source_id;
	return false;
}

static int load_part(struct tl_store *store, const struct tl_steps_series *s,
		     const struct tl_steps_part *part, int64_t **sums, struct tl_error *err)
{
	struct tl_device_work work;
	int64_t source_id;
	size_t count = 0;
	int ret = tl_device_source(store, part->source_id, s->rank, &source_id, err);

	if (ret < 0 || !source_id || is_other_part(s, part, source_id))
		return ret;
	ret = tl_device_work_load(&work, store, source_id, TL_WORK_COLLECTIVES, err);
	if (ret < 0)
		return ret;
	for (size_t d = 0; d < work.device_count; d++)
		count += work.devices[d].task_count;
	if (count && !*sums) {
		*sums = tl_alloc(s->count + 1, sizeof(**sums), err);
		ret = *sums ? TL_OK : TL_NOMEM;
		for (size_t i = 0; i < s->count && ret == TL_OK; i++)
			(*sums)[i] = TL_COLLECTIVES_UNKNOWN;
	}
	if (count && ret == TL_OK)
		ret = sum_collectives(s, part, &work, *sums, err);
	tl_device_work_release(&work);
	return ret;
}

int tl_job_collectives(struct tl_store *store, const struct tl_steps_series *s, int64_t **sums,
		       struct tl_error *err)
{
	int ret = TL_OK;

	*sums = NULL;
	for (size_t i = 0; is_ordered(s) && i <= s->more_count && ret == TL_OK; i++) {
		const struct tl_steps_part part = tl_steps_part(s, i);

		ret = load_part(store, s, &part, sums, err);
	}
	return ret;
}
