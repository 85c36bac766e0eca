/*
 * analysis_syscalls.h - public: the question about system calls and its answer. Part of analysis.h,
 * which includes it.
 */
#ifndef TL_ANALYSIS_SYSCALLS_H
#define TL_ANALYSIS_SYSCALLS_H

#include "analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tl_syscall_options {
	/* What is told; what is usual (thresholds) is learnt from all calls whatever these say. */
	const char *thread_pattern; /* Perl regular expression on names, or NULL */
	const char *name_pattern;   /* of calls, or NULL */
	const int32_t *tids;	    /* none: all */
	size_t tid_count;
	bool errors_only;
	int64_t min_ns;			    /* calls that lasted at least so long; 0: all */
	const struct tl_time_range *ranges; /* calls that began inside; none: all */
	size_t range_count;
	const char *steps; /* calls that began inside such steps, as tl_steps_ranges; NULL: any */
	uint32_t longest_count; /* longest calls to list per thread and call */
};

/*
 * One call among the longest. What stands behind has_detail is in its row of table syscall only:
 * tl_syscalls_look_up. Texts are NULL, and ts not known, where nothing says so.
 */
struct tl_syscall_one {
	int64_t thread_id, name_id; /* rows; thread_id 0: none */
	bool has_ts;
	int64_t ts, duration_ns;
	const char *operation;
	bool has_step;
	int64_t step; /* that it began in, as the source counts */
	const char *step_class;

	bool has_detail, has_result;
	int64_t result;
	int64_t line; /* 0 unknown */
	const char *error, *path, *arguments;
	int64_t arguments_length; /* as it was in the log: more than there is of it means cut */
};

struct tl_syscall_thread {
	const char *name;    /* NULL unknown */
	int64_t pid, tid;    /* -1 unknown: the log of one thread does not name it */
	bool is_step_thread; /* carries the training steps */
	bool is_idle;	     /* waits for 90 % of its time or more */
	bool has_wall;	     /* the two below, and is_idle, are known: not from coarse times */
	int64_t wall_ns;     /* from its first call to the end of its last, inside what was asked */
	int64_t begin_ns, end_ns;
	double wait_ratio; /* of its whole time: in calls that wait; NaN unknown */
};

#define TL_SYSCALL_QUANTILES 4 /* 50, 90, 99 and 99.9 % */

/* All calls of one name by one thread. */
struct tl_syscall_sum {
	uint32_t thread; /* of threads */
	const char *name;
	enum tl_call_kind kind;
	uint64_t call_count, error_count, timed_count, timer_count;
	int64_t total_ns;   /* of the timed ones; the same below */
	int64_t wait_ns;    /* of it, in calls that wait */
	int64_t idle_ns;    /* of it, in idle waits: of an idle thread, or ended by their timer */
	double share_ratio; /* of thread.wall_ns; NaN unknown */
	int64_t min_ns, max_ns;
	double quantile_ns[TL_SYSCALL_QUANTILES]; /* NaN: none is timed */
	uint32_t first_bucket, bucket_count;	  /* bucket k: 2^k <= ns < 2^(k+1) */
	const uint64_t *buckets;
	struct tl_syscall_one *longest; /* longest first */
	size_t longest_count;
};

enum tl_syscall_learnt {
	TL_LEARNT_GOOD,	  /* from calls of this thread in good steps */
	TL_LEARNT_BEFORE, /* from its calls before they became slow, and between */
	TL_LEARNT_ALL,	  /* from all its calls */
	TL_LEARNT_POOL,	  /* it has few: from those of all threads (in good steps, if known) */
};

/* Why slow calls are no outliers, as far as one can tell. */
enum tl_syscall_doubt {
	TL_DOUBT_NONE,
	TL_DOUBT_OUTSIDE,  /* they wait for what comes from outside: perhaps it comes more rarely */
	TL_DOUBT_FREQUENT, /* slow ones are so frequent, all the time, that they may be usual */
};

/* Calls of one thread, name and operation that took much longer than is usual for them. */
struct tl_syscall_outlier {
	enum tl_syscall_doubt doubt; /* NONE among the outliers, else among the suspects */
	uint32_t thread;
	const char *name, *operation; /* operation NULL: none */
	enum tl_call_kind kind;
	uint64_t judged_count, outlier_count;
	int64_t cost_ns; /* what the outliers lasted above the usual median */
	double threshold_ns, median_ns;
	int64_t max_ns;
	enum tl_syscall_learnt learnt;
	uint64_t learnt_count; /* calls */
	bool has_since;
	int64_t since_ns; /* BEFORE: begin of the first slow call */
	bool has_until;
	int64_t until_ns;	/* begin of the first call after the last slow episode */
	uint32_t episode_count; /* of calls that were slow */
	uint32_t first_bucket, bucket_count; /* of the judged calls */
	const uint64_t *buckets;
	struct tl_syscall_one *longest; /* of the outliers, longest first */
	size_t longest_count;
};

