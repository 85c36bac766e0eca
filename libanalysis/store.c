/*
 * store.c - the case file: opening, creating, upgrading; statements and transactions. Only
 * this file and store_feed.c know SQLite.
 */
#include "store_private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "memory.h"
#include "schema_sql.h"

#define APPLICATION_ID	  0x546c6f6d /* "Tlom", in the file header at byte 68 */
#define SCHEMA_VERSION	  3
#define SCHEMA_OLDEST	  2    /* what came before lacks facts that no upgrade can make */
#define BUSY_TIMEOUT_MS	  5000 /* another import into the same case: wait for it a little */
#define SQLITE_MAGIC	  "SQLite format 3"
#define MAGIC_SIZE	  16
#define APPLICATION_ID_AT 68

int tl_store_fail(struct tl_store *store, const char *what, struct tl_error *err)
{
	int code = sqlite3_extended_errcode(store->db);

	if ((code & 0xff) == SQLITE_NOMEM)
		return tl_fail(err, TL_NOMEM, "out of memory");
	tl_fail(err, TL_STORE, "%s: %s", what, sqlite3_errmsg(store->db));
	tl_error_source(err, store->path);
	return TL_STORE;
}

int tl_store_execute(struct tl_store *store, const char *sql, struct tl_error *err)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return tl_store_fail(store, "cannot write the case", err);
	return TL_OK;
}

int tl_store_begin(struct tl_store *store, struct tl_error *err)
{
	int ret = tl_store_execute(store, "BEGIN IMMEDIATE", err);

	store->in_transaction = ret == TL_OK;
	return ret;
}

int tl_store_commit(struct tl_store *store, struct tl_error *err)
{
	int ret = tl_store_execute(store, "COMMIT", err);

	if (ret == TL_OK)
		store->in_transaction = false;
	return ret;
}

void tl_store_rollback(struct tl_store *store)
{
	if (store->in_transaction) {
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
		/*
		 * After a full disk the rollback only forgets; the next reader plays the journal back.
		 * Be that reader, so that the file alone is whole, and no journal stays beside it.
		 */
		sqlite3_exec(store->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
	}
	store->in_transaction = false;
}

bool tl_store_is_temporary(const struct tl_store *store)
{
	return store->is_temporary;
}

const char *tl_store_path(const struct tl_store *store)
{
	return store->path;
}

int tl_store_schema_version(void)
{
	return SCHEMA_VERSION;
}

bool tl_store_probe(const uint8_t *head, size_t len)
{
	static const uint8_t id[4] = { APPLICATION_ID >> 24, APPLICATION_ID >> 16 & 0xff,
				       APPLICATION_ID >> 8 & 0xff, APPLICATION_ID & 0xff };

	return len >= APPLICATION_ID_AT + sizeof(id) && !memcmp(head, SQLITE_MAGIC, MAGIC_SIZE) &&
	       !memcmp(head + APPLICATION_ID_AT, id, sizeof(id));
}

/* ---- opening ---- */

static int pragma(struct tl_store *store, const char *sql, struct tl_error *err)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return tl_store_fail(store, "cannot open", err);
	return TL_OK;
}

static int set_pragmas(struct tl_store *store, enum tl_store_mode mode, struct tl_error *err)
{
	/* names and paths come from files: schema functions must not be able to do harm */
	int ret = pragma(store, "PRAGMA trusted_schema = OFF", err);

	/* a damaged case is an error, not a wild read */
	if (ret == TL_OK)
		ret = pragma(store, "PRAGMA cell_size_check = ON", err);
	/* fewer, larger writes; it holds for a new file only */
	if (ret == TL_OK)
		ret = pragma(store, "PRAGMA page_size = 8192", err);
	/* 16 MiB of pages: enough for the leaves being written, small beside the budget */
	if (ret == TL_OK)
		ret = pragma(store, "PRAGMA cache_size = -16384", err);
	/* a private case needs no protection: it is gone on close */
	if (ret == TL_OK && store->is_temporary)
		ret = pragma(store, "PRAGMA synchronous = OFF", err);
	/* nor a journal on disk; pages that are new to a transaction need none at all */
	if (ret == TL_OK && store->is_temporary)
		ret = pragma(store, "PRAGMA journal_mode = MEMORY", err);
	/*
	 * No map of the file: what is read through one is never kept, so that cells would be checked
	 * anew each time a page is met; questions that look up row after row took three times as long.
	 */
	if (ret == TL_OK && mode == TL_STORE_READ)
		ret = pragma(store, "PRAGMA mmap_size = 0", err);
	return ret;
}

