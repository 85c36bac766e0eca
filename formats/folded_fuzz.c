/*
 * folded_fuzz.c - any bytes as folded stacks.
 */
#include "folded.h"
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Looks at everything an event points to. */
static int touch(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	static FILE *nowhere;

	(void)sink;
	(void)err;
	if (nowhere == NULL)
		nowhere = fopen("/dev/null", "w");
	tl_event_print(nowhere, ev);
	return TL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_sink sink = { .emit = touch };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;

	folded_importer.probe(data, size < 4096 ? size : 4096);
	if (tl_input_open_memory(&in, "folded", data, size, &err) < 0)
		return 0;
	tl_import(&folded_importer, in, NULL, &sink, &result, &err);
	tl_input_close(in);
	return 0;
}
