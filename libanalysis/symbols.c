/*
 * symbols.c - all binaries of one recording: finds or makes a DSO, loads it once when it is first
 * asked, answers lookups. What a file of each kind looks like is known elsewhere.
 */
#include "symbols_private.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- opening ---- */

static const char *copy(struct tl_symbols *s, const char *text, int *ret, struct tl_error *err)
{
	char *out;

	if (!text)
		return NULL;
	out = tl_arena_copy(&s->arena, text, strlen(text), err);
	if (!out)
		*ret = TL_NOMEM;
	return out;
}

static int copy_options(struct tl_symbols *s, const struct tl_symbol_options *opt,
			struct tl_error *err)
{
	const struct tl_archive **archives;
	const char **dirs;
	int ret = TL_OK;

	s->options = *opt;
	s->options.symfs = opt->symfs && opt->symfs[0] && strcmp(opt->symfs, "/") != 0
				   ? copy(s, opt->symfs, &ret, err)
				   : NULL;
	s->options.home_cache = copy(s, opt->home_cache, &ret, err);
	dirs = tl_arena_alloc(&s->arena, (opt->buildid_dir_count + 1) * sizeof(*dirs), err);
	if (!dirs)
		return TL_NOMEM;
	for (size_t i = 0; i < opt->buildid_dir_count; i++)
		dirs[i] = copy(s, opt->buildid_dirs[i], &ret, err);
	s->options.buildid_dirs = dirs;
	archives = tl_arena_alloc(&s->arena, (opt->archive_count + 1) * sizeof(*archives), err);
	if (!archives)
		return TL_NOMEM;
	for (size_t i = 0; i < opt->archive_count; i++)
		archives[i] = opt->archives[i];
	s->options.archives = archives;
	return ret;
}

/* The user's own cache, unless the files of another machine were asked for. */
static int find_home_cache(struct tl_symbols *s, struct tl_error *err)
{
	struct passwd entry, *found = NULL;
	char buffer[4096], *path;
	int ret = TL_OK;

	if (s->options.symfs || s->options.no_default_dirs)
		return TL_OK;
	s->home_cache = s->options.home_cache;
	if (s->home_cache || getpwuid_r(geteuid(), &entry, buffer, sizeof(buffer), &found) != 0 ||
	    !found)
		return TL_OK;
	if (asprintf(&path, "%s/.debug", entry.pw_dir) < 0)
		return tl_fail(err, TL_NOMEM, "out of memory: a path");
	s->home_cache = copy(s, path, &ret, err);
	free(path);
	return ret;
}

int tl_symbols_open(struct tl_symbols **out, const struct tl_symbol_options *opt,
		    const struct tl_recording *recording, struct tl_error *err)
{
	static const struct tl_symbol_options no_options;
	struct tl_symbols *s = tl_alloc(1, sizeof(*s), err);
	struct utsname host;
	int ret = TL_OK;

	*out = NULL;
	if (!s)
		return TL_NOMEM;
	if (recording) {
		s->recording = *recording;
		s->recording.arch = copy(s, recording->arch, &ret, err);
		s->recording.os_release = copy(s, recording->os_release, &ret, err);
		s->recording.hostname = copy(s, recording->hostname, &ret, err);
	}
	if (ret == TL_OK)
		ret = copy_options(s, opt ? opt : &no_options, err);
	if (ret == TL_OK)
		ret = find_home_cache(s, err);
	if (ret < 0) {
		tl_symbols_close(s);
		return ret;
	}
	if (uname(&host) == 0 && s->recording.hostname) {
		s->is_same_host = !strcmp(host.nodename, s->recording.hostname) &&
				  (!s->recording.arch || !strcmp(host.machine, s->recording.arch));
		s->is_other_host = !s->is_same_host;
	}
	*out = s;
	return TL_OK;
}