/* clock_moved(ts, offset, slope, new offset, new slope): a ts when its source's clock maps anew. */
static void clock_moved(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct tl_clock_line from, to;

	(void)count;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return; /* a result that is not set is NULL */
	from = (struct tl_clock_line) { sqlite3_value_int64(values[1]),
					sqlite3_value_double(values[2]) };
	to = (struct tl_clock_line) { sqlite3_value_int64(values[3]),
				      sqlite3_value_double(values[4]) };
	sqlite3_result_int64(
		context,
		tl_clock_unix(to, tl_clock_source_time(from, sqlite3_value_int64(values[0]))));
}

static int add_functions(struct tl_store *store, struct tl_error *err)
{
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;

	if (sqlite3_create_function(store->db, "clock_moved", 5, flags, NULL, clock_moved, NULL,
				    NULL) != SQLITE_OK)
		return tl_store_fail(store, "cannot open", err);
	return TL_OK;
}

int tl_store_value(struct tl_store *store, const char *sql, int64_t none, int64_t *value,
		   struct tl_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL);
	int ret = TL_OK;

	*value = none;
	if (code == SQLITE_OK)
		code = sqlite3_step(stmt);
	if (code == SQLITE_ROW) {
		if (sqlite3_column_type(stmt, 0) != SQLITE_NULL)
			*value = sqlite3_column_int64(stmt, 0);
	} else if (code != SQLITE_DONE) {
		ret = tl_store_fail(store, "cannot read the case", err);
	}
	sqlite3_finalize(stmt);
	return ret;
}

static int create_schema(struct tl_store *store, struct tl_error *err)
{
	char version[96];
	int ret = tl_store_begin(store, err);

	if (ret < 0)
		return ret;
	snprintf(version, sizeof(version), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 APPLICATION_ID, SCHEMA_VERSION);
	ret = tl_store_execute(store, schema_tables, err);
	if (ret == TL_OK)
		ret = tl_store_execute(store, schema_views, err);
	if (ret == TL_OK)
		ret = tl_store_execute(store, version, err);
	if (ret == TL_OK)
		ret = tl_store_commit(store, err);
	if (ret < 0)
		tl_store_rollback(store);
	return ret;
}

/*
 * Steps from version i + 1 to i + 2, oldest first: facts only, what is derived is made anew. Add
 * one when SCHEMA_VERSION is raised.
 */
static const char *const upgrades[] = {
	NULL,
	"ALTER TABLE source ADD COLUMN is_settled INTEGER NOT NULL DEFAULT 0;"
	"UPDATE source SET is_settled = 1;" /* those that come are not */
	"ALTER TABLE step_mark ADD COLUMN step_count INTEGER NOT NULL DEFAULT 1;"
	"ALTER TABLE step ADD COLUMN step_count INTEGER NOT NULL DEFAULT 1",
};

static int drop_views(struct tl_store *store, struct tl_error *err)
{
	struct tl_text sql = { 0 };
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, store, "SELECT name FROM sqlite_schema WHERE type = 'view'", "name", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		size_t len;
		const char *name = tl_column_text(st, 0, &len);

		tl_text_printf(&sql, "DROP VIEW \"%.*s\";", (int)len, name);
	}
	tl_statement_close(st);
	if (ret == TL_OK && sql.failed)
		ret = tl_fail(err, TL_NOMEM, "out of memory");
	if (ret == TL_OK && sql.length)
		ret = tl_store_execute(store, sql.data, err);
	tl_text_release(&sql);
	return ret;
}

