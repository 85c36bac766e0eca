/*
 * writer_test.c - events into a case and what can be read from it: rows, sums, thread states,
 * refusals. The expected values are counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis.h"
#include "store.h"

static char path[64];
static struct tl_store *store;
static struct tl_writer *writer;
static struct tl_error err;

static int setup(void **state)
{
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/writer_test-XXXXXX");
	fd = mkstemp(path);
	close(fd);
	memset(&err, 0, sizeof(err));
	return tl_store_open(&store, path, TL_STORE_CREATE, &err);
}

static int teardown(void **state)
{
	(void)state;
	tl_store_close(store);
	store = NULL;
	return unlink(path);
}

static void begin(const char *name, uint64_t fingerprint)
{
	const struct tl_source_description source = {
		.path = name, .importer = "test", .size_bytes = 100, .fingerprint = fingerprint
	};
	const struct tl_writer_options opt = { .symbols.no_symbols = true };

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
}

static void commit(void)
{
	const struct tl_import_result result = { .records = 1 };

	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
	writer = NULL;
}

static void emit(const struct tl_event *ev)
{
	struct tl_sink *sink = tl_writer_sink(writer);

	assert_int_equal(sink->emit(sink, ev, &err), TL_OK);
}

static void meta(const char *key, const char *value)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_META, .meta = { key, value } });
}

static void comm(int32_t pid, int32_t tid, const char *name)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_COMM,
				  .ts = INT64_MIN,
				  .comm = { .task = { pid, tid }, .name = name } });
}

static void sample(int64_t ts, int32_t pid, int32_t tid, const uint64_t *ips, size_t count)
{
	struct tl_frame frames[8];
	struct tl_event ev = { .kind = TL_EVENT_SAMPLE, .has_ts = true, .ts = ts };

	for (size_t i = 0; i < count; i++)
		frames[i] = (struct tl_frame) { .ip = ips[i], .context = TL_CONTEXT_USER };
	ev.sample.task = (struct tl_task) { pid, tid };
	ev.sample.real_tid = TL_ID_NONE;
	ev.sample.cpu = -1;
	ev.sample.period = 10;
	ev.sample.frames = frames;
	ev.sample.frame_count = count;
	ev.sample.has_callchain = true;
	emit(&ev);
}

static void go(int64_t ts, int32_t cpu, int32_t prev, enum tl_switch_state state, int32_t next)
{
	struct tl_event ev = { .kind = TL_EVENT_SWITCH, .has_ts = true, .ts = ts };

	ev.sched_switch.cpu = cpu;
	ev.sched_switch.has_prev = prev >= 0;
	ev.sched_switch.has_next = next >= 0;
	ev.sched_switch.prev = (struct tl_task) { TL_ID_NONE, prev };
	ev.sched_switch.next = (struct tl_task) { TL_ID_NONE, next };
	ev.sched_switch.prev_state = state;
	emit(&ev);
}

static void wake(int64_t ts, int32_t waker, int32_t wakee)
{
	struct tl_event ev = { .kind = TL_EVENT_WAKEUP, .has_ts = true, .ts = ts };

	ev.wakeup.cpu = 1;
	ev.wakeup.target_cpu = 0;
	ev.wakeup.waker = (struct tl_task) { TL_ID_NONE, waker };
	ev.wakeup.wakee_tid = wakee;
	ev.wakeup.is_waking = true;
	emit(&ev);
}

static int64_t value(const char *sql)
{
	int64_t result = -1;

	assert_int_equal(tl_store_value(store, sql, -99, &result, &err), TL_OK);
	return result;
}

static void a_source_of_switches_alone_has_a_time(void **state)
{
	(void)state;
	begin("a", 1);
	go(500, 0, 7, TL_SWITCH_SLEEPING, 8);
	go(900, 0, 8, TL_SWITCH_SLEEPING, 7);
	commit();
	assert_int_equal(value("SELECT first_ts FROM source"), 500);
	assert_int_equal(value("SELECT last_ts FROM source"), 900);
	assert_int_equal(value("SELECT disorder_count FROM source"), 0);
}

/* Of a kernel command line, a control group or a source file nobody promises an encoding. */
static void words_that_are_no_utf8_are_made_readable(void **state)
{
	static const char odd[] = "caf\351\001";

	(void)state;
	begin("a", 0);
	meta("hostname", odd);
	meta("cmdline", odd);
	emit(&(struct tl_event) { .kind = TL_EVENT_CLOCK, .clock = { .name = odd, .why = odd } });
	emit(&(struct tl_event) { .kind = TL_EVENT_TYPE,
				  .type = { .name = odd, .unit = odd, .detail = odd } });
	emit(&(struct tl_event) { .kind = TL_EVENT_CGROUP, .cgroup = { 7, odd } });
	emit(&(struct tl_event) { .kind = TL_EVENT_DIAGNOSTIC,
				  .diagnostic = { .what = odd, .unit = odd, .message = odd } });
	emit(&(struct tl_event) { .kind = TL_EVENT_TRACK,
				  .track = { .name = odd, .process = odd, .key_pid = odd } });
	emit(&(struct tl_event) { .kind = TL_EVENT_STEP, .step = { .detail = odd } });
	comm(5, 5, odd);
	commit();
	assert_int_equal(value("SELECT count(*) FROM host WHERE name = 'caf\357\277\275\001'"), 1);
	assert_int_equal(value("SELECT count(*) FROM source WHERE clock_name = clock_why AND "
			       "clock_why = 'caf\357\277\275\001'"),
			 1);
	assert_int_equal(value("SELECT count(*) FROM event WHERE name = 'caf\357\277\275\001'"), 1);
	assert_int_equal(value("SELECT count(*) FROM cgroup WHERE path = 'caf\357\277\275\001'"),
			 1);
	assert_int_equal(value("SELECT count(*) FROM lost WHERE what = 'caf\357\277\275\001'"), 1);
	assert_int_equal(value("SELECT count(*) FROM track WHERE name = 'caf\357\277\275\001'"), 1);
	assert_int_equal(value("SELECT count(*) FROM step_mark WHERE detail = "
			       "'caf\357\277\275\001'"),
			 1);
	/* names and what was typed stay as they are */
	assert_int_equal(value("SELECT count(*) FROM string WHERE text = x'636166e901'"), 1);
	assert_int_equal(value("SELECT count(*) FROM source_meta WHERE key = 'cmdline' AND value "
			       "= x'636166e901'"),
			 1);
}

