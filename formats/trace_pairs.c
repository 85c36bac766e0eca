/*
 * trace_pairs.c - slices of which one event tells the begin and another one the end (B and E, b and e),
 * in the order of the file or in another one.
 */
#include "trace_import.h"

#include <stdlib.h>
#include <string.h>

int trace_on_begin(struct trace_import *t, const struct trace_event *ev, bool is_async,
		   struct tl_sink *sink, struct tl_error *err)
{
	struct trace_open span = { .is_async = is_async, .position = ev->position };
	int ret = trace_prepare(t, ev, &span.row, &span.track, &span.has_ts, &span.ts, is_async,
				sink, err);

	if (ret <= 0)
		return ret;
	span.key = trace_spans_key(ev, span.track, is_async);
	ret = trace_spans_keep(t, &span, &span.row.slice, err);
	if (ret != 0)
		return ret < 0 ? ret : TL_OK;
	trace_note(t, TRACE_NOTE_MANY_OPEN, ev);
	return trace_emit_slice(t, span.track, &span.row, span.has_ts, span.ts, sink, err);
}

static void point_to_texts(struct trace_open *o)
{
	struct tl_event_slice *s = &o->row.slice;

	s->name = o->text.data ? o->text.data : "";
	s->name_length = o->name_length;
	s->category = o->category_length ? s->name + o->name_length : NULL;
	s->category_length = o->category_length;
	s->arguments = o->arguments_length ? s->name + o->name_length + o->category_length : NULL;
	s->arguments_length = o->arguments_length;
}

/* Arguments of both ends: the end's come first, so that a reader finds them first. */
static int join_arguments(struct trace_import *t, const struct tl_event_slice *end,
			  struct tl_event_slice *s, struct tl_error *err)
{
	if (!end->arguments)
		return TL_OK;
	if (s->arguments && s->arguments_length == end->arguments_length &&
	    !memcmp(s->arguments, end->arguments, end->arguments_length))
		return TL_OK; /* py-spy says everything twice */
	if (!s->arguments) {
		s->arguments = end->arguments;
		s->arguments_length = end->arguments_length;
		return TL_OK;
	}
	t->scratch.length = 0;
	tl_text_add(&t->scratch, end->arguments, end->arguments_length - 1);
	tl_text_puts(&t->scratch, ",");
	tl_text_add(&t->scratch, s->arguments + 1, s->arguments_length - 1);
	if (t->scratch.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	s->arguments = t->scratch.data;
	s->arguments_length = t->scratch.length;
	return TL_OK;
}

static void take_ids(const struct tl_event_slice *end, struct tl_event_slice *s)
{
	if (end->has_correlation && !s->has_correlation) {
		s->has_correlation = true;
		s->correlation = end->correlation;
	}
	if (end->has_external_id && !s->has_external_id) {
		s->has_external_id = true;
		s->external_id = end->external_id;
	}
	if (end->has_bytes && !s->has_bytes) {
		s->has_bytes = true;
		s->bytes = end->bytes;
	}
}

/* Makes the slice that `o` began whole; its arguments may be those of the end. */
static int close_span(struct trace_import *t, struct trace_open *o,
		      const struct tl_event_slice *end, bool has_ts, int64_t ts, uint64_t position,
		      struct tl_error *err)
{
	struct tl_event_slice *s = &o->row.slice;
	int64_t duration;
	int ret;

	point_to_texts(o);
	take_ids(end, s);
	ret = join_arguments(t, end, s, err);
	if (ret < 0)
		return ret;
	if (o->has_ts && has_ts && !__builtin_sub_overflow(ts, o->ts, &duration)) {
		if (duration >= 0)
			s->duration_ns = duration;
		if (duration < 0)
			trace_note_at(t, TRACE_NOTE_NEGATIVE, position);
		if (duration > TRACE_DAY_NS)
			trace_note_at(t, TRACE_NOTE_LONG, position);
		s->is_suspect |= duration < 0 || duration > TRACE_DAY_NS;
	}
	return TL_OK;
}

/*
 * Emits a slice, and behind it those that it held: they began when it did, and may end when it does;
 * whoever reads slices in their order then finds the outer one first.
 */
static int emit_span(struct trace_import *t, struct trace_open *o, struct tl_sink *sink,
		     struct tl_error *err)
{
	struct trace_spans *s = &t->spans;
	int ret = trace_emit_slice(t, o->track, &o->row, o->has_ts, o->ts, sink, err);
	uint32_t next = o->held;

	while (next && ret == TL_OK) {
		struct trace_open *x = &s->items[next - 1], *last;

		point_to_texts(x);
		ret = trace_emit_slice(t, x->track, &x->row, x->has_ts, x->ts, sink, err);
		next = x->next_held;
		if (x->held) { /* its own come before its neighbours */
			for (last = &s->items[x->held - 1]; last->next_held;)
				last = &s->items[last->next_held - 1];
			last->next_held = next;
			next = x->held;
		}
		trace_spans_free(s, x);
	}
	return ret;
}

static int end_span(struct trace_import *t, struct trace_open *o, const struct trace_open *end,
		    struct tl_sink *sink, struct tl_error *err)
{
	struct trace_spans *s = &t->spans;
	struct trace_open *outer;
	int ret = close_span(t, o, &end->row.slice, end->has_ts, end->ts, end->position, err);

