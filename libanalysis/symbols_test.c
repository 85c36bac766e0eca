/*
 * symbols_test.c - the table of a recording's binaries: the same description is the same DSO,
 * symbols that the recording carries, known names, JIT code; and a program against nm.
 */
#include "symbols_example.h"

#include <inttypes.h>

static struct tl_symbols *symbols;

static int setup(void **state)
{
	const struct tl_symbol_options options = { .symfs = example_root };

	if (example_setup(state) < 0)
		return -1;
	return tl_symbols_open(&symbols, &options, NULL, NULL);
}

static int teardown(void **state)
{
	tl_symbols_close(symbols);
	return example_teardown(state);
}

static struct tl_symbols_dso *make_dso(const struct tl_dso_description *description)
{
	struct tl_symbols_dso *dso;

	assert_int_equal(tl_symbols_dso(symbols, description, &dso, NULL), TL_OK);
	return dso;
}

static const char *name_at(struct tl_symbols_dso *dso, uint64_t offset, int64_t ts)
{
	static struct tl_symbol symbol;

	return tl_symbols_find(dso, offset, ts, &symbol, NULL) == 1 ? symbol.name : "none";
}

static void the_same_description_is_the_same_dso(void **state)
{
	struct tl_dso_description d = { .kind = TL_DSO_FILE,
					.path = "/usr/bin/x",
					.pid = -1,
					.inner_pid = TL_ID_NONE,
					.has_inode = true,
					.inode = 7 };
	struct tl_symbols_dso *first = make_dso(&d);
	char path[] = "/usr/bin/x";

	(void)state;
	d.path = path;
	assert_ptr_equal(make_dso(&d), first);
	d.inode = 8;
	assert_ptr_not_equal(make_dso(&d), first);
	d.inode = 7;
	d.build_id = example_id("0123", 4);
	assert_ptr_not_equal(make_dso(&d), first);
}

static void nothing_is_named_when_nothing_is_wanted(void **state)
{
	const struct tl_symbol_options options = { .no_symbols = true };
	struct tl_symbols_dso *dso;

	(void)state;
	tl_symbols_close(symbols);
	assert_int_equal(tl_symbols_open(&symbols, &options, NULL, NULL), TL_OK);
	dso = make_dso(&(struct tl_dso_description) { .kind = TL_DSO_FILE, .path = "/bin/true" });
	assert_string_equal(name_at(dso, 0x2000, 0), "none");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_NOT_TRIED);
}

static void a_known_name_is_given_back(void **state)
{
	struct tl_symbols_dso *dso = make_dso(
		&(struct tl_dso_description) { .kind = TL_DSO_NAMED,
					       .path = "bpf_prog_6deef7357e7b4530_sd_devices",
					       .start = 0x1000,
					       .length = 0x100 });
	struct tl_symbol symbol;

	(void)state;
	assert_int_equal(tl_symbols_find(dso, 0x1010, 0, &symbol, NULL), 1);
	assert_string_equal(symbol.name, "bpf_prog_6deef7357e7b4530_sd_devices");
	assert_int_equal(symbol.start, 0x1000);
}

static void unmapped_memory_has_no_names(void **state)
{
	struct tl_symbols_dso *dso =
		make_dso(&(struct tl_dso_description) { .kind = TL_DSO_UNKNOWN, .path = NULL });

	(void)state;
	assert_string_equal(name_at(dso, 0, 0), "none");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_NOT_APPLICABLE);
	assert_string_equal(tl_symbols_reason(dso), "unmapped memory is no file with names");
}

static void symbols_of_the_recording_come_before_any_file(void **state)
{
	static const struct tl_symbol_entry entries[] = { { 0x5010, 0x10, "second" },
							  { 0x5000, 0x10, "_ZN1A5firstEv" } };
	static const struct tl_event_dso_symbols carried = { .path = "/system/lib64/libc.so",
							     .context = TL_CONTEXT_USER,
							     .has_segment = true,
							     .segment_vaddr = 0x5000,
							     .segment_offset = 0x1000,
							     .symbols = entries,
							     .symbol_count = 2 };
	struct tl_symbols_dso *dso;

	(void)state;
	assert_int_equal(tl_symbols_provide(symbols, &carried, NULL), TL_OK);
	dso = make_dso(&(struct tl_dso_description) { .kind = TL_DSO_FILE,
						      .path = "/system/lib64/libc.so" });
	assert_string_equal(name_at(dso, 0x1008, 0), "A::first");
	assert_string_equal(name_at(dso, 0x101f, 0), "second");
	assert_string_equal(name_at(dso, 0x1020, 0), "none");
	assert_int_equal(tl_symbols_status(dso), TL_DSO_OK);
	dso = make_dso(&(struct tl_dso_description) { .kind = TL_DSO_FILE,
						      .path = "/system/lib64/libm.so" });
	assert_string_equal(name_at(dso, 0x1008, 0), "none");
}

static void a_perf_map_is_found_by_pid_and_by_the_pid_inside(void **state)
{
	struct tl_dso_description d = {
		.kind = TL_DSO_PERF_MAP, .path = "//anon", .pid = 4711, .inner_pid = 12
	};

	(void)state;
	example_write("tmp/perf-12.map", "1000 10 inside\n", 15);
	assert_string_equal(name_at(make_dso(&d), 0x1008, 0), "inside");
	example_write("tmp/perf-4712.map", "1000 10 outside\n", 16);
	d.pid = 4712;
	assert_string_equal(name_at(make_dso(&d), 0x1008, 0), "outside");
	d.pid = 4713;
	d.inner_pid = TL_ID_NONE;
	assert_int_equal(tl_symbols_status(make_dso(&d)), TL_DSO_NO_FILE);
	assert_string_equal(tl_symbols_reason(make_dso(&d)), "/tmp/perf-4713.map: no such file");
}

