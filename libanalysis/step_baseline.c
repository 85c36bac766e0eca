/*
 * step_baseline.c - which level is the normal one.
 *
 * Knows levels and states, no episodes.
 */
#include "step_baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distribution.h"
#include "memory.h"
#include "stats.h"

#define STATE_STEPS_MIN	  3
#define BASELINE_STEPS	  5
#define BASELINE_SHARE	  0.1
#define WARMUP_STEPS	  10
#define WARMUP_SHARE	  0.25
#define WARMUP_STEPS_MAX  60
#define RAISED_SIGMAS	  3.0
#define BAND_SIGMAS	  2.0
#define SPIKE_FALSE_SHARE 0.01

#define NO_STATE SIZE_MAX

struct state {
	double level;
	size_t steps;
	size_t first; /* step */
	size_t end;   /* of its last segment */
};

struct states {
	const struct tl_segmentation *seg;
	struct state *state;
	size_t count;
	size_t *of_segment; /* or NO_STATE */
	double *scratch;    /* one per step */
};

double tl_spike_sigmas(size_t n)
{
	double count = (double)n,
	       z = tl_normal_quantile(1.0 - SPIKE_FALSE_SHARE / (n > 2 ? count : 2.0));

	return z * (1.0 + 6.0 / count + 60.0 / (count * count));
}

static size_t steps_of_state(const struct states *s, size_t state, double *out)
{
	const struct tl_segmentation *seg = s->seg;
	size_t n = 0;

	for (size_t k = 0; k < seg->count; k++) {
		size_t length = seg->starts[k + 1] - seg->starts[k];

		if (s->of_segment[k] != state)
			continue;
		memcpy(out + n, seg->log_x + seg->starts[k], length * sizeof(*out));
		n += length;
	}
	return n;
}

static size_t nearest_state(const struct states *s, double level, double tolerance)
{
	size_t best = NO_STATE;

	for (size_t i = 0; i < s->count; i++) {
		double distance = fabs(level - s->state[i].level);

		if (distance <= tolerance &&
		    (best == NO_STATE || distance < fabs(level - s->state[best].level)))
			best = i;
	}
	return best;
}

static void group_segments(struct states *s, const double *level, double tolerance)
{
	const struct tl_segmentation *seg = s->seg;

	for (size_t k = 0; k < seg->count; k++)
		s->of_segment[k] = NO_STATE;
	for (size_t k = 0; k < seg->count; k++) {
		size_t start = seg->starts[k], end = seg->starts[k + 1], i;

		if (end - start < STATE_STEPS_MIN)
			continue;
		i = nearest_state(s, level[k], tolerance);
		if (i == NO_STATE) {
			i = s->count++;
			s->state[i] = (struct state) { level[k], 0, start, end };
		}
		s->of_segment[k] = i;
		s->state[i].steps += end - start;
		s->state[i].end = end;
		if (s->state[i].steps > end - start)
			s->state[i].level = tl_median(s->scratch, steps_of_state(s, i, s->scratch));
	}
}

/* The earliest state with enough steps that starts after `after`, or NO_STATE. */
static size_t earliest_large(const struct states *s, size_t need, const struct state *after)
{
	for (size_t i = 0; i < s->count; i++) { /* states are in the order of their first step */
		if (s->state[i].steps >= need && (!after || s->state[i].first > after->first))
			return i;
	}
	return NO_STATE;
}

static size_t longest_state(const struct states *s)
{
	size_t best = 0;

	for (size_t i = 1; i < s->count; i++) {
		if (s->state[i].steps > s->state[best].steps)
			best = i;
	}
	return best;
}

static double warmup_limit(size_t n)
{
	return fmax(WARMUP_STEPS, WARMUP_SHARE * (double)n);
}

static size_t choose_baseline(const struct states *s, double tolerance)
{
	size_t n = s->seg->n, longest, base;
	double need = fmax(BASELINE_STEPS, ceil(BASELINE_SHARE * (double)n));
	double warmup_end = fmin(warmup_limit(n), WARMUP_STEPS_MAX);

	if (s->count == 0)
		return NO_STATE;
	longest = longest_state(s);
	base = earliest_large(s, (size_t)need, NULL);
	if (base == NO_STATE)
		return longest;
	while (base != longest && s->state[base].level > s->state[longest].level + tolerance &&
	       (double)s->state[base].end <= warmup_end) {
		base = earliest_large(s, (size_t)need, &s->state[base]);
		if (base == NO_STATE)
			base = longest;
	}
	return base;
}

