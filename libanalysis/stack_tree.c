/*
 * stack_tree.c - the tables stack, frame, symbol and dso as a tree of folded text, loaded whole or
 * as far as it is asked for.
 */
#include "stack_tree.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define ID_MAX	  (INT64_C(1) << 28) /* more rows than this are taken for damage */
#define DEPTH_MAX 100000	     /* frames; the deepest known recorder stops at 65535 */

/* Names are the same below any first frame but "java..." */
enum variant { PLAIN, JAVA, VARIANT_COUNT };

struct node {
	uint32_t parent, text, depth;
	bool is_excluded;
};

/* The texts of a frame are path[start, start + count), outermost first. */
struct path {
	uint32_t start, count;
	bool is_made;
};

struct frame {
	int64_t dso_id, symbol_id; /* 0: NULL */
	uint64_t address;
	char context; /* first letter; 'h'ypervisor and "guest_kernel" (K) are kernel's */
	bool is_known;
	struct path paths[VARIANT_COUNT];
};

struct symbol {
	const char *name;
	uint64_t start;
	bool has_start;
	struct path paths[VARIANT_COUNT];
};

struct dso {
	const char *name;
	bool breaks_names; /* with " (" in it: the compat rules then see symbol offsets */
	struct path paths[VARIANT_COUNT];
};

struct tl_stack_tree {
	struct tl_store *store;
	struct tl_tree_options opt;
	regex_t *excludes;
	size_t exclude_count;

	struct tl_arena arena;
	struct tl_interner texts;
	unsigned char *text_marks; /* by text: 0 not matched yet, 1 kept, 2 excluded */
	size_t text_mark_capacity;
	uint32_t *path; /* the texts of all frames */
	size_t path_count, path_capacity;

	struct frame *frames; /* by id */
	struct symbol *symbols;
	struct dso *dsos;
	int64_t frame_max, symbol_max, dso_max, stack_max;

	struct node *nodes;
	size_t node_count, node_capacity;
	struct tl_index node_index;
	uint32_t *node_of[VARIANT_COUNT]; /* by stack id: node + 1; 0 not made */

	struct tl_statement *find_frame, *find_stack, *find_inlines;
	struct step {
		int64_t stack_id, frame_id;
	} * steps; /* scratch: a chain on its way up */
	size_t step_capacity;
	uint32_t *walk; /* scratch: texts from a node to the top */
	size_t walk_capacity;
};

/* ---- opening ---- */

static int largest_id(struct tl_store *store, const char *sql, const char *table, int64_t *max,
		      struct tl_error *err)
{
	int ret = tl_store_value(store, sql, 0, max, err);

	if (ret == TL_OK && (*max < 0 || *max > ID_MAX))
		return tl_fail(err, TL_STORE, "table %s has the id %lld: damaged", table,
			       (long long)*max);
	return ret;
}

static int compile_excludes(struct tl_stack_tree *tree, struct tl_error *err)
{
	const struct tl_tree_options *opt = &tree->opt;

	if (!opt->exclude_count)
		return TL_OK;
	tree->excludes = tl_alloc(opt->exclude_count, sizeof(*tree->excludes), err);
	if (!tree->excludes)
		return TL_NOMEM;
	for (size_t i = 0; i < opt->exclude_count; i++) {
		char why[200];
		int code = regcomp(&tree->excludes[i], opt->exclude_patterns[i],
				   REG_EXTENDED | REG_NOSUB);

		if (code) {
			regerror(code, &tree->excludes[i], why, sizeof(why));
			return tl_fail(err, TL_USAGE, "'%s' is no regular expression: %s",
				       opt->exclude_patterns[i], why);
		}
		tree->exclude_count++;
	}
	return TL_OK;
}

enum { SYMBOL_ID, SYMBOL_START, SYMBOL_NAME };
enum { DSO_ID, DSO_NAME };

static const char *copy_column(struct tl_stack_tree *tree, struct tl_statement *st, int column,
			       struct tl_error *err)
{
	size_t len;
	const char *text = tl_column_text(st, column, &len);

	return tl_arena_copy(&tree->arena, text ? text : "", text ? len : 0, err);
}

