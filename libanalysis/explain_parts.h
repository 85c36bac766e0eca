/*
 * explain_parts.h - private: the wall time of every step of a view, cut into parts that add up to it
 * exactly, in integer nanoseconds.
 */
#ifndef TL_EXPLAIN_PARTS_H
#define TL_EXPLAIN_PARTS_H

#include "stack_facts.h"
#include "step_view.h"

enum tl_part_state {
	TL_PART_RUNNING,
	TL_PART_RUNNABLE,
	TL_PART_SLEEPING,
	TL_PART_UNINTERRUPTIBLE,
	TL_PART_OFF,	 /* off the CPU, in another or an unknown way */
	TL_PART_WALL,	 /* running and waiting cannot be told apart: no switches were recorded */
	TL_PART_UNKNOWN, /* the recording says nothing of this time */
	TL_PART_STATE_COUNT
};

enum tl_part_cause {
	TL_CAUSE_USER_CODE,
	TL_CAUSE_LAUNCH_GAP, /* between the profiler's spans, of a job that launches work */
	TL_CAUSE_OUTSIDE,    /* between them in a job that launches none */
	TL_CAUSE_OPERATOR,   /* in a span, and nothing more is known */
	TL_CAUSE_SYSCALL,
	TL_CAUSE_MEMORY_CALL, /* a system call that maps memory or gives it back */
	TL_CAUSE_PAGE_FAULT,
	TL_CAUSE_HUGE_FAULT,
	TL_CAUSE_HUGE_PAGE, /* the thread itself collapses or splits huge pages */
	TL_CAUSE_COMPACTION,
	TL_CAUSE_RECLAIM,
	TL_CAUSE_MMAP_LOCK,
	TL_CAUSE_KERNEL_LOCK,
	TL_CAUSE_FUTEX,
	TL_CAUSE_MIGRATION,
	TL_CAUSE_WRITEBACK,
	TL_CAUSE_STORAGE,
	TL_CAUSE_PIPE,
	TL_CAUSE_SOCKET,
	TL_CAUSE_POLL,
	TL_CAUSE_TIMER,
	TL_CAUSE_CHILD,
	TL_CAUSE_COMPLETION,
	TL_CAUSE_INTERRUPT,
	TL_CAUSE_KERNEL,	 /* of the kernel, and nothing more is known */
	TL_CAUSE_CPU_KHUGEPAGED, /* these had the CPU that the thread waited for */
	TL_CAUSE_CPU_KCOMPACTD,
	TL_CAUSE_CPU_KSWAPD,
	TL_CAUSE_CPU_OWN,    /* threads of the same process */
	TL_CAUSE_CPU_FAMILY, /* its children, and processes started with it */
	TL_CAUSE_CPU_KERNEL,
	TL_CAUSE_CPU_OTHER,
	TL_CAUSE_CPU_UNSEEN, /* nobody was seen there */
	TL_CAUSE_STOPPED,
	TL_CAUSE_RUNNING, /* where was not sampled */
	TL_CAUSE_WAITING, /* what for was not recorded */
	TL_CAUSE_UNKNOWN,
	TL_CAUSE_COUNT
};

const char *tl_part_state_name(enum tl_part_state state);  /* "running", ... */
const char *tl_part_cause_name(enum tl_part_cause cause);  /* "mmap_lock", ...; stable */
const char *tl_part_cause_words(enum tl_part_cause cause); /* for people */

struct tl_part {
	enum tl_part_state state;
	enum tl_part_cause cause;
	uint32_t name;	     /* of the call, span or thread in tl_parts.names + 1; 0 none */
	int64_t *ns;	     /* per step */
	int64_t *starved_ns; /* of it, while the device waited for the host; NULL without devices */
};

/* What the device did in a step; with the starved time of the parts it adds up to the step. */
struct tl_device_time {
	int64_t busy_ns, collective_ns, latency_ns, unknown_ns, starved_ns;
};

/* A wait of the thread inside a step. */
struct tl_part_wait {
	uint32_t step, part;
	int64_t begin_ns, end_ns; /* clipped to the step */
	uint32_t state;		  /* view->states */
};

struct tl_parts {
	struct tl_part *parts;
	size_t count, capacity;
	size_t step_count;
	struct tl_device_time *device; /* per step; NULL without devices */
	struct tl_part_wait *waits;    /* asleep or uninterruptible, in order of time */
	size_t wait_count;
	/* per sample of the view: the part it was counted for + 1, its facts' functions */
	uint32_t *sample_part, *sample_step, *sample_function;
	uint64_t unsampled_count; /* pieces of running time that had no sample, in no step */
	struct tl_interner names;
	struct tl_index index;
	size_t operator_count;
	struct tl_stacks *stacks;
};

/* Every step of the view; asserts nothing, checks: TL_USAGE if parts do not add up to a step. */
int tl_parts_make(struct tl_parts *out, struct tl_step_view *view, struct tl_error *err);
void tl_parts_release(struct tl_parts *parts);

/* ---- explain_spans.c: which of nested spans is the innermost, as time goes on ------------------ */

struct tl_span {
	int64_t begin_ns, end_ns;
	uint32_t label;
};

#define TL_SPAN_NONE UINT32_MAX

/* Spans are sorted: by begin, of equal begins the longest first. Asked in order of time. */
struct tl_span_cursor {
	const struct tl_span *spans;
	size_t count, next;
	size_t *open; /* the innermost last */
	size_t open_count, open_capacity;
};

/* The label at `ns`, or TL_SPAN_NONE; *until_ns: until when this is so. */
int tl_span_at(struct tl_span_cursor *cursor, int64_t ns, uint32_t *label, int64_t *until_ns,
	       struct tl_error *err);
void tl_span_release(struct tl_span_cursor *cursor);

#endif
