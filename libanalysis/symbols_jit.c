/*
 * symbols_jit.c - names of code that was made while the program ran: perf-PID.map (a list of the
 * end, where later lines win) and jitdump (a log, which knows what was where at which time).
 */
#include "symbols_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"

#define PERF_MAP_MAX (512u << 20)
#define NONE	     UINT32_MAX

/* ---- perf-PID.map ---- */

/* "7f12 1c0 name with blanks", hexadecimal, with or without 0x. */
static bool parse_map_line(char *text, struct symbols_entry *entry, const char **name)
{
	uint64_t size;
	char *p = text;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (int field = 0; field < 2; field++) {
		size_t len = strcspn(p, " "), used;
		uint64_t *value = field ? &size : &entry->start;

		if (field && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
			p += 2;
			len -= 2;
		}
		used = tl_parse_u64(p, len, 16, value);
		if (!used || used != len || p[len] != ' ')
			return false;
		p += len + 1;
	}
	entry->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	entry->binding = SYMBOLS_GLOBAL;
	*name = p;
	return *p && size;
}

struct heap {
	uint32_t *items;
	size_t count;
};

static void heap_push(struct heap *heap, uint32_t value)
{
	size_t i = heap->count++;

	for (; i && heap->items[(i - 1) / 2] < value; i = (i - 1) / 2)
		heap->items[i] = heap->items[(i - 1) / 2];
	heap->items[i] = value;
}

static void heap_pop(struct heap *heap)
{
	uint32_t value = heap->items[--heap->count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < heap->count && heap->items[child + 1] > heap->items[child])
			child++;
		if (child >= heap->count || heap->items[child] <= value)
			break;
		heap->items[i] = heap->items[child];
		i = child;
	}
	heap->items[i] = value;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct by_start {
	uint64_t start;
	uint32_t line;
};

static int compare_starts(const void *a, const void *b)
{
	const struct by_start *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static uint64_t end_of(const struct symbols_entry *e)
{
	return e->start > UINT64_MAX - e->size ? UINT64_MAX : e->start + e->size;
}

/*
 * One sweep over all ends of all lines: between two of them the latest line that covers the place
 * is the one that was true in the end. The entries stay in the order of their lines.
 */
static int make_spans(struct symbols_jit *jit, struct tl_error *err)
{
	const struct symbols_entry *e = jit->table.entries;
	size_t n = jit->table.count, next = 0;
	uint64_t *bounds = tl_alloc(2 * n, sizeof(*bounds), err);
	struct by_start *order = tl_alloc(n, sizeof(*order), err);
	struct heap heap = { tl_alloc(n, sizeof(*heap.items), err), 0 };
	uint32_t last = NONE;
	int ret = bounds && order && heap.items ? TL_OK : TL_NOMEM;

	for (size_t i = 0; ret == TL_OK && i < n; i++) {
		bounds[2 * i] = e[i].start;
		bounds[2 * i + 1] = end_of(&e[i]);
		order[i] = (struct by_start) { e[i].start, (uint32_t)i };
	}
	if (ret == TL_OK) {
		qsort(bounds, 2 * n, sizeof(*bounds), compare_u64);
		qsort(order, n, sizeof(*order), compare_starts);
	}
	for (size_t b = 0; ret == TL_OK && b < 2 * n; b++) {
		uint32_t now;

		if (b && bounds[b] == bounds[b - 1])
			continue;
		while (next < n && order[next].start == bounds[b])
			heap_push(&heap, order[next++].line);
		while (heap.count && end_of(&e[heap.items[0]]) <= bounds[b])
			heap_pop(&heap);
		now = heap.count ? heap.items[0] : NONE;
		if (now == last)
			continue;
		ret = tl_grow(&jit->spans, &jit->span_capacity, jit->span_count + 1, err);
		if (ret == TL_OK)
			jit->spans[jit->span_count++] = (struct symbols_span) { bounds[b], now };
		last = now;
	}
	free(bounds);
	free(order);
	free(heap.items);
	return ret;
}

int symbols_perf_map_parse(struct symbols_jit *jit, char *text, size_t size, struct tl_error *err)
{
	char *p = text, *end = text + size;
	int ret = TL_OK;

	jit->table.strings = text; /* names stay where they are */
	jit->table.strings_size = size + 1;
	if (size >= UINT32_MAX)
		return tl_fail(err, TL_FORMAT, "perf map of %zu bytes", size);
	while (p < end && ret == TL_OK) {
		struct symbols_entry entry = { 0 };
		char *stop = memchr(p, '\n', (size_t)(end - p)), *line = p;
		const char *name;

		if (!stop)
			stop = end; /* the buffer has a terminator there */
		*stop = '\0';
		p = stop + 1;
		if (!parse_map_line(line, &entry, &name))
			continue;
		entry.name = (uint32_t)(name - text);
		ret = symbols_table_add(&jit->table, &entry, err);
	}
	if (ret < 0 || !jit->table.is_like_perf)
		return ret < 0 ? ret : make_spans(jit, err);
	symbols_table_end_stage(&jit->table, false);
	return symbols_table_finish(&jit->table, err);
}

static struct symbols_entry *find_span(struct symbols_jit *jit, uint64_t ip)
{
	size_t low = 0, high = jit->span_count;

	if (jit->table.tree)
		return symbols_perf_tree_find(&jit->table, ip);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (jit->spans[middle].start <= ip)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || jit->spans[low - 1].entry == NONE)
		return NULL;
	return &jit->table.entries[jit->spans[low - 1].entry];
}

