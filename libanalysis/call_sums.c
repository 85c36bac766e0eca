/*
 * call_sums.c - how often and how long threads were in calls, per stack.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(int64_t thread_id, int64_t name_id, int64_t stack)
{
	return tl_hash_u64((uint64_t)thread_id << 32 ^ (uint64_t)name_id, (uint64_t)stack);
}

const struct tl_call_sum *tl_call_sums_find(const struct tl_call_sums *sums, int64_t thread_id,
					    int64_t name_id, int64_t stack)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&sums->index, hash_of(thread_id, name_id, stack), &probe)) >=
	       0) {
		const struct tl_call_sum *sum = &sums->sums[found];

		if (sum->thread_id == thread_id && sum->name_id == name_id && sum->stack == stack)
			return sum;
	}
	return NULL;
}

static int make_sum(struct tl_call_sums *sums, int64_t thread_id, int64_t name_id, int64_t stack,
		    struct tl_call_sum **sum, struct tl_error *err)
{
	int ret = tl_grow(&sums->sums, &sums->capacity, sums->count + 1, err);

	if (ret == TL_OK)
		ret = tl_index_add(&sums->index, hash_of(thread_id, name_id, stack),
				   (uint32_t)sums->count, err);
	if (ret < 0)
		return ret;
	*sum = &sums->sums[sums->count++];
	**sum = (struct tl_call_sum) { .thread_id = thread_id, .name_id = name_id, .stack = stack };
	return TL_OK;
}

int tl_call_sums_add(struct tl_call_sums *sums, int64_t thread_id, int64_t name_id, int64_t stack,
		     int64_t duration_ns, uint64_t count, struct tl_error *err)
{
	const struct tl_call_sum *found = tl_call_sums_find(sums, thread_id, name_id, stack);
	struct tl_call_sum *sum = found ? &sums->sums[found - sums->sums] : NULL;
	int ret = sum ? TL_OK : make_sum(sums, thread_id, name_id, stack, &sum, err);

	if (ret < 0)
		return ret;
	sum->count += count;
	if (duration_ns > 0)
		sum->duration_sum_ns += (uint64_t)duration_ns;
	return TL_OK;
}

void tl_call_sums_release(struct tl_call_sums *sums)
{
	free(sums->sums);
	tl_index_release(&sums->index);
	memset(sums, 0, sizeof(*sums));
}
