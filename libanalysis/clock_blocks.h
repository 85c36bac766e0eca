/*
 * clock_blocks.h - private: moving the times inside blocks by column, where a slope changes.
 */
#ifndef TL_CLOCK_BLOCKS_H
#define TL_CLOCK_BLOCKS_H

#include "clock.h"

/* Writes the sample and call blocks of a source anew. */
int tl_clock_move_blocks(struct tl_store *store, int64_t source_id, struct tl_clock_line from,
			 struct tl_clock_line to, struct tl_error *err);

#endif
