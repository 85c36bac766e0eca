/*
 * perf_stream.c - walks the records of one data section, also those inside compressed records, a
 * window at a time.
 *
 * Knows where a record begins and ends, and what follows it outside its size; not what it means.
 */
#include "perf.h"

#include <stdio.h>
#include <string.h>

#define WINDOW_SIZE (1u << 20)
#define TEXT_SHOWN  60 /* characters of a text that stands where a record should be */

void perf_stream_init(struct perf_stream *s, struct tl_input *in, struct perf_section data,
		      uint64_t file_size, bool is_pipe, bool is_big_endian)
{
	memset(s, 0, sizeof(*s));
	s->in = in;
	s->offset = data.offset < file_size ? data.offset : file_size;
	s->end = file_size;
	s->declared_end = UINT64_MAX;
	if (data.size) {
		if (__builtin_add_overflow(data.offset, data.size, &s->declared_end))
			s->declared_end = UINT64_MAX - 1;
		if (s->declared_end < file_size)
			s->end = s->declared_end;
	}
	s->is_pipe = is_pipe;
	s->is_big_endian = is_big_endian;
}

void perf_stream_release(struct perf_stream *s)
{
	perf_inflater_close(s->inflater);
	memset(s, 0, sizeof(*s));
}

static uint32_t load_u32(const uint8_t *p, bool is_big_endian)
{
	struct tl_cursor c;

	tl_cursor_init(&c, p, 4, 0, is_big_endian);
	return tl_get_u32(&c);
}

/* `want` bytes at the offset, fewer at the end. The window may be left from the record before. */
static int need(struct perf_stream *s, size_t want, const uint8_t **data, size_t *len,
		struct tl_error *err)
{
	uint64_t left = s->end - s->offset, into = s->offset - s->window_offset;
	int ret;

	if (want > left)
		want = (size_t)left;
	if (!s->window || into > s->window_size || s->window_size - into < want) {
		ret = tl_input_window(s->in, s->offset,
				      left < WINDOW_SIZE ? (size_t)left : WINDOW_SIZE, &s->window,
				      &s->window_size, err);
		if (ret < 0)
			return ret;
		s->window_offset = s->offset;
		into = 0;
	}
	*len = s->window_size - (size_t)into;
	*data = *len ? s->window + into : NULL;
	return TL_OK;
}

/* Header of a record from at least eight bytes; its size. */
static size_t read_record_header(const uint8_t *p, bool is_big_endian, struct perf_raw *raw)
{
	uint32_t misc_and_size = load_u32(p + 4, is_big_endian);

	raw->type = load_u32(p, is_big_endian);
	raw->misc = (uint16_t)(is_big_endian ? misc_and_size >> 16 : misc_and_size);
	return (uint16_t)(is_big_endian ? misc_and_size : misc_and_size >> 16);
}

/* ---- where it ends badly ---- */

static bool is_text(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((p[i] < 0x20 && p[i] != '\n' && p[i] != '\r' && p[i] != '\t') || p[i] > 0x7e)
			return false;
	return len >= PERF_RECORD_HEADER_SIZE;
}

/* What perf and the shell print on the same terminal, appended to a pipe's file. */
static int trailing_text(struct perf_stream *s, const uint8_t *p, size_t len, struct tl_error *err)
{
	char text[TEXT_SHOWN + 1];

	tl_printable(text, sizeof(text), (const char *)p, len);
	tl_fail_at(err, TL_FORMAT, s->offset, "%llu bytes of text follow the last record: \"%s\"",
		   (unsigned long long)(s->end - s->offset), text);
	return PERF_NEXT_TEXT;
}

static int bad_size(struct perf_stream *s, size_t size, uint64_t offset, struct tl_error *err)
{
	tl_fail_at(err, TL_FORMAT, offset, "record size %zu is smaller than its header%s", size,
		   s->is_inflating ? ", inside a compressed record" : "");
	return PERF_NEXT_DAMAGED;
}

/* The data end at s->offset, or inside the record there. */
static int data_end(struct perf_stream *s, size_t record_size, struct tl_error *err)
{
	uint64_t left = s->end - s->offset;
	bool is_file_end = s->end < s->declared_end && s->declared_end != UINT64_MAX;
	char more[120] = "";

	if (s->inflater && perf_inflater_rest(s->inflater))
		snprintf(
			more, sizeof(more),
			"; %zu bytes of a record that began in the compressed one at byte %llu are "
			"lost with it",
			perf_inflater_rest(s->inflater), (unsigned long long)s->compressed_offset);
	if (!left && more[0] && !is_file_end) {
		tl_fail_at(err, TL_FORMAT, s->compressed_offset,
			   "the compressed records end inside a record: %zu bytes of it are there",
			   perf_inflater_rest(s->inflater));
		return PERF_NEXT_TRUNCATED;
	}
	if (!left && !is_file_end)
		return PERF_NEXT_END;
	if (!left)
		tl_fail_at(err, TL_FORMAT, s->offset,
			   "the file ends here, %llu bytes before the end of its data%s",
			   (unsigned long long)(s->declared_end - s->end), more);
	else if (record_size)
		tl_fail_at(err, TL_FORMAT, s->offset,
			   "the %s inside a record: %llu of its %zu bytes are there%s",
			   s->end == s->declared_end ? "data end" : "file ends",
			   (unsigned long long)left, record_size, more);
	else
		tl_fail_at(err, TL_FORMAT, s->offset,
			   "the %s inside the header of a record: %llu of 8 bytes are there%s",
			   s->end == s->declared_end ? "data end" : "file ends",
			   (unsigned long long)left, more);
	return PERF_NEXT_TRUNCATED;
}

