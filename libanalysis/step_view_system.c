/*
 * step_view_system.c - what the machine did during the steps: memory management, its daemons, and
 * accelerators with the launches that fed them. Declared in step_view.h.
 */
#include "step_view.h"

#include <stdlib.h>
#include <string.h>

static int64_t column_or(struct tl_statement *st, int column, int64_t none)
{
	return tl_column_is_null(st, column) ? none : tl_column_i64(st, column);
}

static void bind_span(struct tl_step_view *view, struct tl_statement *st, int parameter)
{
	tl_bind_i64(st, parameter, view->steps[0].begin_ns);
	tl_bind_i64(st, parameter + 1, view->steps[view->step_count - 1].end_ns);
}

/* ---- memory management ---- */

static const char *const kinds[TL_MM_KIND_COUNT] = { "compaction", "direct_reclaim", "collapse",
						     "kcompactd", "kswapd" };

enum { A_TS, A_DUR, A_ORDER, A_STATUS, A_THREAD };

static int add_activity(struct tl_step_view *view, size_t *capacity, struct tl_statement *st,
			enum tl_mm_kind kind, struct tl_error *err)
{
	struct tl_view_activity a = { .kind = kind,
				      .begin_ns = tl_column_i64(st, A_TS),
				      .order = (int32_t)column_or(st, A_ORDER, -1),
				      .thread_id = tl_column_i64(st, A_THREAD) };
	size_t length;
	const char *status = tl_column_text(st, A_STATUS, &length);
	int ret;

	if (__builtin_add_overflow(a.begin_ns, column_or(st, A_DUR, 0), &a.end_ns) ||
	    a.end_ns < view->steps[0].begin_ns)
		return TL_OK;
	a.is_own = a.thread_id == view->thread_id;
	a.is_success = status && ((length == 9 && !memcmp(status, "succeeded", 9)) ||
				  (length == 7 && !memcmp(status, "success", 7)));
	ret = tl_grow(&view->activities, capacity, view->activity_count + 1, err);
	if (ret == TL_OK)
		view->activities[view->activity_count++] = a;
	return ret;
}

static int compare_activities(const void *a, const void *b)
{
	const struct tl_view_activity *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return (x->thread_id > y->thread_id) - (x->thread_id < y->thread_id);
}

static int find_events(struct tl_step_view *view, struct tl_error *err)
{
	static const struct {
		const char *sql;
		unsigned flag;
	} events[] = {
		{ "SELECT count(*) FROM event WHERE NOT is_sampled AND name LIKE "
		  "'%mm_compaction_begin%'",
		  TL_VIEW_COMPACTION },
		{ "SELECT count(*) FROM event WHERE NOT is_sampled AND name LIKE "
		  "'%mm_vmscan_direct_reclaim_begin%'",
		  TL_VIEW_RECLAIM },
		{ "SELECT count(*) FROM event WHERE NOT is_sampled AND name LIKE "
		  "'%mm_collapse_huge_page%'",
		  TL_VIEW_COLLAPSE },
		{ "SELECT 1 FROM frame WHERE context = 'kernel' AND symbol_id IS NOT NULL LIMIT 1",
		  TL_VIEW_KERNEL_SYMBOLS },
	};
	int ret = TL_OK;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && ret == TL_OK; i++) {
		int64_t found;

		ret = tl_store_value(view->store, events[i].sql, 0, &found, err);
		view->has |= found ? events[i].flag : 0;
	}
	return ret;
}

int tl_view_load_activities(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st;
	size_t capacity = 0;
	int ret = find_events(view, err);

	if (ret == TL_OK)
		ret = tl_statement_open(&st, view->store,
					"SELECT ts, dur, page_order, status, thread_id FROM "
					"mm_activity WHERE kind = ?1 AND ts < ?3 AND "
					"coalesce(dur, 0) + ts >= ?2 ORDER BY ts",
					"ts dur page_order status thread_id", err);
	if (ret < 0)
		return ret;
	for (int kind = 0; kind < TL_MM_KIND_COUNT && ret == TL_OK; kind++) {
		tl_bind_text(st, 1, kinds[kind], strlen(kinds[kind]));
		bind_span(view, st, 2);
		while ((ret = tl_statement_step(st, err)) > 0) {
			ret = add_activity(view, &capacity, st, (enum tl_mm_kind)kind, err);
			if (ret < 0)
				break;
		}
		tl_statement_reset(st);
	}
	tl_statement_close(st);
	if (view->activity_count > 1)
		qsort(view->activities, view->activity_count, sizeof(*view->activities),
		      compare_activities);
	return ret;
}

/* ---- daemons ---- */

enum { D_TS, D_DUR, D_CPU, D_NAME };

