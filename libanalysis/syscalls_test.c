/*
 * syscalls_test.c - sums, quantiles, outliers, idle waits, open calls. What is expected is counted by
 * hand; thresholds follow the rule written down in latency.h.
 */
#include "near_test.h"
#include "syscalls_example.h"

/* ---- sums ------------------------------------------------------------------------------------- */

static void calls_errors_and_time_are_summed_per_thread_and_call(void **state)
{
	(void)state;
	begin_source("a", false);
	comm(100, 100, "main");
	comm(100, 101, "worker");
	for (int i = 0; i < 4; i++)
		call(100, "read", NULL, i * 100 * US, (i + 1) * 10 * US);
	failed_call(100, "open", 400 * US, 5 * US, "ENOENT");
	call(101, "read", NULL, 0, 7 * US);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.call_count, 6);
	assert_int_equal(calls.error_count, 1);
	assert_int_equal(calls.sum_count, 3);
	assert_int_equal(sum_of(100, "read")->call_count, 4);
	assert_int_equal(sum_of(100, "read")->total_ns, 100 * US);
	assert_int_equal(sum_of(100, "read")->min_ns, 10 * US);
	assert_int_equal(sum_of(100, "read")->max_ns, 40 * US);
	assert_int_equal(sum_of(100, "open")->error_count, 1);
	assert_int_equal(sum_of(101, "read")->total_ns, 7 * US);
	assert_string_equal(calls.threads[sum_of(101, "read")->thread].name, "worker");
}

static void quantiles_lie_between_neighbours(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int i = 0; i <= 1000; i++)
		call(100, "read", NULL, i * MS, i * 100);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_true(sum_of(100, "read")->quantile_ns[0] == 50000);
	assert_true(sum_of(100, "read")->quantile_ns[1] == 90000);
	assert_true(sum_of(100, "read")->quantile_ns[2] == 99000);
	assert_true(sum_of(100, "read")->quantile_ns[3] == 99900);
}

static void shares_are_of_the_time_from_first_call_to_end_of_last(void **state)
{
	(void)state;
	begin_source("a", false);
	call(100, "write", NULL, 1000 * MS, 10 * MS);
	call(100, "fsync", NULL, 1070 * MS, 30 * MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.threads[0].wall_ns, 100 * MS);
	assert_near(sum_of(100, "write")->share_ratio, 0.1, 1e-6);
	assert_near(sum_of(100, "fsync")->share_ratio, 0.3, 1e-6);
}

static void buckets_are_powers_of_two(void **state)
{
	const struct tl_syscall_sum *sum;

	(void)state;
	begin_source("a", false);
	call(100, "read", NULL, 0, 4);
	call(100, "read", NULL, 100, 7);
	call(100, "read", NULL, 200, 16);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	sum = sum_of(100, "read");
	assert_int_equal(sum->first_bucket, 2);
	assert_int_equal(sum->bucket_count, 3);
	assert_int_equal(sum->buckets[0], 2);
	assert_int_equal(sum->buckets[1], 0);
	assert_int_equal(sum->buckets[2], 1);
}

static void the_longest_calls_come_with_time_and_arguments(void **state)
{
	struct tl_event ev = made(100, "openat", NULL, 20 * MS, 9 * MS);
	const struct tl_syscall_one *one;

	(void)state;
	begin_source("a", false);
	call(100, "openat", NULL, 0, 5 * MS);
	ev.syscall.arguments = "AT_FDCWD, \"/data\"";
	ev.syscall.arguments_length = strlen(ev.syscall.arguments);
	ev.syscall.path = "/data";
	ev.syscall.path_length = 5;
	ev.syscall.result = 3;
	ev.syscall.position = 17;
	emit(&ev);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "openat")->longest_count, 2);
	one = look_up(sum_of(100, "openat")->longest);
	assert_int_equal(one->ts, 20 * MS);
	assert_int_equal(one->duration_ns, 9 * MS);
	assert_string_equal(one->arguments, "AT_FDCWD, \"/data\"");
	assert_string_equal(one->path, "/data");
	assert_int_equal(one->result, 3);
	assert_int_equal(one->line, 17);
	assert_int_equal(one[1].duration_ns, 5 * MS);
}

