/*
 * commands_test.c - what every command's descriptor must keep to, so that help, manual and
 * completion can be made from it.
 */
#include "generate.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_phrase(const char *where, const char *text)
{
	size_t length = strlen(text);

	if (!length || isupper((unsigned char)text[0]) != 0)
		fail_msg("%s: '%s' should begin in lower case", where, text);
	if (text[length - 1] == '.')
		fail_msg("%s: '%s' should not end in a full stop", where, text);
}

static void summaries_are_phrases(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		assert_phrase(commands[i]->name, commands[i]->summary);
		assert_true(strlen(commands[i]->summary) < 66);
	}
}

static void usages_name_the_command(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		char start[64];

		snprintf(start, sizeof(start), "traceloom %s", commands[i]->name);
		if (strncmp(commands[i]->usage, start, strlen(start)) != 0)
			fail_msg("usage of %s is '%s'", commands[i]->name, commands[i]->usage);
	}
}

static void options_are_well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		for (const struct command_option *o = commands[i]->options; o->help; o++) {
			if (o->kind == OPTION_HEADING)
				continue;
			assert_phrase(o->name, o->help);
			assert_true(o->offset < commands[i]->options_size);
			if ((o->kind == OPTION_FLAG) != !o->argument)
				fail_msg("--%s of %s: flags have no argument, others do", o->name,
					 commands[i]->name);
			if ((o->kind == OPTION_WORD) != (o->words != NULL))
				fail_msg("--%s of %s: words are for words", o->name,
					 commands[i]->name);
		}
	}
}

static void option_names_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		for (const struct command_option *o = commands[i]->options; o->help; o++) {
			for (const struct command_option *p = commands[i]->options; p < o; p++) {
				if (o->kind == OPTION_HEADING || p->kind == OPTION_HEADING)
					continue;
				if (!strcmp(o->name, p->name) ||
				    (o->letter && o->letter == p->letter))
					fail_msg("%s has --%s twice", commands[i]->name, o->name);
			}
		}
	}
}

/* The words of one call of the command, as a shell would cut them; stops where the call ends. */
static int split_words(char *line, char **argv, int limit)
{
	int argc = 0;

	while (*line && argc < limit) {
		char *out = line, quote = '\0';

		while (*line == ' ')
			line++;
		if (!*line || strchr("|>&;", *line))
			break;
		argv[argc++] = out = line;
		for (; *line && (quote || *line != ' '); line++) {
			if (quote ? *line == quote : *line == '\'' || *line == '"')
				quote = quote ? '\0' : *line;
			else
				*out++ = *line;
		}
		line += *line == ' ';
		*out = '\0';
	}
	return argc;
}

static void examples_can_be_parsed(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		char call[64];

		assert_non_null(commands[i]->examples[0].line);
		snprintf(call, sizeof(call), "traceloom %s ", commands[i]->name);
		for (const struct command_example *e = commands[i]->examples; e->line; e++) {
			const char *found = strstr(e->line, call);
			struct tl_error err = { 0 };
			size_t operand_count;
			bool wants_help;
			char line[512], *argv[32];
			void *values;
			int argc;

			assert_phrase(commands[i]->name, e->what);
			if (!found)
				fail_msg("'%s' does not call '%s'", e->line, call);
			snprintf(line, sizeof(line), "%s", found + strlen(call));
			argc = split_words(line, argv, 32);
			if (options_parse(commands[i], argc, argv, &values, &operand_count,
					  &wants_help, &err) < 0)
				fail_msg("'%s': %s", e->line, err.text);
			options_release(commands[i], values);
		}
	}
}

/* What was printed last; a global, for the stream writes to it until it is closed. */
static char *printed;
static size_t printed_length;

/* Prints into memory; the caller frees. */
static char *captured(void (*print)(FILE *, const struct command *), const struct command *command)
{
	FILE *file = open_memstream(&printed, &printed_length);

	print(file, command);
	fclose(file);
	return printed;
}

static void help_fits_eighty_columns(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		char *text = captured(help_command, commands[i]);
		char *line = text, *examples = strstr(text, "\nexamples:\n");

		assert_non_null(examples);
		while (line < examples) {
			size_t length = strcspn(line, "\n");

			if (length > 80)
				fail_msg("help of %s: '%.*s'", commands[i]->name, (int)length,
					 line);
			line += length + 1;
		}
		free(text);
	}
}

static void help_and_manual_show_every_option(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		char *help = captured(help_command, commands[i]);
		char *manual = captured(manual_command, commands[i]);

		for (const struct command_option *o = commands[i]->options; o->help; o++) {
			char name[64], roff[128];
			size_t length = 0;

			if (o->kind == OPTION_HEADING)
				continue;
			snprintf(name, sizeof(name), "%s", o->name);
			for (const char *c = name; *c; c++)
				length += (size_t)snprintf(roff + length, sizeof(roff) - length,
							   *c == '-' ? "\\-" : "%c", *c);
			assert_non_null(strstr(help, name));
			assert_non_null(strstr(manual, roff));
		}
		free(help);
		free(manual);
	}
}

static void manual_has_no_bare_request(void **state)
{
	/* A line that begins with a dot must be one of ours: a macro in capitals, or fill. */
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		char *text = captured(manual_command, commands[i]);

		for (char *line = text; line; line = strchr(line, '\n')) {
			line += *line == '\n';
			if (*line == '.' && !isupper((unsigned char)line[1]) &&
			    strncmp(line, ".nf\n", 4) != 0 && strncmp(line, ".fi\n", 4) != 0)
				fail_msg("manual of %s: '%.60s'", commands[i]->name, line);
			if (*line == '\'')
				fail_msg("manual of %s: '%.60s'", commands[i]->name, line);
		}
		free(text);
	}
}

static void nearest_command_is_found(void **state)
{
	(void)state;
	assert_ptr_equal(command_nearest("imprt"), &cmd_import);
	assert_null(command_nearest("zebra"));
	/* What is hidden is not advertised. */
	assert_null(command_nearest("generat"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summaries_are_phrases),
		cmocka_unit_test(usages_name_the_command),
		cmocka_unit_test(options_are_well_formed),
		cmocka_unit_test(option_names_are_unique),
		cmocka_unit_test(examples_can_be_parsed),
		cmocka_unit_test(help_fits_eighty_columns),
		cmocka_unit_test(help_and_manual_show_every_option),
		cmocka_unit_test(manual_has_no_bare_request),
		cmocka_unit_test(nearest_command_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
