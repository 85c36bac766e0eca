/*
 * training_log_item.c - the numbers of a line, each with the words before it and the unit behind it.
 * What they mean is not known here.
 */
#include "training_log_line.h"

#include <string.h>
#include <strings.h>

#include "reader.h"
#include "training_log_unit.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_';
}

/* ---- units behind numbers -------------------------------------------------------------------- */

static bool is_time_word(const char *text, size_t len)
{
	bool is_rate;

	return training_log_unit(text, len) || training_log_per_step_unit(text, len, &is_rate);
}

/* U+00B5 or U+03BC, and an s. */
static bool is_microseconds(const struct training_log_scanner *s, size_t at)
{
	return at + 3 <= s->length && s->text[at + 2] == 's' &&
	       (!memcmp(s->text + at, "\xc2\xb5", 2) || !memcmp(s->text + at, "\xce\xbc", 2)) &&
	       !(at + 3 < s->length && is_word(s->text[at + 3]));
}

static size_t unit_run(const struct training_log_scanner *s, size_t at)
{
	size_t n = 0;

	while (at + n < s->length && n < 16 &&
	       (is_letter(s->text[at + n]) || memchr("%/", s->text[at + n], 2)))
		n++;
	return n;
}

/* Is there a time at `at`, perhaps behind a blank: "s", " ms"? */
static bool time_follows(const struct training_log_scanner *s, size_t at)
{
	at += at < s->length && s->text[at] == ' ';
	return is_microseconds(s, at) || is_time_word(s->text + at, unit_run(s, at));
}

/* ---- numbers of a line ---------------------------------------------------------------------- */

static size_t digits_at(const struct training_log_scanner *s, size_t at)
{
	size_t n = 0;

	while (at + n < s->length && is_digit(s->text[at + n]))
		n++;
	return n;
}

/* 1,234,567 but not [0,1], 0,123 or 1,2345 */
static size_t grouped_digits(const struct training_log_scanner *s, size_t at)
{
	size_t n = digits_at(s, at);

	if (n < 1 || n > 3 || s->text[at] == '0')
		return n;
	while (at + n < s->length && s->text[at + n] == ',' && digits_at(s, at + n + 1) == 3)
		n += 4;
	return n;
}

/* Bytes of the number at `at`: sign, digits, fraction, exponent; 0 if none. */
static size_t number_length(const struct training_log_scanner *s, size_t at)
{
	const char *t = s->text;
	size_t start = at, n;

	if (at < s->length && (t[at] == '-' || t[at] == '+'))
		at++;
	n = grouped_digits(s, at);
	at += n;
	if (at < s->length && t[at] == '.' && (n || digits_at(s, at + 1))) {
		size_t fraction = digits_at(s, at + 1);

		at += 1 + fraction;
		n += fraction;
	} else if (n && at < s->length && t[at] == ',' && digits_at(s, at + 1) &&
		   time_follows(s, at + 1 + digits_at(s, at + 1))) {
		at += 1 + digits_at(s, at + 1); /* "0,5 s": a decimal comma */
	}
	if (!n)
		return 0;
	if (at + 1 < s->length && (t[at] == 'e' || t[at] == 'E')) {
		size_t sign = t[at + 1] == '-' || t[at + 1] == '+';
		size_t exponent = digits_at(s, at + 1 + sign);

		if (exponent)
			at += 1 + sign + exponent;
	}
	return at - start;
}

/* Behind a number: 12:34:56, 1.2.3, 2024-05-01 are no numbers; their end, or 0. */
static size_t compound_end(const struct training_log_scanner *s, size_t at)
{
	size_t start = at;

	while (at + 1 < s->length && memchr(":.-", s->text[at], 3) && is_digit(s->text[at + 1]))
		at += 1 + digits_at(s, at + 1);
	return at > start ? at : 0;
}

/* The unit stands at the number, or a blank behind it if it is one of time. */
static void read_unit(struct training_log_scanner *s, struct training_log_item *item)
{
	size_t n = unit_run(s, s->at), blank = s->at < s->length && s->text[s->at] == ' ';

	if (is_microseconds(s, s->at + blank)) {
		item->unit = "us";
		item->unit_length = 2;
		s->at += blank + 3;
		return;
	}
	if (n && s->text[s->at] == '/' && (n != 2 || s->text[s->at + 1] != 's'))
		n = 0; /* "epoch=0/step=10": two pairs */
	item->unit = s->text + s->at;
	item->unit_length = n;
	if (n) {
		s->at += n;
		return;
	}
	n = blank ? unit_run(s, s->at + 1) : 0;
	if (n && is_time_word(s->text + s->at + 1, n) &&
	    !(s->at + 1 + n < s->length && strchr(":=", s->text[s->at + 1 + n]))) {
		item->unit = s->text + s->at + 1;
		item->unit_length = n;
		s->at += 1 + n;
	}
}

