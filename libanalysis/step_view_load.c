/*
 * step_view_load.c - what the thread that carries the steps did: its states, who had its CPU, its
 * system calls, its profiler's spans, its samples. Declared in step_view.h.
 */
#include "step_view.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "sample_blocks.h"

static int64_t first_ns(const struct tl_step_view *view)
{
	return view->steps[0].begin_ns;
}

static int64_t last_ns(const struct tl_step_view *view)
{
	return view->steps[view->step_count - 1].end_ns;
}

/* A column that is an id, or 0. */
static int64_t column_or(struct tl_statement *st, int column, int64_t none)
{
	return tl_column_is_null(st, column) ? none : tl_column_i64(st, column);
}

static int intern_column(struct tl_step_view *view, struct tl_statement *st, int column,
			 uint32_t *id, struct tl_error *err)
{
	size_t length;
	const char *text = tl_column_text(st, column, &length);

	return tl_intern(&view->texts, text ? text : "", text ? length : 0, id, err);
}

/* ---- sources ---- */

static int join_source(struct tl_step_view *view, int64_t source_id, struct tl_error *err)
{
	int ret;

	for (size_t i = 0; i < view->joined_count; i++)
		if (view->joined[i] == source_id)
			return TL_OK;
	ret = tl_grow(&view->joined, &view->joined_capacity, view->joined_count + 1, err);
	if (ret == TL_OK)
		view->joined[view->joined_count++] = source_id;
	return ret;
}

/* The cycles of a profiler are a source each. */
static int join_own_sources(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st;
	int ret =
		tl_statement_open(&st, view->store,
				  "SELECT source_id FROM step WHERE series = ? GROUP BY source_id "
				  "ORDER BY min(position)",
				  "source_id", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->series);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		ret = join_source(view, tl_column_i64(st, 0), err);
	tl_statement_close(st);
	view->own_count = view->joined_count;
	return ret;
}

/* The best source of several: the first row's first column, 0 if there is none. */
static int best_source(struct tl_step_view *view, const char *sql, int64_t *source_id,
		       struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, view->store, sql, "source", err);

	*source_id = 0;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->thread_id);
	ret = tl_statement_step(st, err);
	if (ret > 0)
		*source_id = tl_column_i64(st, 0);
	tl_statement_close(st);
	if (ret > 0)
		ret = join_source(view, *source_id, err);
	return ret < 0 ? ret : TL_OK;
}

static int exists(struct tl_step_view *view, const char *sql, int64_t parameter, unsigned flag,
		  struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, view->store, sql, "found", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, parameter);
	ret = tl_statement_step(st, err);
	if (ret > 0)
		view->has |= flag;
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

/* ---- states ---- */

static enum tl_sched_state state_of(const char *name, size_t length)
{
	static const struct {
		const char *name;
		enum tl_sched_state state;
	} names[] = {
		{ "running", TL_SCHED_RUNNING },   { "runnable", TL_SCHED_RUNNABLE },
		{ "sleeping", TL_SCHED_SLEEPING }, { "uninterruptible", TL_SCHED_UNINTERRUPTIBLE },
		{ "stopped", TL_SCHED_STOPPED },   { "exited", TL_SCHED_EXITED },
		{ "parked", TL_SCHED_PARKED },	   { "idle", TL_SCHED_IDLE }
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == length && !memcmp(names[i].name, name, length))
			return names[i].state;
	return TL_SCHED_OFF;
}

enum { STATE_TS, STATE_DUR, STATE_NAME, STATE_CPU, STATE_STACK, STATE_WAKER, STATE_WAKER_STACK };

static int add_state(struct tl_step_view *view, size_t *capacity, struct tl_statement *st,
		     struct tl_error *err)
{
	struct tl_view_state s = { .begin_ns = tl_column_i64(st, STATE_TS),
				   .cpu = (int32_t)column_or(st, STATE_CPU, -1),
				   .stack_id = column_or(st, STATE_STACK, 0),
				   .waker_id = column_or(st, STATE_WAKER, 0),
				   .waker_stack_id = column_or(st, STATE_WAKER_STACK, 0) };
	size_t length;
	const char *name = tl_column_text(st, STATE_NAME, &length);
	int ret;

