/*
 * explain.c - the explain command: prints what slow training steps are made of that good ones are not.
 */
#include "output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_FOR_PEOPLE = 8 };

struct explain_options {
	const char *thread;
	int64_t rank, top;
	bool show_all, show_steps, has_spikes;
	struct output_options output;
	struct source_options sources;
};

static const struct explain_options defaults = { .rank = -1, .top = -1 };

static const struct command_option options[] = {
	STRING(struct explain_options, thread, 0, "thread", "WHICH",
	       "the thread whose time is looked at: its id, or a regular expression for its name; "
	       "default the one that carries the steps, or, where they come from a log, the busiest "
	       "main thread"),
	INTEGER(struct explain_options, rank, 0, "rank", "N", 0, INT32_MAX,
		"steps of this rank; default the first that has slow steps"),
	FLAG(struct explain_options, has_spikes, 0, "spikes",
	     "explain single slow steps, and episodes that may be chance, too"),
	HEADING("how it is told"),
	INTEGER(struct explain_options, top, 0, "top", "N", 0, 1000000,
		"the first N rows of each table, 0 all; default 8, all for --json and --csv"),
	FLAG(struct explain_options, show_all, 'a', "all",
	     "all causes and parts, not only those that make 90 % of the difference"),
	FLAG(struct explain_options, show_steps, 0, "per-step", "list what every step is made of"),
	OUTPUT_OPTIONS(struct explain_options, output),
	HEADING("for raw recordings"),
	SOURCE_OPTIONS(struct explain_options, sources),
	OPTIONS_END,
};

static const struct command_example examples[] = {
	{ "traceloom explain run.db", "why are the slow steps slow?" },
	{ "traceloom explain --buildid-dir cache perf.data rank0.pt.trace.json.gz",
	  "straight from recordings" },
	{ "traceloom explain --json --thread 4711 run.db > why.json", "for a batch job" },
	{ NULL, NULL },
};

static size_t shown(const struct explain_options *opt, size_t count)
{
	bool is_machine = opt->output.is_json || opt->output.is_csv;
	size_t top = opt->top >= 0 ? (size_t)opt->top : is_machine ? 0 : TOP_FOR_PEOPLE;

	return top && top < count ? top : count;
}

/* ---- tables ---- */

static int print_about(struct output *output, const struct tl_explain *x, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "verdict", "verdict", COLUMN_TEXT, true },
		{ "thread", "thread", COLUMN_TEXT, false },
		{ "pid", "pid", COLUMN_INTEGER, false },
		{ "tid", "tid", COLUMN_INTEGER, false },
		{ "thread_why", "because", COLUMN_TEXT, false },
		{ "source", "steps of", COLUMN_TEXT, false },
		{ "rank", "rank", COLUMN_INTEGER, false },
		{ "step_count", "steps", COLUMN_INTEGER, false },
		{ "good_count", "good", COLUMN_INTEGER, false },
		{ "slow_count", "slow", COLUMN_INTEGER, false },
		{ "apart_count", "told of apart", COLUMN_INTEGER, false },
		{ "good_ns", "mean of good", COLUMN_DURATION, false },
		{ "slow_ns", "mean of slow", COLUMN_DURATION, false },
		{ "difference_ns", "difference", COLUMN_DURATION, false },
		{ "difference_low_ns", "95 % from", COLUMN_DURATION, false },
		{ "difference_high_ns", "to", COLUMN_DURATION, false },
		{ "bottleneck", "bottleneck", COLUMN_TEXT, false },
		{ "clock", "clocks", COLUMN_TEXT, false },
	};
	const struct cell cells[COUNT(columns)] = {
		cell_text(x->verdict),
		cell_text(x->thread),
		x->pid >= 0 ? cell_integer(x->pid) : cell_unknown(),
		x->tid >= 0 ? cell_integer(x->tid) : cell_unknown(),
		cell_text(x->thread_why),
		cell_text(x->step_source),
		x->rank >= 0 ? cell_integer(x->rank) : cell_unknown(),
		cell_integer((int64_t)x->step_count),
		cell_integer((int64_t)x->good_count),
		cell_integer((int64_t)x->slow_count),
		cell_integer((int64_t)x->apart_count),
		cell_ns(x->good_ns),
		cell_ns(x->slow_ns),
		cell_ns(x->difference_ns),
		cell_ns(x->low_ns),
		cell_ns(x->high_ns),
		cell_text(x->bottleneck),
		cell_text(x->clock),
	};

	return output_record(output, "explain", NULL, columns, COUNT(columns), cells, err);
}

