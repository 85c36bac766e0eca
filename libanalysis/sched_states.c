/*
 * sched_states.c - what the scheduler did to one thread, and who had the CPU it waited for.
 *
 * Knows switches and wake-ups, no file they come from; declared in partition.h.
 */
#include "partition.h"

#include <stdlib.h>

#include "memory.h"

/* ---- states ---------------------------------------------------------------------------------- */

struct builder {
	struct tl_sched_interval *intervals;
	size_t count, capacity;
	int64_t begin_ns, end_ns;
	bool is_known;		      /* the state is: an event was seen */
	struct tl_sched_interval now; /* end_ns is open */
};

static enum tl_sched_state state_after(enum tl_switch_state state)
{
	switch (state) {
	case TL_SWITCH_RUNNABLE:
		return TL_SCHED_RUNNABLE;
	case TL_SWITCH_SLEEPING:
		return TL_SCHED_SLEEPING;
	case TL_SWITCH_UNINTERRUPTIBLE:
		return TL_SCHED_UNINTERRUPTIBLE;
	case TL_SWITCH_STOPPED:
		return TL_SCHED_STOPPED;
	case TL_SWITCH_EXITING:
		return TL_SCHED_EXITED;
	case TL_SWITCH_PARKED:
		return TL_SCHED_PARKED;
	case TL_SWITCH_IDLE:
		return TL_SCHED_IDLE;
	case TL_SWITCH_UNKNOWN:
		break;
	}
	return TL_SCHED_OFF;
}

/* Ends the current state at `t` and keeps what of it lies in the window. */
static int end_state(struct builder *b, int64_t t, struct tl_error *err)
{
	struct tl_sched_interval v = b->now;
	int ret;

	v.start_ns = v.start_ns > b->begin_ns ? v.start_ns : b->begin_ns;
	v.end_ns = t < b->end_ns ? t : b->end_ns;
	if (!b->is_known || v.end_ns <= v.start_ns)
		return TL_OK;
	ret = tl_grow(&b->intervals, &b->capacity, b->count + 1, err);
	if (ret == TL_OK)
		b->intervals[b->count++] = v;
	return ret;
}

static int take_event(struct builder *b, const struct tl_sched_event *e, struct tl_error *err)
{
	struct tl_sched_interval next = { .start_ns = e->ts_ns };
	int ret;

	switch (e->kind) {
	case TL_SCHED_IN:
		if (b->is_known && b->now.state == TL_SCHED_RUNNABLE)
			b->now.cpu = e->cpu; /* the wake-up only guessed */
		next.state = TL_SCHED_RUNNING;
		next.cpu = e->cpu;
		break;
	case TL_SCHED_OUT:
		next.state = state_after(e->state);
		next.cpu = b->is_known ? b->now.cpu : -1;
		break;
	case TL_SCHED_WAKE:
		if (b->is_known &&
		    (b->now.state == TL_SCHED_RUNNING || b->now.state == TL_SCHED_RUNNABLE))
			return TL_OK;
		next.state = TL_SCHED_RUNNABLE;
		next.cpu = e->cpu;
		break;
	}
	ret = end_state(b, e->ts_ns, err);
	b->now = next;
	b->is_known = true;
	return ret;
}

int tl_sched_intervals(struct tl_sched_interval **out, size_t *count,
		       const struct tl_sched_event *events, size_t event_count, int64_t begin_ns,
		       int64_t end_ns, struct tl_error *err)
{
	struct builder b = { .begin_ns = begin_ns, .end_ns = end_ns };
	int64_t length;
	int ret = TL_OK;

	*out = NULL;
	*count = 0;
	if (begin_ns > end_ns || __builtin_sub_overflow(end_ns, begin_ns, &length))
		return tl_fail(err, TL_USAGE, "window from %lld ns to %lld ns is not a time",
			       (long long)begin_ns, (long long)end_ns);
	for (size_t i = 0; i < event_count && ret == TL_OK; i++) {
		if (i && events[i].ts_ns < events[i - 1].ts_ns)
			ret = tl_fail(err, TL_USAGE,
				      "scheduler event %zu at %lld ns is before the one it follows",
				      i, (long long)events[i].ts_ns);
		else
			ret = take_event(&b, &events[i], err);
	}
	if (ret == TL_OK)
		ret = end_state(&b, end_ns, err);
	if (ret < 0) {
		free(b.intervals);
		b = (struct builder) { 0 };
	}
	*out = b.intervals;
	*count = b.count;
	return ret;
}

