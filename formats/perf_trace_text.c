/*
 * perf_trace_text.c - the importer of what perf trace prints: calls of threads, with times since
 * the first event (or, with -T, since boot), joined where another thread's line came between.
 */
#include "perf_trace_text.h"

#include <stdlib.h>

#include "formats.h"
#include "reader.h"

#define ARGUMENT_BYTES 256u
#define HOPELESS_LINES 1000u
#define BOOT_NS	       (INT64_C(60) * 1000000000) /* the first event of a log without -T is earlier */

enum bad {
	BAD_LINE,
	BAD_ORPHAN,
	BAD_LOST,
	BAD_EVENT,
	BAD_FAULT,
	BAD_SUMMARY,
	BAD_FRAME,
	BAD_LONG,
	BAD_KINDS
};

static const struct {
	enum tl_diagnostic_kind kind;
	const char *what, *unit;
} kinds[BAD_KINDS] = {
	[BAD_LINE] = { TL_DIAGNOSTIC_DAMAGED, "line that is none of perf trace's", "lines" },
	[BAD_ORPHAN] = { TL_DIAGNOSTIC_NOTE, "continued call whose beginning is not in the log",
			 "calls" },
	[BAD_LOST] = { TL_DIAGNOSTIC_DAMAGED, "call whose end is not in the log", "calls" },
	[BAD_EVENT] = { TL_DIAGNOSTIC_SKIPPED, "line of a tracepoint", "lines" },
	[BAD_FAULT] = { TL_DIAGNOSTIC_SKIPPED, "line of a page fault", "lines" },
	[BAD_SUMMARY] = { TL_DIAGNOSTIC_SKIPPED, "line of a summary", "lines" },
	[BAD_FRAME] = { TL_DIAGNOSTIC_SKIPPED, "line of a call's stack", "lines" },
	[BAD_LONG] = { TL_DIAGNOSTIC_DAMAGED, "line longer than 1 MiB", "lines" },
};

struct log {
	struct tl_input *in;
	struct tl_sink *sink;
	struct tl_import_options opt;
	size_t keep_bytes;
	struct strace_tasks tasks;
	uint64_t line, calls, lost;
	bool has_first;
	int64_t first_ns, last_end_ns;
	struct {
		uint64_t count, first;
	} bad[BAD_KINDS];
	char first_bad[96];
	char operation[96];
};

static void note(struct log *log, enum bad kind, uint64_t line)
{
	if (log->bad[kind].count++ == 0)
		log->bad[kind].first = line;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct call {
	struct strace_task *task;
	bool has_ts;
	int64_t ts, duration_ns;
	uint64_t line, full_length;
	struct strace_span name, arguments;
	const struct strace_return *result; /* NULL: none */
	enum tl_call_outcome outcome;
};

/* perf 6.1 has no words for what the kernel does not show to programs. */
static void restart(struct strace_span rest, struct tl_event_syscall *c)
{
	static const char words[] = "strerror_r(51";
	static const char *const names[] = { "ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND",
					     NULL, "ERESTART_RESTARTBLOCK" };
	const char *at = memmem(rest.text, rest.length, words, sizeof(words) - 1);
	int n;

	if (!at || at + sizeof(words) - 1 >= rest.text + rest.length)
		return;
	n = at[sizeof(words) - 1] - '2';
	if (n < 0 || n > 4 || !names[n])
		return;
	c->error = names[n];
	c->error_length = strlen(names[n]);
	c->outcome = TL_CALL_RESTARTED;
}

static void set_columns(struct log *log, const struct call *call, struct tl_event_syscall *c)
{
	static const char *const descriptors[] = { "fd", "dfd", "epfd" };
	struct strace_span value = perf_trace_argument(call->arguments, "op");
	uint64_t number;

	if (value.text && strace_span_is(call->name, "futex")) {
		c->operation = log->operation;
		c->operation_length =
			perf_trace_futex(log->operation, sizeof(log->operation), value);
	} else if (!value.text) {
		value = perf_trace_argument(call->arguments, "cmd");
	}
	if (value.text && !c->operation) {
		c->operation = value.text;
		c->operation_length = value.length;
	}
	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++) {
		value = perf_trace_argument(call->arguments, descriptors[i]);
		if (value.text && tl_parse_u64(value.text, value.length, 10, &number) &&
		    number <= INT32_MAX) {
			c->has_fd = true;
			c->fd = (int32_t)number;
			break;
		}
	}
	value = perf_trace_argument(call->arguments, "filename");
	if (value.length > 2 && value.text[0] == '"' && value.text[value.length - 1] == '"') {
		c->path = value.text + 1;
		c->path_length = value.length - 2;
	}
	value = perf_trace_argument(call->arguments, "timeout_msecs");
	if (!value.text && call->name.length > 5 && memcmp(call->name.text, "epoll", 5) == 0)
		value = perf_trace_argument(call->arguments, "timeout");
	if (value.text && tl_parse_u64(value.text, value.length, 10, &number) == value.length &&
	    number <= UINT32_MAX) {
		c->has_timeout = true;
		c->timeout_ns = number > INT32_MAX ? INT64_MAX : (int64_t)number * 1000000;
	}
}

