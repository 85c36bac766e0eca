/*
 * symbols_table_test.c - lookups in a table of names; the choices between aliases are those that
 * perf 6.1 was seen to make.
 */
#include "symbols_example.h"

struct item {
	const char *name;
	uint64_t start;
	uint32_t size;
	uint8_t binding;
};

static struct symbols_table table;

static int setup(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	symbols_table_release(&table);
	return 0;
}

static void add(const struct item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct symbols_entry entry = { .start = items[i].start,
					       .size = items[i].size,
					       .binding = items[i].binding };

		assert_int_equal(symbols_table_add_strings(&table, items[i].name,
							   strlen(items[i].name), &entry.name,
							   NULL),
				 TL_OK);
		assert_int_equal(symbols_table_add(&table, &entry, NULL), TL_OK);
	}
	assert_int_equal(symbols_table_sort(&table, NULL), TL_OK);
	symbols_table_set_ends(&table);
	assert_int_equal(symbols_table_finish(&table, NULL), TL_OK);
}

#define ADD(...)                                                    \
	do {                                                        \
		static const struct item items[] = { __VA_ARGS__ }; \
		add(items, sizeof(items) / sizeof(items[0]));       \
	} while (0)

static const char *name_at(uint64_t address)
{
	const struct symbols_entry *entry = symbols_table_find(&table, address);

	return entry ? symbols_table_name(&table, entry) : "none";
}

static void an_empty_table_names_nothing(void **state)
{
	(void)state;
	assert_string_equal(name_at(5), "none");
}

