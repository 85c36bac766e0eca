/*
 * perf_switch_state.h - what the kernel's letters for a thread's state mean: "S", "D|K", "R+".
 */
#ifndef PERF_SWITCH_STATE_H
#define PERF_SWITCH_STATE_H

#include "analysis.h"

/* A "+" says that it was preempted, which makes it runnable whatever else is set. */
enum tl_switch_state perf_switch_state(const char *letters, size_t len);

#endif
