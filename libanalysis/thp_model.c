/*
 * thp_model.c - did memory management make the slow steps slow?
 *
 * Pure arithmetic on numbers per step.
 */
#include "thp_model.h"

#include <math.h>
#include <stdlib.h>

#include "distribution.h"
#include "memory.h"
#include "ranks.h"
#include "stats.h"
#include "steps_model.h"

#define SLOW_STEPS_MIN 3
#define BASE_STEPS_MIN 5
#define DOSE_STEPS_MIN 3
#define LAG_STEPS_MIN  11
#define OFFSET_NEAR    30 /* steps after a checkpoint that are compared with each other */
#define OFFSET_FAR     50 /* all later ones, and those before the first, are one stratum */

static const char *const verdict_names[TL_THP_VERDICT_COUNT] = {
	"no slow steps to explain",
	"too few baseline steps",
	"not observable",
	"not supported: no activity seen",
	"not supported: explains little",
	"not supported",
	"undecided: correlated, but a common cause explains it as well",
	"possible: correlated, mechanism not observable",
	"contributes",
	"confirmed",
};

const char *tl_thp_verdict_name(enum tl_thp_verdict verdict)
{
	return verdict_names[verdict];
}

struct work {
	const struct tl_thp_steps *in;
	struct tl_steps_model model;
	size_t *slow, *base, *kept; /* step numbers */
	size_t slow_count, base_count, kept_count;
	double *a, *b, *c; /* values of chosen steps */
	int64_t *offset;   /* by step: since the last checkpoint or start of an episode */
	int64_t *stratum;
};

static bool is_checkpoint(const struct tl_thp_steps *in, size_t step)
{
	return in->is_checkpoint && in->is_checkpoint[step];
}

static double mechanism(const struct tl_thp_steps *in, size_t step)
{
	return in->direct[step] + in->stolen[step] + in->lock[step];
}

static void take(struct work *w, size_t step, enum tl_thp_role role, size_t *steps, size_t *count)
{
	steps[(*count)++] = step;
	if (w->in->role)
		w->in->role[step] = (uint8_t)role;
}

static void choose_steps(struct work *w)
{
	for (size_t i = 0; i < w->in->n; i++) {
		enum tl_phase phase = w->model.phases[i];

		if (w->in->role)
			w->in->role[i] = TL_THP_ROLE_NONE;
		if (is_checkpoint(w->in, i))
			continue;
		if (phase == TL_PHASE_REGRESSION || phase == TL_PHASE_RECOVERY ||
		    phase == TL_PHASE_SHIFTED)
			take(w, i, TL_THP_ROLE_SLOW, w->slow, &w->slow_count);
		if (phase == TL_PHASE_BASELINE)
			take(w, i, TL_THP_ROLE_BASE, w->base, &w->base_count);
		if (phase != TL_PHASE_WARMUP)
			w->kept[w->kept_count++] = i;
	}
}

static size_t gather(double *out, const double *v, const size_t *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = v[steps[i]];
	return count;
}

/* What of a mechanism's time in the slow steps is above its mean in the baseline. */
static double excess_of(struct work *w, const double *v)
{
	struct tl_sum sum = { 0 };
	double mean = tl_mean(w->a, gather(w->a, v, w->base, w->base_count));

	for (size_t i = 0; i < w->slow_count; i++)
		tl_sum_add(&sum, v[w->slow[i]] - mean);
	return tl_sum_value(&sum);
}

/* Values of the slow and of the baseline steps, and the excess of each slow one. */
struct contrast {
	double *slow, *base, *excess;
	size_t slow_count, base_count;
};

/*
 * share = explained / excess, a ratio of means; its interval by the delta method: residuals
 * (mech_i - mean) - share (x_i - baseline), Student's t with n_slow - 1. Overwrites excess.
 */
