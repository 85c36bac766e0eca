/*
 * symbols_kernel_test.c - kallsyms, vmlinux and modules: which of them may name a recording, and
 * where its addresses are in them.
 */
#include "symbols_example.h"

#include <lzma.h>
#include <sys/utsname.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT	 UINT64_C(0xffffffff81000000)

static const char id_bytes[] = "0123456789abcdefghij";
static const char other_bytes[] = "jihgfedcba9876543210";
static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
			       "ffffffff81000000 T _stext\n"
			       "ffffffff81000000 T _text\n"
			       "ffffffff81000010 t do_one\n"
			       "ffffffff81000020 W weak_two\n"
			       "ffffffff81000020 T two\n"
			       "ffffffff81000030 r not_code\n"
			       "ffffffff81000040 D some_data\n"
			       "ffffffff81000050 T last\n"
			       "ffffffffc0200000 t mod_a\t[my_mod]\n"
			       "ffffffffc0200100 T mod_b\t[my_mod]\n"
			       "ffffffffc0300000 t other\t[other_mod]\n"
			       "ffffffffc0400000 t bpf_prog_1234\t[bpf]\n";

static struct tl_symbols *symbols;

static int setup(void **state)
{
	symbols = NULL;
	return example_setup(state);
}

static int teardown(void **state)
{
	tl_symbols_close(symbols);
	return example_teardown(state);
}

/* A recording that is surely of another machine, asked with the cache below the root. */
static void open_symbols(const struct tl_recording *recording)
{
	const char *cache = example_path("cache");
	const struct tl_symbol_options options = { .buildid_dirs = &cache,
						   .buildid_dir_count = 1,
						   .no_default_dirs = true };

	assert_int_equal(tl_symbols_open(&symbols, &options, recording, NULL), TL_OK);
}

static struct tl_symbols_dso *make_dso(const struct tl_dso_description *description)
{
	struct tl_symbols_dso *dso;

	assert_int_equal(tl_symbols_dso(symbols, description, &dso, NULL), TL_OK);
	return dso;
}

static struct tl_symbols_dso *kernel_at(uint64_t text)
{
	return make_dso(&(struct tl_dso_description) { .kind = TL_DSO_KERNEL,
						       .path = "[kernel.kallsyms]",
						       .build_id = example_id(id_bytes, 20),
						       .pid = -1,
						       .inner_pid = TL_ID_NONE,
						       .reference_symbol = "_text",
						       .reference_address = text });
}

static struct tl_symbols_dso *module_at(const char *path, uint64_t start, const char *id)
{
	return make_dso(&(struct tl_dso_description) { .kind = TL_DSO_MODULE,
						       .path = path,
						       .build_id = id ? example_id(id, 20)
								      : (struct tl_build_id) { 0 },
						       .pid = -1,
						       .inner_pid = TL_ID_NONE,
						       .start = start,
						       .length = 0x1000 });
}

static const char *name_at(struct tl_symbols_dso *dso, uint64_t offset)
{
	static struct tl_symbol symbol;

	return tl_symbols_find(dso, offset, INT64_MIN, &symbol, NULL) == 1 ? symbol.name : "none";
}

static void write_kallsyms(const char *id_hex, const char *text)
{
	char name[256];

	snprintf(name, sizeof(name), "cache/[kernel.kallsyms]/%s/kallsyms", id_hex);
	example_write(name, text, strlen(text));
}

#define ID_HEX "303132333435363738396162636465666768696a"

static void a_name_reaches_to_the_next_of_code_or_data(void **state)
{
	struct tl_symbols_dso *kernel;

	(void)state;
	write_kallsyms(ID_HEX, kallsyms);
	open_symbols(NULL);
	kernel = kernel_at(TEXT);
	assert_string_equal(name_at(kernel, TEXT - 1), "none");
	assert_string_equal(name_at(kernel, TEXT), "_text");
	assert_string_equal(name_at(kernel, TEXT + 0x1f), "do_one");
	assert_string_equal(name_at(kernel, TEXT + 0x3f), "two");
	assert_string_equal(name_at(kernel, TEXT + 0x48), "some_data");
	assert_int_equal(tl_symbols_status(kernel), TL_DSO_OK);
	assert_null(tl_symbols_reason(kernel));
}

