/*
 * stack_tree.c - the table stack as a tree of folded text, loaded whole or as far as it is asked
 * for.
 */
#include "stack_tree.h"

#include <stdlib.h>
#include <string.h>

#include "pattern.h"

#define ID_MAX	  (INT64_C(1) << 28) /* more rows than this are taken for damage */
#define DEPTH_MAX 100000	     /* frames; no recorder goes anywhere near */

/* perf script shows the innermost PERF_MAX_STACK_DEPTH addresses of a chain, however long it is. */
#define PERF_SCRIPT_MAX_STACK 127u

struct node {
	uint32_t parent, text, depth;
	bool is_excluded;
};

struct tl_stack_tree {
	struct tl_store *store;
	struct tl_tree_options opt;
	struct tl_frame_names *names;
	regex_t *excludes;
	size_t exclude_count;
	unsigned char *text_marks; /* by text: 0 not matched yet, 1 kept, 2 excluded */
	size_t text_mark_capacity;

	struct node *nodes;
	size_t node_count, node_capacity;
	struct tl_index node_index;
	int64_t stack_max;
	uint32_t *node_of[2]; /* by is_java, then stack id: node + 1; 0 not made */

	struct tl_statement *find_stack;
	struct step {
		int64_t stack_id, frame_id, depth;
	} * steps; /* scratch: a chain on its way up */
	size_t step_capacity;
	uint32_t *walk; /* scratch: texts from a node to the top */
	size_t walk_capacity;
};

/* ---- opening ---- */

static int compile_excludes(struct tl_stack_tree *tree, struct tl_error *err)
{
	const struct tl_tree_options *opt = &tree->opt;

	if (!opt->exclude_count)
		return TL_OK;
	tree->excludes = tl_alloc(opt->exclude_count, sizeof(*tree->excludes), err);
	if (!tree->excludes)
		return TL_NOMEM;
	for (size_t i = 0; i < opt->exclude_count; i++) {
		int ret = tl_pattern_compile(&tree->excludes[i], opt->exclude_patterns[i], false,
					     err);

		if (ret < 0)
			return ret;
		tree->exclude_count++;
	}
	return TL_OK;
}

int tl_tree_open(struct tl_stack_tree **out, struct tl_store *store,
		 const struct tl_tree_options *opt, struct tl_error *err)
{
	struct tl_stack_tree *tree = tl_alloc(1, sizeof(*tree), err);
	int ret;

	*out = NULL;
	if (!tree)
		return TL_NOMEM;
	tree->store = store;
	tree->opt = *opt;
	ret = compile_excludes(tree, err);
	if (ret == TL_OK)
		ret = tl_frame_names_open(&tree->names, store, &opt->frames, err);
	if (ret == TL_OK)
		ret = tl_store_value(store, "SELECT max(stack_id) FROM stack", 0, &tree->stack_max,
				     err);
	if (ret == TL_OK && (tree->stack_max < 0 || tree->stack_max > ID_MAX))
		ret = tl_fail(err, TL_STORE, "table stack has the id %lld: damaged",
			      (long long)tree->stack_max);
	if (ret == TL_OK)
		ret = tl_grow(&tree->nodes, &tree->node_capacity, 2, err);
	if (ret < 0) {
		tl_tree_close(tree);
		return ret;
	}
	tree->node_count = 2; /* TL_TREE_TOP, TREE_LOST */
	*out = tree;
	return TL_OK;
}

void tl_tree_close(struct tl_stack_tree *tree)
{
	if (!tree)
		return;
	tl_statement_close(tree->find_stack);
	tl_frame_names_close(tree->names);
	for (size_t i = 0; i < tree->exclude_count; i++)
		regfree(&tree->excludes[i]);
	free(tree->excludes);
	free(tree->text_marks);
	free(tree->nodes);
	tl_index_release(&tree->node_index);
	free(tree->node_of[false]);
	free(tree->node_of[true]);
	free(tree->steps);
	free(tree->walk);
	free(tree);
}

/* ---- nodes ---- */

bool tl_tree_excludes_text(const struct tl_stack_tree *tree, const char *text)
{
	for (size_t i = 0; i < tree->exclude_count; i++)
		if (!regexec(&tree->excludes[i], text, 0, NULL, 0))
			return true;
	return false;
}

