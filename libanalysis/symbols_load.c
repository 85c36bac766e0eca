/*
 * symbols_load.c - loads a binary of user space: looks at every place where its file may be, judges
 * what is there (the same build? the same architecture? unchanged since?), and takes the names from
 * the best and the segments from the one with the code.
 */
#include "symbols_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <elf.h>
#include <linux/fs.h>
#include <zlib.h>

struct search {
	struct tl_symbols_dso *dso;
	struct symbols_elf names;   /* the first with .symtab */
	struct symbols_elf runtime; /* the first with code */
	bool has_names, has_runtime, is_same /* one file is both: it is in `runtime` */;
	bool wants_info;	  /* .debug_info is wanted, and was not found yet */
	bool is_cache;		  /* content-addressed: a file there is never another version */
	const char *debuglink_of; /* visiting debug links: whose CRC must fit */
	uint32_t debuglink_crc;
	char debuglink[256];
};

/* ---- judging a file ---- */

static bool machine_fits(uint16_t machine, const char *arch)
{
	static const struct {
		const char *arch;
		uint16_t machines[3];
	} known[] = {
		{ "x86_64", { EM_X86_64, EM_386 } },
		{ "i686", { EM_386, EM_X86_64 } },
		{ "i386", { EM_386, EM_X86_64 } },
		{ "aarch64", { EM_AARCH64, EM_ARM } },
		{ "arm64", { EM_AARCH64, EM_ARM } },
		{ "armv7l", { EM_ARM, EM_AARCH64 } },
		{ "armv8l", { EM_ARM, EM_AARCH64 } },
		{ "ppc64", { EM_PPC64, EM_PPC } },
		{ "ppc64le", { EM_PPC64 } },
		{ "s390x", { EM_S390 } },
		{ "riscv64", { EM_RISCV } },
		{ "loongarch64", { EM_LOONGARCH } },
		{ "mips64", { EM_MIPS } },
	};

	for (size_t i = 0; arch && i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(arch, known[i].arch))
			return machine == known[i].machines[0] ||
			       (known[i].machines[1] && machine == known[i].machines[1]);
	return true; /* an architecture that this list does not know proves nothing */
}

static int64_t modified_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static bool same_generation(const struct symbols_elf *elf, uint64_t recorded)
{
	int generation = 0;

	if (!recorded || elf->fd < 0 || ioctl(elf->fd, FS_IOC_GETVERSION, &generation) < 0)
		return true;
	return (uint32_t)generation == (uint32_t)recorded;
}

/*
 * Without a build-id only the file system can tell whether this is the file that ran: the same
 * inode, not written since. A file of another machine has to be older than the recording's end; one
 * on another device than recorded (overlays and btrfs show other device numbers to stat than to the
 * kernel, and another mount namespace has other files) must still have the same inode number, and
 * be on the host that recorded.
 */
static int judge_unidentified(struct search *search, const struct symbols_elf *elf,
			      bool *is_accepted, struct tl_error *err)
{
	struct tl_symbols_dso *dso = search->dso;
	const struct tl_symbols *s = dso->symbols;
	const struct tl_dso_description *d = &dso->description;
	int64_t end = s->recording.end_unix_ns;
	bool same_inode = false;

	*is_accepted = false;
	if (end && modified_ns(&elf->st) > end)
		return symbols_note(dso, TL_DSO_CHANGED, err,
				    "%s was written after the recording ended, and no build-id was "
				    "recorded to tell whether it is the same",
				    elf->path);
	if (!s->options.symfs && s->is_other_host)
		return symbols_note(dso, TL_DSO_CHANGED, err,
				    "%s may be another build: recorded on %s without a build-id",
				    elf->path, s->recording.hostname);
	if (!s->options.symfs && d->has_inode) {
		bool same_device =
			major(elf->st.st_dev) == d->major && minor(elf->st.st_dev) == d->minor;

		/* overlays and btrfs show stat another device, but the same number of a plain file */
		same_inode = same_device && elf->st.st_ino == d->inode &&
			     same_generation(elf, d->inode_generation);
		if (!same_inode && (same_device || elf->st.st_ino != d->inode))
			return symbols_note(dso, TL_DSO_CHANGED, err,
					    "%s is another file than the one recorded (inode %llu, "
					    "recorded %llu), and no build-id was recorded",
					    elf->path, (unsigned long long)elf->st.st_ino,
					    (unsigned long long)d->inode);
	}
	if (!s->options.symfs && !same_inode && !s->is_same_host)
		return symbols_note(dso, TL_DSO_CHANGED, err,
				    "%s cannot be checked: the recording has neither build-id nor "
				    "host name, and its inode is not comparable",
				    elf->path);
	*is_accepted = true;
	return TL_OK;
}

