/*
 * syscalls_judge.c - which calls took much longer than is usual for them. What is usual is learnt
 * from good steps; without steps from the calls before they became slow, or from all of them; and
 * where a thread has few of a call that does not wait, from those of all threads.
 */
#include "syscalls.h"

#include <stdlib.h>
#include <string.h>

#include "latency_episodes.h"

#define FREQUENT_CALLS 5u      /* slow ones: fewer are no mode */
#define FREQUENT_RATIO 10.0    /* median of the slow mode against that of all calls */
#define POOL_FLOOR_NS  5000000 /* a single call of some milliseconds may be the tracer's doing */

/* ---- judging ------------------------------------------------------------------------------------ */

static void count_outliers(struct tl_syscall_outlier *o, const int64_t *ns, size_t n)
{
	o->judged_count = n;
	for (size_t i = 0; i < n; i++) {
		int64_t excess = ns[i] - (int64_t)o->median_ns;

		o->max_ns = ns[i] > o->max_ns ? ns[i] : o->max_ns;
		if ((double)ns[i] <= o->threshold_ns)
			continue;
		o->outlier_count++;
		if (excess > 0 && __builtin_add_overflow(o->cost_ns, excess, &o->cost_ns))
			o->cost_ns = INT64_MAX;
	}
}

/* Begins of calls by number, ascending, of those that were learnt from. False: not all are known. */
static int find_begins(struct tl_syscall_question *q, const struct tl_call_judgement *j,
		       const size_t *at, size_t at_count, int64_t *ts, bool *are_known,
		       struct tl_error *err)
{
	struct tl_call_entry *calls = tl_alloc(TL_CALL_BLOCK_MAX, sizeof(*calls), err);
	int ret = calls ? TL_OK : TL_NOMEM;
	size_t number = 0, found = 0;

	*are_known = true;
	for (size_t i = 0; i < j->part_count && ret == TL_OK && found < at_count; i++) {
		uint32_t count = 0;

		ret = tl_syscalls_read(q, &j->parts[i], calls, &count, NULL, err);
		for (uint32_t k = 0; k < count && ret == TL_OK && found < at_count; k++) {
			if (calls[k].duration_ns < 0 || calls[k].flags & TL_CALL_TIMER ||
			    number++ != at[found])
				continue;
			*are_known &= j->parts[i].block.has_times;
			ts[found++] = calls[k].ts;
		}
	}
	*are_known &= found == at_count;
	free(calls);
	return ret;
}

/* Threshold and median from n calls; reorders them. */
static int learn(struct tl_syscall_outlier *o, int64_t *ns, size_t n, double floor_ns,
		 struct tl_latency_threshold *threshold, struct tl_error *err)
{
	static const double half = 0.5;
	int ret = tl_latency_threshold(threshold, ns, n, floor_ns, err);

	if (ret < 0)
		return ret;
	o->threshold_ns = threshold->threshold_ns;
	o->learnt_count = n;
	o->median_ns = 0;
	if (n)
		tl_latency_quantiles(&o->median_ns, &half, 1, ns, n);
	return TL_OK;
}

static int64_t longest_ns(const struct tl_call_judgement *j)
{
	return j->longest.count ? j->longest.calls[0].duration_ns : 0;
}

/* ---- few calls: those of all threads together --------------------------------------------------- */

struct tl_few {
	size_t thread;
	int64_t name_id, operation_id;
	uint8_t kind;
	struct tl_long_call calls[TL_FEW_CALLS];
	size_t count;
};

static int keep_few(struct tl_syscall_question *q, const struct tl_call_judgement *j,
		    struct tl_error *err)
{
	int ret = tl_grow(&q->fews, &q->few_capacity, q->few_count + 1, err);
	struct tl_few *few;

	if (ret < 0)
		return ret;
	few = &q->fews[q->few_count++];
	*few = (struct tl_few) { .thread = j->thread,
				 .name_id = j->name_id,
				 .operation_id = j->operation_id,
				 .kind = j->kind,
				 .count = j->longest.count };
	memcpy(few->calls, j->longest.calls, few->count * sizeof(*few->calls));
	return TL_OK;
}

/* ---- one group ----------------------------------------------------------------------------------- */

static int name_outlier(struct tl_syscall_question *q, struct tl_syscall_outlier *o, size_t thread,
			int64_t name_id, int64_t operation_id, const int64_t *ns, size_t n,
			const struct tl_longest *longest, struct tl_error *err)
{
	int ret = tl_syscalls_text(q, name_id, &o->name, NULL, err);

	if (ret == TL_OK)
		ret = tl_syscalls_text(q, operation_id, &o->operation, NULL, err);
	if (ret == TL_OK)
		ret = tl_syscalls_buckets(q, ns, n, &o->buckets, &o->first_bucket, &o->bucket_count,
					  err);
	if (ret == TL_OK)
		ret = tl_syscalls_list(q, q->threads[thread].thread_id, name_id, longest,
				       o->threshold_ns, &o->longest, &o->longest_count, err);
	return ret;
}

