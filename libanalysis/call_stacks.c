/*
 * call_stacks.c - time in system calls as folded lines, "process;thread;call;outer;...;inner". Sums are
 * read where they tell all that is asked for, blocks where times are, rows where times and stacks
 * are.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#include "syscalls.h"

struct call_fold {
	struct tl_fold *fold;
	struct tl_syscall_options options;
	struct tl_syscalls none; /* the question is only half asked: its answer stays empty */
	struct tl_syscall_question q;
	struct tl_index leaders;	/* first threads of processes, by pid */
	struct tl_index hidden;		/* parts of which calls are left out */
	struct tl_call_entry *calls;	/* of one block */
	struct tl_call_sums with_stack; /* per thread, name and source */
	struct tl_call_sums total;	/* the same, of what the sums or blocks tell */
	struct tl_call_sums roots;	/* per thread and name; count: its root */
	struct source_stacks {
		int64_t source_id;
		bool is_needed; /* its rows must be read */
	} * stacked;		/* sources whose calls have stacks */
	size_t stacked_count, stacked_capacity;
};

/* ---- lines ------------------------------------------------------------------------------------------ */

static int index_leaders(struct call_fold *c, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < c->q.thread_count && ret == TL_OK; i++)
		if (c->q.threads[i].name && c->q.threads[i].tid == c->q.threads[i].pid)
			ret = tl_index_add(&c->leaders,
					   tl_hash_u64((uint64_t)c->q.threads[i].pid, 3),
					   (uint32_t)i, err);
	return ret;
}

/* A process is called by its first thread. */
static const char *process_name(const struct call_fold *c, int64_t pid)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&c->leaders, tl_hash_u64((uint64_t)pid, 3), &probe)) >= 0)
		if (c->q.threads[found].pid == pid)
			return c->q.threads[found].name;
	return NULL;
}

/* A name, or ":ID" as perf calls what has none; "-ID" behind it where ids are asked for. */
static void add_name(struct tl_text *out, const char *name, int64_t id, bool has_id)
{
	const struct tl_folded_rules rules = { .root = TL_ROOT_COMM };
	struct tl_folded_sample sample = { .comm = name, .comm_length = name ? strlen(name) : 0 };

	if (id < 0)
		tl_text_puts(out, "[unknown]");
	else if (!name)
		tl_text_printf(out, ":%lld", (long long)id);
	else
		tl_native_root(out, &rules, &sample);
	if (name && has_id && id >= 0)
		tl_text_printf(out, "-%lld", (long long)id);
	tl_text_puts(out, ";");
}

static int make_root(struct call_fold *c, size_t thread_index, int64_t name_id, uint32_t *root,
		     struct tl_error *err)
{
	const struct tl_call_thread *thread = &c->q.threads[thread_index];
	enum tl_fold_root kind = c->fold->opt->root;
	struct tl_text text = { 0 };
	const char *name;
	int ret = tl_syscalls_text(&c->q, name_id, &name, NULL, err);

	if (ret < 0)
		return ret;
	if (kind != TL_ROOT_NONE) {
		int64_t pid = thread->pid >= 0 ? thread->pid : thread->tid;

		add_name(&text, process_name(c, pid), pid,
			 kind == TL_ROOT_PID || kind == TL_ROOT_TID);
		add_name(&text, thread->name, thread->tid, kind == TL_ROOT_TID);
	}
	tl_native_plain(&text, name, strlen(name));
	ret = tl_fold_root(c->fold, &text, root, err);
	tl_text_release(&text);
	return ret;
}

/* A line's beginning is made once. */
static int find_root(struct call_fold *c, size_t thread_index, int64_t name_id, uint32_t *root,
		     struct tl_error *err)
{
	int64_t thread_id = c->q.threads[thread_index].thread_id;
	const struct tl_call_sum *known = tl_call_sums_find(&c->roots, thread_id, name_id, 0);
	int ret;

	if (known) {
		*root = (uint32_t)known->count;
		return TL_OK;
	}
	ret = make_root(c, thread_index, name_id, root, err);
	return ret < 0 ? ret : tl_call_sums_add(&c->roots, thread_id, name_id, 0, 0, *root, err);
}

