/*
 * steps_join.c - series of steps that go on in another source: a profiler writes a file a cycle, logs are
 * rotated. Knows numbers, times and threads; what the order of import was plays no part.
 */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define NONE	   SIZE_MAX
#define ROUNDED_NS INT64_C(1000000000) /* times of logs may be of whole seconds */

/* A series, and the one that goes on where it ends. */
struct link {
	const struct tl_steps_series *series;
	const struct tl_steps_extent *extent;
	size_t at;	       /* in struct tl_steps */
	size_t next, previous; /* among the links; NONE */
	int64_t stride;	       /* between numbers of its rows, the usual one; 0 unknown */
};

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* ---- who may follow whom ---- */

/* 0: both are of the same thread, as far as anybody knows. */
static int compare_owners(const struct link *a, const struct link *b)
{
	int order = compare_texts(a->series->origin, b->series->origin);

	if (!order)
		order = compare_texts(a->extent->importer, b->extent->importer);
	if (!order)
		order = compare_numbers(a->extent->host_id, b->extent->host_id);
	if (!order)
		order = compare_numbers(a->series->rank, b->series->rank);
	if (!order)
		order = compare_numbers(a->series->pid, b->series->pid);
	if (!order)
		order = compare_numbers(a->series->tid, b->series->tid);
	return order;
}

static int by_owner(const void *left, const void *right)
{
	const struct link *a = left, *b = right;
	int order = compare_owners(a, b);

	if (!order)
		order = compare_numbers(a->extent->least_number, b->extent->least_number);
	return order ? order : compare_numbers((int64_t)a->at, (int64_t)b->at);
}

/* A profiler may rest between its cycles, and its rank tells whose steps they are. */
static bool may_skip(const struct link *x)
{
	return x->series->rank >= 0 && x->extent->is_timed &&
	       !strcmp(x->series->origin, "profiler");
}

static bool is_after(const struct link *a, const struct link *b)
{
	return b->extent->least_number > a->extent->most_number;
}

static bool goes_on(const struct link *a, const struct link *b)
{
	int64_t stride = a->stride ? a->stride : b->stride ? b->stride : 1, next;

	return !__builtin_add_overflow(a->extent->last_number, stride, &next) &&
	       b->extent->first_number == next;
}

/* With numbers that go on, times say otherwise only if they are clearly before. */
static bool is_not_before(const struct link *a, const struct link *b)
{
	const struct tl_steps_extent *x = a->extent, *y = b->extent;
	int64_t rounded;

	if (!x->has_ts || !y->has_ts)
		return true;
	return !__builtin_sub_overflow(x->last_ts, ROUNDED_NS, &rounded) &&
	       y->first_ts >= rounded && y->last_ts >= x->last_ts;
}

static bool may_follow(const struct link *a, const struct link *b)
{
	if (!is_after(a, b))
		return false;
	if (may_skip(a) && may_skip(b))
		return b->extent->first_ts >= a->extent->end_ts;
	return goes_on(a, b) && is_not_before(a, b);
}

/* ---- who follows whom ---- */

static void set_next(struct link *links, size_t a, size_t b)
{
	links[a].next = b;
	links[b].previous = a;
}

/*
 * Of the same thread, in order of their first numbers: neighbours, unless one of them overlaps a third
 * one, as when the files of two jobs are in one case.
 */
static void link_cycles(struct link *links, size_t first, size_t end)
{
	int64_t most = INT64_MIN; /* of all before the one at hand */
	bool was_clear = false;	  /* the one before overlaps none */

	for (size_t i = first; i < end; i++) {
		bool is_clear = (i == first || links[i].extent->least_number > most) &&
				(i + 1 == end || is_after(&links[i], &links[i + 1]));

		if (was_clear && is_clear && may_follow(&links[i - 1], &links[i]))
			set_next(links, i - 1, i);
		was_clear = is_clear;
		if (links[i].extent->most_number > most)
			most = links[i].extent->most_number;
	}
}

/* The only one that may, if it may follow that one only: with two logs of each half nobody knows. */
static void link_rotated(struct link *links, size_t first, size_t end)
{
	for (size_t a = first; a < end; a++) {
		size_t followers = 0, leaders = 0, b = NONE;

		for (size_t i = first; i < end; i++) {
			if (!may_follow(&links[a], &links[i]))
				continue;
			followers++;
			b = i;
		}
		for (size_t i = first; i < end && followers == 1; i++)
			leaders += may_follow(&links[i], &links[b]);
		if (followers == 1 && leaders == 1)
			set_next(links, a, b);
	}
}

