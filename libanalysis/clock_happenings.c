/*
 * clock_happenings.c - rows of calls, sleeps and spans as happenings of threads.
 */
#include "clock_happenings.h"

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "slices.h"

#define HAPPENINGS_MAX 400000u /* of one source: 16 MB */
#define USEFUL_MIN     5       /* a thread with fewer says nothing */

/* ---- how much there is ---- */

static struct tl_view_thread *find_thread(const struct tl_view *view, int64_t thread_id)
{
	for (size_t i = 0; i < view->thread_count; i++)
		if (view->threads[i].thread_id == thread_id)
			return &view->threads[i];
	return NULL;
}

static int add_counts(struct tl_store *store, struct tl_view *view, const char *sql,
		      enum tl_clock_view which, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store, sql, "thread_id tid count", err);

	if (ret == TL_OK)
		tl_bind_i64(st, 1, view->source_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		struct tl_view_thread *t = find_thread(view, tl_column_i64(st, 0));
		int status = TL_OK;

		if (!t) {
			status = tl_grow(&view->threads, &view->thread_capacity,
					 view->thread_count + 1, err);
			if (status == TL_OK) {
				t = &view->threads[view->thread_count++];
				t->thread_id = tl_column_i64(st, 0);
				t->tid = (int32_t)tl_column_i64(st, 1);
			}
		}
		if (status == TL_OK)
			t->counts[which] = tl_column_i64(st, 2);
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

/* Are the calls of this source those of the kernel's tracepoints? */
static int has_tracepoints(struct tl_store *store, int64_t source_id, bool *has,
			   struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store,
				    "SELECT name FROM event WHERE source_id = ? AND is_tracepoint",
				    "name", err);

	*has = false;
	if (ret == TL_OK)
		tl_bind_i64(st, 1, source_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		size_t length;
		const char *name = tl_column_text(st, 0, &length);
		char text[128];

		if (!name || length >= sizeof(text))
			continue;
		memcpy(text, name, length);
		text[length] = 0;
		*has |= tl_call_is_tracepoint(text);
	}
	tl_statement_close(st);
	return ret;
}

static int by_tid(const void *x, const void *y)
{
	const struct tl_view_thread *a = x, *b = y;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->thread_id < b->thread_id ? -1 : a->thread_id > b->thread_id;
}

int tl_view_load(struct tl_store *store, struct tl_view *view, struct tl_error *err)
{
	bool is_kernel;
	int ret = has_tracepoints(store, view->source_id, &is_kernel, err);

	if (ret == TL_OK)
		ret = add_counts(store, view,
				 "SELECT b.thread_id AS thread_id, t.tid AS tid, sum(b.call_count) "
				 "AS count FROM call_block b JOIN thread t USING (thread_id) "
				 "WHERE b.source_id = ?1 AND b.kind = 0 AND b.base_ts NOT NULL AND "
				 "(SELECT is_complete FROM source WHERE source_id = ?1) "
				 "GROUP BY b.thread_id",
				 is_kernel ? TL_VIEW_KERNEL : TL_VIEW_TRACER, err);
	if (ret == TL_OK)
		ret = add_counts(store, view,
				 "SELECT w.thread_id AS thread_id, t.tid AS tid, count(*) AS count "
				 "FROM thread_state w JOIN thread t USING (thread_id) "
				 "WHERE w.source_id = ?1 AND t.tid > 0 AND w.dur > 100000 AND "
				 "w.state IN ('sleeping', 'uninterruptible', 'idle', 'blocked') "
				 "GROUP BY w.thread_id",
				 TL_VIEW_WAITS, err);
	if (ret == TL_OK)
		ret = add_counts(store, view,
				 "SELECT k.thread_id AS thread_id, t.tid AS tid, count(*) AS count "
				 "FROM " TL_SLICES_AND_TRACKS " CROSS JOIN thread t USING "
				 "(thread_id) WHERE " TL_OF_SOURCE "<> '') AND a.ts NOT NULL AND "
				 "a.dur > 0 AND NOT a.flags & 2 GROUP BY k.thread_id",
				 TL_VIEW_SPANS, err);
	if (view->thread_count)
		qsort(view->threads, view->thread_count, sizeof(*view->threads), by_tid);
	return ret;
}

