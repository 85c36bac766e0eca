/*
 * thp_model_test.c - verdicts over planted causes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "near_test.h"
#include "thp_model.h"

#define N 200

/* Ten slow steps behind each of three checkpoints; mechanisms hold what a test puts there. */
struct plant {
	double duration[N], activity[N], direct[N], stolen[N], lock[N];
	bool is_checkpoint[N];
};

static struct tl_thp_steps steps_of(const struct plant *p, unsigned sees)
{
	return (struct tl_thp_steps) { .n = N,
				       .duration = p->duration,
				       .activity = p->activity,
				       .direct = p->direct,
				       .stolen = p->stolen,
				       .lock = p->lock,
				       .is_checkpoint = p->is_checkpoint,
				       .sees = sees };
}

static bool is_slow(size_t i)
{
	return i % 60 >= 40 && i % 60 < 50 && i < 180;
}

static double dose(size_t i)
{
	return 0.2 + 0.02 * (double)(i % 7);
}

static void plant_slow_steps(struct plant *p)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < N; i++) {
		p->duration[i] = 1 + 0.005 * sin((double)(i * i) * 0.7 + (double)i);
		if (is_slow(i))
			p->duration[i] += dose(i);
		p->is_checkpoint[i] = is_slow(i + 1) && !is_slow(i);
	}
}

static struct tl_thp_model judge(const struct plant *p, unsigned sees)
{
	struct tl_thp_steps steps = steps_of(p, sees);
	struct tl_thp_model m;

	assert_int_equal(tl_thp_model(&m, &steps, NULL), TL_OK);
	return m;
}

static void lock_time_that_fills_the_excess_is_confirmed(void **state)
{
	struct tl_thp_model m;
	struct plant p;

	(void)state;
	plant_slow_steps(&p);
	for (size_t i = 0; i < N; i++) {
		p.activity[i] = is_slow(i);
		p.lock[i] = is_slow(i) ? dose(i) : 0;
	}
	m = judge(&p, TL_THP_SEES_ALL);
	assert_int_equal(m.verdict, TL_THP_CONFIRMED);
	assert_int_equal(m.slow_count, 30);
	assert_near(m.share, 1, 0.02);
	assert_near(m.lock_excess, m.explained, 1e-12);
	assert_true(m.direct_excess == 0 && m.stolen_excess == 0);
	assert_true(m.has_dose && m.dose_cliff == 1);
}

static void third_of_the_excess_contributes(void **state)
{
	struct tl_thp_model m;
	struct plant p;

	(void)state;
	plant_slow_steps(&p);
	for (size_t i = 0; i < N; i++)
		p.direct[i] = is_slow(i) ? dose(i) / 3 : 0;
	m = judge(&p, TL_THP_SEES_ALL);
	assert_int_equal(m.verdict, TL_THP_CONTRIBUTES);
	assert_near(m.share, 1.0 / 3, 0.01);
	assert_true(m.share_low < 1.0 / 3 && 1.0 / 3 < m.share_high);
}

static void daemon_that_costs_the_thread_nothing_explains_little(void **state)
{
	struct tl_thp_model m;
	struct plant p;

	(void)state;
	plant_slow_steps(&p);
	for (size_t i = 0; i < N; i++)
		p.activity[i] = is_slow(i) ? dose(i) : 0;
	m = judge(&p, TL_THP_SEES_ALL);
	assert_int_equal(m.verdict, TL_THP_EXPLAINS_LITTLE);
	assert_true(m.share == 0 && m.rho > 0.5 && m.p_rho < 0.05);
}

static void no_activity_refutes_what_was_recorded(void **state)
{
	struct plant p;

	(void)state;
	plant_slow_steps(&p);
	assert_int_equal(judge(&p, TL_THP_SEES_ALL).verdict, TL_THP_NO_ACTIVITY);
}

static void nothing_recorded_refutes_nothing(void **state)
{
	struct plant p;

	(void)state;
	plant_slow_steps(&p);
	assert_int_equal(judge(&p, 0).verdict, TL_THP_NOT_OBSERVABLE);
}

/* The activity is that of the offset: a checkpoint before it explains it as well. */
static void same_activity_behind_every_checkpoint_is_undecided(void **state)
{
	struct tl_thp_model m;
	struct plant p;

	(void)state;
	plant_slow_steps(&p);
	for (size_t i = 0; i < N; i++)
		p.activity[i] = is_slow(i) ? 1 + (double)(i % 60) / 10 : 0;
	m = judge(&p, TL_THP_SEES_ACTIVITY);
	assert_true(m.p_rho < 0.05);
	assert_int_equal(m.verdict, TL_THP_UNDECIDED);
}

/* At every offset the checkpoint with more activity has the slower step. */
static void activity_that_follows_the_dose_is_possible(void **state)
{
	struct tl_thp_model m;
	struct plant p;

	(void)state;
	plant_slow_steps(&p);
	for (size_t i = 0; i < N; i++)
		p.activity[i] = is_slow(i) ? dose(i) : 0;
	m = judge(&p, TL_THP_SEES_ACTIVITY);
	assert_int_equal(m.verdict, TL_THP_POSSIBLE);
	assert_true(m.within_offset.p < 0.01);
	assert_int_equal(m.within_offset.largest, 3);
}

static void without_slow_steps_there_is_nothing_to_explain(void **state)
{
	struct tl_thp_model m;
	struct plant p;

	(void)state;
	plant_slow_steps(&p);
	for (size_t i = 0; i < N; i++)
		p.duration[i] = 1 + 0.005 * sin((double)(i * i) * 0.7 + (double)i);
	m = judge(&p, TL_THP_SEES_ALL);
	assert_int_equal(m.verdict, TL_THP_NO_SLOW_STEPS);
	assert_int_equal(m.slow_count, 0);
}

static void negative_time_is_refused(void **state)
{
	struct tl_thp_steps steps;
	struct tl_thp_model m;
	struct tl_error err = { 0 };
	struct plant p;

	(void)state;
	plant_slow_steps(&p);
	p.lock[4] = -0.5;
	steps = steps_of(&p, TL_THP_SEES_ALL);
	assert_int_equal(tl_thp_model(&m, &steps, &err), TL_USAGE);
	assert_string_equal(err.text, "lock time of step 4 is -0.5, expected 0 or more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_time_that_fills_the_excess_is_confirmed),
		cmocka_unit_test(third_of_the_excess_contributes),
		cmocka_unit_test(daemon_that_costs_the_thread_nothing_explains_little),
		cmocka_unit_test(no_activity_refutes_what_was_recorded),
		cmocka_unit_test(nothing_recorded_refutes_nothing),
		cmocka_unit_test(same_activity_behind_every_checkpoint_is_undecided),
		cmocka_unit_test(activity_that_follows_the_dose_is_possible),
		cmocka_unit_test(without_slow_steps_there_is_nothing_to_explain),
		cmocka_unit_test(negative_time_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
