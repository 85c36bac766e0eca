/*
 * unwind_rules_test.c - that remembered rules stay right when there are more than are kept.
 */
#include "unwind_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cfi_example.h"

/* So many functions, of so many bytes, each with a row of its own: CFA = rsp + 0x1000 + number. */
#define FUNCTIONS 30
#define FUNC_ROWS 600
#define ROWS	  (FUNCTIONS * FUNC_ROWS)
/* Where their entries are. */
#define LARGE_FDE  0x8000
#define FDE_SIZE   0xc00
#define LARGE_SIZE 0x20000

static void put(uint8_t *at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static void make_entry(uint8_t *image, unsigned number)
{
	const uint32_t fde = LARGE_FDE + number * FDE_SIZE;
	const uint32_t code = EXAMPLE_CODE + number * FUNC_ROWS;
	uint8_t *at = image + fde + 4;

	put(image + EXAMPLE_HDR + 12 + 8 * number, code - EXAMPLE_HDR, 4);
	put(image + EXAMPLE_HDR + 12 + 8 * number + 4, fde - EXAMPLE_HDR, 4);
	put(at, fde + 4 - EXAMPLE_FRAME, 4);
	put(at + 4, code - (fde + 8), 4);
	put(at + 8, FUNC_ROWS, 4);
	at[12] = 0;
	at += 13;
	for (unsigned i = 0; i < FUNC_ROWS; i++) {
		unsigned offset = 0x1000 + number * FUNC_ROWS + i;

		*at++ = 0x0e; /* def_cfa_offset, as three bytes of LEB128 */
		*at++ = (uint8_t)(offset | 0x80);
		*at++ = (uint8_t)(offset >> 7 | 0x80);
		*at++ = (uint8_t)(offset >> 14);
		*at++ = 0x41; /* advance_loc 1 */
	}
	put(image + fde, (uint64_t)(at - image) - fde - 4, 4);
}

static void make_large(uint8_t *image)
{
	struct example e;

	example_tabled(&e, EM_X86_64, "zR", 1, 16, "\x0c\x07\x08\x90\x01", 5, "", 0);
	memcpy(image, e.bytes, sizeof(e.bytes));
	for (unsigned segment = 0; segment < 3; segment += 2)	    /* not the note: */
		put(image + 64 + segment * 56 + 32, LARGE_SIZE, 8); /* p_filesz */
	put(image + EXAMPLE_HDR + 8, FUNCTIONS, 4);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		make_entry(image, i);
}

static struct tl_symbols_dso *open_large(struct tl_symbols *symbols)
{
	char path[] = "/tmp/unwind_rules_test.XXXXXX";
	struct tl_dso_description description = { .kind = TL_DSO_FILE, .path = path };
	uint8_t *image = calloc(1, LARGE_SIZE);
	struct tl_error err = { 0 };
	struct tl_symbols_dso *dso;
	int fd = mkstemp(path);

	assert_non_null(image);
	assert_true(fd >= 0);
	make_large(image);
	assert_int_equal(write(fd, image, LARGE_SIZE), LARGE_SIZE);
	close(fd);
	free(image);
	description.build_id.size = 20;
	memset(description.build_id.data, 0x42, 20);
	assert_int_equal(tl_symbols_dso(symbols, &description, &dso, &err), TL_OK);
	assert_non_null(tl_symbols_image(dso));
	unlink(path);
	return dso;
}

static void rules_are_right_though_most_were_forgotten(void **state)
{
	struct tl_symbol_options options = { .no_default_dirs = true };
	struct tl_recording recording = { .arch = "x86_64" };
	struct tl_error err = { 0 };
	struct tl_unwind_rules rules;
	const struct tl_cfi_row *row;
	struct tl_symbols *symbols;
	struct tl_symbols_dso *dso;

	(void)state;
	assert_int_equal(tl_symbols_open(&symbols, &options, &recording, &err), TL_OK);
	assert_int_equal(tl_unwind_rules_init(&rules, &err), TL_OK);
	dso = open_large(symbols);
	for (unsigned i = 0; i < 2 * ROWS; i++) {
		/* Seven times the same in a row, so that some are remembered. */
		unsigned n = i / 7 * 7919 % ROWS;

		assert_int_equal(tl_unwind_rules_find(&rules, dso, EXAMPLE_CODE + n, &row, &err),
				 TL_CFI_FOUND);
		assert_int_equal(row->cfa.value, 0x1000 + n);
	}
	for (unsigned n = 0; n < ROWS; n++) {
		assert_int_equal(tl_unwind_rules_find(&rules, dso, EXAMPLE_CODE + n, &row, &err),
				 TL_CFI_FOUND);
		assert_int_equal(row->cfa.value, 0x1000 + n);
	}
	assert_true(rules.row_count < ROWS); /* 16384 are kept at most */
	assert_int_equal(rules.binary_count, 1);
	tl_unwind_rules_release(&rules);
	tl_symbols_close(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_right_though_most_were_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
