/*
 * call_sums.c - how often and how long threads were in calls, per stack.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

static int find_sum(struct tl_call_sums *sums, int64_t thread_id, int64_t name_id, int64_t stack,
		    struct tl_call_sum **sum, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)thread_id << 32 ^ (uint64_t)name_id, (uint64_t)stack);
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&sums->index, hash, &probe)) >= 0) {
		*sum = &sums->sums[found];
		if ((*sum)->thread_id == thread_id && (*sum)->name_id == name_id &&
		    (*sum)->stack == stack)
			return TL_OK;
	}
	ret = tl_grow(&sums->sums, &sums->capacity, sums->count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&sums->index, hash, (uint32_t)sums->count, err);
	if (ret < 0)
		return ret;
	*sum = &sums->sums[sums->count++];
	**sum = (struct tl_call_sum) { .thread_id = thread_id, .name_id = name_id, .stack = stack };
	return TL_OK;
}

int tl_call_sums_add(struct tl_call_sums *sums, int64_t thread_id, int64_t name_id, int64_t stack,
		     int64_t duration_ns, struct tl_error *err)
{
	struct tl_call_sum *sum;
	int ret = find_sum(sums, thread_id, name_id, stack, &sum, err);

	if (ret < 0)
		return ret;
	sum->count++;
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
