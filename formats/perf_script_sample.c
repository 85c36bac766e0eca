/*
 * perf_script_sample.c - one sample at a time: its names are copied into one buffer, made into
 * frames and emitted. Remembers which events, threads and payloads were met, nothing else.
 */
#include "perf_script_sample.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX	16384u	   /* of one sample; the kernel's limit is 127 unless raised */
#define SAMPLE_TEXT_MAX (4u << 20) /* of all names in one sample */
#define EVENTS_MAX	4096u
#define NO_TEXT		SIZE_MAX

struct perf_script_frame_ref {
	struct tl_frame frame;
	size_t symbol, dso, line; /* offsets in text, or NO_TEXT */
	bool is_inlined, has_offset;
	uint64_t offset;
};

/* ---- events -------------------------------------------------------------------------------- */

/* "sched:sched_switch", not "cycles:u" */
static bool is_tracepoint_name(struct perf_span name)
{
	static const char modifiers[] = "ukhpPGHSDIWebR";
	const char *colon = memchr(name.text, ':', name.length);

	if (colon == NULL || memchr(name.text, '/', name.length))
		return false;
	for (const char *c = colon + 1; c < name.text + name.length; c++)
		if (!memchr(modifiers, *c, sizeof(modifiers) - 1))
			return true;
	return false;
}

static int emit_type(struct perf_script_builder *b, struct tl_sink *sink,
		     const struct perf_script_sample_line *line, uint32_t index,
		     struct tl_error *err)
{
	const struct perf_script_event *known = perf_script_header_find(b->header, line->event);
	const char *name = b->events.strings[index].text;
	struct tl_event ev = { .kind = TL_EVENT_TYPE };
	bool is_clock = strncmp(name, "cpu-clock", 9) == 0 || strncmp(name, "task-clock", 10) == 0;

	ev.type.index = index;
	ev.type.name = line->has_event ? name : "unknown";
	ev.type.is_tracepoint = line->has_event && is_tracepoint_name(line->event);
	if (known) {
		ev.type.type = known->type;
		ev.type.config = known->config;
		ev.type.period = known->period;
		ev.type.freq = known->freq;
		ev.type.is_tracepoint = known->type == 2; /* PERF_TYPE_TRACEPOINT */
	}
	ev.type.unit = !line->has_period ? "samples" : is_clock ? "ns" : "events";
	b->event_is_sampled[index] = known && known->freq > 0;
	return sink->emit(sink, &ev, err);
}

/* Finds the event of a sample, and tells of it when it is new. */
static int find_type(struct perf_script_builder *b, struct tl_sink *sink,
		     const struct perf_script_sample_line *line, bool *is_known,
		     struct tl_error *err)
{
	const char *name = line->has_event ? line->event.text : "";
	size_t before = b->events.count;
	int ret;

	*is_known = true;
	if (b->type < before && b->events.strings[b->type].length == line->event.length &&
	    memcmp(b->events.strings[b->type].text, name, line->event.length) == 0)
		return TL_OK;
	if (before >= EVENTS_MAX) {
		*is_known = false;
		return TL_OK;
	}
	ret = tl_intern(&b->events, name, line->event.length, &b->type, err);
	if (ret < 0 || b->events.count == before)
		return ret;
	ret = tl_grow(&b->event_is_sampled, &b->sampled_capacity, b->events.count, err);
	return ret < 0 ? ret : emit_type(b, sink, line, b->type, err);
}

/* ---- building ------------------------------------------------------------------------------ */

/* A NUL, which only a damaged text has, becomes "?". */
static size_t keep_text(struct perf_script_builder *b, struct perf_span span)
{
	size_t offset = b->text.length;
	char *nul;

	if (span.text == NULL)
		return NO_TEXT;
	tl_text_add(&b->text, span.text, span.length);
	tl_text_add(&b->text, "", 1);
	if (!b->text.failed)
		for (char *at = b->text.data + offset, *end = at + span.length;
		     (nul = memchr(at, 0, end - at)) != NULL; at = nul + 1)
			*nul = '?';
	return offset;
}

