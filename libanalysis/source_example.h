/*
 * source_example.h - sources put into the case of a test, event by event.
 */
#ifndef TL_SOURCE_EXAMPLE_H
#define TL_SOURCE_EXAMPLE_H

#include "store_example.h"

static struct tl_writer *writer;

static inline void begin_source(const char *path)
{
	const struct tl_source_description source = { .path = path, .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true };

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
}

static inline void emit(const struct tl_event *ev)
{
	struct tl_sink *sink = tl_writer_sink(writer);

	assert_int_equal(sink->emit(sink, ev, &err), TL_OK);
}

/* Without settling what all sources say together. */
static inline void commit_source(void)
{
	const struct tl_import_result result = { .records = 1 };

	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
	writer = NULL;
}

static inline void end_source(void)
{
	commit_source();
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
}

#endif