static void calls_without_duration_are_counted_and_have_no_quantiles(void **state)
{
	struct tl_event ev = made(100, "read", NULL, 0, -1);

	(void)state;
	begin_source("a", false);
	ev.syscall.timing = TL_CALL_UNTIMED;
	emit(&ev);
	ev.ts = 50;
	emit(&ev);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "read")->call_count, 2);
	assert_int_equal(sum_of(100, "read")->timed_count, 0);
	assert_true(sum_of(100, "read")->quantile_ns[0] != sum_of(100, "read")->quantile_ns[0]);
	assert_int_equal(calls.sources[0].untimed_count, 2);
}

static void a_log_without_threads_and_times_is_summed_all_the_same(void **state)
{
	struct tl_event ev = made(TL_ID_NONE, "ioctl", "TCGETS", 0, 3 * MS);

	(void)state;
	begin_source("a", false);
	ev.syscall.task = (struct tl_task) { TL_ID_NONE, TL_ID_NONE };
	ev.has_ts = false;
	ev.syscall.position = 4;
	emit(&ev);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.threads[0].tid, -1);
	assert_int_equal(calls.sums[0].total_ns, 3 * MS);
	assert_false(calls.sums[0].longest[0].has_ts);
	assert_int_equal(look_up(calls.sums[0].longest)->line, 4);
}

/* ---- outliers ----------------------------------------------------------------------------------- */

/* 1000 calls of 2 us, 400 of 200 us, then three of 20, 30 and 40 ms at even distances. */
static void two_modes(int32_t tid)
{
	int64_t ts = 0;

	for (int i = 0; i < 1400; i++, ts += MS)
		call(tid, "write", NULL, ts, i % 7 < 5 ? 2 * US : 200 * US);
	for (int i = 0; i < 3; i++, ts += 100 * MS)
		call(tid, "write", NULL, ts, (20 + 10 * i) * MS);
}

static void a_blocking_mode_is_usual_and_what_is_beyond_is_an_outlier(void **state)
{
	const struct tl_syscall_outlier *o;

	(void)state;
	begin_source("a", false);
	two_modes(100);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 1);
	o = &calls.outliers[0];
	assert_string_equal(o->name, "write");
	assert_null(o->operation);
	assert_int_equal(o->judged_count, 1403);
	assert_int_equal(o->outlier_count, 3);
	assert_int_equal(o->cost_ns, 90 * MS - 3 * 2 * US); /* the median is 2 us */
	assert_int_equal(o->max_ns, 40 * MS);
	/* the mode of 200 us times e^(5 * 0.25) is below the floor */
	assert_true(o->threshold_ns == MS);
	assert_int_equal(o->longest[0].duration_ns, 40 * MS);
}

static void outliers_are_judged_per_operation(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 100; i++) {
		call(100, "ioctl", "SLOW", i * 100 * MS, 20 * MS);
		call(100, "ioctl", "FAST", i * 100 * MS + 50 * MS, i == 70 ? 20 * MS : 10 * US);
	}
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 1);
	assert_string_equal(calls.outliers[0].operation, "FAST");
	assert_int_equal(calls.outliers[0].outlier_count, 1);
	assert_int_equal(calls.sum_count, 1); /* sums are per call */
}

static void outliers_are_ranked_by_cost_not_by_maximum(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 400; i++) {
		call(100, "write", NULL, i * S, i % 40 == 39 ? 30 * MS : 10 * US); /* 10 x 30 ms */
		call(100, "fsync", NULL, i * S + S / 2, i == 77 ? 200 * MS : 10 * US);
	}
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 2);
	assert_string_equal(calls.outliers[0].name, "write");
	assert_string_equal(calls.outliers[1].name, "fsync");
}

