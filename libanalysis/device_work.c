/*
 * device_work.c - what the devices of one source did, and who launched it when: rows to arrays in
 * order of time.
 */
#include "device_work.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "slices.h"

/* The beginning or the end of an arrow. */
struct arrow {
	int64_t category_id, id, ts, track_id;
};

struct loading {
	struct tl_device_work *out;
	struct tl_store *store;
	int64_t source_id;
	unsigned flags;
	struct tl_launch *launches; /* all runtime calls, by correlation */
	size_t launch_count, launch_capacity;
	struct arrow *arrows; /* begins */
	size_t arrow_count, arrow_capacity;
	bool has_unlaunched;
};

/* ---- devices ---- */

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int find_device(struct tl_device_work *work, int32_t number, struct tl_device **device,
		       struct tl_error *err)
{
	size_t capacity = work->device_count; /* devices are few */
	int ret;

	for (size_t i = 0; i < work->device_count; i++) {
		*device = &work->devices[i];
		if ((*device)->number == number)
			return TL_OK;
	}
	ret = tl_grow(&work->devices, &capacity, work->device_count + 1, err);
	if (ret < 0)
		return ret;
	*device = &work->devices[work->device_count++];
	(*device)->number = number;
	return TL_OK;
}

static int by_number(const void *left, const void *right)
{
	const struct tl_device *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

static int append(struct tl_device *to, const struct tl_device *from, struct tl_error *err)
{
	int ret = tl_grow(&to->tasks, &to->task_capacity, to->task_count + from->task_count, err);

	if (ret == TL_OK)
		ret = tl_grow(&to->others, &to->other_capacity, to->other_count + from->other_count,
			      err);
	if (ret == TL_OK)
		ret = tl_grow(&to->told, &to->told_capacity, to->told_count + from->told_count,
			      err);
	if (ret < 0)
		return ret;
	if (from->task_count)
		memcpy(to->tasks + to->task_count, from->tasks,
		       from->task_count * sizeof(*from->tasks));
	if (from->other_count)
		memcpy(to->others + to->other_count, from->others,
		       from->other_count * sizeof(*from->others));
	if (from->told_count)
		memcpy(to->told + to->told_count, from->told,
		       from->told_count * sizeof(*from->told));
	to->task_count += from->task_count;
	to->other_count += from->other_count;
	to->told_count += from->told_count;
	return TL_OK;
}

static void release_device(struct tl_device *device)
{
	free(device->tasks);
	free(device->others);
	free(device->told);
}

/* What names no device is of the only one that is named. */
static int join_unnamed(struct tl_device_work *work, struct tl_error *err)
{
	int ret;

	if (work->device_count > 1)
		qsort(work->devices, work->device_count, sizeof(*work->devices), by_number);
	if (work->device_count != 2 || work->devices[0].number >= 0)
		return TL_OK;
	ret = append(&work->devices[1], &work->devices[0], err);
	if (ret < 0)
		return ret;
	release_device(&work->devices[0]);
	work->devices[0] = work->devices[1];
	work->device_count = 1;
	return TL_OK;
}

/* ---- rows ---- */

enum task_column { TASK_DEVICE, TASK_TRACK, TASK_TS, TASK_DUR, TASK_CLASS, TASK_CORRELATION };

static const char task_columns[] = "device track ts dur class correlation";

/* The numbers are those of enum tl_slice_class. */
static const char tasks_sql[] =
	"SELECT k.device AS device, a.track_id AS track, a.ts AS ts, a.dur AS dur, a.class AS class, "
	"a.correlation AS correlation FROM " TL_SLICES_AND_TRACKS " WHERE " TL_OF_SOURCE
	"= 'device') AND CASE ?2 WHEN 0 THEN a.class IN (4, 5, 6) WHEN 1 THEN a.class = 5 ELSE a.class "
	"NOT IN (7, 11) END AND a.ts IS NOT NULL AND a.dur >= 0 AND a.flags = 0";

/* "what" of the statement above. */
enum { TASKS_WORK, TASKS_COLLECTIVES, TASKS_ALL };

static int add_task(struct tl_device *device, const struct tl_device_task *task,
		    struct tl_error *err)
{
	bool is_work = task->class_ == TL_SLICE_KERNEL || task->class_ == TL_SLICE_COMMUNICATION ||
		       task->class_ == TL_SLICE_MEMORY_COPY;
	int ret;

	if (is_work) {
		ret = tl_grow(&device->tasks, &device->task_capacity, device->task_count + 1, err);
		if (ret == TL_OK)
			device->tasks[device->task_count++] = *task;
	} else {
		ret = tl_grow(&device->others, &device->other_capacity, device->other_count + 1,
			      err);
		if (ret == TL_OK)
			device->others[device->other_count++] = *task;
	}
	return ret;
}

static int load_tasks(struct loading *l, struct tl_error *err)
{
	struct tl_statement *st;
	struct tl_device *device;
	int ret = tl_statement_open(&st, l->store, tasks_sql, task_columns, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, l->source_id);
	tl_bind_i64(st, 2,
		    l->flags & TL_WORK_COLLECTIVES ? TASKS_COLLECTIVES
		    : l->out->has_told		   ? TASKS_ALL
						   : TASKS_WORK);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int32_t number = tl_column_is_null(st, TASK_DEVICE)
					 ? -1
					 : (int32_t)tl_column_i64(st, TASK_DEVICE);
		struct tl_device_task task = {
			.begin_ns = tl_column_i64(st, TASK_TS),
			.track_id = tl_column_i64(st, TASK_TRACK),
			.class_ = (uint8_t)tl_column_i64(st, TASK_CLASS),
			.has_correlation = !tl_column_is_null(st, TASK_CORRELATION),
			.correlation = tl_column_i64(st, TASK_CORRELATION),
			.launch_ns = TL_TIME_UNKNOWN,
			.asked_ns = TL_TIME_UNKNOWN,
		};

		if (__builtin_add_overflow(task.begin_ns, tl_column_i64(st, TASK_DUR),
					   &task.end_ns))
			continue; /* no time that a clock shows */
		ret = find_device(l->out, number, &device, err);
		if (ret == TL_OK)
			ret = add_task(device, &task, err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	return ret;
}

/* Runtime calls on threads, whether work came of them or not. */
static int load_launches(struct loading *l, struct tl_error *err)
{
	static const char sql[] =
		"SELECT NULL AS device, a.track_id AS track, a.ts AS ts, a.dur AS dur, a.class AS class, "
		"a.correlation AS correlation FROM slice a WHERE " TL_OF_SOURCE
		"= 'thread') AND a.class = 3 AND a.ts IS NOT NULL AND a.correlation IS NOT NULL";
	struct tl_statement *st;
	int ret = tl_statement_open(&st, l->store, sql, task_columns, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, l->source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int64_t ts = tl_column_i64(st, TASK_TS), end;

		ret = tl_grow(&l->launches, &l->launch_capacity, l->launch_count + 1, err);
		if (ret < 0)
			break;
		if (__builtin_add_overflow(ts, tl_column_i64(st, TASK_DUR), &end))
			end = ts;
		l->launches[l->launch_count++] = (struct tl_launch) {
			.track_id = tl_column_i64(st, TASK_TRACK),
			.begin_ns = ts,
			.end_ns = end,
			.correlation = tl_column_i64(st, TASK_CORRELATION),
		};
	}
	tl_statement_close(st);
	return ret;
}

/* The profiler's own split, and what of it is waiting for another stage of a pipeline. */
static int load_told(struct loading *l, struct tl_error *err)
{
	static const char sql[] =
		"SELECT k.device AS device, a.track_id AS track, a.ts AS ts, a.dur AS dur, CASE n.text "
		"WHEN 'Computing' THEN 0 WHEN 'Communication' THEN 1 WHEN 'Communication(Not Overlapped)' "
		"THEN 2 WHEN 'Free' THEN 3 ELSE 4 END AS class, a.correlation AS correlation "
		"FROM " TL_SLICES_AND_TRACKS " CROSS JOIN string n ON n.string_id = a.name_id "
		"WHERE " TL_OF_SOURCE
		"IN ('device', 'other')) AND a.class IN (5, 11) AND a.ts IS NOT "
		"NULL AND a.dur >= 0 AND a.flags = 0 AND (a.class = 11 AND n.text IN ('Computing', "
		"'Communication', 'Communication(Not Overlapped)', 'Free') OR a.class = 5 AND n.text GLOB "
		"'hcom_receive*')";
	struct tl_statement *st;
	struct tl_device *device;
	int ret = tl_statement_open(&st, l->store, sql, task_columns, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, l->source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int32_t number = tl_column_is_null(st, TASK_DEVICE)
					 ? -1
					 : (int32_t)tl_column_i64(st, TASK_DEVICE);
		int64_t ts = tl_column_i64(st, TASK_TS), end;

		if (__builtin_add_overflow(ts, tl_column_i64(st, TASK_DUR), &end))
			continue;
		ret = find_device(l->out, number, &device, err);
		if (ret == TL_OK)
			ret = tl_grow(&device->told, &device->told_capacity, device->told_count + 1,
				      err);
		if (ret < 0)
			break;
		device->told[device->told_count++] =
			(struct tl_told_span) { ts, end,
						(enum tl_told_part)tl_column_i64(st, TASK_CLASS) };
		l->out->has_told |= tl_column_i64(st, TASK_CLASS) != TL_TOLD_RECEIVE;
	}
	tl_statement_close(st);
	return ret;
}

/* ---- who launched what ---- */

static int by_correlation(const void *left, const void *right)
{
	const struct tl_launch *a = left, *b = right;
	int order = compare(a->correlation, b->correlation);

	return order ? order : compare(a->begin_ns, b->begin_ns);
}

/* The last call with the id that began before the work; ids may be used again. */
static struct tl_launch *find_launch(const struct loading *l, int64_t correlation, int64_t ts)
{
	size_t low = 0, high = l->launch_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct tl_launch *x = &l->launches[middle];

		if (x->correlation < correlation ||
		    (x->correlation == correlation && x->begin_ns <= ts))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && l->launches[low - 1].correlation == correlation)
		return &l->launches[low - 1];
	return low < l->launch_count && l->launches[low].correlation == correlation
		       ? &l->launches[low] /* clocks that differ: work before its launch */
		       : NULL;
}

static void link_by_correlation(struct loading *l)
{
	if (l->launch_count > 1)
		qsort(l->launches, l->launch_count, sizeof(*l->launches), by_correlation);
	for (size_t d = 0; d < l->out->device_count; d++) {
		for (size_t i = 0; i < l->out->devices[d].task_count; i++) {
			struct tl_device_task *task = &l->out->devices[d].tasks[i];
			struct tl_launch *launch =
				task->has_correlation
					? find_launch(l, task->correlation, task->begin_ns)
					: NULL;

			l->has_unlaunched |= !launch;
			if (!launch)
				continue;
			task->launch_ns = task->asked_ns = launch->begin_ns;
			if (!launch->is_used || task->begin_ns < launch->first_ns) {
				launch->first_ns = task->begin_ns;
				launch->device = d;
			}
			launch->is_used = true;
		}
	}
}

/* ---- arrows ---- */

static int by_id(const void *left, const void *right)
{
	const struct arrow *a = left, *b = right;
	int order = compare(a->category_id, b->category_id);

	if (!order)
		order = compare(a->id, b->id);
	return order ? order : compare(a->ts, b->ts);
}

enum arrow_column { ARROW_TRACK, ARROW_TS, ARROW_ID, ARROW_CATEGORY };

static const char arrow_columns[] = "track ts id category";

static int load_arrows(struct loading *l, struct tl_error *err)
{
	static const char sql[] =
		"SELECT f.track_id AS track, f.ts AS ts, f.id AS id, coalesce(f.category_id, 0) AS category "
		"FROM flow f JOIN track k USING (track_id) WHERE k.source_id = ? AND f.phase = 0 AND "
		"k.kind <> 'device' AND f.ts IS NOT NULL";
	struct tl_statement *st;
	int ret = tl_statement_open(&st, l->store, sql, arrow_columns, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, l->source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = tl_grow(&l->arrows, &l->arrow_capacity, l->arrow_count + 1, err);
		if (ret < 0)
			break;
		l->arrows[l->arrow_count++] =
			(struct arrow) { tl_column_i64(st, ARROW_CATEGORY),
					 tl_column_i64(st, ARROW_ID), tl_column_i64(st, ARROW_TS),
					 tl_column_i64(st, ARROW_TRACK) };
	}
	tl_statement_close(st);
	if (l->arrow_count > 1)
		qsort(l->arrows, l->arrow_count, sizeof(*l->arrows), by_id);
	return ret;
}

/* The last begin before the end; the same id may come again. */
static const struct arrow *find_arrow(const struct loading *l, const struct arrow *end)
{
	size_t low = 0, high = l->arrow_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_id(&l->arrows[middle], end) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && l->arrows[low - 1].category_id == end->category_id &&
	    l->arrows[low - 1].id == end->id)
		return &l->arrows[low - 1];
	return low < l->arrow_count && l->arrows[low].category_id == end->category_id &&
			       l->arrows[low].id == end->id
		       ? &l->arrows[low]
		       : NULL;
}

