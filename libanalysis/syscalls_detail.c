/*
 * syscalls_detail.c - what only the rows of calls know: arguments, results, lines; and the calls that
 * were not seen to end.
 */
#include "syscalls.h"

#include <stdlib.h>
#include <string.h>

/* ---- listing ------------------------------------------------------------------------------------ */

/* The last step that began before, if it had not ended. */
static const struct tl_call_step *find_step(const struct tl_syscall_question *q, int64_t ts)
{
	size_t low = 0, high = q->step_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (q->steps[middle].begin_ns <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low && ts < q->steps[low - 1].end_ns ? &q->steps[low - 1] : NULL;
}

static int list_one(struct tl_syscall_question *q, const struct tl_long_call *call,
		    struct tl_syscall_one *one, struct tl_error *err)
{
	const struct tl_call_step *step = call->has_ts ? find_step(q, call->ts) : NULL;

	one->has_ts = call->has_ts;
	one->ts = call->ts;
	one->duration_ns = call->duration_ns;
	if (step) {
		one->has_step = step->has_number;
		one->step = step->number;
		one->step_class = step->class[0] ? step->class : NULL;
	}
	return tl_syscalls_text(q, call->operation_id, &one->operation, NULL, err);
}

int tl_syscalls_list(struct tl_syscall_question *q, int64_t thread_id, int64_t name_id,
		     const struct tl_longest *longest, double above_ns, struct tl_syscall_one **out,
		     size_t *count, struct tl_error *err)
{
	size_t n = 0;
	int ret = TL_OK;

	while (n < longest->count && n < q->opt->longest_count &&
	       (double)longest->calls[n].duration_ns > above_ns)
		n++;
	*count = n;
	*out = n ? tl_arena_alloc(q->arena, n * sizeof(**out), err) : NULL;
	if (n && !*out)
		return TL_NOMEM;
	for (size_t i = 0; i < n && ret == TL_OK; i++) {
		(*out)[i] = (struct tl_syscall_one) { .thread_id = thread_id, .name_id = name_id };
		ret = list_one(q, &longest->calls[i], &(*out)[i], err);
	}
	return ret;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

enum {
	ROW_THREAD,
	ROW_NAME,
	ROW_TS,
	ROW_DUR,
	ROW_RESULT,
	ROW_ERROR,
	ROW_PATH,
	ROW_LINE,
	ROW_ARGS,
	ROW_LENGTH
};

#define ROW_SQL                                                                   \
	"SELECT " TL_CALL_THREAD                                                  \
	", name_id, ts, dur, result, error_id, path_id, line, args, args_length " \
	"FROM syscall"
#define ROW_COLUMNS "thread_id name_id ts dur result error_id path_id line args args_length"

static int fill(struct tl_syscall_question *q, struct tl_statement *st, struct tl_syscall_one *one,
		struct tl_error *err)
{
	size_t length;
	const char *args = tl_column_text(st, ROW_ARGS, &length);
	int ret = tl_syscalls_text(q, tl_column_i64(st, ROW_ERROR), &one->error, NULL, err);

	if (ret == TL_OK)
		ret = tl_syscalls_text(q, tl_column_i64(st, ROW_PATH), &one->path, NULL, err);
	if (ret < 0)
		return ret;
	one->has_detail = true;
	one->has_result = !tl_column_is_null(st, ROW_RESULT);
	one->result = tl_column_i64(st, ROW_RESULT);
	one->line = tl_column_i64(st, ROW_LINE);
	one->arguments = args ? tl_arena_copy(q->arena, args, length, err) : NULL;
	one->arguments_length =
		tl_column_is_null(st, ROW_LENGTH) ? (int64_t)length : tl_column_i64(st, ROW_LENGTH);
	return args && !one->arguments ? TL_NOMEM : TL_OK;
}

static int look_up(struct tl_syscall_question *q, struct tl_statement *st,
		   const struct tl_call_zone *zone, struct tl_syscall_one *one,
		   struct tl_error *err)
{
	int ret;

	tl_bind_i64(st, 1, zone->first_id);
	tl_bind_i64(st, 2, zone->last_id);
	tl_bind_i64(st, 3, one->ts);
	tl_bind_i64(st, 4, one->name_id);
	tl_bind_i64(st, 5, one->thread_id);
	tl_bind_i64(st, 6, one->duration_ns); /* in a second of a coarse log many begin */
	ret = tl_statement_step(st, err);
	if (ret > 0)
		ret = fill(q, st, one, err);
	tl_statement_reset(st);
	return ret < 0 ? ret : TL_OK;
}

static int look_up_one(struct tl_syscall_question *q, struct tl_statement *st,
		       const struct tl_call_zones *zones, struct tl_syscall_one *one,
		       struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < zones->count && !one->has_detail && ret == TL_OK; i++)
		if (tl_call_zone_may_hold(&zones->zones[i], one->ts, one->duration_ns))
			ret = look_up(q, st, &zones->zones[i], one, err);
	return ret;
}

/* Whether most of the rows would be read: those of a log that is in no order. */
static bool is_zoned(const struct tl_call_zones *zones, struct tl_syscall_one *const *ones,
		     size_t count)
{
	size_t hits = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < zones->count; j++)
			hits += tl_call_zone_may_hold(&zones->zones[j], ones[i]->ts,
						      ones[i]->duration_ns);
	return hits < zones->count + count;
}

