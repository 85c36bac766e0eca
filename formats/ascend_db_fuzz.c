/*
 * ascend_db_fuzz.c - any bytes as a database.
 */
#include "ascend_db.h"
#include "fuzz_importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_probe(&ascend_db_importer, data, size);
	fuzz_import(&ascend_db_importer, NULL, "profile.db", data, size);
	return 0;
}
