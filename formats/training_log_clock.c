/*
 * training_log_clock.c - the times of the lines of a log on one clock, and what that clock is: with a
 * zone or without, without a year, without a date.
 */
#include "training_log.h"

#define SECOND_NS  INT64_C(1000000000)
#define DAY_NS	   (86400 * SECOND_NS)
#define QUARTER_NS (900 * SECOND_NS)

static int64_t floor_to(int64_t value, int64_t unit)
{
	int64_t rest = value % unit;

	return value - (rest < 0 ? rest + unit : rest);
}

/* Midnight, UTC, of the first day of the year that the date or the file's date lies in. */
static int64_t year_begin(const struct training_log_timeline *t, bool *is_leap)
{
	int64_t days = (t->opt->has_date ? t->opt->date_ns : t->modified_ns) / DAY_NS;
	int64_t begin = 0;
	int year = 1970;

	for (;; year++) {
		*is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
		if (days < begin + 365 + *is_leap)
			return begin * DAY_NS;
		begin += 365 + *is_leap;
	}
}

/* Times without a date go on over midnight. */
static int64_t over_midnight(struct training_log_timeline *t, int64_t of_day)
{
	if (t->clock && t->day_ns + of_day < t->last_time - DAY_NS / 2)
		t->day_ns += DAY_NS;
	return t->day_ns + of_day;
}

bool training_log_take_time(struct training_log_timeline *t, const struct training_log_time *time,
			    int64_t *ns)
{
	bool is_leap;

	switch (time->clock) {
	case TRAINING_LOG_NO_TIME:
		return false;
	case TRAINING_LOG_UNIX:
		*ns = time->ns;
		if (t->clock == TRAINING_LOG_LOCAL || t->clock == TRAINING_LOG_YEARLESS)
			*ns += t->opt->timezone_ns;
		else if (t->clock == TRAINING_LOG_OF_DAY)
			return false;
		break;
	case TRAINING_LOG_LOCAL:
	case TRAINING_LOG_YEARLESS:
		*ns = time->ns;
		if (time->clock == TRAINING_LOG_YEARLESS) {
			*ns += year_begin(t, &is_leap);
			*ns -= !is_leap && time->ns >= 60 * DAY_NS ? DAY_NS : 0;
		}
		if (t->clock == TRAINING_LOG_UNIX)
			*ns -= t->opt->timezone_ns;
		else if (t->clock == TRAINING_LOG_OF_DAY)
			return false;
		break;
	case TRAINING_LOG_OF_DAY:
		if (t->clock && t->clock != TRAINING_LOG_OF_DAY)
			return false;
		*ns = over_midnight(t, time->ns);
		break;
	}
	if (!t->clock) {
		t->clock = time->clock;
		t->digits = time->digits;
	}
	t->digits = time->digits < t->digits ? time->digits : t->digits;
	t->most_digits = time->digits > t->most_digits ? time->digits : t->most_digits;
	t->last_time = *ns;
	return true;
}

int64_t training_log_tick(const struct training_log_timeline *t)
{
	int64_t tick = SECOND_NS;

	/* zeros at the end are not always written: the longest fraction tells */
	for (int i = 0; i < t->most_digits && tick > 1; i++)
		tick /= 10;
	return tick;
}

/* The zone told; else by the file's date, if that is the last line's but for whole quarters. */
static void settle_zone(const struct training_log_timeline *t, struct tl_event_clock *clock,
			const char *told, const char *by_file, const char *unknown)
{
	int64_t ahead = t->modified_ns - t->last_time;
	int64_t zone = floor_to(ahead + QUARTER_NS / 2, QUARTER_NS), rest = ahead - zone;

	if (t->opt->has_timezone) {
		clock->offset_ns = -t->opt->timezone_ns;
		clock->method = TL_CLOCK_TOLD;
		clock->why = told;
		return;
	}
	clock->method = TL_CLOCK_ASSUMED;
	clock->residual_ns = -1;
	clock->why = unknown;
	if (t->modified_ns && rest > -5 * SECOND_NS && rest < 5 * SECOND_NS &&
	    zone >= -14 * 3600 * SECOND_NS && zone <= 14 * 3600 * SECOND_NS) {
		clock->offset_ns = zone;
		clock->why = by_file;
	}
}

static void settle_day(const struct training_log_timeline *t, struct tl_event_clock *clock)
{
	int64_t modified = t->modified_ns + t->opt->timezone_ns;

	if (t->opt->has_date) {
		clock->offset_ns = t->opt->date_ns - t->opt->timezone_ns;
		clock->method = TL_CLOCK_TOLD;
		clock->why = t->opt->has_timezone ? "date and time zone told"
						  : "date told; time zone not known, taken as UTC";
		clock->residual_ns = t->opt->has_timezone ? clock->residual_ns : -1;
		return;
	}
	clock->method = TL_CLOCK_ASSUMED;
	clock->residual_ns = -1;
	clock->offset_ns = floor_to(modified - t->last_time, DAY_NS) - t->opt->timezone_ns;
	clock->why = t->opt->has_timezone
			     ? "time zone told; day of the file's date"
			     : "day of the file's date; time zone not known, taken as UTC";
}

int training_log_emit_clock(const struct training_log_timeline *t, struct tl_sink *sink,
			    struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	ev.clock.name = "wall clock of the log";
	ev.clock.residual_ns = SECOND_NS;
	for (int i = 0; i < t->digits && ev.clock.residual_ns > 1; i++)
		ev.clock.residual_ns /= 10;
	switch (t->clock) {
	case TRAINING_LOG_NO_TIME:
		return TL_OK;
	case TRAINING_LOG_UNIX:
		ev.clock.method = TL_CLOCK_EXACT;
		ev.clock.why = "lines with a time zone, or Unix time";
		break;
	case TRAINING_LOG_LOCAL:
		settle_zone(t, &ev.clock, "time zone told", "time zone by the file's date",
			    "time zone not known, taken as UTC");
		break;
	case TRAINING_LOG_YEARLESS:
		settle_zone(t, &ev.clock,
			    t->opt->has_date ? "year and time zone told"
					     : "time zone told; year of the file's date",
			    "year and time zone by the file's date",
			    t->opt->has_date
				    ? "year told; time zone not known, taken as UTC"
				    : "year of the file's date; time zone not known, taken "
				      "as UTC");
		if (!t->opt->has_date)
			ev.clock.method = TL_CLOCK_ASSUMED;
		break;
	case TRAINING_LOG_OF_DAY:
		settle_day(t, &ev.clock);
		break;
	}
	return sink->emit(sink, &ev, err);
}
