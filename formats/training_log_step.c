/*
 * training_log_step.c - what the body of one line says of a training step.
 *
 * The line is taken apart into numbers, each with the words before it and the unit behind it;
 * which number is the step and which its duration is told by those words. That covers
 * Megatron-LM and MindSpeed, DeepSpeed, Lightning and other progress bars, MindFormers, timm,
 * OpenMMLab, Keras and the plain prints of home-made loops without a table of programs.
 */
#include "training_log.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "reader.h"

enum {
	LABEL_MAX = 96,
	WORDS_MAX = 10,
	DETAILS_MAX = 48 /* members of a line: more is no log line */
};

/* One number of a line. */
struct item {
	const char *label; /* the text before it; not terminated */
	size_t label_length;
	const char *number;
	size_t number_length, end; /* offset behind number, total and unit */
	const char *unit;
	size_t unit_length;
	int64_t larger_ns;  /* of larger units before the number: "1 min 5 s" */
	bool is_fraction;   /* n/total */
	char before, after; /* the bytes around; NUL: none */
};

struct scanner {
	const char *text;
	size_t length, at;
	size_t label_start;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_';
}

/* ---- units ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int64_t unit_ns;
} units[] = {
	{ "ms", 1000000 },
	{ "msec", 1000000 },
	{ "millisecond", 1000000 },
	{ "milliseconds", 1000000 },
	{ "s", 1000000000 },
	{ "sec", 1000000000 },
	{ "secs", 1000000000 },
	{ "second", 1000000000 },
	{ "seconds", 1000000000 },
	{ "us", 1000 },
	{ "usec", 1000 },
	{ "ns", 1 },
	{ "min", INT64_C(60000000000) },
};

static int64_t time_unit(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len && !strncasecmp(text, units[i].name, len))
			return units[i].unit_ns;
	return 0;
}

static bool is_step_unit(const char *text, size_t len)
{
	static const char *const names[] = { "it",   "iter",  "iters", "iteration", "iterations",
					     "step", "steps", "batch", "batches",   "its" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && !strncasecmp(text, names[i], len))
			return true;
	return false;
}

/* "s/it", "ms/step": the unit of time; "it/s", "steps/sec": that of the rate, with *is_rate. */
static int64_t per_step_unit(const char *text, size_t len, bool *is_rate)
{
	const char *slash = memchr(text, '/', len);
	size_t left = slash ? (size_t)(slash - text) : 0, right = slash ? len - left - 1 : 0;

	*is_rate = false;
	if (!slash)
		return 0;
	if (is_step_unit(slash + 1, right))
		return time_unit(text, left);
	*is_rate = is_step_unit(text, left);
	return *is_rate ? time_unit(slash + 1, right) : 0;
}

static bool is_time_word(const char *text, size_t len)
{
	bool is_rate;

	return time_unit(text, len) || per_step_unit(text, len, &is_rate);
}

/* U+00B5 or U+03BC, and an s. */
static bool is_microseconds(const struct scanner *s, size_t at)
{
	return at + 3 <= s->length && s->text[at + 2] == 's' &&
	       (!memcmp(s->text + at, "\xc2\xb5", 2) || !memcmp(s->text + at, "\xce\xbc", 2)) &&
	       !(at + 3 < s->length && is_word(s->text[at + 3]));
}

static size_t unit_run(const struct scanner *s, size_t at)
{
	size_t n = 0;

	while (at + n < s->length && n < 16 &&
	       (is_letter(s->text[at + n]) || memchr("%/", s->text[at + n], 2)))
		n++;
	return n;
}

/* Is there a time at `at`, perhaps behind a blank: "s", " ms"? */
static bool time_follows(const struct scanner *s, size_t at)
{
	at += at < s->length && s->text[at] == ' ';
	return is_microseconds(s, at) || is_time_word(s->text + at, unit_run(s, at));
}

/* ---- numbers of a line ---------------------------------------------------------------------- */

static size_t digits_at(const struct scanner *s, size_t at)
{
	size_t n = 0;

	while (at + n < s->length && is_digit(s->text[at + n]))
		n++;
	return n;
}

