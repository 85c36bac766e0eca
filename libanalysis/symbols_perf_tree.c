/*
 * symbols_perf_tree.c - the answer that perf 6.1 gives where names overlap. It keeps them in a
 * red-black tree by their starts and takes the first on the way down that holds the address, so what
 * it answers depends on the order in which names came and went. To print the same, the tree is grown
 * the same way: symbols of .symtab, without those of aliases that lost, then of .dynsym, then stubs.
 *
 * Only asked for output that has to be equal to perf's to the byte; symbols_table_find is right.
 */
#include "symbols_private.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct node {
	uint32_t parent, left, right;
	uint32_t entry; /* in the sorted table */
	bool is_red;
};

/* Nodes are numbered as their entries were added. */
struct symbols_perf_tree {
	struct node *nodes;
	uint32_t root;
};

/* ---- the tree ---- */

static uint32_t *child(struct symbols_perf_tree *t, uint32_t n, bool is_right)
{
	return is_right ? &t->nodes[n].right : &t->nodes[n].left;
}

static bool is_red(const struct symbols_perf_tree *t, uint32_t n)
{
	return n != NONE && t->nodes[n].is_red;
}

/* Puts `to` where `from` hangs. */
static void replace(struct symbols_perf_tree *t, uint32_t from, uint32_t to)
{
	uint32_t parent = t->nodes[from].parent;

	if (parent == NONE)
		t->root = to;
	else
		*child(t, parent, t->nodes[parent].right == from) = to;
	if (to != NONE)
		t->nodes[to].parent = parent;
}

/* Moves n down to the side, and its other child up. */
static void rotate(struct symbols_perf_tree *t, uint32_t n, bool to_right)
{
	uint32_t up = *child(t, n, !to_right), moved = *child(t, up, to_right);

	replace(t, n, up);
	*child(t, n, !to_right) = moved;
	if (moved != NONE)
		t->nodes[moved].parent = n;
	*child(t, up, to_right) = n;
	t->nodes[n].parent = up;
}

static void insert(struct symbols_perf_tree *t, const struct symbols_entry *e, uint32_t n)
{
	uint64_t start = e[t->nodes[n].entry].start;
	uint32_t parent = NONE, at = t->root;

	while (at != NONE) {
		parent = at;
		at = *child(t, at, start >= e[t->nodes[at].entry].start);
	}
	t->nodes[n].parent = parent;
	t->nodes[n].left = t->nodes[n].right = NONE;
	t->nodes[n].is_red = true;
	if (parent == NONE)
		t->root = n;
	else
		*child(t, parent, start >= e[t->nodes[parent].entry].start) = n;
	while (is_red(t, t->nodes[n].parent)) {
		uint32_t grand;
		bool is_right;

		parent = t->nodes[n].parent;
		grand = t->nodes[parent].parent;
		is_right = t->nodes[grand].right == parent;
		at = *child(t, grand, !is_right);
		if (is_red(t, at)) {
			t->nodes[at].is_red = t->nodes[parent].is_red = false;
			t->nodes[grand].is_red = true;
			n = grand;
			continue;
		}
		if (*child(t, parent, !is_right) == n) {
			rotate(t, parent, is_right);
			parent = n;
		}
		rotate(t, grand, !is_right);
		t->nodes[parent].is_red = false;
		t->nodes[grand].is_red = true;
		break;
	}
	t->nodes[t->root].is_red = false;
}

/* A black node below `parent`, at the place of `n` (may be NONE), is missing. */
static void rebalance(struct symbols_perf_tree *t, uint32_t n, uint32_t parent)
{
	while (parent != NONE && !is_red(t, n)) {
		bool is_right = t->nodes[parent].right == n;
		uint32_t sibling = *child(t, parent, !is_right), near, far;

		if (is_red(t, sibling)) {
			rotate(t, parent, is_right);
			t->nodes[sibling].is_red = false;
			t->nodes[parent].is_red = true;
			sibling = *child(t, parent, !is_right);
		}
		near = *child(t, sibling, is_right);
		far = *child(t, sibling, !is_right);
		if (!is_red(t, far) && !is_red(t, near)) {
			t->nodes[sibling].is_red = true;
			n = parent;
			parent = t->nodes[n].parent;
			continue;
		}
		if (!is_red(t, far)) {
			rotate(t, sibling, !is_right);
			t->nodes[near].is_red = false;
			t->nodes[sibling].is_red = true;
			far = sibling;
			sibling = near;
		}
		rotate(t, parent, is_right);
		t->nodes[sibling].is_red = t->nodes[parent].is_red;
		t->nodes[parent].is_red = t->nodes[far].is_red = false;
		return;
	}
	if (n != NONE)
		t->nodes[n].is_red = false;
}

