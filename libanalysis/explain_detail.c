/*
 * explain_detail.c - the functions that the thread runs in, or left the CPU in, and the operators
 * whose own time grew, in slow steps against good ones. Declared in explain_answer.h.
 */
#include "explain_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attribution.h"
#include "ranks.h"

#define NAMES_MAX  2000	    /* of one list */
#define CELLS_MAX  20000000 /* names times steps: memory must stay bounded */
#define LISTED_MAX 60	    /* the largest differences are told, and tested */

/* ---- on the CPU: counts of samples ---- */

struct counts {
	uint64_t *good, *slow;
	uint32_t *names; /* of stacks + 1 */
	size_t count;
};

static int count_samples(struct tl_explaining *e, struct counts *c, struct tl_error *err)
{
	uint32_t most = 0;
	size_t n;

	for (size_t i = 0; i < e->view.sample_count; i++)
		if (e->parts.sample_part[i] && e->parts.sample_function[i] > most)
			most = e->parts.sample_function[i];
	n = (size_t)most + 1;
	c->good = tl_alloc(n, sizeof(*c->good), err);
	c->slow = tl_alloc(n, sizeof(*c->slow), err);
	c->names = tl_alloc(n, sizeof(*c->names), err);
	if (!c->good || !c->slow || !c->names)
		return TL_NOMEM;
	for (size_t i = 0; i < e->view.sample_count; i++) {
		enum tl_step_class class_;

		if (!e->parts.sample_part[i])
			continue;
		class_ = e->view.steps[e->parts.sample_step[i]].class_;
		c->good[e->parts.sample_function[i]] += class_ == TL_STEP_GOOD;
		c->slow[e->parts.sample_function[i]] += class_ == TL_STEP_SLOW;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!c->good[i] && !c->slow[i])
			continue;
		e->out->sample_count += c->good[i] + c->slow[i];
		c->good[c->count] = c->good[i];
		c->slow[c->count] = c->slow[i];
		c->names[c->count++] = i;
	}
	return TL_OK;
}

static const char *function_name(struct tl_explaining *e, uint32_t name, struct tl_error *err)
{
	const char *text = name ? tl_stack_name(e->parts.stacks, name - 1) : "[unknown]";

	return tl_arena_copy(e->arena, text, strlen(text), err);
}

static int list_running(struct tl_explaining *e, struct tl_error *err)
{
	struct tl_explain *out = e->out;
	struct counts c = { 0 };
	struct tl_count_row *rows = NULL;
	int ret = count_samples(e, &c, err);

	if (ret == TL_OK) {
		rows = tl_alloc(c.count, sizeof(*rows), err);
		out->running = tl_alloc(c.count, sizeof(*out->running), err);
		ret = rows && out->running ? TL_OK : TL_NOMEM;
	}
	if (ret == TL_OK)
		ret = tl_attribute_counts(rows, c.good, c.slow, c.count, e->good_count,
					  e->slow_count, err);
	for (size_t i = 0; i < c.count && ret == TL_OK; i++) {
		const char *name = function_name(e, c.names[rows[i].category], err);

		out->running[out->running_count++] = (struct tl_explain_function) {
			.name = name,
			.good = (double)rows[i].good / (double)e->good_count,
			.slow = (double)rows[i].slow / (double)e->slow_count,
			.difference = rows[i].difference,
			.error = rows[i].standard_error,
			.p = rows[i].p,
			.q = rows[i].q,
		};
		ret = name ? TL_OK : TL_NOMEM;
	}
	free(rows);
	free(c.good);
	free(c.slow);
	free(c.names);
	return ret;
}

/* ---- lists of times per step ---- */

struct series {
	struct tl_interner names;
	double **ns; /* per name, per step */
	size_t count, capacity;
};

static int add_time(struct tl_explaining *e, struct series *s, const char *name, uint32_t step,
		    int64_t ns, struct tl_error *err)
{
	uint32_t id;
	int ret = tl_intern(&s->names, name, strlen(name), &id, err);

	/* thousands of names in: what is new now is small, or the list would not help anyway */
	if (ret == TL_OK && (id >= NAMES_MAX || id >= CELLS_MAX / e->view.step_count))
		return TL_OK;
	if (ret == TL_OK)
		ret = tl_grow(&s->ns, &s->capacity, (size_t)id + 1, err);
	if (ret < 0)
		return ret;
	if (!s->ns[id])
		s->ns[id] = tl_alloc(e->view.step_count, sizeof(**s->ns), err);
	if (!s->ns[id])
		return TL_NOMEM;
	s->count = id >= s->count ? (size_t)id + 1 : s->count;
	s->ns[id][step] += (double)ns;
	return TL_OK;
}

struct ranked {
	size_t name;
	double difference;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->difference != y->difference)
		return x->difference > y->difference ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static double mean_of(const double *values, const size_t *steps, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[steps[i]];
	return sum / (double)n;
}

static struct ranked *rank(const struct tl_explaining *e, const struct series *s,
			   struct tl_error *err)
{
	struct ranked *ranked = tl_alloc(s->count, sizeof(*ranked), err);

