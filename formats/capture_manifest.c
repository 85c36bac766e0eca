/*
 * capture_manifest.c - the manifest of a recorded folder: as facts of the machine and of what could not
 * be recorded (an importer), and as the list of its files (for whoever walks the folder).
 */
#include "capture.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "memory.h"

#define MANIFEST_BYTES_MAX (4u << 20) /* a folder of ten thousand processes has half of it */
#define MANIFEST_VERSION   1

/* ---- reading it ----------------------------------------------------------------------------- */

static int parse(struct tl_input *in, json_t **root, struct tl_error *err)
{
	const uint8_t *data;
	json_error_t why;
	uint64_t size;
	size_t length;
	int ret = tl_input_size(in, &size, err);

	*root = NULL;
	if (ret == TL_OK && size > MANIFEST_BYTES_MAX)
		ret = tl_fail(err, TL_FORMAT, "a manifest of %llu bytes: at most %u make sense",
			      (unsigned long long)size, MANIFEST_BYTES_MAX);
	if (ret == TL_OK)
		ret = tl_input_window(in, 0, MANIFEST_BYTES_MAX, &data, &length, err);
	if (ret < 0)
		return ret;
	*root = json_loadb((const char *)data, length, 0, &why);
	if (!*root)
		return tl_fail_line(err, TL_FORMAT, why.line > 0 ? (uint64_t)why.line : 1,
				    "the manifest is no JSON: %s", why.text);
	if (!json_is_integer(json_object_get(*root, "traceloom_capture")))
		ret = tl_fail(err, TL_FORMAT,
			      "is no manifest: expected an object with traceloom_capture");
	else if (json_integer_value(json_object_get(*root, "traceloom_capture")) !=
		 MANIFEST_VERSION)
		ret = tl_fail(err, TL_UNSUPPORTED,
			      "is a manifest of version %" JSON_INTEGER_FORMAT
			      "; this program knows %d",
			      json_integer_value(json_object_get(*root, "traceloom_capture")),
			      MANIFEST_VERSION);
	if (ret < 0) {
		json_decref(*root);
		*root = NULL;
	}
	return ret;
}

/* NULL for what is no text, or none. */
static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? text : NULL;
}

/* Below the folder, and nowhere else. */
static bool is_inside(const char *path)
{
	size_t length = strlen(path);

	if (!length || *path == '/' || !strncmp(path, "../", 3) || !strcmp(path, "..") ||
	    strstr(path, "/../"))
		return false;
	return length < 3 || strcmp(path + length - 3, "/..") != 0;
}

/* ---- for whoever walks the folder -------------------------------------------------------------- */

static bool is_recording_role(const char *role)
{
	static const char *const roles[] = { "clocks", "system", "perf",  "strace",
					     "dmesg",  "added",	 "output" };

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (!strcmp(role, roles[i]))
			return true;
	return false;
}

static int copy_text(struct tl_arena *arena, const char **out, const char *text,
		     struct tl_error *err)
{
	*out = text ? tl_arena_copy(arena, text, strlen(text), err) : NULL;
	return text && !*out ? TL_NOMEM : TL_OK;
}

static int add_file(struct tl_capture *c, const json_t *file, struct tl_error *err)
{
	const char *role = text_of(file, "role"), *path = text_of(file, "path");
	struct tl_capture_file *f = &c->files[c->file_count];
	int ret;

	if (!role || !path || !is_inside(path))
		return TL_OK; /* the importer tells */
	ret = copy_text(c->memory, &f->role, role, err);
	if (ret == TL_OK)
		ret = copy_text(c->memory, &f->path, path, err);
	f->is_recording = is_recording_role(role);
	c->file_count += ret == TL_OK;
	return ret;
}

