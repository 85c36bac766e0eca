/*
 * training_log_step.c - what the body of one line says of a training step.
 *
 * The line is taken apart into numbers; which of them is the step and which its duration is told by
 * the words beside them. That covers Megatron-LM and MindSpeed, DeepSpeed, Lightning and other
 * progress bars, MindFormers, timm, OpenMMLab, Keras and the plain prints of home-made loops without
 * a table of programs.
 */
#include "training_log.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "reader.h"
#include "training_log_line.h"
#include "training_log_unit.h"

enum { DETAILS_MAX = 48 /* members of a line: more is no log line */ };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- durations -------------------------------------------------------------------------------- */

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
	enum training_log_likeness likeness;
	int64_t ns;
	enum training_log_mean mean;
	enum training_log_total total;
	bool is_total, is_rate, is_without_unit;
	int64_t tick_ns;
	size_t end;
};

/* "seconds: 0.5": the unit is all that the label says. */
static int64_t bare_unit(const struct training_log_words *w)
{
	const char *word = w->count == 1 ? w->word[0] : "";

	return strlen(word) > 1 && strcmp(word, "min") != 0 ? training_log_unit(word, strlen(word))
							    : 0;
}

/* What one in the last digit of a number is. */
static int64_t last_digit(const char *number, size_t len, int64_t unit_ns)
{
	const char *point = memchr(number, '.', len);

	for (const char *c = point ? point + 1 : number + len;
	     c < number + len && is_digit(*c) && unit_ns > 1; c++)
		unit_ns /= 10;
	return unit_ns;
}

static void read_duration(const struct training_log_item *item, struct training_log_words *w,
			  struct duration *d)
{
	bool is_rate = false;
	int64_t unit = training_log_per_step_unit(item->unit, item->unit_length, &is_rate),
		in_label;

	memset(d, 0, sizeof(*d));
	d->end = item->end;
	if (item->is_fraction || w->count > TRAINING_LOG_WORDS_MAX)
		return;
	if (unit) {
		/* of a progress bar, unless words say more: the bar's is smoothed */
		d->likeness = w->count ? STEP_DURATION : SOME_DURATION;
	} else if ((unit = training_log_label_rate(w)) != 0) {
		d->likeness = STEP_DURATION;
		is_rate = true;
	} else if ((unit = training_log_label_per_step(w)) != 0) {
		d->likeness = STEP_DURATION;
	} else {
		in_label = training_log_label_unit(w);
		unit = training_log_unit(item->unit, item->unit_length);
		if (!unit)
			unit = item->unit_length ? 0 : in_label;
		d->likeness = training_log_duration_likeness(w, &d->mean);
		d->total = training_log_total_likeness(w);
		if (d->total == NAMED_TOTAL)
			d->likeness = BARE_DURATION;
		/* "step time 0.5 s (avg), last 0.6 s" */
		if (unit && item->unit_length && training_log_is_own(w)) {
			d->likeness = SOME_DURATION;
			d->mean = IS_OWN;
		}
		if (d->likeness == NO_DURATION && !item->unit_length && bare_unit(w)) {
			unit = bare_unit(w);
			d->likeness = BARE_DURATION;
		}
		/* "(8.0 sec)" is the time of all steps since the last line */
		d->is_total = w->count == 0 && item->before == '(';
		if (w->count == 0 && unit && (item->before != '(' || item->after == ')'))
			d->likeness = BARE_DURATION;
		if (d->likeness > BARE_DURATION && !unit && !item->unit_length) {
			unit = 1000000000;
			d->is_without_unit = true;
		}
	}
	d->total = d->total == NO_TOTAL && d->is_total ? MAY_BE_TOTAL : d->total;
	d->is_rate = is_rate;
	d->tick_ns = is_rate ? 0 : last_digit(item->number, item->number_length, unit);
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

/* "step 5 done": the words behind the number of the step say no more than that it ended. */
static bool is_done(const char *text, size_t len)
{
	static const char *const words[] = { "done", "finished", "complete", "completed",
					     "end",  "ended",	 NULL };
	struct training_log_words w;

	training_log_cut_words(&w, text, len);
	return w.count == 1 && training_log_has_word(&w, words);
}

static bool speaks_of_training(const struct training_log_words *w)
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

