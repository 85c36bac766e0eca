/*
 * symbols_elf_test.c - what is a name in an ELF file and where; the files are made by hand.
 */
#include "symbols_example.h"

#include <lzma.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct symbols_elf elf, other;
static struct symbols_table table;

static int setup(void **state)
{
	(void)state;
	memset(&elf, 0, sizeof(elf));
	memset(&other, 0, sizeof(other));
	memset(&table, 0, sizeof(table));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	symbols_table_release(&table);
	symbols_elf_close(&elf);
	symbols_elf_close(&other);
	return 0;
}

static void open_example(struct symbols_elf *out, const struct example_elf *example)
{
	size_t size;
	uint8_t *data = example_build(example, &size);

	assert_int_equal(symbols_elf_open_memory(out, "example", data, size, NULL), TL_OK);
}

static void load(const struct example_elf *example)
{
	open_example(&elf, example);
	assert_int_equal(symbols_elf_load(&table, &elf, &elf, NULL), TL_OK);
}

static const char *name_at(uint64_t address)
{
	struct symbols_entry *entry = symbols_table_find(&table, address);
	const struct symbols_shown *shown;

	if (!entry)
		return "none";
	assert_int_equal(symbols_table_show(&table, entry, &shown, NULL), TL_OK);
	return shown->name;
}

static void functions_data_and_labels_are_names(void **state)
{
	static const struct example_symbol symbols[] = {
		{ "function", 0x1000, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_TEXT },
		{ "indirect", 0x1010, 16, STB_GLOBAL, STT_GNU_IFUNC, 0, EXAMPLE_TEXT },
		{ "label", 0x1020, 16, STB_LOCAL, STT_NOTYPE, 0, EXAMPLE_TEXT },
		{ "object", 0x1e00, 16, STB_GLOBAL, STT_OBJECT, 0, EXAMPLE_RODATA },
	};

	(void)state;
	load(&(struct example_elf) {
		.vaddr = 0x1000, .symbols = symbols, .symbol_count = COUNT(symbols) });
	assert_string_equal(name_at(0x1008), "function");
	assert_string_equal(name_at(0x1018), "indirect");
	assert_string_equal(name_at(0x1028), "label");
	assert_string_equal(name_at(0x1e08), "object");
}

static void other_symbols_are_not(void **state)
{
	static const struct example_symbol symbols[] = {
		{ "undefined", 0x1000, 16, STB_GLOBAL, STT_FUNC, 0, SHN_UNDEF },
		{ "absolute", 0x1000, 16, STB_GLOBAL, STT_NOTYPE, 0, SHN_ABS },
		{ "hidden", 0x1000, 16, STB_GLOBAL, STT_NOTYPE, STV_HIDDEN, EXAMPLE_TEXT },
		{ "file.c", 0x1000, 16, STB_LOCAL, STT_FILE, 0, EXAMPLE_TEXT },
		{ "section", 0x1000, 16, STB_LOCAL, STT_SECTION, 0, EXAMPLE_TEXT },
		{ "thread", 0x1000, 16, STB_GLOBAL, STT_TLS, 0, EXAMPLE_TEXT },
		{ "warning", 0x1000, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_STRTAB },
		{ "nowhere", 0x1000, 16, STB_GLOBAL, STT_FUNC, 0, 200 },
		{ "", 0x1000, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_TEXT },
	};

	(void)state;
	load(&(struct example_elf) {
		.vaddr = 0x1000, .symbols = symbols, .symbol_count = COUNT(symbols) });
	assert_string_equal(name_at(0x1008), "none");
}

static const struct example_symbol arm_symbols[] = {
	{ "thumb", 0x1011, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_TEXT },
	{ "$t", 0x1010, 0, STB_LOCAL, STT_NOTYPE, 0, EXAMPLE_TEXT },
	{ "$d.1", 0x1018, 0, STB_LOCAL, STT_NOTYPE, 0, EXAMPLE_TEXT },
	{ "$dollar", 0x1040, 8, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_TEXT },
};

static void marks_of_the_arm_assembler_are_not_names(void **state)
{
	(void)state;
	load(&(struct example_elf) { .machine = EM_ARM,
				     .vaddr = 0x1000,
				     .symbols = arm_symbols,
				     .symbol_count = COUNT(arm_symbols) });
	assert_string_equal(name_at(0x1010), "thumb");
	assert_string_equal(name_at(0x101f), "thumb");
	assert_string_equal(name_at(0x1020), "none");
	assert_string_equal(name_at(0x1044), "$dollar");
}

static void on_other_machines_they_are(void **state)
{
	(void)state;
	load(&(struct example_elf) {
		.vaddr = 0x1000, .symbols = arm_symbols, .symbol_count = COUNT(arm_symbols) });
	assert_string_equal(name_at(0x1010), "$t");
}

