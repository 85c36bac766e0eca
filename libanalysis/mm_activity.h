/*
 * mm_activity.h - private: the derived table mm_activity, what memory management did and when.
 */
#ifndef TL_MM_ACTIVITY_H
#define TL_MM_ACTIVITY_H

#include "store.h"

/* Makes the rows of one source anew from its tracepoints; within the caller's transaction. */
int tl_mm_activity_derive(struct tl_store *store, int64_t source_id, struct tl_error *err);

#endif
