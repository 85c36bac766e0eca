/*
 * syscalls_walk.c - walks the blocks of a case thread by thread, sums up what each call took, and hands
 * the durations of each operation to the judge.
 *
 * Memory holds the calls of one thread and name at a time.
 */
#include "syscalls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOREIGN_RATIO 0.1 /* of its time: what an idle thread waited less for it does not idle in */

#define COARSE_NS  1000000 /* units of time from here on are told apart from lives of threads */
#define LIFE_UNITS 20	   /* a life of fewer is not known well enough to be a divisor */

static const double quantile_p[TL_SYSCALL_QUANTILES] = { 0.5, 0.9, 0.99, 0.999 };

static int push(struct tl_durations *d, int64_t ns, struct tl_error *err)
{
	int ret = d->count < d->capacity ? TL_OK : tl_grow(&d->ns, &d->capacity, d->count + 1, err);

	if (ret == TL_OK)
		d->ns[d->count++] = ns;
	return ret;
}

/* Longest first; of equals the earliest. */
static bool is_longer(const struct tl_long_call *a, const struct tl_long_call *b)
{
	return a->duration_ns != b->duration_ns ? a->duration_ns > b->duration_ns : a->ts < b->ts;
}

void tl_longest_add(struct tl_longest *l, const struct tl_long_call *call)
{
	uint32_t i;

	if (l->count == l->limit) {
		if (!l->limit || !is_longer(call, &l->calls[l->count - 1]))
			return;
		l->count--;
	}
	for (i = l->count; i > 0 && is_longer(call, &l->calls[i - 1]); i--)
		l->calls[i] = l->calls[i - 1];
	l->calls[i] = *call;
	l->count++;
}

int tl_syscalls_buckets(struct tl_syscall_question *q, const int64_t *ns, size_t n,
			const uint64_t **buckets, uint32_t *first, uint32_t *count,
			struct tl_error *err)
{
	uint64_t all[64] = { 0 }, *kept;
	uint32_t begin = 0, end = 64;
	int ret = tl_latency_histogram(all, ns, n, err);

	if (ret < 0 || !n)
		return ret;
	while (!all[begin])
		begin++;
	while (!all[end - 1])
		end--;
	kept = tl_arena_alloc(q->arena, (end - begin) * sizeof(*kept), err);
	if (!kept)
		return TL_NOMEM;
	memcpy(kept, all + begin, (end - begin) * sizeof(*kept));
	*buckets = kept;
	*first = begin;
	*count = end - begin;
	return TL_OK;
}

/* ---- one thread and name ---------------------------------------------------------------------- */

struct walk {
	struct tl_syscall_question *q;
	struct tl_call_entry *calls; /* of one block */
	struct tl_durations timed;   /* what was asked for, of one thread and name */
	struct tl_syscall_sum sum;
	struct tl_longest longest;
	int64_t inside_ns;
	struct tl_call_judgement judgement;
	struct tl_ranges waits; /* of a thread with library calls: they are around others */
	bool is_nested;
	/* of the thread at hand, until it is known whether it is idle */
	struct candidate {
		struct tl_syscall_outlier outlier;
		int64_t name_id, operation_id, total_ns;
		bool is_wait, is_lock;
		bool is_foreign; /* a lock that is not what its idle thread idles in */
	} * candidates;
	size_t candidate_count, candidate_capacity;
	struct wait {
		int64_t name_id, operation_id, total_ns, timer_ns;
		uint64_t count, timer_count;
	} * waiting;
	size_t wait_count, wait_capacity;
};

static void note_life(struct tl_call_thread *thread, const struct tl_call_entry *call)
{
	int64_t end = call->ts;

	if (call->duration_ns > 0 && __builtin_add_overflow(call->ts, call->duration_ns, &end))
		end = INT64_MAX;
	if (!thread->has_life || call->ts < thread->begin_ns)
		thread->begin_ns = call->ts;
	if (!thread->has_life || end > thread->end_ns)
		thread->end_ns = end;
	thread->has_life = true;
	if (!thread->has_ended || call->ts > thread->last_begin_ns)
		thread->last_begin_ns = call->ts;
	thread->has_ended = true;
}

