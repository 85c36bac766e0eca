/*
 * cfi_test.c - rules of hand-made images, of a real one as readelf prints them, and of damaged ones.
 */
#include "cfi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cfi_example.h"

#define GOLDEN "testdata/unwind/signal/program"

#define RBP 6
#define RSP 7
#define RIP 16

/* def_cfa rsp+8, return address at CFA-8: what every x86_64 CIE begins with. */
#define INITIAL "\x0c\x07\x08\x90\x01"

static void make(struct example *e, const char *program, size_t size)
{
	example_tabled(e, EM_X86_64, "zR", 1, RIP, INITIAL, 5, program, size);
}
#define MAKE(e, program) make(e, program, sizeof(program) - 1)

static enum tl_cfi_found find(const struct example *e, uint64_t address, bool only_tabled,
			      struct tl_cfi_row *row)
{
	struct tl_error err = { 0 };
	struct tl_cfi *cfi;
	enum tl_cfi_found found;

	assert_int_equal(tl_cfi_open(&cfi, e->bytes, sizeof(e->bytes), &err), TL_OK);
	found = tl_cfi_find(cfi, address, only_tabled, row);
	tl_cfi_close(cfi);
	return found;
}

static const struct tl_cfi_rule *rule_of(const struct tl_cfi_row *row, unsigned reg)
{
	for (size_t i = 0; i < row->rule_count; i++)
		if (row->rules[i].reg == reg)
			return &row->rules[i];
	return NULL;
}

/* "rsp+8 ra=c-8 rbp=c-16 ..." in the order of numbers, like readelf's columns. */
static const char *print_row(const struct tl_cfi_row *row)
{
	static const char *const names[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
					     "rbp", "rsp", "r8",  "r9",	 "r10", "r11",
					     "r12", "r13", "r14", "r15", "ra" };
	static char text[256];
	size_t n;

	if (row->cfa.how == TL_CFI_REGISTER)
		n = (size_t)snprintf(text, sizeof(text), "%s%+d", names[row->cfa.reg],
				     row->cfa.value);
	else
		n = (size_t)snprintf(text, sizeof(text), "exp");
	for (size_t i = 0; i < row->rule_count; i++) {
		const struct tl_cfi_rule *r = &row->rules[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s=", names[r->reg]);
		if (r->how == TL_CFI_AT_OFFSET)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "c%+d", r->value);
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
					      r->how == TL_CFI_UNDEFINED ? "u" : "exp");
	}
	return text;
}

static void assert_row(const struct example *e, uint64_t address, const char *expected)
{
	struct tl_cfi_row row;

	assert_int_equal(find(e, address, true, &row), TL_CFI_FOUND);
	assert_string_equal(print_row(&row), expected);
}

/* ---- rows -------------------------------------------------------------------------------- */

static void rules_of_the_cie_hold_at_the_entry(void **state)
{
	struct example e;

	(void)state;
	MAKE(&e, "");
	assert_row(&e, EXAMPLE_CODE, "rsp+8 ra=c-8");
}

/* push %rbp at +0 (1 byte), mov %rsp,%rbp at +1 (3 bytes) */
#define PROLOGUE "\x41\x0e\x10\x86\x02\x43\x0d\x06"

static void rules_hold_from_their_address_on(void **state)
{
	struct example e;

	(void)state;
	MAKE(&e, PROLOGUE);
	assert_row(&e, EXAMPLE_CODE, "rsp+8 ra=c-8");
	assert_row(&e, EXAMPLE_CODE + 1, "rsp+16 rbp=c-16 ra=c-8");
	assert_row(&e, EXAMPLE_CODE + 3, "rsp+16 rbp=c-16 ra=c-8");
	assert_row(&e, EXAMPLE_CODE + 4, "rbp+16 rbp=c-16 ra=c-8");
	assert_row(&e, EXAMPLE_END - 1, "rbp+16 rbp=c-16 ra=c-8");
}