/* Is this the binary that was recorded? Says why not. */
static int judge(struct search *search, const struct symbols_elf *elf, bool *is_accepted,
		 struct tl_error *err)
{
	struct tl_symbols_dso *dso = search->dso;
	const struct tl_build_id *wanted = &dso->description.build_id;
	char found_hex[2 * TL_BUILD_ID_MAX + 1], wanted_hex[2 * TL_BUILD_ID_MAX + 1];

	*is_accepted = false;
	if (wanted->size) {
		*is_accepted = symbols_build_id_equal(wanted, &elf->build_id);
		if (*is_accepted)
			return TL_OK;
		symbols_build_id_text(wanted, wanted_hex);
		if (!elf->build_id.size)
			return symbols_note(dso, TL_DSO_MISMATCH, err,
					    "%s has no build-id, recording has %s", elf->path,
					    wanted_hex);
		return symbols_note(dso, TL_DSO_MISMATCH, err,
				    "%s has build-id %s, recording has %s", elf->path,
				    symbols_build_id_text(&elf->build_id, found_hex), wanted_hex);
	}
	if (!machine_fits(elf->machine, dso->symbols->recording.arch))
		return symbols_note(dso, TL_DSO_WRONG_ARCH, err,
				    "%s is for ELF machine %u, the recording was made on %s",
				    elf->path, elf->machine, dso->symbols->recording.arch);
	if (search->has_runtime) { /* a debug file: it must belong to the file that was accepted */
		*is_accepted = symbols_build_id_equal(&elf->build_id, &search->runtime.build_id) ||
			       (search->debuglink_of && !elf->build_id.size &&
				!search->runtime.build_id.size);
		return TL_OK;
	}
	return judge_unidentified(search, elf, is_accepted, err);
}

/* A debug link names a file and says its CRC; a build-id that fits says the same for less. */
static bool debuglink_fits(const struct search *search, const struct symbols_elf *elf)
{
	uint8_t buffer[64 << 10];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	if (!search->debuglink_of ||
	    symbols_build_id_equal(&elf->build_id, &search->runtime.build_id))
		return true;
	while ((n = pread(elf->fd, buffer, sizeof(buffer), at)) > 0) {
		crc = crc32(crc, buffer, (uInt)n);
		at += n;
	}
	return n == 0 && crc == search->debuglink_crc;
}

/* ---- looking ---- */

static int take_info(struct search *search, const struct symbols_elf *elf, struct tl_error *err)
{
	struct tl_symbols_dso *dso = search->dso;

	if (!search->wants_info || !elf->has_info || elf->memory)
		return TL_OK;
	dso->info_st = elf->st;
	search->wants_info = false;
	return symbols_place_copy(&dso->info, &(struct symbols_place) { elf->path, elf->archived },
				  err);
}

/* Takes `elf` for names or code or both, if there is none better; 1 when nothing is missing. */
static int take(struct search *search, struct symbols_elf *elf, struct tl_error *err)
{
	bool wants_names = elf->symtab && !search->has_names;
	bool wants_code = elf->has_code && !search->has_runtime;
	int ret = take_info(search, elf, err);

	if (ret < 0)
		return ret;
	if (wants_code) {
		search->runtime = *elf;
		search->has_runtime = true;
		search->is_same |= wants_names;
	} else if (wants_names) {
		search->names = *elf;
	}
	search->has_names |= wants_names;
	if (wants_code || wants_names)
		memset(elf, 0, sizeof(*elf));
	return search->has_names && search->has_runtime && !search->wants_info;
}

static int visit(const struct symbols_place *place, void *payload, struct tl_error *err)
{
	struct search *search = payload;
	struct symbols_elf elf;
	struct tl_error why = { 0 };
	bool is_accepted;
	int ret = symbols_elf_open(&elf, place, &why);

	if (ret == TL_NOMEM)
		return tl_fail(err, TL_NOMEM, "%s", why.text);
	if (ret == TL_NOTHING)
		return 0;
	if (ret < 0)
		return symbols_note(search->dso, TL_DSO_NOT_ELF, err, "%s", why.text);
	ret = judge(search, &elf, &is_accepted, err);
	if (ret == TL_OK && is_accepted && debuglink_fits(search, &elf))
		ret = take(search, &elf, err);
	symbols_elf_close(&elf);
	return ret;
}

