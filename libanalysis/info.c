/*
 * info.c - what a person who receives a case must know first: sources and their clocks, what was
 * recorded, what was lost, which names are missing, and which questions can be answered.
 */
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "store.h"

struct loading {
	struct tl_info *info;
	struct tl_arena *arena;
	struct tl_store *store;
	bool is_partial; /* many waits have no end: sums of states would be too small */
};

/* NULL for NULL; out of memory shows as NULL too and is caught by `failed`. */
static const char *text_of(struct loading *l, struct tl_statement *st, int column, bool *failed)
{
	size_t len;
	const char *text = tl_column_text(st, column, &len);
	char *copy;

	if (!text)
		return NULL;
	copy = tl_arena_copy(l->arena, text, len, NULL);
	*failed |= !copy;
	return copy;
}

static int64_t i64_or(struct tl_statement *st, int column, int64_t none)
{
	return tl_column_is_null(st, column) ? none : tl_column_i64(st, column);
}

typedef int (*row_fn)(struct loading *l, struct tl_statement *st, struct tl_error *err);

static int each_row(struct loading *l, const char *sql, const char *columns, int64_t parameter,
		    row_fn fn, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, l->store, sql, columns, err);

	if (ret < 0)
		return ret;
	if (parameter)
		tl_bind_i64(st, 1, parameter);
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = fn(l, st, err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	return ret;
}

static int no_memory(struct tl_error *err)
{
	return tl_fail(err, TL_NOMEM, "out of memory");
}

/* ---- sources ---- */

#define META(name)                                                                                 \
	"(SELECT value FROM source_meta m WHERE m.source_id = s.source_id AND m.key = '" name "' " \
	"LIMIT 1)"

static const char source_sql[] =
	"SELECT s.source_id AS source, s.path AS path, s.importer AS importer, h.name AS host, "
	"h.os_release AS release, h.arch AS arch, " META("cmdline") " AS command, " META(
		"recorder_version") " AS recorder, s.size_bytes AS size, s.record_count AS "
				    "records, "
				    "s.damaged_count AS damaged, s.sample_count AS samples, "
				    "s.untimed_count AS untimed, s.disorder_count AS disorder, "
				    "s.first_ts AS first, s.last_ts AS last, s.clock_name AS "
				    "clock, "
				    "s.clock_method AS method, s.clock_why AS why, "
				    "s.clock_offset_ns AS offset, s.clock_slope AS slope, "
				    "s.clock_residual_ns AS residual, s.clock_reference_id AS "
				    "reference, s.clock_match_count AS matches, "
				    "s.clock_rival_ratio AS rival, s.clock_trouble AS trouble, "
				    "s.is_complete AS complete FROM source s LEFT JOIN host h "
				    "USING (host_id) ORDER BY s.source_id";
static const char source_columns[] =
	"source path importer host release arch command recorder size records damaged samples "
	"untimed "
	"disorder first last clock method why offset slope residual reference matches rival trouble "
	"complete";
enum source_column {
	SOURCE_ID,
	SOURCE_PATH,
	SOURCE_IMPORTER,
	SOURCE_HOST,
	SOURCE_RELEASE,
	SOURCE_ARCH,
	SOURCE_COMMAND,
	SOURCE_RECORDER,
	SOURCE_SIZE,
	SOURCE_RECORDS,
	SOURCE_DAMAGED,
	SOURCE_SAMPLES,
	SOURCE_UNTIMED,
	SOURCE_DISORDER,
	SOURCE_FIRST,
	SOURCE_LAST,
	SOURCE_CLOCK,
	SOURCE_METHOD,
	SOURCE_WHY,
	SOURCE_OFFSET,
	SOURCE_SLOPE,
	SOURCE_RESIDUAL,
	SOURCE_REFERENCE,
	SOURCE_MATCHES,
	SOURCE_RIVAL,
	SOURCE_TROUBLE,
	SOURCE_COMPLETE
};

