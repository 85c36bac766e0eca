/*
 * clock.h - private: from a source's own time to Unix time and back, the ways in which that could be
 * done for each source (claims), and moving what a case holds when another way is taken.
 */
#ifndef TL_CLOCK_H
#define TL_CLOCK_H

#include <math.h>

#include "store.h"

/* ---- a straight line ---------------------------------------------------------------------------- */

struct tl_clock_line {
	int64_t offset_ns;
	double slope; /* 1, or near it */
};

/*
 * ts = slope * time + offset. Only the small difference of the slope to 1 goes through a double, so
 * that a slope of 1 is exact. Hostile times wrap; they stay wrong, but defined, and come back.
 */
static inline int64_t tl_clock_unix(struct tl_clock_line line, int64_t time)
{
	double drift = line.slope == 1 ? 0 : (line.slope - 1) * (double)time;
	int64_t whole = drift > -9e18 && drift < 9e18 ? (int64_t)llround(drift) : 0;

	return (int64_t)((uint64_t)time + (uint64_t)line.offset_ns + (uint64_t)whole);
}

/* The time that the source itself wrote. Where two of them fall on one ts: one of the two. */
static inline int64_t tl_clock_source_time(struct tl_clock_line line, int64_t ts)
{
	int64_t time = (int64_t)((uint64_t)ts - (uint64_t)line.offset_ns);

	/* each round leaves |slope - 1| of the error */
	for (int i = 0; line.slope != 1 && i < 8; i++) {
		uint64_t error = (uint64_t)ts - (uint64_t)tl_clock_unix(line, time);

		if (!error)
			break;
		time = (int64_t)((uint64_t)time + error);
	}
	return time;
}

/* ---- claims (clock_claims.c) -------------------------------------------------------------------- */

/*
 * One way to map one source. The source itself makes one when it is imported (exact, told or assumed),
 * clock snapshots make one (anchored), what two sources saw makes one (matched), and a person may
 * (is_set). One row per source, method and is_set; the surest that leads to Unix time is in force.
 */
struct tl_clock_claim {
	int64_t source_id;
	enum tl_clock_method method;
	bool is_set;
	/* to Unix time; where there is a reference: to the reference's own time */
	struct tl_clock_line line;
	int64_t residual_ns;  /* against Unix time, or against the reference; -1 unknown */
	int64_t reference_id; /* 0: none */
	int64_t match_count;  /* -1: does not apply */
	double rival_ratio;   /* -1: does not apply */
	const char *why;      /* one phrase; borrowed */
};

/* Replaces the claim of the same source, method and is_set. */
int tl_clock_claim_put(struct tl_store *store, const struct tl_clock_claim *claim,
		       struct tl_error *err);
/* All claims of one method that nobody set are taken back. */
int tl_clock_claims_withdraw(struct tl_store *store, enum tl_clock_method method,
			     struct tl_error *err);
/*
 * Puts the surest claim of every source in force: set, exact, anchored, matched, told, assumed; moves
 * rows where that changes something. *has_moved (may be NULL) is then set.
 */
int tl_clock_apply(struct tl_store *store, bool *has_moved, struct tl_error *err);

/* time -> inner -> outer */
static inline struct tl_clock_line tl_clock_compose(struct tl_clock_line outer,
						    struct tl_clock_line inner)
{
	struct tl_clock_line line = { tl_clock_unix(outer, inner.offset_ns), 1 };

	if (outer.slope != 1 || inner.slope != 1)
		line.slope = outer.slope * inner.slope;
	return line;
}

/* ---- moving (clock.c) ------------------------------------------------------------------------------ */

/* Every ts of a source from one line to another, and the line in its row. */
int tl_clock_move(struct tl_store *store, int64_t source_id, struct tl_clock_line from,
		  struct tl_clock_line to, struct tl_error *err);

#endif