static int emit_call(struct log *log, const struct call *call, const struct perf_trace_line *line,
		     struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_SYSCALL };
	struct tl_event_syscall *c = &ev.syscall;

	c->task = call->task ? (struct tl_task) { call->task->pid, call->task->tid }
			     : (struct tl_task) { TL_ID_NONE, TL_ID_NONE };
	c->duration_ns = call->duration_ns;
	c->timing = call->duration_ns < 0 ? TL_CALL_UNTIMED : TL_CALL_MEASURED;
	c->outcome = call->outcome;
	c->name = call->name.text;
	c->name_length = call->name.length;
	if (log->opt.argument_bytes >= 0) {
		c->arguments = call->arguments.text ? call->arguments.text : "";
		c->arguments_length = call->arguments.length < log->keep_bytes
					      ? call->arguments.length
					      : log->keep_bytes;
	}
	c->arguments_full_length = call->full_length;
	c->position = call->line;
	if (call->result) {
		c->has_result = call->result->has_value;
		c->result = call->result->value;
		c->error = call->result->error.text;
		c->error_length = call->result->error.length;
		if (!c->error && c->has_result && c->result == -1)
			restart(line->tail, c);
	}
	set_columns(log, call, c);
	ev.has_ts = call->has_ts;
	ev.ts = call->has_ts ? call->ts : log->last_end_ns;
	log->calls++;
	return log->sink->emit(log->sink, &ev, err);
}

static int emit_open(struct log *log, struct strace_task *task, enum tl_call_outcome outcome,
		     struct tl_error *err)
{
	static const struct perf_trace_line none = { .kind = PERF_TRACE_OPENED };
	struct strace_open *open = task->open;
	struct call call = { .task = task,
			     .has_ts = open->has_ts,
			     .ts = open->ts,
			     .duration_ns = -1,
			     .line = open->line,
			     .full_length = open->full_length,
			     .name = strace_open_name(open),
			     .arguments = { open->text + open->name_length,
					    open->arguments_length },
			     .outcome = outcome };
	int ret;

	strace_open_take(&log->tasks, task, open);
	ret = emit_call(log, &call, &none, err);
	strace_open_release(&log->tasks, open);
	return ret;
}

/* A thread is in one call at a time. Only sigreturn goes elsewhere than back. */
static int lose_open(struct log *log, struct strace_task *task, struct tl_error *err)
{
	struct strace_span name;

	if (!task->open)
		return TL_OK;
	name = strace_open_name(task->open);
	if (strace_span_is(name, "rt_sigreturn") || strace_span_is(name, "sigreturn"))
		return emit_open(log, task, TL_CALL_NO_RETURN, err);
	note(log, BAD_LOST, task->open->line);
	return emit_open(log, task, TL_CALL_LOST, err);
}

static int opened(struct log *log, struct strace_task *task, const struct perf_trace_line *l,
		  struct tl_error *err)
{
	struct strace_open *open;
	int ret = lose_open(log, task, err);

	if (ret < 0)
		return ret;
	open = strace_open_new(&log->tasks, l->name, l->arguments, log->keep_bytes, err);
	if (!open)
		return TL_NOMEM;
	open->has_ts = l->has_ts;
	open->ts = l->ts_ns;
	open->line = log->line;
	strace_open_push(&log->tasks, task, open);
	return TL_OK;
}

