/*
 * frame_names.c - the tables frame, symbol, dso and frame_inline as texts of frames.
 */
#include "frame_names.h"

#include <stdlib.h>
#include <string.h>

#define ID_MAX (INT64_C(1) << 28) /* more rows than this are taken for damage */

/* Names are the same below any first frame but "java..." */
enum variant { PLAIN, JAVA, VARIANT_COUNT };

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
	uint64_t load_address; /* modules: what perf prints is where they were in memory */
	bool breaks_names;     /* with " (" in it: the compat rules then see symbol offsets */
	struct path paths[VARIANT_COUNT];
};

struct tl_frame_names {
	struct tl_store *store;
	struct tl_frame_options opt;
	struct tl_arena arena;
	struct tl_interner texts;
	uint32_t *path; /* the texts of all frames */
	size_t path_count, path_capacity;
	struct frame *frames; /* by id */
	struct symbol *symbols;
	struct dso *dsos;
	int64_t frame_max, symbol_max, dso_max;
	struct tl_statement *find_frame, *find_inlines;
};

/* ---- tables ---- */

static int largest_id(struct tl_store *store, const char *sql, const char *table, int64_t *max,
		      struct tl_error *err)
{
	int ret = tl_store_value(store, sql, 0, max, err);

	if (ret == TL_OK && (*max < 0 || *max > ID_MAX))
		return tl_fail(err, TL_STORE, "table %s has the id %lld: damaged", table,
			       (long long)*max);
	return ret;
}

static int64_t known_id(int64_t id, int64_t max)
{
	return id > 0 && id <= max ? id : 0;
}

enum { SYMBOL_ID, SYMBOL_START, SYMBOL_NAME };
enum { DSO_ID, DSO_NAME, DSO_LOAD };

static const char *copy_column(struct tl_frame_names *names, struct tl_statement *st, int column,
			       struct tl_error *err)
{
	size_t len;
	const char *text = tl_column_text(st, column, &len);

	return tl_arena_copy(&names->arena, text ? text : "", text ? len : 0, err);
}

static int load_symbols(struct tl_frame_names *names, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, names->store,
				    "SELECT y.symbol_id, y.start, n.text FROM symbol y "
				    "JOIN string n ON n.string_id = y.name_id",
				    "symbol_id start text", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, SYMBOL_ID);
		struct symbol *symbol;

		if (id <= 0 || id > names->symbol_max)
			continue;
		symbol = &names->symbols[id];
		symbol->has_start = !tl_column_is_null(st, SYMBOL_START);
		symbol->start = (uint64_t)tl_column_i64(st, SYMBOL_START);
		symbol->name = copy_column(names, st, SYMBOL_NAME, err);
		if (!symbol->name)
			ret = TL_NOMEM;
	}
	tl_statement_close(st);
	return ret;
}

static int load_dsos(struct tl_frame_names *names, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, names->store,
				    "SELECT d.dso_id, n.text, d.load_address FROM dso d "
				    "JOIN string n ON n.string_id = d.name_id",
				    "dso_id text load_address", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t id = tl_column_i64(st, DSO_ID);

		if (id <= 0 || id > names->dso_max)
			continue;
		names->dsos[id].load_address = (uint64_t)tl_column_i64(st, DSO_LOAD);
		names->dsos[id].name = copy_column(names, st, DSO_NAME, err);
		if (!names->dsos[id].name)
			ret = TL_NOMEM;
		else
			names->dsos[id].breaks_names = strstr(names->dsos[id].name, " (") != NULL;
	}
	tl_statement_close(st);
	return ret;
}

static int open_tables(struct tl_frame_names *names, struct tl_error *err)
{
	struct tl_store *store = names->store;
	int ret = largest_id(store, "SELECT max(frame_id) FROM frame", "frame", &names->frame_max,
			     err);

	if (ret == TL_OK)
		ret = largest_id(store, "SELECT max(symbol_id) FROM symbol", "symbol",
				 &names->symbol_max, err);
	if (ret == TL_OK)
		ret = largest_id(store, "SELECT max(dso_id) FROM dso", "dso", &names->dso_max, err);
	if (ret < 0)
		return ret;
	/* untouched pages of these cost nothing, so gaps between ids do not matter */
	names->frames = tl_alloc((size_t)names->frame_max + 1, sizeof(*names->frames), err);
	names->symbols = tl_alloc((size_t)names->symbol_max + 1, sizeof(*names->symbols), err);
	names->dsos = tl_alloc((size_t)names->dso_max + 1, sizeof(*names->dsos), err);
	if (!names->frames || !names->symbols || !names->dsos)
		return TL_NOMEM;
	ret = load_symbols(names, err);
	if (ret == TL_OK)
		ret = load_dsos(names, err);
	return ret;
}

