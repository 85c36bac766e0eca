/*
 * explain_words.c - the answer of tl_explain in words: parts, the verdict, and what could not be told
 * apart with what to record for it. Declared in explain_answer.h.
 */
#include "explain_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX     4	  /* causes in the verdict */
#define DETAIL_MAX   3	  /* parts of a cause */
#define WORTH	     0.05 /* of the difference: less is not told */
#define UNKNOWN_MUCH 0.05 /* of the slow steps' time */

void tl_explain_put_ns(struct tl_text *text, double ns)
{
	static const struct {
		double from, unit;
		const char *name;
	} units[] = { { 1e9, 1e9, "s" }, { 1e6, 1e6, "ms" }, { 1e3, 1e3, "us" }, { 0, 1, "ns" } };
	size_t i = 0;

	while (fabs(ns) < units[i].from)
		i++;
	tl_text_printf(text, "%.3g %s", ns / units[i].unit, units[i].name);
}

const char *tl_explain_keep(struct tl_explaining *e, struct tl_text *text, struct tl_error *err)
{
	const char *copy = NULL;

	if (text->failed)
		tl_fail(err, TL_NOMEM, "out of memory");
	else
		copy = tl_arena_copy(e->arena, text->data ? text->data : "", text->length, err);
	tl_text_release(text);
	return copy;
}

/* ---- parts ---- */

static bool is_cpu(enum tl_part_cause cause)
{
	return cause >= TL_CAUSE_CPU_KHUGEPAGED && cause <= TL_CAUSE_CPU_UNSEEN;
}

/* "running in munmap, waiting for mmap_lock" */
int tl_explain_part_text(struct tl_explaining *e, const struct tl_part *part, const char **text,
			 struct tl_error *err)
{
	const char *name = part->name ? e->parts.names.strings[part->name - 1].text : NULL;
	struct tl_text t = { 0 };

	if (is_cpu(part->cause)) {
		tl_text_puts(&t, tl_part_cause_words(part->cause));
		if (name &&
		    (part->cause == TL_CAUSE_CPU_OTHER || part->cause == TL_CAUSE_CPU_OWN ||
		     part->cause == TL_CAUSE_CPU_KERNEL || part->cause == TL_CAUSE_CPU_FAMILY))
			tl_text_printf(&t, ": %s", name);
	} else {
		static const char *const how[TL_PART_STATE_COUNT] = { "running",
								      "waiting for a CPU",
								      "asleep",
								      "asleep (uninterruptible)",
								      "off the CPU",
								      "",
								      "" };

		tl_text_puts(&t, how[part->state]);
		if (name && part->cause == TL_CAUSE_OPERATOR)
			tl_text_printf(&t, "%soperator %s", t.length ? " in " : "", name);
		else if (name)
			tl_text_printf(&t, "%sin %s", t.length ? " " : "", name);
		if (part->cause == TL_CAUSE_WAITING && part->state == TL_PART_OFF)
			tl_text_puts(&t, ": what for was not recorded");
		else if (part->cause == TL_CAUSE_SYSCALL || part->cause == TL_CAUSE_OPERATOR)
			tl_text_puts(&t, t.length ? "" : tl_part_cause_words(part->cause));
		else
			tl_text_printf(&t, "%s%s", t.length ? ": " : "",
				       tl_part_cause_words(part->cause));
	}
	*text = tl_explain_keep(e, &t, err);
	return *text ? TL_OK : TL_NOMEM;
}

/* ---- the verdict ---- */

static void put_share(struct tl_text *t, const struct tl_explain_part *p)
{
	tl_text_printf(t, "%.0f %%", 100 * p->share);
	if (isfinite(p->share_low))
		tl_text_printf(t, " (95 %% CI %.0f to %.0f %%)", 100 * p->share_low,
			       100 * p->share_high);
}

/* "running in ", before the name of a call or an operator. */
static void put_how(struct tl_text *t, const char *state)
{
	if (!state || !strcmp(state, "runnable") || !strcmp(state, "wall"))
		return;
	tl_text_printf(t, "%s in ",
		       !strcmp(state, "off")	   ? "off the CPU"
		       : !strcmp(state, "unknown") ? "not known,"
						   : state);
}