	s.state = state_of(name, length);
	s.end_ns = tl_call_end(s.begin_ns, column_or(st, STATE_DUR, 0));
	if (view->state_count && s.begin_ns < view->states[view->state_count - 1].end_ns)
		s.begin_ns = view->states[view->state_count - 1].end_ns;
	if (s.end_ns <= s.begin_ns || s.end_ns <= first_ns(view))
		return TL_OK;
	if (s.waker_id)
		view->has |= TL_VIEW_WAKERS;
	if (s.stack_id)
		view->has |= TL_VIEW_OFF_STACKS;
	view->has |= TL_VIEW_STATES;
	ret = tl_grow(&view->states, capacity, view->state_count + 1, err);
	if (ret == TL_OK)
		view->states[view->state_count++] = s;
	return ret;
}

static int find_all_cpus(struct tl_step_view *view, int64_t source_id, struct tl_error *err)
{
	int ret =
		exists(view,
		       "SELECT 1 AS found FROM source_meta WHERE source_id = ? AND key = 'target' "
		       "AND value = 'all_cpus'",
		       source_id, TL_VIEW_ALL_CPUS | TL_VIEW_DAEMONS, err);

	/* the end of idling is told by the idle thread alone: of one process there are but begins */
	if (ret == TL_OK)
		ret = exists(
			view,
			"SELECT 1 AS found FROM thread t JOIN thread_state z USING (thread_id) "
			"WHERE t.tid = 0 AND z.dur > 0 AND z.source_id = ? LIMIT 1",
			source_id, TL_VIEW_ALL_CPUS | TL_VIEW_DAEMONS, err);
	return ret;
}

