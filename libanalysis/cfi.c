/*
 * cfi.c - where an ELF image keeps its call frame information, and which entry covers an address:
 * the search table of .eh_frame_hdr, and an index of our own over what has none (.eh_frame without
 * .eh_frame_hdr, .debug_frame). Knows no rules; those are in cfi_row.c.
 */
#include "cfi.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define DW_EH_PE_omit		0xff
#define DW_EH_PE_datarel_sdata4 0x3b /* the only kind of search table that linkers write */
#define HDR_VERSION		1

struct span { /* of the image; size 0: there is none */
	uint64_t offset, size, address;
};

struct index_item {
	uint64_t start, end;
	size_t position; /* in its window */
};

struct index {
	struct tl_cfi_window window;
	struct index_item *items; /* sorted by start */
	size_t count, capacity;
};

struct tl_cfi {
	const uint8_t *image;
	size_t size;
	struct tl_cfi_window *segments; /* PT_LOAD with bytes in the file */
	size_t segment_count, segment_capacity;
	const uint8_t *table; /* of .eh_frame_hdr: pairs of int32, relative to hdr_address */
	size_t table_count;
	uint64_t hdr_address;
	struct index eh_frame, debug_frame; /* eh_frame only if there is no table */
};

struct tl_cursor tl_cfi_bytes(const struct tl_cfi *cfi, uint64_t offset, uint64_t size)
{
	struct tl_cursor c;

	tl_cursor_init(&c, cfi->image, cfi->size, 0, false);
	tl_skip(&c, offset);
	return tl_cursor_sub(&c, size <= SIZE_MAX ? (size_t)size : SIZE_MAX);
}

/* ---- ELF --------------------------------------------------------------------------------- */

struct elf {
	uint64_t segments, sections; /* offsets of the tables */
	uint16_t segment_size, segment_count, section_size, section_count, name_section;
};

static bool read_header(const struct tl_cfi *cfi, struct elf *elf)
{
	struct tl_cursor c = tl_cfi_bytes(cfi, 0, cfi->size);
	const uint8_t *ident = tl_get_bytes(&c, EI_NIDENT);

	if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_CLASS] != ELFCLASS64 ||
	    ident[EI_DATA] != ELFDATA2LSB)
		return false;
	tl_skip(&c, 2 + 2 + 4 + 8); /* e_type e_machine e_version e_entry */
	elf->segments = tl_get_u64(&c);
	elf->sections = tl_get_u64(&c);
	tl_skip(&c, 4 + 2); /* e_flags e_ehsize */
	elf->segment_size = tl_get_u16(&c);
	elf->segment_count = tl_get_u16(&c);
	elf->section_size = tl_get_u16(&c);
	elf->section_count = tl_get_u16(&c);
	elf->name_section = tl_get_u16(&c);
	return !c.failed;
}

static int read_segments(struct tl_cfi *cfi, const struct elf *elf, struct span *hdr,
			 struct tl_error *err)
{
	if (elf->segment_size < sizeof(Elf64_Phdr))
		return TL_OK;
	for (unsigned i = 0; i < elf->segment_count; i++) {
		struct tl_cursor c = tl_cfi_bytes(
			cfi, elf->segments + (uint64_t)i * elf->segment_size, elf->segment_size);
		uint32_t type = tl_get_u32(&c), flags = tl_get_u32(&c);
		uint64_t offset, address, size;
		int ret;

		offset = tl_get_u64(&c);
		address = tl_get_u64(&c);
		tl_skip(&c, 8); /* p_paddr */
		size = tl_get_u64(&c);
		if (c.failed)
			return TL_OK;
		if (offset >= cfi->size)
			continue;
		if (size > cfi->size - offset)
			size = cfi->size - offset;
		if (type == PT_GNU_EH_FRAME)
			*hdr = (struct span) { offset, size, address };
		if (type != PT_LOAD || !size)
			continue;
		ret = tl_grow(&cfi->segments, &cfi->segment_capacity, cfi->segment_count + 1, err);
		if (ret < 0)
			return ret;
		cfi->segments[cfi->segment_count++] = (struct tl_cfi_window) {
			.data = cfi->image + offset,
			.size = (size_t)size,
			.address = address,
			.image_offset = offset,
			.is_writable = flags & PF_W,
		};
	}
	return TL_OK;
}

static const struct tl_cfi_window *find_segment(const struct tl_cfi *cfi, uint64_t address)
{
	for (size_t i = 0; i < cfi->segment_count; i++) {
		const struct tl_cfi_window *s = &cfi->segments[i];

		if (address >= s->address && address - s->address < s->size)
			return s;
	}
	return NULL;
}

