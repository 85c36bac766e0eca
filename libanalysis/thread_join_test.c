/*
 * thread_join_test.c - threads that several sources saw, and the machines they ran on: what is one, and
 * what must not become one by accident.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "store_example.h"

#define SECOND INT64_C(1000000000)

/* What is in every source of these tests: thread 7 of process 7, from `first` to `last`. */
struct content {
	const char *path, *host, *boot, *thread_name, *found_name;
	enum tl_clock_method method;
	int64_t offset, residual; /* of the clock */
	int64_t first, last;	  /* own time */
	int64_t born;		  /* 0: before */
	int32_t pid;		  /* 0: 7 */
};

static void emit(struct tl_sink *sink, const struct tl_event *ev)
{
	assert_int_equal(sink->emit(sink, ev, &err), TL_OK);
}

static void meta(struct tl_sink *sink, const char *key, const char *text)
{
	if (text)
		emit(sink, &(struct tl_event) { .kind = TL_EVENT_META, .meta = { key, text } });
}

static void import(const struct content *c)
{
	const struct tl_source_description source = { .path = c->path, .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true };
	const struct tl_import_result result = { 0 };
	const struct tl_task task = { c->pid ? c->pid : 7, 7 };
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };
	struct tl_writer *writer;
	struct tl_sink *sink;

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	sink = tl_writer_sink(writer);
	meta(sink, "hostname", c->host);
	meta(sink, "boot_id", c->boot);
	ev.clock = (struct tl_event_clock) { "test", c->method, c->offset, c->residual, "why" };
	emit(sink, &ev);
	if (c->born) {
		ev = (struct tl_event) { .kind = TL_EVENT_FORK, .has_ts = true, .ts = c->born };
		ev.fork.child = task;
		ev.fork.parent = (struct tl_task) { 7, 6 };
		emit(sink, &ev);
	}
	if (c->found_name) { /* it had that when looked at */
		ev = (struct tl_event) { .kind = TL_EVENT_COMM, .ts = INT64_MIN };
		ev.comm.task = task;
		ev.comm.name = c->found_name;
		emit(sink, &ev);
	}
	if (c->thread_name) {
		ev = (struct tl_event) { .kind = TL_EVENT_COMM, .has_ts = true, .ts = c->first };
		ev.comm.task = task;
		ev.comm.name = c->thread_name;
		emit(sink, &ev);
	}
	for (int i = 0; i < 2; i++) {
		ev = (struct tl_event) { .kind = TL_EVENT_SAMPLE, .has_ts = true };
		ev.ts = i ? c->last : c->first;
		ev.sample.task = task;
		ev.sample.real_tid = TL_ID_NONE;
		ev.sample.period = 1;
		emit(sink, &ev);
	}
	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
}

static int64_t threads(void)
{
	return value("SELECT count(*) FROM thread WHERE tid = 7");
}

static const struct content base = { .path = "a",
				     .host = "one",
				     .method = TL_CLOCK_EXACT,
				     .residual = 1000,
				     .first = 100 * SECOND,
				     .last = 200 * SECOND };

static void a_thread_that_two_sources_saw_is_one_row(void **state)
{
	struct content b = base;

	(void)state;
	import(&base);
	b.path = "b";
	b.first = 150 * SECOND;
	import(&b);
	assert_int_equal(threads(), 1);
	assert_int_equal(value("SELECT count(*) FROM process WHERE pid = 7"), 1);
	assert_int_equal(value("SELECT count(*) FROM thread_life WHERE tid = 7"), 2);
	assert_int_equal(value("SELECT count(DISTINCT thread_id) FROM sample"), 1);
}

static void another_machine_has_other_threads(void **state)
{
	struct content b = base;

	(void)state;
	import(&base);
	b.path = "b";
	b.host = "two";
	import(&b);
	assert_int_equal(threads(), 2);
	assert_int_equal(value("SELECT count(*) FROM host"), 2);
}

static void another_boot_has_other_threads(void **state)
{
	struct content a = base, b = base;

	(void)state;
	a.boot = "11";
	import(&a);
	b.path = "b";
	b.boot = "22";
	import(&b);
	assert_int_equal(threads(), 2);
	assert_int_equal(value("SELECT count(*) FROM host WHERE name = 'one'"), 2);
}

static void who_names_no_machine_is_of_the_only_one(void **state)
{
	struct content b = base;

	(void)state;
	b.path = "b";
	b.host = NULL;
	import(&b);
	import(&base);
	assert_int_equal(value("SELECT count(*) FROM host"), 1);
	assert_int_equal(threads(), 1);
}