static void note_source(struct tl_call_source *source, const struct tl_call_block *block,
			const struct tl_call_entry *call)
{
	source->answer.call_count++;
	source->answer.derived_count += block->key.timing == TL_CALL_DERIVED;
	source->answer.untimed_count += block->key.timing == TL_CALL_UNTIMED;
	if (block->key.timing == TL_CALL_MEASURED &&
	    (source->answer.min_ns < 0 || call->duration_ns < source->answer.min_ns))
		source->answer.min_ns = call->duration_ns;
}

/* One call that was asked for, into the sum of its thread and name. */
static int add_to_sum(struct walk *w, const struct tl_call_block *block,
		      const struct tl_call_entry *call, struct tl_error *err)
{
	struct tl_syscalls *out = w->q->out;
	const struct tl_long_call one = { .duration_ns = call->duration_ns,
					  .ts = block->has_times ? call->ts : 0,
					  .operation_id = block->key.operation_id,
					  .has_ts = block->has_times };
	bool is_timer = call->flags & TL_CALL_TIMER;
	int64_t end = call->ts;

	w->sum.call_count++;
	w->sum.error_count += call->flags & TL_CALL_ERROR;
	w->sum.timer_count += is_timer;
	w->judgement.count++;
	if (call->duration_ns > 0 && __builtin_add_overflow(call->ts, call->duration_ns, &end))
		end = INT64_MAX;
	if (block->has_times) {
		if (!out->has_times || call->ts < out->begin_ns)
			out->begin_ns = call->ts;
		if (!out->has_times || end > out->end_ns)
			out->end_ns = end;
		out->has_times = true;
	}
	if (call->duration_ns < 0)
		return TL_OK;
	tl_longest_add(&w->longest, &one);
	if (__builtin_add_overflow(w->sum.total_ns, call->duration_ns, &w->sum.total_ns))
		w->sum.total_ns = INT64_MAX;
	w->inside_ns += w->q->has_asked ? tl_ranges_inside_ns(&w->q->asked, call->ts, end)
					: call->duration_ns;
	w->judgement.total_ns += call->duration_ns;
	w->judgement.timer_count += is_timer;
	w->judgement.timer_ns += is_timer ? call->duration_ns : 0;
	return push(&w->timed, call->duration_ns, err);
}

/* Is it among the calls from which is learnt what is usual? */
static bool is_learnt_from(const struct tl_syscall_question *q, const struct tl_call_block *block,
			   const struct tl_call_entry *call)
{
	if (call->duration_ns < 0 || call->flags & TL_CALL_TIMER)
		return false;
	return !q->has_good || (block->has_times && tl_ranges_contain(&q->good_steps, call->ts));
}

static bool is_judged(const struct tl_syscall_question *q, const struct tl_call_block *block,
		      const struct tl_call_entry *call)
{
	if (call->duration_ns < 0 || call->flags & TL_CALL_TIMER)
		return false;
	return !q->is_in_steps || (block->has_times && tl_ranges_contain(&q->judged, call->ts));
}

static void add_ns(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = INT64_MAX;
}

/* What the thread did of its time. */
static int add_to_life(struct walk *w, const struct tl_call_block *block,
		       const struct tl_call_entry *call, struct tl_error *err)
{
	struct tl_call_thread *thread = &w->q->threads[w->judgement.thread];
	int64_t end;

	if (!w->is_nested) {
		add_ns(&thread->busy_ns, call->duration_ns);
		add_ns(&thread->wait_ns, block->key.is_wait ? call->duration_ns : 0);
		return TL_OK;
	}
	if (!block->key.is_wait || !block->has_times)
		return TL_OK;
	if (__builtin_add_overflow(call->ts, call->duration_ns, &end))
		end = INT64_MAX;
	return tl_ranges_add(&w->waits, call->ts, end, err);
}

