/*
 * clock_match_test.c - offsets between made sequences of happenings, whose truth is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock_match.h"

#define OFFSET INT64_C(1700000000123456789)

enum { COUNT = 600 };

static struct tl_error err;
static uint64_t seed;

static uint64_t random_to(uint64_t limit)
{
	seed = tl_hash_u64(seed, 7);
	return seed % limit;
}

static struct tl_happening outer[COUNT], inner[COUNT];

/*
 * The outer one sees a call begin 10 to 40 us early, and what was before end 20 us or more before that.
 * `kinds` 1: always the same call.
 */
static struct tl_clock_thread make(unsigned kinds, double drift, uint64_t pause_ns,
				   uint64_t jitter_ns)
{
	int64_t now = 1000000000, end = INT64_MIN;

	seed = 1;
	for (int i = 0; i < COUNT; i++) {
		int64_t length = 2000 + (int64_t)random_to(100000);
		uint64_t sign = 1 + random_to(kinds);
		int64_t mapped;

		now += (int64_t)(pause_ns + random_to(jitter_ns));
		mapped = now + OFFSET + (int64_t)(drift * (double)(now - 1000000000));
		outer[i] = (struct tl_happening) { now - 10000 - (int64_t)random_to(30000),
						   now + length + 10000, 0, sign, sign };
		inner[i] = (struct tl_happening) { mapped, mapped + length, end, sign, sign };
		end = mapped + length;
		now += length;
	}
	return (struct tl_clock_thread) { outer, inner, COUNT, COUNT };
}

static struct tl_clock_match match(struct tl_clock_thread *threads, size_t count,
				   enum tl_clock_relation relation)
{
	struct tl_clock_match m;

	memset(&err, 0, sizeof(err));
	assert_int_equal(tl_clock_match(threads, count, relation, &m, &err), TL_OK);
	return m;
}

static void an_offset_is_found_within_its_residual(void **state)
{
	struct tl_clock_thread t = make(12, 0, 100000, 200000);
	struct tl_clock_match m = match(&t, 1, TL_RELATION_CALL);

	(void)state;
	assert_true(m.is_found);
	assert_true(llabs(m.offset_ns - OFFSET) <= m.residual_ns);
	assert_true(m.residual_ns - m.spread_ns <= 50000);
	assert_int_equal(m.match_count, COUNT);
	assert_true(m.rival_ratio < 0.3);
	assert_true(m.drift == 0);
}

static void lost_records_and_a_late_start_do_no_harm(void **state)
{
	struct tl_clock_thread t = make(12, 0, 100000, 200000);
	struct tl_clock_match m;
	size_t kept = 0;

	(void)state;
	for (size_t i = 200; i < COUNT; i++)
		if (random_to(10) != 0)
			inner[kept++] = inner[i];
	t.inner_count = kept;
	kept = 0;
	for (size_t i = 0; i < 450; i++)
		if (random_to(10) != 0)
			outer[kept++] = outer[i];
	t.outer_count = kept;
	m = match(&t, 1, TL_RELATION_CALL);
	assert_true(m.is_found);
	assert_true(llabs(m.offset_ns - OFFSET) <= m.residual_ns);
}

static void a_drift_is_found_where_it_matters(void **state)
{
	struct tl_clock_thread t = make(12, 40e-6, 20000000, 20000000);
	struct tl_clock_match m = match(&t, 1, TL_RELATION_CALL);
	int64_t at_origin = OFFSET + (int64_t)(40e-6 * (double)(m.origin_ns - 1000000000));

	(void)state;
	assert_true(m.is_found);
	assert_true(m.drift > 38e-6 && m.drift < 42e-6);
	assert_true(llabs(m.offset_ns - at_origin) <= m.residual_ns);
	assert_true(m.residual_ns - m.spread_ns <= 50000);
}

static void the_same_call_at_an_even_pace_is_ambiguous(void **state)
{
	struct tl_clock_thread t = make(1, 0, 2000000, 1);
	struct tl_clock_match m;

	(void)state;
	for (int i = 0; i < COUNT; i++) { /* to the nanosecond */
		outer[i].begin = i * INT64_C(2000000);
		inner[i].begin = outer[i].begin + OFFSET + 20000;
		inner[i].end = inner[i].begin + 1000;
		outer[i].end = outer[i].begin + 30000;
		inner[i].previous_end = i ? inner[i - 1].end : INT64_MIN;
	}
	m = match(&t, 1, TL_RELATION_CALL);
	assert_false(m.is_found);
	assert_non_null(strstr(m.trouble, "ambiguous"));
}

static void shuffled_names_match_nothing(void **state)
{
	struct tl_clock_thread t = make(6, 0, 100000, 200000);

	(void)state;
	for (size_t i = COUNT - 1; i > 0; i--) {
		size_t k = random_to(i + 1);
		uint64_t sign = outer[i].sign;

		outer[i].sign = outer[i].kind = outer[k].sign;
		outer[k].sign = outer[k].kind = sign;
	}
	assert_false(match(&t, 1, TL_RELATION_CALL).is_found);
}

