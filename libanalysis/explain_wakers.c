/*
 * explain_wakers.c - whom the thread waited for: who ended its waits, what that one was in meanwhile,
 * and, where it was waiting itself, for whom; five hops at most. Declared in explain_answer.h.
 */
#include "explain_answer.h"

#include <stdlib.h>
#include <string.h>

#define HOP_MAX	     5
#define FOLLOWED_MAX 5000 /* waits, the longest first; the rest is short */
#define LINE_MAX_    200  /* distinct chains told of */

/* What a thread did in a time, by what took most of it. */
struct meanwhile {
	int64_t running_ns, runnable_ns, waiting_ns;
	int64_t longest_ns; /* the longest of its waits, and who ended it */
	int64_t wait_begin_ns, wait_end_ns, stack_id, waker_id, waker_stack_id;
};

struct line { /* waits of one kind */
	uint32_t part, chain;
	uint64_t count;
	int64_t slow_ns, good_ns;
};

struct following {
	struct tl_explaining *e;
	struct tl_statement *find;
	struct tl_interner chains;
	struct line *lines;
	size_t count, capacity;
	struct tl_index index;
};

enum { F_TS, F_DUR, F_STATE, F_STACK, F_WAKER, F_WAKER_STACK };

static void add_meanwhile(struct meanwhile *m, struct tl_statement *st, int64_t begin, int64_t end)
{
	size_t length;
	const char *state = tl_column_text(st, F_STATE, &length);
	int64_t from = tl_column_i64(st, F_TS), until;

	if (tl_column_is_null(st, F_DUR) ||
	    __builtin_add_overflow(from, tl_column_i64(st, F_DUR), &until))
		return;
	from = from > begin ? from : begin;
	until = until < end ? until : end;
	if (until <= from || !state)
		return;
	if (length == 7 && !memcmp(state, "running", 7)) {
		m->running_ns += until - from;
	} else if (length == 8 && !memcmp(state, "runnable", 8)) {
		m->runnable_ns += until - from;
	} else {
		m->waiting_ns += until - from;
		if (until - from <= m->longest_ns)
			return;
		m->longest_ns = until - from;
		m->wait_begin_ns = from;
		m->wait_end_ns = until;
		m->stack_id = tl_column_i64(st, F_STACK);
		m->waker_id = tl_column_i64(st, F_WAKER);
		m->waker_stack_id = tl_column_i64(st, F_WAKER_STACK);
	}
}

static int look_meanwhile(struct following *f, int64_t thread_id, int64_t begin, int64_t end,
			  struct meanwhile *m, struct tl_error *err)
{
	int ret;

	memset(m, 0, sizeof(*m));
	tl_bind_i64(f->find, 1, thread_id);
	tl_bind_i64(f->find, 2, begin);
	tl_bind_i64(f->find, 3, end);
	while ((ret = tl_statement_step(f->find, err)) > 0)
		add_meanwhile(m, f->find, begin, end);
	tl_statement_reset(f->find);
	return ret;
}

/* "sleeping in futex": by the stack where it left. */
static int put_wait(struct following *f, const struct meanwhile *m, struct tl_text *chain,
		    struct tl_error *err)
{
	struct tl_stack_facts facts;
	int ret = tl_stacks_facts(f->e->parts.stacks, m->stack_id, &facts, err);

	if (ret < 0)
		return ret;
	tl_text_puts(chain, " (waiting");
	if (facts.traits.reason)
		tl_text_printf(chain, " for %s",
			       tl_wait_reason_name((enum tl_wait_reason)facts.traits.reason));
	if (facts.call)
		tl_text_printf(chain, " in %s", tl_stack_name(f->e->parts.stacks, facts.call - 1));
	tl_text_puts(chain, ")");
	return TL_OK;
}

static int put_work(struct following *f, int64_t waker_stack_id, struct tl_text *chain,
		    struct tl_error *err)
{
	struct tl_stack_facts facts;
	int ret = tl_stacks_facts(f->e->parts.stacks, waker_stack_id, &facts, err);

