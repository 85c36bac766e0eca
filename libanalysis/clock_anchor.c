/*
 * clock_anchor.c - anchored clocks: a straight line through the snapshots of a clock, and for which
 * sources it holds. Does not move anything; clock_claims.c decides what is in force.
 */
#include "clock_anchor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define WIDTH_FLOOR_NS 50.0 /* reading a clock takes as long: narrower is luck */
/*
 * Clocks of one machine differ in rate by some 10 ppm, when NTP steers by up to 500. Lines that differ
 * more are none: the wall clock was set.
 */
#define DRIFT_MAX 1e-3
/* Where the rate could not be measured: the worst that crystals do. */
#define DRIFT_UNKNOWN 1e-4
/* Snapshots nearer to each other say nothing of the rate. */
#define DRIFT_SPAN_NS INT64_C(100000000)
/* A source is taken to be of the same run when it lies no further from the snapshots. */
#define OUTSIDE_MAX_NS INT64_C(60000000000)

/* ---- the line --------------------------------------------------------------------------------- */

static int by_width(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

static double weight_of(const struct tl_clock_anchor *a)
{
	double half = (double)a->width_ns / 2 + WIDTH_FLOOR_NS;

	return 1 / (half * half);
}

/* Differences to the first anchor are small enough for doubles. */
static double value_from(const struct tl_clock_anchor *anchors, size_t i)
{
	return (double)(int64_t)((uint64_t)anchors[i].value_ns - (uint64_t)anchors[0].value_ns);
}

static int64_t offset_of(const struct tl_clock_anchor *a)
{
	return (int64_t)((uint64_t)a->realtime_ns - (uint64_t)a->value_ns);
}

static double offset_from(const struct tl_clock_anchor *anchors, size_t i)
{
	return (double)(int64_t)((uint64_t)offset_of(&anchors[i]) -
				 (uint64_t)offset_of(&anchors[0]));
}

static double fit_drift(const struct tl_clock_anchor *anchors, size_t count, double mean_value,
			double mean_offset)
{
	double square = 0, product = 0;

	for (size_t i = 0; i < count; i++) {
		double x = value_from(anchors, i) - mean_value, w = weight_of(&anchors[i]);

		square += w * x * x;
		product += w * x * (offset_from(anchors, i) - mean_offset);
	}
	return square > 0 ? product / square : 0;
}

/* How far the line misses the interval in which an anchor has the clock. */
static int64_t miss_of(const struct tl_clock_line *line, const struct tl_clock_anchor *a)
{
	int64_t difference =
		(int64_t)((uint64_t)tl_clock_unix(*line, a->value_ns) - (uint64_t)a->realtime_ns);
	double distance = fabs((double)difference) - (double)a->width_ns / 2;

	return distance > 9e18 ? INT64_MAX : distance > 0 ? (int64_t)distance : 0;
}

static bool half_median_width(const struct tl_clock_anchor *anchors, size_t count, int64_t *half)
{
	int64_t *widths = calloc(count, sizeof(*widths));

	if (!widths)
		return false;
	for (size_t i = 0; i < count; i++)
		widths[i] = anchors[i].width_ns;
	qsort(widths, count, sizeof(*widths), by_width);
	*half = widths[count / 2] / 2;
	free(widths);
	return true;
}

static void find_span(const struct tl_clock_anchor *anchors, size_t count, struct tl_clock_fit *out)
{
	out->first_ns = out->last_ns = anchors[0].value_ns;
	for (size_t i = 1; i < count; i++) {
		if (anchors[i].value_ns < out->first_ns)
			out->first_ns = anchors[i].value_ns;
		if (anchors[i].value_ns > out->last_ns)
			out->last_ns = anchors[i].value_ns;
	}
}

static void fit_line(const struct tl_clock_anchor *anchors, size_t count, bool has_drift,
		     struct tl_clock_fit *out)
{
	double weight = 0, mean_value = 0, mean_offset = 0, drift = 0, at_zero;

	for (size_t i = 0; i < count; i++) {
		double w = weight_of(&anchors[i]);

		weight += w;
		mean_value += w * value_from(anchors, i);
		mean_offset += w * offset_from(anchors, i);
	}
	mean_value /= weight;
	mean_offset /= weight;
	if (has_drift)
		drift = fit_drift(anchors, count, mean_value, mean_offset);
	if (!(fabs(drift) <= DRIFT_MAX))
		drift = 0; /* what remains is a miss */
	/* as it will be stored: one that rounds to 1 is 1 */
	out->line.slope = 1 + drift;
	drift = out->line.slope - 1;
	at_zero = mean_offset - drift * (mean_value + (double)anchors[0].value_ns);
	out->line.offset_ns =
		fabs(at_zero) < 9e18
			? (int64_t)((uint64_t)offset_of(&anchors[0]) + (uint64_t)llround(at_zero))
			: offset_of(&anchors[0]);
}

bool tl_clock_fit(const struct tl_clock_anchor *anchors, size_t count, struct tl_clock_fit *out)
{
	double span, miss_share;
	int64_t length;

	memset(out, 0, sizeof(*out));
	if (!count || !half_median_width(anchors, count, &out->residual_ns))
		return false;
	find_span(anchors, count, out);
	if (__builtin_sub_overflow(out->last_ns, out->first_ns, &length))
		return false;
	out->count = count;
	fit_line(anchors, count, length >= DRIFT_SPAN_NS, out);
	for (size_t i = 0; i < count; i++) {
		int64_t miss = miss_of(&out->line, &anchors[i]);

		if (miss > out->miss_ns)
			out->miss_ns = miss;
	}
	span = (double)length;
	miss_share = span > 0 ? (2 * (double)out->residual_ns + (double)out->miss_ns) / span : 1;
	out->slope_error = length < DRIFT_SPAN_NS ? DRIFT_UNKNOWN : miss_share;
	return true;
}

int64_t tl_clock_fit_residual(const struct tl_clock_fit *fit, int64_t first_ns, int64_t last_ns)
{
	double outside = 0, residual = (double)fit->residual_ns + (double)fit->miss_ns;

	if (first_ns < fit->first_ns)
		outside = (double)fit->first_ns - (double)first_ns;
	if (last_ns > fit->last_ns && (double)last_ns - (double)fit->last_ns > outside)
		outside = (double)last_ns - (double)fit->last_ns;
	residual += outside * fit->slope_error;
	return residual < 9e18 ? (int64_t)llround(ceil(residual)) : INT64_MAX;
}

/* ---- claims ------------------------------------------------------------------------------------- */

/* A source whose clock the snapshots of another one show. */
struct pair {
	int64_t source_id, reference_id;
	int64_t first_ns, last_ns; /* of the source, on its own clock */
	int64_t resolution_ns;	   /* what its times may be cut off by; 0: not said */
};

enum {
	PAIR_SOURCE,
	PAIR_REFERENCE,
	PAIR_FIRST,
	PAIR_LAST,
	PAIR_OFFSET,
	PAIR_SLOPE,
	PAIR_RESOLUTION
};

/* Wall clocks need no snapshots, and what has no time no clock. */
static const char pair_sql[] =
	"SELECT s.source_id AS source, r.source_id AS reference, s.first_ts AS first, "
	"s.last_ts AS last, s.clock_offset_ns AS offset, s.clock_slope AS slope, "
	"(SELECT max(CAST(m.value AS INTEGER)) FROM source_meta m WHERE m.source_id = s.source_id "
	"AND m.key = '" TL_META_RESOLUTION "') AS resolution "
	"FROM source s JOIN source r ON r.host_id = s.host_id AND r.source_id <> s.source_id "
	"WHERE s.first_ts NOT NULL AND s.clock_name NOT NULL AND s.clock_name <> 'realtime' "
	"AND EXISTS(SELECT 1 FROM clock_anchor a WHERE a.source_id = r.source_id "
	"AND a.clock = s.clock_name) ORDER BY s.source_id, r.source_id";

/* More than a second is no resolution. */
static int64_t resolution_of(struct tl_statement *st)
{
	int64_t resolution = tl_column_i64(st, PAIR_RESOLUTION);

	return resolution > 0 && resolution <= INT64_C(1000000000) ? resolution : 0;
}

/* How far off times of the source may be. */
static int64_t residual_of(const struct tl_clock_fit *fit, const struct pair *pair)
{
	int64_t residual = tl_clock_fit_residual(fit, pair->first_ns, pair->last_ns);

	return residual < INT64_MAX - pair->resolution_ns ? residual + pair->resolution_ns
							  : INT64_MAX;
}

static int load_pairs(struct tl_store *store, struct pair **pairs, size_t *count,
		      struct tl_error *err)
{
	struct tl_statement *st;
	size_t capacity = 0;
	int ret = tl_statement_open(&st, store, pair_sql,
				    "source reference first last offset slope resolution", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		struct tl_clock_line line = { tl_column_i64(st, PAIR_OFFSET),
					      tl_column_double(st, PAIR_SLOPE) };
		int status = tl_grow(pairs, &capacity, *count + 1, err);

		if (status == TL_OK)
			(*pairs)[(*count)++] = (struct pair) {
				tl_column_i64(st, PAIR_SOURCE), tl_column_i64(st, PAIR_REFERENCE),
				tl_clock_source_time(line, tl_column_i64(st, PAIR_FIRST)),
				tl_clock_source_time(line, tl_column_i64(st, PAIR_LAST)),
				resolution_of(st)
			};
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

static int load_anchors(struct tl_store *store, const struct pair *pair,
			struct tl_clock_anchor **anchors, size_t *count, struct tl_error *err)
{
	struct tl_statement *st;
	size_t capacity = 0;
	int ret = tl_statement_open(
		&st, store,
		"SELECT realtime_ns, value_ns, width_ns FROM clock_anchor WHERE source_id = ?1 AND "
		"clock = (SELECT clock_name FROM source WHERE source_id = ?2) "
		"ORDER BY realtime_ns, value_ns",
		"realtime_ns value_ns width_ns", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, pair->reference_id);
	tl_bind_i64(st, 2, pair->source_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t width = tl_column_i64(st, 2);
		int status = tl_grow(anchors, &capacity, *count + 1, err);

		if (status == TL_OK)
			(*anchors)[(*count)++] = (struct tl_clock_anchor) { tl_column_i64(st, 0),
									    tl_column_i64(st, 1),
									    width > 0 ? width : 0 };
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

/* Was this recorded while, or about when, the snapshots were taken? */
static bool is_same_run(const struct tl_clock_fit *fit, const struct pair *pair)
{
	return (double)pair->first_ns >= (double)fit->first_ns - (double)OUTSIDE_MAX_NS &&
	       (double)pair->last_ns <= (double)fit->last_ns + (double)OUTSIDE_MAX_NS;
}

static int put_claim(struct tl_store *store, const struct pair *pair,
		     const struct tl_clock_fit *fit, struct tl_error *err)
{
	char why[160];
	struct tl_clock_claim claim = {
		.source_id = pair->source_id,
		.method = TL_CLOCK_ANCHORED,
		.line = fit->line,
		.residual_ns = residual_of(fit, pair),
		.reference_id = pair->reference_id,
		.match_count = -1,
		.rival_ratio = -1,
		.why = why,
	};
	double span_s = ((double)fit->last_ns - (double)fit->first_ns) / 1e9;

	if (fit->line.slope != 1)
		snprintf(why, sizeof(why),
			 "%zu snapshots of this clock over %.0f s, drift %+.3f ppm", fit->count,
			 span_s, (fit->line.slope - 1) * 1e6);
	else
		snprintf(why, sizeof(why), "%zu snapshot%s of this clock over %.0f s", fit->count,
			 fit->count == 1 ? "" : "s", span_s);
	return tl_clock_claim_put(store, &claim, err);
}

static int claim_pair(struct tl_store *store, const struct pair *pair, int64_t *best_residual,
		      struct tl_error *err)
{
	struct tl_clock_anchor *anchors = NULL;
	struct tl_clock_fit fit;
	size_t count = 0;
	int ret = load_anchors(store, pair, &anchors, &count, err);

	if (ret == TL_OK && tl_clock_fit(anchors, count, &fit) && is_same_run(&fit, pair)) {
		int64_t residual = residual_of(&fit, pair);

		/* of several folders of one machine: the one that was recorded with it */
		if (*best_residual < 0 || residual < *best_residual) {
			*best_residual = residual;
			ret = put_claim(store, pair, &fit, err);
		}
	}
	free(anchors);
	return ret;
}

int tl_clock_anchor_claims(struct tl_store *store, struct tl_error *err)
{
	struct pair *pairs = NULL;
	size_t count = 0;
	int64_t best_residual = -1, has_anchors;
	int ret = tl_store_value(store, "SELECT EXISTS(SELECT 1 FROM clock_anchor)", 0,
				 &has_anchors, err);

	if (ret < 0 || !has_anchors)
		return ret;
	ret = tl_clock_claims_withdraw(store, TL_CLOCK_ANCHORED, err);
	if (ret == TL_OK)
		ret = load_pairs(store, &pairs, &count, err);
	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		if (i && pairs[i].source_id != pairs[i - 1].source_id)
			best_residual = -1;
		ret = claim_pair(store, &pairs[i], &best_residual, err);
	}
	free(pairs);
	return ret;
}
