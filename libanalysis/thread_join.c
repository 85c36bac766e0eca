/*
 * thread_join.c - one row per thread of a machine, whichever sources saw it, from what each of them
 * says (thread_life). Rows of other tables that name a thread follow when it turns out to be another.
 */
#include "lives.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "thread_tracers.h"

/* A tracer sees a thread begin when it gets to run. No tid is used again so soon. */
#define SAME_START_NS 200000000

struct span { /* of a life, or of a source */
	int64_t start, end;
	bool has_start, has_end;
};

struct source {
	int64_t source_id, host_id, first_ts, last_ts;
	bool is_timed; /* its clock is known well enough to compare with others */
	bool is_named; /* it says which machine it is of */
	int64_t rank;  /* of a distributed job; -1 unknown */
};

struct life {
	int64_t row, thread_id, process_id, parent_id, name_id;
	size_t source; /* place in sources, which are in order of content */
	int32_t tid, pid, inner_pid;
	bool has_pid, has_inner_pid;
	struct span thread, process;
	size_t thread_group, process_group; /* SIZE_MAX: none yet */
	size_t namesakes;		    /* lives of the same tid in the same source */
};

struct name {
	int64_t source_id, thread_id, name_id;
};

struct joining {
	struct tl_store *store;
	struct source *sources;
	size_t source_count, source_capacity;
	struct life *lives; /* by machine and tid, the surest first */
	size_t count, capacity;
	struct name *names; /* sorted */
	size_t name_count, name_capacity;
	struct tl_tracer_pair *apart; /* sorted: what these saw are not the same threads */
	size_t apart_count;
	size_t thread_groups, process_groups;
	size_t *process_roots; /* of groups of processes that are one */
};

/* ---- what is known ---- */