static int on_source(struct loading *l, struct tl_statement *st, struct tl_error *err)
{
	struct tl_info *info = l->info;
	struct tl_info_source *s;
	size_t capacity = info->source_count; /* exact growth: sources are few */
	bool failed = false;
	int ret = tl_grow(&info->sources, &capacity, info->source_count + 1, err);

	if (ret < 0)
		return ret;
	s = &info->sources[info->source_count++];
	s->source_id = tl_column_i64(st, SOURCE_ID);
	s->path = text_of(l, st, SOURCE_PATH, &failed);
	s->importer = text_of(l, st, SOURCE_IMPORTER, &failed);
	s->host = text_of(l, st, SOURCE_HOST, &failed);
	s->os_release = text_of(l, st, SOURCE_RELEASE, &failed);
	s->arch = text_of(l, st, SOURCE_ARCH, &failed);
	s->command_line = text_of(l, st, SOURCE_COMMAND, &failed);
	s->recorder = text_of(l, st, SOURCE_RECORDER, &failed);
	s->size_bytes = tl_column_i64(st, SOURCE_SIZE);
	s->record_count = tl_column_i64(st, SOURCE_RECORDS);
	s->damaged_count = tl_column_i64(st, SOURCE_DAMAGED);
	s->sample_count = tl_column_i64(st, SOURCE_SAMPLES);
	s->untimed_count = tl_column_i64(st, SOURCE_UNTIMED);
	s->disorder_count = tl_column_i64(st, SOURCE_DISORDER);
	s->has_times = !tl_column_is_null(st, SOURCE_FIRST);
	s->first_ts = tl_column_i64(st, SOURCE_FIRST);
	s->last_ts = tl_column_i64(st, SOURCE_LAST);
	s->clock_name = text_of(l, st, SOURCE_CLOCK, &failed);
	s->clock_method = text_of(l, st, SOURCE_METHOD, &failed);
	s->clock_why = text_of(l, st, SOURCE_WHY, &failed);
	s->clock_offset_ns = tl_column_i64(st, SOURCE_OFFSET);
	s->clock_slope = tl_column_double(st, SOURCE_SLOPE);
	s->clock_residual_ns = i64_or(st, SOURCE_RESIDUAL, -1);
	s->clock_reference_id = tl_column_i64(st, SOURCE_REFERENCE);
	s->clock_match_count = i64_or(st, SOURCE_MATCHES, -1);
	s->clock_rival_ratio =
		tl_column_is_null(st, SOURCE_RIVAL) ? -1 : tl_column_double(st, SOURCE_RIVAL);
	s->clock_trouble = text_of(l, st, SOURCE_TROUBLE, &failed);
	s->is_complete = tl_column_i64(st, SOURCE_COMPLETE) != 0;
	/* times that nobody could place: they are those of the recorder's own clock */
	info->has_dates |= s->clock_offset_ns != 0 ||
			   (s->clock_method && strcmp(s->clock_method, "assumed") != 0);
	if (s->has_times) {
		if (!info->has_times || s->first_ts < info->first_ts)
			info->first_ts = s->first_ts;
		if (!info->has_times || s->last_ts > info->last_ts)
			info->last_ts = s->last_ts;
		info->has_times = true;
	}
	return failed ? no_memory(err) : TL_OK;
}

/* ---- events ---- */

static const char event_sql[] =
	"SELECT e.source_id AS source, e.name AS name, e.unit AS unit, e.sample_count AS samples, "
	"e.period_sum AS periods, e.fixed_period AS period, e.frequency_hz AS frequency, "
	"(SELECT sum(z.sample_count) FROM stack_sum z WHERE z.event_id = e.event_id AND "
	"z.stack_id IS NOT NULL) AS stacks, e.is_tracepoint AS tracepoint, e.is_sampled AS sampled "
	"FROM event e WHERE NOT e.is_hidden OR e.sample_count ORDER BY e.event_id";
static const char event_columns[] =
	"source name unit samples periods period frequency stacks tracepoint sampled";
enum event_column {
	EVENT_SOURCE,
	EVENT_NAME,
	EVENT_UNIT,
	EVENT_SAMPLES,
	EVENT_PERIODS,
	EVENT_PERIOD,
	EVENT_FREQUENCY,
	EVENT_STACKS,
	EVENT_TRACEPOINT,
	EVENT_SAMPLED
};

