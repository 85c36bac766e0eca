/*
 * info.c - the info command: prints what the library finds in a case.
 */
#include "output.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct info_options {
	int64_t limit;
	bool show_all;
	struct output_options output;
	struct source_options sources;
};

static const struct info_options defaults = { .limit = 20 };

static const struct command_option options[] = {
	INTEGER(struct info_options, limit, 'n', "limit", "N", 1, INT32_MAX,
		"show at most N threads and N binaries; default 20"),
	FLAG(struct info_options, show_all, 'a', "all",
	     "show all threads, binaries, settings and counters"),
	OUTPUT_OPTIONS(struct info_options, output),
	HEADING("for raw recordings"),
	SOURCE_OPTIONS(struct info_options, sources),
	OPTIONS_END,
};

static const struct command_example examples[] = {
	{ "traceloom info run.db", "look at a case" },
	{ "traceloom info --json run.db | jq .answers",
	  "what can be answered from it, for a script" },
	{ NULL, NULL },
};

/* Zero of these means that nobody said so. */
static struct cell cell_positive(int64_t value)
{
	return value > 0 ? cell_integer(value) : cell_unknown();
}

static struct cell cell_not_negative(int64_t value)
{
	return value >= 0 ? cell_integer(value) : cell_unknown();
}

static struct cell cell_if(bool is_known, int64_t value)
{
	return is_known ? cell_integer(value) : cell_unknown();
}

static int print_case(struct output *output, const struct tl_info *info, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "begin_ns", "begin", COLUMN_TIME, false },
		{ "end_ns", "end", COLUMN_TIME, false },
		{ "duration_ns", "duration", COLUMN_DURATION, false },
		{ "source_count", "sources", COLUMN_INTEGER, false },
		{ "process_count", "processes", COLUMN_INTEGER, false },
		{ "thread_count", "threads", COLUMN_INTEGER, false },
		{ "sample_count", "samples", COLUMN_INTEGER, false },
		{ "stack_count", "call tree nodes", COLUMN_INTEGER, false },
		{ "schema_version", "schema version", COLUMN_INTEGER, false },
	};
	const struct cell cells[COUNT(columns)] = {
		cell_if(info->has_times && info->has_dates, info->first_ts),
		cell_if(info->has_times && info->has_dates, info->last_ts),
		cell_if(info->has_times, info->last_ts - info->first_ts),
		cell_integer((int64_t)info->source_count),
		cell_integer(info->total_processes),
		cell_integer(info->total_threads),
		cell_integer(info->total_samples),
		cell_integer(info->total_stacks),
		cell_integer(info->schema_version),
	};

	return output_record(output, "case", "Case", columns, COUNT(columns), cells, err);
}

static int print_source(struct output *output, const struct tl_info_source *s, struct tl_error *err)
{
	const struct cell cells[] = {
		cell_integer(s->source_id),
		cell_text(s->path),
		cell_text(s->importer),
		cell_positive(s->size_bytes),
		cell_text(s->host),
		cell_text(s->os_release),
		cell_text(s->arch),
		cell_text(s->command_line),
		cell_text(s->recorder),
		cell_integer(s->record_count),
		cell_integer(s->sample_count),
		cell_integer(s->damaged_count),
		cell_integer(s->untimed_count),
		cell_integer(s->disorder_count),
		cell_if(s->has_times, s->first_ts),
		cell_if(s->has_times, s->last_ts - s->first_ts),
		cell_text(s->clock_name),
		cell_text(s->clock_method),
		cell_text(s->clock_why),
		cell_if(s->clock_method, s->clock_offset_ns),
		cell_real(s->clock_slope),
		cell_not_negative(s->clock_method ? s->clock_residual_ns : -1),
		cell_positive(s->clock_reference_id),
		cell_not_negative(s->clock_match_count),
		s->clock_rival_ratio < 0 ? cell_unknown() : cell_real(s->clock_rival_ratio),
		cell_text(s->clock_trouble),
		cell_flag(s->is_complete),
	};

	return output_row(output, cells, err);
}

