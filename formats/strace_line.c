/*
 * strace_line.c - one line of a log: what it is, and what it does to the open calls. Lines may be
 * cut, written into by the traced program, or say only half of a call.
 */
#include "strace_log.h"

#include "reader.h"

/* The parts of a line. */
struct line {
	const char *text; /* all of it */
	size_t len;
	bool has_newline;
	struct strace_prefix prefix;
	struct strace_body body;
	const char *b; /* the body */
	size_t b_len;
	bool has_ts;
	int64_t ts;
};

/* ---- calls ----------------------------------------------------------------------------------- */

static int read_line(struct strace_log *log, const char *text, size_t len, bool has_newline,
		     bool is_inner, struct tl_error *err);

static struct strace_span arguments_of(const struct strace_open *open)
{
	return (struct strace_span) { open->text + open->name_length, open->arguments_length };
}

static void forget_clone(struct strace_log *log, int32_t tid)
{
	for (size_t i = 0; i < log->clone_count; i++)
		if (log->clones[i] == tid)
			log->clones[i] = log->clones[--log->clone_count];
}

static void take_open(struct strace_log *log, struct strace_task *task, struct strace_open *open)
{
	strace_open_take(&log->tasks, task, open);
	if (open->is_clone)
		forget_clone(log, task->tid);
}

/* All open calls of a task end with this outcome. */
static int end_all(struct strace_log *log, struct strace_task *task, enum tl_call_outcome outcome,
		   struct tl_error *err)
{
	int ret = TL_OK;

	while (task->open && ret == TL_OK) {
		struct strace_open *open = task->open;

		take_open(log, task, open);
		ret = strace_emit_open(log, task, open, outcome, err);
	}
	return ret;
}

/* strace has one call at a time per thread: another begin means that an end is missing. */
static int lose_open(struct strace_log *log, struct strace_task *task, struct tl_error *err)
{
	if (!task->open || log->is_ltrace)
		return TL_OK;
	strace_note(log, STRACE_BAD_LOST);
	return end_all(log, task, TL_CALL_LOST, err);
}

static int push(struct strace_log *log, int32_t tid, struct strace_open *open, struct tl_error *err)
{
	struct strace_task *task = strace_task(&log->tasks, tid, err);
	int ret = task ? lose_open(log, task, err) : TL_NOMEM;

	if (ret < 0) {
		strace_open_release(&log->tasks, open);
		return ret;
	}
	if (log->tasks.open_count >= STRACE_OPEN_MAX) {
		strace_note(log, STRACE_BAD_DEEP);
		return strace_emit_open(log, task, open, TL_CALL_LOST, err);
	}
	strace_open_push(&log->tasks, task, open);
	if (open->is_clone && log->clone_count < STRACE_CLONES_MAX)
		log->clones[log->clone_count++] = tid;
	return TL_OK;
}

static struct strace_open *new_open(struct strace_log *log, const struct line *l,
				    struct strace_span name, struct strace_span arguments,
				    struct tl_error *err)
{
	struct strace_open *open =
		strace_open_new(&log->tasks, name, arguments, log->look_bytes, err);

	if (!open)
		return NULL;
	open->has_ts = l->has_ts;
	open->ts = l->ts;
	open->line = log->line;
	open->tid = l->prefix.tid;
	return open;
}

static enum tl_call_outcome outcome_of(const struct strace_return *ret)
{
	static const char restart[] = "ERESTART";

	switch (ret->end) {
	case STRACE_END_RETURNED:
		if (ret->is_unavailable)
			return TL_CALL_UNAVAILABLE;
		if (ret->is_question && !ret->error.text)
			return TL_CALL_NO_RETURN;
		if (ret->error.length >= sizeof(restart) - 1 &&
		    memcmp(ret->error.text, restart, sizeof(restart) - 1) == 0)
			return TL_CALL_RESTARTED;
		return TL_CALL_RETURNED;
	case STRACE_END_DETACHED:
		return TL_CALL_DETACHED;
	case STRACE_END_NEVER:
	case STRACE_END_NO_RETURN:
	case STRACE_END_UNFINISHED:
	case STRACE_END_PID_CHANGED:
	case STRACE_END_NONE:
		break;
	}
	return TL_CALL_NO_RETURN;
}