static void remembered_state_comes_back(void **state)
{
	struct example e;

	(void)state;
	/* ... remember, +4: def_cfa rsp+8, restore rbp; +1: restore_state */
	MAKE(&e, PROLOGUE "\x0a\x44\x0c\x07\x08\xc6\x41\x0b");
	assert_row(&e, EXAMPLE_CODE + 8, "rsp+8 ra=c-8");
	assert_row(&e, EXAMPLE_CODE + 9, "rbp+16 rbp=c-16 ra=c-8");
}

static void long_advances_are_scaled(void **state)
{
	struct example e;

	(void)state;
	/* code_align 4: advance_loc1 2, advance_loc2 0x10, advance_loc4 4 */
	example_tabled(&e, EM_AARCH64, "zR", 4, 30, "\x0c\x1f\x00", 3,
		       "\x02\x02\x0e\x10\x03\x10\x00\x0e\x20\x04\x04\x00\x00\x00\x0e\x30", 16);
	struct tl_cfi_row row;
	const struct {
		uint64_t at;
		int32_t offset;
	} expected[] = { { 0, 0 },	 { 7, 0 },	 { 8, 0x10 },	{ 0x47, 0x10 },
			 { 0x48, 0x20 }, { 0x57, 0x20 }, { 0x58, 0x30 } };

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_int_equal(find(&e, EXAMPLE_CODE + expected[i].at, true, &row), TL_CFI_FOUND);
		assert_int_equal(row.cfa.reg, 31);
		assert_int_equal(row.cfa.value, expected[i].offset);
		assert_int_equal(row.return_register, 30);
	}
}

static void every_way_to_say_where_a_register_is(void **state)
{
	struct example e;
	struct tl_cfi_row row;

	(void)state;
	MAKE(&e, "\x05\x03\x02" /* offset_extended rbx 2 */
		 "\x11\x0c\x7d" /* offset_extended_sf r12 -3 */
		 "\x14\x0d\x01" /* val_offset r13 1 */
		 "\x15\x0e\x7f" /* val_offset_sf r14 -1 */
		 "\x07\x0f"	/* undefined r15 */
		 "\x09\x06\x03" /* register rbp rbx */
		 "\x2f\x08\x02" /* GNU_negative_offset_extended r8 2 */
		 "\x08\x10"	/* same_value ra */
		 "\x13\x7c" /* def_cfa_offset_sf -4 */);
	assert_int_equal(find(&e, EXAMPLE_CODE, true, &row), TL_CFI_FOUND);
	assert_int_equal(row.cfa.value, 32);
	assert_int_equal(rule_of(&row, 3)->how, TL_CFI_AT_OFFSET);
	assert_int_equal(rule_of(&row, 3)->value, -16);
	assert_int_equal(rule_of(&row, 12)->value, 24);
	assert_int_equal(rule_of(&row, 13)->how, TL_CFI_IS_OFFSET);
	assert_int_equal(rule_of(&row, 13)->value, -8);
	assert_int_equal(rule_of(&row, 14)->value, 8);
	assert_int_equal(rule_of(&row, 15)->how, TL_CFI_UNDEFINED);
	assert_int_equal(rule_of(&row, RBP)->how, TL_CFI_REGISTER);
	assert_int_equal(rule_of(&row, RBP)->value, 3);
	assert_int_equal(rule_of(&row, 8)->value, 16);
	assert_null(rule_of(&row, RIP));
}

static void signal_frames_are_marked(void **state)
{
	struct example e;
	struct tl_cfi_row row;

	(void)state;
	example_tabled(&e, EM_X86_64, "zRS", 1, RIP, INITIAL, 5, "", 0);
	assert_int_equal(find(&e, EXAMPLE_CODE, true, &row), TL_CFI_FOUND);
	assert_true(row.is_signal_frame);
	MAKE(&e, "");
	assert_int_equal(find(&e, EXAMPLE_CODE, true, &row), TL_CFI_FOUND);
	assert_false(row.is_signal_frame);
}

