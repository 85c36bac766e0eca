/*
 * states.c - what each thread was doing, from the switches and wakeups of one source. Where a begin
 * or an end was not recorded there is no interval: it is counted, never guessed.
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "states_seen.h"

#define CPU_MAX 65536 /* a wild cpu number must not make memory grow */

enum state {
	STATE_NONE, /* nothing is known (any more) */
	STATE_RUNNING,
	STATE_RUNNABLE,
	STATE_SLEEPING,
	STATE_UNINTERRUPTIBLE,
	STATE_STOPPED,
	STATE_EXITED,
	STATE_PARKED,
	STATE_IDLE,
	STATE_BLOCKED
};

static const char *const state_names[] = {
	[STATE_NONE] = "",
	[STATE_RUNNING] = "running",
	[STATE_RUNNABLE] = "runnable",
	[STATE_SLEEPING] = "sleeping",
	[STATE_UNINTERRUPTIBLE] = "uninterruptible",
	[STATE_STOPPED] = "stopped",
	[STATE_EXITED] = "exited",
	[STATE_PARKED] = "parked",
	[STATE_IDLE] = "idle",
	[STATE_BLOCKED] = "blocked",
};

/*
 * 0 stands for NULL in every id here: rows are numbered from 1. The idle thread (tid 0) is one
 * thread on every CPU at once: it has a task per CPU.
 */
struct task {
	int64_t thread_id, since, name_id, stack_id;
	int64_t waker_id, waker_name_id, waker_stack_id;
	int32_t cpu;
	int32_t idle_cpu; /* the CPU whose idle task it is, -1: an ordinary thread */
	bool by_record;	  /* a context switch record put it into its state */
	bool is_woken;	  /* runnable because it was woken, not because it was preempted */
	enum state state;
};

struct cpu {
	uint32_t task_plus_1; /* who runs there, 0 unknown */
	int64_t since;	      /* the last switch there */
	bool has_switched;
};

struct derivation {
	struct tl_statement *insert;
	int64_t source_id;
	struct task *tasks;
	size_t count, capacity;
	struct tl_index index;
	struct cpu *cpus;
	size_t cpu_capacity;
	bool *recorded; /* by cpu: some switch of it was recorded */
	size_t recorded_capacity;
	int64_t *idle_threads;
	size_t idle_count, idle_capacity;
	bool is_system_wide; /* the idle threads' own switches are there, so all are meant to be */
	struct tl_unseens unseens;
	uint64_t endless;  /* sleeps whose end was not recorded */
	uint64_t unserved; /* waits for a CPU whose end was not recorded */
	uint64_t bounded;  /* whose end is known to be no earlier than what was written */
};

static bool is_idle_thread(const struct derivation *d, int64_t thread_id)
{
	for (size_t i = 0; i < d->idle_count; i++) /* one per host */
		if (d->idle_threads[i] == thread_id)
			return true;
	return false;
}

static int find_task(struct derivation *d, int64_t thread_id, int32_t cpu, uint32_t *out,
		     struct tl_error *err)
{
	int32_t idle_cpu = is_idle_thread(d, thread_id) ? cpu : -1;
	uint64_t hash = tl_hash_u64((uint64_t)thread_id, 7 + (uint64_t)(uint32_t)idle_cpu);
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&d->index, hash, &probe)) >= 0) {
		if (d->tasks[found].thread_id == thread_id &&
		    d->tasks[found].idle_cpu == idle_cpu) {
			*out = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&d->tasks, &d->capacity, d->count + 1, err);
	if (ret < 0)
		return ret;
	*out = (uint32_t)d->count;
	d->tasks[d->count] =
		(struct task) { .thread_id = thread_id, .cpu = -1, .idle_cpu = idle_cpu };
	return tl_index_add(&d->index, hash, (uint32_t)d->count++, err);
}

static void bind_id(struct tl_statement *st, int parameter, int64_t id)
{
	if (id)
		tl_bind_i64(st, parameter, id);
	else
		tl_bind_null(st, parameter);
}

/* Writes the interval that the task is in; has_end false: it was still open at the very end. */
static int put_interval(struct derivation *d, const struct task *t, int64_t end, bool has_end,
			struct tl_error *err)
{
	struct tl_statement *st = d->insert;

