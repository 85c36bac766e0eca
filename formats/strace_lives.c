/*
 * strace_lives.c - lines that end or begin the life of a thread, and with it the calls it is in: exits,
 * kills, execs, and what the tracer says of itself.
 */
#include "strace_log.h"

/* Exits and kills: calls that are open end with the thread. */
int strace_exit_line(struct strace_log *log, struct strace_parts *l, struct tl_error *err)
{
	struct strace_task *task, *owner;
	char status[24];
	int ret = strace_stamp(log, l, 0, err);

	task = ret < 0 ? NULL : strace_task(&log->tasks, l->prefix.tid, err);
	if (!task)
		return ret < 0 ? ret : TL_NOMEM;
	ret = strace_end_all(log, task, TL_CALL_KILLED, err);
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
int strace_superseded_line(struct strace_log *log, struct strace_parts *l, struct tl_error *err)
{
	struct strace_task *leader, *other;
	struct strace_open *open;
	int32_t tid = l->body.number > 0 && l->body.number <= STRACE_PID_MAX
			      ? (int32_t)l->body.number
			      : TL_ID_NONE;
	int ret = strace_stamp(log, l, 0, err);

	leader = ret < 0 ? NULL : strace_task(&log->tasks, l->prefix.tid, err);
	other = leader ? strace_task(&log->tasks, tid, err) : NULL;
	if (!other)
		return ret < 0 ? ret : TL_NOMEM;
	if (other == leader)
		return TL_OK;
	ret = strace_end_all(log, leader, TL_CALL_KILLED, err);
	if (ret == TL_OK)
		ret = strace_replace(log, leader, l->has_ts, l->ts, err);
	while (ret == TL_OK && (open = other->open)) {
		strace_take(log, other, open);
		open->tid = l->prefix.tid;
		ret = strace_push(log, l->prefix.tid, open, err);
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
static int end_executing(struct strace_log *log, struct strace_task *task,
			 const struct strace_parts *l, struct tl_error *err)
{
	static const struct strace_return success = { .end = STRACE_END_RETURNED,
						      .duration_ns = -1,
						      .has_value = true };
	struct strace_open *open;
	int ret = TL_OK;

	while (ret == TL_OK && (open = task->open)) {
		strace_take(log, task, open);
		if (strace_is_exec(strace_open_name(open)))
			ret = strace_joined_call(log, open, l, &success, true, err);
		else
			ret = strace_emit_open(log, task, open, TL_CALL_KILLED, err);
	}
	return ret;
}

/* "--- Called exec() ---" of ltrace */
int strace_exec_line(struct strace_log *log, struct strace_parts *l, struct tl_error *err)
{
	struct strace_task *leader, *task;
	int ret = strace_stamp(log, l, 0, err);

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

int strace_message_line(struct strace_log *log, const char *text, size_t len, struct tl_error *err)
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
