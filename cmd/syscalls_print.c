/*
 * syscalls_print.c - what is known of system calls: a sentence, tables, histograms drawn in text.
 */
#include "syscalls.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { BAR_WIDTH = 40, ARGUMENTS_SHOWN = 60, HISTOGRAM_CALLS = 5, SUM_COLUMNS = 20 };

#define COARSE_NS 1000000 /* units of logs from here on are worth a word */

struct print {
	struct tl_store *store;
	struct tl_syscalls *calls;
	const struct syscalls_layout *layout;
	struct output *output;
	struct column chosen[SUM_COLUMNS]; /* of the table of sums */
};

/* ---- words ---------------------------------------------------------------------------------------- */

static int print_text(struct print *p, struct tl_text *text, struct tl_error *err)
{
	int ret = text->failed || !text->data ? tl_fail(err, TL_NOMEM, "out of memory")
					      : output_text(p->output, text->data, err);

	tl_text_release(text);
	return ret;
}

static int print_headline(struct print *p, struct tl_error *err)
{
	struct tl_text text = { 0 };

	syscalls_headline(&text, p->calls);
	return print_text(p, &text, err);
}

/* ---- what several tables hold ------------------------------------------------------------------ */

static const struct tl_syscall_thread *thread_of(const struct print *p, uint32_t index)
{
	return &p->calls->threads[index];
}

static bool is_cut(const struct print *p, size_t row)
{
	return p->layout->top && row >= p->layout->top;
}

/* A title, and how much of the table is shown where it is cut. */
static const char *title_of(const struct print *p, char *buf, size_t size, const char *title,
			    size_t rows)
{
	if (is_cut(p, rows - 1) && rows)
		snprintf(buf, size, "%s (%zu of %zu)", title, p->layout->top, rows);
	else
		snprintf(buf, size, "%s", title);
	return buf;
}

/* ---- outliers ------------------------------------------------------------------------------------- */

static const struct column outlier_columns[] = {
	{ "cost_ns", "cost", COLUMN_DURATION, false },
	{ "thread", "thread", COLUMN_TEXT, false },
	{ "pid", "pid", COLUMN_INTEGER, true },
	{ "tid", "tid", COLUMN_INTEGER, false },
	{ "call", "call", COLUMN_TEXT, false },
	{ "operation", "operation", COLUMN_TEXT, false },
	{ "judged_count", "calls", COLUMN_INTEGER, false },
	{ "outlier_count", "outliers", COLUMN_INTEGER, false },
	{ "threshold_ns", "above", COLUMN_DURATION, false },
	{ "median_ns", "usual", COLUMN_DURATION, false },
	{ "max_ns", "slowest", COLUMN_DURATION, false },
	{ "learnt_from", "learnt from", COLUMN_TEXT, false },
	{ "learnt_count", "calls", COLUMN_INTEGER, true },
	{ "since_ns", "slow since", COLUMN_TIME, true },
	{ "until_ns", "slow until", COLUMN_TIME, true },
	{ "episode_count", "episodes", COLUMN_INTEGER, true },
	{ "is_step_thread", "step thread", COLUMN_FLAG, true },
	{ "doubt", "because", COLUMN_TEXT, false }, /* of the suspects */
};

static int print_outlier_rows(struct print *p, const struct tl_syscall_outlier *rows, size_t count,
			      struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < count && !is_cut(p, i) && ret == TL_OK; i++) {
		const struct tl_syscall_outlier *o = &rows[i];
		const struct tl_syscall_thread *t = thread_of(p, o->thread);
		const struct cell cells[] = {
			cell_integer(o->cost_ns),
			cell_text(t->name),
			cell_id(t->pid),
			cell_id(t->tid),
			cell_text(o->name),
			cell_text(o->operation),
			cell_integer((int64_t)o->judged_count),
			cell_integer((int64_t)o->outlier_count),
			cell_ns(o->threshold_ns),
			o->learnt_count ? cell_ns(o->median_ns) : cell_unknown(),
			cell_integer(o->max_ns),
			cell_text(tl_syscall_learnt_name(o->learnt)),
			cell_integer((int64_t)o->learnt_count),
			o->has_since ? cell_integer(o->since_ns) : cell_unknown(),
			o->has_until ? cell_integer(o->until_ns) : cell_unknown(),
			o->episode_count ? cell_integer(o->episode_count) : cell_unknown(),
			cell_flag(t->is_step_thread),
			cell_text(tl_syscall_doubt_name(o->doubt)),
		};

		ret = output_row(p->output, cells, err);
	}
	return ret;
}

