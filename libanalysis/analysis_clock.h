/*
 * analysis_clock.h - public: how the clock of each source was mapped to Unix time, mapping it anew or
 * otherwise, and whether sources may be joined in one answer. Part of analysis.h, which includes it.
 */
#ifndef TL_ANALYSIS_CLOCK_H
#define TL_ANALYSIS_CLOCK_H

#include "analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One source's clock: ts = slope * source time + offset. Texts are NULL where nothing says so. */
struct tl_clock {
	int64_t source_id;
	const char *path, *importer, *host, *clock_name;
	enum tl_clock_method method;
	bool is_set;	/* by tl_clock_set: kept until it is released */
	bool has_times; /* false: the source has no times to be mapped */
	int64_t offset_ns;
	double slope;	     /* 1 unless fitted */
	int64_t residual_ns; /* -1 unknown; against the reference where there is one, else Unix time */
	int64_t reference_id; /* matched: the source whose clock was the measure; 0 none */
	int64_t match_count;  /* matched: happenings seen by both; -1: not matched */
	double rival_ratio; /* matches of the second best offset to those of the best; -1 unknown */
	const char *why;    /* what the mapping rests on */
	const char *trouble; /* why it could not be matched to others: "ambiguous: ..." */
};

struct tl_clocks {
	struct tl_clock *clocks; /* by source */
	size_t count;
	void *memory;
};

int tl_clocks_load(struct tl_store *store, struct tl_clocks *out, struct tl_error *err);
void tl_clocks_release(struct tl_clocks *clocks);

/*
 * May an answer join these sources? Every answer that reads more than one source asks this, prints
 * `text`, and does not give what is_allowed forbids.
 */
struct tl_clock_join {
	bool is_allowed;	     /* the residual is at most a tenth of the effect */
	enum tl_clock_method method; /* the least sure of those that the join rests on */
	size_t source_count;	     /* 1: there is nothing to join */
	int64_t residual_ns;	     /* of the two sources that are worst known; -1 unknown */
	char text[600];		     /* method and residual; or why not, and what would help */
};

/*
 * `source_ids` NULL: all sources with times. `effect_ns`: the smallest difference in time that the
 * answer is to tell (a share of a slow step, the length of a call, ...); 0: none, only say how sure.
 * One source alone is always allowed.
 */
int tl_clock_join(struct tl_store *store, const int64_t *source_ids, size_t count,
		  int64_t effect_ns, struct tl_clock_join *out, struct tl_error *err);

/*
 * The same for what happened during training steps, `which` as in tl_steps_ranges or NULL for all: the
 * sources that tell of these steps with those that have the data, for an effect of a median step.
 */
enum tl_clock_data { TL_CLOCK_DATA_SAMPLES, TL_CLOCK_DATA_CALLS };
int tl_clock_join_steps(struct tl_store *store, const char *which, enum tl_clock_data data,
			struct tl_clock_join *out, struct tl_error *err);

/*
 * Maps one source as the caller says: Unix time = slope * source time + offset_ns; with a reference
 * its own time instead of Unix time. residual_ns -1: unknown. Kept, before all other ways, until
 * tl_clock_release. TL_USAGE where it makes no sense. The store must be open for writing.
 */
struct tl_clock_setting {
	int64_t source_id, reference_id, offset_ns, residual_ns;
	double slope; /* 0: 1 */
};
int tl_clock_set(struct tl_store *store, const struct tl_clock_setting *setting,
		 struct tl_error *err);
/* Forgets what was set for a source (0: for all). Follow it by tl_clock_settle. */
int tl_clock_release(struct tl_store *store, int64_t source_id, struct tl_error *err);
/*
 * Maps the clock of every source by the surest way that there is, joins threads that are one, and
 * derives what depends on it: the steps and what happened to them. To be called once after imports;
 * depends on what the case holds and not on the order in which it came.
 */
int tl_clock_settle(struct tl_store *store, struct tl_error *err);
/* How many sources came since, as when an import was stopped: answers may miss them. */
int tl_clock_unsettled(struct tl_store *store, size_t *count, struct tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