bool tl_cfi_get_memory(const struct tl_cfi *cfi, uint64_t address, uint64_t *value)
{
	const struct tl_cfi_window *s = find_segment(cfi, address);
	struct tl_cursor c;

	if (!s || s->is_writable)
		return false;
	tl_cursor_init(&c, s->data, s->size, 0, false);
	tl_skip(&c, address - s->address);
	*value = tl_get_u64(&c);
	return !c.failed;
}

struct section {
	uint32_t name, type;
	uint64_t flags;
	struct span span;
};

static bool read_section(const struct tl_cfi *cfi, const struct elf *elf, unsigned number,
			 struct section *s)
{
	struct tl_cursor c = tl_cfi_bytes(cfi, elf->sections + (uint64_t)number * elf->section_size,
					  elf->section_size);

	s->name = tl_get_u32(&c);
	s->type = tl_get_u32(&c);
	s->flags = tl_get_u64(&c);
	s->span.address = tl_get_u64(&c);
	s->span.offset = tl_get_u64(&c);
	s->span.size = tl_get_u64(&c);
	return !c.failed && s->type != SHT_NOBITS && !(s->flags & SHF_COMPRESSED) &&
	       s->span.offset <= cfi->size && s->span.size <= cfi->size - s->span.offset;
}

static bool is_named(const struct tl_cfi *cfi, const struct section *names, const struct section *s,
		     const char *name)
{
	size_t size = strlen(name) + 1;

	return s->name <= names->span.size && size <= names->span.size - s->name &&
	       memcmp(cfi->image + names->span.offset + s->name, name, size) == 0;
}

struct places {
	struct span hdr, eh_frame, debug_frame;
};

static void read_sections(const struct tl_cfi *cfi, const struct elf *elf, struct places *p)
{
	struct section names, s;

	if (elf->section_size < sizeof(Elf64_Shdr) ||
	    !read_section(cfi, elf, elf->name_section, &names))
		return;
	for (unsigned i = 0; i < elf->section_count; i++) {
		if (!read_section(cfi, elf, i, &s))
			continue;
		if (is_named(cfi, &names, &s, ".eh_frame_hdr"))
			p->hdr = s.span;
		else if (is_named(cfi, &names, &s, ".eh_frame"))
			p->eh_frame = s.span;
		else if (is_named(cfi, &names, &s, ".debug_frame"))
			p->debug_frame = s.span;
	}
}

/* ---- tables ------------------------------------------------------------------------------ */

/* True when there is a search table that we can use. */
static bool read_search_table(struct tl_cfi *cfi, const struct span *hdr)
{
	struct tl_cursor c = tl_cfi_bytes(cfi, hdr->offset, hdr->size);
	uint8_t version = tl_get_u8(&c), pointer = tl_get_u8(&c), count_encoding = tl_get_u8(&c),
		table = tl_get_u8(&c);
	uint64_t count;

	if (!hdr->size || version != HDR_VERSION || table != DW_EH_PE_datarel_sdata4 ||
	    count_encoding == DW_EH_PE_omit)
		return false;
	if (pointer != DW_EH_PE_omit)
		tl_cfi_pointer(&c, pointer, hdr->address); /* of .eh_frame; not needed */
	count = tl_cfi_pointer(&c, count_encoding, hdr->address);
	if (c.failed)
		return false;
	if (count > tl_cursor_left(&c) / 8)
		count = tl_cursor_left(&c) / 8;
	cfi->table_count = (size_t)count;
	cfi->table = tl_get_bytes(&c, cfi->table_count * 8);
	cfi->hdr_address = hdr->address;
	return count > 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct index_item *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->position > y->position) - (x->position < y->position);
}

/* Indexes every entry of a section: at least 13 of its bytes each. */
static int make_index(const struct tl_cfi *cfi, const struct span *span, bool is_debug_frame,
		      struct index *index, struct tl_error *err)
{
	size_t position = 0, next = 0;

	index->window = (struct tl_cfi_window) {
		.data = cfi->image + span->offset,
		.size = (size_t)span->size,
		.address = is_debug_frame ? 0 : span->address,
		.image_offset = span->offset,
		.is_debug_frame = is_debug_frame,
	};
	for (; position < index->window.size; position = next) {
		struct tl_cfi_entry e;
		enum tl_cfi_parsed parsed = tl_cfi_parse(&index->window, position, &e, &next);
		int ret;

		if (next <= position)
			break; /* its length makes no sense: nothing after it can be found */
		if (parsed != TL_CFI_IS_ENTRY || e.start >= e.end)
			continue;
		ret = tl_grow(&index->items, &index->capacity, index->count + 1, err);
		if (ret < 0)
			return ret;
		index->items[index->count++] = (struct index_item) { e.start, e.end, position };
	}
	if (index->count)
		qsort(index->items, index->count, sizeof(*index->items), compare_items);
	return TL_OK;
}

