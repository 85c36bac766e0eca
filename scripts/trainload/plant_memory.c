/*
 * plant_memory.c - causes in the kernel's memory management: compaction, khugepaged, reclaim, and
 * huge pages that harm nobody. What must be set in /sys for them is set by who starts the program.
 */
#include "trainload.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* A copy of what is trained, into new memory, with small pages. */
static char *snapshot(struct job *job, size_t size)
{
	char *p = map_bytes(size);

	madvise(p, size, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < size; at += PAGE)
		memcpy(p + at, job->batch + at % (1 << 20), PAGE);
	return p;
}

/* ---- memory that is full -------------------------------------------------------------------------------- */

static long free_mb(void)
{
	FILE *in = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = -1;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "MemFree: %ld", &kb) == 1)
			break;
	if (!in || kb < 0)
		die("/proc/meminfo");
	fclose(in);
	return kb >> 10;
}

/*
 * Pages of the file's hole, one by one so that they are small, all over memory. They stay in the page
 * cache while the file is there, and anybody who needs memory gets it.
 */
void memory_fill(const char *folder, int left_mb)
{
	const off_t batch = 16 << 20;
	off_t from = 0;
	char path[PATH_MAX], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/filler", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)1 << 40))
		die(path);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (; free_mb() > left_mb && from < (off_t)64 << 30; from += batch)
		for (off_t at = from; at < from + batch; at += PAGE)
			if (pread(fd, &byte, 1, at) != 1)
				die(path);
	if (ftruncate(fd, from))
		die(path);
	close(fd);
}

/* ---- compaction ------------------------------------------------------------------------------------------ */

/* Gives every second page back, many in a call. */
static void make_holes(char *memory, size_t size)
{
	enum { BATCH = 1024 };
	static struct iovec holes[BATCH];
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	for (size_t at = PAGE; at < size;) {
		int n = 0;

		for (; n < BATCH && at < size; at += 2 * PAGE)
			holes[n++] = (struct iovec) { memory + at, PAGE };
		if (syscall(SYS_process_madvise, self, holes, n, MADV_DONTNEED, 0) > 0)
			continue;
		/* kernels before 6.13 take only other advice */
		while (n--)
			madvise(holes[n].iov_base, PAGE, MADV_DONTNEED);
	}
	close(self);
}

/*
 * The snapshot takes what is free; then every second page is written out and given back. What is free
 * now are holes between pages that can be moved, and no huge page is whole.
 */
void compaction_checkpoint(struct job *job)
{
	const long reserve_mb = 48, limit_mb = 6144;
	long mb = free_mb() - reserve_mb;

	mb = mb < 64 ? 64 : mb > limit_mb ? limit_mb : mb;
	job->arena_bytes = (size_t)mb << 20;
	job->arena = snapshot(job, job->arena_bytes);
	if (!job->options->off)
		make_holes(job->arena, job->arena_bytes);
}

void compaction_over(struct job *job)
{
	job_release_kept(job);
	if (job->arena)
		munmap(job->arena, job->arena_bytes);
	job->arena = NULL;
}

/* ---- khugepaged ------------------------------------------------------------------------------------------ */

void khugepaged_prepare(struct job *job)
{
	job->arena_bytes = job->options->arena_bytes;
	job->arena = snapshot(job, job->arena_bytes);
}

/* As an operator would; who starts the program puts back what was there. */
static void scan_sleep(const char *milliseconds)
{
	const char *path = "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs";
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, milliseconds, strlen(milliseconds)) < 0)
		die(path);
	close(fd);
}

/* From now on the arena may be of huge pages: khugepaged makes them while the steps go on. */
void khugepaged_checkpoint(struct job *job)
{
	if (job->options->off)
		return;
	madvise(job->arena, job->arena_bytes, MADV_HUGEPAGE);
	scan_sleep("0");
}

void khugepaged_over(struct job *job)
{
	scan_sleep("60000");
	madvise(job->arena, job->arena_bytes, MADV_NOHUGEPAGE);
}

/* ---- reclaim --------------------------------------------------------------------------------------------- */

enum { READERS = 2, AROUND = 16 * PAGE }; /* maps of a file, and how much a fault maps */

/* A file as those who load data see it, each with a map of its own; what is cached is mapped. */
static void map_all(int fd, size_t size, volatile char *maps[READERS])
{
	for (int i = 0; i < READERS; i++) {
		maps[i] = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
		if (maps[i] == MAP_FAILED)
			die("mmap");
	}
}

static void look_at(volatile char *maps[READERS], size_t at)
{
	for (int i = 0; i < READERS; i++)
		(void)maps[i][at];
}

/* What fills memory is in use: it has to be looked at twice before it can go. */
static void use_filler(const struct options *o)
{
	volatile char *maps[READERS];
	char path[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/filler", o->scratch);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return;
	map_all(fd, (size_t)st.st_size, maps);
	for (size_t at = 0; at < (size_t)st.st_size; at += AROUND)
		look_at(maps, at);
}

/*
 * Looks at all of a file of holes, through maps as data sets are read, and then at the next: page cache
 * that is quick to make, that is mapped and was used a moment ago, and that is not needed again.
 */
void reclaim_companion(const struct options *o, struct shared *shared, int number)
{
	const size_t size = (size_t)4 << 30;
	char path[PATH_MAX];

	use_filler(o);
	plant_ready(shared);
	snprintf(path, sizeof(path), "%s/shards-%d", o->scratch, number);
	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		volatile char *maps[READERS];

		if (fd < 0 || ftruncate(fd, (off_t)size))
			die(path);
		unlink(path);
		map_all(fd, size, maps);
		plant_wait(shared, 1);
		for (size_t at = 0; at < size && plant_is_at_work(shared); at += PAGE)
			look_at(maps, at);
		for (int i = 0; i < READERS; i++)
			munmap((void *)maps[i], size);
		close(fd);
	}
}

void reclaim_over(struct job *job)
{
	job_release_kept(job);
}

/* ---- huge pages that harm nobody ------------------------------------------------------------------------- */

/* Memory of small pages that may become huge, now and then anew: khugepaged has always some work. */
void harmless_companion(const struct options *o, struct shared *shared, int number)
{
	const struct timespec pause = { 0, 300000000 };
	size_t size = o->arena_bytes;

	(void)number;
	plant_ready(shared);
	for (;;) {
		char *p = map_bytes(size);

		madvise(p, size, MADV_NOHUGEPAGE);
		touch_pages(p, size);
		madvise(p, size, MADV_HUGEPAGE);
		nanosleep(&pause, NULL);
		munmap(p, size);
	}
}
