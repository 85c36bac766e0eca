/*
 * tar_test.c - tar archives put down block by block, read again.
 */
#include "tar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tar_example.h"

static struct tar_example example;
static struct tl_input *in;
static struct tl_tar *tar;
static struct tl_tar_member member;
static struct tl_error err;

static int setup(void **state)
{
	(void)state;
	memset(&example, 0, sizeof(example));
	memset(&err, 0, sizeof(err));
	in = NULL;
	tar = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tl_tar_close(tar);
	tl_input_close(in);
	free(example.bytes);
	return 0;
}

static void open_example(void)
{
	assert_int_equal(tl_input_open_memory(&in, "example", example.bytes, example.size, &err),
			 TL_OK);
	assert_int_equal(tl_tar_open(&tar, in, NULL, NULL, &err), TL_OK);
}

static void next_is(enum tl_tar_kind kind, const char *name, const char *link)
{
	assert_int_equal(tl_tar_next(tar, &member, &err), 1);
	assert_int_equal(member.kind, kind);
	assert_string_equal(member.name, name);
	assert_string_equal(member.link, link);
}

static void data_is(const char *text)
{
	const uint8_t *data;
	size_t len;

	assert_int_equal(tl_tar_read(tar, &data, &len, &err), TL_OK);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(data, text, len);
	assert_int_equal(tl_tar_read(tar, &data, &len, &err), TL_OK);
	assert_int_equal(len, 0);
}

static void next_fails(uint64_t position, const char *words)
{
	assert_int_equal(tl_tar_next(tar, &member, &err), TL_FORMAT);
	assert_int_equal(err.position, position);
	assert_non_null(strstr(err.text, words));
}

static void files_and_links_come_in_order(void **state)
{
	(void)state;
	tar_example_file(&example, "a/first", "one");
	tar_example_link(&example, "a/link", "first");
	tar_example_header(&example, "a/same", '1', "a/first", 3);
	tar_example_file(&example, "second", "two!");
	tar_example_end(&example);
	open_example();
	next_is(TL_TAR_FILE, "a/first", "");
	data_is("one");
	next_is(TL_TAR_LINK, "a/link", "first");
	next_is(TL_TAR_HARD_LINK, "a/same", "a/first");
	assert_int_equal(member.size, 0); /* the size is that of what is linked */
	next_is(TL_TAR_FILE, "second", "");
	data_is("two!");
	assert_int_equal(tl_tar_next(tar, &member, &err), 0);
}

static void data_that_nobody_reads_is_skipped(void **state)
{
	char *large = calloc(1, 1000001);

	(void)state;
	memset(large, 'x', 1000000);
	tar_example_file(&example, "large", large);
	tar_example_file(&example, "small", "s");
	tar_example_end(&example);
	free(large);
	open_example();
	next_is(TL_TAR_FILE, "large", "");
	next_is(TL_TAR_FILE, "small", "");
	data_is("s");
}

static void a_long_name_of_gnu_tar_is_the_next_members(void **state)
{
	char name[700];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	tar_example_extra(&example, 'L', name, sizeof(name));
	tar_example_extra(&example, 'K', "where/it/leads", 15);
	tar_example_link(&example, "nnn", "whe");
	tar_example_file(&example, "plain", "");
	tar_example_end(&example);
	open_example();
	next_is(TL_TAR_LINK, name, "where/it/leads");
	next_is(TL_TAR_FILE, "plain", "");
}

static void pax_records_say_name_link_and_size(void **state)
{
	static const char records[] = "30 mtime=1700000000.123456789\n"
				      "23 path=pa\xc3\xa4th/of=file\n"
				      "9 size=4\n"
				      "19 linkpath=target\n";

	(void)state;
	tar_example_extra(&example, 'x', records, sizeof(records) - 1);
	tar_example_header(&example, "short", '0', "", 0);
	tar_example_data(&example, "four", 4);
	tar_example_file(&example, "plain", "p");
	tar_example_end(&example);
	open_example();
	next_is(TL_TAR_FILE, "pa\xc3\xa4th/of=file", "target");
	data_is("four");
	next_is(TL_TAR_FILE, "plain", "");
	data_is("p");
}

static void ustar_has_the_first_part_of_a_name_apart(void **state)
{
	uint8_t *header;

	(void)state;
	header = tar_example_header(&example, "name", '0', "", 0);
	memcpy(header + 345, "some/prefix", 11);
	tar_example_sum(header);
	header = tar_example_header(&example, "name", '0', "", 0);
	memcpy(header + 257, "ustar  ", 8); /* GNU: dates are there */
	memcpy(header + 345, "14000000000", 11);
	tar_example_sum(header);
	tar_example_end(&example);
	open_example();
	next_is(TL_TAR_FILE, "some/prefix/name", "");
	next_is(TL_TAR_FILE, "name", "");
}

