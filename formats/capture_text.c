/*
 * capture_text.c - lines and words of the text files of a recorded folder. Knows none of them.
 */
#include "capture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct capture_span capture_word(struct capture_span *line)
{
	struct capture_span word;

	while (line->length && (*line->text == ' ' || *line->text == '\t')) {
		line->text++;
		line->length--;
	}
	word.text = line->text;
	word.length = 0;
	while (line->length && *line->text != ' ' && *line->text != '\t') {
		word.length++;
		line->text++;
		line->length--;
	}
	return word;
}

bool capture_is(struct capture_span span, const char *text)
{
	return strlen(text) == span.length && !memcmp(span.text, text, span.length);
}

bool capture_starts(struct capture_span span, const char *text)
{
	size_t length = strlen(text);

	return length <= span.length && !memcmp(span.text, text, length);
}

bool capture_integer(struct capture_span span, int64_t *value)
{
	bool is_negative = span.length && *span.text == '-';
	uint64_t magnitude;

	if (is_negative) {
		span.text++;
		span.length--;
	}
	if (!span.length || tl_parse_u64(span.text, span.length, 10, &magnitude) != span.length ||
	    magnitude > INT64_MAX)
		return false;
	*value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

bool capture_number(struct capture_span span, double *value)
{
	char text[64], *end;

	if (!span.length || span.length >= sizeof(text))
		return false;
	memcpy(text, span.text, span.length);
	text[span.length] = '\0';
	/* strtod takes more than numbers: words for infinity, and bases */
	if (strspn(text, "+-.0123456789eE") < span.length)
		return false;
	*value = strtod(text, &end);
	return *end == '\0' && isfinite(*value);
}

int capture_emit_note(struct tl_sink *sink, enum tl_diagnostic_kind kind, const char *what,
		      uint64_t line, const char *message, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic.kind = kind;
	ev.diagnostic.what = what;
	ev.diagnostic.count = 1;
	ev.diagnostic.unit = line ? "lines" : "items";
	if (line) {
		ev.diagnostic.position_kind = TL_POSITION_LINE;
		ev.diagnostic.position = line;
	}
	ev.diagnostic.message = message;
	return sink->emit(sink, &ev, err);
}

int capture_line(struct tl_input *in, struct tl_line *line, struct tl_sink *sink,
		 struct tl_error *err)
{
	bool was_partial = false;

	for (;;) {
		bool is_rest = was_partial;
		int ret = tl_input_line(in, line, err);

		if (ret <= 0)
			return ret;
		was_partial = line->is_partial;
		if (is_rest)
			continue;
		if (line->is_partial)
			ret = capture_emit_note(sink, TL_DIAGNOSTIC_DAMAGED, "line too long",
						line->number, NULL, err);
		else if (!line->has_newline)
			ret = capture_emit_note(sink, TL_DIAGNOSTIC_TRUNCATED,
						"the last line has no end", line->number, NULL,
						err);
		else
			return 1;
		if (ret < 0)
			return ret;
	}
}

int capture_emit_realtime(struct tl_sink *sink, const char *why, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	ev.clock.name = "realtime";
	ev.clock.method = TL_CLOCK_EXACT;
	ev.clock.residual_ns = 0;
	ev.clock.why = why;
	return sink->emit(sink, &ev, err);
}
