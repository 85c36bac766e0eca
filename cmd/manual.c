/*
 * manual.c - manual pages in roff, from the descriptors. Knows no command.
 */
#include "generate.h"

#include <ctype.h>
#include <string.h>

/* Text that roff must not interpret: no escapes, no requests, minus signs that can be pasted. */
static void print_roff(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		bool begins_line = i == 0 || text[i - 1] == '\n';

		if (begins_line && (text[i] == '.' || text[i] == '\''))
			fputs("\\&", out);
		if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '-')
			fputs("\\-", out);
		else if (text[i] == '\'')
			fputs("\\(aq", out);
		else if (text[i] == '`')
			fputs("\\(ga", out);
		else if (text[i] == '^')
			fputs("\\(ha", out);
		else if (text[i] == '~')
			fputs("\\(ti", out);
		else
			fputc(text[i], out);
	}
}

static void print_text(FILE *out, const char *text)
{
	print_roff(out, text, strlen(text));
}

static void print_line(FILE *out, const char *text)
{
	print_text(out, text);
	fputc('\n', out);
}

static void print_paragraphs(FILE *out, const char *text)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end - text) : strlen(text);

		print_roff(out, text, length);
		fputc('\n', out);
		text += length + (end ? 2 : 0);
		if (*text)
			fputs(".PP\n", out);
	}
}

static void print_title(FILE *out, const char *command)
{
	fputs(".TH TRACELOOM", out);
	if (command)
		fputs("\\-", out);
	for (; command && *command; command++)
		fputc(toupper((unsigned char)*command), out);
	fprintf(out, " 1 \"\" \"traceloom %s\" \"traceloom manual\"\n", TL_VERSION);
}

static bool has_check(const struct command *command)
{
	for (const struct command_option *o = command->options; o->help; o++)
		if (o->name && !strcmp(o->name, "check"))
			return true;
	return false;
}

/* NULL: of the program as a whole */
static void print_exit_status(FILE *out, const struct command *command)
{
	fputs(".SH EXIT STATUS\n"
	      ".TP\n0\ndone\n",
	      out);
	if (!command || has_check(command))
		fputs(".TP\n1\nfound what was asked for; only with \\-\\-check\n", out);
	fputs(".TP\n2\ntrouble; standard error tells which\n"
	      ".TP\n3\nnothing to answer from: no such events, steps or data\n",
	      out);
}

static void print_options(FILE *out, const struct command *command)
{
	char name[128];

	fputs(".SH OPTIONS\n", out);
	for (const struct command_option *o = command->options; o->help; o++) {
		const char *shown = name;

		if (o->kind == OPTION_HEADING) {
			fputs(".SS ", out);
			print_line(out, o->help);
			continue;
		}
		help_option_name(name, sizeof(name), command, o);
		while (*shown == ' ')
			shown++;
		fputs(".TP\n.B ", out);
		print_line(out, shown);
		print_line(out, o->help);
	}
	fputs(".TP\n.B \\-h, \\-\\-help\nshow a summary of the options\n", out);
}

static void print_examples(FILE *out, const struct command *command)
{
	fputs(".SH EXAMPLES\n", out);
	for (const struct command_example *e = command->examples; e->line; e++) {
		fputs(e == command->examples ? "" : ".PP\n", out);
		print_text(out, e->what);
		fputs(":\n.PP\n.nf\n.RS 4\n", out);
		print_line(out, e->line);
		fputs(".RE\n.fi\n", out);
	}
}

static void print_see_also(FILE *out, const struct command *except)
{
	const char *separator = "";

	fputs(".SH SEE ALSO\n", out);
	if (except) {
		fputs(".BR traceloom (1)", out);
		separator = ",\n";
	}
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->is_hidden || commands[i] == except)
			continue;
		fprintf(out, "%s.BR traceloom\\-%s (1)", separator, commands[i]->name);
		separator = ",\n";
	}
	if (!except) /* programs of their own, whose pages are made of their --help */
		fputs(",\n.BR traceloom\\-capture (1),\n.BR traceloom\\-clocks (1)", out);
	fputc('\n', out);
}

void manual_command(FILE *out, const struct command *command)
{
	print_title(out, command->name);
	fprintf(out, ".SH NAME\ntraceloom\\-%s \\- ", command->name);
	print_line(out, command->summary);
	fputs(".SH SYNOPSIS\n.B ", out);
	print_line(out, command->usage);
	fputs(".SH DESCRIPTION\n", out);
	print_paragraphs(out, command->description);
	print_options(out, command);
	print_exit_status(out, command);
	print_examples(out, command);
	print_see_also(out, command);
}

void manual_overview(FILE *out)
{
	print_title(out, NULL);
	fputs(".SH NAME\n"
	      "traceloom \\- recordings of perf and friends on one timeline\n"
	      ".SH SYNOPSIS\n"
	      ".B traceloom\n.I COMMAND\n[options]\n.IR CASE ...\n"
	      ".SH DESCRIPTION\n"
	      "traceloom weaves recordings that were taken apart into one SQLite file, a case,\n"
	      "on one clock, and answers questions about it. Where a command takes a\n"
	      ".IR CASE ,\n"
	      "raw recordings will do: they are imported into a temporary case first.\n"
	      ".PP\n"
	      "Results go to standard output, everything else to standard error. Tables are for\n"
	      "people; \\-\\-json and \\-\\-csv print the same for machines, in base units.\n"
	      ".SH COMMANDS\n",
	      out);
	for (size_t i = 0; commands[i]; i++) {
		if (commands[i]->is_hidden)
			continue;
		fprintf(out, ".TP\n.BR traceloom\\-%s (1)\n", commands[i]->name);
		print_line(out, commands[i]->summary);
	}
	fputs(".SH TIMES\n"
	      "Times are given as seconds from the start of the case (12.5, 500ms), as Unix seconds\n"
	      "(1700000000.25), or as ISO 8601 (2024\\-05\\-01T12:00:00.5+02:00); UTC when no\n"
	      "zone is given.\n",
	      out);
	print_exit_status(out, NULL);
	fputs(".SH ENVIRONMENT\n"
	      ".TP\n.B TMPDIR\nwhere temporary cases and spooled input go; /tmp when not set\n"
	      ".TP\n.B HOME\nits .debug is where perf keeps binaries by their build-ids\n",
	      out);
	print_see_also(out, NULL);
}
