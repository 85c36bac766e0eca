/*
 * syscalls_single.c - tables whose rows are single calls: the longest ones, and those that were not seen to
 * end.
 */
#include "syscalls.h"

#include <stdlib.h>
#include <string.h>

#define ARGUMENTS_SHOWN 60 /* bytes, to people */

/* ---- the longest calls ------------------------------------------------------------------------------ */

struct long_call {
	struct tl_syscall_one *one;
	const char *name;
	uint32_t thread;
};

static const struct column long_columns[] = {
	{ "begin_ns", "begin", COLUMN_TIME, false },
	{ "duration_ns", "duration", COLUMN_DURATION, false },
	{ "pid", "pid", COLUMN_INTEGER, true },
	{ "tid", "tid", COLUMN_INTEGER, false },
	{ "call", "call", COLUMN_TEXT, false },
	{ "operation", "operation", COLUMN_TEXT, false },
	{ "result", "result", COLUMN_INTEGER, false },
	{ "error", "error", COLUMN_TEXT, false },
	{ "step", "step", COLUMN_INTEGER, true },
	{ "step_class", "step is", COLUMN_TEXT, true },
	{ "path", "path", COLUMN_TEXT, true },
	{ "line", "line", COLUMN_INTEGER, false },
	{ "arguments", "arguments", COLUMN_TEXT, false },
	{ "arguments_length", "of bytes", COLUMN_INTEGER, true }, /* more than there are: cut */
};

