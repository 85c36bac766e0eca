/*
 * stack_facts.c - facts of call chains, computed once a node of the tree: what holds of a caller
 * holds of all it calls. What functions of the kernel mean is in wait_reasons.c.
 */
#include "stack_facts.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_PATH "__alloc_pages_slowpath" /* reclaim, compaction, and what is tried around them */
#define DEPTH_MAX 100000		   /* longer chains of parents are a damaged case's */

struct node {
	int64_t stack_id;
	struct tl_stack_facts facts;
};

struct tl_stacks {
	struct tl_statement *find;
	struct tl_wait_names meanings;
	struct tl_interner names;
	struct node *nodes;
	size_t count, capacity;
	struct tl_index index;
	struct pending { /* on the way up to what is known */
		int64_t stack_id;
		uint32_t name; /* + 1 */
		bool is_kernel;
	} * pending;
	size_t pending_capacity;
};

/* "__x64_sys_munmap" is munmap; NULL: no entry of a system call. */
static const char *call_name(const char *function)
{
	static const char *const prefixes[] = { "__x64_sys_",	"__arm64_sys_", "__ia32_sys_",
						"__se_sys_",	"__do_sys_",	"__riscv_sys_",
						"__s390x_sys_", "ksys_",	"SyS_",
						"sys_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t length = strlen(prefixes[i]);

		if (!strncmp(function, prefixes[i], length) && function[length])
			return function + length;
	}
	return NULL;
}

static bool is_scheduler(const char *name)
{
	static const char *const exact[] = { "schedule", "__schedule", "io_schedule",
					     "io_schedule_timeout", "__cond_resched" };
	static const char *const prefixes[] = {
		"schedule_",	"preempt_schedule", "__traceiter_",	   "perf_trace_",
		"__bpf_trace",	"bit_wait",	    "out_of_line_wait_on", "__wait_on_bit",
		"trace_event_", "__preempt_c",	    "wait_woken",	   "prepare_to_wait"
	};

	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		if (!strcmp(name, exact[i]))
			return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

int tl_stacks_open(struct tl_stacks **out, struct tl_store *store, struct tl_error *err)
{
	struct tl_stacks *s = tl_alloc(1, sizeof(*s), err);
	int ret;

	*out = NULL;
	if (!s)
		return TL_NOMEM;
	ret = tl_wait_names_init(&s->meanings, err);
	if (ret == TL_OK)
		ret = tl_statement_open(
			&s->find, store,
			"SELECT k.parent_id AS parent, f.context AS context, n.text AS name "
			"FROM stack k JOIN frame f USING (frame_id) "
			"LEFT JOIN symbol y ON y.symbol_id = f.symbol_id "
			"LEFT JOIN string n ON n.string_id = y.name_id WHERE k.stack_id = ?",
			"parent context name", err);
	if (ret < 0) {
		tl_stacks_close(s);
		return ret;
	}
	*out = s;
	return TL_OK;
}

void tl_stacks_close(struct tl_stacks *s)
{
	if (!s)
		return;
	tl_statement_close(s->find);
	tl_wait_names_release(&s->meanings);
	tl_interner_release(&s->names);
	tl_index_release(&s->index);
	free(s->nodes);
	free(s->pending);
	free(s);
}

const char *tl_stack_name(const struct tl_stacks *s, uint32_t name)
{
	return s->names.strings[name].text;
}

static const struct tl_stack_facts *find(const struct tl_stacks *s, int64_t stack_id)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&s->index, tl_hash_u64((uint64_t)stack_id, 31), &probe)) >= 0)
		if (s->nodes[found].stack_id == stack_id)
			return &s->nodes[found].facts;
	return NULL;
}

/* Reads one row: what is pending of it, and its parent (0: none). */
static int read_node(struct tl_stacks *s, int64_t stack_id, struct pending *p, int64_t *parent,
		     struct tl_error *err)
{
	size_t length;
	const char *text;
	int ret;

	*p = (struct pending) { .stack_id = stack_id };
	*parent = 0;
	tl_bind_i64(s->find, 1, stack_id);
	ret = tl_statement_step(s->find, err);
	if (ret > 0) {
		uint32_t name;

		*parent = tl_column_i64(s->find, 0);
		text = tl_column_text(s->find, 1, &length);
		p->is_kernel = text && length >= 6 && !memcmp(text + length - 6, "kernel", 6);
		text = tl_column_text(s->find, 2, &length);
		ret = TL_OK;
		if (text && length) {
			ret = tl_intern(&s->names, text, length, &name, err);
			p->name = name + 1;
		}
	} else if (ret == 0) {
		ret = tl_fail(err, TL_STORE, "the stack %lld is not there: damaged",
			      (long long)stack_id);
	}
	tl_statement_reset(s->find);
	return ret;
}

static int add_call(struct tl_stacks *s, const char *function, struct tl_stack_facts *facts,
		    struct tl_error *err)
{
	const char *call = call_name(function);
	uint32_t id;
	int ret;

	if (!call || facts->call)
		return TL_OK;
	ret = tl_intern(&s->names, call, strcspn(call, "."), &id, err);
	facts->call = ret == TL_OK ? id + 1 : 0;
	return ret;
}

static int add_node(struct tl_stacks *s, const struct pending *p, struct tl_stack_facts *facts,
		    struct tl_error *err)
{
	const char *name = p->name ? tl_stack_name(s, p->name - 1) : NULL;
	int ret = tl_grow(&s->nodes, &s->capacity, s->count + 1, err);

	facts->is_kernel = p->is_kernel;
	facts->function = p->name;
	if (p->is_kernel && name) {
		facts->is_named = true;
		facts->is_short |= !strncmp(name, SLOW_PATH, strlen(SLOW_PATH));
		tl_chain_step(&facts->traits, tl_wait_function(&s->meanings, name, strlen(name)));
		if (ret == TL_OK)
			ret = add_call(s, name, facts, err);
	}
	if (name && !(p->is_kernel && is_scheduler(name)))
		facts->blocked = p->name;
	if (ret == TL_OK)
		ret = tl_index_add(&s->index, tl_hash_u64((uint64_t)p->stack_id, 31),
				   (uint32_t)s->count, err);
	if (ret == TL_OK)
		s->nodes[s->count++] = (struct node) { p->stack_id, *facts };
	return ret;
}

int tl_stacks_facts(struct tl_stacks *s, int64_t stack_id, struct tl_stack_facts *facts,
		    struct tl_error *err)
{
	const struct tl_stack_facts *known = NULL;
	size_t depth = 0;
	int ret = TL_OK;

	*facts = (struct tl_stack_facts) { 0 };
	while (stack_id && !(known = find(s, stack_id)) && ret == TL_OK) {
		if (depth >= DEPTH_MAX)
			return tl_fail(err, TL_STORE, "stack %lld is its own caller: damaged",
				       (long long)stack_id);
		ret = tl_grow(&s->pending, &s->pending_capacity, depth + 1, err);
		if (ret == TL_OK)
			ret = read_node(s, stack_id, &s->pending[depth++], &stack_id, err);
	}
	if (ret == TL_OK && known)
		*facts = *known;
	while (depth > 0 && ret == TL_OK)
		ret = add_node(s, &s->pending[--depth], facts, err);
	return ret;
}