static int on_event(struct loading *l, struct tl_statement *st, struct tl_error *err)
{
	struct tl_info *info = l->info;
	struct tl_info_event *e;
	size_t capacity = info->event_count;
	bool failed = false;
	int ret = tl_grow(&info->events, &capacity, info->event_count + 1, err);

	if (ret < 0)
		return ret;
	e = &info->events[info->event_count++];
	e->source_id = tl_column_i64(st, EVENT_SOURCE);
	e->name = text_of(l, st, EVENT_NAME, &failed);
	e->unit = text_of(l, st, EVENT_UNIT, &failed);
	e->sample_count = tl_column_i64(st, EVENT_SAMPLES);
	e->period_sum = tl_column_i64(st, EVENT_PERIODS);
	e->fixed_period = tl_column_i64(st, EVENT_PERIOD);
	e->frequency_hz = tl_column_i64(st, EVENT_FREQUENCY);
	e->stack_sample_count = tl_column_i64(st, EVENT_STACKS);
	e->is_tracepoint = tl_column_i64(st, EVENT_TRACEPOINT) != 0;
	e->is_sampled = tl_column_i64(st, EVENT_SAMPLED) != 0;
	info->total_samples += e->sample_count;
	return failed ? no_memory(err) : TL_OK;
}

/* ---- threads ---- */

static const char thread_sql[] =
	"WITH c AS (SELECT thread_id, sum(sample_count) AS n FROM stack_sum WHERE thread_id IS NOT "
	"NULL GROUP BY thread_id), s AS (SELECT thread_id, "
	"sum(CASE WHEN state = 'running' THEN dur END) AS run, "
	"sum(CASE WHEN state = 'runnable' THEN dur END) AS wait, "
	"sum(CASE WHEN state NOT IN ('running', 'runnable', 'exited') THEN dur END) AS sleep "
	"FROM thread_state WHERE dur IS NOT NULL GROUP BY thread_id) "
	"SELECT n.text AS name, p.pid AS pid, t.tid AS tid, coalesce(c.n, 0) AS samples, "
	"CASE WHEN s.thread_id IS NULL THEN NULL ELSE coalesce(s.run, 0) END AS run, "
	"CASE WHEN s.thread_id IS NULL THEN NULL ELSE coalesce(s.wait, 0) END AS wait, "
	"CASE WHEN s.thread_id IS NULL THEN NULL ELSE coalesce(s.sleep, 0) END AS sleep "
	"FROM thread t JOIN process p USING (process_id) LEFT JOIN c USING (thread_id) "
	"LEFT JOIN s USING (thread_id) LEFT JOIN string n ON n.string_id = t.name_id "
	"WHERE c.n IS NOT NULL OR s.thread_id IS NOT NULL "
	"ORDER BY samples DESC, run DESC, t.tid, t.thread_id LIMIT ?1";
static const char thread_columns[] = "name pid tid samples run wait sleep";
enum thread_column {
	THREAD_NAME,
	THREAD_PID,
	THREAD_TID,
	THREAD_SAMPLES,
	THREAD_RUN,
	THREAD_WAIT,
	THREAD_SLEEP
};

static int on_thread(struct loading *l, struct tl_statement *st, struct tl_error *err)
{
	struct tl_info *info = l->info;
	struct tl_info_thread *t;
	size_t capacity = info->thread_count;
	bool failed = false;
	int ret = tl_grow(&info->threads, &capacity, info->thread_count + 1, err);

	if (ret < 0)
		return ret;
	t = &info->threads[info->thread_count++];
	t->name = text_of(l, st, THREAD_NAME, &failed);
	t->pid = i64_or(st, THREAD_PID, -1);
	t->tid = tl_column_i64(st, THREAD_TID);
	t->sample_count = tl_column_i64(st, THREAD_SAMPLES);
	t->running_ns = i64_or(st, THREAD_RUN, -1);
	t->waiting_ns = i64_or(st, THREAD_WAIT, -1);
	t->sleeping_ns = i64_or(st, THREAD_SLEEP, -1);
	return failed ? no_memory(err) : TL_OK;
}

/* ---- losses ---- */

static const char loss_sql[] =
	"SELECT source_id AS source, kind AS kind, what AS what, unit AS unit, "
	"position_kind AS place, message AS message, count AS count, position AS position "
	"FROM lost ORDER BY lost_id";