static const char *text_at(const struct perf_script_builder *b, size_t offset)
{
	return offset == NO_TEXT ? NULL : b->text.data + offset;
}

int perf_script_sample_begin(struct perf_script_builder *b, struct tl_sink *sink,
			     const struct perf_script_sample_line *line, bool *is_known,
			     struct tl_error *err)
{
	int ret = find_type(b, sink, line, is_known, err);

	if (ret < 0 || !*is_known)
		return ret;
	b->is_active = true;
	b->has_callchain = false;
	b->line = *line;
	b->frame_count = 0;
	b->text.length = 0;
	b->trace = NO_TEXT;
	b->comm = keep_text(b, line->comm);
	return TL_OK;
}

void perf_script_sample_trace(struct perf_script_builder *b, struct perf_span text)
{
	b->trace = keep_text(b, text);
	b->trace_length = text.length;
}

/* The binary is mostly that of the frame before. */
static size_t keep_dso(struct perf_script_builder *b, struct perf_span dso)
{
	if (dso.text && b->frame_count && !b->text.failed) {
		size_t offset = b->refs[b->frame_count - 1].dso;
		const char *before = text_at(b, offset);

		if (before && perf_span_is(dso, before))
			return offset;
	}
	return keep_text(b, dso);
}

int perf_script_sample_frame(struct perf_script_builder *b,
			     const struct perf_script_frame_line *line, bool *is_kept,
			     struct tl_error *err)
{
	struct perf_script_frame_ref *ref;
	enum tl_context inner = TL_CONTEXT_UNKNOWN;

	*is_kept = b->frame_count < FRAMES_MAX && b->text.length <= SAMPLE_TEXT_MAX;
	if (!*is_kept)
		return TL_OK;
	int ret = tl_grow(&b->refs, &b->ref_capacity, b->frame_count + 1, err);
	if (ret < 0)
		return ret;
	if (b->frame_count)
		inner = b->refs[b->frame_count - 1].frame.context;
	size_t dso = keep_dso(b, line->dso);
	ref = &b->refs[b->frame_count++];
	*ref = (struct perf_script_frame_ref) {
		.frame = { .ip = line->address, .context = perf_script_context(line, inner) },
		.symbol = keep_text(b, line->symbol),
		.dso = dso,
		.line = NO_TEXT,
		.is_inlined = line->is_inlined,
		.has_offset = line->has_offset,
		.offset = line->offset
	};
	return TL_OK;
}

void perf_script_sample_source_line(struct perf_script_builder *b, struct perf_span text)
{
	static const char inlined[] = " (inlined)";
	struct perf_script_frame_ref *ref = &b->refs[b->frame_count - 1];
	size_t tail = sizeof(inlined) - 1;

	if (text.length > tail && memcmp(text.text + text.length - tail, inlined, tail) == 0) {
		ref->is_inlined = true;
		text.length -= tail;
	}
	/* "libc.so.6[109840]" is what perf says when it knows no line */
	if (text.text[text.length - 1] != ']' && memchr(text.text, ':', text.length) &&
	    text.text[0] != '?')
		ref->line = keep_text(b, text);
}

/* ---- emitting ------------------------------------------------------------------------------ */

int perf_script_sample_comm(struct perf_script_builder *b, int32_t tid, const char *comm,
			    bool *is_new, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint32_t)tid, 1), name = tl_hash(comm, strlen(comm), 0);
	struct perf_script_thread *thread = NULL;
	size_t probe = 0;
	int64_t i;
	int ret;

	while (thread == NULL && (i = tl_index_find(&b->thread_index, hash, &probe)) >= 0)
		if (b->threads[i].tid == tid)
			thread = &b->threads[i];
	*is_new = thread == NULL || thread->comm_hash != name;
	if (thread == NULL) {
		ret = tl_grow(&b->threads, &b->thread_capacity, b->thread_count + 1, err);
		if (ret == TL_OK)
			ret = tl_index_add(&b->thread_index, hash, b->thread_count, err);
		if (ret < 0)
			return ret;
		thread = &b->threads[b->thread_count++];
		thread->tid = tid;
	}
	thread->comm_hash = name;
	return TL_OK;
}