	if (ret < 0)
		return ret;
	tl_text_puts(chain, " (running");
	if (facts.traits.work)
		tl_text_printf(chain, ", %s",
			       tl_memory_work_name((enum tl_memory_work)facts.traits.work));
	/* its last moment: for most of the wait it may have been elsewhere */
	if (facts.call)
		tl_text_printf(chain, "; woke it in %s",
			       tl_stack_name(f->e->parts.stacks, facts.call - 1));
	tl_text_puts(chain, ")");
	return TL_OK;
}

/* One hop; *thread_id becomes 0 where the chain ends. */
static int hop(struct following *f, int64_t *thread_id, int64_t *stack_id, int64_t *begin,
	       int64_t *end, struct tl_text *chain, struct tl_error *err)
{
	struct tl_step_view *v = &f->e->view;
	const struct tl_view_thread *t;
	struct tl_stack_facts facts;
	struct meanwhile m;
	uint32_t thread;
	int ret = tl_view_thread(v, *thread_id, &thread, err);

	if (ret == TL_OK)
		ret = tl_stacks_facts(f->e->parts.stacks, *stack_id, &facts, err);
	if (ret < 0)
		return ret;
	t = &v->threads[thread];
	if (chain->length)
		tl_text_puts(chain, " <- ");
	/* whoever was interrupted there did not do it */
	if (t->role == TL_ROLE_IDLE || facts.traits.is_interrupt) {
		tl_text_puts(chain, "an interrupt");
		*thread_id = 0;
		return TL_OK;
	}
	tl_text_puts(chain, t->role == TL_ROLE_SELF ? "itself" : t->name);
	ret = look_meanwhile(f, *thread_id, *begin, *end, &m, err);
	if (ret < 0)
		return ret;
	*thread_id = 0;
	if (m.waiting_ns > m.running_ns && m.waiting_ns > m.runnable_ns) {
		*thread_id = m.waker_id;
		*begin = m.wait_begin_ns;
		*end = m.wait_end_ns;
		ret = put_wait(f, &m, chain, err);
		*stack_id = m.waker_stack_id;
	} else if (m.runnable_ns > m.running_ns) {
		tl_text_puts(chain, " (waiting for a CPU)");
	} else {
		ret = put_work(f, *stack_id, chain, err);
	}
	return ret;
}

static int follow(struct following *f, const struct tl_part_wait *w, struct tl_text *chain,
		  struct tl_error *err)
{
	const struct tl_view_state *s = &f->e->view.states[w->state];
	int64_t thread = s->waker_id, stack = s->waker_stack_id;
	int64_t begin = w->begin_ns, end = w->end_ns;
	int64_t seen[HOP_MAX];
	int ret = TL_OK;

	for (int i = 0; i < HOP_MAX && thread && ret == TL_OK; i++) {
		for (int k = 0; k < i; k++)
			if (seen[k] == thread)
				return TL_OK; /* they wait for each other in turn */
		seen[i] = thread;
		ret = hop(f, &thread, &stack, &begin, &end, chain, err);
	}
	return ret;
}

static int add_line(struct following *f, const struct tl_part_wait *w, uint32_t chain,
		    struct tl_error *err)
{
	enum tl_step_class class_ = f->e->view.steps[w->step].class_;
	uint64_t hash = tl_hash_u64((uint64_t)w->part << 32 | chain, 3);
	struct line *line = NULL;
	size_t probe = 0;
	int64_t found;
	int ret;

	while (!line && (found = tl_index_find(&f->index, hash, &probe)) >= 0)
		if (f->lines[found].part == w->part && f->lines[found].chain == chain)
			line = &f->lines[found];
	if (!line) {
		ret = tl_grow(&f->lines, &f->capacity, f->count + 1, err);
		if (ret == TL_OK)
			ret = tl_index_add(&f->index, hash, (uint32_t)f->count, err);
		if (ret < 0)
			return ret;
		line = &f->lines[f->count++];
		*line = (struct line) { .part = w->part, .chain = chain };
	}
	if (class_ == TL_STEP_SLOW) {
		line->count++;
		line->slow_ns += w->end_ns - w->begin_ns;
	} else {
		line->good_ns += w->end_ns - w->begin_ns;
	}
	return TL_OK;
}

