/*
 * output_test.c - the same rows as table, JSON and CSV, into memory.
 */
#include "output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct column columns[] = {
	{ "name", "name", COLUMN_TEXT, false },
	{ "sample_count", "samples", COLUMN_INTEGER, false },
	{ "median_ns", "median", COLUMN_DURATION, false },
	{ "share_ratio", "share", COLUMN_RATIO, false },
};

static const struct output_options as_table, as_json = { .is_json = true },
					     as_csv = { .is_csv = true };

static void print_rows(struct output *output)
{
	struct tl_error err = { 0 };
	struct cell first[] = { cell_text("a,\"b\""), cell_integer(12), cell_integer(1234567),
				cell_real(0.25) };
	struct cell second[] = { cell_text("longer name"), cell_unknown(), cell_integer(5),
				 cell_real(1) };

	assert_int_equal(output_table(output, "rows", NULL, columns, 4, &err), TL_OK);
	assert_int_equal(output_row(output, first, &err), TL_OK);
	assert_int_equal(output_row(output, second, &err), TL_OK);
}

static void assert_printed(const struct output_options *options, bool is_document,
			   void (*print)(struct output *), const char *expected)
{
	struct tl_error err = { 0 };
	struct output *output;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_int_equal(output_open(&output, file, options, is_document, &err), TL_OK);
	print(output);
	assert_int_equal(output_close(output, &err), TL_OK);
	fclose(file);
	assert_string_equal(text, expected);
	free(text);
}

static void table_is_aligned_in_human_units(void **state)
{
	(void)state;
	assert_printed(&as_table, false, print_rows,
		       "name         samples    median    share\n"
		       "a,\"b\"             12  1.235 ms   25.0 %\n"
		       "longer name        -      5 ns  100.0 %\n");
}

static void json_has_base_units_and_null(void **state)
{
	(void)state;
	assert_printed(&as_json, false, print_rows,
		       "{\n\"rows\": [\n"
		       "{\"name\": \"a,\\\"b\\\"\", \"sample_count\": 12, \"median_ns\": 1234567, "
		       "\"share_ratio\": 0.25},\n"
		       "{\"name\": \"longer name\", \"sample_count\": null, \"median_ns\": 5, "
		       "\"share_ratio\": 1.0}\n"
		       "]\n}\n");
}

static void csv_quotes_and_leaves_unknown_empty(void **state)
{
	(void)state;
	assert_printed(&as_csv, false, print_rows,
		       "name,sample_count,median_ns,share_ratio\n"
		       "\"a,\"\"b\"\"\",12,1234567,0.25\n"
		       "longer name,,5,1\n");
}

static void csv_of_a_document_is_one_table(void **state)
{
	(void)state;
	assert_printed(&as_csv, true, print_rows,
		       "table,row,key,value\n"
		       "rows,1,name,\"a,\"\"b\"\"\"\n"
		       "rows,1,sample_count,12\n"
		       "rows,1,median_ns,1234567\n"
		       "rows,1,share_ratio,0.25\n"
		       "rows,2,name,longer name\n"
		       "rows,2,sample_count,\n"
		       "rows,2,median_ns,5\n"
		       "rows,2,share_ratio,1\n");
}

static void print_hostile(struct output *output)
{
	struct tl_error err = { 0 };
	struct cell row[] = { cell_bytes("x\033[2Jy\xff", 7), cell_integer(1), cell_unknown(),
			      cell_unknown() };

	assert_int_equal(output_table(output, "rows", NULL, columns, 1, &err), TL_OK);
	assert_int_equal(output_row(output, row, &err), TL_OK);
}

static void control_bytes_do_not_reach_a_table(void **state)
{
	(void)state;
	assert_printed(&as_table, false, print_hostile, "name\nx?[2Jy?\n");
}

static void control_bytes_do_not_reach_csv(void **state)
{
	(void)state;
	assert_printed(&as_csv, false, print_hostile, "name\nx?[2Jy?\n");
}

static void invalid_utf8_is_replaced_in_json(void **state)
{
	(void)state;
	assert_printed(&as_json, false, print_hostile,
		       "{\n\"rows\": [\n{\"name\": \"x\\u001B[2Jy\xef\xbf\xbd\"}\n]\n}\n");
}

static void print_empty(struct output *output)
{
	struct tl_error err = { 0 };

	assert_int_equal(output_table(output, "rows", "Rows", columns, 4, &err), TL_OK);
}

static void empty_table_says_none(void **state)
{
	(void)state;
	assert_printed(&as_table, false, print_empty, "Rows\nnone\n");
	assert_printed(&as_json, false, print_empty, "{\n\"rows\": []\n}\n");
	assert_printed(&as_csv, false, print_empty, "name,sample_count,median_ns,share_ratio\n");
}

static void print_document(struct output *output)
{
	struct tl_error err = { 0 };
	struct cell record[] = { cell_text("n"), cell_integer(3), cell_integer(1500000000),
				 cell_unknown() };

	assert_int_equal(output_record(output, "case", "Case", columns, 4, record, &err), TL_OK);
	print_empty(output);
}

