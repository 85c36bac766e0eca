/*
 * symbols_inline_test.c - inlined frames of a program that is compiled here, against addr2line of
 * LLVM or binutils. Skipped where there is neither compiler nor addr2line.
 */
#include "symbols_example.h"

#include <inttypes.h>

static const char source[] =
	"struct point { int x, y; };\n"
	"static inline __attribute__((always_inline)) int square(int v) { return v * v; }\n"
	"static inline __attribute__((always_inline)) int norm(struct point p)\n"
	"{\n"
	"	return square(p.x) + square(p.y);\n"
	"}\n"
	"__attribute__((noinline)) int spread(struct point *p, int n)\n"
	"{\n"
	"	int sum = 0;\n"
	"	for (int i = 0; i < n; i++)\n"
	"		sum += norm(p[i]);\n"
	"	return sum;\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	struct point p[2] = { { argc, 2 }, { 3, argc } };\n"
	"	(void)argv;\n"
	"	return spread(p, argc) & 1;\n"
	"}\n";

static struct tl_symbols *symbols;
static const char *program;
static char offsets_command[1200];

static int run(const char *fmt, ...) TL_PRINTF(1, 2);

static int run(const char *fmt, ...)
{
	char command[2400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command);
}

static int setup(void **state)
{
	const struct tl_symbol_options options = { .want_inlines = true, .symfs = "" };
	const char *path;

	symbols = NULL;
	program = NULL;
	if (example_setup(state) < 0)
		return -1;
	path = example_write("inline.c", source, strlen(source));
	if (run("cc -O2 -g -Wl,--build-id -o %s/inline %s 2>/dev/null", example_root, path) != 0 ||
	    run("addr2line --version >/dev/null 2>&1") != 0)
		return 0;
	program = example_path("inline");
	/* addresses of spread(), one a line, as file offsets: the text of a PIE is at its offset */
	snprintf(offsets_command, sizeof(offsets_command),
		 "nm -S %s | awk '$4 == \"spread\" { print $1, $2 }'", program);
	return tl_symbols_open(&symbols, &options, NULL, NULL);
}

static int teardown(void **state)
{
	tl_symbols_close(symbols);
	return example_teardown(state);
}

static struct tl_symbols_dso *open_program(void)
{
	struct tl_dso_description description = {
		.kind = TL_DSO_FILE, .path = program, .pid = -1, .inner_pid = TL_ID_NONE
	};
	struct symbols_elf elf;
	struct tl_symbols_dso *dso;

	assert_int_equal(symbols_elf_open(&elf, &(struct symbols_place) { program, NULL }, NULL),
			 TL_OK);
	description.build_id = elf.build_id;
	symbols_elf_close(&elf);
	assert_int_equal(tl_symbols_dso(symbols, &description, &dso, NULL), TL_OK);
	assert_int_equal(tl_symbols_status(dso), TL_DSO_OK);
	return dso;
}

/* "function line" of each inlined frame, innermost first, as addr2line says. */
static size_t ask_addr2line(uint64_t address, char frames[16][128])
{
	char command[1200], function[16][64], place[256];
	size_t count = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "addr2line -i -f -e %s 0x%" PRIx64, program, address);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (count < 16 && fscanf(pipe, "%63s %255[^\n]", function[count], place) == 2) {
		const char *colon = strrchr(place, ':');

		/* the place of a frame is where the one before it was inlined */
		if (count)
			snprintf(frames[count - 1], 128, "%s %d", function[count - 1],
				 colon ? atoi(colon + 1) : 0);
		count++;
	}
	pclose(pipe);
	return count ? count - 1 : 0;
}

static void inlined_frames_are_those_of_addr2line(void **state)
{
	struct tl_symbols_dso *dso;
	uint64_t address, size;
	size_t inlined = 0;
	FILE *pipe;

	(void)state;
	if (!program)
		skip();
	pipe = popen(offsets_command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%" SCNx64 " %" SCNx64, &address, &size), 2);
	pclose(pipe);
	dso = open_program();
	for (uint64_t at = address; at < address + size; at++) {
		const struct tl_inline_frame *got;
		char expected[16][128];
		size_t count = ask_addr2line(at, expected);

		assert_int_equal(tl_symbols_inlines(dso, at, &got, NULL), count);
		for (size_t i = 0; i < count; i++) {
			char text[128];

			snprintf(text, sizeof(text), "%s %u", got[i].function, got[i].line);
			assert_string_equal(text, expected[i]);
			assert_non_null(strstr(got[i].file, "inline.c"));
		}
		inlined += count;
	}
	assert_true(inlined > 0);
}

static void without_the_wish_nothing_is_looked_for(void **state)
{
	const struct tl_symbol_options options = { 0 };
	const struct tl_inline_frame *got;

	(void)state;
	if (!program)
		skip();
	tl_symbols_close(symbols);
	assert_int_equal(tl_symbols_open(&symbols, &options, NULL, NULL), TL_OK);
	assert_int_equal(tl_symbols_inlines(open_program(), 0x1100, &got, NULL), 0);
}

static void debug_information_is_found_in_a_separate_file(void **state)
{
	const struct tl_inline_frame *got;
	uint64_t address, size;
	FILE *pipe;

	(void)state;
	if (!program ||
	    run("cd %s && objcopy --only-keep-debug inline inline.debug 2>/dev/null && "
		"objcopy --strip-debug --add-gnu-debuglink=inline.debug inline 2>/dev/null",
		example_root) != 0)
		skip();
	pipe = popen(offsets_command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%" SCNx64 " %" SCNx64, &address, &size), 2);
	pclose(pipe);
	for (uint64_t at = address; at < address + size; at++) {
		int count = tl_symbols_inlines(open_program(), at, &got, NULL);

		assert_true(count >= 0);
		if (count > 0)
			return;
	}
	fail_msg("no inlined frame in spread()");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(inlined_frames_are_those_of_addr2line),
		TEST(without_the_wish_nothing_is_looked_for),
		TEST(debug_information_is_found_in_a_separate_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