static void dso_close(struct tl_symbols_dso *dso)
{
	symbols_inlines_close(dso->inlines);
	symbols_image_close(&dso->image);
	free(dso->segments);
	free((char *)(uintptr_t)dso->runtime.path);
	free((char *)(uintptr_t)dso->info.path);
	symbols_table_release(&dso->table);
	symbols_kernel_release(&dso->kernel);
	symbols_jit_release(&dso->jit);
	free(dso);
}

void tl_symbols_close(struct tl_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->dso_count; i++)
		dso_close(s->dsos[i]);
	for (size_t i = 0; i < s->provided_count; i++)
		symbols_table_release(&s->provided[i].table);
	free(s->dsos);
	free(s->provided);
	tl_index_release(&s->index);
	tl_arena_release(&s->arena);
	free(s);
}

/* ---- symbols that the recording carries ---- */

int tl_symbols_provide(struct tl_symbols *s, const struct tl_event_dso_symbols *t,
		       struct tl_error *err)
{
	struct symbols_provided *p;
	struct tl_text names = { 0 };
	uint32_t base = 0, at = 0;
	int ret = tl_grow(&s->provided, &s->provided_capacity, s->provided_count + 1, err);

	if (ret < 0)
		return ret;
	p = &s->provided[s->provided_count++];
	memset(p, 0, sizeof(*p));
	p->path = copy(s, t->path, &ret, err);
	p->context = t->context;
	p->has_segment = t->has_segment;
	p->segment_vaddr = t->segment_vaddr;
	p->segment_offset = t->segment_offset;
	for (size_t i = 0; i < t->symbol_count; i++)
		tl_text_add(&names, t->symbols[i].name, strlen(t->symbols[i].name) + 1);
	if (names.failed)
		ret = tl_fail(err, TL_NOMEM, "out of memory: %zu symbols", t->symbol_count);
	if (ret == TL_OK)
		ret = symbols_table_add_strings(&p->table, names.data, names.length, &base, err);
	tl_text_release(&names);
	for (size_t i = 0; ret == TL_OK && i < t->symbol_count; i++) {
		struct symbols_entry entry = { .start = t->symbols[i].address,
					       .size = t->symbols[i].size > UINT32_MAX
							       ? UINT32_MAX
							       : (uint32_t)t->symbols[i].size,
					       .name = base + at,
					       .binding = SYMBOLS_GLOBAL };

		at += (uint32_t)strlen(t->symbols[i].name) + 1;
		ret = symbols_table_add(&p->table, &entry, err);
	}
	p->table.is_mangled = true;
	if (ret == TL_OK)
		ret = symbols_table_sort(&p->table, err);
	if (ret == TL_OK) {
		symbols_table_set_ends(&p->table);
		ret = symbols_table_finish(&p->table, err);
	}
	return ret;
}

/* ---- finding or making a DSO ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_description(const struct tl_dso_description *a, const struct tl_dso_description *b)
{
	return a->kind == b->kind && same_text(a->path, b->path) &&
	       a->build_id.size == b->build_id.size &&
	       !memcmp(a->build_id.data, b->build_id.data, a->build_id.size) &&
	       a->has_inode == b->has_inode && a->major == b->major && a->minor == b->minor &&
	       a->inode == b->inode && a->inode_generation == b->inode_generation &&
	       a->pid == b->pid && a->inner_pid == b->inner_pid &&
	       same_text(a->reference_symbol, b->reference_symbol) &&
	       a->reference_address == b->reference_address && a->start == b->start &&
	       a->length == b->length;
}

static uint64_t hash_description(const struct tl_dso_description *d)
{
	uint64_t hash = d->path ? tl_hash(d->path, strlen(d->path), (uint64_t)d->kind) : 0;

	hash = tl_hash(d->build_id.data, d->build_id.size, hash);
	hash = tl_hash_u64(hash, d->inode ^ d->inode_generation << 32);
	return tl_hash_u64(hash, d->start ^ (uint64_t)(uint32_t)d->pid << 40);
}

int tl_symbols_dso(struct tl_symbols *s, const struct tl_dso_description *description,
		   struct tl_symbols_dso **out, struct tl_error *err)
{
	struct tl_dso_description d = *description;
	struct tl_symbols_dso *dso;
	uint64_t hash;
	size_t probe = 0;
	int64_t i;
	int ret = TL_OK;

	*out = NULL;
	if (d.build_id.size > TL_BUILD_ID_MAX)
		d.build_id.size = TL_BUILD_ID_MAX;
	hash = hash_description(&d);
	while ((i = tl_index_find(&s->index, hash, &probe)) >= 0) {
		if (same_description(&s->dsos[i]->description, &d)) {
			*out = s->dsos[i];
			return TL_OK;
		}
	}
	d.path = copy(s, d.path ? d.path : "", &ret, err);
	d.reference_symbol = copy(s, d.reference_symbol, &ret, err);
	if (ret < 0 || tl_grow(&s->dsos, &s->dso_capacity, s->dso_count + 1, err) < 0)
		return TL_NOMEM;
	dso = tl_alloc(1, sizeof(*dso), err);
	if (!dso)
		return TL_NOMEM;
	dso->symbols = s;
	dso->description = d;
	ret = tl_index_add(&s->index, hash, (uint32_t)s->dso_count, err);
	if (ret < 0) {
		free(dso);
		return ret;
	}
	s->dsos[s->dso_count++] = dso;
	*out = dso;
	return TL_OK;
}

/* ---- status ---- */