static int print_outliers(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	char title[200];
	int ret =
		output_table(p->output, "outliers",
			     title_of(p, title, sizeof(title),
				      "Outliers: calls beyond what is usual, by the time they cost",
				      c->outlier_count),
			     outlier_columns, COUNT(outlier_columns) - 1, err);

	return ret == TL_OK ? print_outlier_rows(p, c->outliers, c->outlier_count, err) : ret;
}

static int print_suspects(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	char title[200];
	int ret = output_table(p->output, "suspects",
			       title_of(p, title, sizeof(title),
					"Slow calls that may have their reason, by the time they "
					"cost: no outliers",
					c->suspect_count),
			       outlier_columns, COUNT(outlier_columns), err);

	return ret == TL_OK ? print_outlier_rows(p, c->suspects, c->suspect_count, err) : ret;
}

/* ---- histograms ----------------------------------------------------------------------------------- */

struct histogram {
	const char *name, *operation;
	uint32_t thread, first;
	uint32_t count;
	const uint64_t *buckets;
	double threshold_ns; /* 0: none */
	uint64_t calls;
};

static void draw_bucket(struct tl_text *out, const struct histogram *h, uint32_t i, uint64_t most)
{
	double from_ns = exp2(h->first + i);
	uint64_t value = h->buckets[i];
	int bar = most ? (int)((double)value / (double)most * BAR_WIDTH + 0.5) : 0;
	char from[64];

	if (value && !bar)
		bar = 1;
	format_duration(from, sizeof(from), h->first + i ? (int64_t)from_ns : 0);
	tl_text_printf(out, "\n%10s  %.*s%*s %" PRIu64 "%s", from, bar,
		       "########################################", BAR_WIDTH - bar, "", value,
		       h->threshold_ns > 0 && from_ns <= h->threshold_ns &&
				       h->threshold_ns < 2 * from_ns
			       ? "  <- outliers from here on"
			       : "");
}

static int draw(struct print *p, const struct histogram *h, struct tl_error *err)
{
	struct tl_text text = { 0 };
	uint64_t most = 0;

	syscalls_add_call(&text, p->calls, h->name, h->operation, h->thread);
	tl_text_printf(&text, ": %" PRIu64 " calls by duration", h->calls);
	for (uint32_t i = 0; i < h->count; i++)
		most = h->buckets[i] > most ? h->buckets[i] : most;
	for (uint32_t i = 0; i < h->count; i++)
		draw_bucket(&text, h, i, most);
	return print_text(p, &text, err);
}

/* Most of its time means nothing. */
static bool is_idle_wait(const struct tl_syscall_sum *sum)
{
	return sum->idle_ns > 0 && (double)sum->idle_ns >= 0.5 * (double)sum->total_ns;
}

