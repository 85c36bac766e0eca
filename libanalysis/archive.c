/*
 * archive.c - from a tar archive to the files of a build-id cache: what is stored where, which build-id
 * names it, where links lead. Knows how perf lays out its cache; judges no file.
 */
#include "archive.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "spool.h"
#include "tar.h"

#define STORED_MAX \
	(UINT64_C(16) << 30) /* bytes of files; those of a large cluster job reach 3 GiB */

enum {
	NAME_MAX_BYTES = 4096, /* PATH_MAX: longer names were no files */
	MEMBERS_MAX = 1 << 17, /* a cache of everything on a machine has some ten thousand */
	CANDIDATES_MAX = 64,   /* members of one build-id that are looked at */
	LINKS_MAX = 16,	       /* links that lead to one file */
	TEXT_LINK_MAX = NAME_MAX_BYTES,
	ID_DIGITS_MIN = 16, /* below that, names of directories are hexadecimal by chance */
	ID_DIGITS_MAX = 2 * TL_BUILD_ID_MAX,
	NOTES_MAX = 16,
	NONE = -1,
};

struct member {
	const char *name;   /* canonical: no empty, "." or ".." component */
	const char *target; /* of a link, as it was written; NULL: a file */
	struct tl_archive_file file;
	int64_t next;	     /* another one of the same build-id, or NONE */
	size_t chain_length; /* of the first of a build-id */
};

/* What was left out, for the sake of which it is told. */
enum left_out {
	LEFT_NAME,
	LEFT_LARGE,
	LEFT_SPARSE,
	LEFT_SPECIAL,
	LEFT_UNKNOWN,
	LEFT_LINK,
	LEFT_SAME,
	LEFT_KINDS
};

static const char *const left_out_words[LEFT_KINDS] = {
	[LEFT_NAME] = "the name leads elsewhere or is too long",
	[LEFT_LARGE] = "no room (16 GiB at most, and half of what is free in TMPDIR)",
	[LEFT_SPARSE] = "stored with holes (tar --sparse)",
	[LEFT_SPECIAL] = "a device or a FIFO",
	[LEFT_UNKNOWN] = "of an unknown type",
	[LEFT_LINK] = "a hard link to nothing before it",
	[LEFT_SAME] = "beyond the first 64 of one build-id",
};

struct tl_archive {
	struct tl_arena arena;
	const char *path; /* for people */
	int fd;		  /* the spool */
	uint64_t stored, room;
	struct member *members;
	size_t count, capacity;
	struct tl_index by_name, by_id;
	struct {
		uint64_t count, first_offset;
	} left[LEFT_KINDS];
	const char *notes[NOTES_MAX + 1];
	size_t note_count;
};

/* ---- names ---- */

/*
 * Appends the components of `name` to the canonical path in `out`, of `*used` bytes. ".." takes one
 * away, if that is allowed and there is one.
 */
static bool append_components(char *out, size_t *used, const char *name, bool may_go_up)
{
	while (*name) {
		size_t len = strcspn(name, "/");

		if (len == 2 && name[0] == '.' && name[1] == '.') {
			if (!may_go_up || !*used)
				return false;
			while (*used && out[*used - 1] != '/')
				--*used;
			*used -= *used != 0; /* the slash */
		} else if (len && !(len == 1 && name[0] == '.')) {
			if (*used + len + 2 > NAME_MAX_BYTES)
				return false;
			if (*used)
				out[(*used)++] = '/';
			memcpy(out + *used, name, len);
			*used += len;
		}
		name += len;
		name += *name == '/';
	}
	out[*used] = '\0';
	return true;
}

static uint64_t hash_of(const char *text, size_t len)
{
	return tl_hash(text, len, 0);
}

static int64_t find_name(const struct tl_archive *a, const char *name, size_t len)
{
	size_t probe = 0;
	int64_t i;

	while ((i = tl_index_find(&a->by_name, hash_of(name, len), &probe)) >= 0)
		if (!strncmp(a->members[i].name, name, len) && !a->members[i].name[len])
			return i;
	return NONE;
}

/*
 * Puts `tail` behind the link's directory (or the root, for an absolute target) and its target; false
 * when that leads out of the archive or nowhere.
 */
static bool follow(const struct member *link, const char *tail, char *out)
{
	const char *slash = strrchr(link->name, '/');
	size_t used = 0;

	if (link->target[0] != '/' && slash) {
		used = (size_t)(slash - link->name);
		memcpy(out, link->name, used);
	}
	return append_components(out, &used, link->target, true) &&
	       append_components(out, &used, tail, true);
}