int tl_view_load_states(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st = NULL;
	size_t capacity = 0;
	int64_t source = 0;
	int ret = join_own_sources(view, err);

	if (ret == TL_OK)
		ret = best_source(
			view,
			"SELECT source_id AS source FROM thread_state WHERE thread_id = ? "
			"GROUP BY source_id ORDER BY count(*) DESC, source_id LIMIT 1",
			&source, err);
	if (ret < 0 || !source)
		return ret;
	view->main_source_id = source;
	/* what was still so when the recording ended lasted until then */
	ret = tl_statement_open(
		&st, view->store,
		"SELECT z.ts AS ts, coalesce(z.dur, CASE WHEN z.ts = (SELECT max(ts) FROM "
		"thread_state WHERE thread_id = ?1) THEN s.last_ts - z.ts END) AS dur, "
		"z.state AS state, z.cpu AS cpu, z.stack_id AS stack, z.waker_thread_id AS waker, "
		"z.waker_stack_id AS waker_stack FROM thread_state z JOIN source s USING (source_id) "
		"WHERE z.thread_id = ?1 AND z.source_id = ?2 AND z.ts < ?3 ORDER BY z.ts",
		"ts dur state cpu stack waker waker_stack", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->thread_id);
	tl_bind_i64(st, 2, source);
	tl_bind_i64(st, 3, last_ns(view));
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = add_state(view, &capacity, st, err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	return ret < 0 ? ret : find_all_cpus(view, source, err);
}

/* ---- who had the CPU ---- */

enum { RUN_THREAD, RUN_TS, RUN_DUR };

/* The latest runs on that CPU that began before the wait's end, back to its begin. */
static int add_runs(struct tl_step_view *view, size_t *capacity, struct tl_statement *st,
		    const struct tl_view_state *wait, struct tl_error *err)
{
	size_t first = view->run_count;
	int ret;

	tl_bind_i64(st, 1, wait->cpu);
	tl_bind_i64(st, 2, wait->end_ns);
	while ((ret = tl_statement_step(st, err)) > 0) {
		struct tl_view_run run = { .begin_ns = tl_column_i64(st, RUN_TS),
					   .cpu = wait->cpu };
		int64_t begin = run.begin_ns;

		run.end_ns = tl_call_end(begin, column_or(st, RUN_DUR, 0));
		run.begin_ns = begin > wait->begin_ns ? begin : wait->begin_ns;
		run.end_ns = run.end_ns < wait->end_ns ? run.end_ns : wait->end_ns;
		if (run.end_ns > run.begin_ns) {
			ret = tl_view_thread(view, tl_column_i64(st, RUN_THREAD), &run.thread, err);
			if (ret == TL_OK)
				ret = tl_grow(&view->runs, capacity, view->run_count + 1, err);
			if (ret < 0)
				break;
			view->runs[view->run_count++] = run;
		}
		if (begin <= wait->begin_ns)
			break;
	}
	tl_statement_reset(st);
	/* found backwards */
	for (size_t i = first, j = view->run_count; ret >= 0 && j > i + 1; i++) {
		struct tl_view_run swap = view->runs[i];

		view->runs[i] = view->runs[--j];
		view->runs[j] = swap;
	}
	return ret < 0 ? ret : TL_OK;
}

int tl_view_load_runs(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st = NULL;
	size_t capacity = 0;
	int ret = TL_OK;

	if (!(view->has & TL_VIEW_ALL_CPUS))
		return TL_OK;
	ret = tl_statement_open(&st, view->store,
				"SELECT thread_id, ts, dur FROM thread_state WHERE state = "
				"'running' AND cpu = ?1 AND ts < ?2 ORDER BY ts DESC",
				"thread_id ts dur", err);
	for (size_t i = 0; i < view->state_count && ret == TL_OK; i++) {
		const struct tl_view_state *s = &view->states[i];

		if (s->state == TL_SCHED_RUNNABLE && s->cpu >= 0)
			ret = add_runs(view, &capacity, st, s, err);
	}
	tl_statement_close(st);
	return ret;
}

/* ---- system calls ---- */

static int compare_calls(const void *a, const void *b)
{
	const struct tl_view_call *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static int add_call(struct tl_step_view *view, size_t *capacity, int64_t begin, int64_t end,
		    uint32_t name, struct tl_error *err)
{
	int ret;

	if (end <= begin || end <= first_ns(view) || begin >= last_ns(view))
		return TL_OK;
	ret = tl_grow(&view->calls, capacity, view->call_count + 1, err);
	if (ret == TL_OK)
		view->calls[view->call_count++] =
			(struct tl_view_call) { .begin_ns = begin, .end_ns = end, .name = name };
	return ret;
}

enum { B_COUNT, B_SUM, B_BASE, B_FIRST, B_LAST, B_CALLS, B_NAME, B_TIMING };

static int add_block(struct tl_step_view *view, size_t *capacity, struct tl_statement *st,
		     struct tl_call_entry *entries, struct tl_error *err)
{
	struct tl_call_block block = { .count = (uint32_t)tl_column_i64(st, B_COUNT),
				       .has_times = true,
				       .base_ts = tl_column_i64(st, B_BASE),
				       .first_ts = tl_column_i64(st, B_FIRST),
				       .last_ts = tl_column_i64(st, B_LAST),
				       .duration_sum_ns = tl_column_i64(st, B_SUM) };
	uint32_t name;
	int ret = TL_OK;

	block.key.timing = (uint8_t)tl_column_i64(st, B_TIMING);
	if (block.count < 1 || block.count > TL_CALL_BLOCK_MAX)
		return tl_fail(err, TL_STORE, "a block of %u calls: damaged", block.count);
	block.bytes = tl_column_text(st, B_CALLS, &block.length);
	ret = tl_call_block_read(&block, entries, err);
	if (ret == TL_OK)
		ret = intern_column(view, st, B_NAME, &name, err);
	for (uint32_t i = 0; i < block.count && ret == TL_OK; i++)
		if (entries[i].duration_ns > 0)
			ret = add_call(view, capacity, entries[i].ts,
				       tl_call_end(entries[i].ts, entries[i].duration_ns), name,
				       err);
	return ret;
}

/* Calls that were not over when the log ended: often the finding. */
static int add_open_calls(struct tl_step_view *view, size_t *capacity, int64_t source,
			  struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT c.ts AS ts, s.last_ts AS last, n.text AS name FROM syscall c JOIN source s "
		"USING (source_id) JOIN string n ON n.string_id = c.name_id WHERE c.outcome > 1 AND "
		"c.outcome = 4 AND c.kind = 0 AND c.thread_id = ?1 AND c.source_id = ?2 AND c.ts IS "
		"NOT NULL",
		"ts last name", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->thread_id);
	tl_bind_i64(st, 2, source);
	while ((ret = tl_statement_step(st, err)) > 0) {
		uint32_t name;

		ret = intern_column(view, st, 2, &name, err);
		if (ret == TL_OK)
			ret = add_call(view, capacity, tl_column_i64(st, 0), tl_column_i64(st, 1),
				       name, err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	return ret;
}

static int note_importer(struct tl_step_view *view, int64_t source, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, view->store,
				    "SELECT importer FROM source WHERE source_id = ?", "importer",
				    err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source);
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		size_t length;
		const char *text = tl_column_text(st, 0, &length);

		view->call_importer =
			tl_arena_copy(&view->arena, text ? text : "", text ? length : 0, err);
		ret = view->call_importer ? TL_OK : TL_NOMEM;
	}
	tl_statement_close(st);
	return ret;
}

int tl_view_load_calls(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_call_entry *entries = tl_alloc(TL_CALL_BLOCK_MAX, sizeof(*entries), err);
	struct tl_statement *st = NULL;
	size_t capacity = 0;
	int64_t source = 0;
	/* a tracer's log slows down what it looks at: tracepoints are better where both are there */
	int ret =
		entries ? best_source(view,
				      "SELECT b.source_id AS source FROM call_block b WHERE "
				      "b.thread_id = ? AND b.kind = 0 AND b.base_ts IS NOT NULL "
				      "GROUP BY b.source_id ORDER BY EXISTS (SELECT 1 FROM event e "
				      "WHERE e.source_id = b.source_id) DESC, sum(b.call_count) "
				      "DESC, b.source_id LIMIT 1",
				      &source, err)
			: TL_NOMEM;

	if (ret == TL_OK && source)
		ret = tl_statement_open(
			&st, view->store,
			"SELECT b.call_count AS count, b.dur_sum AS sum, b.base_ts AS base, "
			"b.first_ts AS first, b.last_ts AS last, b.calls AS calls, n.text AS name, "
			"b.timing AS timing FROM call_block b JOIN string n ON n.string_id = "
			"b.name_id WHERE b.thread_id = ?1 AND b.source_id = ?2 AND b.kind = 0 AND "
			"b.base_ts IS NOT NULL AND b.timing < 2 AND b.first_ts < ?3",
			"count sum base first last calls name timing", err);
	if (ret == TL_OK && source) {
		if (!view->main_source_id)
			view->main_source_id = source;
		view->has |= TL_VIEW_CALLS;
		tl_bind_i64(st, 1, view->thread_id);
		tl_bind_i64(st, 2, source);
		tl_bind_i64(st, 3, last_ns(view));
		while ((ret = tl_statement_step(st, err)) > 0) {
			ret = add_block(view, &capacity, st, entries, err);
			if (ret < 0)
				break;
		}
		if (ret == TL_OK)
			ret = add_open_calls(view, &capacity, source, err);
		if (ret == TL_OK)
			ret = note_importer(view, source, err);
	}
	if (view->call_count > 1)
		qsort(view->calls, view->call_count, sizeof(*view->calls), compare_calls);
	tl_statement_close(st);
	free(entries);
	return ret;
}

/* ---- a profiler's spans ---- */

enum { OP_TS, OP_DUR, OP_NAME, OP_CLASS };

static int compare_ops(const void *a, const void *b)
{
	const struct tl_view_op *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

#define HAS_OPS                                                                              \
	"k.kind = 'thread' AND EXISTS (SELECT 1 FROM slice a WHERE a.track_id = k.track_id " \
	"AND a.step IS NULL AND a.dur > 0)"

/* The files of a profiler may each have made a thread of the one that carries the steps. */
#define OWN                                                                                    \
	"k.source_id IN (SELECT source_id FROM step WHERE series = ?4) AND (k.thread_id = ?1 " \
	"OR (?1 IN (SELECT thread_id FROM step WHERE series = ?4) AND k.thread_id IN (SELECT " \
	"thread_id FROM step WHERE series = ?4)))"

/* Do the sources of the steps tell of the thread? They are joined already. */
static int own_ops(struct tl_step_view *view, int64_t *own, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT 1 AS own FROM track k WHERE " OWN " AND " HAS_OPS " LIMIT 1", "own", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->thread_id);
	tl_bind_i64(st, 4, view->series);
	ret = tl_statement_step(st, err);
	*own = ret > 0;
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

/* Python's frames cover everything, and say nothing that the operators do not say better. */
int tl_view_load_ops(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st;
	size_t capacity = 0;
	int64_t source = 0, own = 0;
	int ret = own_ops(view, &own, err);

	if (ret == TL_OK && !own)
		ret = best_source(
			view,
			"SELECT k.source_id AS source FROM track k WHERE k.thread_id = ?1 "
			"AND " HAS_OPS " ORDER BY k.source_id LIMIT 1",
			&source, err);
	if (ret < 0 || (!own && !source))
		return ret;
	ret = tl_statement_open(
		&st, view->store,
		"SELECT a.ts AS ts, a.dur AS dur, n.text AS name, a.class AS class FROM track k "
		"JOIN slice a USING (track_id) JOIN string n ON n.string_id = a.name_id WHERE "
		"CASE WHEN ?5 THEN " OWN
		" ELSE k.thread_id = ?1 AND k.source_id = ?2 END AND a.ts < ?3 AND a.dur > 0 AND a.step IS "
		"NULL AND a.flags = 0 AND a.class NOT IN (9, 11)",
		"ts dur name class", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->thread_id);
	tl_bind_i64(st, 2, source);
	tl_bind_i64(st, 3, last_ns(view));
	tl_bind_i64(st, 4, view->series);
	tl_bind_i64(st, 5, own);
	while ((ret = tl_statement_step(st, err)) > 0) {
		struct tl_view_op op = { .begin_ns = tl_column_i64(st, OP_TS),
					 .class_ = (uint8_t)tl_column_i64(st, OP_CLASS) };

		op.end_ns = tl_call_end(op.begin_ns, tl_column_i64(st, OP_DUR));
		if (op.end_ns <= first_ns(view))
			continue;
		ret = intern_column(view, st, OP_NAME, &op.name, err);
		if (ret == TL_OK)
			ret = tl_grow(&view->ops, &capacity, view->op_count + 1, err);
		if (ret < 0)
			break;
		view->ops[view->op_count++] = op;
	}
	tl_statement_close(st);
	if (view->op_count) {
		view->has |= TL_VIEW_OPS;
		qsort(view->ops, view->op_count, sizeof(*view->ops), compare_ops);
	}
	return ret;
}

/* ---- samples ---- */

struct sums {
	struct sum {
		int64_t stack_id;
		bool is_own;
	} * by_id;
	int64_t max;
};

#define SUM_MAX	      (INT64_C(1) << 28) /* more rows than this are taken for damage */
#define PERIOD_MAX_NS 1000000000	 /* of a sample of time; sums must not overflow */

struct sample_event {
	int64_t event_id, source_id, frequency;
	bool is_ns;
};

enum { EVENT_ID, EVENT_SOURCE, EVENT_NAME, EVENT_UNIT, EVENT_HZ };

/* Samples of time where there are any, else of whatever has most. */
static int choose_event(struct tl_step_view *view, struct sample_event *out, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT e.event_id AS event, e.source_id AS source, e.name AS name, e.unit AS unit, "
		"e.frequency_hz AS hz FROM stack_sum z JOIN event e USING (event_id) WHERE "
		"z.thread_id = ? AND NOT e.is_tracepoint AND NOT e.is_hidden AND (e.unit IS 'ns' OR "
		"e.name LIKE '%cycles%' OR e.name LIKE '%clock%') GROUP BY e.event_id "
		"ORDER BY e.unit IS 'ns' DESC, sum(z.sample_count) DESC, e.event_id LIMIT 1",
		"event source name unit hz", err);

	*out = (struct sample_event) { 0 };
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->thread_id);
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		size_t length;
		const char *unit = tl_column_text(st, EVENT_UNIT, &length);
		const char *name;

		out->event_id = tl_column_i64(st, EVENT_ID);
		out->source_id = tl_column_i64(st, EVENT_SOURCE);
		out->frequency = column_or(st, EVENT_HZ, 0);
		out->is_ns = unit && length == 2 && !memcmp(unit, "ns", 2);
		name = tl_column_text(st, EVENT_NAME, &length);
		view->sample_event =
			tl_arena_copy(&view->arena, name ? name : "", name ? length : 0, err);
		ret = view->sample_event ? TL_OK : TL_NOMEM;
	}
	tl_statement_close(st);
	return ret;
}