static int compare_runs(const void *a, const void *b)
{
	const struct tl_view_daemon_run *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

int tl_view_load_daemons(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st;
	size_t capacity = 0;
	int ret;

	if (!(view->has & TL_VIEW_DAEMONS))
		return TL_OK;
	ret = tl_statement_open(
		&st, view->store,
		"SELECT z.ts AS ts, z.dur AS dur, z.cpu AS cpu, n.text AS name FROM thread t JOIN "
		"string n ON n.string_id = t.name_id CROSS JOIN thread_state z ON z.thread_id = "
		"t.thread_id WHERE (n.text LIKE 'khugepaged%' OR n.text LIKE 'kcompactd%' OR n.text "
		"LIKE 'kswapd%') AND z.state = 'running' AND z.dur > 0 AND z.ts < ?2 AND z.ts + "
		"z.dur > ?1",
		"ts dur cpu name", err);
	if (ret < 0)
		return ret;
	bind_span(view, st, 1);
	while ((ret = tl_statement_step(st, err)) > 0) {
		struct tl_view_daemon_run run = { .begin_ns = tl_column_i64(st, D_TS),
						  .cpu = (int32_t)column_or(st, D_CPU, -1) };
		size_t length;
		const char *name = tl_column_text(st, D_NAME, &length);

		run.end_ns = run.begin_ns + tl_column_i64(st, D_DUR);
		run.role = name && length > 1 && name[1] == 'h'	  ? TL_ROLE_KHUGEPAGED
			   : name && length > 1 && name[1] == 'c' ? TL_ROLE_KCOMPACTD
								  : TL_ROLE_KSWAPD;
		ret = tl_grow(&view->daemon_runs, &capacity, view->daemon_run_count + 1, err);
		if (ret < 0)
			break;
		view->daemon_runs[view->daemon_run_count++] = run;
	}
	tl_statement_close(st);
	if (view->daemon_run_count > 1)
		qsort(view->daemon_runs, view->daemon_run_count, sizeof(*view->daemon_runs),
		      compare_runs);
	return ret;
}

/* ---- accelerators ---- */

struct launches {
	struct launch {
		int64_t correlation, ts;
	} * items;
	size_t count, capacity;
};

static int compare_launches(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->ts > y->ts) - (x->ts < y->ts);
}

static int load_launches(struct tl_step_view *view, int64_t source_id, struct launches *l,
			 struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT a.correlation AS correlation, a.ts AS ts FROM track k JOIN slice a USING "
		"(track_id) WHERE k.source_id = ?1 AND k.kind = 'thread' AND a.class IN (3, 8) AND "
		"a.correlation IS NOT NULL AND a.ts IS NOT NULL",
		"correlation ts", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = tl_grow(&l->items, &l->capacity, l->count + 1, err);
		if (ret < 0)
			break;
		l->items[l->count++] =
			(struct launch) { tl_column_i64(st, 0), tl_column_i64(st, 1) };
	}
	tl_statement_close(st);
	if (l->count > 1)
		qsort(l->items, l->count, sizeof(*l->items), compare_launches);
	return ret;
}

static int64_t find_launch(const struct launches *l, int64_t correlation)
{
	size_t i;

	TL_VIEW_FIRST(l->items, l->count, correlation, correlation, i);
	return i < l->count && l->items[i].correlation == correlation ? l->items[i].ts : INT64_MIN;
}

static int compare_kernels(const void *a, const void *b)
{
	const struct tl_view_kernel *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

enum { K_TS, K_DUR, K_CORRELATION, K_COLLECTIVE };

static int load_kernels(struct tl_step_view *view, int64_t source_id, const struct launches *l,
			size_t *capacity, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT a.ts AS ts, a.dur AS dur, a.correlation AS correlation, a.class = 5 AS "
		"collective FROM track k JOIN "
		"slice a USING (track_id) WHERE k.source_id = ?3 AND k.kind = 'device' AND a.class "
		"IN (4, 5, 6) AND a.dur > 0 AND a.flags = 0 AND a.ts < ?2 AND a.ts + a.dur > ?1",
		"ts dur correlation collective", err);

	if (ret < 0)
		return ret;
	bind_span(view, st, 1);
	tl_bind_i64(st, 3, source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		struct tl_view_kernel k = { .begin_ns = tl_column_i64(st, K_TS),
					    .launch_ns = INT64_MIN,
					    .is_collective = tl_column_i64(st, K_COLLECTIVE) != 0 };

		k.end_ns = k.begin_ns + tl_column_i64(st, K_DUR);
		if (!tl_column_is_null(st, K_CORRELATION))
			k.launch_ns = find_launch(l, tl_column_i64(st, K_CORRELATION));
		ret = tl_grow(&view->kernels, capacity, view->kernel_count + 1, err);
		if (ret < 0)
			break;
		view->kernels[view->kernel_count++] = k;
	}
	tl_statement_close(st);
	return ret;
}

int tl_view_load_device(struct tl_step_view *view, struct tl_error *err)
{
	size_t capacity = 0;
	int64_t tracks;
	int ret = tl_store_value(view->store, "SELECT 1 FROM track WHERE kind = 'device' LIMIT 1",
				 0, &tracks, err);

	if (ret < 0 || !tracks)
		return ret;
	/* what correlates a launch with a kernel is of one source */
	for (size_t i = 0; i < view->own_count && ret == TL_OK; i++) {
		struct launches l = { 0 };

		ret = load_launches(view, view->joined[i], &l, err);
		if (ret == TL_OK)
			ret = load_kernels(view, view->joined[i], &l, &capacity, err);
		free(l.items);
	}
	if (view->kernel_count) {
		view->has |= TL_VIEW_DEVICE;
		qsort(view->kernels, view->kernel_count, sizeof(*view->kernels), compare_kernels);
	}
	return ret;
}

/* ---- what the recorder lost ---- */

/*
 * A record of loss is written when there is room again, with 0 lost where the recorder counted by event
 * at its end.
 */
int tl_view_load_gaps(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st;
	size_t step = 0;
	int ret = tl_statement_open(&st, view->store,
				    "SELECT ts FROM gap WHERE source_id = ?1 AND kind IN ('lost', "
				    "'lost_samples') AND ts >= ?2 AND ts < ?3 ORDER BY ts",
				    "ts", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->main_source_id);
	bind_span(view, st, 2);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int64_t ts = tl_column_i64(st, 0);

		while (step < view->step_count && view->steps[step].end_ns <= ts)
			step++;
		if (step == view->step_count || view->steps[step].begin_ns > ts)
			continue;
		view->lossy_slow_count += view->steps[step].class_ == TL_STEP_SLOW;
		view->lossy_good_count += view->steps[step].class_ == TL_STEP_GOOD;
		step++; /* each step counts once */
	}
	tl_statement_close(st);
	return ret;
}
