/*
 * training_log_line.h - what the files share that take one line of a training log apart: its numbers,
 * and what the words beside a number mean. Also for the names of the columns of tables.
 */
#ifndef TRAINING_LOG_LINE_H
#define TRAINING_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRAINING_LOG_LABEL_MAX = 96, TRAINING_LOG_WORDS_MAX = 10 };

/* ---- numbers (training_log_item.c) ------------------------------------------------------------ */

/* One number of a line. */
struct training_log_item {
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

struct training_log_scanner {
	const char *text;
	size_t length, at;
	size_t label_start;
};

bool training_log_next_item(struct training_log_scanner *s, struct training_log_item *item);

/* ---- words (training_log_label.c) ------------------------------------------------------------- */

/* The label in lower case, '_' and '.' as blanks, cut into words. */
struct training_log_words {
	char text[TRAINING_LOG_LABEL_MAX + 1];
	const char *word[TRAINING_LOG_WORDS_MAX];
	int count; /* TRAINING_LOG_WORDS_MAX + 1: too many to be a label */
};

enum training_log_likeness { NO_DURATION, BARE_DURATION, SOME_DURATION, STEP_DURATION };

void training_log_cut_words(struct training_log_words *w, const char *label, size_t len);
bool training_log_has_word(const struct training_log_words *w, const char *const *list);
/* 3: surely the number of a step, of all epochs; 2: of a step; 1: perhaps (a batch); 0: no. */
int training_log_step_likeness(const struct training_log_words *w);
/* "time (ms)", "step_time_s", "timing in s": takes the unit away, which is 0 if there is none. */
int64_t training_log_label_unit(struct training_log_words *w);
/* Of several steps, or named as that of the one step: "avg", "cur". */
enum training_log_mean { NO_MEAN, IS_MEAN, IS_OWN };
enum training_log_likeness training_log_duration_likeness(const struct training_log_words *w,
							  enum training_log_mean *mean);
/* Nothing but "last", "cur", "this": of what stands before. */
bool training_log_is_own(const struct training_log_words *w);
/* "elapsed", "total time", "time": of a step, or since the beginning. */
enum training_log_total { NO_TOTAL, MAY_BE_TOTAL, NAMED_TOTAL };
enum training_log_total training_log_total_likeness(const struct training_log_words *w);
/* 2: the number of a rank; 1: of a rank in its node, or of a worker; 0: no. */
int training_log_rank_likeness(const struct training_log_words *w);
/* "steps per second", "it/s", "global steps/sec": the unit of the rate; 0 if it is none. */
int64_t training_log_label_rate(const struct training_log_words *w);
/* "sec/step", "seconds per step" */
int64_t training_log_label_per_step(const struct training_log_words *w);

#endif
