/*
 * perf_tracepoint.h - tracepoint formats of a perf.data file, and the fields of one hit.
 *
 * Private to the perf.data importer. Knows nothing of records, samples or events: it gets the
 * TRACING_DATA blob once and then the raw bytes of each hit.
 */
#ifndef PERF_TRACEPOINT_H
#define PERF_TRACEPOINT_H

#include "analysis.h"

struct perf_tracepoints;

/*
 * Reads a TRACING_DATA blob ("\x17\x08\x44tracing" first), which may be hostile. It is not needed
 * afterwards. With `len` 0 the set is empty: every payload is then raw. TL_FORMAT if the blob does
 * not begin like one; of one damaged later the part before the damage is used, see _damage.
 */
int perf_tracepoints_open(struct perf_tracepoints **out, const uint8_t *tracing_data, size_t len,
			  struct tl_error *err);
void perf_tracepoints_close(struct perf_tracepoints *tp); /* accepts NULL */

/*
 * What could not be read of the blob, in one line, or NULL if all could. *position, if not NULL,
 * becomes the byte of the blob where the damage begins.
 */
const char *perf_tracepoints_damage(const struct perf_tracepoints *tp, uint64_t *position);

/* "sched:sched_switch", borrowed; NULL if there is no such format (or no `tp`). */
const char *perf_tracepoints_name(struct perf_tracepoints *tp, uint64_t config);

enum perf_tracepoint_what {
	PERF_TRACEPOINT_OTHER,
	PERF_TRACEPOINT_SWITCH, /* sched:sched_switch */
	PERF_TRACEPOINT_WAKEUP, /* sched:sched_wakeup, sched:sched_wakeup_new */
	PERF_TRACEPOINT_WAKING	/* sched:sched_waking */
};

struct perf_tracepoint_name { /* borrowed from the hit; length 0: not told */
	const char *text;
	size_t length;
};

struct perf_tracepoint_hit {
	enum perf_tracepoint_what what;
	int32_t common_pid;		 /* the thread that hit it; TL_ID_NONE unknown */
	int32_t prev_pid, next_pid;	 /* SWITCH: thread ids; TL_ID_NONE otherwise */
	enum tl_switch_state prev_state; /* SWITCH */
	int32_t wakee_pid;		 /* WAKEUP, WAKING: thread id; TL_ID_NONE otherwise */
	int32_t target_cpu;		 /* WAKEUP, WAKING; -1 unknown */
	struct perf_tracepoint_name prev_name, next_name, wakee_name;
	struct tl_payload payload;
};

/*
 * Decodes one hit. payload.json is borrowed until the next call, and set only when its key is used
 * for the first time, as is is_raw. A payload that is too short, or whose format is not known, is
 * {"raw":"<hex>"}; that is not an error. Without want_json the payload is left out: key UINT64_MAX,
 * no json; the same with `tp` NULL (open an empty one to keep raw bytes).
 */
int perf_tracepoint_decode(struct perf_tracepoints *tp, uint64_t config, const uint8_t *raw,
			   size_t len, bool want_json, struct perf_tracepoint_hit *out,
			   struct tl_error *err);

#endif