/* Waits that are none of an outlier: of idle threads, or ended by their own timer. */
struct tl_syscall_wait {
	uint32_t thread;
	const char *name, *operation;
	uint64_t call_count, timer_count;
	int64_t total_ns; /* of the timer-ended only, unless the thread is idle */
	bool is_idle;	  /* the thread is */
};

/* A call that was not seen to end. */
struct tl_syscall_open {
	uint32_t thread;
	const char *name, *operation, *path, *arguments;
	enum tl_call_outcome outcome;
	bool is_wait, has_ts;
	bool may_wait; /* it waits if what it reads is a pipe or a socket: that was not recorded */
	/*
	 * It does not wait, its thread made no other call since, and it went on for 0.1 s and for
	 * longer than any call of its name and operation took: a finding.
	 */
	bool is_hanging;
	int64_t ts;
	int64_t age_ns; /* until its thread or its log ended; -1 unknown */
	int64_t line;	/* 0 unknown */
	int64_t arguments_length;
};

struct tl_syscall_source {
	int64_t source_id;
	const char *path, *importer;
	bool is_tracepoint;	 /* calls made of a begin and an end that were sampled */
	uint64_t call_count;	 /* counted here */
	uint64_t left_out_count; /* told by a better source, too */
	uint64_t derived_count, untimed_count;
	int64_t min_ns; /* shortest measured call: what the tracer costs at least; -1: none */
	/* What the log counts time in; 0 unknown. Whole seconds tell little of a second. */
	int64_t time_unit_ns, duration_unit_ns;
};

struct tl_syscalls {
	struct tl_syscall_thread *threads;
	struct tl_syscall_sum *sums;	     /* most time first, but for idle waits */
	struct tl_syscall_outlier *outliers; /* most cost first; so are the suspects */
	struct tl_syscall_outlier *suspects; /* slow, but perhaps for a reason: see doubt */
	struct tl_syscall_wait *waits;	     /* most time first */
	struct tl_syscall_open *opens;	     /* hanging, other, waiting ones; oldest first */
	struct tl_syscall_source *sources;
	size_t thread_count, sum_count, outlier_count, suspect_count, wait_count, open_count,
		source_count;
	uint64_t idle_thread_count, hanging_count;
	uint64_t call_count, error_count, outside_count; /* outside: of what was asked for */
	uint64_t step_count, good_step_count, slow_step_count;
	/*
	 * Where steps and calls are of several sources: what tl_clock_join says of them, else "". Where
	 * they may not be joined, the calls were judged as if no steps were known.
	 */
	char clock[600];
	bool is_clock_refused;
	bool has_times;
	int64_t begin_ns, end_ns; /* of the calls counted */
	void *memory;
};

/*
 * TL_NOTHING when the case has no calls, none is left by the options, no such steps are known, or
 * clocks are too uncertain to say which calls were in them.
 * Release what it returns.
 */
int tl_syscalls(struct tl_store *store, const struct tl_syscall_options *opt,
		struct tl_syscalls *out, struct tl_error *err);
/* Fills in what the rows of some of the longest calls know. */
int tl_syscalls_look_up(struct tl_store *store, struct tl_syscalls *calls,
			struct tl_syscall_one *const *ones, size_t count, struct tl_error *err);
void tl_syscalls_release(struct tl_syscalls *calls);
/* Calls that a source knows only as sums, those that took longest first. */
struct tl_call_summary {
	const char *source, *thread, *name; /* thread: NULL unknown */
	int64_t pid, tid;		    /* -1 unknown */
	bool is_system;
	int64_t count, total_ns, min_ns, max_ns; /* -1 unknown */
};

struct tl_call_summaries {
	struct tl_call_summary *rows;
	size_t count;
	void *memory;
};

/* None is no failure. Release what it returns. */
int tl_call_summaries_load(struct tl_store *store, struct tl_call_summaries *out,
			   struct tl_error *err);
void tl_call_summaries_release(struct tl_call_summaries *summaries);
const char *tl_syscall_learnt_name(enum tl_syscall_learnt learnt); /* "good steps", ... */
const char *tl_syscall_doubt_name(enum tl_syscall_doubt doubt);	   /* "frequent", ... */

#ifdef __cplusplus
}
#endif
#endif
