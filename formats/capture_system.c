/*
 * capture_system.c - the importer of what a machine said of itself once a second: /proc/vmstat, pressure,
 * meminfo, buddyinfo, loadavg as counters, settings of memory management as facts, and their changes
 * as lines of a log.
 *
 * "@ TIME" begins a sample, lines are FILE:LINE as grep prints them. A loop that writes `date +%s.%N`
 * and lines of /proc/vmstat is understood, too. Counters that only ever grow have a unit that ends in
 * "since boot".
 */
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_counters.h"
#include "memory.h"

#define SETTINGS_MAX 4096

struct setting {
	uint32_t key;
	char *value; /* of the arena */
};

struct system {
	struct tl_input *in;
	bool has_begun, has_time, is_past_end;
	int64_t time_ns;
	struct tl_interner names;
	struct tl_arena arena;
	struct capture_counters counters;
	struct setting *settings;
	size_t setting_count, setting_capacity;
	uint64_t untimed_count, left_out_count; /* lines; settings */
};

/* ---- recognising ---------------------------------------------------------------------------- */

/* "1700000000.123456789": seconds of this century, alone on the line. */
static bool is_stamp(struct capture_span span, int64_t *time_ns)
{
	const int64_t second = 1000000000;

	return span.length >= 10 && span.length <= 22 &&
	       strspn(span.text, ".0123456789") >= span.length &&
	       tl_parse_time(span.text, span.length, second, time_ns) == span.length &&
	       *time_ns >= 946684800 * second && *time_ns < 4102444800 * second;
}

/* Spans of the file are not terminated: look at what is there only. */
static bool stamp_of(struct capture_span span, int64_t *time_ns)
{
	char text[24];

	if (span.length >= sizeof(text))
		return false;
	memcpy(text, span.text, span.length);
	text[span.length] = '\0';
	return is_stamp((struct capture_span) { text, span.length }, time_ns);
}

static int system_probe(const uint8_t *head, size_t len)
{
	struct capture_span first = { (const char *)head, len }, second;
	const char *newline = memchr(head, '\n', len);
	int64_t time_ns;
	bool is_marked;

	if (!newline)
		return 0;
	first.length = (size_t)(newline - first.text);
	second.text = newline + 1;
	second.length = len - first.length - 1;
	is_marked = first.length > 2 && first.text[0] == '@' && first.text[1] == ' ';
	if (is_marked) {
		first.text += 2;
		first.length -= 2;
	}
	if (!stamp_of(first, &time_ns))
		return 0;
	if (is_marked)
		return !second.length || *second.text == '/' || *second.text == '@' ? 95 : 0;
	newline = memchr(second.text, '\n', second.length);
	if (newline)
		second.length = (size_t)(newline - second.text);
	return capture_starts(second, "nr_") || capture_starts(second, "thp_") ||
			       capture_starts(second, "pg") || capture_starts(second, "compact_") ||
			       capture_starts(second, "allocstall")
		       ? 85
		       : 0;
}

/* ---- the files ------------------------------------------------------------------------------ */

/* mm/vmstat.c: what begins with nr_ is a level, but for these. */
static const char *vmstat_unit(struct capture_span name)
{
	static const char *const growing[] = { "nr_dirtied", "nr_written", "nr_vmscan_write",
					       "nr_vmscan_immediate_reclaim",
					       "nr_throttled_written" };

	if (!capture_starts(name, "nr_"))
		return "events since boot";
	for (size_t i = 0; i < sizeof(growing) / sizeof(growing[0]); i++)
		if (capture_is(name, growing[i]))
			return "pages since boot";
	return "pages";
}

/* "NAME VALUE" */
static int on_vmstat(struct system *s, struct capture_span line, struct tl_sink *sink,
		     struct tl_error *err)
{
	struct capture_span name = capture_word(&line);
	double value;

	if (!name.length || !capture_number(capture_word(&line), &value) ||
	    capture_word(&line).length)
		return TL_FORMAT;
	return capture_count(&s->counters, s->time_ns, "vmstat", name, vmstat_unit(name), value,
			     sink, err);
}

/* "MemFree:   123 kB", "HugePages_Total:   0" */
static int on_meminfo(struct system *s, struct capture_span line, struct tl_sink *sink,
		      struct tl_error *err)
{
	struct capture_span name = capture_word(&line), unit;
	double value;

