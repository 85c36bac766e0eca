/*
 * training_log_front.c - the front of a line of a training log: times, ranks and levels in the
 * many forms and orders that launchers, collectors and loggers put there.
 */
#include "training_log.h"

#include <string.h>
#include <strings.h>

#include "reader.h"

#define SECOND_NS INT64_C(1000000000)
#define DAY_NS	  (86400 * SECOND_NS)

enum { FRONT_ITEMS_MAX = 16, GROUP_MAX = 96 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(char c)
{
	return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-';
}

void training_log_plain(struct tl_text *out, const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		const char *escape = memchr(text + at, '\033', len - at);
		size_t end = escape ? (size_t)(escape - text) : len;

		tl_text_add(out, text + at, end - at);
		at = end + 1;
		if (at < len && text[at] == '[') { /* ECMA-48: parameters, then one final byte */
			for (at++; at < len && (text[at] < 0x40 || text[at] > 0x7e); at++)
				;
			at++;
		} else if (at < len && text[at] == ']') { /* up to BEL or ESC \ */
			for (at++; at < len && text[at] != '\a' && text[at] != '\033'; at++)
				;
			at += at < len && text[at] == '\033' ? 2 : 1;
		} else {
			at++;
		}
	}
}

/* ---- times ---------------------------------------------------------------------------------- */

/* Exactly `digits` of them; -1 if they are not there. */
static int number_of(const char *text, size_t len, size_t digits)
{
	int value = 0;

	if (len < digits)
		return -1;
	for (size_t i = 0; i < digits; i++) {
		if (!is_digit(text[i]))
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value;
}

/* Days since 1970-01-01 of the Gregorian calendar, by eras of 400 years. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
	int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* HH:MM:SS with a fraction behind '.' or ','; bytes used. */
static size_t time_of_day(const char *text, size_t len, int64_t *ns, int *digits)
{
	int hour = number_of(text, len, 2);
	int minute = len > 3 ? number_of(text + 3, len - 3, 2) : -1;
	int second = len > 6 ? number_of(text + 6, len - 6, 2) : -1;
	size_t at = 8;

	if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 ||
	    text[2] != ':' || text[5] != ':')
		return 0;
	*ns = (hour * INT64_C(3600) + minute * 60 + second) * SECOND_NS;
	*digits = 0;
	if (at + 1 < len && (text[at] == '.' || text[at] == ',') && is_digit(text[at + 1])) {
		int64_t unit = SECOND_NS;

		for (at++; at < len && is_digit(text[at]); at++) {
			unit /= 10;
			*ns += unit * (text[at] - '0');
			*digits += *digits < 9;
		}
	}
	return at < len && is_digit(text[at]) ? 0 : at;
}

/* Z, +02, +0200 or +02:00; bytes used. */
static size_t zone(const char *text, size_t len, int64_t *ahead_ns)
{
	int hour, minute = 0;
	size_t at = 3;

	*ahead_ns = 0;
	if (len >= 1 && (text[0] == 'Z' || text[0] == 'z'))
		return len > 1 && is_name(text[1]) ? 0 : 1;
	if (len >= 4 && !memcmp(text, " UTC", 4))
		return 4;
	if (len < 3 || (text[0] != '+' && text[0] != '-'))
		return 0;
	hour = number_of(text + 1, len - 1, 2);
	if (hour < 0 || hour > 14)
		return 0;
	if (at < len && text[at] == ':')
		at++;
	if (number_of(text + at, len - at, 2) >= 0) {
		minute = number_of(text + at, len - at, 2);
		at += 2;
	} else if (at != 3) {
		return 0;
	}
	*ahead_ns = (hour * INT64_C(3600) + minute * 60) * SECOND_NS * (text[0] == '-' ? -1 : 1);
	return at;
}

/* Since the year began, as in a leap year. */
static int64_t of_year(int month, int day)
{
	static const int64_t days_before[] = {
		0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335
	};

	return (days_before[month - 1] + day - 1) * DAY_NS;
}

