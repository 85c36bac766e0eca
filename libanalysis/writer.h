/*
 * writer.h - private: the state of one source on its way into a case, shared by the files that
 * write its side-band (writer_sideband.c), its samples (writer_samples.c) and, at the end, its
 * names and sums (writer_rows.c).
 */
#ifndef TL_WRITER_H
#define TL_WRITER_H

#include "calls.h"
#include "chains.h"
#include "maps.h"
#include "sample_blocks.h"
#include "store.h"
#include "symbols.h"
#include "tasks.h"
#include "unwind.h"

/* Inserts, in the order of the table in writer.c. */
enum tl_insert {
	INSERT_STRING,
	INSERT_SAMPLE,
	INSERT_SAMPLE_EXTRA,
	INSERT_PAYLOAD,
	INSERT_SWITCH,
	INSERT_WAKEUP,
	INSERT_SYSCALL,
	INSERT_SYSCALL_ZONE,
	INSERT_CALL_BLOCK,
	INSERT_CALL_STACK_SUM,
	INSERT_SLICE,
	INSERT_FLOW,
	INSERT_COUNTER,
	INSERT_CALL_SUMMARY,
	INSERT_STEP_MARK,
	INSERT_LOG,
	INSERT_CLOCK_ANCHOR,
	INSERT_GAP,
	INSERT_PROCESS,
	INSERT_THREAD,
	INSERT_THREAD_NAME,
	INSERT_THREAD_LIFE,
	INSERT_CGROUP,
	INSERT_SYMBOL,
	INSERT_FRAME,
	INSERT_FRAME_INLINE,
	INSERT_STACK,
	INSERT_STACK_SUM,
	INSERT_SAMPLE_BLOCK,
	INSERT_COUNT
};

struct tl_writer_dso {
	struct tl_dso_description description; /* its strings belong to the arena */
	uint32_t name;			       /* interned, as perf prints it */
	const char *status;		       /* NULL: ask symbols */
	struct tl_symbols_dso *symbols;	       /* NULL: nothing to look up in */
	bool is_used;			       /* a frame lies in it */
	bool has_load_address;		       /* of a module: where its byte 0 is */
	uint64_t load_address;
	int64_t row_id;
};

struct tl_writer_type {
	int64_t row_id;
	char *name, *unit, *detail; /* of the arena */
	uint32_t type;
	uint64_t config, period, freq;
	bool is_known, is_tracepoint, is_hidden, is_sampled, has_callchain;
	int64_t first_ts; /* on the source's clock */
	bool has_first_ts;
	uint64_t sample_count, period_sum;
};

struct tl_writer_sum {
	uint32_t type, thread, name, node, cgroup;
	int32_t recorded_pid, recorded_tid;
	uint64_t count, period;
};

struct tl_writer_cgroup {
	uint64_t kernel_id;
	uint32_t path; /* interned; TL_NO_INDEX unknown */
};

struct tl_writer_meta {
	char *key, *value;
};

struct tl_writer_track {
	enum tl_track_kind kind;
	struct tl_task task;
	char *name, *process, *key_pid, *key_tid; /* of the arena; NULL unknown */
	int32_t device, stream;
	bool is_known;
	uint32_t thread; /* TL_NO_INDEX: none */
};

struct tl_writer_diagnostic {
	enum tl_diagnostic_kind kind;
	char *what, *unit, *message;
	uint64_t count;
	enum tl_position position_kind;
	uint64_t position;
};

/* A side-band event kept until all are there and can be put in order of time. */
struct tl_writer_pending {
	int64_t ts;
	uint64_t order;
	struct tl_event event; /* its strings belong to the arena */
};

/* Direct-mapped memories of recent answers: bounded, and right for as long as they say. */
struct tl_frame_memo {
	uint64_t ip;
	int64_t valid_from, valid_to;
	uint32_t space, frame;
	uint8_t context;
	bool is_used;
};

struct tl_chain_memo {
	uint64_t hash, check;
	int64_t valid_from, valid_to;
	uint32_t space, node;
	bool is_used;
};

