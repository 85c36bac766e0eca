/*
 * unwind_rules.h - private to unwind.c: the rules of code addresses, remembered by binary and
 * offset. Bounded: what is remembered is forgotten when there is too much of it.
 */
#ifndef TL_UNWIND_RULES_H
#define TL_UNWIND_RULES_H

#include "cfi.h"
#include "memory.h"
#include "symbols.h"

struct tl_unwind_rules {
	bool only_tabled;	       /* as tl_cfi_find; not to be changed after the first find */
	struct tl_unwind_known *known; /* by hash of binary and offset */
	struct tl_cfi_row *rows;       /* distinct ones */
	size_t row_count, row_capacity;
	struct tl_index row_index;
	struct tl_unwind_binary *binaries;
	size_t binary_count, binary_capacity;
	struct tl_index binary_index;
};

int tl_unwind_rules_init(struct tl_unwind_rules *rules, struct tl_error *err);
void tl_unwind_rules_release(struct tl_unwind_rules *rules);

/* enum tl_cfi_found, or <0. *row: when found, borrowed until the next call. */
int tl_unwind_rules_find(struct tl_unwind_rules *rules, struct tl_symbols_dso *dso, uint64_t offset,
			 const struct tl_cfi_row **row, struct tl_error *err);

/* The binary's call frame information; NULL when its file cannot be used. */
int tl_unwind_rules_cfi(struct tl_unwind_rules *rules, struct tl_symbols_dso *dso,
			const struct tl_cfi **cfi, struct tl_error *err);

#endif
