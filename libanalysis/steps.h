/*
 * steps.h - private: from rows that are steps to series of them, judged (steps.c), and the derived
 * tables step, phase and episode.
 */
#ifndef TL_STEPS_H
#define TL_STEPS_H

#include "memory.h"
#include "store.h"

/* Adds the series that opt asks for to *out, with names in the arena (steps_load.c). */
int tl_steps_load_rows(struct tl_store *store, const struct tl_steps_options *opt,
		       struct tl_arena *arena, struct tl_steps *out, struct tl_error *err);
/* Fills in all that is not a row: phases, episodes, classes, pauses, verdict (steps_judge.c). */
int tl_steps_judge(struct tl_store *store, const struct tl_steps_options *options,
		   struct tl_arena *arena, struct tl_steps_series *s, struct tl_error *err);

/* Makes the tables anew from slices and step marks; within the caller's transaction. */
int tl_steps_derive(struct tl_store *store, struct tl_error *err);

#endif
