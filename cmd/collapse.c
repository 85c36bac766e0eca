/*
 * collapse.c - the collapse command: folded stacks on stdout, what they are on stderr.
 */
#include "command.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collapse_diff.h"
#include "memory.h"
#include "reader.h"

struct collapse_options {
	const char *event, *comm, *window, *out_dir, *steps, *diff;
	struct string_list ranges, excludes;
	struct integer_list tids;
	enum tl_fold_weight weight;
	enum tl_fold_root root;
	enum tl_fold_compat compat;
	bool offcpu, wakeup, syscalls, trace_ops, show_state;
	bool pid_root, tid_root;
	bool annotate_kernel, annotate_jit, annotate_all, show_addresses;
	bool user_only, kernel_only, no_idle;
	int64_t max_depth, min_weight, rank;
	struct source_options sources;
};

static const struct collapse_options defaults = { .rank = -1 };

static const char *const weights[] = { "period", "count", "ns", "us", NULL };
static const char *const roots[] = { "comm", "none", "pid", "tid", "cgroup", NULL };
static const char *const compats[] = { "native", "perl", "perl-trace", "inferno", NULL };

static const struct command_option options[] = {
	HEADING("what is folded"),
	STRING(struct collapse_options, event, 'e', "event", "NAME",
	       "samples of this event; default the one that came first"),
	FLAG(struct collapse_options, offcpu, 0, "offcpu",
	     "time that threads were off the CPU, by where they left it"),
	FLAG(struct collapse_options, wakeup, 0, "wakeup",
	     "time that threads slept, by where they left the CPU and, after '--', by whom and "
	     "where they were woken"),
	FLAG(struct collapse_options, syscalls, 0, "syscalls",
	     "time in system calls, process;thread;call and, where it was recorded, the stack"),
	FLAG(struct collapse_options, trace_ops, 0, "trace-ops",
	     "spans of a profiler by self time: rank, thread or stream, operators; steps are folded "
	     "without their number; spans begun here and ended there are a row for each id"),
	WORD(struct collapse_options, weight, 'w', "weight", "WORD", weights,
	     "what a stack counts: period (as recorded), count (samples, spans), ns, us; default "
	     "period, us for time off the CPU, in calls and of spans"),
	HEADING("what of it"),
	STRINGS(struct collapse_options, ranges, 't', "time", "A,B",
		"only from A until before B: seconds from the start of the case (12.5, 500ms), Unix "
		"seconds, or ISO 8601; may be repeated"),
	STRING(struct collapse_options, steps, 0, "steps", "WHICH",
	       "only during training steps: slow, good, apart, spike (see steps), a number N, or N-M"),
	STRING(struct collapse_options, diff, 0, "diff", "WHICH",
	       "with --steps: two columns, of the steps WHICH (good, ...) and of those of --steps, "
	       "each the mean per step"),
	INTEGER(struct collapse_options, rank, 0, "rank", "N", 0, INT32_MAX,
		"with --trace-ops: only this rank"),
	STRING(struct collapse_options, comm, 0, "comm", "REGEX",
	       "only threads whose name matches"),
	INTEGERS_OR_FLAG(struct collapse_options, tids, tid_root, 0, "tid", "[N]", 0, INT32_MAX,
			 "with numbers (N or N,M): only these threads; without: the same as --root "
			 "tid"),
	FLAG(struct collapse_options, no_idle, 0, "no-idle", "leave out the idle task"),
	FLAG(struct collapse_options, user_only, 0, "user-only", "leave out frames of the kernel"),
	FLAG(struct collapse_options, kernel_only, 0, "kernel-only",
	     "leave out frames of programs"),
	STRINGS(struct collapse_options, excludes, 'x', "exclude", "REGEX",
		"leave out stacks that have a matching frame, with --syscalls also calls whose name "
		"matches; may be repeated"),
	INTEGER(struct collapse_options, max_depth, 0, "max-depth", "N", 1, INT32_MAX,
		"only the N outermost frames"),
	INTEGER(struct collapse_options, min_weight, 0, "min", "N", 1, INT64_MAX,
		"leave out lines that count less"),
	HEADING("how it is written"),
	WORD(struct collapse_options, root, 0, "root", "WORD", roots,
	     "the first frame: comm, none, pid (comm-PID), tid (comm-PID/TID), cgroup (the group, "
	     "then comm); default comm"),
	FLAG(struct collapse_options, pid_root, 0, "pid", "the same as --root pid"),
	FLAG(struct collapse_options, annotate_kernel, 0, "kernel",
	     "mark frames of the kernel with _[k]"),
	FLAG(struct collapse_options, annotate_jit, 0, "jit",
	     "mark frames of just-in-time compilers with _[j]"),
	FLAG(struct collapse_options, annotate_all, 0, "all", "--kernel and --jit"),
	FLAG(struct collapse_options, show_addresses, 0, "addrs",
	     "show the address of frames without a name: the kernel's in memory, a program's in its "
	     "file, as perf script does"),
	FLAG(struct collapse_options, show_state, 0, "state",
	     "end stacks off the CPU with why: [S] asleep, [D] uninterruptible, [R] runnable, [T] "
	     "stopped, [P] parked, [I] idle kernel thread, [?] unknown"),
	WORD(struct collapse_options, compat, 0, "compat", "WORD", compats,
	     "native (correct), or bug for bug as the output of 'perf script -F "
	     "comm,pid,tid,time,period,event,ip,sym,dso' (perl) or of plain 'perf script' "
	     "(perl-trace) through stackcollapse-perf.pl, or through inferno-collapse-perf "
	     "(inferno); default native; the others exclude --inline"),
	STRING(struct collapse_options, window, 0, "window", "DURATION",
	       "a file for each window of this length: 10s, 500ms, 1.5; excludes --time"),
	FILE_NAME(struct collapse_options, out_dir, 0, "out-dir", "DIR",
		  "where the windows go: DIR/0000.folded is the first"),
	HEADING("for raw recordings"),
	SOURCE_OPTIONS(struct collapse_options, sources),
	OPTIONS_END,
};

