/*
 * strace_end.c - what is told of a log as a whole: its clock, what was damaged or left out, and
 * what was counted.
 */
#include <inttypes.h>

#include "reader.h"
#include "strace_log.h"

#define COUNTS_MAX 512u /* signals and exit statuses are fewer */

static const struct {
	enum tl_diagnostic_kind kind;
	const char *what, *unit;
} kinds[STRACE_BAD_KINDS] = {
	[STRACE_BAD_LINE] = { TL_DIAGNOSTIC_DAMAGED, "line that is none of the tracer's", "lines" },
	[STRACE_BAD_BROKEN] = { TL_DIAGNOSTIC_DAMAGED, "call with other output written into it",
				"lines" },
	[STRACE_BAD_MENDED] = { TL_DIAGNOSTIC_NOTE,
				"call with other output written into it, put together again",
				"lines" },
	[STRACE_BAD_RESUMED] = { TL_DIAGNOSTIC_DAMAGED, "resumed call without a result", "lines" },
	[STRACE_BAD_LOST] = { TL_DIAGNOSTIC_DAMAGED, "unfinished call whose end is not in the log",
			      "calls" },
	[STRACE_BAD_MISMATCH] = { TL_DIAGNOSTIC_DAMAGED,
				  "resumed call while another one is unfinished", "lines" },
	[STRACE_BAD_ORPHAN] = { TL_DIAGNOSTIC_NOTE,
				"resumed call whose beginning is not in the log", "calls" },
	[STRACE_BAD_DEEP] = { TL_DIAGNOSTIC_DAMAGED, "more than 65536 unfinished calls at once",
			      "calls" },
	[STRACE_BAD_STACK] = { TL_DIAGNOSTIC_DAMAGED, "stack frame that makes no sense", "lines" },
	[STRACE_BAD_NEGATIVE] = { TL_DIAGNOSTIC_DAMAGED, "call that is resumed before it began",
				  "calls" },
	[STRACE_BAD_CUT] = { TL_DIAGNOSTIC_TRUNCATED, "last line, cut in the middle of a call",
			     "lines" },
	[STRACE_BAD_FRONT_CUT] = { TL_DIAGNOSTIC_TRUNCATED,
				   "first line, of which the front is missing", "lines" },
	[STRACE_BAD_DURATION] = { TL_DIAGNOSTIC_DAMAGED, "duration that makes no sense", "calls" },
	[STRACE_BAD_SUMMARY] = { TL_DIAGNOSTIC_SKIPPED, "line of a summary table", "lines" },
	[STRACE_BAD_DUMP] = { TL_DIAGNOSTIC_SKIPPED, "line of dumped data", "lines" },
	[STRACE_BAD_LONG] = { TL_DIAGNOSTIC_NOTE, "line longer than 1 MiB, its middle left out",
			      "lines" },
	[STRACE_BAD_NAMES] = { TL_DIAGNOSTIC_DAMAGED, "call beyond 16384 different names",
			       "calls" },
};

int strace_count(struct strace_log *log, const char *prefix, const char *word, size_t len,
		 struct tl_error *err)
{
	char key[40];
	size_t used;
	int ret;

	snprintf(key, sizeof(key), "%s", prefix);
	used = strlen(key);
	tl_printable(key + used, sizeof(key) - used, word, len);
	for (size_t i = 0; i < log->count_count; i++)
		if (!strcmp(log->counts[i].word, key)) {
			log->counts[i].count++;
			return TL_OK;
		}
	if (log->count_count == COUNTS_MAX)
		return TL_OK;
	ret = tl_grow(&log->counts, &log->count_capacity, log->count_count + 1, err);
	if (ret < 0)
		return ret;
	memcpy(log->counts[log->count_count].word, key, sizeof(key));
	log->counts[log->count_count++].count = 1;
	return TL_OK;
}

static int emit(struct strace_log *log, const struct tl_event *ev, struct tl_error *err)
{
	return log->sink->emit(log->sink, ev, err);
}

/* ---- the clock ------------------------------------------------------------------------------- */

