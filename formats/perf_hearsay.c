/*
 * perf_hearsay.c - names that switches and wake-ups tell of threads that no COMM record names: those
 * that ran before the recorder looked, or that it was told not to look for.
 *
 * Each is told once, before the event that tells it, and again when it changes.
 */
#include "perf_import.h"

#include <stdlib.h>
#include <string.h>

/* The thread of that id, made if need be; NULL without memory. */
static struct perf_named *named(struct perf_hearsay *h, int32_t tid, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint32_t)tid, 0);
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&h->index, hash, &probe)) >= 0)
		if (h->list[found].tid == tid)
			return &h->list[found];
	if (tl_grow(&h->list, &h->capacity, h->count + 1, err) < 0 ||
	    tl_index_add(&h->index, hash, (uint32_t)h->count, err) < 0)
		return NULL;
	h->list[h->count] = (struct perf_named) { .tid = tid };
	return &h->list[h->count++];
}

int perf_hearsay_announce(struct perf_hearsay *h, int32_t tid, struct tl_error *err)
{
	struct perf_named *thread = named(h, tid, err);

	if (!thread)
		return TL_NOMEM;
	thread->is_announced = true;
	return TL_OK;
}

int perf_hearsay_fork(struct perf_hearsay *h, int32_t child, int32_t parent, struct tl_error *err)
{
	struct perf_named *thread = named(h, parent, err);

	if (!thread)
		return TL_NOMEM;
	return thread->is_announced ? perf_hearsay_announce(h, child, err) : TL_OK;
}

int perf_hearsay_emit(struct perf_hearsay *h, const struct tl_event *at, struct tl_task task,
		      struct perf_tracepoint_name name, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_COMM, .has_ts = at->has_ts, .ts = at->ts };
	struct perf_named *thread;

	if (!name.length || name.length >= sizeof(thread->name) || task.tid <= 0)
		return TL_OK; /* idle threads have a name of their own */
	thread = named(h, task.tid, err);
	if (!thread)
		return TL_NOMEM;
	if (thread->is_announced ||
	    (!strncmp(thread->name, name.text, name.length) && !thread->name[name.length]))
		return TL_OK;
	memcpy(thread->name, name.text, name.length);
	thread->name[name.length] = '\0';
	ev.comm.task = task;
	ev.comm.name = thread->name;
	ev.comm.is_hearsay = true;
	return sink->emit(sink, &ev, err);
}

void perf_hearsay_release(struct perf_hearsay *h)
{
	free(h->list);
	tl_index_release(&h->index);
	memset(h, 0, sizeof(*h));
}