static void erase(struct symbols_perf_tree *t, uint32_t n)
{
	struct node *node = &t->nodes[n];
	uint32_t successor = node->right, below, parent;
	bool was_red = node->is_red;

	if (node->left == NONE || node->right == NONE) {
		below = node->left == NONE ? node->right : node->left;
		parent = node->parent;
		replace(t, n, below);
	} else {
		while (t->nodes[successor].left != NONE)
			successor = t->nodes[successor].left;
		was_red = t->nodes[successor].is_red;
		below = t->nodes[successor].right;
		parent = t->nodes[successor].parent;
		if (parent == n) {
			parent = successor;
		} else {
			replace(t, successor, below);
			t->nodes[successor].right = node->right;
			t->nodes[node->right].parent = successor;
		}
		replace(t, n, successor);
		t->nodes[successor].left = node->left;
		t->nodes[node->left].parent = successor;
		t->nodes[successor].is_red = node->is_red;
	}
	if (!was_red)
		rebalance(t, below, parent);
}

/* ---- growing it ---- */

/* Of the aliases that have come so far only the best stays; each is compared with the best yet. */
static void drop_aliases(struct symbols_perf_tree *t, const struct symbols_table *table,
			 const uint32_t *number_of, bool *is_gone, uint32_t end)
{
	const struct symbols_entry *e = table->entries;

	for (size_t i = 0; i < table->count;) {
		size_t best = table->count, next = i;

		for (; next < table->count && e[next].start == e[i].start; next++) {
			size_t loser;

			if (number_of[next] >= end || is_gone[next])
				continue;
			if (best == table->count) {
				best = next;
				continue;
			}
			loser = symbols_table_prefers(table, &e[best], &e[next]) ? next : best;
			best = loser == next ? best : next;
			is_gone[loser] = true;
			erase(t, number_of[loser]);
		}
		i = next;
	}
}

static void grow(struct symbols_perf_tree *t, const struct symbols_table *table,
		 const uint32_t *number_of, bool *is_gone)
{
	uint32_t n = 0;

	for (size_t stage = 0; stage < table->stage_count; stage++) {
		for (; n < table->stages[stage].end; n++)
			insert(t, table->entries, n);
		if (table->stages[stage].has_aliases)
			drop_aliases(t, table, number_of, is_gone, n);
	}
}

/* Entries say in `shown` as which they were added, until this has read it. */
int symbols_perf_tree_make(struct symbols_table *table, struct tl_error *err)
{
	struct symbols_perf_tree *t = tl_alloc(1, sizeof(*t), err);
	uint32_t *number_of = tl_alloc(table->count, sizeof(*number_of), err);
	bool *is_gone = tl_alloc(table->count, sizeof(*is_gone), err);
	int ret = TL_NOMEM;

	table->tree = t;
	if (t && number_of && is_gone)
		t->nodes = tl_alloc(table->count, sizeof(*t->nodes), err);
	if (t && t->nodes) {
		t->root = NONE;
		for (size_t i = 0; i < table->count; i++) {
			number_of[i] = table->entries[i].shown - 1;
			t->nodes[number_of[i]].entry = (uint32_t)i;
			table->entries[i].shown = 0;
		}
		grow(t, table, number_of, is_gone);
		ret = TL_OK;
	}
	free(number_of);
	free(is_gone);
	return ret;
}

struct symbols_entry *symbols_perf_tree_find(const struct symbols_table *table, uint64_t address)
{
	const struct symbols_perf_tree *t = table->tree;
	uint32_t n = t->root;

	while (n != NONE) {
		struct symbols_entry *e = &table->entries[t->nodes[n].entry];

		if (address < e->start)
			n = t->nodes[n].left;
		else if (address - e->start >= e->size && (e->size || address != e->start))
			n = t->nodes[n].right;
		else
			return e;
	}
	return NULL;
}

void symbols_perf_tree_release(struct symbols_perf_tree *t)
{
	if (t)
		free(t->nodes);
	free(t);
}
