/*
 * step_ranges.c - when the steps of a kind were: what "--steps slow" means to questions about time.
 */
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "ranges.h"
#include "reader.h"
#include "store.h"

/* A row may stand for several steps, of which one is enough. */
#define CHOSEN \
	"CASE WHEN ?1 IS NULL THEN number >= ?2 AND number - step_count < ?3 ELSE class = ?1 END"

struct choice {
	const char *class_; /* NULL: by number */
	int64_t first, last;
};

static int parse_choice(const char *which, struct choice *out, struct tl_error *err)
{
	static const char *const classes[] = { "slow", "good", "apart", "spike" };
	uint64_t first, last;
	size_t len = strlen(which), used;

	*out = (struct choice) { .class_ = which, .first = INT64_MIN, .last = INT64_MAX };
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (!strcmp(which, classes[i]))
			return TL_OK;
	out->class_ = NULL;
	used = tl_parse_u64(which, len, 10, &first);
	last = first;
	if (used && used < len && which[used] == '-') {
		size_t more = tl_parse_u64(which + used + 1, len - used - 1, 10, &last);

		used = more ? used + 1 + more : 0;
	}
	if (!used || used != len || first > INT64_MAX || last > INT64_MAX)
		return tl_fail(
			err, TL_USAGE,
			"steps '%.100s' are neither slow, good, apart, spike, a number, nor a "
			"range N-M",
			which);
	if (last < first)
		return tl_fail(err, TL_USAGE, "steps '%.100s' end before they begin", which);
	out->first = (int64_t)first;
	out->last = (int64_t)last;
	return TL_OK;
}

static int load(struct tl_store *store, const struct choice *choice, struct tl_ranges *ranges,
		size_t *step_count, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, store,
		"SELECT ts, ts + dur AS finish, total(step_count) OVER (PARTITION BY series) AS "
		"siblings FROM step_placed WHERE " CHOSEN " ORDER BY ts, step_id",
		"ts finish siblings", err);

	if (ret < 0)
		return ret;
	tl_bind_text(st, 1, choice->class_, choice->class_ ? strlen(choice->class_) : 0);
	tl_bind_i64(st, 2, choice->first);
	tl_bind_i64(st, 3, choice->last);
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = tl_ranges_add(ranges, tl_column_i64(st, 0), tl_column_i64(st, 1), err);
		if (ret < 0)
			break;
		/* a profiler and a log may tell of the same steps, and ranks step together */
		if ((size_t)tl_column_i64(st, 2) > *step_count)
			*step_count = (size_t)tl_column_i64(st, 2);
	}
	tl_statement_close(st);
	return ret;
}

/* A profiler and a log may tell of the same steps, and ranks step together. */
#define PER_SERIES(what) \
	"SELECT max(n) FROM (SELECT count(" what ") AS n FROM step GROUP BY series)"

/* Why there is nothing: no steps at all, none with times, or none of this kind. */
static int fail_none(struct tl_store *store, const char *which, struct tl_error *err)
{
	int64_t steps, timed, spikes;
	int ret = tl_store_value(store, PER_SERIES("*"), 0, &steps, err);

	if (ret == TL_OK)
		ret = tl_store_value(store, PER_SERIES("ts"), 0, &timed, err);
	if (ret < 0)
		return ret;
	if (!steps)
		return tl_fail(err, TL_NOTHING,
			       "the case knows no training steps: import a profiler's trace or a "
			       "training log into it");
	if (!timed)
		return tl_fail(err, TL_NOTHING,
			       "the %lld training steps of the case have durations but no times",
			       (long long)steps);
	ret = tl_store_value(store, PER_SERIES("nullif(class = 'spike', 0)"), 0, &spikes, err);
	if (ret < 0)
		return ret;
	if (spikes && !strcmp(which, "slow"))
		return tl_fail(
			err, TL_NOTHING,
			"none of %lld training steps is slow, but for %lld slow alone or perhaps "
			"by chance: '--steps spike' takes those",
			(long long)steps, (long long)spikes);
	return tl_fail(err, TL_NOTHING, "none of %lld training steps is %.100s", (long long)steps,
		       which);
}