static void what_is_usual_is_learnt_from_good_steps(void **state)
{
	(void)state;
	begin_source("a", false);
	/* 30 good steps with one fast madvise each, then 20 slow ones with slow ones */
	for (int i = 0; i < 50; i++)
		call(100, "madvise", NULL, i * S, i < 30 ? 50 * US : 15 * MS);
	call(100, "madvise", NULL, 60 * S, 500 * MS); /* in no step */
	end_source();
	for (int i = 0; i < 50; i++)
		step(i, i * S, S, i < 30 ? "good" : "slow");
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 1);
	assert_int_equal(calls.outliers[0].learnt, TL_LEARNT_GOOD);
	assert_int_equal(calls.outliers[0].learnt_count, 30);
	assert_int_equal(calls.outliers[0].judged_count, 50);
	assert_int_equal(calls.outliers[0].outlier_count, 20);
	assert_int_equal(calls.outliers[0].cost_ns, 20 * (15 * MS - 50 * US));
	assert_true(calls.outliers[0].longest[0].has_step);
	assert_int_equal(calls.outliers[0].longest[0].step, 30);
	assert_string_equal(calls.outliers[0].longest[0].step_class, "slow");
}

static void a_shift_is_found_among_noise(void **state)
{
	(void)state;
	begin_source("a", false);
	/* anything up to 20 ms, then anything from 25 to 60 ms: no gap, and no mode */
	for (int i = 0; i < 300; i++)
		call(100, "munmap", NULL, i * S,
		     i < 200 ? (1 + i * 37 % 20) * MS : (25 + i * 37 % 36) * MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 1);
	assert_int_equal(calls.outliers[0].learnt, TL_LEARNT_BEFORE);
	assert_int_equal(calls.outliers[0].since_ns, 200 * S);
	assert_true(calls.outliers[0].outlier_count >= 90 &&
		    calls.outliers[0].outlier_count <= 110);
}

static void noise_that_stays_the_same_has_no_outliers(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 2000; i++)
		call(100, "munmap", NULL, i * S, (1 + i * 7919 % 30) * MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 0);
}

static void without_steps_it_is_learnt_from_before_the_calls_became_slow(void **state)
{
	(void)state;
	begin_source("a", false);
	/* half of all calls are slow: they would be usual if one did not look at the time */
	for (int i = 0; i < 400; i++)
		call(100, "mmap", NULL, i * S, i < 200 ? (40 + i % 5) * US : (15 + i % 30) * MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 1);
	assert_int_equal(calls.outliers[0].learnt, TL_LEARNT_BEFORE);
	assert_int_equal(calls.outliers[0].learnt_count, 200);
	assert_int_equal(calls.outliers[0].outlier_count, 200);
	assert_true(calls.outliers[0].has_since);
	assert_int_equal(calls.outliers[0].since_ns, 200 * S);
}

static void two_modes_that_take_turns_are_both_usual(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 400; i++)
		call(100, "mmap", NULL, i * S, i % 10 < 5 ? 40 * US : 20 * MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 0);
}

static void few_calls_are_judged_by_those_of_all_threads(void **state)
{
	(void)state;
	begin_source("a", false);
	for (int tid = 200; tid < 210; tid++)
		for (int i = 0; i < 10; i++)
			call(tid, "ioctl", "RUN", i * S, tid == 205 && i == 5 ? 40 * MS : 100 * US);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 1);
	assert_int_equal(calls.threads[calls.outliers[0].thread].tid, 205);
	assert_int_equal(calls.outliers[0].learnt, TL_LEARNT_POOL);
	assert_int_equal(calls.outliers[0].learnt_count, 100);
	assert_int_equal(calls.outliers[0].outlier_count, 1);
}

/* ---- idle waits --------------------------------------------------------------------------------- */

static void idle_waits_are_never_outliers(void **state)
{
	(void)state;
	begin_source("a", false);
	/* 40 threads that wait for this and that, now and then much longer */
	for (int tid = 200; tid < 240; tid++) {
		int64_t ts = 0;

		for (int i = 0; i < 60; i++) {
			int64_t dur = i % 25 == 24 ? 5 * S : 10 * MS;

			call(tid, "epoll_wait", NULL, ts, dur);
			ts += dur + 100 * US;
		}
	}
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.outlier_count, 0);
	assert_int_equal(calls.idle_thread_count, 40);
	assert_int_equal(calls.wait_count, 40);
	assert_true(calls.waits[0].is_idle);
	assert_int_equal(calls.waits[0].total_ns, 2 * 5 * S + 58 * 10 * MS);
}

