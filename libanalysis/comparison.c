/*
 * comparison.c - is one series of steps slower than another, and by how much?
 *
 * Pure arithmetic on two series.
 */
#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distribution.h"
#include "memory.h"
#include "random.h"
#include "stats.h"
#include "steps_model.h"

#define BOOTSTRAP_SEED UINT64_C(0x9e3779b97f4a7c15)
#define SMALL_SERIES   200 /* together; below, the smallest possible p is worth a look */

static const char *const verdict_names[TL_COMPARISON_VERDICT_COUNT] = {
	"inconclusive: too few steps", "slower",       "faster",
	"no change larger than 5%",    "inconclusive",
};

const char *tl_comparison_verdict_name(enum tl_comparison_verdict verdict)
{
	return verdict_names[verdict];
}

/* One side: the steps that are compared, and their logarithms. */
struct side {
	double *x, *log_x;
	size_t n;
	double acf1;
};

static bool is_steady(uint8_t phase)
{
	return phase != TL_PHASE_WARMUP && phase != TL_PHASE_SPIKE && phase != TL_PHASE_PERIODIC;
}

/* Leaves the steady steps in s, if they are at least half of all. */
static int keep_steady(struct side *s, struct tl_error *err)
{
	struct tl_steps_model model;
	size_t kept = 0;
	int ret = tl_steps_model(&model, s->x, s->n, NULL, err);

	if (ret < 0)
		return ret;
	s->acf1 = model.acf1;
	for (size_t i = 0; i < s->n; i++)
		kept += is_steady(model.phases[i]);
	if ((double)kept >= 0.5 * (double)s->n) {
		kept = 0;
		for (size_t i = 0; i < s->n; i++) {
			if (is_steady(model.phases[i]))
				s->x[kept++] = s->x[i];
		}
		s->n = kept;
	}
	tl_steps_model_release(&model);
	return TL_OK;
}

static int take_side(struct side *s, const double *x, size_t n, struct tl_error *err)
{
	s->n = n;
	s->x = tl_alloc(n, sizeof(*s->x), err);
	s->log_x = tl_alloc(n, sizeof(*s->log_x), err);
	if (!s->x || !s->log_x)
		return TL_NOMEM;
	memcpy(s->x, x, n * sizeof(*x));
	return TL_OK;
}

/* Round((2 phi / (1 - phi^2))^(2/3) n^(1/3)), between 1 and n/3: Politis and White (2004). */
static size_t block_length(double phi, size_t n)
{
	double length, limit = n / 3 ? (double)(n / 3) : 1.0;

	if (phi <= 0)
		return 1;
	length = rint(pow(2 * phi / (1 - phi * phi), 2.0 / 3.0) * pow((double)n, 1.0 / 3.0));
	return (size_t)fmax(1.0, fmin(limit, length));
}

/* The median of n values drawn in blocks that wrap around the end. */
static double resampled_median(struct tl_random *rng, const struct side *s, size_t block,
			       double *scratch)
{
	size_t count = 0;

	while (count < s->n) {
		size_t start = tl_random_below(rng, (uint32_t)s->n);

		for (size_t k = 0; k < block && count < s->n; k++)
			scratch[count++] = s->x[(start + k) % s->n];
	}
	return tl_median(scratch, s->n);
}

static int bootstrap(struct tl_comparison *out, const struct side *good, const struct side *slow,
		     const struct tl_comparison_options *opt, struct tl_error *err)
{
	struct tl_random rng = { BOOTSTRAP_SEED };
	size_t good_block = block_length(out->acf1, good->n);
	size_t slow_block = block_length(out->acf1, slow->n);
	double *ratios = tl_alloc(opt->resamples, sizeof(*ratios), err);
	double *scratch = tl_alloc(good->n > slow->n ? good->n : slow->n, sizeof(*scratch), err);
	int ret = ratios && scratch ? TL_OK : TL_NOMEM;

	for (uint32_t i = 0; ret == TL_OK && i < opt->resamples; i++) {
		double median = resampled_median(&rng, slow, slow_block, scratch);

		ratios[i] = median / resampled_median(&rng, good, good_block, scratch);
	}
	if (ret == TL_OK) {
		out->bootstrap_low = tl_quantile(ratios, opt->resamples, opt->alpha / 2);
		out->bootstrap_high = tl_quantile(ratios, opt->resamples, 1 - opt->alpha / 2);
	}
	free(ratios);
	free(scratch);
	return ret;
}

