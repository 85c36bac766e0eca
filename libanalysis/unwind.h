/*
 * unwind.h - private: user call chains from sampled registers and stack bytes, by .eh_frame (and
 * .debug_frame) rules, with a cache of rules by DSO and address. Never reads memory of this
 * process for the recorded one: what lies outside the sampled bytes and the files is unknown.
 */
#ifndef TL_UNWIND_H
#define TL_UNWIND_H

#include "symbols.h"

struct tl_unwinder;

/* Which file is mapped at an address, in the process and at the time being unwound. */
struct tl_unwind_map {
	struct tl_symbols_dso *dso; /* NULL: mapped, but nothing is known of it */
	uint64_t start, length, file_offset;
};
/*
 * False: nothing is mapped there. Asked for code and for data (a word that lies outside the
 * sampled bytes), so maps that are not executable are wanted too.
 */
typedef bool (*tl_unwind_lookup_fn)(uint64_t address, struct tl_unwind_map *map, void *payload);

/*
 * perf (Debian's 6.1, with libunwind) only finds rules through .eh_frame_hdr and ends a stack in
 * code that has none, as in programs that gcc linked with -static, although .eh_frame or
 * .debug_frame would lead on.
 */
enum tl_unwind_scope { TL_UNWIND_AS_PERF, TL_UNWIND_ALL_RULES };

/* `arch` as uname says ("x86_64", "aarch64"); TL_UNSUPPORTED for others, in words. */
int tl_unwinder_open(struct tl_unwinder **out, const char *arch, enum tl_unwind_scope scope,
		     struct tl_error *err);
void tl_unwinder_close(struct tl_unwinder *unwinder); /* accepts NULL */

/*
 * Unwinds into `frames` (room for `max`), innermost first: the first has the sampled ip, callers
 * have their return address minus one and TL_FRAME_ADJUSTED (unless interrupted by a signal), as
 * perf gives them. Stops where rules or bytes end. As in perf, a word of memory that is mapped but
 * was not recorded reads as zero: a return address there gives a last frame of ip UINT64_MAX.
 * Returns the number of frames (0: nothing to unwind from, or a 32-bit process), or <0.
 */
int tl_unwind(struct tl_unwinder *unwinder, const struct tl_user_stack *stack,
	      tl_unwind_lookup_fn lookup, void *payload, struct tl_frame *frames, size_t max,
	      struct tl_error *err);

/* How unwinding ended, over all stacks so far; for `info`. Each stack is in one of the ends. */
struct tl_unwind_counts {
	uint64_t stacks, frames;
	uint64_t guessed;      /* frames found without a rule, where perf would find them too */
	uint64_t complete;     /* the outermost function was reached */
	uint64_t no_map;       /* an address where no file is mapped */
	uint64_t no_rule;      /* code without call frame information, or whose file is not known */
	uint64_t not_tabled;   /* AS_PERF: there are rules, but not in .eh_frame_hdr */
	uint64_t bad_rule;     /* call frame information that makes no sense */
	uint64_t short_stack;  /* the sampled bytes end */
	uint64_t bad_memory;   /* another word was not recorded, or a register */
	uint64_t looped;       /* the caller's frame would lie below the callee's */
	uint64_t depth_limit;  /* `max` frames */
	uint64_t no_registers; /* instruction or stack pointer, or stack bytes, not sampled */
	uint64_t is_32_bit;    /* of a 32-bit process: not supported */
};
void tl_unwind_counts(const struct tl_unwinder *unwinder, struct tl_unwind_counts *counts);

#endif
