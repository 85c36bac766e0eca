/*
 * writer_sideband.c - processes, threads, names and memory maps of one source: kept until all are
 * there, put in order of time, then applied. Knows how recorders name what is no file.
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

/* ---- keeping ---- */

static const char *keep(struct tl_writer *w, const char *text, struct tl_error *err)
{
	return tl_arena_copy(&w->arena, text ? text : "", text ? strlen(text) : 0, err);
}

/* Makes the strings of a borrowed event our own. */
static int own_strings(struct tl_writer *w, struct tl_event *ev, struct tl_error *err)
{
	const char **text = NULL;

	switch (ev->kind) {
	case TL_EVENT_COMM:
		text = &ev->comm.name;
		break;
	case TL_EVENT_KSYMBOL:
		text = &ev->ksymbol.name;
		break;
	case TL_EVENT_CGROUP:
		text = &ev->cgroup.path;
		break;
	case TL_EVENT_MMAP:
		text = &ev->mmap.path;
		if (ev->mmap.reference_symbol) {
			ev->mmap.reference_symbol = keep(w, ev->mmap.reference_symbol, err);
			if (!ev->mmap.reference_symbol)
				return TL_NOMEM;
		}
		break;
	default: /* the others have none */
		return TL_OK;
	}
	*text = keep(w, *text, err);
	return *text ? TL_OK : TL_NOMEM;
}

static int add_pending(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	struct tl_writer_pending *p;
	int ret = tl_grow(&w->pending, &w->pending_capacity, w->pending_count + 1, err);

	if (ret < 0)
		return ret;
	p = &w->pending[w->pending_count];
	p->ts = ev->ts;
	p->order = w->pending_count++;
	p->event = *ev;
	return own_strings(w, &p->event, err);
}

static int by_time(const void *a, const void *b)
{
	const struct tl_writer_pending *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- binaries ---- */

static const char *without_deleted(const char *path, size_t *len)
{
	static const char deleted[] = " (deleted)";

	*len = strlen(path);
	if (*len > sizeof(deleted) - 1 && !strcmp(path + *len - (sizeof(deleted) - 1), deleted))
		*len -= sizeof(deleted) - 1;
	return path;
}

static uint64_t path_hash(const char *path)
{
	size_t len;

	path = without_deleted(path, &len);
	return tl_hash(path, len, 3);
}

static bool same_path(const char *a, const char *b)
{
	size_t x, y;

	a = without_deleted(a, &x);
	b = without_deleted(b, &y);
	return x == y && !memcmp(a, b, x);
}

/* The table of a file's build-ids: the last entry of a path counts, as with perf. */
static int on_dso(struct tl_writer *w, const struct tl_event_dso *ev, struct tl_error *err)
{
	struct tl_event_dso *d;
	int ret;

	if (!ev->build_id.size)
		return TL_OK;
	if (ev->context == TL_CONTEXT_KERNEL && !strncmp(ev->path, "[kernel.kallsyms]", 17))
		w->recording.kernel = ev->build_id;
	ret = tl_grow(&w->build_ids, &w->build_id_capacity, w->build_id_count + 1, err);
	if (ret < 0)
		return ret;
	d = &w->build_ids[w->build_id_count];
	*d = *ev;
	d->path = keep(w, ev->path, err);
	if (!d->path)
		return TL_NOMEM;
	return tl_index_add(&w->build_id_index, path_hash(d->path), (uint32_t)w->build_id_count++,
			    err);
}

static struct tl_build_id build_id_of(const struct tl_writer *w, const char *path)
{
	struct tl_build_id id = { 0 };
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&w->build_id_index, path_hash(path), &probe)) >= 0)
		if (same_path(w->build_ids[found].path, path))
			id = w->build_ids[found].build_id;
	return id;
}

static bool same_text(const char *a, const char *b)
{
	return (!a && !b) || (a && b && !strcmp(a, b));
}

static bool same_description(const struct tl_dso_description *a, const struct tl_dso_description *b)
{
	return a->kind == b->kind && !strcmp(a->path, b->path) &&
	       a->build_id.size == b->build_id.size &&
	       !memcmp(a->build_id.data, b->build_id.data, a->build_id.size) &&
	       a->has_inode == b->has_inode && a->inode == b->inode && a->major == b->major &&
	       a->minor == b->minor && a->inode_generation == b->inode_generation &&
	       a->pid == b->pid && a->inner_pid == b->inner_pid && a->start == b->start &&
	       a->length == b->length && same_text(a->reference_symbol, b->reference_symbol) &&
	       a->reference_address == b->reference_address;
}

