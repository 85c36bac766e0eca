/*
 * training_log_unit.c - units of time and of steps, as people write them. The one list of them.
 */
#include "training_log_unit.h"

#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	int64_t unit_ns;
};

static const struct unit units[] = {
	{ "ms", 1000000 },
	{ "msec", 1000000 },
	{ "msecs", 1000000 },
	{ "millis", 1000000 },
	{ "millisecond", 1000000 },
	{ "milliseconds", 1000000 },
	{ "s", 1000000000 },
	{ "sec", 1000000000 },
	{ "secs", 1000000000 },
	{ "second", 1000000000 },
	{ "seconds", 1000000000 },
	{ "us", 1000 },
	{ "usec", 1000 },
	{ "usecs", 1000 },
	{ "microsecond", 1000 },
	{ "microseconds", 1000 },
	{ "ns", 1 },
	{ "nsec", 1 },
	{ "nanosecond", 1 },
	{ "nanoseconds", 1 },
	{ "min", INT64_C(60000000000) },
	{ "mins", INT64_C(60000000000) },
	{ "minute", INT64_C(60000000000) },
	{ "minutes", INT64_C(60000000000) },
};

/* Written in small letters only: M is mega, H is henry. */
static const struct unit larger[] = {
	{ "h", INT64_C(3600000000000) },     { "hr", INT64_C(3600000000000) },
	{ "hour", INT64_C(3600000000000) },  { "hours", INT64_C(3600000000000) },
	{ "m", INT64_C(60000000000) },	     { "min", INT64_C(60000000000) },
	{ "mins", INT64_C(60000000000) },    { "minute", INT64_C(60000000000) },
	{ "minutes", INT64_C(60000000000) },
};

int64_t training_log_unit(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len && !strncasecmp(text, units[i].name, len))
			return units[i].unit_ns;
	return 0;
}

int64_t training_log_larger_unit(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(larger) / sizeof(larger[0]); i++)
		if (strlen(larger[i].name) == len && !strncmp(larger[i].name, text, len))
			return larger[i].unit_ns;
	return 0;
}

bool training_log_is_step_unit(const char *text, size_t len)
{
	static const char *const names[] = { "it",   "iter",  "iters", "iteration", "iterations",
					     "step", "steps", "batch", "batches",   "its" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && !strncasecmp(text, names[i], len))
			return true;
	return false;
}

int64_t training_log_per_step_unit(const char *text, size_t len, bool *is_rate)
{
	const char *slash = memchr(text, '/', len);
	size_t left = slash ? (size_t)(slash - text) : 0, right = slash ? len - left - 1 : 0;

	*is_rate = false;
	if (!slash)
		return 0;
	if (training_log_is_step_unit(slash + 1, right))
		return training_log_unit(text, left);
	*is_rate = training_log_is_step_unit(text, left);
	return *is_rate ? training_log_unit(slash + 1, right) : 0;
}
