/*
 * folded_fuzz.c - any bytes as folded stacks.
 */
#include "folded.h"
#include "fuzz_importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_probe(&folded_importer, data, size);
	fuzz_import(&folded_importer, NULL, "folded", data, size);
	return 0;
}
