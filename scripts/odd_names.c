/*
 * odd_names.c - a load for compare_folded.sh: threads and functions whose names are hard to fold,
 * code without a name, and sleep. Takes about two seconds.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define SPIN_MS 12

static volatile unsigned long sink;

/* Symbols as a C++ or Rust compiler would write them; each calls the next. */
#define CALLS(name, symbol, callee)               \
	void name(void) __asm__(symbol);          \
	__attribute__((noinline)) void name(void) \
	{                                         \
		callee();                         \
		sink++;                           \
	}

__attribute__((noinline)) static void spin(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (unsigned long i = 0; i < 20000; i++)
			sink += i * i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
		 SPIN_MS);
	sink++;
}

/* (anonymous namespace)::leaf(), ns::(anonymous namespace)::inner(), P::operator->() */
CALLS(leaf, "_ZN12_GLOBAL__N_14leafEv", spin)
CALLS(inner, "_ZN2ns12_GLOBAL__N_15innerEv", leaf)
CALLS(arrow, "_ZN1PptEv", inner)
/* P::operator->*(int), P::operator<(P), P::operator()(), operator"" _ms(unsigned long long) */
CALLS(arrow_star, "_ZN1PpmEi", arrow)
CALLS(less, "_ZN1PltES_", arrow_star)
CALLS(call, "_ZN1PclEv", less)
CALLS(literal, "_Zli3_msy", call)
/* Wrap<void (*)(int)>::call(void (*)(int)), std::function<void (int)>::operator()(int) const */
CALLS(wrap, "_ZN4WrapIPFviEE4callES1_", literal)
CALLS(function, "_ZNKSt8functionIFviEEclEi", wrap)
/* <std::fs::ReadDir as core::iter::Iterator>::next, in Rust's first mangling */
CALLS(rust,
      "_ZN57_$LT$std..fs..ReadDir$u20$as$u20$core..iter..Iterator$GT$4next17h01f3a5e789abcdefE",
      function)
CALLS(plain, "plain_c_function", rust)

static void *run(void *name)
{
	const struct timespec nap = { .tv_nsec = 5000000 };

	prctl(PR_SET_NAME, (unsigned long)name);
	plain();
	nanosleep(&nap, NULL);
	plain();
	return NULL;
}

/* push rbp; mov rbp,rsp; mov rcx,rdi; 1: dec rcx; jnz 1b; pop rbp; ret */
static void run_anonymous_code(void)
{
#ifdef __x86_64__
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9,
					      0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3 };
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*spin_there)(unsigned long);

	if (memory == MAP_FAILED)
		return;
	memcpy(memory, code, sizeof(code));
	memcpy(&spin_there, &memory, sizeof(spin_there));
	spin_there(30000000);
#endif
}

int main(void)
{
	static const char *const names[] = {
		"plain",   "worker 7", "GC Thread#0", "#hash",	    "semi;colon", "  lead",
		"trail  ", "a b  c",   "12345",	      "x/1",	    "it's \"q\"", "pct%s",
		"tab\tx",  "(paren)",  "java GC",     "comm [000]", "99.5:",	  "x",
		"1:2",	   "a 7 c:d",  "-1 y",	      "caf\xc3\xa9"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, (void *)names[i]))
			return EXIT_FAILURE;
		pthread_join(thread, NULL);
	}
	run_anonymous_code();
	return 0;
}
