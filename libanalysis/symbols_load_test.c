/*
 * symbols_load_test.c - finding the file of a binary, and refusing the wrong one: every place, every
 * layout of caches, and every way to be another build.
 */
#include "symbols_example.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <zlib.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char id_bytes[] = "0123456789abcdefghij";
static const char other_bytes[] = "jihgfedcba9876543210";
#define ID_DIR	  "30"
#define ID_REST	  "3132333435363738396162636465666768696a"
#define ID_HEX	  ID_DIR ID_REST
#define OTHER_HEX "6a69686766656463626139383736353433323130"

static struct tl_symbols *symbols;
static const char *cache;

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

static void open_symbols(const struct tl_symbol_options *options,
			 const struct tl_recording *recording)
{
	tl_symbols_close(symbols);
	assert_int_equal(tl_symbols_open(&symbols, options, recording, NULL), TL_OK);
}

static void open_with_cache(void)
{
	cache = example_path("cache");
	open_symbols(&(struct tl_symbol_options) { .buildid_dirs = &cache,
						   .buildid_dir_count = 1,
						   .no_default_dirs = true },
		     NULL);
}

/* Everything below the root, as --symfs. */
static void open_with_symfs(const struct tl_recording *recording)
{
	open_symbols(&(struct tl_symbol_options) { .symfs = example_root }, recording);
}

static struct tl_symbols_dso *make_dso(enum tl_dso_kind kind, const char *path, const char *id)
{
	struct tl_dso_description description = {
		.kind = kind, .path = path, .pid = -1, .inner_pid = TL_ID_NONE
	};
	struct tl_symbols_dso *dso;

	if (id)
		description.build_id = example_id(id, 20);
	assert_int_equal(tl_symbols_dso(symbols, &description, &dso, NULL), TL_OK);
	return dso;
}

static const char *name_at(struct tl_symbols_dso *dso, uint64_t offset)
{
	static struct tl_symbol symbol;

	return tl_symbols_find(dso, offset, INT64_MIN, &symbol, NULL) == 1 ? symbol.name : "none";
}

static const struct example_symbol local_symbols[] = {
	{ "local", 0x401100, 16, STB_LOCAL, STT_FUNC, 0, EXAMPLE_TEXT },
};
static const struct example_symbol dynamic_symbols[] = {
	{ "exported", 0x401100, 16, STB_GLOBAL, STT_FUNC, 0, EXAMPLE_TEXT },
};

/* Text at offset 0x1000 is at 0x401000: neither is the other minus the start of a map. */
static struct example_elf program(const char *id)
{
	return (struct example_elf) { .vaddr = 0x401000,
				      .build_id = id,
				      .build_id_size = id ? 20 : 0,
				      .symbols = local_symbols,
				      .symbol_count = COUNT(local_symbols) };
}

static struct example_elf stripped(const char *id)
{
	return (struct example_elf) { .vaddr = 0x401000,
				      .build_id = id,
				      .build_id_size = id ? 20 : 0,
				      .dynamic = dynamic_symbols,
				      .dynamic_count = COUNT(dynamic_symbols) };
}

static struct example_elf debug_file(const char *id)
{
	struct example_elf elf = program(id);

	elf.is_debug_only = true;
	return elf;
}

static void write_elf(const char *name, struct example_elf elf)
{
	example_write_elf(name, &elf);
}

/* ---- caches ---- */

static void assert_cached(void)
{
	struct tl_symbols_dso *dso;

	open_with_cache();
	dso = make_dso(TL_DSO_FILE, "/opt/gone/program", id_bytes);
	assert_string_equal(name_at(dso, 0x1108), "local");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_OK);
	assert_null(tl_symbols_reason(dso));
}

static void a_cache_holds_directories(void **state)
{
	(void)state;
	write_elf("cache/.build-id/" ID_DIR "/" ID_REST "/elf", program(id_bytes));
	assert_cached();
}

static void a_cache_holds_links_to_directories(void **state)
{
	(void)state;
	write_elf("cache/opt/gone/program/" ID_HEX "/elf", program(id_bytes));
	example_write("cache/.build-id/" ID_DIR "/x", "", 0);
	assert_int_equal(symlink("../../opt/gone/program/" ID_HEX,
				 example_path("cache/.build-id/" ID_DIR "/" ID_REST)),
			 0);
	assert_cached();
}

