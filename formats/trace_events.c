/*
 * trace_events.c - one trace event: its members, in any order; and the way back to the next one
 * from an event that cannot be read. Knows nothing of what events mean.
 */
#include <string.h>

#include <jansson.h>

#include "trace_walk.h"

void trace_walk_find_oddities(struct trace_walk *w, unsigned oddities, uint64_t position)
{
	for (int i = 0; i < JS_ODDITIES && oddities; i++)
		if (oddities >> i & 1)
			trace_walk_find(w, (enum trace_finding)(TRACE_ODD_JSON + i), position);
}

/* ---- one event ----------------------------------------------------------------------------- */

enum member {
	MEMBER_PHASE = 1,
	MEMBER_NAME = 2,
	MEMBER_CATEGORY = 4,
	MEMBER_PID = 8,
	MEMBER_TID = 16,
	MEMBER_TS = 32,
	MEMBER_DURATION = 64,
	MEMBER_ARGUMENTS = 128,
	MEMBER_ID = 256,
	MEMBER_BIND_ID = 512,
	MEMBER_FLOW_IN = 1024,
	MEMBER_FLOW_OUT = 2048,
	MEMBER_ID2 = 4096,
	MEMBER_SILENT = 8192, /* known, and of no use to anybody but a viewer */
	MEMBER_UNKNOWN = 16384
};

static inline enum member member_of(const char *key, size_t length)
{
	switch (length) {
	case 1:
		return *key == 's' ? MEMBER_SILENT : MEMBER_UNKNOWN;
	case 2:
		if (key[0] == 'p' && key[1] == 'h')
			return MEMBER_PHASE;
		if (key[0] == 't' && key[1] == 's')
			return MEMBER_TS;
		if (key[0] == 'i' && key[1] == 'd')
			return MEMBER_ID;
		return key[0] == 'b' && key[1] == 'p' ? MEMBER_SILENT : MEMBER_UNKNOWN;
	case 3:
		if (!memcmp(key, "cat", 3))
			return MEMBER_CATEGORY;
		if (!memcmp(key, "pid", 3))
			return MEMBER_PID;
		if (!memcmp(key, "tid", 3))
			return MEMBER_TID;
		if (!memcmp(key, "dur", 3))
			return MEMBER_DURATION;
		return !memcmp(key, "id2", 3) ? MEMBER_ID2 : MEMBER_UNKNOWN;
	case 4:
		if (!memcmp(key, "name", 4))
			return MEMBER_NAME;
		return !memcmp(key, "args", 4) ? MEMBER_ARGUMENTS : MEMBER_UNKNOWN;
	case 5:
		return !memcmp(key, "cname", 5) || !memcmp(key, "scope", 5) ? MEMBER_SILENT
									    : MEMBER_UNKNOWN;
	case 7:
		if (!memcmp(key, "bind_id", 7))
			return MEMBER_BIND_ID;
		return !memcmp(key, "flow_in", 7) ? MEMBER_FLOW_IN : MEMBER_UNKNOWN;
	case 8:
		return !memcmp(key, "flow_out", 8) ? MEMBER_FLOW_OUT : MEMBER_UNKNOWN;
	}
	return MEMBER_UNKNOWN;
}

/* Whether the text begins with a key that only events have, in quotes, and a colon. */
bool trace_walk_is_event_key(const char *p)
{
	struct js_reader r = { .at = p };
	size_t length;
	enum member member;

	if (*p != '"')
		return false;
	length = strcspn(p + 1, "\"\\\n");
	if (p[1 + length] != '"')
		return false;
	member = member_of(p + 1, length);
	if (member == MEMBER_UNKNOWN)
		return false;
	r.at = p + length + 2;
	js_blank(&r);
	return *r.at == ':';
}

