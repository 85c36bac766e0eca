/*
 * cursor_test.c - bounds, stickiness, byte order and decimal times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader.h"

static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 'a', 'b', 0, 'c' };

static struct tl_cursor cursor(bool is_big_endian)
{
	struct tl_cursor c;

	tl_cursor_init(&c, bytes, sizeof(bytes), 100, is_big_endian);
	return c;
}

static void both_byte_orders_are_read(void **state)
{
	struct tl_cursor little = cursor(false), big = cursor(true);

	(void)state;
	assert_int_equal(tl_get_u16(&little), 0x0201);
	assert_int_equal(tl_get_u32(&little), 0x06050403);
	assert_int_equal(tl_get_u64(&big), 0x0102030405060708);
	assert_int_equal(tl_cursor_left(&big), 4);
}

static void a_read_past_the_end_sticks(void **state)
{
	struct tl_cursor c = cursor(false);
	struct tl_error err = { 0 };

	(void)state;
	tl_skip(&c, 9);
	assert_int_equal(tl_get_u64(&c), 0);
	assert_int_equal(tl_get_u8(&c), 0); /* there are bytes, but the cursor failed */
	assert_int_equal(tl_cursor_left(&c), 0);
	assert_int_equal(tl_cursor_check(&c, "record", &err), TL_FORMAT);
	assert_int_equal(err.position, 109);
	assert_string_equal(err.text, "record ends too early: 8 bytes wanted, 3 left");
}

static void a_child_does_not_see_past_its_parent(void **state)
{
	struct tl_cursor c = cursor(false);
	struct tl_cursor child = tl_cursor_sub(&c, 4);

	(void)state;
	assert_int_equal(child.base, 100);
	assert_int_equal(tl_get_u32(&child), 0x04030201);
	assert_int_equal(tl_get_u8(&child), 0);
	assert_true(child.failed);
	assert_int_equal(tl_get_u8(&c), 5);
	child = tl_cursor_sub(&c, 100);
	assert_true(child.failed);
	assert_true(c.failed);
}

static void a_count_that_wraps_is_refused(void **state)
{
	struct tl_cursor c = cursor(false);

	(void)state;
	assert_null(tl_get_array(&c, UINT64_MAX / 4, 8));
	assert_true(c.failed);
}

static void a_struct_shorter_than_ours_is_zero_filled(void **state)
{
	struct tl_cursor c = cursor(false);
	uint8_t out[4] = { 9, 9, 9, 9 };

	(void)state;
	tl_get_struct(&c, out, sizeof(out), 2);
	assert_int_equal(out[1], 2);
	assert_int_equal(out[2], 0);
	assert_int_equal(tl_get_u8(&c), 3);
	tl_get_struct(&c, out, 1, 4); /* longer than ours: stepped over */
	assert_int_equal(out[0], 4);
	assert_int_equal(tl_get_u8(&c), 8);
}

static void text_ends_at_its_nul(void **state)
{
	struct tl_cursor c = cursor(false);
	char out[8];

	(void)state;
	tl_skip(&c, 8);
	assert_string_equal(tl_get_text(&c, 4, out, sizeof(out)), "ab");
	assert_int_equal(tl_cursor_left(&c), 0);
}

static void check_time(const char *text, int64_t unit, size_t used, int64_t ns)
{
	int64_t got = -99;

	assert_int_equal(tl_parse_time(text, strlen(text), unit, &got), used);
	if (used)
		assert_int_equal(got, ns);
}

static void decimals_become_nanoseconds_exactly(void **state)
{
	(void)state;
	check_time("1711964646.123456789", 1000000000, 20, 1711964646123456789);
	check_time("4458676388068.751", 1000, 17, 4458676388068751);
	check_time("0.0000000005", 1000000000, 12, 1);
	check_time("0.0000000004", 1000000000, 12, 0);
	check_time("-1.5x", 1000, 4, -1500);
	check_time("1.5e3", 1000, 5, 1500000);
	check_time("25e-1", 1000, 5, 2500);
	check_time(".5", 1000, 2, 500);
	check_time("7.", 1, 2, 7);
	check_time("x", 1, 0, 0);
	check_time("", 1, 0, 0);
	check_time("9223372036854775808", 1, 0, 0); /* one too many */
	check_time("9223372036854775807", 1, 19, INT64_MAX);
	check_time("1e30", 1, 0, 0);
	check_time("0.000000000000000000000000000001", 1000000000, 32, 0);
}

static void integers_overflow_into_a_refusal(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(tl_parse_u64("18446744073709551615", 20, 10, &value), 20);
	assert_true(value == UINT64_MAX);
	assert_int_equal(tl_parse_u64("18446744073709551616", 20, 10, &value), 0);
	assert_int_equal(tl_parse_u64("ffFF g", 6, 16, &value), 4);
	assert_int_equal(value, 0xffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_byte_orders_are_read),
		cmocka_unit_test(a_read_past_the_end_sticks),
		cmocka_unit_test(a_child_does_not_see_past_its_parent),
		cmocka_unit_test(a_count_that_wraps_is_refused),
		cmocka_unit_test(a_struct_shorter_than_ours_is_zero_filled),
		cmocka_unit_test(text_ends_at_its_nul),
		cmocka_unit_test(decimals_become_nanoseconds_exactly),
		cmocka_unit_test(integers_overflow_into_a_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