static int upgrade(struct tl_store *store, int64_t version, struct tl_error *err)
{
	for (; version < SCHEMA_VERSION; version++) {
		char set[64];
		int ret = tl_store_begin(store, err);

		snprintf(set, sizeof(set), "PRAGMA user_version = %d", (int)version + 1);
		if (ret == TL_OK)
			ret = drop_views(store, err);
		if (ret == TL_OK && upgrades[version - 1])
			ret = tl_store_execute(store, upgrades[version - 1], err);
		if (ret == TL_OK && version + 1 == SCHEMA_VERSION)
			ret = tl_store_execute(store, schema_views, err);
		if (ret == TL_OK)
			ret = tl_store_execute(store, set, err);
		if (ret == TL_OK)
			ret = tl_store_commit(store, err);
		if (ret < 0) {
			tl_store_rollback(store);
			return ret;
		}
	}
	return TL_OK;
}

/* Whose file is it, and how old? */
static int check_schema(struct tl_store *store, enum tl_store_mode mode, struct tl_error *err)
{
	int64_t application, version, tables;
	int ret = tl_store_value(store, "PRAGMA application_id", 0, &application, err);

	if (ret == TL_OK)
		ret = tl_store_value(store, "PRAGMA user_version", 0, &version, err);
	if (ret == TL_OK)
		ret = tl_store_value(store, "SELECT count(*) FROM sqlite_schema", 0, &tables, err);
	if (ret < 0)
		return ret;
	if (mode == TL_STORE_CREATE && tables == 0 && application == 0 && version == 0)
		return create_schema(store, err);
	if (application != APPLICATION_ID)
		ret = tl_fail(err, TL_STORE, "is an SQLite file, but not a case");
	else if (version > SCHEMA_VERSION)
		ret = tl_fail(
			err, TL_STORE,
			"is a case of schema version %lld; this program knows %d: use a newer one",
			(long long)version, SCHEMA_VERSION);
	else if (version < 1)
		ret = tl_fail(err, TL_STORE, "is a case without a schema version: damaged");
	else if (version < SCHEMA_OLDEST)
		ret = tl_fail(err, TL_STORE,
			      "is a case of schema version %lld, and this program reads %d and "
			      "later: import its recordings again",
			      (long long)version, SCHEMA_OLDEST);
	else if (version < SCHEMA_VERSION && mode == TL_STORE_READ)
		ret = tl_fail(
			err, TL_STORE,
			"is a case of schema version %lld, this program writes %d: open it once "
			"with 'import -o' to upgrade it",
			(long long)version, SCHEMA_VERSION);
	if (ret < 0)
		return ret;
	return mode == TL_STORE_READ ? TL_OK : upgrade(store, version, err);
}

/*
 * An import that was killed leaves its journal behind, and a connection that may only read cannot
 * roll it back. One that may write does so when it first looks; what it cannot do is told by the
 * open that follows.
 */
static void roll_back_killed_import(const char *path)
{
	char journal[PATH_MAX];
	sqlite3 *db = NULL;

	if ((size_t)snprintf(journal, sizeof(journal), "%s-journal", path) >= sizeof(journal) ||
	    access(journal, F_OK) < 0)
		return;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
	    SQLITE_OK)
		sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
	sqlite3_close(db);
}

