/*
 * thp_parts.c - how long the thread of the steps did, or waited for, what memory management may be
 * behind, step by step. Intervals are exact; what only samples tell is what they stand for.
 *
 * Judges nothing.
 */
#include "thp.h"

#include <string.h>

/* The first step that ends behind ns. */
static size_t step_behind(const struct tl_thp_work *w, int64_t ns)
{
	size_t low = 0, high = w->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->view.steps[middle].end_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void tl_thp_add(struct tl_thp_work *w, enum tl_thp_part part, int64_t begin_ns, int64_t end_ns)
{
	bool is_inside = false;

	for (size_t i = step_behind(w, begin_ns); i < w->n; i++) {
		const struct tl_view_step *step = &w->view.steps[i];
		int64_t begin = begin_ns > step->begin_ns ? begin_ns : step->begin_ns;
		int64_t end = end_ns < step->end_ns ? end_ns : step->end_ns;

		if (step->begin_ns >= end_ns)
			break;
		if (end <= begin)
			continue;
		w->part[part][i] += (double)(end - begin);
		is_inside = true;
	}
	w->count[part] += is_inside;
}

static void add_ranges(struct tl_thp_work *w, enum tl_thp_part part, const struct tl_ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++)
		tl_thp_add(w, part, ranges->ranges[i].begin_ns, ranges->ranges[i].end_ns);
}

/* ---- daemons --------------------------------------------------------------------------------- */

static bool is_kind_huge(const struct tl_thp_work *w, const struct tl_view_activity *a)
{
	/* what khugepaged and kcompactd do is for huge pages unless the order says otherwise; kswapd
	   mostly serves others */
	return a->kind == TL_MM_KSWAPD ? tl_thp_is_huge_order(w, a->order)
				       : a->order < 0 || tl_thp_is_huge_order(w, a->order);
}

static bool daemon_of_kind(enum tl_mm_kind kind, enum tl_thread_role *role)
{
	switch (kind) {
	case TL_MM_COLLAPSE:
		*role = TL_ROLE_KHUGEPAGED;
		return true;
	case TL_MM_KCOMPACTD:
		*role = TL_ROLE_KCOMPACTD;
		return true;
	case TL_MM_KSWAPD:
		*role = TL_ROLE_KSWAPD;
		return true;
	case TL_MM_COMPACTION:
	case TL_MM_RECLAIM:
	case TL_MM_KIND_COUNT:
		break;
	}
	return false;
}

/* When a daemon is known to have served huge pages, or others. */
static int find_served(const struct tl_thp_work *w, enum tl_thread_role role, bool is_huge,
		       struct tl_ranges *out, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < w->view.activity_count && ret == TL_OK; i++) {
		const struct tl_view_activity *a = &w->view.activities[i];
		enum tl_thread_role of;

		if (a->end_ns > a->begin_ns && daemon_of_kind(a->kind, &of) && of == role &&
		    is_kind_huge(w, a) == is_huge)
			ret = tl_ranges_add(out, a->begin_ns, a->end_ns, err);
	}
	tl_ranges_settle(out);
	return ret;
}

/* The first range that ends behind ns. */
static size_t range_behind(const struct tl_ranges *r, int64_t ns)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->ranges[middle].end_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* [begin, end) without what is in `except`. */
static int add_without(struct tl_ranges *out, const struct tl_ranges *except, int64_t begin_ns,
		       int64_t end_ns, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = range_behind(except, begin_ns);
	     i < except->count && begin_ns < end_ns && ret == TL_OK; i++) {
		const struct tl_time_range *x = &except->ranges[i];

		if (x->begin_ns >= end_ns)
			break;
		if (x->begin_ns > begin_ns)
			ret = tl_ranges_add(out, begin_ns, x->begin_ns, err);
		begin_ns = x->end_ns;
	}
	if (ret == TL_OK && begin_ns < end_ns)
		ret = tl_ranges_add(out, begin_ns, end_ns, err);
	return ret;
}

/*
 * When a daemon was at work for huge pages: it ran, or its work was recorded. Recorders miss
 * switches, so both are taken.
 */
static int find_daemon(const struct tl_thp_work *w, enum tl_thread_role role, struct tl_ranges *out,
		       struct tl_error *err)
{
	struct tl_ranges huge = { 0 }, foreign = { 0 };
	int ret = find_served(w, role, true, &huge, err);

