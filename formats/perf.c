/*
 * perf.c - the importer of perf.data: files, pipes and directories, walked twice.
 *
 * The first pass emits who lived when and what was mapped where, the second the samples: names for
 * addresses may stand anywhere in a recording, even at its end. What records mean is known to
 * perf_sideband.c, perf_sample.c and perf_switch.c.
 */
#include "perf_import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames of one sample, and those that were deferred: two records of addresses. */
#define FRAME_COUNT_MAX	 (2 * (UINT16_MAX + 1) / 8)
#define PROGRESS_RECORDS 65536u

static void perf_close(void *state)
{
	struct perf_import *p = state;

	if (!p)
		return;
	perf_stream_release(&p->stream);
	tl_input_close(p->member);
	if (p->main != p->in)
		tl_input_close(p->main);
	perf_tracepoints_close(p->tracepoints);
	perf_events_release(&p->events);
	perf_facts_release(&p->facts);
	perf_deferred_release(&p->deferred);
	perf_counters_release(&p->counters);
	perf_hearsay_release(&p->hearsay);
	free(p->tally.items);
	free(p->uses);
	free(p->frames);
	free(p);
}

static int perf_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		     struct tl_error *err)
{
	struct perf_import *p = tl_alloc(1, sizeof(*p), err);
	int ret = TL_NOMEM;

	*state = p;
	if (!p)
		return ret;
	p->in = p->main = in;
	if (opt)
		p->opt = *opt;
	if (!p->opt.want)
		p->opt.want = TL_WANT_ALL;
	p->frames = malloc(FRAME_COUNT_MAX * sizeof(*p->frames));
	if (!p->frames)
		return tl_fail(err, TL_NOMEM, "out of memory");
	if (tl_input_is_directory(in)) {
		p->main = NULL;
		ret = tl_input_open_beside(&p->main, in, "data", err);
		if (ret < 0)
			return ret;
	}
	return perf_header_read(&p->header, &p->events, p->main, err);
}

/* ---- members: the file with the header, then data.0, data.1, ... of a directory ---- */

static void start_member(struct perf_import *p, struct tl_input *in, struct perf_section data,
			 uint64_t size)
{
	perf_stream_release(&p->stream);
	perf_stream_init(&p->stream, in, data, size, p->header.is_pipe, p->header.is_big_endian);
}

static void start_pass(struct perf_import *p, enum perf_phase phase)
{
	tl_input_close(p->member);
	p->member = NULL;
	p->member_number = 0;
	p->member_name[0] = '\0';
	p->phase = phase;
	p->record_count = 0;
	p->sample_count = 0;
	start_member(p, p->main, p->header.data, p->header.file_size);
}

/* 1: there is another one, 0: there is none. */
static int next_member(struct perf_import *p, struct tl_error *err)
{
	struct tl_error refusal = { 0 };
	const struct perf_section whole = { 0, 0 };
	struct tl_input *in;
	uint64_t size;
	int ret;

	if (!p->facts.has_dir_format)
		return 0;
	snprintf(p->member_name, sizeof(p->member_name), "data.%u", p->member_number);
	ret = tl_input_open_beside(&in, p->main, p->member_name, &refusal);
	if (ret < 0) {
		if (strstr(refusal.text, strerror(ENOENT)))
			return 0;
		*err = refusal;
		return ret;
	}
	tl_input_close(p->member);
	p->member = in;
	p->member_number++;
	ret = tl_input_size(in, &size, err);
	if (ret < 0)
		return ret;
	start_member(p, in, whole, size);
	return 1;
}

/* ---- first pass ---- */

static int note_sample(struct perf_import *p, const struct perf_raw *raw, struct tl_error *err)
{
	int position = p->events.time_position;
	uint64_t ns;
	bool is_unknown;

	p->sample_count++;
	if (!p->events.count)
		return TL_OK;
	if (p->events.is_ambiguous)
		return perf_events_check(&p->events, err);
	if (position == PERF_POSITION_DIFFERS)
		position = p->events.list[perf_events_of_sample(&p->events, raw, &is_unknown)]
				   .time_position;
	if (position < 0 || raw->body_size < (size_t)position + 8)
		return TL_OK;
	ns = perf_load_u64(raw->body + position, raw->is_big_endian);
	if (perf_is_time(ns))
		perf_note_time(p, ns);
	return TL_OK;
}

static int report_progress(struct perf_import *p, struct tl_error *err)
{
	if (p->opt.progress &&
	    p->opt.progress(tl_input_fraction(p->main), p->record_count, p->opt.progress_payload))
		return tl_fail(err, TL_STOPPED, "stopped");
	return TL_OK;
}

/* The end of a member: whatever is wrong there is said in the second pass, which comes by again. */
static int end_of_first_pass_member(struct perf_import *p, int next, struct tl_error *err)
{
	if (next != PERF_NEXT_END) {
		if (p->damage.status == TL_OK)
			p->damage = *err;
		tl_error_clear(err);
	}
	return next_member(p, err);
}

/* The next record that is not a sample. TL_READ_END after the last member. */
static int read_sideband(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	struct perf_raw raw;
	int ret;

	for (;;) {
		ret = perf_stream_next(&p->stream, &raw, err);
		if (ret < 0)
			return ret;
		if (ret != PERF_NEXT_RECORD) {
			ret = end_of_first_pass_member(p, ret, err);
			if (ret <= 0)
				return ret < 0 ? ret : TL_READ_END;
			continue;
		}
		p->record_count++;
		if (raw.type != PERF_RECORD_SAMPLE)
			return perf_sideband_record(p, &raw, sink, err);
		ret = note_sample(p, &raw, err);
		if (ret == TL_OK && p->record_count % PROGRESS_RECORDS == 0)
			ret = report_progress(p, err);
		if (ret < 0)
			return ret;
	}
}

