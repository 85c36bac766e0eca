/*
 * writer_rows.c - at the end of a source: names for its addresses, and the rows of what is
 * distinct: binaries, functions, frames, chains, sums.
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

struct named {
	uint32_t dso, name, linkage; /* indexes; linkage TL_NO_INDEX: the same */
	uint64_t start, size;
	bool has_range;
};

struct names {
	struct named *symbols;
	size_t count, capacity;
	struct tl_index index;
};

static int add_symbol(struct tl_writer *w, struct names *names, const struct named *symbol,
		      int64_t *row_id, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)symbol->dso << 32 | symbol->name, symbol->start);
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&names->index, hash, &probe)) >= 0) {
		const struct named *s = &names->symbols[found];

		if (s->dso == symbol->dso && s->name == symbol->name && s->start == symbol->start) {
			*row_id = w->next_symbol + found;
			return TL_OK;
		}
	}
	ret = tl_grow(&names->symbols, &names->capacity, names->count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&names->index, hash, (uint32_t)names->count, err);
	if (ret < 0)
		return ret;
	*row_id = w->next_symbol + (int64_t)names->count;
	names->symbols[names->count++] = *symbol;
	return TL_OK;
}

/* 0 in *row_id: nobody knows a name. */
static int name_frame(struct tl_writer *w, struct names *names, const struct tl_chain_frame *f,
		      int64_t *row_id, struct tl_error *err)
{
	struct named symbol = { .dso = f->dso, .name = f->symbol, .linkage = TL_NO_INDEX };
	struct tl_writer_dso *dso = f->dso == UINT32_MAX ? NULL : &w->dsos[f->dso];
	struct tl_symbol found;
	int ret;

	*row_id = 0;
	if (f->symbol != UINT32_MAX)
		return add_symbol(w, names, &symbol, row_id, err);
	if (!dso)
		return TL_OK;
	if (dso->description.kind == TL_DSO_NAMED) {
		symbol.name = dso->name;
		symbol.start = dso->description.start;
		symbol.size = dso->description.length;
		symbol.has_range = true;
		return add_symbol(w, names, &symbol, row_id, err);
	}
	if (!dso->symbols)
		return TL_OK;
	ret = tl_symbols_find(dso->symbols, f->address, INT64_MIN, &found, err);
	if (ret <= 0)
		return ret;
	symbol.start = found.start;
	symbol.size = found.size;
	symbol.has_range = true;
	ret = tl_intern(&w->strings, found.name, strlen(found.name), &symbol.name, err);
	if (ret == TL_OK && found.linkage_name && strcmp(found.linkage_name, found.name) != 0)
		ret = tl_intern(&w->strings, found.linkage_name, strlen(found.linkage_name),
				&symbol.linkage, err);
	return ret < 0 ? ret : add_symbol(w, names, &symbol, row_id, err);
}

static int put_inlines(struct tl_writer *w, const struct tl_chain_frame *f, int64_t frame_id,
		       struct tl_error *err)
{
	const struct tl_inline_frame *inlines;
	int count;

	if (!w->options.symbols.want_inlines || f->dso == UINT32_MAX || !w->dsos[f->dso].symbols)
		return TL_OK;
	count = tl_symbols_inlines(w->dsos[f->dso].symbols, f->address, &inlines, err);
	for (int i = 0; i < count; i++) {
		int64_t values[4] = { frame_id, i, 0, inlines[i].line };
		uint32_t name;
		int ret = tl_intern(&w->strings, inlines[i].function, strlen(inlines[i].function),
				    &name, err);

		if (ret == TL_OK)
			ret = tl_writer_string(w, name, &values[2], err);
		if (ret == TL_OK)
			ret = tl_writer_put(w, INSERT_FRAME_INLINE, values, 4,
					    (uint64_t)!inlines[i].line << 3, inlines[i].file,
					    inlines[i].file ? strlen(inlines[i].file) : 0, err);
		if (ret < 0)
			return ret;
	}
	return count < 0 ? count : TL_OK;
}

static const char *context_name(uint8_t context)
{
	static const char *const names[] = {
		[TL_CONTEXT_UNKNOWN] = "unknown",
		[TL_CONTEXT_USER] = "user",
		[TL_CONTEXT_KERNEL] = "kernel",
		[TL_CONTEXT_HYPERVISOR] = "hypervisor",
		[TL_CONTEXT_GUEST_KERNEL] = "guest_kernel",
		[TL_CONTEXT_GUEST_USER] = "guest_user",
	};

	return context < sizeof(names) / sizeof(names[0]) ? names[context] : "unknown";
}

