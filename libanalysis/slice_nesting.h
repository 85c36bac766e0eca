/*
 * slice_nesting.h - private: do the spans of a row nest?
 */
#ifndef TL_SLICE_NESTING_H
#define TL_SLICE_NESTING_H

#include "store.h"

/*
 * Counts spans of threads and device streams that begin inside another one of their row and end
 * behind it, and notes them as a fact about the source; they stay as they are.
 */
int tl_slices_note_crossed(struct tl_store *store, int64_t source_id, struct tl_error *err);

#endif
