/*
 * chrome_test.c - trace events of any producer: begin and end, ids, instants, counters, arrows.
 */
#include "trace_example.h"

#define T "\"pid\":4242,\"tid\":4243"

static void run(struct example *e, const char *json)
{
	example_run_named(e, "chrome", "x", json, strlen(json), NULL);
	assert_int_equal(e->status, TL_OK);
}

static void begin_and_end_make_slices_by_a_stack_for_each_track(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"B\",\"name\":\"outer\",\"cat\":\"c\"," T ",\"ts\":1,\"args\":{\"a\":1}},"
	    "{\"ph\":\"B\",\"name\":\"inner\"," T ",\"ts\":2},"
	    "{\"ph\":\"B\",\"name\":\"other\",\"pid\":4242,\"tid\":5,\"ts\":3},"
	    "{\"ph\":\"E\"," T ",\"ts\":4},"
	    "{\"ph\":\"E\",\"name\":\"outer\"," T ",\"ts\":6,\"args\":{\"b\":2}},"
	    "{\"ph\":\"E\",\"name\":\"other\",\"pid\":4242,\"tid\":5,\"ts\":7}]");
	assert_has(&e, "slice ts=2000 track=0 other duration=2000 name=\"inner\"");
	assert_has(&e, "slice ts=1000 track=0 other duration=5000 name=\"outer\" category=\"c\" "
		       "arguments=\"{\"b\":2,\"a\":1}\"");
	assert_has(&e, "slice ts=3000 track=1 other duration=4000 name=\"other\"");
	assert_lacks(&e, "diagnostic");
	example_release(&e);
}

static void what_is_not_ended_and_what_was_not_begun_is_kept(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"E\",\"name\":\"lone\"," T ",\"ts\":1},{\"ph\":\"B\",\"name\":\"open\"," T
	    ",\"ts\":2},{\"ph\":\"B\",\"name\":\"open too\"," T ",\"ts\":3}]");
	assert_has(&e, "slice ts=1000 track=0 other instant suspect name=\"lone\"");
	assert_has(&e, "slice ts=2000 track=0 other name=\"open\"\nslice ts=3000 track=0 other "
		       "name=\"open too\"");
	assert_has(&e, "note count=2 what=\"slice that was begun and not ended\"");
	assert_has(
		&e,
		"note count=1 what=\"end of a slice that was not begun\" unit=\"events\" byte=1");
	example_release(&e);
}

static void crossed_ends_find_theirs_by_name(void **state)
{
	struct example e;

	(void)state;
	run(&e, "[{\"ph\":\"B\",\"name\":\"a\"," T ",\"ts\":1},{\"ph\":\"B\",\"name\":\"b\"," T
		",\"ts\":2},{\"ph\":\"E\",\"name\":\"a\"," T
		",\"ts\":4},{\"ph\":\"E\",\"name\":\"b\"," T ",\"ts\":7}]");
	assert_has(&e, "slice ts=1000 track=0 other duration=3000 name=\"a\"");
	assert_has(&e, "slice ts=2000 track=0 other duration=5000 name=\"b\"");
	assert_has(&e, "note count=1 what=\"end of a slice while an inner one");
	example_release(&e);
}

static void async_slices_are_matched_by_category_and_id(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"b\",\"name\":\"r\",\"cat\":\"net\",\"id\":\"0x1\",\"pid\":1,\"tid\":2,\"ts\":1},"
	    "{\"ph\":\"b\",\"name\":\"r\",\"cat\":\"net\",\"id\":\"0x2\",\"pid\":1,\"tid\":2,\"ts\":2},"
	    "{\"ph\":\"n\",\"name\":\"m\",\"cat\":\"net\",\"id\":\"0x1\",\"pid\":1,\"tid\":2,\"ts\":3},"
	    "{\"ph\":\"e\",\"name\":\"r\",\"cat\":\"net\",\"id\":\"0x1\",\"pid\":1,\"tid\":9,\"ts\":5},"
	    "{\"ph\":\"e\",\"name\":\"r\",\"cat\":\"net\",\"id\":\"0x2\",\"pid\":1,\"tid\":2,\"ts\":9},"
	    "{\"ph\":\"b\",\"name\":\"l\",\"cat\":\"net\",\"id2\":{\"local\":\"0x1\"},\"pid\":1,\"ts\":1},"
	    "{\"ph\":\"e\",\"name\":\"l\",\"cat\":\"net\",\"id2\":{\"local\":\"0x1\"},\"pid\":3,\"ts\":2}]");
	assert_has(&e, "track index=0 async");
	assert_has(
		&e,
		"slice ts=1000 track=0 other duration=4000 name=\"r\" category=\"net\" external_id=1");
	assert_has(
		&e,
		"slice ts=2000 track=0 other duration=7000 name=\"r\" category=\"net\" external_id=2");
	assert_has(&e, "slice ts=3000 track=0 other instant name=\"m\"");
	assert_has(&e, "count=1 what=\"slice that was begun and not ended\"");
	assert_has(&e, "count=1 what=\"end of a slice that was not begun\"");
	example_release(&e);
}