/* `stack_id` 0: none. */
static int add_line(struct call_fold *c, int64_t thread_id, int64_t name_id, int64_t stack_id,
		    uint64_t count, uint64_t ns, struct tl_error *err)
{
	struct tl_fold *fold = c->fold;
	struct tl_fold_sum key = { 0 };
	const char *name;
	size_t thread;
	int ret = tl_syscalls_thread(&c->q, thread_id, &thread, err);

	if (ret == TL_OK)
		ret = tl_syscalls_text(&c->q, name_id, &name, NULL, err);
	if (ret < 0 || !count)
		return ret;
	if (!tl_syscalls_thread_wanted(&c->q, &c->q.threads[thread])) {
		fold->counts.excluded_thread_count += count;
		return TL_OK;
	}
	ret = find_root(c, thread, name_id, &key.root, err);
	if (ret == TL_OK && stack_id)
		ret = tl_tree_node(fold->tree, stack_id, false, &key.node, err);
	if (ret < 0)
		return ret;
	if (tl_tree_is_excluded(fold->tree, key.node) || tl_tree_excludes_text(fold->tree, name)) {
		fold->counts.excluded_frame_count += count;
		return TL_OK;
	}
	fold->counts.sample_count += count;
	return tl_fold_add(fold, &key, fold->opt->weight == TL_WEIGHT_COUNT ? count : ns, err);
}

/* ---- sums of calls with stacks ------------------------------------------------------------------------ */

static struct source_stacks *find_stacked(struct call_fold *c, int64_t source_id)
{
	for (size_t i = 0; i < c->stacked_count; i++)
		if (c->stacked[i].source_id == source_id)
			return &c->stacked[i];
	return NULL;
}

static int load_stacked(struct call_fold *c, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, c->fold->store,
				    "SELECT DISTINCT source_id FROM call_stack_sum", "source_id",
				    err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = tl_grow(&c->stacked, &c->stacked_capacity, c->stacked_count + 1, err);

		if (status == TL_OK)
			c->stacked[c->stacked_count++].source_id = tl_column_i64(st, 0);
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	for (size_t i = 0; i < c->q.part_count; i++) {
		struct source_stacks *s = find_stacked(c, c->q.parts[i].source_id);

		if (s && (c->q.has_asked || c->q.parts[i].has_hidden))
			s->is_needed = true;
	}
	return ret;
}

enum { SUM_SOURCE, SUM_THREAD, SUM_NAME, SUM_STACK, SUM_COUNT, SUM_DUR };

static int add_stack_sum(struct call_fold *c, struct tl_statement *st, struct tl_error *err)
{
	int64_t source_id = tl_column_i64(st, SUM_SOURCE), thread_id, name_id;
	const struct source_stacks *source = find_stacked(c, source_id);
	uint64_t count = (uint64_t)tl_column_i64(st, SUM_COUNT);
	int64_t ns = tl_column_i64(st, SUM_DUR);
	int ret;

	if (!source || source->is_needed)
		return TL_OK;
	thread_id = tl_column_i64(st, SUM_THREAD);
	name_id = tl_column_i64(st, SUM_NAME);
	ret = tl_call_sums_add(&c->with_stack, thread_id, name_id, source_id, ns, count, err);
	return ret < 0 ? ret
		       : add_line(c, thread_id, name_id, tl_column_i64(st, SUM_STACK), count,
				  (uint64_t)ns, err);
}

