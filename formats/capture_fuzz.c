/*
 * capture_fuzz.c - any bytes as each of the files of a recorded folder.
 */
#include "capture.h"
#include "formats.h"
#include "fuzz_importer.h"

static void import(const struct tl_importer *importer, const uint8_t *data, size_t size)
{
	fuzz_probe(importer, data, size);
	fuzz_import(importer, NULL, "capture", data, size);
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
