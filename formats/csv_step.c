/*
 * csv_step.c - tables of steps that people bring, and that the loggers of training programs write:
 * rows become lines that tell of steps. Which column tells what is found in csv_step_columns.c.
 */
#include "csv_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csv_step_order.h"
#include "reader.h"
#include "step_rows.h"
#include "training_log.h"
#include "training_log_unit.h"

#define SECOND_NS INT64_C(1000000000)

enum note { NOTE_UNIT, NOTE_RATE, NOTE_LOGGED, NOTE_OTHER, NOTE_ORDER, NOTE_COUNT };

static const struct {
	const char *what, *unit;
} notes[NOTE_COUNT] = {
	[NOTE_UNIT] = { "durations without a unit, taken as seconds", "steps" },
	[NOTE_RATE] = { "durations from a rate", "steps" },
	[NOTE_LOGGED] = { "times of rows, taken as the ends of their steps", "rows" },
	[NOTE_ORDER] = { "rows out of order: taken in the order of their steps", "rows" },
	[NOTE_OTHER] = { "rows that tell neither a duration nor a time of a step", "rows" },
};

struct steps {
	struct csv_step_columns columns;
	bool used[CSV_FIELDS_MAX];
	int64_t counted; /* the next number, where no column has it */
	bool is_relative, is_local;
	int64_t guessed_unit_ns; /* of a time without a unit, by its size */
	int64_t tick_ns;
	struct step_rows rows;
	struct csv_step_order order;
	int64_t elapsed_tick_ns;
	char key[64]; /* of long tables: the first metric that is no duration */
	bool has_key;
	uint64_t lines;
	bool is_too_long; /* to be put in order */
	struct {
		uint64_t count, first;
	} notes[NOTE_COUNT];
};

static bool is_step_table(const struct csv_record *names)
{
	struct csv_step_columns columns;

	csv_step_find_columns(names, &columns);
	return csv_step_is_table(&columns);
}

/*
 * TensorBoard writes a table for each metric, "Wall time,Step,Value", and names the file for it:
 * run-train-tag-perf_step_time.csv, where '_' may have been '/'.
 */
static void take_tag(struct csv_table *t, struct csv_step_columns *columns)
{
	int value = csv_column(&t->names, "value");
	const char *tag = t->input ? strstr(t->input, "-tag-") : NULL;
	struct csv_step_duration name = { 0 };
	size_t length;

	if (!tag || value < 0 || columns->at[CSV_STEP_DURATION] >= 0)
		return;
	for (tag += 5; tag && !name.score; tag = strchr(tag, '_')) {
		tag += *tag == '_';
		length = strcspn(tag, ".");
		csv_step_duration_name(tag, length, &name);
	}
	if (!name.score)
		return;
	columns->at[CSV_STEP_DURATION] = value;
	columns->unit_ns[CSV_STEP_DURATION] = name.unit_ns;
	columns->is_rate = name.is_rate;
}

static int begin(struct csv_table *t, struct tl_error *err)
{
	struct steps *s = t->state;

	if (!s)
		s = t->state = tl_alloc(1, sizeof(*s), err);
	if (!s)
		return TL_NOMEM;
	csv_step_find_columns(&t->names, &s->columns);
	take_tag(t, &s->columns);
	memset(s->used, 0, sizeof(s->used));
	for (int c = 0; c < CSV_STEP_COLUMNS; c++)
		if (s->columns.at[c] >= 0)
			s->used[s->columns.at[c]] = true;
	return TL_OK;
}

static void note(struct csv_table *t, enum note n)
{
	struct steps *s = t->state;

	if (!s->notes[n].count++)
		s->notes[n].first = t->line;
}

static const struct csv_field *field_of(const struct steps *s, const struct csv_record *values,
					enum csv_step_column c)
{
	int at = s->columns.at[c];
	const struct csv_field *field =
		at >= 0 && (size_t)at < values->count ? &values->fields[at] : NULL;

	return field && !csv_is_missing(field) ? field : NULL;
}