static enum tl_comparison_verdict verdict_of(const struct tl_comparison *c,
					     const struct tl_comparison_options *opt)
{
	if (c->smallest_p > opt->alpha)
		return TL_COMPARISON_TOO_FEW;
	if (c->p < opt->alpha && c->hl_low > 1 + opt->min_change)
		return TL_COMPARISON_SLOWER;
	if (c->p < opt->alpha && c->hl_high < 1 - opt->min_change)
		return TL_COMPARISON_FASTER;
	if (c->hl_low > 1 - TL_STEPS_MIN_CHANGE && c->hl_high < 1 + TL_STEPS_MIN_CHANGE)
		return TL_COMPARISON_SAME;
	return TL_COMPARISON_INCONCLUSIVE;
}

static int test_sides(struct tl_comparison *out, const struct side *good, const struct side *slow,
		      struct tl_error *err)
{
	double pairs = (double)good->n * (double)slow->n, total = (double)(good->n + slow->n);
	double inflation = (1 + out->acf1) / (1 - out->acf1);
	struct tl_mann_whitney mw;
	struct tl_shift shift;
	int ret;

	ret = tl_mann_whitney(&mw, good->log_x, good->n, slow->log_x, slow->n, TL_DIFFERENT, err);
	if (ret < 0)
		return ret;
	ret = tl_hodges_lehmann(&shift, good->log_x, good->n, slow->log_x, slow->n, 0.95, inflation,
				err);
	if (ret < 0)
		return ret;
	out->p = mw.p;
	out->p_method = mw.method;
	out->cliff = mw.cliff;
	out->slower_probability = (mw.cliff + 1) / 2;
	if (out->acf1 > 0) { /* fewer independent steps than steps */
		double off = fmax(0.0, fabs(mw.u - pairs / 2.0) - 0.5);

		out->p = fmin(1.0, 2 * tl_normal_tail(
					       off / sqrt(inflation * pairs * (total + 1) / 12.0)));
		out->p_method = TL_TEST_ADJUSTED;
	}
	out->hl_ratio = exp(shift.estimate);
	out->hl_low = exp(shift.low);
	out->hl_high = exp(shift.high);
	return TL_OK;
}

static int compare_sides(struct tl_comparison *out, struct side *good, struct side *slow,
			 const struct tl_comparison_options *opt, struct tl_error *err)
{
	size_t fewer, given_good = good->n, given_slow = slow->n;
	int ret;

	if (!opt->is_raw && good->n >= TL_STEPS_MIN && slow->n >= TL_STEPS_MIN) {
		if ((ret = keep_steady(good, err)) < 0 || (ret = keep_steady(slow, err)) < 0)
			return ret;
	}
	for (size_t i = 0; i < good->n; i++)
		good->log_x[i] = log(good->x[i]);
	for (size_t i = 0; i < slow->n; i++)
		slow->log_x[i] = log(slow->x[i]);
	out->good_count = good->n;
	out->slow_count = slow->n;
	out->good_left_out = given_good - good->n;
	out->slow_left_out = given_slow - slow->n;
	out->acf1 = fmax(good->acf1, slow->acf1);
	if ((ret = test_sides(out, good, slow, err)) < 0 ||
	    (ret = bootstrap(out, good, slow, opt, err)) < 0)
		return ret;
	fewer = good->n < slow->n ? good->n : slow->n;
	if (good->n + slow->n < SMALL_SERIES)
		out->smallest_p = 2.0 / tl_choose(good->n + slow->n, fewer);
	out->good_median = tl_median(good->x, good->n);
	out->slow_median = tl_median(slow->x, slow->n);
	out->median_ratio = out->slow_median / out->good_median;
	out->verdict = verdict_of(out, opt);
	return TL_OK;
}

int tl_compare_series(struct tl_comparison *out, const double *a, size_t n, const double *b,
		      size_t m, const struct tl_comparison_options *opt, struct tl_error *err)
{
	static const struct tl_comparison_options defaults = { 0.05, 0.0, 2000, false };
	struct side good = { 0 }, slow = { 0 };
	int ret;

	*out = (struct tl_comparison) { 0 };
	opt = opt ? opt : &defaults;
	if (!(opt->alpha > 0 && opt->alpha < 1))
		return tl_fail(err, TL_USAGE, "significance level %g, expected 0 ... 1",
			       opt->alpha);
	if ((ret = tl_check_durations(a, n, err)) < 0 || (ret = tl_check_durations(b, m, err)) < 0)
		return ret;
	if (n == 0 || m == 0)
		return tl_fail(err, TL_NOTHING, "%zu good and %zu slow steps: nothing to compare",
			       n, m);
	if (n > UINT32_MAX || m > UINT32_MAX)
		return tl_fail(err, TL_UNSUPPORTED, "more than %u steps", UINT32_MAX);
	if ((ret = take_side(&good, a, n, err)) == TL_OK &&
	    (ret = take_side(&slow, b, m, err)) == TL_OK)
		ret = compare_sides(out, &good, &slow, opt, err);
	free(good.x);
	free(good.log_x);
	free(slow.x);
	free(slow.log_x);
	return ret;
}
