/*
 * source.c - from paths to sources of a case: opening, recognising, walking directories, running
 * the importer; and from the arguments of a question to the case it is put to.
 *
 * Knows no format but that of a folder: what a directory holds is asked of the importers.
 */
#include "command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "captured.h"
#include "formats.h"
#include "memory.h"
#include "pid_map.h"
#include "reader.h"
#include "tally.h"
#include "tar.h"

enum { DIRECTORY_DEPTH_MAX = 32 };

/* One call of source_import on its way through a directory tree. */
struct walk {
	struct tl_store *store;
	const struct case_request *request;
	bool is_question; /* tell only what went wrong */
	size_t imported_count, failed_count, foreign_count;
	const char *recorded_with; /* a file of the same run, imported before; NULL: none */
	char home_cache[PATH_MAX]; /* perf's build-id cache of this user; "": unknown */
	/* what --buildid-dir names: directories, and archives that are unpacked once for all */
	const char **caches;
	struct tl_archive **archives;
	size_t cache_count, archive_count;
	struct tl_pid_map pid_map; /* empty: numbers stay as they are */
	struct captured *captured; /* the recorded folder that is being walked; NULL: none */
};

/* The library knows of a trouble, the command of the option that helps. */
static void add_hint(struct tl_error *err, const char *hint)
{
	size_t length = strlen(err->text);

	snprintf(err->text + length, sizeof(err->text) - length, "%s", hint);
}

static int fail_system(struct tl_error *err, const char *path, const char *what)
{
	int ret = tl_fail(err, TL_IO, "%s: %s", what, strerror(errno));

	tl_error_source(err, path);
	return ret;
}

int source_options_check(const struct source_options *sources, struct tl_error *err)
{
	struct stat st;

	if (sources->symfs && stat(sources->symfs, &st) < 0)
		return tl_fail(err, TL_USAGE, "--symfs %s: %s", sources->symfs, strerror(errno));
	if (sources->symfs && !S_ISDIR(st.st_mode))
		return tl_fail(err, TL_USAGE, "--symfs %s: it is no directory", sources->symfs);
	for (size_t i = 0; i < sources->buildid_dirs.count; i++) {
		const char *path = sources->buildid_dirs.items[i];

		if (stat(path, &st) < 0)
			return tl_fail(err, TL_USAGE, "--buildid-dir %s: %s", path,
				       strerror(errno));
	}
	return TL_OK;
}

/* ---- build-id caches ---------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int open_archive(struct walk *walk, const char *path, struct tl_error *err)
{
	struct tl_archive **archive = &walk->archives[walk->archive_count];
	struct progress progress;
	const char *note;
	int ret;

	progress_begin(&progress, path);
	ret = tl_archive_open(archive, path, progress_step, &progress, err);
	progress_end(&progress);
	if (ret == TL_FORMAT)
		add_hint(err, "; --buildid-dir takes a directory, or a tar archive");
	if (ret < 0)
		return ret;
	walk->archive_count++;
	for (size_t i = 0; (note = tl_archive_note(*archive, i)); i++)
		tell("%s: %s", path, note);
	return TL_OK;
}

static int open_caches(struct walk *walk, struct tl_error *err)
{
	const struct string_list *given = &walk->request->sources->buildid_dirs;
	int ret = TL_OK;

	/* one more for that of a recorded folder */
	walk->caches = tl_alloc(given->count + 1, sizeof(*walk->caches), err);
	walk->archives = tl_alloc(given->count, sizeof(*walk->archives), err);
	if (!walk->caches || !walk->archives)
		return TL_NOMEM;
	if (walk->request->sources->no_symbols)
		return TL_OK;
	for (size_t i = 0; i < given->count && ret == TL_OK; i++) {
		const char *path = given->items[i];

		if (is_directory(path))
			walk->caches[walk->cache_count++] = path;
		else
			ret = open_archive(walk, path, err);
	}
	return ret;
}

