/*
 * stats_compare_test.c - the analyses' arithmetic against an independent reference in Python.
 *
 * Without arguments: runs scripts/compare_stats.py for each group of functions, if the reference is
 * there. With --serve: answers questions on standard input with one line of JSON each; the script
 * asks them. A question is a word and numbers, separated by blanks; arrays come with their length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "association.h"
#include "attribution.h"
#include "comparison.h"
#include "distribution.h"
#include "latency.h"
#include "memory.h"
#include "partition.h"
#include "random.h"
#include "ranks.h"
#include "segment.h"
#include "stats.h"
#include "steps_model.h"
#include "thp_model.h"

/* ---- reading and writing ------------------------------------------------------------------------ */

static struct tl_error failure;
static struct tl_arena arena; /* of one question */

static double number(void)
{
	double v;

	if (scanf("%lf", &v) != 1)
		exit(3);
	return v;
}

static int64_t integer(void)
{
	int64_t v;

	if (scanf("%" SCNd64, &v) != 1)
		exit(3);
	return v;
}

static void *space(size_t count, size_t size)
{
	void *p = tl_arena_alloc(&arena, count * size + 1, &failure);

	if (!p)
		exit(3);
	return memset(p, 0, count * size);
}

static double *numbers(size_t *n)
{
	double *v;

	*n = (size_t)integer();
	v = space(*n, sizeof(*v));
	for (size_t i = 0; i < *n; i++)
		v[i] = number();
	return v;
}

static int64_t *integers(size_t *n)
{
	int64_t *v;

	*n = (size_t)integer();
	v = space(*n, sizeof(*v));
	for (size_t i = 0; i < *n; i++)
		v[i] = integer();
	return v;
}

static size_t *indexes(size_t *n)
{
	int64_t *v = integers(n);
	size_t *out = space(*n, sizeof(*out));

	for (size_t i = 0; i < *n; i++)
		out[i] = (size_t)v[i];
	return out;
}

static void put(const char *key, double v)
{
	printf("\"%s\":", key);
	if (isnan(v))
		printf("NaN,");
	else if (isinf(v))
		printf("%sInfinity,", v < 0 ? "-" : "");
	else
		printf("%.17g,", v);
}

static void put_count(const char *key, size_t v)
{
	printf("\"%s\":%zu,", key, v);
}

static void put_text(const char *key, const char *v)
{
	printf("\"%s\":\"%s\",", key, v);
}

static void put_indexes(const char *key, const size_t *v, size_t n)
{
	printf("\"%s\":[", key);
	for (size_t i = 0; i < n; i++)
		printf("%s%zu", i ? "," : "", v[i]);
	printf("],");
}

/* Every function under test returns a status; what is refused is answered in its words. */
static bool went_well(int ret)
{
	if (ret < 0)
		put_text("error", failure.text);
	return ret >= 0;
}

/* ---- answers ------------------------------------------------------------------------------------ */

static const char *const methods[] = { "none", "exact", "normal", "adjusted", "degenerate" };

static void answer_basics(void)
{
	size_t n;
	double *v = numbers(&n), p = number(), *copy = space(n, sizeof(*v));

	put("mean", tl_mean(v, n));
	put("variance", tl_variance(v, n));
	memcpy(copy, v, n * sizeof(*v));
	put("median", tl_median(copy, n));
	put("quantile", tl_quantile(copy, n, p));
	put("mad", tl_mad_sigma(copy, n, n ? v[0] : 0));
}

static void answer_ranks(void)
{
	struct tl_mann_whitney mw;
	struct tl_shift hl;
	size_t n, m;
	double *a = numbers(&n), *b = numbers(&m), inflation = number();

	for (int i = 0; i < 2; i++) {
		if (!went_well(tl_mann_whitney(&mw, a, n, b, m, i ? TL_GREATER : TL_DIFFERENT,
					       &failure)))
			return;
		put(i ? "p_greater" : "p", mw.p);
	}
	put("u", mw.u);
	put("cliff", mw.cliff);
	put_text("method", methods[mw.method]);
	if (!went_well(tl_hodges_lehmann(&hl, a, n, b, m, 0.95, inflation, &failure)))
		return;
	put("hl", hl.estimate);
	put("hl_low", hl.low);
	put("hl_high", hl.high);
}

static void answer_correlation(void)
{
	size_t n;
	double *a = numbers(&n), *b = numbers(&n), *q = space(n, sizeof(*q)), rho;

	if (went_well(tl_spearman(&rho, a, b, n, &failure)))
		put("rho", rho);
	if (!went_well(tl_adjust_p(q, a, n, &failure)))
		return;
	printf("\"q\":[");
	for (size_t i = 0; i < n; i++)
		printf("%s%.17g", i ? "," : "", q[i]);
	printf("],");
}

