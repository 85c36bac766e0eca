/*
 * maps.c - address spaces as implicit interval trees: maps sorted by start, each with the greatest
 * end below it, so that a query visits only what contains the address.
 */
#include "maps.h"

#include <stdlib.h>
#include <string.h>

#define PARENT_DEPTH_MAX 64 /* forks of forks without exec; deeper ones keep their own maps only */

void tl_spaces_release(struct tl_spaces *spaces)
{
	for (size_t i = 0; i < spaces->count; i++) {
		free(spaces->spaces[i].maps);
		free(spaces->spaces[i].reach);
	}
	free(spaces->spaces);
	memset(spaces, 0, sizeof(*spaces));
}

int tl_spaces_add(struct tl_spaces *spaces, uint32_t parent, int64_t fork_ts, uint32_t *space,
		  struct tl_error *err)
{
	int ret = tl_grow(&spaces->spaces, &spaces->capacity, spaces->count + 1, err);

	if (ret < 0)
		return ret;
	*space = (uint32_t)spaces->count;
	spaces->spaces[spaces->count++] =
		(struct tl_space) { .parent = parent, .fork_ts = fork_ts };
	return TL_OK;
}

int tl_space_map(struct tl_spaces *spaces, uint32_t space, const struct tl_map *map,
		 struct tl_error *err)
{
	struct tl_space *s = &spaces->spaces[space];
	int ret;

	if (map->end <= map->start)
		return TL_OK;
	ret = tl_grow(&s->maps, &s->capacity, s->count + 1, err);
	if (ret < 0)
		return ret;
	s->maps[s->count] = *map;
	s->maps[s->count].order = (uint32_t)s->count;
	s->count++;
	s->is_sorted = false;
	return TL_OK;
}

static int by_start(const void *a, const void *b)
{
	const struct tl_map *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Greatest end of maps[low, high), stored at the middle of every subrange. */
static uint64_t fill_reach(struct tl_space *s, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2;
	uint64_t reach, side;

	if (low >= high)
		return 0;
	reach = s->maps[middle].end;
	side = fill_reach(s, low, middle);
	reach = side > reach ? side : reach;
	side = fill_reach(s, middle + 1, high);
	reach = side > reach ? side : reach;
	return s->reach[middle] = reach;
}

static bool sort_space(struct tl_space *s)
{
	if (s->is_sorted || !s->count)
		return true;
	if (tl_grow(&s->reach, &s->reach_capacity, s->count, NULL) < 0)
		return false;
	qsort(s->maps, s->count, sizeof(*s->maps), by_start);
	fill_reach(s, 0, s->count);
	s->is_sorted = true;
	return true;
}

struct query {
	uint64_t ip;
	int64_t ts;
	const struct tl_map *best_exec, *best_data;
	int64_t next_ts; /* the earliest later map there */
};

static void take(struct query *q, const struct tl_map *map)
{
	const struct tl_map **best = map->is_exec ? &q->best_exec : &q->best_data;

	if (map->ts > q->ts) {
		if (map->ts < q->next_ts)
			q->next_ts = map->ts;
	} else if (!*best || map->ts > (*best)->ts ||
		   (map->ts == (*best)->ts && map->order > (*best)->order)) {
		*best = map;
	}
}

static void visit(const struct tl_space *s, size_t low, size_t high, struct query *q)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->reach[middle] <= q->ip)
			return; /* nothing here reaches the address */
		visit(s, low, middle, q);
		if (s->maps[middle].start > q->ip)
			return; /* nor does anything further on begin before it */
		if (q->ip < s->maps[middle].end)
			take(q, &s->maps[middle]);
		low = middle + 1;
	}
}

bool tl_space_find(struct tl_spaces *spaces, uint32_t space, uint64_t ip, int64_t ts,
		   struct tl_map_found *found)
{
	found->valid_from = INT64_MIN;
	found->valid_to = INT64_MAX;
	for (int depth = 0; space < spaces->count && depth < PARENT_DEPTH_MAX; depth++) {
		struct tl_space *s = &spaces->spaces[space];
		struct query q = { .ip = ip, .ts = ts, .next_ts = INT64_MAX };
		const struct tl_map *best;

		if (s->count && sort_space(s))
			visit(s, 0, s->count, &q);
		if (depth == 0) /* what an ancestor mapped after the fork does not matter */
			found->valid_to = q.next_ts;
		/* data never hides code: its mapping may have been made executable in part */
		best = q.best_exec ? q.best_exec : q.best_data;
		if (best) {
			/* inherited: say no more than was asked */
			found->valid_from = depth == 0 ? best->ts : ts;
			found->map = *best;
			return best->dso != TL_MAP_HOLE;
		}
		if (s->parent == UINT32_MAX)
			break;
		if (ts > s->fork_ts)
			ts = s->fork_ts;
		space = s->parent;
	}
	return false;
}