static const char loss_columns[] = "source kind what unit place message count position";
enum loss_column {
	LOSS_SOURCE,
	LOSS_KIND,
	LOSS_WHAT,
	LOSS_UNIT,
	LOSS_PLACE,
	LOSS_MESSAGE,
	LOSS_NUMBER,
	LOSS_POSITION
};

static int on_loss(struct loading *l, struct tl_statement *st, struct tl_error *err)
{
	struct tl_info *info = l->info;
	struct tl_info_loss *x;
	size_t capacity = info->loss_count;
	bool failed = false;
	int ret = tl_grow(&info->losses, &capacity, info->loss_count + 1, err);

	if (ret < 0)
		return ret;
	x = &info->losses[info->loss_count++];
	x->source_id = tl_column_i64(st, LOSS_SOURCE);
	x->kind = text_of(l, st, LOSS_KIND, &failed);
	x->what = text_of(l, st, LOSS_WHAT, &failed);
	x->unit = text_of(l, st, LOSS_UNIT, &failed);
	x->position_kind = text_of(l, st, LOSS_PLACE, &failed);
	x->message = text_of(l, st, LOSS_MESSAGE, &failed);
	x->count = tl_column_i64(st, LOSS_NUMBER);
	x->position = i64_or(st, LOSS_POSITION, -1);
	return failed ? no_memory(err) : TL_OK;
}

/* ---- binaries ---- */

static const char dso_sql[] =
	"WITH f AS (SELECT dso_id, count(*) AS n, sum(symbol_id IS NULL) AS unnamed FROM frame "
	"WHERE dso_id IS NOT NULL GROUP BY dso_id), "
	"z AS (SELECT stack_id, sum(sample_count) AS n FROM stack_sum GROUP BY stack_id), "
	"c AS (SELECT g.dso_id AS dso_id, sum(z.n) AS n, "
	"sum(CASE WHEN g.symbol_id IS NULL THEN z.n ELSE 0 END) AS unnamed "
	"FROM z JOIN stack k USING (stack_id) JOIN frame g USING (frame_id) GROUP BY g.dso_id) "
	"SELECT d.source_id AS source, n.text AS name, d.kind AS kind, d.build_id AS build, "
	"d.symbol_status AS status, d.symbol_file AS file, "
	"coalesce(d.symbol_reason, CASE WHEN d.symbol_status = 'ok' AND f.unnamed * 2 > f.n THEN "
	"'its symbols cover only part of its code: stripped? install its debug symbols' END) AS "
	"reason, "
	"coalesce(f.n, 0) AS frames, coalesce(f.unnamed, 0) AS unnamed, "
	"coalesce(c.n, 0) AS samples, coalesce(c.unnamed, 0) AS unnamed_samples "
	"FROM dso d JOIN string n ON n.string_id = d.name_id LEFT JOIN f USING (dso_id) "
	"LEFT JOIN c USING (dso_id) ORDER BY samples DESC, frames DESC, d.dso_id";
static const char dso_columns[] =
	"source name kind build status file reason frames unnamed samples unnamed_samples";
enum dso_column {
	DSO_SOURCE,
	DSO_NAME,
	DSO_KIND,
	DSO_BUILD,
	DSO_STATUS,
	DSO_FILE,
	DSO_REASON,
	DSO_FRAMES,
	DSO_UNNAMED,
	DSO_SAMPLES,
	DSO_UNNAMED_SAMPLES
};

static int on_dso(struct loading *l, struct tl_statement *st, struct tl_error *err)
{
	struct tl_info *info = l->info;
	struct tl_info_dso *d;
	size_t capacity = info->dso_count;
	bool failed = false;
	int ret = tl_grow(&info->dsos, &capacity, info->dso_count + 1, err);

	if (ret < 0)
		return ret;
	d = &info->dsos[info->dso_count++];
	d->source_id = tl_column_i64(st, DSO_SOURCE);
	d->name = text_of(l, st, DSO_NAME, &failed);
	d->kind = text_of(l, st, DSO_KIND, &failed);
	d->build_id = text_of(l, st, DSO_BUILD, &failed);
	d->status = text_of(l, st, DSO_STATUS, &failed);
	d->file = text_of(l, st, DSO_FILE, &failed);
	d->reason = text_of(l, st, DSO_REASON, &failed);
	d->frame_count = tl_column_i64(st, DSO_FRAMES);
	d->unnamed_count = tl_column_i64(st, DSO_UNNAMED);
	d->sample_count = tl_column_i64(st, DSO_SAMPLES);
	d->unnamed_sample_count = tl_column_i64(st, DSO_UNNAMED_SAMPLES);
	return failed ? no_memory(err) : TL_OK;
}

