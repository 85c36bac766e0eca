/*
 * training_log.c - what a training program printed: steps with their durations, warnings and
 * errors. Lines, ranks, clocks and what is told twice; what a single line says is read in the
 * files beside this one.
 */
#include "training_log.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "reader.h"
#include "strace.h"

#define SECOND_NS  INT64_C(1000000000)
#define DAY_NS	   (86400 * SECOND_NS)
#define QUARTER_NS (900 * SECOND_NS)

enum {
	PIECE_MAX = 64 << 10, /* between two carriage returns; longer ones are no line of a log */
	WITHOUT_MAX = 10000,  /* steps that wait for one that tells its duration itself */
	TRACEBACK_MAX = 16 << 10
};

/* A step whose line does not tell how long it took; held back until it is clear that none does. */
struct waiting_step {
	int64_t number, duration_ns, ts;
	bool has_ts;
	int32_t rank;
	const char *detail;
};

struct rank_state {
	int32_t rank;
	bool has_told, has_untold; /* steps with a duration of their own, and without */
	int64_t told_number, untold_number;
	bool has_time; /* of the last untold step */
	int64_t time;
};

enum note {
	NOTE_MEAN,
	NOTE_RATE,
	NOTE_UNIT,
	NOTE_DERIVED,
	NOTE_AGAIN,
	NOTE_OTHER,
	NOTE_BACK,
	NOTE_NULS,
	NOTE_LONG,
	NOTE_CALLS,
	NOTE_COUNT
};

static const struct {
	enum tl_diagnostic_kind kind;
	const char *what, *unit;
} notes[NOTE_COUNT] = {
	[NOTE_MEAN] = { TL_DIAGNOSTIC_NOTE,
			"a line stands for several steps: its duration is their mean", "lines" },
	[NOTE_RATE] = { TL_DIAGNOSTIC_NOTE,
			"durations from a rate, which progress bars smooth over several steps",
			"steps" },
	[NOTE_UNIT] = { TL_DIAGNOSTIC_NOTE, "durations without a unit, taken as seconds", "steps" },
	[NOTE_DERIVED] = { TL_DIAGNOSTIC_NOTE,
			   "durations from the times of the lines: what lies between two steps is in "
			   "them",
			   "steps" },
	[NOTE_AGAIN] = { TL_DIAGNOSTIC_NOTE, "lines that tell of the same step again", "lines" },
	[NOTE_OTHER] = { TL_DIAGNOSTIC_NOTE, "progress of something else than training", "lines" },
	[NOTE_BACK] = { TL_DIAGNOSTIC_NOTE,
			"step numbers go back: an epoch or a restart begins there", "times" },
	[NOTE_NULS] = { TL_DIAGNOSTIC_DAMAGED, "line with bytes that are no text", "lines" },
	[NOTE_CALLS] = { TL_DIAGNOSTIC_SKIPPED,
			 "line of strace's between those of a training: in a file of their own (strace "
			 "-o) they are read",
			 "lines" },
	[NOTE_LONG] = { TL_DIAGNOSTIC_SKIPPED, "line longer than 65536 bytes", "lines" },
};

struct log {
	struct tl_input *in;
	struct tl_import_options opt;
	struct training_log_pattern *pattern;
	struct tl_text carry; /* the piece that goes on in the next part of a line */
	bool is_carry_long;
	struct tl_text plain, detail, json;
	struct rank_state *ranks;
	size_t rank_count, rank_capacity;
	struct tl_index rank_index;
	struct waiting_step *waiting;
	size_t waiting_count, waiting_capacity;
	struct tl_arena waiting_texts;
	bool has_told, is_waiting_over;
	bool has_ranked; /* the last step without a duration had a rank; one without tells it again */
	int64_t ranked_number;
	/* the clock */
	enum training_log_clock clock; /* of the first time; all others are brought to it */
	int digits;
	int64_t last_time, day_ns;
	/* a traceback being collected */
	struct tl_text traceback;
	bool has_traceback, has_traceback_time;
	int64_t traceback_time;
	uint64_t traceback_line;
	int32_t traceback_rank;
	uint64_t steps, lines, emitted;
	struct {
		uint64_t count, first;
	} notes[NOTE_COUNT];
	bool is_cut, has_end;
	uint64_t cut_line;
};

