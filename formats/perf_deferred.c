/*
 * perf_deferred.c - samples taken in the kernel whose user call chain is recorded later, when the
 * thread returns to user space: they wait here for the record with their thread and cookie.
 */
#include "perf_import.h"

#include <stdlib.h>
#include <string.h>

/* Buffers of all CPUs together are smaller: what has not come by then was lost. */
#define HELD_COUNT_MAX 65536u
#define HELD_BYTES_MAX (32u << 20)

static uint32_t *bucket_of(struct perf_deferred *d, int32_t tid, uint64_t cookie)
{
	return &d->buckets[tl_hash_u64(cookie, (uint32_t)tid) % PERF_HELD_BUCKETS];
}

static void drop(struct perf_deferred *d, struct perf_held *held)
{
	d->bytes -= held->raw.body_size;
	d->open_count--;
	free((void *)held->raw.body);
	held->raw.body = NULL;
	held->is_done = true;
}

static void forget_all(struct perf_deferred *d)
{
	d->count = 0;
	memset(d->buckets, 0, sizeof(d->buckets));
}

int perf_deferred_hold(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
		       int32_t tid, uint64_t cookie, struct tl_sink *sink, struct tl_error *err)
{
	struct perf_deferred *d = &p->deferred;
	struct perf_held *held;
	uint32_t *bucket;
	uint8_t *copy;
	int ret = TL_OK;

	if (d->count >= HELD_COUNT_MAX || d->bytes >= HELD_BYTES_MAX)
		ret = perf_deferred_flush(p, sink, err);
	if (ret == TL_OK)
		ret = tl_grow(&d->held, &d->capacity, d->count + 1, err);
	copy = ret == TL_OK ? tl_alloc(raw->body_size, 1, err) : NULL;
	if (!copy)
		return ret < 0 ? ret : TL_NOMEM;
	memcpy(copy, raw->body, raw->body_size);
	held = &d->held[d->count++];
	held->raw = *raw;
	held->raw.body = copy;
	held->event = event;
	held->tid = tid;
	held->cookie = cookie;
	held->is_done = false;
	bucket = bucket_of(d, tid, cookie);
	held->next = *bucket;
	*bucket = (uint32_t)d->count;
	d->open_count++;
	d->bytes += raw->body_size;
	return TL_OK;
}

int perf_deferred_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
			 struct tl_error *err)
{
	struct perf_deferred *d = &p->deferred;
	uint64_t cookie, count;
	const uint8_t *ips;
	uint32_t event, at, newest_first = 0;
	int32_t tid;
	int ret = perf_decode_into(p, raw, &event, err);

	if (ret < 0)
		return TL_READ_SKIPPED;
	tid = p->record.trailer.tid;
	cookie = p->record.deferred.cookie;
	count = p->record.deferred.count;
	ips = p->record.deferred.ips;
	/* a bucket lists the newest first: turn the list of those that match, for file order */
	at = *bucket_of(d, tid, cookie);
	while (at) {
		struct perf_held *held = &d->held[at - 1];
		uint32_t next = held->next;

		if (!held->is_done && held->tid == tid && held->cookie == cookie) {
			held->match_next = newest_first;
			newest_first = at;
		}
		at = next;
	}
	for (at = newest_first; at; at = d->held[at - 1].match_next) {
		struct perf_held *held = &d->held[at - 1];

		ret = perf_sample_deliver(p, &held->raw, held->event, ips, count, sink, err);
		drop(d, held);
		if (ret < 0)
			return ret;
	}
	if (!d->open_count)
		forget_all(d);
	return TL_READ_MORE;
}

int perf_deferred_flush(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	struct perf_deferred *d = &p->deferred;

	for (size_t i = 0; i < d->count; i++) {
		struct perf_held *held = &d->held[i];
		int ret;

		if (held->is_done)
			continue;
		ret = perf_tally_add(p, PERF_TALLY_DEFERRED_MISSING, 0, 1, held->raw.offset, err);
		if (ret == TL_OK)
			ret = perf_sample_deliver(p, &held->raw, held->event, NULL, 0, sink, err);
		drop(d, held);
		if (ret < 0)
			return ret;
	}
	forget_all(d);
	return TL_OK;
}

void perf_deferred_release(struct perf_deferred *deferred)
{
	for (size_t i = 0; i < deferred->count; i++)
		if (!deferred->held[i].is_done)
			free((void *)deferred->held[i].raw.body);
	free(deferred->held);
	memset(deferred, 0, sizeof(*deferred));
}
