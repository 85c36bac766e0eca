/*
 * clock_happenings.h - private: what a source saw its threads do, on the source's own clock, in the form
 * that clock_match.c compares.
 */
#ifndef TL_CLOCK_HAPPENINGS_H
#define TL_CLOCK_HAPPENINGS_H

#include "clock.h"
#include "clock_match.h"

/* Kinds of happenings, from the outermost that sees a call to the innermost. */
enum tl_clock_view {
	TL_VIEW_SPANS,	/* of a profiler, on threads */
	TL_VIEW_TRACER, /* calls as a tracer outside the kernel saw them */
	TL_VIEW_KERNEL, /* calls as the kernel's own tracepoints tell */
	TL_VIEW_WAITS,	/* sleeps, from switches */
	TL_VIEW_COUNT
};

struct tl_view_thread { /* how much there is of one thread */
	int32_t tid;
	int64_t thread_id;
	int64_t counts[TL_VIEW_COUNT];
};

struct tl_view {
	int64_t source_id;
	struct tl_clock_line line;	/* by which its rows are mapped now */
	struct tl_view_thread *threads; /* by tid */
	size_t thread_count, thread_capacity;
};

/* Counts only. */
int tl_view_load(struct tl_store *store, struct tl_view *view, struct tl_error *err);
void tl_view_release(struct tl_view *view);

/* The threads of both, filled; calls that only one of them ever tells of are left out. */
struct tl_clock_threads {
	struct tl_clock_thread *list;
	size_t count;
};
int tl_clock_threads_load(struct tl_store *store, const struct tl_view *outer,
			  enum tl_clock_view outer_view, const struct tl_view *inner,
			  enum tl_clock_view inner_view, enum tl_clock_relation relation,
			  struct tl_clock_threads *out, struct tl_error *err);
void tl_clock_threads_release(struct tl_clock_threads *threads);

#endif