const char *tl_dso_status_name(enum tl_dso_status status)
{
	switch (status) {
	case TL_DSO_NOT_TRIED:
		return "not tried";
	case TL_DSO_OK:
		return "ok";
	case TL_DSO_NO_FILE:
		return "no file";
	case TL_DSO_MISMATCH:
		return "mismatch";
	case TL_DSO_CHANGED:
		return "changed";
	case TL_DSO_STRIPPED:
		return "stripped";
	case TL_DSO_WRONG_ARCH:
		return "wrong architecture";
	case TL_DSO_NOT_ELF:
		return "not ELF";
	case TL_DSO_FOREIGN_KERNEL:
		return "foreign kernel";
	case TL_DSO_NOT_APPLICABLE:
		return "not applicable";
	}
	return "unknown";
}

/* How much a status tells: what was wrong with a file says more than that there was none. */
static int weight(enum tl_dso_status status)
{
	switch (status) {
	case TL_DSO_NOT_TRIED:
		return 0;
	case TL_DSO_NO_FILE:
	case TL_DSO_NOT_APPLICABLE:
		return 1;
	case TL_DSO_NOT_ELF:
		return 2;
	case TL_DSO_STRIPPED:
		return 3;
	case TL_DSO_WRONG_ARCH:
	case TL_DSO_FOREIGN_KERNEL:
		return 4;
	case TL_DSO_CHANGED:
		return 5;
	case TL_DSO_MISMATCH:
		return 6;
	case TL_DSO_OK:
		return 7;
	}
	return 0;
}

int symbols_note(struct tl_symbols_dso *dso, enum tl_dso_status status, struct tl_error *err,
		 const char *fmt, ...)
{
	char *text, *printable;
	va_list args;
	size_t len;

	if (weight(status) <= weight(dso->status))
		return TL_OK;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return tl_fail(err, TL_NOMEM, "out of memory: a message");
	len = strlen(text);
	printable = tl_arena_alloc(&dso->symbols->arena, len + 1, err);
	if (printable)
		tl_printable(printable, len + 1, text, len);
	free(text);
	if (!printable)
		return TL_NOMEM;
	dso->status = status;
	dso->reason = printable;
	return TL_OK;
}

/* ---- loading ---- */

static struct symbols_provided *provided_for(const struct tl_symbols_dso *dso)
{
	const struct tl_symbols *s = dso->symbols;

	for (size_t i = 0; i < s->provided_count; i++)
		if (!strcmp(s->provided[i].path, dso->description.path) &&
		    (s->provided[i].context == TL_CONTEXT_KERNEL) ==
			    (dso->description.kind == TL_DSO_KERNEL ||
			     dso->description.kind == TL_DSO_MODULE))
			return &s->provided[i];
	return NULL;
}

