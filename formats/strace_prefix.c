/*
 * strace_prefix.c - what strace and ltrace print before a call: pid, security context, times,
 * system call number, instruction pointer, in this order (strace.c, printleader).
 *
 * Keeps no state: one line at a time.
 */
#include "strace.h"

size_t strace_decimal(const char *text, size_t len, int64_t *ns, uint8_t *digits)
{
	const uint64_t seconds_max = 4000000000; /* no time of a log: sums must not overflow */
	uint64_t seconds = 0, fraction = 0, unit = 1000000000;
	size_t at = 0, from;

	while (at < len && strace_is_digit(text[at])) {
		seconds = seconds * 10 + (uint64_t)(text[at++] - '0');
		if (seconds > seconds_max)
			return 0;
	}
	if (at == 0)
		return 0;
	*digits = 0;
	if (at + 1 < len && text[at] == '.' && strace_is_digit(text[at + 1])) {
		from = ++at;
		for (; at < len && strace_is_digit(text[at]); at++) {
			if (unit == 1) /* below a nanosecond */
				continue;
			fraction = fraction * 10 + (uint64_t)(text[at] - '0');
			unit /= 10;
		}
		*digits = (uint8_t)(at - from > 255 ? 255 : at - from);
	}
	*ns = (int64_t)(seconds * 1000000000 + fraction * unit);
	return at;
}

static size_t skip_blanks(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] == ' ')
		at++;
	return at;
}

/* "123" or "123<comm>" at `at`: returns where it ends, 0 if it is none or no possible pid. */
static size_t pid_and_comm(const char *text, size_t len, size_t at, struct strace_prefix *out)
{
	uint32_t pid = 0;
	size_t from = at;

	while (at < len && at - from < 8 && strace_is_digit(text[at]))
		pid = pid * 10 + (uint32_t)(text[at++] - '0');
	if (at == from || pid == 0 || pid > STRACE_PID_MAX)
		return 0;
	if (at < len && text[at] == '<') {
		const char *close = memchr(text + at, '>', len - at);

		if (!close)
			return 0;
		out->comm.text = text + at + 1;
		out->comm.length = (size_t)(close - out->comm.text);
		at = (size_t)(close - text) + 1;
	}
	out->tid = (int32_t)pid;
	return at;
}

/* "[pid 123<comm>] " at `at`: returns where it ends, 0 if it is none. */
static size_t bracketed_pid(const char *text, size_t len, size_t at, struct strace_prefix *out)
{
	size_t digits;

	if (len - at < 7 || memcmp(text + at, "[pid ", 5) != 0)
		return 0;
	digits = skip_blanks(text, len, at + 5);
	at = pid_and_comm(text, len, digits, out);
	if (at == 0 || at == len || text[at] != ']')
		return 0;
	at++;
	return at < len && text[at] == ' ' ? at + 1 : at;
}

/* Is what is left digits, perhaps a point and digits, and blanks? Then a number before was none. */
static bool is_bare_number(const char *text, size_t len)
{
	int64_t ns;
	uint8_t digits;
	size_t at = strace_decimal(text, len, &ns, &digits);

	return at && skip_blanks(text, len, at) == len;
}

static size_t plain_pid(const char *text, size_t len, struct strace_prefix *out)
{
	struct strace_prefix found = { .tid = TL_ID_NONE };
	size_t end = pid_and_comm(text, len, 0, &found), at;

	if (end == 0 || end == len || text[end] != ' ')
		return 0;
	at = skip_blanks(text, len, end);
	if (!found.comm.text &&
	    (at == len || (strace_is_digit(text[at]) && is_bare_number(text + at, len - at))))
		return 0;
	out->tid = found.tid;
	out->comm = found.comm;
	return at;
}

static unsigned two_digits(const char *text)
{
	return (unsigned)(text[0] - '0') * 10 + (unsigned)(text[1] - '0');
}

/* "11:07:47.111041 " */
static size_t time_of_day(const char *text, size_t len, size_t at, struct strace_prefix *out)
{
	const char *t = text + at;
	int64_t seconds;
	size_t used;

	if (len - at < 9 || t[2] != ':' || t[5] != ':' || !strace_is_digit(t[0]) ||
	    !strace_is_digit(t[1]) || !strace_is_digit(t[3]) || !strace_is_digit(t[4]) ||
	    !strace_is_digit(t[6]) || !strace_is_digit(t[7]))
		return 0;
	used = strace_decimal(t + 6, len - at - 6, &out->time_ns, &out->time_digits);
	if (used < 2 || (used > 2 && t[8] != '.') || at + 6 + used >= len || t[6 + used] != ' ')
		return 0;
	if (two_digits(t) > 23 || two_digits(t + 3) > 59 || two_digits(t + 6) > 60)
		return 0;
	seconds = (int64_t)two_digits(t) * 3600 + (int64_t)two_digits(t + 3) * 60;
	out->time_ns += seconds * 1000000000;
	out->time = STRACE_TIME_OF_DAY;
	return at + 6 + used + 1;
}