static int print_sources(struct output *output, const struct tl_info *info, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "source_id", "source", COLUMN_INTEGER, false },
		{ "path", "file", COLUMN_TEXT, false },
		{ "importer", "format", COLUMN_TEXT, false },
		{ "size_bytes", "size", COLUMN_SIZE, false },
		{ "host", "host", COLUMN_TEXT, false },
		{ "os_release", "kernel", COLUMN_TEXT, false },
		{ "arch", "architecture", COLUMN_TEXT, false },
		{ "command_line", "command line", COLUMN_TEXT, false },
		{ "recorder", "recorder", COLUMN_TEXT, false },
		{ "record_count", "records", COLUMN_INTEGER, false },
		{ "sample_count", "samples", COLUMN_INTEGER, false },
		{ "damaged_count", "damaged records", COLUMN_INTEGER, false },
		{ "untimed_count", "samples without time", COLUMN_INTEGER, false },
		{ "disorder_count", "out of order", COLUMN_INTEGER, false },
		{ "begin_ns", "begin", COLUMN_TIME, false },
		{ "duration_ns", "duration", COLUMN_DURATION, false },
		{ "clock_name", "clock", COLUMN_TEXT, false },
		{ "clock_method", "clock mapping", COLUMN_TEXT, false },
		{ "clock_why", "by", COLUMN_TEXT, false },
		{ "clock_offset_ns", "clock offset", COLUMN_DURATION, false },
		{ "clock_slope", "clock slope", COLUMN_REAL, false },
		{ "clock_residual_ns", "clock residual", COLUMN_DURATION, false },
		{ "clock_reference_id", "against source", COLUMN_INTEGER, false },
		{ "clock_match_count", "clock matches", COLUMN_INTEGER, false },
		{ "clock_rival_ratio", "second best", COLUMN_RATIO, false },
		{ "clock_trouble", "clock trouble", COLUMN_TEXT, false },
		{ "is_complete", "every sample kept", COLUMN_FLAG, false },
	};
	int ret = output_list(output, "sources", "Sources", columns, COUNT(columns), err);

	for (size_t i = 0; i < info->source_count && ret == TL_OK; i++)
		ret = print_source(output, &info->sources[i], err);
	return ret;
}