static void equal_stacks_are_one_row_and_one_sum(void **state)
{
	const uint64_t deep[] = { 0x30, 0x20, 0x10 }, shallow[] = { 0x20, 0x10 };

	(void)state;
	begin("a", 0);
	comm(5, 5, "load");
	sample(100, 5, 5, deep, 3);
	sample(200, 5, 5, deep, 3);
	sample(300, 5, 5, shallow, 2);
	commit();
	assert_int_equal(value("SELECT count(*) FROM sample"), 3);
	assert_int_equal(value("SELECT count(*) FROM stack"), 3); /* 10, 10;20, 10;20;30 */
	assert_int_equal(value("SELECT max(depth) FROM stack"), 3);
	assert_int_equal(value("SELECT count(*) FROM stack_sum"), 2);
	assert_int_equal(value("SELECT sum(sample_count) FROM stack_sum"), 3);
	assert_int_equal(value("SELECT max(period_sum) FROM stack_sum"), 20);
	assert_int_equal(value("SELECT count(*) FROM sample_view WHERE name = 'load'"), 3);
	assert_int_equal(
		value("SELECT address = '10' FROM stack_view WHERE stack_id = 1 AND depth = 1"), 1);
}

static void times_become_unix_times(void **state)
{
	const uint64_t ip = 1;
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	(void)state;
	begin("a", 0);
	ev.clock.name = "monotonic";
	ev.clock.method = TL_CLOCK_EXACT;
	ev.clock.offset_ns = 1700000000000000000;
	ev.clock.residual_ns = 5;
	emit(&ev);
	sample(100, 5, 5, &ip, 1);
	commit();
	assert_int_equal(value("SELECT ts FROM sample"), 1700000000000000100);
	assert_int_equal(value("SELECT first_ts FROM source"), 1700000000000000100);
	assert_int_equal(value("SELECT clock_offset_ns FROM source"), 1700000000000000000);
}

