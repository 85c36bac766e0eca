/*
 * steps_model.c - from the durations of steps to phases, episodes and a verdict.
 *
 * Puts together what segment.c, step_baseline.c and step_episode.c find; decides about drift and
 * period, which concern the whole series.
 */
#include "steps_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"
#include "step_baseline.h"
#include "step_episode.h"

#define SPIKE_RULE_STEPS_MIN  5
#define DRIFT_STEPS_MIN	      20
#define DRIFT_MONOTONE_SHARE  0.7
#define DRIFT_TRANSIENT_SHARE 0.1 /* longer transients are steps of the drift */
#define PERIOD_P_MAX	      0.01
#define PERIOD_P_MAX_LONG     0.02

static const char *const phase_names[TL_PHASE_COUNT] = {
	"baseline", "warmup", "spike", "periodic", "regression", "recovery", "shifted", "improved",
};

static const char *const kind_names[TL_EPISODE_KIND_COUNT] = {
	"spike", "fast_spike", "transient", "shift", "ongoing", "improvement",
};

static const char *const confidence_names[] = { "n/a", "low", "medium", "high" };

static const char *const verdict_names[TL_STEPS_VERDICT_COUNT] = {
	"too few steps",
	"no change",
	"isolated slow steps only",
	"periodic slow steps only",
	"improvement",
	"regression at the end of the trace",
	"transient regression",
	"sustained regression",
	"drift",
};

const char *tl_phase_name(enum tl_phase phase)
{
	return phase_names[phase];
}

const char *tl_episode_kind_name(enum tl_episode_kind kind)
{
	return kind_names[kind];
}

const char *tl_confidence_name(enum tl_confidence confidence)
{
	return confidence_names[confidence];
}

const char *tl_steps_verdict_name(enum tl_steps_verdict verdict)
{
	return verdict_names[verdict];
}

/* ---- few steps ------------------------------------------------------------------------------- */

static void add_spike(struct tl_steps_model *out, double duration, size_t step)
{
	struct tl_episode *e = &out->episodes[out->episode_count++];

	out->phases[step] = TL_PHASE_SPIKE;
	*e = (struct tl_episode) {
		.kind = TL_EPISODE_SPIKE,
		.start = step,
		.end = step + 1,
		.sign = 1,
		.regression_end = step + 1,
		.peak_step = step,
		.peak_pct = 100 * (duration / out->baseline - 1),
		.excess_time = duration - out->baseline,
	};
	e->median_pct = e->peak_pct;
}

/* Too few for segments: the median is the baseline, and only single outliers can be told. */
static int judge_few(struct tl_steps_model *out, const double *x, struct tl_error *err)
{
	double sorted[TL_STEPS_MIN], residual[TL_STEPS_MIN], threshold;
	struct tl_resolution resolution;
	size_t n = out->n;
	int ret;

	out->verdict = TL_STEPS_TOO_FEW;
	out->baseline_count = n;
	if (n == 0)
		return TL_OK;
	memcpy(sorted, x, n * sizeof(*x));
	out->baseline = tl_median(sorted, n);
	if (n < SPIKE_RULE_STEPS_MIN)
		return TL_OK;
	ret = tl_resolution(&resolution, x, n, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < n; i++)
		residual[i] = log(x[i] / out->baseline);
	out->sigma_base = tl_level_sigma(residual, n, &resolution);
	threshold = fmax(log1p(out->min_change), tl_spike_sigmas(n) * out->sigma_base);
	out->episodes = tl_alloc(n, sizeof(*out->episodes), err);
	if (!out->episodes)
		return TL_NOMEM;
	for (size_t i = 0; i < n; i++) {
		if (log(x[i] / out->baseline) > threshold)
			add_spike(out, x[i], i);
	}
	return TL_OK;
}

/* ---- drift ------------------------------------------------------------------------------------ */

struct line {
	double mean_step, mean_level, slope;
};

/* Segments longer than a spike after the warm-up: what a drift has to explain. */
static bool is_long_segment(const struct tl_segmentation *seg, size_t k, size_t warmup)
{
	return seg->starts[k + 1] - seg->starts[k] > TL_SPIKE_STEPS_MAX && seg->starts[k] >= warmup;
}