static int no_memory(struct tl_error *err)
{
	return tl_fail(err, TL_NOMEM, "out of memory");
}

static void note(struct log *l, enum note n, uint64_t line)
{
	if (!l->notes[n].count++)
		l->notes[n].first = line;
}

static int emit(struct log *l, struct tl_sink *sink, const struct tl_event *ev,
		struct tl_error *err)
{
	l->emitted++;
	return sink->emit(sink, ev, err);
}

/* ---- the clock ------------------------------------------------------------------------------ */

static int64_t floor_to(int64_t value, int64_t unit)
{
	int64_t rest = value % unit;

	return value - (rest < 0 ? rest + unit : rest);
}

/* Midnight, UTC, of the first day of the year that the date or the file's date lies in. */
static int64_t year_begin(const struct log *l, bool *is_leap)
{
	int64_t days = (l->opt.has_date ? l->opt.date_ns : tl_input_modified_ns(l->in)) / DAY_NS;
	int64_t begin = 0;
	int year = 1970;

	for (;; year++) {
		*is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
		if (days < begin + 365 + *is_leap)
			return begin * DAY_NS;
		begin += 365 + *is_leap;
	}
}

/* Times without a date go on over midnight. */
static int64_t over_midnight(struct log *l, int64_t of_day)
{
	if (l->clock && l->day_ns + of_day < l->last_time - DAY_NS / 2)
		l->day_ns += DAY_NS;
	return l->day_ns + of_day;
}

/* Brings a line's time to the clock of the source. False: it cannot be. */
static bool take_time(struct log *l, const struct training_log_time *time, int64_t *ns)
{
	bool is_leap;

	switch (time->clock) {
	case TRAINING_LOG_NO_TIME:
		return false;
	case TRAINING_LOG_UNIX:
		*ns = time->ns;
		if (l->clock == TRAINING_LOG_LOCAL || l->clock == TRAINING_LOG_YEARLESS)
			*ns += l->opt.timezone_ns;
		else if (l->clock == TRAINING_LOG_OF_DAY)
			return false;
		break;
	case TRAINING_LOG_LOCAL:
	case TRAINING_LOG_YEARLESS:
		*ns = time->ns;
		if (time->clock == TRAINING_LOG_YEARLESS) {
			*ns += year_begin(l, &is_leap);
			*ns -= !is_leap && time->ns >= 60 * DAY_NS ? DAY_NS : 0;
		}
		if (l->clock == TRAINING_LOG_UNIX)
			*ns -= l->opt.timezone_ns;
		else if (l->clock == TRAINING_LOG_OF_DAY)
			return false;
		break;
	case TRAINING_LOG_OF_DAY:
		if (l->clock && l->clock != TRAINING_LOG_OF_DAY)
			return false;
		*ns = over_midnight(l, time->ns);
		break;
	}
	if (!l->clock) {
		l->clock = time->clock;
		l->digits = time->digits;
	}
	if (time->digits < l->digits)
		l->digits = time->digits;
	l->last_time = *ns;
	return true;
}

