/*
 * perf_made.h - for tests: recordings put together byte by byte, and the events that they become as
 * text. Knows the layout of the format from its documentation, nothing of the code under test.
 */
#ifndef PERF_MADE_H
#define PERF_MADE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "perf.h"

struct made {
	uint8_t *bytes;
	size_t size, capacity;
	bool is_big_endian;
};

static inline void made_bytes(struct made *m, const void *data, size_t len)
{
	assert_int_equal(tl_grow(&m->bytes, &m->capacity, m->size + len + 1, NULL), TL_OK);
	if (len)
		memcpy(m->bytes + m->size, data, len);
	m->size += len;
}

static inline void made_number(struct made *m, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[m->is_big_endian ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
	made_bytes(m, bytes, size);
}

static inline void made_u16(struct made *m, unsigned value)
{
	made_number(m, value, 2);
}

static inline void made_u32(struct made *m, uint32_t value)
{
	made_number(m, value, 4);
}

static inline void made_u64(struct made *m, uint64_t value)
{
	made_number(m, value, 8);
}

/* Text in a field of `size` bytes. */
static inline void made_text(struct made *m, const char *text, size_t size)
{
	char field[256] = "";

	assert_true(size <= sizeof(field) && strlen(text) <= size);
	memcpy(field, text, strlen(text));
	made_bytes(m, field, size);
}

static inline void made_zeros(struct made *m, size_t size)
{
	for (size_t i = 0; i < size; i++)
		made_bytes(m, "", 1);
}

/* A record of what is in `body`. */
static inline void made_record(struct made *m, uint32_t type, unsigned misc,
			       const struct made *body)
{
	made_u32(m, type);
	made_u16(m, misc);
	made_u16(m, (unsigned)(8 + body->size));
	made_bytes(m, body->bytes, body->size);
}

static inline void made_release(struct made *m)
{
	free(m->bytes);
	memset(m, 0, sizeof(*m));
}

/* perf_event_attr of PERF_ATTR_SIZE_VER5, 112 bytes. */
static inline void made_attr(struct made *m, const struct perf_attr *attr)
{
	uint64_t flags = attr->flags;

	if (m->is_big_endian) { /* the first bit of the field is the most significant one */
		flags = 0;
		for (int i = 0; i < 64; i++)
			flags |= (attr->flags >> i & 1) << (63 - i);
	}
	made_u32(m, attr->type);
	made_u32(m, 112);
	made_u64(m, attr->config);
	made_u64(m, attr->sample_period);
	made_u64(m, attr->sample_type);
	made_u64(m, attr->read_format);
	made_u64(m, flags);
	made_u32(m, 0);
	made_u32(m, attr->breakpoint_type);
	made_u64(m, attr->config1);
	made_u64(m, attr->config2);
	made_u64(m, attr->branch_sample_type);
	made_u64(m, attr->sample_regs_user);
	made_u32(m, attr->sample_stack_user);
	made_u32(m, (uint32_t)attr->clockid);
	made_u64(m, attr->sample_regs_intr);
	made_u64(m, 0);
}

struct made_feature {
	unsigned bit;
	struct made content;
};

/* A file: header, ids (10, 11, ... for the first event, 20, ... for the second), attrs, data. */
static inline void made_file(struct made *m, const struct perf_attr *attrs, size_t attr_count,
			     const struct made *data, const struct made_feature *features,
			     size_t feature_count)
{
	const size_t id_count = 2, attr_size = 112 + 16;
	size_t ids_at = 104, attrs_at = ids_at + attr_count * id_count * 8;
	size_t data_at = attrs_at + attr_count * attr_size, at;
	uint64_t bits[4] = { 0 };

	for (size_t i = 0; i < feature_count; i++)
		bits[features[i].bit / 64] |= 1ull << features[i].bit % 64;
	made_bytes(m, m->is_big_endian ? "2ELIFREP" : "PERFILE2", 8);
	made_u64(m, 104);
	made_u64(m, attr_size);
	made_u64(m, attrs_at);
	made_u64(m, attr_count * attr_size);
	made_u64(m, data_at);
	made_u64(m, data->size);
	made_u64(m, 0);
	made_u64(m, 0);
	for (int i = 0; i < 4; i++)
		made_u64(m, bits[i]);
	for (size_t i = 0; i < attr_count * id_count; i++)
		made_u64(m, 10 * (1 + i / id_count) + i % id_count);
	for (size_t i = 0; i < attr_count; i++) {
		made_attr(m, &attrs[i]);
		made_u64(m, ids_at + i * id_count * 8);
		made_u64(m, id_count * 8);
	}
	made_bytes(m, data->bytes, data->size);
	at = m->size + feature_count * 16;
	for (size_t i = 0; i < feature_count; i++) {
		made_u64(m, at);
		made_u64(m, features[i].content.size);
		at += features[i].content.size;
	}
	for (size_t i = 0; i < feature_count; i++)
		made_bytes(m, features[i].content.bytes, features[i].content.size);
}

static inline void made_pipe(struct made *m)
{
	made_bytes(m, m->is_big_endian ? "2ELIFREP" : "PERFILE2", 8);
	made_u64(m, 16);
}

/* ---- what it becomes ---- */

struct made_sink {
	struct tl_sink sink;
	FILE *out;
};

static inline int made_emit(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	FILE *out = ((struct made_sink *)sink)->out;

	(void)err;
	tl_event_print(out, ev);
	fputc('\n', out);
	return TL_OK;
}

/* All events as lines, or "error: ..." as last line. To be freed. */
static inline char *made_events_of(const uint8_t *bytes, size_t size, unsigned want)
{
	struct tl_import_options opt = { .want = want };
	struct made_sink sink = { .sink.emit = made_emit };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;
	char *text = NULL, message[1024];
	size_t len = 0;

	sink.out = open_memstream(&text, &len);
	assert_non_null(sink.out);
	assert_int_equal(tl_input_open_memory(&in, "made", bytes, size, &err), TL_OK);
	if (tl_import(&perf_importer, in, &opt, &sink.sink, &result, &err) < 0)
		fprintf(sink.out, "error: %s\n", tl_error_format(&err, message, sizeof(message)));
	tl_input_close(in);
	fclose(sink.out);
	return text;
}

static inline char *made_events(const struct made *m)
{
	return made_events_of(m->bytes, m->size, TL_WANT_ALL);
}

/* `line` is one of the lines of `events`, or, when it ends in "...", the beginning of one. */
static inline bool made_has_line(const char *events, const char *line)
{
	size_t len = strlen(line);
	bool is_begin = len > 3 && !strcmp(line + len - 3, "...");

	if (is_begin)
		len -= 3;
	for (const char *p = events; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (!strncmp(p, line, len) && (is_begin || p[len] == '\n'))
			return true;
	return false;
}

static inline void made_expect(const char *events, const char *line)
{
	if (!made_has_line(events, line))
		fail_msg("no line\n  %s\nin\n%s", line, events);
}

static inline void made_refuse(const char *events, const char *line)
{
	if (made_has_line(events, line))
		fail_msg("line\n  %s\nin\n%s", line, events);
}

static inline size_t made_count(const char *events, const char *begin)
{
	size_t count = 0;

	for (const char *p = events; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		count += !strncmp(p, begin, strlen(begin));
	return count;
}

#endif
