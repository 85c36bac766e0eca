/*
 * perf_trace_text.h - private to the importer of perf trace's output: the parts of one line.
 */
#ifndef PERF_TRACE_TEXT_H
#define PERF_TRACE_TEXT_H

#include "strace.h"

extern const struct tl_importer perf_trace_text_importer;

enum perf_trace_kind {
	PERF_TRACE_CALL,      /* name(arguments) = result */
	PERF_TRACE_OPENED,    /* name(arguments) ... */
	PERF_TRACE_CONTINUED, /* ... [continued]: name()) = result */
	PERF_TRACE_EVENT,     /* a tracepoint */
	PERF_TRACE_FAULT,     /* a page fault */
	PERF_TRACE_FRAME,     /* of the stack of the call before */
	PERF_TRACE_LOST,      /* LOST 23 events! */
	PERF_TRACE_SUMMARY,   /* of -s */
	PERF_TRACE_FOREIGN
};

/* "    13.957 ( 2.181 ms): thr/23199 futex(uaddr: 0x55ad8b8090e0, op: WAIT|PRIVATE_FLAG) = 0" */
struct perf_trace_line {
	enum perf_trace_kind kind;
	bool has_ts, has_duration;
	int64_t ts_ns, duration_ns;
	int32_t tid;		 /* TL_ID_NONE: one thread was traced */
	struct strace_span comm; /* text NULL: not printed; cut to 14 bytes by perf */
	struct strace_span name, arguments;
	struct strace_return result;
	struct strace_span tail; /* result and what is said of it */
	uint64_t lost_count;
};

void perf_trace_line(const char *text, size_t len, struct perf_trace_line *out);
/* The value of an argument: "op" of "uaddr: 0x1, op: WAKE, val: 1"; text NULL: there is none. */
struct strace_span perf_trace_argument(struct strace_span arguments, const char *name);
/* "WAIT|PRIVATE_FLAG" as strace says it: "FUTEX_WAIT_PRIVATE"; returns the length written. */
size_t perf_trace_futex(char *out, size_t size, struct strace_span operation);

#endif
