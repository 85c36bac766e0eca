/*
 * unwind_rules.c - a cache of rules: (binary, offset) to a row, equal rows kept once. Knows no
 * stack and no registers.
 */
#include "unwind_rules.h"

#include <stdlib.h>
#include <string.h>

/* 768 KiB: more code addresses than a busy recording has warm at a time. */
#define KNOWN_SIZE (1u << 15)
/* Distinct rows are few (hundreds a library); at most 5 MiB of them are kept. */
#define ROWS_MAX (1u << 14)

struct tl_unwind_known {
	const struct tl_symbols_dso *dso; /* NULL: empty */
	uint64_t offset;
	uint32_t row;
	uint8_t found; /* enum tl_cfi_found; the row only counts with TL_CFI_FOUND */
};

struct tl_unwind_binary {
	const struct tl_symbols_dso *dso;
	struct tl_cfi *cfi;
};

int tl_unwind_rules_init(struct tl_unwind_rules *r, struct tl_error *err)
{
	memset(r, 0, sizeof(*r));
	r->known = tl_alloc(KNOWN_SIZE, sizeof(*r->known), err);
	return r->known ? TL_OK : TL_NOMEM;
}

void tl_unwind_rules_release(struct tl_unwind_rules *r)
{
	for (size_t i = 0; i < r->binary_count; i++)
		tl_cfi_close(r->binaries[i].cfi);
	free(r->binaries);
	tl_index_release(&r->binary_index);
	free(r->rows);
	tl_index_release(&r->row_index);
	free(r->known);
}

static int add_binary(struct tl_unwind_rules *r, struct tl_symbols_dso *dso, uint64_t hash,
		      const struct tl_cfi **cfi, struct tl_error *err)
{
	const struct tl_symbols_image *image = tl_symbols_image(dso);
	struct tl_unwind_binary *b;
	int ret = tl_grow(&r->binaries, &r->binary_capacity, r->binary_count + 1, err);

	if (ret < 0)
		return ret;
	b = &r->binaries[r->binary_count];
	*b = (struct tl_unwind_binary) { .dso = dso };
	if (image) {
		ret = tl_cfi_open(&b->cfi, image->data, image->size, err);
		if (ret < 0)
			return ret;
	}
	ret = tl_index_add(&r->binary_index, hash, (uint32_t)r->binary_count, err);
	if (ret < 0) {
		tl_cfi_close(b->cfi);
		return ret;
	}
	r->binary_count++;
	*cfi = b->cfi;
	return TL_OK;
}

int tl_unwind_rules_cfi(struct tl_unwind_rules *r, struct tl_symbols_dso *dso,
			const struct tl_cfi **cfi, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uintptr_t)dso, 0);
	size_t probe = 0;
	int64_t at;

	while ((at = tl_index_find(&r->binary_index, hash, &probe)) >= 0) {
		if (r->binaries[at].dso == dso) {
			*cfi = r->binaries[at].cfi;
			return TL_OK;
		}
	}
	return add_binary(r, dso, hash, cfi, err);
}

static void forget(struct tl_unwind_rules *r)
{
	memset(r->known, 0, KNOWN_SIZE * sizeof(*r->known));
	tl_index_release(&r->row_index);
	memset(&r->row_index, 0, sizeof(r->row_index));
	r->row_count = 0;
}

static int intern_row(struct tl_unwind_rules *r, const struct tl_cfi_row *row, uint32_t *number,
		      struct tl_error *err)
{
	uint64_t hash = tl_hash(row, sizeof(*row), 0);
	size_t probe = 0;
	int64_t at;
	int ret;

	while ((at = tl_index_find(&r->row_index, hash, &probe)) >= 0) {
		if (memcmp(&r->rows[at], row, sizeof(*row)) == 0) {
			*number = (uint32_t)at;
			return TL_OK;
		}
	}
	if (r->row_count == ROWS_MAX)
		forget(r);
	ret = tl_grow(&r->rows, &r->row_capacity, r->row_count + 1, err);
	if (ret < 0)
		return ret;
	*number = (uint32_t)r->row_count;
	ret = tl_index_add(&r->row_index, hash, *number, err);
	if (ret < 0)
		return ret;
	r->rows[r->row_count++] = *row;
	return TL_OK;
}

static int look_up(struct tl_unwind_rules *r, struct tl_symbols_dso *dso, uint64_t offset,
		   struct tl_unwind_known *known, struct tl_error *err)
{
	const struct tl_cfi *cfi;
	struct tl_cfi_row row;
	uint64_t address;
	int ret = tl_unwind_rules_cfi(r, dso, &cfi, err);

	*known =
		(struct tl_unwind_known) { .dso = dso, .offset = offset, .found = TL_CFI_NO_TABLE };
	if (ret < 0 || !cfi || !tl_symbols_address(dso, offset, &address))
		return ret;
	known->found = (uint8_t)tl_cfi_find(cfi, address, r->only_tabled, &row);
	return known->found == TL_CFI_FOUND ? intern_row(r, &row, &known->row, err) : TL_OK;
}

int tl_unwind_rules_find(struct tl_unwind_rules *r, struct tl_symbols_dso *dso, uint64_t offset,
			 const struct tl_cfi_row **row, struct tl_error *err)
{
	struct tl_unwind_known *known = &r->known[tl_hash_u64(offset, (uintptr_t)dso) % KNOWN_SIZE];
	struct tl_unwind_known fresh;

	if (known->dso != dso || known->offset != offset) {
		int ret = look_up(r, dso, offset, &fresh, err);

		if (ret < 0)
			return ret;
		*known = fresh;
	}
	*row = known->found == TL_CFI_FOUND ? &r->rows[known->row] : NULL;
	return known->found;
}
