/*
 * steps_model_fuzz.c - any bytes as durations: they are refused, or judged without a crash, and
 * what comes out is consistent.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "steps_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tl_steps_model *m)
{
	size_t covered = 0;

	for (size_t i = 0; i < m->segment_count; i++) {
		if (m->segments[i].start != covered || m->segments[i].end <= covered)
			abort();
		covered = m->segments[i].end;
	}
	if (m->segment_count && covered != m->n)
		abort();
	for (size_t i = 0; i < m->episode_count; i++) {
		const struct tl_episode *e = &m->episodes[i];

		if (e->start >= e->end || e->end > m->n || e->regression_end > e->end ||
		    e->regression_end <= e->start || e->peak_step < e->start ||
		    e->peak_step >= e->end)
			abort();
	}
}

/* The first byte chooses: doubles as they are, or two bytes a duration, which are all valid. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tl_comparison_options few = { 0.05, 0, 20, false };
	bool is_raw = size && data[0] & 1;
	size_t item = is_raw ? sizeof(double) : 2, n = size ? (size - 1) / item : 0;
	double *x = calloc(n + 1, sizeof(*x));
	struct tl_comparison c;
	struct tl_steps_model m;

	if (!x)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *p = data + 1 + i * item;

		if (is_raw)
			memcpy(&x[i], p, sizeof(*x));
		else
			x[i] = 1 + p[0] + 256.0 * p[1];
	}
	if (tl_steps_model(&m, x, n, NULL, NULL) == TL_OK)
		check(&m);
	tl_steps_model_release(&m);
	tl_compare_series(&c, x, n / 2, x + n / 2, n - n / 2, &few, NULL);
	free(x);
	return 0;
}