static int load_sums(struct tl_step_view *view, int64_t event_id, struct sums *sums,
		     struct tl_error *err)
{
	struct tl_statement *st = NULL;
	int ret = tl_store_value(view->store, "SELECT max(sum_id) FROM stack_sum", 0, &sums->max,
				 err);

	if (ret == TL_OK && (sums->max < 0 || sums->max > SUM_MAX))
		ret = tl_fail(err, TL_STORE, "table stack_sum has the id %lld: damaged",
			      (long long)sums->max);
	if (ret == TL_OK) {
		sums->by_id = tl_alloc((size_t)sums->max + 1, sizeof(*sums->by_id), err);
		ret = sums->by_id ? TL_OK : TL_NOMEM;
	}
	if (ret == TL_OK)
		ret = tl_statement_open(
			&st, view->store,
			"SELECT sum_id, stack_id FROM stack_sum WHERE thread_id = ? "
			"AND event_id = ?",
			"sum_id stack_id", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->thread_id);
	tl_bind_i64(st, 2, event_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, 0);

		if (id <= 0 || id > sums->max)
			continue;
		sums->by_id[id] = (struct sum) { column_or(st, 1, 0), true };
		if (sums->by_id[id].stack_id)
			view->has |= TL_VIEW_STACKS;
	}
	tl_statement_close(st);
	return ret;
}