/* ---- compressed records ---- */

/* PERF_NEXT_RECORD, PERF_NEXT_END: all of what was fed is taken, or as perf_stream_next. */
static int next_inflated(struct perf_stream *s, struct perf_raw *raw, struct tl_error *err)
{
	const uint8_t *p = NULL;
	int64_t len = perf_inflater_peek(s->inflater, PERF_RECORD_HEADER_SIZE, &p, err);
	size_t size = 0;

	if (len > 0) {
		size = read_record_header(p, s->is_big_endian, raw);
		if (size < PERF_RECORD_HEADER_SIZE)
			return bad_size(s, size, s->compressed_offset, err);
		if ((size_t)len < size)
			len = perf_inflater_peek(s->inflater, size, &p, err);
	}
	if (len < 0) {
		if (err) {
			err->position_kind = TL_POSITION_BYTE;
			err->position = s->compressed_offset;
		}
		return len == TL_NOMEM ? TL_NOMEM : PERF_NEXT_DAMAGED;
	}
	if (!len) {
		s->is_inflating = false;
		return PERF_NEXT_END;
	}
	raw->body = p + PERF_RECORD_HEADER_SIZE;
	raw->body_size = size - PERF_RECORD_HEADER_SIZE;
	raw->offset = s->compressed_offset;
	raw->is_inflated = true;
	perf_inflater_skip(s->inflater, size);
	return PERF_NEXT_RECORD;
}

static int start_inflating(struct perf_stream *s, const struct perf_raw *raw, struct tl_error *err)
{
	const uint8_t *data = raw->body;
	size_t len = raw->body_size;

	if (raw->type == PERF_RECORD_COMPRESSED2) { /* u64 size, data, padding */
		uint64_t size = len >= 8 ? perf_load_u64(data, s->is_big_endian) : UINT64_MAX;

		if (size > len - 8) {
			tl_fail_at(err, TL_FORMAT, raw->offset,
				   "COMPRESSED2 record of %zu bytes claims to hold %llu", len,
				   (unsigned long long)size);
			return PERF_NEXT_DAMAGED;
		}
		data += 8;
		len = (size_t)size;
	}
	if (!s->inflater) {
		int ret = perf_inflater_open(&s->inflater, err);

		if (ret < 0)
			return ret;
	}
	perf_inflater_feed(s->inflater, data, len);
	s->compressed_offset = raw->offset;
	s->is_inflating = true;
	return TL_OK;
}

/* ---- plain records ---- */

/* Bytes behind a record that belong to it, but are not in its size. */
static void find_payload(const struct perf_stream *s, size_t record_size, struct perf_raw *raw)
{
	uint64_t size = 0;

	if (raw->type == PERF_RECORD_AUXTRACE && raw->body_size >= 8) {
		size = perf_load_u64(raw->body, s->is_big_endian);
	} else if (raw->type == PERF_RECORD_HEADER_TRACING_DATA && s->is_pipe &&
		   raw->body_size >= 4) {
		size = load_u32(raw->body, s->is_big_endian);
		size = (size + 7) & ~(uint64_t)7;
	}
	raw->payload_offset = raw->offset + record_size;
	raw->payload_size = size;
}

static int next_plain(struct perf_stream *s, struct perf_raw *raw, struct tl_error *err)
{
	const uint8_t *p;
	size_t len, size;
	int ret = need(s, PERF_RECORD_HEADER_SIZE, &p, &len, err);

	if (ret < 0)
		return ret;
	if (len < PERF_RECORD_HEADER_SIZE)
		return data_end(s, 0, err);
	size = read_record_header(p, s->is_big_endian, raw);
	if (raw->type > UINT16_MAX && is_text(p, len < TEXT_SHOWN ? len : TEXT_SHOWN))
		return trailing_text(s, p, len, err);
	if (size < PERF_RECORD_HEADER_SIZE)
		return bad_size(s, size, s->offset, err);
	if (len < size) {
		ret = need(s, size, &p, &len, err);
		if (ret < 0)
			return ret;
		if (len < size)
			return data_end(s, size, err);
	}
	raw->body = p + PERF_RECORD_HEADER_SIZE;
	raw->body_size = size - PERF_RECORD_HEADER_SIZE;
	raw->offset = s->offset;
	raw->is_inflated = false;
	find_payload(s, size, raw);
	if (raw->payload_size > s->end - s->offset - size) {
		uint64_t there = s->end - s->offset - size;

		tl_fail_at(err, TL_FORMAT, s->offset,
			   "the file ends inside the %llu bytes behind this record: %llu are there",
			   (unsigned long long)raw->payload_size, (unsigned long long)there);
		return PERF_NEXT_TRUNCATED;
	}
	s->offset += size + raw->payload_size;
	return PERF_NEXT_RECORD;
}

int perf_stream_next(struct perf_stream *s, struct perf_raw *raw, struct tl_error *err)
{
	raw->is_big_endian = s->is_big_endian;
	raw->payload_size = 0;
	for (;;) {
		int ret;

		if (s->is_inflating) {
			ret = next_inflated(s, raw, err);
			if (ret != PERF_NEXT_END)
				return ret;
		}
		ret = next_plain(s, raw, err);
		if (ret != PERF_NEXT_RECORD)
			return ret;
		if (raw->type != PERF_RECORD_COMPRESSED && raw->type != PERF_RECORD_COMPRESSED2)
			return ret;
		ret = start_inflating(s, raw, err);
		if (ret != TL_OK)
			return ret;
	}
}
