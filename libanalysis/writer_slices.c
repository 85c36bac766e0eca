/*
 * writer_slices.c - what profilers and logs tell, as rows: tracks, slices, flows, counters, steps
 * and log lines.
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "step_repeats.h"

#define FLAG_INSTANT 1
#define FLAG_SUSPECT 2

#define TRACK_STEP_MAX 65536u /* importers number tracks as they come: a wild number is a mistake */

static int keep(struct tl_writer *w, char **out, const char *text, struct tl_error *err)
{
	if (!text || (*out && !strcmp(*out, text)))
		return TL_OK;
	*out = tl_arena_copy(&w->arena, text, strlen(text), err);
	return *out ? TL_OK : TL_NOMEM;
}

static int need_track(struct tl_writer *w, uint32_t index, struct tl_error *err)
{
	if (index < w->track_count)
		return TL_OK;
	if (index - w->track_count > TRACK_STEP_MAX)
		return tl_fail(err, TL_USAGE, "track %u out of order", index);
	if (tl_grow(&w->tracks, &w->track_capacity, (size_t)index + 1, err) < 0)
		return TL_NOMEM;
	for (; w->track_count <= index; w->track_count++)
		w->tracks[w->track_count] = (struct tl_writer_track) {
			.kind = TL_TRACK_OTHER, .thread = TL_NO_INDEX, .device = -1, .stream = -1
		};
	return TL_OK;
}

int tl_writer_track(struct tl_writer *w, const struct tl_event_track *ev, struct tl_error *err)
{
	struct tl_writer_track *t;
	int ret = need_track(w, ev->index, err);

	if (ret < 0)
		return ret;
	t = &w->tracks[ev->index];
	t->kind = ev->kind;
	t->task = ev->task;
	t->device = ev->device;
	t->stream = ev->stream;
	t->is_known = true;
	ret = keep(w, &t->name, ev->name, err);
	if (ret == TL_OK)
		ret = keep(w, &t->process, ev->process, err);
	if (ret == TL_OK)
		ret = keep(w, &t->key_pid, ev->key_pid, err);
	if (ret == TL_OK)
		ret = keep(w, &t->key_tid, ev->key_tid, err);
	return ret;
}

static int settled(struct tl_writer *w, uint32_t track, struct tl_error *err)
{
	int ret = w->is_settled ? TL_OK : tl_writer_settle_sideband(w, err);

	return ret < 0 ? ret : need_track(w, track, err);
}

/* The source lasts until its last slice ends. */
static void note_end(struct tl_writer *w, int64_t ts, int64_t duration_ns)
{
	int64_t end;

	if (!__builtin_add_overflow(ts, duration_ns, &end) && end > w->last_ts)
		w->last_ts = end;
}

/* May be told again, on another track. */
static int note_step(struct tl_writer *w, const struct tl_event *ev, int64_t slice_id,
		     struct tl_error *err)
{
	const struct tl_event_slice *s = &ev->slice;
	int ret;

	if (!ev->has_ts || s->duration_ns <= 0 || s->is_suspect)
		return TL_OK;
	ret = tl_grow(&w->step_spans, &w->step_span_capacity, w->step_span_count + 1, err);
	if (ret == TL_OK)
		w->step_spans[w->step_span_count++] =
			(struct tl_step_span) { .slice_id = slice_id,
						.ts = ev->ts,
						.duration_ns = s->duration_ns,
						.number = s->step,
						.track = s->track };
	return ret;
}

