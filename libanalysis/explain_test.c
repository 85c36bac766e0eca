/*
 * explain_test.c - the answer of tl_explain on a case made by hand, where every part is known by
 * counting; and the innermost of spans against tl_partition.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain_parts.h"
#include "near_test.h"
#include "partition.h"
#include "random.h"
#include "source_example.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static struct tl_explain answer;

/* Steps that were recorded; setup takes all. */
static int first_recorded, end_recorded;

enum { TRAINER = 100, THIEF = 200, STEPS = 40, SLOW_FROM = 30 };

static int setup(void **state)
{
	first_recorded = 0;
	end_recorded = STEPS;
	memset(&answer, 0, sizeof(answer));
	return setup_store(state);
}

static int teardown(void **state)
{
	tl_explain_release(&answer);
	return teardown_store(state);
}

/* ---- a case by hand ---- */

static void begin_recording(const char *name)
{
	begin_source(name);
	emit(&(struct tl_event) {
		.kind = TL_EVENT_CLOCK,
		.clock = { .name = "test", .method = TL_CLOCK_EXACT, .why = "made so" } });
}

static void comm(int32_t tid, const char *name)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_COMM,
				  .ts = INT64_MIN,
				  .comm = { .task = { tid, tid }, .name = name } });
}

static void switch_to(int64_t ts, int32_t prev, enum tl_switch_state prev_state, int32_t next)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_SWITCH,
				  .has_ts = true,
				  .ts = ts,
				  .sched_switch = { .cpu = 0,
						    .has_prev = true,
						    .has_next = true,
						    .prev = { prev, prev },
						    .next = { next, next },
						    .prev_state = prev_state,
						    .has_sample = true } });
}

static void wake(int64_t ts, int32_t waker, int32_t wakee)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_WAKEUP,
				  .has_ts = true,
				  .ts = ts,
				  .wakeup = { .cpu = 0,
					      .target_cpu = 0,
					      .waker = { waker, waker },
					      .wakee_tid = wakee,
					      .is_waking = true } });
}

static void call(int32_t tid, const char *name, int64_t ts, int64_t duration)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_SYSCALL,
				  .has_ts = true,
				  .ts = ts,
				  .syscall = { .task = { tid, tid },
					       .duration_ns = duration,
					       .name = name,
					       .name_length = strlen(name),
					       .has_result = true } });
}

/*
 * Steps of thread 100 on CPU 0, one every 50 ms from 1 s on. In each it calls futex after 1 ms, runs
 * 10 us in it, and sleeps; 200 has the CPU and wakes it, 300 us later it gets the CPU back, runs 20 us
 * in the call, and 5 ms after it. Good steps sleep for 2 ms, slow ones for 12.
 */
static int64_t sleep_of(int i)
{
	return i < SLOW_FROM ? 2 * MS : 12 * MS;
}

static int64_t step_begin(int i)
{
	return 1000 * MS + 50 * MS * i;
}

static int64_t step_length(int i)
{
	return MS + 10 * US + sleep_of(i) + 300 * US + 20 * US + 5 * MS;
}

static void add_sched(bool has_calls)
{
	comm(TRAINER, "trainer");
	comm(THIEF, "thief");
	switch_to(step_begin(first_recorded) - MS, THIEF, TL_SWITCH_RUNNABLE, TRAINER);
	for (int i = first_recorded; i < end_recorded; i++) {
		int64_t out = step_begin(i) + MS + 10 * US, woken = out + sleep_of(i);

		if (has_calls)
			call(TRAINER, "futex", out - 10 * US, sleep_of(i) + 330 * US);
		switch_to(out, TRAINER, TL_SWITCH_SLEEPING, THIEF);
		wake(woken, THIEF, TRAINER);
		switch_to(woken + 300 * US, THIEF, TL_SWITCH_RUNNABLE, TRAINER);
	}
	switch_to(step_begin(end_recorded), TRAINER, TL_SWITCH_EXITING, THIEF);
	switch_to(step_begin(end_recorded) + MS, THIEF, TL_SWITCH_EXITING, 0);
	switch_to(step_begin(end_recorded) + 2 * MS, 0, TL_SWITCH_RUNNABLE, THIEF);
}

