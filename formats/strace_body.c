/*
 * strace_body.c - what kind of line it is, judged by what stands behind the prefix: a call, a
 * resumed call, an exit, a signal, a message of the tracer's own, or nothing of it.
 *
 * Keeps no state: one line at a time.
 */
#include "strace.h"

#include "reader.h"

/*
 * Bytes of a call's name, a bit each: letters and '_' may begin it; digits and ".@:~+-" may follow,
 * since ltrace's may hold a version ("malloc@libc.so.6").
 */
static const uint64_t name_bytes[2] = { 0x07ff680000000000, 0x47fffffe87ffffff };
static const uint64_t first_bytes[2] = { 0x0000000000000000, 0x07fffffe87fffffe };

static inline bool is_in(const uint64_t set[2], char c)
{
	return (uint8_t)c < 128 && (set[(uint8_t)c >> 6] >> (c & 63) & 1);
}

static size_t name_length(const char *text, size_t len)
{
	size_t at = 0;

	if (len == 0 || !is_in(first_bytes, text[0]))
		return 0;
	while (at < len && is_in(name_bytes, text[at]))
		at++;
	return at;
}

/* "lt->malloc(": the caller's file name, which may hold more kinds of bytes, then the function. */
static size_t name_behind_arrow(const char *text, size_t len)
{
	size_t at = 0, used;

	while (at < len && !memchr("\" ()<", text[at], 5) && (uint8_t)text[at] > ' ') {
		if (text[at] == '>')
			return 0;
		if (len - at > 2 && text[at] == '-' && text[at + 1] == '>') {
			used = at ? name_length(text + at + 2, len - at - 2) : 0;
			return used ? at + 2 + used : 0;
		}
		at++;
	}
	return 0;
}

/* Length of the name before a '(' at the begin of text, 0 if there is none. */
static size_t call_name(const char *text, size_t len)
{
	size_t used = name_length(text, len);

	if (used && used < len && text[used] == '(')
		return used;
	used = name_behind_arrow(text, len);
	return used && used < len && text[used] == '(' ? used : 0;
}

static bool starts_with(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(text, word, n) == 0;
}

static bool ends_with(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(text + len - n, word, n) == 0;
}

/* A number with an optional sign; bytes used. */
static size_t integer(const char *text, size_t len, int64_t *value)
{
	bool is_negative = len && text[0] == '-';
	uint64_t magnitude;
	size_t used = tl_parse_u64(text + is_negative, len - is_negative, 10, &magnitude);

	if (used == 0 || magnitude > INT64_MAX)
		return 0;
	*value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return used + is_negative;
}

/* "<... futex resumed>", with "#89567" before the '>' in a variant */
static void resumed(const char *text, size_t len, struct strace_body *out)
{
	static const char word[] = " resumed";
	size_t name = 5 + name_length(text + 5, len - 5), at = name;

	if (name == 5 || !starts_with(text + at, len - at, word))
		return;
	at += sizeof(word) - 1;
	if (starts_with(text + at, len - at, " #")) {
		at += 2;
		while (at < len && strace_is_digit(text[at]))
			at++;
	}
	if (at == len || text[at] != '>')
		return;
	out->kind = STRACE_RESUMED;
	out->word = (struct strace_span) { text + 5, name - 5 };
	out->rest = at + 1;
}

/* "+++ exited with 0 +++", ltrace's "+++ exited (status 0) +++", "+++ killed by SIGKILL +++" */
static void plus_line(const char *text, size_t len, struct strace_body *out)
{
	static const char *const heads[] = { "exited with ", "exited (status ",
					     "superseded by execve in pid ", "killed by " };
	static const char *const tails[] = { " +++", ") +++", " +++", " +++" };
	static const enum strace_body_kind kinds[] = { STRACE_EXITED, STRACE_EXITED,
						       STRACE_SUPERSEDED, STRACE_KILLED };
	const char *core;

	for (size_t i = 0; i < 4; i++) {
		size_t from = 4 + strlen(heads[i]), tail = strlen(tails[i]);

		if (!starts_with(text + 4, len - 4, heads[i]) || len < from + tail ||
		    !ends_with(text, len, tails[i]))
			continue;
		out->word = (struct strace_span) { text + from, len - tail - from };
		if (kinds[i] != STRACE_KILLED) {
			size_t used = integer(out->word.text, out->word.length, &out->number);

			/* "pid 7<comm>" */
			if (!used || (used < out->word.length && out->word.text[used] != '<'))
				return;
		} else {
			core = memchr(out->word.text, ' ', out->word.length);
			out->is_core_dumped = core != NULL;
			if (core)
				out->word.length = (size_t)(core - out->word.text);
		}
		out->kind = kinds[i];
		return;
	}
}

