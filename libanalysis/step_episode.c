/*
 * step_episode.c - runs of slow or fast steps, how they end, and how sure one can be.
 *
 * Knows a series and its baseline. Everything is measured on logarithms: a difference is a ratio.
 */
#include "step_episode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distribution.h"
#include "memory.h"
#include "stats.h"

#define GAP_STEPS_MAX	  2  /* a baseline gap inside an episode */
#define RECOVERY_RUN	  3  /* steps in a row inside the band */
#define LOCAL_STEPS	  30 /* baseline steps on each side for the tests */
#define SHIFT_STEPS_MIN	  5  /* unrecovered and shorter: ongoing */
#define DECAY_STEPS_MIN	  4
#define CHECKPOINT_RATIO  2.0 /* a peak this far above the second is the checkpoint step */
#define WINDOW_SHARE	  8   /* windows are at most this part of the null steps */
#define WINDOWS_MIN	  30  /* fewer say nothing */
#define SCAN_LEVELS	  3
#define GOLDEN_ITERATIONS 80

static const double scan_sigmas[SCAN_LEVELS] = { 2.0, 3.0, 4.0 };

/* A run of steps that the segments call raised or lowered. */
struct piece {
	int sign;
	size_t start, end;
	bool is_eaten; /* belongs to an earlier episode */
};

struct context {
	const double *x, *y;
	size_t n;
	const struct tl_segmentation *seg;
	const struct tl_step_baseline *b;
	struct piece *pieces;
	size_t piece_count, piece_capacity;
	bool *is_null; /* by step: neither warm-up nor in an episode longer than a spike */
	size_t null_count;
	size_t null_raised[2][SCAN_LEVELS]; /* null steps beyond each scan level; [1] is lowered */
	double *scratch, *local, *weight;
};

static double excess(const struct context *c, size_t step)
{
	return c->y[step] - c->b->level;
}

static double median_level(const struct context *c, size_t start, size_t end)
{
	memcpy(c->scratch, c->y + start, (end - start) * sizeof(*c->scratch));
	return tl_median(c->scratch, end - start);
}

/* ---- pieces -------------------------------------------------------------------------------- */

static int add_piece(struct context *c, int sign, size_t start, size_t end, struct tl_error *err)
{
	int ret = tl_grow(&c->pieces, &c->piece_capacity, c->piece_count + 1, err);

	if (ret == TL_OK)
		c->pieces[c->piece_count++] = (struct piece) { sign, start, end, false };
	return ret;
}

static size_t end_of_run(const struct context *c, size_t k)
{
	const int8_t *class = c->b->segment_class;

	while (k + 1 < c->seg->count && class[k + 1] == class[k])
		k++;
	return k;
}