static bool is_match(struct tl_stack_tree *tree, uint32_t text)
{
	if (!tree->text_marks[text])
		tree->text_marks[text] =
			tl_tree_excludes_text(tree, tl_frame_text(tree->names, text)->text) ? 2 : 1;
	return tree->text_marks[text] == 2;
}

/* Where the chains are that the rules to be compatible with throw away: it has no children. */
#define TREE_LOST 1u
/* In node_of: a piece of the chain is shown, and nobody has asked for it yet. */
#define TREE_CUT (UINT32_MAX - 1)

static int push(struct tl_stack_tree *tree, uint32_t text, uint32_t *node, struct tl_error *err)
{
	uint32_t parent = *node;
	uint64_t hash = tl_hash_u64((uint64_t)parent << 32 | text, 7);
	struct node *new;
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&tree->node_index, hash, &probe)) >= 0) {
		if (tree->nodes[found].parent == parent && tree->nodes[found].text == text) {
			*node = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&tree->nodes, &tree->node_capacity, tree->node_count + 1, err);
	if (ret == TL_OK && tree->exclude_count)
		ret = tl_grow(&tree->text_marks, &tree->text_mark_capacity,
			      tl_frame_text_count(tree->names), err);
	if (ret == TL_OK)
		ret = tl_index_add(&tree->node_index, hash, (uint32_t)tree->node_count, err);
	if (ret < 0)
		return ret;
	new = &tree->nodes[tree->node_count];
	new->parent = parent;
	new->text = text;
	new->depth = tree->nodes[parent].depth + 1;
	new->is_excluded =
		tree->nodes[parent].is_excluded || (tree->exclude_count && is_match(tree, text));
	*node = (uint32_t)tree->node_count++;
	return TL_OK;
}

/* From the node of the caller to that of the frame: 0, 1 or more steps. */
static int push_frame(struct tl_stack_tree *tree, int64_t frame_id, bool is_java, uint32_t *node,
		      struct tl_error *err)
{
	const uint32_t *path;
	bool is_marker;
	size_t count;
	int ret =
		tl_frame_names_path(tree->names, frame_id, is_java, &path, &count, &is_marker, err);

	if (*node == TREE_LOST ||
	    (is_marker && tree->opt.frames.rules.compat != TL_COMPAT_NATIVE)) {
		*node = TREE_LOST;
		return ret;
	}
	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		if (tree->opt.max_depth && tree->nodes[*node].depth >= tree->opt.max_depth)
			break;
		ret = push(tree, path[i], node, err);
	}
	return ret;
}

/* ---- rows ---- */

enum { STACK_ID, STACK_PARENT, STACK_FRAME, STACK_DEPTH };
#define STACK_SQL     "SELECT stack_id, parent_id, frame_id, depth FROM stack"
#define STACK_COLUMNS "stack_id parent_id frame_id depth"

/* Only a piece of such a chain is shown, which is no continuation of its caller's. */
static bool is_cut(const struct tl_stack_tree *tree, int64_t depth)
{
	return tree->opt.frames.rules.compat != TL_COMPAT_NATIVE && depth > PERF_SCRIPT_MAX_STACK;
}

static int need_node_of(struct tl_stack_tree *tree, bool is_java, struct tl_error *err)
{
	/* untouched pages cost nothing, so gaps between ids do not matter */
	if (!tree->node_of[is_java])
		tree->node_of[is_java] =
			tl_alloc((size_t)tree->stack_max + 1, sizeof(uint32_t), err);
	return tree->node_of[is_java] ? TL_OK : TL_NOMEM;
}

static int fail_parent(int64_t stack_id, int64_t parent, struct tl_error *err)
{
	return tl_fail(err, TL_STORE, "stack %lld has the parent %lld, which is not there: damaged",
		       (long long)stack_id, (long long)parent);
}

static int load_row(struct tl_stack_tree *tree, struct tl_statement *st, bool is_java,
		    struct tl_error *err)
{
	uint32_t *node_of = tree->node_of[is_java], node = TL_TREE_TOP;
	int64_t id = tl_column_i64(st, STACK_ID), parent = tl_column_i64(st, STACK_PARENT);
	int ret;

