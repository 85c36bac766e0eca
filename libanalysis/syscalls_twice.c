/*
 * syscalls_twice.c - calls that two sources tell of: which of them are left out, so that each counts
 * once.
 */
#include "syscalls.h"

#include <stdlib.h>
#include <string.h>

#define SAME_CALL_NS 1000000 /* two sources see one call begin so far apart, at most */

/* A tracer sees arguments; tracepoints come after it, and later sources after earlier ones. */
static bool is_better(const struct tl_call_source *a, const struct tl_call_source *b)
{
	if (a->answer.is_tracepoint != b->answer.is_tracepoint)
		return !a->answer.is_tracepoint;
	return a->answer.source_id < b->answer.source_id;
}

static uint64_t hash_ids(int64_t a, int64_t b)
{
	return tl_hash_u64((uint64_t)a, (uint64_t)b);
}

/* Some tracers were told to look at some calls only: what they never name they do not tell of. */
static bool knows_name(const struct tl_syscall_question *q, int64_t source_id, int64_t name_id)
{
	uint64_t hash = hash_ids(source_id, name_id);
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&q->source_names, hash, &probe)) >= 0)
		if (q->parts[found].source_id == source_id &&
		    q->parts[found].block.key.name_id == name_id)
			return true;
	return false;
}

static int load_source_names(struct tl_syscall_question *q, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < q->part_count && ret == TL_OK; i++) {
		const struct tl_call_part *part = &q->parts[i];

		if (!part->block.key.kind &&
		    !knows_name(q, part->source_id, part->block.key.name_id))
			ret = tl_index_add(&q->source_names,
					   hash_ids(part->source_id, part->block.key.name_id),
					   (uint32_t)i, err);
	}
	return ret;
}

static void widen(struct tl_time_range *span, bool *is_found, int64_t begin_ns, int64_t end_ns)
{
	if (!*is_found || begin_ns < span->begin_ns)
		span->begin_ns = begin_ns;
	if (!*is_found || end_ns > span->end_ns)
		span->end_ns = end_ns;
	*is_found = true;
}

/* A call that the source did not see end: it is inside until the log ends. */
static int span_of_open_call(struct tl_syscall_question *q, const struct tl_call_source *source,
			     int64_t thread_id, struct tl_time_range *span, bool *is_found,
			     struct tl_error *err)
{
	struct tl_statement *st = q->find_open;
	int ret;

	tl_bind_i64(st, 1, source->answer.source_id);
	tl_bind_i64(st, 2, thread_id);
	ret = tl_statement_step(st, err);
	if (ret > 0 && !tl_column_is_null(st, 0))
		widen(span, is_found, tl_column_i64(st, 0),
		      source->last_ts > tl_column_i64(st, 0) ? source->last_ts
							     : tl_column_i64(st, 0));
	tl_statement_reset(st);
	return ret < 0 ? ret : TL_OK;
}

/* From when to when a source saw the thread, whose parts these are, make system calls. */
static int span_of(struct tl_syscall_question *q, const struct tl_call_part *parts, size_t count,
		   const struct tl_call_source *source, struct tl_call_entry *calls,
		   struct tl_time_range *span, bool *is_found, struct tl_error *err)
{
	int ret = TL_OK;

	*is_found = false;
	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		const struct tl_call_block *b = &parts[i].block;
		uint32_t n;

		if (parts[i].source_id != source->answer.source_id || !b->has_times || b->key.kind)
			continue;
		ret = tl_syscalls_read(q, &parts[i], calls, &n, NULL, err);
		for (uint32_t k = 0; k < n && ret == TL_OK; k++)
			widen(span, is_found, calls[k].ts,
			      tl_call_end(calls[k].ts, calls[k].duration_ns));
	}
	if (ret == TL_OK)
		ret = span_of_open_call(q, source, parts->block.key.thread_id, span, is_found, err);
	if (*is_found)
		span->end_ns = tl_call_end(span->end_ns, SAME_CALL_NS);
	return ret;
}

/* ---- copies of a log ---- */

#define COMPARED_MAX 4096u
#define MIXED_MAX    10u /* one in so many compared calls may be another */

