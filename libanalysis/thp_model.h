/*
 * thp_model.h - private: did memory management make the slow steps slow?
 *
 * Pure arithmetic on numbers per step. Where direct, stolen and lock time come from is the caller's;
 * all have the unit of the durations. The verdict comes from the time of the mechanisms; correlation
 * alone never gives more than "possible".
 */
#ifndef TL_THP_MODEL_H
#define TL_THP_MODEL_H

#include "association.h"

/* What the recording could have shown. */
#define TL_THP_SEES_ACTIVITY 1u
#define TL_THP_SEES_DIRECT   2u
#define TL_THP_SEES_STOLEN   4u
#define TL_THP_SEES_LOCK     8u
#define TL_THP_SEES_ALL	     15u

struct tl_thp_steps {
	size_t n;
	const double *duration;
	const double *activity; /* run time of khugepaged, kcompactd, kswapd */
	const double *direct;	/* compaction and reclaim inside the training thread */
	const double *stolen;	/* training thread runnable while one of the daemons had its CPU */
	const double *lock;	/* training thread held up by a lock that a collapse holds */
	const bool *is_checkpoint; /* or NULL: none is known */
	unsigned sees;		   /* TL_THP_SEES_*; arrays of what it does not see hold 0 */
	uint8_t *role;		   /* NULL, or n of enum tl_thp_role to fill */
};

/* What a step is to the comparison. */
enum tl_thp_role { TL_THP_ROLE_NONE, TL_THP_ROLE_SLOW, TL_THP_ROLE_BASE };

/* Part of the excess of the slow steps over the baseline; a ratio of means. */
struct tl_thp_share {
	double slow_mean, base_mean;
	double explained; /* sum over the slow steps of time above the mean of the baseline */
	double share, low, high; /* of the excess; 95 %, ratio estimator, Student's t */
	double p; /* of Mann and Whitney: time in slow steps against baseline steps */
};

enum tl_thp_verdict {
	TL_THP_NO_SLOW_STEPS,
	TL_THP_FEW_BASELINE_STEPS,
	TL_THP_NOT_OBSERVABLE,
	TL_THP_NO_ACTIVITY,	/* not supported: nothing happened */
	TL_THP_EXPLAINS_LITTLE, /* not supported: at most share_high */
	TL_THP_NOT_SUPPORTED,
	TL_THP_UNDECIDED, /* correlated, but a common cause explains it as well */
	TL_THP_POSSIBLE,  /* correlated within offsets, the mechanism is not observable */
	TL_THP_CONTRIBUTES,
	TL_THP_CONFIRMED,
	TL_THP_VERDICT_COUNT
};

const char *tl_thp_verdict_name(enum tl_thp_verdict verdict);

#define TL_THP_LAG_MAX 5

struct tl_thp_model {
	enum tl_thp_verdict verdict;
	size_t slow_count, base_count; /* steps, without checkpoints */
	double baseline;	       /* duration */
	/* The rest is set when there are 3 slow steps and 5 of the baseline. */
	double excess;	  /* sum of duration - baseline over the slow steps */
	double explained; /* sum of mechanism time above its mean in the baseline */
	double share, share_low, share_high; /* explained/excess; 95 %, ratio estimator */
	double direct_excess, stolen_excess, lock_excess; /* of `explained`, by mechanism */
	double rho, p_rho; /* Spearman of activity and duration; circular shifts */
	struct tl_stratified_rank within_offset; /* of steps up to 30 after a checkpoint */
	/* Spearman of activity at i and duration at i+k; k from -TL_THP_LAG_MAX. */
	double lag_rho[2 * TL_THP_LAG_MAX + 1];
	int best_lag;
	bool has_dose; /* 3 steps with and 3 without activity */
	double dose_p, dose_cliff;
	double dose_difference; /* of the median durations with and without activity */
};

/*
 * Slow steps are regression, recovery and shifted of the steps model of the durations.
 *   confirmed: share >= 0.5 with a lower bound >= 0.25; contributes: >= 0.15 with > 0.05;
 *   explains little: upper bound < 0.10 with all mechanisms observable;
 *   possible: a mechanism is not observable, p within offsets < 0.01, circular p < 0.05;
 *   undecided: circular p < 0.05 only.
 * Negative and non-finite times are refused.
 */
int tl_thp_model(struct tl_thp_model *out, const struct tl_thp_steps *steps, struct tl_error *err);

/*
 * The share that one kind of time per step has in the excess, with the roles and the baseline that
 * tl_thp_model found. TL_USAGE unless two steps are slow and two are of the baseline.
 */
int tl_thp_share(struct tl_thp_share *out, const struct tl_thp_steps *steps, double baseline,
		 const double *time, struct tl_error *err);

#endif
