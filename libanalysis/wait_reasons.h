/*
 * wait_reasons.h - private: what the kernel part of a call chain says: through which door the thread
 * came in, what it waits for, what work on memory it does for itself.
 *
 * Pure: knows names of kernel functions (Linux 3.10 to 6.18), no database and no thread. A chain is
 * judged frame by frame from the outermost, so that a prefix tree is judged once per node.
 */
#ifndef TL_WAIT_REASONS_H
#define TL_WAIT_REASONS_H

#include "memory.h"
#include "store.h"

/* What the thread waits for where it left the CPU, or, spinning, on it. */
enum tl_wait_reason {
	TL_WAIT_UNKNOWN,    /* the chain does not say */
	TL_WAIT_MMAP_LOCK,  /* the address space: mmap, munmap, brk, page faults of all threads */
	TL_WAIT_VMA_LOCK,   /* one mapping of it */
	TL_WAIT_RMAP_LOCK,  /* anon_vma, i_mmap: who maps a page */
	TL_WAIT_RWSEM,	    /* another reader-writer semaphore: inodes, superblocks, ... */
	TL_WAIT_MUTEX,	    /* of the kernel */
	TL_WAIT_SPINLOCK,   /* of the kernel */
	TL_WAIT_FUTEX,	    /* a lock or condition of the program */
	TL_WAIT_MIGRATION,  /* a page that is being moved */
	TL_WAIT_COMPACTION, /* while compacting memory for itself */
	TL_WAIT_RECLAIM,    /* while freeing memory for itself, or throttled for it */
	TL_WAIT_DIRTY,	    /* writeback throttling: too many dirty pages */
	TL_WAIT_COMMIT,	    /* fsync and the like: the journal, writeback of a file */
	TL_WAIT_IO,	    /* a device or a page of a file */
	TL_WAIT_POLL,	    /* events: epoll, poll, select */
	TL_WAIT_PIPE,
	TL_WAIT_SOCKET,
	TL_WAIT_TIMER,	    /* sleeps for a while */
	TL_WAIT_CHILD,	    /* another process or thread to end */
	TL_WAIT_COMPLETION, /* something in the kernel to be done: RCU, work queues, IPIs, ... */
	TL_WAIT_STOPPED,    /* a signal or tracer */
	TL_WAIT_REASON_COUNT
};

/* Work on memory in the chain; of nested ones the costliest. */
enum tl_memory_work {
	TL_MEMORY_NONE,
	TL_MEMORY_UNMAP,	 /* munmap, exit, madvise that gives memory back */
	TL_MEMORY_FAULT,	 /* a page fault */
	TL_MEMORY_HUGE_FAULT,	 /* one that a huge page answers: allocated and zeroed */
	TL_MEMORY_HUGE_SPLIT,	 /* a huge page cut into small ones */
	TL_MEMORY_HUGE_COLLAPSE, /* small pages joined into a huge one */
	TL_MEMORY_MIGRATION,	 /* pages moved, not to compact */
	TL_MEMORY_RECLAIM,	 /* direct reclaim */
	TL_MEMORY_COMPACTION,	 /* direct compaction */
	TL_MEMORY_WORK_COUNT
};

const char *tl_wait_reason_name(enum tl_wait_reason reason); /* "mmap_lock", "futex", ... */
const char *tl_memory_work_name(enum tl_memory_work work);   /* "direct compaction", ... */

/* What is known of a chain up to some frame. Start with {0} outside of all frames. */
struct tl_chain_traits {
	uint8_t reason;	 /* enum tl_wait_reason */
	uint8_t work;	 /* enum tl_memory_work */
	uint8_t lock;	 /* internal: which lock a semaphore met now would be */
	uint8_t acquire; /* internal: the lock that is being taken */
	bool is_syscall, is_fault;
	bool is_huge;	   /* for a huge page */
	bool is_hugetlb;   /* for one of hugetlbfs: a pool of its own, no transparent huge page */
	bool is_memcg;	   /* for the limit of a control group */
	bool is_interrupt; /* an interrupt is on top of it */
	bool is_spinning;  /* on the CPU, and yet waiting for the lock that `reason` names */
};

/* What kernel functions mean to the chains they are in. */
struct tl_wait_names {
	struct tl_index index;
};
int tl_wait_names_init(struct tl_wait_names *names, struct tl_error *err);
void tl_wait_names_release(struct tl_wait_names *names);
/*
 * The number of a function's meaning; 0: none. What a compiler adds to names (.isra.0, .constprop.1,
 * .part.2, .cold, .llvm.4711) does not matter, nor what kernels put before those of system calls.
 */
unsigned tl_wait_function(const struct tl_wait_names *names, const char *name, size_t length);
/* From the traits of the caller's frame to those of a kernel function that it calls. */
void tl_chain_step(struct tl_chain_traits *traits, unsigned function);

/*
 * The traits of every stack of a case, by stack_id (0 is unused); *count is the largest id plus 1.
 * free(*out).
 */
int tl_chain_traits_load(struct tl_chain_traits **out, size_t *count, struct tl_store *store,
			 struct tl_error *err);

#endif
