/*
 * cfi_fuzz.c - any bytes as an ELF image: rules at many addresses, and their expressions.
 */
#include "cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool get_register(void *payload, unsigned number, uint64_t *value)
{
	(void)payload;
	*value = number * 8;
	return number % 7 != 6;
}

static bool get_memory(void *payload, uint64_t address, uint64_t *value)
{
	return tl_cfi_get_memory(payload, address, value);
}

static void evaluate(struct tl_cfi *cfi, const struct tl_cfi_rule *rule)
{
	const struct tl_cfi_context context = { get_register, get_memory, cfi };
	uint64_t result;
	bool is_register;

	if (rule->how == TL_CFI_EXPRESSION || rule->how == TL_CFI_VAL_EXPRESSION)
		tl_cfi_evaluate(cfi, rule, 0x1000, &context, &result, &is_register);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_error err = { 0 };
	struct tl_cfi_row row;
	struct tl_cfi *cfi;

	if (tl_cfi_open(&cfi, data, size, &err) < 0)
		return 0;
	/* Where hand-made and small real programs have their code, and around it. */
	for (uint64_t address = 0; address < 0x1000; address += 0x1f) {
		if (tl_cfi_find(cfi, address, address % 2, &row) != TL_CFI_FOUND)
			continue;
		evaluate(cfi, &row.cfa);
		for (size_t i = 0; i < row.rule_count; i++)
			evaluate(cfi, &row.rules[i]);
	}
	tl_cfi_close(cfi);
	return 0;
}
