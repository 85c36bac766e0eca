/*
 * csv_record.c - lines of tables (comma, semicolon, tab, or one JSON object a line) as fields. Knows
 * no kind of table.
 */
#include "csv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "reader.h"

enum {
	PATH_MAX_LENGTH = 96,
	NESTING_MAX = 3,
	FIELDS_WITH_PATH = (CSV_FIELDS_MAX + 1) * (NESTING_MAX + 1)
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

char csv_separator(const char *line, size_t len)
{
	size_t tabs = 0, commas = 0, semicolons = 0;
	bool in_quotes = false;

	for (size_t i = 0; i < len; i++) {
		in_quotes ^= line[i] == '"';
		tabs += !in_quotes && line[i] == '\t';
		commas += !in_quotes && line[i] == ',';
		semicolons += !in_quotes && line[i] == ';';
	}
	if (tabs > commas && tabs > semicolons)
		return '\t';
	return semicolons > commas ? ';' : ',';
}

static void add_field(struct csv_record *r, const char *text, size_t len)
{
	while (len && is_blank(*text)) {
		text++;
		len--;
	}
	while (len && is_blank(text[len - 1]))
		len--;
	if (r->count == CSV_FIELDS_MAX) {
		r->is_too_wide = true;
		return;
	}
	r->fields[r->count].text = text;
	r->fields[r->count++].length = len;
}

/* A quoted field from its quote on: its end, behind the closing quote; doubled ones are one. */
static size_t quoted(const char *line, size_t len, size_t at, struct csv_record *r,
		     struct tl_text *buffer)
{
	size_t start = buffer->length;

	for (at++; at < len; at++) {
		if (line[at] != '"')
			tl_text_add(buffer, line + at, 1);
		else if (at + 1 < len && line[at + 1] == '"')
			tl_text_add(buffer, line + at++, 1);
		else
			break;
	}
	r->has_open_quote = at >= len;
	if (!buffer->failed)
		add_field(r, buffer->data ? buffer->data + start : "", buffer->length - start);
	return at < len ? at + 1 : len;
}

/* The buffer must not move while fields point into it. */
static void reserve(struct tl_text *buffer, size_t len)
{
	static const char blanks[64] = { 0 };

	buffer->length = 0;
	while (buffer->capacity <= len && !buffer->failed)
		tl_text_add(buffer, blanks, sizeof(blanks));
	buffer->length = 0;
}

void csv_split(const char *line, size_t len, char separator, struct csv_record *r,
	       struct tl_text *buffer)
{
	size_t at = 0, start;

	r->count = 0;
	r->has_open_quote = r->is_too_wide = false;
	reserve(buffer, len + 1);
	while (at <= len && !buffer->failed) {
		for (start = at; at < len && line[at] == ' '; at++)
			;
		if (at < len && line[at] == '"') {
			at = quoted(line, len, at, r, buffer);
			while (at < len && line[at] != separator)
				at++;
		} else {
			while (at < len && line[at] != separator)
				at++;
			add_field(r, line + start, at - start);
		}
		at++;
		/* a tab behind the last field of a line with commas is trimmed; one of its own ends it */
	}
}

void csv_split_plain(const char *line, size_t len, char separator, struct csv_record *r)
{
	size_t at = 0;

	r->count = 0;
	r->has_open_quote = r->is_too_wide = false;
	while (at <= len) {
		const char *next = memchr(line + at, separator, len - at);
		size_t end = next ? (size_t)(next - line) : len;

		add_field(r, line + at, end - at);
		at = end + 1;
	}
}

/* ---- one JSON object a line ----------------------------------------------------------------- */

struct json {
	const char *text;
	size_t length, at;
};

static void skip_blanks(struct json *j)
{
	while (j->at < j->length && is_blank(j->text[j->at]))
		j->at++;
}

static bool take(struct json *j, char c)
{
	skip_blanks(j);
	if (j->at >= j->length || j->text[j->at] != c)
		return false;
	j->at++;
	return true;
}

/* Escapes but for \" and \\ and \/ stay as they are: no name or number needs them. */
static bool json_string(struct json *j, struct tl_text *buffer)
{
	if (!take(j, '"'))
		return false;
	for (; j->at < j->length && j->text[j->at] != '"'; j->at++) {
		if (j->text[j->at] == '\\' && j->at + 1 < j->length &&
		    memchr("\"\\/", j->text[j->at + 1], 3))
			j->at++;
		tl_text_add(buffer, j->text + j->at, 1);
	}
	if (j->at >= j->length || buffer->failed)
		return false;
	j->at++;
	return true;
}

static bool json_string_value(struct json *j, struct csv_record *r, struct tl_text *buffer)
{
	size_t start = buffer->length;

	if (!json_string(j, buffer))
		return false;
	add_field(r, buffer->data ? buffer->data + start : "", buffer->length - start);
	return true;
}

/* Numbers and words as written; arrays and objects as their text. */
static bool json_value(struct json *j, struct csv_record *r, struct tl_text *buffer)
{
	size_t start, depth = 0;
	bool in_string = false;

	skip_blanks(j);
	if (j->at < j->length && j->text[j->at] == '"')
		return json_string_value(j, r, buffer);
	for (start = j->at; j->at < j->length; j->at++) {
		char c = j->text[j->at];

		if (in_string && c == '\\' && j->at + 1 < j->length)
			j->at++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '{' || c == '['))
			depth++;
		else if (!in_string && !depth && (c == ',' || c == '}'))
			break;
		else if (!in_string && (c == '}' || c == ']'))
			depth--;
	}
	add_field(r, j->text + start, j->at - start);
	return j->at < j->length && j->at > start;
}