/* Least squares of the level against the step number over the chosen steps. */
static struct line fit_line(const double *y, const bool *is_chosen, size_t n)
{
	struct tl_sum steps = { 0 }, levels = { 0 }, xx = { 0 }, xy = { 0 };
	struct line line;
	double count = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_chosen[i])
			continue;
		tl_sum_add(&steps, (double)i);
		tl_sum_add(&levels, y[i]);
		count++;
	}
	line.mean_step = tl_sum_value(&steps) / count;
	line.mean_level = tl_sum_value(&levels) / count;
	for (size_t i = 0; i < n; i++) {
		double dx = (double)i - line.mean_step;

		if (!is_chosen[i])
			continue;
		tl_sum_add(&xx, dx * dx);
		tl_sum_add(&xy, dx * (y[i] - line.mean_level));
	}
	line.slope = tl_sum_value(&xy) / tl_sum_value(&xx);
	return line;
}

static double line_error(const struct line *line, const double *y, const bool *is_chosen, size_t n)
{
	struct tl_sum sum = { 0 };

	for (size_t i = 0; i < n; i++) {
		double off = y[i] - line->mean_level - line->slope * ((double)i - line->mean_step);

		if (is_chosen[i])
			tl_sum_add(&sum, off * off);
	}
	return tl_sum_value(&sum);
}

static double level_error(const double *y, size_t n)
{
	struct tl_sum sum = { 0 };
	double mean = tl_mean(y, n);

	for (size_t i = 0; i < n; i++)
		tl_sum_add(&sum, (y[i] - mean) * (y[i] - mean));
	return tl_sum_value(&sum);
}

/*
 * A straight line (2 parameters) against the levels of the segments (one per change): drift if the
 * line costs less, adds up to more than min_change, and 70 % of the levels move its way.
 */
static void judge_drift(struct tl_steps_model *out, const struct tl_segmentation *seg,
			const struct tl_step_baseline *b, const bool *is_chosen, double kappa)
{
	double penalty = kappa * log((double)seg->n), variance = seg->sigma * seg->sigma;
	struct line line = fit_line(seg->log_x, is_chosen, seg->n);
	double errors = 0, previous = 0, moves = -1, along = 0;

	for (size_t k = 0; k < seg->count; k++) {
		if (!is_long_segment(seg, k, b->warmup_count))
			continue;
		errors += level_error(seg->log_x + seg->starts[k],
				      seg->starts[k + 1] - seg->starts[k]);
		moves++;
		along += moves > 0 && (b->segment_level[k] - previous) * line.slope > 0;
		previous = b->segment_level[k];
	}
	out->drift.cost_linear =
		line_error(&line, seg->log_x, is_chosen, seg->n) / variance + 2 * penalty;
	out->drift.cost_steps = errors / variance + penalty * moves;
	out->drift.per_100_steps_ratio = expm1(line.slope * 100);
	out->drift.total_ratio = expm1(line.slope * (double)(seg->n - 1));
	out->has_drift = out->drift.cost_linear < out->drift.cost_steps &&
			 fabs(line.slope) * (double)(seg->n - 1) > b->min_log &&
			 along >= DRIFT_MONOTONE_SHARE * moves;
	if (!out->has_drift)
		out->drift = (struct tl_drift) { 0 };
}

static int find_drift(struct tl_steps_model *out, const struct tl_segmentation *seg,
		      const struct tl_step_baseline *b, double kappa, struct tl_error *err)
{
	bool *is_chosen = tl_alloc(seg->n, sizeof(*is_chosen), err);
	size_t segments = 0, steps = 0;

	if (!is_chosen)
		return TL_NOMEM;
	for (size_t k = 0; k < seg->count; k++) {
		size_t length = seg->starts[k + 1] - seg->starts[k];

		if (!is_long_segment(seg, k, b->warmup_count))
			continue;
		memset(is_chosen + seg->starts[k], true, length);
		segments++;
		steps += length;
	}
	if (segments >= 2 && steps >= DRIFT_STEPS_MIN)
		judge_drift(out, seg, b, is_chosen, kappa);
	free(is_chosen);
	return TL_OK;
}

/* Shifts and improvements are what a drift looks like in steps; transients and spikes are not. */
static void drop_steps_of_drift(struct tl_steps_model *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->episode_count; i++) {
		const struct tl_episode *e = &out->episodes[i];
		bool is_short =
			(double)(e->end - e->start) <= DRIFT_TRANSIENT_SHARE * (double)out->n;

		if (e->kind == TL_EPISODE_SPIKE || e->kind == TL_EPISODE_FAST_SPIKE ||
		    (e->kind == TL_EPISODE_TRANSIENT && is_short))
			out->episodes[kept++] = *e;
	}
	out->episode_count = kept;
}

