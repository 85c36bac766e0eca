/*
 * trace_ops.c - folded stacks of profiler spans by self time: rank;thread;operator;operator. Spans of
 * one row are walked in order of time; a moment belongs to the innermost span that is open. Spans
 * that are begun here and ended there overlap by nature: those of one id are a row of their own.
 */
#include "analysis.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "folded_text.h"
#include "memory.h"
#include "source_ranks.h"
#include "store.h"
#include "trace_ops_names.h"

#define OPEN_MAX 4096 /* spans open at once on a track: deeper ones are a damaged trace's */

struct span {
	int64_t end;
	uint32_t node;
};

struct op_node {
	uint32_t parent; /* UINT32_MAX: the track's own */
	uint32_t text;	 /* interned, safe */
	uint32_t depth;	 /* of operators; those of a row have 0 */
	bool is_excluded;
	uint64_t self_ns, count;
};

struct folding {
	const struct tl_fold_ops_options *opt;
	struct tl_folded *out;
	struct tl_interner texts;
	struct op_node *nodes;
	size_t node_count, node_capacity;
	struct tl_index node_index;
	struct span open[OPEN_MAX];
	size_t open_count;
	int64_t now; /* up to here the row is accounted for */
	bool has_row;
	int64_t track_id, id; /* of the row; id: of spans begun here and ended there */
	uint32_t root;
	bool is_excluded; /* the row */
	regex_t thread_pattern, *excludes;
	bool has_thread_pattern;
	size_t exclude_count;
	struct tl_text row_text;
};

/* ---- patterns ---- */

static int compile(regex_t *regex, const char *pattern, struct tl_error *err)
{
	int code = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB);
	char why[200];

	if (!code)
		return TL_OK;
	regerror(code, regex, why, sizeof(why));
	return tl_fail(err, TL_USAGE, "'%s' is no regular expression: %s", pattern, why);
}

static int compile_patterns(struct folding *f, struct tl_error *err)
{
	const struct tl_fold_ops_options *opt = f->opt;
	int ret = TL_OK;

	f->excludes = tl_alloc(opt->exclude_count + 1, sizeof(*f->excludes), err);
	if (!f->excludes)
		return TL_NOMEM;
	if (opt->thread_pattern) {
		ret = compile(&f->thread_pattern, opt->thread_pattern, err);
		f->has_thread_pattern = ret == TL_OK;
	}
	for (size_t i = 0; i < opt->exclude_count && ret == TL_OK; i++) {
		ret = compile(&f->excludes[i], opt->exclude_patterns[i], err);
		f->exclude_count += ret == TL_OK;
	}
	return ret;
}

static void release_patterns(struct folding *f)
{
	for (size_t i = 0; i < f->exclude_count; i++)
		regfree(&f->excludes[i]);
	free(f->excludes);
	if (f->has_thread_pattern)
		regfree(&f->thread_pattern);
}

static bool matches_exclude(const struct folding *f, const char *text)
{
	for (size_t i = 0; i < f->exclude_count; i++)
		if (!regexec(&f->excludes[i], text, 0, NULL, 0))
			return true;
	return false;
}

/* ---- the tree ---- */

/* `is_root`: a part of the row's name. */
static int find_node(struct folding *f, uint32_t parent, uint32_t text, bool is_root,
		     uint32_t *node, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)parent << 32 | text, 11);
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&f->node_index, hash, &probe)) >= 0) {
		if (f->nodes[found].parent == parent && f->nodes[found].text == text) {
			*node = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&f->nodes, &f->node_capacity, f->node_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&f->node_index, hash, (uint32_t)f->node_count, err);
	if (ret < 0)
		return ret;
	*node = (uint32_t)f->node_count;
	f->nodes[f->node_count++] = (struct op_node) {
		.parent = parent,
		.text = text,
		.depth = is_root ? 0 : f->nodes[parent].depth + 1,
		.is_excluded = !is_root && (f->nodes[parent].is_excluded ||
					    matches_exclude(f, f->texts.strings[text].text)),
	};
	return TL_OK;
}

