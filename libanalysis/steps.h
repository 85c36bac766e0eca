/*
 * steps.h - private: the derived tables step, phase and episode.
 */
#ifndef TL_STEPS_H
#define TL_STEPS_H

#include "store.h"

/* Makes them anew from slices and step marks; within the caller's transaction. */
int tl_steps_derive(struct tl_store *store, struct tl_error *err);

#endif