static int tell_killed(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	char message[200];

	snprintf(message, sizeof(message),
		 "the recorder was killed before it finished the file, or still writes it: all "
		 "%" PRIu64 " records there were read, but host, names and clock are not in it",
		 p->record_count);
	return perf_tell(sink, TL_DIAGNOSTIC_TRUNCATED, "recorder killed", 1, "files", UINT64_MAX,
			 message, err);
}

/* Things to say of the whole file when its records are known. */
static int end_sideband(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	const struct perf_header *h = &p->header;
	int ret = TL_OK;

	if (!p->record_count && p->damage.status != TL_OK) {
		*err = p->damage;
		return p->damage.status;
	}
	if (!h->is_pipe && !h->data.size)
		ret = tell_killed(p, sink, err);
	else if (h->feature_count < h->features_expected)
		ret = perf_tell(sink, TL_DIAGNOSTIC_TRUNCATED, "header features",
				h->features_expected - h->feature_count, "features",
				h->data.offset + h->data.size,
				"the file ends before its table of features: host, names and clock "
				"are not known",
				err);
	if (ret == TL_OK && p->facts.has_dir_format && !p->member_number && !p->sample_count)
		ret = perf_tell(sink, TL_DIAGNOSTIC_TRUNCATED, "files of a directory recording", 1,
				"files", UINT64_MAX,
				"no data.0 beside this file: it was part of a directory, and the "
				"samples are in the other files",
				err);
	return ret < 0 ? ret : perf_facts_emit(p, sink, err);
}

/* ---- second pass ---- */

static int tell_end(struct perf_import *p, int next, const struct tl_error *damage,
		    struct tl_sink *sink, struct tl_error *err)
{
	enum tl_diagnostic_kind kind =
		next == PERF_NEXT_TRUNCATED ? TL_DIAGNOSTIC_TRUNCATED : TL_DIAGNOSTIC_DAMAGED;
	const char *what = next == PERF_NEXT_TRUNCATED ? "end of the data"
			   : next == PERF_NEXT_TEXT    ? "text behind the records"
						       : "record that cannot be passed";
	char message[sizeof(damage->text) + 100];

	snprintf(message, sizeof(message), "%s%s%s; %" PRIu64 " samples before it were kept",
		 p->member ? p->member_name : "", p->member ? ": " : "", damage->text,
		 p->sample_count);
	return perf_tell(sink, kind, what, 1, "places",
			 damage->position_kind == TL_POSITION_BYTE ? damage->position : UINT64_MAX,
			 message, err);
}

static int end_of_second_pass_member(struct perf_import *p, int next, struct tl_sink *sink,
				     struct tl_error *err)
{
	if (next != PERF_NEXT_END) {
		struct tl_error damage = *err;
		int ret;

		tl_error_clear(err);
		ret = tell_end(p, next, &damage, sink, err);
		if (ret < 0)
			return ret;
	}
	return next_member(p, err);
}

static int second_pass_record(struct perf_import *p, const struct perf_raw *raw,
			      struct tl_sink *sink, struct tl_error *err)
{
	switch (raw->type) {
	case PERF_RECORD_SAMPLE:
		return perf_sample_record(p, raw, sink, err);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return perf_switch_record(p, raw, sink, err);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return perf_gap_record(p, raw, sink, err);
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		return perf_deferred_record(p, raw, sink, err);
	}
	return TL_READ_MORE; /* the first pass had it */
}

/* The next sample. Others were counted by the first pass. TL_READ_END after the last member. */
static int read_sample(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	struct perf_raw raw;
	int ret;

	for (;;) {
		ret = perf_stream_next(&p->stream, &raw, err);
		if (ret < 0)
			return ret;
		if (ret != PERF_NEXT_RECORD) {
			ret = end_of_second_pass_member(p, ret, sink, err);
			if (ret <= 0)
				return ret < 0 ? ret : TL_READ_END;
			continue;
		}
		ret = second_pass_record(p, &raw, sink, err);
		if (ret != TL_READ_MORE || raw.type == PERF_RECORD_SAMPLE)
			return ret;
	}
}

static int end_samples(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	int ret = perf_deferred_flush(p, sink, err);

	if (ret == TL_OK)
		ret = perf_tally_emit(p, sink, err);
	p->phase = PERF_PHASE_DONE;
	return ret < 0 ? ret : TL_READ_END;
}

static int perf_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct perf_import *p = state;
	int ret;

	for (;;) {
		switch (p->phase) {
		case PERF_PHASE_FEATURES:
			ret = perf_facts_read(p, sink, err);
			if (ret < 0)
				return ret;
			start_pass(p, PERF_PHASE_SIDEBAND);
			break;
		case PERF_PHASE_SIDEBAND:
			ret = read_sideband(p, sink, err);
			if (ret != TL_READ_END)
				return ret;
			ret = end_sideband(p, sink, err);
			if (ret < 0)
				return ret;
			start_pass(p, PERF_PHASE_SAMPLES);
			break;
		case PERF_PHASE_SAMPLES:
			ret = read_sample(p, sink, err);
			return ret == TL_READ_END ? end_samples(p, sink, err) : ret;
		case PERF_PHASE_DONE:
			return TL_READ_END;
		}
	}
}

const struct tl_importer perf_importer = {
	.name = "perf",
	.summary = "perf.data of perf record or simpleperf: file, pipe or directory",
	.probe = perf_header_probe,
	.open = perf_open,
	.read = perf_read,
	.close = perf_close,
};
