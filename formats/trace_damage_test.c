/*
 * trace_damage_test.c - traces that are cut, that are no JSON, and that say what cannot be: what is
 * whole is kept, the rest is counted with its place.
 */
#include "trace_example.h"

#define X(name, ts) \
	"{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":900,\"tid\":901,\"ts\":" ts ",\"dur\":2.5}"

/* The damage is told with this count and this byte. */
static void assert_told(const struct example *e, const char *what, int count, int byte)
{
	struct tl_text text = { 0 };

	tl_text_printf(&text, "count=%d what=\"%s", count, what);
	if (byte < 0) {
		assert_has(e, text.data);
	} else {
		const char *line = strstr(e->text, text.data), *end;
		char place[32];

		assert_has(e, text.data);
		end = strchr(line, '\n');
		snprintf(place, sizeof(place), " byte=%d", byte);
		assert_non_null(memmem(line, (size_t)(end - line), place, strlen(place)));
	}
	tl_text_release(&text);
}

static void a_comma_behind_the_last_event_is_told(void **state)
{
	static const char json[] = "[" X("a", "10") "," X("b", "20") ",]";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_int_equal(example_count(&e, "slice ts="), 2);
	assert_told(&e, "comma too many", 1, (int)sizeof(json) - 2);
	example_release(&e);
}

static void an_array_without_an_end_is_kept_and_told(void **state)
{
	static const char json[] = "[" X("a", "10") ",\n" X("b", "20") "\n";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_int_equal(example_count(&e, "slice ts="), 2);
	assert_has(&e, "diagnostic truncated count=1 what=\"file ends before the array");
	example_release(&e);
}

static void an_event_cut_in_the_middle_costs_only_itself(void **state)
{
	static const char whole[] = "{\"traceEvents\": [" X("a", "10") ",\n" X("b", "20") "]}";
	struct example e;

	(void)state;
	/* at every byte of the second event */
	for (size_t cut = sizeof(X("a", "10")) + 19; cut < sizeof(whole) - 4; cut++) {
		example_run_named(&e, "chrome", "x", whole, cut, NULL);
		assert_int_equal(e.status, TL_OK);
		assert_int_equal(example_count(&e, "slice ts="), 1);
		assert_int_equal(example_count(&e, "diagnostic truncated count=1"), 1);
		assert_lacks(&e, "damaged");
		example_release(&e);
	}
}

static void a_trace_cut_at_any_byte_never_fails_behind_its_first_brace(void **state)
{
	static const char json[] =
		"\xef\xbb\xbf{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 3, \"a\": [1, \"x\\n\"]},"
		" \"traceEvents\": [{\"ph\": \"X\", \"name\": \"\\u00e9\xc3\xa9\", \"args\": {\"a\": [{\"b\":"
		" 1.5e3}]}, \"ts\": 1.5, \"dur\": 1, \"pid\": 1, \"tid\": \"a\"}, {}], \"traceName\": \"x\"}";

	(void)state;
	for (size_t cut = 5; cut < sizeof(json); cut++) {
		struct example e;

		example_run_named(&e, "torch", "x", json, cut, NULL);
		assert_int_equal(e.status, TL_OK);
		if (cut < sizeof(json) - 1)
			assert_has(&e, "diagnostic truncated");
		example_release(&e);
	}
}

static void quotes_in_a_name_are_taken_literally(void **state)
{
	static const char json[] =
		"{\"traceEvents\": [" X("a", "10") ",\n" X("say \"hi\", twice", "20") ",\n" X(
			"c", "30") "], \"baseTimeNanoseconds\": 1711964646000000000}";
	struct example e;

	(void)state;
	example_run_named(&e, "torch", "x", json, sizeof(json) - 1, NULL);
	assert_int_equal(example_count(&e, "slice ts="), 3);
	assert_has(&e, "say \"hi\", twice");
	assert_told(&e, "quote inside a string", 1, (int)(sizeof(X("a", "10")) + 18));
	assert_has(&e, "method=exact offset=1711964646000000000");
	example_release(&e);
}

static void quotes_in_the_last_name_do_not_cost_what_follows(void **state)
{
	static const char json[] = "{\"traceEvents\": [\n" X("a", "10") ",\n" X(
		"b\"b", "20") "\n  ],\n  \"traceName\": \"t\", \"displayTimeUnit\": \"ms\"\n}";
	struct example e;

	(void)state;
	example_run_named(&e, "torch", "x", json, sizeof(json) - 1, NULL);
	assert_int_equal(example_count(&e, "slice ts="), 2);
	assert_has(&e, "key=\"displayTimeUnit\" value=\"ms\"");
	assert_lacks(&e, "truncated");
	example_release(&e);
}

