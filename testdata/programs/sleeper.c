/*
 * sleeper.c - off-CPU time of known length: `sleeper ROUNDS`. Two threads hand a token to each other
 * through futexes: the one sleeps NAP_US below nap_odd or nap_even, then wakes the other, which
 * burns a little and answers. Every wait has a stack that says which it is.
 */
#include "tiny.h"

#define NAP_US	4000
#define BURN_US 300

static int token; /* 0: the napper's turn, 1: the answerer's, 2: over */
static volatile unsigned long sink;

NOINLINE void burn_us(long us)
{
	int64_t end = tiny_cpu_ns() + us * 1000;

	while (tiny_cpu_ns() < end)
		sink++;
}

NOINLINE void wait_while(int value)
{
	while (__atomic_load_n(&token, __ATOMIC_ACQUIRE) == value)
		SYS6(SYS_futex, &token, FUTEX_WAIT, value, 0, 0, 0);
}

NOINLINE void hand_over(int value)
{
	__atomic_store_n(&token, value, __ATOMIC_RELEASE);
	SYS6(SYS_futex, &token, FUTEX_WAKE, 1, 0, 0, 0);
	sink++;
}

NOINLINE void nap_even(void)
{
	tiny_sleep_us(NAP_US);
	sink++;
}

NOINLINE void nap_odd(void)
{
	tiny_sleep_us(2 * NAP_US);
	sink++;
}

NOINLINE void answer(void *unused)
{
	(void)unused;
	tiny_name("answerer");
	for (;;) {
		wait_while(0);
		if (__atomic_load_n(&token, __ATOMIC_ACQUIRE) == 2)
			return;
		burn_us(BURN_US);
		hand_over(0);
	}
}

static struct tiny_task task;

int tiny_main(int argc, char **argv)
{
	long rounds = argc > 1 ? tiny_number(argv[1]) : 6;

	tiny_name("napper");
	tiny_spawn(&task, answer, NULL);
	for (long i = 0; i < rounds; i++) {
		if (i & 1)
			nap_odd();
		else
			nap_even();
		burn_us(BURN_US);
		hand_over(1);
		wait_while(1);
	}
	hand_over(2);
	tiny_join(&task);
	return 0;
}
