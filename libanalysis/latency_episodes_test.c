/*
 * latency_episodes_test.c - slow episodes of series that are made here, so that it is known where
 * they are; and no episode where there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "latency_episodes.h"

#define US  INT64_C(1000)
#define MS  INT64_C(1000000)
#define MAX 4000

static int64_t ns[MAX];
static struct tl_latency_episodes found;

/* Numbers of no meaning in [0, 1), the same at each run. */
static double next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(*state >> 11) / 9007199254740992.0;
}

/* Calls of 0.4 to 0.9 ms. */
static void make(size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		ns[i] = 400 * US + (int64_t)(next_random(&seed) * 500e3);
}

/* Of those in [first, last) a share takes 15 to 50 ms. */
static void slow(size_t first, size_t last, double share, uint64_t seed)
{
	for (size_t i = first; i < last; i++)
		if (next_random(&seed) < share)
			ns[i] = 15 * MS + (int64_t)(next_random(&seed) * 35e6);
}

static void look(size_t n)
{
	assert_int_equal(tl_latency_episodes(&found, ns, n, NULL), TL_OK);
}

static bool is_near(size_t a, size_t b)
{
	return a <= b + 5 && b <= a + 5;
}

static void slow_from_a_tenth_on_is_found(void **state)
{
	(void)state;
	make(400, 1);
	slow(40, 400, 0.55, 2);
	look(400);
	assert_int_equal(found.slow_count, 1);
	assert_true(is_near(found.slow[0].begin, 40));
	assert_int_equal(found.slow[0].end, 400);
	assert_int_equal(found.usual_count, 1);
	assert_int_equal(found.usual[0].begin, 0);
	assert_int_equal(found.usual[0].end, found.slow[0].begin);
	assert_true(found.cut_ns > 900 * US && found.cut_ns < 15 * MS);
}

static void two_episodes_and_what_is_usual_between_are_found(void **state)
{
	(void)state;
	make(400, 3);
	slow(100, 140, 0.7, 4);
	slow(250, 290, 0.7, 5);
	look(400);
	assert_int_equal(found.slow_count, 2);
	assert_true(is_near(found.slow[0].begin, 100));
	assert_true(is_near(found.slow[0].end, 140));
	assert_true(is_near(found.slow[1].begin, 250));
	assert_true(is_near(found.slow[1].end, 290));
	assert_int_equal(found.usual_count, 3);
	assert_int_equal(found.usual[1].begin, found.slow[0].end);
	assert_int_equal(found.usual[2].end, 400);
}

static void slow_calls_spread_evenly_are_no_episode(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		make(400, seed);
		slow(0, 400, 0.11, seed + 1000);
		look(400);
		assert_int_equal(found.slow_count, 0);
	}
}

static void chance_makes_no_episodes(void **state)
{
	uint64_t random = 42;

	(void)state;
	/* one in twenty is slow: in 5,000 series some have most of them at their end */
	for (size_t round = 0; round < 5000; round++) {
		for (size_t i = 0; i < 380; i++) {
			ns[i] = 50 * US;
			if (next_random(&random) < 0.05)
				ns[i] = MS + (int64_t)(next_random(&random) * 4e6);
		}
		look(380);
		assert_int_equal(found.slow_count, 0);
	}
}

static void heavy_tails_are_no_episode(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t random = seed;

		/* Pareto with exponent 1, from 0.2 ms on */
		for (size_t i = 0; i < 2000; i++)
			ns[i] = (int64_t)(200e3 / (1 - 0.9999 * next_random(&random)));
		look(2000);
		assert_int_equal(found.slow_count, 0);
	}
}

static void calls_that_are_slow_every_now_and_then_are_no_episodes(void **state)
{
	(void)state;
	make(1000, 7);
	for (size_t i = 0; i < 10; i++)
		slow(i * 100 + 50, i * 100 + 65, 1, 8);
	look(1000);
	assert_int_equal(found.slow_count, 0);
}

static void a_warm_up_is_neither_slow_nor_usual(void **state)
{
	(void)state;
	make(400, 9);
	slow(0, 40, 0.8, 10);
	look(400);
	assert_int_equal(found.slow_count, 0);
	slow(300, 400, 0.8, 11);
	look(400);
	assert_int_equal(found.slow_count, 1);
	assert_true(is_near(found.slow[0].begin, 300));
	assert_true(found.usual[0].begin >= 36);
}

static void slow_from_the_first_call_on_tells_nothing_of_what_is_usual(void **state)
{
	(void)state;
	make(400, 12);
	slow(0, 250, 0.8, 13);
	look(400);
	assert_int_equal(found.slow_count, 0);
}

static void a_line_that_is_just_crossed_is_no_episode(void **state)
{
	(void)state;
	for (size_t i = 0; i < 400; i++)
		ns[i] = i < 200 ? 900 * US : 1100 * US;
	look(400);
	assert_int_equal(found.slow_count, 0);
}

static void faster_calls_are_no_episode(void **state)
{
	(void)state;
	make(400, 14);
	slow(0, 200, 1, 15);
	look(400);
	assert_int_equal(found.slow_count, 0);
}

static void few_calls_have_no_episode(void **state)
{
	(void)state;
	make(39, 16);
	slow(20, 39, 1, 17);
	look(39);
	assert_int_equal(found.slow_count, 0);
	make(40, 16);
	slow(20, 40, 1, 17);
	look(40);
	assert_int_equal(found.slow_count, 1);
	assert_int_equal(found.slow[0].begin, 20);
	look(0);
	assert_int_equal(found.slow_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_from_a_tenth_on_is_found),
		cmocka_unit_test(two_episodes_and_what_is_usual_between_are_found),
		cmocka_unit_test(slow_calls_spread_evenly_are_no_episode),
		cmocka_unit_test(chance_makes_no_episodes),
		cmocka_unit_test(heavy_tails_are_no_episode),
		cmocka_unit_test(calls_that_are_slow_every_now_and_then_are_no_episodes),
		cmocka_unit_test(a_warm_up_is_neither_slow_nor_usual),
		cmocka_unit_test(slow_from_the_first_call_on_tells_nothing_of_what_is_usual),
		cmocka_unit_test(a_line_that_is_just_crossed_is_no_episode),
		cmocka_unit_test(faster_calls_are_no_episode),
		cmocka_unit_test(few_calls_have_no_episode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
