/*
 * steps_compare.c - is one series of steps slower than another? The tests are in comparison.c; here are
 * their results in words, and which steps are the slowest.
 */
#include "analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "memory.h"
#include "stats.h"
#include "steps_model.h"

static const char *method_name(enum tl_test_method method)
{
	switch (method) {
	case TL_TEST_NONE:
		return "none";
	case TL_TEST_EXACT:
		return "Mann-Whitney, exact";
	case TL_TEST_NORMAL:
		return "Mann-Whitney, normal";
	case TL_TEST_ADJUSTED:
		return "Mann-Whitney, widened for autocorrelation";
	case TL_TEST_DEGENERATE:
		return "all equal";
	}
	return "none";
}

static double *durations(const struct tl_steps_series *s, struct tl_error *err)
{
	double *x = tl_alloc(s->count, sizeof(*x), err);

	for (size_t i = 0; i < s->count && x; i++)
		x[i] = (double)s->steps[i].span_ns / (double)s->steps[i].count;
	return x;
}

/* The slowest steps that are slower than the other side's median. */
static void find_slowest(const struct tl_steps_series *s, struct tl_steps_comparison *out)
{
	for (size_t i = 0; i < s->count; i++) {
		size_t at = out->slowest_count;

		if ((double)s->steps[i].duration_ns <= out->good_median_ns)
			continue;
		while (at && s->steps[out->slowest[at - 1]].duration_ns < s->steps[i].duration_ns) {
			if (at < TL_SLOWEST_STEPS)
				out->slowest[at] = out->slowest[at - 1];
			at--;
		}
		if (at == TL_SLOWEST_STEPS)
			continue;
		out->slowest[at] = i;
		if (out->slowest_count < TL_SLOWEST_STEPS)
			out->slowest_count++;
	}
}

static void say_count(struct tl_text *t, const struct tl_steps_series *s, size_t rows)
{
	if (s->steps_per_row > 1)
		tl_text_printf(t, "%zu rows of %lld steps", rows, (long long)s->steps_per_row);
	else
		tl_text_printf(t, "%zu steps", rows);
}

/* Half of the steps decide about medians: what the others do is told. */
static void say_what_medians_hide(struct tl_text *t, const struct tl_steps_comparison *out)
{
	double means = out->slow_mean_ns / out->good_mean_ns;

	if (isfinite(means) && isfinite(out->ratio) &&
	    fabs(log(means) - log(out->ratio)) >= log(1 + TL_STEPS_MIN_CHANGE))
		tl_text_printf(t, "; the mean of all steps: %+.1f %%", 100 * (means - 1));
}

/* "slower by 46.3 % (95 % CI 7.6 to 116.9 %, p 0.0022); slowest steps: 1011 (166.4 ms), ..." */
static void say_comparison(const struct tl_steps_series *good, const struct tl_steps_series *slow,
			   struct tl_steps_comparison *out)
{
	bool has_effect = isfinite(out->ratio) && isfinite(out->ratio_low) &&
			  isfinite(out->ratio_high) && out->ratio_low > 0;
	struct tl_text t = { 0 };

	/* the middle of the steps is not the first thing to say then */
	if (out->has_own_alarm)
		tl_text_printf(&t, "there, unlike here: %s; all in all ", slow->verdict);
	tl_text_puts(&t, out->verdict);
	if (has_effect)
		tl_text_printf(&t, ": %+.1f %% (95 %% CI %+.1f to %+.1f %%), p %.2g",
			       100 * (out->ratio - 1), 100 * (out->ratio_low - 1),
			       100 * (out->ratio_high - 1), out->p);
	if (good->steps_per_row == 1 && slow->steps_per_row == 1) {
		tl_text_printf(&t, "; %zu and %zu steps", out->good_count, out->slow_count);
	} else {
		tl_text_puts(&t, "; ");
		say_count(&t, good, out->good_count);
		tl_text_puts(&t, " and ");
		say_count(&t, slow, out->slow_count);
	}
	say_what_medians_hide(&t, out);
	for (size_t i = 0; i < out->slowest_count; i++) {
		const struct tl_step *x = &slow->steps[out->slowest[i]];

		tl_text_puts(&t, i ? ", " : "; slowest there: ");
		if (x->count > 1)
			tl_text_printf(&t, "%lld-", (long long)tl_step_first(x));
		tl_text_printf(&t, "%lld (%.4g ms)", (long long)x->number,
			       (double)x->duration_ns / 1e6);
	}
	if (!t.failed)
		tl_printable(out->says, sizeof(out->says), t.data, t.length);
	tl_text_release(&t);
}

int tl_steps_compare(const struct tl_steps_series *good, const struct tl_steps_series *slow,
		     double min_change, struct tl_steps_comparison *out, struct tl_error *err)
{
	struct tl_comparison c;
	double *a = durations(good, err), *b = durations(slow, err);
	int ret = a && b ? tl_compare_series(&c, a, good->count, b, slow->count, NULL, err)
			 : TL_NOMEM;

	double mean_a = a ? tl_mean(a, good->count) : NAN,
	       mean_b = b ? tl_mean(b, slow->count) : NAN;

	free(a);
	free(b);
	if (ret < 0)
		return ret;
	*out = (struct tl_steps_comparison) {
		.verdict = tl_comparison_verdict_name(c.verdict),
		.good_count = c.good_count,
		.slow_count = c.slow_count,
		.good_left_out = c.good_left_out,
		.slow_left_out = c.slow_left_out,
		.good_median_ns = c.good_median,
		.slow_median_ns = c.slow_median,
		.good_mean_ns = mean_a,
		.slow_mean_ns = mean_b,
		.has_own_alarm = slow->is_alarm && !good->is_alarm,
		.ratio = c.hl_ratio,
		.ratio_low = c.hl_low,
		.ratio_high = c.hl_high,
		.p = c.p,
		.cliff = c.cliff,
		.smallest_p = c.smallest_p,
		.method = method_name(c.p_method),
	};
	out->is_alarm = out->has_own_alarm ||
			(c.verdict == TL_COMPARISON_SLOWER && c.hl_ratio - 1 >= min_change);
	find_slowest(slow, out);
	say_comparison(good, slow, out);
	return TL_OK;
}