static void answer_distributions(void)
{
	double a = number(), b = number(), x = number();

	put("beta", tl_beta_ratio(a, b, x));
	put("t_tail", tl_student_tail(a - b, b));
	put("t_quantile", tl_student_quantile(0.5 + x / 2, a));
	put("z", tl_normal_quantile(x));
	put("tail", tl_normal_tail(a - b));
	put("binomial", tl_binomial_tail((size_t)a, x, (size_t)b));
}

static void answer_random(void)
{
	struct tl_random rng = { (uint64_t)integer() };
	uint32_t n = (uint32_t)integer();

	/* One after the other: arguments of one call are evaluated in any order. */
	printf("\"u64\":%" PRIu64 ",", tl_random_u64(&rng));
	printf("\"below\":%" PRIu32 ",", tl_random_below(&rng, n));
	put("unit", tl_random_unit(&rng));
}

static void answer_pelt(void)
{
	size_t n, count;
	double *y = numbers(&n), sigma = number(), beta = number();
	size_t *starts = space(n, sizeof(*starts));

	if (went_well(tl_pelt(starts, &count, y, n, sigma, beta, &failure)))
		put_indexes("starts", starts, count);
}

static void put_episode(const struct tl_episode *e)
{
	printf("{");
	put_text("kind", tl_episode_kind_name(e->kind));
	put_text("confidence", tl_confidence_name(e->confidence));
	put_count("start", e->start);
	put_count("end", e->end);
	printf("\"sign\":%d,\"recovered\":%d,", e->sign, e->is_recovered);
	put_count("regression_end", e->regression_end);
	put_count("peak_step", e->peak_step);
	put("peak_pct", e->peak_pct);
	put("median_pct", e->median_pct);
	put("excess_time", e->excess_time);
	if (e->has_recovery) {
		put_count("recover_steps", e->recover_steps);
		put("recover_time", e->recover_time);
	}
	if (e->has_tests) {
		put("p_mwu", e->tests.p_mwu);
		put_text("p_method", methods[e->tests.p_method]);
		put("cliff", e->tests.cliff);
		put("hl_pct", e->tests.hl_pct);
		put("hl_lo", e->tests.hl_low_pct);
		put("hl_hi", e->tests.hl_high_pct);
		put("p_window", e->tests.p_window);
		put_count("n_windows", e->tests.window_count);
		put("p_scan", e->tests.p_scan);
	}
	if (e->has_decay) {
		put("A_pct", e->decay.amplitude_pct);
		put("tau", e->decay.tau_steps);
		put("half_life", e->decay.half_life_steps);
		put("r2", e->decay.r2);
	}
	printf("\"\":0},");
}

static void put_model(const struct tl_steps_model *m)
{
	put("baseline", m->baseline);
	put_count("baseline_n", m->baseline_count);
	put("sigma_log", m->sigma_log);
	put("sigma_base", m->sigma_base);
	put("acf1", m->acf1);
	put_count("warmup", m->warmup_count);
	put_text("verdict", tl_steps_verdict_name(m->verdict));
	printf("\"phases\":[");
	for (size_t i = 0; i < m->n; i++)
		printf("%s\"%s\"", i ? "," : "", tl_phase_name(m->phases[i]));
	printf("],\"segments\":[");
	for (size_t i = 0; i < m->segment_count; i++) {
		const struct tl_step_segment *s = &m->segments[i];

		printf("%s[%zu,%zu,%.17g,%.17g,%.17g]", i ? "," : "", s->start, s->end, s->median,
		       s->vs_base_pct, s->vs_previous_pct);
	}
	printf("],\"episodes\":[");
	for (size_t i = 0; i < m->episode_count; i++)
		put_episode(&m->episodes[i]);
	printf("0],");
	if (m->has_drift)
		printf("\"drift\":[%.17g,%.17g,%.17g,%.17g],", m->drift.per_100_steps_ratio,
		       m->drift.total_ratio, m->drift.cost_linear, m->drift.cost_steps);
	if (m->has_period) {
		put_count("period", m->period.period);
		put_count("phase", m->period.phase);
		put_indexes("members", m->period.members, m->period.member_count);
		put("coverage", m->period.coverage);
		put("period_p", m->period.p);
	}
}

