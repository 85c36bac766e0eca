/*
 * strace_table.c - lines of the tables that -c, -C and -w print behind a log, in whatever columns -U
 * asks for.
 */
#include "strace_log.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

size_t strace_blanks(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && is_blank(text[at]))
		at++;
	return at;
}

/* The next word from `at`, which is set behind it; text NULL: there is none. */
static struct strace_span next_word(const char *text, size_t len, size_t *at)
{
	struct strace_span word = { NULL, 0 };
	size_t from = *at + strace_blanks(text + *at, len - *at);

	*at = from;
	while (*at < len && !is_blank(text[*at]))
		++*at;
	if (*at > from)
		word = (struct strace_span) { text + from, *at - from };
	return word;
}

static bool is_title(struct strace_span word)
{
	static const char *const titles[] = { "%",	  "time",   "seconds", "usecs/call",
					      "calls",	  "errors", "syscall", "function",
					      "shortest", "longest" };

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		if (strace_span_is(word, titles[i]))
			return true;
	return false;
}

bool strace_is_table_head(const char *text, size_t len)
{
	struct strace_span word;
	unsigned count = 0;
	size_t at = 0;

	while ((word = next_word(text, len, &at)).text) {
		if (!is_title(word))
			return false;
		count++;
	}
	/* "% time" is one title, and a table has two at least */
	return count > 2 || (count == 2 && memchr(text, '%', len) == NULL);
}

static bool is_separator(const char *text, size_t len)
{
	size_t dashes = 0, longest = 0;

	for (size_t i = 0; i < len; i++) {
		dashes = text[i] == '-' ? dashes + 1 : 0;
		longest = dashes > longest ? dashes : longest;
		if (text[i] != '-' && text[i] != ' ')
			return false;
	}
	return longest >= 5;
}

static bool is_number(struct strace_span word)
{
	for (size_t i = 0; i < word.length; i++)
		if (!strace_is_digit(word.text[i]) && word.text[i] != '.')
			return false;
	return true;
}

/* "  0.00    0.000000           0         1           read": numbers and a name, in any order */
static bool is_table_row(const char *text, size_t len, bool *is_total)
{
	struct strace_span word;
	unsigned numbers = 0, names = 0;
	size_t at = 0;

	if (memchr(text, '(', len))
		return false;
	*is_total = false;
	while ((word = next_word(text, len, &at)).text) {
		bool is_value = is_number(word);

		numbers += is_value;
		names += !is_value;
		*is_total |= strace_span_is(word, "total");
	}
	return numbers > 0 && names <= 1;
}

int strace_table_line(struct strace_log *log, const char *text, size_t len)
{
	char first = text[strace_blanks(text, len)];
	bool is_total;

	if (strchr("%sctuelf", first) && strace_is_table_head(text, len)) {
		log->in_summary = true;
		log->tables++;
		log->has_function_table |= memmem(text, len, "function", 8) != NULL;
		strace_note(log, STRACE_BAD_SUMMARY);
		return 1;
	}
	if (first == '-' && is_separator(text, len)) {
		strace_note(log, STRACE_BAD_SUMMARY);
		return 1;
	}
	if (!log->in_summary)
		return 0;
	if (is_table_row(text, len, &is_total)) {
		log->in_summary = !is_total;
		strace_note(log, STRACE_BAD_SUMMARY);
		return 1;
	}
	log->in_summary = false;
	return 0;
}
