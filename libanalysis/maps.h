/*
 * maps.h - private: which file lay at an address of an address space at a time. Maps that were
 * there later hide earlier ones from their time on; nobody records when memory was unmapped.
 */
#ifndef TL_MAPS_H
#define TL_MAPS_H

#include "memory.h"

struct tl_map {
	uint64_t start, end; /* end is one past */
	uint64_t file_offset;
	int64_t ts;	/* from when on; INT64_MIN: from before the recording */
	uint32_t dso;	/* the caller's number; TL_MAP_HOLE: nothing from then on */
	uint32_t order; /* set by tl_space_map: of two maps of one time the later added counts */
	bool is_exec;
};

#define TL_MAP_HOLE UINT32_MAX

struct tl_space {
	struct tl_map *maps;
	uint64_t *reach; /* greatest end in the implicit tree below each map */
	size_t count, capacity, reach_capacity;
	bool is_sorted;
	uint32_t parent; /* the space it was forked from, or UINT32_MAX */
	int64_t fork_ts;
};

struct tl_spaces {
	struct tl_space *spaces;
	size_t count, capacity;
};

void tl_spaces_release(struct tl_spaces *spaces);
int tl_spaces_add(struct tl_spaces *spaces, uint32_t parent, int64_t fork_ts, uint32_t *space,
		  struct tl_error *err);
int tl_space_map(struct tl_spaces *spaces, uint32_t space, const struct tl_map *map,
		 struct tl_error *err);

struct tl_map_found {
	struct tl_map map;
	int64_t valid_from, valid_to; /* the answer is the same for valid_from <= ts < valid_to */
};
/* False: nothing is mapped there then; valid_* are set all the same. */
bool tl_space_find(struct tl_spaces *spaces, uint32_t space, uint64_t ip, int64_t ts,
		   struct tl_map_found *found);

#endif