static const struct command_example examples[] = {
	{ "traceloom collapse perf.data | flamegraph.pl > cpu.svg", "draw a recording" },
	{ "traceloom collapse --offcpu run.db | flamegraph.pl --color=io --countname=us > off.svg",
	  "where the time went that no CPU was used" },
	{ "traceloom collapse --syscalls trace.log | flamegraph.pl --countname=us > calls.svg",
	  "where threads spend their time in system calls" },
	{ "traceloom collapse --time 10,12.5 --comm '^python' --weight ns run.db",
	  "two and a half seconds of the python threads" },
	{ "traceloom collapse --steps slow --diff good run.db | flamegraph.pl > diff.svg",
	  "what slow training steps do that good ones do not, per step" },
	{ "traceloom collapse --window 10s --out-dir windows run.db",
	  "one file every ten seconds" },
	{ NULL, NULL },
};

/* ---- options to a question ---------------------------------------------------------------- */

/* Options that mean nothing for spans are not silently ignored. */
static int check_trace_ops(const struct collapse_options *opt, struct tl_error *err)
{
	const struct {
		bool is_given;
		const char *option, *instead;
	} others[] = {
		{ opt->window != NULL, "--window", "use --time" },
		{ opt->event != NULL, "--event", "it is for samples" },
		{ opt->tids.count > 0, "--tid", "use --comm with the text of a row" },
		{ opt->root != TL_ROOT_COMM || opt->pid_root || opt->tid_root, "--root",
		  "rows are what they are called" },
		{ opt->no_idle, "--no-idle", "it is for samples" },
		{ opt->user_only || opt->kernel_only, "--user-only and --kernel-only",
		  "it is for samples" },
		{ opt->annotate_kernel || opt->annotate_jit || opt->annotate_all, "--all",
		  "it is for samples" },
		{ opt->show_addresses, "--addrs", "it is for samples" },
		{ opt->show_state, "--state", "it is for time off the CPU" },
		{ opt->compat != TL_COMPAT_NATIVE, "--compat", "it is for samples" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].is_given)
			return tl_fail(err, TL_USAGE, "%s does not go with --trace-ops: %s",
				       others[i].option, others[i].instead);
	return TL_OK;
}

