/*
 * stacks.c - folded stacks of a case: the question, its time ranges and windows, and the answer.
 * Questions about the whole case read the sums per stack, questions about times the samples.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

/* ---- times ---- */

void tl_fold_note_time(struct tl_fold *fold, int64_t begin_ns, int64_t end_ns)
{
	if (!fold->has_times || begin_ns < fold->counts.begin_ns)
		fold->counts.begin_ns = begin_ns;
	if (!fold->has_times || end_ns > fold->counts.end_ns)
		fold->counts.end_ns = end_ns;
	fold->has_times = true;
}

static uint64_t overlap_ns(int64_t begin_ns, int64_t end_ns, const struct tl_time_range *range)
{
	int64_t begin = begin_ns > range->begin_ns ? begin_ns : range->begin_ns;
	int64_t end = end_ns < range->end_ns ? end_ns : range->end_ns;

	return end > begin ? (uint64_t)end - (uint64_t)begin : 0;
}

uint64_t tl_fold_inside_ns(const struct tl_fold *fold, int64_t begin_ns, int64_t end_ns)
{
	size_t low = 0, high = fold->range_count;
	uint64_t sum = 0;

	if (!fold->range_count)
		return end_ns > begin_ns ? (uint64_t)end_ns - (uint64_t)begin_ns : 0;
	/* the first range that ends behind the beginning */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fold->ranges[middle].end_ns > begin_ns)
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < fold->range_count && fold->ranges[low].begin_ns < end_ns; low++)
		sum += overlap_ns(begin_ns, end_ns, &fold->ranges[low]);
	return sum;
}

