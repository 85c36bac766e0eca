/*
 * clock_report.c - how the clocks of a case were mapped, and whether an answer may join sources. Only
 * reads.
 */
#include "clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static const char clock_sql[] =
	"SELECT s.source_id AS source, s.path AS path, s.importer AS importer, h.name AS host, "
	"s.clock_name AS clock, s.clock_method AS method, s.first_ts AS first, "
	"s.clock_offset_ns AS offset, s.clock_slope AS slope, s.clock_residual_ns AS residual, "
	"s.clock_reference_id AS reference, s.clock_match_count AS matches, "
	"s.clock_rival_ratio AS rival, s.clock_why AS why, s.clock_trouble AS trouble, "
	"EXISTS(SELECT 1 FROM clock_claim c WHERE c.source_id = s.source_id AND c.is_set) AS isset "
	"FROM source s LEFT JOIN host h USING (host_id) ORDER BY s.source_id";
static const char clock_columns[] =
	"source path importer host clock method first offset slope residual reference matches "
	"rival why trouble isset";
enum {
	CLOCK_SOURCE,
	CLOCK_PATH,
	CLOCK_IMPORTER,
	CLOCK_HOST,
	CLOCK_NAME,
	CLOCK_METHOD,
	CLOCK_FIRST,
	CLOCK_OFFSET,
	CLOCK_SLOPE,
	CLOCK_RESIDUAL,
	CLOCK_REFERENCE,
	CLOCK_MATCHES,
	CLOCK_RIVAL,
	CLOCK_WHY,
	CLOCK_TROUBLE,
	CLOCK_SET
};

/* NULL for NULL; `failed` is set when memory is out. */
static const char *text_of(struct tl_arena *arena, struct tl_statement *st, int column,
			   bool *failed)
{
	size_t length;
	const char *text = tl_column_text(st, column, &length);
	char *copy = text ? tl_arena_copy(arena, text, length, NULL) : NULL;

	*failed |= text && !copy;
	return copy;
}

static enum tl_clock_method method_of(const char *name)
{
	for (int i = TL_CLOCK_EXACT; i < TL_CLOCK_ASSUMED; i++)
		if (name && !strcmp(name, tl_clock_method_name((enum tl_clock_method)i)))
			return (enum tl_clock_method)i;
	return TL_CLOCK_ASSUMED;
}

static int add_clock(struct tl_clocks *out, size_t *capacity, struct tl_statement *st,
		     struct tl_error *err)
{
	struct tl_arena *arena = out->memory;
	struct tl_clock *c;
	bool failed = false;
	int ret = tl_grow(&out->clocks, capacity, out->count + 1, err);

	if (ret < 0)
		return ret;
	c = &out->clocks[out->count++];
	c->source_id = tl_column_i64(st, CLOCK_SOURCE);
	c->path = text_of(arena, st, CLOCK_PATH, &failed);
	c->importer = text_of(arena, st, CLOCK_IMPORTER, &failed);
	c->host = text_of(arena, st, CLOCK_HOST, &failed);
	c->clock_name = text_of(arena, st, CLOCK_NAME, &failed);
	c->method = method_of(text_of(arena, st, CLOCK_METHOD, &failed));
	c->has_times = !tl_column_is_null(st, CLOCK_FIRST);
	c->is_set = tl_column_i64(st, CLOCK_SET) != 0;
	c->offset_ns = tl_column_i64(st, CLOCK_OFFSET);
	c->slope = tl_column_double(st, CLOCK_SLOPE);
	c->residual_ns =
		tl_column_is_null(st, CLOCK_RESIDUAL) ? -1 : tl_column_i64(st, CLOCK_RESIDUAL);
	c->reference_id = tl_column_i64(st, CLOCK_REFERENCE);
	c->match_count =
		tl_column_is_null(st, CLOCK_MATCHES) ? -1 : tl_column_i64(st, CLOCK_MATCHES);
	c->rival_ratio =
		tl_column_is_null(st, CLOCK_RIVAL) ? -1 : tl_column_double(st, CLOCK_RIVAL);
	c->why = text_of(arena, st, CLOCK_WHY, &failed);
	c->trouble = text_of(arena, st, CLOCK_TROUBLE, &failed);
	return failed ? tl_fail(err, TL_NOMEM, "out of memory") : TL_OK;
}

