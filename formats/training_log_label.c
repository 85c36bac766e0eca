/*
 * training_log_label.c - what the words beside a number mean: the number of a step, a duration, a rate.
 * For lines of logs, and for names of columns.
 */
#include "training_log_line.h"

#include <string.h>

#include "training_log_unit.h"

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

/* ---- words ---------------------------------------------------------------------------------- */

void training_log_cut_words(struct training_log_words *w, const char *label, size_t len)
{
	bool in_word = false;

	w->count = 0;
	for (size_t i = 0; i < len && i < TRAINING_LOG_LABEL_MAX; i++) {
		char c = label[i];

		c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
		if (!is_word(c) && c != '/' && c != '%')
			c = ' ';
		w->text[i] = c == ' ' || c == '_' ? '\0' : c;
		if (w->text[i] && !in_word) {
			if (w->count < TRAINING_LOG_WORDS_MAX)
				w->word[w->count] = &w->text[i];
			w->count++;
		}
		in_word = w->text[i] != '\0';
	}
	w->text[len < TRAINING_LOG_LABEL_MAX ? len : TRAINING_LOG_LABEL_MAX] = '\0';
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

bool training_log_has_word(const struct training_log_words *w, const char *const *list)
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

int training_log_step_likeness(const struct training_log_words *w)
{
	const char *last =
		w->count && w->count <= TRAINING_LOG_WORDS_MAX ? w->word[w->count - 1] : "";

	/* fairseq */
	if (w->count == 2 && !strcmp(w->word[0], "num") && !strcmp(last, "updates"))
		return 2;
	if (!*last || training_log_has_word(w, not_step_words))
		return 0;
	if (is_one_of(last, step_words))
		return w->count > 1 && !strcmp(w->word[w->count - 2], "global") ? 3 : 2;
	return w->count == 1 && is_one_of(last, batch_words) ? 1 : 0;
}

/* ---- durations ------------------------------------------------------------------------------ */

int64_t training_log_label_unit(struct training_log_words *w)
{
	const char *last = w->count > 1 ? w->word[w->count - 1] : "";
	int64_t unit = training_log_unit(last, strlen(last));

	if (!unit || !strcmp(last, "min")) /* beside "max" and "mean" */
		return 0;
	w->count--;
	if (w->count > 1 && !strcmp(w->word[w->count - 1], "in"))
		w->count--;
	return unit;
}

/* Words for the one step, beside means of several. */
static const char *const own[] = { "current", "curr",	 "cur",		  "this", "last",
				   "inst",    "instant", "instantaneous", NULL };

bool training_log_is_own(const struct training_log_words *w)
{
	return w->count == 1 && is_one_of(w->word[0], own);
}

enum training_log_likeness training_log_duration_likeness(const struct training_log_words *w,
							  enum training_log_mean *mean)
{
	static const char *const heads[] = { "time",	"timing",     "times",	   "duration",
					     "dur",	"latency",    "cost",	   "took",
					     "dt",	"elapsed",    "time/iter", "time/step",
					     "time/it", "time/batch", NULL };
	static const char *const steps[] = { "step",	"iteration",  "iter",	   "it",
					     "batch",	"iters",      "time/iter", "time/step",
					     "time/it", "time/batch", "dt",	   NULL };
	static const char *const modifiers[] = {
		"elapsed", "per", "global", "train",   "training", "avg",  "average", "mean",
		"wall",	   "the", "a",	    "running", "in",	   "each", "one",     "smoothed",
		"smooth",  "ema", "moving", "rolling", "median",   NULL
	};
	static const char *const means[] = { "avg",	 "average", "mean", "running",
					     "smoothed", "smooth",  "ema",  "moving",
					     "rolling",	 "median",  NULL };
	bool is_step = false, is_time = false;

	for (int i = 0; i < w->count; i++) {
		bool is_head = is_one_of(w->word[i], heads);

		is_time |= is_head;
		is_step |= is_one_of(w->word[i], steps);
		if (!is_head && !is_one_of(w->word[i], steps) &&
		    !is_one_of(w->word[i], modifiers) && !is_one_of(w->word[i], own))
			return NO_DURATION;
	}
	if (!is_time)
		return NO_DURATION;
	*mean = training_log_has_word(w, means) ? IS_MEAN
		: training_log_has_word(w, own) ? IS_OWN
						: NO_MEAN;
	if (is_step)
		return STEP_DURATION;
	/* since the start of the program, most likely */
	return training_log_has_word(w, (const char *const[]) { "elapsed", NULL }) ? NO_DURATION
										   : SOME_DURATION;
}

enum training_log_total training_log_total_likeness(const struct training_log_words *w)
{
	static const char *const names[] = { "elapsed", "total", "cumulative", "runtime", NULL };
	bool has_time = w->count == 2 && !strcmp(w->word[1], "time");

	if (w->count == 1 && !strcmp(w->word[0], "time"))
		return MAY_BE_TOTAL;
	if ((w->count != 1 && !has_time) || !is_one_of(w->word[0], names))
		return NO_TOTAL;
	return NAMED_TOTAL;
}

/* ---- ranks ------------------------------------------------------------------------------------ */

int training_log_rank_likeness(const struct training_log_words *w)
{
	/* ranks of other things: matrices, and parts of the job that several processes share */
	static const char *const others[] = {
		"lora",	 "low",	  "matrix",    "adapter",  "tp",       "pp",	 "dp",
		"cp",	 "ep",	  "sp",	       "data",	   "tensor",   "pipe",	 "model",
		"stage", "shard", "node",      "pipeline", "parallel", "expert", "host",
		"group", "full",  "effective", "group",	   "machine",  NULL
	};
	static const char *const workers[] = { "worker", "gpu", "npu", "process", NULL };
	int count = w->count;

	if (!count || count > 3)
		return 0;
	if (count > 1 && !strcmp(w->word[count - 1], "id"))
		count--;
	if (strcmp(w->word[count - 1], "rank") != 0 && strcmp(w->word[count - 1], "rankid") != 0)
		return w->count == 1 && is_one_of(w->word[0], workers);
	if (training_log_has_word(w, others))
		return 0;
	return count > 1 && !strcmp(w->word[count - 2], "local") ? 1 : 2;
}

/* ---- rates ------------------------------------------------------------------------------------ */

int64_t training_log_label_rate(const struct training_log_words *w)
{
	const char *last = w->count ? w->word[w->count - 1] : "";
	bool is_rate = false;
	int64_t unit = training_log_per_step_unit(last, strlen(last), &is_rate);

	if (unit && is_rate)
		return unit;
	if (!strcmp(last, "ups") && w->count == 1) /* updates per second */
		return 1000000000;
	if (w->count >= 3 && !strcmp(w->word[w->count - 2], "per")) {
		const char *steps = w->word[w->count - 3], *path = strrchr(steps, '/');

		steps = path ? path + 1 : steps; /* "throughput/batches_per_sec" */
		if (training_log_is_step_unit(steps, strlen(steps)))
			return training_log_unit(last, strlen(last));
	}
	return 0;
}

int64_t training_log_label_per_step(const struct training_log_words *w)
{
	const char *last = w->count ? w->word[w->count - 1] : "";
	bool is_rate = false;
	int64_t unit = training_log_per_step_unit(last, strlen(last), &is_rate);

	if (unit && !is_rate)
		return unit;
	if (w->count >= 3 && !strcmp(w->word[w->count - 2], "per") &&
	    training_log_is_step_unit(last, strlen(last)))
		return training_log_unit(w->word[w->count - 3], strlen(w->word[w->count - 3]));
	return 0;
}
