/*
 * csv.h - what the files that read tables share: records of named fields, and the kinds of tables
 * that are understood.
 */
#ifndef CSV_H
#define CSV_H

#include "analysis.h"
#include "memory.h"

extern const struct tl_importer csv_importer;

/* ---- records (csv_record.c) ------------------------------------------------------------------ */

enum { CSV_FIELDS_MAX = 256 };

struct csv_field {
	const char *text; /* without quotes and blanks around; not terminated */
	size_t length;
};

struct csv_record {
	struct csv_field fields[CSV_FIELDS_MAX];
	size_t count;
	bool has_open_quote; /* goes on in the next line */
	bool is_too_wide;
};

/* The separator of a header line: tab, semicolon or comma. */
char csv_separator(const char *line, size_t len);
/* Cuts a record; `buffer` takes what had doubled quotes, and must outlive the fields. */
void csv_split(const char *line, size_t len, char separator, struct csv_record *record,
	       struct tl_text *buffer);
/* Quotes are as any other byte. */
void csv_split_plain(const char *line, size_t len, char separator, struct csv_record *record);
/* A line of NDJSON: keys and values of a flat object. False: it is none. */
bool csv_split_json(const char *line, size_t len, struct csv_record *keys,
		    struct csv_record *values, struct tl_text *buffer);
/* "", N/A, null, nan: nothing is known. */
bool csv_is_missing(const struct csv_field *field);
bool csv_is(const struct csv_field *field, const char *word); /* whatever the case */
/* {"key":value,...} of those fields whose bit in `used` is not set. */
void csv_detail(struct tl_text *out, const struct csv_record *names,
		const struct csv_record *values, const bool *used);

/* ---- tables ---------------------------------------------------------------------------------- */

struct csv_table {
	struct csv_record names; /* of the columns; texts owned by names_text */
	struct tl_text names_text, scratch, detail;
	const struct csv_kind *kind;
	const struct tl_import_options *opt;
	const char *input;   /* name of the file */
	int64_t modified_ns; /* file date; 0 unknown */
	void *state;	     /* of the kind */
	uint64_t line;	     /* of the record being read */
	uint64_t events;
};

struct csv_kind {
	const char *what; /* for messages */
	/* Is this the header of such a table? */
	bool (*is_header)(const struct csv_record *names);
	/* NULL: the table is refused with `why_not`. */
	const char *why_not;
	int (*begin)(struct csv_table *t, struct tl_error *err);
	/* TL_OK, TL_READ_SKIPPED with err filled, or a negative status. */
	int (*row)(struct csv_table *t, const struct csv_record *values, struct tl_sink *sink,
		   struct tl_error *err);
	int (*end)(struct csv_table *t, struct tl_sink *sink, struct tl_error *err);
	void (*release)(struct csv_table *t);
};

extern const struct csv_kind csv_steps, csv_step_trace, csv_kernels, csv_calls;
/* The kind of table that has these columns, or NULL. */
const struct csv_kind *csv_find_kind(const struct csv_record *names);

/* Index of the column of that name, or -1. */
int csv_column(const struct csv_record *names, const char *name);
int csv_emit(struct csv_table *t, struct tl_sink *sink, const struct tl_event *ev,
	     struct tl_error *err);
/* The whole field as a decimal number of units. */
bool csv_time(const struct csv_field *field, int64_t unit_ns, int64_t *ns);
bool csv_integer(const struct csv_field *field, int64_t *value);
/* Is it a function of libc that is little but the system call of its name? */
bool csv_is_system_call(const struct csv_field *name);

#endif
