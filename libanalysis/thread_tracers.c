/*
 * thread_tracers.c - a thread is in one call at a time. Where two logs have a number be in two different
 * calls again and again, it is the number of two threads, as in two containers. Knows only of times and
 * names of calls; whose threads are one says thread_join.c.
 */
#include "thread_tracers.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum {
	CALLS_MAX = 50000, /* of one source */
	PAIRS_MAX = 2000,
	CLASHES_MIN = 20,
	CLASHES_PART = 10 /* of the calls of the one that has fewer */
};
/* A call is told of as long before it begins, or after it ends, by a tracer that stops the thread. */
#define MARGIN_NS 100000
#define TIME_MAX  (INT64_MAX / 4)
#define WHAT	  "threads with the numbers of others"

struct call {
	int64_t begin, end, name_id;
	int32_t tid;
};

struct tracer {
	int64_t source_id;
	struct call *calls; /* by thread and begin */
	size_t count, capacity;
};

struct candidate {
	struct tl_tracer_pair pair;
	int64_t residual_ns;
};

struct clashing {
	struct tl_store *store;
	struct candidate *candidates;
	size_t candidate_count, candidate_capacity;
	struct tracer *tracers;
	size_t tracer_count, tracer_capacity;
};

/*
 * Logs of one machine at one time with a number in common, whose clocks are known without having been
 * matched: what was matched was seen to be of the same threads. What perf records are many tracers.
 */
static const char candidates_sql[] =
	"WITH traced AS MATERIALIZED (SELECT DISTINCT b.source_id AS id, t.tid AS tid, s.host_id AS "
	"host, s.first_ts AS first, s.last_ts AS last, s.clock_residual_ns AS residual FROM "
	"call_block b JOIN thread t USING (thread_id) JOIN source s USING (source_id) WHERE "
	"b.kind = 0 AND b.timing = 0 AND b.base_ts NOT NULL AND t.tid > 0 AND "
	"s.clock_residual_ns NOT NULL AND s.clock_reference_id IS NULL AND s.clock_method IN "
	"('exact', 'anchored', 'told') AND NOT EXISTS(SELECT 1 FROM event e WHERE e.source_id = "
	"s.source_id)) SELECT DISTINCT a.id AS a, b.id AS b, a.residual + b.residual AS residual "
	"FROM traced a JOIN traced b ON b.tid = a.tid AND b.host = a.host AND b.id > a.id AND "
	"a.first <= b.last AND b.first <= a.last ORDER BY a, b LIMIT ?1";

static int load_candidates(struct clashing *c, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, c->store, candidates_sql, "a b residual", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, PAIRS_MAX);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = tl_grow(&c->candidates, &c->candidate_capacity, c->candidate_count + 1,
				     err);

		if (status == TL_OK)
			c->candidates[c->candidate_count++] =
				(struct candidate) { { tl_column_i64(st, 0), tl_column_i64(st, 1) },
						     tl_column_i64(st, 2) };
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

