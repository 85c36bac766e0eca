/*
 * explain_sweep.c - the spans that a sweep over steps looks at: memory management, system calls,
 * operators, who had the CPU, and what the device did. Declared in explain_private.h.
 */
#include "explain_private.h"

#include <stdlib.h>

#define BIG_SHARE \
	0.02 /* of the time in operators: smaller ones have too few samples of their own */

/* Adds a span; those without a length are no time. */
static void put(struct tl_span *spans, size_t *count, int64_t begin, int64_t end, uint32_t label)
{
	if (end > begin)
		spans[(*count)++] = (struct tl_span) { begin, end, label };
}

static size_t add_work(struct tl_span *spans, const struct tl_step_view *v)
{
	size_t count = 0;

	for (size_t i = 0; i < v->activity_count; i++) {
		const struct tl_view_activity *a = &v->activities[i];
		int32_t order = a->order < 0 || a->order > 64 ? -1 : a->order;

		if (a->is_own && (a->kind == TL_MM_COMPACTION || a->kind == TL_MM_RECLAIM))
			put(spans, &count, a->begin_ns, a->end_ns, WORK_LABEL(a->kind, order));
	}
	return count;
}

/* Where the computing is, that a collective may lie beside; looked at in order of time. */
struct computing {
	size_t next;
	int64_t end; /* of what began before that */
};

/* A collective is waiting for other ranks where the device does not compute beside it. */
static void put_collective(struct tl_span *spans, size_t *count, const struct tl_step_view *v,
			   struct computing *c, int64_t begin, int64_t end)
{
	int64_t at = begin;

	for (; c->next < v->kernel_count && v->kernels[c->next].begin_ns < end; c->next++) {
		const struct tl_view_kernel *k = &v->kernels[c->next];

		if (k->is_collective)
			continue;
		if (k->begin_ns > c->end) {
			int64_t until = c->end < at ? at : c->end;

			put(spans, count, at, until, DEVICE_BUSY);
			at = k->begin_ns < until ? until : k->begin_ns;
			put(spans, count, until, at, DEVICE_COLLECTIVE);
		}
		c->end = k->end_ns > c->end ? k->end_ns : c->end;
	}
	if (c->end > at) {
		int64_t until = c->end < end ? c->end : end;

		put(spans, count, at, until, DEVICE_BUSY);
		at = until;
	}
	put(spans, count, at, end, DEVICE_COLLECTIVE);
}

/* The device is busy, or idle until a launch came (it starved), or after it (latency). */
static size_t add_device(struct tl_span *spans, const struct tl_step_view *v)
{
	struct computing computing = { .end = INT64_MIN };
	int64_t end = INT64_MIN;
	size_t count = 0;

	for (size_t i = 0; i < v->kernel_count; i++) {
		const struct tl_view_kernel *k = &v->kernels[i];
		int64_t begin = k->begin_ns > end ? k->begin_ns : end;

		if (end != INT64_MIN && k->begin_ns > end) {
			int64_t launch = k->launch_ns;

			if (launch == INT64_MIN) {
				put(spans, &count, end, k->begin_ns, DEVICE_UNKNOWN);
			} else {
				launch = launch < end		? end
					 : launch > k->begin_ns ? k->begin_ns
								: launch;
				put(spans, &count, end, launch, DEVICE_STARVED);
				put(spans, &count, launch, k->begin_ns, DEVICE_LATENCY);
			}
		}
		if (k->is_collective && begin < k->end_ns)
			put_collective(spans, &count, v, &computing, begin, k->end_ns);
		else
			put(spans, &count, begin, k->end_ns, DEVICE_BUSY);
		end = k->end_ns > end ? k->end_ns : end;
	}
	return count;
}

static int compare_spans(const void *a, const void *b)
{
	const struct tl_span *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->label > y->label) - (x->label < y->label);
}

