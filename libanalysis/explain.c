/*
 * explain.c - what the time of training steps is made of, and which parts make the slow ones slow:
 * from a view of the case to the answer. Declared in analysis_explain.h.
 */
#include "explain_answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "steps_model.h"

#define PART_MAX 60 /* parts that are compared one by one; smaller ones together */

/* ---- is there anything to say? ---- */

/* Steps that seem to lie beside the recording may only be told in local times of an unknown zone. */
static int check_clock(const struct tl_step_view *v, struct tl_error *err)
{
	int64_t is_assumed = 0;
	char sql[96];
	int ret;

	if (!v->uncovered_slow_count && !v->uncovered_good_count)
		return TL_OK;
	snprintf(sql, sizeof(sql),
		 "SELECT clock_method = 'assumed' FROM source WHERE source_id = %" PRId64,
		 v->source_id);
	ret = tl_store_value(v->store, sql, 0, &is_assumed, err);
	if (ret < 0 || !is_assumed)
		return ret;
	return tl_fail(
		err, TL_NOTHING,
		"the clock of the steps is only assumed, and %.200s has nothing of %zu of %zu "
		"of them: tell it with 'traceloom import --timezone', or 'traceloom align "
		"--source %" PRId64 " --offset'",
		v->main_source ? v->main_source : "the recording",
		v->uncovered_slow_count + v->uncovered_good_count,
		v->slow_count + v->good_count + v->uncovered_slow_count + v->uncovered_good_count,
		v->source_id);
}

static int check_steps(const struct tl_step_view *v, struct tl_error *err)
{
	int ret = check_clock(v, err);

	if (ret < 0)
		return ret;
	if ((v->uncovered_slow_count && !v->slow_count) ||
	    (v->uncovered_good_count && !v->good_count))
		return tl_fail(err, TL_NOTHING,
			       "what %.200s tells of thread %" PRId64
			       " covers %zu of %zu slow and %zu of %zu good steps: record from "
			       "before it becomes slow until after",
			       v->main_source ? v->main_source : "the recording", v->tid,
			       v->slow_count, v->slow_count + v->uncovered_slow_count,
			       v->good_count, v->good_count + v->uncovered_good_count);
	if (!v->slow_count && v->step_count < TL_STEPS_MIN)
		return tl_fail(err, TL_NOTHING,
			       "%zu training step%s too few to tell slow ones from good ones: a "
			       "training log of the whole run, with times, says which are",
			       v->step_count, v->step_count == 1 ? " is" : "s are");
	if (!v->slow_count && v->spike_count)
		return tl_fail(
			err, TL_NOTHING,
			"none of %zu training steps is slow, but for %zu slow alone or perhaps "
			"by chance: --spikes explains those",
			v->step_count, v->spike_count);
	if (!v->slow_count)
		return tl_fail(
			err, TL_NOTHING,
			"none of %zu training steps is slow, so there is nothing to explain: "
			"see 'traceloom steps'",
			v->step_count);
	if (!v->good_count)
		return tl_fail(err, TL_NOTHING,
			       "no good training steps with times to compare %zu slow ones with: "
			       "record from before it becomes slow",
			       v->slow_count);
	return TL_OK;
}

static int check_sources(const struct tl_step_view *v, struct tl_error *err)
{
	if (v->has & (TL_VIEW_STATES | TL_VIEW_SAMPLES | TL_VIEW_CALLS | TL_VIEW_OPS))
		return TL_OK;
	return tl_fail(
		err, TL_NOTHING,
		"the steps are known, but nothing tells what thread %" PRId64
		" (%.40s) did in them: record it with 'perf record -a -g -k CLOCK_MONOTONIC "
		"-e cpu-clock/freq=199/ -e sched:sched_switch -e sched:sched_waking', or with "
		"'strace -f -ttt -T', and import that into the case",
		v->tid, v->thread_name);
}

/* ---- the tables ---- */

static int gather_steps(struct tl_explaining *e, struct tl_error *err)
{
	const struct tl_step_view *v = &e->view;

	e->good = tl_alloc(v->step_count, sizeof(*e->good), err);
	e->slow = tl_alloc(v->step_count, sizeof(*e->slow), err);
	e->wall = tl_alloc(v->step_count, sizeof(*e->wall), err);
	if (!e->good || !e->slow || !e->wall)
		return TL_NOMEM;
	for (size_t i = 0; i < v->step_count; i++) {
		e->wall[i] = (double)(v->steps[i].end_ns - v->steps[i].begin_ns);
		if (v->steps[i].class_ == TL_STEP_GOOD)
			e->good[e->good_count++] = i;
		else if (v->steps[i].class_ == TL_STEP_SLOW)
			e->slow[e->slow_count++] = i;
	}
	return TL_OK;
}

