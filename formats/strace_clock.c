/*
 * strace_clock.c - the times of a log: seconds since 1970 (-ttt), time of day (-t, -tt), or since
 * the line before (-r), put on one axis, and that axis on Unix time.
 *
 * Knows nothing of calls.
 */
#include "strace.h"

#define SECOND_NS	 INT64_C(1000000000)
#define QUARTER_NS	 (900 * SECOND_NS)  /* time zones are multiples of it */
#define HALF_HOUR_NS	 (1800 * SECOND_NS) /* clocks change by multiples of it, */
#define CLOCK_CHANGE_MAX 4		    /* but not by more than two hours */
#define DAY_NS		 (86400 * SECOND_NS)
#define HALF_DAY_NS	 (43200 * SECOND_NS)
/* The file's date is that of the last line, to some milliseconds (strace flushes lines). */
#define FILE_DATE_SLACK_NS SECOND_NS
#define ZONE_MAX_NS	   (14 * 3600 * SECOND_NS)
#define LATER_MAX_NS	   (7 * DAY_NS)	    /* a run of several nights */
#define DAYS_MAX_NS	   (36500 * DAY_NS) /* sums must not overflow */
#define TIME_MAX_NS	   (4000000000 * SECOND_NS)
/* What may lie between the last line before and the first one after a change of the clock. */
#define BACK_GAP_MAX_NS	   (60 * SECOND_NS)
#define FORWARD_GAP_MAX_NS (2 * SECOND_NS)
#define DISORDER_NS	   (SECOND_NS / 10) /* lines of threads may change places */

static int64_t floor_to(int64_t value, int64_t unit)
{
	int64_t rest = value % unit;

	return value - (rest < 0 ? rest + unit : rest);
}

static int64_t round_to(int64_t value, int64_t unit)
{
	return floor_to(value + unit / 2, unit);
}

static int64_t distance(int64_t a, int64_t b)
{
	return a < b ? b - a : a - b;
}

/* Does the clock strike a full or half hour within [from, from + length]? */
static bool has_half_hour(int64_t from, int64_t length)
{
	return floor_to(from + length, HALF_HOUR_NS) >= from;
}

static void note_backward(struct strace_clock *c, int64_t by_ns)
{
	c->backward_count++;
	if (by_ns > c->backward_max_ns)
		c->backward_max_ns = by_ns;
}

static void note_zone_change(struct strace_clock *c, int64_t by_ns, uint64_t line)
{
	if (c->zone_change_count++ == 0) {
		c->zone_change_line = line;
		c->zone_change_ns = by_ns;
	}
	if (distance(c->zone_ns, by_ns) < DAYS_MAX_NS)
		c->zone_ns -= by_ns;
}

/* More than half an hour back: summer time has ended, or the clock was set, or another log began. */
static void step_back(struct strace_clock *c, int64_t tod, uint64_t line)
{
	int64_t back = c->newest_tod - tod;
	int64_t change = floor_to(back - DISORDER_NS + HALF_HOUR_NS - 1, HALF_HOUR_NS);
	int64_t gap = change - back; /* time that has really passed */

	if (change <= CLOCK_CHANGE_MAX * HALF_HOUR_NS && gap <= BACK_GAP_MAX_NS &&
	    has_half_hour(c->newest_tod - DISORDER_NS, gap + 2 * DISORDER_NS))
		note_zone_change(c, -change, line);
	else if (c->step_count++ == 0)
		c->step_line = line;
	c->newest_tod = tod;
}

/* Summer time has begun if a half hour or more is missing where no call took so long. */
static void step_forward(struct strace_clock *c, int64_t tod, uint64_t line, int64_t duration_ns)
{
	int64_t forward = tod - c->newest_tod;
	int64_t change = floor_to(forward, HALF_HOUR_NS), gap = forward - change;
	int64_t explained = c->last_end_ns - c->newest_ns;

	if (duration_ns > explained)
		explained = duration_ns;
	if (change >= HALF_HOUR_NS && change <= CLOCK_CHANGE_MAX * HALF_HOUR_NS &&
	    gap <= FORWARD_GAP_MAX_NS && explained < HALF_HOUR_NS / 2 &&
	    has_half_hour(c->newest_tod, gap))
		note_zone_change(c, change, line);
	c->newest_tod = tod;
}