static void the_form_before_ustar_is_read(void **state)
{
	uint8_t *header;

	(void)state;
	header = tar_example_header(&example, "old", '\0', "", 2);
	memset(header + 257, 0, 8);
	memcpy(header + 124, "          2 ", 12); /* blanks before, a blank behind */
	tar_example_sum(header);
	tar_example_data(&example, "ab", 2);
	header = tar_example_header(&example, "directory/", '\0', "", 0);
	memset(header + 257, 0, 8);
	tar_example_sum(header);
	tar_example_end(&example);
	open_example();
	next_is(TL_TAR_FILE, "old", "");
	data_is("ab");
	next_is(TL_TAR_DIRECTORY, "directory/", "");
}

static void large_sizes_are_binary(void **state)
{
	uint8_t *header;

	(void)state;
	header = tar_example_header(&example, "large", '0', "", 0);
	memset(header + 124, 0, 12);
	header[124] = 0x80;
	header[130] = 5; /* 5 << 40 */
	tar_example_sum(header);
	open_example();
	next_is(TL_TAR_FILE, "large", "");
	assert_int_equal(member.size, UINT64_C(5) << 40);
	next_fails(512, "5497558138880 bytes are missing");
}

static void a_size_that_is_no_number_is_damage(void **state)
{
	static const char *const sizes[] = { "7777777z777", "-0000000001", "0000001 001x" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint8_t *header = tar_example_header(&example, "a", '0', "", 0);

		memcpy(header + 124, sizes[i], 11);
		tar_example_sum(header);
		open_example();
		next_fails(0, "no number");
		teardown(NULL);
		setup(NULL);
	}
}

static void a_negative_or_endless_binary_size_is_damage(void **state)
{
	static const uint8_t first[] = { 0xff, 0x81 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint8_t *header = tar_example_header(&example, "a", '0', "", 0);

		memset(header + 124, 0xff, 12);
		header[124] = first[i];
		tar_example_sum(header);
		open_example();
		next_fails(0, "no number");
		teardown(NULL);
		setup(NULL);
	}
}

static void a_wrong_checksum_is_told_with_its_byte(void **state)
{
	(void)state;
	tar_example_file(&example, "a", "1");
	tar_example_header(&example, "b", '0', "", 0)[0] = 'c';
	open_example();
	next_is(TL_TAR_FILE, "a", "");
	next_fails(1024, "checksum");
}

static void sums_of_signed_bytes_are_taken(void **state)
{
	uint8_t *header;

	(void)state;
	header = tar_example_header(&example, "\xc3\xa4", '0', "", 0);
	header[0] = 0; /* as unsigned it was 0xc3 more than as signed: 256 */
	tar_example_sum(header);
	header[0] = 0xc3;
	{
		unsigned sum = 0;

		memset(header + 148, ' ', 8);
		for (int i = 0; i < 512; i++)
			sum += (unsigned)(int8_t)header[i];
		snprintf((char *)header + 148, 8, "%06o", sum);
	}
	tar_example_end(&example);
	open_example();
	next_is(TL_TAR_FILE, "\xc3\xa4", "");
}

static void an_archive_cut_anywhere_says_so(void **state)
{
	size_t whole;

	(void)state;
	tar_example_file(&example, "a", "1");
	tar_example_extra(&example, 'L', "longer name", 12);
	tar_example_file(&example, "b", "22");
	tar_example_end(&example);
	whole = example.size - 1024;
	for (size_t size = 0; size <= whole; size++) {
		int ret;

		memset(&err, 0, sizeof(err));
		assert_int_equal(tl_input_open_memory(&in, "cut", example.bytes, size, &err),
				 TL_OK);
		assert_int_equal(tl_tar_open(&tar, in, NULL, NULL, &err), TL_OK);
		while ((ret = tl_tar_next(tar, &member, &err)) > 0)
			assert_true(!strcmp(member.name, "a") ||
				    !strcmp(member.name, "longer name"));
		assert_int_equal(ret, TL_FORMAT);
		assert_int_equal(err.position, size);
		assert_non_null(strstr(err.text, "the archive ends"));
		tl_tar_close(tar);
		tl_input_close(in);
		in = NULL;
		tar = NULL;
	}
}

