/*
 * thp.c - did transparent huge pages make the slow steps slow? Gathers, lets the model judge, and
 * answers with what was not recorded in mind.
 *
 * The arithmetic is in thp_model.c, kinds of time in thp_parts.c, the answer in thp_answer.c, lines of
 * evidence in thp_evidence.c, words in thp_words.c.
 */
#include "thp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "step_class.h"
#include "steps_model.h"

#define SAMPLES_PER_STEP 20 /* of the thread, for a share of its time to be known from them */
#define CHANCE_P	 0.05
#define MANY_SPIKES \
	0.25 /* of the steps are slow alone or perhaps by chance: that is no "none is slow" */

static const char *const mechanism_names[] = { "direct", "stolen", "lock", "activity", "other" };

const char *tl_thp_mechanism_name(enum tl_thp_mechanism mechanism)
{
	return mechanism_names[mechanism];
}

/* ---- what orders are huge pages -------------------------------------------------------------- */

/* A huge page is what one entry of the middle table maps: it depends on the size of small ones. */
static uint32_t orders_of(const char *arch, size_t length)
{
	static const struct {
		const char *arch;
		uint32_t orders;
	} known[] = {
		{ "x86_64", 1u << 9 },	     { "i686", 1u << 9 | 1u << 10 },
		{ "riscv64", 1u << 9 },	     { "s390x", 1u << 8 },
		{ "loongarch64", 1u << 11 }, { "ppc64le", 1u << 5 | 1u << 8 },
	};

	for (size_t i = 0; arch && i < sizeof(known) / sizeof(*known); i++) {
		if (strlen(known[i].arch) == length && !memcmp(arch, known[i].arch, length))
			return known[i].orders;
	}
	return 1u << 9 | 1u << 11 | 1u << 13; /* 4, 16 and 64 KiB */
}

/* What the machine itself said of the size of a huge page; 0: nothing that is understood. */
static uint32_t orders_of_size(const char *bytes)
{
	uint64_t size = bytes ? strtoull(bytes, NULL, 10) : 0;

	return size == 1 << 20	   ? 1u << 8
	       : size == 2 << 20   ? 1u << 9
	       : size == 32 << 20  ? 1u << 11
	       : size == 512 << 20 ? 1u << 13
				   : 0;
}