/* Values of categories, one row of steps each. */
struct table {
	double *values;
	struct tl_category *categories;
	size_t count, steps;
};

static int open_table(struct table *t, size_t capacity, size_t steps, struct tl_error *err)
{
	*t = (struct table) { .steps = steps };
	if (steps && capacity > SIZE_MAX / sizeof(double) / steps)
		return tl_fail(err, TL_NOMEM, "out of memory");
	t->values = tl_alloc(capacity * steps, sizeof(*t->values), err);
	t->categories = tl_alloc(capacity, sizeof(*t->categories), err);
	return t->values && t->categories ? TL_OK : TL_NOMEM;
}

static void close_table(struct table *t)
{
	free(t->values);
	free(t->categories);
}

static double *add_category(struct table *t, struct tl_category category)
{
	double *values = t->values + t->count * t->steps;

	category.values = values;
	t->categories[t->count++] = category;
	return values;
}

static void add_ns(double *values, const int64_t *ns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		values[i] += (double)ns[i];
}

/* All parts of a cause together; starved: only while the device waited for the host. */
static int add_causes(struct tl_explaining *e, struct table *t, bool is_starved)
{
	const struct tl_parts *p = &e->parts;

	for (int cause = 0; cause < TL_CAUSE_COUNT; cause++) {
		double *values = NULL;

		for (size_t i = 0; i < p->count; i++) {
			if (p->parts[i].cause != (enum tl_part_cause)cause)
				continue;
			if (!values)
				values = add_category(
					t,
					(struct tl_category) { .cause = tl_part_cause_name(
								       (enum tl_part_cause)cause),
							       .text = tl_part_cause_words((
								       enum tl_part_cause)cause) });
			add_ns(values, is_starved ? p->parts[i].starved_ns : p->parts[i].ns,
			       t->steps);
		}
	}
	return TL_OK;
}

static int compare_causes(struct tl_explaining *e, struct tl_error *err)
{
	struct table t;
	int ret = open_table(&t, TL_CAUSE_COUNT, e->view.step_count, err);

	if (ret == TL_OK)
		ret = add_causes(e, &t, false);
	if (ret == TL_OK)
		ret = tl_explain_compare(e, t.categories, t.count, &e->out->causes,
					 &e->out->cause_count, err);
	close_table(&t);
	return ret;
}

/* Half of the difference, or the larger part of what the device tells of it. */
static void find_bottleneck(struct tl_explain *x)
{
	double starved = 0, device = 0, collective = 0;

	for (size_t i = 0; i < x->device_cause_count; i++) {
		const struct tl_explain_part *p = &x->device_causes[i];

		if (strncmp(p->cause, "device_", 7) != 0)
			starved += p->share;
		else if (!strcmp(p->cause, "device_collective"))
			collective += p->share;
		else if (strcmp(p->cause, "device_unknown") != 0)
			device += p->share;
	}
	x->starved_share = starved;
	x->device_share = device;
	x->collective_share = collective;
	if (collective > 0.5)
		x->bottleneck = "ranks";
	else if (starved > 0.5 || device > 0.5)
		x->bottleneck = starved > device ? "host" : "device";
	else if (starved + device > 0.5)
		x->bottleneck = "both";
}

static int compare_device(struct tl_explaining *e, struct tl_error *err)
{
	static const struct {
		const char *cause, *text;
	} kinds[] = { { "device_busy", "the device is busy" },
		      { "device_collective",
			"the device is in a collective: other ranks are waited for" },
		      { "device_latency", "the device is idle although work was launched" },
		      { "device_unknown", "the device is idle, and its launches are not known" } };
	struct table t;
	int ret;

	if (!e->parts.device)
		return TL_OK;
	ret = open_table(&t, TL_CAUSE_COUNT + 4, e->view.step_count, err);
	for (int k = 0; k < 4 && ret == TL_OK; k++) {
		double *values = add_category(&t, (struct tl_category) { .cause = kinds[k].cause,
									 .text = kinds[k].text });

		for (size_t i = 0; i < t.steps; i++) {
			const struct tl_device_time *d = &e->parts.device[i];

			values[i] = (double)(k == 0   ? d->busy_ns
					     : k == 1 ? d->collective_ns
					     : k == 2 ? d->latency_ns
						      : d->unknown_ns);
		}
	}
	if (ret == TL_OK)
		ret = add_causes(e, &t, true);
	if (ret == TL_OK)
		ret = tl_explain_compare(e, t.categories, t.count, &e->out->device_causes,
					 &e->out->device_cause_count, err);
	e->out->has_device = ret == TL_OK;
	if (ret == TL_OK)
		find_bottleneck(e->out);
	close_table(&t);
	return ret;
}