static bool is_date(int year, int month, int day)
{
	return year >= 1970 && year < 2200 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* 2024-05-01, 2024/05/01, 2024.05.01 or 05/01/2024; bytes used. */
static size_t date(const char *text, size_t len, int64_t *days)
{
	int year = number_of(text, len, 4), month, day;

	if (len < 10)
		return 0;
	if (year >= 0 && (text[4] == '-' || text[4] == '/' || text[4] == '.') &&
	    text[7] == text[4]) {
		month = number_of(text + 5, 2, 2);
		day = number_of(text + 8, 2, 2);
	} else if (text[2] == '/' && text[5] == '/') {
		month = number_of(text, 2, 2);
		day = number_of(text + 3, 2, 2);
		year = number_of(text + 6, 4, 4);
	} else {
		return 0;
	}
	if (!is_date(year, month, day))
		return 0;
	*days = days_from_civil(year, month, day);
	return 10;
}

static size_t date_and_time(const char *text, size_t len, struct training_log_time *time)
{
	int64_t days, ns, ahead = 0;
	size_t at = date(text, len, &days), used;

	if (!at || at >= len)
		return 0;
	if (text[at] == 'T' || text[at] == ' ' || text[at] == '_' || text[at] == '-')
		at++;
	else if (at + 1 < len && text[at] == ',' && text[at + 1] == ' ')
		at += 2;
	else
		return 0;
	used = time_of_day(text + at, len - at, &ns, &time->digits);
	if (!used)
		return 0;
	at += used;
	time->ns = days * DAY_NS + ns;
	used = zone(text + at, len - at, &ahead);
	time->clock = used ? TRAINING_LOG_UNIX : TRAINING_LOG_LOCAL;
	time->ns -= ahead;
	return at + used;
}

/* Seconds since 1970 with a fraction, or whole seconds, ms, us or ns by their number of digits. */
static size_t epoch(const char *text, size_t len, struct training_log_time *time)
{
	size_t digits = 0, at;
	int64_t unit = 0;

	while (digits < len && is_digit(text[digits]))
		digits++;
	at = digits;
	if (digits == 10)
		unit = SECOND_NS;
	else if (digits == 13)
		unit = SECOND_NS / 1000;
	else if (digits == 16)
		unit = 1000;
	else if (digits == 19)
		unit = 1;
	if (!unit || text[0] != '1')
		return 0;
	if (at + 1 < len && text[at] == '.' && is_digit(text[at + 1]))
		for (at++; at < len && is_digit(text[at]); at++)
			;
	if (at < len && (is_name(text[at]) || text[at] == '/'))
		return 0;
	time->clock = TRAINING_LOG_UNIX;
	time->digits = at > digits ? (int)(at - digits - 1) : unit == SECOND_NS ? 0 : 9;
	return tl_parse_time(text, at, unit, &time->ns) == at ? at : 0;
}

static bool names_source_file(const char *text, size_t len);

/* The rest of glog's front: "  1234 file.cc:56] "; bytes used. */
static size_t glog_rest(const char *text, size_t len)
{
	const char *end = len ? memchr(text, ']', len < GROUP_MAX ? len : GROUP_MAX) : NULL;
	size_t size = end ? (size_t)(end - text) + 1 : 0;

	return size && names_source_file(text, size) ? size : 0;
}

/* I0501 12:00:00.123456: a letter for the level, month, day, time of day. */
static size_t glog(const char *text, size_t len, struct training_log_time *time, const char **level)
{
	int month = len > 14 ? number_of(text + 1, 2, 2) : -1;
	int day = len > 14 ? number_of(text + 3, 2, 2) : -1;
	int64_t ns;
	size_t used;

	if (!memchr("IWEFD", text[0], 5) || month < 1 || month > 12 || day < 1 || day > 31 ||
	    text[5] != ' ')
		return 0;
	used = time_of_day(text + 6, len - 6, &ns, &time->digits);
	if (!used)
		return 0;
	time->clock = TRAINING_LOG_YEARLESS;
	time->ns = of_year(month, day) + ns;
	*level = text[0] == 'I'	  ? "INFO"
		 : text[0] == 'W' ? "WARNING"
		 : text[0] == 'D' ? "DEBUG"
				  : "ERROR";
	return 6 + used + glog_rest(text + 6 + used, len - 6 - used);
}

/* 05/01 12:00:00 */
static size_t yearless(const char *text, size_t len, struct training_log_time *time)
{
	int month = number_of(text, len, 2), day = len > 6 ? number_of(text + 3, len - 3, 2) : -1;
	int64_t ns;
	size_t used = len > 6 ? time_of_day(text + 6, len - 6, &ns, &time->digits) : 0;

	if (!used || month < 1 || month > 12 || day < 1 || day > 31 || text[2] != '/' ||
	    text[5] != ' ')
		return 0;
	time->clock = TRAINING_LOG_YEARLESS;
	time->ns = of_year(month, day) + ns;
	return 6 + used;
}

size_t training_log_time(const char *text, size_t len, struct training_log_time *time)
{
	size_t used;

	if (!len || !is_digit(text[0]))
		return 0;
	used = date_and_time(text, len, time);
	if (!used)
		used = epoch(text, len, time);
	if (!used)
		used = yearless(text, len, time);
	if (!used) {
		used = time_of_day(text, len, &time->ns, &time->digits);
		if (used)
			time->clock = TRAINING_LOG_OF_DAY;
	}
	return used;
}

/* ---- ranks and levels ----------------------------------------------------------------------- */

static size_t number_at(const char *text, size_t len, int32_t *value)
{
	uint64_t number;
	size_t used = len && is_digit(text[0]) ? tl_parse_u64(text, len, 10, &number) : 0;

	if (!used || number > 9999999)
		return 0;
	*value = (int32_t)number;
	return used;
}

static bool starts(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && !strncasecmp(text, word, n);
}

/* "rank 3", "Rank3", "rank=3", "RankID 3", "default3", "global rank 3"; bytes used. */
static size_t named_rank(const char *text, size_t len, int32_t *rank)
{
	static const char *const words[] = { "global rank", "global_rank", "rank_id", "rankid",
					     "rank",	    "default",	   "gpu" };
	size_t at, used;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!starts(text, len, words[i]))
			continue;
		for (at = strlen(words[i]); at < len && memchr(" =:-", text[at], 4); at++)
			;
		used = number_at(text + at, len - at, rank);
		return used ? at + used : 0;
	}
	return 0;
}