/* What is no object is kept as one. */
static bool read_arguments(struct trace_walk *w, struct js_reader *r)
{
	w->arguments.length = 0;
	w->members.count = 0;
	w->event.arguments_length = 0;
	if (*r->at == '{') {
		if (!js_copy_object(r, &w->arguments, &w->members))
			return false;
	} else {
		tl_text_puts(&w->arguments, "{\"args\":");
		if (!js_copy(r, &w->arguments))
			return false;
		tl_text_puts(&w->arguments, "}");
		if (!strncmp(w->arguments.data, "{\"args\":null", 12))
			return true;
	}
	if (w->arguments.length > 2)
		w->event.arguments_length = w->arguments.length;
	return true;
}

/* {"local": "0x5"} or {"global": ...} */
static bool read_id2(struct trace_walk *w, struct js_reader *r)
{
	struct js_reader inner = { 0 };
	struct js_scalar key;

	if (*r->at != '{')
		return js_value(r, &w->event.id);
	if (!js_value(r, &w->event.id))
		return false;
	inner.at = w->event.id.text + 1;
	inner.end = r->at;
	inner.is_last = true;
	js_blank(&inner);
	if (*inner.at != '"' || !js_string(&inner, &key))
		return true;
	js_blank(&inner);
	if (*inner.at++ != ':')
		return true;
	js_blank(&inner);
	w->event.has_local_id = key.length == 5 && !memcmp(key.text, "local", 5);
	return js_value(&inner, &w->event.id);
}

static inline bool read_member(struct trace_walk *w, struct js_reader *r, enum member member)
{
	struct trace_event *ev = &w->event;
	struct js_scalar value;

	switch (member) {
	case MEMBER_PHASE:
		if (!js_value(r, &value))
			return false;
		ev->phase = value.kind == JS_STRING && value.length ? value.text[0] : 0;
		return true;
	case MEMBER_NAME:
		return js_value(r, &ev->name);
	case MEMBER_CATEGORY:
		return js_value(r, &ev->category);
	case MEMBER_PID:
		return js_value(r, &ev->pid);
	case MEMBER_TID:
		return js_value(r, &ev->tid);
	case MEMBER_TS:
		return js_value(r, &ev->ts);
	case MEMBER_DURATION:
		return js_value(r, &ev->duration);
	case MEMBER_ARGUMENTS:
		return read_arguments(w, r);
	case MEMBER_ID:
		return js_value(r, &ev->id);
	case MEMBER_ID2:
		return read_id2(w, r);
	case MEMBER_BIND_ID:
		return js_value(r, &ev->bind_id);
	case MEMBER_FLOW_IN:
	case MEMBER_FLOW_OUT:
		if (!js_value(r, &value))
			return false;
		*(member == MEMBER_FLOW_IN ? &ev->is_flow_in : &ev->is_flow_out) =
			value.length && value.text[0] != 'f' && value.text[0] != '0';
		return true;
	case MEMBER_SILENT:
	case MEMBER_UNKNOWN:
		break;
	}
	return js_value(r, &value);
}

/* r is at the brace, then behind the event. False: r->fault. */
static bool read_event(struct trace_walk *w, struct js_reader *r)
{
	struct trace_event *ev = &w->event;
	bool is_due = false, was_seen = false; /* a comma */

	memset(ev, 0, sizeof(*ev));
	ev->position = w->offset + (uint64_t)(r->at - w->buffer);
	r->at++;
	for (;;) {
		struct js_scalar key;
		enum member member;

		js_blank(r);
		if (*r->at == ',') {
			if (!is_due || was_seen)
				r->oddities |= 1u << JS_ODD_COMMA;
			was_seen = true;
			r->at++;
			continue;
		}
		if (*r->at == '}')
			break;
		if (!js_string(r, &key))
			return false;
		js_blank(r);
		if (*r->at != ':') {
			r->fault = r->at >= r->end ? JS_SHORT : JS_BAD;
			return false;
		}
		r->at++;
		js_blank(r);
		member = member_of(key.text, key.length);
		if (ev->seen & member & ~(unsigned)(MEMBER_SILENT | MEMBER_UNKNOWN))
			r->oddities |= 1u << JS_ODD_DUPLICATE;
		ev->seen |= member;
		if (!read_member(w, r, member))
			return false;
		if (is_due && !was_seen)
			r->oddities |= 1u << JS_ODD_COMMA;
		is_due = true;
		was_seen = false;
	}
	if (was_seen)
		r->oddities |= 1u << JS_ODD_COMMA;
	r->at++;
	if (ev->arguments_length) {
		ev->arguments = w->arguments.data;
		ev->members = &w->members;
	}
	return true;
}