static int find_orders(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_statement *st;
	int ret;

	w->huge_orders = orders_of_size(tl_thp_setting(w, "thp.hpage_pmd_size"));
	if (w->huge_orders)
		return TL_OK;
	w->huge_orders = orders_of(NULL, 0);
	ret = tl_statement_open(
		&st, w->store,
		"SELECT h.arch AS arch FROM thread t JOIN process p USING (process_id) "
		"JOIN host h USING (host_id) WHERE t.thread_id = ?",
		"arch", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		size_t length;
		const char *arch = tl_column_text(st, 0, &length);

		w->huge_orders = orders_of(arch, length);
	}
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

/* A thread that never slept left no stack where it did: the event tells that it would have. */
static int find_off_stacks(struct tl_thp_work *w, struct tl_error *err)
{
	int64_t found;
	int ret = tl_store_value(w->store,
				 "SELECT 1 FROM event WHERE has_callchain AND instr(name, "
				 "'sched_switch') LIMIT 1",
				 0, &found, err);

	w->has_off_stacks = found || w->view.has & TL_VIEW_OFF_STACKS;
	return ret;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/*
 * Steps with a span of that name that takes a part of them worth the name. Recomputation of
 * activations is called so, too, but in every step.
 */
static int mark_checkpoints(struct tl_thp_work *w, struct tl_error *err)
{
	size_t texts = w->view.texts.count, marked = 0, step = 0;
	bool *is_name = tl_alloc(texts + 1, sizeof(*is_name), err);
	bool *marks = tl_alloc(w->n, sizeof(*marks), err);

	if (!is_name || !marks) {
		free(is_name);
		free(marks);
		return TL_NOMEM;
	}
	for (size_t i = 0; i < texts; i++)
		is_name[i] = tl_is_checkpoint_name(tl_view_text(&w->view, (uint32_t)i));
	for (size_t i = 0; i < w->view.op_count; i++) {
		const struct tl_view_op *op = &w->view.ops[i];

		if (!is_name[op->name])
			continue;
		while (step + 1 < w->n && w->view.steps[step].end_ns <= op->begin_ns)
			step++;
		if (op->begin_ns < w->view.steps[step].begin_ns ||
		    (double)(op->end_ns - op->begin_ns) < 0.1 * w->duration[step] || marks[step])
			continue;
		marks[step] = true;
		marked++;
	}
	for (size_t i = 0; i < w->n; i++)
		w->is_checkpoint[i] =
			w->view.steps[i].is_apart ||
			(2 * marked < w->n && marks[i] && w->view.steps[i].class_ != TL_STEP_SLOW);
	/* of these it is not known what happened in them: they are no part of any comparison */
	for (size_t i = 0; i < w->n; i++)
		if (w->view.steps[i].is_uncovered)
			w->is_checkpoint[i] = w->is_unsure[i] = true;
	free(is_name);
	free(marks);
	return TL_OK;
}

/* ---- what could have been seen --------------------------------------------------------------- */

static bool has_all(const struct tl_thp_work *w, unsigned flags)
{
	return (w->view.has & flags) == flags;
}

static bool samples_suffice(const struct tl_thp_work *w)
{
	return has_all(w, TL_VIEW_SAMPLES | TL_VIEW_STACKS | TL_VIEW_KERNEL_SYMBOLS) &&
	       w->view.sample_count >= SAMPLES_PER_STEP * w->n / 2;
}

static unsigned find_sees(const struct tl_thp_work *w)
{
	bool has_daemons =
		w->has_sampled_daemons || w->view.has & (TL_VIEW_DAEMONS | TL_VIEW_COLLAPSE);
	unsigned sees = 0;

	if (has_daemons || w->has_daemon_counters)
		sees |= TL_THP_SEES_ACTIVITY;
	/* what was lost could have been anything */
	if (w->view.slow_count && 2 * w->view.lossy_slow_count >= w->view.slow_count)
		return sees | (w->is_direct_excluded ? TL_THP_SEES_DIRECT : 0);
	if (has_all(w, TL_VIEW_COMPACTION | TL_VIEW_RECLAIM) || samples_suffice(w) ||
	    w->is_direct_excluded)
		sees |= TL_THP_SEES_DIRECT;
	if (has_all(w, TL_VIEW_STATES | TL_VIEW_ALL_CPUS))
		sees |= TL_THP_SEES_STOLEN;
	/* Waiters sleep or spin: switches show the ones, samples the others. */
	if (has_daemons && w->has_off_stacks && has_all(w, TL_VIEW_STATES) &&
	    has_all(w, TL_VIEW_SAMPLES | TL_VIEW_STACKS | TL_VIEW_KERNEL_SYMBOLS))
		sees |= TL_THP_SEES_LOCK;
	return sees;
}

/* ---- is it chance that waits meet collapses? ------------------------------------------------- */

static struct tl_time_span *spans_of(const struct tl_ranges *r, struct tl_error *err)
{
	struct tl_time_span *spans = tl_alloc(r->count + 1, sizeof(*spans), err);

	for (size_t i = 0; spans && i < r->count; i++)
		spans[i] = (struct tl_time_span) { r->ranges[i].begin_ns, r->ranges[i].end_ns };
	return spans;
}

static double inside_steps(const struct tl_thp_work *w, const struct tl_ranges *r)
{
	double sum = 0;

	for (size_t i = 0; i < w->n; i++)
		sum += (double)tl_ranges_inside_ns(r, w->view.steps[i].begin_ns,
						   w->view.steps[i].end_ns);
	return sum;
}

static double sum_of(const struct tl_thp_work *w, enum tl_thp_part part)
{
	double sum = 0;

	for (size_t i = 0; i < w->n; i++)
		sum += w->part[part][i];
	return sum;
}

/*
 * With activity going on a part d of the time, waits that have nothing to do with it meet it as
 * often: of a part f that was met, (f - d) / (1 - d) / f are due to it. Without more than chance,
 * none is.
 */
static double due_ratio(const struct tl_thp_work *w, double total_ns)
{
	const struct tl_overlap *o = &w->overlap;
	double met = sum_of(w, TL_PART_LOCK_SPINNING) + sum_of(w, TL_PART_LOCK_ASLEEP) +
		     sum_of(w, TL_PART_LOCK_CALLS);
	double f = met / (met + sum_of(w, TL_PART_LOCK_ELSEWHERE)), ratio;
	double d = o->expected_ns / total_ns;

	if (!(met > 0) || o->p >= CHANCE_P || f <= d || d >= 1)
		return 0;
	ratio = (f - d) / ((1 - d) * f);
	return ratio > 1 ? 1 : ratio;
}

static int test_overlap(struct tl_thp_work *w, struct tl_error *err)
{
	struct tl_time_span *steps = tl_alloc(w->n + 1, sizeof(*steps), err);
	struct tl_time_span *stalls = spans_of(&w->stalls, err), *acts = spans_of(&w->holds, err);
	double total = inside_steps(w, &w->stalls);
	int ret = steps && stalls && acts ? TL_OK : TL_NOMEM;

	for (size_t i = 0; ret == TL_OK && i < w->n; i++)
		steps[i] = (struct tl_time_span) { w->view.steps[i].begin_ns,
						   w->view.steps[i].end_ns };
	w->lock_ratio = 1;
	if (ret == TL_OK && total > 0 && w->holds.count) {
		ret = tl_overlap_test(&w->overlap, steps, w->n, stalls, w->stalls.count, acts,
				      w->holds.count, TL_OVERLAP_ROTATIONS, err);
		w->has_overlap = ret == TL_OK;
		w->lock_ratio = ret == TL_OK ? due_ratio(w, total) : 1;
	}
	free(steps);
	free(stalls);
	free(acts);
	return ret;
}

/* What met a collapse by chance is put where it belongs. */
static void correct_for_chance(struct tl_thp_work *w)
{
	static const enum tl_thp_part locks[] = { TL_PART_LOCK_SPINNING, TL_PART_LOCK_ASLEEP,
						  TL_PART_LOCK_CALLS };

	for (size_t k = 0; k < sizeof(locks) / sizeof(*locks); k++) {
		for (size_t i = 0; i < w->n; i++) {
			double due = w->part[locks[k]][i] * w->lock_ratio;

			w->part[TL_PART_LOCK_ELSEWHERE][i] += w->part[locks[k]][i] - due;
			w->part[locks[k]][i] = due;
		}
	}
}

/* ---- judging --------------------------------------------------------------------------------- */

static int judge(struct tl_thp_work *w, struct tl_error *err)
{
	for (size_t i = 0; i < w->n; i++) {
		w->direct[i] = w->part[TL_PART_COMPACTION][i] + w->part[TL_PART_RECLAIM][i] +
			       w->part[TL_PART_ZEROING][i] + w->part[TL_PART_SPLITTING][i];
		w->stolen[i] = w->part[TL_PART_STOLEN_KHUGEPAGED][i] +
			       w->part[TL_PART_STOLEN_KCOMPACTD][i] +
			       w->part[TL_PART_STOLEN_KSWAPD][i];
		w->lock[i] = w->part[TL_PART_LOCK_SPINNING][i] + w->part[TL_PART_LOCK_ASLEEP][i] +
			     w->part[TL_PART_LOCK_CALLS][i] + w->part[TL_PART_MOVED_PAGES][i];
		if (!w->has_daemon_counters)
			w->activity[i] = w->part[TL_PART_KHUGEPAGED][i] +
					 w->part[TL_PART_KCOMPACTD][i] + w->part[TL_PART_KSWAPD][i];
	}
	w->steps.sees = find_sees(w);
	return tl_thp_model(&w->model, &w->steps, err);
}

static double growth(const struct tl_thp_work *w, enum tl_thp_part part)
{
	return tl_thp_mean(w, w->part[part], TL_THP_ROLE_SLOW) -
	       tl_thp_mean(w, w->part[part], TL_THP_ROLE_BASE);
}

/*
 * Zeroing a huge page replaces zeroing its small pages one by one: of its time only what page
 * faults take more than before is a cost.
 */
static bool net_zeroing(struct tl_thp_work *w)
{
	double huge = growth(w, TL_PART_ZEROING); /* NaN without slow or good steps */
	double all = huge + growth(w, TL_PART_SMALL_FAULTS);
	double ratio = huge > 0 ? all / huge : 1;

	if (!(ratio < 1))
		return false;
	ratio = ratio > 0 ? ratio : 0;
	for (size_t i = 0; i < w->n; i++) {
		w->part[TL_PART_SMALL_FAULTS][i] += w->part[TL_PART_ZEROING][i] * (1 - ratio);
		w->part[TL_PART_ZEROING][i] *= ratio;
	}
	return true;
}

/* ---- the question ---------------------------------------------------------------------------- */

static int alloc_work(struct tl_thp_work *w, struct tl_error *err)
{
	double **arrays[] = { &w->duration, &w->activity, &w->direct, &w->stolen, &w->lock };

	w->n = w->view.step_count;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		if (!(*arrays[i] = tl_alloc(w->n, sizeof(double), err)))
			return TL_NOMEM;
	}
	for (size_t i = 0; i < TL_PART_COUNT; i++) {
		if (!(w->part[i] = tl_alloc(w->n, sizeof(double), err)))
			return TL_NOMEM;
	}
	w->is_checkpoint = tl_alloc(w->n, sizeof(*w->is_checkpoint), err);
	w->is_unsure = tl_alloc(w->n, sizeof(*w->is_unsure), err);
	w->steps.role = tl_alloc(w->n, sizeof(*w->steps.role), err);
	if (!w->is_checkpoint || !w->is_unsure || !w->steps.role)
		return TL_NOMEM;
	for (size_t i = 0; i < w->n; i++)
		w->duration[i] = (double)(w->view.steps[i].end_ns - w->view.steps[i].begin_ns);
	w->steps.n = w->n;
	w->steps.duration = w->duration;
	w->steps.activity = w->activity;
	w->steps.direct = w->direct;
	w->steps.stolen = w->stolen;
	w->steps.lock = w->lock;
	w->steps.is_checkpoint = w->is_checkpoint;
	return TL_OK;
}

static void release_work(struct tl_thp_work *w)
{
	for (size_t i = 0; i < TL_PART_COUNT; i++)
		free(w->part[i]);
	free(w->duration);
	free(w->activity);
	free(w->direct);
	free(w->stolen);
	free(w->lock);
	free(w->is_checkpoint);
	free(w->is_unsure);
	free(w->steps.role);
	free(w->traits);
	tl_ranges_release(&w->holds);
	tl_ranges_release(&w->own);
	tl_ranges_release(&w->moves);
	tl_ranges_release(&w->stalls);
	tl_step_view_release(&w->view);
}

/* The sources of the steps, and those that tell of the thread. */
static int find_sources(struct tl_thp_work *w, int64_t **sources, size_t *count,
			struct tl_error *err)
{
	size_t capacity = 0;
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, w->store,
		"SELECT source_id AS source FROM step WHERE series = ?2 UNION SELECT * FROM (SELECT source_id FROM thread_state WHERE "
		"thread_id = ?1 ORDER BY ts LIMIT 1) UNION SELECT e.source_id FROM stack_sum z JOIN "
		"event e USING (event_id) WHERE "
		"z.thread_id = ?1 UNION SELECT source_id FROM call_block WHERE thread_id = ?1 AND "
		"base_ts IS NOT NULL ORDER BY source",
		"source", err);

	*count = 0;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->view.thread_id);
	tl_bind_i64(st, 2, w->view.series);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		ret = tl_grow(sources, &capacity, *count + 1, err);
		if (ret == TL_OK)
			(*sources)[(*count)++] = tl_column_i64(st, 0);
	}
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

