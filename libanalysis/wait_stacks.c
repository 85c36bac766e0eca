/*
 * wait_stacks.c - judges every call chain of a case once, from the outermost frame inwards.
 *
 * What names mean is wait_reasons.c's business.
 */
#include "wait_reasons.h"

#include <stdlib.h>

#include "memory.h"

#define ID_MAX (INT64_C(1) << 28) /* more rows than this are taken for damage */

struct judge {
	struct tl_store *store;
	uint32_t *by_symbol, *by_frame; /* meanings */
	int64_t symbol_max, frame_max, stack_max;
};

static int id_max(struct judge *j, const char *sql, const char *what, int64_t *max,
		  struct tl_error *err)
{
	int ret = tl_store_value(j->store, sql, 0, max, err);

	if (ret == TL_OK && (*max < 0 || *max > ID_MAX))
		return tl_fail(err, TL_STORE, "%s ids up to %lld, expected at most %lld", what,
			       (long long)*max, (long long)ID_MAX);
	return ret;
}

static int judge_symbols(struct judge *j, struct tl_error *err)
{
	struct tl_wait_names names;
	struct tl_statement *st;
	int ret = tl_wait_names_init(&names, err);

	if (ret < 0)
		return ret;
	ret = tl_statement_open(
		&st, j->store,
		"SELECT y.symbol_id AS id, n.text AS name FROM symbol y JOIN string n ON "
		"n.string_id = coalesce(y.linkage_name_id, y.name_id)",
		"id name", err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, 0);
		size_t length;
		const char *name = tl_column_text(st, 1, &length);

		if (id >= 0 && id <= j->symbol_max && name)
			j->by_symbol[id] = tl_wait_function(&names, name, length);
	}
	tl_statement_close(st);
	tl_wait_names_release(&names);
	return ret;
}

static int judge_frames(struct judge *j, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, j->store,
				    "SELECT frame_id AS id, symbol_id AS symbol FROM frame WHERE "
				    "symbol_id IS NOT NULL AND context = 'kernel'",
				    "id symbol", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, 0), symbol = tl_column_i64(st, 1);

		if (id >= 0 && id <= j->frame_max && symbol >= 0 && symbol <= j->symbol_max)
			j->by_frame[id] = j->by_symbol[symbol];
	}
	tl_statement_close(st);
	return ret;
}

/* Writers number a caller's stack before the stacks that go on from it. */
static int judge_stacks(struct judge *j, struct tl_chain_traits *traits, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, j->store,
				    "SELECT stack_id AS id, parent_id AS parent, frame_id AS frame "
				    "FROM stack ORDER BY stack_id",
				    "id parent frame", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, 0), parent = tl_column_i64(st, 1);
		int64_t frame = tl_column_i64(st, 2);

		if (id <= 0 || id > j->stack_max || parent < 0 || parent >= id) {
			ret = tl_fail(err, TL_STORE,
				      "stack %lld has the caller %lld, expected a smaller id",
				      (long long)id, (long long)parent);
			break;
		}
		traits[id] = traits[parent];
		if (frame >= 0 && frame <= j->frame_max)
			tl_chain_step(&traits[id], j->by_frame[frame]);
	}
	tl_statement_close(st);
	return ret;
}

int tl_chain_traits_load(struct tl_chain_traits **out, size_t *count, struct tl_store *store,
			 struct tl_error *err)
{
	struct judge j = { .store = store };
	struct tl_chain_traits *traits = NULL;
	int ret;

	*out = NULL;
	*count = 0;
	if ((ret = id_max(&j, "SELECT max(symbol_id) FROM symbol", "symbol", &j.symbol_max, err)) <
		    0 ||
	    (ret = id_max(&j, "SELECT max(frame_id) FROM frame", "frame", &j.frame_max, err)) < 0 ||
	    (ret = id_max(&j, "SELECT max(stack_id) FROM stack", "stack", &j.stack_max, err)) < 0)
		return ret;
	j.by_symbol = tl_alloc((size_t)j.symbol_max + 1, sizeof(*j.by_symbol), err);
	j.by_frame = tl_alloc((size_t)j.frame_max + 1, sizeof(*j.by_frame), err);
	traits = tl_alloc((size_t)j.stack_max + 1, sizeof(*traits), err);
	ret = TL_NOMEM;
	if (j.by_symbol && j.by_frame && traits && (ret = judge_symbols(&j, err)) >= 0 &&
	    (ret = judge_frames(&j, err)) >= 0)
		ret = judge_stacks(&j, traits, err);
	free(j.by_symbol);
	free(j.by_frame);
	if (ret < 0) {
		free(traits);
		return ret;
	}
	*out = traits;
	*count = (size_t)j.stack_max + 1;
	return TL_OK;
}
