/*
 * thp.c - did transparent huge pages make the slow steps slow? Gathers, lets the model judge, and
 * answers with what was not recorded in mind.
 *
 * The arithmetic is in thp_model.c, kinds of time in thp_parts.c, lines of evidence in
 * thp_evidence.c, words in thp_words.c.
 */
#include "thp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "step_class.h"
#include "steps_model.h"

#define SAMPLES_PER_STEP 20 /* of the thread, for a share of its time to be known from them */
#define CHANCE_P	 0.05
#define LITTLE		 0.10 /* share of the excess below which nothing is explained */
#define TRIVIAL		 0.02 /* share of it that daemons at work must reach to matter */

static const char *const answer_names[] = { "confirmed", "contributes",	  "possible",
					    "undecided", "not supported", "not observable" };

static const char *const mechanism_names[] = { "direct", "stolen", "lock", "activity", "other" };

const char *tl_thp_mechanism_name(enum tl_thp_mechanism mechanism)
{
	return mechanism_names[mechanism];
}

/* ---- what orders are huge pages -------------------------------------------------------------- */

/* A huge page is what one entry of the middle table maps: it depends on the size of small ones. */
static uint32_t orders_of(const char *arch, size_t length)
{
	static const struct {
		const char *arch;
		uint32_t orders;
	} known[] = {
		{ "x86_64", 1u << 9 },	     { "i686", 1u << 9 | 1u << 10 },
		{ "riscv64", 1u << 9 },	     { "s390x", 1u << 8 },
		{ "loongarch64", 1u << 11 }, { "ppc64le", 1u << 5 | 1u << 8 },
	};

	for (size_t i = 0; arch && i < sizeof(known) / sizeof(*known); i++) {
		if (strlen(known[i].arch) == length && !memcmp(arch, known[i].arch, length))
			return known[i].orders;
	}
	return 1u << 9 | 1u << 11 | 1u << 13; /* 4, 16 and 64 KiB */
}

/* What the machine itself said of the size of a huge page; 0: nothing that is understood. */
static uint32_t orders_of_size(const char *bytes)
{
	uint64_t size = bytes ? strtoull(bytes, NULL, 10) : 0;

	return size == 1 << 20	   ? 1u << 8
	       : size == 2 << 20   ? 1u << 9
	       : size == 32 << 20  ? 1u << 11
	       : size == 512 << 20 ? 1u << 13
				   : 0;
}

