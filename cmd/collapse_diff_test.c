/*
 * collapse_diff_test.c - what differential flame graphs are drawn of; expected lines counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collapse_diff.h"

static char *printed;
static size_t printed_size;

static uint64_t print(const char *unit, struct tl_folded_line *a, size_t a_count, size_t a_steps,
		      struct tl_folded_line *b, size_t b_count, size_t b_steps)
{
	struct tl_folded before = { .lines = a, .line_count = a_count };
	struct tl_folded after = { .lines = b, .line_count = b_count };
	const struct collapse_side sides[2] = { { &before, a_steps }, { &after, b_steps } };
	FILE *out = open_memstream(&printed, &printed_size);
	uint64_t lines;

	assert_non_null(out);
	snprintf(before.unit, sizeof(before.unit), "%s", unit);
	snprintf(after.unit, sizeof(after.unit), "%s", unit);
	lines = collapse_print_diff(out, &sides[0], &sides[1]);
	fclose(out);
	return lines;
}

static int release(void **state)
{
	(void)state;
	free(printed);
	printed = NULL;
	return 0;
}

static void stacks_of_either_side_have_a_line_with_both_means(void **state)
{
	struct tl_folded_line a[] = { { "m;a", 100 }, { "m;c", 30 } };
	struct tl_folded_line b[] = { { "m;b", 7 }, { "m;c", 61 } };

	(void)state;
	assert_int_equal(print("us", a, 2, 10, b, 2, 2), 3);
	assert_string_equal(printed, "m;a 10 0\nm;b 0 4\nm;c 3 30\n");
}

static void samples_keep_three_decimals(void **state)
{
	struct tl_folded_line a[] = { { "m", 1 } };
	struct tl_folded_line b[] = { { "m", 5 } };

	(void)state;
	assert_int_equal(print("samples", a, 1, 3, b, 1, 2), 1);
	assert_string_equal(printed, "m 0.333 2.500\n");
}

static void a_side_without_lines_is_zero(void **state)
{
	struct tl_folded_line b[] = { { "m", 5 } };

	(void)state;
	assert_int_equal(print("ns", NULL, 0, 4, b, 1, 1), 1);
	assert_string_equal(printed, "m 0 5\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(stacks_of_either_side_have_a_line_with_both_means,
					  release),
		cmocka_unit_test_teardown(samples_keep_three_decimals, release),
		cmocka_unit_test_teardown(a_side_without_lines_is_zero, release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