static int load_symbols(struct tl_stack_tree *tree, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, tree->store,
				    "SELECT y.symbol_id, y.start, n.text FROM symbol y "
				    "JOIN string n ON n.string_id = y.name_id",
				    "symbol_id start text", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, SYMBOL_ID);
		struct symbol *symbol;

		if (id <= 0 || id > tree->symbol_max)
			continue;
		symbol = &tree->symbols[id];
		symbol->has_start = !tl_column_is_null(st, SYMBOL_START);
		symbol->start = (uint64_t)tl_column_i64(st, SYMBOL_START);
		symbol->name = copy_column(tree, st, SYMBOL_NAME, err);
		if (!symbol->name)
			ret = TL_NOMEM;
	}
	tl_statement_close(st);
	return ret;
}

static int load_dsos(struct tl_stack_tree *tree, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, tree->store,
				    "SELECT d.dso_id, n.text FROM dso d "
				    "JOIN string n ON n.string_id = d.name_id",
				    "dso_id text", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, DSO_ID);

		if (id <= 0 || id > tree->dso_max)
			continue;
		tree->dsos[id].name = copy_column(tree, st, DSO_NAME, err);
		if (!tree->dsos[id].name)
			ret = TL_NOMEM;
		else
			tree->dsos[id].breaks_names = strstr(tree->dsos[id].name, " (") != NULL;
	}
	tl_statement_close(st);
	return ret;
}

static int open_tables(struct tl_stack_tree *tree, struct tl_error *err)
{
	struct tl_store *store = tree->store;
	int ret = largest_id(store, "SELECT max(frame_id) FROM frame", "frame", &tree->frame_max,
			     err);

	if (ret == TL_OK)
		ret = largest_id(store, "SELECT max(symbol_id) FROM symbol", "symbol",
				 &tree->symbol_max, err);
	if (ret == TL_OK)
		ret = largest_id(store, "SELECT max(dso_id) FROM dso", "dso", &tree->dso_max, err);
	if (ret == TL_OK)
		ret = largest_id(store, "SELECT max(stack_id) FROM stack", "stack",
				 &tree->stack_max, err);
	if (ret < 0)
		return ret;
	/* untouched pages of these cost nothing, so gaps between ids do not matter */
	tree->frames = tl_alloc((size_t)tree->frame_max + 1, sizeof(*tree->frames), err);
	tree->symbols = tl_alloc((size_t)tree->symbol_max + 1, sizeof(*tree->symbols), err);
	tree->dsos = tl_alloc((size_t)tree->dso_max + 1, sizeof(*tree->dsos), err);
	if (!tree->frames || !tree->symbols || !tree->dsos)
		return TL_NOMEM;
	ret = load_symbols(tree, err);
	if (ret == TL_OK)
		ret = load_dsos(tree, err);
	return ret;
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
		ret = open_tables(tree, err);
	if (ret == TL_OK)
		ret = tl_grow(&tree->nodes, &tree->node_capacity, 1, err);
	if (ret < 0) {
		tl_tree_close(tree);
		return ret;
	}
	tree->node_count = 1; /* TL_TREE_TOP */
	*out = tree;
	return TL_OK;
}

void tl_tree_close(struct tl_stack_tree *tree)
{
	if (!tree)
		return;
	tl_statement_close(tree->find_frame);
	tl_statement_close(tree->find_stack);
	tl_statement_close(tree->find_inlines);
	for (size_t i = 0; i < tree->exclude_count; i++)
		regfree(&tree->excludes[i]);
	free(tree->excludes);
	tl_arena_release(&tree->arena);
	tl_interner_release(&tree->texts);
	free(tree->text_marks);
	free(tree->path);
	free(tree->frames);
	free(tree->symbols);
	free(tree->dsos);
	free(tree->nodes);
	tl_index_release(&tree->node_index);
	for (int v = 0; v < VARIANT_COUNT; v++)
		free(tree->node_of[v]);
	free(tree->steps);
	free(tree->walk);
	free(tree);
}

/* ---- the text of frames ---- */

static int add_to_path(struct tl_stack_tree *tree, struct path *path, const struct tl_text *text,
		       struct tl_error *err)
{
	uint32_t id;
	int ret;