static int find_orders(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_statement *st;
	int ret;

	w->huge_orders = orders_of_size(tl_thp_setting(w, "thp.hpage_pmd_size"));
	if (w->huge_orders)
		return TL_OK;
	w->huge_orders = orders_of(NULL, 0);
	ret = tl_statement_open(
		&st, w->store,
		"SELECT h.arch AS arch FROM thread t JOIN process p USING (process_id) "
		"JOIN host h USING (host_id) WHERE t.thread_id = ?",
		"arch", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		size_t length;
		const char *arch = tl_column_text(st, 0, &length);

		w->huge_orders = orders_of(arch, length);
	}
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

/* A thread that never slept left no stack where it did: the event tells that it would have. */
static int find_off_stacks(struct tl_thp_work *w, struct tl_error *err)
{
	int64_t found;
	int ret = tl_store_value(w->store,
				 "SELECT 1 FROM event WHERE has_callchain AND instr(name, "
				 "'sched_switch') LIMIT 1",
				 0, &found, err);

	w->has_off_stacks = found || w->view.has & TL_VIEW_OFF_STACKS;
	return ret;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/*
 * Steps with a span of that name that takes a part of them worth the name. Recomputation of
 * activations is called so, too, but in every step.
 */
static int mark_checkpoints(struct tl_thp_work *w, struct tl_error *err)
{
	size_t texts = w->view.texts.count, marked = 0, step = 0;
	bool *is_name = tl_alloc(texts + 1, sizeof(*is_name), err);
	bool *marks = tl_alloc(w->n, sizeof(*marks), err);

	if (!is_name || !marks) {
		free(is_name);
		free(marks);
		return TL_NOMEM;
	}
	for (size_t i = 0; i < texts; i++)
		is_name[i] = tl_is_checkpoint_name(tl_view_text(&w->view, (uint32_t)i));
	for (size_t i = 0; i < w->view.op_count; i++) {
		const struct tl_view_op *op = &w->view.ops[i];

		if (!is_name[op->name])
			continue;
		while (step + 1 < w->n && w->view.steps[step].end_ns <= op->begin_ns)
			step++;
		if (op->begin_ns < w->view.steps[step].begin_ns ||
		    (double)(op->end_ns - op->begin_ns) < 0.1 * w->duration[step] || marks[step])
			continue;
		marks[step] = true;
		marked++;
	}
	for (size_t i = 0; i < w->n; i++)
		w->is_checkpoint[i] =
			w->view.steps[i].is_apart ||
			(2 * marked < w->n && marks[i] && w->view.steps[i].class_ != TL_STEP_SLOW);
	/* of these it is not known what happened in them: they are no part of any comparison */
	for (size_t i = 0; i < w->n; i++)
		if (w->view.steps[i].is_uncovered)
			w->is_checkpoint[i] = w->is_unsure[i] = true;
	free(is_name);
	free(marks);
	return TL_OK;
}

/* ---- what could have been seen --------------------------------------------------------------- */

static bool has_all(const struct tl_thp_work *w, unsigned flags)
{
	return (w->view.has & flags) == flags;
}

static bool samples_suffice(const struct tl_thp_work *w)
{
	return has_all(w, TL_VIEW_SAMPLES | TL_VIEW_STACKS | TL_VIEW_KERNEL_SYMBOLS) &&
	       w->view.sample_count >= SAMPLES_PER_STEP * w->n / 2;
}

static unsigned find_sees(const struct tl_thp_work *w)
{
	bool has_daemons =
		w->has_sampled_daemons || w->view.has & (TL_VIEW_DAEMONS | TL_VIEW_COLLAPSE);
	unsigned sees = 0;

	if (has_daemons || w->has_daemon_counters)
		sees |= TL_THP_SEES_ACTIVITY;
	/* what was lost could have been anything */
	if (w->view.slow_count && 2 * w->view.lossy_slow_count >= w->view.slow_count)
		return sees | (w->is_direct_excluded ? TL_THP_SEES_DIRECT : 0);
	if (has_all(w, TL_VIEW_COMPACTION | TL_VIEW_RECLAIM) || samples_suffice(w) ||
	    w->is_direct_excluded)
		sees |= TL_THP_SEES_DIRECT;
	if (has_all(w, TL_VIEW_STATES | TL_VIEW_ALL_CPUS))
		sees |= TL_THP_SEES_STOLEN;
	/* Waiters sleep or spin: switches show the ones, samples the others. */
	if (has_daemons && w->has_off_stacks && has_all(w, TL_VIEW_STATES) &&
	    has_all(w, TL_VIEW_SAMPLES | TL_VIEW_STACKS | TL_VIEW_KERNEL_SYMBOLS))
		sees |= TL_THP_SEES_LOCK;
	return sees;
}

/* ---- is it chance that waits meet collapses? ------------------------------------------------- */

static struct tl_time_span *spans_of(const struct tl_ranges *r, struct tl_error *err)
{
	struct tl_time_span *spans = tl_alloc(r->count + 1, sizeof(*spans), err);

	for (size_t i = 0; spans && i < r->count; i++)
		spans[i] = (struct tl_time_span) { r->ranges[i].begin_ns, r->ranges[i].end_ns };
	return spans;
}

static double inside_steps(const struct tl_thp_work *w, const struct tl_ranges *r)
{
	double sum = 0;

	for (size_t i = 0; i < w->n; i++)
		sum += (double)tl_ranges_inside_ns(r, w->view.steps[i].begin_ns,
						   w->view.steps[i].end_ns);
	return sum;
}

static double sum_of(const struct tl_thp_work *w, enum tl_thp_part part)
{
	double sum = 0;

	for (size_t i = 0; i < w->n; i++)
		sum += w->part[part][i];
	return sum;
}

/*
 * With activity going on a part d of the time, waits that have nothing to do with it meet it as
 * often: of a part f that was met, (f - d) / (1 - d) / f are due to it. Without more than chance,
 * none is.
 */
static double due_ratio(const struct tl_thp_work *w, double total_ns)
{
	const struct tl_overlap *o = &w->overlap;
	double met = sum_of(w, TL_PART_LOCK_SPINNING) + sum_of(w, TL_PART_LOCK_ASLEEP) +
		     sum_of(w, TL_PART_LOCK_CALLS);
	double f = met / (met + sum_of(w, TL_PART_LOCK_ELSEWHERE)), ratio;
	double d = o->expected_ns / total_ns;

	if (!(met > 0) || o->p >= CHANCE_P || f <= d || d >= 1)
		return 0;
	ratio = (f - d) / ((1 - d) * f);
	return ratio > 1 ? 1 : ratio;
}

static int test_overlap(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_time_span *steps = tl_alloc(w->n + 1, sizeof(*steps), err);
	struct tl_time_span *stalls = spans_of(&w->stalls, err), *acts = spans_of(&w->holds, err);
	double total = inside_steps(w, &w->stalls);
	int ret = steps && stalls && acts ? TL_OK : TL_NOMEM;

	for (size_t i = 0; ret == TL_OK && i < w->n; i++)
		steps[i] = (struct tl_time_span) { w->view.steps[i].begin_ns,
						   w->view.steps[i].end_ns };
	w->lock_ratio = 1;
	if (ret == TL_OK && total > 0 && w->holds.count) {
		ret = tl_overlap_test(&w->overlap, steps, w->n, stalls, w->stalls.count, acts,
				      w->holds.count, TL_OVERLAP_ROTATIONS, err);
		w->has_overlap = ret == TL_OK;
		w->lock_ratio = ret == TL_OK ? due_ratio(w, total) : 1;
	}
	free(steps);
	free(stalls);
	free(acts);
	return ret;
}

/* What met a collapse by chance is put where it belongs. */
static void correct_for_chance(struct tl_thp_work *w)
{
	static const enum tl_thp_part locks[] = { TL_PART_LOCK_SPINNING, TL_PART_LOCK_ASLEEP,
						  TL_PART_LOCK_CALLS };

	for (size_t k = 0; k < sizeof(locks) / sizeof(*locks); k++) {
		for (size_t i = 0; i < w->n; i++) {
			double due = w->part[locks[k]][i] * w->lock_ratio;

			w->part[TL_PART_LOCK_ELSEWHERE][i] += w->part[locks[k]][i] - due;
			w->part[locks[k]][i] = due;
		}
	}
}

/* ---- judging --------------------------------------------------------------------------------- */

static int judge(struct tl_thp_work *w, struct tl_error *err)
{
	for (size_t i = 0; i < w->n; i++) {
		w->direct[i] = w->part[TL_PART_COMPACTION][i] + w->part[TL_PART_RECLAIM][i] +
			       w->part[TL_PART_ZEROING][i] + w->part[TL_PART_SPLITTING][i];
		w->stolen[i] = w->part[TL_PART_STOLEN_KHUGEPAGED][i] +
			       w->part[TL_PART_STOLEN_KCOMPACTD][i] +
			       w->part[TL_PART_STOLEN_KSWAPD][i];
		w->lock[i] = w->part[TL_PART_LOCK_SPINNING][i] + w->part[TL_PART_LOCK_ASLEEP][i] +
			     w->part[TL_PART_LOCK_CALLS][i] + w->part[TL_PART_MOVED_PAGES][i];
		if (!w->has_daemon_counters)
			w->activity[i] = w->part[TL_PART_KHUGEPAGED][i] +
					 w->part[TL_PART_KCOMPACTD][i] + w->part[TL_PART_KSWAPD][i];
	}
	w->steps.sees = find_sees(w);
	return tl_thp_model(&w->model, &w->steps, err);
}

static double growth(const struct tl_thp_work *w, enum tl_thp_part part)
{
	return tl_thp_mean(w, w->part[part], TL_THP_ROLE_SLOW) -
	       tl_thp_mean(w, w->part[part], TL_THP_ROLE_BASE);
}

/*
 * Zeroing a huge page replaces zeroing its small pages one by one: of its time only what page
 * faults take more than before is a cost.
 */
static bool net_zeroing(struct tl_thp_work *w)
{
	double huge = growth(w, TL_PART_ZEROING); /* NaN without slow or good steps */
	double all = huge + growth(w, TL_PART_SMALL_FAULTS);
	double ratio = huge > 0 ? all / huge : 1;

	if (!(ratio < 1))
		return false;
	ratio = ratio > 0 ? ratio : 0;
	for (size_t i = 0; i < w->n; i++) {
		w->part[TL_PART_SMALL_FAULTS][i] += w->part[TL_PART_ZEROING][i] * (1 - ratio);
		w->part[TL_PART_ZEROING][i] *= ratio;
	}
	return true;
}

/* ---- answering ------------------------------------------------------------------------------- */

#define MECHANISMS (TL_THP_SEES_DIRECT | TL_THP_SEES_STOLEN | TL_THP_SEES_LOCK)

static bool would_explain(const struct tl_thp_work *w, enum tl_thp_part part)
{
	struct tl_thp_share s;

	return w->count[part] && !(w->steps.sees & TL_THP_SEES_LOCK) &&
	       tl_thp_share(&s, &w->steps, w->model.baseline, w->part[part], NULL) == TL_OK &&
	       s.share >= 0.15 && s.low > 0.05;
}

/* Calls that take mmap_lock grew: what waiting for a collapse would look like in a tracer's log. */
static bool calls_would_explain(const struct tl_thp_work *w)
{
	return would_explain(w, TL_PART_MEMORY_CALLS);
}

/* The thread waits for mmap_lock, and nothing tells who had it. */
static bool waits_would_explain(const struct tl_thp_work *w)
{
	return (!(w->steps.sees & TL_THP_SEES_ACTIVITY) || w->has_moments) &&
	       would_explain(w, TL_PART_LOCK_ELSEWHERE);
}

static enum tl_thp_answer answer_unseen(const struct tl_thp_work *w, const char **reason)
{
	if (waits_would_explain(w)) {
		*reason = "the thread waits for mmap_lock, but who held it was not recorded";
		return TL_THP_IS_POSSIBLE;
	}
	if (calls_would_explain(w)) {
		*reason =
			"calls that take mmap_lock grew, but what they waited for was not recorded";
		return TL_THP_IS_POSSIBLE;
	}
	*reason = "what was recorded could not have shown it";
	return TL_THP_IS_NOT_OBSERVABLE;
}

/* Fewer than three slow steps say nothing. */
static enum tl_thp_answer answer_without_steps(const struct tl_thp_work *w, const char **reason)
{
	if (w->view.uncovered_slow_count) {
		*reason = "the slow steps lie outside of what was recorded of the thread";
		return TL_THP_IS_NOT_OBSERVABLE;
	}
	*reason = "there are too few slow steps to judge by";
	return TL_THP_IS_UNDECIDED;
}

/* Daemons were at work for so short a time that slow steps do not go together with that. */
static bool is_trivial(const struct tl_thp_work *w)
{
	double grown = tl_thp_mean(w, w->activity, TL_THP_ROLE_SLOW) -
		       tl_thp_mean(w, w->activity, TL_THP_ROLE_BASE);

	return !w->has_daemon_counters &&
	       grown * (double)w->model.slow_count < TRIVIAL * w->model.excess;
}

/* What was seen of it is not more than nothing. */
static enum tl_thp_answer answer_little(const struct tl_thp_work *w, unsigned unseen,
					const char **reason)
{
	if (unseen && (calls_would_explain(w) || waits_would_explain(w) || unseen == MECHANISMS))
		return answer_unseen(w, reason);
	*reason = unseen ? "what was recorded does not speak for it, and not all was"
			 : "what it explains is not surely more than nothing";
	return unseen ? TL_THP_IS_UNDECIDED : TL_THP_IS_NOT_SUPPORTED;
}

static bool is_positive(enum tl_thp_verdict verdict)
{
	return verdict == TL_THP_CONTRIBUTES || verdict == TL_THP_CONFIRMED;
}

static enum tl_thp_answer answer(const struct tl_thp_work *w, const char **reason)
{
	unsigned unseen = MECHANISMS & ~w->steps.sees;

	if (unseen && w->rest_high < LITTLE && !is_positive(w->model.verdict)) {
		*reason = "what else was seen to make slow steps slow leaves little for it";
		return TL_THP_IS_NOT_SUPPORTED;
	}
	switch (w->model.verdict) {
	case TL_THP_NO_SLOW_STEPS:
		return answer_without_steps(w, reason);
	case TL_THP_FEW_BASELINE_STEPS:
		*reason = "there are too few steps of a baseline to compare with";
		return TL_THP_IS_UNDECIDED;
	case TL_THP_NOT_OBSERVABLE:
		return answer_unseen(w, reason);
	case TL_THP_NO_ACTIVITY:
		/*
		 * Counters of the whole machine see all of it; daemons do not tell of direct work, nor
		 * do samples of what is short.
		 */
		if (unseen && !(w->is_direct_excluded &&
				(!w->has_sampled_daemons || w->is_collapse_excluded)))
			return answer_unseen(w, reason);
		*reason = "nothing of it happened";
		return TL_THP_IS_NOT_SUPPORTED;
	case TL_THP_EXPLAINS_LITTLE:
		*reason = "it explains little";
		return TL_THP_IS_NOT_SUPPORTED;
	case TL_THP_NOT_SUPPORTED:
		return answer_little(w, unseen, reason);
	case TL_THP_UNDECIDED:
		if (calls_would_explain(w) || waits_would_explain(w))
			return answer_unseen(w, reason);
		if (is_trivial(w))
			return answer_little(w, unseen, reason);
		*reason =
			"they go together, but a common cause, such as a checkpoint, explains that "
			"as well";
		return TL_THP_IS_UNDECIDED;
	case TL_THP_POSSIBLE:
		if (is_trivial(w))
			return answer_little(w, unseen, reason);
		*reason = "they go together, but how one makes the other was not recorded";
		return TL_THP_IS_POSSIBLE;
	case TL_THP_CONTRIBUTES:
		*reason = unseen ? "a part of the excess; there may be more that was not recorded"
				 : "a part of the excess, and not most of it";
		return TL_THP_IS_CONTRIBUTING;
	case TL_THP_CONFIRMED:
		*reason = "most of the excess";
		return TL_THP_IS_CONFIRMED;
	case TL_THP_VERDICT_COUNT:
		break;
	}
	return TL_THP_IS_NOT_OBSERVABLE;
}

/*
 * An upper bound where not all that memory management does was seen: the time that the thread surely
 * spent otherwise is none of it.
 */
static int bound_rest(struct tl_thp_work *w, struct tl_error *err)
{
	static const enum tl_thp_part others[] = { TL_PART_STOLEN_OTHERS,  TL_PART_OTHER_COMPACTION,
						   TL_PART_OTHER_RECLAIM,  TL_PART_HUGETLB,
						   TL_PART_FUTEX,	   TL_PART_STORAGE,
						   TL_PART_LOCK_ELSEWHERE, TL_PART_MEMCG };
	const struct tl_step_view *v = &w->view;
	struct tl_thp_share s;
	double *sum;
	int ret;

	w->rest_high = NAN;
	/* who held a lock is known where all of it was recorded; and losses make waits longer */
	if (w->model.slow_count < 3 || w->model.base_count < 5 || v->lossy_slow_count ||
	    !(w->steps.sees & TL_THP_SEES_LOCK))
		return TL_OK;
	sum = tl_alloc(w->n, sizeof(*sum), err);
	if (!sum)
		return TL_NOMEM;
	for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++) {
		for (size_t i = 0; i < w->n; i++)
			sum[i] += w->part[others[k]][i];
	}
	ret = tl_thp_share(&s, &w->steps, w->model.baseline, sum, err);
	if (ret == TL_OK)
		w->rest_high = s.low < 1 ? 1 - s.low : 0;
	free(sum);
	return ret;
}

static void tell_steps(const struct tl_thp_work *w)
{
	struct tl_thp *out = w->out;

	out->step_count = w->n;
	out->slow_count = w->model.slow_count;
	out->good_count = w->model.base_count;
	out->baseline_ns = w->model.baseline;
	out->slow_mean_ns = tl_thp_mean(w, w->duration, TL_THP_ROLE_SLOW);
	for (size_t i = 0; i < w->n; i++) {
		out->apart_count += w->is_checkpoint[i] && !w->is_unsure[i];
		if (w->steps.role[i] != TL_THP_ROLE_SLOW)
			continue;
		if (!out->excess_ns && out->first_slow == out->last_slow)
			out->first_slow = w->view.steps[i].number;
		out->last_slow = w->view.steps[i].number;
		out->excess_ns += w->duration[i] - w->model.baseline;
	}
}

static void tell_answer(const struct tl_thp_work *w)
{
	const struct tl_thp_model *m = &w->model;
	struct tl_thp *out = w->out;
	/* what was seen counts, even where not all could be; but nothing seen is then no zero */
	bool is_judged = m->verdict != TL_THP_NO_SLOW_STEPS &&
			 m->verdict != TL_THP_FEW_BASELINE_STEPS &&
			 ((w->steps.sees & MECHANISMS) == MECHANISMS || m->share > 0 ||
			  (m->verdict == TL_THP_NO_ACTIVITY && w->steps.sees & MECHANISMS));
	double excess[] = { m->direct_excess, m->stolen_excess, m->lock_excess };

	static const unsigned flags[] = { TL_THP_SEES_DIRECT, TL_THP_SEES_STOLEN,
					  TL_THP_SEES_LOCK };

	out->answer = answer(w, &out->reason);
	out->verdict = answer_names[out->answer];
	out->share = is_judged ? m->share : NAN;
	out->share_low = is_judged ? m->share_low : NAN;
	out->share_high = is_judged ? m->share_high : NAN;
	for (int i = 0; i < TL_THP_MECHANISM_COUNT; i++) {
		bool is_known = is_judged && m->excess > 0;

		out->is_seen[i] = w->steps.sees & flags[i];
		/* a part of it may have been seen */
		is_known &= out->is_seen[i] || excess[i] > 0;
		out->mechanism_share[i] = is_known ? excess[i] / m->excess : NAN;
	}
	out->sees_activity = w->steps.sees & TL_THP_SEES_ACTIVITY;
}

static int tell_thread(const struct tl_thp_work *w, struct tl_error *err)
{
	const struct tl_step_view *v = &w->view;
	struct tl_thp *out = w->out;

	out->pid = v->pid;
	out->tid = v->tid;
	out->rank = v->rank;
	out->thread = tl_thp_say(w->out, err, "%s", v->thread_name);
	out->step_source = tl_thp_say(w->out, err, "%s", v->step_source ? v->step_source : "");
	return out->thread && out->step_source ? TL_OK : TL_NOMEM;
}

/* ---- the question ---------------------------------------------------------------------------- */

static int alloc_work(struct tl_thp_work *w, struct tl_error *err)
{
	double **arrays[] = { &w->duration, &w->activity, &w->direct, &w->stolen, &w->lock };

	w->n = w->view.step_count;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		if (!(*arrays[i] = tl_alloc(w->n, sizeof(double), err)))
			return TL_NOMEM;
	}
	for (size_t i = 0; i < TL_PART_COUNT; i++) {
		if (!(w->part[i] = tl_alloc(w->n, sizeof(double), err)))
			return TL_NOMEM;
	}
	w->is_checkpoint = tl_alloc(w->n, sizeof(*w->is_checkpoint), err);
	w->is_unsure = tl_alloc(w->n, sizeof(*w->is_unsure), err);
	w->steps.role = tl_alloc(w->n, sizeof(*w->steps.role), err);
	if (!w->is_checkpoint || !w->is_unsure || !w->steps.role)
		return TL_NOMEM;
	for (size_t i = 0; i < w->n; i++)
		w->duration[i] = (double)(w->view.steps[i].end_ns - w->view.steps[i].begin_ns);
	w->steps.n = w->n;
	w->steps.duration = w->duration;
	w->steps.activity = w->activity;
	w->steps.direct = w->direct;
	w->steps.stolen = w->stolen;
	w->steps.lock = w->lock;
	w->steps.is_checkpoint = w->is_checkpoint;
	return TL_OK;
}