/* 1,234,567 but not [0,1], 0,123 or 1,2345 */
static size_t grouped_digits(const struct scanner *s, size_t at)
{
	size_t n = digits_at(s, at);

	if (n < 1 || n > 3 || s->text[at] == '0')
		return n;
	while (at + n < s->length && s->text[at + n] == ',' && digits_at(s, at + n + 1) == 3)
		n += 4;
	return n;
}

/* Bytes of the number at `at`: sign, digits, fraction, exponent; 0 if none. */
static size_t number_length(const struct scanner *s, size_t at)
{
	const char *t = s->text;
	size_t start = at, n;

	if (at < s->length && (t[at] == '-' || t[at] == '+'))
		at++;
	n = grouped_digits(s, at);
	at += n;
	if (at < s->length && t[at] == '.' && (n || digits_at(s, at + 1))) {
		size_t fraction = digits_at(s, at + 1);

		at += 1 + fraction;
		n += fraction;
	} else if (n && at < s->length && t[at] == ',' && digits_at(s, at + 1) &&
		   time_follows(s, at + 1 + digits_at(s, at + 1))) {
		at += 1 + digits_at(s, at + 1); /* "0,5 s": a decimal comma */
	}
	if (!n)
		return 0;
	if (at + 1 < s->length && (t[at] == 'e' || t[at] == 'E')) {
		size_t sign = t[at + 1] == '-' || t[at + 1] == '+';
		size_t exponent = digits_at(s, at + 1 + sign);

		if (exponent)
			at += 1 + sign + exponent;
	}
	return at - start;
}

/* Behind a number: 12:34:56, 1.2.3, 2024-05-01 are no numbers; their end, or 0. */
static size_t compound_end(const struct scanner *s, size_t at)
{
	size_t start = at;

	while (at + 1 < s->length && memchr(":.-", s->text[at], 3) && is_digit(s->text[at + 1]))
		at += 1 + digits_at(s, at + 1);
	return at > start ? at : 0;
}

/* The unit stands at the number, or a blank behind it if it is one of time. */
static void read_unit(struct scanner *s, struct item *item)
{
	size_t n = unit_run(s, s->at), blank = s->at < s->length && s->text[s->at] == ' ';

	if (is_microseconds(s, s->at + blank)) {
		item->unit = "us";
		item->unit_length = 2;
		s->at += blank + 3;
		return;
	}
	if (n && s->text[s->at] == '/' && (n != 2 || s->text[s->at + 1] != 's'))
		n = 0; /* "epoch=0/step=10": two pairs */
	item->unit = s->text + s->at;
	item->unit_length = n;
	if (n) {
		s->at += n;
		return;
	}
	n = blank ? unit_run(s, s->at + 1) : 0;
	if (n && is_time_word(s->text + s->at + 1, n) &&
	    !(s->at + 1 + n < s->length && strchr(":=", s->text[s->at + 1 + n]))) {
		item->unit = s->text + s->at + 1;
		item->unit_length = n;
		s->at += 1 + n;
	}
}

/* 12/100, 12 / 100, "2/  100" */
static void read_total(struct scanner *s, struct item *item)
{
	size_t at = s->at, n;

	while (at < s->length && s->text[at] == ' ')
		at++;
	if (at >= s->length || s->text[at] != '/')
		return;
	for (at++; at < s->length && s->text[at] == ' '; at++)
		;
	n = grouped_digits(s, at);
	if (!n || (at + n < s->length && (is_word(s->text[at + n]) || s->text[at + n] == '/')))
		return;
	item->is_fraction = true;
	s->at = at + n;
}

