/*
 * options_test.c - the option parser, on a command of its own.
 */
#include "command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum colour { RED, GREEN, BLUE };
static const char *const colours[] = { "red", "green", "blue", NULL };

struct values {
	bool is_loud, no_dots, is_on;
	const char *name;
	int64_t count;
	enum colour colour;
	struct string_list patterns;
	struct integer_list tids, cpus;
	bool all_cpus;
};

static const struct values defaults = { .is_on = true, .count = 7, .colour = BLUE };
static const struct command_option options[] = {
	FLAG(struct values, is_loud, 'l', "loud", "be loud"),
	FLAG(struct values, no_dots, 0, "no-dots", "leave out the dots"),
	FLAG(struct values, is_on, 'n', "on", "be on"),
	HEADING("others"),
	FILE_NAME(struct values, name, 'o', "output", "FILE", "where to"),
	INTEGER(struct values, count, 'c', "count", "N", -5, 100, "how many"),
	WORD(struct values, colour, 0, "colour", "WORD", colours, "which colour"),
	STRINGS(struct values, patterns, 'p', "pattern", "REGEX", "what to match"),
	INTEGERS(struct values, tids, 0, "tid", "TID", 0, INT32_MAX, "which threads"),
	INTEGERS_OR_FLAG(struct values, cpus, all_cpus, 0, "cpu", "[N]", 0, 4095, "which cpus"),
	OPTIONS_END,
};
static const struct command command = {
	.name = "test",
	.options = options,
	.defaults = &defaults,
	.options_size = sizeof(struct values),
};

struct parsed {
	char *argv[16];
	size_t operand_count;
	bool wants_help;
	struct values *values;
	struct tl_error err;
	int ret;
};

/* `line` is split at blanks. */
static struct parsed parse(const char *line)
{
	static char buffer[512];
	struct parsed p = { 0 };
	char *save = NULL;
	void *values;
	int argc = 0;

	snprintf(buffer, sizeof(buffer), "%s", line);
	for (char *word = strtok_r(buffer, " ", &save); word; word = strtok_r(NULL, " ", &save))
		p.argv[argc++] = word;
	p.ret = options_parse(&command, argc, p.argv, &values, &p.operand_count, &p.wants_help,
			      &p.err);
	p.values = values;
	return p;
}

static void assert_refused(const char *line, const char *message)
{
	struct parsed p = parse(line);

	assert_int_equal(p.ret, TL_USAGE);
	assert_null(p.values);
	assert_string_equal(p.err.text, message);
}

static void a_list_that_may_be_a_flag_takes_only_numbers(void **state)
{
	struct parsed p = parse("--cpu 3,4 a.db");

	(void)state;
	assert_int_equal(p.ret, TL_OK);
	assert_int_equal(p.values->cpus.count, 2);
	assert_int_equal(p.values->cpus.items[1], 4);
	assert_false(p.values->all_cpus);
	assert_int_equal(p.operand_count, 1);
	options_release(&command, p.values);
	p = parse("--cpu 3.db");
	assert_int_equal(p.ret, TL_OK);
	assert_true(p.values->all_cpus);
	assert_int_equal(p.values->cpus.count, 0);
	assert_int_equal(p.operand_count, 1);
	options_release(&command, p.values);
	p = parse("--cpu");
	assert_int_equal(p.ret, TL_OK);
	assert_true(p.values->all_cpus);
	options_release(&command, p.values);
	assert_refused("--cpu=x", "--cpu: 'x' is not an integer");
}

static void nothing_given_leaves_the_defaults(void **state)
{
	struct parsed p = parse("");

	(void)state;
	assert_int_equal(p.ret, TL_OK);
	assert_true(p.values->is_on);
	assert_int_equal(p.values->count, 7);
	assert_int_equal(p.values->colour, BLUE);
	assert_int_equal(p.operand_count, 0);
	options_release(&command, p.values);
}

static void value_may_follow_an_equals_sign_or_a_blank(void **state)
{
	struct parsed p = parse("--output=a=b --count 12");

	(void)state;
	assert_string_equal(p.values->name, "a=b");
	assert_int_equal(p.values->count, 12);
	options_release(&command, p.values);
}

static void letters_may_be_joined_and_hold_a_value(void **state)
{
	struct parsed p = parse("-lofile -c -5");

	(void)state;
	assert_true(p.values->is_loud);
	assert_string_equal(p.values->name, "file");
	assert_int_equal(p.values->count, -5);
	options_release(&command, p.values);
}

static void no_in_front_clears_a_flag(void **state)
{
	struct parsed p = parse("--no-on --loud --no-loud");

	(void)state;
	assert_false(p.values->is_on);
	assert_false(p.values->is_loud);
	options_release(&command, p.values);
}

static void flag_named_no_is_cleared_without_it(void **state)
{
	struct parsed p = parse("--no-dots"), q = parse("--no-dots --dots");

	(void)state;
	assert_true(p.values->no_dots);
	assert_false(q.values->no_dots);
	options_release(&command, p.values);
	options_release(&command, q.values);
}

