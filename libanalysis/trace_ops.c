/*
 * trace_ops.c - folded stacks of profiler spans by self time: rank;thread;operator;operator. Spans of
 * one track are walked in order of time; an instant belongs to the innermost span that is open.
 */
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

#include "folded_text.h"
#include "memory.h"
#include "store.h"

#define OPEN_MAX 4096 /* spans open at once on a track: deeper ones are a damaged trace's */

struct span {
	int64_t end;
	uint32_t node;
};

struct op_node {
	uint32_t parent; /* UINT32_MAX: the track's own */
	uint32_t text;	 /* interned, safe */
	uint64_t self_ns;
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
	int64_t now; /* up to here the track is accounted for */
	int64_t track_id;
	uint32_t root;
};

static int find_node(struct folding *f, uint32_t parent, uint32_t text, uint32_t *node,
		     struct tl_error *err)
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
	f->nodes[f->node_count++] = (struct op_node) { .parent = parent, .text = text };
	return TL_OK;
}

static int find_text_node(struct folding *f, uint32_t parent, const char *text, size_t len,
			  uint32_t *node, struct tl_error *err)
{
	struct tl_text safe = { 0 };
	uint32_t id;
	int ret;

	tl_native_plain(&safe, text, len);
	ret = safe.failed ? tl_fail(err, TL_NOMEM, "out of memory")
			  : tl_intern(&f->texts, safe.data ? safe.data : "", safe.length, &id, err);
	tl_text_release(&safe);
	return ret < 0 ? ret : find_node(f, parent, id, node, err);
}

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

static void finish_track(struct folding *f)
{
	int64_t last = f->now;

	for (size_t i = 0; i < f->open_count; i++)
		last = f->open[i].end > last ? f->open[i].end : last;
	advance(f, last);
	f->open_count = 0;
}

enum column {
	COL_TRACK,
	COL_TS,
	COL_END,
	COL_NAME,
	COL_RANK,
	COL_THREAD,
	COL_TRACK_NAME,
	COL_PROCESS,
	COL_TID
};

static int begin_track(struct folding *f, struct tl_statement *st, struct tl_error *err)
{
	char rank[32] = "", thread[32];
	size_t len;
	const char *name = tl_column_text(st, COL_THREAD, &len);
	uint32_t root = UINT32_MAX;
	int ret = TL_OK;

	finish_track(f);
	f->track_id = tl_column_i64(st, COL_TRACK);
	f->now = INT64_MIN;
	if (!tl_column_is_null(st, COL_RANK))
		snprintf(rank, sizeof(rank), "rank %lld", (long long)tl_column_i64(st, COL_RANK));
	if (*rank)
		ret = find_text_node(f, root, rank, strlen(rank), &root, err);
	if (!name)
		name = tl_column_text(st, COL_TRACK_NAME, &len);
	if (!name && !tl_column_is_null(st, COL_TID)) {
		len = (size_t)snprintf(thread, sizeof(thread), "thread %lld",
				       (long long)tl_column_i64(st, COL_TID));
		name = thread;
	}
	if (!name)
		name = tl_column_text(st, COL_PROCESS, &len);
	if (ret == TL_OK)
		ret = find_text_node(f, root, name ? name : "track", name ? len : 5, &root, err);
	f->root = root;
	return ret;
}

static int add_span(struct folding *f, struct tl_statement *st, struct tl_error *err)
{
	int64_t ts = tl_column_i64(st, COL_TS), end = tl_column_i64(st, COL_END);
	uint32_t parent, node;
	size_t len, depth;
	const char *name;
	int ret = TL_OK;

	if (tl_column_i64(st, COL_TRACK) != f->track_id || !f->node_count)
		ret = begin_track(f, st, err);
	if (ret < 0)
		return ret;
	advance(f, ts);
	/* the caller is the innermost span that holds all of it; one that ends earlier overlaps only */
	for (depth = f->open_count; depth && f->open[depth - 1].end < end; depth--)
		;
	parent = depth ? f->open[depth - 1].node : f->root;
	name = tl_column_text(st, COL_NAME, &len);
	ret = find_text_node(f, parent, name ? name : "", name ? len : 0, &node, err);
	if (ret < 0)
		return ret;
	if (f->open_count == OPEN_MAX) {
		f->out->excluded_count++;
		return TL_OK;
	}
	if (inside(f, ts, end)) {
		f->out->sample_count++;
		if (f->out->sample_count == 1 || ts < f->out->begin_ns)
			f->out->begin_ns = ts;
		if (f->out->sample_count == 1 || end > f->out->end_ns)
			f->out->end_ns = end;
	} else {
		f->out->outside_count++;
	}
	f->open[f->open_count++] = (struct span) { .end = end, .node = node };
	return TL_OK;
}

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

