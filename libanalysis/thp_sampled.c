/*
 * thp_sampled.c - what daemons were doing, by samples of all CPUs: for recordings that tell neither of
 * switches nor of collapses. A sample stands for the time around it.
 */
#include "thp.h"

#include <stdlib.h>
#include <string.h>

#include "sample_blocks.h"

#define SUM_MAX (INT64_C(1) << 28) /* more rows than this are taken for damage */

enum daemon { NOBODY, KHUGEPAGED, KCOMPACTD };

/* Whose samples a sum is of, and whether its stack lies in a collapse. */
struct sum {
	uint8_t daemon;
	bool is_collapse;
};

struct sampled {
	struct sum *sums; /* by id */
	int64_t sum_max, source_id;
	size_t found;
};

static enum daemon daemon_of(const char *name, size_t length)
{
	if (length >= 10 && !memcmp(name, "khugepaged", 10))
		return KHUGEPAGED;
	return length >= 9 && !memcmp(name, "kcompactd", 9) ? KCOMPACTD : NOBODY;
}

/* The source of the samples of time, if all CPUs were recorded; 0: none. */
static int find_source(struct tl_thp_work *w, int64_t *source_id, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, w->store,
		"SELECT e.source_id AS source FROM event e JOIN source_meta m ON m.source_id = "
		"e.source_id AND m.key = 'target' AND m.value = 'all_cpus' JOIN source s ON s.source_id "
		"= e.source_id WHERE e.unit = 'ns' AND NOT e.is_tracepoint AND e.sample_count > 0 AND "
		"s.host_id = (SELECT p.host_id FROM thread t JOIN process p USING (process_id) WHERE "
		"t.thread_id = ?) ORDER BY e.sample_count DESC, source LIMIT 1",
		"source", err);

	*source_id = 0;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	ret = tl_statement_step(st, err);
	if (ret > 0)
		*source_id = tl_column_i64(st, 0);
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

enum { SUM_ID, SUM_STACK, SUM_NAME };

static void note_sum(const struct tl_thp_work *w, struct sampled *s, struct tl_statement *st)
{
	int64_t id = tl_column_i64(st, SUM_ID), stack = tl_column_i64(st, SUM_STACK);
	size_t length;
	const char *name = tl_column_text(st, SUM_NAME, &length);
	enum daemon daemon = name ? daemon_of(name, length) : NOBODY;
	bool is_known = stack > 0 && (uint64_t)stack < w->trait_count;

	if (id <= 0 || id > s->sum_max || daemon == NOBODY)
		return;
	s->sums[id].daemon = (uint8_t)daemon;
	s->sums[id].is_collapse = is_known && w->traits[stack].work == TL_MEMORY_HUGE_COLLAPSE;
	s->found++;
}

static int load_sums(struct tl_thp_work *w, struct sampled *s, struct tl_error *err)
{
	struct tl_statement *st;
	int ret =
		tl_store_value(w->store, "SELECT max(sum_id) FROM stack_sum", 0, &s->sum_max, err);

	if (ret == TL_OK && (s->sum_max < 0 || s->sum_max > SUM_MAX))
		ret = tl_fail(err, TL_STORE, "table stack_sum has the id %lld: damaged",
			      (long long)s->sum_max);
	if (ret < 0)
		return ret;
	s->sums = tl_alloc((size_t)s->sum_max + 1, sizeof(*s->sums), err);
	if (!s->sums)
		return TL_NOMEM;
	ret = tl_statement_open(
		&st, w->store,
		"SELECT z.sum_id AS id, z.stack_id AS stack, n.text AS name FROM thread t "
		"JOIN string n ON n.string_id = t.name_id JOIN stack_sum z USING "
		"(thread_id) JOIN event e USING (event_id) WHERE e.source_id = ? AND "
		"e.unit = 'ns' AND NOT e.is_tracepoint AND (n.text LIKE 'khugepaged%' OR "
		"n.text LIKE 'kcompactd%')",
		"id stack name", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, s->source_id);
	while ((ret = tl_statement_step(st, err)) > 0)
		note_sum(w, s, st);
	tl_statement_close(st);
	return ret;
}

static int add_sample(struct tl_thp_work *w, const struct sum *sum, const struct tl_sample_entry *e,
		      struct tl_error *err)
{
	int64_t half = e->period < INT64_MAX / 2 ? (int64_t)(e->period / 2) : 0;
	int64_t begin = e->ts - half, end = e->ts + half;
	int ret = tl_ranges_add(&w->moves, begin, end, err);

	tl_thp_add(w, sum->daemon == KHUGEPAGED ? TL_PART_KHUGEPAGED : TL_PART_KCOMPACTD, begin,
		   end);
	/* where the kernel has no names, khugepaged may hold the lock whenever it runs */
	if (ret == TL_OK && sum->daemon == KHUGEPAGED &&
	    (sum->is_collapse || !(w->view.has & TL_VIEW_KERNEL_SYMBOLS)))
		ret = tl_ranges_add(&w->holds, begin, end, err);
	return ret;
}

static int add_block(struct tl_thp_work *w, const struct sampled *s, struct tl_statement *st,
		     struct tl_sample_entry *entries, struct tl_error *err)
{
	struct tl_sample_block block;
	int ret = tl_sample_block_row(st, &block, entries, err);

	for (uint32_t i = 0; i < block.count && ret == TL_OK; i++) {
		const struct tl_sample_entry *e = &entries[i];

		if (e->sum_id > 0 && e->sum_id <= s->sum_max && s->sums[e->sum_id].daemon)
			ret = add_sample(w, &s->sums[e->sum_id], e, err);
	}
	return ret;
}

static int load_samples(struct tl_thp_work *w, const struct sampled *s, struct tl_error *err)
{
	struct tl_sample_entry *entries = tl_alloc(TL_SAMPLE_BLOCK_MAX, sizeof(*entries), err);
	struct tl_statement *st = NULL;
	int ret =
		entries ? tl_statement_open(
				  &st, w->store,
				  "SELECT sample_count, base_ts, first_ts, last_ts, samples FROM "
				  "sample_block WHERE source_id = ?1 AND last_ts >= ?2 AND first_ts < ?3",
				  "sample_count base_ts first_ts last_ts samples", err)
			: TL_NOMEM;

	if (ret == TL_OK) {
		tl_bind_i64(st, 1, s->source_id);
		tl_bind_i64(st, 2, w->view.steps[0].begin_ns);
		tl_bind_i64(st, 3, w->view.steps[w->n - 1].end_ns);
		while ((ret = tl_statement_step(st, err)) > 0) {
			ret = add_block(w, s, st, entries, err);
			if (ret < 0)
				break;
		}
	}
	tl_statement_close(st);
	free(entries);
	return ret;
}

int tl_thp_gather_sampled(struct tl_thp_work *w, struct tl_error *err)
{
	struct sampled s = { 0 };
	int ret;

	if (w->view.has & TL_VIEW_DAEMONS || (w->view.has & TL_VIEW_COLLAPSE && !w->has_moments))
		return TL_OK;
	ret = find_source(w, &s.source_id, err);
	if (ret < 0 || !s.source_id)
		return ret;
	w->has_sampled_daemons = true;
	ret = load_sums(w, &s, err);
	if (ret == TL_OK && s.found)
		ret = load_samples(w, &s, err);
	tl_ranges_settle(&w->holds);
	tl_ranges_settle(&w->moves);
	free(s.sums);
	return ret;
}
