/*
 * trace_ops.c - folded stacks of profiler spans by self time: rank;thread;operator;operator. Spans of
 * one row are walked in order of time; a moment belongs to the innermost span that is open. Spans
 * that are begun here and ended there overlap by nature: those of one id are a row of their own.
 */
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

#include "folded_text.h"
#include "memory.h"
#include "ranges.h"
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

/* A name of the case as a frame: looked up and made safe once. */
struct name_text {
	int64_t name_id;
	bool has_number; /* with that of an iteration */
	uint32_t text;	 /* interned */
};

struct folding {
	const struct tl_fold_ops_options *opt;
	struct tl_folded *out;
	struct tl_interner texts;
	struct op_node *nodes;
	size_t node_count, node_capacity;
	struct tl_index node_index;
	struct name_text *names;
	size_t name_count, name_capacity;
	struct tl_index name_index;
	struct tl_statement *tracks, *find_name; /* the former stands at the track that is walked */
	struct tl_ranges ranges;		 /* asked for, in order */
	struct span open[OPEN_MAX];
	size_t open_count;
	int64_t now;  /* up to here the row is accounted for */
	bool has_row; /* a span of the track was met */
	int64_t id;   /* of spans begun here and ended there */
	uint32_t root;
	bool is_excluded; /* the row */
	struct tl_ops_patterns patterns;
	struct tl_text row_text;
};

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
		.is_excluded =
			!is_root && (f->nodes[parent].is_excluded ||
				     tl_ops_is_excluded(&f->patterns, f->texts.strings[text].text)),
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
	if (!f->opt->range_count)
		return (uint64_t)to - (uint64_t)from;
	return (uint64_t)tl_ranges_inside_ns(&f->ranges, from, to);
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

enum track_column {
	TRACK_ID,
	TRACK_KIND,
	TRACK_RANK,
	TRACK_THREAD,
	TRACK_NAME,
	TRACK_PROCESS,
	TRACK_KEY_PID,
	TRACK_KEY_TID,
	TRACK_TID,
	TRACK_DEVICE,
	TRACK_STREAM
};

static const char track_columns[] =
	"track kind rank thread name process key_pid key_tid tid device stream";

static const char tracks_sql[] =
	"SELECT k.track_id AS track, k.kind AS kind, s.rank AS rank, m.text AS thread, k.name AS name, "
	"k.process AS process, k.key_pid AS key_pid, k.key_tid AS key_tid, t.tid AS tid, k.device AS "
	"device, k.stream AS stream FROM track k JOIN source s USING (source_id) LEFT JOIN thread t "
	"USING (thread_id) LEFT JOIN string m ON m.string_id = t.name_id WHERE k.kind <> 'counter' AND "
	"(?1 IS NULL OR s.rank = ?1) ORDER BY k.track_id";

static int64_t number_or_none(struct tl_statement *st, int column)
{
	return tl_column_is_null(st, column) ? -1 : tl_column_i64(st, column);
}

/* The text of the row, and of its category if it is one of spans that are begun here and ended there. */
static void describe_row(struct folding *f, const char **category, size_t *category_length)
{
	struct tl_statement *st = f->tracks;
	struct tl_ops_row row = { .tid = number_or_none(st, TRACK_TID),
				  .device = number_or_none(st, TRACK_DEVICE),
				  .stream = number_or_none(st, TRACK_STREAM) };
	size_t length;
	const char *kind = tl_column_text(st, TRACK_KIND, &length);

	row.is_device = kind && !strcmp(kind, "device");
	row.is_async = kind && !strcmp(kind, "async");
	row.thread = tl_column_text(st, TRACK_THREAD, &row.thread_length);
	row.name = tl_column_text(st, TRACK_NAME, &row.name_length);
	row.process = tl_column_text(st, TRACK_PROCESS, &row.process_length);
	row.key_pid = tl_column_text(st, TRACK_KEY_PID, &row.key_pid_length);
	row.key_tid = tl_column_text(st, TRACK_KEY_TID, &row.key_tid_length);
	f->row_text.length = 0;
	tl_ops_row_text(&f->row_text, &row);
	*category = row.is_async ? row.key_tid ? row.key_tid : "" : NULL;
	*category_length = row.key_tid_length;
}

