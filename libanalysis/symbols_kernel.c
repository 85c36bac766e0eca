/*
 * symbols_kernel.c - names of kernel text and modules: vmlinux or kallsyms of the build, and of the
 * boot, that was recorded. Knows who may be trusted: a kernel of another build, or one loaded at
 * addresses that cannot be compared, names nothing.
 */
#include "symbols_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define KALLSYMS_MAX	 (256u << 20)
#define MODULE_MAX	 (256u << 20) /* inflated */
#define PAGE_BYTES	 UINT64_C(4096)
#define ALL_MODULE_BITS	 UINT16_MAX
#define NANOSECONDS	 INT64_C(1000000000)
#define KALLSYMS_RUNNING "/proc/kallsyms"
#define NOTES_RUNNING	 "/sys/kernel/notes"

/* ---- kallsyms ---- */

/* One line, its parts terminated in place. */
struct line {
	uint64_t address;
	char type;
	char *name, *module; /* module without brackets, NULL: the kernel itself */
};

/* Value + 1 of hex digits, 0 for all else. */
static const unsigned char hex_values[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/*
 * "ffffffff81000000 T _text" or "ffffffffc0201000 t name\t[module]". *next is the line after.
 * False: a line that says something else; such lines are passed over, as perf does.
 */
static bool parse_line(char *text, char *end, struct line *line, char **next)
{
	char *stop = memchr(text, '\n', (size_t)(end - text)), *p = text, *bracket;
	uint64_t address = 0;

	*next = stop ? stop + 1 : end;
	if (!stop)
		stop = end; /* the buffer has a terminator there */
	*stop = '\0';
	for (; hex_values[(unsigned char)*p]; p++)
		address = address << 4 | (uint64_t)(hex_values[(unsigned char)*p] - 1);
	if (p == text || p - text > 16 || p[0] != ' ' || !p[1] || p[2] != ' ' || !p[3])
		return false;
	line->address = address;
	line->type = p[1];
	line->name = p + 3;
	line->module = NULL;
	for (p = line->name; *p && *p != '\t' && *p != ' '; p++)
		;
	bracket = *p ? p + strspn(p, " \t") : p;
	*p = '\0';
	if (*bracket == '[') {
		line->module = bracket + 1;
		line->module[strcspn(line->module, "]")] = '\0';
	}
	return true;
}

/* Number of a module, from 1; made when it is new. 0 when there are too many. */
static int module_number(struct symbols_kernel *k, const char *name, uint16_t *number,
			 struct tl_error *err)
{
	int ret;

	if (k->module_count && !strcmp(k->modules[k->module_count - 1], name)) {
		*number = (uint16_t)k->module_count;
		return TL_OK;
	}
	for (size_t i = 0; i < k->module_count; i++) {
		if (!strcmp(k->modules[i], name)) {
			*number = (uint16_t)(i + 1);
			return TL_OK;
		}
	}
	if (k->module_count >= ALL_MODULE_BITS - 1)
		return tl_fail(err, TL_FORMAT, "more than 65534 kernel modules");
	ret = tl_grow(&k->modules, &k->module_capacity, k->module_count + 1, err);
	if (ret < 0)
		return ret;
	k->modules[k->module_count++] = name;
	*number = (uint16_t)k->module_count;
	return TL_OK;
}

static bool is_text_or_data(char type)
{
	type = (char)toupper((unsigned char)type);
	return type == 'T' || type == 'W' || type == 'D' || type == 'B';
}

/* A name reaches up to the next one; the last of the kernel or of a module to the end of a page. */
static void set_kallsyms_ends(struct symbols_table *table)
{
	struct symbols_entry *e = table->entries;

	for (size_t i = 0; i + 1 < table->count; i++) {
		uint64_t page = (e[i].start + 2 * PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);

		if (e[i].module != e[i + 1].module && e[i].start != e[i + 1].start)
			e[i].size = (uint32_t)(page - e[i].start);
	}
	symbols_table_set_ends(table);
}

static void add_line(struct symbols_kernel *k, const struct line *line, uint64_t *any,
		     struct symbols_entry *entry)
{
	entry->start = line->address;
	entry->name = (uint32_t)(line->name - k->table.strings);
	entry->binding = toupper((unsigned char)line->type) == 'W' ? SYMBOLS_WEAK
			 : isupper((unsigned char)line->type)	   ? SYMBOLS_GLOBAL
								   : SYMBOLS_LOCAL;
	*any |= line->address;
}

int symbols_kallsyms_parse(struct symbols_kernel *k, char *text, size_t size, struct tl_error *err)
{
	char *end = text + size, *p = text;
	uint64_t any = 0;
	int ret = TL_OK;

	if (size >= UINT32_MAX)
		return tl_fail(err, TL_FORMAT, "kallsyms of %zu bytes", size);
	k->table.strings = text; /* names stay where they are */
	k->table.strings_size = size + 1;
	while (p < end && ret == TL_OK) {
		struct symbols_entry entry = { 0 };
		struct line line;

		if (!parse_line(p, end, &line, &p) || !is_text_or_data(line.type) ||
		    line.name[0] == '$')
			continue;
		if (line.module)
			ret = module_number(k, line.module, &entry.module, err);
		add_line(k, &line, &any, &entry);
		if (ret == TL_OK)
			ret = symbols_table_add(&k->table, &entry, err);
	}
	if (ret == TL_OK && !k->table.count)
		ret = tl_fail(err, TL_FORMAT, "no line of kallsyms in it");
	if (ret == TL_OK && !any)
		ret = tl_fail(err, TL_NOTHING, "all addresses are hidden (kptr_restrict)");
	if (ret == TL_OK)
		ret = symbols_table_sort(&k->table, err);
	if (ret < 0)
		return ret;
	set_kallsyms_ends(&k->table);
	return symbols_table_finish(&k->table, err);
}

void symbols_kernel_release(struct symbols_kernel *k)
{
	symbols_table_release(&k->table);
	free(k->modules);
	memset(k, 0, sizeof(*k));
}

/* Where the kernel's own symbol `name` is in a table; false: it is not. */
static bool address_of(const struct symbols_table *table, const char *name, uint64_t *address)
{
	for (size_t i = 0; i < table->count; i++) {
		if (!table->entries[i].module &&
		    !strcmp(symbols_table_name(table, &table->entries[i]), name)) {
			*address = table->entries[i].start;
			return true;
		}
	}
	return false;
}

/*
 * A kernel is loaded at another address at every boot. One symbol is known in both places; without
 * one, or when the table does not have it, nothing can be named.
 */
static bool set_relocation(struct tl_symbols_dso *dso, struct symbols_kernel *k)
{
	const struct tl_dso_description *d = &dso->description;
	uint64_t address = 0;

	if (d->reference_symbol && d->reference_address) {
		if (!address_of(&k->table, d->reference_symbol, &address))
			return false;
		k->relocation = d->reference_address - address;
		return true;
	}
	k->relocation = 0;
	return d->start && ((address_of(&k->table, "_text", &address) && address == d->start) ||
			    (address_of(&k->table, "_stext", &address) && address == d->start));
}

/* ---- which kernel is running here ---- */

static void read_running_build_id(struct tl_build_id *id)
{
	char *notes;
	size_t size;

	memset(id, 0, sizeof(*id));
	if (symbols_read_file(NOTES_RUNNING, 1u << 20, &notes, &size, NULL) < 0)
		return;
	symbols_note_build_id((const uint8_t *)notes, size, 4, false, id);
	free(notes);
}

static int64_t boot_time_ns(void)
{
	struct timespec now, up;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0 || clock_gettime(CLOCK_BOOTTIME, &up) < 0)
		return INT64_MAX;
	return (now.tv_sec - up.tv_sec) * NANOSECONDS + (now.tv_nsec - up.tv_nsec);
}

