/*
 * thp_words.c - what speaks against the answer, what was not recorded and how it would be, and all of
 * it in a paragraph. What to do about it is in thp_advice.c.
 */
#include "thp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW_SAMPLES 5 /* of the thread in a step */

static bool is_at_work(const struct tl_thp *out)
{
	return out->answer == TL_THP_IS_CONFIRMED || out->answer == TL_THP_IS_CONTRIBUTING;
}

/* "12.3 ms", "4.56 us": three digits. */
static const char *ms(char *buf, size_t size, double ns)
{
	double size_ns = fabs(ns);

	if (size_ns < 1e6)
		snprintf(buf, size, "%.3g us", ns / 1e3);
	else if (size_ns < 1e9)
		snprintf(buf, size, "%.3g ms", ns / 1e6);
	else
		snprintf(buf, size, "%.3g s", ns / 1e9);
	return buf;
}

/* ---- what contradicts ------------------------------------------------------------------------ */

struct list {
	struct tl_thp_work *w;
	size_t capacity;
	int status;
	struct tl_error *err;
};

static void contradict(struct list *l, const char *text)
{
	struct tl_thp *out = l->w->out;

	if (l->status == TL_OK && !text)
		l->status = TL_NOMEM;
	if (l->status == TL_OK)
		l->status = tl_grow(&out->contradictions, &l->capacity,
				    out->contradiction_count + 1, l->err);
	if (l->status == TL_OK)
		out->contradictions[out->contradiction_count++] = text;
}

/* The excess is of other kinds of time: those speak against huge pages. */
static void contradict_by_others(struct list *l)
{
	struct tl_thp *out = l->w->out;
	char cost[32];

	for (size_t i = 0; i < out->evidence_count; i++) {
		const struct tl_thp_evidence *e = &out->evidence[i];
		const char *note = "";

		if (e->mechanism != TL_THP_OTHER || e->is_possible_only)
			continue;
		if (strstr(e->what, "own code"))
			note = ", which a shared memory bus or cold caches may slow down, too";
		contradict(l, tl_thp_say(out, l->err,
					 "%s: %s more in a slow step, %.0f %% of the "
					 "excess%s",
					 e->what, ms(cost, sizeof(cost), e->slow_ns - e->good_ns),
					 100 * e->share, note));
	}
}

static void contradict_by_tests(struct list *l)
{
	const struct tl_thp_work *w = l->w;
	const struct tl_thp_model *m = &w->model;
	double best = m->lag_rho[m->best_lag + TL_THP_LAG_MAX], now = m->lag_rho[TL_THP_LAG_MAX];
	bool is_judged = m->slow_count >= 3 && m->base_count >= 5;

	if (!is_judged)
		return;
	if (w->has_overlap && w->overlap.p >= 0.05)
		contradict(l,
			   tl_thp_say(w->out, l->err,
				      "waits for locks of the address space meet collapses no more "
				      "than by chance (p = %.2g): they are not counted",
				      w->overlap.p));
	if (m->within_offset.stratum_count && m->within_offset.p >= 0.05 &&
	    w->steps.sees & TL_THP_SEES_ACTIVITY)
		contradict(
			l,
			tl_thp_say(w->out, l->err,
				   "at the same distance from checkpoints, more activity does not "
				   "mean a slower step (p = %.2g)",
				   m->within_offset.p));
	if (m->best_lag < 0 && best > 0.2 && best - now >= 0.1)
		contradict(
			l,
			tl_thp_say(w->out, l->err,
				   "slow steps come %d steps before the activity: it may be their "
				   "consequence",
				   -m->best_lag));
}

static int find_contradictions(struct tl_thp_work *w, struct tl_error *err)
{
	struct list l = { .w = w, .err = err };

	contradict_by_others(&l);
	contradict_by_tests(&l);
	return l.status;
}

/* ---- what is missing ------------------------------------------------------------------------- */

#define PERF "perf record -a -g -k CLOCK_MONOTONIC"

#define BOTH_ENDS \
	"-e huge_memory:mm_collapse_huge_page -e huge_memory:mm_collapse_huge_page_isolate"

