/*
 * step_breakdown.c - where the time of each step went on its devices: busy, or idle because nothing
 * had been launched. Sums are exact: integers, each nanosecond of a step counted once.
 */
#include "analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device_work.h"
#include "memory.h"
#include "ranges.h"
#include "stats.h"

/* A stretch in which the device is never idle. */
struct busy {
	int64_t begin_ns, end_ns;
	int64_t launch_ns; /* of the work that ended the idleness before it */
};

/* One device, ready to be asked about windows. */
struct view {
	const struct tl_device *device;
	const struct tl_device_task *
		*asked; /* by the time they were asked for; told devices only */
	size_t asked_count;
	struct busy *busy;
	size_t busy_count, busy_capacity;
	struct tl_ranges computing, communication, both;
};

/* How long a step lasts on a device, as profilers see it that split time themselves. */
struct window {
	int64_t begin_ns, end_ns; /* end < begin: nothing was asked for in the step */
	int64_t first_ns, last_ns, first_work_ns;
	int64_t sums[TL_TOLD_PARTS];
	bool has_spans, has_work;
};

struct breaking {
	struct tl_store *store;
	const struct tl_steps *steps;
	struct tl_steps_breakdown *out;
	size_t capacity;
	/* of the source at hand */
	int64_t source_id;
	struct tl_device_work work;
	struct view *views; /* one a device */
	size_t *threads; /* where the launches of each thread begin, and where the last ones end */
	size_t thread_count;
	double *scratch;
	size_t scratch_count, scratch_capacity;
};

/* ---- devices ---- */

static int add_busy(struct view *v, const struct tl_device_task *task, struct tl_error *err)
{
	struct busy *last = v->busy_count ? &v->busy[v->busy_count - 1] : NULL;
	int ret;

	if (last && task->begin_ns <= last->end_ns) {
		if (task->end_ns > last->end_ns)
			last->end_ns = task->end_ns;
		/* of those that begin together, the one launched first ended the idleness */
		if (task->begin_ns == last->begin_ns && task->launch_ns != TL_TIME_UNKNOWN &&
		    (last->launch_ns == TL_TIME_UNKNOWN || task->launch_ns < last->launch_ns))
			last->launch_ns = task->launch_ns;
		return TL_OK;
	}
	ret = tl_grow(&v->busy, &v->busy_capacity, v->busy_count + 1, err);
	if (ret == TL_OK)
		v->busy[v->busy_count++] =
			(struct busy) { task->begin_ns, task->end_ns, task->launch_ns };
	return ret;
}

static int make_view(struct view *v, const struct tl_device *device, struct tl_error *err)
{
	int ret = TL_OK;

	memset(v, 0, sizeof(*v));
	v->device = device;
	for (size_t i = 0; i < device->task_count && ret == TL_OK; i++) {
		const struct tl_device_task *task = &device->tasks[i];

		ret = add_busy(v, task, err);
		if (ret == TL_OK && task->class_ == TL_SLICE_KERNEL)
			ret = tl_ranges_add(&v->computing, task->begin_ns, task->end_ns, err);
		else if (ret == TL_OK && task->class_ == TL_SLICE_COMMUNICATION)
			ret = tl_ranges_add(&v->communication, task->begin_ns, task->end_ns, err);
	}
	tl_ranges_settle(&v->computing);
	tl_ranges_settle(&v->communication);
	return ret < 0 ? ret : tl_ranges_intersect(&v->both, &v->computing, &v->communication, err);
}

static void release_views(struct breaking *b)
{
	for (size_t i = 0; b->views && i < b->work.device_count; i++) {
		free(b->views[i].busy);
		tl_ranges_release(&b->views[i].computing);
		tl_ranges_release(&b->views[i].communication);
		tl_ranges_release(&b->views[i].both);
		free(b->views[i].asked);
	}
	free(b->views);
	free(b->threads);
	b->views = NULL;
	b->threads = NULL;
	b->thread_count = 0;
	tl_device_work_release(&b->work);
	b->source_id = 0;
}

