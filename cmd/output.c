/*
 * output.c - rows of typed cells as an aligned table, JSON or CSV. The home of jansson in cmd/.
 *
 * Tables are held back until they end, for their widths; JSON and CSV rows are printed at once.
 */
#include "output.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "memory.h"

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

struct output {
	FILE *file;
	enum format format;
	bool is_document;
	unsigned time_digits;
	size_t table_count;
	const char *key, *title; /* of the table that is open */
	const struct column *columns;
	size_t column_count;
	bool is_list;
	int64_t row_count;
	char **texts; /* TABLE: row_count * column_count */
	size_t text_count, text_capacity;
};

/* ---- cells -------------------------------------------------------------------------------- */

struct cell cell_unknown(void)
{
	return (struct cell) { 0 };
}

struct cell cell_bytes(const char *text, size_t length)
{
	return (struct cell) { .is_known = text != NULL, .text = text, .length = length };
}

struct cell cell_text(const char *text)
{
	return cell_bytes(text, text ? strlen(text) : 0);
}

struct cell cell_integer(int64_t value)
{
	return (struct cell) { .is_known = true, .integer = value };
}

struct cell cell_real(double value)
{
	return (struct cell) { .is_known = isfinite(value), .real = value };
}

struct cell cell_ns(double ns)
{
	return isfinite(ns) && fabs(ns) < 9e18 ? cell_integer(llround(ns)) : cell_unknown();
}

struct cell cell_id(int64_t id)
{
	return id >= 0 ? cell_integer(id) : cell_unknown();
}

struct cell cell_flag(bool value)
{
	return cell_integer(value);
}

/* ---- values for people -------------------------------------------------------------------- */

/* Four significant digits: "1.234", "12.34", "123.4", "1234". */
static void format_scaled(char *buf, size_t size, double value, const char *unit)
{
	double magnitude = fabs(value);
	int decimals = magnitude < 9.9995 ? 3 : magnitude < 99.995 ? 2 : magnitude < 999.95 ? 1 : 0;

	snprintf(buf, size, "%.*f %s", decimals, value, unit);
}

char *format_duration(char *buf, size_t size, int64_t ns)
{
	double magnitude = fabs((double)ns);

	if (magnitude < 1000)
		snprintf(buf, size, "%" PRId64 " ns", ns);
	else if (magnitude < 999950)
		format_scaled(buf, size, (double)ns / 1e3, "us");
	else if (magnitude < 999950000)
		format_scaled(buf, size, (double)ns / 1e6, "ms");
	else
		format_scaled(buf, size, (double)ns / 1e9, "s");
	return buf;
}

char *format_size(char *buf, size_t size, int64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes > -1024 && bytes < 1024) {
		snprintf(buf, size, "%" PRId64 " B", bytes);
		return buf;
	}
	for (; fabs(value) >= 1023.95 && unit < 5; unit++)
		value /= 1024;
	snprintf(buf, size, "%.1f %s", value, units[unit]);
	return buf;
}

char *format_time_digits(char *buf, size_t size, int64_t unix_ns, unsigned digits)
{
	int64_t fraction = unix_ns % 1000000000;
	char text[24];
	time_t seconds = unix_ns / 1000000000;
	struct tm tm;

	if (fraction < 0) {
		fraction += 1000000000;
		seconds--;
	}
	snprintf(text, sizeof(text), "%09" PRId64, fraction);
	text[digits < 6 ? digits : 6] = '\0';
	if (!gmtime_r(&seconds, &tm))
		snprintf(buf, size, "%" PRId64 " ns", unix_ns);
	else
		snprintf(buf, size, "%04d-%02d-%02d %02d:%02d:%02d%s%sZ", tm.tm_year + 1900,
			 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
			 digits ? "." : "", text);
	return buf;
}

char *format_time(char *buf, size_t size, int64_t unix_ns)
{
	return format_time_digits(buf, size, unix_ns, 6);
}

