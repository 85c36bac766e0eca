/*
 * trace_events_fuzz.c - any bytes as trace events of each producer; what is kept as JSON must be.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "ascend.h"
#include "chrome.h"
#include "fuzz_importer.h"
#include "torch.h"

static void check_json(const char *text, size_t length)
{
	json_error_t error;
	json_t *root = json_loadb(text, length, JSON_ALLOW_NUL, &error);

	/* numbers too large for a double, keys with a NUL and half pairs are jansson's own limits */
	if (!root && json_error_code(&error) != json_error_numeric_overflow &&
	    json_error_code(&error) != json_error_null_byte_in_key &&
	    json_error_code(&error) != json_error_null_character &&
	    json_error_code(&error) != json_error_invalid_syntax)
		abort();
	if (!root && json_error_code(&error) == json_error_invalid_syntax &&
	    !strstr(error.text, "Unicode"))
		abort();
	json_decref(root);
}

static int touch(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	if (ev->kind == TL_EVENT_SLICE && ev->slice.arguments)
		check_json(ev->slice.arguments, ev->slice.arguments_length);
	return fuzz_touch(sink, ev, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tl_importer *const importers[] = { &torch_importer, &ascend_importer,
							       &chrome_importer };
	struct tl_sink sink = { .emit = touch };

	for (size_t i = 0; i < 3; i++) {
		struct tl_import_result result;
		struct tl_error err = { 0 };
		struct tl_input *in;

		fuzz_probe(importers[i], data, size);
		if (tl_input_open_memory(&in, "trace", data, size, &err) < 0)
			return 0;
		tl_import(importers[i], in, NULL, &sink, &result, &err);
		tl_input_close(in);
	}
	return 0;
}