/*
 * Without a build-id: only when host name, architecture and release are those of the recording, and
 * it ended after this kernel was started, which no recorder outlives. Says in words what is wrong.
 */
bool symbols_is_this_boot(const struct tl_symbols *s, const char **why)
{
	struct utsname host;

	if (uname(&host) < 0)
		*why = "the running kernel tells nothing about itself";
	else if (!s->is_same_host)
		*why = s->is_other_host ? "recorded on another host"
					: "the recording does not name its host";
	else if (!s->recording.os_release || strcmp(s->recording.os_release, host.release) != 0)
		*why = "recorded with another kernel release";
	else if (!s->recording.end_unix_ns)
		*why = "when it was recorded is not known";
	else if (s->recording.end_unix_ns < boot_time_ns())
		*why = "recorded before this machine was started";
	else
		return true;
	return false;
}

bool symbols_process_is_older(int32_t pid, int64_t unix_ns)
{
	unsigned long long ticks;
	char path[32], *text, *p;
	int64_t boot = boot_time_ns();
	bool is_older = false;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (symbols_read_file(path, 4096, &text, &size, NULL) < 0)
		return false;
	/* the 22nd field, counted from the name in parentheses, which may hold anything */
	p = strrchr(text, ')');
	if (p && sscanf(p + 1,
			" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			"%*d %llu",
			&ticks) == 1)
		is_older = boot + (int64_t)(ticks * (uint64_t)NANOSECONDS /
					    (uint64_t)sysconf(_SC_CLK_TCK)) <
			   unix_ns;
	free(text);
	return is_older;
}

