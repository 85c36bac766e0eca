/*
 * trace_import.h - private: the state of one import of trace events, shared by the files that keep
 * its tracks (trace_tracks.c), its open spans (trace_spans.c, trace_pairs.c) and its clock (trace_clock.c).
 */
#ifndef TRACE_IMPORT_H
#define TRACE_IMPORT_H

#include "trace_events.h"

/* A pid or tid: 25738 and "25738" are the same, "stream 7" is a text. */
struct trace_id {
	bool is_number;
	int64_t number;
	uint32_t text; /* interned; of a text only */
};

struct trace_track {
	struct trace_id pid, tid;
	enum trace_domain domain;
	enum tl_track_kind kind;
	struct tl_task task;
	uint32_t key_pid, key_tid; /* interned, as written */
	uint32_t name, process;	   /* interned + 1, as told; 0 none */
	int32_t device, stream;
};

/* What metadata tells of a pid, or of a thread of it. */
struct trace_name {
	struct trace_id pid, tid;
	bool has_tid;
	uint32_t text; /* interned + 1 */
};

struct trace_tracks {
	struct tl_interner strings;
	struct trace_track *items;
	size_t count, capacity;
	struct tl_index index;
	struct trace_name *names;
	size_t name_count, name_capacity;
	struct tl_index name_index;
	int32_t host_pid; /* of the threads met last; 0 none. Rows of layers are of the same process */
	struct trace_memo {
		char keys[46];
		uint8_t pid_length, tid_length;
		uint8_t domain, is_used;
		uint32_t track;
		uint32_t track_count; /* when it was written */
	} memo[64];
};

/* A slice that was begun and not yet ended, or an end whose begin has not come yet. */
struct trace_open {
	bool is_async, is_end;
	uint32_t track;
	uint64_t key; /* of the stack that it is on */
	uint64_t order, position;
	bool has_ts;
	int64_t ts;
	struct trace_row row;
	struct tl_text text; /* name, category, arguments */
	size_t name_length, category_length, arguments_length;
	struct trace_open *end; /* of a begin: what it was matched with when all was read */
	uint32_t held;		/* what began when it did, and has ended already; index + 1 */
	uint32_t next_held;
	bool is_held;
	uint32_t next; /* of a begin, in its bucket, newest first; index + 1 */
	bool is_used;
};

#define TRACE_DAY_NS	    86400000000000 /* longer slices are no truth */
#define TRACE_CROSSED_DEPTH 64u		   /* how far down a stack a name is looked for */
#define TRACE_BUCKETS	    1024u	   /* for the spans open at a time */

struct trace_spans {
	struct trace_open *items;
	size_t count, capacity;
	uint32_t free; /* index + 1 */
	uint32_t buckets[TRACE_BUCKETS];
	uint64_t order;
	size_t bytes;	  /* of all texts */
	size_t end_count; /* kept, all of them until the end */
	size_t held_count;
};

/* What is odd about whole events; see the table in trace_report.c. */
enum trace_note {
	TRACE_NOTE_NO_PHASE,
	TRACE_NOTE_PHASE,
	TRACE_NOTE_BAD_TIME,
	TRACE_NOTE_NO_TIME,
	TRACE_NOTE_ZERO_TIME,
	TRACE_NOTE_NO_DURATION,
	TRACE_NOTE_BAD_DURATION,
	TRACE_NOTE_NEGATIVE,
	TRACE_NOTE_LONG,
	TRACE_NOTE_UNCLOSED,
	TRACE_NOTE_LONE_END,
	TRACE_NOTE_CROSSED,
	TRACE_NOTE_MANY_OPEN,
	TRACE_NOTE_NO_VALUE,
	TRACE_NOTE_NO_ID,
	TRACE_NOTE_MANY_TRACKS,
	TRACE_NOTE_ARGUMENTS,
	TRACE_NOTES
};

struct trace_clock {
	bool is_told;	  /* an offset was emitted */
	bool has_base;	  /* baseTimeNanoseconds, as far as read */
	bool is_absolute; /* times are Unix times already */
	bool is_guess;
	int64_t base_ns, offset_ns;
	bool has_times;
	int64_t first_ts, last_ts;
};

struct trace_import {
	const struct trace_producer *producer;
	struct tl_input *in;
	struct trace_walk *walk;
	unsigned want;
	int64_t argument_limit; /* bytes; 0 all, < 0 none */
	struct trace_tracks tracks;
	struct trace_spans spans;
	struct trace_clock clock;
	struct tl_text name, category, scratch;
	struct trace_count notes[TRACE_NOTES];
	uint64_t phases[128], events;
	int64_t rank, world_size;
	bool has_rank, has_world_size;
	const char *rank_from;
	bool has_option_rank;
	int32_t option_rank;
};

/* trace_tracks.c */
int trace_tracks_id(struct trace_tracks *tracks, const struct js_scalar *s, struct trace_id *id,
		    struct tl_error *err);
/* The track of an event; told to the sink when it is new. */
int trace_tracks_find(struct trace_import *t, const struct trace_event *ev,
		      const struct trace_row *row, struct tl_sink *sink, uint32_t *track,
		      struct tl_error *err);
