/*
 * clock_match.h - private: the offset between two clocks from happenings that both saw. Pure
 * arithmetic on arrays: knows neither the case nor what a happening is.
 */
#ifndef TL_CLOCK_MATCH_H
#define TL_CLOCK_MATCH_H

#include "memory.h"

/* Something a thread did, as one of the two saw it. Times are within TL_HAPPENING_TIME_MAX of 0. */
#define TL_HAPPENING_TIME_MAX INT64_C(2200000000000000000) /* offsets differ by an int64 */

struct tl_happening {
	int64_t begin, end;   /* end = begin where it is not known */
	int64_t previous_end; /* of what the same thread did before; INT64_MIN unknown */
	uint64_t kind;	      /* equal for what is called the same; 0: nothing is told of it */
	uint64_t sign;	      /* equal for what is alike in everything that both can see */
};

/* One thread in both sources, each in order of begin. */
struct tl_clock_thread {
	struct tl_happening *outer, *inner;
	size_t outer_count, inner_count;
};

/*
 * How the same happening looks to the two. The outer one sees it begin no later and end no earlier
 * than it does: a tracer stops a thread before its call and after it, the kernel's own tracepoints
 * lie between.
 */
enum tl_clock_relation {
	TL_RELATION_CALL, /* the same calls; outer begins after what inner did before has ended */
	TL_RELATION_EVEN, /* the same calls, neither is nearer to the truth */
	TL_RELATION_WAIT  /* inner is some of the outer ones' time, nearly all of it */
};

struct tl_clock_match {
	bool is_found;
	/* inner time = outer time + offset_ns + drift * (outer time - origin_ns) */
	int64_t offset_ns, origin_ns;
	double drift;
	int64_t residual_ns;	   /* half of the range in which the offset lies */
	int64_t spread_ns;	   /* MAD of the begins */
	int64_t first_ns, last_ns; /* outer times of what matched */
	size_t match_count;
	size_t overlap_count; /* happenings of the less talkative one that the other could have seen */
	size_t disagreement_count; /* at the same time it saw something else */
	double rival_ratio;	   /* matches of the second best offset to those of the best */
	int64_t rival_ns;	   /* how far away that one is */
	char trouble[160];	   /* why nothing was found; "" */
};

/* is_found false is no failure. */
int tl_clock_match(const struct tl_clock_thread *threads, size_t count,
		   enum tl_clock_relation relation, struct tl_clock_match *out,
		   struct tl_error *err);

/* ---- clock_vote.c: where the offset might be --------------------------------------------------- */

#define TL_CANDIDATES_MAX 12

struct tl_clock_candidate {
	int64_t offset_ns; /* at origin_ns */
	int64_t origin_ns; /* outer time */
	double drift;
	double weight;
};

/* Best first; at most TL_CANDIDATES_MAX, no two nearer to each other than `apart_ns`. */
int tl_clock_vote(const struct tl_clock_thread *threads, size_t count,
		  enum tl_clock_relation relation, int64_t apart_ns,
		  struct tl_clock_candidate *candidates, size_t *candidate_count,
		  struct tl_error *err);

/* Of outer time `time`: what to add for the inner time. */
static inline int64_t tl_clock_candidate_at(const struct tl_clock_candidate *c, int64_t time)
{
	double drift = c->drift * (double)((int64_t)((uint64_t)time - (uint64_t)c->origin_ns));

	return (int64_t)((uint64_t)c->offset_ns + (uint64_t)(int64_t)drift);
}

/* ---- clock_drift.c: do they drift apart ---------------------------------------------------------- */

/* Of a pair of happenings: the offset lies between low and high, as far as it says. */
struct tl_clock_bound {
	int64_t low, high, time;
	uint32_t thread, outer, inner; /* which they are */
};

struct tl_clock_drift {
	bool is_known;
	double drift, error; /* one standard error */
	double span_ns;
};

int tl_clock_fit_drift(const struct tl_clock_bound *bounds, size_t count,
		       struct tl_clock_drift *out, struct tl_error *err);

#endif
