/*
 * symbols_find.c - where the file of a binary may be: build-id caches in every layout of perf, debug
 * directories, debug links, the path itself; all but the caches given by name below --symfs. Opens
 * nothing but the directories of caches and links that became text; what is found is judged by the
 * visitor.
 */
#include "symbols_private.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINK_TEXT_MAX 4096 /* a path: PATH_MAX */

#define HEX_MAX (2 * TL_BUILD_ID_MAX + 1)

static int visit_path(symbols_visit_fn visit, const char *path, void *payload, struct tl_error *err)
{
	return visit(&(struct symbols_place) { path, NULL }, payload, err);
}

/* Prints a path and visits it. */
static int visit_printf(symbols_visit_fn visit, void *payload, struct tl_error *err,
			const char *fmt, ...) TL_PRINTF(4, 5);

static int visit_printf(symbols_visit_fn visit, void *payload, struct tl_error *err,
			const char *fmt, ...)
{
	char *path;
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = vasprintf(&path, fmt, args);
	va_end(args);
	if (ret < 0)
		return tl_fail(err, TL_NOMEM, "out of memory: a path");
	ret = visit_path(visit, path, payload, err);
	free(path);
	return ret;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- caches ---- */

/*
 * Copied without links, a cache holds small text files in place of links: the link's target, which
 * counts from the directory of the link. Returns the target as a path, or NULL.
 */
static char *follow_text_link(const char *directory, const char *path)
{
	size_t size, len;
	char *text, *target = NULL;

	if (symbols_read_file(path, LINK_TEXT_MAX, &text, &size, NULL) < 0)
		return NULL;
	len = strcspn(text, "\r\n");
	if (len && len == strlen(text) - strspn(text + len, "\r\n") && strchr(text, '/') &&
	    memcmp(text, "\177ELF", 4) != 0) {
		text[len] = '\0';
		if (asprintf(&target, text[0] == '/' ? "%s%s" : "%s/%s",
			     text[0] == '/' ? "" : directory, text) < 0)
			target = NULL;
	}
	free(text);
	return target;
}

/* `entry` is what stands for a build-id: a directory with files in it, or (older perf) the file. */
static int visit_entry(const char *entry, const char *leaf, symbols_visit_fn visit, void *payload,
		       struct tl_error *err)
{
	if (is_directory(entry))
		return visit_printf(visit, payload, err, "%s/%s", entry, leaf);
	return strcmp(leaf, "debug") ? visit_path(visit, entry, payload, err) : 0;
}

static int visit_one_cache(const char *cache, const char *hex, const char *leaf,
			   symbols_visit_fn visit, void *payload, struct tl_error *err)
{
	char *directory = NULL, *entry = NULL, *target = NULL;
	int ret = TL_NOMEM;

	if (asprintf(&directory, "%s/.build-id/%.2s", cache, hex) < 0) {
		directory = NULL;
		goto out;
	}
	if (asprintf(&entry, "%s/%s", directory, hex + 2) < 0) {
		entry = NULL;
		goto out;
	}
	target = is_directory(entry) ? NULL : follow_text_link(directory, entry);
	ret = visit_entry(target ? target : entry, leaf, visit, payload, err);
	if (ret == 0 && !strcmp(leaf, "debug")) /* the layout of /usr/lib/debug */
		ret = visit_printf(visit, payload, err, "%s.debug", entry);
out:
	if (!directory || !entry)
		ret = tl_fail(err, TL_NOMEM, "out of memory: a path");
	free(directory);
	free(entry);
	free(target);
	return ret;
}

/* Links and layouts are the archive's business. */
static int visit_archives(const struct tl_symbols *symbols, const char *hex, const char *leaf,
			  symbols_visit_fn visit, void *payload, struct tl_error *err)
{
	const struct tl_symbol_options *opt = &symbols->options;

	for (size_t i = 0; i < opt->archive_count; i++) {
		const struct tl_archive_file *file;
		int64_t at = TL_ARCHIVE_FIRST;

		while ((file = tl_archive_find(opt->archives[i], hex, leaf, &at))) {
			int ret = visit(&(struct symbols_place) { file->name, file }, payload, err);

			if (ret)
				return ret;
		}
	}
	return 0;
}

/* The n-th cache to look into, NULL after the last. */
static const char *cache_at(const struct tl_symbols *symbols, size_t n)
{
	if (n < symbols->options.buildid_dir_count)
		return symbols->options.buildid_dirs[n];
	return n == symbols->options.buildid_dir_count ? symbols->home_cache : NULL;
}

int symbols_visit_caches(const struct tl_symbols *symbols, const struct tl_build_id *id,
			 const char *leaf, symbols_visit_fn visit, void *payload,
			 struct tl_error *err)
{
	const struct tl_symbol_options *opt = &symbols->options;
	char hex[HEX_MAX];
	int ret = 0;

	if (id->size < 2)
		return 0;
	symbols_build_id_text(id, hex);
	for (size_t i = 0; ret == 0 && i < opt->buildid_dir_count; i++)
		ret = visit_one_cache(opt->buildid_dirs[i], hex, leaf, visit, payload, err);
	if (ret == 0)
		ret = visit_archives(symbols, hex, leaf, visit, payload, err);
	if (ret == 0 && symbols->home_cache)
		ret = visit_one_cache(symbols->home_cache, hex, leaf, visit, payload, err);
	return ret;
}

int symbols_visit_cache_section(const struct tl_symbols *symbols, const char *section,
				const struct tl_build_id *id, const char *leaf,
				symbols_visit_fn visit, void *payload, struct tl_error *err)
{
	char hex[HEX_MAX];
	const char *cache;

	if (id->size < 2)
		return 0;
	symbols_build_id_text(id, hex);
	for (size_t i = 0; (cache = cache_at(symbols, i)); i++) {
		char *entry;
		int ret;

		if (asprintf(&entry, "%s/%s/%s", cache, section, hex) < 0)
			return tl_fail(err, TL_NOMEM, "out of memory: a path");
		ret = visit_entry(entry, leaf, visit, payload, err);
		free(entry);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- debug files ---- */

int symbols_visit_path(const struct tl_symbols *symbols, const char *path, symbols_visit_fn visit,
		       void *payload, struct tl_error *err)
{
	if (!symbols->options.symfs)
		return visit_path(visit, path, payload, err);
	return visit_printf(visit, payload, err, "%s%s%s", symbols->options.symfs,
			    path[0] == '/' ? "" : "/", path);
}

static int visit_debuglink(const struct tl_symbols *symbols, const char *path,
			   const char *debuglink, symbols_visit_fn visit, void *payload,
			   struct tl_error *err)
{
	const char *root = symbols->options.symfs ? symbols->options.symfs : "";
	int directory = (int)(strrchr(path, '/') - path);
	int ret = 0;

	if (strcmp(path + directory + 1, debuglink) != 0)
		ret = visit_printf(visit, payload, err, "%s%.*s/%s", root, directory, path,
				   debuglink);
	if (ret == 0)
		ret = visit_printf(visit, payload, err, "%s%.*s/.debug/%s", root, directory, path,
				   debuglink);
	if (ret == 0 && !symbols->options.no_default_dirs)
		ret = visit_printf(visit, payload, err, "%s/usr/lib/debug%.*s/%s", root, directory,
				   path, debuglink);
	return ret;
}

int symbols_visit_debug(const struct tl_symbols *symbols, const char *path,
			const struct tl_build_id *id, const char *debuglink, symbols_visit_fn visit,
			void *payload, struct tl_error *err)
{
	const char *root = symbols->options.symfs ? symbols->options.symfs : "";
	char hex[HEX_MAX];
	int ret = 0;

	if (debuglink[0] && path[0] == '/')
		ret = visit_debuglink(symbols, path, debuglink, visit, payload, err);
	if (ret == 0 && id && id->size >= 2 && !symbols->options.no_default_dirs) {
		symbols_build_id_text(id, hex);
		ret = visit_printf(visit, payload, err, "%s/usr/lib/debug/.build-id/%.2s/%s.debug",
				   root, hex, hex + 2);
	}
	if (ret || path[0] != '/' || symbols->options.no_default_dirs)
		return ret;
	ret = visit_printf(visit, payload, err, "%s/usr/lib/debug%s.debug", root, path);
	if (ret == 0)
		ret = visit_printf(visit, payload, err, "%s/usr/lib/debug%s", root, path);
	/* /lib is a link into /usr nowadays, and debug packages name either */
	if (ret == 0 && !strncmp(path, "/usr/lib", 8))
		ret = visit_printf(visit, payload, err, "%s/usr/lib/debug%s", root, path + 4);
	if (ret == 0 && !strncmp(path, "/lib", 4))
		ret = visit_printf(visit, payload, err, "%s/usr/lib/debug/usr%s", root, path);
	return ret;
}
