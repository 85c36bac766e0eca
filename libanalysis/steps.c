/*
 * steps.c - training steps of a case, from profiler spans and from logs, and what happened to
 * their durations. The judging is in steps_model.c and comparison.c; here are rows.
 */
#include "steps.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "reader.h"
#include "source_ranks.h"
#include "step_class.h"
#include "step_pauses.h"
#include "steps_model.h"

#define VISIBLE_STEPS 6 /* "would six slow steps in a row be seen?" */

struct loading {
	struct tl_steps *out;
	struct tl_store *store;
	struct tl_arena *arena;
	const struct tl_steps_options *opt;
	/* the series being filled, and what tells the next one from it */
	struct tl_steps_series *series;
	size_t step_capacity;
	int64_t source_id, track_id;
	int32_t rank;
};

static int no_memory(struct tl_error *err)
{
	return tl_fail(err, TL_NOMEM, "out of memory");
}

static const char *copy_column(struct loading *l, struct tl_statement *st, int column, bool *failed)
{
	size_t len;
	const char *text = tl_column_text(st, column, &len);
	char *copy = text ? tl_arena_copy(l->arena, text, len, NULL) : NULL;

	*failed |= text && !copy;
	return copy;
}

/* ---- rows to series ---- */

enum step_column {
	COL_SOURCE,
	COL_TRACK,
	COL_RANK,
	COL_NUMBER,
	COL_TS,
	COL_DUR,
	COL_COUNT,
	COL_SUSPECT,
	COL_PATH,
	COL_PID,
	COL_TID,
	COL_THREAD
};

static const char step_columns[] =
	"source track rank number ts dur step_count suspect path pid tid thread";

/* `number`: what stands for the step's number. */
#define FROM_SLICES(number)                                                                               \
	"SELECT k.source_id AS source, a.track_id AS track, s.rank AS rank, " number                      \
	" AS number, a.ts AS ts, a.dur AS dur, 1 AS step_count, a.flags & 2 AS suspect, s.path AS path, " \
	"p.pid AS pid, t.tid AS tid, n.text AS thread FROM slice a JOIN track k USING "                   \
	"(track_id) JOIN source s USING (source_id) LEFT JOIN thread t USING (thread_id) "                \
	"LEFT JOIN process p USING (process_id) LEFT JOIN string n ON n.string_id = t.name_id "

static const char known_steps_sql[] =
	FROM_SLICES("a.step") "WHERE a.step IS NOT NULL ORDER BY source, track, ts, a.slice_id";

/* A mark without a duration lasts until the next one. */
static const char marks_sql[] =
	"SELECT m.source_id AS source, 0 AS track, m.rank AS rank, m.number AS number, m.ts AS ts, "
	"coalesce(m.dur, lead(m.ts) OVER (PARTITION BY m.source_id, m.rank ORDER BY m.rowid) - m.ts) "
	"AS dur, m.step_count AS step_count, 0 AS suspect, s.path AS path, NULL AS pid, NULL AS tid, NULL AS thread "
	"FROM step_mark m JOIN source s USING (source_id) ORDER BY source, rank, m.rowid";

static bool same_series(const struct loading *l, int64_t source, int64_t track, int32_t rank)
{
	return l->series && l->source_id == source && l->track_id == track && l->rank == rank;
}

static int new_series(struct loading *l, struct tl_statement *st, const char *origin,
		      struct tl_error *err)
{
	struct tl_steps *out = l->out;
	size_t capacity = out->series_count; /* series are few */
	struct tl_steps_series *s;
	bool failed = false;
	int ret = tl_grow(&out->series, &capacity, out->series_count + 1, err);

