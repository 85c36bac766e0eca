/*
 * clock_pairs.h - private: claims of method matched for the sources whose clocks are not known surely.
 */
#ifndef TL_CLOCK_PAIRS_H
#define TL_CLOCK_PAIRS_H

#include "clock.h"

/*
 * Withdraws what was matched before, and matches anew; sets source.clock_trouble. Times are read as
 * they are mapped now; what is found does not depend on that, nor on the order of the sources. Within
 * the caller's transaction.
 */
int tl_clock_match_sources(struct tl_store *store, struct tl_error *err);

#endif
