/*
 * folded_inferno.c - how inferno-collapse-perf 0.12.8 reads the text of `perf script`. It splits at
 * blanks and colons where the Perl matches expressions; its losses are part of the model too.
 */
#include "folded_text.h"

#include <string.h>

struct span {
	const char *text;
	size_t len;
};

/* Bytes of the white space character (Unicode White_Space) at text, or 0. */
static size_t white_length(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;

	if (!len)
		return 0;
	if (p[0] == ' ' || (p[0] >= '\t' && p[0] <= '\r'))
		return 1;
	if (len >= 2 && p[0] == 0xc2 && (p[1] == 0x85 || p[1] == 0xa0))
		return 2;
	if (len < 3)
		return 0;
	if (p[0] == 0xe2 && p[1] == 0x80 &&
	    ((p[2] >= 0x80 && p[2] <= 0x8a) || p[2] == 0xa8 || p[2] == 0xa9 || p[2] == 0xaf))
		return 3;
	if ((p[0] == 0xe1 && p[1] == 0x9a && p[2] == 0x80) ||
	    (p[0] == 0xe2 && p[1] == 0x81 && p[2] == 0x9f) ||
	    (p[0] == 0xe3 && p[1] == 0x80 && p[2] == 0x80))
		return 3;
	return 0;
}

static struct span trim_start(struct span s)
{
	size_t n;

	while ((n = white_length(s.text, s.len))) {
		s.text += n;
		s.len -= n;
	}
	return s;
}

static struct span trim_end(struct span s)
{
	for (;;) {
		size_t n = 0;

		for (size_t want = 1; want <= 3 && want <= s.len && !n; want++)
			if (white_length(s.text + s.len - want, want) == want)
				n = want;
		if (!n)
			return s;
		s.len -= n;
	}
}

static struct span trim(struct span s)
{
	return trim_end(trim_start(s));
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_equal(struct span s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.text, text, s.len);
}

static bool begins_with(struct span s, const char *text)
{
	return s.len >= strlen(text) && !memcmp(s.text, text, strlen(text));
}

static bool ends_with(struct span s, const char *text)
{
	size_t n = strlen(text);

	return s.len >= n && !memcmp(s.text + s.len - n, text, n);
}

static const char *find(struct span s, const char *what)
{
	return s.len ? memmem(s.text, s.len, what, strlen(what)) : NULL;
}

static const char *find_last(struct span s, const char *what)
{
	const char *last = NULL, *at = s.text;

	while ((at = find((struct span) { at, (size_t)(s.text + s.len - at) }, what)))
		last = at++;
	return last;
}

/* ---- the head ---- */

struct head {
	struct span comm, pid, tid;
	size_t end; /* of the numbers, and the blank after them */
};

/* The first word of digits and slashes that does not open the line holds the ids. */
static bool match_head(struct span line, struct head *out)
{
	size_t word = 0, slash = 0;
	bool is_number = false, was_blank = false, has_slash = false;

	for (size_t at = 0; at < line.len; at++) {
		char c = line.text[at];

		if (c == ' ' && is_number && !was_blank) {
			out->comm = trim((struct span) { line.text, word - 1 });
			out->pid = (struct span) { "?", 1 };
			out->tid = (struct span) { line.text + word, at - word };
			if (has_slash) {
				out->pid = (struct span) { line.text + word, slash - word };
				out->tid = (struct span) { line.text + slash + 1, at - slash - 1 };
			}
			out->end = at + 1;
			return true;
		}
		if (c == ' ') {
			word = at + 1;
			is_number = true;
		} else if (c == '/') {
			if (is_number) {
				slash = at;
				has_slash = true;
			}
		} else if (!is_digit(c)) {
			is_number = false;
			has_slash = false;
		}
		was_blank = c == ' ';
	}
	return false;
}

static bool parse_u64(struct span s, uint64_t *value)
{
	*value = 0;
	if (s.len > 1 && s.text[0] == '+') {
		s.text++;
		s.len--;
	}
	for (size_t i = 0; i < s.len; i++)
		if (!is_digit(s.text[i]) || __builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(s.text[i] - '0'), value))
			return false;
	return s.len > 0;
}