static int begin_row(struct folding *f, int64_t id, struct tl_error *err)
{
	uint32_t root = UINT32_MAX;
	const char *category;
	size_t category_length;
	char rank[32];
	int ret = TL_OK;

	finish_row(f);
	f->has_row = true;
	f->id = id;
	f->now = INT64_MIN;
	describe_row(f, &category, &category_length);
	if (f->row_text.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	f->is_excluded = !tl_ops_is_wanted(&f->patterns, f->row_text.data ? f->row_text.data : "");
	if (!tl_column_is_null(f->tracks, TRACK_RANK)) {
		snprintf(rank, sizeof(rank), "rank %lld",
			 (long long)tl_column_i64(f->tracks, TRACK_RANK));
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

enum column { COL_ID, COL_TS, COL_DUR, COL_NAME, COL_CLASS, COL_FLAGS, COL_STEP };

static const char columns[] = "id ts dur name class flags step";

#define SPANS(id)                                                                       \
	"SELECT " id " AS id, ts AS ts, dur AS dur, name_id AS name, class AS class, "  \
	"flags AS flags, step AS step FROM slice WHERE track_id = ? AND flags & 1 = 0 " \
	"ORDER BY " id ", ts, dur DESC, slice_id"

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

static int read_name(struct folding *f, int64_t name_id, bool has_number, uint32_t *id,
		     struct tl_error *err)
{
	struct tl_statement *st = f->find_name;
	struct tl_text safe = { 0 };
	size_t len = 0;
	const char *name;
	int ret;

	tl_bind_i64(st, 1, name_id);
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		name = tl_column_text(st, 0, &len);
		if (!has_number)
			len = tl_ops_name_length(name ? name : "", name ? len : 0);
		tl_native_plain(&safe, name ? name : "", name ? len : 0);
		ret = safe.failed ? tl_fail(err, TL_NOMEM, "out of memory")
				  : tl_intern(&f->texts, safe.data ? safe.data : "", safe.length,
					      id, err);
	} else if (ret == 0) {
		ret = tl_fail(err, TL_STORE, "the text %lld is not there: damaged",
			      (long long)name_id);
	}
	tl_statement_reset(st);
	tl_text_release(&safe);
	return ret;
}

static int find_name(struct folding *f, int64_t name_id, bool has_number, uint32_t *text,
		     struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)name_id, has_number);
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&f->name_index, hash, &probe)) >= 0) {
		if (f->names[found].name_id == name_id &&
		    f->names[found].has_number == has_number) {
			*text = f->names[found].text;
			return TL_OK;
		}
	}
	ret = read_name(f, name_id, has_number, text, err);
	if (ret == TL_OK)
		ret = tl_grow(&f->names, &f->name_capacity, f->name_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&f->name_index, hash, (uint32_t)f->name_count, err);
	if (ret == TL_OK)
		f->names[f->name_count++] = (struct name_text) { name_id, has_number, *text };
	return ret;
}

static int find_span_node(struct folding *f, struct tl_statement *st, int64_t end, uint32_t *node,
			  struct tl_error *err)
{
	int64_t class_ = tl_column_i64(st, COL_CLASS);
	bool has_number = class_ != TL_SLICE_ANNOTATION && class_ != TL_SLICE_OTHER &&
			  tl_column_is_null(st, COL_STEP);
	uint32_t text;
	size_t depth;
	int ret;

	/* the caller is the innermost span that holds all of it; one that ends earlier overlaps only */
	for (depth = f->open_count; depth && f->open[depth - 1].end < end; depth--)
		;
	*node = depth ? f->open[depth - 1].node : f->root;
	if (f->opt->max_depth && f->nodes[*node].depth >= f->opt->max_depth)
		return TL_OK;
	ret = find_name(f, tl_column_i64(st, COL_NAME), has_number, &text, err);
	return ret < 0 ? ret : find_node(f, *node, text, false, node, err);
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
	if (!f->has_row || tl_column_i64(st, COL_ID) != f->id)
		ret = begin_row(f, tl_column_i64(st, COL_ID), err);
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

/* The track that f->tracks stands at, by one of two statements. */
static int walk_track(struct folding *f, struct tl_statement *spans[2], struct tl_error *err)
{
	size_t length;
	const char *kind = tl_column_text(f->tracks, TRACK_KIND, &length);
	struct tl_statement *st = spans[kind && !strcmp(kind, "async")];
	int ret = TL_OK;

	f->has_row = false;
	tl_bind_i64(st, 1, tl_column_i64(f->tracks, TRACK_ID));
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		ret = add_span(f, st, err);
	tl_statement_reset(st);
	finish_row(f);
	return ret;
}

static int walk(struct folding *f, struct tl_store *store, struct tl_error *err)
{
	struct tl_statement *spans[2] = { NULL, NULL };
	int ret = tl_statement_open(&f->tracks, store, tracks_sql, track_columns, err);

	if (ret == TL_OK)
		ret = tl_statement_open(&f->find_name, store,
					"SELECT text FROM string WHERE string_id = ?", "text", err);
	if (ret == TL_OK)
		ret = tl_statement_open(&spans[0], store, SPANS("NULL"), columns, err);
	if (ret == TL_OK)
		ret = tl_statement_open(&spans[1], store, SPANS("external_id"), columns, err);
	if (ret == TL_OK && f->opt->has_rank)
		tl_bind_i64(f->tracks, 1, f->opt->rank);
	while (ret >= 0 && (ret = tl_statement_step(f->tracks, err)) > 0)
		ret = walk_track(f, spans, err);
	tl_statement_close(spans[0]);
	tl_statement_close(spans[1]);
	tl_statement_close(f->find_name);
	tl_statement_close(f->tracks);
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
	const struct tl_fold_ops_options *opt = f->opt;
	int ret = tl_ops_patterns_open(&f->patterns, opt->thread_pattern, opt->exclude_patterns,
				       opt->exclude_count, err);

	for (size_t i = 0; i < opt->range_count && ret == TL_OK; i++)
		ret = tl_ranges_add(&f->ranges, opt->ranges[i].begin_ns, opt->ranges[i].end_ns,
				    err);
	tl_ranges_settle(&f->ranges);
	if (ret == TL_OK)
		ret = walk(f, store, err);
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
	tl_ops_patterns_release(&f->patterns);
	tl_text_release(&f->row_text);
	tl_ranges_release(&f->ranges);
	free(f->names);
	tl_index_release(&f->name_index);
	free(f->nodes);
	tl_index_release(&f->node_index);
	tl_interner_release(&f->texts);
	free(f);
	if (ret < 0)
		tl_folded_release(out);
	return ret;
}
