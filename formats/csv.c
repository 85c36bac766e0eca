/*
 * csv.c - tables that people and profilers write: the header tells what kind of table it is, each
 * record becomes an event. What the columns mean is known in csv_step.c and csv_ascend.c.
 */
#include "csv.h"

#include <stdlib.h>
#include <string.h>

#include "csv_array.h"
#include "reader.h"

enum {
	RECORD_MAX = 1 << 20, /* bytes of a record whose quotes hold newlines */
	HEAD_LINES_MAX = 64   /* comments and blank lines before the header */
};

struct csv {
	struct tl_input *in;
	struct tl_import_options opt;
	struct csv_table table;
	struct tl_text record; /* a record of several lines */
	struct csv_record keys, values;
	struct tl_text buffer;
	char separator;
	bool is_json, has_header;
	bool is_array; /* the rows are objects in one array */
	struct csv_array array;
	uint64_t rows;
	uint64_t others, first_other; /* objects that are no rows */
};

int csv_column(const struct csv_record *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (csv_is(&names->fields[i], name))
			return (int)i;
	return -1;
}

int csv_emit(struct csv_table *t, struct tl_sink *sink, const struct tl_event *ev,
	     struct tl_error *err)
{
	t->events++;
	return sink->emit(sink, ev, err);
}

static const char *skip_bom(const char *text, size_t *len)
{
	if (*len < 3 || memcmp(text, "\xef\xbb\xbf", 3) != 0)
		return text;
	*len -= 3;
	return text + 3;
}

static bool is_comment(const char *text, size_t len)
{
	while (len && (*text == ' ' || *text == '\t' || *text == '\r')) {
		text++;
		len--;
	}
	return !len || *text == '#';
}

/* ---- records -------------------------------------------------------------------------------- */

static int skip_long(struct csv *c, struct tl_line *line, struct tl_error *err)
{
	uint64_t number = line->number;
	int ret = 1;

	while (line->is_partial && (ret = tl_input_line(c->in, line, err)) > 0)
		;
	if (ret < 0)
		return ret;
	tl_fail_line(err, TL_FORMAT, number, "row longer than %u bytes", TL_INPUT_LINE_MAX);
	return TL_READ_SKIPPED;
}

/* A quote that is open at the end of a line goes on in the next ones. */
static int read_more_lines(struct csv *c, struct tl_line *line, struct tl_error *err)
{
	int ret = 1;

	c->record.length = 0;
	tl_text_add(&c->record, line->text, line->length);
	while (c->values.has_open_quote && c->record.length < RECORD_MAX) {
		ret = tl_input_line(c->in, line, err);
		if (ret <= 0)
			break;
		tl_text_puts(&c->record, "\n");
		tl_text_add(&c->record, line->text, line->length);
		if (c->record.failed)
			return tl_fail(err, TL_NOMEM, "out of memory");
		/* only a line with a quote can close one */
		if (memchr(line->text, '"', line->length))
			csv_split(c->record.data, c->record.length, c->separator, &c->values,
				  &c->buffer);
	}
	if (ret < 0)
		return ret;
	if (c->values.has_open_quote) {
		tl_fail_line(err, TL_FORMAT, c->table.line, "a quote is never closed");
		return TL_READ_SKIPPED;
	}
	return TL_OK;
}

/* Names that the table keeps; a copy, since lines go away. */
static int keep_names(struct csv *c, const struct csv_record *names, struct tl_error *err)
{
	struct csv_table *t = &c->table;
	size_t at = 0;

	t->names_text.length = 0;
	for (size_t i = 0; i < names->count; i++)
		tl_text_add(&t->names_text, names->fields[i].text, names->fields[i].length);
	if (t->names_text.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	t->names.count = names->count;
	for (size_t i = 0; i < names->count; i++) {
		t->names.fields[i].text = t->names_text.data ? t->names_text.data + at : "";
		t->names.fields[i].length = names->fields[i].length;
		at += names->fields[i].length;
	}
	return TL_OK;
}

static bool same_names(const struct csv_record *a, const struct csv_record *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->fields[i].length != b->fields[i].length ||
		    memcmp(a->fields[i].text, b->fields[i].text, a->fields[i].length) != 0)
			return false;
	return true;
}

