/*
 * help.c - what --help, help and --version print, made from the descriptors. Knows no command.
 */
#include "command.h"

#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 28 };

/* One paragraph, wrapped; the first line is already `column` wide, the others are indented. */
static void print_wrapped(FILE *out, const char *text, size_t length, int indent, int column)
{
	const char *end = text + length;

	while (text < end) {
		const char *word = text;

		while (text < end && *text != ' ' && *text != '\n')
			text++;
		if (text > word) {
			int word_length = (int)(text - word);

			if (column > indent && column + 1 + word_length > WIDTH) {
				fprintf(out, "\n%*s", indent, "");
				column = indent;
			} else if (column > indent) {
				fputc(' ', out);
				column++;
			}
			fwrite(word, 1, (size_t)word_length, out);
			column += word_length;
		}
		text += text < end;
	}
	fputc('\n', out);
}

static void print_paragraphs(FILE *out, const char *text)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end - text) : strlen(text);

		print_wrapped(out, text, length, 0, 0);
		fputc('\n', out);
		text += length + (end ? 2 : 0);
	}
}

void help_option_name(char *buf, size_t size, const struct command *command,
		      const struct command_option *option)
{
	bool is_on = option->kind == OPTION_FLAG && command->defaults &&
		     *(const bool *)((const char *)command->defaults + option->offset);
	char letter[8] = "    ";

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	snprintf(buf, size, "%s--%s%s%s%s", letter, is_on ? "no-" : "", option->name,
		 option->argument ? " " : "", option->argument ? option->argument : "");
}

static void print_option(FILE *out, const char *name, const char *help)
{
	int column = fprintf(out, "  %s", name);

	if (column > OPTION_COLUMN - 2) {
		fprintf(out, "\n%*s", OPTION_COLUMN, "");
	} else {
		fprintf(out, "%*s", OPTION_COLUMN - column, "");
	}
	print_wrapped(out, help, strlen(help), OPTION_COLUMN, OPTION_COLUMN);
}

void help_command(FILE *out, const struct command *command)
{
	const struct command_option *first = command->options;
	char name[128];

	fprintf(out, "usage: %s\n\n", command->usage);
	print_wrapped(out, command->summary, strlen(command->summary), 0, 0);
	fputc('\n', out);
	print_paragraphs(out, command->description);
	if (first->kind != OPTION_HEADING || !first->help)
		fputs("options:\n", out);
	for (const struct command_option *o = command->options; o->help; o++) {
		if (o->kind == OPTION_HEADING) {
			fprintf(out, "%s%s:\n", o == first ? "" : "\n", o->help);
			continue;
		}
		help_option_name(name, sizeof(name), command, o);
		print_option(out, name, o->help);
	}
	print_option(out, "-h, --help", "show this text");
	fputs("\nexamples:\n", out);
	for (const struct command_example *e = command->examples; e->line; e++) {
		fputs("  # ", out);
		print_wrapped(out, e->what, strlen(e->what), 4, 4);
		fprintf(out, "  %s\n", e->line);
	}
}

void help_overview(FILE *out)
{
	fputs("usage: traceloom COMMAND [options] CASE...\n\n"
	      "Weaves recordings of perf and friends into one timeline file, a case, and\n"
	      "answers questions about it. CASE is such a file, or raw recordings, which are\n"
	      "then imported into a temporary case first.\n\n"
	      "commands:\n",
	      out);
	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->is_hidden)
			fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	}
	fputs("\n'traceloom help COMMAND' or 'traceloom COMMAND --help' tells more;\n"
	      "'traceloom --version' shows the version of the program and of its case files.\n\n"
	      "exit status: 0 done, 1 found what was asked for (only with --check), 2 trouble,\n"
	      "3 nothing to answer from\n",
	      out);
}

void help_version(FILE *out)
{
	fprintf(out, "traceloom %s (case schema %d)\n", TL_VERSION, tl_store_schema_version());
}
