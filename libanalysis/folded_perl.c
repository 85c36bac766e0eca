/*
 * folded_perl.c - how stackcollapse-perf.pl reads the text of `perf script`: hand-written matchers
 * for its regular expressions, which backtrack where theirs do. Its losses are part of the model:
 * whoever compares with it wants the same lines.
 */
#include "folded_text.h"

#include <string.h>

struct span {
	const char *text;
	size_t len;
};

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t skip_spaces(const char *line, size_t len, size_t at)
{
	while (at < len && is_space(line[at]))
		at++;
	return at;
}

static size_t skip_digits(const char *line, size_t len, size_t at)
{
	while (at < len && is_digit(line[at]))
		at++;
	return at;
}

/*
 * The name, then one or two numbers. In Perl, with S for the slash:
 * ^(\S.+?)\s+(\d+)S*(\d+)*\s+
 */
struct head {
	struct span comm, pid, tid; /* tid.len 0: one number only */
};

static bool match_head(const char *line, size_t len, struct head *out)
{
	if (!len || is_space(line[0]))
		return false;
	for (size_t end = 2; end < len; end++) {
		size_t pid, slash, tid, last;

		if (!is_space(line[end]))
			continue;
		pid = skip_spaces(line, len, end);
		slash = skip_digits(line, len, pid);
		if (slash == pid)
			continue;
		tid = slash;
		while (tid < len && line[tid] == '/')
			tid++;
		last = skip_digits(line, len, tid);
		if (last == len || !is_space(line[last]))
			continue;
		out->comm = (struct span) { line, end };
		out->pid = (struct span) { line + pid, slash - pid };
		out->tid = (struct span) { line + tid, last - tid };
		return true;
	}
	return false;
}

/*
 * The end of the line: /:\s*(\d+)*\s+(\S+):\s*$/. Worked out backwards: the event is the last word,
 * and only blanks and one number may stand between it and a colon.
 */
static bool match_event(const char *line, size_t len, struct span *period, struct span *event)
{
	size_t word, at, digits;

	while (len && is_space(line[len - 1]))
		len--;
	if (!len || line[len - 1] != ':')
		return false;
	for (word = len; word && !is_space(line[word - 1]);)
		word--;
	if (len - word < 2 || !word)
		return false;
	*event = (struct span) { line + word, len - 1 - word };
	for (at = word; at && is_space(line[at - 1]);)
		at--;
	for (digits = at; digits && is_digit(line[digits - 1]);)
		digits--;
	*period = (struct span) { line + digits, at - digits };
	for (at = digits; period->len && at && is_space(line[at - 1]);)
		at--;
	return at && line[at - 1] == ':';
}

/* /^\s*(\w+)\s*(.+) \((.*)\)/: the last " (" that a ")" follows ends the name. */
static bool match_frame(const char *line, size_t len, struct span *pc, struct span *name,
			struct span *module)
{
	size_t begin = skip_spaces(line, len, 0), word = begin, at, open, close;

	while (word < len && is_word(line[word]))
		word++;
	if (word == begin)
		return false;
	at = skip_spaces(line, len, word);
	for (close = len; close && line[close - 1] != ')';)
		close--;
	if (close < 3)
		return false;
	for (open = close - 3; open && !(line[open] == ' ' && line[open + 1] == '(');)
		open--;
	/* the name has a character at least: blanks, then the address, give way for it */
	if (open < begin + 2)
		return false;
	if (at > open - 1)
		at = open - 1;
	*pc = (struct span) { line + begin, (at < word ? at : word) - begin };
	*name = (struct span) { line + at, open - at };
	*module = (struct span) { line + open + 2, close - 1 - (open + 2) };
	return true;
}

static const char *find(struct span text, const char *what)
{
	return text.len ? memmem(text.text, text.len, what, strlen(what)) : NULL;
}

static bool is_equal(struct span text, const char *what)
{
	return text.len == strlen(what) && !memcmp(text.text, what, text.len);
}

/* s/\+0x[\da-f]+$// */
static void strip_offset(struct span *name)
{
	size_t at = name->len;

	while (at && (is_digit(name->text[at - 1]) ||
		      (name->text[at - 1] >= 'a' && name->text[at - 1] <= 'f')))
		at--;
	if (at < name->len && at >= 3 && !memcmp(name->text + at - 3, "+0x", 3))
		name->len = at - 3;
}

/* A Go method, "net/http.(*Client).Do", keeps its parentheses: /\.\(.*\)\./ */
static bool is_go_method(struct span name)
{
	const char *open = find(name, ".(");

	return open &&
	       find((struct span) { open + 2, (size_t)(name.text + name.len - open - 2) }, ").");
}

/* Where the arguments begin: the first "(" but for those of anonymous namespaces. */
static size_t before_arguments(struct span name)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t skip = sizeof(anonymous) - 1;

	if (is_go_method(name))
		return name.len;
	for (size_t at = 0; at < name.len; at++)
		if (name.text[at] == '(' &&
		    (name.len - at < skip || memcmp(name.text + at, anonymous, skip)))
			return at;
	return name.len;
}

