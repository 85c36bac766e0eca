/*
 * trace_clock.c - which Unix time the times of a trace are: absolute already, counted from a base
 * that may stand before or behind the events, or from a base that is not in the file.
 */
#include "trace_import.h"

#include <ctype.h>
#include <string.h>

#define UNIX_NS_MIN 1000000000000000000 /* 2001; what is less is no Unix time */
#define UNIX_NS_MAX 4102444800000000000 /* 2100 */
#define QUARTER_NS  7889238000000000	/* kineto: base = now rounded down to these */
#define DAY_NS	    86400000000000
#define RESIDUAL_NS 1000	 /* older traces have no more digits */
#define TAIL_SIZE   (256u << 10) /* the lists of messages behind the events are shorter */

/* The last `"key": number` of a text. */
static bool find_last_number(const char *text, size_t length, const char *key, int64_t unit_ns,
			     int64_t *value)
{
	size_t key_length = strlen(key);
	bool found = false;

	while (length > key_length) {
		const char *at = memmem(text, length, key, key_length), *p;
		size_t left;

		if (!at)
			break;
		p = at + key_length;
		left = length - (size_t)(p - text);
		while (left && (js_is_blank(*p) || *p == ':' || *p == '"')) {
			p++;
			left--;
		}
		if (left && tl_parse_time(p, left, unit_ns, value) > 0)
			found = true;
		length = left;
		text = p;
	}
	return found;
}

/* What stands at the end of a file that can be sought in. */
static int look_ahead(struct trace_import *t, bool *has_last, int64_t *last_ts,
		      struct tl_error *err)
{
	const uint8_t *data;
	uint64_t size, offset;
	size_t length;
	int ret;

	*has_last = false;
	if (!tl_input_is_seekable(t->in))
		return TL_OK;
	ret = tl_input_size(t->in, &size, err);
	if (ret < 0)
		return ret;
	offset = size > TAIL_SIZE ? size - TAIL_SIZE : 0;
	ret = tl_input_window(t->in, offset, TAIL_SIZE, &data, &length, err);
	if (ret < 0 || !length)
		return ret;
	if (find_last_number((const char *)data, length, "\"baseTimeNanoseconds\"", 1,
			     &t->clock.base_ns))
		t->clock.has_base = true;
	*has_last = find_last_number((const char *)data, length, "\"ts\"", 1000, last_ts);
	return TL_OK;
}

/* "worker.1694128201545.pt.trace.json": milliseconds in older, nanoseconds in newer names. */
static bool time_of_name(const char *path, int64_t *ns)
{
	const char *slash = strrchr(path, '/');

	for (const char *p = slash ? slash + 1 : path; *p;) {
		size_t digits = strspn(p, "0123456789");
		int64_t unit = digits == 13 ? 1000000 : digits == 16 ? 1000 : digits == 19 ? 1 : 0;

		if (unit && tl_parse_time(p, digits, unit, ns) == digits && *ns > UNIX_NS_MIN &&
		    *ns < UNIX_NS_MAX)
			return true;
		p += digits ? digits : 1;
	}
	return false;
}

static int emit(struct trace_import *t, enum tl_clock_method method, int64_t offset_ns,
		const char *why, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	ev.clock = (struct tl_event_clock) { .name = "trace",
					     .method = method,
					     .offset_ns = offset_ns,
					     .residual_ns =
						     method == TL_CLOCK_EXACT ? RESIDUAL_NS : -1,
					     .why = why };
	t->clock.is_told = true;
	t->clock.offset_ns = offset_ns;
	return sink->emit(sink, &ev, err);
}

/* The quarter of a year that brings `ts` next to `known`, which is Unix time; INT64_MIN if none does. */
static int64_t quarter_base(int64_t known, int64_t ts)
{
	int64_t quarters, base, distance;

	if (ts < 0 || ts > known)
		return INT64_MIN;
	quarters = (known - ts + QUARTER_NS / 2) / QUARTER_NS;
	base = quarters * QUARTER_NS;
	distance = base + ts - known;
	return distance < DAY_NS && distance > -DAY_NS ? base : INT64_MIN;
}

static int emit_guess(struct trace_import *t, int64_t ts, bool is_last, struct tl_sink *sink,
		      struct tl_error *err)
{
	int64_t known = tl_input_modified_ns(t->in), base = INT64_MIN, offset;
	bool has_name = time_of_name(tl_input_name(t->in), &known);

	t->clock.is_guess = true;
	if (known <= 0)
		return TL_OK;
	if (t->producer->has_quarter_base)
		base = quarter_base(known, ts);
	if (base != INT64_MIN)
		return emit(t, TL_CLOCK_ASSUMED, base,
			    has_name ? "no baseTimeNanoseconds: the multiple of 7889238 s that the "
				       "time in the file name suggests"
				     : "no baseTimeNanoseconds: the multiple of 7889238 s that the "
				       "file date suggests",
			    sink, err);
	if (__builtin_sub_overflow(known, ts, &offset))
		return TL_OK;
	if (is_last)
		return emit(t, TL_CLOCK_ASSUMED, offset,
			    has_name ? "time in the file name taken for the last event"
				     : "file date taken for the last event",
			    sink, err);
	return emit(t, TL_CLOCK_ASSUMED, offset,
		    has_name ? "time in the file name taken for the first event"
			     : "file date taken for the first event",
		    sink, err);
}

static int emit_base(struct trace_import *t, struct tl_sink *sink, struct tl_error *err)
{
	t->clock.is_guess = false;
	return emit(t, TL_CLOCK_EXACT, t->clock.base_ns, "baseTimeNanoseconds of the file", sink,
		    err);
}

int trace_clock_before(struct trace_import *t, int64_t ts, struct tl_sink *sink,
		       struct tl_error *err)
{
	struct trace_clock *c = &t->clock;
	bool has_last = false;
	int64_t last_ts = ts;
	int ret;

	if (c->has_times) {
		if (ts > c->last_ts)
			c->last_ts = ts;
		return TL_OK;
	}
	c->has_times = true;
	c->first_ts = c->last_ts = ts;
	if (ts >= UNIX_NS_MIN) {
		c->is_absolute = true;
		return emit(t, TL_CLOCK_EXACT, 0, "the times are Unix time", sink, err);
	}
	if (c->has_base)
		return emit_base(t, sink, err);
	ret = look_ahead(t, &has_last, &last_ts, err);
	if (ret < 0)
		return ret;
	if (c->has_base)
		return emit_base(t, sink, err);
	return emit_guess(t, has_last ? last_ts : ts, has_last, sink, err);
}

int trace_clock_finish(struct trace_import *t, struct tl_sink *sink, struct tl_error *err)
{
	struct trace_clock *c = &t->clock;

	if (!c->has_times || c->is_absolute)
		return TL_OK;
	if (c->has_base && (!c->is_told || c->is_guess || c->offset_ns != c->base_ns))
		return emit_base(t, sink, err);
	return TL_OK;
}