/* Of all that tells files apart: a recording may name one path with many inodes. */
static uint64_t hash_description(const struct tl_dso_description *d)
{
	const uint64_t parts[] = { d->inode,
				   d->inode_generation,
				   (uint64_t)d->major << 32 | d->minor,
				   (uint64_t)(uint32_t)d->pid << 32 | (uint32_t)d->inner_pid,
				   d->start,
				   d->length,
				   d->reference_address,
				   (uint64_t)d->kind };
	uint64_t hash = tl_hash(parts, sizeof(parts), 0);

	hash = tl_hash(d->build_id.data, d->build_id.size, hash);
	return tl_hash(d->path, strlen(d->path), hash);
}

int tl_writer_dso(struct tl_writer *w, const struct tl_dso_description *description,
		  const char *name, uint32_t *out, struct tl_error *err)
{
	uint64_t hash = hash_description(description);
	struct tl_writer_dso *dso;
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&w->dso_index, hash, &probe)) >= 0) {
		if (same_description(&w->dsos[found].description, description)) {
			*out = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&w->dsos, &w->dso_capacity, w->dso_count + 1, err);
	if (ret < 0)
		return ret;
	dso = &w->dsos[w->dso_count];
	dso->description = *description;
	dso->description.path = keep(w, description->path, err);
	if (!dso->description.path)
		return TL_NOMEM;
	if (description->reference_symbol) {
		dso->description.reference_symbol = keep(w, description->reference_symbol, err);
		if (!dso->description.reference_symbol)
			return TL_NOMEM;
	}
	ret = tl_intern(&w->strings, name, strlen(name), &dso->name, err);
	if (ret == TL_OK && w->symbols && description->kind != TL_DSO_NAMED &&
	    description->kind != TL_DSO_UNKNOWN)
		ret = tl_symbols_dso(w->symbols, &dso->description, &dso->symbols, err);
	if (ret < 0)
		return ret;
	*out = (uint32_t)w->dso_count;
	return tl_index_add(&w->dso_index, hash, (uint32_t)w->dso_count++, err);
}

/* ---- maps ---- */

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* What perf calls anonymous memory and memory without a DSO (tools/perf/util/map.c). */
static bool is_anonymous(const char *path)
{
	return !*path || starts_with(path, "//anon") || starts_with(path, "/dev/zero") ||
	       starts_with(path, "/anon_hugepage");
}

static bool is_no_dso(const char *path)
{
	return starts_with(path, "[stack") || starts_with(path, "/SYSV") ||
	       starts_with(path, "[heap");
}

static bool is_nameless_code(const char *path)
{
	return starts_with(path, "[anon") || starts_with(path, "/memfd:") ||
	       starts_with(path, "memfd:") || starts_with(path, "anon_inode:");
}

/* jit-PID.dump, mapped by a JIT to leave a mark in the recording. */
static bool is_jitdump(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t digits;

	if (!starts_with(name, "jit-"))
		return false;
	digits = strspn(name + 4, "0123456789");
	return digits && !strcmp(name + 4 + digits, ".dump");
}

/* "/lib/modules/6.1/kernel/x/nf-nat.ko.xz" as perf shows it: "[nf_nat]". */
static void module_name(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = strcspn(name, ".");

	if (*path == '[') {
		snprintf(out, size, "%s", path);
		return;
	}
	if (len > size - 3)
		len = size - 3;
	snprintf(out, size, "[%.*s]", (int)len, name);
	for (char *c = out; *c; c++)
		if (*c == '-')
			*c = '_';
}

static int map_kernel(struct tl_writer *w, int64_t ts, const struct tl_event_mmap *m,
		      struct tl_error *err)
{
	bool is_image = starts_with(m->path, "[kernel") || starts_with(m->path, "[guest.kernel");
	struct tl_dso_description d = { .kind = is_image ? TL_DSO_KERNEL : TL_DSO_MODULE,
					.path = m->path,
					.build_id = m->build_id,
					.pid = TL_ID_NONE,
					.inner_pid = TL_ID_NONE,
					.reference_symbol = m->reference_symbol,
					.start = m->start,
					.length = m->length };
	struct tl_map map = { .start = m->start,
			      .end = m->start + m->length,
			      .ts = ts,
			      .file_offset = m->file_offset,
			      .is_exec = true };
	char name[256];
	int ret;

