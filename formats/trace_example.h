/*
 * trace_example.h - for tests: a text run through an importer, and the events that it becomes as
 * lines of text. Static, so that each test has its own.
 */
#ifndef TRACE_EXAMPLE_H
#define TRACE_EXAMPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats.h"
#include "memory.h"
#include "reader.h"

struct example {
	struct tl_sink sink;
	FILE *out;
	char *text; /* one event a line */
	size_t length;
	int status;
	struct tl_import_result result;
	struct tl_error err;
	const char *importer;
};

static int example_emit(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct example *e = (struct example *)sink;

	(void)err;
	tl_event_print(e->out, ev);
	fputc('\n', e->out);
	return TL_OK;
}

/* Runs what the probe finds, or the importer named. */
static void example_run_named(struct example *e, const char *importer, const char *name,
			      const char *json, size_t length, const struct tl_import_options *opt)
{
	const struct tl_importer *chosen = NULL;
	struct tl_input *in;

	memset(e, 0, sizeof(*e));
	e->sink.emit = example_emit;
	e->out = open_memstream(&e->text, &e->length);
	if (!importer)
		chosen = tl_importer_probe((const uint8_t *)json, length < 4096 ? length : 4096);
	for (size_t i = 0; importer && tl_importers[i]; i++)
		if (!strcmp(tl_importers[i]->name, importer))
			chosen = tl_importers[i];
	assert_non_null(chosen);
	e->importer = chosen->name;
	assert_int_equal(tl_input_open_memory(&in, name, (const uint8_t *)json, length, &e->err),
			 TL_OK);
	e->status = tl_import(chosen, in, opt, &e->sink, &e->result, &e->err);
	tl_input_close(in);
	fclose(e->out);
}

__attribute__((unused)) static void example_run(struct example *e, const char *json)
{
	example_run_named(e, NULL, "trace.json", json, strlen(json), NULL);
	assert_int_equal(e->status, TL_OK);
}

__attribute__((unused)) static void example_release(struct example *e)
{
	free(e->text);
}

/* How many lines hold all of it. */
__attribute__((unused)) static int example_count(const struct example *e, const char *part)
{
	int count = 0;

	for (const char *p = e->text; (p = strstr(p, part)); p++)
		count++;
	return count;
}

__attribute__((unused)) static void example_has_(const struct example *e, const char *part,
						 const char *file, int line)
{
	if (strstr(e->text, part))
		return;
	print_error("no \"%s\" in:\n%s", part, e->text);
	_fail(file, line);
}

__attribute__((unused)) static void example_lacks_(const struct example *e, const char *part,
						   const char *file, int line)
{
	if (!strstr(e->text, part))
		return;
	print_error("\"%s\" in:\n%s", part, e->text);
	_fail(file, line);
}

#define assert_has(e, part)   example_has_(e, part, __FILE__, __LINE__)
#define assert_lacks(e, part) example_lacks_(e, part, __FILE__, __LINE__)

#endif