static int follow_one(struct following *f, const struct tl_part_wait *w, struct tl_error *err)
{
	struct tl_text chain = { 0 };
	uint32_t id;
	int ret = follow(f, w, &chain, err);

	if (ret == TL_OK && chain.failed)
		ret = tl_fail(err, TL_NOMEM, "out of memory");
	if (ret == TL_OK && chain.length)
		ret = tl_intern(&f->chains, chain.data, chain.length, &id, err);
	if (ret == TL_OK && chain.length)
		ret = add_line(f, w, id, err);
	tl_text_release(&chain);
	return ret;
}

static int compare_waits(const void *a, const void *b)
{
	const struct tl_part_wait *x = a, *y = b;
	int64_t m = x->end_ns - x->begin_ns, n = y->end_ns - y->begin_ns;

	if (m != n)
		return m > n ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->slow_ns != y->slow_ns)
		return x->slow_ns > y->slow_ns ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return (x->chain > y->chain) - (x->chain < y->chain);
}

static int put_lines(struct following *f, struct tl_error *err)
{
	struct tl_explaining *e = f->e;
	struct tl_explain *out = e->out;
	size_t n = f->count < LINE_MAX_ ? f->count : LINE_MAX_;
	int ret = TL_OK;

	if (f->count > 1)
		qsort(f->lines, f->count, sizeof(*f->lines), compare_lines);
	out->wakers = tl_alloc(n, sizeof(*out->wakers), err);
	if (!out->wakers)
		return TL_NOMEM;
	for (size_t i = 0; i < n && ret == TL_OK; i++) {
		const struct line *line = &f->lines[i];
		const struct tl_interned *chain = &f->chains.strings[line->chain];
		struct tl_explain_waker *w = &out->wakers[out->waker_count++];

		*w = (struct tl_explain_waker) {
			.chain = tl_arena_copy(e->arena, chain->text, chain->length, err),
			.count = line->count,
			.slow_ns = (double)line->slow_ns / (double)e->slow_count,
			.good_ns = (double)line->good_ns / (double)e->good_count,
		};
		ret = w->chain ? tl_explain_part_text(e, &e->parts.parts[line->part], &w->part, err)
			       : TL_NOMEM;
	}
	return ret;
}

int tl_explain_wakers(struct tl_explaining *e, struct tl_error *err)
{
	struct following f = { .e = e };
	struct tl_part_wait *waits;
	size_t n = 0, slow = 0;
	int ret;

	if (!(e->view.has & TL_VIEW_WAKERS))
		return TL_OK;
	waits = tl_alloc(e->parts.wait_count, sizeof(*waits), err);
	if (!waits)
		return TL_NOMEM;
	for (size_t i = 0; i < e->parts.wait_count; i++) {
		enum tl_step_class class_ = e->view.steps[e->parts.waits[i].step].class_;

		if (class_ != TL_STEP_OTHER)
			waits[n++] = e->parts.waits[i];
		slow += class_ == TL_STEP_SLOW;
	}
	if (n > 1)
		qsort(waits, n, sizeof(*waits), compare_waits);
	ret = tl_statement_open(
		&f.find, e->store,
		"SELECT ts, dur, state, stack_id, waker_thread_id, waker_stack_id FROM thread_state "
		"WHERE thread_id = ?1 AND ts < ?3 AND ts >= coalesce((SELECT max(ts) FROM "
		"thread_state WHERE thread_id = ?1 AND ts <= ?2), ?2) ORDER BY ts",
		"ts dur state stack_id waker_thread_id waker_stack_id", err);
	for (size_t i = 0; i < n && i < FOLLOWED_MAX && slow && ret == TL_OK; i++)
		ret = follow_one(&f, &waits[i], err);
	if (ret == TL_OK)
		ret = put_lines(&f, err);
	tl_statement_close(f.find);
	tl_interner_release(&f.chains);
	tl_index_release(&f.index);
	free(f.lines);
	free(waits);
	return ret;
}