	if (text->failed)
		return tl_fail(err, TL_NOMEM, "out of memory while naming frames");
	ret = tl_intern(&tree->texts, text->data ? text->data : "", text->length, &id, err);
	if (ret == TL_OK)
		ret = tl_grow(&tree->path, &tree->path_capacity, tree->path_count + 1, err);
	if (ret < 0)
		return ret;
	if (!path->count)
		path->start = (uint32_t)tree->path_count;
	tree->path[tree->path_count++] = id;
	path->count++;
	return TL_OK;
}

static struct tl_folded_frame describe(const struct tl_stack_tree *tree, const struct frame *frame)
{
	const struct symbol *symbol = &tree->symbols[frame->symbol_id];
	struct tl_folded_frame f = { .address = frame->address };

	if (frame->dso_id)
		f.dso = tree->dsos[frame->dso_id].name;
	if (!frame->symbol_id)
		return f;
	f.symbol = symbol->name;
	f.has_offset = symbol->has_start;
	f.offset = frame->address - symbol->start;
	return f;
}

/* Frames with the same name share the path of their symbol, or of their binary. */
static struct path *shared_path(struct tl_stack_tree *tree, struct frame *frame, enum variant v)
{
	const struct dso *dso = &tree->dsos[frame->dso_id];

	if (tree->opt.show_inlined)
		return &frame->paths[v];
	if (frame->symbol_id && tree->symbols[frame->symbol_id].name)
		return tree->opt.rules.compat == TL_COMPAT_PERL_TRACE && dso->breaks_names
			       ? &frame->paths[v]
			       : &tree->symbols[frame->symbol_id].paths[v];
	return tree->opt.rules.show_addresses ? &frame->paths[v]
					      : &tree->dsos[frame->dso_id].paths[v];
}

enum { INLINE_NAME };

/* Inlined functions stand inside the one whose symbol it is, outermost first. */
static int add_inlined(struct tl_stack_tree *tree, int64_t frame_id, struct path *path,
		       struct tl_error *err)
{
	struct tl_statement *st = tree->find_inlines;
	int ret = TL_OK;

	if (!st)
		ret = tl_statement_open(&tree->find_inlines, tree->store,
					"SELECT n.text FROM frame_inline i "
					"JOIN string n ON n.string_id = i.name_id "
					"WHERE i.frame_id = ? ORDER BY i.depth DESC",
					"text", err);
	st = tree->find_inlines;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, frame_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		struct tl_text text = { 0 };
		size_t len;
		const char *name = tl_column_text(st, INLINE_NAME, &len);

		tl_native_plain(&text, name ? name : "", name ? len : 0);
		tl_text_puts(&text, "_[i]");
		ret = add_to_path(tree, path, &text, err);
		tl_text_release(&text);
	}
	tl_statement_reset(st);
	return ret;
}

static int make_path(struct tl_stack_tree *tree, int64_t frame_id, enum variant v,
		     struct path *path, struct tl_error *err)
{
	const struct tl_folded_rules *rules = &tree->opt.rules;
	const struct tl_folded_sample sample = { .has_callchain = true };
	struct tl_folded_frame frame = describe(tree, &tree->frames[frame_id]);
	struct tl_text text = { 0 };
	bool is_kept = true;
	int ret = TL_OK;

	if (rules->compat == TL_COMPAT_NATIVE)
		tl_native_frame(&text, rules, &frame);
	else
		is_kept = tl_compat_frame(&text, rules, &sample, &frame, v == JAVA);
	if (is_kept || text.failed)
		ret = add_to_path(tree, path, &text, err);
	tl_text_release(&text);
	if (ret == TL_OK && tree->opt.show_inlined)
		ret = add_inlined(tree, frame_id, path, err);
	path->is_made = true;
	return ret;
}

static bool is_wanted(const struct tl_stack_tree *tree, const struct frame *frame)
{
	bool is_user = frame->context == 'u', is_kernel = frame->context == 'k';

	/* what the recording does not say stays */
	return !(tree->opt.user_only && is_kernel) && !(tree->opt.kernel_only && is_user);
}

/* ---- nodes ---- */