static int compare_i64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int load_sources(struct joining *j, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, j->store,
		"SELECT s.source_id AS source, s.host_id AS host, s.first_ts AS first, s.last_ts AS "
		"last, s.first_ts NOT NULL AND s.clock_residual_ns NOT NULL AS timed, "
		"EXISTS(SELECT 1 FROM source_meta m WHERE m.source_id = s.source_id AND "
		"m.key IN ('hostname', 'recorded_with') AND m.value != '') AS named, "
		/* perf sees the threads of all ranks */
		"CASE WHEN EXISTS(SELECT 1 FROM event e WHERE e.source_id = s.source_id) THEN -1 "
		"ELSE coalesce(s.rank, -1) END AS rank "
		"FROM source s ORDER BY s.size_bytes, s.fingerprint, s.path, s.source_id",
		"source host first last timed named rank", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = tl_grow(&j->sources, &j->source_capacity, j->source_count + 1, err);

		if (status == TL_OK)
			j->sources[j->source_count++] =
				(struct source) { .source_id = tl_column_i64(st, 0),
						  .host_id = tl_column_i64(st, 1),
						  .first_ts = tl_column_i64(st, 2),
						  .last_ts = tl_column_i64(st, 3),
						  .is_timed = tl_column_i64(st, 4) != 0,
						  .is_named = tl_column_i64(st, 5) != 0,
						  .rank = tl_column_i64(st, 6) };
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

enum {
	LIFE_ROW,
	LIFE_SOURCE,
	LIFE_THREAD,
	LIFE_PROCESS,
	LIFE_PARENT,
	LIFE_TID,
	LIFE_PID,
	LIFE_INNER,
	LIFE_NAME,
	LIFE_START,
	LIFE_END,
	LIFE_PROCESS_START,
	LIFE_PROCESS_END
};

static struct span span_of(struct tl_statement *st, int start, int end)
{
	return (struct span) { tl_column_i64(st, start), tl_column_i64(st, end),
			       !tl_column_is_null(st, start), !tl_column_is_null(st, end) };
}

static int add_life(struct joining *j, struct tl_statement *st, struct tl_error *err)
{
	struct life *l;
	int64_t source_id = tl_column_i64(st, LIFE_SOURCE);
	int ret = tl_grow(&j->lives, &j->capacity, j->count + 1, err);

	if (ret < 0)
		return ret;
	l = &j->lives[j->count++];
	while (l->source < j->source_count && j->sources[l->source].source_id != source_id)
		l->source++;
	if (l->source == j->source_count)
		return tl_fail(err, TL_STORE, "a thread of no source: the case is damaged");
	l->row = tl_column_i64(st, LIFE_ROW);
	l->thread_id = tl_column_i64(st, LIFE_THREAD);
	l->process_id = tl_column_i64(st, LIFE_PROCESS);
	l->parent_id = tl_column_i64(st, LIFE_PARENT);
	l->tid = (int32_t)tl_column_i64(st, LIFE_TID);
	l->has_pid = !tl_column_is_null(st, LIFE_PID);
	l->pid = (int32_t)tl_column_i64(st, LIFE_PID);
	l->has_inner_pid = !tl_column_is_null(st, LIFE_INNER);
	l->inner_pid = (int32_t)tl_column_i64(st, LIFE_INNER);
	l->name_id = tl_column_i64(st, LIFE_NAME);
	l->thread = span_of(st, LIFE_START, LIFE_END);
	l->process = span_of(st, LIFE_PROCESS_START, LIFE_PROCESS_END);
	l->thread_group = l->process_group = SIZE_MAX;
	return TL_OK;
}

static int load_lives(struct joining *j, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, j->store,
		"SELECT rowid AS id, source_id, thread_id, process_id, parent_process_id, tid, pid, "
		"inner_pid, name_id, start_ts, end_ts, process_start_ts, process_end_ts "
		"FROM thread_life ORDER BY rowid",
		"id source_id thread_id process_id parent_process_id tid pid inner_pid name_id "
		"start_ts end_ts process_start_ts process_end_ts",
		err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_life(j, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

static int by_name(const void *x, const void *y)
{
	const struct name *a = x, *b = y;
	int order = compare_i64(a->source_id, b->source_id);

	if (!order)
		order = compare_i64(a->thread_id, b->thread_id);
	return order ? order : compare_i64(a->name_id, b->name_id);
}

static int load_names(struct joining *j, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, j->store,
				    "SELECT source_id, thread_id, name_id FROM thread_name",
				    "source_id thread_id name_id", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = tl_grow(&j->names, &j->name_capacity, j->name_count + 1, err);

		if (status == TL_OK)
			j->names[j->name_count++] =
				(struct name) { tl_column_i64(st, 0), tl_column_i64(st, 1),
						tl_column_i64(st, 2) };
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	if (j->name_count)
		qsort(j->names, j->name_count, sizeof(*j->names), by_name);
	return ret;
}

/* ---- are two the same? ---- */

static const struct source *source_of(const struct joining *j, const struct life *l)
{
	return &j->sources[l->source];
}

/* The names of a life: the first of them, and how many. */
static const struct name *names_of(const struct joining *j, const struct life *l, size_t *count)
{
	const struct name key = { source_of(j, l)->source_id, l->thread_id, INT64_MIN };
	size_t low = 0, high = j->name_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_name(&j->names[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < j->name_count && j->names[high].source_id == key.source_id &&
			 j->names[high].thread_id == key.thread_id;)
		high++;
	*count = high - low;
	return j->name_count ? j->names + low : NULL;
}

enum agreement { DIFFERENT, UNKNOWN, SAME };

static enum agreement compare_names(const struct joining *j, const struct life *a,
				    const struct life *b)
{
	size_t a_count, b_count;
	const struct name *x = names_of(j, a, &a_count), *y = names_of(j, b, &b_count);

	if (!a_count || !b_count)
		return UNKNOWN;
	for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
		int order = compare_i64(x[i].name_id, y[k].name_id);

		if (!order)
			return SAME;
		i += order < 0;
		k += order > 0;
	}
	return DIFFERENT;
}

static bool is_near(int64_t a, int64_t b)
{
	int64_t difference;

	return !__builtin_sub_overflow(a, b, &difference) && difference < SAME_START_NS &&
	       difference > -SAME_START_NS;
}

/* What times say of two lives; sources have no more to say than when they were recorded. */
static enum agreement compare_times(const struct span *a, const struct source *sa,
				    const struct span *b, const struct source *sb)
{
	if (!sa->is_timed || !sb->is_timed)
		return UNKNOWN;
	if (a->has_start && b->has_start)
		return is_near(a->start, b->start) ? SAME : DIFFERENT;
	if (a->has_end && a->end < (b->has_start ? b->start : sb->first_ts) - SAME_START_NS)
		return DIFFERENT;
	if (b->has_end && b->end < (a->has_start ? a->start : sa->first_ts) - SAME_START_NS)
		return DIFFERENT;
	if (a->has_start && a->start > sb->last_ts)
		return DIFFERENT;
	if (b->has_start && b->start > sa->last_ts)
		return DIFFERENT;
	return UNKNOWN;
}

static bool overlap(const struct source *a, const struct source *b)
{
	return a->first_ts <= b->last_ts && b->first_ts <= a->last_ts;
}

/*
 * Sources of one machine at one time see the same threads. At other times the same number may be
 * another thread, unless its name says otherwise; where nobody named the machine, it may be another one.
 */
static bool may_meet(const struct source *a, const struct source *b, enum agreement names,
		     enum agreement times)
{
	if (!a->is_timed || !b->is_timed || overlap(a, b) || times == SAME)
		return true;
	return names == SAME && a->is_named && b->is_named;
}

static int by_pair(const void *x, const void *y)
{
	const struct tl_tracer_pair *a = x, *b = y;
	int order = compare_i64(a->a, b->a);

	return order ? order : compare_i64(a->b, b->b);
}

static bool is_apart(const struct joining *j, const struct source *a, const struct source *b)
{
	bool is_ordered = a->source_id < b->source_id;
	const struct tl_tracer_pair key = { is_ordered ? a->source_id : b->source_id,
					    is_ordered ? b->source_id : a->source_id };

	return j->apart_count &&
	       bsearch(&key, j->apart, j->apart_count, sizeof(*j->apart), by_pair) != NULL;
}

static bool is_same_thread(const struct joining *j, const struct life *a, const struct life *b)
{
	const struct source *sa = source_of(j, a), *sb = source_of(j, b);
	enum agreement names = compare_names(j, a, b);
	enum agreement times = compare_times(&a->thread, sa, &b->thread, sb);

	if (a->source == b->source || a->tid != b->tid || sa->host_id != sb->host_id ||
	    is_apart(j, sa, sb) || (a->has_pid && b->has_pid && a->pid != b->pid))
		return false;
	/* ranks are processes; in containers of their own they may have the same numbers */
	if (sa->rank >= 0 && sb->rank >= 0 && sa->rank != sb->rank)
		return false;
	if (times == DIFFERENT || !may_meet(sa, sb, names, times))
		return false;
	/* which of several, where no times tell */
	if (times == UNKNOWN && !(sa->is_timed && sb->is_timed) &&
	    (a->namesakes > 1 || b->namesakes > 1))
		return false;
	/* a name may still change: it is asked for only where the start does not tell */
	return times == SAME || names != DIFFERENT;
}

/* ---- groups of threads ---- */

static int by_tid_and_sureness(const void *x, const void *y)
{
	const struct life *a = x, *b = y;
	int order = compare_i64(a->tid, b->tid);

	if (!order)
		order = (int)b->thread.has_start - (int)a->thread.has_start;
	if (!order && a->thread.has_start)
		order = compare_i64(a->thread.start, b->thread.start);
	if (!order)
		order = compare_i64((int64_t)a->source, (int64_t)b->source);
	return order ? order : compare_i64(a->row, b->row);
}

/* Lives of one tid: each goes to the first group all of which it may be. */
static void group_tid(struct joining *j, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		for (size_t k = from; k < to; k++)
			j->lives[i].namesakes += j->lives[k].source == j->lives[i].source;
	for (size_t i = from; i < to; i++) {
		struct life *l = &j->lives[i];

		for (size_t k = from; k < i && l->thread_group == SIZE_MAX; k++) {
			size_t group = j->lives[k].thread_group;
			bool is_same = true;

			for (size_t m = from; m < i && is_same; m++)
				if (j->lives[m].thread_group == group)
					is_same = is_same_thread(j, l, &j->lives[m]);
			if (is_same)
				l->thread_group = group;
		}
		if (l->thread_group == SIZE_MAX)
			l->thread_group = j->thread_groups++;
	}
}

/* Tids that were used again a thousand times are left as they are: comparing all with all has an end. */
enum { NAMESAKES_MAX = 400 };

static void group_threads(struct joining *j)
{
	if (j->count)
		qsort(j->lives, j->count, sizeof(*j->lives), by_tid_and_sureness);
	for (size_t from = 0, to; from < j->count; from = to) {
		for (to = from; to < j->count && j->lives[to].tid == j->lives[from].tid;)
			to++;
		if (to - from <= NAMESAKES_MAX)
			group_tid(j, from, to);
		else
			for (size_t i = from; i < to; i++)
				j->lives[i].thread_group = j->thread_groups++;
	}
}

/* ---- groups of processes ---- */

static size_t root_of(struct joining *j, size_t group)
{
	while (j->process_roots[group] != group)
		group = j->process_roots[group] = j->process_roots[j->process_roots[group]];
	return group;
}

static void unite(struct joining *j, size_t a, size_t b)
{
	a = root_of(j, a);
	b = root_of(j, b);
	j->process_roots[a < b ? b : a] = a < b ? a : b;
}

static int by_process(const void *x, const void *y)
{
	const struct life *a = *(const struct life *const *)x, *b = *(const struct life *const *)y;
	int order = compare_i64((int64_t)a->source, (int64_t)b->source);

	if (!order)
		order = compare_i64(a->process_id, b->process_id);
	return order ? order : compare_i64(a->row, b->row);
}

static int by_thread_group(const void *x, const void *y)
{
	const struct life *a = *(const struct life *const *)x, *b = *(const struct life *const *)y;

	return compare_i64((int64_t)a->thread_group, (int64_t)b->thread_group);
}

static int by_pid(const void *x, const void *y)
{
	const struct life *a = *(const struct life *const *)x, *b = *(const struct life *const *)y;
	int order = compare_i64(a->pid, b->pid);

	return order ? order : compare_i64((int64_t)a->process_group, (int64_t)b->process_group);
}

static bool is_same_process(const struct joining *j, const struct life *a, const struct life *b)
{
	const struct source *sa = source_of(j, a), *sb = source_of(j, b);
	enum agreement times = compare_times(&a->process, sa, &b->process, sb);

	return a->source != b->source && !is_apart(j, sa, sb) && a->has_pid && b->has_pid &&
	       a->pid == b->pid && sa->host_id == sb->host_id && times != DIFFERENT &&
	       may_meet(sa, sb, UNKNOWN, times) && sa->is_timed && sb->is_timed;
}

/* One a process of one source; then those that share a thread, or a number at one time, are one. */
static int group_processes(struct joining *j, struct tl_error *err)
{
	struct life **order = tl_alloc(j->count + 1, sizeof(struct life *), err);

	j->process_roots = tl_alloc(j->count + 1, sizeof(*j->process_roots), err);
	if (!order || !j->process_roots) {
		free(order);
		return TL_NOMEM;
	}
	for (size_t i = 0; i < j->count; i++)
		order[i] = &j->lives[i];
	if (j->count)
		qsort(order, j->count, sizeof(struct life *), by_process);
	for (size_t i = 0; i < j->count; i++) {
		bool is_new = !i || order[i]->source != order[i - 1]->source ||
			      order[i]->process_id != order[i - 1]->process_id;

		if (is_new) {
			j->process_roots[j->process_groups] = j->process_groups;
			j->process_groups++;
		}
		order[i]->process_group = j->process_groups - 1;
	}
	if (j->count)
		qsort(order, j->count, sizeof(struct life *), by_thread_group);
	for (size_t i = 1; i < j->count; i++)
		if (order[i]->thread_group == order[i - 1]->thread_group)
			unite(j, order[i]->process_group, order[i - 1]->process_group);
	if (j->count)
		qsort(order, j->count, sizeof(struct life *), by_pid);
	for (size_t i = 1; i < j->count; i++)
		for (size_t k = i;
		     k-- > 0 && i - k < NAMESAKES_MAX && order[k]->pid == order[i]->pid;)
			if (root_of(j, order[k]->process_group) !=
				    root_of(j, order[i]->process_group) &&
			    is_same_process(j, order[k], order[i]))
				unite(j, order[k]->process_group, order[i]->process_group);
	free(order);
	return TL_OK;
}

/* ---- rows ---- */

struct rows { /* of groups */
	int64_t *threads, *processes;
};

static bool take(struct tl_index *taken, int64_t id)
{
	size_t probe = 0;

	if (tl_index_find(taken, tl_hash_u64((uint64_t)id, 3), &probe) >= 0)
		return false;
	return tl_index_add(taken, tl_hash_u64((uint64_t)id, 3), 0, NULL) == TL_OK;
}

/* Rows that groups had before, where no other group has taken them; new ones for the others. */
static int choose_rows(struct joining *j, struct rows *rows, struct tl_error *err)
{
	struct tl_index threads = { 0 }, processes = { 0 };
	int64_t next_thread, next_process;
	int ret;

	rows->threads = tl_alloc(j->thread_groups + 1, sizeof(*rows->threads), err);
	rows->processes = tl_alloc(j->process_groups + 1, sizeof(*rows->processes), err);
	if (!rows->threads || !rows->processes)
		return TL_NOMEM;
	ret = tl_store_value(j->store, "SELECT max(thread_id) + 1 FROM thread", 1, &next_thread,
			     err);
	if (ret == TL_OK)
		ret = tl_store_value(j->store, "SELECT max(process_id) + 1 FROM process", 1,
				     &next_process, err);
	for (size_t i = 0; i < j->count && ret == TL_OK; i++) {
		const struct life *l = &j->lives[i];
		size_t process = root_of(j, l->process_group);

		if (!rows->threads[l->thread_group] && take(&threads, l->thread_id))
			rows->threads[l->thread_group] = l->thread_id;
		if (!rows->processes[process] && take(&processes, l->process_id))
			rows->processes[process] = l->process_id;
	}
	for (size_t g = 0; g < j->thread_groups; g++)
		if (!rows->threads[g])
			rows->threads[g] = next_thread++;
	for (size_t g = 0; g < j->process_groups; g++)
		if (!rows->processes[g])
			rows->processes[g] = next_process++;
	tl_index_release(&threads);
	tl_index_release(&processes);
	return ret;
}

/* The process that a source calls its process so and so; 0: it has no thread there. */
static int64_t process_row(struct joining *j, const struct rows *rows, size_t source,
			   int64_t process_id, const struct tl_index *by_id)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(by_id, tl_hash_u64((uint64_t)process_id, source), &probe)) >=
	       0)
		if (j->lives[found].source == source && j->lives[found].process_id == process_id)
			return rows->processes[root_of(j, j->lives[found].process_group)];
	return 0;
}