/* The zone told; else by the file's date, if that is the last line's but for whole quarters. */
static void settle_zone(const struct log *l, struct tl_event_clock *clock, const char *told,
			const char *by_file, const char *unknown)
{
	int64_t ahead = tl_input_modified_ns(l->in) - l->last_time;
	int64_t zone = floor_to(ahead + QUARTER_NS / 2, QUARTER_NS), rest = ahead - zone;

	if (l->opt.has_timezone) {
		clock->offset_ns = -l->opt.timezone_ns;
		clock->method = TL_CLOCK_TOLD;
		clock->why = told;
		return;
	}
	clock->method = TL_CLOCK_ASSUMED;
	clock->residual_ns = -1;
	clock->why = unknown;
	if (tl_input_modified_ns(l->in) && rest > -5 * SECOND_NS && rest < 5 * SECOND_NS &&
	    zone >= -14 * 3600 * SECOND_NS && zone <= 14 * 3600 * SECOND_NS) {
		clock->offset_ns = zone;
		clock->why = by_file;
	}
}

static void settle_day(const struct log *l, struct tl_event_clock *clock)
{
	int64_t modified = tl_input_modified_ns(l->in) + l->opt.timezone_ns;

	if (l->opt.has_date) {
		clock->offset_ns = l->opt.date_ns - l->opt.timezone_ns;
		clock->method = TL_CLOCK_TOLD;
		clock->why = l->opt.has_timezone ? "date and time zone told"
						 : "date told; time zone not known, taken as UTC";
		clock->residual_ns = l->opt.has_timezone ? clock->residual_ns : -1;
		return;
	}
	clock->method = TL_CLOCK_ASSUMED;
	clock->residual_ns = -1;
	clock->offset_ns = floor_to(modified - l->last_time, DAY_NS) - l->opt.timezone_ns;
	clock->why = l->opt.has_timezone
			     ? "time zone told; day of the file's date"
			     : "day of the file's date; time zone not known, taken as UTC";
}

static int emit_clock(struct log *l, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	ev.clock.name = "wall clock of the log";
	ev.clock.residual_ns = SECOND_NS;
	for (int i = 0; i < l->digits && ev.clock.residual_ns > 1; i++)
		ev.clock.residual_ns /= 10;
	switch (l->clock) {
	case TRAINING_LOG_NO_TIME:
		return TL_OK;
	case TRAINING_LOG_UNIX:
		ev.clock.method = TL_CLOCK_EXACT;
		ev.clock.why = "lines with a time zone, or Unix time";
		break;
	case TRAINING_LOG_LOCAL:
		settle_zone(l, &ev.clock, "time zone told", "time zone by the file's date",
			    "time zone not known, taken as UTC");
		break;
	case TRAINING_LOG_YEARLESS:
		settle_zone(l, &ev.clock,
			    l->opt.has_date ? "year and time zone told"
					    : "time zone told; year of the file's date",
			    "year and time zone by the file's date",
			    l->opt.has_date ? "year told; time zone not known, taken as UTC"
					    : "year of the file's date; time zone not known, taken "
					      "as UTC");
		if (!l->opt.has_date)
			ev.clock.method = TL_CLOCK_ASSUMED;
		break;
	case TRAINING_LOG_OF_DAY:
		settle_day(l, &ev.clock);
		break;
	}
	return sink->emit(sink, &ev, err);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static struct rank_state *rank_state(struct log *l, int32_t rank, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)(int64_t)rank, 1);
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&l->rank_index, hash, &probe)) >= 0)
		if (l->ranks[found].rank == rank)
			return &l->ranks[found];
	if (tl_grow(&l->ranks, &l->rank_capacity, l->rank_count + 1, err) < 0 ||
	    tl_index_add(&l->rank_index, hash, (uint32_t)l->rank_count, err) < 0)
		return NULL;
	l->ranks[l->rank_count].rank = rank;
	return &l->ranks[l->rank_count++];
}

static int emit_step(struct log *l, struct tl_sink *sink, const struct waiting_step *step,
		     struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_STEP, .has_ts = step->has_ts, .ts = step->ts };

	ev.step.number = step->number;
	ev.step.rank = step->rank;
	ev.step.duration_ns = step->duration_ns;
	ev.step.detail = step->detail;
	l->steps++;
	return emit(l, sink, &ev, err);
}