static void a_clock_told_late_moves_what_was_written(void **state)
{
	const uint64_t ip = 1;
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	(void)state;
	begin("a", 0);
	sample(100, 5, 5, &ip, 1);
	go(150, 0, 5, TL_SWITCH_SLEEPING, 0);
	go(250, 0, 0, TL_SWITCH_RUNNABLE, 5);
	ev.clock.method = TL_CLOCK_ASSUMED;
	ev.clock.offset_ns = 1000;
	emit(&ev);
	commit();
	assert_int_equal(value("SELECT ts FROM sample"), 1100);
	assert_int_equal(value("SELECT base_ts FROM sample_block"), 1100);
	assert_int_equal(value("SELECT last_ts FROM sample_block"), 1100);
	assert_int_equal(value("SELECT first_ts FROM source"), 1100);
	assert_int_equal(value("SELECT clock_offset_ns FROM source"), 1000);
	assert_int_equal(value("SELECT ts FROM thread_state WHERE state = 'sleeping'"), 1150);
	assert_int_equal(value("SELECT dur FROM thread_state WHERE state = 'sleeping'"), 100);
}

static void a_clock_told_late_may_overflow(void **state)
{
	const uint64_t ip = 1;
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	(void)state;
	begin("a", 0);
	sample(INT64_MAX - 1, 5, 5, &ip, 1);
	ev.clock.method = TL_CLOCK_ASSUMED;
	ev.clock.offset_ns = INT64_MAX;
	emit(&ev);
	commit();
	assert_int_equal(value("SELECT ts FROM sample"), -3); /* 2^63 - 2 + 2^63 - 1 - 2^64 */
}

static void a_clock_told_late_moves_slices_and_what_belongs_to_them(void **state)
{
	struct tl_event ev = { .kind = TL_EVENT_TRACK };

	(void)state;
	begin("a", 0);
	ev.track.kind = TL_TRACK_THREAD;
	ev.track.task = (struct tl_task) { 5, 6 };
	emit(&ev);
	ev = (struct tl_event) { .kind = TL_EVENT_SLICE, .has_ts = true, .ts = 100 };
	ev.slice.duration_ns = 50;
	ev.slice.stream = -1;
	emit(&ev);
	emit(&(struct tl_event) { .kind = TL_EVENT_FLOW, .has_ts = true, .ts = 110 });
	ev = (struct tl_event) { .kind = TL_EVENT_COUNTER, .has_ts = true, .ts = 120 };
	ev.counter.name = "c";
	ev.counter.name_length = 1;
	emit(&ev);
	ev = (struct tl_event) { .kind = TL_EVENT_CLOCK, .clock.offset_ns = 1000 };
	emit(&ev);
	commit();
	assert_int_equal(value("SELECT ts FROM slice"), 1100);
	assert_int_equal(value("SELECT ts FROM flow"), 1110);
	assert_int_equal(value("SELECT ts FROM counter"), 1120);
	assert_int_equal(value("SELECT last_ts FROM source"), 1150);
	assert_int_equal(value("SELECT tid FROM thread"), 6);
}

static void slices_that_cannot_be_believed_do_not_stretch_the_source(void **state)
{
	struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true, .ts = 100 };

	(void)state;
	begin("a", 0);
	ev.slice.duration_ns = 50;
	ev.slice.stream = -1;
	emit(&ev);
	ev.ts = 900000;
	ev.slice.is_suspect = true;
	emit(&ev);
	commit();
	assert_int_equal(value("SELECT count(*) FROM slice"), 2);
	assert_int_equal(value("SELECT last_ts FROM source"), 150);
}

