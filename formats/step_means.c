/*
 * step_means.c - step k of an epoch took k times the mean after it less k - 1 times the mean before
 * it. Means are rounded, and that grows with k: steps are joined until it is small beside their time.
 */
#include "step_means.h"

/* Rounding may be so much of a row: a twentieth is the least change that is looked for. */
enum { FINE = 20 };

static struct step_means_row row_so_far(const struct step_means *m)
{
	struct step_means_row row = {
		.number = m->before + m->number,
		.count = m->number - m->from,
		.duration_ns = m->total_ns - m->from_ns,
	};

	if (__builtin_mul_overflow(m->tick_ns / 2, m->number + m->from, &row.rounding_ns))
		row.rounding_ns = INT64_MAX;
	return row;
}

static bool is_fine(const struct step_means_row *row)
{
	return row->rounding_ns <= row->duration_ns / FINE;
}

/* The last mean is settled: it ends a row, if it is fine enough. */
static int settle(struct step_means *m, struct step_means_row *ended)
{
	struct step_means_row row = row_so_far(m);
	int has_ended = m->has_done;

	if (!row.count || !is_fine(&row))
		return 0;
	*ended = m->done;
	m->done = row;
	m->has_done = true;
	m->from = m->number;
	m->from_ns = m->total_ns;
	return has_ended;
}

/* What is left, which is not fine, goes to the row before. */
static int end_epoch(struct step_means *m, struct step_means_row *last)
{
	struct step_means_row rest = row_so_far(m);

	*last = rest;
	if (m->has_done) {
		*last = m->done;
		last->count += rest.count;
		last->duration_ns += rest.duration_ns;
		last->number = rest.number;
		if (rest.count)
			last->rounding_ns = rest.rounding_ns;
	}
	m->has_done = m->has_pending = false;
	m->before += m->number;
	m->number = m->total_ns = m->from = m->from_ns = 0;
	return last->count > 0;
}

int step_means_add(struct step_means *m, int64_t number, int64_t mean_ns, int64_t tick_ns,
		   int64_t epoch, struct step_means_row rows[STEP_MEANS_ROWS])
{
	int64_t total;
	int count = 0;

	if (number <= 0 || number > INT32_MAX || __builtin_mul_overflow(number, mean_ns, &total) ||
	    m->before > INT64_MAX / 2)
		return 0;
	if (m->has_pending && (number < m->number || epoch != m->epoch))
		count = step_means_finish(m, rows);
	else if (m->has_pending && number > m->number)
		count = settle(m, rows);
	m->has_pending = true;
	m->epoch = epoch;
	m->number = number;
	m->total_ns = total;
	m->tick_ns = tick_ns;
	return count;
}

int step_means_finish(struct step_means *m, struct step_means_row rows[STEP_MEANS_ROWS])
{
	int count;

	if (!m->has_pending)
		return 0;
	count = settle(m, rows);
	return count + end_epoch(m, &rows[count]);
}