static int make_lines(struct folding *f, struct tl_error *err)
{
	struct tl_folded *out = f->out;
	uint64_t unit = f->opt->weight == TL_WEIGHT_NS ? 1 : 1000;
	struct tl_text text = { 0 };
	size_t capacity = 0;
	int ret = TL_OK;

	for (uint32_t i = 0; i < f->node_count && ret == TL_OK; i++) {
		uint64_t weight = f->nodes[i].self_ns / unit;

		if (!weight) {
			out->below_min_count += f->nodes[i].self_ns != 0;
			continue;
		}
		ret = tl_grow(&out->lines, &capacity, out->line_count + 1, err);
		if (ret < 0)
			break;
		text.length = 0;
		write_path(f, i, &text);
		out->lines[out->line_count].text =
			text.failed ? NULL : tl_strdup_n(text.data, text.length, err);
		if (!out->lines[out->line_count].text) {
			ret = tl_fail(err, TL_NOMEM, "out of memory");
			break;
		}
		tl_native_guard(out->lines[out->line_count].text, text.length);
		out->lines[out->line_count++].weight = weight;
		out->total_weight += weight;
	}
	tl_text_release(&text);
	if (out->line_count)
		qsort(out->lines, out->line_count, sizeof(*out->lines), by_bytes);
	return ret;
}

/* Summaries of other rows (overlap) and copies of host spans on devices would count time twice. */
static const char sql[] =
	"SELECT a.track_id AS track, a.ts AS ts, a.ts + a.dur AS finish, n.text AS name, s.rank AS rank, "
	"m.text AS thread, k.name AS track_name, k.process AS process, t.tid AS tid FROM slice a JOIN "
	"track k USING (track_id) JOIN source s USING (source_id) JOIN string n ON n.string_id = a.name_id "
	"LEFT JOIN thread t USING (thread_id) LEFT JOIN string m ON m.string_id = t.name_id WHERE a.ts IS NOT NULL "
	"AND a.dur > 0 AND a.flags & 2 = 0 AND a.class NOT IN (7, 11) AND (?1 IS NULL OR s.rank = ?1) "
	"ORDER BY a.track_id, a.ts, a.dur DESC, a.slice_id";

int tl_fold_ops(struct tl_store *store, const struct tl_fold_ops_options *opt,
		struct tl_folded *out, struct tl_error *err)
{
	struct folding *f = tl_alloc(1, sizeof(*f), err);
	struct tl_statement *st = NULL;
	int ret = f ? TL_OK : TL_NOMEM;

	memset(out, 0, sizeof(*out));
	if (ret < 0)
		return ret;
	f->opt = opt;
	f->out = out;
	ret = tl_statement_open(&st, store, sql,
				"track ts finish name rank thread track_name process tid", err);
	if (ret == TL_OK && opt->has_rank)
		tl_bind_i64(st, 1, opt->rank);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		ret = add_span(f, st, err);
	tl_statement_close(st);
	if (ret == TL_OK) {
		finish_track(f);
		ret = make_lines(f, err);
	}
	snprintf(out->unit, sizeof(out->unit), "%s", opt->weight == TL_WEIGHT_NS ? "ns" : "us");
	snprintf(out->event, sizeof(out->event), "profiler spans, self time");
	if (ret == TL_OK && !out->line_count)
		ret = tl_fail(err, TL_NOTHING,
			      "no profiler spans%s: import a profiler's trace (trace.json)",
			      opt->range_count || opt->has_rank ? " inside" : "");
	free(f->nodes);
	tl_index_release(&f->node_index);
	tl_interner_release(&f->texts);
	free(f);
	if (ret < 0)
		tl_folded_release(out);
	return ret;
}
