/*
 * clock_load.c - a program whose system calls are of many kinds and lengths, for recordings by which
 * the matching of clocks is judged: `clock_load load STEPS` works in three threads; `clock_load mark
 * COUNT [PAUSE_US]` reads the wall clock right before and after a call that a recorder sees, and prints
 * the times; `clock_load doze COUNT` does little, at uneven times, for recordings of hours.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int steps, pipe_fds[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void work(unsigned *seed, int most)
{
	volatile uint64_t sum = 0;
	int n = 1000 + rand_r(seed) % (most + 1);

	for (int i = 0; i < n; i++)
		sum += (uint64_t)i * i;
}

static void rest(unsigned *seed, long most_us)
{
	struct timespec t = { 0, 1000 * (50 + rand_r(seed) % most_us) };

	nanosleep(&t, NULL);
}

/* A training step: memory comes and goes, something is launched, now and then a checkpoint. */
static void *train(void *unused)
{
	unsigned seed = 1;
	static char buffer[65536];

	(void)unused;
	for (int i = 0; i < steps; i++) {
		size_t size = 4096u << (rand_r(&seed) % 8);
		char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

		memset(memory, 1, size);
		for (int k = 0; k < 4; k++) {
			ioctl(pipe_fds[0], FIONREAD, &(int) { 0 });
			work(&seed, 100000);
		}
		munmap(memory, size);
		if (write(pipe_fds[1], buffer, 1 + (size_t)(rand_r(&seed) % 512)) < 0)
			break;
		pthread_mutex_lock(&lock);
		work(&seed, 50000);
		pthread_mutex_unlock(&lock);
		if (i % 50 == 49) {
			int fd = open("/tmp", O_TMPFILE | O_WRONLY, 0600);

			for (int k = 0; k < 20; k++)
				if (write(fd, buffer, sizeof(buffer)) < 0)
					break;
			fsync(fd);
			close(fd);
		}
		rest(&seed, 2000);
	}
	close(pipe_fds[1]);
	return NULL;
}

static void *load_data(void *unused)
{
	unsigned seed = 2;
	char buffer[512];

	(void)unused;
	while (read(pipe_fds[0], buffer, sizeof(buffer)) > 0) {
		int fd = open("/proc/self/stat", O_RDONLY);

		if (read(fd, buffer, sizeof(buffer)) < 0)
			break;
		close(fd);
		pthread_mutex_lock(&lock);
		work(&seed, 20000);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* The same again and again, at an even pace: what is hard to tell apart. */
static void *tick(void *unused)
{
	(void)unused;
	for (int i = 0; i < steps; i++) {
		struct timespec t = { 0, 2000000 };

		nanosleep(&t, NULL);
	}
	return NULL;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void mark(int count, useconds_t pause_us)
{
	for (int i = 0; i < count; i++) {
		int64_t before, after;

		before = now_ns();
		syscall(SYS_getppid);
		after = now_ns();
		printf("%lld %lld\n", (long long)before, (long long)after);
		fflush(stdout);
		usleep(pause_us);
	}
}

static void doze(int count)
{
	unsigned seed = 3;
	char buffer[512];

	for (int i = 0; i < count; i++) {
		long us = 50000 + rand_r(&seed) % 1500000;
		struct timespec t = { us / 1000000, us % 1000000 * 1000 };
		int fd = open("/proc/self/stat", O_RDONLY);

		if (read(fd, buffer, sizeof(buffer)) < 0)
			return;
		close(fd);
		syscall(SYS_getppid);
		nanosleep(&t, NULL);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	if (argc < 3 || argc > 4)
		return 2;
	steps = atoi(argv[2]);
	if (!strcmp(argv[1], "mark")) {
		mark(steps, argc > 3 ? (useconds_t)atoi(argv[3]) : 5000);
		return 0;
	}
	if (!strcmp(argv[1], "doze")) {
		doze(steps);
		return 0;
	}
	if (pipe(pipe_fds) < 0)
		return 1;
	pthread_create(&threads[0], NULL, train, NULL);
	pthread_create(&threads[1], NULL, load_data, NULL);
	pthread_create(&threads[2], NULL, tick, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