/* A line is printed when its step has ended. */
static void begin_before(struct waiting_step *step, bool has_end, int64_t end)
{
	step->has_ts = has_end && step->duration_ns >= 0 &&
		       !__builtin_sub_overflow(end, step->duration_ns, &step->ts);
}

static void drop_waiting(struct log *l)
{
	if (l->waiting_count)
		l->notes[NOTE_AGAIN].count += l->waiting_count;
	l->waiting_count = 0;
	tl_arena_release(&l->waiting_texts);
}

static int flush_waiting(struct log *l, struct tl_sink *sink, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < l->waiting_count && ret == TL_OK; i++)
		ret = emit_step(l, sink, &l->waiting[i], err);
	l->waiting_count = 0;
	l->is_waiting_over = true;
	tl_arena_release(&l->waiting_texts);
	return ret;
}

static int told_step(struct log *l, struct tl_sink *sink, struct waiting_step *step, bool is_mean,
		     uint64_t line, struct tl_error *err)
{
	struct rank_state *rank = rank_state(l, step->rank, err);

	if (!rank)
		return TL_NOMEM;
	if (!l->has_told && !l->is_waiting_over)
		drop_waiting(l);
	l->has_told = true;
	if ((rank->has_told && rank->told_number == step->number) ||
	    (l->is_waiting_over && rank->has_untold && rank->untold_number == step->number)) {
		note(l, NOTE_AGAIN, line);
		return TL_OK;
	}
	if (rank->has_told && step->number < rank->told_number)
		note(l, NOTE_BACK, line);
	if (is_mean || (rank->has_told && step->number > rank->told_number + 1))
		note(l, NOTE_MEAN, line);
	rank->has_told = true;
	rank->told_number = step->number;
	return emit_step(l, sink, step, err);
}

/* A step without a duration lasts from the line before; several share the time. */
static int untold_step(struct log *l, struct tl_sink *sink, struct waiting_step *step,
		       bool has_time, int64_t time, uint64_t line, struct tl_error *err)
{
	struct rank_state *rank = rank_state(l, step->rank, err);
	int64_t passed, took;

	if (!rank)
		return TL_NOMEM;
	if (l->has_told || (rank->has_untold && rank->untold_number == step->number) ||
	    (step->rank < 0 && l->has_ranked && l->ranked_number == step->number)) {
		note(l, NOTE_AGAIN, line);
		return TL_OK;
	}
	passed = rank->has_untold ? step->number - rank->untold_number : 0;
	step->duration_ns = -1;
	if (passed < 0)
		note(l, NOTE_BACK, line);
	if (passed > 0 && has_time && rank->has_time &&
	    !__builtin_sub_overflow(time, rank->time, &took) && took > 0) {
		step->duration_ns = took / passed;
		note(l, NOTE_DERIVED, line);
		if (passed > 1)
			note(l, NOTE_MEAN, line);
	}
	begin_before(step, has_time, time);
	rank->has_untold = true;
	rank->untold_number = step->number;
	l->has_ranked = step->rank >= 0;
	l->ranked_number = step->number;
	rank->has_time = has_time;
	rank->time = time;
	if (l->is_waiting_over)
		return emit_step(l, sink, step, err);
	if (tl_grow(&l->waiting, &l->waiting_capacity, l->waiting_count + 1, err) < 0)
		return TL_NOMEM;
	if (step->detail) {
		step->detail =
			tl_arena_copy(&l->waiting_texts, step->detail, strlen(step->detail), err);
		if (!step->detail)
			return TL_NOMEM;
	}
	l->waiting[l->waiting_count++] = *step;
	l->emitted++;
	return l->waiting_count == WITHOUT_MAX ? flush_waiting(l, sink, err) : TL_OK;
}

static const char *detail_object(struct log *l)
{
	if (!l->detail.length)
		return NULL;
	l->json.length = 0;
	tl_text_puts(&l->json, "{");
	tl_text_add(&l->json, l->detail.data, l->detail.length);
	tl_text_puts(&l->json, "}");
	return l->json.data;
}