static const struct need {
	unsigned all; /* TL_VIEW_*: these have it */
	const char *what, *events;
} needs[] = {
	{ TL_VIEW_STATES | TL_VIEW_ALL_CPUS | TL_VIEW_OFF_STACKS,
	  "when the thread waited for a CPU that a daemon had, and what it slept for",
	  "-e sched:sched_switch -e sched:sched_waking" },
	{ TL_VIEW_SAMPLES | TL_VIEW_STACKS,
	  "what the thread did on a CPU: spinning for locks, zeroing, compacting",
	  "-e cpu-clock/freq=199/" },
	{ TL_VIEW_COLLAPSE, "when khugepaged collapsed pages, and thereby held mmap_lock",
	  BOTH_ENDS },
	{ TL_VIEW_COMPACTION, "when, and for what order, memory was compacted",
	  "-e compaction:mm_compaction_begin -e compaction:mm_compaction_end -e "
	  "compaction:mm_compaction_try_to_compact_pages" },
	{ TL_VIEW_RECLAIM, "when, and for what order, memory was reclaimed",
	  "-e vmscan:mm_vmscan_direct_reclaim_begin -e vmscan:mm_vmscan_direct_reclaim_end" },
};

static void miss(struct list *l, const char *what, const char *command)
{
	struct tl_thp *out = l->w->out;

	if (l->status == TL_OK && !command)
		l->status = TL_NOMEM;
	if (l->status == TL_OK)
		l->status = tl_grow(&out->missing, &l->capacity, out->missing_count + 1, l->err);
	if (l->status == TL_OK)
		out->missing[out->missing_count++] = (struct tl_thp_missing) { what, command };
}

/* What perf would have recorded, each and all at once. */
static void miss_events(struct list *l)
{
	struct tl_thp *out = l->w->out;
	unsigned has = l->w->view.has | (l->w->has_off_stacks ? TL_VIEW_OFF_STACKS : 0);
	struct tl_text all = { 0 };
	size_t count = 0;

	tl_text_puts(&all, PERF);
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		const struct need *n = &needs[i];

		if ((has & n->all) == n->all)
			continue;
		miss(l, n->what, tl_thp_say(out, l->err, PERF " %s", n->events));
		tl_text_printf(&all, " %s", n->events);
		count++;
	}
	if (l->w->has_moments) {
		miss(l, "both the begin and the end of collapses: how long each held mmap_lock",
		     PERF " " BOTH_ENDS);
		tl_text_puts(&all, " " BOTH_ENDS);
		count++;
	}
	if (all.failed && l->status == TL_OK)
		l->status = tl_fail(l->err, TL_NOMEM, "out of memory");
	if (count > 1 && l->status == TL_OK)
		miss(l, "all of that at once", tl_thp_say(out, l->err, "%s", all.data));
	tl_text_release(&all);
}

static int find_missing(struct tl_thp_work *w, struct tl_error *err)
{
	struct list l = { .w = w, .err = err };
	unsigned has = w->view.has;

	miss_events(&l);
	if (has & (TL_VIEW_STACKS | TL_VIEW_OFF_STACKS) && !(has & TL_VIEW_KERNEL_SYMBOLS))
		miss(&l, "what functions of the kernel the thread was in",
		     "sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=-1, record as root, "
		     "then perf archive, and here --buildid-dir perf.data.tar.bz2");
	if (w->count[TL_PART_UNKNOWN_ORDER] && has & TL_VIEW_COMPACTION)
		miss(&l, "for what order the thread compacted memory",
		     PERF " -e compaction:mm_compaction_try_to_compact_pages");
	if (w->model.slow_count >= 3 && w->view.sample_count &&
	    w->view.sample_count < FEW_SAMPLES * w->n)
		miss(&l, "enough samples: there are fewer than five of the thread in a step",
		     PERF " -e cpu-clock/freq=997/");
	if (w->view.lossy_slow_count)
		miss(&l,
		     "what the recorder lost in slow steps: larger buffers, and no more events than "
		     "are needed",
		     PERF " -m 64M -e sched:sched_switch -e sched:sched_waking -e "
			  "cpu-clock/freq=199/");
	return l.status;
}

/* ---- the paragraph --------------------------------------------------------------------------- */

static const char *mechanism_words(enum tl_thp_mechanism mechanism)
{
	switch (mechanism) {
	case TL_THP_DIRECT:
		return "making its own huge pages (compacting, reclaiming, zeroing, splitting)";
	case TL_THP_STOLEN:
		return "waiting for a CPU that daemons of memory management have";
	case TL_THP_LOCK:
		return "waiting for locks, chiefly mmap_lock, that khugepaged's collapses hold";
	case TL_THP_ACTIVITY:
	case TL_THP_OTHER:
		break;
	}
	return "";
}