/* Calls of one source, to be looked for in another. */
struct compared {
	struct {
		int64_t name_id, ts, duration_ns;
		bool is_found;
	} calls[COMPARED_MAX];
	size_t count, found_count;
	struct tl_index index;
};

static uint64_t hash_call(int64_t name_id, const struct tl_call_entry *call)
{
	return tl_hash_u64((uint64_t)call->ts, hash_ids(name_id, call->duration_ns));
}

static bool is_timed_part(const struct tl_call_part *part, const struct tl_call_source *source)
{
	return part->source_id == source->answer.source_id && part->block.has_times &&
	       !part->block.key.kind;
}

/* From the first begin to the last one. */
static bool begins_of(const struct tl_call_part *parts, size_t count,
		      const struct tl_call_source *source, struct tl_time_range *span)
{
	bool is_found = false;

	for (size_t i = 0; i < count; i++)
		if (is_timed_part(&parts[i], source))
			widen(span, &is_found, parts[i].block.first_ts, parts[i].block.last_ts);
	return is_found;
}

static int choose_calls(struct tl_syscall_question *q, const struct tl_call_part *part,
			struct tl_time_range both, struct tl_call_entry *calls,
			struct compared *out, struct tl_error *err)
{
	uint32_t n;
	int ret = tl_syscalls_read(q, part, calls, &n, NULL, err);

	for (uint32_t i = 0; i < n && ret == TL_OK && out->count < COMPARED_MAX; i++) {
		if (calls[i].ts < both.begin_ns || calls[i].ts > both.end_ns)
			continue;
		out->calls[out->count].name_id = part->block.key.name_id;
		out->calls[out->count].ts = calls[i].ts;
		out->calls[out->count].duration_ns = calls[i].duration_ns;
		out->calls[out->count].is_found = false;
		ret = tl_index_add(&out->index, hash_call(part->block.key.name_id, &calls[i]),
				   (uint32_t)out->count++, err);
	}
	return ret;
}

static void find_call(struct compared *c, int64_t name_id, const struct tl_call_entry *call)
{
	uint64_t hash = hash_call(name_id, call);
	size_t probe = 0;
	int64_t at;

	while ((at = tl_index_find(&c->index, hash, &probe)) >= 0) {
		if (c->calls[at].is_found || c->calls[at].name_id != name_id ||
		    c->calls[at].ts != call->ts || c->calls[at].duration_ns != call->duration_ns)
			continue;
		c->calls[at].is_found = true;
		c->found_count++;
		return;
	}
}

/*
 * One thread has one tracer at a time: what two logs tell of it is the same only where one is a copy,
 * or a part, of the other. Then begins and durations are equal. The calls that were not over
 * when the better one ends are this one's alone.
 */
static int hide_copies(struct tl_syscall_question *q, struct tl_call_part *parts, size_t count,
		       const struct tl_call_source *better, const struct tl_call_source *mine,
		       struct tl_call_entry *calls, struct tl_error *err)
{
	struct tl_time_range a = { 0, 0 }, b = { 0, 0 }, both;
	struct compared *c;
	int64_t until = INT64_MIN;
	int ret = TL_OK;

	if (!begins_of(parts, count, better, &a) || !begins_of(parts, count, mine, &b))
		return TL_OK;
	both.begin_ns = a.begin_ns > b.begin_ns ? a.begin_ns : b.begin_ns;
	both.end_ns = a.end_ns < b.end_ns ? a.end_ns : b.end_ns;
	if (both.begin_ns > both.end_ns)
		return TL_OK;
	c = tl_alloc(1, sizeof(*c), err);
	if (!c)
		return TL_NOMEM;
	c->count = c->found_count = 0;
	c->index = (struct tl_index) { 0 };
	for (size_t i = 0; i < count && ret == TL_OK && c->count < COMPARED_MAX; i++)
		if (is_timed_part(&parts[i], mine))
			ret = choose_calls(q, &parts[i], both, calls, c, err);
	for (size_t i = 0; i < count && ret == TL_OK && c->count; i++) {
		uint32_t n = 0;

		if (is_timed_part(&parts[i], better))
			ret = tl_syscalls_read(q, &parts[i], calls, &n, NULL, err);
		for (uint32_t k = 0; k < n && ret == TL_OK; k++) {
			int64_t end = tl_call_end(calls[k].ts, calls[k].duration_ns);

			find_call(c, parts[i].block.key.name_id, &calls[k]);
			until = end > until ? end : until;
		}
	}
	for (size_t i = 0;
	     i < count && ret == TL_OK && (c->count - c->found_count) * MIXED_MAX < c->count; i++)
		if (is_timed_part(&parts[i], mine) && !parts[i].has_hidden) {
			parts[i].has_hidden = true;
			parts[i].hidden = both;
			parts[i].hidden_until = until;
		}
	tl_index_release(&c->index);
	free(c);
	return ret;
}