/* Follows every link on the way to `name`; the result in `out` may be a file, or have files below. */
static bool resolve(const struct tl_archive *a, const char *name, char *out)
{
	char work[NAME_MAX_BYTES];
	size_t used = 0;

	if (!append_components(out, &used, name, true))
		return false;
	for (int links = 0; links <= LINKS_MAX; links++) {
		const struct member *link = NULL;
		size_t at = 0;

		while (!link && out[at]) {
			int64_t i;

			at += strcspn(out + at, "/");
			i = find_name(a, out, at);
			if (i >= 0 && a->members[i].target)
				link = &a->members[i];
			else
				at += out[at] == '/';
		}
		if (!link)
			return true;
		memcpy(work, out, strlen(out) + 1);
		if (!follow(link, work + at, out))
			return false;
	}
	return false;
}

/* ---- build-ids in names ---- */

static bool is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return false;
	return true;
}

static bool is_id(const char *text, size_t len)
{
	return len >= ID_DIGITS_MIN && len <= ID_DIGITS_MAX && is_hex(text, len);
}

struct component {
	const char *text;
	size_t len;
};

/* The last components of a name, the very last first. */
static size_t last_components(const char *name, struct component *out, size_t max)
{
	size_t end = strlen(name), count = 0;

	while (count < max && end) {
		size_t at = end;

		while (at && name[at - 1] != '/')
			at--;
		out[count++] = (struct component) { name + at, end - at };
		end = at ? at - 1 : 0;
	}
	return count;
}

static bool is_text(const struct component *c, const char *text)
{
	return c->len == strlen(text) && !memcmp(c->text, text, c->len);
}

/* What stands behind ".build-id/ab/" is the rest of an id. */
static bool get_split_id(const struct component *directory, const struct component *rest, char *id)
{
	if (directory->len != 2 || !is_hex(directory->text, 2) || !rest->len ||
	    rest->len + 2 > ID_DIGITS_MAX || !is_hex(rest->text, rest->len))
		return false;
	memcpy(id, directory->text, 2);
	memcpy(id + 2, rest->text, rest->len);
	id[2 + rest->len] = '\0';
	return true;
}

/*
 * Which build-id a member belongs to, and its name below that, "" when it is what stands for the
 * build-id itself:
 *	.build-id/ab/cdef...		a link to one of the two below, or a file
 *	.build-id/ab/cdef....debug	as in /usr/lib/debug
 *	usr/bin/program/abcdef...	a file, or a directory with "elf", "debug", "vdso", ...
 */
static bool get_id(const char *name, char *id, struct component *leaf)
{
	static const char debug[] = ".debug";
	struct component c[4];
	size_t count = last_components(name, c, 4);

	*leaf = (struct component) { "", 0 };
	if (count >= 3 && is_text(&c[2], ".build-id")) {
		struct component rest = c[0];

		if (rest.len > strlen(debug) &&
		    !memcmp(rest.text + rest.len - strlen(debug), debug, strlen(debug))) {
			rest.len -= strlen(debug);
			*leaf = (struct component) { debug + 1, strlen(debug) - 1 };
		}
		return get_split_id(&c[1], &rest, id);
	}
	if (count >= 4 && is_text(&c[3], ".build-id")) {
		*leaf = c[0];
		return get_split_id(&c[2], &c[1], id);
	}
	if (count >= 2 && is_id(c[1].text, c[1].len)) {
		*leaf = c[0];
		memcpy(id, c[1].text, c[1].len);
		id[c[1].len] = '\0';
		return true;
	}
	if (count < 1 || !is_id(c[0].text, c[0].len))
		return false;
	memcpy(id, c[0].text, c[0].len);
	id[c[0].len] = '\0';
	return true;
}

static int64_t first_of_id(const struct tl_archive *a, const char *id)
{
	char other[ID_DIGITS_MAX + 1];
	struct component leaf;
	size_t probe = 0;
	int64_t i;

	while ((i = tl_index_find(&a->by_id, hash_of(id, strlen(id)), &probe)) >= 0)
		if (get_id(a->members[i].name, other, &leaf) && !strcmp(id, other))
			return i;
	return NONE;
}

/* ---- finding ---- */

static const struct tl_archive_file *file_at(const struct tl_archive *a, const char *path)
{
	int64_t i = find_name(a, path, strlen(path));

	return i >= 0 && !a->members[i].target ? &a->members[i].file : NULL;
}