struct ranked {
	size_t part;
	double difference;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->difference != y->difference)
		return x->difference > y->difference ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

static double mean_difference(const struct tl_explaining *e, const int64_t *ns)
{
	double slow = 0, good = 0;

	for (size_t i = 0; i < e->slow_count; i++)
		slow += (double)ns[e->slow[i]];
	for (size_t i = 0; i < e->good_count; i++)
		good += (double)ns[e->good[i]];
	return slow / (double)e->slow_count - good / (double)e->good_count;
}

static int fill_parts(struct tl_explaining *e, const struct ranked *ranked, struct table *t,
		      struct tl_error *err)
{
	double *rest = NULL;
	int ret = TL_OK;

	for (size_t i = 0; i < e->parts.count && ret == TL_OK; i++) {
		const struct tl_part *part = &e->parts.parts[ranked[i].part];
		struct tl_category c = { .cause = tl_part_cause_name(part->cause),
					 .state = tl_part_state_name(part->state) };

		if (i >= PART_MAX) {
			if (!rest)
				rest = add_category(
					t, (struct tl_category) { .cause = "other",
								  .text = "all smaller parts" });
			add_ns(rest, part->ns, t->steps);
			continue;
		}
		if (part->name) {
			const struct tl_interned *name = &e->parts.names.strings[part->name - 1];

			c.name = tl_arena_copy(e->arena, name->text, name->length, err);
			ret = c.name ? TL_OK : TL_NOMEM;
		}
		if (ret == TL_OK)
			ret = tl_explain_part_text(e, part, &c.text, err);
		if (ret == TL_OK)
			add_ns(add_category(t, c), part->ns, t->steps);
	}
	return ret;
}

static int compare_parts(struct tl_explaining *e, struct tl_error *err)
{
	size_t count = e->parts.count;
	struct ranked *ranked = tl_alloc(count, sizeof(*ranked), err);
	struct table t = { 0 };
	int ret = ranked ? open_table(&t, PART_MAX + 1, e->view.step_count, err) : TL_NOMEM;

	for (size_t i = 0; i < count && ranked; i++)
		ranked[i] = (struct ranked) { i, fabs(mean_difference(e, e->parts.parts[i].ns)) };
	if (count > 1 && ranked)
		qsort(ranked, count, sizeof(*ranked), compare_ranked);
	if (ret == TL_OK)
		ret = fill_parts(e, ranked, &t, err);
	if (ret == TL_OK)
		ret = tl_explain_compare(e, t.categories, t.count, &e->out->parts,
					 &e->out->part_count, err);
	close_table(&t);
	free(ranked);
	return ret;
}

static int compare_wall(struct tl_explaining *e, struct tl_error *err)
{
	const struct tl_category wall = { .values = e->wall };
	struct tl_explain_part *row;
	size_t count;
	int ret = tl_explain_compare(e, &wall, 1, &row, &count, err);

	if (ret < 0)
		return ret;
	e->out->good_ns = row->good_ns;
	e->out->slow_ns = row->slow_ns;
	e->out->difference_ns = row->difference_ns;
	e->out->low_ns = row->low_ns;
	e->out->high_ns = row->high_ns;
	free(row);
	return TL_OK;
}

/* The exact parts of one step, by cause, in the order of out->causes. */
static int list_causes(struct tl_explaining *e, size_t step, const int64_t **out,
		       struct tl_error *err)
{
	int64_t *ns = tl_arena_alloc(e->arena, (e->out->cause_count + 1) * sizeof(*ns), err);

	if (!ns)
		return TL_NOMEM;
	for (size_t c = 0; c < e->out->cause_count; c++) {
		ns[c] = 0;
		for (size_t i = 0; i < e->parts.count; i++) {
			const struct tl_part *part = &e->parts.parts[i];

			if (tl_part_cause_name(part->cause) == e->out->causes[c].cause)
				ns[c] += part->ns[step];
		}
	}
	*out = ns;
	return TL_OK;
}

static int list_steps(struct tl_explaining *e, struct tl_error *err)
{
	static const char *const classes[] = { "other", "good", "slow" };
	struct tl_explain *out = e->out;

	out->steps = tl_alloc(e->view.step_count, sizeof(*out->steps), err);
	if (!out->steps)
		return TL_NOMEM;
	for (size_t i = 0; i < e->view.step_count; i++) {
		const struct tl_view_step *s = &e->view.steps[i];

		out->steps[i] = (struct tl_explain_step) {
			.number = s->number,
			.begin_ns = s->begin_ns,
			.duration_ns = s->end_ns - s->begin_ns,
			.class_ = s->is_uncovered ? "uncovered"
				  : s->is_apart	  ? "apart"
				  : s->is_spike	  ? "spike"
						  : classes[s->class_],
		};
		if (list_causes(e, i, &out->steps[i].cause_ns, err) < 0)
			return TL_NOMEM;
		if (s->phase)
			out->steps[i].phase =
				tl_arena_copy(e->arena, s->phase, strlen(s->phase), err);
		if (s->phase && !out->steps[i].phase)
			return TL_NOMEM;
	}
	out->step_count = e->view.step_count;
	return TL_OK;
}

