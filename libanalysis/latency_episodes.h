/*
 * latency_episodes.h - private: when calls of one kind were slow, beside times when they were not.
 *
 * Pure arithmetic on durations in order of time; threads, clocks and what is waited for are the
 * caller's knowledge.
 */
#ifndef TL_LATENCY_EPISODES_H
#define TL_LATENCY_EPISODES_H

#include "analysis.h"

#define TL_EPISODES_MAX 3u /* calls that are slow more often than so are slow now and then */

struct tl_latency_episode {
	size_t begin, end; /* calls by number */
};

struct tl_latency_episodes {
	int64_t cut_ns;					      /* what lasts so long is slow */
	struct tl_latency_episode slow[TL_EPISODES_MAX];      /* in order of time */
	struct tl_latency_episode usual[TL_EPISODES_MAX + 1]; /* slow ones are rare there */
	size_t slow_count, usual_count;
};

/*
 * Slow episodes among n durations in order of time: runs in which calls of cut_ns and longer are
 * frequent, while they are rare (5 % at most, and ten times rarer) before and between. What is slow
 * from the first call on is no episode: nothing tells what is usual; a slow beginning that ends
 * within a quarter is left out as warm-up. slow_count 0: none.
 *
 * Whether a call is slow is a coin whose probability changes now and then: the changes minimise the
 * deviance plus 3 ln n for each of them, exactly, for every half-octave cut of 1 ms and more; the
 * cut that explains most is taken, if it explains clearly more than chance does.
 */
int tl_latency_episodes(struct tl_latency_episodes *out, const int64_t *ns, size_t n,
			struct tl_error *err);

#endif
