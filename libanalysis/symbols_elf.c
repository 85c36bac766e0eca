/*
 * symbols_elf.c - what an ELF file says: its build-id, segments, debug link, and its names with
 * their addresses, including those of .plt stubs. Knows nothing of where files are.
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

static uint64_t get_u64(bool is_big_endian, const uint8_t *p)
{
	uint64_t first = get_u32(is_big_endian, p), second = get_u32(is_big_endian, p + 4);

	return is_big_endian ? first << 32 | second : second << 32 | first;
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

int symbols_elf_open(struct symbols_elf *out, const char *path, struct tl_error *err)
{
	int ret;

	memset(out, 0, sizeof(*out));
	out->fd = symbols_open_regular(path, &out->st);
	if (out->fd < 0)
		return tl_fail(err, TL_IO, "%s: %s", path, strerror(errno));
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

int symbols_elf_open_packed(struct symbols_elf *out, const char *path, size_t limit,
			    struct tl_error *err)
{
	uint8_t *data;
	char *file;
	size_t size, inflated;
	int ret = symbols_read_file(path, limit, &file, &size, err);

	memset(out, 0, sizeof(*out));
	if (ret < 0)
		return ret;
	if (tl_compression_of((const uint8_t *)file, size) == TL_COMPRESSION_NONE) {
		free(file);
		return symbols_elf_open(out, path, err);
	}
	ret = inflate_all(path, (const uint8_t *)file, size, limit, &data, &inflated, err);
	free(file);
	return ret < 0 ? ret : symbols_elf_open_memory(out, path, data, inflated, err);
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

/* ---- names ---- */

enum {
	SECTION_ALLOC = 1,  /* in memory when the program runs */
	SECTION_LABELS = 2, /* untyped symbols there are names of code or data */
};

struct section_facts {
	uint8_t *flags;
	size_t count;
};

static bool holds_labels(Elf *elf, size_t names, const GElf_Shdr *shdr)
{
	const char *name = elf_strptr(elf, names, shdr->sh_name);

	return name && (strstr(name, "text") || strstr(name, "data"));
}

/*
 * A kernel module is not linked: its symbols count from their sections, and where those went nobody
 * wrote down, but for the first with code, which is at the module's own address.
 */
static bool is_first_code(bool *has_code, const GElf_Shdr *shdr)
{
	bool is_code = shdr->sh_type == SHT_PROGBITS && (shdr->sh_flags & SHF_EXECINSTR) &&
		       (shdr->sh_flags & SHF_ALLOC) && shdr->sh_size;
	bool is_first = is_code && !*has_code;

	*has_code |= is_code;
	return is_first;
}

/* What symbols need to know of their section. A debug file's section names may be gone: then the
 * other file tells. */
static int section_facts(struct section_facts *facts, struct symbols_elf *elf,
			 struct symbols_elf *runtime, struct tl_error *err)
{
	size_t names = 0, runtime_names = 0, count = 0;
	bool has_code = false;

	memset(facts, 0, sizeof(*facts));
	if (elf_getshdrnum(elf->elf, &count) < 0 || elf_getshdrstrndx(elf->elf, &names) < 0)
		return TL_OK;
	if (elf_getshdrstrndx(runtime->elf, &runtime_names) < 0)
		runtime_names = 0;
	facts->flags = tl_alloc(count, 1, err);
	if (!facts->flags)
		return TL_NOMEM;
	facts->count = count;
	for (size_t i = 1; i < count; i++) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(elf_getscn(elf->elf, i), &shdr))
			continue;
		if (shdr.sh_flags & SHF_ALLOC)
			facts->flags[i] |= SECTION_ALLOC;
		if (elf->type == ET_REL && !is_first_code(&has_code, &shdr))
			facts->flags[i] &= ~SECTION_ALLOC;
		if (shdr.sh_type == SHT_NOBITS && runtime != elf) {
			if (gelf_getshdr(elf_getscn(runtime->elf, i), &shdr) &&
			    holds_labels(runtime->elf, runtime_names, &shdr))
				facts->flags[i] |= SECTION_LABELS;
		} else if (holds_labels(elf->elf, names, &shdr)) {
			facts->flags[i] |= SECTION_LABELS;
		}
	}
	return TL_OK;
}

