/*
 * source_ranks.h - private: which ranks of a job a case tells of.
 */
#ifndef TL_SOURCE_RANKS_H
#define TL_SOURCE_RANKS_H

#include "analysis.h"

/* TL_NOTHING, in words, when the case has nothing of that rank. */
int tl_need_rank(struct tl_store *store, int64_t rank, struct tl_error *err);

#endif
