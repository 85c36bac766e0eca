/*
 * clock_vote.c - candidates for the offset between two clocks: every pair of happenings that look the
 * same votes for the difference of its times. True pairs agree, chance ones are scattered.
 */
#include "clock_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX     2000000u /* 48 MB */
#define GROUP_PAIRS   200000u  /* of one word that is met again and again */
#define WINDOW_NS     60000    /* true pairs agree that well */
#define DRIFT_MAX     100e-6   /* of clocks against each other */
#define WORD_LENGTH   3 /* happenings in a row: fewer are too common, more are torn by losses */
#define LONG_NS	      200000 /* waits that are shorter tell nothing */
#define OVERHEAD_NS   500000 /* what an outer wait may be longer than the inner one */
#define SHORT_SPAN_NS 10e9   /* in which clocks hardly drift apart */
#define FIT_PAIRS     8000u
#define COARSE_PEAKS  6

struct pair {
	int64_t offset, time; /* time: of the outer clock */
	float weight;
};

struct word { /* some happenings in a row, the last one's time */
	uint64_t hash;
	int64_t time;
	bool is_inner;
};

struct vote {
	struct pair *pairs;
	size_t count, capacity;
	struct word *words;
	size_t word_count, word_capacity;
	int64_t first, last; /* outer times of pairs */
};

static int add_pair(struct vote *v, int64_t outer, int64_t inner, double weight,
		    struct tl_error *err)
{
	int ret;

	if (v->count == PAIRS_MAX)
		return TL_OK;
	ret = tl_grow(&v->pairs, &v->capacity, v->count + 1, err);
	if (ret == TL_OK)
		v->pairs[v->count++] = (struct pair) { inner - outer, outer, (float)weight };
	return ret;
}

/* ---- calls: words of three in a row ---- */

static int add_words(struct vote *v, const struct tl_happening *list, size_t count, bool is_inner,
		     uint64_t seed, struct tl_error *err)
{
	int ret = tl_grow(&v->words, &v->word_capacity, v->word_count + count, err);

	for (size_t i = WORD_LENGTH - 1; i < count && ret == TL_OK; i++) {
		uint64_t hash = seed;

		for (size_t k = 0; k < WORD_LENGTH; k++)
			hash = tl_hash_u64(hash, list[i - k].sign);
		v->words[v->word_count++] = (struct word) { hash, list[i].begin, is_inner };
	}
	return ret;
}

static int by_hash(const void *x, const void *y)
{
	const struct word *a = x, *b = y;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->is_inner != b->is_inner)
		return a->is_inner ? 1 : -1;
	return a->time < b->time ? -1 : a->time > b->time;
}

struct group { /* of equal words */
	size_t first, outer_count, inner_count;
};