/* What a line says, by words or by the user's pattern. */
struct saying {
	bool is_step, has_duration, is_mean;
	int64_t number, duration_ns;
	size_t duration_end;
};

static int say_by_words(struct log *l, const struct training_log_front *front, struct saying *out,
			uint64_t line)
{
	struct training_log_step step;
	size_t at = front->length;

	out->is_step =
		training_log_step(l->plain.data + at, l->plain.length - at, &step, &l->detail);
	if (step.is_other_progress && !out->is_step)
		note(l, NOTE_OTHER, line);
	out->has_duration = step.has_duration;
	out->number = step.number;
	out->duration_ns = step.duration_ns;
	out->is_mean = step.is_mean;
	out->duration_end = at + step.duration_end;
	if (out->is_step && step.is_rate)
		note(l, NOTE_RATE, line);
	if (out->is_step && step.is_without_unit)
		note(l, NOTE_UNIT, line);
	return TL_OK;
}

static int say_by_pattern(struct log *l, struct training_log_front *front, struct saying *out,
			  uint64_t line, struct tl_error *err)
{
	struct training_log_match match;
	struct rank_state *rank;
	int ret = training_log_pattern_match(l->pattern, l->plain.data, l->plain.length, &match,
					     &l->detail, err);

	if (ret <= 0)
		return ret;
	if (match.has_rank)
		front->rank = match.rank;
	if (match.time.clock)
		front->time = match.time;
	rank = rank_state(l, front->rank, err);
	if (!rank)
		return TL_NOMEM;
	out->is_step = match.has_number || match.has_duration;
	out->has_duration = match.has_duration;
	out->duration_ns = match.has_duration ? match.duration_ns : -1;
	/* without a number of their own they are counted */
	out->number = match.has_number ? match.number : rank->has_told ? rank->told_number + 1 : 0;
	out->duration_end = l->plain.length;
	if (match.is_rate)
		note(l, NOTE_RATE, line);
	if (match.is_without_unit && match.has_duration)
		note(l, NOTE_UNIT, line);
	return TL_OK;
}

/* ---- warnings and errors -------------------------------------------------------------------- */

static int emit_log(struct tl_sink *sink, struct log *l, const char *level, const char *text,
		    size_t len, bool has_time, int64_t time, uint64_t line, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_LOG, .has_ts = has_time, .ts = time };

	ev.log.level = level;
	ev.log.text = text;
	ev.log.text_length = len;
	ev.log.position = line;
	return emit(l, sink, &ev, err);
}

static int finish_traceback(struct log *l, struct tl_sink *sink, struct tl_error *err)
{
	if (!l->has_traceback)
		return TL_OK;
	l->has_traceback = false;
	if (l->traceback.failed)
		return no_memory(err);
	return emit_log(sink, l, "ERROR", l->traceback.data, l->traceback.length,
			l->has_traceback_time, l->traceback_time, l->traceback_line, err);
}

static void add_traceback(struct log *l, const char *text, size_t len)
{
	if (l->traceback.length + len + 1 > TRACEBACK_MAX)
		return;
	if (l->traceback.length)
		tl_text_puts(&l->traceback, "\n");
	tl_text_add(&l->traceback, text, len);
}

/* "RuntimeError: ...", "torch.cuda.OutOfMemoryError: ..." */
static bool is_exception(const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len < 96 ? len : 96);
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (n < 6 || memchr(text, ' ', n))
		return false;
	return !memcmp(text + n - 5, "Error", 5) ||
	       (n > 9 && !memcmp(text + n - 9, "Exception", 9));
}

