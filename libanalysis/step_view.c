/*
 * step_view.c - which steps and which thread a question about slow steps is about; what the thread
 * did is loaded by step_view_load.c, what the machine did by step_view_system.c.
 */
#include "step_view.h"

#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "reader.h"

const char *tl_view_text(const struct tl_step_view *view, uint32_t text)
{
	return view->texts.strings[text].text;
}

static const char *keep_column(struct tl_step_view *view, struct tl_statement *st, int column,
			       int *status, struct tl_error *err)
{
	size_t length;
	const char *text = tl_column_text(st, column, &length);
	const char *copy = text ? tl_arena_copy(&view->arena, text, length, err) : NULL;

	if (text && !copy)
		*status = TL_NOMEM;
	return copy;
}

/* ---- threads ---- */

static bool begins(const char *name, const char *start)
{
	return !strncmp(name, start, strlen(start));
}

static enum tl_thread_role role_of(const struct tl_step_view *view, const char *name, int64_t pid,
				   int64_t tid, int64_t parent_pid, bool is_family)
{
	static const char *const kernel[] = { "kworker/", "ksoftirqd/", "migration/", "rcu_",
					      "jbd2/",	  "kthreadd",	"irq/",	      "cpuhp/",
					      "watchdog", "khungtaskd", "kblockd",    "writeback",
					      "ksmd",	  "kauditd",	"nvme",	      "scsi_" };

	if (tid == 0)
		return TL_ROLE_IDLE;
	if (view->pid > 0 && pid == view->pid)
		return tid == view->tid ? TL_ROLE_SELF : TL_ROLE_OWN;
	if (tid == view->tid)
		return TL_ROLE_SELF;
	if (begins(name, "khugepaged"))
		return TL_ROLE_KHUGEPAGED;
	if (begins(name, "kcompactd"))
		return TL_ROLE_KCOMPACTD;
	if (begins(name, "kswapd"))
		return TL_ROLE_KSWAPD;
	if (is_family)
		return TL_ROLE_FAMILY;
	if (pid == 2 || parent_pid == 2)
		return TL_ROLE_KERNEL;
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++)
		if (begins(name, kernel[i]))
			return TL_ROLE_KERNEL;
	return TL_ROLE_OTHER;
}

enum { THREAD_TID, THREAD_PID, THREAD_NAME, THREAD_PARENT, THREAD_FAMILY };

static int read_thread(struct tl_step_view *view, int64_t thread_id, struct tl_view_thread *t,
		       struct tl_error *err)
{
	struct tl_statement *st;
	const char *name;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT t.tid AS tid, p.pid AS pid, n.text AS name, q.pid AS parent, "
		"t.name_id IS s.name_id AND (p.parent_process_id IS o.process_id OR "
		"p.parent_process_id IS o.parent_process_id) AS family "
		"FROM thread t JOIN process p USING (process_id) "
		"LEFT JOIN process q ON q.process_id = p.parent_process_id "
		"LEFT JOIN string n ON n.string_id = t.name_id "
		"LEFT JOIN thread s ON s.thread_id = ?2 "
		"LEFT JOIN process o ON o.process_id = s.process_id WHERE t.thread_id = ?1",
		"tid pid name parent family", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, thread_id);
	tl_bind_i64(st, 2, view->thread_id);
	*t = (struct tl_view_thread) { .thread_id = thread_id, .pid = -1, .tid = -1 };
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		ret = TL_OK;
		t->tid = tl_column_i64(st, THREAD_TID);
		t->pid = tl_column_is_null(st, THREAD_PID) ? -1 : tl_column_i64(st, THREAD_PID);
		name = keep_column(view, st, THREAD_NAME, &ret, err);
		t->name = name ? name : t->tid == 0 ? "idle" : "[unknown]";
		t->role = role_of(view, t->name, t->pid, t->tid, tl_column_i64(st, THREAD_PARENT),
				  tl_column_i64(st, THREAD_FAMILY) != 0 && name);
	} else if (ret == 0) {
		t->name = "[unknown]";
		t->role = TL_ROLE_OTHER;
	}
	tl_statement_close(st);
	return ret;
}

