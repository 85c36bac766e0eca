/*
 * store_feed.c - rows in memory as a table, so that one statement inserts many of them: SQLite then
 * asks for each value, which costs less than binding it, and runs the statement once.
 */
#include "store_private.h"

#include <stdlib.h>
#include <string.h>

/* A virtual table of one shape: columns c0, c1, ...; what they mean, the statement says. */
struct feed_table {
	sqlite3_vtab base;
	struct tl_feed *feed;
};

struct feed_cursor {
	sqlite3_vtab_cursor base;
	struct tl_feed *feed;
	bool at_end;
};

static int feed_connect(sqlite3 *db, void *payload, int argc, const char *const *argv,
			sqlite3_vtab **out, char **message)
{
	static const char columns[] =
		"CREATE TABLE feed(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, "
		"c14, c15, c16, c17, c18, c19, c20, c21, c22, c23, c24, c25, c26, c27, c28, c29, "
		"c30, c31)";
	struct feed_table *table = sqlite3_malloc(sizeof(*table));
	int code;

	(void)argc;
	(void)argv;
	(void)message;
	if (!table)
		return SQLITE_NOMEM;
	memset(table, 0, sizeof(*table));
	table->feed = payload;
	code = sqlite3_declare_vtab(db, columns);
	if (code != SQLITE_OK) {
		sqlite3_free(table);
		return code;
	}
	*out = &table->base;
	return SQLITE_OK;
}

static int feed_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int feed_plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = 1000;
	info->estimatedRows = 1000;
	return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct feed_cursor *cursor = sqlite3_malloc(sizeof(*cursor));

	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, sizeof(*cursor));
	cursor->feed = ((struct feed_table *)table)->feed;
	*out = &cursor->base;
	return SQLITE_OK;
}

static int feed_close(sqlite3_vtab_cursor *cursor)
{
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int feed_next(sqlite3_vtab_cursor *base)
{
	struct feed_cursor *cursor = (struct feed_cursor *)base;

	cursor->at_end = !cursor->feed->next(cursor->feed);
	return SQLITE_OK;
}

static int feed_first(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int argc,
		      sqlite3_value **argv)
{
	(void)plan;
	(void)plan_text;
	(void)argc;
	(void)argv;
	return feed_next(base);
}

static int feed_at_end(sqlite3_vtab_cursor *cursor)
{
	return ((struct feed_cursor *)cursor)->at_end;
}

static int feed_text(const struct tl_feed *feed, sqlite3_context *context)
{
	if (tl_store_is_text(feed->text, feed->text_length)) {
		sqlite3_result_text64(context, feed->text, feed->text_length, SQLITE_STATIC,
				      SQLITE_UTF8);
	} else if (feed->is_any) {
		sqlite3_result_blob64(context, feed->text, feed->text_length, SQLITE_STATIC);
	} else {
		size_t len;
		char *readable = tl_store_readable(feed->text, feed->text_length, &len);

		if (!readable)
			return SQLITE_NOMEM;
		sqlite3_result_text64(context, readable, len, sqlite3_free, SQLITE_UTF8);
	}
	return SQLITE_OK;
}

static int feed_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct tl_feed *feed = ((struct feed_cursor *)cursor)->feed;
	double real;

	if ((unsigned)column >= feed->count) {
		if ((unsigned)column > feed->count || !feed->text)
			return SQLITE_OK; /* NULL */
		return feed_text(feed, context);
	}
	if (feed->null_mask >> column & 1)
		return SQLITE_OK;
	if (feed->real_mask >> column & 1) {
		memcpy(&real, &feed->values[column], sizeof(real));
		sqlite3_result_double(context, real);
	} else {
		sqlite3_result_int64(context, feed->values[column]);
	}
	return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	(void)cursor;
	*rowid = 0; /* nothing asks for it */
	return SQLITE_OK;
}

/* xCreate is NULL: the table is there without being created, and cannot be. */
static const sqlite3_module feed_module = {
	.xConnect = feed_connect,
	.xBestIndex = feed_plan,
	.xDisconnect = feed_disconnect,
	.xOpen = feed_open,
	.xClose = feed_close,
	.xFilter = feed_first,
	.xNext = feed_next,
	.xEof = feed_at_end,
	.xColumn = feed_column,
	.xRowid = feed_rowid,
};

int tl_feed_open(struct tl_store *store, struct tl_feed *feed, struct tl_error *err)
{
	if (sqlite3_create_module(store->db, "feed", &feed_module, feed) != SQLITE_OK)
		return tl_store_fail(store, "cannot feed the case", err);
	return TL_OK;
}

void tl_feed_close(struct tl_store *store)
{
	sqlite3_create_module(store->db, "feed", NULL, NULL);
}
