/*
 * states_seen.h - private: threads that ran although nobody saw them come: times in which they were
 * at work all the same are known by what else was recorded of them there.
 */
#ifndef TL_STATES_SEEN_H
#define TL_STATES_SEEN_H

#include "memory.h"
#include "store.h"

/* A thread left the CPU at `end`; that it came there was not recorded. */
struct tl_unseen {
	int64_t thread_id, name_id; /* name_id 0: not known */
	int64_t begin_ns;	    /* it did not run there before; INT64_MIN: not known */
	int64_t end_ns;
	int64_t seen_ns; /* first time that it was seen there; INT64_MAX: never */
	int32_t cpu;
};

struct tl_unseens {
	struct tl_unseen *items;
	size_t count, capacity;
};

int tl_unseens_add(struct tl_unseens *unseens, const struct tl_unseen *unseen,
		   struct tl_error *err);
/* Fills seen_ns from the samples and tracepoint hits of the source, and puts them in order. */
int tl_unseens_look(struct tl_unseens *unseens, struct tl_store *store, int64_t source_id,
		    struct tl_error *err);
void tl_unseens_release(struct tl_unseens *unseens);

#endif