static int add_call(struct walk *w, const struct tl_call_block *block,
		    const struct tl_call_entry *call, bool is_wanted, struct tl_error *err)
{
	struct tl_call_judgement *j = &w->judgement;
	struct tl_syscall_question *q = w->q;
	bool is_asked = is_wanted && tl_syscalls_is_asked(q, block, call);
	int ret = TL_OK;

	if (block->has_times)
		note_life(&q->threads[j->thread], call);
	if (call->duration_ns > j->max_ns)
		j->max_ns = call->duration_ns;
	if (call->duration_ns > 0)
		ret = add_to_life(w, block, call, err);
	if (!is_asked)
		q->out->outside_count += is_wanted;
	else if (ret == TL_OK)
		ret = add_to_sum(w, block, call, err);
	if (ret == TL_OK && is_wanted && is_learnt_from(q, block, call))
		ret = push(&j->learn, call->duration_ns, err);
	if (ret == TL_OK && is_asked && is_judged(q, block, call)) {
		const struct tl_long_call one = { .duration_ns = call->duration_ns,
						  .ts = block->has_times ? call->ts : 0,
						  .operation_id = block->key.operation_id,
						  .has_ts = block->has_times };

		tl_longest_add(&j->longest, &one);
		if (!j->is_same)
			ret = push(&j->judged, call->duration_ns, err);
	}
	return ret;
}

static int add_part(struct walk *w, const struct tl_call_part *part, bool is_wanted,
		    struct tl_error *err)
{
	struct tl_call_source *source = tl_syscalls_source(w->q, part->source_id);
	uint64_t left_out = 0;
	uint32_t count;
	int ret = tl_syscalls_read(w->q, part, w->calls, &count, &left_out, err);

	if (ret == TL_OK && source)
		source->answer.left_out_count += left_out;
	if (source && source->answer.time_unit_ns > w->q->threads[w->judgement.thread].time_unit_ns)
		w->q->threads[w->judgement.thread].time_unit_ns = source->answer.time_unit_ns;
	for (uint32_t i = 0; i < count && ret == TL_OK; i++) {
		if (source && is_wanted)
			note_source(source, &part->block, &w->calls[i]);
		ret = add_call(w, &part->block, &w->calls[i], is_wanted, err);
	}
	return ret;
}

/* ---- one thread, name and operation ------------------------------------------------------------ */

static void begin_judgement(struct walk *w, const struct tl_call_part *parts)
{
	const struct tl_call_key *key = &parts->block.key;
	const struct tl_syscall_question *q = w->q;
	struct tl_call_judgement *j = &w->judgement;

	j->name_id = key->name_id;
	j->operation_id = key->operation_id;
	j->kind = key->kind;
	j->is_wait = key->is_wait;
	j->parts = parts;
	j->part_count = 0;
	j->learn.count = j->judged.count = 0;
	j->is_same = !q->has_good && !q->has_asked && !q->opt->errors_only && !q->opt->min_ns;
	j->longest =
		(struct tl_longest) { .limit = w->longest.limit > TL_FEW_CALLS ? w->longest.limit
									       : TL_FEW_CALLS };
	j->is_lock = false;
	j->max_ns = -1;
	j->timer_count = j->count = 0;
	j->timer_ns = j->total_ns = 0;
}

static int note_outlier(struct walk *w, struct tl_error *err)
{
	struct tl_call_judgement *j = &w->judgement;
	struct candidate found = { .name_id = j->name_id,
				   .operation_id = j->operation_id,
				   .is_wait = j->is_wait };
	bool is_found;
	int ret = tl_syscalls_judge(w->q, j, &found.outlier, &is_found, err);

	if (ret < 0 || !is_found)
		return ret;
	found.total_ns = j->total_ns;
	found.is_lock = j->is_lock;
	ret = tl_grow(&w->candidates, &w->candidate_capacity, w->candidate_count + 1, err);
	if (ret == TL_OK)
		w->candidates[w->candidate_count++] = found;
	return ret;
}

static int note_wait(struct walk *w, struct tl_error *err)
{
	const struct tl_call_judgement *j = &w->judgement;
	int ret;

	if (!j->is_wait || !j->count)
		return TL_OK;
	ret = tl_grow(&w->waiting, &w->wait_capacity, w->wait_count + 1, err);
	if (ret == TL_OK)
		w->waiting[w->wait_count++] = (struct wait) { .name_id = j->name_id,
							      .operation_id = j->operation_id,
							      .count = j->count,
							      .timer_count = j->timer_count,
							      .total_ns = j->total_ns,
							      .timer_ns = j->timer_ns };
	return ret;
}