/* ---- threads --------------------------------------------------------------------------------- */

static int emit_comm(struct log *log, struct strace_task *task, const struct perf_trace_line *l,
		     struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_COMM, .has_ts = l->has_ts, .ts = l->ts_ns };
	uint64_t hash;
	char name[32];

	if (!l->comm.text || l->comm.length >= sizeof(name))
		return TL_OK;
	hash = tl_hash(l->comm.text, l->comm.length, 9) | 1;
	if (hash == task->comm_hash)
		return TL_OK;
	task->comm_hash = hash;
	memcpy(name, l->comm.text, l->comm.length);
	name[l->comm.length] = '\0';
	if (!ev.has_ts) /* of the first line: it was so before */
		ev.ts = INT64_MIN;
	ev.comm.task = (struct tl_task) { task->pid, task->tid };
	ev.comm.name = name;
	return log->sink->emit(log->sink, &ev, err);
}

/* A clone that says what it makes; clone3's flags lie behind a pointer. */
static int emit_birth(struct log *log, struct strace_task *parent, const struct call *call,
		      struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_FORK, .has_ts = true, .ts = call->ts };
	struct strace_span flags = perf_trace_argument(call->arguments, "clone_flags");
	bool is_fork = strace_span_is(call->name, "fork") || strace_span_is(call->name, "vfork");
	bool is_thread = flags.text && memmem(flags.text, flags.length, "THREAD", 6);
	struct strace_task *child;

	if (!call->has_ts || (!flags.text && !is_fork) || call->result->value <= 0 ||
	    call->result->value > STRACE_PID_MAX)
		return TL_OK;
	child = strace_task(&log->tasks, (int32_t)call->result->value, err);
	if (!child)
		return TL_NOMEM;
	if (!is_thread)
		child->pid = child->tid;
	if (child->is_seen) /* its lines came first: too late to begin its life */
		return TL_OK;
	if (is_thread)
		child->pid = parent->pid;
	ev.fork.child = (struct tl_task) { child->pid, child->tid };
	ev.fork.parent = (struct tl_task) { parent->pid, parent->tid };
	return log->sink->emit(log->sink, &ev, err);
}

static int after_call(struct log *log, const struct call *call, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_EXIT, .has_ts = call->has_ts, .ts = call->ts };

	if (!call->task)
		return TL_OK;
	if (strace_is_clone(call->name) && call->result->has_value)
		return emit_birth(log, call->task, call, err);
	if (call->has_ts &&
	    (strace_span_is(call->name, "exit") || strace_span_is(call->name, "exit_group"))) {
		ev.exit.task = (struct tl_task) { call->task->pid, call->task->tid };
		return log->sink->emit(log->sink, &ev, err);
	}
	return TL_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int ended(struct log *log, struct strace_task *task, const struct perf_trace_line *l,
		 struct tl_error *err)
{
	struct strace_open *open = NULL;
	struct call call = { .task = task->tid == TL_ID_NONE ? NULL : task,
			     .has_ts = l->has_ts,
			     .ts = l->ts_ns,
			     .duration_ns = l->has_duration ? l->duration_ns : -1,
			     .line = log->line,
			     .full_length = l->arguments.length,
			     .name = l->name,
			     .arguments = l->arguments,
			     .result = &l->result,
			     .outcome =
				     l->result.is_question ? TL_CALL_NO_RETURN : TL_CALL_RETURNED };
	int ret;

	if (l->kind == PERF_TRACE_CONTINUED) {
		struct strace_span name =
			task->open ? strace_open_name(task->open) : (struct strace_span) { 0 };

		if (name.length == l->name.length &&
		    memcmp(name.text, l->name.text, name.length) == 0) {
			open = task->open;
			strace_open_take(&log->tasks, task, open);
			call.line = open->line;
			call.full_length = open->full_length;
			call.arguments = (struct strace_span) { open->text + open->name_length,
								open->arguments_length };
		} else {
			note(log, BAD_ORPHAN, log->line);
		}
	}
	ret = lose_open(log, task, err);
	if (ret == TL_OK)
		ret = emit_call(log, &call, l, err);
	if (ret == TL_OK)
		ret = after_call(log, &call, err);
	strace_open_release(&log->tasks, open);
	return ret;
}