	if (ret == TL_OK)
		ret = find_served(w, role, false, &foreign, err);
	for (size_t i = 0; i < huge.count && ret == TL_OK; i++)
		ret = tl_ranges_add(out, huge.ranges[i].begin_ns, huge.ranges[i].end_ns, err);
	for (size_t i = 0; i < w->view.daemon_run_count && ret == TL_OK; i++) {
		const struct tl_view_daemon_run *run = &w->view.daemon_runs[i];

		if (run->role == role && role != TL_ROLE_KSWAPD)
			ret = add_without(out, &foreign, run->begin_ns, run->end_ns, err);
	}
	tl_ranges_settle(out);
	tl_ranges_release(&huge);
	tl_ranges_release(&foreign);
	return ret;
}

static int gather_daemons(struct tl_thp_work *w, struct tl_error *err)
{
	static const struct {
		enum tl_thread_role role;
		enum tl_thp_part part;
	} daemons[] = { { TL_ROLE_KHUGEPAGED, TL_PART_KHUGEPAGED },
			{ TL_ROLE_KCOMPACTD, TL_PART_KCOMPACTD },
			{ TL_ROLE_KSWAPD, TL_PART_KSWAPD } };
	int ret = TL_OK;

	for (size_t i = 0; i < sizeof(daemons) / sizeof(*daemons) && ret == TL_OK; i++) {
		struct tl_ranges ranges = { 0 };

		ret = find_daemon(w, daemons[i].role, &ranges, err);
		if (ret == TL_OK)
			add_ranges(w, daemons[i].part, &ranges);
		for (size_t j = 0; j < ranges.count && ret == TL_OK; j++) {
			const struct tl_time_range *r = &ranges.ranges[j];

			if (daemons[i].role != TL_ROLE_KSWAPD)
				ret = tl_ranges_add(&w->moves, r->begin_ns, r->end_ns, err);
			if (ret == TL_OK && daemons[i].role == TL_ROLE_KHUGEPAGED &&
			    !w->has_collapses)
				ret = tl_ranges_add(&w->holds, r->begin_ns, r->end_ns, err);
		}
		tl_ranges_release(&ranges);
	}
	tl_ranges_settle(&w->moves);
	tl_ranges_settle(&w->holds);
	return ret;
}

/* Whether both ends of a collapse were asked for. */
static int find_both_ends(const struct tl_thp_work *w, bool *both, struct tl_error *err)
{
	int64_t found = 0;
	int ret = tl_store_value(
		w->store,
		"SELECT count(DISTINCT name LIKE '%\\_isolate%' ESCAPE '\\') FROM event "
		"WHERE NOT is_sampled AND name LIKE '%mm_collapse_huge_page%' AND NOT "
		"name LIKE '%\\_swapin%' ESCAPE '\\'",
		0, &found, err);

	*both = found == 2;
	return ret;
}

/* It happened, but for how long is not known. */
static void add_moments(struct tl_thp_work *w)
{
	for (size_t i = 0; i < w->view.activity_count; i++) {
		const struct tl_view_activity *a = &w->view.activities[i];
		size_t step = step_behind(w, a->begin_ns);

		if (a->kind != TL_MM_COLLAPSE || a->end_ns > a->begin_ns || a->is_own ||
		    step == w->n || a->begin_ns < w->view.steps[step].begin_ns)
			continue;
		w->part[TL_PART_COLLAPSES][step]++;
		w->count[TL_PART_COLLAPSES]++;
		w->activity[step]++;
	}
	w->has_moments = w->count[TL_PART_COLLAPSES] > 0;
	w->has_daemon_counters = w->has_moments;
}

/* Of a collapse the copying is recorded, all of it under the lock. */
static int gather_collapses(struct tl_thp_work *w, struct tl_error *err)
{
	bool has_both;
	int ret = find_both_ends(w, &has_both, err);

	/* the time that khugepaged ran says as much as its collapses, and when */
	if (ret == TL_OK && !has_both && w->view.has & TL_VIEW_COLLAPSE) {
		if (!(w->view.has & TL_VIEW_DAEMONS))
			add_moments(w);
		return TL_OK;
	}
	for (size_t i = 0; i < w->view.activity_count && ret == TL_OK; i++) {
		const struct tl_view_activity *a = &w->view.activities[i];

		if (a->kind != TL_MM_COLLAPSE || a->end_ns <= a->begin_ns || a->is_own)
			continue;
		w->has_collapses = true;
		ret = tl_ranges_add(&w->holds, a->begin_ns, a->end_ns, err);
	}
	/* Recorded and not one seen: nothing was held. */
	w->has_collapses |= (w->view.has & TL_VIEW_COLLAPSE) != 0;
	tl_ranges_settle(&w->holds);
	return ret;
}

