/*
 * syscalls.c - the syscalls command: from options to the question about system calls.
 */
#include "syscalls.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "reader.h"

enum { TOP_FOR_PEOPLE = 10, LONGEST = 5, HISTOGRAMS = 2 };

#define CHECK_COST_NS 10000000

struct syscalls_options {
	const char *steps, *thread, *name, *min, *check_cost;
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
	       "those that began in training steps: slow, good, apart, spike, N, or N-M; what is usual is learnt "
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
	     "exit with status 1 if there is an outlier that cost enough, or a call that hangs; 3 if "
	     "no durations tell"),
	STRING(struct syscalls_options, check_cost, 0, "check-cost", "DURATION",
	       "what outliers of one thread, name and operation must have cost together to count "
	       "for --check; default 10ms: on a busy machine any call is late now and then"),
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

/* Outliers come by cost: the first decides. */
static enum exit_status check(const struct tl_syscalls *calls, int64_t cost_ns)
{
	int64_t longest = 0;

	if (calls->hanging_count || (calls->outlier_count && calls->outliers[0].cost_ns >= cost_ns))
		return EXIT_FOUND;
	for (size_t i = 0; i < calls->sum_count; i++)
		longest = calls->sums[i].max_ns > longest ? calls->sums[i].max_ns : longest;
	return longest ? EXIT_DONE : EXIT_NOTHING;
}

static int ask(const struct syscalls_options *opt, struct tl_store *store,
	       const struct tl_syscall_options *question, int64_t check_cost_ns,
	       struct tl_error *err)
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
		if (calls.clock[0] && !opt->sources.is_quiet)
			tell("%s%s", calls.is_clock_refused ? "not judged by steps: " : "",
			     calls.clock);
		ret = syscalls_print(store, &calls, &layout, err);
		if (ret == TL_OK)
			ret = opt->is_check ? check(&calls, check_cost_ns) : EXIT_DONE;
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
	int64_t check_cost_ns = CHECK_COST_NS;
	int32_t *tids = NULL;
	int ret = ranges ? output_check(&opt->output, err) : TL_NOMEM;

	if (ret == TL_OK)
		ret = parse_thread(opt->thread, &question, &tids, err);
	if (ret == TL_OK && opt->min)
		ret = command_parse_duration("--min", opt->min, &question.min_ns, err);
	if (ret == TL_OK && opt->check_cost)
		ret = command_parse_duration("--check-cost", opt->check_cost, &check_cost_ns, err);
	if (ret == TL_OK && opt->check_cost && !opt->is_check)
		ret = tl_fail(err, TL_USAGE, "--check-cost says what --check counts: give both");
	sources.no_symbols = true; /* no stack is shown */
	/* rows of all calls are needed only where others than the longest ones are asked for */
	request.aggregate_only = !opt->ranges.count && !opt->steps && !opt->errors_only;
	if (ret == TL_OK)
		ret = command_open_case(&store, operands, operand_count, &request, err);
	if (ret == TL_OK)
		ret = parse_ranges(opt, store, ranges, err);
	question.ranges = ranges;
	question.range_count = opt->ranges.count;
	if (ret == TL_OK)
		ret = ask(opt, store, &question, check_cost_ns, err);
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
		"training steps where steps are known; else from the times when calls were not "
		"slow, if they were slow in one to three episodes, or from all of them; durations "
		"may have several modes, and the slowest that has 5 % of the calls is still "
		"usual.\n\n"
		"A call that does not wait, that had not ended when its log or its thread did, and "
		"that went on for 0.1 s and for longer than any other of its name and operation, "
		"hangs: that is a finding, too.\n\n"
		"Idle waits are never outliers: those of a thread that waits for 90 % of its time "
		"or more (unless it carries the training steps, began to wait so much when its "
		"locks became slow, or waits for a lock that it hardly waited for before), and "
		"calls that their own timer ended in time.\n\n"
		"Two kinds of slow calls are told apart from outliers, as suspects: waits for what "
		"comes from outside (poll, read from a socket, wait4; not locks) that became "
		"longer, as it may just come more rarely; and slow calls that are 5 % of their "
		"kind or more, all the time. What is slow from the first call to the last cannot "
		"be seen here.\n\n"
		"CASE is a case file, or recordings that are read directly: logs of strace and "
		"ltrace, perf.data with raw_syscalls:sys_enter and sys_exit. A call that two of "
		"them tell of counts once. Calls belong to the step or time in which they begin.",
	.examples = examples,
	.options = options,
	.defaults = &defaults,
	.options_size = sizeof(struct syscalls_options),
	.run = run,
};
