/*
 * step_means.h - durations that are means of all steps since an epoch began, as Keras shows them:
 * what lies between two of them. Knows nothing of how a line is written.
 */
#ifndef STEP_MEANS_H
#define STEP_MEANS_H

#include <stdbool.h>
#include <stdint.h>

/* Of one rank. All zero at first. */
struct step_means {
	bool has_pending, has_done;
	int64_t before; /* steps of the epochs before */
	int64_t epoch;
	/* the last mean, and up to which step rows are made, with all time until then */
	int64_t number, total_ns, from, from_ns, tick_ns;
	struct step_means_row {
		int64_t number; /* of the last step */
		int64_t count, duration_ns;
		int64_t rounding_ns; /* the duration is known to that, either way */
	} done;			     /* held back: what is left of an epoch joins it */
};

enum { STEP_MEANS_ROWS = 2 };

/*
 * A mean: the number of rows that came to their end with it. A smaller number, or another epoch,
 * begins anew.
 */
int step_means_add(struct step_means *m, int64_t number, int64_t mean_ns, int64_t tick_ns,
		   int64_t epoch, struct step_means_row rows[STEP_MEANS_ROWS]);
int step_means_finish(struct step_means *m, struct step_means_row rows[STEP_MEANS_ROWS]);

#endif