static void add_steps(bool has_operator)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_TRACK,
				  .track = { .kind = TL_TRACK_THREAD,
					     .task = { TRAINER, TRAINER },
					     .key_pid = "100",
					     .key_tid = "100",
					     .device = -1,
					     .stream = -1 } });
	for (int i = 0; i < STEPS; i++) {
		struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true };
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%d", i);
		ev.ts = step_begin(i);
		ev.slice.class_ = TL_SLICE_ANNOTATION;
		ev.slice.duration_ns = step_length(i);
		ev.slice.name = name;
		ev.slice.name_length = strlen(name);
		ev.slice.has_step = true;
		ev.slice.step = i;
		ev.slice.stream = -1;
		emit(&ev);
		if (!has_operator)
			continue;
		/* the operator covers the call and all that is before it */
		ev.slice.class_ = TL_SLICE_OPERATOR;
		ev.slice.duration_ns = step_length(i) - 5 * MS;
		ev.slice.name = "aten::wait";
		ev.slice.name_length = strlen("aten::wait");
		ev.slice.has_step = false;
		emit(&ev);
	}
}

/* A log tells when steps were, and of no thread; a line may stand for several. */
static void add_logged_steps(int per_good, int per_slow)
{
	for (int i = 0; i < STEPS; i++)
		emit(&(struct tl_event) {
			.kind = TL_EVENT_STEP,
			.has_ts = true,
			.ts = step_begin(i),
			.step = { .number = 20 * i,
				  .rank = -1,
				  .duration_ns = step_length(i),
				  .count = i < SLOW_FROM ? per_good : per_slow } });
}

static void add_samples(int32_t tid, int count)
{
	for (int i = 0; i < count; i++) {
		struct tl_event ev = { .kind = TL_EVENT_SAMPLE, .has_ts = true };

		ev.ts = step_begin(i % STEPS) + 10 * US;
		ev.sample.task = (struct tl_task) { tid, tid };
		ev.sample.real_tid = TL_ID_NONE;
		ev.sample.cpu = 0;
		ev.sample.period = 1000000;
		emit(&ev);
	}
}

/*
 * In each step a kernel that is launched after 500 us, starts 200 us later and runs for 3 ms, in slow
 * ones for so much more.
 */
static void add_device(enum tl_slice_class class_, int64_t more_ns)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_TRACK,
				  .track = { .index = 1,
					     .kind = TL_TRACK_DEVICE,
					     .task = { TL_ID_NONE, TL_ID_NONE },
					     .name = "stream 7",
					     .key_pid = "0",
					     .key_tid = "7",
					     .device = 0,
					     .stream = 7 } });
	for (int i = 0; i < STEPS; i++) {
		struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true };

		ev.slice.has_correlation = true;
		ev.slice.correlation = i + 1;
		ev.slice.stream = -1;
		ev.ts = step_begin(i) + 500 * US;
		ev.slice.class_ = TL_SLICE_RUNTIME;
		ev.slice.duration_ns = 10 * US;
		ev.slice.name = "cudaLaunchKernel";
		ev.slice.name_length = strlen("cudaLaunchKernel");
		emit(&ev);
		ev.ts = step_begin(i) + 700 * US;
		ev.slice.track = 1;
		ev.slice.class_ = class_;
		ev.slice.duration_ns = 3 * MS + (i < SLOW_FROM ? 0 : more_ns);
		ev.slice.name = "gemm";
		ev.slice.name_length = strlen("gemm");
		emit(&ev);
	}
}