	return training_log_has_word(w, words);
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

static void add_detail(struct tl_text *detail, const struct training_log_item *item)
{
	char label[TRAINING_LOG_LABEL_MAX + 24];
	int n = snprintf(label, sizeof(label), "%.*s", (int)item->label_length, item->label);
	int64_t unit = training_log_unit(item->unit, item->unit_length), ns = 0;

	/* the percentage of a progress bar says nothing new */
	if (!item->label_length || n < 0 ||
	    (item->unit_length == 1 && item->unit[0] == '%' && item->after == '|'))
		return;
	/* "eta: 1h 2m 3s" is one number */
	if (item->larger_ns) {
		to_ns(item->number, item->number_length,
		      unit ? unit : training_log_larger_unit(item->unit, item->unit_length), &ns);
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

static bool is_counter(const struct training_log_item *item, int64_t *number)
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
	size_t number_end; /* of the step */
	int rank_likeness;
	struct duration duration;
};

static bool take_number(struct training_log_step *step, struct found *found,
			const struct training_log_item *item, const struct training_log_words *w,
			const char *text)
{
	int likeness = training_log_step_likeness(w);
	int64_t number;
	size_t before = (size_t)(item->number - text);

	if (!likeness && !(item->is_fraction && !w->count))
		return false;
	if (likeness <= found->step_likeness || !is_counter(item, &number))
		return false;
	if (speaks_of_other_work(text, before, !likeness)) {
		step->is_other_progress |= !likeness;
		return false;
	}
	found->step_likeness = likeness;
	found->number_end = item->end;
	step->has_number = true;
	step->number = number;
	step->is_progress = !likeness;
	return true;
}

/* "rank=3 step 5", "step 5 took 1 s rank: 3"; "worker 3" only where it is the first that is said. */
static bool take_rank(struct training_log_step *step, struct found *found,
		      const struct training_log_item *item, const struct training_log_words *w,
		      bool is_first)
{
	int likeness = training_log_rank_likeness(w);
	bool is_worker = w->count == 1 && likeness == 1;
	int64_t number;

	if (!likeness || item->is_fraction || !is_counter(item, &number) || number > INT32_MAX ||
	    (is_worker && !is_first))
		return false;
	if (likeness > found->rank_likeness)
		step->rank = (int32_t)number;
	found->rank_likeness = likeness > found->rank_likeness ? likeness : found->rank_likeness;
	return true;
}

/* A step's own time before a mean of several, then what is more surely named a step's. */
static int surety(const struct duration *d)
{
	if (d->likeness <= BARE_DURATION)
		return (int)d->likeness;
	return 2 * (int)d->likeness + (d->mean == IS_OWN ? 2 : d->mean == IS_MEAN ? -1 : 0);
}

/* "step time 0.5 s (avg)" */
static bool is_mean_behind(const char *text, size_t len, size_t at)
{
	static const char *const words[] = { "(avg", "(mean", "(average" };

	at += at < len && text[at] == ' ';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if (len - at > n && !strncasecmp(text + at, words[i], n) && text[at + n] == ')')
			return true;
	}
	return false;
}

static bool take_duration(struct found *found, const struct training_log_item *item,
			  struct training_log_words *w, const char *text, size_t len)
{
	struct duration d;

	read_duration(item, w, &d);
	if (is_mean_behind(text, len, item->end))
		d.mean = IS_MEAN;
	if (surety(&d) <= surety(&found->duration))
		return d.likeness != NO_DURATION;
	found->duration = d;
	return true;
}

/* "epoch: 3", "Epoch 3/40", "Train epoch time: 19899.5 ms" */
static void take_epoch(struct training_log_step *step, const struct training_log_item *item,
		       struct training_log_words *w)
{
	static const char *const names[] = { "epoch", NULL };
	int64_t unit_ns = training_log_unit(item->unit, item->unit_length), in_label;

	if (!training_log_has_word(w, names))
		return;
	if (w->count == 1 && !item->unit_length) {
		step->has_epoch = is_counter(item, &step->epoch);
		step->is_within_epoch = !step->has_epoch;
		return;
	}
	in_label = training_log_label_unit(w);
	unit_ns = unit_ns || item->unit_length ? unit_ns : in_label;
	if (unit_ns && w->count > 1 && !strcmp(w->word[w->count - 1], "time") &&
	    !to_ns(item->number, item->number_length, unit_ns, &step->epoch_ns))
		step->epoch_ns = 0;
}

/* Keras: "5/100 [==>...] - 9s 498ms/step"; other bars that say "s/step" show the time left as "<". */
static bool is_epoch_mean(const char *text, const struct training_log_step *step)
{
	static const char unit[] = "s/step";

	return step->is_progress && !step->is_rate && step->duration_end >= sizeof(unit) &&
	       !memcmp(text + step->duration_end - (sizeof(unit) - 1), unit, sizeof(unit) - 1) &&
	       !memchr(text, '<', step->duration_end) && !memchr(text, '|', step->duration_end);
}

bool training_log_step(const char *text, size_t len, struct training_log_step *step,
		       struct tl_text *detail)
{
	struct training_log_scanner s = { .text = text, .length = len };
	struct found found = { .step_likeness = -1 };
	struct training_log_item item;
	struct training_log_words w;
	int count = 0;

	memset(step, 0, sizeof(*step));
	step->rank = -1;
	for (; count < DETAILS_MAX && training_log_next_item(&s, &item); count++) {
		training_log_cut_words(&w, item.label, item.label_length);
		if (w.count > TRAINING_LOG_WORDS_MAX)
			continue;
		if (take_rank(step, &found, &item, &w, count == 0) ||
		    take_number(step, &found, &item, &w, text))
			continue;
		step->is_training |= speaks_of_training(&w);
		if (!take_duration(&found, &item, &w, text, len)) {
			add_detail(detail, &item);
			take_epoch(step, &item, &w);
		}
	}
	step->has_duration = found.duration.likeness != NO_DURATION;
	step->duration_ns = step->has_duration ? found.duration.ns : -1;
	step->duration_end = found.duration.end;
	step->duration_tick_ns = found.duration.tick_ns;
	step->may_be_total = found.duration.total != NO_TOTAL;
	step->is_named_elapsed = found.duration.total == NAMED_TOTAL;
	step->is_mean = found.duration.mean == IS_MEAN;
	step->is_total = found.duration.is_total;
	step->is_rate = found.duration.is_rate;
	step->is_without_unit = found.duration.is_without_unit;
	/* a fraction alone is anything; with a time per step it is a progress bar */
	if (step->is_progress && found.duration.likeness < SOME_DURATION)
		step->has_number = false;
	step->is_other_progress &= step->has_duration;
	step->is_training |= step->has_number && !step->is_progress && len > found.number_end &&
			     is_done(text + found.number_end, len - found.number_end);
	step->is_epoch_mean = step->has_number && is_epoch_mean(text, step);
	step->is_number_alone = step->has_number && !step->is_progress && count == 1 &&
				!step->has_duration && text[0] == '[';
	step->is_duration_alone = !step->has_number && found.duration.likeness == STEP_DURATION &&
				  !step->is_mean && !step->is_without_unit;
	if (!step->has_number)
		return false;
	return step->has_duration || (step->is_training && !step->is_progress);
}
