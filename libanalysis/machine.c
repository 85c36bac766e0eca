/*
 * machine.c - what the machines of a case said of themselves: settings (facts of a source) and counters
 * (samples over time), summed up. Only reads.
 */
#include "analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "store.h"

struct loading {
	struct tl_machine *machine;
	struct tl_arena *arena;
	size_t setting_capacity, counter_capacity;
};

/* NULL for NULL; `failed` is set when memory is out. */
static const char *text_of(struct loading *l, struct tl_statement *st, int column, bool *failed)
{
	size_t length;
	const char *text = tl_column_text(st, column, &length);
	char *copy = text ? tl_arena_copy(l->arena, text, length, NULL) : NULL;

	*failed |= text && !copy;
	return copy;
}

static bool starts(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(text, *list))
			return true;
	return false;
}

/* ---- settings ---- */

static const char setting_sql[] =
	"WITH change AS (SELECT l.source_id, substr(l.text, 1, instr(l.text, ':') - 1) AS key, "
	"count(*) AS count FROM log l JOIN string v ON v.string_id = l.level_id "
	"WHERE v.text = 'setting' GROUP BY 1, 2) "
	"SELECT m.source_id AS source, h.name AS host, m.key AS key, m.value AS value, "
	"coalesce(c.count, 0) AS changes "
	"FROM source_meta m JOIN source s USING (source_id) LEFT JOIN host h USING (host_id) "
	"LEFT JOIN change c ON c.source_id = m.source_id AND c.key = m.key "
	"WHERE s.importer = 'system' AND (m.key GLOB 'thp.*' OR m.key GLOB 'vm.*' "
	"OR m.key GLOB 'kernel.*' OR m.key GLOB 'sys.*') ORDER BY m.source_id, m.key";
enum { SETTING_SOURCE, SETTING_HOST, SETTING_KEY, SETTING_VALUE, SETTING_CHANGES };

static bool is_main_setting(const char *key)
{
	static const char *const keys[] = { "thp.enabled",
					    "thp.defrag",
					    "thp.khugepaged.defrag",
					    "thp.khugepaged.scan_sleep_millisecs",
					    "thp.khugepaged.alloc_sleep_millisecs",
					    "thp.khugepaged.pages_to_scan",
					    "vm.compaction_proactiveness",
					    "vm.min_free_kbytes",
					    "vm.zone_reclaim_mode",
					    NULL };

	return is_one_of(key, keys);
}

