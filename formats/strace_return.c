/*
 * strace_return.c - how a call ends: its result, error and duration, or the mark that says why it
 * has none. Read from the right, since strings among the arguments may look like anything.
 *
 * Keeps no state: one line at a time.
 */
#include "strace.h"

#include "reader.h"

/* Steps of matching that one line may cost for each of its bytes: a hostile one must end, too. */
#define WORK_PER_BYTE 8u
#define WORK_MIN      4096u

struct matcher {
	const char *text;
	size_t len;
	uint64_t work; /* steps left */
};

static bool spend(struct matcher *m, uint64_t steps)
{
	if (m->work < steps) {
		m->work = 0;
		return false;
	}
	m->work -= steps;
	return true;
}

static bool starts_with(const struct matcher *m, size_t at, const char *word)
{
	size_t n = strlen(word);

	return m->len - at >= n && memcmp(m->text + at, word, n) == 0;
}

/* ---- the result's remarks -------------------------------------------------------------------- */

/* Behind a '"' at `at`: where the string has ended; 0 if it has no end. */
static size_t skip_string(struct matcher *m, size_t at)
{
	for (at++; at < m->len; at++) {
		if (m->text[at] == '\\')
			at++;
		else if (m->text[at] == '"')
			return at + 1;
	}
	return 0;
}

/* "(...)" at `at`, brackets nested up to `depth`: where it has ended; 0 if it has no end. */
static size_t skip_round(struct matcher *m, size_t at, int depth, bool has_strings)
{
	size_t from = at;
	int open = 1;

	for (at++; at < m->len; at++) {
		char c = m->text[at];

		if (c == '(' && ++open > depth)
			break;
		if (c == ')' && --open == 0) {
			return spend(m, at - from) ? at + 1 : 0;
		}
		if (c == '"' && open == 1 && has_strings) {
			at = skip_string(m, at);
			if (!at)
				break;
			at--;
		}
	}
	spend(m, m->len - from);
	return 0;
}

/* "ENOENT", "ERRNO_524": its length, 0 if it is none */
static size_t error_name(const struct matcher *m, size_t at)
{
	size_t from = at;

	while (at < m->len && (strace_is_digit(m->text[at]) || m->text[at] == '_' ||
			       (m->text[at] >= 'A' && m->text[at] <= 'Z')))
		at++;
	return at > from + 1 && m->text[from] == 'E' ? at - from : 0;
}

/* "28418 in strace's PID NS" inside a remark */
static void outer_pid(const char *text, size_t len, struct strace_return *out)
{
	static const char words[] = " in strace's PID NS";
	uint64_t pid;
	size_t used = tl_parse_u64(text, len, 10, &pid);

	if (used && pid <= STRACE_PID_MAX && len - used >= sizeof(words) - 1 &&
	    memcmp(text + used, words, sizeof(words) - 1) == 0)
		out->outer_pid = (int64_t)pid;
}

/* A slash, a star, text, a star and a slash */
static size_t skip_remark(struct matcher *m, size_t at, struct strace_return *out)
{
	const char *from = m->text + at + 3, *end = m->text + m->len;
	const char *close;

	if (!starts_with(m, at, "/* "))
		return 0;
	close = memmem(from, (size_t)(end - from), " */", 3);
	if (!spend(m, (uint64_t)((close ? close : end) - from)) || !close)
		return 0;
	outer_pid(from, (size_t)(close - from), out);
	return (size_t)(close - m->text) + 3;
}

/* What may stand behind the number and its path: error, remarks, a comma of a cut-off line. */
static bool match_tail(struct matcher *m, size_t at, struct strace_return *out)
{
	size_t n;

	if (at == m->len)
		return true;
	out->error.text = NULL; /* of an attempt before */
	out->is_unavailable = false;
	out->outer_pid = 0;
	if (m->text[at] == ' ' && (n = error_name(m, at + 1)) && starts_with(m, at + 1 + n, " (")) {
		size_t end = skip_round(m, at + 1 + n + 1, 2, false);

		if (!end)
			return false;
		out->error = (struct strace_span) { m->text + at + 1, n };
		at = end;
	}
	if (starts_with(m, at, " <unavailable>")) {
		out->is_unavailable = true;
		at += 14;
	}
	while (at + 1 < m->len && m->text[at] == ' ') {
		n = m->text[at + 1] == '('   ? skip_round(m, at + 1, 3, true)
		    : m->text[at + 1] == '/' ? skip_remark(m, at + 1, out)
					     : 0;
		if (!n)
			return false;
		at = n;
	}
	if (at < m->len && m->text[at] == ',')
		for (at++; at < m->len && m->text[at] == ' ';)
			at++;
	return at == m->len;
}

