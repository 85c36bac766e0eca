/*
 * clock_claims.c - the ways in which the clock of each source could be mapped, and putting the surest
 * of them in force. Does not know how they are found.
 */
#include "clock.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

static void bind_i64_unless(struct tl_statement *st, int parameter, int64_t value, int64_t none)
{
	if (value == none)
		tl_bind_null(st, parameter);
	else
		tl_bind_i64(st, parameter, value);
}

static void bind_ratio(struct tl_statement *st, int parameter, double ratio)
{
	if (ratio < 0)
		tl_bind_null(st, parameter);
	else
		tl_bind_double(st, parameter, ratio);
}

static int delete_claim(struct tl_store *store, const struct tl_clock_claim *claim,
			struct tl_error *err)
{
	const char *method = tl_clock_method_name(claim->method);
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store,
				    "DELETE FROM clock_claim WHERE source_id = ? AND method = ? "
				    "AND is_set = ?",
				    NULL, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, claim->source_id);
	tl_bind_text(st, 2, method, strlen(method));
	tl_bind_i64(st, 3, claim->is_set);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

int tl_clock_claim_put(struct tl_store *store, const struct tl_clock_claim *claim,
		       struct tl_error *err)
{
	const char *method = tl_clock_method_name(claim->method);
	struct tl_statement *st;
	int ret = delete_claim(store, claim, err);

