/*
 * training_log.h - what the files that read training logs share: the front of a line (time, rank,
 * level) and the clock of its time, what a line says of a step, or of trouble, and the user's own
 * pattern.
 */
#ifndef TRAINING_LOG_H
#define TRAINING_LOG_H

#include "analysis.h"
#include "memory.h"

extern const struct tl_importer training_log_importer;

/* ---- the front of a line (training_log_front.c) --------------------------------------------- */

enum training_log_clock {
	TRAINING_LOG_NO_TIME,
	TRAINING_LOG_UNIX,     /* with a zone, or seconds since 1970 */
	TRAINING_LOG_LOCAL,    /* date and time of day, zone unknown */
	TRAINING_LOG_YEARLESS, /* month, day and time of day (glog): ns since the year began, as in a
				  leap year */
	TRAINING_LOG_OF_DAY    /* ns since midnight */
};

struct training_log_time {
	enum training_log_clock clock;
	int64_t ns;
	int digits; /* behind the decimal point */
};

struct training_log_front {
	struct training_log_time time;
	int32_t rank;	  /* -1 unknown */
	uint64_t process; /* of several whose lines are mixed, and that tell no rank; 0: not told */
	const char *level; /* "ERROR", "WARNING", "INFO", "DEBUG"; NULL unknown */
	size_t length;	   /* bytes of the line that belong to the front */
};

/* The time that `text` begins with; bytes used, 0 if none. */
size_t training_log_time(const char *text, size_t len, struct training_log_time *time);
void training_log_front(const char *text, size_t len, struct training_log_front *front);
/* Copies a line without the sequences that colour it and move the cursor. */
void training_log_plain(struct tl_text *out, const char *text, size_t len);

/* ---- lines in JSON objects (training_log_json.c) ---------------------------------------------- */

struct training_log_wrapping;

/*
 * 1: `out` is the line that the object holds, with its time, rank and level before it; it may have
 * control characters. 0: the text is no such object. <0: out of memory. *wrapping: NULL at first.
 */
int training_log_unwrap(struct training_log_wrapping **wrapping, const char *text, size_t len,
			struct tl_text *out, struct tl_error *err);
void training_log_release_wrapping(struct training_log_wrapping *wrapping); /* accepts NULL */

/* ---- the clock (training_log_clock.c) -------------------------------------------------------- */

/* All zero at first, but for the two. */
struct training_log_timeline {
	const struct tl_import_options *opt;
	int64_t modified_ns;	       /* of the file; 0 unknown */
	enum training_log_clock clock; /* of the first time; all others are brought to it */
	int digits, most_digits;       /* of a second: the fewest, the most */
	int64_t last_time, day_ns;
};

/* Brings a line's time to the clock of the source. False: it cannot be. */
bool training_log_take_time(struct training_log_timeline *t, const struct training_log_time *time,
			    int64_t *ns);
/* The finest difference between two times. */
int64_t training_log_tick(const struct training_log_timeline *t);
int training_log_emit_clock(const struct training_log_timeline *t, struct tl_sink *sink,
			    struct tl_error *err);

/* ---- warnings and errors (training_log_trouble.c) --------------------------------------------- */

/* A traceback being collected. All zero at first. */
struct training_log_trouble {
	struct tl_text traceback;
	bool has_traceback, has_time;
	int64_t time;
	uint64_t line, emitted;
	int32_t rank;
};

/* A line that is no step, its front included. */
struct training_log_saying {
	const char *text;
	size_t length;
	const struct training_log_front *front;
	bool has_time;
	int64_t time;
	uint64_t line;
};

int training_log_read_trouble(struct training_log_trouble *t,
			      const struct training_log_saying *saying, struct tl_sink *sink,
			      struct tl_error *err);
int training_log_finish_trouble(struct training_log_trouble *t, struct tl_sink *sink,
				struct tl_error *err);
void training_log_release_trouble(struct training_log_trouble *t);

/* ---- what a line says of a step (training_log_step.c) ---------------------------------------- */

struct training_log_step {
	bool has_number, has_duration;
	bool is_progress;	/* counted by a progress bar, not named a step */
	bool is_other_progress; /* a progress bar of something else: loading, validation */
	bool is_mean;		/* the line itself says that the duration is a mean */
	bool is_total;		/* the duration is that of all steps since the line before */
	bool may_be_total;	/* or it counts from the beginning */
	bool is_named_elapsed;	/* named so, and no step's */
	bool is_epoch_mean;	/* the duration is the mean of all steps since the epoch began */
	bool is_number_alone;	/* nothing but the number: lines below tell the rest */
	bool is_duration_alone; /* a step's time, of the step told above */
	bool has_epoch;		/* counted; false also where it is a fraction */
	bool is_within_epoch;	/* a fraction of an epoch is told */
	bool is_rate;		/* the duration is the inverse of a rate */
	bool is_without_unit;	/* taken as seconds */
	bool is_training;	/* loss, learning rate or throughput stand beside it */
	int64_t number, duration_ns, epoch;
	int64_t epoch_ns;	  /* the time of all steps of an epoch; 0 not told */
	int64_t duration_tick_ns; /* its last digit; 0 unknown */
	int32_t rank;		  /* -1: not told beside the step */
	size_t duration_end;	  /* offset behind the duration, or the rate */
};

/*
 * What the body of a line, without its front, says; numbers that stand beside the step are
 * appended to `detail` as members of a JSON object, without the braces. False: no step.
 */
bool training_log_step(const char *text, size_t len, struct training_log_step *step,
		       struct tl_text *detail);
/* A number as JSON wants it; null for what JSON has no number for. */
void training_log_number(struct tl_text *out, const char *text, size_t len);

/* ---- the user's pattern (training_log_pattern.c) --------------------------------------------- */

struct training_log_pattern;

int training_log_pattern_open(struct training_log_pattern **out, const char *regex,
			      struct tl_error *err);
void training_log_pattern_close(struct training_log_pattern *pattern); /* accepts NULL */

struct training_log_match {
	bool has_number, has_duration, has_rank;
	bool is_rate, is_without_unit;
	int64_t number, duration_ns;
	int32_t rank;
	struct training_log_time time;
};

/* 1: the line is a step, 0: it is none, <0: out of memory. */
int training_log_pattern_match(struct training_log_pattern *pattern, const char *text, size_t len,
			       struct training_log_match *match, struct tl_text *detail,
			       struct tl_error *err);

#endif