/* What stands between the colons after the ids, which are taken for those of time and event. */
struct tail {
	bool has_event, has_period, has_frame;
	struct span event, frame;
	uint64_t period;
};

static void match_tail(struct span rest, struct tail *out)
{
	const char *first = rest.len ? memchr(rest.text, ':', rest.len) : NULL, *second, *blank;
	const char *end = rest.text + rest.len;
	struct span middle;

	memset(out, 0, sizeof(*out));
	if (!first)
		return;
	second = memchr(first + 1, ':', (size_t)(end - first - 1));
	middle = (struct span) { first + 1, (size_t)((second ? second : end) - first - 1) };
	out->has_event = true;
	out->event = middle;
	blank = middle.len ? memrchr(middle.text, ' ', middle.len) : NULL;
	if (blank) {
		struct span before = { middle.text, (size_t)(blank - middle.text) };
		const char *previous = before.len ? memrchr(before.text, ' ', before.len) : NULL;

		out->event =
			(struct span) { blank + 1, (size_t)(middle.text + middle.len - blank - 1) };
		if (previous) {
			before.len -= (size_t)(previous + 1 - before.text);
			before.text = previous + 1;
		}
		out->has_period = parse_u64(before, &out->period);
	}
	if (!second)
		return;
	out->frame = (struct span) { second + 1, (size_t)(end - second - 1) };
	for (size_t i = 0; i < out->frame.len; i++)
		if (out->frame.text[i] == ':' || out->frame.text[i] == ' ') {
			out->frame.text += i + 1;
			out->frame.len -= i + 1;
			break;
		}
	out->frame = trim(out->frame);
	out->has_frame = out->frame.len > 0;
}

static void add_root(struct tl_text *root, const struct tl_folded_rules *rules,
		     const struct head *head)
{
	for (size_t i = 0; i < head->comm.len; i++)
		tl_text_add(root, head->comm.text[i] == ' ' ? "_" : head->comm.text + i, 1);
	if (rules->root == TL_ROOT_PID || rules->root == TL_ROOT_TID) {
		tl_text_add(root, "-", 1);
		tl_text_add(root, head->pid.text, head->pid.len);
	}
	if (rules->root == TL_ROOT_TID) {
		tl_text_add(root, "/", 1);
		tl_text_add(root, head->tid.text, head->tid.len);
	}
}

/*
 * Ids are found among "comm pid/tid ", and the colons after them are those of time and event: the
 * name is the same for every sample.
 */
static bool is_time_free(const struct tl_folded_sample *sample, struct span ids,
			 const struct head *head)
{
	const char *colon = strchr(sample->event, ':');

	if (head->end > ids.len || memchr(ids.text + head->end, ':', ids.len - head->end))
		return false;
	return !colon || !strpbrk(colon + 1, ": ");
}

enum tl_folded_head tl_inferno_head(const struct tl_folded_rules *rules, const char *filter,
				    const struct tl_folded_sample *sample, struct tl_text *root,
				    bool *uses_period)
{
	struct tl_text raw = { 0 }, ids = { 0 }, text = { 0 };
	enum tl_folded_head kind = TL_HEAD_PER_SAMPLE;
	struct head head;
	struct tail tail;
	struct span line;

	*uses_period = false;
	tl_folded_script_ids(&raw, rules->compat, sample);
	tl_folded_utf8(&ids, raw.data ? raw.data : "", raw.length);
	raw.length = 0;
	tl_script_head(&raw, rules->compat, sample);
	tl_folded_utf8(&text, raw.data ? raw.data : "", raw.length);
	if (raw.failed || ids.failed || text.failed) {
		root->failed = true;
		goto out;
	}
	line = trim_end((struct span) { text.data, text.length });
	/* without its head, a stack's frames are taken for heads */
	if (begins_with(line, "#") || !match_head(line, &head) ||
	    !is_time_free(sample, (struct span) { ids.data, ids.length }, &head))
		goto out;
	match_tail((struct span) { line.text + head.end, line.len - head.end }, &tail);
	*uses_period = tail.has_period;
	kind = TL_HEAD_STACK;
	if (filter && tail.has_event && !is_equal(tail.event, filter))
		kind = TL_HEAD_FILTERED;
	else
		add_root(root, rules, &head);
out:
	tl_text_release(&raw);
	tl_text_release(&ids);
	tl_text_release(&text);
	return kind;
}

