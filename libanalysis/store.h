/*
 * store.h - private: statements and transactions on a case file. store.c is the only file that
 * knows SQLite; everyone else binds and reads through these.
 */
#ifndef TL_STORE_H
#define TL_STORE_H

#include "analysis.h"

struct tl_statement;

/* One SQL command without a result, or several. */
int tl_store_execute(struct tl_store *store, const char *sql, struct tl_error *err);
int tl_store_begin(struct tl_store *store, struct tl_error *err);
int tl_store_commit(struct tl_store *store, struct tl_error *err);
void tl_store_rollback(struct tl_store *store);
/* Makes what indexes are missing, and the statistics for them. */
int tl_store_index(struct tl_store *store, struct tl_error *err);
bool tl_store_is_temporary(const struct tl_store *store);
const char *tl_store_path(const struct tl_store *store);

/*
 * `columns` names the result columns in order, separated by blanks, and is compared with what the
 * statement gives: an enum of columns beside it can then be trusted. NULL: no result columns.
 */
int tl_statement_open(struct tl_statement **out, struct tl_store *store, const char *sql,
		      const char *columns, struct tl_error *err);
void tl_statement_close(struct tl_statement *st); /* accepts NULL */
/* Parameters are numbered from 1. Text is borrowed until the statement is reset or closed. */
void tl_bind_i64(struct tl_statement *st, int parameter, int64_t value);
void tl_bind_double(struct tl_statement *st, int parameter, double value);
void tl_bind_null(struct tl_statement *st, int parameter);
/* TEXT for people: what is no UTF-8, and NUL, becomes U+FFFD. NULL for NULL. */
void tl_bind_text(struct tl_statement *st, int parameter, const char *text, size_t len);
/* Names as recorded, for a column of any type: TEXT if it is valid UTF-8 without NUL, else BLOB. */
void tl_bind_bytes(struct tl_statement *st, int parameter, const char *text, size_t len);
/* 1: a row, 0: done, <0: failure. */
int tl_statement_step(struct tl_statement *st, struct tl_error *err);
/* Steps a statement that gives no rows, and resets it for the next use. */
int tl_statement_run(struct tl_statement *st, struct tl_error *err);
void tl_statement_reset(struct tl_statement *st);
/* Columns are numbered from 0. */
bool tl_column_is_null(struct tl_statement *st, int column);
int64_t tl_column_i64(struct tl_statement *st, int column);   /* 0 for NULL */
double tl_column_double(struct tl_statement *st, int column); /* 0 for NULL */
/* Borrowed until the next step; NULL for NULL. Not always terminated text: use the length. */
const char *tl_column_text(struct tl_statement *st, int column, size_t *len);

/* The first column of the first row as an integer; `none` if there is no row or it is NULL. */
int tl_store_value(struct tl_store *store, const char *sql, int64_t none, int64_t *value,
		   struct tl_error *err);

/* What lost.what says of thread states that are not whole (states.c); read by questions. */
#define TL_STATES_ENDLESS  "sleeps whose end was not recorded"
#define TL_STATES_UNSERVED "waits for a cpu whose end was not recorded"
#define TL_STATES_BOUNDED  "waits whose end was not recorded, but bounded"

/* ---- feed: rows in memory as a table ------------------------------------------------------- */

#define TL_FEED_COLUMNS 32

/*
 * Rows for "INSERT INTO ... SELECT c0, c1, ... FROM feed": columns are the values, then the text.
 * One feed a store.
 */
struct tl_feed {
	bool (*next)(struct tl_feed *feed); /* the first row, the next one; false: none is left */
	const int64_t *values;
	unsigned count;
	uint64_t null_mask, real_mask; /* bit i: value i is NULL; is a double, given as its bits */
	const char *text;	       /* NULL: column `count` is NULL */
	size_t text_length;
	bool is_any; /* the text may be any bytes (tl_bind_bytes); else it is for people */
};

int tl_feed_open(struct tl_store *store, struct tl_feed *feed, struct tl_error *err);
void tl_feed_close(struct tl_store *store);

/* ---- rows: many inserts, made by a second thread ------------------------------------------- */

/*
 * Between tl_rows_open and tl_rows_close the store belongs to the rows: no other statement may run,
 * except between tl_rows_drain and the next tl_rows_put.
 */
struct tl_rows;

int tl_rows_open(struct tl_rows **out, struct tl_store *store, struct tl_error *err);
/*
 * Prepares an insert; its number is for tl_rows_put. The last parameter may be text: as
 * tl_bind_bytes if is_any, else as tl_bind_text. Bit i of real_mask: value i is a double, given as
 * its bits.
 */
int tl_rows_prepare(struct tl_rows *rows, const char *sql, uint64_t real_mask, bool is_any,
		    unsigned *statement, struct tl_error *err);
/*
 * Hands over a row: `count` integers, bit i of null_mask set: value i is NULL; then, if text is
 * not NULL, one text. Copied. A failure of an earlier row is reported here.
 */
int tl_rows_put(struct tl_rows *rows, unsigned statement, const int64_t *values, unsigned count,
		uint64_t null_mask, const char *text, size_t text_length, struct tl_error *err);
/* Waits until every row handed over is in the case. */
int tl_rows_drain(struct tl_rows *rows, struct tl_error *err);
void tl_rows_close(struct tl_rows *rows); /* accepts NULL; drains, ignoring failures */

#endif