/* ---- loading ---- */

struct kernel_search {
	struct tl_symbols_dso *dso;
	bool needs_same_place; /* the running kernel: an unmoved one, or it is another boot */
};

static int accept(struct tl_symbols_dso *dso, const char *path, struct tl_error *err)
{
	dso->file = tl_arena_copy(&dso->symbols->arena, path, strlen(path), err);
	if (!dso->file)
		return TL_NOMEM;
	dso->status = TL_DSO_OK;
	dso->reason = NULL;
	return 1;
}

static int visit_kallsyms(const struct symbols_place *place, void *payload, struct tl_error *err)
{
	const char *path = place->path;
	struct kernel_search *search = payload;
	struct tl_symbols_dso *dso = search->dso;
	struct tl_error why = { 0 };
	char *text;
	size_t size;
	int ret = symbols_read_place(place, KALLSYMS_MAX, &text, &size, &why);

	if (ret == TL_NOMEM)
		return tl_fail(err, ret, "%s", why.text);
	if (ret < 0)
		return 0;
	ret = symbols_kallsyms_parse(&dso->kernel, text, size, &why);
	if (ret == TL_OK && set_relocation(dso, &dso->kernel) &&
	    (!search->needs_same_place || !dso->kernel.relocation))
		return accept(dso, path, err);
	symbols_kernel_release(&dso->kernel);
	if (ret == TL_NOMEM)
		return tl_fail(err, ret, "%s", why.text);
	if (ret < 0)
		return symbols_note(dso, TL_DSO_FOREIGN_KERNEL, err, "%s: %s", path, why.text);
	return symbols_note(
		dso, TL_DSO_FOREIGN_KERNEL, err, "%s: %s is not where the recording has it", path,
		dso->description.reference_symbol ? dso->description.reference_symbol : "_text");
}

