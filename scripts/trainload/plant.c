/*
 * plant.c - the causes: a table of what each asks of the job, and those that need processors, locks
 * and storage. Those of memory are in plant_memory.c.
 */
#include "trainload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

void plant_set(struct shared *shared, int value)
{
	atomic_store(&shared->planted, value);
	syscall(SYS_futex, &shared->planted, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Until it is at work (1) or no more (0). */
void plant_wait(struct shared *shared, int until)
{
	while (atomic_load(&shared->planted) != until)
		syscall(SYS_futex, &shared->planted, FUTEX_WAIT, !until, NULL, NULL, 0);
}

bool plant_is_at_work(const struct shared *shared)
{
	return atomic_load_explicit(&shared->planted, memory_order_relaxed);
}

void plant_ready(struct shared *shared)
{
	atomic_fetch_add(&shared->ready, 1);
}

static void pause_us(long us)
{
	struct timespec t = { 0, us * 1000 };

	nanosleep(&t, NULL);
}

/* ---- a lock that others hold ------------------------------------------------------------------------ */

/* Holds the lock while it waits for something slow, again and again, as one of several. */
static void lock_helper(struct job *job, int number)
{
	long held_us = 1500 + 250 * (long)((job->options->seed + (unsigned)number) % 4);

	pthread_mutex_lock(&job->pool_lock);
	pause_us(held_us);
	pthread_mutex_unlock(&job->pool_lock);
	pause_us(100);
}

/* ---- storage that another process keeps busy -------------------------------------------------------- */

static void storage_companion(const struct options *o, struct shared *shared, int number)
{
	enum { BLOCK = 1 << 20, BLOCKS = 192, SYNC_EVERY = 48 };
	char path[PATH_MAX], *block = calloc(1, BLOCK);
	int fd;

	snprintf(path, sizeof(path), "%s/shard-%d", o->scratch, number);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || !block)
		die(path);
	unlink(path);
	plant_ready(shared);
	for (;;) {
		plant_wait(shared, 1);
		for (int i = 0; i < BLOCKS && plant_is_at_work(shared); i++) {
			if (pwrite(fd, block, BLOCK, (off_t)i * BLOCK) != BLOCK)
				die(path);
			if (i % SYNC_EVERY == SYNC_EVERY - 1)
				fsync(fd);
		}
		if (ftruncate(fd, 0))
			die(path);
	}
}

/* ---- processors that others use --------------------------------------------------------------------- */

static void stolen_companion(const struct options *o, struct shared *shared, int number)
{
	(void)o;
	(void)number;
	plant_ready(shared);
	for (;;) {
		plant_wait(shared, 1);
		while (plant_is_at_work(shared))
			compute(100000);
	}
}

static void workers_helper(struct job *job, int number)
{
	(void)job;
	(void)number;
	compute(100000);
}

/* ---- all of them -------------------------------------------------------------------------------------- */

static const struct plant plants[] = {
	{ .name = "compaction",
	  .cause = "huge-page faults compact memory that a checkpoint left fragmented",
	  .buffer_bytes = 4 << 20,
	  .huge = true,
	  .keeps = true,
	  .checkpoint = compaction_checkpoint,
	  .over = compaction_over },
	{ .name = "khugepaged",
	  .cause = "khugepaged collapses the arena of a checkpoint while the job maps and unmaps",
	  .buffer_bytes = 1 << 20,
	  .pieces = 4,
	  .prepare = khugepaged_prepare,
	  .checkpoint = khugepaged_checkpoint,
	  .over = khugepaged_over },
	{ .name = "lock",
	  .cause = "helper threads hold the one lock that each step needs",
	  .buffer_bytes = 256 << 10,
	  .locks = true,
	  .helper_run = lock_helper },
	{ .name = "storage",
	  .cause = "each step syncs its state while another process writes and syncs",
	  .buffer_bytes = 256 << 10,
	  .stores = true,
	  .companion = "ckpt-writer",
	  .companion_run = storage_companion },
	{ .name = "stolen",
	  .cause = "other processes use the processors",
	  .buffer_bytes = 256 << 10,
	  .companion = "backupd",
	  .companion_run = stolen_companion },
	{ .name = "workers",
	  .cause = "more threads of the job itself want to run than there are processors",
	  .buffer_bytes = 256 << 10,
	  .helper_run = workers_helper },
	{ .name = "reclaim",
	  .cause =
		  "memory is full of another process's page cache and is reclaimed by who needs it",
	  .buffer_bytes = 4 << 20,
	  .keeps = true,
	  .over = reclaim_over,
	  .companion = "shard-reader",
	  .companion_run = reclaim_companion },
	{ .name = "purge",
	  .cause = "the allocator gives memory back with madvise and faults it in again",
	  .buffer_bytes = 256 << 10,
	  .purges = true },
	{ .name = "nothing", .cause = "nothing is wrong", .buffer_bytes = 256 << 10 },
	{ .name = "harmless",
	  .cause = "huge pages are faulted and collapsed throughout, and harm nobody",
	  .buffer_bytes = 2 << 20,
	  .huge = true,
	  .companion = "dataloader",
	  .companion_run = harmless_companion },
};

const struct plant *plant_find(const char *name)
{
	for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++)
		if (!strcmp(plants[i].name, name))
			return &plants[i];
	return NULL;
}

void plant_list(FILE *out)
{
	for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++)
		fprintf(out, "%-12s%s\n", plants[i].name, plants[i].cause);
}

void plant_start_companions(const struct options *o, struct shared *shared)
{
	pid_t parent = getpid();

	for (int i = 0; o->plant->companion_run && i < o->helpers; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (child)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, o->plant->companion);
		if (getppid() == parent)
			o->plant->companion_run(o, shared, i);
		_exit(0);
	}
}

void plant_wait_for_companions(const struct options *o, struct shared *shared)
{
	if (o->plant->companion_run)
		while (atomic_load(&shared->ready) < o->helpers)
			pause_us(10000);
}

struct helper {
	struct job *job;
	int number;
};

static void *helper_main(void *payload)
{
	struct helper *helper = payload;
	struct job *job = helper->job;
	char name[16];

	snprintf(name, sizeof(name), "helper-%d", helper->number);
	prctl(PR_SET_NAME, name);
	for (;;) {
		plant_wait(job->shared, 1);
		while (plant_is_at_work(job->shared))
			job->options->plant->helper_run(job, helper->number);
	}
	return NULL;
}

void plant_start_helpers(struct job *job)
{
	static struct helper helpers[THREAD_LIMIT];
	pthread_t thread;

	for (int i = 0; job->options->plant->helper_run && i < job->options->helpers; i++) {
		helpers[i] = (struct helper) { job, i };
		errno = pthread_create(&thread, NULL, helper_main, &helpers[i]);
		if (errno)
			die("pthread_create");
		pthread_detach(thread);
	}
}