int tl_view_thread(struct tl_step_view *view, int64_t thread_id, uint32_t *thread,
		   struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)thread_id, 17);
	struct tl_view_thread t;
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&view->thread_index, hash, &probe)) >= 0) {
		if (view->threads[found].thread_id == thread_id) {
			*thread = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = read_thread(view, thread_id, &t, err);
	if (ret == TL_OK)
		ret = tl_grow(&view->threads, &view->thread_capacity, view->thread_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&view->thread_index, hash, (uint32_t)view->thread_count, err);
	if (ret < 0)
		return ret;
	*thread = (uint32_t)view->thread_count;
	view->threads[view->thread_count++] = t;
	return TL_OK;
}

/* ---- which series of steps ---- */

enum { S_SERIES, S_SOURCE, S_RANK, S_THREAD, S_TIMED, S_COUNT, S_SLOW, S_GOOD, S_PATH };

/* Higher is better: steps to compare, then a thread that carries them. */
static int score(struct tl_statement *st)
{
	return (tl_column_i64(st, S_SLOW) > 0 && tl_column_i64(st, S_GOOD) > 0 ? 2 : 0) +
	       (tl_column_is_null(st, S_THREAD) ? 0 : 1);
}

/* The same steps told of by another source are no other series; those of another rank are. */
static int count_other_ranks(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT count(DISTINCT rank) AS ranks FROM step WHERE ts IS NOT NULL "
		"AND rank <> ?",
		"ranks", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->rank);
	ret = tl_statement_step(st, err);
	if (ret > 0)
		view->other_rank_count = (size_t)tl_column_i64(st, 0);
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

static int choose_series(struct tl_step_view *view, const struct tl_view_options *opt,
			 struct tl_error *err)
{
	struct tl_statement *st;
	int64_t untimed = 0, all = 0, timed = 0;
	int best = -1;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT e.series AS series, f.source_id AS source, e.rank AS rank, "
		"f.thread_id AS thread, count(e.ts) AS timed, count(*) AS steps, "
		"total(e.class = 'slow' OR (?1 AND e.class = 'spike')) AS slow, "
		"total(e.class = 'good') AS good, s.path || CASE count(DISTINCT e.source_id) WHEN 1 "
		"THEN '' ELSE ' and ' || (count(DISTINCT e.source_id) - 1) || ' more' END AS path "
		"FROM step e JOIN (SELECT series, source_id, thread_id, min(position) FROM step "
		"GROUP BY series) f ON f.series = e.series JOIN source s ON s.source_id = f.source_id GROUP BY e.series "
		"ORDER BY e.series",
		"series source rank thread timed steps slow good path", err);

	if (ret == TL_OK)
		tl_bind_i64(st, 1, opt->has_spikes);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = TL_OK;

		all++;
		if (opt->has_rank &&
		    (tl_column_is_null(st, S_RANK) || tl_column_i64(st, S_RANK) != opt->rank))
			continue;
		if (!tl_column_i64(st, S_TIMED)) {
			untimed += tl_column_i64(st, S_COUNT);
			continue;
		}
		timed++;
		if (score(st) <= best)
			continue;
		best = score(st);
		view->series = tl_column_i64(st, S_SERIES);
		view->source_id = tl_column_i64(st, S_SOURCE);
		view->thread_id = tl_column_i64(st, S_THREAD);
		view->rank =
			tl_column_is_null(st, S_RANK) ? -1 : (int32_t)tl_column_i64(st, S_RANK);
		view->untimed_count =
			(size_t)(tl_column_i64(st, S_COUNT) - tl_column_i64(st, S_TIMED));
		view->step_source = keep_column(view, st, S_PATH, &status, err);
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	if (ret < 0)
		return ret;
	if (timed)
		return count_other_ranks(view, err);
	if (untimed)
		return tl_fail(
			err, TL_NOTHING,
			"the %lld training steps of the case have durations but no times, so "
			"nothing else can be laid beside them: import the profiler's trace, or "
			"a log whose lines begin with a date and time",
			(long long)untimed);
	if (all)
		return tl_fail(err, TL_NOTHING, "no training steps of rank %d in the case",
			       (int)opt->rank);
	return tl_fail(err, TL_NOTHING,
		       "the case knows no training steps: import a profiler's trace "
		       "(ProfilerStep#N), or a training log with times, into it");
}

/* ---- which thread ---- */

struct choice {
	int64_t thread_id, tid, pid, weight;
	const char *name;
	size_t candidates;
};

static int take_thread(struct tl_step_view *view, int64_t thread_id, const char *why,
		       struct tl_error *err)
{
	struct tl_view_thread t;
	int ret;

	view->thread_id = thread_id;
	view->tid = -2; /* nobody's, so that no role is given by it */
	ret = read_thread(view, thread_id, &t, err);
	if (ret < 0)
		return ret;
	view->pid = t.pid;
	view->tid = t.tid;
	view->thread_name = t.name;
	view->thread_why = why;
	return TL_OK;
}

enum { C_THREAD, C_TID, C_NAME, C_WEIGHT };

