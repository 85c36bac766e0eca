/*
 * call_summaries.c - calls that a source knows only as sums.
 */
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "store.h"

enum column {
	COL_PATH,
	COL_PID,
	COL_TID,
	COL_THREAD,
	COL_NAME,
	COL_KIND,
	COL_COUNT,
	COL_SUM,
	COL_MIN,
	COL_MAX
};

static const char columns[] = "path pid tid thread name kind count sum min max";

static const char sql[] =
	"SELECT s.path AS path, p.pid AS pid, t.tid AS tid, m.text AS thread, n.text AS name, c.kind AS "
	"kind, c.call_count AS count, c.dur_sum AS sum, c.dur_min AS min, c.dur_max AS max FROM "
	"call_summary c JOIN source s USING (source_id) JOIN string n ON n.string_id = c.name_id LEFT "
	"JOIN thread t USING (thread_id) LEFT JOIN process p USING (process_id) LEFT JOIN string m ON "
	"m.string_id = t.name_id ORDER BY c.dur_sum DESC, c.rowid";

static const char *copy(struct tl_arena *arena, struct tl_statement *st, int column, bool *failed)
{
	size_t len;
	const char *text = tl_column_text(st, column, &len);
	char *kept = text ? tl_arena_copy(arena, text, len, NULL) : NULL;

	*failed |= text && !kept;
	return kept;
}

static int64_t known(struct tl_statement *st, int column)
{
	return tl_column_is_null(st, column) ? -1 : tl_column_i64(st, column);
}

int tl_call_summaries_load(struct tl_store *store, struct tl_call_summaries *out,
			   struct tl_error *err)
{
	struct tl_statement *st;
	size_t capacity = 0;
	bool failed = false;
	int ret = tl_statement_open(&st, store, sql, columns, err);

	memset(out, 0, sizeof(*out));
	if (ret < 0)
		return ret;
	out->memory = tl_alloc(1, sizeof(struct tl_arena), err);
	ret = out->memory ? TL_OK : TL_NOMEM;
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		ret = tl_grow(&out->rows, &capacity, out->count + 1, err);
		if (ret < 0)
			break;
		out->rows[out->count++] = (struct tl_call_summary) {
			.source = copy(out->memory, st, COL_PATH, &failed),
			.thread = copy(out->memory, st, COL_THREAD, &failed),
			.name = copy(out->memory, st, COL_NAME, &failed),
			.pid = known(st, COL_PID),
			.tid = known(st, COL_TID),
			.is_system = tl_column_i64(st, COL_KIND) == TL_CALL_SYSTEM,
			.count = tl_column_i64(st, COL_COUNT),
			.total_ns = tl_column_i64(st, COL_SUM),
			.min_ns = known(st, COL_MIN),
			.max_ns = known(st, COL_MAX),
		};
	}
	tl_statement_close(st);
	if (ret == TL_OK && failed)
		ret = tl_fail(err, TL_NOMEM, "out of memory");
	if (ret < 0)
		tl_call_summaries_release(out);
	return ret;
}

void tl_call_summaries_release(struct tl_call_summaries *summaries)
{
	free(summaries->rows);
	if (summaries->memory) {
		tl_arena_release(summaries->memory);
		free(summaries->memory);
	}
	memset(summaries, 0, sizeof(*summaries));
}
