/*
 * clock_pairs.c - which source is matched with which: those whose clocks are not known surely with
 * those whose clocks are, then with what was so mapped, then with each other.
 */
#include "clock_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_happenings.h"

#define SOURCES_MAX 256u /* with pairs of more nobody would wait */

struct source {
	struct tl_view view;
	int64_t fingerprint, size, first_ts, last_ts;
	int64_t own_residual; /* of what it says itself; -1 unknown */
	char *path, *host, *boot;
	bool has_times, is_sure, is_mapped;
	bool is_told_by; /* a person said how it lies to another source: no measure for that one */
	/* the best match so far */
	struct tl_clock_claim claim;
	bool has_claim;
	char trouble[320]; /* "": none */
};

struct pairs {
	struct tl_store *store;
	struct tl_arena arena;
	struct source *sources;
	size_t count, capacity;
	bool *is_tried; /* count * count */
};

/* ---- sources ---- */

/* What the source itself says: where it was put may follow from what came before it. */
#define META(key)                                                                                     \
	"(SELECT CAST(value AS TEXT) FROM source_meta m WHERE m.source_id = s.source_id AND m.key = " \
	"'" key "' AND m.value != '' ORDER BY m.rowid LIMIT 1)"

static const char source_sql[] =
	"SELECT s.source_id AS source, s.fingerprint AS fingerprint, s.size_bytes AS size, "
	"s.path AS path, " META("hostname") " AS host, " META(
		"boot_id") " AS boot, s.first_ts AS first, s.last_ts AS last, "
			   "s.clock_offset_ns AS offset, s.clock_slope AS slope, "
			   "(SELECT count(*) FROM clock_claim c WHERE c.source_id = s.source_id AND "
			   "(c.is_set OR c.method IN ('exact', 'anchored'))) AS sure, "
			   "EXISTS(SELECT 1 FROM clock_claim c WHERE c.source_id = s.source_id AND "
			   "c.is_set AND c.reference_id NOT NULL) AS told, "
			   "(SELECT residual_ns FROM clock_claim c WHERE c.source_id = s.source_id AND "
			   "NOT c.is_set AND c.method IN ('told', 'assumed') ORDER BY c.method DESC LIMIT 1) AS residual "
			   "FROM source s";
static const char source_columns[] =
	"source fingerprint size path host boot first last offset slope sure told residual";
enum {
	SOURCE_ID,
	SOURCE_FINGERPRINT,
	SOURCE_SIZE,
	SOURCE_PATH,
	SOURCE_HOST,
	SOURCE_BOOT,
	SOURCE_FIRST,
	SOURCE_LAST,
	SOURCE_OFFSET,
	SOURCE_SLOPE,
	SOURCE_SURE,
	SOURCE_TOLD,
	SOURCE_RESIDUAL
};

static int copy_text(struct pairs *p, struct tl_statement *st, int column, char **out,
		     struct tl_error *err)
{
	size_t length;
	const char *text = tl_column_text(st, column, &length);

	*out = text ? tl_arena_copy(&p->arena, text, length, err) : NULL;
	return text && !*out ? TL_NOMEM : TL_OK;
}

static int add_source(struct pairs *p, struct tl_statement *st, struct tl_error *err)
{
	struct source *s;
	int ret = tl_grow(&p->sources, &p->capacity, p->count + 1, err);

	if (ret < 0)
		return ret;
	s = &p->sources[p->count++];
	s->view.source_id = tl_column_i64(st, SOURCE_ID);
	s->view.line = (struct tl_clock_line) { tl_column_i64(st, SOURCE_OFFSET),
						tl_column_double(st, SOURCE_SLOPE) };
	s->fingerprint = tl_column_i64(st, SOURCE_FINGERPRINT);
	s->size = tl_column_i64(st, SOURCE_SIZE);
	s->has_times = !tl_column_is_null(st, SOURCE_FIRST);
	s->first_ts = tl_column_i64(st, SOURCE_FIRST);
	s->last_ts = tl_column_i64(st, SOURCE_LAST);
	s->is_sure = s->is_mapped = tl_column_i64(st, SOURCE_SURE) > 0;
	s->is_told_by = tl_column_i64(st, SOURCE_TOLD) != 0;
	s->own_residual =
		tl_column_is_null(st, SOURCE_RESIDUAL) ? -1 : tl_column_i64(st, SOURCE_RESIDUAL);
	ret = copy_text(p, st, SOURCE_PATH, &s->path, err);
	if (ret == TL_OK)
		ret = copy_text(p, st, SOURCE_HOST, &s->host, err);
	return ret < 0 ? ret : copy_text(p, st, SOURCE_BOOT, &s->boot, err);
}

