/*
 * stack_rows.c - the rows of stack_sum and sample that count, and what each adds to which line.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

/* One row, or a sum of rows, of the same stack. */
struct row {
	struct tl_fold_who who;
	int64_t stack_id;    /* 0: no stack */
	int64_t ts, last_ts; /* of a single sample the same */
	int32_t cpu;
	bool has_ts;
	uint64_t count, period;
};

static uint64_t weight_of(const struct tl_fold *fold, const struct row *row, bool uses_period)
{
	if (fold->opt->weight == TL_WEIGHT_COUNT || !uses_period)
		return row->count;
	/* the Perl takes a period of 0 for none, and none is 1 */
	if (!row->period &&
	    (fold->opt->compat == TL_COMPAT_PERL || fold->opt->compat == TL_COMPAT_PERL_TRACE))
		return row->count;
	return row->period;
}

static int add_stack(struct tl_fold *fold, const struct row *row, const struct tl_fold_head *head,
		     struct tl_error *err)
{
	const struct tl_fold_options *opt = fold->opt;
	struct tl_fold_sum key = { .root = head->root };
	uint64_t weight = weight_of(fold, row, head->uses_period);
	bool is_filtered = opt->user_only || opt->kernel_only;
	int ret = TL_OK;

	if (row->stack_id)
		ret = tl_tree_node(fold->tree, row->stack_id, head->is_java, &key.node, err);
	if (ret < 0)
		return ret;
	if (tl_tree_is_excluded(fold->tree, key.node) || (is_filtered && key.node == TL_TREE_TOP)) {
		fold->counts.excluded_count += row->count;
		if (tl_tree_is_excluded(fold->tree, key.node))
			fold->counts.excluded_frame_count += row->count;
		else
			fold->counts.excluded_side_count += row->count;
		return TL_OK;
	}
	if (opt->compat == TL_COMPAT_INFERNO && key.node == TL_TREE_TOP) {
		fold->counts.rule_lost_count += row->count;
		return TL_OK;
	}
	fold->counts.sample_count += row->count;
	if (row->has_ts)
		tl_fold_note_time(fold, row->ts, row->last_ts);
	return tl_fold_add(fold, &key, weight, err);
}

static int emit_line(const char *text, size_t len, uint64_t weight, void *payload,
		     struct tl_error *err)
{
	struct tl_fold *fold = payload;
	size_t before = fold->lines.count;
	uint32_t id;
	int ret = tl_intern(&fold->lines, text, len, &id, err);

	if (ret == TL_OK)
		ret = tl_grow(&fold->line_weights, &fold->line_weight_capacity, fold->lines.count,
			      err);
	if (ret < 0)
		return ret;
	if (fold->lines.count > before)
		fold->line_weights[id] = 0;
	fold->line_weights[id] += weight;
	fold->emitted_count++;
	return TL_OK;
}

static void open_reader(struct tl_fold *fold, struct tl_folded_reader *reader)
{
	*reader = (struct tl_folded_reader) { .rules = fold->rules,
					      .emit = emit_line,
					      .payload = fold,
					      .has_filter = fold->has_filter };
	if (fold->has_filter)
		tl_text_add(&reader->filter, fold->filter.data, fold->filter.length);
}

/* The text that perf script prints of a sample. */
static int write_script(struct tl_fold *fold, const struct row *row, struct tl_text *text,
			struct tl_error *err)
{
	const struct tl_fold_event *event = tl_fold_find_event(fold, row->who.event_id);
	struct tl_folded_sample sample;
	struct tl_text comm = { 0 };
	int ret = tl_fold_describe(fold, &row->who, &sample, &comm, err);