	if (ret < 0)
		return ret;
	s = &out->series[out->series_count++];
	memset(s, 0, sizeof(*s));
	s->source_id = tl_column_i64(st, COL_SOURCE);
	s->origin = origin;
	s->rank = tl_column_is_null(st, COL_RANK) ? -1 : (int32_t)tl_column_i64(st, COL_RANK);
	s->pid = tl_column_is_null(st, COL_PID) ? -1 : tl_column_i64(st, COL_PID);
	s->tid = tl_column_is_null(st, COL_TID) ? -1 : tl_column_i64(st, COL_TID);
	s->source = copy_column(l, st, COL_PATH, &failed);
	s->thread = copy_column(l, st, COL_THREAD, &failed);
	l->series = s;
	l->step_capacity = 0;
	l->source_id = s->source_id;
	l->track_id = tl_column_i64(st, COL_TRACK);
	l->rank = s->rank;
	return failed ? no_memory(err) : TL_OK;
}

static int add_step(struct loading *l, struct tl_statement *st, const char *origin, int64_t number,
		    struct tl_error *err)
{
	int32_t rank = tl_column_is_null(st, COL_RANK) ? -1 : (int32_t)tl_column_i64(st, COL_RANK);
	struct tl_step *step;
	int ret = TL_OK;

	if (l->opt->has_rank && rank != l->opt->rank)
		return TL_OK;
	if (!same_series(l, tl_column_i64(st, COL_SOURCE), tl_column_i64(st, COL_TRACK), rank))
		ret = new_series(l, st, origin, err);
	if (ret < 0)
		return ret;
	if (tl_column_i64(st, COL_DUR) <= 0 || tl_column_i64(st, COL_SUSPECT)) {
		l->series->left_out++;
		return TL_OK;
	}
	ret = tl_grow(&l->series->steps, &l->step_capacity, l->series->count + 1, err);
	if (ret < 0)
		return ret;
	step = &l->series->steps[l->series->count++];
	step->number = number;
	step->has_ts = !tl_column_is_null(st, COL_TS);
	step->ts = tl_column_i64(st, COL_TS);
	step->span_ns = tl_column_i64(st, COL_DUR);
	step->count = tl_column_i64(st, COL_COUNT) > 1 ? tl_column_i64(st, COL_COUNT) : 1;
	step->duration_ns =
		step->span_ns / step->count + (step->span_ns % step->count * 2 >= step->count);
	step->duration_ns = step->duration_ns > 0 ? step->duration_ns : 1;
	step->phase = step->class_ = NULL;
	return TL_OK;
}

static int load_rows(struct loading *l, const char *sql, const char *origin, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, l->store, sql, step_columns, err);

	l->series = NULL;
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		ret = add_step(l, st, origin, tl_column_i64(st, COL_NUMBER), err);
	tl_statement_close(st);
	return ret;
}

/* ---- steps by the name of their slices ---- */

struct named {
	int64_t name_id, number;
	bool has_number;
};

struct pattern {
	regex_t regex;
	struct named *names; /* by name_id */
	size_t count, capacity;
};

static int match_names(struct loading *l, struct pattern *p, struct tl_error *err)
{
	struct tl_text terminated = { 0 };
	struct tl_statement *st;
	int ret = tl_statement_open(&st, l->store,
				    "SELECT string_id, text FROM string ORDER BY string_id",
				    "string_id text", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		regmatch_t match[2];
		size_t len;
		const char *text = tl_column_text(st, 1, &len);

		terminated.length = 0;
		tl_text_add(&terminated, text, len);
		if (terminated.failed) {
			ret = no_memory(err);
			break;
		}
		if (regexec(&p->regex, terminated.data, 2, match, 0) != 0)
			continue;
		ret = tl_grow(&p->names, &p->capacity, p->count + 1, err);
		if (ret < 0)
			break;
		struct named *n = &p->names[p->count++];
		uint64_t number = 0;

		n->name_id = tl_column_i64(st, 0);
		n->has_number =
			match[1].rm_so >= 0 &&
			tl_parse_u64(terminated.data + match[1].rm_so,
				     (size_t)(match[1].rm_eo - match[1].rm_so), 10, &number) &&
			number <= INT64_MAX;
		n->number = (int64_t)number;
	}
	tl_statement_close(st);
	tl_text_release(&terminated);
	return ret;
}