/* ---- stolen time ------------------------------------------------------------------------------ */

struct run {
	struct tl_cpu_run run;
	int64_t latest_end_ns; /* of this and all earlier ones on the CPU: runs might overlap */
};

static int compare_runs(const void *a, const void *b)
{
	const struct tl_cpu_run *x = &((const struct run *)a)->run;
	const struct tl_cpu_run *y = &((const struct run *)b)->run;

	if (x->cpu != y->cpu)
		return x->cpu > y->cpu ? 1 : -1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The first run on `cpu` that, or a later one than which, may reach beyond t. */
static size_t first_reaching(const struct run *runs, size_t count, int32_t cpu, int64_t t)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct run *r = &runs[middle];

		if (r->run.cpu > cpu || (r->run.cpu == cpu && r->latest_end_ns > t))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int add_stolen(int64_t *sum_ns, const struct tl_sched_interval *wait, const struct run *runs,
		      size_t count, struct tl_error *err)
{
	size_t i = first_reaching(runs, count, wait->cpu, wait->start_ns);

	for (; i < count; i++) {
		const struct tl_cpu_run *r = &runs[i].run;
		int64_t start = r->start_ns > wait->start_ns ? r->start_ns : wait->start_ns;
		int64_t end = r->end_ns < wait->end_ns ? r->end_ns : wait->end_ns;

		if (r->cpu != wait->cpu || r->start_ns >= wait->end_ns)
			break;
		if (end > start &&
		    __builtin_add_overflow(sum_ns[r->label], end - start, &sum_ns[r->label]))
			return tl_fail(err, TL_USAGE, "runs on CPU %d overlap without end", r->cpu);
	}
	return TL_OK;
}

static int sort_runs(struct run *sorted, size_t label_count, const struct tl_cpu_run *runs,
		     size_t count, struct tl_error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (runs[i].label >= label_count)
			return tl_fail(err, TL_USAGE, "label %u, expected less than %zu",
				       runs[i].label, label_count);
		sorted[i].run = runs[i];
	}
	if (count > 1)
		qsort(sorted, count, sizeof(*sorted), compare_runs);
	for (size_t i = 0; i < count; i++) {
		sorted[i].latest_end_ns = sorted[i].run.end_ns;
		if (i && sorted[i - 1].run.cpu == sorted[i].run.cpu &&
		    sorted[i - 1].latest_end_ns > sorted[i].latest_end_ns)
			sorted[i].latest_end_ns = sorted[i - 1].latest_end_ns;
	}
	return TL_OK;
}

int tl_stolen_time(int64_t *sum_ns, size_t label_count, const struct tl_sched_interval *waits,
		   size_t wait_count, const struct tl_cpu_run *runs, size_t run_count,
		   struct tl_error *err)
{
	struct run *sorted = tl_alloc(run_count, sizeof(*sorted), err);
	int ret;

	if (!sorted)
		return TL_NOMEM;
	ret = sort_runs(sorted, label_count, runs, run_count, err);
	for (size_t i = 0; ret == TL_OK && i < wait_count; i++) {
		if (waits[i].state == TL_SCHED_RUNNABLE)
			ret = add_stolen(sum_ns, &waits[i], sorted, run_count, err);
	}
	free(sorted);
	return ret;
}
