/*
 * sample_blocks.c - the bytes of blocks of samples. Knows no table.
 *
 * 0 (the version), then of each sample: the zigzag difference of its time to that of the one before
 * (the first: to base_ts), its sum << 1 | whether its period differs, and, if so, the zigzag
 * difference of its period to that of the one before (the first: to 0). Numbers have seven bits a
 * byte, the lowest first, the top bit set on all but the last byte.
 */
#include "sample_blocks.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES_MAX 10u
#define SAMPLE_BYTES_MAX (3 * NUMBER_BYTES_MAX)
#define BUFFER_SIZE	 (1 + TL_SAMPLE_BLOCK_MAX * SAMPLE_BYTES_MAX)

static size_t put_number(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

/* Differences wrap: any two numbers have one. */
static size_t put_difference(uint8_t *out, uint64_t value, uint64_t before)
{
	uint64_t difference = value - before;

	return put_number(out, difference << 1 ^ (0 - (difference >> 63)));
}

int tl_sample_blocks_add(struct tl_sample_blocks *blocks, const struct tl_sample_entry *sample,
			 struct tl_error *err)
{
	struct tl_sample_block *open = &blocks->open;
	bool is_other = sample->period != blocks->last_period;
	uint8_t *out;

	if (!blocks->buffer) {
		blocks->buffer = malloc(BUFFER_SIZE);
		if (!blocks->buffer)
			return tl_fail(err, TL_NOMEM, "out of memory");
	}
	if (!open->count) {
		blocks->buffer[0] = 0;
		open->length = 1;
		open->base_ts = open->first_ts = open->last_ts = blocks->last_ts = sample->ts;
		blocks->last_period = 0;
		is_other = sample->period != 0;
	}
	out = blocks->buffer + open->length;
	out += put_difference(out, (uint64_t)sample->ts, (uint64_t)blocks->last_ts);
	out += put_number(out, (uint64_t)sample->sum_id << 1 | is_other);
	if (is_other)
		out += put_difference(out, sample->period, blocks->last_period);
	open->length = (size_t)(out - blocks->buffer);
	open->count++;
	blocks->last_ts = sample->ts;
	blocks->last_period = sample->period;
	if (sample->ts < open->first_ts)
		open->first_ts = sample->ts;
	if (sample->ts > open->last_ts)
		open->last_ts = sample->ts;
	return TL_OK;
}

struct tl_sample_block tl_sample_blocks_take(struct tl_sample_blocks *blocks)
{
	struct tl_sample_block block = blocks->open;

	block.bytes = (const char *)blocks->buffer;
	memset(&blocks->open, 0, sizeof(blocks->open));
	return block;
}

void tl_sample_blocks_release(struct tl_sample_blocks *blocks)
{
	free(blocks->buffer);
	memset(blocks, 0, sizeof(*blocks));
}

/* ---- reading ---- */

struct numbers {
	const uint8_t *at, *end;
	bool failed;
};

static inline uint64_t get_number(struct numbers *n)
{
	uint64_t value = 0;

	for (unsigned shift = 0; n->at < n->end && shift < 64; shift += 7) {
		uint8_t byte = *n->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	n->failed = true;
	return 0;
}

static inline uint64_t get_difference(struct numbers *n)
{
	uint64_t value = get_number(n);

	return value >> 1 ^ (0 - (value & 1));
}

int tl_sample_block_read(const struct tl_sample_block *block, struct tl_sample_entry *samples,
			 struct tl_error *err)
{
	const uint8_t *bytes = (const uint8_t *)block->bytes;
	struct numbers n = { bytes, bytes + block->length, block->length == 0 };
	uint64_t ts = (uint64_t)block->base_ts, period = 0;
	int64_t first_ts = INT64_MAX, last_ts = INT64_MIN;

	n.failed |= get_number(&n) != 0; /* the version */
	for (uint32_t i = 0; i < block->count; i++) {
		uint64_t sum;

		ts += get_difference(&n);
		sum = get_number(&n);
		if (sum & 1)
			period += get_difference(&n);
		samples[i].ts = (int64_t)ts;
		first_ts = samples[i].ts < first_ts ? samples[i].ts : first_ts;
		last_ts = samples[i].ts > last_ts ? samples[i].ts : last_ts;
		samples[i].sum_id = (int64_t)(sum >> 1);
		samples[i].period = period;
	}
	if (n.failed || n.at != n.end || first_ts != block->first_ts || last_ts != block->last_ts)
		return tl_fail(err, TL_STORE, "a block of samples is damaged");
	return TL_OK;
}

enum { ROW_COUNT, ROW_BASE, ROW_FIRST, ROW_LAST, ROW_SAMPLES };

int tl_sample_block_row(struct tl_statement *st, struct tl_sample_block *block,
			struct tl_sample_entry *samples, struct tl_error *err)
{
	*block = (struct tl_sample_block) { .count = (uint32_t)tl_column_i64(st, ROW_COUNT),
					    .base_ts = tl_column_i64(st, ROW_BASE),
					    .first_ts = tl_column_i64(st, ROW_FIRST),
					    .last_ts = tl_column_i64(st, ROW_LAST) };
	if (block->count < 1 || block->count > TL_SAMPLE_BLOCK_MAX)
		return tl_fail(err, TL_STORE, "a block of %u samples: damaged", block->count);
	block->bytes = tl_column_text(st, ROW_SAMPLES, &block->length);
	return tl_sample_block_read(block, samples, err);
}