/* Waits for other threads of the same program, not for what comes from outside. */
static int is_lock(struct tl_syscall_question *q, const struct tl_call_judgement *j, bool *is_lock,
		   struct tl_error *err)
{
	const char *operation;
	int ret = tl_syscalls_text(q, j->operation_id, &operation, NULL, err);

	*is_lock = ret == TL_OK && operation && !strncmp(operation, "FUTEX_", 6);
	return ret;
}

/* From the calls in usual times only; those that were not are found by the cut. */
static int learn_usual(struct tl_syscall_outlier *o, const struct tl_call_judgement *j,
		       const struct tl_latency_episodes *e, struct tl_error *err)
{
	int64_t *usual = tl_alloc(j->learn.count, sizeof(*usual), err);
	struct tl_latency_threshold threshold;
	size_t n = 0;
	int ret;

	if (!usual)
		return TL_NOMEM;
	for (size_t i = 0; i < e->usual_count; i++)
		for (size_t k = e->usual[i].begin; k < e->usual[i].end; k++)
			usual[n++] = j->learn.ns[k];
	ret = learn(o, usual, n, TL_LATENCY_FLOOR_NS, &threshold, err);
	free(usual);
	/* modes may run into each other there; that slower ones are frequent later tells them */
	if (ret == TL_OK && o->threshold_ns > (double)e->cut_ns)
		o->threshold_ns = (double)e->cut_ns;
	o->learnt = TL_LEARNT_BEFORE;
	o->episode_count = (uint32_t)e->slow_count;
	return ret;
}

static int date_episodes(struct tl_syscall_question *q, const struct tl_call_judgement *j,
			 const struct tl_latency_episodes *e, struct tl_syscall_outlier *o,
			 struct tl_error *err)
{
	const size_t at[2] = { e->slow[0].begin, e->slow[e->slow_count - 1].end };
	bool has_end = at[1] < j->learn.count, are_known = false;
	int64_t ts[2] = { 0 };
	int ret = find_begins(q, j, at, has_end ? 2 : 1, ts, &are_known, err);

	o->has_since = are_known;
	o->since_ns = ts[0];
	o->has_until = are_known && has_end;
	o->until_ns = ts[1];
	return ret;
}

/*
 * A mode of slow calls that holds too many of them to be told from what is usual, though most calls
 * are much faster.
 */
static bool is_frequent(struct tl_syscall_outlier *o, const struct tl_durations *judged,
			const struct tl_latency_threshold *threshold)
{
	int64_t from_ns = tl_latency_bin_begin(threshold->normal.first_bin);

	from_ns = from_ns > TL_LATENCY_FLOOR_NS ? from_ns : TL_LATENCY_FLOOR_NS;
	if (threshold->normal.count < FREQUENT_CALLS ||
	    threshold->normal_median_ns < (double)from_ns ||
	    threshold->normal_median_ns < FREQUENT_RATIO * o->median_ns)
		return false;
	o->doubt = TL_DOUBT_FREQUENT;
	o->threshold_ns = (double)from_ns - 1;
	count_outliers(o, judged->ns, judged->count);
	return o->outlier_count > 0;
}

/* By the threshold learnt from all calls that there are to learn from. */
static int judge_by_all(const struct tl_call_judgement *j, const struct tl_durations *judged,
			bool is_outside, struct tl_syscall_outlier *o, bool *is_found,
			struct tl_error *err)
{
	struct tl_latency_threshold threshold;
	int ret = learn(o, j->learn.ns, j->learn.count, TL_LATENCY_FLOOR_NS, &threshold, err);

	if (ret < 0)
		return ret;
	count_outliers(o, judged->ns, judged->count);
	*is_found = o->outlier_count > 0;
	if (!*is_found && !is_outside)
		*is_found = is_frequent(o, judged, &threshold);
	return TL_OK;
}

static int judge_by_episodes(struct tl_syscall_question *q, const struct tl_call_judgement *j,
			     const struct tl_durations *judged, const struct tl_latency_episodes *e,
			     bool is_outside, struct tl_syscall_outlier *o, bool *is_found,
			     struct tl_error *err)
{
	int ret = learn_usual(o, j, e, err);

	if (ret == TL_OK)
		ret = date_episodes(q, j, e, o, err);
	if (ret < 0)
		return ret;
	o->doubt = is_outside ? TL_DOUBT_OUTSIDE : TL_DOUBT_NONE;
	count_outliers(o, judged->ns, judged->count);
	*is_found = o->outlier_count > 0;
	return TL_OK;
}

int tl_syscalls_judge(struct tl_syscall_question *q, struct tl_call_judgement *j,
		      struct tl_syscall_outlier *found, bool *is_found, struct tl_error *err)
{
	const struct tl_durations *judged = j->is_same ? &j->learn : &j->judged;
	struct tl_latency_episodes episodes = { 0 };
	struct tl_syscall_outlier grown = { .kind = j->kind };
	bool is_of_lock, is_outside, has_grown = false;
	int ret;

