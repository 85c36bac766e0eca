/*
 * tiny.h - the little that a freestanding program needs: system calls, threads, arguments, time.
 *
 * Programs built on it link no library at all, so that the binary that is kept beside a recording
 * is a few kilobytes and every frame of a stack has a name that any machine can look up.
 * Build: see scripts/record_testdata.sh.
 */
#ifndef TINY_H
#define TINY_H

#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/time.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NOINLINE __attribute__((noinline, noclone))

static inline long tiny_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define SYS6(nr, a, b, c, d, e, f) \
	tiny_syscall(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define SYS3(nr, a, b, c) SYS6(nr, a, b, c, 0, 0, 0)
#define SYS1(nr, a)	  SYS6(nr, a, 0, 0, 0, 0, 0)

/* main of every program; _start below calls it and exits the whole process with its result */
int tiny_main(int argc, char **argv);

__asm__(".text\n"
	".globl _start\n"
	".type _start,@function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"	xor %ebp,%ebp\n"
	"	mov (%rsp),%rdi\n"
	"	lea 8(%rsp),%rsi\n"
	"	call tiny_main\n"
	"	mov %eax,%edi\n"
	"	mov $231,%eax\n" /* exit_group */
	"	syscall\n"
	"	hlt\n"
	".cfi_endproc\n"
	".size _start,.-_start\n");

/*
 * tiny_thread(flags, stack_top, start, argument, child_tid): a thread that runs start(argument)
 * and exits. Frame pointer and CFI both end the chain at thread_start.
 */
long tiny_thread(unsigned long flags, void *stack_top, void (*start)(void *), void *argument,
		 int *child_tid);

__asm__(".text\n"
	".globl tiny_thread\n"
	".type tiny_thread,@function\n"
	"tiny_thread:\n"
	".cfi_startproc\n"
	"	push %r12\n"
	".cfi_adjust_cfa_offset 8\n"
	"	push %r13\n"
	".cfi_adjust_cfa_offset 8\n"
	"	mov %rdx,%r12\n"
	"	mov %rcx,%r13\n"
	"	mov %r8,%r10\n" /* child_tid, cleared and woken when the thread exits */
	"	xor %edx,%edx\n"
	"	xor %r8d,%r8d\n"
	"	mov $56,%eax\n" /* clone */
	"	syscall\n"
	"	test %eax,%eax\n"
	"	jz thread_start\n"
	"	pop %r13\n"
	".cfi_adjust_cfa_offset -8\n"
	"	pop %r12\n"
	".cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size tiny_thread,.-tiny_thread\n"
	".type thread_start,@function\n"
	"thread_start:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"	xor %ebp,%ebp\n"
	"	mov %r13,%rdi\n"
	"	call *%r12\n"
	"	xor %edi,%edi\n"
	"	mov $60,%eax\n" /* exit */
	"	syscall\n"
	"	hlt\n"
	".cfi_endproc\n"
	".size thread_start,.-thread_start\n");

struct tiny_task {
	int tid; /* becomes 0 when the thread is gone */
	void (*start)(void *);
	void *argument;
	uint8_t stack[16384] __attribute__((aligned(16)));
};

static inline void tiny_spawn(struct tiny_task *task, void (*start)(void *), void *argument)
{
	unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;

	task->tid = -1;
	tiny_thread(flags, task->stack + sizeof(task->stack), start, argument, &task->tid);
}

static inline void tiny_join(struct tiny_task *task)
{
	for (;;) {
		int tid = __atomic_load_n(&task->tid, __ATOMIC_ACQUIRE);

		if (tid == 0)
			return;
		SYS6(SYS_futex, &task->tid, FUTEX_WAIT, tid, 0, 0, 0);
	}
}

static inline int64_t tiny_clock_ns(long clock)
{
	long ts[2] = { 0, 0 };

	SYS3(SYS_clock_gettime, clock, ts, 0);
	return ts[0] * 1000000000L + ts[1];
}

static inline int64_t tiny_now_ns(void)
{
	return tiny_clock_ns(1 /* CLOCK_MONOTONIC */);
}

/* CPU time of the calling thread: work is measured in this, so that a busy machine does not cut it */
static inline int64_t tiny_cpu_ns(void)
{
	return tiny_clock_ns(3 /* CLOCK_THREAD_CPUTIME_ID */);
}

static inline void tiny_sleep_us(long us)
{
	long ts[2] = { us / 1000000, us % 1000000 * 1000 };

	SYS3(SYS_nanosleep, ts, 0, 0);
}

static inline void tiny_name(const char *name)
{
	SYS3(SYS_prctl, PR_SET_NAME, name, 0);
}

static inline size_t tiny_strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

static inline void tiny_print(const char *s)
{
	SYS3(SYS_write, 1, s, tiny_strlen(s));
}

static inline long tiny_number(const char *s)
{
	long n = 0;

	while (*s >= '0' && *s <= '9')
		n = n * 10 + (*s++ - '0');
	return n;
}

/* Writes `n` in base 10; returns the end. */
static inline char *tiny_format(char *out, unsigned long n)
{
	char digits[24];
	int i = 0;

	do {
		digits[i++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	while (i)
		*out++ = digits[--i];
	*out = 0;
	return out;
}

#ifdef __cplusplus
}
#endif
#endif