/* ---- period ----------------------------------------------------------------------------------- */

enum onsets { ALL_ONSETS, STRONG_ONSETS, LONG_ONSETS };

static double log_peak(const struct tl_episode *e)
{
	return log1p(e->peak_pct / 100);
}

static size_t choose_onsets(size_t *onsets, const struct tl_steps_model *m, enum onsets which)
{
	double top = 0;
	size_t count = 0;

	for (size_t i = 0; i < m->episode_count; i++) {
		if (m->episodes[i].sign > 0)
			top = fmax(top, m->episodes[i].peak_pct);
	}
	for (size_t i = 0; i < m->episode_count; i++) {
		const struct tl_episode *e = &m->episodes[i];

		if (e->sign < 0 ||
		    (which == STRONG_ONSETS && log_peak(e) < 0.5 * log1p(top / 100)) ||
		    (which == LONG_ONSETS && e->end - e->start <= TL_SPIKE_STEPS_MAX))
			continue;
		onsets[count++] = e->start;
	}
	return count;
}

/* All onsets first; then the strong, then the long ones only: random spikes hide a period. */
static int find_period(struct tl_steps_model *out, struct tl_error *err)
{
	static const struct {
		enum onsets which;
		size_t least;
		double p_max;
	} tries[] = {
		{ ALL_ONSETS, 3, PERIOD_P_MAX },
		{ STRONG_ONSETS, 4, PERIOD_P_MAX },
		{ LONG_ONSETS, 3, PERIOD_P_MAX_LONG },
	};
	size_t *onsets = tl_alloc(out->episode_count, sizeof(*onsets), err);
	int ret = onsets ? 0 : TL_NOMEM;

	for (size_t i = 0; i < 3 && ret == 0; i++)
		ret = tl_find_period(&out->period, onsets,
				     choose_onsets(onsets, out, tries[i].which), out->n,
				     tries[i].least, tries[i].p_max, err);
	free(onsets);
	out->has_period = ret == 1;
	return ret < 0 ? ret : TL_OK;
}

static bool is_periodic(const struct tl_steps_model *m, const struct tl_episode *e)
{
	for (size_t i = 0; m->has_period && i < m->period.member_count; i++) {
		if (m->period.members[i] == e->start)
			return true;
	}
	return false;
}

/* ---- phases and verdict ----------------------------------------------------------------------- */

static enum tl_phase phase_of(const struct tl_steps_model *m, const struct tl_episode *e)
{
	switch (e->kind) {
	case TL_EPISODE_SPIKE:
		return is_periodic(m, e) ? TL_PHASE_PERIODIC : TL_PHASE_SPIKE;
	case TL_EPISODE_IMPROVEMENT:
		return TL_PHASE_IMPROVED;
	case TL_EPISODE_SHIFT:
		return TL_PHASE_SHIFTED;
	case TL_EPISODE_ONGOING:
	case TL_EPISODE_TRANSIENT:
		return TL_PHASE_REGRESSION;
	case TL_EPISODE_FAST_SPIKE:
	case TL_EPISODE_KIND_COUNT:
		break;
	}
	return TL_PHASE_BASELINE;
}

static void set_phases(struct tl_steps_model *out)
{
	memset(out->phases, TL_PHASE_WARMUP, out->warmup_count);
	for (size_t i = 0; i < out->episode_count; i++) {
		const struct tl_episode *e = &out->episodes[i];

		memset(out->phases + e->start, phase_of(out, e), e->end - e->start);
		if (e->kind == TL_EPISODE_TRANSIENT)
			memset(out->phases + e->regression_end, TL_PHASE_RECOVERY,
			       e->end - e->regression_end);
	}
}

static bool has_alarm(const struct tl_steps_model *m, enum tl_episode_kind kind)
{
	for (size_t i = 0; i < m->episode_count; i++) {
		if (m->episodes[i].kind == kind &&
		    m->episodes[i].confidence >= TL_CONFIDENCE_MEDIUM)
			return true;
	}
	return false;
}

static bool has_spike(const struct tl_steps_model *m)
{
	for (size_t i = 0; i < m->episode_count; i++) {
		if (m->episodes[i].kind == TL_EPISODE_SPIKE)
			return true;
	}
	return false;
}