void tl_view_release(struct tl_view *view)
{
	free(view->threads);
	memset(view, 0, sizeof(*view));
}

/* ---- the happenings themselves ---- */

struct side {
	const struct tl_view *view;
	enum tl_clock_view which;
	bool is_by_name;       /* results are not to be compared */
	struct tl_index index; /* thread_id -> place in `list` */
	int64_t *thread_ids;
	struct list {
		struct tl_happening *items;
		size_t count, capacity;
	} * lists;
	size_t count; /* of threads */
	size_t total;
};

static const char *const queries[TL_VIEW_COUNT] = {
	[TL_VIEW_SPANS] = "SELECT k.thread_id AS thread, a.ts AS ts, a.dur AS dur, a.name_id AS "
			  "name, NULL AS result, NULL AS error FROM " TL_SLICES_AND_TRACKS
			  " WHERE " TL_OF_SOURCE "<> '') AND k.thread_id NOT NULL AND a.ts NOT "
			  "NULL AND a.dur > 0 AND NOT a.flags & 2 ORDER BY a.slice_id",
	[TL_VIEW_TRACER] = "SELECT thread_id AS thread, ts AS ts, dur AS dur, name_id AS name, "
			   "result AS result, error_id AS error FROM syscall WHERE source_id = ? "
			   "AND thread_id NOT NULL AND kind = 0 AND ts NOT NULL ORDER BY "
			   "syscall_id",
	[TL_VIEW_KERNEL] = "SELECT thread_id AS thread, ts AS ts, dur AS dur, name_id AS name, "
			   "result AS result, error_id AS error FROM syscall WHERE source_id = ? "
			   "AND thread_id NOT NULL AND kind = 0 AND ts NOT NULL ORDER BY "
			   "syscall_id",
	[TL_VIEW_WAITS] = "SELECT thread_id AS thread, ts AS ts, dur AS dur, 0 AS name, NULL AS "
			  "result, NULL AS error FROM thread_state WHERE source_id = ? AND "
			  "dur > 100000 AND state IN ('sleeping', 'uninterruptible', 'idle', "
			  "'blocked') ORDER BY rowid",
};
enum { ROW_THREAD, ROW_TS, ROW_DUR, ROW_NAME, ROW_RESULT, ROW_ERROR };

static struct list *find_list(const struct side *side, int64_t thread_id)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&side->index, tl_hash_u64((uint64_t)thread_id, 1), &probe)) >=
	       0)
		if (side->thread_ids[found] == thread_id)
			return &side->lists[found];
	return NULL;
}

static int add_row(struct side *side, struct tl_statement *st, struct tl_error *err)
{
	struct list *list = find_list(side, tl_column_i64(st, ROW_THREAD));
	struct tl_happening h = { .kind = (uint64_t)tl_column_i64(st, ROW_NAME) };
	int ret;

	if (!list || side->total == HAPPENINGS_MAX)
		return TL_OK;
	h.begin = tl_clock_source_time(side->view->line, tl_column_i64(st, ROW_TS));
	if (__builtin_add_overflow(h.begin, tl_column_i64(st, ROW_DUR), &h.end) || h.end < h.begin)
		h.end = h.begin;
	if (h.begin < -TL_HAPPENING_TIME_MAX || h.end > TL_HAPPENING_TIME_MAX)
		return TL_OK; /* no clock shows that: nothing to learn from it */
	ret = tl_grow(&list->items, &list->capacity, list->count + 1, err);
	if (ret < 0)
		return ret;
	h.sign = h.kind;
	if (!side->is_by_name && !tl_column_is_null(st, ROW_ERROR))
		h.sign = tl_hash_u64(h.kind, (uint64_t)tl_column_i64(st, ROW_ERROR));
	else if (!side->is_by_name && !tl_column_is_null(st, ROW_RESULT))
		h.sign = tl_hash_u64(h.kind, ~(uint64_t)tl_column_i64(st, ROW_RESULT));
	list->items[list->count++] = h;
	side->total++;
	return TL_OK;
}