/* Which operators take so much time themselves that samples can tell what they do? */
static int find_big(struct sweep *s, struct tl_error *err)
{
	const struct tl_step_view *v = s->view;
	struct tl_span_cursor c = { .spans = s->cursors[SPANS_OPS].spans,
				    .count = s->cursors[SPANS_OPS].count };
	double *self = tl_alloc(v->texts.count + 1, sizeof(*self), err), total = 0;
	int64_t end = v->steps[v->step_count - 1].end_ns;
	int ret = self ? TL_OK : TL_NOMEM;

	s->is_big = tl_alloc(v->texts.count + 1, sizeof(*s->is_big), err);
	if (!s->is_big)
		ret = TL_NOMEM;
	for (int64_t t = v->steps[0].begin_ns, until; t < end && ret == TL_OK; t = until) {
		uint32_t label;

		ret = tl_span_at(&c, t, &label, &until, err);
		until = until < end ? until : end;
		if (ret == TL_OK && label != TL_SPAN_NONE) {
			self[label] += (double)(until - t);
			total += (double)(until - t);
		}
	}
	for (size_t i = 0; i < v->texts.count && ret == TL_OK; i++)
		s->is_big[i] = self[i] >= BIG_SHARE * total && self[i] > 0;
	tl_span_release(&c);
	free(self);
	return ret;
}

int tl_sweep_spans(struct sweep *s, struct tl_error *err)
{
	const struct tl_step_view *v = s->view;
	const size_t capacity[SPAN_KIND_COUNT] = { v->activity_count, v->call_count, v->op_count,
						   v->run_count, 5 * v->kernel_count };
	size_t counts[SPAN_KIND_COUNT] = { 0 };

	for (int i = 0; i < SPAN_KIND_COUNT; i++) {
		s->spans[i] = tl_alloc(capacity[i], sizeof(*s->spans[i]), err);
		if (!s->spans[i])
			return TL_NOMEM;
	}
	counts[SPANS_WORK] = add_work(s->spans[SPANS_WORK], v);
	for (size_t i = 0; i < v->call_count; i++)
		put(s->spans[SPANS_CALLS], &counts[SPANS_CALLS], v->calls[i].begin_ns,
		    v->calls[i].end_ns, v->calls[i].name);
	for (size_t i = 0; i < v->op_count; i++)
		put(s->spans[SPANS_OPS], &counts[SPANS_OPS], v->ops[i].begin_ns, v->ops[i].end_ns,
		    v->ops[i].name);
	for (size_t i = 0; i < v->run_count; i++)
		put(s->spans[SPANS_RUNS], &counts[SPANS_RUNS], v->runs[i].begin_ns,
		    v->runs[i].end_ns, v->runs[i].thread);
	counts[SPANS_DEVICE] = add_device(s->spans[SPANS_DEVICE], v);
	/* calls and operators are sorted by begin, the longest first, as they were loaded */
	if (counts[SPANS_WORK] > 1)
		qsort(s->spans[SPANS_WORK], counts[SPANS_WORK], sizeof(struct tl_span),
		      compare_spans);
	if (counts[SPANS_RUNS] > 1)
		qsort(s->spans[SPANS_RUNS], counts[SPANS_RUNS], sizeof(struct tl_span),
		      compare_spans);
	for (int i = 0; i < SPAN_KIND_COUNT; i++) {
		s->cursors[i].spans = s->spans[i];
		s->cursors[i].count = counts[i];
	}
	s->has_launches = v->has & TL_VIEW_DEVICE;
	for (size_t i = 0; i < v->op_count && !s->has_launches; i++)
		s->has_launches = v->ops[i].class_ == TL_SLICE_RUNTIME;
	for (size_t i = 0; i < v->sample_count && !s->has_weights; i++)
		s->has_weights = v->samples[i].weight_ns > 0;
	return find_big(s, err);
}

void tl_sweep_device(struct tl_device_time *time, uint32_t label, int64_t ns)
{
	if (label == DEVICE_BUSY)
		time->busy_ns += ns;
	else if (label == DEVICE_COLLECTIVE)
		time->collective_ns += ns;
	else if (label == DEVICE_STARVED)
		time->starved_ns += ns;
	else if (label == DEVICE_LATENCY)
		time->latency_ns += ns;
	else
		time->unknown_ns += ns;
}

void tl_sweep_release(struct sweep *s)
{
	for (int i = 0; i < SPAN_KIND_COUNT; i++) {
		free(s->spans[i]);
		tl_span_release(&s->cursors[i]);
	}
	for (size_t i = 0; i < s->bucket_count; i++)
		free(s->buckets[i].pooled);
	free(s->buckets);
	free(s->is_big);
	free(s->shares);
	free(s->seen);
	tl_index_release(&s->bucket_index);
}
