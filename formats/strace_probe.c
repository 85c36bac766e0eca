/*
 * strace_probe.c - is it a log, and what did others put before or into its lines: colours, times of a
 * container's runtime, names of services. Judged by the file's first bytes.
 */
#include "strace.h"

#include "memory.h"

#define LINE_MAX_BYTES 1024u /* of a line that is judged without its colours */

/* ---- what is not the tracer's ---------------------------------------------------------------- */

size_t strace_plain(char *out, const char *text, size_t len)
{
	size_t used = 0, at = 0, from;

	while (at < len) {
		if (text[at] == '\033' && at + 1 < len && text[at + 1] == '[') {
			from = at + 2;
			while (from < len && (strace_is_digit(text[from]) || text[from] == ';' ||
					      text[from] == '?'))
				from++;
			if (from < len && ((text[from] | 32) >= 'a') && (text[from] | 32) <= 'z') {
				at = from + 1;
				continue;
			}
		}
		out[used++] = text[at++];
	}
	return used;
}

static bool are_digits(const char *text, size_t len, const char *pattern)
{
	size_t n = strlen(pattern);

	if (len < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (pattern[i] == '0' ? !strace_is_digit(text[i]) : text[i] != pattern[i])
			return false;
	return true;
}

/* "2026-11-30T17:28:13.890Z ", "2026-11-30T17:28:13+08:00 stderr F " */
static size_t runtime_time(const char *text, size_t len)
{
	size_t at = 19;

	if (!are_digits(text, len, "0000-00-00T00:00:00"))
		return 0;
	if (at < len && text[at] == '.')
		for (at++; at < len && strace_is_digit(text[at]);)
			at++;
	if (at < len && text[at] == 'Z')
		at++;
	else if (at < len && (text[at] == '+' || text[at] == '-') &&
		 are_digits(text + at + 1, len - at - 1, "00:00"))
		at += 6;
	if (at >= len || text[at] != ' ')
		return 0;
	at++;
	if (len - at >= 9 && !memcmp(text + at, "std", 3) && !memcmp(text + at + 6, " F ", 3))
		at += 9;
	return at;
}

/* "trainer-1  | " */
static size_t service_name(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && at < 64 &&
	       (strace_is_digit(text[at]) || memchr("-_.", text[at], 3) ||
		((text[at] | 32) >= 'a' && (text[at] | 32) <= 'z')))
		at++;
	if (at == 0)
		return 0;
	while (at < len && at < 128 && text[at] == ' ')
		at++;
	return at + 1 < len && text[at] == '|' && text[at + 1] == ' ' ? at + 2 : 0;
}

/* "[pod/trainer-0/main] " */
static size_t pod_name(const char *text, size_t len)
{
	const char *close;

	if (len < 6 || text[0] != '[' || !memcmp(text, "[pid ", 5))
		return 0;
	close = memchr(text, ']', len < 256 ? len : 256);
	return close && memchr(text, '/', (size_t)(close - text)) && close + 1 < text + len &&
			       close[1] == ' '
		       ? (size_t)(close - text) + 2
		       : 0;
}

size_t strace_front(unsigned indentation, const char *text, size_t len)
{
	size_t at = 0;

	while (at < indentation && at < len && text[at] == ' ')
		at++;
	at += pod_name(text + at, len - at);
	at += service_name(text + at, len - at);
	return at + runtime_time(text + at, len - at);
}

bool strace_is_call(const char *text, size_t len)
{
	struct strace_prefix prefix;
	struct strace_body body;
	struct strace_return result;

	while (len && (text[len - 1] == ' ' || text[len - 1] == '\r'))
		len--;
	if (!len || !memmem(text, len, ") = ", 4))
		return false;
	strace_prefix(text, len, &prefix);
	if (prefix.time == STRACE_NO_TIME)
		return false;
	strace_body(text + prefix.length, len - prefix.length, &body);
	if (body.kind != STRACE_CALL)
		return false;
	strace_return(text + prefix.length + body.rest, len - prefix.length - body.rest, false,
		      &result);
	return result.end == STRACE_END_RETURNED && result.duration_ns >= 0;
}

/* ---- judging lines --------------------------------------------------------------------------- */

struct judgement {
	unsigned good, weak, bad, tables;
};

