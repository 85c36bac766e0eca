/*
 * strace_calls.c - from the parts of lines to events: calls with what is worth a column of their
 * arguments, and what calls tell of processes, threads and their names.
 */
#include "strace_log.h"

#include "call_numbers.h"
#include "reader.h"

/* ---- names ----------------------------------------------------------------------------------- */

static size_t name_slot(struct strace_span name)
{
	uint64_t head = 0, tail = 0;
	size_t n = name.length < 8 ? name.length : 8;

	memcpy(&head, name.text, n);
	memcpy(&tail, name.text + name.length - n, n);
	return (head * 31 ^ tail * 0x9e3779b97f4a7c15u ^ name.length) % 8191 % STRACE_NAMES;
}

/* ltrace: "SYS_read" is a system call; strace knows nothing else. */
static bool is_library(const struct strace_log *log, struct strace_span name)
{
	return log->is_ltrace && !(name.length > 4 && memcmp(name.text, "SYS_", 4) == 0);
}

void strace_set_ltrace(struct strace_log *log)
{
	log->is_ltrace = true;
	memset(log->names, 0, sizeof(log->names));
}

const struct strace_name *strace_name(struct strace_log *log, struct strace_span name)
{
	struct strace_name *n = &log->names[name_slot(name)];
	struct strace_span bare = name;
	uint32_t id;

	if (n->length == name.length && memcmp(n->text, name.text, name.length) == 0)
		return n;
	if (log->known_names.count >= STRACE_NAMES_MAX &&
	    !tl_interned(&log->known_names, name.text, name.length, &id)) {
		strace_note(log, STRACE_BAD_NAMES);
		return NULL;
	}
	memset(n, 0, sizeof(*n));
	if (tl_intern(&log->known_names, name.text, name.length, &id, NULL) < 0)
		return NULL;
	if (name.length <= sizeof(n->text)) {
		memcpy(n->text, name.text, name.length);
		n->length = (uint8_t)name.length; /* a longer one is looked up each time */
	}
	if (bare.length > 4 && memcmp(bare.text, "SYS_", 4) == 0)
		bare = (struct strace_span) { bare.text + 4, bare.length - 4 };
	n->is_function = strace_is_library_name(name);
	n->is_library = is_library(log, name);
	n->is_clone = strace_is_clone(bare);
	n->is_exec = strace_span_is(bare, "execve") || strace_span_is(bare, "execveat");
	n->is_prctl = strace_span_is(bare, "prctl");
	n->is_getpid = strace_span_is(bare, "getpid");
	n->traits = strace_traits(bare.text, bare.length);
	return n;
}

/* ---- whose a line is ------------------------------------------------------------------------- */

struct strace_task *strace_owner(struct strace_log *log, int32_t tid, struct tl_error *err)
{
	struct strace_task *task;

	if (tid == TL_ID_NONE && !log->has_pids)
		tid = log->file_tid != TL_ID_NONE ? log->file_tid
		      : log->opt.pid > 0	  ? log->opt.pid
						  : TL_ID_NONE;
	if (tid != TL_ID_NONE) {
		task = strace_task(&log->tasks, tid, err);
		if (task && task->pid == TL_ID_NONE && log->opt.pid > 0 && !log->has_pids)
			task->pid = log->opt.pid;
		return task;
	}
	/* strace leaves the number out while one thread is alone (stderr, without -o) */
	if (log->main_tid != TL_ID_NONE) {
		task = strace_task(&log->tasks, log->main_tid, err);
		if (!task || !task->has_ended)
			return task;
	}
	if (log->has_brackets && log->tasks.live_count == 1 && log->tasks.count <= 4096)
		for (size_t i = 0; i < log->tasks.count; i++) {
			task = log->tasks.tasks[i];
			if (task->is_alive)
				return task;
		}
	return NULL;
}

static struct tl_task task_of(const struct strace_task *task)
{
	if (!task)
		return (struct tl_task) { TL_ID_NONE, TL_ID_NONE };
	return (struct tl_task) { task->pid, task->tid };
}