/* A list as given, or the file that holds it. */
static int add_pid_map(struct tl_pid_map *map, const char *given, struct tl_error *err)
{
	const size_t size_max = TL_INPUT_WINDOW_MAX; /* the threads of any machine */
	struct tl_input *in = NULL;
	const uint8_t *data;
	size_t length = strlen(given);
	int ret;

	if (length && strspn(given, "0123456789:,") == length)
		return tl_pid_map_add(map, given, length, err);
	ret = tl_input_open(&in, given, err);
	if (ret == TL_OK)
		ret = tl_input_window(in, 0, size_max, &data, &length, err);
	if (ret == TL_OK)
		ret = tl_pid_map_add(map, (const char *)data, length, err);
	tl_error_source(err, given);
	tl_input_close(in);
	return ret;
}

static int open_pid_maps(struct walk *walk, struct tl_error *err)
{
	const struct string_list *given = &walk->request->sources->pid_maps;
	int ret = TL_OK;

	for (size_t i = 0; i < given->count && ret == TL_OK; i++)
		ret = add_pid_map(&walk->pid_map, given->items[i], err);
	return ret;
}

static int walk_begin(struct walk *walk, struct tl_store *store, const struct case_request *request,
		      struct tl_error *err)
{
	const char *home = getenv("HOME");

	memset(walk, 0, sizeof(*walk));
	walk->store = store;
	walk->request = request;
	if (home && *home)
		snprintf(walk->home_cache, sizeof(walk->home_cache), "%s/.debug", home);
	if (open_pid_maps(walk, err) < 0)
		return err->status;
	return open_caches(walk, err);
}

static void walk_end(struct walk *walk)
{
	for (size_t i = 0; i < walk->archive_count; i++)
		tl_archive_close(walk->archives[i]);
	free(walk->archives);
	free(walk->caches);
	tl_pid_map_release(&walk->pid_map);
}

/* ---- one source --------------------------------------------------------------------------- */

/* Hash of a compressed file as it lies on disk: inflating it only to know it again is too dear. */
static uint64_t hash_on_disk(const char *path)
{
	enum { PIECE = 256 << 10 };
	uint8_t *piece = malloc(PIECE);
	int fd = piece ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	uint64_t hash = 0;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		off_t offsets[] = { 0, st.st_size / 2,
				    st.st_size > PIECE ? st.st_size - PIECE : 0 };

		hash = (uint64_t)st.st_size;
		for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
			ssize_t got = pread(fd, piece, PIECE, offsets[i]);

			hash = tl_hash(piece, got > 0 ? (size_t)got : 0, hash);
		}
	}
	if (fd >= 0)
		close(fd);
	free(piece);
	return hash;
}

static int64_t now_unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int describe(struct tl_source_description *d, struct tl_input *in, struct tl_input *content,
		    const char *path, struct tl_error *err)
{
	struct stat st;

	d->path = tl_input_name(in);
	d->modified_ns = tl_input_modified_ns(content);
	if (!d->modified_ns) /* a pipe: it ends now, and may be of this very boot */
		d->end_unix_ns = now_unix_ns();
	if (!strcmp(path, "-") || stat(path, &st) < 0)
		return TL_OK; /* a pipe: nothing to know it by */
	if (S_ISREG(st.st_mode))
		d->size_bytes = (uint64_t)st.st_size;
	else if (!S_ISDIR(st.st_mode))
		return TL_OK;
	if (tl_input_is_compressed(content)) {
		d->fingerprint = S_ISREG(st.st_mode) ? hash_on_disk(path) : 0;
		return TL_OK;
	}
	if (S_ISDIR(st.st_mode)) {
		int ret = tl_input_size(content, &d->size_bytes, err);

		if (ret < 0)
			return ret;
	}
	return tl_input_fingerprint(content, &d->fingerprint, err);
}

static void fill_options(struct walk *walk, struct tl_import_options *import,
			 struct tl_writer_options *writer)
{
	const struct source_options *s = walk->request->sources;

