/*
 * thp.h - private: what the files that answer whether huge pages made steps slow share: kinds of
 * time per step, gathered from a view of the steps.
 */
#ifndef TL_THP_H
#define TL_THP_H

#include "ranges.h"
#include "step_view.h"
#include "thp_model.h"
#include "wait_reasons.h"

/* Kinds of time. Those of the thread do not overlap, but for MEMORY_CALLS. */
enum tl_thp_part {
	/* daemons at work, whoever suffers */
	TL_PART_KHUGEPAGED,
	TL_PART_KCOMPACTD,
	TL_PART_KSWAPD,	   /* for a huge page */
	TL_PART_COLLAPSES, /* their number, no time: of each only a moment was recorded */
	/* the thread works for its own huge page */
	TL_PART_COMPACTION,
	TL_PART_RECLAIM,
	TL_PART_ZEROING,
	TL_PART_SPLITTING,
	/* it waits for a CPU that a daemon has */
	TL_PART_STOLEN_KHUGEPAGED,
	TL_PART_STOLEN_KCOMPACTD,
	TL_PART_STOLEN_KSWAPD,
	/* it waits for locks and pages, while a daemon moves pages */
	TL_PART_LOCK_SPINNING,
	TL_PART_LOCK_ASLEEP,
	TL_PART_LOCK_CALLS, /* calls that take it, longer than usual: where stacks have no names */
	TL_PART_MOVED_PAGES,
	/* looks alike, and is not due to huge pages */
	TL_PART_OTHER_COMPACTION, /* for another order */
	TL_PART_OTHER_RECLAIM,
	TL_PART_MEMCG, /* for the limit of a control group */
	TL_PART_UNKNOWN_ORDER,
	TL_PART_HUGETLB, /* faults, compaction and reclaim for hugetlbfs */
	TL_PART_STOLEN_OTHERS,
	TL_PART_LOCK_ELSEWHERE, /* of memory, while no collapse went on */
	TL_PART_FUTEX,
	TL_PART_STORAGE,
	TL_PART_UNMAPPING,
	TL_PART_SMALL_FAULTS,
	TL_PART_USER,
	TL_PART_MEMORY_CALLS, /* mmap, munmap, ...: whatever they waited for */
	TL_PART_COUNT
};

struct tl_thp_work {
	struct tl_store *store;
	struct tl_step_view view;
	struct tl_chain_traits *traits; /* by stack */
	size_t trait_count;
	bool has_off_stacks;  /* where threads left the CPU is recorded */
	uint32_t huge_orders; /* bit n: pages of order n are huge ones here */

	size_t n;		       /* steps */
	double *part[TL_PART_COUNT];   /* ns, by step */
	uint64_t count[TL_PART_COUNT]; /* samples, waits, ... */
	double *duration, *activity, *direct, *stolen, *lock;
	bool *is_checkpoint; /* left out: slow in another way, or not surely slow */
	bool *is_unsure;
	struct tl_thp_steps steps; /* points at the above */
	struct tl_thp_model model;

	/* when a lock of an address space was surely held for a huge page, or might have been */
	struct tl_ranges holds;
	bool has_collapses; /* holds are those of collapses that were recorded, not khugepaged's time */
	/* Of collapses the begin or the end was not asked for, and khugepaged's time is not known. */
	bool has_moments;
	bool has_memcg;		 /* reclaim for limits of control groups was asked for */
	struct tl_ranges own;	 /* direct compaction and reclaim of the thread */
	struct tl_ranges moves;	 /* pages were moved by some daemon */
	struct tl_ranges stalls; /* waits for locks of the address space */
	bool has_overlap;
	struct tl_overlap overlap; /* of stalls with holds */
	double lock_ratio;	   /* of the stalls that met a hold: not by chance */
	double rest_high;	   /* of the excess, at most, not known to be due to others; NaN */
	bool is_direct_excluded;  /* counters: nobody compacted, reclaimed, or faulted huge pages */
	bool is_fault_excluded;	  /* counters: no page fault got a huge page, or tried to */
	bool has_sampled_daemons; /* samples of all CPUs tell what daemons did */
	bool has_daemon_counters; /* activity is made of numbers of events */
	bool is_collapse_excluded; /* counters: no page was collapsed */

	struct tl_thp *out;
};

/* thp_parts.c */
int tl_thp_gather(struct tl_thp_work *w, struct tl_error *err);
/* What of [begin, end) lies inside of steps. Counts the interval once if any does. */
void tl_thp_add(struct tl_thp_work *w, enum tl_thp_part part, int64_t begin_ns, int64_t end_ns);

/* thp_own.c: compaction and reclaim of the thread */
int tl_thp_gather_own(struct tl_thp_work *w, struct tl_error *err);
bool tl_thp_is_huge_order(const struct tl_thp_work *w, int32_t order);
/* Of a chain; of none: nothing. */
const struct tl_chain_traits *tl_thp_traits(const struct tl_thp_work *w, int64_t stack_id);

/* thp_sampled.c: daemons by samples, where nothing better shows them */
int tl_thp_gather_sampled(struct tl_thp_work *w, struct tl_error *err);

/* thp_calls.c: system calls that take mmap_lock */
int tl_thp_gather_calls(struct tl_thp_work *w, struct tl_error *err);

/* thp_counters.c: activity where only counters show it; lines; settings (NULL: not known) */
int tl_thp_exclude_faults(struct tl_thp_work *w, struct tl_error *err); /* before all else */
int tl_thp_gather_counters(struct tl_thp_work *w, struct tl_error *err);
int tl_thp_find_counters(struct tl_thp_work *w, struct tl_error *err);
int tl_thp_find_settings(struct tl_thp_work *w, struct tl_error *err);
const char *tl_thp_setting(const struct tl_thp_work *w, const char *name);

/* thp_evidence.c: lines of evidence, tests; text for the answer (NULL: no memory) */
int tl_thp_find_evidence(struct tl_thp_work *w, struct tl_error *err);
int tl_thp_find_course(struct tl_thp_work *w, struct tl_error *err);
int tl_thp_find_tests(struct tl_thp_work *w, struct tl_error *err);
/* Of a number per step over the steps of a role; NaN without any. */
double tl_thp_mean(const struct tl_thp_work *w, const double *v, enum tl_thp_role role);
const char *tl_thp_say(struct tl_thp *out, struct tl_error *err, const char *fmt, ...)
	TL_PRINTF(3, 4);

/* thp_answer.c: rest_high, what others leave for memory management; the verdict and its numbers */
int tl_thp_bound_rest(struct tl_thp_work *w, struct tl_error *err);
int tl_thp_tell_answer(struct tl_thp_work *w, struct tl_error *err);

/* thp_epochs.c: checkpoints laid over each other */
int tl_thp_find_epochs(struct tl_thp_work *w, struct tl_error *err);

/* thp_advice.c */
int tl_thp_find_advice(struct tl_thp_work *w, struct tl_error *err);

/* thp_words.c: what contradicts, what is missing, and the paragraph; asks for advice, too */
int tl_thp_find_words(struct tl_thp_work *w, struct tl_error *err);

#endif
