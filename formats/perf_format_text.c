/*
 * perf_format_text.c - checks the text of a tracepoint's format line by line and writes it anew.
 *
 * The recording brings this text, and it may be hostile: what is written holds only names, numbers
 * and declarations of shapes known to be harmless. Must not know what fields mean.
 */
#include "perf_format_text.h"

#include <ctype.h>
#include <string.h>

#include "reader.h"

#define FIELD_END_MAX	0xffffu /* a hit is shorter than 64 KiB */
#define FIELDS_MAX	256u
#define NAME_MAX_LENGTH 128u

static void skip_blanks(struct perf_text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
		t->at++;
}

static bool take(struct perf_text *t, const char *word)
{
	size_t len = strlen(word);

	skip_blanks(t);
	if ((size_t)(t->end - t->at) < len || memcmp(t->at, word, len) != 0)
		return false;
	t->at += len;
	return true;
}

static size_t word_length(const struct perf_text *t)
{
	const char *p = t->at;

	while (p < t->end && (isalnum((unsigned char)*p) || *p == '_'))
		p++;
	return p - t->at;
}

static bool take_word(struct perf_text *t, struct perf_text *word)
{
	skip_blanks(t);
	size_t len = word_length(t);
	if (len == 0 || len > NAME_MAX_LENGTH)
		return false;
	*word = (struct perf_text) { t->at, t->at + len };
	t->at += len;
	return true;
}

static bool take_number(struct perf_text *t, uint64_t max, uint64_t *value)
{
	skip_blanks(t);
	size_t used = tl_parse_u64(t->at, t->end - t->at, 10, value);
	t->at += used;
	return used > 0 && *value <= max;
}

static struct perf_text take_line(struct perf_text *t)
{
	const char *end = t->at < t->end ? memchr(t->at, '\n', t->end - t->at) : NULL;
	struct perf_text line = { t->at, end ? end : t->end };

	t->at = end ? end + 1 : t->end;
	return line;
}

/* Leaves out __attribute__((...)), of which libtraceevent 1.7 makes a mess. */
static bool skip_attribute(struct perf_text *t)
{
	unsigned depth = 0;

	skip_blanks(t);
	while (t->at < t->end) {
		char c = *t->at++;

		depth += c == '(';
		if (c == ')' && --depth == 0)
			return true;
		if (depth == 0)
			return false;
	}
	return false;
}

/*
 * Writes "char name[16]", "__data_loc char[] name", "const char * name" to `out`, normalised.
 * False if it is none of these; then `last` is the best guess for the name.
 */
static bool rewrite_declaration(struct perf_text t, struct tl_text *out, struct perf_text *last)
{
	struct perf_text word;
	unsigned words = 0;

	for (;;) {
		if (take_word(&t, &word)) {
			size_t len = word.end - word.at;

			if (len == 13 && memcmp(word.at, "__attribute__", 13) == 0) {
				if (!skip_attribute(&t))
					return false;
				continue;
			}
			/* words that libtraceevent replaces by a text of its own */
			if (len > 7 && memcmp(word.end - 7, "_PR_FMT", 7) == 0)
				return false;
			tl_text_add(out, " ", 1);
			tl_text_add(out, word.at, len);
			*last = word;
			words++;
		} else if (words && take(&t, "*")) {
			tl_text_add(out, " *", 2);
		} else {
			break;
		}
	}
	if (words >= 2 && take(&t, "[")) {
		tl_text_add(out, "[", 1);
		for (; t.at < t.end && *t.at != ']'; t.at++) {
			if (!isalnum((unsigned char)*t.at) && !memchr("_+-*/() ", *t.at, 8))
				return false;
			tl_text_add(out, t.at, 1);
		}
		if (!take(&t, "]"))
			return false;
		tl_text_add(out, "]", 1);
		if (take_word(&t, &word)) {
			tl_text_add(out, " ", 1);
			tl_text_add(out, word.at, word.end - word.at);
			*last = word;
			words++;
		}
	}
	skip_blanks(&t);
	return words >= 2 && t.at == t.end;
}

/* "field:char prev_comm[16];	offset:8;	size:16;	signed:0;" */
static bool rewrite_field(struct perf_text line, struct tl_text *out)
{
	uint64_t offset, size, is_signed = 0;
	struct perf_text last = { NULL, NULL };
	const char *semicolon;
	size_t start;

	if (!take(&line, "field") || (take(&line, "special"), !take(&line, ":")))
		return false;
	semicolon = memchr(line.at, ';', line.end - line.at);
	if (semicolon == NULL)
		return false;
	tl_text_puts(out, "\tfield:");
	start = out->length;
	bool is_plain = rewrite_declaration((struct perf_text) { line.at, semicolon }, out, &last);
	line.at = semicolon + 1;
	if (last.at == NULL || !take(&line, "offset:") ||
	    !take_number(&line, FIELD_END_MAX, &offset) || !take(&line, ";") ||
	    !take(&line, "size:") || !take_number(&line, FIELD_END_MAX, &size) ||
	    !take(&line, ";") || offset + size > FIELD_END_MAX)
		return false;
	if (take(&line, "signed:") && (!take_number(&line, 1, &is_signed) || !take(&line, ";")))
		return false;
	skip_blanks(&line);
	if (line.at != line.end)
		return false;
	if (!is_plain && !out->failed) { /* keeps its place as bytes */
		out->length = start;
		tl_text_puts(out, " struct unknown ");
		tl_text_add(out, last.at, last.end - last.at);
	}
	tl_text_printf(out, ";\toffset:%u;\tsize:%u;\tsigned:%u;\n", (unsigned)offset,
		       (unsigned)size, (unsigned)is_signed);
	return true;
}

const char *perf_format_rewrite(struct perf_text t, struct perf_format_text *out)
{
	struct perf_text line = take_line(&t);
	unsigned groups = 0, fields = 0;

	if (!take(&line, "name:") || !take_word(&line, &out->name))
		return "no name";
	line = take_line(&t);
	if (!take(&line, "ID:") || !take_number(&line, PERF_EVENT_ID_MAX, &out->id))
		return "no id from 0 to 65535";
	line = take_line(&t);
	if (!take(&line, "format:"))
		return "no fields";
	tl_text_puts(&out->rewritten, "name: x\nID: 1\nformat:\n");
	while (t.at < t.end) {
		struct perf_text rest = t;

		if (take(&rest, "print fmt:")) {
			out->print_format = rest;
			break;
		}
		line = take_line(&t);
		skip_blanks(&line);
		if (line.at == line.end) {
			if (groups++ < 1)
				tl_text_puts(&out->rewritten, "\n");
		} else if (fields++ >= FIELDS_MAX || !rewrite_field(line, &out->rewritten)) {
			return "a field that is not \"field:TYPE NAME; offset:N; size:N;\"";
		}
	}
	if (groups == 0)
		tl_text_puts(&out->rewritten, "\n");
	tl_text_puts(&out->rewritten, "\nprint fmt: \"\"\n");
	return NULL;
}
