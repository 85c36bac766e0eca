/*
 * perf_payload.c - runs a format's program over one payload, and numbers distinct payloads.
 *
 * The payload is hostile, the program is ours: every dynamic part is checked against the payload,
 * the fixed ones once by minimum_size. Must not know libtraceevent.
 */
#include "perf_payload.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define DICTIONARY_ENTRIES (64u << 10)
#define DICTIONARY_BYTES   (16u << 20)

/* Fields may overlap: a hostile format must not make a thousand bytes of one. */
#define JSON_LENGTH_MAX(payload) ((64u << 10) + 8 * (payload))

void perf_program_release(struct perf_program *program)
{
	for (size_t i = 0; i < program->field_count; i++)
		free(program->fields[i].key);
	for (size_t i = 0; i < program->shown_count; i++)
		free(program->shown[i].key);
	free(program->fields);
	free(program->shown);
	perf_print_format_free(program->print_format);
	memset(program, 0, sizeof(*program));
}

uint64_t perf_load(const uint8_t *data, uint32_t size, bool is_signed, bool is_big_endian)
{
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)*data : *data;
	case 2:
		memcpy(&u16, data, 2);
		u16 = is_big_endian ? be16toh(u16) : le16toh(u16);
		return is_signed ? (uint64_t)(int16_t)u16 : u16;
	case 4:
		memcpy(&u32, data, 4);
		u32 = is_big_endian ? be32toh(u32) : le32toh(u32);
		return is_signed ? (uint64_t)(int32_t)u32 : u32;
	case 8:
		memcpy(&u64, data, 8);
		return is_big_endian ? be64toh(u64) : le64toh(u64);
	}
	return 0;
}

static void add_hex(struct tl_text *out, const uint8_t *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char buf[128];

	tl_text_add(out, "\"", 1);
	while (len) {
		size_t n = len < sizeof(buf) / 2 ? len : sizeof(buf) / 2;

		for (size_t i = 0; i < n; i++) {
			buf[2 * i] = digits[data[i] >> 4];
			buf[2 * i + 1] = digits[data[i] & 15];
		}
		tl_text_add(out, buf, 2 * n);
		data += n;
		len -= n;
	}
	tl_text_add(out, "\"", 1);
}

void perf_payload_raw(const uint8_t *raw, size_t len, struct tl_text *out)
{
	out->length = 0;
	tl_text_puts(out, "{\"raw\":");
	add_hex(out, raw, len);
	tl_text_add(out, "}", 1);
}

static void add_number(struct tl_text *out, uint64_t value, bool is_signed)
{
	if (is_signed)
		tl_text_i64(out, (int64_t)value);
	else
		tl_text_u64(out, value);
}

static void add_text(struct tl_text *out, const uint8_t *data, size_t len)
{
	const uint8_t *end = len ? memchr(data, 0, len) : NULL;

	tl_text_json(out, (const char *)data, end ? (size_t)(end - data) : len);
}

static void add_array(struct tl_text *out, const struct perf_field *f, const uint8_t *data,
		      size_t len, bool is_big_endian)
{
	tl_text_add(out, "[", 1);
	for (size_t at = 0; at + f->element_size <= len; at += f->element_size) {
		if (at)
			tl_text_add(out, ",", 1);
		add_number(out, perf_load(data + at, f->element_size, f->is_signed, is_big_endian),
			   f->is_signed);
	}
	tl_text_add(out, "]", 1);
}

/* Where the bytes of a dynamic field are; false if outside of the payload. */
static bool locate(const struct perf_program *program, const struct perf_field *f,
		   const uint8_t *raw, size_t len, size_t *offset, size_t *size)
{
	uint64_t where = perf_load(raw + f->offset, f->size, false, program->is_big_endian);

	*offset = where & 0xffff;
	*size = where >> 16;
	if (f->is_relative)
		*offset += f->offset + f->size;
	if (f->size == 2) { /* before dynamic arrays: an offset alone, the text ends at a NUL */
		if (*offset > len)
			return false;
		*size = len - *offset;
	}
	return *offset <= len && *size <= len - *offset;
}

