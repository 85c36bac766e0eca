/*
 * latency_episodes.c - when calls of one kind were slow.
 *
 * A threshold learnt from all calls fails once more than a few of them are slow: they are a mode of
 * their own then. Their order still tells them. Knows no thread and no clock.
 */
#include "latency_episodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "latency.h"
#include "memory.h"
#include "segment.h"
#include "stats.h"

#define CALLS_MIN      40   /* below, no beginning can be told */
#define USUAL_MIN      20u  /* calls that what is usual is learnt from */
#define SLOW_MIN       5u   /* slow calls in episodes */
#define USUAL_RATE_MAX 0.05 /* of slow calls: what is rarer than this is not usual */
#define RATE_RATIO     10.0 /* of slow calls, in an episode against the usual */
#define SLOWER_RATIO   3.0  /* the median of slow calls against that of the usual ones */
#define WARMUP_SHARE   0.25
#define GAIN_MIN       12.0 /* beyond the penalties: of 4,500 groups of chance none shows an episode */
#define PIECES	       64u /* changes are looked for between them, then among their calls */
#define PIECE_CALLS    4u
#define COARSE	       4u /* pieces that a first look takes together */

/* Calls by piece of time and by duration. */
struct spread {
	uint32_t slower[PIECES + 1][TL_LATENCY_BINS]; /* of the bin and slower, before the piece */
	size_t begin[PIECES + 1];		      /* of each piece */
	size_t count;				      /* pieces */
};

static void spread_out(struct spread *s, const int64_t *ns, size_t n)
{
	memset(s->slower, 0, sizeof(s->slower));
	s->count = n / PIECE_CALLS < PIECES ? n / PIECE_CALLS : PIECES;
	for (size_t p = 0; p <= s->count; p++)
		s->begin[p] = n * p / s->count;
	for (size_t p = 0; p < s->count; p++) {
		uint32_t *row = s->slower[p + 1];

		for (size_t i = s->begin[p]; i < s->begin[p + 1]; i++)
			row[tl_latency_bin(ns[i])]++;
		for (uint32_t bin = TL_LATENCY_BINS - 1; bin-- > 0;)
			row[bin] += row[bin + 1];
		for (uint32_t bin = 0; bin < TL_LATENCY_BINS; bin++)
			row[bin] += s->slower[p][bin];
	}
}

/* ---- segments --------------------------------------------------------------------------------- */

static double plogp(double count, double all)
{
	return count > 0 ? count * log(count / all) : 0;
}

static double slow_in(const struct spread *s, uint32_t bin, size_t first, size_t last)
{
	return (double)(s->slower[last][bin] - s->slower[first][bin]);
}

static double calls_in(const struct spread *s, size_t first, size_t last)
{
	return (double)(s->begin[last] - s->begin[first]);
}

/* Deviance of the pieces [first, last) if one probability holds for all of their calls. */
static double deviance(const struct spread *s, uint32_t bin, size_t first, size_t last)
{
	double n = calls_in(s, first, last), slow = slow_in(s, bin, first, last);

	return -2 * (plogp(slow, n) + plogp(n - slow, n));
}

/* What the best single run of pieces gains against no change at all: a first, coarse look. */
static double best_run(const struct spread *s, uint32_t bin)
{
	double whole = deviance(s, bin, 0, s->count), slow = slow_in(s, bin, 0, s->count);
	double n = calls_in(s, 0, s->count), best = 0;

	for (size_t i = 0; i < s->count; i += COARSE) {
		for (size_t j = i; j < s->count;) {
			double in, size, rest;

			j = j + COARSE < s->count ? j + COARSE : s->count;
			in = slow_in(s, bin, i, j);
			size = calls_in(s, i, j);
			rest = -2 * (plogp(slow - in, n - size) +
				     plogp(n - size - (slow - in), n - size));
			best = fmax(best, whole - rest - deviance(s, bin, i, j));
		}
	}
	return best;
}

/*
 * Segments of least deviance with a penalty for each change: their first pieces in `starts`.
 * Returns what it gains against no change.
 */