static int begin_table(struct csv *c, const struct csv_record *names, struct tl_error *err)
{
	struct csv_table *t = &c->table;
	const struct csv_kind *kind = csv_find_kind(names);
	int ret;

	if (!kind)
		return tl_fail_line(err, TL_FORMAT, t->line,
				    "the columns are none of a known table; steps are step and "
				    "duration, start, or both");
	if (kind->why_not)
		return tl_fail(err, TL_NOTHING, "is %s: %s", kind->what, kind->why_not);
	ret = keep_names(c, names, err);
	if (ret < 0)
		return ret;
	if (t->kind && t->kind != kind)
		return tl_fail_line(err, TL_FORMAT, t->line, "the kind of table changes");
	t->kind = kind;
	c->has_header = true;
	return kind->begin(t, err);
}

/* 1: a row; TL_OK: an object that is none, as a configuration is, or an evaluation between steps. */
static int read_json(struct csv *c, const struct tl_line *line, struct tl_error *err)
{
	const struct csv_kind *kind;
	int ret;

	if (!csv_split_json(line->text, line->length, &c->keys, &c->values, &c->buffer) ||
	    c->keys.is_too_wide) {
		tl_fail_line(err, TL_FORMAT, line->number, "no JSON object of a table's row");
		return TL_READ_SKIPPED;
	}
	if (c->has_header && same_names(&c->keys, &c->table.names))
		return 1;
	kind = csv_find_kind(&c->keys);
	if (!kind) {
		if (!c->others++)
			c->first_other = line->number;
		return TL_OK;
	}
	if (c->has_header && kind != c->table.kind) {
		tl_fail_line(err, TL_FORMAT, line->number, "a row without the columns of %s",
			     c->table.kind->what);
		return TL_READ_SKIPPED;
	}
	ret = begin_table(c, &c->keys, err);
	return ret == TL_OK ? 1 : ret;
}

/* Rows must be as wide as the header; empty fields behind it are what spreadsheets leave. */
static int check_width(struct csv *c, struct tl_error *err)
{
	size_t want = c->table.names.count, have = c->values.count;

	while (have > want && !c->values.fields[have - 1].length)
		have--;
	if (have == want && !c->values.is_too_wide)
		return TL_OK;
	tl_fail_line(err, TL_FORMAT, c->table.line, "a row of %zu fields under a header of %zu",
		     have, want);
	return TL_READ_SKIPPED;
}

/*
 * In most tables with tabs a quote is a byte as any other. If it begins a field, but does not make
 * the row fit the header, the row without it may.
 */
static void try_without_quotes(struct csv *c, const struct tl_line *line)
{
	size_t want = c->table.names.count;

	if ((c->values.has_open_quote || c->values.count != want) &&
	    memchr(line->text, '"', line->length)) {
		struct csv_record quoted = c->values;

		csv_split_plain(line->text, line->length, c->separator, &c->values);
		if (c->values.count != want)
			c->values = quoted;
	}
}

static const char *first_byte(const struct tl_line *line)
{
	size_t at = 0;

	while (at < line->length && memchr(" \t\r", line->text[at], 3))
		at++;
	return at < line->length ? line->text + at : "";
}

/* As next_row(). */
static int next_object(struct csv *c, struct tl_error *err)
{
	for (;;) {
		struct tl_line line = { 0 };
		int ret = csv_array_next(&c->array, c->in, &line.number, err);

		if (ret <= 0)
			return ret;
		line.text = c->array.object.data;
		line.length = c->array.object.length;
		c->table.line = line.number;
		ret = read_json(c, &line, err);
		if (ret != TL_OK)
			return ret;
	}
}