static int update_lives(struct joining *j, const struct rows *rows, bool *has_moved,
			struct tl_error *err)
{
	struct tl_index by_id = { 0 };
	struct tl_statement *st;
	int ret = tl_statement_open(&st, j->store,
				    "UPDATE thread_life SET process_id = ?1, parent_process_id = "
				    "coalesce(?2, parent_process_id), next_thread_id = ?3 "
				    "WHERE rowid = ?4",
				    NULL, err);

	for (size_t i = 0; i < j->count && ret == TL_OK; i++)
		ret = tl_index_add(
			&by_id, tl_hash_u64((uint64_t)j->lives[i].process_id, j->lives[i].source),
			(uint32_t)i, err);
	for (size_t i = 0; i < j->count && ret == TL_OK; i++) {
		struct life *l = &j->lives[i];
		int64_t thread = rows->threads[l->thread_group];
		int64_t parent =
			l->parent_id ? process_row(j, rows, l->source, l->parent_id, &by_id) : 0;

		tl_bind_i64(st, 1, rows->processes[root_of(j, l->process_group)]);
		if (parent)
			tl_bind_i64(st, 2, parent);
		else
			tl_bind_null(st, 2);
		if (thread != l->thread_id)
			tl_bind_i64(st, 3, thread);
		else
			tl_bind_null(st, 3);
		tl_bind_i64(st, 4, l->row);
		*has_moved |= thread != l->thread_id;
		ret = tl_statement_run(st, err);
	}
	tl_statement_close(st);
	tl_index_release(&by_id);
	return ret;
}