static void switches_and_wakeups_become_states(void **state)
{
	(void)state;
	begin("a", 0);
	comm(5, 5, "load");
	comm(6, 6, "other");
	go(1000, 0, 0, TL_SWITCH_RUNNABLE, 5);	      /* 5 runs from 1000 */
	go(1400, 0, 5, TL_SWITCH_SLEEPING, 0);	      /* sleeps from 1400 */
	wake(1900, 6, 5);			      /* runnable from 1900 */
	go(2000, 0, 0, TL_SWITCH_RUNNABLE, 5);	      /* runs from 2000 */
	go(2600, 0, 5, TL_SWITCH_RUNNABLE, 6);	      /* preempted at 2600 */
	go(2700, 0, 6, TL_SWITCH_UNINTERRUPTIBLE, 5); /* runs from 2700 to the end */
	commit();
	assert_int_equal(value("SELECT sum(dur) FROM thread_state_view WHERE tid = 5 AND state = "
			       "'running'"),
			 400 + 600);
	assert_int_equal(value("SELECT dur FROM thread_state_view WHERE tid = 5 AND state = "
			       "'sleeping'"),
			 500);
	assert_int_equal(value("SELECT waker_tid FROM thread_state_view WHERE tid = 5 AND state = "
			       "'sleeping'"),
			 6);
	assert_int_equal(value("SELECT sum(dur) FROM thread_state_view WHERE tid = 5 AND state = "
			       "'runnable'"),
			 100 + 100);
	assert_int_equal(value("SELECT count(*) FROM thread_state_view WHERE tid = 5 AND state = "
			       "'running' AND dur IS NULL AND ts = 2700"),
			 1);
	assert_int_equal(value("SELECT count(*) FROM thread_state_view WHERE tid = 6 AND state = "
			       "'uninterruptible' AND dur IS NULL"),
			 1);
	/* no two intervals of a thread overlap */
	assert_int_equal(
		value("SELECT count(*) FROM thread_state a JOIN thread_state b ON "
		      "a.thread_id = b.thread_id AND a.rowid != b.rowid AND a.ts <= b.ts AND "
		      "b.ts < a.ts + a.dur"),
		0);
}

static void a_return_that_was_not_seen_makes_no_interval(void **state)
{
	(void)state;
	begin("a", 0);
	go(1000, 0, 5, TL_SWITCH_SLEEPING, 0);
	go(3000, 0, 5, TL_SWITCH_SLEEPING, 0);
	go(5000, 0, 5, TL_SWITCH_SLEEPING, 0);
	commit();
	assert_int_equal(
		value("SELECT count(*) FROM thread_state WHERE dur IS NOT NULL AND state = "
		      "'sleeping'"),
		0);
	/* 5 slept twice without a recorded end */
	assert_int_equal(value("SELECT count FROM lost WHERE what LIKE 'sleeps%'"), 2);
}

static void a_return_missed_among_all_cpus_bounds_the_wait(void **state)
{
	(void)state;
	begin("a", 0);
	go(1000, 1, 0, TL_SWITCH_RUNNABLE, 5); /* idle is seen to leave: all CPUs are recorded */
	go(2000, 1, 5, TL_SWITCH_SLEEPING, 6);
	go(2600, 1, 6, TL_SWITCH_SLEEPING, 0); /* idle from here; its leaving is missing */
	go(3000, 1, 5, TL_SWITCH_SLEEPING, 0);
	commit();
	assert_int_equal(value("SELECT dur FROM thread_state_view WHERE tid = 5 AND ts = 2000"),
			 600);
	assert_int_equal(value("SELECT count FROM lost WHERE what LIKE '%bounded'"), 1);
	assert_int_equal(value("SELECT count(*) FROM lost"), 1);
}

static void switches_of_all_cpus_do_not_bound_waits_of_a_later_recording_of_one_process(
	void **state)
{
	(void)state;
	begin("a", 0);
	go(1000, 1, 0, TL_SWITCH_RUNNABLE, 5);
	commit();
	begin("b", 1);
	go(12000, 1, 5, TL_SWITCH_SLEEPING, 6);
	go(12600, 1, 6, TL_SWITCH_SLEEPING, 7);
	go(13000, 1, 5, TL_SWITCH_SLEEPING, 6);
	commit();
	assert_int_equal(
		value("SELECT count(*) FROM thread_state_view WHERE tid = 5 AND ts = 12000 "
		      "AND dur IS NOT NULL"),
		0);
}