static void a_lock_that_becomes_slow_makes_no_idle_thread(void **state)
{
	int64_t ts = 0;

	(void)state;
	begin_source("a", false);
	/* it computes for 1 ms between waits; at last it waits for more than 90 % of its time */
	for (int i = 0; i < 600; i++) {
		int64_t dur = i < 300 ? 60 * US : (15 + i % 36) * MS;

		call(100, "futex", "FUTEX_WAIT_PRIVATE", ts, dur);
		ts += dur + MS;
	}
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_true(calls.threads[0].wait_ratio > 0.9);
	assert_false(calls.threads[0].is_idle);
	assert_int_equal(calls.outlier_count, 1);
	assert_int_equal(calls.outliers[0].outlier_count, 300);
}

static void an_event_loop_that_has_less_to_do_is_not_slow(void **state)
{
	int64_t ts = 0;

	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 600; i++) {
		int64_t dur = i < 300 ? 100 * US : 40 * MS;

		call(100, "epoll_wait", NULL, ts, dur);
		ts += dur + 10 * MS;
	}
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_false(calls.threads[0].is_idle);
	assert_int_equal(calls.outlier_count, 0);
}

static void time_in_idle_waits_is_part_of_the_total(void **state)
{
	(void)state;
	begin_source("a", false);
	call(100, "brk", NULL, 0, 10);
	call(100, "poll", NULL, 10 * S, 3 * MS); /* its timer */
	failed_call(100, "poll", 20 * S, 2 * MS, "EINTR");
	call(101, "futex", "FUTEX_WAIT", 0, 99 * MS); /* an idle thread */
	call(101, "futex", "FUTEX_WAKE", 99 * MS, MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "poll")->total_ns, 5 * MS);
	assert_int_equal(sum_of(100, "poll")->idle_ns, 3 * MS);
	assert_int_equal(sum_of(101, "futex")->total_ns, 100 * MS);
	assert_int_equal(sum_of(101, "futex")->idle_ns, 99 * MS);
}

static void the_thread_that_carries_the_steps_is_not_idle(void **state)
{
	int64_t ts = 0;

	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 50; i++, ts += 20 * MS)
		call(100, "futex", "FUTEX_WAIT", ts, i == 40 ? 400 * MS : 19 * MS);
	end_source();
	step(1, 0, 30 * 20 * MS, "good");
	step(2, 30 * 20 * MS, 20 * 20 * MS, "slow");
	assert_int_equal(tl_store_execute(store, "UPDATE step SET thread_id = 1", &err), TL_OK);
	assert_int_equal(ask(NULL), TL_OK);
	assert_true(calls.threads[0].is_step_thread);
	assert_int_equal(calls.outlier_count, 1);
}

static void what_ended_by_its_own_timer_is_no_outlier(void **state)
{
	struct tl_event ev = made(100, "nanosleep", NULL, 0, 0);

	(void)state;
	begin_source("a", false);
	call(100, "brk", NULL, 0, 10); /* and then it computes for long */
	for (int i = 0; i < 100; i++) {
		ev.ts = (i + 1) * 10 * S;
		ev.syscall.has_timeout = true;
		ev.syscall.timeout_ns = i == 50 ? 2 * S : MS;
		ev.syscall.duration_ns = ev.syscall.timeout_ns + 60 * US;
		emit(&ev);
	}
	/* this one should have taken 1 ms */
	ev.ts += S;
	ev.syscall.duration_ns = 80 * MS;
	emit(&ev);
	for (int i = 0; i < 100; i++)
		failed_call(100, "futex", 2000 * S + i * S, i == 9 ? 500 * MS : MS, "ETIMEDOUT");
	for (int i = 0; i < 100; i++)
		call(100, "poll", NULL, 3000 * S + i * S, i == 9 ? 500 * MS : MS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "nanosleep")->timer_count, 100);
	assert_int_equal(sum_of(100, "poll")->timer_count, 100);
	assert_false(calls.threads[0].is_idle);
	assert_int_equal(calls.outlier_count, 0);
}

/* ---- calls without an end -------------------------------------------------------------------------- */