static int on_setting(struct loading *l, struct tl_statement *st, struct tl_error *err)
{
	struct tl_machine *m = l->machine;
	struct tl_machine_setting *s;
	bool failed = false;
	int ret = tl_grow(&m->settings, &l->setting_capacity, m->setting_count + 1, err);

	if (ret < 0)
		return ret;
	s = &m->settings[m->setting_count];
	s->source_id = tl_column_i64(st, SETTING_SOURCE);
	s->host = text_of(l, st, SETTING_HOST, &failed);
	s->key = text_of(l, st, SETTING_KEY, &failed);
	s->value = text_of(l, st, SETTING_VALUE, &failed);
	s->change_count = tl_column_i64(st, SETTING_CHANGES);
	if (failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	if (!s->key) /* a damaged case */
		return TL_OK;
	s->is_main = s->change_count > 0 || is_main_setting(s->key);
	m->setting_count++;
	return TL_OK;
}

/* ---- counters ---- */

/* Beside one min() or max(), SQLite gives the other columns of that row. */
static const char counter_sql[] =
	"WITH own AS (SELECT * FROM counter WHERE track_id IN (SELECT track_id FROM track "
	"JOIN source USING (source_id) WHERE importer = 'system')), "
	"a AS (SELECT track_id, name_id, min(ts) AS ts, value FROM own GROUP BY 1, 2), "
	"b AS (SELECT track_id, name_id, max(ts) AS ts, value FROM own GROUP BY 1, 2), "
	"c AS (SELECT track_id, name_id, max(unit_id) AS unit_id, min(value) AS lowest, "
	"max(value) AS highest FROM own GROUP BY 1, 2) "
	"SELECT k.source_id AS source, k.name AS track, n.text AS name, u.text AS unit, "
	"a.ts AS first_ts, b.ts AS last_ts, c.lowest AS lowest, c.highest AS highest, "
	"a.value AS first, b.value AS last "
	"FROM c JOIN a USING (track_id, name_id) JOIN b USING (track_id, name_id) "
	"JOIN track k USING (track_id) JOIN string n ON n.string_id = c.name_id "
	"LEFT JOIN string u ON u.string_id = c.unit_id ORDER BY k.source_id, k.track_id, n.text";
static const char counter_columns[] =
	"source track name unit first_ts last_ts lowest highest first last";
enum {
	COUNTER_SOURCE,
	COUNTER_TRACK,
	COUNTER_NAME,
	COUNTER_UNIT,
	COUNTER_FIRST_TS,
	COUNTER_LAST_TS,
	COUNTER_LOWEST,
	COUNTER_HIGHEST,
	COUNTER_FIRST,
	COUNTER_LAST
};

static bool is_growing(const char *unit)
{
	static const char end[] = " since boot";
	size_t length = unit ? strlen(unit) : 0;

	return length >= sizeof(end) && !strcmp(unit + length - sizeof(end) + 1, end);
}

/* What tells of memory in trouble; most of the others say that the machine is at work. */
static bool is_of_trouble(const struct tl_machine_counter *c)
{
	static const char *const starts_of[] = { "thp_fault_", "thp_collapse_",	    "thp_split_",
						 "compact_",   "allocstall",	    "pgscan_",
						 "pgsteal_",   "pgmigrate_",	    "pswp",
						 "oom_kill",   "workingset_refault" };
	static const char *const names[] = { "pgmajfault", "pages_collapsed", "full_scans", NULL };

	if (starts(c->track, "pressure "))
		return true;
	for (size_t i = 0; i < sizeof(starts_of) / sizeof(starts_of[0]); i++)
		if (starts(c->name, starts_of[i]))
			return true;
	return is_one_of(c->name, names);
}

static int on_counter(struct loading *l, struct tl_statement *st, struct tl_error *err)
{
	struct tl_machine *m = l->machine;
	struct tl_machine_counter *c;
	bool failed = false;
	int ret = tl_grow(&m->counters, &l->counter_capacity, m->counter_count + 1, err);

	if (ret < 0)
		return ret;
	c = &m->counters[m->counter_count];
	c->source_id = tl_column_i64(st, COUNTER_SOURCE);
	c->track = text_of(l, st, COUNTER_TRACK, &failed);
	c->name = text_of(l, st, COUNTER_NAME, &failed);
	c->unit = text_of(l, st, COUNTER_UNIT, &failed);
	if (failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	if (!c->track || !c->name)
		return TL_OK;
	c->first_ts = tl_column_i64(st, COUNTER_FIRST_TS);
	c->last_ts = tl_column_i64(st, COUNTER_LAST_TS);
	c->lowest = tl_column_double(st, COUNTER_LOWEST);
	c->highest = tl_column_double(st, COUNTER_HIGHEST);
	c->first = tl_column_double(st, COUNTER_FIRST);
	c->last = tl_column_double(st, COUNTER_LAST);
	c->is_growing = is_growing(c->unit);
	c->per_second = NAN;
	if (c->is_growing && c->last_ts > c->first_ts && c->last >= c->first)
		c->per_second =
			(c->last - c->first) * 1e9 / ((double)c->last_ts - (double)c->first_ts);
	c->is_main = c->is_growing && c->last > c->first && is_of_trouble(c);
	m->counter_count++;
	return TL_OK;
}

/* ---- both ---- */

typedef int (*row_fn)(struct loading *l, struct tl_statement *st, struct tl_error *err);

static int each_row(struct loading *l, struct tl_store *store, const char *sql, const char *columns,
		    row_fn fn, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store, sql, columns, err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = fn(l, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

int tl_machine_load(struct tl_store *store, struct tl_machine *out, struct tl_error *err)
{
	struct loading l = { .machine = out };
	int ret;

	memset(out, 0, sizeof(*out));
	out->memory = l.arena = tl_alloc(1, sizeof(*l.arena), err);
	ret = l.arena ? each_row(&l, store, setting_sql, "source host key value changes",
				 on_setting, err)
		      : TL_NOMEM;
	if (ret == TL_OK)
		ret = each_row(&l, store, counter_sql, counter_columns, on_counter, err);
	if (ret < 0)
		tl_machine_release(out);
	return ret;
}

void tl_machine_release(struct tl_machine *machine)
{
	if (machine->memory)
		tl_arena_release(machine->memory);
	free(machine->memory);
	free(machine->settings);
	free(machine->counters);
	memset(machine, 0, sizeof(*machine));
}