static bool is_same_operation(const struct tl_call_part *a, const struct tl_call_part *b)
{
	return a->block.key.operation_id == b->block.key.operation_id &&
	       a->block.key.is_wait == b->block.key.is_wait;
}

static int walk_operation(struct walk *w, const struct tl_call_part *parts, size_t count,
			  bool is_wanted, struct tl_error *err)
{
	int ret = TL_OK;

	begin_judgement(w, parts);
	w->judgement.part_count = count;
	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = add_part(w, &parts[i], is_wanted, err);
	tl_syscalls_note_ended(w->q, &w->judgement);
	w->sum.idle_ns += w->judgement.timer_ns; /* more if the thread turns out to be idle */
	w->sum.wait_ns += w->judgement.is_wait ? w->judgement.total_ns : 0;
	if (ret == TL_OK)
		ret = note_wait(w, err);
	if (ret == TL_OK && is_wanted)
		ret = note_outlier(w, err);
	return ret;
}

/* ---- one thread and name ------------------------------------------------------------------------ */

static int finish_sum(struct walk *w, const struct tl_call_key *key, struct tl_error *err)
{
	struct tl_syscall_question *q = w->q;
	struct tl_syscall_sum *sum = &w->sum;
	size_t n = w->timed.count;
	int ret = tl_syscalls_use_thread(q, w->judgement.thread, &sum->thread, err);

	sum->timed_count = n;
	sum->min_ns = n ? w->timed.ns[0] : 0;
	sum->max_ns = w->longest.count ? w->longest.calls[0].duration_ns : 0;
	for (size_t i = 0; i < n; i++) {
		sum->min_ns = w->timed.ns[i] < sum->min_ns ? w->timed.ns[i] : sum->min_ns;
		sum->max_ns = w->timed.ns[i] > sum->max_ns ? w->timed.ns[i] : sum->max_ns;
	}
	if (ret == TL_OK)
		ret = tl_syscalls_buckets(q, w->timed.ns, n, &sum->buckets, &sum->first_bucket,
					  &sum->bucket_count, err);
	if (ret == TL_OK)
		ret = tl_syscalls_list(q, key->thread_id, key->name_id, &w->longest, -1,
				       &sum->longest, &sum->longest_count, err);
	tl_latency_quantiles(sum->quantile_ns, quantile_p, TL_SYSCALL_QUANTILES, w->timed.ns, n);
	sum->share_ratio = (double)w->inside_ns; /* until the thread's time is known */
	if (ret == TL_OK)
		ret = tl_grow(&q->out->sums, &q->sum_capacity, q->out->sum_count + 1, err);
	if (ret < 0)
		return ret;
	q->out->call_count += sum->call_count;
	q->out->error_count += sum->error_count;
	q->out->sums[q->out->sum_count++] = *sum;
	return TL_OK;
}

static int walk_name(struct walk *w, const struct tl_call_part *parts, size_t count,
		     struct tl_error *err)
{
	const struct tl_call_key *key = &parts->block.key;
	bool is_wanted = true;
	int ret;

	w->sum = (struct tl_syscall_sum) { .kind = key->kind };
	w->longest = (struct tl_longest) { .limit = w->longest.limit };
	w->timed.count = 0;
	w->inside_ns = 0;
	ret = tl_syscalls_text(w->q, key->name_id, &w->sum.name, &is_wanted, err);
	for (size_t begin = 0, end; begin < count && ret == TL_OK; begin = end) {
		for (end = begin + 1; end < count && is_same_operation(&parts[begin], &parts[end]);)
			end++;
		ret = walk_operation(w, parts + begin, end - begin, is_wanted, err);
	}
	return ret == TL_OK && w->sum.call_count ? finish_sum(w, key, err) : ret;
}

/* ---- one thread --------------------------------------------------------------------------------- */

/* How much of the time before its calls became slow the thread waited, and in them. */
static int wait_ratio_before(struct walk *w, const struct tl_call_part *parts, size_t count,
			     const struct candidate *candidate, double *ratio, double *own_ratio,
			     struct tl_error *err)
{
	const struct tl_call_thread *thread = &w->q->threads[w->judgement.thread];
	int64_t until = candidate->outlier.since_ns;
	double waited = 0, own = 0, life = (double)until - (double)thread->begin_ns;
	int ret = TL_OK;