/* ---- jitdump ---- */

#define JITDUMP_MAGIC	     0x4a695444u /* "JiTD"; this and the records: perf's jitdump-specification */
#define JITDUMP_HEADER_BYTES 40u
#define RECORD_HEADER_BYTES  16u
#define LOAD_BYTES	     40u /* of CODE_LOAD, before the name */
#define ARCH_TIMESTAMP	     1u	 /* flag: times are of the processor's own counter */
#define NAME_BYTES_MAX	     (16u << 10)

enum { JIT_CODE_LOAD = 0, JIT_CODE_MOVE = 1 };

/* The first code with this index and address, or -1. */
static int64_t first_code(const struct symbols_jit *jit, uint64_t index, uint64_t start)
{
	size_t probe = 0;

	return tl_index_find(&jit->by_code, tl_hash_u64(index, start), &probe);
}

static int add_code(struct symbols_jit *jit, const struct symbols_jit_code *code, uint64_t index,
		    struct tl_error *err)
{
	int64_t first = first_code(jit, index, code->entry.start);
	uint32_t number = (uint32_t)jit->code_count;
	int ret;

	if (jit->code_count >= NONE)
		return tl_fail(err, TL_FORMAT, "more than 4294967294 pieces of code");
	ret = tl_grow(&jit->codes, &jit->code_capacity, jit->code_count + 1, err);
	if (ret == TL_OK && first < 0)
		ret = tl_index_add(&jit->by_code, tl_hash_u64(index, code->entry.start), number,
				   err);
	if (ret < 0)
		return ret;
	jit->codes[number] = *code;
	jit->codes[first < 0 ? number : first].latest = number;
	jit->code_count++;
	return TL_OK;
}

static int read_load(struct symbols_jit *jit, struct tl_cursor *c, int64_t time,
		     struct tl_error *err)
{
	struct symbols_jit_code code = { .time = time, .until = INT64_MAX };
	uint64_t size, index;
	const uint8_t *name;
	size_t left, len;
	int ret;

	tl_skip(c, 16); /* pid, tid, vma */
	code.entry.start = tl_get_u64(c);
	size = tl_get_u64(c);
	index = tl_get_u64(c);
	left = tl_cursor_left(c);
	name = tl_get_bytes(c, left);
	if (!name)
		return tl_cursor_check(c, "jitdump load", err);
	len = strnlen((const char *)name, left);
	if (len == left)
		return tl_fail(err, TL_FORMAT, "the name of the code does not end");
	code.entry.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	ret = tl_grow(&jit->names, &jit->name_capacity, jit->names_size + len + 1, err);
	if (ret < 0)
		return ret;
	if (jit->names_size + len >= NONE)
		return tl_fail(err, TL_FORMAT, "more than 4 GiB of names");
	code.entry.name = (uint32_t)jit->names_size;
	memcpy(jit->names + jit->names_size, name, len);
	jit->names[jit->names_size + len] = '\0';
	jit->names_size += len + 1;
	return add_code(jit, &code, index, err);
}