static void ends_before_their_begins_are_matched_by_time(void **state)
{
	struct example e;

	(void)state;
	/* each thread's events in reverse, two stacks */
	run(&e, "[{\"ph\":\"E\"," T ",\"ts\":9,\"args\":{\"b\":2}},"
		"{\"ph\":\"E\",\"pid\":4242,\"tid\":5,\"ts\":8},"
		"{\"ph\":\"E\"," T ",\"ts\":6},"
		"{\"ph\":\"B\",\"name\":\"outer\"," T ",\"ts\":1,\"args\":{\"a\":1}},"
		"{\"ph\":\"B\",\"name\":\"inner\"," T ",\"ts\":2},"
		"{\"ph\":\"B\",\"name\":\"other\",\"pid\":4242,\"tid\":5,\"ts\":3}]");
	assert_has(&e, "slice ts=1000 track=0 other duration=8000 name=\"outer\" "
		       "arguments=\"{\"b\":2,\"a\":1}\"");
	assert_has(&e, "slice ts=2000 track=0 other duration=4000 name=\"inner\"");
	assert_has(&e, "slice ts=3000 track=1 other duration=5000 name=\"other\"");
	assert_lacks(&e, "diagnostic");
	assert_int_equal(e.result.events[TL_EVENT_SLICE], 3);
	example_release(&e);
}

/* As sampling profilers write stacks: frames that were seen together begin and end together. */
static void of_slices_with_the_same_times_the_outer_one_comes_first(void **state)
{
	static const char *const names[] = { "\"main\"", "\"work\"", "\"inner\"", "\"leaf\"",
					     "\"brief\"" };
	const char *last;
	struct example e;

	(void)state;
	run(&e, "[{\"ph\":\"B\",\"name\":\"main\"," T ",\"ts\":1},"
		"{\"ph\":\"B\",\"name\":\"work\"," T ",\"ts\":1,\"args\":{\"a\":1}},"
		"{\"ph\":\"B\",\"name\":\"inner\"," T ",\"ts\":1,\"args\":{\"b\":2}},"
		"{\"ph\":\"B\",\"name\":\"leaf\"," T ",\"ts\":1},"
		"{\"ph\":\"E\",\"name\":\"leaf\"," T ",\"ts\":5},"
		"{\"ph\":\"E\",\"name\":\"inner\"," T ",\"ts\":5,\"args\":{\"c\":3}},"
		"{\"ph\":\"E\",\"name\":\"work\"," T ",\"ts\":5},"
		"{\"ph\":\"B\",\"name\":\"brief\"," T ",\"ts\":5},"
		"{\"ph\":\"E\",\"name\":\"brief\"," T ",\"ts\":6},"
		"{\"ph\":\"E\",\"name\":\"main\"," T ",\"ts\":9}]");
	/* brief does not begin with main: it does not wait for it */
	last = strstr(e.text, names[4]);
	assert_non_null(last);
	for (size_t i = 0; i < 4; i++) {
		assert_true(strstr(e.text, names[i]) > last);
		last = strstr(e.text, names[i]);
	}
	assert_has(&e, "duration=4000 name=\"inner\" arguments=\"{\"c\":3,\"b\":2}\"");
	assert_has(&e, "duration=4000 name=\"work\" arguments=\"{\"a\":1}\"");
	assert_has(&e, "duration=8000 name=\"main\"");
	assert_lacks(&e, "diagnostic");
	example_release(&e);
}

static void many_slices_that_begin_with_another_are_all_kept(void **state)
{
	struct tl_text json = { 0 };
	struct example e;

	(void)state;
	tl_text_puts(&json, "[{\"ph\":\"B\",\"name\":\"outer\"," T ",\"ts\":1}");
	for (int i = 0; i < 20000; i++)
		tl_text_puts(&json, ",{\"ph\":\"B\",\"name\":\"a\"," T ",\"ts\":1},{\"ph\":\"E\"," T
				    ",\"ts\":2}");
	run(&e, json.data);
	assert_int_equal(e.result.events[TL_EVENT_SLICE], 20001);
	assert_has(&e, "note count=1 what=\"slice that was begun and not ended\"");
	assert_lacks(&e, "too many were open");
	tl_text_release(&json);
	example_release(&e);
}