static void rows_of_a_program_are_those_of_readelf(void **state)
{
	static const struct {
		uint64_t at;
		const char *row;
	} expected[] = {
		/* readelf --debug-dump=frames-interp */
		{ 0x200, "exp rbx=exp rbp=exp ra=exp" },
		{ 0x207, "exp rbx=exp rbp=exp ra=exp" },
		{ 0x251, "rsp+8 ra=c-8" },
		{ 0x260, "rsp+8 ra=c-8" },
		{ 0x264, "rsp+64 ra=c-8" },
		{ 0x28a, "rsp+64 ra=c-8" },
		{ 0x28b, "rsp+8 ra=c-8" },
		{ 0x294, "rsp+72 ra=c-8" },
		{ 0x2b4, "rsp+16 ra=c-8" },
		{ 0x2eb, "rsp+8 ra=c-8" },
		{ 0x2f0, "rsp+16 ra=c-8" },
	};
	static uint8_t image[65536];
	struct tl_error err = { 0 };
	struct tl_cfi *cfi;
	struct tl_cfi_row row;
	FILE *f = fopen(GOLDEN, "rb");
	size_t size;

	(void)state;
	assert_non_null(f);
	size = fread(image, 1, sizeof(image), f);
	fclose(f);
	assert_int_equal(tl_cfi_open(&cfi, image, size, &err), TL_OK);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_int_equal(tl_cfi_find(cfi, expected[i].at, true, &row), TL_CFI_FOUND);
		assert_string_equal(print_row(&row), expected[i].row);
	}
	assert_int_equal(tl_cfi_find(cfi, 0x208, true, &row), TL_CFI_NO_ENTRY); /* unruled */
	tl_cfi_close(cfi);
}

/* ---- tables ------------------------------------------------------------------------------ */

static void addresses_around_an_entry_have_none(void **state)
{
	struct example e;
	struct tl_cfi_row row;

	(void)state;
	MAKE(&e, "");
	assert_int_equal(find(&e, EXAMPLE_CODE - 1, true, &row), TL_CFI_NO_ENTRY);
	assert_int_equal(find(&e, EXAMPLE_END, true, &row), TL_CFI_NO_ENTRY);
	assert_int_equal(find(&e, UINT64_MAX, true, &row), TL_CFI_NO_ENTRY);
}

static void eh_frame_without_a_table_is_used_if_wanted(void **state)
{
	struct example e;
	struct tl_cfi_row row;

	(void)state;
	MAKE(&e, PROLOGUE);
	example_put_at(&e, EXAMPLE_HDR, 0, 4);
	example_section(&e, ".eh_frame", EXAMPLE_FRAME, 0x100);
	assert_int_equal(find(&e, EXAMPLE_CODE + 4, true, &row), TL_CFI_NOT_TABLED);
	assert_int_equal(find(&e, EXAMPLE_CODE - 1, true, &row), TL_CFI_NO_TABLE);
	assert_int_equal(find(&e, EXAMPLE_CODE - 1, false, &row), TL_CFI_NO_TABLE);
	assert_int_equal(find(&e, EXAMPLE_CODE + 4, false, &row), TL_CFI_FOUND);
	assert_string_equal(print_row(&row), "rbp+16 rbp=c-16 ra=c-8");
}

/* A CIE of version 4, as clang and gcc write it with DWARF 4 and 5, and an FDE. */
static void make_debug_frame(struct example *e)
{
	size_t fde;

	example_begin(e, EM_X86_64, 2);
	e->at = EXAMPLE_FRAME + 4;
	example_put(e, 0xffffffff, 4);
	example_bytes(e, "\x04\x00\x08\x00\x01\x78\x10", 7);
	example_bytes(e, INITIAL, 5);
	example_close(e, EXAMPLE_FRAME);
	fde = e->at;
	e->at += 4;
	example_put(e, 0, 4);
	example_put(e, EXAMPLE_CODE, 8);
	example_put(e, EXAMPLE_END - EXAMPLE_CODE, 8);
	example_bytes(e, PROLOGUE, 8);
	example_close(e, fde);
	example_section(e, ".debug_frame", EXAMPLE_FRAME, e->at - EXAMPLE_FRAME);
}

