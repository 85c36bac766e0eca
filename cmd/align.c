/*
 * align.c - the align command: shows how the clock of each source was mapped, maps anew, or as told.
 */
#include "output.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"

struct align_options {
	int64_t source, reference;
	const char *offset, *slope, *residual;
	bool is_redo, is_release;
	struct output_options output;
	struct source_options sources;
};

static const struct command_option options[] = {
	FLAG(struct align_options, is_redo, 0, "redo",
	     "map all clocks anew, by what the case holds"),
	INTEGER(struct align_options, source, 's', "source", "N", 1, INT32_MAX,
		"the source to map as told by --offset, --slope, --reference; see the first column"),
	STRING(struct align_options, offset, 0, "offset", "TIME",
	       "what to add to its own times to get Unix time, as 1700000000.25 (seconds), -3600s, "
	       "250ms, 17ns"),
	STRING(struct align_options, slope, 0, "slope", "X",
	       "what to multiply its own times by first, as 1.00002: seconds pass so much faster "
	       "there; default 1"),
	INTEGER(struct align_options, reference, 0, "reference", "M", 1, INT32_MAX,
		"--offset leads to the own time of source M instead of Unix time"),
	STRING(struct align_options, residual, 0, "residual", "TIME",
	       "how far off that may be, as 50us; without it answers that join sources are refused"),
	FLAG(struct align_options, is_release, 0, "release",
	     "forget what was told for --source, or for all, and map anew"),
	OUTPUT_OPTIONS(struct align_options, output),
	HEADING("for raw recordings"),
	SOURCE_OPTIONS(struct align_options, sources),
	OPTIONS_END,
};

static const struct command_example examples[] = {
	{ "traceloom align run.db", "how sure are the clocks, and what do they rest on" },
	{ "traceloom align perf.data strace.log", "can these two be put on one clock" },
	{ "traceloom align --source 2 --offset 1700000000.25 --residual 1ms run.db",
	  "map the second source by hand" },
	{ "traceloom align --release run.db", "take that back" },
	{ NULL, NULL },
};

/* ---- what is told ---- */

static bool is_told(const struct align_options *opt)
{
	return opt->offset || opt->slope || opt->reference || opt->residual;
}

static int check(const struct align_options *opt, struct tl_error *err)
{
	if (is_told(opt) && !opt->source)
		return tl_fail(err, TL_USAGE,
			       "--source says whose clock --offset, --slope, "
			       "--reference and --residual are about");
	if (opt->source && !is_told(opt) && !opt->is_release)
		return tl_fail(err, TL_USAGE, "--source needs --offset, or --release");
	if (is_told(opt) && !opt->offset)
		return tl_fail(err, TL_USAGE, "--slope, --reference and --residual need --offset");
	if (is_told(opt) && (opt->is_release || opt->is_redo))
		return tl_fail(err, TL_USAGE,
			       "--offset cannot be meant together with --release or "
			       "--redo");
	return output_check(&opt->output, err);
}

static int parse_slope(const char *text, double *slope, struct tl_error *err)
{
	const int64_t unit = 1000000000; /* billionths are finer than any clock */
	int64_t value;
	size_t length = strlen(text);

	if (!length || tl_parse_time(text, length, unit, &value) != length)
		return tl_fail(err, TL_USAGE, "--slope: '%.100s' is no number like 1.00002", text);
	*slope = (double)value / (double)unit;
	/* to the store none is 0 */
	if (*slope == 0)
		return tl_fail(err, TL_USAGE, "a slope of 0: expected one near 1");
	return TL_OK;
}

static int set(struct tl_store *store, const struct align_options *opt, struct tl_error *err)
{
	struct tl_clock_setting setting = { .source_id = opt->source,
					    .reference_id = opt->reference,
					    .residual_ns = -1 };
	int ret = command_parse_offset("--offset", opt->offset, &setting.offset_ns, err);

	if (ret == TL_OK && opt->slope)
		ret = parse_slope(opt->slope, &setting.slope, err);
	if (ret == TL_OK && opt->residual)
		ret = command_parse_offset("--residual", opt->residual, &setting.residual_ns, err);
	if (ret == TL_OK && opt->residual && setting.residual_ns < 0)
		ret = tl_fail(err, TL_USAGE, "--residual: '%.100s' is less than nothing",
			      opt->residual);
	return ret < 0 ? ret : tl_clock_set(store, &setting, err);
}

static int change(const struct align_options *opt, size_t operand_count, char **operands,
		  struct tl_error *err)
{
	struct tl_store *store = NULL;
	int ret;

	if (operand_count != 1 || access(operands[0], F_OK) < 0)
		return tl_fail(err, TL_USAGE,
			       "one case file is needed, whose clocks are to change");
	/* a recording is refused by the store, in words */
	ret = tl_store_open(&store, operands[0], TL_STORE_CREATE, err);
	if (ret == TL_OK && is_told(opt))
		ret = set(store, opt, err);
	if (ret == TL_OK && opt->is_release)
		ret = tl_clock_release(store, opt->source, err);
	if (ret == TL_OK && !is_told(opt))
		ret = tl_clock_settle(store, err);
	tl_store_close(store);
	return ret;
}

/* ---- what is shown ---- */