	if (ret < 0)
		return ret;
	trace_spans_unlink(s, o);
	outer = o->has_ts && o->row.slice.duration_ns > 0 ? trace_spans_top(s, o->key) : NULL;
	if (outer && outer->has_ts && outer->ts == o->ts && trace_spans_hold(s, outer, o))
		return TL_OK;
	ret = emit_span(t, o, sink, err);
	trace_spans_free(s, o);
	return ret;
}

/* The end of nothing that is known. */
static int emit_lone_end(struct trace_import *t, uint32_t track, struct trace_row *row, bool has_ts,
			 int64_t ts, uint64_t position, struct tl_sink *sink, struct tl_error *err)
{
	trace_note_at(t, TRACE_NOTE_LONE_END, position);
	row->slice.is_instant = true;
	row->slice.is_suspect = true;
	row->slice.has_step = false;
	return trace_emit_slice(t, track, row, has_ts, ts, sink, err);
}

int trace_on_end(struct trace_import *t, const struct trace_event *ev, bool is_async,
		 struct tl_sink *sink, struct tl_error *err)
{
	struct trace_open end = { .is_async = is_async, .is_end = true, .position = ev->position };
	struct trace_open *o;
	bool is_crossed;
	int ret = trace_prepare(t, ev, &end.row, &end.track, &end.has_ts, &end.ts, is_async, sink,
				err);

	if (ret <= 0)
		return ret;
	end.key = trace_spans_key(ev, end.track, is_async);
	o = trace_spans_end(t, &end, end.row.slice.name, end.row.slice.name_length, &is_crossed);
	if (o) {
		if (is_crossed)
			trace_note(t, TRACE_NOTE_CROSSED, ev);
		return end_span(t, o, &end, sink, err);
	}
	/* its begin may be told later: events need not be in order */
	ret = end.has_ts ? trace_spans_keep(t, &end, &end.row.slice, err) : 0;
	if (ret != 0)
		return ret < 0 ? ret : TL_OK;
	return emit_lone_end(t, end.track, &end.row, end.has_ts, end.ts, ev->position, sink, err);
}

/* ---- what is left ------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
	const struct trace_open *x = *(struct trace_open *const *)a;
	const struct trace_open *y = *(struct trace_open *const *)b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_order(const void *a, const void *b)
{
	const struct trace_open *x = *(struct trace_open *const *)a;
	const struct trace_open *y = *(struct trace_open *const *)b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* The innermost begin that is still open on the stack, of that name if the end has one. */
static struct trace_open *take_begin(struct trace_open **stack, size_t *depth,
				     const struct trace_open *end)
{
	size_t lowest = *depth > TRACE_CROSSED_DEPTH ? *depth - TRACE_CROSSED_DEPTH : 0;

	for (size_t i = *depth; i-- > lowest;) {
		struct trace_open *o = stack[i];

		if (end->name_length && (o->name_length != end->name_length ||
					 memcmp(o->text.data, end->text.data, o->name_length) != 0))
			continue;
		memmove(stack + i, stack + i + 1, (*depth - i - 1) * sizeof(*stack));
		--*depth;
		return o;
	}
	return NULL;
}

/* Begins and ends that did not find each other in the order of the file do in that of time. */
static int match_by_time(struct trace_open **left, size_t count, struct tl_error *err)
{
	struct trace_open **stack = tl_alloc(count, sizeof(*stack), err);
	size_t depth = 0;

	if (!stack)
		return TL_NOMEM;
	qsort(left, count, sizeof(*left), by_time);
	for (size_t i = 0; i < count; i++) {
		struct trace_open *o = left[i], *begin;

		if (i && left[i - 1]->key != o->key)
			depth = 0;
		if (!o->has_ts)
			continue;
		if (!o->is_end) {
			stack[depth++] = o;
			continue;
		}
		begin = take_begin(stack, &depth, o);
		if (!begin)
			continue;
		begin->end = o;
		o->is_used = false;
	}
	free(stack);
	return TL_OK;
}

static int finish_span(struct trace_import *t, struct trace_open *o, struct tl_sink *sink,
		       struct tl_error *err)
{
	int ret;

	point_to_texts(o);
	if (o->is_end)
		return emit_lone_end(t, o->track, &o->row, o->has_ts, o->ts, o->position, sink,
				     err);
	if (!o->end) {
		trace_note_at(t, TRACE_NOTE_UNCLOSED, o->position);
		return emit_span(t, o, sink, err);
	}
	point_to_texts(o->end);
	ret = close_span(t, o, &o->end->row.slice, true, o->end->ts, o->end->position, err);
	return ret < 0 ? ret : emit_span(t, o, sink, err);
}

int trace_finish_spans(struct trace_import *t, struct tl_sink *sink, struct tl_error *err)
{
	struct trace_spans *s = &t->spans;
	struct trace_open **left = tl_alloc(s->count + 1, sizeof(*left), err);
	bool has_ends = false;
	size_t count = 0;
	int ret = left ? TL_OK : TL_NOMEM;

	for (size_t i = 0; i < s->count && ret == TL_OK; i++) {
		if (!s->items[i].is_used || s->items[i].is_held)
			continue;
		left[count++] = &s->items[i];
		has_ends |= s->items[i].is_end;
	}
	if (ret == TL_OK && has_ends)
		ret = match_by_time(left, count, err);
	if (ret == TL_OK && count)
		qsort(left, count, sizeof(*left), by_order);
	for (size_t i = 0; i < count && ret == TL_OK; i++)
		if (left[i]->is_used)
			ret = finish_span(t, left[i], sink, err);
	free(left);
	return ret;
}
