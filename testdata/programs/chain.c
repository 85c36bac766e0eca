/*
 * chain.c - call chains of known shape: `chain MS [THREADS [DEPTH]]` burns MS milliseconds of CPU
 * in each thread, two thirds of it below chain_odd, with DEPTH frames of descend on top.
 */
#include "tiny.h"

static volatile unsigned long sink;
static int64_t budget_ns;
static long depth_wanted;

NOINLINE void burn(int64_t ns)
{
	int64_t end = tiny_cpu_ns() + ns;

	do {
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i * 2654435761u;
	} while (tiny_cpu_ns() < end);
}

NOINLINE void leaf_even(int64_t ns)
{
	burn(ns);
	sink++;
}

NOINLINE void leaf_odd(int64_t ns)
{
	burn(2 * ns);
	sink++;
}

NOINLINE void descend(long depth, int64_t ns)
{
	if (depth > 0) {
		descend(depth - 1, ns);
	} else {
		leaf_even(ns);
		leaf_odd(ns);
	}
	sink++; /* no tail call */
}

NOINLINE void work(void *name)
{
	int64_t end = tiny_cpu_ns() + budget_ns;

	if (name)
		tiny_name((const char *)name);
	while (tiny_cpu_ns() < end)
		descend(depth_wanted, 1000000);
	sink++;
}

static struct tiny_task tasks[16];
static char names[16][16];

int tiny_main(int argc, char **argv)
{
	long threads = argc > 2 ? tiny_number(argv[2]) : 0;

	budget_ns = (argc > 1 ? tiny_number(argv[1]) : 50) * 1000000L;
	depth_wanted = argc > 3 ? tiny_number(argv[3]) : 2;
	for (long i = 0; i < threads && i < 16; i++) {
		const char *base = "worker ";
		char *out = names[i];

		while (*base)
			*out++ = *base++;
		tiny_format(out, (unsigned long)i);
		tiny_spawn(&tasks[i], work, names[i]);
	}
	work(NULL);
	for (long i = 0; i < threads && i < 16; i++)
		tiny_join(&tasks[i]);
	return 0;
}