/* What a thread weighs: samples of time, then calls; one that is seen nowhere weighs nothing. */
#define CANDIDATES                                                                           \
	"SELECT t.thread_id AS thread, t.tid AS tid, n.text AS name, "                       \
	"coalesce(w.samples, 0) + coalesce(c.calls, 0) AS weight "                           \
	"FROM thread t JOIN process p USING (process_id) "                                   \
	"JOIN source s ON s.source_id = ?1 AND s.host_id = p.host_id "                       \
	"LEFT JOIN process q ON q.process_id = p.parent_process_id "                         \
	"LEFT JOIN string n ON n.string_id = t.name_id "                                     \
	"LEFT JOIN (SELECT z.thread_id AS id, total(z.sample_count * CASE WHEN "             \
	"e.is_tracepoint THEN 1 ELSE 1000000 END) AS samples FROM stack_sum z JOIN event e " \
	"USING (event_id) GROUP BY z.thread_id) w ON w.id = t.thread_id "                    \
	"LEFT JOIN (SELECT thread_id AS id, sum(call_count) AS calls FROM call_block "       \
	"GROUP BY thread_id) c ON c.id = t.thread_id "

static int choose_asked(struct tl_step_view *view, const char *asked, struct tl_error *err)
{
	bool is_tid = *asked && !asked[strspn(asked, "0123456789")];
	struct tl_statement *st = NULL;
	struct tl_text name = { 0 };
	int64_t best = -1, thread_id = 0, wanted = is_tid ? strtoll(asked, NULL, 10) : -1;
	regex_t pattern;
	size_t found = 0;
	int ret = is_tid ? TL_OK : tl_pattern_compile(&pattern, asked, false, err);

	if (ret < 0)
		return ret;
	ret = tl_statement_open(&st, view->store, CANDIDATES "ORDER BY weight DESC, thread",
				"thread tid name weight", err);
	if (ret == TL_OK)
		tl_bind_i64(st, 1, view->source_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		size_t length;
		const char *text = tl_column_text(st, C_NAME, &length);
		bool fits = is_tid && tl_column_i64(st, C_TID) == wanted;

		if (!is_tid && text) {
			name.length = 0;
			tl_text_add(&name, text, length);
			fits = !name.failed && !regexec(&pattern, name.data, 0, NULL, 0);
		}
		if (!fits)
			continue;
		found++;
		if (best < 0) {
			best = tl_column_i64(st, C_WEIGHT);
			thread_id = tl_column_i64(st, C_THREAD);
		}
	}
	tl_statement_close(st);
	tl_text_release(&name);
	if (!is_tid)
		regfree(&pattern);
	if (ret < 0)
		return ret;
	if (!found)
		return tl_fail(err, TL_NOTHING,
			       "no thread %.100s in the case: 'traceloom info' lists the threads",
			       asked);
	return take_thread(view, thread_id,
			   found == 1 ? "asked for" : "the busiest of those asked for", err);
}

/* Of a log nobody says which thread it is about: the busiest main thread that is no kernel's. */
static int choose_main(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st;
	int64_t thread_id = 0;
	int ret = tl_statement_open(
		&st, view->store,
		CANDIDATES
		"WHERE t.tid = p.pid AND t.tid > 2 AND q.pid IS NOT 2 AND "
		"coalesce(n.text NOT LIKE 'khugepaged%' AND n.text NOT LIKE 'kcompactd%' "
		"AND n.text NOT LIKE 'kswapd%' AND n.text NOT LIKE 'kworker/%' AND n.text "
		"NOT LIKE 'perf%', 1) ORDER BY weight DESC, thread LIMIT 1",
		"thread tid name weight", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->source_id);
	ret = tl_statement_step(st, err);
	if (ret > 0 && tl_column_i64(st, C_WEIGHT) > 0)
		thread_id = tl_column_i64(st, C_THREAD);
	tl_statement_close(st);
	if (ret < 0)
		return ret;
	if (!thread_id)
		return tl_fail(err, TL_NOTHING,
			       "the steps are known, but no recording says what any thread did: "
			       "import perf.data, a log of strace, or the profiler's trace beside "
			       "them");
	return take_thread(view, thread_id,
			   "the busiest main thread: a training log does not say which one it is; "
			   "--thread overrides",
			   err);
}

/* Files of one profiler may each have made a thread of the one that they tell of. */
static int count_own(struct tl_step_view *view, int64_t *count, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT count(DISTINCT thread_id) AS threads FROM step WHERE series = ?", "threads",
		err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->series);
	ret = tl_statement_step(st, err);
	*count = ret > 0 ? tl_column_i64(st, 0) : 0;
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