enum { FRAME_ID, FRAME_DSO, FRAME_SYMBOL, FRAME_ADDRESS, FRAME_CONTEXT };
#define FRAME_SQL     "SELECT frame_id, dso_id, symbol_id, address, context FROM frame"
#define FRAME_COLUMNS "frame_id dso_id symbol_id address context"

static void read_frame(struct tl_frame_names *names, struct tl_statement *st)
{
	int64_t id = known_id(tl_column_i64(st, FRAME_ID), names->frame_max);
	struct frame *frame = &names->frames[id];
	size_t len;
	const char *context = tl_column_text(st, FRAME_CONTEXT, &len);

	if (!id || !context)
		return;
	frame->dso_id = known_id(tl_column_i64(st, FRAME_DSO), names->dso_max);
	frame->symbol_id = known_id(tl_column_i64(st, FRAME_SYMBOL), names->symbol_max);
	frame->address = (uint64_t)tl_column_i64(st, FRAME_ADDRESS);
	/* "user", "kernel", "hypervisor", "guest_user", "guest_kernel", "unknown" */
	if (len > 6 && !memcmp(context, "guest_", 6))
		context += 6;
	frame->context = !len || !memcmp(context, "unk", 3) ? '?' : context[0] == 'u' ? 'u' : 'k';
	frame->is_known = true;
}

int tl_frame_names_load(struct tl_frame_names *names, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, names->store, FRAME_SQL, FRAME_COLUMNS, err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		read_frame(names, st);
	tl_statement_close(st);
	return ret;
}

static int need_frame(struct tl_frame_names *names, int64_t frame_id, struct tl_error *err)
{
	int64_t id = known_id(frame_id, names->frame_max);
	int ret = TL_OK;

	if (id && names->frames[id].is_known)
		return TL_OK;
	if (!names->find_frame)
		ret = tl_statement_open(&names->find_frame, names->store,
					FRAME_SQL " WHERE frame_id = ?", FRAME_COLUMNS, err);
	if (ret < 0)
		return ret;
	tl_bind_i64(names->find_frame, 1, frame_id);
	ret = tl_statement_step(names->find_frame, err);
	if (ret > 0)
		read_frame(names, names->find_frame);
	tl_statement_reset(names->find_frame);
	if (ret >= 0 && !(id && names->frames[id].is_known))
		return tl_fail(err, TL_STORE, "the frame %lld is not there: damaged",
			       (long long)frame_id);
	return ret < 0 ? ret : TL_OK;
}

/* ---- the text of frames ---- */

static int add_to_path(struct tl_frame_names *names, struct path *path, const struct tl_text *text,
		       struct tl_error *err)
{
	uint32_t id;
	int ret;

	if (text->failed)
		return tl_fail(err, TL_NOMEM, "out of memory while naming frames");
	ret = tl_intern(&names->texts, text->data ? text->data : "", text->length, &id, err);
	if (ret == TL_OK)
		ret = tl_grow(&names->path, &names->path_capacity, names->path_count + 1, err);
	if (ret < 0)
		return ret;
	if (!path->count)
		path->start = (uint32_t)names->path_count;
	names->path[names->path_count++] = id;
	path->count++;
	return TL_OK;
}

static struct tl_folded_frame describe(const struct tl_frame_names *names,
				       const struct frame *frame)
{
	const struct symbol *symbol = &names->symbols[frame->symbol_id];
	struct tl_folded_frame f = { .address = frame->address };

	if (frame->dso_id) {
		f.dso = names->dsos[frame->dso_id].name;
		f.address += names->dsos[frame->dso_id].load_address;
	}
	if (!frame->symbol_id)
		return f;
	f.symbol = symbol->name;
	f.has_offset = symbol->has_start;
	f.offset = frame->address - symbol->start;
	return f;
}

/* Frames with the same name share the path of their symbol, or of their binary. */
static struct path *shared_path(struct tl_frame_names *names, struct frame *frame, enum variant v)
{
	const struct dso *dso = &names->dsos[frame->dso_id];

	if (names->opt.show_inlined)
		return &frame->paths[v];
	if (frame->symbol_id && names->symbols[frame->symbol_id].name)
		return names->opt.rules.compat == TL_COMPAT_PERL_TRACE && dso->breaks_names
			       ? &frame->paths[v]
			       : &names->symbols[frame->symbol_id].paths[v];
	return names->opt.rules.show_addresses ? &frame->paths[v]
					       : &names->dsos[frame->dso_id].paths[v];
}

enum { INLINE_NAME };