bool tl_inferno_filter(const char *line, size_t len, struct tl_text *filter)
{
	struct tl_text text = { 0 };
	struct head head;
	struct tail tail;
	struct span s;
	bool is_found = false;

	tl_folded_utf8(&text, line, len);
	s = trim_end((struct span) { text.data ? text.data : "", text.length });
	if (s.len && s.text[0] != '#' && match_head(s, &head)) {
		match_tail((struct span) { s.text + head.end, s.len - head.end }, &tail);
		is_found = tail.has_event;
		if (is_found)
			tl_text_add(filter, tail.event.text, tail.event.len);
	}
	filter->failed |= text.failed;
	tl_text_release(&text);
	return is_found;
}

/* ---- frames ---- */

/* "pc name (module)": the module is the last word, so a path with a blank in it is lost. */
static bool match_frame(struct span line, struct span *pc, struct span *name, struct span *module)
{
	const char *blank, *last;

	line = trim_start(line);
	blank = line.len ? memchr(line.text, ' ', line.len) : NULL;
	if (!blank)
		return false;
	*pc = trim_end((struct span) { line.text, (size_t)(blank - line.text) });
	line.len -= (size_t)(blank + 1 - line.text);
	line.text = blank + 1;
	last = line.len ? memrchr(line.text, ' ', line.len) : NULL;
	if (!last)
		return false;
	*module = (struct span) { last + 1, (size_t)(line.text + line.len - last - 1) };
	if (module->len < 2 || module->text[0] != '(' || module->text[module->len - 1] != ')')
		return false;
	module->text++;
	module->len -= 2;
	*name = trim((struct span) { line.text, (size_t)(last - line.text) });
	if (!name->len)
		*name = (struct span) { " ", 1 };
	return true;
}

static bool is_hex(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_digit(s.text[i]) && !(s.text[i] >= 'a' && s.text[i] <= 'f') &&
		    !(s.text[i] >= 'A' && s.text[i] <= 'F'))
			return false;
	return true;
}

static void strip_offset(struct span *name)
{
	const char *offset = find_last(*name, "+0x");

	if (offset &&
	    is_hex((struct span) { offset + 3, (size_t)(name->text + name->len - offset - 3) }))
		name->len = (size_t)(offset - name->text);
}

#define RUST_HASH_LENGTH 17 /* "h" and 16 digits */

/*
 * Rust's old mangling, demangled as C++ only: "_$LT$std..fs..File$GT$::read::h<hash>". Writes the
 * repaired name and returns true; false: the name is not of that kind.
 */
static bool repair_rust(struct tl_text *out, struct span name)
{
	static const struct {
		const char *escape, *text;
	} escapes[] = { { "$SP$", "@" },  { "$BP$", "*" },  { "$RF$", "&" },  { "$LT$", "<" },
			{ "$GT$", ">" },  { "$LP$", "(" },  { "$RP$", ")" },  { "$C$", "," },
			{ "$u7e$", "~" }, { "$u20$", " " }, { "$u27$", "'" }, { "$u3d$", "=" },
			{ "$u5b$", "[" }, { "$u5d$", "]" }, { "$u7b$", "{" }, { "$u7d$", "}" },
			{ "$u3b$", ";" }, { "$u2b$", "+" }, { "$u21$", "!" }, { "$u22$", "\"" } };
	const size_t count = sizeof(escapes) / sizeof(*escapes);
	struct span hash, rest = name;

	if (name.len < RUST_HASH_LENGTH)
		return false;
	hash = (struct span) { name.text + name.len - RUST_HASH_LENGTH + 1, RUST_HASH_LENGTH - 1 };
	if (hash.text[-1] != 'h' || !is_hex(hash))
		return false;
	rest.len -= RUST_HASH_LENGTH;
	if (ends_with(rest, "::"))
		rest.len -= 2;
	if (begins_with(rest, "_$")) {
		rest.text++;
		rest.len--;
	}
	while (rest.len) {
		size_t used = 1, i = 0;

		if (begins_with(rest, "..")) {
			tl_text_add(out, "::", 2);
			used = 2;
		} else if (rest.text[0] == '$') {
			while (i < count && !begins_with(rest, escapes[i].escape))
				i++;
			used = i < count ? strlen(escapes[i].escape) : rest.len;
			if (i < count)
				tl_text_puts(out, escapes[i].text);
			else
				tl_text_add(out, rest.text, rest.len);
		} else {
			while (used < rest.len && rest.text[used] != '$' &&
			       rest.text[used] != '.' && rest.text[0] != '.')
				used++;
			tl_text_add(out, rest.text, used);
		}
		rest.text += used;
		rest.len -= used;
	}
	return true;
}

