/*
 * steps.c - the steps command: prints how long training steps took and what happened to them.
 */
#include "steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FEW_STEPS  20  /* of all ranks: a row each, unasked */
#define FEW_PAUSES 5   /* of a series, the longest, unasked */
#define DECAY_FIT  0.7 /* an exponential must explain so much of an episode to have a half-life */
#define PLOT_WIDTH 100 /* columns of the plot at most: fits a terminal, and a ticket */

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
	     "exit with 1 when there is a regression, a shift or a drift (or, with --against, when it "
	     "is slower)"),
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

/* ---- the plot ---- */

/* What a column of the plot shows: the slowest of its steps. */
static int64_t column_peak(const struct tl_steps_series *s, size_t first, size_t end,
			   const struct tl_step **step)
{
	int64_t peak = -1;

	for (size_t i = first; i < end; i++) {
		if (s->steps[i].duration_ns > peak) {
			peak = s->steps[i].duration_ns;
			*step = &s->steps[i];
		}
	}
	return peak;
}

static char phase_mark(const char *phase)
{
	return !strcmp(phase, "baseline") ? ' ' : phase[0];
}

/*
 * One block character a column, from the fastest step to twice the baseline or the slowest step,
 * whichever is less: a checkpoint must not flatten the rest. Below it the initial of the phase.
 */
static void draw(const struct tl_steps_series *s)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t width = s->count < PLOT_WIDTH ? s->count : PLOT_WIDTH;
	int64_t low = INT64_MAX, high = 0;
	char marks[PLOT_WIDTH + 1];
	char from[32], to[32];

	for (size_t i = 0; i < s->count; i++) {
		low = s->steps[i].duration_ns < low ? s->steps[i].duration_ns : low;
		high = s->steps[i].duration_ns > high ? s->steps[i].duration_ns : high;
	}
	if (isfinite(s->baseline_ns) && (double)high > 2 * s->baseline_ns)
		high = llround(2 * s->baseline_ns);
	for (size_t c = 0; c < width; c++) {
		const struct tl_step *step = &s->steps[0];
		int64_t peak =
			column_peak(s, c * s->count / width, (c + 1) * s->count / width, &step);
		int64_t level = high > low ? (peak - low) * 8 / (high - low) : 0;

		fputs(blocks[level < 0 ? 0 : level > 7 ? 7 : level], stdout);
		marks[c] = phase_mark(step->phase);
	}
	marks[width] = '\0';
	for (size_t c = width; c && marks[c - 1] == ' '; c--)
		marks[c - 1] = '\0';
	printf("\n%s\n", marks);
	printf("steps %" PRId64 " to %" PRId64 ", %s to %s%s; the letter is the phase's initial\n",
	       tl_step_first(&s->steps[0]), s->steps[s->count - 1].number,
	       format_duration(from, sizeof(from), low), format_duration(to, sizeof(to), high),
	       s->count > width ? ", a column shows its slowest step" : "");
}

/* ---- tables ---- */

/* People need not read how many steps a row stands for, where it is one. */
static struct cell cell_steps_per_row(const struct tl_steps_series *s, bool is_table)
{
	return is_table && s->steps_per_row == 1 ? cell_unknown() : cell_integer(s->steps_per_row);
}

