/*
 * trace_walk.c - where the events of a trace are: an object with its members in any order, an array,
 * or lines, whole or cut, read through a buffer that stays small. What an event is, and what to do
 * with one that is none, trace_events.c knows.
 */
#include "trace_walk.h"

#include <stdlib.h>
#include <string.h>

#define BUFFER_MIN  (16u << 10) /* small files stay small */
#define BUFFER_SIZE (1u << 20)
#define MEMBER_MAX  (256u << 10) /* of the object around the events */

/* ---- the buffer ---------------------------------------------------------------------------- */

/* More bytes behind those that are left; room is made when they fill the buffer. */
int trace_walk_fill(struct trace_walk *w, struct tl_error *err)
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

/* The next byte that is no white space; 0 at the end. */
static int next_byte(struct trace_walk *w, char *c, struct tl_error *err)
{
	for (;;) {
		while (js_is_blank(w->buffer[w->at]))
			w->at++;
		*c = w->buffer[w->at];
		if (w->at < w->length || w->is_last)
			return TL_OK;
		int ret = trace_walk_fill(w, err);

		if (ret < 0)
			return ret;
	}
}

/* ---- between events -------------------------------------------------------------------------- */

static int cut(struct trace_walk *w)
{
	trace_walk_find(w, TRACE_CUT, trace_walk_here(w));
	w->state = STATE_END;
	return TRACE_ITEM_END;
}

/* A number, a string, null where an event should be. 0: go on. */
static int at_other_element(struct trace_walk *w, struct tl_error *err)
{
	for (;;) {
		struct js_reader r = trace_walk_reader(w);
		struct js_scalar value;
		int ret;

		if (js_value(&r, &value) && r.at > w->buffer + w->at) {
			trace_walk_find(w, TRACE_NO_EVENT, trace_walk_here(w));
			w->at = (size_t)(r.at - w->buffer);
			return 0;
		}
		if (r.fault != JS_SHORT || w->is_last || w->length - w->at > TRACE_EVENT_MAX)
			return trace_walk_recover(w, r.fault == JS_SHORT && w->is_last, err);
		ret = trace_walk_fill(w, err);
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
				trace_walk_find(w, (enum trace_finding)JS_ODD_COMMA,
						trace_walk_here(w));
			return trace_walk_at_event(w, err);
		case ',':
			if (has_comma || !is_due)
				trace_walk_find(w, (enum trace_finding)JS_ODD_COMMA,
						trace_walk_here(w));
			has_comma = true;
			w->at++;
			continue;
		case '[':
			trace_walk_find(w, TRACE_NESTED_ARRAY, trace_walk_here(w));
			w->arrays++;
			w->at++;
			has_comma = is_due = false;
			continue;
		case ']':
			if (has_comma)
				trace_walk_find(w, (enum trace_finding)JS_ODD_COMMA,
						trace_walk_here(w));
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
		ret = trace_walk_fill(w, err);
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
	trace_walk_find(w, TRACE_TOP_DAMAGE, trace_walk_here(w));
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
		ret = trace_walk_fill(w, err);
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

		*r = trace_walk_reader(w);
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
		ret = trace_walk_fill(w, err);
		if (ret < 0)
			return ret;
	}
}

/* The value of the key in w->key, from w->at on. */
static int top_value(struct trace_walk *w, struct tl_error *err)
{
	for (;;) {
		struct js_reader r = trace_walk_reader(w);
		int ret;

		w->scratch.length = 0;
		if (js_copy(&r, &w->scratch)) {
			trace_walk_find_oddities(w, r.oddities, trace_walk_here(w));
			w->at = (size_t)(r.at - w->buffer);
			w->scratch.data[w->scratch.length] = '\0';
			return TRACE_ITEM_MEMBER;
		}
		if (w->scratch.failed)
			return tl_fail(err, TL_NOMEM, "out of memory");
		if (r.fault == JS_SHORT && w->length - w->at > MEMBER_MAX) {
			trace_walk_find(w, TRACE_TOP_LARGE, trace_walk_here(w));
			ret = skip_large(w, err);
			return ret < 0 ? ret : 0;
		}
		if (r.fault != JS_SHORT || w->is_last)
			return top_damage(w, r.fault == JS_SHORT, err);
		ret = trace_walk_fill(w, err);
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
		return trace_walk_at_event(w, err);
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
		trace_walk_find(w, (enum trace_finding)JS_ODD_COMMA, trace_walk_here(w));
		w->at++;
		w->has_element = false;
		w->state = STATE_EVENTS;
		return 0;
	}
	trace_walk_find(w, c == '{' || c == '[' ? TRACE_DOCUMENT : TRACE_GARBAGE,
			trace_walk_here(w));
	return TRACE_ITEM_END;
}

static int start(struct trace_walk *w, struct tl_error *err)
{
	struct js_reader r;
	char c;
	int ret = trace_walk_fill(w, err);

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
		return tl_fail_at(err, TL_FORMAT, trace_walk_here(w),
				  "expected '[' or '{' of trace events");
	if (c == '[') {
		w->at++;
		w->has_events = true;
		w->state = STATE_EVENTS;
		return 0;
	}
	r = trace_walk_reader(w);
	r.at++;
	js_blank(&r);
	if (trace_walk_is_event_key(r.at)) {
		trace_walk_find(w, TRACE_SEPARATE, trace_walk_here(w));
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