/* Inlined functions stand inside the one whose symbol it is, outermost first. */
static int add_inlined(struct tl_frame_names *names, int64_t frame_id, struct path *path,
		       struct tl_error *err)
{
	struct tl_statement *st = names->find_inlines;
	int ret = TL_OK;

	if (!st)
		ret = tl_statement_open(&names->find_inlines, names->store,
					"SELECT n.text FROM frame_inline i "
					"JOIN string n ON n.string_id = i.name_id "
					"WHERE i.frame_id = ? ORDER BY i.depth DESC",
					"text", err);
	st = names->find_inlines;
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, frame_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		struct tl_text text = { 0 };
		size_t len;
		const char *name = tl_column_text(st, INLINE_NAME, &len);

		tl_native_plain(&text, name ? name : "", name ? len : 0);
		tl_text_puts(&text, "_[i]");
		ret = add_to_path(names, path, &text, err);
		tl_text_release(&text);
	}
	tl_statement_reset(st);
	return ret;
}

static int make_path(struct tl_frame_names *names, int64_t frame_id, enum variant v,
		     struct path *path, struct tl_error *err)
{
	const struct tl_folded_rules *rules = &names->opt.rules;
	const struct tl_folded_sample sample = { .has_callchain = true };
	struct tl_folded_frame frame = describe(names, &names->frames[frame_id]);
	struct tl_text text = { 0 };
	bool is_kept = true;
	int ret = TL_OK;

	if (rules->compat == TL_COMPAT_NATIVE)
		tl_native_frame(&text, rules, &frame);
	else
		is_kept = tl_compat_frame(&text, rules, &sample, &frame, v == JAVA);
	if (is_kept || text.failed)
		ret = add_to_path(names, path, &text, err);
	tl_text_release(&text);
	if (ret == TL_OK && names->opt.show_inlined)
		ret = add_inlined(names, frame_id, path, err);
	path->is_made = true;
	return ret;
}

static bool is_wanted(const struct tl_frame_names *names, const struct frame *frame)
{
	bool is_user = frame->context == 'u', is_kernel = frame->context == 'k';

	/* what the recording does not say stays */
	return !(names->opt.user_only && is_kernel) && !(names->opt.kernel_only && is_user);
}

/* No address, but where one should be: a marker that no reader knows, or garbage. */
static bool is_unknown_marker(const struct frame *frame)
{
	return frame->context == '?' && !frame->dso_id && !frame->symbol_id &&
	       frame->address >= (uint64_t)-4095;
}

int tl_frame_names_path(struct tl_frame_names *names, int64_t frame_id, bool is_java,
			const uint32_t **out, size_t *count, bool *is_marker, struct tl_error *err)
{
	enum variant v = is_java ? JAVA : PLAIN;
	int ret = need_frame(names, frame_id, err);
	struct path *path;

	*count = 0;
	*is_marker = ret == TL_OK && is_unknown_marker(&names->frames[frame_id]);
	if (ret < 0 || *is_marker || !is_wanted(names, &names->frames[frame_id]))
		return ret;
	path = shared_path(names, &names->frames[frame_id], v);
	if (!path->is_made)
		ret = make_path(names, frame_id, v, path, err);
	*out = names->path + path->start;
	*count = path->count;
	return ret;
}

const struct tl_interned *tl_frame_text(const struct tl_frame_names *names, uint32_t text)
{
	return &names->texts.strings[text];
}

size_t tl_frame_text_count(const struct tl_frame_names *names)
{
	return names->texts.count;
}

int tl_frame_names_describe(struct tl_frame_names *names, int64_t frame_id,
			    struct tl_folded_frame *out, struct tl_error *err)
{
	int ret = need_frame(names, frame_id, err);

	if (ret == TL_OK)
		*out = describe(names, &names->frames[frame_id]);
	return ret;
}

/* ---- opening ---- */

int tl_frame_names_open(struct tl_frame_names **out, struct tl_store *store,
			const struct tl_frame_options *opt, struct tl_error *err)
{
	struct tl_frame_names *names = tl_alloc(1, sizeof(*names), err);
	int ret;

	*out = NULL;
	if (!names)
		return TL_NOMEM;
	names->store = store;
	names->opt = *opt;
	ret = open_tables(names, err);
	if (ret < 0) {
		tl_frame_names_close(names);
		return ret;
	}
	*out = names;
	return TL_OK;
}

void tl_frame_names_close(struct tl_frame_names *names)
{
	if (!names)
		return;
	tl_statement_close(names->find_frame);
	tl_statement_close(names->find_inlines);
	tl_arena_release(&names->arena);
	tl_interner_release(&names->texts);
	free(names->path);
	free(names->frames);
	free(names->symbols);
	free(names->dsos);
	free(names);
}