static void an_event_beyond_repair_is_left_behind(void **state)
{
	static const char json[] =
		"[" X("a", "10") ",{\"ph\":\"X\",\"name\":,,:\"b\"[},\n" X("c", "30") "]";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_int_equal(example_count(&e, "slice ts="), 2);
	assert_int_equal(e.result.damaged, 1);
	assert_int_equal(e.result.first_damage.position, sizeof(X("a", "10")) + 1);
	assert_string_equal(e.result.first_damage.text, "trace event that is no JSON");
	example_release(&e);
}

static void a_quote_that_is_missing_costs_one_event_only(void **state)
{
	static const char json[] = "[" X("a", "10") ",{\"ph\":\"X\",\"name\":\"b,\"ts\":20},\n" X(
		"c", "30") "," X("d", "40") "]";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_int_equal(example_count(&e, "slice ts="), 3);
	assert_int_equal(e.result.damaged, 1);
	example_release(&e);
}

static void raw_control_characters_and_wrong_escapes_are_taken_literally(void **state)
{
	static const char json[] =
		"[{\"ph\":\"X\",\"name\":\"a\nb\",\"ts\":1,\"dur\":1,\"args\":{\"p\":\"C:\\dir\tx\"}}]";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_has(&e, "name=\"a?b\"");
	assert_has(&e, "{\"p\":\"C:\\\\dir\\u0009x\"}");
	assert_told(&e, "raw control character", 1, 1);
	assert_told(&e, "unknown escape", 1, 1);
	example_release(&e);
}

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
	static const char json[] =
		"[{\"ph\":\"X\",\"name\":\"a\xff\",\"ts\":1,\"dur\":1,\"args\":{\"k\":\"\xc3\"}}]";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_has(&e, "name=\"a\xef\xbf\xbd\"");
	assert_has(&e, "{\"k\":\"\xef\xbf\xbd\"}");
	assert_told(&e, "bytes that are no UTF-8", 1, 1);
	example_release(&e);
}

static void nan_and_words_become_null_in_arguments(void **state)
{
	static const char json[] =
		"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"occ\":NaN,"
		"\"x\":-Infinity,\"y\": N/A , \"z\":1}}]";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_has(&e, "{\"occ\":null,\"x\":null,\"y\":null,\"z\":1}");
	assert_told(&e, "NaN or Infinity", 1, 1);
	assert_told(&e, "value that is no JSON", 1, 1);
	example_release(&e);
}

static void a_time_that_is_no_number_costs_the_event(void **state)
{
	static const char json[] = "[" X("a", "NaN") "," X("b", "20") "," X("c", "\"soon\"") "]";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_int_equal(example_count(&e, "slice ts="), 1);
	assert_told(&e, "event whose time is no number", 2, 1);
	example_release(&e);
}

static void odd_durations_are_kept_out_of_statistics(void **state)
{
	static const char json[] = "[{\"ph\":\"X\",\"name\":\"none\",\"ts\":1},"
				   "{\"ph\":\"X\",\"name\":\"negative\",\"ts\":2,\"dur\":-3},"
				   "{\"ph\":\"X\",\"name\":\"clamped\",\"ts\":3,\"dur\":-1.-500},"
				   "{\"ph\":\"X\",\"name\":\"long\",\"ts\":4,\"dur\":86400000001}]";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_has(&e, "slice ts=1000 track=0 other name=\"none\"");
	assert_has(&e, "slice ts=2000 track=0 other suspect name=\"negative\"");
	assert_has(&e, "slice ts=3000 track=0 other suspect name=\"clamped\"");
	assert_has(&e, "slice ts=4000 track=0 other suspect duration=86400000001000 name=\"long\"");
	assert_told(&e, "slice without a duration", 1, 1);
	assert_told(&e, "slice with a negative duration", 1, -1);
	assert_told(&e, "slice whose duration is no number", 1, -1);
	assert_told(&e, "slice of more than a day", 1, -1);
	example_release(&e);
}

static void a_time_of_zero_is_unknown_to_kineto_only(void **state)
{
	static const char json[] = "{\"traceEvents\":[" X("a", "0.000") "," X("b", "20") "]}";
	struct example e;

	(void)state;
	example_run_named(&e, "torch", "x", json, sizeof(json) - 1, NULL);
	assert_has(&e, "slice track=0 other suspect duration=2500 name=\"a\"");
	assert_told(&e, "event at time 0", 1, 16);
	example_release(&e);
	example_run_named(&e, "chrome", "x", json, sizeof(json) - 1, NULL);
	assert_has(&e, "slice ts=0 track=0 other duration=2500 name=\"a\"");
	example_release(&e);
}