static void make_case(bool has_sched, bool has_calls, bool has_operator)
{
	begin_recording("trace.json");
	add_steps(has_operator);
	end_source();
	if (!has_sched && !has_calls)
		return;
	begin_recording("perf.data");
	if (has_sched) {
		add_sched(has_calls);
	} else {
		comm(TRAINER, "trainer");
		for (int i = 0; i < STEPS; i++)
			call(TRAINER, "futex", step_begin(i) + MS, sleep_of(i) + 330 * US);
	}
	end_source();
}

static int ask(const char *thread)
{
	const struct tl_explain_options opt = { .thread = thread };

	return tl_explain(store, &opt, &answer, &err);
}

/* Of a step the time of a cause. */
static int64_t time_of(int step, const char *cause)
{
	for (size_t c = 0; c < answer.cause_count; c++)
		if (!strcmp(answer.causes[c].cause, cause))
			return answer.steps[step].cause_ns[c];
	return 0;
}

static const struct tl_explain_part *part_of(const char *state, const char *cause)
{
	for (size_t i = 0; i < answer.part_count; i++)
		if (answer.parts[i].state && !strcmp(answer.parts[i].cause, cause) &&
		    !strcmp(answer.parts[i].state, state))
			return &answer.parts[i];
	return NULL;
}

static bool has_note(const char *words)
{
	for (size_t i = 0; i < answer.note_count; i++)
		if (strstr(answer.notes[i], words))
			return true;
	return false;
}

/* ---- tests ---- */

static void every_nanosecond_of_a_step_has_the_part_that_it_was_made_of(void **state)
{
	(void)state;
	make_case(true, true, false);
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(answer.slow_count, STEPS - SLOW_FROM);
	assert_int_equal(answer.good_count, SLOW_FROM);
	for (int i = 0; i < STEPS; i++) {
		assert_int_equal(time_of(i, "futex"), sleep_of(i));
		assert_int_equal(time_of(i, "cpu_other"), 300 * US);
		assert_int_equal(time_of(i, "syscall"), 30 * US);
		assert_int_equal(time_of(i, "running"), 6 * MS);
	}
}

static void what_the_slow_steps_wait_for_comes_first(void **state)
{
	(void)state;
	make_case(true, true, false);
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(answer.causes[0].cause, "futex");
	assert_near(answer.causes[0].difference_ns, 10.0 * MS, 1);
	assert_near(answer.causes[0].share, 1.0, 1e-9);
	assert_true(answer.causes[0].is_named);
	assert_false(answer.causes[1].is_named);
	assert_string_equal(part_of("sleeping", "futex")->name, "futex");
	assert_non_null(strstr(answer.verdict, "futex"));
}

/* No switch tells when it came back from the sleep of the call: all of that is unknown. */
static void what_was_not_recorded_is_told_but_names_nothing(void **state)
{
	(void)state;
	make_case(true, true, false);
	assert_int_equal(
		tl_store_execute(store, "DELETE FROM thread_state WHERE state = 'sleeping'", &err),
		TL_OK);
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(answer.causes[0].cause, "unknown");
	assert_near(answer.causes[0].share, 1.0, 1e-9);
	assert_true(answer.causes[0].is_told);
	assert_false(answer.causes[0].is_named);
	assert_non_null(strstr(answer.verdict, "could not be seen"));
	assert_null(strstr(answer.verdict, "Of that"));
}

/*
 * In each step it leaves its idle CPU in fsync after 1.01 ms; the switch back is not recorded. It is seen
 * to switch again 320 us after the call. In every other step the wakeup was recorded, when it had slept.
 */
