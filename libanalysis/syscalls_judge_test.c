/*
 * syscalls_judge_test.c - slow episodes, what may be slow for a reason, calls that hang. What is
 * expected is counted by hand.
 */
#include "near_test.h"
#include "syscalls_example.h"

/* ---- slow, with a doubt ------------------------------------------------------------------------ */

static void two_slow_episodes_are_outliers_from_the_first_to_the_last(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 400; i++)
		call(100, "mmap", NULL, i * S,
		     i / 40 == 2 || i / 40 == 6 ? (15 + i % 30) * MS : (40 + i % 5) * US);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 1);
	assert_int_equal(calls.outliers[0].outlier_count, 80);
	assert_int_equal(calls.outliers[0].episode_count, 2);
	assert_int_equal(calls.outliers[0].since_ns, 80 * S);
	assert_true(calls.outliers[0].has_until);
	assert_int_equal(calls.outliers[0].until_ns, 280 * S);
	assert_int_equal(calls.suspect_count, 0);
}

static void slow_calls_that_are_frequent_all_the_time_are_suspects(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 400; i++)
		call(100, "mmap", NULL, i * S, i % 10 == 7 ? 20 * MS : 40 * US);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 0);
	assert_int_equal(calls.suspect_count, 1);
	assert_int_equal(calls.suspects[0].doubt, TL_DOUBT_FREQUENT);
	assert_int_equal(calls.suspects[0].outlier_count, 40);
	assert_int_equal(calls.suspects[0].cost_ns, 40 * (20 * MS - 40 * US));
}

static void waits_for_what_comes_from_outside_that_became_longer_are_suspects(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 400; i++) {
		struct tl_event ev = made(100, "poll", NULL, i * 100 * MS,
					  i < 300 ? 700 * US : (15 + i % 30) * MS);

		ev.syscall.result = 1; /* not its timer */
		emit(&ev);
	}
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 0);
	assert_int_equal(calls.suspect_count, 1);
	assert_int_equal(calls.suspects[0].doubt, TL_DOUBT_OUTSIDE);
	assert_int_equal(calls.suspects[0].outlier_count, 100);
	assert_int_equal(calls.suspects[0].since_ns, 30 * S);
}

/* A thread that waits for nearly all of its time, and 200 times for a lock. */
static void make_event_loop(const char *wait, int64_t wait_ns, int64_t lock_ns, int64_t slow_ns)
{
	int64_t ts = 0;

	begin_source("a", false);
	for (int i = 0; i < 200; i++) {
		struct tl_event ev = made(100, wait, "FUTEX_WAIT", ts, wait_ns);
		int64_t lock = i < 150 ? lock_ns : slow_ns + i % 20 * MS;

		ev.syscall.result = 1;
		emit(&ev);
		ts += wait_ns + 10 * US;
		call(100, "futex", "FUTEX_WAIT_PRIVATE", ts, lock);
		ts += lock + 10 * US;
	}
	end_source();
}

static void a_lock_of_an_event_loop_that_becomes_slow_is_an_outlier(void **state)
{
	(void)state;
	make_event_loop("epoll_wait", 50 * MS, 300 * US, 20 * MS);
	assert_int_equal(ask(NULL), TL_OK);
	assert_true(calls.threads[0].is_idle);
	assert_int_equal(calls.outlier_count, 1);
	assert_string_equal(calls.outliers[0].operation, "FUTEX_WAIT_PRIVATE");
	assert_int_equal(calls.outliers[0].outlier_count, 50);
	assert_int_equal(calls.wait_count, 1); /* the lock is none of the idle waits */
	assert_int_equal(sum_of(100, "futex")->idle_ns, 0);
}

static void what_a_thread_idles_in_may_take_longer(void **state)
{
	(void)state;
	make_event_loop("epoll_wait", 1 * MS, 10 * MS, 40 * MS);
	assert_int_equal(ask(NULL), TL_OK);
	assert_true(calls.threads[0].is_idle);
	assert_int_equal(calls.outlier_count, 0);
	assert_int_equal(calls.suspect_count, 0);
}

/* ---- calls that hang --------------------------------------------------------------------------- */

static void open_call(int32_t tid, const char *name, const char *operation, int64_t ts)
{
	struct tl_event ev = made(tid, name, operation, ts, -1);

	ev.syscall.outcome = TL_CALL_OPEN;
	ev.syscall.has_result = false;
	emit(&ev);
}

static void a_call_that_does_not_wait_and_does_not_end_hangs(void **state)
{
	(void)state;
	begin_source("a", false);
	open_call(101, "futex", "FUTEX_WAIT", 0);
	open_call(102, "ioctl", "DRM", 2 * S);
	call(100, "write", NULL, 9 * S, MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.hanging_count, 1);
	assert_true(calls.opens[0].is_hanging);
	assert_string_equal(calls.opens[0].name, "ioctl");
	assert_int_equal(calls.opens[0].age_ns, 7 * S);
	assert_false(calls.opens[1].is_hanging);
}

