/*
 * perf_script_line.c - a sample's first line and a frame's line, taken apart.
 *
 * Everything in them may hold blanks, digits, colons and brackets, so they are read from what cannot
 * be mistaken: the time in a first line, the outer brackets and the "+0x" in a frame. Keeps no text
 * and knows no importer.
 */
#include <string.h>

#include "perf_script.h"

#define COMM_MAX	64 /* the kernel's have 15 */
#define PADDED_COMM	16 /* "%16s": without call chains */
#define ADDRESS_COLUMNS 16

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* ---- first lines --------------------------------------------------------------------------- */

/* "157.167718:" or "157.167718436:" around the point at `dot`. *begin, *end: of it, colon included. */
static bool read_time(const char *text, size_t len, size_t dot, size_t *begin, size_t *end,
		      int64_t *ts)
{
	size_t from = dot, to = dot + 1;
	uint64_t seconds = 0, fraction = 0;

	while (from > 0 && is_digit(text[from - 1]))
		from--;
	while (to < len && is_digit(text[to]))
		to++;
	size_t digits = to - dot - 1;
	if (from == dot || dot - from > 10 || (digits != 6 && digits != 9) || to == len ||
	    text[to] != ':' || (to + 1 < len && !is_blank(text[to + 1])) ||
	    (from > 0 && !is_blank(text[from - 1])))
		return false;
	for (size_t i = from; i < dot; i++)
		seconds = seconds * 10 + (text[i] - '0');
	for (size_t i = dot + 1; i < to; i++)
		fraction = fraction * 10 + (text[i] - '0');
	if (seconds > INT64_MAX / 1000000000 - 1)
		return false;
	*ts = (int64_t)(seconds * 1000000000 + fraction * (digits == 6 ? 1000 : 1));
	*begin = from;
	*end = to + 1;
	return true;
}

/* The decimal number that ends at `end`; where it begins, or `end` if there is none. */
static size_t number_before(const char *text, size_t end, int32_t *value)
{
	size_t from = end;
	int64_t n = 0, scale = 1;

	while (from > 0 && is_digit(text[from - 1]) && end - from < 10) {
		from--;
		n += (text[from] - '0') * scale;
		scale *= 10;
	}
	if (from == end || n > INT32_MAX)
		return end;
	if (from > 0 && text[from - 1] == '-') {
		from--;
		n = -n;
	}
	*value = (int32_t)n;
	return from;
}

static size_t skip_blanks_before(const char *text, size_t end)
{
	while (end > 0 && text[end - 1] == ' ')
		end--;
	return end;
}

/* "[003]" before `end`. */
static size_t cpu_before(const char *text, size_t end, int32_t *cpu)
{
	int32_t value;
	size_t from;

	if (end < 3 || text[end - 1] != ']')
		return end;
	from = number_before(text, end - 1, &value);
	if (from == end - 1 || from == 0 || text[from - 1] != '[' || value < 0 ||
	    (from > 1 && text[from - 2] != ' '))
		return end;
	*cpu = value;
	return from - 1;
}

/* The letters of -F misc before `end`: " K " and the like. */
static size_t misc_before(const char *text, size_t end)
{
	size_t from = end;

	while (from > 0 && text[from - 1] >= 'A' && text[from - 1] <= 'Z' && end - from < 4)
		from--;
	/* only behind a number: a comm may end in such letters */
	if (from == end || from < 2 || text[from - 1] != ' ' ||
	    !(is_digit(text[from - 2]) || text[from - 2] == ' ' || text[from - 2] == ']'))
		return end;
	return skip_blanks_before(text, from);
}

/* "123", "123/456" or "-1/-1" before `end`; `end` if it is none. */
static size_t task_before(const char *text, size_t end, struct perf_script_sample_line *out,
			  size_t *pid_length)
{
	int32_t value;
	size_t from = number_before(text, end, &value);

	if (from == end)
		return end;
	*pid_length = end - from;
	if (from > 0 && text[from - 1] == '/') {
		int32_t pid;
		size_t slash = from - 1;

		from = number_before(text, slash, &pid);
		if (from == slash)
			return end;
		*pid_length = slash - from;
		out->pid = pid;
	}
	if (from > 0 && text[from - 1] != ' ')
		return end;
	out->tid = value;
	return from;
}