	import->want = walk->request->want;
	import->is_strict = s->is_strict;
	import->progress = progress_step;
	import->log_pattern = s->log_pattern;
	import->has_rank = walk->request->has_rank;
	import->rank = walk->request->rank;
	writer->aggregate_only = walk->request->aggregate_only;
	writer->want = walk->request->want;
	writer->symbols.symfs = s->symfs;
	walk->caches[walk->cache_count] = walk->captured ? walk->captured->cache : NULL;
	writer->symbols.buildid_dirs = walk->caches;
	writer->symbols.buildid_dir_count =
		walk->cache_count + (walk->caches[walk->cache_count] != NULL);
	writer->symbols.archives = (const struct tl_archive *const *)walk->archives;
	writer->symbols.archive_count = walk->archive_count;
	writer->symbols.home_cache = walk->home_cache[0] ? walk->home_cache : NULL;
	writer->symbols.want_inlines = s->want_inlines;
	writer->symbols.no_symbols = s->no_symbols;
	writer->symbols.like_perf = walk->request->like_perf;
}

static void tell_source(const struct walk *walk, const struct tally *tally, const char *source,
			const char *importer, const struct tl_import_result *result)
{
	if (walk->request->sources->is_quiet)
		return;
	if (!walk->is_question || tally_has_trouble(tally))
		tally_tell_counts(tally, source, importer, result);
	tally_tell_findings(tally, source);
}

/* What the user tells comes first: the first of equal keys is asked for. */
static int tell_rank(const struct walk *walk, struct tl_sink *sink, struct tl_error *err)
{
	char text[24];
	const struct tl_event ev = { .kind = TL_EVENT_META,
				     .meta = { .key = "rank", .value = text } };

	if (!walk->request->has_rank)
		return TL_OK;
	snprintf(text, sizeof(text), "%d", (int)walk->request->rank);
	return sink->emit(sink, &ev, err);
}

/* `content` is what `in` is known by: itself, or the main file of a directory. */
static int import_source(struct walk *walk, struct tl_input *in, struct tl_input *content,
			 const char *path, const struct tl_importer *importer, struct tl_error *err)
{
	struct tl_source_description description = {
		.importer = importer->name,
		.is_duplicate_allowed = walk->request->sources->is_duplicate_allowed,
		.hostname = walk->request->sources->host,
		.recorded_with = walk->recorded_with,
	};
	struct tl_import_options import_options = { 0 };
	struct tl_writer_options writer_options = { 0 };
	struct tl_import_result result;
	struct tl_writer *writer = NULL;
	struct progress progress;
	struct tl_pid_map_sink turned;
	struct tl_pid_map *map;
	struct tally tally;
	int ret;

	fill_options(walk, &import_options, &writer_options);
	ret = call_log_options_fill(walk->request->sources, &import_options, err);
	if (ret == TL_OK && !import_options.has_timezone)
		import_options.has_timezone =
			captured_timezone(walk->captured, path, &import_options.timezone_ns);
	if (ret == TL_OK)
		ret = describe(&description, in, content, path, err);
	if (ret == TL_OK) {
		ret = tl_writer_begin(&writer, walk->store, &description, &writer_options, err);
		if (ret == TL_USAGE && !walk->is_question)
			add_hint(err, "; --force imports it again: it then counts twice");
	}
	if (ret < 0)
		return ret;
	tally_init(&tally, tl_writer_sink(writer));
	ret = tell_rank(walk, tl_writer_sink(writer), err);
	if (ret == TL_OK)
		ret = captured_tell_host(walk->captured, importer, path, tl_writer_sink(writer),
					 err);
	if (ret < 0) {
		tl_writer_abort(writer);
		return ret;
	}
	progress_begin(&progress, description.path);
	import_options.progress_payload = &progress;
	map = walk->pid_map.count ? &walk->pid_map
				  : captured_pid_map(walk->captured, importer, path);
	if (map)
		tl_pid_map_sink_init(&turned, map, &tally.sink);
	ret = tl_import(importer, in, &import_options, map ? &turned.sink : &tally.sink, &result,
			err);
	if (ret == TL_OK && map)
		ret = tl_pid_map_sink_finish(&turned, err);
	if (ret == TL_OK && signals_stopped())
		ret = tl_fail(err, TL_STOPPED, "stopped");
	if (ret == TL_OK)
		ret = tl_writer_commit(writer, &result, err);
	else
		tl_writer_abort(writer);
	progress_end(&progress);
	if (ret == TL_OK)
		tell_source(walk, &tally, description.path, importer->name, &result);
	return ret;
}