static void who_was_seen_at_work_before_leaving_a_cpu_ran_since_then(void **state)
{
	const uint64_t ip = 0x1000;

	(void)state;
	begin("a", 0);
	comm(5, 5, "five");
	go(1000, 1, 0, TL_SWITCH_RUNNABLE, 5);
	go(2000, 1, 5, TL_SWITCH_SLEEPING, 6);
	go(2600, 1, 6, TL_SWITCH_SLEEPING, 0); /* how 5 comes back is missing */
	sample(2500, 5, 5, &ip, 1);	       /* somebody else had the CPU: a wrong time */
	sample(2800, 5, 5, &ip, 1);
	sample(2700, 5, 5, &ip, 1);
	go(3000, 1, 5, TL_SWITCH_SLEEPING, 0);
	commit();
	assert_int_equal(value("SELECT dur FROM thread_state_view WHERE tid = 5 AND ts = 2700 AND "
			       "state = 'running' AND cpu = 1"),
			 300);
	assert_int_equal(value("SELECT sum(dur) FROM thread_state_view WHERE tid = 5 AND state = "
			       "'running'"),
			 1300);
}

static void a_second_waking_means_that_it_slept_again(void **state)
{
	(void)state;
	begin("a", 0);
	go(1000, 0, 5, TL_SWITCH_SLEEPING, 6);
	wake(2000, 6, 5);
	wake(8000, 6, 5); /* it must have run and slept in between */
	go(9000, 0, 6, TL_SWITCH_SLEEPING, 5);
	commit();
	assert_int_equal(value("SELECT sum(dur) FROM thread_state_view WHERE tid = 5 AND state = "
			       "'runnable'"),
			 1000);
	assert_int_equal(value("SELECT sum(dur) FROM thread_state_view WHERE tid = 5 AND state = "
			       "'sleeping'"),
			 1000);
}

static void idle_is_another_task_on_every_cpu(void **state)
{
	(void)state;
	begin("a", 0);
	go(1000, 0, 5, TL_SWITCH_SLEEPING, 0);
	go(1100, 1, 6, TL_SWITCH_SLEEPING, 0);
	go(1500, 0, 0, TL_SWITCH_RUNNABLE, 5);
	go(1900, 1, 0, TL_SWITCH_RUNNABLE, 6);
	commit();
	assert_int_equal(value("SELECT dur FROM thread_state_view WHERE tid = 0 AND cpu = 0"), 500);
	assert_int_equal(value("SELECT dur FROM thread_state_view WHERE tid = 0 AND cpu = 1"), 800);
	assert_int_equal(value("SELECT count(*) FROM lost"), 0);
}

static void one_thread_is_one_row_in_two_sources(void **state)
{
	const uint64_t ip = 1;

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin(i ? "b" : "a", 0);
		meta("hostname", "node1");
		comm(5, 6, "worker");
		sample(100 + i, 5, 6, &ip, 1);
		commit();
	}
	begin("c", 0);
	meta("hostname", "node2");
	comm(5, 6, "worker");
	sample(300, 5, 6, &ip, 1);
	commit();
	assert_int_equal(value("SELECT count(*) FROM host"), 2);
	assert_int_equal(value("SELECT count(*) FROM thread WHERE tid = 6"), 2);
	assert_int_equal(value("SELECT count(DISTINCT thread_id) FROM sample"), 2);
	assert_int_equal(value("SELECT count(*) FROM process WHERE pid = 5"), 2);
	assert_int_equal(value("SELECT count(*) FROM string WHERE text = 'worker'"), 1);
}

static void a_thread_that_is_named_late_is_the_one_that_began_then(void **state)
{
	const uint64_t ip = 1;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct tl_event fork = { .kind = TL_EVENT_FORK, .has_ts = true, .ts = 1000 + i };

		begin(i ? "b" : "a", 0);
		comm(5, 5, "main");
		fork.fork.child = (struct tl_task) { 5, 6 };
		fork.fork.parent = (struct tl_task) { 5, 5 };
		emit(&fork);
		if (i) /* its row is asked for before it gets its name */
			sample(2000, 5, 6, &ip, 1);
		emit(&(struct tl_event) { .kind = TL_EVENT_COMM,
					  .has_ts = true,
					  .ts = 3000,
					  .comm = { .task = { 5, 6 }, .name = "worker" } });
		sample(4000, 5, 6, &ip, 1);
		commit();
	}
	assert_int_equal(value("SELECT count(*) FROM thread WHERE tid = 6"), 1);
}

