/*
 * sample_blocks.h - private: samples by column. Of some thousand samples one block says in a few
 * bytes each when they were taken, and which sum per stack and what period they add to: enough for
 * questions about times, which need not read the rows of table sample then.
 */
#ifndef TL_SAMPLE_BLOCKS_H
#define TL_SAMPLE_BLOCKS_H

#include "memory.h"
#include "store.h"

#define TL_SAMPLE_BLOCK_MAX 4096u /* samples */

/* One row of table sample_block. */
struct tl_sample_block {
	uint32_t count;
	int64_t base_ts;	   /* of the first one in the block */
	int64_t first_ts, last_ts; /* earliest, latest */
	const char *bytes;
	size_t length;
};

struct tl_sample_blocks {
	struct tl_sample_block open; /* being filled */
	int64_t last_ts;
	uint64_t last_period;
	uint8_t *buffer; /* room for a whole block */
};

struct tl_sample_entry {
	int64_t ts, sum_id;
	uint64_t period;
};

int tl_sample_blocks_add(struct tl_sample_blocks *blocks, const struct tl_sample_entry *sample,
			 struct tl_error *err);
static inline bool tl_sample_blocks_is_full(const struct tl_sample_blocks *blocks)
{
	return blocks->open.count == TL_SAMPLE_BLOCK_MAX;
}
/* What was added since the last time; borrowed until more is added. count 0: nothing. */
struct tl_sample_block tl_sample_blocks_take(struct tl_sample_blocks *blocks);
void tl_sample_blocks_release(struct tl_sample_blocks *blocks);

/* `samples` has room for block->count. TL_STORE if the bytes are not those of such a block. */
int tl_sample_block_read(const struct tl_sample_block *block, struct tl_sample_entry *samples,
			 struct tl_error *err);
/*
 * The block of a row whose columns are sample_count, base_ts, first_ts, last_ts and samples, and what
 * is in it; `samples` has room for TL_SAMPLE_BLOCK_MAX. block->bytes is borrowed from the row.
 */
int tl_sample_block_row(struct tl_statement *st, struct tl_sample_block *block,
			struct tl_sample_entry *samples, struct tl_error *err);

#endif
