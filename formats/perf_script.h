/*
 * perf_script.h - private to the importer of `perf script` text: what one line says.
 *
 * perf_script.c walks the lines; perf_script_line.c reads sample and frame lines,
 * perf_script_record.c "PERF_RECORD_..." lines, perf_script_header.c the "# ..." lines of
 * `--header`, perf_script_trace.c the text behind a tracepoint's name.
 */
#ifndef PERF_SCRIPT_H
#define PERF_SCRIPT_H

#include <string.h>

#include "memory.h"

extern const struct tl_importer perf_script_importer;

/* Part of a line: borrowed, not terminated. `text` NULL: not there. */
struct perf_span {
	const char *text;
	size_t length;
};

static inline bool perf_span_is(struct perf_span s, const char *word)
{
	return s.length == strlen(word) && (!s.length || memcmp(s.text, word, s.length) == 0);
}

/* ---- a sample's first line ----------------------------------------------------------------- */

/* "load  2933/2933 [000]   157.167718:    1001001 cpu-clock: ..." */
struct perf_script_sample_line {
	struct perf_span comm;
	int32_t pid, tid, cpu; /* TL_ID_NONE, TL_ID_NONE, -1 where not printed */
	bool has_ts, has_period, has_event;
	bool is_record; /* event is the whole "PERF_RECORD_..." */
	int64_t ts;
	uint64_t period;
	struct perf_span event;
	struct perf_span rest; /* behind the event's colon, outer blanks left out */
	size_t rest_blanks;    /* before it: an address alone is right-aligned */
};

/* What lines before have taught about this file's columns. Start with { 7 }. */
struct perf_script_columns {
	unsigned pid_width; /* of %5d or %7d before the pid: more blanks belong to the comm */
};

/* False if the line is none. */
bool perf_script_sample_line(struct perf_script_columns *columns, const char *text, size_t len,
			     struct perf_script_sample_line *out);

/* ---- a frame ------------------------------------------------------------------------------- */

/* "	ffffffff815f0b8b ksys_mmap_pgoff+0x2b ([kernel.kallsyms])" */
struct perf_script_frame_line {
	bool has_address;
	uint64_t address;
	struct perf_span symbol; /* without offset; "[unknown]" is not there */
	struct perf_span dso;	 /* without brackets; "[unknown]" is not there */
	bool is_inlined, has_offset, has_dso_text /* a "(...)" was there */;
	uint64_t offset;
};

bool perf_script_frame_line(const char *text, size_t len, struct perf_script_frame_line *out);
/*
 * A frame on the sample's own line, behind the event: an address in 16 columns. `text` begins
 * behind the event's colon, blanks included.
 */
bool perf_script_single_frame(const char *text, size_t len, struct perf_script_frame_line *out);
enum tl_context perf_script_context(const struct perf_script_frame_line *frame,
				    enum tl_context inner);

/* ---- the rest ------------------------------------------------------------------------------ */

/* "PERF_RECORD_COMM exec: load:2953/2953": false if it is of a kind that is not understood. */
bool perf_script_record(const struct perf_script_sample_line *line, struct tl_text *scratch,
			struct tl_event *out);

/* What `--header` says of an event, to be used when its first sample comes. */
struct perf_script_event {
	char *name;
	uint32_t type;
	uint64_t config, period, freq;
};

struct perf_script_header {
	struct perf_script_event *events;
	size_t event_count, event_capacity;
	char clock_name[32];
	bool has_reference; /* Unix time = time + offset_ns */
	int64_t offset_ns;
	int64_t reference_ns; /* its own time at which that was so */
	bool was_seen;	      /* a line that only `perf script --header` writes */
};

/* One "# ..." line. *meta is set, with has_meta, if it is a fact to tell; borrowed from scratch. */
int perf_script_header_line(struct perf_script_header *header, const char *text, size_t len,
			    struct tl_text *scratch, struct tl_event_meta *meta, bool *has_meta,
			    struct tl_error *err);
const struct perf_script_event *perf_script_header_find(const struct perf_script_header *header,
							struct perf_span name);
void perf_script_header_release(struct perf_script_header *header);

/* The fields of a tracepoint's text as JSON: {"text":"...","key":value,...}. */
void perf_script_trace_json(struct perf_span text, struct tl_text *out);
/*
 * The fields of a tracepoint at a system call's begin or end: "id", "args" and "ret" of the raw ones,
 * arguments by name or "ret" of the others. False: it is none, or its text is not understood.
 */
bool perf_script_call_json(const char *event, struct perf_span text, struct tl_text *out);
/* prev_pid, prev_state, next_pid of sched:sched_switch text; false if it is not such. */
bool perf_script_switch(struct perf_span text, int32_t *prev, enum tl_switch_state *state,
			int32_t *next);
/* pid and target_cpu of sched:sched_wakeup text. */
bool perf_script_wakeup(struct perf_span text, int32_t *wakee, int32_t *cpu);

#endif