static void debug_frame_is_used_if_wanted(void **state)
{
	struct example e;
	struct tl_cfi_row row;

	(void)state;
	make_debug_frame(&e);
	assert_int_equal(find(&e, EXAMPLE_CODE + 1, true, &row), TL_CFI_NOT_TABLED);
	assert_int_equal(find(&e, EXAMPLE_CODE + 1, false, &row), TL_CFI_FOUND);
	assert_string_equal(print_row(&row), "rsp+16 rbp=c-16 ra=c-8");
}

static void files_that_are_no_elf_have_no_rules(void **state)
{
	struct example e;
	struct tl_cfi_row row;

	(void)state;
	MAKE(&e, "");
	e.bytes[4] = ELFCLASS32;
	assert_int_equal(find(&e, EXAMPLE_CODE, true, &row), TL_CFI_NO_TABLE);
	memset(&e, 0, sizeof(e));
	assert_int_equal(find(&e, EXAMPLE_CODE, true, &row), TL_CFI_NO_TABLE);
}

/* ---- expressions ------------------------------------------------------------------------- */

static bool get_register(void *payload, unsigned number, uint64_t *value)
{
	(void)payload;
	*value = number == RIP ? 0x1b : 0x1000 + number;
	return number != 15;
}

static bool get_memory(void *payload, uint64_t address, uint64_t *value)
{
	(void)payload;
	*value = address * 2;
	return address != 0;
}

static const struct tl_cfi_context context = { get_register, get_memory, NULL };

/* The CFA that an expression gives; false when it has none. */
static bool evaluate(const char *bytes, size_t size, uint64_t *result, bool *is_register)
{
	char program[128] = { '\x0f', (char)size };
	struct example e;
	struct tl_error err = { 0 };
	struct tl_cfi_row row;
	struct tl_cfi *cfi;
	bool ok;

	memcpy(program + 2, bytes, size);
	make(&e, program, size + 2);
	assert_int_equal(tl_cfi_open(&cfi, e.bytes, sizeof(e.bytes), &err), TL_OK);
	assert_int_equal(tl_cfi_find(cfi, EXAMPLE_CODE, true, &row), TL_CFI_FOUND);
	assert_int_equal(row.cfa.how, TL_CFI_EXPRESSION);
	ok = tl_cfi_evaluate(cfi, &row.cfa, 0x77, &context, result, is_register);
	tl_cfi_close(cfi);
	return ok;
}

static void assert_result(const char *bytes, size_t size, uint64_t expected)
{
	uint64_t result;
	bool is_register;

	assert_true(evaluate(bytes, size, &result, &is_register));
	assert_false(is_register);
	assert_int_equal(result, expected);
}
#define ASSERT_RESULT(bytes, expected) assert_result(bytes, sizeof(bytes) - 1, expected)

static void assert_no_result(const char *bytes, size_t size)
{
	uint64_t result;
	bool is_register;

	assert_false(evaluate(bytes, size, &result, &is_register));
}
#define ASSERT_NO_RESULT(bytes) assert_no_result(bytes, sizeof(bytes) - 1)

/* breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus */
static void the_expression_of_plt_stubs(void **state)
{
	(void)state;
	/* rip 0x1b: the low four bits are 11, so the stub has pushed its number. */
	ASSERT_RESULT("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 0x1007 + 16);
	ASSERT_RESULT("\x77\x08\x80\x7f\x3f\x1a\x3b\x2a\x33\x24\x22", 0x1007 + 8);
}

static void the_expression_of_signal_trampolines(void **state)
{
	(void)state;
	ASSERT_RESULT("\x77\xa0\x01\x06", (0x1007 + 160) * 2); /* breg7 160; deref */
}

static void arithmetic_is_that_of_the_standard(void **state)
{
	(void)state;
	ASSERT_RESULT("", 0x77);		     /* what was pushed before */
	ASSERT_RESULT("\x0b\xfe\xff", (uint64_t)-2); /* const2s */
	ASSERT_RESULT("\x0c\xfe\xff\xff\xff", 0xfffffffe);
	ASSERT_RESULT("\x11\x7d", (uint64_t)-3);		  /* consts */
	ASSERT_RESULT("\x37\x33\x1c", 4);			  /* 7 - 3 */
	ASSERT_RESULT("\x37\x1f\x32\x1b", (uint64_t)-3);	  /* -7 / 2 */
	ASSERT_RESULT("\x37\x32\x1d", 1);			  /* 7 mod 2 */
	ASSERT_RESULT("\x37\x1f\x19", 7);			  /* abs -7 */
	ASSERT_RESULT("\x31\x32\x33\x17\x1c", (uint64_t)-1);	  /* rot: 3 1 2; 1 - 2 */
	ASSERT_RESULT("\x38\x1f\x31\x26", (uint64_t)-4);	  /* -8 >> 1, signed */
	ASSERT_RESULT("\x38\x23\x80\x01", 0x88);		  /* plus_uconst 128 */
	ASSERT_RESULT("\x31\x28\x01\x00\x35\x36", 6);		  /* bra over lit5 */
	ASSERT_RESULT("\x0a\x34\x12\x94\x01", 0x1234 * 2 & 0xff); /* deref_size 1 */
	ASSERT_RESULT("\x92\x03\x05", 0x1003 + 5);		  /* bregx rbx 5 */
}

static void a_register_is_told_apart_from_an_address(void **state)
{
	uint64_t result;
	bool is_register;

	(void)state;
	assert_true(evaluate("\x53", 1, &result, &is_register));
	assert_true(is_register);
	assert_int_equal(result, 3);
}

static void expressions_that_make_no_sense_have_no_result(void **state)
{
	(void)state;
	ASSERT_NO_RESULT("\x22");		      /* plus with one value */
	ASSERT_NO_RESULT("\x13\x13");		      /* drop too many */
	ASSERT_NO_RESULT("\x03\0\0\0\0\0\0\0\0");     /* addr: needs to know where it was loaded */
	ASSERT_NO_RESULT("\x0e\x01");		      /* const8u that ends */
	ASSERT_NO_RESULT("\x2f\xfd\xff");	      /* skip to itself, for ever */
	ASSERT_NO_RESULT("\x2f\x00\x7f");	      /* skip to outside */
	ASSERT_NO_RESULT("\x12\x2f\xfc\xff");	      /* fills the stack */
	ASSERT_NO_RESULT("\x7f\x00");		      /* breg15, which is not known */
	ASSERT_NO_RESULT("\x30\x06");		      /* deref of what is not known */
	ASSERT_NO_RESULT("\x15\x09");		      /* pick too deep */
	ASSERT_NO_RESULT("\x37\x94\x09");	      /* deref of nine bytes */
	ASSERT_NO_RESULT("\x90\x80\x80\x80\x80\x08"); /* a register far too high */
}

/* ---- damage ------------------------------------------------------------------------------ */

static void instructions_that_make_no_sense_are_damage(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} programs[] = {
		{ "\x3f", 1 },			   /* no such instruction */
		{ "\x0b", 1 },			   /* restore_state without remember_state */
		{ "\x0f\xff\x7f", 3 },		   /* an expression longer than the entry */
		{ "\x0d\x60", 2 },		   /* a CFA from register 96 */
		{ "\x0e\xff\xff\xff\xff\x7f", 6 }, /* an offset of 2^35 */
		{ "\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 13 },
		{ "\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a", 17 },
	};
	struct example e;
	struct tl_cfi_row row;

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		make(&e, programs[i].bytes, programs[i].size);
		assert_int_equal(find(&e, EXAMPLE_CODE, true, &row), TL_CFI_DAMAGED);
	}
}

static void an_entry_without_a_cfa_is_damage(void **state)
{
	struct example e;
	struct tl_cfi_row row;

	(void)state;
	example_tabled(&e, EM_X86_64, "zR", 1, RIP, "\x90\x01", 2, "", 0);
	assert_int_equal(find(&e, EXAMPLE_CODE, true, &row), TL_CFI_DAMAGED);
}

