/*
 * offcpu.c - time that threads were off the CPU, folded by where they left it, or by who woke them.
 * Reads thread_state only; how states were found out is not its business.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

enum {
	STATE_TS,
	STATE_DUR,
	STATE_STATE,
	STATE_THREAD,
	STATE_NAME,
	STATE_STACK,
	STATE_WAKER_NAME,
	STATE_WAKER_STACK,
	STATE_WAKER
};

struct interval {
	int64_t begin_ns, end_ns, thread_id, name_id, stack_id;
	int64_t waker_id, waker_name_id, waker_stack_id;
	char letter; /* as ps writes states; '?' unknown */
	bool has_end;
	struct tl_fold_sum key; /* of an interval that goes on into the next window */
};

static const struct {
	const char *name;
	char letter;
} letters[] = { { "sleeping", 'S' }, { "uninterruptible", 'D' }, { "runnable", 'R' },
		{ "stopped", 'T' },  { "parked", 'P' },		 { "idle", 'I' },
		{ "blocked", '?' } };

/* False: a state that is not off the CPU, or not a wait. */
static bool read_interval(struct interval *i, struct tl_statement *st)
{
	size_t len;
	const char *state = tl_column_text(st, STATE_STATE, &len);

	i->letter = 0;
	for (size_t k = 0; k < sizeof(letters) / sizeof(*letters); k++)
		if (state && strlen(letters[k].name) == len && !memcmp(state, letters[k].name, len))
			i->letter = letters[k].letter;
	i->begin_ns = tl_column_i64(st, STATE_TS);
	i->has_end = !tl_column_is_null(st, STATE_DUR);
	if (__builtin_add_overflow(i->begin_ns, tl_column_i64(st, STATE_DUR), &i->end_ns))
		i->end_ns = INT64_MAX;
	i->thread_id = tl_column_i64(st, STATE_THREAD);
	i->name_id = tl_column_i64(st, STATE_NAME);
	i->stack_id = tl_column_i64(st, STATE_STACK);
	i->waker_id = tl_column_i64(st, STATE_WAKER);
	i->waker_name_id = tl_column_i64(st, STATE_WAKER_NAME);
	i->waker_stack_id = tl_column_i64(st, STATE_WAKER_STACK);
	return i->letter != 0;
}

/* [W] of a waker whose name nobody recorded is [unknown]. */
static int add_waker(struct tl_fold *fold, const struct interval *i, struct tl_fold_sum *key,
		     struct tl_error *err)
{
	struct tl_folded_sample sample = { .pid = -1, .tid = -1 };
	struct tl_folded_rules rules = fold->rules;
	struct tl_text comm = { 0 }, root = { 0 };
	uint32_t id;
	int ret = TL_OK;

	if (i->waker_name_id)
		ret = tl_fold_string(fold, i->waker_name_id, &comm, err);
	else
		tl_text_puts(&comm, "[unknown]");
	if (i->waker_id > 0 && i->waker_id <= fold->thread_max) {
		sample.pid = fold->threads[i->waker_id].pid;
		sample.tid = fold->threads[i->waker_id].tid;
	} else {
		rules.root = TL_ROOT_COMM;
	}
	sample.comm = comm.data;
	sample.comm_length = comm.length;
	if (ret == TL_OK && !comm.failed)
		tl_native_root(&root, &rules, &sample);
	root.failed |= comm.failed;
	if (ret == TL_OK)
		ret = tl_fold_root(fold, &root, &id, err);
	if (ret == TL_OK && i->waker_stack_id)
		ret = tl_tree_node(fold->tree, i->waker_stack_id, false, &key->waker_node, err);
	key->waker = ret == TL_OK ? id + 1 : 0;
	tl_text_release(&comm);
	tl_text_release(&root);
	return ret;
}

static int add_state(struct tl_fold *fold, char letter, struct tl_fold_sum *key,
		     struct tl_error *err)
{
	struct tl_text text = { 0 };
	uint32_t id;
	int ret;

	tl_text_printf(&text, "[%c]", letter);
	ret = tl_fold_root(fold, &text, &id, err);
	tl_text_release(&text);
	key->state = ret == TL_OK ? id + 1 : 0;
	return ret;
}

