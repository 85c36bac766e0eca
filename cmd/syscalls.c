/*
 * syscalls.c - the syscalls command: from options to the question about system calls.
 */
#include "syscalls.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "reader.h"

enum { TOP_FOR_PEOPLE = 10, LONGEST = 5, HISTOGRAMS = 2 };

struct syscalls_options {
	const char *steps, *thread, *name, *min;
	struct string_list ranges;
	int64_t top;
	bool errors_only, is_check;
	struct output_options output;
	struct source_options sources;
};

static const struct syscalls_options defaults = { .top = -1 };

static const struct command_option options[] = {
	HEADING("which calls are told of"),
	STRING(struct syscalls_options, steps, 0, "steps", "WHICH",
	       "those that began in training steps: slow, good, N, or N-M; what is usual is learnt "
	       "from the good ones in any case"),
	STRINGS(struct syscalls_options, ranges, 't', "time", "A,B",
		"those that began from A until before B: seconds from the start of the case, Unix "
		"seconds, or ISO 8601; may be repeated"),
	STRING(struct syscalls_options, thread, 0, "thread", "WHICH",
	       "those of threads with these ids (N or N,M), or whose name matches a regular "
	       "expression"),
	STRING(struct syscalls_options, name, 'n', "name", "REGEX", "those whose name matches"),
	FLAG(struct syscalls_options, errors_only, 0, "errors", "those that failed"),
	STRING(struct syscalls_options, min, 0, "min", "DURATION",
	       "those that lasted so long: 1ms, 50us, 0.2"),
	HEADING("how it is told"),
	INTEGER(struct syscalls_options, top, 0, "top", "N", 0, 1000000,
		"the first N rows of each table, 0 all; default 10, all for --json and --csv"),
	OUTPUT_OPTIONS(struct syscalls_options, output),
	FLAG(struct syscalls_options, is_check, 0, "check",
	     "exit with status 1 if there is an outlier"),
	HEADING("for raw recordings"),
	SOURCE_OPTIONS(struct syscalls_options, sources),
	OPTIONS_END,
};

static const struct command_example examples[] = {
	{ "traceloom syscalls trace.log", "what hurt, straight from a log of strace -f -ttt -T" },
	{ "traceloom syscalls --steps slow --thread '^python' run.db",
	  "calls of the python threads in slow training steps" },
	{ "traceloom syscalls --name '^ioctl$' --min 5ms --top 50 run.db", "long ioctls" },
	{ "traceloom syscalls --check --json run.db > calls.json", "for a batch job" },
	{ NULL, NULL },
};

/* ---- options to a question -------------------------------------------------------------------- */

/* A number at `text`; bytes used, 0 if there is none. */
static size_t parse_number(const char *text, int64_t *value)
{
	uint64_t number;
	size_t used = tl_parse_u64(text, strspn(text, "0123456789"), 10, &number);

	*value = (int64_t)number;
	return used && number <= INT64_MAX ? used : 0;
}

/* "4711,4712" are ids, all else is a pattern for names. */
static int parse_thread(const char *text, struct tl_syscall_options *question, int32_t **tids,
			struct tl_error *err)
{
	const char *whole = text;
	size_t capacity = 0;

	if (!text)
		return TL_OK;
	if (!*text || text[strspn(text, "0123456789,")]) {
		question->thread_pattern = text;
		return TL_OK;
	}
	while (*text) {
		int64_t id;
		size_t used = parse_number(text, &id);

		if (!used || id > INT32_MAX || (text[used] && !text[used + 1]))
			return tl_fail(err, TL_USAGE, "--thread: '%.100s' is no list of thread ids",
				       whole);
		if (tl_grow(tids, &capacity, question->tid_count + 1, err) < 0)
			return TL_NOMEM;
		(*tids)[question->tid_count++] = (int32_t)id;
		text += used + (text[used] == ',');
	}
	question->tids = *tids;
	return TL_OK;
}

static int parse_ranges(const struct syscalls_options *opt, struct tl_store *store,
			struct tl_time_range *ranges, struct tl_error *err)
{
	struct tl_time_range span;
	int ret = opt->ranges.count ? tl_store_span(store, &span, err) : TL_OK;

