/*
 * clock_match.c - from candidates to one offset, or to words why there is none: every candidate is
 * tried on all happenings; the best must explain most of them, and no other may come near it.
 */
#include "clock_match.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART_NS	60000  /* an offset that is so far from another is another one */
#define REACH_NS	400000 /* a begin that is so late is still that of the same happening */
#define CLOSE_NS	50000  /* most are so close */
#define WINDOW_MIN	20000  /* nobody agrees better than that */
#define MATCHES_MIN	20
#define DRIFT_ERRORS	5 /* a slope is sure when it is so many times its error */
#define EVEN_MIN_NS	1000
#define LEAD_MAX_NS	100000 /* a tracer at its fastest sees a call begin no earlier */
#define RIVAL_MAX	0.6    /* of the best one's matches */
#define RIVAL_FAR	0.3
#define SHARE_MIN	0.5 /* of the happenings in the overlap */
#define DISAGREE_MAX	0.25
#define INSIDE_SLACK_NS 10000 /* lying inside of another is measured no finer */
#define OUTSIDE_MAX	0.3
#define NEIGHBOURS_MAX	256    /* looked at around a time: hostile inputs have any number */
#define LONG_NS		200000 /* waits, see clock_vote.c */
#define OVERHEAD_NS	500000

struct trial {
	struct tl_clock_candidate candidate;
	size_t matches, overlap, disagreements;
	struct tl_clock_bound *bounds; /* of the matches; offsets relative to the candidate */
	size_t capacity;
	double rank; /* matches that are close */
};

static int64_t predicted(const struct trial *t, int64_t outer_time)
{
	return (int64_t)((uint64_t)outer_time +
			 (uint64_t)tl_clock_candidate_at(&t->candidate, outer_time));
}

/* ---- one candidate on one thread ---- */

static bool is_alike(enum tl_clock_relation relation, const struct tl_happening *o,
		     const struct tl_happening *i)
{
	int64_t outer = o->end - o->begin, inner = i->end - i->begin;

	if (relation != TL_RELATION_WAIT)
		return o->sign == i->sign;
	return inner <= outer + CLOSE_NS && outer - inner <= OVERHEAD_NS;
}

static bool is_wanted(enum tl_clock_relation relation, const struct tl_happening *h, bool is_inner)
{
	return relation != TL_RELATION_WAIT ||
	       h->end - h->begin >= (is_inner ? LONG_NS / 2 : LONG_NS);
}

static int add_match(struct trial *t, const struct tl_happening *o, const struct tl_happening *i,
		     enum tl_clock_relation relation, struct tl_error *err)
{
	int64_t begin = predicted(t, o->begin);
	struct tl_clock_bound b = { .high = i->begin - begin, .time = o->begin };
	int ret = tl_grow(&t->bounds, &t->capacity, t->matches + 1, err);

	if (ret < 0)
		return ret;
	if (relation == TL_RELATION_CALL)
		b.low = i->previous_end == INT64_MIN ? INT64_MIN / 4 : i->previous_end - begin;
	else if (relation == TL_RELATION_WAIT)
		/* the tracer's own work before a call is not in its length */
		b.low = i->end - (begin + (o->end - o->begin)) - CLOSE_NS;
	else if (o->end > o->begin && i->end > i->begin)
		b.low = i->end - predicted(t, o->end); /* higher or lower, as either looks closer */
	else
		b.low = b.high;
	t->bounds[t->matches++] = b;
	if (llabs(b.high) <= CLOSE_NS)
		t->rank++;
	return TL_OK;
}

/* The inner happening nearest to where the outer one should be; SIZE_MAX: none that is alike. */
static size_t find_inner(const struct trial *t, const struct tl_clock_thread *th, size_t from,
			 const struct tl_happening *o, enum tl_clock_relation relation,
			 bool *is_contradicted)
{
	int64_t at = predicted(t, o->begin), best = INT64_MAX;
	size_t found = SIZE_MAX;

	*is_contradicted = false;
	for (size_t i = from; i < th->inner_count && i - from < NEIGHBOURS_MAX &&
			      th->inner[i].begin - at <= REACH_NS;
	     i++) {
		int64_t distance = llabs(th->inner[i].begin - at);

		if (!is_wanted(relation, &th->inner[i], true))
			continue;
		if (distance <= CLOSE_NS && th->inner[i].kind != o->kind)
			*is_contradicted = true;
		if (distance < best && is_alike(relation, o, &th->inner[i])) {
			best = distance;
			found = i;
		}
	}
	return found;
}