int tl_writer_slice(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_slice *s = &ev->slice;
	int64_t values[13] = { 0 };
	uint64_t nulls;
	int ret = settled(w, s->track, err);

	if (ret == TL_OK)
		ret = tl_writer_text(w, s->name ? s->name : "", s->name ? s->name_length : 0,
				     &values[4], err);
	if (ret == TL_OK)
		ret = tl_writer_text(w, s->category, s->category_length, &values[5], err);
	if (ret < 0)
		return ret;
	values[0] = w->next_slice++;
	values[1] = w->next_track + s->track;
	values[2] = tl_writer_unix(w, ev->ts);
	values[3] = s->duration_ns;
	values[6] = (int64_t)s->class_;
	values[7] = (s->is_instant ? FLAG_INSTANT : 0) | (s->is_suspect ? FLAG_SUSPECT : 0);
	values[8] = s->correlation;
	values[9] = s->external_id;
	values[10] = s->bytes;
	values[11] = s->step;
	values[12] = s->stream;
	nulls = (uint64_t)!ev->has_ts << 2 | (uint64_t)(s->duration_ns < 0) << 3 |
		(uint64_t)!values[5] << 5 | (uint64_t)!s->has_correlation << 8 |
		(uint64_t)!s->has_external_id << 9 | (uint64_t)!s->has_bytes << 10 |
		(uint64_t)!s->has_step << 11 | (uint64_t)(s->stream < 0) << 12;
	w->has_slices = true;
	if (s->has_step && (ret = note_step(w, ev, values[0], err)) < 0)
		return ret;
	if (s->is_suspect) { /* the source does not last until what cannot be believed */
		w->has_rows |= ev->has_ts;
	} else {
		tl_writer_note_time(w, ev);
		if (ev->has_ts && s->duration_ns > 0)
			note_end(w, ev->ts, s->duration_ns);
	}
	return tl_writer_put(w, INSERT_SLICE, values, 13, nulls, s->arguments, s->arguments_length,
			     err);
}

int tl_writer_flow(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_flow *f = &ev->flow;
	int64_t values[6] = { 0 };
	int ret = settled(w, f->track, err);

	if (ret == TL_OK)
		ret = tl_writer_text(w, f->category, f->category_length, &values[5], err);
	if (ret < 0)
		return ret;
	values[0] = w->next_flow++;
	values[1] = w->next_track + f->track;
	values[2] = tl_writer_unix(w, ev->ts);
	values[3] = (int64_t)f->phase;
	values[4] = (int64_t)f->id;
	w->has_rows |= ev->has_ts;
	return tl_writer_put(w, INSERT_FLOW, values, 6,
			     (uint64_t)!ev->has_ts << 2 | (uint64_t)!values[5] << 5, NULL, 0, err);
}

/* In which order many counters are told means nothing. */
static void note_span(struct tl_writer *w, int64_t ts)
{
	w->has_rows = true;
	if (ts < w->first_ts)
		w->first_ts = ts;
	if (ts > w->last_ts)
		w->last_ts = ts;
}

int tl_writer_counter(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_counter *c = &ev->counter;
	int64_t values[5] = { 0 };
	int ret = settled(w, c->track, err);

	if (ret < 0 || !ev->has_ts)
		return ret;
	if (c->value != c->value) /* SQLite takes it for NULL */
		return tl_writer_note(w, TL_DIAGNOSTIC_DAMAGED, "counter values that are no number",
				      1, "values", NULL, err);
	ret = tl_writer_text(w, c->name, c->name_length, &values[2], err);
	if (ret == TL_OK)
		ret = tl_writer_text(w, c->unit, c->unit ? strlen(c->unit) : 0, &values[3], err);
	if (ret < 0)
		return ret;
	values[0] = w->next_track + c->track;
	values[1] = tl_writer_unix(w, ev->ts);
	memcpy(&values[4], &c->value, sizeof(values[4]));
	note_span(w, ev->ts);
	return tl_writer_put(w, INSERT_COUNTER, values, 5, (uint64_t)!values[3] << 3, NULL, 0, err);
}

int tl_writer_step(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_step *s = &ev->step;
	const int64_t values[6] = { w->source_id,   s->number,
				    s->rank,	    tl_writer_unix(w, ev->ts),
				    s->duration_ns, s->count > 1 ? s->count : 1 };
	int ret = w->is_settled ? TL_OK : tl_writer_settle_sideband(w, err);

	if (ret < 0)
		return ret;
	tl_writer_note_time(w, ev);
	return tl_writer_put(w, INSERT_STEP_MARK, values, 6,
			     (uint64_t)(s->rank < 0) << 2 | (uint64_t)!ev->has_ts << 3 |
				     (uint64_t)(s->duration_ns < 0) << 4,
			     s->detail, s->detail ? strlen(s->detail) : 0, err);
}