/* Of which smaller ones may follow; 0: none may. */
static int64_t larger_unit(const struct item *item)
{
	static const struct {
		const char *name;
		int64_t unit_ns;
	} larger[] = {
		{ "h", INT64_C(3600000000000) },     { "hr", INT64_C(3600000000000) },
		{ "hour", INT64_C(3600000000000) },  { "hours", INT64_C(3600000000000) },
		{ "m", INT64_C(60000000000) },	     { "min", INT64_C(60000000000) },
		{ "mins", INT64_C(60000000000) },    { "minute", INT64_C(60000000000) },
		{ "minutes", INT64_C(60000000000) },
	};

	for (size_t i = 0; i < sizeof(larger) / sizeof(larger[0]); i++)
		if (strlen(larger[i].name) == item->unit_length &&
		    !strncmp(larger[i].name, item->unit, item->unit_length))
			return larger[i].unit_ns;
	return 0;
}

/* "1m 2.00s", "1 h 5 min": one time. True: the item is now its smaller part. */
static bool read_smaller_unit(struct scanner *s, struct item *item)
{
	int64_t unit_ns = larger_unit(item);
	struct scanner ahead = *s;
	struct item part = *item;
	uint64_t count;

	while (ahead.at < ahead.length && ahead.text[ahead.at] == ' ')
		ahead.at++;
	part.number = ahead.text + ahead.at;
	part.number_length = number_length(&ahead, ahead.at);
	if (!unit_ns || !part.number_length || !is_digit(part.number[0]) || item->is_fraction ||
	    tl_parse_u64(item->number, item->number_length, 10, &count) != item->number_length ||
	    count > 1000000)
		return false;
	ahead.at += part.number_length;
	read_unit(&ahead, &part);
	if (larger_unit(&part) >= unit_ns ||
	    !(larger_unit(&part) || time_unit(part.unit, part.unit_length)))
		return false;
	part.larger_ns += (int64_t)count * unit_ns;
	*item = part;
	*s = ahead;
	return true;
}

static void set_label(const struct scanner *s, struct item *item, size_t end)
{
	static const char trimmed[] = " \t:=[]()'\"#-~>";
	size_t start = s->label_start;

	while (end > start && strchr(trimmed, s->text[end - 1]) && s->text[end - 1]) {
		/* "(ms)" belongs to the words, "(" does not */
		if (s->text[end - 1] == ')' && memrchr(s->text + start, '(', end - start))
			break;
		end--;
	}
	while (start < end && (strchr(trimmed, s->text[start]) || s->text[start] == '/'))
		start++;
	if (end - start > LABEL_MAX)
		start = end - LABEL_MAX;
	item->label = s->text + start;
	item->label_length = end - start;
}

/* Block elements of progress bars, U+2580 to U+259F. */
static bool is_block(const struct scanner *s, size_t at)
{
	return at + 2 < s->length && (uint8_t)s->text[at] == 0xe2 &&
	       (uint8_t)s->text[at + 1] == 0x96 && (uint8_t)s->text[at + 2] >= 0x80;
}

/* nan and inf stand for numbers where a value is announced. */
static size_t word_number(const struct scanner *s, size_t at)
{
	static const char *const words[] = { "nan", "inf", "-inf", "+inf" };

	if (at < 2 || !(strchr(":=[(", s->text[at - 1]) ||
			(s->text[at - 1] == ' ' && strchr(":=", s->text[at - 2]))))
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if (s->length - at >= n && !strncasecmp(s->text + at, words[i], n) &&
		    (s->length - at == n || !is_word(s->text[at + n])))
			return n;
	}
	return 0;
}

/* Skips a byte that begins no number, and moves the start of the label where it separates. */
static void step_over(struct scanner *s)
{
	char c = s->text[s->at];

	if (is_block(s, s->at)) {
		s->at += 3;
		s->label_start = s->at;
	} else if (is_word(c)) {
		while (s->at < s->length && is_word(s->text[s->at]))
			s->at++;
	} else {
		s->at++;
		if (memchr("|,;{}\t<", c, 7))
			s->label_start = s->at;
	}
}