static int look_up_each(struct tl_syscall_question *q, const struct tl_call_zones *zones,
			struct tl_syscall_one *const *ones, size_t count, struct tl_error *err)
{
	struct tl_statement *st = NULL;
	int ret = tl_statement_open(&st, q->store,
				    ROW_SQL
				    " WHERE syscall_id BETWEEN ? AND ? AND ts = ? AND name_id = ? "
				    "AND coalesce(thread_id, -source_id) = ? AND dur = ? "
				    "ORDER BY syscall_id LIMIT 1",
				    ROW_COLUMNS, err);

	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = look_up_one(q, st, zones, ones[i], err);
	tl_statement_close(st);
	return ret;
}

static uint64_t hash_of(int64_t thread_id, int64_t name_id, bool has_ts, int64_t ts, int64_t dur)
{
	return tl_hash_u64((uint64_t)thread_id << 32 ^ (uint64_t)name_id,
			   has_ts ? (uint64_t)ts : ~(uint64_t)dur);
}

static int fill_matching(struct tl_syscall_question *q, struct tl_syscall_one *const *ones,
			 const struct tl_index *index, struct tl_statement *st,
			 struct tl_error *err)
{
	int64_t thread_id = tl_column_i64(st, ROW_THREAD), name_id = tl_column_i64(st, ROW_NAME);
	int64_t ts = tl_column_i64(st, ROW_TS), dur = tl_column_i64(st, ROW_DUR), found;
	bool has_ts = !tl_column_is_null(st, ROW_TS);
	size_t probe = 0;
	int ret = TL_OK;

	while (ret == TL_OK &&
	       (found = tl_index_find(index, hash_of(thread_id, name_id, has_ts, ts, dur),
				      &probe)) >= 0) {
		struct tl_syscall_one *one = ones[found];

		if (one->has_detail || one->thread_id != thread_id || one->name_id != name_id ||
		    one->has_ts != has_ts || (has_ts && one->ts != ts) || one->duration_ns != dur)
			continue;
		ret = fill(q, st, one, err);
	}
	return ret;
}