/* A new string; unknown is "-". */
static char *cell_for_people(const struct column *column, const struct cell *cell,
			     unsigned time_digits, struct tl_error *err)
{
	char buf[64] = "-";
	char *text;

	if (cell->is_known && column->kind == COLUMN_TEXT) {
		/* tl_printable never makes a text longer. */
		text = tl_alloc(1, cell->length + 1, err);
		if (text)
			tl_printable(text, cell->length + 1, cell->text, cell->length);
		return text;
	}
	if (cell->is_known) {
		switch (column->kind) {
		case COLUMN_TEXT:
			break;
		case COLUMN_INTEGER:
			snprintf(buf, sizeof(buf), "%" PRId64, cell->integer);
			break;
		case COLUMN_REAL:
			snprintf(buf, sizeof(buf), "%.4g", cell->real);
			break;
		case COLUMN_RATIO:
			snprintf(buf, sizeof(buf), "%.1f %%", 100 * cell->real);
			break;
		case COLUMN_DURATION:
			format_duration(buf, sizeof(buf), cell->integer);
			break;
		case COLUMN_TIME:
			format_time_digits(buf, sizeof(buf), cell->integer, time_digits);
			break;
		case COLUMN_SIZE:
			format_size(buf, sizeof(buf), cell->integer);
			break;
		case COLUMN_FLAG:
			snprintf(buf, sizeof(buf), "%s", cell->integer ? "yes" : "no");
			break;
		}
	}
	return tl_strdup_n(buf, strlen(buf), err);
}