static int by_duration(const void *left, const void *right)
{
	const struct long_call *a = left, *b = right;

	if (a->one->duration_ns != b->one->duration_ns)
		return a->one->duration_ns > b->one->duration_ns ? -1 : 1;
	if (a->one->ts != b->one->ts)
		return a->one->ts < b->one->ts ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int add_list(struct long_call **list, size_t *count, size_t *capacity,
		    struct tl_syscall_one *ones, size_t n, const char *name, uint32_t thread,
		    struct tl_error *err)
{
	int ret = tl_grow(list, capacity, *count + n, err);

	for (size_t i = 0; i < n && ret == TL_OK; i++)
		(*list)[(*count)++] = (struct long_call) { &ones[i], name, thread };
	return ret;
}

/* "..." behind what is not all of it, whoever cut it. */
static const char *cut_arguments(char buf[ARGUMENTS_SHOWN + sizeof("...")], const char *text,
				 int64_t full_length)
{
	size_t length = strlen(text), shown = length < ARGUMENTS_SHOWN ? length : ARGUMENTS_SHOWN;

	memcpy(buf, text, shown);
	memcpy(buf + shown, "...", sizeof("..."));
	if (full_length <= (int64_t)shown)
		buf[shown] = '\0';
	return buf;
}

static int print_long_row(struct syscalls_printing *p, const struct long_call *call,
			  struct tl_error *err)
{
	const struct tl_syscall_thread *t = syscalls_thread_of(p, call->thread);
	const struct tl_syscall_one *one = call->one;
	bool is_machine = p->layout->format.is_json || p->layout->format.is_csv;
	char arguments[ARGUMENTS_SHOWN + sizeof("...")];
	const struct cell cells[] = {
		one->has_ts ? cell_integer(one->ts) : cell_unknown(),
		cell_integer(one->duration_ns),
		cell_id(t->pid),
		cell_id(t->tid),
		cell_text(call->name),
		cell_text(one->operation),
		one->has_result ? cell_integer(one->result) : cell_unknown(),
		cell_text(one->error),
		one->has_step ? cell_integer(one->step) : cell_unknown(),
		cell_text(one->step_class),
		cell_text(one->path),
		one->line ? cell_integer(one->line) : cell_unknown(),
		cell_text(is_machine || !one->arguments ? one->arguments
							: cut_arguments(arguments, one->arguments,
									one->arguments_length)),
		one->arguments ? cell_integer(one->arguments_length) : cell_unknown(),
	};

	return output_row(p->output, cells, err);
}

static int look_up(struct syscalls_printing *p, const struct long_call *list, size_t count,
		   struct tl_error *err)
{
	struct tl_syscall_one **ones = tl_alloc(count, sizeof(*ones), err);
	int ret = ones ? TL_OK : TL_NOMEM;

	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ones[i] = list[i].one;
	if (ret == TL_OK)
		ret = tl_syscalls_look_up(p->store, p->calls, ones, count, err);
	free(ones);
	return ret;
}

static int print_list(struct syscalls_printing *p, const char *key, const char *title,
		      struct long_call *list, size_t count, struct tl_error *err)
{
	size_t top = p->layout->top;
	int ret = output_table(p->output, key, title, long_columns, COUNT(long_columns), err);

	if (count)
		qsort(list, count, sizeof(*list), by_duration);
	count = top && count > top ? top : count;
	if (ret == TL_OK)
		ret = look_up(p, list, count, err);
	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = print_long_row(p, &list[i], err);
	return ret;
}

int syscalls_print_longest(struct syscalls_printing *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	bool is_machine = p->layout->format.is_json || p->layout->format.is_csv;
	struct long_call *list = NULL;
	size_t count = 0, capacity = 0;
	int ret = TL_OK;

	for (size_t i = 0; i < c->outlier_count && !syscalls_is_cut(p, i) && ret == TL_OK; i++) {
		const struct tl_syscall_outlier *o = &c->outliers[i];

		ret = add_list(&list, &count, &capacity, o->longest, o->longest_count, o->name,
			       o->thread, err);
	}
	if (ret == TL_OK && (count || is_machine))
		ret = print_list(p, "outlier_calls", "Slowest calls among the outliers", list,
				 count, err);
	count = 0;
	for (size_t i = 0; i < c->sum_count && ret == TL_OK; i++) {
		const struct tl_syscall_sum *s = &c->sums[i];

		if (!is_machine && syscalls_is_idle_wait(s))
			continue;
		ret = add_list(&list, &count, &capacity, s->longest, s->longest_count, s->name,
			       s->thread, err);
	}
	if (ret == TL_OK && (is_machine || (count && !c->outlier_count)))
		ret = print_list(p, "longest_calls", "Longest calls, without idle waits", list,
				 count, err);
	free(list);
	return ret;
}

/* ---- calls without an end --------------------------------------------------------------------------- */

static const struct column open_columns[] = {
	{ "age_ns", "age", COLUMN_DURATION, false },
	{ "begin_ns", "begin", COLUMN_TIME, false },
	{ "thread", "thread", COLUMN_TEXT, false },
	{ "pid", "pid", COLUMN_INTEGER, true },
	{ "tid", "tid", COLUMN_INTEGER, false },
	{ "call", "call", COLUMN_TEXT, false },
	{ "operation", "operation", COLUMN_TEXT, false },
	{ "outcome", "is", COLUMN_TEXT, false },
	{ "is_wait", "waits", COLUMN_FLAG, false },
	{ "is_hanging", "hangs", COLUMN_FLAG, false },
	{ "path", "path", COLUMN_TEXT, true },
	{ "line", "line", COLUMN_INTEGER, false },
	{ "arguments", "arguments", COLUMN_TEXT, true },
	{ "arguments_length", "of bytes", COLUMN_INTEGER, true },
};

int syscalls_print_opens(struct syscalls_printing *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	char title[200];
	int ret = output_table(
		p->output, "open_calls",
		syscalls_title(p, title, sizeof(title),
			       "Calls that were not seen to end: those that hang, other ones, "
			       "then those that wait; each by how long they went on",
			       c->open_count),
		open_columns, COUNT(open_columns), err);

	for (size_t i = 0; i < c->open_count && !syscalls_is_cut(p, i) && ret == TL_OK; i++) {
		const struct tl_syscall_open *o = &c->opens[i];
		const struct tl_syscall_thread *t = syscalls_thread_of(p, o->thread);
		const struct cell cells[] = {
			o->age_ns >= 0 ? cell_integer(o->age_ns) : cell_unknown(),
			o->has_ts ? cell_integer(o->ts) : cell_unknown(),
			cell_text(t->name),
			cell_id(t->pid),
			cell_id(t->tid),
			cell_text(o->name),
			cell_text(o->operation),
			cell_text(tl_call_outcome_name(o->outcome)),
			o->may_wait ? cell_unknown() : cell_flag(o->is_wait),
			cell_flag(o->is_hanging),
			cell_text(o->path),
			o->line ? cell_integer(o->line) : cell_unknown(),
			cell_text(o->arguments),
			o->arguments ? cell_integer(o->arguments_length) : cell_unknown(),
		};

		ret = output_row(p->output, cells, err);
	}
	return ret;
}
