/*
 * thp_counters.c - what the machine counted and how it was set, where that was sampled: counters of
 * /proc/vmstat and memory pressure by step, settings of huge pages as facts.
 *
 * Counters are of the whole machine: they show that something happened, not to whom.
 */
#include "thp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counters that only ever grow. A name that ends in '*' stands for several, which are summed. */
static const struct watched {
	const char *track, *name;
	bool is_activity; /* of daemons and compaction, for huge pages */
	bool is_always;	  /* told even when it did not move */
} watched[] = {
	{ "vmstat", "thp_fault_alloc", false, true },
	{ "vmstat", "thp_fault_fallback", false, false },
	{ "vmstat", "thp_collapse_alloc", true, true },
	{ "vmstat", "thp_collapse_alloc_failed", true, false },
	{ "vmstat", "thp_split_page", true, false },
	{ "vmstat", "thp_split_pmd", false, false },
	{ "vmstat", "compact_stall", true, true },
	{ "vmstat", "compact_fail", false, false },
	{ "vmstat", "compact_daemon_wake", true, false },
	{ "vmstat", "compact_migrate_scanned", false, false },
	{ "vmstat", "pgmigrate_success", false, false },
	{ "vmstat", "allocstall_*", false, true },
	{ "vmstat", "pgsteal_direct", false, false },
	{ "vmstat", "pgsteal_kswapd", false, false },
	{ "pressure memory", "some total", false, false },
	{ "pressure memory", "full total", false, false },
};
#define COVER_NS 2000000000 /* sampling may begin so late, and end so early */
#define WATCHED	 (sizeof(watched) / sizeof(*watched))

struct reading {
	int64_t ts;
	double value;
};

struct readings {
	struct reading *items;
	size_t count, capacity;
};

/* ---- steps between readings ------------------------------------------------------------------ */

static double between(const struct reading *a, const struct reading *b, int64_t ts)
{
	if (b->ts <= a->ts)
		return b->value;
	return a->value + (b->value - a->value) * (double)(ts - a->ts) / (double)(b->ts - a->ts);
}

/* The value at ts, on the line between the readings around it; it stood still before and after. */
static double value_at(const struct readings *r, int64_t ts)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->items[middle].ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return r->items[0].value;
	if (low == r->count)
		return r->items[r->count - 1].value;
	return between(&r->items[low - 1], &r->items[low], ts);
}

/* Adds what a counter grew by in each step. One that began anew tells nothing there. */
static void add_growth(const struct tl_thp_work *w, const struct readings *r, double *grown)
{
	if (!r->count)
		return;
	for (size_t i = 0; i < w->n; i++) {
		double d = value_at(r, w->view.steps[i].end_ns) -
			   value_at(r, w->view.steps[i].begin_ns);

		grown[i] += d > 0 ? d : 0;
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_named(const char *pattern, const char *name, size_t length)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return length >= n - 1 && !memcmp(pattern, name, n - 1);
	return length == n && !memcmp(pattern, name, n);
}

static int find_watched(const char *track, size_t track_length, const char *name, size_t length)
{
	for (size_t i = 0; i < WATCHED; i++) {
		if (is_named(watched[i].track, track, track_length) &&
		    is_named(watched[i].name, name, length))
			return (int)i;
	}
	return -1;
}

struct sums {
	double *grown[WATCHED]; /* by step; NULL: there is no such counter */
	uint64_t count[WATCHED];
	const char *source[WATCHED];
};

static int load_counter(struct tl_thp_work *w, int64_t track_id, int64_t name_id,
			struct readings *out, struct tl_error *err)
{
	struct tl_statement *st;
	int ret =
		tl_statement_open(&st, w->store,
				  "SELECT ts, value FROM counter WHERE track_id = ?1 AND name_id = "
				  "?2 ORDER BY ts",
				  "ts value", err);

	out->count = 0;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, track_id);
	tl_bind_i64(st, 2, name_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = tl_grow(&out->items, &out->capacity, out->count + 1, err);
		if (ret < 0)
			break;
		out->items[out->count++] =
			(struct reading) { tl_column_i64(st, 0), tl_column_double(st, 1) };
	}
	tl_statement_close(st);
	return ret;
}

enum { C_TRACK_ID, C_NAME_ID, C_TRACK, C_NAME, C_SOURCE };

static int add_counter(struct tl_thp_work *w, struct tl_statement *st, struct readings *readings,
		       struct sums *sums, struct tl_error *err)
{
	size_t track_length, name_length, path_length;
	const char *track = tl_column_text(st, C_TRACK, &track_length);
	const char *name = tl_column_text(st, C_NAME, &name_length);
	const char *path = tl_column_text(st, C_SOURCE, &path_length);
	int at = track && name ? find_watched(track, track_length, name, name_length) : -1;
	int ret;

