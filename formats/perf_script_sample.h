/*
 * perf_script_sample.h - private to the importer of `perf script` text: puts one sample together
 * from its lines, and emits it with what it tells of events, threads, switches and wakeups.
 *
 * Knows what lines say (perf_script.h), but neither their order nor what is wrong with them.
 */
#ifndef PERF_SCRIPT_SAMPLE_H
#define PERF_SCRIPT_SAMPLE_H

#include "perf_payload.h"
#include "perf_script.h"

struct perf_script_frame_ref;

struct perf_script_builder {
	const struct perf_script_header *header;
	unsigned want; /* TL_WANT_* */
	/* the sample being put together */
	bool is_active, has_callchain;
	struct perf_script_sample_line line; /* its spans are not valid any more */
	uint32_t type;
	size_t comm, trace, trace_length; /* offsets in text */
	size_t frame_count;
	struct tl_text text; /* of names, each terminated */
	struct perf_script_frame_ref *refs;
	struct tl_frame *frames;
	struct tl_frame_text *texts;
	size_t ref_capacity, frame_capacity, text_capacity;
	/* one entry for each event, thread and payload met */
	struct tl_interner events;
	bool *event_is_sampled; /* by the header: recorded by frequency */
	size_t sampled_capacity;
	struct perf_script_thread {
		int32_t tid;
		uint64_t comm_hash;
	} * threads;
	size_t thread_count, thread_capacity;
	struct tl_index thread_index;
	struct perf_dictionary payloads;
	struct tl_text scratch;
};

/* Emits the event's type when it is new. False in *is_known, and nothing begun: too many events. */
int perf_script_sample_begin(struct perf_script_builder *b, struct tl_sink *sink,
			     const struct perf_script_sample_line *line, bool *is_known,
			     struct tl_error *err);
void perf_script_sample_trace(struct perf_script_builder *b, struct perf_span text);
/* False in *is_kept: the sample is too deep already. */
int perf_script_sample_frame(struct perf_script_builder *b,
			     const struct perf_script_frame_line *line, bool *is_kept,
			     struct tl_error *err);
/* "load.cpp:34" or "invoke.h:61 (inlined)", of the frame added last; there must be one. */
void perf_script_sample_source_line(struct perf_script_builder *b, struct perf_span text);
/* Emits the sample, if one was begun; 1 if so, 0 if not. */
int perf_script_sample_finish(struct perf_script_builder *b, struct tl_sink *sink,
			      struct tl_error *err);
/* A record named this thread: samples that say the same are no news. *is_new: it was. */
int perf_script_sample_comm(struct perf_script_builder *b, int32_t tid, const char *comm,
			    bool *is_new, struct tl_error *err);
void perf_script_sample_release(struct perf_script_builder *b);

#endif