/* Of these, the one that other recordings are of. */
static int choose_own(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st;
	int64_t thread_id = view->thread_id, count;
	int ret = count_own(view, &count, err);

	if (ret == TL_OK && count > 1) {
		ret = tl_statement_open(
			&st, view->store,
			CANDIDATES "WHERE t.thread_id IN (SELECT thread_id FROM step WHERE "
				   "series = ?2) ORDER BY weight DESC, t.thread_id <> ?3 LIMIT 1",
			"thread tid name weight", err);
		if (ret < 0)
			return ret;
		tl_bind_i64(st, 1, view->source_id);
		tl_bind_i64(st, 2, view->series);
		tl_bind_i64(st, 3, view->thread_id);
		ret = tl_statement_step(st, err);
		if (ret > 0)
			thread_id = tl_column_i64(st, C_THREAD);
		tl_statement_close(st);
	}
	return ret < 0 ? ret : take_thread(view, thread_id, "the steps are spans of it", err);
}

static int choose_thread(struct tl_step_view *view, const struct tl_view_options *opt,
			 struct tl_error *err)
{
	if (opt->thread)
		return choose_asked(view, opt->thread, err);
	if (view->thread_id)
		return choose_own(view, err);
	return choose_main(view, err);
}

/* ---- steps ---- */

enum { STEP_NUMBER, STEP_TS, STEP_DUR, STEP_PHASE, STEP_CLASS, STEP_COUNT };

/* What the class is called in the table; see step_class.h. */
static void take_class(struct tl_view_step *step, const char *class_, size_t length,
		       bool has_spikes)
{
	static const struct {
		const char *name;
		enum tl_step_class class_;
		bool is_apart, is_spike;
	} classes[] = { { "slow", TL_STEP_SLOW, false, false },
			{ "good", TL_STEP_GOOD, false, false },
			{ "apart", TL_STEP_OTHER, true, false },
			{ "spike", TL_STEP_OTHER, false, true } };

	for (size_t i = 0; class_ && i < sizeof(classes) / sizeof(*classes); i++) {
		if (strlen(classes[i].name) != length || memcmp(classes[i].name, class_, length))
			continue;
		step->class_ = classes[i].class_;
		step->is_apart = classes[i].is_apart;
		step->is_spike = classes[i].is_spike && !has_spikes;
		if (classes[i].is_spike && has_spikes)
			step->class_ = TL_STEP_SLOW;
	}
}

static int add_step(struct tl_step_view *view, size_t *capacity, struct tl_statement *st,
		    bool has_spikes, struct tl_error *err)
{
	struct tl_view_step step = { .number = tl_column_i64(st, STEP_NUMBER),
				     .begin_ns = tl_column_i64(st, STEP_TS),
				     .count = tl_column_i64(st, STEP_COUNT) };
	int64_t dur = tl_column_i64(st, STEP_DUR), before = INT64_MIN;
	size_t length = 0;
	const char *class_ = tl_column_text(st, STEP_CLASS, &length);
	int ret = TL_OK;

	if (dur <= 0 || __builtin_add_overflow(step.begin_ns, dur, &step.end_ns))
		return TL_OK;
	take_class(&step, class_, length, has_spikes);
	if (view->step_count)
		before = view->steps[view->step_count - 1].end_ns;
	/* logs round their times: a little overlap is cut, more of it is no series of steps */
	if (step.begin_ns < before && before - step.begin_ns < dur / 2)
		step.begin_ns = before;
	if (step.begin_ns < before) {
		view->overlapping_count++;
		return TL_OK;
	}
	step.phase = keep_column(view, st, STEP_PHASE, &ret, err);
	if (ret == TL_OK)
		ret = tl_grow(&view->steps, capacity, view->step_count + 1, err);
	if (ret == TL_OK)
		view->steps[view->step_count++] = step;
	return ret;
}

static int load_steps(struct tl_step_view *view, const struct tl_view_options *opt,
		      struct tl_error *err)
{
	struct tl_statement *st;
	size_t capacity = 0;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT e.number AS number, e.ts AS ts, e.dur AS dur, p.kind AS phase, "
		"e.class AS class, e.step_count AS step_count FROM step e LEFT JOIN phase p "
		"USING (phase_id) WHERE e.series = ? AND e.ts IS NOT NULL ORDER BY ts, "
		"position",
		"number ts dur phase class step_count", err);

	if (ret == TL_OK)
		tl_bind_i64(st, 1, view->series);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		ret = add_step(view, &capacity, st, opt->has_spikes, err);
	tl_statement_close(st);
	return ret;
}

