/*
 * segment.c - where the level of a series changes.
 *
 * Knows levels and noise, not what a segment means.
 */
#include "segment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

#define SIGMA_FLOOR    1e-3		 /* 0.1 % of a step: no clock or scheduler is quieter */
#define TIED_BELOW     0.7		 /* distinct share */
#define Q10_TO_Q90     2.563103131089201 /* width of that range of a normal distribution */
#define SHORT_SEGMENT  8		 /* fewer steps say little about noise */
#define BUMP_SIGMAS    4.0
#define ACF_CLIP       3.0
#define ACF_MAX	       0.8
#define ACF_PAIRS_MIN  16
#define ACF_Z	       1.64 /* one-sided 5 % */
#define COARSE_PENALTY 6.0

/* ---- noise -------------------------------------------------------------------------------- */

int tl_resolution(struct tl_resolution *out, const double *x, size_t n, struct tl_error *err)
{
	size_t distinct = n > 0;
	double tick = 0, median;
	double *sorted = tl_alloc(n, sizeof(*sorted), err);

	if (!sorted)
		return TL_NOMEM;
	if (n)
		memcpy(sorted, x, n * sizeof(*x));
	tl_sort(sorted, n);
	for (size_t i = 1; i < n; i++) {
		double step = sorted[i] - sorted[i - 1];

		if (sorted[i] == sorted[i - 1])
			continue;
		tick = distinct == 1 || step < tick ? step : tick;
		distinct++;
	}
	median = tl_median(sorted, n);
	free(sorted);
	out->is_tied = (double)distinct < TIED_BELOW * (double)n;
	out->sigma_floor = SIGMA_FLOOR;
	if (out->is_tied)
		out->sigma_floor = fmax(SIGMA_FLOOR, tick / sqrt(12.0) / median);
	return TL_OK;
}

static double q10_to_q90(double *v, size_t n)
{
	double q90 = tl_quantile(v, n, .9);

	return (q90 - tl_quantile(v, n, .1)) / Q10_TO_Q90;
}

double tl_level_sigma(double *r, size_t n, const struct tl_resolution *resolution)
{
	double range = 0;

	if (resolution->is_tied && n)
		range = q10_to_q90(r, n);
	return fmax(fmax(tl_mad_sigma(r, n, 0.0), range), resolution->sigma_floor);
}

/* From first differences: a level shift touches one of them only. `scratch` has room for n. */
static double difference_sigma(const double *y, size_t n, const struct tl_resolution *resolution,
			       double *scratch)
{
	double sigma = 0, range = 0;

	if (n > 1) {
		for (size_t i = 0; i + 1 < n; i++)
			scratch[i] = y[i + 1] - y[i];
		if (resolution->is_tied)
			range = q10_to_q90(scratch, n - 1) / sqrt(2.0);
		sigma = tl_mad_sigma(scratch, n - 1, 0.0) / sqrt(2.0);
	}
	return fmax(fmax(sigma, range), resolution->sigma_floor);
}

/* ---- PELT ---------------------------------------------------------------------------------- */

/* A start of the last segment that may still be the best, now or later. */
struct candidate {
	size_t start;
	double cost;		    /* of everything before it */
	double sum, sum2;	    /* of the values before it and of their squares */
	double value;		    /* cost if the last segment ran from here to now */
	double low, high;	    /* levels for which no later start beats it */
	double hole_low, hole_high; /* levels for which an earlier start beats it */
};

/*
 * The levels m for which a last segment from c, at level m, costs less than one that begins now at
 * cost `now`: c->value + length (m - mean)^2 < now.
 */
static void levels_better_than(const struct candidate *c, double now, double mean, double length,
			       double slack, double *low, double *high)
{
	double room = (now - c->value + slack) / length, radius = room > 0 ? sqrt(room) : -1;

	*low = mean - radius;
	*high = mean + radius;
}

/* Drops candidates that can never again be within `slack` of the best. Returns how many stay. */
static size_t prune(struct candidate *c, size_t count, const struct candidate *now, double slack)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		double length = (double)(now->start - c[i].start), low, high;

		if (c[i].value > now->cost + 1e-9)
			continue;
		levels_better_than(&c[i], now->cost, (now->sum - c[i].sum) / length, length, slack,
				   &low, &high);
		c[i].low = fmax(c[i].low, low);
		c[i].high = fmin(c[i].high, high);
		if (c[i].low > c[i].high ||
		    (c[i].low >= c[i].hole_low && c[i].high <= c[i].hole_high))
			continue;
		c[kept++] = c[i];
	}
	return kept;
}

