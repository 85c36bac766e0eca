/*
 * step_rows.c - lines that each tell of a step, as rows that stand for one or several.
 *
 * Many programs print one line for every ten or hundred steps, with the mean of their times: the row
 * is then of all of them. Lines without durations last from one to the next; where their times are
 * too coarse for that, they are joined until the time between the first and the last is known well.
 * Nothing here knows how a line is written.
 */
#include "step_rows.h"

#include <stdlib.h>
#include <string.h>

#include "step_means.h"

enum {
	ROW_TICKS =
		10, /* a row of steps whose ends are known to a tick each is so long, at least */
	WAITING_MAX = 10000 /* lines without a duration that wait for one that tells it */
};

/* A line that tells a duration; held back until the next of its rank. */
struct told_line {
	bool is_held, has_time, has_before, is_progress, is_total;
	int64_t number, duration_ns, time, tick_ns;
	int64_t before; /* time of the line before */
	int64_t gap;	/* numbers since the line before; 0: there is none to count from */
	int64_t last_gap;
	bool is_behind; /* its number is smaller than that of the line before */
	uint64_t position;
	struct tl_text detail;
};

/* Lines without durations: from one time to another. */
struct joined_lines {
	bool is_open;
	int64_t number, begin, end; /* steps behind `number` up to the last line's, if any */
	int64_t last_number;
	struct tl_text detail;
};

struct step_rank {
	int32_t rank;
	bool has_last;
	int64_t last_number;
	int64_t first_number; /* the smallest */
	int64_t stride;	      /* numbers ascend by so many, line after line; 0: not known */
	uint64_t disorder;    /* numbers that go back, but not to where they began */
	bool has_time;
	int64_t time; /* of the last line */
	struct told_line told;
	struct joined_lines open; /* not long enough yet */
	struct joined_lines done; /* held back: what is left at the end joins it */
	struct step_means means;
	bool has_epoch;
	int64_t epoch; /* of the last line */
};

static const struct {
	enum tl_diagnostic_kind kind;
	const char *what, *unit;
} notes[STEP_NOTE_COUNT] = {
	[STEP_NOTE_MEAN] = { TL_DIAGNOSTIC_NOTE,
			     "a line stands for several steps: its time is taken as that of one, on "
			     "average, and counts for all",
			     "lines" },
	[STEP_NOTE_TOTAL] = { TL_DIAGNOSTIC_NOTE,
			      "times too long for one step of several, by the times of the lines: "
			      "what lies between two lines is taken",
			      "lines" },
	[STEP_NOTE_DERIVED] = { TL_DIAGNOSTIC_NOTE,
				"durations from the times of the lines: what lies between two steps "
				"is in them",
				"steps" },
	[STEP_NOTE_JOINED] = { TL_DIAGNOSTIC_NOTE,
			       "lines whose times are too coarse to tell how long each took: joined "
			       "to rows of ten ticks of their clock",
			       "lines" },
	[STEP_NOTE_UNTOLD] = { TL_DIAGNOSTIC_NOTE,
			       "lines without a duration beside those that tell one", "lines" },
	[STEP_NOTE_AGAIN] = { TL_DIAGNOSTIC_NOTE, "lines that tell of the same step again",
			      "lines" },
	[STEP_NOTE_DROPPED] = { TL_DIAGNOSTIC_SKIPPED,
				"line that tells of the same step again: of another rank, perhaps, "
				"which is not told",
				"lines" },
	[STEP_NOTE_MISSING] = { TL_DIAGNOSTIC_NOTE, "steps that no line tells of", "steps" },
	[STEP_NOTE_BACK] = { TL_DIAGNOSTIC_NOTE,
			     "step numbers go back: an epoch or a restart begins there", "times" },
	[STEP_NOTE_DISORDER] = { TL_DIAGNOSTIC_NOTE, "lines behind those of later steps", "lines" },
	[STEP_NOTE_SINCE] = { TL_DIAGNOSTIC_NOTE,
			      "means since an epoch began: what lies between two is taken, joined "
			      "until their rounding is a twentieth at most; numbers go on over epochs",
			      "lines" },
	[STEP_NOTE_ROUNDED] = { TL_DIAGNOSTIC_NOTE,
				"means since an epoch began that are rounded too much to tell what "
				"steps took",
				"rows" },
	[STEP_NOTE_ELAPSED] = { TL_DIAGNOSTIC_NOTE,
				"elapsed times that grow from row to row: taken as counted from the "
				"beginning",
				"rows" },
};

