/*
 * bench_log.c - a log as 'strace -f -tt -T -y' of a training job with 444 threads would be: the
 * mix of calls, lengths of arguments and calls that other threads interrupt. bench_logs.sh builds it.
 *
 *   bench_log LINES >log
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 444, FIRST_TID = 20000 };

static uint64_t state = 20261130;

/* Numbers that look random, the same each time: splitmix64. */
static uint64_t any(uint64_t below)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % below;
}

static void print_bytes(unsigned count)
{
	putchar('"');
	while (count--)
		printf("\\%o", (unsigned)any(256));
	printf("\"...");
}

static void print_text(unsigned count)
{
	printf("\"step %u loss=2.%03u (lr = 1e-4) <", (unsigned)any(100000), (unsigned)any(1000));
	while (count--)
		putchar("0123456789abcdef"[any(16)]);
	printf("\\n\"...");
}

/* A call that waits is seen to begin and, some lines later, to end. */
static const char *begin_wait(unsigned thread)
{
	switch (any(3)) {
	case 0:
		printf("futex(0x7f%08x, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, NULL, "
		       "FUTEX_BITSET_MATCH_ANY <unfinished ...>\n",
		       (unsigned)any(1u << 31));
		return "<... futex resumed>) = 0";
	case 1:
		printf("epoll_wait(%u<anon_inode:[eventpoll]>,  <unfinished ...>\n",
		       5 + thread % 7);
		return "<... epoll_wait resumed>[{events=EPOLLIN, data={u32=7, u64=7}}], 128, 1000) = 1";
	default:
		printf("nanosleep({tv_sec=0, tv_nsec=%u},  <unfinished ...>\n",
		       (unsigned)any(9000000));
		return "<... nanosleep resumed>NULL) = 0";
	}
}

static void print_io(unsigned thread)
{
	unsigned host = thread % 12;

	switch (any(4)) {
	case 0:
		printf("read(%u</srv/data/shard-%03u/part-%05u.bin>, ", (unsigned)(10 + any(50)),
		       (unsigned)any(40), (unsigned)any(90));
		print_bytes(44);
		printf(", 262144) = 262144");
		break;
	case 1:
		printf("write(2</srv/log/train-%02u.log>, ", thread % 20);
		print_text(170);
		printf(", 213) = 213");
		break;
	case 2:
		printf("sendto(%u<TCP:[10.0.3.%u:4%04u->10.0.4.2:2049]>, ", 30 + thread % 9, host,
		       thread);
		print_bytes(20);
		printf(", 172, MSG_NOSIGNAL, NULL, 0) = 172");
		break;
	default:
		printf("recvmsg(%u<TCP:[10.0.3.%u:4%04u->10.0.4.2:2049]>, {msg_name=NULL, "
		       "msg_namelen=0, msg_iov=[{iov_base=",
		       30 + thread % 9, host, thread);
		print_bytes(20);
		printf(", iov_len=4096}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0) = 512");
	}
}

static void print_call(unsigned thread)
{
	uint64_t address = 0x7f0000000000u + any(1u << 30) * 4096;

	switch (any(8)) {
	case 0:
		printf("futex(0x%llx, FUTEX_WAKE_PRIVATE, 1) = 1", (unsigned long long)address);
		break;
	case 1:
		printf("ioctl(%u</dev/davinci%u>, _IOC(_IOC_READ|_IOC_WRITE, 0x48, 0x%02x, 0x20), "
		       "0x%llx) = 0",
		       20 + thread % 8, thread % 8, (unsigned)any(40), (unsigned long long)address);
		break;
	case 2:
		printf("mmap(NULL, %u, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = "
		       "0x%llx",
		       (unsigned)any(1024) * 4096, (unsigned long long)address);
		break;
	case 3:
		printf("munmap(0x%llx, %u) = 0", (unsigned long long)address,
		       (unsigned)any(1024) * 4096);
		break;
	case 4:
		printf("openat(AT_FDCWD</srv/app>, \"/usr/lib/python3/dist-packages/job/mod%03u.so\", "
		       "O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)",
		       (unsigned)any(700));
		break;
	case 5:
		printf("newfstatat(AT_FDCWD</srv/app>, \"/srv/data/shard-%03u/index.json\", "
		       "{st_mode=S_IFREG|0644, st_size=%u, ...}, 0) = 0",
		       (unsigned)any(900), (unsigned)any(1000000));
		break;
	case 6:
		printf("madvise(0x%llx, 2097152, MADV_HUGEPAGE) = 0", (unsigned long long)address);
		break;
	default:
		printf("poll([{fd=%u, events=POLLIN}, {fd=9, events=POLLIN|POLLPRI}], 2, 100) = 1 "
		       "([{fd=%u, revents=POLLIN}])",
		       5 + thread % 9, 5 + thread % 9);
	}
}

int main(int argc, char **argv)
{
	static const char *open_calls[THREADS];
	long lines = argc == 2 ? atol(argv[1]) : 0;
	uint64_t us = 0;

	if (lines <= 0) {
		fprintf(stderr, "usage: bench_log LINES >log\n");
		return 2;
	}
	for (long i = 0; i < lines; i++) {
		unsigned thread = (unsigned)any(THREADS), duration = 5 + (unsigned)any(90);
		uint64_t s = (us += any(60)) / 1000000;

		printf("%u %02u:%02u:%02u.%06u ", FIRST_TID + thread, (unsigned)(s / 3600 % 24),
		       (unsigned)(s / 60 % 60), (unsigned)(s % 60), (unsigned)(us % 1000000));
		if (any(12) == 0)
			duration *= 50;
		if (open_calls[thread]) {
			printf("%s <0.%06u>\n", open_calls[thread], duration);
			open_calls[thread] = NULL;
		} else if (any(5) == 0) {
			open_calls[thread] = begin_wait(thread);
		} else {
			if (any(2) == 0)
				print_io(thread);
			else
				print_call(thread);
			printf(" <0.%06u>\n", duration);
		}
	}
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