static int compare_i64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* By what they are, not by when they came: first those whose own times are worth most. */
static int by_content(const void *x, const void *y)
{
	const struct source *a = x, *b = y;
	int order = (b->own_residual >= 0) - (a->own_residual >= 0);

	if (!order)
		order = compare_i64(a->own_residual, b->own_residual);
	if (!order)
		order = compare_i64(a->size, b->size);
	if (!order)
		order = compare_i64(a->fingerprint, b->fingerprint);
	return order ? order : strcmp(a->path, b->path);
}

static int load_sources(struct pairs *p, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, p->store, source_sql, source_columns, err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_source(p, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	if (p->count)
		qsort(p->sources, p->count, sizeof(*p->sources), by_content);
	return ret;
}

/* Matching costs reading all calls: only where there is somebody to be matched. */
static int load_views(struct pairs *p, bool *is_needed, struct tl_error *err)
{
	int ret = TL_OK;

	*is_needed = false;
	for (size_t i = 0; i < p->count; i++)
		*is_needed |= p->sources[i].has_times && !p->sources[i].is_sure;
	*is_needed &= p->count > 1 && p->count <= SOURCES_MAX;
	if (!*is_needed)
		return TL_OK;
	p->is_tried = tl_alloc(p->count * p->count, sizeof(*p->is_tried), err);
	if (!p->is_tried)
		return TL_NOMEM;
	for (size_t i = 0; i < p->count && ret == TL_OK; i++)
		if (p->sources[i].has_times)
			ret = tl_view_load(p->store, &p->sources[i].view, err);
	return ret;
}

/* Nothing says that they are of different machines, of different boots, or of different times. */
static bool can_meet(const struct source *a, const struct source *b)
{
	if (!a->has_times || !b->has_times)
		return false;
	if (a->host && b->host && strcmp(a->host, b->host) != 0)
		return false;
	if (a->boot && b->boot && strcmp(a->boot, b->boot) != 0)
		return false;
	return !a->is_sure || !b->is_sure ||
	       (a->first_ts <= b->last_ts && b->first_ts <= a->last_ts);
}

/* ---- one pair ---- */

struct way { /* of comparing two sources */
	enum tl_clock_view outer, inner;
	enum tl_clock_relation relation;
	const char *what;
};

/* Surest first. */
static const struct way ways[] = {
	{ TL_VIEW_TRACER, TL_VIEW_KERNEL, TL_RELATION_CALL, "system calls" },
	{ TL_VIEW_TRACER, TL_VIEW_TRACER, TL_RELATION_EVEN, "system calls" },
	{ TL_VIEW_KERNEL, TL_VIEW_KERNEL, TL_RELATION_EVEN, "system calls" },
	{ TL_VIEW_SPANS, TL_VIEW_KERNEL, TL_RELATION_CALL, "spans and system calls" },
	{ TL_VIEW_SPANS, TL_VIEW_TRACER, TL_RELATION_CALL, "spans and system calls" },
	{ TL_VIEW_SPANS, TL_VIEW_SPANS, TL_RELATION_EVEN, "spans" },
	{ TL_VIEW_TRACER, TL_VIEW_WAITS, TL_RELATION_WAIT, "system calls and sleeps" },
	{ TL_VIEW_SPANS, TL_VIEW_KERNEL, TL_RELATION_WAIT, "spans and system calls in them" },
	{ TL_VIEW_SPANS, TL_VIEW_TRACER, TL_RELATION_WAIT, "spans and system calls in them" },
	{ TL_VIEW_SPANS, TL_VIEW_WAITS, TL_RELATION_WAIT, "spans and sleeps" },
};

static int compare(struct pairs *p, const struct source *outer, const struct source *inner,
		   const struct way *way, struct tl_clock_match *match, size_t *thread_count,
		   struct tl_error *err)
{
	struct tl_clock_threads threads;
	int ret = tl_clock_threads_load(p->store, &outer->view, way->outer, &inner->view,
					way->inner, way->relation, &threads, err);

	if (ret < 0)
		return ret;
	*thread_count = threads.count;
	if (threads.count)
		ret = tl_clock_match(threads.list, threads.count, way->relation, match, err);
	tl_clock_threads_release(&threads);
	return ret;
}

/* inner = outer + offset + drift * (outer - origin), turned to what maps `from` to the other. */
static struct tl_clock_line line_of(const struct tl_clock_match *m, bool is_outer)
{
	double at_zero = m->drift * (double)m->origin_ns;
	struct tl_clock_line line = { m->offset_ns - (int64_t)at_zero, 1 + m->drift };
	int64_t origin, end;

	if (is_outer)
		return line;
	/* outer = (inner - offset) / slope: exact at the origin, where it was measured */
	origin = m->origin_ns;
	end = (int64_t)((uint64_t)origin + (uint64_t)m->offset_ns);
	if (m->drift == 0)
		return (struct tl_clock_line) { (int64_t)((uint64_t)origin - (uint64_t)end), 1 };
	line.slope = 1 / (1 + m->drift);
	line.offset_ns = 0;
	line.offset_ns = (int64_t)((uint64_t)origin - (uint64_t)tl_clock_unix(line, end));
	return line;
}

/*
 * Far from what both saw the clocks may have drifted apart: by what may be hidden in the residual, or, where
 * it says less, by as much as crystals do.
 */
static int64_t residual_of(const struct source *s, const struct tl_clock_match *m, bool is_outer)
{
	const double drift_unknown = 1e-4;
	int64_t shift = is_outer ? 0 : m->offset_ns;
	double first = (double)tl_clock_source_time(s->view.line, s->first_ts) - (double)shift;
	double last = (double)tl_clock_source_time(s->view.line, s->last_ts) - (double)shift;
	double span = (double)m->last_ns - (double)m->first_ns;
	double outside = fmax(fmax((double)m->first_ns - first, last - (double)m->last_ns), 0);
	double drift = fmin(span > 0 ? 2 * (double)m->residual_ns / span : 1, drift_unknown);
	double residual = (double)m->residual_ns + drift * outside;

	return residual < 9e18 ? (int64_t)residual : INT64_MAX;
}

static bool is_better(const struct tl_clock_claim *a, const struct tl_clock_claim *b)
{
	if (a->residual_ns != b->residual_ns)
		return a->residual_ns < b->residual_ns;
	return a->match_count > b->match_count;
}

static int take_match(struct pairs *p, struct source *s, const struct source *reference,
		      const struct way *way, const struct tl_clock_match *m, bool is_outer,
		      struct tl_error *err)
{
	struct tl_clock_claim claim = { .source_id = s->view.source_id,
					.method = TL_CLOCK_MATCHED,
					.line = line_of(m, is_outer),
					.residual_ns = residual_of(s, m, is_outer),
					.reference_id = reference->view.source_id,
					.match_count = (int64_t)m->match_count,
					.rival_ratio = m->rival_ratio };
	char why[600];

	if (s->has_claim && !is_better(&claim, &s->claim))
		return TL_OK;
	snprintf(why, sizeof(why), "%s that %.300s saw too, spread %.1f us", way->what,
		 reference->path, (double)m->spread_ns / 1e3);
	claim.why = tl_arena_copy(&p->arena, why, strlen(why), err);
	s->claim = claim;
	s->has_claim = true;
	s->trouble[0] = 0;
	return claim.why ? TL_OK : TL_NOMEM;
}

/* Maps `s` by `reference`, if they have something in common. */
static int try_pair(struct pairs *p, struct source *s, const struct source *reference,
		    struct tl_error *err)
{
	bool is_found = false;
	size_t most = 0; /* matches of what came nearest: that is told */
	int ret = TL_OK;

	for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(ways[0]) && !is_found && ret == TL_OK;
	     i++) {
		const struct way *way = &ways[i / 2];
		bool is_outer = i % 2 == 0;
		const struct source *outer = is_outer ? s : reference;
		const struct source *inner = is_outer ? reference : s;
		struct tl_clock_match match = { 0 };
		size_t thread_count;

		if (!is_outer && way->outer == way->inner)
			continue;
		ret = compare(p, outer, inner, way, &match, &thread_count, err);
		if (ret < 0 || !thread_count)
			continue;
		if (match.is_found)
			ret = take_match(p, s, reference, way, &match, is_outer, err);
		else if (!s->has_claim && (!s->trouble[0] || match.match_count > most))
			snprintf(s->trouble, sizeof(s->trouble), "not matched to %.100s by %s: %s",
				 reference->path, way->what, match.trouble);
		if (match.match_count > most)
			most = match.match_count;
		is_found = match.is_found;
	}
	return ret;
}