static void the_other_byte_order_reads_the_same(void **state)
{
	static const struct example_symbol symbols[] = {
		{ "big", 0x1000, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_TEXT },
	};
	struct symbols_segment *segments;
	size_t count;

	(void)state;
	load(&(struct example_elf) { .machine = EM_S390,
				     .is_big_endian = true,
				     .vaddr = 0x401000,
				     .build_id = "12345678",
				     .build_id_size = 8,
				     .symbols = symbols,
				     .symbol_count = COUNT(symbols) });
	assert_string_equal(name_at(0x1008), "big");
	assert_int_equal(elf.build_id.size, 8);
	assert_memory_equal(elf.build_id.data, "12345678", 8);
	assert_int_equal(symbols_elf_segments(&elf, &segments, &count, NULL), TL_OK);
	assert_int_equal(count, 1);
	assert_int_equal(segments[0].vaddr, 0x401000);
	assert_int_equal(segments[0].offset, 0x1000);
	free(segments);
}

/* PowerPC, the old way: the symbol is at the descriptor, whose first word is the code. */
static void a_function_descriptor_is_followed(void **state)
{
	static const uint8_t opd[24] = { 0, 0, 0, 0, 0, 0, 0x12, 0x34 };
	static const struct example_symbol symbols[] = {
		{ "described", 0x3000, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_OPD },
		{ "outside", 0x4000, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_OPD },
	};

	(void)state;
	load(&(struct example_elf) { .machine = EM_PPC64,
				     .is_big_endian = true,
				     .vaddr = 0x1000,
				     .opd = opd,
				     .opd_size = sizeof(opd),
				     .opd_address = 0x3000,
				     .symbols = symbols,
				     .symbol_count = COUNT(symbols) });
	assert_string_equal(name_at(0x1234), "described");
	assert_string_equal(name_at(0x3000), "none");
}

static const struct example_symbol imports[] = {
	{ "puts", 0, 0, STB_GLOBAL, STT_FUNC, 0, SHN_UNDEF },
	{ "_ZSt9terminatev", 0, 0, STB_GLOBAL, STT_FUNC, 0, SHN_UNDEF },
	{ "fast", 0x1100, 16, STB_GLOBAL, STT_GNU_IFUNC, 0, EXAMPLE_TEXT },
};
static const uint32_t plt[] = { 2, 1, 0 };
static const uint64_t plt_addend[] = { 0, 0, 0x1100 };

/* The relocations of the example are written last first. */
static void stubs_are_named_in_the_order_of_their_slots(void **state)
{
	(void)state;
	table.is_mangled = true;
	load(&(struct example_elf) { .vaddr = 0x1000,
				     .dynamic = imports,
				     .dynamic_count = COUNT(imports),
				     .plt = plt,
				     .plt_addend = plt_addend,
				     .plt_count = COUNT(plt),
				     .plt_address = 0x1800 });
	assert_string_equal(name_at(0x1808), "none");
	assert_string_equal(name_at(0x1810), "std::terminate@plt");
	assert_string_equal(name_at(0x182f), "puts@plt");
	assert_string_equal(name_at(0x1838), "fast@plt");
	assert_string_equal(name_at(0x1840), "none");
}

static void second_stubs_have_no_header(void **state)
{
	(void)state;
	load(&(struct example_elf) { .vaddr = 0x1000,
				     .dynamic = imports,
				     .dynamic_count = COUNT(imports),
				     .plt = plt,
				     .plt_count = COUNT(plt),
				     .plt_address = 0x1800,
				     .plt_sec_address = 0x1900 });
	assert_string_equal(name_at(0x1900), "_ZSt9terminatev@plt");
	assert_string_equal(name_at(0x1910), "puts@plt");
}

static void a_debug_file_gives_names_and_the_runtime_file_stubs(void **state)
{
	static const struct example_symbol symbols[] = {
		{ "local", 0x1000, 16, STB_LOCAL, STT_FUNC, 0, EXAMPLE_TEXT },
	};

	(void)state;
	open_example(&elf, &(struct example_elf) { .vaddr = 0x1000,
						   .is_debug_only = true,
						   .symbols = symbols,
						   .symbol_count = COUNT(symbols) });
	open_example(&other, &(struct example_elf) { .vaddr = 0x1000,
						     .dynamic = imports,
						     .dynamic_count = COUNT(imports),
						     .plt = plt,
						     .plt_count = COUNT(plt),
						     .plt_address = 0x1800 });
	assert_false(elf.has_code);
	assert_true(other.has_code);
	assert_int_equal(symbols_elf_load(&table, &elf, &other, NULL), TL_OK);
	assert_string_equal(name_at(0x1008), "local");
	assert_string_equal(name_at(0x1820), "puts@plt");
	assert_string_equal(name_at(0x1100), "none");
}