	if (ret == TL_OK)
		ret = tl_statement_open(
			&st, store,
			"INSERT INTO clock_claim(source_id, method, is_set, offset_ns, slope, "
			"residual_ns, reference_id, match_count, rival_ratio, why) "
			"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			NULL, err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, claim->source_id);
	tl_bind_text(st, 2, method, strlen(method));
	tl_bind_i64(st, 3, claim->is_set);
	tl_bind_i64(st, 4, claim->line.offset_ns);
	tl_bind_double(st, 5, claim->line.slope);
	bind_i64_unless(st, 6, claim->residual_ns, -1);
	bind_i64_unless(st, 7, claim->reference_id, 0);
	bind_i64_unless(st, 8, claim->match_count, -1);
	bind_ratio(st, 9, claim->rival_ratio);
	tl_bind_text(st, 10, claim->why, claim->why ? strlen(claim->why) : 0);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

int tl_clock_claims_withdraw(struct tl_store *store, enum tl_clock_method method,
			     struct tl_error *err)
{
	const char *name = tl_clock_method_name(method);
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, store, "DELETE FROM clock_claim WHERE method = ? AND NOT is_set", NULL, err);

	if (ret < 0)
		return ret;
	tl_bind_text(st, 1, name, strlen(name));
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

/* ---- which is in force ---- */

struct state {
	struct tl_store *store;
	struct tl_arena arena;
	struct tl_clock_claim *claims; /* by source, the surest first */
	size_t count, capacity;
	struct source {
		int64_t source_id;
		struct tl_clock_line before, line;
		struct tl_clock_claim *claim; /* in force */
		enum { UNRESOLVED, RESOLVING, RESOLVED } state;
	} * sources;
	size_t source_count, source_capacity;
};

enum {
	CLAIM_SOURCE,
	CLAIM_METHOD,
	CLAIM_SET,
	CLAIM_OFFSET,
	CLAIM_SLOPE,
	CLAIM_RESIDUAL,
	CLAIM_REFERENCE,
	CLAIM_MATCHES,
	CLAIM_RIVAL,
	CLAIM_WHY
};

static bool find_method(const char *name, size_t length, enum tl_clock_method *method)
{
	for (int i = TL_CLOCK_EXACT; i <= TL_CLOCK_ASSUMED; i++) {
		const char *word = tl_clock_method_name((enum tl_clock_method)i);

		if (strlen(word) == length && !memcmp(word, name, length)) {
			*method = (enum tl_clock_method)i;
			return true;
		}
	}
	return false;
}

static int add_claim(struct state *s, struct tl_statement *st, struct tl_error *err)
{
	struct tl_clock_claim c = {
		.source_id = tl_column_i64(st, CLAIM_SOURCE),
		.is_set = tl_column_i64(st, CLAIM_SET) != 0,
		.line = { tl_column_i64(st, CLAIM_OFFSET), tl_column_double(st, CLAIM_SLOPE) },
		.residual_ns = tl_column_is_null(st, CLAIM_RESIDUAL)
				       ? -1
				       : tl_column_i64(st, CLAIM_RESIDUAL),
		.reference_id = tl_column_i64(st, CLAIM_REFERENCE),
		.match_count = tl_column_is_null(st, CLAIM_MATCHES)
				       ? -1
				       : tl_column_i64(st, CLAIM_MATCHES),
		.rival_ratio =
			tl_column_is_null(st, CLAIM_RIVAL) ? -1 : tl_column_double(st, CLAIM_RIVAL)
	};
	size_t length;
	const char *text = tl_column_text(st, CLAIM_METHOD, &length);
	int ret;

	if (!text || !find_method(text, length, &c.method))
		return tl_fail(err, TL_STORE, "a clock of unknown method: the case is damaged");
	text = tl_column_text(st, CLAIM_WHY, &length);
	if (text) {
		c.why = tl_arena_copy(&s->arena, text, length, err);
		if (!c.why)
			return TL_NOMEM;
	}
	ret = tl_grow(&s->claims, &s->capacity, s->count + 1, err);
	if (ret == TL_OK)
		s->claims[s->count++] = c;
	return ret;
}

/*
 * In half methods. What the recording says of a clock that nobody steers grows old: snapshots from the
 * whole of its time know better.
 */
static int rank_of(const struct tl_clock_claim *c)
{
	const int64_t fresh_ns = 10000;

	if (c->method == TL_CLOCK_EXACT && c->residual_ns > fresh_ns)
		return 2 * (int)TL_CLOCK_ANCHORED + 1;
	return 2 * (int)c->method;
}

static int by_sureness(const void *x, const void *y)
{
	const struct tl_clock_claim *a = x, *b = y;

	if (a->source_id != b->source_id)
		return a->source_id < b->source_id ? -1 : 1;
	if (a->is_set != b->is_set)
		return a->is_set ? -1 : 1;
	return rank_of(a) - rank_of(b);
}

static int load_claims(struct state *s, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, s->store,
		"SELECT source_id, method, is_set, offset_ns, slope, residual_ns, reference_id, "
		"match_count, rival_ratio, why FROM clock_claim ORDER BY rowid",
		"source_id method is_set offset_ns slope residual_ns reference_id match_count "
		"rival_ratio why",
		err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_claim(s, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	if (s->count)
		qsort(s->claims, s->count, sizeof(*s->claims), by_sureness);
	return ret;
}

static int load_sources(struct state *s, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, s->store,
				    "SELECT source_id, clock_offset_ns, clock_slope FROM source "
				    "ORDER BY source_id",
				    "source_id clock_offset_ns clock_slope", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = tl_grow(&s->sources, &s->source_capacity, s->source_count + 1, err);

		if (status == TL_OK) {
			struct source *source = &s->sources[s->source_count++];

			source->source_id = tl_column_i64(st, 0);
			source->before.offset_ns = tl_column_i64(st, 1);
			source->before.slope = tl_column_double(st, 2);
			source->line = source->before;
		}
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

static struct source *find_source(const struct state *s, int64_t source_id)
{
	for (size_t i = 0; i < s->source_count; i++)
		if (s->sources[i].source_id == source_id)
			return &s->sources[i];
	return NULL;
}

/* References may lead in circles: a claim that does is passed over. */
static bool resolve(struct state *s, struct source *source)
{
	if (!source || source->state == RESOLVING)
		return false;
	if (source->state == RESOLVED)
		return true;
	source->state = RESOLVING;
	for (size_t i = 0; i < s->count; i++) {
		struct tl_clock_claim *c = &s->claims[i];
		struct source *reference;

		if (c->source_id != source->source_id)
			continue;
		if (c->reference_id) {
			reference = find_source(s, c->reference_id);
			if (!resolve(s, reference))
				continue;
			source->line = tl_clock_compose(reference->line, c->line);
		} else {
			source->line = c->line;
		}
		source->claim = c;
		source->state = RESOLVED;
		return true;
	}
	source->state = UNRESOLVED;
	return false;
}

static int put_in_force(struct state *s, const struct source *source, struct tl_error *err)
{
	const struct tl_clock_claim *c = source->claim;
	const char *method = tl_clock_method_name(c->method);
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, s->store,
		"UPDATE source SET clock_method = ?, clock_residual_ns = ?, clock_reference_id = ?, "
		"clock_match_count = ?, clock_rival_ratio = ?, clock_why = ? WHERE source_id = ?",
		NULL, err);

	if (ret < 0)
		return ret;
	tl_bind_text(st, 1, method, strlen(method));
	bind_i64_unless(st, 2, c->residual_ns, -1);
	bind_i64_unless(st, 3, c->reference_id, 0);
	bind_i64_unless(st, 4, c->match_count, -1);
	bind_ratio(st, 5, c->rival_ratio);
	tl_bind_text(st, 6, c->why, c->why ? strlen(c->why) : 0);
	tl_bind_i64(st, 7, c->source_id);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

static bool is_same(struct tl_clock_line a, struct tl_clock_line b)
{
	return a.offset_ns == b.offset_ns && a.slope == b.slope;
}

int tl_clock_apply(struct tl_store *store, bool *has_moved, struct tl_error *err)
{
	struct state s = { .store = store };
	int ret = load_claims(&s, err);

	if (ret == TL_OK)
		ret = load_sources(&s, err);
	for (size_t i = 0; i < s.source_count && ret == TL_OK; i++) {
		struct source *source = &s.sources[i];

		if (!resolve(&s, source))
			continue;
		ret = put_in_force(&s, source, err);
		if (ret < 0 || is_same(source->before, source->line))
			continue;
		ret = tl_clock_move(store, source->source_id, source->before, source->line, err);
		if (has_moved)
			*has_moved = true;
	}
	tl_arena_release(&s.arena);
	free(s.claims);
	free(s.sources);
	return ret;
}