	tl_bind_i64(st, 1, t->thread_id);
	tl_bind_i64(st, 2, t->since);
	if (has_end)
		tl_bind_i64(st, 3, end - t->since);
	else
		tl_bind_null(st, 3);
	tl_bind_text(st, 4, state_names[t->state], strlen(state_names[t->state]));
	if (t->cpu >= 0)
		tl_bind_i64(st, 5, t->cpu);
	else
		tl_bind_null(st, 5);
	bind_id(st, 6, t->name_id);
	bind_id(st, 7, t->state == STATE_RUNNING ? 0 : t->stack_id);
	bind_id(st, 8, t->waker_id);
	bind_id(st, 9, t->waker_name_id);
	bind_id(st, 10, t->waker_stack_id);
	tl_bind_i64(st, 11, d->source_id);
	return tl_statement_run(st, err);
}

static bool is_off(const struct task *t)
{
	return t->state >= STATE_RUNNABLE && t->state != STATE_EXITED;
}

/* The interval's end was not seen. Waits are counted: they are what is asked for. */
static void lose(struct derivation *d, struct task *t)
{
	if (t->state == STATE_RUNNABLE)
		d->unserved++;
	else if (is_off(t))
		d->endless++;
	t->state = STATE_NONE;
}

static void enter(struct task *t, enum state state, int64_t ts, int32_t cpu)
{
	t->state = state;
	t->since = ts;
	t->cpu = cpu;
	t->is_woken = false;
	t->waker_id = t->waker_name_id = t->waker_stack_id = 0;
}

/* Who was thought to run on `cpu` does not, once somebody else is seen there. */
static int take_cpu(struct derivation *d, int32_t cpu, uint32_t task, int64_t ts, bool runs,
		    struct tl_error *err)
{
	struct cpu *c;
	struct task *old;
	int ret;

	if (cpu < 0 || cpu >= CPU_MAX)
		return TL_OK;
	ret = tl_grow(&d->cpus, &d->cpu_capacity, (size_t)cpu + 1, err);
	if (ret < 0)
		return ret;
	c = &d->cpus[cpu];
	old = c->task_plus_1 ? &d->tasks[c->task_plus_1 - 1] : NULL;
	if (old && c->task_plus_1 - 1 != task && old->state == STATE_RUNNING && old->cpu == cpu) {
		lose(d, old);
		old->since = ts; /* all that is known: it does not run there from now on */
	}
	c->task_plus_1 = runs ? task + 1 : 0;
	c->since = ts;
	c->has_switched = true;
	return TL_OK;
}

/*
 * `t` leaves `cpu`, but its coming back was not recorded. It was away at least until somebody else
 * got that CPU, or until it was woken (`since` of a wait): that much is certain, if all switches
 * were meant to be recorded.
 */
static int return_unseen(struct derivation *d, struct task *t, int32_t cpu, int64_t ts,
			 struct tl_error *err)
{
	const struct cpu *c = cpu >= 0 && (size_t)cpu < d->cpu_capacity ? &d->cpus[cpu] : NULL;
	struct tl_unseen unseen = { .thread_id = t->thread_id,
				    .name_id = t->name_id,
				    .begin_ns = t->since ? t->since : INT64_MIN,
				    .end_ns = ts,
				    .cpu = cpu };
	int ret = TL_OK;

	if (c && c->has_switched && c->since > unseen.begin_ns)
		unseen.begin_ns = c->since;
	/* the idle thread does no work that could be seen */
	if (t->idle_cpu < 0 && t->state != STATE_EXITED)
		ret = tl_unseens_add(&d->unseens, &unseen, err);

	if (ret == TL_OK && d->is_system_wide && is_off(t) && c && c->has_switched &&
	    c->since > t->since) {
		ret = put_interval(d, t, c->since, true, err);
		d->bounded++;
		t->state = STATE_NONE;
	}
	lose(d, t);
	return ret;
}

static enum state state_after(int64_t prev_state)
{
	switch ((enum tl_switch_state)prev_state) {
	case TL_SWITCH_UNKNOWN:
		return STATE_BLOCKED;
	case TL_SWITCH_RUNNABLE:
		return STATE_RUNNABLE;
	case TL_SWITCH_SLEEPING:
		return STATE_SLEEPING;
	case TL_SWITCH_UNINTERRUPTIBLE:
		return STATE_UNINTERRUPTIBLE;
	case TL_SWITCH_STOPPED:
		return STATE_STOPPED;
	case TL_SWITCH_EXITING:
		return STATE_EXITED;
	case TL_SWITCH_PARKED:
		return STATE_PARKED;
	case TL_SWITCH_IDLE:
		return STATE_IDLE;
	}
	return STATE_BLOCKED;
}