/* 1: *key is the line of the interval; 0: it was not asked for. */
static int find_line(struct tl_fold *fold, const struct interval *i, struct tl_fold_sum *key,
		     struct tl_error *err)
{
	const struct tl_fold_options *opt = fold->opt;
	struct tl_fold_who who = { .thread_id = i->thread_id,
				   .name_id = i->name_id,
				   .recorded_pid = TL_ID_NONE,
				   .recorded_tid = TL_ID_NONE };
	const struct tl_fold_head *head;
	int ret = tl_fold_find_head(fold, &who, &head, err);

	memset(key, 0, sizeof(*key));
	if (ret < 0)
		return ret;
	if (head->kind != TL_FOLD_STACK) {
		fold->counts.excluded_thread_count++;
		return 0;
	}
	key->root = head->root;
	if (i->stack_id)
		ret = tl_tree_node(fold->tree, i->stack_id, false, &key->node, err);
	if (ret == TL_OK && opt->what == TL_FOLD_WAKEUP)
		ret = add_waker(fold, i, key, err);
	if (ret == TL_OK && opt->show_state)
		ret = add_state(fold, i->letter, key, err);
	if (ret < 0)
		return ret;
	if ((opt->user_only || opt->kernel_only) && key->node == TL_TREE_TOP) {
		fold->counts.excluded_side_count++;
		return 0;
	}
	if (!tl_tree_is_excluded(fold->tree, key->node) &&
	    !tl_tree_is_excluded(fold->tree, key->waker_node))
		return 1;
	fold->counts.excluded_frame_count++;
	return 0;
}

/* Adds what lies in [begin, end) and in the ranges; an interval of no length is one all the same. */
static int add_part(struct tl_fold *fold, const struct tl_fold_sum *key, int64_t begin_ns,
		    int64_t end_ns, struct tl_error *err)
{
	uint64_t weight = tl_fold_inside_ns(fold, begin_ns, end_ns);

	if (!weight && fold->range_count) {
		fold->counts.outside_count++;
		return TL_OK;
	}
	fold->counts.sample_count++;
	tl_fold_note_time(fold, begin_ns, end_ns);
	return tl_fold_add(fold, key, fold->opt->weight == TL_WEIGHT_COUNT ? 1 : weight, err);
}

/* ---- windows: what is still open at their end goes on in the next ---- */

struct carried {
	struct interval *items; /* at most one a thread: states do not overlap */
	size_t count, capacity;
};

static int carry_on(struct tl_fold *fold, const struct tl_fold_windows *windows,
		    struct carried *carried, struct tl_error *err)
{
	size_t kept = 0;
	int ret = TL_OK;

	for (size_t k = 0; k < carried->count && ret == TL_OK; k++) {
		struct interval *i = &carried->items[k];
		int64_t end =
			i->end_ns < windows->window.end_ns ? i->end_ns : windows->window.end_ns;

		ret = add_part(fold, &i->key, windows->window.begin_ns, end, err);
		if (i->end_ns > windows->window.end_ns)
			carried->items[kept++] = *i;
	}
	carried->count = kept;
	return ret;
}

/* Every window up to the one that holds `ts` gets its share of what was carried. */
static int advance(struct tl_fold *fold, struct tl_fold_windows *windows, struct carried *carried,
		   int64_t ts, struct tl_error *err)
{
	int ret = TL_OK;

	while (ret == TL_OK && ts >= windows->window.end_ns) {
		int64_t next = carried->count ? windows->window.end_ns : ts;

		ret = tl_fold_enter_window(fold, windows, next, err);
		if (ret == TL_OK)
			ret = carry_on(fold, windows, carried, err);
	}
	return ret;
}

static int add_windowed(struct tl_fold *fold, struct tl_fold_windows *windows,
			struct carried *carried, struct interval *i, struct tl_error *err)
{
	int ret = advance(fold, windows, carried, i->begin_ns, err);

	if (ret < 0)
		return ret;
	if (i->end_ns <= windows->window.end_ns)
		return add_part(fold, &i->key, i->begin_ns, i->end_ns, err);
	ret = add_part(fold, &i->key, i->begin_ns, windows->window.end_ns, err);
	if (ret == TL_OK)
		ret = tl_grow(&carried->items, &carried->capacity, carried->count + 1, err);
	if (ret == TL_OK)
		carried->items[carried->count++] = *i;
	return ret;
}