static bool has_text(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

/* A traceback is one entry: its indented lines, and the exception at its end. */
static int read_trouble(struct log *l, struct tl_sink *sink, const struct training_log_front *front,
			bool has_time, int64_t time, uint64_t line, struct tl_error *err)
{
	const char *text = l->plain.data + front->length;
	size_t len = l->plain.length - front->length;
	const char *level = front->level;
	int ret;

	while (front->length && len > 3 && text[0] == ' ' && memchr("-|:", text[1], 3) &&
	       text[2] == ' ') {
		text += 2;
		len -= 2;
	}
	if (front->length && len && *text == ' ') {
		text++;
		len--;
	}
	if (l->has_traceback && l->traceback_rank == front->rank) {
		bool goes_on = len == 0 || *text == ' ';

		add_traceback(l, text, len);
		return goes_on ? TL_OK : finish_traceback(l, sink, err);
	}
	if (has_text(text, len, "Traceback (most recent call last)")) {
		ret = finish_traceback(l, sink, err);
		l->has_traceback = true;
		l->traceback.length = 0;
		l->traceback_rank = front->rank;
		l->traceback_line = line;
		l->has_traceback_time = has_time;
		l->traceback_time = time;
		add_traceback(l, text, len);
		return ret;
	}
	if (has_text(text, len, "NCCL WARN") || has_text(text, len, "HCCL WARN"))
		level = "WARNING";
	else if (!level && is_exception(text, len))
		level = "ERROR";
	if (!level || (strcmp(level, "ERROR") != 0 && strcmp(level, "WARNING") != 0))
		return TL_OK;
	return emit_log(sink, l, level, text, len, has_time, time, line, err);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int take_step(struct log *l, struct tl_sink *sink, const struct saying *say,
		     const struct training_log_front *front, bool has_time, int64_t time,
		     uint64_t line, struct tl_error *err)
{
	struct waiting_step step = { .number = say->number,
				     .duration_ns = say->duration_ns,
				     .rank = front->rank,
				     .detail = detail_object(l) };

	if (l->json.failed || l->detail.failed)
		return no_memory(err);
	if (!say->has_duration)
		return untold_step(l, sink, &step, has_time, time, line, err);
	begin_before(&step, has_time, time);
	return told_step(l, sink, &step, say->is_mean, line, err);
}

/* The text between two carriage returns. `is_end`: the file ends behind it, without a newline. */
static int read_piece(struct log *l, struct tl_sink *sink, const char *text, size_t len,
		      uint64_t line, bool is_end, struct tl_error *err)
{
	struct training_log_front front;
	struct saying say = { 0 };
	int64_t time = 0;
	bool has_time;
	int ret;

	l->plain.length = l->detail.length = 0;
	training_log_plain(&l->plain, text, len);
	while (l->plain.length && memchr(" \t", l->plain.data[l->plain.length - 1], 2))
		l->plain.length--;
	if (l->plain.failed)
		return no_memory(err);
	if (!l->plain.length)
		return TL_OK;
	if (memchr(l->plain.data, '\0', l->plain.length)) {
		note(l, NOTE_NULS, line);
		return TL_OK;
	}
	training_log_front(l->plain.data, l->plain.length, &front);
	if (front.rank < 0 && l->opt.has_rank)
		front.rank = l->opt.rank;
	ret = l->pattern ? say_by_pattern(l, &front, &say, line, err)
			 : say_by_words(l, &front, &say, line);
	if (ret < 0)
		return ret;
	has_time = take_time(l, &front.time, &time);
	if (!say.is_step && strace_is_call(text, len))
		note(l, NOTE_CALLS, line);
	if (!say.is_step)
		return read_trouble(l, sink, &front, has_time, time, line, err);
	if (is_end && say.duration_end >= l->plain.length) {
		l->is_cut = true;
		l->cut_line = line;
		return TL_OK;
	}
	return take_step(l, sink, &say, &front, has_time, time, line, err);
}

/* Progress bars are drawn over themselves: by carriage returns, Keras by backspaces. */
static int split_line(struct log *l, struct tl_sink *sink, const struct tl_line *line,
		      struct tl_error *err)
{
	size_t start = 0;
	int ret = TL_OK;

	for (size_t i = 0; i < line->length && ret == TL_OK; i++) {
		if (line->text[i] != '\r' && line->text[i] != '\b')
			continue;
		if (l->carry.length && !l->is_carry_long) {
			tl_text_add(&l->carry, line->text + start, i - start);
			ret = l->carry.failed ? no_memory(err)
					      : read_piece(l, sink, l->carry.data, l->carry.length,
							   line->number, false, err);
		} else if (!l->is_carry_long && i > start) {
			ret = read_piece(l, sink, line->text + start, i - start, line->number,
					 false, err);
		}
		l->carry.length = 0;
		l->is_carry_long = false;
		start = i + 1;
	}
	if (ret < 0)
		return ret;
	if (l->carry.length + line->length - start > PIECE_MAX) {
		if (!l->is_carry_long)
			note(l, NOTE_LONG, line->number);
		l->is_carry_long = true;
		l->carry.length = 0;
	} else if (!l->is_carry_long) {
		tl_text_add(&l->carry, line->text + start, line->length - start);
	}
	if (line->is_partial)
		return l->carry.failed ? no_memory(err) : TL_OK;
	if (!l->is_carry_long && l->carry.length)
		ret = read_piece(l, sink, l->carry.data, l->carry.length, line->number,
				 !line->has_newline, err);
	l->carry.length = 0;
	l->is_carry_long = false;
	return l->carry.failed ? no_memory(err) : ret;
}

/* ---- the end -------------------------------------------------------------------------------- */

static int emit_note(struct log *l, struct tl_sink *sink, enum note n, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	if (!l->notes[n].count)
		return TL_OK;
	ev.diagnostic.kind = notes[n].kind;
	ev.diagnostic.what = notes[n].what;
	ev.diagnostic.unit = notes[n].unit;
	ev.diagnostic.count = l->notes[n].count;
	if (l->notes[n].first) {
		ev.diagnostic.position_kind = TL_POSITION_LINE;
		ev.diagnostic.position = l->notes[n].first;
	}
	return sink->emit(sink, &ev, err);
}

static int emit_cut(struct log *l, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	if (!l->is_cut)
		return TL_OK;
	ev.diagnostic.kind = TL_DIAGNOSTIC_TRUNCATED;
	ev.diagnostic.what = "last line, perhaps cut inside its duration";
	ev.diagnostic.count = 1;
	ev.diagnostic.unit = "lines";
	ev.diagnostic.position_kind = TL_POSITION_LINE;
	ev.diagnostic.position = l->cut_line;
	return sink->emit(sink, &ev, err);
}

static int emit_rank(struct log *l, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META };
	char text[16];

	/* ranks that stand in the lines are those of the steps, not of the source */
	if (!l->opt.has_rank)
		return TL_OK;
	snprintf(text, sizeof(text), "%d", (int)l->opt.rank);
	ev.meta.key = "rank";
	ev.meta.value = text;
	return sink->emit(sink, &ev, err);
}

static int finish(struct log *l, struct tl_sink *sink, struct tl_error *err)
{
	int ret = l->is_waiting_over ? TL_OK : flush_waiting(l, sink, err);

	if (ret == TL_OK)
		ret = finish_traceback(l, sink, err);
	if (ret == TL_OK && !l->steps && !l->is_cut)
		ret = l->pattern
			      ? tl_fail(err, TL_NOTHING, "none of %llu lines matches the pattern",
					(unsigned long long)l->lines)
			      : tl_fail(err, TL_NOTHING,
					"is no recording of a known format; as a training log it has no step: none of %llu lines tells how long one took",
					(unsigned long long)l->lines);
	if (ret == TL_OK)
		ret = emit_rank(l, sink, err);
	if (ret == TL_OK)
		ret = emit_cut(l, sink, err);
	for (int n = 0; n < NOTE_COUNT && ret == TL_OK; n++)
		ret = emit_note(l, sink, n, err);
	if (ret == TL_OK)
		ret = emit_clock(l, sink, err);
	return ret < 0 ? ret : TL_READ_END;
}

/* ---- the importer --------------------------------------------------------------------------- */

static int log_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct log *l = state;
	uint64_t before = l->emitted;
	struct tl_line line;
	int ret;

	do {
		ret = tl_input_line(l->in, &line, err);
		if (ret < 0)
			return ret;
		if (ret == 0)
			return finish(l, sink, err);
		l->lines += !line.is_partial;
		ret = split_line(l, sink, &line, err);
		if (ret < 0)
			return ret;
	} while (l->emitted == before);
	return TL_READ_MORE;
}

