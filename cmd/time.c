/*
 * time.c - times as people write them on a command line, to Unix nanoseconds. Knows no clock but
 * the calendar: a time without zone is UTC, so that the same words mean the same everywhere.
 */
#include "command.h"

#include <ctype.h>
#include <string.h>

#include "reader.h"

enum { NS_PER_SECOND = 1000000000 };

/* Seconds below this (1973) are counted from the start of the case, the others from 1970. */
static const int64_t unix_time_from_ns = INT64_C(100000000) * NS_PER_SECOND;

struct scanner {
	const char *text;
	size_t left;
};

static bool scan_digits(struct scanner *s, int count, int64_t *value)
{
	*value = 0;
	if (s->left < (size_t)count)
		return false;
	for (int i = 0; i < count; i++) {
		if (!isdigit((unsigned char)s->text[i]))
			return false;
		*value = *value * 10 + (s->text[i] - '0');
	}
	s->text += count;
	s->left -= (size_t)count;
	return true;
}

static bool scan_one_of(struct scanner *s, const char *set)
{
	if (!s->left || !*s->text || !strchr(set, *s->text))
		return false;
	s->text++;
	s->left--;
	return true;
}

/* Days since 1970-01-01 of a date of the Gregorian calendar, counted in eras of 400 years. */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
	int64_t shifted = month <= 2 ? year - 1 : year;
	int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
	int64_t year_of_era = shifted - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

static int64_t days_in_month(int64_t year, int64_t month)
{
	return days_from_civil(month == 12 ? year + 1 : year, month == 12 ? 1 : month + 1, 1) -
	       days_from_civil(year, month, 1);
}

static bool scan_zone(struct scanner *s, int64_t *offset_seconds)
{
	bool is_west = s->left && *s->text == '-';
	int64_t hours, minutes = 0;

	*offset_seconds = 0;
	if (!s->left || scan_one_of(s, "Zz"))
		return true;
	if (!scan_one_of(s, "+-") || !scan_digits(s, 2, &hours))
		return false;
	scan_one_of(s, ":");
	if (s->left && !scan_digits(s, 2, &minutes))
		return false;
	*offset_seconds = (hours * 60 + minutes) * (is_west ? -60 : 60);
	return hours < 24 && minutes < 60;
}

/* "14:00", "14:00:05.25"; nothing at all is midnight. */
static bool scan_time_of_day(struct scanner *s, int64_t *ns)
{
	int64_t hour, minute, second = 0, fraction = 0;

	*ns = 0;
	if (!s->left)
		return true;
	if (!scan_one_of(s, "Tt ") || !scan_digits(s, 2, &hour) || !scan_one_of(s, ":") ||
	    !scan_digits(s, 2, &minute))
		return false;
	if (scan_one_of(s, ":") && !scan_digits(s, 2, &second))
		return false;
	if (scan_one_of(s, ".")) {
		int64_t unit = NS_PER_SECOND / 10;

		if (!s->left || !isdigit((unsigned char)*s->text))
			return false;
		for (; s->left && isdigit((unsigned char)*s->text); s->text++, s->left--) {
			fraction += (*s->text - '0') * unit;
			unit /= 10;
		}
	}
	*ns = ((hour * 60 + minute) * 60 + second) * NS_PER_SECOND + fraction;
	return hour < 24 && minute < 60 && second <= 60;
}

