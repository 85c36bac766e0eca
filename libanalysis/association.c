/*
 * association.c - do two things happen together, beyond what a common cause explains?
 *
 * Ranks are multiples of one half: sums of their products are exact in double up to 10^5 values, so
 * ties between permutations are ties.
 */
#include "association.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "random.h"
#include "ranks.h"
#include "stats.h"

#define SHIFTS_MAX	    2000
#define STRATUM_MEMBERS_MIN 3
#define EPOCH_SEED	    21
#define EPOCH_EVENTS_MIN    3

/* ---- circular shifts ---------------------------------------------------------------------- */

static void centre(double *rank, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rank[i] -= (double)(n + 1) / 2.0;
}

static double dot(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* b against a shifted to the left by s. */
static double shifted_dot(const double *a, const double *b, size_t n, size_t s)
{
	return dot(a + s, b, n - s) + dot(a, b + n - s, s);
}

int tl_circular_rank(double *rho, double *p, const double *a, const double *x, size_t n,
		     struct tl_error *err)
{
	double *rank_a = tl_alloc(2 * n, sizeof(*rank_a), err), *rank_x;
	size_t extreme = 0, shifts = 0, stride = (n ? n - 1 : 0) / SHIFTS_MAX;
	double norm;
	int ret;

	*rho = 0.0;
	*p = 1.0;
	if (!rank_a)
		return TL_NOMEM;
	rank_x = rank_a + n;
	if ((ret = tl_midranks(rank_a, NULL, a, n, err)) < 0 ||
	    (ret = tl_midranks(rank_x, NULL, x, n, err)) < 0)
		goto out;
	centre(rank_a, n);
	centre(rank_x, n);
	norm = sqrt(dot(rank_a, rank_a, n)) * sqrt(dot(rank_x, rank_x, n));
	if (n >= 3 && norm > 0)
		*rho = dot(rank_a, rank_x, n) / norm;
	for (size_t s = 1; s < n; s += stride ? stride : 1) {
		double shifted = norm > 0 ? shifted_dot(rank_a, rank_x, n, s) / norm : 0.0;

		shifts++;
		extreme += fabs(shifted) >= fabs(*rho) - 1e-12;
	}
	*p = (1.0 + (double)extreme) / (1.0 + (double)shifts);
out:
	free(rank_a);
	return ret;
}

/* ---- strata ---------------------------------------------------------------------------------- */

struct member {
	int64_t stratum;
	size_t index;
};

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->stratum != y->stratum)
		return x->stratum > y->stratum ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Members by stratum; those of strata that are too small are left out. */
struct strata {
	struct member *members;
	double *rank_a, *rank_x; /* centred, in the order of members */
	size_t *ends;		 /* of each stratum */
	size_t count;
	double *scratch;
	uint32_t *order;
};

static int rank_stratum(struct strata *s, size_t begin, size_t from, size_t length, const double *a,
			const double *x, struct tl_error *err)
{
	int ret;

	for (size_t i = 0; i < length; i++)
		s->scratch[i] = a[s->members[from + i].index];
	ret = tl_midranks(s->rank_a + begin, NULL, s->scratch, length, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < length; i++)
		s->scratch[i] = x[s->members[from + i].index];
	ret = tl_midranks(s->rank_x + begin, NULL, s->scratch, length, err);
	centre(s->rank_a + begin, length);
	centre(s->rank_x + begin, length);
	return ret;
}

static int rank_strata(struct strata *s, const double *a, const double *x, size_t n,
		       struct tl_error *err)
{
	size_t kept = 0;
	int ret = TL_OK;

	for (size_t i = 0, j; i < n && ret == TL_OK; i = j) {
		for (j = i + 1; j < n && s->members[j].stratum == s->members[i].stratum; j++)
			;
		if (j - i < STRATUM_MEMBERS_MIN)
			continue;
		ret = rank_stratum(s, kept, i, j - i, a, x, err);
		kept += j - i;
		s->ends[s->count++] = kept;
	}
	return ret;
}

/* The sum of products after a random permutation inside every stratum (Fisher and Yates). */
static double permuted_dot(const struct strata *s, struct tl_random *rng)
{
	double sum = 0;

	for (size_t g = 0; g < s->count; g++) {
		size_t begin = g ? s->ends[g - 1] : 0;
		uint32_t length = (uint32_t)(s->ends[g] - begin);

		for (uint32_t k = 0; k < length; k++)
			s->order[k] = k;
		for (uint32_t k = length - 1; k > 0; k--) {
			uint32_t r = tl_random_below(rng, k + 1), swap = s->order[k];

			s->order[k] = s->order[r];
			s->order[r] = swap;
		}
		for (uint32_t k = 0; k < length; k++)
			sum += s->rank_a[begin + s->order[k]] * s->rank_x[begin + k];
	}
	return sum;
}