static int open_file(struct tl_store **out, const char *path, enum tl_store_mode mode,
		     bool is_temporary, struct tl_error *err)
{
	/* one thread at a time uses it (rows.c hands it over), so no mutex of SQLite's is needed */
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	struct tl_store *store = tl_alloc(1, sizeof(*store), err);
	int ret;

	*out = NULL;
	if (!store)
		return TL_NOMEM;
	flags |= mode == TL_STORE_READ ? SQLITE_OPEN_READONLY
				       : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	if (mode == TL_STORE_READ)
		roll_back_killed_import(path);
	store->is_temporary = is_temporary;
	store->path = tl_strdup_n(path, strlen(path), err);
	if (!store->path) {
		ret = TL_NOMEM;
	} else if (mode == TL_STORE_READ && access(path, R_OK) < 0) {
		ret = tl_fail(err, TL_IO, "cannot open: %s", strerror(errno));
	} else if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK) {
		ret = store->db ? tl_store_fail(store, "cannot open", err)
				: tl_fail(err, TL_NOMEM, "out of memory");
	} else {
		sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
		ret = set_pragmas(store, mode, err);
		if (ret == TL_OK)
			ret = add_functions(store, err);
		if (ret == TL_OK)
			ret = check_schema(store, mode, err);
	}
	if (ret < 0) {
		tl_error_source(err, path);
		tl_store_close(store);
		return ret;
	}
	*out = store;
	return TL_OK;
}

int tl_store_open(struct tl_store **out, const char *path, enum tl_store_mode mode,
		  struct tl_error *err)
{
	return open_file(out, path, mode, false, err);
}

int tl_store_open_temporary(struct tl_store **out, struct tl_error *err)
{
	/* SQLite's own private database: in memory while small, then an unlinked file */
	return open_file(out, "", TL_STORE_CREATE, true, err);
}

void tl_store_close(struct tl_store *store)
{
	if (!store)
		return;
	tl_store_rollback(store);
	sqlite3_close(store->db);
	free(store->path);
	free(store);
}

int tl_store_index(struct tl_store *store, struct tl_error *err)
{
	int ret = tl_store_execute(store, schema_indexes, err);

	/* statistics for the planner; bounded, so that its cost does not grow with the case */
	if (ret == TL_OK)
		ret = tl_store_execute(store, "PRAGMA analysis_limit = 400; PRAGMA optimize", err);
	return ret;
}

/* ---- statements ---- */

static int check_columns(sqlite3_stmt *stmt, const char *sql, const char *columns,
			 struct tl_error *err)
{
	int count = sqlite3_column_count(stmt), i = 0;
	const char *at = columns ? columns : "";

	for (; *at; i++) {
		size_t len = strcspn(at, " ");
		const char *name = i < count ? sqlite3_column_name(stmt, i) : NULL;

		if (!name || strlen(name) != len || memcmp(name, at, len) != 0)
			return tl_fail(err, TL_USAGE, "column %d is '%s', expected '%.*s': %s", i,
				       name ? name : "absent", (int)len, at, sql);
		at += len;
		at += strspn(at, " ");
	}
	if (i != count)
		return tl_fail(err, TL_USAGE, "%d columns, expected %d: %s", count, i, sql);
	return TL_OK;
}

int tl_statement_open(struct tl_statement **out, struct tl_store *store, const char *sql,
		      const char *columns, struct tl_error *err)
{
	struct tl_statement *st = tl_alloc(1, sizeof(*st), err);
	int ret;

	*out = NULL;
	if (!st)
		return TL_NOMEM;
	st->store = store;
	if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st->stmt, NULL) !=
	    SQLITE_OK) {
		ret = tl_store_fail(store, sql, err);
		free(st);
		return ret;
	}
	ret = check_columns(st->stmt, sql, columns, err);
	if (ret < 0) {
		tl_statement_close(st);
		return ret;
	}
	*out = st;
	return TL_OK;
}

void tl_statement_close(struct tl_statement *st)
{
	if (!st)
		return;
	sqlite3_finalize(st->stmt);
	free(st);
}

void tl_bind_i64(struct tl_statement *st, int parameter, int64_t value)
{
	sqlite3_bind_int64(st->stmt, parameter, value);
}

