/*
 * symbols_file.c - opening and reading files that may be anything: only regular ones, never
 * waiting, never more than a limit; and build-ids as text.
 */
#include "symbols_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spool.h"

/* Old recorders pad short ids with zeros to 20 bytes. */
bool symbols_build_id_equal(const struct tl_build_id *a, const struct tl_build_id *b)
{
	const struct tl_build_id *shorter = a->size <= b->size ? a : b;
	const struct tl_build_id *longer = shorter == a ? b : a;

	if (!shorter->size || longer->size > TL_BUILD_ID_MAX ||
	    memcmp(shorter->data, longer->data, shorter->size) != 0)
		return false;
	for (size_t i = shorter->size; i < longer->size; i++)
		if (longer->data[i])
			return false;
	return true;
}

char *symbols_build_id_text(const struct tl_build_id *id, char *buf)
{
	static const char digits[] = "0123456789abcdef";
	size_t size = id->size > TL_BUILD_ID_MAX ? TL_BUILD_ID_MAX : id->size;

	for (size_t i = 0; i < size; i++) {
		buf[2 * i] = digits[id->data[i] >> 4];
		buf[2 * i + 1] = digits[id->data[i] & 15];
	}
	buf[2 * size] = '\0';
	return buf;
}

int symbols_open_regular(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)) {
		int saved = S_ISREG(st->st_mode) ? errno : S_ISDIR(st->st_mode) ? EISDIR : EINVAL;

		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

int symbols_place_copy(struct symbols_place *out, const struct symbols_place *place,
		       struct tl_error *err)
{
	*out = *place;
	out->path = tl_strdup_n(place->path, strlen(place->path), err);
	return out->path ? TL_OK : TL_NOMEM;
}

/* Files of /proc have a size of 0 and tell their length only by ending. */
int symbols_read_file(const char *path, size_t limit, char **data, size_t *size,
		      struct tl_error *err)
{
	struct stat st;
	int fd = symbols_open_regular(path, &st);
	size_t used = 0, capacity;
	char *buffer;
	int ret = TL_OK;

	*data = NULL;
	*size = 0;
	if (fd < 0)
		return tl_fail(err, TL_IO, "%s: %s", path, strerror(errno));
	capacity =
		st.st_size > 0 && (uint64_t)st.st_size < limit ? (size_t)st.st_size + 1 : 64u << 10;
	buffer = malloc(capacity + 1);
	while (buffer) {
		ssize_t n = read(fd, buffer + used, capacity - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			ret = tl_fail(err, TL_IO, "%s: %s", path, strerror(errno));
		if (n <= 0)
			break;
		used += (size_t)n;
		if (used > limit) {
			ret = tl_fail(err, TL_FORMAT, "%s: longer than %zu bytes", path, limit);
			break;
		}
		if (used == capacity) {
			char *grown = realloc(buffer, (capacity *= 2) + 1);

			if (!grown)
				free(buffer);
			buffer = grown;
		}
	}
	close(fd);
	if (!buffer)
		return tl_fail(err, TL_NOMEM, "out of memory: %zu bytes of %s", capacity, path);
	if (ret < 0) {
		free(buffer);
		return ret;
	}
	buffer[used] = '\0';
	*data = buffer;
	*size = used;
	return TL_OK;
}

static int read_archived(const struct tl_archive_file *file, size_t limit, char **data,
			 size_t *size, struct tl_error *err)
{
	char *buffer;
	int ret;

	if (file->size > limit)
		return tl_fail(err, TL_FORMAT, "%s: longer than %zu bytes", file->name, limit);
	buffer = malloc((size_t)file->size + 1);
	if (!buffer)
		return tl_fail(err, TL_NOMEM, "out of memory: %zu bytes of %s", (size_t)file->size,
			       file->name);
	ret = tl_spool_read(file->fd, file->offset, buffer, (size_t)file->size, err);
	if (ret < 0) {
		free(buffer);
		return ret;
	}
	buffer[file->size] = '\0';
	*data = buffer;
	*size = (size_t)file->size;
	return TL_OK;
}

int symbols_read_place(const struct symbols_place *place, size_t limit, char **data, size_t *size,
		       struct tl_error *err)
{
	if (!place->archived)
		return symbols_read_file(place->path, limit, data, size, err);
	*data = NULL;
	*size = 0;
	return read_archived(place->archived, limit, data, size, err);
}

#define IMAGE_COPY_MAX (4u << 20)

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void fill_image(struct symbols_image *image, int fd, uint64_t offset, uint64_t size)
{
	void *data;

	if (!size || size > SIZE_MAX)
		return;
	image->size = (size_t)size;
	if (image->size <= IMAGE_COPY_MAX) {
		image->copy = malloc(image->size);
		if (image->copy &&
		    pread(fd, image->copy, image->size, (off_t)offset) == (ssize_t)size)
			image->data = image->copy;
		return;
	}
	data = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, fd, (off_t)offset);
	image->is_mapped = data != MAP_FAILED;
	image->data = image->is_mapped ? data : NULL;
}

void symbols_image_open(struct symbols_image *image, const struct symbols_place *place,
			const struct stat *st)
{
	const struct tl_archive_file *archived = place->archived;
	struct stat now;
	int fd;

	memset(image, 0, sizeof(*image));
	if (archived) {
		fill_image(image, archived->fd, archived->offset, archived->size);
		return;
	}
	fd = symbols_open_regular(place->path, &now);
	if (fd < 0)
		return;
	if (is_same_file(&now, st) && now.st_size > 0)
		fill_image(image, fd, 0, (uint64_t)now.st_size);
	close(fd);
}

void symbols_image_close(struct symbols_image *image)
{
	if (image->is_mapped)
		munmap((void *)(uintptr_t)image->data, image->size);
	free(image->copy);
	memset(image, 0, sizeof(*image));
}