static void empty_events_are_nothing_to_tell(void **state)
{
	struct example e;

	(void)state;
	example_run(&e, "[" X("a", "10") ",{}]");
	assert_lacks(&e, "diagnostic");
	assert_int_equal(e.result.records, 2);
	example_release(&e);
}

static void the_last_of_equal_keys_counts(void **state)
{
	struct example e;

	(void)state;
	example_run(&e,
		    "[{\"ph\":\"X\",\"ts\":1,\"ts\":2,\"dur\":1,\"args\":{\"a\":1,\"b\":2,\"a\":3,"
		    "\"c\":4}}]");
	assert_has(&e, "slice ts=2000");
	assert_has(&e, "{\"b\":2,\"a\":3,\"c\":4}");
	assert_told(&e, "key that comes twice", 1, 1);
	example_release(&e);
}

static void commas_that_are_missing_are_told(void **state)
{
	struct example e;

	(void)state;
	example_run(&e, "[{\"ph\":\"X\" \"ts\":1,\"dur\":1,,\"args\":{\"a\":[1 2,],\"b\":2}}" X(
				"b", "2") "]");
	assert_int_equal(example_count(&e, "slice ts="), 2);
	assert_has(&e, "{\"a\":[1,2],\"b\":2}");
	assert_told(&e, "comma too many, or one missing", 2, 1);
	example_release(&e);
}

static void what_was_appended_to_a_closed_array_is_read(void **state)
{
	struct example e;

	(void)state;
	example_run(&e, "[" X("a", "10") "]," X("b", "20") "]");
	assert_int_equal(example_count(&e, "slice ts="), 2);
	assert_told(&e, "comma too many", 1, -1);
	example_release(&e);
}

static void a_second_document_is_told_and_not_mixed_in(void **state)
{
	static const char first[] = "{\"traceEvents\":[" X("a", "10") "]}\n";
	struct tl_text json = { 0 };
	struct example e;

	(void)state;
	tl_text_puts(&json, first);
	tl_text_puts(&json, first);
	example_run(&e, json.data);
	assert_int_equal(example_count(&e, "slice ts="), 1);
	assert_told(&e, "another document", 1, (int)strlen(first));
	tl_text_release(&json);
	example_release(&e);
}

static void arrays_in_the_array_are_read(void **state)
{
	struct example e;

	(void)state;
	example_run(&e, "[[" X("a", "10") "],[" X("b", "20") "]]");
	assert_int_equal(example_count(&e, "slice ts="), 2);
	assert_told(&e, "array inside the array", 2, 1);
	assert_lacks(&e, "truncated");
	example_release(&e);
}

static void events_in_lines_are_read(void **state)
{
	struct example e;

	(void)state;
	example_run(&e, X("a", "10") "\n" X("b", "20") "\n");
	assert_int_equal(example_count(&e, "slice ts="), 2);
	assert_has(&e, "diagnostic note count=1 what=\"events one after the other");
	example_release(&e);
}

static void elements_that_are_no_events_are_told(void **state)
{
	struct example e;

	(void)state;
	example_run(&e, "[1, null, \"x\", " X("a", "10") ", true]");
	assert_int_equal(example_count(&e, "slice ts="), 1);
	assert_told(&e, "element that is no event", 4, 1);
	example_release(&e);
}

static void damage_before_the_events_does_not_cost_them(void **state)
{
	static const char json[] =
		"{\"schemaVersion\": 1, \"host_name\": some\"host\", \"traceEvents\": [" X(
			"a", "10") "], \"traceName\": \"x\"}";
	struct example e;

	(void)state;
	example_run(&e, json);
	assert_int_equal(example_count(&e, "slice ts="), 1);
	assert_told(&e, "member beside the events", 1, -1);
	assert_has(&e, "traceName");
	example_release(&e);
}

static void a_nesting_without_end_costs_one_event(void **state)
{
	struct tl_text json = { 0 };
	struct example e;

	(void)state;
	tl_text_puts(&json, "[" X("a", "10") ",{\"ph\":\"X\",\"args\":{\"a\":");
	for (int i = 0; i < 100000; i++)
		tl_text_puts(&json, "[");
	tl_text_puts(&json, "}},\n" X("b", "20") "]");
	example_run(&e, json.data);
	assert_int_equal(example_count(&e, "slice ts="), 2);
	assert_int_equal(e.result.damaged, 1);
	tl_text_release(&json);
	example_release(&e);
}

