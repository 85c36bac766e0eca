/*
 * perf_trace_line.c - one line of what perf trace prints: time, duration, thread, call, result.
 *
 * Keeps no state: one line at a time.
 */
#include "perf_trace_text.h"

#include "reader.h"

#define COMM_MAX 16u

static size_t skip_blanks(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] == ' ')
		at++;
	return at;
}

static bool starts_with(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(text, word, n) == 0;
}

/* "13.957" of milliseconds; bytes used, 0 if it is none */
static size_t milliseconds(const char *text, size_t len, int64_t *ns)
{
	size_t end = 0;

	while (end < len && (strace_is_digit(text[end]) || text[end] == '.'))
		end++;
	return end && strace_is_digit(text[0]) && tl_parse_time(text, end, 1000000, ns) == end ? end
											       : 0;
}

/* "( 2.181 ms): " or "(         ): "; bytes used */
static size_t duration(const char *text, size_t len, struct perf_trace_line *out)
{
	size_t at = skip_blanks(text, len, 1), used;

	if (len == 0 || text[0] != '(')
		return 0;
	used = at < len ? milliseconds(text + at, len - at, &out->duration_ns) : 0;
	if (used) {
		if (!starts_with(text + at + used, len - at - used, " ms"))
			return 0;
		at += used + 3;
		out->has_duration = true;
	}
	return starts_with(text + at, len - at, "): ") ? at + 3 : 0;
}

/* "thr/23199 ", "23199 "; bytes used, 0: no thread is named */
static size_t thread(const char *text, size_t len, struct perf_trace_line *out)
{
	for (size_t at = 0; at < len && at <= COMM_MAX; at++) {
		uint64_t tid;
		size_t used, from = at == 0 ? 0 : at + 1;

		if (at > 0 && text[at] != '/')
			continue;
		used = tl_parse_u64(text + from, len - from, 10, &tid);
		if (!used || tid > STRACE_PID_MAX || from + used >= len || text[from + used] != ' ')
			continue;
		if (at > 0)
			out->comm = (struct strace_span) { text, at };
		out->tid = (int32_t)tid;
		return from + used + 1;
	}
	return 0;
}

static size_t name_length(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && ((text[at] >= 'a' && text[at] <= 'z') || text[at] == '_' ||
			    (text[at] >= 'A' && text[at] <= 'Z') ||
			    (at && (strace_is_digit(text[at]) || text[at] == ':'))))
		at++;
	return at;
}

/* "name(arguments)    ..." */
static bool opened(const char *text, size_t len, size_t from, struct perf_trace_line *out)
{
	size_t end = len;

	if (len < from + 4 || memcmp(text + len - 3, "...", 3) != 0)
		return false;
	for (end = len - 3; end > from && text[end - 1] == ' ';)
		end--;
	if (end == from || text[end - 1] != ')')
		return false;
	out->arguments = (struct strace_span) { text + from, end - 1 - from };
	out->kind = PERF_TRACE_OPENED;
	return true;
}

/* "...)      =": perf prints nothing for a process id of 0, as of clone on the child's side */
static bool no_result(const char *text, size_t len, struct strace_return *result)
{
	size_t at = len;

	if (at == 0 || text[--at] != '=')
		return false;
	while (at && text[at - 1] == ' ')
		at--;
	if (at == 0 || text[at - 1] != ')')
		return false;
	*result = (struct strace_return) { .end = STRACE_END_RETURNED,
					   .duration_ns = -1,
					   .arguments = { text, at - 1 } };
	return true;
}

/*
 * "...)      = CLOEXEC", "= RDWR|NONBLOCK", "= 0 Timeout", "= 29115 (sh)": results that perf says in
 * words; a number before them is the result.
 */