static int fill_capture(struct tl_capture *c, const json_t *root, struct tl_error *err)
{
	const json_t *host = json_object_get(root, "host"), *files = json_object_get(root, "files");
	size_t count = json_array_size(files);
	int ret = copy_text(c->memory, &c->hostname, text_of(host, "hostname"), err);

	if (ret == TL_OK)
		ret = copy_text(c->memory, &c->os_release, text_of(host, "os_release"), err);
	if (ret == TL_OK)
		ret = copy_text(c->memory, &c->arch, text_of(host, "arch"), err);
	if (ret == TL_OK)
		ret = copy_text(c->memory, &c->boot_id, text_of(host, "boot_id"), err);
	if (ret == TL_OK)
		ret = copy_text(c->memory, &c->timezone, text_of(root, "timezone"), err);
	if (ret == TL_OK && count) {
		c->files = tl_alloc(count, sizeof(*c->files), err);
		ret = c->files ? TL_OK : TL_NOMEM;
	}
	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = add_file(c, json_array_get(files, i), err);
	return ret;
}

int tl_capture_load(struct tl_input *manifest, struct tl_capture *out, struct tl_error *err)
{
	json_t *root = NULL;
	int ret;

	memset(out, 0, sizeof(*out));
	out->memory = tl_alloc(1, sizeof(struct tl_arena), err);
	ret = out->memory ? parse(manifest, &root, err) : TL_NOMEM;
	if (ret == TL_OK)
		ret = fill_capture(out, root, err);
	json_decref(root);
	if (ret < 0)
		tl_capture_release(out);
	return ret;
}

void tl_capture_release(struct tl_capture *capture)
{
	if (capture->memory)
		tl_arena_release(capture->memory);
	free(capture->memory);
	free(capture->files);
	memset(capture, 0, sizeof(*capture));
}

/* ---- the importer ----------------------------------------------------------------------------- */

struct manifest {
	struct tl_input *in;
	json_t *root;
	bool is_read;
};

static int manifest_probe(const uint8_t *head, size_t len)
{
	static const char mark[] = "\"traceloom_capture\"";
	size_t first = 0;

	while (first < len && (head[first] == ' ' || head[first] == '\n' || head[first] == '\t' ||
			       head[first] == '\r'))
		first++;
	if (first == len || head[first] != '{')
		return 0;
	/* the first member: what merely speaks of captures has it later */
	return memmem(head + first, len - first < 64 ? len - first : 64, mark, sizeof(mark) - 1)
		       ? 99
		       : 0;
}

static int manifest_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
			 struct tl_error *err)
{
	struct manifest *m = tl_alloc(1, sizeof(*m), err);

	(void)opt;
	*state = m;
	if (!m)
		return TL_NOMEM;
	m->in = in;
	return parse(in, &m->root, err);
}

static void manifest_close(void *state)
{
	struct manifest *m = state;

	if (m)
		json_decref(m->root);
	free(m);
}

static int emit_meta(struct tl_sink *sink, const char *key, const char *value, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META };

	if (!value)
		return TL_OK;
	ev.meta.key = key;
	ev.meta.value = value;
	return sink->emit(sink, &ev, err);
}

static int emit_facts(const json_t *root, struct tl_sink *sink, struct tl_error *err)
{
	static const char *const of_host[] = { "hostname", "os_release",  "arch",
					       "boot_id",  "cpus_online", "page_size" };
	static const struct {
		const char *member, *key;
	} of_capture[] = { { "command", "cmdline" },
			   { "begin", "capture.begin" },
			   { "end", "capture.end" },
			   { "state", "capture.state" },
			   { "stopped_by", "capture.stopped_by" },
			   { "perf_command", "capture.perf_command" },
			   { "strace_command", "capture.strace_command" } };
	const json_t *host = json_object_get(root, "host"), *changes;
	int ret = TL_OK;

	for (size_t i = 0; i < sizeof(of_host) / sizeof(of_host[0]) && ret == TL_OK; i++)
		ret = emit_meta(sink, of_host[i], text_of(host, of_host[i]), err);
	for (size_t i = 0; i < sizeof(of_capture) / sizeof(of_capture[0]) && ret == TL_OK; i++)
		ret = emit_meta(sink, of_capture[i].key, text_of(root, of_capture[i].member), err);
	changes = json_object_get(root, "settings_changed");
	for (size_t i = 0; i < json_array_size(changes) && ret == TL_OK; i++)
		ret = emit_meta(sink, "capture.set", json_string_value(json_array_get(changes, i)),
				err);
	return ret;
}

