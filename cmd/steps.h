/*
 * steps.h - private to cmd/: what the steps command prints.
 */
#ifndef CMD_STEPS_H
#define CMD_STEPS_H

#include "output.h"

/* ---- steps_tables.c ---- */

/* A plot of the durations, for people. */
void steps_draw(const struct tl_steps_series *s);
int steps_print_series(struct output *output, const struct tl_steps *steps, bool is_table,
		       struct tl_error *err);
int steps_print_sources(struct output *output, const struct tl_steps *steps, bool is_table,
			struct tl_error *err);
int steps_print_phases(struct output *output, const struct tl_steps *steps, struct tl_error *err);
int steps_print_episodes(struct output *output, const struct tl_steps *steps, struct tl_error *err);
/* Reorders the pauses where it prints only the longest. */
int steps_print_pauses(struct output *output, const struct tl_steps *steps, bool is_table,
		       bool has_all, struct tl_error *err);
int steps_print_all(struct output *output, const struct tl_steps *steps, struct tl_error *err);
/* --against: in numbers, and the slowest steps there. */
int steps_print_comparison(struct output *output, const struct tl_steps_comparison *c,
			   struct tl_error *err);
int steps_print_slowest(struct output *output, const struct tl_steps_series *there,
			const struct tl_steps_comparison *c, struct tl_error *err);

/* ---- steps_parts.c ---- */

int steps_print_breakdown(struct output *output, const struct tl_steps *steps,
			  const struct tl_steps_breakdown *breakdown, struct tl_error *err);
/* `has_every_step`: a row a step, too. */
int steps_print_ranks(struct output *output, const struct tl_steps *steps,
		      const struct tl_ranks *ranks, bool has_every_step, struct tl_error *err);

#endif