static int probe(struct tl_input *in, const struct tl_importer **importer, bool *is_case,
		 struct tl_error *err)
{
	const uint8_t *head;
	size_t length;
	int ret = tl_input_head(in, &head, &length, err);

	if (ret < 0)
		return ret;
	*is_case = tl_store_probe(head, length);
	/* text in an archive would be taken for a log, with all that is around it damaged */
	*importer = *is_case || tl_tar_probe(head, length) ? NULL : tl_importer_probe(head, length);
	return TL_OK;
}

static int fail_unknown(struct tl_input *in, bool is_case, struct tl_error *err)
{
	const uint8_t *head;
	size_t length;

	/* not its size: what never ends must not be read to its end */
	if (is_case)
		tl_fail(err, TL_USAGE, "is a case, not a recording");
	else if (tl_input_head(in, &head, &length, err) == TL_OK && length == 0)
		tl_fail(err, TL_FORMAT, "is empty; expected a recording");
	else if (tl_input_head(in, &head, &length, err) == TL_OK && tl_tar_probe(head, length))
		tl_fail(err, TL_FORMAT,
			"is a tar archive: unpack it, and import the directory that it makes");
	else
		tl_fail(err, TL_FORMAT, "is no recording of a known format");
	tl_error_source(err, tl_input_name(in));
	return err->status;
}

/* A failure of one source is told and counted; one of the case or of the machine ends it all. */
static int settle(struct walk *walk, int ret, struct tl_error *err)
{
	if (ret == TL_OK) {
		walk->imported_count++;
		return TL_OK;
	}
	if (ret == TL_STOPPED || ret == TL_NOMEM || ret == TL_STORE || walk->is_question)
		return ret;
	walk->failed_count++;
	tell_error(err);
	tl_error_clear(err);
	return TL_OK;
}

/* `is_found`: met in a directory, where what is no recording is none of our business. */
static int import_file(struct walk *walk, const char *path, bool is_found, struct tl_error *err)
{
	const struct tl_importer *importer = NULL;
	struct tl_input *in = NULL;
	bool is_case = false;
	int ret;

	ret = tl_input_open(&in, path, err);
	if (ret == TL_OK)
		ret = probe(in, &importer, &is_case, err);
	if (ret == TL_OK && !importer && is_found) {
		walk->foreign_count++;
		tl_input_close(in);
		return TL_OK;
	}
	if (ret == TL_OK && !importer)
		ret = fail_unknown(in, is_case, err);
	if (ret == TL_OK)
		ret = import_source(walk, in, in, path, importer, err);
	tl_input_close(in);
	if (ret == TL_NOTHING && is_found) { /* some text: a log could have been in it */
		walk->foreign_count++;
		tl_error_clear(err);
		return TL_OK;
	}
	if (ret == TL_NOTHING && !strcmp(importer->name, "training-log") &&
	    !walk->request->sources->log_pattern)
		add_hint(err, "; --log-pattern REGEX tells what a step looks like");
	if (ret < 0)
		tl_error_source(err, path);
	return settle(walk, ret, err);
}

/* ---- directories -------------------------------------------------------------------------- */

/*
 * A directory that is one recording: its member "data" is what perf record --threads writes. 1: it
 * was, and is dealt with; 0: it is a mere folder.
 */