/* Times of two clocks are only as good as the map between them. */
static int check_clocks(struct tl_thp_work *w, struct tl_error *err)
{
	double excess = tl_thp_mean(w, w->duration, TL_THP_ROLE_SLOW) - w->model.baseline;
	int64_t *sources = NULL;
	struct tl_clock_join join;
	size_t count;
	int ret = find_sources(w, &sources, &count, err);

	if (ret == TL_OK)
		ret = tl_clock_join(w->store, sources, count,
				    w->model.slow_count && excess > 1 ? (int64_t)excess : 0, &join,
				    err);
	free(sources);
	if (ret < 0)
		return ret;
	if (!join.is_allowed)
		return tl_fail(err, TL_NOTHING, "%s", join.text);
	w->out->residual_ns = join.residual_ns;
	w->out->clocks = tl_thp_say(w->out, err, "%s", join.text);
	return w->out->clocks ? TL_OK : TL_NOMEM;
}

/* Steps of an episode that fails the tests of episodes are slow by chance, as far as one can tell. */
static bool drop_unsure(struct tl_thp_work *w)
{
	bool is_changed = false;

	for (size_t i = 0; i < w->n; i++) {
		if (w->steps.role[i] == TL_THP_ROLE_SLOW &&
		    w->view.steps[i].class_ != TL_STEP_SLOW && !w->is_checkpoint[i])
			w->is_checkpoint[i] = w->is_unsure[i] = is_changed = true;
	}
	return is_changed;
}