	if (name.length < 2 || name.text[name.length - 1] != ':' ||
	    !capture_number(capture_word(&line), &value))
		return TL_FORMAT;
	name.length--;
	unit = capture_word(&line);
	if (capture_is(unit, "kB"))
		return capture_count(&s->counters, s->time_ns, "meminfo", name, "bytes",
				     value * 1024, sink, err);
	return capture_count(&s->counters, s->time_ns, "meminfo", name, "pages", value, sink, err);
}

/* "Node 0, zone   Normal   216   55 ...": free blocks of 2^0, 2^1, ... pages */
static int on_buddyinfo(struct system *s, struct capture_span line, struct tl_sink *sink,
			struct tl_error *err)
{
	struct capture_span word = capture_word(&line), node, zone;
	char track[96];

	if (!capture_is(word, "Node"))
		return TL_FORMAT;
	node = capture_word(&line);
	word = capture_word(&line);
	zone = capture_word(&line);
	if (node.length < 2 || node.length > 12 || node.text[node.length - 1] != ',' ||
	    !capture_is(word, "zone") || !zone.length || zone.length > 32)
		return TL_FORMAT;
	snprintf(track, sizeof(track), "buddyinfo node %.*s zone %.*s", (int)node.length - 1,
		 node.text, (int)zone.length, zone.text);
	for (int order = 0; order < 64; order++) {
		char name[16];
		double value;
		int length = snprintf(name, sizeof(name), "order %d", order), ret;

		word = capture_word(&line);
		if (!word.length)
			return order ? TL_OK : TL_FORMAT;
		if (!capture_number(word, &value))
			return TL_FORMAT;
		ret = capture_count(&s->counters, s->time_ns, track,
				    (struct capture_span) { name, (size_t)length }, "blocks", value,
				    sink, err);
		if (ret < 0)
			return ret;
	}
	return TL_FORMAT;
}

static struct capture_span literal(const char *text)
{
	return (struct capture_span) { text, strlen(text) };
}

/* "0.52 0.58 0.59 2/345 6789": averages; runnable and all tasks; the newest pid. */
static int on_loadavg(struct system *s, struct capture_span line, struct tl_sink *sink,
		      struct tl_error *err)
{
	static const char *const names[] = { "1 min", "5 min", "15 min" };
	struct capture_span word, tasks;
	const char *slash;
	double value;
	int ret = TL_OK;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && ret == TL_OK; i++) {
		if (!capture_number(capture_word(&line), &value))
			return TL_FORMAT;
		ret = capture_count(&s->counters, s->time_ns, "loadavg", literal(names[i]), "tasks",
				    value, sink, err);
	}
	word = capture_word(&line);
	slash = word.length ? memchr(word.text, '/', word.length) : NULL;
	if (ret < 0 || !slash)
		return ret < 0 ? ret : TL_FORMAT;
	tasks = (struct capture_span) { slash + 1, (size_t)(word.text + word.length - slash) - 1 };
	word.length = (size_t)(slash - word.text);
	if (!capture_number(word, &value))
		return TL_FORMAT;
	ret = capture_count(&s->counters, s->time_ns, "loadavg", literal("runnable"), "tasks",
			    value, sink, err);
	if (ret < 0 || !capture_number(tasks, &value))
		return ret < 0 ? ret : TL_FORMAT;
	return capture_count(&s->counters, s->time_ns, "loadavg", literal("all"), "tasks", value,
			     sink, err);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=42716924" of a resource */
static int on_pressure(struct system *s, struct capture_span resource, struct capture_span line,
		       struct tl_sink *sink, struct tl_error *err)
{
	struct capture_span kind = capture_word(&line), word;
	char track[48], name[64];
	int ret = TL_OK;

	if (!capture_is(kind, "some") && !capture_is(kind, "full"))
		return TL_FORMAT;
	if (!resource.length || resource.length > 24)
		return TL_FORMAT;
	snprintf(track, sizeof(track), "pressure %.*s", (int)resource.length, resource.text);
	while (ret == TL_OK && (word = capture_word(&line)).length) {
		const char *equals = memchr(word.text, '=', word.length);
		struct capture_span value_text;
		bool is_total;
		double value;
		int length;

		if (!equals || equals - word.text > 24)
			return TL_FORMAT;
		value_text =
			(struct capture_span) { equals + 1,
						(size_t)(word.text + word.length - equals) - 1 };
		word.length = (size_t)(equals - word.text);
		is_total = capture_is(word, "total");
		if (!capture_number(value_text, &value))
			return TL_FORMAT;
		length = snprintf(name, sizeof(name), "%.*s %.*s", (int)kind.length, kind.text,
				  (int)word.length, word.text);
		ret = capture_count(&s->counters, s->time_ns, track,
				    (struct capture_span) { name, (size_t)length },
				    is_total ? "us since boot" : "%", value, sink, err);
	}
	return ret;
}