/* A thread or process that the case knew already. */
struct tl_known_thread {
	int64_t thread_id, process_id, start_ts, end_ts;
	int32_t tid, pid;
	uint32_t name; /* interned */
	bool is_taken; /* by a thread of this source: no other of it is the same */
};

struct tl_writer {
	struct tl_sink sink;
	struct tl_store *store;
	struct tl_rows *rows;
	struct tl_writer_options options;
	unsigned inserts[INSERT_COUNT];

	int64_t source_id, host_id;
	const char *recorded_with; /* borrowed: until the first row */
	int64_t next_string, next_process, next_thread, next_cgroup, next_dso, next_symbol;
	int64_t next_frame, next_stack, next_event, next_payload, next_sample, next_extra;
	int64_t next_sum;
	int64_t next_track, next_syscall, next_slice, next_flow, next_log;
	bool has_old_strings; /* the case held text before: ask it before adding */

	struct tl_arena arena; /* strings that live as long as the writer */
	struct tl_interner strings;
	int64_t *string_ids; /* rows of interned strings, 0: not yet */
	size_t string_id_capacity;

	struct tl_writer_meta *meta;
	size_t meta_count, meta_capacity;
	char *clock_name, *clock_why;
	bool is_monotonic; /* times are of the clock that jitdumps have */
	enum tl_clock_method clock_method;
	int64_t clock_offset_ns, clock_residual_ns;
	int64_t late_offset_ns; /* the clock was told after rows were written: to be added */
	bool has_clock;

	struct tl_writer_type *types;
	size_t type_count, type_capacity;
	struct tl_writer_track *tracks;
	size_t track_count, track_capacity;
	struct tl_writer_cgroup *cgroups;
	size_t cgroup_count, cgroup_capacity;
	struct tl_index cgroup_index;
	struct tl_writer_diagnostic *diagnostics;
	size_t diagnostic_count, diagnostic_capacity;
	struct tl_index diagnostic_index;

	struct tl_writer_pending *pending;
	size_t pending_count, pending_capacity;
	bool is_settled; /* side-band events are applied as they come */
	struct tl_tasks tasks;
	struct tl_spaces spaces;
	uint32_t kernel_space;
	uint32_t *jitdump_of; /* by process: its DSO of kind JITDUMP + 1 */
	size_t jitdump_capacity;
	struct tl_writer_dso *dsos;
	size_t dso_count, dso_capacity;
	struct tl_index dso_index;
	struct tl_event_dso *build_ids; /* from the source's table */
	size_t build_id_count, build_id_capacity;
	struct tl_index build_id_index;
	struct tl_recording recording;
	struct tl_symbols *symbols;
	struct tl_unwinder *unwinder;
	bool is_unwind_refused;

	struct tl_known_thread *known;
	size_t known_count, known_capacity;
	struct tl_index known_by_tid, known_by_pid;

	struct tl_chains chains;
	struct tl_frame_memo *frame_memo;
	struct tl_chain_memo *chain_memo;
	uint32_t *chain_frames; /* scratch: frame ids of the chain at hand */
	size_t chain_frame_capacity;
	struct tl_frame *unwound; /* scratch */
	size_t unwound_capacity;
	struct tl_writer_sum *sums;
	size_t sum_count, sum_capacity;
	struct tl_index sum_index;
	struct tl_sample_blocks blocks;

	/* the sample before a switch or wakeup that belongs to it */
	uint32_t last_node, last_thread, last_name;
	struct tl_step_span *step_spans;
	size_t step_span_count, step_span_capacity;
	bool has_slices;
	bool has_times; /* an event has a time: else what stands for it are places in the file */
	bool has_rows;	/* a row with a time was written */
	int64_t first_ts, last_ts, newest_ts;
	uint64_t sample_count, untimed_count, disorder_count;
	uint64_t switch_count, syscall_count;
	uint64_t left_out_texts; /* of calls, beyond what may be kept */

	struct tl_call_blocks calls;
	struct tl_call_zone call_zone;
	struct tl_call_sums call_sums; /* stack: node */
	struct tl_known_traits {
		struct tl_call_traits traits;
		bool is_known;
	} * call_traits; /* by interned name */
	size_t call_trait_capacity;
};

