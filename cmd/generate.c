/*
 * generate.c - the hidden command that prints manual pages and completions, for the Makefile.
 */
#include "generate.h"

#include <string.h>

static const struct command_option options[] = { OPTIONS_END };

static const struct command_example examples[] = {
	{ "traceloom generate man import | man -l -", "show a manual page" },
	{ "traceloom generate completion bash > traceloom.bash", "make a completion file" },
	{ NULL, NULL },
};

static int generate_man(size_t operand_count, char **operands, struct tl_error *err)
{
	const struct command *command;

	if (operand_count == 1) {
		manual_overview(stdout);
		return EXIT_DONE;
	}
	command = command_find(operands[1]);
	if (!command)
		return tl_fail(err, TL_USAGE, "there is no command '%s'", operands[1]);
	manual_command(stdout, command);
	return EXIT_DONE;
}

static int generate_completion(const char *shell, struct tl_error *err)
{
	if (!strcmp(shell, "bash"))
		completion_bash(stdout);
	else if (!strcmp(shell, "zsh"))
		completion_zsh(stdout);
	else if (!strcmp(shell, "fish"))
		completion_fish(stdout);
	else
		return tl_fail(err, TL_USAGE, "'%s' is none of: bash, zsh, fish", shell);
	return EXIT_DONE;
}

static int generate_commands(void)
{
	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->is_hidden)
			puts(commands[i]->name);
	}
	return EXIT_DONE;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	(void)values;
	if (operand_count == 1 && !strcmp(operands[0], "commands"))
		return generate_commands();
	if (operand_count >= 1 && operand_count <= 2 && !strcmp(operands[0], "man"))
		return generate_man(operand_count, operands, err);
	if (operand_count == 2 && !strcmp(operands[0], "completion"))
		return generate_completion(operands[1], err);
	return tl_fail(err, TL_USAGE, "expected: man [COMMAND], completion SHELL, or commands");
}

const struct command cmd_generate = {
	.name = "generate",
	.usage = "traceloom generate man [COMMAND] | completion bash|zsh|fish | commands",
	.summary = "print manual pages, completions, or the names of the commands",
	.description = "For the Makefile, and for packagers.",
	.examples = examples,
	.options = options,
	.is_hidden = true,
	.run = run,
};