/*
 * Where none is slow huge pages made none slow. Where many may be, there is no question to answer yet:
 * says what the steps are instead.
 */
static int refuse_without_slow(const struct tl_thp_work *w, struct tl_error *err)
{
	const struct tl_step_view *v = &w->view;
	size_t rest = v->step_count, good = v->good_count, spikes = v->spike_count;
	char others[80] = "";

	if (w->model.slow_count || v->uncovered_slow_count ||
	    (double)spikes <= MANY_SPIKES * (double)v->step_count)
		return TL_OK;
	rest -= good < rest ? good : rest;
	rest -= spikes < rest ? spikes : rest;
	if (rest)
		snprintf(others, sizeof(others), ", %zu neither (warm-up, a checkpoint, ...)",
			 rest);
	return tl_fail(err, TL_NOTHING,
		       "none of %zu training steps is surely slow, so there is nothing that huge "
		       "pages could explain: %zu are good, %zu slow alone or perhaps by chance%s; "
		       "see 'traceloom steps'",
		       v->step_count, good, spikes, others);
}

static int judge_all(struct tl_thp_work *w, struct tl_error *err)
{
	int ret = judge(w, err);

	if (ret == TL_OK && drop_unsure(w))
		ret = judge(w, err);
	if (ret == TL_OK && net_zeroing(w))
		ret = judge(w, err);
	return ret;
}

