/*
 * partition.h - private: every nanosecond of a thread's time gets exactly one name.
 *
 * Integers only, so that the parts add up to the whole exactly. Labels are the caller's numbers
 * from 0; intervals are [start, end) in ns on one clock.
 */
#ifndef TL_PARTITION_H
#define TL_PARTITION_H

#include "analysis.h"

#define TL_LABEL_GAP UINT32_MAX /* no interval was there */

struct tl_interval {
	int64_t start_ns, end_ns;
	uint32_t layer; /* 0 is the highest priority */
	uint32_t label;
};

struct tl_piece {
	int64_t start_ns, end_ns;
	uint32_t label; /* or TL_LABEL_GAP */
};

struct tl_partition {
	struct tl_piece *pieces; /* in order, without holes, neighbours differ in label */
	size_t count;
};

/*
 * Cuts [begin, end) into pieces: the first layer with an interval there names it; inside a layer the
 * innermost does (latest start, then earliest end, then last in the array); nothing: a gap. The
 * lengths of the pieces add up to end - begin. Intervals may overlap, nest and lie outside in any
 * order; one that ends before it starts is refused, an empty one has no time. O(count log count).
 */
int tl_partition(struct tl_partition *out, int64_t begin_ns, int64_t end_ns,
		 const struct tl_interval *intervals, size_t count, struct tl_error *err);
void tl_partition_release(struct tl_partition *p);

/*
 * Adds the time of each label inside [begin, end) to sum_ns[label], of gaps to *gap_ns. Finds its
 * place by bisection, so that the steps of a thread can be summed one by one over one partition.
 * Labels must be below label_count (TL_USAGE).
 */
int tl_partition_sum(const struct tl_partition *p, int64_t begin_ns, int64_t end_ns,
		     int64_t *sum_ns, size_t label_count, int64_t *gap_ns, struct tl_error *err);

/*
 * Splits total_ns among n weights, such as samples of functions, so that the parts add up to it
 * exactly: the i-th gets floor(total W_i / W) - floor(total W_(i-1) / W), W_i the sum of the first i
 * weights. All zero when the weights are. Total and sum of weights must be 0 ... 2^63-1 (TL_USAGE).
 */
int tl_apportion(int64_t *part_ns, int64_t total_ns, const uint64_t *weights, size_t n,
		 struct tl_error *err);

/* ---- what the scheduler did ------------------------------------------------------------------ */

enum tl_sched_event_kind { TL_SCHED_IN, TL_SCHED_OUT, TL_SCHED_WAKE };

/* One thing that happened to one thread, in the order of time. */
struct tl_sched_event {
	int64_t ts_ns;
	enum tl_sched_event_kind kind;
	int32_t cpu;		    /* IN: where it runs; WAKE: the target; -1 unknown */
	enum tl_switch_state state; /* OUT: why it left */
};

enum tl_sched_state {
	TL_SCHED_RUNNING,
	TL_SCHED_RUNNABLE, /* woken or preempted, waits for a CPU */
	TL_SCHED_SLEEPING,
	TL_SCHED_UNINTERRUPTIBLE,
	TL_SCHED_STOPPED,
	TL_SCHED_EXITED,
	TL_SCHED_PARKED,
	TL_SCHED_IDLE,
	TL_SCHED_OFF, /* not running, the source does not say why */
	TL_SCHED_STATE_COUNT
};

struct tl_sched_interval {
	int64_t start_ns, end_ns;
	enum tl_sched_state state;
	/* Where it ran; RUNNABLE: where it waited: of the switch-in, else of the wake-up. */
	int32_t cpu;
};

/*
 * The states of a thread in [begin, end), as far as the events tell: nothing before the first. A
 * sleep without a wake-up keeps its state until the switch-in; how much of it was waiting for a CPU
 * is then unknown. Returns the intervals (free() them) in *out. Events out of order are refused.
 */
int tl_sched_intervals(struct tl_sched_interval **out, size_t *count,
		       const struct tl_sched_event *events, size_t event_count, int64_t begin_ns,
		       int64_t end_ns, struct tl_error *err);

/* Who ran on a CPU. */
struct tl_cpu_run {
	int64_t start_ns, end_ns;
	int32_t cpu;
	uint32_t label;
};

/*
 * For the RUNNABLE ones of `waits`: how long each label ran on the CPU they waited for; added to
 * sum_ns[label]. Runs in any order; a run counts once per wait it overlaps.
 */
int tl_stolen_time(int64_t *sum_ns, size_t label_count, const struct tl_sched_interval *waits,
		   size_t wait_count, const struct tl_cpu_run *runs, size_t run_count,
		   struct tl_error *err);

#endif
