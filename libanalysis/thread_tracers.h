/*
 * thread_tracers.h - private: sources whose calls of the same numbers cannot be of the same threads.
 */
#ifndef TL_THREAD_TRACERS_H
#define TL_THREAD_TRACERS_H

#include "store.h"

struct tl_tracer_pair {
	int64_t a, b; /* source ids, a < b */
};

/* Sorted; to be freed. Each of the two gets a note that says so (lost); notes of before are taken back. */
int tl_tracers_apart(struct tl_store *store, struct tl_tracer_pair **out, size_t *count,
		     struct tl_error *err);

#endif
