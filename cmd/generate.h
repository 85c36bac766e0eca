/*
 * generate.h - private to cmd/: texts that are made from the command descriptors at build time.
 */
#ifndef CMD_GENERATE_H
#define CMD_GENERATE_H

#include "command.h"

/* traceloom(1), and traceloom-COMMAND(1), as roff. */
void manual_overview(FILE *out);
void manual_command(FILE *out, const struct command *command);

void completion_bash(FILE *out);
void completion_zsh(FILE *out);
void completion_fish(FILE *out);

#endif