	for (size_t i = 0; i < opt->ranges.count && ret == TL_OK; i++)
		ret = command_parse_range(opt->ranges.items[i], span.begin_ns, &ranges[i], err);
	return ret;
}

/* ---- asking ------------------------------------------------------------------------------------- */

static int ask(const struct syscalls_options *opt, struct tl_store *store,
	       const struct tl_syscall_options *question, struct tl_error *err)
{
	bool is_machine = opt->output.is_json || opt->output.is_csv;
	struct tl_call_summaries summaries;
	const struct syscalls_layout layout = {
		.format = opt->output,
		.top = opt->top >= 0 ? (size_t)opt->top
		       : is_machine  ? 0
				     : TOP_FOR_PEOPLE,
		.histograms = HISTOGRAMS,
		.summaries = &summaries,
	};
	struct tl_syscalls calls;
	struct tl_error none = { 0 };
	int ret = tl_call_summaries_load(store, &summaries, err);

	if (ret < 0)
		return ret;
	ret = tl_syscalls(store, question, &calls, &none);
	if (ret == TL_NOTHING && summaries.count) {
		ret = syscalls_print_summaries(&layout, err);
		ret = ret == TL_OK ? EXIT_DONE : ret;
	} else if (ret < 0) {
		*err = none;
	} else {
		ret = syscalls_print(store, &calls, &layout, err);
		if (ret == TL_OK)
			ret = opt->is_check && calls.outlier_count ? EXIT_FOUND : EXIT_DONE;
		tl_syscalls_release(&calls);
	}
	tl_call_summaries_release(&summaries);
	return ret;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	const struct syscalls_options *opt = values;
	struct tl_syscall_options question = { .steps = opt->steps,
					       .name_pattern = opt->name,
					       .errors_only = opt->errors_only,
					       .longest_count = LONGEST };
	struct source_options sources = opt->sources;
	struct case_request request = { .sources = &sources,
					.want = TL_WANT_SYSCALLS | TL_WANT_STEPS | TL_WANT_SAMPLES |
						TL_WANT_PAYLOADS };
	struct tl_time_range *ranges = tl_alloc(opt->ranges.count, sizeof(*ranges), err);
	struct tl_store *store = NULL;
	int32_t *tids = NULL;
	int ret = ranges ? output_check(&opt->output, err) : TL_NOMEM;

	if (ret == TL_OK)
		ret = parse_thread(opt->thread, &question, &tids, err);
	if (ret == TL_OK && opt->min)
		ret = command_parse_duration("--min", opt->min, &question.min_ns, err);
	sources.no_symbols = true; /* no stack is shown */
	/* rows of all calls are needed only where others than the longest ones are asked for */
	request.aggregate_only = !opt->ranges.count && !opt->steps;
	if (ret == TL_OK)
		ret = command_open_case(&store, operands, operand_count, &request, err);
	if (ret == TL_OK)
		ret = parse_ranges(opt, store, ranges, err);
	question.ranges = ranges;
	question.range_count = opt->ranges.count;
	if (ret == TL_OK)
		ret = ask(opt, store, &question, err);
	tl_store_close(store);
	free(ranges);
	free(tids);
	return ret;
}

const struct command cmd_syscalls = {
	.name = "syscalls",
	.usage = "traceloom syscalls [options] CASE...",
	.summary = "tell which system calls cost time, and which only wait",
	.description =
		"The first line names the calls that cost most: those of one thread, name and "
		"operation (of a futex, the request of an ioctl) that took much longer than is "
		"usual for them, by the time they took above it. What is usual is learnt from good "
		"training steps where steps are known; else from the calls before they became "
		"slow, if there is such a moment, or from all of them; durations may have several "
		"modes, and the slowest that has 5 % of the calls is still usual.\n\n"
		"Idle waits are never outliers: those of a thread that waits for 90 % of its time "
		"or more (unless it carries the training steps, or began to wait so much when its "
		"locks became slow), and calls that their own timer ended.\n\n"
		"CASE is a case file, or recordings that are read directly: logs of strace and "
		"ltrace, perf.data with raw_syscalls:sys_enter and sys_exit. A call that two of "
		"them tell of counts once. Calls belong to the step or time in which they begin.",
	.examples = examples,
	.options = options,
	.defaults = &defaults,
	.options_size = sizeof(struct syscalls_options),
	.run = run,
};
