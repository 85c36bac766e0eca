/*
 * perf_script_fuzz.c - any bytes as perf script text.
 */
#include "perf_script.h"
#include "fuzz_importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_probe(&perf_script_importer, data, size);
	fuzz_import(&perf_script_importer, NULL, "text", data, size);
	return 0;
}