static void release_work(struct tl_thp_work *w)
{
	for (size_t i = 0; i < TL_PART_COUNT; i++)
		free(w->part[i]);
	free(w->duration);
	free(w->activity);
	free(w->direct);
	free(w->stolen);
	free(w->lock);
	free(w->is_checkpoint);
	free(w->is_unsure);
	free(w->steps.role);
	free(w->traits);
	tl_ranges_release(&w->holds);
	tl_ranges_release(&w->own);
	tl_ranges_release(&w->moves);
	tl_ranges_release(&w->stalls);
	tl_step_view_release(&w->view);
}

/* The sources of the steps, and those that tell of the thread. */
static int find_sources(struct tl_thp_work *w, int64_t **sources, size_t *count,
			struct tl_error *err)
{
	size_t capacity = 0;
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, w->store,
		"SELECT source_id AS source FROM step WHERE series = ?2 UNION SELECT * FROM (SELECT source_id FROM thread_state WHERE "
		"thread_id = ?1 ORDER BY ts LIMIT 1) UNION SELECT e.source_id FROM stack_sum z JOIN "
		"event e USING (event_id) WHERE "
		"z.thread_id = ?1 UNION SELECT source_id FROM call_block WHERE thread_id = ?1 AND "
		"base_ts IS NOT NULL ORDER BY source",
		"source", err);

	*count = 0;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	tl_bind_i64(st, 2, w->view.series);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		ret = tl_grow(sources, &capacity, *count + 1, err);
		if (ret == TL_OK)
			(*sources)[(*count)++] = tl_column_i64(st, 0);
	}
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

