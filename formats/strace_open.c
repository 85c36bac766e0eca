/*
 * strace_open.c - calls that are on one line, or on several: begun, kept while others' lines come
 * between, found again by thread and name, and made calls of.
 */
#include "strace_log.h"

int strace_stamp(struct strace_log *log, struct strace_parts *l, int64_t duration_ns,
		 struct tl_error *err)
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

/* ---- calls ----------------------------------------------------------------------------------- */

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

void strace_take(struct strace_log *log, struct strace_task *task, struct strace_open *open)
{
	strace_open_take(&log->tasks, task, open);
	if (open->is_clone)
		forget_clone(log, task->tid);
}

/* All open calls of a task end with this outcome. */
int strace_end_all(struct strace_log *log, struct strace_task *task, enum tl_call_outcome outcome,
		   struct tl_error *err)
{
	int ret = TL_OK;

	while (task->open && ret == TL_OK) {
		struct strace_open *open = task->open;

		strace_take(log, task, open);
		ret = strace_emit_open(log, task, open, outcome, err);
	}
	return ret;
}

/* strace has one call at a time per thread: another begin means that an end is missing. */
int strace_lose_open(struct strace_log *log, struct strace_task *task, struct tl_error *err)
{
	if (!task->open || log->is_ltrace)
		return TL_OK;
	strace_note(log, STRACE_BAD_LOST);
	return strace_end_all(log, task, TL_CALL_LOST, err);
}

int strace_push(struct strace_log *log, int32_t tid, struct strace_open *open, struct tl_error *err)
{
	struct strace_task *task = strace_task(&log->tasks, tid, err);
	int ret = task ? strace_lose_open(log, task, err) : TL_NOMEM;

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

struct strace_open *strace_begin(struct strace_log *log, const struct strace_parts *l,
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
	if (ret->is_odd_duration)
		strace_note(log, STRACE_BAD_DURATION);
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
int strace_whole_call(struct strace_log *log, const struct strace_parts *l,
		      const struct strace_return *ret, struct tl_error *err)
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
int strace_joined_call(struct strace_log *log, struct strace_open *open,
		       const struct strace_parts *l, const struct strace_return *ret,
		       bool is_derivable, struct tl_error *err)
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
int strace_orphan_call(struct strace_log *log, const struct strace_parts *l,
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
bool strace_is_exec(struct strace_span name)
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
	strace_take(log, task, open);
	return open;
}

static struct strace_open *take_nested(struct strace_log *log, struct strace_task *task,
				       struct strace_span name)
{
	unsigned depth = 0;

	name = bare_name(name);
	for (struct strace_open *open = task->open; open && depth < 4096; open = open->outer) {
		if (same(bare_name(strace_open_name(open)), name)) {
			strace_take(log, task, open);
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
struct strace_open *strace_take_pending(struct strace_log *log, int32_t tid,
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
