/*
 * call_log_options.c - what a log does not say itself and the user must: date, time zone, process; and
 * how much of it to keep. Words of the command line to options of importers.
 */
#include "command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reader.h"

enum { NS_PER_SECOND = 1000000000 };

static int parse_arguments(const char *text, int64_t *bytes, struct tl_error *err)
{
	uint64_t value;

	if (!strcmp(text, "all")) {
		*bytes = INT64_MAX;
	} else if (!strcmp(text, "none")) {
		*bytes = -1;
	} else if (tl_parse_u64(text, strlen(text), 10, &value) == strlen(text) &&
		   value <= INT32_MAX) {
		*bytes = value ? (int64_t)value : -1;
	} else {
		return tl_fail(err, TL_USAGE,
			       "--args: '%.100s' is no number of bytes; expected a number, all or "
			       "none",
			       text);
	}
	return TL_OK;
}

/* "Asia/Shanghai": what the system's time zone data say of it at that moment. */
static bool named_zone(const char *name, int64_t unix_ns, int64_t *ahead_ns)
{
	const char *directory = getenv("TZDIR"), *old = getenv("TZ");
	time_t seconds = (time_t)(unix_ns / NS_PER_SECOND);
	char path[512], *kept = old ? strdup(old) : NULL;
	struct tm local;
	bool is_known;

	snprintf(path, sizeof(path), "%s/%s", directory ? directory : "/usr/share/zoneinfo", name);
	/* a name that is not there would be taken as UTC */
	is_known = !strstr(name, "..") && name[0] != '/' && access(path, R_OK) == 0;
	if (is_known) {
		setenv("TZ", name, 1);
		tzset();
		is_known = localtime_r(&seconds, &local) != NULL;
		*ahead_ns = is_known ? (int64_t)local.tm_gmtoff * NS_PER_SECOND : 0;
		if (kept)
			setenv("TZ", kept, 1);
		else
			unsetenv("TZ");
		tzset();
	}
	free(kept);
	return is_known;
}

static int parse_zone(const char *text, const struct tl_import_options *opt, int64_t *ahead_ns,
		      struct tl_error *err)
{
	if (!strcmp(text, "UTC") || !strcmp(text, "GMT")) {
		*ahead_ns = 0;
		return TL_OK;
	}
	if (command_parse_zone(text, strlen(text), ahead_ns))
		return TL_OK;
	if (!opt->has_date)
		return tl_fail(err, TL_USAGE,
			       "--timezone: '%.100s' is no time zone like +08:00, and one by name "
			       "needs --date too",
			       text);
	if (named_zone(text, opt->date_ns, ahead_ns))
		return TL_OK;
	return tl_fail(err, TL_USAGE,
		       "--timezone: '%.100s' is no time zone; expected one like +08:00, UTC or "
		       "Asia/Shanghai",
		       text);
}

int call_log_options_fill(const struct source_options *given, struct tl_import_options *out,
			  struct tl_error *err)
{
	int ret = TL_OK;

	out->pid = (int32_t)given->pid;
	if (given->args)
		ret = parse_arguments(given->args, &out->argument_bytes, err);
	if (ret == TL_OK && given->date) {
		out->has_date = command_parse_date(given->date, strlen(given->date), &out->date_ns);
		if (!out->has_date)
			ret = tl_fail(err, TL_USAGE,
				      "--date: '%.100s' is no date; expected one like 2026-11-29",
				      given->date);
	}
	if (ret == TL_OK && given->timezone) {
		ret = parse_zone(given->timezone, out, &out->timezone_ns, err);
		out->has_timezone = ret == TL_OK;
	}
	return ret;
}