/* "1795950467.237623 ", "     0.000624 ", "1795950468 " */
static size_t decimal_time(const char *text, size_t len, size_t at, struct strace_prefix *out)
{
	const int64_t oldest_epoch_ns =
		100000000 * (int64_t)1000000000; /* 1973: no delta is so long */
	size_t from = skip_blanks(text, len, at), used, end;

	used = strace_decimal(text + from, len - from, &out->time_ns, &out->time_digits);
	end = from + used;
	if (used == 0 || end == len || text[end] != ' ' || skip_blanks(text, len, end) == len)
		return 0;
	out->time = out->time_ns >= oldest_epoch_ns ? STRACE_EPOCH : STRACE_RELATIVE;
	return end + 1;
}

/* "(+     0.000874) " */
static size_t relative_too(const char *text, size_t len, size_t at)
{
	size_t from = skip_blanks(text, len, at + 2), used;
	int64_t ns;
	uint8_t digits;

	used = from < len ? strace_decimal(text + from, len - from, &ns, &digits) : 0;
	if (used == 0 || len - from - used < 2 || text[from + used] != ')' ||
	    text[from + used + 1] != ' ')
		return 0;
	return from + used + 2;
}

static bool is_hex_digit(char c)
{
	return strace_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* "[ 257] ": a system call's number */
static size_t call_number(const char *text, size_t len, size_t at)
{
	size_t from = skip_blanks(text, len, at + 1), end = from;

	while (end < len && strace_is_digit(text[end]))
		end++;
	return end > from && len - end >= 2 && text[end] == ']' && text[end + 1] == ' ' ? end + 2
											: 0;
}

/* "[00007fd30c74bb1d] ", "[0x401252] ", "[????????????????] " */
static size_t instruction_pointer(const char *text, size_t len, size_t at)
{
	bool has_0x = len - at > 3 && text[at + 1] == '0' && text[at + 2] == 'x';
	size_t from = at + (has_0x ? 3 : 1), end = from;
	bool is_unknown = from < len && text[from] == '?';

	while (end < len && (is_unknown ? text[end] == '?' : is_hex_digit(text[end])))
		end++;
	if (end == from || (!has_0x && !is_unknown && (end - from < 8 || end - from > 16)))
		return 0;
	return len - end >= 2 && text[end] == ']' && text[end + 1] == ' ' ? end + 2 : 0;
}

/* "[unconfined_t] " */
static size_t security_context(const char *text, size_t len, size_t at)
{
	const char *close;
	char first = at + 1 < len ? text[at + 1] : ' ';

	if (!((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_'))
		return 0;
	close = memchr(text + at, ']', len - at);
	return close && close + 1 < text + len && close[1] == ' ' ? (size_t)(close - text) + 2 : 0;
}

void strace_prefix(const char *text, size_t len, struct strace_prefix *out)
{
	size_t at = 0, next;

	*out = (struct strace_prefix) { .tid = TL_ID_NONE };
	if (len && text[0] == '[') {
		at = bracketed_pid(text, len, 0, out);
		out->is_bracketed = at != 0;
	} else if (len && strace_is_digit(text[0])) {
		at = plain_pid(text, len, out);
	}
	if (at < len && text[at] == '[' && (next = security_context(text, len, at)))
		at = next;
	if (at < len && (strace_is_digit(text[at]) || text[at] == ' ')) {
		next = time_of_day(text, len, at, out);
		if (!next)
			next = decimal_time(text, len, at, out);
		at = next ? next : at;
	}
	if (len - at > 2 && text[at] == '(' && text[at + 1] == '+' &&
	    (next = relative_too(text, len, at))) {
		out->has_relative_too = true;
		at = next;
	}
	if (at < len && text[at] == '[' && (next = call_number(text, len, at))) {
		out->has_number = true;
		at = next;
	}
	if (at < len && text[at] == '[' && (next = instruction_pointer(text, len, at))) {
		out->has_ip = true;
		at = next;
	}
	out->length = at;
}

size_t strace_find_bracket(const char *text, size_t len)
{
	struct strace_prefix ignored;

	for (size_t at = 0; at < len; at++) {
		const char *open = memmem(text + at, len - at, "[pid ", 5);

		if (!open)
			break;
		at = (size_t)(open - text);
		if (bracketed_pid(text, len, at, &ignored))
			return at;
	}
	return len;
}
