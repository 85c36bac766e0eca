/*
 * result.c - files that a command was told to write: whole under their name, or not there at all.
 */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

static int fail_path(struct tl_error *err, const char *path, const char *what)
{
	int ret = tl_fail(err, TL_IO, "%s: %s", what, strerror(errno));

	tl_error_source(err, path);
	return ret;
}

/* Beside its final name, so that the rename stays on one file system. */
static int open_temporary(struct result_file *result, struct tl_error *err)
{
	static const char suffix[] = ".XXXXXX";
	size_t length = strlen(result->path);
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	result->temporary = tl_alloc(1, length + sizeof(suffix), err);
	if (!result->temporary)
		return TL_NOMEM;
	memcpy(result->temporary, result->path, length);
	memcpy(result->temporary + length, suffix, sizeof(suffix));
	fd = mkstemp(result->temporary);
	if (fd < 0) {
		free(result->temporary);
		result->temporary = NULL;
		return fail_path(err, result->path, "cannot be created");
	}
	/* mkstemp is for secrets; a result gets the rights any new file would. */
	if (fchmod(fd, 0666 & ~mask) == 0)
		result->file = fdopen(fd, "w");
	if (result->file)
		return TL_OK;
	fail_path(err, result->path, "cannot be created");
	close(fd);
	unlink(result->temporary);
	free(result->temporary);
	result->temporary = NULL;
	return TL_IO;
}

int result_open(struct result_file *result, const char *path, struct tl_error *err)
{
	struct stat st;

	memset(result, 0, sizeof(*result));
	if (!path || !strcmp(path, "-")) {
		result->file = stdout;
		return TL_OK;
	}
	result->path = path;
	/* A pipe, a device or a symbolic link is written through, not replaced. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		result->file = fopen(path, "w");
		return result->file ? TL_OK : fail_path(err, path, "cannot be opened for writing");
	}
	return open_temporary(result, err);
}

int result_close(struct result_file *result, bool is_good, struct tl_error *err)
{
	bool had_failed;
	int ret = TL_OK;

	if (!result->file || result->file == stdout)
		return TL_OK;
	had_failed = ferror(result->file);
	if (fclose(result->file) || had_failed)
		ret = fail_path(err, result->path, "cannot be written");
	if (result->temporary && ret == TL_OK && is_good &&
	    rename(result->temporary, result->path) < 0)
		ret = fail_path(err, result->path, "cannot be written");
	if (result->temporary && (ret < 0 || !is_good))
		unlink(result->temporary);
	free(result->temporary);
	memset(result, 0, sizeof(*result));
	return ret;
}