/* A time of day as time since the first midnight. */
static int64_t unwrap(struct strace_clock *c, int64_t tod, uint64_t line, int64_t duration_ns)
{
	int64_t day_ns;

	if (!c->has_newest) {
		c->newest_tod = tod;
	} else if (c->newest_tod - tod > HALF_DAY_NS && c->day_ns < DAYS_MAX_NS) {
		c->day_ns += DAY_NS;
		c->wrap_count++;
		c->newest_tod = tod;
	} else if (tod < c->newest_tod) {
		if (c->newest_tod - tod > HALF_HOUR_NS)
			step_back(c, tod, line);
		else
			note_backward(c, c->newest_tod - tod);
	} else if (tod - c->newest_tod > HALF_DAY_NS && c->day_ns > 0) {
		/* a late line of the day before */
		day_ns = c->day_ns - DAY_NS;
		note_backward(c, c->newest_ns - (tod + day_ns + c->zone_ns));
		return tod + day_ns + c->zone_ns;
	} else {
		step_forward(c, tod, line, duration_ns);
	}
	return tod + c->day_ns + c->zone_ns;
}

/*
 * A log that goes on with the other kind of time (strace -A): the first such line came after the
 * newest one, and less than a quarter of an hour after it, or the time zone could not be told.
 */
static int64_t seconds_in_day_log(struct strace_clock *c, int64_t unix_ns)
{
	if (!c->has_offset) {
		c->offset_ns =
			c->is_told ? -c->told_ns : -floor_to(unix_ns - c->newest_ns, QUARTER_NS);
		c->has_offset = true;
	}
	return unix_ns + c->offset_ns;
}

static int64_t day_in_seconds_log(struct strace_clock *c, int64_t tod, uint64_t line,
				  int64_t duration_ns)
{
	int64_t newest = c->newest_ns, axis;

	if (!c->has_offset)
		c->has_newest = false; /* of the times of day there is none yet */
	axis = unwrap(c, tod, line, duration_ns);
	c->has_newest = true;
	if (!c->has_offset) {
		c->offset_ns = c->is_told ? floor_to(newest - axis + DAY_NS - 1, DAY_NS) +
						    floor_to(c->told_ns, QUARTER_NS) -
						    floor_to(c->told_ns, DAY_NS)
					  : floor_to(newest - axis + QUARTER_NS - 1, QUARTER_NS);
		c->has_offset = true;
	}
	return axis + c->offset_ns;
}

static bool place(struct strace_clock *c, const struct strace_prefix *prefix, uint64_t line,
		  int64_t duration_ns, int64_t *ts)
{
	switch (prefix->time) {
	case STRACE_NO_TIME:
		return false;
	case STRACE_TIME_OF_DAY:
		if (c->kind == STRACE_RELATIVE)
			break;
		*ts = c->kind == STRACE_EPOCH
			      ? day_in_seconds_log(c, prefix->time_ns, line, duration_ns)
			      : unwrap(c, prefix->time_ns, line, duration_ns);
		return true;
	case STRACE_EPOCH:
		if (c->kind == STRACE_RELATIVE)
			break;
		*ts = c->kind == STRACE_EPOCH ? prefix->time_ns
					      : seconds_in_day_log(c, prefix->time_ns);
		if (c->has_newest && *ts < c->newest_ns)
			note_backward(c, c->newest_ns - *ts);
		return true;
	case STRACE_RELATIVE:
		if (c->kind != STRACE_RELATIVE)
			break;
		*ts = c->newest_ns + prefix->time_ns;
		return !c->is_relative_broken && *ts <= TIME_MAX_NS;
	}
	if (c->strange_count++ == 0)
		c->strange_line = line;
	return false;
}

bool strace_clock_stamp(struct strace_clock *c, const struct strace_prefix *prefix, uint64_t line,
			int64_t duration_ns, int64_t *ts)
{
	if (c->kind == STRACE_NO_TIME)
		c->kind = prefix->time;
	if (!place(c, prefix, line, duration_ns, ts))
		return false;
	if (prefix->time_digits > c->digits)
		c->digits = prefix->time_digits;
	if (!c->has_newest || *ts > c->newest_ns)
		c->newest_ns = *ts;
	c->has_newest = true;
	c->last_end_ns = *ts;
	return true;
}

/* ---- Unix time ------------------------------------------------------------------------------- */

static int64_t resolution_ns(const struct strace_clock *c)
{
	int64_t ns = SECOND_NS;

	for (unsigned i = 0; i < c->digits && ns > 1; i++)
		ns /= 10;
	return ns;
}

/*
 * Date told: the zone is told too, or the file's date tells it, or it is not known. A file of several
 * (-ff) may begin on a later day than the one that was told: if its date says so.
 */
