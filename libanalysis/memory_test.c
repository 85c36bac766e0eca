/*
 * memory_test.c - growth, arena, index, interner and text: values counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory.h"

static void growth_zeroes_what_is_new(void **state)
{
	int *numbers = NULL;
	size_t capacity = 0;

	(void)state;
	assert_int_equal(tl_grow(&numbers, &capacity, 3, NULL), TL_OK);
	assert_true(capacity >= 3);
	for (size_t i = 0; i < capacity; i++)
		assert_int_equal(numbers[i], 0);
	numbers[2] = 7;
	assert_int_equal(tl_grow(&numbers, &capacity, 1000, NULL), TL_OK);
	assert_int_equal(numbers[2], 7);
	assert_int_equal(numbers[999], 0);
	free(numbers);
}

static void growth_refuses_a_product_that_wraps(void **state)
{
	struct tl_error err = { 0 };
	uint64_t *numbers = NULL;
	size_t capacity = 0;

	(void)state;
	assert_int_equal(tl_grow(&numbers, &capacity, SIZE_MAX / 4, &err), TL_NOMEM);
	assert_null(numbers);
	assert_int_equal(err.status, TL_NOMEM);
}

static void arena_keeps_what_it_gave(void **state)
{
	struct tl_arena arena = { 0 };
	char *texts[2000];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "text number %d", i);
		texts[i] = tl_arena_copy(&arena, text, strlen(text), NULL);
		assert_non_null(texts[i]);
		assert_int_equal((uintptr_t)texts[i] % 8, 0);
	}
	assert_string_equal(texts[0], "text number 0");
	assert_string_equal(texts[1999], "text number 1999");
	tl_arena_release(&arena);
}

static void index_finds_every_value_of_a_hash(void **state)
{
	struct tl_index index = { 0 };
	size_t probe = 0;
	int64_t found;
	uint32_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(tl_index_add(&index, i % 10, i, NULL), TL_OK);
	while ((found = tl_index_find(&index, 3, &probe)) >= 0) {
		assert_int_equal(found % 10, 3);
		seen++;
	}
	assert_int_equal(seen, 100);
	probe = 0;
	assert_int_equal(tl_index_find(&index, 99, &probe), -1);
	tl_index_release(&index);
}

static void interner_gives_equal_text_one_number(void **state)
{
	struct tl_interner in = { 0 };
	uint32_t a, b, c;

	(void)state;
	assert_int_equal(tl_intern(&in, "main", 4, &a, NULL), TL_OK);
	assert_int_equal(tl_intern(&in, "ma\0n", 4, &b, NULL), TL_OK);
	assert_int_equal(tl_intern(&in, "mainly", 4, &c, NULL), TL_OK);
	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
	assert_int_equal(c, a);
	assert_memory_equal(in.strings[1].text, "ma\0n", 5);
	tl_interner_release(&in);
}

static void hash_depends_on_every_byte_and_on_the_length(void **state)
{
	char zeros[40] = { 0 };
	uint64_t hashes[40];

	(void)state;
	for (size_t len = 0; len < sizeof(zeros); len++)
		hashes[len] = tl_hash(zeros, len, 0);
	for (size_t i = 0; i < 40; i++)
		for (size_t j = 0; j < i; j++)
			assert_true(hashes[i] != hashes[j]);
	for (size_t at = 0; at < sizeof(zeros) - 1; at++) {
		zeros[at] = 1;
		assert_true(tl_hash(zeros, 39, 0) != hashes[39]);
		zeros[at] = 0;
	}
}

static void json_text_is_escaped(void **state)
{
	struct tl_text t = { 0 };

	(void)state;
	tl_text_json(&t, "a\"b\\\n\t\x01\xff\xc3\xa9", 10);
	assert_string_equal(t.data, "\"a\\\"b\\\\\\n\\t\\u0001\xef\xbf\xbd\xc3\xa9\"");
	tl_text_release(&t);
}

static void integers_are_written_to_their_ends(void **state)
{
	struct tl_text t = { 0 };

	(void)state;
	tl_text_i64(&t, INT64_MIN);
	tl_text_add(&t, " ", 1);
	tl_text_u64(&t, UINT64_MAX);
	tl_text_add(&t, " ", 1);
	tl_text_i64(&t, 0);
	assert_string_equal(t.data, "-9223372036854775808 18446744073709551615 0");
	tl_text_release(&t);
}

static void printable_text_has_no_control_bytes(void **state)
{
	char out[32];

	(void)state;
	tl_printable(out, sizeof(out), "a\x1b[31m\xff\xc2\x9b\xc3\xa9", 11);
	assert_string_equal(out, "a?[31m??\xc3\xa9");
	tl_printable(out, 4, "abcdef", 6);
	assert_string_equal(out, "abc");
	tl_printable(out, 4, "ab\xc3\xa9", 4); /* no half characters */
	assert_string_equal(out, "ab");
}

static void the_first_failure_stays(void **state)
{
	struct tl_error err = { 0 };
	char text[300];

	(void)state;
	assert_int_equal(tl_fail_at(&err, TL_FORMAT, 20480, "record size %u is too small", 4u),
			 TL_FORMAT);
	assert_int_equal(tl_fail(&err, TL_IO, "something else"), TL_IO);
	tl_error_source(&err, "run.perf");
	tl_error_source(&err, "other");
	assert_string_equal(tl_error_format(&err, text, sizeof(text)),
			    "run.perf: byte 20480: record size 4 is too small");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_zeroes_what_is_new),
		cmocka_unit_test(growth_refuses_a_product_that_wraps),
		cmocka_unit_test(arena_keeps_what_it_gave),
		cmocka_unit_test(index_finds_every_value_of_a_hash),
		cmocka_unit_test(interner_gives_equal_text_one_number),
		cmocka_unit_test(hash_depends_on_every_byte_and_on_the_length),
		cmocka_unit_test(json_text_is_escaped),
		cmocka_unit_test(integers_are_written_to_their_ends),
		cmocka_unit_test(printable_text_has_no_control_bytes),
		cmocka_unit_test(the_first_failure_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