static void a_nameless_source_is_of_the_only_machine(void **state)
{
	const uint64_t ip = 1;

	(void)state;
	for (int i = 0; i < 3; i++) {
		begin(i == 0 ? "a" : i == 1 ? "b" : "c", 0);
		if (i == 1)
			meta("hostname", "node1");
		comm(5, 6, "worker");
		sample(100 + i, 5, 6, &ip, 1);
		commit();
	}
	assert_int_equal(value("SELECT count(*) FROM host WHERE name = 'node1'"), 1);
	assert_int_equal(value("SELECT count(*) FROM host"), 1);
	assert_int_equal(value("SELECT count(*) FROM thread WHERE tid = 6"), 1);
}

static void a_nameless_source_is_of_none_of_several_machines(void **state)
{
	const uint64_t ip = 1;

	(void)state;
	for (int i = 0; i < 3; i++) {
		begin(i == 0 ? "a" : i == 1 ? "b" : "c", 0);
		if (i < 2)
			meta("hostname", i ? "node1" : "node2");
		sample(100 + i, 5, 6, &ip, 1);
		commit();
	}
	assert_int_equal(value("SELECT count(*) FROM host"), 3);
	assert_int_equal(value("SELECT count(*) FROM thread WHERE tid = 6"), 3);
}

static void the_same_file_is_refused_twice(void **state)
{
	const struct tl_source_description source = {
		.path = "again", .importer = "test", .size_bytes = 100, .fingerprint = 77
	};
	const struct tl_writer_options opt = { .symbols.no_symbols = true };
	const uint64_t ip = 1;

	(void)state;
	begin("first", 77);
	sample(1, 5, 5, &ip, 1);
	commit();
	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_USAGE);
	assert_string_equal(err.text, "is in the case already, as first");
	assert_int_equal(value("SELECT count(*) FROM source"), 1);
}

static void an_aborted_source_leaves_nothing(void **state)
{
	const uint64_t ip = 1;

	(void)state;
	begin("a", 0);
	for (int i = 0; i < 20000; i++)
		sample(i, 5, 5, &ip, 1);
	tl_writer_abort(writer);
	assert_int_equal(value("SELECT count(*) FROM sample"), 0);
	assert_int_equal(value("SELECT count(*) FROM source"), 0);
	assert_int_equal(value("SELECT count(*) FROM string"), 0);
}

static void names_that_are_no_utf8_are_kept_as_bytes(void **state)
{
	(void)state;
	begin("a", 0);
	comm(5, 5, "bad\xff");
	commit();
	assert_int_equal(value("SELECT count(*) FROM string WHERE typeof(text) = 'blob' AND "
			       "hex(text) = '626164FF'"),
			 1);
}

static void a_foreign_database_is_refused(void **state)
{
	struct tl_store *other = NULL;

	(void)state;
	assert_int_equal(tl_store_execute(store, "PRAGMA application_id = 1", &err), TL_OK);
	assert_int_equal(tl_store_open(&other, path, TL_STORE_READ, &err), TL_STORE);
	assert_string_equal(err.text, "is an SQLite file, but not a case");
}

static void a_case_of_before_is_refused_in_words(void **state)
{
	struct tl_store *other = NULL;

	(void)state;
	assert_int_equal(tl_store_execute(store, "PRAGMA user_version = 1", &err), TL_OK);
	assert_int_equal(tl_store_open(&other, path, TL_STORE_CREATE, &err), TL_STORE);
	assert_non_null(strstr(err.text, "import its recordings again"));
}

static void a_case_of_version_2_is_upgraded(void **state)
{
	struct tl_store *other = NULL;

	(void)state;
	begin("a", 0);
	emit(&(struct tl_event) { .kind = TL_EVENT_STEP, .step = { .number = 7, .rank = -1 } });
	commit();
	assert_int_equal(tl_store_execute(store,
					  "DROP VIEW step_view; DROP VIEW step_placed;"
					  "DROP VIEW step_mark_view; DROP VIEW phase_view;"
					  "ALTER TABLE step DROP COLUMN step_count;"
					  "ALTER TABLE step_mark DROP COLUMN step_count;"
					  "ALTER TABLE source DROP COLUMN is_settled;"
					  "PRAGMA user_version = 2",
					  &err),
			 TL_OK);
	assert_int_equal(tl_store_open(&other, path, TL_STORE_CREATE, &err), TL_OK);
	tl_store_close(other);
	assert_int_equal(value("SELECT step_count FROM step_mark_view WHERE number = 7"), 1);
	/* a source that comes now is one whose clock and steps are still to be settled */
	assert_int_equal(value("SELECT dflt_value FROM pragma_table_info('source') WHERE name = "
			       "'is_settled'"),
			 0);
	assert_int_equal(value("SELECT count(*) FROM source WHERE NOT is_settled"), 0);
}