/* The file that a member of the wanted build-id is, or leads to, as far as `leaf` goes. */
static const struct tl_archive_file *candidate(const struct tl_archive *a, const struct member *m,
					       const char *leaf)
{
	char id[ID_DIGITS_MAX + 1], path[NAME_MAX_BYTES];
	const struct tl_archive_file *file;
	struct component found;
	char below[NAME_MAX_BYTES];
	size_t used;

	get_id(m->name, id, &found);
	if ((found.len && !is_text(&found, leaf)) || !resolve(a, m->name, path))
		return NULL;
	file = file_at(a, path);
	/* what stands for a build-id itself is the program, or whatever perf put there */
	if (file)
		return found.len || strcmp(leaf, "debug") != 0 ? file : NULL;
	used = strlen(path);
	if (found.len || !append_components(path, &used, leaf, false))
		return NULL;
	return resolve(a, path, below) ? file_at(a, below) : NULL;
}

const struct tl_archive_file *tl_archive_find(const struct tl_archive *a, const char *id,
					      const char *leaf, int64_t *at)
{
	int64_t i = *at == TL_ARCHIVE_FIRST ? first_of_id(a, id) : *at;
	const struct tl_archive_file *file = NULL;

	for (; i >= 0 && !file; i = a->members[i].next)
		file = candidate(a, &a->members[i], leaf);
	*at = i;
	return file;
}

/* ---- reading ---- */

static void leave_out(struct tl_archive *a, enum left_out why, const struct tl_tar_member *t)
{
	if (!a->left[why].count++)
		a->left[why].first_offset = t->offset;
}

static int add_to_id(struct tl_archive *a, size_t index, const struct tl_tar_member *t,
		     struct tl_error *err)
{
	struct member *m = &a->members[index];
	char id[ID_DIGITS_MAX + 1];
	struct component leaf;
	int64_t first;

	m->next = NONE;
	m->chain_length = 1;
	if (!get_id(m->name, id, &leaf))
		return TL_OK;
	first = first_of_id(a, id);
	if (first < 0)
		return tl_index_add(&a->by_id, hash_of(id, strlen(id)), (uint32_t)index, err);
	if (a->members[first].chain_length == CANDIDATES_MAX) {
		leave_out(a, LEFT_SAME, t);
		return TL_OK;
	}
	m->next = a->members[first].next;
	a->members[first].next = (int64_t)index;
	a->members[first].chain_length++;
	return TL_OK;
}

/* The member of a name, made if there is none; a later one takes the place of the earlier. */
static int member_of(struct tl_archive *a, const char *name, const struct tl_tar_member *t,
		     struct member **out, struct tl_error *err)
{
	const size_t len = strlen(name);
	int64_t i = find_name(a, name, len);
	struct tl_text shown = { 0 };
	struct member *m;
	int ret;

	if (i >= 0) {
		*out = &a->members[i];
		return TL_OK;
	}
	ret = tl_grow(&a->members, &a->capacity, a->count + 1, err);
	if (ret < 0)
		return ret;
	m = &a->members[a->count];
	tl_text_puts(&shown, a->path);
	tl_text_puts(&shown, ":");
	tl_text_puts(&shown, name);
	m->file.name =
		shown.failed ? NULL : tl_arena_copy(&a->arena, shown.data, shown.length, err);
	tl_text_release(&shown);
	if (!m->file.name)
		return tl_fail(err, TL_NOMEM, "out of memory: a name");
	m->name = m->file.name + strlen(a->path) + 1;
	m->file.fd = a->fd;
	*out = m;
	ret = tl_index_add(&a->by_name, hash_of(name, len), (uint32_t)a->count, err);
	if (ret == TL_OK)
		ret = add_to_id(a, a->count, t, err);
	a->count += ret == TL_OK;
	return ret;
}

/* Where the next file begins: at a page, so that it can be mapped. */
static uint64_t next_offset(const struct tl_archive *a)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (a->stored + page - 1) / page * page;
}

static bool has_room(const struct tl_archive *a, uint64_t size)
{
	return size <= a->room && next_offset(a) <= a->room - size;
}

static int store(struct tl_archive *a, struct tl_tar *tar, struct tl_archive_file *file,
		 struct tl_error *err)
{
	const uint64_t offset = next_offset(a);
	uint64_t at = offset;

	for (;;) {
		const uint8_t *data;
		size_t len;
		int ret = tl_tar_read(tar, &data, &len, err);

		if (ret == TL_OK && len)
			ret = tl_spool_write(a->fd, at, data, len, err);
		if (ret < 0)
			return ret;
		if (!len)
			break;
		at += len;
	}
	a->stored = at;
	*file = (struct tl_archive_file) { .fd = a->fd, .offset = offset, .size = at - offset };
	return TL_OK;
}

