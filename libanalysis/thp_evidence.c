/*
 * thp_evidence.c - kinds of time as lines of evidence, each with its source, its share of the
 * excess, and how sure that is; and the tests of whether activity and slow steps go together.
 */
#include "thp.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WORTH_TELLING 0.1 /* share of the excess from which other causes are told */

const char *tl_thp_say(struct tl_thp *out, struct tl_error *err, const char *fmt, ...)
{
	char buf[2048];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(buf))
		n = (int)sizeof(buf) - 1;
	return tl_arena_copy(out->memory, buf, (size_t)n, err);
}

/* ---- what the lines are ---------------------------------------------------------------------- */

enum told_by {
	BY_SWITCHES,
	BY_SAMPLES,
	BY_COLLAPSES,
	BY_COMPACTION,
	BY_RECLAIM,
	BY_MEMCG,
	BY_CALLS
};

/* mmap_lock stands for the locks of mappings and reverse maps, too, that a collapse also holds. */
static const struct kind {
	enum tl_thp_part part;
	enum tl_thp_mechanism mechanism;
	bool is_counted;
	enum told_by told_by;
	const char *what, *unit;
} kinds[] = {
	{ TL_PART_LOCK_SPINNING, TL_THP_LOCK, true, BY_SAMPLES,
	  "spinning for mmap_lock, held by a collapse", "samples" },
	{ TL_PART_LOCK_ASLEEP, TL_THP_LOCK, true, BY_SWITCHES,
	  "asleep for mmap_lock, held by a collapse", "waits" },
	{ TL_PART_LOCK_CALLS, TL_THP_LOCK, true, BY_CALLS,
	  "in mmap, munmap, ..., longer than usual in a collapse", "calls" },
	{ TL_PART_MOVED_PAGES, TL_THP_LOCK, true, BY_SWITCHES,
	  "waiting for a page that a daemon moves", "waits" },
	{ TL_PART_COMPACTION, TL_THP_DIRECT, true, BY_COMPACTION,
	  "compacting memory for its own huge page", "intervals" },
	{ TL_PART_RECLAIM, TL_THP_DIRECT, true, BY_RECLAIM,
	  "reclaiming memory for its own huge page", "intervals" },
	{ TL_PART_ZEROING, TL_THP_DIRECT, true, BY_SAMPLES,
	  "faulting huge pages in, beyond what small ones took", "samples" },
	{ TL_PART_SPLITTING, TL_THP_DIRECT, true, BY_SAMPLES, "splitting or joining huge pages",
	  "samples" },
	{ TL_PART_STOLEN_KHUGEPAGED, TL_THP_STOLEN, true, BY_SWITCHES,
	  "waiting for a CPU that khugepaged has", "waits" },
	{ TL_PART_STOLEN_KCOMPACTD, TL_THP_STOLEN, true, BY_SWITCHES,
	  "waiting for a CPU that kcompactd has", "waits" },
	{ TL_PART_STOLEN_KSWAPD, TL_THP_STOLEN, true, BY_SWITCHES,
	  "waiting for a CPU that kswapd has, for a huge page", "waits" },
	{ TL_PART_KHUGEPAGED, TL_THP_ACTIVITY, false, BY_COLLAPSES, "khugepaged at work",
	  "intervals" },
	{ TL_PART_COLLAPSES, TL_THP_ACTIVITY, false, BY_COLLAPSES,
	  "khugepaged at work: for how long was not recorded", "collapses" },
	{ TL_PART_KCOMPACTD, TL_THP_ACTIVITY, false, BY_SWITCHES, "kcompactd at work",
	  "intervals" },
	{ TL_PART_KSWAPD, TL_THP_ACTIVITY, false, BY_RECLAIM, "kswapd at work for a huge page",
	  "intervals" },
	{ TL_PART_LOCK_ELSEWHERE, TL_THP_OTHER, false, BY_SAMPLES,
	  "waiting for mmap_lock, held by no collapse", "waits" },
	{ TL_PART_OTHER_COMPACTION, TL_THP_OTHER, false, BY_COMPACTION,
	  "compacting memory, not for huge pages", "intervals" },
	{ TL_PART_OTHER_RECLAIM, TL_THP_OTHER, false, BY_RECLAIM,
	  "reclaiming memory, not for huge pages", "intervals" },
	{ TL_PART_MEMCG, TL_THP_OTHER, false, BY_MEMCG,
	  "reclaiming memory, or held up, for the limit of its control group", "intervals" },
	{ TL_PART_HUGETLB, TL_THP_OTHER, false, BY_SAMPLES,
	  "making huge pages of hugetlbfs, which no THP setting affects", "samples" },
	{ TL_PART_UNKNOWN_ORDER, TL_THP_OTHER, false, BY_COMPACTION,
	  "compacting or reclaiming, for an order not recorded", "intervals" },
	{ TL_PART_STOLEN_OTHERS, TL_THP_OTHER, false, BY_SWITCHES,
	  "waiting for a CPU that others have", "waits" },
	{ TL_PART_FUTEX, TL_THP_OTHER, false, BY_SWITCHES, "waiting for a lock of the program",
	  "waits" },
	{ TL_PART_STORAGE, TL_THP_OTHER, false, BY_SWITCHES, "waiting for storage", "waits" },
	{ TL_PART_UNMAPPING, TL_THP_OTHER, false, BY_SAMPLES, "giving memory back", "samples" },
	{ TL_PART_SMALL_FAULTS, TL_THP_OTHER, false, BY_SAMPLES, "faulting small pages in",
	  "samples" },
	{ TL_PART_USER, TL_THP_OTHER, false, BY_SAMPLES, "running the program's own code",
	  "samples" },
	{ TL_PART_MEMORY_CALLS, TL_THP_OTHER, false, BY_CALLS,
	  "in mmap, munmap, ..., whatever they wait for", "calls" },
};