int strace_emit_clock(struct strace_log *log, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };
	int64_t last_ns = log->clock.last_end_ns;

	if (!log->has_clock && log->has_peeked && log->clock.kind == STRACE_TIME_OF_DAY) {
		/* the last line's time was looked up; a night may lie before it */
		last_ns = log->peeked_ns;
		if (last_ns < log->clock.newest_ns)
			last_ns += 86400 * INT64_C(1000000000);
	}
	strace_clock_settle(&log->clock, &log->opt, tl_input_modified_ns(log->in), last_ns,
			    &ev.clock);
	log->has_clock = true;
	log->clock_told = ev.clock;
	return emit(log, &ev, err);
}

/* Now that the last line is known, and how many nights have passed. */
static int correct_clock(struct strace_log *log, struct tl_error *err)
{
	struct tl_event_clock final;

	strace_clock_settle(&log->clock, &log->opt, tl_input_modified_ns(log->in),
			    log->clock.last_end_ns, &final);
	if (log->has_clock && final.offset_ns == log->clock_told.offset_ns &&
	    final.residual_ns == log->clock_told.residual_ns && final.why == log->clock_told.why)
		return TL_OK;
	log->has_peeked = false;
	return strace_emit_clock(log, err);
}

/* ---- what was found -------------------------------------------------------------------------- */

static int emit_diagnostic(struct strace_log *log, enum tl_diagnostic_kind kind, const char *what,
			   uint64_t count, const char *unit, uint64_t line, const char *message,
			   struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	if (count == 0)
		return TL_OK;
	ev.diagnostic = (struct tl_event_diagnostic) {
		.kind = kind,
		.what = what,
		.count = count,
		.unit = unit,
		.position_kind = line ? TL_POSITION_LINE : TL_POSITION_NONE,
		.position = line,
		.message = message,
	};
	return emit(log, &ev, err);
}

/* "80 us", "150 ms", "34560 s" */
static void print_scaled(char *out, size_t size, int64_t ns)
{
	static const struct {
		int64_t from_ns, unit_ns;
		const char *unit;
	} scales[] = {
		{ 10000000000, 1000000000, "s" },
		{ 10000000, 1000000, "ms" },
		{ 10000, 1000, "us" },
		{ 0, 1, "ns" },
	};
	size_t i = 0;

	while (i < 3 && ns < scales[i].from_ns)
		i++;
	snprintf(out, size, "%" PRId64 " %s", ns / scales[i].unit_ns, scales[i].unit);
}

static int emit_clock_findings(struct strace_log *log, struct tl_error *err)
{
	const struct strace_clock *c = &log->clock;
	char message[160], by[24];
	int ret;

	snprintf(message, sizeof(message),
		 "clocks were changed by %+" PRId64 " minutes (summer time): undone",
		 c->zone_change_ns / 60000000000);
	ret = emit_diagnostic(log, TL_DIAGNOSTIC_NOTE, "change of the time zone's clock",
			      c->zone_change_count, "changes", c->zone_change_line, message, err);
	if (ret == TL_OK)
		ret = emit_diagnostic(log, TL_DIAGNOSTIC_NOTE,
				      "time of day goes back by more than half an hour",
				      c->step_count, "steps", c->step_line, NULL, err);
	if (ret == TL_OK)
		ret = emit_diagnostic(log, TL_DIAGNOSTIC_UNSUPPORTED,
				      "time of another kind than the log's first: not placed",
				      c->strange_count, "lines", c->strange_line, NULL, err);
	print_scaled(by, sizeof(by), c->backward_max_ns);
	snprintf(message, sizeof(message), "lines are out of order, by up to %s: kept as they are",
		 by);
	if (ret == TL_OK)
		ret = emit_diagnostic(log, TL_DIAGNOSTIC_NOTE, "line earlier than one before it",
				      c->backward_count, "lines", 0, message, err);
	return ret;
}