static void a_cache_holds_links_that_became_text(void **state)
{
	static const char target[] = "../../opt/gone/program/" ID_HEX;

	(void)state;
	write_elf("cache/opt/gone/program/" ID_HEX "/elf", program(id_bytes));
	example_write("cache/.build-id/" ID_DIR "/" ID_REST, target, strlen(target));
	assert_cached();
}

static void a_cache_of_old_holds_the_files_themselves(void **state)
{
	(void)state;
	write_elf("cache/.build-id/" ID_DIR "/" ID_REST, program(id_bytes));
	assert_cached();
}

static void a_cache_of_old_holds_links_to_files(void **state)
{
	(void)state;
	write_elf("cache/opt/gone/program/" ID_HEX, program(id_bytes));
	example_write("cache/.build-id/" ID_DIR "/x", "", 0);
	assert_int_equal(symlink("../../opt/gone/program/" ID_HEX,
				 example_path("cache/.build-id/" ID_DIR "/" ID_REST)),
			 0);
	assert_cached();
}

static void a_debug_file_in_the_cache_completes_a_stripped_one(void **state)
{
	(void)state;
	write_elf("cache/.build-id/" ID_DIR "/" ID_REST "/elf", stripped(id_bytes));
	write_elf("cache/.build-id/" ID_DIR "/" ID_REST "/debug", debug_file(id_bytes));
	assert_cached();
}

static void a_wrong_file_in_the_cache_names_nothing(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	write_elf("cache/.build-id/" ID_DIR "/" ID_REST "/elf", program(other_bytes));
	open_with_cache();
	dso = make_dso(TL_DSO_FILE, "/opt/gone/program", id_bytes);
	assert_string_equal(name_at(dso, 0x1108), "none");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_MISMATCH);
}

static void a_vdso_is_found_in_the_cache(void **state)
{
	(void)state;
	write_elf("cache/[vdso]/" ID_HEX "/vdso", program(id_bytes));
	open_with_cache();
	assert_string_equal(name_at(make_dso(TL_DSO_VDSO, "[vdso]", id_bytes), 0x1108), "local");
}

static void the_vdso_of_another_kernel_is_not_ours(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	open_with_cache();
	dso = make_dso(TL_DSO_VDSO, "[vdso]", id_bytes);
	assert_string_equal(name_at(dso, 0x800), "none");
	assert_int_not_equal(tl_symbols_status(dso), TL_DSO_OK);
}

/* ---- below --symfs ---- */

static void a_file_is_found_below_symfs(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	write_elf("usr/bin/program", program(id_bytes));
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes);
	assert_string_equal(name_at(dso, 0x1108), "local");
	assert_string_equal(tl_symbols_file(dso), example_path("usr/bin/program"));
}

static void a_deleted_file_is_found_by_its_build_id(void **state)
{
	(void)state;
	write_elf("usr/bin/program", program(id_bytes));
	open_with_symfs(NULL);
	assert_string_equal(
		name_at(make_dso(TL_DSO_FILE, "/usr/bin/program (deleted)", id_bytes), 0x1108),
		"local");
}

static void a_deleted_file_without_build_id_is_not_the_one_there_now(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	write_elf("usr/bin/program", program(NULL));
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program (deleted)", NULL);
	assert_string_equal(name_at(dso, 0x1108), "none");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_NO_FILE);
	assert_non_null(strstr(tl_symbols_reason(dso), "was deleted"));
}

static void another_build_names_nothing_and_is_told(void **state)
{
	struct tl_symbols_dso *dso;
	char expected[1024];

	(void)state;
	write_elf("usr/bin/program", program(other_bytes));
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes);
	assert_string_equal(name_at(dso, 0x1108), "none");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_MISMATCH);
	snprintf(expected, sizeof(expected), "%s has build-id " OTHER_HEX ", recording has " ID_HEX,
		 example_path("usr/bin/program"));
	assert_string_equal(tl_symbols_reason(dso), expected);
}

