/*
 * captured.c - a folder that scripts/capture.sh recorded, as the walk through directories sees it: what
 * is left out of it, and of which machine the rest is. Knows what the manifest says, and no format.
 */
#include "captured.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "memory.h"
#include "reader.h"

static bool is_manifest(struct tl_input *in, struct tl_error *err)
{
	const struct tl_importer *importer;
	const uint8_t *head;
	size_t length;

	if (tl_input_is_directory(in) || tl_input_head(in, &head, &length, err) < 0)
		return false;
	importer = tl_importer_probe(head, length);
	return importer && !strcmp(importer->name, "capture");
}

/* What is wrong with a manifest its own import tells. */
static bool load(struct captured *c, const char *path)
{
	struct tl_input *folder = NULL, *manifest = NULL;
	struct tl_error ignored = { 0 };
	bool is_loaded =
		tl_input_open(&folder, path, &ignored) == TL_OK &&
		tl_input_open_beside(&manifest, folder, "manifest.json", &ignored) == TL_OK &&
		is_manifest(manifest, &ignored) &&
		tl_capture_load(manifest, &c->capture, &ignored) == TL_OK;

	tl_input_close(manifest);
	tl_input_close(folder);
	return is_loaded;
}

/* The threads of processes, and what is known of a process whose threads were not kept. */
static bool has_numbers(const struct tl_capture_file *f)
{
	return !strcmp(f->role, "process-threads") || !strcmp(f->role, "process-status");
}

static int load_pid_map(struct captured *c, const char *path, struct tl_error *err)
{
	const size_t size_max = 1 << 20; /* ten thousands of threads */
	struct tl_error ignored = { 0 };
	struct tl_input *folder = NULL;
	struct tl_pid_watch watch = { 0 };
	int ret = tl_input_open(&folder, path, err);

	for (size_t i = 0; i < c->capture.file_count && ret == TL_OK; i++) {
		const struct tl_capture_file *f = &c->capture.files[i];
		struct tl_input *in = NULL;
		const uint8_t *data;
		size_t length;

		if (!has_numbers(f))
			continue;
		if (tl_input_open_beside(&in, folder, f->path, &ignored) == TL_OK &&
		    tl_input_window(in, 0, size_max, &data, &length, &ignored) == TL_OK)
			ret = tl_pid_map_watch(&c->pid_map, &watch, (const char *)data, length,
					       err);
		tl_input_close(in);
	}
	tl_input_close(folder);
	tl_pid_map_watched(&c->pid_map, &watch);
	return ret;
}

int captured_open(struct captured *c, const char *path, struct tl_error *err)
{
	struct tl_text cache = { 0 };

	memset(c, 0, sizeof(*c));
	if (!load(c, path))
		return 0;
	for (size_t i = 0; i < c->capture.file_count && !cache.length; i++)
		if (!strcmp(c->capture.files[i].role, "buildid"))
			tl_text_printf(&cache, "%s/%s", path, c->capture.files[i].path);
	c->cache = cache.data;
	c->path = tl_strdup_n(path, strlen(path), err);
	if (c->path && !cache.failed && load_pid_map(c, path, err) == TL_OK)
		return 1;
	captured_close(c);
	return tl_fail(err, TL_NOMEM, "out of memory");
}

void captured_close(struct captured *c)
{
	tl_capture_release(&c->capture);
	tl_pid_map_release(&c->pid_map);
	free(c->path);
	free(c->cache);
}

/* What the manifest says of a path below the folder; NULL: nothing. */
static const struct tl_capture_file *find_file(const struct captured *c, const char *path)
{
	size_t length = strlen(c->path);

	if (strncmp(path, c->path, length) != 0)
		return NULL;
	for (path += length; *path == '/';)
		path++;
	for (size_t i = 0; i < c->capture.file_count; i++)
		if (!strcmp(c->capture.files[i].path, path))
			return &c->capture.files[i];
	return NULL;
}

bool captured_is_for_people(const struct captured *c, const char *entry)
{
	size_t length = strlen(entry);

	for (size_t i = 0; c && i < c->capture.file_count; i++) {
		const struct tl_capture_file *f = &c->capture.files[i];

		if (!f->is_recording && !strncmp(f->path, entry, length) &&
		    (f->path[length] == '\0' || f->path[length] == '/'))
			return true;
	}
	return false;
}

struct tl_pid_map *captured_pid_map(struct captured *c, const struct tl_importer *importer,
				    const char *path)
{
	/* a profiler asks for its own number; who records from outside knows those of the host */
	static const char *const profilers[] = { "torch", "ascend", "ascend-db" };
	const struct tl_capture_file *f = c && c->pid_map.count ? find_file(c, path) : NULL;

	if (!f || strcmp(f->role, "added") != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(profilers) / sizeof(profilers[0]); i++)
		if (!strcmp(importer->name, profilers[i]))
			return &c->pid_map;
	return NULL;
}

bool captured_timezone(const struct captured *c, const char *path, int64_t *ahead_ns)
{
	const struct tl_capture_file *f = c && c->capture.timezone ? find_file(c, path) : NULL;

	return f && !strcmp(f->role, "added") &&
	       command_parse_zone(c->capture.timezone, strlen(c->capture.timezone), ahead_ns);
}

static int tell_sink(struct tl_sink *sink, const char *key, const char *value, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META };

	ev.meta.key = key;
	ev.meta.value = value;
	return value ? sink->emit(sink, &ev, err) : TL_OK;
}

int captured_tell_host(const struct captured *c, const struct tl_importer *importer,
		       const char *path, struct tl_sink *sink, struct tl_error *err)
{
	const struct tl_capture *host = c ? &c->capture : NULL;
	bool is_perf = !strcmp(importer->name, "perf") || !strcmp(importer->name, "perf-script");
	int ret;

	if (!c || !strcmp(importer->name, "capture"))
		return TL_OK;
	/* it names its machine; one that somebody laid there may be of any other */
	if (is_perf)
		return find_file(c, path) ? tell_sink(sink, "boot_id", host->boot_id, err) : TL_OK;
	ret = tell_sink(sink, "hostname", host->hostname, err);
	if (ret == TL_OK)
		ret = tell_sink(sink, "os_release", host->os_release, err);
	if (ret == TL_OK)
		ret = tell_sink(sink, "arch", host->arch, err);
	return ret < 0 ? ret : tell_sink(sink, "boot_id", host->boot_id, err);
}
