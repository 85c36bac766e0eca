/*
 * call_blocks.c - calls by column: begins and durations of some thousand calls of one thread, name and
 * operation in one row.
 *
 * The bytes of a block: 0 (the version), then for each call its duration, (ns << 2 | flags), or just
 * flags where none is known; and, where the calls have times, its begin as the zigzag difference
 * from the one before, the first from base_ts. Numbers have seven bits a byte, the lowest first, and
 * the top bit set on all but their last byte.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES_MAX 10u
#define CALL_BYTES_MAX	 (1 + 2 * NUMBER_BYTES_MAX)
#define BUFFERED_MAX	 (12u << 20)
#define DURATION_MAX	 (INT64_MAX >> 2)

static size_t put_number(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* ---- writing ---------------------------------------------------------------------------------- */

static bool is_same(const struct tl_call_key *a, const struct tl_call_key *b)
{
	return a->thread_id == b->thread_id && a->name_id == b->name_id &&
	       a->operation_id == b->operation_id && a->kind == b->kind && a->timing == b->timing &&
	       a->is_wait == b->is_wait;
}

static int find_group(struct tl_call_blocks *blocks, const struct tl_call_key *key,
		      struct tl_call_group **group, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)key->thread_id << 24 ^ (uint64_t)key->name_id,
				    (uint64_t)key->operation_id << 8 | key->kind << 4 |
					    key->timing << 1 | key->is_wait);
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&blocks->index, hash, &probe)) >= 0) {
		*group = &blocks->groups[found];
		if (is_same(&(*group)->key, key)) {
			blocks->last = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&blocks->groups, &blocks->group_capacity, blocks->group_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&blocks->index, hash, (uint32_t)blocks->group_count, err);
	if (ret < 0)
		return ret;
	*group = &blocks->groups[blocks->group_count];
	memset(*group, 0, sizeof(**group));
	(*group)->key = *key;
	blocks->last = (uint32_t)blocks->group_count++;
	return TL_OK;
}

static int flush_group(struct tl_call_blocks *blocks, struct tl_call_group *group,
		       struct tl_error *err)
{
	struct tl_call_block block = { .key = group->key,
				       .count = group->count,
				       .has_times = group->has_times,
				       .first_ts = group->base_ts,
				       .last_ts = group->base_ts,
				       .base_ts = group->base_ts,
				       .bytes = (const char *)group->bytes,
				       .length = group->length };
	int ret;

	if (!group->count)
		return TL_OK;
	if (!blocks->scratch)
		blocks->scratch = tl_alloc(TL_CALL_BLOCK_MAX, sizeof(*blocks->scratch), err);
	ret = blocks->scratch ? tl_call_block_read(&block, blocks->scratch, err) : TL_NOMEM;
	for (uint32_t i = 0; i < block.count && ret == TL_OK; i++) {
		const struct tl_call_entry *call = &blocks->scratch[i];

		if (call->duration_ns > 0 &&
		    __builtin_add_overflow(block.duration_sum_ns, call->duration_ns,
					   &block.duration_sum_ns))
			block.duration_sum_ns = INT64_MAX;
		if (block.has_times && call->ts < block.first_ts)
			block.first_ts = call->ts;
		if (block.has_times && call->ts > block.last_ts)
			block.last_ts = call->ts;
	}
	if (ret == TL_OK)
		ret = blocks->put(blocks->payload, &block, err);
	group->count = group->length = 0;
	return ret;
}

/* Some thousand groups, each with a block that is nearly full, would be too much. */
static int flush_and_free(struct tl_call_blocks *blocks, struct tl_error *err)
{
	int ret = tl_call_blocks_flush(blocks, err);

	for (size_t i = 0; i < blocks->group_count; i++) {
		free(blocks->groups[i].bytes);
		blocks->groups[i].bytes = NULL;
		blocks->groups[i].capacity = 0;
	}
	blocks->buffered = 0;
	return ret;
}

static int make_room(struct tl_call_blocks *blocks, struct tl_call_group *group,
		     struct tl_error *err)
{
	uint32_t capacity = group->capacity ? group->capacity + group->capacity / 2 : 64;
	uint8_t *bytes = realloc(group->bytes, capacity);

	if (!bytes)
		return tl_fail(err, TL_NOMEM, "out of memory");
	blocks->buffered += capacity - group->capacity;
	group->bytes = bytes;
	group->capacity = capacity;
	return TL_OK;
}

/* Is it one of the longest so far? Remembers it if so. */
static bool note_longest(struct tl_call_group *group, int64_t ns)
{
	size_t i = TL_CALL_LONGEST - 1;
	int64_t value = ns < INT64_MAX ? ns + 1 : ns; /* 0: there is none yet */

	/* of equals the first are kept: many calls take as many microseconds */
	if (value <= group->longest[i])
		return false;
	for (; i > 0 && group->longest[i - 1] < value; i--)
		group->longest[i] = group->longest[i - 1];
	group->longest[i] = value;
	return true;
}

