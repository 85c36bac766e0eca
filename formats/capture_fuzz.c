/*
 * capture_fuzz.c - any bytes as each of the files of a recorded folder.
 */
#include "capture.h"
#include "formats.h"

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

static void import(const struct tl_importer *importer, const uint8_t *data, size_t size)
{
	struct tl_sink sink = { .emit = touch };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;

	importer->probe(data, size < 4096 ? size : 4096);
	if (tl_input_open_memory(&in, "capture", data, size, &err) < 0)
		return;
	tl_import(importer, in, NULL, &sink, &result, &err);
	tl_input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_capture capture;
	struct tl_input *in;

	import(&capture_manifest_importer, data, size);
	import(&capture_clocks_importer, data, size);
	import(&capture_system_importer, data, size);
	import(&capture_dmesg_importer, data, size);
	if (tl_input_open_memory(&in, "capture", data, size, NULL) < 0)
		return 0;
	if (tl_capture_load(in, &capture, NULL) == TL_OK)
		tl_capture_release(&capture);
	tl_input_close(in);
	return 0;
}