/* Marks the steps of the state, or all when there is none, and measures them. */
static void measure_baseline(struct tl_step_baseline *out, const struct states *s, size_t base)
{
	const struct tl_segmentation *seg = s->seg;
	size_t n = 0;

	for (size_t k = 0; k < seg->count; k++) {
		size_t start = seg->starts[k], length = seg->starts[k + 1] - start;

		if (base == NO_STATE || s->of_segment[k] == base)
			memset(out->is_base + start, true, length);
	}
	for (size_t i = 0; i < seg->n; i++) {
		if (out->is_base[i])
			s->scratch[n++] = seg->log_x[i];
	}
	out->base_count = n;
	out->level = tl_median(s->scratch, n);
	for (size_t i = 0; i < n; i++)
		s->scratch[i] -= out->level;
	out->sigma = tl_level_sigma(s->scratch, n, &seg->resolution);
}

static void classify_segments(struct tl_step_baseline *out, const struct tl_segmentation *seg)
{
	for (size_t k = 0; k < seg->count; k++) {
		double length = (double)(seg->starts[k + 1] - seg->starts[k]);
		double need = fmax(out->min_log, RAISED_SIGMAS * out->sigma / sqrt(length));
		double off = out->segment_level[k] - out->level;

		out->segment_class[k] = off > need ? 1 : off < -need ? -1 : 0;
	}
}

/* Steps before the first baseline segment are warm-up if some are slow and they are not too many. */
static size_t count_warmup(const struct tl_step_baseline *out, const struct states *s, size_t base)
{
	size_t first = base == NO_STATE ? 0 : s->state[base].first;
	bool is_slow = false;

	for (size_t k = 0; k < s->seg->count && s->seg->starts[k] < first; k++)
		is_slow = is_slow || out->segment_class[k] > 0;
	return is_slow && (double)first <= warmup_limit(s->seg->n) ? first : 0;
}

static void find_baseline(struct tl_step_baseline *out, struct states *s, double min_change)
{
	const struct tl_segmentation *seg = s->seg;
	size_t base;

	out->min_log = log1p(min_change);
	for (size_t k = 0; k < seg->count; k++) {
		size_t start = seg->starts[k], length = seg->starts[k + 1] - start;

		memcpy(s->scratch, seg->log_x + start, length * sizeof(*s->scratch));
		out->segment_level[k] = tl_median(s->scratch, length);
	}
	group_segments(s, out->segment_level, out->min_log);
	base = choose_baseline(s, out->min_log);
	measure_baseline(out, s, base);
	out->band = out->level + fmax(log1p(min_change / 2), BAND_SIGMAS * out->sigma);
	out->spike_threshold = fmax(out->min_log, tl_spike_sigmas(out->base_count) * out->sigma);
	classify_segments(out, seg);
	out->warmup_count = count_warmup(out, s, base);
}

int tl_step_baseline(struct tl_step_baseline *out, const struct tl_segmentation *seg,
		     double min_change, struct tl_error *err)
{
	struct states s = { .seg = seg };
	int ret = TL_NOMEM;

	*out = (struct tl_step_baseline) { 0 };
	out->is_base = tl_alloc(seg->n, sizeof(*out->is_base), err);
	out->segment_level = tl_alloc(seg->count, sizeof(*out->segment_level), err);
	out->segment_class = tl_alloc(seg->count, sizeof(*out->segment_class), err);
	s.state = tl_alloc(seg->count, sizeof(*s.state), err);
	s.of_segment = tl_alloc(seg->count, sizeof(*s.of_segment), err);
	s.scratch = tl_alloc(seg->n, sizeof(*s.scratch), err);
	if (out->is_base && out->segment_level && out->segment_class && s.state && s.of_segment &&
	    s.scratch) {
		find_baseline(out, &s, min_change);
		ret = TL_OK;
	}
	free(s.state);
	free(s.of_segment);
	free(s.scratch);
	if (ret < 0)
		tl_step_baseline_release(out);
	return ret;
}

void tl_step_baseline_release(struct tl_step_baseline *b)
{
	free(b->is_base);
	free(b->segment_level);
	free(b->segment_class);
	*b = (struct tl_step_baseline) { 0 };
}