/* ---- all of them ---- */

/* Tries every source that is not mapped yet with every one that is; the best of them is then mapped. */
static int spread(struct pairs *p, bool *has_spread, struct tl_error *err)
{
	struct source *best = NULL;
	int ret = TL_OK;

	for (size_t i = 0; i < p->count && ret == TL_OK; i++) {
		struct source *s = &p->sources[i];

		for (size_t k = 0; k < p->count && ret == TL_OK && !s->is_mapped; k++) {
			bool *is_tried = &p->is_tried[i * p->count + k];

			if (i == k || *is_tried || !p->sources[k].is_mapped ||
			    p->sources[k].is_told_by || !can_meet(s, &p->sources[k]))
				continue;
			*is_tried = true;
			ret = try_pair(p, s, &p->sources[k], err);
		}
		if (!s->is_mapped && s->has_claim && (!best || is_better(&s->claim, &best->claim)))
			best = s;
	}
	*has_spread = best != NULL;
	if (ret == TL_OK && best) {
		best->is_mapped = true;
		ret = tl_clock_claim_put(p->store, &best->claim, err);
	}
	return ret;
}

/* Where none is sure, one of them is the measure for the others, though nobody knows its date. */
static bool choose_measure(struct pairs *p, size_t *next)
{
	for (; *next < p->count; ++*next) {
		struct source *s = &p->sources[*next];

		if (s->is_mapped || !s->has_times)
			continue;
		s->is_mapped = true;
		++*next;
		return true;
	}
	return false;
}