static bool is_match(struct tl_stack_tree *tree, uint32_t text)
{
	if (!tree->text_marks[text]) {
		bool is_excluded = false;

		for (size_t i = 0; i < tree->exclude_count && !is_excluded; i++)
			is_excluded = !regexec(&tree->excludes[i], tree->texts.strings[text].text,
					       0, NULL, 0);
		tree->text_marks[text] = is_excluded ? 2 : 1;
	}
	return tree->text_marks[text] == 2;
}

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
		ret = tl_grow(&tree->text_marks, &tree->text_mark_capacity, tree->texts.count, err);
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
static int push_frame(struct tl_stack_tree *tree, int64_t frame_id, enum variant v, uint32_t *node,
		      struct tl_error *err)
{
	struct frame *frame = &tree->frames[frame_id];
	struct path *path;
	int ret = TL_OK;

	if (!is_wanted(tree, frame))
		return TL_OK;
	path = shared_path(tree, frame, v);
	if (!path->is_made)
		ret = make_path(tree, frame_id, v, path, err);
	for (uint32_t i = 0; i < path->count && ret == TL_OK; i++) {
		if (tree->opt.max_depth && tree->nodes[*node].depth >= tree->opt.max_depth)
			break;
		ret = push(tree, tree->path[path->start + i], node, err);
	}
	return ret;
}

/* ---- rows ---- */

enum { FRAME_ID, FRAME_DSO, FRAME_SYMBOL, FRAME_ADDRESS, FRAME_CONTEXT };
#define FRAME_SQL     "SELECT frame_id, dso_id, symbol_id, address, context FROM frame"
#define FRAME_COLUMNS "frame_id dso_id symbol_id address context"

enum { STACK_ID, STACK_PARENT, STACK_FRAME };
#define STACK_SQL     "SELECT stack_id, parent_id, frame_id FROM stack"
#define STACK_COLUMNS "stack_id parent_id frame_id"

static int64_t known_id(int64_t id, int64_t max)
{
	return id > 0 && id <= max ? id : 0;
}

static void read_frame(struct tl_stack_tree *tree, struct tl_statement *st)
{
	int64_t id = known_id(tl_column_i64(st, FRAME_ID), tree->frame_max);
	struct frame *frame = &tree->frames[id];
	size_t len;
	const char *context = tl_column_text(st, FRAME_CONTEXT, &len);

	frame->dso_id = known_id(tl_column_i64(st, FRAME_DSO), tree->dso_max);
	frame->symbol_id = known_id(tl_column_i64(st, FRAME_SYMBOL), tree->symbol_max);
	frame->address = (uint64_t)tl_column_i64(st, FRAME_ADDRESS);
	/* "user", "kernel", "hypervisor", "guest_user", "guest_kernel", "unknown" */
	if (len > 6 && !memcmp(context, "guest_", 6))
		context += 6;
	frame->context = !len || !memcmp(context, "unk", 3) ? '?' : context[0] == 'u' ? 'u' : 'k';
	frame->is_known = true;
}

static int need_node_of(struct tl_stack_tree *tree, enum variant v, struct tl_error *err)
{
	if (!tree->node_of[v])
		tree->node_of[v] = tl_alloc((size_t)tree->stack_max + 1, sizeof(uint32_t), err);
	return tree->node_of[v] ? TL_OK : TL_NOMEM;
}

static int load_frames(struct tl_stack_tree *tree, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, tree->store, FRAME_SQL, FRAME_COLUMNS, err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		read_frame(tree, st);
	tl_statement_close(st);
	return ret;
}

static int fail_link(int64_t stack_id, const char *what, int64_t id, struct tl_error *err)
{
	return tl_fail(err, TL_STORE, "stack %lld has the %s %lld, which is not there: damaged",
		       (long long)stack_id, what, (long long)id);
}

