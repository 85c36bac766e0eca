/*
 * csv_step.c - tables of steps that people bring: step, start, duration under the names and in the
 * units that they chose.
 */
#include "csv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "reader.h"
#include "training_log.h"

#define SECOND_NS INT64_C(1000000000)

enum column { COL_STEP, COL_START, COL_END, COL_DURATION, COL_RANK, COL_COUNT };

struct steps {
	int at[COL_COUNT];	    /* index of the column, or -1 */
	int64_t unit_ns[COL_COUNT]; /* told by its name; 0: not */
	bool used[CSV_FIELDS_MAX];
	int64_t counted; /* the next number, where no column has it */
	bool has_numbers_seen, is_relative, has_start, is_local;
	int64_t guessed_unit_ns; /* of a start without a unit, by its size */
	int64_t last_end;
	uint64_t unitless, unitless_line;
};

static const char *const synonyms[COL_COUNT][16] = {
	[COL_STEP] = { "step", "iteration", "iter", "step id", "step number", "global step",
		       "training step", "step no", "number", "n", NULL },
	[COL_START] = { "start", "begin", "ts", "timestamp", "start time", "begin time",
			"step start", "start ts", "datetime", NULL },
	[COL_END] = { "end", "stop", "end time", "stop time", "finish", "step end", "end ts",
		      NULL },
	[COL_DURATION] = { "duration", "dur", "time", "step time", "iter time", "iteration time",
			   "elapsed", "elapsed time", "time per step", "step duration", "latency",
			   "time per iteration", "elapsed time per iteration", "seconds",
			   "milliseconds", NULL },
	[COL_RANK] = { "rank", "rank id", "global rank", "worker", NULL },
};

static const struct {
	const char *name;
	int64_t unit_ns;
} units[] = {
	{ "s", 1000000000 },	     { "sec", 1000000000 }, { "secs", 1000000000 },
	{ "seconds", 1000000000 },   { "ms", 1000000 },	    { "msec", 1000000 },
	{ "milliseconds", 1000000 }, { "us", 1000 },	    { "usec", 1000 },
	{ "microseconds", 1000 },    { "ns", 1 },	    { "nsec", 1 },
	{ "nanoseconds", 1 },
};

static int64_t unit_of(const char *word)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(word, units[i].name))
			return units[i].unit_ns;
	return 0;
}

/*
 * "Step Time (ms)", "step_time_ms", "stepTime" to "step time", and its unit. Names that are units
 * ("seconds") stay.
 */
