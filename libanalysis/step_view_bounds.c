/*
 * step_view_bounds.c - waits whose end was not recorded, lengthened until the thread was next seen: an
 * upper bound, for who asks what a wait was for. Declared in step_view.h; the states of the case stay as
 * they are.
 *
 * On some virtual machines the recorder drops what happens in the idle task: the wakeup by an interrupt,
 * and the switch back. The switch away is there. A thread that left for an idle CPU from inside a
 * system call can have run meanwhile in that call alone, and only after the wait.
 */
#include "step_view.h"

#include <stdlib.h>

enum leaving_kind { LEFT, WOKEN, LOST };

/* A switch away, or what ends what can be said of one. */
struct leaving {
	int64_t ts, stack_id;
	enum leaving_kind kind;
	enum tl_sched_state state;
	bool is_wait; /* asleep, and nobody was there for the CPU */
};

struct leavings {
	struct leaving *items;
	size_t count, capacity;
};

enum { L_TS, L_KIND, L_STATE, L_IDLE, L_STACK };

static int load_leavings(struct tl_step_view *view, struct leavings *l, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, view->store,
		"SELECT w.ts AS ts, 0 AS kind, w.prev_state AS state, n.tid IS 0 AS idle, "
		"w.stack_id AS stack FROM sched_switch w LEFT JOIN thread n ON n.thread_id = "
		"w.next_thread_id WHERE w.source_id = ?1 AND w.prev_thread_id = ?2 AND w.told_by = "
		"0 UNION ALL SELECT ts, 1, 0, 0, NULL FROM sched_wakeup WHERE source_id = ?1 AND "
		"wakee_thread_id = ?2 UNION ALL SELECT ts, 2, 0, 0, NULL FROM gap WHERE source_id = "
		"?1 AND kind IN ('lost', 'lost_samples') AND ts IS NOT NULL ORDER BY ts, kind",
		"ts kind state idle stack", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, view->main_source_id);
	tl_bind_i64(st, 2, view->thread_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		int64_t state = tl_column_i64(st, L_STATE);
		bool is_asleep = state == TL_SWITCH_SLEEPING || state == TL_SWITCH_UNINTERRUPTIBLE;

		ret = tl_grow(&l->items, &l->capacity, l->count + 1, err);
		if (ret < 0)
			break;
		l->items[l->count++] = (struct leaving) {
			.ts = tl_column_i64(st, L_TS),
			.stack_id = tl_column_i64(st, L_STACK),
			.kind = (enum leaving_kind)tl_column_i64(st, L_KIND),
			.state = state == TL_SWITCH_SLEEPING ? TL_SCHED_SLEEPING
							     : TL_SCHED_UNINTERRUPTIBLE,
			.is_wait = is_asleep && tl_column_i64(st, L_IDLE) != 0,
		};
	}
	tl_statement_close(st);
	return ret;
}

/* The end of the innermost system call at `ns`; INT64_MIN: it is in none. */
static int64_t end_of_call(const struct tl_step_view *view, int64_t ns)
{
	size_t i;

	TL_VIEW_FIRST(view->calls, view->call_count, begin_ns, ns, i);
	return i && view->calls[i - 1].end_ns > ns ? view->calls[i - 1].end_ns : INT64_MIN;
}

struct bounding {
	struct tl_step_view *view;
	const struct leavings *leavings;
	size_t next; /* of those, behind what was looked at */
	struct tl_view_state *states;
	size_t count, capacity;
};

static int add(struct bounding *b, const struct tl_view_state *state, struct tl_error *err)
{
	int ret = tl_grow(&b->states, &b->capacity, b->count + 1, err);

	if (ret == TL_OK)
		b->states[b->count++] = *state;
	return ret;
}

/*
 * What the thread was from `begin` on, of which it is only known that it was seen again at `end`. A
 * leaving at `begin`, or one that the state before it, certain so far, begins with.
 */
static int add_bounds(struct bounding *b, int64_t begin, int64_t end, struct tl_error *err)
{
	const struct tl_view_state *before = b->count ? &b->states[b->count - 1] : NULL;
	int64_t from = before && before->end_ns == begin ? before->begin_ns : begin;
	const struct leavings *l = b->leavings;
	int ret = TL_OK;

	while (b->next < l->count && l->items[b->next].ts < from)
		b->next++;
	for (size_t i = b->next; i < l->count && l->items[i].ts < end && ret == TL_OK; i++) {
		const struct leaving *left = &l->items[i];
		int64_t call = end_of_call(b->view, left->ts);
		struct tl_view_state s = { .begin_ns = left->ts > begin ? left->ts : begin,
					   .end_ns = end < call ? end : call,
					   .state = left->state,
					   .cpu = -1,
					   .stack_id = left->stack_id,
					   .is_bound = true };

		if (left->kind != LEFT || !left->is_wait || call == INT64_MIN)
			continue;
		if (i + 1 < l->count && l->items[i + 1].kind == LOST &&
		    l->items[i + 1].ts <= s.end_ns)
			continue; /* its return may be among what was lost */
		if (i + 1 < l->count && l->items[i + 1].ts < s.end_ns)
			s.end_ns = l->items[i + 1].ts;
		if (s.end_ns > s.begin_ns)
			ret = add(b, &s, err);
	}
	return ret;
}

int tl_view_bound_waits(struct tl_step_view *view, struct tl_error *err)
{
	const unsigned needed = TL_VIEW_STATES | TL_VIEW_ALL_CPUS | TL_VIEW_CALLS;
	struct leavings l = { 0 };
	struct bounding b = { .view = view, .leavings = &l };
	const struct tl_view_state *last;
	int64_t end;
	int ret;

	if ((view->has & needed) != needed)
		return TL_OK;
	last = &view->states[view->state_count - 1];
	end = view->steps[view->step_count - 1].end_ns;
	ret = load_leavings(view, &l, err);
	for (size_t i = 0; i < view->state_count && ret == TL_OK; i++) {
		if (i && view->states[i - 1].end_ns < view->states[i].begin_ns)
			ret = add_bounds(&b, view->states[i - 1].end_ns, view->states[i].begin_ns,
					 err);
		if (ret == TL_OK)
			ret = add(&b, &view->states[i], err);
	}
	if (ret == TL_OK && last->end_ns < end)
		ret = add_bounds(&b, last->end_ns, end, err);
	free(l.items);
	if (ret < 0) {
		free(b.states);
		return ret;
	}
	free(view->states);
	view->states = b.states;
	view->state_count = b.count;
	return TL_OK;
}
