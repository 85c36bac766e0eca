/*
 * options.c - command line arguments into the plain options struct of one command, as its table
 * says. Prints nothing and knows no command.
 */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "reader.h"

struct parser {
	const struct command *command;
	char *values;
	bool wants_help;
};

size_t edit_distance(const char *a, const char *b)
{
	enum { LONGEST = 63 };
	size_t rows[3][LONGEST + 1];
	size_t *two_back = rows[0], *back = rows[1], *row = rows[2];
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length > LONGEST || b_length > LONGEST)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_length; j++)
		back[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *oldest = two_back;

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t best = back[j - 1] + (a[i - 1] != b[j - 1]);

			if (back[j] + 1 < best)
				best = back[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two_back[j - 2] + 1 < best)
				best = two_back[j - 2] + 1;
			row[j] = best;
		}
		two_back = back;
		back = row;
		row = oldest;
	}
	return back[b_length];
}

static const char *nearest_option(const struct command *command, const char *name)
{
	const char *nearest = NULL;
	size_t best = 3;

	for (const struct command_option *o = command->options; o->help; o++) {
		size_t distance;

		if (o->kind == OPTION_HEADING)
			continue;
		/* An abbreviation is the likeliest thing that was meant. */
		distance = !strncmp(o->name, name, strlen(name)) ? 1 : edit_distance(name, o->name);
		if (distance < best) {
			best = distance;
			nearest = o->name;
		}
	}
	return nearest;
}

static bool has_option(const struct command *command, const char *name)
{
	for (const struct command_option *o = command->options; o->help; o++)
		if (o->kind != OPTION_HEADING && !strcmp(o->name, name))
			return true;
	return false;
}

static int fail_unknown(const struct command *command, const char *name, struct tl_error *err)
{
	const char *nearest = *name ? nearest_option(command, name) : NULL;
	const struct command *import = command_find("import");

	/* What says how a log is to be read is not asked of a question. */
	if (import && import != command && has_option(import, name))
		return tl_fail(err, TL_USAGE,
			       "--%s is an option of import: make a case of the recording with it, "
			       "then ask the case",
			       name);
	if (nearest)
		return tl_fail(err, TL_USAGE,
			       "there is no option --%s; did you mean --%s? ('traceloom %s --help' "
			       "lists them)",
			       name, nearest, command->name);
	return tl_fail(err, TL_USAGE, "there is no option --%s ('traceloom %s --help' lists them)",
		       name, command->name);
}

static const struct command_option *find_letter(const struct command *command, char letter)
{
	for (const struct command_option *o = command->options; o->help; o++) {
		if (o->kind != OPTION_HEADING && o->letter == letter)
			return o;
	}
	return NULL;
}

/* *is_negated: the name was found with "no-" in front of it, or without the one it has. */
static const struct command_option *find_name(const struct command *command, const char *name,
					      bool *is_negated)
{
	*is_negated = false;
	for (const struct command_option *o = command->options; o->help; o++) {
		if (o->kind == OPTION_HEADING)
			continue;
		if (!strcmp(o->name, name))
			return o;
	}
	*is_negated = true;
	for (const struct command_option *o = command->options; o->help; o++) {
		if (o->kind != OPTION_FLAG)
			continue;
		if (!strncmp(o->name, "no-", 3) && !strcmp(o->name + 3, name))
			return o;
		if (!strncmp(name, "no-", 3) && !strcmp(name + 3, o->name))
			return o;
	}
	return NULL;
}

static int parse_integer(const struct command_option *option, const char *text, size_t length,
			 int64_t *value, struct tl_error *err)
{
	bool is_negative = length > 0 && *text == '-';
	const char *digits = text + is_negative;
	size_t digit_count = length - is_negative, used;
	uint64_t magnitude = 0;

	if (digit_count > 2 && digits[0] == '0' && (digits[1] | 32) == 'x')
		used = 2 + tl_parse_u64(digits + 2, digit_count - 2, 16, &magnitude);
	else
		used = tl_parse_u64(digits, digit_count, 10, &magnitude);
	if (digit_count == 0 || used != digit_count || magnitude > INT64_MAX)
		return tl_fail(err, TL_USAGE, "--%s: '%.*s' is not an integer", option->name,
			       (int)length, text);
	*value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	if (*value < option->minimum || *value > option->maximum)
		return tl_fail(err, TL_USAGE, "--%s: %lld is not between %lld and %lld",
			       option->name, (long long)*value, (long long)option->minimum,
			       (long long)option->maximum);
	return TL_OK;
}

static int set_integers(const struct command_option *option, struct integer_list *list,
			const char *text, struct tl_error *err)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		int64_t value;
		int ret = parse_integer(option, text, length, &value, err);

		if (ret == TL_OK)
			ret = tl_grow(&list->items, &list->capacity, list->count + 1, err);
		if (ret < 0)
			return ret;
		list->items[list->count++] = value;
		if (!text[length])
			return TL_OK;
		text += length + 1;
	}
}

static int set_word(const struct command_option *option, int *member, const char *text,
		    struct tl_error *err)
{
	char all[256] = "";
	size_t used = 0;