struct happening { /* one row of the query */
	int64_t ts, first_id, second_id, state, name_id, stack_id;
	int32_t cpu, target_cpu;
	bool is_wakeup, is_waking, is_record, is_arrival;
};

static int leave_cpu(struct derivation *d, const struct happening *h, struct tl_error *err)
{
	struct task *t;
	uint32_t task;
	int ret = find_task(d, h->first_id, h->cpu, &task, err);

	if (ret < 0)
		return ret;
	t = &d->tasks[task];
	/* a record of the switch that a tracepoint told of already, and better */
	if (h->is_record && is_off(t) && !t->by_record)
		return TL_OK;
	if (h->name_id)
		t->name_id = h->name_id;
	if (t->state == STATE_RUNNING && t->cpu < 0)
		t->cpu = h->cpu; /* a record began it without telling where */
	/* it went from CPU to CPU, for which it must have been off both: until when is not known */
	if (t->state == STATE_RUNNING && h->cpu >= 0 && t->cpu != h->cpu)
		lose(d, t);
	if (t->state == STATE_RUNNING)
		ret = put_interval(d, t, h->ts, true, err);
	else
		ret = return_unseen(d, t, h->cpu, h->ts, err);
	if (ret == TL_OK)
		ret = take_cpu(d, h->cpu, task, h->ts, false, err);
	enter(t, t->idle_cpu >= 0 ? STATE_NONE : state_after(h->state), h->ts, h->cpu);
	t->stack_id = h->stack_id;
	t->by_record = h->is_record;
	return ret;
}

static int take_up(struct derivation *d, const struct happening *h, struct tl_error *err)
{
	struct task *t;
	uint32_t task;
	int ret = find_task(d, h->second_id, h->cpu, &task, err);

	if (ret == TL_OK)
		ret = take_cpu(d, h->cpu, task, h->ts, true, err);
	if (ret < 0)
		return ret;
	t = &d->tasks[task];
	/* again a record of a switch that is known; records may not tell the CPU */
	if (t->state == STATE_RUNNING && (t->cpu == h->cpu || t->cpu < 0 || h->cpu < 0) &&
	    (h->is_record || t->by_record))
		return TL_OK;
	if (is_off(t))
		ret = put_interval(d, t, h->ts, true, err);
	else
		lose(d, t);
	enter(t, STATE_RUNNING, h->ts, h->cpu);
	t->by_record = h->is_record;
	return ret;
}

static bool has_switches(const struct derivation *d, int32_t cpu)
{
	return (size_t)cpu < d->recorded_capacity && d->recorded[cpu];
}

static int wake(struct derivation *d, const struct happening *h, struct tl_error *err)
{
	struct task *t;
	uint32_t task;
	int ret = find_task(d, h->second_id, -1, &task, err);

	if (ret < 0)
		return ret;
	t = &d->tasks[task];
	/* only who sleeps is woken: it ran and slept again unseen since the last waking */
	if (h->is_waking && t->state == STATE_RUNNABLE && t->is_woken && h->ts > t->since)
		lose(d, t);
	/* sched_waking has said it already, or the thread never got off its CPU */
	if (t->state == STATE_RUNNING || t->state == STATE_RUNNABLE)
		return TL_OK;
	t->waker_id = h->first_id;
	t->waker_name_id = h->name_id;
	t->waker_stack_id = h->stack_id;
	if (is_off(t))
		ret = put_interval(d, t, h->ts, true, err);
	/* when it gets a CPU whose switches were not recorded cannot be seen */
	if (h->target_cpu >= 0 && !has_switches(d, h->target_cpu)) {
		t->state = STATE_NONE;
		return ret;
	}
	/* who woke it and where it slept stays with the wait that follows */
	t->state = STATE_RUNNABLE;
	t->is_woken = true;
	t->since = h->ts;
	t->cpu = h->target_cpu;
	return ret;
}

enum column {
	COL_TS,
	COL_KIND,
	COL_CPU,
	COL_FIRST,
	COL_STATE,
	COL_SECOND,
	COL_NAME,
	COL_STACK,
	COL_TARGET,
	COL_TOLD
};