static void add_names(const struct perf_program *program, const struct perf_field *f,
		      uint64_t value, struct tl_text *scratch, struct tl_text *out)
{
	for (uint32_t i = 0; i < f->shown_count; i++) {
		const struct perf_shown *s = &program->shown[f->shown_first + i];

		if (!perf_print_format_text(program->print_format, s->index, value, scratch))
			continue;
		tl_text_puts(out, s->key);
		tl_text_json(out, scratch->data, scratch->length);
	}
}

bool perf_program_run(const struct perf_program *program, const uint8_t *raw, size_t len,
		      struct tl_text *scratch, struct tl_text *out)
{
	bool is_big_endian = program->is_big_endian;

	if (len < program->minimum_size)
		return false;
	out->length = 0;
	tl_text_add(out, "{", 1);
	for (size_t i = 0; i < program->field_count; i++) {
		const struct perf_field *f = &program->fields[i];
		size_t offset = f->offset, size = f->size;
		uint64_t value;

		if (f->is_dynamic && !locate(program, f, raw, len, &offset, &size))
			return false;
		if (f->kind == PERF_FIELD_REST_TEXT || f->kind == PERF_FIELD_REST_BYTES)
			size = len - offset;
		if (out->length > JSON_LENGTH_MAX(len))
			return false;
		if (i)
			tl_text_add(out, ",", 1);
		tl_text_puts(out, f->key);
		switch (f->kind) {
		case PERF_FIELD_INTEGER:
			value = perf_load(raw + offset, f->size, f->is_signed, is_big_endian);
			add_number(out, value, f->is_signed);
			if (f->shown_count)
				add_names(program, f, value, scratch, out);
			break;
		case PERF_FIELD_TEXT:
		case PERF_FIELD_REST_TEXT:
			add_text(out, raw + offset, size);
			break;
		case PERF_FIELD_ARRAY:
			add_array(out, f, raw + offset, size, is_big_endian);
			break;
		case PERF_FIELD_BYTES:
		case PERF_FIELD_REST_BYTES:
			add_hex(out, raw + offset, size);
			break;
		}
	}
	tl_text_add(out, "}", 1);
	return true;
}

/* ---- dictionary ---------------------------------------------------------------------------- */

static void forget(struct perf_dictionary *d)
{
	if (d->index.slots)
		memset(d->index.slots, 0, d->index.capacity * sizeof(*d->index.slots));
	d->index.count = 0;
	d->count = 0;
	d->used = 0;
}

static int remember(struct perf_dictionary *d, uint64_t hash, uint32_t id, const uint8_t *data,
		    size_t len, struct tl_error *err)
{
	int ret;

	if (d->count == DICTIONARY_ENTRIES || len > DICTIONARY_BYTES - d->used)
		forget(d);
	ret = tl_grow(&d->entries, &d->capacity, d->count + 1, err);
	if (ret < 0)
		return ret;
	ret = tl_grow(&d->bytes, &d->size, d->used + len, err);
	if (ret < 0)
		return ret;
	ret = tl_index_add(&d->index, hash, d->count, err);
	if (ret < 0)
		return ret;
	if (len)
		memcpy(d->bytes + d->used, data, len);
	d->entries[d->count++] = (struct perf_dictionary_entry) {
		.key = d->next_key++, .id = id, .offset = d->used, .length = len
	};
	d->used += len;
	return 1;
}

int perf_dictionary_find(struct perf_dictionary *d, uint32_t id, const uint8_t *data, size_t len,
			 uint64_t *key, struct tl_error *err)
{
	uint64_t hash = tl_hash(data, len, id);
	size_t probe = 0;
	int64_t i;
	int ret;

	if (len > DICTIONARY_BYTES) { /* not worth remembering */
		*key = d->next_key++;
		return 1;
	}
	while ((i = tl_index_find(&d->index, hash, &probe)) >= 0) {
		const struct perf_dictionary_entry *e = &d->entries[i];

		if (e->id == id && e->length == len &&
		    (len == 0 || memcmp(d->bytes + e->offset, data, len) == 0)) {
			*key = e->key;
			return 0;
		}
	}
	ret = remember(d, hash, id, data, len, err);
	if (ret > 0)
		*key = d->next_key - 1;
	return ret;
}

void perf_dictionary_release(struct perf_dictionary *d)
{
	tl_index_release(&d->index);
	free(d->entries);
	free(d->bytes);
	memset(d, 0, sizeof(*d));
}
