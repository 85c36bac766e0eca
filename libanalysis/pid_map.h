/*
 * pid_map.h - private: numbers of processes and threads as a container sees them, turned into those of
 * the host on their way to a sink, so that recordings from inside and outside tell of the same threads.
 */
#ifndef TL_PID_MAP_H
#define TL_PID_MAP_H

#include "analysis.h"
#include "memory.h"

struct tl_pid_map {
	struct tl_pid_pair {
		int32_t inner, host;
		bool is_told; /* the sink knows of it */
	} * pairs;
	size_t count, capacity;
	struct tl_index index; /* by inner */
};

/*
 * Adds pairs: "INNER:HOST,INNER:HOST", or lines of /proc/PID/status ("NSpid: 4711 12": first the host's,
 * last the innermost), of which others are passed over. TL_USAGE where there is no pair, or one inner
 * number has two meanings.
 */
int tl_pid_map_add(struct tl_pid_map *map, const char *text, size_t length, struct tl_error *err);
void tl_pid_map_release(struct tl_pid_map *map);

/* Passes events on to `to`, their numbers turned; what is not in the map stays and is counted. */
struct tl_pid_map_sink {
	struct tl_sink sink;
	struct tl_sink *to;
	struct tl_pid_map *map;
	uint64_t unknown_count; /* events with a number that the map does not have */
};
void tl_pid_map_sink_init(struct tl_pid_map_sink *s, struct tl_pid_map *map, struct tl_sink *to);
/* Tells the sink what the map lacked. */
int tl_pid_map_sink_finish(struct tl_pid_map_sink *s, struct tl_error *err);

#endif
