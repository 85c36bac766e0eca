/*
 * unwind.c - stacks that only .eh_frame can walk: no frame pointer, frames of many sizes, a function
 * that realigns its stack and one with a variable-sized array; two small functions are inlined.
 * `unwind MS` burns MS milliseconds.
 */
#include "tiny.h"

static volatile unsigned long sink;

static inline __attribute__((always_inline)) void inlined_step(unsigned long i)
{
	sink += i * 2654435761u;
}

static inline __attribute__((always_inline)) void inlined_loop(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		inlined_step(i);
}

NOINLINE void bottom(unsigned long n)
{
	inlined_loop(n);
	sink++;
}

NOINLINE void plain(unsigned long n)
{
	bottom(n);
	sink++;
}

NOINLINE void large_frame(unsigned long n)
{
	volatile unsigned char room[700];

	room[n % sizeof(room)] = 1;
	plain(n);
	sink += room[0];
}

NOINLINE void realigned(unsigned long n)
{
	volatile unsigned char room[64] __attribute__((aligned(64)));

	room[n % sizeof(room)] = 1;
	large_frame(n);
	sink += room[0];
}

NOINLINE void variable(unsigned long n, size_t size)
{
	volatile unsigned char room[size];

	room[n % size] = 1;
	realigned(n);
	sink += room[0];
}

NOINLINE void recurse(int depth, unsigned long n)
{
	if (depth)
		recurse(depth - 1, n);
	else
		variable(n, 100 + n % 7);
	sink++;
}

int tiny_main(int argc, char **argv)
{
	int64_t end = tiny_cpu_ns() + (argc > 1 ? tiny_number(argv[1]) : 20) * 1000000L;
	int depth = 0;

	while (tiny_cpu_ns() < end)
		recurse(depth++ % 3, 100000);
	return 0;
}