/* ---- where they come from -------------------------------------------------------------------- */

struct origin {
	const char *source, *event;
};

/* The event with the most samples of those whose name has `part` in it. */
static int find_event(struct tl_thp_work *w, const char *part, struct origin *o,
		      struct tl_error *err)
{
	struct tl_statement *st;
	int ret =
		tl_statement_open(&st, w->store,
				  "SELECT s.path AS path, e.name AS name FROM event e JOIN source "
				  "s USING (source_id) WHERE instr(e.name, ?1) ORDER BY "
				  "e.sample_count DESC, e.event_id LIMIT 1",
				  "path name", err);

	if (ret < 0)
		return ret;
	tl_bind_text(st, 1, part, strlen(part));
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		size_t path_length, name_length;
		const char *path = tl_column_text(st, 0, &path_length);
		const char *name = tl_column_text(st, 1, &name_length);

		o->source = tl_arena_copy(w->out->memory, path ? path : "", path ? path_length : 0,
					  err);
		o->event = tl_arena_copy(w->out->memory, name ? name : "", name ? name_length : 0,
					 err);
		ret = o->source && o->event ? TL_OK : TL_NOMEM;
	}
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

static int find_calls(struct tl_thp_work *w, struct origin *o, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, w->store,
				    "SELECT s.path AS path FROM call_block b JOIN source s USING "
				    "(source_id) WHERE b.thread_id = ?1 GROUP BY s.source_id ORDER "
				    "BY (s.importer = ?2) DESC, s.source_id LIMIT 1",
				    "path", err);
	const char *importer = w->view.call_importer ? w->view.call_importer : "";

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	tl_bind_text(st, 2, importer, strlen(importer));
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		size_t length;
		const char *path = tl_column_text(st, 0, &length);

		o->source = tl_arena_copy(w->out->memory, path ? path : "", path ? length : 0, err);
		o->event = "system calls";
		ret = o->source ? TL_OK : TL_NOMEM;
	}
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

static int find_origin(struct tl_thp_work *w, enum told_by told_by, struct origin *o,
		       struct tl_error *err)
{
	int ret = TL_OK;