static int work_it_out(struct tl_thp_work *w, struct tl_error *err)
{
	int ret;

	if (w->view.step_count < TL_STEPS_MIN && !w->view.slow_count)
		return tl_fail(err, TL_NOTHING,
			       "%zu training step%s too few to tell slow ones from good ones: a "
			       "training log of the whole run, with times, says which are",
			       w->view.step_count, w->view.step_count == 1 ? " is" : "s are");
	if ((ret = alloc_work(w, err)) < 0 || (ret = tl_thp_find_settings(w, err)) < 0 ||
	    (ret = find_orders(w, err)) < 0 || (ret = find_off_stacks(w, err)) < 0 ||
	    (ret = tl_chain_traits_load(&w->traits, &w->trait_count, w->store, err)) < 0 ||
	    (ret = mark_checkpoints(w, err)) < 0 || (ret = tl_thp_exclude_faults(w, err)) < 0 ||
	    (ret = tl_thp_gather(w, err)) < 0 || (ret = tl_thp_gather_counters(w, err)) < 0 ||
	    (ret = test_overlap(w, err)) < 0)
		return ret;
	correct_for_chance(w);
	ret = judge_all(w, err);
	if (ret == TL_OK)
		ret = refuse_without_slow(w, err);
	if (ret == TL_OK)
		ret = tl_thp_bound_rest(w, err);
	if (ret == TL_OK)
		ret = check_clocks(w, err);
	if (ret < 0)
		return ret;
	if ((ret = tl_thp_tell_answer(w, err)) < 0 || (ret = tl_thp_find_evidence(w, err)) < 0 ||
	    (ret = tl_thp_find_course(w, err)) < 0 || (ret = tl_thp_find_epochs(w, err)) < 0 ||
	    (ret = tl_thp_find_counters(w, err)) < 0 || (ret = tl_thp_find_tests(w, err)) < 0)
		return ret;
	return tl_thp_find_words(w, err);
}

int tl_thp(struct tl_store *store, const struct tl_thp_options *opt, struct tl_thp *out,
	   struct tl_error *err)
{
	const struct tl_view_options view = { .thread = opt->thread,
					      .has_rank = opt->has_rank,
					      .rank = opt->rank };
	struct tl_thp_work w = { .store = store, .out = out };
	int ret;

	*out = (struct tl_thp) { .pid = -1, .tid = -1, .rank = -1 };
	out->memory = tl_alloc(1, sizeof(struct tl_arena), err);
	if (!out->memory)
		return TL_NOMEM;
	/* one look at the case: a lock for each statement would cost more than most of them */
	ret = tl_store_execute(store, "BEGIN", err);
	if (ret == TL_OK) {
		ret = tl_step_view_load(&w.view, store, &view, err);
		if (ret == TL_OK) {
			ret = work_it_out(&w, err);
			release_work(&w);
		}
		tl_store_execute(store, "ROLLBACK", NULL);
	}
	if (ret < 0)
		tl_thp_release(out);
	return ret;
}

void tl_thp_release(struct tl_thp *thp)
{
	free(thp->evidence);
	free(thp->tests);
	free(thp->course);
	free(thp->epochs);
	free(thp->counters);
	free(thp->settings);
	free(thp->advice);
	free(thp->missing);
	free(thp->contradictions);
	if (thp->memory)
		tl_arena_release(thp->memory);
	free(thp->memory);
	*thp = (struct tl_thp) { 0 };
}
