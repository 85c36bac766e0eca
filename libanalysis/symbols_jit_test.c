/*
 * symbols_jit_test.c - perf maps, where the later line is true, and jitdumps, where time tells.
 */
#include "symbols_example.h"

#include "reader.h"

static struct symbols_jit jit;

static int setup(void **state)
{
	(void)state;
	memset(&jit, 0, sizeof(jit));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	symbols_jit_release(&jit);
	return 0;
}

static const char *name_at(uint64_t ip, int64_t ts)
{
	const struct symbols_entry *entry = symbols_jit_find(&jit, ip, ts);

	return entry ? jit.table.strings + entry->name : "none";
}

/* ---- perf maps ---- */

static void read_map(const char *text)
{
	assert_int_equal(symbols_perf_map_parse(&jit, strdup(text), strlen(text), NULL), TL_OK);
}

static void a_line_names_its_range(void **state)
{
	(void)state;
	read_map("7f0010 20 LazyCompile:~fib fib.js:1\n7f0040 10 b\n");
	assert_string_equal(name_at(0x7f000f, 0), "none");
	assert_string_equal(name_at(0x7f0010, 0), "LazyCompile:~fib fib.js:1");
	assert_string_equal(name_at(0x7f002f, 0), "LazyCompile:~fib fib.js:1");
	assert_string_equal(name_at(0x7f0030, 0), "none");
	assert_string_equal(name_at(0x7f0040, 0), "b");
}

static void the_later_line_wins_where_both_are(void **state)
{
	(void)state;
	read_map("1000 100 old\n1080 100 new\n1010 8 newest\n");
	assert_string_equal(name_at(0x1000, 0), "old");
	assert_string_equal(name_at(0x1010, 0), "newest");
	assert_string_equal(name_at(0x1018, 0), "old");
	assert_string_equal(name_at(0x107f, 0), "old");
	assert_string_equal(name_at(0x1080, 0), "new");
	assert_string_equal(name_at(0x117f, 0), "new");
	assert_string_equal(name_at(0x1180, 0), "none");
}

static void a_later_line_hides_all_that_it_covers(void **state)
{
	(void)state;
	read_map("1000 10 a\n1010 10 b\n1008 100 all\n1000 10 a2\n");
	assert_string_equal(name_at(0x1000, 0), "a2");
	assert_string_equal(name_at(0x100f, 0), "a2");
	assert_string_equal(name_at(0x1010, 0), "all");
	assert_string_equal(name_at(0x1107, 0), "all");
}

static void prefixes_and_a_missing_newline_are_accepted(void **state)
{
	(void)state;
	read_map("0x1000 0x10 first\n0X2000 0X10 last");
	assert_string_equal(name_at(0x1000, 0), "first");
	assert_string_equal(name_at(0x2008, 0), "last");
}

static void lines_that_say_something_else_are_passed_over(void **state)
{
	(void)state;
	read_map("\n \nxyz\n1000\n1000 10\n1000 10 \n1000 zz a\n-5 10 a\n1000 0 empty\n"
		 "11112222333344445 1 toolong\n2000 10 good\n");
	assert_int_equal(jit.table.count, 1);
	assert_string_equal(name_at(0x2000, 0), "good");
}

static void a_range_may_end_where_addresses_end(void **state)
{
	(void)state;
	read_map("fffffffffffffff0 100 high\n0 1 low\n");
	assert_string_equal(name_at(UINT64_MAX - 1, 0), "high");
	assert_string_equal(name_at(0, 0), "low");
	assert_string_equal(name_at(1, 0), "none");
}

/* Against the slow way: the last line that covers the place. */
static void lookups_agree_with_a_search_of_all_lines(void **state)
{
	enum { LINES = 400, SPACE = 4000 };
	static const char *expected[SPACE];
	static char names[LINES][16];
	struct tl_text text = { 0 };
	uint32_t x = 99;

	(void)state;
	for (int i = 0; i < LINES; i++) {
		uint32_t start, size;

		x = x * 1664525 + 1013904223;
		start = x >> 8 & 0xfff;
		x = x * 1664525 + 1013904223;
		size = 1 + (x >> 8 & 63);
		snprintf(names[i], sizeof(names[i]), "line%d", i);
		tl_text_printf(&text, "%x %x %s\n", start, size, names[i]);
		for (uint32_t at = start; at < start + size && at < SPACE; at++)
			expected[at] = names[i];
	}
	read_map(text.data);
	tl_text_release(&text);
	for (uint64_t ip = 0; ip < SPACE; ip++)
		assert_string_equal(name_at(ip, 0), expected[ip] ? expected[ip] : "none");
}

/* ---- jitdumps ---- */