static void a_file_without_build_id_is_another_build(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	write_elf("usr/bin/program", program(NULL));
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes);
	assert_int_equal(tl_symbols_status(dso), TL_DSO_MISMATCH);
	assert_non_null(strstr(tl_symbols_reason(dso), "has no build-id"));
}

static void a_short_build_id_may_be_padded_with_zeros(void **state)
{
	struct example_elf elf = program("abcdefgh");
	struct tl_symbols_dso *dso;

	(void)state;
	elf.build_id_size = 8;
	write_elf("usr/bin/program", elf);
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", "abcdefgh\0\0\0\0\0\0\0\0\0\0\0");
	assert_string_equal(name_at(dso, 0x1108), "local");
}

static void debug_files_are_found_by_build_id(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	write_elf("usr/bin/program", stripped(id_bytes));
	write_elf("usr/lib/debug/.build-id/" ID_DIR "/" ID_REST ".debug", debug_file(id_bytes));
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes);
	assert_string_equal(name_at(dso, 0x1108), "local");
	assert_non_null(strstr(tl_symbols_file(dso), ".debug"));
}

static void debug_files_are_found_by_path(void **state)
{
	(void)state;
	write_elf("usr/bin/program", stripped(id_bytes));
	write_elf("usr/lib/debug/usr/bin/program.debug", debug_file(id_bytes));
	open_with_symfs(NULL);
	assert_string_equal(name_at(make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes), 0x1108),
			    "local");
}

static void a_debug_file_of_another_build_is_not_taken(void **state)
{
	(void)state;
	write_elf("usr/bin/program", stripped(id_bytes));
	write_elf("usr/lib/debug/usr/bin/program.debug", debug_file(other_bytes));
	open_with_symfs(NULL);
	assert_string_equal(name_at(make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes), 0x1108),
			    "exported");
}

/* A program without build-ids, whose debug link says the CRC of its debug file, plus `error`. */
static void write_linked(const char *debug_name, uint32_t error)
{
	struct example_elf elf = stripped(NULL), debug = debug_file(NULL);
	size_t size;
	uint8_t *data = example_build(&debug, &size);

	elf.debuglink = "program.debug";
	elf.debuglink_crc = (uint32_t)crc32(crc32(0, NULL, 0), data, (uInt)size) + error;
	example_write(debug_name, data, size);
	write_elf("usr/bin/program", elf);
	free(data);
}

static void a_debug_link_is_followed_when_its_sum_fits(void **state)
{
	static const char *const places[] = { "usr/bin/program.debug",
					      "usr/bin/.debug/program.debug",
					      "usr/lib/debug/usr/bin/program.debug" };

	(void)state;
	for (size_t i = 0; i < COUNT(places); i++) {
		write_linked(places[i], 0);
		open_with_symfs(NULL);
		assert_string_equal(
			name_at(make_dso(TL_DSO_FILE, "/usr/bin/program", NULL), 0x1108), "local");
		assert_int_equal(unlink(example_path(places[i])), 0);
	}
}

static void a_debug_link_is_not_followed_when_its_sum_does_not_fit(void **state)
{
	(void)state;
	write_linked("usr/bin/program.debug", 1);
	open_with_symfs(NULL);
	assert_string_equal(name_at(make_dso(TL_DSO_FILE, "/usr/bin/program", NULL), 0x1108),
			    "exported");
}

static void a_file_without_symbols_is_told(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	write_elf("usr/bin/program", (struct example_elf) { .vaddr = 0x401000,
							    .build_id = id_bytes,
							    .build_id_size = 20 });
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes);
	assert_int_equal(tl_symbols_status(dso), TL_DSO_STRIPPED);
	assert_non_null(tl_symbols_image(dso)); /* the unwinder can use it all the same */
}

static void a_file_that_is_not_there_is_told(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes);
	assert_int_equal(tl_symbols_status(dso), TL_DSO_NO_FILE);
	assert_string_equal(tl_symbols_reason(dso),
			    "/usr/bin/program: no file with build-id " ID_HEX);
}

static void nothing_of_this_machine_is_used_below_symfs(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/proc/self/exe", NULL);
	assert_int_equal(tl_symbols_status(dso), TL_DSO_NO_FILE);
}

