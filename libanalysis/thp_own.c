/*
 * thp_own.c - what the thread does for itself when memory is short: its own compaction and reclaim,
 * and for what.
 *
 * A huge page of hugetlbfs has the order of a transparent one: only the chain tells them apart.
 */
#include "thp.h"

#define ORDER_BITS 32

bool tl_thp_is_huge_order(const struct tl_thp_work *w, int32_t order)
{
	return order >= 0 && order < ORDER_BITS && w->huge_orders >> order & 1;
}

const struct tl_chain_traits *tl_thp_traits(const struct tl_thp_work *w, int64_t stack_id)
{
	bool is_known = stack_id > 0 && (uint64_t)stack_id < w->trait_count;

	return &w->traits[is_known ? stack_id : 0];
}

/* ---- for what an interval is ----------------------------------------------------------------- */

enum purpose { PURPOSE_UNKNOWN, PURPOSE_HUGETLB, PURPOSE_MEMCG, PURPOSE_OTHER };

/* When the thread reclaimed for the limit of its control group. */
static int find_memcg(struct tl_thp_work *w, struct tl_ranges *out, struct tl_error *err)
{
	struct tl_statement *st;
	int64_t found = 0;
	int ret = tl_store_value(w->store,
				 "SELECT count(*) FROM event WHERE NOT is_sampled AND instr(name, "
				 "'mm_vmscan_memcg_reclaim_begin')",
				 0, &found, err);

	w->has_memcg = found;
	if (ret < 0 || !found)
		return ret;
	ret = tl_statement_open(
		&st, w->store,
		"SELECT ts, ts + dur AS end FROM mm_activity WHERE kind = "
		"'direct_reclaim' AND status = 'memcg' AND dur > 0 AND thread_id = ?",
		"ts end", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = tl_ranges_add(out, tl_column_i64(st, 0), tl_column_i64(st, 1), err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	tl_ranges_settle(out);
	return ret;
}

/* By the chains of what the thread hit in it: the tracepoints of its begin and end, or switches. */
static int find_by_tracepoints(struct tl_thp_work *w, struct tl_statement *st,
			       const struct tl_view_activity *a, enum purpose *out,
			       struct tl_error *err)
{
	int ret;

	tl_statement_reset(st);
	tl_bind_i64(st, 1, a->begin_ns);
	tl_bind_i64(st, 2, a->end_ns);
	tl_bind_i64(st, 3, a->thread_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		const struct tl_chain_traits *t = tl_thp_traits(w, tl_column_i64(st, 0));

		if (t->is_hugetlb) {
			*out = PURPOSE_HUGETLB;
			break;
		}
		/* a chain without names says nothing */
		if (t->is_fault || t->is_syscall)
			*out = PURPOSE_OTHER;
	}
	return ret < 0 ? ret : TL_OK;
}

/* The first sample of the thread at ns or later. */
static size_t sample_at(const struct tl_thp_work *w, int64_t ns)
{
	size_t low = 0, high = w->view.sample_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->view.samples[middle].ts < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* By samples of time in it. */
static enum purpose purpose_by_samples(const struct tl_thp_work *w,
				       const struct tl_view_activity *a)
{
	enum purpose purpose = PURPOSE_UNKNOWN;

	for (size_t i = sample_at(w, a->begin_ns);
	     i < w->view.sample_count && w->view.samples[i].ts < a->end_ns; i++) {
		const struct tl_chain_traits *t = tl_thp_traits(w, w->view.samples[i].stack_id);

		if (t->is_hugetlb)
			return PURPOSE_HUGETLB;
		if (t->work == TL_MEMORY_COMPACTION || t->work == TL_MEMORY_RECLAIM)
			purpose = PURPOSE_OTHER;
	}
	return purpose;
}

/* Whether the thread's samples in page faults of huge pages are chiefly those of hugetlbfs. */
static bool is_hugetlb_usual(const struct tl_thp_work *w)
{
	size_t hugetlb = 0, huge = 0;

	for (size_t i = 0; i < w->view.sample_count; i++) {
		const struct tl_chain_traits *t = tl_thp_traits(w, w->view.samples[i].stack_id);

		hugetlb += t->is_hugetlb;
		huge += t->is_huge && !t->is_hugetlb;
	}
	return hugetlb > 4 * huge;
}

/* ---- the thread's own work ------------------------------------------------------------------- */

/*
 * Whether compaction whose order was not recorded is for huge pages: its samples know, when there are
 * enough of them. -1: they do not.
 */
static int judge_unknown_orders(const struct tl_thp_work *w, const struct tl_ranges *unknown)
{
	size_t huge = 0, other = 0;

	for (size_t i = 0; i < w->view.sample_count && unknown->count; i++) {
		const struct tl_view_sample *s = &w->view.samples[i];

		if (!tl_ranges_contain(unknown, s->ts))
			continue;
		if (tl_thp_traits(w, s->stack_id)->is_huge)
			huge++;
		else
			other++;
	}
	if (huge + other < 5)
		return -1;
	return huge > 4 * other ? 1 : other > 4 * huge ? 0 : -1;
}

static enum tl_thp_part own_part(const struct tl_thp_work *w, const struct tl_view_activity *a,
				 int unknown_is_huge, enum purpose purpose)
{
	bool is_compaction = a->kind == TL_MM_COMPACTION;
	bool is_huge = tl_thp_is_huge_order(w, a->order);

	if (purpose == PURPOSE_MEMCG)
		return TL_PART_MEMCG;
	if (purpose == PURPOSE_HUGETLB && (is_huge || a->order < 0))
		return TL_PART_HUGETLB;
	if (a->order < 0) {
		if (unknown_is_huge < 0)
			return TL_PART_UNKNOWN_ORDER;
		is_huge = unknown_is_huge > 0;
	}
	/* no page fault of the machine got a transparent huge page, or tried to */
	if (is_huge && !(w->is_fault_excluded && purpose == PURPOSE_UNKNOWN))
		return is_compaction ? TL_PART_COMPACTION : TL_PART_RECLAIM;
	return is_compaction ? TL_PART_OTHER_COMPACTION : TL_PART_OTHER_RECLAIM;
}

static bool is_own_work(const struct tl_view_activity *a)
{
	return a->is_own && a->end_ns > a->begin_ns &&
	       (a->kind == TL_MM_COMPACTION || a->kind == TL_MM_RECLAIM);
}

static int add_own(struct tl_thp_work *w, int unknown_is_huge, struct tl_error *err)
{
	bool is_usual = is_hugetlb_usual(w);
	struct tl_ranges memcg = { 0 };
	struct tl_statement *st = NULL;
	int ret = find_memcg(w, &memcg, err);

	if (ret == TL_OK)
		ret = tl_statement_open(
			&st, w->store,
			"SELECT stack_id AS stack FROM sample WHERE ts BETWEEN ?1 AND ?2 "
			"AND thread_id = ?3 AND stack_id IS NOT NULL",
			"stack", err);
	for (size_t i = 0; i < w->view.activity_count && ret == TL_OK; i++) {
		const struct tl_view_activity *a = &w->view.activities[i];
		enum purpose purpose = PURPOSE_UNKNOWN;

		if (!is_own_work(a))
			continue;
		if (a->kind == TL_MM_RECLAIM && tl_ranges_contain(&memcg, a->begin_ns))
			purpose = PURPOSE_MEMCG;
		else
			ret = find_by_tracepoints(w, st, a, &purpose, err);
		if (purpose == PURPOSE_UNKNOWN)
			purpose = purpose_by_samples(w, a);
		if (purpose == PURPOSE_UNKNOWN && is_usual)
			purpose = PURPOSE_HUGETLB;
		if (ret == TL_OK)
			tl_thp_add(w, own_part(w, a, unknown_is_huge, purpose), a->begin_ns,
				   a->end_ns);
	}
	tl_statement_close(st);
	tl_ranges_release(&memcg);
	return ret;
}

int tl_thp_gather_own(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_ranges unknown = { 0 };
	int ret = TL_OK, unknown_is_huge;

	for (size_t i = 0; i < w->view.activity_count && ret == TL_OK; i++) {
		const struct tl_view_activity *a = &w->view.activities[i];

		if (is_own_work(a) && a->order < 0)
			ret = tl_ranges_add(&unknown, a->begin_ns, a->end_ns, err);
		if (is_own_work(a) && ret == TL_OK)
			ret = tl_ranges_add(&w->own, a->begin_ns, a->end_ns, err);
	}
	tl_ranges_settle(&unknown);
	tl_ranges_settle(&w->own);
	unknown_is_huge = judge_unknown_orders(w, &unknown);
	if (ret == TL_OK)
		ret = add_own(w, unknown_is_huge, err);
	tl_ranges_release(&unknown);
	return ret;
}