/* 12/100, 12 / 100, "2/  100" */
static void read_total(struct training_log_scanner *s, struct training_log_item *item)
{
	size_t at = s->at, n;

	while (at < s->length && s->text[at] == ' ')
		at++;
	if (at >= s->length || s->text[at] != '/')
		return;
	for (at++; at < s->length && s->text[at] == ' '; at++)
		;
	n = grouped_digits(s, at);
	if (!n || (at + n < s->length && (is_word(s->text[at + n]) || s->text[at + n] == '/')))
		return;
	item->is_fraction = true;
	s->at = at + n;
}

/* "1m 2.00s", "1 h 5 min": one time. True: the item is now its smaller part. */
static bool read_smaller_unit(struct training_log_scanner *s, struct training_log_item *item)
{
	int64_t unit_ns = training_log_larger_unit(item->unit, item->unit_length);
	struct training_log_scanner ahead = *s;
	struct training_log_item part = *item;
	uint64_t count;

	while (ahead.at < ahead.length && ahead.text[ahead.at] == ' ')
		ahead.at++;
	part.number = ahead.text + ahead.at;
	part.number_length = number_length(&ahead, ahead.at);
	if (!unit_ns || !part.number_length || !is_digit(part.number[0]) || item->is_fraction ||
	    tl_parse_u64(item->number, item->number_length, 10, &count) != item->number_length ||
	    count > 1000000)
		return false;
	ahead.at += part.number_length;
	read_unit(&ahead, &part);
	if (training_log_larger_unit(part.unit, part.unit_length) >= unit_ns ||
	    !(training_log_larger_unit(part.unit, part.unit_length) ||
	      training_log_unit(part.unit, part.unit_length)))
		return false;
	part.larger_ns += (int64_t)count * unit_ns;
	*item = part;
	*s = ahead;
	return true;
}

static void set_label(const struct training_log_scanner *s, struct training_log_item *item,
		      size_t end)
{
	static const char trimmed[] = " \t:=[]()'\"#-~>";
	size_t start = s->label_start;

	while (end > start && strchr(trimmed, s->text[end - 1]) && s->text[end - 1]) {
		/* "(ms)" belongs to the words, "(" does not */
		if (s->text[end - 1] == ')' && memrchr(s->text + start, '(', end - start))
			break;
		end--;
	}
	while (start < end && (strchr(trimmed, s->text[start]) || s->text[start] == '/'))
		start++;
	if (end - start > TRAINING_LOG_LABEL_MAX)
		start = end - TRAINING_LOG_LABEL_MAX;
	item->label = s->text + start;
	item->label_length = end - start;
}

/* Block elements of progress bars, U+2580 to U+259F. */
static bool is_block(const struct training_log_scanner *s, size_t at)
{
	return at + 2 < s->length && (uint8_t)s->text[at] == 0xe2 &&
	       (uint8_t)s->text[at + 1] == 0x96 && (uint8_t)s->text[at + 2] >= 0x80;
}

/* nan and inf stand for numbers where a value is announced. */
static size_t word_number(const struct training_log_scanner *s, size_t at)
{
	static const char *const words[] = { "nan", "inf", "-inf", "+inf" };

	if (at < 2 || !(strchr(":=[(", s->text[at - 1]) ||
			(s->text[at - 1] == ' ' && strchr(":=", s->text[at - 2]))))
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if (s->length - at >= n && !strncasecmp(s->text + at, words[i], n) &&
		    (s->length - at == n || !is_word(s->text[at + n])))
			return n;
	}
	return 0;
}

/* Skips a byte that begins no number, and moves the start of the label where it separates. */
static void step_over(struct training_log_scanner *s)
{
	char c = s->text[s->at];

	if (is_block(s, s->at)) {
		s->at += 3;
		s->label_start = s->at;
	} else if (is_word(c)) {
		while (s->at < s->length && is_word(s->text[s->at]))
			s->at++;
	} else {
		s->at++;
		if (memchr("|,;{}\t<", c, 7))
			s->label_start = s->at;
	}
}

bool training_log_next_item(struct training_log_scanner *s, struct training_log_item *item)
{
	while (s->at < s->length) {
		char before = s->at ? s->text[s->at - 1] : ' ';
		size_t n = is_word(before) || before == '.' ? 0 : number_length(s, s->at), end;

		if (!n)
			n = is_word(before) ? 0 : word_number(s, s->at);
		if (!n) {
			step_over(s);
			continue;
		}
		memset(item, 0, sizeof(*item));
		set_label(s, item, s->at);
		item->number = s->text + s->at;
		item->number_length = n;
		s->at += n;
		end = compound_end(s, s->at);
		if (end) {
			s->at = s->label_start = end;
			continue;
		}
		read_total(s, item);
		read_unit(s, item);
		while (read_smaller_unit(s, item))
			;
		item->end = s->at;
		item->before = before;
		item->after = s->at < s->length ? s->text[s->at] : '\0';
		s->label_start = s->at;
		return true;
	}
	return false;
}