static void answer_steps(void)
{
	struct tl_steps_model m;
	size_t n;
	double *x = numbers(&n);

	if (went_well(tl_steps_model(&m, x, n, NULL, &failure)))
		put_model(&m);
	tl_steps_model_release(&m);
}

static void answer_compare(void)
{
	struct tl_comparison_options opt = { 0.05, 0.0, 0, false };
	struct tl_comparison c;
	size_t n, m;
	double *a = numbers(&n), *b = numbers(&m);

	opt.resamples = (uint32_t)integer();
	opt.is_raw = integer() != 0;
	if (!went_well(tl_compare_series(&c, a, n, b, m, &opt, &failure)))
		return;
	put_count("n_good", c.good_count);
	put_count("n_slow", c.slow_count);
	put("median_good", c.good_median);
	put("median_slow", c.slow_median);
	put("ratio_median", c.median_ratio);
	put("ratio_hl", c.hl_ratio);
	put("hl_lo", c.hl_low);
	put("hl_hi", c.hl_high);
	put("p", c.p);
	put_text("method", methods[c.p_method]);
	put("cliff", c.cliff);
	put("prob_slower", c.slower_probability);
	put("boot_lo", c.bootstrap_low);
	put("boot_hi", c.bootstrap_high);
	put("acf1", c.acf1);
	put("min_possible_p", c.smallest_p);
	put_text("verdict", tl_comparison_verdict_name(c.verdict));
}

static void answer_attribute(void)
{
	struct tl_attribution a;
	size_t steps, good_count, slow_count, categories = (size_t)integer();
	const double **parts = space(categories, sizeof(*parts));
	double *wall;
	size_t *good, *slow;

	for (size_t i = 0; i < categories; i++)
		parts[i] = numbers(&steps);
	wall = numbers(&steps);
	good = indexes(&good_count);
	slow = indexes(&slow_count);
	if (!went_well(tl_attribute(&a, parts, categories, wall, good, good_count, slow, slow_count,
				    &failure)))
		return;
	put("delta_wall", a.wall_difference);
	put("sum_diff", a.sum_of_differences);
	printf("\"rows\":[");
	for (size_t i = 0; i < a.row_count; i++) {
		const struct tl_attribution_row *r = &a.rows[i];

		printf("{");
		put_count("cat", r->category);
		put("diff", r->difference);
		put("lo", r->low);
		put("hi", r->high);
		put("share", r->share);
		put("cov_share", r->dose_share);
		put("good", r->good_mean);
		put("slow", r->slow_mean);
		put("p", r->p);
		put("q", r->q);
		printf("\"\":0},");
	}
	printf("0],");
	tl_attribution_release(&a);
}

static void put_sums(const int64_t *sum, size_t n)
{
	printf("\"sums\":[");
	for (size_t i = 0; i < n; i++)
		printf("%s%" PRId64, i ? "," : "", sum[i]);
	printf("],");
}

static void answer_partition(void)
{
	struct tl_partition p;
	int64_t begin = integer(), end = integer(), gap = 0, *sums;
	size_t count = (size_t)integer(), labels = (size_t)integer();
	struct tl_interval *v = space(count, sizeof(*v));

	sums = space(labels, sizeof(*sums));
	for (size_t i = 0; i < count; i++) {
		v[i].layer = (uint32_t)integer();
		v[i].start_ns = integer();
		v[i].end_ns = integer();
		v[i].label = (uint32_t)integer();
	}
	if (!went_well(tl_partition(&p, begin, end, v, count, &failure)))
		return;
	if (went_well(tl_partition_sum(&p, begin, end, sums, labels, &gap, &failure)))
		put_sums(sums, labels);
	printf("\"gap\":%" PRId64 ",", gap);
	tl_partition_release(&p);
}

static void answer_sched(void)
{
	struct tl_sched_interval *v;
	struct tl_cpu_run *runs;
	int64_t begin = integer(), end = integer(), sums[8] = { 0 };
	size_t count = (size_t)integer(), run_count, out_count;
	struct tl_sched_event *e = space(count, sizeof(*e));

	for (size_t i = 0; i < count; i++) {
		e[i].ts_ns = integer();
		e[i].kind = (enum tl_sched_event_kind)integer();
		e[i].cpu = (int32_t)integer();
		e[i].state = (enum tl_switch_state)integer();
	}
	run_count = (size_t)integer();
	runs = space(run_count, sizeof(*runs));
	for (size_t i = 0; i < run_count; i++) {
		runs[i].cpu = (int32_t)integer();
		runs[i].start_ns = integer();
		runs[i].end_ns = integer();
		runs[i].label = (uint32_t)integer();
	}
	if (!went_well(tl_sched_intervals(&v, &out_count, e, count, begin, end, &failure)))
		return;
	printf("\"states\":[");
	for (size_t i = 0; i < out_count; i++)
		printf("%s[%" PRId64 ",%" PRId64 ",%d,%d]", i ? "," : "", v[i].start_ns,
		       v[i].end_ns, (int)v[i].state, v[i].cpu);
	printf("],");
	if (went_well(tl_stolen_time(sums, 8, v, out_count, runs, run_count, &failure)))
		put_sums(sums, 8);
	free(v);
}