/* A thread has another name than when it was last seen. ":12" is perf's word for no name. */
static int emit_comm(struct perf_script_builder *b, struct tl_sink *sink, struct tl_error *err)
{
	const struct perf_script_sample_line *line = &b->line;
	const char *comm = text_at(b, b->comm);
	struct tl_event ev = { .kind = TL_EVENT_COMM, .has_ts = line->has_ts, .ts = line->ts };
	bool is_new = false;

	if (line->tid < 0 || (comm[0] == ':' && strtol(comm + 1, NULL, 10) == line->tid))
		return TL_OK;
	int ret = perf_script_sample_comm(b, line->tid, comm, &is_new, err);
	if (ret < 0 || !is_new)
		return ret;
	ev.comm.task = (struct tl_task) { line->pid, line->tid };
	ev.comm.name = comm;
	return sink->emit(sink, &ev, err);
}

/* Frames and texts as events want them; an inlined frame is in the binary of the next outer one. */
static int make_frames(struct perf_script_builder *b, struct tl_error *err)
{
	size_t count = b->frame_count;
	int ret = tl_grow(&b->frames, &b->frame_capacity, count, err);

	if (ret == TL_OK)
		ret = tl_grow(&b->texts, &b->text_capacity, count, err);
	if (ret < 0)
		return ret;
	for (size_t i = count; i-- > 0;) {
		struct perf_script_frame_ref *ref = &b->refs[i];

		if (ref->is_inlined && i + 1 < count) {
			ref->dso = b->refs[i + 1].dso;
			ref->frame.context = b->refs[i + 1].frame.context;
		}
		b->frames[i] = ref->frame;
		b->texts[i] = (struct tl_frame_text) { .symbol = text_at(b, ref->symbol),
						       .dso = text_at(b, ref->dso),
						       .source_line = text_at(b, ref->line),
						       .is_inlined = ref->is_inlined,
						       .has_symbol_offset = ref->has_offset,
						       .symbol_offset = ref->offset };
	}
	return TL_OK;
}

static int make_payload(struct perf_script_builder *b, struct perf_span trace,
			struct tl_payload *payload, struct tl_error *err)
{
	int ret = perf_dictionary_find(&b->payloads, b->type, (const uint8_t *)trace.text,
				       trace.length, &payload->key, err);

	if (ret <= 0)
		return ret;
	if (!perf_script_call_json(b->events.strings[b->type].text, trace, &b->scratch))
		perf_script_trace_json(trace, &b->scratch);
	if (b->scratch.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	payload->json = b->scratch.data;
	payload->json_length = b->scratch.length;
	return TL_OK;
}

/* "sched:sched_switch", whatever modifiers follow */
static bool is_event(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return strncmp(name, wanted, len) == 0 && (name[len] == '\0' || name[len] == ':');
}

static bool read_switch(const struct perf_script_builder *b, struct perf_span trace,
			bool is_sampled, struct tl_event *ev)
{
	const struct perf_script_sample_line *line = &b->line;
	enum tl_switch_state state;
	int32_t prev, next;

	if (!perf_script_switch(trace, &prev, &state, &next))
		return false;
	ev->kind = TL_EVENT_SWITCH;
	ev->sched_switch =
		(struct tl_event_switch) { .cpu = line->cpu,
					   .has_prev = true,
					   .has_next = true,
					   .prev = { prev == line->tid ? line->pid : TL_ID_NONE,
						     prev },
					   .next = { TL_ID_NONE, next },
					   .prev_state = state,
					   .is_sampled = is_sampled,
					   .has_sample = true };
	return true;
}

/* What a scheduler's tracepoint says, if the sample is one. */
static bool read_scheduler(const struct perf_script_builder *b, struct perf_span trace,
			   struct tl_event *ev)
{
	const struct perf_script_sample_line *line = &b->line;
	const char *name = b->events.strings[b->type].text;
	bool is_sampled = b->event_is_sampled[b->type] || (line->has_period && line->period > 1);
	bool is_waking = is_event(name, "sched:sched_waking");
	int32_t wakee, target;

