/*
 * stack_heads.c - the first frame of a line: who ran the stack, and whether it is wanted at all.
 * Each distinct combination of event, thread and name is judged once.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#define ID_MAX (INT64_C(1) << 28) /* more rows than this are taken for damage */

enum { THREAD_ID, THREAD_TID, THREAD_PID };

static int load_threads(struct tl_fold *fold, struct tl_error *err)
{
	struct tl_statement *st = NULL;
	int ret = tl_store_value(fold->store, "SELECT max(thread_id) FROM thread", 0,
				 &fold->thread_max, err);

	if (ret < 0)
		return ret;
	if (fold->thread_max < 0 || fold->thread_max > ID_MAX)
		return tl_fail(err, TL_STORE, "table thread has the id %lld: damaged",
			       (long long)fold->thread_max);
	fold->threads = tl_alloc((size_t)fold->thread_max + 1, sizeof(*fold->threads), err);
	if (!fold->threads)
		return TL_NOMEM;
	ret = tl_statement_open(&st, fold->store,
				"SELECT t.thread_id, t.tid, p.pid FROM thread t "
				"JOIN process p USING (process_id)",
				"thread_id tid pid", err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, THREAD_ID);
		int32_t tid = (int32_t)tl_column_i64(st, THREAD_TID);

		if (id <= 0 || id > fold->thread_max)
			continue;
		fold->threads[id].tid = tid;
		/* only the tid is known: the thread stands for its process */
		fold->threads[id].pid = tl_column_is_null(st, THREAD_PID)
						? tid
						: (int32_t)tl_column_i64(st, THREAD_PID);
	}
	tl_statement_close(st);
	return ret;
}

int tl_fold_open_heads(struct tl_fold *fold, struct tl_error *err)
{
	const char *pattern = fold->opt->comm_pattern;
	int ret = load_threads(fold, err);

	if (ret == TL_OK && pattern) {
		ret = tl_pattern_compile(&fold->comm_pattern, pattern, false, err);
		fold->has_comm_pattern = ret == TL_OK;
	}
	if (ret == TL_OK)
		ret = tl_statement_open(&fold->find_string, fold->store,
					"SELECT text FROM string WHERE string_id = ?", "text", err);
	if (ret == TL_OK)
		ret = tl_statement_open(&fold->find_cgroup, fold->store,
					"SELECT path, kernel_id FROM cgroup WHERE cgroup_id = ?",
					"path kernel_id", err);
	return ret;
}

void tl_fold_close_heads(struct tl_fold *fold)
{
	if (fold->has_comm_pattern)
		regfree(&fold->comm_pattern);
	tl_statement_close(fold->find_string);
	tl_statement_close(fold->find_cgroup);
	free(fold->threads);
	free(fold->heads);
	tl_index_release(&fold->head_index);
	tl_interner_release(&fold->roots);
}

const struct tl_fold_event *tl_fold_find_event(const struct tl_fold *fold, int64_t event_id)
{
	for (size_t i = 0; i < fold->event_count; i++)
		if (fold->events[i].event_id == event_id)
			return &fold->events[i];
	return NULL;
}

int tl_fold_string(struct tl_fold *fold, int64_t string_id, struct tl_text *out,
		   struct tl_error *err)
{
	struct tl_statement *st = fold->find_string;
	size_t len;
	int ret;

	tl_bind_i64(st, 1, string_id);
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		const char *text = tl_column_text(st, 0, &len);

		tl_text_add(out, text ? text : "", text ? len : 0);
	}
	tl_statement_reset(st);
	if (ret == 0)
		return tl_fail(err, TL_STORE, "the text %lld is not there: damaged",
			       (long long)string_id);
	return ret < 0 ? ret : TL_OK;
}

int tl_fold_root(struct tl_fold *fold, const struct tl_text *text, uint32_t *root,
		 struct tl_error *err)
{
	if (text->failed)
		return tl_fail(err, TL_NOMEM, "out of memory while naming threads");
	return tl_intern(&fold->roots, text->data ? text->data : "", text->length, root, err);
}

int tl_fold_describe(struct tl_fold *fold, const struct tl_fold_who *who,
		     struct tl_folded_sample *sample, struct tl_text *comm, struct tl_error *err)
{
	const struct tl_fold_event *event = tl_fold_find_event(fold, who->event_id);
	bool is_known = who->thread_id > 0 && who->thread_id <= fold->thread_max;
	int ret = TL_OK;

	memset(sample, 0, sizeof(*sample));
	sample->cpu = -1;
	sample->pid = sample->tid = -1;
	if (is_known) {
		sample->pid = fold->threads[who->thread_id].pid;
		sample->tid = fold->threads[who->thread_id].tid;
	}
	if (who->recorded_pid != TL_ID_NONE)
		sample->pid = who->recorded_pid;
	if (who->recorded_tid != TL_ID_NONE)
		sample->tid = who->recorded_tid;
	if (event) {
		sample->event = event->name;
		sample->event_width = event->width;
		sample->has_callchain = event->has_callchain;
		sample->has_trace = event->is_tracepoint;
	}
	if (who->name_id)
		ret = tl_fold_string(fold, who->name_id, comm, err);
	else
		tl_text_printf(comm, ":%d",
			       sample->tid); /* as perf calls a thread without a name */
	sample->comm = comm->data ? comm->data : "";
	sample->comm_length = comm->length;
	return ret;
}

