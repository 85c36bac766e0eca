/*
 * cfi.h - private: call frame information of one ELF image: by which rules the registers of a
 * caller are recovered at an address. Knows no process, no stack and no recording.
 *
 * The image is hostile: nothing in it may be read past its end, loop, or make memory grow beyond
 * a multiple of its size.
 */
#ifndef TL_CFI_H
#define TL_CFI_H

#include "reader.h"

/* DWARF numbers below this are kept: x86_64 has 17, aarch64 33 and RA_SIGN_STATE (34). */
#define TL_CFI_REGISTERS 36

enum tl_cfi_how {
	TL_CFI_SAME,	   /* untouched by the function */
	TL_CFI_UNDEFINED,  /* lost; of the return address: there is no caller */
	TL_CFI_AT_OFFSET,  /* in memory at CFA + value */
	TL_CFI_IS_OFFSET,  /* CFA + value itself */
	TL_CFI_REGISTER,   /* in register `value`; of the CFA: register `reg` + value */
	TL_CFI_EXPRESSION, /* in memory where an expression says; of the CFA: the result itself */
	TL_CFI_VAL_EXPRESSION, /* what an expression says */
};

struct tl_cfi_rule {
	uint8_t how;   /* enum tl_cfi_how */
	uint8_t reg;   /* whose rule this is; of the CFA: its base register */
	uint16_t size; /* bytes of an expression */
	int32_t value; /* as `how` says; of an expression: its offset in the image, unsigned */
};

/* The rules at one address. Two rows with equal bytes are equal rows. */
struct tl_cfi_row {
	struct tl_cfi_rule cfa;	 /* REGISTER or EXPRESSION */
	uint8_t return_register; /* which register's rule gives the return address */
	bool is_signal_frame;	 /* its caller was interrupted, it did not call */
	bool is_return_signed;	 /* aarch64: the return address carries an authentication code */
	uint8_t rule_count;
	struct tl_cfi_rule rules[TL_CFI_REGISTERS]; /* registers that are not SAME; rest zero */
};

enum tl_cfi_found {
	TL_CFI_FOUND,
	TL_CFI_NO_ENTRY,   /* the search table of .eh_frame_hdr holds nothing for the address */
	TL_CFI_NO_TABLE,   /* there is no search table, and nothing else holds the address */
	TL_CFI_NOT_TABLED, /* only an entry that no search table leads to: see tl_cfi_find */
	TL_CFI_DAMAGED	   /* an entry is there, but makes no sense */
};

struct tl_cfi;

/*
 * Borrows the image until close. An image without (usable) call frame information is no error:
 * then nothing is found. Only TL_NOMEM can be returned.
 */
int tl_cfi_open(struct tl_cfi **out, const uint8_t *image, size_t size, struct tl_error *err);
void tl_cfi_close(struct tl_cfi *cfi); /* accepts NULL */

/*
 * `address` is the ELF file's own (as p_vaddr). `row` is filled only when found. With
 * `only_tabled`, entries that are not in a search table (.eh_frame without .eh_frame_hdr, as gcc
 * leaves static programs, and .debug_frame) are not used, only told apart.
 */
enum tl_cfi_found tl_cfi_find(const struct tl_cfi *cfi, uint64_t address, bool only_tabled,
			      struct tl_cfi_row *row);

/* Eight bytes at the file's own address, of segments that no process can write; else false. */
bool tl_cfi_get_memory(const struct tl_cfi *cfi, uint64_t address, uint64_t *value);

/* What an expression may look at. Both return false when the value is not known. */
struct tl_cfi_context {
	bool (*get_register)(void *payload, unsigned number, uint64_t *value);
	bool (*get_memory)(void *payload, uint64_t address, uint64_t *value); /* 8 bytes */
	void *payload;
};

/*
 * Evaluates the expression of `rule` with `initial` on its stack. True: *result is an address or a
 * value or, with *is_register, the number of a register.
 */
bool tl_cfi_evaluate(const struct tl_cfi *cfi, const struct tl_cfi_rule *rule, uint64_t initial,
		     const struct tl_cfi_context *context, uint64_t *result, bool *is_register);

/* ---- between cfi.c, cfi_row.c and cfi_expression.c --------------------------------------- */

/* Bytes of the image that have addresses. */
struct tl_cfi_window {
	const uint8_t *data;
	size_t size;
	uint64_t address;      /* of data[0]; 0 in .debug_frame, whose pointers are absolute */
	uint64_t image_offset; /* of data[0] */
	bool is_debug_frame, is_writable;
};

struct tl_cfi_entry { /* one FDE, with what its CIE says */
	uint64_t start, end;
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding;
	uint8_t return_register;
	bool is_signal_frame;
	const uint8_t *initial, *program; /* instructions */
	size_t initial_size, program_size;
};

enum tl_cfi_parsed { TL_CFI_IS_ENTRY, TL_CFI_IS_OTHER /* a CIE, or the end */, TL_CFI_IS_DAMAGED };

/* The entry at `position` of the window; *next is where the following one begins. */
enum tl_cfi_parsed tl_cfi_parse(const struct tl_cfi_window *window, size_t position,
				struct tl_cfi_entry *entry, size_t *next);
/* Runs the entry's instructions up to `address`. False: they make no sense. */
bool tl_cfi_run(const struct tl_cfi_window *window, const struct tl_cfi_entry *entry,
		uint64_t address, struct tl_cfi_row *row);

/* Bytes of the image; an empty, failed cursor when they are not all there. */
struct tl_cursor tl_cfi_bytes(const struct tl_cfi *cfi, uint64_t offset, uint64_t size);
/* LEB128 of at most 64 bits; fails the cursor on longer ones. */
uint64_t tl_cfi_uleb128(struct tl_cursor *c);
int64_t tl_cfi_sleb128(struct tl_cursor *c);
/* A pointer in DW_EH_PE_* encoding; fails the cursor on encodings that need a running process. */
uint64_t tl_cfi_pointer(struct tl_cursor *c, uint8_t encoding, uint64_t window_address);

#endif