/* 1: c->values is a row; TL_OK: the end; TL_READ_SKIPPED; negative. */
static int next_row(struct csv *c, bool *is_last, struct tl_error *err)
{
	struct tl_line line;
	int ret;

	if (c->is_array)
		return next_object(c, err);
	for (;;) {
		ret = tl_input_line(c->in, &line, err);
		if (ret <= 0)
			return ret;
		c->table.line = line.number;
		if (line.number == 1)
			line.text = skip_bom(line.text, &line.length);
		if (!c->has_header && *first_byte(&line) == '[') {
			c->is_array = c->is_json = true;
			c->array.line = line;
			return next_object(c, err);
		}
		if (line.is_partial)
			return skip_long(c, &line, err);
		if (is_comment(line.text, line.length))
			continue;
		if (!c->has_header && *line.text == '{')
			c->is_json = true;
		*is_last = !line.has_newline;
		if (c->is_json) {
			ret = read_json(c, &line, err);
			if (ret == TL_OK)
				continue;
			return ret;
		}
		if (!c->has_header)
			c->separator = csv_separator(line.text, line.length);
		csv_split(line.text, line.length, c->separator, &c->values, &c->buffer);
		if (c->has_header && c->separator == '\t')
			try_without_quotes(c, &line);
		ret = c->values.has_open_quote ? read_more_lines(c, &line, err) : TL_OK;
		if (c->buffer.failed)
			return tl_fail(err, TL_NOMEM, "out of memory");
		if (ret != TL_OK)
			return ret;
		*is_last = !line.has_newline;
		if (c->has_header)
			return (ret = check_width(c, err)) == TL_OK ? 1 : ret;
		ret = begin_table(c, &c->values, err);
		if (ret < 0)
			return ret;
	}
}

/* ---- the importer --------------------------------------------------------------------------- */

static int emit_cut(struct csv *c, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic.kind = TL_DIAGNOSTIC_TRUNCATED;
	ev.diagnostic.what = "last row without a newline, perhaps cut inside its last field";
	ev.diagnostic.count = 1;
	ev.diagnostic.unit = "rows";
	ev.diagnostic.position_kind = TL_POSITION_LINE;
	ev.diagnostic.position = c->table.line;
	return sink->emit(sink, &ev, err);
}

static int emit_of_array(struct csv *c, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };
	int ret = TL_OK;

	ev.diagnostic.position_kind = TL_POSITION_LINE;
	if (c->array.too_long) {
		ev.diagnostic.kind = TL_DIAGNOSTIC_SKIPPED;
		ev.diagnostic.what = "object of more than 1048576 bytes";
		ev.diagnostic.count = c->array.too_long;
		ev.diagnostic.unit = "rows";
		ev.diagnostic.position = c->array.first_too_long;
		ret = sink->emit(sink, &ev, err);
	}
	if (ret == TL_OK && c->array.is_cut) {
		ev.diagnostic.kind = TL_DIAGNOSTIC_TRUNCATED;
		ev.diagnostic.what = "the file ends inside an object";
		ev.diagnostic.count = 1;
		ev.diagnostic.unit = "rows";
		ev.diagnostic.position = c->array.line.number;
		ret = sink->emit(sink, &ev, err);
	}
	return ret;
}

static int emit_others(struct csv *c, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	if (!c->others)
		return TL_OK;
	ev.diagnostic.kind = TL_DIAGNOSTIC_NOTE;
	ev.diagnostic.what = "objects without the members of a row";
	ev.diagnostic.count = c->others;
	ev.diagnostic.unit = "lines";
	ev.diagnostic.position_kind = TL_POSITION_LINE;
	ev.diagnostic.position = c->first_other;
	return sink->emit(sink, &ev, err);
}

static int finish(struct csv *c, struct tl_sink *sink, struct tl_error *err)
{
	int ret;

	if (!c->has_header)
		return tl_fail(err, TL_FORMAT, "no header of a table");
	ret = c->table.kind->end ? c->table.kind->end(&c->table, sink, err) : TL_OK;
	if (ret == TL_OK)
		ret = emit_others(c, sink, err);
	if (ret == TL_OK)
		ret = emit_of_array(c, sink, err);
	return ret < 0 ? ret : TL_READ_END;
}