	if (ret == TL_OK) {
		sample.cpu = row->cpu;
		sample.period = row->period;
		sample.time_ns = row->ts - (event ? event->clock_offset_ns : 0);
		tl_script_head(text, fold->rules.compat, &sample);
		if (sample.has_trace && fold->rules.compat == TL_COMPAT_PERL_TRACE)
			tl_text_puts(text, "..."); /* its fields, whatever they are */
		if (sample.has_callchain)
			tl_text_puts(text, "\n");
	}
	if (ret == TL_OK && row->stack_id)
		ret = tl_tree_script(fold->tree, row->stack_id, sample.has_callchain, text, err);
	if (ret == TL_OK && (sample.has_callchain || !row->stack_id))
		tl_text_puts(text, "\n");
	if (ret == TL_OK && (text->failed || comm.failed))
		ret = tl_fail(err, TL_NOMEM, "out of memory while folding a stack");
	tl_text_release(&comm);
	return ret;
}

/* A sample as text, line by line, to the reader that knows every quirk. */
static int read_script(struct tl_fold *fold, struct tl_folded_reader *reader, const struct row *row,
		       struct tl_error *err)
{
	uint64_t before = fold->emitted_count;
	struct tl_text text = { 0 };
	int ret = write_script(fold, row, &text, err);
	char *line = text.data, *end;

	for (; ret == TL_OK && (end = strchr(line, '\n')); line = end + 1)
		ret = tl_folded_read_line(reader, line, (size_t)(end - line), err);
	if (ret == TL_OK && fold->emitted_count > before)
		fold->counts.sample_count++;
	else if (ret == TL_OK)
		fold->counts.rule_lost_count++;
	tl_text_release(&text);
	return ret;
}

/* A sample whose time or period the rules take for its name. */
static int add_text(struct tl_fold *fold, const struct row *row, struct tl_error *err)
{
	struct tl_folded_reader reader;
	int ret;

	open_reader(fold, &reader);
	ret = read_script(fold, &reader, row, err);
	if (ret == TL_OK)
		ret = tl_folded_read_line(&reader, "", 0, err);
	tl_folded_reader_release(&reader);
	return ret;
}

/*
 * Without call chains perf script prints no empty lines, and inferno, having once met a line that it
 * does not want, skips all lines up to the next empty one: then every sample depends on those
 * before it.
 */
static bool leaks_on(const struct tl_fold *fold, const struct tl_fold_head *head)
{
	const struct tl_fold_event *event = tl_fold_find_event(fold, head->who.event_id);

	return fold->opt->compat == TL_COMPAT_INFERNO && event && !event->has_callchain &&
	       (head->kind == TL_FOLD_FILTERED || head->kind == TL_FOLD_PER_SAMPLE);
}

/* `is_single`: the row is one sample. */
static int add_row(struct tl_fold *fold, const struct row *row, bool is_single,
		   struct tl_error *err)
{
	const struct tl_fold_head *head;
	int ret = tl_fold_find_head(fold, &row->who, &head, err);

	if (ret < 0)
		return ret;
	fold->needs_text |= leaks_on(fold, head);
	switch (head->kind) {
	case TL_FOLD_STACK:
		return add_stack(fold, row, head, err);
	case TL_FOLD_LOST:
		fold->counts.rule_lost_count += row->count;
		return TL_OK;
	case TL_FOLD_EXCLUDED:
		fold->counts.excluded_count += row->count;
		fold->counts.excluded_thread_count += row->count;
		return TL_OK;
	case TL_FOLD_FILTERED:
		return TL_OK;
	case TL_FOLD_PER_SAMPLE:
		if (is_single)
			return add_text(fold, row, err);
		fold->needs_samples = true;
		return TL_OK;
	}
	return TL_OK;
}

/* ---- tables ---- */

/* The first columns of both tables, in this order. */
enum {
	ROW_EVENT,
	ROW_THREAD,
	ROW_NAME,
	ROW_STACK,
	ROW_PID,
	ROW_TID,
	ROW_CGROUP,
	ROW_PERIOD,
	PART_SUM = ROW_PERIOD,
	SUM_SAMPLES,
	SAMPLE_TS = SUM_SAMPLES,
	SAMPLE_CPU
};