	*o = (struct origin) { 0 };
	switch (told_by) {
	case BY_SWITCHES:
		ret = find_event(w, "sched_switch", o, err);
		if (ret == TL_OK && !o->source)
			o->event = "context switches";
		return ret;
	case BY_COLLAPSES:
		ret = find_event(w, "mm_collapse_huge_page", o, err);
		return ret < 0 || o->source ? ret : find_origin(w, BY_SWITCHES, o, err);
	case BY_COMPACTION:
		ret = find_event(w, "mm_compaction_begin", o, err);
		return ret < 0 || o->source ? ret : find_origin(w, BY_SAMPLES, o, err);
	case BY_RECLAIM:
		ret = find_event(w, "mm_vmscan_direct_reclaim_begin", o, err);
		return ret < 0 || o->source ? ret : find_origin(w, BY_SAMPLES, o, err);
	case BY_MEMCG:
		ret = find_event(w, "mm_vmscan_memcg_reclaim_begin", o, err);
		return ret < 0 || o->source ? ret : find_origin(w, BY_SAMPLES, o, err);
	case BY_CALLS:
		return find_calls(w, o, err);
	case BY_SAMPLES:
		break;
	}
	return w->view.sample_event ? find_event(w, w->view.sample_event, o, err) : TL_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

double tl_thp_mean(const struct tl_thp_work *w, const double *v, enum tl_thp_role role)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (w->steps.role[i] == role) {
			sum += v[i];
			n++;
		}
	}
	return n ? sum / (double)n : NAN;
}

static bool is_worth_telling(const struct tl_thp_work *w, const struct kind *k,
			     const struct tl_thp_evidence *e)
{
	if (!w->count[k->part])
		return false;
	if (k->part == TL_PART_MEMORY_CALLS)
		return !(w->steps.sees & TL_THP_SEES_LOCK);
	if (k->mechanism != TL_THP_OTHER)
		return true;
	/* e->p is NaN when nothing was compared */
	return e->share >= WORTH_TELLING && e->p < 0.05;
}

static int measure(const struct tl_thp_work *w, const struct kind *k, struct tl_thp_evidence *e,
		   struct tl_error *err)
{
	struct tl_thp_share s;
	int ret;

	bool is_unknown =
		k->part == TL_PART_LOCK_ELSEWHERE && (!w->out->sees_activity || w->has_moments);

	*e = (struct tl_thp_evidence) {
		.mechanism = k->mechanism,
		.is_counted = k->is_counted,
		.is_possible_only = k->part == TL_PART_MEMORY_CALLS || is_unknown,
		.what = is_unknown ? "waiting for mmap_lock, held by whom is not known" : k->what,
		.slow_ns = tl_thp_mean(w, w->part[k->part], TL_THP_ROLE_SLOW),
		.good_ns = tl_thp_mean(w, w->part[k->part], TL_THP_ROLE_BASE),
		.share = NAN,
		.share_low = NAN,
		.share_high = NAN,
		.p = NAN,
		.count = w->count[k->part],
		.unit = k->unit
	};
	if (k->part == TL_PART_COLLAPSES)
		e->slow_ns = e->good_ns = NAN; /* numbers, not times */
	if (w->model.slow_count < 3 || w->model.base_count < 5)
		return TL_OK;
	ret = tl_thp_share(&s, &w->steps, w->model.baseline, w->part[k->part], err);
	e->p = s.p;
	if (k->mechanism == TL_THP_ACTIVITY)
		return ret; /* no time of the thread: no part of its excess */
	e->share = s.share;
	e->share_low = s.low;
	e->share_high = s.high;
	return ret;
}

int tl_thp_find_evidence(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_thp *out = w->out;
	size_t capacity = 0;
	int ret = TL_OK;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && ret == TL_OK; i++) {
		struct tl_thp_evidence e;
		struct origin o;

		ret = measure(w, &kinds[i], &e, err);
		if (ret < 0 || !is_worth_telling(w, &kinds[i], &e))
			continue;
		ret = find_origin(w, kinds[i].told_by, &o, err);
		if (ret == TL_OK)
			ret = tl_grow(&out->evidence, &capacity, out->evidence_count + 1, err);
		if (ret < 0)
			break;
		e.source = o.source;
		e.event = o.event;
		out->evidence[out->evidence_count++] = e;
	}
	return ret;
}

/* ---- course ---------------------------------------------------------------------------------- */

#define COURSE_ROWS  5
#define COURSE_STEPS 3 /* in a row at least */

