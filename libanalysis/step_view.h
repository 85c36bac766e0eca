/*
 * step_view.h - private: the training steps of a case, the thread that carries them, and what the
 * sources tell of what that thread did meanwhile; loaded once for the questions why steps are slow.
 *
 * Times are ns on the case's clock. What was not recorded is not there: ask `has`.
 */
#ifndef TL_STEP_VIEW_H
#define TL_STEP_VIEW_H

#include "memory.h"
#include "partition.h"
#include "store.h"

struct tl_view_options {
	const char
		*thread; /* a tid, or a pattern for names; NULL: the one that carries the steps */
	bool has_rank;
	int32_t rank;
	bool has_spikes; /* single slow steps, and episodes that may be chance, are slow steps, too */
};

enum tl_step_class { TL_STEP_OTHER, TL_STEP_GOOD, TL_STEP_SLOW };

struct tl_view_step {
	int64_t number, begin_ns, end_ns;
	int64_t count;	   /* steps that it stands for, number is that of the last */
	const char *phase; /* "baseline", "regression", ...; NULL unknown */
	enum tl_step_class class_;
	/*
	 * A slow step that is another kind of slow than the rest: a checkpoint among slow training
	 * steps. It is told of apart, and not SLOW here.
	 */
	bool is_apart;
	bool is_spike; /* slow, but alone, or in an episode that may be chance: not SLOW here */
	/* Mostly outside of what was recorded of the thread: neither SLOW nor GOOD here. */
	bool is_uncovered;
};

/* Of the thread, in order, without overlap. */
struct tl_view_state {
	int64_t begin_ns, end_ns;
	enum tl_sched_state state;
	int32_t cpu;			  /* -1 unknown */
	int64_t stack_id;		  /* off the CPU: where it left; 0 unknown */
	int64_t waker_id, waker_stack_id; /* who ended the wait; 0 unknown */
	bool is_bound; /* so at most: its end was not recorded, at end_ns it was over */
};

/* Somebody ran on the CPU that the thread waited for. */
struct tl_view_run {
	int64_t begin_ns, end_ns;
	int32_t cpu;
	uint32_t thread; /* tl_step_view.threads */
};

struct tl_view_call { /* a system call of the thread, by begin */
	int64_t begin_ns, end_ns;
	uint32_t name; /* tl_view_text */
};

struct tl_view_op { /* a profiler's span on the thread, by begin; not the steps themselves */
	int64_t begin_ns, end_ns;
	uint32_t name;
	uint8_t class_; /* enum tl_slice_class */
};

struct tl_view_sample { /* of the thread on a CPU, by time */
	int64_t ts;
	int64_t weight_ns; /* what it stands for; 0 unknown */
	int64_t stack_id;  /* 0: none */
};

enum tl_mm_kind {
	TL_MM_COMPACTION,
	TL_MM_RECLAIM,
	TL_MM_COLLAPSE,
	TL_MM_KCOMPACTD,
	TL_MM_KSWAPD,
	TL_MM_KIND_COUNT
};

struct tl_view_activity {	  /* by begin */
	int64_t begin_ns, end_ns; /* equal: only a moment is known */
	enum tl_mm_kind kind;
	int32_t order;	 /* -1 unknown */
	bool is_own;	 /* by the thread itself */
	bool is_success; /* the status says so */
	int64_t thread_id;
};

/* What a thread is to the one that carries the steps. */
enum tl_thread_role {
	TL_ROLE_SELF,
	TL_ROLE_OWN,	/* another thread of its process */
	TL_ROLE_FAMILY, /* a process of the same name that it started, or that started with it */
	TL_ROLE_KHUGEPAGED,
	TL_ROLE_KCOMPACTD,
	TL_ROLE_KSWAPD,
	TL_ROLE_IDLE, /* nobody */
	TL_ROLE_KERNEL,
	TL_ROLE_OTHER
};

struct tl_view_thread {
	int64_t thread_id, pid, tid; /* -1 unknown */
	const char *name;	     /* never NULL */
	enum tl_thread_role role;
};

/* A daemon (khugepaged, kcompactd, kswapd) ran; by begin. */
struct tl_view_daemon_run {
	int64_t begin_ns, end_ns;
	enum tl_thread_role role;
	int32_t cpu;
};

struct tl_view_kernel { /* work of an accelerator, by begin */
	int64_t begin_ns, end_ns;
	int64_t launch_ns; /* INT64_MIN unknown */
	bool is_collective;
};

#define TL_VIEW_STATES	       1u  /* switches of the thread */
#define TL_VIEW_WAKERS	       2u  /* and who woke it */
#define TL_VIEW_OFF_STACKS     4u  /* and where it left the CPU */
#define TL_VIEW_ALL_CPUS       8u  /* switches of everybody: who had the CPU is known */
#define TL_VIEW_SAMPLES	       16u /* samples of the thread on a CPU */
#define TL_VIEW_STACKS	       32u /* with stacks */
#define TL_VIEW_CALLS	       64u /* its system calls */
#define TL_VIEW_OPS	       128u
#define TL_VIEW_DEVICE	       256u
#define TL_VIEW_COMPACTION     512u /* the tracepoints were recorded, though none may have been hit */
#define TL_VIEW_RECLAIM	       1024u
#define TL_VIEW_COLLAPSE       2048u
#define TL_VIEW_DAEMONS	       4096u /* switches of khugepaged and the like would be seen */
#define TL_VIEW_KERNEL_SYMBOLS 8192u /* frames of the kernel have names */

