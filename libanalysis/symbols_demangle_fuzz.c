/*
 * symbols_demangle_fuzz.c - any text as a linkage name.
 */
#include "symbols.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);

	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	free(tl_demangle(name));
	free(name);
	return 0;
}