static void add_to_course(const struct tl_thp_work *w, struct tl_thp_course *c, size_t step)
{
	if (!c->step_count++)
		c->first_step = w->view.steps[step].number;
	c->last_step = w->view.steps[step].number;
	c->excess_ns += w->duration[step] - w->model.baseline;
	c->mechanism_ns[TL_THP_DIRECT] += w->direct[step];
	c->mechanism_ns[TL_THP_STOLEN] += w->stolen[step];
	c->mechanism_ns[TL_THP_LOCK] += w->lock[step];
	c->activity_ns += w->activity[step];
}

static void finish_course(const struct tl_thp_work *w, struct tl_thp_course *c)
{
	const double *times[] = { w->direct, w->stolen, w->lock };
	double n = (double)c->step_count;

	c->excess_ns /= n;
	c->activity_ns =
		w->out->sees_activity && !w->has_daemon_counters ? c->activity_ns / n : NAN;
	for (int i = 0; i < TL_THP_MECHANISM_COUNT; i++) {
		/* What could not be seen in full, and was not seen at all, is not known. */
		bool is_known = w->out->is_seen[i] || isgreater(w->out->mechanism_share[i], 0);

		c->mechanism_ns[i] = is_known ? c->mechanism_ns[i] / n -
							tl_thp_mean(w, times[i], TL_THP_ROLE_BASE)
					      : NAN;
	}
}