/* The garbage collector moved code: the same name, elsewhere, from now on. */
static int read_move(struct symbols_jit *jit, struct tl_cursor *c, int64_t time,
		     struct tl_error *err)
{
	struct symbols_jit_code moved;
	uint64_t from, to, index;
	int64_t first;

	tl_skip(c, 16); /* pid, tid, vma */
	from = tl_get_u64(c);
	to = tl_get_u64(c);
	tl_skip(c, 8); /* size: as loaded */
	index = tl_get_u64(c);
	if (c->failed)
		return tl_cursor_check(c, "jitdump move", err);
	first = first_code(jit, index, from);
	if (first < 0)
		return TL_OK; /* loaded before the log began: its name is not known */
	moved = jit->codes[jit->codes[first].latest];
	jit->codes[jit->codes[first].latest].until = time;
	moved.entry.start = to;
	moved.time = time;
	moved.until = INT64_MAX;
	return add_code(jit, &moved, index, err);
}

static int read_record(struct symbols_jit *jit, struct tl_cursor *c, struct tl_error *err)
{
	uint32_t id = tl_get_u32(c);
	int64_t time;

	tl_skip(c, 4); /* total_size */
	time = (int64_t)tl_get_u64(c);
	if (id == JIT_CODE_LOAD)
		return read_load(jit, c, time, err);
	return id == JIT_CODE_MOVE ? read_move(jit, c, time, err) : TL_OK;
}

static int compare_codes(const void *a, const void *b)
{
	const struct symbols_jit_code *x = a, *y = b;

	if (x->entry.start != y->entry.start)
		return x->entry.start < y->entry.start ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* Sorted by address, with the nearest earlier one that ends later, to skip by. */
static void sort_codes(struct symbols_jit *jit)
{
	struct symbols_jit_code *c = jit->codes;

	if (jit->code_count)
		qsort(c, jit->code_count, sizeof(*c), compare_codes);
	for (size_t i = 0; i < jit->code_count; i++) {
		uint32_t w = i ? (uint32_t)(i - 1) : NONE;

		while (w != NONE && end_of(&c[w].entry) <= end_of(&c[i].entry))
			w = c[w].wider;
		c[i].wider = w;
	}
	jit->table.is_mangled = true; /* perf demangles what perf inject --jit wrote */
	jit->table.strings = jit->names;
	jit->table.strings_size = jit->names_size;
	jit->names = NULL;
	tl_index_release(&jit->by_code);
}

static int read_header(struct symbols_jit *jit, struct tl_input *in, uint64_t *first, bool *is_big,
		       struct tl_error *err)
{
	const uint8_t *data;
	struct tl_cursor c;
	uint32_t magic, version, size;
	size_t len;
	int ret = tl_input_window(in, 0, JITDUMP_HEADER_BYTES, &data, &len, err);

	if (ret < 0)
		return ret;
	*is_big = len >= 4 && data[0] == 'J';
	tl_cursor_init(&c, data, len, 0, *is_big);
	magic = tl_get_u32(&c);
	version = tl_get_u32(&c);
	size = tl_get_u32(&c);
	tl_skip(&c, 20); /* machine, pad, pid, time */
	jit->is_timeless = tl_get_u64(&c) & ARCH_TIMESTAMP;
	if (!c.failed && magic != JITDUMP_MAGIC)
		return tl_fail_at(err, TL_FORMAT, 0, "magic %08x is not that of a jitdump", magic);
	if (!c.failed && size < JITDUMP_HEADER_BYTES)
		return tl_fail_at(err, TL_FORMAT, 8, "header size %u is smaller than 40", size);
	if (!c.failed && version != 1)
		return tl_fail_at(err, TL_UNSUPPORTED, 4, "jitdump version %u, known is 1",
				  version);
	*first = size;
	return tl_cursor_check(&c, "jitdump header", err);
}

int symbols_jitdump_read(struct symbols_jit *jit, struct tl_input *in, struct tl_error *damage,
			 struct tl_error *err)
{
	uint64_t at = 0, total = 0;
	bool is_big;
	int ret = read_header(jit, in, &at, &is_big, err);

	if (ret == TL_OK)
		ret = tl_input_size(in, &total, err);

	while (ret == TL_OK) {
		const uint8_t *data;
		struct tl_error why = { 0 };
		struct tl_cursor c, head;
		uint32_t size;
		size_t len;

		ret = tl_input_window(in, at, RECORD_HEADER_BYTES + LOAD_BYTES + NAME_BYTES_MAX,
				      &data, &len, err);
		if (ret < 0 || !len)
			break;
		tl_cursor_init(&head, data, len, at, is_big);
		tl_skip(&head, 4);
		size = tl_get_u32(&head);
		if (head.failed || size < RECORD_HEADER_BYTES) {
			tl_fail_at(damage, TL_FORMAT, at,
				   head.failed ? "the file ends in a record"
					       : "record size %u is smaller than its header",
				   size);
			break;
		}
		tl_cursor_init(&c, data, len < size ? len : size, at, is_big);
		ret = read_record(jit, &c, &why);
		if (ret == TL_FORMAT) { /* too short for its kind: it alone is lost */
			tl_fail_at(damage, ret, at, "%s", why.text);
			ret = TL_OK;
		} else if (ret < 0) {
			tl_fail(err, ret, "%s", why.text);
		}
		if (size > total - at)
			tl_fail_at(damage, TL_FORMAT, at,
				   "record of %u bytes, the file ends after %llu", size,
				   (unsigned long long)(total - at));
		at += size;
	}
	if (ret == TL_OK)
		sort_codes(jit);
	return ret;
}

/* The latest that was loaded by then, of those that cover the address and were not moved away. */
static struct symbols_entry *find_code(struct symbols_jit *jit, uint64_t ip, int64_t ts)
{
	struct symbols_jit_code *best = NULL;
	size_t low = 0, high = jit->code_count;
	uint32_t i;

	if (jit->is_timeless || ts == INT64_MIN)
		ts = INT64_MAX - 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (jit->codes[middle].entry.start <= ip)
			low = middle + 1;
		else
			high = middle;
	}
	for (i = low ? (uint32_t)(low - 1) : NONE; i != NONE;) {
		struct symbols_jit_code *c = &jit->codes[i];

		if (ip >= end_of(&c->entry)) {
			i = c->wider;
			continue;
		}
		if (c->time <= ts && ts < c->until && (!best || c->time > best->time))
			best = c;
		i = i ? i - 1 : NONE;
	}
	return best ? &best->entry : NULL;
}