/* ---- the vdso of this process ---- */

static uint8_t *copy_own_vdso(size_t *size)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	unsigned long long from, to;
	char *maps, *mark;
	uint8_t *data = NULL;

	if (!start || symbols_read_file("/proc/self/maps", 1u << 24, &maps, size, NULL) < 0)
		return NULL;
	mark = strstr(maps, "[vdso]\n");
	while (mark && mark > maps && mark[-1] != '\n')
		mark--;
	if (mark && sscanf(mark, "%llx-%llx", &from, &to) == 2 && from == start && to > from) {
		*size = (size_t)(to - from);
		data = malloc(*size);
		if (data)
			memcpy(data, (const void *)start, *size);
	}
	free(maps);
	return data;
}

/* It is in no file, but every process of this boot has the same one. */
static int visit_own_vdso(struct search *search, struct tl_error *err)
{
	struct tl_symbols_dso *dso = search->dso;
	const struct tl_build_id *wanted = &dso->description.build_id;
	const char *why = "it has another build-id";
	struct symbols_elf elf;
	uint8_t *data;
	size_t size;
	int ret = 0;

	data = dso->symbols->options.symfs ? NULL : copy_own_vdso(&size);
	if (!data)
		return 0;
	if (symbols_elf_open_memory(&elf, "[vdso] of the running kernel", data, size, NULL) < 0)
		return 0;
	if (wanted->size ? symbols_build_id_equal(wanted, &elf.build_id)
			 : symbols_is_this_boot(dso->symbols, &why))
		ret = take(search, &elf, err);
	else
		ret = symbols_note(dso, TL_DSO_MISMATCH, err,
				   "the [vdso] of the running kernel is not used: %s", why);
	symbols_elf_close(&elf);
	return ret;
}

/* ---- where to look ---- */

static bool is_no_file(const char *path)
{
	static const char *const prefixes[] = { "[",	       "//anon",	 "/dev/zero",
						"anon_inode:", "/SYSV",		 "memfd:",
						"/memfd:",     "/anon_hugepage", "/[aio]" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(path, prefixes[i], strlen(prefixes[i])))
			return true;
	return !path[0];
}

static bool strip_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path), mark_len = sizeof(mark) - 1;

	if (len <= mark_len || strcmp(path + len - mark_len, mark) != 0)
		return false;
	path[len - mark_len] = '\0';
	return true;
}

/* Every place, in perf's order as far as it matters: caches first, then what the path leads to. */
static int look(struct search *search, const char *path, bool is_deleted, struct tl_error *err)
{
	const struct tl_symbols *s = search->dso->symbols;
	const struct tl_dso_description *d = &search->dso->description;
	const char *leaf = d->kind == TL_DSO_VDSO ? "vdso" : "elf";
	int ret = symbols_visit_caches(s, &d->build_id, leaf, visit, search, err);

	if (d->kind == TL_DSO_VDSO) {
		if (ret == 0)
			ret = symbols_visit_cache_section(s, "[vdso]", &d->build_id, leaf, visit,
							  search, err);
		if (ret == 0 && !search->has_runtime)
			ret = visit_own_vdso(search, err);
		return ret < 0 ? ret : TL_OK;
	}
	if (ret == 0)
		ret = symbols_visit_caches(s, &d->build_id, "debug", visit, search, err);
	/* a file that has the path now is another one than the one deleted, unless an id says so */
	if (ret == 0 && !search->has_runtime && (d->build_id.size || !is_deleted) && path[0] == '/')
		ret = symbols_visit_path(s, path, visit, search, err);
	if (ret == 0 && (search->has_runtime || d->build_id.size)) {
		memcpy(search->debuglink, search->runtime.debuglink, sizeof(search->debuglink));
		search->debuglink_crc = search->runtime.debuglink_crc;
		search->debuglink_of = search->debuglink[0] ? search->debuglink : NULL;
		ret = symbols_visit_debug(
			s, path, d->build_id.size ? &d->build_id : &search->runtime.build_id,
			search->debuglink, visit, search, err);
	}
	return ret < 0 ? ret : TL_OK;
}

/* ---- taking ---- */

