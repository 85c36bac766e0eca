/*
 * steps_model_test.c - phases and episodes of series whose story is known because it was written
 * into them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "near_test.h"
#include "steps_model.h"

#define N 120

/* About one second, within half a percent, all values different, no trend. */
static void calm(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = 1 + 0.005 * sin((double)(i * i) * 0.7 + (double)i);
}

static void multiply(double *x, size_t start, size_t end, double factor)
{
	for (size_t i = start; i < end; i++)
		x[i] *= factor;
}

static struct tl_steps_model judge(const double *x, size_t n)
{
	struct tl_steps_model m;

	assert_int_equal(tl_steps_model(&m, x, n, NULL, NULL), TL_OK);
	return m;
}

static void assert_phase(const struct tl_steps_model *m, size_t start, size_t end,
			 enum tl_phase phase)
{
	for (size_t i = start; i < end; i++)
		assert_string_equal(tl_phase_name(m->phases[i]), tl_phase_name(phase));
}

static void calm_steps_are_all_baseline(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	m = judge(x, N);
	assert_int_equal(m.verdict, TL_STEPS_NO_CHANGE);
	assert_int_equal(m.episode_count, 0);
	assert_int_equal(m.baseline_count, N);
	assert_phase(&m, 0, N, TL_PHASE_BASELINE);
	tl_steps_model_release(&m);
}

static void six_slow_steps_are_a_transient_regression(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 60, 66, 1.3);
	m = judge(x, N);
	assert_int_equal(m.verdict, TL_STEPS_TRANSIENT);
	assert_int_equal(m.episode_count, 1);
	assert_int_equal(m.episodes[0].kind, TL_EPISODE_TRANSIENT);
	assert_int_equal(m.episodes[0].start, 60);
	assert_int_equal(m.episodes[0].end, 66);
	assert_int_equal(m.episodes[0].confidence, TL_CONFIDENCE_HIGH);
	assert_phase(&m, 0, 60, TL_PHASE_BASELINE);
	assert_phase(&m, 60, 66, TL_PHASE_REGRESSION);
	assert_phase(&m, 66, N, TL_PHASE_BASELINE);
	tl_steps_model_release(&m);
}

static void cost_is_the_time_above_the_baseline(void **state)
{
	struct tl_steps_model m;
	double x[N], time = 0;

	(void)state;
	calm(x, N);
	multiply(x, 60, 66, 1.3);
	for (int i = 60; i < 66; i++)
		time += x[i];
	m = judge(x, N);
	assert_near(m.episodes[0].excess_time, time - 6 * m.baseline, 1e-12);
	assert_near(m.episodes[0].excess_time, 1.8, 0.03);
	assert_true(m.episodes[0].is_recovered && m.episodes[0].has_recovery);
	assert_int_equal(m.episodes[0].recover_steps, 6);
	assert_near(m.episodes[0].recover_time, time, 1e-12);
	tl_steps_model_release(&m);
}

static void effect_has_an_interval_around_the_truth(void **state)
{
	const struct tl_episode_tests *t;
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 60, 66, 1.3);
	m = judge(x, N);
	t = &m.episodes[0].tests;
	assert_true(m.episodes[0].has_tests);
	assert_int_equal(t->local_count, 60);
	assert_true(t->hl_low_pct < 30 && 30 < t->hl_high_pct);
	assert_near(t->hl_pct, 30, 1);
	assert_int_equal(t->p_method, TL_TEST_EXACT);
	assert_true(t->cliff == 1);
	tl_steps_model_release(&m);
}

/* 0.3 exp(-i/2.5): half of 30 % is left after 1.7 steps, 2.5 % after 6. */
static void decaying_episode_is_split_into_regression_and_recovery(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	for (int i = 0; i < 12; i++)
		x[50 + i] *= 1 + 0.3 * exp(-i / 2.5);
	m = judge(x, N);
	assert_int_equal(m.episode_count, 1);
	assert_int_equal(m.episodes[0].regression_end, 52);
	assert_phase(&m, 50, 52, TL_PHASE_REGRESSION);
	assert_phase(&m, 52, 55, TL_PHASE_RECOVERY);
	assert_true(m.episodes[0].has_decay);
	assert_near(m.episodes[0].decay.tau_steps, 2.5, 0.4);
	assert_near(m.episodes[0].decay.half_life_steps, m.episodes[0].decay.tau_steps * log(2),
		    1e-12);
	tl_steps_model_release(&m);
}

