/*
 * steps_model.h - private: from the durations of steps to what happened: warm-up, baseline, spikes,
 * periodic slow steps, regressions with their recovery, shifts, improvements, drift.
 *
 * Pure arithmetic on one series: no clock, no rank, no database. Indices are 0-based positions in
 * the series, intervals are [start, end). Durations may have any unit; `*_time` and `baseline` have
 * the same. Percentages are of the baseline: +100 is twice as slow.
 */
#ifndef TL_STEPS_MODEL_H
#define TL_STEPS_MODEL_H

#include "analysis.h"
#include "ranks.h"
#include "segment.h"

#define TL_STEPS_MIN_CHANGE 0.05 /* smallest ratio above 1 that is worth reporting */
#define TL_STEPS_MIN	    8	 /* fewer steps: no change detection, only the spike rule */
#define TL_SPIKE_STEPS_MAX  2	 /* up to here an episode is a spike, not a regression */

enum tl_phase {
	TL_PHASE_BASELINE,
	TL_PHASE_WARMUP,
	TL_PHASE_SPIKE,
	TL_PHASE_PERIODIC,   /* a spike on the common period: checkpoint, evaluation */
	TL_PHASE_REGRESSION, /* up to the last step with half of the peak excess */
	TL_PHASE_RECOVERY,   /* the rest of a transient */
	TL_PHASE_SHIFTED,    /* slower until the end of the series */
	TL_PHASE_IMPROVED,
	TL_PHASE_COUNT
};

enum tl_episode_kind {
	TL_EPISODE_SPIKE,	/* 1-2 slow steps */
	TL_EPISODE_FAST_SPIKE,	/* 1-2 fast steps: listed, called baseline */
	TL_EPISODE_TRANSIENT,	/* slow, then recovered */
	TL_EPISODE_SHIFT,	/* slow and not recovered, 5 steps or more */
	TL_EPISODE_ONGOING,	/* slow and not recovered, the last 3-4 steps */
	TL_EPISODE_IMPROVEMENT, /* faster, 3 steps or more */
	TL_EPISODE_KIND_COUNT
};

enum tl_confidence {
	TL_CONFIDENCE_UNTESTED, /* too short, or nothing to compare with */
	TL_CONFIDENCE_LOW,	/* listed, not an alarm */
	TL_CONFIDENCE_MEDIUM,
	TL_CONFIDENCE_HIGH
};

enum tl_steps_verdict {
	TL_STEPS_TOO_FEW,
	TL_STEPS_NO_CHANGE,
	TL_STEPS_ISOLATED, /* single slow steps only */
	TL_STEPS_PERIODIC, /* slow steps on a period only */
	TL_STEPS_IMPROVEMENT,
	TL_STEPS_ONGOING, /* slower at the end of the series */
	TL_STEPS_TRANSIENT,
	TL_STEPS_SHIFT,
	TL_STEPS_DRIFT,
	TL_STEPS_VERDICT_COUNT
};

const char *tl_phase_name(enum tl_phase phase);
const char *tl_episode_kind_name(enum tl_episode_kind kind);
const char *tl_confidence_name(enum tl_confidence confidence);
const char *tl_steps_verdict_name(enum tl_steps_verdict verdict); /* a phrase for a verdict line */

struct tl_step_segment {
	size_t start, end;
	double median;
	double vs_base_pct, vs_previous_pct; /* the first has 0 for the latter */
};

/* y - b = A exp(-i/tau) over the steps of a transient, least squares; y, b logarithms. */
struct tl_decay {
	double amplitude_pct;
	double tau_steps, half_life_steps; /* half life = tau ln 2 */
	double r2;
};

/*
 * The three tests of an episode against the baseline steps nearest to it (30 on each side), and the
 * size of the effect: Hodges-Lehmann ratio with its distribution-free 95 % interval.
 */
struct tl_episode_tests {
	size_t local_count; /* baseline steps compared with */
	double p_mwu;
	enum tl_test_method p_method;
	double cliff;
	double hl_pct, hl_low_pct, hl_high_pct; /* -inf and +inf where not reachable */
	double p_window;			/* share of baseline windows that are as extreme */
	size_t window_count;
	double p_scan; /* chance that so many raised steps fall together somewhere */
};

struct tl_episode {
	enum tl_episode_kind kind;
	enum tl_confidence confidence;
	size_t start, end;
	int sign;	       /* +1 slower, -1 faster */
	size_t regression_end; /* steps from here to end are recovery; end if there is none */
	size_t peak_step;
	double peak_pct, median_pct;
	double excess_time; /* sum of duration - baseline */
	bool is_recovered;
	bool has_recovery; /* the two next are known */
	size_t recover_steps;
	double recover_time; /* from the first slow step to the first of three inside the band */
	bool has_tests, has_decay;
	struct tl_episode_tests tests;
	struct tl_decay decay;
};

struct tl_drift {
	double per_100_steps_ratio, total_ratio; /* 0.1 is +10 % */
	double cost_linear, cost_steps; /* of the line and of the levels; smaller fits better */
};

struct tl_period {
	size_t period, phase; /* in steps: phase, phase + period, ... */
	size_t *members;      /* first steps of the episodes on it */
	size_t member_count;
	double coverage; /* members per slot */
	double p;	 /* chance that random onsets agree so well */
};

struct tl_model_options {
	double min_change; /* TL_STEPS_MIN_CHANGE */
	double kappa;	   /* TL_KAPPA */
};

struct tl_steps_model {
	size_t n;
	double min_change;
	uint8_t *phases; /* enum tl_phase, n of them */
	double baseline; /* median of the baseline steps */
	size_t baseline_count;
	double sigma_log;  /* noise that change detection assumed */
	double sigma_base; /* spread of the baseline steps around it, of the logarithm */
	double acf1;
	size_t warmup_count;
	struct tl_step_segment *segments; /* none when there are too few steps */
	size_t segment_count;
	struct tl_episode *episodes; /* by start */
	size_t episode_count;
	bool has_drift, has_period;
	struct tl_drift drift;
	struct tl_period period;
	enum tl_steps_verdict verdict;
};

/*
 * Judges x[0..n). n may be 0: then everything is empty and the verdict TL_STEPS_TOO_FEW. `opt` may
 * be NULL. Durations must be finite and positive: others are refused in words.
 */
int tl_steps_model(struct tl_steps_model *out, const double *x, size_t n,
		   const struct tl_model_options *opt, struct tl_error *err);
void tl_steps_model_release(struct tl_steps_model *model);

/*
 * How much slower `length` steps in a row had to be to be seen at this noise: a bump is found when
 * sum (ln excess / sigma)^2 > 6 ln n, and is at least min_change. As a ratio: 0.1 is +10 %.
 * "No change" without this number is a promise nobody made. NaN when there were too few steps.
 */
double tl_steps_visible_ratio(const struct tl_steps_model *model, size_t length);

#endif