static void judge(struct judgement *p, const char *text, size_t len, bool is_whole)
{
	struct strace_prefix prefix;
	struct strace_body body;
	struct strace_return result;

	while (len && (text[len - 1] == ' ' || text[len - 1] == '\r'))
		len--;
	if (len == 0)
		return;
	if (strace_is_table_head(text, len)) {
		p->tables++;
		return;
	}
	strace_prefix(text, len, &prefix);
	while (prefix.length && prefix.length < len && text[prefix.length] == ' ')
		prefix.length++; /* ltrace -n */
	strace_body(text + prefix.length, len - prefix.length, &body);
	switch (body.kind) {
	case STRACE_CALL:
		strace_return(text + prefix.length + body.rest, len - prefix.length - body.rest,
			      false, &result);
		if (result.end == STRACE_END_NONE && memmem(text, len, "= <void>", 8))
			result.end = STRACE_END_RETURNED; /* ltrace */
		if (result.end != STRACE_END_NONE)
			p->good++;
		else if (!is_whole || strace_find_glued(text, len) < len)
			p->weak++;
		else
			p->bad++;
		break;
	case STRACE_RESUMED:
	case STRACE_EXITED:
	case STRACE_KILLED:
	case STRACE_SUPERSEDED:
	case STRACE_EXEC:
		p->good++;
		break;
	case STRACE_SIGNAL:
	case STRACE_MESSAGE:
		p->weak++;
		break;
	case STRACE_FOREIGN:
		if (strace_span_is((struct strace_span) { text, len }, " <unfinished ...>") ||
		    strace_span_is((struct strace_span) { text, len }, " <detached ...>"))
			p->good++;
		else if (len > 3 && /* stacks, dumps */ text[0] == ' ' && strchr(">|*", text[1]) &&
			 text[2] == ' ')
			p->weak++;
		else
			p->bad++;
		break;
	}
}

/* All lines of the head; with `has_front`, without what others put before them. */
static void judge_all(struct judgement *p, const char *text, size_t len, bool has_front)
{
	const char *at = text, *end;
	unsigned indentation = 0;
	char plain[LINE_MAX_BYTES];

	*p = (struct judgement) { 0 };
	if (len == 0)
		return;
	end = text + len;
	if (has_front)
		while (indentation < len && text[indentation] == ' ')
			indentation++;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line = at, *stop = newline ? newline : end;
		size_t n = (size_t)(stop - at);

		if (n <= sizeof(plain) && memchr(line, '\033', n)) {
			n = strace_plain(plain, line, n);
			line = plain;
		}
		if (has_front) {
			size_t front = strace_front(indentation, line, n);

			line += front;
			n -= front;
		}
		judge(p, line, n, newline != NULL);
		at = newline ? newline + 1 : end;
	}
}

/* Behind a byte order mark. */
static size_t mark_length(const char *text, size_t len)
{
	return len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

bool strace_has_front(const char *head, size_t len, unsigned *indentation)
{
	struct judgement plain, behind;

	judge_all(&plain, head, len, false);
	judge_all(&behind, head, len, true);
	*indentation = 0;
	if (plain.good >= behind.good)
		return false;
	while (*indentation < len && head[*indentation] == ' ')
		++*indentation;
	return true;
}

int strace_probe(const uint8_t *bytes, size_t len)
{
	const char *head = (const char *)bytes;
	struct judgement p, behind;
	size_t mark;

	if (len == 0)
		return 0;
	if (strace_alike(head, len))
		return 60; /* to be refused by name */
	mark = mark_length(head, len);
	head += mark;
	len -= mark;
	judge_all(&p, head, len, false);
	if (p.good < p.bad) {
		judge_all(&behind, head, len, true);
		p = behind.good > p.good ? behind : p;
	}
	if (p.good == 0)
		return p.tables ? 60 : p.weak && !p.bad ? 30 : 0;
	if (p.good + p.weak >= p.bad)
		return 90;
	return p.good >= p.bad / 64 ? 40 : 4; /* words may look like calls now and then */
}

/* ---- a first line that is not whole ---------------------------------------------------------- */

/* The next line that is of the tracer; false: there is none. */
static bool next_prefix(const char **at, const char *end, unsigned indentation, bool has_front,
			struct strace_prefix *prefix)
{
	while (*at < end) {
		const char *newline = memchr(*at, '\n', (size_t)(end - *at)), *line = *at;
		size_t n = (size_t)((newline ? newline : end) - line), front;
		struct strace_body body;

		*at = newline ? newline + 1 : end;
		front = has_front ? strace_front(indentation, line, n) : 0;
		line += front;
		n -= front;
		strace_prefix(line, n, prefix);
		strace_body(line + prefix->length, n - prefix->length, &body);
		if (body.kind < STRACE_MESSAGE && newline)
			return true;
	}
	return false;
}

bool strace_is_front_cut(const char *head, size_t len, unsigned indentation, bool has_front)
{
	struct strace_prefix first, second, third;
	const char *at = head, *end = head + len;

	if (memchr(head, '\033', len) || !next_prefix(&at, end, indentation, has_front, &first) ||
	    at != (const char *)memchr(head, '\n', len) + 1 ||
	    !next_prefix(&at, end, indentation, has_front, &second) ||
	    !next_prefix(&at, end, indentation, has_front, &third))
		return false;
	if (second.time == STRACE_NO_TIME || second.time != third.time ||
	    second.time_digits != third.time_digits)
		return false;
	return first.time != second.time || first.time_digits < second.time_digits;
}