static int put_frames(struct tl_writer *w, struct names *names, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < w->chains.frame_count && ret == TL_OK; i++) {
		const struct tl_chain_frame *f = &w->chains.frames[i];
		const char *context = context_name(f->context);
		bool has_dso = f->dso != UINT32_MAX, has_line = f->line != UINT32_MAX;
		int64_t values[5] = { w->next_frame + (int64_t)i,
				      has_dso ? w->dsos[f->dso].row_id : 0, 0, (int64_t)f->address,
				      0 };

		ret = name_frame(w, names, f, &values[2], err);
		if (ret == TL_OK && has_line)
			ret = tl_writer_string(w, f->line, &values[4], err);
		if (ret == TL_OK)
			ret = tl_writer_put(w, INSERT_FRAME, values, 5,
					    (uint64_t)!has_dso << 1 | (uint64_t)!values[2] << 2 |
						    (uint64_t)!has_line << 4,
					    context, strlen(context), err);
		if (ret == TL_OK)
			ret = put_inlines(w, f, values[0], err);
	}
	return ret;
}

static int put_symbols(struct tl_writer *w, const struct names *names, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < names->count && ret == TL_OK; i++) {
		const struct named *s = &names->symbols[i];
		bool has_dso = s->dso != UINT32_MAX, has_linkage = s->linkage != TL_NO_INDEX;
		int64_t values[6] = { w->next_symbol + (int64_t)i,
				      has_dso ? w->dsos[s->dso].row_id : 0,
				      0,
				      0,
				      (int64_t)s->start,
				      (int64_t)s->size };

		ret = tl_writer_string(w, s->name, &values[2], err);
		if (ret == TL_OK && has_linkage)
			ret = tl_writer_string(w, s->linkage, &values[3], err);
		if (ret == TL_OK)
			ret = tl_writer_put(w, INSERT_SYMBOL, values, 6,
					    (uint64_t)!has_dso << 1 | (uint64_t)!has_linkage << 3 |
						    (uint64_t)!s->has_range << 4 |
						    (uint64_t)!s->has_range << 5,
					    NULL, 0, err);
	}
	return ret;
}

static int put_stacks(struct tl_writer *w, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < w->chains.node_count && ret == TL_OK; i++) {
		const struct tl_chain_node *n = &w->chains.nodes[i];
		bool has_parent = n->parent != TL_NO_NODE;
		const int64_t values[4] = { w->next_stack + (int64_t)i,
					    has_parent ? w->next_stack + n->parent : 0,
					    w->next_frame + n->frame, n->depth };

		ret = tl_writer_put(w, INSERT_STACK, values, 4, (uint64_t)!has_parent << 1, NULL, 0,
				    err);
	}
	return ret;
}

static int put_sums(struct tl_writer *w, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < w->sum_count && ret == TL_OK; i++) {
		const struct tl_writer_sum *s = &w->sums[i];
		bool has_thread = s->thread != TL_NO_INDEX, has_name = s->name != TL_NO_INDEX;
		int64_t values[10] = { w->next_sum + (int64_t)i,
				       w->types[s->type].row_id,
				       0,
				       0,
				       w->next_stack + s->node,
				       s->recorded_pid,
				       s->recorded_tid,
				       w->next_cgroup + s->cgroup,
				       (int64_t)s->count,
				       (int64_t)s->period };

		if (has_thread)
			ret = tl_writer_thread_row(w, s->thread, &values[2], err);
		if (ret == TL_OK && has_name)
			ret = tl_writer_string(w, s->name, &values[3], err);
		if (ret == TL_OK)
			ret = tl_writer_put(w, INSERT_STACK_SUM, values, 10,
					    (uint64_t)!has_thread << 2 | (uint64_t)!has_name << 3 |
						    (uint64_t)(s->node == TL_NO_NODE) << 4 |
						    (uint64_t)(s->recorded_pid == TL_ID_NONE) << 5 |
						    (uint64_t)(s->recorded_tid == TL_ID_NONE) << 6 |
						    (uint64_t)(s->cgroup == TL_NO_INDEX) << 7,
					    NULL, 0, err);
	}
	return ret;
}

static const char *kind_name(enum tl_dso_kind kind)
{
	switch (kind) {
	case TL_DSO_FILE:
		return "file";
	case TL_DSO_KERNEL:
		return "kernel";
	case TL_DSO_MODULE:
		return "module";
	case TL_DSO_VDSO:
		return "vdso";
	case TL_DSO_PERF_MAP:
		return "perf_map";
	case TL_DSO_JITDUMP:
		return "jitdump";
	case TL_DSO_NAMED:
		return "named";
	case TL_DSO_UNKNOWN:
		break;
	}
	return "unknown";
}

static void bind_text(struct tl_statement *st, int parameter, const char *text)
{
	if (text)
		tl_bind_text(st, parameter, text, strlen(text));
	else
		tl_bind_null(st, parameter);
}