/* mpirun's [job,rank]<stdout>: */
static size_t tagged_rank(const char *text, size_t len, int32_t *rank)
{
	const char *close =
		len > 4 && text[0] == '[' ? memchr(text, ']', len < 24 ? len : 24) : NULL;
	const char *comma = close ? memchr(text, ',', (size_t)(close - text)) : NULL;
	size_t end = close ? (size_t)(close - text) : 0,
	       at = comma ? (size_t)(comma - text) + 1 : 0;

	if (!comma || len - end < 11 || !starts(close, len - end, "]<std") ||
	    memcmp(close + 8, ">:", 2) != 0)
		return 0;
	return at + number_at(text + at, len - at, rank) == end ? end + 10 : 0;
}

/* Ray: "(Worker pid=100, ip=10.0.0.1)". The pid tells processes apart, and is no rank; bytes used. */
static size_t process_item(const char *text, size_t len, uint64_t *process)
{
	const char *end =
		text[0] == '(' ? memchr(text, ')', len < GROUP_MAX ? len : GROUP_MAX) : NULL;
	size_t size = end ? (size_t)(end - text) + 1 : 0, at = 1;
	int32_t pid;

	while (at < size && (is_name(text[at]) || text[at] == '.'))
		at++;
	if (!size || at == 1 || !starts(text + at, size - at, " pid=") ||
	    !number_at(text + at + 5, size - at - 5, &pid))
		return 0;
	*process = tl_hash(text, size, 0) | 1;
	return size;
}

/* "[rank3]:", "(RankID 3)", "Rank 3:", "7: " */
static size_t rank_item(const char *text, size_t len, int32_t *rank)
{
	char close = text[0] == '[' ? ']' : text[0] == '(' ? ')' : '\0';
	size_t at = close ? 1 : 0, used = tagged_rank(text, len, rank);

	if (used)
		return used;
	used = named_rank(text + at, len - at, rank);
	if (!used && text[0] != '(') { /* srun -l and its like: the bare number, with a colon */
		used = number_at(text + at, len - at, rank);
		if (used && at + used < len && text[at + used] == (close ? close : ':') &&
		    (!close || (at + used + 1 < len && text[at + used + 1] == ':')) &&
		    !(at + used + 1 < len && !close && is_digit(text[at + used + 1])))
			return at + used + (close ? 2 : 1);
		return 0;
	}
	if (!used)
		return 0;
	at += used;
	if (close && at < len && text[at] == close)
		return at + 1 + (at + 1 < len && text[at + 1] == ':');
	if (close)
		return 0;
	return at < len && (text[at] == ':' || text[at] == '|' || text[at] == ']') ? at + 1 : 0;
}

static size_t level_word(const char *text, size_t len, const char **level)
{
	static const struct {
		const char *word, *level;
	} words[] = {
		{ "INFO", "INFO" },    { "WARNING", "WARNING" }, { "WARN", "WARNING" },
		{ "ERROR", "ERROR" },  { "CRITICAL", "ERROR" },	 { "FATAL", "ERROR" },
		{ "DEBUG", "DEBUG" },  { "TRACE", "DEBUG" },	 { "NOTICE", "INFO" },
		{ "SUCCESS", "INFO" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);

		if (!starts(text, len, words[i].word) || (n < len && is_name(text[n])))
			continue;
		/* a level is written in capitals, or is followed by a mark */
		if (text[1] >= 'a' && !(n < len && (text[n] == ':' || text[n] == ']')))
			continue;
		*level = words[i].level;
		return n;
	}
	return 0;
}

