/*
 * perf_import.h - the state of one import of a perf.data recording. Shared by the files that turn
 * records into events (perf.c, perf_sideband.c, perf_facts.c, perf_sample.c, perf_deferred.c,
 * perf_tally.c); nothing that only decodes knows it.
 */
#ifndef PERF_IMPORT_H
#define PERF_IMPORT_H

#include "perf.h"
#include "perf_tracepoint.h"

/* ---- what is counted and told at the end (perf_tally.c) -------------------------------------- */

enum perf_tally_what {
	PERF_TALLY_RECORD_TYPE, /* number: type of a record that makes no event */
	PERF_TALLY_UNKNOWN_ID,
	PERF_TALLY_NO_EVENT,
	PERF_TALLY_BRANCH_STACK,
	PERF_TALLY_REGISTERS,
	PERF_TALLY_AUX_SAMPLE,
	PERF_TALLY_RAW,
	PERF_TALLY_WEIGHTS,
	PERF_TALLY_HARDWARE_TRACE, /* bytes; number: kind of trace */
	PERF_TALLY_SAMPLED,	   /* number: event */
	PERF_TALLY_DEFERRED_MISSING,
	PERF_TALLY_LOST,
	PERF_TALLY_FILTERED,
	PERF_TALLY_COUNTER_BACK,
	PERF_TALLY_NO_FORMAT,
	PERF_TALLY_ODD_BUILD_ID,
	PERF_TALLY_UNREAD
};

struct perf_tally {
	struct perf_tally_item {
		enum perf_tally_what what;
		uint64_t number, count, position;
	} * items;
	size_t count, capacity;
};

/* ---- samples that wait for the user half of their chain (perf_deferred.c) --------------------- */

struct perf_held {
	struct perf_raw raw; /* its body is a copy */
	uint32_t event;
	int32_t tid;
	uint64_t cookie;
	uint32_t next, match_next; /* of the same bucket, of the same record, + 1; 0: none */
	bool is_done;
};

#define PERF_HELD_BUCKETS 1024u

struct perf_deferred {
	struct perf_held *held;
	size_t count, capacity, open_count, bytes;
	uint32_t buckets[PERF_HELD_BUCKETS]; /* first of each, + 1 */
};

/* ---- counters that grow from sample to sample ------------------------------------------------- */

struct perf_counters {
	struct perf_counter {
		uint64_t id, value;
		int32_t tid;
	} * list;
	size_t count, capacity;
	struct tl_index index;
};

/* ---- names of threads that no record announces (perf_hearsay.c) -------------------------------- */

struct perf_hearsay {
	struct perf_named {
		int32_t tid;
		bool is_announced;
		char name[24]; /* last told; TASK_COMM_LEN is 16 */
	} * list;
	size_t count, capacity;
	struct tl_index index;
};

/* ---- the state --------------------------------------------------------------------------------- */

enum perf_phase {
	PERF_PHASE_FEATURES, /* nothing was read but the header */
	PERF_PHASE_SIDEBAND, /* first pass: everything but samples */
	PERF_PHASE_SAMPLES,  /* second pass: samples, switches, gaps */
	PERF_PHASE_DONE
};

/* What the second pass wants to know of an event without asking for it each time. */
struct perf_event_use {
	bool is_tracepoint, is_sampled, is_decoded; /* decoded once: `what` is known */
	enum perf_tracepoint_what what;
};

struct perf_import {
	struct tl_input *in;   /* the caller's */
	struct tl_input *main; /* the file with the header: `in`, or "data" inside of it */
	struct tl_import_options opt;
	struct perf_header header;
	struct perf_events events;
	struct perf_event_use *uses;
	struct perf_facts facts;
	struct perf_tracepoints *tracepoints;
	struct perf_tally tally;
	enum perf_phase phase;

	struct perf_stream stream;
	struct tl_input *member; /* data.N of a directory; NULL: main */
	unsigned member_number;	 /* 0: main, N + 1: data.N */
	char member_name[24];	 /* "" for main */