/* Arguments begin at the first "(" outside brackets that is neither Go's nor a namespace's. */
static size_t before_arguments(struct span name)
{
	int depth = 0;

	for (size_t at = 0; at < name.len; at++) {
		char c = name.text[at];

		if (c == '<' || c == '{' || c == '[') {
			depth++;
		} else if (c == '>' || c == '}' || c == ']' || c == ')') {
			depth--;
		} else if (c == '(') {
			struct span rest = { name.text + at, name.len - at };
			bool is_go = at && name.text[at - 1] == '.';

			if (!depth && !is_go && !begins_with(rest, "(anonymous namespace)"))
				return at;
			depth++;
		}
	}
	return name.len;
}

static void add_tidy(struct tl_text *out, struct span name, bool is_java)
{
	size_t len = before_arguments(name);
	size_t at = is_java && len && name.text[0] == 'L' && memchr(name.text, '/', len) ? 1 : 0;

	for (; at < len; at++)
		tl_text_add(out, name.text[at] == ';' ? ":" : name.text + at, 1);
}

static bool is_vmlinux(struct span module)
{
	const char *at = find_last(module, "vmlinux");

	if (!at)
		return false;
	for (; at < module.text + module.len; at++)
		if (!is_digit(*at) && !(*at >= 'a' && *at <= 'z') && !(*at >= 'A' && *at <= 'Z') &&
		    *at != '-' && *at != '.' && *at != '_')
			return false;
	return true;
}

static bool is_kernel(struct span module)
{
	return (begins_with(module, "[") || ends_with(module, ".ko") || is_vmlinux(module)) &&
	       !is_equal(module, "[unknown]");
}

static bool is_jit(struct span module)
{
	return (begins_with(module, "/tmp/perf-") && ends_with(module, ".map")) ||
	       (find(module, "/jitted-") && ends_with(module, ".so"));
}

static void add_unnamed(struct tl_text *out, const struct tl_folded_rules *rules, struct span pc,
			struct span module)
{
	const char *slash = find_last(module, "/");

	tl_text_add(out, "[", 1);
	if (is_equal(module, "[unknown]"))
		tl_text_puts(out, "unknown");
	else if (slash)
		tl_text_add(out, slash + 1, (size_t)(module.text + module.len - slash - 1));
	else
		tl_text_add(out, module.text, module.len);
	if (rules->show_addresses) {
		tl_text_add(out, " <", 2);
		tl_text_add(out, pc.text, pc.len);
		tl_text_add(out, ">", 1);
	}
	tl_text_add(out, "]", 1);
}

static void add_piece(struct tl_text *out, const struct tl_folded_rules *rules, struct span piece,
		      struct span pc, struct span module, bool is_inlined, bool is_java)
{
	struct tl_text unnamed = { 0 };
	size_t begin = out->length;
	struct span written;

	if (is_equal(piece, "[unknown]")) {
		add_unnamed(&unnamed, rules, pc, module);
		piece = (struct span) { unnamed.data, unnamed.length };
		out->failed |= unnamed.failed;
	}
	if (!out->failed)
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
	} else if (rules->annotate_jit && is_jit(module) && !find(written, "_[j]")) {
		tl_text_puts(out, "_[j]");
	}
}

