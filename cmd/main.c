/*
 * main.c - dispatch: finds the command, lets it run, and makes an exit status of how it went. No
 * question is answered here.
 */
#include "command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define STATUS_READER_GONE (-1)

/*
 * Results that did not reach stdout are no results. A reader that went away (head, less) is not
 * worth a message, but the status must tell.
 */
static int check_stdout(int status)
{
	bool had_failed = ferror(stdout) != 0;
	int error = 0;

	errno = 0;
	if (fflush(stdout))
		error = errno;
	if (!error && had_failed)
		error = EIO; /* the reason went by unseen */
	if (!error && close(STDOUT_FILENO) && errno != EBADF)
		error = errno;
	if (!error)
		return status;
	if (error != EPIPE) {
		struct pollfd out = { .fd = STDOUT_FILENO };

		if (poll(&out, 1, 0) == 1 && out.revents & POLLERR)
			error = EPIPE;
	}
	if (error == EPIPE)
		return STATUS_READER_GONE;
	tell("standard output: %s", error == EIO ? "could not be written" : strerror(error));
	return EXIT_TROUBLE;
}

static int exit_status(int ret, const struct tl_error *err)
{
	if (ret >= 0)
		return ret;
	if (ret != TL_STOPPED)
		tell_error(err);
	return ret == TL_NOTHING ? EXIT_NOTHING : EXIT_TROUBLE;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct tl_error err = { 0 };
	size_t operand_count = 0;
	bool wants_help = false;
	void *values = NULL;
	int ret = options_parse(command, argc, argv, &values, &operand_count, &wants_help, &err);

	if (ret == TL_OK && wants_help)
		help_command(stdout, command);
	else if (ret == TL_OK)
		ret = command->run(values, operand_count, argv, &err);
	options_release(command, values);
	return exit_status(ret, &err);
}

static int unknown_command(const char *name)
{
	const struct command *nearest = command_nearest(name);

	if (nearest)
		tell("there is no command '%s'; did you mean '%s'?", name, nearest->name);
	else
		tell("there is no command '%s'; 'traceloom help' lists them", name);
	return EXIT_TROUBLE;
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc == 0) {
		help_overview(stdout);
		return EXIT_DONE;
	}
	command = command_find(argv[0]);
	if (!command)
		return unknown_command(argv[0]);
	help_command(stdout, command);
	return EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
	const struct command *command;
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name) {
		help_overview(stderr);
		return EXIT_TROUBLE;
	}
	if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
		return help(argc - 2, argv + 2);
	if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version")) {
		help_version(stdout);
		return EXIT_DONE;
	}
	command = name[0] == '-' ? NULL : command_find(name);
	if (!command)
		return unknown_command(name);
	return run_command(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
	int status;

	/* A reader of stderr or of stdout that goes away must not end an import half way. */
	signal(SIGPIPE, SIG_IGN);
	signals_catch();
	status = check_stdout(dispatch(argc, argv));
	signals_finish();
	if (status == STATUS_READER_GONE) { /* as other tools end that have nobody to write to */
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	return status;
}
