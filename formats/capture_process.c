/*
 * capture_process.c - what /proc/PID/status and numa_maps said of a recorded process, as facts of the
 * source: "process.PID.begin.VmRSS". The whole files stay in the folder.
 */
#include "capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 100000 /* of numa_maps: as many mappings as the kernel allows, and more */
#define NODES_MAX 16

struct process {
	struct tl_sink *sink;
	int32_t pid;
	char stem[64]; /* "process.4711.begin." */
};

/* "process/4711.status.begin" */
static bool parse_path(const char *path, struct process *p, bool *is_status)
{
	const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path, *when;
	uint64_t pid;
	size_t used = tl_parse_u64(at, strlen(at), 10, &pid);

	if (!used || pid > INT32_MAX || at[used] != '.')
		return false;
	at += used + 1;
	*is_status = !strncmp(at, "status.", 7);
	when = strchr(at, '.');
	if (!when || (!*is_status && strncmp(at, "numa_maps.", 10) != 0) ||
	    (strcmp(when + 1, "begin") != 0 && strcmp(when + 1, "end") != 0))
		return false;
	p->pid = (int32_t)pid;
	snprintf(p->stem, sizeof(p->stem), "process.%" PRId32 ".%s.", p->pid, when + 1);
	return true;
}

static int emit_fact(struct process *p, const char *name, const char *value, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META };
	char key[128];

	snprintf(key, sizeof(key), "%s%s", p->stem, name);
	ev.meta.key = key;
	ev.meta.value = value;
	return p->sink->emit(p->sink, &ev, err);
}

/* A thread row, so that other sources' threads find the process; the name at the end is the last. */
static int emit_name(struct process *p, const char *name, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_COMM, .ts = INT64_MIN };

	ev.comm.task = (struct tl_task) { p->pid, p->pid };
	ev.comm.name = name;
	return p->sink->emit(p->sink, &ev, err);
}

/* "NSpid: 4711 12": the pid that the job knows itself by is the last. */
static int emit_inner_pid(struct process *p, struct capture_span rest, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_NAMESPACE, .ts = INT64_MIN };
	struct capture_span word;
	int64_t pid = 0;
	int depth = 0;

	while ((word = capture_word(&rest)).length) {
		if (!capture_integer(word, &pid) || pid <= 0 || pid > INT32_MAX)
			return TL_OK;
		depth++;
	}
	if (depth < 2)
		return TL_OK;
	ev.ns.task = (struct tl_task) { p->pid, p->pid };
	ev.ns.inner_pid = (int32_t)pid;
	return p->sink->emit(p->sink, &ev, err);
}

/* "VmRSS:     1234 kB" */
static int on_status(struct process *p, struct capture_span line, struct tl_error *err)
{
	/* what questions of memory and waiting ask for; the rest is for people */
	static const char *const wanted[] = { "Name", /* first */
					      "Threads",
					      "VmPeak",
					      "VmHWM",
					      "VmRSS",
					      "RssAnon",
					      "RssFile",
					      "RssShmem",
					      "VmLck",
					      "VmPin",
					      "VmSwap",
					      "HugetlbPages",
					      "THP_enabled",
					      "Cpus_allowed_list",
					      "Mems_allowed_list",
					      "voluntary_ctxt_switches",
					      "nonvoluntary_ctxt_switches" };
	const char *colon = line.length ? memchr(line.text, ':', line.length) : NULL;
	struct capture_span name, rest;
	char value[128];

	if (!colon)
		return TL_OK;
	name = (struct capture_span) { line.text, (size_t)(colon - line.text) };
	rest = (struct capture_span) { colon + 1, line.length - name.length - 1 };
	while (rest.length && (*rest.text == ' ' || *rest.text == '\t')) {
		rest.text++;
		rest.length--;
	}
	if (capture_is(name, "NSpid"))
		return emit_inner_pid(p, rest, err);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (capture_is(name, wanted[i])) {
			int ret = TL_OK;

			tl_printable(value, sizeof(value), rest.text, rest.length);
			if (i == 0)
				ret = emit_name(p, value, err);
			return ret < 0 ? ret : emit_fact(p, wanted[i], value, err);
		}
	return TL_OK;
}

struct numa {
	int64_t pages[NODES_MAX]; /* of all mappings, by node */
	bool is_used[NODES_MAX];
};

/* "7f12 default anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=4" */
static void on_numa(struct numa *numa, struct capture_span line)
{
	struct capture_span word;

	while ((word = capture_word(&line)).length) {
		uint64_t node;
		int64_t pages;
		size_t used;

		if (word.length < 4 || *word.text != 'N')
			continue;
		used = tl_parse_u64(word.text + 1, word.length - 1, 10, &node);
		if (!used || node >= NODES_MAX || used + 1 >= word.length ||
		    word.text[used + 1] != '=')
			continue;
		if (!capture_integer(
			    (struct capture_span) { word.text + used + 2, word.length - used - 2 },
			    &pages) ||
		    pages < 0 ||
		    __builtin_add_overflow(numa->pages[node], pages, &numa->pages[node]))
			continue;
		numa->is_used[node] = true;
	}
}

static int emit_numa(struct process *p, const struct numa *numa, struct tl_error *err)
{
	int ret = TL_OK;

	for (int node = 0; node < NODES_MAX && ret == TL_OK; node++) {
		char name[32], value[32];

		if (!numa->is_used[node])
			continue;
		snprintf(name, sizeof(name), "numa_pages_node%d", node);
		snprintf(value, sizeof(value), "%" PRId64, numa->pages[node]);
		ret = emit_fact(p, name, value, err);
	}
	return ret;
}

int capture_process(struct tl_input *manifest, const char *path, struct tl_sink *sink,
		    struct tl_error *err)
{
	struct process p = { .sink = sink };
	struct numa numa = { 0 };
	struct tl_error ignored = { 0 };
	struct tl_input *in;
	struct tl_line line;
	bool is_status;
	int ret, count = 0;

	if (!parse_path(path, &p, &is_status))
		return TL_OK;
	if (tl_input_open_beside(&in, manifest, path, &ignored) < 0)
		return capture_emit_note(sink, TL_DIAGNOSTIC_NOTE,
					 "a file of the manifest is not there", 0, NULL, err);
	while ((ret = tl_input_line(in, &line, err)) > 0 && count++ < LINES_MAX) {
		struct capture_span text = { line.text, line.length };

		if (line.is_partial)
			continue;
		if (!is_status)
			on_numa(&numa, text);
		else if ((ret = on_status(&p, text, err)) < 0)
			break;
	}
	tl_input_close(in);
	return ret < 0 ? ret : emit_numa(&p, &numa, err);
}