/*
 * The comm is what is left, "%s " or "%16s ". Blanks behind it may be its own: more than the pid's
 * column is wide. Blanks before it are padding only if it was padded.
 */
static void take_comm(struct perf_script_columns *columns, const char *text, size_t end,
		      size_t pid_length, struct perf_script_sample_line *out)
{
	size_t trimmed = skip_blanks_before(text, end), blanks = end - trimmed, begin = 0;

	if (pid_length && blanks > 0) {
		size_t width = blanks - 1 + pid_length, pad;

		if (width < columns->pid_width && width >= 5)
			columns->pid_width = width;
		pad = columns->pid_width > pid_length ? columns->pid_width - pid_length : 0;
		if (blanks > 1 + pad)
			trimmed = end - 1 - pad;
	}
	if (trimmed == PADDED_COMM)
		while (begin < trimmed && text[begin] == ' ')
			begin++;
	out->comm = (struct perf_span) { text + begin, trimmed - begin };
}

/* Before the time, or before the period or event where no time is printed. */
static bool read_task(struct perf_script_columns *columns, const char *text, size_t end,
		      struct perf_script_sample_line *out)
{
	size_t at = skip_blanks_before(text, end), before, pid_length = 0;

	at = misc_before(text, at);
	before = at;
	at = skip_blanks_before(text, cpu_before(text, at, &out->cpu));
	before = at;
	at = task_before(text, at, out, &pid_length);
	if (at == before && out->cpu < 0 && !out->has_ts)
		return false;
	take_comm(columns, text, at, at == before ? 0 : pid_length, out);
	return out->comm.length <= COMM_MAX;
}

/* "   1001001 cpu-clock: text" behind the time. */
static bool read_event(const char *text, size_t at, size_t len, struct perf_script_sample_line *out)
{
	size_t begin;

	while (at < len && is_blank(text[at]))
		at++;
	begin = at;
	while (at < len && is_digit(text[at]) && at - begin < 20)
		at++;
	if (at > begin && (at == len || is_blank(text[at]))) {
		out->has_period = true;
		for (size_t i = begin; i < at; i++)
			if (__builtin_mul_overflow(out->period, 10, &out->period) ||
			    __builtin_add_overflow(out->period, (uint64_t)(text[i] - '0'),
						   &out->period))
				return false;
		while (at < len && is_blank(text[at]))
			at++;
		begin = at;
	}
	if (len - at > 12 && memcmp(text + at, "PERF_RECORD_", 12) == 0) {
		out->has_event = out->is_record = true;
		out->event = (struct perf_span) { text + at, len - at };
		return true;
	}
	while (at < len && !is_blank(text[at]))
		at++;
	if (at == begin) /* -F without event */
		return true;
	if (text[at - 1] != ':' || at - begin < 2 || is_digit(text[begin]))
		return false;
	out->has_event = true;
	out->event = (struct perf_span) { text + begin, at - 1 - begin };
	begin = at;
	while (at < len && is_blank(text[at]))
		at++;
	while (len > at && is_blank(text[len - 1]))
		len--;
	out->rest_blanks = at - begin;
	out->rest = (struct perf_span) { text + at, len - at };
	return true;
}

/* No time was printed (-F, or a recording without): "comm 12/12 [000] 100 event: ". */
static bool read_without_time(struct perf_script_columns *columns, const char *text, size_t len,
			      struct perf_script_sample_line *out)
{
	for (size_t at = 1; at + 1 < len && at < 2 * COMM_MAX; at++) {
		struct perf_script_sample_line line = *out;

		/* after a task, where a period or an event begins */
		if (text[at] != ' ' || text[at + 1] == ' ' || text[at + 1] == '[' ||
		    !(is_digit(text[at - 1]) || text[at - 1] == ']' || text[at - 1] == ' '))
			continue;
		if (read_event(text, at, len, &line) && line.has_event &&
		    read_task(columns, text, at, &line) && line.tid != TL_ID_NONE) {
			*out = line;
			return true;
		}
	}
	return false;
}

