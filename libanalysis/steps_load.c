/*
 * steps_load.c - rows that are steps, of profilers and of logs, into a series for each rank of each source;
 * which of them go on in another source, steps_join.c knows. Judges nothing.
 */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "pattern.h"
#include "reader.h"

struct loading {
	struct tl_steps *out;
	struct tl_store *store;
	struct tl_arena *arena;
	const struct tl_steps_options *opt;
	/* the series being filled, and what tells the next one from it */
	struct tl_steps_series *series;
	struct tl_steps_extent *extents; /* one a series */
	size_t step_capacity, series_capacity, extent_capacity;
	int64_t source_id, track_id;
	int32_t rank;
};

static int no_memory(struct tl_error *err)
{
	return tl_fail(err, TL_NOMEM, "out of memory");
}

static const char *copy_column(struct loading *l, struct tl_statement *st, int column, bool *failed)
{
	size_t len;
	const char *text = tl_column_text(st, column, &len);
	char *copy = text ? tl_arena_copy(l->arena, text, len, NULL) : NULL;

	*failed |= text && !copy;
	return copy;
}

/* ---- rows to series ---- */

enum step_column {
	COL_SOURCE,
	COL_TRACK,
	COL_RANK,
	COL_NUMBER,
	COL_TS,
	COL_DUR,
	COL_COUNT,
	COL_SUSPECT,
	COL_PATH,
	COL_PID,
	COL_TID,
	COL_THREAD,
	COL_HOST,
	COL_IMPORTER
};

static const char step_columns[] =
	"source track rank number ts dur step_count suspect path pid tid thread host importer";

/* `number`: what stands for the step's number. */
#define FROM_SLICES(number)                                                                               \
	"SELECT k.source_id AS source, a.track_id AS track, s.rank AS rank, " number                      \
	" AS number, a.ts AS ts, a.dur AS dur, 1 AS step_count, a.flags & 2 AS suspect, s.path AS path, " \
	"p.pid AS pid, t.tid AS tid, n.text AS thread, s.host_id AS host, s.importer AS importer "        \
	"FROM slice a JOIN track k USING "                                                                \
	"(track_id) JOIN source s USING (source_id) LEFT JOIN thread t USING (thread_id) "                \
	"LEFT JOIN process p USING (process_id) LEFT JOIN string n ON n.string_id = t.name_id "

static const char known_steps_sql[] =
	FROM_SLICES("a.step") "WHERE a.step IS NOT NULL ORDER BY source, track, ts, a.slice_id";

/* A mark without a duration lasts until the next one. */
static const char marks_sql[] =
	"SELECT m.source_id AS source, 0 AS track, m.rank AS rank, m.number AS number, m.ts AS ts, "
	"coalesce(m.dur, lead(m.ts) OVER (PARTITION BY m.source_id, m.rank ORDER BY m.rowid) - m.ts) "
	"AS dur, m.step_count AS step_count, 0 AS suspect, s.path AS path, NULL AS pid, NULL AS tid, NULL AS thread, "
	"s.host_id AS host, s.importer AS importer FROM step_mark m JOIN source s USING (source_id) ORDER BY source, rank, m.rowid";

static bool same_series(const struct loading *l, int64_t source, int64_t track, int32_t rank)
{
	return l->series && l->source_id == source && l->track_id == track && l->rank == rank;
}

static int new_series(struct loading *l, struct tl_statement *st, const char *origin,
		      struct tl_error *err)
{
	struct tl_steps *out = l->out;
	struct tl_steps_series *s;
	bool failed = false;
	int ret = tl_grow(&out->series, &l->series_capacity, out->series_count + 1, err);