static void section_facts_release(struct section_facts *facts)
{
	free(facts->flags);
}

/* Marks of the assembler between code and data, not names: $a $d $t $x and $x.1 */
static bool is_mapping_symbol(const struct symbols_elf *elf, const char *name)
{
	return (elf->machine == EM_ARM || elf->machine == EM_AARCH64) && name[0] == '$' &&
	       name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

/* Functions, data and visible labels: the table that perf makes, so that ends agree with it. */
static bool is_wanted(const GElf_Sym *sym, const struct section_facts *facts)
{
	unsigned type = GELF_ST_TYPE(sym->st_info), visibility = GELF_ST_VISIBILITY(sym->st_other);
	uint8_t flags = sym->st_shndx < facts->count ? facts->flags[sym->st_shndx] : 0;

	if (!sym->st_name || sym->st_shndx == SHN_UNDEF || !(flags & SECTION_ALLOC))
		return false;
	if (type == STT_NOTYPE)
		return visibility != STV_HIDDEN && visibility != STV_INTERNAL &&
		       (flags & SECTION_LABELS);
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT;
}

/* PowerPC ELFv1: a function's symbol is in .opd, which holds the address of its code. */
struct opd {
	const uint8_t *data;
	size_t size, section;
	uint64_t address;
};

static struct opd read_opd(struct symbols_elf *runtime)
{
	struct opd opd = { 0 };
	GElf_Shdr shdr;
	Elf_Scn *section = runtime->opd ? elf_getscn(runtime->elf, runtime->opd) : NULL;
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	if (runtime->machine != EM_PPC64 || !data || !data->d_buf || !gelf_getshdr(section, &shdr))
		return opd;
	opd.data = data->d_buf;
	opd.size = data->d_size;
	opd.address = shdr.sh_addr;
	opd.section = runtime->opd;
	return opd;
}

static void follow_opd(const struct opd *opd, const struct symbols_elf *runtime, GElf_Sym *sym)
{
	uint64_t at = sym->st_value - opd->address;

	if (opd->section && sym->st_shndx == opd->section && opd->size >= 8 && at <= opd->size - 8)
		sym->st_value = get_u64(runtime->is_big_endian, opd->data + at);
}

/* *base is where the names of this table begin among the strings. */
static int load_one_table(struct symbols_table *table, struct symbols_elf *elf,
			  struct symbols_elf *runtime, size_t section_index, uint32_t *base,
			  struct tl_error *err)
{
	Elf_Scn *section = elf_getscn(elf->elf, section_index);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL, *strings;
	struct opd opd = read_opd(runtime);
	struct section_facts facts = { 0 };
	GElf_Shdr shdr;
	size_t count;
	int ret;

	if (!data || !gelf_getshdr(section, &shdr) || !shdr.sh_entsize)
		return tl_fail(err, TL_FORMAT, "%s: symbol table cannot be read: %s", elf->path,
			       elf_errmsg(-1));
	strings = elf_getdata(elf_getscn(elf->elf, shdr.sh_link), NULL);
	if (!strings || !strings->d_buf)
		return tl_fail(err, TL_FORMAT, "%s: names of the symbol table cannot be read: %s",
			       elf->path, elf_errmsg(-1));
	ret = symbols_table_add_strings(table, strings->d_buf, strings->d_size, base, err);
	if (ret == TL_OK)
		ret = section_facts(&facts, elf, runtime, err);
	count = data->d_size / gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 0; ret == TL_OK && i < count; i++) {
		struct symbols_entry entry = { 0 };
		unsigned bind;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_name >= strings->d_size ||
		    !table->strings[*base + sym.st_name] || !is_wanted(&sym, &facts) ||
		    is_mapping_symbol(elf, table->strings + *base + sym.st_name))
			continue;
		follow_opd(&opd, runtime, &sym);
		if (elf->machine == EM_ARM && GELF_ST_TYPE(sym.st_info) == STT_FUNC)
			sym.st_value &= ~UINT64_C(1); /* says Thumb, is no address */
		bind = GELF_ST_BIND(sym.st_info);
		entry.start = sym.st_value;
		entry.size = sym.st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)sym.st_size;
		entry.name = *base + sym.st_name;
		entry.binding = bind == STB_WEAK     ? SYMBOLS_WEAK
				: bind == STB_GLOBAL ? SYMBOLS_GLOBAL
						     : SYMBOLS_LOCAL;
		ret = symbols_table_add(table, &entry, err);
	}
	section_facts_release(&facts);
	if (ret == TL_OK)
		ret = symbols_table_sort(table, err);
	if (ret == TL_OK)
		symbols_table_set_ends(table);
	return ret;
}