static void settle_told(const struct tl_import_options *opt, int64_t modified_ns, int64_t last_ns,
			struct tl_event_clock *out)
{
	int64_t ahead = modified_ns - (opt->date_ns + last_ns);
	int64_t zone = round_to(ahead, QUARTER_NS);
	int64_t days_ns =
		floor_to(ahead + (opt->has_timezone ? opt->timezone_ns : 0) + HALF_DAY_NS, DAY_NS);
	bool is_by_file = modified_ns && distance(ahead, zone) < FILE_DATE_SLACK_NS;
	bool is_later = is_by_file && days_ns > 0 && days_ns <= LATER_MAX_NS;

	out->method = TL_CLOCK_TOLD;
	if (opt->has_timezone) {
		is_later &= zone + opt->timezone_ns == days_ns;
		out->offset_ns = opt->date_ns - opt->timezone_ns + (is_later ? days_ns : 0);
		out->why = is_later ? "date and time zone told; a later day by the file's date"
				    : "date and time zone told";
	} else if (is_later && zone > ZONE_MAX_NS) {
		out->offset_ns = opt->date_ns + zone;
		out->why = "date told; a later day and the time zone by the file's date";
	} else if (is_by_file && distance(zone, 0) <= ZONE_MAX_NS) {
		out->offset_ns = opt->date_ns + zone;
		out->why = "date told; time zone by the file's date";
	} else {
		out->offset_ns = opt->date_ns;
		out->residual_ns = -1;
		out->why = "date told; time zone not known, taken as UTC";
	}
}

static void settle_by_file(const struct tl_import_options *opt, int64_t modified_ns,
			   int64_t last_ns, struct tl_event_clock *out)
{
	int64_t ahead = modified_ns - last_ns, quarter = round_to(ahead, QUARTER_NS);

	out->method = TL_CLOCK_ASSUMED;
	if (opt->has_timezone) {
		out->offset_ns = round_to(ahead + opt->timezone_ns, DAY_NS) - opt->timezone_ns;
		out->why = "time zone told; day of the file's date";
	} else if (distance(ahead, quarter) < FILE_DATE_SLACK_NS) {
		out->offset_ns = quarter;
		out->residual_ns += distance(ahead, quarter);
		out->why = "the file's date is that of the last line; time zone by it";
		return;
	} else {
		out->offset_ns = floor_to(ahead, DAY_NS);
		out->why = "day of the file's date; time zone not known, taken as UTC";
	}
	out->residual_ns = -1;
	if (opt->has_timezone && distance(ahead, out->offset_ns) < FILE_DATE_SLACK_NS)
		out->residual_ns = resolution_ns(&(struct strace_clock) { .digits = 9 }) +
				   distance(ahead, out->offset_ns);
}

static void settle_day(const struct strace_clock *c, const struct tl_import_options *opt,
		       int64_t modified_ns, int64_t last_ns, struct tl_event_clock *out)
{
	if (opt->has_date) {
		settle_told(opt, modified_ns, last_ns, out);
	} else if (c->has_offset) {
		out->offset_ns = -c->offset_ns;
		out->residual_ns = -1;
		out->why = "lines with seconds since 1970 that follow";
	} else if (modified_ns) {
		settle_by_file(opt, modified_ns, last_ns, out);
	} else {
		out->offset_ns = 0;
		out->residual_ns = -1;
		out->why = "no date is known: times of day as of 1970-01-01";
	}
}

void strace_clock_settle(const struct strace_clock *c, const struct tl_import_options *opt,
			 int64_t modified_ns, int64_t last_ns, struct tl_event_clock *out)
{
	*out = (struct tl_event_clock) { .name = "realtime",
					 .method = TL_CLOCK_ASSUMED,
					 .residual_ns = resolution_ns(c) };
	switch (c->kind) {
	case STRACE_EPOCH:
		out->method = TL_CLOCK_EXACT;
		out->why = "seconds since 1970 in the log";
		break;
	case STRACE_TIME_OF_DAY:
		out->name = "time of day";
		settle_day(c, opt, modified_ns, last_ns, out);
		break;
	case STRACE_RELATIVE:
		out->name = "time since the first line";
		out->offset_ns = modified_ns ? modified_ns - last_ns : 0;
		out->residual_ns = -1;
		out->why = modified_ns ? "the file's date is that of the last line"
				       : "no date is known: the log begins in 1970";
		break;
	case STRACE_NO_TIME:
		out->name = "none";
		out->residual_ns = -1;
		out->why = "the log has no times";
		break;
	}
}
