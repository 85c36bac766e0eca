/*
 * names.cc - names that are hard to carry: C++ symbols with brackets, blanks, quotes and arrows, and
 * threads called everything that people have called theirs. `names MS` burns MS in each of both.
 */
#include "tiny.h"

static volatile unsigned long sink;

static NOINLINE void burn_us(long us)
{
	int64_t end = tiny_cpu_ns() + us * 1000;

	while (tiny_cpu_ns() < end)
		sink = sink + 1;
}

static long budget_us;

enum class colour { red, green };
static colour favourite = colour::green;

namespace
{
NOINLINE void hidden(long us)
{
	burn_us(us);
	sink = sink + 1;
}

struct inner {
	NOINLINE void method(long us) const
	{
		burn_us(us);
		sink = sink + 1;
	}
};
} // namespace

namespace outer
{
template <typename T, int N> struct box {
	inner held;
	NOINLINE const inner *operator->() const
	{
		burn_us(budget_us);
		sink = sink + 1;
		return &held;
	}
	NOINLINE int operator->*(int value) const
	{
		burn_us(budget_us);
		sink = sink + 1;
		return value + N;
	}
	NOINLINE bool operator<(const box &other) const
	{
		burn_us(budget_us);
		sink = sink + 1;
		return &other != this;
	}
	NOINLINE void operator()(long us) const
	{
		burn_us(us);
		sink = sink + 1;
	}
	NOINLINE operator bool() const
	{
		burn_us(budget_us);
		sink = sink + 1;
		return true;
	}
};

template <void (*F)(long)> NOINLINE void call(long us)
{
	F(us);
	sink = sink + 1;
}

template <colour C> NOINLINE void paint(long us)
{
	burn_us(us + (favourite == C));
	sink = sink + 1;
}

template <typename F> NOINLINE void apply(F f, long us)
{
	f(us);
	sink = sink + 1;
}
} // namespace outer

NOINLINE long operator""_us(unsigned long long us)
{
	burn_us((long)us);
	sink = sink + 1;
	return (long)us;
}

NOINLINE void (*choose(int which))(long)
{
	burn_us(budget_us);
	sink = sink + 1;
	return which ? hidden : outer::paint<colour::red>;
}

static void symbols(void *)
{
	outer::box<void (*)(int, char), 3> box;

	tiny_name("symbols");
	hidden(budget_us);
	box->method(budget_us);
	sink = sink + (unsigned long)(box->*4);
	sink = sink + (box < box);
	box(budget_us);
	sink = sink + static_cast<bool>(box);
	outer::call<hidden>(budget_us);
	outer::call<outer::paint<colour::green>>(budget_us);
	outer::apply(
		[](long us) __attribute__((noinline)) {
			burn_us(us);
			sink = sink + 1;
		},
		budget_us);
	choose(1)(3000_us);
}

static const char *const thread_names[] = {
	"plain",       "worker 7",   "GC Thread#0",
	"#hash",       "semi;colon", "  lead",
	"trail  ",     "a b  c",     "12345",
	"x/1",	       "x",	     "it's",
	"\"q\"",       "pct%s",	     "tab\tx",
	"caf\xc3\xa9", "(paren)",    "java GC",
	"bad\xff",     "",	     "comm [000] 99.5:",
	"new\nline",   "bell\a",     "-1",
	"[brackets]",
};

static NOINLINE void named(void *name)
{
	tiny_name(static_cast<const char *>(name));
	burn_us(budget_us);
	sink = sink + 1;
}

static struct tiny_task task;

extern "C" int tiny_main(int argc, char **argv)
{
	budget_us = (argc > 1 ? tiny_number(argv[1]) : 5) * 1000;
	for (unsigned i = 0; i < sizeof(thread_names) / sizeof(thread_names[0]); i++) {
		tiny_spawn(&task, named, const_cast<char *>(thread_names[i]));
		tiny_join(&task);
	}
	tiny_spawn(&task, symbols, nullptr);
	tiny_join(&task);
	return 0;
}
