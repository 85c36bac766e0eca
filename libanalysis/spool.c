/*
 * spool.c - temporary files without names. Knows nothing of what is put into them.
 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "memory.h"

int tl_spool_open(struct tl_error *err)
{
	const char *dir = getenv("TMPDIR");
	struct tl_text path = { 0 };
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* file systems without O_TMPFILE: a name that nobody can guess, gone at once */
	tl_text_printf(&path, "%s/traceloom-XXXXXX", dir);
	if (path.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	fd = mkostemp(path.data, O_CLOEXEC);
	if (fd < 0)
		tl_fail(err, TL_IO, "cannot make a temporary file in %s: %s", dir, strerror(errno));
	else
		unlink(path.data);
	tl_text_release(&path);
	return fd < 0 ? TL_IO : fd;
}

int tl_spool_write(int fd, uint64_t offset, const void *data, size_t len, struct tl_error *err)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n =
			pwrite(fd, (const char *)data + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tl_fail(err, TL_IO,
				       "cannot write the temporary file (see TMPDIR): %s",
				       strerror(errno));
		done += (size_t)n;
	}
	return TL_OK;
}

int tl_spool_read(int fd, uint64_t offset, void *out, size_t len, struct tl_error *err)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)out + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return tl_fail(err, TL_IO, "cannot read the temporary file: %s",
				       n < 0 ? strerror(errno) : "it is shorter than it was");
		done += (size_t)n;
	}
	return TL_OK;
}

uint64_t tl_spool_room(int fd)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs) < 0)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * (uint64_t)fs.f_frsize;
}
