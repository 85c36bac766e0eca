/*
 * input.c - a file, pipe or memory, plain or compressed, as windows or as lines. The only place
 * that opens recordings; knows nothing of what is in them.
 */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inflate.h"
#include "memory.h"
#include "spool.h"

#define HEAD_SIZE	  (256u << 10)
#define BUFFER_SIZE	  (1u << 20)
#define FINGERPRINT_PIECE (256u << 10) /* of the begin, two places between, and the end */

enum backing {
	BACKING_MEMORY, /* data, size */
	BACKING_FILE,	/* fd can be sought in, size known */
	BACKING_STREAM, /* bytes come once, from fd or from the inflater */
	BACKING_DIRECTORY,
};

struct tl_input {
	enum backing backing;
	char *path;
	int fd;
	int64_t modified_ns;
	uint64_t disk_size;	      /* of the file as it lies there; 0 unknown */
	uint64_t disk_position;	      /* bytes of it consumed */
	struct tl_inflater *inflater; /* NULL: plain */
	const char *damage;

	const uint8_t *memory; /* BACKING_MEMORY */
	uint64_t size;	       /* MEMORY and FILE */

	uint8_t *head; /* HEAD_SIZE, of a stream: what the probe saw, still to be read */
	size_t head_length, head_used;
	bool has_head;

	uint8_t *buffer; /* the window, or the line buffer */
	size_t buffer_capacity;
	uint64_t buffer_offset; /* in the input */
	size_t buffer_length;

	size_t line_used; /* of the buffer */
	uint64_t line_number;
	bool at_end, in_partial;
	bool is_window; /* the buffer holds a window: lines go on at line_offset */
	uint64_t line_offset;
	uint64_t read_offset; /* tl_input_read, where the input can be sought in */
};

static int fail_errno(struct tl_error *err, const char *what)
{
	return tl_fail(err, TL_IO, "%s: %s", what, strerror(errno));
}

/* Fills as far as the descriptor gives; short only at its end. */
static int read_fully(struct tl_input *in, void *out, size_t want, size_t *got,
		      struct tl_error *err)
{
	*got = 0;
	while (*got < want) {
		ssize_t n = read(in->fd, (char *)out + *got, want - *got);

		/* only a handler that wants it interrupts a read: waiting for a pipe must end then */
		if (n < 0 && errno == EINTR)
			return tl_fail(err, TL_STOPPED, "stopped");
		if (n < 0)
			return fail_errno(err, "cannot read");
		if (n == 0)
			break;
		*got += (size_t)n;
	}
	in->disk_position += *got;
	return TL_OK;
}

static int pull_compressed(void *payload, uint8_t *out, size_t want, size_t *got,
			   struct tl_error *err)
{
	return read_fully(payload, out, want, got, err);
}

/* The next bytes of a stream, inflated. */
static int stream_read(struct tl_input *in, void *out, size_t want, size_t *got,
		       struct tl_error *err)
{
	int ret;

	if (in->inflater) {
		ret = tl_inflater_read(in->inflater, out, want, got, err);
		in->damage = tl_inflater_damage(in->inflater);
		return ret;
	}
	*got = in->head_length - in->head_used;
	if (*got > want)
		*got = want;
	if (*got) {
		memcpy(out, in->head + in->head_used, *got);
		in->head_used += *got;
	}
	if (*got < want) {
		size_t more;

		ret = read_fully(in, (char *)out + *got, want - *got, &more, err);
		if (ret < 0)
			return ret;
		*got += more;
	}
	return TL_OK;
}