static void log_close(void *state)
{
	struct log *l = state;

	if (!l)
		return;
	training_log_pattern_close(l->pattern);
	tl_text_release(&l->carry);
	tl_text_release(&l->plain);
	tl_text_release(&l->detail);
	tl_text_release(&l->json);
	tl_text_release(&l->traceback);
	tl_index_release(&l->rank_index);
	tl_arena_release(&l->waiting_texts);
	free(l->ranks);
	free(l->waiting);
	free(l);
}

static int log_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		    struct tl_error *err)
{
	struct log *l = tl_alloc(1, sizeof(*l), err);

	*state = l;
	if (!l)
		return TL_NOMEM;
	l->in = in;
	if (opt)
		l->opt = *opt;
	if (!l->opt.has_timezone)
		l->opt.timezone_ns = 0;
	return l->opt.log_pattern ? training_log_pattern_open(&l->pattern, l->opt.log_pattern, err)
				  : TL_OK;
}

/* A document or binary data; what is left may be a log. */
static bool is_log_text(const uint8_t *head, size_t len)
{
	size_t control = 0, at = 0;

	while (at < len && memchr(" \t\r\n", head[at], 4))
		at++;
	if (at == len || (at + 1 < len && head[at] == '{' && head[at + 1] != '\'') ||
	    (at + 1 < len && head[at] == '[' && memchr("{[\n\r]", head[at + 1], 5)))
		return false;
	for (at = 0; at < len; at++)
		control += head[at] < ' ' && !memchr("\t\n\r\b\f\033\a", head[at], 7);
	return control * 64 <= len;
}

