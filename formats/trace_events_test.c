/*
 * trace_events_test.c - the walk against jansson, event by event; and what is no JSON.
 */
#include "trace_events.h"

#include <dirent.h>
#include <stdio.h>

#include <jansson.h>

#include "trace_example.h"

/* ---- against jansson -------------------------------------------------------------------------- */

static void compare_string(const struct js_scalar *ours, json_t *theirs)
{
	struct tl_text text = { 0 };

	if (!json_is_string(theirs)) {
		if (!theirs)
			assert_int_equal(ours->kind, JS_NONE);
		return;
	}
	assert_int_equal(ours->kind, JS_STRING);
	js_decode(ours, &text);
	assert_int_equal(text.length, json_string_length(theirs));
	assert_memory_equal(text.data ? text.data : "", json_string_value(theirs), text.length);
	tl_text_release(&text);
}

static void compare_number(const struct js_scalar *ours, json_t *theirs)
{
	char text[64];
	char *end;

	if (!json_is_number(theirs)) {
		compare_string(ours, theirs);
		return;
	}
	assert_int_equal(ours->kind, JS_NUMBER);
	assert_true(ours->length < sizeof(text));
	memcpy(text, ours->text, ours->length);
	text[ours->length] = '\0';
	if (json_is_integer(theirs))
		assert_int_equal(strtoll(text, &end, 10), json_integer_value(theirs));
	else
		assert_true(strtod(text, &end) == json_real_value(theirs));
	assert_int_equal(*end, 0);
}

static void compare_arguments(const struct trace_event *ev, json_t *theirs)
{
	json_t *ours;
	size_t i = 0;
	const char *key;
	json_t *value;

	if (!json_object_size(theirs)) {
		assert_int_equal(ev->arguments_length, 0);
		return;
	}
	ours = json_loadb(ev->arguments, ev->arguments_length, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(ours);
	assert_true(json_equal(ours, theirs));
	assert_int_equal(ev->members->count, json_object_size(theirs));
	json_object_foreach(theirs, key, value)
	{
		const struct js_member *m = &ev->members->items[i++];
		struct js_scalar name = { .text = ev->arguments + m->key,
					  .length = m->key_length,
					  .kind = JS_STRING };
		struct tl_text text = { 0 };

		js_decode(&name, &text);
		assert_int_equal(text.length, strlen(key));
		assert_memory_equal(text.data ? text.data : "", key, text.length);
		tl_text_release(&text);
		assert_int_equal(m->kind == JS_STRING, json_is_string(value));
	}
	json_decref(ours);
}

static void compare_event(const struct trace_event *ev, json_t *theirs)
{
	const char *phase = json_string_value(json_object_get(theirs, "ph"));

	assert_int_equal(ev->phase, phase ? phase[0] : 0);
	compare_string(&ev->name, json_object_get(theirs, "name"));
	compare_string(&ev->category, json_object_get(theirs, "cat"));
	compare_number(&ev->pid, json_object_get(theirs, "pid"));
	compare_number(&ev->tid, json_object_get(theirs, "tid"));
	compare_number(&ev->ts, json_object_get(theirs, "ts"));
	compare_number(&ev->duration, json_object_get(theirs, "dur"));
	compare_number(&ev->id, json_object_get(theirs, "id"));
	compare_arguments(ev, json_object_get(theirs, "args"));
}

static void compare_input(struct tl_input *in, json_t *root)
{
	json_t *events = json_is_array(root) ? root : json_object_get(root, "traceEvents");
	size_t count = 0, members = 0;
	struct tl_error err = { 0 };
	struct trace_walk *walk;
	int ret;

	assert_int_equal(trace_walk_open(&walk, in, &err), TL_OK);
	while ((ret = trace_walk_next(walk, &err)) != TRACE_ITEM_END) {
		if (ret == TRACE_ITEM_EVENT) {
			compare_event(trace_walk_event(walk), json_array_get(events, count++));
		} else {
			const char *key, *value;
			size_t length;
			json_t *ours;

			assert_int_equal(ret, TRACE_ITEM_MEMBER);
			trace_walk_member(walk, &key, &value, &length);
			ours = json_loadb(value, length, JSON_DECODE_ANY, NULL);
			assert_true(json_equal(ours, json_object_get(root, key)));
			json_decref(ours);
			members++;
		}
	}
	assert_int_equal(count, json_array_size(events));
	if (json_is_object(root))
		assert_int_equal(members, json_object_size(root) - 1);
	for (int i = 0; i < TRACE_WALK_FINDINGS; i++)
		assert_int_equal(trace_walk_findings(walk)[i].count, 0);
	trace_walk_close(walk);
}

static void compare_text(const char *text, size_t length)
{
	struct tl_error err = { 0 };
	struct tl_input *in;
	json_t *root = json_loadb(text, length, 0, NULL);

	assert_non_null(root);
	assert_int_equal(tl_input_open_memory(&in, "x", (const uint8_t *)text, length, &err), 0);
	compare_input(in, root);
	tl_input_close(in);
	json_decref(root);
}

static char *read_whole(const char *path, size_t *length)
{
	size_t capacity = 1 << 20, got;
	char *text = malloc(capacity);
	struct tl_error err = { 0 };
	struct tl_input *in;

	assert_int_equal(tl_input_open(&in, path, &err), TL_OK);
	for (*length = 0;; *length += got) {
		if (*length + (1 << 20) > capacity)
			text = realloc(text, capacity *= 2);
		assert_non_null(text);
		assert_int_equal(tl_input_read(in, text + *length, 1 << 20, &got, &err), TL_OK);
		if (!got)
			break;
	}
	tl_input_close(in);
	return text;
}

static const char *shared(void)
{
	const char *path = getenv("TRACELOOM_SHARED");

	return path ? path : "../shared";
}

static void recordings_are_read_as_jansson_reads_them(void **state)
{
	static const char *const folders[] = { "", "kineto.dlrm-8ranks/" };
	int count = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct tl_text folder = { 0 };
		struct dirent *entry;
		DIR *dir;

		tl_text_printf(&folder, "%s/corpus/profiler/%s", shared(), folders[i]);
		dir = opendir(folder.data);
		while (dir && (entry = readdir(dir))) {
			struct tl_text path = { 0 };
			size_t length;
			char *text;

			tl_text_printf(&path, "%s%s", folder.data, entry->d_name);
			if (strstr(entry->d_name, ".json")) {
				text = read_whole(path.data, &length);
				compare_text(text, length);
				free(text);
				count++;
			}
			tl_text_release(&path);
		}
		if (dir)
			closedir(dir);
		tl_text_release(&folder);
	}
	if (!count)
		skip();
}