/* ---- are they what was recorded? ---- */

/* Of a step that lasts on where nobody looked little is known, and what is not known is no zero. */
#define COVERED_SHARE 0.9

static bool is_covered(const struct tl_view_step *s, int64_t first, int64_t last)
{
	int64_t begin = s->begin_ns > first ? s->begin_ns : first;
	int64_t end = s->end_ns < last ? s->end_ns : last;

	return end > begin &&
	       (double)(end - begin) >= COVERED_SHARE * (double)(s->end_ns - s->begin_ns);
}

static void mark_uncovered(struct tl_step_view *view, int64_t first, int64_t last)
{
	/* a source counts the times of what it sampled; it may tell of switches only */
	if (view->state_count) {
		const struct tl_view_state *end = &view->states[view->state_count - 1];

		first = view->states[0].begin_ns < first ? view->states[0].begin_ns : first;
		last = end->end_ns > last ? end->end_ns : last;
	}
	for (size_t i = 0; i < view->step_count; i++) {
		struct tl_view_step *s = &view->steps[i];

		if (is_covered(s, first, last))
			continue;
		view->uncovered_count++;
		view->uncovered_slow_count += s->class_ == TL_STEP_SLOW;
		view->uncovered_good_count += s->class_ == TL_STEP_GOOD;
		s->class_ = TL_STEP_OTHER;
		s->is_uncovered = true;
		s->is_apart = s->is_spike = false;
	}
}

enum { COVER_FIRST, COVER_LAST, COVER_PATH };

/* A recording may begin behind the first step, or be cut before the last. */
static int find_uncovered(struct tl_step_view *view, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT coalesce(first_ts, ?2) AS first, coalesce(last_ts, ?3) AS last, path FROM "
		"source WHERE source_id = ?1",
		"first last path", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->main_source_id);
	tl_bind_i64(st, 2, view->steps[0].begin_ns);
	tl_bind_i64(st, 3, view->steps[view->step_count - 1].end_ns);
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		ret = TL_OK;
		view->main_source = keep_column(view, st, COVER_PATH, &ret, err);
		mark_uncovered(view, tl_column_i64(st, COVER_FIRST), tl_column_i64(st, COVER_LAST));
	}
	tl_statement_close(st);
	for (size_t i = 0; i < view->step_count; i++) {
		const struct tl_view_step *s = &view->steps[i];

		view->spike_count += s->is_spike;
		view->apart_count += s->is_apart;
		view->good_count += s->class_ == TL_STEP_GOOD;
		view->slow_count += s->class_ == TL_STEP_SLOW;
	}
	return ret;
}

/* ---- public ---- */

int tl_step_view_load(struct tl_step_view *view, struct tl_store *store,
		      const struct tl_view_options *opt, struct tl_error *err)
{
	static const struct tl_view_options none = { 0 };
	int (*const parts[])(struct tl_step_view *, struct tl_error *) = {
		tl_view_load_states,	 tl_view_load_runs,    tl_view_load_calls,
		tl_view_load_ops,	 tl_view_load_samples, tl_view_load_device,
		tl_view_load_activities, tl_view_load_daemons, find_uncovered,
		tl_view_load_gaps,
	};
	int ret = TL_OK;

	memset(view, 0, sizeof(*view));
	view->store = store;
	opt = opt ? opt : &none;
	/* raw recordings come without indexes: what is asked next needs them */
	if (tl_store_is_temporary(store))
		ret = tl_store_index(store, err);
	if (ret == TL_OK)
		ret = choose_series(view, opt, err);
	if (ret == TL_OK)
		ret = choose_thread(view, opt, err);
	if (ret == TL_OK)
		ret = load_steps(view, opt, err);
	if (ret == TL_OK)
		ret = tl_view_even_rows(view, err);
	if (ret == TL_OK && !view->step_count)
		ret = tl_fail(err, TL_NOTHING, "no training step has a usable duration");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && ret == TL_OK; i++)
		ret = parts[i](view, err);
	if (ret < 0)
		tl_step_view_release(view);
	return ret;
}

void tl_step_view_release(struct tl_step_view *view)
{
	free(view->steps);
	free(view->joined);
	free(view->states);
	free(view->runs);
	free(view->calls);
	free(view->ops);
	free(view->samples);
	free(view->activities);
	free(view->daemon_runs);
	free(view->kernels);
	free(view->threads);
	tl_index_release(&view->thread_index);
	tl_interner_release(&view->texts);
	tl_arena_release(&view->arena);
	memset(view, 0, sizeof(*view));
}
