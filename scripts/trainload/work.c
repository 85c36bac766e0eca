/*
 * work.c - what a training step does: for each layer map and touch a buffer, copy into it, compute,
 * launch, give the buffer back. Which cause is planted is not known here, only what a plant asks of
 * every step, good or slow.
 */
#include "trainload.h"

#include <errno.h>
#include <linux/random.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	LAYERS = 16,
	ROUNDS = 800000, /* of compute() in a layer: about two milliseconds */
	LOCK_EVERY = 4,	 /* layers */
	STORE_EVERY = 4,
	STORE_BYTES = PAGE,
	BATCH_BYTES = 1 << 20,
	SAVED_BYTES = 128 << 20,
	CACHE_BYTES = 4 << 20,
};

static const int64_t LAUNCH_DELAY_NS = 8000, KERNEL_NS = 1500000;

const char *const part_names[PART_COUNT] = { "memory", "copy",	  "compute", "launch",
					     "lock",   "storage", "purge",   "barrier" };

void die(const char *what)
{
	fprintf(stderr, "trainload: %s: %s\n", what, errno ? strerror(errno) : "failed");
	exit(2);
}

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void *map_bytes(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

void touch_pages(char *memory, size_t size)
{
	for (size_t at = 0; at < size; at += PAGE)
		((volatile char *)memory)[at] = 1;
}

NOINLINE double compute(int rounds)
{
	volatile double sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += i * 0.5;
	return sum;
}

/* A span of one part: the trace and the proof see the same. */
static void part_done(struct job *job, enum part part, const char *category, const char *name,
		      int64_t begin)
{
	int64_t end = now_ns();

	job->part_ns[part] += end - begin;
	trace_span(job->trace, category, name, begin, end);
}

static char *map_touched(size_t size)
{
	char *p = map_bytes(size);

	madvise(p, size, MADV_NOHUGEPAGE);
	touch_pages(p, size);
	return p;
}

void job_prepare(struct job *job)
{
	job->batch = map_touched(BATCH_BYTES);
	job->saved = map_touched(2 * (size_t)SAVED_BYTES);
	job->cache = map_touched(CACHE_BYTES);
	job->kept = calloc((size_t)LAYERS * (size_t)(job->options->slow + 2), sizeof(*job->kept));
	if (!job->kept)
		die("memory of the job");
}

/* Of several ranks one goes wrong, and the others wait for it. */
static bool is_hit(const struct job *job)
{
	return job->rank == 0 && plant_is_at_work(job->shared);
}

/* Buffers that ask for huge pages begin where one can begin. */
static char *buffer_map(const struct plant *plant)
{
	size_t size = plant->buffer_bytes;
	char *p, *aligned;

	if (!plant->huge)
		return map_bytes(size);
	p = map_bytes(size + HUGE_PAGE);
	aligned = (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
	if (aligned > p)
		munmap(p, (size_t)(aligned - p));
	if (aligned < p + HUGE_PAGE)
		munmap(aligned + size, (size_t)(p + HUGE_PAGE - aligned));
	madvise(aligned, size, MADV_HUGEPAGE);
	return aligned;
}

static NOINLINE char *buffer_take(struct job *job)
{
	int64_t begin = now_ns();
	char *p = buffer_map(job->options->plant);

	touch_pages(p, job->options->plant->buffer_bytes);
	part_done(job, PART_MEMORY, "cpu_op", "aten::empty", begin);
	return p;
}

static NOINLINE void buffer_give_back(struct job *job, char *p)
{
	const struct plant *plant = job->options->plant;
	int pieces = plant->pieces ? plant->pieces : 1;
	size_t size = plant->buffer_bytes / (size_t)pieces;
	int64_t begin = now_ns();

	if (plant->keeps && is_hit(job))
		job->kept[job->kept_count++] = p;
	else
		for (int i = 0; i < pieces; i++)
			munmap(p + size * (size_t)i, size);
	part_done(job, PART_MEMORY, "cpu_op", "aten::set_", begin);
}

void job_release_kept(struct job *job)
{
	while (job->kept_count)
		munmap(job->kept[--job->kept_count], job->options->plant->buffer_bytes);
}

static NOINLINE void pool_use(struct job *job)
{
	int64_t begin = now_ns();

	pthread_mutex_lock(&job->pool_lock);
	compute(1000);
	pthread_mutex_unlock(&job->pool_lock);
	part_done(job, PART_LOCK, "cpu_op", "aten::pin_memory", begin);
}

static NOINLINE void state_store(struct job *job)
{
	int64_t begin = now_ns();

	if (pwrite(job->storage_fd, job->batch, STORE_BYTES, 0) != STORE_BYTES ||
	    fdatasync(job->storage_fd))
		die("the state of the step");
	part_done(job, PART_STORAGE, "user_annotation", "log_state", begin);
}

static NOINLINE void cache_use(struct job *job)
{
	int64_t begin = now_ns();

	/* The allocator gives back what it has cached, a run at a time, and gets it anew. */
	for (size_t at = 0; is_hit(job) && at < CACHE_BYTES; at += 16 * PAGE)
		madvise(job->cache + at, 16 * PAGE, MADV_DONTNEED);
	touch_pages(job->cache, CACHE_BYTES);
	part_done(job, PART_PURGE, "cpu_op", "aten::resize_", begin);
}

/* The device of a launch is a time line: a kernel starts when it is known and the last has ended. */
static NOINLINE void launch(struct job *job, const char *kernel)
{
	int64_t begin = now_ns(), end, run;
	int bits;

	if (ioctl(job->device_fd, RNDGETENTCNT, &bits))
		die("the launch");
	end = now_ns();
	run = end + LAUNCH_DELAY_NS;
	if (run < job->device_free_ns)
		run = job->device_free_ns;
	job->device_free_ns = run + KERNEL_NS;
	job->part_ns[PART_LAUNCH] += end - begin;
	trace_launch(job->trace, begin, end, kernel, run, job->device_free_ns);
}

static void layer(struct job *job, int number)
{
	const struct plant *plant = job->options->plant;
	size_t copied = plant->buffer_bytes < BATCH_BYTES ? plant->buffer_bytes : BATCH_BYTES;
	char *p = buffer_take(job);
	int64_t begin = now_ns();

	memcpy(p, job->batch, copied);
	part_done(job, PART_COPY, "cpu_op", "aten::copy_", begin);
	if (plant->locks && number % LOCK_EVERY == 0)
		pool_use(job);
	begin = now_ns();
	compute(ROUNDS);
	part_done(job, PART_COMPUTE, "cpu_op", "aten::mm", begin);
	launch(job, number % 2 ? "planned_gemm_f32" : "planned_softmax_f32");
	if (plant->purges)
		cache_use(job);
	if (plant->stores && job->rank == 0 && number % STORE_EVERY == 0)
		state_store(job);
	buffer_give_back(job, p);
}

static void wait_for_device(struct job *job)
{
	int64_t begin = now_ns();
	struct timespec until = { job->device_free_ns / 1000000000,
				  job->device_free_ns % 1000000000 };

	if (begin < job->device_free_ns)
		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
	part_done(job, PART_BARRIER, "cuda_runtime", "cudaDeviceSynchronize", begin);
}

void job_step(struct job *job)
{
	for (int i = 0; i < LAYERS; i++)
		layer(job, i);
	wait_for_device(job);
}

void job_checkpoint_copy(struct job *job)
{
	int64_t begin = now_ns();

	memcpy(job->saved + SAVED_BYTES, job->saved, SAVED_BYTES);
	part_done(job, PART_COPY, "cpu_op", "aten::copy_", begin);
}