static int fail_field(struct csv_table *t, const struct csv_field *field, const char *expected,
		      struct tl_error *err)
{
	char shown[64];

	tl_printable(shown, sizeof(shown), field->text, field->length < 60 ? field->length : 60);
	tl_fail_line(err, TL_FORMAT, t->line, "'%s' is no %s", shown, expected);
	return TL_READ_SKIPPED;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Zeros at the end are not always written: the longest fraction tells how fine times are. */
static void note_tick(int64_t *tick_ns, int64_t unit_ns, int digits)
{
	for (int i = 0; i < digits && unit_ns > 1; i++)
		unit_ns /= 10;
	if (!*tick_ns || unit_ns < *tick_ns)
		*tick_ns = unit_ns > 0 ? unit_ns : 1;
}

static int fraction_digits(const struct csv_field *field)
{
	const char *point = memchr(field->text, '.', field->length);
	int digits = 0;

	for (const char *c = point ? point + 1 : NULL;
	     c && c < field->text + field->length && *c >= '0' && *c <= '9'; c++)
		digits++;
	return digits < 9 ? digits : 9;
}

/*
 * Unix time by its unit, or by its size: 2001 is 1e9 seconds, 1e12 ms, 1e15 us, 1e18 ns. Smaller
 * numbers count seconds from a beginning that is not told.
 */
static bool number_time(struct steps *s, const struct csv_field *field, int64_t unit_ns,
			int64_t *ns)
{
	int64_t whole;

	if (!csv_time(field, 1, &whole))
		return false;
	if (!unit_ns && !s->guessed_unit_ns)
		s->guessed_unit_ns = whole >= INT64_C(100000000000000000) ? 1
				     : whole >= INT64_C(100000000000000)  ? 1000
				     : whole >= INT64_C(100000000000)	  ? 1000000
									  : SECOND_NS;
	unit_ns = unit_ns ? unit_ns : s->guessed_unit_ns;
	if (!csv_time(field, unit_ns, ns))
		return false;
	note_tick(&s->tick_ns, unit_ns, fraction_digits(field));
	s->is_relative |= *ns < INT64_C(100000000) * SECOND_NS;
	return true;
}

static bool read_time(struct csv_table *t, struct steps *s, const struct csv_field *field,
		      int64_t unit_ns, int64_t *ns)
{
	struct training_log_time time;

	if (!memchr(field->text, ':', field->length))
		return number_time(s, field, unit_ns, ns);
	if (training_log_time(field->text, field->length, &time) != field->length)
		return false;
	if (time.clock != TRAINING_LOG_UNIX && time.clock != TRAINING_LOG_LOCAL)
		return false;
	s->is_local |= time.clock == TRAINING_LOG_LOCAL;
	*ns = time.ns -
	      (time.clock == TRAINING_LOG_LOCAL && t->opt->has_timezone ? t->opt->timezone_ns : 0);
	note_tick(&s->tick_ns, SECOND_NS, time.digits);
	return true;
}

/* ---- durations ------------------------------------------------------------------------------- */

/* "0:00:01.5", as Python shows a timedelta. */
static bool clock_duration(const struct csv_field *field, int64_t *ns)
{
	const char *colon = memchr(field->text, ':', field->length);
	struct csv_field part = { field->text, colon ? (size_t)(colon - field->text) : 0 };
	int64_t hours, minutes, seconds;
	size_t rest = field->length - part.length;

	if (!colon || rest < 6 || colon[3] != ':' || !csv_integer(&part, &hours) || hours > 100000)
		return false;
	part = (struct csv_field) { colon + 1, 2 };
	if (!csv_integer(&part, &minutes))
		return false;
	part = (struct csv_field) { colon + 4, rest - 4 };
	if (!csv_time(&part, SECOND_NS, &seconds) || seconds < 0 || seconds >= 60 * SECOND_NS)
		return false;
	*ns = (hours * 3600 + minutes * 60) * SECOND_NS + seconds;
	return true;
}

/* "0,512" of a table whose fields are not separated by commas. */
static bool with_point(const struct csv_field *field, char *buffer, size_t size,
		       struct csv_field *out)
{
	const char *comma = memchr(field->text, ',', field->length);