static enum tl_steps_verdict verdict_of(const struct tl_steps_model *m)
{
	if (m->has_drift)
		return TL_STEPS_DRIFT;
	if (has_alarm(m, TL_EPISODE_SHIFT))
		return TL_STEPS_SHIFT;
	if (has_alarm(m, TL_EPISODE_TRANSIENT))
		return TL_STEPS_TRANSIENT;
	if (has_alarm(m, TL_EPISODE_ONGOING))
		return TL_STEPS_ONGOING;
	if (has_alarm(m, TL_EPISODE_IMPROVEMENT))
		return TL_STEPS_IMPROVEMENT;
	if (m->has_period)
		return TL_STEPS_PERIODIC;
	return has_spike(m) ? TL_STEPS_ISOLATED : TL_STEPS_NO_CHANGE;
}

static int list_segments(struct tl_steps_model *out, const struct tl_segmentation *seg,
			 const struct tl_step_baseline *b, struct tl_error *err)
{
	out->segments = tl_alloc(seg->count, sizeof(*out->segments), err);
	if (!out->segments)
		return TL_NOMEM;
	out->segment_count = seg->count;
	for (size_t k = 0; k < seg->count; k++) {
		double level = b->segment_level[k];

		out->segments[k] = (struct tl_step_segment) {
			.start = seg->starts[k],
			.end = seg->starts[k + 1],
			.median = exp(level),
			.vs_base_pct = 100 * expm1(level - b->level),
			.vs_previous_pct = k ? 100 * expm1(level - b->segment_level[k - 1]) : 0.0,
		};
	}
	return TL_OK;
}

static int judge_many(struct tl_steps_model *out, const double *x, double kappa,
		      struct tl_error *err)
{
	struct tl_segmentation seg = { 0 };
	struct tl_step_baseline b = { 0 };
	int ret;

	if ((ret = tl_segment(&seg, x, out->n, kappa, err)) < 0 ||
	    (ret = tl_step_baseline(&b, &seg, out->min_change, err)) < 0 ||
	    (ret = tl_step_episodes(&out->episodes, &out->episode_count, x, &seg, &b, err)) < 0 ||
	    (ret = list_segments(out, &seg, &b, err)) < 0 ||
	    (ret = find_drift(out, &seg, &b, kappa, err)) < 0)
		goto out;
	out->baseline = exp(b.level);
	out->baseline_count = b.base_count;
	out->sigma_log = seg.sigma;
	out->sigma_base = b.sigma;
	out->acf1 = seg.acf1;
	out->warmup_count = b.warmup_count;
	ret = find_period(out, err);
	if (ret < 0)
		goto out;
	if (out->has_drift)
		drop_steps_of_drift(out);
	set_phases(out);
	out->verdict = verdict_of(out);
out:
	tl_step_baseline_release(&b);
	tl_segmentation_release(&seg);
	return ret;
}

int tl_steps_model(struct tl_steps_model *out, const double *x, size_t n,
		   const struct tl_model_options *opt, struct tl_error *err)
{
	static const struct tl_model_options defaults = { TL_STEPS_MIN_CHANGE, TL_KAPPA };
	int ret = tl_check_durations(x, n, err);

	opt = opt ? opt : &defaults;
	*out = (struct tl_steps_model) { .n = n, .min_change = opt->min_change };
	if (ret < 0)
		return ret;
	if (!(opt->min_change > 0 && opt->min_change < 1e6 && opt->kappa > 0 && opt->kappa < 1e6))
		return tl_fail(err, TL_USAGE,
			       "smallest change %g and penalty %g must be above 0 and below 1e6",
			       opt->min_change, opt->kappa);
	out->phases = tl_alloc(n, sizeof(*out->phases), err);
	if (!out->phases)
		return TL_NOMEM;
	ret = n < TL_STEPS_MIN ? judge_few(out, x, err) : judge_many(out, x, opt->kappa, err);
	if (ret < 0)
		tl_steps_model_release(out);
	return ret;
}

void tl_steps_model_release(struct tl_steps_model *model)
{
	free(model->phases);
	free(model->segments);
	free(model->episodes);
	free(model->period.members);
	*model = (struct tl_steps_model) { 0 };
}

double tl_steps_visible_ratio(const struct tl_steps_model *model, size_t length)
{
	double n = (double)model->n;

	if (model->n < TL_STEPS_MIN || length == 0)
		return NAN;
	return fmax(model->min_change, expm1(model->sigma_log * sqrt(6 * log(n) / (double)length)));
}
