/*
 * ranges.c - time ranges in order, without overlap.
 */
#include "ranges.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

int tl_ranges_add(struct tl_ranges *r, int64_t begin_ns, int64_t end_ns, struct tl_error *err)
{
	int ret;

	if (end_ns < begin_ns)
		return tl_fail(err, TL_USAGE, "a time range ends before it begins");
	ret = tl_grow(&r->ranges, &r->capacity, r->count + 1, err);
	if (ret == TL_OK)
		r->ranges[r->count++] = (struct tl_time_range) { begin_ns, end_ns };
	return ret;
}

static int by_begin(const void *left, const void *right)
{
	const struct tl_time_range *a = left, *b = right;

	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

void tl_ranges_settle(struct tl_ranges *r)
{
	size_t count = 0;

	if (r->count)
		qsort(r->ranges, r->count, sizeof(*r->ranges), by_begin);
	for (size_t i = 0; i < r->count; i++) {
		const struct tl_time_range range = r->ranges[i];
		struct tl_time_range *last = count ? &r->ranges[count - 1] : NULL;

		if (last && range.begin_ns <= last->end_ns)
			last->end_ns = range.end_ns > last->end_ns ? range.end_ns : last->end_ns;
		else
			r->ranges[count++] = range;
	}
	r->count = count;
}

void tl_ranges_release(struct tl_ranges *r)
{
	free(r->ranges);
	memset(r, 0, sizeof(*r));
}

size_t tl_ranges_first(const struct tl_ranges *r, int64_t ts)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->ranges[middle].end_ns > ts)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool tl_ranges_contain(const struct tl_ranges *r, int64_t ts)
{
	size_t i = tl_ranges_first(r, ts);

	return i < r->count && r->ranges[i].begin_ns <= ts;
}

int64_t tl_ranges_inside_ns(const struct tl_ranges *r, int64_t begin_ns, int64_t end_ns)
{
	uint64_t sum = 0;

	for (size_t i = tl_ranges_first(r, begin_ns); i < r->count; i++) {
		const struct tl_time_range *range = &r->ranges[i];
		int64_t begin = begin_ns > range->begin_ns ? begin_ns : range->begin_ns;
		int64_t end = end_ns < range->end_ns ? end_ns : range->end_ns;

		if (range->begin_ns >= end_ns)
			break;
		if (end > begin)
			sum += (uint64_t)end - (uint64_t)begin;
	}
	return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

int tl_ranges_intersect(struct tl_ranges *out, const struct tl_ranges *a, const struct tl_ranges *b,
			struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0, j = 0; i < a->count && j < b->count && ret == TL_OK;) {
		const struct tl_time_range *x = &a->ranges[i], *y = &b->ranges[j];
		int64_t begin = x->begin_ns > y->begin_ns ? x->begin_ns : y->begin_ns;
		int64_t end = x->end_ns < y->end_ns ? x->end_ns : y->end_ns;

		if (begin < end)
			ret = tl_ranges_add(out, begin, end, err);
		if (x->end_ns < y->end_ns)
			i++;
		else
			j++;
	}
	return ret;
}