static void an_end_does_not_end_what_begins_behind_it(void **state)
{
	struct example e;

	(void)state;
	run(&e, "[{\"ph\":\"B\",\"name\":\"a\"," T ",\"ts\":10},{\"ph\":\"E\"," T
		",\"ts\":5},{\"ph\":\"E\"," T ",\"ts\":20}]");
	assert_has(&e, "slice ts=10000 track=0 other duration=10000 name=\"a\"");
	assert_has(&e, "slice ts=5000 track=0 other instant suspect");
	assert_has(&e, "note count=1 what=\"end of a slice that was not begun\"");
	example_release(&e);
}

static void a_flood_of_ends_does_not_stand_in_the_way_of_begins(void **state)
{
	struct tl_text json = { 0 };
	struct example e;

	(void)state;
	tl_text_puts(&json, "[{\"ph\":\"E\"," T ",\"ts\":1}");
	for (int i = 0; i < 40000; i++)
		tl_text_puts(&json, ",{\"ph\":\"E\"," T ",\"ts\":1}");
	for (int i = 0; i < 16000; i++)
		tl_text_puts(&json, ",{\"ph\":\"B\",\"name\":\"a\"," T ",\"ts\":2}");
	for (int i = 0; i < 16000; i++)
		tl_text_puts(&json, ",{\"ph\":\"E\"," T ",\"ts\":3}");
	tl_text_puts(&json, "]");
	run(&e, json.data);
	assert_int_equal(e.result.events[TL_EVENT_SLICE], 40001 + 16000);
	assert_has(&e, "note count=40001 what=\"end of a slice that was not begun\"");
	assert_lacks(&e, "too many were open");
	assert_lacks(&e, "not ended");
	tl_text_release(&json);
	example_release(&e);
}

static void a_flood_of_begins_is_bounded_and_kept(void **state)
{
	struct tl_text json = { 0 };
	struct example e;

	(void)state;
	tl_text_puts(&json, "[{\"ph\":\"B\",\"name\":\"a\"," T ",\"ts\":1}");
	for (int i = 0; i < 40000; i++)
		tl_text_puts(&json, ",{\"ph\":\"B\",\"name\":\"a\"," T ",\"ts\":1}");
	tl_text_puts(&json, "]");
	run(&e, json.data);
	assert_int_equal(e.result.events[TL_EVENT_SLICE], 40001);
	assert_has(&e, "what=\"slice begun while too many were open");
	tl_text_release(&json);
	example_release(&e);
}

static void instants_of_old_and_new_spelling(void **state)
{
	struct example e;

	(void)state;
	run(&e, "[{\"ph\":\"i\",\"name\":\"new\"," T
		",\"ts\":1,\"s\":\"t\"},{\"ph\":\"I\",\"name\":\"old\"," T ",\"ts\":2}]");
	assert_has(&e, "slice ts=1000 track=0 other instant name=\"new\"");
	assert_has(&e, "slice ts=2000 track=0 other instant name=\"old\"");
	example_release(&e);
}

static void each_series_of_a_counter_is_one(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":1,\"args\":{\"used\":1.5,\"free\":\"2\","
	    "\"note\":\"x\"}},{\"ph\":\"C\",\"name\":\"mem\",\"id\":\"g1\",\"pid\":1,\"ts\":2,\"args\":"
	    "{\"\":7}},{\"ph\":\"C\",\"name\":\"none\",\"pid\":1,\"ts\":2,\"args\":{}}]");
	assert_has(&e, "counter ts=1000 track=0 value=1.5 name=\"mem used\"");
	assert_has(&e, "counter ts=1000 track=0 value=2 name=\"mem free\"");
	assert_has(&e, "counter ts=2000 track=0 value=7 name=\"mem [g1]\"");
	assert_has(&e, "damaged count=1 what=\"counter without a number or a time\"");
	example_release(&e);
}

