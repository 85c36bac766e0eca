/*
 * syscalls.h - private: one question about calls on its way to an answer, shared by the files that
 * read what it needs (syscalls_load.c), walk the blocks (syscalls_walk.c), tell outliers
 * (syscalls_judge.c) and add what only rows know (syscalls_detail.c).
 */
#ifndef TL_SYSCALLS_H
#define TL_SYSCALLS_H

#include "calls.h"
#include "latency.h"
#include "pattern.h"
#include "ranges.h"

#define TL_IDLE_RATIO 0.9 /* of its time that an idle thread waits, at least */

/* A row of call_block without its bytes. */
struct tl_call_part {
	int64_t row_id, source_id;
	struct tl_call_block block; /* bytes: not read */
	bool has_hidden; /* calls that began in the range are told by a better source, too */
	struct tl_time_range hidden;
	int64_t hidden_until; /* but for those that ended later */
};

/* Is a call of a part that has hidden ones left out? A duration of -1 is not known. */
static inline bool tl_call_part_hides(const struct tl_call_part *part, int64_t ts,
				      int64_t duration_ns)
{
	int64_t end;

	if (ts < part->hidden.begin_ns || ts > part->hidden.end_ns)
		return false;
	if (duration_ns < 0 || __builtin_add_overflow(ts, duration_ns, &end))
		return true;
	return end <= part->hidden_until;
}

/*
 * Numbers of threads in SQL: a log that names none is of one thread, and another log of another one.
 */
#define TL_CALL_THREAD "coalesce(thread_id, -source_id) AS thread_id"

struct tl_call_thread {
	int64_t thread_id; /* negative: the log of that source names none */
	char *name;
	int64_t pid, tid;
	bool is_step_thread, is_used, is_walked;
	bool has_life, has_ended; /* has_ended: a call of it did */
	int64_t begin_ns, end_ns; /* first call to end of last, whatever is asked */
	int64_t wait_ns;
	int64_t busy_ns;       /* in calls, one after the other */
	int64_t time_unit_ns;  /* the coarsest of its sources; 0 unknown */
	int64_t last_begin_ns; /* of its calls that ended, if has_ended */
	uint32_t index;	       /* in the answer, once used */
};

/* A call without an end, until it is known what others of its kind took. */
struct tl_call_open {
	struct tl_syscall_open answer;
	size_t thread; /* of the question's */
	int64_t name_id, operation_id;
	uint8_t kind;
	int64_t usual_max_ns; /* -1: no other ended */
	int64_t row;	      /* a later one began later, or is nested in it */
};

struct tl_call_source {
	struct tl_syscall_source answer;
	int64_t last_ts;
	int64_t reference_id; /* the source to whose clock its own was matched; 0: none */
	bool has_times;
};

struct tl_call_step {
	int64_t begin_ns, end_ns, number;
	bool has_number;
	const char *class;
};

struct tl_syscall_question {
	struct tl_store *store;
	const struct tl_syscall_options *opt;
	struct tl_syscalls *out;
	struct tl_arena *arena; /* of the answer */

	regex_t thread_pattern, name_pattern;
	bool has_thread_pattern, has_name_pattern;

	struct tl_call_thread *threads; /* by id */
	size_t thread_count, thread_capacity;
	struct tl_index thread_index;
	struct tl_call_source *sources;
	size_t source_count, source_capacity;
	size_t nameless_count;	    /* sources with calls of no known thread */
	struct tl_call_step *steps; /* with times, by begin */
	size_t step_count, step_capacity;
	struct tl_ranges all_steps, good_steps;
	struct tl_ranges asked;		       /* --time and --steps together */
	bool has_asked, has_good, is_in_steps; /* is_in_steps: judge calls in steps only */
	struct tl_ranges judged;	       /* is_in_steps: asked, in steps */

	struct tl_call_part *parts; /* by thread, kind, name, operation, wait, row */
	size_t part_count, part_capacity;
	struct tl_index source_names; /* a part of each source and name of system calls */
	struct tl_statement *read_block, *find_text, *find_open;
	struct tl_interner texts;
	struct tl_text_slot {
		int64_t string_id;
		const char *text;
		bool is_wanted; /* as the name of a call */
	} * text_slots;
	size_t text_slot_count, text_slot_capacity;
	struct tl_index text_index;

	size_t sum_capacity, outlier_capacity, suspect_capacity, wait_capacity, thread_out_capacity;
	struct tl_call_open *opens;
	size_t all_open_count, all_open_capacity;
	struct tl_few *fews; /* groups with few calls, to be judged by those of all threads */
	size_t few_count, few_capacity;
};

/* ---- syscalls_load.c ---- */

