/*
 * strace_fuzz.c - any bytes as a log of strace, of ltrace and of perf trace.
 */
#include "perf_trace_text.h"
#include "reader.h"
#include "strace.h"

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
	struct tl_sink sink = { .emit = touch };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;

	importer->probe(data, size);
	if (tl_input_open_memory(&in, name, data, size, &err) < 0)
		return;
	tl_import(importer, in, &opt, &sink, &result, &err);
	tl_input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run(&strace_importer, size % 2 ? "log" : "log.77", data, size);
	run(&perf_trace_text_importer, "log", data, size);
	return 0;
}