static struct example_bytes dump;

static void begin_dump(bool is_big_endian, uint64_t flags)
{
	memset(&dump, 0, sizeof(dump));
	dump.is_big_endian = is_big_endian;
	example_put(&dump, 0x4a695444, 4);
	example_put(&dump, 1, 4);
	example_put(&dump, 40, 4);
	example_put(&dump, 62, 4);
	example_put(&dump, 0, 4);
	example_put(&dump, 1234, 4);
	example_put(&dump, 0, 8);
	example_put(&dump, flags, 8);
}

static void load_code(uint64_t time, uint64_t address, uint64_t size, uint64_t index,
		      const char *name)
{
	example_put(&dump, 0, 4);
	example_put(&dump, 16 + 40 + strlen(name) + 1 + size, 4);
	example_put(&dump, time, 8);
	example_put(&dump, 1234, 4);
	example_put(&dump, 1234, 4);
	example_put(&dump, address, 8);
	example_put(&dump, address, 8);
	example_put(&dump, size, 8);
	example_put(&dump, index, 8);
	example_append(&dump, name, strlen(name) + 1);
	example_pad(&dump, dump.size + size);
}

static void move_code(uint64_t time, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	example_put(&dump, 1, 4);
	example_put(&dump, 16 + 48, 4);
	example_put(&dump, time, 8);
	example_put(&dump, 1234, 4);
	example_put(&dump, 1234, 4);
	example_put(&dump, to, 8);
	example_put(&dump, from, 8);
	example_put(&dump, to, 8);
	example_put(&dump, size, 8);
	example_put(&dump, index, 8);
}

static int read_dump(size_t size, struct tl_error *damage, struct tl_error *err)
{
	struct tl_input *in;
	int ret;

	assert_int_equal(tl_input_open_memory(&in, "jit.dump", dump.data, size, NULL), TL_OK);
	ret = symbols_jitdump_read(&jit, in, damage, err);
	tl_input_close(in);
	free(dump.data);
	return ret;
}

static void read_whole_dump(void)
{
	struct tl_error damage = { 0 };

	assert_int_equal(read_dump(dump.size, &damage, NULL), TL_OK);
	assert_int_equal(damage.status, 0);
}

static void code_has_its_name_from_its_load_on(void **state)
{
	(void)state;
	begin_dump(false, 0);
	load_code(100, 0x1000, 0x20, 1, "first");
	load_code(200, 0x1010, 0x20, 2, "second");
	read_whole_dump();
	assert_string_equal(name_at(0x1000, 99), "none");
	assert_string_equal(name_at(0x1000, 100), "first");
	assert_string_equal(name_at(0x1018, 199), "first");
	assert_string_equal(name_at(0x1018, 200), "second");
	assert_string_equal(name_at(0x1008, 300), "first");
	assert_string_equal(name_at(0x1030, 300), "none");
}

static void without_a_time_the_last_load_counts(void **state)
{
	(void)state;
	begin_dump(false, 0);
	load_code(100, 0x1000, 0x20, 1, "first");
	load_code(200, 0x1000, 0x20, 2, "second");
	read_whole_dump();
	assert_string_equal(name_at(0x1000, INT64_MIN), "second");
}

static void times_of_the_processors_own_counter_are_not_compared(void **state)
{
	(void)state;
	begin_dump(false, 1);
	load_code(UINT64_C(5000000000000), 0x1000, 0x20, 1, "code");
	read_whole_dump();
	assert_string_equal(name_at(0x1000, 100), "code");
}

static void moved_code_takes_its_name_along(void **state)
{
	(void)state;
	begin_dump(false, 0);
	load_code(100, 0x1000, 0x20, 7, "mover");
	move_code(200, 0x1000, 0x5000, 0x20, 7);
	move_code(300, 0x5000, 0x9000, 0x20, 7);
	read_whole_dump();
	assert_string_equal(name_at(0x1000, 150), "mover");
	assert_string_equal(name_at(0x1000, 200), "none");
	assert_string_equal(name_at(0x5000, 199), "none");
	assert_string_equal(name_at(0x501f, 250), "mover");
	assert_string_equal(name_at(0x5000, 300), "none");
	assert_string_equal(name_at(0x9000, 300), "mover");
}

static void a_move_of_what_was_never_loaded_is_ignored(void **state)
{
	(void)state;
	begin_dump(false, 0);
	load_code(100, 0x1000, 0x20, 7, "stays");
	move_code(200, 0x1000, 0x5000, 0x20, 8);
	read_whole_dump();
	assert_string_equal(name_at(0x1000, 300), "stays");
	assert_string_equal(name_at(0x5000, 300), "none");
}