	for (int i = 0; option->words[i]; i++) {
		if (!strcmp(option->words[i], text)) {
			*member = i;
			return TL_OK;
		}
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "",
					 option->words[i]);
		if (used >= sizeof(all))
			used = sizeof(all) - 1;
	}
	return tl_fail(err, TL_USAGE, "--%s: '%s' is none of: %s", option->name, text, all);
}

static int set_value(struct parser *parser, const struct command_option *option, const char *text,
		     struct tl_error *err)
{
	void *member = parser->values + option->offset;
	struct string_list *strings = member;
	int ret;

	switch (option->kind) {
	case OPTION_FLAG:
	case OPTION_HEADING:
		break;
	case OPTION_STRING:
		*(const char **)member = text;
		break;
	case OPTION_INTEGER:
		return parse_integer(option, text, strlen(text), member, err);
	case OPTION_INTEGERS:
		return set_integers(option, member, text, err);
	case OPTION_WORD:
		return set_word(option, member, text, err);
	case OPTION_STRINGS:
		ret = tl_grow(&strings->items, &strings->capacity, strings->count + 1, err);
		if (ret < 0)
			return ret;
		strings->items[strings->count++] = text;
		break;
	}
	return TL_OK;
}

static void set_flag(struct parser *parser, const struct command_option *option, bool value)
{
	*(bool *)(parser->values + option->offset) = value;
}

/* "7", "1,2,3": what cannot be meant as the name of a file. */
static bool is_number_list(const char *text)
{
	return text && *text >= '0' && *text <= '9' && !text[strspn(text, "0123456789,")];
}

/* `next` is the argument after this one, or NULL; 1 is returned when it was used. */
static int parse_long(struct parser *parser, const char *argument, const char *next,
		      struct tl_error *err)
{
	const struct command_option *option;
	const char *equals = strchr(argument, '=');
	size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
	char name[64];
	bool is_negated;
	int ret;

	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, argument, length);
	name[length] = '\0';
	if (!strcmp(name, "help")) {
		parser->wants_help = true;
		return 0;
	}
	option = find_name(parser->command, name, &is_negated);
	if (!option)
		return fail_unknown(parser->command, name, err);
	if (option->kind == OPTION_FLAG) {
		if (equals)
			return tl_fail(err, TL_USAGE, "--%s takes no value, but '%s' was given",
				       name, equals + 1);
		set_flag(parser, option, !is_negated);
		return 0;
	}
	if (option->flag_offset_plus_1 && !equals && !is_number_list(next)) {
		*(bool *)(parser->values + option->flag_offset_plus_1 - 1) = !is_negated;
		return 0;
	}
	if (!equals && !next)
		return tl_fail(err, TL_USAGE, "--%s needs a value: --%s %s", name, name,
			       option->argument);
	ret = set_value(parser, option, equals ? equals + 1 : next, err);
	return ret < 0 ? ret : !equals;
}

static int parse_letters(struct parser *parser, const char *letters, const char *next,
			 struct tl_error *err)
{
	for (; *letters; letters++) {
		const struct command_option *option;
		int ret;

		if (*letters == 'h' && !find_letter(parser->command, 'h')) {
			parser->wants_help = true;
			continue;
		}
		option = find_letter(parser->command, *letters);
		if (!option)
			return tl_fail(err, TL_USAGE,
				       "there is no option -%c ('traceloom %s --help' lists them)",
				       *letters, parser->command->name);
		if (option->kind == OPTION_FLAG) {
			set_flag(parser, option, true);
			continue;
		}
		if (!letters[1] && !next)
			return tl_fail(err, TL_USAGE, "-%c needs a value: -%c %s", *letters,
				       *letters, option->argument);
		ret = set_value(parser, option, letters[1] ? letters + 1 : next, err);
		return ret < 0 ? ret : !letters[1];
	}
	return 0;
}

int options_parse(const struct command *command, int argc, char **argv, void **values,
		  size_t *operand_count, bool *wants_help, struct tl_error *err)
{
	struct parser parser = { .command = command };
	bool is_literal = false; /* after "--" */
	size_t operands = 0;
	int ret = 0;

	*values = NULL;
	parser.values = tl_alloc(1, command->options_size ? command->options_size : 1, err);
	if (!parser.values)
		return TL_NOMEM;
	if (command->defaults)
		memcpy(parser.values, command->defaults, command->options_size);
	for (int i = 0; i < argc && ret >= 0; i++) {
		char *argument = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;

		if (is_literal || argument[0] != '-' || !argument[1]) {
			argv[operands++] = argument;
			continue;
		}
		if (!strcmp(argument, "--")) {
			is_literal = true;
			continue;
		}
		if (argument[1] == '-')
			ret = parse_long(&parser, argument + 2, next, err);
		else
			ret = parse_letters(&parser, argument + 1, next, err);
		i += ret > 0;
	}
	if (ret < 0) {
		options_release(command, parser.values);
		return ret;
	}
	*values = parser.values;
	*operand_count = operands;
	*wants_help = parser.wants_help;
	return TL_OK;
}

void options_release(const struct command *command, void *values)
{
	if (!values)
		return;
	for (const struct command_option *o = command->options; o->help; o++) {
		void *member = (char *)values + o->offset;

		if (o->kind == OPTION_STRINGS)
			free(((struct string_list *)member)->items);
		else if (o->kind == OPTION_INTEGERS)
			free(((struct integer_list *)member)->items);
	}
	free(values);
}