/* Neither the job's end nor the time that was asked for. */
static int emit_stop(const char *stopped_by, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_text message = { 0 };
	int ret;

	tl_text_printf(&message, "the recording was ended by %s", stopped_by);
	ret = message.failed ? tl_fail(err, TL_NOMEM, "out of memory")
			     : capture_emit_note(sink, TL_DIAGNOSTIC_NOTE, "ended early", 0,
						 message.data, err);
	tl_text_release(&message);
	return ret;
}

static int emit_missing(const json_t *root, struct tl_sink *sink, struct tl_error *err)
{
	const json_t *missing = json_object_get(root, "missing");
	const char *state = text_of(root, "state"), *stopped_by = text_of(root, "stopped_by");
	int ret = TL_OK;

	if (!state || strcmp(state, "complete") != 0)
		ret = capture_emit_note(sink, TL_DIAGNOSTIC_TRUNCATED, "capture did not end", 0,
					"the capture was killed: what it writes at its end is "
					"missing",
					err);
	if (ret == TL_OK && stopped_by)
		ret = emit_stop(stopped_by, sink, err);
	for (size_t i = 0; i < json_array_size(missing) && ret == TL_OK; i++) {
		const json_t *item = json_array_get(missing, i);
		const char *what = text_of(item, "what"), *why = text_of(item, "why");
		struct tl_text words = { 0 }, message = { 0 };

		tl_text_printf(&words, "not recorded: %s", what ? what : "?");
		tl_text_printf(&message, "%s%s%s", words.failed ? "" : words.data, why ? ": " : "",
			       why ? why : "");
		if (words.failed || message.failed)
			ret = tl_fail(err, TL_NOMEM, "out of memory");
		else
			ret = capture_emit_note(sink, TL_DIAGNOSTIC_NOTE, words.data, 0,
						message.data, err);
		tl_text_release(&words);
		tl_text_release(&message);
	}
	return ret;
}

static int emit_processes(const struct manifest *m, struct tl_sink *sink, struct tl_error *err)
{
	const json_t *files = json_object_get(m->root, "files");
	int ret = TL_OK;

	for (size_t i = 0; i < json_array_size(files) && ret == TL_OK; i++) {
		const json_t *file = json_array_get(files, i);
		const char *role = text_of(file, "role"), *path = text_of(file, "path");

		if (!role || !path)
			ret = capture_emit_note(sink, TL_DIAGNOSTIC_DAMAGED,
						"a file without role or path in the manifest", 0,
						NULL, err);
		else if (!is_inside(path))
			ret = capture_emit_note(sink, TL_DIAGNOSTIC_DAMAGED,
						"a path of the manifest leads out of the folder", 0,
						NULL, err);
		else if (!strcmp(role, "process-status") || !strcmp(role, "process-numa_maps"))
			ret = capture_process(m->in, path, sink, err);
	}
	return ret;
}

static int manifest_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct manifest *m = state;
	int ret;

	if (m->is_read)
		return TL_READ_END;
	m->is_read = true;
	ret = capture_emit_realtime(sink, "the wall clock of the machine", err);
	if (ret == TL_OK)
		ret = emit_facts(m->root, sink, err);
	if (ret == TL_OK)
		ret = emit_missing(m->root, sink, err);
	if (ret == TL_OK)
		ret = emit_processes(m, sink, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

const struct tl_importer capture_manifest_importer = {
	.name = "capture",
	.summary = "the manifest of a folder that capture.sh recorded",
	.probe = manifest_probe,
	.open = manifest_open,
	.read = manifest_read,
	.close = manifest_close,
};