int tl_clocks_load(struct tl_store *store, struct tl_clocks *out, struct tl_error *err)
{
	struct tl_statement *st = NULL;
	size_t capacity = 0;
	int ret;

	memset(out, 0, sizeof(*out));
	out->memory = tl_alloc(1, sizeof(struct tl_arena), err);
	ret = out->memory ? tl_statement_open(&st, store, clock_sql, clock_columns, err) : TL_NOMEM;
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_clock(out, &capacity, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	if (ret < 0)
		tl_clocks_release(out);
	return ret;
}

void tl_clocks_release(struct tl_clocks *clocks)
{
	if (clocks->memory)
		tl_arena_release(clocks->memory);
	free(clocks->memory);
	free(clocks->clocks);
	memset(clocks, 0, sizeof(*clocks));
}

/* ---- may they be joined? ---- */

enum { DEPTH_MAX = 64 }; /* of references: there are no more in earnest */

static const struct tl_clock *find(const struct tl_clocks *clocks, int64_t source_id)
{
	for (size_t i = 0; i < clocks->count; i++)
		if (clocks->clocks[i].source_id == source_id)
			return &clocks->clocks[i];
	return NULL;
}

struct way {
	enum tl_clock_method method; /* the least sure on it */
	int64_t residual_ns;	     /* -1 unknown */
};

static void step_along(struct way *way, const struct tl_clock *c)
{
	if (c->method > way->method)
		way->method = c->method;
	if (c->residual_ns < 0 || way->residual_ns < 0 ||
	    __builtin_add_overflow(way->residual_ns, c->residual_ns, &way->residual_ns))
		way->residual_ns = -1;
}

/* From a source along its references up to `to` (not included), or to Unix time. */
static bool walk(const struct tl_clocks *clocks, const struct tl_clock *from,
		 const struct tl_clock *to, struct way *way)
{
	for (int depth = 0; from != to && depth < DEPTH_MAX; depth++) {
		if (!from)
			return false;
		step_along(way, from);
		from = from->reference_id ? find(clocks, from->reference_id) : NULL;
	}
	return from == to;
}

/* Where the ways of two sources to Unix time meet: then what lies behind it does not matter. */
static struct way between(const struct tl_clocks *clocks, const struct tl_clock *a,
			  const struct tl_clock *b)
{
	const struct tl_clock *meeting = a;
	struct way way = { TL_CLOCK_EXACT, 0 };

	for (int depth = 0; meeting && depth < DEPTH_MAX; depth++) {
		struct way there = { TL_CLOCK_EXACT, 0 };

		if (walk(clocks, b, meeting, &there))
			break;
		meeting = meeting->reference_id ? find(clocks, meeting->reference_id) : NULL;
	}
	walk(clocks, a, meeting, &way);
	walk(clocks, b, meeting, &way);
	return way;
}

static bool is_worse(struct way a, struct way b)
{
	if ((a.residual_ns < 0) != (b.residual_ns < 0))
		return a.residual_ns < 0;
	if (a.residual_ns != b.residual_ns)
		return a.residual_ns > b.residual_ns;
	return a.method > b.method;
}

static const char *say_duration(char *buf, size_t size, int64_t ns)
{
	static const struct {
		int64_t unit;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (ns >= units[i].unit) {
			snprintf(buf, size, "%.3g %s", (double)ns / (double)units[i].unit,
				 units[i].name);
			return buf;
		}
	snprintf(buf, size, "%" PRId64 " ns", ns);
	return buf;
}

struct judged {
	const struct tl_clock *a, *b; /* the two that are worst known */
	struct way way;
	size_t source_count;
};

static struct judged judge(const struct tl_clocks *clocks, const int64_t *ids, size_t count)
{
	struct judged j = { .way = { TL_CLOCK_EXACT, 0 } };

	for (size_t i = 0; i < count; i++) {
		const struct tl_clock *a = find(clocks, ids[i]);

		if (!a)
			continue;
		j.source_count++;
		for (size_t k = 0; k < i; k++) {
			const struct tl_clock *b = find(clocks, ids[k]);
			struct way way;

			if (!b || b == a)
				continue;
			way = between(clocks, a, b);
			if (!j.a || is_worse(way, j.way)) {
				j.a = b;
				j.b = a;
				j.way = way;
			}
		}
	}
	return j;
}

static void say(const struct judged *j, int64_t effect_ns, struct tl_clock_join *out)
{
	const char *method = tl_clock_method_name(j->way.method), *trouble;
	char residual[40] = "an unknown amount", effect[40];
	bool is_known = j->way.residual_ns >= 0;

	if (!j->a) {
		snprintf(out->text, sizeof(out->text), "one source: one clock");
		return;
	}
	if (is_known)
		say_duration(residual, sizeof(residual), j->way.residual_ns);
	if (out->is_allowed) {
		snprintf(out->text, sizeof(out->text), "clocks of %zu sources: %s, residual %s%s",
			 j->source_count, method, is_known ? "" : "not known, ",
			 is_known ? residual : "as they may be off by any amount");
		return;
	}
	trouble = j->b->trouble ? j->b->trouble : j->a->trouble;
	snprintf(
		out->text, sizeof(out->text),
		"the clocks of %.100s and %.100s may be off by %s (%s), which is more than a tenth of "
		"%s: no answer that joins them%s%.180s; record with scripts/capture.sh, or perf with "
		"-k CLOCK_MONOTONIC and strace with -f -ttt -T",
		j->a->path, j->b->path, residual, method,
		say_duration(effect, sizeof(effect), effect_ns), trouble ? "; " : "",
		trouble ? trouble : "");
}

int tl_clock_join(struct tl_store *store, const int64_t *source_ids, size_t count,
		  int64_t effect_ns, struct tl_clock_join *out, struct tl_error *err)
{
	struct tl_clocks clocks;
	int64_t *all = NULL;
	struct judged j;
	int ret = tl_clocks_load(store, &clocks, err);

	memset(out, 0, sizeof(*out));
	if (ret < 0)
		return ret;
	if (!source_ids) {
		count = 0;
		all = tl_alloc(clocks.count + 1, sizeof(*all), err);
		if (!all) {
			tl_clocks_release(&clocks);
			return TL_NOMEM;
		}
		for (size_t i = 0; i < clocks.count; i++)
			if (clocks.clocks[i].has_times)
				all[count++] = clocks.clocks[i].source_id;
		source_ids = all;
	}
	j = judge(&clocks, source_ids, count);
	out->method = j.way.method;
	out->residual_ns = j.way.residual_ns;
	out->source_count = j.source_count;
	out->is_allowed = !j.a || effect_ns <= 0 ||
			  (j.way.residual_ns >= 0 && j.way.residual_ns <= effect_ns / 10);
	say(&j, effect_ns, out);
	free(all);
	tl_clocks_release(&clocks);
	return TL_OK;
}