static bool next_item(struct scanner *s, struct item *item)
{
	while (s->at < s->length) {
		char before = s->at ? s->text[s->at - 1] : ' ';
		size_t n = is_word(before) || before == '.' ? 0 : number_length(s, s->at), end;

		if (!n)
			n = is_word(before) ? 0 : word_number(s, s->at);
		if (!n) {
			step_over(s);
			continue;
		}
		memset(item, 0, sizeof(*item));
		set_label(s, item, s->at);
		item->number = s->text + s->at;
		item->number_length = n;
		s->at += n;
		end = compound_end(s, s->at);
		if (end) {
			s->at = s->label_start = end;
			continue;
		}
		read_total(s, item);
		read_unit(s, item);
		while (read_smaller_unit(s, item))
			;
		item->end = s->at;
		item->before = before;
		item->after = s->at < s->length ? s->text[s->at] : '\0';
		s->label_start = s->at;
		return true;
	}
	return false;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* The label in lower case, '_' and '.' as blanks, cut into words. */
struct words {
	char text[LABEL_MAX + 1];
	const char *word[WORDS_MAX];
	int count; /* WORDS_MAX + 1: too many to be a label */
};

static void cut_words(struct words *w, const char *label, size_t len)
{
	bool in_word = false;

	w->count = 0;
	for (size_t i = 0; i < len && i < LABEL_MAX; i++) {
		char c = label[i];

		c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
		if (!is_word(c) && c != '/' && c != '%')
			c = ' ';
		w->text[i] = c == ' ' || c == '_' ? '\0' : c;
		if (w->text[i] && !in_word) {
			if (w->count < WORDS_MAX)
				w->word[w->count] = &w->text[i];
			w->count++;
		}
		in_word = w->text[i] != '\0';
	}
	w->text[len < LABEL_MAX ? len : LABEL_MAX] = '\0';
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

static bool has_word(const struct words *w, const char *const *list)
{
	for (int i = 0; i < w->count; i++)
		if (is_one_of(w->word[i], list))
			return true;
	return false;
}

static const char *const step_words[] = { "step", "steps", "iteration", "iterations",
					  "iter", "iters", "it",	NULL };
static const char *const batch_words[] = { "batch", "batches", "b", NULL };
/* Counters of something else, and talk about steps. */
static const char *const not_step_words[] = {
	"skipped", "nan",    "number",	   "num",	 "warmup",	 "total",
	"max",	   "save",   "saving",	   "saved",	 "checkpoint",	 "per",
	"time",	   "eval",   "evaluation", "evaluating", "validation",	 "valid",
	"val",	   "test",   "every",	   "micro",	 "accumulation", "remaining",
	"decay",   "size",   "from",	   "resume",	 "resuming",	 "load",
	"loading", "loaded", "until",	   "first",	 "last",	 NULL
};

/* 2: surely the number of a step, 1: perhaps (a batch), 0: no. */
static int step_likeness(const struct words *w)
{
	const char *last = w->count && w->count <= WORDS_MAX ? w->word[w->count - 1] : "";

	if (!*last || has_word(w, not_step_words))
		return 0;
	if (is_one_of(last, step_words))
		return 2;
	return w->count == 1 && is_one_of(last, batch_words) ? 1 : 0;
}

/* ---- durations ------------------------------------------------------------------------------ */

enum likeness { NO_DURATION, BARE_DURATION, SOME_DURATION, STEP_DURATION };

/* A time that the label gives a unit for: "time (ms)", "step_time_s", "timing in s". */
static int64_t label_unit(struct words *w)
{
	int64_t unit =
		w->count > 1 ? time_unit(w->word[w->count - 1], strlen(w->word[w->count - 1])) : 0;

	if (!unit)
		return 0;
	w->count--;
	if (w->count > 1 && !strcmp(w->word[w->count - 1], "in"))
		w->count--;
	return unit;
}

static enum likeness duration_likeness(const struct words *w, bool *is_mean)
{
	static const char *const heads[] = { "time",	"timing",     "times",	   "duration",
					     "dur",	"latency",    "cost",	   "took",
					     "dt",	"elapsed",    "time/iter", "time/step",
					     "time/it", "time/batch", NULL };
	static const char *const steps[] = { "step",	"iteration",  "iter",	   "it",
					     "batch",	"iters",      "time/iter", "time/step",
					     "time/it", "time/batch", "dt",	   NULL };
	static const char *const modifiers[] = { "elapsed",  "per",  "global",	"train",
						 "training", "avg",  "average", "mean",
						 "wall",     "the",  "a",	"running",
						 "current",  "curr", "this",	"in",
						 "average",  "each", "one",	NULL };
	static const char *const means[] = { "avg", "average", "mean", "running", NULL };
	bool is_step = false, is_time = false;

	for (int i = 0; i < w->count; i++) {
		bool is_head = is_one_of(w->word[i], heads);

		is_time |= is_head;
		is_step |= is_one_of(w->word[i], steps);
		if (!is_head && !is_one_of(w->word[i], steps) && !is_one_of(w->word[i], modifiers))
			return NO_DURATION;
	}
	if (!is_time)
		return NO_DURATION;
	*is_mean = has_word(w, means);
	if (is_step)
		return STEP_DURATION;
	/* since the start of the program, most likely */
	return has_word(w, (const char *const[]) { "elapsed", NULL }) ? NO_DURATION : SOME_DURATION;
}

/* "steps per second", "it/s", "global steps/sec" as words before the number. */
static int64_t label_rate(const struct words *w)
{
	const char *last = w->count ? w->word[w->count - 1] : "";
	bool is_rate = false;
	int64_t unit = per_step_unit(last, strlen(last), &is_rate);

	if (unit && is_rate)
		return unit;
	if (w->count >= 3 && !strcmp(w->word[w->count - 2], "per") &&
	    is_step_unit(w->word[w->count - 3], strlen(w->word[w->count - 3])))
		return time_unit(last, strlen(last));
	return 0;
}

/* "sec/step", "seconds per step" as words before the number. */
static int64_t label_per_step(const struct words *w)
{
	const char *last = w->count ? w->word[w->count - 1] : "";
	bool is_rate = false;
	int64_t unit = per_step_unit(last, strlen(last), &is_rate);

	if (unit && !is_rate)
		return unit;
	if (w->count >= 3 && !strcmp(w->word[w->count - 2], "per") &&
	    is_step_unit(last, strlen(last)))
		return time_unit(w->word[w->count - 3], strlen(w->word[w->count - 3]));
	return 0;
}

/* Groups have three digits, and numbers that begin with 0 have none. */
static bool is_decimal_comma(const char *number, size_t len, size_t at)
{
	return !memchr(number, '.', len) && (len - at != 4 || number[0] == '0');
}

static bool to_ns(const char *number, size_t len, int64_t unit_ns, int64_t *ns)
{
	const char *last = memrchr(number, ',', len);
	char plain[64];
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < sizeof(plain); i++) {
		if (number[i] != ',')
			plain[n++] = number[i];
		else if (number + i == last && is_decimal_comma(number, len, i))
			plain[n++] = '.';
	}
	return tl_parse_time(plain, n, unit_ns, ns) == n && *ns > 0;
}

/* rate in 1 / unit to the time of one, with nine digits of the rate. */
static bool rate_to_ns(const char *number, size_t len, int64_t unit_ns, int64_t *ns)
{
	int64_t nano;

	if (!to_ns(number, len, 1000000000, &nano))
		return false;
	*ns = llround((double)unit_ns * 1e9 / (double)nano);
	return *ns > 0;
}

struct duration {
	enum likeness likeness;
	int64_t ns;
	bool is_mean, is_rate, is_without_unit;
	size_t end;
};

static void read_duration(const struct item *item, struct words *w, struct duration *d)
{
	bool is_rate = false;
	int64_t unit = per_step_unit(item->unit, item->unit_length, &is_rate), in_label;

	memset(d, 0, sizeof(*d));
	d->end = item->end;
	if (item->is_fraction || w->count > WORDS_MAX)
		return;
	if (unit) {
		/* of a progress bar, unless words say more: the bar's is smoothed */
		d->likeness = w->count ? STEP_DURATION : SOME_DURATION;
	} else if ((unit = label_rate(w)) != 0) {
		d->likeness = STEP_DURATION;
		is_rate = true;
	} else if ((unit = label_per_step(w)) != 0) {
		d->likeness = STEP_DURATION;
	} else {
		in_label = label_unit(w);
		unit = time_unit(item->unit, item->unit_length);
		if (!unit)
			unit = item->unit_length ? 0 : in_label;
		d->likeness = duration_likeness(w, &d->is_mean);
		/* "(8.0 sec)" may be the time of all steps since the last line */
		if (w->count == 0 && unit && item->before != '(')
			d->likeness = BARE_DURATION;
		if (d->likeness > BARE_DURATION && !unit && !item->unit_length) {
			unit = 1000000000;
			d->is_without_unit = true;
		}
	}
	d->is_rate = is_rate;
	if (item->larger_ns && is_rate)
		unit = 0;
	if (!unit || !(is_rate ? rate_to_ns(item->number, item->number_length, unit, &d->ns)
			       : to_ns(item->number, item->number_length, unit, &d->ns)))
		d->likeness = NO_DURATION;
	else
		d->ns += item->larger_ns;
}

/* ---- the line ------------------------------------------------------------------------------- */

/* Words before a progress bar, or anywhere before a step, that say it is none of training. */
static bool speaks_of_other_work(const char *text, size_t len, bool is_progress)
{
	static const char *const always[] = { "checkpoint", "validation", "evaluat", "eval " };
	static const char *const progress[] = {
		"load",	  "fetch",   "token", "shard",	"sav",	   "valid",   "sanity",
		"test",	  "predict", "eval",  "map",	"filter",  "generat", "compil",
		"upload", "process", "warm",  "captur", "extract", "build"
	};
	char lower[256];
	size_t n = len < sizeof(lower) ? len : sizeof(lower);

	for (size_t i = 0; i < n; i++)
		lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (memmem(lower, n, always[i], strlen(always[i])))
			return true;
	for (size_t i = 0; is_progress && i < sizeof(progress) / sizeof(progress[0]); i++)
		if (memmem(lower, n, progress[i], strlen(progress[i])))
			return true;
	return false;
}

static bool speaks_of_training(const struct words *w)
{
	static const char *const words[] = { "loss",
					     "lr",
					     "rate",
					     "grad",
					     "throughput",
					     "mfu",
					     "tps",
					     "tokens",
					     "samples",
					     "skipped",
					     "samples/sec",
					     "tokens/sec",
					     "ips",
					     "tflops",
					     "norm",
					     "runningavgsamplespersec",
					     "currsamplespersec",
					     "tokens/s",
					     "samples/s",
					     "wps",
					     "ppl",
					     NULL };

	return has_word(w, words);
}

void training_log_number(struct tl_text *out, const char *text, size_t len)
{
	size_t at = len && (text[0] == '-' || text[0] == '+');

	if (at >= len || !(is_digit(text[at]) || text[at] == '.')) {
		tl_text_puts(out, "null");
		return;
	}
	if (text[0] == '-')
		tl_text_puts(out, "-");
	while (at + 1 < len && text[at] == '0' && is_digit(text[at + 1]))
		at++;
	if (text[at] == '.')
		tl_text_puts(out, "0");
	for (; at < len; at++) {
		if (text[at] != ',')
			tl_text_add(out, text + at, 1);
		if (text[at] == '.' && (at + 1 == len || !is_digit(text[at + 1])))
			tl_text_puts(out, "0");
	}
}

static void add_detail(struct tl_text *detail, const struct item *item)
{
	char label[LABEL_MAX + 24];
	int n = snprintf(label, sizeof(label), "%.*s", (int)item->label_length, item->label);
	int64_t unit = time_unit(item->unit, item->unit_length), ns = 0;

	/* the percentage of a progress bar says nothing new */
	if (!item->label_length || n < 0 ||
	    (item->unit_length == 1 && item->unit[0] == '%' && item->after == '|'))
		return;
	/* "eta: 1h 2m 3s" is one number */
	if (item->larger_ns) {
		to_ns(item->number, item->number_length, unit ? unit : larger_unit(item), &ns);
		snprintf(label + n, sizeof(label) - (size_t)n, " (s)");
	} else if (item->unit_length && (size_t)n < sizeof(label)) {
		snprintf(label + n, sizeof(label) - (size_t)n, " (%.*s)", (int)item->unit_length,
			 item->unit);
	}
	if (detail->length)
		tl_text_puts(detail, ",");
	tl_text_json(detail, label, strlen(label));
	tl_text_puts(detail, ":");
	if (item->larger_ns)
		tl_text_printf(detail, "%.9g", (double)(item->larger_ns + ns) / 1e9);
	else
		training_log_number(detail, item->number, item->number_length);
}

static bool is_counter(const struct item *item, int64_t *number)
{
	uint64_t value;
	char plain[24];
	size_t n = 0;

	for (size_t i = 0; i < item->number_length && n + 1 < sizeof(plain); i++)
		if (item->number[i] != ',')
			plain[n++] = item->number[i];
	while (n > 2 && plain[n - 1] == '0' && memchr(plain, '.', n)) /* "49.00" */
		n--;
	n -= n > 1 && plain[n - 1] == '.';
	if (item->unit_length || item->number_length > 20 ||
	    tl_parse_u64(plain, n, 10, &value) != n || value > INT64_MAX)
		return false;
	*number = (int64_t)value;
	return true;
}

/* A later number replaces an earlier one only if it is surer. */
struct found {
	int step_likeness; /* 3 global step, 2 step, 1 batch, 0 a fraction, -1 none */
	struct duration duration;
};

static bool take_number(struct training_log_step *step, struct found *found,
			const struct item *item, const struct words *w, const char *text)
{
	int likeness = step_likeness(w);
	int64_t number;
	size_t before = (size_t)(item->number - text);

	if (likeness == 2 && w->count > 1 && !strcmp(w->word[w->count - 2], "global"))
		likeness = 3;
	if (!likeness && !(item->is_fraction && !w->count))
		return false;
	if (likeness <= found->step_likeness || !is_counter(item, &number))
		return false;
	if (speaks_of_other_work(text, before, !likeness)) {
		step->is_other_progress |= !likeness;
		return false;
	}
	found->step_likeness = likeness;
	step->has_number = true;
	step->number = number;
	step->is_progress = !likeness;
	return true;
}

static bool take_duration(struct found *found, const struct item *item, struct words *w)
{
	struct duration d;

	read_duration(item, w, &d);
	if (d.likeness <= found->duration.likeness)
		return d.likeness != NO_DURATION;
	found->duration = d;
	return true;
}

bool training_log_step(const char *text, size_t len, struct training_log_step *step,
		       struct tl_text *detail)
{
	struct scanner s = { .text = text, .length = len };
	struct found found = { .step_likeness = -1 };
	struct item item;
	struct words w;

	memset(step, 0, sizeof(*step));
	for (int count = 0; count < DETAILS_MAX && next_item(&s, &item); count++) {
		cut_words(&w, item.label, item.label_length);
		if (w.count > WORDS_MAX)
			continue;
		if (take_number(step, &found, &item, &w, text))
			continue;
		step->is_training |= speaks_of_training(&w);
		if (!take_duration(&found, &item, &w))
			add_detail(detail, &item);
	}
	step->has_duration = found.duration.likeness != NO_DURATION;
	step->duration_ns = step->has_duration ? found.duration.ns : -1;
	step->duration_end = found.duration.end;
	step->is_mean = found.duration.is_mean;
	step->is_rate = found.duration.is_rate;
	step->is_without_unit = found.duration.is_without_unit;
	/* a fraction alone is anything; with a time per step it is a progress bar */
	if (step->is_progress && found.duration.likeness < SOME_DURATION)
		step->has_number = false;
	step->is_other_progress &= step->has_duration;
	if (!step->has_number)
		return false;
	return step->has_duration || (step->is_training && !step->is_progress);
}