static int find_text_node(struct folding *f, uint32_t parent, const char *text, size_t len,
			  bool is_root, uint32_t *node, struct tl_error *err)
{
	struct tl_text safe = { 0 };
	uint32_t id;
	int ret;

	tl_native_plain(&safe, text, len);
	ret = safe.failed ? tl_fail(err, TL_NOMEM, "out of memory")
			  : tl_intern(&f->texts, safe.data ? safe.data : "", safe.length, &id, err);
	tl_text_release(&safe);
	return ret < 0 ? ret : find_node(f, parent, id, is_root, node, err);
}

/* ---- time ---- */

/* How much of [from, to) is asked for. */
static uint64_t inside(const struct folding *f, int64_t from, int64_t to)
{
	uint64_t sum = 0;

	if (!f->opt->range_count)
		return (uint64_t)to - (uint64_t)from;
	for (size_t i = 0; i < f->opt->range_count; i++) {
		const struct tl_time_range *r = &f->opt->ranges[i];
		int64_t a = from > r->begin_ns ? from : r->begin_ns;
		int64_t b = to < r->end_ns ? to : r->end_ns;

		if (b > a)
			sum += (uint64_t)b - (uint64_t)a;
	}
	return sum;
}

/* Time from `now` to `ts` goes to the innermost open span; spans that end on the way are closed. */
static void advance(struct folding *f, int64_t ts)
{
	while (f->open_count && f->now < ts) {
		struct span *top = &f->open[f->open_count - 1];
		int64_t until = top->end < ts ? top->end : ts;

		if (until > f->now) {
			f->nodes[top->node].self_ns += inside(f, f->now, until);
			f->now = until;
		}
		if (top->end <= f->now)
			f->open_count--;
		else
			break;
	}
	f->now = ts;
}

static void finish_row(struct folding *f)
{
	int64_t last = f->now;

	for (size_t i = 0; i < f->open_count; i++)
		last = f->open[i].end > last ? f->open[i].end : last;
	advance(f, last);
	f->open_count = 0;
}

/* ---- rows ---- */

enum column {
	COL_TRACK,
	COL_ID,
	COL_TS,
	COL_DUR,
	COL_NAME,
	COL_CLASS,
	COL_FLAGS,
	COL_STEP,
	COL_RANK,
	COL_THREAD,
	COL_TRACK_NAME,
	COL_PROCESS,
	COL_KEY_PID,
	COL_KEY_TID,
	COL_TID,
	COL_KIND,
	COL_DEVICE,
	COL_STREAM
};

static const char columns[] =
	"track id ts dur name class flags step rank thread track_name process "
	"key_pid key_tid tid kind device stream";

static int64_t number_or_none(struct tl_statement *st, int column)
{
	return tl_column_is_null(st, column) ? -1 : tl_column_i64(st, column);
}

/* The text of a row, and of its category if it is one of spans that are begun here and ended there. */
static void describe_row(struct folding *f, struct tl_statement *st, const char **category,
			 size_t *category_length)
{
	struct tl_ops_row row = { .tid = number_or_none(st, COL_TID),
				  .device = number_or_none(st, COL_DEVICE),
				  .stream = number_or_none(st, COL_STREAM) };
	size_t length;
	const char *kind = tl_column_text(st, COL_KIND, &length);

	row.is_device = kind && !strcmp(kind, "device");
	row.is_async = kind && !strcmp(kind, "async");
	row.thread = tl_column_text(st, COL_THREAD, &row.thread_length);
	row.name = tl_column_text(st, COL_TRACK_NAME, &row.name_length);
	row.process = tl_column_text(st, COL_PROCESS, &row.process_length);
	row.key_pid = tl_column_text(st, COL_KEY_PID, &row.key_pid_length);
	row.key_tid = tl_column_text(st, COL_KEY_TID, &row.key_tid_length);
	f->row_text.length = 0;
	tl_ops_row_text(&f->row_text, &row);
	*category = row.is_async ? row.key_tid ? row.key_tid : "" : NULL;
	*category_length = row.key_tid_length;
}

