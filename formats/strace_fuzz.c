/*
 * strace_fuzz.c - any bytes as a log of strace, of ltrace and of perf trace.
 */
#include "fuzz_importer.h"
#include "perf_trace_text.h"
#include "strace.h"

static void run(const struct tl_importer *importer, const char *name, const uint8_t *data,
		size_t size)
{
	/* all of the arguments, the usual part, or none: the size decides, so that it is repeatable */
	struct tl_import_options opt = {
		.argument_bytes = size % 3 == 0	  ? INT64_MAX
				  : size % 3 == 1 ? 0
						  : -1,
		.pid = size % 5 == 0 ? 4242 : 0,
	};

	importer->probe(data, size);
	fuzz_import(importer, &opt, name, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run(&strace_importer, size % 2 ? "log" : "log.77", data, size);
	run(&perf_trace_text_importer, "log", data, size);
	return 0;
}