static int import_directory_source(struct walk *walk, const char *path, struct tl_error *err)
{
	const struct tl_importer *importer = NULL;
	struct tl_input *in = NULL, *content = NULL;
	struct tl_error ignored = { 0 };
	bool is_case = false;
	int ret = 0;

	if (tl_input_open(&in, path, &ignored) == TL_OK &&
	    tl_input_open_beside(&content, in, "data", &ignored) == TL_OK &&
	    probe(content, &importer, &is_case, &ignored) == TL_OK && importer) {
		ret = import_source(walk, in, content, path, importer, err);
		if (ret < 0)
			tl_error_source(err, path);
		ret = settle(walk, ret, err);
		ret = ret < 0 ? ret : 1;
	}
	tl_input_close(content);
	tl_input_close(in);
	return ret;
}

static int import_path(struct walk *walk, const char *path, int depth, struct tl_error *err);

/* Links to files are followed, links to directories are not: they can lead in circles. */
static bool is_member_wanted(const char *path)
{
	struct stat st, target;

	if (lstat(path, &st) < 0 || stat(path, &target) < 0)
		return false;
	return S_ISREG(target.st_mode) || S_ISDIR(st.st_mode);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int import_members(struct walk *walk, const char *path, int depth, struct tl_error *err)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, is_visible, by_bytes);
	int ret = TL_OK;

	if (count < 0)
		return settle(walk, fail_system(err, path, "cannot be read"), err);
	for (int i = 0; i < count; i++) {
		struct tl_text member = { 0 };

		if (captured_is_for_people(walk->captured, entries[i]->d_name)) {
			free(entries[i]);
			continue;
		}

		tl_text_printf(&member, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
			       entries[i]->d_name);
		if (member.failed)
			ret = tl_fail(err, TL_NOMEM, "out of memory");
		else if (ret == TL_OK && is_member_wanted(member.data))
			ret = import_path(walk, member.data, depth + 1, err);
		tl_text_release(&member);
		free(entries[i]);
	}
	free(entries);
	return ret;
}

/* A folder that capture.sh recorded: its manifest says what is in it. */
static int import_folder(struct walk *walk, const char *path, int depth, struct tl_error *err)
{
	struct captured *outer = walk->captured;
	struct captured captured;
	int ret = captured_open(&captured, path, err);

	if (ret <= 0)
		return ret < 0 ? ret : import_members(walk, path, depth, err);
	walk->captured = &captured;
	ret = import_members(walk, path, depth, err);
	walk->captured = outer;
	captured_close(&captured);
	return ret;
}

static int import_directory(struct walk *walk, const char *path, int depth, struct tl_error *err)
{
	int ret = import_directory_source(walk, path, err);

	if (ret != 0)
		return ret < 0 ? ret : TL_OK;
	if (depth > DIRECTORY_DEPTH_MAX) {
		ret = tl_fail(err, TL_IO, "more than %d directories deep", DIRECTORY_DEPTH_MAX);
		tl_error_source(err, path);
		return settle(walk, ret, err);
	}
	return import_folder(walk, path, depth, err);
}

/* strace -ff -o LOG writes LOG.7, LOG.8, ...: LOG stands for them. 1: there are some. */
static int import_siblings(struct walk *walk, const char *prefix, struct tl_error *err)
{
	char **paths;
	size_t count;
	int ret = siblings_find(prefix, &paths, &count, err);

	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		size_t before = walk->imported_count;

		ret = import_file(walk, paths[i], true, err);
		if (walk->imported_count > before)
			walk->recorded_with = paths[i];
	}
	walk->recorded_with = NULL;
	siblings_release(paths, count);
	return ret < 0 ? ret : count > 0;
}

static int import_path(struct walk *walk, const char *path, int depth, struct tl_error *err)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && depth == 0 && stat(path, &st) < 0 && errno == ENOENT) {
		int ret = import_siblings(walk, path, err);

		if (ret != 0)
			return ret < 0 ? ret : TL_OK;
	}
	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return import_directory(walk, path, depth, err);
	return import_file(walk, path, depth > 0, err);
}