static int add_stack_sums(struct call_fold *c, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, c->fold->store,
				    "SELECT source_id, " TL_CALL_THREAD
				    ", name_id, stack_id, call_count, dur_sum "
				    "FROM call_stack_sum",
				    "source_id thread_id name_id stack_id call_count dur_sum", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_stack_sum(c, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

/* What of a call lies inside of the times asked for; -1: nothing does. */
static int64_t inside_ns(const struct call_fold *c, bool has_ts, int64_t ts, int64_t duration_ns)
{
	int64_t length = duration_ns > 0 ? duration_ns : 0, inside;

	if (!c->q.has_asked)
		return length;
	if (!has_ts)
		return -1;
	inside = tl_ranges_inside_ns(&c->q.asked, ts, tl_call_end(ts, length));
	return inside || tl_ranges_contain(&c->q.asked, ts) ? inside : -1;
}

static void note_time(struct call_fold *c, int64_t ts, int64_t duration_ns)
{
	tl_fold_note_time(c->fold, ts, tl_call_end(ts, duration_ns > 0 ? duration_ns : 0));
}

static int add_decoded(struct call_fold *c, const struct tl_call_part *part, struct tl_error *err)
{
	const struct tl_call_key *key = &part->block.key;
	uint64_t taken = 0;
	int64_t sum = 0;
	uint32_t count;
	int ret = tl_syscalls_read(&c->q, part, c->calls, &count, NULL, err);

	for (uint32_t i = 0; i < count && ret == TL_OK; i++) {
		const struct tl_call_entry *call = &c->calls[i];
		int64_t ns = inside_ns(c, part->block.has_times, call->ts, call->duration_ns);

		if (ns < 0) {
			c->fold->counts.outside_count++;
			continue;
		}
		if (part->block.has_times)
			note_time(c, call->ts, call->duration_ns);
		taken++;
		sum = tl_call_end(sum, ns);
	}
	return ret < 0 ? ret
		       : tl_call_sums_add(&c->total, key->thread_id, key->name_id, part->source_id,
					  sum, taken, err);
}

static int add_part(struct call_fold *c, const struct tl_call_part *part, struct tl_error *err)
{
	const struct tl_call_block *b = &part->block;
	const struct source_stacks *stacked = find_stacked(c, part->source_id);

	if (stacked && stacked->is_needed)
		return TL_OK;
	if (c->q.has_asked || part->has_hidden)
		return add_decoded(c, part, err);
	if (b->has_times)
		note_time(c, b->first_ts, tl_call_end(b->last_ts, 0));
	return tl_call_sums_add(&c->total, b->key.thread_id, b->key.name_id, part->source_id,
				b->duration_sum_ns, b->count, err);
}

/* Calls without a stack: all of them less those that have one. */
static int add_rest(struct call_fold *c, const struct tl_call_sum *total, struct tl_error *err)
{
	const struct tl_call_sum *part =
		tl_call_sums_find(&c->with_stack, total->thread_id, total->name_id, total->stack);
	uint64_t count = total->count, ns = total->duration_sum_ns;

	if (part) {
		count -= part->count < count ? part->count : count;
		ns -= part->duration_sum_ns < ns ? part->duration_sum_ns : ns;
	}
	return add_line(c, total->thread_id, total->name_id, 0, count, ns, err);
}

/* ---- rows --------------------------------------------------------------------------------------------- */

enum { ROW_SOURCE, ROW_THREAD, ROW_NAME, ROW_STACK, ROW_TS, ROW_DUR };

static uint64_t hash_of(int64_t thread_id, int64_t source_id, int64_t name_id)
{
	return tl_hash_u64((uint64_t)thread_id << 16 ^ (uint64_t)source_id, (uint64_t)name_id);
}

static int index_hidden(struct call_fold *c, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < c->q.part_count && ret == TL_OK; i++) {
		const struct tl_call_part *part = &c->q.parts[i];

		if (part->has_hidden)
			ret = tl_index_add(&c->hidden,
					   hash_of(part->block.key.thread_id, part->source_id,
						   part->block.key.name_id),
					   (uint32_t)i, err);
	}
	return ret;
}

static bool is_hidden(const struct call_fold *c, int64_t thread_id, int64_t source_id,
		      int64_t name_id, int64_t ts, int64_t duration_ns)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&c->hidden, hash_of(thread_id, source_id, name_id),
				      &probe)) >= 0) {
		const struct tl_call_part *part = &c->q.parts[found];

		if (part->block.key.thread_id == thread_id && part->source_id == source_id &&
		    part->block.key.name_id == name_id)
			return tl_call_part_hides(part, ts, duration_ns);
	}
	return false;
}

static int add_row(struct call_fold *c, struct tl_statement *st, struct tl_error *err)
{
	const struct source_stacks *source = find_stacked(c, tl_column_i64(st, ROW_SOURCE));
	bool has_ts = !tl_column_is_null(st, ROW_TS);
	int64_t ts = tl_column_i64(st, ROW_TS), dur = tl_column_i64(st, ROW_DUR);
	int64_t thread_id = tl_column_i64(st, ROW_THREAD), ns;
	int64_t name_id = tl_column_i64(st, ROW_NAME);

	if (!source || !source->is_needed)
		return TL_OK;
	if (has_ts && is_hidden(c, thread_id, source->source_id, name_id, ts,
				tl_column_is_null(st, ROW_DUR) ? -1 : dur))
		return TL_OK;
	ns = inside_ns(c, has_ts, ts, dur);
	if (ns < 0) {
		c->fold->counts.outside_count++;
		return TL_OK;
	}
	if (has_ts)
		note_time(c, ts, dur);
	return add_line(c, thread_id, name_id, tl_column_i64(st, ROW_STACK), 1, (uint64_t)ns, err);
}