/* The last segment of the run that begins with segment k, over gaps that are no recovery. */
static size_t extend_over_gaps(const struct context *c, size_t k)
{
	const int8_t *class = c->b->segment_class;
	const size_t *starts = c->seg->starts;
	size_t j = end_of_run(c, k);

	while (j + 2 < c->seg->count && class[j + 2] == class[k] &&
	       starts[j + 2] - starts[j + 1] <= GAP_STEPS_MAX) {
		size_t q = end_of_run(c, j + 2);

		if (starts[j + 1] - starts[k] <= TL_SPIKE_STEPS_MAX &&
		    starts[q + 1] - starts[j + 2] <= TL_SPIKE_STEPS_MAX)
			break;
		j = q;
	}
	return j;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int find_pieces(struct context *c, struct tl_error *err)
{
	const struct tl_step_baseline *b = c->b;
	const size_t *starts = c->seg->starts;
	size_t runs, at, step = b->warmup_count;
	int ret = TL_OK;

	for (size_t k = 0; k < c->seg->count && ret == TL_OK; k++) {
		if (b->segment_class[k] == 0 || starts[k] < b->warmup_count)
			continue;
		at = extend_over_gaps(c, k);
		ret = add_piece(c, b->segment_class[k], starts[k], starts[at + 1], err);
		k = at;
	}
	/* Single steps that the penalty of a change point is too strict for. */
	runs = c->piece_count;
	at = 0;
	for (; step < c->n && ret == TL_OK; step++) {
		while (at < runs && c->pieces[at].end <= step)
			at++;
		if (at < runs && c->pieces[at].start <= step)
			continue;
		if (excess(c, step) > b->spike_threshold)
			ret = add_piece(c, 1, step, step + 1, err);
	}
	if (c->piece_count > 1)
		qsort(c->pieces, c->piece_count, sizeof(*c->pieces), compare_pieces);
	return ret;
}

static double scan_threshold(const struct tl_step_baseline *b, size_t level)
{
	return fmax(b->min_log, scan_sigmas[level] * b->sigma);
}

static size_t count_beyond(const struct context *c, size_t start, size_t end, int sign,
			   double threshold, bool null_only)
{
	size_t count = 0;

	for (size_t i = start; i < end; i++)
		count += (!null_only || c->is_null[i]) && sign * excess(c, i) > threshold;
	return count;
}

/* The steps that show what happens without an episode; spikes stay among them. */
static void find_null(struct context *c)
{
	for (size_t i = c->b->warmup_count; i < c->n; i++)
		c->is_null[i] = true;
	for (size_t i = 0; i < c->piece_count; i++) {
		const struct piece *p = &c->pieces[i];

		if (p->end - p->start > TL_SPIKE_STEPS_MAX)
			memset(c->is_null + p->start, false, p->end - p->start);
	}
	for (size_t i = 0; i < c->n; i++)
		c->null_count += c->is_null[i];
	for (size_t z = 0; z < SCAN_LEVELS; z++) {
		double threshold = scan_threshold(c->b, z);

		c->null_raised[0][z] = count_beyond(c, 0, c->n, 1, threshold, true);
		c->null_raised[1][z] = count_beyond(c, 0, c->n, -1, threshold, true);
	}
}

/* ---- the end of an episode ------------------------------------------------------------------ */

static bool is_inside_band(const struct context *c, size_t step)
{
	for (size_t q = step; q < c->n && q < step + RECOVERY_RUN; q++) {
		if (c->y[q] > c->b->band)
			return false;
	}
	return true;
}

static double time_of(const struct context *c, size_t start, size_t end, double baseline)
{
	struct tl_sum sum = { 0 };

	for (size_t i = start; i < end; i++)
		tl_sum_add(&sum, c->x[i] - baseline);
	return tl_sum_value(&sum);
}

/* Moves e->end to the recovery, and takes in the raised pieces before it. */
static void find_recovery(struct context *c, struct tl_episode *e, size_t piece)
{
	size_t back = e->peak_step + 1, first_end = e->end;

	while (back < c->n && !is_inside_band(c, back))
		back++;
	e->has_recovery = back + RECOVERY_RUN <= c->n;
	if (e->end - e->start > TL_SPIKE_STEPS_MAX) {
		e->end = back > e->end ? back : e->end;
		for (size_t i = piece + 1; i < c->piece_count && c->pieces[i].start < e->end; i++) {
			struct piece *later = &c->pieces[i];

			if (later->sign < 0 || later->is_eaten || later->start < first_end)
				continue;
			later->is_eaten = true;
			e->end = later->end > e->end ? later->end : e->end;
		}
	}
	e->is_recovered = e->has_recovery && e->end < c->n;
	if (e->has_recovery) {
		e->recover_steps = back - e->start;
		e->recover_time = time_of(c, e->start, back, 0);
	}
}

static enum tl_episode_kind kind_of(const struct context *c, const struct tl_episode *e)
{
	size_t length = e->end - e->start;

	if (e->sign < 0)
		return length > TL_SPIKE_STEPS_MAX ? TL_EPISODE_IMPROVEMENT : TL_EPISODE_FAST_SPIKE;
	if (length <= TL_SPIKE_STEPS_MAX)
		return TL_EPISODE_SPIKE;
	if (e->end >= c->n || !e->is_recovered)
		return length >= SHIFT_STEPS_MIN ? TL_EPISODE_SHIFT : TL_EPISODE_ONGOING;
	return TL_EPISODE_TRANSIENT;
}

/* ---- three tests ---------------------------------------------------------------------------- */

/* The nearest baseline steps before and after, in order, into c->local. */
static size_t local_baseline(struct context *c, size_t start, size_t end)
{
	size_t before = 0, count, first = start;

	while (first > 0 && before < LOCAL_STEPS)
		before += c->b->is_base[--first];
	count = 0;
	for (size_t i = first; i < start; i++) {
		if (c->b->is_base[i])
			c->local[count++] = c->y[i];
	}
	for (size_t i = end; i < c->n && count < before + LOCAL_STEPS; i++) {
		if (c->b->is_base[i])
			c->local[count++] = c->y[i];
	}
	return count;
}

/*
 * Whether the median of the window is at least `level`, given how many of its values are: the
 * values have to be looked at only when the two middle ones lie on either side.
 */
static bool window_reaches(const double *y, size_t length, int sign, double level, size_t above)
{
	double below_max = -INFINITY, above_min = INFINITY;

	if (2 * above != length)
		return 2 * above > length;
	for (size_t i = 0; i < length; i++) {
		if (sign * y[i] >= level)
			above_min = fmin(above_min, sign * y[i]);
		else
			below_max = fmax(below_max, sign * y[i]);
	}
	return 0.5 * (below_max + above_min) >= level;
}

/*
 * The share of windows of undisturbed steps whose median is as extreme as the episode's: keeps the
 * autocorrelation of the data. (1 + extreme) / (1 + windows).
 */
static void test_windows(const struct context *c, struct tl_episode *e)
{
	size_t length = e->end - e->start, longest = c->null_count / WINDOW_SHARE;
	size_t run = 0, above = 0, extreme = 0;
	double level = e->sign * median_level(c, e->start, e->end);

	if (longest <= TL_SPIKE_STEPS_MAX)
		longest = TL_SPIKE_STEPS_MAX + 1;
	if (length > longest)
		length = longest;
	for (size_t i = 0; i < c->n; i++) {
		if (!c->is_null[i] || (e->start <= i && i < e->end)) {
			run = above = 0;
			continue;
		}
		above += e->sign * c->y[i] >= level;
		if (++run > length)
			above -= e->sign * c->y[i - length] >= level;
		if (run < length)
			continue;
		e->tests.window_count++;
		extreme += window_reaches(c->y + i + 1 - length, length, e->sign, level, above);
	}
	e->tests.p_window = (1.0 + (double)extreme) / (1.0 + (double)e->tests.window_count);
}

/*
 * Scan statistic with a Bonferroni bound: the chance that r raised steps fall into some window of L
 * steps when a share q is raised elsewhere, n C(L-1, r-1) q^r; the smallest over three levels,
 * times 3.
 */
static double test_scan(const struct context *c, const struct tl_episode *e)
{
	double length = (double)(e->end - e->start), best = 1.0;
	size_t null_inside = 0;

	for (size_t i = e->start; i < e->end; i++)
		null_inside += c->is_null[i];
	for (size_t z = 0; z < SCAN_LEVELS; z++) {
		double threshold = scan_threshold(c->b, z), share, log_p;
		size_t raised = count_beyond(c, e->start, e->end, e->sign, threshold, false);
		size_t outside = c->null_raised[e->sign < 0][z] -
				 count_beyond(c, e->start, e->end, e->sign, threshold, true);

		if (raised == 0)
			continue;
		share = (1.0 + (double)outside) / (2.0 + (double)(c->null_count - null_inside));
		log_p = log((double)c->n) + tl_log_gamma(length) - tl_log_gamma((double)raised) -
			tl_log_gamma(length - (double)raised + 1) + (double)raised * log(share);
		best = fmin(best, exp(fmin(0.0, log_p)));
	}
	return fmin(1.0, SCAN_LEVELS * best);
}

static int test_episode(struct context *c, struct tl_episode *e, struct tl_error *err)
{
	struct tl_episode_tests *t = &e->tests;
	const double *values = c->y + e->start;
	size_t length = e->end - e->start;
	struct tl_mann_whitney mw;
	struct tl_shift shift;
	int ret;

	t->local_count = local_baseline(c, e->start, e->end);
	if (t->local_count == 0)
		return TL_OK;
	ret = tl_mann_whitney(&mw, c->local, t->local_count, values, length,
			      e->sign > 0 ? TL_GREATER : TL_DIFFERENT, err);
	if (ret < 0)
		return ret;
	ret = tl_hodges_lehmann(&shift, c->local, t->local_count, values, length, 0.95, 1.0, err);
	if (ret < 0)
		return ret;
	e->has_tests = true;
	t->p_mwu = mw.p;
	t->p_method = mw.method;
	t->cliff = mw.cliff;
	t->hl_pct = 100 * expm1(shift.estimate);
	t->hl_low_pct = isfinite(shift.low) ? 100 * expm1(shift.low) : -INFINITY;
	t->hl_high_pct = isfinite(shift.high) ? 100 * expm1(shift.high) : INFINITY;
	test_windows(c, e);
	t->p_scan = test_scan(c, e);
	return TL_OK;
}

static enum tl_confidence confidence_of(const struct tl_episode *e)
{
	const struct tl_episode_tests *t = &e->tests;
	double p_window = t->window_count < WINDOWS_MIN ? 0.0 : t->p_window;

	if (!e->has_tests)
		return TL_CONFIDENCE_UNTESTED;
	if (t->p_mwu < 1e-4 && p_window <= 0.02 && t->p_scan < 1e-3)
		return TL_CONFIDENCE_HIGH;
	if (t->p_mwu < 0.01 && p_window <= 0.05 && t->p_scan < 0.01)
		return TL_CONFIDENCE_MEDIUM;
	return TL_CONFIDENCE_LOW;
}

/* ---- decay ----------------------------------------------------------------------------------- */

/* Squared error of the best amplitude for exp(log_tau); the amplitude has a closed form. */
static double decay_error(const struct context *c, size_t start, size_t end, double log_tau,
			  double *amplitude)
{
	struct tl_sum weights = { 0 }, products = { 0 }, errors = { 0 };
	double tau = exp(log_tau);
	size_t length = end - start;

	for (size_t k = 0; k < length; k++) {
		double w = c->weight[k] = exp(-(double)k / tau);

		tl_sum_add(&weights, w * w);
		tl_sum_add(&products, w * excess(c, start + k));
	}
	*amplitude = tl_sum_value(&products) / tl_sum_value(&weights);
	for (size_t k = 0; k < length; k++) {
		double off = excess(c, start + k) - *amplitude * c->weight[k];

		tl_sum_add(&errors, off * off);
	}
	return tl_sum_value(&errors);
}

static double squared_deviation(const struct context *c, size_t start, size_t end)
{
	struct tl_sum sum = { 0 }, squares = { 0 };
	double mean;

	for (size_t i = start; i < end; i++)
		tl_sum_add(&sum, excess(c, i));
	mean = tl_sum_value(&sum) / (double)(end - start);
	for (size_t i = start; i < end; i++)
		tl_sum_add(&squares, (excess(c, i) - mean) * (excess(c, i) - mean));
	return tl_sum_value(&squares);
}

/* Golden section on ln tau between ln 0.3 and ln 4 length: what lies outside no series can show. */
static void fit_decay(const struct context *c, struct tl_episode *e, size_t start, size_t end)
{
	double low = log(0.3), high = log(4.0 * (double)(end - start)), log_tau, error;
	double ratio = (sqrt(5) - 1) / 2, amplitude, total;

	if (end - start < 3)
		return;
	for (int i = 0; i < GOLDEN_ITERATIONS; i++) {
		double a = high - ratio * (high - low), b = low + ratio * (high - low);

		if (decay_error(c, start, end, a, &amplitude) <
		    decay_error(c, start, end, b, &amplitude))
			high = b;
		else
			low = a;
	}
	log_tau = 0.5 * (low + high);
	error = decay_error(c, start, end, log_tau, &amplitude);
	total = squared_deviation(c, start, end);
	e->has_decay = true;
	e->decay.amplitude_pct = 100 * expm1(amplitude);
	e->decay.tau_steps = exp(log_tau);
	e->decay.half_life_steps = exp(log_tau) * log(2);
	e->decay.r2 = total > 0 ? 1 - error / total : 0.0;
}

/* ---- one episode ------------------------------------------------------------------------------ */

static size_t find_peak(const struct context *c, size_t start, size_t end, int sign)
{
	size_t peak = start;

	for (size_t i = start + 1; i < end; i++) {
		if (sign * excess(c, i) > sign * excess(c, peak))
			peak = i;
	}
	return peak;
}

/*
 * The regression lasts to the last step with half of the peak excess. The peak is the second
 * largest when the largest is the checkpoint step itself, more than twice as high.
 */
static void split_recovery(struct context *c, struct tl_episode *e)
{
	double first = -INFINITY, second = -INFINITY, half;
	bool is_checkpoint;

	for (size_t i = e->start; i < e->end; i++) {
		double v = excess(c, i);

		if (v > first) {
			second = first;
			first = v;
		} else if (v > second) {
			second = v;
		}
	}
	is_checkpoint = first > CHECKPOINT_RATIO * second;
	half = 0.5 * (is_checkpoint ? second : first);
	e->regression_end = e->start + 1;
	for (size_t i = e->start; i < e->end; i++) {
		if (excess(c, i) >= half)
			e->regression_end = i + 1;
	}
	if (e->kind == TL_EPISODE_TRANSIENT && e->end - e->start >= DECAY_STEPS_MIN)
		fit_decay(c, e, e->start + (is_checkpoint && e->peak_step == e->start),
			  e->end + RECOVERY_RUN < c->n ? e->end + RECOVERY_RUN : c->n);
}

static int describe(struct context *c, struct tl_episode *e, size_t piece, struct tl_error *err)
{
	const struct piece *p = &c->pieces[piece];
	bool is_long;
	int ret = TL_OK;

	*e = (struct tl_episode) { .start = p->start, .end = p->end, .sign = p->sign };
	e->peak_step = find_peak(c, e->start, e->end, e->sign);
	if (e->sign > 0)
		find_recovery(c, e, piece);
	e->kind = kind_of(c, e);
	e->peak_pct = 100 * expm1(excess(c, e->peak_step));
	e->median_pct = 100 * expm1(median_level(c, e->start, e->end) - c->b->level);
	e->excess_time = time_of(c, e->start, e->end, exp(c->b->level));
	e->regression_end = e->end;
	is_long = e->end - e->start > TL_SPIKE_STEPS_MAX;
	if (is_long)
		ret = test_episode(c, e, err);
	if (is_long && e->sign > 0)
		split_recovery(c, e);
	e->confidence = confidence_of(e);
	return ret;
}

static int describe_all(struct context *c, struct tl_episode **out, size_t *count,
			struct tl_error *err)
{
	int ret = find_pieces(c, err);

	if (ret < 0)
		return ret;
	find_null(c);
	*out = tl_alloc(c->piece_count, sizeof(**out), err);
	if (!*out)
		return TL_NOMEM;
	for (size_t i = 0; i < c->piece_count && ret == TL_OK; i++) {
		if (!c->pieces[i].is_eaten)
			ret = describe(c, &(*out)[(*count)++], i, err);
	}
	return ret;
}

int tl_step_episodes(struct tl_episode **out, size_t *count, const double *x,
		     const struct tl_segmentation *seg, const struct tl_step_baseline *b,
		     struct tl_error *err)
{
	struct context c = { .x = x, .y = seg->log_x, .n = seg->n, .seg = seg, .b = b };
	int ret = TL_NOMEM;

	*out = NULL;
	*count = 0;
	c.is_null = tl_alloc(c.n, sizeof(*c.is_null), err);
	c.scratch = tl_alloc(c.n, sizeof(*c.scratch), err);
	c.local = tl_alloc(2 * LOCAL_STEPS, sizeof(*c.local), err);
	c.weight = tl_alloc(c.n, sizeof(*c.weight), err);
	if (c.is_null && c.scratch && c.local && c.weight)
		ret = describe_all(&c, out, count, err);
	free(c.pieces);
	free(c.is_null);
	free(c.scratch);
	free(c.local);
	free(c.weight);
	if (ret < 0) {
		free(*out);
		*out = NULL;
		*count = 0;
	}
	return ret;
}
