/*
 * job_ranks.c - the ranks of one job beside each other: which is slowest, and which one the others
 * wait for. A collective ends for all ranks at once: who spends least in it came last.
 */
#include "analysis.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distribution.h"
#include "job_collectives.h"
#include "memory.h"
#include "stats.h"

#define LATE_ALPHA 0.01 /* above it the words say that it may be chance */

/* What one rank did in its steps; positions are those of its series. */
struct member {
	size_t series;
	int32_t rank;
	int64_t *collective_ns; /* see job_collectives.h; NULL: the case has none of it */
	size_t at;		/* the step at hand */
};

struct comparing {
	struct tl_store *store;
	const struct tl_steps *steps;
	struct tl_ranks *out;
	struct member *members;
	size_t count;
	double *scratch;
	bool has_collectives; /* of every member */
	size_t known_count;   /* steps whose collectives are known of every member */
	size_t other_count;   /* series of these ranks that are not compared */
};

/* ---- who takes part ---- */

static int by_rank(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The longest one; of equals the earlier one: ranks are to be compared over the same steps. */
static bool is_rather(const struct tl_steps_series *a, const struct tl_steps_series *b)
{
	if (a->count != b->count)
		return a->count > b->count;
	if (a->steps[0].number != b->steps[0].number)
		return a->steps[0].number < b->steps[0].number;
	return a->steps[0].has_ts && b->steps[0].has_ts && a->steps[0].ts < b->steps[0].ts;
}

/* One series a rank. */
static int add_member(struct comparing *c, size_t series, struct tl_error *err)
{
	const struct tl_steps_series *s = &c->steps->series[series];
	size_t capacity = c->count;
	int ret;

	for (size_t i = 0; i < c->count; i++) {
		if (c->members[i].rank != s->rank)
			continue;
		c->other_count++;
		if (is_rather(s, &c->steps->series[c->members[i].series]))
			c->members[i].series = series;
		return TL_OK;
	}
	ret = tl_grow(&c->members, &capacity, c->count + 1, err);
	if (ret == TL_OK)
		c->members[c->count++] = (struct member) { .series = series, .rank = s->rank };
	return ret;
}

static int find_members(struct comparing *c, const char *origin, struct tl_error *err)
{
	int ret = TL_OK;

	c->count = c->other_count = 0;
	for (size_t i = 0; i < c->steps->series_count && ret == TL_OK; i++) {
		const struct tl_steps_series *s = &c->steps->series[i];

		if (s->rank >= 0 && s->count && !strcmp(s->origin, origin))
			ret = add_member(c, i, err);
	}
	if (c->count > 1)
		qsort(c->members, c->count, sizeof(*c->members), by_rank);
	c->out->origin = origin;
	return ret;
}

/* ---- steps that all ranks have ---- */

static const struct tl_step *step_of(const struct comparing *c, const struct member *m)
{
	return &c->steps->series[m->series].steps[m->at];
}

/* Moves every member to the next number that all of them have. Numbers ascend. */
static bool next_common(struct comparing *c)
{
	for (size_t i = 0; i < c->count;) {
		struct member *m = &c->members[i];
		const struct tl_steps_series *s = &c->steps->series[m->series];
		int64_t wanted;

		if (m->at >= s->count)
			return false;
		wanted = step_of(c, &c->members[0])->number;
		while (m->at < s->count && step_of(c, m)->number < wanted)
			m->at++;
		if (m->at >= s->count)
			return false;
		if (step_of(c, m)->number == wanted) {
			i++;
			continue;
		}
		c->members[0].at++;
		i = 0;
	}
	return true;
}

static bool knows_collectives(const struct comparing *c)
{
	for (size_t i = 0; i < c->count && c->has_collectives; i++)
		if (c->members[i].collective_ns[c->members[i].at] == TL_COLLECTIVES_UNKNOWN)
			return false;
	return c->has_collectives;
}

/* The middle of what the others spend in collectives of the step at hand. */
static double middle_of_others(struct comparing *c, size_t late)
{
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		if (i != late)
			c->scratch[count++] = (double)c->members[i].collective_ns[c->members[i].at];
	return tl_median(c->scratch, count);
}

/*
 * Who is late: spends least in collectives, and alone; by how much less than the middle of the
 * others. A middle that counted the late one itself would halve what one of two ranks is late by.
 */
static void find_late(struct comparing *c, struct tl_rank_step *step)
{
	size_t late = 0, least_count = 0;

	c->known_count++;
	step->has_collectives = true;
	step->least_ns = INT64_MAX;
	step->most_ns = 0;
	for (size_t i = 0; i < c->count; i++) {
		const struct member *m = &c->members[i];
		int64_t ns = m->collective_ns[m->at];

		if (ns < step->least_ns) {
			step->least_ns = ns;
			late = i;
			least_count = 0;
		}
		least_count += ns == step->least_ns;
		step->most_ns = ns > step->most_ns ? ns : step->most_ns;
	}
	if (least_count == 1) {
		step->late_rank = c->members[late].rank;
		step->late_ns = llround(middle_of_others(c, late)) - step->least_ns;
		c->out->ranks[late].late_count++;
	}
	for (size_t i = 0; i < c->count; i++) {
		const struct member *m = &c->members[i];

		c->out->ranks[i].collective_ns += (double)m->collective_ns[m->at];
		c->out->ranks[i].waiting_ns += (double)(m->collective_ns[m->at] - step->least_ns);
	}
}

/* Another rank takes as long for the step at hand. */
static bool is_tied(const struct comparing *c, size_t member)
{
	int64_t ns = step_of(c, &c->members[member])->duration_ns;

	for (size_t i = 0; i < c->count; i++)
		if (i != member && step_of(c, &c->members[i])->duration_ns == ns)
			return true;
	return false;
}

static int add_step(struct comparing *c, size_t *capacity, struct tl_error *err)
{
	struct tl_rank_step *step;
	size_t slowest = 0, fastest = 0;
	int ret = tl_grow(&c->out->steps, capacity, c->out->step_count + 1, err);

	if (ret < 0)
		return ret;
	step = &c->out->steps[c->out->step_count++];
	memset(step, 0, sizeof(*step));
	for (size_t i = 0; i < c->count; i++) {
		int64_t ns = step_of(c, &c->members[i])->duration_ns;

		c->scratch[i] = (double)ns;
		step->is_slow |= !strcmp(step_of(c, &c->members[i])->class_, "slow");
		if (ns > step_of(c, &c->members[slowest])->duration_ns)
			slowest = i;
		if (ns < step_of(c, &c->members[fastest])->duration_ns)
			fastest = i;
	}
	step->number = step_of(c, &c->members[0])->number;
	step->median_ns = llround(tl_median(c->scratch, c->count));
	step->slowest_rank = is_tied(c, slowest) ? -1 : c->members[slowest].rank;
	step->slowest_ns = step_of(c, &c->members[slowest])->duration_ns;
	step->fastest_rank = is_tied(c, fastest) ? -1 : c->members[fastest].rank;
	step->fastest_ns = step_of(c, &c->members[fastest])->duration_ns;
	c->out->ranks[slowest].slowest_count += step->slowest_rank >= 0;
	step->late_rank = -1;
	if (knows_collectives(c))
		find_late(c, step);
	return TL_OK;
}

static int compare_steps(struct comparing *c, struct tl_error *err)
{
	size_t capacity = 0;
	int ret = TL_OK;

	while (ret == TL_OK && next_common(c)) {
		ret = add_step(c, &capacity, err);
		for (size_t i = 0; i < c->count; i++)
			c->members[i].at++;
	}
	return ret;
}

/* ---- the ranks ---- */

static int describe_ranks(struct comparing *c, struct tl_error *err)
{
	struct tl_ranks *out = c->out;

	out->ranks = tl_alloc(c->count, sizeof(*out->ranks), err);
	if (!out->ranks)
		return TL_NOMEM;
	out->rank_count = c->count;
	for (size_t i = 0; i < c->count; i++) {
		const struct tl_steps_series *s = &c->steps->series[c->members[i].series];
		double *x = tl_alloc(s->count, sizeof(*x), err);

		if (!x)
			return TL_NOMEM;
		for (size_t k = 0; k < s->count; k++)
			x[k] = (double)s->steps[k].duration_ns;
		out->ranks[i] = (struct tl_rank) { .series = c->members[i].series,
						   .rank = c->members[i].rank,
						   .median_ns = tl_median(x, s->count) };
		free(x);
	}
	return TL_OK;
}

static void finish_ranks(struct comparing *c)
{
	double n = (double)c->known_count;

	for (size_t i = 0; i < c->count; i++) {
		struct tl_rank *r = &c->out->ranks[i];

		if (!c->known_count) {
			r->collective_ns = r->waiting_ns = NAN;
			continue;
		}
		r->collective_ns /= n;
		r->waiting_ns /= n;
	}
}

/* ---- who is late ---- */

static bool is_meant(const struct tl_rank_step *step, bool only_slow)
{
	return step->has_collectives && (step->is_slow || !only_slow);
}

static size_t count_late(const struct tl_ranks *r, int32_t rank, bool only_slow)
{
	size_t count = 0;

	for (size_t i = 0; i < r->step_count; i++)
		count += is_meant(&r->steps[i], only_slow) && r->steps[i].late_rank == rank;
	return count;
}

/* The middle of what the others waited more than the rank, and of the steps' durations. */
static int measure_late(const struct tl_ranks *r, bool only_slow, struct tl_late_rank *out,
			struct tl_error *err)
{
	double *late = tl_alloc(2 * r->step_count, sizeof(*late), err), *all = late + r->step_count;
	size_t late_count = 0, count = 0;

	if (!late)
		return TL_NOMEM;
	for (size_t i = 0; i < r->step_count; i++) {
		if (!is_meant(&r->steps[i], only_slow))
			continue;
		all[count++] = (double)r->steps[i].median_ns;
		if (r->steps[i].late_rank == out->rank)
			late[late_count++] = (double)r->steps[i].late_ns;
	}
	out->late_ns = tl_median(late, late_count);
	out->step_ns = tl_median(all, count);
	free(late);
	return TL_OK;
}

/* p: how likely one of the ranks, any, comes last so often when each is last with the same chance. */
static int judge_late(const struct tl_ranks *r, bool only_slow, double min_change,
		      struct tl_late_rank *out, struct tl_error *err)
{
	double ranks = (double)r->rank_count;
	int ret;

	for (size_t i = 0; i < r->step_count; i++)
		out->step_count += is_meant(&r->steps[i], only_slow);
	for (size_t i = 0; i < r->rank_count; i++) {
		size_t count = count_late(r, r->ranks[i].rank, only_slow);

		if (count > out->late_count) {
			out->late_count = count;
			out->rank = r->ranks[i].rank;
		}
	}
	if (2 * out->late_count <= out->step_count)
		return TL_OK;
	ret = measure_late(r, only_slow, out, err);
	if (ret < 0)
		return ret;
	out->is_known = out->late_ns >= min_change * out->step_ns;
	out->p = fmin(1, ranks * tl_binomial_tail(out->step_count, 1 / ranks, out->late_count));
	return TL_OK;
}

/* ---- in words ---- */

static const struct tl_rank *most_often_slowest(const struct tl_ranks *r)
{
	const struct tl_rank *best = &r->ranks[0];

	for (size_t i = 1; i < r->rank_count; i++)
		if (r->ranks[i].slowest_count > best->slowest_count)
			best = &r->ranks[i];
	return best;
}

static double spread_of(const struct tl_ranks *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->step_count; i++)
		sum += (double)(r->steps[i].slowest_ns - r->steps[i].fastest_ns) /
		       (double)r->steps[i].median_ns;
	return sum / (double)r->step_count;
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void say_slowest(struct tl_text *t, const struct tl_ranks *r)
{
	const struct tl_rank *slowest = most_often_slowest(r);

	if (slowest->slowest_count)
		tl_text_printf(t, "rank %" PRId32 " is slowest in %zu of %zu step%s, ranks differ ",
			       slowest->rank, slowest->slowest_count, r->step_count,
			       plural(r->step_count));
	else
		tl_text_puts(t, "no rank is slowest alone, ranks differ ");
	tl_text_printf(
		t, "by %.1f %% on average; which one is late cannot be told without collectives",
		100 * spread_of(r));
}

static void say_late(struct tl_text *t, const struct tl_ranks *r, const struct tl_late_rank *late,
		     const char *which)
{
	tl_text_printf(t,
		       "rank %" PRId32 " is late: it waits least in collectives in %zu of %zu "
		       "%sstep%s, %.3g ms less than %s (%.0f %% of a step); ",
		       late->rank, late->late_count, late->step_count, which,
		       plural(late->step_count), late->late_ns / 1e6,
		       r->rank_count == 2 ? "the other" : "the middle of the others",
		       100 * late->late_ns / late->step_ns);
	if (late->p >= LATE_ALPHA)
		tl_text_printf(t, "%s to call it a habit: ",
			       late->step_count == 1 ? "one step is too little" : "too few steps");
	tl_text_printf(t, "by chance p = %.2g", late->p);
}

/* What the answer is not about. */
static void say_left_out(struct tl_text *t, const struct comparing *c)
{
	size_t unknown = c->out->step_count - c->known_count;

	if (c->known_count && unknown)
		tl_text_printf(t, "; of %zu more step%s not all collectives are known", unknown,
			       plural(unknown));
	if (c->other_count)
		tl_text_printf(t, "; %zu more series of these ranks %s not compared",
			       c->other_count, c->other_count == 1 ? "is" : "are");
}

static int say(struct comparing *c, double min_change, struct tl_error *err)
{
	struct tl_ranks *r = c->out;
	struct tl_text t = { 0 };

	if (!r->step_count) {
		tl_text_printf(&t, "%zu ranks without a step that all of them have", r->rank_count);
	} else if (!c->known_count) {
		say_slowest(&t, r);
	} else {
		if (r->late.is_known)
			say_late(&t, r, &r->late, "");
		else
			tl_text_printf(&t,
				       "no rank is late by %.0f %% of a step or more in most of "
				       "%zu step%s",
				       100 * min_change, c->known_count, plural(c->known_count));
		/* said where it is something else */
		if (r->slow_late.is_known &&
		    (!r->late.is_known || r->slow_late.rank != r->late.rank)) {
			tl_text_puts(&t, "; but ");
			say_late(&t, r, &r->slow_late, "slow ");
		}
	}
	say_left_out(&t, c);
	if (!t.failed)
		tl_printable(r->verdict, sizeof(r->verdict), t.data, t.length);
	tl_text_release(&t);
	return t.failed ? tl_fail(err, TL_NOMEM, "out of memory") : TL_OK;
}

/* ---- public ---- */

static int compare(struct comparing *c, double min_change, struct tl_error *err)
{
	int ret = TL_OK;

	c->scratch = tl_alloc(c->count, sizeof(*c->scratch), err);
	if (!c->scratch)
		return TL_NOMEM;
	c->has_collectives = true;
	for (size_t i = 0; i < c->count && ret == TL_OK && c->has_collectives; i++) {
		ret = tl_job_collectives(c->store, &c->steps->series[c->members[i].series],
					 &c->members[i].collective_ns, err);
		c->has_collectives = c->members[i].collective_ns != NULL;
	}
	if (ret == TL_OK)
		ret = describe_ranks(c, err);
	if (ret == TL_OK)
		ret = compare_steps(c, err);
	if (ret < 0)
		return ret;
	finish_ranks(c);
	min_change = min_change > 0 ? min_change : 0.05;
	if (c->known_count) {
		ret = judge_late(c->out, false, min_change, &c->out->late, err);
		if (ret == TL_OK)
			ret = judge_late(c->out, true, min_change, &c->out->slow_late, err);
	}
	return ret < 0 ? ret : say(c, min_change, err);
}

int tl_ranks_load(struct tl_store *store, const struct tl_steps *steps, double min_change,
		  struct tl_ranks *out, struct tl_error *err)
{
	struct comparing c = { .store = store, .steps = steps, .out = out };
	int ret;

	memset(out, 0, sizeof(*out));
	ret = find_members(&c, "profiler", err);
	if (ret == TL_OK && c.count < 2)
		ret = find_members(&c, "log", err);
	if (ret == TL_OK && c.count < 2)
		ret = tl_fail(err, TL_NOTHING, "no two ranks with steps");
	if (ret == TL_OK)
		ret = compare(&c, min_change, err);
	for (size_t i = 0; i < c.count; i++)
		free(c.members[i].collective_ns);
	free(c.members);
	free(c.scratch);
	if (ret < 0)
		tl_ranks_release(out);
	return ret;
}

void tl_ranks_release(struct tl_ranks *ranks)
{
	free(ranks->ranks);
	free(ranks->steps);
	memset(ranks, 0, sizeof(*ranks));
}
