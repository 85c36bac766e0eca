/*
 * training_log_unit.h - units of time and of steps, as people write them behind numbers and in the
 * names of columns.
 */
#ifndef TRAINING_LOG_UNIT_H
#define TRAINING_LOG_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "ms", "Seconds", "usec", "min": ns; 0 if it is none. */
int64_t training_log_unit(const char *text, size_t len);
/* "h", "min", "minutes": a time of which smaller ones may follow, "1h 2m 3s"; 0: none may. */
int64_t training_log_larger_unit(const char *text, size_t len);
/* "it", "steps", "batch" */
bool training_log_is_step_unit(const char *text, size_t len);
/* "s/it", "ms/step": the unit of time; "it/s", "steps/sec": that of the rate, with *is_rate. */
int64_t training_log_per_step_unit(const char *text, size_t len, bool *is_rate);

#endif
