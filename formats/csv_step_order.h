/*
 * csv_step_order.h - rows of a table kept until all are there, and put in the order of their steps.
 */
#ifndef CSV_STEP_ORDER_H
#define CSV_STEP_ORDER_H

#include "step_rows.h"

/* All zero at first. */
struct csv_step_order {
	struct step_line *lines;
	size_t count, capacity;
	struct tl_arena texts;
	uint64_t moved, first_moved; /* rows that stood behind a later step; the first's position */
};

/* 1: kept, and it is the last that is: tables that are longer stay as they are. TL_OK, or negative. */
int csv_step_order_keep(struct csv_step_order *order, const struct step_line *line,
			struct tl_error *err);
/* True: rows were out of order, and now are not, rank by rank. */
bool csv_step_order_sort(struct csv_step_order *order);
void csv_step_order_release(struct csv_step_order *order);

#endif