static int by_begin(const void *x, const void *y)
{
	const struct call *a = x, *b = y;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int add_call(struct tracer *t, struct tl_statement *st, struct tl_error *err)
{
	struct call call = { .tid = (int32_t)tl_column_i64(st, 0),
			     .begin = tl_column_i64(st, 1),
			     .name_id = tl_column_i64(st, 3) };
	int ret;

	if (call.begin < -TIME_MAX || call.begin > TIME_MAX || tl_column_i64(st, 2) > TIME_MAX)
		return TL_OK; /* no clock shows that */
	call.end = call.begin + tl_column_i64(st, 2);
	ret = tl_grow(&t->calls, &t->capacity, t->count + 1, err);
	if (ret == TL_OK)
		t->calls[t->count++] = call;
	return ret;
}

static int load_calls(struct clashing *c, struct tracer *t, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, c->store,
				    "SELECT t.tid AS tid, c.ts AS ts, c.dur AS dur, c.name_id AS "
				    "name FROM syscall c JOIN thread t USING (thread_id) WHERE "
				    "c.source_id = ?1 AND c.kind = 0 AND c.timing = 0 AND c.ts NOT "
				    "NULL AND c.dur >= 0 ORDER BY c.syscall_id LIMIT ?2",
				    "tid ts dur name", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, t->source_id);
	tl_bind_i64(st, 2, CALLS_MAX);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_call(t, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	if (t->count)
		qsort(t->calls, t->count, sizeof(*t->calls), by_begin);
	return ret;
}

static int find_tracer(struct clashing *c, int64_t source_id, size_t *place, struct tl_error *err)
{
	int ret;

	for (*place = 0; *place < c->tracer_count; ++*place)
		if (c->tracers[*place].source_id == source_id)
			return TL_OK;
	ret = tl_grow(&c->tracers, &c->tracer_capacity, c->tracer_count + 1, err);
	if (ret < 0)
		return ret;
	c->tracers[c->tracer_count++] = (struct tracer) { .source_id = source_id };
	return load_calls(c, &c->tracers[*place], err);
}

/* How many calls lie within a different one that the other source saw. */
static size_t count_inside(const struct tracer *outer, const struct tracer *inner, int64_t margin)
{
	size_t clashes = 0, k = 0;

	for (size_t i = 0; i < outer->count; i++) {
		const struct call *o = &outer->calls[i];

		if (o->end - o->begin <= 2 * margin)
			continue;
		while (k < inner->count && (inner->calls[k].tid < o->tid ||
					    (inner->calls[k].tid == o->tid &&
					     inner->calls[k].begin < o->begin + margin)))
			k++;
		for (; k < inner->count && inner->calls[k].tid == o->tid &&
		       inner->calls[k].begin < o->end - margin;
		     k++)
			clashes += inner->calls[k].name_id != o->name_id &&
				   inner->calls[k].end < o->end - margin;
	}
	return clashes;
}

static bool is_clash(const struct tracer *a, const struct tracer *b, int64_t residual_ns)
{
	const int64_t residual_max = INT64_C(1000000000); /* then nothing is to be seen any more */
	size_t fewer = a->count < b->count ? a->count : b->count, clashes;
	int64_t margin = residual_ns + MARGIN_NS;

	if (residual_ns < 0 || residual_ns > residual_max)
		return false;
	clashes = count_inside(a, b, margin) + count_inside(b, a, margin);
	return clashes >= CLASHES_MIN && clashes >= fewer / CLASHES_PART;
}

static int judge(struct clashing *c, const struct candidate *candidate, bool *is_apart,
		 struct tl_error *err)
{
	size_t a, b;
	int ret = find_tracer(c, candidate->pair.a, &a, err);

	if (ret == TL_OK)
		ret = find_tracer(c, candidate->pair.b, &b, err);
	if (ret == TL_OK)
		*is_apart = is_clash(&c->tracers[a], &c->tracers[b], candidate->residual_ns);
	return ret;
}

static int forget_notes(struct tl_store *store, struct tl_error *err)
{
	return tl_store_execute(store, "DELETE FROM lost WHERE what = '" WHAT "'", err);
}

/* The first of the others, and how many they are: a job of thousands would tell millions of pairs. */
static size_t count_others(const struct tl_tracer_pair *pairs, size_t count, int64_t source_id,
			   int64_t *first)
{
	size_t others = 0;

	for (size_t i = 0; i < count; i++) {
		if (pairs[i].a != source_id && pairs[i].b != source_id)
			continue;
		if (!others++)
			*first = pairs[i].a == source_id ? pairs[i].b : pairs[i].a;
	}
	return others;
}

static int put_notes(const struct clashing *c, const struct tl_tracer_pair *pairs, size_t count,
		     struct tl_error *err)
{
	struct tl_statement *st = NULL;
	int ret = tl_statement_open(
		&st, c->store,
		"INSERT INTO lost(source_id, kind, what, count, unit, message) SELECT ?1, 'note', '" WHAT
		"', ?3, 'sources', 'its threads are in other calls than those of the same numbers "
		"that ' || path || CASE ?3 WHEN 1 THEN ' tells of' ELSE ' and ' || (?3 - 1) || "
		"' more tell of' END || ', at the same time: they are not the same threads, as of "
		"two containers, and are kept apart; to which of them those of a third source "
		"belong is not known: --host or --pid-map tells' FROM source WHERE source_id = ?2",
		NULL, err);

	for (size_t i = 0; i < c->tracer_count && ret == TL_OK; i++) {
		int64_t source_id = c->tracers[i].source_id, first = 0;
		size_t others = count_others(pairs, count, source_id, &first);

		if (!others)
			continue;
		tl_bind_i64(st, 1, source_id);
		tl_bind_i64(st, 2, first);
		tl_bind_i64(st, 3, (int64_t)others);
		ret = tl_statement_run(st, err);
	}
	tl_statement_close(st);
	return ret;
}

int tl_tracers_apart(struct tl_store *store, struct tl_tracer_pair **out, size_t *count,
		     struct tl_error *err)
{
	struct clashing c = { .store = store };
	size_t capacity = 0;
	int ret = load_candidates(&c, err);

	*out = NULL;
	*count = 0;
	for (size_t i = 0; i < c.candidate_count && ret == TL_OK; i++) {
		bool is_apart = false;

		ret = judge(&c, &c.candidates[i], &is_apart, err);
		if (ret == TL_OK && is_apart)
			ret = tl_grow(out, &capacity, *count + 1, err);
		if (ret == TL_OK && is_apart)
			(*out)[(*count)++] = c.candidates[i].pair;
	}
	if (ret == TL_OK)
		ret = forget_notes(store, err);
	if (ret == TL_OK && *count)
		ret = put_notes(&c, *out, *count, err);
	for (size_t i = 0; i < c.tracer_count; i++)
		free(c.tracers[i].calls);
	free(c.tracers);
	free(c.candidates);
	return ret;
}