/* Is there one already? */
int trace_tracks_has(struct trace_import *t, const struct trace_event *ev, enum trace_domain domain,
		     bool *has, struct tl_error *err);
/* The only track with the ids of an event, while no other has come. */
bool trace_tracks_recall(struct trace_import *t, const struct trace_event *ev, uint32_t *track);
void trace_tracks_remember(struct trace_import *t, const struct trace_event *ev, uint32_t track);
int trace_tracks_metadata(struct trace_import *t, const struct trace_event *ev,
			  struct tl_error *err);
/* What metadata told since, and whose ids are those of threads after all. */
int trace_tracks_finish(struct trace_import *t, struct tl_sink *sink, struct tl_error *err);
void trace_tracks_release(struct trace_tracks *tracks);

/* trace_spans.c; `track` is resolved by the caller */
uint64_t trace_spans_key(const struct trace_event *ev, uint32_t track, bool is_async);
/* 1: kept; 0: too many are open. */
int trace_spans_keep(struct trace_import *t, const struct trace_open *span,
		     const struct tl_event_slice *slice, struct tl_error *err);
/* What the end ends: the innermost open one of its stack that began before, or that of its name; or NULL. */
struct trace_open *trace_spans_end(struct trace_import *t, const struct trace_open *end,
				   const char *name, size_t name_length, bool *is_crossed);
/* The innermost open one of a stack, or NULL. */
struct trace_open *trace_spans_top(struct trace_spans *spans, uint64_t key);
/* Takes it off its stack. */
void trace_spans_unlink(struct trace_spans *spans, struct trace_open *span);
/*
 * Keeps one that is off its stack until `outer`, which began when it did, is emitted. False: no room.
 */
bool trace_spans_hold(struct trace_spans *spans, struct trace_open *outer, struct trace_open *span);
/* Its room is another one's then. */
void trace_spans_free(struct trace_spans *spans, struct trace_open *span);
void trace_spans_release(struct trace_spans *spans);

/* trace_pairs.c */
int trace_on_begin(struct trace_import *t, const struct trace_event *ev, bool is_async,
		   struct tl_sink *sink, struct tl_error *err);
int trace_on_end(struct trace_import *t, const struct trace_event *ev, bool is_async,
		 struct tl_sink *sink, struct tl_error *err);
int trace_finish_spans(struct trace_import *t, struct tl_sink *sink, struct tl_error *err);

/* trace_clock.c */
int trace_clock_before(struct trace_import *t, int64_t ts, struct tl_sink *sink,
		       struct tl_error *err);
int trace_clock_finish(struct trace_import *t, struct tl_sink *sink, struct tl_error *err);

/* trace_import.c */
static inline void trace_note_at(struct trace_import *t, enum trace_note what, uint64_t position)
{
	if (t->notes[what].count++ == 0 || position < t->notes[what].first)
		t->notes[what].first = position;
}

static inline void trace_note(struct trace_import *t, enum trace_note what,
			      const struct trace_event *ev)
{
	trace_note_at(t, what, ev->position);
}

/* A slice with its track, ready to be emitted or kept: 1; 0: of no use. */
int trace_prepare(struct trace_import *t, const struct trace_event *ev, struct trace_row *row,
		  uint32_t *track, bool *has_ts, int64_t *ts, bool is_async, struct tl_sink *sink,
		  struct tl_error *err);
int trace_emit_slice(struct trace_import *t, uint32_t track, const struct trace_row *row,
		     bool has_ts, int64_t ts, struct tl_sink *sink, struct tl_error *err);

void trace_describe(struct trace_import *t, const struct trace_event *ev, const char *name,
		    size_t name_length, struct trace_row *row);
const char *trace_name_of(struct trace_import *t, const struct trace_event *ev, size_t *length);
/* 1: go on, with or without a time; 0: the event is of no use. Tells the clock. */
int trace_event_time(struct trace_import *t, const struct trace_event *ev, bool *has_ts,
		     int64_t *ts, struct tl_sink *sink, struct tl_error *err);

/* trace_counters.c */
int trace_import_counter(struct trace_import *t, const struct trace_event *ev, struct tl_sink *sink,
			 struct tl_error *err);

/* trace_report.c */
int trace_import_member(struct trace_import *t, const char *key, const char *value, size_t length,
			struct tl_sink *sink, struct tl_error *err);
int trace_import_report(struct trace_import *t, struct tl_sink *sink, struct tl_error *err);

/* trace_values.c */
enum trace_time { TRACE_TIME_NONE, TRACE_TIME_KNOWN, TRACE_TIME_BAD };

enum trace_time trace_parse_time(struct trace_import *t, const struct js_scalar *s, int64_t *ns);
/* Decimal, hexadecimal after 0x, or with zeros behind a point: 1 and the number, else 0. */
int trace_id_number(const char *text, size_t length, int64_t *value);
/* An id, exactly; of a text that is no number, a hash. */
bool trace_id_of(const char *text, size_t length, uint8_t kind, int64_t *id);
/* What a string means; `text` holds it if it had to be decoded. */
const char *trace_decoded(const struct js_scalar *s, struct tl_text *text, size_t *length);

#endif