void step_rows_note(struct step_rows *rows, enum step_note note, uint64_t count, uint64_t position)
{
	if (!rows->notes[note].count)
		rows->notes[note].first = position;
	rows->notes[note].count += count;
}

static const struct step_rank *find_rank(const struct step_rows *rows, int32_t rank)
{
	uint64_t hash = tl_hash_u64((uint64_t)(int64_t)rank, 1);
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&rows->index, hash, &probe)) >= 0)
		if (rows->ranks[found].rank == rank)
			return &rows->ranks[found];
	return NULL;
}

static struct step_rank *get_rank(struct step_rows *rows, int32_t rank, struct tl_error *err)
{
	const struct step_rank *found = find_rank(rows, rank);

	if (found)
		return &rows->ranks[found - rows->ranks];
	if (tl_grow(&rows->ranks, &rows->rank_capacity, rows->rank_count + 1, err) < 0 ||
	    tl_index_add(&rows->index, tl_hash_u64((uint64_t)(int64_t)rank, 1),
			 (uint32_t)rows->rank_count, err) < 0)
		return NULL;
	rows->ranks[rows->rank_count] = (struct step_rank) { .rank = rank };
	return &rows->ranks[rows->rank_count++];
}

bool step_rows_last(const struct step_rows *rows, int32_t rank, int64_t *number)
{
	const struct step_rank *found = find_rank(rows, rank);

	if (!found || !found->has_last)
		return false;
	*number = found->last_number;
	return true;
}

