/*
 * select.h - private: the k-th smallest value of an array without sorting it, for any number type.
 */
#ifndef TL_SELECT_H
#define TL_SELECT_H

#include <stddef.h>

#include "random.h"

/*
 * Defines name(v, n, k): reorders v so that v[k] is what sorting would put there, smaller or equal
 * values before it, larger or equal ones behind. Hoare's selection. The pivot is drawn at random
 * (fixed seed) because recordings love the patterns that make a fixed choice quadratic: sorted,
 * organ pipe, all equal. Needs k < n < 2^32, and no NaN.
 */
#define TL_DEFINE_SELECT(name, type)                                                   \
	static void name(type *v, size_t n, size_t k)                                  \
	{                                                                              \
		struct tl_random rng = { n };                                          \
		ptrdiff_t low = 0, high = (ptrdiff_t)n - 1, at = (ptrdiff_t)k;         \
                                                                                       \
		while (low < high) {                                                   \
			uint32_t width = (uint32_t)(high - low + 1);                   \
			type pivot = v[low + (ptrdiff_t)tl_random_below(&rng, width)]; \
			ptrdiff_t i = low, j = high;                                   \
                                                                                       \
			while (i <= j) {                                               \
				while (v[i] < pivot)                                   \
					i++;                                           \
				while (pivot < v[j])                                   \
					j--;                                           \
				if (i <= j) {                                          \
					type swap = v[i];                              \
                                                                                       \
					v[i++] = v[j];                                 \
					v[j--] = swap;                                 \
				}                                                      \
			}                                                              \
			if (at <= j)                                                   \
				high = j;                                              \
			else if (at >= i)                                              \
				low = i;                                               \
			else                                                           \
				return;                                                \
		}                                                                      \
	}

#endif