static void a_jitdump_is_found_by_its_path(void **state)
{
	struct example_bytes dump = { 0 };
	struct tl_symbols_dso *dso;

	(void)state;
	example_put(&dump, 0x4a695444, 4);
	example_put(&dump, 1, 4);
	example_put(&dump, 40, 4);
	example_pad(&dump, 40);
	example_put(&dump, 0, 4);
	example_put(&dump, 16 + 40 + 5, 4);
	example_put(&dump, 100, 8);
	example_pad(&dump, dump.size + 16);
	example_put(&dump, 0x1000, 8);
	example_put(&dump, 0x10, 8);
	example_put(&dump, 0, 8);
	example_append(&dump, "code", 5);
	example_write("tmp/jit-1.dump", dump.data, dump.size);
	free(dump.data);
	dso = make_dso(
		&(struct tl_dso_description) { .kind = TL_DSO_JITDUMP, .path = "/tmp/jit-1.dump" });
	assert_string_equal(name_at(dso, 0x1008, 100), "code");
	assert_string_equal(name_at(dso, 0x1008, 99), "none");
	assert_null(tl_symbols_reason(dso));
}

static void every_status_has_words(void **state)
{
	(void)state;
	for (int status = TL_DSO_NOT_TRIED; status <= TL_DSO_NOT_APPLICABLE; status++)
		assert_string_not_equal(tl_dso_status_name((enum tl_dso_status)status), "unknown");
}

static const char source[] = "#include <stdio.h>\n"
			     "static int one(int v) { return v + 1; }\n"
			     "__attribute__((noinline)) int two(int v) { return one(v) * 2; }\n"
			     "int main(int argc, char **argv)\n"
			     "{ (void)argv; return printf(\"%d\\n\", two(argc)) < 0; }\n";

/* Compiled as a user would, and as seldom seen: every sized function of nm has its name. */
static void a_program_is_named_as_nm_names_it(void **state)
{
	static const char *const flags[] = { "-O2", "-O0 -no-pie", "-O0 -static",
					     "-O0 -Wl,-z,noseparate-code", "-O2 -g -Wl,-z,now" };
	const struct tl_symbol_options options = { 0 };
	char command[1200], line[512];

	(void)state;
	example_write("nm.c", source, strlen(source));
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct tl_dso_description d = { .kind = TL_DSO_FILE, .path = example_path("nm") };
		struct symbols_segment *segments;
		struct symbols_elf elf;
		struct tl_symbols_dso *dso;
		size_t segment_count, named = 0;
		FILE *pipe;

		snprintf(command, sizeof(command),
			 "cc %s -Wl,--build-id -o %s/nm %s/nm.c 2>/dev/null", flags[i],
			 example_root, example_root);
		if (system(command) != 0)
			skip();
		assert_int_equal(
			symbols_elf_open(&elf, &(struct symbols_place) { d.path, NULL }, NULL),
			TL_OK);
		d.build_id = elf.build_id;
		assert_int_equal(symbols_elf_segments(&elf, &segments, &segment_count, NULL),
				 TL_OK);
		symbols_elf_close(&elf);
		tl_symbols_close(symbols);
		assert_int_equal(tl_symbols_open(&symbols, &options, NULL, NULL), TL_OK);
		dso = make_dso(&d);
		snprintf(command, sizeof(command), "nm -S %s | awk '$3 == \"T\" && $2 != \"0\"'",
			 d.path);
		pipe = popen(command, "r");
		assert_non_null(pipe);
		while (fgets(line, sizeof(line), pipe)) {
			uint64_t address, size;
			char name[256], found[300], wanted[300];

			if (sscanf(line, "%" SCNx64 " %" SCNx64 " T %255s", &address, &size,
				   name) != 3)
				continue;
			for (size_t s = 0; s < segment_count; s++) {
				struct tl_symbol symbol;

				if (address - segments[s].vaddr >= segments[s].file_size)
					continue;
				assert_int_equal(tl_symbols_find(dso,
								 address - segments[s].vaddr +
									 segments[s].offset,
								 INT64_MIN, &symbol, NULL),
						 1);
				/* an alias may be shown: it begins at the same place */
				snprintf(found, sizeof(found), "%" PRIx64,
					 symbol.start - segments[s].offset + segments[s].vaddr);
				snprintf(wanted, sizeof(wanted), "%" PRIx64, address);
				assert_string_equal(found, wanted);
				if (!strcmp(name, "two") || !strcmp(name, "main"))
					assert_string_equal(symbol.name, name);
				named++;
			}
		}
		pclose(pipe);
		free(segments);
		assert_true(named >= 3); /* _start, main, two */
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_same_description_is_the_same_dso),
		TEST(nothing_is_named_when_nothing_is_wanted),
		TEST(a_known_name_is_given_back),
		TEST(unmapped_memory_has_no_names),
		TEST(symbols_of_the_recording_come_before_any_file),
		TEST(a_perf_map_is_found_by_pid_and_by_the_pid_inside),
		TEST(a_jitdump_is_found_by_its_path),
		TEST(every_status_has_words),
		TEST(a_program_is_named_as_nm_names_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