/* ---- waiting for a CPU ----------------------------------------------------------------------- */

static enum tl_thp_part stolen_part(enum tl_thread_role role)
{
	return role == TL_ROLE_KHUGEPAGED  ? TL_PART_STOLEN_KHUGEPAGED
	       : role == TL_ROLE_KCOMPACTD ? TL_PART_STOLEN_KCOMPACTD
	       : role == TL_ROLE_KSWAPD	   ? TL_PART_STOLEN_KSWAPD
					   : TL_PART_STOLEN_OTHERS;
}

/* Without what already counts as the thread's own compaction or reclaim. */
static int add_beside_own(struct tl_thp_work *w, enum tl_thp_part part, int64_t begin_ns,
			  int64_t end_ns, struct tl_error *err)
{
	struct tl_ranges rest = { 0 };
	uint64_t count = w->count[part];
	int ret = add_without(&rest, &w->own, begin_ns, end_ns, err);

	add_ranges(w, part, &rest);
	if (w->count[part] > count)
		w->count[part] = count + 1; /* one wait, whatever lay in it */
	tl_ranges_release(&rest);
	return ret;
}

/*
 * Those who ran on the CPU that the thread waited for; both in order of time. kswapd counts where it
 * works for a huge page: what it does for others is other people's CPU.
 */
static int gather_stolen(struct tl_thp_work *w, struct tl_error *err)
{
	const struct tl_step_view *v = &w->view;
	struct tl_ranges kswapd = { 0 };
	int ret = find_served(w, TL_ROLE_KSWAPD, true, &kswapd, err);
	size_t first = 0;

	for (size_t i = 0; i < v->state_count && ret == TL_OK; i++) {
		const struct tl_view_state *s = &v->states[i];

		if (s->state != TL_SCHED_RUNNABLE)
			continue;
		while (first < v->run_count && v->runs[first].end_ns <= s->begin_ns)
			first++;
		for (size_t j = first; j < v->run_count && v->runs[j].begin_ns < s->end_ns; j++) {
			const struct tl_view_run *run = &v->runs[j];
			int64_t begin = run->begin_ns > s->begin_ns ? run->begin_ns : s->begin_ns;
			int64_t end = run->end_ns < s->end_ns ? run->end_ns : s->end_ns;
			enum tl_thp_part part = stolen_part(v->threads[run->thread].role);

			if (run->cpu != s->cpu || end <= begin ||
			    v->threads[run->thread].role == TL_ROLE_IDLE)
				continue;
			if (part == TL_PART_STOLEN_KSWAPD &&
			    tl_ranges_inside_ns(&kswapd, begin, end) < (end - begin) / 2)
				part = TL_PART_STOLEN_OTHERS;
			if ((ret = add_beside_own(w, part, begin, end, err)) < 0)
				break;
		}
	}
	tl_ranges_release(&kswapd);
	return ret;
}

/* ---- waiting asleep -------------------------------------------------------------------------- */

static bool is_memory_lock(uint8_t reason)
{
	return reason == TL_WAIT_MMAP_LOCK || reason == TL_WAIT_VMA_LOCK ||
	       reason == TL_WAIT_RMAP_LOCK;
}

static int is_woken_by_khugepaged(struct tl_thp_work *w, const struct tl_view_state *s, bool *is,
				  struct tl_error *err)
{
	uint32_t thread;
	int ret = TL_OK;

	*is = false;
	if (s->waker_id)
		ret = tl_view_thread(&w->view, s->waker_id, &thread, err);
	if (ret == TL_OK && s->waker_id)
		*is = w->view.threads[thread].role == TL_ROLE_KHUGEPAGED;
	return ret;
}

