/*
 * terminal.c - messages to stderr, a progress line when stderr is a terminal, and the signals that
 * ask to stop. Nothing here goes to stdout.
 */
#include "command.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void tell(const char *fmt, ...)
{
	char text[2048], shown[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	tl_printable(shown, sizeof(shown), text, strlen(text));
	fprintf(stderr, "traceloom: %s\n", shown);
}

void tell_error(const struct tl_error *err)
{
	char text[1024];

	tell("%s", tl_error_format(err, text, sizeof(text)));
}

/* ---- signals ------------------------------------------------------------------------------ */

static const int stopping_signals[] = { SIGINT, SIGTERM, SIGHUP };
enum { STOPPING_SIGNAL_COUNT = sizeof(stopping_signals) / sizeof(stopping_signals[0]) };
/* A handler can reach nothing but a global. */
static volatile sig_atomic_t stopped_by;

/* A read from a pipe that began just after a look at stopped_by would wait for ever, if nobody writes. */
static void wake_reader(int number)
{
	(void)number;
	alarm(1);
}

static void note_signal(int number)
{
	stopped_by = number;
	alarm(1);
}

void signals_catch(void)
{
	/* SA_RESETHAND: who asks a second time does not want to wait for a tidy end. */
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND };
	struct sigaction waking = { .sa_handler = wake_reader }, old;

	sigemptyset(&action.sa_mask);
	sigemptyset(&waking.sa_mask);
	sigaction(SIGALRM, &waking, NULL);
	for (int i = 0; i < STOPPING_SIGNAL_COUNT; i++) {
		/* What the caller told us to ignore (nohup) stays ignored. */
		if (!sigaction(stopping_signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(stopping_signals[i], &action, NULL);
	}
}

bool signals_stopped(void)
{
	return stopped_by != 0;
}

void signals_finish(void)
{
	int number = (int)stopped_by;

	if (!number)
		return;
	signal(number, SIG_DFL);
	raise(number);
}

/* ---- progress ----------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void progress_begin(struct progress *progress, const char *label)
{
	const char *terminal = getenv("TERM");

	memset(progress, 0, sizeof(*progress));
	progress->label = label;
	progress->is_shown = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
	/* What is done within half a second needs no progress line. */
	progress->next_ns = now_ns() + INT64_C(500000000);
}

int progress_step(double fraction, uint64_t records, void *payload)
{
	struct progress *progress = payload;
	char shown[64];
	int64_t now;

	if (signals_stopped())
		return 1;
	if (!progress->is_shown)
		return 0;
	now = now_ns();
	if (now < progress->next_ns)
		return 0;
	progress->next_ns = now + INT64_C(100000000);
	progress->has_line = true;
	tl_printable(shown, sizeof(shown), progress->label, strlen(progress->label));
	if (fraction >= 0)
		fprintf(stderr, "\r\033[K%s: %3.0f %%, %llu records", shown, 100 * fraction,
			(unsigned long long)records);
	else
		fprintf(stderr, "\r\033[K%s: %llu records", shown, (unsigned long long)records);
	fflush(stderr);
	return 0;
}

void progress_end(struct progress *progress)
{
	if (progress->has_line)
		fputs("\r\033[K", stderr);
	progress->has_line = false;
}