static int emit_findings(struct strace_log *log, struct tl_error *err)
{
	int ret = TL_OK;

	for (int i = 0; i < STRACE_BAD_KINDS && ret == TL_OK; i++)
		ret = emit_diagnostic(log, kinds[i].kind, kinds[i].what, log->bad[i].count,
				      kinds[i].unit, log->bad[i].first, NULL, err);
	if (ret == TL_OK)
		ret = emit_clock_findings(log, err);
	if (ret == TL_OK && log->clock.is_relative_broken)
		ret = emit_diagnostic(log, TL_DIAGNOSTIC_UNSUPPORTED,
				      "relative times of one file of several (-ff -r)", 1, "files",
				      log->relative_line,
				      "deltas of -r count from lines of the other files of -ff: "
				      "calls from here on have no time; record with -ttt",
				      err);
	return ret;
}

static int emit_meta(struct strace_log *log, const char *key, const char *value,
		     struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META, .meta = { key, value } };

	return emit(log, &ev, err);
}

static int emit_meta_number(struct strace_log *log, const char *key, uint64_t value,
			    struct tl_error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return emit_meta(log, key, text, err);
}

static int emit_facts(struct strace_log *log, struct tl_error *err)
{
	static const char *const times[] = { [STRACE_NO_TIME] = "none",
					     [STRACE_TIME_OF_DAY] = "time of day",
					     [STRACE_EPOCH] = "seconds since 1970",
					     [STRACE_RELATIVE] = "since the line before" };
	int ret = emit_meta(log, "tracer", log->is_ltrace ? "ltrace" : "strace", err);

	if (ret == TL_OK)
		ret = emit_meta(log, "tracer_time", times[log->clock.kind], err);
	if (ret == TL_OK && log->clock.kind != STRACE_NO_TIME)
		ret = emit_meta_number(log, "tracer_time_digits", log->clock.digits, err);
	if (ret == TL_OK && log->has_durations)
		ret = emit_meta_number(log, "tracer_duration_digits", log->duration_digits, err);
	for (size_t i = 0; i < log->count_count && ret == TL_OK; i++)
		ret = emit_meta_number(log, log->counts[i].word, log->counts[i].count, err);
	return ret;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int end_open_calls(struct strace_log *log, struct tl_error *err)
{
	struct strace_open *open = log->broken;
	int ret = TL_OK;

	log->broken = NULL;
	if (open)
		strace_note_at(log, STRACE_BAD_BROKEN, open->line);
	if (open)
		ret = strace_emit_open(log, NULL, open, TL_CALL_LOST, err);
	for (size_t i = 0; i < log->tasks.count && ret == TL_OK; i++) {
		struct strace_task *task = log->tasks.tasks[i];

		while ((open = task->open) && ret == TL_OK) {
			strace_open_take(&log->tasks, task, open);
			ret = strace_emit_open(log, task, open, TL_CALL_OPEN, err);
		}
	}
	return ret;
}

static int refuse(const struct strace_log *log, struct tl_error *err)
{
	if (log->tables)
		return tl_fail(err, TL_UNSUPPORTED,
			       "holds only a summary (%s -c), no calls: record %s",
			       log->has_function_table ? "ltrace" : "strace",
			       log->has_function_table ? "without -c" : "with -C, or without -c");
	if (log->bad[STRACE_BAD_LINE].count == 0)
		return tl_fail(err, TL_FORMAT, "no line of strace's");
	return tl_fail_line(err, TL_FORMAT, log->bad[STRACE_BAD_LINE].first,
			    "\"%s\" is no line of strace's: expected \"name(arguments) = result\"",
			    log->first_bad);
}

int strace_refuse_early(const struct strace_log *log, struct tl_error *err)
{
	return log->understood ? TL_OK : refuse(log, err);
}

int strace_finish(struct strace_log *log, struct tl_error *err)
{
	int ret;

	if (!log->understood && !log->bad[STRACE_BAD_CUT].count)
		return refuse(log, err);
	ret = strace_settle_waiting(log, false, err);
	if (ret == TL_OK)
		ret = strace_hold_flush(log, err);
	if (ret == TL_OK)
		ret = end_open_calls(log, err);
	if (ret == TL_OK)
		ret = strace_hold_flush(log, err);
	if (ret == TL_OK)
		ret = correct_clock(log, err);
	if (ret == TL_OK)
		ret = emit_facts(log, err);
	return ret < 0 ? ret : emit_findings(log, err);
}