/* ---- both ---- */

struct symbols_entry *symbols_jit_find(struct symbols_jit *jit, uint64_t ip, int64_t ts)
{
	struct symbols_entry *entry = jit->code_count ? find_code(jit, ip, ts) : find_span(jit, ip);

	return entry && jit->table.strings[entry->name] ? entry : NULL; /* loaded without a name */
}

void symbols_jit_release(struct symbols_jit *jit)
{
	symbols_table_release(&jit->table);
	free(jit->spans);
	free(jit->codes);
	free(jit->names);
	tl_index_release(&jit->by_code);
	memset(jit, 0, sizeof(*jit));
}

/* ---- finding them ---- */

static int found(struct tl_symbols_dso *dso, const char *path, const char *trouble,
		 struct tl_error *err)
{
	size_t len = strlen(path);

	dso->file = tl_arena_copy(&dso->symbols->arena, path, len, err);
	if (!dso->file)
		return TL_NOMEM;
	if (trouble) {
		int ret = symbols_note(dso, TL_DSO_OK, err, "%s: %s", path, trouble);

		return ret < 0 ? ret : 1;
	}
	dso->reason = NULL;
	dso->status = TL_DSO_OK;
	return 1;
}

/* Names of a program run by somebody else are not trusted, but root may look at everything. */
static bool is_trusted(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (!st.st_uid || st.st_uid == geteuid() || !geteuid());
}