	if (ret == TL_OK)
		ret = tl_grow(&l->extents, &l->extent_capacity, out->series_count + 1, err);
	if (ret < 0)
		return ret;
	l->extents[out->series_count] = (struct tl_steps_extent) {
		.host_id = tl_column_i64(st, COL_HOST),
		.importer = copy_column(l, st, COL_IMPORTER, &failed),
	};
	s = &out->series[out->series_count++];
	memset(s, 0, sizeof(*s));
	s->source_id = tl_column_i64(st, COL_SOURCE);
	s->origin = origin;
	s->rank = tl_column_is_null(st, COL_RANK) ? -1 : (int32_t)tl_column_i64(st, COL_RANK);
	s->pid = tl_column_is_null(st, COL_PID) ? -1 : tl_column_i64(st, COL_PID);
	s->tid = tl_column_is_null(st, COL_TID) ? -1 : tl_column_i64(st, COL_TID);
	s->source = copy_column(l, st, COL_PATH, &failed);
	s->thread = copy_column(l, st, COL_THREAD, &failed);
	l->series = s;
	l->step_capacity = 0;
	l->source_id = s->source_id;
	l->track_id = tl_column_i64(st, COL_TRACK);
	l->rank = s->rank;
	return failed ? no_memory(err) : TL_OK;
}

/* Rows without a usable duration tell, too, how far the source goes. */
static void extend(struct tl_steps_extent *x, struct tl_statement *st, const struct tl_step *row,
		   bool is_first)
{
	int64_t dur = tl_column_i64(st, COL_DUR), first = tl_step_first(row), end;

	if (is_first)
		x->first_number = x->least_number = x->most_number = row->number;
	x->last_number = row->number;
	x->least_number = first < x->least_number ? first : x->least_number;
	x->most_number = row->number > x->most_number ? row->number : x->most_number;
	if (!row->has_ts)
		return;
	if (__builtin_add_overflow(row->ts, dur > 0 ? dur : 0, &end))
		end = INT64_MAX;
	if (!x->has_ts) {
		x->first_ts = x->last_ts = row->ts;
		x->end_ts = end;
	}
	x->has_ts = true;
	x->first_ts = row->ts < x->first_ts ? row->ts : x->first_ts;
	x->last_ts = row->ts > x->last_ts ? row->ts : x->last_ts;
	x->end_ts = end > x->end_ts ? end : x->end_ts;
}

/* `number` NULL: the row has none but its place. */
static int add_step(struct loading *l, struct tl_statement *st, const char *origin,
		    const int64_t *number, struct tl_error *err)
{
	int32_t rank = tl_column_is_null(st, COL_RANK) ? -1 : (int32_t)tl_column_i64(st, COL_RANK);
	int64_t span = tl_column_i64(st, COL_DUR), count = tl_column_i64(st, COL_COUNT);
	struct tl_step step = { .has_ts = !tl_column_is_null(st, COL_TS),
				.ts = tl_column_i64(st, COL_TS),
				.count = count > 1 ? count : 1 };
	struct tl_steps_extent *extent;
	int ret = TL_OK;

	if (l->opt->has_rank && rank != l->opt->rank)
		return TL_OK;
	if (!same_series(l, tl_column_i64(st, COL_SOURCE), tl_column_i64(st, COL_TRACK), rank))
		ret = new_series(l, st, origin, err);
	if (ret < 0)
		return ret;
	step.number = number ? *number : (int64_t)l->series->count;
	extent = &l->extents[l->out->series_count - 1];
	extend(extent, st, &step, !l->series->count && !l->series->left_out);
	if (span <= 0 || tl_column_i64(st, COL_SUSPECT)) {
		l->series->left_out++;
		return TL_OK;
	}
	ret = tl_grow(&l->series->steps, &l->step_capacity, l->series->count + 1, err);
	if (ret < 0)
		return ret;
	extent->is_timed = step.has_ts && (extent->is_timed || !l->series->count);
	step.span_ns = span;
	step.duration_ns = span / step.count + (span % step.count * 2 >= step.count);
	step.duration_ns = step.duration_ns > 0 ? step.duration_ns : 1;
	l->series->steps[l->series->count++] = step;
	return TL_OK;
}

