/*
 * output.h - typed cells under named columns, printed from one description as an aligned table for
 * people, or as JSON or CSV for machines; and result files that appear whole or not at all.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "command.h"

struct output_options {
	bool is_json, is_csv;
};
#define OUTPUT_OPTIONS(type, member)                                                       \
	FLAG(type, member.is_json, 0, "json",                                              \
	     "print one JSON object instead of a table; base units, the unit in the key"), \
		FLAG(type, member.is_csv, 0, "csv",                                        \
		     "print comma-separated values instead of a table; base units")

/* What a column holds; the key of a unit's column ends in that unit. */
enum column_kind {
	COLUMN_TEXT,
	COLUMN_INTEGER,	 /* a count or an id */
	COLUMN_REAL,	 /* a number without unit */
	COLUMN_RATIO,	 /* key "..._ratio"; 0.25 is shown as 25 % */
	COLUMN_DURATION, /* key "..._ns" */
	COLUMN_TIME,	 /* key "..._ns": Unix nanoseconds, shown in UTC */
	COLUMN_SIZE,	 /* key "..._bytes" */
	COLUMN_FLAG	 /* yes or no */
};

struct column {
	const char *key;   /* JSON and CSV; interface, never renamed */
	const char *title; /* table */
	enum column_kind kind;
	bool is_detail; /* JSON and CSV only: it would make the table too wide */
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0])) /* of columns, and of their cells */

struct cell {
	bool is_known;
	const char *text; /* TEXT */
	size_t length;
	int64_t integer; /* INTEGER, DURATION, TIME, SIZE, FLAG */
	double real;	 /* REAL, RATIO */
};
struct cell cell_unknown(void);
struct cell cell_text(const char *text); /* NULL: unknown */
struct cell cell_bytes(const char *text, size_t length);
struct cell cell_integer(int64_t value);
struct cell cell_real(double value); /* NaN and infinity: unknown */
struct cell cell_ns(double ns);	     /* rounded; what fits no int64_t: unknown */
struct cell cell_id(int64_t id);     /* negative: unknown */
struct cell cell_flag(bool value);

struct output;

/* Whether the options can be meant together; before long work is done for them. */
int output_check(const struct output_options *options, struct tl_error *err);
/*
 * `is_document`: several tables follow. Then CSV has the columns table,row,key,value; a single
 * table is plain CSV. JSON is one object of all tables either way.
 */
int output_open(struct output **out, FILE *file, const struct output_options *options,
		bool is_document, struct tl_error *err);
/* Begins a table; the one before ends. `title` may be NULL. Columns are borrowed until it ends. */
int output_table(struct output *output, const char *key, const char *title,
		 const struct column *columns, size_t column_count, struct tl_error *err);
/* The same in JSON and CSV; for people each row is one "title  value" a line, unknown left out. */
int output_list(struct output *output, const char *key, const char *title,
		const struct column *columns, size_t column_count, struct tl_error *err);
/* As many cells as there are columns. */
int output_row(struct output *output, const struct cell *cells, struct tl_error *err);
/* A list of one row; in JSON an object. */
int output_record(struct output *output, const char *key, const char *title,
		  const struct column *columns, size_t column_count, const struct cell *cells,
		  struct tl_error *err);
/* Times in tables for people have so many digits of a second, 6 unless this is called. */
void output_time_digits(struct output *output, unsigned digits);
/* A paragraph for people, between tables; nothing in JSON and CSV. */
int output_text(struct output *output, const char *text, struct tl_error *err);
/* Ends the last table and frees, whatever it returns. Accepts NULL. */
int output_close(struct output *output, struct tl_error *err);

/* As shown to people: "1.234 ms", "12.3 MiB", "2024-05-01 12:00:00.5Z". Returns buf. */
char *format_duration(char *buf, size_t size, int64_t ns);
char *format_size(char *buf, size_t size, int64_t bytes);
char *format_time(char *buf, size_t size, int64_t unix_ns);
/* The same with 0 to 6 digits of a second: not more than its source had. */
char *format_time_digits(char *buf, size_t size, int64_t unix_ns, unsigned digits);

/* ---- result files ------------------------------------------------------------------------- */

struct result_file {
	FILE *file;
	const char *path;
	char *temporary; /* renamed to path at the end; NULL: written in place */
};
/* NULL or "-" is stdout. A regular file is written beside its name, with an unguessable one. */
int result_open(struct result_file *result, const char *path, struct tl_error *err);
/* Flushes, checks, and gives the file its name; `is_good` false throws it away. */
int result_close(struct result_file *result, bool is_good, struct tl_error *err);

#endif