static void estimate_share(struct tl_thp_share *out, const struct contrast *c)
{
	struct tl_sum excess = { 0 }, explained = { 0 };
	double slow = (double)c->slow_count, base = (double)c->base_count;
	double mean_excess, error = 0, half;

	out->slow_mean = tl_mean(c->slow, c->slow_count);
	out->base_mean = tl_mean(c->base, c->base_count);
	for (size_t i = 0; i < c->slow_count; i++) {
		tl_sum_add(&excess, c->excess[i]);
		tl_sum_add(&explained, c->slow[i] - out->base_mean);
	}
	mean_excess = tl_sum_value(&excess) / slow;
	out->explained = tl_sum_value(&explained);
	out->share = mean_excess > 0 ? out->explained / tl_sum_value(&excess) : 0.0;
	for (size_t i = 0; i < c->slow_count; i++)
		c->excess[i] = (c->slow[i] - out->base_mean) - out->share * c->excess[i];
	if (mean_excess > 0)
		error = sqrt(tl_variance(c->excess, c->slow_count) / slow +
			     tl_variance(c->base, c->base_count) / base) /
			mean_excess;
	half = tl_student_quantile(0.975, slow - 1) * error;
	out->low = out->share - half;
	out->high = out->share + half;
}

static void bound_contribution(struct work *w, struct tl_thp_model *out)
{
	const struct tl_thp_steps *in = w->in;
	struct contrast c = { w->a, w->b, w->c, w->slow_count, w->base_count };
	struct tl_thp_share share = { 0 };
	struct tl_sum excess = { 0 };

	for (size_t i = 0; i < w->base_count; i++)
		c.base[i] = mechanism(in, w->base[i]);
	for (size_t i = 0; i < w->slow_count; i++) {
		c.slow[i] = mechanism(in, w->slow[i]);
		c.excess[i] = in->duration[w->slow[i]] - out->baseline;
		tl_sum_add(&excess, c.excess[i]);
	}
	estimate_share(&share, &c);
	out->excess = tl_sum_value(&excess);
	out->explained = share.explained;
	out->share = share.share;
	out->share_low = share.low;
	out->share_high = share.high;
	out->direct_excess = excess_of(w, in->direct);
	out->stolen_excess = excess_of(w, in->stolen);
	out->lock_excess = excess_of(w, in->lock);
}

static bool is_episode_start(const struct tl_steps_model *m, size_t *at, size_t step)
{
	while (*at < m->episode_count && m->episodes[*at].start < step)
		(*at)++;
	for (size_t i = *at; i < m->episode_count && m->episodes[i].start == step; i++) {
		const struct tl_episode *e = &m->episodes[i];

		if (e->sign > 0 && e->end - e->start > TL_SPIKE_STEPS_MAX)
			return true;
	}
	return false;
}

static void find_offsets(struct work *w)
{
	int64_t last = -1000000;
	size_t at = 0;

	for (size_t i = 0; i < w->in->n; i++) {
		int64_t step = (int64_t)i;

		if (is_episode_start(&w->model, &at, i) || is_checkpoint(w->in, i))
			last = step;
		w->offset[i] = step - last < OFFSET_FAR ? step - last : OFFSET_FAR;
	}
}

static int rank_within_offsets(struct work *w, struct tl_thp_model *out, struct tl_error *err)
{
	size_t count = 0;

	find_offsets(w);
	for (size_t i = 0; i < w->kept_count; i++) {
		size_t step = w->kept[i];

		if (w->offset[step] > OFFSET_NEAR)
			continue;
		w->a[count] = w->in->activity[step];
		w->b[count] = w->in->duration[step];
		w->stratum[count++] = w->offset[step];
	}
	return tl_stratified_rank(&out->within_offset, w->a, w->b, w->stratum, count,
				  TL_STRATIFIED_PERMUTATIONS, TL_STRATIFIED_SEED, err);
}

