/*
 * steps_judge.c - what happened to the durations of one series, in numbers and in words. The arithmetic is in
 * steps_model.c; here rows that stand for several steps count for all of them.
 */
#include "steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "step_class.h"
#include "step_pauses.h"
#include "steps_model.h"

#define RANGES_TOLD   5 /* more are dots */
#define VISIBLE_STEPS 6 /* "would six slow steps in a row be seen?" */

static int no_memory(struct tl_error *err)
{
	return tl_fail(err, TL_NOMEM, "out of memory");
}

/* ---- rows that stand for several steps ---- */

int64_t tl_step_first(const struct tl_step *step)
{
	int64_t first;

	return __builtin_sub_overflow(step->number, step->count - 1, &first) ? INT64_MIN : first;
}

int64_t tl_steps_counted(const struct tl_steps_series *s, size_t first, size_t last)
{
	int64_t sum = 0;

	for (size_t i = first; i <= last && i < s->count; i++)
		if (__builtin_add_overflow(sum, s->steps[i].count, &sum))
			return INT64_MAX;
	return sum;
}

static int by_count(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int count_steps(struct tl_steps_series *s, struct tl_error *err)
{
	int64_t *counts;

	s->step_count = s->count ? tl_steps_counted(s, 0, s->count - 1) : 0;
	s->steps_per_row = 1;
	if (s->step_count == (int64_t)s->count)
		return TL_OK;
	counts = tl_alloc(s->count, sizeof(*counts), err);
	if (!counts)
		return TL_NOMEM;
	for (size_t i = 0; i < s->count; i++)
		counts[i] = s->steps[i].count;
	qsort(counts, s->count, sizeof(*counts), by_count);
	s->steps_per_row = counts[s->count / 2];
	free(counts);
	return TL_OK;
}

/* Time of the rows above `level` a step, each step counted. */
static double time_above(const struct tl_steps_series *s, size_t first, size_t end, double level)
{
	double sum = 0;

	for (size_t i = first; i < end; i++)
		sum += (double)s->steps[i].span_ns - level * (double)s->steps[i].count;
	return sum;
}

/* What the model counted in rows, in steps. */
static void count_episode(struct tl_steps_episode *out, const struct tl_steps_series *s,
			  const struct tl_episode *e, double baseline)
{
	double rows = (double)(e->end - e->start);
	size_t back = e->start + e->recover_steps;

	if (s->step_count == (int64_t)s->count)
		return;
	out->excess_ns = time_above(s, e->start, e->end, baseline);
	if (e->has_recovery && e->recover_steps) {
		out->recovery_steps = (size_t)tl_steps_counted(s, e->start, back - 1);
		out->recovery_ns = time_above(s, e->start, back, 0);
	}
	out->half_life_steps *= (double)tl_steps_counted(s, e->start, e->end - 1) / rows;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median_of(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), by_value);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static int make_phases(struct tl_steps_series *s, const struct tl_steps_model *m,
		       struct tl_error *err)
{
	double *scratch = tl_alloc(m->n, sizeof(*scratch), err);
	size_t capacity = 0;
	int ret = scratch ? TL_OK : TL_NOMEM;

	for (size_t first = 0, end; first < m->n && ret == TL_OK; first = end) {
		struct tl_steps_phase *p;

		ret = tl_grow(&s->phases, &capacity, s->phase_count + 1, err);
		if (ret < 0)
			break;
		p = &s->phases[s->phase_count++];
		for (end = first; end < m->n && m->phases[end] == m->phases[first]; end++) {
			scratch[end - first] = (double)s->steps[end].duration_ns;
		}
		p->excess_ns = time_above(s, first, end, m->baseline);
		p->kind = s->steps[first].phase;
		p->first = first;
		p->last = end - 1;
		p->median_ns = median_of(scratch, end - first);
		p->change_ratio = p->median_ns / m->baseline - 1;
	}
	free(scratch);
	return ret;
}

static void copy_episode(struct tl_steps_episode *out, const struct tl_episode *e)
{
	*out = (struct tl_steps_episode) {
		.kind = tl_episode_kind_name(e->kind),
		.confidence = tl_confidence_name(e->confidence),
		.first = e->start,
		.last = e->end - 1,
		.regression_last = e->regression_end ? e->regression_end - 1 : 0,
		.peak = e->peak_step,
		.peak_ratio = e->peak_pct / 100,
		.median_ratio = e->median_pct / 100,
		.excess_ns = e->excess_time,
		.is_recovered = e->is_recovered,
		.has_recovery = e->has_recovery,
		.has_tests = e->has_tests,
		.has_decay = e->has_decay,
		.recovery_steps = e->recover_steps,
		.recovery_ns = e->recover_time,
		.effect_ratio = e->tests.hl_pct / 100,
		.effect_low_ratio = e->tests.hl_low_pct / 100,
		.effect_high_ratio = e->tests.hl_high_pct / 100,
		.p_rank = e->tests.p_mwu,
		.p_window = e->tests.p_window,
		.p_scan = e->tests.p_scan,
		.local_count = e->tests.local_count,
		.window_count = e->tests.window_count,
		.half_life_steps = e->decay.half_life_steps,
		.decay_r2 = e->decay.r2,
	};
}

static bool is_sure(const struct tl_episode *e)
{
	return e->confidence == TL_CONFIDENCE_HIGH || e->confidence == TL_CONFIDENCE_MEDIUM;
}

static bool is_regression(const struct tl_episode *e)
{
	return e->kind == TL_EPISODE_TRANSIENT || e->kind == TL_EPISODE_SHIFT ||
	       e->kind == TL_EPISODE_ONGOING;
}

static int64_t saturate(int64_t a, int64_t b)
{
	int64_t product;

	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* "transient: steps 500-505 are slower by 15.9 % (95 % CI 12.3 to 26.2 %), cost 3.96 s, ...; ..." */
static size_t write_regressions(struct tl_text *t, const struct tl_steps_series *s,
				const struct tl_steps_model *m)
{
	size_t told = 0;

	for (size_t i = 0; i < m->episode_count; i++) {
		const struct tl_episode *e = &m->episodes[i];
		const struct tl_steps_episode *x = &s->episodes[i];

		if (!is_regression(e) || !is_sure(e))
			continue;
		tl_text_printf(t, "%s%s: steps %lld-%lld", told++ ? "; " : "", x->kind,
			       (long long)tl_step_first(&s->steps[x->first]),
			       (long long)s->steps[x->last].number);
		if (s->steps[x->last].number < tl_step_first(&s->steps[x->first]))
			tl_text_puts(t, ", numbers beginning anew between them,");
		tl_text_puts(t, " are slower");
		if (x->has_tests && isfinite(x->effect_ratio))
			tl_text_printf(t, " by %.1f %% (95 %% CI %.1f to %.1f %%)",
				       100 * x->effect_ratio, 100 * x->effect_low_ratio,
				       100 * x->effect_high_ratio);
		tl_text_printf(t, ", cost %.3g s", x->excess_ns / 1e9);
		/* three steps in the band may be followed by others that are not */
		if (x->is_recovered && x->has_recovery)
			tl_text_printf(t, ", %s after %zu steps (%.3g s)",
				       (int64_t)x->recovery_steps <
						       tl_steps_counted(s, x->first, x->last)
					       ? "first back in the baseline's band"
					       : "recovered",
				       x->recovery_steps, x->recovery_ns / 1e9);
		tl_text_printf(t, ", confidence %s", x->confidence);
	}
	return told;
}

/*
 * The baseline is what came first and lasted. Where most of the steps are faster than that, a person
 * who looks for slow steps means it.
 */
static void write_improvement(struct tl_text *t, const struct tl_steps_series *s)
{
	int64_t improved = 0, baseline = 0;
	double improved_ns = 0;
	size_t told = 0;

	for (size_t i = 0; i < s->phase_count; i++) {
		const struct tl_steps_phase *p = &s->phases[i];

		if (!strcmp(p->kind, "improved")) {
			improved += tl_steps_counted(s, p->first, p->last);
			improved_ns += p->excess_ns;
		} else if (!strcmp(p->kind, "baseline")) {
			baseline += tl_steps_counted(s, p->first, p->last);
		}
	}
	if (2 * improved <= s->step_count || !baseline || !improved)
		return;
	improved_ns = improved_ns / (double)improved + s->baseline_ns;
	tl_text_printf(t,
		       ": %" PRId64 " of %" PRId64
		       " steps are faster than the first ones; measured "
		       "by them, %" PRId64 " steps are slower by %.1f %%: ",
		       improved, s->step_count, baseline, 100 * (s->baseline_ns / improved_ns - 1));
	for (size_t i = 0; i < s->phase_count; i++) {
		const struct tl_steps_phase *p = &s->phases[i];

		if (strcmp(p->kind, "baseline") != 0)
			continue;
		if (told++ == RANGES_TOLD) {
			tl_text_puts(t, ", ...");
			break;
		}
		tl_text_printf(t, "%s%" PRId64 "-%" PRId64, told > 1 ? ", " : "",
			       tl_step_first(&s->steps[p->first]), s->steps[p->last].number);
	}
}

static void write_no_regression(struct tl_text *t, const struct tl_steps_series *s,
				const struct tl_steps_model *m)
{
	tl_text_puts(t, tl_steps_verdict_name(m->verdict));
	if (m->verdict == TL_STEPS_IMPROVEMENT)
		write_improvement(t, s);
	if (m->has_drift)
		tl_text_printf(t, ": %+.1f %% from the first step to the last",
			       100 * m->drift.total_ratio);
	if (m->n < TL_STEPS_MIN)
		tl_text_printf(t, ": %zu %s; changes are looked for in %d or more", m->n,
			       s->steps_per_row > 1 ? "rows" : "steps", TL_STEPS_MIN);
	else if (m->verdict == TL_STEPS_NO_CHANGE && isfinite(s->visible_ratio))
		tl_text_printf(t, " of %.0f %% or more over %lld steps", 100 * s->visible_ratio,
			       (long long)saturate(VISIBLE_STEPS, s->steps_per_row));
}

/* A slow start is left out of the judgement; a long one may be what somebody looks for. */
static void write_warmup(struct tl_text *t, const struct tl_steps_series *s,
			 const struct tl_steps_model *m)
{
	const struct tl_steps_phase *p = s->phase_count ? &s->phases[0] : NULL;

	if (m->warmup_count <= TL_SPIKE_STEPS_MAX || !p || p->last + 1 != m->warmup_count)
		return;
	tl_text_printf(t,
		       "; the first %zu steps are slower by %.1f %% (cost %.3g s) and taken for "
		       "warm-up",
		       s->warmup_count, 100 * p->change_ratio, p->excess_ns / 1e9);
}

static void write_pauses(struct tl_text *t, const struct tl_steps_series *s)
{
	size_t longest = 0;

	if (!s->pause_count)
		return;
	for (size_t i = 1; i < s->pause_count; i++)
		if (s->pauses[i].duration_ns > s->pauses[longest].duration_ns)
			longest = i;
	tl_text_printf(t, "; between steps %zu pause%s", s->pause_count,
		       s->pause_count == 1 ? "" : "s");
	if (s->pause_period)
		tl_text_printf(t, " (every %zu steps)", s->pause_period);
	tl_text_printf(t, s->pause_count == 1 ? " of %.3g s" : ", %.3g s in all, the longest",
		       s->pause_total_ns / 1e9);
	if (s->pause_count > 1)
		tl_text_printf(t, " %.3g s", (double)s->pauses[longest].duration_ns / 1e9);
	tl_text_printf(t, " after step %lld", (long long)s->steps[s->pauses[longest].after].number);
}

static void write_verdict(struct tl_text *t, const struct tl_steps_series *s,
			  const struct tl_steps_model *m)
{
	if (!write_regressions(t, s, m))
		write_no_regression(t, s, m);
	write_warmup(t, s, m);
	write_pauses(t, s);
	if (s->steps_per_row > 1)
		tl_text_printf(t, "; a row stands for %lld steps", (long long)s->steps_per_row);
}

int tl_steps_judge(struct tl_store *store, const struct tl_steps_options *options,
		   struct tl_arena *arena, struct tl_steps_series *s, struct tl_error *err)
{
	const struct tl_model_options opt = { .min_change = options->min_change > 0
								    ? options->min_change
								    : TL_STEPS_MIN_CHANGE,
					      .kappa = TL_KAPPA };
	struct tl_steps_model m = { 0 };
	struct tl_text verdict = { 0 };
	size_t capacity = 0;
	double *x = tl_alloc(s->count, sizeof(*x), err);
	int ret = x ? count_steps(s, err) : TL_NOMEM;

	for (size_t i = 0; i < s->count && ret == TL_OK; i++)
		x[i] = (double)s->steps[i].span_ns / (double)s->steps[i].count;
	if (ret == TL_OK)
		ret = tl_steps_model(&m, x, s->count, &opt, err);
	free(x);
	if (ret < 0)
		return ret;
	s->baseline_ns = m.baseline;
	s->baseline_count = (size_t)saturate((int64_t)m.baseline_count, s->steps_per_row);
	s->sigma_ratio = m.sigma_base;
	s->warmup_count = m.warmup_count ? (size_t)tl_steps_counted(s, 0, m.warmup_count - 1) : 0;
	s->visible_ratio = tl_steps_visible_ratio(&m, VISIBLE_STEPS);
	s->period = m.has_period ? (size_t)saturate((int64_t)m.period.period, s->steps_per_row) : 0;
	s->has_drift = m.has_drift;
	s->drift_ratio = m.has_drift ? m.drift.total_ratio : 0;
	s->is_alarm = m.has_drift && m.drift.total_ratio > 0;
	for (size_t i = 0; i < m.n; i++)
		s->steps[i].phase = tl_phase_name((enum tl_phase)m.phases[i]);
	ret = tl_step_classify(store, s, &m, err);
	if (ret == TL_OK)
		ret = make_phases(s, &m, err);
	if (ret == TL_OK)
		ret = tl_grow(&s->episodes, &capacity, m.episode_count, err);
	for (size_t i = 0; i < m.episode_count && ret == TL_OK; i++) {
		copy_episode(&s->episodes[s->episode_count], &m.episodes[i]);
		count_episode(&s->episodes[s->episode_count++], s, &m.episodes[i], m.baseline);
		s->is_alarm |= is_regression(&m.episodes[i]) && is_sure(&m.episodes[i]);
	}
	if (ret == TL_OK)
		ret = tl_step_pauses(s, err);
	if (ret == TL_OK) {
		write_verdict(&verdict, s, &m);
		s->verdict = verdict.failed
				     ? NULL
				     : tl_arena_copy(arena, verdict.data, verdict.length, err);
		ret = s->verdict ? TL_OK : no_memory(err);
	}
	tl_text_release(&verdict);
	tl_steps_model_release(&m);
	return ret;
}