static int add_samples(struct tl_step_view *view, size_t *capacity, struct tl_statement *st,
		       struct tl_sample_entry *entries, const struct sums *sums,
		       const struct sample_event *event, struct tl_error *err)
{
	struct tl_sample_block block;
	int64_t usual = event->frequency > 0 ? 1000000000 / event->frequency : 0;
	int ret = tl_sample_block_row(st, &block, entries, err);

	for (uint32_t i = 0; i < block.count && ret == TL_OK; i++) {
		const struct tl_sample_entry *e = &entries[i];

		if (e->sum_id <= 0 || e->sum_id > sums->max || !sums->by_id[e->sum_id].is_own ||
		    e->ts < first_ns(view) || e->ts >= last_ns(view))
			continue;
		ret = tl_grow(&view->samples, capacity, view->sample_count + 1, err);
		if (ret == TL_OK)
			view->samples[view->sample_count++] = (struct tl_view_sample) {
				.ts = e->ts,
				.weight_ns = !event->is_ns		 ? usual
					     : e->period < PERIOD_MAX_NS ? (int64_t)e->period
									 : PERIOD_MAX_NS,
				.stack_id = sums->by_id[e->sum_id].stack_id,
			};
	}
	return ret;
}

static int compare_samples(const void *a, const void *b)
{
	const struct tl_view_sample *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return (x->stack_id > y->stack_id) - (x->stack_id < y->stack_id);
}