int tl_tree_load(struct tl_stack_tree *tree, bool is_java, struct tl_error *err)
{
	enum variant v = is_java ? JAVA : PLAIN;
	struct tl_statement *st = NULL;
	int ret = need_node_of(tree, v, err);

	if (ret == TL_OK)
		ret = load_frames(tree, err);
	if (ret == TL_OK)
		/* callers are written before what they call, so their numbers are smaller */
		ret = tl_statement_open(&st, tree->store, STACK_SQL " ORDER BY stack_id",
					STACK_COLUMNS, err);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t id = known_id(tl_column_i64(st, STACK_ID), tree->stack_max);
		int64_t parent = known_id(tl_column_i64(st, STACK_PARENT), tree->stack_max);
		int64_t frame = known_id(tl_column_i64(st, STACK_FRAME), tree->frame_max);
		uint32_t node = TL_TREE_TOP;

		if (!tree->frames[frame].is_known)
			ret = fail_link(id, "frame", tl_column_i64(st, STACK_FRAME), err);
		else if (!tl_column_is_null(st, STACK_PARENT) && !tree->node_of[v][parent])
			ret = fail_link(id, "parent", tl_column_i64(st, STACK_PARENT), err);
		else if (!tl_column_is_null(st, STACK_PARENT))
			node = tree->node_of[v][parent] - 1;
		if (ret > 0)
			ret = push_frame(tree, frame, v, &node, err);
		tree->node_of[v][id] = node + 1;
	}
	tl_statement_close(st);
	return ret;
}

static int need_frame(struct tl_stack_tree *tree, int64_t stack_id, int64_t frame_id,
		      struct tl_error *err)
{
	int64_t id = known_id(frame_id, tree->frame_max);
	int ret = TL_OK;

	if (id && tree->frames[id].is_known)
		return TL_OK;
	if (!tree->find_frame)
		ret = tl_statement_open(&tree->find_frame, tree->store,
					FRAME_SQL " WHERE frame_id = ?", FRAME_COLUMNS, err);
	if (ret < 0)
		return ret;
	tl_bind_i64(tree->find_frame, 1, frame_id);
	ret = tl_statement_step(tree->find_frame, err);
	if (ret > 0)
		read_frame(tree, tree->find_frame);
	else if (ret == 0)
		ret = fail_link(stack_id, "frame", frame_id, err);
	tl_statement_reset(tree->find_frame);
	return ret < 0 ? ret : TL_OK;
}

/*
 * Steps from a chain up to its outermost frame, or to the first one that `node_of` knows (NULL:
 * none). *count steps, innermost first; *known: the id that is known, or 0.
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
			return ret < 0 ? ret : fail_link(from, "parent", id, err);
		}
		step = &tree->steps[(*count)++];
		step->stack_id = id;
		step->frame_id = tl_column_i64(tree->find_stack, STACK_FRAME);
		from = id;
		id = tl_column_i64(tree->find_stack, STACK_PARENT);
		tl_statement_reset(tree->find_stack);
		ret = need_frame(tree, from, step->frame_id, err);
	}
	return ret;
}

int tl_tree_node(struct tl_stack_tree *tree, int64_t stack_id, bool is_java, uint32_t *node,
		 struct tl_error *err)
{
	enum variant v = is_java ? JAVA : PLAIN;
	int64_t known;
	size_t count;
	int ret = need_node_of(tree, v, err);

	*node = TL_TREE_TOP;
	if (ret < 0)
		return ret;
	if (stack_id > 0 && stack_id <= tree->stack_max && tree->node_of[v][stack_id]) {
		*node = tree->node_of[v][stack_id] - 1;
		return TL_OK;
	}
	ret = walk_up(tree, stack_id, tree->node_of[v], &count, &known, err);
	if (ret < 0)
		return ret;
	if (known)
		*node = tree->node_of[v][known] - 1;
	while (count && ret == TL_OK) {
		const struct step *step = &tree->steps[--count];

		ret = push_frame(tree, step->frame_id, v, node, err);
		tree->node_of[v][step->stack_id] = *node + 1;
	}
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
		const struct tl_interned *text = &tree->texts.strings[tree->walk[i]];

		tl_text_add(out, ";", 1);
		tl_text_add(out, text->text, text->length);
	}
}

void tl_tree_waker_text(const struct tl_stack_tree *tree, uint32_t node, struct tl_text *out)
{
	for (; node != TL_TREE_TOP; node = tree->nodes[node].parent) {
		const struct tl_interned *text = &tree->texts.strings[tree->nodes[node].text];

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
		struct tl_folded_frame frame =
			describe(tree, &tree->frames[tree->steps[i].frame_id]);

		tl_script_frame(out, tree->opt.rules.compat, has_callchain, &frame);
		tl_text_puts(out, "\n");
	}
	return ret;
}
