/*
 * store_foreign.c - the tables of an SQLite file that another program wrote, opened so that it can
 * neither be changed nor do harm. Knows nothing of what they mean.
 */
#include "foreign.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "memory.h"
#include "reader.h"

enum {
	MAGIC_SIZE = 16,
	VALUE_MAX = 16 << 20 /* bytes of one value: call stacks and shapes are far below */
};

/* What is not a plain file is held in memory; more than this is better unpacked first. */
#define MEMORY_MAX (UINT64_C(1) << 30)

struct tl_foreign {
	sqlite3 *db;
	unsigned char *image; /* of what is no plain file; owned */
};

struct tl_foreign_rows {
	sqlite3_stmt *stmt;
	sqlite3 *db;
};

static int fail_sqlite(sqlite3 *db, struct tl_error *err)
{
	int code = sqlite3_errcode(db) & 0xff;

	if (code == SQLITE_NOMEM)
		return tl_fail(err, TL_NOMEM, "out of memory");
	return tl_fail(err, TL_FORMAT, "SQLite: %s", sqlite3_errmsg(db));
}

bool tl_foreign_probe(const uint8_t *head, size_t len)
{
	return len >= 100 && !memcmp(head, "SQLite format 3", MAGIC_SIZE) &&
	       !tl_store_probe(head, len);
}

/* ---- opening ---- */