static void other_programs_do_not_match(void **state)
{
	static struct tl_happening others[COUNT];
	struct tl_clock_thread t = make(6, 0, 100000, 200000);

	(void)state;
	memcpy(others, inner, sizeof(others));
	for (int i = 0; i < COUNT; i++) {
		others[i].sign = others[i].kind = 1 + random_to(6);
		others[i].begin += (int64_t)random_to(100000000);
	}
	t.inner = others;
	assert_false(match(&t, 1, TL_RELATION_CALL).is_found);
}

static void a_thread_that_is_another_does_no_harm(void **state)
{
	static struct tl_happening others[COUNT];
	struct tl_clock_thread threads[2];
	struct tl_clock_match m;

	(void)state;
	threads[0] = make(12, 0, 100000, 200000);
	memcpy(others, inner, sizeof(others));
	for (int i = 0; i < COUNT; i++)
		others[i].sign = others[i].kind = 1 + random_to(12);
	threads[1] = (struct tl_clock_thread) { outer, others, COUNT, COUNT / 3 };
	m = match(threads, 2, TL_RELATION_CALL);
	assert_true(m.is_found);
	assert_true(llabs(m.offset_ns - OFFSET) <= m.residual_ns);
}

/* A barrier lets another rank do the same some 300 us later, now more, now less. */
static void another_process_in_step_is_not_taken_for_this_one(void **state)
{
	struct tl_clock_thread t = make(12, 0, 1000000, 2000000);
	struct tl_clock_match m;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		int64_t later = 100000 + (int64_t)random_to(300000);

		outer[i].begin += later;
		outer[i].end += later;
	}
	m = match(&t, 1, TL_RELATION_CALL);
	assert_false(m.is_found);
	assert_non_null(strstr(m.trouble, "do not lie in one another"));
}

static void few_happenings_are_not_enough(void **state)
{
	struct tl_clock_thread t = make(12, 0, 100000, 200000);
	struct tl_clock_match m;

	(void)state;
	t.outer_count = t.inner_count = 15;
	m = match(&t, 1, TL_RELATION_CALL);
	assert_false(m.is_found);
	assert_non_null(strstr(m.trouble, "only"));
}

static void nothing_in_common_is_said(void **state)
{
	struct tl_clock_thread t = make(12, 0, 100000, 200000);
	struct tl_clock_match m;

	(void)state;
	for (int i = 0; i < COUNT; i++)
		outer[i].sign += 100;
	m = match(&t, 1, TL_RELATION_CALL);
	assert_false(m.is_found);
	assert_true(m.trouble[0] != 0);
}

static void waits_match_by_their_length(void **state)
{
	struct tl_clock_thread t = make(1, 0, 300000, 5000000);
	struct tl_clock_match m;

	(void)state;
	for (int i = 0; i < COUNT;
	     i++) { /* asleep from 3 us after its begin to 5 us before its end */
		int64_t length = 300000 + (int64_t)random_to(8000000);

		inner[i].begin = i ? inner[i - 1].end + 700000 : OFFSET;
		inner[i].end = inner[i].begin + length;
		outer[i].begin = inner[i].begin - OFFSET - 13000 - (int64_t)random_to(20000);
		outer[i].end = outer[i].begin + length + 8000;
		outer[i].sign = inner[i].sign = 0;
	}
	m = match(&t, 1, TL_RELATION_WAIT);
	assert_true(m.is_found);
	assert_true(llabs(m.offset_ns - OFFSET) <= m.residual_ns);
	assert_true(m.residual_ns <= 50000);
}

static void extreme_times_are_taken(void **state)
{
	struct tl_clock_thread t = make(2, 0, 100000, 200000);

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		outer[i].begin = outer[i].end = TL_HAPPENING_TIME_MAX * (i < 300 ? -1 : 1);
		inner[i].begin = inner[i].end = TL_HAPPENING_TIME_MAX * (i < 100 ? -1 : 1);
		outer[i].sign = inner[i].sign = outer[i].kind = inner[i].kind = 1;
	}
	match(&t, 1, TL_RELATION_CALL);
	for (int i = 0; i < COUNT; i++)
		outer[i].begin = outer[i].end = inner[i].begin = inner[i].end = 5;
	match(&t, 1, TL_RELATION_CALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offset_is_found_within_its_residual),
		cmocka_unit_test(lost_records_and_a_late_start_do_no_harm),
		cmocka_unit_test(a_drift_is_found_where_it_matters),
		cmocka_unit_test(the_same_call_at_an_even_pace_is_ambiguous),
		cmocka_unit_test(shuffled_names_match_nothing),
		cmocka_unit_test(other_programs_do_not_match),
		cmocka_unit_test(a_thread_that_is_another_does_no_harm),
		cmocka_unit_test(another_process_in_step_is_not_taken_for_this_one),
		cmocka_unit_test(few_happenings_are_not_enough),
		cmocka_unit_test(nothing_in_common_is_said),
		cmocka_unit_test(waits_match_by_their_length),
		cmocka_unit_test(extreme_times_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
