/*
 * symbols_elf.c - an ELF file, opened with care: which build it is, what is in it, how it is loaded.
 * Knows nothing of where files are, and leaves the names to symbols_names.c.
 *
 * libelf reads with pread what is asked for, so that a file that shrinks while it is read gives an
 * error and not a signal, and only the tables take memory.
 */
#include "symbols_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gelf.h>
#include <libelf.h>

#include "inflate.h"

#define INFLATE_STEP	  (1u << 20)
#define DEBUGDATA_MAX	  (64u << 20) /* inflated: a table of names, not a debug file */
#define NOTE_HEADER_BYTES 12
#define BUILD_ID_NOTE	  3 /* NT_GNU_BUILD_ID */

/* ---- opening ---- */

static uint32_t get_u32(bool is_big_endian, const uint8_t *p)
{
	return is_big_endian
		       ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
		       : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

bool symbols_note_build_id(const uint8_t *data, size_t size, size_t align, bool is_big_endian,
			   struct tl_build_id *id)
{
	while (size >= NOTE_HEADER_BYTES) {
		size_t name_size = get_u32(is_big_endian, data);
		size_t id_size = get_u32(is_big_endian, data + 4);
		uint32_t type = get_u32(is_big_endian, data + 8);
		size_t name_room = (name_size + align - 1) & ~(align - 1);
		size_t room = (id_size + align - 1) & ~(align - 1);

		data += NOTE_HEADER_BYTES;
		size -= NOTE_HEADER_BYTES;
		if (name_room > size || id_size > size - name_room)
			return false;
		if (type == BUILD_ID_NOTE && name_size == 4 && !memcmp(data, "GNU", 4) && id_size) {
			id->size = (uint8_t)(id_size < TL_BUILD_ID_MAX ? id_size : TL_BUILD_ID_MAX);
			memcpy(id->data, data + name_room, id->size);
			return true;
		}
		if (room > size - name_room)
			return false;
		data += name_room + room;
		size -= name_room + room;
	}
	return false;
}

static void read_build_id_of_segments(struct symbols_elf *elf)
{
	size_t count = 0;

	if (elf_getphdrnum(elf->elf, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;
		Elf_Data *data;

		if (!gelf_getphdr(elf->elf, (int)i, &phdr) || phdr.p_type != PT_NOTE)
			continue;
		data = elf_getdata_rawchunk(elf->elf, (int64_t)phdr.p_offset, phdr.p_filesz,
					    ELF_T_BYTE);
		if (data && data->d_buf &&
		    symbols_note_build_id(data->d_buf, data->d_size, phdr.p_align == 8 ? 8 : 4,
					  elf->is_big_endian, &elf->build_id))
			return;
	}
}

static void read_debuglink(struct symbols_elf *elf, Elf_Data *data)
{
	const char *name = data->d_buf;
	size_t len = name ? strnlen(name, data->d_size) : 0, crc_at = (len + 4) & ~(size_t)3;

	if (!len || len >= sizeof(elf->debuglink) || crc_at + 4 > data->d_size ||
	    memchr(name, '/', len))
		return;
	memcpy(elf->debuglink, name, len + 1);
	elf->debuglink_crc = get_u32(elf->is_big_endian, (const uint8_t *)name + crc_at);
}

/* One walk over the sections, by type and name. */
static void read_sections(struct symbols_elf *elf)
{
	size_t names = 0;
	Elf_Scn *section = NULL;

	if (elf_getshdrstrndx(elf->elf, &names) < 0 || !names) {
		elf->has_code = true; /* no sections at all: nobody strips code */
		return;
	}
	while ((section = elf_nextscn(elf->elf, section))) {
		size_t index = elf_ndxscn(section);
		GElf_Shdr shdr;
		const char *name;
		Elf_Data *data;

		if (!gelf_getshdr(section, &shdr))
			continue;
		name = elf_strptr(elf->elf, names, shdr.sh_name);
		if (shdr.sh_type == SHT_PROGBITS && (shdr.sh_flags & SHF_EXECINSTR))
			elf->has_code = true;
		if (shdr.sh_type == SHT_SYMTAB && !elf->symtab)
			elf->symtab = index;
		else if (shdr.sh_type == SHT_DYNSYM && !elf->dynsym)
			elf->dynsym = index;
		else if (shdr.sh_type == SHT_NOTE && !elf->build_id.size &&
			 (data = elf_rawdata(section, NULL)) && data->d_buf)
			symbols_note_build_id(data->d_buf, data->d_size,
					      shdr.sh_addralign == 8 ? 8 : 4, elf->is_big_endian,
					      &elf->build_id);
		if (!name || shdr.sh_type == SHT_NOBITS)
			continue;
		if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
			elf->has_info = true;
		else if (!strcmp(name, ".opd"))
			elf->opd = index;
		else if (!strcmp(name, ".gnu_debugdata"))
			elf->debugdata = index;
		else if (!strcmp(name, ".gnu_debuglink") && (data = elf_rawdata(section, NULL)))
			read_debuglink(elf, data);
	}
}

static int inspect(struct symbols_elf *elf, struct tl_error *err)
{
	GElf_Ehdr ehdr;

	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF || !gelf_getehdr(elf->elf, &ehdr))
		return tl_fail(err, TL_FORMAT, "%s: not an ELF file", elf->path);
	elf->machine = ehdr.e_machine;
	elf->type = ehdr.e_type;
	elf->is_64 = ehdr.e_ident[EI_CLASS] == ELFCLASS64;
	elf->is_big_endian = ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
	read_sections(elf);
	if (!elf->build_id.size)
		read_build_id_of_segments(elf);
	return TL_OK;
}

static int open_archived(struct symbols_elf *out, const struct symbols_place *place,
			 struct tl_error *err)
{
	int ret = TL_OK;

	out->fd = -1;
	out->archived = place->archived;
	out->path = tl_strdup_n(place->path, strlen(place->path), err);
	if (!out->path)
		return TL_NOMEM;
	symbols_image_open(&out->image, place, NULL);
	if (!out->image.data)
		ret = tl_fail(err, TL_IO, "%s: %s", place->path,
			      place->archived->size ? "cannot be read" : "is empty");
	elf_version(EV_CURRENT);
	if (ret == TL_OK)
		out->elf = elf_memory((char *)(uintptr_t)out->image.data, out->image.size);
	if (ret == TL_OK)
		ret = inspect(out, err);
	if (ret < 0)
		symbols_elf_close(out);
	return ret;
}

int symbols_elf_open(struct symbols_elf *out, const struct symbols_place *place,
		     struct tl_error *err)
{
	const char *path = place->path;
	int ret;

	memset(out, 0, sizeof(*out));
	if (place->archived)
		return open_archived(out, place, err);
	out->fd = symbols_open_regular(path, &out->st);
	if (out->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return tl_fail(err, TL_NOTHING, "%s: no such file", path);
	if (out->fd < 0)
		return tl_fail(err, TL_IO, "%s: %s", path,
			       errno == EINVAL ? "not a regular file" : strerror(errno));
	out->path = tl_strdup_n(path, strlen(path), err);
	if (!out->path) {
		close(out->fd);
		memset(out, 0, sizeof(*out));
		return TL_NOMEM;
	}
	elf_version(EV_CURRENT);
	out->elf = elf_begin(out->fd, ELF_C_READ, NULL);
	ret = inspect(out, err);
	if (ret < 0)
		symbols_elf_close(out);
	return ret;
}

int symbols_elf_open_memory(struct symbols_elf *out, const char *name, uint8_t *data, size_t size,
			    struct tl_error *err)
{
	int ret;

	memset(out, 0, sizeof(*out));
	out->fd = -1;
	out->memory = data;
	out->memory_size = size;
	out->path = tl_strdup_n(name, strlen(name), err);
	if (!out->path) {
		symbols_elf_close(out);
		return TL_NOMEM;
	}
	elf_version(EV_CURRENT);
	out->elf = elf_memory((char *)data, size);
	ret = inspect(out, err);
	if (ret < 0)
		symbols_elf_close(out);
	return ret;
}

struct packed {
	const uint8_t *data;
	size_t left;
};

static int pull(void *payload, uint8_t *out, size_t want, size_t *got, struct tl_error *err)
{
	struct packed *packed = payload;

	(void)err;
	*got = want < packed->left ? want : packed->left;
	memcpy(out, packed->data, *got);
	packed->data += *got;
	packed->left -= *got;
	return TL_OK;
}

/* Everything that is packed in `data`, up to `limit` bytes; *out from malloc. */
static int inflate_all(const char *name, const uint8_t *data, size_t size, size_t limit,
		       uint8_t **out, size_t *out_size, struct tl_error *err)
{
	struct packed packed = { data, size };
	struct tl_inflater *inflater;
	size_t capacity = 0, used = 0, got = 1;
	uint8_t *buffer = NULL;
	int ret = tl_inflater_open(&inflater, tl_compression_of(data, size), data, 0, pull, &packed,
				   err);

	*out = NULL;
	if (ret < 0)
		return ret;
	while (ret == TL_OK && got) {
		if (used > limit)
			ret = tl_fail(err, TL_FORMAT, "%s inflates to more than %zu bytes", name,
				      limit);
		if (ret == TL_OK)
			ret = tl_grow(&buffer, &capacity, used + INFLATE_STEP, err);
		if (ret == TL_OK)
			ret = tl_inflater_read(inflater, buffer + used, INFLATE_STEP, &got, err);
		if (ret == TL_OK)
			used += got;
	}
	if (ret == TL_OK && tl_inflater_damage(inflater))
		ret = tl_fail(err, TL_FORMAT, "%s: %s", name, tl_inflater_damage(inflater));
	tl_inflater_close(inflater);
	if (ret < 0) {
		free(buffer);
		return ret;
	}
	*out = buffer;
	*out_size = used;
	return TL_OK;
}

int symbols_elf_open_packed(struct symbols_elf *out, const struct symbols_place *place,
			    size_t limit, struct tl_error *err)
{
	uint8_t *data;
	char *file;
	size_t size, inflated;
	int ret = symbols_read_place(place, limit, &file, &size, err);

	memset(out, 0, sizeof(*out));
	if (ret < 0)
		return ret;
	if (tl_compression_of((const uint8_t *)file, size) == TL_COMPRESSION_NONE) {
		free(file);
		return symbols_elf_open(out, place, err);
	}
	ret = inflate_all(place->path, (const uint8_t *)file, size, limit, &data, &inflated, err);
	free(file);
	return ret < 0 ? ret : symbols_elf_open_memory(out, place->path, data, inflated, err);
}

int symbols_elf_open_debugdata(struct symbols_elf *out, struct symbols_elf *elf,
			       struct tl_error *err)
{
	Elf_Scn *section = elf->debugdata ? elf_getscn(elf->elf, elf->debugdata) : NULL;
	Elf_Data *packed = section ? elf_rawdata(section, NULL) : NULL;
	uint8_t *data;
	size_t size;
	int ret;

	memset(out, 0, sizeof(*out));
	if (!packed || !packed->d_buf || !packed->d_size)
		return tl_fail(err, TL_NOTHING, "%s has no .gnu_debugdata", elf->path);
	if (tl_compression_of(packed->d_buf, packed->d_size) == TL_COMPRESSION_NONE)
		return tl_fail(err, TL_FORMAT, "%s: .gnu_debugdata is not compressed", elf->path);
	ret = inflate_all(elf->path, packed->d_buf, packed->d_size, DEBUGDATA_MAX, &data, &size,
			  err);
	return ret < 0 ? ret : symbols_elf_open_memory(out, elf->path, data, size, err);
}

void symbols_elf_close(struct symbols_elf *elf)
{
	if (elf->elf)
		elf_end(elf->elf);
	if (elf->path && elf->fd >= 0)
		close(elf->fd);
	free(elf->memory);
	symbols_image_close(&elf->image);
	free(elf->path);
	memset(elf, 0, sizeof(*elf));
}

int symbols_elf_segments(struct symbols_elf *elf, struct symbols_segment **out, size_t *count,
			 struct tl_error *err)
{
	struct symbols_segment *segments = NULL;
	size_t headers = 0, used = 0, capacity = 0;

	Elf_Scn *section = NULL;
	GElf_Shdr shdr;
	int ret = TL_OK;

	*out = NULL;
	*count = 0;
	if (elf_getphdrnum(elf->elf, &headers) < 0)
		headers = 0;
	for (size_t i = 0; i < headers; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf->elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		ret = tl_grow(&segments, &capacity, used + 1, err);
		if (ret < 0)
			break;
		segments[used++] = (struct symbols_segment) {
			.vaddr = phdr.p_vaddr,
			.offset = phdr.p_offset,
			.file_size = phdr.p_filesz,
			.memory_size = phdr.p_memsz,
			.align = phdr.p_align,
			.is_exec = phdr.p_flags & PF_X,
		};
	}
	/* The little files that perf inject makes of JIT code have sections only. */
	while (!headers && ret == TL_OK && (section = elf_nextscn(elf->elf, section))) {
		if (!gelf_getshdr(section, &shdr) || shdr.sh_type != SHT_PROGBITS ||
		    !(shdr.sh_flags & SHF_EXECINSTR))
			continue;
		ret = tl_grow(&segments, &capacity, used + 1, err);
		if (ret < 0)
			break;
		segments[used++] = (struct symbols_segment) {
			.vaddr = shdr.sh_addr,
			.offset = shdr.sh_offset,
			.file_size = shdr.sh_size,
			.memory_size = shdr.sh_size,
			.is_exec = true,
		};
	}
	if (ret < 0) {
		free(segments);
		return ret;
	}
	*out = segments;
	*count = used;
	return TL_OK;
}