static int print_series_table(struct output *output, const struct tl_steps *steps, bool is_table,
			      struct tl_error *err)
{
	static const struct column columns[] = {
		{ "source", "source", COLUMN_TEXT, false },
		{ "origin", "from", COLUMN_TEXT, false },
		{ "rank", "rank", COLUMN_INTEGER, false },
		{ "pid", "pid", COLUMN_INTEGER, true },
		{ "tid", "tid", COLUMN_INTEGER, true },
		{ "thread", "thread", COLUMN_TEXT, true },
		{ "step_count", "steps", COLUMN_INTEGER, false },
		{ "row_count", "rows", COLUMN_INTEGER, true },
		{ "steps_per_row", "steps a row", COLUMN_INTEGER, false },
		{ "left_out_count", "left out", COLUMN_INTEGER, false },
		{ "baseline_ns", "baseline", COLUMN_DURATION, false },
		{ "baseline_count", "of steps", COLUMN_INTEGER, false },
		{ "sigma_ratio", "spread", COLUMN_RATIO, false },
		{ "warmup_count", "warm-up", COLUMN_INTEGER, false },
		{ "period_steps", "period", COLUMN_INTEGER, false },
		{ "drift_ratio", "drift", COLUMN_RATIO, true },
		{ "visible_ratio", "visible from", COLUMN_RATIO, true },
		{ "gap_ns", "usual gap", COLUMN_DURATION, true },
		{ "pause_count", "pauses", COLUMN_INTEGER, true },
		{ "pause_total_ns", "in pauses", COLUMN_DURATION, true },
		{ "pause_period_steps", "pauses every", COLUMN_INTEGER, true },
		{ "is_alarm", "alarm", COLUMN_FLAG, false },
		{ "verdict", "verdict", COLUMN_TEXT, false },
	};
	int ret = output_list(output, "series", "Steps", columns, COUNT(columns), err);

