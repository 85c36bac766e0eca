/*
 * step_elapsed.h - durations that may be of one step, or a total that grows: "elapsed 12.5 s". Some
 * lines in a row tell which. Knows nothing of how a line is written.
 */
#ifndef STEP_ELAPSED_H
#define STEP_ELAPSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

struct step_line;
struct step_rows;

enum step_elapsed_meaning { STEP_ELAPSED_UNKNOWN, STEP_ELAPSED_OF_STEP, STEP_ELAPSED_OF_ALL };

/* All zero at first. */
struct step_elapsed {
	struct step_line *pending;
	size_t count, capacity;
	struct tl_arena texts;
	enum step_elapsed_meaning meaning;
	bool is_time; /* times of lines are the totals: they count from a beginning not told */
};

/* Adds a line, now or when its meaning is clear; a total is when, and not how long. */
int step_elapsed_add(struct step_rows *rows, const struct step_line *line, struct tl_sink *sink,
		     struct tl_error *err);
int step_elapsed_finish(struct step_rows *rows, struct tl_sink *sink, struct tl_error *err);
void step_elapsed_release(struct step_elapsed *e);

#endif
