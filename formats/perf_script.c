/*
 * perf_script.c - the importer of `perf script` text: walks the lines, puts samples together and
 * emits them. What a line says is read by perf_script_line.c and its siblings.
 *
 * Streams: one sample is kept at a time, and one name for each thread and event met. Lines that
 * make no sense are counted by kind and told at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "perf_script_sample.h"
#include "reader.h"

#define TRACE_TEXT_MAX (64u << 10) /* of one payload */
#define HOPELESS_LINES 1000u	   /* without a single sample: not perf script text */

enum bad_kind {
	BAD_LINE,
	BAD_ORPHAN,
	BAD_RECORD,
	BAD_LONG,
	BAD_DEEP,
	BAD_TRACE,
	BAD_EVENTS,
	BAD_KINDS
};

static const struct {
	enum tl_diagnostic_kind kind;
	const char *what, *unit;
} bad_kinds[BAD_KINDS] = {
	[BAD_LINE] = { TL_DIAGNOSTIC_DAMAGED, "line that is no sample, frame or record", "lines" },
	[BAD_ORPHAN] = { TL_DIAGNOSTIC_DAMAGED, "frame without a sample", "lines" },
	[BAD_RECORD] = { TL_DIAGNOSTIC_UNSUPPORTED, "PERF_RECORD line of another kind", "lines" },
	[BAD_LONG] = { TL_DIAGNOSTIC_DAMAGED, "line longer than 1 MiB", "lines" },
	[BAD_DEEP] = { TL_DIAGNOSTIC_DAMAGED, "frame beyond 16384 of a sample or 4 MiB of names",
		       "lines" },
	[BAD_TRACE] = { TL_DIAGNOSTIC_SKIPPED, "tracepoint text longer than 64 KiB", "lines" },
	[BAD_EVENTS] = { TL_DIAGNOSTIC_DAMAGED, "sample of more than 4096 different events",
			 "samples" },
};

struct script {
	struct tl_input *in;
	struct perf_script_columns columns;
	struct perf_script_header header;
	struct perf_script_builder sample;
	bool has_begun, has_frames, has_dsos;
	bool is_cut; /* the last sample's end is missing */
	uint64_t cut_line;
	bool has_last_ts;
	int64_t last_ts;
	int64_t begun_residual_ns; /* of the clock, as told before the samples */
	struct tl_text scratch;
	uint64_t samples, records;
	uint64_t lost, lost_samples; /* the same losses, told by two kinds of record */
	struct {
		uint64_t count, first;
	} bad[BAD_KINDS];
	uint64_t hopeless;
	char first_bad[96]; /* printable, for the refusal */
};

static void note_bad(struct script *s, enum bad_kind kind, uint64_t line)
{
	if (s->bad[kind].count++ == 0)
		s->bad[kind].first = line;
}

/* A line that makes no sense, unless it is the last and was not finished. */
static void note_line(struct script *s, enum bad_kind kind, const struct tl_line *line)
{
	if (!line->has_newline && s->samples)
		s->cut_line = line->number;
	else
		note_bad(s, kind, line->number);
}

/*
 * The header is one look at both clocks. Nobody steers CLOCK_MONOTONIC_RAW: until the last line it went off
 * by as much as crystals and NTP make.
 */
static int64_t reference_residual(const struct script *s)
{
	const int64_t resolution_ns = 1000; /* printed in us */
	const uint64_t drift_part = 10000;  /* 100 ppm */
	const struct perf_script_header *h = &s->header;

	if (strcmp(h->clock_name, "monotonic_raw") != 0 || !s->has_last_ts ||
	    s->last_ts <= h->reference_ns)
		return resolution_ns;
	return resolution_ns +
	       (int64_t)(((uint64_t)s->last_ts - (uint64_t)h->reference_ns) / drift_part);
}

static int emit_reference(const struct script *s, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	ev.clock = (struct tl_event_clock) { .name = s->header.clock_name,
					     .method = TL_CLOCK_EXACT,
					     .offset_ns = s->header.offset_ns,
					     .residual_ns = reference_residual(s),
					     .why = "reference time of the header" };
	return sink->emit(sink, &ev, err);
}

/* Facts of the header are out; samples follow. Threads come among them. */
static int begin(struct script *s, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_SIDEBAND_END };
	int ret = TL_OK;

	if (s->has_begun)
		return TL_OK;
	s->has_begun = true;
	s->begun_residual_ns = reference_residual(s);
	if (s->header.has_reference)
		ret = emit_reference(s, sink, err);
	return ret < 0 ? ret : sink->emit(sink, &ev, err);
}

/* ---- lines --------------------------------------------------------------------------------- */

/*
 * What some fields of perf script put on lines of their own: instruction bytes ("insn: 48 89 e5",
 * "ilen: 3") and the list of a NAMESPACES record ("[0/net: 4/0xf0000098, 1/uts: ...").
 */
