/*
 * syscalls.c - which calls cost time: from the question to an answer in order, and what its words are.
 */
#include "syscalls.h"

#include <stdlib.h>
#include <string.h>

static int by_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Idle waits mean nothing, however long: they come last. */
static int by_time(const void *left, const void *right)
{
	const struct tl_syscall_sum *a = left, *b = right;
	int64_t a_ns = a->total_ns - a->idle_ns, b_ns = b->total_ns - b->idle_ns;

	if (a_ns != b_ns)
		return a_ns > b_ns ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->call_count != b->call_count)
		return a->call_count > b->call_count ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return by_text(a->name, b->name);
}

static int by_cost(const void *left, const void *right)
{
	const struct tl_syscall_outlier *a = left, *b = right;

	if (a->cost_ns != b->cost_ns)
		return a->cost_ns > b->cost_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return by_text(a->name, b->name) ? by_text(a->name, b->name)
					 : by_text(a->operation, b->operation);
}

static int by_wait(const void *left, const void *right)
{
	const struct tl_syscall_wait *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return by_text(a->name, b->name) ? by_text(a->name, b->name)
					 : by_text(a->operation, b->operation);
}

static int add_sources(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_syscalls *out = q->out;

	out->sources = tl_alloc(q->source_count, sizeof(*out->sources), err);
	if (!out->sources)
		return TL_NOMEM;
	for (size_t i = 0; i < q->source_count; i++)
		if (q->sources[i].answer.call_count || q->sources[i].answer.left_out_count)
			out->sources[out->source_count++] = q->sources[i].answer;
	return TL_OK;
}

int tl_syscalls_fail_none(struct tl_error *err)
{
	return tl_fail(err, TL_NOTHING,
		       "the case has no system calls: record them with 'strace -f -ttt -T', or "
		       "with 'perf record -a -e raw_syscalls:*'");
}

static int check_found(const struct tl_syscall_question *q, struct tl_error *err)
{
	const struct tl_syscalls *out = q->out;

	if (out->sum_count || out->open_count)
		return TL_OK;
	if (!q->part_count)
		return tl_syscalls_fail_none(err);
	return tl_fail(err, TL_NOTHING, "no call is left: %s",
		       out->outside_count ? "all of them are outside of what was asked for"
					  : "no thread and call of these names");
}

static void sort_answer(struct tl_syscalls *out)
{
	if (out->sum_count)
		qsort(out->sums, out->sum_count, sizeof(*out->sums), by_time);
	if (out->outlier_count)
		qsort(out->outliers, out->outlier_count, sizeof(*out->outliers), by_cost);
	if (out->suspect_count)
		qsort(out->suspects, out->suspect_count, sizeof(*out->suspects), by_cost);
	if (out->wait_count)
		qsort(out->waits, out->wait_count, sizeof(*out->waits), by_wait);
}

static int answer(struct tl_syscall_question *q, struct tl_error *err)
{
	int ret = tl_syscalls_load_opens(q, err);

	if (ret == TL_OK)
		ret = tl_syscalls_walk(q, err);
	if (ret == TL_OK)
		ret = tl_syscalls_judge_fews(q, err);
	if (ret == TL_OK)
		ret = tl_syscalls_finish_opens(q, err);
	if (ret == TL_OK)
		ret = add_sources(q, err);
	if (ret == TL_OK)
		ret = check_found(q, err);
	if (ret == TL_OK)
		sort_answer(q->out);
	return ret;
}

int tl_syscalls(struct tl_store *store, const struct tl_syscall_options *opt,
		struct tl_syscalls *out, struct tl_error *err)
{
	struct tl_syscall_question q = { .store = store, .opt = opt, .out = out };
	int ret;

	memset(out, 0, sizeof(*out));
	q.arena = tl_alloc(1, sizeof(*q.arena), err);
	out->memory = q.arena;
	/* one view of the case, and one lock for all that is read */
	ret = q.arena ? tl_store_execute(store, "BEGIN", err) : TL_NOMEM;
	if (ret == TL_OK) {
		ret = tl_syscalls_load(&q, err);
		if (ret == TL_OK)
			ret = answer(&q, err);
		tl_syscalls_unload(&q);
		tl_store_execute(store, "COMMIT", NULL);
	}
	if (ret < 0)
		tl_syscalls_release(out);
	return ret;
}

void tl_syscalls_release(struct tl_syscalls *calls)
{
	if (calls->memory)
		tl_arena_release(calls->memory);
	free(calls->memory);
	free(calls->threads);
	free(calls->sums);
	free(calls->outliers);
	free(calls->suspects);
	free(calls->waits);
	free(calls->opens);
	free(calls->sources);
	memset(calls, 0, sizeof(*calls));
}

const char *tl_syscall_learnt_name(enum tl_syscall_learnt learnt)
{
	switch (learnt) {
	case TL_LEARNT_GOOD:
		return "good steps";
	case TL_LEARNT_BEFORE:
		return "before";
	case TL_LEARNT_ALL:
		return "all calls";
	case TL_LEARNT_POOL:
		return "all threads";
	}
	return "";
}

const char *tl_syscall_doubt_name(enum tl_syscall_doubt doubt)
{
	switch (doubt) {
	case TL_DOUBT_NONE:
		return "";
	case TL_DOUBT_OUTSIDE:
		return "waits for what comes from outside";
	case TL_DOUBT_FREQUENT:
		return "too frequent to be told from the usual";
	}
	return "";
}
