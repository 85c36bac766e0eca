/*
 * steps_tables.c - what is known of steps, drawn and in tables: series, phases, episodes, pauses, each step,
 * two series beside each other.
 */
#include "steps.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW_PAUSES 5   /* of a series, the longest, unasked */
#define DECAY_FIT  0.7 /* an exponential must explain so much of an episode to have a half-life */
#define PLOT_WIDTH 100 /* columns of the plot at most: fits a terminal, and a ticket */

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
void steps_draw(const struct tl_steps_series *s)
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

/* People read of the others in a table of their own. */
static struct cell cell_source(const struct tl_steps_series *s, bool is_table, char *to,
			       size_t size)
{
	if (!s->more_count || !is_table)
		return cell_text(s->source);
	snprintf(to, size, "%s and %zu more", s->source ? s->source : "", s->more_count);
	return cell_text(to);
}

int steps_print_series(struct output *output, const struct tl_steps *steps, bool is_table,
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
		char source[PATH_MAX + 32];
		const struct cell cells[COUNT(columns)] = {
			cell_source(s, is_table, source, sizeof(source)),
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

/* The files of each series; people need to know where there are several. */
int steps_print_sources(struct output *output, const struct tl_steps *steps, bool is_table,
			struct tl_error *err)
{
	static const struct column columns[] = {
		{ "series", "series", COLUMN_INTEGER, false },
		{ "source", "source", COLUMN_TEXT, false },
		{ "first_step", "from step", COLUMN_INTEGER, false },
		{ "last_step", "to", COLUMN_INTEGER, false },
		{ "step_count", "steps", COLUMN_INTEGER, false },
	};
	bool has_several = false;
	int ret;

	for (size_t i = 0; i < steps->series_count; i++)
		has_several |= steps->series[i].more_count > 0;
	if (!has_several && is_table)
		return TL_OK;
	ret = output_table(output, "sources", "Sources of the series", columns, COUNT(columns),
			   err);
	for (size_t i = 0; i < steps->series_count; i++) {
		const struct tl_steps_series *s = &steps->series[i];

		for (size_t j = 0; j <= s->more_count && ret == TL_OK; j++) {
			const struct tl_steps_part part = tl_steps_part(s, j);
			bool has_steps = part.end > part.first;
			const struct cell cells[COUNT(columns)] = {
				cell_integer((int64_t)i + 1),
				cell_text(part.source),
				has_steps ? cell_integer(tl_step_first(&s->steps[part.first]))
					  : cell_unknown(),
				has_steps ? cell_integer(s->steps[part.end - 1].number)
					  : cell_unknown(),
				cell_integer(has_steps
						     ? tl_steps_counted(s, part.first, part.end - 1)
						     : 0),
			};

			if (s->more_count || !is_table)
				ret = output_row(output, cells, err);
		}
	}
	return ret;
}

int steps_print_phases(struct output *output, const struct tl_steps *steps, struct tl_error *err)
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

int steps_print_episodes(struct output *output, const struct tl_steps *steps, struct tl_error *err)
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
int steps_print_pauses(struct output *output, const struct tl_steps *steps, bool is_table,
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

int steps_print_all(struct output *output, const struct tl_steps *steps, struct tl_error *err)
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

int steps_print_comparison(struct output *output, const struct tl_steps_comparison *c,
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
		{ "good_mean_ns", "mean of all here", COLUMN_DURATION, false },
		{ "slow_count", "steps there", COLUMN_INTEGER, false },
		{ "slow_left_out_count", "left out", COLUMN_INTEGER, false },
		{ "slow_median_ns", "median there", COLUMN_DURATION, false },
		{ "slow_mean_ns", "mean of all there", COLUMN_DURATION, false },
		{ "is_alarm", "alarm", COLUMN_FLAG, false },
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
		cell_ns(c->good_mean_ns),
		cell_integer((int64_t)c->slow_count),
		cell_integer((int64_t)c->slow_left_out),
		cell_ns(c->slow_median_ns),
		cell_ns(c->slow_mean_ns),
		cell_flag(c->is_alarm),
	};

	return output_record(output, "comparison", "Compared", columns, COUNT(columns), cells, err);
}

int steps_print_slowest(struct output *output, const struct tl_steps_series *there,
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