static bool is_other_field(const struct tl_line *line)
{
	const char *at = line->text, *end = line->text + line->length;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	if (end - at > 5 && (!memcmp(at, "insn:", 5) || !memcmp(at, "ilen:", 5)))
		return true;
	return end - at > 3 && at[0] == '[' && at[1] >= '0' && at[1] <= '9' && at[2] == '/' &&
	       memchr(at, ':', (size_t)(end - at));
}

/* Lines that are no first line of a sample: mostly, they begin with a blank. */
static int read_indented(struct script *s, const struct tl_line *line, struct tl_error *err)
{
	struct perf_script_builder *b = &s->sample;
	struct perf_script_frame_line frame;
	bool is_frame = perf_script_frame_line(line->text, line->length, &frame), is_kept;
	bool is_source = b->is_active && b->frame_count && line->length > 3 &&
			 memcmp(line->text, "  ", 2) == 0 && line->text[2] != ' ';

	if (is_source && !(is_frame && frame.has_address)) {
		perf_script_sample_source_line(
			b, (struct perf_span) { line->text + 2, line->length - 2 });
		return TL_OK;
	}
	if (!(is_frame && frame.has_address) && is_other_field(line))
		return TL_OK;
	if (!is_frame || !b->is_active) {
		note_line(s, is_frame && frame.has_address ? BAD_ORPHAN : BAD_LINE, line);
		return TL_OK;
	}
	if (!line->has_newline && s->has_dsos && !frame.has_dso_text) {
		s->is_cut = true;
		s->cut_line = line->number;
		return TL_OK;
	}
	/* an address on the first line of a sample that has a chain is that of data (-F addr) */
	if (!b->has_callchain)
		b->frame_count = 0;
	b->has_callchain = true;
	s->has_frames = true;
	s->has_dsos |= frame.has_dso_text;
	int ret = perf_script_sample_frame(b, &frame, &is_kept, err);
	if (ret == TL_OK && !is_kept)
		note_bad(s, BAD_DEEP, line->number);
	return ret;
}

/* What stands behind the event: nothing, an address without call chain, or a tracepoint's text. */
static int read_rest(struct script *s, const struct tl_line *text,
		     const struct perf_script_sample_line *line, struct tl_error *err)
{
	struct perf_script_frame_line frame;
	bool is_kept;

	if (line->rest.length == 0) {
		if (!text->has_newline && s->has_frames) { /* its frames are missing */
			s->is_cut = true;
			s->cut_line = text->number;
		}
		return TL_OK;
	}
	if (perf_script_single_frame(line->rest.text - line->rest_blanks,
				     line->rest.length + line->rest_blanks, &frame))
		return perf_script_sample_frame(&s->sample, &frame, &is_kept, err);
	if (line->rest.length > TRACE_TEXT_MAX)
		note_bad(s, BAD_TRACE, text->number);
	else
		perf_script_sample_trace(&s->sample, line->rest);
	return TL_OK;
}

static int start_sample(struct script *s, struct tl_sink *sink, const struct tl_line *text,
			const struct perf_script_sample_line *line, struct tl_error *err)
{
	bool is_known = true;
	int ret = begin(s, sink, err);

	if (ret == TL_OK)
		ret = perf_script_sample_begin(&s->sample, sink, line, &is_known, err);
	if (ret < 0)
		return ret;
	if (!is_known) {
		note_bad(s, BAD_EVENTS, text->number);
		return TL_OK;
	}
	if (line->has_ts) {
		s->has_last_ts = true;
		s->last_ts = line->ts;
	}
	return read_rest(s, text, line, err);
}

static int finish_sample(struct script *s, struct tl_sink *sink, struct tl_error *err)
{
	int ret = perf_script_sample_finish(&s->sample, sink, err);

	s->samples += ret > 0;
	return ret < 0 ? ret : TL_OK;
}

static int read_record(struct script *s, struct tl_sink *sink, uint64_t number,
		       const struct perf_script_sample_line *line, struct tl_error *err)
{
	struct tl_event ev;
	bool is_new;
	int ret = begin(s, sink, err);

	if (ret < 0)
		return ret;
	s->records++;
	if (!perf_script_record(line, &s->scratch, &ev)) {
		note_bad(s, BAD_RECORD, number);
		return TL_OK;
	}
	if (s->scratch.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	if (ev.kind == TL_EVENT_GAP)
		*(ev.gap.kind == TL_GAP_LOST ? &s->lost : &s->lost_samples) += ev.gap.count;
	if (ev.kind == TL_EVENT_COMM)
		ret = perf_script_sample_comm(&s->sample, ev.comm.task.tid, ev.comm.name, &is_new,
					      err);
	return ret < 0 ? ret : sink->emit(sink, &ev, err);
}

static int read_comment(struct script *s, struct tl_sink *sink, const struct tl_line *line,
			struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META };
	bool has_meta;
	int ret;

	if (s->has_begun)
		return TL_OK;
	ret = perf_script_header_line(&s->header, line->text, line->length, &s->scratch, &ev.meta,
				      &has_meta, err);
	return ret == TL_OK && has_meta ? sink->emit(sink, &ev, err) : ret;
}