/* Activity that leads durations has its largest correlation at a lag of 0 or more. */
static int rank_lags(struct work *w, struct tl_thp_model *out, struct tl_error *err)
{
	const struct tl_thp_steps *in = w->in;

	out->best_lag = -TL_THP_LAG_MAX;
	for (int k = -TL_THP_LAG_MAX; k <= TL_THP_LAG_MAX; k++) {
		double *rho = &out->lag_rho[k + TL_THP_LAG_MAX];
		size_t count = 0;
		int ret = TL_OK;

		for (size_t i = 0; i < w->kept_count; i++) {
			size_t at = w->kept[i] + (size_t)(int64_t)k; /* wraps below 0 */

			if (at >= in->n || is_checkpoint(in, at))
				continue;
			w->a[count] = in->activity[w->kept[i]];
			w->b[count++] = in->duration[at];
		}
		if (count >= LAG_STEPS_MIN)
			ret = tl_spearman(rho, w->a, w->b, count, err);
		if (ret < 0)
			return ret;
		if (*rho > out->lag_rho[out->best_lag + TL_THP_LAG_MAX])
			out->best_lag = k;
	}
	return TL_OK;
}

static int compare_doses(struct work *w, struct tl_thp_model *out, struct tl_error *err)
{
	size_t with = 0, without = 0;
	struct tl_mann_whitney mw;
	int ret;

	for (size_t i = 0; i < w->kept_count; i++) {
		size_t step = w->kept[i];

		if (w->in->activity[step] > 0)
			w->a[with++] = w->in->duration[step];
		else
			w->b[without++] = w->in->duration[step];
	}
	if (with < DOSE_STEPS_MIN || without < DOSE_STEPS_MIN)
		return TL_OK;
	ret = tl_mann_whitney(&mw, w->b, without, w->a, with, TL_GREATER, err);
	if (ret < 0)
		return ret;
	out->has_dose = true;
	out->dose_p = mw.p;
	out->dose_cliff = mw.cliff;
	out->dose_difference = tl_median(w->a, with) - tl_median(w->b, without);
	return TL_OK;
}

static bool is_quiet(const struct tl_thp_steps *in)
{
	for (size_t i = 0; i < in->n; i++) {
		if (in->activity[i] > 0 || mechanism(in, i) > 0)
			return false;
	}
	return true;
}

static enum tl_thp_verdict verdict_of(const struct tl_thp_model *m, const struct tl_thp_steps *in)
{
	unsigned mechanisms = TL_THP_SEES_DIRECT | TL_THP_SEES_STOLEN | TL_THP_SEES_LOCK;
	bool is_missing = (in->sees & mechanisms) != mechanisms;

	if (is_quiet(in))
		return in->sees & TL_THP_SEES_ACTIVITY ? TL_THP_NO_ACTIVITY : TL_THP_NOT_OBSERVABLE;
	if (m->share >= 0.5 && m->share_low >= 0.25)
		return TL_THP_CONFIRMED;
	if (m->share >= 0.15 && m->share_low > 0.05)
		return TL_THP_CONTRIBUTES;
	if (m->share_high < 0.10 && !is_missing)
		return TL_THP_EXPLAINS_LITTLE;
	if (is_missing && m->within_offset.stratum_count && m->within_offset.p < 0.01 &&
	    m->p_rho < 0.05)
		return TL_THP_POSSIBLE;
	if (is_missing && m->p_rho < 0.05)
		return TL_THP_UNDECIDED;
	return TL_THP_NOT_SUPPORTED;
}

static int judge(struct work *w, struct tl_thp_model *out, struct tl_error *err)
{
	const struct tl_thp_steps *in = w->in;
	int ret;

	choose_steps(w);
	out->slow_count = w->slow_count;
	out->base_count = w->base_count;
	out->baseline = w->model.baseline;
	if (w->slow_count < SLOW_STEPS_MIN) {
		out->verdict = TL_THP_NO_SLOW_STEPS;
		return TL_OK;
	}
	if (w->base_count < BASE_STEPS_MIN) {
		out->verdict = TL_THP_FEW_BASELINE_STEPS;
		return TL_OK;
	}
	bound_contribution(w, out);
	gather(w->a, in->activity, w->kept, w->kept_count);
	gather(w->b, in->duration, w->kept, w->kept_count);
	if ((ret = tl_circular_rank(&out->rho, &out->p_rho, w->a, w->b, w->kept_count, err)) < 0 ||
	    (ret = rank_within_offsets(w, out, err)) < 0 || (ret = rank_lags(w, out, err)) < 0 ||
	    (ret = compare_doses(w, out, err)) < 0)
		return ret;
	out->verdict = verdict_of(out, in);
	return TL_OK;
}