bool perf_script_sample_line(struct perf_script_columns *columns, const char *text, size_t len,
			     struct perf_script_sample_line *out)
{
	const char *dot = text;
	size_t begin, end;

	*out = (struct perf_script_sample_line) { .pid = TL_ID_NONE, .tid = TL_ID_NONE, .cpu = -1 };
	while ((dot = memchr(dot, '.', text + len - dot)) != NULL) {
		if (read_time(text, len, dot - text, &begin, &end, &out->ts)) {
			struct perf_script_sample_line line = *out;

			line.has_ts = true;
			if (read_task(columns, text, begin, &line) &&
			    read_event(text, end, len, &line)) {
				*out = line;
				return true;
			}
		}
		if (++dot - text > 4 * COMM_MAX)
			break;
	}
	out->ts = 0;
	return read_without_time(columns, text, len, out);
}

/* ---- frames -------------------------------------------------------------------------------- */

/* Where the "(" stands that the last ")" closes, a blank before it; len if nowhere. */
static size_t find_open(const char *text, size_t len)
{
	unsigned depth = 0;

	for (size_t at = len; at-- > 0;) {
		depth += text[at] == ')';
		if (text[at] == '(' && --depth == 0) {
			if (at == 0 || is_blank(text[at - 1]))
				return at;
			break;
		}
	}
	for (size_t at = len; at-- > 1;) /* brackets of a path do not match: the last " (" */
		if (text[at] == '(' && is_blank(text[at - 1]))
			return at;
	return len;
}

/* Cuts "+0x2b" off the symbol. */
static void take_offset(struct perf_script_frame_line *out)
{
	struct perf_span *s = &out->symbol;
	size_t at = s->length;
	uint64_t value = 0;
	unsigned shift = 0;

	while (at > 0 && hex_value(s->text[at - 1]) >= 0 && shift < 64) {
		value |= (uint64_t)hex_value(s->text[--at]) << shift;
		shift += 4;
	}
	if (shift == 0 || at < 3 || memcmp(s->text + at - 3, "+0x", 3) != 0)
		return;
	out->has_offset = true;
	out->offset = value;
	s->length = at - 3;
}

/* "sym+0x2b (dso)", blanks around it left out already. */
static void take_symbol(const char *text, size_t len, struct perf_script_frame_line *out)
{
	size_t open = len && text[len - 1] == ')' ? find_open(text, len) : len;

	if (open < len) {
		out->has_dso_text = true;
		out->dso = (struct perf_span) { text + open + 1, len - open - 2 };
		len = open;
		if (perf_span_is(out->dso, "inlined")) {
			out->is_inlined = true;
			out->dso = (struct perf_span) { NULL, 0 };
		} else if (perf_span_is(out->dso, "[unknown]") || out->dso.length == 0) {
			out->dso = (struct perf_span) { NULL, 0 };
		}
		while (len > 0 && is_blank(text[len - 1]))
			len--;
	}
	out->symbol = (struct perf_span) { len ? text : NULL, len };
	if (len)
		take_offset(out);
	if (out->symbol.length == 0 || perf_span_is(out->symbol, "[unknown]"))
		out->symbol = (struct perf_span) { NULL, 0 };
}

/* Digits of an address at `at`; the number of them, 0 if it is none. */
static size_t read_address(const char *text, size_t at, size_t len, uint64_t *value)
{
	size_t begin = at;
	uint64_t n = 0;

	while (at < len && hex_value(text[at]) >= 0 && at - begin < 17)
		n = n << 4 | (uint64_t)hex_value(text[at++]);
	if (at == begin || at - begin > 16 || (at < len && !is_blank(text[at])))
		return 0;
	*value = n;
	return at - begin;
}