/* Causes, parts and the device's time have the same columns. */
static int print_parts(const struct explain_options *opt, struct output *output, const char *key,
		       const char *title, const struct tl_explain_part *parts, size_t count,
		       struct tl_error *err)
{
	static const struct column columns[] = {
		{ "cause", "cause", COLUMN_TEXT, true },
		{ "state", "state", COLUMN_TEXT, true },
		{ "name", "name", COLUMN_TEXT, true },
		{ "text", "what", COLUMN_TEXT, false },
		{ "good_ns", "good", COLUMN_DURATION, false },
		{ "slow_ns", "slow", COLUMN_DURATION, false },
		{ "difference_ns", "difference", COLUMN_DURATION, false },
		{ "difference_low_ns", "95 % from", COLUMN_DURATION, true },
		{ "difference_high_ns", "to", COLUMN_DURATION, true },
		{ "share_ratio", "share", COLUMN_RATIO, false },
		{ "share_low_ratio", "95 % from", COLUMN_RATIO, false },
		{ "share_high_ratio", "to", COLUMN_RATIO, false },
		{ "dose_share_ratio", "of variance", COLUMN_RATIO, false },
		{ "p", "p", COLUMN_REAL, true },
		{ "q", "q", COLUMN_REAL, false },
		{ "is_named", "among 90 %", COLUMN_FLAG, true },
	};
	bool is_machine = opt->output.is_json || opt->output.is_csv;
	size_t top = shown(opt, count);
	int ret = output_table(output, key, title, columns, COUNT(columns), err);

	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		const struct tl_explain_part *p = &parts[i];
		const struct cell cells[COUNT(columns)] = {
			cell_text(p->cause),	   cell_text(p->state),
			cell_text(p->name),	   cell_text(p->text),
			cell_ns(p->good_ns),	   cell_ns(p->slow_ns),
			cell_ns(p->difference_ns), cell_ns(p->low_ns),
			cell_ns(p->high_ns),	   cell_real(p->share),
			cell_real(p->share_low),   cell_real(p->share_high),
			cell_real(p->dose_share),  cell_real(p->p),
			cell_real(p->q),	   cell_flag(p->is_named),
		};

