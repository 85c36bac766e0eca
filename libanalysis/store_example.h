/*
 * store_example.h - an empty case for each test, and questions to it in SQL.
 */
#ifndef TL_STORE_EXAMPLE_H
#define TL_STORE_EXAMPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis.h"
#include "store.h"

static struct tl_store *store;
static struct tl_error err;

static inline int setup_store(void **state)
{
	(void)state;
	memset(&err, 0, sizeof(err));
	return tl_store_open_temporary(&store, &err);
}

static inline int teardown_store(void **state)
{
	(void)state;
	tl_store_close(store);
	store = NULL;
	return 0;
}

/* INT64_MIN: NULL, or no row. */
static inline int64_t value(const char *sql)
{
	int64_t v;

	assert_int_equal(tl_store_value(store, sql, INT64_MIN, &v, &err), TL_OK);
	return v;
}

#endif
