/*
 * symbols_perf_tree_test.c - the answers of perf 6.1 where names overlap, printed by it for a C
 * program of two functions; and the same answers as a search of all where they do not.
 */
#include "symbols_example.h"

static struct symbols_table table;

static int setup(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	table.is_like_perf = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	symbols_table_release(&table);
	return 0;
}

static void add(uint64_t start, uint32_t size, uint8_t binding, const char *name)
{
	struct symbols_entry entry = { .start = start, .size = size, .binding = binding };

	assert_int_equal(symbols_table_add_strings(&table, name, strlen(name), &entry.name, NULL),
			 TL_OK);
	assert_int_equal(symbols_table_add(&table, &entry, NULL), TL_OK);
}

static void end_stage(bool has_aliases)
{
	assert_int_equal(symbols_table_sort(&table, NULL), TL_OK);
	if (has_aliases)
		symbols_table_set_ends(&table);
	symbols_table_end_stage(&table, has_aliases);
}

static const char *name_at(uint64_t address)
{
	const struct symbols_entry *entry = symbols_table_find(&table, address);

	return entry ? symbols_table_name(&table, entry) : "[unknown]";
}

/* The .symtab of the program, in its order, then the two stubs. */
static void a_label_of_the_linker_hides_the_stubs_behind_it(void **state)
{
	(void)state;
	add(0x37c, 32, SYMBOLS_LOCAL, "__abi_tag");
	add(0x10d0, 0, SYMBOLS_LOCAL, "deregister_tm_clones");
	add(0x1100, 0, SYMBOLS_LOCAL, "register_tm_clones");
	add(0x1140, 0, SYMBOLS_LOCAL, "__do_global_dtors_aux");
	add(0x4020, 1, SYMBOLS_LOCAL, "completed.0");
	add(0x3dd8, 0, SYMBOLS_LOCAL, "__do_global_dtors_aux_fini_array_entry");
	add(0x1180, 0, SYMBOLS_LOCAL, "frame_dummy");
	add(0x3dd0, 0, SYMBOLS_LOCAL, "__frame_dummy_init_array_entry");
	add(0x3de0, 0, SYMBOLS_LOCAL, "_DYNAMIC");
	add(0x3fe8, 0, SYMBOLS_LOCAL, "_GLOBAL_OFFSET_TABLE_");
	add(0x4010, 0, SYMBOLS_WEAK, "data_start");
	add(0x4020, 0, SYMBOLS_GLOBAL, "_edata");
	add(0x1190, 114, SYMBOLS_GLOBAL, "outer");
	add(0x1204, 0, SYMBOLS_GLOBAL, "_fini");
	add(0x4010, 0, SYMBOLS_GLOBAL, "__data_start");
	add(0x4018, 0, SYMBOLS_GLOBAL, "__dso_handle");
	add(0x2000, 4, SYMBOLS_GLOBAL, "_IO_stdin_used");
	add(0x10a0, 34, SYMBOLS_GLOBAL, "_start");
	add(0x1060, 62, SYMBOLS_GLOBAL, "main");
	add(0x4020, 0, SYMBOLS_GLOBAL, "__TMC_END__");
	add(0x1000, 0, SYMBOLS_GLOBAL, "_init");
	end_stage(true);
	end_stage(true);
	add(0x1030, 16, SYMBOLS_GLOBAL, "printf");
	add(0x1040, 16, SYMBOLS_GLOBAL, "strtol");
	end_stage(false);
	assert_int_equal(symbols_table_finish(&table, NULL), TL_OK);

	assert_string_equal(name_at(0x1017), "_init");
	assert_string_equal(name_at(0x1030), "_init");
	assert_string_equal(name_at(0x1048), "_init");
	assert_string_equal(name_at(0x105f), "_init");
	assert_string_equal(name_at(0x1060), "main");
	assert_string_equal(name_at(0x109e), "[unknown]");
	assert_string_equal(name_at(0x10c1), "_start");
	assert_string_equal(name_at(0x10ff), "deregister_tm_clones");
	assert_string_equal(name_at(0x118f), "frame_dummy");
	assert_string_equal(name_at(0x1202), "[unknown]");
	assert_string_equal(name_at(0x120c), "_fini");
}

static void of_aliases_the_loser_is_gone(void **state)
{
	(void)state;
	add(100, 50, SYMBOLS_WEAK, "weak_and_long");
	add(100, 10, SYMBOLS_GLOBAL, "strong");
	end_stage(true);
	add(100, 60, SYMBOLS_LOCAL, "local");
	end_stage(true);
	assert_int_equal(symbols_table_finish(&table, NULL), TL_OK);
	assert_string_equal(name_at(105), "strong");
	assert_string_equal(name_at(120), "[unknown]");
}

/* Thousands that come and go in no order, without overlaps: the tree must not lose any. */
static void without_overlaps_the_answers_are_those_of_a_search_of_all(void **state)
{
	enum { PLACES = 4000 };
	static uint8_t best[PLACES];
	uint32_t x = 4711;

	(void)state;
	for (int i = 0; i < 3 * PLACES; i++) {
		uint32_t place;

		x = x * 1664525 + 1013904223;
		place = (x >> 8) % PLACES;
		/* of one place the first global one wins, else the first local one */
		add(place * 16, 8, x >> 31 ? SYMBOLS_GLOBAL : SYMBOLS_LOCAL, x >> 31 ? "g" : "l");
		best[place] |= x >> 31 ? 2 : 1;
		if (i == PLACES)
			end_stage(true);
	}
	end_stage(true);
	assert_int_equal(symbols_table_finish(&table, NULL), TL_OK);
	for (uint64_t place = 0; place < PLACES; place++) {
		static const char *const names[] = { "[unknown]", "l", "g", "g" };

		assert_string_equal(name_at(place * 16), names[best[place]]);
		assert_string_equal(name_at(place * 16 + 7), names[best[place]]);
		assert_string_equal(name_at(place * 16 + 8), "[unknown]");
	}
}

static void an_empty_table_names_nothing(void **state)
{
	(void)state;
	end_stage(true);
	assert_int_equal(symbols_table_finish(&table, NULL), TL_OK);
	assert_string_equal(name_at(0), "[unknown]");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_label_of_the_linker_hides_the_stubs_behind_it),
		TEST(of_aliases_the_loser_is_gone),
		TEST(without_overlaps_the_answers_are_those_of_a_search_of_all),
		TEST(an_empty_table_names_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