static int load_rows(struct loading *l, const char *sql, const char *origin, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, l->store, sql, step_columns, err);

	l->series = NULL;
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		const int64_t number = tl_column_i64(st, COL_NUMBER);

		ret = add_step(l, st, origin, &number, err);
	}
	tl_statement_close(st);
	return ret;
}

/* ---- steps by the name of their slices ---- */

struct named {
	int64_t name_id, number;
	bool has_number;
};

struct pattern {
	regex_t regex;
	struct named *names; /* by name_id */
	size_t count, capacity;
};

static int match_names(struct loading *l, struct pattern *p, struct tl_error *err)
{
	struct tl_text terminated = { 0 };
	struct tl_statement *st;
	int ret = tl_statement_open(&st, l->store,
				    "SELECT string_id, text FROM string ORDER BY string_id",
				    "string_id text", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		regmatch_t match[2];
		size_t len;
		const char *text = tl_column_text(st, 1, &len);

		terminated.length = 0;
		tl_text_add(&terminated, text, len);
		if (terminated.failed) {
			ret = no_memory(err);
			break;
		}
		if (regexec(&p->regex, terminated.data, 2, match, 0) != 0)
			continue;
		ret = tl_grow(&p->names, &p->capacity, p->count + 1, err);
		if (ret < 0)
			break;
		struct named *n = &p->names[p->count++];
		uint64_t number = 0;

		n->name_id = tl_column_i64(st, 0);
		n->has_number =
			match[1].rm_so >= 0 &&
			tl_parse_u64(terminated.data + match[1].rm_so,
				     (size_t)(match[1].rm_eo - match[1].rm_so), 10, &number) &&
			number <= INT64_MAX;
		n->number = (int64_t)number;
	}
	tl_statement_close(st);
	tl_text_release(&terminated);
	return ret;
}

static const struct named *find_name(const struct pattern *p, int64_t name_id)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->names[middle].name_id < name_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->count && p->names[low].name_id == name_id ? &p->names[low] : NULL;
}

/* On OS threads only: a device repeats the annotations of its host. */
static int load_named(struct loading *l, struct pattern *p, struct tl_error *err)
{
	static const char by_name[] = FROM_SLICES(
		"a.name_id") "WHERE k.kind = 'thread' ORDER BY source, track, ts, a.slice_id";
	struct tl_statement *st;
	int ret = tl_statement_open(&st, l->store, by_name, step_columns, err);

	l->series = NULL;
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		const struct named *n = find_name(p, tl_column_i64(st, COL_NUMBER));

		if (n)
			ret = add_step(l, st, "profiler", n->has_number ? &n->number : NULL, err);
	}
	tl_statement_close(st);
	return ret;
}

static int load_by_pattern(struct loading *l, struct tl_error *err)
{
	struct pattern p = { 0 };
	int ret = tl_pattern_compile(&p.regex, l->opt->name_pattern, true, err);

	if (ret < 0)
		return ret;
	ret = match_names(l, &p, err);
	if (ret == TL_OK)
		ret = load_named(l, &p, err);
	regfree(&p.regex);
	free(p.names);
	return ret;
}

int tl_steps_load_rows(struct tl_store *store, const struct tl_steps_options *opt,
		       struct tl_arena *arena, struct tl_steps *out, struct tl_error *err)
{
	struct loading l = { .out = out, .store = store, .arena = arena, .opt = opt };
	int ret;

	if (opt->name_pattern)
		ret = load_by_pattern(&l, err);
	else
		ret = load_rows(&l, known_steps_sql, "profiler", err);
	if (ret == TL_OK && !opt->name_pattern)
		ret = load_rows(&l, marks_sql, "log", err);
	if (ret == TL_OK)
		ret = tl_steps_join(out, l.extents, err);
	free(l.extents);
	return ret;
}