/* Distributions without debug packages leave the names of local functions in the binary, packed. */
static int take_debugdata(struct search *search, struct tl_error *why)
{
	struct symbols_elf inner;
	int ret = symbols_elf_open_debugdata(&inner, &search->runtime, why);

	if (ret == TL_NOMEM)
		return ret;
	if (ret < 0) { /* an extra: what the binary says itself is enough */
		tl_error_clear(why);
		return TL_OK;
	}
	if (inner.symtab) {
		ret = symbols_elf_load(&search->dso->table, &inner, &search->runtime, why);
		if (ret == TL_FORMAT) {
			tl_error_clear(why);
			ret = TL_OK;
		}
	}
	symbols_elf_close(&inner);
	return ret;
}

/* What the unwinder will ask for: memory that is no file is kept, a file is found again. */
static int take_image(struct tl_symbols_dso *dso, struct symbols_elf *runtime, struct tl_error *err)
{
	if (runtime->memory) {
		dso->image.copy = malloc(runtime->memory_size);
		if (!dso->image.copy)
			return tl_fail(err, TL_NOMEM, "out of memory: %s", runtime->path);
		memcpy(dso->image.copy, runtime->memory, runtime->memory_size);
		dso->image.data = dso->image.copy;
		dso->image.size = runtime->memory_size;
		return TL_OK;
	}
	dso->runtime_st = runtime->st;
	return symbols_place_copy(
		&dso->runtime, &(struct symbols_place) { runtime->path, runtime->archived }, err);
}

static int take_names(struct search *search, struct tl_error *err)
{
	struct tl_symbols_dso *dso = search->dso;
	struct symbols_elf *runtime = search->has_runtime ? &search->runtime : &search->names;
	struct symbols_elf *names =
		search->has_names && !search->is_same ? &search->names : runtime;
	struct tl_error why = { 0 };
	int ret;

	dso->table.is_mangled = true;
	dso->table.is_like_perf = dso->symbols->options.like_perf;
	ret = symbols_elf_load(&dso->table, names, runtime, &why);
	if (ret == TL_OK && !search->has_names && runtime->debugdata && !dso->table.is_like_perf)
		ret = take_debugdata(search, &why);
	if (ret == TL_NOMEM)
		return tl_fail(err, TL_NOMEM, "%s", why.text);
	if (ret < 0)
		return symbols_note(dso, TL_DSO_NOT_ELF, err, "%s", why.text);
	ret = symbols_elf_segments(runtime, &dso->segments, &dso->segment_count, err);
	if (ret < 0)
		return ret;
	ret = search->has_runtime ? take_image(dso, runtime, err) : TL_OK;
	if (ret < 0)
		return ret;
	if (!dso->table.count)
		return symbols_note(dso, TL_DSO_STRIPPED, err,
				    "%s has no symbols, and no debug file of it was found",
				    runtime->path);
	dso->file = tl_arena_copy(&dso->symbols->arena, names->path, strlen(names->path), err);
	if (!dso->file)
		return TL_NOMEM;
	dso->status = TL_DSO_OK;
	dso->reason = NULL;
	return TL_OK;
}

int symbols_load_file(struct tl_symbols_dso *dso, struct tl_error *err)
{
	const struct tl_dso_description *d = &dso->description;
	struct search search = { .dso = dso, .wants_info = dso->symbols->options.want_inlines };
	char hex[2 * TL_BUILD_ID_MAX + 1];
	bool is_deleted;
	char *path;
	int ret;

	if (d->kind == TL_DSO_FILE && !d->build_id.size && is_no_file(d->path))
		return symbols_note(dso, TL_DSO_NOT_APPLICABLE, err, "%s is no file", d->path);
	path = tl_strdup_n(d->path, strlen(d->path), err);
	if (!path)
		return TL_NOMEM;
	is_deleted = strip_deleted(path);
	ret = look(&search, path, is_deleted, err);
	if (ret == TL_OK && (search.has_names || search.has_runtime))
		ret = take_names(&search, err);
	else if (ret == TL_OK && is_deleted && !d->build_id.size)
		ret = symbols_note(dso, TL_DSO_NO_FILE, err,
				   "%s was deleted, and no build-id was recorded to find a copy",
				   path);
	else if (ret == TL_OK && d->build_id.size)
		ret = symbols_note(dso, TL_DSO_NO_FILE, err, "%s: no file with build-id %s", path,
				   symbols_build_id_text(&d->build_id, hex));
	else if (ret == TL_OK)
		ret = symbols_note(dso, TL_DSO_NO_FILE, err, "%s: no such file", path);
	symbols_elf_close(&search.names);
	symbols_elf_close(&search.runtime);
	free(path);
	return ret;
}
