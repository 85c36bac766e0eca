/*
 * family.c - processes that come and go.
 *   family MS            fork two children that burn and exit; one calls execve on this program
 *   family child MS      what the second child becomes
 *   family reuse MS      (in a pid namespace of its own) two children one after the other with the
 *                        same process id but different names, by /proc/sys/kernel/ns_last_pid
 */
#include "tiny.h"

static volatile unsigned long sink;

NOINLINE void burn_ms(long ms)
{
	int64_t end = tiny_cpu_ns() + ms * 1000000;

	while (tiny_cpu_ns() < end)
		sink++;
}

NOINLINE void parent_work(long ms)
{
	burn_ms(ms);
	sink++;
}

NOINLINE void first_work(long ms)
{
	burn_ms(ms);
	sink++;
}

NOINLINE void second_work(long ms)
{
	burn_ms(ms);
	sink++;
}

static long fork_process(void)
{
	return SYS6(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0, 0);
}

static void wait_for(long pid)
{
	SYS6(SYS_wait4, pid, 0, 0, 0, 0, 0);
}

static void leave(void)
{
	SYS1(SYS_exit_group, 0);
}

static void set_last_pid(long pid)
{
	char text[24];
	long fd = SYS3(SYS_open, "/proc/sys/kernel/ns_last_pid", 1 /* O_WRONLY */, 0);
	char *end = tiny_format(text, (unsigned long)pid);

	SYS3(SYS_write, fd, text, end - text);
	SYS1(SYS_close, fd);
}

static int reuse(long ms)
{
	long first, second;

	first = fork_process();
	if (first == 0) {
		tiny_name("first life");
		first_work(ms);
		leave();
	}
	wait_for(first);
	set_last_pid(first - 1);
	second = fork_process();
	if (second == 0) {
		tiny_name("second life");
		second_work(ms);
		leave();
	}
	wait_for(second);
	return first == second ? 0 : 1;
}

int tiny_main(int argc, char **argv)
{
	long ms = argc > 1 ? tiny_number(argv[argc - 1]) : 20, child;

	if (argc > 2 && argv[1][0] == 'r')
		return reuse(ms);
	if (argc > 2) {
		second_work(ms);
		return 0;
	}
	child = fork_process();
	if (child == 0) {
		tiny_name("fork only");
		first_work(ms);
		leave();
	}
	wait_for(child);
	child = fork_process();
	if (child == 0) {
		char *args[] = { argv[0], (char *)"child", argv[argc - 1], NULL };
		char *env[] = { NULL };

		first_work(ms / 2);
		SYS3(SYS_execve, args[0], args, env);
		leave();
	}
	wait_for(child);
	parent_work(ms);
	return 0;
}