static int put_trouble(struct pairs *p, const struct source *s, struct tl_error *err)
{
	const char *text = s->trouble;
	bool is_measure = false;
	struct tl_statement *st;
	int ret = tl_statement_open(&st, p->store,
				    "UPDATE source SET clock_trouble = ? WHERE source_id = ?", NULL,
				    err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < p->count; i++)
		is_measure |= p->sources[i].has_claim &&
			      p->sources[i].claim.reference_id == s->view.source_id;
	if (!s->is_sure && !s->has_claim && !is_measure && s->has_times && p->count > 1 && !text[0])
		text = "no other source saw its threads do the same";
	tl_bind_text(st, 1, text[0] ? text : NULL, strlen(text));
	tl_bind_i64(st, 2, s->view.source_id);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

int tl_clock_match_sources(struct tl_store *store, struct tl_error *err)
{
	struct pairs p = { .store = store };
	size_t next = 0;
	bool is_needed = false, has_spread = true;
	int ret = load_sources(&p, err);

	if (ret == TL_OK)
		ret = load_views(&p, &is_needed, err);
	if (ret == TL_OK)
		ret = tl_clock_claims_withdraw(store, TL_CLOCK_MATCHED, err);
	while (ret == TL_OK && is_needed) {
		ret = spread(&p, &has_spread, err);
		if (ret == TL_OK && !has_spread && !choose_measure(&p, &next))
			break;
	}
	for (size_t i = 0; i < p.count && ret == TL_OK; i++)
		ret = put_trouble(&p, &p.sources[i], err);
	for (size_t i = 0; i < p.count; i++)
		tl_view_release(&p.sources[i].view);
	tl_arena_release(&p.arena);
	free(p.sources);
	free(p.is_tried);
	return ret;
}