static void open_calls_are_listed_with_their_age(void **state)
{
	struct tl_event ev = made(100, "write", NULL, 2 * S, -1);

	(void)state;
	begin_source("a", false);
	call(100, "getpid", NULL, S, US);
	ev.syscall.outcome = TL_CALL_OPEN;
	ev.syscall.timing = TL_CALL_UNTIMED;
	ev.syscall.has_result = false;
	emit(&ev);
	ev = made(101, "epoll_wait", NULL, S, -1);
	ev.syscall.outcome = TL_CALL_OPEN;
	ev.syscall.timing = TL_CALL_UNTIMED;
	emit(&ev);
	call(102, "getpid", NULL, 10 * S, US);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.open_count, 2);
	assert_string_equal(calls.opens[0].name, "write"); /* waits come last, however old */
	assert_false(calls.opens[0].is_wait);
	assert_int_equal(calls.opens[0].age_ns, 8 * S);
	assert_true(calls.opens[1].is_wait);
	assert_null(sum_of(100, "write"));	      /* it is not among the calls that came back */
	assert_int_equal(calls.idle_thread_count, 1); /* 101 did nothing but wait */
}

/* ---- what is asked for ------------------------------------------------------------------------------ */

static void a_wait_that_a_process_ended_in_is_listed(void **state)
{
	struct tl_event ev = made(101, "epoll_wait", NULL, S, -1);

	(void)state;
	begin_source("a", false);
	ev.syscall.outcome = TL_CALL_NO_RETURN;
	ev.syscall.timing = TL_CALL_UNTIMED;
	emit(&ev);
	ev = made(100, "exit_group", NULL, 4 * S, -1);
	ev.syscall.outcome = TL_CALL_NO_RETURN;
	emit(&ev);
	emit(&(struct tl_event) { .kind = TL_EVENT_EXIT,
				  .has_ts = true,
				  .ts = 5 * S,
				  .exit = { .task = { 100, 101 } } });
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.open_count, 1); /* exit_group itself is none */
	assert_string_equal(calls.opens[0].name, "epoll_wait");
	assert_int_equal(calls.opens[0].age_ns, 4 * S);
	assert_int_equal(calls.idle_thread_count, 1);
}

static void times_choose_by_begin(void **state)
{
	const struct tl_time_range range = { 2 * S, 4 * S };
	const struct tl_syscall_options opt = { .ranges = &range, .range_count = 1 };

	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 10; i++)
		call(100, "write", NULL, i * S, 900 * MS + i);
	end_source();
	assert_int_equal(ask(&opt), TL_OK);
	assert_int_equal(calls.call_count, 2);
	assert_int_equal(calls.outside_count, 8);
	assert_int_equal(sum_of(100, "write")->total_ns, 1800 * MS + 2 + 3);
	assert_near(sum_of(100, "write")->share_ratio, 0.9, 1e-6);
}

static void steps_choose_by_class_and_number(void **state)
{
	struct tl_syscall_options opt = { .steps = "slow" };

	(void)state;
	begin_source("a", false);
	for (int i = 0; i < 10; i++)
		call(100, "write", NULL, i * S, MS);
	end_source();
	for (int i = 0; i < 8; i++)
		step(100 + i, i * S, S, i < 5 ? "good" : "slow");
	assert_int_equal(ask(&opt), TL_OK);
	assert_int_equal(calls.call_count, 3);
	opt.steps = "101-102";
	assert_int_equal(ask(&opt), TL_OK);
	assert_int_equal(calls.call_count, 2);
	opt.steps = "500";
	assert_int_equal(ask(&opt), TL_NOTHING);
}

static void without_steps_that_is_said(void **state)
{
	const struct tl_syscall_options opt = { .steps = "slow" };

	(void)state;
	begin_source("a", false);
	call(100, "write", NULL, 0, MS);
	end_source();
	assert_int_equal(ask(&opt), TL_NOTHING);
	assert_non_null(strstr(err.text, "steps"));
}