/* Times of two clocks are only as good as the map between them. */
static int check_clocks(struct tl_thp_work *w, struct tl_error *err)
{
	double excess = tl_thp_mean(w, w->duration, TL_THP_ROLE_SLOW) - w->model.baseline;
	int64_t *sources = NULL;
	struct tl_clock_join join;
	size_t count;
	int ret = find_sources(w, &sources, &count, err);

	if (ret == TL_OK)
		ret = tl_clock_join(w->store, sources, count,
				    w->model.slow_count && excess > 1 ? (int64_t)excess : 0, &join,
				    err);
	free(sources);
	if (ret < 0)
		return ret;
	if (!join.is_allowed)
		return tl_fail(err, TL_NOTHING, "%s", join.text);
	w->out->residual_ns = join.residual_ns;
	w->out->clocks = tl_thp_say(w->out, err, "%s", join.text);
	return w->out->clocks ? TL_OK : TL_NOMEM;
}

/* Steps of an episode that fails the tests of episodes are slow by chance, as far as one can tell. */
static bool drop_unsure(struct tl_thp_work *w)
{
	bool is_changed = false;

	for (size_t i = 0; i < w->n; i++) {
		if (w->steps.role[i] == TL_THP_ROLE_SLOW &&
		    w->view.steps[i].class_ != TL_STEP_SLOW && !w->is_checkpoint[i])
			w->is_checkpoint[i] = w->is_unsure[i] = is_changed = true;
	}
	return is_changed;
}

