/*
 * perf_simpleperf.c - what Android's simpleperf adds to the header: the sections FILE (fixed layout)
 * and FILE2 (protobuf) with symbols, one entry a binary, and META_INFO with names of events.
 */
#include "perf.h"

#include <stdlib.h>
#include <string.h>

enum dso_type { /* simpleperf's DsoType */
		DSO_KERNEL,
		DSO_KERNEL_MODULE,
		DSO_ELF_FILE,
		DSO_DEX_FILE,
		DSO_SYMBOL_MAP_FILE,
		DSO_UNKNOWN_FILE
};

struct binary {
	const char *path;
	uint32_t type;
	uint64_t min_vaddr; /* of the executable segment */
	bool has_offset;
	uint64_t offset; /* of that segment in the file */
	struct tl_symbol_entry *symbols;
	size_t symbol_count, symbol_capacity;
	struct tl_arena arena;
};

static int add_symbol(struct binary *b, uint64_t address, uint64_t size, const char *name,
		      size_t len, struct tl_error *err)
{
	const char *copy = tl_arena_copy(&b->arena, name, len, err);
	int ret = tl_grow(&b->symbols, &b->symbol_capacity, b->symbol_count + 1, err);

	if (!copy || ret < 0)
		return TL_NOMEM;
	b->symbols[b->symbol_count].address = address;
	b->symbols[b->symbol_count].size = size;
	b->symbols[b->symbol_count].name = copy;
	b->symbol_count++;
	return TL_OK;
}

/* A text that ends with its NUL; NULL (and the cursor failed) if there is none. */
static const char *get_terminated(struct tl_cursor *c)
{
	size_t left = tl_cursor_left(c);
	const char *text = (const char *)(left ? c->data + c->position : NULL);
	size_t len = text ? strnlen(text, left) : 0;

	tl_skip(c, (uint64_t)len + 1);
	return c->failed ? NULL : text;
}

/* path NUL, u32 type, u64 min_vaddr, u32 count, {u64 address, u32 size, name NUL}, [u64 offset] */
static int decode_file(struct tl_cursor *c, struct binary *b, struct tl_error *err)
{
	uint32_t count;

	b->path = get_terminated(c);
	b->type = tl_get_u32(c);
	b->min_vaddr = tl_get_u64(c);
	count = tl_get_u32(c);
	for (uint32_t i = 0; i < count && !c->failed; i++) {
		uint64_t address = tl_get_u64(c);
		uint32_t size = tl_get_u32(c);
		const char *name = get_terminated(c);
		int ret = name ? add_symbol(b, address, size, name, strlen(name), err) : TL_OK;

		if (ret < 0)
			return ret;
	}
	if ((b->type == DSO_ELF_FILE || b->type == DSO_KERNEL_MODULE) && tl_cursor_left(c) >= 8) {
		b->has_offset = true;
		b->offset = tl_get_u64(c);
	}
	return tl_cursor_check(c, "FILE", err);
}

/* ---- protobuf ---- */

static uint64_t get_varint(struct tl_cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = tl_get_u8(c);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->failed = true; /* longer than any integer */
	return 0;
}

struct field {
	uint64_t number, value; /* of a varint */
	struct tl_cursor bytes; /* of a text or a message */
};

static bool next_field(struct tl_cursor *c, struct field *field)
{
	uint64_t key;

	if (!tl_cursor_left(c))
		return false;
	key = get_varint(c);
	field->number = key >> 3;
	field->value = 0;
	tl_cursor_init(&field->bytes, NULL, 0, 0, false);
	switch (key & 7) {
	case 0:
		field->value = get_varint(c);
		break;
	case 1:
		tl_skip(c, 8);
		break;
	case 2:
		field->bytes = tl_cursor_sub(c, (size_t)get_varint(c));
		break;
	case 5:
		tl_skip(c, 4);
		break;
	default:
		c->failed = true;
	}
	return !c->failed;
}

static const char *field_text(struct field *field, size_t *len)
{
	*len = tl_cursor_left(&field->bytes);
	return *len ? (const char *)tl_get_bytes(&field->bytes, *len) : "";
}

static int decode_symbol(struct tl_cursor *c, struct binary *b, struct tl_error *err)
{
	uint64_t address = 0, size = 0;
	const char *name = "";
	struct field field;
	size_t len = 0;

	while (next_field(c, &field)) {
		if (field.number == 1)
			address = field.value;
		else if (field.number == 2)
			size = field.value;
		else if (field.number == 3)
			name = field_text(&field, &len);
	}
	return c->failed ? TL_OK : add_symbol(b, address, size, name, strnlen(name, len), err);
}