static void stamp_event(const struct strace_log *log, struct tl_event *ev, bool has_ts, int64_t ts)
{
	ev->has_ts = has_ts;
	/* without a time, the order of the file */
	ev->ts = has_ts ? ts : log->clock.has_newest ? log->clock.newest_ns : (int64_t)log->line;
}

/* ---- births, names, deaths ------------------------------------------------------------------- */

static int emit_comm(struct strace_log *log, struct strace_task *task, bool has_ts, int64_t ts,
		     const char *name, size_t len, bool is_exec, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_COMM };
	char text[64];
	uint64_t hash;

	if (!task || task->tid == TL_ID_NONE)
		return TL_OK;
	if (len > sizeof(text) - 1)
		len = sizeof(text) - 1;
	memcpy(text, name, len);
	text[len] = '\0';
	hash = tl_hash(text, len, 9) | 1;
	if (hash == task->comm_hash && !is_exec)
		return TL_OK;
	task->comm_hash = hash;
	ev.comm.task = task_of(task);
	ev.comm.name = text;
	ev.comm.is_exec = is_exec;
	stamp_event(log, &ev, has_ts, ts);
	return log->sink->emit(log->sink, &ev, err);
}

void strace_revive(struct strace_log *log, struct strace_task *task)
{
	if (task->is_alive)
		return;
	task->is_alive = true;
	task->is_seen = task->is_announced = task->is_born = task->has_ended = false;
	task->first_line = log->line;
	task->comm_hash = 0;
	task->pid = TL_ID_NONE;
	log->tasks.live_count++;
}

/* One file of several (-ff): deltas of -r count from the lines of all of them. */
void strace_break_relative(struct strace_log *log)
{
	if (log->clock.kind != STRACE_RELATIVE || log->clock.is_relative_broken)
		return;
	log->clock.is_relative_broken = true;
	log->relative_line = log->line;
}

enum made { MADE_PROCESS, MADE_THREAD, MADE_UNKNOWN };

/* What a clone makes, by its flags: in words, as a number, or behind a pointer. */
static enum made what_is_made(struct strace_span name, struct strace_span arguments)
{
	const uint64_t clone_thread = 0x10000; /* linux/sched.h */
	const char *end, *at;
	uint64_t flags;

	if (!arguments.length)
		return strace_name_ends(name, "clone3") ? MADE_UNKNOWN : MADE_PROCESS;
	end = arguments.text + arguments.length;
	if (memmem(arguments.text, arguments.length, "CLONE_THREAD", 12))
		return MADE_THREAD;
	at = memmem(arguments.text, arguments.length, "flags=", 6);
	at = at ? at + 6 : strace_name_ends(name, "clone") ? arguments.text : NULL;
	if (at && end - at > 2 && at[0] == '0' && at[1] == 'x' &&
	    tl_parse_u64(at + 2, (size_t)(end - at) - 2, 16, &flags))
		return flags & clone_thread ? MADE_THREAD : MADE_PROCESS;
	return !at && strace_name_ends(name, "clone3") ? MADE_UNKNOWN : MADE_PROCESS;
}

static int emit_birth(struct strace_log *log, int32_t parent_tid, int32_t child_tid, enum made made,
		      bool has_ts, int64_t ts, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_FORK };
	struct strace_task *parent = strace_owner(log, parent_tid, err);
	struct strace_task *child = strace_task(&log->tasks, child_tid, err);

	if (!child)
		return TL_NOMEM;
	ev.fork.parent = task_of(parent);
	/* one that was known and has not been seen to end has ended all the same */
	if (child->is_alive && child->is_seen) {
		child->is_alive = false;
		log->tasks.live_count--;
	}
	strace_revive(log, child);
	child->is_announced = child->is_born = true;
	child->pid = made == MADE_THREAD    ? ev.fork.parent.pid
		     : made == MADE_PROCESS ? child_tid
					    : TL_ID_NONE;
	ev.fork.child = task_of(child);
	if (!parent || made == MADE_UNKNOWN) /* nothing to tell of */
		return TL_OK;
	stamp_event(log, &ev, has_ts, ts);
	return log->sink->emit(log->sink, &ev, err);
}

