/*
 * call_traits.c - which calls wait, and which ends of them only say that time is up.
 *
 * Knows calls by name, as tracers print them; times and results are the caller's.
 */
#include "calls.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TIMER_TOLERANCE_NS 100000 /* a timer's slack and the way back to the program */

/* Sorted by name. Library calls that do nothing but wait stand among the system calls. */
static const struct named_traits {
	const char *name;
	struct tl_call_traits traits;
} table[] = {
	{ "accept", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "accept4", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "clock_nanosleep", { TL_WAIT_ALWAYS, TL_TIMER_SLEEP } },
	{ "clock_nanosleep_time64", { TL_WAIT_ALWAYS, TL_TIMER_SLEEP } },
	{ "epoll_pwait", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "epoll_pwait2", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "epoll_wait", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "futex", { TL_WAIT_OPERATION, TL_TIMER_NONE } },
	{ "futex_time64", { TL_WAIT_OPERATION, TL_TIMER_NONE } },
	{ "futex_wait", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "futex_waitv", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "io_getevents", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "io_pgetevents", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "io_uring_enter", { TL_WAIT_RING, TL_TIMER_NONE } },
	{ "mq_timedreceive", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "msgrcv", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "nanosleep", { TL_WAIT_ALWAYS, TL_TIMER_SLEEP } },
	{ "pause", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "poll", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "ppoll", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "ppoll_time64", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "preadv", { TL_WAIT_FD, TL_TIMER_NONE } },
	{ "pselect6", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "pselect6_time64", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "pthread_cond_clockwait", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "pthread_cond_timedwait", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "pthread_cond_wait", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "pthread_join", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "read", { TL_WAIT_FD, TL_TIMER_NONE } },
	{ "readv", { TL_WAIT_FD, TL_TIMER_NONE } },
	{ "recv", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "recvfrom", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "recvmmsg", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "recvmmsg_time64", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "recvmsg", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "restart_syscall", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "rt_sigsuspend", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "rt_sigtimedwait", { TL_WAIT_ALWAYS, TL_TIMER_EAGAIN } },
	{ "rt_sigtimedwait_time64", { TL_WAIT_ALWAYS, TL_TIMER_EAGAIN } },
	{ "select", { TL_WAIT_ALWAYS, TL_TIMER_ZERO } },
	{ "sem_clockwait", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "sem_timedwait", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "sem_wait", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "semtimedop", { TL_WAIT_ALWAYS, TL_TIMER_EAGAIN } },
	{ "semtimedop_time64", { TL_WAIT_ALWAYS, TL_TIMER_EAGAIN } },
	{ "sigsuspend", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "sleep", { TL_WAIT_ALWAYS, TL_TIMER_SLEEP } },
	{ "usleep", { TL_WAIT_ALWAYS, TL_TIMER_SLEEP } },
	{ "wait4", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "waitid", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
	{ "waitpid", { TL_WAIT_ALWAYS, TL_TIMER_NONE } },
};

struct span {
	const char *text;
	size_t length;
};

static int by_name(const void *key, const void *member)
{
	const struct span *name = key;
	const char *other = ((const struct named_traits *)member)->name;
	size_t other_length = strlen(other);
	size_t shorter = name->length < other_length ? name->length : other_length;
	int order = memcmp(name->text, other, shorter);

	return order ? order : (name->length > other_length) - (name->length < other_length);
}

/* "SYS_poll", "program->poll", "poll@libc.so.6": ltrace says whose it is. */
static struct span plain_name(const char *name, size_t length)
{
	const char *arrow = memmem(name, length, "->", 2), *at;

	if (arrow) {
		length -= (size_t)(arrow + 2 - name);
		name = arrow + 2;
	}
	if (length > 4 && !memcmp(name, "SYS_", 4)) {
		name += 4;
		length -= 4;
	}
	at = memchr(name, '@', length);
	return (struct span) { name, at ? (size_t)(at - name) : length };
}

bool tl_call_is_exit(const char *name, size_t length)
{
	const struct span plain = plain_name(name, length);

	return (plain.length == 4 && !memcmp(plain.text, "exit", 4)) ||
	       (plain.length == 5 && !memcmp(plain.text, "_exit", 5)) ||
	       (plain.length == 10 && !memcmp(plain.text, "exit_group", 10));
}

struct tl_call_traits tl_call_traits(const char *name, size_t length)
{
	const struct span key = plain_name(name, length);
	const struct named_traits *found =
		bsearch(&key, table, sizeof(table) / sizeof(*table), sizeof(*table), by_name);

	return found ? found->traits : (struct tl_call_traits) { TL_WAIT_NEVER, TL_TIMER_NONE };
}

static bool begins_with(const char *text, size_t length, const char *word)
{
	size_t n = strlen(word);

	return length >= n && !memcmp(text, word, n);
}

/* What a descriptor is called where something is awaited that is not a disk. */
static bool is_awaited_path(const char *path, size_t length)
{
	static const char *const kinds[] = { "socket:",
					     "pipe:",
					     "anon_inode:[eventfd",
					     "anon_inode:[timerfd",
					     "anon_inode:[signalfd",
					     "anon_inode:inotify",
					     "anon_inode:[userfaultfd",
					     "TCP",
					     "UDP",
					     "UNIX",
					     "NETLINK",
					     "/dev/pts/",
					     "/dev/ptmx",
					     "/dev/tty" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (begins_with(path, length, kinds[i]))
			return true;
	return false;
}

/* FUTEX_WAIT, FUTEX_WAIT_BITSET_PRIVATE, ...; a lock of its own that it waits for counts, too. */
static bool is_waiting_operation(const char *text, size_t length)
{
	return begins_with(text, length, "FUTEX_WAIT") ||
	       begins_with(text, length, "FUTEX_LOCK_PI");
}

/* io_uring_enter(fd, to_submit, min_complete, ...) */
static bool is_ring_wait(const struct tl_event_syscall *call)
{
	const char *at = call->arguments;
	size_t left = call->arguments_length;

	for (int i = 0; i < 2 && at; i++) {
		const char *comma = memchr(at, ',', left);

		left -= comma ? (size_t)(comma + 1 - at) : left;
		at = comma ? comma + 1 : NULL;
	}
	while (at && left && *at == ' ') {
		at++;
		left--;
	}
	if (at && left > 2 && at[0] == '0' && at[1] == 'x') { /* strace -X raw */
		at += 2;
		left -= 2;
	}
	return at && left && *at != '0' && isxdigit((unsigned char)*at);
}

bool tl_call_is_wait(struct tl_call_traits traits, const struct tl_event_syscall *call)
{
	switch (traits.wait) {
	case TL_WAIT_NEVER:
		return false;
	case TL_WAIT_ALWAYS:
		return true;
	case TL_WAIT_OPERATION:
		return call->operation &&
		       is_waiting_operation(call->operation, call->operation_length);
	case TL_WAIT_FD:
		return call->path && is_awaited_path(call->path, call->path_length);
	case TL_WAIT_RING:
		return is_ring_wait(call);
	}
	return false;
}

static bool is_error(const struct tl_event_syscall *call, const char *error)
{
	return call->error && call->error_length == strlen(error) &&
	       !memcmp(call->error, error, call->error_length);
}

/* Neither cut short nor, as far as one can know, longer than it was asked for. */
static bool is_whole_sleep(const struct tl_event_syscall *call)
{
	int64_t slack = call->timeout_ns / 5;
	int64_t difference;

	if (!call->has_timeout)
		return true;
	slack = slack > TIMER_TOLERANCE_NS ? slack : TIMER_TOLERANCE_NS;
	return call->duration_ns >= 0 &&
	       !__builtin_sub_overflow(call->duration_ns, call->timeout_ns, &difference) &&
	       difference <= slack && difference >= -slack;
}

bool tl_call_is_timer_end(struct tl_call_traits traits, const struct tl_event_syscall *call)
{
	bool is_zero = call->has_result && call->result == 0 && !call->error;

	if (call->outcome != TL_CALL_RETURNED || traits.wait == TL_WAIT_NEVER)
		return false;
	if (is_error(call, "ETIMEDOUT") || is_error(call, "ETIME"))
		return true;
	switch (traits.timer) {
	case TL_TIMER_NONE:
		return false;
	case TL_TIMER_SLEEP:
		return is_zero && is_whole_sleep(call);
	case TL_TIMER_ZERO:
		return is_zero;
	case TL_TIMER_EAGAIN:
		return is_error(call, "EAGAIN");
	}
	return false;
}
