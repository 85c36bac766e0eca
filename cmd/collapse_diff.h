/*
 * collapse_diff.h - two folds beside each other, per step: what differential flame graphs are drawn of.
 */
#ifndef CMD_COLLAPSE_DIFF_H
#define CMD_COLLAPSE_DIFF_H

#include "analysis.h"

/* Of both the means per step; a line for each stack of either: "stack BEFORE AFTER". */
struct collapse_side {
	const struct tl_folded *folded;
	size_t step_count;
};

/* The number of lines. Whole units; where they are few (samples, calls) three decimals. */
uint64_t collapse_print_diff(FILE *out, const struct collapse_side *before,
			     const struct collapse_side *after);

#endif
