/*
 * time_test.c - times of the command line. Expected values are those of date(1):
 * date -u -d '2024-05-01 12:00' +%s.
 */
#include "command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SECOND	 INT64_C(1000000000)
#define MAY_NOON (INT64_C(1714564800) * SECOND) /* 2024-05-01 12:00 UTC */

static void assert_time(const char *text, int64_t expected)
{
	struct tl_error err = { 0 };
	int64_t ns;

	assert_int_equal(command_parse_time(text, strlen(text), MAY_NOON, &ns, &err), TL_OK);
	assert_int_equal(ns, expected);
}

static void assert_no_time(const char *text)
{
	struct tl_error err = { 0 };
	int64_t ns;

	assert_int_equal(command_parse_time(text, strlen(text), MAY_NOON, &ns, &err), TL_USAGE);
}

static void small_number_counts_from_the_start(void **state)
{
	(void)state;
	assert_time("0", MAY_NOON);
	assert_time("12.5", MAY_NOON + 25 * SECOND / 2);
	assert_time("-1", MAY_NOON - SECOND);
}

static void unit_counts_from_the_start(void **state)
{
	(void)state;
	assert_time("12.5s", MAY_NOON + 25 * SECOND / 2);
	assert_time("500ms", MAY_NOON + SECOND / 2);
	assert_time("-2m", MAY_NOON - 120 * SECOND);
	assert_no_time("5 s");
	assert_no_time("s");
	assert_no_time("5d");
}

static void large_number_is_unix_time(void **state)
{
	(void)state;
	assert_time("1714564800", MAY_NOON);
	assert_time("1714564800.000000001", MAY_NOON + 1);
}

static void date_without_zone_is_utc(void **state)
{
	(void)state;
	assert_time("2024-05-01T12:00:00", MAY_NOON);
	assert_time("2024-05-01 12:00", MAY_NOON);
	assert_time("2024-05-01", MAY_NOON - 43200 * SECOND);
}

static void zone_is_honoured(void **state)
{
	(void)state;
	assert_time("2024-05-01T12:00:00Z", MAY_NOON);
	assert_time("2024-05-01T14:00:00+02:00", MAY_NOON);
	assert_time("2024-05-01T06:30-0530", MAY_NOON);
	assert_time("2024-05-01T13:00+01", MAY_NOON);
}

static void fraction_goes_down_to_the_nanosecond(void **state)
{
	(void)state;
	assert_time("2024-05-01T12:00:00.123456789Z", MAY_NOON + 123456789);
	assert_time("2024-05-01T12:00:00.5", MAY_NOON + SECOND / 2);
}

static void calendar_knows_leap_years(void **state)
{
	(void)state;
	assert_time("2024-02-29", INT64_C(1709164800) * SECOND);
	assert_time("2000-03-01", INT64_C(951868800) * SECOND);
	assert_no_time("2023-02-29");
	assert_no_time("2100-02-29");
}

static void nonsense_is_refused(void **state)
{
	(void)state;
	assert_no_time("");
	assert_no_time("noon");
	assert_no_time("12.5x");
	assert_no_time("2024-13-01");
	assert_no_time("2024-05-32");
	assert_no_time("2024-05-01T25:00");
	assert_no_time("2024-05-01T12:00:00.");
	assert_no_time("2024-05-01T12:00:00+99:00");
	assert_no_time("2024-05-01T12:00:00Zx");
	assert_no_time("9999-01-01");
}

static void range_has_two_ends(void **state)
{
	struct tl_time_range range;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(command_parse_range("1,2.5", MAY_NOON, &range, &err), TL_OK);
	assert_int_equal(range.begin_ns, MAY_NOON + SECOND);
	assert_int_equal(range.end_ns, MAY_NOON + 5 * SECOND / 2);
}

static void range_may_be_open(void **state)
{
	struct tl_time_range range;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(command_parse_range(",2", MAY_NOON, &range, &err), TL_OK);
	assert_int_equal(range.begin_ns, INT64_MIN);
	assert_int_equal(range.end_ns, MAY_NOON + 2 * SECOND);
	assert_int_equal(command_parse_range("2,", MAY_NOON, &range, &err), TL_OK);
	assert_int_equal(range.begin_ns, MAY_NOON + 2 * SECOND);
	assert_int_equal(range.end_ns, INT64_MAX);
}

static void range_backwards_is_refused(void **state)
{
	struct tl_time_range range;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(command_parse_range("2,1", MAY_NOON, &range, &err), TL_USAGE);
	assert_string_equal(err.text, "the time range '2,1' ends before it begins");
}

static void range_needs_one_comma(void **state)
{
	struct tl_time_range range;
	struct tl_error err = { 0 }, other = { 0 };

	(void)state;
	assert_int_equal(command_parse_range("1", MAY_NOON, &range, &err), TL_USAGE);
	assert_int_equal(command_parse_range("1,2,3", MAY_NOON, &range, &other), TL_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_number_counts_from_the_start),
		cmocka_unit_test(unit_counts_from_the_start),
		cmocka_unit_test(large_number_is_unix_time),
		cmocka_unit_test(date_without_zone_is_utc),
		cmocka_unit_test(zone_is_honoured),
		cmocka_unit_test(fraction_goes_down_to_the_nanosecond),
		cmocka_unit_test(calendar_knows_leap_years),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(range_has_two_ends),
		cmocka_unit_test(range_may_be_open),
		cmocka_unit_test(range_backwards_is_refused),
		cmocka_unit_test(range_needs_one_comma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