	for (size_t i = 0; i < s->count && ranked; i++)
		ranked[i] = (struct ranked) { i, fabs(mean_of(s->ns[i], e->slow, e->slow_count) -
						      mean_of(s->ns[i], e->good, e->good_count)) };
	if (ranked && s->count > 1)
		qsort(ranked, s->count, sizeof(*ranked), compare_ranked);
	return ranked;
}

static int list_series(struct tl_explaining *e, const struct series *s,
		       struct tl_explain_function **out, size_t *out_count, struct tl_error *err)
{
	size_t n = s->count < LISTED_MAX ? s->count : LISTED_MAX;
	const double *values[LISTED_MAX];
	struct tl_attribution a = { 0 };
	struct ranked *ranked;
	int ret;

	if (!n)
		return TL_OK;
	ranked = rank(e, s, err);
	for (size_t i = 0; i < n && ranked; i++)
		values[i] = s->ns[ranked[i].name];
	ret = ranked ? tl_attribute(&a, values, n, e->wall, e->good, e->good_count, e->slow,
				    e->slow_count, err)
		     : TL_NOMEM;
	if (ret == TL_OK) {
		*out = tl_alloc(n, sizeof(**out), err);
		ret = *out ? TL_OK : TL_NOMEM;
	}
	for (size_t i = 0; i < n && ret == TL_OK; i++) {
		const struct tl_attribution_row *row = &a.rows[i];
		const struct tl_interned *text = &s->names.strings[ranked[row->category].name];
		const char *name = tl_arena_copy(e->arena, text->text, text->length, err);

		(*out)[(*out_count)++] = (struct tl_explain_function) {
			.name = name,
			.good = row->good_mean,
			.slow = row->slow_mean,
			.difference = row->difference,
			.error = isfinite(row->high) ? (row->high - row->low) / 4 : NAN,
			.p = row->p,
			.q = row->q,
		};
		ret = name ? TL_OK : TL_NOMEM;
	}
	tl_attribution_release(&a);
	free(ranked);
	return ret;
}

static void release_series(struct series *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->ns[i]);
	free(s->ns);
	tl_interner_release(&s->names);
}

static int list_blocked(struct tl_explaining *e, struct tl_error *err)
{
	struct series s = { 0 };
	int ret = TL_OK;

	for (size_t i = 0; i < e->parts.wait_count && ret == TL_OK; i++) {
		const struct tl_part_wait *w = &e->parts.waits[i];
		struct tl_stack_facts facts;

		ret = tl_stacks_facts(e->parts.stacks, e->view.states[w->state].stack_id, &facts,
				      err);
		if (ret == TL_OK)
			ret = add_time(e, &s,
				       facts.blocked
					       ? tl_stack_name(e->parts.stacks, facts.blocked - 1)
					       : "[unknown]",
				       w->step, w->end_ns - w->begin_ns, err);
	}
	if (ret == TL_OK)
		ret = list_series(e, &s, &e->out->blocked, &e->out->blocked_count, err);
	release_series(&s);
	return ret;
}

int tl_explain_functions(struct tl_explaining *e, struct tl_error *err)
{
	int ret = e->view.sample_count ? list_running(e, err) : TL_OK;

	return ret < 0 ? ret : list_blocked(e, err);
}

/* ---- operators: wall time in them, and in none that they call ---- */

static int add_step_operators(struct tl_explaining *e, struct series *s, struct tl_span_cursor *c,
			      uint32_t step, struct tl_error *err)
{
	const struct tl_view_step *v = &e->view.steps[step];
	int ret = TL_OK;

	for (int64_t t = v->begin_ns; t < v->end_ns && ret == TL_OK;) {
		uint32_t label;
		int64_t until;

		ret = tl_span_at(c, t, &label, &until, err);
		until = until < v->end_ns ? until : v->end_ns;
		if (ret == TL_OK && label != TL_SPAN_NONE)
			ret = add_time(e, s, tl_view_text(&e->view, label), step, until - t, err);
		t = until;
	}
	return ret;
}

int tl_explain_operators(struct tl_explaining *e, struct tl_error *err)
{
	struct tl_span *spans = tl_alloc(e->view.op_count, sizeof(*spans), err);
	struct tl_span_cursor c = { .spans = spans, .count = e->view.op_count };
	struct series s = { 0 };
	int ret = spans ? TL_OK : TL_NOMEM;

	for (size_t i = 0; i < e->view.op_count && spans; i++)
		spans[i] = (struct tl_span) { e->view.ops[i].begin_ns, e->view.ops[i].end_ns,
					      e->view.ops[i].name };
	for (uint32_t i = 0; i < e->view.step_count && ret == TL_OK; i++)
		ret = add_step_operators(e, &s, &c, i, err);
	if (ret == TL_OK)
		ret = list_series(e, &s, &e->out->operators, &e->out->operator_count, err);
	release_series(&s);
	tl_span_release(&c);
	free(spans);
	return ret;
}