static void who_names_no_machine_is_of_none_of_several(void **state)
{
	struct content nameless = base, other = base;

	(void)state;
	import(&base);
	nameless.path = "b";
	nameless.host = NULL;
	import(&nameless); /* of the only one, so far */
	assert_int_equal(threads(), 1);
	other.path = "c";
	other.host = "two";
	import(&other);
	assert_int_equal(threads(), 3);
	assert_int_equal(value("SELECT count(*) FROM host"), 3);
	assert_int_equal(value("SELECT count(*) FROM host WHERE name IS NULL"), 1);
	/* the samples went along */
	assert_int_equal(value("SELECT count(DISTINCT thread_id) FROM sample"), 3);
}

static void at_another_time_a_nameless_thread_is_another(void **state)
{
	struct content b = base;

	(void)state;
	import(&base);
	b.path = "b";
	b.host = NULL;
	b.first = 5000 * SECOND;
	b.last = 6000 * SECOND;
	import(&b);
	assert_int_equal(threads(), 2);
}

static void at_another_time_the_name_tells(void **state)
{
	struct content a = base, b = base, c = base;

	(void)state;
	a.thread_name = b.thread_name = "worker";
	import(&a);
	b.path = "b";
	b.first = 5000 * SECOND;
	b.last = 6000 * SECOND;
	import(&b);
	assert_int_equal(threads(), 1);
	c.path = "c";
	c.thread_name = "other";
	c.first = 8000 * SECOND;
	c.last = 9000 * SECOND;
	import(&c);
	assert_int_equal(threads(), 2);
}

static void a_number_used_again_is_another_thread(void **state)
{
	struct content a = base, b = base;

	(void)state;
	a.born = 90 * SECOND;
	import(&a);
	b.path = "b";
	b.born = 95 * SECOND;
	import(&b);
	assert_int_equal(threads(), 2);
}

static void threads_are_one_when_the_clock_becomes_known(void **state)
{
	const struct tl_clock_setting setting = { .source_id = 2,
						  .offset_ns = -9000 * SECOND,
						  .residual_ns = 1000 };
	struct content a = base, b = base;

	(void)state;
	a.born = 90 * SECOND;
	import(&a);
	b.path = "b"; /* the same on a clock that is 9000 s ahead, thought to be right */
	b.method = TL_CLOCK_ASSUMED;
	b.first += 9000 * SECOND;
	b.last += 9000 * SECOND;
	b.born = 9090 * SECOND + 5000000;
	import(&b);
	assert_int_equal(threads(), 2);
	assert_int_equal(tl_clock_set(store, &setting, &err), TL_OK);
	assert_int_equal(threads(), 1);
	assert_int_equal(value("SELECT start_ts FROM thread WHERE tid = 7"), 90 * SECOND);
	assert_int_equal(value("SELECT count(DISTINCT thread_id) FROM sample"), 1);
	/* and two again when that is taken back */
	assert_int_equal(tl_clock_release(store, 0, &err), TL_OK);
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
	assert_int_equal(threads(), 2);
	assert_int_equal(value("SELECT count(DISTINCT thread_id) FROM sample"), 2);
}

static void other_processes_have_other_threads(void **state)
{
	struct content b = base;

	(void)state;
	import(&base);
	b.path = "b";
	b.pid = 8;
	import(&b);
	assert_int_equal(threads(), 2);
}

/* A manifest has what the process was called before it executed the job. */
static void a_name_that_was_taken_later_outranks_one_that_was_found(void **state)
{
	struct content found = base, taken = base;

	(void)state;
	found.found_name = "sh";
	taken.path = "b";
	taken.found_name = "sh";
	taken.thread_name = "train";
	import(&taken);
	import(&found);
	assert_int_equal(threads(), 1);
	assert_int_equal(
		value("SELECT text = 'train' FROM thread JOIN string ON string_id = name_id "
		      "WHERE tid = 7"),
		1);
}

static void of_names_that_were_taken_the_last_counts(void **state)
{
	struct content early = base, late = base;

	(void)state;
	early.found_name = late.found_name = "sh";
	early.thread_name = "early";
	late.path = "b";
	late.thread_name = "late";
	late.first += SECOND;
	import(&late);
	import(&early);
	assert_int_equal(threads(), 1);
	assert_int_equal(
		value("SELECT text = 'late' FROM thread JOIN string ON string_id = name_id "
		      "WHERE tid = 7"),
		1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_store, teardown_store)
		TEST(a_thread_that_two_sources_saw_is_one_row),
		TEST(another_machine_has_other_threads),
		TEST(another_boot_has_other_threads),
		TEST(who_names_no_machine_is_of_the_only_one),
		TEST(who_names_no_machine_is_of_none_of_several),
		TEST(at_another_time_a_nameless_thread_is_another),
		TEST(at_another_time_the_name_tells),
		TEST(a_number_used_again_is_another_thread),
		TEST(threads_are_one_when_the_clock_becomes_known),
		TEST(other_processes_have_other_threads),
		TEST(a_name_that_was_taken_later_outranks_one_that_was_found),
		TEST(of_names_that_were_taken_the_last_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
