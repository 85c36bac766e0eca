/*
 * step_class.c - classes of the steps of a series: by their phases and episodes, their durations, and
 * spans of checkpoints on their thread. Declared in step_class.h.
 */
#include "step_class.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"
#include "steps.h"
#include "steps_model.h"

#define APART_RATIO	 3  /* the longest excess is this many times the next one */
#define APART_MANY_RATIO 10 /* or this many times that of three quarters of the slow steps */
#define APART_KEEP	 3  /* so many slow steps stay */
#define SPAN_SHARE	 4  /* a checkpoint takes a quarter of its step at least */

/* ---- phases and episodes ---- */

static bool is_slow_phase(uint8_t phase)
{
	return phase == TL_PHASE_REGRESSION || phase == TL_PHASE_RECOVERY ||
	       phase == TL_PHASE_SHIFTED;
}

/* An episode that did not fail its tests; a single slow step is none. */
static bool is_sure(const struct tl_episode *e)
{
	return (e->kind == TL_EPISODE_TRANSIENT || e->kind == TL_EPISODE_SHIFT ||
		e->kind == TL_EPISODE_ONGOING) &&
	       e->confidence != TL_CONFIDENCE_LOW;
}

static void classify_phases(struct tl_steps_series *s, const struct tl_steps_model *m)
{
	size_t next = 0, sure_end = 0;

	for (size_t i = 0; i < m->n; i++) {
		uint8_t phase = m->phases[i];

		/* episodes are in order of their first steps */
		for (; next < m->episode_count && m->episodes[next].start <= i; next++)
			if (is_sure(&m->episodes[next]) && m->episodes[next].end > sure_end)
				sure_end = m->episodes[next].end;
		s->steps[i].class_ = phase == TL_PHASE_BASELINE			       ? "good"
				     : is_slow_phase(phase) && i < sure_end	       ? "slow"
				     : is_slow_phase(phase) || phase == TL_PHASE_SPIKE ? "spike"
										       : "other";
	}
}

static bool is_class(const struct tl_step *step, const char *class_)
{
	return !strcmp(step->class_, class_);
}

/* ---- spans of checkpoints ---- */

bool tl_is_checkpoint_name(const char *name)
{
	return strcasestr(name, "checkpoint") || strcasestr(name, "save_ckpt") ||
	       strcasestr(name, "ckpt_save") || strcasestr(name, "save_model") ||
	       strcasestr(name, "state_dict");
}

#define IS_CHECKPOINT                                                                         \
	"(n.text LIKE '%checkpoint%' OR n.text LIKE '%ckpt%' OR n.text LIKE '%save!_model%' " \
	"ESCAPE '!' OR n.text LIKE '%state!_dict%' ESCAPE '!')"

static int read_spans(struct tl_statement *st, const struct tl_steps_series *s, bool *marks,
		      struct tl_error *err)
{
	struct tl_text name = { 0 };
	int ret;

	while ((ret = tl_statement_step(st, err)) > 0) {
		size_t at = tl_steps_at(s, tl_column_i64(st, 0)), length;
		const char *text = tl_column_text(st, 2, &length);

		name.length = 0;
		tl_text_add(&name, text ? text : "", text ? length : 0);
		if (name.failed) {
			ret = tl_fail(err, TL_NOMEM, "out of memory");
			break;
		}
		if (at < s->count && tl_column_i64(st, 1) > s->steps[at].span_ns / SPAN_SHARE &&
		    tl_is_checkpoint_name(name.data))
			marks[at] = true;
	}
	tl_text_release(&name);
	return ret;
}

