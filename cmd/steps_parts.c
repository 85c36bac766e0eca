/*
 * steps_parts.c - tables of the steps command: where the time of each step went on its devices, and how
 * the ranks of a job compare.
 */
#include "steps.h"

#include <math.h>
#include <string.h>

/* ---- where the time went ---- */

/* Work on more than one device: people need to see which is which. */
static bool has_several_devices(const struct tl_steps_breakdown *b)
{
	const struct tl_step_parts *first = NULL;

	for (size_t i = 0; i < b->count; i++) {
		if (!b->parts[i].has_work)
			continue;
		if (first && first->device != b->parts[i].device)
			return true;
		first = &b->parts[i];
	}
	return false;
}

static int print_parts(struct output *output, const struct tl_steps *steps,
		       const struct tl_steps_breakdown *b, struct tl_error *err)
{
	/* not constant, but static: the output needs them until the next table begins */
	static struct column columns[] = {
		{ "series", "series", COLUMN_INTEGER, false },
		{ "device", "device", COLUMN_INTEGER, true },
		{ "step", "step", COLUMN_INTEGER, false },
		{ "class", "class", COLUMN_TEXT, false },
		{ "duration_ns", "duration", COLUMN_DURATION, false },
		{ "busy_ratio", "busy", COLUMN_RATIO, false },
		{ "busy_ns", "busy", COLUMN_DURATION, true },
		{ "computing_ns", "computing", COLUMN_DURATION, false },
		{ "communication_ns", "communication", COLUMN_DURATION, true },
		{ "exposed_ns", "exposed", COLUMN_DURATION, false },
		{ "copying_ns", "copying", COLUMN_DURATION, false },
		{ "idle_ns", "idle", COLUMN_DURATION, false },
		{ "idle_late_ns", "not launched", COLUMN_DURATION, false },
		{ "idle_launched_ns", "launched", COLUMN_DURATION, false },
		{ "idle_other_ns", "not known", COLUMN_DURATION, false },
		{ "free_ns", "free", COLUMN_DURATION, true },
		{ "stage_ns", "stage", COLUMN_DURATION, true },
		{ "preparing_ns", "preparing", COLUMN_DURATION, true },
		{ "task_count", "tasks", COLUMN_INTEGER, true },
		{ "launch_count", "launches", COLUMN_INTEGER, false },
		{ "early_count", "after their work", COLUMN_INTEGER, true },
		{ "launch_gap_ns", "gap", COLUMN_DURATION, false },
		{ "launch_gap_max_ns", "longest", COLUMN_DURATION, false },
		{ "delay_ns", "delay", COLUMN_DURATION, false },
		{ "delay_max_ns", "longest", COLUMN_DURATION, false },
	};
	int ret;

	columns[1].is_detail = !has_several_devices(b);
	ret = output_table(output, "breakdown",
			   has_several_devices(b) ? "Breakdown: the devices in each step"
						  : "Breakdown: the device in each step",
			   columns, COUNT(columns), err);
	for (size_t i = 0; i < b->count && ret == TL_OK; i++) {
		const struct tl_step_parts *p = &b->parts[i];
		const struct tl_step *x = &steps->series[p->series].steps[p->step];
		const struct cell cells[COUNT(columns)] = {
			cell_integer((int64_t)p->series + 1),
			cell_id(p->device),
			cell_integer(x->number),
			cell_text(x->class_),
			cell_integer(x->span_ns),
			cell_real((double)p->busy_ns / (double)x->span_ns),
			cell_integer(p->busy_ns),
			cell_integer(p->work.computing_ns),
			cell_integer(p->work.communication_ns),
			cell_integer(p->work.exposed_ns),
			cell_integer(p->copying_ns),
			cell_integer(p->idle_late_ns + p->idle_launched_ns + p->idle_other_ns),
			cell_integer(p->idle_late_ns),
			cell_integer(p->idle_launched_ns),
			cell_integer(p->idle_other_ns),
			cell_integer(p->work.free_ns),
			cell_integer(p->work.stage_ns),
			cell_id(p->work.preparing_ns),
			cell_integer((int64_t)p->task_count),
			cell_integer((int64_t)p->launch_count),
			cell_integer((int64_t)p->early_count),
			cell_ns(p->launch_gap_ns),
			cell_ns(p->launch_gap_max_ns),
			cell_ns(p->delay_ns),
			cell_ns(p->delay_max_ns),
		};

		if (p->has_work)
			ret = output_row(output, cells, err);
	}
	return ret;
}