static void make_unseen_returns(bool has_wakeups, bool has_losses)
{
	begin_recording("trace.json");
	add_steps(false);
	end_source();
	begin_recording("perf.data");
	comm(TRAINER, "trainer");
	comm(THIEF, "thief");
	switch_to(step_begin(0) - 3 * MS, THIEF, TL_SWITCH_SLEEPING, 0);
	switch_to(step_begin(0) - 2 * MS, 0, TL_SWITCH_RUNNABLE, THIEF);
	switch_to(step_begin(0) - MS, THIEF, TL_SWITCH_SLEEPING, TRAINER);
	for (int i = 0; i < STEPS; i++) {
		int64_t out = step_begin(i) + MS + 10 * US, end = out + sleep_of(i) + 320 * US;

		call(TRAINER, "fsync", out - 10 * US, end - out + 10 * US);
		switch_to(out, TRAINER, TL_SWITCH_UNINTERRUPTIBLE, 0);
		if (has_losses)
			emit(&(struct tl_event) { .kind = TL_EVENT_GAP,
						  .has_ts = true,
						  .ts = out + MS,
						  .gap = { .kind = TL_GAP_LOST, .cpu = 0 } });
		if (has_wakeups)
			wake(out + sleep_of(i), THIEF, TRAINER);
		switch_to(step_begin(i) + 40 * MS, TRAINER, TL_SWITCH_RUNNABLE, THIEF);
		switch_to(step_begin(i) + 41 * MS, THIEF, TL_SWITCH_SLEEPING, TRAINER);
	}
	end_source();
}

static void a_wait_whose_end_was_not_recorded_lasts_until_its_call_ends_at_most(void **state)
{
	(void)state;
	make_unseen_returns(false, false);
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(answer.causes[0].cause, "storage");
	for (int i = 0; i < STEPS; i++)
		assert_int_equal(time_of(i, "storage"), sleep_of(i) + 320 * US);
	assert_non_null(strstr(answer.verdict, "12.3 ms of it at most: when it came back was not"));
	assert_true(has_note("12320 us of waits in a slow step are upper bounds"));
}

static void a_wait_whose_wakeup_was_recorded_is_no_bound(void **state)
{
	(void)state;
	make_unseen_returns(true, false);
	assert_int_equal(ask(NULL), TL_OK);
	for (int i = 0; i < STEPS; i++)
		assert_int_equal(time_of(i, "storage"), sleep_of(i));
	assert_null(strstr(answer.verdict, "at most"));
}

static void a_return_that_may_have_been_lost_bounds_nothing(void **state)
{
	(void)state;
	make_unseen_returns(false, true);
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(time_of(0, "storage"), 0);
	assert_int_equal(time_of(STEPS - 1, "storage"), 0);
}

static void who_had_the_cpu_and_who_woke_is_named(void **state)
{
	(void)state;
	make_case(true, true, false);
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(part_of("runnable", "cpu_other")->name, "thief");
	assert_int_equal(answer.waker_count, 1);
	assert_string_equal(answer.wakers[0].chain, "thief (running)");
	assert_int_equal(answer.wakers[0].count, STEPS - SLOW_FROM);
	assert_near(answer.wakers[0].slow_ns, 12.0 * MS, 1);
}

static void without_calls_a_sleep_without_a_stack_is_for_nothing_that_is_known(void **state)
{
	(void)state;
	make_case(true, false, false);
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(answer.causes[0].cause, "waiting");
	assert_int_equal(time_of(STEPS - 1, "waiting"), 12 * MS);
	assert_int_equal(time_of(STEPS - 1, "running"), 6 * MS + 30 * US);
}

static void without_switches_calls_and_operators_are_wall_time(void **state)
{
	(void)state;
	make_case(false, true, true);
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(answer.causes[0].cause, "syscall");
	assert_string_equal(answer.parts[0].state, "wall");
	assert_int_equal(time_of(0, "syscall"), 2 * MS + 330 * US);
	assert_int_equal(time_of(0, "operator"), MS);
	assert_int_equal(time_of(0, "outside_operators"), 5 * MS);
	assert_non_null(strstr(answer.notes[0], "sched:sched_switch"));
}

static void between_spans_of_a_job_that_launches_work_is_a_launch_gap(void **state)
{
	(void)state;
	begin_recording("trace.json");
	add_steps(true);
	add_device(TL_SLICE_KERNEL, 0);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(time_of(0, "launch_gap"), 5 * MS);
	assert_int_equal(time_of(0, "outside_operators"), 0);
}

