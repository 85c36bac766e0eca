/*
 * distribution_test.c - tails and quantiles against printed tables and closed forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "distribution.h"
#include "near_test.h"

static void normal_quantile_is_that_of_the_tables(void **state)
{
	(void)state;
	assert_near(tl_normal_quantile(0.975), 1.959963984540054, 1e-12);
	assert_near(tl_normal_quantile(0.5), 0, 1e-12);
	assert_near(tl_normal_quantile(0.01), -2.3263478740408408, 1e-12);
}

static void student_quantile_is_that_of_the_tables(void **state)
{
	(void)state;
	assert_near(tl_student_quantile(0.975, 5), 2.5705818356, 1e-9);
	assert_near(tl_student_quantile(0.975, 2), 4.3026527297, 1e-9);
	assert_near(tl_student_quantile(0.95, 30), 1.6972608865, 1e-9);
	assert_near(tl_student_quantile(0.995, 1), 63.6567411629, 1e-7);
}

static void student_tail_is_symmetric(void **state)
{
	(void)state;
	assert_near(tl_student_tail(0, 3), 0.5, 1e-15);
	assert_near(tl_student_tail(-2, 7) + tl_student_tail(2, 7), 1, 1e-15);
}

/* I_x(1, 1) = x, I_x(2, 1) = x^2, I_x(1, b) = 1 - (1-x)^b, I_.5(a, a) = 1/2. */
static void beta_ratio_has_its_closed_forms(void **state)
{
	(void)state;
	assert_near(tl_beta_ratio(1, 1, 0.3), 0.3, 1e-14);
	assert_near(tl_beta_ratio(2, 1, 0.3), 0.09, 1e-14);
	assert_near(tl_beta_ratio(1, 5, 0.9), 1 - 1e-5, 1e-14);
	assert_near(tl_beta_ratio(7.5, 7.5, 0.5), 0.5, 1e-14);
	assert_true(tl_beta_ratio(2, 3, 0) == 0 && tl_beta_ratio(2, 3, 1) == 1);
}

static void binomial_tail_adds_up_terms(void **state)
{
	(void)state;
	assert_near(tl_binomial_tail(4, 0.5, 3), 5.0 / 16, 1e-15);
	assert_near(tl_binomial_tail(4, 0.5, 0), 1, 1e-15);
	assert_true(tl_binomial_tail(4, 0.5, 5) == 0);
}

static void certain_events_always_happen(void **state)
{
	(void)state;
	assert_true(tl_binomial_tail(9, 1, 9) == 1 && tl_binomial_tail(9, 1, 3) == 1);
	assert_true(tl_binomial_tail(2000, 1, 900) == 1);
}

/* 1/2 + P(X = 1000)/2, and P = (1 - 1/8000) / sqrt(1000 pi) by Stirling. */
static void binomial_tail_survives_coefficients_beyond_double(void **state)
{
	(void)state;
	assert_near(tl_binomial_tail(2000, 0.5, 1000),
		    0.5 + 0.5 * (1 - 1.0 / 8000) / sqrt(1000 * acos(-1)), 1e-8);
}

static void choose_counts(void **state)
{
	(void)state;
	assert_true(tl_choose(5, 2) == 10 && tl_choose(5, 0) == 1 && tl_choose(2, 3) == 0);
	assert_true(tl_choose(50, 25) == 126410606437752.0);
	assert_true(isinf(tl_choose(5000, 2500)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal_quantile_is_that_of_the_tables),
		cmocka_unit_test(student_quantile_is_that_of_the_tables),
		cmocka_unit_test(student_tail_is_symmetric),
		cmocka_unit_test(beta_ratio_has_its_closed_forms),
		cmocka_unit_test(binomial_tail_adds_up_terms),
		cmocka_unit_test(certain_events_always_happen),
		cmocka_unit_test(binomial_tail_survives_coefficients_beyond_double),
		cmocka_unit_test(choose_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
