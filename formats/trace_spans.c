/*
 * trace_spans.c - slices that are begun by one event and ended by another: a stack for each track
 * (B, E), and for each id (b, e). What it holds is bounded; the rest stays without an end.
 */
#include "trace_import.h"

#include <stdlib.h>
#include <string.h>

/* Nobody has more open at a time; a trace without ends must not fill the memory. */
#define OPEN_MAX  16384u
#define BYTES_MAX (16u << 20)
/* Ends whose begin has not come: those of a trace that was cut at its start must not be in the way. */
#define ENDS_MAX      8192u
#define HELD_MAX      4096u
#define ENDS_BYTES    (8u << 20)
#define TEXT_KEPT_MAX 1024u /* room that is kept for the next one */

uint64_t trace_spans_key(const struct trace_event *ev, uint32_t track, bool is_async)
{
	uint64_t hash;

	if (!is_async)
		return tl_hash_u64(track, 1);
	/* the same id means the same thing in one category, and if local in one process */
	hash = tl_hash(ev->id.text, ev->id.length, 2);
	hash = tl_hash(ev->category.text, ev->category.length, hash);
	return ev->has_local_id ? tl_hash(ev->pid.text, ev->pid.length, hash) : hash;
}

int trace_spans_keep(struct trace_import *t, const struct trace_open *span,
		     const struct tl_event_slice *slice, struct tl_error *err)
{
	struct trace_spans *s = &t->spans;
	uint32_t *bucket = &s->buckets[span->key % TRACE_BUCKETS];
	size_t arguments_length = slice->arguments ? slice->arguments_length : 0;
	struct trace_open *o;
	struct tl_text text;
	uint32_t index;

	if (span->is_end && (s->end_count == ENDS_MAX || s->bytes > ENDS_BYTES))
		return 0;
	if ((!s->free && s->count == OPEN_MAX + ENDS_MAX + HELD_MAX) ||
	    s->bytes > BYTES_MAX + ENDS_BYTES)
		return 0;
	s->end_count += span->is_end;
	if (s->free) {
		index = s->free - 1;
		s->free = s->items[index].next;
	} else {
		if (tl_grow(&s->items, &s->capacity, s->count + 1, err) < 0)
			return TL_NOMEM;
		index = (uint32_t)s->count++;
	}
	o = &s->items[index];
	text = o->text;
	text.length = 0;
	*o = *span;
	s->bytes -= text.capacity;
	tl_text_add(&text, slice->name, slice->name_length);
	tl_text_add(&text, slice->category, slice->category_length);
	tl_text_add(&text, slice->arguments, arguments_length);
	s->bytes += text.capacity;
	o->text = text;
	o->name_length = slice->name_length;
	o->category_length = slice->category_length;
	o->arguments_length = arguments_length;
	o->order = s->order++;
	o->is_used = true;
	if (!o->is_end) {
		o->next = *bucket;
		*bucket = index + 1;
	}
	return text.failed ? tl_fail(err, TL_NOMEM, "out of memory") : 1;
}

struct trace_open *trace_spans_end(struct trace_import *t, const struct trace_open *end,
				   const char *name, size_t name_length, bool *is_crossed)
{
	struct trace_spans *s = &t->spans;
	struct trace_open *top = NULL;
	unsigned depth = 0;

	*is_crossed = false;
	for (uint32_t i = s->buckets[end->key % TRACE_BUCKETS]; i; i = s->items[i - 1].next) {
		struct trace_open *o = &s->items[i - 1];

		if (o->key != end->key)
			continue;
		if (o->has_ts && end->has_ts && o->ts > end->ts) {
			/* begins behind this end: another one's */
		} else if (!name_length) {
			return o;
		} else if (o->name_length == name_length &&
			   !memcmp(o->text.data, name, name_length)) {
			*is_crossed = top != NULL;
			return o;
		} else {
			top = top ? top : o;
		}
		if (++depth == TRACE_CROSSED_DEPTH)
			break;
	}
	return NULL;
}

struct trace_open *trace_spans_top(struct trace_spans *s, uint64_t key)
{
	for (uint32_t i = s->buckets[key % TRACE_BUCKETS]; i; i = s->items[i - 1].next)
		if (s->items[i - 1].key == key)
			return &s->items[i - 1];
	return NULL;
}

void trace_spans_unlink(struct trace_spans *s, struct trace_open *span)
{
	uint32_t index = (uint32_t)(span - s->items) + 1;
	uint32_t *link = &s->buckets[span->key % TRACE_BUCKETS];

	while (*link != index)
		link = &s->items[*link - 1].next;
	*link = span->next;
}

/* What its slice points to may be somebody else's. */
static bool keep_arguments(struct trace_spans *s, struct trace_open *span)
{
	const struct tl_event_slice *slice = &span->row.slice;
	size_t start = span->name_length + span->category_length;

	if (!slice->arguments || (span->text.data && slice->arguments == span->text.data + start))
		return true;
	s->bytes -= span->text.capacity;
	span->text.length = start;
	tl_text_add(&span->text, slice->arguments, slice->arguments_length);
	span->arguments_length = slice->arguments_length;
	s->bytes += span->text.capacity;
	return !span->text.failed;
}

bool trace_spans_hold(struct trace_spans *s, struct trace_open *outer, struct trace_open *span)
{
	if (s->held_count == HELD_MAX || s->bytes > BYTES_MAX || !keep_arguments(s, span))
		return false;
	s->held_count++;
	span->is_held = true;
	span->next_held = outer->held;
	outer->held = (uint32_t)(span - s->items) + 1;
	return true;
}

void trace_spans_free(struct trace_spans *s, struct trace_open *span)
{
	s->held_count -= span->is_held;
	span->is_held = span->is_used = false;
	if (span->text.capacity > TEXT_KEPT_MAX) {
		s->bytes -= span->text.capacity;
		tl_text_release(&span->text);
	}
	span->next = s->free;
	s->free = (uint32_t)(span - s->items) + 1;
}

void trace_spans_release(struct trace_spans *spans)
{
	for (size_t i = 0; i < spans->count; i++)
		tl_text_release(&spans->items[i].text);
	free(spans->items);
}