void output_time_digits(struct output *output, unsigned digits)
{
	output->time_digits = digits;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* Columns on a terminal, roughly: one for each code point. */
static size_t display_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void print_padded(FILE *file, const char *text, size_t width, bool is_right, bool is_last)
{
	int padding = (int)(width - display_width(text));

	if (is_right)
		fprintf(file, "%*s%s", padding, "", text);
	else
		fprintf(file, "%s%*s", text, is_last ? 0 : padding, "");
	fputs(is_last ? "\n" : "  ", file);
}

static size_t last_shown_column(const struct output *o)
{
	size_t last = 0;

	for (size_t i = 0; i < o->column_count; i++) {
		if (!o->columns[i].is_detail)
			last = i;
	}
	return last;
}

static void print_line(struct output *o, char *const *texts, const size_t *widths)
{
	size_t last = last_shown_column(o);

	for (size_t i = 0; i < o->column_count; i++) {
		if (!o->columns[i].is_detail)
			print_padded(o->file, texts ? texts[i] : o->columns[i].title, widths[i],
				     o->columns[i].kind != COLUMN_TEXT, i == last);
	}
}

static int end_table(struct output *o, struct tl_error *err)
{
	size_t *widths;

	if (!o->text_count) {
		fputs("none\n", o->file);
		return TL_OK;
	}
	widths = tl_alloc(o->column_count, sizeof(*widths), err);
	if (!widths)
		return TL_NOMEM;
	for (size_t i = 0; i < o->column_count; i++)
		widths[i] = display_width(o->columns[i].title);
	for (size_t i = 0; i < o->text_count; i++) {
		size_t width = display_width(o->texts[i]);

		if (width > widths[i % o->column_count])
			widths[i % o->column_count] = width;
	}
	print_line(o, NULL, widths);
	for (size_t i = 0; i < o->text_count; i += o->column_count)
		print_line(o, o->texts + i, widths);
	free(widths);
	return TL_OK;
}

/* ---- JSON and CSV ------------------------------------------------------------------------- */

/* jansson takes valid UTF-8 only; names from recordings are bytes. */
static json_t *json_text(const char *text, size_t length)
{
	json_t *value = json_stringn(text, length);
	struct tl_text quoted = { 0 };

	if (value)
		return value;
	tl_text_json(&quoted, text, length);
	if (!quoted.failed && quoted.data)
		value = json_loadb(quoted.data, quoted.length, JSON_DECODE_ANY | JSON_ALLOW_NUL,
				   NULL);
	tl_text_release(&quoted);
	return value;
}

static json_t *json_cell(const struct column *column, const struct cell *cell)
{
	if (!cell->is_known)
		return json_null();
	switch (column->kind) {
	case COLUMN_TEXT:
		return json_text(cell->text, cell->length);
	case COLUMN_INTEGER:
	case COLUMN_DURATION:
	case COLUMN_TIME:
	case COLUMN_SIZE:
		return json_integer(cell->integer);
	case COLUMN_REAL:
	case COLUMN_RATIO:
		return json_real(cell->real);
	case COLUMN_FLAG:
		return json_boolean(cell->integer);
	}
	return NULL;
}

static int print_json_row(struct output *o, const struct cell *cells, struct tl_error *err)
{
	json_t *row = json_object();
	int failed = !row;

	for (size_t i = 0; i < o->column_count && !failed; i++)
		failed = json_object_set_new(row, o->columns[i].key,
					     json_cell(&o->columns[i], &cells[i]));
	if (!failed)
		/* A failed write is found by whoever flushes the file. */
		json_dumpf(row, o->file, JSON_REAL_PRECISION(15));
	json_decref(row);
	return failed ? tl_fail(err, TL_NOMEM, "out of memory") : TL_OK;
}

/*
 * Names from recordings pass through spreadsheets and `cat` on their way: what no name should have
 * is shown as in a table. JSON keeps every byte.
 */
static void print_csv_text(struct output *o, const char *text, size_t length)
{
	bool is_quoted = length && (memchr(text, ',', length) || memchr(text, '"', length));

	if (is_quoted)
		fputc('"', o->file);
	for (size_t i = 0; i < length;) {
		size_t n = tl_utf8_length(text + i, length - i);
		char shown[8];

		n = n ? n : 1;
		tl_printable(shown, sizeof(shown), text + i, n);
		if (text[i] == '"')
			fputc('"', o->file);
		fputs(shown, o->file);
		i += n;
	}
	if (is_quoted)
		fputc('"', o->file);
}

static void print_csv_cell(struct output *o, const struct column *column, const struct cell *cell)
{
	if (!cell->is_known)
		return;
	switch (column->kind) {
	case COLUMN_TEXT:
		print_csv_text(o, cell->text, cell->length);
		break;
	case COLUMN_INTEGER:
	case COLUMN_DURATION:
	case COLUMN_TIME:
	case COLUMN_SIZE:
	case COLUMN_FLAG:
		fprintf(o->file, "%" PRId64, cell->integer);
		break;
	case COLUMN_REAL:
	case COLUMN_RATIO:
		fprintf(o->file, "%.15g", cell->real);
		break;
	}
}

/* One line a cell: table,row,key,value. */
static void print_csv_long(struct output *o, const struct cell *cells)
{
	for (size_t i = 0; i < o->column_count; i++) {
		fprintf(o->file, "%s,%" PRId64 ",%s,", o->key, o->row_count + 1, o->columns[i].key);
		print_csv_cell(o, &o->columns[i], &cells[i]);
		fputc('\n', o->file);
	}
}

static void print_csv_row(struct output *o, const struct cell *cells)
{
	for (size_t i = 0; i < o->column_count; i++) {
		if (i)
			fputc(',', o->file);
		print_csv_cell(o, &o->columns[i], &cells[i]);
	}
	fputc('\n', o->file);
}

static void print_csv_header(struct output *o)
{
	for (size_t i = 0; i < o->column_count; i++)
		fprintf(o->file, "%s%s", i ? "," : "", o->columns[i].key);
	fputc('\n', o->file);
}

/* ---- the document ------------------------------------------------------------------------- */

int output_check(const struct output_options *options, struct tl_error *err)
{
	if (options->is_json && options->is_csv)
		return tl_fail(err, TL_USAGE, "--json and --csv exclude each other");
	return TL_OK;
}

int output_open(struct output **out, FILE *file, const struct output_options *options,
		bool is_document, struct tl_error *err)
{
	struct output *o;
	int ret = output_check(options, err);

	if (ret < 0)
		return ret;
	o = tl_alloc(1, sizeof(*o), err);
	if (!o)
		return TL_NOMEM;
	o->file = file;
	o->format = options->is_json ? FORMAT_JSON : options->is_csv ? FORMAT_CSV : FORMAT_TABLE;
	o->is_document = is_document;
	o->time_digits = 6;
	if (o->format == FORMAT_JSON)
		fputc('{', file);
	else if (o->format == FORMAT_CSV && is_document)
		fputs("table,row,key,value\n", file);
	*out = o;
	return TL_OK;
}

static void release_texts(struct output *o)
{
	for (size_t i = 0; i < o->text_count; i++)
		free(o->texts[i]);
	o->text_count = 0;
}

static int finish_table(struct output *o, struct tl_error *err)
{
	int ret = TL_OK;

	if (!o->columns)
		return TL_OK;
	if (o->format == FORMAT_TABLE && o->is_list)
		fputs(o->row_count ? "" : "none\n", o->file);
	else if (o->format == FORMAT_TABLE)
		ret = end_table(o, err);
	else if (o->format == FORMAT_JSON)
		fputs(o->row_count ? "\n]" : "]", o->file);
	release_texts(o);
	o->columns = NULL;
	return ret;
}

static bool has_unit(const struct column *column)
{
	static const char *const units[] = {
		[COLUMN_RATIO] = "_ratio", [COLUMN_DURATION] = "_ns", [COLUMN_TIME] = "_ns",
		[COLUMN_SIZE] = "_bytes",  [COLUMN_FLAG] = NULL,
	};
	const char *unit = units[column->kind];
	size_t length = strlen(column->key);

	return !unit ||
	       (length > strlen(unit) && !strcmp(column->key + length - strlen(unit), unit));
}

static void begin_section(struct output *o, const char *key, const char *title,
			  const struct column *columns, size_t column_count)
{
	for (size_t i = 0; i < column_count; i++)
		assert(has_unit(&columns[i]));
	assert(o->is_document || o->table_count == 0);
	if (o->format == FORMAT_TABLE && o->table_count)
		fputc('\n', o->file);
	if (o->format == FORMAT_TABLE && title)
		fprintf(o->file, "%s\n", title);
	if (o->format == FORMAT_JSON)
		fprintf(o->file, "%s\n\"%s\": ", o->table_count ? "," : "", key);
	o->key = key;
	o->title = title;
	o->columns = columns;
	o->column_count = column_count;
	o->is_list = false;
	o->row_count = 0;
	o->table_count++;
}

int output_table(struct output *o, const char *key, const char *title, const struct column *columns,
		 size_t column_count, struct tl_error *err)
{
	int ret = finish_table(o, err);

	if (ret < 0)
		return ret;
	begin_section(o, key, title, columns, column_count);
	if (o->format == FORMAT_JSON)
		fputc('[', o->file);
	else if (o->format == FORMAT_CSV && !o->is_document)
		print_csv_header(o);
	return TL_OK;
}

/* Unknown things would only be in the way. */
static int print_record_for_people(struct output *o, const struct cell *cells, struct tl_error *err)
{
	size_t width = 0;

	for (size_t i = 0; i < o->column_count; i++) {
		if (cells[i].is_known && !o->columns[i].is_detail &&
		    display_width(o->columns[i].title) > width)
			width = display_width(o->columns[i].title);
	}
	for (size_t i = 0; i < o->column_count; i++) {
		char *text;

		if (!cells[i].is_known || o->columns[i].is_detail)
			continue;
		text = cell_for_people(&o->columns[i], &cells[i], o->time_digits, err);
		if (!text)
			return TL_NOMEM;
		print_padded(o->file, o->columns[i].title, width, false, false);
		fprintf(o->file, "%s\n", text);
		free(text);
	}
	return TL_OK;
}

static int add_table_row(struct output *o, const struct cell *cells, struct tl_error *err)
{
	int ret = tl_grow(&o->texts, &o->text_capacity, o->text_count + o->column_count, err);

	for (size_t i = 0; i < o->column_count && ret == TL_OK; i++) {
		char *text = cell_for_people(&o->columns[i], &cells[i], o->time_digits, err);

		if (!text)
			return TL_NOMEM;
		o->texts[o->text_count++] = text;
	}
	return ret;
}

int output_list(struct output *o, const char *key, const char *title, const struct column *columns,
		size_t column_count, struct tl_error *err)
{
	int ret = output_table(o, key, title, columns, column_count, err);

	o->is_list = true;
	return ret;
}

int output_row(struct output *o, const struct cell *cells, struct tl_error *err)
{
	int ret = TL_OK;

	switch (o->format) {
	case FORMAT_TABLE:
		if (o->is_list && o->row_count)
			fputc('\n', o->file);
		ret = o->is_list ? print_record_for_people(o, cells, err)
				 : add_table_row(o, cells, err);
		break;
	case FORMAT_JSON:
		fputs(o->row_count ? ",\n" : "\n", o->file);
		ret = print_json_row(o, cells, err);
		break;
	case FORMAT_CSV:
		if (o->is_document)
			print_csv_long(o, cells);
		else
			print_csv_row(o, cells);
		break;
	}
	o->row_count++;
	return ret;
}

int output_record(struct output *o, const char *key, const char *title,
		  const struct column *columns, size_t column_count, const struct cell *cells,
		  struct tl_error *err)
{
	int ret = finish_table(o, err);

	if (ret < 0)
		return ret;
	begin_section(o, key, title, columns, column_count);
	switch (o->format) {
	case FORMAT_TABLE:
		ret = print_record_for_people(o, cells, err);
		break;
	case FORMAT_JSON:
		ret = print_json_row(o, cells, err);
		break;
	case FORMAT_CSV:
		if (!o->is_document)
			print_csv_header(o);
		ret = output_row(o, cells, err);
		break;
	}
	o->columns = NULL; /* nothing is left to end */
	return ret;
}

int output_text(struct output *o, const char *text, struct tl_error *err)
{
	int ret = finish_table(o, err);

	if (ret < 0 || o->format != FORMAT_TABLE)
		return ret;
	if (o->table_count)
		fputc('\n', o->file);
	fprintf(o->file, "%s\n", text);
	o->table_count++;
	return TL_OK;
}

int output_close(struct output *o, struct tl_error *err)
{
	int ret;

	if (!o)
		return TL_OK;
	ret = finish_table(o, err);
	if (o->format == FORMAT_JSON)
		fputs("\n}\n", o->file);
	free(o->texts);
	free(o);
	return ret;
}
