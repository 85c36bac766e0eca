/*
 * noops.c - system calls without effect: `noops N` asks for its process id N times, N times for a
 * file that is not there, and sleeps a moment in between.
 */
#include "tiny.h"

static volatile long sink;

NOINLINE void ask_pid(void)
{
	sink += SYS1(SYS_getppid, 0);
	sink++;
}

NOINLINE void ask_file(void)
{
	sink += SYS3(SYS_open, "/nonexistent/file", 0, 0);
	sink++;
}

int tiny_main(int argc, char **argv)
{
	long n = argc > 1 ? tiny_number(argv[1]) : 10;

	for (long i = 0; i < n; i++) {
		ask_pid();
		ask_file();
		tiny_sleep_us(200);
	}
	return 0;
}
