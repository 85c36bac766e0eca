/*
 * reader.h - what formats read with: an input (file, pipe or memory, plain or compressed) as
 * windows or as lines, a bounds-checked cursor, and decimal times.
 */
#ifndef TL_READER_H
#define TL_READER_H

#include "analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- input ------------------------------------------------------------------------------- */

/*
 * Opens a file, a directory that a format may look into, or "-" for standard input. gzip, zstd,
 * xz and bzip2 are known by their first bytes and inflated. Anything that cannot be sought in is
 * spooled to an unlinked temporary file (in $TMPDIR) when windows are asked for; lines stream.
 */
int tl_input_open(struct tl_input **out, const char *path, struct tl_error *err);
/* Borrows `data` until close. `name` is for messages. */
int tl_input_open_memory(struct tl_input **out, const char *name, const uint8_t *data, size_t len,
			 struct tl_error *err);
/* Another file of the same folder: a directory input's member, or a sibling of a file. */
int tl_input_open_beside(struct tl_input **out, const struct tl_input *in, const char *name,
			 struct tl_error *err);
void tl_input_close(struct tl_input *in); /* accepts NULL */

const char *tl_input_name(const struct tl_input *in); /* as given, for messages */
bool tl_input_is_directory(const struct tl_input *in);
bool tl_input_is_compressed(const struct tl_input *in);
int64_t tl_input_modified_ns(const struct tl_input *in); /* file date, Unix ns; 0 unknown */

/* The first bytes, inflated: up to 262144, less only if the input is shorter. Borrowed. */
int tl_input_head(struct tl_input *in, const uint8_t **data, size_t *len, struct tl_error *err);

/* Size in bytes after inflating; spools what has no size. */
int tl_input_size(struct tl_input *in, uint64_t *size, struct tl_error *err);

/*
 * Up to `want` bytes at `offset` (want <= TL_INPUT_WINDOW_MAX): fewer at the end of the input,
 * 0 past it. The pointer is valid until the next call on this input. Sequential use is buffered.
 */
#define TL_INPUT_WINDOW_MAX (4u << 20)
int tl_input_window(struct tl_input *in, uint64_t offset, size_t want, const uint8_t **data,
		    size_t *len, struct tl_error *err);

/*
 * The next `want` bytes of the input in their order, inflated; *got is less only at the end. Spools
 * nothing. Not to be mixed with lines; windows of an input that can be sought in do not disturb.
 */
int tl_input_read(struct tl_input *in, void *data, size_t want, size_t *got, struct tl_error *err);
/* Windows cost no spooling: a plain file, or memory. */
bool tl_input_is_seekable(const struct tl_input *in);

/*
 * The next line without its newline (and without a CR before it). 1: a line, 0: end, <0: error.
 * Lines longer than TL_INPUT_LINE_MAX come in pieces: *is_partial is set on all but the last.
 * `line`, numbered from 1, and its byte `offset` are those of the line's start.
 */
#define TL_INPUT_LINE_MAX (1u << 20)
struct tl_line {
	const char *text; /* not terminated; valid until the next call */
	size_t length;
	uint64_t number, offset;
	bool is_partial, has_newline /* false: the file ends here, cut or not */;
};
int tl_input_line(struct tl_input *in, struct tl_line *line, struct tl_error *err);

/* 0..1 of the bytes on disk consumed, negative if unknown. */
double tl_input_fraction(const struct tl_input *in);
/* A compressed input that ended early, or trailing garbage after it: a message, or NULL. */
const char *tl_input_damage(const struct tl_input *in);
/*
 * Hash of the size and up to 1 MiB of the bytes on disk (compressed ones as they are), for
 * recognising the same file again; 0 for what has no size. Spools nothing.
 */
int tl_input_fingerprint(struct tl_input *in, uint64_t *hash, struct tl_error *err);

/* ---- cursor ------------------------------------------------------------------------------- */

/*
 * Bounds-checked and sticky: a read past the end sets `failed`, it and all later reads return
 * zero. Check once at the end of a record.
 */
struct tl_cursor {
	const uint8_t *data;
	size_t size, position;
	uint64_t base;	    /* offset of data[0] in the file, for messages */
	bool is_big_endian; /* of the bytes */
	bool failed;
	size_t failed_at, failed_want; /* where and how much was wanted */
};

void tl_cursor_init(struct tl_cursor *c, const uint8_t *data, size_t size, uint64_t base,
		    bool is_big_endian);
/* A child over the next `size` bytes, which the parent steps over. Fails both if too few. */
struct tl_cursor tl_cursor_sub(struct tl_cursor *c, size_t size);
int tl_cursor_check(const struct tl_cursor *c, const char *what, struct tl_error *err);

static inline size_t tl_cursor_left(const struct tl_cursor *c)
{
	return c->failed ? 0 : c->size - c->position;
}

uint8_t tl_get_u8(struct tl_cursor *c);
uint16_t tl_get_u16(struct tl_cursor *c);
uint32_t tl_get_u32(struct tl_cursor *c);
uint64_t tl_get_u64(struct tl_cursor *c);
/* `size` bytes, borrowed; NULL on failure. */
const uint8_t *tl_get_bytes(struct tl_cursor *c, size_t size);
/* count * size bytes with the product checked; NULL on failure (and count > 0). */
const uint8_t *tl_get_array(struct tl_cursor *c, uint64_t count, size_t size);
/*
 * Struct whose size is in the file: copies min(file_size, out_size) raw bytes, zeroes the rest of
 * `out`, steps over file_size. No byte order is applied.
 */
void tl_get_struct(struct tl_cursor *c, void *out, size_t out_size, size_t file_size);
/*
 * Text of at most `size` bytes that ends at the first NUL; steps over all `size` bytes. Returns a
 * terminated copy in `buf` (cut if too long).
 */
const char *tl_get_text(struct tl_cursor *c, size_t size, char *buf, size_t buf_size);
void tl_skip(struct tl_cursor *c, uint64_t size);

/* ---- decimal times ------------------------------------------------------------------------ */

/*
 * "12.345678" with `unit_ns` nanoseconds a unit (1000000000 for seconds, 1000 for microseconds)
 * to nanoseconds, without a double: digits below a nanosecond are rounded half up. Accepts a sign
 * and an exponent ("1.5e3"). Returns the number of bytes used, 0 if it is no number or overflows.
 */
size_t tl_parse_time(const char *text, size_t len, int64_t unit_ns, int64_t *ns);
/* Unsigned integer in base 10 or 16; bytes used, 0 if none or too large. */
size_t tl_parse_u64(const char *text, size_t len, unsigned base, uint64_t *value);

#ifdef __cplusplus
}
#endif
#endif