static int derive(struct derivation *d, struct tl_statement *query, struct tl_error *err)
{
	int ret;

	while ((ret = tl_statement_step(query, err)) > 0) {
		struct happening h = {
			.ts = tl_column_i64(query, COL_TS),
			.first_id = tl_column_i64(query, COL_FIRST),
			.second_id = tl_column_i64(query, COL_SECOND),
			.state = tl_column_i64(query, COL_STATE),
			.name_id = tl_column_i64(query, COL_NAME),
			.stack_id = tl_column_i64(query, COL_STACK),
			.cpu = tl_column_is_null(query, COL_CPU)
				       ? -1
				       : (int32_t)tl_column_i64(query, COL_CPU),
			.target_cpu = tl_column_is_null(query, COL_TARGET)
					      ? -1
					      : (int32_t)tl_column_i64(query, COL_TARGET),
			.is_wakeup = tl_column_i64(query, COL_KIND) != 0,
			.is_waking = tl_column_i64(query, COL_TOLD) != 0, /* of a wakeup */
			.is_record = tl_column_i64(query, COL_TOLD) != TL_TOLD_TRACEPOINT,
			.is_arrival = tl_column_i64(query, COL_TOLD) == TL_TOLD_ARRIVAL,
		};

		if (h.is_wakeup) {
			ret = wake(d, &h, err);
		} else {
			/* the thread that comes knows only who was there, not when it left */
			ret = h.first_id && !h.is_arrival ? leave_cpu(d, &h, err) : TL_OK;
			if (ret == TL_OK && h.second_id)
				ret = take_up(d, &h, err);
		}
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < d->count && ret == TL_OK; i++)
		if (d->tasks[i].state != STATE_NONE)
			ret = put_interval(d, &d->tasks[i], 0, false, err);
	return ret;
}

/* Who left a CPU and was seen at work there before ran since then at least. */
static int put_seen(struct tl_store *store, struct derivation *d, struct tl_error *err)
{
	int ret = tl_unseens_look(&d->unseens, store, d->source_id, err);

	for (size_t i = 0; i < d->unseens.count && ret == TL_OK; i++) {
		const struct tl_unseen *u = &d->unseens.items[i];
		const struct task t = { .thread_id = u->thread_id,
					.name_id = u->name_id,
					.since = u->seen_ns,
					.cpu = u->cpu,
					.idle_cpu = -1,
					.state = STATE_RUNNING };

		if (u->seen_ns < u->end_ns)
			ret = put_interval(d, &t, u->end_ns, true, err);
	}
	return ret;
}

static int note(struct tl_store *store, int64_t source_id, const char *what, uint64_t count,
		const char *unit, const char *message, struct tl_error *err)
{
	struct tl_statement *st;
	int ret;

	if (!count)
		return TL_OK;
	ret = tl_statement_open(&st, store,
				"INSERT INTO lost(source_id, kind, what, count, unit, message) "
				"VALUES(?, 'note', ?, ?, ?, ?)",
				NULL, err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	tl_bind_text(st, 2, what, strlen(what));
	tl_bind_i64(st, 3, (int64_t)count);
	tl_bind_text(st, 4, unit, strlen(unit));
	tl_bind_text(st, 5, message, strlen(message));
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

static int note_gaps(struct tl_store *store, const struct derivation *d, struct tl_error *err)
{
	int ret =
		note(store, d->source_id, TL_STATES_ENDLESS, d->endless, "intervals",
		     "they are left out: record all CPUs (-a), or --switch-events, to see threads "
		     "come back",
		     err);

	if (ret == TL_OK)
		ret = note(store, d->source_id, TL_STATES_UNSERVED, d->unserved, "intervals",
			   "they are left out: how long the threads waited for a CPU is not known",
			   err);
	return ret < 0 ? ret
		       : note(store, d->source_id, TL_STATES_BOUNDED, d->bounded, "intervals",
			      "the recorder missed the switch back: they count as far as they are "
			      "certain, until the CPU was given to another thread",
			      err);
}

/* The first column of the first row of what is asked of the source; 0: there is none. */
static int ask_source(struct tl_store *store, const char *sql, const char *column,
		      int64_t source_id, int64_t *value, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store, sql, column, err);

	*value = 0;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, source_id);
	ret = tl_statement_step(st, err);
	if (ret > 0)
		*value = tl_column_i64(st, 0);
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

static int load_idle_threads(struct tl_store *store, struct derivation *d, struct tl_error *err)
{
	struct tl_statement *st;
	int64_t seen = 0;
	int ret = tl_statement_open(&st, store, "SELECT thread_id FROM thread WHERE tid = 0",
				    "thread_id", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		ret = tl_grow(&d->idle_threads, &d->idle_capacity, d->idle_count + 1, err);
		if (ret == TL_OK)
			d->idle_threads[d->idle_count++] = tl_column_i64(st, 0);
	}
	tl_statement_close(st);
	/* the recording says so, or an idle thread is seen to leave */
	if (ret == TL_OK)
		ret = ask_source(
			store,
			"SELECT count(*) AS n FROM source_meta WHERE source_id = ? AND key = "
			"'target' AND value = 'all_cpus'",
			"n", d->source_id, &seen, err);
	if (ret == TL_OK && !seen)
		ret = ask_source(store,
				 "SELECT 1 AS n FROM sched_switch w JOIN thread t ON t.thread_id = "
				 "w.prev_thread_id WHERE w.source_id = ? AND t.tid = 0 LIMIT 1",
				 "n", d->source_id, &seen, err);
	d->is_system_wide = seen != 0;
	return ret;
}

static int load_recorded_cpus(struct tl_store *store, struct derivation *d, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, store,
		"SELECT DISTINCT cpu FROM sched_switch WHERE source_id = ? AND cpu "
		"IS NOT NULL",
		"cpu", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, d->source_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int64_t cpu = tl_column_i64(st, 0);

		if (cpu < 0 || cpu >= CPU_MAX)
			continue;
		ret = tl_grow(&d->recorded, &d->recorded_capacity, (size_t)cpu + 1, err);
		if (ret < 0)
			break;
		d->recorded[cpu] = true;
	}
	tl_statement_close(st);
	return ret;
}

