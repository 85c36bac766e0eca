/*
 * syscalls_print.c - what is known of system calls: a sentence, tables, histograms drawn in text.
 */
#include "syscalls.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { BAR_WIDTH = 40, HISTOGRAM_CALLS = 5 };

#define COARSE_NS 1000000 /* units of logs from here on are worth a word */

/* ---- words ---------------------------------------------------------------------------------------- */

static int print_text(struct syscalls_printing *p, struct tl_text *text, struct tl_error *err)
{
	int ret = text->failed || !text->data ? tl_fail(err, TL_NOMEM, "out of memory")
					      : output_text(p->output, text->data, err);

	tl_text_release(text);
	return ret;
}

static int print_headline(struct syscalls_printing *p, struct tl_error *err)
{
	struct tl_text text = { 0 };

	syscalls_headline(&text, p->calls);
	return print_text(p, &text, err);
}

/* ---- what several tables hold ------------------------------------------------------------------ */

/* A title, and how much of the table is shown where it is cut. */
const char *syscalls_title(const struct syscalls_printing *p, char *buf, size_t size,
			   const char *title, size_t rows)
{
	if (syscalls_is_cut(p, rows - 1) && rows)
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

static int print_outlier_rows(struct syscalls_printing *p, const struct tl_syscall_outlier *rows,
			      size_t count, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < count && !syscalls_is_cut(p, i) && ret == TL_OK; i++) {
		const struct tl_syscall_outlier *o = &rows[i];
		const struct tl_syscall_thread *t = syscalls_thread_of(p, o->thread);
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

static int print_outliers(struct syscalls_printing *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	char title[200];
	int ret = output_table(
		p->output, "outliers",
		syscalls_title(p, title, sizeof(title),
			       "Outliers: calls beyond what is usual, by the time they cost",
			       c->outlier_count),
		outlier_columns, COUNT(outlier_columns) - 1, err);

	return ret == TL_OK ? print_outlier_rows(p, c->outliers, c->outlier_count, err) : ret;
}

static int print_suspects(struct syscalls_printing *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	char title[200];
	int ret = output_table(
		p->output, "suspects",
		syscalls_title(p, title, sizeof(title),
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

static int draw(struct syscalls_printing *p, const struct histogram *h, struct tl_error *err)
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
bool syscalls_is_idle_wait(const struct tl_syscall_sum *sum)
{
	return sum->idle_ns > 0 && (double)sum->idle_ns >= 0.5 * (double)sum->total_ns;
}

/* Of the worst outliers; where there are none, of the calls that took most time. */
static int draw_histograms(struct syscalls_printing *p, struct tl_error *err)
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

		if (syscalls_is_idle_wait(s) || s->timed_count < HISTOGRAM_CALLS)
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
static int list_histograms(struct syscalls_printing *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	int ret = output_table(p->output, "histograms", NULL, histogram_columns,
			       COUNT(histogram_columns), err);

	for (size_t i = 0; i < c->sum_count && !syscalls_is_cut(p, i); i++) {
		const struct tl_syscall_sum *s = &c->sums[i];
		const struct tl_syscall_thread *t = syscalls_thread_of(p, s->thread);

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

static const struct column sum_columns[SYSCALLS_SUM_COLUMNS] = {
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

static int print_sums(struct syscalls_printing *p, struct tl_error *err)
{
	const struct tl_syscalls *c = p->calls;
	char title[300];
	int ret;

	choose_sum_columns(c, p->chosen);
	ret = output_table(
		p->output, "calls",
		syscalls_title(
			p, title, sizeof(title),
			"Calls of each thread, by the time they took without idle waits. share: of "
			"the time from the thread's first call to the end of its last; idle: of "
			"the total, in idle waits",
			c->sum_count),
		p->chosen, SYSCALLS_SUM_COLUMNS, err);

	for (size_t i = 0; i < c->sum_count && !syscalls_is_cut(p, i) && ret == TL_OK; i++) {
		const struct tl_syscall_sum *s = &c->sums[i];
		const struct tl_syscall_thread *t = syscalls_thread_of(p, s->thread);
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

static int print_waits(struct syscalls_printing *p, struct tl_error *err)
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
			   syscalls_title(p, shown, sizeof(shown), title, c->wait_count),
			   wait_columns, COUNT(wait_columns), err);
	for (size_t i = 0; i < c->wait_count && !syscalls_is_cut(p, i) && ret == TL_OK; i++) {
		const struct tl_syscall_wait *w = &c->waits[i];
		const struct tl_syscall_thread *t = syscalls_thread_of(p, w->thread);
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

static int print_sources(struct syscalls_printing *p, struct tl_error *err)
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
static int print_caution(struct syscalls_printing *p, struct tl_error *err)
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

static int print_summary(struct syscalls_printing *p, struct tl_error *err)
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
	struct syscalls_printing p = { .store = store, .calls = calls, .layout = layout };
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
		ret = syscalls_print_longest(&p, err);
	if (ret == TL_OK && (calls->sum_count || is_machine))
		ret = print_sums(&p, err);
	if (ret == TL_OK && (calls->wait_count || is_machine))
		ret = print_waits(&p, err);
	if (ret == TL_OK && (calls->open_count || is_machine))
		ret = syscalls_print_opens(&p, err);
	if (ret == TL_OK && (calls->source_count || is_machine))
		ret = print_sources(&p, err);
	if (ret == TL_OK && layout->summaries->count)
		ret = add_summaries(p.output, layout, err);
	if (ret == TL_OK)
		ret = print_caution(&p, err);
	closed = output_close(p.output, err);
	return ret < 0 ? ret : closed;
}
