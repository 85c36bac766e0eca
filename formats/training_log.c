/*
 * training_log.c - what a training program printed: steps with their durations, warnings and
 * errors. Lines, and what becomes of each; what a single line says, and what lines say together, is
 * read in the files beside this one.
 */
#include "training_log.h"

#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "step_rows.h"
#include "strace.h"

enum { PIECE_MAX = 64 << 10 /* between two carriage returns; longer ones are no line of a log */ };

enum note {
	NOTE_RATE,
	NOTE_UNIT,
	NOTE_OTHER,
	NOTE_NULS,
	NOTE_LONG,
	NOTE_CALLS,
	NOTE_PROCESS,
	NOTE_COUNT
};

static const struct {
	enum tl_diagnostic_kind kind;
	const char *what, *unit;
} notes[NOTE_COUNT] = {
	[NOTE_RATE] = { TL_DIAGNOSTIC_NOTE,
			"durations from a rate, which progress bars smooth over several steps",
			"steps" },
	[NOTE_UNIT] = { TL_DIAGNOSTIC_NOTE, "durations without a unit, taken as seconds", "steps" },
	[NOTE_OTHER] = { TL_DIAGNOSTIC_NOTE, "progress of something else than training", "lines" },
	[NOTE_NULS] = { TL_DIAGNOSTIC_DAMAGED, "line with bytes that are no text", "lines" },
	[NOTE_CALLS] = { TL_DIAGNOSTIC_SKIPPED,
			 "line of strace's between those of a training: in a file of their own (strace "
			 "-o) they are read",
			 "lines" },
	[NOTE_PROCESS] = { TL_DIAGNOSTIC_NOTE,
			   "processes told apart by their pid: their numbers, as they appear, stand "
			   "for ranks, which are not told",
			   "processes" },
	[NOTE_LONG] = { TL_DIAGNOSTIC_SKIPPED, "line longer than 65536 bytes", "lines" },
};