static int put_dso(struct tl_writer *w, struct tl_statement *st, const struct tl_writer_dso *dso,
		   struct tl_error *err)
{
	const struct tl_build_id *id = &dso->description.build_id;
	char hex[2 * TL_BUILD_ID_MAX + 1] = "";
	const char *status = dso->status;
	int64_t name_id;
	int ret = tl_writer_string(w, dso->name, &name_id, err);

	if (ret == TL_OK)
		ret = tl_rows_drain(w->rows, err);
	if (ret < 0)
		return ret;
	for (unsigned i = 0; i < id->size && i < TL_BUILD_ID_MAX; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->data[i]);
	if (!status && dso->symbols)
		status = tl_dso_status_name(tl_symbols_status(dso->symbols));
	tl_bind_i64(st, 1, dso->row_id);
	tl_bind_i64(st, 2, w->source_id);
	bind_text(st, 3, kind_name(dso->description.kind));
	tl_bind_i64(st, 4, name_id);
	bind_text(st, 5, *hex ? hex : NULL);
	bind_text(st, 6, status);
	bind_text(st, 7, dso->symbols ? tl_symbols_file(dso->symbols) : NULL);
	bind_text(st, 8, dso->symbols ? tl_symbols_reason(dso->symbols) : NULL);
	if (dso->has_load_address)
		tl_bind_i64(st, 9, (int64_t)dso->load_address);
	else
		tl_bind_null(st, 9);
	return tl_statement_run(st, err);
}

static int put_dsos(struct tl_writer *w, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_rows_drain(w->rows, err);

	if (ret == TL_OK)
		ret = tl_statement_open(
			&st, w->store,
			"INSERT INTO dso(dso_id, source_id, kind, name_id, build_id, "
			"symbol_status, symbol_file, symbol_reason, load_address) "
			"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
			NULL, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < w->dso_count && ret == TL_OK; i++)
		if (w->dsos[i].is_used)
			ret = put_dso(w, st, &w->dsos[i], err);
	tl_statement_close(st);
	return ret;
}

/* How user stacks were unwound, naming only the reasons that occurred. */
static int note_unwinding(struct tl_writer *w, struct tl_error *err)
{
	struct tl_unwind_counts c;
	struct tl_text text = { 0 };
	int ret;

	if (!w->unwinder)
		return TL_OK;
	tl_unwind_counts(w->unwinder, &c);
	const struct {
		uint64_t count;
		const char *why;
	} ends[] = {
		{ c.no_map, "where no file is mapped" },
		{ c.no_rule, "in code without call frame information" },
		{ c.not_tabled, "in code whose call frame information has no search table" },
		{ c.bad_rule, "at call frame information that makes no sense" },
		{ c.short_stack, "at the end of the recorded bytes" },
		{ c.bad_memory, "at memory that was not recorded" },
		{ c.looped, "in a loop" },
		{ c.depth_limit, "at the limit of frames" },
	};

	tl_text_printf(&text, "%llu reach the outermost function", (unsigned long long)c.complete);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends[i].count)
			tl_text_printf(&text, ", %llu end %s", (unsigned long long)ends[i].count,
				       ends[i].why);
	if (c.no_registers)
		tl_text_printf(&text, ", %llu have no registers",
			       (unsigned long long)c.no_registers);
	if (c.guessed)
		tl_text_printf(&text, "; %llu of %llu frames were found without a rule",
			       (unsigned long long)c.guessed, (unsigned long long)c.frames);
	ret = text.failed ? tl_fail(err, TL_NOMEM, "out of memory")
			  : tl_writer_note(w, TL_DIAGNOSTIC_NOTE, "user stacks unwound", c.stacks,
					   "stacks", text.data, err);
	tl_text_release(&text);
	if (ret == TL_OK && c.is_32_bit)
		ret = tl_writer_note(w, TL_DIAGNOSTIC_UNSUPPORTED,
				     "user stacks of 32-bit processes", c.is_32_bit, "stacks",
				     "they are not unwound", err);
	return ret;
}

int tl_writer_name_rows(struct tl_writer *w, struct tl_error *err)
{
	struct names names = { 0 };
	int ret;

	for (size_t i = 0; i < w->dso_count; i++)
		if (w->dsos[i].is_used)
			w->dsos[i].row_id = w->next_dso++;
	ret = put_frames(w, &names, err);
	if (ret == TL_OK)
		ret = put_symbols(w, &names, err);
	if (ret == TL_OK)
		ret = put_stacks(w, err);
	if (ret == TL_OK)
		ret = put_sums(w, err);
	if (ret == TL_OK)
		ret = put_dsos(w, err);
	if (ret == TL_OK)
		ret = note_unwinding(w, err);
	free(names.symbols);
	tl_index_release(&names.index);
	return ret;
}
