/*
 * explain_private.h - private: a sweep over the steps of a view, shared by the files that cut steps
 * into pieces (explain_parts.c), find what is so at a time (explain_sweep.c), and divide running
 * time among what samples saw (explain_divide.c).
 */
#ifndef TL_EXPLAIN_PRIVATE_H
#define TL_EXPLAIN_PRIVATE_H

#include "explain_parts.h"

enum span_kind { SPANS_WORK, SPANS_CALLS, SPANS_OPS, SPANS_RUNS, SPANS_DEVICE, SPAN_KIND_COUNT };

/* Labels of device spans; time without a span is before the first launch: not known. */
enum { DEVICE_BUSY, DEVICE_COLLECTIVE, DEVICE_STARVED, DEVICE_LATENCY, DEVICE_UNKNOWN };

/* Label of a span of memory management: tl_mm_kind, order + 1 above it. */
#define WORK_LABEL(kind, order) ((uint32_t)(kind) | (uint32_t)((order) + 1) << 8)

/* Running time of one kind, or wall time where nothing tells running from waiting. */
struct bucket_key {
	uint32_t call, op;		   /* names of parts; 0 none */
	bool is_wall, is_gap, is_operator; /* gap: in no operator, though there are some */
};

struct bucket {
	struct bucket_key key;
	struct pooled { /* samples in all steps of a class, by what they saw */
		uint32_t part;
		uint64_t count[3]; /* by tl_step_class */
	} * pooled;
	size_t pooled_count, pooled_capacity;
	uint32_t rest; /* part of time that no sample tells of */
};

struct share { /* the time of one bucket in one step */
	uint32_t step, bucket;
	int64_t ns, starved_ns;
};

struct seen { /* one sample in it */
	uint32_t step, bucket, part;
	int64_t weight_ns;
};

struct sweep {
	struct tl_step_view *view;
	struct tl_parts *parts;
	size_t wait_capacity;
	size_t state, sample; /* where the sweep is */
	struct tl_span *spans[SPAN_KIND_COUNT];
	struct tl_span_cursor cursors[SPAN_KIND_COUNT];
	bool has_launches; /* of work for a device */
	bool has_weights;  /* samples say for how long they stand: the rest is off the CPU */
	bool *is_big; /* by text of the view: operators whose running time is divided on its own */

	struct bucket *buckets;
	size_t bucket_count, bucket_capacity;
	struct tl_index bucket_index;
	struct share *shares; /* in order of steps */
	size_t share_count, share_capacity, step_first_share;
	struct seen *seen; /* in order of steps */
	size_t seen_count, seen_capacity;
};

/* explain_parts.c */
int tl_parts_find(struct tl_parts *p, enum tl_part_state state, enum tl_part_cause cause,
		  uint32_t name, uint32_t *part, struct tl_error *err);
int tl_parts_name(struct tl_parts *p, const char *text, uint32_t *name, struct tl_error *err);
bool tl_is_memory_call(const char *name);

/* explain_sweep.c */
int tl_sweep_spans(struct sweep *s, struct tl_error *err);
void tl_sweep_device(struct tl_device_time *time, uint32_t label, int64_t ns);
void tl_sweep_release(struct sweep *s);

/* explain_divide.c: adds a piece to be divided, with the samples in it; divides all of them */
int tl_sweep_divisible(struct sweep *s, const struct bucket_key *key, uint32_t step,
		       int64_t begin_ns, int64_t end_ns, bool is_starved, struct tl_error *err);
int tl_sweep_divide(struct sweep *s, struct tl_error *err);

#endif