static int print_events(struct output *output, const struct tl_info *info, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "source_id", "source", COLUMN_INTEGER, false },
		{ "name", "event", COLUMN_TEXT, false },
		{ "sample_count", "samples", COLUMN_INTEGER, false },
		{ "stack_sample_count", "with stack", COLUMN_INTEGER, false },
		{ "period_sum", "sum of periods", COLUMN_INTEGER, false },
		{ "unit", "unit", COLUMN_TEXT, false },
		{ "fixed_period", "every", COLUMN_INTEGER, false },
		{ "frequency_hz", "per second", COLUMN_INTEGER, false },
		{ "is_tracepoint", "tracepoint", COLUMN_FLAG, false },
		{ "is_sampled", "1 in many", COLUMN_FLAG, false },
	};
	int ret = output_table(output, "events", "Events", columns, COUNT(columns), err);

	for (size_t i = 0; i < info->event_count && ret == TL_OK; i++) {
		const struct tl_info_event *e = &info->events[i];
		const struct cell cells[COUNT(columns)] = {
			cell_integer(e->source_id),	cell_text(e->name),
			cell_integer(e->sample_count),	cell_integer(e->stack_sample_count),
			cell_integer(e->period_sum),	cell_text(e->unit),
			cell_positive(e->fixed_period), cell_positive(e->frequency_hz),
			cell_flag(e->is_tracepoint),	cell_flag(e->is_sampled),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

/* "Threads", or "Threads (the 20 with the most samples of 153)". */
static void make_title(char *title, size_t size, const char *what, size_t shown, int64_t total)
{
	if (!shown && total)
		snprintf(title, size, "%s (%" PRId64 ", none with a sample)", what, total);
	else if ((int64_t)shown < total)
		snprintf(title, size, "%s (the %zu with the most samples of %" PRId64 ")", what,
			 shown, total);
	else
		snprintf(title, size, "%s", what);
}

static int print_threads(struct output *output, const struct tl_info *info, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "name", "thread", COLUMN_TEXT, false },
		{ "pid", "pid", COLUMN_INTEGER, false },
		{ "tid", "tid", COLUMN_INTEGER, false },
		{ "sample_count", "samples", COLUMN_INTEGER, false },
		{ "running_ns", "running", COLUMN_DURATION, false },
		{ "waiting_ns", "waiting for a cpu", COLUMN_DURATION, false },
		{ "sleeping_ns", "sleeping", COLUMN_DURATION, false },
	};
	char title[96];
	int ret;

	make_title(title, sizeof(title), "Threads", info->thread_count, info->total_threads);
	ret = output_table(output, "threads", title, columns, COUNT(columns), err);
	for (size_t i = 0; i < info->thread_count && ret == TL_OK; i++) {
		const struct tl_info_thread *t = &info->threads[i];
		const struct cell cells[COUNT(columns)] = {
			cell_text(t->name),
			cell_not_negative(t->pid),
			cell_integer(t->tid),
			cell_integer(t->sample_count),
			cell_not_negative(t->running_ns),
			cell_not_negative(t->waiting_ns),
			cell_not_negative(t->sleeping_ns),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_dsos(struct output *output, const struct tl_info *info, size_t limit,
		      struct tl_error *err)
{
	static const struct column columns[] = {
		{ "name", "binary", COLUMN_TEXT, false },
		{ "sample_count", "samples", COLUMN_INTEGER, false },
		{ "unnamed_sample_count", "of them unnamed", COLUMN_INTEGER, false },
		{ "frame_count", "addresses", COLUMN_INTEGER, false },
		{ "unnamed_count", "of them unnamed", COLUMN_INTEGER, false },
		{ "status", "symbols", COLUMN_TEXT, false },
		{ "source_id", "source", COLUMN_INTEGER, false },
		{ "kind", "kind", COLUMN_TEXT, true },
		{ "build_id", "build-id", COLUMN_TEXT, true },
		{ "file", "named by", COLUMN_TEXT, true },
		{ "reason", "because", COLUMN_TEXT, false },
	};
	size_t count = info->dso_count < limit ? info->dso_count : limit;
	char title[96];
	int ret;

	make_title(title, sizeof(title), "Binaries", count, (int64_t)info->dso_count);
	ret = output_table(output, "binaries", title, columns, COUNT(columns), err);
	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		const struct tl_info_dso *d = &info->dsos[i];
		const struct cell cells[COUNT(columns)] = {
			cell_text(d->name),
			cell_integer(d->sample_count),
			cell_integer(d->unnamed_sample_count),
			cell_integer(d->frame_count),
			cell_integer(d->unnamed_count),
			cell_text(d->status),
			cell_integer(d->source_id),
			cell_text(d->kind),
			cell_text(d->build_id),
			cell_text(d->file),
			cell_text(d->reason),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_losses(struct output *output, const struct tl_info *info, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "source_id", "source", COLUMN_INTEGER, false },
		{ "kind", "kind", COLUMN_TEXT, false },
		{ "count", "count", COLUMN_INTEGER, false },
		{ "unit", "of", COLUMN_TEXT, false },
		{ "what", "what", COLUMN_TEXT, false },
		{ "position_kind", "first", COLUMN_TEXT, false },
		{ "position", "at", COLUMN_INTEGER, false },
		{ "message", "in words", COLUMN_TEXT, false },
	};
	int ret = output_table(output, "losses", "Lost, damaged, skipped, worth knowing", columns,
			       COUNT(columns), err);

	for (size_t i = 0; i < info->loss_count && ret == TL_OK; i++) {
		const struct tl_info_loss *l = &info->losses[i];
		const struct cell cells[COUNT(columns)] = {
			cell_integer(l->source_id),
			cell_text(l->kind),
			cell_integer(l->count),
			cell_text(l->unit),
			cell_text(l->what),
			cell_text(l->position_kind),
			cell_not_negative(l->position),
			cell_text(l->message),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_settings(struct output *output, const struct tl_machine *machine, bool show_all,
			  struct tl_error *err)
{
	static const struct column columns[] = {
		{ "source_id", "source", COLUMN_INTEGER, false },
		{ "host", "host", COLUMN_TEXT, false },
		{ "key", "setting", COLUMN_TEXT, false },
		{ "value", "was", COLUMN_TEXT, false },
		{ "change_count", "changes", COLUMN_INTEGER, false },
	};
	size_t shown = 0;
	char title[96];
	int ret;

	for (size_t i = 0; i < machine->setting_count; i++)
		shown += show_all || machine->settings[i].is_main;
	if (shown < machine->setting_count)
		snprintf(title, sizeof(title), "Settings (%zu of %zu that were recorded)", shown,
			 machine->setting_count);
	else
		snprintf(title, sizeof(title), "Settings");
	ret = output_table(output, "settings", title, columns, COUNT(columns), err);
	for (size_t i = 0; i < machine->setting_count && ret == TL_OK; i++) {
		const struct tl_machine_setting *s = &machine->settings[i];
		const struct cell cells[COUNT(columns)] = {
			cell_integer(s->source_id),
			cell_text(s->host),
			cell_text(s->key),
			cell_text(s->value),
			cell_integer(s->change_count),
		};

		if (show_all || s->is_main)
			ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_counters(struct output *output, const struct tl_machine *machine, bool show_all,
			  struct tl_error *err)
{
	static const struct column columns[] = {
		{ "source_id", "source", COLUMN_INTEGER, false },
		{ "track", "of", COLUMN_TEXT, false },
		{ "name", "counter", COLUMN_TEXT, false },
		{ "grown", "grew by", COLUMN_REAL, false },
		{ "per_second", "per second", COLUMN_REAL, false },
		{ "lowest", "lowest", COLUMN_REAL, true },
		{ "highest", "highest", COLUMN_REAL, true },
		{ "unit", "unit", COLUMN_TEXT, false },
	};
	size_t shown = 0;
	char title[96];
	int ret;

	for (size_t i = 0; i < machine->counter_count; i++)
		shown += show_all || machine->counters[i].is_main;
	if (shown < machine->counter_count)
		snprintf(title, sizeof(title),
			 "Counters (%zu of %zu: memory in trouble, while recording)", shown,
			 machine->counter_count);
	else
		snprintf(title, sizeof(title), "Counters");
	ret = output_table(output, "counters", title, columns, COUNT(columns), err);
	for (size_t i = 0; i < machine->counter_count && ret == TL_OK; i++) {
		const struct tl_machine_counter *c = &machine->counters[i];
		const struct cell cells[COUNT(columns)] = {
			cell_integer(c->source_id),
			cell_text(c->track),
			cell_text(c->name),
			c->is_growing ? cell_real(c->last - c->first) : cell_unknown(),
			isnan(c->per_second) ? cell_unknown() : cell_real(c->per_second),
			cell_real(c->lowest),
			cell_real(c->highest),
			cell_text(c->unit),
		};

		if (show_all || c->is_main)
			ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_answers(struct output *output, const struct tl_info *info, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "question", "question", COLUMN_TEXT, false },
		{ "is_possible", "possible", COLUMN_FLAG, false },
		{ "because", "because", COLUMN_TEXT, false },
	};
	int ret = output_table(output, "answers", "Questions", columns, COUNT(columns), err);

	for (size_t i = 0; i < info->answer_count && ret == TL_OK; i++) {
		const struct tl_info_answer *a = &info->answers[i];
		const struct cell cells[COUNT(columns)] = {
			cell_text(a->question),
			cell_flag(a->is_possible),
			cell_text(a->because),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_info(const struct info_options *opt, const struct tl_info *info,
		      const struct tl_machine *machine, struct tl_error *err)
{
	size_t limit = opt->show_all ? SIZE_MAX : (size_t)opt->limit;
	struct output *output = NULL;
	int ret = output_open(&output, stdout, &opt->output, true, err);
	int closed;

	if (ret == TL_OK)
		ret = print_case(output, info, err);
	if (ret == TL_OK)
		ret = print_sources(output, info, err);
	if (ret == TL_OK)
		ret = print_events(output, info, err);
	if (ret == TL_OK)
		ret = print_threads(output, info, err);
	if (ret == TL_OK)
		ret = print_dsos(output, info, limit, err);
	if (ret == TL_OK)
		ret = print_losses(output, info, err);
	/* of what nobody recorded there is nothing to show */
	if (ret == TL_OK && machine->setting_count)
		ret = print_settings(output, machine, opt->show_all, err);
	if (ret == TL_OK && machine->counter_count)
		ret = print_counters(output, machine, opt->show_all, err);
	if (ret == TL_OK)
		ret = print_answers(output, info, err);
	closed = output_close(output, err);
	return ret == TL_OK ? closed : ret;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	const struct info_options *opt = values;
	struct case_request request = { .sources = &opt->sources, .want = TL_WANT_ALL };
	struct tl_store *store = NULL;
	struct tl_machine machine = { 0 };
	struct tl_info info = { 0 };
	int ret = output_check(&opt->output, err);

	if (ret == TL_OK)
		ret = command_open_case(&store, operands, operand_count, &request, err);
	if (ret == TL_OK)
		ret = tl_info(store, opt->show_all ? 0 : (size_t)opt->limit, &info, err);
	if (ret == TL_OK)
		ret = tl_machine_load(store, &machine, err);
	if (ret == TL_OK)
		ret = print_info(opt, &info, &machine, err);
	tl_machine_release(&machine);
	tl_info_release(&info);
	tl_store_close(store);
	return ret;
}

const struct command cmd_info = {
	.name = "info",
	.usage = "traceloom info [options] CASE...",
	.summary = "tell what is in a case, what is missing, what can be answered",
	.description =
		"What somebody who is sent a case must know first: its sources and how their "
		"clocks were mapped to Unix time, the events that were sampled, the threads with "
		"the most samples, the binaries and why some of their addresses have no name, what "
		"was lost, damaged or skipped, how memory management was set and what it went "
		"through while recording (scripts/capture.sh), and which questions can be answered from what is "
		"there.\n\n"
		"With --csv the tables come as one, with the columns table, row, key and value.",
	.examples = examples,
	.options = options,
	.defaults = &defaults,
	.options_size = sizeof(struct info_options),
	.run = run,
};
