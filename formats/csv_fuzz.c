/*
 * csv_fuzz.c - any bytes as a table.
 */
#include "csv.h"
#include "fuzz_importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_probe(&csv_importer, data, size);
	fuzz_import(&csv_importer, NULL, "table", data, size);
	return 0;
}