	if (w->is_nested)
		waited = (double)tl_ranges_inside_ns(&w->waits, thread->begin_ns, until);

	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		const struct tl_call_key *key = &parts[i].block.key;
		bool is_own = key->name_id == candidate->name_id &&
			      key->operation_id == candidate->operation_id;
		uint32_t n = 0;

		if (!key->is_wait || parts[i].block.first_ts >= until)
			continue;
		ret = tl_syscalls_read(w->q, &parts[i], w->calls, &n, NULL, err);
		for (uint32_t k = 0; k < n && ret == TL_OK; k++)
			if (w->calls[k].ts < until && w->calls[k].duration_ns > 0) {
				waited += w->is_nested ? 0 : (double)w->calls[k].duration_ns;
				own += is_own ? (double)w->calls[k].duration_ns : 0;
			}
	}
	*ratio = life > 0 ? waited / life : 1;
	*own_ratio = life > 0 ? own / life : 1;
	return ret;
}

/*
 * A thread is idle if it waits for nearly all of its time. One that began to wait so much when its
 * locks became slow is not: it is the victim. Like what is usual, that is judged by the time before.
 * An event loop may be idle all the time; a lock that it hardly waited for is not what it idles in.
 */
static int judge_idle(struct walk *w, const struct tl_call_part *parts, size_t count,
		      double wait_ratio, bool *is_idle, struct tl_error *err)
{
	const struct tl_call_thread *thread = &w->q->threads[w->judgement.thread];
	int ret = TL_OK;

	*is_idle = wait_ratio >= TL_IDLE_RATIO && !thread->is_step_thread;
	for (size_t i = 0; i < w->candidate_count && *is_idle && ret == TL_OK; i++) {
		struct candidate *candidate = &w->candidates[i];
		double before, own;

		if (!candidate->outlier.has_since || !candidate->is_lock)
			continue;
		ret = wait_ratio_before(w, parts, count, candidate, &before, &own, err);
		*is_idle = before >= TL_IDLE_RATIO;
		candidate->is_foreign = own < FOREIGN_RATIO;
	}
	return ret;
}

/* `is_known`: whether the thread idles. Else its waits may be idle ones, but for locks. */
static int keep_outliers(struct walk *w, bool is_idle, bool is_known, struct tl_error *err)
{
	struct tl_syscall_question *q = w->q;
	struct tl_syscalls *out = q->out;
	int ret = TL_OK;

	for (size_t i = 0; i < w->candidate_count && ret == TL_OK; i++) {
		struct candidate *candidate = &w->candidates[i];
		struct tl_syscall_outlier *o = &candidate->outlier;

		if (is_idle && candidate->is_wait && !candidate->is_foreign)
			continue;
		if (!is_known && candidate->is_wait && !candidate->is_lock)
			o->doubt = TL_DOUBT_OUTSIDE;
		ret = tl_syscalls_use_thread(q, w->judgement.thread, &o->thread, err);
		if (ret == TL_OK && o->doubt)
			ret = tl_grow(&out->suspects, &q->suspect_capacity, out->suspect_count + 1,
				      err);
		else if (ret == TL_OK)
			ret = tl_grow(&out->outliers, &q->outlier_capacity, out->outlier_count + 1,
				      err);
		if (ret == TL_OK && o->doubt)
			out->suspects[out->suspect_count++] = *o;
		else if (ret == TL_OK)
			out->outliers[out->outlier_count++] = *o;
	}
	return ret;
}

/* Waits of an idle thread that are an outlier's are no idle waits. */
static const struct candidate *find_foreign(const struct walk *w, int64_t name_id,
					    int64_t operation_id)
{
	for (size_t i = 0; i < w->candidate_count; i++)
		if (w->candidates[i].is_foreign && w->candidates[i].name_id == name_id &&
		    w->candidates[i].operation_id == operation_id)
			return &w->candidates[i];
	return NULL;
}

