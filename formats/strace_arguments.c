/*
 * strace_arguments.c - the few arguments that are worth a column: what a call operates with (futex
 * operation, ioctl request), on which file, and how long it asked to wait.
 *
 * Knows system calls by name and argument place, and how strace prints strings and times.
 */
#include "strace.h"

#include <stdlib.h>

#include "call_numbers.h"
#include "reader.h"

/* Enough for an array of descriptors before a time-out; what comes later is not looked at. */
#define ARGUMENTS_SCAN_MAX 8192u

enum timeout_kind {
	TIMEOUT_NONE,
	TIMEOUT_MS,    /* an int of milliseconds, negative: without limit */
	TIMEOUT_SPAN,  /* a timespec or timeval, NULL: without limit */
	TIMEOUT_SLEEP, /* clock_nanosleep: only if its flags are 0 */
	TIMEOUT_FUTEX  /* relative for FUTEX_WAIT, a point in time for FUTEX_WAIT_BITSET */
};

/* Places are counted from 1; 0: there is none. */
struct strace_traits {
	const char *name;
	uint8_t fd, operation, path, timeout;
	enum timeout_kind timeout_kind;
};

/* Sorted by name. */
static const struct strace_traits traits_table[] = {
	{ "accept", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "accept4", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "access", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "acct", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "arch_prctl", 0, 1, 0, 0, TIMEOUT_NONE },
	{ "bind", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "bpf", 0, 1, 0, 0, TIMEOUT_NONE },
	{ "chdir", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "chmod", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "chown", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "chroot", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "clock_nanosleep", 0, 1, 0, 3, TIMEOUT_SLEEP },
	{ "clock_nanosleep_time64", 0, 1, 0, 3, TIMEOUT_SLEEP },
	{ "close", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "connect", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "copy_file_range", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "creat", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "dup", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "dup2", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "dup3", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "epoll_ctl", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "epoll_ctl_old", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "epoll_pwait", 1, 0, 0, 4, TIMEOUT_MS },
	{ "epoll_pwait2", 1, 0, 0, 4, TIMEOUT_SPAN },
	{ "epoll_wait", 1, 0, 0, 4, TIMEOUT_MS },
	{ "execve", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "execveat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "faccessat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "faccessat2", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "fadvise64", 1, 4, 0, 0, TIMEOUT_NONE },
	{ "fallocate", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "fchdir", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "fchmod", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "fchmodat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "fchmodat2", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "fchown", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "fchownat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "fcntl", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "fcntl64", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "fdatasync", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "fgetxattr", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "finit_module", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "flistxattr", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "flock", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "fremovexattr", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "fsetxattr", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "fstat", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "fstat64", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "fstatat64", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "fstatfs", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "fsync", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "ftruncate", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "futex", 0, 2, 0, 4, TIMEOUT_FUTEX },
	{ "futex_time64", 0, 2, 0, 4, TIMEOUT_FUTEX },
	{ "futimesat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "getdents", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "getdents64", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "getpeername", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "getsockname", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "getsockopt", 1, 3, 0, 0, TIMEOUT_NONE },
	{ "getxattr", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "inotify_add_watch", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "inotify_rm_watch", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "io_getevents", 0, 0, 0, 5, TIMEOUT_SPAN },
	{ "io_pgetevents", 0, 0, 0, 5, TIMEOUT_SPAN },
	{ "io_uring_enter", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "io_uring_register", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "ioctl", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "keyctl", 0, 1, 0, 0, TIMEOUT_NONE },
	{ "lchown", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "lgetxattr", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "link", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "linkat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "listen", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "listxattr", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "llistxattr", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "lseek", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "lsetxattr", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "lstat", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "lstat64", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "madvise", 0, 3, 0, 0, TIMEOUT_NONE },
	{ "mbind", 0, 3, 0, 0, TIMEOUT_NONE },
	{ "membarrier", 0, 1, 0, 0, TIMEOUT_NONE },
	{ "mkdir", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "mkdirat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "mknod", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "mknodat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "msgctl", 0, 2, 0, 0, TIMEOUT_NONE },
	{ "nanosleep", 0, 0, 0, 1, TIMEOUT_SPAN },
	{ "newfstatat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "open", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "open_by_handle_at", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "openat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "openat2", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "pidfd_getfd", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "pidfd_send_signal", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "poll", 0, 0, 0, 3, TIMEOUT_MS },
	{ "ppoll", 0, 0, 0, 3, TIMEOUT_SPAN },
	{ "ppoll_time64", 0, 0, 0, 3, TIMEOUT_SPAN },
	{ "prctl", 0, 1, 0, 0, TIMEOUT_NONE },
	{ "pread64", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "preadv", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "preadv2", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "process_madvise", 1, 4, 0, 0, TIMEOUT_NONE },
	{ "pselect6", 0, 0, 0, 5, TIMEOUT_SPAN },
	{ "pselect6_time64", 0, 0, 0, 5, TIMEOUT_SPAN },
	{ "ptrace", 0, 1, 0, 0, TIMEOUT_NONE },
	{ "pwrite64", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "pwritev", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "pwritev2", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "quotactl", 0, 1, 0, 0, TIMEOUT_NONE },
	{ "read", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "readahead", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "readlink", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "readlinkat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "readv", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "recv", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "recvfrom", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "recvmmsg", 1, 0, 0, 5, TIMEOUT_SPAN },
	{ "recvmmsg_time64", 1, 0, 0, 5, TIMEOUT_SPAN },
	{ "recvmsg", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "rename", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "renameat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "renameat2", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "rmdir", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "rt_sigprocmask", 0, 1, 0, 0, TIMEOUT_NONE },
	{ "rt_sigtimedwait", 0, 0, 0, 3, TIMEOUT_SPAN },
	{ "rt_sigtimedwait_time64", 0, 0, 0, 3, TIMEOUT_SPAN },
	{ "seccomp", 0, 1, 0, 0, TIMEOUT_NONE },
	{ "select", 0, 0, 0, 5, TIMEOUT_SPAN },
	{ "semctl", 0, 3, 0, 0, TIMEOUT_NONE },
	{ "semtimedop", 0, 0, 0, 4, TIMEOUT_SPAN },
	{ "semtimedop_time64", 0, 0, 0, 4, TIMEOUT_SPAN },
	{ "send", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "sendfile", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "sendfile64", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "sendmmsg", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "sendmsg", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "sendto", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "setns", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "setsockopt", 1, 3, 0, 0, TIMEOUT_NONE },
	{ "setxattr", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "shmctl", 0, 2, 0, 0, TIMEOUT_NONE },
	{ "shutdown", 1, 2, 0, 0, TIMEOUT_NONE },
	{ "signalfd4", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "splice", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "stat", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "stat64", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "statfs", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "statx", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "swapoff", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "swapon", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "symlink", 0, 0, 2, 0, TIMEOUT_NONE },
	{ "symlinkat", 0, 0, 3, 0, TIMEOUT_NONE },
	{ "sync_file_range", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "syncfs", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "tee", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "timerfd_gettime", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "timerfd_settime", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "truncate", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "unlink", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "unlinkat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "utime", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "utimensat", 1, 0, 2, 0, TIMEOUT_NONE },
	{ "utimes", 0, 0, 1, 0, TIMEOUT_NONE },
	{ "vmsplice", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "write", 1, 0, 0, 0, TIMEOUT_NONE },
	{ "writev", 1, 0, 0, 0, TIMEOUT_NONE },
};

static int by_name(const void *key, const void *member)
{
	const struct strace_span *name = key;
	const char *other = ((const struct strace_traits *)member)->name;
	size_t len = strlen(other), common = name->length < len ? name->length : len;
	int order = memcmp(name->text, other, common);

	if (order)
		return order;
	return name->length < len ? -1 : name->length > len;
}

const struct strace_traits *strace_traits(const char *name, size_t len)
{
	const struct strace_span key = { name, len };

	return bsearch(&key, traits_table, sizeof(traits_table) / sizeof(traits_table[0]),
		       sizeof(traits_table[0]), by_name);
}

/* ---- one argument ---------------------------------------------------------------------------- */

/* Behind the string that begins at `at`; len if it has no end. */
static size_t skip_string(const char *text, size_t len, size_t at)
{
	for (at++; at < len; at++) {
		if (text[at] == '\\')
			at++;
		else if (text[at] == '"')
			return at + 1;
	}
	return len;
}

/* Behind a remark: a slash and a star, or "<...>" of a file descriptor, which escapes '>'. */
static size_t skip_to(const char *text, size_t len, size_t at, const char *close, size_t close_len)
{
	const char *found = memmem(text + at, len - at, close, close_len);

	return found ? (size_t)(found - text) + close_len : len;
}

/* Bytes that mean something between arguments, a bit each: quotes, brackets, '/', '<' and ','. */
static inline bool is_plain(char c)
{
	static const uint64_t special[2] = { 0x1000930400000000, 0x2800000028000000 };

	return (uint8_t)c >= 128 || !(special[(uint8_t)c >> 6] >> (c & 63) & 1);
}

/* Where the argument that begins at `at` ends: at a comma of its own level, or at the end. */
static size_t argument_end(const char *text, size_t len, size_t at)
{
	unsigned depth = 0;

	for (;;) {
		while (at < len && is_plain(text[at]))
			at++;
		if (at == len)
			return at;
		switch (text[at]) {
		case '"':
			at = skip_string(text, len, at);
			continue;
		case '(':
		case '[':
		case '{':
			depth++;
			break;
		case ')':
		case ']':
		case '}':
			depth -= depth != 0;
			break;
		case '/':
			if (len - at > 1 && text[at + 1] == '*') {
				at = skip_to(text, len, at + 2, "*/", 2);
				continue;
			}
			break;
		case '<':
			/* not the "<<" of a shifted number */
			if (at && (strace_is_digit(text[at - 1]) || text[at - 1] == 'D') &&
			    at + 1 < len && text[at + 1] != '<') {
				at = skip_to(text, len, at + 1, ">", 1);
				continue;
			}
			break;
		case ',':
			if (depth == 0)
				return at;
			break;
		default:
			break;
		}
		at++;
	}
}

struct strace_span strace_argument(const char *text, size_t len, unsigned n)
{
	size_t at = 0, end;

	for (;; n--) {
		while (at < len && text[at] == ' ')
			at++;
		end = argument_end(text, len, at);
		if (n == 0)
			break;
		if (end >= len)
			return (struct strace_span) { NULL, 0 };
		at = end + 1;
	}
	while (end > at && text[end - 1] == ' ')
		end--;
	return (struct strace_span) { text + at, end - at };
}

size_t strace_unescape(char *out, size_t size, struct strace_span text)
{
	static const char letters[] = "nrtvfabe", values[] = "\n\r\t\v\f\a\b\033";
	size_t used = 0;

	for (size_t i = 0; i < text.length && used < size; i++) {
		char c = text.text[i];
		const char *letter;

		if (c != '\\' || i + 1 == text.length) {
			out[used++] = c;
			continue;
		}
		c = text.text[++i];
		letter = memchr(letters, c, sizeof(letters) - 1);
		if (c >= '0' && c <= '7') {
			unsigned value = 0;
			size_t end = i + 3;

			for (; i < end && i < text.length && text.text[i] >= '0' &&
			       text.text[i] <= '7';
			     i++)
				value = value * 8 + (unsigned)(text.text[i] - '0');
			i--;
			out[used++] = (char)value;
		} else if (c == 'x' && i + 2 < text.length) {
			uint64_t value;

			if (tl_parse_u64(text.text + i + 1, 2, 16, &value) != 2)
				value = '?';
			out[used++] = (char)value;
			i += 2;
		} else {
			out[used++] = letter ? values[letter - letters] : c;
		}
	}
	return used;
}

bool strace_is_clone(struct strace_span name)
{
	return strace_span_is(name, "clone") || strace_span_is(name, "clone3") ||
	       strace_span_is(name, "fork") || strace_span_is(name, "vfork") ||
	       strace_span_is(name, "clone2");
}

/* ---- what they mean -------------------------------------------------------------------------- */

/* "128", "0x189" (-X raw); bytes used, 0: it is none */
static size_t any_number(const char *text, size_t len, uint64_t *value)
{
	size_t used = 0;

	if (len > 2 && text[0] == '0' && text[1] == 'x')
		used = tl_parse_u64(text + 2, len - 2, 16, value) + 2;
	return used > 2 ? used : tl_parse_u64(text, len, 10, value);
}

/* A number by its name, which follows it (-X verbose), or is known; other words as they are. */
static struct strace_span named(const struct strace_traits *traits, struct strace_span printed)
{
	const char *open, *end, *known;
	uint64_t number;

	if (!printed.length || !strace_is_digit(printed.text[0]))
		return printed;
	end = printed.text + printed.length;
	open = memmem(printed.text, printed.length, " /* ", 4);
	if (open && end - open > 7 && !memcmp(end - 3, " */", 3) &&
	    !memmem(open, (size_t)(end - open), "???", 3))
		return (struct strace_span) { open + 4, (size_t)(end - open) - 7 };
	if (any_number(printed.text, printed.length, &number) != printed.length)
		return printed;
	known = tl_call_operation_name(traits->name, strlen(traits->name), number);
	return known ? (struct strace_span) { known, strlen(known) } : printed;
}

/* "3", "3</etc/passwd>", "AT_FDCWD</home>" */
static void descriptor(struct strace_span argument, struct strace_arguments *out)
{
	uint64_t fd;
	size_t used = 0;
	const char *open;

	if (!argument.text)
		return;
	used = any_number(argument.text, argument.length, &fd);
	if (used && fd <= INT32_MAX) {
		out->has_fd = true;
		out->fd = (int32_t)fd;
	} else if (argument.length >= 8 && memcmp(argument.text, "AT_FDCWD", 8) == 0) {
		used = 8;
	} else {
		return;
	}
	open = argument.text + used;
	if (argument.length > used + 1 && *open == '<' && argument.text[argument.length - 1] == '>')
		out->path = (struct strace_span) { open + 1, argument.length - used - 2 };
}

/* "\"/etc/passwd\"": an empty one means the descriptor, a cut-off one is not known */
static void path(struct strace_span argument, struct strace_arguments *out)
{
	if (argument.length > 2 && argument.text[0] == '"' &&
	    argument.text[argument.length - 1] == '"') {
		out->path = (struct strace_span) { argument.text + 1, argument.length - 2 };
		out->is_path_quoted = true;
	}
}

/* "{tv_sec=1, tv_nsec=0}", "{tv_sec=1, tv_usec=0}", "{1, 0}" */
static bool time_span(struct strace_span argument, int64_t unit_ns, int64_t *ns)
{
	uint64_t seconds, rest;
	const char *t = argument.text;
	size_t len = argument.length, used;

	if (len < 2 || t[0] != '{')
		return false;
	t++, len--;
	if (len > 7 && memcmp(t, "tv_sec=", 7) == 0)
		t += 7, len -= 7;
	used = tl_parse_u64(t, len, 10, &seconds);
	if (!used || len - used < 3 || t[used] != ',' || t[used + 1] != ' ')
		return false;
	t += used + 2, len -= used + 2;
	if (len > 8 && (memcmp(t, "tv_nsec=", 8) == 0 || memcmp(t, "tv_usec=", 8) == 0)) {
		unit_ns = t[3] == 'u' ? 1000 : 1;
		t += 8, len -= 8;
	}
	used = tl_parse_u64(t, len, 10, &rest);
	if (!used || used == len || t[used] != '}' || seconds > INT64_MAX / 1000000000 - 1 ||
	    rest > 1000000000)
		return false;
	*ns = (int64_t)seconds * 1000000000 + (int64_t)rest * unit_ns;
	return true;
}

static void milliseconds(struct strace_span argument, struct strace_arguments *out)
{
	bool is_negative = argument.length && argument.text[0] == '-';
	uint64_t value;

	if (!argument.text || any_number(argument.text + is_negative, argument.length - is_negative,
					 &value) != argument.length - is_negative)
		return;
	if (!is_negative && value > INT32_MAX && value <= UINT32_MAX && argument.text[1] == 'x')
		is_negative = true;
	else if (value > INT32_MAX)
		return;
	out->has_timeout = true;
	out->timeout_ns = is_negative ? INT64_MAX : (int64_t)value * 1000000;
}

/* Raw, of ltrace, and of its library calls. */
static bool is_null(struct strace_span argument)
{
	return strace_span_is(argument, "NULL") || strace_span_is(argument, "0") ||
	       strace_span_is(argument, "nil");
}

static void span_of_time(const struct strace_traits *traits, struct strace_span argument,
			 struct strace_arguments *out)
{
	/* the old form "{1, 0}" has microseconds for select alone */
	int64_t unit_ns = strcmp(traits->name, "select") == 0 ? 1000 : 1;

	if (!argument.text)
		return;
	if (is_null(argument)) {
		out->has_timeout = true;
		out->timeout_ns = INT64_MAX;
		return;
	}
	out->has_timeout = time_span(argument, unit_ns, &out->timeout_ns);
}

static bool is_futex_wait(struct strace_span operation, bool *is_absolute)
{
	static const char wait[] = "FUTEX_WAIT", bits[] = "FUTEX_WAIT_BITSET",
			  requeue[] = "FUTEX_WAIT_REQUEUE_PI", lock[] = "FUTEX_LOCK_PI";

	*is_absolute = (operation.length >= sizeof(bits) - 1 &&
			memcmp(operation.text, bits, sizeof(bits) - 1) == 0) ||
		       (operation.length >= sizeof(requeue) - 1 &&
			memcmp(operation.text, requeue, sizeof(requeue) - 1) == 0) ||
		       (operation.length >= sizeof(lock) - 1 &&
			memcmp(operation.text, lock, sizeof(lock) - 1) == 0);
	return *is_absolute || (operation.length >= sizeof(wait) - 1 &&
				memcmp(operation.text, wait, sizeof(wait) - 1) == 0);
}

static void timeout(const struct strace_traits *traits, const char *text, size_t len,
		    struct strace_arguments *out)
{
	struct strace_span argument;
	bool is_absolute = false;

	if (traits->timeout_kind == TIMEOUT_FUTEX &&
	    (!out->operation.text || !is_futex_wait(out->operation, &is_absolute)))
		return;
	argument = strace_argument(text, len, traits->timeout - 1u);
	switch (traits->timeout_kind) {
	case TIMEOUT_NONE:
		return;
	case TIMEOUT_MS:
		milliseconds(argument, out);
		return;
	case TIMEOUT_SLEEP:
		is_absolute = !strace_span_is(strace_argument(text, len, 1), "0");
		break;
	case TIMEOUT_SPAN:
	case TIMEOUT_FUTEX:
		break;
	}
	/* until a point in time: how long that is cannot be told from here */
	if (!is_absolute || (argument.text && is_null(argument)))
		span_of_time(traits, argument, out);
}

void strace_arguments(const struct strace_traits *traits, const char *text, size_t len,
		      struct strace_arguments *out)
{
	*out = (struct strace_arguments) { 0 };
	if (!traits)
		return;
	if (len > ARGUMENTS_SCAN_MAX)
		len = ARGUMENTS_SCAN_MAX;
	if (traits->fd)
		descriptor(strace_argument(text, len, traits->fd - 1u), out);
	if (traits->path)
		path(strace_argument(text, len, traits->path - 1u), out);
	if (traits->operation)
		out->operation = named(traits, strace_argument(text, len, traits->operation - 1u));
	if (out->operation.length == 0)
		out->operation.text = NULL;
	if (traits->timeout)
		timeout(traits, text, len, out);
}