	if (at < 0)
		return TL_OK;
	if (!sums->grown[at]) {
		sums->grown[at] = tl_alloc(w->n, sizeof(double), err);
		sums->source[at] = tl_arena_copy(w->out->memory, path ? path : "",
						 path ? path_length : 0, err);
		if (!sums->grown[at] || !sums->source[at])
			return TL_NOMEM;
	}
	ret = load_counter(w, tl_column_i64(st, C_TRACK_ID), tl_column_i64(st, C_NAME_ID), readings,
			   err);
	if (ret < 0)
		return ret;
	add_growth(w, readings, sums->grown[at]);
	sums->count[at] = readings->count > sums->count[at] ? readings->count : sums->count[at];
	return TL_OK;
}

/* Of the machine that the thread ran on, sampled all along the steps. */
static int load_counters(struct tl_thp_work *w, struct sums *sums, struct tl_error *err)
{
	struct readings readings = { 0 };
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, w->store,
		"SELECT DISTINCT k.track_id AS track_id, c.name_id AS name_id, k.name AS track, n.text "
		"AS name, s.path AS source FROM track k JOIN source s USING (source_id) JOIN counter c "
		"USING (track_id) JOIN string n ON n.string_id = c.name_id WHERE k.kind = 'counter' AND "
		"k.name IN ('vmstat', 'pressure memory') AND s.host_id = (SELECT p.host_id FROM thread "
		"t JOIN process p USING (process_id) WHERE t.thread_id = ?1) AND s.first_ts <= ?2 AND "
		"s.last_ts >= ?3 ORDER BY track_id, name_id",
		"track_id name_id track name source", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	tl_bind_i64(st, 2, w->view.steps[0].begin_ns + COVER_NS);
	tl_bind_i64(st, 3, w->view.steps[w->n - 1].end_ns - COVER_NS);
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = add_counter(w, st, &readings, sums, err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	free(readings.items);
	return ret;
}

/* ---- activity, where no recording shows daemons ---------------------------------------------- */

static double sum_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; v && i < n; i++)
		sum += v[i];
	return sum;
}

/* Events instead of time: ranks are all that is made of them. */
static void take_as_activity(struct tl_thp_work *w, const struct sums *sums)
{
	for (size_t k = 0; k < WATCHED; k++) {
		if (!watched[k].is_activity || !sums->grown[k])
			continue;
		w->has_daemon_counters = true;
		for (size_t i = 0; i < w->n; i++)
			w->activity[i] += sums->grown[k][i];
	}
}

/* Each thread that compacts, reclaims or faults a huge page counts there: nobody did. */
static bool is_direct_excluded(const struct tl_thp_work *w, const struct sums *sums)
{
	static const char *const names[] = { "compact_stall", "allocstall_*", "thp_fault_alloc" };
	size_t found = 0;

	for (size_t k = 0; k < WATCHED; k++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			if (strcmp(watched[k].name, names[i]) != 0 || !sums->grown[k])
				continue;
			if (sum_of(sums->grown[k], w->n) > 0)
				return false;
			found++;
		}
	}
	return found == sizeof(names) / sizeof(*names);
}

static bool is_collapse_excluded(const struct tl_thp_work *w, const struct sums *sums)
{
	for (size_t k = 0; k < WATCHED; k++) {
		if (!strcmp(watched[k].name, "thp_collapse_alloc"))
			return sums->grown[k] && !(sum_of(sums->grown[k], w->n) > 0);
	}
	return false;
}

int tl_thp_gather_counters(struct tl_thp_work *w, struct tl_error *err)
{
	struct sums sums = { 0 };
	int ret = load_counters(w, &sums, err);

	if (ret == TL_OK && !w->has_sampled_daemons &&
	    !(w->view.has & (TL_VIEW_DAEMONS | TL_VIEW_COLLAPSE)))
		take_as_activity(w, &sums);
	w->is_direct_excluded = is_direct_excluded(w, &sums);
	w->is_collapse_excluded = is_collapse_excluded(w, &sums);
	for (size_t k = 0; k < WATCHED; k++)
		free(sums.grown[k]);
	return ret;
}

/* Both counters were read before the first step and behind the last, and were the same. */
int tl_thp_exclude_faults(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_statement *st;
	int64_t counters = 0, still = 0;
	int ret = tl_statement_open(
		&st, w->store,
		"SELECT count(*) AS counters, sum(first_ts <= ?2 AND last_ts >= ?3 AND low = high) AS "
		"still FROM (SELECT min(c.ts) AS first_ts, max(c.ts) AS last_ts, min(c.value) AS low, "
		"max(c.value) AS high FROM track k JOIN source s USING (source_id) JOIN counter c USING "
		"(track_id) JOIN string n ON n.string_id = c.name_id WHERE k.kind = 'counter' AND k.name "
		"= 'vmstat' AND n.text IN ('thp_fault_alloc', 'thp_fault_fallback') AND s.host_id = "
		"(SELECT p.host_id FROM thread t JOIN process p USING (process_id) WHERE t.thread_id = "
		"?1) GROUP BY k.track_id, c.name_id)",
		"counters still", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	tl_bind_i64(st, 2, w->view.steps[0].begin_ns);
	tl_bind_i64(st, 3, w->view.steps[w->n - 1].end_ns);
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		counters = tl_column_i64(st, 0);
		still = tl_column_i64(st, 1);
	}
	tl_statement_close(st);
	w->is_fault_excluded = counters >= 2 && still == counters;
	return ret < 0 ? ret : TL_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static double rate_of(const struct tl_thp_work *w, const double *grown, enum tl_thp_role role)
{
	double sum = 0, time = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (w->steps.role[i] == role) {
			sum += grown[i];
			time += w->duration[i];
		}
	}
	return time > 0 ? sum * 1e9 / time : NAN;
}

