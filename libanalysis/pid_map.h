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
		bool is_told;	   /* the sink knows of it */
		bool is_ambiguous; /* `inner` may mean another thread: it stays as it is */
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
/*
 * The same of what somebody watched from outside, who does not know whose recording is to be turned. Lines
 * with one number are threads that are in no container. Where a number may mean two threads it becomes
 * ambiguous: that of a container which is one of the host, too, and where two containers share a number, all.
 */
struct tl_pid_watch {
	int32_t *outside; /* numbers of the host */
	size_t count, capacity;
	bool is_shared; /* by two containers */
};
int tl_pid_map_watch(struct tl_pid_map *map, struct tl_pid_watch *watch, const char *text,
		     size_t length, struct tl_error *err);
/* After the last of them; releases the watch. */
void tl_pid_map_watched(struct tl_pid_map *map, struct tl_pid_watch *watch);
void tl_pid_map_release(struct tl_pid_map *map);

/* Passes events on to `to`, their numbers turned; what is not in the map stays and is counted. */
struct tl_pid_map_sink {
	struct tl_sink sink;
	struct tl_sink *to;
	struct tl_pid_map *map;
	uint64_t unknown_count;	  /* events with a number that the map does not have */
	uint64_t ambiguous_count; /* events with a number that may mean two threads */
};
void tl_pid_map_sink_init(struct tl_pid_map_sink *s, struct tl_pid_map *map, struct tl_sink *to);
/* Tells the sink what the map lacked. */
int tl_pid_map_sink_finish(struct tl_pid_map_sink *s, struct tl_error *err);

#endif