static int finish_windows(struct tl_fold *fold, struct tl_fold_windows *windows,
			  struct carried *carried, struct tl_error *err)
{
	int ret = TL_OK;

	while (ret == TL_OK && carried->count)
		ret = advance(fold, windows, carried, windows->window.end_ns, err);
	return ret;
}

/* ---- asking ---- */

static int check_states(struct tl_fold *fold, struct tl_error *err)
{
	int64_t states, wakers;
	int ret = tl_store_value(fold->store,
				 "SELECT count(*) FROM (SELECT 1 FROM thread_state LIMIT 1)", 0,
				 &states, err);

	if (ret == TL_OK)
		ret = tl_store_value(fold->store,
				     "SELECT count(*) FROM (SELECT 1 FROM sched_wakeup LIMIT 1)", 0,
				     &wakers, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < fold->event_count && !states; i++)
		if (fold->events[i].is_sampled && strstr(fold->events[i].name, "sched_switch"))
			return tl_fail(err, TL_NOTHING,
				       "only one in several sched_switch was recorded (a frequency "
				       "was asked for), so no time off the CPU is known: record it "
				       "with -e sched:sched_switch -c 1");
	if (!states)
		return tl_fail(err, TL_NOTHING,
			       "no switches of threads were recorded: 'perf record -a -g -e "
			       "sched:sched_switch', or 'perf record -g --switch-events -e "
			       "sched:sched_switch' for one program");
	if (fold->opt->what == TL_FOLD_WAKEUP && !wakers)
		return tl_fail(err, TL_NOTHING,
			       "no wake-ups were recorded: add '-e sched:sched_waking' to the "
			       "switches that are");
	return TL_OK;
}

static int add_interval(struct tl_fold *fold, struct tl_fold_windows *windows,
			struct carried *carried, struct interval *i, struct tl_error *err)
{
	int ret;

	/* nobody woke a thread that was only pushed off its CPU */
	if (fold->opt->what == TL_FOLD_WAKEUP && i->letter == 'R')
		return TL_OK;
	/* the idle task is off the CPU whenever there is work */
	if (i->thread_id > 0 && i->thread_id <= fold->thread_max &&
	    fold->threads[i->thread_id].tid == 0)
		return TL_OK;
	if (!i->has_end) {
		fold->counts.without_end_count++;
		return TL_OK;
	}
	/* the name is that of who left: without it only the tail of a wait is known */
	if (!i->name_id) {
		fold->counts.without_begin_count++;
		return TL_OK;
	}
	ret = find_line(fold, i, &i->key, err);
	if (ret == 0)
		fold->counts.excluded_count++;
	if (ret <= 0)
		return ret;
	if (windows)
		return add_windowed(fold, windows, carried, i, err);
	return add_part(fold, &i->key, i->begin_ns, i->end_ns, err);
}

int tl_fold_offcpu(struct tl_fold *fold, struct tl_fold_windows *windows, struct tl_error *err)
{
	bool is_wakeup = fold->opt->what == TL_FOLD_WAKEUP;
	struct carried carried = { 0 };
	struct tl_statement *st = NULL;
	struct interval i = { 0 };
	int ret = check_states(fold, err);

	snprintf(fold->counts.event, sizeof(fold->counts.event), "%s",
		 is_wakeup ? "sleep until woken" : "off-CPU time");
	snprintf(fold->counts.unit, sizeof(fold->counts.unit), "%s",
		 fold->opt->weight == TL_WEIGHT_COUNT ? "intervals"
		 : fold->opt->weight == TL_WEIGHT_NS  ? "ns"
						      : "us");
	if (ret == TL_OK)
		ret = tl_statement_open(
			&st, fold->store,
			"SELECT ts, dur, state, thread_id, name_id, stack_id, waker_name_id, "
			"waker_stack_id, waker_thread_id FROM thread_state ORDER BY ts, thread_id",
			"ts dur state thread_id name_id stack_id waker_name_id waker_stack_id "
			"waker_thread_id",
			err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = TL_OK;

		if (read_interval(&i, st))
			status = add_interval(fold, windows, &carried, &i, err);
		if (status < 0)
			ret = status;
	}
	if (ret == TL_OK && windows)
		ret = finish_windows(fold, windows, &carried, err);
	tl_statement_close(st);
	free(carried.items);
	return ret;
}
