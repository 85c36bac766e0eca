/*
 * perf_simpleperf_test.c - symbols and names that simpleperf puts into the header, put down by hand from
 * the description of its sections.
 */
#include <inttypes.h>

#include "perf_made.h"

/* ---- a sink that writes down symbols ---- */

struct symbol_sink {
	struct tl_sink sink;
	struct tl_text text;
};

static int write_symbols(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct tl_text *text = &((struct symbol_sink *)sink)->text;
	const struct tl_event_dso_symbols *table = &ev->dso_symbols;

	(void)err;
	assert_int_equal(ev->kind, TL_EVENT_DSO_SYMBOLS);
	tl_text_printf(text, "%s%s", table->path,
		       table->context == TL_CONTEXT_KERNEL ? " kernel" : "");
	if (table->has_segment)
		tl_text_printf(text, " %" PRIx64 "@%" PRIx64, table->segment_vaddr,
			       table->segment_offset);
	for (size_t i = 0; i < table->symbol_count; i++)
		tl_text_printf(text, " %s=%" PRIx64 "+%" PRIx64, table->symbols[i].name,
			       table->symbols[i].address, table->symbols[i].size);
	tl_text_puts(text, "\n");
	return TL_OK;
}

static void assert_symbols(const struct made *section, unsigned feature, const char *expected)
{
	struct symbol_sink sink = { .sink.emit = write_symbols };
	struct tl_error err = { 0 };

	assert_int_equal(
		perf_symbols_emit(section->bytes, section->size, 0, feature, &sink.sink, &err),
		TL_OK);
	assert_string_equal(sink.text.data ? sink.text.data : "", expected);
	tl_text_release(&sink.text);
}

static void add_entry(struct made *section, struct made *entry)
{
	made_u32(section, (uint32_t)entry->size);
	made_bytes(section, entry->bytes, entry->size);
	made_release(entry);
}

/* ---- FILE ---- */

static void put_file(struct made *m, const char *path, uint32_t type, uint64_t min_vaddr)
{
	made_bytes(m, path, strlen(path) + 1);
	made_u32(m, type);
	made_u64(m, min_vaddr);
	made_u32(m, 2);
	made_u64(m, 0x1100), made_u32(m, 0x20), made_bytes(m, "one", 4);
	made_u64(m, 0x1200), made_u32(m, 0x30), made_bytes(m, "two", 4);
}

static void file_section_has_symbols_and_the_segment_of_elf_files(void **state)
{
	struct made section = { 0 }, elf = { 0 }, kernel = { 0 };

	(void)state;
	put_file(&elf, "/lib/libc.so", 2, 0x1000);
	made_u64(&elf, 0x800);
	put_file(&kernel, "[kernel.kallsyms]", 0, 0);
	add_entry(&section, &elf);
	add_entry(&section, &kernel);
	assert_symbols(&section, SIMPLEPERF_FEATURE_FILE,
		       "/lib/libc.so 1000@800 one=1100+20 two=1200+30\n"
		       "[kernel.kallsyms] kernel one=1100+20 two=1200+30\n");
	made_release(&section);
}

static void segment_that_older_files_do_not_tell_stays_unknown(void **state)
{
	struct made section = { 0 }, elf = { 0 };

	(void)state;
	put_file(&elf, "/lib/libc.so", 2, 0x1000);
	add_entry(&section, &elf);
	assert_symbols(&section, SIMPLEPERF_FEATURE_FILE, "/lib/libc.so one=1100+20 two=1200+30\n");
	made_release(&section);
}

static void code_of_a_virtual_machine_lies_at_its_own_addresses(void **state)
{
	struct made section = { 0 }, jit = { 0 };

	(void)state;
	put_file(&jit, "perf.data_jit_app_cache:0-784", 2, 0);
	add_entry(&section, &jit);
	assert_symbols(&section, SIMPLEPERF_FEATURE_FILE,
		       "perf.data_jit_app_cache:0-784 0@0 one=1100+20 two=1200+30\n");
	made_release(&section);
}

