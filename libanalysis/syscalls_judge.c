/*
 * syscalls_judge.c - which calls took much longer than is usual for them. What is usual is learnt
 * from good steps; without steps from the calls before they became slow, or from all of them; and
 * where a thread has few of a call that does not wait, from those of all threads.
 */
#include "syscalls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ONSET_CALLS	 40	 /* below, no beginning can be told */
#define ONSET_BEFORE	 20u	 /* calls that what is usual is learnt from */
#define ONSET_AFTER	 5u	 /* slow ones */
#define ONSET_SCORE	 2.5	 /* Kolmogorov's statistic: p = 2 exp(-2 s^2) = 7e-6 */
#define ONSET_RATE_RATIO 10.0	 /* slow calls after against before */
#define ONSET_RATE_MAX	 0.05	 /* before: what is rarer than this is not usual there */
#define ONSET_PIECES	 64	 /* the place is looked for between them first */
#define POOL_FLOOR_NS	 5000000 /* a single call of some milliseconds may be the tracer's doing */

/* ---- since when ------------------------------------------------------------------------------- */

/* Calls by piece of time and by duration: [piece][bin] counts those of the bin and slower ones. */
struct spread {
	uint32_t slower[ONSET_PIECES][TL_LATENCY_BINS];
	size_t begin[ONSET_PIECES + 1]; /* of each piece */
};

static void spread_out(struct spread *s, const int64_t *ns, size_t n)
{
	memset(s->slower, 0, sizeof(s->slower));
	for (size_t p = 0; p <= ONSET_PIECES; p++)
		s->begin[p] = n * p / ONSET_PIECES;
	for (size_t p = 0; p < ONSET_PIECES; p++) {
		for (size_t i = s->begin[p]; i < s->begin[p + 1]; i++)
			s->slower[p][tl_latency_bin(ns[i])]++;
		for (uint32_t bin = TL_LATENCY_BINS - 1; bin-- > 0;)
			s->slower[p][bin] += s->slower[p][bin + 1];
	}
}

/* Slow calls are rare before a place and frequent behind it. */
static bool is_onset(double before, size_t before_count, double after, size_t after_count)
{
	double rate_before = before_count ? before / (double)before_count : 1;

	return before_count >= ONSET_BEFORE && after_count && after >= ONSET_AFTER &&
	       rate_before <= ONSET_RATE_MAX &&
	       after / (double)after_count >= ONSET_RATE_RATIO * rate_before;
}

/*
 * Between which pieces do calls of `bin` and slower ones begin to be frequent? Where their count so
 * far is farthest below that of an even spread. 0: nowhere.
 */
static size_t onset_piece(const struct spread *s, uint32_t bin, double *score)
{
	double n = (double)s->begin[ONSET_PIECES], slow = 0, rate, seen = 0, worst = 0, before = 0;
	size_t at = 0;

	for (size_t p = 0; p < ONSET_PIECES; p++)
		slow += s->slower[p][bin];
	rate = slow / n;
	for (size_t p = 0; p + 1 < ONSET_PIECES; p++) {
		double distance;

		seen += s->slower[p][bin];
		distance = seen - rate * (double)s->begin[p + 1];
		if (distance < worst) {
			worst = distance;
			before = seen;
			at = p + 1;
		}
	}
	if (!at || !is_onset(before, s->begin[at], slow - before, (size_t)n - s->begin[at]))
		return 0;
	*score = -worst / sqrt(n * rate * (1 - rate));
	return at;
}