	if (!tl_column_is_null(st, STACK_PARENT)) {
		if (parent <= 0 || parent >= id || !node_of[parent])
			return fail_parent(id, parent, err);
		node = node_of[parent] - 1;
	}
	if (is_cut(tree, tl_column_i64(st, STACK_DEPTH))) {
		node_of[id] = TREE_CUT + 1;
		return TL_OK;
	}
	ret = push_frame(tree, tl_column_i64(st, STACK_FRAME), is_java, &node, err);
	node_of[id] = node + 1;
	return ret;
}

int tl_tree_load(struct tl_stack_tree *tree, bool is_java, struct tl_error *err)
{
	struct tl_statement *st = NULL;
	int ret = need_node_of(tree, is_java, err);

	if (ret == TL_OK)
		ret = tl_frame_names_load(tree->names, err);
	if (ret == TL_OK)
		/* callers are written before what they call, so their numbers are smaller */
		ret = tl_statement_open(&st, tree->store,
					STACK_SQL " WHERE stack_id > 0 ORDER BY stack_id",
					STACK_COLUMNS, err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = load_row(tree, st, is_java, err);

		if (status < 0)
			ret = status;
	}
	tl_statement_close(st);
	return ret;
}

/*
 * Steps from a chain up to its outermost frame that is shown, or to the first one that `node_of`
 * knows (NULL: none). *count steps, innermost first; *known: the id that is known, or 0.
 */
static int walk_up(struct tl_stack_tree *tree, int64_t stack_id, const uint32_t *node_of,
		   size_t *count, int64_t *known, struct tl_error *err)
{
	int ret = TL_OK;

	*count = 0;
	*known = 0;
	if (!tree->find_stack)
		ret = tl_statement_open(&tree->find_stack, tree->store,
					STACK_SQL " WHERE stack_id = ?", STACK_COLUMNS, err);
	for (int64_t id = stack_id, from = stack_id; ret == TL_OK && id;) {
		struct step *step;

		if (node_of && id > 0 && id <= tree->stack_max && node_of[id]) {
			*known = id;
			break;
		}
		ret = tl_grow(&tree->steps, &tree->step_capacity, *count + 1, err);
		if (ret < 0)
			break;
		tl_bind_i64(tree->find_stack, 1, id);
		ret = tl_statement_step(tree->find_stack, err);
		if (ret <= 0 || *count == DEPTH_MAX) {
			tl_statement_reset(tree->find_stack);
			return ret < 0 ? ret : fail_parent(from, id, err);
		}
		step = &tree->steps[(*count)++];
		step->stack_id = id;
		step->frame_id = tl_column_i64(tree->find_stack, STACK_FRAME);
		step->depth = tl_column_i64(tree->find_stack, STACK_DEPTH);
		from = id;
		id = tl_column_i64(tree->find_stack, STACK_PARENT);
		tl_statement_reset(tree->find_stack);
		ret = TL_OK;
		if (*count == PERF_SCRIPT_MAX_STACK && is_cut(tree, tree->steps[0].depth))
			break;
	}
	return ret;
}

/* The piece of a long chain that is shown; nothing of it belongs to the chains of its callers. */
static int cut_node(struct tl_stack_tree *tree, int64_t stack_id, bool is_java, uint32_t *node,
		    struct tl_error *err)
{
	int64_t known;
	size_t count;
	int ret = walk_up(tree, stack_id, NULL, &count, &known, err);

	*node = TL_TREE_TOP;
	while (count && ret == TL_OK)
		ret = push_frame(tree, tree->steps[--count].frame_id, is_java, node, err);
	return ret;
}

/* Whether the chain is cut; one that is not there is found out by the walk. */
static int check_cut(struct tl_stack_tree *tree, int64_t stack_id, bool *is_chain_cut,
		     struct tl_error *err)
{
	int ret = TL_OK;

