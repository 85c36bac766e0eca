/*
 * trace_ops_names.h - private: what the frames of folded spans are called, and which are asked for.
 */
#ifndef TL_TRACE_OPS_NAMES_H
#define TL_TRACE_OPS_NAMES_H

#include "memory.h"
#include "pattern.h"

/* A row of a timeline, as the trace tells of it; texts NULL and numbers -1: unknown. */
struct tl_ops_row {
	const char *thread; /* name of the thread of the system */
	const char *name, *process;
	const char *key_pid, *key_tid; /* as written */
	size_t thread_length, name_length, process_length, key_pid_length, key_tid_length;
	int64_t tid, device, stream;
	bool is_device, is_async;
};

/* No two rows that are different things get the same text, but threads of one name. */
void tl_ops_row_text(struct tl_text *out, const struct tl_ops_row *row);

/*
 * The length of a span's name without the number of an iteration: "ProfilerStep" of "ProfilerStep#12",
 * "train_step" of "train_step 12". Equal steps then are equal frames. A number that does not follow
 * "step", "iteration" or "iter" is a part of the name: layer_12.
 */
size_t tl_ops_name_length(const char *name, size_t length);

struct tl_ops_patterns {
	regex_t thread, *excludes;
	bool has_thread;
	size_t exclude_count;
};

/* `thread`: rows whose text matches are wanted; NULL all. To be released also after a failure. */
int tl_ops_patterns_open(struct tl_ops_patterns *patterns, const char *thread,
			 const char *const *excludes, size_t exclude_count, struct tl_error *err);
void tl_ops_patterns_release(struct tl_ops_patterns *patterns);
bool tl_ops_is_wanted(const struct tl_ops_patterns *patterns, const char *row);
bool tl_ops_is_excluded(const struct tl_ops_patterns *patterns, const char *frame);

#endif