static int refuse(struct script *s, struct tl_error *err)
{
	if (s->bad[BAD_LINE].count == 0 && s->bad[BAD_ORPHAN].count == 0)
		return tl_fail(err, TL_FORMAT, "no line of perf script text");
	return tl_fail_line(
		err, TL_FORMAT,
		s->bad[BAD_LINE].count ? s->bad[BAD_LINE].first : s->bad[BAD_ORPHAN].first,
		"\"%s\" is no perf script text: expected \"comm pid time: event:\"", s->first_bad);
}

static int note_hopeless(struct script *s, const struct tl_line *line, struct tl_error *err)
{
	if (s->samples || s->records || s->sample.is_active || s->header.was_seen)
		return TL_OK;
	if (s->hopeless++ == 0)
		tl_printable(s->first_bad, sizeof(s->first_bad), line->text,
			     line->length < 60 ? line->length : 60);
	return s->hopeless < HOPELESS_LINES ? TL_OK : refuse(s, err);
}

/* A line that does not begin with a tab. */
static int read_first_line(struct script *s, struct tl_sink *sink, const struct tl_line *line,
			   struct tl_error *err)
{
	struct perf_script_sample_line sample;
	bool is_comment = line->text[0] == '#';
	int ret;

	if (is_comment && !s->has_begun && (line->length == 1 || line->text[1] == ' '))
		return read_comment(s, sink, line, err);
	if (perf_script_sample_line(&s->columns, line->text, line->length, &sample)) {
		ret = finish_sample(s, sink, err);
		if (ret < 0)
			return ret;
		return sample.is_record ? read_record(s, sink, line->number, &sample, err)
					: start_sample(s, sink, line, &sample, err);
	}
	if (is_comment)
		return TL_OK;
	if (line->text[0] == ' ' || s->sample.is_active)
		return read_indented(s, line, err);
	note_line(s, BAD_LINE, line);
	return TL_OK;
}

static int read_line(struct script *s, struct tl_sink *sink, const struct tl_line *line,
		     struct tl_error *err)
{
	uint64_t bad = s->bad[BAD_LINE].count + s->bad[BAD_ORPHAN].count;
	int ret;

	if (line->length == 0)
		ret = finish_sample(s, sink, err);
	else if (line->text[0] == '\t')
		ret = read_indented(s, line, err);
	else
		ret = read_first_line(s, sink, line, err);
	if (ret == TL_OK && s->bad[BAD_LINE].count + s->bad[BAD_ORPHAN].count > bad)
		ret = note_hopeless(s, line, err);
	return ret;
}

/* ---- the end ------------------------------------------------------------------------------- */

static int emit_cut(struct script *s, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic =
		(struct tl_event_diagnostic) { .kind = TL_DIAGNOSTIC_TRUNCATED,
					       .what = s->is_cut ? "last sample, cut in the middle"
								 : "last line, cut in the middle",
					       .count = 1,
					       .unit = s->is_cut ? "samples" : "lines",
					       .position_kind = TL_POSITION_LINE,
					       .position = s->cut_line };
	return sink->emit(sink, &ev, err);
}

static int emit_count(struct tl_sink *sink, int i, uint64_t count, uint64_t line,
		      struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic = (struct tl_event_diagnostic) { .kind = bad_kinds[i].kind,
						       .what = bad_kinds[i].what,
						       .count = count,
						       .unit = bad_kinds[i].unit,
						       .position_kind = TL_POSITION_LINE,
						       .position = line };
	return sink->emit(sink, &ev, err);
}

static int emit_bad(struct script *s, struct tl_sink *sink, struct tl_error *err)
{
	int ret = TL_OK;

	for (int i = 0; i < BAD_KINDS && ret == TL_OK; i++)
		if (s->bad[i].count)
			ret = emit_count(sink, i, s->bad[i].count, s->bad[i].first, err);
	return ret;
}

/* LOST_SAMPLES tells the losses of LOST again, and more exactly. */
static int emit_lost(struct script *s, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic =
		(struct tl_event_diagnostic) { .kind = TL_DIAGNOSTIC_LOST,
					       .what = "records lost while recording",
					       .count = s->lost_samples ? s->lost_samples : s->lost,
					       .unit = s->lost_samples ? "samples" : "records" };
	return ev.diagnostic.count ? sink->emit(sink, &ev, err) : TL_OK;
}