static int call_line(struct log *log, const struct perf_trace_line *l, struct tl_error *err)
{
	int32_t tid = l->tid == TL_ID_NONE && log->opt.pid > 0 ? log->opt.pid : l->tid;
	struct strace_task *task = strace_task(&log->tasks, tid, err);
	int ret;

	if (!task)
		return TL_NOMEM;
	if (!task->is_seen) {
		task->is_seen = true;
		if (task->pid == TL_ID_NONE && log->opt.pid > 0 && tid != TL_ID_NONE)
			task->pid = log->opt.pid;
	}
	if (l->has_ts) {
		int64_t end = l->ts_ns + (l->has_duration ? l->duration_ns : 0);

		if (!log->has_first)
			log->first_ns = l->ts_ns;
		log->has_first = true;
		if (end > log->last_end_ns)
			log->last_end_ns = end;
	}
	ret = tid == TL_ID_NONE ? TL_OK : emit_comm(log, task, l, err);
	if (ret < 0)
		return ret;
	return l->kind == PERF_TRACE_OPENED ? opened(log, task, l, err) : ended(log, task, l, err);
}

static int refuse(const struct log *log, struct tl_error *err)
{
	if (log->bad[BAD_SUMMARY].count)
		return tl_fail(err, TL_UNSUPPORTED,
			       "holds only a summary (perf trace -s), no calls: record with -S");
	if (log->bad[BAD_EVENT].count || log->bad[BAD_FAULT].count)
		return tl_fail(err, TL_UNSUPPORTED,
			       "holds tracepoints or page faults only, no calls: perf script text "
			       "tells more of them");
	return tl_fail_line(err, TL_FORMAT, log->bad[BAD_LINE].first,
			    "\"%s\" is no line of perf trace's: expected \"time (duration): "
			    "name(arguments) = result\"",
			    log->first_bad);
}

static int read_line(struct log *log, const char *text, size_t len, bool has_newline,
		     struct tl_error *err)
{
	struct perf_trace_line l;

	while (len && (text[len - 1] == ' ' || text[len - 1] == '\r'))
		len--;
	if (len == 0)
		return TL_OK;
	perf_trace_line(text, len, &l);
	switch (l.kind) {
	case PERF_TRACE_CALL:
	case PERF_TRACE_OPENED:
	case PERF_TRACE_CONTINUED:
		return call_line(log, &l, err);
	case PERF_TRACE_EVENT:
		note(log, BAD_EVENT, log->line);
		return TL_OK;
	case PERF_TRACE_FAULT:
		note(log, BAD_FAULT, log->line);
		return TL_OK;
	case PERF_TRACE_FRAME:
		note(log, BAD_FRAME, log->line);
		return TL_OK;
	case PERF_TRACE_SUMMARY:
		note(log, BAD_SUMMARY, log->line);
		return TL_OK;
	case PERF_TRACE_LOST:
		log->lost += l.lost_count;
		return TL_OK;
	case PERF_TRACE_FOREIGN:
		break;
	}
	if (log->bad[BAD_LINE].count == 0)
		tl_printable(log->first_bad, sizeof(log->first_bad), text, len < 60 ? len : 60);
	note(log, BAD_LINE, log->line);
	(void)has_newline;
	return log->line >= HOPELESS_LINES && !log->calls && !log->bad[BAD_EVENT].count &&
			       !log->bad[BAD_FAULT].count
		       ? refuse(log, err)
		       : TL_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int emit_diagnostic(struct log *log, enum tl_diagnostic_kind kind, const char *what,
			   uint64_t count, const char *unit, uint64_t line, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic = (struct tl_event_diagnostic) {
		.kind = kind,
		.what = what,
		.count = count,
		.unit = unit,
		.position_kind = line ? TL_POSITION_LINE : TL_POSITION_NONE,
		.position = line,
	};
	return count ? log->sink->emit(log->sink, &ev, err) : TL_OK;
}

/* Times are since the first event, or since boot: the file's date is that of the last line. */
static int emit_clock(struct log *log, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };
	int64_t modified = tl_input_modified_ns(log->in);
	bool is_since_boot = log->has_first && log->first_ns > BOOT_NS;