void tl_bind_double(struct tl_statement *st, int parameter, double value)
{
	sqlite3_bind_double(st->stmt, parameter, value);
}

void tl_bind_null(struct tl_statement *st, int parameter)
{
	sqlite3_bind_null(st->stmt, parameter);
}

bool tl_store_is_text(const char *text, size_t len)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	size_t at = 0;

	while (at < len) {
		uint64_t word;
		size_t n;

		/* nearly always ASCII without NUL: eight bytes at a time */
		for (; len - at >= sizeof(word); at += sizeof(word)) {
			memcpy(&word, text + at, sizeof(word));
			if ((word | (word - ones)) & tops)
				break;
		}
		if (at == len)
			break;
		n = text[at] ? tl_utf8_length(text + at, len - at) : 0;
		if (n == 0)
			return false;
		at += n;
	}
	return true;
}

char *tl_store_readable(const char *text, size_t len, size_t *out_len)
{
	static const char unknown[] = "\357\277\275"; /* U+FFFD */
	const size_t unknown_len = sizeof(unknown) - 1;
	char *out = sqlite3_malloc64(len * unknown_len + 1);
	size_t used = 0;

	for (size_t at = 0; out && at < len;) {
		size_t n = text[at] ? tl_utf8_length(text + at, len - at) : 0;

		memcpy(out + used, n ? text + at : unknown, n ? n : unknown_len);
		used += n ? n : unknown_len;
		at += n ? n : 1;
	}
	*out_len = used;
	return out;
}

void tl_bind_text(struct tl_statement *st, int parameter, const char *text, size_t len)
{
	if (!text) {
		sqlite3_bind_null(st->stmt, parameter);
	} else if (tl_store_is_text(text, len)) {
		sqlite3_bind_text64(st->stmt, parameter, text, len, SQLITE_STATIC, SQLITE_UTF8);
	} else {
		char *readable = tl_store_readable(text, len, &len);

		sqlite3_bind_text64(st->stmt, parameter, readable, len, sqlite3_free, SQLITE_UTF8);
	}
}

void tl_bind_bytes(struct tl_statement *st, int parameter, const char *text, size_t len)
{
	if (tl_store_is_text(text, len))
		sqlite3_bind_text64(st->stmt, parameter, text, len, SQLITE_STATIC, SQLITE_UTF8);
	else
		sqlite3_bind_blob64(st->stmt, parameter, text, len, SQLITE_STATIC);
}

int tl_statement_step(struct tl_statement *st, struct tl_error *err)
{
	switch (sqlite3_step(st->stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return TL_OK;
	default:
		return tl_store_fail(st->store, "cannot use the case", err);
	}
}

int tl_statement_run(struct tl_statement *st, struct tl_error *err)
{
	int ret = tl_statement_step(st, err);

	sqlite3_reset(st->stmt);
	return ret < 0 ? ret : TL_OK;
}

void tl_statement_reset(struct tl_statement *st)
{
	sqlite3_reset(st->stmt);
}

bool tl_column_is_null(struct tl_statement *st, int column)
{
	return sqlite3_column_type(st->stmt, column) == SQLITE_NULL;
}

int64_t tl_column_i64(struct tl_statement *st, int column)
{
	return sqlite3_column_int64(st->stmt, column);
}

double tl_column_double(struct tl_statement *st, int column)
{
	return sqlite3_column_double(st->stmt, column);
}

const char *tl_column_text(struct tl_statement *st, int column, size_t *len)
{
	/* a BLOB is text whose bytes are not UTF-8 (table string): both are read as bytes */
	const void *text = sqlite3_column_blob(st->stmt, column);
	int bytes = sqlite3_column_bytes(st->stmt, column);

	if (!text && !tl_column_is_null(st, column))
		text = "";
	*len = (size_t)bytes;
	return text;
}
