/*
 * tasks.h - private: the processes and threads of one source, their lifetimes and names. Give
 * events in order of time; the ids are the recorder's.
 *
 * Times are the source's own, INT64_MIN for "from before the recording" (see struct tl_event).
 */
#ifndef TL_TASKS_H
#define TL_TASKS_H

#include "memory.h"

#define TL_NO_INDEX UINT32_MAX

struct tl_thread_name {
	int64_t ts;
	uint32_t name; /* index in the interner */
	bool is_exec;
};

struct tl_thread {
	int32_t tid;
	uint32_t process;
	int64_t start_ts, end_ts;     /* INT64_MIN, INT64_MAX: not seen */
	struct tl_thread_name *names; /* by time */
	size_t name_count, name_capacity;
	struct tl_thread_name *hearsay; /* names that only others' events tell, by time */
	size_t hearsay_count, hearsay_capacity;
	int64_t row_id; /* in the case; 0 until the writer gives one */
};

struct tl_process_space { /* which address space from when on: exec makes a new one */
	int64_t ts;
	uint32_t space;
};

struct tl_process {
	int32_t pid; /* TL_ID_NONE: only tids are known */
	int32_t inner_pid;
	uint32_t parent; /* TL_NO_INDEX unknown */
	int64_t start_ts, end_ts;
	uint32_t live_count;		 /* threads begun and not ended */
	struct tl_process_space *spaces; /* by time; empty: nothing was mapped */
	size_t space_count, space_capacity;
	int64_t row_id;
};

struct tl_tasks {
	struct tl_thread *threads;
	size_t thread_count, thread_capacity;
	struct tl_process *processes;
	size_t process_count, process_capacity;
	struct tl_interner *names; /* borrowed */
	struct tl_lives_index {
		struct tl_index index;
		struct tl_lives {
			int32_t id;
			uint32_t *members; /* threads or processes, by start */
			size_t count, capacity;
		} * lives;
		size_t count, capacity;
		struct tl_lives_memo {
			int32_t id;
			uint32_t index_plus_1;
		} memo[1024]; /* ids asked for lately */
	} by_tid, by_pid;
};

void tl_tasks_init(struct tl_tasks *tasks, struct tl_interner *names);
void tl_tasks_release(struct tl_tasks *tasks);

int tl_tasks_fork(struct tl_tasks *tasks, int64_t ts, const struct tl_event_fork *ev,
		  bool *is_new_process, struct tl_error *err);
int tl_tasks_exit(struct tl_tasks *tasks, int64_t ts, const struct tl_event_exit *ev,
		  struct tl_error *err);
int tl_tasks_comm(struct tl_tasks *tasks, int64_t ts, const struct tl_event_comm *ev,
		  struct tl_error *err);

/* The thread that had `tid` at `ts`; made if nobody told of it. pid may be TL_ID_NONE. */
int tl_tasks_thread(struct tl_tasks *tasks, int64_t ts, struct tl_task task, uint32_t *thread,
		    struct tl_error *err);
int tl_tasks_process(struct tl_tasks *tasks, int64_t ts, int32_t pid, uint32_t *process,
		     struct tl_error *err);
/* Its name then: index in the interner. Idle is "swapper"; unknown is ":TID", as perf says. */
int tl_tasks_name(struct tl_tasks *tasks, uint32_t thread, int64_t ts, uint32_t *name,
		  struct tl_error *err);
/* The same, but for a thread without a name what others say of it, then or at last. */
int tl_tasks_name_by_hearsay(struct tl_tasks *tasks, uint32_t thread, int64_t ts, uint32_t *name,
			     struct tl_error *err);

#endif