/* A clone has returned: its child may have been met before. */
static int clone_returned(struct strace_log *log, const struct strace_call *call,
			  struct tl_error *err)
{
	int64_t tid = call->ret->outer_pid ? call->ret->outer_pid : call->ret->value;
	int32_t parent_tid = call->task->tid;
	struct strace_task *child;
	enum made made = what_is_made(call->name, call->arguments);

	if (!call->ret->has_value || call->ret->error.text || tid <= 0 || tid > STRACE_PID_MAX ||
	    tid == parent_tid)
		return TL_OK;
	if (log->file_tid != TL_ID_NONE && !log->has_pids)
		strace_break_relative(log);
	child = strace_task(&log->tasks, (int32_t)tid, err);
	if (!child)
		return TL_NOMEM;
	if (child->first_line >= call->line && child->is_born)
		return TL_OK; /* told when it was met */
	if (child->first_line >= call->line && child->is_seen) {
		if (child->pid == TL_ID_NONE && made != MADE_UNKNOWN)
			child->pid = made == MADE_THREAD ? call->task->pid : (int32_t)tid;
		return TL_OK;
	}
	return emit_birth(log, parent_tid, (int32_t)tid, made, call->has_ts, call->ts, err);
}

/* A number that is new, while clones are open: it is the child of one of them. */
static int born_in_open_clone(struct strace_log *log, int32_t tid, struct tl_error *err)
{
	int32_t parent_tid = TL_ID_NONE, pid = TL_ID_NONE;
	const struct strace_open *found = NULL;
	enum made made = MADE_PROCESS;

	for (size_t i = 0; i < log->clone_count; i++) {
		const struct strace_task *parent = strace_task(&log->tasks, log->clones[i], err);
		const struct strace_open *open = parent ? parent->open : NULL;
		enum made other;

		if (!open || !open->is_clone)
			continue;
		other = what_is_made(strace_open_name(open),
				     (struct strace_span) { open->text + open->name_length,
							    open->arguments_length });
		if (found && (other != made || (made == MADE_THREAD && parent->pid != pid)))
			return TL_OK; /* which one will be known when they return */
		found = open;
		made = other;
		pid = parent->pid;
		parent_tid = parent->tid;
	}
	if (!found || parent_tid == tid)
		return TL_OK;
	return emit_birth(log, parent_tid, tid, made, found->has_ts, found->ts, err);
}

int strace_meet(struct strace_log *log, const struct strace_prefix *prefix, int64_t ts,
		struct tl_error *err)
{
	struct strace_task *task = strace_task(&log->tasks, prefix->tid, err);
	char comm[64];
	int ret = TL_OK;

	if (!task)
		return TL_NOMEM;
	strace_revive(log, task);
	if (!task->is_seen) {
		if (prefix->is_bracketed && !task->is_announced && log->main_tid == TL_ID_NONE)
			log->main_tid = prefix->tid;
		if (!task->is_born && log->clone_count && prefix->tid != log->main_tid)
			ret = born_in_open_clone(log, prefix->tid, err);
		if (ret < 0)
			return ret;
		task->is_seen = true;
		if (task->pid == TL_ID_NONE && log->opt.pid > 0)
			task->pid = log->opt.pid;
	}
	if (prefix->comm.text) {
		size_t len = strace_unescape(comm, sizeof(comm), prefix->comm);

		ret = emit_comm(log, task, prefix->time != STRACE_NO_TIME, ts, comm, len, false,
				err);
	}
	return ret;
}