/* An object in an object: its members are fields, too, named with the path to them. */
struct nesting {
	struct csv_record *keys, *values;
	struct tl_text *buffer;
	char path[PATH_MAX_LENGTH];
	size_t path_length;
	int depth;
};

static bool json_members(struct json *j, struct nesting *n);

static bool json_member_value(struct json *j, struct nesting *n, size_t key_start)
{
	size_t key_length = n->buffer->length - key_start, before = n->path_length;
	const char *key = n->buffer->data + key_start;
	size_t count = n->keys->count;
	bool is_whole;

	skip_blanks(j);
	if (j->at >= j->length || j->text[j->at] != '{' || n->depth == NESTING_MAX ||
	    key_length + 1 > sizeof(n->path) || n->keys->count >= CSV_FIELDS_MAX / 2) {
		add_field(n->keys, key, key_length);
		return json_value(j, n->values, n->buffer);
	}
	memcpy(n->path, key, key_length);
	n->path[key_length] = '.';
	n->path_length = key_length + 1;
	n->depth++;
	is_whole = json_members(j, n);
	n->depth--;
	n->path_length = before;
	if (n->keys->count == count)
		n->buffer->length = key_start; /* an empty object leaves nothing */
	return is_whole;
}

static bool json_members(struct json *j, struct nesting *n)
{
	if (!take(j, '{'))
		return false;
	if (take(j, '}'))
		return true;
	do {
		size_t start = n->buffer->length;

		tl_text_add(n->buffer, n->path, n->path_length);
		if (!json_string(j, n->buffer) || !take(j, ':') || !json_member_value(j, n, start))
			return false;
	} while (!n->keys->is_too_wide && take(j, ','));
	return !n->keys->is_too_wide && take(j, '}');
}

bool csv_split_json(const char *line, size_t len, struct csv_record *keys,
		    struct csv_record *values, struct tl_text *buffer)
{
	struct json j = { .text = line, .length = len };
	struct nesting n = { .keys = keys, .values = values, .buffer = buffer };

	keys->count = values->count = 0;
	keys->is_too_wide = values->is_too_wide = false;
	keys->has_open_quote = values->has_open_quote = false;
	/* a member has the path before its key, and so have the objects around it */
	reserve(buffer,
		len + 1 + (len < FIELDS_WITH_PATH ? len : FIELDS_WITH_PATH) * PATH_MAX_LENGTH);
	if (!json_members(&j, &n))
		return false;
	skip_blanks(&j);
	return j.at == len && keys->count == values->count;
}

/* ---- fields --------------------------------------------------------------------------------- */

bool csv_is(const struct csv_field *field, const char *word)
{
	return strlen(word) == field->length && !strncasecmp(field->text, word, field->length);
}

bool csv_is_missing(const struct csv_field *field)
{
	return !field->length || csv_is(field, "n/a") || csv_is(field, "na") ||
	       csv_is(field, "null") || csv_is(field, "none") || csv_is(field, "nan") ||
	       csv_is(field, "-");
}

bool csv_time(const struct csv_field *field, int64_t unit_ns, int64_t *ns)
{
	return field->length &&
	       tl_parse_time(field->text, field->length, unit_ns, ns) == field->length;
}

bool csv_integer(const struct csv_field *field, int64_t *value)
{
	size_t n = field->length, digits = 0;
	uint64_t number;

	while (digits < n && field->text[digits] >= '0' && field->text[digits] <= '9')
		digits++;
	if (digits < n) { /* pandas writes "3.0" where a column has a hole */
		for (size_t i = digits + 1; i < n; i++)
			if (field->text[i] != '0')
				return false;
		if (field->text[digits] != '.')
			return false;
	}
	if (!digits || tl_parse_u64(field->text, digits, 10, &number) != digits ||
	    number > INT64_MAX)
		return false;
	*value = (int64_t)number;
	return true;
}

/* A number that JSON knows as one keeps its digits. */
static bool is_json_number(const struct csv_field *field)
{
	const char *t = field->text;
	size_t n = field->length, at = n && t[0] == '-', digits = at;
	int64_t ignored;

	if (!n || n > 64 || tl_parse_time(t, n, 1, &ignored) != n)
		return false;
	while (digits < n && t[digits] >= '0' && t[digits] <= '9')
		digits++;
	if (digits == at || (t[at] == '0' && digits > at + 1))
		return false;
	return digits == n ||
	       (t[digits] == '.' && digits + 1 < n && t[n - 1] != '.' && t[digits + 1] >= '0' &&
		t[digits + 1] <= '9') ||
	       t[digits] == 'e' || t[digits] == 'E';
}

void csv_detail(struct tl_text *out, const struct csv_record *names,
		const struct csv_record *values, const bool *used)
{
	out->length = 0;
	for (size_t i = 0; i < names->count && i < values->count; i++) {
		if ((used && used[i]) || csv_is_missing(&values->fields[i]))
			continue;
		tl_text_puts(out, out->length ? "," : "{");
		tl_text_json(out, names->fields[i].text, names->fields[i].length);
		tl_text_puts(out, ":");
		if (is_json_number(&values->fields[i]))
			tl_text_add(out, values->fields[i].text, values->fields[i].length);
		else
			tl_text_json(out, values->fields[i].text, values->fields[i].length);
	}
	if (out->length)
		tl_text_puts(out, "}");
}
