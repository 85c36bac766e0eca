/*
 * analysis_thp.h - public: the question whether transparent huge pages made training steps slow, and
 * its answer. Part of analysis.h, which includes it.
 */
#ifndef TL_ANALYSIS_THP_H
#define TL_ANALYSIS_THP_H

#include "analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tl_thp_options {
	const char *thread; /* tid, or pattern for names, of the one to judge; NULL: the one that
			       carries the steps */
	bool has_rank;
	int32_t rank;
};

enum tl_thp_answer {
	TL_THP_IS_CONFIRMED,	/* at least half of the excess, and surely a quarter */
	TL_THP_IS_CONTRIBUTING, /* a smaller part, surely more than a twentieth */
	TL_THP_IS_POSSIBLE,	/* they go together, but how one makes the other was not recorded */
	TL_THP_IS_UNDECIDED,	/* something else explains it as well */
	TL_THP_IS_NOT_SUPPORTED, /* what was recorded speaks against it */
	TL_THP_IS_NOT_OBSERVABLE /* what was recorded could not have shown it */
};

/* How memory management reaches a thread. */
enum tl_thp_mechanism {
	TL_THP_DIRECT, /* the thread compacts, reclaims, zeroes or splits huge pages itself */
	TL_THP_STOLEN, /* a daemon has the CPU that the thread waits for */
	TL_THP_LOCK,   /* the thread waits for a lock that a collapse holds */
	TL_THP_MECHANISM_COUNT,
	TL_THP_ACTIVITY = TL_THP_MECHANISM_COUNT, /* what daemons did: no time of the thread */
	TL_THP_OTHER /* time of the thread that is not counted for huge pages */
};

/* One kind of time per step. A ratio or p that could not be had is NaN. */
struct tl_thp_evidence {
	enum tl_thp_mechanism mechanism;
	bool is_counted;       /* part of the share of its mechanism */
	bool is_possible_only; /* of a suspect kind: what it would be, if it were huge pages */
	const char *what;
	const char *source;		     /* path of the recording */
	const char *event;		     /* in it */
	double slow_ns, good_ns;	     /* mean of a slow, of a good step */
	double share, share_low, share_high; /* of the excess of the slow steps; 95 % */
	double p;			     /* time in slow against good steps */
	uint64_t count;			     /* samples, intervals or calls inside the steps */
	const char *unit;		     /* "samples", "waits", ... */
};

/* A test of whether they go together; value and p NaN: it could not be made, `what` says why. */
struct tl_thp_test {
	const char *name;
	const char *what;
	double value, p;
	uint64_t count; /* steps, strata or rotations */
};

/* A number that was sampled, per second of slow and of good steps. */
struct tl_thp_counter {
	const char *name, *source;
	double slow_rate, good_rate;
	double rho, p;	/* Spearman with the durations, by circular shifts; NaN */
	uint64_t count; /* readings */
};

/* How the machine was set while it was recorded. */
struct tl_thp_setting {
	const char *name, *value; /* "thp.enabled", "madvise" */
};

/* Slow steps in a row: how the excess went, and what memory management was of it. */
struct tl_thp_course {
	int64_t first_step, last_step;
	size_t step_count;
	double excess_ns;			     /* mean of a step */
	double mechanism_ns[TL_THP_MECHANISM_COUNT]; /* above the baseline's mean */
	double activity_ns;			     /* of daemons */
};

/* Steps at one distance from checkpoints, mean over the checkpoints. */
struct tl_thp_epoch {
	int offset; /* steps since the checkpoint; 0 its own */
	size_t checkpoint_count;
	double ratio, ratio_low, ratio_high; /* to the baseline; 95 % (bootstrap), NaN below 3 */
	double mechanism_ns;		     /* direct, stolen and lock time; NaN unknown */
	double activity_ns;		     /* of daemons; NaN unknown */
};

struct tl_thp_advice {
	const char *finding, *advice;
	const char *unless; /* when it does not hold; NULL: nothing known */
};

struct tl_thp_missing {
	const char *what;    /* could have been seen */
	const char *command; /* that records it */
};

struct tl_thp {
	enum tl_thp_answer answer;
	const char *verdict; /* "confirmed", "not supported", ... */
	const char *reason;  /* one phrase */
	const char *text;    /* a paragraph */
	const char *thread;  /* NULL unknown */
	const char *step_source;
	int64_t pid, tid;    /* -1 unknown */
	int32_t rank;	     /* -1 unknown */
	int64_t residual_ns; /* of the clocks that are compared; -1 unknown */
	const char *clocks;  /* how they are mapped, and how surely; "" one only */
	size_t step_count, slow_count, good_count;
	size_t apart_count;	       /* checkpoints: slow steps of another kind, left out */
	int64_t first_slow, last_slow; /* numbers of steps */
	double baseline_ns, slow_mean_ns, excess_ns; /* excess: sum over the slow steps */
	/* Of the excess, by all mechanisms; NaN when nothing could be judged. */
	double share, share_low, share_high;
	double mechanism_share[TL_THP_MECHANISM_COUNT];
	bool is_seen[TL_THP_MECHANISM_COUNT]; /* the recordings could have shown it */
	bool sees_activity;

	struct tl_thp_evidence *evidence;
	struct tl_thp_test *tests;
	struct tl_thp_course *course; /* in order of time */
	struct tl_thp_epoch *epochs;  /* where there are two checkpoints or more */
	struct tl_thp_counter *counters;
	struct tl_thp_setting *settings;
	struct tl_thp_advice *advice;
	struct tl_thp_missing *missing;
	const char **contradictions;
	size_t evidence_count, test_count, course_count, epoch_count, counter_count, setting_count,
		advice_count, missing_count, contradiction_count;
	void *memory;
};

/* TL_NOTHING, in words, when there are no steps with times. Release what it returns. */
int tl_thp(struct tl_store *store, const struct tl_thp_options *opt, struct tl_thp *out,
	   struct tl_error *err);
void tl_thp_release(struct tl_thp *thp);
const char *tl_thp_mechanism_name(enum tl_thp_mechanism mechanism);

#ifdef __cplusplus
}
#endif

#endif