static const struct column columns[] = {
	{ "source_id", "source", COLUMN_INTEGER, false },
	{ "path", "file", COLUMN_TEXT, false },
	{ "importer", "format", COLUMN_TEXT, true },
	{ "host", "host", COLUMN_TEXT, true },
	{ "clock_name", "clock", COLUMN_TEXT, false },
	{ "clock_method", "mapping", COLUMN_TEXT, false },
	{ "is_set", "by hand", COLUMN_FLAG, true },
	{ "clock_offset_ns", "offset", COLUMN_DURATION, false },
	{ "clock_slope", "slope", COLUMN_REAL, true },
	{ "clock_drift_ppm", "drift (ppm)", COLUMN_REAL, false },
	{ "clock_residual_ns", "residual", COLUMN_DURATION, false },
	{ "reference_id", "against", COLUMN_INTEGER, false },
	{ "match_count", "matches", COLUMN_INTEGER, false },
	{ "rival_ratio", "second best", COLUMN_RATIO, false },
	{ "clock_why", "by", COLUMN_TEXT, false },
	{ "clock_trouble", "trouble", COLUMN_TEXT, true },
};

static struct cell cell_ratio_if(double ratio)
{
	return ratio < 0 ? cell_unknown() : cell_real(ratio);
}

static struct cell cell_if(bool is_known, int64_t value)
{
	return is_known ? cell_integer(value) : cell_unknown();
}

static int print_clock(struct output *output, const struct tl_clock *c, struct tl_error *err)
{
	const struct cell cells[COUNT(columns)] = {
		cell_integer(c->source_id),
		cell_text(c->path),
		cell_text(c->importer),
		cell_text(c->host),
		cell_text(c->clock_name),
		cell_text(tl_clock_method_name(c->method)),
		cell_flag(c->is_set),
		cell_integer(c->offset_ns),
		cell_real(c->slope),
		cell_real(round((c->slope - 1) * 1e9) / 1e3),
		cell_if(c->residual_ns >= 0, c->residual_ns),
		cell_if(c->reference_id, c->reference_id),
		cell_if(c->match_count >= 0, c->match_count),
		cell_ratio_if(c->rival_ratio),
		cell_text(c->why),
		cell_text(c->trouble),
	};

	return output_row(output, cells, err);
}

static int print_troubles(struct output *output, const struct tl_clocks *clocks,
			  struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < clocks->count && ret == TL_OK; i++) {
		const struct tl_clock *c = &clocks->clocks[i];
		char text[800];

		if (!c->trouble)
			continue;
		snprintf(text, sizeof(text), "Source %" PRId64 ", %.300s: %.400s.", c->source_id,
			 c->path, c->trouble);
		ret = output_text(output, text, err);
	}
	return ret;
}

static int print(const struct align_options *opt, const struct tl_clocks *clocks,
		 const struct tl_clock_join *join, struct tl_error *err)
{
	static const struct column join_columns[] = {
		{ "clock_method", "the least sure mapping", COLUMN_TEXT, false },
		{ "clock_residual_ns", "largest residual of two", COLUMN_DURATION, false },
	};
	const struct cell cells[COUNT(join_columns)] = {
		cell_text(tl_clock_method_name(join->method)),
		cell_if(join->residual_ns >= 0, join->residual_ns),
	};
	struct output *output = NULL;
	int ret = output_open(&output, stdout, &opt->output, true, err);
	int closed;

	if (ret == TL_OK)
		ret = output_table(output, "clocks", "Clocks", columns, COUNT(columns), err);
	for (size_t i = 0; i < clocks->count && ret == TL_OK; i++)
		ret = print_clock(output, &clocks->clocks[i], err);
	if (ret == TL_OK)
		ret = print_troubles(output, clocks, err);
	if (ret == TL_OK && clocks->count > 1)
		ret = output_record(output, "together", "All together", join_columns,
				    COUNT(join_columns), cells, err);
	closed = output_close(output, err);
	return ret == TL_OK ? closed : ret;
}

static int show(const struct align_options *opt, size_t operand_count, char **operands,
		struct tl_error *err)
{
	struct case_request request = { .sources = &opt->sources, .want = TL_WANT_ALL };
	struct tl_store *store = NULL;
	struct tl_clocks clocks = { 0 };
	struct tl_clock_join join;
	int ret = command_open_case(&store, operands, operand_count, &request, err);

	if (ret == TL_OK)
		ret = tl_clocks_load(store, &clocks, err);
	if (ret == TL_OK)
		ret = tl_clock_join(store, NULL, 0, 0, &join, err);
	if (ret == TL_OK && !clocks.count)
		ret = tl_fail(err, TL_NOTHING, "there are no sources");
	if (ret == TL_OK)
		ret = print(opt, &clocks, &join, err);
	tl_clocks_release(&clocks);
	tl_store_close(store);
	return ret;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	const struct align_options *opt = values;
	int ret = check(opt, err);

	if (ret == TL_OK && (is_told(opt) || opt->is_redo || opt->is_release))
		ret = change(opt, operand_count, operands, err);
	return ret < 0 ? ret : show(opt, operand_count, operands, err);
}

const struct command cmd_align = {
	.name = "align",
	.usage = "traceloom align [options] CASE...",
	.summary = "show, redo or set how the clocks of the sources were mapped",
	.description =
		"Every time in a case is Unix time, but the clocks of recordings are their own. For "
		"each source it is shown how its times were mapped: exact (the recording says it), "
		"anchored (by snapshots of the clocks), matched (two sources saw the same system "
		"calls, sleeps or spans of the same threads), told, or assumed (by file dates: good "
		"enough for looking, never for a verdict).\n\n"
		"A match must be the only one: 'second best' is how many of the matches another "
		"offset would explain, and where that comes near, or where too little matches, the "
		"source stays as it was and it is said why. The residual is half of the range in "
		"which the true offset lies, and how far the matches spread, against the source in column 'against' or else Unix "
		"time. Answers that join sources are refused when it is more than a tenth of what "
		"they are to tell.\n\n"
		"Own time * slope + offset is Unix time. The clocks are mapped anew whenever a "
		"recording is imported; what is told by --offset is kept until it is released.",
	.examples = examples,
	.options = options,
	.options_size = sizeof(struct align_options),
	.run = run,
};