static void what_takes_as_long_when_it_ends_does_not_hang(void **state)
{
	(void)state;
	begin_source("a", false);
	call(100, "ioctl", "DRM", 0, 8 * S);
	open_call(102, "ioctl", "DRM", 2 * S);
	open_call(103, "ioctl", "OTHER", 2 * S);
	call(100, "write", NULL, 9 * S, MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.hanging_count, 1);
	assert_string_equal(calls.opens[0].operation, "OTHER");
}

static void a_read_from_one_does_not_know_what_may_wait(void **state)
{
	(void)state;
	begin_source("a", false);
	open_call(102, "read", NULL, 2 * S);
	call(100, "write", NULL, 9 * S, MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.hanging_count, 0);
	assert_true(calls.opens[0].may_wait);
}

static void a_library_call_around_others_does_not_hang(void **state)
{
	(void)state;
	begin_source("a", false);
	open_call(100, "__libc_start_main", NULL, 0);
	call(100, "write", NULL, 9 * S, MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.hanging_count, 0);
}

static void a_log_that_is_cut_makes_no_call_hang(void **state)
{
	(void)state;
	begin_source("a", false);
	open_call(101, "fsync", NULL, 9 * S - 50 * MS);
	call(100, "write", NULL, 9 * S, MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.open_count, 1);
	assert_int_equal(calls.hanging_count, 0);
}

/* ---- how much a thread waits -------------------------------------------------------------------- */

static void waits_inside_each_other_count_once(void **state)
{
	struct tl_event ev = made(100, "pthread_join", NULL, 0, 80 * MS);

	(void)state;
	begin_source("a", false);
	call(100, "SYS_futex", "FUTEX_WAIT", 10 * MS, 60 * MS);
	ev.syscall.kind = TL_CALL_LIBRARY;
	emit(&ev);
	call(100, "SYS_write", NULL, 99 * MS, MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_near(calls.threads[0].wait_ratio, 0.8, 1e-9);
	assert_false(calls.threads[0].is_idle);
}

/* Seven waits of 300 ms in two whole seconds. */
static void make_seconds(void)
{
	begin_source("a", false);
	for (int i = 0; i < 7; i++)
		call(100, "futex", "FUTEX_WAIT", i / 4 * S, 300 * MS);
	end_source();
}

static void times_in_whole_seconds_do_not_tell_who_idles(void **state)
{
	(void)state;
	make_seconds();
	assert_int_equal(tl_store_execute(store,
					  "INSERT INTO source_meta(source_id, key, value) "
					  "VALUES(1, 'tracer_time_digits', '0')",
					  &err),
			 TL_OK);
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.sources[0].time_unit_ns, S);
	assert_false(calls.threads[0].has_wall);
	assert_false(calls.threads[0].is_idle);
	assert_true(calls.threads[0].wait_ratio != calls.threads[0].wait_ratio);
}

static void a_thread_does_not_do_more_than_it_lived(void **state)
{
	(void)state;
	make_seconds();
	assert_int_equal(ask(NULL), TL_OK);
	assert_true(calls.threads[0].has_wall);
	assert_int_equal(calls.threads[0].wall_ns, 7 * 300 * MS);
	assert_near(calls.threads[0].wait_ratio, 1, 1e-9);
}

static void of_calls_that_begin_together_each_has_its_own_line(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 3; i++) {
		struct tl_event ev = made(100, "write", NULL, S, (1 + i) * MS);

		ev.syscall.position = 10 + i;
		emit(&ev);
	}
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	for (int i = 0; i < 3; i++)
		assert_int_equal(look_up(&sum_of(100, "write")->longest[i])->line, 12 - i);
}

static void rows_are_kept_of_short_calls_that_are_the_longest(void **state)
{
	(void)state;
	begin_source("a", true);
	for (int i = 0; i < 100; i++) {
		struct tl_event ev = made(100, "write", NULL, i * S, (i == 50 ? 90 : 40) * US);

		ev.syscall.position = i + 1;
		emit(&ev);
	}
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(look_up(&sum_of(100, "write")->longest[0])->line, 51);
	assert_int_equal(look_up(&sum_of(100, "write")->longest[1])->line, 1);
}

#define CALLS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CALLS_TEST(two_slow_episodes_are_outliers_from_the_first_to_the_last),
		CALLS_TEST(slow_calls_that_are_frequent_all_the_time_are_suspects),
		CALLS_TEST(waits_for_what_comes_from_outside_that_became_longer_are_suspects),
		CALLS_TEST(a_lock_of_an_event_loop_that_becomes_slow_is_an_outlier),
		CALLS_TEST(what_a_thread_idles_in_may_take_longer),
		CALLS_TEST(a_call_that_does_not_wait_and_does_not_end_hangs),
		CALLS_TEST(what_takes_as_long_when_it_ends_does_not_hang),
		CALLS_TEST(a_read_from_one_does_not_know_what_may_wait),
		CALLS_TEST(a_library_call_around_others_does_not_hang),
		CALLS_TEST(a_log_that_is_cut_makes_no_call_hang),
		CALLS_TEST(waits_inside_each_other_count_once),
		CALLS_TEST(times_in_whole_seconds_do_not_tell_who_idles),
		CALLS_TEST(a_thread_does_not_do_more_than_it_lived),
		CALLS_TEST(of_calls_that_begin_together_each_has_its_own_line),
		CALLS_TEST(rows_are_kept_of_short_calls_that_are_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