static int emit(struct step_rows *rows, struct tl_sink *sink, struct tl_event *ev,
		const struct tl_text *detail, struct tl_error *err)
{
	ev->kind = TL_EVENT_STEP;
	if (detail && detail->failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ev->step.detail = detail && detail->length ? detail->data : NULL;
	rows->emitted++;
	return sink->emit(sink, ev, err);
}

static void keep_detail(struct tl_text *out, const char *detail)
{
	out->length = 0;
	if (detail)
		tl_text_puts(out, detail);
}

/* From `earlier` to `later`; 0 where that is no positive number. */
static int64_t between(int64_t earlier, int64_t later)
{
	int64_t passed;

	return __builtin_sub_overflow(later, earlier, &passed) || passed < 0 ? 0 : passed;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- lines that tell durations --------------------------------------------------------------- */

/* What follows a held line: numbers to the next one, if they ascend. */
enum { NEXT_NONE = 0, NEXT_IS_BEHIND = -1 };

/* Do lines come at such distances? A program may count from 0 or 1, or print by the clock. */
static bool is_alike(int64_t gap, int64_t other)
{
	return gap > 0 && other > 0 && gap <= other + other / 2 && other <= gap + gap / 2;
}

/*
 * Of a line whose predecessor is not known: the steps since the beginning, but not more than lie
 * between it and the next line. Some programs count from 0, and then line 49 ends the first 50.
 */
static int64_t count_first(const struct step_rank *r, const struct told_line *t, int64_t next_gap)
{
	int64_t usual = r->stride ? r->stride : t->is_behind && r->disorder ? 1 : next_gap;

	if (usual <= 1 || t->number < 1)
		return 1;
	if (t->number >= usual - 1)
		return usual;
	return r->stride || is_alike(t->number, usual) ? t->number : 1;
}

/*
 * Lines come at regular numbers, and ascend; a much larger distance than those around it is one where
 * lines are missing or out of order, and this line tells nothing of their steps.
 */
static int64_t count_steps(struct step_rows *rows, const struct step_rank *r,
			   const struct told_line *t, int64_t next_gap)
{
	int64_t usual;

	if (!t->gap)
		return count_first(r, t, next_gap);
	if (t->is_progress || t->gap == 1 || is_alike(t->gap, t->last_gap) ||
	    is_alike(t->gap, next_gap) || is_alike(t->gap, r->stride))
		return t->gap;
	/* two lines of a log or of an epoch, and no more; or the next is missing */
	if (!t->last_gap && !r->disorder &&
	    (next_gap == NEXT_NONE || (next_gap % t->gap == 0 && next_gap / t->gap <= 4)))
		return t->gap;
	usual = r->stride				? r->stride
		: is_alike(t->last_gap, next_gap)	? larger(t->last_gap, next_gap)
		: next_gap == NEXT_NONE && !r->disorder ? t->last_gap
							: 1;
	if (t->gap <= usual)
		return t->gap;
	step_rows_note(rows, STEP_NOTE_MISSING, (uint64_t)(t->gap - usual), t->position);
	return usual;
}

/* Is a duration that is taken for one step's longer than the time between the lines allows? */
static bool is_total(const struct told_line *t, int64_t count)
{
	int64_t all, passed = between(t->before, t->time), limit;

	if (count <= 1 || !t->has_time || !t->has_before || !passed)
		return false;
	limit = passed + passed / 10 + 2 * t->tick_ns;
	return __builtin_mul_overflow(t->duration_ns, count, &all) || all > limit;
}

static int release_told(struct step_rows *rows, struct step_rank *r, int64_t next_gap,
			bool is_next_total, struct tl_sink *sink, struct tl_error *err)
{
	struct told_line *t = &r->told;
	struct tl_event ev = { .step.number = t->number, .step.rank = r->rank };
	int64_t count = count_steps(rows, r, t, next_gap), span;
	bool total = t->gap ? is_total(t, count) : count > 1 && is_next_total;

	t->is_held = false;
	if (t->is_total) {
		span = t->duration_ns;
	} else if (total) {
		span = t->gap ? between(t->before, t->time) : t->duration_ns;
	} else if (__builtin_mul_overflow(t->duration_ns, count, &span)) {
		count = 1;
		span = t->duration_ns;
	}
	if (count > 1 && !t->is_total)
		step_rows_note(rows, total ? STEP_NOTE_TOTAL : STEP_NOTE_MEAN, 1, t->position);
	ev.step.duration_ns = span;
	ev.step.count = count;
	ev.has_ts = t->has_time && !__builtin_sub_overflow(t->time, span, &ev.ts);
	return emit(rows, sink, &ev, &t->detail, err);
}

static void hold(struct told_line *t, const struct step_rank *r, const struct step_line *line,
		 int64_t gap, bool is_behind)
{
	struct tl_text detail = t->detail;

	*t = (struct told_line) {
		.is_held = true,
		.has_time = line->has_time,
		.has_before = r->has_time,
		.is_progress = line->is_progress,
		.is_total = line->is_total,
		.number = line->number,
		.duration_ns = line->duration_ns,
		.time = line->time,
		.tick_ns = line->tick_ns,
		.before = r->time,
		.gap = gap,
		.last_gap = t->gap,
		.is_behind = is_behind,
		.position = line->position,
		.detail = detail,
	};
	keep_detail(&t->detail, line->detail);
}

static int add_told(struct step_rows *rows, struct step_rank *r, const struct step_line *line,
		    int64_t gap, struct tl_sink *sink, struct tl_error *err)
{
	struct told_line next = { 0 };
	bool was_held = r->told.is_held, is_behind = r->has_last && line->number <= r->last_number;
	bool is_anew = is_behind && line->number == r->first_number;
	int ret = TL_OK;

	next.duration_ns = line->duration_ns;
	next.time = line->time;
	next.tick_ns = line->tick_ns;
	next.before = r->time;
	next.has_time = line->has_time;
	next.has_before = r->has_time;
	if (was_held)
		ret = release_told(rows, r, is_anew || !is_behind ? gap : NEXT_IS_BEHIND,
				   is_total(&next, gap), sink, err);
	if (was_held && is_alike(gap, r->told.gap))
		r->stride = gap;
	hold(&r->told, r, line, was_held ? gap : 0, is_behind);
	return ret;
}

/* A step that has its own begin and duration speaks for itself alone. */
static int add_placed(struct step_rows *rows, struct step_rank *r, const struct step_line *line,
		      int64_t gap, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .has_ts = true, .ts = line->time };
	struct tl_text *detail = &r->told.detail;

	if (gap > 1)
		step_rows_note(rows, STEP_NOTE_MISSING, (uint64_t)(gap - 1), line->position);
	ev.step.number = line->number;
	ev.step.rank = line->rank;
	ev.step.duration_ns = line->duration_ns;
	keep_detail(detail, line->detail);
	return emit(rows, sink, &ev, detail, err);
}

/* ---- means since an epoch began --------------------------------------------------------------- */

enum { ROUNDED = 5 /* a row whose rounding is more than this part of it tells nothing */ };

static int emit_means(struct step_rows *rows, const struct step_rank *r,
		      const struct step_means_row *ended, int count, struct tl_sink *sink,
		      struct tl_error *err)
{
	int ret = TL_OK;

	for (int i = 0; i < count && ret == TL_OK; i++) {
		struct tl_event ev = { .step.number = ended[i].number, .step.rank = r->rank };
		bool is_known = ended[i].rounding_ns <= ended[i].duration_ns / ROUNDED;

		if (!is_known)
			step_rows_note(rows, STEP_NOTE_ROUNDED, 1, 0);
		ev.step.count = ended[i].count;
		ev.step.duration_ns = is_known ? ended[i].duration_ns : -1;
		ret = emit(rows, sink, &ev, NULL, err);
	}
	return ret;
}

static int add_mean(struct step_rows *rows, struct step_rank *r, const struct step_line *line,
		    struct tl_sink *sink, struct tl_error *err)
{
	struct step_means_row ended[STEP_MEANS_ROWS];
	int count =
		step_means_add(&r->means, line->number, line->duration_ns, line->duration_tick_ns,
			       line->has_epoch ? line->epoch : -1, ended);

	step_rows_note(rows, STEP_NOTE_SINCE, 1, line->position);
	return emit_means(rows, r, ended, count, sink, err);
}

/* ---- lines without durations ----------------------------------------------------------------- */

/* The last of the steps that a line ends. Where lines tell begins, it is the one before. */
static int64_t ended_step(const struct step_line *line)
{
	return line->is_begin && line->number > INT64_MIN ? line->number - 1 : line->number;
}

static int emit_joined(struct step_rows *rows, const struct step_rank *r, struct joined_lines *j,
		       struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .step.number = j->last_number, .step.rank = r->rank };
	int64_t took = between(j->begin, j->end);

	if (!j->is_open)
		return TL_OK;
	j->is_open = false;
	ev.step.duration_ns = took ? took : -1;
	ev.step.count = between(j->number, j->last_number);
	ev.has_ts = took > 0;
	ev.ts = j->begin;
	return emit(rows, sink, &ev, &j->detail, err);
}

