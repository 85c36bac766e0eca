/*
 * trace_import.c - events of a trace to tracks, slices and flows: what is the same for every
 * producer. What a row is, the producer's own file says.
 */
#include "trace_import.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what an event says ---------------------------------------------------------------------- */

/* "ProfilerStep#12", with blanks around the mark. */
static bool step_of(const char *name, size_t length, int64_t *step)
{
	static const char start[] = "ProfilerStep";
	size_t at = sizeof(start) - 1;
	uint64_t number;

	if (length <= at || memcmp(name, start, at) != 0)
		return false;
	while (at < length && name[at] == ' ')
		at++;
	if (at == length || name[at] != '#')
		return false;
	for (at++; at < length && name[at] == ' ';)
		at++;
	if (!tl_parse_u64(name + at, length - at, 10, &number) || number > INT64_MAX)
		return false;
	*step = (int64_t)number;
	return true;
}

static int32_t small_number(const char *text, size_t length, uint8_t kind)
{
	int64_t number;

	return trace_number_of(text, length, kind, &number) && number >= 0 && number <= INT32_MAX
		       ? (int32_t)number
		       : -1;
}

/* Bytes of an element of a tensor, by the name of its type; 0 unknown. */
static int64_t size_of_type(const char *text, size_t length)
{
	static const struct {
		const char *name;
		int64_t size;
	} types[] = { { "Float", 4 },  { "BFloat16", 2 },      { "Half", 2 },
		      { "Double", 8 }, { "Long", 8 },	       { "Int", 4 },
		      { "Short", 2 },  { "Char", 1 },	       { "Byte", 1 },
		      { "Bool", 1 },   { "Float8_e4m3fn", 1 }, { "Float8_e5m2", 1 },
		      { "UInt8", 1 } };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i].name) == length && !strncasecmp(types[i].name, text, length))
			return types[i].size;
	return 0;
}

static inline bool is_key(const char *key, const char *name, size_t length)
{
	return !memcmp(key, name, length);
}

/* Ids, bytes, stream and device, by the names that the producers use. */
static void read_arguments(const struct trace_event *ev, struct trace_row *row)
{
	struct tl_event_slice *s = &row->slice;
	int64_t elements = -1, element_size = 0;

	for (size_t i = 0; i < ev->members->count; i++) {
		const struct js_member *m = &ev->members->items[i];
		const char *key = ev->arguments + m->key, *text = ev->arguments + m->value;
		size_t length = m->value_length;

		switch (m->key_length) {
		case 5:
			if (is_key(key, "bytes", 5))
				s->has_bytes = trace_number_of(text, length, m->kind, &s->bytes);
			else if (is_key(key, "dtype", 5))
				element_size = size_of_type(text, length);
			break;
		case 6:
			if (is_key(key, "stream", 6))
				s->stream = small_number(text, length, m->kind);
			else if (is_key(key, "device", 6))
				row->device = small_number(text, length, m->kind);
			break;
		case 9:
			if (is_key(key, "Stream Id", 9) || is_key(key, "stream id", 9))
				s->stream = small_number(text, length, m->kind);
			break;
		case 10:
			if (is_key(key, "size(Byte)", 10))
				s->has_bytes = trace_number_of(text, length, m->kind, &s->bytes);
			break;
		case 11:
			if (is_key(key, "correlation", 11))
				s->has_correlation =
					trace_id_of(text, length, m->kind, &s->correlation);
			else if (is_key(key, "External id", 11) || is_key(key, "external id", 11))
				s->has_external_id =
					trace_id_of(text, length, m->kind, &s->external_id);
			break;
		case 13:
			if (is_key(key, "In msg nelems", 13) &&
			    !trace_number_of(text, length, m->kind, &elements))
				elements = -1;
			else if (is_key(key, "connection_id", 13))
				s->has_correlation =
					trace_id_of(text, length, m->kind, &s->correlation);
			break;
		case 14:
			if (is_key(key, "correlation_id", 14))
				s->has_external_id =
					trace_id_of(text, length, m->kind, &s->external_id);
			break;
		case 16:
			if (is_key(key, "Physic Stream Id", 16))
				s->stream = small_number(text, length, m->kind);
			break;
		}
	}
	if (!s->has_bytes && elements >= 0 && element_size &&
	    !__builtin_mul_overflow(elements, element_size, &s->bytes))
		s->has_bytes = true;
}