/* Bytes at an offset of a file or of memory; short only at the end. */
static int read_at(struct tl_input *in, uint64_t offset, void *out, size_t want, size_t *got,
		   struct tl_error *err)
{
	*got = 0;
	if (offset >= in->size)
		return TL_OK;
	if (want > in->size - offset)
		want = (size_t)(in->size - offset);
	if (in->backing == BACKING_MEMORY) {
		memcpy(out, in->memory + offset, want);
		*got = want;
		return TL_OK;
	}
	while (*got < want) {
		ssize_t n = pread(in->fd, (char *)out + *got, want - *got, (off_t)(offset + *got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(err, "cannot read");
		if (n == 0)
			break; /* it shrank while we read */
		*got += (size_t)n;
	}
	return TL_OK;
}

/* ---- opening ---- */

static int start_stream(struct tl_input *in, struct tl_error *err)
{
	const size_t first = 4096; /* enough for a magic, and not too much for the inflater */
	enum tl_compression kind;
	size_t more;
	int ret;

	in->head = tl_alloc(HEAD_SIZE, 1, err);
	ret = in->head ? read_fully(in, in->head, first, &in->head_length, err) : TL_NOMEM;
	if (ret < 0)
		return ret;
	kind = tl_compression_of(in->head, in->head_length);
	if (kind == TL_COMPRESSION_NONE) {
		if (in->head_length < first)
			return TL_OK;
		ret = read_fully(in, in->head + first, HEAD_SIZE - first, &more, err);
		in->head_length += more;
		return ret;
	}
	ret = tl_inflater_open(&in->inflater, kind, in->head, in->head_length, pull_compressed, in,
			       err);
	in->head_length = 0;
	return ret;
}

static int open_descriptor(struct tl_input *in, struct tl_error *err)
{
	uint8_t magic[8];
	struct stat st;
	size_t got;
	int ret;

	if (fstat(in->fd, &st) < 0)
		return fail_errno(err, "cannot stat");
	in->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	if (S_ISDIR(st.st_mode)) {
		in->backing = BACKING_DIRECTORY;
		return TL_OK;
	}
	in->backing = BACKING_STREAM;
	if (!S_ISREG(st.st_mode)) {
		in->modified_ns = 0;
		return start_stream(in, err);
	}
	in->disk_size = (uint64_t)st.st_size;
	if (lseek(in->fd, 0, SEEK_CUR) != 0) /* standard input that was read from already */
		return start_stream(in, err);
	in->size = (uint64_t)st.st_size;
	in->backing = BACKING_FILE;
	ret = read_at(in, 0, magic, sizeof(magic), &got, err);
	if (ret < 0)
		return ret;
	if (tl_compression_of(magic, got) == TL_COMPRESSION_NONE)
		return TL_OK;
	in->backing = BACKING_STREAM;
	return start_stream(in, err);
}

int tl_input_open(struct tl_input **out, const char *path, struct tl_error *err)
{
	struct tl_input *in = tl_alloc(1, sizeof(*in), err);
	int ret = TL_NOMEM;

	*out = NULL;
	if (!in)
		return ret;
	in->fd = -1;
	in->path = tl_strdup_n(path, strlen(path), err);
	if (!in->path)
		goto out;
	if (!strcmp(path, "-"))
		in->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		in->fd = open(path, O_RDONLY | O_CLOEXEC);
	ret = in->fd < 0 ? fail_errno(err, "cannot open") : open_descriptor(in, err);
out:
	if (ret < 0) {
		tl_error_source(err, path);
		tl_input_close(in);
		return ret;
	}
	*out = in;
	return TL_OK;
}

int tl_input_open_memory(struct tl_input **out, const char *name, const uint8_t *data, size_t len,
			 struct tl_error *err)
{
	struct tl_input *in = tl_alloc(1, sizeof(*in), err);

	*out = NULL;
	if (!in)
		return TL_NOMEM;
	in->fd = -1;
	in->backing = BACKING_MEMORY;
	in->memory = data;
	in->size = in->disk_size = len;
	in->path = tl_strdup_n(name, strlen(name), err);
	if (!in->path) {
		tl_input_close(in);
		return TL_NOMEM;
	}
	*out = in;
	return TL_OK;
}

int tl_input_open_beside(struct tl_input **out, const struct tl_input *in, const char *name,
			 struct tl_error *err)
{
	const char *slash = strrchr(in->path, '/');
	struct tl_text path = { 0 };
	int ret;

	*out = NULL;
	if (in->backing == BACKING_MEMORY)
		return tl_fail(err, TL_IO, "%s: memory has no other files", name);
	if (in->backing == BACKING_DIRECTORY) {
		tl_text_puts(&path, in->path);
		tl_text_puts(&path, "/");
	} else if (slash) {
		tl_text_add(&path, in->path, (size_t)(slash - in->path) + 1);
	}
	tl_text_puts(&path, name);
	ret = path.failed ? tl_fail(err, TL_NOMEM, "out of memory")
			  : tl_input_open(out, path.data, err);
	tl_text_release(&path);
	return ret;
}

void tl_input_close(struct tl_input *in)
{
	if (!in)
		return;
	tl_inflater_close(in->inflater);
	if (in->fd >= 0)
		close(in->fd);
	free(in->head);
	free(in->buffer);
	free(in->path);
	free(in);
}

/* ---- what it is ---- */

const char *tl_input_name(const struct tl_input *in)
{
	return in->path;
}

bool tl_input_is_directory(const struct tl_input *in)
{
	return in->backing == BACKING_DIRECTORY;
}

bool tl_input_is_compressed(const struct tl_input *in)
{
	return in->inflater != NULL;
}

bool tl_input_is_seekable(const struct tl_input *in)
{
	return in->backing == BACKING_FILE || in->backing == BACKING_MEMORY;
}

int64_t tl_input_modified_ns(const struct tl_input *in)
{
	return in->modified_ns;
}

const char *tl_input_damage(const struct tl_input *in)
{
	return in->damage;
}

double tl_input_fraction(const struct tl_input *in)
{
	uint64_t at = in->backing == BACKING_STREAM ? in->disk_position
		      : in->read_offset		    ? in->read_offset
						    : in->buffer_offset + in->buffer_length;

	return in->disk_size ? (double)at / (double)in->disk_size : -1;
}

/* ---- spooling: a stream that must be sought in becomes a file ---- */

static int need_buffer(struct tl_input *in, size_t size, struct tl_error *err)
{
	return tl_grow(&in->buffer, &in->buffer_capacity, size, err);
}

static int spool(struct tl_input *in, struct tl_error *err)
{
	uint64_t total = 0;
	size_t got;
	int ret, fd;

	if (in->backing != BACKING_STREAM)
		return TL_OK;
	ret = need_buffer(in, BUFFER_SIZE, err);
	if (ret < 0)
		return ret;
	fd = tl_spool_open(err);
	if (fd < 0)
		return fd;
	do {
		ret = stream_read(in, in->buffer, BUFFER_SIZE, &got, err);
		if (ret == TL_OK)
			ret = tl_spool_write(fd, total, in->buffer, got, err);
		total += got;
	} while (ret == TL_OK && got == BUFFER_SIZE);
	if (ret < 0) {
		close(fd);
		return ret;
	}
	close(in->fd);
	in->fd = fd;
	in->backing = BACKING_FILE;
	in->size = in->disk_size = total;
	in->buffer_length = 0;
	return TL_OK;
}

static int sourced(const struct tl_input *in, int ret, struct tl_error *err)
{
	if (ret < 0)
		tl_error_source(err, in->path);
	return ret;
}

static int not_a_file(const struct tl_input *in, struct tl_error *err)
{
	return sourced(in, tl_fail(err, TL_IO, "is a directory, not a file"), err);
}

int tl_input_size(struct tl_input *in, uint64_t *size, struct tl_error *err)
{
	int ret;

	if (in->backing == BACKING_DIRECTORY)
		return not_a_file(in, err);
	ret = spool(in, err);
	*size = in->size;
	return sourced(in, ret, err);
}

int tl_input_head(struct tl_input *in, const uint8_t **data, size_t *len, struct tl_error *err)
{
	int ret;

	if (in->backing == BACKING_DIRECTORY)
		return not_a_file(in, err);
	if (in->backing != BACKING_STREAM) {
		ret = tl_input_window(in, 0, HEAD_SIZE, data, len, err);
		return ret;
	}
	if (in->inflater) {
		ret = tl_inflater_peek(in->inflater, HEAD_SIZE, data, len, err);
		in->damage = tl_inflater_damage(in->inflater);
		if (ret == TL_OK && *len == 0 && in->damage)
			ret = tl_fail(err, TL_FORMAT,
				      "the compressed data is damaged, or ends too early: nothing "
				      "of it inflates");
		return sourced(in, ret, err);
	}
	*data = in->head;
	*len = in->head_length;
	return TL_OK;
}

/* The buffer is about to hold a window: lines go on later where they were. */
static void keep_line_position(struct tl_input *in)
{
	if (in->is_window)
		return;
	in->is_window = true;
	in->line_offset = in->buffer_offset + in->line_used;
}

static void resume_lines(struct tl_input *in)
{
	if (!in->is_window)
		return;
	in->is_window = false;
	in->buffer_offset = in->line_offset;
	in->buffer_length = 0;
	in->line_used = 0;
	in->at_end = false;
}

int tl_input_window(struct tl_input *in, uint64_t offset, size_t want, const uint8_t **data,
		    size_t *len, struct tl_error *err)
{
	size_t fetch, got;
	int ret;

	if (in->backing == BACKING_DIRECTORY)
		return not_a_file(in, err);
	if (want > TL_INPUT_WINDOW_MAX)
		want = TL_INPUT_WINDOW_MAX;
	ret = spool(in, err);
	if (ret < 0)
		return sourced(in, ret, err);
	if (offset >= in->size) {
		*data = NULL;
		*len = 0;
		return TL_OK;
	}
	if (want > in->size - offset)
		want = (size_t)(in->size - offset);
	if (in->backing == BACKING_MEMORY) {
		keep_line_position(in);
		in->buffer_offset = offset; /* for the fraction only */
		*data = in->memory + offset;
		*len = want;
		return TL_OK;
	}
	if (offset < in->buffer_offset || offset + want > in->buffer_offset + in->buffer_length) {
		keep_line_position(in);
		fetch = want > BUFFER_SIZE ? want : BUFFER_SIZE;
		ret = need_buffer(in, fetch, err);
		if (ret == TL_OK)
			ret = read_at(in, offset, in->buffer, fetch, &got, err);
		if (ret < 0)
			return sourced(in, ret, err);
		in->buffer_offset = offset;
		in->buffer_length = got;
	}
	*data = in->buffer + (offset - in->buffer_offset);
	*len = (size_t)(in->buffer_offset + in->buffer_length - offset);
	if (*len > want)
		*len = want;
	return TL_OK;
}

int tl_input_read(struct tl_input *in, void *data, size_t want, size_t *got, struct tl_error *err)
{
	int ret;

	*got = 0;
	if (in->backing == BACKING_DIRECTORY)
		return not_a_file(in, err);
	if (in->backing == BACKING_STREAM)
		return sourced(in, stream_read(in, data, want, got, err), err);
	ret = read_at(in, in->read_offset, data, want, got, err);
	in->read_offset += *got;
	return sourced(in, ret, err);
}

/* ---- lines ---- */

/* What to ask for from there on: of a small file no more than all, and a byte to see its end. */
static size_t lines_ahead(const struct tl_input *in, uint64_t offset)
{
	uint64_t left = offset < in->size ? in->size - offset : 0;

	return in->backing == BACKING_STREAM || left >= BUFFER_SIZE ? BUFFER_SIZE
								    : (size_t)left + 1;
}

/* Moves what is left of the buffer to its front and reads more behind it. */
static int refill_lines(struct tl_input *in, struct tl_error *err)
{
	size_t left = in->buffer_length - in->line_used, got = 0;
	size_t want = lines_ahead(in, in->buffer_offset + in->buffer_length);
	int ret = need_buffer(in, left + want, err);

	if (ret < 0)
		return ret;
	if (left)
		memmove(in->buffer, in->buffer + in->line_used, left);
	in->buffer_offset += in->line_used;
	in->line_used = 0;
	in->buffer_length = left;
	if (in->backing == BACKING_STREAM)
		ret = stream_read(in, in->buffer + left, want, &got, err);
	else
		ret = read_at(in, in->buffer_offset + left, in->buffer + left, want, &got, err);
	in->buffer_length += got;
	in->at_end = got < want;
	return ret;
}

int tl_input_line(struct tl_input *in, struct tl_line *line, struct tl_error *err)
{
	const uint8_t *text, *newline;
	size_t left;
	int ret;

	if (in->backing == BACKING_DIRECTORY)
		return not_a_file(in, err);
	resume_lines(in);
	for (;;) {
		text = in->buffer ? in->buffer + in->line_used : NULL;
		left = in->buffer_length - in->line_used;
		newline = left ? memchr(text, '\n', left) : NULL;
		if (newline || in->at_end || left >= TL_INPUT_LINE_MAX)
			break;
		ret = refill_lines(in, err);
		if (ret < 0)
			return sourced(in, ret, err);
	}
	if (!left)
		return 0;
	line->length = newline ? (size_t)(newline - text) : left;
	line->has_newline = newline != NULL;
	line->is_partial = false;
	if (line->length > TL_INPUT_LINE_MAX || (!newline && left > TL_INPUT_LINE_MAX)) {
		line->length = TL_INPUT_LINE_MAX;
		line->is_partial = true;
		line->has_newline = false;
	} else if (!newline && !in->at_end) {
		line->is_partial = true; /* exactly the maximum, and more to come */
	}
	if (!in->in_partial)
		in->line_number++;
	line->text = (const char *)text;
	line->number = in->line_number;
	line->offset = in->buffer_offset + in->line_used;
	in->in_partial = line->is_partial;
	in->line_used += line->length + (line->has_newline ? 1 : 0);
	if (line->has_newline && line->length && text[line->length - 1] == '\r')
		line->length--;
	return 1;
}

/* Bytes of the file as it lies on disk, without disturbing a stream that reads it. */
static int read_raw(struct tl_input *in, uint64_t offset, void *out, size_t want, size_t *got,
		    struct tl_error *err)
{
	ssize_t n;

	if (in->backing == BACKING_MEMORY)
		return read_at(in, offset, out, want, got, err);
	do
		n = pread(in->fd, out, want, (off_t)offset);
	while (n < 0 && errno == EINTR);
	*got = n < 0 ? 0 : (size_t)n;
	return n < 0 ? fail_errno(err, "cannot read") : TL_OK;
}

int tl_input_fingerprint(struct tl_input *in, uint64_t *hash, struct tl_error *err)
{
	const uint64_t size = in->disk_size;
	const uint64_t offsets[4] = { 0, size / 3, size / 3 * 2,
				      size > FINGERPRINT_PIECE ? size - FINGERPRINT_PIECE : 0 };
	uint8_t *piece;
	int ret = TL_OK;

	*hash = 0;
	if (in->backing == BACKING_DIRECTORY)
		return not_a_file(in, err);
	if (!size) /* a pipe, or empty: nothing to know it by */
		return TL_OK;
	piece = tl_alloc(FINGERPRINT_PIECE, 1, err);
	if (!piece)
		return TL_NOMEM;
	*hash = size;
	for (int i = 0; i < 4 && ret == TL_OK; i++) {
		size_t got;

		ret = read_raw(in, offsets[i], piece, FINGERPRINT_PIECE, &got, err);
		*hash = tl_hash(piece, got, *hash);
	}
	free(piece);
	return sourced(in, ret, err);
}