	if (is_image) {
		const char *end = strchr(m->path, ']');

		snprintf(name, sizeof(name), "%.*s",
			 (int)(end ? end - m->path + 1 : (ptrdiff_t)strlen(m->path)), m->path);
		d.reference_address = m->reference_symbol ? m->file_offset : 0;
		d.path = name;
	} else {
		module_name(m->path, name, sizeof(name));
	}
	if (!d.build_id.size)
		d.build_id = is_image ? w->recording.kernel : build_id_of(w, m->path);
	else if (is_image)
		w->recording.kernel = d.build_id;
	/*
	 * What is recorded of the kernel ends with its core text, and code of its initialisation lies
	 * beyond. Nothing but modules and loaded programs, which are mapped on their own, shares the
	 * addresses above, so the image reaches to the top, as perf has it.
	 */
	if (is_image || map.end < map.start)
		map.end = UINT64_MAX;
	ret = tl_writer_dso(w, &d, name, &map.dso, err);
	if (ret < 0)
		return ret;
	w->dsos[map.dso].has_load_address = !is_image;
	w->dsos[map.dso].load_address = m->start - m->file_offset;
	return tl_space_map(&w->spaces, w->kernel_space, &map, err);
}

/* The address space of a process from ts on, made if there is none. */
static int need_space(struct tl_writer *w, uint32_t process, int64_t ts, uint32_t *space,
		      struct tl_error *err)
{
	struct tl_process *p = &w->tasks.processes[process];
	int ret;

	*space = tl_writer_space(w, process, ts);
	if (*space != TL_NO_INDEX)
		return TL_OK;
	ret = tl_spaces_add(&w->spaces, UINT32_MAX, ts, space, err);
	if (ret == TL_OK)
		ret = tl_grow(&p->spaces, &p->space_capacity, p->space_count + 1, err);
	if (ret < 0)
		return ret;
	memmove(p->spaces + 1, p->spaces, p->space_count * sizeof(*p->spaces));
	p->spaces[0] = (struct tl_process_space) { .ts = INT64_MIN, .space = *space };
	p->space_count++;
	return TL_OK;
}