static double segment(const struct spread *s, uint32_t bin, double penalty, size_t *starts,
		      size_t *count)
{
	double best[PIECES + 1];
	size_t from[PIECES + 1], n = 0;

	best[0] = -penalty;
	for (size_t j = 1; j <= s->count; j++) {
		best[j] = INFINITY;
		for (size_t i = 0; i < j; i++) {
			double cost = best[i] + penalty + deviance(s, bin, i, j);

			if (cost < best[j]) {
				best[j] = cost;
				from[j] = i;
			}
		}
	}
	for (size_t j = s->count; j > 0; j = from[j])
		n++;
	*count = n;
	for (size_t j = s->count; j > 0; j = from[j])
		starts[--n] = from[j];
	return deviance(s, bin, 0, s->count) - best[s->count];
}

/* ---- which of them are slow --------------------------------------------------------------------- */

enum state { USUAL, BETWEEN, SLOW };

static double rate_of(const struct spread *s, uint32_t bin, size_t first, size_t last)
{
	return slow_in(s, bin, first, last) / calls_in(s, first, last);
}

static void add_run(struct tl_latency_episode *runs, size_t *count, size_t begin, size_t end)
{
	if (*count && runs[*count - 1].end == begin)
		runs[*count - 1].end = end;
	else
		runs[(*count)++] = (struct tl_latency_episode) { begin, end };
}

/* In pieces, not calls. False: these segments are no slow episodes beside usual times. */
static bool classify(const struct spread *s, uint32_t bin, const size_t *starts, size_t count,
		     struct tl_latency_episodes *out)
{
	enum state states[PIECES];
	double usual = 0, usual_slow = 0, slow = 0, usual_rate;
	size_t runs = 0, first = 0;

	for (size_t k = 0; k < count; k++) {
		states[k] = rate_of(s, bin, starts[k], starts[k + 1]) <= USUAL_RATE_MAX ? USUAL
											: BETWEEN;
		if (states[k] != USUAL)
			continue;
		usual += calls_in(s, starts[k], starts[k + 1]);
		usual_slow += slow_in(s, bin, starts[k], starts[k + 1]);
	}
	if (usual < USUAL_MIN)
		return false;
	usual_rate = usual_slow / usual;
	while (states[first] != USUAL)
		first++;
	if (calls_in(s, 0, starts[first]) > WARMUP_SHARE * calls_in(s, 0, s->count))
		return false;
	for (size_t k = first; k < count; k++) {
		if (states[k] == BETWEEN &&
		    rate_of(s, bin, starts[k], starts[k + 1]) >= RATE_RATIO * usual_rate)
			states[k] = SLOW;
		runs += states[k] == SLOW && states[k - 1] != SLOW;
	}
	if (!runs || runs > TL_EPISODES_MAX)
		return false;
	out->slow_count = out->usual_count = 0;
	for (size_t k = first; k < count; k++) {
		if (states[k] == SLOW) {
			slow += slow_in(s, bin, starts[k], starts[k + 1]);
			add_run(out->slow, &out->slow_count, starts[k], starts[k + 1]);
		} else if (states[k] == USUAL && out->usual_count <= TL_EPISODES_MAX) {
			add_run(out->usual, &out->usual_count, starts[k], starts[k + 1]);
		}
	}
	return slow >= SLOW_MIN;
}

/* ---- from pieces to calls ------------------------------------------------------------------------ */

/*
 * The call itself, among those of the pieces around a change: where the count of slow calls so far
 * is farthest below (they begin) or above (they end) that of an even spread.
 */
static size_t refine(const struct spread *s, size_t piece, const int64_t *ns, int64_t cut_ns,
		     bool is_begin)
{
	size_t first = s->begin[piece - 1], last = s->begin[piece + 1], best = s->begin[piece];
	double rate = 0, sum = 0, farthest = 0;

	for (size_t i = first; i < last; i++)
		rate += ns[i] >= cut_ns;
	rate /= (double)(last - first);
	for (size_t i = first; i < last; i++) {
		sum += (ns[i] >= cut_ns) - rate;
		if (is_begin ? sum < farthest : sum > farthest) {
			farthest = sum;
			best = i + 1;
		}
	}
	return best < s->begin[s->count] ? best : s->begin[piece];
}