static void record_is_shown_downwards(void **state)
{
	(void)state;
	assert_printed(&as_table, true, print_document,
		       "Case\nname     n\nsamples  3\nmedian   1.500 s\n\nRows\nnone\n");
	assert_printed(&as_json, true, print_document,
		       "{\n\"case\": {\"name\": \"n\", \"sample_count\": 3, \"median_ns\": "
		       "1500000000, \"share_ratio\": null},\n\"rows\": []\n}\n");
}

static void print_details(struct output *output)
{
	static const struct column with_detail[] = {
		{ "name", "name", COLUMN_TEXT, false },
		{ "detail", "detail", COLUMN_TEXT, true },
	};
	struct cell row[] = { cell_text("one"), cell_text("more") };
	struct tl_error err = { 0 };

	assert_int_equal(output_table(output, "rows", NULL, with_detail, 2, &err), TL_OK);
	assert_int_equal(output_row(output, row, &err), TL_OK);
}

static void details_are_for_machines(void **state)
{
	(void)state;
	assert_printed(&as_table, false, print_details, "name\none\n");
	assert_printed(&as_csv, false, print_details, "name,detail\none,more\n");
}

static void print_list(struct output *output)
{
	struct tl_error err = { 0 };
	struct cell first[] = { cell_text("one"), cell_integer(3) };
	struct cell second[] = { cell_text("two"), cell_unknown() };

	assert_int_equal(output_list(output, "rows", "Rows", columns, 2, &err), TL_OK);
	assert_int_equal(output_row(output, first, &err), TL_OK);
	assert_int_equal(output_row(output, second, &err), TL_OK);
}

static void list_is_shown_downwards_row_by_row(void **state)
{
	(void)state;
	assert_printed(&as_table, false, print_list,
		       "Rows\nname     one\nsamples  3\n\nname  two\n");
	assert_printed(&as_json, false, print_list,
		       "{\n\"rows\": [\n{\"name\": \"one\", \"sample_count\": 3},\n"
		       "{\"name\": \"two\", \"sample_count\": null}\n]\n}\n");
}

static void json_and_csv_exclude_each_other(void **state)
{
	struct output_options both = { true, true };
	struct tl_error err = { 0 };
	struct output *output;

	(void)state;
	assert_int_equal(output_open(&output, stdout, &both, false, &err), TL_USAGE);
}

static void durations_have_four_digits(void **state)
{
	char buf[32];

	(void)state;
	assert_string_equal(format_duration(buf, sizeof(buf), 999), "999 ns");
	assert_string_equal(format_duration(buf, sizeof(buf), 1000), "1.000 us");
	assert_string_equal(format_duration(buf, sizeof(buf), 999949), "999.9 us");
	assert_string_equal(format_duration(buf, sizeof(buf), 999950), "1.000 ms");
	assert_string_equal(format_duration(buf, sizeof(buf), -12345678), "-12.35 ms");
	assert_string_equal(format_duration(buf, sizeof(buf), INT64_C(86400000000000)), "86400 s");
}

static void sizes_are_powers_of_1024(void **state)
{
	char buf[32];

	(void)state;
	assert_string_equal(format_size(buf, sizeof(buf), 1023), "1023 B");
	assert_string_equal(format_size(buf, sizeof(buf), 1536), "1.5 KiB");
	assert_string_equal(format_size(buf, sizeof(buf), 1048575), "1.0 MiB");
	assert_string_equal(format_size(buf, sizeof(buf), INT64_MAX), "8.0 EiB");
}

static void times_are_utc(void **state)
{
	char buf[64];

	(void)state;
	assert_string_equal(format_time(buf, sizeof(buf), INT64_C(1714564800123456789)),
			    "2024-05-01 12:00:00.123456Z");
	assert_string_equal(format_time(buf, sizeof(buf), -1), "1969-12-31 23:59:59.999999Z");
	assert_string_equal(format_time_digits(buf, sizeof(buf), -1, 3),
			    "1969-12-31 23:59:59.999Z");
	assert_string_equal(format_time_digits(buf, sizeof(buf), 999999999, 0),
			    "1970-01-01 00:00:00Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_aligned_in_human_units),
		cmocka_unit_test(json_has_base_units_and_null),
		cmocka_unit_test(csv_quotes_and_leaves_unknown_empty),
		cmocka_unit_test(csv_of_a_document_is_one_table),
		cmocka_unit_test(control_bytes_do_not_reach_a_table),
		cmocka_unit_test(control_bytes_do_not_reach_csv),
		cmocka_unit_test(invalid_utf8_is_replaced_in_json),
		cmocka_unit_test(empty_table_says_none),
		cmocka_unit_test(record_is_shown_downwards),
		cmocka_unit_test(details_are_for_machines),
		cmocka_unit_test(list_is_shown_downwards_row_by_row),
		cmocka_unit_test(json_and_csv_exclude_each_other),
		cmocka_unit_test(durations_have_four_digits),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(times_are_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