	if (!comma || field->length >= size || memchr(field->text, '.', field->length) ||
	    memchr(comma + 1, ',', field->length - (size_t)(comma + 1 - field->text)))
		return false;
	memcpy(buffer, field->text, field->length);
	buffer[comma - field->text] = '.';
	*out = (struct csv_field) { buffer, field->length };
	return true;
}

/* A number, and perhaps a unit that is surer than the one of the column. */
static bool number_duration(struct csv_table *t, const struct csv_field *field, int64_t unit_ns,
			    bool is_rate, int64_t *ns)
{
	struct csv_field plain;
	char buffer[32];
	size_t digits, at;
	int64_t own;

	if (with_point(field, buffer, sizeof(buffer), &plain))
		return number_duration(t, &plain, unit_ns, is_rate, ns);
	at = digits = tl_parse_time(field->text, field->length, SECOND_NS, ns);

	if (!digits)
		return clock_duration(field, ns);
	while (at < field->length && field->text[at] == ' ')
		at++;
	own = training_log_unit(field->text + at, field->length - at);
	if (at < field->length && (!own || is_rate))
		return clock_duration(field, ns);
	if (is_rate) {
		double time = *ns > 0 ? (double)unit_ns * 1e9 / (double)*ns : 0;

		*ns = time < 9e18 ? llround(time) : 0;
		note(t, NOTE_RATE);
		return *ns > 0;
	}
	if (!own && !unit_ns)
		note(t, NOTE_UNIT);
	unit_ns = own ? own : unit_ns ? unit_ns : SECOND_NS;
	return tl_parse_time(field->text, digits, unit_ns, ns) == digits && *ns >= 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int fill_number(struct csv_table *t, struct steps *s, const struct csv_record *values,
		       struct step_line *line, struct tl_error *err)
{
	const struct csv_field *number = field_of(s, values, CSV_STEP_NUMBER);
	const struct csv_field *rank = field_of(s, values, CSV_STEP_RANK);
	int64_t value;

	line->number = s->counted;
	line->rank = t->opt->has_rank ? t->opt->rank : -1;
	if (number && !csv_integer(number, &line->number))
		return fail_field(t, number, "step number", err);
	if (rank && (!csv_integer(rank, &value) || value > INT32_MAX))
		return fail_field(t, rank, "rank", err);
	if (rank)
		line->rank = (int32_t)value;
	return TL_OK;
}

static int fill_time(struct csv_table *t, struct steps *s, const struct csv_record *values,
		     struct step_line *line, struct tl_error *err)
{
	const struct csv_field *start = field_of(s, values, CSV_STEP_BEGIN);
	const struct csv_field *end = field_of(s, values, CSV_STEP_END);
	const int64_t *unit_ns = s->columns.unit_ns;
	int64_t begin_ns = 0, end_ns = 0;

	if (start && !read_time(t, s, start, unit_ns[CSV_STEP_BEGIN], &begin_ns))
		return fail_field(t, start, "time: expected ISO 8601, or seconds since 1970", err);
	if (end &&
	    !read_time(t, s, end,
		       unit_ns[CSV_STEP_END] ? unit_ns[CSV_STEP_END] : unit_ns[CSV_STEP_BEGIN],
		       &end_ns))
		return fail_field(t, end, "time: expected ISO 8601, or seconds since 1970", err);
	line->has_time = start || end;
	line->is_begin = start != NULL;
	line->time = start ? begin_ns : end_ns;
	if (start && end && line->duration_ns < 0 && end_ns >= begin_ns)
		line->duration_ns = end_ns - begin_ns;
	if (end && !start)
		note(t, NOTE_LOGGED);
	return TL_OK;
}

/*
 * Of rows for each metric, those of a duration tell it; of the other metrics one is enough, which
 * tells when steps were. False: this row is of another one.
 */
static bool take_key(struct steps *s, const struct csv_record *values,
		     struct csv_step_duration *name)
{
	const struct csv_field *key = field_of(s, values, CSV_STEP_KEY);

	memset(name, 0, sizeof(*name));
	if (!key || key->length >= sizeof(s->key))
		return false;
	csv_step_duration_name(key->text, key->length, name);
	if (name->score > 0)
		return true;
	if (!s->has_key) {
		memcpy(s->key, key->text, key->length);
		s->key[key->length] = '\0';
		s->has_key = true;
	}
	return csv_is(key, s->key);
}

/* *is_told: this row tells something of a step at all. */
static int fill_duration(struct csv_table *t, struct steps *s, const struct csv_record *values,
			 struct step_line *line, bool *is_told, struct tl_error *err)
{
	const struct csv_field *field = field_of(s, values, CSV_STEP_DURATION);
	int64_t unit_ns = s->columns.unit_ns[CSV_STEP_DURATION], seconds;
	bool is_rate = s->columns.is_rate;

	line->duration_ns = -1;
	*is_told = true;
	if (s->columns.at[CSV_STEP_KEY] >= 0 && s->columns.at[CSV_STEP_DURATION] < 0) {
		struct csv_step_duration name;

		*is_told = take_key(s, values, &name);
		field = name.score ? field_of(s, values, CSV_STEP_VALUE) : NULL;
		unit_ns = name.unit_ns;
		is_rate = name.is_rate;
	}
	if (!field)
		return TL_OK;
	/* "time" may be when: a date, or seconds since 1970 */
	if (s->columns.may_be_time && s->columns.at[CSV_STEP_END] < 0 &&
	    (memchr(field->text, '-', field->length) ||
	     (csv_time(field, 1, &seconds) && seconds >= 100000000))) {
		s->columns.at[CSV_STEP_END] = s->columns.at[CSV_STEP_DURATION];
		s->columns.at[CSV_STEP_DURATION] = -1;
		return TL_OK;
	}
	if (!number_duration(t, field, unit_ns, is_rate, &line->duration_ns))
		return fail_field(t, field, "duration", err);
	note_tick(&s->elapsed_tick_ns, unit_ns ? unit_ns : SECOND_NS, fraction_digits(field));
	return TL_OK;
}

static int add_row(struct csv_table *t, struct steps *s, const struct step_line *line,
		   struct tl_sink *sink, struct tl_error *err)
{
	uint64_t before = s->rows.emitted;
	int ret = step_rows_add(&s->rows, line, sink, err);

	t->events += s->rows.emitted - before;
	return ret;
}

/* What was kept, in the order of the steps. */
static int add_kept(struct csv_table *t, struct steps *s, struct tl_sink *sink,
		    struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < s->order.count && ret == TL_OK; i++)
		ret = add_row(t, s, &s->order.lines[i], sink, err);
	csv_step_order_release(&s->order);
	return ret;
}

static int keep_row(struct csv_table *t, struct steps *s, const struct step_line *line,
		    struct tl_sink *sink, struct tl_error *err)
{
	int ret;