static void names_threads_errors_and_durations_choose(void **state)
{
	const int32_t tid = 101;

	(void)state;
	begin_source("a", false);
	comm(100, 100, "main");
	comm(100, 101, "worker");
	call(100, "read", NULL, 0, 5 * MS);
	call(100, "pread64", NULL, MS, 10);
	failed_call(101, "open", 0, US, "ENOENT");
	call(101, "open", NULL, MS, US);
	end_source();
	assert_int_equal(ask(&(struct tl_syscall_options) { .name_pattern = "^read$" }), TL_OK);
	assert_int_equal(calls.call_count, 1);
	assert_int_equal(ask(&(struct tl_syscall_options) { .thread_pattern = "^work" }), TL_OK);
	assert_int_equal(calls.call_count, 2);
	assert_int_equal(ask(&(struct tl_syscall_options) { .tids = &tid, .tid_count = 1 }), TL_OK);
	assert_int_equal(calls.call_count, 2);
	assert_int_equal(ask(&(struct tl_syscall_options) { .errors_only = true }), TL_OK);
	assert_int_equal(calls.call_count, 1);
	assert_int_equal(ask(&(struct tl_syscall_options) { .min_ns = MS }), TL_OK);
	assert_int_equal(calls.call_count, 1);
	assert_int_equal(ask(&(struct tl_syscall_options) { .name_pattern = "nosuch" }),
			 TL_NOTHING);
	assert_int_equal(ask(&(struct tl_syscall_options) { .name_pattern = "(" }), TL_USAGE);
}

static void an_empty_case_has_no_calls(void **state)
{
	(void)state;
	assert_int_equal(ask(NULL), TL_NOTHING);
	assert_non_null(strstr(err.text, "no system calls"));
}

/* ---- two ways, two sources -------------------------------------------------------------------------- */

static void sums_of_a_case_without_rows_are_the_same(void **state)
{
	int64_t rows;

	(void)state;
	begin_source("a", true);
	two_modes(100);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.call_count, 1403);
	assert_int_equal(calls.outliers[0].outlier_count, 3);
	assert_int_equal(calls.outliers[0].cost_ns, 90 * MS - 3 * 2 * US);
	assert_true(look_up(calls.outliers[0].longest)->has_detail); /* the longest have rows */
	assert_int_equal(tl_store_value(store, "SELECT count(*) FROM syscall", 0, &rows, &err),
			 TL_OK);
	assert_true(rows < 40); /* those, and what was among the longest before */
}

/* As tracepoints of the run would be, or another program's recording of it. */
static void match_second_to_first(void)
{
	assert_int_equal(tl_store_execute(store,
					  "UPDATE source SET clock_reference_id = 1 WHERE "
					  "source_id = 2",
					  &err),
			 TL_OK);
}

static void a_call_that_two_sources_tell_of_counts_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin_source(i ? "b" : "a", false);
		for (int k = 0; k < 10; k++)
			call(100, "write", NULL, k * S + i * 50 * US, MS);
		if (i) {
			call(100, "read", NULL, 5 * S + 10 * MS, MS); /* a never looked at reads */
			call(100, "write", NULL, 20 * S, MS);	      /* a ended before */
		}
		end_source();
	}
	match_second_to_first();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "write")->call_count, 10 + 1);
	assert_int_equal(sum_of(100, "read")->call_count, 1);
	assert_int_equal(calls.sources[0].call_count, 10);
	assert_int_equal(calls.sources[1].left_out_count, 10);
}

static void a_call_that_only_one_of_two_sources_saw_end_counts_once(void **state)
{
	struct tl_event ev = made(100, "poll", NULL, 2 * S, -1);

	(void)state;
	begin_source("a", false);
	call(100, "poll", NULL, S, MS);
	ev.syscall.outcome = TL_CALL_OPEN;
	emit(&ev);
	end_source();
	begin_source("b", false);
	call(100, "poll", NULL, S + 10 * US, MS);
	call(100, "poll", NULL, 2 * S + 10 * US, 3 * S);
	end_source();
	match_second_to_first();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "poll")->call_count, 1);
	assert_int_equal(calls.open_count, 1);
}

static void two_logs_with_one_number_that_are_no_copies_count_both(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin_source(i ? "b" : "a", false);
		for (int k = 0; k < 10; k++)
			call(100, "write", NULL, k * S + i * 50 * US, MS);
		end_source();
	}
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "write")->call_count, 20);
	assert_int_equal(calls.sources[1].left_out_count, 0);
}

static void two_logs_that_name_no_thread_are_of_two_threads(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin_source(i ? "b" : "a", false);
		for (int k = 0; k < 10; k++)
			call(TL_ID_NONE, "write", NULL, k * S + i * 50 * US, MS);
		end_source();
	}
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.thread_count, 2);
	assert_string_equal(calls.threads[0].name, "(b)");
	assert_string_equal(calls.threads[1].name, "(a)");
}