/* ---- what can be answered ---- */

static int add_answer(struct loading *l, const char *question, bool is_possible,
		      const char *because, struct tl_error *err)
{
	struct tl_info *info = l->info;
	size_t capacity = info->answer_count;
	char *copy = tl_arena_copy(l->arena, because, strlen(because), err);
	int ret = copy ? tl_grow(&info->answers, &capacity, info->answer_count + 1, err) : TL_NOMEM;

	if (ret < 0)
		return ret;
	info->answers[info->answer_count++] = (struct tl_info_answer) { .question = question,
									.is_possible = is_possible,
									.because = copy };
	return TL_OK;
}

static int answer_stacks(struct loading *l, struct tl_error *err)
{
	char text[160] = "no samples with a stack: record with -g";
	const struct tl_info_event *best = NULL;

	for (size_t i = 0; i < l->info->event_count; i++) {
		const struct tl_info_event *e = &l->info->events[i];

		if (e->stack_sample_count && (!best || (best->is_tracepoint && !e->is_tracepoint)))
			best = e;
	}
	if (best)
		snprintf(text, sizeof(text), "%lld samples of %s have a stack",
			 (long long)best->stack_sample_count, best->name);
	return add_answer(l, "flame graph", best != NULL, text, err);
}

static int answer_off_cpu(struct loading *l, struct tl_error *err)
{
	int64_t intervals, endless, switches, sampled;
	char text[200];
	int ret = tl_store_value(l->store,
				 "SELECT count(*) FROM thread_state WHERE state NOT IN "
				 "('running', 'exited') AND dur IS NOT NULL",
				 0, &intervals, err);

	if (ret == TL_OK)
		ret = tl_store_value(l->store,
				     "SELECT sum(count) FROM lost WHERE what = '" TL_STATES_ENDLESS
				     "'",
				     0, &endless, err);

	if (ret == TL_OK)
		ret = tl_store_value(l->store, "SELECT count(*) FROM sched_switch", 0, &switches,
				     err);
	if (ret == TL_OK)
		ret = tl_store_value(l->store,
				     "SELECT count(*) FROM event WHERE is_sampled AND "
				     "name LIKE '%sched_switch%'",
				     0, &sampled, err);
	if (ret < 0)
		return ret;
	l->is_partial = endless * 20 > intervals;
	if (intervals && !l->is_partial)
		snprintf(text, sizeof(text), "%lld waits of threads, from %lld switches",
			 (long long)intervals, (long long)switches);
	else if (intervals)
		snprintf(text, sizeof(text),
			 "only in part: %lld waits are whole, of %lld the end was not recorded: "
			 "record "
			 "with -a or --switch-events",
			 (long long)intervals, (long long)endless);
	else if (sampled)
		snprintf(text, sizeof(text),
			 "sched_switch was sampled: record every one (-e sched:sched_switch "
			 "without -F)");
	else if (switches)
		snprintf(
			text, sizeof(text),
			"%lld switches, but threads are never seen to come back: record with -a or "
			"--switch-events",
			(long long)switches);
	else
		snprintf(text, sizeof(text),
			 "no context switches: perf record -a -g -e sched:sched_switch -e "
			 "sched:sched_waking");
	return add_answer(l, "off-CPU time", intervals != 0, text, err);
}

static int answer_count(struct loading *l, const char *question, const char *sql, const char *what,
			const char *missing, struct tl_error *err)
{
	int64_t count;
	char text[200];
	int ret = tl_store_value(l->store, sql, 0, &count, err);

	if (ret < 0)
		return ret;
	if (count)
		snprintf(text, sizeof(text), "%lld %s", (long long)count, what);
	else
		snprintf(text, sizeof(text), "%s", missing);
	return add_answer(l, question, count != 0, text, err);
}