/* A checkpoint of four times a step, then 20 % for six steps. */
static void checkpoint_step_does_not_hide_the_regression_behind_it(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 59, 60, 4);
	multiply(x, 60, 66, 1.2);
	m = judge(x, N);
	assert_int_equal(m.episode_count, 1);
	assert_int_equal(m.episodes[0].start, 59);
	assert_int_equal(m.episodes[0].end, 66);
	assert_int_equal(m.episodes[0].peak_step, 59);
	assert_int_equal(m.episodes[0].regression_end, 66);
	tl_steps_model_release(&m);
}

static void two_slow_steps_are_a_spike_and_no_alarm(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 60, 62, 1.5);
	m = judge(x, N);
	assert_int_equal(m.verdict, TL_STEPS_ISOLATED);
	assert_int_equal(m.episode_count, 1);
	assert_int_equal(m.episodes[0].kind, TL_EPISODE_SPIKE);
	assert_int_equal(m.episodes[0].confidence, TL_CONFIDENCE_UNTESTED);
	assert_phase(&m, 60, 62, TL_PHASE_SPIKE);
	tl_steps_model_release(&m);
}

static void slow_until_the_end_is_a_shift(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 70, N, 1.2);
	m = judge(x, N);
	assert_int_equal(m.verdict, TL_STEPS_SHIFT);
	assert_int_equal(m.episodes[0].start, 70);
	assert_int_equal(m.episodes[0].end, N);
	assert_false(m.episodes[0].is_recovered);
	assert_phase(&m, 70, N, TL_PHASE_SHIFTED);
	tl_steps_model_release(&m);
}

static void three_slow_steps_at_the_end_are_ongoing(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, N - 3, N, 1.3);
	m = judge(x, N);
	assert_int_equal(m.episodes[0].kind, TL_EPISODE_ONGOING);
	assert_phase(&m, N - 3, N, TL_PHASE_REGRESSION);
	tl_steps_model_release(&m);
}

static void faster_steps_are_an_improvement(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 80, N, 0.85);
	m = judge(x, N);
	assert_int_equal(m.verdict, TL_STEPS_IMPROVEMENT);
	assert_int_equal(m.episodes[0].sign, -1);
	assert_phase(&m, 80, N, TL_PHASE_IMPROVED);
	tl_steps_model_release(&m);
}

static void change_below_the_smallest_worth_reporting_is_none(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 60, N, 1.03);
	m = judge(x, N);
	assert_int_equal(m.verdict, TL_STEPS_NO_CHANGE);
	assert_int_equal(m.segment_count, 2); /* seen, but not called anything */
	tl_steps_model_release(&m);
}

static void smallest_change_can_be_chosen(void **state)
{
	static const struct tl_model_options sharp = { 0.02, TL_KAPPA };
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 60, N, 1.03);
	assert_int_equal(tl_steps_model(&m, x, N, &sharp, NULL), TL_OK);
	assert_int_equal(m.verdict, TL_STEPS_SHIFT);
	tl_steps_model_release(&m);
}

static void slow_first_steps_are_warm_up(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 0, 7, 2);
	m = judge(x, N);
	assert_int_equal(m.warmup_count, 7);
	assert_int_equal(m.verdict, TL_STEPS_NO_CHANGE);
	assert_phase(&m, 0, 7, TL_PHASE_WARMUP);
	tl_steps_model_release(&m);
}

static void slow_steps_at_equal_distance_are_periodic(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	for (int i = 9; i < N; i += 20)
		x[i] *= 2.5;
	m = judge(x, N);
	assert_int_equal(m.verdict, TL_STEPS_PERIODIC);
	assert_true(m.has_period);
	assert_int_equal(m.period.period, 20);
	assert_int_equal(m.period.phase, 9);
	assert_int_equal(m.period.member_count, 6);
	assert_true(m.period.coverage == 1);
	assert_phase(&m, 29, 30, TL_PHASE_PERIODIC);
	tl_steps_model_release(&m);
}

static void steps_that_slow_down_evenly_are_a_drift(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	for (int i = 0; i < N; i++)
		x[i] *= exp(0.3 * i / (N - 1));
	m = judge(x, N);
	assert_int_equal(m.verdict, TL_STEPS_DRIFT);
	assert_near(m.drift.total_ratio, expm1(0.3), 0.01);
	tl_steps_model_release(&m);
}

static void unit_does_not_matter(void **state)
{
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	multiply(x, 60, 66, 1.3);
	multiply(x, 0, N, 1e9);
	m = judge(x, N);
	assert_int_equal(m.verdict, TL_STEPS_TRANSIENT);
	assert_near(m.baseline * 1e-9, 1, 0.01);
	tl_steps_model_release(&m);
}