static void the_last_of_the_kernel_reaches_to_the_end_of_the_next_page(void **state)
{
	struct tl_symbols_dso *kernel;

	(void)state;
	write_kallsyms(ID_HEX, kallsyms);
	open_symbols(NULL);
	kernel = kernel_at(TEXT);
	assert_string_equal(name_at(kernel, TEXT + 0x1fff), "last");
	assert_string_equal(name_at(kernel, TEXT + 0x2000), "none");
}

static void a_kernel_at_another_address_is_moved(void **state)
{
	struct tl_symbols_dso *kernel;
	struct tl_symbol symbol;

	(void)state;
	write_kallsyms(ID_HEX, kallsyms);
	open_symbols(NULL);
	kernel = kernel_at(TEXT + 0x5000000);
	assert_int_equal(tl_symbols_find(kernel, TEXT + 0x5000015, INT64_MIN, &symbol, NULL), 1);
	assert_string_equal(symbol.name, "do_one");
	assert_int_equal(symbol.start, TEXT + 0x5000010);
	assert_string_equal(name_at(kernel, TEXT + 0x15), "none");
}

static void without_the_reference_symbol_nothing_is_named(void **state)
{
	struct tl_symbols_dso *kernel;

	(void)state;
	write_kallsyms(ID_HEX, "ffffffff81000010 t do_one\nffffffff81000020 T two\n");
	open_symbols(NULL);
	kernel = kernel_at(TEXT);
	assert_string_equal(name_at(kernel, TEXT + 0x15), "none");
	assert_int_equal(tl_symbols_status(kernel), TL_DSO_FOREIGN_KERNEL);
	assert_non_null(
		strstr(tl_symbols_reason(kernel), "_text is not where the recording has it"));
}

static void hidden_addresses_name_nothing(void **state)
{
	struct tl_symbols_dso *kernel;

	(void)state;
	write_kallsyms(ID_HEX, "0000000000000000 T _text\n0000000000000000 T two\n");
	open_symbols(NULL);
	kernel = kernel_at(TEXT);
	assert_int_equal(tl_symbols_status(kernel), TL_DSO_FOREIGN_KERNEL);
	assert_non_null(strstr(tl_symbols_reason(kernel), "kptr_restrict"));
}

static void names_of_modules_are_not_those_of_the_kernel(void **state)
{
	(void)state;
	write_kallsyms(ID_HEX, kallsyms);
	open_symbols(NULL);
	assert_string_equal(name_at(kernel_at(TEXT), UINT64_C(0xffffffffc0200010)), "none");
}

static void a_module_is_named_by_the_kernels_table(void **state)
{
	struct tl_symbols_dso *module;

	(void)state;
	write_kallsyms(ID_HEX, kallsyms);
	open_symbols(NULL);
	kernel_at(TEXT);
	module = module_at("[my_mod]", UINT64_C(0xffffffffc0200000), NULL);
	assert_string_equal(name_at(module, 0x10), "mod_a");
	assert_string_equal(name_at(module, 0x150), "mod_b");
	module = module_at("/lib/modules/6.1/kernel/my-mod.ko.xz", UINT64_C(0xffffffffc0200000),
			   NULL);
	assert_string_equal(name_at(module, 0x10), "mod_a");
}

static void a_module_of_another_boot_is_not(void **state)
{
	struct tl_symbols_dso *module;

	(void)state;
	write_kallsyms(ID_HEX, kallsyms);
	open_symbols(NULL);
	kernel_at(TEXT);
	module = module_at("[my_mod]", UINT64_C(0xffffffffc0900000), NULL);
	assert_string_equal(name_at(module, 0x10), "none");
	assert_int_equal(tl_symbols_status(module), TL_DSO_CHANGED);
}

