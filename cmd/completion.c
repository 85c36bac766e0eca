/*
 * completion.c - completion of commands, options and their words for three shells, from the
 * descriptors. Knows no command. What is neither option nor word is completed as a file name.
 */
#include "generate.h"

#include <string.h>

/* Negated flags are completed too: they are how a default is turned off. */
static void print_option_names(FILE *out, const struct command *command)
{
	for (const struct command_option *o = command->options; o->help; o++) {
		if (o->kind == OPTION_HEADING)
			continue;
		fprintf(out, "--%s ", o->name);
		if (o->kind == OPTION_FLAG && strncmp(o->name, "no-", 3) != 0)
			fprintf(out, "--no-%s ", o->name);
	}
	fputs("--help", out);
}

static void print_command_names(FILE *out)
{
	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->is_hidden)
			fprintf(out, "%s ", commands[i]->name);
	}
	fputs("help", out);
}

static void print_words(FILE *out, const struct command_option *option)
{
	for (int i = 0; option->words[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", option->words[i]);
}

/* For text within single quotes. */
static void print_quoted(FILE *out, const char *text, const char *escape)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr(escape, *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

/* ---- bash --------------------------------------------------------------------------------- */

static void bash_command(FILE *out, const struct command *command)
{
	fprintf(out, "\t%s)\n\t\tcase $previous in\n", command->name);
	for (const struct command_option *o = command->options; o->help; o++) {
		if (o->kind == OPTION_HEADING || o->kind == OPTION_FLAG)
			continue;
		fprintf(out, "\t\t--%s", o->name);
		if (o->letter)
			fprintf(out, " | -%c", o->letter);
		fputs(") ", out);
		if (o->kind == OPTION_WORD) {
			fputs("words='", out);
			print_words(out, o);
			fputs("'", out);
		} else {
			fprintf(out, "kind='%s'", o->is_file ? "file" : "none");
		}
		fputs(" ;;\n", out);
	}
	fputs("\t\t*) options='", out);
	print_option_names(out, command);
	fputs("' ;;\n\t\tesac\n\t\t;;\n", out);
}

void completion_bash(FILE *out)
{
	fputs("# bash completion for traceloom; made by 'traceloom generate completion bash'.\n\n"
	      "_traceloom() {\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal words='' options='' kind=file\n\n"
	      "\t# Readline takes --option=value apart at the equals sign.\n"
	      "\tif [[ $current == = ]]; then\n"
	      "\t\tcurrent=''\n"
	      "\telif [[ $previous == = && $COMP_CWORD -gt 1 ]]; then\n"
	      "\t\tprevious=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tfi\n"
	      "\tif ((COMP_CWORD == 1)); then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W '",
	      out);
	print_command_names(out);
	fputs(" --help --version' -- \"$current\")\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tcase ${COMP_WORDS[1]} in\n",
	      out);
	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->is_hidden)
			bash_command(out, commands[i]);
	}
	fputs("\thelp) words='", out);
	print_command_names(out);
	fputs("' ;;\n"
	      "\tesac\n"
	      "\tif [[ -n $words ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
	      "\telif [[ -n $options && $current == -* ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
	      "\telif [[ $kind == file ]]; then\n"
	      "\t\tcompopt -o filenames 2>/dev/null\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=()\n"
	      "\tfi\n"
	      "}\n"
	      "complete -F _traceloom traceloom\n",
	      out);
}

/* ---- zsh ---------------------------------------------------------------------------------- */

static void zsh_option(FILE *out, const char *dashes, const char *name,
		       const struct command_option *option)
{
	bool is_list = option->kind == OPTION_STRINGS || option->kind == OPTION_INTEGERS;

	fprintf(out, "\t\t\t'%s%s%s[", is_list ? "*" : "", dashes, name);
	print_quoted(out, option->help, "[]:\\");
	fputs("]", out);
	if (option->kind == OPTION_WORD) {
		fprintf(out, ":%s:(", option->argument);
		print_words(out, option);
		fputs(")", out);
	} else if (option->kind != OPTION_FLAG) {
		fputc(':', out);
		print_quoted(out, option->argument, "[]:\\");
		fprintf(out, ":%s", option->is_file ? "_files" : " ");
	}
	fputs("' \\\n", out);
}

static void zsh_command(FILE *out, const struct command *command)
{
	fprintf(out, "\t%s)\n\t\t_arguments -s -S \\\n", command->name);
	for (const struct command_option *o = command->options; o->help; o++) {
		char letter[2] = { o->letter, '\0' };

		if (o->kind == OPTION_HEADING)
			continue;
		zsh_option(out, "--", o->name, o);
		if (o->letter)
			zsh_option(out, "-", letter, o);
	}
	fputs("\t\t\t'--help[show the options]' '*:file:_files'\n\t\t;;\n", out);
}

void completion_zsh(FILE *out)
{
	fputs("#compdef traceloom\n"
	      "# zsh completion for traceloom; made by 'traceloom generate completion zsh'.\n\n"
	      "local -a traceloom_commands\n"
	      "traceloom_commands=(\n",
	      out);
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->is_hidden)
			continue;
		fprintf(out, "\t'%s:", commands[i]->name);
		print_quoted(out, commands[i]->summary, ":\\");
		fputs("'\n", out);
	}
	fputs("\t'help:show help'\n)\n\n"
	      "if ((CURRENT == 2)); then\n"
	      "\t_describe command traceloom_commands\n"
	      "\treturn\n"
	      "fi\n"
	      "shift words\n"
	      "((CURRENT--))\n"
	      "case ${words[1]} in\n",
	      out);
	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->is_hidden)
			zsh_command(out, commands[i]);
	}
	fputs("\thelp) _describe command traceloom_commands ;;\nesac\n", out);
}

/* ---- fish --------------------------------------------------------------------------------- */

static void fish_option(FILE *out, const struct command *command,
			const struct command_option *option)
{
	fprintf(out, "complete -c traceloom -n '__fish_seen_subcommand_from %s' -l %s",
		command->name, option->name);
	if (option->letter)
		fprintf(out, " -s %c", option->letter);
	if (option->kind == OPTION_WORD) {
		fputs(" -x -a '", out);
		print_words(out, option);
		fputs("'", out);
	} else if (option->kind != OPTION_FLAG) {
		fputs(option->is_file ? " -r -F" : " -x", out);
	}
	fputs(" -d '", out);
	for (const char *c = option->help; *c; c++)
		fprintf(out, *c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
	fputs("'\n", out);
}

void completion_fish(FILE *out)
{
	fputs("# fish completion for traceloom; made by 'traceloom generate completion fish'.\n\n"
	      "complete -c traceloom -n '__fish_use_subcommand' -f -a help -d 'show help'\n",
	      out);
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->is_hidden)
			continue;
		fprintf(out, "complete -c traceloom -n '__fish_use_subcommand' -f -a %s -d '",
			commands[i]->name);
		for (const char *c = commands[i]->summary; *c; c++)
			fprintf(out, *c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
		fputs("'\n", out);
		for (const struct command_option *o = commands[i]->options; o->help; o++) {
			if (o->kind != OPTION_HEADING)
				fish_option(out, commands[i], o);
		}
	}
}