static void few_steps_are_said_to_be_few(void **state)
{
	static const double x[] = { 3, 1, 2 };
	struct tl_steps_model m = judge(x, 3);

	(void)state;
	assert_int_equal(m.verdict, TL_STEPS_TOO_FEW);
	assert_true(m.baseline == 2);
	assert_int_equal(m.episode_count, 0);
	tl_steps_model_release(&m);
}

static void no_steps_are_no_trouble(void **state)
{
	struct tl_steps_model m = judge(NULL, 0);

	(void)state;
	assert_int_equal(m.verdict, TL_STEPS_TOO_FEW);
	tl_steps_model_release(&m);
}

/* sigma 1.4826 * 0.005; the threshold for five is 13.2 sigma = 10 %. */
static void outlier_among_five_steps_is_a_spike(void **state)
{
	static const double x[] = { 1.00, 1.01, 0.99, 1.005, 3 };
	struct tl_steps_model m = judge(x, 5);

	(void)state;
	assert_int_equal(m.episode_count, 1);
	assert_int_equal(m.episodes[0].start, 4);
	assert_near(m.episodes[0].peak_pct, 100 * (3 / 1.005 - 1), 1e-9);
	assert_phase(&m, 4, 5, TL_PHASE_SPIKE);
	tl_steps_model_release(&m);
}

static void duration_that_is_none_is_refused(void **state)
{
	static const double bad[] = { NAN, INFINITY, 0, -2 };
	struct tl_steps_model m;
	double x[N];

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct tl_error err = { 0 };

		calm(x, N);
		x[17] = bad[i];
		assert_int_equal(tl_steps_model(&m, x, N, NULL, &err), TL_USAGE);
		assert_non_null(strstr(err.text, "duration 17 is "));
		tl_steps_model_release(&m);
	}
}

static void senseless_options_are_refused(void **state)
{
	static const struct tl_model_options bad = { -1, 3 };
	struct tl_steps_model m;
	double x[N];

	(void)state;
	calm(x, N);
	assert_int_equal(tl_steps_model(&m, x, N, &bad, NULL), TL_USAGE);
	tl_steps_model_release(&m);
}

/* sigma 0.05, 200 steps, 6 in a row: exp(0.05 sqrt(6 ln 200 / 6)) - 1. */
static void what_could_have_been_seen_depends_on_noise_and_length(void **state)
{
	struct tl_steps_model m = { .n = 200, .min_change = 0.05, .sigma_log = 0.05 };

	(void)state;
	assert_near(tl_steps_visible_ratio(&m, 6), expm1(0.05 * sqrt(log(200))), 1e-12);
	assert_true(tl_steps_visible_ratio(&m, 200) == 0.05);
	m.n = 7;
	assert_true(isnan(tl_steps_visible_ratio(&m, 6)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calm_steps_are_all_baseline),
		cmocka_unit_test(six_slow_steps_are_a_transient_regression),
		cmocka_unit_test(cost_is_the_time_above_the_baseline),
		cmocka_unit_test(effect_has_an_interval_around_the_truth),
		cmocka_unit_test(decaying_episode_is_split_into_regression_and_recovery),
		cmocka_unit_test(checkpoint_step_does_not_hide_the_regression_behind_it),
		cmocka_unit_test(two_slow_steps_are_a_spike_and_no_alarm),
		cmocka_unit_test(slow_until_the_end_is_a_shift),
		cmocka_unit_test(three_slow_steps_at_the_end_are_ongoing),
		cmocka_unit_test(faster_steps_are_an_improvement),
		cmocka_unit_test(change_below_the_smallest_worth_reporting_is_none),
		cmocka_unit_test(smallest_change_can_be_chosen),
		cmocka_unit_test(slow_first_steps_are_warm_up),
		cmocka_unit_test(slow_steps_at_equal_distance_are_periodic),
		cmocka_unit_test(steps_that_slow_down_evenly_are_a_drift),
		cmocka_unit_test(unit_does_not_matter),
		cmocka_unit_test(few_steps_are_said_to_be_few),
		cmocka_unit_test(no_steps_are_no_trouble),
		cmocka_unit_test(outlier_among_five_steps_is_a_spike),
		cmocka_unit_test(duration_that_is_none_is_refused),
		cmocka_unit_test(senseless_options_are_refused),
		cmocka_unit_test(what_could_have_been_seen_depends_on_noise_and_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