static void every_shape_of_value_is_read_as_jansson_reads_it(void **state)
{
	static const char text[] =
		"{\"a\\u0062\": [1, {\"x\": null}], \"traceEvents\" : [\n"
		"{\"ph\":\"X\",\"name\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\","
		"\"cat\":\"\xc3\xa4\",\"pid\":\"\",\"tid\":-7,\"ts\":\"12.5\",\"dur\":1e3,\"id\":"
		"1736412474725417508,\"args\":{\"\":0,\"a\":[],\"b\":{},\"c\":[[1,2.50],{\"d\":\"e "
		"f\"}],\"g\":true,\"h\":false,\"i\":null,\"j\":-0.0e-1,\"k\\n\":\"\\u0001\"}}"
		" , {} ,{\"args\":{},\"ph\":\"i\"}\t]\n, \"z\":\"\\ud83d\\ude00\"}\n";

	(void)state;
	compare_text(text, sizeof(text) - 1);
}

/* Windows end inside of everything once. */
static void events_are_whole_wherever_the_buffer_ends(void **state)
{
	enum { EVENTS = 30000 };
	struct tl_text text = { 0 };

	(void)state;
	tl_text_puts(&text, "[");
	for (int i = 0; i < EVENTS; i++)
		tl_text_printf(&text,
			       "%s{\"ph\":\"X\",\"name\":\"n\\\"%d\",\"cat\":\"\xc3\xa4\","
			       "\"pid\":%d,\"tid\":\"t%d\",\"ts\":%d.%03d,\"dur\":1.5,"
			       "\"args\":{\"k\\u00e4\":[%d,\"\xf0\x9f\x98\x80\"],\"%.*s\":1}}",
			       i ? ",\n" : "", i, i, i % 7, i, i % 1000, i, i % 97,
			       "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
			       "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
	tl_text_puts(&text, "]");
	assert_true(text.length > (3u << 20));
	compare_text(text.data, text.length);
	tl_text_release(&text);
}

static void an_event_larger_than_the_buffer_is_whole(void **state)
{
	struct tl_text text = { 0 };

	(void)state;
	tl_text_puts(&text, "[{\"ph\":\"i\",\"name\":\"a\"},{\"ph\":\"X\",\"args\":{\"stack\":\"");
	for (int i = 0; i < 300000; i++)
		tl_text_puts(&text, "frame;\\n");
	tl_text_puts(&text, "\"}},{\"ph\":\"i\",\"name\":\"b\"}]");
	compare_text(text.data, text.length);
	tl_text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings_are_read_as_jansson_reads_them),
		cmocka_unit_test(every_shape_of_value_is_read_as_jansson_reads_it),
		cmocka_unit_test(events_are_whole_wherever_the_buffer_ends),
		cmocka_unit_test(an_event_larger_than_the_buffer_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