static int explain_parts(struct output *output, const struct tl_steps_breakdown *b,
			 struct tl_error *err)
{
	size_t launches = 0, early = 0;
	char text[512];
	int ret = output_text(
		output,
		"exposed: communication that no computing hides; copying: nothing but copies run; idle: the\n"
		"next work was not launched yet, was launched, or its launch is not known. gap: from the end\n"
		"of a launch to the next one of its thread; delay: from a launch to the start of its work;\n"
		"of both the median and the longest.",
		err);

	for (size_t i = 0; i < b->count; i++) {
		launches += b->parts[i].launch_count;
		early += b->parts[i].early_count;
	}
	if (ret < 0 || !early)
		return ret;
	snprintf(
		text, sizeof(text),
		"%zu of %zu launches begin after the work that they started: the clocks of host and "
		"device differ by so much, and delays are wrong by it.",
		early, launches);
	return output_text(output, text, err);
}

/* Means, because they add up: what is between good and slow is the sum of its parts. */
struct mean {
	size_t count;
	double duration, busy, computing, exposed, copying, late, launched, other;
};

static void add_to_mean(struct mean *m, const struct tl_step_parts *p, const struct tl_step *x)
{
	m->count++;
	m->duration += (double)x->span_ns;
	m->busy += (double)p->busy_ns;
	m->computing += (double)p->work.computing_ns;
	m->exposed += (double)p->work.exposed_ns;
	m->copying += (double)p->copying_ns;
	m->late += (double)p->idle_late_ns;
	m->launched += (double)p->idle_launched_ns;
	m->other += (double)p->idle_other_ns;
}

/* Of one class on one device; nothing when there are none. */
static int print_mean(struct output *output, const struct tl_steps *steps,
		      const struct tl_steps_breakdown *b, const char *class_, int32_t device,
		      struct tl_error *err)
{
	struct mean m = { 0 };
	double n;

	for (size_t i = 0; i < b->count; i++) {
		const struct tl_step_parts *p = &b->parts[i];
		const struct tl_step *x = &steps->series[p->series].steps[p->step];

		if (p->has_work && p->device == device && !strcmp(x->class_, class_))
			add_to_mean(&m, p, x);
	}
	if (!m.count)
		return TL_OK;
	n = (double)m.count;
	const struct cell cells[] = {
		cell_text(class_),
		cell_id(device),
		cell_integer((int64_t)m.count),
		cell_ns(m.duration / n),
		cell_real(m.busy / m.duration),
		cell_ns(m.computing / n),
		cell_ns(m.exposed / n),
		cell_ns(m.copying / n),
		cell_ns(m.late / n),
		cell_ns(m.launched / n),
		cell_ns(m.other / n),
	};

	return output_row(output, cells, err);
}

/* The least number of a device that is greater than `last`; false: there is none. */
static bool next_device(const struct tl_steps_breakdown *b, int64_t last, int32_t *device)
{
	bool is_found = false;

	for (size_t i = 0; i < b->count; i++) {
		const struct tl_step_parts *p = &b->parts[i];

		if (!p->has_work || p->device <= last || (is_found && p->device >= *device))
			continue;
		*device = p->device;
		is_found = true;
	}
	return is_found;
}

static int print_means(struct output *output, const struct tl_steps *steps,
		       const struct tl_steps_breakdown *b, struct tl_error *err)
{
	static struct column columns[] = {
		{ "class", "class", COLUMN_TEXT, false },
		{ "device", "device", COLUMN_INTEGER, true },
		{ "step_count", "steps", COLUMN_INTEGER, false },
		{ "duration_ns", "duration", COLUMN_DURATION, false },
		{ "busy_ratio", "busy", COLUMN_RATIO, false },
		{ "computing_ns", "computing", COLUMN_DURATION, false },
		{ "exposed_ns", "exposed", COLUMN_DURATION, false },
		{ "copying_ns", "copying", COLUMN_DURATION, false },
		{ "idle_late_ns", "not launched", COLUMN_DURATION, false },
		{ "idle_launched_ns", "launched", COLUMN_DURATION, false },
		{ "idle_other_ns", "not known", COLUMN_DURATION, false },
	};
	static const char *const classes[] = { "good", "slow", "other" };
	int32_t device = -1;
	int ret;

	columns[1].is_detail = !has_several_devices(b);
	ret = output_table(output, "breakdown_means",
			   "Means of the good, the slow and the other steps", columns,
			   COUNT(columns), err);
	for (int64_t last = INT64_MIN; ret == TL_OK && next_device(b, last, &device); last = device)
		for (size_t c = 0; c < COUNT(classes) && ret == TL_OK; c++)
			ret = print_mean(output, steps, b, classes[c], device, err);
	return ret;
}

