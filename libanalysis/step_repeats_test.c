/*
 * step_repeats_test.c - which spans are one step, told again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "step_repeats.h"

/* Slices are numbered in the order of the arguments. */
static struct tl_step_span span(int64_t slice_id, uint32_t track, int64_t number, int64_t ts,
				int64_t duration_ns)
{
	return (struct tl_step_span) { .slice_id = slice_id,
				       .track = track,
				       .number = number,
				       .ts = ts,
				       .duration_ns = duration_ns };
}

static bool is_repeat(const struct tl_step_span *spans, size_t count, int64_t slice_id)
{
	for (size_t i = 0; i < count; i++)
		if (spans[i].slice_id == slice_id)
			return spans[i].is_repeat;
	fail();
	return false;
}

static void steps_after_each_other_are_all_kept(void **state)
{
	struct tl_step_span spans[] = { span(1, 0, 1, 0, 100), span(2, 0, 2, 100, 100),
					span(3, 0, 1, 300, 100) /* numbers begin anew */ };

	(void)state;
	assert_int_equal(tl_step_spans_mark(spans, 3), 0);
}

static void of_a_span_told_twice_the_first_is_kept(void **state)
{
	struct tl_step_span spans[] = { span(1, 0, 1, 0, 100), span(2, 0, 1, 0, 100),
					span(3, 0, 1, 0, 100) };

	(void)state;
	assert_int_equal(tl_step_spans_mark(spans, 3), 2);
	assert_false(is_repeat(spans, 3, 1));
}

static void the_track_with_more_steps_is_kept(void **state)
{
	struct tl_step_span spans[] = { span(1, 0, 2, 90, 120), /* begins first, but is alone */
					span(2, 1, 1, 0, 100), span(3, 1, 2, 100, 100),
					span(4, 1, 3, 200, 100) };

	(void)state;
	assert_int_equal(tl_step_spans_mark(spans, 4), 1);
	assert_true(is_repeat(spans, 4, 1));
}

static void equal_tracks_are_not_mixed(void **state)
{
	/* now one begins first, now the other */
	struct tl_step_span spans[] = { span(1, 0, 1, 0, 100), span(2, 0, 2, 110, 100),
					span(3, 1, 1, 5, 100), span(4, 1, 2, 100, 100) };

	(void)state;
	assert_int_equal(tl_step_spans_mark(spans, 4), 2);
	assert_true(is_repeat(spans, 4, 3));
	assert_true(is_repeat(spans, 4, 4));
}

static void processes_have_steps_of_their_own(void **state)
{
	struct tl_step_span spans[] = { span(1, 0, 1, 0, 100), span(2, 1, 1, 0, 100) };

	(void)state;
	spans[1].process = 1;
	assert_int_equal(tl_step_spans_mark(spans, 2), 0);
}

static void less_than_half_shared_is_another_step(void **state)
{
	struct tl_step_span spans[] = { span(1, 0, 1, 0, 100), span(2, 1, 1, 50, 100),
					span(3, 1, 1, 300, 100), span(4, 0, 1, 349, 100) };

	(void)state;
	assert_int_equal(tl_step_spans_mark(spans, 4), 1);
	assert_false(is_repeat(spans, 4, 1));
	assert_false(is_repeat(spans, 4, 2));
	assert_true(is_repeat(spans, 4, 3));
}

static void times_at_the_limits_do_not_overflow(void **state)
{
	struct tl_step_span spans[] = { span(1, 0, 1, INT64_MIN, INT64_MAX),
					span(2, 1, 1, INT64_MAX, INT64_MAX),
					span(3, 1, 1, INT64_MIN, INT64_MAX) };

	(void)state;
	/* two spans on track 1, one on track 0: the latter is the repeat */
	assert_int_equal(tl_step_spans_mark(spans, 3), 1);
	assert_true(is_repeat(spans, 3, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_after_each_other_are_all_kept),
		cmocka_unit_test(of_a_span_told_twice_the_first_is_kept),
		cmocka_unit_test(the_track_with_more_steps_is_kept),
		cmocka_unit_test(equal_tracks_are_not_mixed),
		cmocka_unit_test(processes_have_steps_of_their_own),
		cmocka_unit_test(less_than_half_shared_is_another_step),
		cmocka_unit_test(times_at_the_limits_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
