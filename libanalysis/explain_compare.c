/*
 * explain_compare.c - parts of slow steps against those of good ones: differences with their
 * intervals, and shares of the whole with theirs. Declared in explain_answer.h.
 */
#include "explain_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attribution.h"
#include "random.h"
#include "stats.h"

#define RESAMPLES     1000
#define RESAMPLES_MIN 200
#define WORK_MAX      50000000.0 /* additions: about a tenth of a second */
#define SEED	      11
#define NAMED_SHARE   0.9

bool tl_explain_is_unseen(const struct tl_explain_part *part)
{
	return part->cause && (!strcmp(part->cause, tl_part_cause_name(TL_CAUSE_UNKNOWN)) ||
			       !strcmp(part->cause, "device_unknown"));
}

/* Sums over one draw of steps, for the wall time (last) and every category. */
struct bootstrap {
	const struct tl_explaining *e;
	const struct tl_category *categories;
	size_t count, resamples;
	double *sums;	/* count + 1 */
	float **shares; /* per category, one a resample */
};

static void add_draw(struct bootstrap *b, struct tl_random *rng, const size_t *steps, size_t n,
		     double sign)
{
	for (size_t i = 0; i < n; i++) {
		size_t step = steps[tl_random_below(rng, (uint32_t)n)];

		for (size_t c = 0; c < b->count; c++)
			b->sums[c] += sign * b->categories[c].values[step] / (double)n;
		b->sums[b->count] += sign * b->e->wall[step] / (double)n;
	}
}

/* The same steps are drawn for all categories, so that shares of a draw sum to 1. */
static void draw_all(struct bootstrap *b)
{
	struct tl_random rng = { SEED };

	for (size_t k = 0; k < b->resamples; k++) {
		double whole;

		memset(b->sums, 0, (b->count + 1) * sizeof(*b->sums));
		add_draw(b, &rng, b->e->slow, b->e->slow_count, 1);
		add_draw(b, &rng, b->e->good, b->e->good_count, -1);
		whole = b->sums[b->count];
		for (size_t c = 0; c < b->count; c++)
			b->shares[c][k] = whole != 0 ? (float)(b->sums[c] / whole) : 0;
	}
}

static int share_interval(struct tl_explain_part *part, const float *shares, size_t n,
			  double *scratch)
{
	for (size_t k = 0; k < n; k++)
		scratch[k] = (double)shares[k];
	part->share_low = tl_quantile(scratch, n, 0.025);
	part->share_high = tl_quantile(scratch, n, 0.975);
	return TL_OK;
}

/* Below three steps on a side an interval would be made up. */
static int bootstrap(struct tl_explaining *e, const struct tl_category *categories, size_t count,
		     const struct tl_attribution *a, struct tl_explain_part *out,
		     struct tl_error *err)
{
	double work = (double)(e->slow_count + e->good_count) * (double)(count + 1);
	double affordable = WORK_MAX / work;
	struct bootstrap b = { .e = e, .categories = categories, .count = count };
	double *scratch = NULL;
	int ret = TL_OK;

	for (size_t i = 0; i < count; i++)
		out[i].share_low = out[i].share_high = NAN;
	if (e->slow_count < 3 || e->good_count < 3 || !count)
		return TL_OK;
	b.resamples = affordable > RESAMPLES	   ? RESAMPLES
		      : affordable < RESAMPLES_MIN ? RESAMPLES_MIN
						   : (size_t)affordable;
	b.sums = tl_alloc(count + 1, sizeof(*b.sums), err);
	b.shares = tl_alloc(count, sizeof(*b.shares), err);
	scratch = tl_alloc(b.resamples, sizeof(*scratch), err);
	ret = b.sums && b.shares && scratch ? TL_OK : TL_NOMEM;
	for (size_t c = 0; c < count && ret == TL_OK; c++) {
		b.shares[c] = tl_alloc(b.resamples, sizeof(*b.shares[c]), err);
		ret = b.shares[c] ? TL_OK : TL_NOMEM;
	}
	if (ret == TL_OK) {
		draw_all(&b);
		for (size_t i = 0; i < count; i++)
			share_interval(&out[i], b.shares[a->rows[i].category], b.resamples,
				       scratch);
	}
	for (size_t c = 0; c < count && b.shares; c++)
		free(b.shares[c]);
	free(b.shares);
	free(b.sums);
	free(scratch);
	return ret;
}

int tl_explain_compare(struct tl_explaining *e, const struct tl_category *categories, size_t count,
		       struct tl_explain_part **out, size_t *out_count, struct tl_error *err)
{
	const double **values = tl_alloc(count, sizeof(*values), err);
	struct tl_attribution a = { 0 };
	double named = 0;
	int ret;

	*out = NULL;
	if (!values)
		return TL_NOMEM;
	for (size_t c = 0; c < count; c++)
		values[c] = categories[c].values;
	ret = tl_attribute(&a, values, count, e->wall, e->good, e->good_count, e->slow,
			   e->slow_count, err);
	free(values);
	if (ret < 0)
		return ret;
	*out = tl_alloc(count, sizeof(**out), err);
	ret = *out ? TL_OK : TL_NOMEM;
	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		const struct tl_attribution_row *row = &a.rows[i];
		const struct tl_category *c = &categories[row->category];

		(*out)[i] = (struct tl_explain_part) {
			.cause = c->cause,
			.state = c->state,
			.name = c->name,
			.text = c->text,
			.good_ns = row->good_mean,
			.slow_ns = row->slow_mean,
			.difference_ns = row->difference,
			.low_ns = row->low,
			.high_ns = row->high,
			.share = row->share,
			.dose_share = row->dose_share,
			.p = row->p,
			.q = row->q,
		};
		(*out)[i].is_told = fabs(1 - named) > 1 - NAMED_SHARE;
		(*out)[i].is_named = (*out)[i].is_told && !tl_explain_is_unseen(&(*out)[i]);
		named += row->share;
	}
	if (ret == TL_OK)
		ret = bootstrap(e, categories, count, &a, *out, err);
	*out_count = ret == TL_OK ? count : 0;
	tl_attribution_release(&a);
	return ret;
}