#define FOLLOW(table, column, of_source)                                               \
	"UPDATE " table " SET " column " = l.next_thread_id FROM thread_life l WHERE " \
	"l.next_thread_id NOT NULL AND l.thread_id = " table "." column                \
	" AND l.source_id = " of_source ";"
#define OF_EVENT(table) "(SELECT source_id FROM event e WHERE e.event_id = " table ".event_id)"

/* thread_life itself comes last: the others follow it. */
static const char follow[] = FOLLOW("sample", "thread_id", OF_EVENT("sample")) FOLLOW(
	"stack_sum", "thread_id",
	OF_EVENT("stack_sum")) FOLLOW("sched_switch", "prev_thread_id",
				      "sched_switch.source_id") FOLLOW("sched_switch",
								       "next_thread_id",
								       "sched_switch.source_id")
	FOLLOW("sched_wakeup", "waker_thread_id", "sched_wakeup.source_id") FOLLOW(
		"sched_wakeup", "wakee_thread_id",
		"sched_wakeup.source_id") FOLLOW("syscall", "thread_id",
						 "syscall.source_id") FOLLOW("call_block",
									     "thread_id",
									     "call_block.source_id")
		FOLLOW("call_stack_sum", "thread_id", "call_stack_sum.source_id") FOLLOW(
			"track", "thread_id", "track.source_id") FOLLOW("step", "thread_id",
									"step.source_id")
			FOLLOW("thread_state", "thread_id", "thread_state.source_id") FOLLOW(
				"thread_state", "waker_thread_id",
				"thread_state.source_id") FOLLOW("mm_activity", "thread_id",
								 "mm_activity.source_id")
				FOLLOW("thread_name", "thread_id",
				       "thread_name.source_id") "UPDATE thread_life SET thread_id = next_thread_id, next_thread_id = NULL "
								"WHERE next_thread_id NOT NULL;";

