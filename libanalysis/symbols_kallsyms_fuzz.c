/*
 * symbols_kallsyms_fuzz.c - any bytes as kallsyms; every name that results is looked up.
 */
#include "symbols_private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbols_kernel kernel = { 0 };
	const struct symbols_shown *shown;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (symbols_kallsyms_parse(&kernel, text, size, NULL) == TL_OK) {
		for (size_t i = 0; i < kernel.table.count; i++) {
			struct symbols_entry *entry = symbols_table_find(
				&kernel.table, kernel.table.entries[i].start + i % 3);

			if (entry)
				symbols_table_show(&kernel.table, entry, &shown, NULL);
		}
	}
	symbols_kernel_release(&kernel);
	return 0;
}
