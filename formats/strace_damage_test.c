/*
 * strace_damage_test.c - logs of testdata/strace cut at every byte and with every byte replaced: each
 * import ends well, or is refused in words.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <glob.h>
#include <stdlib.h>

#include "perf_trace_text.h"
#include "reader.h"
#include "strace.h"

#define PART_BYTES 2048u

struct counting {
	struct tl_sink sink;
	uint64_t calls, letters;
};

/* Reads everything an event points to: the sanitizers look on. */
static int count(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct counting *c = (struct counting *)sink;
	const struct tl_event_syscall *s = &ev->syscall;

	(void)err;
	if (ev->kind != TL_EVENT_SYSCALL)
		return TL_OK;
	c->calls++;
	for (size_t i = 0; i < s->name_length; i++)
		c->letters += s->name[i] != 0;
	for (size_t i = 0; s->arguments && i < s->arguments_length; i++)
		c->letters += s->arguments[i] != 0;
	for (size_t i = 0; s->error && i < s->error_length; i++)
		c->letters += s->error[i] != 0;
	for (size_t i = 0; s->operation && i < s->operation_length; i++)
		c->letters += s->operation[i] != 0;
	for (size_t i = 0; s->path && i < s->path_length; i++)
		c->letters += s->path[i] != 0;
	return TL_OK;
}

static uint64_t import(const struct tl_importer *importer, const uint8_t *data, size_t len)
{
	struct counting c = { .sink.emit = count };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;
	int ret;

	assert_int_equal(tl_input_open_memory(&in, "log", data, len, &err), TL_OK);
	ret = tl_import(importer, in, NULL, &c.sink, &result, &err);
	if (ret != TL_OK) {
		assert_true(ret == TL_FORMAT || ret == TL_UNSUPPORTED);
		assert_int_not_equal(err.text[0], '\0');
	}
	tl_input_close(in);
	return c.calls;
}

static void damage(const struct tl_importer *importer, const uint8_t *data, size_t len)
{
	static const char replacements[] = { '\0', '"', ')', '(', '<', '>',  ' ',
					     '=',  '?', '9', 'x', '[', '\n', '\xff' };
	uint64_t whole = import(importer, data, len), before = 0;
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	for (size_t cut = 0; cut <= len; cut++) {
		/* in a block of its own size, so that a read behind it is seen */
		uint8_t *part = malloc(cut ? cut : 1);
		uint64_t calls;

		assert_non_null(part);
		memcpy(part, data, cut);
		calls = import(importer, part, cut);
		free(part);
		/* a call that is cut may count as open, and one that lost its end, too */
		assert_true(calls <= whole + 8);
		if (cut && data[cut - 1] == '\n')
			before = calls;
		assert_true(calls + 8 >= before);
	}
	for (size_t at = 0; at < len; at++) {
		copy[at] = (uint8_t)replacements[at % sizeof(replacements)];
		import(importer, copy, len);
		copy[at] = data[at];
	}
	free(copy);
}

static uint8_t *read_file(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data;
	long size;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	data = malloc((size_t)size + 1);
	assert_non_null(data);
	*len = fread(data, 1, (size_t)size, file);
	fclose(file);
	return data;
}

/* A part of a log is a log, too: the time that all damages take grows with the square of its size. */
static size_t whole_lines(const uint8_t *data, size_t len)
{
	size_t part = len < PART_BYTES ? len : PART_BYTES;

	while (part < len && data[part - 1] != '\n')
		part++;
	return part;
}

static void damage_all(const char *pattern, const struct tl_importer *importer)
{
	glob_t found;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(found.gl_pathc > 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		size_t len, at = 0, part;
		uint8_t *data = read_file(found.gl_pathv[i], &len);

		for (; at < len; at += part) {
			part = whole_lines(data + at, len - at);
			damage(importer, data + at, part);
		}
		free(data);
	}
	globfree(&found);
}

static void logs_of_strace_and_ltrace_end_well_wherever_they_are_damaged(void **state)
{
	(void)state;
	damage_all("testdata/strace/[a-oq-z]*/input.log", &strace_importer);
}

static void logs_of_perf_trace_end_well_wherever_they_are_damaged(void **state)
{
	(void)state;
	damage_all("testdata/strace/perf-trace/input.log", &perf_trace_text_importer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logs_of_strace_and_ltrace_end_well_wherever_they_are_damaged),
		cmocka_unit_test(logs_of_perf_trace_end_well_wherever_they_are_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
