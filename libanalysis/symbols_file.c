/*
 * symbols_file.c - opening and reading files that may be anything: only regular ones, never
 * waiting, never more than a limit; and build-ids as text.
 */
#include "symbols_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
