/*
 * steps.c - the steps command: prints how long training steps took and what happened to them.
 */
#include "steps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FEW_STEPS 20 /* of all ranks: a row each, unasked */

struct steps_options {
	const char *name_pattern, *against;
	int64_t min_change_percent, rank;
	bool show_all, is_check, no_plot, is_breakdown;
	struct output_options output;
	struct source_options sources;
};

static const struct steps_options defaults = { .rank = -1 };

static const struct command_option options[] = {
	STRING(struct steps_options, name_pattern, 0, "step-name", "REGEX",
	       "slices of threads whose name matches are the steps; the first group is the number; "
	       "default ProfilerStep#N and what logs call a step"),
	INTEGER(struct steps_options, rank, 0, "rank", "N", 0, INT32_MAX, "only this rank"),
	INTEGER(struct steps_options, min_change_percent, 0, "min-change", "PERCENT", 1, 1000,
		"smallest change worth reporting; default 5"),
	FILE_NAME(
		struct steps_options, against, 0, "against", "CASE",
		"compare with the steps of CASE, a case or a recording: is it slower than this one?"),
	FLAG(struct steps_options, is_breakdown, 0, "breakdown",
	     "split each step: device busy, or idle because nothing was launched; computing, "
	     "communication; from launch to start"),
	FLAG(struct steps_options, show_all, 'a', "all", "list every step"),
	FLAG(struct steps_options, no_plot, 0, "no-plot", "do not draw the steps"),
	FLAG(struct steps_options, is_check, 0, "check",
	     "exit with 1 when there is a regression, a shift or a drift to slower steps; with --against, "
	     "when CASE is slower (by --min-change, where it is given), or has one of these and this one "
	     "has not"),
	OUTPUT_OPTIONS(struct steps_options, output),
	HEADING("for raw recordings"),
	SOURCE_OPTIONS(struct steps_options, sources),
	OPTIONS_END,
};

static const struct command_example examples[] = {
	{ "traceloom steps run.db", "which steps were slow, since when, and by how much" },
	{ "traceloom steps --check --json rank0.pt.trace.json.gz train.log",
	  "in a batch job, straight from recordings" },
	{ "traceloom steps good.db --against slow.db", "two runs beside each other" },
	{ "traceloom steps --breakdown rank0.pt.trace.json.gz",
	  "did the device wait for launches, for others, or for nothing?" },
	{ "traceloom steps traces/", "the ranks of a job: the slowest, and the one that is late" },
	{ NULL, NULL },
};

/* ---- the command ---- */

/* Everything that is printed, loaded. */
struct answer {
	struct tl_steps steps, there; /* there: of --against */
	struct tl_steps_breakdown breakdown;
	struct tl_ranks ranks;
	struct tl_steps_comparison comparison;
	bool has_ranks;
};

static void release(struct answer *a)
{
	tl_steps_release(&a->steps);
	tl_steps_release(&a->there);
	tl_steps_breakdown_release(&a->breakdown);
	tl_ranks_release(&a->ranks);
}

/* More than the steps themselves is asked of the recordings. */
static bool wants_slices(const struct steps_options *opt, char **paths, size_t count)
{
	struct stat st;

	return opt->name_pattern || opt->is_breakdown || count > 1 ||
	       (count == 1 && stat(paths[0], &st) == 0 && S_ISDIR(st.st_mode));
}

static double min_change(const struct steps_options *opt)
{
	return (double)opt->min_change_percent / 100;
}

static int load_ranks(struct tl_store *store, const struct steps_options *opt, struct answer *a,
		      struct tl_error *err)
{
	struct tl_error none = { 0 };
	int ret = tl_ranks_load(store, &a->steps, min_change(opt), &a->ranks, &none);

	a->has_ranks = ret == TL_OK;
	if (ret == TL_NOTHING)
		return TL_OK;
	if (ret < 0)
		*err = none;
	return ret;
}

static int load(const struct steps_options *opt, char **paths, size_t count, struct answer *a,
		struct tl_error *err)
{
	const struct case_request request = {
		.sources = &opt->sources,
		.want = TL_WANT_STEPS | (wants_slices(opt, paths, count) ? TL_WANT_SLICES : 0),
	};
	const struct tl_steps_options query = {
		.name_pattern = opt->name_pattern,
		.min_change = min_change(opt),
		.has_rank = opt->rank >= 0,
		.rank = (int32_t)opt->rank,
	};
	struct tl_store *store = NULL;
	int ret = command_open_case(&store, paths, count, &request, err);

	if (ret == TL_OK)
		ret = tl_steps_load(store, &query, &a->steps, err);
	if (ret == TL_OK && opt->is_breakdown)
		ret = tl_steps_break_down(store, &a->steps, &a->breakdown, err);
	if (ret == TL_OK)
		ret = load_ranks(store, opt, a, err);
	tl_store_close(store);
	return ret;
}