/* The first in order of content that says so. */
#define FIRST(table, key, column)                                                               \
	"(SELECT l." column " FROM thread_life l JOIN source s USING (source_id) WHERE l." key  \
	" = " table "." key " AND l." column " NOT NULL ORDER BY s.size_bytes, s.fingerprint, " \
	"s.path, s.source_id, l.rowid LIMIT 1)"

/* A name that was taken at a known time outranks those that a source found: the last such counts. */
#define LAST_NAMES                                                                                 \
	"UPDATE thread SET name_id = n.name_id FROM (SELECT n.thread_id, n.name_id, row_number() " \
	"OVER (PARTITION BY n.thread_id ORDER BY n.ts DESC, s.size_bytes, s.fingerprint, s.path, " \
	"s.source_id, n.rowid DESC) AS place FROM thread_name n JOIN source s USING (source_id) "  \
	"WHERE n.ts NOT NULL AND s.clock_residual_ns NOT NULL) n "                                 \
	"WHERE n.thread_id = thread.thread_id AND n.place = 1;"

static const char derive[] =
	"DELETE FROM thread WHERE thread_id NOT IN (SELECT thread_id FROM thread_life);"
	"INSERT OR IGNORE INTO thread(thread_id, process_id, tid) "
	"SELECT thread_id, process_id, tid FROM thread_life;"
	"UPDATE thread SET process_id = l.process_id, start_ts = l.first, end_ts = l.last FROM "
	"(SELECT thread_id, min(process_id) AS process_id, min(start_ts) AS first, max(end_ts) AS "
	"last FROM thread_life GROUP BY thread_id) l WHERE l.thread_id = thread.thread_id;"
	"UPDATE thread SET name_id = " FIRST(
		"thread", "thread_id",
		"name_id") ";" LAST_NAMES
			   "DELETE FROM process WHERE process_id NOT IN (SELECT process_id FROM thread_life) AND "
			   "process_id NOT IN (SELECT parent_process_id FROM thread_life WHERE parent_process_id NOT "
			   "NULL);"
			   "INSERT OR IGNORE INTO process(process_id, host_id) SELECT l.process_id, s.host_id "
			   "FROM thread_life l JOIN source s USING (source_id);"
			   "UPDATE process SET host_id = l.host_id, start_ts = l.first, end_ts = l.last FROM "
			   "(SELECT process_id, max(s.host_id) AS host_id, min(process_start_ts) AS first, "
			   "max(process_end_ts) AS last FROM thread_life JOIN source s USING (source_id) "
			   "GROUP BY process_id) l WHERE l.process_id = process.process_id;"
			   "UPDATE process SET pid = " FIRST("process", "process_id", "pid") ", inner_pid = " FIRST(
				   "process", "process_id",
				   "inner_pid") ", parent_process_id = " FIRST("process",
									       "process_id",
									       "parent_process_id") " WHERE process_id IN (SELECT process_id FROM thread_life);";

static int put_rows(struct joining *j, struct tl_error *err)
{
	struct rows rows = { 0 };
	bool has_moved = false;
	int ret = choose_rows(j, &rows, err);

	if (ret == TL_OK)
		ret = update_lives(j, &rows, &has_moved, err);
	if (ret == TL_OK && has_moved)
		ret = tl_store_execute(j->store, follow, err);
	if (ret == TL_OK)
		ret = tl_store_execute(j->store, derive, err);
	free(rows.threads);
	free(rows.processes);
	return ret;
}

int tl_threads_join(struct tl_store *store, struct tl_error *err)
{
	struct joining j = { .store = store };
	int ret = load_sources(&j, err);

	if (ret == TL_OK)
		ret = load_lives(&j, err);
	if (ret == TL_OK)
		ret = load_names(&j, err);
	if (ret == TL_OK)
		ret = tl_tracers_apart(store, &j.apart, &j.apart_count, err);
	if (ret == TL_OK) {
		group_threads(&j);
		ret = group_processes(&j, err);
	}
	if (ret == TL_OK)
		ret = put_rows(&j, err);
	free(j.sources);
	free(j.lives);
	free(j.names);
	free(j.apart);
	free(j.process_roots);
	return ret;
}
