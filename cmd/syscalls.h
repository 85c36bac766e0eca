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
};

/* Looks up in the store what is printed of single calls. */
int syscalls_print(struct tl_store *store, struct tl_syscalls *calls,
		   const struct syscalls_layout *layout, struct tl_error *err);

#endif