static bool parse_iso_8601(const char *text, size_t length, int64_t *ns)
{
	struct scanner s = { text, length };
	int64_t year, month, day, time_ns, zone_seconds;

	if (!scan_digits(&s, 4, &year) || !scan_one_of(&s, "-") || !scan_digits(&s, 2, &month) ||
	    !scan_one_of(&s, "-") || !scan_digits(&s, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
		return false;
	if (!scan_time_of_day(&s, &time_ns) || !scan_zone(&s, &zone_seconds) || s.left)
		return false;
	if (year < 1700 || year > 2200) /* what nanoseconds in 64 bits can hold, roundly */
		return false;
	*ns = (days_from_civil(year, month, day) * 86400 - zone_seconds) * NS_PER_SECOND + time_ns;
	return true;
}

/* "500ms"; `length` and not a zero ends it. Without a unit it is seconds. */
static bool parse_units(const char *text, size_t length, int64_t *ns)
{
	static const struct {
		const char *suffix;
		int64_t unit_ns;
	} units[] = { { "", NS_PER_SECOND }, { "s", NS_PER_SECOND },
		      { "ms", 1000000 },     { "us", 1000 },
		      { "ns", 1 },	     { "m", 60000000000 },
		      { "h", 3600000000000 } };
	size_t digits = 0;

	while (digits < length && strchr("0123456789.+-", text[digits]))
		digits++;
	for (size_t i = 0; digits && i < sizeof(units) / sizeof(*units); i++)
		if (length - digits == strlen(units[i].suffix) &&
		    !memcmp(text + digits, units[i].suffix, length - digits))
			return tl_parse_time(text, digits, units[i].unit_ns, ns) == digits;
	return false;
}

bool command_parse_date(const char *text, size_t length, int64_t *ns)
{
	return length == 10 && parse_iso_8601(text, length, ns);
}

bool command_parse_zone(const char *text, size_t length, int64_t *ahead_ns)
{
	struct scanner s = { text, length };
	int64_t seconds;

	if (!length || !scan_zone(&s, &seconds) || s.left)
		return false;
	*ahead_ns = seconds * NS_PER_SECOND;
	return true;
}

int command_parse_time(const char *text, size_t length, int64_t case_begin_ns, int64_t *ns,
		       struct tl_error *err)
{
	bool has_unit = length > 0 && strchr("smh", text[length - 1]);

	if (parse_units(text, length, ns)) {
		if (*ns >= unix_time_from_ns && !has_unit)
			return TL_OK;
		if (!__builtin_add_overflow(case_begin_ns, *ns, ns))
			return TL_OK;
	} else if (parse_iso_8601(text, length, ns)) {
		return TL_OK;
	}
	return tl_fail(err, TL_USAGE,
		       "'%.*s' is no time; expected seconds from the start (12.5), Unix seconds "
		       "(1700000000.25) or ISO 8601 (2024-05-01T12:00:00Z)",
		       length > 100 ? 100 : (int)length, text);
}

int command_parse_range(const char *text, int64_t case_begin_ns, struct tl_time_range *range,
			struct tl_error *err)
{
	const char *comma = strchr(text, ',');
	int ret = TL_OK;

	if (!comma || strchr(comma + 1, ','))
		return tl_fail(err, TL_USAGE, "'%.100s' is no time range; expected BEGIN,END",
			       text);
	*range = (struct tl_time_range) { INT64_MIN, INT64_MAX };
	if (comma > text)
		ret = command_parse_time(text, (size_t)(comma - text), case_begin_ns,
					 &range->begin_ns, err);
	if (ret == TL_OK && comma[1])
		ret = command_parse_time(comma + 1, strlen(comma + 1), case_begin_ns,
					 &range->end_ns, err);
	if (ret < 0)
		return ret;
	if (range->begin_ns == range->end_ns)
		return tl_fail(err, TL_USAGE, "the time range '%.100s' is empty", text);
	if (range->begin_ns > range->end_ns)
		return tl_fail(err, TL_USAGE, "the time range '%.100s' ends before it begins",
			       text);
	return TL_OK;
}

int command_parse_duration(const char *option, const char *text, int64_t *ns, struct tl_error *err)
{
	if (parse_units(text, strlen(text), ns) && *ns > 0)
		return TL_OK;
	return tl_fail(err, TL_USAGE, "%s: '%.100s' is no duration like 10s, 500ms or 1.5", option,
		       text);
}

int command_parse_offset(const char *option, const char *text, int64_t *ns, struct tl_error *err)
{
	if (parse_units(text, strlen(text), ns))
		return TL_OK;
	return tl_fail(err, TL_USAGE, "%s: '%.100s' is no time like 1.5, -10s or 500ms", option,
		       text);
}