/* The parts of a cause that make it up, where there is more to say than its name. */
static void put_details(struct tl_text *t, const struct tl_explain *x,
			const struct tl_explain_part *cause)
{
	size_t told = 0;

	for (size_t i = 0; i < x->part_count && told < DETAIL_MAX; i++) {
		const struct tl_explain_part *p = &x->parts[i];

		if (strcmp(p->cause, cause->cause) != 0 || !p->name || fabs(p->share) < WORTH / 2 ||
		    p->share * cause->share < 0)
			continue;
		tl_text_puts(t, told++ ? ", " : " [");
		put_how(t, p->state);
		tl_text_printf(t, "%s ", p->name);
		tl_text_puts(t, p->difference_ns >= 0 ? "+" : "");
		tl_explain_put_ns(t, p->difference_ns);
	}
	tl_text_puts(t, told ? "]" : "");
}

/* Of the slow steps' waits, per step, what is but an upper bound; cause NULL: all causes. */
static double bound_of(const struct tl_explaining *e, const char *cause)
{
	double ns = 0;

	for (size_t i = 0; i < e->parts.wait_count; i++) {
		const struct tl_part_wait *w = &e->parts.waits[i];
		const char *of = tl_part_cause_name(e->parts.parts[w->part].cause);

		if (e->view.steps[w->step].class_ == TL_STEP_SLOW &&
		    e->view.states[w->state].is_bound && (!cause || !strcmp(of, cause)))
			ns += (double)(w->end_ns - w->begin_ns);
	}
	return ns / (double)e->slow_count;
}

static void put_bound(struct tl_text *t, const struct tl_explaining *e,
		      const struct tl_explain_part *p)
{
	double ns = bound_of(e, p->cause);

	if (ns <= WORTH * p->slow_ns)
		return;
	tl_text_puts(t, " (");
	tl_explain_put_ns(t, ns);
	tl_text_puts(t, " of it at most: when it came back was not recorded)");
}

static void put_cause(struct tl_text *t, const struct tl_explaining *e,
		      const struct tl_explain_part *p)
{
	put_share(t, p);
	tl_text_printf(t, ", %s", p->difference_ns >= 0 ? "+" : "");
	tl_explain_put_ns(t, p->difference_ns);
	tl_text_printf(t, " a step, is %s", p->text);
	put_details(t, e->out, p);
	put_bound(t, e, p);
}

static void put_wall(struct tl_text *t, const struct tl_explain *x)
{
	tl_text_printf(t, "%zu slow step%s took ", x->slow_count, x->slow_count == 1 ? "" : "s");
	tl_explain_put_ns(t, x->slow_ns);
	tl_text_printf(t, "%s, ", x->slow_count == 1 ? "" : " on average");
	tl_explain_put_ns(t, x->difference_ns);
	tl_text_printf(t, " (%.1f %%) longer than %zu good one%s",
		       100 * x->difference_ns / x->good_ns, x->good_count,
		       x->good_count == 1 ? "" : "s");
	if (isfinite(x->low_ns)) {
		tl_text_puts(t, ", 95 % CI ");
		tl_explain_put_ns(t, x->low_ns);
		tl_text_puts(t, " to ");
		tl_explain_put_ns(t, x->high_ns);
	}
	tl_text_puts(t, ". ");
}

/* Does the slowness of single steps follow the parts that make their mean longer? */
static void put_dose(struct tl_text *t, const struct tl_explain *x)
{
	const struct tl_explain_part *p = &x->causes[0];

	if (x->slow_count >= 3 && fabs(p->share - p->dose_share) > 0.2)
		tl_text_printf(t,
			       " From step to step the pattern does not follow: %s makes %.0f %% "
			       "of the variance.",
			       p->text, 100 * p->dose_share);
}

static const struct tl_explain_part *first_starved(const struct tl_explain *x)
{
	for (size_t i = 0; i < x->device_cause_count; i++)
		if (strncmp(x->device_causes[i].cause, "device_", 7) != 0)
			return &x->device_causes[i];
	return NULL;
}

/* Which rank the others wait for in slow steps, if the case has their traces. */
static void put_late_rank(struct tl_text *t, struct tl_explaining *e)
{
	struct tl_error none = { 0 };
	struct tl_steps steps;
	struct tl_ranks ranks;

	if (!e->view.other_rank_count || tl_steps_load(e->store, NULL, &steps, &none) < 0)
		return;
	if (tl_ranks_load(e->store, &steps, 0, &ranks, &none) == TL_OK) {
		if (ranks.slow_late.is_known && ranks.slow_late.rank != e->view.rank)
			tl_text_printf(t, ", and rank %d is late in %zu of %zu slow steps",
				       ranks.slow_late.rank, ranks.slow_late.late_count,
				       ranks.slow_late.step_count);
		tl_ranks_release(&ranks);
	}
	tl_steps_release(&steps);
}

/*
 * Whose time it is, before anything is said of causes: those of the host mean little where the device
 * had work.
 */