static int load(struct tl_symbols_dso *dso, struct tl_error *err)
{
	if (dso->symbols->options.no_symbols)
		return TL_OK;
	dso->provided = provided_for(dso);
	if (dso->provided) {
		dso->status = TL_DSO_OK;
		return TL_OK;
	}
	switch (dso->description.kind) {
	case TL_DSO_FILE:
	case TL_DSO_VDSO:
		return symbols_load_file(dso, err);
	case TL_DSO_KERNEL:
		return symbols_load_kernel(dso, err);
	case TL_DSO_MODULE:
		return symbols_load_module(dso, err);
	case TL_DSO_PERF_MAP:
		return symbols_load_perf_map(dso, err);
	case TL_DSO_JITDUMP:
		return symbols_load_jitdump(dso, err);
	case TL_DSO_NAMED:
		dso->status = TL_DSO_OK;
		return TL_OK;
	case TL_DSO_UNKNOWN:
		return symbols_note(dso, TL_DSO_NOT_APPLICABLE, err, "%s is no file with names",
				    dso->description.path[0] ? dso->description.path
							     : "unmapped memory");
	}
	return TL_OK;
}

/* Once; a failure for want of memory is told to everyone who asks for a name. */
static int ensure_loaded(struct tl_symbols_dso *dso, struct tl_error *err)
{
	if (!dso->is_loaded) {
		dso->is_loaded = true;
		dso->load_error = load(dso, err);
		if (dso->load_error == TL_OK)
			return TL_OK;
	}
	return dso->load_error == TL_OK
		       ? TL_OK
		       : tl_fail(err, dso->load_error, "out of memory: symbols of %s",
				 dso->description.path);
}

enum tl_dso_status tl_symbols_status(struct tl_symbols_dso *dso)
{
	ensure_loaded(dso, NULL);
	return dso->status;
}

const char *tl_symbols_file(struct tl_symbols_dso *dso)
{
	ensure_loaded(dso, NULL);
	return dso->file;
}

const char *tl_symbols_reason(struct tl_symbols_dso *dso)
{
	ensure_loaded(dso, NULL);
	return dso->reason;
}

/* ---- addresses ---- */

/* Does the segment hold `offset`, give or take `slack`, when it is `size` bytes long? */
static bool segment_address(const struct symbols_segment *seg, uint64_t offset, uint64_t size,
			    uint64_t slack, uint64_t *address)
{
	uint64_t from = offset + slack, room = size + 2 * slack;

	if (from < offset || room < size || from - seg->offset >= room)
		return false;
	*address = offset - seg->offset + seg->vaddr;
	return true;
}

/*
 * The segment with code comes first, then others; then what a map shows of the file before and
 * after its segment, because maps begin and end at pages. perf also finds data behind the end of
 * the file, as far as the segment reaches in memory.
 */
bool tl_symbols_address(struct tl_symbols_dso *dso, uint64_t offset, uint64_t *address)
{
	static const struct {
		bool is_exec, in_memory;
		uint64_t slack;
	} tries[] = {
		{ true, false, 0 }, { false, false, 0 }, { true, false, 4095 }, { false, true, 0 }
	};

	ensure_loaded(dso, NULL);
	for (size_t t = 0; t < sizeof(tries) / sizeof(tries[0]); t++) {
		if (tries[t].in_memory && !dso->symbols->options.like_perf)
			break;
		for (size_t i = 0; i < dso->segment_count; i++) {
			const struct symbols_segment *seg = &dso->segments[i];
			uint64_t size = tries[t].in_memory || !seg->file_size ? seg->memory_size
									      : seg->file_size;

			if (seg->is_exec == tries[t].is_exec &&
			    segment_address(seg, offset, size, tries[t].slack, address))
				return true;
		}
	}
	return false;
}