	for (size_t i = 0; i < steps->series_count && ret == TL_OK; i++) {
		const struct tl_steps_series *s = &steps->series[i];
		const struct cell cells[COUNT(columns)] = {
			cell_text(s->source),
			cell_text(s->origin),
			cell_id(s->rank),
			cell_id(s->pid),
			cell_id(s->tid),
			cell_text(s->thread),
			cell_integer(s->step_count),
			cell_integer((int64_t)s->count),
			cell_steps_per_row(s, is_table),
			cell_integer((int64_t)s->left_out),
			cell_ns(s->count ? s->baseline_ns : NAN),
			cell_integer((int64_t)s->baseline_count),
			cell_real(s->sigma_ratio),
			cell_integer((int64_t)s->warmup_count),
			s->period ? cell_integer((int64_t)s->period) : cell_unknown(),
			s->has_drift ? cell_real(s->drift_ratio) : cell_unknown(),
			cell_real(s->visible_ratio),
			cell_ns(s->gap_ns),
			isfinite(s->gap_ns) ? cell_integer((int64_t)s->pause_count)
					    : cell_unknown(),
			cell_ns(isfinite(s->gap_ns) ? s->pause_total_ns : NAN),
			s->pause_period ? cell_integer((int64_t)s->pause_period) : cell_unknown(),
			cell_flag(s->is_alarm),
			cell_text(s->verdict),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_phases(struct output *output, const struct tl_steps *steps, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "series", "series", COLUMN_INTEGER, false },
		{ "kind", "phase", COLUMN_TEXT, false },
		{ "first_step", "from step", COLUMN_INTEGER, false },
		{ "last_step", "to", COLUMN_INTEGER, false },
		{ "step_count", "steps", COLUMN_INTEGER, false },
		{ "median_ns", "median", COLUMN_DURATION, false },
		{ "change_ratio", "against baseline", COLUMN_RATIO, false },
		{ "excess_ns", "excess", COLUMN_DURATION, false },
	};
	int ret = output_table(output, "phases", "Phases", columns, COUNT(columns), err);

	for (size_t i = 0; i < steps->series_count; i++) {
		const struct tl_steps_series *s = &steps->series[i];

		for (size_t j = 0; j < s->phase_count && ret == TL_OK; j++) {
			const struct tl_steps_phase *p = &s->phases[j];
			const struct cell cells[COUNT(columns)] = {
				cell_integer((int64_t)i + 1),
				cell_text(p->kind),
				cell_integer(tl_step_first(&s->steps[p->first])),
				cell_integer(s->steps[p->last].number),
				cell_integer(tl_steps_counted(s, p->first, p->last)),
				cell_ns(p->median_ns),
				cell_real(p->change_ratio),
				cell_ns(p->excess_ns),
			};

			ret = output_row(output, cells, err);
		}
	}
	return ret;
}

static int print_episodes(struct output *output, const struct tl_steps *steps, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "series", "series", COLUMN_INTEGER, false },
		{ "kind", "episode", COLUMN_TEXT, false },
		{ "first_step", "from step", COLUMN_INTEGER, false },
		{ "last_step", "to", COLUMN_INTEGER, false },
		{ "effect_ratio", "effect", COLUMN_RATIO, false },
		{ "effect_low_ratio", "95 % from", COLUMN_RATIO, false },
		{ "effect_high_ratio", "to", COLUMN_RATIO, false },
		{ "peak_step", "peak at", COLUMN_INTEGER, false },
		{ "peak_ratio", "peak", COLUMN_RATIO, false },
		{ "excess_ns", "cost", COLUMN_DURATION, false },
		{ "recovery_steps", "back after", COLUMN_INTEGER, false },
		{ "recovery_ns", "time to recover", COLUMN_DURATION, true },
		{ "half_life_steps", "half-life", COLUMN_REAL, false },
		{ "decay_r2", "fit", COLUMN_REAL, true },
		{ "p_rank", "p (ranks)", COLUMN_REAL, false },
		{ "local_count", "of steps", COLUMN_INTEGER, true },
		{ "p_window", "p (windows)", COLUMN_REAL, false },
		{ "window_count", "of windows", COLUMN_INTEGER, true },
		{ "p_scan", "p (scan)", COLUMN_REAL, false },
		{ "confidence", "confidence", COLUMN_TEXT, false },
	};
	int ret = output_table(output, "episodes", "Episodes", columns, COUNT(columns), err);

	for (size_t i = 0; i < steps->series_count; i++) {
		const struct tl_steps_series *s = &steps->series[i];

		for (size_t j = 0; j < s->episode_count && ret == TL_OK; j++) {
			const struct tl_steps_episode *e = &s->episodes[j];
			const bool t = e->has_tests;
			const bool is_back = e->has_recovery && e->is_recovered;
			const bool decays = e->has_decay && e->decay_r2 >= DECAY_FIT;
			const struct cell cells[COUNT(columns)] = {
				cell_integer((int64_t)i + 1),
				cell_text(e->kind),
				cell_integer(tl_step_first(&s->steps[e->first])),
				cell_integer(s->steps[e->last].number),
				cell_real(t ? e->effect_ratio : e->median_ratio),
				cell_real(t ? e->effect_low_ratio : NAN),
				cell_real(t ? e->effect_high_ratio : NAN),
				cell_integer(s->steps[e->peak].number),
				cell_real(e->peak_ratio),
				cell_ns(e->excess_ns),
				is_back ? cell_integer((int64_t)e->recovery_steps) : cell_unknown(),
				cell_ns(is_back ? e->recovery_ns : NAN),
				cell_real(decays ? e->half_life_steps : NAN),
				cell_real(e->has_decay ? e->decay_r2 : NAN),
				cell_real(t ? e->p_rank : NAN),
				t ? cell_integer((int64_t)e->local_count) : cell_unknown(),
				cell_real(t ? e->p_window : NAN),
				t ? cell_integer((int64_t)e->window_count) : cell_unknown(),
				cell_real(t ? e->p_scan : NAN),
				cell_text(e->confidence),
			};

			ret = output_row(output, cells, err);
		}
	}
	return ret;
}

static int by_duration(const void *left, const void *right)
{
	const struct tl_step_pause *a = left, *b = right;

	if (a->duration_ns != b->duration_ns)
		return a->duration_ns < b->duration_ns ? 1 : -1;
	return (a->after > b->after) - (a->after < b->after);
}