/* May the device be looked at, step by step? */
static int answer_breakdown(struct loading *l, struct tl_error *err)
{
	int64_t steps, work, tables = 0;
	int ret = tl_store_value(l->store, "SELECT count(*) FROM step", 0, &steps, err);

	if (ret == TL_OK)
		ret = tl_store_value(
			l->store,
			"SELECT count(*) FROM track k WHERE k.kind = 'device' AND EXISTS "
			"(SELECT 1 FROM slice a WHERE a.track_id = k.track_id AND a.class IN "
			"(4, 5, 6))",
			0, &work, err);
	if (ret == TL_OK && !work)
		ret = tl_store_value(l->store,
				     "SELECT count(*) FROM step_mark WHERE "
				     "json_extract(detail, '$.computing_ns') IS NOT NULL",
				     0, &tables, err);
	if (ret < 0)
		return ret;
	return add_answer(
		l, "device in each step", steps && (work || tables),
		!steps ? "no training steps"
		: work ? "work of devices was recorded, and there are steps"
		: tables
			? "a table splits the steps"
			: "no work of devices: profile with ProfilerActivity.CUDA, NPU or the like, "
			  "too",
		err);
}

/* What a profiler or a training program told. */
static int load_step_answers(struct loading *l, struct tl_error *err)
{
	int ret = answer_count(
		l, "training steps", "SELECT count(*) FROM step", "known, from profilers and logs",
		"no steps: import a training log, or a profiler's trace with a schedule "
		"and prof.step()",
		err);

	if (ret == TL_OK)
		ret = answer_breakdown(l, err);
	if (ret == TL_OK) /* they are numbered from 1, and none is taken away */
		ret = answer_count(l, "profiler spans", "SELECT max(slice_id) FROM slice",
				   "spans and moments were recorded by profilers",
				   "no profiler's trace", err);
	return ret;
}

static int answer_windows(struct loading *l, struct tl_error *err)
{
	bool is_complete = l->info->source_count > 0, has_times = l->info->has_times;
	bool has_samples = false;

	for (size_t i = 0; i < l->info->source_count; i++) {
		is_complete &= l->info->sources[i].is_complete;
		has_samples |= l->info->sources[i].sample_count > 0;
	}
	return add_answer(l, "time windows", is_complete && has_times,
			  !has_times ? "the samples have no times: record without --per-thread, or "
				       "with -T"
			  : !is_complete ? "only sums were kept: import the recording into a case"
			  : has_samples	 ? "samples have times"
					 : "what was recorded has times",
			  err);
}

static int answer_wall_clock(struct loading *l, struct tl_error *err)
{
	const char *because = "no source";
	bool is_exact = l->info->source_count > 0;
	int64_t tracks;
	char sql[80];
	int ret;

	for (size_t i = 0; i < l->info->source_count && is_exact; i++) {
		const struct tl_info_source *s = &l->info->sources[i];

		if (strcmp(s->clock_method, "assumed") != 0)
			continue;
		is_exact = false;
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM track WHERE source_id = %lld",
			 (long long)s->source_id);
		ret = tl_store_value(l->store, sql, 0, &tracks, err);
		if (ret < 0)
			return ret;
		because = tracks ? "a trace does not say from when its times count: assumed from "
				   "the date of its file, or the time in its name"
			  : s->sample_count
				  ? "a source's time is only assumed from its file date: "
				    "record with -k CLOCK_MONOTONIC"
				  : "a log's date is only assumed from its file date: record "
				    "with 'strace -ttt', or import it with --date";
	}
	return add_answer(l, "wall clock time", is_exact,
			  is_exact ? "every clock is mapped" : because, err);
}