	ev.clock = (struct tl_event_clock) {
		.name = is_since_boot ? "time since boot" : "time since the first event",
		.method = TL_CLOCK_ASSUMED,
		.offset_ns = modified ? modified - log->last_end_ns : 0,
		.residual_ns = -1,
		.why = modified ? "the file's date is that of the last line"
				: "no date is known: the log begins in 1970",
	};
	return log->sink->emit(log->sink, &ev, err);
}

static int finish(struct log *log, struct tl_error *err)
{
	struct tl_event meta = { .kind = TL_EVENT_META,
				 .meta = { .key = "tracer", .value = "perf trace" } };
	int ret = TL_OK;

	if (!log->calls && !log->tasks.open_count)
		return refuse(log, err);
	for (size_t i = 0; i < log->tasks.count && ret == TL_OK; i++)
		while (log->tasks.tasks[i]->open && ret == TL_OK)
			ret = emit_open(log, log->tasks.tasks[i], TL_CALL_OPEN, err);
	if (ret == TL_OK)
		ret = emit_clock(log, err);
	if (ret == TL_OK)
		ret = log->sink->emit(log->sink, &meta, err);
	for (int i = 0; i < BAD_KINDS && ret == TL_OK; i++)
		ret = emit_diagnostic(log, kinds[i].kind, kinds[i].what, log->bad[i].count,
				      kinds[i].unit, log->bad[i].first, err);
	if (ret == TL_OK)
		ret = emit_diagnostic(log, TL_DIAGNOSTIC_LOST, "events lost while recording",
				      log->lost, "events", 0, err);
	return ret;
}

/* ---- the importer ---------------------------------------------------------------------------- */

static int log_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct log *log = state;
	struct tl_line line;
	int ret = tl_input_line(log->in, &line, err);

	log->sink = sink;
	if (ret < 0)
		return ret;
	if (ret == 0) {
		ret = finish(log, err);
		return ret < 0 ? ret : TL_READ_END;
	}
	log->line = line.number;
	if (line.is_partial) {
		note(log, BAD_LONG, line.number);
		while (line.is_partial && (ret = tl_input_line(log->in, &line, err)) > 0)
			;
		return ret < 0 ? ret : TL_READ_MORE;
	}
	if (line.number == 1 && line.length >= 3 && !memcmp(line.text, "\xef\xbb\xbf", 3)) {
		line.text += 3; /* a byte order mark, by an editor */
		line.length -= 3;
	}
	ret = read_line(log, line.text, line.length, line.has_newline, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

static void log_close(void *state)
{
	struct log *log = state;

	if (!log)
		return;
	strace_tasks_release(&log->tasks);
	free(log);
}

static int log_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		    struct tl_error *err)
{
	struct log *log = tl_alloc(1, sizeof(*log), err);

	*state = log;
	if (!log)
		return TL_NOMEM;
	log->in = in;
	if (opt)
		log->opt = *opt;
	if (log->opt.argument_bytes == 0)
		log->opt.argument_bytes = ARGUMENT_BYTES;
	log->keep_bytes = log->opt.argument_bytes > 0 ? (size_t)log->opt.argument_bytes : 0;
	return TL_OK;
}

static int log_probe(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end;
	unsigned good = 0, bad = 0;

	if (len == 0)
		return 0;
	end = at + len;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);
		struct perf_trace_line l;

		while (n && (at[n - 1] == ' ' || at[n - 1] == '\r'))
			n--;
		if (n) {
			perf_trace_line(at, n, &l);
			good += l.kind != PERF_TRACE_FOREIGN && l.kind != PERF_TRACE_FRAME;
			bad += l.kind == PERF_TRACE_FOREIGN && newline;
		}
		at = newline ? newline + 1 : end;
	}
	return good == 0 ? 0 : good > bad ? 85 : 0;
}

const struct tl_importer perf_trace_text_importer = {
	.name = "perf-trace",
	.summary = "output of perf trace",
	.probe = log_probe,
	.open = log_open,
	.read = log_read,
	.close = log_close,
};