static void add_tidy(struct tl_text *out, struct span name, bool is_java)
{
	size_t len = before_arguments(name);
	size_t at = 0;

	while (at < len && (name.text[at] == '"' || name.text[at] == '\''))
		at++;
	if (is_java && at < len && name.text[at] == 'L' && memchr(name.text, '/', len))
		at++;
	for (; at < len; at++) {
		char c = name.text[at];

		if (c == ';')
			tl_text_add(out, ":", 1);
		else if (c != '"' && c != '\'')
			tl_text_add(out, &c, 1);
	}
}

/* m:/tmp/perf-\d+\.map: */
static bool is_perf_map(struct span module)
{
	const char *at = module.text, *end = module.text + module.len;

	while ((at = find((struct span) { at, (size_t)(end - at) }, "/tmp/perf-"))) {
		size_t digits = (size_t)(at - module.text) + 10;
		size_t after = skip_digits(module.text, module.len, digits);

		if (after > digits && module.len - after >= 4 &&
		    !memcmp(module.text + after, ".map", 4))
			return true;
		at++;
	}
	return false;
}

/* m/(^\[|vmlinux$)/ and !~ /unknown/ */
static bool is_kernel(struct span module)
{
	bool is_vmlinux = module.len >= 7 && !memcmp(module.text + module.len - 7, "vmlinux", 7);

	return ((module.len && module.text[0] == '[') || is_vmlinux) && !find(module, "unknown");
}

static void add_piece(struct tl_text *out, const struct tl_folded_rules *rules, struct span piece,
		      struct span pc, struct span module, bool is_inlined, bool is_java)
{
	struct tl_text unnamed = { 0 };
	size_t begin = out->length;
	struct span written;

	if (is_equal(piece, "[unknown]")) {
		const char *slash = module.len ? memrchr(module.text, '/', module.len) : NULL;
		struct span base = module;

		if (is_equal(module, "[unknown]"))
			base = (struct span) { "unknown", 7 };
		else if (slash)
			base = (struct span) { slash + 1,
					       (size_t)(module.text + module.len - slash - 1) };
		tl_text_add(&unnamed, "[", 1);
		tl_text_add(&unnamed, base.text, base.len);
		if (rules->show_addresses) {
			tl_text_add(&unnamed, " <", 2);
			tl_text_add(&unnamed, pc.text, pc.len);
			tl_text_add(&unnamed, ">", 1);
		}
		tl_text_add(&unnamed, "]", 1);
		out->failed |= unnamed.failed;
		piece = (struct span) { unnamed.data, unnamed.length };
	}
	add_tidy(out, piece, is_java);
	tl_text_release(&unnamed);
	if (out->failed)
		return;
	written = (struct span) { out->data + begin, out->length - begin };
	if (is_inlined) {
		if (!find(written, "_[i]"))
			tl_text_puts(out, "_[i]");
	} else if (rules->annotate_kernel && is_kernel(module)) {
		tl_text_puts(out, "_[k]");
	} else if (rules->annotate_jit && is_perf_map(module)) {
		if (!find(written, "_[j]"))
			tl_text_puts(out, "_[j]");
	}
}

/* "outer->inner" is how Java maps write inlined methods; empty pieces at the end vanish. */
static bool add_pieces(struct tl_text *out, const struct tl_folded_rules *rules, struct span pc,
		       struct span name, struct span module, bool is_java)
{
	bool is_first = true;

	while (name.len >= 2 && !memcmp(name.text + name.len - 2, "->", 2))
		name.len -= 2;
	if (!name.len)
		return false;
	for (;;) {
		const char *arrow = find(name, "->");
		struct span piece = { name.text, arrow ? (size_t)(arrow - name.text) : name.len };

		if (!is_first)
			tl_text_add(out, ";", 1);
		add_piece(out, rules, piece, pc, module, !is_first, is_java);
		is_first = false;
		if (!arrow)
			return true;
		name.len -= piece.len + 2;
		name.text = arrow + 2;
	}
}

/* A name that begins with "(" is skipped: it was meant for process names. */
static bool add_frame(struct tl_text *out, const struct tl_folded_rules *rules, struct span pc,
		      struct span name, struct span module, bool is_java)
{
	strip_offset(&name);
	if (name.len && name.text[0] == '(')
		return false;
	return add_pieces(out, rules, pc, name, module, is_java);
}

bool tl_perl_frame(struct tl_text *out, const struct tl_folded_rules *rules, const char *line,
		   size_t len, bool is_java)
{
	struct span pc, name, module;

	if (!match_frame(line, len, &pc, &name, &module))
		return false;
	return add_frame(out, rules, pc, name, module, is_java);
}

bool tl_perl_filter(const char *line, size_t len, struct tl_text *filter)
{
	struct span period, event;
	struct head head;

	if (!len || line[0] == '#' || !match_head(line, len, &head) ||
	    !match_event(line, len, &period, &event))
		return false;
	tl_text_add(filter, event.text, event.len);
	return true;
}