/* All of them, or the longest; the series are changed: their pauses become ordered by duration. */
static int print_pauses(struct output *output, const struct tl_steps *steps, bool is_table,
			bool has_all, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "series", "series", COLUMN_INTEGER, false },
		{ "after_step", "after step", COLUMN_INTEGER, false },
		{ "begin_ns", "begin", COLUMN_TIME, false },
		{ "duration_ns", "pause", COLUMN_DURATION, false },
	};
	char title[96] = "Pauses between steps";
	size_t count = 0, most = is_table && !has_all ? FEW_PAUSES : SIZE_MAX;
	int ret;

	for (size_t i = 0; i < steps->series_count; i++) {
		const struct tl_steps_series *s = &steps->series[i];

		count += s->pause_count;
		if (s->pause_count > most)
			snprintf(title, sizeof(title),
				 "Pauses between steps: the %zu longest of a series", most);
	}
	if (!count && is_table)
		return TL_OK;
	ret = output_table(output, "pauses", title, columns, COUNT(columns), err);
	for (size_t i = 0; i < steps->series_count; i++) {
		const struct tl_steps_series *s = &steps->series[i];

		if (s->pause_count > most)
			qsort(s->pauses, s->pause_count, sizeof(*s->pauses), by_duration);
		for (size_t j = 0; j < s->pause_count && j < most && ret == TL_OK; j++) {
			const struct tl_step_pause *p = &s->pauses[j];
			const struct cell cells[COUNT(columns)] = {
				cell_integer((int64_t)i + 1),
				cell_integer(s->steps[p->after].number),
				cell_integer(p->ts),
				cell_integer(p->duration_ns),
			};

			ret = output_row(output, cells, err);
		}
	}
	return ret;
}

static bool has_rows_of_several(const struct tl_steps *steps)
{
	for (size_t i = 0; i < steps->series_count; i++)
		if (steps->series[i].step_count > (int64_t)steps->series[i].count)
			return true;
	return false;
}

static int print_all_steps(struct output *output, const struct tl_steps *steps,
			   struct tl_error *err)
{
	static const struct column columns[] = {
		{ "series", "series", COLUMN_INTEGER, false },
		{ "number", "step", COLUMN_INTEGER, false },
		{ "step_count", "of steps", COLUMN_INTEGER, true },
		{ "begin_ns", "begin", COLUMN_TIME, false },
		{ "duration_ns", "duration", COLUMN_DURATION, false },
		{ "span_ns", "of all", COLUMN_DURATION, true },
		{ "phase", "phase", COLUMN_TEXT, false },
		{ "class", "class", COLUMN_TEXT, false },
	};
	int ret = output_table(
		output, "steps",
		has_rows_of_several(steps)
			? "Every row: the last of its steps, the begin of the first, the "
			  "mean duration of one"
			: "Every step",
		columns, COUNT(columns), err);

	for (size_t i = 0; i < steps->series_count; i++) {
		const struct tl_steps_series *s = &steps->series[i];

		for (size_t j = 0; j < s->count && ret == TL_OK; j++) {
			const struct tl_step *x = &s->steps[j];
			const struct cell cells[COUNT(columns)] = {
				cell_integer((int64_t)i + 1),
				cell_integer(x->number),
				cell_integer(x->count),
				x->has_ts ? cell_integer(x->ts) : cell_unknown(),
				cell_integer(x->duration_ns),
				cell_integer(x->span_ns),
				cell_text(x->phase),
				cell_text(x->class_),
			};

			ret = output_row(output, cells, err);
		}
	}
	return ret;
}