static void plain_name(const struct csv_field *field, char *out, size_t size, int64_t *unit_ns)
{
	size_t n = 0;
	char *last;

	for (size_t i = 0; i < field->length && n + 2 < size; i++) {
		char c = field->text[i];
		bool is_upper = c >= 'A' && c <= 'Z';
		bool is_letter = is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (is_upper && i && field->text[i - 1] >= 'a' && field->text[i - 1] <= 'z' && n)
			out[n++] = ' ';
		if (is_letter)
			out[n++] = is_upper ? (char)(c + 32) : c;
		else if (n && out[n - 1] != ' ')
			out[n++] = ' ';
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
	*unit_ns = unit_of(out);
	last = strrchr(out, ' ');
	if (last && unit_of(last + 1)) {
		*unit_ns = unit_of(last + 1);
		*last = '\0';
		if (last - out > 3 && !strcmp(last - 3, " in"))
			last[-3] = '\0';
	}
}

/* The first of the synonyms that there is wins: "duration" over "time". */
static void find_column(const struct csv_record *names, struct steps *s, enum column c)
{
	for (const char *const *word = synonyms[c]; *word; word++) {
		for (size_t i = 0; i < names->count; i++) {
			char name[64];

			plain_name(&names->fields[i], name, sizeof(name), &s->unit_ns[c]);
			if (strcmp(name, *word) != 0)
				continue;
			s->at[c] = (int)i;
			return;
		}
	}
	s->at[c] = -1;
	s->unit_ns[c] = 0;
}

static void find_columns(const struct csv_record *names, struct steps *s)
{
	for (int c = 0; c < COL_COUNT; c++)
		find_column(names, s, c);
	/* "time" beside a duration is when, not how long */
	for (size_t i = 0; i < names->count && s->at[COL_START] < 0 && s->at[COL_DURATION] >= 0;
	     i++) {
		if (csv_is(&names->fields[i], "time") && (int)i != s->at[COL_DURATION])
			s->at[COL_START] = (int)i;
	}
	for (int c = 0; c < COL_COUNT; c++)
		if (s->at[c] >= 0)
			s->used[s->at[c]] = true;
}

static bool is_step_table(const struct csv_record *names)
{
	struct steps s = { 0 };

	find_columns(names, &s);
	return s.at[COL_DURATION] >= 0 ? s.at[COL_STEP] >= 0 || s.at[COL_START] >= 0
				       : s.at[COL_STEP] >= 0 && s.at[COL_START] >= 0;
}

static int begin(struct csv_table *t, struct tl_error *err)
{
	struct steps *s = t->state;

	if (!s)
		s = t->state = tl_alloc(1, sizeof(*s), err);
	if (!s)
		return TL_NOMEM;
	memset(s->used, 0, sizeof(s->used));
	memset(s->unit_ns, 0, sizeof(s->unit_ns));
	find_columns(&t->names, s);
	return TL_OK;
}

static const struct csv_field *field_of(const struct steps *s, const struct csv_record *values,
					enum column c)
{
	const struct csv_field *field = s->at[c] >= 0 && (size_t)s->at[c] < values->count
						? &values->fields[s->at[c]]
						: NULL;

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
	if (!csv_time(field, unit_ns ? unit_ns : s->guessed_unit_ns, ns))
		return false;
	s->is_relative |= *ns < INT64_C(100000000) * SECOND_NS;
	return true;
}

static bool read_time(struct csv_table *t, struct steps *s, const struct csv_field *field,
		      int64_t unit_ns, int64_t *ns)
{
	struct training_log_time time;

	if (memchr(field->text, ':', field->length)) {
		if (training_log_time(field->text, field->length, &time) != field->length)
			return false;
		if (time.clock != TRAINING_LOG_UNIX && time.clock != TRAINING_LOG_LOCAL)
			return false;
		s->is_local |= time.clock == TRAINING_LOG_LOCAL;
		*ns = time.ns - (time.clock == TRAINING_LOG_LOCAL && t->opt->has_timezone
					 ? t->opt->timezone_ns
					 : 0);
		return true;
	}
	return number_time(s, field, unit_ns, ns);
}

static int read_duration(struct csv_table *t, struct steps *s, const struct csv_field *field,
			 int64_t *ns, struct tl_error *err)
{
	int64_t unit = s->unit_ns[COL_DURATION];

	if (!unit) {
		unit = SECOND_NS;
		if (!s->unitless++)
			s->unitless_line = t->line;
	}
	if (!csv_time(field, unit, ns) || *ns < 0)
		return fail_field(t, field, "duration", err);
	return TL_OK;
}

static int fill_step(struct csv_table *t, struct steps *s, const struct csv_record *values,
		     struct tl_event *ev, struct tl_error *err)
{
	const struct csv_field *number = field_of(s, values, COL_STEP);
	const struct csv_field *start = field_of(s, values, COL_START);
	const struct csv_field *end = field_of(s, values, COL_END);
	const struct csv_field *duration = field_of(s, values, COL_DURATION);
	const struct csv_field *rank = field_of(s, values, COL_RANK);
	int64_t value, end_ns;
	int ret = TL_OK;

	ev->step.number = s->counted;
	ev->step.rank = t->opt->has_rank ? t->opt->rank : -1;
	ev->step.duration_ns = -1;
	if (number && !csv_integer(number, &ev->step.number))
		return fail_field(t, number, "step number", err);
	if (rank && (!csv_integer(rank, &value) || value > INT32_MAX))
		return fail_field(t, rank, "rank", err);
	if (rank)
		ev->step.rank = (int32_t)value;
	if (start && !read_time(t, s, start, s->unit_ns[COL_START], &ev->ts))
		return fail_field(t, start, "time: expected ISO 8601, or seconds since 1970", err);
	ev->has_ts = start != NULL;
	if (duration)
		ret = read_duration(t, s, duration, &ev->step.duration_ns, err);
	if (ret == TL_OK && end) {
		if (!read_time(t, s, end,
			       s->unit_ns[COL_END] ? s->unit_ns[COL_END] : s->unit_ns[COL_START],
			       &end_ns))
			return fail_field(t, end, "time: expected ISO 8601, or seconds since 1970",
					  err);
		if (start && !duration && end_ns >= ev->ts)
			ev->step.duration_ns = end_ns - ev->ts;
		else if (!start && duration)
			ev->has_ts = !__builtin_sub_overflow(end_ns, ev->step.duration_ns, &ev->ts);
	}
	if (ret == TL_OK && !ev->has_ts && ev->step.duration_ns < 0) {
		tl_fail_line(err, TL_FORMAT, t->line, "a row without start and duration");
		ret = TL_READ_SKIPPED;
	}
	return ret;
}

static int row(struct csv_table *t, const struct csv_record *values, struct tl_sink *sink,
	       struct tl_error *err)
{
	struct steps *s = t->state;
	struct tl_event ev = { .kind = TL_EVENT_STEP };
	int ret = fill_step(t, s, values, &ev, err);

	if (ret != TL_OK)
		return ret;
	s->counted = ev.step.number < INT64_MAX ? ev.step.number + 1 : 0;
	csv_detail(&t->detail, &t->names, values, s->used);
	if (t->detail.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ev.step.detail = t->detail.length ? t->detail.data : NULL;
	if (ev.has_ts) {
		int64_t end = ev.ts;

		if (ev.step.duration_ns > 0 &&
		    __builtin_add_overflow(ev.ts, ev.step.duration_ns, &end))
			end = ev.ts;
		s->last_end = !s->has_start || end > s->last_end ? end : s->last_end;
		s->has_start = true;
	}
	return csv_emit(t, sink, &ev, err);
}

static int emit_clock(struct csv_table *t, const struct steps *s, struct tl_sink *sink,
		      struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	if (!s->has_start)
		return TL_OK;
	ev.clock.name = "start column";
	ev.clock.method = TL_CLOCK_EXACT;
	ev.clock.why = "Unix time, or a time zone, in the table";
	if (s->is_relative) {
		if (!t->modified_ns ||
		    __builtin_sub_overflow(t->modified_ns, s->last_end, &ev.clock.offset_ns))
			ev.clock.offset_ns = 0;
		ev.clock.method = TL_CLOCK_ASSUMED;
		ev.clock.residual_ns = -1;
		ev.clock.why =
			"starts count from a beginning that is not told; file date taken for "
			"the end of the last step";
	} else if (s->is_local) {
		ev.clock.method = t->opt->has_timezone ? TL_CLOCK_TOLD : TL_CLOCK_ASSUMED;
		ev.clock.residual_ns = t->opt->has_timezone ? 0 : -1;
		ev.clock.why = t->opt->has_timezone ? "time zone told"
						    : "time zone not known, taken as UTC";
	}
	return sink->emit(sink, &ev, err);
}

static int end(struct csv_table *t, struct tl_sink *sink, struct tl_error *err)
{
	const struct steps *s = t->state;
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };
	int ret = emit_clock(t, s, sink, err);

	if (ret < 0 || !s->unitless)
		return ret;
	ev.diagnostic.kind = TL_DIAGNOSTIC_NOTE;
	ev.diagnostic.what = "durations without a unit, taken as seconds";
	ev.diagnostic.count = s->unitless;
	ev.diagnostic.unit = "steps";
	ev.diagnostic.position_kind = TL_POSITION_LINE;
	ev.diagnostic.position = s->unitless_line;
	return sink->emit(sink, &ev, err);
}

static void release(struct csv_table *t)
{
	free(t->state);
}

const struct csv_kind csv_steps = {
	.what = "a table of steps",
	.is_header = is_step_table,
	.begin = begin,
	.row = row,
	.end = end,
	.release = release,
};