/* Where times do not tell where they lie, one pass over the rows is cheaper than a search for each. */
static int scan(struct tl_syscall_question *q, struct tl_syscall_one *const *ones, size_t count,
		struct tl_error *err)
{
	struct tl_index index = { 0 };
	struct tl_statement *st = NULL;
	int ret = TL_OK;

	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = tl_index_add(&index,
				   hash_of(ones[i]->thread_id, ones[i]->name_id, ones[i]->has_ts,
					   ones[i]->ts, ones[i]->duration_ns),
				   (uint32_t)i, err);
	if (ret == TL_OK)
		ret = tl_statement_open(&st, q->store, ROW_SQL " WHERE dur NOT NULL", ROW_COLUMNS,
					err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = fill_matching(q, ones, &index, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	tl_index_release(&index);
	return ret;
}

int tl_syscalls_look_up(struct tl_store *store, struct tl_syscalls *calls,
			struct tl_syscall_one *const *ones, size_t count, struct tl_error *err)
{
	struct tl_syscall_question q = { .store = store, .out = calls, .arena = calls->memory };
	struct tl_call_zones zones = { 0 };
	bool has_untimed = false;
	int ret;

	for (size_t i = 0; i < count; i++)
		has_untimed |= !ones[i]->has_ts;
	if (!count)
		return TL_OK;
	ret = tl_store_execute(store, "BEGIN", err);
	if (ret < 0)
		return ret;
	ret = tl_syscalls_load_texts(&q, err);
	if (ret == TL_OK)
		ret = tl_call_zones_load(&zones, store, err);
	if (ret == TL_OK)
		ret = !has_untimed && is_zoned(&zones, ones, count)
			      ? look_up_each(&q, &zones, ones, count, err)
			      : scan(&q, ones, count, err);
	tl_call_zones_release(&zones);
	tl_syscalls_unload(&q);
	tl_store_execute(store, "COMMIT", NULL);
	return ret;
}

/* ---- calls without an end ------------------------------------------------------------------------- */

enum {
	OPEN_SOURCE,
	OPEN_THREAD,
	OPEN_TS,
	OPEN_NAME,
	OPEN_OPERATION,
	OPEN_OUTCOME,
	OPEN_PATH,
	OPEN_LINE,
	OPEN_END,
	OPEN_ARGS,
	OPEN_KIND,
	OPEN_ROW,
	OPEN_LENGTH
};

#define HANG_MIN_NS 100000000 /* a log that is cut somewhere cuts calls, too */

static bool is_waiting(const struct tl_syscall_open *open)
{
	const struct tl_event_syscall call = {
		.operation = open->operation,
		.operation_length = open->operation ? strlen(open->operation) : 0,
		.path = open->path,
		.path_length = open->path ? strlen(open->path) : 0,
		.arguments = open->arguments,
		.arguments_length = open->arguments ? strlen(open->arguments) : 0,
	};

	return tl_call_is_wait(tl_call_traits(open->name, strlen(open->name)), &call);
}

static int name_open(struct tl_syscall_question *q, struct tl_statement *st,
		     struct tl_syscall_open *open, bool *is_wanted, struct tl_error *err)
{
	size_t length;
	const char *args = tl_column_text(st, OPEN_ARGS, &length);
	int ret;

	open->arguments = args ? tl_arena_copy(q->arena, args, length, err) : NULL;
	open->arguments_length = tl_column_is_null(st, OPEN_LENGTH)
					 ? (int64_t)length
					 : tl_column_i64(st, OPEN_LENGTH);
	if (args && !open->arguments)
		return TL_NOMEM;
	ret = tl_syscalls_text(q, tl_column_i64(st, OPEN_NAME), &open->name, is_wanted, err);
	if (ret == TL_OK)
		ret = tl_syscalls_text(q, tl_column_i64(st, OPEN_OPERATION), &open->operation, NULL,
				       err);
	if (ret == TL_OK)
		ret = tl_syscalls_text(q, tl_column_i64(st, OPEN_PATH), &open->path, NULL, err);
	return ret;
}

/* How long it went on that somebody saw. */
static void age_open(struct tl_syscall_question *q, struct tl_statement *st,
		     struct tl_syscall_open *open)
{
	const struct tl_call_source *source = tl_syscalls_source(q, tl_column_i64(st, OPEN_SOURCE));
	bool has_end = (open->outcome == TL_CALL_KILLED || open->outcome == TL_CALL_NO_RETURN) &&
		       !tl_column_is_null(st, OPEN_END);
	int64_t end = has_end ? tl_column_i64(st, OPEN_END) : source ? source->last_ts : 0;

	open->has_ts = !tl_column_is_null(st, OPEN_TS);
	open->ts = tl_column_i64(st, OPEN_TS);
	open->age_ns = -1;
	if (open->has_ts && (has_end || (source && source->has_times)) && end >= open->ts &&
	    __builtin_sub_overflow(end, open->ts, &open->age_ns))
		open->age_ns = INT64_MAX;
}

/* An open wait is part of the time that its thread waits. */
static void note_life(struct tl_call_thread *thread, const struct tl_syscall_open *open)
{
	int64_t end;

	if (open->age_ns < 0 || __builtin_add_overflow(open->ts, open->age_ns, &end))
		return;
	if (!thread->has_life || open->ts < thread->begin_ns)
		thread->begin_ns = open->ts;
	if (!thread->has_life || end > thread->end_ns)
		thread->end_ns = end;
	thread->has_life = true;
	/* they last until the same end: of one around another the longer counts */
	if (open->is_wait && open->age_ns > thread->wait_ns)
		thread->wait_ns = open->age_ns;
}

/* It reads, but from what was not recorded. */
static bool may_wait(const struct tl_syscall_open *open)
{
	return !open->path && tl_call_traits(open->name, strlen(open->name)).wait == TL_WAIT_FD;
}

static int add_open(struct tl_syscall_question *q, struct tl_statement *st, struct tl_error *err)
{
	struct tl_call_open found = { .name_id = tl_column_i64(st, OPEN_NAME),
				      .operation_id = tl_column_i64(st, OPEN_OPERATION),
				      .kind = (uint8_t)tl_column_i64(st, OPEN_KIND),
				      .usual_max_ns = -1,
				      .row = tl_column_i64(st, OPEN_ROW) };
	struct tl_syscall_open *open = &found.answer;
	bool is_wanted = true;
	int ret;

	open->outcome = (enum tl_call_outcome)tl_column_i64(st, OPEN_OUTCOME);
	open->line = tl_column_i64(st, OPEN_LINE);
	ret = name_open(q, st, open, &is_wanted, err);
	if (ret == TL_OK)
		ret = tl_syscalls_thread(q, tl_column_i64(st, OPEN_THREAD), &found.thread, err);
	/* a thread that ends itself is not inside a call for long */
	if (ret < 0 || tl_call_is_exit(open->name, strlen(open->name)))
		return ret;
	age_open(q, st, open);
	open->is_wait = is_waiting(open);
	open->may_wait = may_wait(open);
	note_life(&q->threads[found.thread], open);
	is_wanted &= tl_syscalls_thread_wanted(q, &q->threads[found.thread]);
	if (!is_wanted || q->opt->errors_only ||
	    (q->opt->min_ns && open->age_ns < q->opt->min_ns) ||
	    (q->has_asked && !(open->has_ts && tl_ranges_contain(&q->asked, open->ts))))
		return TL_OK;
	ret = tl_syscalls_use_thread(q, found.thread, &open->thread, err);
	if (ret == TL_OK)
		ret = tl_grow(&q->opens, &q->all_open_capacity, q->all_open_count + 1, err);
	if (ret == TL_OK)
		q->opens[q->all_open_count++] = found;
	return ret;
}

/* The thread made another call since: it is a library call around others, or its end was lost. */
static bool is_followed(const struct tl_syscall_question *q, const struct tl_call_open *open)
{
	const struct tl_call_thread *thread = &q->threads[open->thread];

	if (thread->has_ended && thread->last_begin_ns > open->answer.ts)
		return true;
	for (size_t i = 0; i < q->all_open_count; i++) {
		const struct tl_call_open *other = &q->opens[i];

		if (other->thread == open->thread &&
		    (other->answer.ts > open->answer.ts ||
		     (other->answer.ts == open->answer.ts && other->row > open->row)))
			return true;
	}
	return false;
}

/* What a hanging call may be, before it is known what others of its kind took. */
static bool is_long(const struct tl_call_open *open)
{
	const struct tl_syscall_open *answer = &open->answer;

	return !answer->is_wait && !answer->may_wait && answer->age_ns >= HANG_MIN_NS &&
	       answer->outcome != TL_CALL_NO_RETURN;
}

void tl_syscalls_note_ended(struct tl_syscall_question *q, const struct tl_call_judgement *j)
{
	for (size_t i = 0; i < q->all_open_count; i++) {
		struct tl_call_open *open = &q->opens[i];

		if (open->name_id == j->name_id && open->operation_id == j->operation_id &&
		    open->kind == j->kind && open->usual_max_ns < j->max_ns)
			open->usual_max_ns = j->max_ns;
	}
}

static int by_age(const void *left, const void *right)
{
	const struct tl_syscall_open *a = left, *b = right;

	if (a->is_hanging != b->is_hanging)
		return a->is_hanging ? -1 : 1;
	if (a->is_wait != b->is_wait)
		return a->is_wait ? 1 : -1;
	if (a->age_ns != b->age_ns)
		return a->age_ns > b->age_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

int tl_syscalls_finish_opens(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_syscalls *out = q->out;

	if (!q->all_open_count)
		return TL_OK;
	out->opens = tl_alloc(q->all_open_count, sizeof(*out->opens), err);
	if (!out->opens)
		return TL_NOMEM;
	for (size_t i = 0; i < q->all_open_count; i++) {
		struct tl_call_open *open = &q->opens[i];

		open->answer.is_hanging = is_long(open) &&
					  open->answer.age_ns > open->usual_max_ns &&
					  !is_followed(q, open);
		out->hanging_count += open->answer.is_hanging;
		out->opens[out->open_count++] = open->answer;
	}
	qsort(out->opens, out->open_count, sizeof(*out->opens), by_age);
	return TL_OK;
}

int tl_syscalls_load_opens(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, q->store,
		"SELECT c.source_id, coalesce(c.thread_id, -c.source_id) AS thread_id, c.ts, "
		"c.name_id, c.operation_id, c.outcome, c.path_id, c.line, t.end_ts, c.args, "
		"c.kind, c.syscall_id, c.args_length FROM syscall c LEFT JOIN thread t USING "
		"(thread_id) "
		"WHERE c.outcome > 1 AND c.outcome < 6 ORDER BY c.syscall_id",
		"source_id thread_id ts name_id operation_id outcome path_id line end_ts args "
		"kind syscall_id args_length",
		err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_open(q, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}
