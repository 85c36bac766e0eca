/*
 * analysis_explain.h - public: what the time of training steps is made of, and which parts make the
 * slow ones slow. Part of analysis.h, which includes it.
 */
#ifndef TL_ANALYSIS_EXPLAIN_H
#define TL_ANALYSIS_EXPLAIN_H

#include "analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tl_explain_options {
	const char
		*thread; /* a tid, or a pattern for names; NULL: the one that carries the steps */
	bool has_rank;
	int32_t rank;
	bool has_spikes; /* explain single slow steps, and episodes that may be chance, too */
};

/* A part of the steps' time, or all parts of one cause. Times are means per step. */
struct tl_explain_part {
	const char *cause;	      /* "mmap_lock", "page_fault", ...: stable */
	const char *state;	      /* "running", "sleeping", ...; NULL: a sum over states */
	const char *name;	      /* of the call, operator, or thread; NULL none */
	const char *text;	      /* for people */
	double good_ns, slow_ns;      /* means */
	double difference_ns;	      /* slow - good */
	double low_ns, high_ns;	      /* 95 % (Welch); -inf, +inf below 2 steps a side */
	double share;		      /* of the difference of the wall time; they sum to 1 */
	double share_low, share_high; /* 95 % (bootstrap of steps, fixed seed); NaN unknown */
	double dose_share;	      /* of the variance from step to step; they sum to 1 */
	double p, q;		      /* Mann-Whitney; Benjamini-Hochberg over the list */
	bool is_told;  /* among those that make up 90 % of the difference, largest first */
	bool is_named; /* and it is known what the time was: not so of what was not recorded */
};

struct tl_explain_function {
	const char *name;
	double good, slow;	  /* samples, or ns, per step */
	double difference, error; /* and its standard error */
	double p, q;
};

/* Whom the thread waited for in slow steps: "worker 12 (sleeping in read) <- ..." */
struct tl_explain_waker {
	const char *part;  /* what the thread waited in */
	const char *chain; /* who ended it, and what that one was in meanwhile; up to 5 hops */
	uint64_t count;	   /* waits in slow steps */
	double slow_ns, good_ns; /* per step */
};

struct tl_explain_step {
	int64_t number, begin_ns, duration_ns;
	const char *phase;
	const char *class_; /* of tl_step, or "uncovered": mostly outside of what was recorded */
	const int64_t *cause_ns; /* as many as causes; they add up to duration_ns */
};

struct tl_explain {
	/* whose steps, and how is it known */
	const char *step_source, *thread, *thread_why;
	int64_t pid, tid;
	int32_t rank; /* -1 unknown */
	size_t step_count, good_count, slow_count, apart_count;
	double good_ns, slow_ns, difference_ns; /* mean wall time */
	double low_ns, high_ns;			/* of the difference, 95 % */
	struct tl_explain_part *causes, *parts; /* largest |difference| first */
	size_t cause_count, part_count;
	/* the device: its time in a step, and the host's causes while it starved */
	bool has_device;
	struct tl_explain_part *device_causes;
	size_t device_cause_count;
	/*
	 * Whose time makes the steps long: "host" where most of the difference is time in which the
	 * device starved, "device" where it was busy, or late with what was launched, "both" where
	 * neither is most, "ranks" where it was in collectives, which wait for other ranks; NULL without devices. Where it is the device, `causes` are what the host
	 * did meanwhile.
	 */
	const char *bottleneck;
	double starved_share, device_share, collective_share;	   /* of the difference */
	struct tl_explain_function *running, *blocked, *operators; /* samples; ns; ns; 60 at most */
	size_t running_count, blocked_count, operator_count;
	uint64_t sample_count; /* in good and slow steps */
	struct tl_explain_waker *wakers;
	size_t waker_count;
	struct tl_explain_step *steps;
	const char *verdict; /* a paragraph */
	const char *clock;   /* method and residual of what was joined; NULL: one source */
	const char **notes;  /* what could not be told apart, and what to record */
	size_t note_count;
	void *memory;
};

/*
 * TL_NOTHING, in words and with what to record, where there are no steps with times, no slow or no
 * good ones, no such thread, nothing that tells what it did, or only an assumed clock. Release what
 * it returns.
 */
int tl_explain(struct tl_store *store, const struct tl_explain_options *opt, struct tl_explain *out,
	       struct tl_error *err);
void tl_explain_release(struct tl_explain *explain);

#ifdef __cplusplus
}
#endif

#endif