static int begin_row(struct folding *f, struct tl_statement *st, struct tl_error *err)
{
	uint32_t root = UINT32_MAX;
	const char *category;
	size_t category_length;
	char rank[32];
	int ret = TL_OK;

	finish_row(f);
	f->has_row = true;
	f->track_id = tl_column_i64(st, COL_TRACK);
	f->id = tl_column_i64(st, COL_ID);
	f->now = INT64_MIN;
	describe_row(f, st, &category, &category_length);
	if (f->row_text.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	f->is_excluded =
		f->has_thread_pattern &&
		regexec(&f->thread_pattern, f->row_text.data ? f->row_text.data : "", 0, NULL, 0);
	if (!tl_column_is_null(st, COL_RANK)) {
		snprintf(rank, sizeof(rank), "rank %lld", (long long)tl_column_i64(st, COL_RANK));
		ret = find_text_node(f, root, rank, strlen(rank), true, &root, err);
	}
	if (ret == TL_OK)
		ret = find_text_node(f, root, f->row_text.data ? f->row_text.data : "",
				     f->row_text.length, true, &root, err);
	if (ret == TL_OK && category) {
		f->row_text.length = 0;
		tl_text_puts(&f->row_text, category_length ? "async " : "async");
		tl_text_add(&f->row_text, category, category_length);
		ret = f->row_text.failed ? tl_fail(err, TL_NOMEM, "out of memory")
					 : find_text_node(f, root, f->row_text.data,
							  f->row_text.length, true, &root, err);
	}
	f->root = root;
	return ret;
}

/* ---- spans ---- */

/* What cannot be laid into a row, or would count time twice; counted. */
static bool is_left_out(struct folding *f, struct tl_statement *st)
{
	int64_t class_ = tl_column_i64(st, COL_CLASS);

	if (class_ == TL_SLICE_DEVICE_ANNOTATION || class_ == TL_SLICE_OVERLAP)
		f->out->repeated_count++;
	else if (tl_column_is_null(st, COL_TS))
		f->out->without_time_count++;
	else if (tl_column_is_null(st, COL_DUR))
		f->out->without_end_count++;
	else if (tl_column_i64(st, COL_FLAGS) & 2)
		f->out->suspect_count++;
	else
		return tl_column_i64(st, COL_DUR) <= 0;
	return true;
}

static int find_span_node(struct folding *f, struct tl_statement *st, int64_t end, uint32_t *node,
			  struct tl_error *err)
{
	size_t len, depth;
	const char *name = tl_column_text(st, COL_NAME, &len);
	int64_t class_ = tl_column_i64(st, COL_CLASS);
	bool is_annotation = class_ == TL_SLICE_ANNOTATION || class_ == TL_SLICE_OTHER;

	/* the caller is the innermost span that holds all of it; one that ends earlier overlaps only */
	for (depth = f->open_count; depth && f->open[depth - 1].end < end; depth--)
		;
	*node = depth ? f->open[depth - 1].node : f->root;
	if (f->opt->max_depth && f->nodes[*node].depth >= f->opt->max_depth)
		return TL_OK;
	if (is_annotation || !tl_column_is_null(st, COL_STEP))
		len = tl_ops_name_length(name ? name : "", name ? len : 0);
	return find_text_node(f, *node, name ? name : "", name ? len : 0, false, node, err);
}

static void count_span(struct folding *f, int64_t ts, int64_t end, uint32_t node)
{
	struct tl_folded *out = f->out;

	if (!inside(f, ts, end)) {
		out->outside_count++;
		return;
	}
	if (f->nodes[node].is_excluded) {
		out->excluded_count++;
		return;
	}
	f->nodes[node].count++;
	if (out->sample_count++ == 0 || ts < out->begin_ns)
		out->begin_ns = ts;
	if (out->sample_count == 1 || end > out->end_ns)
		out->end_ns = end;
}

static int add_span(struct folding *f, struct tl_statement *st, struct tl_error *err)
{
	int64_t ts = tl_column_i64(st, COL_TS), end;
	uint32_t node;
	int ret = TL_OK;

	if (is_left_out(f, st))
		return TL_OK;
	if (__builtin_add_overflow(ts, tl_column_i64(st, COL_DUR), &end)) {
		f->out->suspect_count++;
		return TL_OK;
	}
	if (!f->has_row || tl_column_i64(st, COL_TRACK) != f->track_id ||
	    tl_column_i64(st, COL_ID) != f->id)
		ret = begin_row(f, st, err);
	if (ret < 0)
		return ret;
	if (f->is_excluded) {
		f->out->excluded_count++;
		return TL_OK;
	}
	advance(f, ts);
	if (f->open_count == OPEN_MAX) {
		f->out->suspect_count++;
		return TL_OK;
	}
	ret = find_span_node(f, st, end, &node, err);
	if (ret < 0)
		return ret;
	count_span(f, ts, end, node);
	f->open[f->open_count++] = (struct span) { .end = end, .node = node };
	return TL_OK;
}

/* ---- lines ---- */

static void write_path(const struct folding *f, uint32_t node, struct tl_text *out)
{
	if (f->nodes[node].parent != UINT32_MAX) {
		write_path(f, f->nodes[node].parent, out);
		tl_text_add(out, ";", 1);
	}
	tl_text_add(out, f->texts.strings[f->nodes[node].text].text,
		    f->texts.strings[f->nodes[node].text].length);
}

static int by_bytes(const void *left, const void *right)
{
	const struct tl_folded_line *a = left, *b = right;

	return strcmp(a->text, b->text);
}

/* To the nearest: a sum of 900 ns is one microsecond. */
static uint64_t rounded(uint64_t ns, uint64_t unit)
{
	return ns / unit + (ns % unit * 2 >= unit && unit > 1);
}

static int add_line(struct folding *f, uint32_t node, uint64_t weight, struct tl_text *text,
		    size_t *capacity, struct tl_error *err)
{
	struct tl_folded *out = f->out;
	struct tl_folded_line *line;
	int ret = tl_grow(&out->lines, capacity, out->line_count + 1, err);

	if (ret < 0)
		return ret;
	text->length = 0;
	write_path(f, node, text);
	if (text->failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	line = &out->lines[out->line_count];
	line->text = tl_strdup_n(text->data, text->length, err);
	if (!line->text)
		return TL_NOMEM;
	tl_native_guard(line->text, text->length);
	line->weight = weight;
	out->line_count++;
	out->total_weight += weight;
	return TL_OK;
}

static int make_lines(struct folding *f, struct tl_error *err)
{
	uint64_t unit = f->opt->weight == TL_WEIGHT_NS ? 1 : 1000;
	uint64_t min = f->opt->min_weight ? f->opt->min_weight : 1;
	struct tl_folded *out = f->out;
	struct tl_text text = { 0 };
	size_t capacity = 0;
	int ret = TL_OK;

	for (uint32_t i = 0; i < f->node_count && ret == TL_OK; i++) {
		const struct op_node *x = &f->nodes[i];
		uint64_t weight =
			f->opt->weight == TL_WEIGHT_COUNT ? x->count : rounded(x->self_ns, unit);

		if (x->is_excluded)
			continue;
		if (weight >= min)
			ret = add_line(f, i, weight, &text, &capacity, err);
		else
			out->below_min_count +=
				f->opt->weight == TL_WEIGHT_COUNT ? x->count != 0 : x->self_ns != 0;
	}
	tl_text_release(&text);
	if (out->line_count)
		qsort(out->lines, out->line_count, sizeof(*out->lines), by_bytes);
	return ret;
}

/* ---- the question ---- */

/* Rows of the system and of devices are walked along the index; the others are few. */
#define SPANS(id, kinds)                                                                           \
	"SELECT a.track_id AS track, " id " AS id, a.ts AS ts, a.dur AS dur, n.text AS name, "     \
	"a.class AS class, a.flags AS flags, a.step AS step, s.rank AS rank, m.text AS thread, "   \
	"k.name AS track_name, k.process AS process, k.key_pid AS key_pid, k.key_tid AS key_tid, " \
	"t.tid AS tid, k.kind AS kind, k.device AS device, k.stream AS stream FROM slice a JOIN "  \
	"track k USING (track_id) JOIN source s USING (source_id) JOIN string n ON n.string_id = " \
	"a.name_id LEFT JOIN thread t USING (thread_id) LEFT JOIN string m ON m.string_id = "      \
	"t.name_id WHERE k.kind " kinds                                                            \
	" 'async' AND a.flags & 1 = 0 AND (?1 IS NULL OR s.rank = "                                \
	"?1) ORDER BY a.track_id, " id ", a.ts, a.dur DESC, a.slice_id"

static int walk(struct folding *f, struct tl_store *store, const char *sql, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store, sql, columns, err);

	if (ret < 0)
		return ret;
	if (f->opt->has_rank)
		tl_bind_i64(st, 1, f->opt->rank);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		ret = add_span(f, st, err);
	tl_statement_close(st);
	return ret;
}

/* Why there is nothing: another rank, no spans, none of what was asked, or none that counts enough. */
static int fail_empty(const struct folding *f, struct tl_store *store, struct tl_error *err)
{
	const struct tl_folded *out = f->out;
	int64_t count = 0;
	int ret = TL_OK;

	if (f->opt->has_rank)
		ret = tl_need_rank(store, f->opt->rank, err);
	if (ret == TL_OK)
		ret = tl_store_value(store, "SELECT count(*) FROM slice WHERE flags & 1 = 0", 0,
				     &count, err);
	if (ret < 0)
		return ret;
	if (!count)
		return tl_fail(err, TL_NOTHING,
			       "no profiler spans: import a profiler's trace (trace.json)");
	if (out->below_min_count)
		return tl_fail(err, TL_NOTHING,
			       "each of %llu lines counts less than %llu %s: use --weight ns%s",
			       (unsigned long long)out->below_min_count,
			       (unsigned long long)(f->opt->min_weight ? f->opt->min_weight : 1),
			       out->unit, f->opt->min_weight ? ", or a smaller --min" : "");
	return tl_fail(
		err, TL_NOTHING,
		"none of %lld profiler spans counts: %llu outside the times asked for, %llu left "
		"out as asked, %llu without an end or a time",
		(long long)count, (unsigned long long)out->outside_count,
		(unsigned long long)out->excluded_count,
		(unsigned long long)(out->without_end_count + out->without_time_count));
}

static int fold(struct folding *f, struct tl_store *store, struct tl_error *err)
{
	int ret = compile_patterns(f, err);

	if (ret == TL_OK)
		ret = walk(f, store, SPANS("NULL", "<>"), err);
	if (ret == TL_OK)
		ret = walk(f, store, SPANS("a.external_id", "="), err);
	finish_row(f);
	if (ret == TL_OK)
		ret = make_lines(f, err);
	if (ret == TL_OK && !f->out->line_count)
		ret = fail_empty(f, store, err);
	return ret;
}

int tl_fold_ops(struct tl_store *store, const struct tl_fold_ops_options *opt,
		struct tl_folded *out, struct tl_error *err)
{
	struct folding *f = tl_alloc(1, sizeof(*f), err);
	int ret;

	memset(out, 0, sizeof(*out));
	if (!f)
		return TL_NOMEM;
	f->opt = opt;
	f->out = out;
	snprintf(out->unit, sizeof(out->unit), "%s",
		 opt->weight == TL_WEIGHT_NS	  ? "ns"
		 : opt->weight == TL_WEIGHT_COUNT ? "spans"
						  : "us");
	snprintf(out->event, sizeof(out->event), "profiler spans, %s",
		 opt->weight == TL_WEIGHT_COUNT ? "by number" : "self time");
	ret = fold(f, store, err);
	release_patterns(f);
	tl_text_release(&f->row_text);
	free(f->nodes);
	tl_index_release(&f->node_index);
	tl_interner_release(&f->texts);
	free(f);
	if (ret < 0)
		tl_folded_release(out);
	return ret;
}