static void parts_of_a_log_that_was_cut_count_all_of_it(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin_source(i ? "b" : "a", false);
		for (int k = i * 10; k < 10 + i * 10; k++)
			call(100, "write", NULL, k * MS, MS);
		end_source();
	}
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "write")->call_count, 20);
}

static void a_log_and_its_beginning_count_each_call_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin_source(i ? "b" : "a", false);
		for (int k = 0; k < 20 + i * 20; k++)
			call(100, "write", NULL, k * S, MS);
		if (i) /* was not over where the other log is cut */
			call(100, "fsync", NULL, 18 * S + 2 * MS, 10 * S);
		else
			call(100, "fsync", NULL, 3 * S + 2 * MS, MS);
		if (i)
			call(100, "fsync", NULL, 3 * S + 2 * MS, MS);
		end_source();
	}
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "write")->call_count, 40);
	assert_int_equal(sum_of(100, "fsync")->call_count, 2);
	assert_int_equal(calls.sources[1].left_out_count, 21);
}

/* ---- calls made of tracepoints -------------------------------------------------------------------- */

static void hit(uint32_t type, int64_t ts, int32_t tid, uint64_t key, const char *fields)
{
	const struct tl_payload payload = { .key = key,
					    .json = fields,
					    .json_length = fields ? strlen(fields) : 0 };
	struct tl_event ev = { .kind = TL_EVENT_SAMPLE, .has_ts = true, .ts = ts };

	ev.sample.type_index = type;
	ev.sample.task = (struct tl_task) { 100, tid };
	ev.sample.real_tid = TL_ID_NONE;
	ev.sample.cpu = -1;
	ev.sample.period = 1;
	ev.sample.payload = &payload;
	emit(&ev);
}

static void raw_types(void)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_META, .meta = { "arch", "x86_64" } });
	emit(&(struct tl_event) {
		.kind = TL_EVENT_TYPE,
		.type = { .index = 0, .name = "raw_syscalls:sys_enter", .is_tracepoint = true } });
	emit(&(struct tl_event) {
		.kind = TL_EVENT_TYPE,
		.type = { .index = 1, .name = "raw_syscalls:sys_exit", .is_tracepoint = true } });
}

static void pairs_of_tracepoints_are_calls(void **state)
{
	(void)state;
	begin_source("perf", false);
	raw_types();
	/* as two buffers are written one after the other: the ends come first in the file */
	hit(1, 3000, 100, 0, "{\"id\":202,\"ret\":0}");
	hit(1, 5000, 101, 1, "{\"id\":1,\"ret\":-4}");
	hit(0, 1000, 100, 2, "{\"id\":202,\"args\":[140000,128,2,0,0,0]}");
	hit(0, 4000, 101, 3, "{\"id\":1,\"args\":[3,0,0,0,0,0]}");
	hit(0, 9000, 101, 4, "{\"id\":99999,\"args\":[0,0,0,0,0,0]}");
	hit(1, 9100, 101, 5, "{\"id\":99999,\"ret\":0}");
	hit(0, 9500, 101, 6, "{\"id\":231,\"args\":[0,0,0,0,0,0]}");
	hit(0, 9600, 100, 7, "{\"id\":0,\"args\":[0,0,0,0,0,0]}");
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(sum_of(100, "futex")->total_ns, 2000);
	assert_int_equal(sum_of(100, "futex")->wait_ns, 2000);
	assert_string_equal(sum_of(100, "futex")->longest[0].operation, "FUTEX_WAIT_PRIVATE");
	assert_int_equal(sum_of(101, "write")->error_count, 1);
	assert_string_equal(look_up(sum_of(101, "write")->longest)->error, "EINTR");
	assert_int_equal(sum_of(101, "syscall_0x1869f")->call_count, 1);
	assert_null(sum_of(101, "exit_group")); /* never comes back */
	assert_int_equal(calls.open_count, 1);
	assert_string_equal(calls.opens[0].name, "read");
	assert_true(calls.sources[0].is_tracepoint);
}

