/*
 * fuzz_importer.h - for the fuzzers beside it: any bytes through an importer, as a file of that name.
 */
#ifndef FORMATS_FUZZ_IMPORTER_H
#define FORMATS_FUZZ_IMPORTER_H

#include "reader.h"

#define FUZZ_HEAD_MAX 4096u /* what a probe is shown first */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Looks at everything an event points to. */
static inline int fuzz_touch(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	static FILE *nowhere;

	(void)sink;
	(void)err;
	if (nowhere == NULL)
		nowhere = fopen("/dev/null", "w");
	tl_event_print(nowhere, ev);
	return TL_OK;
}

/* `opt` may be NULL. */
static inline void fuzz_import(const struct tl_importer *importer,
			       const struct tl_import_options *opt, const char *name,
			       const uint8_t *data, size_t size)
{
	struct tl_sink sink = { .emit = fuzz_touch };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;

	if (tl_input_open_memory(&in, name, data, size, &err) < 0)
		return;
	tl_import(importer, in, opt, &sink, &result, &err);
	tl_input_close(in);
}

static inline void fuzz_probe(const struct tl_importer *importer, const uint8_t *data, size_t size)
{
	importer->probe(data, size < FUZZ_HEAD_MAX ? size : FUZZ_HEAD_MAX);
}

#endif