static bool add_frame(struct tl_text *out, const struct tl_folded_rules *rules, struct span line,
		      bool is_java)
{
	struct tl_text repaired = { 0 };
	struct span pc, name, module;
	bool is_first = true;

	if (!match_frame(line, &pc, &name, &module))
		return false;
	strip_offset(&name);
	if (begins_with(name, "("))
		return false;
	if (repair_rust(&repaired, name))
		name = (struct span) { repaired.data ? repaired.data : "", repaired.length };
	out->failed |= repaired.failed;
	for (;;) {
		const char *arrow = find(name, "->");
		struct span piece = { name.text, arrow ? (size_t)(arrow - name.text) : name.len };

		if (!is_first)
			tl_text_add(out, ";", 1);
		add_piece(out, rules, piece, pc, module, !is_first, is_java);
		is_first = false;
		if (!arrow)
			break;
		name.len -= piece.len + 2;
		name.text = arrow + 2;
	}
	tl_text_release(&repaired);
	return true;
}

bool tl_inferno_frame(struct tl_text *out, const struct tl_folded_rules *rules, const char *line,
		      size_t len, bool is_java)
{
	struct tl_text text = { 0 };
	bool is_kept;

	tl_folded_utf8(&text, line, len);
	is_kept =
		text.length &&
		add_frame(out, rules, trim_end((struct span) { text.data, text.length }), is_java);
	out->failed |= text.failed;
	tl_text_release(&text);
	return is_kept;
}

/* ---- the loop of inferno ---- */

static int end_event(struct tl_folded_reader *reader, struct tl_error *err)
{
	int ret = reader->end_count ? tl_folded_reader_flush(reader, err) : TL_OK;

	reader->in_event = false;
	reader->is_skipping = false;
	reader->weight = 1;
	return ret;
}

static int read_frame(struct tl_folded_reader *reader, struct span line, struct tl_error *err)
{
	bool is_java = reader->root.length >= 4 && !memcmp(reader->root.data, "java", 4);

	if (reader->is_skipping)
		return TL_OK;
	if (!add_frame(&reader->frames, &reader->rules, line, is_java))
		return TL_OK;
	return tl_folded_reader_mark(reader, err);
}

static int read_head(struct tl_folded_reader *reader, struct span line, struct tl_error *err)
{
	struct head head;
	struct tail tail;
	int ret;

	if (!match_head(line, &head)) {
		reader->lost_lines++;
		return TL_OK;
	}
	reader->in_event = true;
	match_tail((struct span) { line.text + head.end, line.len - head.end }, &tail);
	reader->weight = tail.has_period ? tail.period : 1;
	if (tail.has_event) {
		struct tl_text *filter = &reader->filter;

		if (!reader->has_filter) {
			tl_text_add(filter, tail.event.text, tail.event.len);
			reader->has_filter = true;
		} else if (tail.event.len != filter->length ||
			   memcmp(tail.event.text, filter->data ? filter->data : "",
				  filter->length)) {
			reader->is_skipping = true;
			return TL_OK;
		}
	}
	reader->root.length = 0;
	add_root(&reader->root, &reader->rules, &head);
	if (!tail.has_frame)
		return TL_OK;
	ret = read_frame(reader, tail.frame, err);
	reader->in_event = false;
	if (ret == TL_OK && reader->end_count)
		ret = end_event(reader, err);
	return ret;
}

int tl_inferno_read_line(struct tl_folded_reader *reader, const char *line, size_t len,
			 struct tl_error *err)
{
	struct tl_text text = { 0 };
	struct span s;
	int ret;

	tl_folded_utf8(&text, line, len);
	if (text.failed) {
		tl_text_release(&text);
		return tl_fail(err, TL_NOMEM, "out of memory while folding a stack");
	}
	s = (struct span) { text.data ? text.data : "", text.length };
	if (begins_with(s, "#"))
		ret = TL_OK;
	else if (!(s = trim_end(s)).len)
		ret = end_event(reader, err);
	else if (reader->in_event)
		ret = read_frame(reader, s, err);
	else
		ret = read_head(reader, s, err);
	tl_text_release(&text);
	return ret;
}