static const struct named *find_name(const struct pattern *p, int64_t name_id)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->names[middle].name_id < name_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->count && p->names[low].name_id == name_id ? &p->names[low] : NULL;
}

/* On OS threads only: a device repeats the annotations of its host. */
static int load_named(struct loading *l, struct pattern *p, struct tl_error *err)
{
	static const char by_name[] = FROM_SLICES(
		"a.name_id") "WHERE k.kind = 'thread' ORDER BY source, track, ts, a.slice_id";
	struct tl_statement *st;
	int ret = tl_statement_open(&st, l->store, by_name, step_columns, err);

	l->series = NULL;
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		const struct named *n = find_name(p, tl_column_i64(st, COL_NUMBER));

		if (!n)
			continue;
		ret = add_step(l, st, "profiler",
			       n->has_number ? n->number
			       : l->series   ? (int64_t)l->series->count
					     : 0,
			       err);
	}
	tl_statement_close(st);
	return ret;
}

static int load_by_pattern(struct loading *l, struct tl_error *err)
{
	struct pattern p = { 0 };
	int code = regcomp(&p.regex, l->opt->name_pattern, REG_EXTENDED);
	int ret;

	if (code) {
		char why[128];

		regerror(code, &p.regex, why, sizeof(why));
		return tl_fail(err, TL_USAGE, "step name '%s': %s", l->opt->name_pattern, why);
	}
	ret = match_names(l, &p, err);
	if (ret == TL_OK)
		ret = load_named(l, &p, err);
	regfree(&p.regex);
	free(p.names);
	return ret;
}

/* ---- judging ---- */

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
		if (x->is_recovered && x->has_recovery)
			tl_text_printf(t, ", recovered after %zu steps (%.3g s)", x->recovery_steps,
				       x->recovery_ns / 1e9);
		tl_text_printf(t, ", confidence %s", x->confidence);
	}
	return told;
}

