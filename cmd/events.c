/*
 * events.c - the hidden command that prints what an importer makes of a file, one event a line. For
 * people who write importers, and for golden cases.
 */
#include "command.h"

#include "formats.h"
#include "reader.h"

struct events_options {
	bool is_strict;
};

static const struct command_option options[] = {
	FLAG(struct events_options, is_strict, 0, "strict",
	     "the first thing that is damaged or truncated is an error"),
	OPTIONS_END,
};

static const struct command_example examples[] = {
	{ "traceloom events perf.data | less", "look at what is read" },
	{ NULL, NULL },
};

static int print_event(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	(void)sink;
	tl_event_print(stdout, ev);
	putchar('\n');
	if (ferror(stdout))
		return tl_fail(err, TL_STOPPED, "stopped");
	return TL_OK;
}

static int open_source(struct tl_input **in, const struct tl_importer **importer, const char *path,
		       struct tl_error *err)
{
	struct tl_input *content = NULL;
	const uint8_t *head;
	size_t length;
	int ret = tl_input_open(in, path, err);

	if (ret == TL_OK && tl_input_is_directory(*in))
		ret = tl_input_open_beside(&content, *in, "data", err);
	if (ret == TL_OK)
		ret = tl_input_head(content ? content : *in, &head, &length, err);
	if (ret == TL_OK) {
		*importer = tl_importer_probe(head, length);
		if (!*importer)
			ret = tl_fail(err, TL_FORMAT, "is no recording of a known format");
	}
	tl_input_close(content);
	return ret;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	const struct events_options *opt = values;
	struct tl_import_options import_options = {
		.want = TL_WANT_ALL,
		.is_strict = opt->is_strict,
	};
	struct tl_sink sink = { .emit = print_event };
	const struct tl_importer *importer = NULL;
	struct tl_input *in = NULL;
	struct tl_import_result result;
	int ret;

	if (operand_count != 1)
		return tl_fail(err, TL_USAGE, "expected one recording");
	ret = open_source(&in, &importer, operands[0], err);
	if (ret == TL_OK)
		ret = tl_import(importer, in, &import_options, &sink, &result, err);
	if (ret < 0)
		tl_error_source(err, operands[0]);
	tl_input_close(in);
	return ret;
}

const struct command cmd_events = {
	.name = "events",
	.usage = "traceloom events [options] FILE",
	.summary = "print the events that a recording becomes",
	.description = "One line an event, in the order of the file and on its own clock.",
	.examples = examples,
	.options = options,
	.options_size = sizeof(struct events_options),
	.is_hidden = true,
	.run = run,
};