struct log {
	struct tl_input *in;
	struct tl_import_options opt;
	struct training_log_pattern *pattern;
	struct tl_text carry; /* the piece that goes on in the next part of a line */
	bool is_carry_long;
	struct tl_text plain, detail, json, unwrapped;
	struct training_log_wrapping *wrapping;
	struct training_log_timeline timeline;
	struct training_log_trouble trouble;
	struct step_rows rows;
	struct tl_index processes; /* by their hash alone */
	/* a step without a duration, which a line below may tell */
	struct {
		bool is_held, is_number_alone;
		struct step_line line;
		struct tl_text detail;
	} above;
	bool has_epoch;
	int64_t epoch; /* of the header above: "Epoch 3/40" */
	uint64_t lines, steps;
	struct {
		uint64_t count, first;
	} notes[NOTE_COUNT];
	bool is_cut;
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

/* ---- what a line says, by words or by the user's pattern ------------------------------------ */

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

struct saying {
	bool is_step, has_duration, is_progress, is_total, may_be_total, is_named_elapsed;
	bool is_epoch_mean, is_number_alone, is_duration_alone, has_epoch, is_rate;
	int64_t number, duration_ns, duration_tick_ns, epoch, epoch_ns;
	size_t duration_end;
};

static int say_by_words(struct log *l, struct training_log_front *front, struct saying *out,
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
	out->is_progress = step.is_progress;
	out->is_total = step.is_total;
	out->may_be_total = step.may_be_total;
	out->is_named_elapsed = step.is_named_elapsed;
	out->duration_tick_ns = step.duration_tick_ns;
	out->is_epoch_mean = step.is_epoch_mean;
	out->is_number_alone = step.is_number_alone;
	out->is_duration_alone = step.is_duration_alone;
	out->epoch_ns = step.epoch_ns;
	if (step.has_epoch && !out->is_step && !step.has_duration && !step.has_number) {
		l->has_epoch = true;
		l->epoch = step.epoch;
	}
	out->has_epoch = step.has_epoch || (l->has_epoch && !step.is_within_epoch);
	out->epoch = step.has_epoch ? step.epoch : l->epoch;
	if (front->rank < 0)
		front->rank = step.rank;
	out->duration_end = at + step.duration_end;
	out->is_rate = step.is_rate;
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
	int64_t last;
	int ret = training_log_pattern_match(l->pattern, l->plain.data, l->plain.length, &match,
					     &l->detail, err);

	if (ret <= 0)
		return ret;
	if (match.has_rank)
		front->rank = match.rank;
	if (match.time.clock)
		front->time = match.time;
	out->is_step = match.has_number || match.has_duration;
	out->has_duration = match.has_duration;
	out->duration_ns = match.has_duration ? match.duration_ns : -1;
	/* without a number of their own they are counted */
	out->number = match.number;
	if (!match.has_number)
		out->number = step_rows_last(&l->rows, front->rank, &last) && last < INT64_MAX
				      ? last + 1
				      : 0;
	out->duration_end = l->plain.length;
	if (match.is_rate)
		note(l, NOTE_RATE, line);
	if (match.is_without_unit && match.has_duration)
		note(l, NOTE_UNIT, line);
	return TL_OK;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int add_step(struct log *l, const struct step_line *line, struct tl_sink *sink,
		    struct tl_error *err)
{
	l->steps++;
	return step_rows_add(&l->rows, line, sink, err);
}

/* No line below tells its duration. */
static int release_above(struct log *l, struct tl_sink *sink, struct tl_error *err)
{
	if (!l->above.is_held)
		return TL_OK;
	l->above.is_held = false;
	return l->above.is_number_alone ? TL_OK : add_step(l, &l->above.line, sink, err);
}

static int hold_above(struct log *l, const struct step_line *line, bool is_number_alone,
		      struct tl_error *err)
{
	l->above.is_held = true;
	l->above.is_number_alone = is_number_alone;
	l->above.line = *line;
	l->above.detail.length = 0;
	if (line->detail) {
		tl_text_puts(&l->above.detail, line->detail);
		l->above.line.detail = l->above.detail.data;
	}
	return l->above.detail.failed ? no_memory(err) : TL_OK;
}

/* "per step time: 500 ms", below the step: is it the mean of all steps of the epoch until then? */
static int take_below(struct log *l, struct tl_sink *sink, const struct saying *say,
		      struct tl_error *err)
{
	struct step_line *line = &l->above.line;
	int64_t all;

	l->above.is_held = false;
	if (say->is_rate)
		note(l, NOTE_RATE, line->position);
	line->duration_ns = say->duration_ns;
	line->duration_tick_ns = say->duration_tick_ns;
	line->is_epoch_mean = line->number > 1 && say->epoch_ns &&
			      !__builtin_mul_overflow(line->number, say->duration_ns, &all) &&
			      all > say->epoch_ns - say->epoch_ns / 100 &&
			      all < say->epoch_ns + say->epoch_ns / 100;
	return add_step(l, line, sink, err);
}

static int take_step(struct log *l, struct tl_sink *sink, const struct saying *say,
		     const struct training_log_front *front, bool has_time, int64_t time,
		     uint64_t line, struct tl_error *err)
{
	const struct step_line step = {
		.number = say->number,
		.rank = front->rank,
		.duration_ns = say->has_duration ? say->duration_ns : -1,
		.has_time = has_time,
		.time = time,
		.tick_ns = training_log_tick(&l->timeline),
		.is_progress = say->is_progress,
		.is_total = say->is_total,
		.is_epoch_mean = say->is_epoch_mean,
		.has_epoch = say->has_epoch,
		.epoch = say->epoch,
		.may_be_total = say->has_duration && say->may_be_total,
		.is_named_elapsed = say->is_named_elapsed,
		.duration_tick_ns = say->duration_tick_ns,
		.detail = detail_object(l),
		.position = line,
	};
	int ret;

	if (l->json.failed || l->detail.failed)
		return no_memory(err);
	ret = release_above(l, sink, err);
	if (ret < 0)
		return ret;
	if (step.duration_ns < 0)
		return hold_above(l, &step, say->is_number_alone && !say->is_step, err);
	return add_step(l, &step, sink, err);
}

static int take_other(struct log *l, struct tl_sink *sink, const struct training_log_front *front,
		      bool has_time, int64_t time, uint64_t line, struct tl_error *err)
{
	const struct training_log_saying saying = {
		l->plain.data, l->plain.length, front, has_time, time, line,
	};

	return training_log_read_trouble(&l->trouble, &saying, sink, err);
}

/* Of a line that tells none. */
static int settle_rank(struct log *l, struct training_log_front *front, bool is_step, uint64_t line,
		       struct tl_error *err)
{
	size_t probe = 0;
	int64_t found;

	if (!front->process || !is_step) {
		front->rank = l->opt.has_rank ? l->opt.rank : -1;
		return TL_OK;
	}
	found = tl_index_find(&l->processes, front->process, &probe);
	if (found < 0) {
		found = (int64_t)l->processes.count;
		if (tl_index_add(&l->processes, front->process, (uint32_t)found, err) < 0)
			return TL_NOMEM;
		note(l, NOTE_PROCESS, line);
	}
	front->rank = (int32_t)found;
	return TL_OK;
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
	ret = l->pattern ? say_by_pattern(l, &front, &say, line, err)
			 : say_by_words(l, &front, &say, line);
	if (ret >= 0 && front.rank < 0)
		ret = settle_rank(l, &front, say.is_step || say.is_number_alone, line, err);
	if (ret < 0)
		return ret;
	has_time = training_log_take_time(&l->timeline, &front.time, &time);
	if (!say.is_step && strace_is_call(text, len))
		note(l, NOTE_CALLS, line);
	/* a rate is that of the steps before it, or of the next ones; in a block it is the block's */
	if (say.is_duration_alone && l->above.is_held && !is_end &&
	    (!say.is_rate || l->above.is_number_alone) && l->above.line.rank == front.rank)
		return take_below(l, sink, &say, err);
	if (!say.is_step && say.is_number_alone)
		return take_step(l, sink, &say, &front, has_time, time, line, err);
	if (!say.is_step)
		return take_other(l, sink, &front, has_time, time, line, err);
	if (is_end && say.duration_end >= l->plain.length) {
		l->is_cut = true;
		l->cut_line = line;
		return TL_OK;
	}
	return take_step(l, sink, &say, &front, has_time, time, line, err);
}

/* A piece as it stands, or what the object holds that it is wrapped into. */
static int unwrap_piece(struct log *l, struct tl_sink *sink, const char *text, size_t len,
			uint64_t line, bool is_end, struct tl_error *err)
{
	int ret = training_log_unwrap(&l->wrapping, text, len, &l->unwrapped, err);

	if (ret <= 0)
		return ret < 0 ? ret : read_piece(l, sink, text, len, line, is_end, err);
	for (size_t at = 0, end; at < l->unwrapped.length && ret >= 0; at = end + 1) {
		const char *piece = l->unwrapped.data + at;

		for (end = at;
		     end < l->unwrapped.length && !memchr("\n\r\b", l->unwrapped.data[end], 3);
		     end++)
			;
		/* the object is whole: nothing in it is cut */
		ret = read_piece(l, sink, piece, end - at, line, false, err);
	}
	return ret < 0 ? ret : TL_OK;
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
			ret = l->carry.failed
				      ? no_memory(err)
				      : unwrap_piece(l, sink, l->carry.data, l->carry.length,
						     line->number, false, err);
		} else if (!l->is_carry_long && i > start) {
			ret = unwrap_piece(l, sink, line->text + start, i - start, line->number,
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
		ret = unwrap_piece(l, sink, l->carry.data, l->carry.length, line->number,
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

/* Totals are times, too, where lines have no others. */
static int emit_clock(struct log *l, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	if (l->timeline.clock || !l->rows.elapsed.is_time)
		return training_log_emit_clock(&l->timeline, sink, err);
	ev.clock.name = "elapsed time of the log";
	ev.clock.method = TL_CLOCK_ASSUMED;
	ev.clock.residual_ns = -1;
	ev.clock.why = "times count from a beginning that is not told; file date taken for the end "
		       "of the last step";
	if (!l->timeline.modified_ns ||
	    __builtin_sub_overflow(l->timeline.modified_ns, l->rows.last_end, &ev.clock.offset_ns))
		ev.clock.offset_ns = 0;
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
	int ret = training_log_finish_trouble(&l->trouble, sink, err);

	if (ret == TL_OK)
		ret = release_above(l, sink, err);
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
		ret = step_rows_finish(&l->rows, sink, err);
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
	uint64_t before = l->rows.emitted + l->trouble.emitted;
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
	} while (l->rows.emitted + l->trouble.emitted == before);
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
	tl_text_release(&l->unwrapped);
	training_log_release_wrapping(l->wrapping);
	tl_text_release(&l->detail);
	tl_text_release(&l->json);
	training_log_release_trouble(&l->trouble);
	step_rows_release(&l->rows);
	tl_index_release(&l->processes);
	tl_text_release(&l->above.detail);
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
	l->timeline.opt = &l->opt;
	l->timeline.modified_ns = tl_input_modified_ns(in);
	return l->opt.log_pattern ? training_log_pattern_open(&l->pattern, l->opt.log_pattern, err)
				  : TL_OK;
}

/* A document or binary data; what is left may be a log. */
static bool is_log_text(const uint8_t *head, size_t len, bool *is_object)
{
	size_t control = 0, at = 0;

	while (at < len && memchr(" \t\r\n", head[at], 4))
		at++;
	if (at == len || (at + 1 < len && head[at] == '[' && memchr("{[\n\r]", head[at + 1], 5)))
		return false;
	*is_object = at + 1 < len && head[at] == '{' && head[at + 1] != '\'';
	for (at = 0; at < len; at++)
		control += head[at] < ' ' && !memchr("\t\n\r\b\f\033\a", head[at], 7);
	return control * 64 <= len;
}

struct probe {
	struct tl_text plain, ignored, unwrapped;
	struct training_log_wrapping *wrapping;
	bool is_wrapped;
	unsigned told, untold, fronts;
};

static void probe_piece(struct probe *p, const char *text, size_t len)
{
	struct training_log_front front;
	struct training_log_step step;

	if (training_log_unwrap(&p->wrapping, text, len, &p->unwrapped, NULL) > 0) {
		text = p->unwrapped.data;
		len = p->unwrapped.length;
		p->is_wrapped = true;
	}

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
	bool is_object;
	int certainty;

	if (!is_log_text(head, len, &is_object))
		return 0;
	for (size_t at = 0, end; at < len; at = end + 1) {
		for (end = at; end < len && !memchr("\n\r\b", text[end], 3); end++)
			;
		if (end > at)
			probe_piece(&p, text + at, end - at);
	}
	certainty = p.told > 2 ? 75 : p.told ? 65 : p.untold > 1 ? 55 : p.fronts ? 5 : 2;
	/* a document is none, unless its lines are objects that hold lines */
	if (is_object && !p.is_wrapped)
		certainty = 0;
	tl_text_release(&p.plain);
	tl_text_release(&p.ignored);
	tl_text_release(&p.unwrapped);
	training_log_release_wrapping(p.wrapping);
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
