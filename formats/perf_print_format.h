/*
 * perf_print_format.h - the "print fmt" of a tracepoint format: which fields it shows by name, and
 * the name of a value.
 *
 * Private to perf_tracepoint.c. Has its own reader of the C expressions in that text, because the
 * text comes with the recording and may be hostile: everything that it does not understand is left
 * unnamed, nothing is guessed. Knows nothing of payloads.
 */
#ifndef PERF_PRINT_FORMAT_H
#define PERF_PRINT_FORMAT_H

#include "memory.h"

/* A field that expressions may use: an integer, given to _text sign-extended to 64 bits. */
struct perf_print_field {
	const char *name;
	bool is_integer;
};

struct perf_print_format;

/*
 * Reads `text`, what follows "print fmt:". An argument of it becomes a "shown" if it is text made
 * by __print_symbolic or __print_flags from one integer field and constants alone; arguments that
 * follow without anything between ("%s%s") belong to it.
 */
int perf_print_format_parse(struct perf_print_format **out, const char *text, size_t len,
			    const struct perf_print_field *fields, size_t field_count,
			    unsigned long_size, struct tl_error *err);
void perf_print_format_free(struct perf_print_format *format); /* accepts NULL */

size_t perf_print_format_count(const struct perf_print_format *format);
/* Which of the fields the shown number `i` is of. */
uint32_t perf_print_format_field(const struct perf_print_format *format, size_t i);
/*
 * The text of `value` into `out`, which is emptied before. False if there is nothing to say: no
 * flag is set, the expression has no value, or its text is absurdly long.
 */
bool perf_print_format_text(const struct perf_print_format *format, size_t i, uint64_t value,
			    struct tl_text *out);

#endif
