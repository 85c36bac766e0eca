/*
 * training_log_fuzz.c - any bytes as a training log, read by words and by a pattern.
 */
#include "fuzz_importer.h"
#include "training_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tl_import_options by_pattern = {
		.log_pattern =
			"(?:rank(?<rank>\\d+))?.*?step\\D*(?<step>\\d+).*?(?<time_ms>[\\d.]+)",
	};

	fuzz_probe(&training_log_importer, data, size);
	fuzz_import(&training_log_importer, NULL, "log", data, size);
	fuzz_import(&training_log_importer, &by_pattern, "log", data, size);
	return 0;
}