static int print_comparison(struct output *output, const struct tl_steps_comparison *c,
			    struct tl_error *err)
{
	static const struct column columns[] = {
		{ "verdict", "verdict", COLUMN_TEXT, true },
		{ "says", "verdict", COLUMN_TEXT, false },
		{ "ratio", "ratio", COLUMN_REAL, false },
		{ "ratio_low", "95 % from", COLUMN_REAL, false },
		{ "ratio_high", "to", COLUMN_REAL, false },
		{ "p", "p", COLUMN_REAL, false },
		{ "method", "by", COLUMN_TEXT, false },
		{ "smallest_p", "smallest p possible", COLUMN_REAL, false },
		{ "cliff", "Cliff's delta", COLUMN_REAL, false },
		{ "good_count", "steps here", COLUMN_INTEGER, false },
		{ "good_left_out_count", "left out", COLUMN_INTEGER, false },
		{ "good_median_ns", "median here", COLUMN_DURATION, false },
		{ "slow_count", "steps there", COLUMN_INTEGER, false },
		{ "slow_left_out_count", "left out", COLUMN_INTEGER, false },
		{ "slow_median_ns", "median there", COLUMN_DURATION, false },
	};
	const struct cell cells[COUNT(columns)] = {
		cell_text(c->verdict),
		cell_text(c->says),
		cell_real(c->ratio),
		cell_real(c->ratio_low),
		cell_real(c->ratio_high),
		cell_real(c->p),
		cell_text(c->method),
		cell_real(c->smallest_p),
		cell_real(c->cliff),
		cell_integer((int64_t)c->good_count),
		cell_integer((int64_t)c->good_left_out),
		cell_ns(c->good_median_ns),
		cell_integer((int64_t)c->slow_count),
		cell_integer((int64_t)c->slow_left_out),
		cell_ns(c->slow_median_ns),
	};

	return output_record(output, "comparison", "Compared", columns, COUNT(columns), cells, err);
}

static int print_slowest(struct output *output, const struct tl_steps_series *there,
			 const struct tl_steps_comparison *c, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "number", "step", COLUMN_INTEGER, false },
		{ "begin_ns", "begin", COLUMN_TIME, false },
		{ "duration_ns", "duration", COLUMN_DURATION, false },
		{ "change_ratio", "against median here", COLUMN_RATIO, false },
		{ "phase", "phase there", COLUMN_TEXT, false },
	};
	int ret = output_table(output, "slowest_there", "Slowest steps there", columns,
			       COUNT(columns), err);

	for (size_t i = 0; i < c->slowest_count && ret == TL_OK; i++) {
		const struct tl_step *x = &there->steps[c->slowest[i]];
		const struct cell cells[COUNT(columns)] = {
			cell_integer(x->number),
			x->has_ts ? cell_integer(x->ts) : cell_unknown(),
			cell_integer(x->duration_ns),
			cell_real((double)x->duration_ns / c->good_median_ns - 1),
			cell_text(x->phase),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

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
		ret = print_comparison(output, &a->comparison, err);
	if (ret == TL_OK && opt->against)
		ret = print_slowest(output, &a->there.series[0], &a->comparison, err);
	if (ret == TL_OK)
		ret = print_series_table(output, steps, is_table, err);
	if (ret == TL_OK)
		ret = print_phases(output, steps, err);
	if (ret == TL_OK)
		ret = print_episodes(output, steps, err);
	if (ret == TL_OK)
		ret = print_pauses(output, steps, is_table, opt->show_all, err);
	if (ret == TL_OK && a->has_ranks)
		ret = steps_print_ranks(
			output, steps, &a->ranks,
			!is_table || opt->show_all || a->ranks.step_count <= FEW_STEPS, err);
	if (ret == TL_OK && opt->is_breakdown)
		ret = steps_print_breakdown(output, steps, &a->breakdown, err);
	if (ret == TL_OK && (opt->show_all || !is_table))
		ret = print_all_steps(output, steps, err);
	return ret;
}

static int print(const struct steps_options *opt, const struct answer *a, struct tl_error *err)
{
	bool is_table = !opt->output.is_json && !opt->output.is_csv;
	struct output *output = NULL;
	int ret = TL_OK, closed;

	for (size_t i = 0; i < a->steps.series_count && is_table && !opt->no_plot; i++) {
		if (a->steps.series[i].count > 1) {
			draw(&a->steps.series[i]);
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
				       &here->comparison, err);
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
		is_found = !strcmp(answer.comparison.verdict, "slower");
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
		"tables call a step. Each rank is judged on its own: warm-up, baseline, single slow "
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