static void arrows_may_be_bound_to_slices(void **state)
{
	struct example e;

	(void)state;
	run(&e, "[{\"ph\":\"X\",\"name\":\"a\"," T
		",\"ts\":1,\"dur\":1,\"bind_id\":\"0x5\",\"flow_out\":true},"
		"{\"ph\":\"X\",\"name\":\"b\"," T
		",\"ts\":2,\"dur\":1,\"bind_id\":\"0x5\",\"flow_in\":true,"
		"\"flow_out\":true},{\"ph\":\"t\",\"id\":6," T ",\"ts\":3},{\"ph\":\"f\"," T
		",\"ts\":3}]");
	assert_has(&e, "flow ts=1000 track=0 begin id=5");
	assert_has(&e, "flow ts=2000 track=0 step id=5");
	assert_has(&e, "flow ts=3000 track=0 step id=6");
	assert_has(&e, "count=1 what=\"arrow without an id\"");
	example_release(&e);
}

static void phases_without_a_place_are_told(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"N\",\"name\":\"o\",\"id\":1,\"ts\":1},{\"name\":\"nothing\",\"ts\":1}]");
	assert_has(&e, "unsupported count=1 what=\"event of a phase that has no place here\"");
	assert_has(&e, "damaged count=1 what=\"event without a phase\"");
	example_release(&e);
}

static void the_autograd_profiler_of_old_has_layers_and_relative_times(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"name\": \"aten::mm\", \"ph\": \"X\", \"ts\": 12.5, \"dur\": 3.25, \"tid\": 1, "
	    "\"pid\": \"CPU functions\", \"args\": {}}, {\"name\": \"sgemm\", \"ph\": \"X\", \"ts\": "
	    "14.0, \"dur\": 2, \"tid\": 0, \"pid\": \"CUDA functions\", \"args\": {}}]");
	assert_has(&e, "track index=0 other process=\"CPU functions\"");
	assert_has(&e, "slice ts=12500 track=0 operator duration=3250 name=\"aten::mm\"");
	assert_has(&e, "track index=1 device process=\"CUDA functions\"");
	assert_has(&e, "slice ts=14000 track=1 kernel duration=2000 name=\"sgemm\"");
	example_release(&e);
}

static void py_spy_threads_are_those_of_the_system(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"args\":{\"filename\":\"a.py\",\"line\":3},\"cat\":\"py-spy\",\"name\":\"f\",\"ph\":\"B\","
	    "\"pid\":812,\"tid\":812,\"ts\":10},{\"cat\":\"py-spy\",\"name\":\"f\",\"ph\":\"E\",\"pid\":812,"
	    "\"tid\":812,\"ts\":30}]");
	assert_has(&e, "track index=0 thread task=812/812");
	assert_has(&e, "python duration=20000 name=\"f\" category=\"py-spy\" "
		       "arguments=\"{\"filename\":\"a.py\",\"line\":3}\"");
	example_release(&e);
}

static void made_up_ids_are_no_threads(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"name\":\"b\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"name\":\"c\",\"pid\":7,\"tid\":9,\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"name\":\"d\",\"pid\":9000000,\"tid\":9000000,\"ts\":1,\"dur\":1}]");
	assert_has(&e, "track index=0 other pid=\"1\" tid=\"2\"");
	assert_has(&e, "track index=3 other pid=\"9000000\"");
	assert_lacks(&e, "track index=1 other");
	assert_lacks(&e, "track index=2 other"); /* beside a main thread */
	example_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begin_and_end_make_slices_by_a_stack_for_each_track),
		cmocka_unit_test(what_is_not_ended_and_what_was_not_begun_is_kept),
		cmocka_unit_test(crossed_ends_find_theirs_by_name),
		cmocka_unit_test(async_slices_are_matched_by_category_and_id),
		cmocka_unit_test(ends_before_their_begins_are_matched_by_time),
		cmocka_unit_test(of_slices_with_the_same_times_the_outer_one_comes_first),
		cmocka_unit_test(many_slices_that_begin_with_another_are_all_kept),
		cmocka_unit_test(an_end_does_not_end_what_begins_behind_it),
		cmocka_unit_test(a_flood_of_ends_does_not_stand_in_the_way_of_begins),
		cmocka_unit_test(a_flood_of_begins_is_bounded_and_kept),
		cmocka_unit_test(instants_of_old_and_new_spelling),
		cmocka_unit_test(each_series_of_a_counter_is_one),
		cmocka_unit_test(arrows_may_be_bound_to_slices),
		cmocka_unit_test(phases_without_a_place_are_told),
		cmocka_unit_test(the_autograd_profiler_of_old_has_layers_and_relative_times),
		cmocka_unit_test(py_spy_threads_are_those_of_the_system),
		cmocka_unit_test(made_up_ids_are_no_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