static int by_begin(const void *left, const void *right)
{
	const struct tl_time_range *a = left, *b = right;

	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* In order, and what overlaps made one: no sample counts twice. */
static int join_ranges(struct tl_fold *fold, struct tl_error *err)
{
	const struct tl_fold_options *opt = fold->opt;
	size_t count = 0;

	if (!opt->range_count)
		return TL_OK;
	fold->ranges = tl_alloc(opt->range_count, sizeof(*fold->ranges), err);
	if (!fold->ranges)
		return TL_NOMEM;
	memcpy(fold->ranges, opt->ranges, opt->range_count * sizeof(*fold->ranges));
	qsort(fold->ranges, opt->range_count, sizeof(*fold->ranges), by_begin);
	for (size_t i = 0; i < opt->range_count; i++) {
		const struct tl_time_range range = fold->ranges[i];
		struct tl_time_range *last = count ? &fold->ranges[count - 1] : NULL;

		if (range.end_ns <= range.begin_ns)
			return tl_fail(err, TL_USAGE, "a time range ends before it begins");
		if (last && range.begin_ns <= last->end_ns)
			last->end_ns = range.end_ns > last->end_ns ? range.end_ns : last->end_ns;
		else
			fold->ranges[count++] = range;
	}
	fold->range_count = count;
	return TL_OK;
}

int tl_store_span(struct tl_store *store, struct tl_time_range *span, struct tl_error *err)
{
	int64_t count;
	int ret = tl_store_value(store, "SELECT count(first_ts) FROM source", 0, &count, err);

	/* switches without samples can lie before the first sample */
	if (ret == TL_OK)
		ret = tl_store_value(store,
				     "SELECT min(t) FROM (SELECT min(first_ts) AS t FROM source "
				     "UNION ALL SELECT min(ts) FROM thread_state)",
				     0, &span->begin_ns, err);
	if (ret == TL_OK)
		ret = tl_store_value(store,
				     "SELECT max(t) FROM (SELECT max(last_ts) AS t FROM source "
				     "UNION ALL SELECT max(ts + dur) FROM thread_state)",
				     0, &span->end_ns, err);
	if (ret == TL_OK && !count)
		return tl_fail(err, TL_NOTHING, "nothing in the case has a time");
	return ret;
}

static int note_span(struct tl_fold *fold, struct tl_error *err)
{
	int64_t begin, end;
	int ret = tl_store_value(fold->store, "SELECT min(first_ts) FROM source", 0, &begin, err);

	if (ret == TL_OK)
		ret = tl_store_value(fold->store, "SELECT max(last_ts) FROM source", 0, &end, err);
	if (ret == TL_OK && !fold->has_times)
		tl_fold_note_time(fold, begin, end);
	return ret;
}

/* ---- asking ---- */

static int check_options(const struct tl_fold_options *opt, struct tl_error *err)
{
	bool is_compat = opt->compat != TL_COMPAT_NATIVE;

	if (is_compat && opt->what != TL_FOLD_EVENT)
		return tl_fail(err, TL_USAGE,
			       "off-CPU and wake-up stacks, and calls, have no form to be "
			       "compatible with");
	if (is_compat && (opt->root == TL_ROOT_NONE || opt->root == TL_ROOT_CGROUP))
		return tl_fail(err, TL_USAGE, "compatible lines begin with the command");
	if (is_compat && opt->weight != TL_WEIGHT_PERIOD)
		return tl_fail(err, TL_USAGE, "compatible lines are weighed by period");
	if (is_compat && opt->show_inlined)
		return tl_fail(err, TL_USAGE, "compatible lines have no inlined functions");
	if (opt->what != TL_FOLD_EVENT && opt->event)
		return tl_fail(err, TL_USAGE,
			       "an event was asked for, but time off the CPU or in calls belongs "
			       "to none");
	if (opt->what == TL_FOLD_CALLS && opt->root == TL_ROOT_CGROUP)
		return tl_fail(err, TL_USAGE, "of calls no control group is known");
	if ((opt->what == TL_FOLD_EVENT || opt->what == TL_FOLD_CALLS) && opt->show_state)
		return tl_fail(err, TL_USAGE, "only off-CPU stacks have a state");
	if (opt->user_only && opt->kernel_only)
		return tl_fail(err, TL_USAGE,
			       "user frames only and kernel frames only leave nothing");
	return TL_OK;
}

static int open_fold(struct tl_fold *fold, struct tl_store *store,
		     const struct tl_fold_options *opt, struct tl_error *err)
{
	struct tl_tree_options tree = { .frames.user_only = opt->user_only,
					.frames.kernel_only = opt->kernel_only,
					.frames.show_inlined = opt->show_inlined,
					.max_depth = opt->max_depth,
					.exclude_patterns = opt->exclude_patterns,
					.exclude_count = opt->exclude_count };
	int64_t lost, inlined = 0;
	int ret;

	memset(fold, 0, sizeof(*fold));
	fold->store = store;
	fold->opt = opt;
	fold->rules = (struct tl_folded_rules) { .compat = opt->compat,
						 .root = opt->root,
						 .annotate_kernel = opt->annotate_kernel,
						 .annotate_jit = opt->annotate_jit,
						 .show_addresses = opt->show_addresses };
	tree.frames.rules = fold->rules;
	ret = check_options(opt, err);
	if (ret == TL_OK)
		ret = join_ranges(fold, err);
	if (ret == TL_OK)
		ret = tl_fold_choose(fold, err);
	if (ret == TL_OK)
		ret = tl_tree_open(&fold->tree, store, &tree, err);
	if (ret == TL_OK)
		ret = tl_fold_open_heads(fold, err);
	if (ret == TL_OK)
		ret = tl_store_value(store,
				     "SELECT sum(count) FROM lost WHERE kind = 'lost' "
				     "AND unit IN ('samples', 'records')",
				     0, &lost, err);
	if (ret == TL_OK)
		fold->counts.lost_count = (uint64_t)lost;
	if (ret == TL_OK && opt->show_inlined)
		ret = tl_store_value(store, "SELECT EXISTS (SELECT 1 FROM frame_inline)", 0,
				     &inlined, err);
	fold->counts.lacks_inlines = opt->show_inlined && !inlined;
	return ret;
}

static void close_fold(struct tl_fold *fold)
{
	tl_fold_close_heads(fold);
	tl_tree_close(fold->tree);
	tl_text_release(&fold->filter);
	free(fold->events);
	free(fold->ranges);
	free(fold->sums);
	tl_index_release(&fold->sum_index);
	tl_interner_release(&fold->lines);
	free(fold->line_weights);
	tl_arena_release(&fold->arena);
}

/* A few names, for whoever asked for one that no thread has. */
static int add_thread_names(struct tl_store *store, struct tl_text *out, struct tl_error *err)
{
	enum { SHOWN = 5 };
	struct tl_statement *st;
	size_t count = 0;
	int ret = tl_statement_open(
		&st, store,
		"SELECT n.text FROM stack_sum z JOIN string n ON n.string_id = z.name_id "
		"GROUP BY n.string_id ORDER BY sum(z.sample_count) DESC, n.text",
		"text", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		char name[64];
		const char *text;
		size_t length;

		if (count++ == SHOWN) {
			tl_text_puts(out, ", ...");
			break;
		}
		text = tl_column_text(st, 0, &length);
		tl_printable(name, sizeof(name), text ? text : "", text ? length : 0);
		tl_text_printf(out, "%s%s", count == 1 ? "; threads are " : ", ", name);
	}
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

static void add_reason(struct tl_text *out, uint64_t count, const char *what)
{
	if (count)
		tl_text_printf(out, "%s%llu %s", out->length ? ", " : "", (unsigned long long)count,
			       what);
}

static int fail_excluded(struct tl_store *store, const struct tl_folded *out,
			 const struct tl_fold_options *opt, struct tl_error *err)
{
	struct tl_text why = { 0 };
	int ret = TL_OK;

	add_reason(&why, out->excluded_thread_count, "of threads that were not asked for");
	add_reason(&why, out->excluded_side_count,
		   opt->kernel_only ? "without a frame of the kernel"
				    : "without a frame of a program");
	add_reason(&why, out->excluded_frame_count, "with a frame to be left out");
	add_reason(&why, out->outside_count, "outside the times asked for");
	if (opt->comm_pattern && out->excluded_thread_count)
		ret = add_thread_names(store, &why, err);
	if (ret == TL_OK && why.failed)
		ret = tl_fail(err, TL_NOMEM, "out of memory");
	if (ret == TL_OK)
		ret = tl_fail(err, TL_NOTHING, "nothing of %s is left: %s", out->event, why.data);
	tl_text_release(&why);
	return ret;
}

/* Why there is no line, in words. What a program loses by its rules is its answer all the same. */
static int check_found(struct tl_store *store, const struct tl_folded *out,
		       const struct tl_fold_options *opt, struct tl_error *err)
{
	unsigned long long small = out->below_min_count, outside = out->outside_count,
			   endless = out->without_end_count;

	if (out->line_count || (opt->compat != TL_COMPAT_NATIVE && out->rule_lost_count))
		return TL_OK;
	if (small)
		return small == 1
			       ? tl_fail(err, TL_NOTHING, "the only line is below the least weight")
			       : tl_fail(err, TL_NOTHING,
					 "all %llu lines are below the least weight", small);
	if (out->excluded_count)
		return fail_excluded(store, out, opt, err);
	if (endless)
		return tl_fail(err, TL_NOTHING, "none of %llu intervals off the CPU has an end",
			       endless);
	if (out->without_time_count)
		return tl_fail(err, TL_NOTHING, "the samples of %s were recorded without times",
			       out->event);
	return tl_fail(err, TL_NOTHING,
		       "nothing of %s lies inside the times asked for (%llu outside)", out->event,
		       outside);
}

int tl_fold(struct tl_store *store, const struct tl_fold_options *opt, struct tl_folded *out,
	    struct tl_error *err)
{
	struct tl_fold fold;
	int ret = open_fold(&fold, store, opt, err);

	memset(out, 0, sizeof(*out));
	if (ret == TL_OK) {
		if (opt->what == TL_FOLD_CALLS)
			ret = tl_fold_calls(&fold, err);
		else if (opt->what != TL_FOLD_EVENT)
			ret = tl_fold_offcpu(&fold, NULL, err);
		else if (fold.range_count)
			ret = tl_fold_ranges(&fold, err);
		else
			ret = tl_fold_sums(&fold, err);
	}
	if (ret == TL_OK)
		ret = note_span(&fold, err);
	if (ret == TL_OK)
		ret = tl_fold_finish(&fold, out, err);
	if (ret == TL_OK)
		ret = check_found(store, out, opt, err);
	if (ret < 0)
		tl_folded_release(out);
	close_fold(&fold);
	return ret;
}

/* ---- windows ---- */

static int close_window(struct tl_fold *fold, const struct tl_fold_windows *windows,
			struct tl_error *err)
{
	struct tl_folded folded;
	int ret = TL_OK;

	if (!fold->sum_count && !fold->lines.count)
		return TL_OK;
	ret = tl_fold_finish(fold, &folded, err);
	if (ret < 0)
		return ret;
	if (folded.line_count)
		ret = windows->fn(&folded, &windows->window, windows->number, windows->payload,
				  err);
	tl_folded_release(&folded);
	return ret;
}

int tl_fold_enter_window(struct tl_fold *fold, struct tl_fold_windows *windows, int64_t ts,
			 struct tl_error *err)
{
	int ret;

	if (ts >= windows->window.begin_ns && ts < windows->window.end_ns)
		return TL_OK;
	ret = close_window(fold, windows, err);
	windows->number =
		((uint64_t)ts - (uint64_t)windows->begin_ns) / (uint64_t)windows->width_ns;
	windows->window.begin_ns = (int64_t)((uint64_t)windows->begin_ns +
					     windows->number * (uint64_t)windows->width_ns);
	if (__builtin_add_overflow(windows->window.begin_ns, windows->width_ns,
				   &windows->window.end_ns))
		windows->window.end_ns = INT64_MAX;
	return ret;
}

int tl_fold_windows(struct tl_store *store, const struct tl_fold_options *opt, int64_t width_ns,
		    tl_fold_window_fn fn, void *payload, struct tl_error *err)
{
	struct tl_fold_windows windows = { .width_ns = width_ns, .fn = fn, .payload = payload };
	struct tl_time_range span = { 0 };
	struct tl_fold fold;
	int ret;

	if (opt->what == TL_FOLD_CALLS)
		return tl_fail(err, TL_USAGE, "calls are not folded by windows");
	if (width_ns <= 0 || opt->range_count)
		return tl_fail(err, TL_USAGE,
			       "windows must last longer than nothing, and exclude "
			       "time ranges");
	ret = open_fold(&fold, store, opt, err);
	if (ret == TL_OK)
		ret = tl_store_span(store, &span, err);
	windows.begin_ns = windows.window.begin_ns = windows.window.end_ns = span.begin_ns;
	if (ret == TL_OK && opt->what != TL_FOLD_EVENT)
		ret = tl_fold_offcpu(&fold, &windows, err);
	else if (ret == TL_OK)
		ret = tl_fold_window_samples(&fold, &windows, err);
	if (ret == TL_OK)
		ret = close_window(&fold, &windows, err);
	close_fold(&fold);
	return ret;
}