struct tl_step_view {
	struct tl_store *store;
	struct tl_view_step *steps; /* in order of time, without overlap */
	size_t step_count, good_count, slow_count, apart_count, spike_count;
	size_t untimed_count;	  /* steps of the series that have no time */
	size_t overlapping_count; /* left out: they begin before the one before has ended */
	int64_t steps_per_row;	  /* of those that are slow or good: 1, but for some logs */
	size_t uneven_count;	  /* that stand for another number; no longer slow or good */
	size_t uncovered_count;	  /* of any class, and of these ... */
	size_t uncovered_slow_count, uncovered_good_count;
	/* Slow and good ones in which the recorder lost something: what happened is known in part. */
	size_t lossy_slow_count, lossy_good_count;
	int64_t series, source_id;
	int32_t rank;		 /* -1 unknown */
	size_t other_rank_count; /* that have steps, too */
	const char *step_source; /* path of it, and how many more there are */

	int64_t thread_id, pid, tid;
	const char *thread_name, *thread_why; /* never NULL */

	unsigned has; /* TL_VIEW_* */
	/* The source that tells what the thread did: of states, else samples, else calls; 0 none. */
	int64_t main_source_id;
	const char *main_source; /* path of it */
	struct tl_view_state *states;
	size_t state_count;
	struct tl_view_run *runs; /* while the thread was runnable, by begin */
	size_t run_count;
	struct tl_view_call *calls;
	size_t call_count;
	const char *call_importer; /* whose calls these are; NULL none */
	struct tl_view_op *ops;
	size_t op_count;
	struct tl_view_sample *samples;
	size_t sample_count;
	const char *sample_event; /* NULL none */
	struct tl_view_activity *activities;
	size_t activity_count;
	struct tl_view_daemon_run *daemon_runs;
	size_t daemon_run_count;
	struct tl_view_kernel *kernels;
	size_t kernel_count;
	struct tl_view_thread *threads;
	size_t thread_count;
	/* The sources whose times are laid beside each other: ask tl_clock_join what that is worth. */
	int64_t *joined; /* first those of the steps, own_count of them */
	size_t joined_count, joined_capacity, own_count;

	struct tl_interner texts;
	struct tl_arena arena;
	struct tl_index thread_index;
	size_t thread_capacity;
};

/*
 * TL_NOTHING, with what to record, where there are no steps with times, or no such thread. A view
 * without any source that tells of the thread is made all the same: `has` says so.
 */
int tl_step_view_load(struct tl_step_view *out, struct tl_store *store,
		      const struct tl_view_options *opt, struct tl_error *err);
void tl_step_view_release(struct tl_step_view *view);

const char *tl_view_text(const struct tl_step_view *view, uint32_t text);
/* Number in view->threads of a thread of the case; added when it is met first. */
int tl_view_thread(struct tl_step_view *view, int64_t thread_id, uint32_t *thread,
		   struct tl_error *err);
/* The first item, of those sorted by begin, that does not begin before `ns`. */
#define TL_VIEW_FIRST(items, count, member, ns, first)              \
	do {                                                        \
		size_t low_ = 0, high_ = (count);                   \
		while (low_ < high_) {                              \
			size_t middle_ = low_ + (high_ - low_) / 2; \
			if ((items)[middle_].member < (ns))         \
				low_ = middle_ + 1;                 \
			else                                        \
				high_ = middle_;                    \
		}                                                   \
		(first) = low_;                                     \
	} while (0)

/* step_view_rows.c: rows that stand for other numbers of steps than most are not compared. */
int tl_view_even_rows(struct tl_step_view *view, struct tl_error *err);

/*
 * step_view_bounds.c: waits in system calls whose end was not recorded, in a complete recording, are
 * lengthened until the thread was seen again: `is_bound`. Not part of the loading.
 */
int tl_view_bound_waits(struct tl_step_view *view, struct tl_error *err);

/* step_view_load.c: what one source after another tells; each fills its arrays and `has` */
int tl_view_load_states(struct tl_step_view *view, struct tl_error *err);
int tl_view_load_runs(struct tl_step_view *view, struct tl_error *err);
int tl_view_load_calls(struct tl_step_view *view, struct tl_error *err);
int tl_view_load_ops(struct tl_step_view *view, struct tl_error *err);
int tl_view_load_samples(struct tl_step_view *view, struct tl_error *err);
/* step_view_system.c: memory management and accelerators */
int tl_view_load_activities(struct tl_step_view *view, struct tl_error *err);
int tl_view_load_daemons(struct tl_step_view *view, struct tl_error *err);
int tl_view_load_device(struct tl_step_view *view, struct tl_error *err);
int tl_view_load_gaps(struct tl_step_view *view, struct tl_error *err);

#endif