static void put_bottleneck(struct tl_text *t, struct tl_explaining *e)
{
	const struct tl_explain *x = e->out;

	if (!x->bottleneck)
		return;
	if (!strcmp(x->bottleneck, "ranks")) {
		tl_text_puts(t, "It waits in a collective for other ranks: the device was there ");
		tl_explain_put_ns(t, x->collective_share * x->difference_ns);
		tl_text_printf(t, " a step longer (%.0f %% of that)", 100 * x->collective_share);
		put_late_rank(t, e);
		tl_text_puts(t, "; what follows is what the host did meanwhile. ");
	} else if (!strcmp(x->bottleneck, "device")) {
		tl_text_puts(t, "It is the device: it had work ");
		tl_explain_put_ns(t, x->device_share * x->difference_ns);
		tl_text_printf(t,
			       " a step longer (%.0f %% of that); what follows is what the host "
			       "did meanwhile. ",
			       100 * x->device_share);
	} else if (!strcmp(x->bottleneck, "both")) {
		tl_text_printf(t,
			       "%.0f %% of that the device starved for the host, %.0f %% it had "
			       "work longer. ",
			       100 * x->starved_share, 100 * x->device_share);
	}
}

/*
 * A host that is late for the device is late by all that it did since they last met: what it did while
 * the device starved is told beside its causes. Work that fell behind hides them there.
 */
static void put_starved(struct tl_text *t, const struct tl_explain *x)
{
	const struct tl_explain_part *first = first_starved(x);

	if (!x->bottleneck || strcmp(x->bottleneck, "host") != 0)
		return;
	tl_text_puts(t, " The device starved for the host ");
	tl_explain_put_ns(t, x->starved_share * x->difference_ns);
	tl_text_printf(t, " a step longer (%.0f %%)", 100 * x->starved_share);
	if (first && x->cause_count && strcmp(first->cause, x->causes[0].cause) != 0 &&
	    first->share > WORTH)
		tl_text_printf(
			t,
			", the largest part of it while the host was in %s (%.0f %%), which the above "
			"had made late",
			first->text, 100 * first->share);
	tl_text_puts(t, ".");
}

static double share_of(const struct tl_explain_part *parts, size_t count, enum tl_part_cause cause,
		       const char *name)
{
	double share = 0;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(parts[i].cause, tl_part_cause_name(cause)) &&
		    (!name || (parts[i].name && !strcmp(parts[i].name, name))))
			share += parts[i].share;
	return share;
}

/* Two causes that are one story. */
static void put_purge(struct tl_text *t, const struct tl_explain *x)
{
	if (share_of(x->parts, x->part_count, TL_CAUSE_MEMORY_CALL, "madvise") > WORTH &&
	    share_of(x->causes, x->cause_count, TL_CAUSE_PAGE_FAULT, NULL) > 2 * WORTH)
		tl_text_puts(t, " Memory is given back (madvise) and faulted in again, page by "
				"page.");
}

static void put_apart(struct tl_text *t, struct tl_explaining *e)
{
	const struct tl_explain *x = e->out;

	for (size_t i = 0; i < e->view.step_count; i++) {
		const struct tl_view_step *s = &e->view.steps[i];
		size_t most = 0;

		if (!s->is_apart)
			continue;
		for (size_t k = 1; k < e->parts.count; k++)
			if (e->parts.parts[k].ns[i] > e->parts.parts[most].ns[i])
				most = k;
		tl_text_printf(t, " Step %lld (", (long long)s->number);
		tl_explain_put_ns(t, (double)(s->end_ns - s->begin_ns));
		tl_text_printf(t,
			       ") is slow in another way and not among them: %.0f %% of it is %s.",
			       100.0 * (double)e->parts.parts[most].ns[i] /
				       (double)(s->end_ns - s->begin_ns),
			       tl_part_cause_words(e->parts.parts[most].cause));
		if (x->apart_count > 3) {
			tl_text_printf(t, " So are %zu more.", x->apart_count - 1);
			break;
		}
	}
}

/* An interval that has 0 in it: perhaps nothing. Few steps have no interval, and are told of as they are. */
static bool is_sure(const struct tl_explain_part *p)
{
	return !isfinite(p->share_low) || p->share_low > 0 || p->share_high < 0;
}

