/*
 * syscalls.h - private to cmd/: the answer about system calls, printed.
 */
#ifndef CMD_SYSCALLS_H
#define CMD_SYSCALLS_H

#include "memory.h"
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

/* ---- tables (syscalls_print.c, syscalls_single.c) ---- */

enum { SYSCALLS_SUM_COLUMNS = 20 };

struct syscalls_printing {
	struct tl_store *store;
	struct tl_syscalls *calls;
	const struct syscalls_layout *layout;
	struct output *output;
	struct column chosen[SYSCALLS_SUM_COLUMNS]; /* of the table of sums */
};

static inline const struct tl_syscall_thread *syscalls_thread_of(const struct syscalls_printing *p,
								 uint32_t index)
{
	return &p->calls->threads[index];
}

static inline bool syscalls_is_cut(const struct syscalls_printing *p, size_t row)
{
	return p->layout->top && row >= p->layout->top;
}

/* A title, and how much of the table is shown where it is cut. Returns buf. */
const char *syscalls_title(const struct syscalls_printing *p, char *buf, size_t size,
			   const char *title, size_t rows);
bool syscalls_is_idle_wait(const struct tl_syscall_sum *sum);
int syscalls_print_longest(struct syscalls_printing *p, struct tl_error *err);
int syscalls_print_opens(struct syscalls_printing *p, struct tl_error *err);

/* ---- words (syscalls_words.c) ---- */

/* The answer in a sentence; in two, if calls hang besides. */
void syscalls_headline(struct tl_text *text, const struct tl_syscalls *calls);
/* "futex FUTEX_WAIT_PRIVATE of worker (4711)" */
void syscalls_add_call(struct tl_text *out, const struct tl_syscalls *calls, const char *name,
		       const char *operation, uint32_t thread_index);
void syscalls_add_duration(struct tl_text *out, double ns);
/* Digits of a second that times are worth: no finer than the logs tell them. */
unsigned syscalls_time_digits(const struct tl_syscalls *calls);

/* Only what is known as sums. */
int syscalls_print_summaries(const struct syscalls_layout *layout, struct tl_error *err);

#endif
