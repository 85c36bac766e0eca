/*
 * error.c - the error object: the first failure stays, its words are safe for a terminal.
 */
#include "analysis.h"

#include <stdarg.h>
#include <string.h>

/* Rejects overlong forms and surrogates. */
size_t tl_utf8_length(const char *bytes, size_t len)
{
	const unsigned char *text = (const unsigned char *)bytes;
	unsigned char c = text[0];
	size_t need = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (!need || need > len)
		return 0;
	for (size_t i = 1; i < need; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] > 0x9f) ||
	    (c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] > 0x8f))
		return 0;
	return need;
}

size_t tl_printable(char *out, size_t out_size, const char *text, size_t len)
{
	const unsigned char *in = (const unsigned char *)text;
	size_t used = 0, at = 0;

	if (!out_size)
		return 0;
	while (at < len) {
		size_t n = tl_utf8_length(text + at, len - at);
		/* C0 controls, DEL, and the C1 controls that terminals obey even in UTF-8 */
		bool is_control = (n == 1 && (in[at] < 0x20 || in[at] == 0x7f)) ||
				  (n == 2 && in[at] == 0xc2 && in[at + 1] < 0xa0);
		size_t want = n && !is_control ? n : 1;

		if (used + want >= out_size)
			break;
		if (n && !is_control)
			memcpy(out + used, in + at, n);
		else
			out[used] = '?';
		used += want;
		at += n ? n : 1;
	}
	out[used] = '\0';
	return used;
}

TL_PRINTF(5, 0)
static int fail(struct tl_error *err, int status, enum tl_position kind, uint64_t position,
		const char *fmt, va_list args)
{
	char text[sizeof(err->text)];
	int len;

	if (!err || err->status != TL_OK)
		return status;
	len = vsnprintf(text, sizeof(text), fmt, args);
	if (len < 0)
		len = 0;
	if ((size_t)len >= sizeof(text))
		len = sizeof(text) - 1;
	err->status = status;
	err->position_kind = kind;
	err->position = position;
	tl_printable(err->text, sizeof(err->text), text, (size_t)len);
	return status;
}

int tl_fail(struct tl_error *err, int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail(err, status, TL_POSITION_NONE, 0, fmt, args);
	va_end(args);
	return status;
}

int tl_fail_at(struct tl_error *err, int status, uint64_t byte, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail(err, status, TL_POSITION_BYTE, byte, fmt, args);
	va_end(args);
	return status;
}

int tl_fail_line(struct tl_error *err, int status, uint64_t line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail(err, status, TL_POSITION_LINE, line, fmt, args);
	va_end(args);
	return status;
}

void tl_error_source(struct tl_error *err, const char *source)
{
	if (err && !err->source[0] && source)
		tl_printable(err->source, sizeof(err->source), source, strlen(source));
}

void tl_error_clear(struct tl_error *err)
{
	if (!err)
		return;
	err->status = TL_OK;
	err->position_kind = TL_POSITION_NONE;
	err->position = 0;
	err->source[0] = '\0';
	err->text[0] = '\0';
}

char *tl_error_format(const struct tl_error *err, char *buf, size_t size)
{
	const char *colon = err->source[0] ? ": " : "";

	switch (err->position_kind) {
	case TL_POSITION_NONE:
		snprintf(buf, size, "%s%s%s", err->source, colon, err->text);
		break;
	case TL_POSITION_BYTE:
		snprintf(buf, size, "%s%sbyte %llu: %s", err->source, colon,
			 (unsigned long long)err->position, err->text);
		break;
	case TL_POSITION_LINE:
		snprintf(buf, size, "%s%sline %llu: %s", err->source, colon,
			 (unsigned long long)err->position, err->text);
		break;
	}
	return buf;
}