/* The open lines, which may be none, become the row that is held back. */
static int close_row(struct step_rows *rows, struct step_rank *r, struct tl_sink *sink,
		     struct tl_error *err)
{
	struct joined_lines spare = r->done;
	int ret;

	if (!r->open.is_open || r->open.last_number == r->open.number)
		return TL_OK;
	ret = emit_joined(rows, r, &r->done, sink, err);
	r->done = r->open;
	r->open.detail = spare.detail;
	r->open.number = r->open.last_number;
	r->open.begin = r->open.end;
	return ret;
}

/* What is too short to be a row of its own goes to the row before it. */
static int settle_open(struct step_rows *rows, struct step_rank *r, struct tl_sink *sink,
		       struct tl_error *err)
{
	if (!r->open.is_open || r->open.last_number == r->open.number)
		return TL_OK;
	if (!r->done.is_open || r->done.end != r->open.begin ||
	    r->done.last_number != r->open.number)
		return close_row(rows, r, sink, err);
	r->done.last_number = r->open.number = r->open.last_number;
	r->done.end = r->open.begin = r->open.end;
	return TL_OK;
}

static int flush_joined(struct step_rows *rows, struct step_rank *r, struct tl_sink *sink,
			struct tl_error *err)
{
	int ret = settle_open(rows, r, sink, err);

	r->open.is_open = false;
	return ret == TL_OK ? emit_joined(rows, r, &r->done, sink, err) : ret;
}

/* The first line, or one that cannot be reckoned from the one before: only its end is known. */
static int open_row(struct step_rows *rows, struct step_rank *r, const struct step_line *line,
		    struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .step.number = line->number,
			       .step.rank = r->rank,
			       .step.duration_ns = -1 };
	int ret = flush_joined(rows, r, sink, err);

	r->open.is_open = line->has_time;
	r->open.number = r->open.last_number = ended_step(line);
	r->open.begin = r->open.end = line->time;
	keep_detail(&r->open.detail, line->detail);
	if (ret < 0 || (line->is_begin && line->has_time))
		return ret;
	return emit(rows, sink, &ev, &r->open.detail, err);
}