/* Of the worst outliers; where there are none, of the calls that took most time. */
static int draw_histograms(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	size_t drawn = 0;
	int ret = TL_OK;

	for (size_t i = 0; i < c->outlier_count && drawn < p->layout->histograms; i++) {
		const struct tl_syscall_outlier *o = &c->outliers[i];
		const struct histogram h = { o->name,	      o->operation,    o->thread,
					     o->first_bucket, o->bucket_count, o->buckets,
					     o->threshold_ns, o->judged_count };

		if (o->judged_count < HISTOGRAM_CALLS)
			continue;
		ret = ret == TL_OK ? draw(p, &h, err) : ret;
		drawn++;
	}
	for (size_t i = 0;
	     i < c->sum_count && !c->outlier_count && drawn < p->layout->histograms && ret == TL_OK;
	     i++) {
		const struct tl_syscall_sum *s = &c->sums[i];
		const struct histogram h = {
			s->name,	 NULL,	     s->thread, s->first_bucket,
			s->bucket_count, s->buckets, 0,		s->timed_count
		};

		if (is_idle_wait(s) || s->timed_count < HISTOGRAM_CALLS)
			continue;
		ret = draw(p, &h, err);
		drawn++;
	}
	return ret;
}

static const struct column histogram_columns[] = {
	{ "pid", "pid", COLUMN_INTEGER, false },
	{ "tid", "tid", COLUMN_INTEGER, false },
	{ "call", "call", COLUMN_TEXT, false },
	{ "from_ns", "from", COLUMN_DURATION, false },
	{ "call_count", "calls", COLUMN_INTEGER, false },
};

/* For machines: all of them. */
static int list_histograms(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	int ret = output_table(p->output, "histograms", NULL, histogram_columns,
			       COUNT(histogram_columns), err);

	for (size_t i = 0; i < c->sum_count && !is_cut(p, i); i++) {
		const struct tl_syscall_sum *s = &c->sums[i];
		const struct tl_syscall_thread *t = thread_of(p, s->thread);

		for (uint32_t k = 0; k < s->bucket_count && ret == TL_OK; k++) {
			uint32_t bucket = s->first_bucket + k;
			const struct cell cells[] = {
				cell_id(t->pid), cell_id(t->tid), cell_text(s->name),
				cell_integer(bucket ? INT64_C(1) << bucket : 0),
				cell_integer((int64_t)s->buckets[k])
			};

			ret = output_row(p->output, cells, err);
		}
	}
	return ret;
}

/* ---- sums ----------------------------------------------------------------------------------------- */

static const struct column sum_columns[SUM_COLUMNS] = {
	{ "total_ns", "total", COLUMN_DURATION, false },
	{ "share_ratio", "share", COLUMN_RATIO, false },
	{ "thread", "thread", COLUMN_TEXT, false },
	{ "pid", "pid", COLUMN_INTEGER, true },
	{ "tid", "tid", COLUMN_INTEGER, false },
	{ "call", "call", COLUMN_TEXT, false },
	{ "kind", "kind", COLUMN_TEXT, true },
	{ "call_count", "calls", COLUMN_INTEGER, false },
	{ "error_count", "errors", COLUMN_INTEGER, false },
	{ "timed_count", "timed", COLUMN_INTEGER, true },
	{ "timer_count", "timed out", COLUMN_INTEGER, true },
	{ "min_ns", "min", COLUMN_DURATION, true },
	{ "p50_ns", "p50", COLUMN_DURATION, false },
	{ "p90_ns", "p90", COLUMN_DURATION, false },
	{ "p99_ns", "p99", COLUMN_DURATION, false },
	{ "p99_9_ns", "p99.9", COLUMN_DURATION, false },
	{ "max_ns", "max", COLUMN_DURATION, false },
	{ "wait_ns", "in waits", COLUMN_DURATION, true },
	{ "idle_ns", "in idle waits", COLUMN_DURATION, true },
	{ "idle_ratio", "idle", COLUMN_RATIO, false },
};

/* People see what tells rows apart, or which of the calls the quantiles are of, where it matters. */
static void choose_sum_columns(const struct tl_syscalls *c, struct column *columns)
{
	bool is_mixed = false, is_partly_timed = false;

	memcpy(columns, sum_columns, sizeof(sum_columns));
	for (size_t i = 0; i < c->sum_count; i++) {
		const struct tl_syscall_sum *s = &c->sums[i];

		is_mixed |= s->kind != c->sums[0].kind;
		is_partly_timed |= s->timed_count && s->timed_count < s->call_count;
	}
	for (size_t i = 0; i < COUNT(sum_columns); i++)
		if ((is_mixed && !strcmp(columns[i].key, "kind")) ||
		    (is_partly_timed && !strcmp(columns[i].key, "timed_count")))
			columns[i].is_detail = false;
}