/* Each step has 2 samples of 1 ms in its operator: all else is off the CPU, wherever it was. */
static void time_that_samples_alone_do_not_stand_for_is_off_the_cpu(void **state)
{
	(void)state;
	begin_recording("trace.json");
	add_steps(true);
	end_source();
	begin_recording("perf.data");
	emit(&(struct tl_event) { .kind = TL_EVENT_TYPE,
				  .type = { .name = "cpu-clock", .unit = "ns" } });
	comm(TRAINER, "trainer");
	add_samples(TRAINER, 2 * STEPS);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(answer.causes[0].cause, "waiting");
	assert_string_equal(part_of("off", "waiting")->name, "aten::wait");
	assert_string_equal(part_of("off", "waiting")->text,
			    "off the CPU in aten::wait: what for was not recorded");
	assert_int_equal(time_of(0, "waiting"), step_length(0) - 2 * MS);
	assert_int_equal(time_of(0, "operator"), 0);
	assert_non_null(strstr(answer.verdict, "[off the CPU in aten::wait +10 ms]"));
}

static void steps_alone_explain_nothing_and_it_is_said_what_to_record(void **state)
{
	(void)state;
	make_case(false, false, false);
	assert_int_equal(ask(NULL), TL_NOTHING);
	assert_non_null(strstr(err.text, "perf record"));
}

static void a_thread_that_is_not_there_is_nothing(void **state)
{
	(void)state;
	make_case(true, true, false);
	assert_int_equal(ask("nosuch"), TL_NOTHING);
	memset(&err, 0, sizeof(err));
	assert_int_equal(ask("4711"), TL_NOTHING);
	memset(&err, 0, sizeof(err));
	assert_int_equal(ask("("), TL_USAGE);
}

static void steps_of_a_log_are_those_of_the_busiest_main_thread(void **state)
{
	(void)state;
	begin_recording("perf.data");
	emit(&(struct tl_event) { .kind = TL_EVENT_TYPE,
				  .type = { .name = "cpu-clock", .unit = "ns" } });
	add_sched(true);
	add_samples(TRAINER, 80);
	add_samples(THIEF, 40);
	add_logged_steps(1, 1);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(answer.tid, TRAINER);
	assert_non_null(strstr(answer.thread_why, "busiest"));
	assert_string_equal(answer.causes[0].cause, "futex");
}

static void make_log_of_rows(int per_good, int per_slow)
{
	begin_recording("perf.data");
	add_sched(true);
	add_logged_steps(per_good, per_slow);
	end_source();
}

static void rows_of_several_steps_are_compared_and_said_to_be_so(void **state)
{
	(void)state;
	make_log_of_rows(10, 10);
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(answer.causes[0].cause, "futex");
	assert_true(has_note("a line of the log stands for 10 steps"));
}

static void rows_of_different_numbers_of_steps_are_not_compared(void **state)
{
	(void)state;
	make_log_of_rows(10, 12);
	assert_int_equal(ask(NULL), TL_NOTHING);
	assert_non_null(strstr(err.text, "for different numbers of them"));
}

static const struct tl_explain_part *device_part(const char *cause)
{
	for (size_t i = 0; i < answer.device_cause_count; i++)
		if (!strcmp(answer.device_causes[i].cause, cause))
			return &answer.device_causes[i];
	return NULL;
}

