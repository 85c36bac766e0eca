/*
 * trace_counters.c - counter events: each number among the arguments is a series of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "trace_import.h"

/* "Read(MB/s)": what is in the brackets; else a name that is a unit. */
static const char *unit_of(const char *key, size_t length, char *unit, size_t size)
{
	static const char *const names[] = {
		"MHz", "KB", "MB", "GB", "bytes", "%", "W", "us", "ms"
	};
	const char *bracket = memrchr(key, '(', length);

	if (bracket && length && key[length - 1] == ')') {
		size_t inner = (size_t)(key + length - 1 - bracket - 1);

		if (inner && inner < size) {
			memcpy(unit, bracket + 1, inner);
			unit[inner] = '\0';
			return unit;
		}
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && !memcmp(names[i], key, length))
			return names[i];
	return NULL;
}

/* "acc_id": tells counters apart, is none. */
static bool is_label(const char *key, size_t length)
{
	return length > 3 && !memcmp(key + length - 3, "_id", 3);
}

static bool real_of(const char *text, size_t length, uint8_t kind, double *value)
{
	char copy[64], *end;

	if ((kind != JS_NUMBER && kind != JS_STRING) || !length || length >= sizeof(copy))
		return false;
	if (!js_is_number(text, length))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	*value = strtod(copy, &end);
	return *end == '\0';
}

static size_t count_series(const struct trace_event *ev)
{
	size_t count = 0;
	double value;

	for (size_t i = 0; i < ev->members->count; i++) {
		const struct js_member *m = &ev->members->items[i];

		count += !is_label(ev->arguments + m->key, m->key_length) &&
			 real_of(ev->arguments + m->value, m->value_length, m->kind, &value);
	}
	return count;
}

/* The event's name, its id, its labels, and which of several series it is. */
static void name_counter(struct trace_import *t, const struct trace_event *ev,
			 const struct js_member *series, struct tl_text *out)
{
	size_t length;
	const char *name = trace_name_of(t, ev, &length);

	out->length = 0;
	tl_text_add(out, name, length);
	if (ev->id.length) {
		tl_text_puts(out, " [");
		tl_text_add(out, ev->id.text, ev->id.length);
		tl_text_puts(out, "]");
	}
	for (size_t i = 0; i < ev->members->count; i++) {
		const struct js_member *m = &ev->members->items[i];

		if (m != series && !is_label(ev->arguments + m->key, m->key_length))
			continue;
		tl_text_puts(out, " ");
		tl_text_add(out, ev->arguments + m->key, m->key_length);
		if (m == series)
			continue;
		tl_text_puts(out, "=");
		tl_text_add(out, ev->arguments + m->value, m->value_length);
	}
}

static int emit_counters(struct trace_import *t, const struct trace_event *from, uint32_t track,
			 int64_t ts, size_t series_count, struct tl_sink *sink,
			 struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_COUNTER, .has_ts = true, .ts = ts };
	char unit[32];
	int ret = TL_OK;

	for (size_t i = 0; i < from->members->count && ret == TL_OK; i++) {
		const struct js_member *m = &from->members->items[i];
		const char *key = from->arguments + m->key;

		if (is_label(key, m->key_length) ||
		    !real_of(from->arguments + m->value, m->value_length, m->kind,
			     &ev.counter.value))
			continue;
		name_counter(t, from, series_count > 1 ? m : NULL, &t->scratch);
		if (t->scratch.failed)
			return tl_fail(err, TL_NOMEM, "out of memory");
		ev.counter.track = track;
		ev.counter.name = t->scratch.data;
		ev.counter.name_length = t->scratch.length;
		ev.counter.unit = unit_of(key, m->key_length, unit, sizeof(unit));
		ret = sink->emit(sink, &ev, err);
	}
	return ret;
}

int trace_import_counter(struct trace_import *t, const struct trace_event *ev, struct tl_sink *sink,
			 struct tl_error *err)
{
	struct trace_row row;
	size_t series_count = ev->arguments ? count_series(ev) : 0;
	uint32_t track;
	bool has_ts;
	int64_t ts;
	int ret = trace_event_time(t, ev, &has_ts, &ts, sink, err);

	if (ret <= 0)
		return ret;
	if (!series_count || !has_ts) {
		trace_note(t, TRACE_NOTE_NO_VALUE, ev);
		return TL_OK;
	}
	if (!(t->want & TL_WANT_SLICES))
		return TL_OK;
	trace_describe(t, ev, "", 0, &row);
	row.domain = TRACE_COUNTERS;
	ret = trace_tracks_find(t, ev, &row, sink, &track, err);
	return ret < 0 ? ret : emit_counters(t, ev, track, ts, series_count, sink, err);
}
