/*
 * ranges.h - private: time ranges in order, without overlap, to ask what lies inside.
 */
#ifndef TL_RANGES_H
#define TL_RANGES_H

#include "analysis.h"

struct tl_ranges {
	struct tl_time_range *ranges;
	size_t count, capacity;
};

/* Adds one; after the last, tl_ranges_settle. Those that end before they begin are refused. */
int tl_ranges_add(struct tl_ranges *r, int64_t begin_ns, int64_t end_ns, struct tl_error *err);
/* Puts them in order and joins those that touch. */
void tl_ranges_settle(struct tl_ranges *r);
void tl_ranges_release(struct tl_ranges *r);
/* Position of the first range that ends behind ts; `count` when none does. */
size_t tl_ranges_first(const struct tl_ranges *r, int64_t ts);
bool tl_ranges_contain(const struct tl_ranges *r, int64_t ts);
/* What lies inside of [begin, end). */
int64_t tl_ranges_inside_ns(const struct tl_ranges *r, int64_t begin_ns, int64_t end_ns);
/* What is in both a and b; a and b are settled, out is. */
int tl_ranges_intersect(struct tl_ranges *out, const struct tl_ranges *a, const struct tl_ranges *b,
			struct tl_error *err);

#endif