static void write_no_regression(struct tl_text *t, const struct tl_steps_series *s,
				const struct tl_steps_model *m)
{
	tl_text_puts(t, tl_steps_verdict_name(m->verdict));
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

static int judge(struct loading *l, struct tl_steps_series *s, struct tl_error *err)
{
	const struct tl_model_options opt = { .min_change = l->opt->min_change > 0
								    ? l->opt->min_change
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
	s->is_alarm = m.has_drift;
	for (size_t i = 0; i < m.n; i++)
		s->steps[i].phase = tl_phase_name((enum tl_phase)m.phases[i]);
	ret = tl_step_classify(l->store, s, &m, err);
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
				     : tl_arena_copy(l->arena, verdict.data, verdict.length, err);
		ret = s->verdict ? TL_OK : no_memory(err);
	}
	tl_text_release(&verdict);
	tl_steps_model_release(&m);
	return ret;
}

/* ---- public ---- */

static bool has_steps(const struct tl_steps *steps)
{
	for (size_t i = 0; i < steps->series_count; i++)
		if (steps->series[i].count)
			return true;
	return false;
}

static size_t count_left_out(const struct tl_steps *steps)
{
	size_t count = 0;

	for (size_t i = 0; i < steps->series_count; i++)
		count += steps->series[i].left_out;
	return count;
}

int tl_steps_load(struct tl_store *store, const struct tl_steps_options *opt, struct tl_steps *out,
		  struct tl_error *err)
{
	static const struct tl_steps_options none = { 0 };
	struct loading l = { .out = out, .store = store, .opt = opt ? opt : &none };
	int ret;

	memset(out, 0, sizeof(*out));
	l.arena = out->memory = tl_alloc(1, sizeof(*l.arena), err);
	if (!l.arena)
		return TL_NOMEM;
	if (l.opt->name_pattern) {
		ret = load_by_pattern(&l, err);
	} else {
		ret = load_rows(&l, known_steps_sql, "profiler", err);
		if (ret == TL_OK)
			ret = load_rows(&l, marks_sql, "log", err);
	}
	for (size_t i = 0; i < out->series_count && ret == TL_OK; i++)
		ret = judge(&l, &out->series[i], err);
	if (ret == TL_OK && !out->series_count && l.opt->has_rank)
		ret = tl_need_rank(store, l.opt->rank, err);
	if (ret == TL_OK && out->series_count && !has_steps(out))
		ret = tl_fail(err, TL_NOTHING,
			      "no steps: none of the %zu that the case holds has a known duration",
			      count_left_out(out));
	if (ret == TL_OK && !out->series_count)
		ret = tl_fail(err, TL_NOTHING,
			      "no steps: a profiler trace needs a schedule and prof.step() "
			      "(ProfilerStep#N), or name its spans with --step-name, or import the "
			      "training log");
	if (ret < 0)
		tl_steps_release(out);
	return ret;
}

void tl_steps_release(struct tl_steps *steps)
{
	for (size_t i = 0; i < steps->series_count; i++) {
		free(steps->series[i].steps);
		free(steps->series[i].phases);
		free(steps->series[i].episodes);
		free(steps->series[i].pauses);
	}
	free(steps->series);
	if (steps->memory) {
		tl_arena_release(steps->memory);
		free(steps->memory);
	}
	memset(steps, 0, sizeof(*steps));
}

/* ---- stored results, for other questions ---- */

static void bind_id(struct tl_statement *st, int parameter, int64_t id, bool is_known)
{
	if (is_known)
		tl_bind_i64(st, parameter, id);
	else
		tl_bind_null(st, parameter);
}

static void bind_text(struct tl_statement *st, int parameter, const char *text)
{
	tl_bind_text(st, parameter, text, text ? strlen(text) : 0);
}

static int store_phases(struct tl_store *store, const struct tl_steps_series *s, int64_t series,
			int64_t first_phase, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store,
				    "INSERT INTO phase(phase_id, series, kind, first_position, "
				    "last_position, median_ns, change_ratio, excess_ns) "
				    "VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
				    NULL, err);

	for (size_t i = 0; i < s->phase_count && ret == TL_OK; i++) {
		const struct tl_steps_phase *p = &s->phases[i];

		tl_bind_i64(st, 1, first_phase + (int64_t)i);
		tl_bind_i64(st, 2, series);
		bind_text(st, 3, p->kind);
		tl_bind_i64(st, 4, (int64_t)p->first);
		tl_bind_i64(st, 5, (int64_t)p->last);
		tl_bind_double(st, 6, p->median_ns);
		tl_bind_double(st, 7, p->change_ratio);
		tl_bind_double(st, 8, p->excess_ns);
		ret = tl_statement_run(st, err);
	}
	tl_statement_close(st);
	return ret;
}

static int store_steps(struct tl_store *store, const struct tl_steps_series *s, int64_t series,
		       int64_t first_phase, struct tl_error *err)
{
	struct tl_statement *st;
	size_t phase = 0;
	int ret = tl_statement_open(
		&st, store,
		"INSERT INTO step(series, source_id, rank, thread_id, position, number, ts, dur, "
		"step_count, phase_id, class) VALUES(?1, ?2, ?3, (SELECT thread_id FROM thread t JOIN process p "
		"USING (process_id) JOIN source s ON s.host_id = p.host_id WHERE s.source_id = ?2 AND "
		"t.tid = ?4 AND (p.pid IS ?5 OR p.pid IS NULL) ORDER BY thread_id LIMIT 1), ?6, ?7, ?8, "
		"?9, ?10, ?11, ?12)",
		NULL, err);

	for (size_t i = 0; i < s->count && ret == TL_OK; i++) {
		const struct tl_step *x = &s->steps[i];

		while (phase + 1 < s->phase_count && s->phases[phase].last < i)
			phase++;
		tl_bind_i64(st, 1, series);
		tl_bind_i64(st, 2, s->source_id);
		bind_id(st, 3, s->rank, s->rank >= 0);
		bind_id(st, 4, s->tid, s->tid >= 0);
		bind_id(st, 5, s->pid, s->pid >= 0);
		tl_bind_i64(st, 6, (int64_t)i);
		tl_bind_i64(st, 7, x->number);
		bind_id(st, 8, x->ts, x->has_ts);
		tl_bind_i64(st, 9, x->span_ns);
		tl_bind_i64(st, 10, x->count);
		tl_bind_i64(st, 11, first_phase + (int64_t)phase);
		bind_text(st, 12, x->class_);
		ret = tl_statement_run(st, err);
	}
	tl_statement_close(st);
	return ret;
}