static void file_section_cut_anywhere_is_an_error(void **state)
{
	struct made section = { 0 }, elf = { 0 };
	size_t whole;

	(void)state;
	put_file(&elf, "/lib/libc.so", 2, 0x1000);
	add_entry(&section, &elf);
	whole = section.size;
	for (section.size = 1; section.size < whole; section.size++) {
		struct symbol_sink sink = { .sink.emit = write_symbols };

		assert_int_equal(perf_symbols_emit(section.bytes, section.size, 0,
						   SIMPLEPERF_FEATURE_FILE, &sink.sink, NULL),
				 TL_FORMAT);
		tl_text_release(&sink.text);
	}
	made_release(&section);
}

/* ---- FILE2 ---- */

static void put_varint(struct made *m, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));

		made_bytes(m, &byte, 1);
		value >>= 7;
	} while (value);
}

static void put_number(struct made *m, unsigned field, uint64_t value)
{
	put_varint(m, field << 3);
	put_varint(m, value);
}

static void put_nested(struct made *m, unsigned field, const void *data, size_t len)
{
	put_varint(m, field << 3 | 2);
	put_varint(m, len);
	made_bytes(m, data, len);
}

static void file2_section_is_protobuf(void **state)
{
	struct made section = { 0 }, file = { 0 }, symbol = { 0 }, elf = { 0 };

	(void)state;
	put_nested(&file, 1, "/lib/libc.so", 12);
	put_number(&file, 2, 2);      /* an ELF file */
	put_number(&file, 3, 0x1000); /* min_vaddr */
	put_number(&symbol, 1, 0x1100);
	put_number(&symbol, 2, 0x20);
	put_nested(&symbol, 3, "one", 3);
	put_nested(&file, 4, symbol.bytes, symbol.size);
	put_number(&elf, 1, 0x800);
	put_nested(&file, 6, elf.bytes, elf.size);
	put_number(&file, 99, 5); /* of a newer version */
	add_entry(&section, &file);
	assert_symbols(&section, SIMPLEPERF_FEATURE_FILE2, "/lib/libc.so 1000@800 one=1100+20\n");
	made_release(&symbol);
	made_release(&elf);
	made_release(&section);
}

static void integer_longer_than_any_is_an_error(void **state)
{
	struct symbol_sink sink = { .sink.emit = write_symbols };
	struct made section = { 0 }, file = { 0 };

	(void)state;
	made_bytes(&file, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
	add_entry(&section, &file);
	assert_int_equal(perf_symbols_emit(section.bytes, section.size, 0, SIMPLEPERF_FEATURE_FILE2,
					   &sink.sink, NULL),
			 TL_FORMAT);
	made_release(&section);
}

/* ---- META_INFO ---- */

static void meta_info_names_events_by_type_and_config(void **state)
{
	const char info[] = "event_type_info\0cpu-cycles,0,0\nsched:sched_switch,2,78\0os\0x";
	struct perf_facts facts = { 0 };
	struct tl_cursor c;

	(void)state;
	tl_cursor_init(&c, (const uint8_t *)info, sizeof(info), 0, false);
	assert_int_equal(perf_meta_info_decode(&facts, &c, NULL), TL_OK);
	assert_int_equal(facts.name_count, 2);
	assert_string_equal(facts.names[1].name, "sched:sched_switch");
	assert_int_equal(facts.names[1].type, 2);
	assert_int_equal(facts.names[1].config, 78);
	assert_string_equal(facts.metas[1].key, "simpleperf_os");
	assert_string_equal(facts.metas[1].value, "x");
	perf_facts_release(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_section_has_symbols_and_the_segment_of_elf_files),
		cmocka_unit_test(segment_that_older_files_do_not_tell_stays_unknown),
		cmocka_unit_test(code_of_a_virtual_machine_lies_at_its_own_addresses),
		cmocka_unit_test(file_section_cut_anywhere_is_an_error),
		cmocka_unit_test(file2_section_is_protobuf),
		cmocka_unit_test(integer_longer_than_any_is_an_error),
		cmocka_unit_test(meta_info_names_events_by_type_and_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
