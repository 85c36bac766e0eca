/*
 * bench_load.c - something to record: threads that compute in deep and varied call chains, sleep,
 * read, fault pages in and wait for each other. bench.sh builds and records it.
 *
 *   bench_load SECONDS
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { COMPUTE_THREADS = 2, PAIR_COUNT = 2, DEPTH = 24, WORK = 2000 };

static double end_seconds;

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool is_over(void)
{
	return now_seconds() >= end_seconds;
}

static void name_thread(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}

/* ---- computing: which function calls which is drawn from a seed, so stacks differ ------------- */

static NOINLINE unsigned leaf_mix(unsigned seed)
{
	for (int i = 0; i < WORK; i++)
		seed = seed * 1664525u + 1013904223u;
	return seed;
}

static NOINLINE unsigned leaf_fold(unsigned seed)
{
	for (int i = 0; i < WORK; i++)
		seed ^= seed << 13 ^ seed >> 7;
	return seed;
}

static unsigned descend(unsigned seed, int depth);

/* The sum after the call keeps it from becoming a jump, which would hide the frame. */
#define BRANCH(name, step)                                          \
	static NOINLINE unsigned name(unsigned seed, int depth)     \
	{                                                           \
		return descend(seed * 31u + (step), depth - 1) + 1; \
	}
BRANCH(parse_header, 1)
BRANCH(parse_body, 2)
BRANCH(encode_row, 3)
BRANCH(encode_column, 5)
BRANCH(hash_table, 7)
BRANCH(sort_table, 11)
BRANCH(merge_runs, 13)
BRANCH(split_runs, 17)

static NOINLINE unsigned descend(unsigned seed, int depth)
{
	static unsigned (*const branches[])(unsigned, int) = {
		parse_header, parse_body, encode_row, encode_column,
		hash_table,   sort_table, merge_runs, split_runs,
	};

	if (depth <= 0)
		return seed & 1 ? leaf_mix(seed) : leaf_fold(seed);
	return branches[seed >> 5 & 7](seed, depth) + 1;
}

static void *compute(void *payload)
{
	unsigned seed = (unsigned)(size_t)payload * 2654435761u + 1;

	name_thread("compute");
	while (!is_over()) {
		/* Few enough different paths that they repeat, as they do in real programs. */
		unsigned path = seed % 997 * 40503u;

		seed = seed * 1664525u + descend(path, 4 + (int)(path % DEPTH)) % 7 + 1013904223u;
	}
	return (void *)(size_t)seed;
}

/* ---- waiting ---------------------------------------------------------------------------------- */

struct pair {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_ping;
};

/* Two threads that hand a token to and fro: futexes and context switches. */
static NOINLINE void pass_token(struct pair *pair, bool mine)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&pair->mutex);
	while (pair->is_ping != mine) {
		if (pthread_cond_timedwait(&pair->changed, &pair->mutex, &until))
			break; /* the other one has gone home */
	}
	pair->is_ping = !mine;
	pthread_cond_signal(&pair->changed);
	pthread_mutex_unlock(&pair->mutex);
}

static void *ping(void *payload)
{
	name_thread("ping");
	while (!is_over()) {
		leaf_mix(1);
		pass_token(payload, true);
	}
	return NULL;
}

static void *pong(void *payload)
{
	struct timespec pause = { 0, 400000 };

	name_thread("pong");
	while (!is_over()) {
		nanosleep(&pause, NULL);
		pass_token(payload, false);
	}
	return NULL;
}

static void *read_and_sleep(void *payload)
{
	struct timespec pause = { 0, 200000 };
	char buffer[65536];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	(void)payload;
	name_thread("reader");
	while (fd >= 0 && !is_over()) {
		if (read(fd, buffer, sizeof(buffer)) <= 0)
			break;
		nanosleep(&pause, NULL);
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void *touch_pages(void *payload)
{
	enum { SIZE = 8 << 20 };
	struct timespec pause = { 0, 1000000 };

	(void)payload;
	name_thread("pages");
	while (!is_over()) {
		void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

		if (memory == MAP_FAILED)
			break;
		memset(memory, 1, SIZE);
		munmap(memory, SIZE);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	enum { THREADS = COMPUTE_THREADS + 2 * PAIR_COUNT + 2 };
	static struct pair pairs[PAIR_COUNT];
	pthread_t threads[THREADS];
	int count = 0;

	end_seconds = now_seconds() + (argc > 1 ? strtod(argv[1], NULL) : 1);
	for (size_t i = 0; i < COMPUTE_THREADS; i++)
		pthread_create(&threads[count++], NULL, compute, (void *)i);
	for (int i = 0; i < PAIR_COUNT; i++) {
		pthread_mutex_init(&pairs[i].mutex, NULL);
		pthread_cond_init(&pairs[i].changed, NULL);
		pthread_create(&threads[count++], NULL, ping, &pairs[i]);
		pthread_create(&threads[count++], NULL, pong, &pairs[i]);
	}
	pthread_create(&threads[count++], NULL, read_and_sleep, NULL);
	pthread_create(&threads[count++], NULL, touch_pages, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