/* The first task that begins at ts or later. */
static size_t first_task(const struct tl_device_task *tasks, size_t count, int64_t ts)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tasks[middle].begin_ns < ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Where several arrows end at one task, the earliest is the wish for it, the latest its launch, unless
 * a call is known to be that.
 */
static void arrow_ends(struct tl_device_task *tasks, size_t count, const struct arrow *begin,
		       const struct arrow *end)
{
	for (size_t i = first_task(tasks, count, end->ts);
	     i < count && tasks[i].begin_ns == end->ts; i++) {
		struct tl_device_task *task = &tasks[i];

		if (task->track_id != end->track_id)
			continue;
		if (task->asked_ns == TL_TIME_UNKNOWN || begin->ts < task->asked_ns)
			task->asked_ns = begin->ts;
		if (task->launch_ns != TL_TIME_UNKNOWN &&
		    (!task->is_by_arrow || begin->ts <= task->launch_ns))
			continue;
		task->launch_ns = begin->ts;
		task->launch_track_id = begin->track_id;
		task->is_by_arrow = true;
	}
}

/* Begins of arrows that stand for the calls that are not in the trace. */
static int keep_arrows(struct loading *l, struct tl_error *err)
{
	for (size_t d = 0; d < l->out->device_count; d++) {
		for (size_t i = 0; i < l->out->devices[d].task_count; i++) {
			const struct tl_device_task *task = &l->out->devices[d].tasks[i];
			int ret;

			if (!task->is_by_arrow)
				continue;
			ret = tl_grow(&l->launches, &l->launch_capacity, l->launch_count + 1, err);
			if (ret < 0)
				return ret;
			l->launches[l->launch_count++] = (struct tl_launch) {
				.track_id = task->launch_track_id,
				.begin_ns = task->launch_ns,
				.end_ns = task->launch_ns,
				.first_ns = task->begin_ns,
				.device = d,
				.is_used = true,
			};
		}
	}
	return TL_OK;
}

