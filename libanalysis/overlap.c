/*
 * overlap.c - do stalls lie inside activity more than chance puts them there?
 *
 * Declared in association.h. Times are taken relative to the start of their step, so that a double
 * holds them exactly.
 */
#include "association.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "random.h"
#include "stats.h"

#define OVERLAP_SEED 7

struct span {
	double start, end;
};

/* One step: its parts of stalls and activity. */
struct step {
	double length;
	struct span *stalls, *acts;
	size_t stall_count, act_count;
};

static double overlap(const struct span *u, size_t n, const struct span *v, size_t m)
{
	double total = 0;
	size_t i = 0, j = 0;

	while (i < n && j < m) {
		double low = fmax(u[i].start, v[j].start), high = fmin(u[i].end, v[j].end);

		if (high > low)
			total += high - low;
		if (u[i].end < v[j].end)
			i++;
		else
			j++;
	}
	return total;
}

/*
 * The activity moved by `shift` around the step. Sorted ones stay sorted but for where the step
 * ends: what falls over it comes first. `out` has room for one more than there are.
 */
static size_t rotate(struct span *out, const struct step *s, double shift)
{
	size_t first = s->act_count, count = 0;

	for (size_t i = s->act_count; i-- > 0;) {
		if (s->acts[i].end + shift > s->length)
			first = i;
	}
	if (first < s->act_count && s->acts[first].start + shift < s->length)
		out[count++] = (struct span) { 0, s->acts[first].end + shift - s->length };
	for (size_t i = first; i < s->act_count; i++) {
		if (s->acts[i].start + shift >= s->length)
			out[count++] = (struct span) { s->acts[i].start + shift - s->length,
						       s->acts[i].end + shift - s->length };
	}
	for (size_t i = 0; i < s->act_count; i++) {
		if (s->acts[i].start + shift < s->length)
			out[count++] = (struct span) { s->acts[i].start + shift,
						       fmin(s->acts[i].end + shift, s->length) };
	}
	return count;
}

/* The first span that ends after t; spans are sorted and do not overlap. */
static size_t first_after(const struct tl_time_span *v, size_t count, int64_t t)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (v[middle].end_ns > t)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int clip(struct span **out, size_t *count, const struct tl_time_span *v, size_t n,
		const struct tl_time_span *step, struct tl_error *err)
{
	size_t first = first_after(v, n, step->start_ns), last = first;

	while (last < n && v[last].start_ns < step->end_ns)
		last++;
	*out = tl_alloc(last - first, sizeof(**out), err);
	if (!*out)
		return TL_NOMEM;
	for (size_t i = first; i < last; i++) {
		int64_t start = v[i].start_ns, end = v[i].end_ns;

		start = start > step->start_ns ? start : step->start_ns;
		end = end < step->end_ns ? end : step->end_ns;
		(*out)[(*count)++] = (struct span) { (double)(start - step->start_ns),
						     (double)(end - step->start_ns) };
	}
	return TL_OK;
}

static int check_spans(const struct tl_time_span *v, size_t n, const char *what,
		       struct tl_error *err)
{
	int64_t length;

	for (size_t i = 0; i < n; i++) {
		if (v[i].end_ns < v[i].start_ns ||
		    __builtin_sub_overflow(v[i].end_ns, v[i].start_ns, &length))
			return tl_fail(err, TL_USAGE,
				       "%s %zu from %lld ns to %lld ns is not a time", what, i,
				       (long long)v[i].start_ns, (long long)v[i].end_ns);
		if (i && v[i].start_ns < v[i - 1].end_ns)
			return tl_fail(
				err, TL_USAGE,
				"%s %zu starts at %lld ns, before the end of the one it follows",
				what, i, (long long)v[i].start_ns);
	}
	return TL_OK;
}

static void judge(struct tl_overlap *out, const struct step *steps, size_t count,
		  struct span *rotated, uint32_t rotations)
{
	struct tl_random rng = { OVERLAP_SEED };
	struct tl_sum observed = { 0 }, expected = { 0 };
	uint32_t extreme = 0;

	for (size_t i = 0; i < count; i++)
		tl_sum_add(&observed, overlap(steps[i].stalls, steps[i].stall_count, steps[i].acts,
					      steps[i].act_count));
	out->overlap_ns = tl_sum_value(&observed);
	for (uint32_t g = 0; g < rotations; g++) {
		double total = 0;

		for (size_t i = 0; i < count; i++) {
			const struct step *s = &steps[i];
			size_t n;

			if (s->stall_count == 0 || s->act_count == 0)
				continue;
			n = rotate(rotated, s, tl_random_unit(&rng) * s->length);
			total += overlap(s->stalls, s->stall_count, rotated, n);
		}
		tl_sum_add(&expected, total);
		/* Rounding of the rotated times must not break a tie. */
		extreme += total >= out->overlap_ns * (1 - 1e-12) - 1e-12;
	}
	out->expected_ns = rotations ? tl_sum_value(&expected) / rotations : NAN;
	if (out->expected_ns > 0)
		out->ratio = out->overlap_ns / out->expected_ns;
	else
		out->ratio = out->overlap_ns > 0 ? INFINITY : 1.0;
	out->p = (1.0 + extreme) / (1.0 + rotations);
}

int tl_overlap_test(struct tl_overlap *out, const struct tl_time_span *steps, size_t step_count,
		    const struct tl_time_span *stalls, size_t stall_count,
		    const struct tl_time_span *acts, size_t act_count, uint32_t rotations,
		    struct tl_error *err)
{
	struct step *clipped = NULL;
	struct span *rotated = NULL;
	int ret;

	*out = (struct tl_overlap) { 0 };
	if ((ret = check_spans(steps, step_count, "step", err)) < 0 ||
	    (ret = check_spans(stalls, stall_count, "stall", err)) < 0 ||
	    (ret = check_spans(acts, act_count, "activity", err)) < 0)
		return ret;
	ret = TL_NOMEM;
	clipped = tl_alloc(step_count, sizeof(*clipped), err);
	rotated = tl_alloc(act_count + 1, sizeof(*rotated), err);
	if (!clipped || !rotated)
		goto out;
	for (size_t i = 0; i < step_count; i++) {
		struct step *s = &clipped[i];

		s->length = (double)(steps[i].end_ns - steps[i].start_ns);
		if ((ret = clip(&s->stalls, &s->stall_count, stalls, stall_count, &steps[i], err)) <
			    0 ||
		    (ret = clip(&s->acts, &s->act_count, acts, act_count, &steps[i], err)) < 0)
			goto out;
	}
	judge(out, clipped, step_count, rotated, rotations);
	ret = TL_OK;
out:
	for (size_t i = 0; clipped && i < step_count; i++) {
		free(clipped[i].stalls);
		free(clipped[i].acts);
	}
	free(clipped);
	free(rotated);
	return ret;
}