/* The slow steps in a few parts of equal size. */
int tl_thp_find_course(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_thp *out = w->out;
	size_t slow = w->model.slow_count, rows = slow / COURSE_STEPS, seen = 0;

	rows = rows < COURSE_ROWS ? rows : COURSE_ROWS;
	if (rows < 2 || w->model.base_count < 5)
		return TL_OK;
	out->course = tl_alloc(rows, sizeof(*out->course), err);
	if (!out->course)
		return TL_NOMEM;
	out->course_count = rows;
	for (size_t i = 0; i < w->n; i++) {
		if (w->steps.role[i] == TL_THP_ROLE_SLOW)
			add_to_course(w, &out->course[seen++ * rows / slow], i);
	}
	for (size_t i = 0; i < rows; i++)
		finish_course(w, &out->course[i]);
	return TL_OK;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int add_test(struct tl_thp_work *w, size_t *capacity, const struct tl_thp_test *test,
		    struct tl_error *err)
{
	struct tl_thp *out = w->out;
	int ret = test->what ? tl_grow(&out->tests, capacity, out->test_count + 1, err) : TL_NOMEM;

	if (ret == TL_OK)
		out->tests[out->test_count++] = *test;
	return ret;
}

static size_t kept_count(const struct tl_thp_work *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += !w->is_checkpoint[i];
	return n;
}

static int test_levels(struct tl_thp_work *w, size_t *capacity, struct tl_error *err)
{
	const struct tl_thp_model *m = &w->model;
	struct tl_thp_test t = { "steps with activity are slow", NULL, m->rho, m->p_rho,
				 kept_count(w) };

	t.what =
		m->p_rho < 0.05
			? "daemons' time and steps' time go together (Spearman, all circular shifts)"
			: "no more than by chance (Spearman, all circular shifts)";
	return add_test(w, capacity, &t, err);
}

static int test_offsets(struct tl_thp_work *w, size_t *capacity, struct tl_error *err)
{
	const struct tl_stratified_rank *s = &w->model.within_offset;
	struct tl_thp_test t = { "at equal distance from checkpoints", NULL, NAN, NAN,
				 s->stratum_count };

	if (!s->stratum_count) {
		t.what = "not possible: needs 3 checkpoints or episodes, and steps in which the "
			 "activity differs";
		return add_test(w, capacity, &t, err);
	}
	t.value = s->r;
	t.p = s->p;
	t.what = tl_thp_say(
		w->out, err,
		s->p < 0.05 ? "more activity, slower step, also at the same offset from %zu "
			      "checkpoints or episodes"
			    : "at the same offset from %zu checkpoints or episodes, more "
			      "activity does not mean a slower step",
		s->largest);
	return add_test(w, capacity, &t, err);
}

static int test_rotation(struct tl_thp_work *w, size_t *capacity, struct tl_error *err)
{
	struct tl_thp_test t = { "waits meet collapses", NULL, NAN, NAN, 0 };

	if (!w->has_overlap) {
		t.what = w->stalls.count
				 ? "not possible: no collapse was seen"
				 : "not possible: no wait for a lock of the address space was "
				   "seen";
		return add_test(w, capacity, &t, err);
	}
	t.value = w->overlap.ratio;
	t.p = w->overlap.p;
	t.count = TL_OVERLAP_ROTATIONS;
	t.what = tl_thp_say(
		w->out, err,
		"waits for locks of the address space lie in collapses %.1f times as long "
		"as with the collapses rotated inside each step",
		isfinite(w->overlap.ratio) ? w->overlap.ratio : 999.9);
	return add_test(w, capacity, &t, err);
}

static int test_dose(struct tl_thp_work *w, size_t *capacity, struct tl_error *err)
{
	const struct tl_thp_model *m = &w->model;
	struct tl_thp_test t = { "steps with against steps without activity", NULL, NAN, NAN,
				 kept_count(w) };

	if (!m->has_dose) {
		t.what = "not possible: needs 3 steps with activity of daemons and 3 without";
		return add_test(w, capacity, &t, err);
	}
	t.value = m->dose_cliff;
	t.p = m->dose_p;
	t.what = tl_thp_say(w->out, err, "those with are %.3g ms %s (medians; Cliff's delta)",
			    fabs(m->dose_difference) / 1e6,
			    m->dose_difference < 0 ? "faster" : "slower");
	return add_test(w, capacity, &t, err);
}

static int test_lags(struct tl_thp_work *w, size_t *capacity, struct tl_error *err)
{
	const struct tl_thp_model *m = &w->model;
	double best = m->lag_rho[m->best_lag + TL_THP_LAG_MAX], now = m->lag_rho[TL_THP_LAG_MAX];
	struct tl_thp_test t = { "which comes first", NULL, best, NAN, kept_count(w) };

	if (!(best > 0))
		t.what = "neither: activity at no lag goes with slow steps";
	else if (best - now < 0.1)
		t.what = "activity and slow steps come together";
	else
		t.what = tl_thp_say(w->out, err,
				    m->best_lag < 0 ? "slow steps come %d steps before the activity"
						    : "slow steps come %d steps after the activity",
				    abs(m->best_lag));
	return add_test(w, capacity, &t, err);
}

static int test_orders(struct tl_thp_work *w, size_t *capacity, struct tl_error *err)
{
	uint64_t huge = w->count[TL_PART_COMPACTION] + w->count[TL_PART_RECLAIM];
	uint64_t other = w->count[TL_PART_OTHER_COMPACTION] + w->count[TL_PART_OTHER_RECLAIM] +
			 w->count[TL_PART_MEMCG];
	uint64_t unknown = w->count[TL_PART_UNKNOWN_ORDER];
	uint64_t all = huge + other + unknown;
	struct tl_thp_test t = { "the order of direct compaction and reclaim", NULL, NAN, NAN,
				 all };

	if (!all) {
		t.what = w->count[TL_PART_HUGETLB]	      ? "none, but for hugetlbfs"
			 : w->steps.sees & TL_THP_SEES_DIRECT ? "the thread did neither"
							      : "not recorded";
		return add_test(w, capacity, &t, err);
	}
	t.value = (double)huge / (double)all;
	t.what = tl_thp_say(
		w->out, err, "%llu for huge pages, %llu for other orders, %llu for unknown ones",
		(unsigned long long)huge, (unsigned long long)other, (unsigned long long)unknown);
	return add_test(w, capacity, &t, err);
}

int tl_thp_find_tests(struct tl_thp_work *w, struct tl_error *err)
{
	bool is_judged = w->model.slow_count >= 3 && w->model.base_count >= 5;
	size_t capacity = 0;
	int ret = TL_OK;

	if (is_judged && w->steps.sees & TL_THP_SEES_ACTIVITY &&
	    ((ret = test_levels(w, &capacity, err)) < 0 ||
	     (ret = test_offsets(w, &capacity, err)) < 0 ||
	     (ret = test_dose(w, &capacity, err)) < 0 || (ret = test_lags(w, &capacity, err)) < 0))
		return ret;
	if ((ret = test_rotation(w, &capacity, err)) < 0)
		return ret;
	return test_orders(w, &capacity, err);
}
