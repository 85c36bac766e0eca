/*
 * symbols_jit_fuzz.c - any bytes as a jitdump and as a perf map, asked at every place and time that
 * is in them.
 */
#include "symbols_private.h"

#include <stdlib.h>
#include <string.h>

#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct symbols_jit *jit, uint64_t ip, int64_t ts)
{
	struct symbols_entry *entry = symbols_jit_find(jit, ip, ts);
	const struct symbols_shown *shown;

	if (entry)
		symbols_table_show(&jit->table, entry, &shown, NULL);
}

static void as_jitdump(const uint8_t *data, size_t size)
{
	struct tl_error damage = { 0 };
	struct symbols_jit jit = { 0 };
	struct tl_input *in;

	if (tl_input_open_memory(&in, "fuzz", data, size, NULL) < 0)
		return;
	if (symbols_jitdump_read(&jit, in, &damage, NULL) == TL_OK) {
		for (size_t i = 0; i < jit.code_count && i < 1000; i++) {
			ask(&jit, jit.codes[i].entry.start, jit.codes[i].time);
			ask(&jit, jit.codes[i].entry.start + jit.codes[i].entry.size, INT64_MIN);
		}
	}
	tl_input_close(in);
	symbols_jit_release(&jit);
}

static void as_perf_map(const uint8_t *data, size_t size)
{
	struct symbols_jit jit = { 0 };
	char *text = malloc(size + 1);

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (symbols_perf_map_parse(&jit, text, size, NULL) == TL_OK)
		for (size_t i = 0; i < jit.table.count; i++)
			ask(&jit, jit.table.entries[i].start + i % 2, 0);
	symbols_jit_release(&jit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_jitdump(data, size);
	as_perf_map(data, size);
	return 0;
}