#define WHO_COLUMNS "event_id, thread_id, name_id, stack_id, recorded_pid, recorded_tid, cgroup_id"
#define SUM_SQL	    "SELECT " WHO_COLUMNS ", period_sum, sample_count FROM stack_sum"
#define SUM_COLUMNS                                                                \
	"event_id thread_id name_id stack_id recorded_pid recorded_tid cgroup_id " \
	"period_sum sample_count"
#define PART_SQL "SELECT " WHO_COLUMNS ", sum_id FROM stack_sum"
#define PART_COLUMNS \
	"event_id thread_id name_id stack_id recorded_pid recorded_tid cgroup_id sum_id"
#define SAMPLE_SQL "SELECT " WHO_COLUMNS ", period, ts, cpu FROM sample"
#define SAMPLE_COLUMNS                                                             \
	"event_id thread_id name_id stack_id recorded_pid recorded_tid cgroup_id " \
	"period ts cpu"

static int32_t recorded_id(struct tl_statement *st, int column)
{
	return tl_column_is_null(st, column) ? TL_ID_NONE : (int32_t)tl_column_i64(st, column);
}

static void read_row(struct row *row, struct tl_statement *st)
{
	row->who = (struct tl_fold_who) { .event_id = tl_column_i64(st, ROW_EVENT),
					  .thread_id = tl_column_i64(st, ROW_THREAD),
					  .name_id = tl_column_i64(st, ROW_NAME),
					  .cgroup_id = tl_column_i64(st, ROW_CGROUP),
					  .recorded_pid = recorded_id(st, ROW_PID),
					  .recorded_tid = recorded_id(st, ROW_TID) };
	row->stack_id = tl_column_i64(st, ROW_STACK);
	row->period = (uint64_t)tl_column_i64(st, ROW_PERIOD);
}

static void read_sample(struct row *row, struct tl_statement *st)
{
	read_row(row, st);
	row->count = 1;
	row->has_ts = !tl_column_is_null(st, SAMPLE_TS);
	row->ts = row->last_ts = tl_column_i64(st, SAMPLE_TS);
	row->cpu = tl_column_is_null(st, SAMPLE_CPU) ? -1 : (int32_t)tl_column_i64(st, SAMPLE_CPU);
}

static bool is_chosen(const struct tl_fold *fold, int64_t event_id)
{
	const struct tl_fold_event *event = tl_fold_find_event(fold, event_id);

	return event && event->is_chosen;
}

static bool is_read(const struct tl_fold *fold, int64_t event_id)
{
	const struct tl_fold_event *event = tl_fold_find_event(fold, event_id);

	return event && event->is_read;
}

/* The only event that is read, or 0. */
static int64_t only_event(const struct tl_fold *fold)
{
	int64_t only = 0;

	for (size_t i = 0; i < fold->event_count; i++) {
		if (!fold->events[i].is_read)
			continue;
		if (only)
			return 0;
		only = fold->events[i].event_id;
	}
	return only;
}

/* Some sources hold sums only: what needs single samples cannot be answered. */
static int need_samples(struct tl_fold *fold, const char *what, struct tl_error *err)
{
	int64_t incomplete;
	int ret = tl_store_value(fold->store, "SELECT count(*) FROM source WHERE NOT is_complete",
				 0, &incomplete, err);

	if (ret == TL_OK && incomplete)
		return tl_fail(err, TL_UNSUPPORTED,
			       "%s: the case holds sums per stack, not the single samples", what);
	return ret;
}