	*ev = (struct tl_event) { .has_ts = line->has_ts, .ts = line->ts };
	if (is_event(name, "sched:sched_switch"))
		return read_switch(b, trace, is_sampled, ev);
	if (!is_waking && !is_event(name, "sched:sched_wakeup") &&
	    !is_event(name, "sched:sched_wakeup_new"))
		return false;
	if (!perf_script_wakeup(trace, &wakee, &target))
		return false;
	ev->kind = TL_EVENT_WAKEUP;
	ev->wakeup = (struct tl_event_wakeup) { .cpu = line->cpu,
						.target_cpu = target,
						.waker = { line->pid, line->tid },
						.wakee_tid = wakee,
						.is_sampled = is_sampled,
						.is_waking = is_waking,
						.has_sample = true };
	return true;
}

static void fill_sample(const struct perf_script_builder *b, struct tl_event *ev)
{
	const struct perf_script_sample_line *line = &b->line;
	struct tl_event_sample *sample = &ev->sample;

	*ev = (struct tl_event) { .kind = TL_EVENT_SAMPLE, .has_ts = line->has_ts, .ts = line->ts };
	*sample = (struct tl_event_sample) { .type_index = b->type,
					     .task = { line->pid, line->tid },
					     .real_tid = TL_ID_NONE,
					     .cpu = line->cpu,
					     .period = line->has_period ? line->period : 1,
					     .frame_count = b->frame_count,
					     .has_callchain = b->has_callchain,
					     .comm = text_at(b, b->comm) };
	if (b->frame_count) {
		sample->frames = b->frames;
		sample->texts = b->texts;
		sample->has_ip = b->frames[0].ip != 0;
		sample->ip = b->frames[0].ip;
		sample->context = b->frames[0].context;
	}
}

static int emit_sample(struct perf_script_builder *b, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_payload payload = { 0 };
	struct tl_event ev, extra;
	bool has_extra = false;
	int ret = TL_OK;

	fill_sample(b, &ev);
	if (b->trace != NO_TEXT) {
		struct perf_span trace = { text_at(b, b->trace), b->trace_length };

		has_extra = read_scheduler(b, trace, &extra);
		if (has_extra && extra.kind == TL_EVENT_SWITCH && b->line.tid == -1)
			ev.sample.real_tid = extra.sched_switch.prev.tid;
		if (b->want & TL_WANT_PAYLOADS) {
			ret = make_payload(b, trace, &payload, err);
			ev.sample.payload = &payload;
		}
	}
	if (ret == TL_OK)
		ret = sink->emit(sink, &ev, err);
	if (ret == TL_OK && has_extra)
		ret = sink->emit(sink, &extra, err);
	return ret;
}

int perf_script_sample_finish(struct perf_script_builder *b, struct tl_sink *sink,
			      struct tl_error *err)
{
	int ret;

	if (!b->is_active)
		return 0;
	b->is_active = false;
	if (b->text.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ret = make_frames(b, err);
	if (ret == TL_OK)
		ret = emit_comm(b, sink, err);
	if (ret == TL_OK)
		ret = emit_sample(b, sink, err);
	return ret < 0 ? ret : 1;
}

void perf_script_sample_release(struct perf_script_builder *b)
{
	tl_text_release(&b->text);
	tl_text_release(&b->scratch);
	free(b->refs);
	free(b->frames);
	free(b->texts);
	tl_interner_release(&b->events);
	free(b->event_is_sampled);
	free(b->threads);
	tl_index_release(&b->thread_index);
	perf_dictionary_release(&b->payloads);
}
