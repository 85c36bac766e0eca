/*
 * tar_example.h - tar archives put down block by block, for tests. Knows the format from POSIX, not from
 * the reader.
 */
#ifndef TL_TAR_EXAMPLE_H
#define TL_TAR_EXAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tar_example {
	uint8_t *bytes;
	size_t size;
};

static inline uint8_t *tar_example_block(struct tar_example *tar)
{
	tar->bytes = realloc(tar->bytes, tar->size + 512);
	memset(tar->bytes + tar->size, 0, 512);
	tar->size += 512;
	return tar->bytes + tar->size - 512;
}

/* Sums a header again after it was changed. */
static inline void tar_example_sum(uint8_t *header)
{
	unsigned sum = 0;

	memset(header + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		sum += header[i];
	snprintf((char *)header + 148, 8, "%06o", sum);
}

/* A header alone, for a member of `size` bytes. */
static inline uint8_t *tar_example_header(struct tar_example *tar, const char *name, char type,
					  const char *link, uint64_t size)
{
	uint8_t *header = tar_example_block(tar);

	memcpy(header, name, strnlen(name, 100));
	memcpy(header + 100, "0000644\0000000000\0000000000", 24);
	for (int i = 0; i < 11; i++)
		header[124 + i] = (uint8_t)('0' + (size >> 3 * (10 - i) & 7));
	if (size >> 33) { /* more than the digits hold: in binary */
		header[124] = 0x80;
		for (int i = 1; i < 12; i++)
			header[124 + i] = (uint8_t)(i < 4 ? 0 : size >> 8 * (11 - i));
	}
	memset(header + 136, '0', 11);
	header[156] = (uint8_t)type;
	memcpy(header + 157, link, strnlen(link, 100));
	memcpy(header + 257, "ustar\00000", 8);
	tar_example_sum(header);
	return header;
}

static inline void tar_example_data(struct tar_example *tar, const void *data, size_t size)
{
	for (size_t at = 0; at < size; at += 512)
		memcpy(tar_example_block(tar), (const uint8_t *)data + at,
		       size - at < 512 ? size - at : 512);
}

static inline void tar_example_file(struct tar_example *tar, const char *name, const char *text)
{
	tar_example_header(tar, name, '0', "", strlen(text));
	tar_example_data(tar, text, strlen(text));
}

static inline void tar_example_link(struct tar_example *tar, const char *name, const char *target)
{
	tar_example_header(tar, name, '2', target, 0);
}

/* GNU 'L' or 'K', or pax 'x': `text` belongs to the member that follows. */
static inline void tar_example_extra(struct tar_example *tar, char type, const char *text,
				     size_t size)
{
	tar_example_header(tar, "././@LongLink", type, "", size);
	tar_example_data(tar, text, size);
}

static inline void tar_example_end(struct tar_example *tar)
{
	tar_example_block(tar);
	tar_example_block(tar);
}

#endif
