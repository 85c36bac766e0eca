/*
 * planted.c - a slow lock among idle threads: `planted ROUNDS SLOW_FROM IDLE`.
 *
 * The thread "worker" computes for 2 ms and takes a lock, ROUNDS times. The main thread holds that
 * lock for half a millisecond whenever the worker wants it; from round SLOW_FROM on for 15 to 50 ms.
 * IDLE threads "idle-N" sit in epoll_wait on an eventfd each, which is written to now and then, at
 * distances that grow from 40 ms to seconds. gcc -O2 -pthread.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { FAST_HOLD_US = 500, WORK_US = 2000, IDLE_MAX = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int held = -1, wanted = -1, done = -1; /* the last round of which this is so */
static int rounds;
static int wakers[IDLE_MAX];

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void burn_us(int64_t us)
{
	int64_t end = now_ns() + us * 1000;

	while (now_ns() < end)
		;
}

static void sleep_us(int64_t us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static void *work(void *unused)
{
	prctl(PR_SET_NAME, "worker");
	for (int i = 0; i < rounds; i++) {
		burn_us(WORK_US);
		while (atomic_load(&held) < i)
			;
		atomic_store(&wanted, i);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		atomic_store(&done, i);
	}
	return unused;
}

static void *idle(void *payload)
{
	int index = (int)(intptr_t)payload;
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);
	char name[16];
	uint64_t value;

	snprintf(name, sizeof(name), "idle-%d", index);
	prctl(PR_SET_NAME, name);
	epoll_ctl(epoll, EPOLL_CTL_ADD, wakers[index], &event);
	for (;;)
		if (epoll_wait(epoll, &event, 1, -1) == 1 &&
		    read(wakers[index], &value, sizeof(value)) < 0)
			return NULL;
}

int main(int argc, char **argv)
{
	int slow_from = argc > 2 ? atoi(argv[2]) : 140;
	int idle_count = argc > 3 ? atoi(argv[3]) : 40;
	uint32_t random = 12345;
	pthread_t worker, thread;

	rounds = argc > 1 ? atoi(argv[1]) : 200;
	for (int i = 0; i < idle_count && i < IDLE_MAX; i++) {
		wakers[i] = eventfd(0, 0);
		pthread_create(&thread, NULL, idle, (void *)(intptr_t)i);
	}
	pthread_create(&worker, NULL, work, NULL);
	for (int i = 0; i < rounds; i++) {
		uint64_t one = 1;

		random = random * 1103515245 + 12345;
		pthread_mutex_lock(&lock);
		atomic_store(&held, i);
		while (atomic_load(&wanted) < i)
			;
		sleep_us(i < slow_from ? FAST_HOLD_US : 15000 + (random >> 8) % 35000);
		pthread_mutex_unlock(&lock);
		if ((i & (i - 1)) == 0 || i % 16 == 0)
			(void)!write(wakers[i % idle_count % IDLE_MAX], &one, sizeof(one));
		while (atomic_load(&done) < i)
			;
	}
	pthread_join(worker, NULL);
	return 0;
}