/* A vmlinux: only with the recorded build-id, and with a symbol table of its own. */
static int visit_vmlinux(const struct symbols_place *place, void *payload, struct tl_error *err)
{
	const char *path = place->path;
	struct kernel_search *search = payload;
	struct tl_symbols_dso *dso = search->dso;
	const struct tl_build_id *wanted = &dso->description.build_id;
	char found_hex[2 * TL_BUILD_ID_MAX + 1], wanted_hex[2 * TL_BUILD_ID_MAX + 1];
	struct tl_error why = { 0 };
	struct symbols_elf elf;
	int ret = symbols_elf_open(&elf, place, &why);

	if (ret == TL_NOMEM)
		return tl_fail(err, ret, "%s", why.text);
	if (ret < 0)
		return 0;
	if (!symbols_build_id_equal(wanted, &elf.build_id)) {
		ret = symbols_note(
			dso, TL_DSO_FOREIGN_KERNEL, err, "%s has build-id %s, the recording has %s",
			path, symbols_build_id_text(&elf.build_id, found_hex),
			wanted->size ? symbols_build_id_text(wanted, wanted_hex) : "none");
	} else if (elf.symtab) {
		ret = symbols_elf_load(&dso->kernel.table, &elf, &elf, &why);
		if (ret == TL_OK && set_relocation(dso, &dso->kernel))
			ret = accept(dso, path, err);
		else
			symbols_kernel_release(&dso->kernel);
		if (ret == TL_NOMEM)
			tl_fail(err, ret, "%s", why.text);
		else if (ret < 0)
			ret = symbols_note(dso, TL_DSO_NOT_ELF, err, "%s", why.text);
	}
	symbols_elf_close(&elf);
	return ret;
}

static int visit_vmlinux_paths(struct kernel_search *search, struct tl_error *err)
{
	static const char *const paths[] = {
		"/boot/vmlinux-%s",
		"/usr/lib/debug/boot/vmlinux-%s",
		"/lib/modules/%s/build/vmlinux",
		"/usr/lib/debug/lib/modules/%s/vmlinux",
		"/usr/lib/debug/boot/vmlinux-%s.debug",
		"/boot/vmlinux",
	};
	const struct tl_symbols *s = search->dso->symbols;
	const char *release = s->recording.os_release;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *mark = strstr(paths[i], "%s");
		char *path;

		if ((mark && (!release || strchr(release, '/'))) ||
		    (s->options.no_default_dirs && !s->options.symfs))
			continue;
		if (asprintf(&path, "%.*s%s%s",
			     mark ? (int)(mark - paths[i]) : (int)strlen(paths[i]), paths[i],
			     mark ? release : "", mark ? mark + 2 : "") < 0)
			return tl_fail(err, TL_NOMEM, "out of memory: a path");
		ret = symbols_visit_path(s, path, visit_vmlinux, search, err);
		free(path);
	}
	return ret;
}

/*
 * The running kernel's own table: when its build-id is the recorded one, or, with none recorded,
 * when it is surely the same boot; then it also has to be where the recording has it.
 */
static int visit_running(struct kernel_search *search, struct tl_error *err)
{
	struct tl_symbols_dso *dso = search->dso;
	const struct tl_build_id *wanted = &dso->description.build_id;
	char running_hex[2 * TL_BUILD_ID_MAX + 1], wanted_hex[2 * TL_BUILD_ID_MAX + 1];
	struct tl_build_id running;
	const char *why = NULL;

	if (dso->symbols->options.symfs || !strncmp(dso->description.path, "[guest", 6))
		return 0;
	read_running_build_id(&running);
	if (wanted->size && !symbols_build_id_equal(wanted, &running))
		return symbols_note(dso, TL_DSO_FOREIGN_KERNEL, err,
				    "the running kernel has build-id %s, the recording has %s",
				    running.size ? symbols_build_id_text(&running, running_hex)
						 : "unknown",
				    symbols_build_id_text(wanted, wanted_hex));
	if (!wanted->size && !symbols_is_this_boot(dso->symbols, &why))
		return symbols_note(dso, TL_DSO_FOREIGN_KERNEL, err,
				    "the recording has no build-id of its kernel, and the running "
				    "one is not used for it: %s",
				    why);
	search->needs_same_place = !wanted->size;
	return visit_kallsyms(&(struct symbols_place) { KALLSYMS_RUNNING, NULL }, search, err);
}

