/*
 * tasks.c - processes and threads by lifetime. Ids are used again by the kernel: a FORK of a known
 * id begins another life; an EXIT does not end the id, records of the dying thread may follow.
 */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

void tl_tasks_init(struct tl_tasks *tasks, struct tl_interner *names)
{
	memset(tasks, 0, sizeof(*tasks));
	tasks->names = names;
}

static void release_lives(struct tl_lives_index *by)
{
	for (size_t i = 0; i < by->count; i++)
		free(by->lives[i].members);
	free(by->lives);
	tl_index_release(&by->index);
}

void tl_tasks_release(struct tl_tasks *tasks)
{
	for (size_t i = 0; i < tasks->thread_count; i++) {
		free(tasks->threads[i].names);
		free(tasks->threads[i].hearsay);
	}
	for (size_t i = 0; i < tasks->process_count; i++)
		free(tasks->processes[i].spaces);
	free(tasks->threads);
	free(tasks->processes);
	release_lives(&tasks->by_tid);
	release_lives(&tasks->by_pid);
	memset(tasks, 0, sizeof(*tasks));
}

/* The lives of an id; made if need be. The pointer holds until the next call. */
static struct tl_lives *lives_of(struct tl_lives_index *by, int32_t id, struct tl_error *err)
{
	struct tl_lives_memo *memo = &by->memo[(uint32_t)id % 1024];
	uint64_t hash;
	size_t probe = 0;
	int64_t found;

	if (memo->index_plus_1 && memo->id == id)
		return &by->lives[memo->index_plus_1 - 1];
	memo->id = id;
	hash = tl_hash_u64((uint32_t)id, 1);
	while ((found = tl_index_find(&by->index, hash, &probe)) >= 0) {
		if (by->lives[found].id == id) {
			memo->index_plus_1 = (uint32_t)found + 1;
			return &by->lives[found];
		}
	}
	memo->index_plus_1 = 0;
	if (tl_grow(&by->lives, &by->capacity, by->count + 1, err) < 0 ||
	    tl_index_add(&by->index, hash, (uint32_t)by->count, err) < 0)
		return NULL;
	by->lives[by->count].id = id;
	memo->index_plus_1 = (uint32_t)by->count + 1;
	return &by->lives[by->count++];
}

static int64_t thread_start(const struct tl_tasks *tasks, uint32_t index)
{
	return tasks->threads[index].start_ts;
}

static int64_t process_start(const struct tl_tasks *tasks, uint32_t index)
{
	return tasks->processes[index].start_ts;
}

typedef int64_t (*start_fn)(const struct tl_tasks *tasks, uint32_t index);

