/*
 * trace_walk.h - private: the state of a walk over a trace, shared by the files that know where
 * events are (trace_walk.c) and what one is, or was meant to be (trace_events.c).
 */
#ifndef TRACE_WALK_H
#define TRACE_WALK_H

#include "trace_events.h"

#define TRACE_EVENT_MAX (8u << 20) /* call stacks can be long, but not as long as this */

enum trace_state {
	STATE_START,
	STATE_OBJECT, /* between the members of the object around */
	STATE_EVENTS,
	STATE_LINES, /* between events that are in no array */
	STATE_AFTER, /* behind the document */
	STATE_END
};

struct trace_walk {
	struct tl_input *in;
	char *buffer; /* capacity + 1 bytes: a 0 behind what is there */
	size_t capacity, length, at;
	uint64_t offset; /* of buffer[0] in the file */
	bool is_last;	 /* nothing more comes */

	enum trace_state state;
	bool has_object;  /* around the events */
	bool has_events;  /* their array was met */
	bool has_element; /* of that array, before the place where the walk is */
	unsigned arrays;  /* open inside of the array of events */

	struct trace_event event;
	struct js_members members;
	struct tl_text arguments, scratch, key;
	struct trace_count findings[TRACE_WALK_FINDINGS];
};

static inline uint64_t trace_walk_here(const struct trace_walk *w)
{
	return w->offset + w->at;
}

static inline void trace_walk_find(struct trace_walk *w, enum trace_finding what, uint64_t position)
{
	if (w->findings[what].count++ == 0)
		w->findings[what].first = position;
}

static inline struct js_reader trace_walk_reader(const struct trace_walk *w)
{
	return (struct js_reader) { .at = w->buffer + w->at,
				    .end = w->buffer + w->length,
				    .is_last = w->is_last };
}

/* trace_walk.c: more bytes behind those that are left. */
int trace_walk_fill(struct trace_walk *w, struct tl_error *err);

/* trace_events.c: the event whose brace is at w->at, or what can be had instead of it. */
int trace_walk_at_event(struct trace_walk *w, struct tl_error *err);
/* Nothing can be made of what is at w->at: on to the next event, or to the end. */
int trace_walk_recover(struct trace_walk *w, bool is_cut, struct tl_error *err);
/* Whether the text begins with a key that only events have, in quotes, and a colon. */
bool trace_walk_is_event_key(const char *p);
void trace_walk_find_oddities(struct trace_walk *w, unsigned oddities, uint64_t position);

#endif
