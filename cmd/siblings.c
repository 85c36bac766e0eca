/*
 * siblings.c - files that share a name but for a number at the end: strace -ff -o LOG writes LOG.7,
 * LOG.8 and so on, and none of them is LOG.
 */
#include "command.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory.h"
#include "reader.h"

/* The number of "NAME.123" or "NAME.123.gz", 0 if it is none. */
static uint64_t number_of(const char *entry, const char *name)
{
	static const char *const suffixes[] = { "", ".gz", ".zst", ".xz", ".bz2" };
	size_t len = strlen(name), used;
	uint64_t number;

	if (strncmp(entry, name, len) != 0 || entry[len] != '.')
		return 0;
	entry += len + 1;
	used = tl_parse_u64(entry, strlen(entry), 10, &number);
	for (size_t i = 0; used && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (!strcmp(entry + used, suffixes[i]))
			return number;
	return 0;
}

struct sibling {
	uint64_t number;
	char *path;
};

static int by_number(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int add(struct sibling **list, size_t *count, size_t *capacity, uint64_t number,
	       const char *directory, const char *entry, struct tl_error *err)
{
	struct tl_text path = { 0 };
	struct stat st;
	int ret = tl_grow(list, capacity, *count + 1, err);

	if (ret < 0)
		return ret;
	tl_text_puts(&path, directory);
	tl_text_puts(&path, entry);
	if (path.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	if (stat(path.data, &st) < 0 || !S_ISREG(st.st_mode)) {
		tl_text_release(&path);
		return TL_OK;
	}
	(*list)[*count].number = number;
	(*list)[(*count)++].path = path.data;
	return TL_OK;
}

int siblings_find(const char *prefix, char ***paths, size_t *count, struct tl_error *err)
{
	const char *slash = strrchr(prefix, '/');
	char *directory = tl_strdup_n(prefix, slash ? (size_t)(slash - prefix) + 1 : 0, err);
	const char *name = slash ? slash + 1 : prefix;
	struct sibling *list = NULL;
	size_t capacity = 0;
	const struct dirent *entry;
	int ret = directory ? TL_OK : TL_NOMEM;
	DIR *dir = directory ? opendir(*directory ? directory : ".") : NULL;

	*paths = NULL;
	*count = 0;
	while (ret == TL_OK && dir && *name && (entry = readdir(dir))) {
		uint64_t number = number_of(entry->d_name, name);

		if (number)
			ret = add(&list, count, &capacity, number, directory, entry->d_name, err);
	}
	if (dir)
		closedir(dir);
	if (ret == TL_OK && *count)
		qsort(list, *count, sizeof(*list), by_number);
	if (ret == TL_OK && *count)
		*paths = tl_alloc(*count, sizeof(**paths), err);
	for (size_t i = 0; i < *count; i++) {
		if (*paths)
			(*paths)[i] = list[i].path;
		else
			free(list[i].path);
	}
	if (!*paths)
		*count = 0;
	free(list);
	free(directory);
	return ret;
}

void siblings_release(char **paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
}