int tl_syscalls_load(struct tl_syscall_question *q, struct tl_error *err);
/* Only what tl_syscalls_text needs; the same unload. */
int tl_syscalls_load_texts(struct tl_syscall_question *q, struct tl_error *err);
void tl_syscalls_unload(struct tl_syscall_question *q);
/* Never NULL: threads that the case does not know are added. */
int tl_syscalls_thread(struct tl_syscall_question *q, int64_t thread_id, size_t *index,
		       struct tl_error *err);
bool tl_syscalls_thread_wanted(const struct tl_syscall_question *q,
			       const struct tl_call_thread *thread);
/* The text of a string row; lives as long as the answer. *text NULL for id 0. */
int tl_syscalls_text(struct tl_syscall_question *q, int64_t string_id, const char **text,
		     bool *is_wanted, struct tl_error *err);
struct tl_call_source *tl_syscalls_source(struct tl_syscall_question *q, int64_t source_id);
/* `calls` has room for TL_CALL_BLOCK_MAX; those told by a better source are left out. *count */
int tl_syscalls_read(struct tl_syscall_question *q, const struct tl_call_part *part,
		     struct tl_call_entry *calls, uint32_t *count, uint64_t *left_out,
		     struct tl_error *err);
/* Was it asked for? Times, steps, errors, duration. */
bool tl_syscalls_is_asked(const struct tl_syscall_question *q, const struct tl_call_block *block,
			  const struct tl_call_entry *call);
/* The thread's number in the answer. */
int tl_syscalls_use_thread(struct tl_syscall_question *q, size_t index, uint32_t *out,
			   struct tl_error *err);

/* ---- syscalls_walk.c ---- */

/* Sums, outliers and waits of all threads that were asked for. */
int tl_syscalls_walk(struct tl_syscall_question *q, struct tl_error *err);

/* ---- syscalls_twice.c ---- */

/* Finds, for the parts loaded, which calls a better source tells of, too. */
int tl_syscalls_hide_twice_told(struct tl_syscall_question *q, struct tl_error *err);

/* ---- syscalls.c ---- */

int tl_syscalls_fail_none(struct tl_error *err); /* there are no calls in the case */

/* ---- the longest ---- */

#define TL_LONGEST_MAX 64u
#define TL_FEW_CALLS   20u /* fewer tell of no modes (tl_latency_threshold) */

struct tl_longest {
	struct tl_long_call {
		int64_t duration_ns, ts, operation_id;
		bool has_ts;
	} calls[TL_LONGEST_MAX];
	uint32_t count, limit;
};

void tl_longest_add(struct tl_longest *l, const struct tl_long_call *call);

/* ---- syscalls_judge.c ---- */

struct tl_durations {
	int64_t *ns;
	size_t count, capacity;
};

/* Calls of one thread, name, operation and wait; what ended by its own timer is not among them. */
struct tl_call_judgement {
	size_t thread; /* of q->threads */
	int64_t name_id, operation_id;
	uint8_t kind;
	bool is_wait;
	bool is_lock; /* set by the judge, if it looked */
	const struct tl_call_part *parts;
	size_t part_count;
	struct tl_durations learn;  /* what is usual is learnt from these, in order of time */
	struct tl_durations judged; /* empty if is_same */
	bool is_same;		    /* the judged are those learnt from */
	struct tl_longest longest;  /* of the judged; all of them if they are few */
	int64_t max_ns;		    /* of all of them, asked for or not */
	uint64_t timer_count;
	int64_t timer_ns, total_ns; /* of those asked for */
	uint64_t count;
};

/*
 * Judges, and says whether something was found: an outlier, or a suspect (its doubt). Few calls are
 * kept until those of all threads are known: tl_syscalls_judge_fews.
 */
int tl_syscalls_judge(struct tl_syscall_question *q, struct tl_call_judgement *j,
		      struct tl_syscall_outlier *found, bool *is_found, struct tl_error *err);
int tl_syscalls_judge_fews(struct tl_syscall_question *q, struct tl_error *err);
void tl_syscalls_release_fews(struct tl_syscall_question *q);

/* ---- syscalls_detail.c ---- */

/* Lists calls in the answer, those longer than `above_ns`. */
int tl_syscalls_list(struct tl_syscall_question *q, int64_t thread_id, int64_t name_id,
		     const struct tl_longest *longest, double above_ns, struct tl_syscall_one **out,
		     size_t *count, struct tl_error *err);
/* Calls without an end, before any other is looked at. */
int tl_syscalls_load_opens(struct tl_syscall_question *q, struct tl_error *err);
/* A call of this kind that ended took so long. */
void tl_syscalls_note_ended(struct tl_syscall_question *q, const struct tl_call_judgement *j);
/* Which of them hang; into the answer. */
int tl_syscalls_finish_opens(struct tl_syscall_question *q, struct tl_error *err);

/* Buckets of durations, cut to those that hold something. */
int tl_syscalls_buckets(struct tl_syscall_question *q, const int64_t *ns, size_t n,
			const uint64_t **buckets, uint32_t *first, uint32_t *count,
			struct tl_error *err);

#endif