int symbols_load_kernel(struct tl_symbols_dso *dso, struct tl_error *err)
{
	struct tl_dso_description *d = &dso->description;
	const struct tl_symbols *s = dso->symbols;
	struct kernel_search search = { .dso = dso };
	bool is_guest = !strncmp(d->path, "[guest", 6);
	char hex[2 * TL_BUILD_ID_MAX + 1];
	int ret = 0;

	if (!d->build_id.size && !is_guest)
		d->build_id = s->recording.kernel;
	if (d->build_id.size) {
		ret = visit_vmlinux_paths(&search, err);
		if (ret == 0)
			ret = symbols_visit_caches(s, &d->build_id, "elf", visit_vmlinux, &search,
						   err);
		if (ret == 0)
			ret = symbols_visit_caches(s, &d->build_id, "vmlinux", visit_vmlinux,
						   &search, err);
		if (ret == 0)
			ret = symbols_visit_debug(s, "", &d->build_id, "", visit_vmlinux, &search,
						  err);
		if (ret == 0)
			ret = symbols_visit_caches(s, &d->build_id, "kallsyms", visit_kallsyms,
						   &search, err);
		if (ret == 0)
			ret = symbols_visit_cache_section(
				s, is_guest ? "[guest.kernel.kallsyms]" : "[kernel.kallsyms]",
				&d->build_id, "kallsyms", visit_kallsyms, &search, err);
	}
	if (ret == 0)
		ret = visit_running(&search, err);
	if (ret == 0)
		ret = symbols_note(dso, TL_DSO_FOREIGN_KERNEL, err,
				   d->build_id.size ? "no vmlinux or kallsyms with build-id %s"
						    : "no symbols of the recorded kernel%s",
				   d->build_id.size ? symbols_build_id_text(&d->build_id, hex)
						    : "");
	return ret < 0 ? ret : TL_OK;
}

/* ---- modules ---- */

/* "/lib/modules/6.1/kernel/net/nf-conntrack.ko.xz" and "[nf_conntrack]" are one module. */
static size_t module_name(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');
	size_t len = 0;

	path = slash ? slash + 1 : path;
	if (*path == '[')
		path++;
	for (; path[len] && len + 1 < size && path[len] != ']' && path[len] != '.'; len++)
		name[len] = path[len] == '-' ? '_' : path[len];
	name[len] = '\0';
	return len;
}

/* The kernel of this recording, found or made. */
static int kernel_of(struct tl_symbols *s, struct tl_symbols_dso **out, struct tl_error *err)
{
	const struct tl_dso_description description = { .kind = TL_DSO_KERNEL,
							.path = "[kernel.kallsyms]",
							.build_id = s->recording.kernel,
							.pid = -1,
							.inner_pid = TL_ID_NONE };

	for (size_t i = 0; i < s->dso_count; i++) {
		if (s->dsos[i]->description.kind == TL_DSO_KERNEL) {
			*out = s->dsos[i];
			return TL_OK;
		}
	}
	return tl_symbols_dso(s, &description, out, err);
}

/*
 * Names of a module in the kernel's table. They are those of the recorded boot only if the kernel
 * was not moved since, and if the module's names lie where the module was.
 */
static int load_from_kallsyms(struct tl_symbols_dso *dso, struct tl_error *err)
{
	const struct tl_dso_description *d = &dso->description;
	struct tl_symbols_dso *kernel;
	char name[256];
	int ret = kernel_of(dso->symbols, &kernel, err);

	if (ret < 0)
		return ret;
	if (tl_symbols_status(kernel) != TL_DSO_OK || kernel->kernel.relocation ||
	    !module_name(d->path, name, sizeof(name)))
		return 0;
	for (size_t i = 0; i < kernel->kernel.module_count; i++) {
		if (strcmp(kernel->kernel.modules[i], name) != 0)
			continue;
		dso->module_kernel = kernel;
		dso->module_number = (uint16_t)(i + 1);
	}
	if (!dso->module_kernel)
		return 0;
	for (size_t i = 0; i < kernel->kernel.table.count; i++) {
		const struct symbols_entry *e = &kernel->kernel.table.entries[i];

		if (e->module == dso->module_number && e->start - d->start < d->length)
			return accept(dso, kernel->file, err);
	}
	dso->module_kernel = NULL;
	return symbols_note(dso, TL_DSO_CHANGED, err,
			    "%s was loaded at another address when %s was written", d->path,
			    kernel->file);
}