static void the_other_byte_order_reads_the_same(void **state)
{
	(void)state;
	begin_dump(true, 0);
	load_code(100, 0x1000, 0x20, 1, "big");
	move_code(200, 0x1000, 0x5000, 0x20, 1);
	read_whole_dump();
	assert_string_equal(name_at(0x1000, 150), "big");
	assert_string_equal(name_at(0x5000, 250), "big");
}

static void records_of_other_kinds_are_stepped_over(void **state)
{
	(void)state;
	begin_dump(false, 0);
	for (int id = 2; id < 6; id++) {
		example_put(&dump, (uint64_t)id, 4);
		example_put(&dump, 24, 4);
		example_put(&dump, 50, 8);
		example_put(&dump, UINT64_MAX, 8);
	}
	load_code(100, 0x1000, 0x20, 1, "after");
	read_whole_dump();
	assert_string_equal(name_at(0x1000, 150), "after");
}

static void code_longer_than_the_window_is_stepped_over(void **state)
{
	(void)state;
	begin_dump(false, 0);
	load_code(100, 0x100000, 0x40000, 1, "large");
	load_code(100, 0x1000, 0x20, 2, "after");
	read_whole_dump();
	assert_string_equal(name_at(0x13ffff, 150), "large");
	assert_string_equal(name_at(0x1000, 150), "after");
}

static void a_record_smaller_than_its_header_ends_the_log_and_is_told(void **state)
{
	struct tl_error damage = { 0 };
	size_t at;

	(void)state;
	begin_dump(false, 0);
	load_code(100, 0x1000, 0x20, 1, "before");
	at = dump.size;
	example_put(&dump, 0, 4);
	example_put(&dump, 4, 4);
	example_pad(&dump, dump.size + 100);
	assert_int_equal(read_dump(dump.size, &damage, NULL), TL_OK);
	assert_int_equal(damage.position, at);
	assert_string_equal(damage.text, "record size 4 is smaller than its header");
	assert_string_equal(name_at(0x1000, 150), "before");
}

static void a_log_cut_at_any_byte_keeps_what_came_before(void **state)
{
	(void)state;
	for (size_t cut = 40; cut < 40 + 2 * 66; cut++) {
		struct tl_error damage = { 0 };

		begin_dump(false, 0);
		load_code(100, 0x1000, 3, 1, "first1");
		load_code(200, 0x2000, 3, 2, "second");
		assert_int_equal(read_dump(cut, &damage, NULL), TL_OK);
		assert_string_equal(name_at(0x1000, 300), cut >= 40 + 63 ? "first1" : "none");
		assert_string_equal(name_at(0x2000, 300), cut >= 40 + 66 + 63 ? "second" : "none");
		symbols_jit_release(&jit);
	}
}

static void a_file_that_is_no_jitdump_is_refused_in_words(void **state)
{
	struct tl_error damage = { 0 }, err = { 0 };

	(void)state;
	begin_dump(false, 0);
	dump.data[0] = 'x';
	assert_int_equal(read_dump(dump.size, &damage, &err), TL_FORMAT);
	assert_string_equal(err.text, "magic 4a695478 is not that of a jitdump");
}

static void a_newer_version_is_refused_in_words(void **state)
{
	struct tl_error damage = { 0 }, err = { 0 };

	(void)state;
	begin_dump(false, 0);
	dump.data[4] = 2;
	assert_int_equal(read_dump(dump.size, &damage, &err), TL_UNSUPPORTED);
	assert_string_equal(err.text, "jitdump version 2, known is 1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_line_names_its_range),
		TEST(the_later_line_wins_where_both_are),
		TEST(a_later_line_hides_all_that_it_covers),
		TEST(prefixes_and_a_missing_newline_are_accepted),
		TEST(lines_that_say_something_else_are_passed_over),
		TEST(a_range_may_end_where_addresses_end),
		TEST(lookups_agree_with_a_search_of_all_lines),
		TEST(code_has_its_name_from_its_load_on),
		TEST(without_a_time_the_last_load_counts),
		TEST(times_of_the_processors_own_counter_are_not_compared),
		TEST(moved_code_takes_its_name_along),
		TEST(a_move_of_what_was_never_loaded_is_ignored),
		TEST(the_other_byte_order_reads_the_same),
		TEST(records_of_other_kinds_are_stepped_over),
		TEST(code_longer_than_the_window_is_stepped_over),
		TEST(a_record_smaller_than_its_header_ends_the_log_and_is_told),
		TEST(a_log_cut_at_any_byte_keeps_what_came_before),
		TEST(a_file_that_is_no_jitdump_is_refused_in_words),
		TEST(a_newer_version_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