static void what_is_not_elf_is_told(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	example_write("usr/bin/script", "#!/bin/sh\n", 10);
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/script", NULL);
	assert_int_equal(tl_symbols_status(dso), TL_DSO_NOT_ELF);
	assert_non_null(strstr(tl_symbols_reason(dso), "not an ELF file"));
}

static void fifos_and_directories_are_not_opened(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	example_write("usr/bin/x", "", 0);
	assert_int_equal(mkfifo(example_path("usr/bin/fifo"), 0600), 0);
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/fifo", NULL);
	assert_int_equal(tl_symbols_status(dso), TL_DSO_NOT_ELF);
	assert_non_null(strstr(tl_symbols_reason(dso), "not a regular file"));
	assert_int_equal(tl_symbols_status(make_dso(TL_DSO_FILE, "/usr/bin", NULL)),
			 TL_DSO_NOT_ELF);
}

static void names_of_memory_are_no_files(void **state)
{
	static const char *const paths[] = { "[heap]",
					     "[stack]",
					     "//anon",
					     "anon_inode:[io]",
					     "/dev/zero (deleted)",
					     "/SYSV00000000 (deleted)",
					     "" };

	(void)state;
	open_with_symfs(NULL);
	for (size_t i = 0; i < COUNT(paths); i++)
		assert_int_equal(tl_symbols_status(make_dso(TL_DSO_FILE, paths[i], NULL)),
				 TL_DSO_NOT_APPLICABLE);
}

static void a_file_of_another_architecture_is_told(void **state)
{
	struct example_elf elf = program(NULL);
	struct tl_symbols_dso *dso;

	(void)state;
	elf.machine = EM_AARCH64;
	write_elf("usr/bin/program", elf);
	open_with_symfs(&(struct tl_recording) { .arch = "x86_64" });
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", NULL);
	assert_int_equal(tl_symbols_status(dso), TL_DSO_WRONG_ARCH);
}

static void a_file_written_after_the_recording_is_told(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	write_elf("usr/bin/program", program(NULL));
	open_with_symfs(&(struct tl_recording) { .end_unix_ns = INT64_C(1600000000000000000) });
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", NULL);
	assert_string_equal(name_at(dso, 0x1108), "none");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_CHANGED);
}

/* ---- this machine's files, without build-ids ---- */

/* The program below the root by its own path, as this host recorded it. */
static struct tl_symbols_dso *recorded_here(const char *hostname, uint64_t inode_error)
{
	static char path[1024];
	struct tl_dso_description description = { .kind = TL_DSO_FILE,
						  .path = path,
						  .pid = -1,
						  .inner_pid = TL_ID_NONE,
						  .has_inode = true };
	struct tl_symbols_dso *dso;
	struct stat st;

	write_elf("program", program(NULL));
	snprintf(path, sizeof(path), "%s", example_path("program"));
	assert_int_equal(stat(path, &st), 0);
	description.major = major(st.st_dev);
	description.minor = minor(st.st_dev);
	description.inode = st.st_ino + inode_error;
	open_symbols(&(struct tl_symbol_options) { .no_default_dirs = true },
		     &(struct tl_recording) { .hostname = hostname });
	assert_int_equal(tl_symbols_dso(symbols, &description, &dso, NULL), TL_OK);
	return dso;
}

static void the_same_inode_is_the_same_file(void **state)
{
	struct utsname host;

	(void)state;
	assert_int_equal(uname(&host), 0);
	assert_string_equal(name_at(recorded_here(host.nodename, 0), 0x1108), "local");
	assert_string_equal(name_at(recorded_here(NULL, 0), 0x1108), "local");
}

static void another_inode_is_another_file(void **state)
{
	struct tl_symbols_dso *dso;
	struct utsname host;

	(void)state;
	assert_int_equal(uname(&host), 0);
	dso = recorded_here(host.nodename, 1);
	assert_string_equal(name_at(dso, 0x1108), "none");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_CHANGED);
	assert_non_null(strstr(tl_symbols_reason(dso), "is another file than the one recorded"));
}

static void a_file_of_the_same_path_on_another_host_is_not_trusted(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	dso = recorded_here("elsewhere.example", 0);
	assert_string_equal(name_at(dso, 0x1108), "none");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_CHANGED);
	assert_non_null(strstr(tl_symbols_reason(dso), "recorded on elsewhere.example"));
}