/* The first code of a module is where the module begins, if it is .text. */
static int take_module(struct tl_symbols_dso *dso, struct symbols_elf *elf, const char *path,
		       struct tl_error *err)
{
	struct tl_error why = { 0 };
	int ret = symbols_elf_load(&dso->table, elf, elf, &why);

	if (ret == TL_NOMEM)
		return tl_fail(err, ret, "%s", why.text);
	if (ret < 0)
		return symbols_note(dso, TL_DSO_NOT_ELF, err, "%s", why.text);
	if (!dso->table.count)
		return symbols_note(dso, TL_DSO_STRIPPED, err, "%s has no symbols", path);
	return accept(dso, path, err);
}

static int visit_module(const struct symbols_place *place, void *payload, struct tl_error *err)
{
	const char *path = place->path;
	struct tl_symbols_dso *dso = payload;
	const struct tl_build_id *wanted = &dso->description.build_id;
	char found_hex[2 * TL_BUILD_ID_MAX + 1], wanted_hex[2 * TL_BUILD_ID_MAX + 1];
	struct tl_error why = { 0 };
	struct symbols_elf elf;
	int ret = symbols_elf_open_packed(&elf, place, MODULE_MAX, &why);

	if (ret == TL_NOMEM)
		return tl_fail(err, ret, "%s", why.text);
	if (ret == TL_IO)
		return 0;
	if (ret < 0)
		return symbols_note(dso, TL_DSO_NOT_ELF, err, "%s", why.text);
	if (symbols_build_id_equal(wanted, &elf.build_id))
		ret = take_module(dso, &elf, path, err);
	else
		ret = symbols_note(dso, TL_DSO_MISMATCH, err,
				   "%s has build-id %s, recording has %s", path,
				   symbols_build_id_text(&elf.build_id, found_hex),
				   symbols_build_id_text(wanted, wanted_hex));
	symbols_elf_close(&elf);
	return ret;
}

int symbols_load_module(struct tl_symbols_dso *dso, struct tl_error *err)
{
	const struct tl_dso_description *d = &dso->description;
	const struct tl_symbols *s = dso->symbols;
	int ret = load_from_kallsyms(dso, err);

	if (ret == 0 && d->build_id.size) {
		ret = symbols_visit_caches(s, &d->build_id, "elf", visit_module, dso, err);
		if (ret == 0)
			ret = symbols_visit_caches(s, &d->build_id, "debug", visit_module, dso,
						   err);
		if (ret == 0 && d->path[0] == '/')
			ret = symbols_visit_path(s, d->path, visit_module, dso, err);
		if (ret == 0)
			ret = symbols_visit_debug(s, d->path, &d->build_id, "", visit_module, dso,
						  err);
	}
	if (ret == 0)
		ret = symbols_note(dso, TL_DSO_NO_FILE, err,
				   d->build_id.size
					   ? "%s: neither kallsyms of its boot nor its file"
					   : "%s: no kallsyms of its boot, and no build-id",
				   d->path);
	return ret < 0 ? ret : TL_OK;
}

struct symbols_entry *symbols_find_module(struct tl_symbols_dso *dso, uint64_t offset,
					  struct symbols_table **table, uint64_t *address)
{
	struct symbols_entry *entry;

	if (!dso->module_kernel) {
		*table = &dso->table;
		*address = offset;
		return symbols_table_find(&dso->table, offset);
	}
	*table = &dso->module_kernel->kernel.table;
	*address = dso->description.start + offset;
	entry = symbols_table_find(*table, *address);
	return entry && entry->module == dso->module_number ? entry : NULL;
}