/* The causes that are known: the sure ones, and then those that may be chance. */
static void put_causes(struct tl_text *t, const struct tl_explaining *e)
{
	const struct tl_explain *x = e->out;
	double named = 0;
	size_t told = 0;

	for (int pass = 0; pass < 2; pass++) {
		size_t here = 0;

		for (size_t i = 0; i < x->cause_count && told < TOLD_MAX; i++) {
			const struct tl_explain_part *p = &x->causes[i];

			if (!p->is_named || fabs(p->share) < WORTH || is_sure(p) != (pass == 0))
				continue;
			tl_text_puts(t, here++ ? "; " : pass ? " Perhaps " : "Of that ");
			put_cause(t, e, p);
			named += p->share;
			told++;
		}
		if (!here && !pass)
			tl_text_puts(t, "No part of it stands out");
		if (here || !pass)
			tl_text_puts(t, ".");
		if (here > 1 && !pass)
			tl_text_printf(t, " Together that names %.0f %%.", 100 * named);
	}
}

static void put_unseen(struct tl_text *t, const struct tl_explain *x)
{
	for (size_t i = 0; i < x->cause_count; i++) {
		const struct tl_explain_part *p = &x->causes[i];

		if (!p->is_told || p->is_named || fabs(p->share) < WORTH)
			continue;
		tl_text_puts(t, " ");
		put_share(t, p);
		tl_text_printf(t, ", %s", p->difference_ns >= 0 ? "+" : "");
		tl_explain_put_ns(t, p->difference_ns);
		tl_text_puts(t, " a step, could not be seen");
		put_details(t, x, p);
		tl_text_puts(t, ".");
	}
}

int tl_explain_verdict(struct tl_explaining *e, struct tl_error *err)
{
	struct tl_explain *x = e->out;
	struct tl_text t = { 0 };

	put_wall(&t, x);
	put_bottleneck(&t, e);
	put_causes(&t, e);
	put_unseen(&t, x);
	if (x->slow_count < 3)
		tl_text_puts(&t, " So few slow steps give no interval: this is what happened in "
				 "them, not what is usual.");
	put_purge(&t, x);
	put_starved(&t, x);
	put_dose(&t, x);
	put_apart(&t, e);
	x->verdict = tl_explain_keep(e, &t, err);
	return x->verdict ? TL_OK : TL_NOMEM;
}

/* ---- notes ---- */

static int note(struct tl_explaining *e, const char *text, struct tl_error *err)
{
	struct tl_explain *x = e->out;
	int ret = tl_grow(&x->notes, &e->note_capacity, x->note_count + 1, err);

	if (ret == TL_OK) {
		x->notes[x->note_count] = tl_arena_copy(e->arena, text, strlen(text), err);
		ret = x->notes[x->note_count++] ? TL_OK : TL_NOMEM;
	}
	return ret;
}

/* What is missing, where it would have told something apart. */
static int note_missing(struct tl_explaining *e, struct tl_error *err)
{
	static const struct {
		unsigned missing, although;
		const char *text;
	} notes[] = {
		{ TL_VIEW_STATES, 0,
		  "running and waiting cannot be told apart: no switches of the thread are "
		  "known; record with 'perf record -a -g -k CLOCK_MONOTONIC -e "
		  "sched:sched_switch -e sched:sched_waking'" },
		{ TL_VIEW_ALL_CPUS, TL_VIEW_STATES,
		  "who had the CPU that the thread waited for is not known: only its own switches "
		  "were recorded; record with 'perf record -a'" },
		{ TL_VIEW_OFF_STACKS, TL_VIEW_STATES,
		  "what sleeps were for is known by their system calls only: record switches with "
		  "call chains (-g)" },
		{ TL_VIEW_WAKERS, TL_VIEW_STATES,
		  "who ended the waits, and how much of them was waiting for a CPU, is not known: "
		  "record with -e sched:sched_waking" },
		{ TL_VIEW_SAMPLES, TL_VIEW_STATES,
		  "running time is not divided: no samples of the thread; record with -e "
		  "cpu-clock/freq=199/ too" },
		{ TL_VIEW_STACKS, TL_VIEW_SAMPLES,
		  "page faults and locks on the CPU are not seen: samples have no call chains; "
		  "record with -g" },
		{ TL_VIEW_KERNEL_SYMBOLS, TL_VIEW_STACKS,
		  "functions of the kernel have no names, so locks, page faults and compaction are "
		  "not seen in samples: record as root with kernel.kptr_restrict=0, or import with "
		  "--buildid-dir" },
		{ TL_VIEW_CALLS, TL_VIEW_STATES,
		  "system calls were not recorded: they are known from samples only; record with -e "
		  "raw_syscalls:sys_enter -e raw_syscalls:sys_exit --exclude-perf" },
		{ TL_VIEW_COMPACTION, TL_VIEW_STATES,
		  "direct compaction is known from samples only: record with -e "
		  "compaction:mm_compaction_begin -e compaction:mm_compaction_end -e "
		  "compaction:mm_compaction_try_to_compact_pages" },
		{ TL_VIEW_RECLAIM, TL_VIEW_STATES,
		  "direct reclaim is known from samples only: record with -e "
		  "vmscan:mm_vmscan_direct_reclaim_begin -e vmscan:mm_vmscan_direct_reclaim_end" },
	};
	int ret = TL_OK;

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]) && ret == TL_OK; i++) {
		bool applies = (e->view.has & notes[i].although) == notes[i].although;

		if (applies && !(e->view.has & notes[i].missing))
			ret = note(e, notes[i].text, err);
	}
	return ret;
}

