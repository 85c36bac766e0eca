/*
 * capture_counters.h - many values of a machine, sampled again and again, as counter events. A value is
 * told when it changes, and its sample just before that: rates between two events are then right, and
 * what stands still costs nothing.
 */
#ifndef CAPTURE_COUNTERS_H
#define CAPTURE_COUNTERS_H

#include "capture.h"
#include "memory.h"

struct capture_counter {
	uint32_t track, name; /* name: interned */
	const char *unit;     /* static; NULL none */
	double value;
	int64_t seen_ns, told_ns;
};

/* Zeroed is empty. */
struct capture_counters {
	struct tl_interner names;
	struct capture_counter *list;
	size_t count, capacity;
	struct tl_index index;
	uint32_t *tracks; /* names of tracks, by number */
	size_t track_count, track_capacity;
	uint64_t left_out_count; /* values: more names than any machine has */
};

/* One sample. `unit` must outlive the counters; times of one counter do not go back. */
int capture_count(struct capture_counters *s, int64_t time_ns, const char *track_name,
		  struct capture_span name, const char *unit, double value, struct tl_sink *sink,
		  struct tl_error *err);
/* The last sample of what stood still in the end. */
int capture_counters_finish(struct capture_counters *s, struct tl_sink *sink, struct tl_error *err);
void capture_counters_release(struct capture_counters *s);

#endif