/* Duration as printed; a call that never returned has none. */
static void set_duration(struct strace_log *log, struct strace_call *call)
{
	const struct strace_return *ret = call->ret;

	call->duration_ns = -1;
	call->timing = TL_CALL_UNTIMED;
	if (ret->duration_ns < 0)
		return;
	log->has_durations = true;
	if (ret->duration_digits > log->duration_digits)
		log->duration_digits = ret->duration_digits;
	if (call->outcome == TL_CALL_NO_RETURN)
		return;
	call->duration_ns = ret->duration_ns;
	call->timing = TL_CALL_MEASURED;
}

/* A call on one line. */
static int whole_call(struct strace_log *log, const struct line *l, const struct strace_return *ret,
		      struct tl_error *err)
{
	struct strace_call call = {
		.task = strace_owner(log, l->prefix.tid, err),
		.has_ts = l->has_ts,
		.ts = l->ts,
		.end_ns = l->ts,
		.line = log->line,
		.name = l->body.word,
		.arguments = ret->arguments,
		.full_length = ret->arguments.length,
		.outcome = outcome_of(ret),
		.ret = ret,
	};

	set_duration(log, &call);
	if (call.has_ts && call.duration_ns > 0) {
		call.end_ns += call.duration_ns;
		log->clock.last_end_ns = call.end_ns;
	}
	return strace_emit_call(log, &call, err);
}

/* A call whose begin was on an earlier line. Releases `open`. */
static int joined_call(struct strace_log *log, struct strace_open *open, const struct line *l,
		       const struct strace_return *ret, bool is_derivable, struct tl_error *err)
{
	struct strace_call call = {
		.task = strace_owner(log, open->tid != TL_ID_NONE ? open->tid : l->prefix.tid, err),
		.has_ts = open->has_ts,
		.ts = open->ts,
		.end_ns = l->has_ts ? l->ts : open->ts,
		.line = open->line,
		.name = strace_open_name(open),
		.outcome = outcome_of(ret),
		.ret = ret,
	};
	int result = strace_open_extend(&log->tasks, open, ret->arguments, log->look_bytes, err);

	if (result == TL_OK) {
		call.name = strace_open_name(open);
		call.arguments = arguments_of(open);
		call.full_length = open->full_length;
		set_duration(log, &call);
		if (call.timing == TL_CALL_UNTIMED && is_derivable && open->has_ts && l->has_ts &&
		    call.outcome != TL_CALL_NO_RETURN) {
			call.duration_ns = l->ts - open->ts;
			call.timing = TL_CALL_DERIVED;
			if (call.duration_ns < 0) {
				strace_note(log, STRACE_BAD_NEGATIVE);
				call.duration_ns = -1;
				call.timing = TL_CALL_UNTIMED;
			}
		}
		result = strace_emit_call(log, &call, err);
	}
	strace_open_release(&log->tasks, open);
	return result;
}

/* Only the end was seen: the begin is as much earlier as the call took. */
static int orphan_call(struct strace_log *log, const struct line *l,
		       const struct strace_return *ret, struct tl_error *err)
{
	struct strace_call call = {
		.task = strace_owner(log, l->prefix.tid, err),
		.has_end = true,
		.end_ns = l->ts,
		.line = log->line,
		.name = l->body.word,
		.arguments = ret->arguments,
		.full_length = ret->arguments.length,
		.outcome = outcome_of(ret),
		.ret = ret,
	};

	set_duration(log, &call);
	if (l->has_ts && call.duration_ns >= 0) {
		call.has_ts = true;
		call.ts = l->ts - call.duration_ns;
	}
	strace_note(log, STRACE_BAD_ORPHAN);
	return strace_emit_call(log, &call, err);
}