/* ---- putting it together ---- */

static const char *copy_text(struct tl_explaining *e, const char *text, struct tl_error *err)
{
	return tl_arena_copy(e->arena, text, strlen(text), err);
}

static int describe(struct tl_explaining *e, struct tl_error *err)
{
	struct tl_explain *out = e->out;
	const struct tl_step_view *v = &e->view;

	out->step_source = copy_text(e, v->step_source ? v->step_source : "", err);
	out->thread = copy_text(e, v->thread_name, err);
	out->thread_why = copy_text(e, v->thread_why, err);
	out->pid = v->pid;
	out->tid = v->tid;
	out->rank = v->rank;
	out->good_count = v->good_count;
	out->slow_count = v->slow_count;
	out->apart_count = v->apart_count;
	return out->step_source && out->thread && out->thread_why ? TL_OK : TL_NOMEM;
}

/* Times of several sources may be laid beside each other only if their clocks are good enough. */
static int check_clocks(struct tl_explaining *e, struct tl_error *err)
{
	struct tl_clock_join join;
	int ret;

	if (e->view.joined_count <= e->view.own_count) /* the steps' own tell it all */
		return TL_OK;
	ret = tl_clock_join(e->store, e->view.joined, e->view.joined_count,
			    (int64_t)fabs(e->out->difference_ns), &join, err);
	if (ret == TL_OK && !join.is_allowed)
		return tl_fail(err, TL_NOTHING, "%s", join.text);
	if (ret == TL_OK) {
		e->out->clock = copy_text(e, join.text, err);
		ret = e->out->clock ? TL_OK : TL_NOMEM;
	}
	return ret;
}

static int answer(struct tl_explaining *e, struct tl_error *err)
{
	int (*const parts[])(struct tl_explaining *, struct tl_error *) = {
		describe,	   gather_steps,  compare_wall,		check_clocks,
		compare_causes,	   compare_parts, tl_explain_functions, tl_explain_operators,
		tl_explain_wakers, list_steps,	  compare_device,	tl_explain_verdict,
		tl_explain_notes,
	};
	int ret = TL_OK;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && ret == TL_OK; i++)
		ret = parts[i](e, err);
	return ret;
}

int tl_explain(struct tl_store *store, const struct tl_explain_options *opt, struct tl_explain *out,
	       struct tl_error *err)
{
	struct tl_explaining e = { .store = store, .out = out };
	const struct tl_view_options view = { .thread = opt->thread,
					      .has_rank = opt->has_rank,
					      .rank = opt->rank,
					      .has_spikes = opt->has_spikes };
	int ret;

	memset(out, 0, sizeof(*out));
	e.arena = out->memory = tl_alloc(1, sizeof(*e.arena), err);
	if (!e.arena)
		return TL_NOMEM;
	/* one lock for all the questions that follow */
	ret = tl_store_execute(store, "BEGIN", err);
	if (ret == TL_OK)
		ret = tl_step_view_load(&e.view, store, &view, err);
	if (ret == TL_OK)
		ret = check_steps(&e.view, err);
	if (ret == TL_OK)
		ret = check_sources(&e.view, err);
	if (ret == TL_OK)
		ret = tl_view_bound_waits(&e.view, err);
	if (ret == TL_OK)
		ret = tl_parts_make(&e.parts, &e.view, err);
	if (ret == TL_OK)
		ret = answer(&e, err);
	tl_parts_release(&e.parts);
	tl_step_view_release(&e.view);
	tl_store_execute(store, "ROLLBACK", NULL);
	free(e.good);
	free(e.slow);
	free(e.wall);
	if (ret < 0)
		tl_explain_release(out);
	return ret;
}

void tl_explain_release(struct tl_explain *x)
{
	free(x->causes);
	free(x->parts);
	free(x->device_causes);
	free(x->running);
	free(x->blocked);
	free(x->operators);
	free(x->wakers);
	free(x->steps);
	free(x->notes);
	if (x->memory) {
		tl_arena_release(x->memory);
		free(x->memory);
	}
	memset(x, 0, sizeof(*x));
}