/* How many lives began at or before ts. */
static size_t lives_until(const struct tl_tasks *tasks, const struct tl_lives *lives, int64_t ts,
			  start_fn start)
{
	size_t low = 0, high = lives->count;

	/* nearly always the newest */
	if (high && start(tasks, lives->members[high - 1]) <= ts)
		return high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (start(tasks, lives->members[middle]) <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_life(struct tl_tasks *tasks, struct tl_lives *lives, uint32_t member, int64_t ts,
		    start_fn start, struct tl_error *err)
{
	size_t at = lives_until(tasks, lives, ts, start);
	int ret = tl_grow(&lives->members, &lives->capacity, lives->count + 1, err);

	if (ret < 0)
		return ret;
	memmove(lives->members + at + 1, lives->members + at,
		(lives->count - at) * sizeof(*lives->members));
	lives->members[at] = member;
	lives->count++;
	return TL_OK;
}

static int new_process(struct tl_tasks *tasks, int64_t ts, int32_t pid, uint32_t parent,
		       uint32_t *out, struct tl_error *err)
{
	struct tl_process *process;
	struct tl_lives *lives;
	int ret =
		tl_grow(&tasks->processes, &tasks->process_capacity, tasks->process_count + 1, err);

	if (ret < 0)
		return ret;
	*out = (uint32_t)tasks->process_count;
	process = &tasks->processes[tasks->process_count++];
	*process = (struct tl_process) { .pid = pid,
					 .inner_pid = TL_ID_NONE,
					 .parent = parent,
					 .start_ts = ts,
					 .end_ts = INT64_MAX };
	if (pid == TL_ID_NONE)
		return TL_OK;
	lives = lives_of(&tasks->by_pid, pid, err);
	return lives ? add_life(tasks, lives, *out, ts, process_start, err) : TL_NOMEM;
}

static int new_thread(struct tl_tasks *tasks, int64_t ts, int32_t tid, uint32_t process,
		      uint32_t *out, struct tl_error *err)
{
	struct tl_thread *thread;
	struct tl_lives *lives;
	int ret = tl_grow(&tasks->threads, &tasks->thread_capacity, tasks->thread_count + 1, err);

	if (ret < 0)
		return ret;
	*out = (uint32_t)tasks->thread_count;
	thread = &tasks->threads[tasks->thread_count++];
	*thread = (struct tl_thread) {
		.tid = tid, .process = process, .start_ts = ts, .end_ts = INT64_MAX
	};
	tasks->processes[process].live_count++;
	lives = lives_of(&tasks->by_tid, tid, err);
	return lives ? add_life(tasks, lives, *out, ts, thread_start, err) : TL_NOMEM;
}

int tl_tasks_process(struct tl_tasks *tasks, int64_t ts, int32_t pid, uint32_t *process,
		     struct tl_error *err)
{
	struct tl_lives *lives;
	size_t until;

	if (pid == TL_ID_NONE)
		return new_process(tasks, INT64_MIN, pid, TL_NO_INDEX, process, err);
	lives = lives_of(&tasks->by_pid, pid, err);
	if (!lives)
		return TL_NOMEM;
	until = lives_until(tasks, lives, ts, process_start);
	if (until) {
		*process = lives->members[until - 1];
		return TL_OK;
	}
	return new_process(tasks, INT64_MIN, pid, TL_NO_INDEX, process, err);
}

/* A thread of which only the tid was known turns out to belong to a process. */
static int adopt(struct tl_tasks *tasks, uint32_t thread, int64_t ts, int32_t pid,
		 struct tl_error *err)
{
	uint32_t old = tasks->threads[thread].process, process;
	struct tl_lives *lives;
	int ret;

	if (pid == TL_ID_NONE || tasks->processes[old].pid != TL_ID_NONE)
		return TL_OK;
	lives = lives_of(&tasks->by_pid, pid, err);
	if (!lives)
		return TL_NOMEM;
	if (lives_until(tasks, lives, ts, process_start) == 0) {
		/* its number becomes known, for all of its threads */
		tasks->processes[old].pid = pid;
		return add_life(tasks, lives, old, tasks->processes[old].start_ts, process_start,
				err);
	}
	ret = tl_tasks_process(tasks, ts, pid, &process, err);
	if (ret < 0)
		return ret;
	tasks->threads[thread].process = process;
	tasks->processes[process].live_count++;
	tasks->processes[old].live_count--;
	return TL_OK;
}

int tl_tasks_thread(struct tl_tasks *tasks, int64_t ts, struct tl_task task, uint32_t *thread,
		    struct tl_error *err)
{
	struct tl_lives *lives = lives_of(&tasks->by_tid, task.tid, err);
	uint32_t process;
	size_t until;
	int ret;

	if (!lives)
		return TL_NOMEM;
	if (task.pid < 0) /* an exiting thread's: not an id */
		task.pid = TL_ID_NONE;
	until = lives_until(tasks, lives, ts, thread_start);
	if (until) {
		*thread = lives->members[until - 1];
		return adopt(tasks, *thread, ts, task.pid, err);
	}
	ret = tl_tasks_process(tasks, ts, task.tid == 0 ? 0 : task.pid, &process, err);
	if (ret < 0)
		return ret;
	return new_thread(tasks, INT64_MIN, task.tid, process, thread, err);
}

/* Into a list in order of time. */
static int insert_name(struct tl_thread_name **names, size_t *count, size_t *capacity,
		       const struct tl_thread_name *new, struct tl_error *err)
{
	size_t at = *count;
	int ret = tl_grow(names, capacity, at + 1, err);

	if (ret < 0)
		return ret;
	while (at && (*names)[at - 1].ts > new->ts)
		at--;
	memmove(*names + at + 1, *names + at, (*count - at) * sizeof(**names));
	(*names)[at] = *new;
	(*count)++;
	return TL_OK;
}

static int add_name(struct tl_thread *thread, int64_t ts, uint32_t name, bool is_exec,
		    struct tl_error *err)
{
	const struct tl_thread_name new = { .ts = ts, .name = name, .is_exec = is_exec };

	return insert_name(&thread->names, &thread->name_count, &thread->name_capacity, &new, err);
}

/* The entry of a list that is in force at ts, or NULL. */
static const struct tl_thread_name *find_name(const struct tl_thread_name *names, size_t count,
					      int64_t ts)
{
	size_t low = 0, high = count;

	if (high && names[high - 1].ts <= ts)
		return &names[high - 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names[middle].ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &names[low - 1] : NULL;
}

static const struct tl_thread_name *name_at(const struct tl_thread *thread, int64_t ts)
{
	return find_name(thread->names, thread->name_count, ts);
}

int tl_tasks_name_by_hearsay(struct tl_tasks *tasks, uint32_t thread, int64_t ts, uint32_t *name,
			     struct tl_error *err)
{
	const struct tl_thread *t = &tasks->threads[thread];
	const struct tl_thread_name *entry;

	if (!t->hearsay_count || name_at(t, ts))
		return tl_tasks_name(tasks, thread, ts, name, err);
	entry = find_name(t->hearsay, t->hearsay_count, ts);
	*name = entry ? entry->name : t->hearsay[0].name;
	return TL_OK;
}

int tl_tasks_name(struct tl_tasks *tasks, uint32_t thread, int64_t ts, uint32_t *name,
		  struct tl_error *err)
{
	const struct tl_thread *t = &tasks->threads[thread];
	const struct tl_thread_name *entry = name_at(t, ts);
	char unknown[16];

	if (entry) {
		*name = entry->name;
		return TL_OK;
	}
	if (t->tid == 0)
		return tl_intern(tasks->names, "swapper", 7, name, err);
	snprintf(unknown, sizeof(unknown), ":%d", (int)t->tid);
	return tl_intern(tasks->names, unknown, strlen(unknown), name, err);
}

/* Is there a life of `tid` that a synthesized FORK (no time) merely describes again? */
static bool is_described(struct tl_tasks *tasks, int64_t ts, int32_t tid, struct tl_error *err)
{
	struct tl_lives *lives = lives_of(&tasks->by_tid, tid, err);

	return ts == INT64_MIN && lives && lives->count &&
	       tasks->threads[lives->members[0]].start_ts == INT64_MIN;
}

int tl_tasks_fork(struct tl_tasks *tasks, int64_t ts, const struct tl_event_fork *ev,
		  bool *is_new_process, struct tl_error *err)
{
	uint32_t parent, process, thread;
	const struct tl_thread_name *name;
	int ret;

	*is_new_process = false;
	if (is_described(tasks, ts, ev->child.tid, err))
		return tl_tasks_thread(tasks, ts, ev->child, &thread, err);
	ret = tl_tasks_thread(tasks, ts, ev->parent, &parent, err);
	if (ret < 0)
		return ret;
	if (ev->child.pid == TL_ID_NONE && ev->parent.pid == TL_ID_NONE) {
		process = tasks->threads[parent].process; /* the same one, whatever its number */
	} else if (ev->child.pid == ev->parent.pid || ev->child.pid != ev->child.tid) {
		ret = tl_tasks_process(tasks, ts, ev->child.pid, &process, err);
	} else {
		*is_new_process = true;
		ret = new_process(tasks, ts, ev->child.pid, tasks->threads[parent].process,
				  &process, err);
	}
	if (ret == TL_OK)
		ret = new_thread(tasks, ts, ev->child.tid, process, &thread, err);
	if (ret < 0)
		return ret;
	/* what a synthesized FORK calls the parent may have another name by now */
	name = ts == INT64_MIN ? NULL : name_at(&tasks->threads[parent], ts);
	return name ? add_name(&tasks->threads[thread], ts, name->name, false, err) : TL_OK;
}

int tl_tasks_exit(struct tl_tasks *tasks, int64_t ts, const struct tl_event_exit *ev,
		  struct tl_error *err)
{
	struct tl_process *process;
	uint32_t thread;
	int ret = tl_tasks_thread(tasks, ts, ev->task, &thread, err);

	if (ret < 0 || tasks->threads[thread].end_ts != INT64_MAX)
		return ret;
	tasks->threads[thread].end_ts = ts;
	process = &tasks->processes[tasks->threads[thread].process];
	if (process->live_count && --process->live_count == 0)
		process->end_ts = ts;
	return TL_OK;
}

int tl_tasks_comm(struct tl_tasks *tasks, int64_t ts, const struct tl_event_comm *ev,
		  struct tl_error *err)
{
	struct tl_thread_name new = { .ts = ts, .is_exec = ev->is_exec };
	struct tl_thread *t;
	uint32_t thread;
	int ret = tl_tasks_thread(tasks, ts, ev->task, &thread, err);

	if (ret == TL_OK)
		ret = tl_intern(tasks->names, ev->name, strlen(ev->name), &new.name, err);
	if (ret < 0)
		return ret;
	t = &tasks->threads[thread];
	if (ev->is_hearsay)
		return insert_name(&t->hearsay, &t->hearsay_count, &t->hearsay_capacity, &new, err);
	return insert_name(&t->names, &t->name_count, &t->name_capacity, &new, err);
}