/* Lower end of a half-octave bin (tl_latency_bin). */
static int64_t bin_begin_ns(uint32_t bin)
{
	double ns = ceil(exp2((bin - 1) / 2.0));

	return bin < 2 ? 0 : ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

/* The call itself, among those of the pieces around the place. */
static size_t refine(const struct spread *s, size_t piece, const int64_t *ns, int64_t cut_ns)
{
	size_t first = s->begin[piece - 1], last = s->begin[piece + 1], best = s->begin[piece];
	double rate = 0, sum = 0, worst = 0;

	for (size_t i = first; i < last; i++)
		rate += ns[i] >= cut_ns;
	rate /= (double)(last - first);
	for (size_t i = first; i < last; i++) {
		sum += (ns[i] >= cut_ns) - rate;
		if (sum < worst) {
			worst = sum;
			best = i + 1;
		}
	}
	return best > 0 && best < s->begin[ONSET_PIECES] ? best : s->begin[piece];
}

size_t tl_call_onset(const int64_t *ns, size_t n, int64_t *cut_ns, struct tl_error *err)
{
	struct spread *s;
	double best = ONSET_SCORE;
	size_t piece = 0;
	uint32_t cut = 0;

	if (n < ONSET_CALLS)
		return n;
	s = tl_alloc(1, sizeof(*s), err);
	if (!s)
		return n;
	spread_out(s, ns, n);
	for (uint32_t bin = tl_latency_bin(TL_LATENCY_FLOOR_NS); bin < TL_LATENCY_BINS; bin++) {
		double score = 0;
		size_t at = onset_piece(s, bin, &score);

		if (at && score > best) {
			best = score;
			piece = at;
			cut = bin;
		}
	}
	*cut_ns = bin_begin_ns(cut);
	n = piece ? refine(s, piece, ns, *cut_ns) : n;
	free(s);
	return n;
}

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

/* Begin of call number `at` of those that were learnt from. */
static int find_begin(struct tl_syscall_question *q, const struct tl_call_judgement *j, size_t at,
		      struct tl_syscall_outlier *o, struct tl_error *err)
{
	struct tl_call_entry *calls = tl_alloc(TL_CALL_BLOCK_MAX, sizeof(*calls), err);
	int ret = calls ? TL_OK : TL_NOMEM;
	bool is_found = false;

	for (size_t i = 0; i < j->part_count && ret == TL_OK && !is_found; i++) {
		uint32_t count = 0;

		ret = tl_syscalls_read(q, &j->parts[i], calls, &count, NULL, err);
		for (uint32_t k = 0; k < count && ret == TL_OK && !is_found; k++) {
			if (calls[k].duration_ns < 0 || calls[k].flags & TL_CALL_TIMER || at--)
				continue;
			is_found = true;
			o->has_since = j->parts[i].block.has_times;
			o->since_ns = calls[k].ts;
		}
	}
	free(calls);
	return ret;
}

/* Threshold and median from the first n calls; reorders them. */
static int learn(struct tl_syscall_outlier *o, int64_t *ns, size_t n, double floor_ns,
		 struct tl_error *err)
{
	static const double half = 0.5;
	struct tl_latency_threshold threshold;
	int ret = tl_latency_threshold(&threshold, ns, n, floor_ns, err);

	if (ret < 0)
		return ret;
	o->threshold_ns = threshold.threshold_ns;
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

int tl_syscalls_judge(struct tl_syscall_question *q, struct tl_call_judgement *j,
		      struct tl_syscall_outlier *found, bool *is_outlier, struct tl_error *err)
{
	const struct tl_durations *judged = j->is_same ? &j->learn : &j->judged;
	size_t n = j->learn.count, onset = n;
	int64_t cut_ns = 0;
	bool is_of_lock;
	int ret = TL_OK;

	*is_outlier = false;
	if (longest_ns(j) <= TL_LATENCY_FLOOR_NS)
		return TL_OK;
	if (n < TL_FEW_CALLS && !j->is_wait && judged->count <= TL_FEW_CALLS)
		return keep_few(q, j, err);
	*found = (struct tl_syscall_outlier) { .kind = j->kind,
					       .learnt = q->has_good ? TL_LEARNT_GOOD
								     : TL_LEARNT_ALL };
	ret = is_lock(q, j, &is_of_lock, err);
	/* what comes from outside may come more rarely without anything being wrong */
	if (ret == TL_OK && !q->has_good && (!j->is_wait || is_of_lock))
		onset = tl_call_onset(j->learn.ns, n, &cut_ns, err);
	if (onset < n) {
		found->learnt = TL_LEARNT_BEFORE;
		ret = find_begin(q, j, onset, found, err);
	}
	if (ret == TL_OK)
		ret = learn(found, j->learn.ns, onset, TL_LATENCY_FLOOR_NS, err);
	if (ret < 0)
		return ret;
	/* before, the modes may run into each other; that slower ones are frequent now tells them */
	if (onset < n && found->threshold_ns > (double)cut_ns)
		found->threshold_ns = (double)cut_ns;
	count_outliers(found, judged->ns, judged->count);
	*is_outlier = found->outlier_count > 0;
	if (!*is_outlier)
		return TL_OK;
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
				ret = learn(&usual, learnt.ns, learnt.count, POOL_FLOOR_NS, err);
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
