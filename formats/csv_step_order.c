/*
 * csv_step_order.c - rows of a table in the order of their steps: tables are sorted by other columns,
 * as text, or not at all. Epochs and restarts, whose numbers begin anew, are no disorder.
 */
#include "csv_step_order.h"

#include <stdlib.h>
#include <string.h>

enum {
	LINES_MAX = 1 << 20,
	TEXTS_MAX = 256 << 20 /* bytes */
};

int csv_step_order_keep(struct csv_step_order *order, const struct step_line *line,
			struct tl_error *err)
{
	struct step_line *kept;

	if (tl_grow(&order->lines, &order->capacity, order->count + 1, err) < 0)
		return TL_NOMEM;
	kept = &order->lines[order->count++];
	*kept = *line;
	kept->sequence = order->count;
	if (line->detail)
		kept->detail =
			tl_arena_copy(&order->texts, line->detail, strlen(line->detail), err);
	if (line->detail && !kept->detail)
		return TL_NOMEM;
	return order->count == LINES_MAX || order->texts.total > TEXTS_MAX;
}

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_sequence(const void *a, const void *b)
{
	const struct step_line *x = a, *y = b;

	return compare((int64_t)x->sequence, (int64_t)y->sequence);
}

static int by_rank(const void *a, const void *b)
{
	const struct step_line *x = a, *y = b;
	int order = compare(x->rank, y->rank);

	return order ? order : by_sequence(a, b);
}

static int by_number(const void *a, const void *b)
{
	const struct step_line *x = a, *y = b;
	int order = compare(x->number, y->number);

	return order ? order : by_sequence(a, b);
}

static int by_time(const void *a, const void *b)
{
	const struct step_line *x = a, *y = b;
	int order = compare(x->time, y->time);

	return order ? order : by_sequence(a, b);
}

/* Of the rows of one rank, as they stand in the file. */
struct manner {
	size_t backs;	   /* rows with a smaller number than the row before */
	size_t deep_backs; /* by more than a row or two */
	bool has_times, times_ascend, ends_highest;
	uint64_t first_back;
};

static struct manner look_at(const struct step_line *lines, size_t count)
{
	struct manner m = { .has_times = true, .times_ascend = true };
	int64_t highest = lines[0].number;

	for (size_t i = 0; i < count; i++) {
		m.has_times &= lines[i].has_time;
		if (!i)
			continue;
		m.times_ascend &= lines[i].time >= lines[i - 1].time;
		highest = lines[i].number > highest ? lines[i].number : highest;
		if (lines[i].number >= lines[i - 1].number)
			continue;
		if (!m.backs++)
			m.first_back = lines[i].position;
		m.deep_backs += i > 2 && lines[i - 3].number > lines[i].number;
	}
	m.ends_highest = lines[count - 1].number == highest;
	return m;
}

static bool has_number_twice(const struct step_line *sorted, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (sorted[i].number == sorted[i - 1].number)
			return true;
	return false;
}

/* The rows of one rank. */
static bool sort_rank(struct csv_step_order *order, struct step_line *lines, size_t count)
{
	struct manner m = look_at(lines, count);
	bool is_restart = m.backs == m.deep_backs && m.backs <= count / 8 && m.ends_highest;

	if (!m.backs || (m.has_times && m.times_ascend) || (!m.has_times && is_restart))
		return false;
	qsort(lines, count, sizeof(*lines), by_number);
	if (has_number_twice(lines, count)) {
		/* times tell epochs apart; without them nothing does */
		qsort(lines, count, sizeof(*lines), m.has_times ? by_time : by_sequence);
		if (!m.has_times)
			return false;
	}
	if (!order->moved || m.first_back < order->first_moved)
		order->first_moved = m.first_back;
	order->moved += m.backs;
	return true;
}

static bool is_in_order(const struct csv_step_order *order)
{
	for (size_t i = 1; i < order->count; i++)
		if (order->lines[i].number < order->lines[i - 1].number)
			return false;
	return true;
}

bool csv_step_order_sort(struct csv_step_order *order)
{
	struct step_line *lines = order->lines;
	bool is_sorted = false;

	if (is_in_order(order))
		return false;
	qsort(lines, order->count, sizeof(*lines), by_rank);
	for (size_t begin = 0, end; begin < order->count; begin = end) {
		for (end = begin + 1; end < order->count && lines[end].rank == lines[begin].rank;
		     end++)
			;
		is_sorted |= sort_rank(order, lines + begin, end - begin);
	}
	if (!is_sorted)
		qsort(lines, order->count, sizeof(*lines), by_sequence);
	return is_sorted;
}

void csv_step_order_release(struct csv_step_order *order)
{
	free(order->lines);
	tl_arena_release(&order->texts);
	*order = (struct csv_step_order) { 0 };
}