static int add_untold(struct step_rows *rows, struct step_rank *r, const struct step_line *line,
		      int64_t gap, struct tl_sink *sink, struct tl_error *err)
{
	int64_t enough, alone;
	int ret = TL_OK;

	if (!r->open.is_open || !line->has_time || gap <= 0 || line->time < r->open.end)
		return open_row(rows, r, line, sink, err);
	if (__builtin_mul_overflow(line->tick_ns, ROW_TICKS, &enough))
		enough = INT64_MAX;
	alone = between(r->open.end, line->time);
	/* a step that is long enough alone is not mixed with others */
	if (alone >= enough)
		ret = settle_open(rows, r, sink, err);
	r->open.end = line->time;
	r->open.last_number = ended_step(line);
	keep_detail(&r->open.detail, line->detail);
	step_rows_note(rows, STEP_NOTE_DERIVED, (uint64_t)gap, line->position);
	if (alone < enough)
		step_rows_note(rows, STEP_NOTE_JOINED, 1, line->position);
	if (ret == TL_OK && between(r->open.begin, r->open.end) >= enough)
		ret = close_row(rows, r, sink, err);
	return ret;
}

/* ---- public ---------------------------------------------------------------------------------- */

/* An epoch begins where the last one did; a restart, and disorder, do not. */
static void go_back(struct step_rows *rows, struct step_rank *r, const struct step_line *line)
{
	bool is_beginning = line->number <= r->first_number;
	bool is_near = r->stride && between(line->number, r->last_number) <= 2 * r->stride;

	step_rows_note(rows, is_near && !is_beginning ? STEP_NOTE_DISORDER : STEP_NOTE_BACK, 1,
		       line->position);
	r->disorder += line->number != r->first_number;
	if (is_beginning)
		r->first_number = line->number;
}

static void take_end(struct step_rows *rows, const struct step_line *line)
{
	int64_t end = line->time;

	if (!line->has_time)
		return;
	if (line->is_begin && line->duration_ns > 0 &&
	    __builtin_add_overflow(end, line->duration_ns, &end))
		end = line->time;
	rows->last_end = !rows->has_time || end > rows->last_end ? end : rows->last_end;
	rows->has_time = true;
}

/* Nothing is lost with a bar that is drawn again, or a line that tells nothing else. */
static bool is_drawn_again(const struct step_rank *r, const struct step_line *line)
{
	return line->is_progress || line->duration_ns < 0 ||
	       (r->told.is_held && r->told.duration_ns == line->duration_ns);
}

static int add_line(struct step_rows *rows, const struct step_line *line, struct tl_sink *sink,
		    struct tl_error *err)
{
	struct step_rank *r = get_rank(rows, line->rank, err);
	bool is_placed = line->duration_ns >= 0 && line->has_time && line->is_begin;
	int64_t gap = 0;
	bool is_anew;
	int ret;

	if (!r)
		return TL_NOMEM;
	if (line->is_epoch_mean)
		return add_mean(rows, r, line, sink, err);
	is_anew = r->has_epoch && line->has_epoch && r->epoch != line->epoch;
	r->has_epoch = line->has_epoch;
	r->epoch = line->epoch;
	if (r->has_last && r->last_number == line->number && !is_placed && !is_anew) {
		step_rows_note(rows, is_drawn_again(r, line) ? STEP_NOTE_AGAIN : STEP_NOTE_DROPPED,
			       1, line->position);
		return TL_OK;
	}
	if (r->has_last &&
	    (line->number < r->last_number || (line->number == r->last_number && is_anew)))
		go_back(rows, r, line);
	else if (r->has_last)
		gap = between(r->last_number, line->number);
	else
		r->first_number = line->number;
	if (is_placed)
		ret = add_placed(rows, r, line, gap, sink, err);
	else if (line->duration_ns >= 0)
		ret = add_told(rows, r, line, gap, sink, err);
	else
		ret = add_untold(rows, r, line, gap, sink, err);
	r->has_last = true;
	r->last_number = line->number;
	r->has_time = line->has_time;
	r->time = line->time;
	return ret;
}

/* Beside lines that tell durations: a begin is worth something, an end without one is not. */
static int add_beside(struct step_rows *rows, const struct step_line *line, struct tl_sink *sink,
		      struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_STEP, .has_ts = true, .ts = line->time };

	if (!line->is_begin || !line->has_time) {
		step_rows_note(rows, STEP_NOTE_UNTOLD, 1, line->position);
		return TL_OK;
	}
	ev.step.number = line->number;
	ev.step.rank = line->rank;
	ev.step.duration_ns = -1;
	ev.step.detail = line->detail;
	rows->emitted++;
	return sink->emit(sink, &ev, err);
}