static int csv_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct csv *c = state;
	bool is_last = false;
	int ret = next_row(c, &is_last, err);

	if (ret < 0 || ret == TL_READ_SKIPPED)
		return ret;
	if (ret == TL_OK)
		return finish(c, sink, err);
	c->rows++;
	if (is_last && !c->is_json)
		ret = emit_cut(c, sink, err);
	else
		ret = c->table.kind->row(&c->table, &c->values, sink, err);
	return ret == TL_OK ? TL_READ_MORE : ret;
}

static void csv_close(void *state)
{
	struct csv *c = state;

	if (!c)
		return;
	if (c->table.kind && c->table.kind->release)
		c->table.kind->release(&c->table);
	tl_text_release(&c->table.names_text);
	tl_text_release(&c->table.scratch);
	tl_text_release(&c->table.detail);
	tl_text_release(&c->record);
	csv_array_release(&c->array);
	tl_text_release(&c->buffer);
	free(c);
}

static int csv_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		    struct tl_error *err)
{
	struct csv *c = tl_alloc(1, sizeof(*c), err);

	*state = c;
	if (!c)
		return TL_NOMEM;
	c->in = in;
	if (opt)
		c->opt = *opt;
	if (!c->opt.want)
		c->opt.want = TL_WANT_ALL;
	c->table.opt = &c->opt;
	c->table.input = tl_input_name(in);
	c->table.modified_ns = tl_input_modified_ns(in);
	return TL_OK;
}

static bool is_known_header(const char *line, size_t len)
{
	struct csv_record *records = calloc(2, sizeof(*records));
	struct tl_text buffer = { 0 };
	bool is_known = false;

	if (!records)
		return false;
	if (len && *line == '{') {
		is_known = csv_split_json(line, len, &records[0], &records[1], &buffer) &&
			   csv_find_kind(&records[0]);
	} else {
		csv_split(line, len, csv_separator(line, len), &records[0], &buffer);
		is_known = records[0].count > 1 && !memchr(line, '{', len) &&
			   csv_find_kind(&records[0]);
	}
	tl_text_release(&buffer);
	free(records);
	return is_known;
}

/* Its first object is a row of a table of steps, and no event of a trace. */
static bool is_known_array(const char *text, size_t len)
{
	struct csv_record *records = calloc(2, sizeof(*records));
	const char *brace = memchr(text, '{', len);
	size_t size = brace ? csv_array_object_length(brace, len - (size_t)(brace - text)) : 0;
	struct tl_text object = { 0 }, buffer = { 0 };
	bool is_known = false;

	for (const char *c = text + 1; brace && c < brace; c++)
		size = memchr(" \t\r\n", *c, 4) ? size : 0;
	if (size)
		tl_text_add(&object, brace, size);
	for (size_t i = 0; size && !object.failed && i < size; i++)
		object.data[i] = object.data[i] == '\n' ? ' ' : object.data[i];
	if (records && size && !object.failed)
		is_known = csv_split_json(object.data, size, &records[0], &records[1], &buffer) &&
			   csv_find_kind(&records[0]) == &csv_steps &&
			   csv_column(&records[0], "ph") < 0;
	tl_text_release(&object);
	tl_text_release(&buffer);
	free(records);
	return is_known;
}

static int csv_probe(const uint8_t *head, size_t size)
{
	size_t left = size;
	const char *text = skip_bom((const char *)head, &left);

	for (int i = 0; i < HEAD_LINES_MAX && left; i++) {
		const char *newline = memchr(text, '\n', left);
		size_t len = newline ? (size_t)(newline - text) : left;

		if (*text == '[')
			return is_known_array(text, left) ? 85 : 0;
		if (!is_comment(text, len)) {
			bool is_known = (newline || size < 4096) && is_known_header(text, len);

			/* rows of steps may follow other objects */
			if (is_known || *text != '{')
				return is_known ? 85 : 0;
		}
		if (!newline)
			return 0;
		left -= len + 1;
		text = newline + 1;
	}
	return 0;
}

const struct tl_importer csv_importer = {
	.name = "csv",
	.summary = "tables of steps (CSV, TSV, NDJSON), and what Ascend profilers write as CSV",
	.probe = csv_probe,
	.open = csv_open,
	.read = csv_read,
	.close = csv_close,
};