/* Good steps last 8.33 ms, slow ones 18.33; the device is busy for 3 ms of each. */
static void time_that_the_device_starves_is_the_time_until_its_next_launch(void **state)
{
	double sum = 0;

	(void)state;
	begin_recording("trace.json");
	add_steps(false);
	add_device(TL_SLICE_KERNEL, 0);
	end_source();
	begin_recording("perf.data");
	add_sched(true);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_true(answer.has_device);
	assert_string_equal(answer.bottleneck, "host");
	assert_near(device_part("device_busy")->slow_ns, 3.0 * MS, 1);
	assert_near(device_part("device_latency")->slow_ns, 0.2 * MS, 1);
	/*
	 * Asleep from 1.01 ms on: until 3.7 ms beside the kernel, the rest while nothing is there to do;
	 * of the last of ten slow steps nobody knows when the next launch came.
	 */
	assert_near(device_part("futex")->slow_ns, (13.01 - 3.7) * MS * 9 / 10, 1);
	assert_near(device_part("device_unknown")->slow_ns, (18.33 - 3.7) * MS / 10, 1);
	for (size_t i = 0; i < answer.device_cause_count; i++)
		sum += answer.device_causes[i].slow_ns;
	assert_near(sum, answer.slow_ns, 1);
}

/* Of steps that were not recorded nothing is known: to take that for nothing would be wrong. */
static void steps_outside_of_the_recording_are_compared_with_nothing(void **state)
{
	(void)state;
	first_recorded = 10;
	end_recorded = 36;
	make_case(true, true, false);
	assert_int_equal(ask(NULL), TL_OK);
	assert_int_equal(answer.good_count, 20);
	assert_int_equal(answer.slow_count, 6);
	assert_string_equal(answer.steps[9].class_, "uncovered");
	assert_string_equal(answer.steps[36].class_, "uncovered");
	assert_string_equal(answer.causes[0].cause, "futex");
	assert_near(answer.causes[0].share, 1, 0.01);
	assert_true(has_note("14 of 40 steps are left out (4 slow, 10 good ones)"));
}

static void a_recording_of_slow_steps_alone_has_nothing_to_compare_with(void **state)
{
	(void)state;
	first_recorded = SLOW_FROM;
	make_case(true, true, false);
	assert_int_equal(ask(NULL), TL_NOTHING);
	assert_non_null(strstr(err.text, "covers 10 of 10 slow and 0 of 30 good steps"));
}

/* The host sleeps for as long as the device works: its sleep is no cause. */
static void where_the_device_works_longer_it_is_the_bottleneck(void **state)
{
	(void)state;
	begin_recording("trace.json");
	add_steps(false);
	add_device(TL_SLICE_KERNEL, 10 * MS);
	end_source();
	begin_recording("perf.data");
	add_sched(true);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(answer.bottleneck, "device");
	assert_near(answer.device_share, 1.0, 0.01);
	assert_near(device_part("device_busy")->difference_ns, 10.0 * MS, 1);
	assert_non_null(
		strstr(answer.verdict, "It is the device: it had work 10 ms a step longer"));
}

/* Of the 3 ms of the collective in a good step, 13 in a slow one, 1 ms is beside a kernel that computes. */
static void where_a_collective_takes_longer_other_ranks_are_waited_for(void **state)
{
	(void)state;
	begin_recording("trace.json");
	add_steps(false);
	add_device(TL_SLICE_COMMUNICATION, 10 * MS);
	for (int i = 0; i < STEPS; i++) {
		struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true };

		ev.ts = step_begin(i) + MS;
		ev.slice.track = 1;
		ev.slice.class_ = TL_SLICE_KERNEL;
		ev.slice.duration_ns = MS;
		ev.slice.name = "gemm";
		ev.slice.name_length = strlen("gemm");
		ev.slice.stream = -1;
		emit(&ev);
	}
	end_source();
	begin_recording("perf.data");
	add_sched(true);
	end_source();
	assert_int_equal(ask(NULL), TL_OK);
	assert_string_equal(answer.bottleneck, "ranks");
	assert_near(device_part("device_busy")->good_ns, 1.0 * MS, 1);
	assert_near(device_part("device_busy")->slow_ns, 1.0 * MS, 1);
	assert_near(device_part("device_collective")->good_ns, 2.0 * MS, 1);
	assert_near(device_part("device_collective")->slow_ns, 12.0 * MS, 1);
	assert_non_null(strstr(answer.verdict, "It waits in a collective for other ranks"));
}