/* ---- the result ------------------------------------------------------------------------------ */

static bool is_hex(char c)
{
	return strace_is_digit(c) || (c >= 'a' && c <= 'f');
}

/* "?", "-1", "832", "022", "0x7f28932b7000"; length, 0 if it is none */
static size_t number(const struct matcher *m, size_t at, struct strace_return *out)
{
	const char *t = m->text + at;
	size_t len = m->len - at, n = 0, used;
	bool is_negative = len && t[0] == '-';
	uint64_t value = 0;
	unsigned base = 10;

	if (len && t[0] == '?') {
		out->is_question = true;
		return 1;
	}
	if (len > 2 && t[0] == '0' && t[1] == 'x' && is_hex(t[2])) {
		for (n = 2; n < len && is_hex(t[n]);)
			n++;
		used = tl_parse_u64(t + 2, n - 2, 16, &value) + 2;
	} else {
		n = is_negative;
		while (n < len && strace_is_digit(t[n])) {
			if (t[n] > '7')
				base = 0;
			n++;
		}
		if (n == is_negative)
			return 0;
		if (base && t[is_negative] == '0' && n - is_negative > 1) {
			/* umask's are octal */
			for (size_t i = is_negative; i < n && n - is_negative < 20; i++)
				value = value * 8 + (uint64_t)(t[i] - '0');
			used = n;
		} else {
			used = tl_parse_u64(t + is_negative, n - is_negative, 10, &value) +
			       is_negative;
		}
	}
	out->has_value = used == n; /* else it is larger than any number of the kernel's */
	out->value = is_negative ? (int64_t)-value : (int64_t)value;
	return n;
}

/* Everything behind "= ". */
static bool match_result(struct matcher *m, size_t at, struct strace_return *out)
{
	size_t n = number(m, at, out);

	if (n == 0)
		return false;
	at += n;
	if (at < m->len && m->text[at] == '<') {
		/* "3</etc/ld.so.cache>": a '>' may be part of it, so the last one that fits */
		for (size_t close = m->len; close-- > at + 1;) {
			if (!spend(m, 1))
				return false;
			if (m->text[close] == '>' && match_tail(m, close + 1, out)) {
				out->path.text = m->text + at + 1;
				out->path.length = close - at - 1;
				return true;
			}
		}
		return false;
	}
	return match_tail(m, at, out);
}

static void forget_result(struct strace_return *out)
{
	out->has_value = out->is_question = out->is_unavailable = false;
	out->value = out->outer_pid = 0;
	out->error.text = out->path.text = NULL;
	out->error.length = out->path.length = 0;
}

/* ") = " or ")      = " that ends at the '=' at `at`: where the ')' is, or SIZE_MAX. */
static size_t bracket_before(const char *text, size_t at)
{
	size_t i = at;

	while (i && text[i - 1] == ' ')
		i--;
	return i && text[i - 1] == ')' && i < at + 1 ? i - 1 : SIZE_MAX;
}

static bool find_result(struct matcher *m, bool is_ltrace, struct strace_return *out)
{
	size_t last = SIZE_MAX;

	for (size_t at = m->len; at-- > 0;) {
		size_t bracket;

		if (m->text[at] != '=' || at + 1 >= m->len || m->text[at + 1] != ' ')
			continue;
		bracket = bracket_before(m->text, at);
		if (bracket == SIZE_MAX || !spend(m, at - bracket + 8))
			continue;
		if (last == SIZE_MAX)
			last = bracket;
		if (match_result(m, at + 2, out)) {
			out->arguments = (struct strace_span) { m->text, bracket };
			return true;
		}
		forget_result(out);
	}
	/* ltrace prints what a function returns: "<void>", "\"/root\"", "nil" */
	if (is_ltrace && last != SIZE_MAX) {
		out->arguments = (struct strace_span) { m->text, last };
		return true;
	}
	return false;
}