/* A thread may run and sleep unseen on a CPU that was not recorded. */
static int note_missing_cpus(struct tl_store *store, const struct derivation *d,
			     struct tl_error *err)
{
	uint64_t recorded = 0;
	int64_t online;
	char text[160];
	int ret = ask_source(store,
			     "SELECT h.cpu_count FROM source s JOIN host h USING (host_id) WHERE "
			     "s.source_id = ?",
			     "cpu_count", d->source_id, &online, err);

	for (size_t i = 0; i < d->recorded_capacity; i++)
		recorded += d->recorded[i];
	if (ret < 0 || !d->is_system_wide || !recorded || (int64_t)recorded >= online)
		return ret;
	snprintf(text, sizeof(text),
		 "switches of %llu of %lld CPUs were recorded: threads that also ran on the others "
		 "seem "
		 "to wait longer than they did",
		 (unsigned long long)recorded, (long long)online);
	return note(store, d->source_id, "cpus without switches", (uint64_t)online - recorded,
		    "cpus", text, err);
}

int tl_states_derive(struct tl_store *store, int64_t source_id, struct tl_error *err)
{
	struct derivation d = { .source_id = source_id };
	struct tl_statement *query = NULL;
	int ret = tl_statement_open(
		&query, store,
		"SELECT ts, 0 AS kind, cpu, prev_thread_id AS first, prev_state AS state, "
		"next_thread_id AS second, prev_name_id AS name, stack_id AS stack, "
		"NULL AS target, "
		"told_by AS told, rowid AS row FROM sched_switch WHERE source_id = ?1 UNION ALL "
		"SELECT ts, 1, cpu, waker_thread_id, 0, wakee_thread_id, waker_name_id, stack_id, "
		"target_cpu, is_waking, rowid FROM sched_wakeup WHERE source_id = ?1 ORDER BY "
		"ts, kind DESC, row",
		"ts kind cpu first state second name stack target told row", err);

	if (ret == TL_OK)
		ret = tl_statement_open(
			&d.insert, store,
			"INSERT INTO thread_state(thread_id, ts, dur, state, cpu, name_id, "
			"stack_id, "
			"waker_thread_id, waker_name_id, waker_stack_id, source_id) "
			"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			NULL, err);
	if (ret == TL_OK)
		ret = load_idle_threads(store, &d, err);
	if (ret == TL_OK)
		ret = load_recorded_cpus(store, &d, err);
	if (ret == TL_OK) {
		tl_bind_i64(query, 1, source_id);
		ret = derive(&d, query, err);
	}
	if (ret == TL_OK)
		ret = put_seen(store, &d, err);
	if (ret == TL_OK)
		ret = note_gaps(store, &d, err);
	if (ret == TL_OK)
		ret = note_missing_cpus(store, &d, err);
	tl_statement_close(query);
	tl_statement_close(d.insert);
	tl_unseens_release(&d.unseens);
	free(d.tasks);
	free(d.cpus);
	free(d.recorded);
	free(d.idle_threads);
	tl_index_release(&d.index);
	return ret;
}
