/*
 * csv_step_columns.c - which column of a table of steps tells what, by names that people and the
 * loggers of training programs give: "Step Time (ms)", "train/step_time", "metrics.iter_time_s".
 */
#include "csv_step.h"

#include <string.h>

#include "training_log_line.h"
#include "training_log_unit.h"

enum { NAME_MAX_LENGTH = TRAINING_LOG_LABEL_MAX, NAMES_OF_COLUMN = 24 };

/*
 * The ways to read a name: as it is; without the path before it; and with the path as its first word,
 * as in "time/step".
 */
enum { READINGS = 3 };

struct reading {
	char text[NAME_MAX_LENGTH + 1];
	size_t length;
};

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* "stepTime", "_step", "Step Time (ms)" in small letters with single blanks; '/' and '%' stay. */
static void make_plain(const char *name, size_t len, struct reading *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 2 < sizeof(out->text); i++) {
		char c = name[i];
		bool is_upper = c >= 'A' && c <= 'Z';

		c = is_upper ? (char)(c + 32) : c;
		if (is_upper && i && name[i - 1] >= 'a' && name[i - 1] <= 'z' && n)
			out->text[n++] = ' ';
		if (is_letter_or_digit(c) || c == '/' || c == '%')
			out->text[n++] = c;
		else if (n && out->text[n - 1] != ' ')
			out->text[n++] = ' ';
	}
	while (n && out->text[n - 1] == ' ')
		n--;
	out->text[n] = '\0';
	out->length = n;
}

static size_t path_length(const char *name, size_t len)
{
	size_t path = 0;

	for (size_t i = 0; i + 1 < len; i++)
		if (name[i] == '/' || name[i] == '.' || name[i] == ':')
			path = i + 1;
	return path;
}

