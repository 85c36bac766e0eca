/*
 * slice_nesting.c - do the spans of a row nest? A thread's should: what it calls ends before it does.
 * Where they do not, a tree of calls is made by cutting, and whoever reads it must know.
 */
#include "slice_nesting.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "slices.h"

/*
 * One row of the timeline, or one id of spans that are begun here and ended there, walked in order of
 * time. Of the spans that are on only their ends matter, and of those only the next: a heap. Those that
 * begin together nest, whatever their lengths.
 */
struct walk {
	int64_t *ends; /* heap: no child is less than its parent */
	size_t count, capacity;
	int64_t *together; /* ends of those that began last, not in the heap yet */
	size_t together_count, together_capacity;
	int64_t track_id, id, begin, crossed;
};

enum walk_column { WALK_TRACK, WALK_ID, WALK_TS, WALK_DUR };

static const char walk_columns[] = "track id ts dur";

static int push(struct walk *w, int64_t end, struct tl_error *err)
{
	size_t at = w->count;
	int ret = tl_grow(&w->ends, &w->capacity, w->count + 1, err);

	if (ret < 0)
		return ret;
	w->count++;
	for (; at && w->ends[(at - 1) / 2] > end; at = (at - 1) / 2)
		w->ends[at] = w->ends[(at - 1) / 2];
	w->ends[at] = end;
	return TL_OK;
}

static void pop(struct walk *w)
{
	int64_t end = w->ends[--w->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < w->count) {
		child += child + 1 < w->count && w->ends[child + 1] < w->ends[child];
		if (w->ends[child] >= end)
			break;
		w->ends[at] = w->ends[child];
		at = child;
	}
	w->ends[at] = end;
}

static int take_span(struct walk *w, int64_t track_id, int64_t id, int64_t begin, int64_t end,
		     struct tl_error *err)
{
	int ret = TL_OK;

	if (track_id != w->track_id || id != w->id) {
		w->count = w->together_count = 0;
	} else if (begin != w->begin) {
		for (size_t i = 0; i < w->together_count && ret == TL_OK; i++)
			ret = push(w, w->together[i], err);
		w->together_count = 0;
	}
	w->track_id = track_id;
	w->id = id;
	w->begin = begin;
	while (w->count && w->ends[0] <= begin)
		pop(w);
	w->crossed += w->count && w->ends[0] < end;
	if (ret == TL_OK)
		ret = tl_grow(&w->together, &w->together_capacity, w->together_count + 1, err);
	if (ret == TL_OK)
		w->together[w->together_count++] = end;
	return ret;
}

/* The profiler's own sums and overhead (11, 12) are no calls. */
#define SPANS(id, kinds)                                                                        \
	"SELECT a.track_id AS track, " id " AS id, a.ts AS ts, a.dur AS dur FROM slice a "      \
	"WHERE " TL_OF_SOURCE kinds ") AND a.ts IS NOT NULL AND a.dur > 0 AND a.flags = 0 AND " \
	"a.class NOT IN (11, 12) ORDER BY a.track_id, " id ", a.ts"

static int walk(struct walk *w, struct tl_store *store, int64_t source_id, const char *sql,
		struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store, sql, walk_columns, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int64_t begin = tl_column_i64(st, WALK_TS), end;

		if (__builtin_add_overflow(begin, tl_column_i64(st, WALK_DUR), &end))
			continue;
		ret = take_span(w, tl_column_i64(st, WALK_TRACK), tl_column_i64(st, WALK_ID), begin,
				end, err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	return ret;
}

int tl_slices_note_crossed(struct tl_store *store, int64_t source_id, struct tl_error *err)
{
	static const char what[] = "spans that overlap another one of their row in part";
	static const char message[] =
		"they begin inside another span of their thread, stream or id and end behind it; kept as they "
		"are, and self times count each moment once";
	struct walk w = { 0 };
	struct tl_statement *st;
	int ret = walk(&w, store, source_id, SPANS("NULL", "<> 'async'"), err);

	if (ret == TL_OK)
		ret = walk(&w, store, source_id, SPANS("a.external_id", "= 'async'"), err);
	free(w.ends);
	free(w.together);
	if (ret < 0 || !w.crossed)
		return ret;
	ret = tl_statement_open(
		&st, store,
		"INSERT INTO lost(source_id, kind, what, count, unit, message) VALUES(?, "
		"'note', ?, ?, 'spans', ?)",
		NULL, err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	tl_bind_text(st, 2, what, strlen(what));
	tl_bind_i64(st, 3, w.crossed);
	tl_bind_text(st, 4, message, strlen(message));
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}