static void answer_circular(void)
{
	size_t n;
	double *a = numbers(&n), *x = numbers(&n), rho, p;

	if (!went_well(tl_circular_rank(&rho, &p, a, x, n, &failure)))
		return;
	put("rho", rho);
	put("p", p);
}

static void put_stratified(const struct tl_stratified_rank *s)
{
	put("r", s->r);
	put("p", s->p);
	put_count("strata", s->stratum_count);
	put_count("events", s->largest);
}

static void answer_strata(void)
{
	struct tl_stratified_rank s;
	size_t n;
	double *a = numbers(&n), *x = numbers(&n);
	int64_t *z = integers(&n);

	if (went_well(tl_stratified_rank(&s, a, x, z, n, 199, 5, &failure)))
		put_stratified(&s);
}

static struct tl_time_span *spans(size_t *n)
{
	int64_t *v = integers(n);
	struct tl_time_span *out = space(*n / 2, sizeof(*out));

	*n /= 2;
	for (size_t i = 0; i < *n; i++)
		out[i] = (struct tl_time_span) { v[2 * i], v[2 * i + 1] };
	return out;
}

static void answer_overlap(void)
{
	struct tl_overlap o;
	size_t n, m, k;
	struct tl_time_span *steps = spans(&n), *stalls = spans(&m), *acts = spans(&k);

	if (!went_well(tl_overlap_test(&o, steps, n, stalls, m, acts, k, 99, &failure)))
		return;
	put("overlap", o.overlap_ns);
	put("expected", o.expected_ns);
	put("ratio", o.ratio);
	put("p", o.p);
}

static void answer_epochs(void)
{
	struct tl_epoch_row *rows;
	size_t n, m, count;
	double *x = numbers(&n), baseline;
	size_t *events = indexes(&m);

	baseline = number();
	if (!went_well(
		    tl_epoch_fold(&rows, &count, x, n, events, m, 5, 30, baseline, 100, &failure)))
		return;
	printf("\"rows\":[");
	for (size_t i = 0; i < count; i++) {
		printf("{\"offset\":%d,", rows[i].offset);
		put_count("n", rows[i].count);
		put("ratio", rows[i].ratio);
		put("lo", rows[i].low);
		put("hi", rows[i].high);
		printf("\"\":0},");
	}
	printf("0],");
	free(rows);
}

static void answer_thp(void)
{
	struct tl_thp_model m;
	struct tl_thp_steps s = { 0 };
	size_t n;
	int64_t *checkpoint;
	bool *flags;

	s.sees = (unsigned)integer();
	s.duration = numbers(&s.n);
	s.activity = numbers(&n);
	s.direct = numbers(&n);
	s.stolen = numbers(&n);
	s.lock = numbers(&n);
	checkpoint = integers(&n);
	s.is_checkpoint = flags = space(n, sizeof(*flags));
	for (size_t i = 0; i < n; i++)
		flags[i] = checkpoint[i] != 0;
	if (!went_well(tl_thp_model(&m, &s, &failure)))
		return;
	put_text("verdict", tl_thp_verdict_name(m.verdict));
	put_count("slow", m.slow_count);
	put_count("base", m.base_count);
	put("baseline", m.baseline);
	put("excess", m.excess);
	put("explained", m.explained);
	put("parts", m.direct_excess + m.stolen_excess + m.lock_excess);
	put("share", m.share);
	put("share_lo", m.share_low);
	put("share_hi", m.share_high);
	put("rho", m.rho);
	put("p_rho", m.p_rho);
	printf("\"lag_best\":%d,\"lags\":[", m.best_lag);
	for (size_t i = 0; i < 11; i++)
		printf("%s%.17g", i ? "," : "", m.lag_rho[i]);
	printf("],\"within_offset\":{");
	put_stratified(&m.within_offset);
	printf("\"\":0},");
	if (m.has_dose) {
		put("dose_p", m.dose_p);
		put("dose_cliff", m.dose_cliff);
		put("dose_diff", m.dose_difference);
	}
}