	s->lines++;
	if (s->is_too_long)
		return add_row(t, s, line, sink, err);
	ret = csv_step_order_keep(&s->order, line, err);
	if (ret <= 0)
		return ret;
	s->is_too_long = true;
	return add_kept(t, s, sink, err);
}

/* ---- the table ------------------------------------------------------------------------------- */

static int row(struct csv_table *t, const struct csv_record *values, struct tl_sink *sink,
	       struct tl_error *err)
{
	struct steps *s = t->state;
	struct step_line line = { .position = t->line };
	bool is_told;
	int ret = fill_number(t, s, values, &line, err);

	if (ret == TL_OK)
		ret = fill_duration(t, s, values, &line, &is_told, err);
	if (ret == TL_OK && is_told)
		ret = fill_time(t, s, values, &line, err);
	if (ret != TL_OK)
		return ret;
	if (!is_told || (!line.has_time && line.duration_ns < 0)) {
		note(t, NOTE_OTHER);
		return TL_OK;
	}
	s->counted = line.number < INT64_MAX ? line.number + 1 : 0;
	csv_detail(&t->detail, &t->names, values, s->used);
	if (t->detail.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	line.detail = t->detail.length ? t->detail.data : NULL;
	line.tick_ns = s->tick_ns ? s->tick_ns : 1;
	line.may_be_total = s->columns.may_be_total && s->columns.at[CSV_STEP_DURATION] >= 0 &&
			    line.duration_ns >= 0 && !line.is_begin;
	line.is_named_elapsed = line.may_be_total;
	line.duration_tick_ns = s->elapsed_tick_ns;
	return keep_row(t, s, &line, sink, err);
}

static int emit_clock(struct csv_table *t, const struct steps *s, struct tl_sink *sink,
		      struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	if (!s->rows.has_time)
		return TL_OK;
	ev.clock.name = "times of the rows";
	ev.clock.method = TL_CLOCK_EXACT;
	ev.clock.why = "Unix time, or a time zone, in the table";
	if (s->is_relative || s->rows.elapsed.is_time) {
		if (!t->modified_ns ||
		    __builtin_sub_overflow(t->modified_ns, s->rows.last_end, &ev.clock.offset_ns))
			ev.clock.offset_ns = 0;
		ev.clock.method = TL_CLOCK_ASSUMED;
		ev.clock.residual_ns = -1;
		ev.clock.why = "times count from a beginning that is not told; file date taken for "
			       "the end of the last step";
	} else if (s->is_local) {
		ev.clock.method = t->opt->has_timezone ? TL_CLOCK_TOLD : TL_CLOCK_ASSUMED;
		ev.clock.residual_ns = t->opt->has_timezone ? 0 : -1;
		ev.clock.why = t->opt->has_timezone ? "time zone told"
						    : "time zone not known, taken as UTC";
	}
	return sink->emit(sink, &ev, err);
}

static int emit_notes(const struct steps *s, struct tl_sink *sink, struct tl_error *err)
{
	int ret = TL_OK;

	for (int n = 0; n < NOTE_COUNT && ret == TL_OK; n++) {
		struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

		if (!s->notes[n].count)
			continue;
		ev.diagnostic.kind = TL_DIAGNOSTIC_NOTE;
		ev.diagnostic.what = notes[n].what;
		ev.diagnostic.count = s->notes[n].count;
		ev.diagnostic.unit = notes[n].unit;
		ev.diagnostic.position_kind = TL_POSITION_LINE;
		ev.diagnostic.position = s->notes[n].first;
		ret = sink->emit(sink, &ev, err);
	}
	return ret;
}

static int end(struct csv_table *t, struct tl_sink *sink, struct tl_error *err)
{
	struct steps *s = t->state;
	int ret;

	if (csv_step_order_sort(&s->order)) {
		s->notes[NOTE_ORDER].count = s->order.moved;
		s->notes[NOTE_ORDER].first = s->order.first_moved;
	}
	ret = add_kept(t, s, sink, err);
	if (ret == TL_OK && !s->lines && s->notes[NOTE_OTHER].count)
		ret = tl_fail(err, TL_NOTHING,
			      "is a table of steps, but none of its %llu rows tells how long one "
			      "took, or when it was",
			      (unsigned long long)s->notes[NOTE_OTHER].count);
	if (ret == TL_OK)
		ret = step_rows_finish(&s->rows, sink, err);
	if (ret == TL_OK)
		ret = emit_clock(t, s, sink, err);
	return ret == TL_OK ? emit_notes(s, sink, err) : ret;
}

static void release(struct csv_table *t)
{
	struct steps *s = t->state;

	if (s) {
		step_rows_release(&s->rows);
		csv_step_order_release(&s->order);
	}
	free(s);
}

const struct csv_kind csv_steps = {
	.what = "a table of steps",
	.is_header = is_step_table,
	.begin = begin,
	.row = row,
	.end = end,
	.release = release,
};