static void event_is_read(struct trace_walk *w, const struct js_reader *r)
{
	if (r->oddities)
		trace_walk_find_oddities(w, r->oddities, w->event.position);
	if (w->event.seen & MEMBER_UNKNOWN)
		trace_walk_find(w, TRACE_EVENT_MEMBER, w->event.position);
	w->at = (size_t)(r->at - w->buffer);
}

/* ---- finding the way back -------------------------------------------------------------------- */

static const char *skip_back(const char *p, const char *start)
{
	while (p > start && js_is_blank(p[-1]))
		p--;
	return p;
}

/* Is the brace at p that of an event: behind another one's end, and with an event's key first? */
static bool starts_event(const char *p, const char *start)
{
	struct js_reader r = { .at = p + 1 };
	const char *before = skip_back(p, start);

	if (before > start && before[-1] == ',')
		before = skip_back(before - 1, start);
	if (before == start || before[-1] != '}')
		return false;
	js_blank(&r);
	return trace_walk_is_event_key(r.at);
}

/* Is the bracket at p the end of the array of events? What follows tells. */
static bool ends_events(const char *p, const char *start, bool has_object)
{
	static const char *const keys[] = { "\"INFO\"",		 "\"WARNING\"",
					    "\"ERROR\"",	 "\"traceName\"",
					    "\"display",	 "\"baseTimeNanoseconds\"",
					    "\"distributedInfo", "\"metadata\"",
					    "\"schemaVersion",	 "\"deviceProperties" };
	struct js_reader r = { .at = p + 1 };
	const char *before = skip_back(p, start);

	if (before == start || before[-1] != '}')
		return false;
	js_blank(&r);
	if (*r.at == '\0')
		return true;
	if (!has_object)
		return false;
	if (*r.at == '}') {
		r.at++;
		js_blank(&r);
		return *r.at == '\0';
	}
	if (*r.at++ != ',')
		return false;
	js_blank(&r);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strncmp(r.at, keys[i], strlen(keys[i])))
			return true;
	return false;
}

/* Where the walk can go on behind a bad event: another one, or the end of the array. */
static const char *find_boundary(const char *from, const char *start, const char *end,
				 bool has_object)
{
	for (const char *p = from; p < end; p++) {
		p += strcspn(p, "{]");
		if (p >= end)
			break;
		if (*p == '{' ? starts_event(p, start) : ends_events(p, start, has_object))
			return p;
		/* strcspn stops at a NUL in the text too */
	}
	return NULL;
}

#define BOUNDARY_CONTEXT 256 /* white space and a key around a boundary */

/*
 * Moves w->at to where the walk can go on. *is_whole: the bad event from *start on is still in the
 * buffer. Reads on while nothing is found; w->at is at the end then.
 */