/* A part of the wait may lie before or behind the collapse: that is somebody else's doing. */
static int split_lock_wait(struct tl_thp_work *w, const struct tl_view_state *s,
			   struct tl_error *err)
{
	struct tl_ranges behind = { 0 }, wait = { 0 }, elsewhere = { 0 };
	int ret = tl_ranges_add(&wait, s->begin_ns, s->end_ns, err);

	if (ret == TL_OK)
		ret = tl_ranges_intersect(&behind, &wait, &w->holds, err);
	if (ret == TL_OK)
		ret = add_without(&elsewhere, &behind, s->begin_ns, s->end_ns, err);
	if (ret == TL_OK) {
		add_ranges(w, TL_PART_LOCK_ASLEEP, &behind);
		add_ranges(w, TL_PART_LOCK_ELSEWHERE, &elsewhere);
	}
	tl_ranges_release(&behind);
	tl_ranges_release(&wait);
	tl_ranges_release(&elsewhere);
	return ret;
}

static int add_lock_wait(struct tl_thp_work *w, const struct tl_view_state *s, struct tl_error *err)
{
	bool is_woken = false;
	int ret = tl_ranges_add(&w->stalls, s->begin_ns, s->end_ns, err);

	if (ret == TL_OK)
		ret = is_woken_by_khugepaged(w, s, &is_woken, err);
	if (ret < 0)
		return ret;
	if (!is_woken)
		return split_lock_wait(w, s, err);
	tl_thp_add(w, TL_PART_LOCK_ASLEEP, s->begin_ns, s->end_ns);
	return TL_OK;
}

static void add_migration_wait(struct tl_thp_work *w, const struct tl_view_state *s)
{
	int64_t inside = tl_ranges_inside_ns(&w->moves, s->begin_ns, s->end_ns);

	if (2 * inside >= s->end_ns - s->begin_ns)
		tl_thp_add(w, TL_PART_MOVED_PAGES, s->begin_ns, s->end_ns);
}

/* Compaction and reclaim as a chain tells it; COUNT: intervals were recorded, which have it. */
static enum tl_thp_part work_part(const struct tl_thp_work *w, const struct tl_chain_traits *t)
{
	if (t->work == TL_MEMORY_COMPACTION) {
		if (w->view.has & TL_VIEW_COMPACTION)
			return TL_PART_COUNT;
		return t->is_hugetlb ? TL_PART_HUGETLB
		       : t->is_huge  ? TL_PART_COMPACTION
				     : TL_PART_OTHER_COMPACTION;
	}
	if (t->is_memcg)
		return w->has_memcg ? TL_PART_COUNT : TL_PART_MEMCG;
	if (w->view.has & TL_VIEW_RECLAIM)
		return TL_PART_COUNT;
	if (t->is_hugetlb)
		return TL_PART_HUGETLB;
	return t->is_huge ? TL_PART_RECLAIM : TL_PART_OTHER_RECLAIM;
}

static int add_sleep(struct tl_thp_work *w, const struct tl_view_state *s, struct tl_error *err)
{
	const struct tl_chain_traits *t = tl_thp_traits(w, s->stack_id);

	if (t->work == TL_MEMORY_COMPACTION || t->work == TL_MEMORY_RECLAIM) {
		enum tl_thp_part part = work_part(w, t);

		if (part != TL_PART_COUNT)
			tl_thp_add(w, part, s->begin_ns, s->end_ns);
		return TL_OK;
	}
	if (is_memory_lock(t->reason))
		return add_lock_wait(w, s, err);
	if (t->reason == TL_WAIT_MIGRATION)
		add_migration_wait(w, s);
	else if (t->is_memcg) /* throttled above memory.high */
		tl_thp_add(w, TL_PART_MEMCG, s->begin_ns, s->end_ns);
	else if (t->reason == TL_WAIT_FUTEX)
		tl_thp_add(w, TL_PART_FUTEX, s->begin_ns, s->end_ns);
	else if (t->reason == TL_WAIT_DIRTY || t->reason == TL_WAIT_COMMIT ||
		 t->reason == TL_WAIT_IO)
		tl_thp_add(w, TL_PART_STORAGE, s->begin_ns, s->end_ns);
	return TL_OK;
}

static int gather_sleeps(struct tl_thp_work *w, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < w->view.state_count && ret == TL_OK; i++) {
		const struct tl_view_state *s = &w->view.states[i];

		if (s->state == TL_SCHED_SLEEPING || s->state == TL_SCHED_UNINTERRUPTIBLE ||
		    s->state == TL_SCHED_OFF)
			ret = add_sleep(w, s, err);
	}
	return ret;
}

