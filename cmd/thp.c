/*
 * thp.c - the thp command: prints whether transparent huge pages made training steps slow, and what
 * that rests on.
 */
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

struct thp_options {
	const char *thread;
	int64_t rank;
	bool is_check;
	struct output_options output;
	struct source_options sources;
};

static const struct thp_options defaults = { .rank = -1 };

static const struct command_option options[] = {
	STRING(struct thp_options, thread, 0, "thread", "WHICH",
	       "the thread to judge: its id, or a regular expression for its name; default the one "
	       "that carries the steps"),
	INTEGER(struct thp_options, rank, 0, "rank", "N", 0, INT32_MAX, "steps of this rank"),
	FLAG(struct thp_options, is_check, 0, "check",
	     "exit with 1 when huge pages are confirmed, or contribute"),
	OUTPUT_OPTIONS(struct thp_options, output),
	HEADING("for raw recordings"),
	SOURCE_OPTIONS(struct thp_options, sources),
	OPTIONS_END,
};

static const struct command_example examples[] = {
	{ "traceloom thp run.db", "the verdict, and what it rests on" },
	{ "traceloom thp perf.data rank0.pt.trace.json.gz", "straight from recordings" },
	{ "traceloom thp --check --json run.db > thp.json", "for a batch job" },
	{ NULL, NULL },
};

/* ---- words, for people ---- */

#define TEXT_WIDTH 98