static int mark_part(struct tl_store *store, const struct tl_steps_series *s, int64_t source_id,
		     bool *marks, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, store,
		/* tracks first: see slices.h */
		"SELECT a.ts AS ts, a.dur AS dur, n.text AS name FROM slice a CROSS JOIN string n ON "
		"n.string_id = a.name_id WHERE a.track_id IN (SELECT k.track_id FROM track k JOIN "
		"thread t USING (thread_id) JOIN process p USING (process_id) WHERE k.source_id = ?1 "
		"AND k.kind = 'thread' AND t.tid = ?2 AND p.pid IS ?3) AND a.dur > 0 AND a.step IS "
		"NULL AND a.flags = 0 AND a.class NOT IN (9, 11) AND " IS_CHECKPOINT,
		"ts dur name", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	tl_bind_i64(st, 2, s->tid);
	if (s->pid >= 0)
		tl_bind_i64(st, 3, s->pid);
	else
		tl_bind_null(st, 3);
	ret = read_spans(st, s, marks, err);
	tl_statement_close(st);
	return ret;
}

/*
 * Steps with a span that is named for a checkpoint and fills much of them. Recomputing activations is
 * called so, too, but in every step: then the name says nothing.
 */
static int mark_checkpoints(struct tl_store *store, const struct tl_steps_series *s, bool *marks,
			    struct tl_error *err)
{
	int64_t any = 0;
	size_t marked = 0;
	int ret = TL_OK;

	if (s->tid >= 0)
		ret = tl_store_value(store,
				     "SELECT 1 FROM string n WHERE " IS_CHECKPOINT " LIMIT 1", 0,
				     &any, err);
	if (ret < 0 || !any)
		return ret;
	for (size_t i = 0; i <= s->more_count && ret >= 0; i++)
		ret = mark_part(store, s, tl_steps_part(s, i).source_id, marks, err);
	for (size_t i = 0; i < s->count; i++)
		marked += marks[i];
	if (2 * marked >= s->count)
		memset(marks, 0, s->count * sizeof(*marks));
	return ret < 0 ? ret : TL_OK;
}

/* ---- slow in another way ---- */

/* The slow steps' time above the usual one, sorted; and the usual one. */
static size_t slow_excesses(const struct tl_steps_series *s, double *excess, double *usual)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		if (is_class(&s->steps[i], "good"))
			excess[n++] = (double)s->steps[i].duration_ns;
	*usual = tl_median(excess, n);
	n = 0;
	for (size_t i = 0; i < s->count; i++)
		if (is_class(&s->steps[i], "slow"))
			excess[n++] = (double)s->steps[i].duration_ns - *usual;
	tl_sort(excess, n);
	return n;
}

/* An excess above this is of another kind than the rest. */
static double apart_limit(const double *excess, size_t n)
{
	double limit;

	if (n <= APART_KEEP)
		return 1e300;
	limit = APART_MANY_RATIO * excess[(size_t)(0.75 * (double)(n - 1))];
	if (excess[n - 1] > APART_RATIO * excess[n - 2] && excess[n - 1] < limit)
		limit = APART_RATIO * excess[n - 2];
	return limit;
}

static int set_apart(struct tl_steps_series *s, bool *marks, struct tl_error *err)
{
	double *excess = tl_alloc(s->count, sizeof(*excess), err), usual, limit;
	size_t n, apart = 0;

	if (!excess)
		return TL_NOMEM;
	n = slow_excesses(s, excess, &usual);
	limit = usual > 0 ? apart_limit(excess, n) : 1e300;
	free(excess);
	for (size_t i = 0; i < s->count; i++) {
		marks[i] = is_class(&s->steps[i], "slow") &&
			   (marks[i] || (double)s->steps[i].duration_ns - usual > limit);
		apart += marks[i];
	}
	/* what is left must be worth a comparison; else these are what is slow */
	for (size_t i = 0; i < s->count && n >= apart + APART_KEEP; i++)
		if (marks[i])
			s->steps[i].class_ = "apart";
	return TL_OK;
}

int tl_step_classify(struct tl_store *store, struct tl_steps_series *s,
		     const struct tl_steps_model *m, struct tl_error *err)
{
	bool *marks = tl_alloc(s->count, sizeof(*marks), err);
	int ret = marks ? TL_OK : TL_NOMEM;

	if (ret == TL_OK) {
		classify_phases(s, m);
		ret = mark_checkpoints(store, s, marks, err);
	}
	if (ret == TL_OK)
		ret = set_apart(s, marks, err);
	free(marks);
	return ret;
}
