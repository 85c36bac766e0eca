/*
 * capture_dmesg.c - the importer of the kernel's log as dmesg prints it (dmesg, dmesg -r, dmesg -x):
 * lines with level and time. Its clock is the one that perf uses when not told otherwise: printk and
 * perf both ask the kernel's local_clock().
 */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

struct dmesg {
	struct tl_input *in;
	bool has_begun, has_ended, has_time;
	int64_t last_ns;
	/* of the message that a line without either goes on with */
	bool has_message, message_has_time;
	int message_level;
	int64_t message_ns;
};

/* "<6>[   12.345678] text"; level -1, or no time: not there. */
struct kernel_line {
	int level;
	bool has_time;
	int64_t time_ns;
	struct capture_span text;
};

static const char *const level_names[] = { "emerg",   "alert",	"crit", "err",
					   "warning", "notice", "info", "debug" };

/* "kern  :warn  : " of dmesg -x; returns how long it is, 0: not that. */
static size_t parse_decoded(const char *text, size_t len, int *level)
{
	static const char *const words[] = { "emerg", "alert",	"crit", "err",
					     "warn",  "notice", "info", "debug" };
	struct capture_span rest = { text, len }, word;
	const char *colon = memchr(text, ':', len < 16 ? len : 16);
	size_t used;

	if (!colon || colon == text || *text < 'a' || *text > 'z')
		return 0;
	used = (size_t)(colon - text) + 1;
	rest = (struct capture_span) { text + used, len - used };
	colon = memchr(rest.text, ':', rest.length < 16 ? rest.length : 16);
	if (!colon || (size_t)(colon - text) + 2 >= len || colon[1] != ' ')
		return 0;
	rest.length = (size_t)(colon - rest.text);
	word = capture_word(&rest);
	for (int i = 0; i < 8; i++)
		if (capture_is(word, words[i])) {
			*level = i;
			return (size_t)(colon - text) + 2;
		}
	return 0;
}

/* Returns false for what is no line of the kernel's log. */
static bool parse_line(const char *text, size_t len, struct kernel_line *out)
{
	struct capture_span rest = { text, len };
	uint64_t priority;
	size_t used;

	*out = (struct kernel_line) { .level = -1 };
	if (rest.length && *rest.text == '<') {
		used = tl_parse_u64(rest.text + 1, rest.length - 1, 10, &priority);
		if (!used || used + 1 >= rest.length || rest.text[used + 1] != '>' ||
		    priority > 1023)
			return false;
		out->level = (int)(priority & 7);
		rest.text += used + 2;
		rest.length -= used + 2;
	} else if (rest.length && (used = parse_decoded(rest.text, rest.length, &out->level)) > 0) {
		rest.text += used;
		rest.length -= used;
	}
	out->text = rest;
	if (!rest.length || *rest.text != '[')
		return out->level >= 0;
	for (used = 1; used < rest.length && rest.text[used] == ' ';)
		used++;
	len = tl_parse_time(rest.text + used, rest.length - used, INT64_C(1000000000),
			    &out->time_ns);
	used += len;
	if (!len || out->time_ns < 0 || used >= rest.length || rest.text[used] != ']')
		return out->level >= 0;
	out->has_time = true;
	used += used + 1 < rest.length && rest.text[used + 1] == ' ' ? 2 : 1;
	out->text.text += used;
	out->text.length -= used;
	return true;
}

/* Of a message of several lines dmesg indents all but the first, by as much as that has before its text. */
static bool is_continuation(const char *text, size_t len)
{
	return len && (*text == ' ' || *text == '\t');
}

static int dmesg_probe(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;
	unsigned good = 0, timed = 0, sure = 0;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct kernel_line line;

		if (!newline)
			break;
		if (good && is_continuation(at, (size_t)(newline - at))) {
			at = newline + 1;
			continue;
		}
		if (!parse_line(at, (size_t)(newline - at), &line))
			return 0;
		good++;
		timed += line.has_time;
		sure += line.has_time && line.level >= 0;
		at = newline + 1;
	}
	/* a number in brackets alone may be anything */
	return (sure || timed >= 2) && timed * 2 >= good ? 70 : 0;
}

static int dmesg_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		      struct tl_error *err)
{
	struct dmesg *d = tl_alloc(1, sizeof(*d), err);

	(void)opt;
	*state = d;
	if (!d)
		return TL_NOMEM;
	d->in = in;
	return TL_OK;
}

static void dmesg_close(void *state)
{
	free(state);
}

/* Told when its last time is known: the file is written when it has been printed. */
static int emit_clock(struct dmesg *d, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };
	int64_t modified_ns = tl_input_modified_ns(d->in);

	ev.clock.name = "sched_clock";
	ev.clock.method = TL_CLOCK_ASSUMED;
	ev.clock.residual_ns = -1;
	ev.clock.why = "neither the file nor its date says when it was: times are left as they are";
	if (d->has_time && modified_ns &&
	    !__builtin_sub_overflow(modified_ns, d->last_ns, &ev.clock.offset_ns))
		ev.clock.why =
			"the file's date taken as the time of the last line; snapshots of the "
			"clocks (scripts/capture.sh) tell it";
	return sink->emit(sink, &ev, err);
}

static int begin(struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META };

	ev.meta.key = TL_META_RESOLUTION;
	ev.meta.value = "1000"; /* six places, cut off */
	return sink->emit(sink, &ev, err);
}

/* What a line without level or time has of the line before it. */
static bool go_on(const struct dmesg *d, const struct tl_line *line, struct kernel_line *out)
{
	struct capture_span rest = { line->text, line->length };

	if (!d->has_message || !is_continuation(rest.text, rest.length))
		return false;
	while (is_continuation(rest.text, rest.length)) {
		rest.text++;
		rest.length--;
	}
	*out = (struct kernel_line) { d->message_level, d->message_has_time, d->message_ns, rest };
	return true;
}

static int dmesg_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_LOG };
	struct dmesg *d = state;
	struct kernel_line parsed;
	struct tl_line line;
	int ret = d->has_begun ? TL_OK : begin(sink, err);

	d->has_begun = true;
	if (ret == TL_OK)
		ret = capture_line(d->in, &line, sink, err);
	if (ret == 0 && !d->has_ended) {
		d->has_ended = true;
		ret = emit_clock(d, sink, err);
	}
	if (ret <= 0)
		return ret < 0 ? ret : TL_READ_END;
	if (!parse_line(line.text, line.length, &parsed) && !go_on(d, &line, &parsed)) {
		tl_fail_line(err, TL_FORMAT, line.number, "no line of a kernel log");
		return TL_READ_SKIPPED;
	}
	ev.has_ts = parsed.has_time;
	ev.ts = parsed.time_ns;
	ev.log.level = parsed.level >= 0 ? level_names[parsed.level] : NULL;
	ev.log.text = parsed.text.text;
	ev.log.text_length = parsed.text.length;
	ev.log.position = line.number;
	d->has_message = true;
	d->message_level = parsed.level;
	d->message_has_time = parsed.has_time;
	d->message_ns = parsed.time_ns;
	if (parsed.has_time && (!d->has_time || parsed.time_ns > d->last_ns)) {
		d->has_time = true;
		d->last_ns = parsed.time_ns;
	}
	ret = sink->emit(sink, &ev, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

const struct tl_importer capture_dmesg_importer = {
	.name = "dmesg",
	.summary = "the kernel's log, as dmesg prints it",
	.probe = dmesg_probe,
	.open = dmesg_open,
	.read = dmesg_read,
	.close = dmesg_close,
};
