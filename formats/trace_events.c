/*
 * trace_events.c - walks the JSON of trace events: an object with its members in any order, or an
 * array, whole or cut, one event at a time through a buffer that stays small.
 *
 * An event that cannot be read is left behind: the next one is looked for by its first key. Knows
 * nothing of what events mean.
 */
#include "trace_events.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define BUFFER_MIN  (16u << 10) /* small files stay small */
#define BUFFER_SIZE (1u << 20)
#define EVENT_MAX   (8u << 20)	 /* call stacks can be long, but not as long as this */
#define MEMBER_MAX  (256u << 10) /* of the object around the events */

enum state {
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

	enum state state;
	bool has_object;  /* around the events */
	bool has_events;  /* their array was met */
	bool has_element; /* of that array, before the place where the walk is */
	unsigned arrays;  /* open inside of the array of events */

	struct trace_event event;
	struct js_members members;
	struct tl_text arguments, scratch, key;
	struct trace_count findings[TRACE_WALK_FINDINGS];
};

/* ---- the buffer ---------------------------------------------------------------------------- */

static uint64_t here(const struct trace_walk *w)
{
	return w->offset + w->at;
}

static void find(struct trace_walk *w, enum trace_finding what, uint64_t position)
{
	if (w->findings[what].count++ == 0)
		w->findings[what].first = position;
}

static void find_oddities(struct trace_walk *w, unsigned oddities, uint64_t position)
{
	for (int i = 0; i < JS_ODDITIES && oddities; i++)
		if (oddities >> i & 1)
			find(w, (enum trace_finding)(TRACE_ODD_JSON + i), position);
}

/* More bytes behind those that are left; room is made when they fill the buffer. */
static int fill(struct trace_walk *w, struct tl_error *err)
{
	size_t left = w->length - w->at, got;
	int ret;

	if (w->is_last)
		return TL_OK;
	if (left > w->capacity / 2 || w->capacity < BUFFER_SIZE) {
		char *larger = realloc(w->buffer, w->capacity * 2 + 1);

		if (!larger)
			return tl_fail(err, TL_NOMEM, "out of memory: %zu bytes wanted",
				       w->capacity * 2 + 1);
		w->buffer = larger;
		w->capacity *= 2;
	}
	memmove(w->buffer, w->buffer + w->at, left);
	w->offset += w->at;
	w->at = 0;
	ret = tl_input_read(w->in, w->buffer + left, w->capacity - left, &got, err);
	w->length = left + got;
	w->buffer[w->length] = '\0';
	w->is_last = got < w->capacity - left;
	return ret;
}

static struct js_reader reader(const struct trace_walk *w)
{
	return (struct js_reader) { .at = w->buffer + w->at,
				    .end = w->buffer + w->length,
				    .is_last = w->is_last };
}

/* The next byte that is no white space; 0 at the end. */
static int next_byte(struct trace_walk *w, char *c, struct tl_error *err)
{
	for (;;) {
		while (js_is_blank(w->buffer[w->at]))
			w->at++;
		*c = w->buffer[w->at];
		if (w->at < w->length || w->is_last)
			return TL_OK;
		int ret = fill(w, err);

		if (ret < 0)
			return ret;
	}
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
static bool is_event_key(const char *p)
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
		find_oddities(w, r->oddities, w->event.position);
	if (w->event.seen & MEMBER_UNKNOWN)
		find(w, TRACE_EVENT_MEMBER, w->event.position);
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
	return is_event_key(r.at);
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
		if (w->length - w->at > EVENT_MAX) {
			*is_whole = false;
			w->at = from - 1;
		}
		kept = from - w->at;
		ret = fill(w, err);
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
		find(w, TRACE_CUT_EVENT, position);
		w->state = STATE_END;
		return TRACE_ITEM_END;
	}
	tl_fail_at(err, TL_FORMAT, position, "trace event that is no JSON");
	return TRACE_ITEM_DAMAGED;
}