static void a_module_is_not_named_when_the_kernel_was_moved(void **state)
{
	struct tl_symbols_dso *module;

	(void)state;
	write_kallsyms(ID_HEX, kallsyms);
	open_symbols(NULL);
	kernel_at(TEXT + 0x1000000);
	module = module_at("[my_mod]", UINT64_C(0xffffffffc0200000), NULL);
	assert_string_equal(name_at(module, 0x10), "none");
	assert_int_equal(tl_symbols_status(module), TL_DSO_NO_FILE);
}

static const struct example_symbol kernel_symbols[] = {
	{ "_text", TEXT, 0, STB_GLOBAL, STT_NOTYPE, 0, EXAMPLE_TEXT },
	{ "_Z3foov", TEXT + 0x10, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_TEXT },
};

static void a_vmlinux_comes_first_and_is_not_demangled(void **state)
{
	struct tl_symbols_dso *kernel;

	(void)state;
	write_kallsyms(ID_HEX, kallsyms);
	example_write_elf("cache/.build-id/30/3132333435363738396162636465666768696a/elf",
			  &(struct example_elf) { .type = ET_EXEC,
						  .vaddr = TEXT,
						  .build_id = id_bytes,
						  .build_id_size = 20,
						  .symbols = kernel_symbols,
						  .symbol_count = COUNT(kernel_symbols) });
	open_symbols(NULL);
	kernel = kernel_at(TEXT + 0x2000000);
	assert_string_equal(name_at(kernel, TEXT + 0x2000018), "_Z3foov");
}

static void a_vmlinux_of_another_build_is_refused_in_words(void **state)
{
	struct tl_symbols_dso *kernel;

	(void)state;
	example_write_elf("cache/.build-id/30/3132333435363738396162636465666768696a/elf",
			  &(struct example_elf) { .type = ET_EXEC,
						  .vaddr = TEXT,
						  .build_id = other_bytes,
						  .build_id_size = 20,
						  .symbols = kernel_symbols,
						  .symbol_count = COUNT(kernel_symbols) });
	open_symbols(NULL);
	kernel = kernel_at(TEXT);
	assert_int_equal(tl_symbols_status(kernel), TL_DSO_FOREIGN_KERNEL);
	assert_non_null(
		strstr(tl_symbols_reason(kernel), "6a69686766656463626139383736353433323130"));
}

/* The file of a module as distributions ship it: compressed, and linked by nobody. */
static void a_compressed_module_is_named_from_its_first_code(void **state)
{
	static const struct example_symbol names[] = {
		{ "_Z3runv", 0x10, 16, STB_LOCAL, STT_FUNC, 0, EXAMPLE_TEXT },
	};
	const struct tl_symbol_options options = { .symfs = example_root };
	struct tl_symbols_dso *module;
	size_t size, packed_size = 0;
	uint8_t *plain = example_build(&(struct example_elf) { .type = ET_REL,
							       .build_id = id_bytes,
							       .build_id_size = 20,
							       .symbols = names,
							       .symbol_count = COUNT(names) },
				       &size);
	uint8_t *packed = malloc(size + 1024);

	(void)state;
	assert_non_null(packed);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, plain, size, packed,
						 &packed_size, size + 1024),
			 LZMA_OK);
	example_write("lib/modules/6.1/kernel/fs/my-fs.ko.xz", packed, packed_size);
	free(plain);
	free(packed);
	assert_int_equal(tl_symbols_open(&symbols, &options, NULL, NULL), TL_OK);
	module = module_at("/lib/modules/6.1/kernel/fs/my-fs.ko.xz", UINT64_C(0xffffffffc0200000),
			   id_bytes);
	assert_string_equal(name_at(module, 0x18), "_Z3runv"); /* the kernel's are not demangled */
	assert_string_equal(name_at(module, 0x28), "none");
	module = module_at("/lib/modules/6.1/kernel/fs/my-fs.ko.xz", UINT64_C(0xffffffffc0200000),
			   other_bytes);
	assert_string_equal(name_at(module, 0x18), "none");
	assert_int_equal(tl_symbols_status(module), TL_DSO_MISMATCH);
}

