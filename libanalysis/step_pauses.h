/*
 * step_pauses.h - private: time between one step and the next, which no step's duration has in it: a
 * checkpoint, an evaluation, a restart.
 */
#ifndef TL_STEP_PAUSES_H
#define TL_STEP_PAUSES_H

#include "analysis.h"

/*
 * Fills in the pauses of s, whose baseline is known already. A gap is a pause when it is longer than
 * the usual gap (the median) by a tenth of a baseline step, by 5 times the gaps' spread (1.4826 MAD),
 * and by the unit that the times of the steps are told in. Between steps that do not follow each
 * other by number, steps are missing; that is no pause. s->pauses is freed by the caller.
 */
int tl_step_pauses(struct tl_steps_series *s, struct tl_error *err);

#endif