static int recover(struct trace_walk *w, bool is_cut, struct tl_error *err)
{
	uint64_t position = here(w);
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

/* ---- between events -------------------------------------------------------------------------- */

static int at_event(struct trace_walk *w, struct tl_error *err)
{
	for (;;) {
		struct js_reader r = reader(w);
		int ret;

		if (read_event(w, &r)) {
			event_is_read(w, &r);
			return TRACE_ITEM_EVENT;
		}
		if (w->arguments.failed)
			return tl_fail(err, TL_NOMEM, "out of memory");
		if (r.fault != JS_SHORT || w->is_last || w->length - w->at > EVENT_MAX)
			return recover(w, r.fault == JS_SHORT && w->is_last, err);
		ret = fill(w, err);
		if (ret < 0)
			return ret;
	}
}

static int cut(struct trace_walk *w)
{
	find(w, TRACE_CUT, here(w));
	w->state = STATE_END;
	return TRACE_ITEM_END;
}

/* A number, a string, null where an event should be. 0: go on. */
static int at_other_element(struct trace_walk *w, struct tl_error *err)
{
	for (;;) {
		struct js_reader r = reader(w);
		struct js_scalar value;
		int ret;

		if (js_value(&r, &value) && r.at > w->buffer + w->at) {
			find(w, TRACE_NO_EVENT, here(w));
			w->at = (size_t)(r.at - w->buffer);
			return 0;
		}
		if (r.fault != JS_SHORT || w->is_last || w->length - w->at > EVENT_MAX)
			return recover(w, r.fault == JS_SHORT && w->is_last, err);
		ret = fill(w, err);
		if (ret < 0)
			return ret;
	}
}

static int next_in_events(struct trace_walk *w, struct tl_error *err)
{
	bool has_comma = false, is_due = w->has_element;
	int ret;

	w->has_element = true;

	for (;;) {
		char c;

		ret = next_byte(w, &c, err);
		if (ret < 0)
			return ret;
		if (w->at >= w->length)
			return cut(w);
		switch (c) {
		case '{':
			if (is_due && !has_comma)
				find(w, (enum trace_finding)JS_ODD_COMMA, here(w));
			return at_event(w, err);
		case ',':
			if (has_comma || !is_due)
				find(w, (enum trace_finding)JS_ODD_COMMA, here(w));
			has_comma = true;
			w->at++;
			continue;
		case '[':
			find(w, TRACE_NESTED_ARRAY, here(w));
			w->arrays++;
			w->at++;
			has_comma = is_due = false;
			continue;
		case ']':
			if (has_comma)
				find(w, (enum trace_finding)JS_ODD_COMMA, here(w));
			w->at++;
			if (w->arrays) {
				w->arrays--;
				has_comma = false;
				is_due = true;
				continue;
			}
			w->has_element = false;
			w->state = w->has_object ? STATE_OBJECT : STATE_AFTER;
			return 0;
		}
		ret = at_other_element(w, err);
		if (ret != 0)
			return ret;
		has_comma = false;
		is_due = true;
	}
}

/* ---- the object around ----------------------------------------------------------------------- */

/* Steps over a value that does not fit the buffer: strings and brackets are all that matters. */
static int skip_large(struct trace_walk *w, struct tl_error *err)
{
	bool in_string = false, is_escaped = false;
	int64_t depth = 0;

	for (;;) {
		int ret;

		for (; w->at < w->length; w->at++) {
			char c = w->buffer[w->at];

			if (in_string) {
				in_string = is_escaped || c != '"';
				is_escaped = !is_escaped && c == '\\';
				continue;
			}
			if (depth == 0 && (c == ',' || c == '}' || c == ']'))
				return TL_OK;
			in_string = c == '"';
			depth += c == '{' || c == '[';
			depth -= c == '}' || c == ']';
		}
		if (w->is_last)
			return TL_OK;
		ret = fill(w, err);
		if (ret < 0)
			return ret;
	}
}

/* The object makes no sense here, or ends: the events may still be found. */
static int top_damage(struct trace_walk *w, bool is_cut, struct tl_error *err)
{
	static const char name[] = "\"traceEvents\"";

	if (is_cut && (w->has_events ||
		       !memmem(w->buffer + w->at + 1, w->length - w->at - 1, name, strlen(name))))
		return cut(w);
	find(w, TRACE_TOP_DAMAGE, here(w));
	while (!w->has_events) {
		char *found = memmem(w->buffer + w->at, w->length - w->at, name, strlen(name));
		int ret;

		if (found && found > w->buffer + w->at) {
			w->at = (size_t)(found - w->buffer);
			return 0;
		}
		if (found) /* it is what made no sense */
			w->at++;
		else if (w->is_last)
			break;
		else if (w->length - w->at > sizeof(name))
			w->at = w->length - sizeof(name);
		if (found)
			continue;
		ret = fill(w, err);
		if (ret < 0)
			return ret;
	}
	w->state = STATE_END;
	return TRACE_ITEM_END;
}

/* A key, its colon, and the first byte of its value, all in the buffer. */
static int top_key(struct trace_walk *w, struct js_reader *r, struct js_scalar *key,
		   struct tl_error *err)
{
	for (;;) {
		int ret;

		*r = reader(w);
		if (js_string(r, key)) {
			js_blank(r);
			if (r->at < r->end) {
				if (*r->at != ':')
					return 0;
				r->at++;
				js_blank(r);
				if (r->at < r->end)
					return 1;
			}
		} else if (r->fault != JS_SHORT) {
			return 0;
		}
		if (w->is_last || w->length - w->at > MEMBER_MAX)
			return 0;
		ret = fill(w, err);
		if (ret < 0)
			return ret;
	}
}

/* The value of the key in w->key, from w->at on. */
static int top_value(struct trace_walk *w, struct tl_error *err)
{
	for (;;) {
		struct js_reader r = reader(w);
		int ret;

		w->scratch.length = 0;
		if (js_copy(&r, &w->scratch)) {
			find_oddities(w, r.oddities, here(w));
			w->at = (size_t)(r.at - w->buffer);
			w->scratch.data[w->scratch.length] = '\0';
			return TRACE_ITEM_MEMBER;
		}
		if (w->scratch.failed)
			return tl_fail(err, TL_NOMEM, "out of memory");
		if (r.fault == JS_SHORT && w->length - w->at > MEMBER_MAX) {
			find(w, TRACE_TOP_LARGE, here(w));
			ret = skip_large(w, err);
			return ret < 0 ? ret : 0;
		}
		if (r.fault != JS_SHORT || w->is_last)
			return top_damage(w, r.fault == JS_SHORT, err);
		ret = fill(w, err);
		if (ret < 0)
			return ret;
	}
}

static int next_in_object(struct trace_walk *w, struct tl_error *err)
{
	struct js_reader r;
	struct js_scalar key;
	char c;
	int ret = next_byte(w, &c, err);

	if (ret < 0)
		return ret;
	if (w->at >= w->length)
		return cut(w);
	if (c == ',') {
		w->at++;
		return 0;
	}
	if (c == '}') {
		w->at++;
		w->state = STATE_AFTER;
		return 0;
	}
	ret = top_key(w, &r, &key, err);
	if (ret < 0)
		return ret;
	if (ret == 0)
		return top_damage(w, w->is_last && (r.fault == JS_SHORT || r.at >= r.end), err);
	w->key.length = 0;
	js_decode(&key, &w->key);
	tl_text_add(&w->key, "", 0);
	if (w->key.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	w->at = (size_t)(r.at - w->buffer);
	if (*r.at == '[' && !strcmp(w->key.data, "traceEvents")) {
		w->at++;
		w->has_events = true;
		w->state = STATE_EVENTS;
		return 0;
	}
	return top_value(w, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int next_line(struct trace_walk *w, struct tl_error *err)
{
	char c;
	int ret = next_byte(w, &c, err);

	if (ret < 0)
		return ret;
	if (w->at >= w->length) {
		w->state = STATE_END;
		return TRACE_ITEM_END;
	}
	if (c == ',') {
		w->at++;
		return 0;
	}
	if (c == '{')
		return at_event(w, err);
	return at_other_element(w, err);
}

static int next_after(struct trace_walk *w, struct tl_error *err)
{
	char c;
	int ret = next_byte(w, &c, err);

	if (ret < 0)
		return ret;
	w->state = STATE_END;
	if (w->at >= w->length)
		return TRACE_ITEM_END;
	if (c == ',' && !w->has_object) { /* the array was closed, and more was appended */
		find(w, (enum trace_finding)JS_ODD_COMMA, here(w));
		w->at++;
		w->has_element = false;
		w->state = STATE_EVENTS;
		return 0;
	}
	find(w, c == '{' || c == '[' ? TRACE_DOCUMENT : TRACE_GARBAGE, here(w));
	return TRACE_ITEM_END;
}

static int start(struct trace_walk *w, struct tl_error *err)
{
	struct js_reader r;
	char c;
	int ret = fill(w, err);

	if (ret < 0)
		return ret;
	if (w->length >= 3 && !memcmp(w->buffer, "\xef\xbb\xbf", 3))
		w->at += 3;
	ret = next_byte(w, &c, err);
	if (ret < 0)
		return ret;
	if (w->at >= w->length)
		return tl_fail(err, TL_FORMAT, "is empty: expected JSON");
	if (c != '[' && c != '{')
		return tl_fail_at(err, TL_FORMAT, here(w), "expected '[' or '{' of trace events");
	if (c == '[') {
		w->at++;
		w->has_events = true;
		w->state = STATE_EVENTS;
		return 0;
	}
	r = reader(w);
	r.at++;
	js_blank(&r);
	if (is_event_key(r.at)) {
		find(w, TRACE_SEPARATE, here(w));
		w->has_events = true;
		w->state = STATE_LINES;
		return 0;
	}
	w->at++;
	w->has_object = true;
	w->state = STATE_OBJECT;
	return 0;
}

int trace_walk_next(struct trace_walk *w, struct tl_error *err)
{
	int ret = 0;

	while (ret == 0) {
		switch (w->state) {
		case STATE_START:
			ret = start(w, err);
			break;
		case STATE_OBJECT:
			ret = next_in_object(w, err);
			break;
		case STATE_EVENTS:
			ret = next_in_events(w, err);
			break;
		case STATE_LINES:
			ret = next_line(w, err);
			break;
		case STATE_AFTER:
			ret = next_after(w, err);
			break;
		case STATE_END:
			return TRACE_ITEM_END;
		}
	}
	return ret;
}

const struct trace_event *trace_walk_event(const struct trace_walk *w)
{
	return &w->event;
}

void trace_walk_member(const struct trace_walk *w, const char **key, const char **value,
		       size_t *value_length)
{
	*key = w->key.data ? w->key.data : "";
	*value = w->scratch.data;
	*value_length = w->scratch.length;
}

const struct trace_count *trace_walk_findings(const struct trace_walk *w)
{
	return w->findings;
}

int trace_walk_open(struct trace_walk **out, struct tl_input *in, struct tl_error *err)
{
	struct trace_walk *w = tl_alloc(1, sizeof(*w), err);

	*out = w;
	if (!w)
		return TL_NOMEM;
	w->in = in;
	w->capacity = BUFFER_MIN;
	w->buffer = tl_alloc(w->capacity + 1, 1, err);
	if (!w->buffer) {
		trace_walk_close(w);
		*out = NULL;
		return TL_NOMEM;
	}
	return TL_OK;
}

void trace_walk_close(struct trace_walk *w)
{
	if (!w)
		return;
	free(w->buffer);
	free(w->members.items);
	tl_text_release(&w->arguments);
	tl_text_release(&w->scratch);
	tl_text_release(&w->key);
	free(w);
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
