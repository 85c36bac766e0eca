/*
 * analysis_machine.h - public: what the machines of a case said of themselves while the recording ran:
 * settings of memory management, and counters that were sampled. Part of analysis.h, which includes it.
 */
#ifndef TL_ANALYSIS_MACHINE_H
#define TL_ANALYSIS_MACHINE_H

#include "analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tl_machine_setting {
	int64_t source_id;
	const char *host;	 /* NULL unknown */
	const char *key, *value; /* "thp.enabled", "vm.swappiness": as it was first */
	int64_t change_count;	 /* while recording; table log tells from what to what, and when */
	bool is_main; /* of those that decide about huge pages and compaction, or changed */
};

/* A counter of one track over the whole source. */
struct tl_machine_counter {
	int64_t source_id;
	const char *track, *name, *unit; /* unit NULL unknown */
	bool is_growing; /* it only ever grows: what it grew by counts, not its value */
	double first, last, lowest, highest;
	int64_t first_ts, last_ts;
	double per_second; /* growing: (last - first) by time; NAN with one sample only */
	bool is_main;	   /* of memory in trouble, and it did grow */
};

struct tl_machine {
	struct tl_machine_setting *settings;
	struct tl_machine_counter *counters;
	size_t setting_count, counter_count;
	void *memory;
};

/* Empty where nothing was recorded of it. Release what it returns. */
int tl_machine_load(struct tl_store *store, struct tl_machine *out, struct tl_error *err);
void tl_machine_release(struct tl_machine *machine);

#ifdef __cplusplus
}
#endif

#endif