static int load_answers(struct loading *l, struct tl_error *err)
{
	int ret = answer_stacks(l, err);

	if (ret == TL_OK)
		ret = answer_off_cpu(l, err);
	if (ret == TL_OK)
		ret = answer_count(l, "wake-ups", "SELECT count(*) FROM sched_wakeup",
				   "wakeups were recorded",
				   "no wakeups: record -e sched:sched_waking too", err);
	if (ret == TL_OK)
		ret = answer_count(
			l, "system calls", "SELECT sum(call_count) FROM call_block",
			"system calls were recorded: begins and ends, or a tracer's log",
			"no system calls: record -e 'raw_syscalls:*', or strace -f -ttt -T", err);
	if (ret == TL_OK)
		ret = answer_count(
			l, "memory management",
			"SELECT sum(sample_count) FROM event WHERE name LIKE 'huge_memory:%' OR "
			"name LIKE 'compaction:%' OR name LIKE 'vmscan:%' OR name LIKE 'migrate:%'",
			"huge page, compaction, reclaim and migration tracepoints were recorded",
			"no memory tracepoints: record -e 'huge_memory:*' -e "
			"compaction:mm_compaction_begin -e compaction:mm_compaction_end -e "
			"vmscan:mm_vmscan_direct_reclaim_begin -e "
			"vmscan:mm_vmscan_direct_reclaim_end",
			err);
	if (ret == TL_OK)
		ret = load_step_answers(l, err);
	if (ret == TL_OK)
		ret = answer_windows(l, err);
	return ret < 0 ? ret : answer_wall_clock(l, err);
}

/* ---- all ---- */

static int load(struct loading *l, size_t thread_limit, struct tl_error *err)
{
	struct tl_info *info = l->info;
	int64_t limit =
		thread_limit && thread_limit < INT32_MAX ? (int64_t)thread_limit : INT32_MAX;
	int ret = each_row(l, source_sql, source_columns, 0, on_source, err);

	if (ret == TL_OK)
		ret = each_row(l, event_sql, event_columns, 0, on_event, err);
	if (ret == TL_OK)
		ret = each_row(l, thread_sql, thread_columns, limit, on_thread, err);
	if (ret == TL_OK)
		ret = each_row(l, loss_sql, loss_columns, 0, on_loss, err);
	if (ret == TL_OK)
		ret = each_row(l, dso_sql, dso_columns, 0, on_dso, err);
	if (ret == TL_OK)
		ret = tl_store_value(l->store, "SELECT count(*) FROM thread", 0,
				     &info->total_threads, err);
	if (ret == TL_OK)
		ret = tl_store_value(l->store, "SELECT count(*) FROM process", 0,
				     &info->total_processes, err);
	if (ret == TL_OK)
		ret = tl_store_value(l->store, "SELECT count(*) FROM stack", 0, &info->total_stacks,
				     err);
	if (ret == TL_OK)
		ret = load_answers(l, err);
	for (size_t i = 0; i < info->thread_count && l->is_partial; i++) {
		struct tl_info_thread *t = &info->threads[i];

		t->running_ns = t->waiting_ns = t->sleeping_ns = -1;
	}
	return ret;
}

static int open_loading(struct loading *l, struct tl_store *store, struct tl_info *out,
			struct tl_error *err)
{
	*l = (struct loading) { .info = out, .store = store };
	memset(out, 0, sizeof(*out));
	out->schema_version = tl_store_schema_version();
	l->arena = out->memory = tl_alloc(1, sizeof(*l->arena), err);
	return l->arena ? TL_OK : TL_NOMEM;
}

int tl_info(struct tl_store *store, size_t thread_limit, struct tl_info *out, struct tl_error *err)
{
	struct loading l;
	int ret = open_loading(&l, store, out, err);

	if (ret == TL_OK)
		ret = load(&l, thread_limit, err);
	if (ret < 0)
		tl_info_release(out);
	return ret;
}

int tl_info_dsos(struct tl_store *store, struct tl_info *out, struct tl_error *err)
{
	struct loading l;
	int ret = open_loading(&l, store, out, err);

	if (ret == TL_OK)
		ret = each_row(&l, dso_sql, dso_columns, 0, on_dso, err);
	if (ret < 0)
		tl_info_release(out);
	return ret;
}

void tl_info_release(struct tl_info *info)
{
	free(info->sources);
	free(info->events);
	free(info->threads);
	free(info->losses);
	free(info->dsos);
	free(info->answers);
	if (info->memory) {
		tl_arena_release(info->memory);
		free(info->memory);
	}
	memset(info, 0, sizeof(*info));
}