static int measure_stride(struct link *x, struct tl_error *err)
{
	double stride;
	int ret = tl_steps_stride(x->series, &stride, err);

	x->stride = ret == TL_OK && stride < 1e15 ? (int64_t)stride : 0;
	return ret;
}

static int make_links(const struct tl_steps *steps, const struct tl_steps_extent *extents,
		      struct link *links, size_t *count, struct tl_error *err)
{
	int ret = TL_OK;

	*count = 0;
	for (size_t i = 0; i < steps->series_count && ret == TL_OK; i++) {
		struct link *x = &links[*count];

		if (!steps->series[i].count)
			continue;
		*x = (struct link) { .series = &steps->series[i],
				     .extent = &extents[i],
				     .at = i,
				     .next = NONE,
				     .previous = NONE };
		ret = measure_stride(x, err);
		(*count)++;
	}
	if (*count > 1)
		qsort(links, *count, sizeof(*links), by_owner);
	for (size_t first = 0, end; first < *count; first = end) {
		bool has_cycles = true;

		for (end = first; end < *count && !compare_owners(&links[first], &links[end]);
		     end++)
			has_cycles &= may_skip(&links[end]);
		(has_cycles ? link_cycles : link_rotated)(links, first, end);
	}
	return ret;
}

/* ---- one of several ---- */

static int append(struct tl_steps_series *to, struct tl_steps_series *from, size_t *step_capacity,
		  size_t *part_capacity, struct tl_error *err)
{
	int ret = tl_grow(&to->steps, step_capacity, to->count + from->count, err);

	if (ret == TL_OK)
		ret = tl_grow(&to->more, part_capacity, to->more_count + 1, err);
	if (ret < 0)
		return ret;
	to->more[to->more_count++] = (struct tl_steps_part) { .source_id = from->source_id,
							      .source = from->source,
							      .first = to->count };
	memcpy(to->steps + to->count, from->steps, from->count * sizeof(*to->steps));
	to->count += from->count;
	to->left_out += from->left_out;
	tl_steps_series_release(from);
	return TL_OK;
}

/* The whole chain in the place of the first of it that was loaded; the other places are emptied. */
static int merge(struct tl_steps *steps, const struct link *links, size_t head,
		 struct tl_error *err)
{
	struct tl_steps_series all = steps->series[links[head].at];
	size_t place = links[head].at, step_capacity = all.count, part_capacity = 0;
	int ret = TL_OK;

	memset(&steps->series[place], 0, sizeof(all));
	for (size_t i = links[head].next; i != NONE && ret == TL_OK; i = links[i].next) {
		place = links[i].at < place ? links[i].at : place;
		ret = append(&all, &steps->series[links[i].at], &step_capacity, &part_capacity,
			     err);
	}
	if (ret < 0) {
		tl_steps_series_release(&all);
		return ret;
	}
	steps->series[place] = all;
	return TL_OK;
}

int tl_steps_join(struct tl_steps *steps, const struct tl_steps_extent *extents,
		  struct tl_error *err)
{
	struct link *links = tl_alloc(steps->series_count + 1, sizeof(*links), err);
	size_t count = 0, kept = 0;
	int ret = links ? make_links(steps, extents, links, &count, err) : TL_NOMEM;

	for (size_t i = 0; i < count && ret == TL_OK; i++)
		if (links[i].previous == NONE && links[i].next != NONE)
			ret = merge(steps, links, i, err);
	for (size_t i = 0; i < steps->series_count && ret == TL_OK; i++)
		if (steps->series[i].origin) /* none: it has become a part of another one */
			steps->series[kept++] = steps->series[i];
	if (ret == TL_OK)
		steps->series_count = kept;
	free(links);
	return ret;
}

/* ---- public ---- */

struct tl_steps_part tl_steps_part(const struct tl_steps_series *s, size_t i)
{
	struct tl_steps_part part = { .source_id = s->source_id, .source = s->source };

	if (i)
		part = s->more[i - 1];
	part.end = i < s->more_count ? s->more[i].first : s->count;
	return part;
}