static int decode_file2(struct tl_cursor *c, struct binary *b, struct tl_error *err)
{
	struct field field, inner;
	const char *text;
	size_t len;
	int ret = TL_OK;

	while (ret == TL_OK && next_field(c, &field)) {
		switch (field.number) {
		case 1:
			text = field_text(&field, &len);
			b->path = tl_arena_copy(&b->arena, text, strnlen(text, len), err);
			ret = b->path ? TL_OK : TL_NOMEM;
			break;
		case 2:
			b->type = (uint32_t)field.value;
			break;
		case 3:
			b->min_vaddr = field.value;
			break;
		case 4:
			ret = decode_symbol(&field.bytes, b, err);
			break;
		case 6: /* elf_file, kernel_module: where the segment lies */
		case 7:
			b->has_offset = true;
			b->offset = 0;
			while (next_field(&field.bytes, &inner))
				if (inner.number == 1)
					b->offset = inner.value;
			break;
		}
	}
	return ret < 0 ? ret : tl_cursor_check(c, "FILE2", err);
}

/* ---- events ---- */

/*
 * Code of a virtual machine has no segment: its symbols lie at offsets of the file or, where there
 * is none, at absolute addresses, which their maps then have as offsets.
 */
static bool is_plain(const struct binary *b)
{
	return b->type == DSO_SYMBOL_MAP_FILE || b->type == DSO_DEX_FILE ||
	       strstr(b->path, "_jit_app_cache:") || !strncmp(b->path, "[JIT ", 5);
}

static int emit_binary(const struct binary *b, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DSO_SYMBOLS };

	ev.dso_symbols.path = b->path;
	ev.dso_symbols.context = b->type == DSO_KERNEL || b->type == DSO_KERNEL_MODULE
					 ? TL_CONTEXT_KERNEL
					 : TL_CONTEXT_USER;
	if (is_plain(b)) {
		ev.dso_symbols.has_segment = true;
	} else if (b->has_offset) {
		ev.dso_symbols.has_segment = true;
		ev.dso_symbols.segment_vaddr = b->min_vaddr;
		ev.dso_symbols.segment_offset = b->offset;
	}
	ev.dso_symbols.symbols = b->symbols;
	ev.dso_symbols.symbol_count = b->symbol_count;
	return sink->emit(sink, &ev, err);
}

int perf_symbols_emit(const uint8_t *data, size_t len, uint64_t base, unsigned feature,
		      struct tl_sink *sink, struct tl_error *err)
{
	struct tl_cursor c;
	int ret = TL_OK;

	tl_cursor_init(&c, data, len, base, false); /* Android has no big-endian machines */
	while (ret == TL_OK && tl_cursor_left(&c)) {
		struct tl_cursor entry = tl_cursor_sub(&c, tl_get_u32(&c));
		struct binary b = { .path = NULL };

		if (c.failed)
			return tl_cursor_check(&c, "list of binaries", err);
		ret = feature == SIMPLEPERF_FEATURE_FILE ? decode_file(&entry, &b, err)
							 : decode_file2(&entry, &b, err);
		if (ret == TL_OK && b.path && *b.path && b.symbol_count)
			ret = emit_binary(&b, sink, err);
		free(b.symbols);
		tl_arena_release(&b.arena);
	}
	return ret;
}

/* ---- META_INFO ---- */

/* "cpu-cycles,0,0\nsched:sched_switch,2,78": one event a line. */
static int add_meta_info_names(struct perf_facts *facts, const char *text, size_t len,
			       struct tl_error *err)
{
	while (len) {
		struct perf_event_name name = { .source = PERF_NAME_META_INFO,
						.index = UINT32_MAX,
						.has_config = true };
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) : len, used;
		const char *comma = memchr(text, ',', line);
		uint64_t type = 0;

		if (comma) {
			const char *p = comma + 1, *end = text + line;

			used = tl_parse_u64(p, (size_t)(end - p), 10, &type);
			p += used;
			if (used && p < end && *p == ',' &&
			    tl_parse_u64(p + 1, (size_t)(end - p - 1), 10, &name.config)) {
				int ret;

				name.type = (uint32_t)type;
				ret = perf_facts_name(facts, &name, text, (size_t)(comma - text),
						      err);
				if (ret < 0)
					return ret;
			}
		}
		text += line + (newline != NULL);
		len -= line + (newline != NULL);
	}
	return TL_OK;
}

/* key NUL value NUL ... */
int perf_meta_info_decode(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	size_t left = tl_cursor_left(c);
	const char *p = (const char *)tl_get_bytes(c, left);

	while (left) {
		size_t key = strnlen(p, left), value;
		struct tl_text name = { 0 };
		int ret;

		if (key >= left)
			return tl_fail_at(err, TL_FORMAT, c->base, "META_INFO: key without value");
		value = strnlen(p + key + 1, left - key - 1);
		tl_text_printf(&name, "simpleperf_%.*s", (int)(key > 64 ? 64 : key), p);
		ret = name.failed ? tl_fail(err, TL_NOMEM, "out of memory")
				  : perf_facts_meta(facts, name.data, p + key + 1, value, err);
		tl_text_release(&name);
		if (ret == TL_OK && key == strlen("event_type_info") &&
		    !memcmp(p, "event_type_info", key))
			ret = add_meta_info_names(facts, p + key + 1, value, err);
		if (ret < 0)
			return ret;
		left -= key + 1;
		p += key + 1;
		value += value < left; /* its NUL, if it is not cut */
		left -= value;
		p += value;
	}
	return TL_OK;
}
