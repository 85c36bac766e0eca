/*
 * capture_clocks.c - the importer of clock snapshots: lines of traceloom-clocks (see
 * scripts/capture_clocks.c) to anchors. What they are good for is decided elsewhere.
 */
#include "capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define CLOCK_NAME_MAX 32
/* NTP steers by 500 ppm at most; what goes faster was set. */
#define STEER_PER_S  500000
#define SET_FLOOR_NS 1000000

struct clocks {
	struct tl_input *in;
	bool has_begun;
	/* the snapshot before of the clock that goes on whatever happens to the wall clock */
	bool has_last;
	int64_t last_realtime, last_value, last_width;
};

static int clocks_probe(const uint8_t *head, size_t len)
{
	static const char *const starts[] = { "anchor ", "marker ", "absent " };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (capture_starts((struct capture_span) { (const char *)head, len }, starts[i]))
			return 90;
	return 0;
}

static int clocks_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		       struct tl_error *err)
{
	struct clocks *c = tl_alloc(1, sizeof(*c), err);

	(void)opt;
	*state = c;
	if (!c)
		return TL_NOMEM;
	c->in = in;
	return TL_OK;
}

static void clocks_close(void *state)
{
	free(state);
}

/* Where the wall clock went against one that is never set. */
static int check_set(struct clocks *c, int64_t realtime, int64_t value, int64_t width,
		     uint64_t line, struct tl_sink *sink, struct tl_error *err)
{
	int64_t wall, steady, jump, allowed;
	char message[160];
	bool is_known = c->has_last && !__builtin_sub_overflow(realtime, c->last_realtime, &wall) &&
			!__builtin_sub_overflow(value, c->last_value, &steady) &&
			!__builtin_sub_overflow(wall, steady, &jump) && jump != INT64_MIN;

	allowed = is_known && steady > 0 ? steady / INT64_C(1000000000) * STEER_PER_S : 0;
	if (!is_known || llabs(jump) <= SET_FLOOR_NS ||
	    llabs(jump) - SET_FLOOR_NS <= width / 2 + c->last_width / 2 + allowed)
		jump = 0;
	c->has_last = true;
	c->last_realtime = realtime;
	c->last_value = value;
	c->last_width = width;
	if (!jump)
		return TL_OK;
	snprintf(message, sizeof(message),
		 "the wall clock was set %s by %.6f s while recording: times of sources that use "
		 "it do not fit together before and after",
		 jump < 0 ? "back" : "forward", (double)llabs(jump) / 1e9);
	return capture_emit_note(sink, TL_DIAGNOSTIC_NOTE, "the wall clock was set", line, message,
				 err);
}

static int read_anchor(struct clocks *c, struct capture_span rest, const struct tl_line *line,
		       struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK_ANCHOR, .has_ts = true };
	struct capture_span label = capture_word(&rest), name = capture_word(&rest);
	char clock[CLOCK_NAME_MAX];
	int ret;

	if (!label.length || !name.length || name.length >= sizeof(clock) ||
	    !capture_integer(capture_word(&rest), &ev.ts) ||
	    !capture_integer(capture_word(&rest), &ev.clock_anchor.value_ns) ||
	    !capture_integer(capture_word(&rest), &ev.clock_anchor.width_ns) ||
	    ev.clock_anchor.width_ns < 0 || capture_word(&rest).length) {
		tl_fail_line(err, TL_FORMAT, line->number,
			     "anchor of a clock: expected a label, a clock and three numbers");
		return TL_READ_SKIPPED;
	}
	tl_printable(clock, sizeof(clock), name.text, name.length);
	ev.clock_anchor.clock = clock;
	ret = sink->emit(sink, &ev, err);
	if (ret == TL_OK && capture_is(name, "monotonic"))
		ret = check_set(c, ev.ts, ev.clock_anchor.value_ns, ev.clock_anchor.width_ns,
				line->number, sink, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

/* The name that the process took then; perf's records of it are a measure of every mapping. */
static int read_marker(struct capture_span rest, const struct tl_line *line, struct tl_sink *sink,
		       struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_LOG, .has_ts = true };
	struct capture_span label = capture_word(&rest), name = capture_word(&rest);
	int64_t width;
	int ret;

	if (!label.length || !name.length || !capture_integer(capture_word(&rest), &ev.ts) ||
	    !capture_integer(capture_word(&rest), &width) || width < 0 ||
	    capture_word(&rest).length) {
		tl_fail_line(err, TL_FORMAT, line->number,
			     "marker: expected a label, a name and two numbers");
		return TL_READ_SKIPPED;
	}
	ev.log.level = "marker";
	ev.log.text = name.text;
	ev.log.text_length = name.length;
	ev.log.position = line->number;
	ret = sink->emit(sink, &ev, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

static int read_absent(struct capture_span rest, const struct tl_line *line, struct tl_sink *sink,
		       struct tl_error *err)
{
	struct capture_span name;
	char what[CLOCK_NAME_MAX + 32], clock[CLOCK_NAME_MAX], why[160];
	int ret;

	capture_word(&rest);
	name = capture_word(&rest);
	if (rest.length) { /* the blank between */
		rest.text++;
		rest.length--;
	}
	tl_printable(clock, sizeof(clock), name.text, name.length);
	tl_printable(why, sizeof(why), rest.text, rest.length);
	snprintf(what, sizeof(what), "no snapshots of %s", clock);
	ret = capture_emit_note(sink, TL_DIAGNOSTIC_NOTE, what, line->number, why, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

static int clocks_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct clocks *c = state;
	struct capture_span rest, kind;
	struct tl_line line;
	int ret = TL_OK;

	if (!c->has_begun)
		ret = capture_emit_realtime(sink, "the wall clock of the machine", err);
	c->has_begun = true;
	if (ret == TL_OK)
		ret = capture_line(c->in, &line, sink, err);
	if (ret <= 0)
		return ret < 0 ? ret : TL_READ_END;
	rest = (struct capture_span) { line.text, line.length };
	kind = capture_word(&rest);
	if (capture_is(kind, "anchor"))
		return read_anchor(c, rest, &line, sink, err);
	if (capture_is(kind, "marker"))
		return read_marker(rest, &line, sink, err);
	if (capture_is(kind, "absent"))
		return read_absent(rest, &line, sink, err);
	tl_fail_line(err, TL_FORMAT, line.number, "expected anchor, marker or absent");
	return TL_READ_SKIPPED;
}

const struct tl_importer capture_clocks_importer = {
	.name = "clocks",
	.summary = "snapshots of all clocks (traceloom-clocks)",
	.probe = clocks_probe,
	.open = clocks_open,
	.read = clocks_read,
	.close = clocks_close,
};
