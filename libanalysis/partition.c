/*
 * partition.c - every nanosecond of a thread's time gets exactly one name.
 *
 * Integers only. A sweep over starts and ends with one heap of live intervals per layer.
 */
#include "partition.h"

#include <stdlib.h>

#include "memory.h"

/* Layers are few (scheduler state, call, phase ...); a number out of a file would be an error. */
#define LAYERS_MAX 64

/* Live intervals of one layer, the innermost on top. Ended ones are dropped when they surface. */
struct layer {
	size_t *heap; /* indexes of intervals */
	size_t count, capacity;
};

struct sweep {
	const struct tl_interval *intervals;
	struct layer layers[LAYERS_MAX];
	uint32_t layer_count;
	struct tl_partition *out;
	size_t capacity; /* of out->pieces */
};

static bool is_inner(const struct sweep *s, size_t a, size_t b)
{
	const struct tl_interval *x = &s->intervals[a], *y = &s->intervals[b];

	if (x->start_ns != y->start_ns)
		return x->start_ns > y->start_ns;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns;
	return a > b;
}

static int push(struct sweep *s, size_t index, struct tl_error *err)
{
	struct layer *l = &s->layers[s->intervals[index].layer];
	int ret = tl_grow(&l->heap, &l->capacity, l->count + 1, err);
	size_t at;

	if (ret < 0)
		return ret;
	for (at = l->count++; at > 0 && is_inner(s, index, l->heap[(at - 1) / 2]);
	     at = (at - 1) / 2)
		l->heap[at] = l->heap[(at - 1) / 2];
	l->heap[at] = index;
	return TL_OK;
}

static void pop(struct sweep *s, struct layer *l)
{
	size_t last = l->heap[--l->count], at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= l->count)
			break;
		if (child + 1 < l->count && is_inner(s, l->heap[child + 1], l->heap[child]))
			child++;
		if (!is_inner(s, l->heap[child], last))
			break;
		l->heap[at] = l->heap[child];
		at = child;
	}
	l->heap[at] = last;
}

/* The label at time t, and until when it holds if nothing else starts. */
static uint32_t label_at(struct sweep *s, int64_t t, int64_t *until)
{
	for (uint32_t i = 0; i < s->layer_count; i++) {
		struct layer *l = &s->layers[i];

		while (l->count && s->intervals[l->heap[0]].end_ns <= t)
			pop(s, l);
		if (l->count) {
			*until = s->intervals[l->heap[0]].end_ns;
			return s->intervals[l->heap[0]].label;
		}
	}
	*until = INT64_MAX;
	return TL_LABEL_GAP;
}

static int add_piece(struct sweep *s, int64_t start, int64_t end, uint32_t label,
		     struct tl_error *err)
{
	struct tl_partition *p = s->out;
	struct tl_piece *last = p->count ? &p->pieces[p->count - 1] : NULL;
	int ret;

	if (last && last->label == label) {
		last->end_ns = end;
		return TL_OK;
	}
	ret = tl_grow(&p->pieces, &s->capacity, p->count + 1, err);
	if (ret == TL_OK)
		p->pieces[p->count++] = (struct tl_piece) { start, end, label };
	return ret;
}

/* Names [begin, end), in which no interval starts. */
static int name_span(struct sweep *s, int64_t begin, int64_t end, struct tl_error *err)
{
	int ret = TL_OK;

	while (begin < end && ret == TL_OK) {
		int64_t until;
		uint32_t label = label_at(s, begin, &until);

		until = until < end ? until : end;
		ret = add_piece(s, begin, until, label, err);
		begin = until;
	}
	return ret;
}

struct start {
	int64_t ns;
	size_t index;
};

static int compare_starts(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static int check_interval(const struct tl_interval *v, size_t index, struct tl_error *err)
{
	if (v->end_ns < v->start_ns)
		return tl_fail(err, TL_USAGE,
			       "interval %zu ends at %lld ns, before it starts at %lld ns", index,
			       (long long)v->end_ns, (long long)v->start_ns);
	if (v->layer >= LAYERS_MAX)
		return tl_fail(err, TL_USAGE, "interval %zu has layer %u, expected less than %d",
			       index, v->layer, LAYERS_MAX);
	return TL_OK;
}

static int sweep(struct sweep *s, int64_t begin, int64_t end, const struct start *starts,
		 size_t count, struct tl_error *err)
{
	int64_t t = begin;
	int ret = TL_OK;

	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		if (starts[i].ns > t) {
			ret = name_span(s, t, starts[i].ns, err);
			t = starts[i].ns;
		}
		if (ret == TL_OK)
			ret = push(s, starts[i].index, err);
	}
	return ret == TL_OK ? name_span(s, t, end, err) : ret;
}

