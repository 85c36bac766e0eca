/*
 * trace_values.c - what scalars of a trace mean: times to nanoseconds, ids exactly, texts.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "trace_import.h"

#define TIME_TEXT_MAX 64u

/* ---- small questions about text -------------------------------------------------------------- */

bool trace_text_is(const struct js_scalar *s, const char *text)
{
	size_t length = strlen(text);

	return s->kind == JS_STRING && s->length == length && !strncasecmp(s->text, text, length);
}

bool trace_starts_with(const char *text, size_t length, const char *start)
{
	size_t start_length = strlen(start);

	return length >= start_length && !strncasecmp(text, start, start_length);
}

bool trace_contains(const char *text, size_t length, const char *part)
{
	return memmem(text, length, part, strlen(part)) != NULL;
}

/* ---- ids ------------------------------------------------------------------------------------- */

int trace_id_number(const char *text, size_t length, int64_t *value)
{
	bool is_negative = length && *text == '-';
	const char *digits = text + is_negative, *point = memchr(text, '.', length);
	size_t left = length - is_negative;
	uint64_t number = 0;

	if (left > 2 && digits[0] == '0' && (digits[1] | 32) == 'x') {
		if (tl_parse_u64(digits + 2, left - 2, 16, &number) != left - 2)
			return 0;
	} else {
		if (point && strspn(point + 1, "0") < (size_t)(text + length - point - 1))
			return 0;
		left = (point ? point : text + length) - digits;
		if (!left || tl_parse_u64(digits, left, 10, &number) != left)
			return 0;
	}
	if (is_negative && number > (uint64_t)INT64_MAX + 1)
		return 0;
	*value = (int64_t)(is_negative ? -number : number);
	return 1;
}

const char *trace_decoded(const struct js_scalar *s, struct tl_text *text, size_t *length)
{
	*length = s->length;
	if (!s->is_encoded)
		return s->text;
	text->length = 0;
	js_decode(s, text);
	*length = text->length;
	return text->data ? text->data : "";
}

/* An id, exactly; of a text that is no number, a hash. */
bool trace_id_of(const char *text, size_t length, uint8_t kind, int64_t *id)
{
	if ((kind != JS_NUMBER && kind != JS_STRING) || !length)
		return false;
	if (!trace_id_number(text, length, id))
		*id = (int64_t)tl_hash(text, length, 0);
	return true;
}

bool trace_number_of(const char *text, size_t length, uint8_t kind, int64_t *number)
{
	return (kind == JS_NUMBER || kind == JS_STRING) && length &&
	       trace_id_number(text, length, number);
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Microseconds with up to three decimals: what nearly all are. False: something else. */
static inline bool parse_usual_time(const char *text, size_t length, int64_t *ns)
{
	const char *p = text, *end = text + length;
	int64_t value = 0;
	int decimals = 0;

	if (!length || length > 18) /* fits, whatever the digits */
		return false;
	for (; p < end && (unsigned char)(*p - '0') < 10; p++)
		value = value * 10 + (*p - '0');
	if (p == text)
		return false;
	if (p < end && *p == '.') {
		for (p++; p < end && (unsigned char)(*p - '0') < 10 && decimals < 3; p++) {
			value = value * 10 + (*p - '0');
			decimals++;
		}
		if (!decimals)
			return false;
	}
	if (p != end)
		return false;
	for (; decimals < 3; decimals++)
		if (__builtin_mul_overflow(value, 10, &value))
			return false;
	*ns = value;
	return true;
}

/* A string may have blanks and tabs around the number, tabs also as escapes. */
static enum trace_time parse_time_text(struct trace_import *t, const struct js_scalar *s,
				       int64_t *ns)
{
	const char *p = s->text, *end = p + s->length;

	if (s->is_encoded) {
		t->scratch.length = 0;
		js_decode(s, &t->scratch);
		if (t->scratch.failed)
			return TRACE_TIME_BAD;
		p = t->scratch.data;
		end = p + t->scratch.length;
	}
	while (p < end && isspace((unsigned char)*p))
		p++;
	while (end > p && isspace((unsigned char)end[-1]))
		end--;
	if (p == end)
		return TRACE_TIME_NONE;
	if (parse_usual_time(p, (size_t)(end - p), ns))
		return TRACE_TIME_KNOWN;
	if ((size_t)(end - p) < TIME_TEXT_MAX &&
	    tl_parse_time(p, (size_t)(end - p), 1000, ns) == (size_t)(end - p))
		return TRACE_TIME_KNOWN;
	return TRACE_TIME_BAD;
}

enum trace_time trace_parse_time(struct trace_import *t, const struct js_scalar *s, int64_t *ns)
{
	switch ((enum js_kind)s->kind) {
	case JS_NONE:
		return TRACE_TIME_NONE;
	case JS_NULL:
		return s->is_odd ? TRACE_TIME_BAD : TRACE_TIME_NONE;
	case JS_NUMBER:
		if (parse_usual_time(s->text, s->length, ns))
			return TRACE_TIME_KNOWN;
		return parse_time_text(t, s, ns);
	case JS_STRING:
		return parse_time_text(t, s, ns);
	case JS_WORD:
	case JS_ARRAY:
	case JS_OBJECT:
		break;
	}
	return TRACE_TIME_BAD;
}
