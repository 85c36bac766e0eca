/*
 * perf_counter.c - counters that samples carry the sums of: what each has counted since its last one.
 */
#include "perf_import.h"

#include <stdlib.h>
#include <string.h>

int perf_counter_delta(struct perf_counters *counters, uint64_t id, int32_t tid, uint64_t value,
		       uint64_t *delta, bool *went_back, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64(id, (uint32_t)tid);
	struct perf_counter *counter = NULL;
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&counters->index, hash, &probe)) >= 0) {
		counter = &counters->list[found];
		if (counter->id == id && counter->tid == tid)
			break;
	}
	if (found < 0) {
		ret = tl_grow(&counters->list, &counters->capacity, counters->count + 1, err);
		if (ret == TL_OK)
			ret = tl_index_add(&counters->index, hash, (uint32_t)counters->count, err);
		if (ret < 0)
			return ret;
		counter = &counters->list[counters->count++];
		counter->id = id;
		counter->tid = tid;
		counter->value = 0;
	}
	*went_back = value < counter->value;
	*delta = *went_back ? value : value - counter->value;
	counter->value = value;
	return TL_OK;
}

void perf_counters_release(struct perf_counters *counters)
{
	free(counters->list);
	tl_index_release(&counters->index);
	memset(counters, 0, sizeof(*counters));
}
