/*
 * device_work.h - private: what the devices of one source did, and who launched it when.
 *
 * Knows no steps. A launch is a runtime call with the same correlation as the work, or the begin of
 * an arrow to it.
 */
#ifndef TL_DEVICE_WORK_H
#define TL_DEVICE_WORK_H

#include "store.h"

#define TL_TIME_UNKNOWN INT64_MIN

struct tl_device_task {
	int64_t begin_ns, end_ns;
	int64_t track_id;
	int64_t correlation;
	int64_t launch_ns;	 /* when it was launched; TL_TIME_UNKNOWN */
	int64_t asked_ns;	 /* earliest begin of an arrow to it, else launch_ns */
	int64_t launch_track_id; /* of the arrow's begin */
	uint8_t class_;		 /* enum tl_slice_class: kernel, communication or memory copy */
	bool has_correlation;
	bool is_by_arrow; /* launch_ns: no call is known */
};

/* A call that device work came of, or the moment that an arrow to it begins. */
struct tl_launch {
	int64_t track_id, begin_ns, end_ns;
	int64_t correlation;
	int64_t first_ns; /* when the first of its work began */
	size_t device;	  /* index, of that work */
	bool is_used;
};

/* How the profiler itself splits time; names in TL_SLICE_OVERLAP's description. */
enum tl_told_part {
	TL_TOLD_COMPUTING,
	TL_TOLD_COMMUNICATION,
	TL_TOLD_EXPOSED, /* communication that nothing hides */
	TL_TOLD_FREE,
	TL_TOLD_RECEIVE, /* receiving from another stage: a pipeline's bubble */
	TL_TOLD_PARTS
};

struct tl_told_span {
	int64_t begin_ns, end_ns;
	enum tl_told_part part;
};

struct tl_device {
	int32_t number;		      /* -1 unknown */
	struct tl_device_task *tasks; /* by begin, then end */
	size_t task_count, task_capacity;
	/* Where a profiler splits time itself: what else the device did, for nobody to wait for. */
	struct tl_device_task *others; /* by begin, then end */
	size_t other_count, other_capacity;
	struct tl_told_span *told; /* by begin */
	size_t told_count, told_capacity;
};

struct tl_device_work {
	struct tl_device *devices; /* by number */
	size_t device_count;
	struct tl_launch *launches; /* by thread, then begin */
	size_t launch_count;
	bool has_told;
};

#define TL_WORK_COLLECTIVES 1u /* nothing but communication, and no split */

int tl_device_work_load(struct tl_device_work *out, struct tl_store *store, int64_t source_id,
			unsigned flags, struct tl_error *err);
void tl_device_work_release(struct tl_device_work *work);

/*
 * The source that has the device work of the steps of one source and rank (-1 unknown): their own; or, when theirs has none, the only
 * one of their rank that has. 0: there is none, or which one is not known.
 */
int tl_device_source(struct tl_store *store, int64_t steps_source_id, int32_t rank,
		     int64_t *source_id, struct tl_error *err);

#endif