bool perf_script_frame_line(const char *text, size_t len, struct perf_script_frame_line *out)
{
	size_t at = 0, digits;

	memset(out, 0, sizeof(*out));
	while (at < len && is_blank(text[at]))
		at++;
	while (len > at && is_blank(text[len - 1]))
		len--;
	if (at == len)
		return false;
	bool is_indented = at > 0;
	size_t column = at - (text[0] == '\t');
	digits = read_address(text, at, len, &out->address);
	if (digits) {
		size_t next = at + digits;

		while (next < len && is_blank(text[next]))
			next++;
		/* a symbol may look like a number: "add (/bin/x)" where no address is printed */
		if (column + digits == ADDRESS_COLUMNS || next == len || text[next] != '(' ||
		    text[len - 1] != ')' || find_open(text + next, len - next) != 0) {
			out->has_address = true;
			at = next;
		} else {
			out->address = 0;
		}
	}
	take_symbol(text + at, len - at, out);
	if (!is_indented) /* white space lost on the way here: only what cannot be else */
		return out->has_address && out->has_dso_text;
	return out->has_address || out->symbol.text != NULL || out->has_dso_text;
}

bool perf_script_single_frame(const char *text, size_t len, struct perf_script_frame_line *out)
{
	size_t at = 0, digits;

	memset(out, 0, sizeof(*out));
	while (at < len && text[at] == ' ')
		at++;
	digits = read_address(text, at, len, &out->address);
	if (digits == 0 || at < 2 || at + digits < ADDRESS_COLUMNS + 1 ||
	    at + digits > ADDRESS_COLUMNS + 2)
		return false;
	out->has_address = true;
	at += digits;
	while (at < len && is_blank(text[at]))
		at++;
	take_symbol(text + at, len - at, out);
	return true;
}

static bool ends_with(struct perf_span s, const char *end)
{
	size_t len = strlen(end);

	return s.length >= len && memcmp(s.text + s.length - len, end, len) == 0;
}

static bool begins_with(struct perf_span s, const char *begin)
{
	size_t len = strlen(begin);

	return s.length >= len && memcmp(s.text, begin, len) == 0;
}

enum tl_context perf_script_context(const struct perf_script_frame_line *frame,
				    enum tl_context inner)
{
	static const char *const user[] = { "[vdso", "[vsyscall]", "[heap]",	"[stack",
					    "[anon", "[uprobes]",  "[uretprobe" };
	struct perf_span dso = frame->dso;

	if (dso.text == NULL || dso.text[0] == '(') {
		if (!frame->has_address)
			return TL_CONTEXT_UNKNOWN;
		if (inner == TL_CONTEXT_USER || frame->address < UINT64_C(1) << 63)
			return TL_CONTEXT_USER;
		return TL_CONTEXT_KERNEL;
	}
	if (begins_with(dso, "[guest.kernel"))
		return TL_CONTEXT_GUEST_KERNEL;
	if (dso.text[0] == '[') {
		for (size_t i = 0; i < sizeof(user) / sizeof(*user); i++)
			if (begins_with(dso, user[i]))
				return TL_CONTEXT_USER;
		/* simpleperf: [JIT app cache] */
		return memchr(dso.text, ' ', dso.length) ? TL_CONTEXT_USER : TL_CONTEXT_KERNEL;
	}
	if (ends_with(dso, ".ko") || ends_with(dso, ".ko.xz") || ends_with(dso, ".ko.zst") ||
	    ends_with(dso, ".ko.gz") || ends_with(dso, "vmlinux") || begins_with(dso, "vmlinux-") ||
	    begins_with(dso, "bpf_prog_") || begins_with(dso, "bpf_trampoline_") ||
	    (dso.length > 8 && memmem(dso.text, dso.length, "/vmlinux-", 9)))
		return TL_CONTEXT_KERNEL;
	return TL_CONTEXT_USER;
}