static int print_sums(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	char title[300];
	int ret;

	choose_sum_columns(c, p->chosen);
	ret = output_table(
		p->output, "calls",
		title_of(
			p, title, sizeof(title),
			"Calls of each thread, by the time they took without idle waits. share: of "
			"the time from the thread's first call to the end of its last; idle: of "
			"the total, in idle waits",
			c->sum_count),
		p->chosen, SUM_COLUMNS, err);

	for (size_t i = 0; i < c->sum_count && !is_cut(p, i) && ret == TL_OK; i++) {
		const struct tl_syscall_sum *s = &c->sums[i];
		const struct tl_syscall_thread *t = thread_of(p, s->thread);
		bool is_timed = s->timed_count > 0;
		const struct cell cells[] = {
			is_timed ? cell_integer(s->total_ns) : cell_unknown(),
			is_timed ? cell_real(s->share_ratio) : cell_unknown(),
			cell_text(t->name),
			cell_id(t->pid),
			cell_id(t->tid),
			cell_text(s->name),
			cell_text(s->kind == TL_CALL_LIBRARY ? "library" : "system"),
			cell_integer((int64_t)s->call_count),
			cell_integer((int64_t)s->error_count),
			cell_integer((int64_t)s->timed_count),
			cell_integer((int64_t)s->timer_count),
			is_timed ? cell_integer(s->min_ns) : cell_unknown(),
			cell_ns(s->quantile_ns[0]),
			cell_ns(s->quantile_ns[1]),
			cell_ns(s->quantile_ns[2]),
			cell_ns(s->quantile_ns[3]),
			is_timed ? cell_integer(s->max_ns) : cell_unknown(),
			cell_integer(s->wait_ns),
			cell_integer(s->idle_ns),
			s->total_ns ? cell_real((double)s->idle_ns / (double)s->total_ns)
				    : cell_unknown(),
		};

		ret = output_row(p->output, cells, err);
	}
	return ret;
}

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