static void a_large_member_is_skipped_and_told(void **state)
{
	struct tl_text json = { 0 };
	struct example e;

	(void)state;
	tl_text_puts(&json, "{\"schemaVersion\":1,\"stackFrames\":{\"a\":\"");
	for (int i = 0; i < 500000; i++)
		tl_text_puts(&json, "]},\\\"{[");
	tl_text_puts(&json, "\"},\"traceEvents\":[" X("a", "10") "]}");
	example_run_named(&e, "chrome", "x", json.data, json.length, NULL);
	assert_int_equal(example_count(&e, "slice ts="), 1);
	assert_told(&e, "member beside the events of more than 256 KiB", 1, -1);
	assert_lacks(&e, "truncated");
	tl_text_release(&json);
	example_release(&e);
}

static void strict_stops_at_damage(void **state)
{
	static const char json[] = "[" X("a", "10") ",]";
	struct tl_import_options opt = { .is_strict = true };
	struct example e;

	(void)state;
	example_run_named(&e, NULL, "x", json, sizeof(json) - 1, &opt);
	assert_int_equal(e.status, TL_FORMAT);
	example_release(&e);
}

static void what_is_no_json_is_refused_in_words(void **state)
{
	struct example e;

	(void)state;
	example_run_named(&e, "chrome", "x", " hello", 6, NULL);
	assert_int_equal(e.status, TL_FORMAT);
	assert_string_equal(e.err.text, "expected '[' or '{' of trace events");
	assert_int_equal(e.err.position, 1);
	example_release(&e);
}

static void what_nests_too_deeply_is_null_and_the_event_is_kept(void **state)
{
	struct tl_text json = { 0 };
	struct example e;

	(void)state;
	tl_text_puts(&json, "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,"
			    "\"x\":");
	for (int i = 0; i < 100000; i++)
		tl_text_puts(&json, "[");
	for (int i = 0; i < 100000; i++)
		tl_text_puts(&json, "]");
	tl_text_puts(&json, ",\"args\":{\"deep\":");
	for (int i = 0; i < 100000; i++)
		tl_text_puts(&json, "{\"}\":");
	tl_text_puts(&json, "1");
	for (int i = 0; i < 100000; i++)
		tl_text_puts(&json, "}");
	tl_text_puts(&json,
		     ",\"bytes\":7}},{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":4,"
		     "\"dur\":2}]");
	example_run_named(&e, "chrome", "x", json.data, json.length, NULL);
	assert_int_equal(e.status, TL_OK);
	assert_has(&e, "slice ts=1000 track=0 other duration=2000 name=\"a\"");
	assert_has(&e, "bytes=7");
	assert_has(&e, "slice ts=4000 track=0 other duration=2000 name=\"b\"");
	assert_has(&e, "skipped count=1 what=\"value nested more than 256 deep: taken as null\"");
	tl_text_release(&json);
	example_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nests_too_deeply_is_null_and_the_event_is_kept),
		cmocka_unit_test(a_comma_behind_the_last_event_is_told),
		cmocka_unit_test(an_array_without_an_end_is_kept_and_told),
		cmocka_unit_test(an_event_cut_in_the_middle_costs_only_itself),
		cmocka_unit_test(a_trace_cut_at_any_byte_never_fails_behind_its_first_brace),
		cmocka_unit_test(quotes_in_a_name_are_taken_literally),
		cmocka_unit_test(quotes_in_the_last_name_do_not_cost_what_follows),
		cmocka_unit_test(an_event_beyond_repair_is_left_behind),
		cmocka_unit_test(a_quote_that_is_missing_costs_one_event_only),
		cmocka_unit_test(raw_control_characters_and_wrong_escapes_are_taken_literally),
		cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
		cmocka_unit_test(nan_and_words_become_null_in_arguments),
		cmocka_unit_test(a_time_that_is_no_number_costs_the_event),
		cmocka_unit_test(odd_durations_are_kept_out_of_statistics),
		cmocka_unit_test(a_time_of_zero_is_unknown_to_kineto_only),
		cmocka_unit_test(empty_events_are_nothing_to_tell),
		cmocka_unit_test(the_last_of_equal_keys_counts),
		cmocka_unit_test(commas_that_are_missing_are_told),
		cmocka_unit_test(what_was_appended_to_a_closed_array_is_read),
		cmocka_unit_test(a_second_document_is_told_and_not_mixed_in),
		cmocka_unit_test(arrays_in_the_array_are_read),
		cmocka_unit_test(events_in_lines_are_read),
		cmocka_unit_test(elements_that_are_no_events_are_told),
		cmocka_unit_test(damage_before_the_events_does_not_cost_them),
		cmocka_unit_test(a_nesting_without_end_costs_one_event),
		cmocka_unit_test(a_large_member_is_skipped_and_told),
		cmocka_unit_test(strict_stops_at_damage),
		cmocka_unit_test(what_is_no_json_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