/* ---- addresses and images ---- */

static void an_offset_becomes_an_address_by_its_segment(void **state)
{
	struct tl_symbols_dso *dso;
	struct tl_symbol symbol;
	uint64_t address = 0;

	(void)state;
	write_elf("usr/bin/program", program(id_bytes));
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes);
	assert_true(tl_symbols_address(dso, 0x1108, &address));
	assert_int_equal(address, 0x401108);
	assert_false(tl_symbols_address(dso, 0x9000, &address));
	assert_int_equal(tl_symbols_find(dso, 0x1108, INT64_MIN, &symbol, NULL), 1);
	assert_int_equal(symbol.start, 0x1100); /* in the unit of the offset */
	assert_int_equal(symbol.size, 16);
}

static void the_image_is_the_file_with_the_code(void **state)
{
	const struct tl_symbols_image *image;
	struct tl_symbols_dso *dso;
	struct stat st;

	(void)state;
	write_elf("usr/bin/program", stripped(id_bytes));
	write_elf("usr/lib/debug/.build-id/" ID_DIR "/" ID_REST ".debug", debug_file(id_bytes));
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes);
	image = tl_symbols_image(dso);
	assert_non_null(image);
	assert_int_equal(stat(example_path("usr/bin/program"), &st), 0);
	assert_int_equal(image->size, st.st_size);
	assert_memory_equal(image->data, "\177ELF", 4);
}

static void an_image_is_not_taken_from_a_file_that_changed_since(void **state)
{
	struct tl_symbols_dso *dso;

	(void)state;
	write_elf("usr/bin/program", program(id_bytes));
	open_with_symfs(NULL);
	dso = make_dso(TL_DSO_FILE, "/usr/bin/program", id_bytes);
	assert_int_equal(tl_symbols_status(dso), TL_DSO_OK);
	assert_int_equal(truncate(example_path("usr/bin/program"), 100), 0);
	assert_null(tl_symbols_image(dso));
	assert_string_equal(name_at(dso, 0x1108), "local"); /* names were read before */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_cache_holds_directories),
		TEST(a_cache_holds_links_to_directories),
		TEST(a_cache_holds_links_that_became_text),
		TEST(a_cache_of_old_holds_the_files_themselves),
		TEST(a_cache_of_old_holds_links_to_files),
		TEST(a_debug_file_in_the_cache_completes_a_stripped_one),
		TEST(a_wrong_file_in_the_cache_names_nothing),
		TEST(a_vdso_is_found_in_the_cache),
		TEST(the_vdso_of_another_kernel_is_not_ours),
		TEST(a_file_is_found_below_symfs),
		TEST(a_deleted_file_is_found_by_its_build_id),
		TEST(a_deleted_file_without_build_id_is_not_the_one_there_now),
		TEST(another_build_names_nothing_and_is_told),
		TEST(a_file_without_build_id_is_another_build),
		TEST(a_short_build_id_may_be_padded_with_zeros),
		TEST(debug_files_are_found_by_build_id),
		TEST(debug_files_are_found_by_path),
		TEST(a_debug_file_of_another_build_is_not_taken),
		TEST(a_debug_link_is_followed_when_its_sum_fits),
		TEST(a_debug_link_is_not_followed_when_its_sum_does_not_fit),
		TEST(a_file_without_symbols_is_told),
		TEST(a_file_that_is_not_there_is_told),
		TEST(nothing_of_this_machine_is_used_below_symfs),
		TEST(what_is_not_elf_is_told),
		TEST(fifos_and_directories_are_not_opened),
		TEST(names_of_memory_are_no_files),
		TEST(a_file_of_another_architecture_is_told),
		TEST(a_file_written_after_the_recording_is_told),
		TEST(the_same_inode_is_the_same_file),
		TEST(another_inode_is_another_file),
		TEST(a_file_of_the_same_path_on_another_host_is_not_trusted),
		TEST(an_offset_becomes_an_address_by_its_segment),
		TEST(the_image_is_the_file_with_the_code),
		TEST(an_image_is_not_taken_from_a_file_that_changed_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