static int print_long_row(struct print *p, const struct long_call *call, struct tl_error *err)
{
	const struct tl_syscall_thread *t = thread_of(p, call->thread);
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

static int look_up(struct print *p, const struct long_call *list, size_t count,
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

static int print_list(struct print *p, const char *key, const char *title, struct long_call *list,
		      size_t count, struct tl_error *err)
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

static int print_longest(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	bool is_machine = p->layout->format.is_json || p->layout->format.is_csv;
	struct long_call *list = NULL;
	size_t count = 0, capacity = 0;
	int ret = TL_OK;

	for (size_t i = 0; i < c->outlier_count && !is_cut(p, i) && ret == TL_OK; i++) {
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

		if (!is_machine && is_idle_wait(s))
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

/* ---- idle waits ----------------------------------------------------------------------------------- */

static const struct column wait_columns[] = {
	{ "total_ns", "total", COLUMN_DURATION, false },
	{ "thread", "thread", COLUMN_TEXT, false },
	{ "pid", "pid", COLUMN_INTEGER, true },
	{ "tid", "tid", COLUMN_INTEGER, false },
	{ "call", "call", COLUMN_TEXT, false },
	{ "operation", "operation", COLUMN_TEXT, false },
	{ "call_count", "calls", COLUMN_INTEGER, false },
	{ "timer_count", "timed out", COLUMN_INTEGER, false },
	{ "thread_wait_ratio", "thread waits", COLUMN_RATIO, false },
	{ "is_idle_thread", "idle thread", COLUMN_FLAG, false },
};

static int print_waits(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	char title[200], shown[280];
	int ret;

	snprintf(title, sizeof(title),
		 "Idle waits, never outliers: of %" PRIu64 " thread%s that wait%s for 90 %% of "
		 "the time or more, or timed out: ended by their own timer when it was asked to",
		 c->idle_thread_count, c->idle_thread_count == 1 ? "" : "s",
		 c->idle_thread_count == 1 ? "s" : "");
	ret = output_table(p->output, "idle_waits",
			   title_of(p, shown, sizeof(shown), title, c->wait_count), wait_columns,
			   COUNT(wait_columns), err);
	for (size_t i = 0; i < c->wait_count && !is_cut(p, i) && ret == TL_OK; i++) {
		const struct tl_syscall_wait *w = &c->waits[i];
		const struct tl_syscall_thread *t = thread_of(p, w->thread);
		const struct cell cells[] = {
			cell_integer(w->total_ns),
			cell_text(t->name),
			cell_id(t->pid),
			cell_id(t->tid),
			cell_text(w->name),
			cell_text(w->operation),
			cell_integer((int64_t)w->call_count),
			cell_integer((int64_t)w->timer_count),
			cell_real(t->wait_ratio),
			cell_flag(w->is_idle),
		};

		ret = output_row(p->output, cells, err);
	}
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

static int print_opens(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	char title[200];
	int ret = output_table(
		p->output, "open_calls",
		title_of(p, title, sizeof(title),
			 "Calls that were not seen to end: those that hang, other ones, "
			 "then those that wait; each by how long they went on",
			 c->open_count),
		open_columns, COUNT(open_columns), err);

	for (size_t i = 0; i < c->open_count && !is_cut(p, i) && ret == TL_OK; i++) {
		const struct tl_syscall_open *o = &c->opens[i];
		const struct tl_syscall_thread *t = thread_of(p, o->thread);
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

/* ---- sources -------------------------------------------------------------------------------------- */

static const struct column source_columns[] = {
	{ "path", "source", COLUMN_TEXT, false },
	{ "importer", "kind", COLUMN_TEXT, false },
	{ "call_count", "calls", COLUMN_INTEGER, false },
	{ "left_out_count", "told by another", COLUMN_INTEGER, false },
	{ "derived_count", "derived", COLUMN_INTEGER, false },
	{ "untimed_count", "untimed", COLUMN_INTEGER, false },
	{ "min_ns", "shortest", COLUMN_DURATION, false },
};

static int print_sources(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	int ret = output_table(p->output, "sources", "Where the calls come from", source_columns,
			       COUNT(source_columns), err);

	for (size_t i = 0; i < c->source_count && ret == TL_OK; i++) {
		const struct tl_syscall_source *s = &c->sources[i];
		const struct cell cells[] = {
			cell_text(s->path),
			cell_text(s->importer),
			cell_integer((int64_t)s->call_count),
			cell_integer((int64_t)s->left_out_count),
			cell_integer((int64_t)s->derived_count),
			cell_integer((int64_t)s->untimed_count),
			s->min_ns >= 0 ? cell_integer(s->min_ns) : cell_unknown(),
		};

		ret = output_row(p->output, cells, err);
	}
	return ret;
}

static void add_units(struct tl_text *out, const struct tl_syscalls *c)
{
	int64_t time = 0, duration = 0;

	for (size_t i = 0; i < c->source_count; i++) {
		const struct tl_syscall_source *s = &c->sources[i];

		time = s->time_unit_ns > time ? s->time_unit_ns : time;
		duration = s->duration_unit_ns > duration ? s->duration_unit_ns : duration;
	}
	if (duration >= COARSE_NS) {
		tl_text_puts(out, out->length ? "\n" : "");
		tl_text_puts(out, "Durations are told in units of ");
		syscalls_add_duration(out, (double)duration);
		tl_text_puts(out, ", shorter ones as 0: record with 'strace -T'.");
	}
	if (time >= COARSE_NS) {
		tl_text_puts(out, out->length ? "\n" : "");
		tl_text_puts(out, "Times are told in units of ");
		syscalls_add_duration(out, (double)time);
		tl_text_puts(out,
			     ": which threads that lived for less than 20 of them idle, and what "
			     "share of\ntheir time calls took, is not known; record with "
			     "'strace -ttt'.");
	}
}

/* What the numbers cannot be trusted for. */
static int print_caution(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	uint64_t derived = 0, untimed = 0, left_out = 0;
	bool is_traced = false;
	struct tl_text text = { 0 };

	for (size_t i = 0; i < c->source_count; i++) {
		derived += c->sources[i].derived_count;
		untimed += c->sources[i].untimed_count;
		left_out += c->sources[i].left_out_count;
		is_traced |= !c->sources[i].is_tracepoint && c->sources[i].min_ns >= 0;
	}
	if (is_traced)
		tl_text_puts(&text, "A tracer that stops the thread, as strace does, adds tens of "
				    "microseconds to every call (see the\nshortest): calls below "
				    "100 us carry no information, and compare runs, not absolute "
				    "cost.");
	if (derived)
		tl_text_printf(&text,
			       "%s%" PRIu64 " durations are derived from two lines of the log: a "
			       "little too long.",
			       text.length ? "\n" : "", derived);
	if (untimed)
		tl_text_printf(&text,
			       "%s%" PRIu64 " calls have no duration: record with 'strace -T'.",
			       text.length ? "\n" : "", untimed);
	if (left_out)
		tl_text_printf(&text,
			       "%s%" PRIu64 " calls are told by two sources; they count once.",
			       text.length ? "\n" : "", left_out);
	add_units(&text, c);
	if (!text.length && !text.failed)
		return TL_OK;
	return print_text(p, &text, err);
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static const struct column summary_columns[] = {
	{ "call_count", "calls", COLUMN_INTEGER, false },
	{ "error_count", "errors", COLUMN_INTEGER, false },
	{ "outside_count", "calls not asked for", COLUMN_INTEGER, false },
	{ "thread_count", "threads", COLUMN_INTEGER, false },
	{ "idle_thread_count", "idle threads", COLUMN_INTEGER, false },
	{ "outlier_group_count", "threads and calls with outliers", COLUMN_INTEGER, true },
	{ "step_count", "steps", COLUMN_INTEGER, false },
	{ "good_step_count", "good steps", COLUMN_INTEGER, false },
	{ "slow_step_count", "slow steps", COLUMN_INTEGER, false },
	{ "begin_ns", "first call", COLUMN_TIME, false },
	{ "end_ns", "last call ended", COLUMN_TIME, false },
};

static int print_summary(struct print *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	bool has_steps = c->step_count > 0;
	bool is_machine = p->layout->format.is_json || p->layout->format.is_csv;
	const struct cell cells[] = {
		cell_integer((int64_t)c->call_count),
		cell_integer((int64_t)c->error_count),
		c->outside_count || is_machine ? cell_integer((int64_t)c->outside_count)
					       : cell_unknown(),
		cell_integer((int64_t)c->thread_count),
		cell_integer((int64_t)c->idle_thread_count),
		cell_integer((int64_t)c->outlier_count),
		has_steps ? cell_integer((int64_t)c->step_count) : cell_unknown(),
		has_steps ? cell_integer((int64_t)c->good_step_count) : cell_unknown(),
		has_steps ? cell_integer((int64_t)c->slow_step_count) : cell_unknown(),
		c->has_times ? cell_integer(c->begin_ns) : cell_unknown(),
		c->has_times ? cell_integer(c->end_ns) : cell_unknown(),
	};

	return output_record(p->output, "summary", NULL, summary_columns, COUNT(summary_columns),
			     cells, err);
}

static int add_summaries(struct output *output, const struct syscalls_layout *layout,
			 struct tl_error *err)
{
	static const struct column columns[] = {
		{ "total_ns", "total", COLUMN_DURATION, false },
		{ "thread", "thread", COLUMN_TEXT, true },
		{ "pid", "pid", COLUMN_INTEGER, false },
		{ "tid", "tid", COLUMN_INTEGER, false },
		{ "name", "call", COLUMN_TEXT, false },
		{ "is_system_call", "system call", COLUMN_FLAG, true },
		{ "call_count", "calls", COLUMN_INTEGER, false },
		{ "mean_ns", "mean", COLUMN_DURATION, false },
		{ "min_ns", "shortest", COLUMN_DURATION, false },
		{ "max_ns", "longest", COLUMN_DURATION, false },
		{ "source", "source", COLUMN_TEXT, true },
	};
	const struct tl_call_summaries *all = layout->summaries;
	size_t count = layout->top && layout->top < all->count ? layout->top : all->count;
	char title[128];
	int ret;

	snprintf(title, sizeof(title), "Known as sums only, over a whole recording (%zu of %zu)",
		 count, all->count);
	ret = output_table(output, "summaries", title, columns, COUNT(columns), err);
	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		const struct tl_call_summary *x = &all->rows[i];
		const struct cell cells[COUNT(columns)] = {
			cell_integer(x->total_ns),
			cell_text(x->thread),
			x->pid < 0 ? cell_unknown() : cell_integer(x->pid),
			x->tid < 0 ? cell_unknown() : cell_integer(x->tid),
			cell_text(x->name),
			cell_flag(x->is_system),
			cell_integer(x->count),
			cell_integer(x->total_ns / x->count),
			x->min_ns < 0 ? cell_unknown() : cell_integer(x->min_ns),
			x->max_ns < 0 ? cell_unknown() : cell_integer(x->max_ns),
			cell_text(x->source),
		};

		ret = output_row(output, cells, err);
	}
	return ret;
}

int syscalls_print_summaries(const struct syscalls_layout *layout, struct tl_error *err)
{
	struct output *output;
	int closed, ret = output_open(&output, stdout, &layout->format, true, err);

	if (ret < 0)
		return ret;
	ret = add_summaries(output, layout, err);
	closed = output_close(output, err);
	return ret < 0 ? ret : closed;
}

int syscalls_print(struct tl_store *store, struct tl_syscalls *calls,
		   const struct syscalls_layout *layout, struct tl_error *err)
{
	struct print p = { .store = store, .calls = calls, .layout = layout };
	bool is_machine = layout->format.is_json || layout->format.is_csv;
	int closed, ret = output_open(&p.output, stdout, &layout->format, true, err);

	if (ret < 0)
		return ret;
	output_time_digits(p.output, syscalls_time_digits(calls));
	ret = print_headline(&p, err);
	if (ret == TL_OK)
		ret = print_summary(&p, err);
	if (ret == TL_OK && (calls->outlier_count || is_machine))
		ret = print_outliers(&p, err);
	if (ret == TL_OK && (calls->suspect_count || is_machine))
		ret = print_suspects(&p, err);
	if (ret == TL_OK)
		ret = is_machine ? list_histograms(&p, err) : draw_histograms(&p, err);
	if (ret == TL_OK)
		ret = print_longest(&p, err);
	if (ret == TL_OK && (calls->sum_count || is_machine))
		ret = print_sums(&p, err);
	if (ret == TL_OK && (calls->wait_count || is_machine))
		ret = print_waits(&p, err);
	if (ret == TL_OK && (calls->open_count || is_machine))
		ret = print_opens(&p, err);
	if (ret == TL_OK && (calls->source_count || is_machine))
		ret = print_sources(&p, err);
	if (ret == TL_OK && layout->summaries->count)
		ret = add_summaries(p.output, layout, err);
	if (ret == TL_OK)
		ret = print_caution(&p, err);
	closed = output_close(p.output, err);
	return ret < 0 ? ret : closed;
}