static int correlate(const struct tl_thp_work *w, const double *grown, struct tl_thp_counter *c,
		     struct tl_error *err)
{
	double *a = tl_alloc(2 * w->n, sizeof(*a), err), *x = a + w->n;
	size_t n = 0;
	int ret;

	if (!a)
		return TL_NOMEM;
	for (size_t i = 0; i < w->n; i++) {
		if (!w->is_checkpoint[i]) {
			a[n] = grown[i];
			x[n++] = w->duration[i];
		}
	}
	ret = tl_circular_rank(&c->rho, &c->p, a, x, n, err);
	free(a);
	return ret;
}

static int tell_counter(struct tl_thp_work *w, const struct sums *sums, size_t k, size_t *capacity,
			struct tl_error *err)
{
	struct tl_thp_counter c = { .name = watched[k].name,
				    .source = sums->source[k],
				    .slow_rate = rate_of(w, sums->grown[k], TL_THP_ROLE_SLOW),
				    .good_rate = rate_of(w, sums->grown[k], TL_THP_ROLE_BASE),
				    .rho = NAN,
				    .p = NAN,
				    .count = sums->count[k] };
	int ret = TL_OK;

	if (!strcmp(watched[k].track, "pressure memory"))
		c.name = strstr(watched[k].name, "full") ? "memory pressure, all stalled (us)"
							 : "memory pressure, some stalled (us)";
	if (w->model.slow_count >= 3 && w->model.base_count >= 5 &&
	    sum_of(sums->grown[k], w->n) > 0)
		ret = correlate(w, sums->grown[k], &c, err);
	if (ret == TL_OK)
		ret = tl_grow(&w->out->counters, capacity, w->out->counter_count + 1, err);
	if (ret == TL_OK)
		w->out->counters[w->out->counter_count++] = c;
	return ret;
}

int tl_thp_find_counters(struct tl_thp_work *w, struct tl_error *err)
{
	struct sums sums = { 0 };
	size_t capacity = 0;
	int ret = load_counters(w, &sums, err);

	for (size_t k = 0; k < WATCHED && ret == TL_OK; k++) {
		if (sums.grown[k] && (watched[k].is_always || sum_of(sums.grown[k], w->n) > 0))
			ret = tell_counter(w, &sums, k, &capacity, err);
	}
	for (size_t k = 0; k < WATCHED; k++)
		free(sums.grown[k]);
	return ret;
}

/* ---- settings -------------------------------------------------------------------------------- */

static bool is_plain(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] < ' ')
			return false;
	}
	return length < 200;
}

int tl_thp_find_settings(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_thp *out = w->out;
	struct tl_statement *st;
	size_t capacity = 0;
	int ret = tl_statement_open(
		&st, w->store,
		"SELECT m.key AS name, max(m.value) AS value FROM source_meta m JOIN source s USING "
		"(source_id) WHERE s.host_id = (SELECT p.host_id FROM thread t JOIN process p USING "
		"(process_id) WHERE t.thread_id = ?) AND (m.key IN ('thp.enabled', 'thp.defrag', "
		"'thp.hpage_pmd_size', 'vm.compaction_proactiveness', 'vm.min_free_kbytes', "
		"'vm.watermark_scale_factor') OR m.key LIKE 'thp.khugepaged.%' OR (m.key LIKE "
		"'thp.hugepages-%.enabled' AND m.value <> 'never')) GROUP BY m.key ORDER BY m.key",
		"name value", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		size_t name_length, value_length;
		const char *name = tl_column_text(st, 0, &name_length);
		const char *value = tl_column_text(st, 1, &value_length);
		struct tl_thp_setting setting;

		if (!name || !value || !is_plain(value, value_length))
			continue;
		setting.name = tl_arena_copy(out->memory, name, name_length, err);
		setting.value = tl_arena_copy(out->memory, value, value_length, err);
		ret = setting.name && setting.value
			      ? tl_grow(&out->settings, &capacity, out->setting_count + 1, err)
			      : TL_NOMEM;
		if (ret < 0)
			break;
		out->settings[out->setting_count++] = setting;
	}
	tl_statement_close(st);
	return ret;
}

const char *tl_thp_setting(const struct tl_thp_work *w, const char *name)
{
	for (size_t i = 0; i < w->out->setting_count; i++) {
		if (!strcmp(w->out->settings[i].name, name))
			return w->out->settings[i].value;
	}
	return NULL;
}