/*
 * A cache that was copied without links holds small text files in their place, with the link's target.
 */
static int read_text_link(struct tl_archive *a, const char *name,
			  const struct tl_archive_file *file, const char **target,
			  struct tl_error *err)
{
	char text[TEXT_LINK_MAX + 1], id[ID_DIGITS_MAX + 1];
	struct component leaf;
	size_t len;
	int ret;

	if (!file->size || file->size > TEXT_LINK_MAX || !strstr(name, ".build-id/") ||
	    !get_id(name, id, &leaf) || leaf.len)
		return TL_OK;
	ret = tl_spool_read(file->fd, file->offset, text, (size_t)file->size, err);
	if (ret < 0)
		return ret;
	text[file->size] = '\0';
	len = strcspn(text, "\r\n");
	if (!len || len + strspn(text + len, "\r\n") != file->size || !strchr(text, '/') ||
	    !memcmp(text, "\177ELF", 4))
		return TL_OK;
	*target = tl_arena_copy(&a->arena, text, len, err);
	return *target ? TL_OK : TL_NOMEM;
}

/* 1: taken, 0: left out. */
static int take_hard_link(struct tl_archive *a, const char *name, const struct tl_tar_member *t,
			  struct tl_archive_file *file, const char **target, struct tl_error *err)
{
	char other[NAME_MAX_BYTES] = "/";
	size_t used = 0;
	int64_t i;

	if (!append_components(other + 1, &used, t->link, false) ||
	    (i = find_name(a, other + 1, used)) < 0) {
		leave_out(a, LEFT_LINK, t);
		return 0;
	}
	if (!strcmp(name, other + 1)) /* what tar is told to pack twice becomes a link to itself */
		return 0;
	*file = a->members[i].file;
	if (!a->members[i].target)
		return 1;
	*target = tl_arena_copy(&a->arena, other, used + 1, err); /* a link to the link */
	return *target ? 1 : TL_NOMEM;
}

/* 1: it is a file or a link, described in *file and *target; 0: left out. */
static int take_content(struct tl_archive *a, struct tl_tar *tar, const struct tl_tar_member *t,
			const char *name, struct tl_archive_file *file, const char **target,
			struct tl_error *err)
{
	int ret;

	switch (t->kind) {
	case TL_TAR_FILE:
		if (!has_room(a, t->size)) {
			leave_out(a, LEFT_LARGE, t);
			return 0;
		}
		ret = store(a, tar, file, err);
		if (ret == TL_OK)
			ret = read_text_link(a, name, file, target, err);
		return ret < 0 ? ret : 1;
	case TL_TAR_HARD_LINK:
		return take_hard_link(a, name, t, file, target, err);
	case TL_TAR_LINK:
		*target = tl_arena_copy(&a->arena, t->link, strlen(t->link), err);
		return *target ? 1 : TL_NOMEM;
	case TL_TAR_DIRECTORY:
		return 0; /* it is what the names below it say */
	case TL_TAR_SPARSE:
		leave_out(a, LEFT_SPARSE, t);
		return 0;
	case TL_TAR_SPECIAL:
		leave_out(a, LEFT_SPECIAL, t);
		return 0;
	case TL_TAR_UNKNOWN:
		leave_out(a, LEFT_UNKNOWN, t);
		return 0;
	}
	return 0;
}

static int take_member(struct tl_archive *a, struct tl_tar *tar, const struct tl_tar_member *t,
		       struct tl_error *err)
{
	struct tl_archive_file file = { 0 };
	const char *target = NULL;
	char name[NAME_MAX_BYTES];
	struct member *m = NULL;
	size_t used = 0;
	int ret;

	if (t->kind == TL_TAR_DIRECTORY)
		return TL_OK;
	if (!append_components(name, &used, t->name, false) || !used ||
	    strlen(t->link) >= NAME_MAX_BYTES) {
		leave_out(a, LEFT_NAME, t);
		return TL_OK;
	}
	ret = take_content(a, tar, t, name, &file, &target, err);
	if (ret > 0)
		ret = member_of(a, name, t, &m, err);
	if (ret < 0 || !m)
		return ret;
	m->target = target;
	m->file.offset = file.offset;
	m->file.size = file.size;
	return TL_OK;
}

static int read_members(struct tl_archive *a, struct tl_tar *tar, uint64_t *member_count,
			struct tl_error *err)
{
	struct tl_tar_member t;
	int ret;