int strace_emit_exit(struct strace_log *log, struct strace_task *task, bool has_ts, int64_t ts,
		     struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_EXIT };

	if (!task || !task->is_alive || task->tid == TL_ID_NONE)
		return TL_OK;
	task->is_alive = task->is_seen = false;
	task->has_ended = true;
	log->tasks.live_count--;
	ev.exit.task = task_of(task);
	stamp_event(log, &ev, has_ts, ts);
	return log->sink->emit(log->sink, &ev, err);
}

int strace_replace(struct strace_log *log, struct strace_task *leader, bool has_ts, int64_t ts,
		   struct tl_error *err)
{
	int32_t pid = leader->pid;
	int ret;

	if (leader->tid == TL_ID_NONE)
		return TL_OK;
	ret = strace_emit_exit(log, leader, has_ts, ts, err);
	strace_revive(log, leader);
	leader->pid = pid;
	leader->is_seen = leader->is_announced = leader->is_born = true;
	return ret;
}

/* The kernel names a thread for the last part of the path, 15 bytes of it. */
static int exec_returned(struct strace_log *log, const struct strace_call *call,
			 const struct strace_arguments *arguments, struct tl_error *err)
{
	char path[4096];
	const char *name;
	size_t len;

	call->task->pid = call->task->tid; /* whoever executes becomes the leader */
	if (!arguments->path.text || !arguments->is_path_quoted)
		return TL_OK;
	len = strace_unescape(path, sizeof(path), arguments->path);
	name = memrchr(path, '/', len);
	name = name ? name + 1 : path;
	len = (size_t)(path + len - name);
	return emit_comm(log, call->task, call->has_ts, call->end_ns, name, len > 15 ? 15 : len,
			 true, err);
}

static int prctl_returned(struct strace_log *log, const struct strace_call *call,
			  struct tl_error *err)
{
	struct strace_span name = strace_argument(call->arguments.text, call->arguments.length, 1);
	char comm[64];
	size_t len;

	if (name.length < 2 || name.text[0] != '"' || name.text[name.length - 1] != '"')
		return TL_OK;
	name.text++;
	name.length -= 2;
	len = strace_unescape(comm, sizeof(comm), name);
	return emit_comm(log, call->task, call->has_ts, call->end_ns, comm, len > 15 ? 15 : len,
			 false, err);
}

/* What a call that went well tells of threads. */
static int learn(struct strace_log *log, const struct strace_name *name,
		 const struct strace_call *call, const struct strace_arguments *arguments,
		 struct tl_error *err)
{
	int64_t pid;

