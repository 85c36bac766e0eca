/*
 * syscalls_words.c - what is known of system calls, in a sentence or two.
 */
#include "syscalls.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void add_printable(struct tl_text *out, const char *text)
{
	char shown[512];

	tl_printable(shown, sizeof(shown), text, strlen(text));
	tl_text_puts(out, shown);
}

void syscalls_add_duration(struct tl_text *out, double ns)
{
	char buf[64];

	tl_text_puts(out, format_duration(buf, sizeof(buf), (int64_t)llround(ns)));
}

/* "futex FUTEX_WAIT_PRIVATE of worker (4711)" */
void syscalls_add_call(struct tl_text *out, const struct tl_syscalls *c, const char *name,
		       const char *operation, uint32_t thread_index)
{
	const struct tl_syscall_thread *thread = &c->threads[thread_index];

	add_printable(out, name);
	if (operation) {
		tl_text_puts(out, " ");
		add_printable(out, operation);
	}
	if (thread->tid < 0) {
		tl_text_puts(out, " of the traced thread");
		return;
	}
	tl_text_puts(out, thread->name ? " of " : " of thread ");
	if (thread->name)
		add_printable(out, thread->name);
	tl_text_printf(out, thread->name ? " (%" PRId64 ")" : "%" PRId64, thread->tid);
}

/* No finer than the logs tell it. */
unsigned syscalls_time_digits(const struct tl_syscalls *c)
{
	int64_t finest = 0;
	unsigned digits = 0;

	for (size_t i = 0; i < c->source_count; i++) {
		int64_t unit = c->sources[i].time_unit_ns ? c->sources[i].time_unit_ns : 1;

		finest = finest && finest < unit ? finest : unit;
	}
	for (; finest && finest < 1000000000; finest *= 10)
		digits++;
	return finest ? digits : 6;
}

static const char *show_time(const struct tl_syscalls *c, char *buf, size_t size, int64_t ns)
{
	return format_time_digits(buf, size, ns, syscalls_time_digits(c));
}

/* ": 61 of 200 calls took more than 2.281 ms and cost 2.022 s above the usual 653.5 us; ..." */
static void add_slow_calls(struct tl_text *out, const struct tl_syscalls *c,
			   const struct tl_syscall_outlier *o)
{
	char time[64];

	tl_text_printf(out, ": %" PRIu64 " of %" PRIu64 " calls took more than ", o->outlier_count,
		       o->judged_count);
	syscalls_add_duration(out, o->threshold_ns);
	tl_text_puts(out, " and cost ");
	syscalls_add_duration(out, (double)o->cost_ns);
	if (o->learnt_count) {
		tl_text_puts(out, " above the usual ");
		syscalls_add_duration(out, o->median_ns);
	}
	tl_text_puts(out, "; the slowest took ");
	syscalls_add_duration(out, (double)o->max_ns);
	if (o->has_since)
		tl_text_printf(out, "; slow since %s",
			       show_time(c, time, sizeof(time), o->since_ns));
	if (o->has_until)
		tl_text_printf(out, " until %s", show_time(c, time, sizeof(time), o->until_ns));
	if (o->has_since && o->episode_count > 1)
		tl_text_printf(out, ", in %" PRIu32 " episodes", o->episode_count);
}

static void add_open(struct tl_text *out, const struct tl_syscalls *c,
		     const struct tl_syscall_open *o)
{
	syscalls_add_call(out, c, o->name, o->operation, o->thread);
	tl_text_puts(out, o->outcome == TL_CALL_KILLED
				  ? ": had not ended when its thread did, after "
				  : ": had not ended when the log did, after ");
	syscalls_add_duration(out, (double)o->age_ns);
}

/* Slow, but no outlier as far as one can tell. */
static void add_suspect(struct tl_text *out, const struct tl_syscalls *c,
			const struct tl_syscall_outlier *o)
{
	syscalls_add_call(out, c, o->name, o->operation, o->thread);
	add_slow_calls(out, c, o);
	tl_text_puts(out, o->doubt == TL_DOUBT_FREQUENT
				  ? "; so many, all the time, may be what is usual there"
				  : "; what it waits for may just come more rarely");
}

/* What it cannot tell is said, too: "none is slow" would be more than was looked at. */
static void say_nothing_found(struct tl_text *out, const struct tl_syscalls *c)
{
	uint64_t timed = 0;
	int64_t longest = 0;

	for (size_t i = 0; i < c->sum_count; i++) {
		timed += c->sums[i].timed_count;
		longest = c->sums[i].max_ns > longest ? c->sums[i].max_ns : longest;
	}
	if (timed && !longest) {
		tl_text_puts(out, "no durations: all of them are 0, in the unit of the log");
		return;
	}
	if (!timed) {
		tl_text_puts(out, c->call_count
					  ? "no durations: how long calls took was not recorded"
					  : "no call was seen to end");
		return;
	}
	if (c->suspect_count) {
		tl_text_puts(out, "no outliers, but ");
		add_suspect(out, c, &c->suspects[0]);
		return;
	}
	tl_text_printf(out,
		       "no outliers among %" PRIu64 " call%s: what is slow all the time cannot be "
		       "told from what is usual for its thread and call",
		       timed, timed == 1 ? "" : "s");
}

void syscalls_headline(struct tl_text *text, const struct tl_syscalls *c)
{
	const struct tl_syscall_outlier *o = c->outlier_count ? c->outliers : NULL;
	const struct tl_syscall_open *open = c->hanging_count ? c->opens : NULL;
	bool is_open_first = open && (!o || open->age_ns > o->cost_ns);

	if (is_open_first) {
		add_open(text, c, open);
		tl_text_puts(text, o ? "\n" : "");
	}
	if (o) {
		syscalls_add_call(text, c, o->name, o->operation, o->thread);
		add_slow_calls(text, c, o);
	}
	if (open && !is_open_first) {
		tl_text_puts(text, "\n");
		add_open(text, c, open);
	}
	if (!o && !open)
		say_nothing_found(text, c);
}
