/*
 * call_blocks.c - calls by column: begins and durations of some thousand calls of one thread, name and
 * operation in one row.
 *
 * The bytes of a block: 0 (the version), the length of the first column, and two columns of numbers,
 * seven bits a byte, the lowest first, the top bit set on all but the last byte of a number:
 * durations, (ns << 2 | flags) or just flags where none is known; then, where the calls have times,
 * zigzag differences of their begins, the first from base_ts.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES_MAX 10u
#define NOTABLE_NS	 1000000 /* nobody asks for the arguments of a call below 1 ms */
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
	size_t need = 1 + NUMBER_BYTES_MAX + group->duration_length + group->begin_length;
	size_t length = 0;
	int ret;

	if (!group->open.count)
		return TL_OK;
	ret = tl_grow(&blocks->scratch, &blocks->scratch_capacity, need, err);
	if (ret < 0)
		return ret;
	blocks->scratch[length++] = 0;
	length += put_number(blocks->scratch + length, group->duration_length);
	memcpy(blocks->scratch + length, group->durations, group->duration_length);
	length += group->duration_length;
	if (group->begin_length)
		memcpy(blocks->scratch + length, group->begins, group->begin_length);
	length += group->begin_length;
	group->open.key = group->key;
	group->open.bytes = (const char *)blocks->scratch;
	group->open.length = length;
	ret = blocks->put(blocks->payload, &group->open, err);
	memset(&group->open, 0, sizeof(group->open));
	group->duration_length = group->begin_length = 0;
	return ret;
}

/* Is it one of the longest so far? Remembers it if so. */
static bool note_longest(struct tl_call_group *group, int64_t ns)
{
	size_t i = TL_CALL_LONGEST - 1;

	if (ns < NOTABLE_NS || ns < group->longest[i])
		return false;
	for (; i > 0 && group->longest[i - 1] < ns; i--)
		group->longest[i] = group->longest[i - 1];
	group->longest[i] = ns;
	return true;
}

static int append(struct tl_call_group *group, const struct tl_call_entry *call,
		  struct tl_error *err)
{
	struct tl_call_block *open = &group->open;
	int64_t ns = call->duration_ns < DURATION_MAX ? call->duration_ns : DURATION_MAX;
	int64_t begin;
	int ret = tl_grow(&group->durations, &group->duration_capacity,
			  group->duration_length + NUMBER_BYTES_MAX, err);

	if (ret == TL_OK && open->has_times)
		ret = tl_grow(&group->begins, &group->begin_capacity,
			      group->begin_length + NUMBER_BYTES_MAX, err);
	if (ret < 0)
		return ret;
	group->duration_length += put_number(group->durations + group->duration_length,
					     (ns < 0 ? 0 : (uint64_t)ns << 2) | (call->flags & 3u));
	open->count++;
	if (ns > 0 && __builtin_add_overflow(open->duration_sum_ns, ns, &open->duration_sum_ns))
		open->duration_sum_ns = INT64_MAX;
	if (!open->has_times)
		return TL_OK;
	begin = call->ts;
	if (open->count == 1)
		open->base_ts = open->first_ts = open->last_ts = group->last_begin = begin;
	group->begin_length +=
		put_number(group->begins + group->begin_length,
			   zigzag((int64_t)((uint64_t)begin - (uint64_t)group->last_begin)));
	group->last_begin = begin;
	if (begin < open->first_ts)
		open->first_ts = begin;
	if (begin > open->last_ts)
		open->last_ts = begin;
	return TL_OK;
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
	if (ret == TL_OK && group->open.count &&
	    (group->open.count == TL_CALL_BLOCK_MAX || group->open.has_times != has_ts))
		ret = flush_group(blocks, group, err);
	if (ret < 0)
		return ret;
	group->open.has_times = has_ts;
	if (is_notable)
		*is_notable = note_longest(group, call->duration_ns);
	return append(group, call, err);
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
	for (size_t i = 0; i < blocks->group_count; i++) {
		free(blocks->groups[i].durations);
		free(blocks->groups[i].begins);
	}
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

int tl_call_block_read(const struct tl_call_block *block, bool want_times,
		       struct tl_call_entry *calls, struct tl_error *err)
{
	const uint8_t *bytes = (const uint8_t *)block->bytes;
	struct numbers durations = { bytes, bytes + block->length, block->length == 0 };
	struct numbers begins;
	bool has_durations = block->key.timing != TL_CALL_UNTIMED;
	int64_t ts = block->base_ts;
	uint64_t length;

	durations.failed |= get_number(&durations) != 0; /* the version */
	length = get_number(&durations);
	durations.failed |= length > (uint64_t)(durations.end - durations.at);
	if (durations.failed)
		return tl_fail(err, TL_STORE, "a block of calls is damaged");
	begins = (struct numbers) { durations.at + length, durations.end, false };
	durations.end = begins.at;
	for (uint32_t i = 0; i < block->count; i++) {
		uint64_t value = get_number(&durations);

		calls[i].flags = value & 3;
		calls[i].duration_ns = has_durations ? (int64_t)(value >> 2) : -1;
	}
	for (uint32_t i = 0; want_times && block->has_times && i < block->count; i++) {
		ts = (int64_t)((uint64_t)ts + (uint64_t)unzigzag(get_number(&begins)));
		calls[i].ts = ts;
	}
	if (durations.failed || begins.failed)
		return tl_fail(err, TL_STORE, "a block of calls is damaged");
	return TL_OK;
}