int tl_partition(struct tl_partition *out, int64_t begin_ns, int64_t end_ns,
		 const struct tl_interval *intervals, size_t count, struct tl_error *err)
{
	struct sweep s = { .intervals = intervals, .out = out };
	struct start *starts = tl_alloc(count, sizeof(*starts), err);
	size_t inside = 0;
	int64_t length;
	int ret = starts ? TL_OK : TL_NOMEM;

	*out = (struct tl_partition) { 0 };
	if (begin_ns > end_ns || __builtin_sub_overflow(end_ns, begin_ns, &length))
		ret = tl_fail(err, TL_USAGE, "window from %lld ns to %lld ns is not a time",
			      (long long)begin_ns, (long long)end_ns);
	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		const struct tl_interval *v = &intervals[i];

		ret = check_interval(v, i, err);
		if (ret < 0 || v->end_ns <= begin_ns || v->start_ns >= end_ns ||
		    v->start_ns == v->end_ns)
			continue;
		starts[inside++] =
			(struct start) { v->start_ns > begin_ns ? v->start_ns : begin_ns, i };
		if (v->layer >= s.layer_count)
			s.layer_count = v->layer + 1;
	}
	if (ret == TL_OK) {
		if (inside > 1)
			qsort(starts, inside, sizeof(*starts), compare_starts);
		ret = sweep(&s, begin_ns, end_ns, starts, inside, err);
	}
	free(starts);
	for (uint32_t i = 0; i < s.layer_count; i++)
		free(s.layers[i].heap);
	if (ret < 0)
		tl_partition_release(out);
	return ret;
}

void tl_partition_release(struct tl_partition *p)
{
	free(p->pieces);
	*p = (struct tl_partition) { 0 };
}

/* The first piece that ends after t. */
static size_t first_after(const struct tl_partition *p, int64_t t)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->pieces[middle].end_ns > t)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int tl_partition_sum(const struct tl_partition *p, int64_t begin_ns, int64_t end_ns,
		     int64_t *sum_ns, size_t label_count, int64_t *gap_ns, struct tl_error *err)
{
	for (size_t i = first_after(p, begin_ns); i < p->count; i++) {
		const struct tl_piece *piece = &p->pieces[i];
		int64_t start = piece->start_ns > begin_ns ? piece->start_ns : begin_ns;
		int64_t end = piece->end_ns < end_ns ? piece->end_ns : end_ns;

		if (piece->start_ns >= end_ns)
			break;
		if (piece->label == TL_LABEL_GAP)
			*gap_ns += end - start;
		else if (piece->label < label_count)
			sum_ns[piece->label] += end - start;
		else
			return tl_fail(err, TL_USAGE, "label %u, expected less than %zu",
				       piece->label, label_count);
	}
	return TL_OK;
}

/* floor(a * b / c) for b <= c, without a wider type: binary long multiplication and division. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t quotient = a / c * b, rest = a % c, part = 0, sum = 0;

	/* Adds rest * b / c bit by bit: sum < c is what is left over, part what was divided. */
	for (int bit = 63; bit >= 0; bit--) {
		part <<= 1;
		sum <<= 1; /* below 2^64, for c < 2^63 */
		if (sum >= c) {
			sum -= c;
			part++;
		}
		if (b >> bit & 1) {
			sum += rest;
			if (sum >= c) {
				sum -= c;
				part++;
			}
		}
	}
	return quotient + part;
}

int tl_apportion(int64_t *part_ns, int64_t total_ns, const uint64_t *weights, size_t n,
		 struct tl_error *err)
{
	uint64_t sum = 0, before = 0, so_far = 0;

	for (size_t i = 0; i < n; i++) {
		if (__builtin_add_overflow(sum, weights[i], &sum) || sum > INT64_MAX)
			return tl_fail(err, TL_USAGE, "weights add up to 2^63 or more");
	}
	if (total_ns < 0)
		return tl_fail(err, TL_USAGE, "time to split is %lld ns, expected 0 or more",
			       (long long)total_ns);
	for (size_t i = 0; i < n; i++) {
		uint64_t reached;

		so_far += weights[i];
		reached = sum ? scale((uint64_t)total_ns, so_far, sum) : 0;
		part_ns[i] = (int64_t)(reached - before);
		before = reached;
	}
	return TL_OK;
}