		if (i >= top || (!p->is_told && !is_machine && !opt->show_all))
			break;
		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_functions(const struct explain_options *opt, struct output *output,
			   const char *key, const char *title, bool is_time,
			   const struct tl_explain_function *f, size_t count, struct tl_error *err)
{
	static const struct column samples[] = {
		{ "name", "function", COLUMN_TEXT, false },
		{ "good_samples", "good", COLUMN_REAL, false },
		{ "slow_samples", "slow", COLUMN_REAL, false },
		{ "difference_samples", "difference", COLUMN_REAL, false },
		{ "error_samples", "standard error", COLUMN_REAL, false },
		{ "p", "p", COLUMN_REAL, true },
		{ "q", "q", COLUMN_REAL, false },
	};
	static const struct column times[] = {
		{ "name", "name", COLUMN_TEXT, false },
		{ "good_ns", "good", COLUMN_DURATION, false },
		{ "slow_ns", "slow", COLUMN_DURATION, false },
		{ "difference_ns", "difference", COLUMN_DURATION, false },
		{ "error_ns", "standard error", COLUMN_DURATION, false },
		{ "p", "p", COLUMN_REAL, true },
		{ "q", "q", COLUMN_REAL, false },
	};
	int ret = output_table(output, key, title, is_time ? times : samples, COUNT(samples), err);

	for (size_t i = 0; i < shown(opt, count) && ret == TL_OK; i++) {
		const struct cell cells[COUNT(samples)] = {
			cell_text(f[i].name),
			is_time ? cell_ns(f[i].good) : cell_real(f[i].good),
			is_time ? cell_ns(f[i].slow) : cell_real(f[i].slow),
			is_time ? cell_ns(f[i].difference) : cell_real(f[i].difference),
			is_time ? cell_ns(f[i].error) : cell_real(f[i].error),
			cell_real(f[i].p),
			cell_real(f[i].q),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_wakers(const struct explain_options *opt, struct output *output,
			const struct tl_explain *x, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "waiting", "waiting", COLUMN_TEXT, false },
		{ "for_whom", "for whom", COLUMN_TEXT, false },
		{ "wait_count", "waits in slow steps", COLUMN_INTEGER, false },
		{ "good_ns", "good", COLUMN_DURATION, false },
		{ "slow_ns", "slow", COLUMN_DURATION, false },
	};
	int ret = output_table(
		output, "wakers",
		"Whom the thread waited for (time per step; A <- B: A itself waited for "
		"B)",
		columns, COUNT(columns), err);

	for (size_t i = 0; i < shown(opt, x->waker_count) && ret == TL_OK; i++) {
		const struct tl_explain_waker *w = &x->wakers[i];
		const struct cell cells[COUNT(columns)] = {
			cell_text(w->part),  cell_text(w->chain), cell_integer((int64_t)w->count),
			cell_ns(w->good_ns), cell_ns(w->slow_ns),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_steps(struct output *output, const struct tl_explain *x, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "number", "step", COLUMN_INTEGER, false },
		{ "begin_ns", "begin", COLUMN_TIME, true },
		{ "phase", "phase", COLUMN_TEXT, false },
		{ "class", "class", COLUMN_TEXT, false },
		{ "duration_ns", "duration", COLUMN_DURATION, false },
		{ "cause", "cause", COLUMN_TEXT, false },
		{ "part_ns", "of it", COLUMN_DURATION, false },
	};
	int ret = output_table(output, "steps", "What every step is made of", columns,
			       COUNT(columns), err);

	for (size_t i = 0; i < x->step_count; i++) {
		const struct tl_explain_step *s = &x->steps[i];

		for (size_t c = 0; c < x->cause_count && ret == TL_OK; c++) {
			const struct cell cells[COUNT(columns)] = {
				cell_integer(s->number),      cell_integer(s->begin_ns),
				cell_text(s->phase),	      cell_text(s->class_),
				cell_integer(s->duration_ns), cell_text(x->causes[c].cause),
				cell_integer(s->cause_ns[c]),
			};

			if (s->cause_ns[c])
				ret = output_row(output, cells, err);
		}
	}
	return ret;
}

static int print_notes(struct output *output, const struct tl_explain *x, struct tl_error *err)
{
	static const struct column columns[] = { { "note", "Worth knowing", COLUMN_TEXT, false } };
	int ret = x->note_count ? output_table(output, "notes", NULL, columns, 1, err) : TL_OK;

	for (size_t i = 0; i < x->note_count && ret == TL_OK; i++) {
		const struct cell cells[] = { cell_text(x->notes[i]) };

		ret = output_row(output, cells, err);
	}
	return ret;
}

/* ---- the command ---- */

static int print_lists(const struct explain_options *opt, struct output *output,
		       const struct tl_explain *x, struct tl_error *err)
{
	int ret = TL_OK;

	if (x->running_count)
		ret = print_functions(opt, output, "running_functions",
				      "Functions on the CPU, samples per step", false, x->running,
				      x->running_count, err);
	if (ret == TL_OK && x->blocked_count)
		ret = print_functions(opt, output, "blocked_functions",
				      "Functions asleep, time per step", true, x->blocked,
				      x->blocked_count, err);
	if (ret == TL_OK && x->operator_count)
		ret = print_functions(opt, output, "operators",
				      "Operators by their own wall time per step", true,
				      x->operators, x->operator_count, err);
	if (ret == TL_OK && x->waker_count)
		ret = print_wakers(opt, output, x, err);
	return ret;
}

static int print(const struct explain_options *opt, const struct tl_explain *x,
		 struct tl_error *err)
{
	struct output *output = NULL;
	int ret = output_open(&output, stdout, &opt->output, true, err), closed;

	if (ret == TL_OK)
		ret = output_text(output, x->verdict, err);
	if (ret == TL_OK)
		ret = print_about(output, x, err);
	if (ret == TL_OK)
		ret = print_parts(opt, output, "causes", "Causes, mean per step", x->causes,
				  x->cause_count, err);
	if (ret == TL_OK)
		ret = print_parts(opt, output, "parts", "Parts, mean per step", x->parts,
				  x->part_count, err);
	if (ret == TL_OK && x->has_device)
		ret = print_parts(opt, output, "device",
				  "The device, and what the host did while it starved",
				  x->device_causes, x->device_cause_count, err);
	if (ret == TL_OK)
		ret = print_lists(opt, output, x, err);
	if (ret == TL_OK && (opt->show_steps || opt->output.is_json || opt->output.is_csv))
		ret = print_steps(output, x, err);
	if (ret == TL_OK)
		ret = print_notes(output, x, err);
	closed = output_close(output, err);
	return ret < 0 ? ret : closed;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	const struct explain_options *opt = values;
	const struct case_request request = { .sources = &opt->sources, .want = TL_WANT_ALL };
	const struct tl_explain_options question = { .thread = opt->thread,
						     .has_rank = opt->rank >= 0,
						     .rank = (int32_t)opt->rank,
						     .has_spikes = opt->has_spikes };
	struct tl_store *store = NULL;
	struct tl_explain x;
	int ret = output_check(&opt->output, err);

	if (ret == TL_OK)
		ret = command_open_case(&store, operands, operand_count, &request, err);
	if (ret == TL_OK) {
		ret = tl_explain(store, &question, &x, err);
		if (ret == TL_OK) {
			ret = print(opt, &x, err);
			tl_explain_release(&x);
		}
	}
	tl_store_close(store);
	return ret;
}

const struct command cmd_explain = {
	.name = "explain",
	.usage = "traceloom explain [options] CASE...",
	.summary = "tell what makes slow training steps slow",
	.description =
		"The wall time of every step on the thread that carries the steps is cut into parts "
		"that add up to it, to the nanosecond: running (its own code, which system call, page "
		"faults, compaction, locks it spins on), waiting for a CPU and who had it, asleep and "
		"what for, and what the recording does not tell. Running time is divided among what "
		"samples saw; everything else is measured.\n\n"
		"Slow steps are compared with good ones (see steps): the differences of the means of "
		"the parts add up to the difference of the steps. 95 % intervals of differences are "
		"Welch's, of shares from drawing steps again with a fixed seed; q is the p of a "
		"Mann-Whitney test adjusted for the number of rows (Benjamini-Hochberg). 'of "
		"variance' says whether the part also follows the time of single steps. Causes are "
		"listed until they make 90 % of the difference.\n\n"
		"Where the trace has work of a device, host time matters only while the device starves for "
		"it: the bottleneck is the host where that makes most of the difference, and the device "
		"where it had work; then the causes are what the host did meanwhile. A collective that "
		"lasts longer waits for other ranks: the late one is named where the case has their "
		"traces.\n\n"
		"What can be told depends on what was recorded: perf's switches, wake-ups, samples "
		"with call chains and system calls tell most; strace and a profiler's trace tell the "
		"wall time of calls and operators. What is missing is said at the end, with what "
		"records it. A step that is slow in quite another way than the others, such as a "
		"checkpoint, is told of apart.",
	.examples = examples,
	.options = options,
	.defaults = &defaults,
	.options_size = sizeof(defaults),
	.run = run,
};