/* Opens a copy of exactly `size` bytes, so that a sanitizer sees every read past it. */
static void look_everywhere(const uint8_t *bytes, size_t size)
{
	struct tl_error err = { 0 };
	struct tl_cfi_row row;
	struct tl_cfi *cfi;
	uint64_t result;
	bool is_register;
	uint8_t *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	assert_int_equal(tl_cfi_open(&cfi, copy, size, &err), TL_OK);
	for (uint64_t at = EXAMPLE_CODE - 1; at <= EXAMPLE_END; at += 0x33)
		if (tl_cfi_find(cfi, at, false, &row) == TL_CFI_FOUND &&
		    row.cfa.how == TL_CFI_EXPRESSION)
			tl_cfi_evaluate(cfi, &row.cfa, 0, &context, &result, &is_register);
	tl_cfi_close(cfi);
	free(copy);
}

static void cut_at_every_byte_nothing_is_read_past_the_end(void **state)
{
	struct example e;

	(void)state;
	MAKE(&e, PROLOGUE "\x0f\x02\x77\x08");
	for (size_t size = 0; size < 0x400; size++)
		look_everywhere(e.bytes, size);
	make_debug_frame(&e);
	for (size_t size = 0; size < sizeof(e.bytes); size++)
		look_everywhere(e.bytes, size);
}

static void with_any_byte_changed_it_ends(void **state)
{
	static const uint8_t changes[] = { 0x01, 0x80, 0xff };
	struct example e;

	(void)state;
	for (size_t at = 0; at < 2 * 0xd00; at++) {
		if (at / 2 > 0x380 && at / 2 < EXAMPLE_SECTIONS)
			continue;
		for (size_t i = 0; i < sizeof(changes); i++) {
			if (at % 2)
				MAKE(&e, PROLOGUE "\x0f\x02\x77\x08");
			else
				make_debug_frame(&e);
			e.bytes[at / 2] ^= changes[i];
			look_everywhere(e.bytes, sizeof(e.bytes));
		}
	}
}

static void a_cie_that_names_itself_does_not_loop(void **state)
{
	struct example e;
	struct tl_cfi_row row;

	(void)state;
	MAKE(&e, "");
	/* The CIE's id is made the FDE's kind: a pointer to itself. */
	example_put_at(&e, EXAMPLE_FRAME + 4, 4, 4);
	assert_int_equal(find(&e, EXAMPLE_CODE, true, &row), TL_CFI_DAMAGED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_the_cie_hold_at_the_entry),
		cmocka_unit_test(rules_hold_from_their_address_on),
		cmocka_unit_test(remembered_state_comes_back),
		cmocka_unit_test(long_advances_are_scaled),
		cmocka_unit_test(every_way_to_say_where_a_register_is),
		cmocka_unit_test(signal_frames_are_marked),
		cmocka_unit_test(rows_of_a_program_are_those_of_readelf),
		cmocka_unit_test(addresses_around_an_entry_have_none),
		cmocka_unit_test(eh_frame_without_a_table_is_used_if_wanted),
		cmocka_unit_test(debug_frame_is_used_if_wanted),
		cmocka_unit_test(files_that_are_no_elf_have_no_rules),
		cmocka_unit_test(the_expression_of_plt_stubs),
		cmocka_unit_test(the_expression_of_signal_trampolines),
		cmocka_unit_test(arithmetic_is_that_of_the_standard),
		cmocka_unit_test(a_register_is_told_apart_from_an_address),
		cmocka_unit_test(expressions_that_make_no_sense_have_no_result),
		cmocka_unit_test(instructions_that_make_no_sense_are_damage),
		cmocka_unit_test(an_entry_without_a_cfa_is_damage),
		cmocka_unit_test(cut_at_every_byte_nothing_is_read_past_the_end),
		cmocka_unit_test(with_any_byte_changed_it_ends),
		cmocka_unit_test(a_cie_that_names_itself_does_not_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