static void add_root(struct tl_text *root, const struct tl_folded_rules *rules,
		     const struct head *head)
{
	size_t begin = root->length;
	struct span pid = head->pid, tid = head->tid;

	/* one number, or a second one that Perl takes for false */
	if (!tid.len || is_equal(tid, "0")) {
		tid = pid;
		pid = (struct span) { "?", 1 };
	}
	tl_text_add(root, head->comm.text, head->comm.len);
	if (rules->root == TL_ROOT_PID || rules->root == TL_ROOT_TID) {
		tl_text_add(root, "-", 1);
		tl_text_add(root, pid.text, pid.len);
	}
	if (rules->root == TL_ROOT_TID) {
		tl_text_add(root, "/", 1);
		tl_text_add(root, tid.text, tid.len);
	}
	for (size_t i = begin; !root->failed && i < root->length; i++)
		if (root->data[i] == ' ')
			root->data[i] = '_';
}

/*
 * The head matches inside "comm pid/tid " or, for names that the expression does not expect,
 * somewhere in time and period: then every sample has a name of its own.
 */
static enum tl_folded_head head_of_prefix(const struct tl_folded_rules *rules,
					  const struct tl_folded_sample *sample,
					  struct tl_text *prefix, struct head *head)
{
	if (!sample->has_callchain)
		return TL_HEAD_LOST; /* its name is in a column: the line begins with blanks */
	tl_folded_script_ids(prefix, rules->compat, sample);
	if (prefix->failed)
		return TL_HEAD_LOST;
	if (prefix->data[0] == '#' || is_space(prefix->data[0]))
		return TL_HEAD_LOST;
	if (!match_head(prefix->data, prefix->length, head))
		return TL_HEAD_PER_SAMPLE;
	return TL_HEAD_STACK;
}

enum tl_folded_head tl_perl_head(const struct tl_folded_rules *rules, const char *filter,
				 const struct tl_folded_sample *sample, struct tl_text *root,
				 bool *uses_period)
{
	struct tl_text prefix = { 0 }, tail = { 0 };
	struct span period, event;
	struct head head;
	enum tl_folded_head kind = head_of_prefix(rules, sample, &prefix, &head);

	*uses_period = false;
	if (kind != TL_HEAD_STACK)
		goto out;
	if (rules->compat != TL_COMPAT_PERL_TRACE || !sample->has_trace)
		tl_text_printf(&tail, ": 1 %s: ", sample->event);
	if (tail.length && match_event(tail.data, tail.length, &period, &event)) {
		*uses_period = period.len > 0;
		if (filter && !is_equal(event, filter))
			kind = TL_HEAD_FILTERED;
	}
	if (kind == TL_HEAD_STACK)
		add_root(root, rules, &head);
out:
	if (prefix.failed || tail.failed)
		root->failed = true;
	tl_text_release(&prefix);
	tl_text_release(&tail);
	return kind;
}

/* ---- the main loop of the script ---- */

static uint64_t number(struct span digits)
{
	uint64_t value = 0;

	for (size_t i = 0; i < digits.len; i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(digits.text[i] - '0'), &value))
			return UINT64_MAX;
	return value;
}

static void read_head(struct tl_folded_reader *reader, const struct head *head, const char *line,
		      size_t len)
{
	struct span period = { line, 0 }, event;

	if (match_event(line, len, &period, &event)) {
		if (!reader->has_filter) {
			tl_text_add(&reader->filter, event.text, event.len);
			reader->has_filter = true;
		} else if (!is_equal(event, reader->filter.data ? reader->filter.data : "")) {
			return;
		}
	} else {
		period.len = 0;
	}
	/* "" and "0" are false, "00" is not: it adds nothing */
	reader->weight = !period.len || is_equal(period, "0") ? 1 : number(period);
	reader->root.length = 0;
	add_root(&reader->root, &reader->rules, head);
	reader->has_root = true;
}

int tl_perl_read_line(struct tl_folded_reader *reader, const char *line, size_t len,
		      struct tl_error *err)
{
	struct span pc, name, module;
	struct head head;
	bool is_java;

	if (len && line[0] == '#')
		return TL_OK;
	if (!len) {
		if (!reader->has_root)
			return TL_OK;
		reader->has_root = false;
		return tl_folded_reader_flush(reader, err);
	}
	if (match_head(line, len, &head)) {
		read_head(reader, &head, line, len);
		return TL_OK;
	}
	if (!match_frame(line, len, &pc, &name, &module)) {
		reader->lost_lines++;
		return TL_OK;
	}
	if (!reader->has_root)
		return TL_OK;
	is_java = reader->root.length >= 4 && !memcmp(reader->root.data, "java", 4);
	if (!add_frame(&reader->frames, &reader->rules, pc, name, module, is_java))
		return TL_OK;
	return tl_folded_reader_mark(reader, err);
}
