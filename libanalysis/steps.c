/*
 * steps.c - training steps of a case, loaded and judged, and stored for other questions.
 */
#include "steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "source_ranks.h"
#include "stats.h"

static int no_memory(struct tl_error *err)
{
	return tl_fail(err, TL_NOMEM, "out of memory");
}

/* ---- places and numbers ---- */

size_t tl_steps_at(const struct tl_steps_series *s, int64_t ts)
{
	size_t low = 0, high = s->count;
	int64_t since;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->steps[middle].ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !s->steps[low - 1].has_ts ||
	    __builtin_sub_overflow(ts, s->steps[low - 1].ts, &since) ||
	    since >= s->steps[low - 1].span_ns)
		return s->count;
	return low - 1;
}

int tl_steps_stride(const struct tl_steps_series *s, double *stride, struct tl_error *err)
{
	double *strides = tl_alloc(s->count + 1, sizeof(*strides), err);
	size_t count = 0;

	if (!strides)
		return TL_NOMEM;
	for (size_t i = 0; i + 1 < s->count; i++) {
		double next = (double)s->steps[i + 1].number - (double)s->steps[i].number;

		if (next > 0)
			strides[count++] = next;
	}
	*stride = count ? tl_median(strides, count) : 0;
	free(strides);
	return TL_OK;
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
	struct tl_arena *arena;
	int ret;

	memset(out, 0, sizeof(*out));
	if (!opt)
		opt = &none;
	arena = out->memory = tl_alloc(1, sizeof(*arena), err);
	if (!arena)
		return TL_NOMEM;
	ret = tl_steps_load_rows(store, opt, arena, out, err);
	for (size_t i = 0; i < out->series_count && ret == TL_OK; i++)
		ret = tl_steps_judge(store, opt, arena, &out->series[i], err);
	if (ret == TL_OK && !out->series_count && opt->has_rank)
		ret = tl_need_rank(store, opt->rank, err);
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

void tl_steps_series_release(struct tl_steps_series *series)
{
	free(series->steps);
	free(series->more);
	free(series->phases);
	free(series->episodes);
	free(series->pauses);
	memset(series, 0, sizeof(*series));
}

void tl_steps_release(struct tl_steps *steps)
{
	for (size_t i = 0; i < steps->series_count; i++)
		tl_steps_series_release(&steps->series[i]);
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
	struct tl_steps_part part = tl_steps_part(s, 0);
	size_t phase = 0, parts = 1;
	int ret = tl_statement_open(
		&st, store,
		"INSERT INTO step(series, source_id, rank, thread_id, position, number, ts, dur, "
		"step_count, phase_id, class) VALUES(?1, ?2, ?3, (SELECT thread_id FROM thread t JOIN process p "
		"USING (process_id) JOIN source s ON s.host_id = p.host_id WHERE s.source_id = ?2 AND "
		"t.tid = ?4 AND (p.pid IS ?5 OR p.pid IS NULL) ORDER BY EXISTS (SELECT 1 FROM track k "
		"WHERE k.source_id = ?2 AND k.thread_id = t.thread_id) DESC, thread_id LIMIT 1), ?6, ?7, ?8, "
		"?9, ?10, ?11, ?12)",
		NULL, err);

	for (size_t i = 0; i < s->count && ret == TL_OK; i++) {
		const struct tl_step *x = &s->steps[i];

		while (phase + 1 < s->phase_count && s->phases[phase].last < i)
			phase++;
		if (i == part.end)
			part = tl_steps_part(s, parts++);
		tl_bind_i64(st, 1, series);
		tl_bind_i64(st, 2, part.source_id);
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
