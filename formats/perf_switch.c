/*
 * perf_switch.c - the second pass: records of context switches, and of times when records were lost.
 */
#include "perf_import.h"

static void set_time(const struct perf_import *p, uint64_t own_ns, struct tl_event *ev)
{
	uint64_t ns = p->record.trailer.time ? p->record.trailer.time : own_ns;

	ev->has_ts = perf_is_time(ns);
	ev->ts = ev->has_ts ? (int64_t)ns : 0;
}

static int32_t trailer_cpu(const struct perf_import *p, uint32_t event)
{
	const struct perf_attr *attr = p->events.count ? &p->events.list[event].attr : NULL;

	if (!attr || !(attr->flags & PERF_ATTR_SAMPLE_ID_ALL) ||
	    !(attr->sample_type & PERF_SAMPLE_CPU))
		return -1;
	return (int32_t)p->record.trailer.cpu;
}

static bool has_trailer_task(const struct perf_import *p, uint32_t event)
{
	const struct perf_attr *attr = p->events.count ? &p->events.list[event].attr : NULL;

	return attr && attr->flags & PERF_ATTR_SAMPLE_ID_ALL && attr->sample_type & PERF_SAMPLE_TID;
}

int perf_switch_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
		       struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_SWITCH };
	struct tl_event_switch *s = &ev.sched_switch;
	bool is_out = raw->misc & PERF_RECORD_MISC_SWITCH_OUT;
	bool is_wide = raw->type == PERF_RECORD_SWITCH_CPU_WIDE;
	struct tl_task self = { TL_ID_NONE, TL_ID_NONE }, other = { TL_ID_NONE, TL_ID_NONE };
	bool has_self;
	uint32_t event;
	int ret = perf_decode_into(p, raw, &event, err);

	if (ret < 0)
		return TL_READ_SKIPPED;
	if (!(p->opt.want & TL_WANT_SWITCHES))
		return TL_READ_MORE;
	set_time(p, 0, &ev);
	has_self = has_trailer_task(p, event);
	if (has_self) {
		self.pid = p->record.trailer.pid;
		self.tid = p->record.trailer.tid;
	}
	if (is_wide) {
		other.pid = p->record.other.pid;
		other.tid = p->record.other.tid;
	}
	s->cpu = trailer_cpu(p, event);
	s->is_arrival = !is_out;
	s->has_prev = is_out ? has_self : is_wide;
	s->has_next = is_out ? is_wide : has_self;
	s->prev = is_out ? self : other;
	s->next = is_out ? other : self;
	if (is_out && raw->misc & PERF_RECORD_MISC_SWITCH_PREEMPT)
		s->prev_state = TL_SWITCH_RUNNABLE;
	ret = sink->emit(sink, &ev, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

/* LOST: `event` owns the trailer, but the record itself names the event that found the loss. */
static int lost_record(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
		       struct tl_event *ev, struct tl_error *err)
{
	const struct perf_record *r = &p->record;
	bool is_samples = raw->type == PERF_RECORD_LOST_SAMPLES;
	bool is_filtered = is_samples && raw->misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF;
	int64_t type = perf_events_find(&p->events, is_samples ? r->trailer.id : r->lost.id);

	if (is_filtered)
		return perf_tally_add(p, PERF_TALLY_FILTERED, 0, r->lost.count, raw->offset, err);
	if (type < 0 && is_samples && p->events.count)
		type = event;
	ev->gap.kind = is_samples ? TL_GAP_LOST_SAMPLES : TL_GAP_LOST;
	ev->gap.type_index = type < 0 ? UINT32_MAX : (uint32_t)type;
	ev->gap.count = r->lost.count;
	if (!is_samples && p->is_lost_superseded) {
		ev->gap.count = 0; /* when is known from here, how many from LOST_SAMPLES */
		return TL_OK;
	}
	return perf_tally_add(p, PERF_TALLY_LOST, 0, ev->gap.count, raw->offset, err);
}

int perf_gap_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
		    struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_GAP };
	bool is_throttling =
		raw->type == PERF_RECORD_THROTTLE || raw->type == PERF_RECORD_UNTHROTTLE;
	uint32_t event;
	int ret = perf_decode_into(p, raw, &event, err);

	if (ret < 0)
		return TL_READ_SKIPPED;
	set_time(p, is_throttling ? p->record.throttle.time : 0, &ev);
	ev.gap.cpu = trailer_cpu(p, event);
	ev.gap.type_index = UINT32_MAX;
	if (is_throttling) {
		int64_t type = perf_events_find(&p->events, p->record.throttle.id);

		ev.gap.kind =
			raw->type == PERF_RECORD_THROTTLE ? TL_GAP_THROTTLE : TL_GAP_UNTHROTTLE;
		if (type >= 0)
			ev.gap.type_index = (uint32_t)type;
	} else {
		ret = lost_record(p, raw, event, &ev, err);
		if (ret < 0)
			return ret;
		if (raw->misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF &&
		    raw->type == PERF_RECORD_LOST_SAMPLES)
			return TL_READ_MORE;
	}
	ret = sink->emit(sink, &ev, err);
	return ret < 0 ? ret : TL_READ_MORE;
}