static void append(struct tl_call_group *group, bool has_ts, const struct tl_call_entry *call)
{
	int64_t ns = call->duration_ns < DURATION_MAX ? call->duration_ns : DURATION_MAX;

	if (!group->count++) {
		group->has_times = has_ts;
		group->base_ts = group->last_begin = has_ts ? call->ts : 0;
		group->bytes[group->length++] = 0;
	}
	group->length += put_number(group->bytes + group->length,
				    (ns < 0 ? 0 : (uint64_t)ns << 2) | (call->flags & 3u));
	if (has_ts)
		group->length += put_number(
			group->bytes + group->length,
			zigzag((int64_t)((uint64_t)call->ts - (uint64_t)group->last_begin)));
	group->last_begin = call->ts;
}

int tl_call_blocks_add(struct tl_call_blocks *blocks, const struct tl_call_key *key, bool has_ts,
		       const struct tl_call_entry *call, bool *is_notable, struct tl_error *err)
{
	struct tl_call_group *group;
	int ret = TL_OK;

	if (blocks->last < blocks->group_count && is_same(&blocks->groups[blocks->last].key, key))
		group = &blocks->groups[blocks->last];
	else
		ret = find_group(blocks, key, &group, err);
	if (ret == TL_OK && group->count &&
	    (group->count == TL_CALL_BLOCK_MAX || group->has_times != has_ts))
		ret = flush_group(blocks, group, err);
	if (ret == TL_OK && group->capacity - group->length < CALL_BYTES_MAX) {
		if (blocks->buffered > BUFFERED_MAX)
			ret = flush_and_free(blocks, err);
		if (ret == TL_OK)
			ret = make_room(blocks, group, err);
	}
	if (ret < 0)
		return ret;
	if (is_notable)
		*is_notable = note_longest(group, call->duration_ns);
	append(group, has_ts, call);
	return TL_OK;
}

int tl_call_blocks_flush(struct tl_call_blocks *blocks, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < blocks->group_count && ret == TL_OK; i++)
		ret = flush_group(blocks, &blocks->groups[i], err);
	return ret;
}

void tl_call_blocks_release(struct tl_call_blocks *blocks)
{
	for (size_t i = 0; i < blocks->group_count; i++)
		free(blocks->groups[i].bytes);
	free(blocks->groups);
	free(blocks->scratch);
	tl_index_release(&blocks->index);
	memset(blocks, 0, sizeof(*blocks));
}

uint64_t tl_call_block_values(const struct tl_call_block *block, int64_t source_id,
			      int64_t values[12])
{
	const struct tl_call_key *key = &block->key;
	const int64_t all[12] = { source_id,	     key->thread_id,  key->name_id,
				  key->operation_id, key->kind,	      key->timing,
				  key->is_wait,	     block->count,    block->duration_sum_ns,
				  block->base_ts,    block->first_ts, block->last_ts };
	uint64_t nulls = (uint64_t)!key->thread_id << 1 | (uint64_t)!key->operation_id << 3;

	memcpy(values, all, sizeof(all));
	if (!block->has_times)
		nulls |= 7u << 9;
	return nulls;
}

/* ---- reading ---------------------------------------------------------------------------------- */

struct numbers {
	const uint8_t *at, *end;
	bool failed;
};

static uint64_t get_number(struct numbers *n)
{
	uint64_t value = 0;

	for (unsigned shift = 0; n->at < n->end && shift < 64; shift += 7) {
		uint8_t byte = *n->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	n->failed = true;
	return 0;
}

int tl_call_block_read(const struct tl_call_block *block, struct tl_call_entry *calls,
		       struct tl_error *err)
{
	const uint8_t *bytes = (const uint8_t *)block->bytes;
	struct numbers n = { bytes, bytes + block->length, false };
	bool has_durations = block->key.timing != TL_CALL_UNTIMED;
	int64_t ts = block->base_ts;

	if (get_number(&n) != 0) /* the version */
		n.failed = true;
	for (uint32_t i = 0; i < block->count && !n.failed; i++) {
		uint64_t value = get_number(&n);

		calls[i].flags = value & 3;
		calls[i].duration_ns = has_durations ? (int64_t)(value >> 2) : -1;
		if (!block->has_times)
			continue;
		ts = (int64_t)((uint64_t)ts + (uint64_t)unzigzag(get_number(&n)));
		calls[i].ts = ts;
	}
	return n.failed ? tl_fail(err, TL_STORE, "a block of calls is damaged") : TL_OK;
}