struct probe {
	struct tl_text plain, ignored;
	unsigned told, untold, fronts;
};

static void probe_piece(struct probe *p, const char *text, size_t len)
{
	struct training_log_front front;
	struct training_log_step step;

	p->plain.length = p->ignored.length = 0;
	training_log_plain(&p->plain, text, len);
	if (!p->plain.length || p->plain.failed)
		return;
	training_log_front(p->plain.data, p->plain.length, &front);
	p->fronts += front.time.clock || front.level || front.rank >= 0;
	if (!training_log_step(p->plain.data + front.length, p->plain.length - front.length, &step,
			       &p->ignored))
		return;
	p->told += step.has_duration;
	p->untold += !step.has_duration && front.time.clock;
}

static int log_probe(const uint8_t *head, size_t len)
{
	struct probe p = { 0 };
	const char *text = (const char *)head;
	int certainty;

	if (!is_log_text(head, len))
		return 0;
	for (size_t at = 0, end; at < len; at = end + 1) {
		for (end = at; end < len && !memchr("\n\r\b", text[end], 3); end++)
			;
		if (end > at)
			probe_piece(&p, text + at, end - at);
	}
	certainty = p.told > 2 ? 75 : p.told ? 65 : p.untold > 1 ? 55 : p.fronts ? 5 : 2;
	tl_text_release(&p.plain);
	tl_text_release(&p.ignored);
	return certainty;
}

const struct tl_importer training_log_importer = {
	.name = "training-log",
	.summary =
		"output of a training program: Megatron-LM, DeepSpeed, progress bars, plain lines",
	.probe = log_probe,
	.open = log_open,
	.read = log_read,
	.close = log_close,
};