/* ---- resumed calls --------------------------------------------------------------------------- */

/* ltrace: "lt->malloc" and "malloc@libc.so.6" are resumed as "malloc" */
static struct strace_span bare_name(struct strace_span name)
{
	const char *arrow = memmem(name.text, name.length, "->", 2);
	const char *at;

	if (arrow) {
		name.length -= (size_t)(arrow + 2 - name.text);
		name.text = arrow + 2;
	}
	at = memchr(name.text, '@', name.length);
	if (at)
		name.length = (size_t)(at - name.text);
	return name;
}

/* "exec", whatever letters follow, of the system or the library */
static bool is_exec(struct strace_span name)
{
	name = bare_name(name);
	if (name.length > 4 && !memcmp(name.text, "SYS_", 4))
		name = (struct strace_span) { name.text + 4, name.length - 4 };
	return name.length > 4 && name.length < 9 && !memcmp(name.text, "exec", 4);
}

static bool same(struct strace_span a, struct strace_span b)
{
	return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static struct strace_open *take_if_named(struct strace_log *log, struct strace_task *task,
					 struct strace_span name)
{
	struct strace_open *open = task->open;

	if (!open || !same(strace_open_name(open), name))
		return NULL;
	take_open(log, task, open);
	return open;
}

static struct strace_open *take_nested(struct strace_log *log, struct strace_task *task,
				       struct strace_span name)
{
	unsigned depth = 0;

	name = bare_name(name);
	for (struct strace_open *open = task->open; open && depth < 4096; open = open->outer) {
		if (same(bare_name(strace_open_name(open)), name)) {
			take_open(log, task, open);
			return open;
		}
		depth++;
	}
	return NULL;
}

/* A line without number: the one open call of that name, if there is but one. */
static struct strace_open *take_from_any(struct strace_log *log, struct strace_span name)
{
	struct strace_task *found = NULL;

	if (log->tasks.count > 4096) /* a log without numbers has few */
		return NULL;
	for (size_t i = 0; i < log->tasks.count; i++) {
		struct strace_task *task = log->tasks.tasks[i];

		if (!task->open || !same(strace_open_name(task->open), name))
			continue;
		if (found)
			return NULL;
		found = task;
	}
	return found ? take_if_named(log, found, name) : NULL;
}

/* The open call that a resumed line ends; NULL with *ret TL_OK: none is known. */
static struct strace_open *take_pending(struct strace_log *log, int32_t tid,
					struct strace_span name, int *ret, struct tl_error *err)
{
	struct strace_task *task = strace_task(&log->tasks, tid, err), *unnumbered;
	struct strace_open *open = NULL;

	*ret = task ? TL_OK : TL_NOMEM;
	if (!task)
		return NULL;
	if (task->open) {
		open = log->is_ltrace ? take_nested(log, task, name)
				      : take_if_named(log, task, name);
		if (!open && !log->is_ltrace)
			strace_note(log, STRACE_BAD_MISMATCH);
		return open;
	}
	if (tid == TL_ID_NONE)
		return take_from_any(log, name);
	unnumbered = strace_task(&log->tasks, TL_ID_NONE, err);
	if (!unnumbered) {
		*ret = TL_NOMEM;
		return NULL;
	}
	open = take_if_named(log, unnumbered, name);
	if (open) { /* strace began to print numbers while it was open */
		log->main_tid = tid;
		open->tid = tid;
	}
	return open;
}

static int resumed(struct strace_log *log, struct line *l, struct tl_error *err)
{
	struct strace_return result;
	struct strace_open *open;
	int ret;

	strace_return(l->b + l->body.rest, l->b_len - l->body.rest, log->is_ltrace, &result);
	open = take_pending(log, l->prefix.tid, l->body.word, &ret, err);
	if (ret < 0)
		return ret;
	switch (result.end) {
	case STRACE_END_UNFINISHED:
		if (!open) {
			strace_note(log, STRACE_BAD_ORPHAN);
			open = new_open(log, l, l->body.word, result.arguments, err);
			if (!open)
				return TL_NOMEM;
			open->has_ts = false;
			return push(log, l->prefix.tid, open, err);
		}
		ret = strace_open_extend(&log->tasks, open, result.arguments, log->look_bytes, err);
		if (ret < 0) {
			strace_open_release(&log->tasks, open);
			return ret;
		}
		return push(log, l->prefix.tid, open, err);
	case STRACE_END_RETURNED:
	case STRACE_END_NEVER:
		break;
	case STRACE_END_DETACHED:
	case STRACE_END_PID_CHANGED:
	case STRACE_END_NO_RETURN:
	case STRACE_END_NONE:
		strace_note(log, STRACE_BAD_RESUMED);
		if (!open)
			return TL_OK;
		return strace_emit_open(log, NULL, open, TL_CALL_LOST, err);
	}
	if (!open)
		return orphan_call(log, l, &result, err);
	return joined_call(log, open, l, &result, l->prefix.time != STRACE_RELATIVE, err);
}

/* ---- broken lines ---------------------------------------------------------------------------- */

static int drop_broken(struct strace_log *log, struct tl_error *err)
{
	struct strace_open *open = log->broken;

	log->broken = NULL;
	if (!open)
		return TL_OK;
	strace_note_at(log, STRACE_BAD_BROKEN, open->line);
	return strace_emit_open(log, NULL, open, TL_CALL_LOST, err);
}

static struct strace_open *mend_broken(struct strace_log *log)
{
	struct strace_open *open = log->broken;

	log->broken = NULL;
	log->understood++;
	strace_note_at(log, STRACE_BAD_MENDED, open->line);
	return open;
}

/* The rest of a call whose line was written into; 1: it was, and is dealt with. */
static int continue_broken(struct strace_log *log, const struct line *l, struct tl_error *err)
{
	struct strace_return result;
	const char *t = l->text;
	size_t len = l->len, blank = len && t[0] == ' ';
	struct strace_span mark = { t + blank, len - blank };
	int ret;

	if (strace_span_is(mark, "<unfinished ...>")) {
		ret = push(log, log->broken_tid, mend_broken(log), err);
		return ret < 0 ? ret : 1;
	}
	if (strace_span_is(mark, "<detached ...>")) {
		ret = strace_emit_open(log, NULL, mend_broken(log), TL_CALL_DETACHED, err);
		return ret < 0 ? ret : 1;
	}
	if (len == 0 || t[0] != ')')
		return 0;
	strace_return(t, len, log->is_ltrace, &result);
	if (result.end != STRACE_END_RETURNED)
		return 0;
	ret = joined_call(log, mend_broken(log), l, &result, false, err);
	return ret < 0 ? ret : 1;
}

/* A line that is only the end of a call, after one that was cut (strace -z). */
static int tail_of_cut(struct strace_log *log, const struct line *l, struct tl_error *err)
{
	struct strace_task *task = NULL;
	struct strace_open *open = log->broken;
	struct strace_return result;
	int ret;

	if (!open && log->cut_line && log->cut_line + 1 == log->line) {
		task = strace_task(&log->tasks, log->cut_tid, err);
		if (!task)
			return TL_NOMEM;
		open = task->open;
	}
	if (!open || l->prefix.time != STRACE_NO_TIME)
		return 0;
	strace_return(l->text, l->len, log->is_ltrace, &result);
	if (result.end != STRACE_END_RETURNED)
		return 0;
	if (open == log->broken)
		mend_broken(log);
	else
		take_open(log, task, open);
	ret = joined_call(log, open, l, &result, false, err);
	return ret < 0 ? ret : 1;
}

/* ---- kinds of lines -------------------------------------------------------------------------- */

static int stamp(struct strace_log *log, struct line *l, int64_t duration_ns, struct tl_error *err)
{
	bool is_first = log->clock.kind == STRACE_NO_TIME;
	int ret = TL_OK;

	if (is_first && l->prefix.time == STRACE_RELATIVE && l->prefix.time_ns != 0 &&
	    l->prefix.tid == TL_ID_NONE && log->file_tid != TL_ID_NONE) {
		log->clock.kind = STRACE_RELATIVE;
		strace_break_relative(log);
	}
	l->has_ts = strace_clock_stamp(&log->clock, &l->prefix, log->line,
				       duration_ns > 0 ? duration_ns : 0, &l->ts);
	if (l->prefix.tid != TL_ID_NONE) {
		log->has_pids = true;
		log->has_brackets |= l->prefix.is_bracketed;
		ret = strace_meet(log, &l->prefix, l->ts, err);
	}
	if (ret == TL_OK && !log->has_clock && l->has_ts)
		ret = strace_emit_clock(log, err);
	return ret;
}

static int broken_call(struct strace_log *log, struct line *l, const struct strace_return *result,
		       struct tl_error *err)
{
	struct strace_open *open;
	int ret = drop_broken(log, err);

	if (ret < 0)
		return ret;
	open = new_open(log, l, l->body.word, result->arguments, err);
	if (!open)
		return TL_NOMEM;
	if (!l->has_newline) { /* the log ends inside it */
		strace_note(log, STRACE_BAD_CUT);
		return strace_emit_open(log, NULL, open, TL_CALL_OPEN, err);
	}
	log->broken = open;
	log->broken_tid = l->prefix.tid;
	return TL_OK;
}

/* Marks of ltrace in a line that strace's grammar does not fit. */
static bool is_ltrace_result(const char *text, size_t len)
{
	return memmem(text, len, ") = <void>", 10) || memmem(text, len, " = <void>", 9);
}

static int call_line(struct strace_log *log, struct line *l, bool is_glued, struct tl_error *err)
{
	struct strace_return result;
	struct strace_open *open;
	struct strace_task *task;
	int ret;

	strace_return(l->b + l->body.rest, l->b_len - l->body.rest, log->is_ltrace, &result);
	if (result.end == STRACE_END_NONE && !log->is_ltrace && is_ltrace_result(l->b, l->b_len)) {
		strace_set_ltrace(log);
		strace_return(l->b + l->body.rest, l->b_len - l->body.rest, true, &result);
	}
	log->understood += result.end != STRACE_END_NONE;
	ret = stamp(log, l, 0, err);
	if (ret < 0)
		return ret;
	switch (result.end) {
	case STRACE_END_UNFINISHED:
	case STRACE_END_PID_CHANGED:
		open = new_open(log, l, l->body.word, result.arguments, err);
		if (!open)
			return TL_NOMEM;
		if (result.end == STRACE_END_UNFINISHED) {
			log->cut_line = log->line;
			log->cut_tid = l->prefix.tid;
		}
		return push(log, l->prefix.tid, open, err);
	case STRACE_END_NO_RETURN:
		if (!log->is_ltrace)
			strace_set_ltrace(log);
		if (!is_exec(l->body.word))
			return whole_call(log, l, &result, err);
		open = new_open(log, l, l->body.word, result.arguments, err);
		if (!open)
			return TL_NOMEM;
		open->is_exec = true;
		return push(log, l->prefix.tid, open, err);
	case STRACE_END_NEVER:
	case STRACE_END_DETACHED:
		return whole_call(log, l, &result, err);
	case STRACE_END_NONE:
		return broken_call(log, l, &result, err);
	case STRACE_END_RETURNED:
		break;
	}
	if (is_glued)
		return broken_call(log, l, &result, err);
	task = strace_task(&log->tasks, l->prefix.tid, err);
	ret = task ? lose_open(log, task, err) : TL_NOMEM;
	return ret < 0 ? ret : whole_call(log, l, &result, err);
}

/* Exits and kills: calls that are open end with the thread. */
static int exit_line(struct strace_log *log, struct line *l, struct tl_error *err)
{
	struct strace_task *task, *owner;
	char status[24];
	int ret = stamp(log, l, 0, err);

	task = ret < 0 ? NULL : strace_task(&log->tasks, l->prefix.tid, err);
	if (!task)
		return ret < 0 ? ret : TL_NOMEM;
	ret = end_all(log, task, TL_CALL_KILLED, err);
	owner = strace_owner(log, l->prefix.tid, err);
	if (ret == TL_OK)
		ret = strace_emit_exit(log, owner, l->has_ts, l->ts, err);
	if (ret < 0)
		return ret;
	if (l->body.kind == STRACE_KILLED)
		return strace_count(log, "killed by ", l->body.word.text, l->body.word.length, err);
	snprintf(status, sizeof(status), "%lld", (long long)l->body.number);
	return strace_count(log, "exit status ", status, strlen(status), err);
}

/* An exec in thread N ends the leader, which goes on as what N was. */
static int superseded_line(struct strace_log *log, struct line *l, struct tl_error *err)
{
	struct strace_task *leader, *other;
	struct strace_open *open;
	int32_t tid = l->body.number > 0 && l->body.number <= STRACE_PID_MAX
			      ? (int32_t)l->body.number
			      : TL_ID_NONE;
	int ret = stamp(log, l, 0, err);

	leader = ret < 0 ? NULL : strace_task(&log->tasks, l->prefix.tid, err);
	other = leader ? strace_task(&log->tasks, tid, err) : NULL;
	if (!other)
		return ret < 0 ? ret : TL_NOMEM;
	if (other == leader)
		return TL_OK;
	ret = end_all(log, leader, TL_CALL_KILLED, err);
	if (ret == TL_OK)
		ret = strace_replace(log, leader, l->has_ts, l->ts, err);
	while (ret == TL_OK && (open = other->open)) {
		take_open(log, other, open);
		open->tid = l->prefix.tid;
		ret = push(log, l->prefix.tid, open, err);
	}
	if (ret == TL_OK && tid != TL_ID_NONE)
		ret = strace_emit_exit(log, other, l->has_ts, l->ts, err);
	return ret < 0 ? ret : strace_count(log, "superseded by exec", "", 0, err);
}

/* The thread that has begun an exec: the process goes on as its leader, whatever thread that was. */
static struct strace_task *find_executing(struct strace_log *log, struct strace_task *leader)
{
	struct strace_task *found = leader->open && leader->open->is_exec ? leader : NULL;

	for (size_t i = 0; !found && i < log->tasks.count && log->tasks.open_count; i++) {
		struct strace_task *task = log->tasks.tasks[i];

		if (task->open && task->open->is_exec &&
		    (task->pid == leader->pid || task->pid == TL_ID_NONE))
			found = task;
	}
	return found;
}

/* Its exec has succeeded, and what it was in besides is gone. */
static int end_executing(struct strace_log *log, struct strace_task *task, const struct line *l,
			 struct tl_error *err)
{
	static const struct strace_return success = { .end = STRACE_END_RETURNED,
						      .duration_ns = -1,
						      .has_value = true };
	struct strace_open *open;
	int ret = TL_OK;

	while (ret == TL_OK && (open = task->open)) {
		take_open(log, task, open);
		if (is_exec(strace_open_name(open)))
			ret = joined_call(log, open, l, &success, true, err);
		else
			ret = strace_emit_open(log, task, open, TL_CALL_KILLED, err);
	}
	return ret;
}

/* "--- Called exec() ---" of ltrace */
static int exec_line(struct strace_log *log, struct line *l, struct tl_error *err)
{
	struct strace_task *leader, *task;
	int ret = stamp(log, l, 0, err);

	if (!log->is_ltrace)
		strace_set_ltrace(log);
	leader = ret < 0 ? NULL : strace_task(&log->tasks, l->prefix.tid, err);
	if (!leader)
		return ret < 0 ? ret : TL_NOMEM;
	task = find_executing(log, leader);
	if (task)
		ret = end_executing(log, task, l, err);
	if (ret == TL_OK && task && task != leader)
		ret = end_executing(log, leader, l, err);
	if (ret == TL_OK && task && task != leader)
		ret = strace_replace(log, leader, l->has_ts, l->ts, err);
	if (ret == TL_OK && task && task != leader && task->tid != TL_ID_NONE)
		ret = strace_emit_exit(log, task, l->has_ts, l->ts, err);
	return ret < 0 ? ret : strace_count(log, "called exec", "", 0, err);
}

static int message_line(struct strace_log *log, const char *text, size_t len, struct tl_error *err)
{
	struct strace_task *task;
	bool is_attached;
	int32_t pid;

	if (!strace_message(text, len, &pid, &is_attached) || !is_attached || pid == 0)
		return TL_OK;
	task = strace_task(&log->tasks, pid, err);
	if (!task)
		return TL_NOMEM;
	strace_revive(log, task);
	task->is_announced = true;
	return TL_OK;
}

static int foreign_line(struct strace_log *log, struct line *l, bool is_inner, struct tl_error *err)
{
	size_t bracket;
	int ret = tail_of_cut(log, l, err);

	if (ret != 0)
		return ret < 0 ? ret : TL_OK;
	bracket = is_inner ? 0 : strace_find_bracket(l->text, l->len);
	if (bracket > 0 && bracket < l->len)
		return read_line(log, l->text + bracket, l->len - bracket, l->has_newline, true,
				 err);
	if (log->bad[STRACE_BAD_LINE].count == 0)
		tl_printable(log->first_bad, sizeof(log->first_bad), l->text,
			     l->len < 60 ? l->len : 60);
	strace_note(log, STRACE_BAD_LINE);
	return TL_OK;
}

static int dispatch(struct strace_log *log, struct line *l, bool is_inner, struct tl_error *err)
{
	struct strace_return result;
	size_t glued;
	int ret;

	log->understood += l->body.kind < STRACE_MESSAGE && l->body.kind != STRACE_CALL;
	switch (l->body.kind) {
	case STRACE_CALL:
		glued = strace_find_glued(l->b, l->b_len);
		if (glued == l->b_len)
			return call_line(log, l, false, err);
		ret = message_line(log, l->b + glued, l->b_len - glued, err);
		l->b_len = glued;
		while (l->b_len && l->b[l->b_len - 1] == ' ')
			l->b_len--;
		return ret < 0 ? ret : call_line(log, l, true, err);
	case STRACE_RESUMED:
		strace_return(l->b + l->body.rest, l->b_len - l->body.rest, false, &result);
		ret = stamp(log, l, result.duration_ns, err);
		return ret < 0 ? ret : resumed(log, l, err);
	case STRACE_EXITED:
	case STRACE_KILLED:
		return exit_line(log, l, err);
	case STRACE_SUPERSEDED:
		return superseded_line(log, l, err);
	case STRACE_EXEC:
		return exec_line(log, l, err);
	case STRACE_SIGNAL:
		ret = stamp(log, l, 0, err);
		return ret < 0 ? ret
			       : strace_count(log, "signal ", l->body.word.text,
					      l->body.word.length, err);
	case STRACE_MESSAGE:
		return message_line(log, l->b, l->b_len, err);
	case STRACE_FOREIGN:
		break;
	}
	return foreign_line(log, l, is_inner, err);
}

/* ---- lines that are no calls ----------------------------------------------------------------- */

static size_t count_blanks(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	return at;
}

static bool is_separator(const char *text, size_t len)
{
	size_t dashes = 0, longest = 0;

	for (size_t i = 0; i < len; i++) {
		dashes = text[i] == '-' ? dashes + 1 : 0;
		longest = dashes > longest ? dashes : longest;
		if (text[i] != '-' && text[i] != ' ')
			return false;
	}
	return longest >= 5;
}

bool strace_is_table_head(const char *text, size_t len)
{
	static const char *const first[] = { "% time", "seconds", "calls", "usecs/call", "time" };
	static const char *const later[] = { "syscall", "function", "calls" };
	size_t at = count_blanks(text, len);

	if (memchr(text, '(', len))
		return false;
	for (size_t i = 0; i < 5; i++) {
		size_t n = strlen(first[i]);

		if (len - at < n || memcmp(text + at, first[i], n) != 0)
			continue;
		for (size_t j = 0; j < 3; j++)
			if (memmem(text + at + n, len - at - n, later[j], strlen(later[j])))
				return true;
	}
	return false;
}

/* "  0.00    0.000000           0         1           read" */
static bool is_table_row(const char *text, size_t len)
{
	size_t at = count_blanks(text, len);

	if (memchr(text, '(', len))
		return false;
	for (int i = 0; i < 2; i++) {
		size_t from = at;

		while (at < len && (strace_is_digit(text[at]) || text[at] == '.'))
			at++;
		if (at == from)
			return false;
		if (i == 0) {
			from = at;
			at += count_blanks(text + at, len - at);
			if (at == from)
				return false;
		}
	}
	return true;
}

/* Tables of -c or -C and dumps of -e read: 1: it is of one. */
static int table_line(struct strace_log *log, const char *text, size_t len)
{
	char first = text[count_blanks(text, len)];

	if (strchr("%sctu", first) && strace_is_table_head(text, len)) {
		log->in_summary = true;
		log->tables++;
		strace_note(log, STRACE_BAD_SUMMARY);
		return 1;
	}
	if (first == '-' && is_separator(text, len)) {
		strace_note(log, STRACE_BAD_SUMMARY);
		return 1;
	}
	if (!log->in_summary)
		return 0;
	if (is_table_row(text, len)) {
		while (len && text[len - 1] == ' ')
			len--;
		if (len >= 5 && memcmp(text + len - 5, "total", 5) == 0)
			log->in_summary = false;
		strace_note(log, STRACE_BAD_SUMMARY);
		return 1;
	}
	log->in_summary = false;
	return 0;
}

static int read_line(struct strace_log *log, const char *text, size_t len, bool has_newline,
		     bool is_inner, struct tl_error *err)
{
	struct line l;
	int ret;

	l.text = text;
	l.len = len;
	l.has_newline = has_newline;
	l.has_ts = false;
	l.ts = 0;
	if (log->broken) {
		l.prefix = (struct strace_prefix) { .tid = TL_ID_NONE };
		ret = continue_broken(log, &l, err);
		if (ret != 0)
			return ret < 0 ? ret : TL_OK;
	}
	strace_prefix(text, len, &l.prefix);
	l.b = text + l.prefix.length;
	l.b_len = len - l.prefix.length;
	while (l.b_len && l.b[l.b_len - 1] == ' ')
		l.b_len--;
	strace_body(l.b, l.b_len, &l.body);
	return dispatch(log, &l, is_inner, err);
}

int strace_line(struct strace_log *log, const char *text, size_t len, bool has_newline,
		struct tl_error *err)
{
	int ret;

	if (len >= 3 && text[0] == ' ' && text[2] == ' ') {
		if (text[1] == '>')
			return strace_hold_frame(log, text + 3, len - 3, err);
		if (text[1] == '|' || text[1] == '*') {
			strace_note(log, STRACE_BAD_DUMP);
			return TL_OK;
		}
	}
	ret = strace_hold_flush(log, err);
	if (ret < 0)
		return ret;
	if (count_blanks(text, len) == len)
		return TL_OK;
	if ((log->in_summary || !strace_is_digit(text[0])) && table_line(log, text, len))
		return TL_OK;
	return read_line(log, text, len, has_newline, false, err);
}