	if (call->outcome != TL_CALL_RETURNED || !call->ret || call->ret->error.text)
		return TL_OK;
	if (name->is_clone)
		return clone_returned(log, call, err);
	if (name->is_exec)
		return exec_returned(log, call, arguments, err);
	if (name->is_prctl && strace_span_is(arguments->operation, "PR_SET_NAME"))
		return prctl_returned(log, call, err);
	if (name->is_getpid && call->ret->has_value && call->task->pid == TL_ID_NONE) {
		pid = call->ret->outer_pid ? call->ret->outer_pid : call->ret->value;
		if (pid > 0 && pid <= STRACE_PID_MAX)
			call->task->pid = (int32_t)pid;
	}
	return TL_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The first `keep` bytes, but no half of a UTF-8 sequence. */
static size_t cut_arguments(struct strace_span arguments, size_t keep)
{
	size_t len = arguments.length < keep ? arguments.length : keep;

	if (len == arguments.length)
		return len;
	for (int i = 0; i < 3 && len && ((uint8_t)arguments.text[len] & 0xc0) == 0x80; i++)
		len--;
	return len;
}

/* ltrace prints what the kernel returned: an error is its number, negative. */
static void name_error(struct strace_log *log, struct tl_event_syscall *out)
{
	const int64_t errno_max = 4095;
	const char *known;

	if (!out->has_result || out->result >= 0 || out->result < -errno_max)
		return;
	known = tl_call_error_name(-out->result);
	if (!known) {
		snprintf(log->error, sizeof(log->error), "errno_%d", (int)-out->result);
		known = log->error;
	}
	if (tl_call_is_restart(-out->result) && out->outcome == TL_CALL_RETURNED)
		out->outcome = TL_CALL_RESTARTED;
	out->error = known;
	out->error_length = strlen(known);
	out->result = -1;
}

static void fill_result(struct strace_log *log, const struct strace_return *ret,
			struct tl_event_syscall *out)
{
	if (!ret)
		return;
	out->has_result = ret->has_value;
	out->result = ret->value;
	out->error = ret->error.text;
	out->error_length = ret->error.length;
	if (log->is_ltrace && out->kind == TL_CALL_SYSTEM && !out->error)
		name_error(log, out);
}

int strace_emit_call(struct strace_log *log, const struct strace_call *call, struct tl_error *err)
{
	const struct strace_name *name = strace_name(log, call->name);
	struct strace_arguments a;
	struct tl_event ev;
	struct tl_event_syscall *c = &ev.syscall;
	int ret;

	if (name && name->is_function && !log->is_ltrace && call->ret) {
		/* not of a broken line: "free(): invalid pointer" is what a program says */
		strace_set_ltrace(log);
		name = strace_name(log, call->name);
	}
	if (!name)
		return TL_OK; /* counted */
	strace_arguments(name->traits, call->arguments.text, call->arguments.length, &a);
	if (call->task && (name->is_clone || name->is_exec || name->is_prctl || name->is_getpid)) {
		/* an exec ends the calls of other threads: it is told first */
		ret = strace_hold_flush(log, err);
		if (ret == TL_OK)
			ret = learn(log, name, call, &a, err);
		if (ret < 0)
			return ret;
	}
	ev.kind = TL_EVENT_SYSCALL;
	*c = (struct tl_event_syscall) {
		.task = task_of(call->task),
		.kind = name->is_library ? TL_CALL_LIBRARY : TL_CALL_SYSTEM,
		.timing = call->timing,
		.outcome = call->outcome,
		.has_end = call->has_end,
		.duration_ns = call->duration_ns,
		.name = call->name.text,
		.name_length = call->name.length,
		.arguments_full_length = call->full_length,
		.operation = a.operation.text,
		.operation_length = a.operation.length,
		.has_fd = a.has_fd,
		.fd = a.fd,
		.path = a.path.text,
		.path_length = a.path.length,
		.has_timeout = a.has_timeout,
		.timeout_ns = a.timeout_ns,
		.position = call->line,
	};
	if (log->opt.argument_bytes >= 0) {
		c->arguments = call->arguments.text ? call->arguments.text : "";
		c->arguments_length = cut_arguments(call->arguments, log->keep_bytes);
	}
	if (c->path && memchr(c->path, '\\', c->path_length)) {
		c->path_length = strace_unescape(log->path, sizeof(log->path), a.path);
		c->path = log->path;
	}
	fill_result(log, call->ret, c);
	stamp_event(log, &ev, call->has_ts, call->ts);
	log->calls++;
	log->orphan_calls += call->task == NULL;
	return strace_hold(log, &ev, err);
}

int strace_emit_open(struct strace_log *log, struct strace_task *task, struct strace_open *open,
		     enum tl_call_outcome outcome, struct tl_error *err)
{
	struct strace_call call = {
		.task = task && task->tid != TL_ID_NONE ? task : NULL,
		.has_ts = open->has_ts,
		.ts = open->ts,
		.end_ns = open->ts,
		.duration_ns = -1,
		.line = open->line,
		.name = strace_open_name(open),
		.arguments = { open->text + open->name_length, open->arguments_length },
		.full_length = open->full_length,
		.timing = TL_CALL_UNTIMED,
		.outcome = outcome,
	};
	int ret = TL_OK;

	if (!call.task) {
		call.task = strace_owner(log, open->tid, err);
		if (call.task && call.task->tid == TL_ID_NONE)
			call.task = NULL;
	}
	ret = strace_emit_call(log, &call, err);
	strace_open_release(&log->tasks, open);
	return ret;
}
