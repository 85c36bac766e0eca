/*
 * perf_format_text.h - the text of one tracepoint's format, checked and written anew.
 *
 * Private to perf_tracepoint.c.
 */
#ifndef PERF_FORMAT_TEXT_H
#define PERF_FORMAT_TEXT_H

#include "memory.h"

#define PERF_EVENT_ID_MAX 0xffffu /* ids are those of common_type, 16 bits */

/* Borrowed, not terminated. */
struct perf_text {
	const char *at, *end;
};

struct perf_format_text {
	struct perf_text name, print_format;
	uint64_t id;
	struct tl_text rewritten; /* for libtraceevent */
};

/*
 * Takes a format apart. Every line of fields must be one that libtraceevent can be trusted with; a
 * declaration that is not becomes plain bytes. Returns NULL, or what is wrong; `out`, zeroed before,
 * has its `rewritten` to be released in any case.
 */
const char *perf_format_rewrite(struct perf_text text, struct perf_format_text *out);

#endif