/* writer.c */
int tl_writer_put(struct tl_writer *w, enum tl_insert insert, const int64_t *values, unsigned count,
		  uint64_t null_mask, const char *text, size_t text_length, struct tl_error *err);
/* Row of an interned string; written when first asked for. */
int tl_writer_string(struct tl_writer *w, uint32_t interned, int64_t *row_id, struct tl_error *err);
/* Row of a text that repeats, or 0 for NULL. */
int tl_writer_text(struct tl_writer *w, const char *text, size_t len, int64_t *row_id,
		   struct tl_error *err);
const char *tl_writer_meta_value(const struct tl_writer *w, const char *key); /* NULL: not said */
int tl_writer_note(struct tl_writer *w, enum tl_diagnostic_kind kind, const char *what,
		   uint64_t count, const char *unit, const char *message, struct tl_error *err);
static inline int64_t tl_writer_unix(const struct tl_writer *w, int64_t ts)
{
	/* hostile times may wrap; they stay wrong, but defined */
	return (int64_t)((uint64_t)ts + (uint64_t)w->clock_offset_ns);
}

/* writer_sideband.c */
int tl_writer_sideband(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
int tl_writer_settle_sideband(struct tl_writer *w, struct tl_error *err);
uint32_t tl_writer_space(const struct tl_writer *w, uint32_t process, int64_t ts);
int tl_writer_dso(struct tl_writer *w, const struct tl_dso_description *description,
		  const char *name, uint32_t *dso, struct tl_error *err);

/* writer_tasks.c */
int tl_writer_find_host(struct tl_writer *w, struct tl_error *err);
int tl_writer_thread_row(struct tl_writer *w, uint32_t thread, int64_t *row_id,
			 struct tl_error *err);
int tl_writer_task_rows(struct tl_writer *w, struct tl_error *err);

/* writer_samples.c */
int tl_writer_sample(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
/* The samples since the last block. */
int tl_writer_sample_block(struct tl_writer *w, struct tl_error *err);
int tl_writer_switch(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
int tl_writer_wakeup(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
/* The node of a stack whose frames the source named; TL_NO_NODE for none. */
int tl_writer_text_stack(struct tl_writer *w, const struct tl_frame *frames,
			 const struct tl_frame_text *texts, size_t count, uint32_t *node,
			 struct tl_error *err);
void tl_writer_note_time(struct tl_writer *w, const struct tl_event *ev);

/* writer_calls.c */
int tl_writer_syscall(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
/* Rows of what was gathered call by call. */
int tl_writer_call_rows(struct tl_writer *w, struct tl_error *err);
/* Samples of this type will become calls: their rows are needed. */
bool tl_writer_makes_calls_of(const struct tl_writer *w, const struct tl_writer_type *type);
/* Calls from such samples, when all rows of the source are in the case. */
int tl_writer_derive_calls(struct tl_writer *w, struct tl_error *err);
void tl_writer_release_calls(struct tl_writer *w);

/* writer_rows.c: names, chains and sums at the end */
int tl_writer_name_rows(struct tl_writer *w, struct tl_error *err);

/* writer_slices.c: what profilers and logs tell */
int tl_writer_track(struct tl_writer *w, const struct tl_event_track *ev, struct tl_error *err);
int tl_writer_slice(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
int tl_writer_flow(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
int tl_writer_counter(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
int tl_writer_call_summary(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
int tl_writer_step(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
int tl_writer_log(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err);
int tl_writer_track_rows(struct tl_writer *w, struct tl_error *err);
/* Steps that are told of more than once count once. Behind tl_writer_track_rows. */
int tl_writer_step_repeats(struct tl_writer *w, struct tl_error *err);

/* sched_switch.told_by */
enum { TL_TOLD_TRACEPOINT, TL_TOLD_DEPARTURE, TL_TOLD_ARRIVAL };

/* states.c: thread_state of one source from its switches and wakeups */
int tl_states_derive(struct tl_store *store, int64_t source_id, struct tl_error *err);

/* clock.c: every ts of a source from one offset to another */
int tl_clock_shift(struct tl_store *store, int64_t source_id, int64_t from_ns, int64_t to_ns,
		   struct tl_error *err);

#endif