/* The first that began later; they are in order of time. */
static size_t space_after(const struct tl_process *p, int64_t ts)
{
	size_t low = 0, high = p->space_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->spaces[middle].ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t tl_writer_space(const struct tl_writer *w, uint32_t process, int64_t ts)
{
	const struct tl_process *p = &w->tasks.processes[process];
	size_t i = space_after(p, ts);

	return i ? p->spaces[i - 1].space : TL_NO_INDEX;
}

static int push_space(struct tl_writer *w, uint32_t process, int64_t ts, uint32_t parent,
		      struct tl_error *err)
{
	struct tl_process *p = &w->tasks.processes[process];
	uint32_t space;
	size_t at;
	int ret = tl_spaces_add(&w->spaces, parent, ts, &space, err);

	if (ret == TL_OK)
		ret = tl_grow(&p->spaces, &p->space_capacity, p->space_count + 1, err);
	if (ret < 0)
		return ret;
	at = space_after(p, ts);
	if (at < p->space_count)
		memmove(&p->spaces[at + 1], &p->spaces[at],
			(p->space_count - at) * sizeof(*p->spaces));
	p->spaces[at] = (struct tl_process_space) { .ts = ts, .space = space };
	p->space_count++;
	return TL_OK;
}

static int note_jitdump(struct tl_writer *w, uint32_t process, const struct tl_event_mmap *m,
			struct tl_error *err)
{
	struct tl_dso_description d = { .kind = TL_DSO_JITDUMP,
					.path = m->path,
					.pid = m->task.pid,
					.inner_pid = w->tasks.processes[process].inner_pid };
	uint32_t dso;
	int ret = tl_grow(&w->jitdump_of, &w->jitdump_capacity, (size_t)process + 1, err);

	if (ret == TL_OK)
		ret = tl_writer_dso(w, &d, m->path, &dso, err);
	if (ret == TL_OK)
		w->jitdump_of[process] = dso + 1;
	return ret;
}

static int map_user(struct tl_writer *w, int64_t ts, const struct tl_event_mmap *m,
		    struct tl_error *err)
{
	struct tl_dso_description d = { .kind = TL_DSO_FILE,
					.path = m->path,
					.build_id = m->build_id,
					.pid = TL_ID_NONE,
					.inner_pid = TL_ID_NONE,
					.has_inode = m->has_inode,
					.major = m->major,
					.minor = m->minor,
					.inode = m->inode,
					.inode_generation = m->inode_generation };
	struct tl_map map = { .start = m->start,
			      .end = m->start + m->length,
			      .ts = ts,
			      .file_offset = m->file_offset,
			      .is_exec = m->is_exec };
	const char *name = m->path;
	char perf_map[48];
	uint32_t process, space;
	int ret = tl_tasks_process(&w->tasks, ts, m->task.pid, &process, err);

	if (ret == TL_OK)
		ret = need_space(w, process, ts, &space, err);
	if (ret == TL_OK && is_jitdump(m->path))
		ret = note_jitdump(w, process, m, err);
	if (ret < 0)
		return ret;
	if (map.end < map.start)
		map.end = UINT64_MAX;
	if (!strcmp(m->path, "[vdso]")) {
		d.kind = TL_DSO_VDSO;
		map.file_offset = 0;
	} else if ((is_anonymous(m->path) || is_no_dso(m->path)) && m->is_exec) {
		snprintf(perf_map, sizeof(perf_map), "/tmp/perf-%d.map", (int)m->task.pid);
		d.kind = TL_DSO_PERF_MAP;
		d.path = name = perf_map;
	} else if (is_nameless_code(m->path)) {
		d.kind = TL_DSO_PERF_MAP;
	} else if (is_anonymous(m->path) || is_no_dso(m->path)) {
		d.kind = TL_DSO_UNKNOWN;
	}
	if (d.kind == TL_DSO_PERF_MAP) {
		d.pid = m->task.pid;
		d.inner_pid = w->tasks.processes[process].inner_pid;
	}
	if (d.kind != TL_DSO_FILE && d.kind != TL_DSO_VDSO)
		d.has_inode = false;
	if (!d.has_inode)
		d.major = d.minor = 0, d.inode = d.inode_generation = 0;
	if (!d.build_id.size && (d.kind == TL_DSO_FILE || d.kind == TL_DSO_VDSO))
		d.build_id = build_id_of(w, m->path);
	ret = tl_writer_dso(w, &d, name, &map.dso, err);
	return ret < 0 ? ret : tl_space_map(&w->spaces, space, &map, err);
}

static int on_ksymbol(struct tl_writer *w, int64_t ts, const struct tl_event_ksymbol *ev,
		      struct tl_error *err)
{
	struct tl_dso_description d = { .kind = TL_DSO_NAMED,
					.path = ev->name,
					.pid = TL_ID_NONE,
					.inner_pid = TL_ID_NONE,
					.start = ev->address,
					.length = ev->length };
	struct tl_map map = { .start = ev->address,
			      .end = ev->address + ev->length,
			      .ts = ts,
			      .dso = TL_MAP_HOLE,
			      .is_exec = true };
	int ret = TL_OK;

	if (map.end < map.start)
		map.end = UINT64_MAX;
	if (!ev->is_removed)
		ret = tl_writer_dso(w, &d, ev->name, &map.dso, err);
	return ret < 0 ? ret : tl_space_map(&w->spaces, w->kernel_space, &map, err);
}

/* ---- tasks ---- */

static int on_fork(struct tl_writer *w, int64_t ts, const struct tl_event_fork *ev,
		   struct tl_error *err)
{
	uint32_t child, parent;
	bool is_new_process;
	int ret = tl_tasks_fork(&w->tasks, ts, ev, &is_new_process, err);

	if (ret < 0 || !is_new_process)
		return ret;
	ret = tl_tasks_process(&w->tasks, ts, ev->child.pid, &child, err);
	if (ret < 0 || w->tasks.processes[child].parent == TL_NO_INDEX)
		return ret;
	parent = w->tasks.processes[child].parent;
	/* a synthesized FORK describes a relation, not a moment: maps of the child follow */
	if (ts == INT64_MIN)
		return TL_OK;
	return push_space(w, child, ts, tl_writer_space(w, parent, ts), err);
}

static int on_comm(struct tl_writer *w, int64_t ts, const struct tl_event_comm *ev,
		   struct tl_error *err)
{
	uint32_t thread, process = 0;
	int ret = tl_tasks_comm(&w->tasks, ts, ev, err);

	if (ret < 0 || !ev->is_exec)
		return ret;
	if (ev->task.pid != TL_ID_NONE) {
		ret = tl_tasks_process(&w->tasks, ts, ev->task.pid, &process, err);
	} else {
		ret = tl_tasks_thread(&w->tasks, ts, ev->task, &thread, err);
		process = ret < 0 ? 0 : w->tasks.threads[thread].process;
	}
	/*
	 * Until it returns from the kernel the thread's user frames are those of its call of execve,
	 * in the old image; nobody records when that is. So what the new image has not mapped is
	 * looked for in the old one, as perf does.
	 */
	return ret < 0 ? ret : push_space(w, process, ts, tl_writer_space(w, process, ts), err);
}

static int on_namespace(struct tl_writer *w, int64_t ts, const struct tl_event_namespace *ev,
			struct tl_error *err)
{
	uint32_t process;
	int ret = tl_tasks_process(&w->tasks, ts, ev->task.pid, &process, err);

	if (ret == TL_OK && ev->inner_pid != TL_ID_NONE)
		w->tasks.processes[process].inner_pid = ev->inner_pid;
	return ret;
}

static int on_cgroup(struct tl_writer *w, const struct tl_event_cgroup *ev, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64(ev->id, 4);
	struct tl_writer_cgroup *c;
	size_t probe = 0;
	int64_t found;
	uint32_t path;
	int ret = tl_intern(&w->strings, ev->path, strlen(ev->path), &path, err);

	if (ret < 0)
		return ret;
	while ((found = tl_index_find(&w->cgroup_index, hash, &probe)) >= 0) {
		if (w->cgroups[found].kernel_id == ev->id) {
			w->cgroups[found].path = path;
			return TL_OK;
		}
	}
	ret = tl_grow(&w->cgroups, &w->cgroup_capacity, w->cgroup_count + 1, err);
	if (ret < 0)
		return ret;
	c = &w->cgroups[w->cgroup_count];
	c->kernel_id = ev->id;
	c->path = path;
	return tl_index_add(&w->cgroup_index, hash, (uint32_t)w->cgroup_count++, err);
}

/* ---- in order of time ---- */

static int apply(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	switch (ev->kind) {
	case TL_EVENT_FORK:
		return on_fork(w, ev->ts, &ev->fork, err);
	case TL_EVENT_EXIT:
		return tl_tasks_exit(&w->tasks, ev->ts, &ev->exit, err);
	case TL_EVENT_COMM:
		return on_comm(w, ev->ts, &ev->comm, err);
	case TL_EVENT_MMAP:
		if (ev->mmap.context == TL_CONTEXT_KERNEL)
			return map_kernel(w, ev->ts, &ev->mmap, err);
		return map_user(w, ev->ts, &ev->mmap, err);
	case TL_EVENT_KSYMBOL:
		return on_ksymbol(w, ev->ts, &ev->ksymbol, err);
	case TL_EVENT_NAMESPACE:
		return on_namespace(w, ev->ts, &ev->ns, err);
	case TL_EVENT_CGROUP:
		return on_cgroup(w, &ev->cgroup, err);
	default: /* only side-band comes here */
		return tl_fail(err, TL_USAGE, "no side-band event: %s",
			       tl_event_kind_name(ev->kind));
	}
}

static int open_symbols(struct tl_writer *w, struct tl_error *err)
{
	w->recording.arch = tl_writer_meta_value(w, "arch");
	w->recording.os_release = tl_writer_meta_value(w, "os_release");
	w->recording.hostname = tl_writer_meta_value(w, "hostname");
	if (w->options.symbols.no_symbols || w->symbols)
		return TL_OK;
	return tl_symbols_open(&w->symbols, &w->options.symbols, &w->recording, err);
}

int tl_writer_settle_sideband(struct tl_writer *w, struct tl_error *err)
{
	int ret;

	if (w->is_settled)
		return TL_OK;
	w->is_settled = true;
	if (w->pending_count)
		qsort(w->pending, w->pending_count, sizeof(*w->pending), by_time);
	ret = open_symbols(w, err);
	for (size_t i = 0; i < w->pending_count && ret == TL_OK; i++)
		ret = apply(w, &w->pending[i].event, err);
	free(w->pending);
	w->pending = NULL;
	w->pending_count = w->pending_capacity = 0;
	if (ret == TL_OK)
		ret = tl_writer_find_host(w, err);
	return ret;
}

int tl_writer_sideband(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	if (ev->kind == TL_EVENT_DSO)
		return on_dso(w, &ev->dso, err);
	if (ev->kind == TL_EVENT_DSO_SYMBOLS) {
		/* only its own tables can name a recording from another system's tools */
		int ret = open_symbols(w, err);

		if (ret < 0 || !w->symbols)
			return ret;
		return tl_symbols_provide(w->symbols, &ev->dso_symbols, err);
	}
	return w->is_settled ? apply(w, ev, err) : add_pending(w, ev, err);
}