static int print_told(struct output *output, const struct tl_steps *steps,
		      const struct tl_steps_breakdown *b, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "series", "series", COLUMN_INTEGER, false },
		{ "device", "device", COLUMN_INTEGER, false },
		{ "step", "step", COLUMN_INTEGER, false },
		{ "computing_ns", "computing", COLUMN_DURATION, false },
		{ "exposed_ns", "communication not overlapped", COLUMN_DURATION, false },
		{ "overlapped_ns", "overlapped", COLUMN_DURATION, false },
		{ "communication_ns", "communication", COLUMN_DURATION, false },
		{ "free_ns", "free", COLUMN_DURATION, false },
		{ "stage_ns", "stage", COLUMN_DURATION, false },
		{ "preparing_ns", "preparing", COLUMN_DURATION, false },
	};
	int ret = output_table(output, "breakdown_told", "As the profiler splits the steps itself",
			       columns, COUNT(columns), err);

	for (size_t i = 0; i < b->count && ret == TL_OK; i++) {
		const struct tl_step_parts *p = &b->parts[i];
		const struct tl_step_split *t = &p->told;
		const struct cell cells[COUNT(columns)] = {
			cell_integer((int64_t)p->series + 1),
			cell_id(p->device),
			cell_integer(steps->series[p->series].steps[p->step].number),
			cell_integer(t->computing_ns),
			cell_integer(t->exposed_ns),
			cell_integer(t->communication_ns - t->exposed_ns),
			cell_integer(t->communication_ns),
			cell_integer(t->free_ns),
			cell_integer(t->stage_ns),
			cell_id(t->preparing_ns),
		};

		if (p->has_told)
			ret = output_row(output, cells, err);
	}
	return ret;
}

int steps_print_breakdown(struct output *output, const struct tl_steps *steps,
			  const struct tl_steps_breakdown *breakdown, struct tl_error *err)
{
	bool has_work = false, has_told = false;
	int ret = TL_OK;

	for (size_t i = 0; i < breakdown->count; i++) {
		has_work |= breakdown->parts[i].has_work;
		has_told |= breakdown->parts[i].has_told;
	}
	if (has_work)
		ret = print_parts(output, steps, breakdown, err);
	if (ret == TL_OK && has_work)
		ret = explain_parts(output, breakdown, err);
	if (ret == TL_OK && has_work)
		ret = print_means(output, steps, breakdown, err);
	if (ret == TL_OK && has_told)
		ret = print_told(output, steps, breakdown, err);
	return ret;
}

/* ---- ranks ---- */