	while ((ret = tl_tar_next(tar, &t, err)) > 0) {
		if (++*member_count > MEMBERS_MAX)
			return tl_fail_at(err, TL_FORMAT, t.offset, "more than %d members",
					  MEMBERS_MAX);
		ret = take_member(a, tar, &t, err);
		if (ret < 0)
			return ret;
	}
	return ret;
}

/* ---- what is told ---- */

const char *tl_archive_note(const struct tl_archive *archive, size_t n)
{
	return n < archive->note_count ? archive->notes[n] : NULL;
}

static int note(struct tl_archive *a, const char *fmt, ...) TL_PRINTF(2, 3);

static int note(struct tl_archive *a, const char *fmt, ...)
{
	char text[512];
	va_list args;
	const char *kept;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0 || a->note_count == NOTES_MAX)
		return TL_OK;
	if ((size_t)len >= sizeof(text))
		len = sizeof(text) - 1;
	kept = tl_arena_copy(&a->arena, text, (size_t)len, NULL);
	if (!kept)
		return TL_NOMEM;
	a->notes[a->note_count++] = kept;
	return TL_OK;
}

static int note_all(struct tl_archive *a, const struct tl_input *in, const struct tl_error *damage)
{
	int ret = TL_OK;

	if (damage->status < 0 && damage->position_kind == TL_POSITION_BYTE)
		ret = note(a, "byte %llu: %s; the members before it are used",
			   (unsigned long long)damage->position, damage->text);
	else if (damage->status < 0)
		ret = note(a, "%s; the members before it are used", damage->text);
	if (ret == TL_OK && tl_input_damage(in))
		ret = note(a, "%s", tl_input_damage(in));
	for (int i = 0; i < LEFT_KINDS && ret == TL_OK; i++)
		if (a->left[i].count)
			ret = note(a, "byte %llu: %llu member%s left out: %s",
				   (unsigned long long)a->left[i].first_offset,
				   (unsigned long long)a->left[i].count,
				   a->left[i].count == 1 ? "" : "s", left_out_words[i]);
	if (ret == TL_OK && !a->by_id.count)
		ret = note(a, "holds no file that is named by a build-id");
	return ret;
}

/* ---- opening ---- */

/* Damage behind the first member leaves what came before it. */
static int read_all(struct tl_archive *a, struct tl_input *in, tl_progress_fn progress,
		    void *progress_payload, struct tl_error *err)
{
	struct tl_error damage = { 0 };
	uint64_t member_count = 0;
	struct tl_tar *tar;
	int ret = tl_tar_open(&tar, in, progress, progress_payload, err);

	if (ret < 0)
		return ret;
	ret = read_members(a, tar, &member_count, &damage);
	tl_tar_close(tar);
	if (ret < 0 && ret != TL_FORMAT)
		return tl_fail(err, ret, "%s", damage.text);
	if (ret < 0 && !member_count)
		return tl_fail(err, ret, "is no tar archive: %s",
			       tl_input_damage(in) ? tl_input_damage(in) : damage.text);
	return note_all(a, in, &damage);
}

int tl_archive_read(struct tl_archive **out, struct tl_input *in, tl_progress_fn progress,
		    void *progress_payload, struct tl_error *err)
{
	struct tl_archive *a = tl_alloc(1, sizeof(*a), err);
	const char *path = tl_input_name(in);
	int ret = TL_NOMEM;

	*out = NULL;
	if (!a)
		return TL_NOMEM;
	a->fd = -1;
	a->path = tl_arena_copy(&a->arena, path, strlen(path), err);
	if (a->path)
		ret = a->fd = tl_spool_open(err);
	if (ret >= 0) {
		a->room = tl_spool_room(a->fd) / 2;
		if (a->room > STORED_MAX)
			a->room = STORED_MAX;
		ret = read_all(a, in, progress, progress_payload, err);
	}
	if (ret < 0) {
		tl_archive_close(a);
		return ret;
	}
	*out = a;
	return TL_OK;
}

int tl_archive_open(struct tl_archive **out, const char *path, tl_progress_fn progress,
		    void *progress_payload, struct tl_error *err)
{
	struct tl_input *in;
	int ret = tl_input_open(&in, path, err);

	*out = NULL;
	if (ret == TL_OK)
		ret = tl_archive_read(out, in, progress, progress_payload, err);
	if (ret < 0)
		tl_error_source(err, path);
	tl_input_close(in);
	return ret;
}

void tl_archive_close(struct tl_archive *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	free(a->members);
	tl_index_release(&a->by_name);
	tl_index_release(&a->by_id);
	tl_arena_release(&a->arena);
	free(a);
}
