/*
 * stacks.h - private: what the files that fold stacks share: the events to choose from, the first
 * frames of lines (heads), and the sums that become lines.
 */
#ifndef TL_STACKS_H
#define TL_STACKS_H

#include "pattern.h"
#include "stack_tree.h"

struct tl_fold_event {
	int64_t event_id, source_id;
	char *name, *unit; /* of the arena; unit NULL: unknown */
	size_t width;	   /* of the longest name in its source */
	bool is_tracepoint, is_hidden, is_sampled, has_callchain, has_first_ts;
	int64_t first_ts, clock_offset_ns;
	uint64_t sample_count;
	bool is_chosen, is_read; /* read: its heads are looked at, though they may be filtered */
};

/* Whose stack a row holds; 0 is NULL, TL_ID_NONE for the recorded ids. */
struct tl_fold_who {
	int64_t event_id, thread_id, name_id, cgroup_id;
	int32_t recorded_pid, recorded_tid;
};

enum tl_head_kind {
	TL_FOLD_STACK,	    /* the line begins with `root` */
	TL_FOLD_LOST,	    /* the rules to be compatible with lose it */
	TL_FOLD_FILTERED,   /* another event */
	TL_FOLD_PER_SAMPLE, /* its name depends on the time of the sample */
	TL_FOLD_EXCLUDED    /* not asked for */
};

struct tl_fold_head {
	struct tl_fold_who who;
	enum tl_head_kind kind;
	uint32_t root; /* of fold->roots */
	bool uses_period, is_java;
};

struct tl_fold_sum {
	uint32_t root, node, waker, state; /* waker, state: texts + 1 of fold->roots, 0: none */
	uint32_t waker_node;
	uint64_t weight;
};

struct tl_fold_thread {
	int32_t tid, pid;
};

struct tl_fold {
	struct tl_store *store;
	const struct tl_fold_options *opt;
	struct tl_folded_rules rules;
	struct tl_arena arena;
	struct tl_stack_tree *tree;

	struct tl_fold_event *events;
	size_t event_count, event_capacity;
	struct tl_text filter; /* compat: the event that is kept */
	bool has_filter;
	struct tl_time_range *ranges; /* in order, without overlap */
	size_t range_count;

	regex_t comm_pattern;
	bool has_comm_pattern;
	struct tl_fold_thread *threads; /* by id */
	int64_t thread_max;
	struct tl_statement *find_string, *find_cgroup;
	struct tl_fold_head *heads;
	size_t head_count, head_capacity;
	struct tl_index head_index;
	struct tl_interner roots;

	struct tl_fold_sum *sums;
	size_t sum_count, sum_capacity;
	struct tl_index sum_index;
	struct tl_interner lines; /* whole lines, from compat rules that need each sample */
	uint64_t *line_weights;
	size_t line_weight_capacity;

	uint64_t emitted_count; /* times that a line of them was added to */
	bool needs_text;	/* every sample depends on those before it */
	bool needs_samples;	/* a sum was met whose lines only its samples can tell */

	struct tl_folded counts; /* without lines */
	bool has_times;
};

/* What the time ranges have of each sum per stack. */
struct tl_fold_parts {
	struct tl_fold_part {
		uint64_t count, period;
		int64_t first_ts, last_ts;
	} * by_sum; /* by stack_sum.sum_id */
	int64_t sum_max;
};

/* One window after another, in order of time. */
struct tl_fold_windows {
	int64_t begin_ns, width_ns; /* the first one begins where the case does */
	struct tl_time_range window;
	uint64_t number;
	tl_fold_window_fn fn;
	void *payload;
};

/* stack_heads.c */
int tl_fold_open_heads(struct tl_fold *fold, struct tl_error *err);
void tl_fold_close_heads(struct tl_fold *fold);
/* *head is borrowed until the next call. */
int tl_fold_find_head(struct tl_fold *fold, const struct tl_fold_who *who,
		      const struct tl_fold_head **head, struct tl_error *err);
const struct tl_fold_event *tl_fold_find_event(const struct tl_fold *fold, int64_t event_id);
/* The sample of a head, as the compat rules want to see it; `comm` is borrowed. */
int tl_fold_describe(struct tl_fold *fold, const struct tl_fold_who *who,
		     struct tl_folded_sample *sample, struct tl_text *comm, struct tl_error *err);
/* A thread's name as the first or last frame of a line: its number in fold->roots. */
int tl_fold_root(struct tl_fold *fold, const struct tl_text *text, uint32_t *root,
		 struct tl_error *err);
int tl_fold_string(struct tl_fold *fold, int64_t string_id, struct tl_text *out,
		   struct tl_error *err);
/* --comm, --tid, --no-idle */
bool tl_fold_is_wanted(const struct tl_fold *fold, int64_t thread_id, const struct tl_text *comm);

/* stack_events.c: chooses events, and says in what unit their weights are */
int tl_fold_choose(struct tl_fold *fold, struct tl_error *err);

/* stack_sums.c */
int tl_fold_add(struct tl_fold *fold, const struct tl_fold_sum *key, uint64_t weight,
		struct tl_error *err);
/* Drops what was summed up so far. */
void tl_fold_forget(struct tl_fold *fold);
/* Makes the result of what was summed up so far, and starts anew. */
int tl_fold_finish(struct tl_fold *fold, struct tl_folded *out, struct tl_error *err);

/* stacks.c */
void tl_fold_note_time(struct tl_fold *fold, int64_t begin_ns, int64_t end_ns);
/* What lies inside the ranges of [begin, end); all of it when there are none. */
uint64_t tl_fold_inside_ns(const struct tl_fold *fold, int64_t begin_ns, int64_t end_ns);
/* Goes on to the window that holds `ts`, and hands over the one before. */
int tl_fold_enter_window(struct tl_fold *fold, struct tl_fold_windows *windows, int64_t ts,
			 struct tl_error *err);

/* stack_rows.c: the whole case, what lies in fold->ranges, window after window */
int tl_fold_sums(struct tl_fold *fold, struct tl_error *err);
int tl_fold_ranges(struct tl_fold *fold, struct tl_error *err);
int tl_fold_window_samples(struct tl_fold *fold, struct tl_fold_windows *windows,
			   struct tl_error *err);

/* stack_parts.c; by_sum is freed by the caller, also after a failure */
int tl_fold_load_parts(struct tl_fold *fold, struct tl_fold_parts *parts, struct tl_error *err);

/* offcpu.c; windows may be NULL */
int tl_fold_offcpu(struct tl_fold *fold, struct tl_fold_windows *windows, struct tl_error *err);

/* call_stacks.c: time in system calls, "process;thread;call;outer;...;inner" */
int tl_fold_calls(struct tl_fold *fold, struct tl_error *err);

#endif
