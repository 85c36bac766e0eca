/*
 * trainload.h - a program that behaves like a training job and goes wrong in a way that is known:
 * what its parts share. main.c runs steps and ranks, work.c is what a step does, trace.c writes what
 * a profiler and a training program would, proof.c what the program knows about itself, and plant*.c
 * are the causes. Nothing in here knows traceloom.
 */
#ifndef TRAINLOAD_H
#define TRAINLOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

enum { PAGE = 4096, HUGE_PAGE = 2 << 20, RANK_LIMIT = 8, THREAD_LIMIT = 16 };

/* What a step's time is made of, as the program itself measures it. */
enum part {
	PART_MEMORY,  /* map, touch, unmap */
	PART_COPY,    /* memcpy */
	PART_COMPUTE, /* arithmetic */
	PART_LAUNCH,  /* ioctl */
	PART_LOCK,    /* the lock of the buffer pool */
	PART_STORAGE, /* write and fdatasync */
	PART_PURGE,   /* giving cached memory back, and touching it again */
	PART_BARRIER, /* waiting for other ranks and for the device */
	PART_COUNT
};

extern const char *const part_names[PART_COUNT];

struct options {
	const struct plant *plant;
	unsigned seed;
	int steps, at, slow; /* slow steps follow the checkpoint in step `at` */
	int ranks, helpers;
	int left_mb; /* fill memory until so much is free, and do nothing else; or -1 */
	bool off;    /* the control run: everything but the cause */
	size_t arena_bytes;
	bool companions; /* only the other processes of the cause, of a job that has the same `shared` */
	const char *folder, *scratch, *shared;
};

/* In memory that all ranks and companions share. */
struct shared {
	atomic_int planted; /* 0 before and after, 1 while the cause is at work: a futex */
	atomic_int ready;   /* companions that are */
	atomic_int arrived, generation;
};

struct job {
	const struct options *options;
	struct shared *shared;
	struct trace *trace;
	FILE *log;
	int rank, step, device_fd, storage_fd;
	int64_t device_free_ns, part_ns[PART_COUNT];
	char *batch, *saved,
		*cache; /* touched before the first step, so that they cost nothing new */
	char *arena;	/* of the cause */
	size_t arena_bytes;
	pthread_mutex_t pool_lock;
	char **kept; /* buffers that are not given back yet */
	size_t kept_count;
};

/* A cause. Hooks that it has no use for are NULL. */
struct plant {
	const char *name, *cause;
	size_t buffer_bytes; /* of each of the step's buffers */
	int pieces;	     /* in which a buffer is given back; 0 is one */
	bool huge;	     /* buffers ask for huge pages */
	bool keeps; /* buffers are kept while the cause is at work: a checkpoint still reads them */
	bool locks, stores, purges; /* the step does these in good times, too */
	const char *companion;	    /* what other processes are called, if there are any */
	void (*companion_run)(const struct options *o, struct shared *shared, int number);
	void (*helper_run)(struct job *job, int number);
	void (*prepare)(struct job *job);
	void (*checkpoint)(struct job *job);
	void (*over)(struct job *job);
};

/* plant.c */
const struct plant *plant_find(const char *name);
void plant_list(FILE *out);
void plant_start_companions(const struct options *o, struct shared *shared);
void plant_wait_for_companions(const struct options *o, struct shared *shared);
void plant_ready(struct shared *shared); /* said by a companion */
void plant_start_helpers(struct job *job);
void plant_set(struct shared *shared, int value); /* also wakes those who wait */
void plant_wait(struct shared *shared, int until);
bool plant_is_at_work(const struct shared *shared);

/* plant_memory.c */
void memory_fill(const char *folder, int left_mb);
void compaction_checkpoint(struct job *job);
void compaction_over(struct job *job);
void khugepaged_prepare(struct job *job);
void khugepaged_checkpoint(struct job *job);
void khugepaged_over(struct job *job);
void reclaim_over(struct job *job);
void reclaim_companion(const struct options *o, struct shared *shared, int number);
void harmless_companion(const struct options *o, struct shared *shared, int number);

/* work.c */
void job_prepare(struct job *job);
void job_step(struct job *job);
void job_checkpoint_copy(struct job *job);
void job_release_kept(struct job *job);
void *map_bytes(size_t size);
void touch_pages(char *memory, size_t size);
NOINLINE double compute(int rounds);
int64_t now_ns(void);
void die(const char *what);

/* trace.c: events are kept in memory and written at the end, as a profiler does */
void trace_open(struct trace **out, const char *path, int rank, int ranks, size_t event_limit);
void trace_span(struct trace *t, const char *category, const char *name, int64_t begin,
		int64_t end);
void trace_launch(struct trace *t, int64_t begin, int64_t end, const char *kernel, int64_t run,
		  int64_t run_end);
void trace_close(struct trace *t);

/* proof.c: what the program and the kernel counted in each step */
struct proof;
void proof_open(struct proof **out, const char *path, int steps);
void proof_step(struct proof *p, int step, int64_t begin, int64_t end, int64_t part_ns[PART_COUNT]);
void proof_close(struct proof *p);

#endif