static void the_running_kernel_does_not_name_another_build(void **state)
{
	struct tl_symbols_dso *kernel;

	(void)state;
	open_symbols(NULL);
	kernel = kernel_at(TEXT);
	assert_string_equal(name_at(kernel, TEXT + 0x100), "none");
	assert_int_equal(tl_symbols_status(kernel), TL_DSO_FOREIGN_KERNEL);
	assert_non_null(strstr(tl_symbols_reason(kernel), "recording has " ID_HEX));
}

/* A recording without a build-id: what would have to be true of it, one lie at a time. */
static const char *reason_for(const struct tl_recording *recording)
{
	struct tl_symbols_dso *kernel;

	tl_symbols_close(symbols);
	open_symbols(recording);
	kernel = make_dso(&(struct tl_dso_description) { .kind = TL_DSO_KERNEL,
							 .path = "[kernel.kallsyms]",
							 .pid = -1,
							 .inner_pid = TL_ID_NONE,
							 .reference_symbol = "_text",
							 .reference_address = 0x1234000 });
	assert_int_equal(tl_symbols_status(kernel), TL_DSO_FOREIGN_KERNEL);
	return tl_symbols_reason(kernel);
}

static void the_running_kernel_is_not_guessed(void **state)
{
	struct tl_recording recording = { 0 };
	struct utsname host;

	(void)state;
	assert_int_equal(uname(&host), 0);
	assert_non_null(strstr(reason_for(&recording), "does not name its host"));
	recording.hostname = "elsewhere.example";
	assert_non_null(strstr(reason_for(&recording), "another host"));
	recording.hostname = host.nodename;
	recording.arch = host.machine;
	recording.os_release = "2.4.0-ancient";
	assert_non_null(strstr(reason_for(&recording), "another kernel release"));
	recording.os_release = host.release;
	recording.end_unix_ns = 1000000000;
	assert_non_null(strstr(reason_for(&recording), "before this machine was started"));
	/* even then it has to be where the recording has it */
	recording.end_unix_ns = INT64_MAX;
	reason_for(&recording);
}

static void kallsyms_of_any_bytes_do_no_harm(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"x",
		"ffffffff81000000",
		"f T",
		"f T ",
		"fffffffffffffffff T long",
		"f T a\t[",
		"f T a\t",
		"f T a [b",
		"f  T a",
		"f T a\t[b]\nf T",
		"f T $x",
		"1 T a\n1 T",
		"ffffffffffffffff T end\nffffffffffffffff t [x]",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct symbols_kernel kernel = { 0 };

		symbols_kallsyms_parse(&kernel, strdup(texts[i]), strlen(texts[i]), NULL);
		symbols_table_find(&kernel.table, UINT64_MAX);
		symbols_kernel_release(&kernel);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_name_reaches_to_the_next_of_code_or_data),
		TEST(the_last_of_the_kernel_reaches_to_the_end_of_the_next_page),
		TEST(a_kernel_at_another_address_is_moved),
		TEST(without_the_reference_symbol_nothing_is_named),
		TEST(hidden_addresses_name_nothing),
		TEST(names_of_modules_are_not_those_of_the_kernel),
		TEST(a_module_is_named_by_the_kernels_table),
		TEST(a_module_of_another_boot_is_not),
		TEST(a_module_is_not_named_when_the_kernel_was_moved),
		TEST(a_vmlinux_comes_first_and_is_not_demangled),
		TEST(a_vmlinux_of_another_build_is_refused_in_words),
		TEST(a_compressed_module_is_named_from_its_first_code),
		TEST(the_running_kernel_does_not_name_another_build),
		TEST(the_running_kernel_is_not_guessed),
		TEST(kallsyms_of_any_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
