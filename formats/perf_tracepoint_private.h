/*
 * perf_tracepoint_private.h - private to perf_tracepoint.c, which makes this of the formats, and
 * perf_tracepoint_hit.c, which reads hits by it.
 */
#ifndef PERF_TRACEPOINT_PRIVATE_H
#define PERF_TRACEPOINT_PRIVATE_H

#include "perf_payload.h"
#include "perf_tracepoint.h"

#define PERF_STATE_MEMO 64u /* a power of two */

struct perf_state_memo {
	uint64_t value;
	bool is_set;
	enum tl_switch_state state;
};

struct perf_one_tracepoint {
	char *name; /* "sched:sched_switch" */
	enum perf_tracepoint_what what;
	struct perf_program program;
	struct perf_field common; /* common_pid; size 0: there is none */
	const struct perf_field *prev_pid, *next_pid, *prev_state, *pid, *target_cpu, *success;
	const struct perf_field *prev_comm, *next_comm, *comm;
	struct perf_state_memo *memo; /* SWITCH: what the format's own text says of a state */
};

struct perf_tracepoints {
	bool is_big_endian;
	unsigned long_size;
	struct perf_one_tracepoint *list;
	size_t count, capacity;
	uint32_t *by_id; /* PERF_EVENT_ID_MAX + 1 of index + 1 */
	struct perf_dictionary dictionary;
	struct tl_text json, scratch;
	char damage[256];
	uint64_t damage_position;
	uint64_t bad_formats;
};

#endif
