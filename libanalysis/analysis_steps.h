/*
 * analysis_steps.h - the part of the public interface that answers about training steps: how long they
 * took, what happened to them, where their time went, and how ranks compare. Included by analysis.h.
 */
#ifndef TL_ANALYSIS_STEPS_H
#define TL_ANALYSIS_STEPS_H

#include "analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A row of a series. A log need not have a row for each step: then a row stands for several, and
 * all numbers of steps below count steps, not rows.
 */
struct tl_step {
	int64_t number; /* as the source counts; of the last of its steps */
	int64_t count;	/* steps that it stands for, at least 1 */
	bool has_ts;
	int64_t ts;
	int64_t duration_ns; /* of one step: the mean, where there are several */
	int64_t span_ns;     /* of all of them: what lies between ts and their end */
	const char *phase;   /* "baseline", "warm-up", "spike", "periodic", "regression", ... */
	/*
	 * What all questions mean by these words: "slow", "good", "apart" (slow in another way than
	 * the slow steps, as by a checkpoint), "spike" (slow alone, or perhaps by chance), "other".
	 */
	const char *class_;
};

/* A stretch of steps of one phase; positions are in the series, from 0, last inclusive. */
struct tl_steps_phase {
	const char *kind;
	size_t first, last;
	double median_ns;
	double change_ratio; /* against the baseline: 0.2 is 20 % slower */
	double excess_ns;    /* sum of what is above the baseline */
};

struct tl_steps_episode {
	const char *kind,
		*confidence; /* "transient", "shift", ...; "high", "medium", "low", "untested" */
	size_t first, last;
	size_t regression_last; /* the last step before recovery */
	size_t peak;
	double peak_ratio, median_ratio, excess_ns;
	bool is_recovered, has_recovery, has_tests, has_decay;
	size_t recovery_steps;
	double recovery_ns; /* from the first slow step to the first of three back in the band */
	double effect_ratio, effect_low_ratio, effect_high_ratio; /* Hodges-Lehmann, 95 % */
	double p_rank, p_window, p_scan;
	size_t local_count, window_count; /* baseline rows and windows compared with */
	double half_life_steps, decay_r2;
};

/* Time between a step and the next one that is unusually long: a checkpoint, an evaluation. */
struct tl_step_pause {
	size_t after; /* position of the step before it */
	int64_t ts, duration_ns;
};

/* The steps of a series that one source tells of: positions first to end, exclusive. */
struct tl_steps_part {
	int64_t source_id;
	const char *source; /* path */
	size_t first, end;
};

/*
 * The steps of one rank: of one source, or of several that follow each other, as cycles of one
 * profiler and rotated logs do. Ask tl_steps_part which step is of which source.
 */
struct tl_steps_series {
	int64_t source_id;	     /* of the first step */
	const char *source, *origin; /* path; "profiler" or "log" */
	struct tl_steps_part *more;  /* the sources after the first one; most series have none */
	size_t more_count;
	int32_t rank;	    /* -1 unknown */
	int64_t pid, tid;   /* of the thread that carries the steps; -1 unknown */
	const char *thread; /* its name; NULL unknown */
	struct tl_step *steps;
	size_t count;
	int64_t step_count;    /* that its rows stand for: count, when there is a row for each */
	int64_t steps_per_row; /* the median: 1, when there is a row for each */
	size_t left_out;       /* rows without a usable duration */
	double baseline_ns, sigma_ratio;
	size_t baseline_count, warmup_count;
	double visible_ratio; /* six slow steps in a row must be slower than this to be seen; NaN */
	size_t period;	      /* of periodic slow steps; 0 none */
	bool has_drift;
	double drift_ratio; /* over the whole series */
	struct tl_steps_phase *phases;
	size_t phase_count;
	struct tl_steps_episode *episodes;
	size_t episode_count;
	struct tl_step_pause *pauses;	  /* no step's duration has them in it */
	size_t pause_count, pause_period; /* every so many steps; 0: irregular */
	double gap_ns;			  /* between steps, median; NaN: no times */
	double pause_total_ns;
	const char *verdict; /* one line for a person */
	bool is_alarm;	     /* a regression, shift or drift worth a non-zero exit status */
};

struct tl_steps_options {
	const char *name_pattern; /* Perl regular expression of slices that are steps; its first
				     group, if any, is the number. NULL: what importers know */
	double min_change;	  /* smallest ratio worth reporting; 0: 0.05 */
	bool has_rank;
	int32_t rank;
};

struct tl_steps {
	struct tl_steps_series *series;
	size_t series_count;
	void *memory;
};

/* TL_NOTHING when there are no steps. Release what it returns. */
int tl_steps_load(struct tl_store *store, const struct tl_steps_options *opt, struct tl_steps *out,
		  struct tl_error *err);
void tl_steps_release(struct tl_steps *steps);
/* The sources of a series, in order, each with its steps; there are 1 + more_count of them. */
struct tl_steps_part tl_steps_part(const struct tl_steps_series *series, size_t i);
/* The number of the first step that a row stands for. */
int64_t tl_step_first(const struct tl_step *step);
/* How many steps the rows first to last, inclusive, stand for. */
int64_t tl_steps_counted(const struct tl_steps_series *series, size_t first, size_t last);