static int resync(struct trace_walk *w, size_t *start, bool *is_whole, struct tl_error *err)
{
	size_t from = w->at + 1;

	*is_whole = true;
	for (;;) {
		const char *found = find_boundary(w->buffer + from, w->buffer + w->at,
						  w->buffer + w->length, w->has_object);
		size_t kept;
		int ret;

		/* one that leans on the end of the buffer may look different with more of it */
		if (found &&
		    (w->is_last || (size_t)(w->buffer + w->length - found) > BOUNDARY_CONTEXT)) {
			*start = w->at;
			w->at = (size_t)(found - w->buffer);
			return TL_OK;
		}
		if (w->is_last) {
			*start = w->at;
			w->at = w->length;
			return TL_OK;
		}
		from = w->length - w->at > 2 * BOUNDARY_CONTEXT ? w->length - 2 * BOUNDARY_CONTEXT
								: w->at + 1;
		if (w->length - w->at > TRACE_EVENT_MAX) {
			*is_whole = false;
			w->at = from - 1;
		}
		kept = from - w->at;
		ret = trace_walk_fill(w, err);
		if (ret < 0)
			return ret;
		from = w->at + kept;
	}
}

/* Between `start` and w->at lies one event: can it be read if quotes are judged by what follows? */
static bool read_leniently(struct trace_walk *w, size_t start)
{
	size_t stop = w->at;
	char saved = w->buffer[stop];
	struct js_reader r = { .at = w->buffer + start,
			       .end = w->buffer + stop,
			       .is_last = true,
			       .is_lenient = true };
	bool is_read;

	w->buffer[stop] = '\0';
	is_read = read_event(w, &r);
	if (is_read) {
		while (*r.at == ',' || js_is_blank(*r.at))
			r.at++;
		is_read = r.at == r.end && w->event.phase;
	}
	w->buffer[stop] = saved;
	if (!is_read)
		return false;
	event_is_read(w, &r);
	w->at = stop;
	return true;
}

static int left_behind(struct trace_walk *w, uint64_t position, bool is_cut, struct tl_error *err)
{
	if (is_cut) {
		trace_walk_find(w, TRACE_CUT_EVENT, position);
		w->state = STATE_END;
		return TRACE_ITEM_END;
	}
	tl_fail_at(err, TL_FORMAT, position, "trace event that is no JSON");
	return TRACE_ITEM_DAMAGED;
}

int trace_walk_recover(struct trace_walk *w, bool is_cut, struct tl_error *err)
{
	uint64_t position = trace_walk_here(w);
	size_t start;
	bool is_whole;
	int ret = resync(w, &start, &is_whole, err);

	if (ret < 0)
		return ret;
	if (w->at >= w->length)
		return left_behind(w, position, is_cut, err);
	if (is_whole && read_leniently(w, start))
		return TRACE_ITEM_EVENT;
	/* a bracket that is the last byte of a cut file may be any */
	return left_behind(w, position, is_cut && w->buffer[w->at] == ']', err);
}

/* ---- what the walk asks for -------------------------------------------------------------------- */

int trace_walk_at_event(struct trace_walk *w, struct tl_error *err)
{
	for (;;) {
		struct js_reader r = trace_walk_reader(w);
		int ret;

		if (read_event(w, &r)) {
			event_is_read(w, &r);
			return TRACE_ITEM_EVENT;
		}
		if (w->arguments.failed)
			return tl_fail(err, TL_NOMEM, "out of memory");
		if (r.fault != JS_SHORT || w->is_last || w->length - w->at > TRACE_EVENT_MAX)
			return trace_walk_recover(w, r.fault == JS_SHORT && w->is_last, err);
		ret = trace_walk_fill(w, err);
		if (ret < 0)
			return ret;
	}
}

int trace_json_integer(const char *json, size_t length, const char *key, int64_t *value)
{
	json_t *root = json_loadb(json, length, 0, NULL), *member = json_object_get(root, key);
	const char *text = json_string_value(member);
	uint64_t number;
	int found = 0;

	if (json_is_integer(member)) {
		*value = json_integer_value(member);
		found = 1;
	} else if (text && *text && tl_parse_u64(text, strlen(text), 10, &number) == strlen(text) &&
		   number <= INT64_MAX) {
		*value = (int64_t)number;
		found = 1;
	}
	json_decref(root);
	return found;
}
