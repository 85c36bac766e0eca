/*
 * mm_activity.c - intervals of memory management from the tracepoints of one source: compaction,
 * direct reclaim, kswapd, kcompactd, collapses and scans of khugepaged. A begin or an end that was
 * not recorded leaves a row without a duration, never a guess.
 */
#include "mm_activity.h"

#include <string.h>

#include "memory.h"

enum point {
	POINT_NONE,
	POINT_COMPACTION_BEGIN,
	POINT_COMPACTION_END,
	POINT_COMPACTION_ORDER, /* mm_compaction_try_to_compact_pages */
	POINT_KCOMPACTD_WAKE,
	POINT_RECLAIM_BEGIN,
	POINT_RECLAIM_END,
	POINT_MEMCG_BEGIN,
	POINT_MEMCG_END,
	POINT_KSWAPD_WAKE,
	POINT_KSWAPD_SLEEP,
	POINT_ISOLATE,
	POINT_COLLAPSE,
	POINT_SCAN,
	POINT_COLLAPSE_FILE,
	POINT_SCAN_FILE
};

static const struct {
	const char *name;
	enum point point;
} points[] = {
	{ "mm_compaction_begin", POINT_COMPACTION_BEGIN },
	{ "mm_compaction_end", POINT_COMPACTION_END },
	{ "mm_compaction_try_to_compact_pages", POINT_COMPACTION_ORDER },
	{ "mm_compaction_kcompactd_wake", POINT_KCOMPACTD_WAKE },
	{ "mm_vmscan_direct_reclaim_begin", POINT_RECLAIM_BEGIN },
	{ "mm_vmscan_direct_reclaim_end", POINT_RECLAIM_END },
	/* the limit of a control group does the same to the thread; never inside of the other */
	{ "mm_vmscan_memcg_reclaim_begin", POINT_MEMCG_BEGIN },
	{ "mm_vmscan_memcg_reclaim_end", POINT_MEMCG_END },
	{ "mm_vmscan_kswapd_wake", POINT_KSWAPD_WAKE },
	{ "mm_vmscan_kswapd_sleep", POINT_KSWAPD_SLEEP },
	{ "mm_collapse_huge_page_isolate", POINT_ISOLATE },
	{ "mm_collapse_huge_page", POINT_COLLAPSE },
	{ "mm_khugepaged_scan_pmd", POINT_SCAN },
	{ "mm_khugepaged_collapse_file", POINT_COLLAPSE_FILE },
	{ "mm_khugepaged_scan_file", POINT_SCAN_FILE },
};

static enum point find_point(const char *event, size_t length)
{
	const char *colon = memchr(event, ':', length);
	const char *name = colon ? colon + 1 : event;
	size_t rest = length - (size_t)(name - event);

	/* what was asked for with modifiers or a filter has them behind its name */
	for (size_t i = 0; i < rest; i++) {
		if (name[i] == ':' || name[i] == '/') {
			rest = i;
			break;
		}
	}
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		if (strlen(points[i].name) == rest && !memcmp(points[i].name, name, rest))
			return points[i].point;
	}
	return POINT_NONE;
}

/* Something that has begun in the thread at hand. */
struct opened {
	bool is_open, has_order;
	bool is_memcg; /* reclaim for the limit of a control group */
	int64_t ts, order;
};

struct hit {
	enum point point;
	int64_t ts, thread_id, cpu, order, pages;
	bool has_cpu, has_order, has_pages;
	const char *status;
	size_t status_length;
};

struct derivation {
	struct tl_statement *insert;
	int64_t source_id, thread_id;
	bool is_kcompactd;
	struct opened compaction, reclaim, kswapd, isolated;
	struct opened wanted; /* the order that the thread compacts for */
};

struct activity {
	const char *kind;
	int64_t ts, dur; /* dur < 0: not known */
	const struct opened *order;
};

static int put(struct derivation *d, const struct hit *h, const struct activity *a,
	       struct tl_error *err)
{
	struct tl_statement *st = d->insert;

