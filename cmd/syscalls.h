/*
 * syscalls.h - private to cmd/: the answer about system calls, printed.
 */
#ifndef CMD_SYSCALLS_H
#define CMD_SYSCALLS_H

#include "output.h"

/* `top`: rows of each table, 0 all; `histograms`: drawn for so many of the first. */
struct syscalls_layout {
	struct output_options format;
	size_t top, histograms;
	const struct tl_call_summaries *summaries; /* told too */
};

/* Looks up in the store what is printed of single calls. */
int syscalls_print(struct tl_store *store, struct tl_syscalls *calls,
		   const struct syscalls_layout *layout, struct tl_error *err);

/* Only what is known as sums. */
int syscalls_print_summaries(const struct syscalls_layout *layout, struct tl_error *err);

#endif
