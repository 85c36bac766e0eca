/*
 * archive_fuzz.c - any bytes as a tar archive of a build-id cache: every build-id that is written in
 * it is looked for.
 */
#include "archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No fuzzer guesses sums: blocks that could be headers get the right one. */
static void fix_sums(uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at + 512 <= size; at += 512) {
		uint8_t *block = bytes + at;
		unsigned sum = 0;

		if (memcmp(block + 257, "ustar", 5) != 0)
			continue;
		memset(block + 148, ' ', 8);
		for (int i = 0; i < 512; i++)
			sum += block[i];
		snprintf((char *)block + 148, 8, "%06o", sum);
	}
}

static void find(const struct tl_archive *archive, const char *id)
{
	static const char *const leaves[] = { "elf", "debug", "vdso", "kallsyms", "vmlinux" };

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		const struct tl_archive_file *file;
		int64_t at = TL_ARCHIVE_FIRST;

		while ((file = tl_archive_find(archive, id, leaves[i], &at))) {
			char byte;

			if (file->size &&
			    tl_spool_read(file->fd, file->offset + file->size - 1, &byte, 1, NULL))
				abort(); /* a file is never larger than what was stored */
			if (!file->name || file->size > 1u << 24)
				abort();
		}
	}
}

/* Runs of hexadecimal digits, and those that a slash divides. */
static void find_all(const struct tl_archive *archive, const uint8_t *data, size_t size)
{
	char id[41];
	size_t used = 0, tries = 0;

	for (size_t i = 0; i < size && tries < 200; i++) {
		bool is_digit =
			(data[i] >= '0' && data[i] <= '9') || (data[i] >= 'a' && data[i] <= 'f');

		if (is_digit && used < 40)
			id[used++] = (char)data[i];
		if (is_digit || (data[i] == '/' && used == 2))
			continue;
		id[used] = '\0';
		if (used > 2) {
			find(archive, id);
			tries++;
		}
		used = 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_archive *archive;
	struct tl_input *in;
	uint8_t *bytes = malloc(size + 1);

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	fix_sums(bytes, size);
	if (tl_input_open_memory(&in, "fuzz", bytes, size, NULL) == TL_OK) {
		if (tl_archive_read(&archive, in, NULL, NULL, NULL) == TL_OK)
			find_all(archive, bytes, size);
		tl_archive_close(archive);
		tl_input_close(in);
	}
	free(bytes);
	return 0;
}