static bool result_in_words(const char *text, size_t len, struct strace_return *result)
{
	size_t equals = len, at, close, used;
	uint64_t number = 0;

	for (close = 0; equals > 1; equals--)
		if (text[equals - 1] == '=' && text[equals - 2] == ' ') {
			for (close = equals - 1; close && text[close - 1] == ' ';)
				close--;
			break;
		}
	if (close == 0 || text[close - 1] != ')' || equals >= len || text[equals] != ' ')
		return false;
	at = equals + 1;
	used = tl_parse_u64(text + at, len - at, 10, &number);
	if (used && (at + used == len || text[at + used] != ' '))
		used = 0;
	for (size_t i = at; i < len; i++)
		if (!memchr(used ? "|_() ./:-" : "|_", text[i], used ? 9 : 2) &&
		    !strace_is_digit(text[i]) && !((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z'))
			return false;
	*result = (struct strace_return) { .end = STRACE_END_RETURNED,
					   .duration_ns = -1,
					   .has_value = used && number <= INT64_MAX,
					   .value = used ? (int64_t)number : 0,
					   .arguments = { text, close - 1 } };
	return at < len;
}

/* What stands behind the thread. */
static void body(const char *text, size_t len, struct perf_trace_line *out)
{
	static const char again[] = " ... [continued]: ";
	bool is_continued = starts_with(text, len, again);
	size_t at = is_continued ? sizeof(again) - 1 : 0, name;

	if (starts_with(text, len, "minfault [") || starts_with(text, len, "majfault [")) {
		out->kind = PERF_TRACE_FAULT;
		return;
	}
	name = name_length(text + at, len - at);
	if (!name || at + name >= len || text[at + name] != '(')
		return;
	out->name = (struct strace_span) { text + at, name };
	if (memchr(text + at, ':', name)) { /* syscalls:sys_enter_futex(...) */
		out->kind = PERF_TRACE_EVENT;
		return;
	}
	at += name + 1;
	if (!is_continued && opened(text, len, at, out))
		return;
	strace_return(text + at, len - at, false, &out->result);
	if (out->result.end != STRACE_END_RETURNED &&
	    !no_result(text + at, len - at, &out->result) &&
	    !result_in_words(text + at, len - at, &out->result))
		return;
	out->arguments = out->result.arguments;
	if (is_continued) /* "name())": there are none */
		out->arguments.length = 0;
	out->tail.text = out->arguments.text + out->arguments.length;
	out->tail.length = (size_t)(text + len - out->tail.text);
	out->kind = is_continued ? PERF_TRACE_CONTINUED : PERF_TRACE_CALL;
}

/* Lines of -s, and those around them. */
static bool is_summary(const char *text, size_t len)
{
	static const char *const heads[] = { "Summary of events", "syscall  ", "(msec)", "-----" };
	size_t at = skip_blanks(text, len, 0);

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (starts_with(text + at, len - at, heads[i]))
			return true;
	/* "thr (23230), 115 events, 60.2%", "futex   2   0   9.672 ... 46.50%" */
	return len && text[len - 1] == '%' && text[0] == ' ';
}

/* "                                       __brk (inlined)": below the call, of --call-graph */
static bool is_frame(const char *text, size_t len, size_t blanks)
{
	const size_t blanks_min = 20; /* perf 6.1 has 39, other versions fewer */

	return blanks >= blanks_min && blanks < len &&
	       (text[len - 1] == ')' || memchr(text + blanks, ' ', len - blanks) == NULL);
}

void perf_trace_line(const char *text, size_t len, struct perf_trace_line *out)
{
	size_t at = skip_blanks(text, len, 0), used;

	*out = (struct perf_trace_line) { .kind = PERF_TRACE_FOREIGN, .tid = TL_ID_NONE };
	if (is_frame(text, len, at)) {
		out->kind = PERF_TRACE_FRAME;
		return;
	}
	if (starts_with(text, len, "LOST ") &&
	    tl_parse_u64(text + 5, len - 5, 10, &out->lost_count)) {
		out->kind = PERF_TRACE_LOST;
		return;
	}
	if (is_summary(text, len)) {
		out->kind = PERF_TRACE_SUMMARY;
		return;
	}
	if (at < len && text[at] == '?') {
		at++;
	} else {
		used = at < len ? milliseconds(text + at, len - at, &out->ts_ns) : 0;
		if (!used)
			return;
		out->has_ts = true;
		at += used;
	}
	if (at == len || text[at++] != ' ')
		return;
	used = duration(text + at, len - at, out);
	if (!used && at < len && text[at] == '(')
		return;
	at += used;
	/* events have no duration, and no brackets for one */
	at += thread(text + at, len - at, out);
	body(text + at, len - at, out);
	if (!used && out->kind != PERF_TRACE_EVENT)
		out->kind = PERF_TRACE_FOREIGN;
}

struct strace_span perf_trace_argument(struct strace_span arguments, const char *name)
{
	size_t n = strlen(name);

	for (unsigned i = 0; i < 8; i++) {
		struct strace_span a = strace_argument(arguments.text, arguments.length, i);

		if (!a.text)
			break;
		if (a.length > n + 2 && memcmp(a.text, name, n) == 0 &&
		    memcmp(a.text + n, ": ", 2) == 0)
			return (struct strace_span) { a.text + n + 2, a.length - n - 2 };
	}
	return (struct strace_span) { NULL, 0 };
}

size_t perf_trace_futex(char *out, size_t size, struct strace_span operation)
{
	static const char private[] = "|PRIVATE_FLAG", realtime[] = "|CLOCK_REALTIME",
			  short_realtime[] = "|CLKRT";
	const char *bar = memchr(operation.text, '|', operation.length);
	size_t base = bar ? (size_t)(bar - operation.text) : operation.length;
	bool is_private = memmem(operation.text, operation.length, private, sizeof(private) - 1);
	bool is_realtime =
		memmem(operation.text, operation.length, realtime, sizeof(realtime) - 1) ||
		memmem(operation.text, operation.length, short_realtime,
		       sizeof(short_realtime) - 1);
	int n = snprintf(out, size, "FUTEX_%.*s%s%s", (int)(base < 64 ? base : 64), operation.text,
			 is_private ? "_PRIVATE" : "", is_realtime ? "|FUTEX_CLOCK_REALTIME" : "");

	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}