/* The candidate that begins now: the best earlier start keeps the levels near its own mean. */
static struct candidate new_candidate(size_t start, double cost, double sum, double sum2,
				      const struct candidate *best, double slack)
{
	struct candidate c = { .start = start,
			       .cost = cost,
			       .sum = sum,
			       .sum2 = sum2,
			       .low = -INFINITY,
			       .high = INFINITY,
			       .hole_low = INFINITY,
			       .hole_high = -INFINITY };
	double length = (double)(start - best->start);

	levels_better_than(best, cost, (sum - best->sum) / length, length, -slack, &c.hole_low,
			   &c.hole_high);
	return c;
}

static void trace_back(size_t *starts, size_t *count, const size_t *previous, size_t n)
{
	size_t k = 0;

	for (size_t t = n; t > 0; t = previous[t])
		k++;
	*count = k;
	for (size_t t = n; t > 0; t = previous[t])
		starts[--k] = previous[t];
}

int tl_pelt(size_t *starts, size_t *count, const double *y, size_t n, double sigma, double beta,
	    struct tl_error *err)
{
	size_t *previous = tl_alloc(n + 1, sizeof(*previous), err);
	struct candidate *c = NULL;
	size_t capacity = 0, kept = 1;
	double sum = 0, sum2 = 0, slack = 1e-6;
	int ret = TL_NOMEM;

	*count = 0;
	if (!previous || (ret = tl_grow(&c, &capacity, 1, err)) < 0)
		goto out;
	c[0] = (struct candidate) { .cost = -beta,
				    .low = -INFINITY,
				    .high = INFINITY,
				    .hole_low = INFINITY,
				    .hole_high = -INFINITY };
	/* Pruning must not decide what rounding of the sums would decide otherwise. */
	for (size_t i = 0; i < n; i++)
		slack += 1e-11 * ((y[i] - y[0]) / sigma) * ((y[i] - y[0]) / sigma);
	for (size_t t = 1; t <= n; t++) {
		double v = (y[t - 1] - y[0]) / sigma, best = INFINITY;
		size_t arg = 0;
		struct candidate now;

		sum += v;
		sum2 += v * v;
		for (size_t i = 0; i < kept; i++) {
			double w = sum - c[i].sum;

			c[i].value =
				c[i].cost + (sum2 - c[i].sum2) - w * w / (double)(t - c[i].start);
			if (c[i].value < best - 1e-12) {
				best = c[i].value;
				arg = i;
			}
		}
		previous[t] = c[arg].start;
		now = new_candidate(t, best + beta, sum, sum2, &c[arg], slack);
		kept = prune(c, kept, &now, slack);
		ret = tl_grow(&c, &capacity, kept + 1, err);
		if (ret < 0)
			goto out;
		c[kept++] = now;
	}
	trace_back(starts, count, previous, n);
	ret = TL_OK;
out:
	free(c);
	free(previous);
	return ret;
}

/* ---- three passes --------------------------------------------------------------------------- */

struct passes {
	const double *y;
	size_t n;
	size_t *starts; /* of the pass that ran last */
	size_t count;
	double *residual; /* around the levels of pass A */
	size_t *coarse;	  /* starts of pass A */
	size_t coarse_count;
	bool *is_bump; /* in a short segment of pass B far from the level of A */
	double *scratch;
};

static size_t end_of(const size_t *starts, size_t count, size_t k, size_t n)
{
	return k + 1 < count ? starts[k + 1] : n;
}

static double median_of(const struct passes *p, const double *v, size_t begin, size_t end)
{
	memcpy(p->scratch, v + begin, (end - begin) * sizeof(*v));
	return tl_median(p->scratch, end - begin);
}

static void find_residuals(struct passes *p)
{
	for (size_t k = 0; k < p->coarse_count; k++) {
		size_t begin = p->coarse[k], end = end_of(p->coarse, p->coarse_count, k, p->n);
		double level = median_of(p, p->y, begin, end);

		for (size_t i = begin; i < end; i++)
			p->residual[i] = p->y[i] - level;
	}
}

static void mark_bumps(struct passes *p, double sigma)
{
	for (size_t k = 0; k < p->count; k++) {
		size_t begin = p->starts[k], end = end_of(p->starts, p->count, k, p->n);

		if (end - begin < SHORT_SEGMENT &&
		    fabs(median_of(p, p->residual, begin, end)) > BUMP_SIGMAS * sigma)
			memset(p->is_bump + begin, true, end - begin);
	}
}