static void say_uncovered(struct tl_text *t, const struct tl_step_view *v)
{
	if (v->uncovered_count)
		tl_text_printf(t,
			       " %zu of %zu steps (%zu slow ones) lie outside of what %.100s "
			       "recorded, and are left out.",
			       v->uncovered_count, v->step_count, v->uncovered_slow_count,
			       v->main_source);
	if (v->lossy_slow_count)
		tl_text_printf(
			t,
			" The recorder lost records in %zu of %zu slow steps: what happened in "
			"them is known in part.",
			v->lossy_slow_count, v->slow_count);
}

static void say_steps(struct tl_text *t, const struct tl_thp *out, int64_t steps_per_row)
{
	char baseline[32], more[32];
	double mean = out->slow_count ? out->excess_ns / (double)out->slow_count : 0;

	if (out->slow_count < 3) {
		tl_text_printf(t, " Of %zu steps %zu are slow", out->step_count, out->slow_count);
		if (out->good_count)
			tl_text_printf(t, "; the baseline is %s (%zu steps)",
				       ms(baseline, sizeof(baseline), out->baseline_ns),
				       out->good_count);
		tl_text_puts(t, ".");
	} else {
		tl_text_printf(t,
			       " %zu slow steps (%lld to %lld) take %s longer than the baseline of "
			       "%s (%zu steps).",
			       out->slow_count, (long long)out->first_slow,
			       (long long)out->last_slow, ms(more, sizeof(more), mean),
			       ms(baseline, sizeof(baseline), out->baseline_ns), out->good_count);
	}
	if (steps_per_row > 1)
		tl_text_printf(t, " Each of these is a line of the log that stands for %lld steps.",
			       (long long)steps_per_row);
	if (out->apart_count)
		tl_text_printf(t, " %zu %s slow in another way, as by a checkpoint, and left out.",
			       out->apart_count, out->apart_count == 1 ? "step is" : "steps are");
}

static enum tl_thp_mechanism largest(const struct tl_thp *out)
{
	enum tl_thp_mechanism best = TL_THP_LOCK;

	for (int i = 0; i < TL_THP_MECHANISM_COUNT; i++) {
		/* unknown ones are not a number, and larger than nothing */
		if (!(out->mechanism_share[i] <= out->mechanism_share[best]) &&
		    isfinite(out->mechanism_share[i]))
			best = (enum tl_thp_mechanism)i;
	}
	return best;
}

static void say_spinning(struct tl_text *t, const struct tl_thp_work *w)
{
	double spinning = 0, all = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (w->steps.role[i] != TL_THP_ROLE_SLOW)
			continue;
		spinning += w->part[TL_PART_LOCK_SPINNING][i];
		all += w->lock[i];
	}
	if (spinning > 0)
		tl_text_printf(t, "; %.0f %% of these waits spin on a CPU", 100 * spinning / all);
}

/* Else there may be more of it, and no bound from above. */
static bool sees_all(const struct tl_thp *out)
{
	return out->is_seen[TL_THP_DIRECT] && out->is_seen[TL_THP_STOLEN] &&
	       out->is_seen[TL_THP_LOCK];
}

static void say_share(struct tl_text *t, const struct tl_thp_work *w)
{
	const struct tl_thp *out = w->out;
	enum tl_thp_mechanism chief = largest(out);
	char each[32];

	if (!sees_all(out) && !is_at_work(out) && isfinite(w->rest_high))
		tl_text_printf(t,
			       " What else was seen leaves at most %.1f %% of that for memory "
			       "management.",
			       100 * (w->rest_high < 1 ? w->rest_high : 1));
	if (!isfinite(out->share))
		return;
	if (is_at_work(out)) {
		double slow = (double)out->slow_count;

		tl_text_printf(
			t,
			" Memory management makes %s%.0f %% of that (95 %% CI %.0f to %.0f "
			"%%%s). The largest part, %.0f %% or %s a step, is thread %s (%lld) %s",
			sees_all(out) ? "" : "at least ", 100 * out->share, 100 * out->share_low,
			100 * out->share_high, sees_all(out) ? "" : " in what could be seen",
			100 * out->mechanism_share[chief],
			ms(each, sizeof(each), out->mechanism_share[chief] * out->excess_ns / slow),
			out->thread, (long long)out->tid, mechanism_words(chief));
		if (chief == TL_THP_LOCK)
			say_spinning(t, w);
		tl_text_puts(t, ".");
	} else if (sees_all(out)) {
		tl_text_printf(t,
			       " What memory management is seen to do explains %.1f %% of that, at "
			       "most %.1f %%.",
			       100 * (out->share > 0 ? out->share : 0),
			       100 * (out->share_high > 0 ? out->share_high : 0));
	} else if (out->share >= 0.005) {
		tl_text_printf(t, " What memory management is seen to do explains %.1f %% of that.",
			       100 * out->share);
	}
}