static int keep_waits(struct walk *w, bool is_idle, struct tl_error *err)
{
	struct tl_syscall_question *q = w->q;
	int ret = TL_OK;

	for (size_t i = 0; i < w->wait_count && ret == TL_OK; i++) {
		const struct wait *from = &w->waiting[i];
		bool is_all = is_idle && !find_foreign(w, from->name_id, from->operation_id);
		struct tl_syscall_wait wait = { .call_count =
							is_all ? from->count : from->timer_count,
						.timer_count = from->timer_count,
						.total_ns =
							is_all ? from->total_ns : from->timer_ns,
						.is_idle = is_idle };

		if (!wait.call_count)
			continue;
		ret = tl_syscalls_use_thread(q, w->judgement.thread, &wait.thread, err);
		if (ret == TL_OK)
			ret = tl_syscalls_text(q, from->name_id, &wait.name, NULL, err);
		if (ret == TL_OK)
			ret = tl_syscalls_text(q, from->operation_id, &wait.operation, NULL, err);
		if (ret == TL_OK)
			ret = tl_grow(&q->out->waits, &q->wait_capacity, q->out->wait_count + 1,
				      err);
		if (ret == TL_OK)
			q->out->waits[q->out->wait_count++] = wait;
	}
	return ret;
}

static int64_t life_of(const struct tl_call_thread *thread)
{
	int64_t life;

	return __builtin_sub_overflow(thread->end_ns, thread->begin_ns, &life) ? INT64_MAX : life;
}

/* Too coarse a clock tells nothing of how long a thread lived. */
static bool is_life_known(const struct tl_call_thread *thread)
{
	return thread->has_life && (thread->time_unit_ns < COARSE_NS ||
				    life_of(thread) / LIFE_UNITS >= thread->time_unit_ns);
}

/* NaN: not known. In coarse times a thread may have done more than it lived. */
static double wait_ratio_of(const struct tl_call_thread *thread)
{
	double life = (double)thread->end_ns - (double)thread->begin_ns;

	life = fmax(life, fmax((double)thread->busy_ns, (double)thread->wait_ns));
	return is_life_known(thread) && life > 0 ? (double)thread->wait_ns / life : NAN;
}

/* What is asked for of the time from its first call to the end of its last. */
static int64_t wall_of(const struct tl_syscall_question *q, const struct tl_call_thread *thread)
{
	if (q->has_asked)
		return tl_ranges_inside_ns(&q->asked, thread->begin_ns, thread->end_ns);
	return life_of(thread) > thread->busy_ns ? life_of(thread) : thread->busy_ns;
}

/* Of the time of a sum, what its idle thread spent in locks that it does not idle in. */
static int64_t foreign_ns(const struct walk *w, const struct tl_syscall_sum *sum)
{
	int64_t ns = 0;

	for (size_t i = 0; i < w->candidate_count; i++) {
		const struct candidate *candidate = &w->candidates[i];

		if (candidate->is_foreign && candidate->outlier.kind == sum->kind &&
		    !strcmp(candidate->outlier.name, sum->name))
			ns += candidate->total_ns;
	}
	return ns < sum->wait_ns ? ns : sum->wait_ns;
}

static void finish_thread(struct walk *w, size_t first_sum, bool is_idle, double wait_ratio)
{
	const struct tl_call_thread *thread = &w->q->threads[w->judgement.thread];
	struct tl_syscalls *out = w->q->out;
	struct tl_syscall_thread *answer = thread->is_used ? &out->threads[thread->index] : NULL;

	if (answer) {
		answer->is_idle = is_idle;
		answer->wait_ratio = wait_ratio;
		answer->has_wall = is_life_known(thread);
		answer->wall_ns = answer->has_wall ? wall_of(w->q, thread) : 0;
		answer->begin_ns = thread->begin_ns;
		answer->end_ns = thread->end_ns;
	}
	out->idle_thread_count += is_idle;
	for (size_t i = first_sum; i < out->sum_count; i++) {
		double inside_ns = out->sums[i].share_ratio;

		if (is_idle)
			out->sums[i].idle_ns = out->sums[i].wait_ns - foreign_ns(w, &out->sums[i]);
		out->sums[i].share_ratio = answer && answer->has_wall && answer->wall_ns > 0
						   ? inside_ns / (double)answer->wall_ns
						   : NAN;
	}
}

