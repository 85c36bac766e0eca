/*
 * foreign.h - reading the tables of an SQLite file that another program wrote: rows of named
 * columns, in the order of the table. The file is never changed, and what its schema may hide
 * (views, triggers, virtual tables) is never run.
 */
#ifndef TL_FOREIGN_H
#define TL_FOREIGN_H

#include "analysis.h"

struct tl_foreign;
struct tl_foreign_rows;

/* Whether these are the first bytes of an SQLite file that is no case. */
bool tl_foreign_probe(const uint8_t *head, size_t len);
/* A plain file is read where it lies; what is compressed or a pipe, in memory. */
int tl_foreign_open(struct tl_foreign **out, struct tl_input *in, struct tl_error *err);
void tl_foreign_close(struct tl_foreign *foreign); /* accepts NULL */

/* Calls `fn` with the name of each table; a negative status of it ends the walk. */
typedef int (*tl_foreign_table_fn)(const char *name, void *payload, struct tl_error *err);
int tl_foreign_tables(struct tl_foreign *foreign, tl_foreign_table_fn fn, void *payload,
		      struct tl_error *err);

/*
 * The rows of a table. Columns that it does not have are NULL in each row; *out is NULL when there
 * is no such table.
 */
int tl_foreign_rows_open(struct tl_foreign_rows **out, struct tl_foreign *foreign,
			 const char *table, const char *const *columns, size_t count,
			 struct tl_error *err);
void tl_foreign_rows_close(struct tl_foreign_rows *rows); /* accepts NULL */
/* 1: a row, 0: done, <0: failure; what was read before it was good. */
int tl_foreign_next(struct tl_foreign_rows *rows, struct tl_error *err);
/* Whole numbers, also where they are stored as text; false for NULL and anything else. */
bool tl_foreign_integer(struct tl_foreign_rows *rows, size_t column, int64_t *value);
/* Borrowed until the next row; NULL for NULL. */
const char *tl_foreign_text(struct tl_foreign_rows *rows, size_t column, size_t *len);

#endif