int tl_cfi_open(struct tl_cfi **out, const uint8_t *image, size_t size, struct tl_error *err)
{
	struct tl_cfi *cfi = tl_alloc(1, sizeof(*cfi), err);
	struct places places = { 0 };
	struct elf elf;
	int ret;

	if (!cfi)
		return TL_NOMEM;
	*out = cfi;
	cfi->image = image;
	cfi->size = size;
	if (!read_header(cfi, &elf))
		return TL_OK;
	ret = read_segments(cfi, &elf, &places.hdr, err);
	if (ret < 0)
		goto fail;
	read_sections(cfi, &elf, &places);
	if (!read_search_table(cfi, &places.hdr)) {
		cfi->table_count = 0;
		ret = make_index(cfi, &places.eh_frame, false, &cfi->eh_frame, err);
		if (ret < 0)
			goto fail;
	}
	ret = make_index(cfi, &places.debug_frame, true, &cfi->debug_frame, err);
	if (ret < 0)
		goto fail;
	return TL_OK;
fail:
	tl_cfi_close(cfi);
	*out = NULL;
	return ret;
}

void tl_cfi_close(struct tl_cfi *cfi)
{
	if (!cfi)
		return;
	free(cfi->segments);
	free(cfi->eh_frame.items);
	free(cfi->debug_frame.items);
	free(cfi);
}

/* ---- looking up -------------------------------------------------------------------------- */

static int64_t table_value(const struct tl_cfi *cfi, size_t entry, size_t column)
{
	struct tl_cursor c;

	tl_cursor_init(&c, cfi->table + entry * 8 + column * 4, 4, 0, false);
	return (int32_t)tl_get_u32(&c);
}

/* The entry with the greatest start that is not above the address, and its window. */
static const struct tl_cfi_window *search_table(const struct tl_cfi *cfi, uint64_t address,
						size_t *position)
{
	int64_t relative = (int64_t)(address - cfi->hdr_address);
	size_t low = 0, high = cfi->table_count;
	const struct tl_cfi_window *window;
	uint64_t at;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (relative < table_value(cfi, middle, 0))
			high = middle;
		else
			low = middle + 1;
	}
	if (!high)
		return NULL;
	at = cfi->hdr_address + (uint64_t)table_value(cfi, high - 1, 1);
	window = find_segment(cfi, at);
	if (window)
		*position = (size_t)(at - window->address);
	return window;
}

static const struct index_item *search_index(const struct index *index, uint64_t address)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address < index->items[middle].start)
			high = middle;
		else
			low = middle + 1;
	}
	return high && address < index->items[high - 1].end ? &index->items[high - 1] : NULL;
}

static enum tl_cfi_found find_at(const struct tl_cfi_window *window, size_t position,
				 uint64_t address, struct tl_cfi_row *row)
{
	struct tl_cfi_entry entry;
	size_t next;

	switch (tl_cfi_parse(window, position, &entry, &next)) {
	case TL_CFI_IS_ENTRY:
		break;
	case TL_CFI_IS_OTHER:
		return TL_CFI_NO_ENTRY;
	case TL_CFI_IS_DAMAGED:
		return TL_CFI_DAMAGED;
	}
	if (address < entry.start || address >= entry.end)
		return TL_CFI_NO_ENTRY;
	return tl_cfi_run(window, &entry, address, row) ? TL_CFI_FOUND : TL_CFI_DAMAGED;
}

/* An index's answer, or `otherwise` where it has none. */
static enum tl_cfi_found find_untabled(const struct index *index, uint64_t address,
				       bool only_tabled, struct tl_cfi_row *row,
				       enum tl_cfi_found otherwise)
{
	const struct index_item *item = search_index(index, address);

	if (!item)
		return otherwise;
	return only_tabled ? TL_CFI_NOT_TABLED
			   : find_at(&index->window, item->position, address, row);
}

enum tl_cfi_found tl_cfi_find(const struct tl_cfi *cfi, uint64_t address, bool only_tabled,
			      struct tl_cfi_row *row)
{
	enum tl_cfi_found found = TL_CFI_NO_TABLE;
	const struct tl_cfi_window *window;
	size_t position;

	if (cfi->table_count) {
		window = search_table(cfi, address, &position);
		found = window ? find_at(window, position, address, row) : TL_CFI_NO_ENTRY;
		if (found == TL_CFI_FOUND || only_tabled)
			return found;
	} else {
		found = find_untabled(&cfi->eh_frame, address, only_tabled, row, found);
		if (found != TL_CFI_NO_TABLE)
			return found;
	}
	return find_untabled(&cfi->debug_frame, address, only_tabled, row, found);
}