static void answer_latency(void)
{
	static const double p[] = { 0.5, 0.9, 0.99, 0.999, 1 };
	struct tl_latency_modes modes = { 0 };
	struct tl_latency_threshold t;
	uint64_t buckets[64] = { 0 };
	double q[5];
	size_t n;
	int64_t *ns = integers(&n);

	if (!went_well(tl_latency_modes(&modes, ns, n, &failure)) ||
	    !went_well(tl_latency_threshold(&t, ns, n, TL_LATENCY_FLOOR_NS, &failure)) ||
	    !went_well(tl_latency_histogram(buckets, ns, n, &failure)))
		return;
	printf("\"modes\":[");
	for (size_t i = 0; i < modes.count; i++)
		printf("%s[%u,%u,%" PRIu64 "]", i ? "," : "", modes.mode[i].first_bin,
		       modes.mode[i].last_bin, modes.mode[i].count);
	printf("],\"histogram\":[");
	for (size_t i = 0; i < 64; i++)
		printf("%s%" PRIu64, i ? "," : "", buckets[i]);
	printf("],\"quantiles\":[");
	tl_latency_quantiles(q, p, 5, ns, n);
	for (size_t i = 0; i < 5; i++)
		printf("%s%.17g", i ? "," : "", n ? q[i] : 0);
	printf("],\"method\":%d,", (int)t.method);
	put("threshold", t.threshold_ns);
}

static const struct {
	const char *name;
	void (*answer)(void);
} questions[] = {
	{ "basics", answer_basics },
	{ "ranks", answer_ranks },
	{ "correlation", answer_correlation },
	{ "distributions", answer_distributions },
	{ "random", answer_random },
	{ "pelt", answer_pelt },
	{ "steps", answer_steps },
	{ "compare", answer_compare },
	{ "attribute", answer_attribute },
	{ "partition", answer_partition },
	{ "sched", answer_sched },
	{ "circular", answer_circular },
	{ "strata", answer_strata },
	{ "overlap", answer_overlap },
	{ "epochs", answer_epochs },
	{ "thp", answer_thp },
	{ "latency", answer_latency },
};

static int serve(void)
{
	char word[32];

	while (scanf("%31s", word) == 1) {
		size_t i = 0;

		while (i < sizeof(questions) / sizeof(questions[0]) &&
		       strcmp(questions[i].name, word) != 0)
			i++;
		if (i == sizeof(questions) / sizeof(questions[0]))
			return 3;
		tl_error_clear(&failure);
		printf("{");
		questions[i].answer();
		printf("\"\":0}\n");
		fflush(stdout);
		tl_arena_release(&arena);
	}
	return 0;
}

/* ---- tests --------------------------------------------------------------------------------------- */

static const char *self;

/* Skips when the reference or Python is not there; status 77 of the script says the same. */
static void compare_group(void **state)
{
	const char *shared = getenv("TRACELOOM_SHARED"), *series = getenv("TRACELOOM_STATS_SERIES");
	const char *group = *state;
	char oracle[4096];
	int status;
	pid_t child;

	snprintf(oracle, sizeof(oracle), "%s/oracle/stepstats_oracle.py",
		 shared ? shared : "../shared");
	if (access(oracle, R_OK) != 0 || access("scripts/compare_stats.py", R_OK) != 0) {
		print_message("# skipped because: no %s; set TRACELOOM_SHARED\n", oracle);
		skip();
	}
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		execlp("python3", "python3", "scripts/compare_stats.py", "--driver", self,
		       "--oracle", oracle, "--series", series ? series : "10", group, (char *)NULL);
		_exit(77);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("# skipped because: no python3, or a module of it is missing\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define GROUP(name, text)                                                \
	{                                                                \
		name, compare_group, NULL, NULL, (void *)(uintptr_t)text \
	}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		GROUP("steps_agree_with_the_reference", "steps"),
		GROUP("two_series_agree_with_the_reference", "compare"),
		GROUP("ranks_and_distributions_agree_with_the_reference", "basics"),
		GROUP("change_points_agree_with_the_reference", "pelt"),
		GROUP("attribution_agrees_with_the_reference", "attribute"),
		GROUP("partitions_agree_with_the_reference", "partition"),
		GROUP("associations_agree_with_the_reference", "association"),
		GROUP("thp_verdicts_agree_with_the_reference", "thp"),
		GROUP("latency_thresholds_agree_with_the_reference", "latency"),
	};

	if (argc == 2 && strcmp(argv[1], "--serve") == 0)
		return serve();
	self = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
