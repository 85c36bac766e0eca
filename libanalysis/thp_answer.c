/*
 * thp_answer.c - the verdict for people: that of the model, with what was not recorded in mind, and the
 * numbers it rests on.
 */
#include "thp.h"

#include <math.h>
#include <stdlib.h>

#define LITTLE	0.10 /* share of the excess below which nothing is explained */
#define TRIVIAL 0.02 /* share of it that daemons at work must reach to matter */

static const char *const answer_names[] = { "confirmed", "contributes",	  "possible",
					    "undecided", "not supported", "not observable" };

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

/* Fewer than three slow steps say nothing, but that none is slow is an answer. */
static enum tl_thp_answer answer_without_steps(const struct tl_thp_work *w, const char **reason)
{
	if (w->view.uncovered_slow_count) {
		*reason = "the slow steps lie outside of what was recorded of the thread";
		return TL_THP_IS_NOT_OBSERVABLE;
	}
	if (w->model.slow_count) {
		*reason = "there are too few slow steps to judge by";
		return TL_THP_IS_UNDECIDED;
	}
	*reason = "there are no slow steps to explain";
	return TL_THP_IS_NOT_SUPPORTED;
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
int tl_thp_bound_rest(struct tl_thp_work *w, struct tl_error *err)
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

int tl_thp_tell_answer(struct tl_thp_work *w, struct tl_error *err)
{
	tell_steps(w);
	tell_answer(w);
	return tell_thread(w, err);
}