static int drop_waiting(struct step_rows *rows, struct tl_sink *sink, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < rows->waiting_count && ret == TL_OK; i++)
		ret = add_beside(rows, &rows->waiting[i], sink, err);
	rows->waiting_count = 0;
	tl_arena_release(&rows->texts);
	return ret;
}

static int flush_waiting(struct step_rows *rows, struct tl_sink *sink, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < rows->waiting_count && ret == TL_OK; i++)
		ret = add_line(rows, &rows->waiting[i], sink, err);
	rows->waiting_count = 0;
	rows->is_waiting_over = true;
	tl_arena_release(&rows->texts);
	return ret;
}

static int wait_for_told(struct step_rows *rows, const struct step_line *line, struct tl_sink *sink,
			 struct tl_error *err)
{
	struct step_line *copy;

	if (tl_grow(&rows->waiting, &rows->waiting_capacity, rows->waiting_count + 1, err) < 0)
		return TL_NOMEM;
	copy = &rows->waiting[rows->waiting_count];
	*copy = *line;
	if (line->detail)
		copy->detail = tl_arena_copy(&rows->texts, line->detail, strlen(line->detail), err);
	if (line->detail && !copy->detail)
		return TL_NOMEM;
	return ++rows->waiting_count == WAITING_MAX ? flush_waiting(rows, sink, err) : TL_OK;
}

int step_rows_add(struct step_rows *rows, const struct step_line *line, struct tl_sink *sink,
		  struct tl_error *err)
{
	if (line->may_be_total)
		return step_elapsed_add(rows, line, sink, err);
	take_end(rows, line);
	if (line->duration_ns >= 0) {
		int ret = rows->has_told ? TL_OK : drop_waiting(rows, sink, err);

		rows->has_told = true;
		return ret < 0 ? ret : add_line(rows, line, sink, err);
	}
	/* of two loggers that tell of a step, one may know its rank */
	if (line->rank < 0 && rows->has_ranked && rows->ranked_number == line->number) {
		step_rows_note(rows, STEP_NOTE_AGAIN, 1, line->position);
		return TL_OK;
	}
	rows->has_ranked = line->rank >= 0;
	rows->ranked_number = line->number;
	if (rows->has_told)
		return add_beside(rows, line, sink, err);
	return rows->is_waiting_over ? add_line(rows, line, sink, err)
				     : wait_for_told(rows, line, sink, err);
}

static int emit_note(const struct step_rows *rows, enum step_note n, struct tl_sink *sink,
		     struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	if (!rows->notes[n].count)
		return TL_OK;
	ev.diagnostic.kind = notes[n].kind;
	ev.diagnostic.what = notes[n].what;
	ev.diagnostic.unit = notes[n].unit;
	ev.diagnostic.count = rows->notes[n].count;
	if (rows->notes[n].first) {
		ev.diagnostic.position_kind = TL_POSITION_LINE;
		ev.diagnostic.position = rows->notes[n].first;
	}
	return sink->emit(sink, &ev, err);
}

int step_rows_finish(struct step_rows *rows, struct tl_sink *sink, struct tl_error *err)
{
	int ret = step_elapsed_finish(rows, sink, err);

	if (ret == TL_OK)
		ret = flush_waiting(rows, sink, err);
	for (size_t i = 0; i < rows->rank_count && ret == TL_OK; i++) {
		struct step_rank *r = &rows->ranks[i];
		struct step_means_row ended[STEP_MEANS_ROWS];

		if (r->told.is_held)
			ret = release_told(rows, r, NEXT_NONE, false, sink, err);
		if (ret == TL_OK)
			ret = emit_means(rows, r, ended, step_means_finish(&r->means, ended), sink,
					 err);
		if (ret == TL_OK)
			ret = flush_joined(rows, r, sink, err);
	}
	for (int n = 0; n < STEP_NOTE_COUNT && ret == TL_OK; n++)
		ret = emit_note(rows, n, sink, err);
	return ret;
}

void step_rows_release(struct step_rows *rows)
{
	for (size_t i = 0; i < rows->rank_count; i++) {
		tl_text_release(&rows->ranks[i].told.detail);
		tl_text_release(&rows->ranks[i].open.detail);
		tl_text_release(&rows->ranks[i].done.detail);
	}
	free(rows->ranks);
	free(rows->waiting);
	step_elapsed_release(&rows->elapsed);
	tl_arena_release(&rows->texts);
	tl_index_release(&rows->index);
	*rows = (struct step_rows) { 0 };
}
