/*
 * inflate.h - private: compressed streams as plain ones, in bounded memory. A truncated stream
 * gives what inflates and says so; a ratio that only an attack has is refused.
 */
#ifndef TL_INFLATE_H
#define TL_INFLATE_H

#include "analysis.h"

enum tl_compression {
	TL_COMPRESSION_NONE,
	TL_COMPRESSION_GZIP,
	TL_COMPRESSION_ZSTD,
	TL_COMPRESSION_XZ,
	TL_COMPRESSION_BZIP2
};

enum tl_compression tl_compression_of(const uint8_t *head, size_t len);

struct tl_inflater;

/* Compressed bytes come from here; *got short only at the end. */
typedef int (*tl_inflater_pull_fn)(void *payload, uint8_t *out, size_t want, size_t *got,
				   struct tl_error *err);

/* `head` are compressed bytes already read; copied. */
int tl_inflater_open(struct tl_inflater **out, enum tl_compression kind, const uint8_t *head,
		     size_t head_length, tl_inflater_pull_fn pull, void *payload,
		     struct tl_error *err);
void tl_inflater_close(struct tl_inflater *inflater); /* accepts NULL */
/* Plain bytes; *got short only at the end. */
int tl_inflater_read(struct tl_inflater *inflater, uint8_t *out, size_t want, size_t *got,
		     struct tl_error *err);
/* The first plain bytes without consuming them; want <= 262144. Only before the first read. */
int tl_inflater_peek(struct tl_inflater *inflater, size_t want, const uint8_t **data, size_t *len,
		     struct tl_error *err);
/* Why the plain bytes are not all there are, or what followed them; NULL: all is well. */
const char *tl_inflater_damage(const struct tl_inflater *inflater);

#endif