static int check_times(const double *v, size_t n, const char *what, struct tl_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!(v[i] >= 0 && v[i] < 1e100))
			return tl_fail(err, TL_USAGE,
				       "%s time of step %zu is %g, expected 0 or more", what, i,
				       v[i]);
	}
	return TL_OK;
}

int tl_thp_model(struct tl_thp_model *out, const struct tl_thp_steps *steps, struct tl_error *err)
{
	struct work w = { .in = steps };
	size_t n = steps->n;
	int ret;

	*out = (struct tl_thp_model) { 0 };
	if ((ret = check_times(steps->activity, n, "daemon", err)) < 0 ||
	    (ret = check_times(steps->direct, n, "direct", err)) < 0 ||
	    (ret = check_times(steps->stolen, n, "stolen", err)) < 0 ||
	    (ret = check_times(steps->lock, n, "lock", err)) < 0 ||
	    (ret = tl_steps_model(&w.model, steps->duration, n, NULL, err)) < 0)
		return ret;
	w.slow = tl_alloc(n, sizeof(*w.slow), err);
	w.base = tl_alloc(n, sizeof(*w.base), err);
	w.kept = tl_alloc(n, sizeof(*w.kept), err);
	w.a = tl_alloc(n, sizeof(*w.a), err);
	w.b = tl_alloc(n, sizeof(*w.b), err);
	w.c = tl_alloc(n, sizeof(*w.c), err);
	w.offset = tl_alloc(n, sizeof(*w.offset), err);
	w.stratum = tl_alloc(n, sizeof(*w.stratum), err);
	ret = TL_NOMEM;
	if (w.slow && w.base && w.kept && w.a && w.b && w.c && w.offset && w.stratum)
		ret = judge(&w, out, err);
	free(w.slow);
	free(w.base);
	free(w.kept);
	free(w.a);
	free(w.b);
	free(w.c);
	free(w.offset);
	free(w.stratum);
	tl_steps_model_release(&w.model);
	return ret;
}

static int compare_times(struct tl_thp_share *out, const struct contrast *c, struct tl_error *err)
{
	struct tl_mann_whitney mw;
	int ret = tl_mann_whitney(&mw, c->base, c->base_count, c->slow, c->slow_count, TL_DIFFERENT,
				  err);

	if (ret == TL_OK) {
		out->p = mw.p;
		estimate_share(out, c);
	}
	return ret;
}

int tl_thp_share(struct tl_thp_share *out, const struct tl_thp_steps *steps, double baseline,
		 const double *time, struct tl_error *err)
{
	double *memory = tl_alloc(3 * steps->n, sizeof(*memory), err);
	struct contrast c = { memory, memory + steps->n, memory + 2 * steps->n, 0, 0 };
	int ret;

	*out = (struct tl_thp_share) { 0 };
	if (!memory)
		return TL_NOMEM;
	for (size_t i = 0; i < steps->n; i++) {
		if (steps->role[i] == TL_THP_ROLE_SLOW) {
			c.excess[c.slow_count] = steps->duration[i] - baseline;
			c.slow[c.slow_count++] = time[i];
		} else if (steps->role[i] == TL_THP_ROLE_BASE) {
			c.base[c.base_count++] = time[i];
		}
	}
	if (c.slow_count < 2 || c.base_count < 2)
		ret = tl_fail(err, TL_USAGE,
			      "%zu slow steps and %zu of the baseline, expected 2 of each",
			      c.slow_count, c.base_count);
	else
		ret = compare_times(out, &c, err);
	free(memory);
	return ret;
}
