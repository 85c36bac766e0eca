/*
 * csv_step.h - what the files that read tables of steps share: which column tells what.
 */
#ifndef CSV_STEP_H
#define CSV_STEP_H

#include "csv.h"

enum csv_step_column {
	CSV_STEP_NUMBER,
	CSV_STEP_BEGIN,	   /* when the step began */
	CSV_STEP_END,	   /* when it had ended, or when the row was written, which is then */
	CSV_STEP_DURATION, /* or a rate */
	CSV_STEP_RANK,
	CSV_STEP_KEY, /* a row for each metric: its name, and its value */
	CSV_STEP_VALUE,
	CSV_STEP_COLUMNS
};

struct csv_step_columns {
	int at[CSV_STEP_COLUMNS];	   /* index, or -1 */
	int64_t unit_ns[CSV_STEP_COLUMNS]; /* told by the name; 0: not */
	bool is_rate;
	bool may_be_total; /* "elapsed": of the step, or since the beginning */
	bool may_be_time;  /* "time": how long, or when */
};

struct csv_step_duration {
	int score; /* how surely the name is one of a step's duration; 0: it is not */
	int64_t unit_ns;
	bool is_rate, may_be_total, may_be_time;
};

void csv_step_duration_name(const char *name, size_t len, struct csv_step_duration *out);
void csv_step_find_columns(const struct csv_record *names, struct csv_step_columns *out);
/* Can the rows be placed among the steps, and in time? */
bool csv_step_is_table(const struct csv_step_columns *columns);

#endif