/* ---- .plt ---- */

struct plt {
	uint64_t address, size, header, entry;
};

/* Sizes of what linkers write; on x86 lld leaves sh_entsize 0. */
static void plt_sizes(const struct symbols_elf *elf, const GElf_Shdr *shdr, struct plt *plt)
{
	plt->address = shdr->sh_addr;
	plt->size = shdr->sh_size;
	switch (elf->machine) {
	case EM_ARM:
		plt->header = 20;
		plt->entry = 12;
		break;
	case EM_AARCH64:
	case EM_RISCV:
	case EM_LOONGARCH:
		plt->header = 32;
		plt->entry = 16;
		break;
	case EM_SPARC:
		plt->header = 48;
		plt->entry = 12;
		break;
	case EM_SPARCV9:
		plt->header = 128;
		plt->entry = 32;
		break;
	case EM_386:
	case EM_X86_64:
		plt->header = plt->entry = shdr->sh_entsize > 4 ? shdr->sh_entsize : 16;
		break;
	default:
		plt->header = plt->entry = shdr->sh_entsize;
		break;
	}
}

struct plt_slot {
	uint64_t got, addend;
	uint32_t symbol; /* 0: an indirect function of this file, whose resolver is at the addend */
};

static int compare_slots(const void *a, const void *b)
{
	const struct plt_slot *x = a, *y = b;

	return x->got < y->got ? -1 : x->got > y->got;
}

/* The relocations of the PLT in the order of their stubs, which is that of their GOT slots. */
static int read_slots(struct symbols_elf *elf, Elf_Scn *section, bool has_addend,
		      struct plt_slot **out, size_t *count, struct tl_error *err)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t size = gelf_fsize(elf->elf, has_addend ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	struct plt_slot *slots;

	*out = NULL;
	*count = data && data->d_buf && size ? data->d_size / size : 0;
	if (!*count)
		return TL_OK;
	slots = tl_alloc(*count, sizeof(*slots), err);
	if (!slots)
		return TL_NOMEM;
	for (size_t i = 0; i < *count; i++) {
		GElf_Rela rela;
		GElf_Rel rel;

		if (has_addend && gelf_getrela(data, (int)i, &rela)) {
			slots[i].got = rela.r_offset;
			slots[i].addend = (uint64_t)rela.r_addend;
			slots[i].symbol = (uint32_t)GELF_R_SYM(rela.r_info);
		} else if (!has_addend && gelf_getrel(data, (int)i, &rel)) {
			slots[i].got = rel.r_offset;
			slots[i].symbol = (uint32_t)GELF_R_SYM(rel.r_info);
		}
	}
	qsort(slots, *count, sizeof(*slots), compare_slots);
	*out = slots;
	return TL_OK;
}

/* The name of what a stub calls, as an offset into the strings; false: it has none. */
static bool stub_name(const struct symbols_table *table, Elf_Data *symbols,
		      const struct plt_slot *slot, uint32_t base, uint32_t *name)
{
	const struct symbols_entry *target;
	GElf_Sym sym;

	if (slot->symbol) {
		if (!symbols || !gelf_getsym(symbols, (int)slot->symbol, &sym) || !sym.st_name ||
		    base + (uint64_t)sym.st_name >= table->strings_size)
			return false;
		*name = base + sym.st_name;
		return true;
	}
	target = slot->addend ? symbols_table_find(table, slot->addend) : NULL;
	if (!target || target->start != slot->addend)
		return false;
	*name = target->name;
	return true;
}