/* Where none is slow there is no question: says what the steps are instead. */
static int refuse_without_slow(const struct tl_thp_work *w, struct tl_error *err)
{
	const struct tl_step_view *v = &w->view;
	size_t rest = v->step_count, good = v->good_count, spikes = v->spike_count;
	char others[80] = "";

	if (w->model.slow_count || v->uncovered_slow_count)
		return TL_OK;
	rest -= good < rest ? good : rest;
	rest -= spikes < rest ? spikes : rest;
	if (rest)
		snprintf(others, sizeof(others), ", %zu neither (warm-up, a checkpoint, ...)",
			 rest);
	return tl_fail(err, TL_NOTHING,
		       "none of %zu training steps is surely slow, so there is nothing that huge "
		       "pages could explain: %zu are good, %zu slow alone or perhaps by chance%s; "
		       "see 'traceloom steps'",
		       v->step_count, good, spikes, others);
}

static int judge_all(struct tl_thp_work *w, struct tl_error *err)
{
	int ret = judge(w, err);

	if (ret == TL_OK && drop_unsure(w))
		ret = judge(w, err);
	if (ret == TL_OK && net_zeroing(w))
		ret = judge(w, err);
	return ret;
}

static int work_it_out(struct tl_thp_work *w, struct tl_error *err)
{
	int ret;

	if (w->view.step_count < TL_STEPS_MIN && !w->view.slow_count)
		return tl_fail(err, TL_NOTHING,
			       "%zu training step%s too few to tell slow ones from good ones: a "
			       "training log of the whole run, with times, says which are",
			       w->view.step_count, w->view.step_count == 1 ? " is" : "s are");
	if ((ret = alloc_work(w, err)) < 0 || (ret = tl_thp_find_settings(w, err)) < 0 ||
	    (ret = find_orders(w, err)) < 0 || (ret = find_off_stacks(w, err)) < 0 ||
	    (ret = tl_chain_traits_load(&w->traits, &w->trait_count, w->store, err)) < 0 ||
	    (ret = mark_checkpoints(w, err)) < 0 || (ret = tl_thp_exclude_faults(w, err)) < 0 ||
	    (ret = tl_thp_gather(w, err)) < 0 || (ret = tl_thp_gather_counters(w, err)) < 0 ||
	    (ret = test_overlap(w, err)) < 0)
		return ret;
	correct_for_chance(w);
	ret = judge_all(w, err);
	if (ret == TL_OK)
		ret = refuse_without_slow(w, err);
	if (ret == TL_OK)
		ret = bound_rest(w, err);
	if (ret == TL_OK)
		ret = check_clocks(w, err);
	if (ret < 0)
		return ret;
	tell_steps(w);
	tell_answer(w);
	if ((ret = tell_thread(w, err)) < 0 || (ret = tl_thp_find_evidence(w, err)) < 0 ||
	    (ret = tl_thp_find_course(w, err)) < 0 || (ret = tl_thp_find_epochs(w, err)) < 0 ||
	    (ret = tl_thp_find_counters(w, err)) < 0 || (ret = tl_thp_find_tests(w, err)) < 0)
		return ret;
	return tl_thp_find_words(w, err);
}