static int note_counts(struct tl_explaining *e, struct tl_error *err)
{
	const struct tl_explain *x = e->out;
	double per_step = (double)x->sample_count / (double)(x->good_count + x->slow_count);
	char text[256];
	int ret = TL_OK;

	if (x->sample_count && per_step < 20) {
		snprintf(text, sizeof(text),
			 "%.3g samples a step: how running time is divided is sure over many steps "
			 "only",
			 per_step);
		ret = note(e, text, err);
	}
	if (ret == TL_OK && e->view.uncovered_count) {
		snprintf(
			text, sizeof(text),
			"%zu of %zu steps are left out (%zu slow, %zu good ones): they lie outside "
			"of what %.80s recorded",
			e->view.uncovered_count, e->view.step_count, e->view.uncovered_slow_count,
			e->view.uncovered_good_count, e->view.main_source);
		ret = note(e, text, err);
	}
	if (ret == TL_OK && e->view.steps_per_row > 1) {
		snprintf(
			text, sizeof(text),
			"a line of the log stands for %lld steps: what is said of a step is said of "
			"%lld together",
			(long long)e->view.steps_per_row, (long long)e->view.steps_per_row);
		ret = note(e, text, err);
	}
	if (ret == TL_OK && e->view.uneven_count) {
		snprintf(text, sizeof(text),
			 "%zu rows are left out: they stand for other numbers of steps",
			 e->view.uneven_count);
		ret = note(e, text, err);
	}
	if (ret == TL_OK && e->view.lossy_slow_count + e->view.lossy_good_count) {
		snprintf(
			text, sizeof(text),
			"the recorder lost records in %zu of %zu slow and %zu of %zu good steps: what "
			"happened in them is known in part; record less, or with larger buffers "
			"(perf record -m 64M)",
			e->view.lossy_slow_count, e->view.slow_count, e->view.lossy_good_count,
			e->view.good_count);
		ret = note(e, text, err);
	}
	if (ret == TL_OK && e->view.overlapping_count) {
		snprintf(text, sizeof(text),
			 "%zu steps are left out: they begin before the step "
			 "before them ends",
			 e->view.overlapping_count);
		ret = note(e, text, err);
	}
	if (ret == TL_OK && e->view.other_rank_count) {
		snprintf(text, sizeof(text),
			 "the steps of %zu other rank(s) are not looked at; --rank chooses",
			 e->view.other_rank_count);
		ret = note(e, text, err);
	}
	return ret;
}

static int note_unknown(struct tl_explaining *e, struct tl_error *err)
{
	const struct tl_explain *x = e->out;
	char text[200];

	for (size_t i = 0; i < x->cause_count; i++) {
		const struct tl_explain_part *p = &x->causes[i];

		if (strcmp(p->cause, tl_part_cause_name(TL_CAUSE_UNKNOWN)) != 0 ||
		    p->slow_ns < UNKNOWN_MUCH * x->slow_ns)
			continue;
		snprintf(text, sizeof(text),
			 "%.0f %% of the slow steps' time is not known: records were lost, or the "
			 "recording does not cover it",
			 100 * p->slow_ns / x->slow_ns);
		return note(e, text, err);
	}
	return TL_OK;
}

static int note_bound(struct tl_explaining *e, struct tl_error *err)
{
	double ns = bound_of(e, NULL);
	char text[200];

	if (ns < WORTH * fabs(e->out->difference_ns))
		return TL_OK;
	snprintf(text, sizeof(text),
		 "%.0f us of waits in a slow step are upper bounds: the recorder missed the switch "
		 "back, they are counted until the thread was seen again",
		 ns / 1e3);
	return note(e, text, err);
}

int tl_explain_notes(struct tl_explaining *e, struct tl_error *err)
{
	int ret = note_unknown(e, err);

	if (ret == TL_OK)
		ret = note_bound(e, err);

	if (ret == TL_OK)
		ret = note_missing(e, err);
	return ret < 0 ? ret : note_counts(e, err);
}