static int print_each_rank(struct output *output, const struct tl_steps *steps,
			   const struct tl_ranks *ranks, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "rank", "rank", COLUMN_INTEGER, false },
		{ "series", "series", COLUMN_INTEGER, false },
		{ "step_count", "steps", COLUMN_INTEGER, false },
		{ "median_ns", "median", COLUMN_DURATION, false },
		{ "collective_ns", "in collectives", COLUMN_DURATION, false },
		{ "waiting_ns", "above the least", COLUMN_DURATION, false },
		{ "slowest_count", "slowest in", COLUMN_INTEGER, false },
		{ "late_count", "late in", COLUMN_INTEGER, false },
	};
	int ret =
		output_table(output, "ranks",
			     "Ranks. in collectives: a step, on average; late: waits least in them",
			     columns, COUNT(columns), err);

	for (size_t i = 0; i < ranks->rank_count && ret == TL_OK; i++) {
		const struct tl_rank *r = &ranks->ranks[i];
		bool has_late = isfinite(r->collective_ns);
		const struct cell cells[COUNT(columns)] = {
			cell_integer(r->rank),
			cell_integer((int64_t)r->series + 1),
			cell_integer((int64_t)steps->series[r->series].count),
			cell_ns(r->median_ns),
			cell_ns(r->collective_ns),
			cell_ns(r->waiting_ns),
			cell_integer((int64_t)r->slowest_count),
			has_late ? cell_integer((int64_t)r->late_count) : cell_unknown(),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_rank_steps(struct output *output, const struct tl_ranks *ranks,
			    struct tl_error *err)
{
	static const struct column columns[] = {
		{ "step", "step", COLUMN_INTEGER, false },
		{ "median_ns", "median", COLUMN_DURATION, false },
		{ "slowest_rank", "slowest rank", COLUMN_INTEGER, false },
		{ "slowest_ns", "takes", COLUMN_DURATION, false },
		{ "fastest_rank", "fastest rank", COLUMN_INTEGER, false },
		{ "fastest_ns", "takes", COLUMN_DURATION, false },
		{ "spread_ratio", "spread", COLUMN_RATIO, false },
		{ "late_rank", "late rank", COLUMN_INTEGER, false },
		{ "late_ns", "by", COLUMN_DURATION, false },
		{ "least_collective_ns", "least in collectives", COLUMN_DURATION, false },
		{ "most_collective_ns", "most", COLUMN_DURATION, false },
	};
	int ret = output_table(output, "rank_steps", "Steps across ranks", columns, COUNT(columns),
			       err);

	for (size_t i = 0; i < ranks->step_count && ret == TL_OK; i++) {
		const struct tl_rank_step *x = &ranks->steps[i];
		bool has_late = x->has_collectives;
		const struct cell cells[COUNT(columns)] = {
			cell_integer(x->number),
			cell_integer(x->median_ns),
			cell_id(x->slowest_rank),
			cell_integer(x->slowest_ns),
			cell_id(x->fastest_rank),
			cell_integer(x->fastest_ns),
			cell_real((double)(x->slowest_ns - x->fastest_ns) / (double)x->median_ns),
			has_late ? cell_id(x->late_rank) : cell_unknown(),
			has_late && x->late_rank >= 0 ? cell_integer(x->late_ns) : cell_unknown(),
			has_late ? cell_integer(x->least_ns) : cell_unknown(),
			has_late ? cell_integer(x->most_ns) : cell_unknown(),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

int steps_print_ranks(struct output *output, const struct tl_steps *steps,
		      const struct tl_ranks *ranks, bool has_every_step, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "rank_count", "ranks", COLUMN_INTEGER, false },
		{ "origin", "from", COLUMN_TEXT, false },
		{ "step_count", "steps of all", COLUMN_INTEGER, false },
		{ "late_rank", "late rank", COLUMN_INTEGER, false },
		{ "late_p", "by chance p", COLUMN_REAL, false },
		{ "slow_step_count", "slow steps", COLUMN_INTEGER, true },
		{ "slow_late_rank", "late in slow steps", COLUMN_INTEGER, false },
		{ "slow_late_p", "by chance p", COLUMN_REAL, true },
		{ "verdict", "verdict", COLUMN_TEXT, false },
	};
	const struct cell cells[COUNT(columns)] = {
		cell_integer((int64_t)ranks->rank_count),
		cell_text(ranks->origin),
		cell_integer((int64_t)ranks->step_count),
		ranks->late.is_known ? cell_integer(ranks->late.rank) : cell_unknown(),
		cell_real(ranks->late.is_known ? ranks->late.p : NAN),
		cell_integer((int64_t)ranks->slow_late.step_count),
		ranks->slow_late.is_known ? cell_integer(ranks->slow_late.rank) : cell_unknown(),
		cell_real(ranks->slow_late.is_known ? ranks->slow_late.p : NAN),
		cell_text(ranks->verdict),
	};
	int ret = output_record(output, "across_ranks", "Across ranks", columns, COUNT(columns),
				cells, err);

	if (ret == TL_OK)
		ret = print_each_rank(output, steps, ranks, err);
	if (ret == TL_OK && has_every_step)
		ret = print_rank_steps(output, ranks, err);
	return ret;
}