/* Is no other outer happening that is alike nearer to this inner one? */
static bool is_mutual(const struct trial *t, const struct tl_clock_thread *th, size_t outer,
		      size_t inner, enum tl_clock_relation relation)
{
	const struct tl_happening *i = &th->inner[inner];
	int64_t distance = llabs(i->begin - predicted(t, th->outer[outer].begin));

	for (size_t o = outer; o-- > 0 && outer - o < NEIGHBOURS_MAX;) {
		int64_t before = i->begin - predicted(t, th->outer[o].begin);

		if (before > distance)
			break;
		if (llabs(before) < distance && is_alike(relation, &th->outer[o], i))
			return false;
	}
	for (size_t o = outer + 1; o < th->outer_count && o - outer < NEIGHBOURS_MAX; o++) {
		int64_t after = predicted(t, th->outer[o].begin) - i->begin;

		if (after > distance)
			break;
		if (llabs(after) < distance && is_alike(relation, &th->outer[o], i))
			return false;
	}
	return true;
}

static size_t count_inside(const struct tl_happening *list, size_t count, int64_t from, int64_t to,
			   enum tl_clock_relation relation, bool is_inner)
{
	size_t inside = 0;

	for (size_t i = 0; i < count; i++)
		inside += list[i].begin >= from && list[i].begin <= to &&
			  is_wanted(relation, &list[i], is_inner);
	return inside;
}

static void count_overlap(struct trial *t, const struct tl_clock_thread *th,
			  enum tl_clock_relation relation)
{
	const struct tl_happening *last_inner = &th->inner[th->inner_count - 1];
	const struct tl_happening *last_outer = &th->outer[th->outer_count - 1];
	int64_t shift = predicted(t, th->outer[0].begin) - th->outer[0].begin;
	size_t outer = count_inside(th->outer, th->outer_count, th->inner[0].begin - shift,
				    last_inner->begin - shift, relation, false);
	size_t inner = count_inside(th->inner, th->inner_count, th->outer[0].begin + shift,
				    last_outer->begin + shift, relation, true);

	t->overlap += outer < inner ? outer : inner;
}

static int try_thread(struct trial *t, const struct tl_clock_thread *th, uint32_t thread,
		      enum tl_clock_relation relation, struct tl_error *err)
{
	size_t from = 0;
	int ret = TL_OK;

	if (!th->inner_count || !th->outer_count)
		return TL_OK;
	count_overlap(t, th, relation);
	for (size_t o = 0; o < th->outer_count && ret == TL_OK; o++) {
		int64_t at = predicted(t, th->outer[o].begin);
		bool is_contradicted;
		size_t i;

		if (!is_wanted(relation, &th->outer[o], false))
			continue;
		while (from < th->inner_count && th->inner[from].begin < at - REACH_NS)
			from++;
		i = find_inner(t, th, from, &th->outer[o], relation, &is_contradicted);
		if (i != SIZE_MAX && is_mutual(t, th, o, i, relation)) {
			ret = add_match(t, &th->outer[o], &th->inner[i], relation, err);
			if (ret == TL_OK) {
				t->bounds[t->matches - 1].thread = thread;
				t->bounds[t->matches - 1].outer = (uint32_t)o;
				t->bounds[t->matches - 1].inner = (uint32_t)i;
			}
		} else if (i == SIZE_MAX && is_contradicted) {
			t->disagreements++;
		}
	}
	return ret;
}

static int try_candidate(struct trial *t, const struct tl_clock_thread *threads, size_t count,
			 enum tl_clock_relation relation, struct tl_error *err)
{
	int ret = TL_OK;

	t->matches = t->overlap = t->disagreements = 0;
	t->rank = 0;
	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = try_thread(t, &threads[i], (uint32_t)i, relation, err);
	return ret;
}

