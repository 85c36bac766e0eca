/*
 * step_repeats.h - private: one step that a trace tells of several times.
 */
#ifndef TL_STEP_REPEATS_H
#define TL_STEP_REPEATS_H

#include "analysis.h"

struct tl_step_span {
	int64_t slice_id, ts, duration_ns, number;
	uint64_t process; /* the same for tracks of one process */
	uint32_t track;
	uint32_t track_steps; /* filled by the function below */
	bool is_repeat;	      /* the same */
};

/*
 * Steps are those of a process: spans of one process with the same number that share more than half of
 * the shorter one's time are one step. Kept is the one on the track that has most of them, and of
 * equal ones the one that was told first. Numbers that come again at another time are other steps. Spans
 * end up in another order. Returns how many are repeats.
 */
int64_t tl_step_spans_mark(struct tl_step_span *spans, size_t count);

#endif