static int print_tables(struct output *output, const struct steps_options *opt,
			const struct answer *a, bool is_table, struct tl_error *err)
{
	const struct tl_steps *steps = &a->steps;
	int ret = TL_OK;

	if (opt->against)
		ret = steps_print_comparison(output, &a->comparison, err);
	if (ret == TL_OK && opt->against)
		ret = steps_print_slowest(output, &a->there.series[0], &a->comparison, err);
	if (ret == TL_OK)
		ret = steps_print_series(output, steps, is_table, err);
	if (ret == TL_OK)
		ret = steps_print_sources(output, steps, is_table, err);
	if (ret == TL_OK)
		ret = steps_print_phases(output, steps, err);
	if (ret == TL_OK)
		ret = steps_print_episodes(output, steps, err);
	if (ret == TL_OK)
		ret = steps_print_pauses(output, steps, is_table, opt->show_all, err);
	if (ret == TL_OK && a->has_ranks)
		ret = steps_print_ranks(
			output, steps, &a->ranks,
			!is_table || opt->show_all || a->ranks.step_count <= FEW_STEPS, err);
	if (ret == TL_OK && opt->is_breakdown)
		ret = steps_print_breakdown(output, steps, &a->breakdown, err);
	if (ret == TL_OK && (opt->show_all || !is_table))
		ret = steps_print_all(output, steps, err);
	return ret;
}

static int print(const struct steps_options *opt, const struct answer *a, struct tl_error *err)
{
	bool is_table = !opt->output.is_json && !opt->output.is_csv;
	struct output *output = NULL;
	int ret = TL_OK, closed;

	for (size_t i = 0; i < a->steps.series_count && is_table && !opt->no_plot; i++) {
		if (a->steps.series[i].count > 1) {
			steps_draw(&a->steps.series[i]);
			putchar('\n');
		}
	}
	ret = output_open(&output, stdout, &opt->output, true, err);
	if (ret == TL_OK)
		ret = print_tables(output, opt, a, is_table, err);
	closed = output_close(output, err);
	return ret < 0 ? ret : closed;
}

static int compare(const struct steps_options *opt, struct answer *here, struct tl_error *err)
{
	struct steps_options plain = *opt;
	char *path = strdup(opt->against);
	struct answer there = { 0 };
	int ret;

	plain.is_breakdown = false;
	ret = path ? load(&plain, &path, 1, &there, err) : tl_fail(err, TL_NOMEM, "out of memory");
	free(path);
	if (ret == TL_OK && (here->steps.series_count != 1 || there.steps.series_count != 1))
		ret = tl_fail(err, TL_USAGE,
			      "%zu and %zu series of steps: choose one of each with --rank or "
			      "--step-name",
			      here->steps.series_count, there.steps.series_count);
	if (ret == TL_OK)
		ret = tl_steps_compare(&here->steps.series[0], &there.steps.series[0],
				       min_change(opt), &here->comparison, err);
	here->there = there.steps;
	memset(&there.steps, 0, sizeof(there.steps));
	release(&there);
	return ret;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	const struct steps_options *opt = values;
	struct answer answer = { 0 };
	bool is_found = false;
	int ret = output_check(&opt->output, err);

	if (ret == TL_OK)
		ret = load(opt, operands, operand_count, &answer, err);
	if (ret == TL_OK && opt->against)
		ret = compare(opt, &answer, err);
	if (ret == TL_OK)
		ret = print(opt, &answer, err);
	if (opt->against && ret == TL_OK)
		is_found = answer.comparison.is_alarm;
	for (size_t i = 0; i < answer.steps.series_count && !opt->against; i++)
		is_found |= answer.steps.series[i].is_alarm;
	release(&answer);
	if (ret < 0)
		return ret;
	return opt->is_check && is_found ? EXIT_FOUND : EXIT_DONE;
}

const struct command cmd_steps = {
	.name = "steps",
	.usage = "traceloom steps [options] CASE...",
	.summary = "tell which training steps were slow, since when and by how much",
	.description =
		"Steps are profiler spans (ProfilerStep#N, or --step-name) and what training logs and "
		"tables call a step. Cycles of one profiler (of a rank that is known) and rotated logs "
		"(whose numbers go on) are one series. Each rank is judged on its own: warm-up, baseline, single slow "
		"steps, periodic ones, regressions with their recovery, shifts, improvements, drift. "
		"Nothing is called a regression unless it lasts three steps, changes by --min-change, "
		"and passes three independent tests.\n\n"
		"A log need not have a line for each step. A row then stands for several: its duration "
		"is the mean of one, its cost counts for all, and steps are counted as such.\n\n"
		"The effect is the Hodges-Lehmann ratio against nearby baseline steps with its 95 % "
		"interval, which needs no distribution; the cost is the time above the baseline. p "
		"(ranks) is the Mann-Whitney test, p (windows) the share of baseline windows as slow, p "
		"(scan) the chance that so many raised steps fall together.\n\n"
		"All commands mean the same by classes of steps (--steps slow and the like): slow are "
		"those of regressions, recoveries and shifts that did not fail the tests, but not the "
		"odd one that is slow in another way, as by a checkpoint: it is apart. spike: slow "
		"alone, or perhaps by chance. good: of the baseline.",
	.examples = examples,
	.options = options,
	.defaults = &defaults,
	.options_size = sizeof(defaults),
	.run = run,
};