/* Where the launches of one thread end, those of the next one begin. */
static int find_threads(struct breaking *b, struct tl_error *err)
{
	size_t capacity = 0;
	int ret = TL_OK;

	for (size_t i = 0; i < b->work.launch_count && ret == TL_OK; i++) {
		if (i && b->work.launches[i].track_id == b->work.launches[i - 1].track_id)
			continue;
		ret = tl_grow(&b->threads, &capacity, b->thread_count + 2, err);
		if (ret == TL_OK)
			b->threads[b->thread_count++] = i;
	}
	if (ret == TL_OK && b->thread_count)
		b->threads[b->thread_count] = b->work.launch_count;
	return ret;
}

static int take_source(struct breaking *b, int64_t source_id, struct tl_error *err)
{
	int ret;

	if (b->source_id == source_id)
		return TL_OK;
	release_views(b);
	ret = tl_device_work_load(&b->work, b->store, source_id, 0, err);
	if (ret < 0)
		return ret;
	b->views = tl_alloc(b->work.device_count + 1, sizeof(*b->views), err);
	if (!b->views)
		return TL_NOMEM;
	for (size_t i = 0; i < b->work.device_count && ret == TL_OK; i++)
		ret = make_view(&b->views[i], &b->work.devices[i], err);
	b->source_id = source_id;
	return ret < 0 ? ret : find_threads(b, err);
}

/* ---- a step on a device ---- */