	*is_found = false;
	if (longest_ns(j) <= TL_LATENCY_FLOOR_NS)
		return TL_OK;
	if (j->learn.count < TL_FEW_CALLS && !j->is_wait && judged->count <= TL_FEW_CALLS)
		return keep_few(q, j, err);
	*found = (struct tl_syscall_outlier) { .kind = j->kind,
					       .learnt = q->has_good ? TL_LEARNT_GOOD
								     : TL_LEARNT_ALL };
	ret = is_lock(q, j, &is_of_lock, err);
	is_outside = j->is_wait && !is_of_lock;
	j->is_lock = j->is_wait && is_of_lock;
	if (ret == TL_OK && !q->has_good)
		ret = tl_latency_episodes(&episodes, j->learn.ns, j->learn.count, err);
	if (ret == TL_OK && episodes.slow_count)
		ret = judge_by_episodes(q, j, judged, &episodes, is_outside, &grown, &has_grown,
					err);
	/* what comes from outside may come more rarely without anything being wrong */
	if (ret == TL_OK && (!has_grown || is_outside))
		ret = judge_by_all(j, judged, is_outside, found, is_found, err);
	if (ret == TL_OK && !*is_found && has_grown) {
		*found = grown;
		*is_found = true;
	}
	if (ret < 0 || !*is_found)
		return ret;
	return name_outlier(q, found, j->thread, j->name_id, j->operation_id, judged->ns,
			    judged->count, &j->longest, err);
}

static int by_call(const void *left, const void *right)
{
	const struct tl_few *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->name_id != b->name_id)
		return a->name_id < b->name_id ? -1 : 1;
	if (a->operation_id != b->operation_id)
		return a->operation_id < b->operation_id ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Calls of all threads, as far as is learnt from them. */
static int gather(struct tl_syscall_question *q, const struct tl_few *few,
		  struct tl_durations *learnt, struct tl_error *err)
{
	struct tl_call_entry *calls = tl_alloc(TL_CALL_BLOCK_MAX, sizeof(*calls), err);
	int ret = calls ? TL_OK : TL_NOMEM;

	learnt->count = 0;
	for (size_t i = 0; i < q->part_count && ret == TL_OK; i++) {
		const struct tl_call_block *b = &q->parts[i].block;
		uint32_t count = 0;

		if (b->key.name_id != few->name_id || b->key.operation_id != few->operation_id ||
		    b->key.kind != few->kind || b->key.is_wait)
			continue;
		ret = tl_syscalls_read(q, &q->parts[i], calls, &count, NULL, err);
		if (ret == TL_OK)
			ret = tl_grow(&learnt->ns, &learnt->capacity, learnt->count + count, err);
		for (uint32_t k = 0; k < count && ret == TL_OK; k++)
			if (calls[k].duration_ns >= 0 && !(calls[k].flags & TL_CALL_TIMER) &&
			    (!q->has_good ||
			     (b->has_times && tl_ranges_contain(&q->good_steps, calls[k].ts))))
				learnt->ns[learnt->count++] = calls[k].duration_ns;
	}
	free(calls);
	return ret;
}

static int judge_few(struct tl_syscall_question *q, const struct tl_few *few,
		     const struct tl_syscall_outlier *usual, struct tl_error *err)
{
	struct tl_syscall_outlier o = *usual;
	struct tl_longest longest = { .limit = TL_FEW_CALLS };
	int64_t ns[TL_FEW_CALLS];
	int ret;

	for (size_t i = 0; i < few->count; i++) {
		ns[i] = few->calls[i].duration_ns;
		tl_longest_add(&longest, &few->calls[i]);
	}
	count_outliers(&o, ns, few->count);
	if (!o.outlier_count)
		return TL_OK;
	ret = tl_syscalls_use_thread(q, few->thread, &o.thread, err);
	if (ret == TL_OK)
		ret = name_outlier(q, &o, few->thread, few->name_id, few->operation_id, ns,
				   few->count, &longest, err);
	if (ret == TL_OK)
		ret = tl_grow(&q->out->outliers, &q->outlier_capacity, q->out->outlier_count + 1,
			      err);
	if (ret == TL_OK)
		q->out->outliers[q->out->outlier_count++] = o;
	return ret;
}

int tl_syscalls_judge_fews(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_durations learnt = { 0 };
	struct tl_latency_threshold threshold;
	struct tl_syscall_outlier usual;
	int ret = TL_OK;

	if (q->few_count)
		qsort(q->fews, q->few_count, sizeof(*q->fews), by_call);
	for (size_t i = 0; i < q->few_count && ret == TL_OK; i++) {
		const struct tl_few *few = &q->fews[i], *before = i ? &q->fews[i - 1] : NULL;

		if (!before || before->kind != few->kind || before->name_id != few->name_id ||
		    before->operation_id != few->operation_id) {
			usual = (struct tl_syscall_outlier) { .kind = few->kind,
							      .learnt = TL_LEARNT_POOL };
			ret = gather(q, few, &learnt, err);
			if (ret == TL_OK)
				ret = learn(&usual, learnt.ns, learnt.count, POOL_FLOOR_NS,
					    &threshold, err);
		}
		if (ret == TL_OK)
			ret = judge_few(q, few, &usual, err);
	}
	free(learnt.ns);
	return ret;
}

void tl_syscalls_release_fews(struct tl_syscall_question *q)
{
	free(q->fews);
}