static int link_by_arrows(struct loading *l, struct tl_error *err)
{
	static const char sql[] =
		"SELECT f.track_id AS track, f.ts AS ts, f.id AS id, coalesce(f.category_id, 0) AS category "
		"FROM flow f JOIN track k USING (track_id) WHERE k.source_id = ? AND f.phase = 2 AND "
		"k.kind = 'device' AND f.ts IS NOT NULL ORDER BY f.ts, f.flow_id";
	struct tl_statement *st;
	int ret = load_arrows(l, err);

	if (ret == TL_OK)
		ret = tl_statement_open(&st, l->store, sql, arrow_columns, err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, l->source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		const struct arrow end = { tl_column_i64(st, ARROW_CATEGORY),
					   tl_column_i64(st, ARROW_ID), tl_column_i64(st, ARROW_TS),
					   tl_column_i64(st, ARROW_TRACK) };
		const struct arrow *begin = find_arrow(l, &end);

		for (size_t d = 0; begin && d < l->out->device_count; d++) {
			struct tl_device *device = &l->out->devices[d];

			arrow_ends(device->tasks, device->task_count, begin, &end);
			arrow_ends(device->others, device->other_count, begin, &end);
		}
	}
	tl_statement_close(st);
	return ret < 0 ? ret : keep_arrows(l, err);
}