static int visit_perf_map(const struct symbols_place *place, void *payload, struct tl_error *err)
{
	const char *path = place->path;
	struct tl_symbols_dso *dso = payload;
	struct tl_error why = { 0 };
	char *text;
	size_t size;
	int ret;

	if (!dso->symbols->options.symfs && access(path, F_OK) == 0 && !is_trusted(path))
		return symbols_note(dso, TL_DSO_NO_FILE, err,
				    "%s belongs to another user and is not trusted", path);
	ret = symbols_read_file(path, PERF_MAP_MAX, &text, &size, &why);
	if (ret == TL_NOMEM)
		return tl_fail(err, ret, "%s", why.text);
	if (ret < 0)
		return 0;
	dso->jit.table.is_like_perf = dso->symbols->options.like_perf;
	ret = symbols_perf_map_parse(&dso->jit, text, size, &why);
	if (ret == TL_NOMEM)
		return tl_fail(err, ret, "%s", why.text);
	if (ret < 0 || !dso->jit.table.count) {
		symbols_jit_release(&dso->jit);
		return symbols_note(dso, TL_DSO_STRIPPED, err, "%s: %s", path,
				    ret < 0 ? why.text : "no line with a name in it");
	}
	return found(dso, path, NULL, err);
}

static int visit_map_of(struct tl_symbols_dso *dso, const char *prefix, int32_t pid,
			struct tl_error *err)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/tmp/perf-%d.map", prefix, (int)pid);
	return symbols_visit_path(dso->symbols, path, visit_perf_map, dso, err);
}

/*
 * A program in a container writes /tmp of the container, with the pid it knows. That is read
 * through /proc only while it surely is the process that was recorded.
 */
static int visit_container(struct tl_symbols_dso *dso, struct tl_error *err)
{
	const struct tl_dso_description *d = &dso->description;
	const struct tl_symbols *s = dso->symbols;
	char root[64];
	const char *why;

	if (d->inner_pid == TL_ID_NONE || d->inner_pid == d->pid)
		return 0;
	if (s->options.symfs)
		return visit_map_of(dso, "", d->inner_pid, err);
	if (d->pid <= 0 || !symbols_is_this_boot(s, &why) ||
	    !symbols_process_is_older(d->pid, s->recording.end_unix_ns))
		return 0;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)d->pid);
	return visit_map_of(dso, root, d->inner_pid, err);
}

int symbols_load_perf_map(struct tl_symbols_dso *dso, struct tl_error *err)
{
	const struct tl_dso_description *d = &dso->description;
	int32_t pid = d->pid;
	int ret = 0, named;

	if (pid < 0 && sscanf(d->path, "/tmp/perf-%d.map", &named) == 1)
		pid = named;
	if (pid >= 0)
		ret = visit_map_of(dso, "", pid, err);
	if (ret == 0)
		ret = visit_container(dso, err);
	if (ret == 0)
		ret = pid < 0 ? symbols_note(dso, TL_DSO_NO_FILE, err,
					     "no perf map: the process is unknown")
			      : symbols_note(dso, TL_DSO_NO_FILE, err,
					     "/tmp/perf-%d.map: no such file", (int)pid);
	return ret < 0 ? ret : TL_OK;
}

static int visit_jitdump(const struct symbols_place *place, void *payload, struct tl_error *err)
{
	const char *path = place->path;
	struct tl_symbols_dso *dso = payload;
	struct tl_error why = { 0 }, damage = { 0 };
	struct tl_input *in = NULL;
	struct stat st;
	int fd = symbols_open_regular(path, &st);
	int ret;

	if (fd < 0)
		return 0;
	close(fd);
	ret = tl_input_open(&in, path, &why);
	if (ret == TL_OK)
		ret = symbols_jitdump_read(&dso->jit, in, &damage, &why);
	tl_input_close(in);
	if (ret == TL_NOMEM)
		return tl_fail(err, ret, "%s", why.text);
	if (ret < 0 || !dso->jit.code_count) {
		symbols_jit_release(&dso->jit);
		return symbols_note(dso, TL_DSO_NOT_ELF, err, "%s: %s", path,
				    ret < 0	    ? why.text
				    : damage.status ? damage.text
						    : "no code was loaded");
	}
	return found(dso, path, damage.status ? damage.text : NULL, err);
}

int symbols_load_jitdump(struct tl_symbols_dso *dso, struct tl_error *err)
{
	const struct tl_dso_description *d = &dso->description;
	int ret = symbols_visit_path(dso->symbols, d->path, visit_jitdump, dso, err);

	if (ret == 0)
		ret = symbols_note(dso, TL_DSO_NO_FILE, err, "%s: no such file", d->path);
	return ret < 0 ? ret : TL_OK;
}