#define TL_SLOWEST_STEPS 5
/* Is `slow` slower than `good`? See analysis of step times in the manual. */
struct tl_steps_comparison {
	const char *verdict; /* "slower", "faster", "no change", "too few steps", "inconclusive" */
	size_t good_count, slow_count, good_left_out, slow_left_out;
	double good_median_ns, slow_median_ns; /* of those that are compared */
	double good_mean_ns, slow_mean_ns;     /* of all */
	double ratio, ratio_low, ratio_high;   /* Hodges-Lehmann, 95 % */
	double p, cliff, smallest_p;
	const char *method; /* of p */
	/* Positions in slow->steps, the slowest first. */
	size_t slowest[TL_SLOWEST_STEPS], slowest_count;
	bool has_own_alarm; /* `slow` has a regression, shift or drift of its own, and `good` has not */
	bool is_alarm;	    /* that, or it is slower by min_change or more */
	char says[768];	    /* one line for a person */
};
int tl_steps_compare(const struct tl_steps_series *good, const struct tl_steps_series *slow,
		     double min_change, struct tl_steps_comparison *out, struct tl_error *err);

/* A step as its device work splits it. */
struct tl_step_split {
	int64_t computing_ns;	  /* at least one kernel runs */
	int64_t communication_ns; /* at least one collective runs */
	int64_t exposed_ns;	  /* communication while nothing computes */
	int64_t free_ns;	  /* neither, from the first of them to the end of the last */
	int64_t stage_ns;	  /* from there to there, without waiting for another stage */
	int64_t preparing_ns;	  /* from the step's begin to the first of them; -1 there is none */
};

/*
 * Where the time of a step went on one device, of what lies inside the step:
 *   duration = busy + idle_late + idle_launched + idle_other
 *   busy = computing + exposed + copying
 */
struct tl_step_parts {
	size_t series, step; /* positions in struct tl_steps */
	int32_t device;	     /* -1 unknown */
	bool has_told;	     /* the profiler, or a table, says it itself: told */
	struct tl_step_split told;
	bool has_work; /* device work is in the case: all that follows */
	struct tl_step_split work;
	int64_t busy_ns;
	int64_t copying_ns;	  /* copies while nothing else runs */
	int64_t idle_late_ns;	  /* idle, and the next work was not launched yet */
	int64_t idle_launched_ns; /* idle though it was */
	int64_t idle_other_ns;	  /* idle, and its launch is not known, or no work follows */
	size_t task_count, launch_count;
	size_t early_count; /* launches after their work began: the clocks differ */
	double launch_gap_ns, launch_gap_max_ns; /* between launches of a thread: median; NaN */
	double delay_ns, delay_max_ns; /* from a launch to the start of its first work; NaN */
};

struct tl_steps_breakdown {
	struct tl_step_parts *parts; /* by series, step, device */
	size_t count;
};

/* TL_NOTHING, in words, when the case knows of no device. Release what it returns. */
int tl_steps_break_down(struct tl_store *store, const struct tl_steps *steps,
			struct tl_steps_breakdown *out, struct tl_error *err);
void tl_steps_breakdown_release(struct tl_steps_breakdown *breakdown);

/* One rank beside the others of its job, over the steps that all of them have. */
struct tl_rank {
	size_t series; /* position in struct tl_steps */
	int32_t rank;
	double median_ns;
	double collective_ns; /* in collectives, a step, mean; NaN: none are in the case */
	double waiting_ns;    /* of it, above the rank that spends least: mean */
	size_t slowest_count; /* steps in which it took longest */
	size_t late_count;    /* steps in which it waited least: the others waited for it */
};

/* A step on all ranks. */
struct tl_rank_step {
	int64_t number;
	int32_t fastest_rank, slowest_rank; /* -1: several are */
	int64_t fastest_ns, slowest_ns, median_ns;
	bool has_collectives;
	int32_t late_rank; /* spends least in collectives; -1: several spend the least */
	int64_t least_ns;  /* in collectives: that rank, ... */
	int64_t most_ns;
	int64_t late_ns; /* how much less than the middle of the other ranks */
	bool is_slow;	 /* the step is slow on one of the ranks, at least */
};

/* The rank that is late most often, over some steps. */
struct tl_late_rank {
	bool is_known; /* late in most of them, by min_change of a step or more; else nothing else is */
	int32_t rank;
	size_t step_count, late_count;
	double late_ns, step_ns; /* median of how late, and of the steps' durations */
	double p; /* chance that any rank is last so often if each is with the same chance */
};

struct tl_ranks {
	const char *origin;    /* of the series: "profiler" or "log" */
	struct tl_rank *ranks; /* by rank */
	size_t rank_count;
	struct tl_rank_step *steps;
	size_t step_count;
	char verdict[512]; /* one line for a person */
	/* of all steps, and of those that are slow: who is late there may be on time elsewhere */
	struct tl_late_rank late, slow_late;
};

/* What the ranks of a case have in common; TL_NOTHING when there are fewer than two. */
int tl_ranks_load(struct tl_store *store, const struct tl_steps *steps, double min_change,
		  struct tl_ranks *out, struct tl_error *err);
void tl_ranks_release(struct tl_ranks *ranks);

/*
 * When the steps `which` were: a class but "other" (as tl_step.class_), a number "N" or a range "N-M" of
 * numbers as the source counts. In order, without overlap; free(*out). *step_count: how many steps,
 * of the series that has most: ranks step together, and a log tells of the same steps.
 * TL_NOTHING, in words, when there are none with times.
 */
int tl_steps_ranges(struct tl_store *store, const char *which, struct tl_time_range **out,
		    size_t *count, size_t *step_count, struct tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