static void a_symbol_covers_its_size_and_no_more(void **state)
{
	(void)state;
	ADD({ "b", 200, 10, SYMBOLS_GLOBAL }, { "a", 100, 10, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(99), "none");
	assert_string_equal(name_at(100), "a");
	assert_string_equal(name_at(109), "a");
	assert_string_equal(name_at(110), "none");
	assert_string_equal(name_at(205), "b");
	assert_string_equal(name_at(UINT64_MAX), "none");
}

static void a_symbol_without_size_reaches_to_the_next(void **state)
{
	(void)state;
	ADD({ "a", 100, 0, SYMBOLS_GLOBAL }, { "b", 200, 10, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(199), "a");
	assert_string_equal(name_at(200), "b");
}

static void the_last_one_without_size_reaches_to_the_next_page_and_one_more(void **state)
{
	(void)state;
	ADD({ "last", 4097, 0, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(8192 + 4095), "last");
	assert_string_equal(name_at(8192 + 4096), "none");
}

static void of_aliases_one_with_a_size_is_shown(void **state)
{
	(void)state;
	ADD({ "empty", 100, 0, SYMBOLS_GLOBAL }, { "sized", 100, 10, SYMBOLS_WEAK },
	    { "next", 120, 5, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(100), "sized");
}

static void of_aliases_without_size_the_last_is_shown(void **state)
{
	(void)state;
	ADD({ "_stext", 100, 0, SYMBOLS_GLOBAL }, { "_text", 100, 0, SYMBOLS_GLOBAL },
	    { "next", 120, 0, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(100), "_text");
	assert_string_equal(name_at(119), "_text");
}

static void of_aliases_the_strong_one_is_shown(void **state)
{
	(void)state;
	ADD({ "weak_but_long", 100, 10, SYMBOLS_WEAK }, { "x", 100, 10, SYMBOLS_LOCAL });
	assert_string_equal(name_at(105), "x");
}

static void of_aliases_the_global_one_is_shown(void **state)
{
	(void)state;
	ADD({ "local_but_long", 100, 10, SYMBOLS_LOCAL }, { "x", 100, 10, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(105), "x");
}

static void of_aliases_the_one_with_fewer_underscores_is_shown(void **state)
{
	(void)state;
	ADD({ "__libc_malloc_impl", 100, 10, SYMBOLS_GLOBAL },
	    { "malloc", 100, 10, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(105), "malloc");
}

static void of_aliases_the_longer_one_is_shown(void **state)
{
	(void)state;
	ADD({ "cfree", 100, 10, SYMBOLS_GLOBAL }, { "cfree@GLIBC_2.2.5", 100, 10, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(105), "cfree@GLIBC_2.2.5");
}

static void of_aliases_as_good_the_first_is_shown(void **state)
{
	(void)state;
	ADD({ "one", 100, 10, SYMBOLS_GLOBAL }, { "two", 100, 10, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(105), "one");
}

static void of_aliases_an_old_system_call_name_is_not_shown(void **state)
{
	(void)state;
	ADD({ "SyS_read", 100, 10, SYMBOLS_GLOBAL }, { "sys_read", 100, 10, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(105), "sys_read");
}

/* _ZN1AC1Ev and _ZN1AC2Ev are both A::A, and the mangled underscores do not count. */
static void aliases_are_compared_as_they_are_shown(void **state)
{
	(void)state;
	table.is_mangled = true;
	ADD({ "_ZN1AC2Ev", 100, 10, SYMBOLS_GLOBAL }, { "_ZN1AC1Ev", 100, 10, SYMBOLS_GLOBAL },
	    { "_ZN3foo3barEv", 200, 10, SYMBOLS_GLOBAL }, { "_f", 200, 10, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(105), "_ZN1AC2Ev");
	assert_string_equal(name_at(205), "_ZN3foo3barEv");
}

static void a_longer_alias_names_what_the_shown_one_does_not_reach(void **state)
{
	(void)state;
	ADD({ "strong", 100, 10, SYMBOLS_GLOBAL }, { "weak", 100, 50, SYMBOLS_WEAK },
	    { "far", 500, 10, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(105), "strong");
	assert_string_equal(name_at(120), "weak");
	assert_string_equal(name_at(150), "none");
}

static void the_innermost_of_nested_functions_is_shown(void **state)
{
	(void)state;
	ADD({ "outer", 100, 100, SYMBOLS_GLOBAL }, { "inner", 120, 20, SYMBOLS_GLOBAL },
	    { "innermost", 125, 5, SYMBOLS_GLOBAL }, { "next", 200, 5, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(119), "outer");
	assert_string_equal(name_at(127), "innermost");
	assert_string_equal(name_at(130), "inner");
	assert_string_equal(name_at(140), "outer");
	assert_string_equal(name_at(199), "outer");
	assert_string_equal(name_at(200), "next");
}

static void a_label_does_not_cut_the_function_around_it(void **state)
{
	(void)state;
	ADD({ "function", 100, 50, SYMBOLS_GLOBAL }, { "label", 120, 0, SYMBOLS_LOCAL },
	    { "next", 200, 5, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(120), "function");
	assert_string_equal(name_at(149), "function");
	assert_string_equal(name_at(160), "label");
}

static void sizes_beyond_four_gigabytes_do_not_wrap(void **state)
{
	(void)state;
	ADD({ "far", 0, 0, SYMBOLS_GLOBAL },
	    { "kernel", UINT64_C(0xffffffff81000000), 16, SYMBOLS_GLOBAL });
	assert_string_equal(name_at(UINT32_MAX - 1), "far");
	assert_string_equal(name_at(UINT64_C(0x200000000)), "none");
	assert_string_equal(name_at(UINT64_C(0xffffffff8100000f)), "kernel");
}

static uint32_t next_random(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	return *x ^= *x << 5;
}

/* Against the slow way, with entries in no order, nested and equal. */
static void lookups_agree_with_a_search_of_all(void **state)
{
	enum { COUNT = 3000 };
	static struct item items[COUNT];
	uint32_t seed = 12345;

	(void)state;
	for (int i = 0; i < COUNT; i++)
		items[i] = (struct item) { "n", next_random(&seed) % 100000,
					   1 + next_random(&seed) % 90, SYMBOLS_GLOBAL };
	add(items, COUNT);
	for (uint64_t address = 0; address < 101000; address++) {
		const struct symbols_entry *entry = symbols_table_find(&table, address);
		uint64_t nearest = UINT64_MAX;

		for (int i = 0; i < COUNT; i++)
			if (address - items[i].start < items[i].size &&
			    (nearest == UINT64_MAX || items[i].start > nearest))
				nearest = items[i].start;
		assert_int_equal(entry ? entry->start : UINT64_MAX, nearest);
	}
}

static void a_name_is_shown_demangled_and_kept_as_it_is(void **state)
{
	const struct symbols_shown *shown, *again;

	(void)state;
	table.is_mangled = true;
	ADD({ "_ZN3foo3barIiEEvT_", 100, 10, SYMBOLS_GLOBAL });
	assert_int_equal(symbols_table_show(&table, symbols_table_find(&table, 100), &shown, NULL),
			 TL_OK);
	assert_string_equal(shown->name, "foo::bar<int>");
	assert_string_equal(shown->linkage_name, "_ZN3foo3barIiEEvT_");
	assert_int_equal(symbols_table_show(&table, symbols_table_find(&table, 101), &again, NULL),
			 TL_OK);
	assert_ptr_equal(again, shown);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(an_empty_table_names_nothing),
		TEST(a_symbol_covers_its_size_and_no_more),
		TEST(a_symbol_without_size_reaches_to_the_next),
		TEST(the_last_one_without_size_reaches_to_the_next_page_and_one_more),
		TEST(of_aliases_one_with_a_size_is_shown),
		TEST(of_aliases_without_size_the_last_is_shown),
		TEST(of_aliases_the_strong_one_is_shown),
		TEST(of_aliases_the_global_one_is_shown),
		TEST(of_aliases_the_one_with_fewer_underscores_is_shown),
		TEST(of_aliases_the_longer_one_is_shown),
		TEST(of_aliases_as_good_the_first_is_shown),
		TEST(of_aliases_an_old_system_call_name_is_not_shown),
		TEST(aliases_are_compared_as_they_are_shown),
		TEST(a_longer_alias_names_what_the_shown_one_does_not_reach),
		TEST(the_innermost_of_nested_functions_is_shown),
		TEST(a_label_does_not_cut_the_function_around_it),
		TEST(sizes_beyond_four_gigabytes_do_not_wrap),
		TEST(lookups_agree_with_a_search_of_all),
		TEST(a_name_is_shown_demangled_and_kept_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
