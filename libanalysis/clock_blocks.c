/*
 * clock_blocks.c - blocks by column hold times as differences: where the slope of a clock changes they
 * are taken apart and written anew.
 */
#include "clock_blocks.h"

#include <stdlib.h>

#include "calls.h"
#include "sample_blocks.h"

struct mover {
	struct tl_clock_line from, to;
	struct tl_statement *update;
	int64_t row_id;
};

static int64_t moved(const struct mover *m, int64_t ts)
{
	return tl_clock_unix(m->to, tl_clock_source_time(m->from, ts));
}

enum { BLOCK_ROW, BLOCK_COUNT, BLOCK_BASE, BLOCK_FIRST, BLOCK_LAST, BLOCK_BYTES };

static int put(struct mover *m, int64_t base, int64_t first, int64_t last, const char *bytes,
	       size_t length, struct tl_error *err)
{
	tl_bind_i64(m->update, 1, base);
	tl_bind_i64(m->update, 2, first);
	tl_bind_i64(m->update, 3, last);
	tl_bind_bytes(m->update, 4, bytes, length);
	tl_bind_i64(m->update, 5, m->row_id);
	return tl_statement_run(m->update, err);
}

/* ---- samples ---- */

static int move_samples(struct mover *m, struct tl_statement *st, struct tl_error *err)
{
	struct tl_sample_block block = { .count = (uint32_t)tl_column_i64(st, BLOCK_COUNT),
					 .base_ts = tl_column_i64(st, BLOCK_BASE),
					 .first_ts = tl_column_i64(st, BLOCK_FIRST),
					 .last_ts = tl_column_i64(st, BLOCK_LAST) };
	struct tl_sample_blocks blocks = { 0 };
	struct tl_sample_entry *samples;
	int ret;

	if (block.count > TL_SAMPLE_BLOCK_MAX)
		return tl_fail(err, TL_STORE, "a block of %u samples: the case is damaged",
			       block.count);
	block.bytes = tl_column_text(st, BLOCK_BYTES, &block.length);
	samples = tl_alloc(block.count, sizeof(*samples), err);
	ret = samples ? tl_sample_block_read(&block, samples, err) : TL_NOMEM;
	for (uint32_t i = 0; i < block.count && ret == TL_OK; i++) {
		samples[i].ts = moved(m, samples[i].ts);
		ret = tl_sample_blocks_add(&blocks, &samples[i], err);
	}
	if (ret == TL_OK && block.count) {
		block = tl_sample_blocks_take(&blocks);
		ret = put(m, block.base_ts, block.first_ts, block.last_ts, block.bytes,
			  block.length, err);
	}
	tl_sample_blocks_release(&blocks);
	free(samples);
	return ret;
}

/* ---- calls ---- */

static int put_calls(void *payload, const struct tl_call_block *block, struct tl_error *err)
{
	struct mover *m = payload;

	return put(m, block->base_ts, block->first_ts, block->last_ts, block->bytes, block->length,
		   err);
}

static int move_calls(struct mover *m, struct tl_statement *st, struct tl_error *err)
{
	struct tl_call_block block = { .count = (uint32_t)tl_column_i64(st, BLOCK_COUNT),
				       .base_ts = tl_column_i64(st, BLOCK_BASE),
				       .first_ts = tl_column_i64(st, BLOCK_FIRST),
				       .last_ts = tl_column_i64(st, BLOCK_LAST),
				       .has_times = true };
	struct tl_call_blocks blocks = { .put = put_calls, .payload = m };
	struct tl_call_entry *calls;
	int ret;

	if (block.count > TL_CALL_BLOCK_MAX)
		return tl_fail(err, TL_STORE, "a block of %u calls: the case is damaged",
			       block.count);
	block.bytes = tl_column_text(st, BLOCK_BYTES, &block.length);
	calls = tl_alloc(block.count, sizeof(*calls), err);
	ret = calls ? tl_call_block_read(&block, calls, err) : TL_NOMEM;
	for (uint32_t i = 0; i < block.count && ret == TL_OK; i++) {
		calls[i].ts = moved(m, calls[i].ts);
		ret = tl_call_blocks_add(&blocks, &block.key, true, &calls[i], NULL, err);
	}
	if (ret == TL_OK)
		ret = tl_call_blocks_flush(&blocks, err);
	tl_call_blocks_release(&blocks);
	free(calls);
	return ret;
}

/* ---- both ---- */

static int move_all(struct tl_store *store, int64_t source_id, struct mover *m, const char *select,
		    const char *update,
		    int (*move)(struct mover *m, struct tl_statement *st, struct tl_error *err),
		    struct tl_error *err)
{
	struct tl_statement *st = NULL;
	int ret = tl_statement_open(&m->update, store, update, NULL, err);

	if (ret == TL_OK)
		ret = tl_statement_open(&st, store, select, "id count base first last bytes", err);
	if (ret == TL_OK)
		tl_bind_i64(st, 1, source_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status;

		m->row_id = tl_column_i64(st, BLOCK_ROW);
		status = move(m, st, err);
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	tl_statement_close(m->update);
	return ret;
}

int tl_clock_move_blocks(struct tl_store *store, int64_t source_id, struct tl_clock_line from,
			 struct tl_clock_line to, struct tl_error *err)
{
	struct mover m = { .from = from, .to = to };
	int ret =
		move_all(store, source_id, &m,
			 "SELECT rowid AS id, sample_count AS count, base_ts AS base, first_ts AS "
			 "first, last_ts AS last, samples AS bytes FROM sample_block "
			 "WHERE source_id = ?1 ORDER BY rowid",
			 "UPDATE sample_block SET base_ts = ?1, first_ts = ?2, last_ts = ?3, "
			 "samples = ?4 WHERE rowid = ?5",
			 move_samples, err);

	if (ret < 0)
		return ret;
	ret = move_all(store, source_id, &m,
		       "SELECT rowid AS id, call_count AS count, base_ts AS base, first_ts AS "
		       "first, last_ts AS last, calls AS bytes FROM call_block "
		       "WHERE source_id = ?1 AND base_ts NOT NULL ORDER BY rowid",
		       "UPDATE call_block SET base_ts = ?1, first_ts = ?2, last_ts = ?3, "
		       "calls = ?4 WHERE rowid = ?5",
		       move_calls, err);
	/* durations are left as they are, so that ends do not move as begins do */
	return ret < 0 ? ret : tl_call_zones_renew(store, source_id, err);
}