int tl_writer_log(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_log *l = &ev->log;
	int64_t values[5] = { 0 };
	int ret = w->is_settled ? TL_OK : tl_writer_settle_sideband(w, err);

	if (ret == TL_OK)
		ret = tl_writer_text(w, l->level, l->level ? strlen(l->level) : 0, &values[4], err);
	if (ret < 0)
		return ret;
	values[0] = w->next_log++;
	values[1] = w->source_id;
	values[2] = tl_writer_unix(w, ev->ts);
	values[3] = (int64_t)l->position;
	tl_writer_note_time(w, ev);
	return tl_writer_put(w, INSERT_LOG, values, 5,
			     (uint64_t)!ev->has_ts << 2 | (uint64_t)!values[4] << 4, l->text,
			     l->text_length, err);
}

/* ---- at the end ---- */

static void bind_text(struct tl_statement *st, int parameter, const char *text)
{
	if (text)
		tl_bind_text(st, parameter, text, strlen(text));
	else
		tl_bind_null(st, parameter);
}

static void bind_number(struct tl_statement *st, int parameter, int32_t number)
{
	if (number >= 0)
		tl_bind_i64(st, parameter, number);
	else
		tl_bind_null(st, parameter);
}

static int put_track(struct tl_writer *w, struct tl_statement *st, uint32_t index,
		     struct tl_error *err)
{
	struct tl_writer_track *t = &w->tracks[index];
	int64_t thread_row = 0;
	int ret = TL_OK;

	if (t->kind == TL_TRACK_THREAD && t->task.tid >= 0) {
		ret = tl_tasks_thread(&w->tasks, INT64_MAX, t->task, &t->thread, err);
		if (ret == TL_OK)
			ret = tl_writer_thread_row(w, t->thread, &thread_row, err);
	}
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->next_track + index);
	tl_bind_i64(st, 2, w->source_id);
	bind_text(st, 3, tl_track_kind_name(t->kind));
	if (thread_row)
		tl_bind_i64(st, 4, thread_row);
	else
		tl_bind_null(st, 4);
	bind_text(st, 5, t->name);
	bind_text(st, 6, t->process);
	bind_text(st, 7, t->key_pid);
	bind_text(st, 8, t->key_tid);
	bind_number(st, 9, t->device);
	bind_number(st, 10, t->stream);
	return tl_statement_run(st, err);
}

int tl_writer_track_rows(struct tl_writer *w, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_rows_drain(w->rows, err);

	if (ret < 0 || !w->track_count)
		return ret;
	ret = tl_statement_open(
		&st, w->store,
		"INSERT INTO track(track_id, source_id, kind, thread_id, name, process, "
		"key_pid, key_tid, device, stream) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		NULL, err);
	if (ret < 0)
		return ret;
	for (uint32_t i = 0; i < w->track_count && ret == TL_OK; i++)
		ret = put_track(w, st, i, err);
	tl_statement_close(st);
	return ret;
}

/* The span stays, as one that is no step. */
static int forget_steps(struct tl_writer *w, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, w->store,
				    "UPDATE slice SET step = NULL WHERE slice_id = ?", NULL, err);

	for (size_t i = 0; i < w->step_span_count && ret == TL_OK; i++) {
		if (!w->step_spans[i].is_repeat)
			continue;
		tl_bind_i64(st, 1, w->step_spans[i].slice_id);
		ret = tl_statement_run(st, err);
	}
	tl_statement_close(st);
	return ret;
}

/* By its number where that is known: layers of a process have numbers of their own in a trace. */
static uint64_t process_of(const struct tl_writer_track *t)
{
	const char *text = t->key_pid;
	char number[16];

	if (t->kind == TL_TRACK_THREAD && t->task.pid >= 0) {
		snprintf(number, sizeof(number), "%d", (int)t->task.pid);
		text = number;
	}
	return text ? tl_hash(text, strlen(text), 23) : 0;
}

int tl_writer_step_repeats(struct tl_writer *w, struct tl_error *err)
{
	int64_t repeats;
	int ret;

	for (size_t i = 0; i < w->step_span_count; i++)
		w->step_spans[i].process = process_of(&w->tracks[w->step_spans[i].track]);
	repeats = tl_step_spans_mark(w->step_spans, w->step_span_count);
	if (!repeats)
		return TL_OK;
	ret = forget_steps(w, err);
	if (ret < 0)
		return ret;
	return tl_writer_note(
		w, TL_DIAGNOSTIC_NOTE, "spans of steps that are told of more than once",
		(uint64_t)repeats, "spans",
		"the same number in the same process at the same time, on another thread or "
		"twice: one of them counts, the rest are spans like others",
		err);
}