/* Immutable: neither a lock nor a journal is made beside a file that may lie on a read-only disk. */
static int open_path(struct tl_foreign *f, const char *path, struct tl_error *err)
{
	struct tl_text uri = { 0 };
	int code;

	tl_text_puts(&uri, "file:");
	if (path[0] != '/')
		tl_text_puts(&uri, "./");
	for (; *path; path++) {
		if (isalnum((unsigned char)*path) || strchr("/._-", *path))
			tl_text_add(&uri, path, 1);
		else
			tl_text_printf(&uri, "%%%02X", (unsigned char)*path);
	}
	tl_text_puts(&uri, "?immutable=1");
	if (uri.failed) {
		tl_text_release(&uri);
		return tl_fail(err, TL_NOMEM, "out of memory");
	}
	code = sqlite3_open_v2(uri.data, &f->db,
			       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	tl_text_release(&uri);
	if (!f->db)
		return tl_fail(err, TL_NOMEM, "out of memory");
	return code == SQLITE_OK ? TL_OK : fail_sqlite(f->db, err);
}

static int read_image(struct tl_foreign *f, struct tl_input *in, uint64_t size,
		      struct tl_error *err)
{
	uint64_t at = 0;

	f->image = tl_alloc((size_t)size + 1, 1, err);
	if (!f->image)
		return TL_NOMEM;
	while (at < size) {
		const uint8_t *data;
		size_t len;
		int ret = tl_input_window(in, at, TL_INPUT_WINDOW_MAX, &data, &len, err);

		if (ret < 0)
			return ret;
		if (!len)
			break;
		len = len < size - at ? len : (size_t)(size - at);
		memcpy(f->image + at, data, len);
		at += len;
	}
	return TL_OK;
}

static int open_image(struct tl_foreign *f, struct tl_input *in, struct tl_error *err)
{
	uint64_t size;
	int ret = tl_input_size(in, &size, err);

	if (ret == TL_OK && size > MEMORY_MAX)
		ret = tl_fail(err, TL_UNSUPPORTED,
			      "a database that is compressed, or comes through a pipe, is held in "
			      "memory: %llu bytes are too many; unpack it first",
			      (unsigned long long)size);
	if (ret == TL_OK)
		ret = read_image(f, in, size, err);
	if (ret < 0)
		return ret;
	if (size > 100) /* a write-ahead log cannot be had: what was checkpointed is read */
		f->image[18] = f->image[19] = 1;
	if (sqlite3_open_v2(":memory:", &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK ||
	    sqlite3_deserialize(f->db, "main", f->image, (sqlite3_int64)size, (sqlite3_int64)size,
				SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return f->db ? fail_sqlite(f->db, err) : tl_fail(err, TL_NOMEM, "out of memory");
	return TL_OK;
}

int tl_foreign_open(struct tl_foreign **out, struct tl_input *in, struct tl_error *err)
{
	struct tl_foreign *f = tl_alloc(1, sizeof(*f), err);
	const char *path = tl_input_name(in);
	int ret;

	*out = NULL;
	if (!f)
		return TL_NOMEM;
	if (!tl_input_is_compressed(in) && tl_input_modified_ns(in) && access(path, R_OK) == 0)
		ret = open_path(f, path, err);
	else
		ret = open_image(f, in, err);
	if (ret == TL_OK) {
		sqlite3_limit(f->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
		if (sqlite3_exec(f->db,
				 "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; "
				 "PRAGMA query_only = ON; PRAGMA cache_size = -16384",
				 NULL, NULL, NULL) != SQLITE_OK)
			ret = fail_sqlite(f->db, err);
	}
	if (ret < 0) {
		tl_foreign_close(f);
		return ret;
	}
	*out = f;
	return TL_OK;
}

void tl_foreign_close(struct tl_foreign *f)
{
	if (!f)
		return;
	sqlite3_close(f->db);
	free(f->image);
	free(f);
}

/* ---- tables ---- */

/* Views and virtual tables have no root page. */
static const char tables_sql[] =
	"SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE "
	"'sqlite\\_%' ESCAPE '\\' ORDER BY name";

int tl_foreign_tables(struct tl_foreign *f, tl_foreign_table_fn fn, void *payload,
		      struct tl_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code, ret = TL_OK;

	if (sqlite3_prepare_v2(f->db, tables_sql, -1, &stmt, NULL) != SQLITE_OK)
		return fail_sqlite(f->db, err);
	while (ret == TL_OK && (code = sqlite3_step(stmt)) != SQLITE_DONE) {
		const char *name =
			code == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;

		ret = code != SQLITE_ROW ? fail_sqlite(f->db, err)
		      : name		 ? fn(name, payload, err)
					 : TL_OK;
	}
	sqlite3_finalize(stmt);
	return ret;
}

static int find_table(const char *name, void *payload, struct tl_error *err)
{
	const char **wanted = payload;

	(void)err;
	if (*wanted && !strcmp(name, *wanted))
		*wanted = NULL;
	return TL_OK;
}

static bool has_column(struct tl_foreign *f, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(f->db, "main", table, column, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

int tl_foreign_rows_open(struct tl_foreign_rows **out, struct tl_foreign *f, const char *table,
			 const char *const *columns, size_t count, struct tl_error *err)
{
	const char *wanted = table;
	struct tl_text sql = { 0 };
	struct tl_foreign_rows *rows;
	int ret = tl_foreign_tables(f, find_table, &wanted, err);

	*out = NULL;
	if (ret < 0 || wanted)
		return ret;
	/* names are the caller's own words, never the file's */
	tl_text_puts(&sql, "SELECT ");
	for (size_t i = 0; i < count; i++)
		tl_text_printf(&sql, has_column(f, table, columns[i]) ? "%s\"%s\"" : "%sNULL",
			       i ? ", " : "", columns[i]);
	tl_text_printf(&sql, " FROM \"%s\" NOT INDEXED", table);
	rows = sql.failed ? NULL : tl_alloc(1, sizeof(*rows), err);
	if (!rows) {
		tl_text_release(&sql);
		return tl_fail(err, TL_NOMEM, "out of memory");
	}
	rows->db = f->db;
	if (sqlite3_prepare_v2(f->db, sql.data, -1, &rows->stmt, NULL) != SQLITE_OK) {
		ret = fail_sqlite(f->db, err);
		tl_foreign_rows_close(rows);
		rows = NULL;
	}
	tl_text_release(&sql);
	*out = rows;
	return ret;
}

void tl_foreign_rows_close(struct tl_foreign_rows *rows)
{
	if (!rows)
		return;
	sqlite3_finalize(rows->stmt);
	free(rows);
}

int tl_foreign_next(struct tl_foreign_rows *rows, struct tl_error *err)
{
	switch (sqlite3_step(rows->stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return TL_OK;
	default:
		return fail_sqlite(rows->db, err);
	}
}

bool tl_foreign_integer(struct tl_foreign_rows *rows, size_t column, int64_t *value)
{
	int type = sqlite3_column_type(rows->stmt, (int)column);
	double real;
	size_t len;
	const char *text;

	switch (type) {
	case SQLITE_INTEGER:
		*value = sqlite3_column_int64(rows->stmt, (int)column);
		return true;
	case SQLITE_FLOAT:
		real = sqlite3_column_double(rows->stmt, (int)column);
		if (!(real > -9.2e18 && real < 9.2e18))
			return false;
		*value = (int64_t)real;
		return (double)*value == real;
	case SQLITE_TEXT:
		text = tl_foreign_text(rows, column, &len);
		return text && len && tl_parse_time(text, len, 1, value) == len;
	default:
		return false;
	}
}

const char *tl_foreign_text(struct tl_foreign_rows *rows, size_t column, size_t *len)
{
	const char *text = (const char *)sqlite3_column_text(rows->stmt, (int)column);

	*len = text ? (size_t)sqlite3_column_bytes(rows->stmt, (int)column) : 0;
	return text;
}
