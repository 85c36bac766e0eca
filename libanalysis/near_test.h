/*
 * near_test.h - private to tests: real numbers that are as good as equal. cmocka's own comparison takes NaN
 * for anything, and has 24 bits.
 */
#ifndef TL_NEAR_TEST_H
#define TL_NEAR_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline int is_near(double found, double expected, double tolerance)
{
	if (found == expected || fabs(found - expected) <= tolerance)
		return 1;
	print_error("%.17g is not %.17g within %g\n", found, expected, tolerance);
	return 0;
}

#define assert_near(found, expected, tolerance) \
	assert_true(is_near((found), (expected), (tolerance)))

#endif