/* `named` entries are sorted already; stubs are added behind them. */
static int add_stubs(struct symbols_table *table, size_t named, struct symbols_elf *elf,
		     const struct plt *plt, const struct plt_slot *slots, size_t count,
		     uint32_t base, struct tl_error *err)
{
	Elf_Data *symbols = elf_getdata(elf_getscn(elf->elf, elf->dynsym), NULL);
	uint64_t at = plt->address + plt->header;
	int ret = TL_OK;

	if (!plt->entry || plt->entry > UINT32_MAX)
		return TL_OK;
	for (size_t i = 0; ret == TL_OK && i < count && at - plt->address < plt->size; i++) {
		struct symbols_entry entry = { .start = at,
					       .size = (uint32_t)plt->entry,
					       .binding = SYMBOLS_GLOBAL,
					       .flags = SYMBOLS_PLT };
		struct symbols_table sorted = *table;

		at += plt->entry;
		sorted.count = named;
		if (stub_name(&sorted, symbols, &slots[i], base, &entry.name))
			ret = symbols_table_add(table, &entry, err);
	}
	return ret;
}

/* Stubs have no symbols: the n-th belongs to the n-th relocation. */
static int load_plt(struct symbols_table *table, struct symbols_elf *elf, bool has_base,
		    uint32_t base, struct tl_error *err)
{
	struct plt plt = { 0 }, second = { 0 };
	struct plt_slot *slots = NULL;
	Elf_Scn *section = NULL, *relocations = NULL;
	size_t names = 0, count = 0;
	size_t named = table->count;
	bool has_addend = false;
	Elf_Data *strings;
	GElf_Shdr shdr;
	int ret;

	if (!elf->dynsym || elf_getshdrstrndx(elf->elf, &names) < 0)
		return TL_OK;
	while ((section = elf_nextscn(elf->elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &shdr) ||
		    !(name = elf_strptr(elf->elf, names, shdr.sh_name)))
			continue;
		if (!strcmp(name, ".plt") && shdr.sh_type == SHT_PROGBITS) {
			plt_sizes(elf, &shdr, &plt);
		} else if (!strcmp(name, ".plt.sec") && shdr.sh_type == SHT_PROGBITS) {
			plt_sizes(elf, &shdr, &second);
			second.header = 0;
		} else if ((!strcmp(name, ".rela.plt") || !strcmp(name, ".rel.plt")) &&
			   shdr.sh_link == elf->dynsym) {
			relocations = section;
			has_addend = shdr.sh_type == SHT_RELA;
		}
	}
	if (!relocations || !gelf_getshdr(elf_getscn(elf->elf, elf->dynsym), &shdr) ||
	    !(strings = elf_getdata(elf_getscn(elf->elf, shdr.sh_link), NULL)) || !strings->d_buf)
		return TL_OK;
	ret = read_slots(elf, relocations, has_addend, &slots, &count, err);
	if (ret == TL_OK && !has_base)
		ret = symbols_table_add_strings(table, strings->d_buf, strings->d_size, &base, err);
	if (ret == TL_OK)
		ret = add_stubs(table, named, elf, &plt, slots, count, base, err);
	if (ret == TL_OK)
		ret = add_stubs(table, named, elf, &second, slots, count, base, err);
	free(slots);
	return ret;
}

int symbols_elf_load(struct symbols_table *table, struct symbols_elf *syms,
		     struct symbols_elf *runtime, struct tl_error *err)
{
	uint32_t symtab_base, dynsym_base = 0;
	bool has_base = false;
	int ret = TL_OK;

	if (syms->symtab)
		ret = load_one_table(table, syms, runtime, syms->symtab, &symtab_base, err);
	if (ret == TL_OK && syms->dynsym) {
		ret = load_one_table(table, syms, runtime, syms->dynsym, &dynsym_base, err);
		has_base = syms == runtime;
	}
	if (ret == TL_OK)
		ret = load_plt(table, runtime, has_base, dynsym_base, err);
	if (ret == TL_OK)
		ret = symbols_table_sort(table, err);
	if (ret == TL_OK)
		ret = symbols_table_finish(table, err);
	return ret;
}
