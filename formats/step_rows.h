/*
 * step_rows.h - what the lines of a log, or the rows of a table, that each tell of a step stand for
 * together: how many steps, and from when to when. Knows nothing of how a line is written.
 */
#ifndef STEP_ROWS_H
#define STEP_ROWS_H

#include "analysis.h"
#include "memory.h"
#include "step_elapsed.h"

struct step_line {
	int64_t number;
	int32_t rank;	     /* -1 unknown */
	int64_t duration_ns; /* of one step, as told; -1: not told */
	bool has_time;
	bool is_begin; /* the time is when the step began, and not when it had ended */
	int64_t time;
	int64_t tick_ns;    /* the finest difference between two times; at least 1 */
	bool is_progress;   /* drawn now and then: for all steps since the line before */
	bool is_total;	    /* the duration is that of all steps since the line before */
	bool is_epoch_mean; /* the duration is the mean of all steps since the epoch began */
	int64_t epoch;	    /* where it has_epoch */
	bool has_epoch;
	bool may_be_total;	  /* or it counts from the beginning; lines in a row tell */
	bool is_named_elapsed;	  /* such a duration that is not named a step's */
	int64_t duration_tick_ns; /* the last digit of the duration; 0 unknown */
	const char *detail;	  /* NULL: nothing else is told */
	uint64_t position;
	uint64_t sequence; /* of rows that are kept: in the order of the file */
};

enum step_note {
	STEP_NOTE_MEAN,
	STEP_NOTE_TOTAL,
	STEP_NOTE_DERIVED,
	STEP_NOTE_JOINED,
	STEP_NOTE_UNTOLD,
	STEP_NOTE_AGAIN,
	STEP_NOTE_DROPPED,
	STEP_NOTE_MISSING,
	STEP_NOTE_BACK,
	STEP_NOTE_DISORDER,
	STEP_NOTE_ELAPSED,
	STEP_NOTE_SINCE,
	STEP_NOTE_ROUNDED,
	STEP_NOTE_COUNT
};

/* All zero at first. */
struct step_rows {
	struct step_rank *ranks;
	size_t rank_count, rank_capacity;
	struct tl_index index;
	/* lines without a duration, until it is clear that none tells it */
	struct step_line *waiting;
	size_t waiting_count, waiting_capacity;
	struct tl_arena texts;
	bool has_told, is_waiting_over;
	bool has_ranked; /* the last line without a duration had a rank */
	int64_t ranked_number;
	struct step_elapsed elapsed;
	bool has_time;
	int64_t last_end; /* the latest of all lines with a time */
	uint64_t emitted;
	struct {
		uint64_t count, first;
	} notes[STEP_NOTE_COUNT];
};

/* A line of each rank is held back: what follows tells how many steps it stands for. */
int step_rows_add(struct step_rows *rows, const struct step_line *line, struct tl_sink *sink,
		  struct tl_error *err);
/* The last number of a rank. False: there is none. */
bool step_rows_last(const struct step_rows *rows, int32_t rank, int64_t *number);
void step_rows_note(struct step_rows *rows, enum step_note note, uint64_t count, uint64_t position);
/* What was held back, and then the notes. */
int step_rows_finish(struct step_rows *rows, struct tl_sink *sink, struct tl_error *err);
void step_rows_release(struct step_rows *rows);

#endif
