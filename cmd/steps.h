/*
 * steps.h - private to cmd/: the tables of the steps command that split steps and compare ranks.
 */
#ifndef CMD_STEPS_H
#define CMD_STEPS_H

#include "output.h"

int steps_print_breakdown(struct output *output, const struct tl_steps *steps,
			  const struct tl_steps_breakdown *breakdown, struct tl_error *err);
/* `has_every_step`: a row a step, too. */
int steps_print_ranks(struct output *output, const struct tl_steps *steps,
		      const struct tl_ranks *ranks, bool has_every_step, struct tl_error *err);

#endif