static int check(const struct collapse_options *opt, struct tl_error *err)
{
	bool has_root = opt->root != TL_ROOT_COMM;

	if (opt->offcpu + opt->wakeup + opt->syscalls + opt->trace_ops > 1)
		return tl_fail(
			err, TL_USAGE,
			"--offcpu, --wakeup, --syscalls and --trace-ops are different questions");
	if (opt->syscalls && (opt->no_idle || opt->event))
		return tl_fail(err, TL_USAGE, "--%s does not go with --syscalls: it is for samples",
			       opt->event ? "event" : "no-idle");
	if (opt->rank >= 0 && !opt->trace_ops)
		return tl_fail(err, TL_USAGE, "--rank goes with --trace-ops only");
	if (opt->diff && !opt->steps)
		return tl_fail(err, TL_USAGE,
			       "--diff needs --steps: two kinds of steps are compared");
	if (opt->steps && (opt->window || opt->ranges.count))
		return tl_fail(err, TL_USAGE, "--steps excludes --time and --window");
	if (opt->trace_ops)
		return check_trace_ops(opt, err);
	if ((opt->pid_root && opt->tid_root) || (has_root && (opt->pid_root || opt->tid_root)))
		return tl_fail(err, TL_USAGE,
			       "only one of --root, --pid and a bare --tid is "
			       "possible");
	if (opt->compat != TL_COMPAT_NATIVE && opt->sources.want_inlines)
		return tl_fail(err, TL_USAGE, "--compat %s and --inline exclude each other",
			       compats[opt->compat]);
	if (!opt->window != !opt->out_dir)
		return tl_fail(err, TL_USAGE, "--window and --out-dir need each other");
	if (opt->window && opt->ranges.count)
		return tl_fail(err, TL_USAGE, "--window and --time exclude each other");
	return TL_OK;
}

static void fill_question(const struct collapse_options *opt, struct tl_fold_options *fold)
{
	*fold = (struct tl_fold_options) {
		.what = opt->offcpu	? TL_FOLD_OFFCPU
			: opt->wakeup	? TL_FOLD_WAKEUP
			: opt->syscalls ? TL_FOLD_CALLS
					: TL_FOLD_EVENT,
		.event = opt->event,
		.weight = opt->weight,
		.root = opt->pid_root	? TL_ROOT_PID
			: opt->tid_root ? TL_ROOT_TID
					: opt->root,
		.compat = opt->compat,
		.annotate_kernel = opt->annotate_kernel || opt->annotate_all,
		.annotate_jit = opt->annotate_jit || opt->annotate_all,
		.show_addresses = opt->show_addresses,
		.user_only = opt->user_only,
		.kernel_only = opt->kernel_only,
		.no_idle = opt->no_idle,
		.show_inlined = opt->sources.want_inlines,
		.show_state = opt->show_state,
		.comm_pattern = opt->comm,
		.exclude_patterns = opt->excludes.items,
		.exclude_count = opt->excludes.count,
		.max_depth = (uint32_t)opt->max_depth,
		.min_weight = (uint64_t)opt->min_weight,
	};
}

/* Ranges and thread ids, in the form that the question has them; both are freed by the caller. */
static int fill_lists(const struct collapse_options *opt, struct tl_store *store,
		      struct tl_time_range *ranges, int32_t *tids, struct tl_error *err)
{
	struct tl_time_range span;
	int ret = opt->ranges.count ? tl_store_span(store, &span, err) : TL_OK;

