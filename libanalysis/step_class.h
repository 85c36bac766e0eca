/*
 * step_class.h - private: what step is slow, good, or slow in a way of its own. The one home of what
 * "--steps slow" and every question about slow steps means.
 */
#ifndef TL_STEP_CLASS_H
#define TL_STEP_CLASS_H

#include "store.h"

struct tl_steps_model;

/* Of a span by its name: "save_checkpoint", "ckpt_save", "state_dict", ... */
bool tl_is_checkpoint_name(const char *name);

/*
 * Sets class_ of every step of the series:
 *   slow   in a regression, recovery or shift that did not fail its tests
 *   good   of the baseline
 *   apart  would be slow, but is so in another way than the other slow steps, as by a checkpoint
 *   spike  slow alone, or in an episode that may be chance
 *   other  warm-up, periodic, improved
 */
int tl_step_classify(struct tl_store *store, struct tl_steps_series *series,
		     const struct tl_steps_model *model, struct tl_error *err);

#endif