	tl_bind_i64(st, 1, d->thread_id);
	tl_bind_i64(st, 2, a->ts);
	if (a->dur >= 0)
		tl_bind_i64(st, 3, a->dur);
	else
		tl_bind_null(st, 3);
	tl_bind_text(st, 4, a->kind, strlen(a->kind));
	if (h && h->has_cpu)
		tl_bind_i64(st, 5, h->cpu);
	else
		tl_bind_null(st, 5);
	if (a->order && a->order->has_order)
		tl_bind_i64(st, 6, a->order->order);
	else
		tl_bind_null(st, 6);
	if (a->order && a->order->is_memcg)
		tl_bind_text(st, 7, "memcg", 5);
	else
		tl_bind_text(st, 7, h ? h->status : NULL, h ? h->status_length : 0);
	if (h && h->has_pages)
		tl_bind_i64(st, 8, h->pages);
	else
		tl_bind_null(st, 8);
	tl_bind_i64(st, 9, d->source_id);
	return tl_statement_run(st, err);
}

static const char *compaction_kind(const struct derivation *d)
{
	return d->is_kcompactd ? "kcompactd" : "compaction";
}

/* A second begin without an end between: the end was lost. */
static int begin(struct derivation *d, struct opened *o, const struct hit *h, const char *kind,
		 const struct opened *order, struct tl_error *err)
{
	const struct activity lost = { kind, o->ts, -1, o };
	int ret = o->is_open ? put(d, NULL, &lost, err) : TL_OK;

	*o = (struct opened) {
		.is_open = true, .ts = h->ts, .has_order = order->has_order, .order = order->order
	};
	return ret;
}

/* An end without a begin began before the recording, or its begin was lost. */
static int end(struct derivation *d, struct opened *o, const struct hit *h, const char *kind,
	       struct tl_error *err)
{
	const struct activity a = { kind, o->is_open ? o->ts : h->ts,
				    o->is_open ? h->ts - o->ts : -1, o };
	int ret = put(d, h, &a, err);

	*o = (struct opened) { 0 };
	return ret;
}

static int finish_thread(struct derivation *d, struct tl_error *err)
{
	const struct {
		struct opened *opened;
		const char *kind;
	} all[] = { { &d->compaction, compaction_kind(d) },
		    { &d->reclaim, "direct_reclaim" },
		    { &d->kswapd, "kswapd" },
		    { &d->isolated, "collapse" } };
	int ret = TL_OK;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && ret == TL_OK; i++) {
		const struct activity a = { all[i].kind, all[i].opened->ts, -1, all[i].opened };

		if (all[i].opened->is_open)
			ret = put(d, NULL, &a, err);
	}
	d->compaction = d->reclaim = d->kswapd = d->isolated = d->wanted = (struct opened) { 0 };
	return ret;
}

static int take(struct derivation *d, const struct hit *h, struct tl_error *err)
{
	const struct opened own = { .has_order = h->has_order, .order = h->order };
	const struct activity moment = { "scan", h->ts, -1, NULL };
	int ret;

	switch (h->point) {
	case POINT_NONE:
		break;
	case POINT_COMPACTION_BEGIN:
		return begin(d, &d->compaction, h, compaction_kind(d), &d->wanted, err);
	case POINT_COMPACTION_END:
		return end(d, &d->compaction, h, compaction_kind(d), err);
	case POINT_COMPACTION_ORDER:
	case POINT_KCOMPACTD_WAKE:
		d->wanted = own;
		break;
	case POINT_RECLAIM_BEGIN:
		return begin(d, &d->reclaim, h, "direct_reclaim", &own, err);
	case POINT_RECLAIM_END:
		return end(d, &d->reclaim, h, "direct_reclaim", err);
	case POINT_MEMCG_BEGIN:
		ret = begin(d, &d->reclaim, h, "direct_reclaim", &own, err);
		d->reclaim.is_memcg = true;
		return ret;
	case POINT_MEMCG_END:
		d->reclaim.is_memcg = true;
		return end(d, &d->reclaim, h, "direct_reclaim", err);
	case POINT_KSWAPD_WAKE:
		/* the wake of one who is awake only raises the order */
		return d->kswapd.is_open ? TL_OK : begin(d, &d->kswapd, h, "kswapd", &own, err);
	case POINT_KSWAPD_SLEEP:
		return end(d, &d->kswapd, h, "kswapd", err);
	case POINT_ISOLATE:
		return begin(d, &d->isolated, h, "collapse", &(struct opened) { 0 }, err);
	case POINT_COLLAPSE:
		/* told at its end; of its begin only the isolation of the pages is known */
		ret = end(d, &d->isolated, h, "collapse", err);
		return ret;
	case POINT_COLLAPSE_FILE:
		return put(d, h, &(struct activity) { "collapse", h->ts, -1, NULL }, err);
	case POINT_SCAN:
	case POINT_SCAN_FILE:
		return put(d, h, &moment, err);
	}
	return TL_OK;
}