/* ---- settings ------------------------------------------------------------------------------- */

/* "thp.khugepaged.defrag", "vm.swappiness": the path without what they have in common. */
static bool setting_key(struct capture_span path, char *key, size_t size)
{
	static const struct {
		const char *start, *name;
	} places[] = { { "/sys/kernel/mm/transparent_hugepage/", "thp." },
		       { "/proc/sys/", "" },
		       { "/sys/", "sys." } };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t length = strlen(places[i].start);

		if (!capture_starts(path, places[i].start))
			continue;
		snprintf(key, size, "%s%.*s", places[i].name, (int)(path.length - length),
			 path.text + length);
		for (char *c = key; *c; c++)
			if (*c == '/')
				*c = '.';
		return true;
	}
	return false;
}

/* "always [madvise] never" is the word in brackets. */
static struct capture_span chosen(struct capture_span line)
{
	const char *open = line.length ? memchr(line.text, '[', line.length) : NULL, *close;

	if (open) {
		close = memchr(open, ']', (size_t)(line.text + line.length - open));
		if (close)
			return (struct capture_span) { open + 1, (size_t)(close - open) - 1 };
	}
	return line;
}

static int tell_change(struct system *s, const char *key, const char *from, const char *to,
		       uint64_t line, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_LOG, .has_ts = s->has_time, .ts = s->time_ns };
	char text[512];

	snprintf(text, sizeof(text), "%s: %s, was %s", key, to, from);
	ev.log.level = "setting";
	ev.log.text = text;
	ev.log.text_length = strlen(text);
	ev.log.position = line;
	return sink->emit(sink, &ev, err);
}

static int on_setting(struct system *s, const char *key, struct capture_span line, uint64_t number,
		      struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META };
	struct capture_span word = chosen(line);
	char value[128];
	uint32_t interned;
	size_t i;
	int ret = tl_intern(&s->names, key, strlen(key), &interned, err);

	if (ret < 0)
		return ret;
	tl_printable(value, sizeof(value), word.text, word.length);
	for (i = 0; i < s->setting_count && s->settings[i].key != interned;)
		i++;
	if (i < s->setting_count && !strcmp(s->settings[i].value, value))
		return TL_OK;
	if (i < s->setting_count) {
		ret = tell_change(s, key, s->settings[i].value, value, number, sink, err);
	} else if (i >= SETTINGS_MAX) {
		s->left_out_count++;
		return TL_OK;
	} else {
		ev.meta.key = key;
		ev.meta.value = value;
		ret = tl_grow(&s->settings, &s->setting_capacity, i + 1, err);
		if (ret == TL_OK)
			ret = sink->emit(sink, &ev, err);
		if (ret == TL_OK)
			s->setting_count++;
	}
	if (ret < 0)
		return ret;
	s->settings[i].key = interned;
	s->settings[i].value = tl_arena_copy(&s->arena, value, strlen(value), err);
	return s->settings[i].value ? TL_OK : TL_NOMEM;
}