static void judge_strata(struct tl_stratified_rank *out, const struct strata *s,
			 uint32_t permutations, uint64_t seed)
{
	size_t n = s->count ? s->ends[s->count - 1] : 0;
	double power_a = dot(s->rank_a, s->rank_a, n), power_x = dot(s->rank_x, s->rank_x, n);
	double observed = dot(s->rank_a, s->rank_x, n);
	struct tl_random rng = { seed };
	uint32_t extreme = 0;

	if (power_a <= 0 || power_x <= 0)
		return;
	for (uint32_t i = 0; i < permutations; i++)
		extreme += permuted_dot(s, &rng) >= observed - 1e-9;
	out->r = observed / sqrt(power_a * power_x);
	out->p = (1.0 + extreme) / (1.0 + permutations);
	out->stratum_count = s->count;
	for (size_t g = 0; g < s->count; g++) {
		size_t length = s->ends[g] - (g ? s->ends[g - 1] : 0);

		out->largest = length > out->largest ? length : out->largest;
	}
}

int tl_stratified_rank(struct tl_stratified_rank *out, const double *a, const double *x,
		       const int64_t *stratum, size_t n, uint32_t permutations, uint64_t seed,
		       struct tl_error *err)
{
	struct strata s = { 0 };
	int ret = TL_NOMEM;

	*out = (struct tl_stratified_rank) { .r = NAN, .p = NAN };
	if (n > UINT32_MAX)
		return tl_fail(err, TL_UNSUPPORTED, "more than %u steps", UINT32_MAX);
	s.members = tl_alloc(n, sizeof(*s.members), err);
	s.rank_a = tl_alloc(n, sizeof(*s.rank_a), err);
	s.rank_x = tl_alloc(n, sizeof(*s.rank_x), err);
	s.ends = tl_alloc(n, sizeof(*s.ends), err);
	s.scratch = tl_alloc(n, sizeof(*s.scratch), err);
	s.order = tl_alloc(n, sizeof(*s.order), err);
	if (!s.members || !s.rank_a || !s.rank_x || !s.ends || !s.scratch || !s.order)
		goto out;
	for (size_t i = 0; i < n; i++)
		s.members[i] = (struct member) { stratum[i], i };
	if (n > 1)
		qsort(s.members, n, sizeof(*s.members), compare_members);
	ret = rank_strata(&s, a, x, n, err);
	if (ret == TL_OK)
		judge_strata(out, &s, permutations, seed);
out:
	free(s.members);
	free(s.rank_a);
	free(s.rank_x);
	free(s.ends);
	free(s.scratch);
	free(s.order);
	return ret;
}

/* ---- superposed epochs ------------------------------------------------------------------------ */

static void fill_epoch_row(struct tl_epoch_row *row, double *values, double *means,
			   struct tl_random *rng, uint32_t resamples)
{
	uint32_t count = (uint32_t)row->count;

	row->ratio = tl_mean(values, row->count);
	row->low = row->high = NAN;
	if (row->count < EPOCH_EVENTS_MIN || resamples == 0)
		return;
	for (uint32_t i = 0; i < resamples; i++) {
		double sum = 0;

		for (uint32_t k = 0; k < count; k++)
			sum += values[tl_random_below(rng, count)];
		means[i] = sum / count;
	}
	row->low = tl_quantile(means, resamples, .025);
	row->high = tl_quantile(means, resamples, .975);
}

int tl_epoch_fold(struct tl_epoch_row **out, size_t *count, const double *x, size_t n,
		  const size_t *events, size_t event_count, int before, int after, double baseline,
		  uint32_t resamples, struct tl_error *err)
{
	struct tl_random rng = { EPOCH_SEED };
	double *values, *means;
	int ret;

	*out = NULL;
	*count = 0;
	ret = tl_check_durations(x, n, err);
	if (ret < 0)
		return ret;
	if (before < 0 || after < 0 || before > 1000000 || after > 1000000 || !(baseline > 0) ||
	    event_count > UINT32_MAX)
		return tl_fail(err, TL_USAGE, "epochs of %d to %d steps around %zu events at %g",
			       -before, after, event_count, baseline);
	for (size_t i = 0; i < event_count; i++) {
		if (events[i] >= n)
			return tl_fail(err, TL_USAGE, "event at step %zu of %zu", events[i], n);
	}
	values = tl_alloc(event_count, sizeof(*values), err);
	means = tl_alloc(resamples, sizeof(*means), err);
	*out = tl_alloc((size_t)before + (size_t)after + 1, sizeof(**out), err);
	ret = values && means && *out ? TL_OK : TL_NOMEM;
	for (int k = -before; ret == TL_OK && k <= after; k++) {
		struct tl_epoch_row *row = &(*out)[*count];

		*row = (struct tl_epoch_row) { .offset = k };
		for (size_t i = 0; i < event_count; i++) {
			size_t at = events[i] + (size_t)(int64_t)k; /* wraps below 0 */

			if (at < n)
				values[row->count++] = x[at] / baseline;
		}
		if (row->count == 0)
			continue;
		fill_epoch_row(row, values, means, &rng, resamples);
		(*count)++;
	}
	free(values);
	free(means);
	if (ret < 0) {
		free(*out);
		*out = NULL;
	}
	return ret;
}
