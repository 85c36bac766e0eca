/*
 * partition_fuzz.c - any intervals, scheduler events and calls: refused, or the parts add up.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "latency.h"
#include "partition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LABELS 16

/* Small numbers meet each other; now and then one as large as it gets. */
static int64_t time_at(const uint8_t *p)
{
	int64_t v = p[0] | p[1] << 8;

	return p[1] == 0xff ? (p[0] & 1 ? INT64_MAX : INT64_MIN) + p[0] / 2 * (p[0] & 1 ? -1 : 1)
			    : v;
}

static void check_partition(const uint8_t *data, size_t count)
{
	struct tl_interval *v = calloc(count + 1, sizeof(*v));
	int64_t sums[LABELS] = { 0 }, gap = 0, begin, end, total;
	struct tl_partition p;

	if (!v || count == 0)
		goto out;
	begin = time_at(data);
	end = time_at(data + 2);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *q = data + 5 * i;

		v[i].start_ns = time_at(q);
		v[i].end_ns = time_at(q + 2);
		v[i].layer = q[4] >> 5;
		v[i].label = q[4] % LABELS;
	}
	if (tl_partition(&p, begin, end, v, count, NULL) < 0)
		goto out;
	if (tl_partition_sum(&p, begin, end, sums, LABELS, &gap, NULL) < 0)
		abort();
	total = gap;
	for (size_t i = 0; i < LABELS; i++)
		total += sums[i];
	if (total != end - begin)
		abort();
	tl_partition_release(&p);
out:
	free(v);
}

static void check_scheduler(const uint8_t *data, size_t count)
{
	struct tl_sched_event *e = calloc(count + 1, sizeof(*e));
	struct tl_cpu_run *runs = calloc(count + 1, sizeof(*runs));
	struct tl_sched_interval *v = NULL;
	int64_t sums[LABELS] = { 0 }, at = 0;
	size_t n = 0;

	for (size_t i = 0; e && runs && i < count; i++) {
		const uint8_t *q = data + 5 * i;

		at += q[0];
		e[i] = (struct tl_sched_event) { at, q[1] % 3, q[2] % 4,
						 q[3] % (TL_SWITCH_IDLE + 1) };
		runs[i] =
			(struct tl_cpu_run) { time_at(q), time_at(q + 2), q[4] % 4, q[4] % LABELS };
	}
	if (e && runs && tl_sched_intervals(&v, &n, e, count, 3, at + 5, NULL) < 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		if (v[i].start_ns >= v[i].end_ns || (i && v[i].start_ns < v[i - 1].end_ns))
			abort();
	}
	if (runs)
		tl_stolen_time(sums, LABELS, v, n, runs, count, NULL);
	free(e);
	free(runs);
	free(v);
}

static void check_calls(const uint8_t *data, size_t count)
{
	int64_t *ns = calloc(count + 1, sizeof(*ns)), total = 0;
	uint64_t *weights = calloc(count + 1, sizeof(*weights));
	struct tl_latency_threshold t;

	for (size_t i = 0; ns && weights && i < count; i++) {
		ns[i] = time_at(data + 5 * i);
		weights[i] = (uint64_t)time_at(data + 5 * i + 2);
	}
	if (ns && weights && tl_latency_threshold(&t, ns, count, 1e6, NULL) == TL_OK &&
	    !(t.threshold_ns >= 1e6))
		abort();
	if (ns && weights && count && tl_apportion(ns, 1000003, weights, count, NULL) == TL_OK) {
		for (size_t i = 0; i < count; i++)
			total += ns[i];
		if (total != 0 && total != 1000003)
			abort();
	}
	free(ns);
	free(weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_partition(data, size / 5);
	check_scheduler(data, size / 5);
	check_calls(data, size / 5);
	return 0;
}