static void to_calls(const struct spread *s, const int64_t *ns, struct tl_latency_episodes *out)
{
	size_t edge[PIECES + 1];

	memcpy(edge, s->begin, sizeof(edge));
	for (size_t i = 0; i < out->slow_count; i++) {
		const struct tl_latency_episode *e = &out->slow[i];

		edge[e->begin] = refine(s, e->begin, ns, out->cut_ns, true);
		if (e->end < s->count)
			edge[e->end] = refine(s, e->end, ns, out->cut_ns, false);
	}
	for (size_t i = 0; i < out->slow_count; i++)
		out->slow[i] = (struct tl_latency_episode) { edge[out->slow[i].begin],
							     edge[out->slow[i].end] };
	for (size_t i = 0; i < out->usual_count; i++)
		out->usual[i] = (struct tl_latency_episode) { edge[out->usual[i].begin],
							      edge[out->usual[i].end] };
}

/* Median of those in the runs that are slow, or of those that are not. */
static double median_of(double *scratch, const int64_t *ns, const struct tl_latency_episode *runs,
			size_t count, int64_t cut_ns, bool is_slow)
{
	size_t n = 0;

	for (size_t r = 0; r < count; r++)
		for (size_t i = runs[r].begin; i < runs[r].end; i++)
			if ((ns[i] >= cut_ns) == is_slow)
				scratch[n++] = (double)ns[i];
	return n ? tl_median(scratch, n) : 0;
}

/* Calls of 0.9 ms that became 1.1 ms crossed a line, no more. */
static int check_slower(struct tl_latency_episodes *out, const int64_t *ns, size_t n,
			struct tl_error *err)
{
	double *scratch = tl_alloc(n, sizeof(*scratch), err);
	double slow, usual;

	if (!scratch)
		return TL_NOMEM;
	slow = median_of(scratch, ns, out->slow, out->slow_count, out->cut_ns, true);
	usual = median_of(scratch, ns, out->usual, out->usual_count, out->cut_ns, false);
	if (slow < SLOWER_RATIO * usual)
		out->slow_count = out->usual_count = 0;
	free(scratch);
	return TL_OK;
}

/* ---- the best cut -------------------------------------------------------------------------------- */

/* False: with another bin the same calls would be slow, or too few or too many are. */
static bool is_cut(const struct spread *s, uint32_t bin, size_t n)
{
	uint32_t slow = s->slower[s->count][bin];

	return slow >= SLOW_MIN && slow + USUAL_MIN <= n &&
	       (bin == tl_latency_bin(TL_LATENCY_FLOOR_NS) || s->slower[s->count][bin - 1] != slow);
}

static void find(const struct spread *s, size_t n, struct tl_latency_episodes *out)
{
	double penalty = TL_KAPPA * log((double)n), best = GAIN_MIN;

	for (uint32_t bin = tl_latency_bin(TL_LATENCY_FLOOR_NS); bin < TL_LATENCY_BINS; bin++) {
		struct tl_latency_episodes found = { .cut_ns = tl_latency_bin_begin(bin) };
		size_t starts[PIECES + 1], count;
		double gain;

		if (!is_cut(s, bin, n) || best_run(s, bin) < penalty + GAIN_MIN / 2)
			continue;
		gain = segment(s, bin, penalty, starts, &count);
		starts[count] = s->count;
		if (gain > best && count > 1 && classify(s, bin, starts, count, &found)) {
			best = gain;
			*out = found;
		}
	}
}

int tl_latency_episodes(struct tl_latency_episodes *out, const int64_t *ns, size_t n,
			struct tl_error *err)
{
	struct spread *s;
	int ret = TL_OK;

	out->cut_ns = 0;
	out->slow_count = out->usual_count = 0;
	if (n < CALLS_MIN)
		return TL_OK;
	s = tl_alloc(1, sizeof(*s), err);
	if (!s)
		return TL_NOMEM;
	spread_out(s, ns, n);
	find(s, n, out);
	if (out->slow_count) {
		to_calls(s, ns, out);
		ret = check_slower(out, ns, n, err);
	}
	free(s);
	return ret;
}