static void pax_records_that_are_none_are_damage(void **state)
{
	static const char *const records[] = {
		"path=a\n",	    /* no length */
		"11 path=abcdef\n", /* ends inside the value */
		"99999 path=a\n",   /* ends behind the header */
		"0 path=a\n",	    "99999999999999999999999 path=a\n", "9 size=x\n",
		"8 path a\n",	    "28 size=9223372036854775807\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		tar_example_extra(&example, 'x', records[i], strlen(records[i]));
		tar_example_file(&example, "a", "");
		open_example();
		next_fails(512, "pax record");
		teardown(NULL);
		setup(NULL);
	}
}

static void a_name_of_megabytes_is_refused(void **state)
{
	(void)state;
	tar_example_header(&example, "L", 'L', "", UINT64_C(1) << 40);
	open_example();
	next_fails(0, "a name of 1099511627776 bytes");
}

static void sparse_files_devices_and_strangers_are_told_apart(void **state)
{
	uint8_t *header;

	(void)state;
	header = tar_example_header(&example, "sparse", 'S', "", 3);
	header[482] = 1; /* lists of holes follow */
	tar_example_sum(header);
	tar_example_block(&example)[504] = 1;
	tar_example_block(&example);
	tar_example_data(&example, "abc", 3);
	tar_example_extra(&example, 'x', "22 GNU.sparse.major=1\n", 22);
	tar_example_file(&example, "sparse too", "xyz");
	tar_example_header(&example, "null", '3', "", 0);
	tar_example_header(&example, "fifo", '6', "", 0);
	tar_example_header(&example, "more of it", 'M', "", 3);
	tar_example_data(&example, "abc", 3);
	tar_example_file(&example, "plain", "p");
	tar_example_end(&example);
	open_example();
	next_is(TL_TAR_SPARSE, "sparse", "");
	next_is(TL_TAR_SPARSE, "sparse too", "");
	next_is(TL_TAR_SPECIAL, "null", "");
	next_is(TL_TAR_SPECIAL, "fifo", "");
	next_is(TL_TAR_UNKNOWN, "more of it", "");
	next_is(TL_TAR_FILE, "plain", "");
	data_is("p");
}

static int stop(double fraction, uint64_t records, void *payload)
{
	(void)fraction;
	(void)records;
	return ++*(int *)payload == 3;
}

static void reading_can_be_stopped_inside_a_member(void **state)
{
	char *large = calloc(1, (5 << 20) + 1);
	int calls = 0;

	(void)state;
	memset(large, 'x', 5 << 20);
	tar_example_file(&example, "large", large);
	free(large);
	assert_int_equal(tl_input_open_memory(&in, "example", example.bytes, example.size, &err),
			 TL_OK);
	assert_int_equal(tl_tar_open(&tar, in, stop, &calls, &err), TL_OK);
	next_is(TL_TAR_FILE, "large", "");
	assert_int_equal(tl_tar_next(tar, &member, &err), TL_STOPPED);
}

static void an_archive_is_known_by_the_sum_of_its_first_header(void **state)
{
	uint8_t *header;

	(void)state;
	tar_example_file(&example, "perf.data", "x");
	assert_true(tl_tar_probe(example.bytes, example.size));
	assert_false(tl_tar_probe(example.bytes, 511));
	header = example.bytes;
	memset(header + 257, 0, 8); /* the older form has no magic */
	tar_example_sum(header);
	assert_true(tl_tar_probe(example.bytes, example.size));
	header[0] ^= 1;
	assert_false(tl_tar_probe(example.bytes, example.size));
	memset(header, 0, 512);
	assert_false(tl_tar_probe(example.bytes, example.size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_archive_is_known_by_the_sum_of_its_first_header,
						setup, teardown),
		cmocka_unit_test_setup_teardown(files_and_links_come_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(data_that_nobody_reads_is_skipped, setup, teardown),
		cmocka_unit_test_setup_teardown(a_long_name_of_gnu_tar_is_the_next_members, setup,
						teardown),
		cmocka_unit_test_setup_teardown(pax_records_say_name_link_and_size, setup,
						teardown),
		cmocka_unit_test_setup_teardown(ustar_has_the_first_part_of_a_name_apart, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_form_before_ustar_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(large_sizes_are_binary, setup, teardown),
		cmocka_unit_test_setup_teardown(a_size_that_is_no_number_is_damage, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_negative_or_endless_binary_size_is_damage, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_wrong_checksum_is_told_with_its_byte, setup,
						teardown),
		cmocka_unit_test_setup_teardown(sums_of_signed_bytes_are_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(an_archive_cut_anywhere_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(pax_records_that_are_none_are_damage, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_name_of_megabytes_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(sparse_files_devices_and_strangers_are_told_apart,
						setup, teardown),
		cmocka_unit_test_setup_teardown(reading_can_be_stopped_inside_a_member, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