static int add_rows(struct call_fold *c, struct tl_error *err)
{
	struct tl_statement *st;
	int64_t incomplete;
	int ret = tl_store_value(c->fold->store,
				 "SELECT count(*) FROM source s WHERE NOT is_complete AND EXISTS "
				 "(SELECT 1 FROM call_stack_sum c WHERE c.source_id = s.source_id)",
				 0, &incomplete, err);

	if (ret == TL_OK && incomplete)
		return tl_fail(err, TL_UNSUPPORTED,
			       "stacks of calls at some times: the case holds sums per stack, not "
			       "the single calls");
	if (ret == TL_OK)
		ret = tl_statement_open(&st, c->fold->store,
					"SELECT source_id, " TL_CALL_THREAD
					", name_id, stack_id, ts, dur "
					"FROM syscall WHERE outcome IN (0, 1, 6)",
					"source_id thread_id name_id stack_id ts dur", err);
	if (ret < 0)
		return ret;
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = add_row(c, st, err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	return ret;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

static int add_all(struct call_fold *c, struct tl_error *err)
{
	bool needs_rows = false;
	int ret = index_leaders(c, err);

	if (ret == TL_OK)
		ret = index_hidden(c, err);
	if (ret == TL_OK)
		ret = load_stacked(c, err);
	if (ret == TL_OK)
		ret = add_stack_sums(c, err);
	for (size_t i = 0; i < c->q.part_count && ret == TL_OK; i++)
		ret = add_part(c, &c->q.parts[i], err);
	for (size_t i = 0; i < c->total.count && ret == TL_OK; i++)
		ret = add_rest(c, &c->total.sums[i], err);
	for (size_t i = 0; i < c->stacked_count; i++)
		needs_rows |= c->stacked[i].is_needed;
	return ret == TL_OK && needs_rows ? add_rows(c, err) : ret;
}

static int count_endless(struct tl_fold *fold, struct tl_error *err)
{
	int64_t count;
	int ret = tl_store_value(fold->store,
				 "SELECT count(*) FROM syscall WHERE outcome > 1 AND outcome IN "
				 "(3, 4, 5)",
				 0, &count, err);

	fold->counts.without_end_count = (uint64_t)count;
	return ret;
}

int tl_fold_calls(struct tl_fold *fold, struct tl_error *err)
{
	const struct tl_fold_options *opt = fold->opt;
	struct call_fold c = { .fold = fold,
			       .options = { .thread_pattern = opt->comm_pattern,
					    .tids = opt->tids,
					    .tid_count = opt->tid_count,
					    .ranges = fold->ranges,
					    .range_count = fold->range_count } };
	int ret;

	c.q = (struct tl_syscall_question) {
		.store = fold->store, .opt = &c.options, .out = &c.none, .arena = &fold->arena
	};
	snprintf(fold->counts.event, sizeof(fold->counts.event), "system calls");
	snprintf(fold->counts.unit, sizeof(fold->counts.unit), "%s",
		 opt->weight == TL_WEIGHT_COUNT ? "calls"
		 : opt->weight == TL_WEIGHT_NS	? "ns"
						: "us");
	c.calls = tl_alloc(TL_CALL_BLOCK_MAX, sizeof(*c.calls), err);
	ret = c.calls ? tl_store_execute(fold->store, "BEGIN", err) : TL_NOMEM;
	if (ret == TL_OK) {
		ret = tl_syscalls_load(&c.q, err);
		if (ret == TL_OK && !c.q.part_count)
			ret = tl_syscalls_fail_none(err);
		if (ret == TL_OK)
			ret = add_all(&c, err);
		if (ret == TL_OK)
			ret = count_endless(fold, err);
		tl_syscalls_unload(&c.q);
		tl_store_execute(fold->store, "COMMIT", NULL);
	}
	fold->counts.excluded_count =
		fold->counts.excluded_thread_count + fold->counts.excluded_frame_count;
	tl_index_release(&c.leaders);
	tl_index_release(&c.hidden);
	free(c.calls);
	free(c.stacked);
	tl_call_sums_release(&c.with_stack);
	tl_call_sums_release(&c.total);
	tl_call_sums_release(&c.roots);
	return ret;
}