	uint64_t record_count, sample_count; /* read in this pass */
	struct tl_error damage;		     /* the first that ended a pass */
	uint64_t first_ns, last_ns;	     /* of all records; last 0: no record has a time */
	uint64_t previous_ns;		     /* of the record before, in the first pass */
	bool is_lost_superseded;	     /* LOST_SAMPLES tells the same losses better */
	bool has_deferred;		     /* halves of chains do arrive */
	uint32_t aux_kind;

	struct perf_record record;
	struct perf_sample sample;
	struct tl_frame *frames;
	size_t frame_capacity;
	uint64_t registers[64];
	struct perf_deferred deferred;
	struct perf_counters counters;
	struct perf_hearsay hearsay;
};

static inline bool perf_is_time(uint64_t ns)
{
	return ns && ns <= INT64_MAX; /* 0: made up by the recorder; ~0: not known */
}

int perf_tally_add(struct perf_import *p, enum perf_tally_what what, uint64_t number,
		   uint64_t count, uint64_t position, struct tl_error *err);
int perf_tally_emit(struct perf_import *p, struct tl_sink *sink, struct tl_error *err);

/* A time met in the first pass. */
static inline void perf_note_time(struct perf_import *p, uint64_t ns)
{
	p->previous_ns = ns;
	if (ns > p->last_ns)
		p->last_ns = ns;
	if (ns < p->first_ns || !p->first_ns)
		p->first_ns = ns;
}

/* A diagnostic at once. `position` of UINT64_MAX: nowhere. */
int perf_tell(struct tl_sink *sink, enum tl_diagnostic_kind kind, const char *what, uint64_t count,
	      const char *unit, uint64_t position, const char *message, struct tl_error *err);

/* The features of a file, before its records. */
int perf_facts_read(struct perf_import *p, struct tl_sink *sink, struct tl_error *err);
/* META, CLOCK, TYPE, DSO, DSO_SYMBOLS and SIDEBAND_END, when the first pass is over. */
int perf_facts_emit(struct perf_import *p, struct tl_sink *sink, struct tl_error *err);
int perf_tracing_data(struct perf_import *p, const uint8_t *data, size_t len, uint64_t offset,
		      struct tl_sink *sink, struct tl_error *err);

/* First pass: a record that is not a sample. Second pass: any record. enum tl_read, or negative. */
int perf_sideband_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
			 struct tl_error *err);
int perf_sample_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
		       struct tl_error *err);
int perf_switch_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
		       struct tl_error *err);
int perf_gap_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
		    struct tl_error *err);
/* Decodes into p->record with the trailer of the event that the record belongs to. */
int perf_decode_into(struct perf_import *p, const struct perf_raw *raw, uint32_t *event,
		     struct tl_error *err);

/* A sample with what was deferred of its chain (may be NULL). */
int perf_sample_deliver(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
			const uint8_t *user_ips, uint64_t user_count, struct tl_sink *sink,
			struct tl_error *err);
/* Keeps a copy of the sample in `raw`; makes room by giving up on older ones. */
int perf_deferred_hold(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
		       int32_t tid, uint64_t cookie, struct tl_sink *sink, struct tl_error *err);
int perf_deferred_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
			 struct tl_error *err);
/* Those that still wait are delivered without. */
int perf_deferred_flush(struct perf_import *p, struct tl_sink *sink, struct tl_error *err);
void perf_deferred_release(struct perf_deferred *deferred);

/* What a counter has counted since its last value. */
int perf_counter_delta(struct perf_counters *counters, uint64_t id, int32_t tid, uint64_t value,
		       uint64_t *delta, bool *went_back, struct tl_error *err);
void perf_counters_release(struct perf_counters *counters);

/* A COMM record names the thread: what others say does not count. So with the child of such a one. */
int perf_hearsay_announce(struct perf_hearsay *h, int32_t tid, struct tl_error *err);
int perf_hearsay_fork(struct perf_hearsay *h, int32_t child, int32_t parent, struct tl_error *err);
/* What the event `at` says of `task`, if that is news. */
int perf_hearsay_emit(struct perf_hearsay *h, const struct tl_event *at, struct tl_task task,
		      struct perf_tracepoint_name name, struct tl_sink *sink, struct tl_error *err);
void perf_hearsay_release(struct perf_hearsay *h);

#endif