/* Samples whose heads the sums could not tell. */
static int fold_odd_samples(struct tl_fold *fold, struct tl_error *err)
{
	struct tl_statement *st = NULL;
	struct row row = { 0 };
	int ret = need_samples(fold, "names that the rules make of times", err);

	if (ret == TL_OK)
		ret = tl_statement_open(&st, fold->store, SAMPLE_SQL, SAMPLE_COLUMNS, err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		const struct tl_fold_head *head;
		int status;

		read_sample(&row, st);
		if (!is_read(fold, row.who.event_id))
			continue;
		status = tl_fold_find_head(fold, &row.who, &head, err);
		if (status == TL_OK && head->kind == TL_FOLD_PER_SAMPLE)
			status = add_text(fold, &row, err);
		if (status < 0)
			ret = status;
	}
	tl_statement_close(st);
	return ret;
}

/* All samples in order of time as one text. */
static int fold_text(struct tl_fold *fold, struct tl_error *err)
{
	struct tl_folded_reader reader;
	struct tl_statement *st = NULL;
	struct row row = { 0 };
	int ret = need_samples(fold, "rules that depend on the samples before", err);

	tl_fold_forget(fold);
	open_reader(fold, &reader);
	if (ret == TL_OK)
		ret = tl_statement_open(&st, fold->store, SAMPLE_SQL " ORDER BY ts, sample_id",
					SAMPLE_COLUMNS, err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		const struct tl_fold_head *head;
		int status;

		read_sample(&row, st);
		if (!is_read(fold, row.who.event_id))
			continue;
		status = tl_fold_find_head(fold, &row.who, &head, err);
		if (status == TL_OK && head->kind == TL_FOLD_EXCLUDED) {
			fold->counts.excluded_count++;
			fold->counts.excluded_thread_count++;
		} else if (status == TL_OK) {
			status = read_script(fold, &reader, &row, err);
		}
		if (status < 0)
			ret = status;
	}
	if (ret == TL_OK)
		ret = tl_folded_read_end(&reader, err);
	tl_statement_close(st);
	tl_folded_reader_release(&reader);
	return ret;
}

int tl_fold_sums(struct tl_fold *fold, struct tl_error *err)
{
	int64_t only = only_event(fold);
	struct tl_statement *st = NULL;
	struct row row = { .cpu = -1 };
	int ret = tl_tree_load(fold->tree, false, err);

	if (ret == TL_OK)
		ret = tl_statement_open(&st, fold->store,
					only ? SUM_SQL " WHERE event_id = ?" : SUM_SQL, SUM_COLUMNS,
					err);
	if (ret == TL_OK && only)
		tl_bind_i64(st, 1, only);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status;

		read_row(&row, st);
		row.count = (uint64_t)tl_column_i64(st, SUM_SAMPLES);
		if (!only && !is_read(fold, row.who.event_id))
			continue;
		status = add_row(fold, &row, false, err);
		if (status < 0)
			ret = status;
	}
	tl_statement_close(st);
	if (ret == TL_OK && fold->needs_text)
		return fold_text(fold, err);
	if (ret == TL_OK && fold->needs_samples)
		ret = fold_odd_samples(fold, err);
	return ret;
}

static int add_sample(struct tl_fold *fold, struct tl_statement *st, struct row *row,
		      uint64_t *seen, struct tl_error *err)
{
	read_sample(row, st);
	if (!is_read(fold, row->who.event_id) || !tl_fold_inside_ns(fold, row->ts, row->ts + 1))
		return TL_OK;
	*seen += is_chosen(fold, row->who.event_id);
	return add_row(fold, row, true, err);
}

/* Samples whose names depend on their times: each by itself. */
static int fold_single_samples(struct tl_fold *fold, uint64_t *seen, struct tl_error *err)
{
	struct tl_statement *st;
	struct row row = { 0 };
	int ret = tl_statement_open(&st, fold->store,
				    SAMPLE_SQL " NOT INDEXED WHERE ts >= ? AND ts < ?",
				    SAMPLE_COLUMNS, err);

	tl_fold_forget(fold);
	*seen = 0;
	if (ret == TL_OK) {
		tl_bind_i64(st, 1, fold->ranges[0].begin_ns);
		tl_bind_i64(st, 2, fold->ranges[fold->range_count - 1].end_ns);
	}
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_sample(fold, st, &row, seen, err);

		if (status < 0)
			ret = status;
	}
	tl_statement_close(st);
	return ret;
}