enum column { COL_TS, COL_THREAD, COL_CPU, COL_EVENT, COL_ORDER, COL_STATUS, COL_PAGES, COL_COMM };

static int read_hits(struct derivation *d, struct tl_statement *st, struct tl_error *err)
{
	int ret;

	while ((ret = tl_statement_step(st, err)) > 0) {
		struct hit h = { .ts = tl_column_i64(st, COL_TS),
				 .thread_id = tl_column_i64(st, COL_THREAD),
				 .cpu = tl_column_i64(st, COL_CPU),
				 .order = tl_column_i64(st, COL_ORDER),
				 .pages = tl_column_i64(st, COL_PAGES),
				 .has_cpu = !tl_column_is_null(st, COL_CPU),
				 .has_order = !tl_column_is_null(st, COL_ORDER),
				 .has_pages = !tl_column_is_null(st, COL_PAGES) };
		size_t length;
		const char *text = tl_column_text(st, COL_EVENT, &length);

		h.point = text ? find_point(text, length) : POINT_NONE;
		if (h.thread_id != d->thread_id) {
			ret = finish_thread(d, err);
			d->thread_id = h.thread_id;
			text = tl_column_text(st, COL_COMM, &length);
			d->is_kcompactd = text && length >= 9 && !memcmp(text, "kcompactd", 9);
		}
		h.status = tl_column_text(st, COL_STATUS, &h.status_length);
		if (ret >= 0)
			ret = take(d, &h, err);
		if (ret < 0)
			return ret;
	}
	return ret < 0 ? ret : finish_thread(d, err);
}

/* Whether the source has such events with samples: a case without them is not searched. */
static int has_points(struct tl_store *store, int64_t source_id, bool *found, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store,
				    "SELECT name FROM event WHERE source_id = ? AND is_tracepoint "
				    "AND NOT is_sampled AND sample_count > 0",
				    "name", err);

	*found = false;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		size_t length;
		const char *name = tl_column_text(st, 0, &length);

		*found |= name && find_point(name, length) != POINT_NONE;
	}
	tl_statement_close(st);
	return ret;
}

int tl_mm_activity_derive(struct tl_store *store, int64_t source_id, struct tl_error *err)
{
	struct derivation d = { .source_id = source_id, .thread_id = -1 };
	struct tl_statement *st = NULL;
	bool found;
	int ret = has_points(store, source_id, &found, err);

	if (ret < 0 || !found)
		return ret;
	/* of sampled tracepoints, one in several, no pairs can be made */
	ret = tl_statement_open(
		&st, store,
		"SELECT a.ts AS ts, a.thread_id AS thread, a.cpu AS cpu, e.name AS event, "
		"json_extract(y.fields, '$.order') AS page_order, "
		"coalesce(json_extract(y.fields, '$.status_name'), "
		"json_extract(y.fields, '$.status')) AS status, "
		"json_extract(y.fields, '$.nr_reclaimed') AS pages, n.text AS comm "
		"FROM sample a JOIN event e USING (event_id) "
		"JOIN payload y USING (payload_id) JOIN thread t USING (thread_id) "
		"LEFT JOIN string n ON n.string_id = t.name_id "
		"WHERE a.event_id IN (SELECT event_id FROM event WHERE source_id = ?1 AND "
		"is_tracepoint AND NOT is_sampled AND (name LIKE '%mm_compaction_%' OR name LIKE "
		"'%mm_vmscan_%' OR name LIKE '%mm_collapse_%' OR name LIKE '%mm_khugepaged_%')) "
		"AND a.ts IS NOT NULL ORDER BY thread, ts, a.sample_id",
		"ts thread cpu event page_order status pages comm", err);
	if (ret == TL_OK)
		ret = tl_statement_open(&d.insert, store,
					"INSERT INTO mm_activity(thread_id, ts, dur, kind, cpu, "
					"page_order, status, pages, source_id) "
					"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
					NULL, err);
	if (ret == TL_OK) {
		tl_bind_i64(st, 1, source_id);
		ret = read_hits(&d, st, err);
	}
	tl_statement_close(st);
	tl_statement_close(d.insert);
	return ret;
}