static void a_newer_case_is_refused_in_words(void **state)
{
	struct tl_store *other = NULL;

	(void)state;
	assert_int_equal(tl_store_execute(store, "PRAGMA user_version = 999", &err), TL_OK);
	assert_int_equal(tl_store_open(&other, path, TL_STORE_READ, &err), TL_STORE);
	assert_non_null(strstr(err.text, "schema version 999"));
	memset(&err, 0, sizeof(err));
	assert_int_equal(tl_store_open(&other, path, TL_STORE_CREATE, &err), TL_STORE);
}

static void a_case_is_known_by_its_first_bytes(void **state)
{
	uint8_t head[100];
	FILE *f = fopen(path, "rb");

	(void)state;
	assert_int_equal(fread(head, 1, sizeof(head), f), sizeof(head));
	fclose(f);
	assert_true(tl_store_probe(head, sizeof(head)));
	head[70] ^= 1;
	assert_false(tl_store_probe(head, sizeof(head)));
}

static void every_view_can_be_read(void **state)
{
	struct tl_statement *st;
	size_t len;

	(void)state;
	assert_int_equal(
		tl_statement_open(&st, store,
				  "SELECT group_concat('SELECT count(*) FROM ' || name, "
				  "' UNION ALL ') AS sql FROM sqlite_schema WHERE type = 'view'",
				  "sql", &err),
		TL_OK);
	assert_int_equal(tl_statement_step(st, &err), 1);
	assert_int_equal(tl_store_execute(store, tl_column_text(st, 0, &len), &err), TL_OK);
	tl_statement_close(st);
}

#define CASE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE_TEST(words_that_are_no_utf8_are_made_readable),
		CASE_TEST(a_source_of_switches_alone_has_a_time),
		CASE_TEST(equal_stacks_are_one_row_and_one_sum),
		CASE_TEST(times_become_unix_times),
		CASE_TEST(a_clock_told_late_moves_what_was_written),
		CASE_TEST(a_clock_told_late_may_overflow),
		CASE_TEST(a_clock_told_late_moves_slices_and_what_belongs_to_them),
		CASE_TEST(slices_that_cannot_be_believed_do_not_stretch_the_source),
		CASE_TEST(switches_and_wakeups_become_states),
		CASE_TEST(a_return_that_was_not_seen_makes_no_interval),
		CASE_TEST(a_return_missed_among_all_cpus_bounds_the_wait),
		CASE_TEST(
			switches_of_all_cpus_do_not_bound_waits_of_a_later_recording_of_one_process),
		CASE_TEST(who_was_seen_at_work_before_leaving_a_cpu_ran_since_then),
		CASE_TEST(a_second_waking_means_that_it_slept_again),
		CASE_TEST(idle_is_another_task_on_every_cpu),
		CASE_TEST(one_thread_is_one_row_in_two_sources),
		CASE_TEST(a_thread_that_is_named_late_is_the_one_that_began_then),
		CASE_TEST(a_nameless_source_is_of_the_only_machine),
		CASE_TEST(a_nameless_source_is_of_none_of_several_machines),
		CASE_TEST(the_same_file_is_refused_twice),
		CASE_TEST(an_aborted_source_leaves_nothing),
		CASE_TEST(names_that_are_no_utf8_are_kept_as_bytes),
		CASE_TEST(a_foreign_database_is_refused),
		CASE_TEST(a_case_of_before_is_refused_in_words),
		CASE_TEST(a_case_of_version_2_is_upgraded),
		CASE_TEST(a_newer_case_is_refused_in_words),
		CASE_TEST(a_case_is_known_by_its_first_bytes),
		CASE_TEST(every_view_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