static int by_pairs(const void *x, const void *y)
{
	const struct group *a = x, *b = y;
	double pairs_a = (double)a->outer_count * (double)a->inner_count;
	double pairs_b = (double)b->outer_count * (double)b->inner_count;

	if (pairs_a != pairs_b)
		return pairs_a < pairs_b ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static int pair_group(struct vote *v, const struct group *g, struct tl_error *err)
{
	const struct word *outer = v->words + g->first, *inner = outer + g->outer_count;
	size_t fewer = g->outer_count < g->inner_count ? g->outer_count : g->inner_count;
	size_t wanted = GROUP_PAIRS / g->inner_count, step = 1;
	int ret = TL_OK;

	if (!wanted)
		return TL_OK; /* met so often that it says nothing */
	if (g->outer_count > wanted)
		step = (g->outer_count + wanted - 1) / wanted;
	for (size_t i = 0; i < g->outer_count && ret == TL_OK; i += step)
		for (size_t k = 0; k < g->inner_count && ret == TL_OK; k++)
			ret = add_pair(v, outer[i].time, inner[k].time,
				       (double)step / (double)fewer, err);
	return ret;
}

/* Rare words first: what is unique in both needs no luck. */
static int pair_words(struct vote *v, struct tl_error *err)
{
	struct group *groups = NULL;
	size_t count = 0, capacity = 0;
	int ret = TL_OK;

	if (v->word_count)
		qsort(v->words, v->word_count, sizeof(*v->words), by_hash);
	for (size_t i = 0, next; i < v->word_count && ret == TL_OK; i = next) {
		struct group g = { .first = i };

		for (next = i; next < v->word_count && v->words[next].hash == v->words[i].hash;
		     next++) {
			g.inner_count += v->words[next].is_inner;
			g.outer_count += !v->words[next].is_inner;
		}
		if (!g.inner_count || !g.outer_count)
			continue;
		ret = tl_grow(&groups, &capacity, count + 1, err);
		if (ret == TL_OK)
			groups[count++] = g;
	}
	if (count)
		qsort(groups, count, sizeof(*groups), by_pairs);
	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = pair_group(v, &groups[i], err);
	free(groups);
	return ret;
}

/* ---- waits: about the same length ---- */

static int by_length(const void *x, const void *y)
{
	const struct tl_happening *a = x, *b = y;
	int64_t la = a->end - a->begin, lb = b->end - b->begin;

	if (la != lb)
		return la < lb ? -1 : 1;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static size_t first_longer(const struct tl_happening *sorted, size_t count, int64_t ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sorted[middle].end - sorted[middle].begin < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int pair_waits(struct vote *v, const struct tl_clock_thread *t, struct tl_error *err)
{
	struct tl_happening *sorted = tl_alloc(t->inner_count + 1, sizeof(*sorted), err);
	size_t count = 0, budget = PAIRS_MAX / 8;
	int ret = sorted ? TL_OK : TL_NOMEM;

	for (size_t i = 0; i < t->inner_count && ret == TL_OK; i++)
		if (t->inner[i].end - t->inner[i].begin >= LONG_NS / 2)
			sorted[count++] = t->inner[i];
	if (count)
		qsort(sorted, count, sizeof(*sorted), by_length);
	for (size_t i = 0; i < t->outer_count && ret == TL_OK; i++) {
		const struct tl_happening *o = &t->outer[i];
		int64_t length = o->end - o->begin;
		size_t from, to;

		if (length < LONG_NS)
			continue;
		from = first_longer(sorted, count, length - OVERHEAD_NS);
		to = first_longer(sorted, count, length + 1);
		if (to - from > budget)
			continue;
		budget -= to - from;
		for (size_t k = from; k < to && ret == TL_OK; k++)
			ret = add_pair(v, o->begin, sorted[k].begin, 1.0 / (double)(to - from),
				       err);
	}
	free(sorted);
	return ret;
}

/* ---- where they agree ---- */

static int by_offset(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

struct peak {
	int64_t offset; /* where the window begins */
	double weight;
};

/* The heaviest windows, heaviest first, none within `apart` of another. Pairs are sorted. */
static size_t find_peaks(const struct pair *pairs, size_t count, int64_t window, int64_t apart,
			 struct peak *peaks, size_t max)
{
	size_t found = 0, from = 0;
	double sum = 0;

	for (size_t to = 0; to < count; to++) {
		struct peak p;
		size_t at = 0;

		sum += pairs[to].weight;
		while (pairs[to].offset - pairs[from].offset > window)
			sum -= pairs[from++].weight;
		p = (struct peak) { pairs[from].offset, sum };
		/* a heavier neighbour takes its place, a lighter one is forgotten */
		while (at < found && llabs(peaks[at].offset - p.offset) > apart)
			at++;
		if (at < found && peaks[at].weight >= p.weight)
			continue;
		if (at == found) {
			if (found < max)
				found++;
			else if (peaks[--at].weight >= p.weight)
				continue;
		}
		for (; at > 0 && peaks[at - 1].weight < p.weight; at--)
			peaks[at] = peaks[at - 1];
		peaks[at] = p;
	}
	return found;
}

struct fit {
	struct pair *inside, *turned; /* of one wide window: as they are; with a drift taken out */
	size_t count;
	int64_t origin;
	double drift, weight;
};

/* How heavy is the densest narrow window if the clocks drift so, looking at `span` around the origin? */
static double weigh(struct fit *f, double drift, double span)
{
	struct peak peak;
	size_t count = 0;

	for (size_t i = 0; i < f->count; i++) {
		double time = (double)(f->inside[i].time - f->origin);

		if (fabs(time) > span / 2)
			continue;
		f->turned[count] = f->inside[i];
		f->turned[count++].offset -= (int64_t)(drift * time);
	}
	if (!count)
		return 0;
	qsort(f->turned, count, sizeof(*f->turned), by_offset);
	find_peaks(f->turned, count, WINDOW_NS, INT64_MAX, &peak, 1);
	return peak.weight;
}

/* The best of the drifts around `f->drift`; in doubt the smallest. */
static void try_drifts(struct fit *f, double range, double span)
{
	int steps =
		(int)ceil(range * span / WINDOW_NS * 2); /* one moves the ends by half a window */
	double middle = f->drift, best = -1;

	for (int k = 0; k <= 2 * steps; k++) {
		/* 0, 1, -1, 2, -2, ... */
		double drift =
			middle + range * ((k & 1) ? k / 2 + 1 : -(k / 2)) / (steps ? steps : 1);
		double weight = weigh(f, drift, span);

		if (weight > best * 1.02) {
			best = weight;
			f->drift = drift;
		}
	}
	f->weight = best;
}

static int by_time(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The slope of the true pairs inside a wide window: from a short stretch of time to longer ones. */
static void find_drift(const struct vote *v, int64_t base, int64_t width, struct fit *f)
{
	double whole = 2.0 * (double)(v->last - v->first) + 1, span = SHORT_SPAN_NS;
	double range = DRIFT_MAX;
	size_t inside = 0, step;

	for (size_t i = 0; i < v->count; i++)
		inside += v->pairs[i].offset >= base && v->pairs[i].offset - base <= width;
	step = 1 + inside / FIT_PAIRS;
	f->count = inside = 0;
	for (size_t i = 0; i < v->count; i++)
		if (v->pairs[i].offset >= base && v->pairs[i].offset - base <= width &&
		    inside++ % step == 0)
			f->inside[f->count++] = v->pairs[i];
	qsort(f->inside, f->count, sizeof(*f->inside), by_time);
	f->origin = f->inside[f->count / 2].time;
	f->drift = 0;
	for (;; span *= 4) {
		try_drifts(f, range, span < whole ? span : whole);
		if (span >= whole)
			break;
		range = WINDOW_NS / span;
	}
}

static void set_range(struct vote *v)
{
	v->first = INT64_MAX;
	v->last = INT64_MIN;
	for (size_t i = 0; i < v->count; i++) {
		if (v->pairs[i].time < v->first)
			v->first = v->pairs[i].time;
		if (v->pairs[i].time > v->last)
			v->last = v->pairs[i].time;
	}
}

static int decide(struct vote *v, int64_t apart, struct tl_clock_candidate *candidates,
		  size_t *candidate_count, struct tl_error *err)
{
	struct peak peaks[TL_CANDIDATES_MAX];
	struct fit f = { 0 }, best = { .weight = -1 };
	int64_t width;
	size_t count;

	set_range(v);
	qsort(v->pairs, v->count, sizeof(*v->pairs), by_offset);
	width = WINDOW_NS + (int64_t)(DRIFT_MAX * (double)(v->last - v->first));
	count = find_peaks(v->pairs, v->count, width, width, peaks, COARSE_PEAKS);
	f.inside = tl_alloc(2 * (FIT_PAIRS + 1), sizeof(*f.inside), err);
	if (!f.inside)
		return TL_NOMEM;
	f.turned = f.inside + FIT_PAIRS + 1;
	for (size_t i = 0; i < count; i++) {
		find_drift(v, peaks[i].offset, width, &f);
		if (f.weight > best.weight)
			best = f;
	}
	free(f.inside);
	for (size_t i = 0; i < v->count; i++)
		v->pairs[i].offset -=
			(int64_t)(best.drift * (double)(v->pairs[i].time - best.origin));
	qsort(v->pairs, v->count, sizeof(*v->pairs), by_offset);
	*candidate_count =
		find_peaks(v->pairs, v->count, WINDOW_NS, apart, peaks, TL_CANDIDATES_MAX);
	for (size_t i = 0; i < *candidate_count; i++)
		candidates[i] =
			(struct tl_clock_candidate) { peaks[i].offset + WINDOW_NS / 2, best.origin,
						      best.drift, peaks[i].weight };
	return TL_OK;
}

int tl_clock_vote(const struct tl_clock_thread *threads, size_t count,
		  enum tl_clock_relation relation, int64_t apart_ns,
		  struct tl_clock_candidate *candidates, size_t *candidate_count,
		  struct tl_error *err)
{
	struct vote v = { 0 };
	int ret = TL_OK;

	*candidate_count = 0;
	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		const struct tl_clock_thread *t = &threads[i];

		if (relation == TL_RELATION_WAIT) {
			ret = pair_waits(&v, t, err);
			continue;
		}
		ret = add_words(&v, t->outer, t->outer_count, false, i, err);
		if (ret == TL_OK)
			ret = add_words(&v, t->inner, t->inner_count, true, i, err);
	}
	if (ret == TL_OK)
		ret = pair_words(&v, err);
	if (ret == TL_OK && v.count)
		ret = decide(&v, apart_ns, candidates, candidate_count, err);
	free(v.pairs);
	free(v.words);
	return ret;
}