static int64_t at_most(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t at_least(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Times of a file may be anything: differences and sums stay at the limits instead of wrapping. */
static int64_t minus(int64_t a, int64_t b)
{
	int64_t out;

	return __builtin_sub_overflow(a, b, &out) ? a < b ? INT64_MIN : INT64_MAX : out;
}

static int64_t plus(int64_t a, int64_t b)
{
	int64_t out;

	return __builtin_add_overflow(a, b, &out) ? a < 0 ? INT64_MIN : INT64_MAX : out;
}

/* The idle time of [from, to), which ended, or will, when work launched at launch_ns began. */
static void add_idle(struct tl_step_parts *p, int64_t from, int64_t to, int64_t launch_ns)
{
	int64_t launched;

	if (to <= from)
		return;
	if (launch_ns == TL_TIME_UNKNOWN) {
		p->idle_other_ns += to - from;
		return;
	}
	launched = at_most(to, at_least(from, launch_ns));
	p->idle_late_ns += launched - from;
	p->idle_launched_ns += to - launched;
}

static void split_idle(const struct view *v, int64_t begin, int64_t end, struct tl_step_parts *p)
{
	size_t low = 0, high = v->busy_count;
	int64_t now = begin;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (v->busy[middle].end_ns > begin)
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < v->busy_count && now < end; low++) {
		const struct busy *x = &v->busy[low];
		int64_t until = at_most(at_least(x->begin_ns, now), end);

		add_idle(p, now, until, x->launch_ns);
		now = until;
		if (x->begin_ns >= end)
			break;
		until = at_most(x->end_ns, end);
		p->busy_ns += until - now;
		now = until;
	}
	add_idle(p, now, end, TL_TIME_UNKNOWN);
}

/* From the first kernel or collective of the window to the end of the last one. */
static void set_stage(const struct view *v, int64_t begin, int64_t end, struct tl_step_split *p)
{
	const struct tl_ranges *const both[] = { &v->computing, &v->communication };
	int64_t first = end, last = begin;

	for (size_t k = 0; k < 2; k++) {
		for (size_t i = tl_ranges_first(both[k], begin);
		     i < both[k]->count && both[k]->ranges[i].begin_ns < end; i++) {
			first = at_most(first, at_least(both[k]->ranges[i].begin_ns, begin));
			last = at_least(last, at_most(both[k]->ranges[i].end_ns, end));
		}
	}
	p->preparing_ns = -1;
	if (last <= first)
		return;
	p->preparing_ns = first - begin;
	p->stage_ns = last - first;
	p->free_ns = p->stage_ns - p->computing_ns - p->exposed_ns;
}

static int note_value(struct breaking *b, int64_t ns, struct tl_error *err)
{
	int ret = tl_grow(&b->scratch, &b->scratch_capacity, b->scratch_count + 1, err);

	if (ret == TL_OK)
		b->scratch[b->scratch_count++] = (double)ns;
	return ret;
}

/* Median and maximum of what was noted, which is forgotten. */
static void take_values(struct breaking *b, double *median, double *max)
{
	*median = *max = NAN;
	for (size_t i = 0; i < b->scratch_count; i++)
		*max = fmax(*max, b->scratch[i]);
	if (b->scratch_count)
		*median = tl_median(b->scratch, b->scratch_count);
	b->scratch_count = 0;
}

/* The first launch of a thread at ts or later. */
static size_t first_launch(const struct breaking *b, size_t thread, int64_t ts)
{
	size_t low = b->threads[thread], high = b->threads[thread + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (b->work.launches[middle].begin_ns < ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Notes the gaps between the launches of a thread, or how long after each its work began. */
static int note_launches(struct breaking *b, size_t thread, size_t device, int64_t begin,
			 int64_t end, bool is_gap, struct tl_step_parts *p, struct tl_error *err)
{
	const struct tl_launch *before = NULL;
	int ret = TL_OK;

	for (size_t i = first_launch(b, thread, begin); i < b->threads[thread + 1]; i++) {
		const struct tl_launch *x = &b->work.launches[i];

		if (x->begin_ns >= end || ret < 0)
			break;
		if (x->device != device)
			continue;
		if (!is_gap) {
			p->launch_count++;
			p->early_count += x->first_ns < x->begin_ns;
			ret = note_value(b, minus(x->first_ns, x->begin_ns), err);
		} else if (before) {
			ret = note_value(b, at_least(minus(x->begin_ns, before->end_ns), 0), err);
		}
		before = x;
	}
	return ret;
}

static int measure_launches(struct breaking *b, size_t device, int64_t begin, int64_t end,
			    struct tl_step_parts *p, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t t = 0; t < b->thread_count && ret == TL_OK; t++)
		ret = note_launches(b, t, device, begin, end, true, p, err);
	take_values(b, &p->launch_gap_ns, &p->launch_gap_max_ns);
	for (size_t t = 0; t < b->thread_count && ret == TL_OK; t++)
		ret = note_launches(b, t, device, begin, end, false, p, err);
	take_values(b, &p->delay_ns, &p->delay_max_ns);
	return ret;
}

static size_t count_tasks(const struct tl_device *device, int64_t begin, int64_t end)
{
	size_t bounds[2];
	const int64_t at[2] = { begin, end };

	for (int k = 0; k < 2; k++) {
		size_t low = 0, high = device->task_count;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (device->tasks[middle].begin_ns < at[k])
				low = middle + 1;
			else
				high = middle;
		}
		bounds[k] = low;
	}
	return bounds[1] - bounds[0];
}

static int add_step(struct breaking *b, size_t series, size_t step, size_t device,
		    struct tl_error *err)
{
	const struct tl_step *x = &b->steps->series[series].steps[step];
	const struct view *v = &b->views[device];
	int64_t begin = x->ts, end = x->ts + x->span_ns;
	struct tl_step_parts *p;
	int ret = tl_grow(&b->out->parts, &b->capacity, b->out->count + 1, err);

	if (ret < 0)
		return ret;
	p = &b->out->parts[b->out->count++];
	*p = (struct tl_step_parts) {
		.series = series,
		.step = step,
		.device = v->device->number,
		.has_work = v->device->task_count > 0,
		.work.computing_ns = tl_ranges_inside_ns(&v->computing, begin, end),
		.work.communication_ns = tl_ranges_inside_ns(&v->communication, begin, end),
		.task_count = count_tasks(v->device, begin, end),
	};
	p->work.exposed_ns = p->work.communication_ns - tl_ranges_inside_ns(&v->both, begin, end);
	set_stage(v, begin, end, &p->work);
	split_idle(v, begin, end, p);
	p->copying_ns = p->busy_ns - p->work.computing_ns - p->work.exposed_ns;
	return measure_launches(b, device, begin, end, p, err);
}

/* ---- what the profiler itself says ---- */

static int by_asked(const void *left, const void *right)
{
	const struct tl_device_task *a = *(const struct tl_device_task *const *)left;
	const struct tl_device_task *b = *(const struct tl_device_task *const *)right;

	if (a->asked_ns != b->asked_ns)
		return a->asked_ns < b->asked_ns ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int sort_asked(struct view *v, struct tl_error *err)
{
	const struct tl_device *device = v->device;
	size_t count = device->task_count + device->other_count;

	v->asked = tl_alloc(count + 1, sizeof(*v->asked), err);
	if (!v->asked)
		return TL_NOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct tl_device_task *task =
			i < device->task_count ? &device->tasks[i]
					       : &device->others[i - device->task_count];

		if (task->asked_ns != TL_TIME_UNKNOWN)
			v->asked[v->asked_count++] = task;
	}
	if (v->asked_count > 1)
		qsort(v->asked, v->asked_count, sizeof(*v->asked), by_asked);
	return TL_OK;
}

static size_t first_asked(const struct view *v, int64_t ts)
{
	size_t low = 0, high = v->asked_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (v->asked[middle]->asked_ns < ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * From the begin of what was asked for first in the step to the end of what was asked for last, or of
 * the step. Without arrows it is the step itself.
 */
static struct window window_of(const struct view *v, const struct tl_step *x)
{
	struct window w = { .begin_ns = x->ts, .end_ns = plus(x->ts, x->span_ns) };
	size_t first = first_asked(v, x->ts), end = first_asked(v, plus(w.end_ns, 1));

	if (!v->asked_count)
		return w;
	if (first == end)
		return (struct window) { .begin_ns = 0, .end_ns = -1 };
	w.begin_ns = v->asked[first]->begin_ns;
	for (size_t i = end; i > first; i--) {
		if (v->asked[i - 1]->asked_ns != v->asked[end - 1]->asked_ns)
			break;
		w.end_ns = at_least(w.end_ns, v->asked[i - 1]->end_ns);
	}
	return w;
}

static void add_told(struct window *w, const struct tl_told_span *span)
{
	bool is_work = span->part == TL_TOLD_COMPUTING || span->part == TL_TOLD_COMMUNICATION;

	if (!w->has_spans || span->begin_ns < w->first_ns)
		w->first_ns = span->begin_ns;
	if (!w->has_spans || span->end_ns > w->last_ns)
		w->last_ns = span->end_ns;
	if (is_work && (!w->has_work || span->begin_ns < w->first_work_ns))
		w->first_work_ns = span->begin_ns;
	w->has_spans = true;
	w->has_work |= is_work;
	w->sums[span->part] = plus(w->sums[span->part], minus(span->end_ns, span->begin_ns));
}

/* A span is of the first step on whose device time it begins. */
static void sum_told(const struct tl_device *device, struct window *windows, size_t count)
{
	size_t done = 0;

	for (size_t i = 0; i < device->told_count; i++) {
		const struct tl_told_span *span = &device->told[i];

		while (done < count && windows[done].end_ns <= span->begin_ns)
			done++;
		for (size_t k = done; k < count; k++) {
			if (windows[k].begin_ns > span->begin_ns ||
			    windows[k].end_ns <= span->begin_ns)
				continue;
			add_told(&windows[k], span);
			break;
		}
	}
}

static void take_told(struct tl_step_parts *p, const struct window *w, const struct tl_step *x)
{
	p->has_told = w->has_spans;
	p->told = (struct tl_step_split) {
		.computing_ns = w->sums[TL_TOLD_COMPUTING],
		.communication_ns = w->sums[TL_TOLD_COMMUNICATION],
		.exposed_ns = w->sums[TL_TOLD_EXPOSED],
		.free_ns = w->sums[TL_TOLD_FREE],
		.stage_ns = minus(minus(w->last_ns, w->first_ns), w->sums[TL_TOLD_RECEIVE]),
		.preparing_ns = w->has_work ? minus(w->first_work_ns, x->ts) : -1,
	};
}

static int tell_device(struct breaking *b, const struct tl_steps_part *part,
		       const struct tl_step *steps, size_t device, size_t first_row,
		       struct tl_error *err)
{
	struct view *v = &b->views[device];
	size_t count = part->end - part->first;
	struct window *windows = tl_alloc(count + 1, sizeof(*windows), err);
	int ret = windows ? TL_OK : TL_NOMEM;

	if (ret == TL_OK && !v->asked)
		ret = sort_asked(v, err);
	for (size_t i = 0; i < count && ret == TL_OK; i++)
		windows[i] = window_of(v, &steps[part->first + i]);
	if (ret == TL_OK)
		sum_told(v->device, windows, count);
	for (size_t i = first_row; i < b->out->count && ret == TL_OK; i++) {
		struct tl_step_parts *p = &b->out->parts[i];

		if (p->device == v->device->number)
			take_told(p, &windows[p->step - part->first], &steps[p->step]);
	}
	free(windows);
	return ret;
}

/* ---- series ---- */

/* A log goes on for longer than a trace: steps that are not wholly in it are left out. */
static bool is_inside(const struct breaking *b, const struct tl_steps_part *part,
		      const struct tl_step *x)
{
	int64_t first = INT64_MAX, last = INT64_MIN, end;

	if (!x->has_ts || __builtin_add_overflow(x->ts, x->span_ns, &end))
		return false;
	if (part->source_id == b->source_id)
		return true;
	for (size_t d = 0; d < b->work.device_count; d++) {
		const struct view *v = &b->views[d];

		if (!v->busy_count)
			continue;
		first = at_most(first, v->busy[0].begin_ns);
		last = at_least(last, v->busy[v->busy_count - 1].end_ns);
	}
	return x->ts >= first && end <= last;
}

static int break_down_part(struct breaking *b, size_t series, const struct tl_steps_part *part,
			   struct tl_error *err)
{
	const struct tl_steps_series *s = &b->steps->series[series];
	size_t first_row = b->out->count;
	int64_t source_id;
	int ret = tl_device_source(b->store, part->source_id, s->rank, &source_id, err);

	if (ret < 0 || !source_id)
		return ret;
	ret = take_source(b, source_id, err);
	for (size_t i = part->first; i < part->end && ret == TL_OK; i++) {
		if (!is_inside(b, part, &s->steps[i]))
			continue;
		for (size_t d = 0; d < b->work.device_count && ret == TL_OK; d++)
			ret = add_step(b, series, i, d, err);
	}
	for (size_t d = 0; d < b->work.device_count && ret == TL_OK; d++)
		if (b->work.has_told && b->work.devices[d].told_count)
			ret = tell_device(b, part, s->steps, d, first_row, err);
	return ret;
}

/* ---- tables that say it ---- */

enum mark_column {
	MARK_NUMBER,
	MARK_RANK,
	MARK_COMPUTING,
	MARK_COMMUNICATION,
	MARK_EXPOSED,
	MARK_FREE,
	MARK_STAGE,
	MARK_PREPARING
};

static const char mark_columns[] =
	"number rank computing communication exposed free stage preparing";

#define MARK_PART(name) "json_extract(detail, '$." name "_ns') AS " name

static const char marks_sql[] =
	"SELECT number, rank, " MARK_PART("computing") ", " MARK_PART("communication") ", " MARK_PART(
		"exposed") ", " MARK_PART("free") ", " MARK_PART("stage") ", " MARK_PART("preparing") " F"
												      "ROM step_mark WHERE source_id = ? AND json_extract(detail, '$.computing_ns') IS NOT NULL "
												      "ORDER BY rowid";

static int add_mark(struct breaking *b, size_t series, size_t step, struct tl_statement *st,
		    struct tl_error *err)
{
	struct tl_step_parts *p;
	int ret = tl_grow(&b->out->parts, &b->capacity, b->out->count + 1, err);

	if (ret < 0)
		return ret;
	p = &b->out->parts[b->out->count++];
	*p = (struct tl_step_parts) {
		.series = series,
		.step = step,
		.device = -1,
		.has_told = true,
		.told.computing_ns = tl_column_i64(st, MARK_COMPUTING),
		.told.communication_ns = tl_column_i64(st, MARK_COMMUNICATION),
		.told.exposed_ns = tl_column_i64(st, MARK_EXPOSED),
		.told.free_ns = tl_column_i64(st, MARK_FREE),
		.told.stage_ns = tl_column_i64(st, MARK_STAGE),
		.told.preparing_ns = tl_column_is_null(st, MARK_PREPARING)
					     ? -1
					     : tl_column_i64(st, MARK_PREPARING),
		.launch_gap_ns = NAN,
		.launch_gap_max_ns = NAN,
		.delay_ns = NAN,
		.delay_max_ns = NAN,
	};
	return TL_OK;
}

/* Steps of a source are in the order of their marks. */
static int take_marks(struct breaking *b, size_t series, const struct tl_steps_part *part,
		      struct tl_error *err)
{
	const struct tl_steps_series *s = &b->steps->series[series];
	struct tl_statement *st;
	size_t step = part->first;
	int ret = tl_statement_open(&st, b->store, marks_sql, mark_columns, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, part->source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int64_t rank = tl_column_is_null(st, MARK_RANK) ? -1 : tl_column_i64(st, MARK_RANK);
		size_t at = step;

		if (rank != s->rank)
			continue;
		while (at < part->end && s->steps[at].number != tl_column_i64(st, MARK_NUMBER))
			at++;
		if (at == part->end)
			continue; /* a step without a usable duration */
		step = at + 1;
		ret = add_mark(b, series, at, st, err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	return ret;
}

/* ---- public ---- */

static int break_down_series(struct breaking *b, size_t series, struct tl_error *err)
{
	const struct tl_steps_series *s = &b->steps->series[series];
	int ret = TL_OK;

	for (size_t i = 0; i <= s->more_count && ret == TL_OK; i++) {
		const struct tl_steps_part part = tl_steps_part(s, i);
		size_t before = b->out->count;

		ret = break_down_part(b, series, &part, err);
		if (ret == TL_OK && b->out->count == before)
			ret = take_marks(b, series, &part, err);
	}
	return ret;
}

int tl_steps_break_down(struct tl_store *store, const struct tl_steps *steps,
			struct tl_steps_breakdown *out, struct tl_error *err)
{
	struct breaking b = { .store = store, .steps = steps, .out = out };
	int ret = TL_OK;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < steps->series_count && ret == TL_OK; i++)
		ret = break_down_series(&b, i, err);
	release_views(&b);
	free(b.scratch);
	if (ret == TL_OK && !out->count)
		ret = tl_fail(err, TL_NOTHING,
			      "no device work during the steps: a trace with kernels is needed "
			      "(ProfilerActivity.CUDA, NPU, ... beside CPU), of the same rank");
	if (ret < 0)
		tl_steps_breakdown_release(out);
	return ret;
}

void tl_steps_breakdown_release(struct tl_steps_breakdown *breakdown)
{
	free(breakdown->parts);
	memset(breakdown, 0, sizeof(*breakdown));
}