int tl_steps_ranges(struct tl_store *store, const char *which, struct tl_time_range **out,
		    size_t *count, size_t *step_count, struct tl_error *err)
{
	struct tl_ranges ranges = { 0 };
	struct choice choice;
	int ret = parse_choice(which, &choice, err);

	*out = NULL;
	*count = *step_count = 0;
	if (ret == TL_OK)
		ret = load(store, &choice, &ranges, step_count, err);
	if (ret == TL_OK && !ranges.count)
		ret = fail_none(store, which, err);
	if (ret < 0) {
		tl_ranges_release(&ranges);
		return ret;
	}
	tl_ranges_settle(&ranges);
	*out = ranges.ranges; /* the caller's now */
	*count = ranges.count;
	return TL_OK;
}

/* ---- may they be laid beside what others recorded? ---- */

static void bind_choice(struct tl_statement *st, const struct choice *choice)
{
	tl_bind_text(st, 1, choice->class_, choice->class_ ? strlen(choice->class_) : 0);
	tl_bind_i64(st, 2, choice->first);
	tl_bind_i64(st, 3, choice->last);
}

static int median_step(struct tl_store *store, const struct choice *choice, int64_t *ns,
		       struct tl_error *err)
{
	struct tl_statement *st;
	int ret =
		tl_statement_open(&st, store,
				  "SELECT dur FROM step_placed WHERE " CHOSEN
				  " ORDER BY dur LIMIT 1 OFFSET (SELECT count(*) FROM step_placed "
				  "WHERE " CHOSEN ") / 2",
				  "dur", err);

	*ns = 0;
	if (ret < 0)
		return ret;
	bind_choice(st, choice);
	ret = tl_statement_step(st, err);
	if (ret > 0)
		*ns = tl_column_i64(st, 0);
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

/* Sources of the steps, and of the data; each once. */
static int find_sources(struct tl_store *store, const struct choice *choice, const char *sql,
			int64_t **sources, size_t *count, struct tl_error *err)
{
	struct tl_statement *st;
	size_t capacity = 0;
	int ret = tl_statement_open(&st, store, sql, "source_id", err);

	*sources = NULL;
	*count = 0;
	if (ret == TL_OK)
		bind_choice(st, choice);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = tl_grow(sources, &capacity, *count + 1, err);

		if (status == TL_OK)
			(*sources)[(*count)++] = tl_column_i64(st, 0);
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

/* Steps of clocks that are only assumed, beside others. */
static int tell_left_out(struct tl_store *store, struct tl_clock_join *out, struct tl_error *err)
{
	size_t length = strlen(out->text);
	int64_t count;
	int ret = tl_store_value(store,
				 "SELECT count(DISTINCT source_id) FROM step WHERE ts NOT NULL AND "
				 "step_id NOT IN (SELECT step_id FROM step_placed)",
				 0, &count, err);

	if (ret == TL_OK && count)
		snprintf(out->text + length, sizeof(out->text) - length,
			 "%ssteps of %lld source%s whose clock is only assumed are left out",
			 length ? "; " : "", (long long)count, count == 1 ? "" : "s");
	return ret;
}

int tl_clock_join_steps(struct tl_store *store, const char *which, enum tl_clock_data data,
			struct tl_clock_join *out, struct tl_error *err)
{
	static const char *const sql[] = {
		[TL_CLOCK_DATA_SAMPLES] = "SELECT source_id FROM step_placed WHERE " CHOSEN
					  " UNION SELECT source_id FROM "
					  "event WHERE sample_count > 0 ORDER BY source_id",
		[TL_CLOCK_DATA_CALLS] =
			"SELECT source_id FROM step_placed WHERE " CHOSEN
			" UNION SELECT source_id FROM call_block ORDER BY source_id",
	};
	struct choice choice = { .first = INT64_MIN, .last = INT64_MAX };
	int64_t *sources = NULL, effect_ns;
	size_t count;
	int ret = which ? parse_choice(which, &choice, err) : TL_OK;

	if (ret == TL_OK)
		ret = median_step(store, &choice, &effect_ns, err);
	if (ret == TL_OK)
		ret = find_sources(store, &choice, sql[data], &sources, &count, err);
	/* where there are no such steps, nothing is joined */
	if (ret == TL_OK)
		ret = tl_clock_join(store, sources, effect_ns ? count : 0, effect_ns, out, err);
	if (ret == TL_OK)
		ret = tell_left_out(store, out, err);
	free(sources);
	return ret;
}
