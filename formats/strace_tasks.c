/*
 * strace_tasks.c - the threads of a log and their open calls: what is remembered between lines.
 *
 * Knows nothing of lines; what is kept of arguments is bounded.
 */
#include "strace.h"

#include <stdlib.h>

/* Kept of all open calls together; past it only short pieces are, however many there are. */
#define KEPT_BYTES_MAX (16u << 20)
#define KEPT_SHORT     256u
/* A record with more room than this is not kept for use again. */
#define REUSE_MAX 4096u

struct strace_task *strace_task(struct strace_tasks *t, int32_t tid, struct tl_error *err)
{
	struct strace_task **memo = &t->memo[(uint32_t)tid % 1024], *task;
	uint64_t hash;
	size_t probe = 0;
	int64_t found;

	if (*memo && (*memo)->tid == tid)
		return *memo;
	hash = tl_hash_u64((uint32_t)tid, 7);
	while ((found = tl_index_find(&t->index, hash, &probe)) >= 0) {
		if (t->tasks[found]->tid == tid)
			return *memo = t->tasks[found];
	}
	task = tl_arena_alloc(&t->arena, sizeof(*task), err);
	if (!task || tl_grow(&t->tasks, &t->capacity, t->count + 1, err) < 0 ||
	    tl_index_add(&t->index, hash, (uint32_t)t->count, err) < 0)
		return NULL;
	*task = (struct strace_task) { .tid = tid, .pid = TL_ID_NONE };
	t->tasks[t->count++] = task;
	return *memo = task;
}

/* How many more bytes may be kept. */
static size_t room(const struct strace_tasks *t, size_t want, size_t keep)
{
	if (want > keep)
		want = keep;
	if (want > KEPT_SHORT && t->kept_bytes + want > KEPT_BYTES_MAX)
		want = KEPT_SHORT;
	return want;
}

static int append(struct strace_tasks *t, struct strace_open *open, const char *text, size_t len,
		  struct tl_error *err)
{
	size_t used = open->name_length + open->arguments_length, before = open->capacity;
	int ret = tl_grow(&open->text, &open->capacity, used + len + 1, err);

	t->kept_bytes += open->capacity - before;
	if (ret < 0)
		return ret;
	if (len)
		memcpy(open->text + used, text, len);
	return TL_OK;
}

int strace_open_extend(struct strace_tasks *t, struct strace_open *open,
		       struct strace_span arguments, size_t keep, struct tl_error *err)
{
	size_t have = open->arguments_length;
	size_t len = room(t, arguments.length, keep > have ? keep - have : 0);
	int ret;

	/* what is kept has no holes */
	if (open->full_length != have)
		len = 0;
	ret = append(t, open, arguments.text, len, err);
	if (ret < 0)
		return ret;
	open->arguments_length += len;
	open->full_length += arguments.length;
	return TL_OK;
}

struct strace_open *strace_open_new(struct strace_tasks *t, struct strace_span name,
				    struct strace_span arguments, size_t keep, struct tl_error *err)
{
	struct strace_open *open = t->unused, *fresh;
	int ret;

	if (open) {
		t->unused = open->outer;
	} else {
		open = tl_alloc(1, sizeof(*open), err);
		if (!open)
			return NULL;
	}
	fresh = open;
	*fresh = (struct strace_open) { .text = open->text, .capacity = open->capacity };
	ret = append(t, fresh, name.text, name.length, err);
	if (ret == TL_OK) {
		fresh->name_length = name.length;
		ret = strace_open_extend(t, fresh, arguments, keep, err);
	}
	if (ret < 0) {
		strace_open_release(t, fresh);
		return NULL;
	}
	fresh->is_clone = strace_is_clone(name);
	return fresh;
}

void strace_open_push(struct strace_tasks *t, struct strace_task *task, struct strace_open *open)
{
	open->outer = task->open;
	task->open = open;
	t->open_count++;
	t->clone_count += open->is_clone;
}

void strace_open_take(struct strace_tasks *t, struct strace_task *task, struct strace_open *open)
{
	struct strace_open **at = &task->open;

	while (*at && *at != open)
		at = &(*at)->outer;
	if (!*at)
		return;
	*at = open->outer;
	open->outer = NULL;
	t->open_count--;
	t->clone_count -= open->is_clone;
}

static void discard(struct strace_tasks *t, struct strace_open *open)
{
	t->kept_bytes -= open->capacity;
	free(open->text);
	free(open);
}

void strace_open_release(struct strace_tasks *t, struct strace_open *open)
{
	if (!open)
		return;
	if (open->capacity > REUSE_MAX) {
		discard(t, open);
		return;
	}
	open->outer = t->unused;
	t->unused = open;
}

static void discard_all(struct strace_tasks *t, struct strace_open *open)
{
	while (open) {
		struct strace_open *outer = open->outer;

		discard(t, open);
		open = outer;
	}
}

void strace_tasks_release(struct strace_tasks *t)
{
	for (size_t i = 0; i < t->count; i++)
		discard_all(t, t->tasks[i]->open);
	discard_all(t, t->unused);
	free(t->tasks);
	tl_arena_release(&t->arena);
	tl_index_release(&t->index);
	memset(t, 0, sizeof(*t));
}