int tl_view_load_samples(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_sample_entry *entries = tl_alloc(TL_SAMPLE_BLOCK_MAX, sizeof(*entries), err);
	struct tl_statement *st = NULL;
	struct sample_event event = { 0 };
	struct sums sums = { 0 };
	size_t capacity = 0;
	int ret = entries ? choose_event(view, &event, err) : TL_NOMEM;

	if (ret == TL_OK && event.event_id)
		ret = join_source(view, event.source_id, err);
	if (ret == TL_OK && event.event_id)
		ret = load_sums(view, event.event_id, &sums, err);
	if (ret == TL_OK && event.event_id)
		ret = tl_statement_open(&st, view->store,
					"SELECT sample_count, base_ts, first_ts, last_ts, samples "
					"FROM sample_block WHERE source_id = ?1 AND last_ts >= ?2 "
					"AND first_ts < ?3",
					"sample_count base_ts first_ts last_ts samples", err);
	if (ret == TL_OK && event.event_id) {
		tl_bind_i64(st, 1, event.source_id);
		tl_bind_i64(st, 2, first_ns(view));
		tl_bind_i64(st, 3, last_ns(view));
		while ((ret = tl_statement_step(st, err)) > 0) {
			ret = add_samples(view, &capacity, st, entries, &sums, &event, err);
			if (ret < 0)
				break;
		}
	}
	if (view->sample_count) {
		/* switches of the thread tell more, calls less */
		if (!(view->has & TL_VIEW_STATES))
			view->main_source_id = event.source_id;
		view->has |= TL_VIEW_SAMPLES;
		qsort(view->samples, view->sample_count, sizeof(*view->samples), compare_samples);
	}
	tl_statement_close(st);
	free(sums.by_id);
	free(entries);
	return ret;
}