/* The residuals outside bumps into scratch; returns how many. */
static size_t quiet_residuals(const struct passes *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (!p->is_bump[i])
			p->scratch[n++] = p->residual[i];
	}
	return n;
}

static double clip(double v)
{
	return fmax(-ACF_CLIP, fmin(ACF_CLIP, v));
}

/*
 * Lag-1 autocorrelation of residuals clipped at 3 sigma, over neighbours inside one long segment of
 * pass A and outside bumps.
 */
static double noise_acf1(const struct passes *p)
{
	struct tl_sum product = { 0 }, power = { 0 };
	double sigma = tl_mad_sigma(p->scratch, quiet_residuals(p), 0.0), total, phi;
	size_t pairs = 0;

	if (sigma <= 0)
		return 0.0;
	for (size_t k = 0; k < p->coarse_count; k++) {
		size_t begin = p->coarse[k], end = end_of(p->coarse, p->coarse_count, k, p->n);

		if (end - begin < SHORT_SEGMENT)
			continue;
		for (size_t i = begin; i + 1 < end; i++) {
			double a = clip(p->residual[i] / sigma);
			double b = clip(p->residual[i + 1] / sigma);

			if (p->is_bump[i] || p->is_bump[i + 1])
				continue;
			tl_sum_add(&product, a * b);
			tl_sum_add(&power, 0.5 * (a * a + b * b));
			pairs++;
		}
	}
	total = tl_sum_value(&power);
	if (pairs < ACF_PAIRS_MIN || total <= 0)
		return 0.0;
	phi = tl_sum_value(&product) / total;
	return phi > ACF_Z / sqrt((double)pairs) ? fmin(ACF_MAX, phi) : 0.0;
}

static int run_passes(struct passes *p, struct tl_segmentation *out, double kappa,
		      struct tl_error *err)
{
	double penalty = kappa * log((double)p->n), sigma, phi;
	size_t quiet;
	int ret;

	sigma = difference_sigma(p->y, p->n, &out->resolution, p->scratch);
	ret = tl_pelt(p->coarse, &p->coarse_count, p->y, p->n, sigma, COARSE_PENALTY * penalty,
		      err);
	if (ret < 0)
		return ret;
	find_residuals(p);

	ret = tl_pelt(p->starts, &p->count, p->y, p->n, sigma, penalty, err);
	if (ret < 0)
		return ret;
	mark_bumps(p, sigma);
	quiet = quiet_residuals(p);
	if (quiet >= SHORT_SEGMENT)
		sigma = fmax(sigma, tl_level_sigma(p->scratch, quiet, &out->resolution));
	phi = noise_acf1(p);

	ret = tl_pelt(p->starts, &p->count, p->y, p->n, sigma, penalty * (1 + phi) / (1 - phi),
		      err);
	out->sigma = sigma;
	out->acf1 = phi;
	return ret;
}

int tl_segment(struct tl_segmentation *out, const double *x, size_t n, double kappa,
	       struct tl_error *err)
{
	struct passes p = { .n = n };
	int ret = tl_check_durations(x, n, err);

	*out = (struct tl_segmentation) { .n = n };
	if (ret < 0)
		return ret;
	if (n == 0)
		return tl_fail(err, TL_NOTHING, "no durations to find changes in");
	ret = TL_NOMEM;
	out->log_x = tl_alloc(n, sizeof(*out->log_x), err);
	out->starts = tl_alloc(n + 1, sizeof(*out->starts), err);
	p.residual = tl_alloc(n, sizeof(*p.residual), err);
	p.scratch = tl_alloc(n, sizeof(*p.scratch), err);
	p.coarse = tl_alloc(n, sizeof(*p.coarse), err);
	p.is_bump = tl_alloc(n, sizeof(*p.is_bump), err);
	if (!out->log_x || !out->starts || !p.residual || !p.scratch || !p.coarse || !p.is_bump)
		goto out;
	ret = tl_resolution(&out->resolution, x, n, err);
	if (ret < 0)
		goto out;
	for (size_t i = 0; i < n; i++)
		out->log_x[i] = log(x[i]);
	p.y = out->log_x;
	p.starts = out->starts;
	ret = run_passes(&p, out, kappa, err);
	out->count = p.count;
	out->starts[p.count] = n;
out:
	free(p.residual);
	free(p.scratch);
	free(p.coarse);
	free(p.is_bump);
	if (ret < 0)
		tl_segmentation_release(out);
	return ret;
}

void tl_segmentation_release(struct tl_segmentation *s)
{
	free(s->log_x);
	free(s->starts);
	*s = (struct tl_segmentation) { 0 };
}