static void of_a_module_only_what_is_in_its_first_code_has_a_place(void **state)
{
	static const struct example_symbol symbols[] = {
		{ "first", 0x10, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_TEXT },
		{ "second", 0x10, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_PLT },
		{ "data", 0x10, 16, STB_GLOBAL, STT_OBJECT, 0, EXAMPLE_RODATA },
	};

	(void)state;
	load(&(struct example_elf) { .type = ET_REL,
				     .plt_address = 0x1800,
				     .symbols = symbols,
				     .symbol_count = COUNT(symbols) });
	assert_int_equal(table.count, 1);
	assert_string_equal(name_at(0x18), "first");
}

static void a_debuglink_has_a_name_and_a_sum(void **state)
{
	(void)state;
	open_example(&elf,
		     &(struct example_elf) { .debuglink = "x.debug", .debuglink_crc = 0x12345678 });
	assert_string_equal(elf.debuglink, "x.debug");
	assert_int_equal(elf.debuglink_crc, 0x12345678);
}

static void a_debuglink_that_leaves_its_directory_is_ignored(void **state)
{
	(void)state;
	open_example(&elf,
		     &(struct example_elf) { .debuglink = "../../etc/passwd", .debuglink_crc = 1 });
	assert_string_equal(elf.debuglink, "");
}

static void names_packed_into_the_binary_are_found(void **state)
{
	static const struct example_symbol symbols[] = {
		{ "packed", 0x1000, 16, STB_LOCAL, STT_FUNC, 0, EXAMPLE_TEXT },
	};
	size_t size, packed_size = 0;
	uint8_t *inner = example_build(&(struct example_elf) { .vaddr = 0x1000,
							       .is_debug_only = true,
							       .symbols = symbols,
							       .symbol_count = COUNT(symbols) },
				       &size);
	uint8_t *packed = malloc(size + 1024);

	(void)state;
	assert_non_null(packed);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, inner, size, packed,
						 &packed_size, size + 1024),
			 LZMA_OK);
	open_example(&elf, &(struct example_elf) { .vaddr = 0x1000,
						   .debugdata = packed,
						   .debugdata_size = packed_size });
	assert_int_equal(symbols_elf_open_debugdata(&other, &elf, NULL), TL_OK);
	assert_int_equal(symbols_elf_load(&table, &other, &elf, NULL), TL_OK);
	assert_string_equal(name_at(0x1008), "packed");
	free(inner);
	free(packed);
}

static void what_is_not_elf_is_refused_in_words(void **state)
{
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(
		symbols_elf_open_memory(&elf, "script", (uint8_t *)strdup("#!/bin/sh\n"), 10, &err),
		TL_FORMAT);
	assert_string_equal(err.text, "script: not an ELF file");
}

/* Nothing is claimed but that nothing breaks; the sanitizers look on. */
static void a_file_cut_or_changed_anywhere_does_no_harm(void **state)
{
	static const struct example_symbol symbols[] = {
		{ "local", 0x1000, 16, STB_LOCAL, STT_FUNC, 0, EXAMPLE_TEXT },
	};
	const struct example_elf example = { .vaddr = 0x1000,
					     .build_id = "0123456789",
					     .build_id_size = 10,
					     .symbols = symbols,
					     .symbol_count = COUNT(symbols),
					     .dynamic = imports,
					     .dynamic_count = COUNT(imports),
					     .plt = plt,
					     .plt_count = COUNT(plt),
					     .plt_address = 0x1800,
					     .debuglink = "x.debug" };
	size_t size;
	uint8_t *data = example_build(&example, &size);

	(void)state;
	for (size_t i = 0; i < size; i++) {
		bool is_cut = i % 2;
		size_t left = is_cut ? i : size;
		uint8_t *copy;

		if (i == 120)
			i = 0x2000; /* the text in between is never read */
		copy = malloc(left ? left : 1);
		assert_non_null(copy);
		memcpy(copy, data, left);
		if (!is_cut)
			copy[i] ^= 0xff;
		if (symbols_elf_open_memory(&elf, "cut", copy, left, NULL) == TL_OK) {
			symbols_elf_load(&table, &elf, &elf, NULL);
			name_at(0x1008);
		}
		teardown(NULL);
	}
	free(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(functions_data_and_labels_are_names),
		TEST(other_symbols_are_not),
		TEST(marks_of_the_arm_assembler_are_not_names),
		TEST(on_other_machines_they_are),
		TEST(the_other_byte_order_reads_the_same),
		TEST(a_function_descriptor_is_followed),
		TEST(stubs_are_named_in_the_order_of_their_slots),
		TEST(second_stubs_have_no_header),
		TEST(a_debug_file_gives_names_and_the_runtime_file_stubs),
		TEST(of_a_module_only_what_is_in_its_first_code_has_a_place),
		TEST(a_debuglink_has_a_name_and_a_sum),
		TEST(a_debuglink_that_leaves_its_directory_is_ignored),
		TEST(names_packed_into_the_binary_are_found),
		TEST(what_is_not_elf_is_refused_in_words),
		TEST(a_file_cut_or_changed_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