/* ---- the whole ---- */

static int by_begin(const void *left, const void *right)
{
	const struct tl_device_task *a = left, *b = right;
	int order = compare(a->begin_ns, b->begin_ns);

	if (!order)
		order = compare(a->end_ns, b->end_ns);
	return order ? order : compare(a->track_id, b->track_id);
}

static int told_by_begin(const void *left, const void *right)
{
	return compare(((const struct tl_told_span *)left)->begin_ns,
		       ((const struct tl_told_span *)right)->begin_ns);
}

static int by_thread(const void *left, const void *right)
{
	const struct tl_launch *a = left, *b = right;
	int order = compare(a->track_id, b->track_id);

	return order ? order : compare(a->begin_ns, b->begin_ns);
}

static void sort(void *items, size_t count, size_t size, int (*order)(const void *, const void *))
{
	if (count > 1)
		qsort(items, count, size, order);
}

/* Calls that nothing came of are no launches. */
static void keep_used_launches(struct loading *l)
{
	struct tl_device_work *out = l->out;

	for (size_t i = 0; i < l->launch_count; i++)
		if (l->launches[i].is_used)
			l->launches[out->launch_count++] = l->launches[i];
	out->launches = l->launches;
	l->launches = NULL;
	sort(out->launches, out->launch_count, sizeof(*out->launches), by_thread);
}