/* What could have been missed is not said not to have been. */
static const char *idle_words(const struct tl_thp_work *w)
{
	if (w->has_sampled_daemons)
		return " No sample met a daemon of huge pages at work; what is shorter than the time "
		       "between samples is seldom met.";
	if (!(w->view.has & TL_VIEW_DAEMONS))
		return " No collapse by khugepaged was recorded during the steps.";
	if (w->view.lossy_slow_count)
		return " No daemon of huge pages is seen at work during the steps.";
	return " No daemon of huge pages was at work during the steps.";
}

static void say_activity(struct tl_text *t, const struct tl_thp_work *w)
{
	double sum = 0;
	char time[32];

	if (w->has_moments)
		tl_text_printf(t,
			       " khugepaged collapsed pages during the steps, %llu times; for how "
			       "long each held mmap_lock was not recorded.",
			       (unsigned long long)w->count[TL_PART_COLLAPSES]);
	if (!w->out->sees_activity || w->has_daemon_counters || is_at_work(w->out))
		return;
	for (size_t i = 0; i < w->n; i++)
		sum += w->activity[i];
	if (sum > 0)
		tl_text_printf(t, " Daemons of huge pages were at work for %s during the steps.",
			       ms(time, sizeof(time), sum));
	else
		tl_text_puts(t, idle_words(w));
}

static void say_chance(struct tl_text *t, const struct tl_thp_work *w)
{
	if (w->has_overlap && is_at_work(w->out) && largest(w->out) == TL_THP_LOCK)
		tl_text_printf(
			t,
			" These waits lie in collapses %.1f times as long as chance would have "
			"it (p = %.2g).",
			isfinite(w->overlap.ratio) ? w->overlap.ratio : 999.9, w->overlap.p);
	if (is_at_work(w->out) && !w->model.within_offset.stratum_count)
		tl_text_puts(t,
			     " With fewer than three checkpoints step times alone cannot tell what "
			     "they do from what huge pages do: the time of the mechanism decides.");
}

static void say_unseen(struct tl_text *t, const struct tl_thp *out)
{
	static const char *const words[] = { "its own compaction, reclaim and zeroing",
					     "CPUs taken by daemons", "locks held by collapses" };
	bool is_first = true;

	for (int i = 0; i < TL_THP_MECHANISM_COUNT; i++) {
		if (out->is_seen[i])
			continue;
		tl_text_printf(t, "%s%s", is_first ? " Not observable in full: " : ", ", words[i]);
		is_first = false;
	}
	if (!out->sees_activity) {
		tl_text_printf(t, "%swhat daemons did",
			       is_first ? " Not observable in full: " : ", ");
		is_first = false;
	}
	if (!is_first)
		tl_text_puts(t, ".");
}

/* What it would be, if it were huge pages. */
static void say_possible(struct tl_text *t, const struct tl_thp *out)
{
	char more[32];

	for (size_t i = 0; i < out->evidence_count; i++) {
		const struct tl_thp_evidence *e = &out->evidence[i];

		if (e->is_possible_only && isfinite(e->share))
			tl_text_printf(
				t,
				" Of a slow step %s more are %s: %.0f %% of the excess (95 %% "
				"CI %.0f to %.0f %%).",
				ms(more, sizeof(more), e->slow_ns - e->good_ns), e->what,
				100 * e->share, 100 * e->share_low, 100 * e->share_high);
	}
}

static int write_text(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_thp *out = w->out;
	struct tl_text t = { 0 };
	int ret = TL_OK;

	tl_text_printf(&t, "%s: %s.", out->verdict, out->reason);
	say_steps(&t, out, w->view.steps_per_row);
	say_uncovered(&t, &w->view);
	say_share(&t, w);
	say_activity(&t, w);
	say_possible(&t, out);
	say_chance(&t, w);
	say_unseen(&t, out);
	out->text = t.failed ? NULL : tl_arena_copy(out->memory, t.data, t.length, err);
	if (!out->text)
		ret = t.failed ? tl_fail(err, TL_NOMEM, "out of memory") : TL_NOMEM;
	tl_text_release(&t);
	return ret;
}

int tl_thp_find_words(struct tl_thp_work *w, struct tl_error *err)
{
	int ret;

	if ((ret = find_contradictions(w, err)) < 0 || (ret = find_missing(w, err)) < 0 ||
	    (ret = tl_thp_find_advice(w, err)) < 0)
		return ret;
	return write_text(w, err);
}
