/*
 * step_elapsed.c - durations that may be of one step, or a total that grows. A total is when a step
 * ended; what it took is then what lies between two lines.
 */
#include "step_elapsed.h"

#include <stdlib.h>
#include <string.h>

#include "step_rows.h"

/* Growing in so many lines of a rank in a row it counts from the beginning. */
enum { ENOUGH_LINES = 8, PENDING_MAX = 512 };

/* A step that gets slower from line to line is rare, and does not double. */
static bool is_total(const struct step_elapsed *e)
{
	const struct step_line *first = &e->pending[0], *last = first;
	size_t count = 1, grown = 0;

	for (size_t i = 1; i < e->count; i++) {
		const struct step_line *line = &e->pending[i];

		if (line->rank != first->rank)
			continue;
		if (line->duration_ns < last->duration_ns)
			return false;
		grown += line->duration_ns > last->duration_ns;
		last = line;
		count++;
	}
	if (first->is_named_elapsed)
		return count > 2 && 2 * grown >= count - 1;
	return count >= ENOUGH_LINES && 2 * grown >= count - 1 &&
	       last->duration_ns / 2 >= first->duration_ns;
}

static int add(struct step_rows *rows, const struct step_line *line, struct tl_sink *sink,
	       struct tl_error *err)
{
	struct step_line known = *line;

	known.may_be_total = false;
	if (rows->elapsed.meaning == STEP_ELAPSED_OF_ALL) {
		if (!line->has_time) {
			known.time = line->duration_ns;
			known.tick_ns = line->duration_tick_ns ? line->duration_tick_ns : 1;
			known.has_time = rows->elapsed.is_time = true;
		}
		known.duration_ns = -1;
		known.is_total = false;
		step_rows_note(rows, STEP_NOTE_ELAPSED, 1, line->position);
	}
	return step_rows_add(rows, &known, sink, err);
}

static int flush(struct step_rows *rows, struct tl_sink *sink, struct tl_error *err)
{
	struct step_elapsed *e = &rows->elapsed;
	int ret = TL_OK;

	e->meaning = is_total(e) ? STEP_ELAPSED_OF_ALL : STEP_ELAPSED_OF_STEP;
	for (size_t i = 0; i < e->count && ret == TL_OK; i++)
		ret = add(rows, &e->pending[i], sink, err);
	e->count = 0;
	tl_arena_release(&e->texts);
	return ret;
}

static bool is_enough(const struct step_elapsed *e)
{
	size_t count = 0;

	for (size_t i = 0; i < e->count; i++)
		count += e->pending[i].rank == e->pending[0].rank;
	return count >= ENOUGH_LINES || e->count == PENDING_MAX;
}

int step_elapsed_add(struct step_rows *rows, const struct step_line *line, struct tl_sink *sink,
		     struct tl_error *err)
{
	struct step_elapsed *e = &rows->elapsed;
	struct step_line *kept;

	if (e->meaning)
		return add(rows, line, sink, err);
	if (tl_grow(&e->pending, &e->capacity, e->count + 1, err) < 0)
		return TL_NOMEM;
	kept = &e->pending[e->count++];
	*kept = *line;
	if (line->detail)
		kept->detail = tl_arena_copy(&e->texts, line->detail, strlen(line->detail), err);
	if (line->detail && !kept->detail)
		return TL_NOMEM;
	return is_enough(e) ? flush(rows, sink, err) : TL_OK;
}

int step_elapsed_finish(struct step_rows *rows, struct tl_sink *sink, struct tl_error *err)
{
	return rows->elapsed.count ? flush(rows, sink, err) : TL_OK;
}

void step_elapsed_release(struct step_elapsed *e)
{
	free(e->pending);
	tl_arena_release(&e->texts);
	*e = (struct step_elapsed) { 0 };
}
