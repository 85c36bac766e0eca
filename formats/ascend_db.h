/*
 * ascend_db.h - Ascend's profiles kept as a database: the importer, and the names that its tables
 * refer to by number.
 */
#ifndef ASCEND_DB_H
#define ASCEND_DB_H

#include "analysis.h"
#include "foreign.h"
#include "memory.h"

extern const struct tl_importer ascend_db_importer;

/* ---- numbers and what they stand for (ascend_db_names.c) -------------------------------------- */

struct ascend_ids { /* id to value; of equal ids the first counts */
	struct ascend_id {
		int64_t id, value;
	} * items;
	size_t count, capacity;
	struct tl_index index;
};

bool ascend_ids_find(const struct ascend_ids *ids, int64_t id, int64_t *value);
void ascend_ids_release(struct ascend_ids *ids);

struct ascend_texts { /* id to text */
	struct ascend_ids ids;
	struct ascend_text {
		const char *text;
		size_t length;
	} * items;
	size_t count, capacity;
	struct tl_arena arena;
};

/* NULL: no such id. */
const struct ascend_text *ascend_text(const struct ascend_texts *texts, int64_t id);
void ascend_texts_release(struct ascend_texts *texts);

/* Fill from two columns of a table; a table that is not there leaves them empty. */
int ascend_ids_load(struct ascend_ids *ids, struct tl_foreign *db, const char *table,
		    const char *id_column, const char *value_column, struct tl_error *err);
int ascend_texts_load(struct ascend_texts *texts, struct tl_foreign *db, const char *table,
		      const char *id_column, const char *text_column, struct tl_error *err);

#endif