static bool names_source_file(const char *text, size_t len)
{
	static const char *const endings[] = {
		".py:", ".cc:", ".cpp:", ".c:", ".h:", ".go:", ".rs:"
	};

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (memmem(text, len, endings[i], strlen(endings[i])))
			return true;
	return false;
}

static bool has_digit(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is_digit(text[i]))
			return true;
	return false;
}

/* [2024-05-01 12:00:00], [INFO], [logging.py:96:log_dist], [trainer]; bytes used. */
static size_t group_item(const char *text, size_t len, struct training_log_front *front)
{
	const char *end =
		text[0] == '[' ? memchr(text, ']', len < GROUP_MAX ? len : GROUP_MAX) : NULL;
	size_t size = end ? (size_t)(end - text) + 1 : 0, at = 1;
	struct training_log_time time = { 0 };
	const char *level = NULL;

	if (!size || size < 3)
		return 0;
	while (at < size && text[at] == ' ')
		at++;
	if (training_log_time(text + at, size - 1 - at, &time) ||
	    glog(text + at, size - 1 - at, &time, &level)) {
		if (!front->time.clock)
			front->time = time;
		if (level)
			front->level = level;
		return size;
	}
	if (level_word(text + at, size - 1 - at, &level)) {
		front->level = level;
		return size;
	}
	return names_source_file(text, size) || !has_digit(text, size) ? size : 0;
}

/*
 * "root - ", "mindformers[core/callback.py:529] - ", "train.py:12] ", or Python's "INFO:root:" behind
 * a time or a level.
 */
static size_t logger_item(const char *text, size_t len, bool has_level)
{
	size_t at = 0;

	while (at < len && at < GROUP_MAX && text[at] != ' ')
		at++;
	if (!at || at == GROUP_MAX || is_digit(text[0]))
		return 0;
	if (at + 3 <= len && !memcmp(text + at, " - ", 3))
		return at + 3;
	if (names_source_file(text, at))
		return at;
	for (at = 0; at < len && is_name(text[at]); at++)
		;
	return has_level && at && at + 1 < len && text[at] == ':' && text[at + 1] != ' ' ? at + 1
											 : 0;
}

/* What pdsh and deepspeed put first: "worker-1: [2024-...", and kubernetes: "stdout F ". */
static size_t host_item(const char *text, size_t len)
{
	struct training_log_time time;
	size_t at = 0;

	if (len > 9 && !memcmp(text, "std", 3) && !memcmp(text + 6, " F ", 3))
		return 9;
	while (at < len && at < 64 && is_name(text[at]))
		at++;
	if (!at || at + 3 > len || text[at] != ':' || text[at + 1] != ' ' || !is_letter(text[0]))
		return 0;
	if (has_digit(text, at) && memchr(text, '-', at) && !is_digit(text[at + 2]))
		return at + 2;
	return text[at + 2] == '[' || training_log_time(text + at + 2, len - at - 2, &time) ? at + 2
											    : 0;
}

static size_t item(const char *text, size_t len, struct training_log_front *front, bool is_first)
{
	struct training_log_time time = { 0 };
	const char *level = NULL;
	int32_t rank = -1;
	size_t used = front->rank < 0 ? rank_item(text, len, &rank) : 0;

	if (used) {
		front->rank = rank;
		return used;
	}
	used = process_item(text, len, &front->process);
	if (used)
		return used;
	used = group_item(text, len, front);
	if (used)
		return used;
	used = training_log_time(text, len, &time);
	if (!used)
		used = glog(text, len, &time, &level);
	if (used) {
		if (!front->time.clock)
			front->time = time;
		if (level)
			front->level = level;
		return used;
	}
	used = level_word(text, len, &level);
	if (used) {
		front->level = level;
		return used;
	}
	if (is_first || front->time.clock)
		used = host_item(text, len);
	if (!used && (front->time.clock || front->level))
		used = logger_item(text, len, front->level);
	return used;
}

void training_log_front(const char *text, size_t len, struct training_log_front *front)
{
	size_t at = 0;

	*front = (struct training_log_front) { .rank = -1 };
	for (int i = 0; i < FRONT_ITEMS_MAX; i++) {
		size_t start = at, used;

		while (start < len && memchr(" \t", text[start], 2))
			start++;
		/* marks between items, but not the sign of a number */
		while (i && start + 1 < len && memchr("-|:,>", text[start], 5) &&
		       !is_digit(text[start + 1]))
			start += text[start + 1] == ' ' ? 2 : 1;
		used = start < len ? item(text + start, len - start, front, i == 0) : 0;
		if (!used)
			break;
		at = start + used;
	}
	front->length = at;
}
