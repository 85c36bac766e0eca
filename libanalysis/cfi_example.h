/*
 * cfi_example.h - for tests: a small ELF image made byte by byte, with call frame information that
 * a test writes itself. Offsets in the file are its addresses.
 */
#ifndef TL_CFI_EXAMPLE_H
#define TL_CFI_EXAMPLE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define EXAMPLE_HDR   0x200 /* .eh_frame_hdr: one entry */
#define EXAMPLE_FRAME 0x300 /* .eh_frame or .debug_frame: a CIE and an FDE */
#define EXAMPLE_CODE  0x600 /* the function that the FDE covers */
#define EXAMPLE_END   0x700
#define EXAMPLE_SIZE  0x1000
#define EXAMPLE_NOTE  0x1c0 /* the build-id: twenty times 0x42 */
/* Where section headers and names are. */
#define EXAMPLE_SECTIONS 0xa00
#define EXAMPLE_NAMES	 0xc00

struct example {
	uint8_t bytes[EXAMPLE_SIZE];
	size_t at; /* where put writes */
};

static inline void example_put(struct example *e, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		e->bytes[e->at++] = (uint8_t)(value >> 8 * i);
}

static inline void example_put_at(struct example *e, size_t at, uint64_t value, size_t size)
{
	e->at = at;
	example_put(e, value, size);
}

static inline void example_bytes(struct example *e, const char *bytes, size_t size)
{
	memcpy(e->bytes + e->at, bytes, size);
	e->at += size;
}

static inline void example_segment(struct example *e, uint32_t type, uint64_t offset, uint64_t size)
{
	example_put(e, type, 4);
	example_put(e, PF_R | PF_X, 4);
	example_put(e, offset, 8);
	example_put(e, offset, 8);
	example_put(e, offset, 8);
	example_put(e, size, 8);
	example_put(e, size, 8);
	example_put(e, 0x1000, 8);
}

/* The ELF header, one segment over everything, and a build-id. */
static inline void example_begin(struct example *e, uint16_t machine, unsigned segment_count)
{
	memset(e, 0, sizeof(*e));
	example_bytes(e, "\177ELF\2\1\1\0\0\0\0\0\0\0\0", 16);
	example_put(e, ET_DYN, 2);
	example_put(e, machine, 2);
	example_put(e, 1, 4);
	example_put(e, 0, 8);
	example_put(e, 64, 8);
	example_put(e, EXAMPLE_SECTIONS, 8);
	example_put(e, 0, 4);
	example_put(e, 64, 2);
	example_put(e, 56, 2);
	example_put(e, segment_count, 2);
	example_put(e, 64, 2);
	example_put(e, 0, 2);
	example_put(e, 0, 2);
	example_segment(e, PT_LOAD, 0, EXAMPLE_SIZE);
	example_segment(e, PT_NOTE, EXAMPLE_NOTE, 16 + 20);
	memcpy(e->bytes + EXAMPLE_NOTE, "\4\0\0\0\24\0\0\0\3\0\0\0GNU", 16);
	memset(e->bytes + EXAMPLE_NOTE + 16, 0x42, 20);
}

/* An entry's length, once it is written: padded with DW_CFA_nop to a multiple of 8. */
static inline void example_close(struct example *e, size_t start)
{
	size_t end = (e->at - start + 7) / 8 * 8 + start;

	example_put_at(e, start, end - start - 4, 4);
	e->at = end;
}

/*
 * A CIE "zR" (or "zRS") and an FDE over EXAMPLE_CODE, with instructions as given, in .eh_frame
 * with a search table.
 */
static inline void example_tabled(struct example *e, uint16_t machine, const char *augmentation,
				  uint64_t code_align, uint8_t return_register, const char *initial,
				  size_t initial_size, const char *program, size_t program_size)
{
	size_t fde;

	example_begin(e, machine, 3);
	example_segment(e, PT_GNU_EH_FRAME, EXAMPLE_HDR, 12 + 8);
	e->at = EXAMPLE_FRAME + 4;
	example_put(e, 0, 4);
	example_put(e, 1, 1);
	example_bytes(e, augmentation, strlen(augmentation) + 1);
	example_put(e, code_align, 1);
	example_put(e, 0x78, 1); /* data_align -8 */
	example_put(e, return_register, 1);
	example_put(e, 1, 1);
	example_put(e, 0x1b, 1); /* pcrel sdata4 */
	example_bytes(e, initial, initial_size);
	example_close(e, EXAMPLE_FRAME);
	fde = e->at;
	e->at += 4;
	example_put(e, e->at - EXAMPLE_FRAME, 4);
	example_put(e, EXAMPLE_CODE - e->at, 4);
	example_put(e, EXAMPLE_END - EXAMPLE_CODE, 4);
	example_put(e, 0, 1);
	example_bytes(e, program, program_size);
	example_close(e, fde);
	example_put_at(e, EXAMPLE_HDR, 0x3b031b01, 4); /* version, encodings */
	example_put(e, EXAMPLE_FRAME - (EXAMPLE_HDR + 4), 4);
	example_put(e, 1, 4);
	example_put(e, EXAMPLE_CODE - EXAMPLE_HDR, 4);
	example_put(e, fde - EXAMPLE_HDR, 4);
}

static inline void example_header(struct example *e, unsigned number, uint32_t name, uint32_t type,
				  uint64_t flags, uint64_t offset, uint64_t size)
{
	e->at = EXAMPLE_SECTIONS + number * 64;
	example_put(e, name, 4);
	example_put(e, type, 4);
	example_put(e, flags, 8);
	example_put(e, offset, 8);
	example_put(e, offset, 8);
	example_put(e, size, 8);
}

/* Section headers: none, the names, code, and the one given. */
static inline void example_section(struct example *e, const char *name, uint64_t offset,
				   uint64_t size)
{
	memcpy(e->bytes + EXAMPLE_NAMES, "\0.text", 7);
	memcpy(e->bytes + EXAMPLE_NAMES + 7, name, strlen(name) + 1);
	example_header(e, 1, 0, SHT_STRTAB, 0, EXAMPLE_NAMES, 64);
	example_header(e, 2, 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, EXAMPLE_CODE,
		       EXAMPLE_END - EXAMPLE_CODE);
	example_header(e, 3, 7, SHT_PROGBITS, SHF_ALLOC, offset, size);
	example_put_at(e, 60, 4, 2); /* e_shnum */
	example_put(e, 1, 2);	     /* e_shstrndx */
}

#endif
