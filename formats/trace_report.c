/*
 * trace_report.c - what a trace says of itself besides its events, and what there is to tell of it
 * at the end: rank, counts, damage.
 */
#include <string.h>

#include "trace_import.h"

#define META_VALUE_MAX 65536u

/* ---- the object around ------------------------------------------------------------------------ */

static int emit_meta(struct tl_sink *sink, const char *key, const char *value, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META, .meta = { key, value } };

	return sink->emit(sink, &ev, err);
}

static void read_distribution(struct trace_import *t, const char *value, size_t length)
{
	int64_t number;

	if (!t->has_rank && trace_json_integer(value, length, "rank", &number) && number >= 0) {
		t->has_rank = true;
		t->rank = number;
		t->rank_from = "the file";
	}
	if (!t->has_world_size && trace_json_integer(value, length, "world_size", &number) &&
	    number > 0) {
		t->has_world_size = true;
		t->world_size = number;
	}
}

int trace_import_member(struct trace_import *t, const char *key, const char *value, size_t length,
			struct tl_sink *sink, struct tl_error *err)
{
	bool is_string = *value == '"';
	struct js_scalar string = { .text = value + 1, .length = (uint32_t)length - 2 };
	int64_t number;

	if (!strcmp(key, "distributedInfo") || !strcmp(key, "metadata"))
		read_distribution(t, value, length);
	if (!strcmp(key, "baseTimeNanoseconds") &&
	    trace_number_of(value + is_string, length - 2 * is_string, JS_NUMBER, &number)) {
		t->clock.has_base = true;
		t->clock.base_ns = number;
	}
	if (!strcmp(key, "host_name"))
		key = "hostname";
	if (!*key || !strcmp(key, "rank") || !strcmp(key, "world_size") || length > META_VALUE_MAX)
		return TL_OK;
	if (!is_string)
		return emit_meta(sink, key, value, err);
	t->scratch.length = 0;
	js_decode(&string, &t->scratch);
	tl_text_add(&t->scratch, "", 0);
	if (t->scratch.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	return emit_meta(sink, key, t->scratch.data, err);
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* "rank-34.", "rank0_", "worker7_": the number behind the word in the file's own name. */
static bool rank_of_name(const char *path, int64_t *rank)
{
	static const char *const words[] = { "rank", "worker" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *at = strcasestr(name, words[i]);
		uint64_t number;
		size_t digits;

		if (!at)
			continue;
		at += strlen(words[i]);
		at += *at == '-' || *at == '_' || *at == '.';
		digits = strspn(at, "0123456789");
		if (digits && digits < 8 && tl_parse_u64(at, digits, 10, &number) == digits) {
			*rank = (int64_t)number;
			return true;
		}
	}
	return false;
}

static int emit_number(struct tl_sink *sink, const char *key, int64_t value, struct tl_error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return emit_meta(sink, key, text, err);
}

static int emit_rank(struct trace_import *t, struct tl_sink *sink, struct tl_error *err)
{
	int ret = TL_OK;

	if (!t->has_rank && t->has_option_rank) {
		t->has_rank = true;
		t->rank = t->option_rank;
		t->rank_from = "the user";
	}
	if (!t->has_rank && rank_of_name(tl_input_name(t->in), &t->rank)) {
		t->has_rank = true;
		t->rank_from = "the file name";
	}
	if (t->has_rank) {
		ret = emit_number(sink, "rank", t->rank, err);
		if (ret == TL_OK)
			ret = emit_meta(sink, "rank_from", t->rank_from, err);
	}
	if (ret == TL_OK && t->has_world_size)
		ret = emit_number(sink, "world_size", t->world_size, err);
	return ret;
}

/* How many events there were of each kind: {"M":42,"X":74937} */
static int emit_phases(struct trace_import *t, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_text *text = &t->scratch;

	text->length = 0;
	tl_text_puts(text, "{");
	for (int phase = 0; phase < 128; phase++) {
		char name = (char)phase;

		if (!t->phases[phase])
			continue;
		if (text->length > 1)
			tl_text_puts(text, ",");
		tl_text_json(text, &name, 1);
		tl_text_puts(text, ":");
		tl_text_u64(text, t->phases[phase]);
	}
	tl_text_puts(text, "}");
	if (text->failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	return emit_meta(sink, "events_by_phase", text->data, err);
}

struct words {
	enum tl_diagnostic_kind kind;
	const char *what, *unit;
};

static const struct words finding_words[TRACE_WALK_FINDINGS] = {
	[TRACE_ODD_JSON + JS_ODD_CONTROL] = { TL_DIAGNOSTIC_DAMAGED,
					      "raw control character in a string: taken literally",
					      "events" },
	[TRACE_ODD_JSON + JS_ODD_ESCAPE] = { TL_DIAGNOSTIC_DAMAGED,
					     "unknown escape in a string: taken literally",
					     "events" },
	[TRACE_ODD_JSON + JS_ODD_UTF8] = { TL_DIAGNOSTIC_DAMAGED,
					   "bytes that are no UTF-8: replaced", "events" },
	[TRACE_ODD_JSON + JS_ODD_QUOTE] = { TL_DIAGNOSTIC_DAMAGED,
					    "quote inside a string: taken literally", "events" },
	[TRACE_ODD_JSON +
		JS_ODD_NAN] = { TL_DIAGNOSTIC_DAMAGED, "NaN or Infinity: taken as null", "events" },
	[TRACE_ODD_JSON + JS_ODD_WORD] = { TL_DIAGNOSTIC_DAMAGED,
					   "value that is no JSON: taken as null", "events" },
	[TRACE_ODD_JSON + JS_ODD_COMMA] = { TL_DIAGNOSTIC_DAMAGED, "comma too many, or one missing",
					    "places" },
	[TRACE_ODD_JSON + JS_ODD_DUPLICATE] = { TL_DIAGNOSTIC_DAMAGED,
						"key that comes twice: the last one counts",
						"events" },
	[TRACE_ODD_JSON + JS_ODD_DEEP] = { TL_DIAGNOSTIC_SKIPPED,
					   "value nested more than 256 deep: taken as null",
					   "events" },
	[TRACE_NO_EVENT] = { TL_DIAGNOSTIC_DAMAGED, "element that is no event", "elements" },
	[TRACE_NESTED_ARRAY] = { TL_DIAGNOSTIC_DAMAGED,
				 "array inside the array of events: read as part of it", "arrays" },
	[TRACE_SEPARATE] = { TL_DIAGNOSTIC_NOTE, "events one after the other, not in an array",
			     "documents" },
	[TRACE_DOCUMENT] = { TL_DIAGNOSTIC_DAMAGED,
			     "another document behind the first: not read, split the file",
			     "documents" },
	[TRACE_GARBAGE] = { TL_DIAGNOSTIC_DAMAGED, "bytes behind the end of the document",
			    "places" },
	[TRACE_TOP_DAMAGE] = { TL_DIAGNOSTIC_DAMAGED, "member beside the events that is no JSON",
			       "members" },
	[TRACE_TOP_LARGE] = { TL_DIAGNOSTIC_SKIPPED,
			      "member beside the events of more than 256 KiB", "members" },
	[TRACE_CUT] = { TL_DIAGNOSTIC_TRUNCATED, "file ends before the array of events does",
			"files" },
	[TRACE_CUT_EVENT] = { TL_DIAGNOSTIC_TRUNCATED, "last event, cut in the middle", "events" },
	[TRACE_EVENT_MEMBER] = { TL_DIAGNOSTIC_SKIPPED, "member of an event that is not known",
				 "events" },
};

static const struct words note_words[TRACE_NOTES] = {
	[TRACE_NOTE_NO_PHASE] = { TL_DIAGNOSTIC_DAMAGED, "event without a phase", "events" },
	[TRACE_NOTE_PHASE] = { TL_DIAGNOSTIC_UNSUPPORTED, "event of a phase that has no place here",
			       "events" },
	[TRACE_NOTE_BAD_TIME] = { TL_DIAGNOSTIC_DAMAGED, "event whose time is no number",
				  "events" },
	[TRACE_NOTE_NO_TIME] = { TL_DIAGNOSTIC_DAMAGED, "event without a time", "events" },
	[TRACE_NOTE_ZERO_TIME] = { TL_DIAGNOSTIC_NOTE,
				   "event at time 0: its time is taken as unknown", "events" },
	[TRACE_NOTE_NO_DURATION] = { TL_DIAGNOSTIC_NOTE, "slice without a duration", "events" },
	[TRACE_NOTE_BAD_DURATION] = { TL_DIAGNOSTIC_DAMAGED, "slice whose duration is no number",
				      "events" },
	[TRACE_NOTE_NEGATIVE] = { TL_DIAGNOSTIC_NOTE,
				  "slice with a negative duration: taken as unknown", "events" },
	[TRACE_NOTE_LONG] = { TL_DIAGNOSTIC_NOTE,
			      "slice of more than a day: left out of statistics", "events" },
	[TRACE_NOTE_UNCLOSED] = { TL_DIAGNOSTIC_NOTE, "slice that was begun and not ended",
				  "slices" },
	[TRACE_NOTE_LONE_END] = { TL_DIAGNOSTIC_NOTE, "end of a slice that was not begun",
				  "events" },
	[TRACE_NOTE_CROSSED] = { TL_DIAGNOSTIC_NOTE,
				 "end of a slice while an inner one was still open", "events" },
	[TRACE_NOTE_MANY_OPEN] = { TL_DIAGNOSTIC_DAMAGED,
				   "slice begun while too many were open: without an end",
				   "events" },
	[TRACE_NOTE_NO_VALUE] = { TL_DIAGNOSTIC_DAMAGED, "counter without a number or a time",
				  "events" },
	[TRACE_NOTE_NO_ID] = { TL_DIAGNOSTIC_DAMAGED, "arrow without an id", "events" },
	[TRACE_NOTE_ARGUMENTS] = { TL_DIAGNOSTIC_SKIPPED, "arguments longer than asked for",
				   "events" },
	[TRACE_NOTE_MANY_TRACKS] = { TL_DIAGNOSTIC_DAMAGED,
				     "event on a track beyond 65536: put on the last one",
				     "events" },
};

static int emit_counts(const struct words *words, const struct trace_count *counts, size_t count,
		       struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };
	int ret = TL_OK;

	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		if (!counts[i].count)
			continue;
		ev.diagnostic = (struct tl_event_diagnostic) { .kind = words[i].kind,
							       .what = words[i].what,
							       .count = counts[i].count,
							       .unit = words[i].unit,
							       .position_kind = TL_POSITION_BYTE,
							       .position = counts[i].first };
		ret = sink->emit(sink, &ev, err);
	}
	return ret;
}

int trace_import_report(struct trace_import *t, struct tl_sink *sink, struct tl_error *err)
{
	int ret = emit_rank(t, sink, err);

	if (ret == TL_OK)
		ret = emit_phases(t, sink, err);
	if (ret == TL_OK)
		ret = emit_counts(finding_words, trace_walk_findings(t->walk), TRACE_WALK_FINDINGS,
				  sink, err);
	if (ret == TL_OK)
		ret = emit_counts(note_words, t->notes, TRACE_NOTES, sink, err);
	return ret;
}