/* ---- all of them ---- */

/* Tracepoints, and what was matched to the better one, tell of the same calls at about its times. */
static bool tells_the_same(const struct tl_call_source *better, const struct tl_call_source *mine)
{
	return mine->answer.is_tracepoint || mine->reference_id == better->answer.source_id ||
	       better->reference_id == mine->answer.source_id;
}

static bool has_parts_of(const struct tl_call_part *parts, size_t count,
			 const struct tl_call_source *source)
{
	for (size_t i = 0; i < count; i++)
		if (parts[i].source_id == source->answer.source_id)
			return true;
	return false;
}

/* What another source tells of in the span of a better one is left out. */
static int hide_covered(struct tl_syscall_question *q, struct tl_call_part *parts, size_t count,
			const struct tl_call_source *better, struct tl_call_entry *calls,
			struct tl_error *err)
{
	struct tl_time_range span = { 0, 0 };
	bool is_found;
	int ret = span_of(q, parts, count, better, calls, &span, &is_found, err);

	for (size_t i = 0; i < count && ret == TL_OK && is_found; i++) {
		const struct tl_call_source *mine = tl_syscalls_source(q, parts[i].source_id);
		const struct tl_call_key *key = &parts[i].block.key;

		if (!mine || mine == better || key->kind || parts[i].has_hidden ||
		    !is_better(better, mine) || !tells_the_same(better, mine) ||
		    !knows_name(q, better->answer.source_id, key->name_id))
			continue;
		parts[i].has_hidden = true;
		parts[i].hidden = span;
		parts[i].hidden_until = INT64_MAX;
	}
	return ret;
}

static int hide(struct tl_syscall_question *q, struct tl_call_part *parts, size_t count,
		struct tl_call_entry *calls, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t k = 0; k < q->source_count && ret == TL_OK; k++) {
		const struct tl_call_source *better = &q->sources[k];

		if (!has_parts_of(parts, count, better))
			continue;
		ret = hide_covered(q, parts, count, better, calls, err);
		for (size_t m = 0; m < q->source_count && ret == TL_OK; m++)
			if (m != k && is_better(better, &q->sources[m]) &&
			    !tells_the_same(better, &q->sources[m]) &&
			    has_parts_of(parts, count, &q->sources[m]))
				ret = hide_copies(q, parts, count, better, &q->sources[m], calls,
						  err);
	}
	return ret;
}

/* Only threads that more than one source tells of are looked at. */
int tl_syscalls_hide_twice_told(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_call_entry *calls = tl_alloc(TL_CALL_BLOCK_MAX, sizeof(*calls), err);
	int ret = calls ? load_source_names(q, err) : TL_NOMEM;

	if (ret == TL_OK)
		ret = tl_statement_open(&q->find_open, q->store,
					"SELECT max(ts) AS ts FROM syscall WHERE outcome > 1 AND "
					"outcome < 6 AND source_id = ? AND thread_id = ?",
					"ts", err);
	for (size_t begin = 0, end; begin < q->part_count && ret == TL_OK; begin = end) {
		bool has_two = false;

		for (end = begin;
		     end < q->part_count &&
		     q->parts[end].block.key.thread_id == q->parts[begin].block.key.thread_id;
		     end++)
			has_two |= q->parts[end].source_id != q->parts[begin].source_id;
		if (has_two)
			ret = hide(q, q->parts + begin, end - begin, calls, err);
	}
	free(calls);
	return ret;
}