static void add_number(struct tl_text *t, const char *key, double value)
{
	tl_text_printf(t, "%s\"%s\":", t->length > 1 ? "," : "", key);
	if (isfinite(value))
		tl_text_printf(t, "%.9g", value);
	else
		tl_text_puts(t, "null");
}

static void write_episode(struct tl_text *t, const struct tl_steps_episode *e)
{
	tl_text_puts(t, "{");
	add_number(t, "excess_ns", e->excess_ns);
	add_number(t, "peak_ratio", e->peak_ratio);
	add_number(t, "median_ratio", e->median_ratio);
	if (e->has_tests) {
		add_number(t, "effect_ratio", e->effect_ratio);
		add_number(t, "effect_low_ratio", e->effect_low_ratio);
		add_number(t, "effect_high_ratio", e->effect_high_ratio);
		add_number(t, "p_rank", e->p_rank);
		add_number(t, "p_window", e->p_window);
		add_number(t, "p_scan", e->p_scan);
	}
	if (e->has_recovery) {
		add_number(t, "recovery_steps", (double)e->recovery_steps);
		add_number(t, "recovery_ns", e->recovery_ns);
	}
	if (e->has_decay) {
		add_number(t, "half_life_steps", e->half_life_steps);
		add_number(t, "decay_r2", e->decay_r2);
	}
	tl_text_puts(t, "}");
}

static int store_episodes(struct tl_store *store, const struct tl_steps_series *s, int64_t series,
			  struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, store,
		"INSERT INTO episode(series, kind, first_position, last_position, "
		"confidence, detail) VALUES(?, ?, ?, ?, ?, ?)",
		NULL, err);

	for (size_t i = 0; i < s->episode_count && ret == TL_OK; i++) {
		const struct tl_steps_episode *e = &s->episodes[i];
		struct tl_text detail = { 0 };

		write_episode(&detail, e);
		tl_bind_i64(st, 1, series);
		bind_text(st, 2, e->kind);
		tl_bind_i64(st, 3, (int64_t)e->first);
		tl_bind_i64(st, 4, (int64_t)e->last);
		bind_text(st, 5, e->confidence);
		bind_text(st, 6, detail.data);
		ret = detail.failed ? no_memory(err) : tl_statement_run(st, err);
		tl_text_release(&detail);
	}
	tl_statement_close(st);
	return ret;
}

int tl_steps_derive(struct tl_store *store, struct tl_error *err)
{
	struct tl_error none = { 0 };
	struct tl_steps steps;
	int64_t next_phase = 1;
	int ret = tl_store_execute(store,
				   "DELETE FROM step; DELETE FROM phase; DELETE FROM episode", err);

	if (ret < 0)
		return ret;
	ret = tl_steps_load(store, NULL, &steps, &none);
	if (ret == TL_NOTHING)
		return TL_OK;
	if (ret < 0) {
		if (err && err->status == TL_OK)
			*err = none;
		return ret;
	}
	for (size_t i = 0; i < steps.series_count && ret == TL_OK; i++) {
		const struct tl_steps_series *s = &steps.series[i];

		ret = store_phases(store, s, (int64_t)i + 1, next_phase, err);
		if (ret == TL_OK)
			ret = store_steps(store, s, (int64_t)i + 1, next_phase, err);
		if (ret == TL_OK)
			ret = store_episodes(store, s, (int64_t)i + 1, err);
		next_phase += (int64_t)s->phase_count;
	}
	tl_steps_release(&steps);
	return ret;
}