static int add_part(struct tl_fold *fold, struct tl_statement *st,
		    const struct tl_fold_parts *parts, uint64_t *seen, struct tl_error *err)
{
	struct row row = { .cpu = -1, .has_ts = true };
	int64_t sum_id = tl_column_i64(st, PART_SUM);
	const struct tl_fold_part *part;

	if (sum_id <= 0 || sum_id > parts->sum_max)
		return TL_OK; /* the case is being written to: not there when it was asked */
	part = &parts->by_sum[sum_id];
	if (!part->count || !is_read(fold, tl_column_i64(st, ROW_EVENT)))
		return TL_OK;
	read_row(&row, st);
	row.count = part->count;
	row.period = part->period;
	row.ts = part->first_ts;
	row.last_ts = part->last_ts;
	if (is_chosen(fold, row.who.event_id))
		*seen += part->count;
	return add_row(fold, &row, false, err);
}

static int fold_parts(struct tl_fold *fold, uint64_t *seen, struct tl_error *err)
{
	struct tl_fold_parts parts = { 0 };
	struct tl_statement *st = NULL;
	int ret = tl_fold_load_parts(fold, &parts, err);

	if (ret == TL_OK)
		ret = tl_statement_open(&st, fold->store, PART_SQL, PART_COLUMNS, err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_part(fold, st, &parts, seen, err);

		if (status < 0)
			ret = status;
	}
	tl_statement_close(st);
	free(parts.by_sum);
	return ret;
}

/* Samples of the chosen events that have no time. */
static int count_untimed(struct tl_fold *fold, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, fold->store,
				    "SELECT event_id, count(*) AS n FROM sample WHERE ts IS NULL "
				    "GROUP BY event_id",
				    "event_id n", err);

	fold->counts.without_time_count = 0;
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		if (is_chosen(fold, tl_column_i64(st, 0)))
			fold->counts.without_time_count += (uint64_t)tl_column_i64(st, 1);
	tl_statement_close(st);
	return ret;
}

int tl_fold_ranges(struct tl_fold *fold, struct tl_error *err)
{
	uint64_t seen = 0, total = 0;
	int ret = need_samples(fold, "a time range", err);

	if (ret == TL_OK)
		ret = count_untimed(fold, err);
	if (ret == TL_OK)
		ret = fold_parts(fold, &seen, err);
	if (ret == TL_OK && fold->needs_samples)
		ret = fold_single_samples(fold, &seen, err);
	for (size_t i = 0; i < fold->event_count; i++)
		if (fold->events[i].is_chosen)
			total += fold->events[i].sample_count;
	fold->counts.outside_count = total - seen - fold->counts.without_time_count;
	return ret;
}

int tl_fold_window_samples(struct tl_fold *fold, struct tl_fold_windows *windows,
			   struct tl_error *err)
{
	struct tl_statement *st = NULL;
	struct row row = { 0 };
	uint64_t seen = 0;
	int ret = need_samples(fold, "windows of time", err);

	if (ret == TL_OK)
		ret = count_untimed(fold, err);
	if (ret == TL_OK)
		ret = tl_statement_open(&st, fold->store,
					SAMPLE_SQL " WHERE ts NOT NULL ORDER BY ts, sample_id",
					SAMPLE_COLUMNS, err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = TL_OK;

		if (is_read(fold, tl_column_i64(st, ROW_EVENT)))
			status = tl_fold_enter_window(fold, windows, tl_column_i64(st, SAMPLE_TS),
						      err);
		if (status == TL_OK)
			status = add_sample(fold, st, &row, &seen, err);
		if (status < 0)
			ret = status;
	}
	tl_statement_close(st);
	return ret;
}