/* ---- on the CPU ------------------------------------------------------------------------------ */

static enum tl_thp_part sample_part(const struct tl_thp_work *w, const struct tl_view_sample *s)
{
	const struct tl_chain_traits *t = tl_thp_traits(w, s->stack_id);

	if (t->is_spinning && is_memory_lock(t->reason))
		return tl_ranges_contain(&w->holds, s->ts) ? TL_PART_LOCK_SPINNING
							   : TL_PART_LOCK_ELSEWHERE;
	switch ((enum tl_memory_work)t->work) {
	case TL_MEMORY_COMPACTION:
	case TL_MEMORY_RECLAIM:
		return work_part(w, t);
	case TL_MEMORY_HUGE_FAULT:
		if (tl_ranges_contain(&w->own, s->ts))
			return TL_PART_COUNT;
		return t->is_hugetlb ? TL_PART_HUGETLB : TL_PART_ZEROING;
	case TL_MEMORY_HUGE_SPLIT:
	case TL_MEMORY_HUGE_COLLAPSE:
		return TL_PART_SPLITTING;
	case TL_MEMORY_UNMAP:
		return TL_PART_UNMAPPING;
	case TL_MEMORY_FAULT:
		return t->is_hugetlb ? TL_PART_HUGETLB : TL_PART_SMALL_FAULTS;
	case TL_MEMORY_NONE:
	case TL_MEMORY_MIGRATION:
	case TL_MEMORY_WORK_COUNT:
		break;
	}
	/* without names nothing of the kernel is known from what is not */
	if (!s->stack_id || !(w->view.has & TL_VIEW_KERNEL_SYMBOLS))
		return TL_PART_COUNT;
	return t->is_syscall || t->is_fault || t->is_interrupt ? TL_PART_COUNT : TL_PART_USER;
}

/* A sample stands for the time around it: what it is compared with activity by. */
static int add_stall(struct tl_thp_work *w, const struct tl_view_sample *s, int64_t weight_ns,
		     struct tl_error *err)
{
	const struct tl_chain_traits *t = tl_thp_traits(w, s->stack_id);

	if (!t->is_spinning || !is_memory_lock(t->reason) || weight_ns <= 0)
		return TL_OK;
	return tl_ranges_add(&w->stalls, s->ts - weight_ns / 2, s->ts + weight_ns / 2, err);
}

static int gather_samples(struct tl_thp_work *w, struct tl_error *err)
{
	const struct tl_step_view *v = &w->view;
	size_t first = 0, end;
	int ret = TL_OK;

	for (size_t i = 0; i < w->n && ret == TL_OK; i++) {
		while (first < v->sample_count && v->samples[first].ts < v->steps[i].begin_ns)
			first++;
		for (end = first; end < v->sample_count && v->samples[end].ts < v->steps[i].end_ns;
		     end++)
			;
		for (size_t j = first; j < end && ret == TL_OK; j++) {
			const struct tl_view_sample *s = &v->samples[j];
			/* unknown: the time of the step among its samples */
			double weight = s->weight_ns > 0 ? (double)s->weight_ns
							 : w->duration[i] / (double)(end - first);
			enum tl_thp_part part = sample_part(w, s);

			if (part != TL_PART_COUNT) {
				w->part[part][i] += weight;
				w->count[part]++;
			}
			ret = add_stall(w, s, (int64_t)weight, err);
		}
		first = end;
	}
	return ret;
}

int tl_thp_gather(struct tl_thp_work *w, struct tl_error *err)
{
	int ret;

	if ((ret = gather_collapses(w, err)) < 0 || (ret = gather_daemons(w, err)) < 0 ||
	    (ret = tl_thp_gather_sampled(w, err)) < 0 || (ret = tl_thp_gather_own(w, err)) < 0 ||
	    (ret = gather_stolen(w, err)) < 0 || (ret = gather_sleeps(w, err)) < 0)
		return ret;
	if ((ret = gather_samples(w, err)) < 0 || (ret = tl_thp_gather_calls(w, err)) < 0)
		return ret;
	tl_ranges_settle(&w->stalls);
	return TL_OK;
}
