/*
 * states_seen.c - when a thread that nobody saw come to its CPU was first seen there, by the samples
 * and tracepoint hits in its own context. Reads them by column.
 */
#include "states_seen.h"

#include <stdlib.h>

#include "sample_blocks.h"

#define SUM_MAX (INT64_C(1) << 28) /* more rows than this are taken for damage */

int tl_unseens_add(struct tl_unseens *u, const struct tl_unseen *unseen, struct tl_error *err)
{
	int ret = tl_grow(&u->items, &u->capacity, u->count + 1, err);

	if (ret == TL_OK) {
		u->items[u->count] = *unseen;
		u->items[u->count++].seen_ns = INT64_MAX;
	}
	return ret;
}

void tl_unseens_release(struct tl_unseens *u)
{
	free(u->items);
	*u = (struct tl_unseens) { 0 };
}

static int compare(const void *a, const void *b)
{
	const struct tl_unseen *x = a, *y = b;

	if (x->thread_id != y->thread_id)
		return x->thread_id < y->thread_id ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* The one of the thread that `ts` lies in, or whose end is next; a thread leaves one by one. */
static struct tl_unseen *find(struct tl_unseens *u, int64_t thread_id, int64_t ts)
{
	size_t low = 0, high = u->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct tl_unseen *x = &u->items[middle];

		if (x->thread_id < thread_id || (x->thread_id == thread_id && x->end_ns <= ts))
			low = middle + 1;
		else
			high = middle;
	}
	return low < u->count && u->items[low].thread_id == thread_id ? &u->items[low] : NULL;
}

/* Whose samples each sum counts; 0 where it is nobody who came unseen. */
static int load_threads(struct tl_store *store, int64_t source_id, int64_t **threads, int64_t *max,
			struct tl_error *err)
{
	struct tl_statement *st = NULL;
	int ret = tl_store_value(store, "SELECT max(sum_id) FROM stack_sum", 0, max, err);

	if (ret == TL_OK && (*max < 0 || *max > SUM_MAX))
		ret = tl_fail(err, TL_STORE, "table stack_sum has the id %lld: damaged",
			      (long long)*max);
	if (ret < 0)
		return ret;
	*threads = tl_alloc((size_t)*max + 1, sizeof(**threads), err);
	if (!*threads)
		return TL_NOMEM;
	ret = tl_statement_open(
		&st, store,
		"SELECT z.sum_id AS sum, z.thread_id AS thread FROM stack_sum z JOIN "
		"event e USING (event_id) WHERE e.source_id = ? AND z.thread_id IS "
		"NOT NULL",
		"sum thread", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, 0);

		if (id > 0 && id <= *max)
			(*threads)[id] = tl_column_i64(st, 1);
	}
	tl_statement_close(st);
	return ret;
}

static int look_block(struct tl_unseens *u, struct tl_statement *st,
		      struct tl_sample_entry *entries, const int64_t *threads, int64_t max,
		      struct tl_error *err)
{
	struct tl_sample_block block;
	int ret = tl_sample_block_row(st, &block, entries, err);

	for (uint32_t i = 0; i < block.count && ret == TL_OK; i++) {
		const struct tl_sample_entry *e = &entries[i];
		int64_t thread = e->sum_id > 0 && e->sum_id <= max ? threads[e->sum_id] : 0;
		struct tl_unseen *x = thread ? find(u, thread, e->ts) : NULL;

		if (x && e->ts > x->begin_ns && e->ts < x->seen_ns)
			x->seen_ns = e->ts;
	}
	return ret;
}

int tl_unseens_look(struct tl_unseens *u, struct tl_store *store, int64_t source_id,
		    struct tl_error *err)
{
	struct tl_sample_entry *entries;
	struct tl_statement *st = NULL;
	int64_t *threads = NULL, max = 0;
	int ret;

	if (!u->count)
		return TL_OK;
	qsort(u->items, u->count, sizeof(*u->items), compare);
	entries = tl_alloc(TL_SAMPLE_BLOCK_MAX, sizeof(*entries), err);
	ret = entries ? load_threads(store, source_id, &threads, &max, err) : TL_NOMEM;
	if (ret == TL_OK)
		ret = tl_statement_open(
			&st, store,
			"SELECT sample_count, base_ts, first_ts, last_ts, samples FROM "
			"sample_block WHERE source_id = ?",
			"sample_count base_ts first_ts last_ts samples", err);
	if (ret == TL_OK) {
		tl_bind_i64(st, 1, source_id);
		while ((ret = tl_statement_step(st, err)) > 0) {
			ret = look_block(u, st, entries, threads, max, err);
			if (ret < 0)
				break;
		}
	}
	tl_statement_close(st);
	free(threads);
	free(entries);
	return ret;
}
