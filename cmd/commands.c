/*
 * commands.c - the table of commands, and finding one in it. The only place that names them all.
 */
#include "command.h"

#include <string.h>

const struct command *const commands[] = {
	&cmd_import, &cmd_info,	    &cmd_align,	 &cmd_steps,	&cmd_syscalls, &cmd_explain,
	&cmd_thp,    &cmd_collapse, &cmd_events, &cmd_generate, NULL,
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	}
	return NULL;
}

const struct command *command_nearest(const char *name)
{
	const struct command *nearest = NULL;
	size_t best = 3; /* two slips of the finger; more is another word */

	for (size_t i = 0; commands[i]; i++) {
		size_t distance = edit_distance(name, commands[i]->name);

		if (!commands[i]->is_hidden && distance < best) {
			best = distance;
			nearest = commands[i];
		}
	}
	return nearest;
}
