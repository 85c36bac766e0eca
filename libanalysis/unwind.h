/*
 * unwind.h - private: user call chains from sampled registers and stack bytes, by .eh_frame (and
 * .debug_frame) rules, with a cache of rules by DSO and address. Never reads memory of this
 * process for the recorded one: what lies outside the sampled bytes and the files is unknown.
 */
#ifndef TL_UNWIND_H
#define TL_UNWIND_H

#include "symbols.h"

struct tl_unwinder;

/* Which file is mapped at ip, in the process and at the time being unwound. */
struct tl_unwind_map {
	struct tl_symbols_dso *dso; /* NULL: nothing known there */
	uint64_t start, length, file_offset;
};
typedef bool (*tl_unwind_lookup_fn)(uint64_t ip, struct tl_unwind_map *map, void *payload);

/* `arch` as uname says ("x86_64", "aarch64"); TL_UNSUPPORTED for others, in words. */
int tl_unwinder_open(struct tl_unwinder **out, const char *arch, struct tl_error *err);
void tl_unwinder_close(struct tl_unwinder *unwinder); /* accepts NULL */

/*
 * Unwinds into `frames` (room for `max`), innermost first: the first has the sampled ip, callers
 * have their return address minus one and TL_FRAME_ADJUSTED (unless called by a signal frame), as
 * perf gives them. Stops where rules or bytes end. `key` tells processes (address spaces) apart for the cache.
 * Returns the number of frames, or <0.
 */
int tl_unwind(struct tl_unwinder *unwinder, const struct tl_user_stack *stack,
	      tl_unwind_lookup_fn lookup, void *payload, struct tl_frame *frames, size_t max,
	      struct tl_error *err);

/* How unwinding ended, over all stacks so far; for `info`. */
struct tl_unwind_counts {
	uint64_t stacks, frames, complete, no_map, no_rule, short_stack, bad_memory, looped,
		depth_limit;
};
void tl_unwind_counts(const struct tl_unwinder *unwinder, struct tl_unwind_counts *counts);

#endif