static int import_operand(struct walk *walk, const char *path, struct tl_error *err)
{
	size_t before = walk->imported_count + walk->failed_count;
	int ret = import_path(walk, path, 0, err);

	if (ret < 0)
		return ret;
	if (walk->imported_count + walk->failed_count == before) {
		ret = tl_fail(err, TL_FORMAT,
			      "no recording of a known format is in this directory");
		tl_error_source(err, path);
		return settle(walk, ret, err);
	}
	if (walk->foreign_count && !walk->request->sources->is_quiet)
		tell("%s: skipped %zu file%s of no known format", path, walk->foreign_count,
		     walk->foreign_count == 1 ? "" : "s");
	walk->foreign_count = 0;
	return TL_OK;
}

int source_import(struct tl_store *store, char **paths, size_t count,
		  const struct case_request *request, size_t *imported_count, size_t *failed_count,
		  struct tl_error *err)
{
	struct walk walk;
	int ret = walk_begin(&walk, store, request, err);

	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = import_operand(&walk, paths[i], err);
	/* what is new may tell of the clocks of what was there */
	if (ret == TL_OK && walk.imported_count)
		ret = tl_clock_settle(store, err);
	*imported_count += walk.imported_count;
	*failed_count += walk.failed_count;
	walk_end(&walk);
	return ret;
}

/* ---- the case to ask ---------------------------------------------------------------------- */

/* Whether a path names a case. What cannot be opened is none; opening it again will say why. */
static bool is_case_file(const char *path)
{
	const struct tl_importer *importer;
	struct tl_error ignored = { 0 };
	struct tl_input *in = NULL;
	struct stat st;
	bool is_case = false;

	/* Looking at a pipe would use up what is looked at: "-", /dev/stdin, <(...), a FIFO. */
	if (!strcmp(path, "-") || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return false;
	if (tl_input_open(&in, path, &ignored) == TL_OK && !tl_input_is_directory(in))
		probe(in, &importer, &is_case, &ignored);
	tl_input_close(in);
	return is_case;
}

static int import_all(struct tl_store *store, char **paths, size_t count,
		      const struct case_request *request, struct tl_error *err)
{
	struct walk walk;
	int ret = walk_begin(&walk, store, request, err);

	walk.is_question = true;
	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = import_operand(&walk, paths[i], err);
	if (ret == TL_OK && walk.imported_count)
		ret = tl_clock_settle(store, err);
	walk_end(&walk);
	return ret;
}

static int open_case(struct tl_store **out, const char *path, struct tl_error *err)
{
	size_t unsettled = 0;
	int ret = tl_store_open(out, path, TL_STORE_READ, err);

	if (ret == TL_OK)
		ret = tl_clock_unsettled(*out, &unsettled, err);
	if (ret == TL_OK && unsettled)
		tell("%s: %zu source%s came by an import that was stopped: clocks are not mapped and "
		     "steps are not known until 'traceloom align --redo %s'",
		     path, unsettled, unsettled == 1 ? "" : "s", path);
	return ret;
}

int command_open_case(struct tl_store **out, char **paths, size_t count,
		      const struct case_request *request, struct tl_error *err)
{
	int ret;

	*out = NULL;
	if (count == 0)
		return tl_fail(err, TL_USAGE, "no CASE was given: a case file, or recordings");
	ret = source_options_check(request->sources, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		if (!is_case_file(paths[i]))
			continue;
		if (count == 1)
			return open_case(out, paths[0], err);
		return tl_fail(err, TL_USAGE,
			       "'%s' is a case: it must be the only one; 'traceloom import' adds "
			       "recordings to it",
			       paths[i]);
	}
	ret = tl_store_open_temporary(out, err);
	if (ret == TL_OK)
		ret = import_all(*out, paths, count, request, err);
	if (ret < 0) {
		tl_store_close(*out);
		*out = NULL;
	}
	return ret;
}