/* Words with a newline and `indent` blanks where the line would be too long; the first has `column`. */
static void add_wrapped(struct tl_text *t, const char *text, size_t column, size_t indent)
{
	while (*text) {
		size_t word = strcspn(text, " ");

		if (column > indent && column + 1 + word > TEXT_WIDTH) {
			tl_text_printf(t, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			tl_text_puts(t, " ");
			column++;
		}
		tl_text_add(t, text, word);
		column += word;
		text += word;
		text += *text == ' ';
	}
}

static int put_text(struct output *output, struct tl_text *t, struct tl_error *err)
{
	int ret = t->failed ? tl_fail(err, TL_NOMEM, "out of memory")
			    : output_text(output, t->data ? t->data : "", err);

	tl_text_release(t);
	return ret;
}

static void add_item(struct tl_text *t, const char *label, const char *text)
{
	size_t indent = 2;

	if (!text)
		return;
	tl_text_puts(t, t->length ? "\n  " : "  ");
	tl_text_puts(t, label);
	add_wrapped(t, text, indent + strlen(label), indent + strlen(label));
}

static int say_verdict(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	struct tl_text text = { 0 };
	char shown[4096];

	tl_printable(shown, sizeof(shown), t->text, strlen(t->text));
	add_wrapped(&text, shown, 0, 0);
	return put_text(output, &text, err);
}

static int say_contradictions(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	struct tl_text text = { 0 };

	if (!t->contradiction_count)
		return TL_OK;
	tl_text_puts(&text, "What speaks against it");
	for (size_t i = 0; i < t->contradiction_count; i++)
		add_item(&text, "- ", t->contradictions[i]);
	return put_text(output, &text, err);
}

static int say_missing(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	struct tl_text text = { 0 };

	if (!t->missing_count)
		return TL_OK;
	tl_text_puts(&text, "What is missing");
	for (size_t i = 0; i < t->missing_count; i++) {
		add_item(&text, "- ", t->missing[i].what);
		/* whole: to be pasted */
		tl_text_printf(&text, "\n      %s", t->missing[i].command);
	}
	return put_text(output, &text, err);
}

static int say_advice(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	struct tl_text text = { 0 };

	if (!t->advice_count)
		return TL_OK;
	tl_text_puts(&text, "Advice");
	for (size_t i = 0; i < t->advice_count; i++) {
		add_item(&text, "- ", t->advice[i].finding);
		add_item(&text, "  try: ", t->advice[i].advice);
		add_item(&text, "  not if: ", t->advice[i].unless);
	}
	return put_text(output, &text, err);
}

/* ---- tables ---- */

static int print_verdict(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "verdict", "verdict", COLUMN_TEXT, false },
		{ "reason", "because", COLUMN_TEXT, false },
		{ "text", "in words", COLUMN_TEXT, true },
		{ "thread", "thread", COLUMN_TEXT, false },
		{ "pid", "pid", COLUMN_INTEGER, true },
		{ "tid", "tid", COLUMN_INTEGER, false },
		{ "rank", "rank", COLUMN_INTEGER, false },
		{ "step_source", "steps of", COLUMN_TEXT, false },
		{ "step_count", "steps", COLUMN_INTEGER, false },
		{ "slow_count", "slow", COLUMN_INTEGER, false },
		{ "good_count", "of the baseline", COLUMN_INTEGER, false },
		{ "apart_count", "slow in another way", COLUMN_INTEGER, false },
		{ "baseline_ns", "baseline", COLUMN_DURATION, false },
		{ "slow_mean_ns", "mean slow step", COLUMN_DURATION, false },
		{ "excess_ns", "excess of all", COLUMN_DURATION, false },
		{ "share_ratio", "explained", COLUMN_RATIO, false },
		{ "share_low_ratio", "95 % from", COLUMN_RATIO, false },
		{ "share_high_ratio", "to", COLUMN_RATIO, false },
		{ "direct_ratio", "by direct work", COLUMN_RATIO, false },
		{ "stolen_ratio", "by stolen CPUs", COLUMN_RATIO, false },
		{ "lock_ratio", "by lock waits", COLUMN_RATIO, false },
		{ "is_direct_seen", "direct work was recorded", COLUMN_FLAG, false },
		{ "is_stolen_seen", "stolen CPUs were recorded", COLUMN_FLAG, false },
		{ "is_lock_seen", "lock waits were recorded", COLUMN_FLAG, false },
		{ "is_activity_seen", "daemons were recorded", COLUMN_FLAG, false },
		{ "clock_residual_ns", "clocks agree within", COLUMN_DURATION, true },
		{ "clocks", "clocks", COLUMN_TEXT, false },
	};
	const struct cell cells[COUNT(columns)] = {
		cell_text(t->verdict),
		cell_text(t->reason),
		cell_text(t->text),
		cell_text(t->thread),
		cell_id(t->pid),
		cell_id(t->tid),
		cell_id(t->rank),
		cell_text(t->step_source),
		cell_integer((int64_t)t->step_count),
		cell_integer((int64_t)t->slow_count),
		cell_integer((int64_t)t->good_count),
		cell_integer((int64_t)t->apart_count),
		cell_ns(t->good_count ? t->baseline_ns : NAN),
		cell_ns(t->slow_mean_ns),
		cell_ns(t->slow_count ? t->excess_ns : NAN),
		cell_real(t->share),
		cell_real(t->share_low),
		cell_real(t->share_high),
		cell_real(t->mechanism_share[TL_THP_DIRECT]),
		cell_real(t->mechanism_share[TL_THP_STOLEN]),
		cell_real(t->mechanism_share[TL_THP_LOCK]),
		cell_flag(t->is_seen[TL_THP_DIRECT]),
		cell_flag(t->is_seen[TL_THP_STOLEN]),
		cell_flag(t->is_seen[TL_THP_LOCK]),
		cell_flag(t->sees_activity),
		t->residual_ns >= 0 ? cell_integer(t->residual_ns) : cell_unknown(),
		t->clocks && *t->clocks ? cell_text(t->clocks) : cell_unknown(),
	};

	return output_record(output, "verdict", "Verdict", columns, COUNT(columns), cells, err);
}