/* Time in waits that are inside each other counts once. */
static int join_waits(struct walk *w, struct tl_call_thread *thread, struct tl_error *err)
{
	int ret = TL_OK;

	if (thread->wait_ns > 0) /* in a call without an end: until then */
		ret = tl_ranges_add(&w->waits, thread->end_ns - thread->wait_ns, thread->end_ns,
				    err);
	tl_ranges_settle(&w->waits);
	thread->wait_ns = tl_ranges_inside_ns(&w->waits, INT64_MIN, INT64_MAX);
	return ret;
}

static int walk_thread(struct walk *w, const struct tl_call_part *parts, size_t count,
		       struct tl_error *err)
{
	struct tl_syscall_question *q = w->q;
	size_t first_sum = q->out->sum_count;
	struct tl_call_thread *thread;
	double wait_ratio = NAN;
	bool is_idle = false;
	int ret = tl_syscalls_thread(q, parts->block.key.thread_id, &w->judgement.thread, err);

	if (ret < 0 || !tl_syscalls_thread_wanted(q, &q->threads[w->judgement.thread]))
		return ret;
	w->candidate_count = w->wait_count = 0;
	w->waits.count = 0;
	w->is_nested = false;
	for (size_t i = 0; i < count; i++)
		w->is_nested |= parts[i].block.key.kind == TL_CALL_LIBRARY;
	for (size_t begin = 0, end; begin < count && ret == TL_OK; begin = end) {
		const struct tl_call_key *key = &parts[begin].block.key;

		for (end = begin + 1; end < count; end++)
			if (parts[end].block.key.name_id != key->name_id ||
			    parts[end].block.key.kind != key->kind)
				break;
		ret = walk_name(w, parts + begin, end - begin, err);
	}
	if (ret < 0)
		return ret;
	thread = &q->threads[w->judgement.thread];
	thread->is_walked = true;
	if (w->is_nested)
		ret = join_waits(w, thread, err);
	if (ret < 0)
		return ret;
	wait_ratio = wait_ratio_of(thread);
	ret = judge_idle(w, parts, count, wait_ratio, &is_idle, err);
	if (ret == TL_OK)
		ret = keep_outliers(w, is_idle, !thread->has_life || is_life_known(thread), err);
	if (ret == TL_OK)
		ret = keep_waits(w, is_idle, err);
	if (ret == TL_OK)
		finish_thread(w, first_sum, is_idle, wait_ratio);
	return ret;
}

static int walk_all(struct walk *w, struct tl_error *err)
{
	const struct tl_syscall_question *q = w->q;
	int ret = TL_OK;

	for (size_t begin = 0, end; begin < q->part_count && ret == TL_OK; begin = end) {
		for (end = begin + 1; end < q->part_count; end++)
			if (q->parts[end].block.key.thread_id !=
			    q->parts[begin].block.key.thread_id)
				break;
		ret = walk_thread(w, q->parts + begin, end - begin, err);
	}
	return ret;
}

/* Threads that never came back from their first call. */
static void finish_open_threads(struct walk *w)
{
	struct tl_syscall_question *q = w->q;

	for (size_t i = 0; i < q->thread_count; i++) {
		struct tl_call_thread *thread = &q->threads[i];
		double wait_ratio;

		if (!thread->is_used || thread->is_walked)
			continue;
		wait_ratio = wait_ratio_of(thread);
		w->judgement.thread = i;
		finish_thread(w, q->out->sum_count,
			      wait_ratio >= TL_IDLE_RATIO && !thread->is_step_thread, wait_ratio);
	}
}

int tl_syscalls_walk(struct tl_syscall_question *q, struct tl_error *err)
{
	struct walk w = { .q = q,
			  .calls = tl_alloc(TL_CALL_BLOCK_MAX, sizeof(*w.calls), err),
			  .longest.limit = q->opt->longest_count < TL_LONGEST_MAX
						   ? q->opt->longest_count
						   : TL_LONGEST_MAX };
	int ret = w.calls ? walk_all(&w, err) : TL_NOMEM;

	if (ret == TL_OK)
		finish_open_threads(&w);
	free(w.calls);
	free(w.timed.ns);
	free(w.judgement.learn.ns);
	free(w.judgement.judged.ns);
	free(w.candidates);
	free(w.waiting);
	tl_ranges_release(&w.waits);
	return ret;
}
