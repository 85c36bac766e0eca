/*
 * symbols_example.h - for tests: small ELF files made from lists, and directories that go away.
 */
#ifndef TL_SYMBOLS_EXAMPLE_H
#define TL_SYMBOLS_EXAMPLE_H

#include <elf.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols_private.h"

/* ---- a directory ---- */

static char example_root[256];

static inline int example_setup(void **state)
{
	(void)state;
	snprintf(example_root, sizeof(example_root), "%s/symbols.XXXXXX", P_tmpdir);
	return mkdtemp(example_root) ? 0 : -1;
}

static inline int example_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static inline int example_teardown(void **state)
{
	(void)state;
	return nftw(example_root, example_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* "<root>/<name>", one of eight buffers. */
static inline const char *example_path(const char *name)
{
	static char paths[8][1024];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", example_root, name);
	return path;
}

/* Writes a file below the root, with the directories it needs; returns its path. */
static inline const char *example_write(const char *name, const void *data, size_t size)
{
	const char *path = example_path(name);
	char directory[1024];
	FILE *file;

	snprintf(directory, sizeof(directory), "%s", path);
	for (char *p = strchr(directory + strlen(example_root) + 1, '/'); p;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(directory, 0755);
		*p = '/';
	}
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* ---- an ELF file ---- */

struct example_symbol {
	const char *name;
	uint64_t value, size;
	unsigned char bind, type, visibility;
	uint16_t section; /* EXAMPLE_TEXT ... */
};

enum {
	EXAMPLE_TEXT = 1,
	EXAMPLE_RODATA,
	EXAMPLE_PLT,
	EXAMPLE_PLT_SEC,
	EXAMPLE_NOTE,
	EXAMPLE_SYMTAB,
	EXAMPLE_STRTAB,
	EXAMPLE_DYNSYM,
	EXAMPLE_DYNSTR,
	EXAMPLE_RELA_PLT,
	EXAMPLE_DEBUGLINK,
	EXAMPLE_DEBUGDATA,
	EXAMPLE_OPD,
	EXAMPLE_SHSTRTAB,
	EXAMPLE_SECTIONS
};

struct example_elf {
	uint16_t machine, type;
	bool is_big_endian, is_debug_only; /* .text is NOBITS */
	uint64_t vaddr;			   /* of the text, which is 0x1000 bytes at offset 0x1000 */
	const char *build_id;		   /* raw bytes, NULL: none */
	size_t build_id_size;
	const struct example_symbol *symbols, *dynamic;
	size_t symbol_count, dynamic_count;
	const uint32_t *plt; /* numbers of dynamic symbols, from 1, in the order of GOT slots */
	const uint64_t *plt_addend;
	size_t plt_count;
	uint64_t plt_address, plt_sec_address; /* 0: there is none */
	const char *debuglink;
	uint32_t debuglink_crc;
	const void *debugdata, *opd;
	size_t debugdata_size, opd_size;
	uint64_t opd_address;
};

struct example_bytes {
	uint8_t *data;
	size_t size, capacity;
	bool is_big_endian;
};

static inline void example_put(struct example_bytes *b, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t byte = b->is_big_endian ? size - 1 - i : i;

		assert_int_equal(tl_grow(&b->data, &b->capacity, b->size + 1, NULL), TL_OK);
		b->data[b->size++] = (uint8_t)(value >> (8 * byte));
	}
}

static inline void example_append(struct example_bytes *b, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		example_put(b, ((const uint8_t *)data)[i], 1);
}

static inline void example_pad(struct example_bytes *b, size_t size)
{
	while (b->size < size)
		example_put(b, 0, 1);
}

struct example_section {
	const char *name;
	uint32_t type, link;
	uint64_t flags, address, offset, size, entry_size;
};

static inline void example_symbols(struct example_bytes *b, const struct example_symbol *symbols,
				   size_t count, struct example_section *table,
				   struct example_section *strings)
{
	struct example_bytes names = { .is_big_endian = b->is_big_endian };

	example_put(&names, 0, 1);
	table->offset = b->size;
	example_pad(b, b->size + 24);
	for (size_t i = 0; i < count; i++) {
		example_put(b, names.size, 4);
		example_put(b, (unsigned)symbols[i].bind << 4 | symbols[i].type, 1);
		example_put(b, symbols[i].visibility, 1);
		example_put(b, symbols[i].section, 2);
		example_put(b, symbols[i].value, 8);
		example_put(b, symbols[i].size, 8);
		example_append(&names, symbols[i].name, strlen(symbols[i].name) + 1);
	}
	table->size = b->size - table->offset;
	strings->offset = b->size;
	strings->size = names.size;
	example_append(b, names.data, names.size);
	free(names.data);
	example_pad(b, (b->size + 15) & ~(size_t)15);
}

static inline void example_blob(struct example_bytes *b, const void *data, size_t size,
				struct example_section *section)
{
	section->offset = b->size;
	section->size = size;
	example_append(b, data, size);
	example_pad(b, (b->size + 15) & ~(size_t)15);
}

static inline void example_header(struct example_bytes *b, const struct example_elf *elf,
				  uint64_t section_offset)
{
	static const uint8_t magic[4] = { 0x7f, 'E', 'L', 'F' };

	example_append(b, magic, 4);
	example_put(b, ELFCLASS64, 1);
	example_put(b, elf->is_big_endian ? ELFDATA2MSB : ELFDATA2LSB, 1);
	example_put(b, EV_CURRENT, 1);
	example_pad(b, 16);
	example_put(b, elf->type ? elf->type : ET_DYN, 2);
	example_put(b, elf->machine ? elf->machine : EM_X86_64, 2);
	example_put(b, EV_CURRENT, 4);
	example_put(b, 0, 8);
	example_put(b, 64, 8); /* program headers */
	example_put(b, section_offset, 8);
	example_put(b, 0, 4);
	example_put(b, 64, 2);
	example_put(b, 56, 2);
	example_put(b, elf->type == ET_REL ? 0 : 1, 2);
	example_put(b, 64, 2);
	example_put(b, EXAMPLE_SECTIONS, 2);
	example_put(b, EXAMPLE_SHSTRTAB, 2);
	/* the one segment */
	example_put(b, PT_LOAD, 4);
	example_put(b, PF_R | PF_X, 4);
	example_put(b, 0x1000, 8);
	example_put(b, elf->vaddr, 8);
	example_put(b, elf->vaddr, 8);
	example_put(b, elf->is_debug_only ? 0 : 0x1000, 8);
	example_put(b, 0x1000, 8);
	example_put(b, 0x1000, 8);
}

static inline void example_note(struct example_bytes *b, const struct example_elf *elf,
				struct example_section *section)
{
	section->offset = b->size;
	if (elf->build_id) {
		example_put(b, 4, 4);
		example_put(b, elf->build_id_size, 4);
		example_put(b, 3, 4);
		example_append(b, "GNU", 4);
		example_append(b, elf->build_id, elf->build_id_size);
		example_pad(b, (b->size + 3) & ~(size_t)3);
	}
	section->size = b->size - section->offset;
	example_pad(b, (b->size + 15) & ~(size_t)15);
}

static inline void example_relocations(struct example_bytes *b, const struct example_elf *elf,
				       struct example_section *section)
{
	section->offset = b->size;
	/* written from the last to the first: a reader has to go by the GOT slots */
	for (size_t i = elf->plt_count; i-- > 0;) {
		example_put(b, 0x9000 + 8 * i, 8);
		example_put(b, (uint64_t)elf->plt[i] << 32 | 7, 8);
		example_put(b, elf->plt_addend ? elf->plt_addend[i] : 0, 8);
	}
	section->size = b->size - section->offset;
}

/* The bytes, from malloc. */
static inline uint8_t *example_build(const struct example_elf *elf, size_t *size)
{
	struct example_bytes b = { .is_big_endian = elf->is_big_endian };
	struct example_section s[EXAMPLE_SECTIONS] = {
		[EXAMPLE_TEXT] = { ".text", elf->is_debug_only ? SHT_NOBITS : SHT_PROGBITS, 0,
				   SHF_ALLOC | SHF_EXECINSTR, elf->vaddr, 0x1000, 0x1000, 0 },
		[EXAMPLE_RODATA] = { ".rodata", SHT_PROGBITS, 0, SHF_ALLOC, elf->vaddr + 0xe00,
				     0x1e00, 0x100, 0 },
		[EXAMPLE_PLT] = { ".plt", elf->plt_address ? SHT_PROGBITS : SHT_NULL, 0,
				  SHF_ALLOC | SHF_EXECINSTR, elf->plt_address, 0x1800, 0x100, 16 },
		[EXAMPLE_PLT_SEC] = { ".plt.sec", elf->plt_sec_address ? SHT_PROGBITS : SHT_NULL, 0,
				      SHF_ALLOC | SHF_EXECINSTR, elf->plt_sec_address, 0x1900,
				      0x100, 16 },
		[EXAMPLE_NOTE] = { ".note.gnu.build-id", SHT_NOTE, 0, SHF_ALLOC, 0, 0, 0, 0 },
		[EXAMPLE_SYMTAB] = { ".symtab", elf->symbol_count ? SHT_SYMTAB : SHT_NULL,
				     EXAMPLE_STRTAB, 0, 0, 0, 0, 24 },
		[EXAMPLE_STRTAB] = { ".strtab", SHT_STRTAB, 0, 0, 0, 0, 0, 0 },
		[EXAMPLE_DYNSYM] = { ".dynsym",
				     !elf->dynamic_count  ? SHT_NULL
				     : elf->is_debug_only ? SHT_NOBITS
							  : SHT_DYNSYM,
				     EXAMPLE_DYNSTR, SHF_ALLOC, 0, 0, 0, 24 },
		[EXAMPLE_DYNSTR] = { ".dynstr", SHT_STRTAB, 0, SHF_ALLOC, 0, 0, 0, 0 },
		[EXAMPLE_RELA_PLT] = { ".rela.plt", elf->plt_count ? SHT_RELA : SHT_NULL,
				       EXAMPLE_DYNSYM, SHF_ALLOC, 0, 0, 0, 24 },
		[EXAMPLE_DEBUGLINK] = { ".gnu_debuglink", SHT_PROGBITS, 0, 0, 0, 0, 0, 0 },
		[EXAMPLE_DEBUGDATA] = { ".gnu_debugdata", SHT_PROGBITS, 0, 0, 0, 0, 0, 0 },
		[EXAMPLE_OPD] = { ".opd", elf->opd ? SHT_PROGBITS : SHT_NULL, 0, SHF_ALLOC,
				  elf->opd_address, 0, 0, 0 },
		[EXAMPLE_SHSTRTAB] = { ".shstrtab", SHT_STRTAB, 0, 0, 0, 0, 0, 0 },
	};
	struct example_bytes names = { 0 }, link = { .is_big_endian = elf->is_big_endian };
	uint32_t name_at[EXAMPLE_SECTIONS];

	for (size_t i = 0; i < EXAMPLE_SECTIONS; i++) {
		name_at[i] = (uint32_t)names.size;
		example_append(&names, s[i].name ? s[i].name : "",
			       s[i].name ? strlen(s[i].name) + 1 : 1);
	}
	example_header(&b, elf, 0);
	example_pad(&b, 0x2000);
	example_note(&b, elf, &s[EXAMPLE_NOTE]);
	example_symbols(&b, elf->symbols, elf->symbol_count, &s[EXAMPLE_SYMTAB],
			&s[EXAMPLE_STRTAB]);
	example_symbols(&b, elf->dynamic, elf->dynamic_count, &s[EXAMPLE_DYNSYM],
			&s[EXAMPLE_DYNSTR]);
	example_relocations(&b, elf, &s[EXAMPLE_RELA_PLT]);
	if (elf->debuglink) {
		example_append(&link, elf->debuglink, strlen(elf->debuglink) + 1);
		example_pad(&link, (link.size + 3) & ~(size_t)3);
		example_put(&link, elf->debuglink_crc, 4);
	}
	example_blob(&b, link.data, link.size, &s[EXAMPLE_DEBUGLINK]);
	example_blob(&b, elf->debugdata, elf->debugdata_size, &s[EXAMPLE_DEBUGDATA]);
	example_blob(&b, elf->opd, elf->opd_size, &s[EXAMPLE_OPD]);
	example_blob(&b, names.data, names.size, &s[EXAMPLE_SHSTRTAB]);
	uint64_t section_offset = b.size;

	for (size_t i = 0; i < EXAMPLE_SECTIONS; i++) {
		example_put(&b, name_at[i], 4);
		example_put(&b, s[i].type, 4);
		example_put(&b, s[i].flags, 8);
		example_put(&b, s[i].address, 8);
		example_put(&b, s[i].offset, 8);
		example_put(&b, s[i].size, 8);
		example_put(&b, s[i].link, 4);
		example_put(&b, 0, 4);
		example_put(&b, 1, 8);
		example_put(&b, s[i].entry_size, 8);
	}
	struct example_bytes head = { .is_big_endian = elf->is_big_endian };

	example_header(&head, elf, section_offset);
	memcpy(b.data, head.data, head.size);
	free(head.data);
	free(names.data);
	free(link.data);
	*size = b.size;
	return b.data;
}

static inline const char *example_write_elf(const char *name, const struct example_elf *elf)
{
	size_t size;
	uint8_t *data = example_build(elf, &size);
	const char *path = example_write(name, data, size);

	free(data);
	return path;
}

static inline struct tl_build_id example_id(const char *bytes, size_t size)
{
	struct tl_build_id id = { .size = (uint8_t)size };

	memcpy(id.data, bytes, size);
	return id;
}

#endif
