/*
 * ascend_db_names.c - what the numbers in the tables of an Ascend database stand for. Knows no
 * event.
 */
#include "ascend_db.h"

#include <stdlib.h>

static int64_t find(const struct ascend_ids *ids, int64_t id)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&ids->index, tl_hash_u64((uint64_t)id, 0), &probe)) >= 0)
		if (ids->items[found].id == id)
			return found;
	return -1;
}

bool ascend_ids_find(const struct ascend_ids *ids, int64_t id, int64_t *value)
{
	int64_t found = find(ids, id);

	if (found >= 0)
		*value = ids->items[found].value;
	return found >= 0;
}

static int add(struct ascend_ids *ids, int64_t id, int64_t value, struct tl_error *err)
{
	int ret;

	if (find(ids, id) >= 0)
		return TL_OK;
	if (ids->count >= UINT32_MAX)
		return tl_fail(err, TL_UNSUPPORTED, "more than 2^32 names");
	ret = tl_grow(&ids->items, &ids->capacity, ids->count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&ids->index, tl_hash_u64((uint64_t)id, 0), (uint32_t)ids->count,
				   err);
	if (ret == TL_OK)
		ids->items[ids->count++] = (struct ascend_id) { id, value };
	return ret;
}

void ascend_ids_release(struct ascend_ids *ids)
{
	tl_index_release(&ids->index);
	free(ids->items);
}

const struct ascend_text *ascend_text(const struct ascend_texts *texts, int64_t id)
{
	int64_t at;

	return ascend_ids_find(&texts->ids, id, &at) ? &texts->items[at] : NULL;
}

void ascend_texts_release(struct ascend_texts *texts)
{
	ascend_ids_release(&texts->ids);
	tl_arena_release(&texts->arena);
	free(texts->items);
}

int ascend_ids_load(struct ascend_ids *ids, struct tl_foreign *db, const char *table,
		    const char *id_column, const char *value_column, struct tl_error *err)
{
	const char *const columns[] = { id_column, value_column };
	struct tl_foreign_rows *rows;
	int ret = tl_foreign_rows_open(&rows, db, table, columns, 2, err);

	while (rows && ret >= 0 && (ret = tl_foreign_next(rows, err)) > 0) {
		int64_t id, value;

		if (tl_foreign_integer(rows, 0, &id) && tl_foreign_integer(rows, 1, &value))
			ret = add(ids, id, value, err);
	}
	tl_foreign_rows_close(rows);
	return ret;
}

static int add_text(struct ascend_texts *texts, int64_t id, const char *text, size_t length,
		    struct tl_error *err)
{
	struct ascend_text item = { .length = length };
	int ret = tl_grow(&texts->items, &texts->capacity, texts->count + 1, err);

	if (ret < 0)
		return ret;
	item.text = tl_arena_copy(&texts->arena, text, length, err);
	if (!item.text)
		return TL_NOMEM;
	texts->items[texts->count] = item;
	return add(&texts->ids, id, (int64_t)texts->count++, err);
}

int ascend_texts_load(struct ascend_texts *texts, struct tl_foreign *db, const char *table,
		      const char *id_column, const char *text_column, struct tl_error *err)
{
	const char *const columns[] = { id_column, text_column };
	struct tl_foreign_rows *rows;
	int ret = tl_foreign_rows_open(&rows, db, table, columns, 2, err);

	while (rows && ret >= 0 && (ret = tl_foreign_next(rows, err)) > 0) {
		size_t length;
		const char *text = tl_foreign_text(rows, 1, &length);
		int64_t id;

		if (text && tl_foreign_integer(rows, 0, &id))
			ret = add_text(texts, id, text, length, err);
	}
	tl_foreign_rows_close(rows);
	return ret;
}