static void a_lost_end_makes_no_call(void **state)
{
	int64_t count;

	(void)state;
	begin_source("perf", false);
	raw_types();
	hit(0, 1000, 100, 0, "{\"id\":0,\"args\":[0,0,0,0,0,0]}");
	hit(0, 2000, 100, 1, "{\"id\":1,\"args\":[0,0,0,0,0,0]}");
	hit(1, 2500, 100, 2, "{\"id\":1,\"ret\":0}");
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.call_count, 1);
	assert_int_equal(sum_of(100, "write")->total_ns, 500);
	assert_int_equal(tl_store_value(store,
					"SELECT count FROM lost WHERE what = 'ends of system "
					"calls'",
					0, &count, &err),
			 TL_OK);
	assert_int_equal(count, 1);
}

static void tracepoints_give_way_to_a_tracer(void **state)
{
	(void)state;
	begin_source("perf", false);
	raw_types();
	hit(0, 1000, 100, 0, "{\"id\":0,\"args\":[0,0,0,0,0,0]}");
	hit(1, 1500, 100, 1, "{\"id\":0,\"ret\":0}");
	end_source();
	begin_source("log", false);
	call(100, "read", NULL, 900, 700);
	call(100, "close", NULL, 2000, 10);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(calls.call_count, 2);
	assert_int_equal(sum_of(100, "read")->total_ns, 700);
	assert_int_equal(calls.source_count, 2);
	assert_int_equal(calls.sources[0].left_out_count, 1);
}

#define CALLS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CALLS_TEST(calls_errors_and_time_are_summed_per_thread_and_call),
		CALLS_TEST(quantiles_lie_between_neighbours),
		CALLS_TEST(shares_are_of_the_time_from_first_call_to_end_of_last),
		CALLS_TEST(buckets_are_powers_of_two),
		CALLS_TEST(the_longest_calls_come_with_time_and_arguments),
		CALLS_TEST(calls_without_duration_are_counted_and_have_no_quantiles),
		CALLS_TEST(a_log_without_threads_and_times_is_summed_all_the_same),
		CALLS_TEST(a_blocking_mode_is_usual_and_what_is_beyond_is_an_outlier),
		CALLS_TEST(outliers_are_judged_per_operation),
		CALLS_TEST(outliers_are_ranked_by_cost_not_by_maximum),
		CALLS_TEST(what_is_usual_is_learnt_from_good_steps),
		CALLS_TEST(without_steps_it_is_learnt_from_before_the_calls_became_slow),
		CALLS_TEST(a_shift_is_found_among_noise),
		CALLS_TEST(noise_that_stays_the_same_has_no_outliers),
		CALLS_TEST(two_modes_that_take_turns_are_both_usual),
		CALLS_TEST(few_calls_are_judged_by_those_of_all_threads),
		CALLS_TEST(idle_waits_are_never_outliers),
		CALLS_TEST(a_lock_that_becomes_slow_makes_no_idle_thread),
		CALLS_TEST(an_event_loop_that_has_less_to_do_is_not_slow),
		CALLS_TEST(time_in_idle_waits_is_part_of_the_total),
		CALLS_TEST(the_thread_that_carries_the_steps_is_not_idle),
		CALLS_TEST(what_ended_by_its_own_timer_is_no_outlier),
		CALLS_TEST(open_calls_are_listed_with_their_age),
		CALLS_TEST(a_wait_that_a_process_ended_in_is_listed),
		CALLS_TEST(times_choose_by_begin),
		CALLS_TEST(steps_choose_by_class_and_number),
		CALLS_TEST(without_steps_that_is_said),
		CALLS_TEST(names_threads_errors_and_durations_choose),
		CALLS_TEST(an_empty_case_has_no_calls),
		CALLS_TEST(sums_of_a_case_without_rows_are_the_same),
		CALLS_TEST(a_call_that_two_sources_tell_of_counts_once),
		CALLS_TEST(a_call_that_only_one_of_two_sources_saw_end_counts_once),
		CALLS_TEST(two_logs_with_one_number_that_are_no_copies_count_both),
		CALLS_TEST(two_logs_that_name_no_thread_are_of_two_threads),
		CALLS_TEST(parts_of_a_log_that_was_cut_count_all_of_it),
		CALLS_TEST(a_log_and_its_beginning_count_each_call_once),
		CALLS_TEST(pairs_of_tracepoints_are_calls),
		CALLS_TEST(a_lost_end_makes_no_call),
		CALLS_TEST(tracepoints_give_way_to_a_tracer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
