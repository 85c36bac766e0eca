/*
 * stack_parts.c - what a time range has of each sum per stack, from the samples by column. Who ran
 * the stacks, and what becomes of them, is known to stack_rows.c.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#include "sample_blocks.h"

#define ID_MAX (INT64_C(1) << 28) /* more rows than this are taken for damage */

enum { BLOCK_COUNT, BLOCK_BASE, BLOCK_FIRST, BLOCK_LAST, BLOCK_SAMPLES };

static int read_block(struct tl_statement *st, struct tl_sample_block *block,
		      struct tl_sample_entry *samples, struct tl_error *err)
{
	int64_t count = tl_column_i64(st, BLOCK_COUNT);

	if (count < 1 || count > TL_SAMPLE_BLOCK_MAX)
		return tl_fail(err, TL_STORE, "a block of %lld samples: damaged", (long long)count);
	block->count = (uint32_t)count;
	block->base_ts = tl_column_i64(st, BLOCK_BASE);
	block->first_ts = tl_column_i64(st, BLOCK_FIRST);
	block->last_ts = tl_column_i64(st, BLOCK_LAST);
	block->bytes = tl_column_text(st, BLOCK_SAMPLES, &block->length);
	return tl_sample_block_read(block, samples, err);
}

static void add_sample(struct tl_fold_part *part, const struct tl_sample_entry *sample)
{
	if (!part->count || sample->ts < part->first_ts)
		part->first_ts = sample->ts;
	if (!part->count || sample->ts > part->last_ts)
		part->last_ts = sample->ts;
	part->count++;
	part->period += sample->period;
}

static int add_block(struct tl_fold *fold, const struct tl_sample_block *block,
		     const struct tl_sample_entry *samples, struct tl_fold_parts *parts,
		     struct tl_error *err)
{
	uint64_t span = (uint64_t)block->last_ts - (uint64_t)block->first_ts;
	bool is_inside = block->last_ts < INT64_MAX &&
			 tl_fold_inside_ns(fold, block->first_ts, block->last_ts + 1) == span + 1;

	for (uint32_t i = 0; i < block->count; i++) {
		const struct tl_sample_entry *sample = &samples[i];

		if (sample->sum_id <= 0 || sample->sum_id > parts->sum_max)
			return tl_fail(err, TL_STORE,
				       "a block of samples has the sum %lld: damaged",
				       (long long)sample->sum_id);
		if (is_inside || tl_fold_inside_ns(fold, sample->ts, sample->ts + 1))
			add_sample(&parts->by_sum[sample->sum_id], sample);
	}
	return TL_OK;
}

static int alloc_parts(struct tl_fold *fold, struct tl_fold_parts *parts, struct tl_error *err)
{
	int ret = tl_store_value(fold->store, "SELECT max(sum_id) FROM stack_sum", 0,
				 &parts->sum_max, err);

	if (ret == TL_OK && (parts->sum_max < 0 || parts->sum_max > ID_MAX))
		ret = tl_fail(err, TL_STORE, "table stack_sum has the id %lld: damaged",
			      (long long)parts->sum_max);
	if (ret == TL_OK)
		parts->by_sum = tl_alloc((size_t)parts->sum_max + 1, sizeof(*parts->by_sum), err);
	return ret == TL_OK && !parts->by_sum ? TL_NOMEM : ret;
}

int tl_fold_load_parts(struct tl_fold *fold, struct tl_fold_parts *parts, struct tl_error *err)
{
	struct tl_sample_entry *samples = tl_alloc(TL_SAMPLE_BLOCK_MAX, sizeof(*samples), err);
	struct tl_statement *st = NULL;
	struct tl_sample_block block;
	int ret = samples ? alloc_parts(fold, parts, err) : TL_NOMEM;

	if (ret == TL_OK)
		ret = tl_statement_open(&st, fold->store,
					"SELECT sample_count, base_ts, first_ts, last_ts, samples "
					"FROM sample_block WHERE last_ts >= ? AND first_ts < ?",
					"sample_count base_ts first_ts last_ts samples", err);
	if (ret == TL_OK) {
		tl_bind_i64(st, 1, fold->ranges[0].begin_ns);
		tl_bind_i64(st, 2, fold->ranges[fold->range_count - 1].end_ns);
	}
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = read_block(st, &block, samples, err);

		if (status == TL_OK)
			status = add_block(fold, &block, samples, parts, err);
		if (status < 0)
			ret = status;
	}
	tl_statement_close(st);
	free(samples);
	return ret;
}