int tl_device_work_load(struct tl_device_work *out, struct tl_store *store, int64_t source_id,
			unsigned flags, struct tl_error *err)
{
	struct loading l = { .out = out, .store = store, .source_id = source_id, .flags = flags };
	int ret = TL_OK;

	memset(out, 0, sizeof(*out));
	if (!(flags & TL_WORK_COLLECTIVES))
		ret = load_told(&l, err);
	if (ret == TL_OK)
		ret = load_tasks(&l, err);
	if (ret == TL_OK)
		ret = join_unnamed(out, err);
	for (size_t d = 0; d < out->device_count && ret == TL_OK; d++) {
		struct tl_device *device = &out->devices[d];

		sort(device->tasks, device->task_count, sizeof(*device->tasks), by_begin);
		sort(device->others, device->other_count, sizeof(*device->others), by_begin);
		sort(device->told, device->told_count, sizeof(*device->told), told_by_begin);
	}
	if (ret == TL_OK && out->device_count)
		ret = load_launches(&l, err);
	if (ret == TL_OK && out->device_count) {
		link_by_correlation(&l);
		/* arrows tell more only where calls do not tell all, or where the wish matters */
		if (l.has_unlaunched || out->has_told)
			ret = link_by_arrows(&l, err);
		keep_used_launches(&l);
	}
	free(l.launches);
	free(l.arrows);
	if (ret < 0)
		tl_device_work_release(out);
	return ret;
}

void tl_device_work_release(struct tl_device_work *work)
{
	for (size_t i = 0; i < work->device_count; i++)
		release_device(&work->devices[i]);
	free(work->devices);
	free(work->launches);
	memset(work, 0, sizeof(*work));
}

/* Sources with spans of devices: that one, or those that may be of the rank. */
static int find_device_source(struct tl_store *store, const char *sql, int64_t steps_source_id,
			      int32_t rank, int64_t *source_id, struct tl_error *err)
{
	struct tl_statement *st;
	size_t count = 0;
	int ret = tl_statement_open(&st, store, sql, "source", err);

	*source_id = 0;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, steps_source_id);
	tl_bind_i64(st, 2, rank);
	while ((ret = tl_statement_step(st, err)) > 0)
		*source_id = count++ ? 0 : tl_column_i64(st, 0);
	tl_statement_close(st);
	return ret;
}

#define HAS_DEVICE                                                              \
	"EXISTS (SELECT 1 FROM track k WHERE k.source_id = s.source_id AND "    \
	"k.kind = 'device' AND EXISTS (SELECT 1 FROM slice a WHERE a.track_id " \
	"= k.track_id))"

int tl_device_source(struct tl_store *store, int64_t steps_source_id, int32_t rank,
		     int64_t *source_id, struct tl_error *err)
{
	static const char own[] = "SELECT s.source_id AS source FROM source s WHERE s.source_id = "
				  "?1 AND " HAS_DEVICE " AND ?2 IS NOT NULL";
	static const char others[] =
		"SELECT s.source_id AS source FROM source s WHERE s.source_id <> ?1 AND (s.rank IS "
		"NULL OR ?2 < 0 OR s.rank = ?2) AND " HAS_DEVICE;
	int ret = find_device_source(store, own, steps_source_id, rank, source_id, err);

	if (ret == TL_OK && !*source_id)
		ret = find_device_source(store, others, steps_source_id, rank, source_id, err);
	return ret;
}
