/*
 * program.c - makes every kind of frame that an unwinder meets, without a C library: small frames,
 * frames of changing size, a call that does not return, a function without call frame information,
 * and a signal handler with its trampoline.
 */
static volatile unsigned long sink;
static volatile int handled;

static long call(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

/* What libc has as __restore_rt, with rules for rsp, rip and rbp as offsets into the ucontext. */
__asm__(".text\n"
	".cfi_startproc simple\n"
	".cfi_signal_frame\n"
	".cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06\n" /* CFA = *(rsp + 160) */
	".cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01\n"	/* rip at rsp + 168 */
	".cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0x00\n"	/* rbp at rsp + 120 */
	".cfi_escape 0x10, 3, 3, 0x77, 0x80, 0x01\n"	/* rbx at rsp + 128 */
	"nop\n"						/* rules begin before the label */
	"restorer:\n"
	"mov $15, %eax\n"
	"syscall\n"
	".cfi_endproc\n"
	/* No rules at all; rbp is a frame pointer. */
	".type unruled, @function\n"
	"unruled:\n"
	"push %rbp\n"
	"mov %rsp, %rbp\n"
	"sub $48, %rsp\n"
	"call spin\n"
	"leave\n"
	"ret\n");
void restorer(void);
void unruled(long n);

__attribute__((noinline, used)) void spin(long n)
{
	for (long i = 0; i < n; i++)
		sink += (unsigned long)(i * i);
}

__attribute__((noinline)) static void varying(long n)
{
	volatile char bytes[n * 16 + 1];

	bytes[0] = (char)n;
	spin(20000);
	bytes[n] = bytes[0];
}

__attribute__((noinline)) static void handler(int signal)
{
	volatile char bytes[40];

	bytes[signal] = 1;
	spin(60000);
	handled += bytes[signal];
}

__attribute__((noinline)) static long deep(long n)
{
	long result = 1;

	if (n)
		result = deep(n - 1) + 1;
	else
		varying(3);
	spin(3000);
	sink += (unsigned long)result;
	return result;
}

/* Its last instruction is the call. */
__attribute__((noinline, noreturn)) static void run_and_exit(void)
{
	while (handled < 60) {
		deep(5);
		unruled(20000);
	}
	call(231, 0, 0, 0, 0);
	__builtin_unreachable();
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = { handler, 0x04000000, restorer, 0 };
	long timer[4] = { 0, 2000, 0, 2000 };

	call(13, 14, (long)&action, 0, 8);
	call(38, 0, (long)timer, 0, 0);
	run_and_exit();
}
