/*
 * training_log_fuzz.c - any bytes as a training log, read by words and by a pattern.
 */
#include "reader.h"
#include "training_log.h"

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

static void import(const uint8_t *data, size_t size, const struct tl_import_options *opt)
{
	struct tl_sink sink = { .emit = touch };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;

	if (tl_input_open_memory(&in, "log", data, size, &err) < 0)
		return;
	tl_import(&training_log_importer, in, opt, &sink, &result, &err);
	tl_input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tl_import_options by_pattern = {
		.log_pattern =
			"(?:rank(?<rank>\\d+))?.*?step\\D*(?<step>\\d+).*?(?<time_ms>[\\d.]+)",
	};

	training_log_importer.probe(data, size < 4096 ? size : 4096);
	import(data, size, NULL);
	import(data, size, &by_pattern);
	return 0;
}
