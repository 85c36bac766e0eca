/*
 * clock_settle.c - after imports, or when a person says otherwise: each clock by the surest way there
 * is, and what depends on it anew.
 */
#include "clock.h"

#include <stdio.h>

#include "clock_anchor.h"
#include "clock_pairs.h"
#include "lives.h"
#include "steps.h"

/* Whose threads are one: other sources, or other times, may say otherwise. */
static int join_threads(struct tl_store *store, struct tl_error *err)
{
	int ret = tl_hosts_join(store, err);

	if (ret == TL_OK)
		ret = tl_threads_join(store, err);
	return ret;
}

static int count_sources(struct tl_store *store, const char *which, int64_t *count,
			 struct tl_error *err)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM source WHERE %s", which);
	return tl_store_value(store, sql, 0, count, err);
}

static int settle(struct tl_store *store, struct tl_error *err)
{
	bool has_moved = false;
	int64_t source_count = 0, new_count = 0;
	int ret = tl_clock_anchor_claims(store, err);

	/* what is anchored need not be matched, and is the measure for what must */
	if (ret == TL_OK)
		ret = tl_clock_match_sources(store, err);
	if (ret == TL_OK)
		ret = tl_clock_apply(store, &has_moved, err);
	if (ret == TL_OK)
		ret = count_sources(store, "true", &source_count, err);
	if (ret == TL_OK)
		ret = count_sources(store, "NOT is_settled", &new_count, err);
	if (ret == TL_OK && (has_moved || source_count > 1))
		ret = join_threads(store, err);
	if (ret == TL_OK && (has_moved || new_count))
		ret = tl_steps_derive(store, err);
	if (ret == TL_OK && !tl_store_is_temporary(store))
		ret = tl_store_index(store, err);
	if (ret == TL_OK && new_count)
		ret = tl_store_execute(store, "UPDATE source SET is_settled = 1", err);
	return ret;
}

/* Within a transaction of its own. */
static int transact(struct tl_store *store, int (*fn)(struct tl_store *store, struct tl_error *err),
		    struct tl_error *err)
{
	int ret = tl_store_begin(store, err);

	if (ret == TL_OK)
		ret = fn(store, err);
	if (ret == TL_OK)
		ret = tl_store_commit(store, err);
	if (ret < 0)
		tl_store_rollback(store);
	return ret;
}

int tl_clock_settle(struct tl_store *store, struct tl_error *err)
{
	int64_t source_count;
	int ret = count_sources(store, "true", &source_count, err);

	return ret < 0 || !source_count ? ret : transact(store, settle, err);
}

int tl_clock_unsettled(struct tl_store *store, size_t *count, struct tl_error *err)
{
	int64_t unsettled = 0;
	int ret = count_sources(store, "NOT is_settled", &unsettled, err);

	*count = (size_t)unsettled;
	return ret;
}

/* ---- as a person says ---- */

static int check_source(struct tl_store *store, int64_t source_id, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store, "SELECT 1 AS one FROM source WHERE source_id = ?",
				    "one", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	ret = tl_statement_step(st, err);
	tl_statement_close(st);
	if (ret == 0)
		return tl_fail(err, TL_USAGE, "there is no source %lld", (long long)source_id);
	return ret < 0 ? ret : TL_OK;
}

/* What was told against a source that was told against the first would leave both on nothing. */
static int check_circle(struct tl_store *store, const struct tl_clock_setting *setting,
			struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, store,
		"WITH RECURSIVE leads(source_id) AS (SELECT ?1 UNION SELECT c.reference_id FROM "
		"clock_claim c JOIN leads USING (source_id) WHERE c.is_set AND c.reference_id NOT "
		"NULL) SELECT 1 AS one FROM leads WHERE source_id = ?2",
		"one", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, setting->reference_id);
	tl_bind_i64(st, 2, setting->source_id);
	ret = tl_statement_step(st, err);
	tl_statement_close(st);
	if (ret > 0)
		return tl_fail(
			err, TL_USAGE,
			"source %lld was itself told against source %lld, or against one that "
			"was: release it first, or tell the one at the end",
			(long long)setting->reference_id, (long long)setting->source_id);
	return ret;
}

static int put_setting(struct tl_store *store, const struct tl_clock_setting *setting,
		       struct tl_error *err)
{
	const struct tl_clock_claim claim = {
		.source_id = setting->source_id,
		.method = TL_CLOCK_TOLD,
		.is_set = true,
		.line = { setting->offset_ns, setting->slope != 0 ? setting->slope : 1 },
		.residual_ns = setting->residual_ns,
		.reference_id = setting->reference_id,
		.match_count = -1,
		.rival_ratio = -1,
		.why = setting->reference_id ? "told, against another source" : "told",
	};
	int ret = tl_store_begin(store, err);

	if (ret == TL_OK)
		ret = tl_clock_claim_put(store, &claim, err);
	if (ret == TL_OK)
		ret = settle(store, err);
	if (ret == TL_OK)
		ret = tl_store_commit(store, err);
	if (ret < 0)
		tl_store_rollback(store);
	return ret;
}

int tl_clock_set(struct tl_store *store, const struct tl_clock_setting *setting,
		 struct tl_error *err)
{
	int ret = check_source(store, setting->source_id, err);

	if (ret == TL_OK && setting->reference_id)
		ret = check_source(store, setting->reference_id, err);
	if (ret == TL_OK && setting->reference_id == setting->source_id)
		ret = tl_fail(err, TL_USAGE, "a source cannot be its own reference");
	if (ret == TL_OK && setting->reference_id)
		ret = check_circle(store, setting, err);
	/* clocks are counted in ppm; what is far from 1 is a mistake */
	if (ret == TL_OK && setting->slope != 0 && !(setting->slope > 0.5 && setting->slope < 2))
		ret = tl_fail(err, TL_USAGE, "a slope of %g: expected one near 1", setting->slope);
	return ret < 0 ? ret : put_setting(store, setting, err);
}

int tl_clock_release(struct tl_store *store, int64_t source_id, struct tl_error *err)
{
	struct tl_statement *st = NULL;
	int ret = source_id ? check_source(store, source_id, err) : TL_OK;

	if (ret == TL_OK)
		ret = tl_statement_open(
			&st, store,
			"DELETE FROM clock_claim WHERE is_set AND (source_id = ?1 OR ?1 = 0)", NULL,
			err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}