/* ---- duration and marks ---------------------------------------------------------------------- */

/* Takes " <0.000111>" off the end. */
static size_t take_duration(const char *text, size_t len, struct strace_return *out)
{
	size_t at = len - 1, used;

	if (len < 4 || text[len - 1] != '>')
		return len;
	while (at && (strace_is_digit(text[at - 1]) || memchr(".-e+", text[at - 1], 4)))
		at--;
	if (at < 2 || text[at - 1] != '<' || text[at - 2] != ' ')
		return len;
	used = strace_decimal(text + at, len - at, &out->duration_ns, &out->duration_digits);
	if (used == len - at - 1)
		return at - 2;
	/* more than a hundred years, or less than nothing: it was printed as one all the same */
	out->duration_ns = -1;
	out->is_odd_duration = strace_is_digit(text[len - 2]);
	return out->is_odd_duration ? at - 2 : len;
}

static size_t without_word(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(text + len - n, word, n) == 0 ? len - n : SIZE_MAX;
}

/* "<unfinished ...>" or "<unfinished #89567 ...>" at the end: where it begins, or SIZE_MAX */
static size_t without_unfinished(const char *text, size_t len)
{
	size_t at = without_word(text, len, " ...>"), i;

	if (at == SIZE_MAX)
		return at;
	for (i = at; i && strace_is_digit(text[i - 1]);)
		i--;
	if (i < at && i >= 2 && text[i - 1] == '#' && text[i - 2] == ' ')
		at = i - 2;
	return without_word(text, at, "<unfinished");
}

/* "<pid changed to 7 ...>" */
static size_t without_pid_change(const char *text, size_t len)
{
	size_t at = without_word(text, len, " ...>"), i;

	if (at == SIZE_MAX)
		return at;
	for (i = at; i && strace_is_digit(text[i - 1]);)
		i--;
	return i < at ? without_word(text, i, " <pid changed to ") : SIZE_MAX;
}

/* One of the marks that stand for a result; false if there is none. */
static bool take_mark(const char *text, size_t len, struct strace_return *out)
{
	size_t at = SIZE_MAX, end = len;

	if (len && text[len - 1] == '?') {
		/* "<unfinished ...>) = ?" */
		end--;
		while (end && text[end - 1] == ' ')
			end--;
		if (end < len - 1 && end && text[--end] == '=') {
			while (end && text[end - 1] == ' ')
				end--;
			if (text[end] == ' ' && end && text[end - 1] == ')')
				at = without_unfinished(text, end - 1);
		}
		out->end = STRACE_END_NEVER;
	} else if (len >= 5 && memcmp(text + len - 5, " ...>", 5) == 0) {
		if ((at = without_unfinished(text, len)) != SIZE_MAX)
			out->end = STRACE_END_UNFINISHED;
		else if ((at = without_word(text, len, " <detached ...>")) != SIZE_MAX)
			out->end = STRACE_END_DETACHED;
		else if ((at = without_pid_change(text, len)) != SIZE_MAX)
			out->end = STRACE_END_PID_CHANGED;
		else if ((at = without_word(text, len, " <no return ...>")) != SIZE_MAX)
			out->end = STRACE_END_NO_RETURN;
	}
	if (at == SIZE_MAX)
		return false;
	if (at && text[at - 1] == ' ' &&
	    (out->end == STRACE_END_UNFINISHED || out->end == STRACE_END_NEVER))
		at--;
	out->arguments = (struct strace_span) { text, at };
	return true;
}

void strace_return(const char *text, size_t len, bool is_ltrace, struct strace_return *out)
{
	struct matcher m = { .text = text };

	*out = (struct strace_return) { .duration_ns = -1 };
	if (take_mark(text, len, out))
		return;
	m.len = take_duration(text, len, out);
	m.work = (uint64_t)m.len * WORK_PER_BYTE + WORK_MIN;
	if (find_result(&m, is_ltrace, out)) {
		out->end = STRACE_END_RETURNED;
		return;
	}
	*out = (struct strace_return) { .end = STRACE_END_NONE,
					.duration_ns = -1,
					.arguments = { text, len } };
}