bool tl_fold_is_wanted(const struct tl_fold *fold, int64_t thread_id, const struct tl_text *comm)
{
	const struct tl_fold_options *opt = fold->opt;
	bool is_known = thread_id > 0 && thread_id <= fold->thread_max;
	int32_t tid = is_known ? fold->threads[thread_id].tid : -1;
	bool is_listed = opt->tid_count == 0;

	if (opt->no_idle && tid == 0)
		return false;
	for (size_t i = 0; i < opt->tid_count && !is_listed; i++)
		is_listed = is_known && opt->tids[i] == tid;
	if (!is_listed)
		return false;
	return !fold->has_comm_pattern ||
	       !regexec(&fold->comm_pattern, comm->data ? comm->data : "", 0, NULL, 0);
}

/* "/path/of/group;comm": the group is a frame of its own, above the command. */
static int add_cgroup(struct tl_fold *fold, int64_t cgroup_id, struct tl_text *out,
		      struct tl_error *err)
{
	struct tl_statement *st = fold->find_cgroup;
	const char *path;
	size_t len;
	int ret;

	if (!cgroup_id) {
		tl_text_puts(out, "[no cgroup recorded];");
		return TL_OK;
	}
	tl_bind_i64(st, 1, cgroup_id);
	ret = tl_statement_step(st, err);
	path = ret > 0 ? tl_column_text(st, 0, &len) : NULL;
	if (path)
		tl_native_plain(out, path, len);
	else if (ret > 0)
		tl_text_printf(out, "[cgroup %lld]", (long long)tl_column_i64(st, 1));
	tl_text_puts(out, ";");
	tl_statement_reset(st);
	return ret < 0 ? ret : TL_OK;
}

static int judge_native(struct tl_fold *fold, struct tl_fold_head *head,
			const struct tl_folded_sample *sample, struct tl_error *err)
{
	struct tl_text root = { 0 };
	int ret = TL_OK;

	head->kind = TL_FOLD_STACK;
	head->uses_period = true;
	if (fold->opt->root == TL_ROOT_CGROUP)
		ret = add_cgroup(fold, head->who.cgroup_id, &root, err);
	if (fold->opt->root != TL_ROOT_NONE)
		tl_native_root(&root, &fold->rules, sample);
	if (ret == TL_OK)
		ret = tl_fold_root(fold, &root, &head->root, err);
	tl_text_release(&root);
	return ret;
}

static int judge_compat(struct tl_fold *fold, struct tl_fold_head *head,
			const struct tl_folded_sample *sample, struct tl_error *err)
{
	static const enum tl_head_kind kinds[] = { [TL_HEAD_STACK] = TL_FOLD_STACK,
						   [TL_HEAD_LOST] = TL_FOLD_LOST,
						   [TL_HEAD_FILTERED] = TL_FOLD_FILTERED,
						   [TL_HEAD_PER_SAMPLE] = TL_FOLD_PER_SAMPLE };
	const char *filter = fold->has_filter ? fold->filter.data : NULL;
	struct tl_text root = { 0 };
	int ret;

	head->kind = kinds[tl_compat_head(&fold->rules, filter, sample, &root, &head->uses_period)];
	head->is_java = root.length >= 4 && !memcmp(root.data, "java", 4);
	ret = tl_fold_root(fold, &root, &head->root, err);
	tl_text_release(&root);
	return ret;
}

static int judge(struct tl_fold *fold, struct tl_fold_head *head, struct tl_error *err)
{
	struct tl_folded_sample sample;
	struct tl_text comm = { 0 };
	int ret = tl_fold_describe(fold, &head->who, &sample, &comm, err);

	if (ret == TL_OK && comm.failed)
		ret = tl_fail(err, TL_NOMEM, "out of memory while naming threads");
	if (ret == TL_OK && !tl_fold_is_wanted(fold, head->who.thread_id, &comm))
		head->kind = TL_FOLD_EXCLUDED;
	else if (ret == TL_OK && fold->opt->compat == TL_COMPAT_NATIVE)
		ret = judge_native(fold, head, &sample, err);
	else if (ret == TL_OK)
		ret = judge_compat(fold, head, &sample, err);
	tl_text_release(&comm);
	return ret;
}

static bool is_same(const struct tl_fold_who *a, const struct tl_fold_who *b)
{
	return a->event_id == b->event_id && a->thread_id == b->thread_id &&
	       a->name_id == b->name_id && a->cgroup_id == b->cgroup_id &&
	       a->recorded_pid == b->recorded_pid && a->recorded_tid == b->recorded_tid;
}

int tl_fold_find_head(struct tl_fold *fold, const struct tl_fold_who *who,
		      const struct tl_fold_head **head, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)who->event_id << 40 ^ (uint64_t)who->thread_id,
				    (uint64_t)who->name_id << 24 ^ (uint64_t)who->cgroup_id);
	struct tl_fold_head *new;
	size_t probe = 0;
	int64_t found;
	int ret;

	hash = tl_hash_u64(hash, (uint64_t)(uint32_t)who->recorded_pid << 32 |
					 (uint32_t)who->recorded_tid);
	while ((found = tl_index_find(&fold->head_index, hash, &probe)) >= 0) {
		*head = &fold->heads[found];
		if (is_same(&(*head)->who, who))
			return TL_OK;
	}
	ret = tl_grow(&fold->heads, &fold->head_capacity, fold->head_count + 1, err);
	if (ret < 0)
		return ret;
	new = &fold->heads[fold->head_count];
	memset(new, 0, sizeof(*new));
	new->who = *who;
	ret = judge(fold, new, err);
	if (ret == TL_OK)
		ret = tl_index_add(&fold->head_index, hash, (uint32_t)fold->head_count, err);
	if (ret < 0)
		return ret;
	fold->head_count++;
	*head = new;
	return TL_OK;
}