int tl_thp(struct tl_store *store, const struct tl_thp_options *opt, struct tl_thp *out,
	   struct tl_error *err)
{
	const struct tl_view_options view = { .thread = opt->thread,
					      .has_rank = opt->has_rank,
					      .rank = opt->rank };
	struct tl_thp_work w = { .store = store, .out = out };
	int ret;

	*out = (struct tl_thp) { .pid = -1, .tid = -1, .rank = -1 };
	out->memory = tl_alloc(1, sizeof(struct tl_arena), err);
	if (!out->memory)
		return TL_NOMEM;
	/* one look at the case: a lock for each statement would cost more than most of them */
	ret = tl_store_execute(store, "BEGIN", err);
	if (ret == TL_OK) {
		ret = tl_step_view_load(&w.view, store, &view, err);
		if (ret == TL_OK) {
			ret = work_it_out(&w, err);
			release_work(&w);
		}
		tl_store_execute(store, "ROLLBACK", NULL);
	}
	if (ret < 0)
		tl_thp_release(out);
	return ret;
}

void tl_thp_release(struct tl_thp *thp)
{
	free(thp->evidence);
	free(thp->tests);
	free(thp->course);
	free(thp->epochs);
	free(thp->counters);
	free(thp->settings);
	free(thp->advice);
	free(thp->missing);
	free(thp->contradictions);
	if (thp->memory)
		tl_arena_release(thp->memory);
	free(thp->memory);
	*thp = (struct tl_thp) { 0 };
}
