/*
 * job_collectives.h - private: time in collectives, a step of a series (job_collectives.c).
 */
#ifndef TL_JOB_COLLECTIVES_H
#define TL_JOB_COLLECTIVES_H

#include "analysis.h"

#define TL_COLLECTIVES_UNKNOWN INT64_MIN /* the step's source tells of none at all */

/* One a step; NULL: none is known. free(*sums), whatever is returned. */
int tl_job_collectives(struct tl_store *store, const struct tl_steps_series *series, int64_t **sums,
		       struct tl_error *err);

#endif