static int print_evidence(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "mechanism", "mechanism", COLUMN_TEXT, false },
		{ "what", "the thread, or the daemon, is", COLUMN_TEXT, false },
		{ "slow_ns", "slow step", COLUMN_DURATION, false },
		{ "good_ns", "good step", COLUMN_DURATION, false },
		{ "share_ratio", "of the excess", COLUMN_RATIO, false },
		{ "share_low_ratio", "95 % from", COLUMN_RATIO, false },
		{ "share_high_ratio", "to", COLUMN_RATIO, false },
		{ "p", "p", COLUMN_REAL, false },
		{ "count", "n", COLUMN_INTEGER, false },
		{ "unit", "of", COLUMN_TEXT, false },
		{ "event", "event", COLUMN_TEXT, false },
		{ "source", "source", COLUMN_TEXT, true },
		{ "is_counted", "counted", COLUMN_FLAG, true },
	};
	int ret = output_table(output, "evidence", "Evidence: means of a step", columns,
			       COUNT(columns), err);

	for (size_t i = 0; i < t->evidence_count && ret == TL_OK; i++) {
		const struct tl_thp_evidence *e = &t->evidence[i];
		const struct cell cells[COUNT(columns)] = {
			cell_text(tl_thp_mechanism_name(e->mechanism)),
			cell_text(e->what),
			cell_ns(e->slow_ns),
			cell_ns(e->good_ns),
			cell_real(e->share),
			cell_real(e->share_low),
			cell_real(e->share_high),
			cell_real(e->p),
			cell_integer((int64_t)e->count),
			cell_text(e->unit),
			cell_text(e->event),
			cell_text(e->source),
			cell_flag(e->is_counted),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_course(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "first_step", "from step", COLUMN_INTEGER, false },
		{ "last_step", "to", COLUMN_INTEGER, false },
		{ "step_count", "steps", COLUMN_INTEGER, false },
		{ "excess_ns", "excess", COLUMN_DURATION, false },
		{ "direct_ns", "direct", COLUMN_DURATION, false },
		{ "stolen_ns", "stolen", COLUMN_DURATION, false },
		{ "lock_ns", "lock", COLUMN_DURATION, false },
		{ "share_ratio", "explained", COLUMN_RATIO, false },
		{ "activity_ns", "daemons at work", COLUMN_DURATION, false },
	};
	int ret = output_table(output, "course", "Course of the slow steps: means of a step",
			       columns, COUNT(columns), err);

	for (size_t i = 0; i < t->course_count && ret == TL_OK; i++) {
		const struct tl_thp_course *c = &t->course[i];
		bool is_known = false;
		double sum = 0;

		for (int k = 0; k < TL_THP_MECHANISM_COUNT; k++) {
			is_known |= isfinite(c->mechanism_ns[k]);
			sum += isfinite(c->mechanism_ns[k]) ? c->mechanism_ns[k] : 0;
		}
		const struct cell cells[COUNT(columns)] = {
			cell_integer(c->first_step),
			cell_integer(c->last_step),
			cell_integer((int64_t)c->step_count),
			cell_ns(c->excess_ns),
			cell_ns(c->mechanism_ns[TL_THP_DIRECT]),
			cell_ns(c->mechanism_ns[TL_THP_STOLEN]),
			cell_ns(c->mechanism_ns[TL_THP_LOCK]),
			cell_real(is_known && c->excess_ns > 0 ? sum / c->excess_ns : NAN),
			cell_ns(c->activity_ns),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

enum { EPOCH_STEPS_FOR_PEOPLE = 12 };

static int print_epochs(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "offset", "steps since", COLUMN_INTEGER, false },
		{ "checkpoint_count", "checkpoints", COLUMN_INTEGER, false },
		{ "step_ratio", "step to baseline", COLUMN_RATIO, false },
		{ "step_low_ratio", "95 % from", COLUMN_RATIO, false },
		{ "step_high_ratio", "to", COLUMN_RATIO, false },
		{ "mechanism_ns", "memory management", COLUMN_DURATION, false },
		{ "activity_ns", "daemons at work", COLUMN_DURATION, false },
	};
	int ret = output_table(output, "epochs", "Steps around checkpoints: means over checkpoints",
			       columns, COUNT(columns), err);

	for (size_t i = 0; i < t->epoch_count && ret == TL_OK; i++) {
		const struct tl_thp_epoch *e = &t->epochs[i];
		const struct cell cells[COUNT(columns)] = {
			cell_integer(e->offset),  cell_integer((int64_t)e->checkpoint_count),
			cell_real(e->ratio),	  cell_real(e->ratio_low),
			cell_real(e->ratio_high), cell_ns(e->mechanism_ns),
			cell_ns(e->activity_ns),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int say_epochs(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	struct tl_thp near = *t;

	while (near.epoch_count &&
	       near.epochs[near.epoch_count - 1].offset > EPOCH_STEPS_FOR_PEOPLE)
		near.epoch_count--;
	return near.epoch_count ? print_epochs(output, &near, err) : TL_OK;
}

static int print_tests(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "name", "test", COLUMN_TEXT, false },
		{ "value", "value", COLUMN_REAL, false },
		{ "p", "p", COLUMN_REAL, false },
		{ "count", "n", COLUMN_INTEGER, false },
		{ "what", "what it says", COLUMN_TEXT, false },
	};
	int ret = output_table(output, "tests", "Tests", columns, COUNT(columns), err);

	for (size_t i = 0; i < t->test_count && ret == TL_OK; i++) {
		const struct tl_thp_test *x = &t->tests[i];
		const struct cell cells[COUNT(columns)] = {
			cell_text(x->name),
			cell_real(x->value),
			cell_real(x->p),
			x->count ? cell_integer((int64_t)x->count) : cell_unknown(),
			cell_text(x->what),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_counters(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "name", "counter", COLUMN_TEXT, false },
		{ "slow_per_second", "a second in slow steps", COLUMN_REAL, false },
		{ "good_per_second", "in good ones", COLUMN_REAL, false },
		{ "rho", "with durations", COLUMN_REAL, false },
		{ "p", "p", COLUMN_REAL, false },
		{ "count", "readings", COLUMN_INTEGER, false },
		{ "source", "source", COLUMN_TEXT, true },
	};
	int ret = output_table(output, "counters", "Counters", columns, COUNT(columns), err);

	for (size_t i = 0; i < t->counter_count && ret == TL_OK; i++) {
		const struct tl_thp_counter *c = &t->counters[i];
		const struct cell cells[COUNT(columns)] = {
			cell_text(c->name),	 cell_real(c->slow_rate),
			cell_real(c->good_rate), cell_real(c->rho),
			cell_real(c->p),	 cell_integer((int64_t)c->count),
			cell_text(c->source),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_settings(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = { { "name", "setting", COLUMN_TEXT, false },
						 { "value", "value", COLUMN_TEXT, false } };
	int ret = output_table(output, "settings", "Settings", columns, COUNT(columns), err);

	for (size_t i = 0; i < t->setting_count && ret == TL_OK; i++) {
		const struct cell cells[COUNT(columns)] = { cell_text(t->settings[i].name),
							    cell_text(t->settings[i].value) };

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_contradictions(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = { { "what", "what speaks against it", COLUMN_TEXT,
						   false } };
	int ret = output_table(output, "contradictions", "What speaks against it", columns,
			       COUNT(columns), err);

	for (size_t i = 0; i < t->contradiction_count && ret == TL_OK; i++) {
		const struct cell cells[COUNT(columns)] = { cell_text(t->contradictions[i]) };

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_missing(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "what", "was not recorded", COLUMN_TEXT, false },
		{ "command", "record it with", COLUMN_TEXT, false },
	};
	int ret = output_table(output, "missing", "What is missing", columns, COUNT(columns), err);

	for (size_t i = 0; i < t->missing_count && ret == TL_OK; i++) {
		const struct cell cells[COUNT(columns)] = { cell_text(t->missing[i].what),
							    cell_text(t->missing[i].command) };

		ret = output_row(output, cells, err);
	}
	return ret;
}

static int print_advice(struct output *output, const struct tl_thp *t, struct tl_error *err)
{
	static const struct column columns[] = {
		{ "finding", "because", COLUMN_TEXT, false },
		{ "advice", "try", COLUMN_TEXT, false },
		{ "unless", "does not help when", COLUMN_TEXT, false },
	};
	int ret = output_list(output, "advice", "Advice", columns, COUNT(columns), err);

	for (size_t i = 0; i < t->advice_count && ret == TL_OK; i++) {
		const struct cell cells[COUNT(columns)] = { cell_text(t->advice[i].finding),
							    cell_text(t->advice[i].advice),
							    cell_text(t->advice[i].unless) };

		ret = output_row(output, cells, err);
	}
	return ret;
}

/* ---- the command ---- */

typedef int (*part_fn)(struct output *output, const struct tl_thp *t, struct tl_error *err);

static int print(const struct thp_options *opt, const struct tl_thp *t, struct tl_error *err)
{
	static const part_fn for_people[] = { say_verdict,    print_verdict,  print_evidence,
					      print_course,   say_epochs,     print_tests,
					      print_counters, print_settings, say_contradictions,
					      say_missing,    say_advice,     NULL };
	static const part_fn for_machines[] = { print_verdict,
						print_evidence,
						print_course,
						print_epochs,
						print_tests,
						print_counters,
						print_settings,
						print_contradictions,
						print_missing,
						print_advice,
						NULL };
	bool is_machine = opt->output.is_json || opt->output.is_csv;
	struct output *output = NULL;
	int ret = output_open(&output, stdout, &opt->output, true, err);
	int closed;

	if (ret < 0)
		return ret;
	for (const part_fn *part = is_machine ? for_machines : for_people; *part && ret == TL_OK;
	     part++) {
		/* people see no empty tables of what is rarely there */
		bool is_empty = (*part == print_counters && !t->counter_count) ||
				(*part == print_settings && !t->setting_count) ||
				(*part == print_course && !isfinite(t->share));

		if (is_machine || !is_empty)
			ret = (*part)(output, t, err);
	}
	closed = output_close(output, err);
	return ret < 0 ? ret : closed;
}

static bool is_found(const struct tl_thp *t)
{
	return t->answer == TL_THP_IS_CONFIRMED || t->answer == TL_THP_IS_CONTRIBUTING;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	const struct thp_options *opt = values;
	const struct case_request request = { .sources = &opt->sources, .want = TL_WANT_ALL };
	const struct tl_thp_options question = { .thread = opt->thread,
						 .has_rank = opt->rank >= 0,
						 .rank = (int32_t)opt->rank };
	struct tl_store *store = NULL;
	struct tl_thp thp;
	int ret = output_check(&opt->output, err);

	if (ret == TL_OK)
		ret = command_open_case(&store, operands, operand_count, &request, err);
	if (ret < 0)
		return ret;
	ret = tl_thp(store, &question, &thp, err);
	if (ret == TL_OK) {
		ret = print(opt, &thp, err);
		if (ret == TL_OK && opt->is_check && is_found(&thp))
			ret = EXIT_FOUND;
		tl_thp_release(&thp);
	}
	tl_store_close(store);
	return ret;
}

const struct command cmd_thp = {
	.name = "thp",
	.usage = "traceloom thp [options] CASE...",
	.summary = "tell whether transparent huge pages made steps slow",
	.description =
		"Answers with one of: confirmed (at least half of what slow steps take longer), "
		"contributes (a part, surely more than a twentieth), possible (they go together, "
		"but how one makes the other was not recorded), undecided (a common cause, such as "
		"a checkpoint, explains it as well), not supported (what was recorded speaks "
		"against it), not observable (what was recorded could not have shown it).\n\n"
		"The time of the mechanism decides, never correlation alone: what the thread does "
		"for its own huge pages (direct: compaction, reclaim, zeroing, splitting), the CPU "
		"time that khugepaged and kcompactd take from it while it is runnable (stolen), and "
		"its waits for locks of the address space while a collapse holds them (lock), asleep "
		"or spinning. Their sum in slow steps, above that in steps of the baseline, is a "
		"share of the excess, with an interval and an upper bound. Compaction and reclaim "
		"count where their order is that of a huge page.\n\n"
		"Needs training steps with times (a profiler's trace, or a log), and slow ones among "
		"them: without any the status is 3. Works from "
		"perf.data beside them, best of all CPUs, and from strace's log, which can say "
		"\"possible\" at most. What was not recorded is listed with the command that "
		"records it; advice is given for what was found only, with what it depends on.",
	.examples = examples,
	.options = options,
	.defaults = &defaults,
	.options_size = sizeof(struct thp_options),
	.run = run,
};
