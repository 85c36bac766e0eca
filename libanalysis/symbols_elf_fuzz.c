/*
 * symbols_elf_fuzz.c - any bytes as an ELF file: its names, its stubs, its packed names, its
 * segments, and the inlined calls at its symbols.
 */
#include "symbols_private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *copy(const uint8_t *data, size_t size)
{
	uint8_t *result = malloc(size + 1);

	if (result)
		memcpy(result, data, size);
	return result;
}

static void names(const uint8_t *data, size_t size, struct symbols_table *table)
{
	struct symbols_segment *segments = NULL;
	struct symbols_elf elf, inner;
	size_t count;

	table->is_mangled = true;
	table->is_like_perf = size & 1;
	if (symbols_elf_open_memory(&elf, "fuzz", copy(data, size), size, NULL) < 0)
		return;
	symbols_elf_load(table, &elf, &elf, NULL);
	symbols_elf_segments(&elf, &segments, &count, NULL);
	if (!table->is_like_perf && symbols_elf_open_debugdata(&inner, &elf, NULL) == TL_OK) {
		symbols_elf_load(table, &inner, &elf, NULL);
		symbols_elf_close(&inner);
	}
	free(segments);
	symbols_elf_close(&elf);
}

static void inlines(const uint8_t *data, size_t size, const struct symbols_table *table)
{
	struct symbols_image image = { .copy = copy(data, size), .size = size };
	const struct tl_inline_frame *frames;
	struct symbols_inlines *in;

	image.data = image.copy;
	if (symbols_inlines_open(&in, &image, NULL) < 0)
		return;
	for (size_t i = 0; i < table->count && i < 100; i++)
		symbols_inlines_find(in, table->entries[i].start + i, &frames, NULL);
	symbols_inlines_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols_table table = { 0 };
	const struct symbols_shown *shown;

	names(data, size, &table);
	if (symbols_table_sort(&table, NULL) == TL_OK &&
	    symbols_table_finish(&table, NULL) == TL_OK) {
		for (size_t i = 0; i < table.count && i < 1000; i++) {
			struct symbols_entry *entry =
				symbols_table_find(&table, table.entries[i].start + i % 3);

			if (entry)
				symbols_table_show(&table, entry, &shown, NULL);
		}
	}
	inlines(data, size, &table);
	symbols_table_release(&table);
	return 0;
}