/* The text has no Unix time: the best guess is that it was written when the recording ended. */
static int emit_clock(struct script *s, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };
	int64_t modified = tl_input_modified_ns(s->in);

	/* once more, now that it is known how long it ran */
	if (s->header.has_reference && reference_residual(s) != s->begun_residual_ns)
		return emit_reference(s, sink, err);
	if (s->header.has_reference || !s->has_last_ts || modified == 0 ||
	    __builtin_sub_overflow(modified, s->last_ts, &ev.clock.offset_ns))
		return TL_OK;
	ev.clock.method = TL_CLOCK_ASSUMED;
	ev.clock.residual_ns = -1;
	ev.clock.why = "file date taken for the last sample";
	return sink->emit(sink, &ev, err);
}

static int finish(struct script *s, struct tl_sink *sink, struct tl_error *err)
{
	int ret;

	if (s->is_cut) /* a stack without its outer frames would be another stack */
		s->sample.is_active = false;
	ret = finish_sample(s, sink, err);
	if (ret == TL_OK && !s->samples && !s->records && !s->header.was_seen && !s->is_cut)
		return refuse(s, err);
	if (ret == TL_OK)
		ret = begin(s, sink, err);
	if (ret == TL_OK && s->cut_line)
		ret = emit_cut(s, sink, err);
	if (ret == TL_OK)
		ret = emit_bad(s, sink, err);
	if (ret == TL_OK)
		ret = emit_lost(s, sink, err);
	if (ret == TL_OK)
		ret = emit_clock(s, sink, err);
	return ret < 0 ? ret : TL_READ_END;
}

/* ---- the importer -------------------------------------------------------------------------- */

static int script_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct script *s = state;
	uint64_t before = s->samples + s->records;
	struct tl_line line;
	int ret;

	do {
		ret = tl_input_line(s->in, &line, err);
		if (ret < 0)
			return ret;
		if (ret == 0)
			return finish(s, sink, err);
		if (line.is_partial) {
			note_bad(s, BAD_LONG, line.number);
			while (line.is_partial && (ret = tl_input_line(s->in, &line, err)) > 0)
				;
			ret = ret < 0 ? ret : TL_OK;
		} else {
			ret = read_line(s, sink, &line, err);
		}
		if (ret < 0)
			return ret;
	} while (s->samples + s->records == before);
	return TL_READ_MORE;
}

static void script_close(void *state)
{
	struct script *s = state;

	if (s == NULL)
		return;
	perf_script_header_release(&s->header);
	perf_script_sample_release(&s->sample);
	tl_text_release(&s->scratch);
	free(s);
}

static int script_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		       struct tl_error *err)
{
	struct script *s = tl_alloc(1, sizeof(*s), err);

	*state = s;
	if (s == NULL)
		return TL_NOMEM;
	s->in = in;
	s->sample.header = &s->header;
	s->sample.want = opt && opt->want ? opt->want : TL_WANT_ALL;
	s->columns.pid_width = 7;
	return TL_OK;
}

/* Judges lines as the importer will read them. A thread's id is asked for: ftrace text has none. */
static int script_probe(const uint8_t *head, size_t len)
{
	struct perf_script_columns columns = { 7 };
	const char *at = (const char *)head, *end = at + len;
	unsigned timed = 0, untimed = 0, frames = 0, records = 0;
	bool in_sample = false, has_header = false;

	while (at < end) {
		const char *newline = memchr(at, '\n', end - at);
		size_t size = (newline ? newline : end) - at;
		struct perf_script_sample_line sample;
		struct perf_script_frame_line frame;

		if (size && at[size - 1] == '\r')
			size--;
		if (size && *at == '\t') {
			frames += in_sample && perf_script_frame_line(at, size, &frame) &&
				  frame.has_address;
		} else if (size > 16 && memcmp(at, "# captured on", 13) == 0) {
			has_header = true;
		} else if (size && perf_script_sample_line(&columns, at, size, &sample) &&
			   sample.tid != TL_ID_NONE && sample.has_event) {
			in_sample = true;
			records += sample.is_record;
			timed += sample.has_ts && !sample.is_record;
			untimed += !sample.has_ts && !sample.is_record;
		} else if (size && in_sample) { /* tabs may have become blanks, or nothing */
			frames += perf_script_frame_line(at, size, &frame) && frame.has_address &&
				  frame.has_dso_text;
		}
		at = newline ? newline + 1 : end;
	}
	if (has_header || (timed && frames) || records > 1)
		return 90;
	if (timed > 1)
		return 80;
	return timed || records ? 60 : untimed && frames ? 70 : 0;
}

const struct tl_importer perf_script_importer = {
	.name = "perf-script",
	.summary = "text of perf script",
	.probe = script_probe,
	.open = script_open,
	.read = script_read,
	.close = script_close,
};