	for (size_t i = 0; i < opt->ranges.count && ret == TL_OK; i++)
		ret = command_parse_range(opt->ranges.items[i], span.begin_ns, &ranges[i], err);
	for (size_t i = 0; i < opt->tids.count; i++)
		tids[i] = (int32_t)opt->tids.items[i];
	return ret;
}

/* ---- results ------------------------------------------------------------------------------ */

static void print_lines(FILE *out, const struct tl_folded *folded)
{
	for (size_t i = 0; i < folded->line_count; i++)
		fprintf(out, "%s %" PRIu64 "\n", folded->lines[i].text, folded->lines[i].weight);
}

static void add_count(struct tl_text *note, uint64_t count, const char *what)
{
	if (count)
		tl_text_printf(note, "; %" PRIu64 " %s", count, what);
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* What was folded, and everything that was not. */
static void tell_result(const struct collapse_options *opt, const struct tl_folded *f,
			uint64_t line_count, const char *more)
{
	bool is_event = !opt->offcpu && !opt->wakeup && !opt->syscalls;
	const char *what = opt->trace_ops  ? "span"
			   : is_event	   ? "sample"
			   : opt->syscalls ? "call"
					   : "interval";
	struct tl_text note = { 0 };

	tl_text_printf(&note, "%s: %" PRIu64 " %s%s on %" PRIu64 " line%s, %" PRIu64 " %s%s%s",
		       f->event, f->sample_count, what, plural(f->sample_count), line_count,
		       plural(line_count), f->total_weight, f->unit,
		       is_event && !opt->trace_ops && opt->weight == TL_WEIGHT_PERIOD ? " (period)"
										      : "",
		       more);
	if (f->is_sampled)
		tl_text_puts(&note, "; only one in several hits was recorded, all of this is an "
				    "estimate");
	add_count(&note, f->outside_count, "outside the times asked for");
	add_count(&note, f->without_time_count, "recorded without a time");
	add_count(&note, f->without_end_count, "without an end, not counted");
	add_count(&note, f->without_begin_count, "without a beginning, not counted");
	add_count(
		&note, f->repeated_count,
		"left out, because they repeat or sum up others: annotations on devices, overlaps");
	add_count(&note, f->suspect_count, "left out, because they last, or nest, beyond belief");
	add_count(&note, f->excluded_count, "left out as asked");
	add_count(&note, f->rule_lost_count, "lost by the rules of --compat");
	add_count(&note, f->below_min_count,
		  f->below_min_count == 1 ? "line below the least weight"
					  : "lines below the least weight");
	add_count(&note, f->lost_count, "lost by the recorder, of all events");
	if (!note.failed)
		tell("%s", note.data);
	tl_text_release(&note);
	if (f->others[0] && !opt->event)
		tell("other events: %s; -e chooses", f->others);
	if (f->lacks_inlines)
		tell("the case holds no inlined functions: import it with --inline, and binaries "
		     "that have debug information");
}

/* ---- windows ------------------------------------------------------------------------------ */

enum { WINDOW_MAX = 100000 };

struct window_files {
	const char *directory;
	struct tl_folded sum; /* without lines */
	uint64_t file_count, line_count;
};

static int fail_system(struct tl_error *err, const char *path, const char *what)
{
	int ret = tl_fail(err, TL_IO, "%s: %s", what, strerror(errno));

	tl_error_source(err, path);
	return ret;
}

/* Files of an earlier run among the new ones would be taken for windows. */
static int prepare_directory(const char *path, bool *is_made, struct tl_error *err)
{
	struct dirent *entry;
	int ret = TL_OK;
	DIR *dir;

	*is_made = mkdir(path, 0777) == 0;
	if (!*is_made && errno != EEXIST)
		return fail_system(err, path, "cannot make the directory");
	dir = opendir(path);
	if (!dir)
		return fail_system(err, path, "cannot open the directory");
	while (ret == TL_OK && (entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (dot && !strcmp(dot, ".folded"))
			ret = tl_fail(err, TL_USAGE,
				      "'%s' holds folded files already: --out-dir must be new",
				      path);
	}
	closedir(dir);
	return ret;
}

/* All windows or none: every folded file there is from this run, as prepare_directory saw to it. */
static void remove_windows(const char *path, bool is_made)
{
	struct dirent *entry;
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (dot && !strcmp(dot, ".folded"))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	if (is_made)
		rmdir(path);
}

static int write_window(const struct tl_folded *folded, const struct tl_time_range *window,
			uint64_t number, void *payload, struct tl_error *err)
{
	struct window_files *files = payload;
	struct tl_text path = { 0 };
	FILE *out = NULL;
	int ret = TL_OK;

	(void)window;
	if (number >= WINDOW_MAX)
		return tl_fail(err, TL_USAGE, "more than %d windows: make --window longer",
			       WINDOW_MAX);
	tl_text_printf(&path, "%s/%04" PRIu64 ".folded", files->directory, number);
	if (path.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	out = fopen(path.data, "w");
	if (!out) {
		ret = fail_system(err, path.data, "cannot be written");
	} else {
		print_lines(out, folded);
		ret = ferror(out) ? fail_system(err, path.data, "cannot be written") : TL_OK;
		if (fclose(out) && ret == TL_OK)
			ret = fail_system(err, path.data, "cannot be written");
	}
	tl_text_release(&path);
	memcpy(files->sum.unit, folded->unit, sizeof(folded->unit));
	memcpy(files->sum.event, folded->event, sizeof(folded->event));
	memcpy(files->sum.others, folded->others, sizeof(folded->others));
	files->sum.lacks_inlines = folded->lacks_inlines;
	files->sum.lost_count = folded->lost_count;
	files->sum.is_sampled = folded->is_sampled;
	files->sum.sample_count += folded->sample_count;
	files->sum.total_weight += folded->total_weight;
	files->sum.excluded_count += folded->excluded_count;
	files->sum.below_min_count += folded->below_min_count;
	files->sum.without_end_count += folded->without_end_count;
	files->sum.without_begin_count += folded->without_begin_count;
	files->sum.without_time_count = folded->without_time_count;
	files->line_count += folded->line_count;
	files->file_count++;
	return ret;
}

static int fold_windows(const struct collapse_options *opt, struct tl_store *store,
			const struct tl_fold_options *question, struct tl_error *err)
{
	struct window_files files = { .directory = opt->out_dir };
	bool is_made = false;
	char more[64];
	int64_t width;
	int ret = command_parse_duration("--window", opt->window, &width, err);

	if (ret == TL_OK)
		ret = prepare_directory(opt->out_dir, &is_made, err);
	if (ret < 0)
		return ret;
	ret = tl_fold_windows(store, question, width, write_window, &files, err);
	if (ret == TL_OK && !files.file_count)
		ret = tl_fail(err, TL_NOTHING, "no window holds anything that was asked for");
	if (ret < 0) {
		remove_windows(opt->out_dir, is_made);
		return ret;
	}
	snprintf(more, sizeof(more), ", in %" PRIu64 " file%s", files.file_count,
		 plural(files.file_count));
	if (!opt->sources.is_quiet)
		tell_result(opt, &files.sum, files.line_count, more);
	return TL_OK;
}

/* ---- asking ------------------------------------------------------------------------------- */

static int fold_ops(const struct collapse_options *opt, struct tl_store *store,
		    const struct tl_fold_options *question, struct tl_folded *out,
		    struct tl_error *err)
{
	const struct tl_fold_ops_options ops = {
		.weight = opt->weight,
		.ranges = question->ranges,
		.range_count = question->range_count,
		.has_rank = opt->rank >= 0,
		.rank = (int32_t)opt->rank,
		.thread_pattern = question->comm_pattern,
		.exclude_patterns = question->exclude_patterns,
		.exclude_count = question->exclude_count,
		.max_depth = question->max_depth,
		.min_weight = question->min_weight,
	};

	return tl_fold_ops(store, &ops, out, err);
}

static int fold_one(const struct collapse_options *opt, struct tl_store *store,
		    const struct tl_fold_options *question, struct tl_folded *out,
		    struct tl_error *err)
{
	return opt->trace_ops ? fold_ops(opt, store, question, out, err)
			      : tl_fold(store, question, out, err);
}

/* Samples are laid beside steps only if their clocks are good enough for it. */
static int check_clocks(const struct collapse_options *opt, struct tl_store *store,
			const char *which, struct tl_error *err)
{
	struct tl_clock_join join;
	int ret = tl_clock_join_steps(store, which,
				      opt->syscalls ? TL_CLOCK_DATA_CALLS : TL_CLOCK_DATA_SAMPLES,
				      &join, err);

	if (ret == TL_OK && !join.is_allowed)
		return tl_fail(err, TL_NOTHING, "%s", join.text);
	if (ret == TL_OK && join.source_count > 1 && !opt->sources.is_quiet)
		tell("%s", join.text);
	return ret;
}

static int fold_steps(const struct collapse_options *opt, struct tl_store *store,
		      struct tl_fold_options question, const char *which, struct tl_folded *out,
		      size_t *step_count, struct tl_error *err)
{
	struct tl_time_range *ranges = NULL;
	int ret = tl_steps_ranges(store, which, &ranges, &question.range_count, step_count, err);

	question.ranges = ranges;
	if (ret == TL_OK && !opt->trace_ops) /* these are of the steps' own source */
		ret = check_clocks(opt, store, which, err);
	if (ret == TL_OK)
		ret = fold_one(opt, store, &question, out, err);
	free(ranges);
	return ret;
}

static int fold_diff(const struct collapse_options *opt, struct tl_store *store,
		     const struct tl_fold_options *question, struct tl_error *err)
{
	struct tl_folded before = { 0 }, after = { 0 };
	struct collapse_side sides[2] = { { &before, 0 }, { &after, 0 } };
	uint64_t lines;
	int ret = fold_steps(opt, store, *question, opt->steps, &after, &sides[1].step_count, err);

	if (ret == TL_OK) {
		ret = fold_steps(opt, store, *question, opt->diff, &before, &sides[0].step_count,
				 err);
		/* nothing on that side is something: all of the other is new */
		if (ret == TL_NOTHING && sides[0].step_count) {
			tl_error_clear(err);
			memcpy(before.unit, after.unit, sizeof(before.unit));
			ret = TL_OK;
		}
	}
	if (ret == TL_OK) {
		lines = collapse_print_diff(stdout, &sides[0], &sides[1]);
		if (!opt->sources.is_quiet) {
			tell_result(opt, &before, before.line_count, "");
			tell_result(opt, &after, after.line_count, "");
			tell("per step: first %zu steps (%s), then %zu (%s), %" PRIu64
			     " lines in all",
			     sides[0].step_count, opt->diff, sides[1].step_count, opt->steps,
			     lines);
		}
	}
	tl_folded_release(&before);
	tl_folded_release(&after);
	return ret;
}

static int fold(const struct collapse_options *opt, struct tl_store *store, struct tl_error *err)
{
	struct tl_time_range *ranges = tl_alloc(opt->ranges.count, sizeof(*ranges), err);
	size_t step_count = 0;
	int32_t *tids = tl_alloc(opt->tids.count, sizeof(*tids), err);
	struct tl_fold_options question;
	struct tl_folded folded = { 0 };
	int ret = ranges && tids ? TL_OK : TL_NOMEM;

	fill_question(opt, &question);
	question.ranges = ranges;
	question.range_count = opt->ranges.count;
	question.tids = tids;
	question.tid_count = opt->tids.count;
	if (ret == TL_OK)
		ret = fill_lists(opt, store, ranges, tids, err);
	if (ret == TL_OK && opt->window) {
		ret = fold_windows(opt, store, &question, err);
	} else if (ret == TL_OK && opt->diff) {
		ret = fold_diff(opt, store, &question, err);
	} else if (ret == TL_OK) {
		ret = opt->steps ? fold_steps(opt, store, question, opt->steps, &folded,
					      &step_count, err)
				 : fold_one(opt, store, &question, &folded, err);
		if (ret == TL_OK)
			print_lines(stdout, &folded);
		if (ret == TL_OK && !opt->sources.is_quiet)
			tell_result(opt, &folded, folded.line_count, "");
		if (ret == TL_OK && opt->steps && !opt->sources.is_quiet)
			tell("during %zu steps (%s)", step_count, opt->steps);
	}
	tl_folded_release(&folded);
	free(ranges);
	free(tids);
	return ret;
}

static bool has_stdin(size_t count, char **paths)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(paths[i], "-"))
			return true;
	return false;
}

/* Only what the question needs is imported: the rest costs time and answers nothing. */
static struct case_request request_of(const struct collapse_options *opt, size_t count,
				      char **paths)
{
	bool is_off = opt->offcpu || opt->wakeup;
	bool has_times = opt->ranges.count || opt->window || opt->steps;
	bool is_compat = opt->compat != TL_COMPAT_NATIVE;
	struct case_request request = { .sources = &opt->sources,
					.want = TL_WANT_SAMPLES,
					.like_perf = is_compat };

	if (is_off)
		request.want |= TL_WANT_SWITCHES;
	if (opt->syscalls)
		request.want |= TL_WANT_SYSCALLS | TL_WANT_PAYLOADS;
	if (opt->steps)
		request.want |= TL_WANT_STEPS;
	if (opt->trace_ops)
		request.want |= TL_WANT_SLICES;
	/* compatible lines may turn out to need single samples, and stdin cannot be read again */
	request.aggregate_only = is_off || !(has_times || (is_compat && has_stdin(count, paths)));
	/* what two recordings tell of is told apart by the single calls */
	if (opt->syscalls && count > 1)
		request.aggregate_only = false;
	return request;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	const struct collapse_options *opt = values;
	struct case_request request = request_of(opt, operand_count, operands);
	struct tl_store *store = NULL;
	int ret = check(opt, err);

	if (ret < 0)
		return ret;
	ret = command_open_case(&store, operands, operand_count, &request, err);
	if (ret == TL_OK)
		ret = fold(opt, store, err);
	if (ret == TL_UNSUPPORTED && request.aggregate_only && store &&
	    opt->compat != TL_COMPAT_NATIVE && !has_stdin(operand_count, operands)) {
		tl_error_clear(err);
		tl_store_close(store);
		request.aggregate_only = false;
		ret = command_open_case(&store, operands, operand_count, &request, err);
		if (ret == TL_OK)
			ret = fold(opt, store, err);
	}
	tl_store_close(store);
	return ret < 0 ? ret : EXIT_DONE;
}

const struct command cmd_collapse = {
	.name = "collapse",
	.usage = "traceloom collapse [options] CASE...",
	.summary = "fold stacks for flamegraph.pl and its kin",
	.description =
		"Prints one line for each distinct stack: its frames from the outermost to the "
		"innermost, separated by semicolons, a blank, and what it counts. Nothing else "
		"goes to standard output; which event it was, in what unit, and what was not "
		"counted is told on standard error.\n\n"
		"CASE is a case file, or recordings that are read directly.\n\n"
		"Names are written so that no reader of folded text can misread them: a semicolon "
		"becomes a colon, a blank in a thread's name an underscore, a control character a "
		"question mark. Frames without a name are called by their binary, in brackets; "
		"inlined functions, shown with --inline, end in _[i].\n\n"
		"'--tid' followed by numbers chooses threads; a bare '--tid' shows thread ids in "
		"the first frame. A file whose name is a number is given as ./NAME.",
	.examples = examples,
	.options = options,
	.defaults = &defaults,
	.options_size = sizeof(struct collapse_options),
	.run = run,
};