/* "--- SIGCHLD {...} ---", "--- SIGCHLD (Child exited) ---", "--- stopped by SIGSTOP ---" */
static void minus_line(const char *text, size_t len, struct strace_body *out)
{
	static const char stopped[] = "stopped by ";
	size_t at = 4, from;

	if (!ends_with(text, len, " ---"))
		return;
	if (starts_with(text, len, "--- Called exec() ")) {
		out->kind = STRACE_EXEC;
		return;
	}
	if (starts_with(text + at, len - at, stopped))
		at += sizeof(stopped) - 1;
	from = at;
	while (at < len && (strace_is_digit(text[at]) || is_in(first_bytes, text[at])))
		at++;
	if (at - from < 4 || memcmp(text + from, "SIG", 3) != 0 || text[at] != ' ')
		return;
	out->kind = STRACE_SIGNAL;
	out->word = (struct strace_span) { text + from, at - from };
}

bool strace_message(const char *text, size_t len, int32_t *pid, bool *is_attached)
{
	static const char tracer[] = "strace: ", process[] = "Process ", bits[] = "[ Process PID=";
	const char *found = len < 12 ? NULL : memmem(text, len < 256 ? len : 256, tracer, 8);
	uint64_t number;
	size_t used;

	*pid = 0;
	*is_attached = false;
	/* "strace: ", or the path that strace was called by */
	if (found && !memchr(text, ' ', (size_t)(found - text)) &&
	    !memchr(text, '(', (size_t)(found - text))) {
		len -= (size_t)(found - text) + sizeof(tracer) - 1;
		text = found + sizeof(tracer) - 1;
	} else {
		found = NULL;
	}
	if (starts_with(text, len, bits))
		return true;
	if (!starts_with(text, len, process))
		/* "attach: ptrace(PTRACE_SEIZE, 7): Operation not permitted" */
		return found && memmem(text, len, "ptrace", 6) != NULL;
	text += sizeof(process) - 1;
	len -= sizeof(process) - 1;
	used = tl_parse_u64(text, len, 10, &number);
	if (used == 0)
		return false;
	text += used;
	len -= used;
	*is_attached = starts_with(text, len, " attached");
	if (number <= STRACE_PID_MAX)
		*pid = (int32_t)number;
	return *is_attached || starts_with(text, len, " detached") ||
	       starts_with(text, len, " resumed") || starts_with(text, len, " suspended");
}

size_t strace_find_glued(const char *text, size_t len)
{
	static const char tracer[] = "strace: ";
	int32_t pid;
	bool is_attached;
	size_t at = len;

	if (len < 20 || !(ends_with(text, len, "attached") || ends_with(text, len, "detached") ||
			  text[len - 1] == ']'))
		return len;
	/* the message is short: its begin cannot be far from its end */
	for (size_t back = sizeof(tracer) - 1; back <= len && back < 128; back++) {
		at = len - back;
		if (at == 0)
			break;
		if (starts_with(text + at, back, tracer))
			return strace_message(text + at, back, &pid, &is_attached) ? at : len;
	}
	return len;
}

void strace_body(const char *text, size_t len, struct strace_body *out)
{
	int32_t pid;
	bool is_attached;
	size_t name;

	*out = (struct strace_body) { .kind = STRACE_FOREIGN };
	name = call_name(text, len);
	if (name) {
		out->kind = STRACE_CALL;
		out->word = (struct strace_span) { text, name };
		out->rest = name + 1;
		return;
	}
	if (len < 6)
		return;
	if (text[0] == '<' && memcmp(text, "<... ", 5) == 0)
		resumed(text, len, out);
	else if (text[0] == '+' && memcmp(text, "+++ ", 4) == 0)
		plus_line(text, len, out);
	else if (text[0] == '-' && memcmp(text, "--- ", 4) == 0)
		minus_line(text, len, out);
	else if (strace_message(text, len, &pid, &is_attached))
		out->kind = STRACE_MESSAGE;
}
