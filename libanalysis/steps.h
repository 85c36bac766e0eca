/*
 * steps.h - private: from rows that are steps to series of them, judged (steps.c), and the derived
 * tables step, phase and episode.
 */
#ifndef TL_STEPS_H
#define TL_STEPS_H

#include "memory.h"
#include "store.h"

/* What tells whether one series of rows goes on in another one: all rows, usable or not. */
struct tl_steps_extent {
	int64_t host_id;
	const char *importer;
	int64_t first_number, last_number; /* of the first and the last row */
	int64_t least_number, most_number; /* of all steps that the rows stand for */
	int64_t first_ts, last_ts,
		end_ts;	       /* least and greatest begin, and end, of rows with times */
	bool has_ts, is_timed; /* some rows have times; all usable ones have */
};

/*
 * Makes one of series that follow each other in numbers and times: cycles of a profiler, rotated
 * logs. `extents` are of the series, in their order (steps_join.c).
 */
int tl_steps_join(struct tl_steps *steps, const struct tl_steps_extent *extents,
		  struct tl_error *err);
void tl_steps_series_release(struct tl_steps_series *series);

/* Adds the series that opt asks for to *out, with names in the arena (steps_load.c). */
int tl_steps_load_rows(struct tl_store *store, const struct tl_steps_options *opt,
		       struct tl_arena *arena, struct tl_steps *out, struct tl_error *err);
/* Fills in all that is not a row: phases, episodes, classes, pauses, verdict (steps_judge.c). */
int tl_steps_judge(struct tl_store *store, const struct tl_steps_options *options,
		   struct tl_arena *arena, struct tl_steps_series *s, struct tl_error *err);

/* The step that is on at ts, or s->count: none is. Steps of a thread follow each other in time. */
size_t tl_steps_at(const struct tl_steps_series *s, int64_t ts);
/*
 * How far apart the numbers of neighbours usually are, the median: logs may tell of every 10th step.
 * *stride is 0 where no two of them ascend.
 */
int tl_steps_stride(const struct tl_steps_series *s, double *stride, struct tl_error *err);

/* Makes the tables anew from slices and step marks; within the caller's transaction. */
int tl_steps_derive(struct tl_store *store, struct tl_error *err);

#endif