static void read_name(const char *name, size_t len, struct reading out[READINGS])
{
	size_t path = path_length(name, len);

	make_plain(name, len, &out[0]);
	make_plain(name + path, len - path, &out[1]);
	make_plain(name, len, &out[2]);
	for (size_t i = 0; i < out[2].length; i++)
		if (out[2].text[i] == '/')
			out[2].text[i] = ' ';
	/* other paths than these say nothing of what the rest is */
	if (strncmp(out[2].text, "time ", 5) != 0 && strncmp(out[2].text, "timing ", 7) != 0)
		out[2].length = 0;
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

/* Of other work than training, wherever in the name that stands. */
static bool is_other_work(const char *name, size_t len)
{
	static const char *const other[] = { "eval",  "evaluation", "val",
					     "valid", "validation", "test",
					     "infer", "inference",  NULL };
	struct reading plain;
	char *rest = plain.text;

	make_plain(name, len, &plain);
	for (char *c = plain.text; *c; c++)
		*c = *c == '/' ? ' ' : *c;
	for (char *word = strtok_r(plain.text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		if (is_one_of(word, other))
			return true;
	return false;
}

/* ---- durations ------------------------------------------------------------------------------- */

static bool cut(struct training_log_words *w, const struct reading *reading)
{
	training_log_cut_words(w, reading->text, reading->length);
	return w->count && w->count <= TRAINING_LOG_WORDS_MAX;
}

static bool is_just(const struct training_log_words *w, const char *first, const char *second)
{
	if (w->count != (second ? 2 : 1) || strcmp(w->word[0], first) != 0)
		return false;
	return !second || !strcmp(w->word[1], second);
}

static void read_words(struct training_log_words *w, struct csv_step_duration *out)
{
	static const char *const steps[] = { "step", "iter", "iteration", "batch", NULL };
	enum training_log_mean mean = NO_MEAN;

	memset(out, 0, sizeof(*out));
	if ((out->unit_ns = training_log_label_rate(w)) != 0) {
		out->score = 60;
		out->is_rate = true;
		return;
	}
	if ((out->unit_ns = training_log_label_per_step(w)) != 0) {
		out->score = 95;
		return;
	}
	if (w->count == 1 && strlen(w->word[0]) > 3 &&
	    training_log_unit(w->word[0], strlen(w->word[0]))) {
		out->unit_ns = training_log_unit(w->word[0], strlen(w->word[0])); /* "seconds" */
		out->score = 40;
		return;
	}
	out->unit_ns = training_log_label_unit(w);
	if (is_just(w, "elapsed", NULL) || is_just(w, "elapsed", "time")) {
		out->score = 45;
		out->may_be_total = true;
		return;
	}
	if (out->unit_ns && w->count == 1 && is_one_of(w->word[0], steps)) {
		out->score = 85; /* "step_ms" */
		return;
	}
	if (is_just(w, "wall", "time"))
		return; /* when, and not how long */
	switch (training_log_duration_likeness(w, &mean)) {
	case STEP_DURATION:
		out->score = mean == IS_MEAN ? 90 : mean == IS_OWN ? 101 : 100;
		break;
	case SOME_DURATION:
		out->may_be_time = is_just(w, "time", NULL) && !out->unit_ns;
		out->score = is_just(w, "time", NULL) ? 30
			     : mean == IS_MEAN	      ? 50
			     : mean == IS_OWN	      ? 95
						      : 55;
		break;
	case BARE_DURATION:
	case NO_DURATION:
		break;
	}
}

void csv_step_duration_name(const char *name, size_t len, struct csv_step_duration *out)
{
	struct reading readings[READINGS];
	struct csv_step_duration found;
	struct training_log_words w;

	memset(out, 0, sizeof(*out));
	if (is_other_work(name, len))
		return;
	read_name(name, len, readings);
	for (int i = 0; i < READINGS; i++) {
		if (!cut(&w, &readings[i]))
			continue;
		read_words(&w, &found);
		if (found.score > out->score)
			*out = found;
	}
}

/* ---- other columns --------------------------------------------------------------------------- */

/* The first of the names that there is wins. */
static const char *const names_of[CSV_STEP_COLUMNS][NAMES_OF_COLUMN] = {
	[CSV_STEP_NUMBER] = { "global step",
			      "step",
			      "iteration",
			      "iter",
			      "step id",
			      "step number",
			      "training step",
			      "step no",
			      "train step",
			      "current step",
			      "current iteration",
			      "num updates",
			      "it",
			      "steps",
			      "iterations",
			      "batch",
			      "batch idx",
			      "number",
			      "n",
			      NULL },
	[CSV_STEP_BEGIN] = { "start", "begin", "start time", "begin time", "step start",
			     "step begin", "start ts", "begin ts", "start timestamp", "t0", NULL },
	[CSV_STEP_END] = { "end",	 "stop",	  "end time",  "stop time",
			   "finish",	 "step end",	  "end ts",    "timestamp",
			   "time stamp", "wall time",	  "walltime",  "ts",
			   "datetime",	 "date time",	  "logged at", "created at",
			   "asctime",	 "event time",	  "time",      "date",
			   "runtime",	 "relative time", NULL },
	[CSV_STEP_RANK] = { "rank", "rank id", "global rank", "worker", "worker rank", NULL },
	[CSV_STEP_KEY] = { "key", "metric", "tag", "metric name", "name", NULL },
	[CSV_STEP_VALUE] = { "value", "metric value", NULL },
};

/* Is the name `word`, perhaps behind a path and with a unit? */
static bool is_named(const struct csv_field *name, const char *word, int64_t *unit_ns)
{
	struct reading readings[READINGS];
	size_t length = strlen(word);

	*unit_ns = 0;
	read_name(name->text, name->length, readings);
	for (int i = 0; i < 2; i++) {
		const struct reading *r = &readings[i];

		if (r->length < length || memcmp(r->text, word, length) != 0)
			continue;
		if (r->length == length)
			return true;
		if (r->text[length] != ' ')
			continue;
		*unit_ns = training_log_unit(r->text + length + 1, r->length - length - 1);
		if (*unit_ns)
			return true;
	}
	return false;
}

static void find_named(const struct csv_record *names, struct csv_step_columns *out,
		       enum csv_step_column c)
{
	for (const char *const *word = names_of[c]; *word && out->at[c] < 0; word++) {
		for (size_t i = 0; i < names->count; i++) {
			const struct csv_field *name = &names->fields[i];

			if ((int)i == out->at[CSV_STEP_DURATION] ||
			    !is_named(name, *word, &out->unit_ns[c]) ||
			    is_other_work(name->text, name->length))
				continue;
			out->at[c] = (int)i;
			return;
		}
	}
	if (out->at[c] < 0)
		out->unit_ns[c] = 0;
}

/* "step_time_min": minutes, but beside "step_time_max" the least one. */
static bool ends_in_minutes(const struct csv_record *names, size_t at)
{
	static const char *const others[] = { "max", "mean", "avg",    "average", "std",
					      "p50", "p99",  "median", "sum",	  NULL };
	struct reading name, other;

	make_plain(names->fields[at].text, names->fields[at].length, &name);
	if (name.length < 5 || strcmp(name.text + name.length - 4, " min") != 0)
		return false;
	for (size_t i = 0; i < names->count; i++) {
		make_plain(names->fields[i].text, names->fields[i].length, &other);
		if (other.length > name.length - 3 &&
		    !memcmp(other.text, name.text, name.length - 3) &&
		    is_one_of(other.text + name.length - 3, others))
			return false;
	}
	return true;
}

static void find_duration(const struct csv_record *names, struct csv_step_columns *out)
{
	struct csv_step_duration best = { 0 }, found;

	for (size_t i = 0; i < names->count; i++) {
		bool is_minutes = ends_in_minutes(names, i);

		csv_step_duration_name(names->fields[i].text,
				       names->fields[i].length - (is_minutes ? 4 : 0), &found);
		if (is_minutes && found.unit_ns)
			found.score = 0; /* "step_time_s_min" */
		if (is_minutes)
			found.unit_ns = INT64_C(60000000000);
		if (found.score <= best.score)
			continue;
		best = found;
		out->at[CSV_STEP_DURATION] = (int)i;
	}
	out->unit_ns[CSV_STEP_DURATION] = best.unit_ns;
	out->is_rate = best.is_rate;
	out->may_be_total = best.may_be_total;
	out->may_be_time = best.may_be_time;
}

void csv_step_find_columns(const struct csv_record *names, struct csv_step_columns *out)
{
	int dur = csv_column(names, "dur"), ts = csv_column(names, "ts");

	memset(out, 0, sizeof(*out));
	for (int c = 0; c < CSV_STEP_COLUMNS; c++)
		out->at[c] = -1;
	find_duration(names, out);
	for (int c = 0; c < CSV_STEP_COLUMNS; c++)
		if (c != CSV_STEP_DURATION)
			find_named(names, out, c);
	/* as in traces */
	if (dur >= 0 && ts >= 0 && out->at[CSV_STEP_BEGIN] < 0) {
		out->at[CSV_STEP_BEGIN] = ts;
		if (out->at[CSV_STEP_END] == ts)
			out->at[CSV_STEP_END] = -1;
	}
	if (out->at[CSV_STEP_KEY] < 0 || out->at[CSV_STEP_VALUE] < 0)
		out->at[CSV_STEP_KEY] = out->at[CSV_STEP_VALUE] = -1;
}

bool csv_step_is_table(const struct csv_step_columns *columns)
{
	const int *at = columns->at;
	bool has_time = at[CSV_STEP_BEGIN] >= 0 || at[CSV_STEP_END] >= 0;

	if (at[CSV_STEP_NUMBER] < 0)
		return at[CSV_STEP_DURATION] >= 0 && has_time;
	return at[CSV_STEP_DURATION] >= 0 || has_time || at[CSV_STEP_KEY] >= 0;
}