/* Pairs come by thread and outer happening. */
static int order(const struct tl_clock_bound *a, const struct tl_clock_bound *b)
{
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->outer < b->outer ? -1 : a->outer > b->outer;
}

static int by_value(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

/* Of a trial's begins, `values` sorted: how many at most lie within a window. */
static size_t most_within(const int64_t *values, size_t count, int64_t window)
{
	size_t most = 0, from = 0;

	for (size_t to = 0; to < count; to++) {
		while (values[to] - values[from] > window)
			from++;
		if (to - from + 1 > most)
			most = to - from + 1;
	}
	return most;
}

/*
 * Begins of the pairs that a trial has for itself: next to the best offset another finds the same pairs
 * again. Sorted; `values` has room for all.
 */
static size_t own_begins(const struct trial *t, const struct trial *best, int64_t *values)
{
	size_t count = 0;

	for (size_t i = 0, k = 0; i < t->matches; i++) {
		const struct tl_clock_bound *b = &t->bounds[i];

		while (best && k < best->matches && order(&best->bounds[k], b) < 0)
			k++;
		if (best && k < best->matches && !order(&best->bounds[k], b) &&
		    best->bounds[k].inner == b->inner)
			continue;
		values[count++] = b->high;
	}
	if (count)
		qsort(values, count, sizeof(*values), by_value);
	return count;
}

/* How near the next best comes. It is measured as strictly as the best one's own pairs agree. */
static int find_rival(const struct trial *trials, size_t count, const struct trial *best,
		      struct tl_clock_match *out, struct tl_error *err)
{
	size_t most = best->matches, found;
	int64_t *values, window, centre;
	size_t close;

	for (size_t i = 0; i < count; i++)
		most = trials[i].matches > most ? trials[i].matches : most;
	values = tl_alloc(most + 1, sizeof(*values), err);
	if (!values)
		return TL_NOMEM;
	found = own_begins(best, NULL, values);
	centre = found ? values[found / 2] : 0;
	for (size_t i = 0; i < found; i++)
		values[i] = llabs(values[i] - centre);
	if (found)
		qsort(values, found, sizeof(*values), by_value);
	window = found ? 8 * values[found / 2] : 0;
	window = window < WINDOW_MIN ? WINDOW_MIN : window > 2 * CLOSE_NS ? 2 * CLOSE_NS : window;
	found = own_begins(best, NULL, values);
	close = most_within(values, found, window);
	out->rival_ratio = 0;
	for (size_t i = 0; i < count; i++) {
		double ratio;

		if (&trials[i] == best)
			continue;
		found = own_begins(&trials[i], best, values);
		ratio = close ? (double)most_within(values, found, window) / (double)close : 1;
		if (ratio <= out->rival_ratio)
			continue;
		out->rival_ratio = ratio;
		out->rival_ns = trials[i].candidate.offset_ns - best->candidate.offset_ns;
	}
	free(values);
	return TL_OK;
}

/* ---- the middle of what the pairs allow ---- */

static int64_t median(int64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count & 1 ? values[count / 2]
			 : values[count / 2 - 1] + (values[count / 2] - values[count / 2 - 1]) / 2;
}

struct edge {
	int64_t at;
	int step; /* 1: a range begins; -1: one ends */
};

static int by_place(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return b->step - a->step; /* begins first: ranges hold their ends */
}

/* Where nearly as many ranges overlap as anywhere: a few false pairs must not make it narrow. */
static int find_range(const struct trial *t, int64_t *low, int64_t *high, struct tl_error *err)
{
	struct edge *edges = tl_alloc(2 * t->matches, sizeof(*edges), err);
	size_t count = 0;
	int64_t depth = 0, deepest = 0, enough;

	if (!edges)
		return TL_NOMEM;
	for (size_t i = 0; i < t->matches; i++) {
		const struct tl_clock_bound *b = &t->bounds[i];

		edges[count++] = (struct edge) { b->low < b->high ? b->low : b->high, 1 };
		edges[count++] = (struct edge) { b->high, -1 };
	}
	qsort(edges, count, sizeof(*edges), by_place);
	for (size_t i = 0; i < count; i++) {
		depth += edges[i].step;
		if (depth > deepest)
			deepest = depth;
	}
	enough = deepest - 1 - deepest / 50;
	*low = INT64_MAX;
	*high = INT64_MIN;
	for (size_t i = 0; i < count; i++) {
		if (edges[i].step < 0 && depth >= enough)
			*high = edges[i].at;
		depth += edges[i].step;
		if (edges[i].step > 0 && depth >= enough && edges[i].at < *low)
			*low = edges[i].at;
	}
	free(edges);
	return TL_OK;
}

static int find_middle(const struct trial *t, enum tl_clock_relation relation, int64_t *middle,
		       struct tl_clock_match *out, struct tl_error *err)
{
	int64_t *begins = tl_alloc(t->matches, sizeof(*begins), err), low = 0, high = 0, centre,
		end;
	int ret = TL_OK;

	if (!begins)
		return TL_NOMEM;
	for (size_t i = 0; i < t->matches; i++)
		begins[i] = t->bounds[i].high;
	centre = median(begins, t->matches);
	for (size_t i = 0; i < t->matches; i++)
		begins[i] = llabs(t->bounds[i].high - centre);
	out->spread_ns = median(begins, t->matches);
	for (size_t i = 0; i < t->matches; i++)
		begins[i] = t->bounds[i].low;
	end = median(begins, t->matches);
	free(begins);
	if (relation == TL_RELATION_EVEN) {
		/* one may look closer than the other: the truth is between what begins and ends say */
		*middle = centre + (end - centre) / 2;
		/* most write microseconds: equal ones need not be equal */
		out->residual_ns = out->spread_ns > EVEN_MIN_NS ? out->spread_ns : EVEN_MIN_NS;
		out->residual_ns += llabs(end - centre) / 2;
		return TL_OK;
	}
	ret = find_range(t, &low, &high, err);
	/* where threads rest between calls, what they did before says little */
	if (low < high - LEAD_MAX_NS)
		low = high - LEAD_MAX_NS;
	*middle = low + (high - low) / 2;
	/* the edges of the range are not sharp: a few pairs were left out of it */
	out->residual_ns = (high - low + 1) / 2 + out->spread_ns;
	return ret;
}

/* ---- drift ---- */

/* A slope is kept where it is sure, and moves the ends apart by more than is not known. */
static int settle_drift(struct trial *t, const struct tl_clock_thread *threads, size_t count,
			enum tl_clock_relation relation, struct tl_error *err)
{
	struct tl_clock_drift d;
	double drift;
	int ret = tl_clock_fit_drift(t->bounds, t->matches, &d, err);

	if (ret < 0)
		return ret;
	drift = t->candidate.drift + d.drift;
	if (!d.is_known || fabs(drift) < DRIFT_ERRORS * d.error ||
	    fabs(drift) * d.span_ns < CLOSE_NS / 2.0)
		drift = 0;
	if (drift == t->candidate.drift)
		return TL_OK;
	t->candidate.drift = drift;
	return try_candidate(t, threads, count, relation, err);
}

/* ---- the verdict ---- */

static void find_span(const struct trial *t, struct tl_clock_match *out)
{
	out->first_ns = INT64_MAX;
	out->last_ns = INT64_MIN;
	for (size_t i = 0; i < t->matches; i++) {
		int64_t time = t->bounds[i].time;

		out->first_ns = time < out->first_ns ? time : out->first_ns;
		out->last_ns = time > out->last_ns ? time : out->last_ns;
	}
}

static void judge(const struct trial *best, enum tl_clock_relation relation,
		  struct tl_clock_match *out)
{
	/* not every wait is a sleep, nor every span one call: there it is the rival that tells */
	double share = relation == TL_RELATION_WAIT && out->rival_ratio < RIVAL_FAR ? SHARE_MIN / 2
										    : SHARE_MIN;

	out->match_count = best->matches;
	out->overlap_count = best->overlap;
	out->disagreement_count = best->disagreements;
	if (best->matches < MATCHES_MIN)
		snprintf(out->trouble, sizeof(out->trouble),
			 "only %zu happenings match, %d are needed", best->matches, MATCHES_MIN);
	else if (out->rival_ratio > RIVAL_MAX)
		snprintf(
			out->trouble, sizeof(out->trouble),
			"ambiguous: %zu happenings match, and %.0f %% as many at an offset that is "
			"%+.3f ms away",
			best->matches, out->rival_ratio * 100, (double)out->rival_ns / 1e6);
	else if ((double)best->disagreements >
		 DISAGREE_MAX * (double)(best->matches + best->disagreements))
		snprintf(
			out->trouble, sizeof(out->trouble),
			"ambiguous: %zu happenings match, but %zu are called otherwise at the same "
			"time",
			best->matches, best->disagreements);
	else if ((double)best->matches < share * (double)best->overlap)
		snprintf(out->trouble, sizeof(out->trouble),
			 "ambiguous: only %zu of %zu happenings match at the best offset",
			 best->matches, best->overlap);
	else
		out->is_found = true;
}

/*
 * A tracer holds a thread before the kernel sees the call, and after: of the same calls, the inner ones
 * lie inside the outer ones, however busy the machine is. Those of another process that does the same in
 * step with this one do not.
 */
static void check_inside(const struct trial *best, const struct tl_clock_thread *threads,
			 int64_t middle, struct tl_clock_match *out)
{
	/* where threads rest between calls the offset is known no better than the range is wide */
	int64_t slack = INSIDE_SLACK_NS + out->residual_ns - out->spread_ns;
	size_t outside = 0;

	for (size_t i = 0; i < best->matches; i++) {
		const struct tl_clock_bound *b = &best->bounds[i];
		const struct tl_happening *o = &threads[b->thread].outer[b->outer];
		const struct tl_happening *n = &threads[b->thread].inner[b->inner];
		int64_t begin = predicted(best, o->begin) + middle;
		bool has_ends = o->end > o->begin && n->end > n->begin;

		outside += n->begin < begin - slack ||
			   (has_ends && n->end > begin + (o->end - o->begin) + slack);
	}
	if ((double)outside <= OUTSIDE_MAX * (double)best->matches)
		return;
	out->is_found = false;
	snprintf(
		out->trouble, sizeof(out->trouble),
		"ambiguous: %zu happenings match, but %zu do not lie in one another: is it another "
		"process that does the same?",
		best->matches, outside);
}

static int conclude(struct trial *best, const struct tl_clock_thread *threads, size_t count,
		    enum tl_clock_relation relation, struct tl_clock_match *out,
		    struct tl_error *err)
{
	int64_t middle = 0;
	int ret = TL_OK;

	if (best->matches)
		ret = settle_drift(best, threads, count, relation, err);
	judge(best, relation, out);
	find_span(best, out);
	if (ret == TL_OK && best->matches)
		ret = find_middle(best, relation, &middle, out, err);
	if (ret == TL_OK && out->is_found && relation == TL_RELATION_CALL)
		check_inside(best, threads, middle, out);
	out->offset_ns = best->candidate.offset_ns + middle;
	out->origin_ns = best->candidate.origin_ns;
	out->drift = best->candidate.drift;
	return ret;
}

int tl_clock_match(const struct tl_clock_thread *threads, size_t count,
		   enum tl_clock_relation relation, struct tl_clock_match *out,
		   struct tl_error *err)
{
	struct tl_clock_candidate candidates[TL_CANDIDATES_MAX];
	struct trial trials[TL_CANDIDATES_MAX] = { 0 };
	size_t candidate_count, best = 0;
	int ret = tl_clock_vote(threads, count, relation, APART_NS, candidates, &candidate_count,
				err);

	memset(out, 0, sizeof(*out));
	out->rival_ratio = -1;
	for (size_t i = 0; i < candidate_count && ret == TL_OK; i++) {
		trials[i].candidate = candidates[i];
		ret = try_candidate(&trials[i], threads, count, relation, err);
		if (trials[i].rank > trials[best].rank)
			best = i;
	}
	if (candidate_count && ret == TL_OK)
		ret = find_rival(trials, candidate_count, &trials[best], out, err);
	if (ret == TL_OK && !candidate_count)
		snprintf(out->trouble, sizeof(out->trouble),
			 "no happening of one is found in the other");
	else if (ret == TL_OK)
		ret = conclude(&trials[best], threads, count, relation, out, err);
	for (size_t i = 0; i < candidate_count; i++)
		free(trials[i].bounds);
	return ret;
}