void trace_describe(struct trace_import *t, const struct trace_event *ev, const char *name,
		    size_t name_length, struct trace_row *row)
{
	memset(row, 0, sizeof(*row));
	row->domain = TRACE_HOST;
	row->device = -1;
	row->slice.stream = -1;
	row->slice.duration_ns = -1;
	if (ev->arguments)
		read_arguments(ev, row);
	t->producer->describe(t, ev, name, name_length, row);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void set_texts(struct trace_import *t, const struct trace_event *ev,
		      struct tl_event_slice *s, const char *name, size_t name_length)
{
	s->name = name;
	s->name_length = name_length;
	if (ev->category.kind == JS_STRING && ev->category.length)
		s->category = trace_decoded(&ev->category, &t->category, &s->category_length);
	if (!ev->arguments || t->argument_limit < 0)
		return;
	if (t->argument_limit && (uint64_t)t->argument_limit < ev->arguments_length) {
		trace_note(t, TRACE_NOTE_ARGUMENTS, ev); /* half an object is none */
	} else {
		s->arguments = ev->arguments;
		s->arguments_length = ev->arguments_length;
	}
}

int trace_emit_slice(struct trace_import *t, uint32_t track, const struct trace_row *row,
		     bool has_ts, int64_t ts, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev;

	if (!(t->want & TL_WANT_SLICES) && !row->slice.has_step)
		return TL_OK;
	ev.kind = TL_EVENT_SLICE;
	ev.has_ts = has_ts;
	ev.ts = has_ts ? ts : 0;
	ev.slice = row->slice;
	ev.slice.track = track;
	ev.slice.class_ = row->class_;
	return sink->emit(sink, &ev, err);
}

static int emit_flow(struct trace_import *t, uint32_t track, enum tl_flow_phase phase, int64_t id,
		     const struct trace_event *from, bool has_ts, int64_t ts, struct tl_sink *sink,
		     struct tl_error *err)
{
	struct tl_event ev;

	if (!(t->want & TL_WANT_SLICES))
		return TL_OK;
	ev.kind = TL_EVENT_FLOW;
	ev.has_ts = has_ts;
	ev.ts = has_ts ? ts : 0;
	ev.flow = (struct tl_event_flow) { .track = track, .phase = phase, .id = (uint64_t)id };
	if (from->category.kind == JS_STRING && from->category.length)
		ev.flow.category =
			trace_decoded(&from->category, &t->category, &ev.flow.category_length);
	return sink->emit(sink, &ev, err);
}

/* The newer way: a slice says itself which arrows begin and end at it. */
static int emit_bound_flow(struct trace_import *t, uint32_t track, const struct trace_event *ev,
			   bool has_ts, int64_t ts, struct tl_sink *sink, struct tl_error *err)
{
	enum tl_flow_phase phase = ev->is_flow_in && ev->is_flow_out ? TL_FLOW_STEP
				   : ev->is_flow_in		     ? TL_FLOW_END
								     : TL_FLOW_BEGIN;
	int64_t id;

	if (!ev->is_flow_in && !ev->is_flow_out)
		return TL_OK;
	if (!trace_id_of(ev->bind_id.text, ev->bind_id.length, ev->bind_id.kind, &id))
		return TL_OK;
	return emit_flow(t, track, phase, id, ev, has_ts, ts, sink, err);
}

/* The time of an event: 1 known or not given, 0 the event is of no use; tells the clock. */
int trace_event_time(struct trace_import *t, const struct trace_event *ev, bool *has_ts,
		     int64_t *ts, struct tl_sink *sink, struct tl_error *err)
{
	enum trace_time state = trace_parse_time(t, &ev->ts, ts);
	int ret = TL_OK;

	*has_ts = state == TRACE_TIME_KNOWN;
	if (state == TRACE_TIME_BAD) {
		trace_note(t, TRACE_NOTE_BAD_TIME, ev);
		return 0;
	}
	if (state == TRACE_TIME_NONE)
		trace_note(t, TRACE_NOTE_NO_TIME, ev);
	if (*has_ts && *ts == 0 && t->producer->is_zero_unknown) {
		trace_note(t, TRACE_NOTE_ZERO_TIME, ev);
		*has_ts = false;
	}
	if (*has_ts)
		ret = trace_clock_before(t, *ts, sink, err);
	return ret < 0 ? ret : 1;
}

static void read_duration(struct trace_import *t, const struct trace_event *ev,
			  struct tl_event_slice *s)
{
	int64_t duration;

	switch (trace_parse_time(t, &ev->duration, &duration)) {
	case TRACE_TIME_NONE:
		trace_note(t, TRACE_NOTE_NO_DURATION, ev);
		return;
	case TRACE_TIME_BAD:
		trace_note(t, TRACE_NOTE_BAD_DURATION, ev);
		s->is_suspect = true;
		return;
	case TRACE_TIME_KNOWN:
		break;
	}
	if (duration < 0) {
		trace_note(t, TRACE_NOTE_NEGATIVE, ev);
		s->is_suspect = true;
		return;
	}
	if (duration > TRACE_DAY_NS) {
		trace_note(t, TRACE_NOTE_LONG, ev);
		s->is_suspect = true;
	}
	s->duration_ns = duration;
}

const char *trace_name_of(struct trace_import *t, const struct trace_event *ev, size_t *length)
{
	if (ev->name.kind == JS_NONE || ev->name.kind == JS_NULL) {
		*length = 0;
		return "";
	}
	return trace_decoded(&ev->name, &t->name, length);
}

int trace_prepare(struct trace_import *t, const struct trace_event *ev, struct trace_row *row,
		  uint32_t *track, bool *has_ts, int64_t *ts, bool is_async, struct tl_sink *sink,
		  struct tl_error *err)
{
	size_t name_length;
	const char *name = trace_name_of(t, ev, &name_length);
	int ret = trace_event_time(t, ev, has_ts, ts, sink, err);

	if (ret <= 0)
		return ret;
	trace_describe(t, ev, name, name_length, row);
	if (is_async) {
		row->domain = TRACE_ASYNC;
		row->slice.has_external_id = trace_id_of(ev->id.text, ev->id.length, ev->id.kind,
							 &row->slice.external_id);
	}
	row->slice.is_suspect |= !*has_ts;
	if (row->domain != TRACE_DEVICE && row->class_ != TL_SLICE_DEVICE_ANNOTATION &&
	    name_length && *name == 'P')
		row->slice.has_step = step_of(name, name_length, &row->slice.step);
	if (row->slice.has_step)
		row->class_ = TL_SLICE_ANNOTATION;
	set_texts(t, ev, &row->slice, name, name_length);
	if (t->name.failed || t->category.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ret = trace_tracks_find(t, ev, row, sink, track, err);
	return ret < 0 ? ret : 1;
}

static int on_complete(struct trace_import *t, const struct trace_event *ev, struct tl_sink *sink,
		       struct tl_error *err)
{
	struct trace_row row;
	uint32_t track;
	bool has_ts;
	int64_t ts;
	int ret = trace_prepare(t, ev, &row, &track, &has_ts, &ts, false, sink, err);

	if (ret <= 0)
		return ret;
	read_duration(t, ev, &row.slice);
	ret = trace_emit_slice(t, track, &row, has_ts, ts, sink, err);
	if (ret == TL_OK && (ev->is_flow_in || ev->is_flow_out))
		ret = emit_bound_flow(t, track, ev, has_ts, ts, sink, err);
	return ret;
}

static int on_instant(struct trace_import *t, const struct trace_event *ev, bool is_async,
		      struct tl_sink *sink, struct tl_error *err)
{
	struct trace_row row;
	uint32_t track;
	bool has_ts;
	int64_t ts;
	int ret = trace_prepare(t, ev, &row, &track, &has_ts, &ts, is_async, sink, err);

	if (ret <= 0)
		return ret;
	row.slice.is_instant = true;
	row.slice.has_step = false;
	/* may lie far in the future: nothing may be concluded from it */
	row.slice.is_suspect |= trace_text_is(&ev->name, "Record Window End");
	return trace_emit_slice(t, track, &row, has_ts, ts, sink, err);
}

/* ---- flows ----------------------------------------------------------------------------------- */

/* Where an arrow's end is: on the one track with these ids, or where the producer says. */
static int flow_track(struct trace_import *t, const struct trace_event *ev, struct tl_sink *sink,
		      uint32_t *track, struct tl_error *err)
{
	struct trace_row row;
	bool on_host, on_device;
	int ret;

	if (trace_tracks_recall(t, ev, track))
		return TL_OK;
	trace_describe(t, ev, "", 0, &row);
	ret = trace_tracks_has(t, ev, TRACE_HOST, &on_host, err);
	if (ret == TL_OK)
		ret = trace_tracks_has(t, ev, TRACE_DEVICE, &on_device, err);
	if (ret < 0)
		return ret;
	if (on_host != on_device)
		row.domain = on_host ? TRACE_HOST : TRACE_DEVICE;
	ret = trace_tracks_find(t, ev, &row, sink, track, err);
	if (ret == TL_OK && on_host != on_device)
		trace_tracks_remember(t, ev, *track);
	return ret;
}

static int on_flow(struct trace_import *t, const struct trace_event *ev, enum tl_flow_phase phase,
		   struct tl_sink *sink, struct tl_error *err)
{
	uint32_t track;
	bool has_ts;
	int64_t ts, id;
	int ret = trace_event_time(t, ev, &has_ts, &ts, sink, err);

	if (ret <= 0)
		return ret;
	if (!trace_id_of(ev->id.text, ev->id.length, ev->id.kind, &id)) {
		trace_note(t, TRACE_NOTE_NO_ID, ev);
		return TL_OK;
	}
	ret = flow_track(t, ev, sink, &track, err);
	return ret < 0 ? ret : emit_flow(t, track, phase, id, ev, has_ts, ts, sink, err);
}

/* ---- one event ------------------------------------------------------------------------------- */

static int on_event(struct trace_import *t, const struct trace_event *ev, struct tl_sink *sink,
		    struct tl_error *err)
{
	if (!ev->seen)
		return TL_OK; /* "{}" ends what some producers write */
	if (ev->phase > 32 && ev->phase < 127)
		t->phases[(int)ev->phase]++;
	switch (ev->phase) {
	case 'X':
		return on_complete(t, ev, sink, err);
	case 'i':
	case 'I':
	case 'R':
	case 'P':
		return on_instant(t, ev, false, sink, err);
	case 'n':
	case 'T':
	case 'p':
		return on_instant(t, ev, true, sink, err);
	case 'B':
		return trace_on_begin(t, ev, false, sink, err);
	case 'E':
		return trace_on_end(t, ev, false, sink, err);
	case 'b':
	case 'S':
		return trace_on_begin(t, ev, true, sink, err);
	case 'e':
	case 'F':
		return trace_on_end(t, ev, true, sink, err);
	case 's':
		return on_flow(t, ev, TL_FLOW_BEGIN, sink, err);
	case 't':
		return on_flow(t, ev, TL_FLOW_STEP, sink, err);
	case 'f':
		return on_flow(t, ev, TL_FLOW_END, sink, err);
	case 'C':
		return trace_import_counter(t, ev, sink, err);
	case 'M':
		return trace_tracks_metadata(t, ev, err);
	}
	trace_note(t, ev->phase ? TRACE_NOTE_PHASE : TRACE_NOTE_NO_PHASE, ev);
	return TL_OK;
}

static int finish(struct trace_import *t, struct tl_sink *sink, struct tl_error *err)
{
	int ret = trace_finish_spans(t, sink, err);

	if (ret == TL_OK)
		ret = trace_tracks_finish(t, sink, err);
	if (ret == TL_OK)
		ret = trace_clock_finish(t, sink, err);
	if (ret == TL_OK)
		ret = trace_import_report(t, sink, err);
	return ret < 0 ? ret : TL_READ_END;
}

/* ---- probes ------------------------------------------------------------------------------------ */

size_t trace_probe_start(const uint8_t *head, size_t len)
{
	size_t at = len >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;

	while (at < len && js_is_blank((char)head[at]))
		at++;
	return at;
}

/* The key of the array, or of an event's phase followed by one letter. */
bool trace_probe_has_events(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;

	if (memmem(head, len, "\"traceEvents\"", 13))
		return true;
	while ((at = memmem(at, (size_t)(end - at), "\"ph\"", 4))) {
		at += 4;
		while (at < end && (js_is_blank(*at) || *at == ':'))
			at++;
		if (end - at >= 3 && at[0] == '"' && at[2] == '"')
			return true;
	}
	return false;
}

/* ---- the importer's functions ------------------------------------------------------------------ */

int trace_import_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct trace_import *t = state;
	const char *key, *value;
	size_t length;
	int ret;

	for (;;) {
		ret = trace_walk_next(t->walk, err);
		switch (ret) {
		case TRACE_ITEM_EVENT:
			ret = on_event(t, trace_walk_event(t->walk), sink, err);
			return ret < 0 ? ret : TL_READ_MORE;
		case TRACE_ITEM_DAMAGED:
			return TL_READ_SKIPPED;
		case TRACE_ITEM_END:
			return finish(t, sink, err);
		case TRACE_ITEM_MEMBER:
			trace_walk_member(t->walk, &key, &value, &length);
			ret = trace_import_member(t, key, value, length, sink, err);
			break;
		}
		if (ret < 0)
			return ret;
	}
}

void trace_import_close(void *state)
{
	struct trace_import *t = state;

	if (!t)
		return;
	trace_walk_close(t->walk);
	trace_tracks_release(&t->tracks);
	trace_spans_release(&t->spans);
	tl_text_release(&t->name);
	tl_text_release(&t->category);
	tl_text_release(&t->scratch);
	free(t);
}

int trace_import_open(void **state, const struct trace_producer *producer, struct tl_input *in,
		      const struct tl_import_options *opt, struct tl_error *err)
{
	struct trace_import *t = tl_alloc(1, sizeof(*t), err);

	*state = t;
	if (!t)
		return TL_NOMEM;
	t->producer = producer;
	t->in = in;
	t->want = opt && opt->want ? opt->want : TL_WANT_ALL;
	t->argument_limit = opt ? opt->argument_bytes : 0;
	t->has_option_rank = opt && opt->has_rank;
	t->option_rank = opt ? opt->rank : 0;
	return trace_walk_open(&t->walk, in, err);
}