static int by_begin(const void *x, const void *y)
{
	const struct tl_happening *a = x, *b = y;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static void sort(struct list *list)
{
	int64_t latest = INT64_MIN;

	for (size_t i = 1; i < list->count; i++)
		if (list->items[i].begin < list->items[i - 1].begin) {
			qsort(list->items, list->count, sizeof(*list->items), by_begin);
			break;
		}
	for (size_t i = 0; i < list->count; i++) {
		list->items[i].previous_end = latest;
		if (list->items[i].end > latest)
			latest = list->items[i].end;
	}
}

static int load_side(struct tl_store *store, struct side *side, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store, queries[side->which],
				    "thread ts dur name result error", err);

	if (ret == TL_OK)
		tl_bind_i64(st, 1, side->view->source_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_row(side, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	for (size_t i = 0; i < side->count; i++)
		sort(&side->lists[i]);
	return ret;
}

/* ---- which threads ---- */

struct shared {
	int64_t outer, inner; /* thread ids */
	int64_t outer_count, inner_count;
	int32_t tid;
};

static int by_size(const void *x, const void *y)
{
	const struct shared *a = x, *b = y;
	int64_t size_a = a->outer_count + a->inner_count, size_b = b->outer_count + b->inner_count;

	if (size_a != size_b)
		return size_a < size_b ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int find_shared(const struct tl_view *outer, enum tl_clock_view outer_view,
		       const struct tl_view *inner, enum tl_clock_view inner_view,
		       struct shared **out, size_t *count, struct tl_error *err)
{
	size_t capacity = 0;
	int ret = TL_OK;

	*out = NULL;
	*count = 0;
	for (size_t o = 0, i = 0; o < outer->thread_count && ret == TL_OK; o++) {
		const struct tl_view_thread *a = &outer->threads[o], *b;

		while (i < inner->thread_count && inner->threads[i].tid < a->tid)
			i++;
		/* a tid that was used again is several rows: each with each */
		for (size_t k = i;
		     k < inner->thread_count && inner->threads[k].tid == a->tid && ret == TL_OK;
		     k++) {
			b = &inner->threads[k];
			if (a->counts[outer_view] < USEFUL_MIN ||
			    b->counts[inner_view] < USEFUL_MIN)
				continue;
			ret = tl_grow(out, &capacity, *count + 1, err);
			if (ret == TL_OK)
				(*out)[(*count)++] =
					(struct shared) { a->thread_id, b->thread_id,
							  a->counts[outer_view],
							  b->counts[inner_view], a->tid };
		}
	}
	if (*count)
		qsort(*out, *count, sizeof(**out), by_size);
	return ret;
}

static int add_thread(struct side *side, int64_t thread_id, size_t place, struct tl_error *err)
{
	side->thread_ids[place] = thread_id;
	side->count = place + 1;
	return tl_index_add(&side->index, tl_hash_u64((uint64_t)thread_id, 1), (uint32_t)place,
			    err);
}

static int open_side(struct side *side, size_t count, struct tl_error *err)
{
	side->lists = tl_alloc(count + 1, sizeof(*side->lists), err);
	side->thread_ids = tl_alloc(count + 1, sizeof(*side->thread_ids), err);
	return side->lists && side->thread_ids ? TL_OK : TL_NOMEM;
}

static void release_side(struct side *side)
{
	for (size_t i = 0; i < side->count; i++)
		free(side->lists[i].items);
	free(side->lists);
	free(side->thread_ids);
	tl_index_release(&side->index);
}

/* What one of the two never tells of, be it by a filter, only stands between the others. */
static int keep_common(struct list *list, const struct list *other, struct tl_error *err)
{
	struct tl_index kinds = { 0 };
	size_t count = 0;
	int ret = TL_OK;

	for (size_t i = 0; i < other->count && ret == TL_OK; i++) {
		size_t probe = 0;

		if (tl_index_find(&kinds, tl_hash_u64(other->items[i].kind, 2), &probe) < 0)
			ret = tl_index_add(&kinds, tl_hash_u64(other->items[i].kind, 2), 0, err);
	}
	for (size_t i = 0; i < list->count && ret == TL_OK; i++) {
		size_t probe = 0;

		if (tl_index_find(&kinds, tl_hash_u64(list->items[i].kind, 2), &probe) >= 0)
			list->items[count++] = list->items[i];
	}
	if (ret == TL_OK)
		list->count = count;
	tl_index_release(&kinds);
	return ret;
}

static int hand_over(struct side *outer, struct side *inner, bool is_same_kind,
		     struct tl_clock_threads *out, struct tl_error *err)
{
	int ret = TL_OK;

	out->list = tl_alloc(outer->count + 1, sizeof(*out->list), err);
	if (!out->list)
		return TL_NOMEM;
	for (size_t i = 0; i < outer->count && ret == TL_OK; i++) {
		if (is_same_kind)
			ret = keep_common(&outer->lists[i], &inner->lists[i], err);
		if (ret == TL_OK && is_same_kind)
			ret = keep_common(&inner->lists[i], &outer->lists[i], err);
		out->list[i] =
			(struct tl_clock_thread) { outer->lists[i].items, inner->lists[i].items,
						   outer->lists[i].count, inner->lists[i].count };
		outer->lists[i].items = inner->lists[i].items = NULL;
		out->count = i + 1;
	}
	return ret;
}

int tl_clock_threads_load(struct tl_store *store, const struct tl_view *outer,
			  enum tl_clock_view outer_view, const struct tl_view *inner,
			  enum tl_clock_view inner_view, enum tl_clock_relation relation,
			  struct tl_clock_threads *out, struct tl_error *err)
{
	bool is_by_name = outer_view == TL_VIEW_SPANS;
	struct side o = { .view = outer, .which = outer_view, .is_by_name = is_by_name };
	struct side i = { .view = inner, .which = inner_view, .is_by_name = is_by_name };
	int64_t outer_total = 0, inner_total = 0;
	struct shared *shared;
	size_t count, used = 0;
	int ret = find_shared(outer, outer_view, inner, inner_view, &shared, &count, err);

	memset(out, 0, sizeof(*out));
	if (ret == TL_OK)
		ret = open_side(&o, count, err);
	if (ret == TL_OK)
		ret = open_side(&i, count, err);
	for (; used < count && ret == TL_OK; used++) {
		outer_total += shared[used].outer_count;
		inner_total += shared[used].inner_count;
		if (used && (outer_total > HAPPENINGS_MAX || inner_total > HAPPENINGS_MAX))
			break;
		ret = add_thread(&o, shared[used].outer, used, err);
		if (ret == TL_OK)
			ret = add_thread(&i, shared[used].inner, used, err);
	}
	free(shared);
	if (ret == TL_OK && used)
		ret = load_side(store, &o, err);
	if (ret == TL_OK && used)
		ret = load_side(store, &i, err);
	if (ret == TL_OK && used)
		ret = hand_over(&o, &i, relation != TL_RELATION_WAIT, out, err);
	release_side(&o);
	release_side(&i);
	if (ret < 0)
		tl_clock_threads_release(out);
	return ret;
}

void tl_clock_threads_release(struct tl_clock_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		free(threads->list[i].outer);
		free(threads->list[i].inner);
	}
	free(threads->list);
	memset(threads, 0, sizeof(*threads));
}
