/*
 * trace_events.h - private: what the importers of trace events share. A walk over the JSON of any
 * producer, event by event; and the import that turns them into tracks, slices, flows and counters,
 * asking the producer's own file (torch.c, ascend.c, chrome.c) only what a row is.
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include "trace_json.h"
#include "reader.h"

/* ---- the walk (trace_events.c) ----------------------------------------------------------------- */

/* One element of the array of events. Text is borrowed until the next call. */
struct trace_event {
	uint64_t position; /* of its brace in the file */
	char phase;	   /* 0: none, or not a letter */
	struct js_scalar name, category, pid, tid, ts, duration, id, bind_id;
	bool has_local_id; /* of id2: unique in its process only */
	bool is_flow_in, is_flow_out;
	const char *arguments; /* compact JSON object; NULL none */
	size_t arguments_length;
	const struct js_members *members; /* of the arguments */
	unsigned seen;			  /* which members it has, see trace_events.c; 0: "{}" */
};

/* Things that are no whole event, each counted with the place of the first. */
enum trace_finding {
	TRACE_ODD_JSON,		      /* this + enum js_oddity */
	TRACE_NO_EVENT = JS_ODDITIES, /* an element that is no object */
	TRACE_NESTED_ARRAY,	      /* an array inside the array */
	TRACE_SEPARATE,		      /* events that are not in an array: JSON lines */
	TRACE_DOCUMENT,		      /* another document behind the first */
	TRACE_GARBAGE,		      /* behind the end */
	TRACE_TOP_DAMAGE,	      /* the object around the events */
	TRACE_TOP_LARGE,	      /* a member of it that is too large to keep */
	TRACE_CUT,		      /* the file ends before the array does */
	TRACE_CUT_EVENT,	      /* and in the middle of an event */
	TRACE_EVENT_MEMBER,	      /* a member of an event that means nothing here */
	TRACE_WALK_FINDINGS
};

struct trace_count {
	uint64_t count, first;
};

enum trace_item {
	TRACE_ITEM_END = 1,
	TRACE_ITEM_EVENT,
	TRACE_ITEM_MEMBER, /* of the object around the events */
	TRACE_ITEM_DAMAGED /* an event that makes no sense: err says why */
};

struct trace_walk;

int trace_walk_open(struct trace_walk **out, struct tl_input *in, struct tl_error *err);
void trace_walk_close(struct trace_walk *walk); /* accepts NULL */
/* enum trace_item, or a negative status. */
int trace_walk_next(struct trace_walk *walk, struct tl_error *err);
const struct trace_event *trace_walk_event(const struct trace_walk *walk);
/* Of TRACE_ITEM_MEMBER: its key, and its value as compact JSON, terminated. */
void trace_walk_member(const struct trace_walk *walk, const char **key, const char **value,
		       size_t *value_length);
/* TRACE_WALK_FINDINGS of them. */
const struct trace_count *trace_walk_findings(const struct trace_walk *walk);

/* An integer of a JSON object in text: 1 and the value, 0 if there is none. */
int trace_json_integer(const char *json, size_t length, const char *key, int64_t *value);

/* ---- what a row is, said by the producer ------------------------------------------------------- */

enum trace_domain {
	TRACE_HOST,   /* a thread, if its ids can be those of one */
	TRACE_DEVICE, /* a stream of an accelerator */
	TRACE_OTHER,  /* anything else */
	TRACE_ASYNC,  /* what is begun here and ended there */
	TRACE_COUNTERS,
	TRACE_DOMAINS
};

/* Filled with what the arguments say before the producer is asked. */
struct trace_row {
	enum trace_domain domain;
	enum tl_slice_class class_;
	struct tl_event_slice slice; /* ids, bytes, stream; the rest is the import's */
	int32_t device;		     /* -1 unknown */
	bool is_layer;		     /* the pid is that of a layer, made up by the producer */
};

struct trace_import;

struct trace_producer {
	/* Sets domain and class, and what else it knows better. */
	void (*describe)(struct trace_import *t, const struct trace_event *ev, const char *name,
			 size_t name_length, struct trace_row *row);
	bool has_quarter_base;	  /* without a base, times count from a multiple of 7889238 s */
	bool is_zero_unknown;	  /* a time of 0 is none */
	bool has_guessed_threads; /* ids may, or may not, be those of the system */
};

/* The importer's functions for a producer; state is a struct trace_import. */
int trace_import_open(void **state, const struct trace_producer *producer, struct tl_input *in,
		      const struct tl_import_options *opt, struct tl_error *err);
int trace_import_read(void *state, struct tl_sink *sink, struct tl_error *err);
void trace_import_close(void *state);

/* Name of the process (layer) of an event's pid as far as metadata told it, or NULL. */
const char *trace_process_name(struct trace_import *t, const struct trace_event *ev);
bool trace_text_is(const struct js_scalar *s, const char *text); /* case does not matter */
bool trace_starts_with(const char *text, size_t length, const char *start); /* nor here */
/* The number that a scalar, or a string, is. */
bool trace_number_of(const char *text, size_t length, uint8_t kind, int64_t *number);
bool trace_contains(const char *text, size_t length, const char *part); /* here it does */
/* Class and domain of the categories that PyTorch uses, 2021 to now; false: none of them. */
bool trace_torch_category(const struct js_scalar *category, struct trace_row *row);
/* Collectives among kernels, and waits among calls, by their names. */
void trace_torch_refine(const char *name, size_t length, struct trace_row *row);

/* For probes: the first byte that is neither white space nor a mark; are there trace events? */
size_t trace_probe_start(const uint8_t *head, size_t len);
bool trace_probe_has_events(const uint8_t *head, size_t len);

#endif