static void another_thread_may_be_asked_for(void **state)
{
	(void)state;
	make_case(true, true, false);
	assert_int_equal(ask("thi.f"), TL_OK);
	assert_int_equal(answer.tid, THIEF);
	assert_int_equal(time_of(0, "running"), sleep_of(0) + 300 * US);
}

/* ---- spans ---- */

enum { SPANS = 60, SPAN_END = 300 };

static int by_begin(const void *a, const void *b)
{
	const struct tl_span *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->label < y->label ? -1 : 1;
}

static void the_innermost_span_is_the_one_of_the_partition(void **state)
{
	struct tl_random rng = { 5 };

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct tl_span spans[SPANS];
		struct tl_interval intervals[SPANS];
		struct tl_partition p;
		struct tl_span_cursor c = { .spans = spans, .count = SPANS };
		size_t at = 0;

		for (uint32_t i = 0; i < SPANS; i++) {
			spans[i].begin_ns = tl_random_below(&rng, SPAN_END);
			spans[i].end_ns = spans[i].begin_ns + 1 + tl_random_below(&rng, 80);
			spans[i].label = i;
		}
		qsort(spans, SPANS, sizeof(spans[0]), by_begin);
		for (uint32_t i = 0; i < SPANS; i++)
			intervals[i] = (struct tl_interval) { spans[i].begin_ns, spans[i].end_ns, 0,
							      spans[i].label };
		assert_int_equal(tl_partition(&p, 0, SPAN_END, intervals, SPANS, &err), TL_OK);
		for (int64_t t = 0, until; t < SPAN_END; t = until) {
			uint32_t label;

			assert_int_equal(tl_span_at(&c, t, &label, &until, &err), TL_OK);
			assert_true(until > t);
			while (p.pieces[at].end_ns <= t)
				at++;
			assert_int_equal(label, p.pieces[at].label);
		}
		tl_span_release(&c);
		tl_partition_release(&p);
	}
}

int main(void)
{
#define CASE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE_TEST(every_nanosecond_of_a_step_has_the_part_that_it_was_made_of),
		CASE_TEST(what_the_slow_steps_wait_for_comes_first),
		CASE_TEST(what_was_not_recorded_is_told_but_names_nothing),
		CASE_TEST(a_wait_whose_end_was_not_recorded_lasts_until_its_call_ends_at_most),
		CASE_TEST(a_wait_whose_wakeup_was_recorded_is_no_bound),
		CASE_TEST(a_return_that_may_have_been_lost_bounds_nothing),
		CASE_TEST(who_had_the_cpu_and_who_woke_is_named),
		CASE_TEST(without_calls_a_sleep_without_a_stack_is_for_nothing_that_is_known),
		CASE_TEST(without_switches_calls_and_operators_are_wall_time),
		CASE_TEST(between_spans_of_a_job_that_launches_work_is_a_launch_gap),
		CASE_TEST(time_that_samples_alone_do_not_stand_for_is_off_the_cpu),
		CASE_TEST(steps_alone_explain_nothing_and_it_is_said_what_to_record),
		CASE_TEST(a_thread_that_is_not_there_is_nothing),
		CASE_TEST(steps_of_a_log_are_those_of_the_busiest_main_thread),
		CASE_TEST(rows_of_several_steps_are_compared_and_said_to_be_so),
		CASE_TEST(rows_of_different_numbers_of_steps_are_not_compared),
		CASE_TEST(time_that_the_device_starves_is_the_time_until_its_next_launch),
		CASE_TEST(steps_outside_of_the_recording_are_compared_with_nothing),
		CASE_TEST(a_recording_of_slow_steps_alone_has_nothing_to_compare_with),
		CASE_TEST(where_the_device_works_longer_it_is_the_bottleneck),
		CASE_TEST(where_a_collective_takes_longer_other_ranks_are_waited_for),
		CASE_TEST(another_thread_may_be_asked_for),
		cmocka_unit_test(the_innermost_span_is_the_one_of_the_partition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