static int on_other(struct system *s, struct capture_span path, struct capture_span line,
		    uint64_t number, struct tl_sink *sink, struct tl_error *err)
{
	static const char khugepaged[] = "thp.khugepaged.";
	const size_t length = sizeof(khugepaged) - 1;
	char key[160];
	double value;

	if (path.length >= sizeof(key) - 8 || !setting_key(path, key, sizeof(key)))
		return TL_FORMAT;
	if (!strcmp(key, "thp.khugepaged.full_scans") ||
	    !strcmp(key, "thp.khugepaged.pages_collapsed")) {
		if (!capture_number(capture_word(&line), &value))
			return TL_FORMAT;
		return capture_count(&s->counters, s->time_ns, "khugepaged", literal(key + length),
				     "events since boot", value, sink, err);
	}
	return on_setting(s, key, line, number, sink, err);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int on_file(struct system *s, struct capture_span path, struct capture_span line,
		   uint64_t number, struct tl_sink *sink, struct tl_error *err)
{
	static const char pressure[] = "/proc/pressure/";
	const size_t length = sizeof(pressure) - 1;

	if (capture_is(path, "/proc/vmstat"))
		return on_vmstat(s, line, sink, err);
	if (capture_is(path, "/proc/meminfo"))
		return on_meminfo(s, line, sink, err);
	if (capture_is(path, "/proc/buddyinfo"))
		return on_buddyinfo(s, line, sink, err);
	if (capture_is(path, "/proc/loadavg"))
		return on_loadavg(s, line, sink, err);
	if (capture_starts(path, pressure))
		return on_pressure(
			s, (struct capture_span) { path.text + length, path.length - length }, line,
			sink, err);
	return on_other(s, path, line, number, sink, err);
}

static int on_line(struct system *s, const struct tl_line *line, struct tl_sink *sink,
		   struct tl_error *err)
{
	struct capture_span text = { line->text, line->length }, stamp = text;
	const char *colon;
	int64_t time_ns;

	if (!text.length)
		return TL_OK;
	if (text.length > 2 && text.text[0] == '@' && text.text[1] == ' ')
		stamp = (struct capture_span) { text.text + 2, text.length - 2 };
	if (stamp_of(stamp, &time_ns)) {
		s->has_time = true;
		s->time_ns = time_ns;
		return TL_OK;
	}
	if (!s->has_time) {
		s->untimed_count++;
		return TL_OK;
	}
	if (*text.text != '/')
		return on_vmstat(s, text, sink, err);
	colon = memchr(text.text, ':', text.length);
	if (!colon)
		return TL_FORMAT;
	return on_file(
		s, (struct capture_span) { text.text, (size_t)(colon - text.text) },
		(struct capture_span) { colon + 1, (size_t)(text.text + text.length - colon) - 1 },
		line->number, sink, err);
}

static int tell_left_out(struct system *s, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };
	int ret = TL_OK;

	ev.diagnostic.kind = TL_DIAGNOSTIC_SKIPPED;
	ev.diagnostic.unit = "lines";
	if (s->untimed_count) {
		ev.diagnostic.what = "lines before the first time";
		ev.diagnostic.count = s->untimed_count;
		ret = sink->emit(sink, &ev, err);
	}
	if (s->left_out_count + s->counters.left_out_count && ret == TL_OK) {
		ev.diagnostic.what = "more names than any machine has";
		ev.diagnostic.count = s->left_out_count + s->counters.left_out_count;
		ret = sink->emit(sink, &ev, err);
	}
	return ret;
}

static int system_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct system *s = state;
	struct tl_line line;
	int ret = TL_OK;

	if (!s->has_begun)
		ret = capture_emit_realtime(sink, "the wall clock of the machine", err);
	s->has_begun = true;
	if (ret == TL_OK)
		ret = capture_line(s->in, &line, sink, err);
	if (ret == 0 && !s->is_past_end) {
		s->is_past_end = true;
		ret = capture_counters_finish(&s->counters, sink, err);
		if (ret == TL_OK)
			ret = tell_left_out(s, sink, err);
	}
	if (ret <= 0)
		return ret < 0 ? ret : TL_READ_END;
	ret = on_line(s, &line, sink, err);
	if (ret == TL_FORMAT) {
		tl_fail_line(err, TL_FORMAT, line.number,
			     "no line of a file that was sampled: expected FILE:LINE of /proc or "
			     "/sys");
		return TL_READ_SKIPPED;
	}
	return ret < 0 ? ret : TL_READ_MORE;
}

static int system_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		       struct tl_error *err)
{
	struct system *s = tl_alloc(1, sizeof(*s), err);

	(void)opt;
	*state = s;
	if (!s)
		return TL_NOMEM;
	s->in = in;
	return TL_OK;
}

static void system_close(void *state)
{
	struct system *s = state;

	if (!s)
		return;
	tl_interner_release(&s->names);
	tl_arena_release(&s->arena);
	capture_counters_release(&s->counters);
	free(s->settings);
	free(s);
}

const struct tl_importer capture_system_importer = {
	.name = "system",
	.summary = "samples of vmstat, pressure, meminfo, buddyinfo and settings",
	.probe = system_probe,
	.open = system_open,
	.read = system_read,
	.close = system_close,
};
