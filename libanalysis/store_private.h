/*
 * store_private.h - private to store.c and store_feed.c: what a store and a statement are made of.
 */
#ifndef TL_STORE_PRIVATE_H
#define TL_STORE_PRIVATE_H

#include <sqlite3.h>

#include "store.h"

struct tl_store {
	sqlite3 *db;
	char *path;
	bool is_temporary, in_transaction;
};

struct tl_statement {
	sqlite3_stmt *stmt;
	struct tl_store *store;
};

int tl_store_fail(struct tl_store *store, const char *what, struct tl_error *err);
/* Is it valid UTF-8 without NUL? Then it is stored as TEXT, else as BLOB. */
bool tl_store_is_text(const char *text, size_t len);
/* What is none becomes U+FFFD. From sqlite3_malloc; NULL: no memory. */
char *tl_store_readable(const char *text, size_t len, size_t *out_len);

#endif