	*is_chain_cut = false;
	if (tree->opt.frames.rules.compat == TL_COMPAT_NATIVE)
		return TL_OK;
	if (!tree->find_stack)
		ret = tl_statement_open(&tree->find_stack, tree->store,
					STACK_SQL " WHERE stack_id = ?", STACK_COLUMNS, err);
	if (ret < 0)
		return ret;
	tl_bind_i64(tree->find_stack, 1, stack_id);
	ret = tl_statement_step(tree->find_stack, err);
	if (ret > 0)
		*is_chain_cut = is_cut(tree, tl_column_i64(tree->find_stack, STACK_DEPTH));
	tl_statement_reset(tree->find_stack);
	return ret < 0 ? ret : TL_OK;
}

static int find_node(struct tl_stack_tree *tree, int64_t stack_id, bool is_java, uint32_t *node,
		     struct tl_error *err)
{
	uint32_t *node_of = tree->node_of[is_java];
	bool is_known = stack_id > 0 && stack_id <= tree->stack_max && node_of[stack_id];
	bool is_chain_cut = is_known && node_of[stack_id] - 1 == TREE_CUT;
	int64_t known;
	size_t count;
	int ret = is_known ? TL_OK : check_cut(tree, stack_id, &is_chain_cut, err);

	if (ret == TL_OK && is_chain_cut) {
		ret = cut_node(tree, stack_id, is_java, node, err);
		if (ret == TL_OK && stack_id > 0 && stack_id <= tree->stack_max)
			node_of[stack_id] = *node + 1;
		return ret;
	}
	if (is_known) {
		*node = node_of[stack_id] - 1;
		return TL_OK;
	}
	if (ret == TL_OK)
		ret = walk_up(tree, stack_id, node_of, &count, &known, err);
	if (ret < 0)
		return ret;
	if (known)
		*node = node_of[known] - 1;
	while (count && ret == TL_OK) {
		const struct step *step = &tree->steps[--count];

		ret = push_frame(tree, step->frame_id, is_java, node, err);
		node_of[step->stack_id] = *node + 1;
	}
	return ret;
}

int tl_tree_node(struct tl_stack_tree *tree, int64_t stack_id, bool is_java, uint32_t *node,
		 struct tl_error *err)
{
	int ret = need_node_of(tree, is_java, err);

	*node = TL_TREE_TOP;
	if (ret == TL_OK)
		ret = find_node(tree, stack_id, is_java, node, err);
	if (*node == TREE_LOST)
		*node = TL_TREE_TOP;
	return ret;
}

bool tl_tree_is_excluded(const struct tl_stack_tree *tree, uint32_t node)
{
	return tree->nodes[node].is_excluded;
}

/* ---- text ---- */

void tl_tree_text(struct tl_stack_tree *tree, uint32_t node, struct tl_text *out)
{
	size_t depth = tree->nodes[node].depth;

	if (tl_grow(&tree->walk, &tree->walk_capacity, depth, NULL) < 0) {
		out->failed = true;
		return;
	}
	for (size_t i = depth; i-- > 0; node = tree->nodes[node].parent)
		tree->walk[i] = tree->nodes[node].text;
	for (size_t i = 0; i < depth; i++) {
		const struct tl_interned *text = tl_frame_text(tree->names, tree->walk[i]);

		tl_text_add(out, ";", 1);
		tl_text_add(out, text->text, text->length);
	}
}

void tl_tree_waker_text(const struct tl_stack_tree *tree, uint32_t node, struct tl_text *out)
{
	for (; node != TL_TREE_TOP; node = tree->nodes[node].parent) {
		const struct tl_interned *text = tl_frame_text(tree->names, tree->nodes[node].text);

		tl_text_add(out, ";", 1);
		tl_text_add(out, text->text, text->length);
		tl_text_puts(out, "_[w]");
	}
}

int tl_tree_script(struct tl_stack_tree *tree, int64_t stack_id, bool has_callchain,
		   struct tl_text *out, struct tl_error *err)
{
	int64_t known;
	size_t count;
	int ret = walk_up(tree, stack_id, NULL, &count, &known, err);

	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		struct tl_folded_frame frame;

		ret = tl_frame_names_describe(tree->names, tree->steps[i].frame_id, &frame, err);
		if (ret < 0)
			break;
		tl_script_frame(out, tree->opt.frames.rules.compat, has_callchain, &frame);
		tl_text_puts(out, "\n");
	}
	return ret;
}
