/*
 * calls.c - makes the calls that the logs of this directory are of: threads, children, an exec by a
 * thread, signals, waits with and without end, and strings that look like the lines around them.
 * "calls few" makes those of one thread only, "calls quit" none.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *self;

static void sleep_us(long us)
{
	struct timespec span = { 0, us * 1000 };

	nanosleep(&span, NULL);
}

static void *hold(void *unused)
{
	pthread_mutex_lock(&lock);
	sleep_us(4000);
	pthread_mutex_unlock(&lock);
	sleep_us(1000);
	return unused;
}

static void on_alarm(int number)
{
	(void)number;
}

static void strange_strings(void)
{
	static const char text[] = "a\"b\\ = 1) = 7 <0.000001>\n\t\377\303";
	int fd = open("/dev/null", O_WRONLY);

	if (write(fd, text, sizeof(text) - 1) < 0)
		perror("write");
	close(fd);
	open("/nonexistent \" = -1 x", O_RDONLY);
	open("/tmp/x) = 9 <0.5>", O_RDONLY);
	syscall(9999, 1, 2, 0, 0, -1, 0);
	umask(022);
	ioctl(0, TCGETS, text);
	ioctl(0, _IOC(_IOC_READ | _IOC_WRITE, 0x48, 0x4d, 0x20), text);
	madvise((void *)0x1000, 1, MADV_RANDOM);
}

static void waits(void)
{
	struct pollfd none = { .fd = 1, .events = POLLERR };
	struct timeval span = { 0, 1000 };
	struct epoll_event event;
	struct timespec left = { 0, 500000 };
	int epoll = epoll_create1(0);

	poll(&none, 0, 1);
	select(0, NULL, NULL, NULL, &span);
	epoll_wait(epoll, &event, 1, 1);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &left, NULL);
	close(epoll);
}

static void interrupted(void)
{
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	ualarm(2000, 0);
	sleep_us(10000);
}

static void children(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(3);
	waitpid(pid, &status, 0);
	pid = fork();
	if (pid == 0) {
		raise(SIGUSR1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

static void *execute(void *unused)
{
	execl(self, "calls", "quit", (char *)NULL);
	return unused;
}

/* The thread becomes the leader of another program. */
static void exec_of_thread(void)
{
	pid_t pid = fork();
	pthread_t thread;
	int status;

	if (pid == 0) {
		pthread_create(&thread, NULL, execute, NULL);
		pthread_join(thread, NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	self = argv[0];
	if (argc > 1 && !strcmp(argv[1], "quit"))
		return 0;
	strange_strings();
	waits();
	if (argc > 1 && !strcmp(argv[1], "few"))
		return 0;
	pthread_create(&thread, NULL, hold, NULL);
	sleep_us(1000);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	interrupted();
	children();
	exec_of_thread();
	prctl(PR_SET_NAME, "a> b) = 1");
	getppid();
	return 0;
}