static void word_becomes_its_enum(void **state)
{
	struct parsed p = parse("--colour green");

	(void)state;
	assert_int_equal(p.values->colour, GREEN);
	options_release(&command, p.values);
}

static void repeated_options_are_collected_in_order(void **state)
{
	struct parsed p = parse("-p a --tid 3,1 --pattern b --tid=2");

	(void)state;
	assert_int_equal(p.values->patterns.count, 2);
	assert_string_equal(p.values->patterns.items[0], "a");
	assert_string_equal(p.values->patterns.items[1], "b");
	assert_int_equal(p.values->tids.count, 3);
	assert_int_equal(p.values->tids.items[0], 3);
	assert_int_equal(p.values->tids.items[1], 1);
	assert_int_equal(p.values->tids.items[2], 2);
	options_release(&command, p.values);
}

static void operands_may_stand_between_options(void **state)
{
	struct parsed p = parse("one -l two - -- --three -x");

	(void)state;
	assert_int_equal(p.operand_count, 5);
	assert_string_equal(p.argv[0], "one");
	assert_string_equal(p.argv[1], "two");
	assert_string_equal(p.argv[2], "-");
	assert_string_equal(p.argv[3], "--three");
	assert_string_equal(p.argv[4], "-x");
	assert_true(p.values->is_loud);
	options_release(&command, p.values);
}

static void help_is_noticed(void **state)
{
	struct parsed p = parse("--help"), q = parse("-lh");

	(void)state;
	assert_true(p.wants_help);
	assert_true(q.wants_help);
	options_release(&command, p.values);
	options_release(&command, q.values);
}

static void unknown_option_is_refused_with_the_nearest(void **state)
{
	(void)state;
	assert_refused("--cuont 3", "there is no option --cuont; did you mean --count? ('traceloom "
				    "test --help' lists them)");
	assert_refused("--zebra",
		       "there is no option --zebra ('traceloom test --help' lists them)");
	assert_refused("-z", "there is no option -z ('traceloom test --help' lists them)");
}

static void abbreviation_is_refused_with_the_whole(void **state)
{
	(void)state;
	assert_refused("--out x", "there is no option --out; did you mean --output? ('traceloom "
				  "test --help' lists them)");
}

static void missing_value_is_refused(void **state)
{
	(void)state;
	assert_refused("--output", "--output needs a value: --output FILE");
	assert_refused("-o", "-o needs a value: -o FILE");
}

static void value_of_a_flag_is_refused(void **state)
{
	(void)state;
	assert_refused("--loud=yes", "--loud takes no value, but 'yes' was given");
}

static void what_is_no_integer_is_refused(void **state)
{
	(void)state;
	assert_refused("--count 1x", "--count: '1x' is not an integer");
	assert_refused("--count=", "--count: '' is not an integer");
	assert_refused("--count 99999999999999999999",
		       "--count: '99999999999999999999' is not an integer");
	assert_refused("--tid 1,,2", "--tid: '' is not an integer");
}

static void integer_out_of_its_range_is_refused(void **state)
{
	(void)state;
	assert_refused("--count 101", "--count: 101 is not between -5 and 100");
	assert_refused("--tid 3,-1", "--tid: -1 is not between 0 and 2147483647");
}

static void unknown_word_is_refused_with_all_words(void **state)
{
	(void)state;
	assert_refused("--colour pink", "--colour: 'pink' is none of: red, green, blue");
}

static void negated_option_with_a_value_is_unknown(void **state)
{
	(void)state;
	assert_refused("--no-count", "there is no option --no-count ('traceloom test --help' lists "
				     "them)");
}

static void edit_distance_counts_slips(void **state)
{
	(void)state;
	assert_int_equal(edit_distance("count", "count"), 0);
	assert_int_equal(edit_distance("cuont", "count"), 1);
	assert_int_equal(edit_distance("kitten", "sitting"), 3);
	assert_int_equal(edit_distance("", "abc"), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_given_leaves_the_defaults),
		cmocka_unit_test(a_list_that_may_be_a_flag_takes_only_numbers),
		cmocka_unit_test(value_may_follow_an_equals_sign_or_a_blank),
		cmocka_unit_test(letters_may_be_joined_and_hold_a_value),
		cmocka_unit_test(no_in_front_clears_a_flag),
		cmocka_unit_test(flag_named_no_is_cleared_without_it),
		cmocka_unit_test(word_becomes_its_enum),
		cmocka_unit_test(repeated_options_are_collected_in_order),
		cmocka_unit_test(operands_may_stand_between_options),
		cmocka_unit_test(help_is_noticed),
		cmocka_unit_test(unknown_option_is_refused_with_the_nearest),
		cmocka_unit_test(abbreviation_is_refused_with_the_whole),
		cmocka_unit_test(missing_value_is_refused),
		cmocka_unit_test(value_of_a_flag_is_refused),
		cmocka_unit_test(what_is_no_integer_is_refused),
		cmocka_unit_test(integer_out_of_its_range_is_refused),
		cmocka_unit_test(unknown_word_is_refused_with_all_words),
		cmocka_unit_test(negated_option_with_a_value_is_unknown),
		cmocka_unit_test(edit_distance_counts_slips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
