/*
 * ranges_test.c - what lies inside of time ranges, counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ranges.h"

static struct tl_ranges some(void)
{
	struct tl_ranges r = { 0 };

	assert_int_equal(tl_ranges_add(&r, 50, 60, NULL), TL_OK);
	assert_int_equal(tl_ranges_add(&r, 10, 20, NULL), TL_OK);
	assert_int_equal(tl_ranges_add(&r, 15, 30, NULL), TL_OK);
	assert_int_equal(tl_ranges_add(&r, 30, 31, NULL), TL_OK);
	tl_ranges_settle(&r);
	return r;
}

static void what_touches_is_one_range(void **state)
{
	struct tl_ranges r = some();

	(void)state;
	assert_int_equal(r.count, 2);
	assert_int_equal(r.ranges[0].begin_ns, 10);
	assert_int_equal(r.ranges[0].end_ns, 31);
	tl_ranges_release(&r);
}

static void the_begin_is_inside_the_end_is_not(void **state)
{
	struct tl_ranges r = some();

	(void)state;
	assert_false(tl_ranges_contain(&r, 9));
	assert_true(tl_ranges_contain(&r, 10));
	assert_true(tl_ranges_contain(&r, 30));
	assert_false(tl_ranges_contain(&r, 31));
	assert_true(tl_ranges_contain(&r, 59));
	assert_false(tl_ranges_contain(&r, 60));
	tl_ranges_release(&r);
}

static void inside_is_summed_over_ranges(void **state)
{
	struct tl_ranges r = some();

	(void)state;
	assert_int_equal(tl_ranges_inside_ns(&r, 0, 100), 31);
	assert_int_equal(tl_ranges_inside_ns(&r, 30, 51), 2);
	assert_int_equal(tl_ranges_inside_ns(&r, 31, 50), 0);
	assert_int_equal(tl_ranges_inside_ns(&r, INT64_MIN, INT64_MAX), 31);
	tl_ranges_release(&r);
}

static void what_both_have_in_common(void **state)
{
	struct tl_ranges a = some(), b = { 0 }, both = { 0 };

	(void)state;
	assert_int_equal(tl_ranges_add(&b, 25, 55, NULL), TL_OK);
	assert_int_equal(tl_ranges_intersect(&both, &a, &b, NULL), TL_OK);
	assert_int_equal(both.count, 2);
	assert_int_equal(both.ranges[0].begin_ns, 25);
	assert_int_equal(both.ranges[0].end_ns, 31);
	assert_int_equal(both.ranges[1].begin_ns, 50);
	assert_int_equal(both.ranges[1].end_ns, 55);
	tl_ranges_release(&a);
	tl_ranges_release(&b);
	tl_ranges_release(&both);
}

static void a_range_that_ends_before_it_begins_is_refused(void **state)
{
	struct tl_ranges r = { 0 };

	(void)state;
	assert_int_equal(tl_ranges_add(&r, 5, 4, NULL), TL_USAGE);
	assert_int_equal(r.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_touches_is_one_range),
		cmocka_unit_test(the_begin_is_inside_the_end_is_not),
		cmocka_unit_test(inside_is_summed_over_ranges),
		cmocka_unit_test(what_both_have_in_common),
		cmocka_unit_test(a_range_that_ends_before_it_begins_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
