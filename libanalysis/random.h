/*
 * random.h - private: the one source of randomness of the analyses, splitmix64 from a fixed seed,
 * so that the same case gives the same answer on every machine and every day.
 *
 * Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014).
 */
#ifndef TL_RANDOM_H
#define TL_RANDOM_H

#include <stdint.h>

struct tl_random {
	uint64_t state; /* start it with a seed */
};

static inline uint64_t tl_random_u64(struct tl_random *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* 0 ... n-1: the upper half of the product; the bias is below n / 2^64. */
static inline uint32_t tl_random_below(struct tl_random *rng, uint32_t n)
{
	uint64_t r = tl_random_u64(rng);

	return (uint32_t)(((r >> 32) * n + ((r & UINT32_MAX) * n >> 32)) >> 32);
}

/* 0 <= u < 1, in steps of 2^-53. */
static inline double tl_random_unit(struct tl_random *rng)
{
	return (double)(tl_random_u64(rng) >> 11) * (1.0 / 9007199254740992.0);
}

#endif
