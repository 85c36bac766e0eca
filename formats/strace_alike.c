/*
 * strace_alike.c - logs that look like strace's, but are not: each would be half understood, so
 * they are refused by name.
 */
#include "strace.h"

#define LINES_MAX 64u /* judged of a file's first ones */

static bool has(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

static bool starts_with(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(text, word, n) == 0;
}

/* "I1203 00:02:39.681902     171 strace.go:625] [   1] ruby X openat(...) = 0x0 (11.709us)" */
static bool is_gvisor(const char *text, size_t len)
{
	return has(text, len, " strace.go:") && has(text, len, "] [");
}

/* "00:00:01.000097028 [tid 1000] socket(Inet, 1, 0) = 3" */
static bool is_shadow(const char *text, size_t len)
{
	return len > 10 && text[2] == ':' && text[5] == ':' && has(text, len, " [tid ");
}

/* "wait4(-1,{ ... },WNOHANG,0x0)    = 0 (0x0)", "open(\"x\",0x0,00)   ERR#2 'No such file'" */
static bool is_truss(const char *text, size_t len)
{
	const char *at = memrchr(text, '=', len), *end = text + len;

	if (has(text, len, " ERR#"))
		return true;
	if (!at || end - at < 8 || at[1] != ' ' || end[-1] != ')')
		return false;
	for (at += 2; at < end && (strace_is_digit(*at) || *at == '-');)
		at++;
	return end - at > 5 && memcmp(at, " (0x", 4) == 0;
}

/* "21818:              lt -> libc.so.6      :*malloc(0x4000000)" */
static bool is_sotruss(const char *text, size_t len)
{
	return has(text, len, " -> ") && (has(text, len, ":*") || has(text, len, ": ")) &&
	       !has(text, len, " = ") && text[len - 1] == ')';
}

/* "@[comm, 12]: 3", "[512, 1K)              1 |@@@      |" */
static bool is_bpftrace(const char *text, size_t len)
{
	return text[0] == '@' || starts_with(text, len, "Attaching ") ||
	       (text[0] == '[' && has(text, len, ") ") && text[len - 1] == '|');
}

/* "Fri Apr 21 04:50:39 2017.564717 @8050a46[1155] read(6, ...) = 1" */
static bool is_systemtap(const char *text, size_t len)
{
	return len > 40 && text[3] == ' ' && text[7] == ' ' && text[13] == ':' && text[16] == ':' &&
	       has(text, len, "] ") && has(text, len, "@");
}

/* "12:00:01     read                     1234", below "SYSCALL   COUNT": bcc's syscount */
static bool is_syscount(const char *text, size_t len)
{
	return starts_with(text, len, "SYSCALL ") && has(text, len, "COUNT");
}

/* "1 01:40:19.601363716 0 httpd (7513) < accept fd=3", and its child's "> read fd=3 size=80" */
static bool is_sysdig(const char *text, size_t len)
{
	const char *close = memchr(text, ')', len), *open;

	if (!strace_is_digit(text[0]) || !close || text + len - close < 5 || close[1] != ' ' ||
	    (close[2] != '<' && close[2] != '>') || close[3] != ' ')
		return false;
	open = memrchr(text, '(', (size_t)(close - text));
	return open && open + 1 < close && strace_is_digit(open[1]) && open[-1] == ' ';
}

/* "PID/THRD  RELATIVE SYSCALL(args) 		 = return" */
static bool is_dtruss(const char *text, size_t len)
{
	return has(text, len, "SYSCALL(args)") && has(text, len, "= return");
}

/* "# tracer: nop", above "<...>-7513 [001] .... 15243.048906: sys_futex(...)" */
static bool is_ftrace(const char *text, size_t len)
{
	return starts_with(text, len, "# tracer: ");
}

static const struct {
	bool (*is_one)(const char *text, size_t len);
	bool is_head; /* one such line says it */
	const char *name;
} alikes[] = {
	{ is_gvisor, false, "gVisor's log of system calls (runsc --strace)" },
	{ is_shadow, false, "the Shadow simulator's log of system calls" },
	{ is_truss, false, "a log of truss" },
	{ is_sotruss, false, "a log of sotruss, which has no times" },
	{ is_bpftrace, false, "output of bpftrace: sums, no single calls" },
	{ is_systemtap, false, "a log of a SystemTap script" },
	{ is_sysdig, false, "a log of sysdig or falco: record with strace, or with perf trace" },
	{ is_dtruss, true, "a log of dtruss, which Linux has not" },
	{ is_ftrace, true,
	  "output of ftrace: record with trace-cmd's or perf's file, not its text" },
	{ is_syscount, true, "output of syscount: sums, no single calls" },
};

/* Calls in UTF-16, as a terminal of Windows saves them. */
static bool is_wide(const char *head, size_t len)
{
	return len >= 2 && ((!memcmp(head, "\xff\xfe", 2) && memmem(head, len, ")\0 \0=\0 ", 7)) ||
			    (!memcmp(head, "\xfe\xff", 2) && memmem(head, len, "\0)\0 \0=\0 ", 8)));
}

const char *strace_alike(const char *head, size_t len)
{
	enum { COUNT = sizeof(alikes) / sizeof(alikes[0]) };
	unsigned counts[COUNT] = { 0 }, lines = 0;
	const char *at = head, *end;

	if (len == 0)
		return NULL;
	if (is_wide(head, len))
		return "text in UTF-16: make it UTF-8 with iconv";
	end = head + len;
	while (at < end && lines < LINES_MAX) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);

		while (n && (at[n - 1] == ' ' || at[n - 1] == '\r'))
			n--;
		lines += n > 0;
		for (size_t i = 0; n > 0 && i < COUNT; i++)
			counts[i] += alikes[i].is_one(at, n);
		at = newline ? newline + 1 : end;
	}
	for (size_t i = 0; i < COUNT; i++)
		if (counts[i] * 2 > lines || (alikes[i].is_head && counts[i]))
			return alikes[i].name;
	return NULL;
}