static int show(struct symbols_table *table, struct symbols_entry *entry, uint64_t address,
		uint64_t offset, struct tl_symbol *out, struct tl_error *err)
{
	const struct symbols_shown *shown;
	int ret;

	if (!entry)
		return 0;
	ret = symbols_table_show(table, entry, &shown, err);
	if (ret < 0)
		return ret;
	out->name = shown->name;
	out->linkage_name = shown->linkage_name;
	out->start = offset - (address - entry->start);
	out->size = entry->size;
	return 1;
}

static int find_in(struct symbols_table *table, uint64_t address, uint64_t offset,
		   struct tl_symbol *out, struct tl_error *err)
{
	return show(table, symbols_table_find(table, address), address, offset, out, err);
}

/* kallsyms has the modules too, but those have DSOs of their own. */
static int find_kernel(struct tl_symbols_dso *dso, uint64_t ip, struct tl_symbol *out,
		       struct tl_error *err)
{
	uint64_t address = ip - dso->kernel.relocation;
	struct symbols_entry *entry = symbols_table_find(&dso->kernel.table, address);

	return entry && !entry->module ? show(&dso->kernel.table, entry, address, ip, out, err) : 0;
}

int tl_symbols_find(struct tl_symbols_dso *dso, uint64_t offset, int64_t ts, struct tl_symbol *out,
		    struct tl_error *err)
{
	struct symbols_entry *entry;
	struct symbols_table *table;
	uint64_t address;
	int ret = ensure_loaded(dso, err);

	memset(out, 0, sizeof(*out));
	if (ret < 0 || dso->status != TL_DSO_OK)
		return ret;
	if (dso->provided) {
		address = dso->provided->has_segment ? offset - dso->provided->segment_offset +
							       dso->provided->segment_vaddr
						     : offset;
		return find_in(&dso->provided->table, address, offset, out, err);
	}
	switch (dso->description.kind) {
	case TL_DSO_FILE:
	case TL_DSO_VDSO:
		return tl_symbols_address(dso, offset, &address)
			       ? find_in(&dso->table, address, offset, out, err)
			       : 0;
	case TL_DSO_NAMED:
		out->name = out->linkage_name = dso->description.path;
		out->start = dso->description.start;
		out->size = dso->description.length;
		return 1;
	case TL_DSO_KERNEL:
		return find_kernel(dso, offset, out, err);
	case TL_DSO_MODULE:
		entry = symbols_find_module(dso, offset, &table, &address);
		return show(table, entry, address, offset, out, err);
	case TL_DSO_PERF_MAP:
	case TL_DSO_JITDUMP:
		entry = symbols_jit_find(&dso->jit, offset, ts);
		return show(&dso->jit.table, entry, offset, offset, out, err);
	case TL_DSO_UNKNOWN:
		return 0;
	}
	return 0;
}

int tl_symbols_inlines(struct tl_symbols_dso *dso, uint64_t offset,
		       const struct tl_inline_frame **out, struct tl_error *err)
{
	uint64_t address;
	int ret = ensure_loaded(dso, err);

	*out = NULL;
	if (ret < 0 || !dso->info.path || !tl_symbols_address(dso, offset, &address))
		return ret;
	if (!dso->are_inlines_tried) {
		struct symbols_image image;

		symbols_image_open(&image, &dso->info, &dso->info_st);
		ret = symbols_inlines_open(&dso->inlines, &image, err);
	}
	dso->are_inlines_tried = true;
	if (ret < 0 || !dso->inlines)
		return ret;
	return symbols_inlines_find(dso->inlines, address, out, err);
}

/* ---- the image for the unwinder ---- */

const struct tl_symbols_image *tl_symbols_image(struct tl_symbols_dso *dso)
{
	ensure_loaded(dso, NULL);
	if (!dso->is_image_tried && dso->runtime.path)
		symbols_image_open(&dso->image, &dso->runtime, &dso->runtime_st);
	dso->is_image_tried = true;
	dso->shown_image.data = dso->image.data;
	dso->shown_image.size = dso->image.size;
	return dso->image.data ? &dso->shown_image : NULL;
}
