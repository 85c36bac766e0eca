/*
 * perf_sample.c - the second pass: samples, switches and gaps become events, in the order of the file.
 */
#include "perf_import.h"

#include <string.h>

#define IP_COUNT_MAX (UINT16_MAX / 8) /* of one record */

/* ---- call chains ---- */

/*
 * Adds addresses to the frames; markers set the context of those behind them. The first one of each
 * context is where that context was left, not an address to return to. Stops at the marker that
 * says that the rest comes later.
 */
static size_t add_frames(struct perf_import *p, size_t count, const uint8_t *ips, uint64_t ip_count,
			 bool is_big_endian, enum tl_context context)
{
	uint8_t all_marked = p->facts.is_simpleperf ? TL_FRAME_ADJUSTED : 0;
	uint8_t mark = TL_FRAME_ADJUSTED;
	struct tl_frame *frames = p->frames;

	for (uint64_t i = 0; i < ip_count; i++) {
		uint64_t ip = perf_load_u64(ips + i * 8, is_big_endian);

		if (__builtin_expect(ip >= PERF_CONTEXT_MAX, 0)) {
			perf_context_of_marker(ip, &context);
			mark = TL_FRAME_ADJUSTED;
			if (ip == PERF_CONTEXT_USER_DEFERRED)
				break; /* a cookie follows, no address */
			if (context != TL_CONTEXT_UNKNOWN || ip == PERF_CONTEXT_GUEST)
				continue;
			/* a new kernel's marker, or garbage behind a bad frame pointer: kept */
		}
		frames[count].ip = ip;
		frames[count].context = (uint8_t)context;
		frames[count].is_marked = mark;
		count++;
		mark = all_marked;
	}
	return count;
}

/* The chain ends with a marker and a cookie: its user half comes later. */
static bool is_deferred(const struct perf_sample *s, bool is_big_endian, uint64_t *cookie)
{
	if (s->chain_count < 2)
		return false;
	*cookie = perf_load_u64(s->chain + (s->chain_count - 1) * 8, is_big_endian);
	return perf_load_u64(s->chain + (s->chain_count - 2) * 8, is_big_endian) ==
	       PERF_CONTEXT_USER_DEFERRED;
}

/* ---- one sample ---- */

static void set_optional_fields(const struct perf_attr *attr, const struct perf_sample *s,
				struct tl_event_sample *out)
{
	uint64_t type = attr->sample_type;

	out->has_address = type & PERF_SAMPLE_ADDR;
	out->address = s->address;
	out->has_physical = type & PERF_SAMPLE_PHYS_ADDR;
	out->physical_address = s->physical_address;
	out->has_data_source = type & PERF_SAMPLE_DATA_SRC;
	out->data_source = s->data_source;
	out->has_weight = type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT);
	out->weight = s->weight;
	out->has_cgroup = type & PERF_SAMPLE_CGROUP;
	out->cgroup = s->cgroup;
	out->has_transaction = type & PERF_SAMPLE_TRANSACTION;
	out->transaction = s->transaction;
	out->has_data_page_size = type & PERF_SAMPLE_DATA_PAGE_SIZE;
	out->data_page_size = s->data_page_size;
	out->has_code_page_size = type & PERF_SAMPLE_CODE_PAGE_SIZE;
	out->code_page_size = s->code_page_size;
}

static const struct tl_user_stack *user_stack(struct perf_import *p, const struct perf_raw *raw,
					      const struct perf_attr *attr,
					      const struct perf_sample *s,
					      struct tl_user_stack *out)
{
	int count = __builtin_popcountll(attr->sample_regs_user);

	if (!s->user_regs || !s->stack_size)
		return NULL;
	for (int i = 0; i < count; i++)
		p->registers[i] = perf_load_u64(s->user_regs + 8 * i, raw->is_big_endian);
	out->abi = (uint32_t)s->user_abi;
	out->mask = attr->sample_regs_user;
	out->regs = p->registers;
	out->bytes = s->stack;
	out->size = s->stack_size;
	out->is_big_endian = raw->is_big_endian;
	return out;
}

static int count_unkept(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
			struct tl_error *err)
{
	const struct perf_sample *s = &p->sample;
	bool has_registers = s->intr_abi || (s->user_regs && !s->stack_size);
	bool has_raw = s->raw_size && !p->uses[event].is_tracepoint;
	int ret = TL_OK;

	if (s->branch_count)
		ret = perf_tally_add(p, PERF_TALLY_BRANCH_STACK, 0, 1, raw->offset, err);
	if (ret == TL_OK && has_registers)
		ret = perf_tally_add(p, PERF_TALLY_REGISTERS, 0, 1, raw->offset, err);
	if (ret == TL_OK && s->aux_size)
		ret = perf_tally_add(p, PERF_TALLY_AUX_SAMPLE, 0, 1, raw->offset, err);
	if (ret == TL_OK && has_raw)
		ret = perf_tally_add(p, PERF_TALLY_RAW, 0, 1, raw->offset, err);
	if (ret == TL_OK && s->has_more_weights)
		ret = perf_tally_add(p, PERF_TALLY_WEIGHTS, 0, 1, raw->offset, err);
	return ret;
}

/* ---- counters read with the sample ---- */

/*
 * A sample that carries counters stands for one of each: how far it got since the sample before is
 * its period. Those that did not move have no sample.
 */
static int emit_members(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
			struct tl_event *ev, struct tl_sink *sink, struct tl_error *err)
{
	const struct perf_attr *attr = &p->events.list[event].attr;
	uint64_t format = attr->read_format;
	size_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	size_t id_at = format & PERF_FORMAT_GROUP ? 1 : 1 + times;
	size_t stride = id_at + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	int32_t tid = attr->flags & PERF_ATTR_INHERIT ? p->sample.tid : 0;
	struct tl_payload told;
	bool is_emitted = false;

	for (uint64_t i = 0; i < p->sample.read_count; i++) {
		const uint8_t *value = p->sample.read_values + i * stride * 8;
		uint64_t delta, id = p->sample.id;
		int64_t member = event;
		bool went_back;
		int ret;

		if (format & PERF_FORMAT_ID) {
			id = perf_load_u64(value + id_at * 8, raw->is_big_endian);
			member = perf_events_find(&p->events, id);
		}
		if (member < 0) {
			ret = perf_tally_add(p, PERF_TALLY_UNKNOWN_ID, 0, 1, raw->offset, err);
			if (ret < 0)
				return ret;
			continue;
		}
		ret = perf_counter_delta(&p->counters, id, tid,
					 perf_load_u64(value, raw->is_big_endian), &delta,
					 &went_back, err);
		if (ret == TL_OK && went_back)
			ret = perf_tally_add(p, PERF_TALLY_COUNTER_BACK, 0, 1, raw->offset, err);
		ev->sample.type_index = (uint32_t)member;
		ev->sample.period = delta;
		if (ret == TL_OK && delta) {
			ret = sink->emit(sink, ev, err);
			is_emitted = true;
			if (ev->sample.payload) { /* its text is given once */
				told = *ev->sample.payload;
				told.json = NULL;
				ev->sample.payload = &told;
			}
		}
		if (ret < 0)
			return ret;
	}
	if (is_emitted || !ev->sample.payload || !ev->sample.payload->json)
		return TL_OK;
	ev->sample.type_index = event; /* or it would never be given */
	ev->sample.period = 0;
	return sink->emit(sink, ev, err);
}

/* Members of a group can be told apart only by their ids. */
static bool stands_for_members(const struct perf_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_READ &&
	       (attr->read_format & PERF_FORMAT_ID || !(attr->read_format & PERF_FORMAT_GROUP));
}

/* ---- tracepoints ---- */

static bool wants_decoding(const struct perf_import *p, uint32_t event)
{
	const struct perf_event_use *use = &p->uses[event];

	if (!use->is_tracepoint || !p->sample.raw_size)
		return false;
	if (p->opt.want & TL_WANT_PAYLOADS || p->sample.tid == -1)
		return true;
	return p->opt.want & TL_WANT_SWITCHES &&
	       (!use->is_decoded || use->what != PERF_TRACEPOINT_OTHER);
}

static int32_t pid_if(const struct tl_task *task, int32_t tid)
{
	return task->tid == tid ? task->pid : TL_ID_NONE;
}

static int emit_scheduling(struct perf_import *p, uint32_t event, const struct tl_event *sample,
			   const struct perf_tracepoint_hit *hit, struct tl_sink *sink,
			   struct tl_error *err)
{
	const struct tl_task *task = &sample->sample.task;
	struct tl_event ev = { .has_ts = sample->has_ts, .ts = sample->ts };
	bool has_sample = p->opt.want & TL_WANT_SAMPLES;
	int ret;

	if (hit->what == PERF_TRACEPOINT_SWITCH) {
		struct tl_event_switch *s = &ev.sched_switch;

		ev.kind = TL_EVENT_SWITCH;
		s->cpu = sample->sample.cpu;
		s->has_prev = hit->prev_pid != TL_ID_NONE;
		s->has_next = hit->next_pid != TL_ID_NONE;
		s->prev.tid = hit->prev_pid;
		s->prev.pid = pid_if(task, hit->prev_pid);
		s->next.tid = hit->next_pid;
		s->next.pid = TL_ID_NONE;
		s->prev_state = hit->prev_state;
		s->is_sampled = p->uses[event].is_sampled;
		s->has_sample = has_sample;
		ret = perf_hearsay_emit(&p->hearsay, sample, s->prev, hit->prev_name, sink, err);
		if (ret == TL_OK)
			ret = perf_hearsay_emit(&p->hearsay, sample, s->next, hit->next_name, sink,
						err);
	} else {
		struct tl_event_wakeup *w = &ev.wakeup;

		ev.kind = TL_EVENT_WAKEUP;
		w->cpu = sample->sample.cpu;
		w->target_cpu = hit->target_cpu;
		w->waker = *task;
		if (sample->sample.real_tid != TL_ID_NONE) {
			w->waker.tid = sample->sample.real_tid;
			w->waker.pid = TL_ID_NONE;
		}
		w->wakee_tid = hit->wakee_pid;
		w->is_sampled = p->uses[event].is_sampled;
		w->is_waking = hit->what == PERF_TRACEPOINT_WAKING;
		w->has_sample = has_sample;
		ret = perf_hearsay_emit(&p->hearsay, sample,
					(struct tl_task) { TL_ID_NONE, w->wakee_tid },
					hit->wakee_name, sink, err);
	}
	return ret < 0 ? ret : sink->emit(sink, &ev, err);
}

static int decode_tracepoint(struct perf_import *p, uint32_t event, struct tl_event *ev,
			     struct perf_tracepoint_hit *hit, struct tl_error *err)
{
	bool want_json = p->opt.want & TL_WANT_PAYLOADS && p->opt.want & TL_WANT_SAMPLES;
	int ret = perf_tracepoint_decode(p->tracepoints, p->events.list[event].attr.config,
					 p->sample.raw, p->sample.raw_size, want_json, hit, err);

	if (ret < 0)
		return ret;
	p->uses[event].is_decoded = true;
	p->uses[event].what = hit->what;
	if (want_json)
		ev->sample.payload = &hit->payload;
	if (ev->sample.task.tid == -1)
		ev->sample.real_tid =
			hit->what == PERF_TRACEPOINT_SWITCH ? hit->prev_pid : hit->common_pid;
	return TL_OK;
}

/* ---- the whole ---- */

/* Everything but what needs decoding of a payload. */
static void set_sample(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
		       struct tl_event *ev)
{
	const struct perf_attr *attr = &p->events.list[event].attr;
	const struct perf_sample *s = &p->sample;
	struct tl_event_sample *out = &ev->sample;
	uint64_t type = attr->sample_type;

	memset(out, 0, sizeof(*out));
	ev->kind = TL_EVENT_SAMPLE;
	ev->has_ts = perf_is_time(s->time);
	ev->ts = ev->has_ts ? (int64_t)s->time : 0;
	out->type_index = event;
	out->task.pid = type & PERF_SAMPLE_TID ? s->pid : TL_ID_NONE;
	out->task.tid = type & PERF_SAMPLE_TID ? s->tid : TL_ID_NONE;
	out->real_tid = TL_ID_NONE;
	out->cpu = type & PERF_SAMPLE_CPU ? (int32_t)s->cpu : -1;
	out->period = s->period;
	out->context = perf_context_of_misc(raw->misc);
	out->has_ip = type & PERF_SAMPLE_IP;
	out->ip = s->ip;
	set_optional_fields(attr, s, out);
	out->has_callchain = type & PERF_SAMPLE_CALLCHAIN;
	out->frames = p->frames;
	out->frame_count =
		add_frames(p, 0, s->chain, s->chain_count, raw->is_big_endian, out->context);
}

/* p->sample is decoded; `user_ips` may be NULL. */
static int deliver(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
		   const uint8_t *user_ips, uint64_t user_count, struct tl_sink *sink,
		   struct tl_error *err)
{
	const struct perf_attr *attr = &p->events.list[event].attr;
	struct perf_tracepoint_hit hit = { .what = PERF_TRACEPOINT_OTHER };
	struct tl_user_stack stack;
	struct tl_event ev;
	int ret = TL_OK;

	set_sample(p, raw, event, &ev);
	if (user_ips)
		ev.sample.frame_count = add_frames(p, ev.sample.frame_count, user_ips, user_count,
						   raw->is_big_endian, TL_CONTEXT_USER);
	ev.sample.user_stack = user_stack(p, raw, attr, &p->sample, &stack);
	if (wants_decoding(p, event))
		ret = decode_tracepoint(p, event, &ev, &hit, err);
	if (ret == TL_OK && p->opt.want & TL_WANT_SAMPLES)
		ret = stands_for_members(attr) ? emit_members(p, raw, event, &ev, sink, err)
					       : sink->emit(sink, &ev, err);
	if (ret == TL_OK && hit.what != PERF_TRACEPOINT_OTHER && p->opt.want & TL_WANT_SWITCHES)
		ret = emit_scheduling(p, event, &ev, &hit, sink, err);
	return ret;
}

int perf_sample_deliver(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
			const uint8_t *user_ips, uint64_t user_count, struct tl_sink *sink,
			struct tl_error *err)
{
	int ret = perf_sample_decode(raw, &p->events.list[event].attr, &p->sample, err);

	return ret < 0 ? ret : deliver(p, raw, event, user_ips, user_count, sink, err);
}

/* What is true of a sample whatever becomes of it. */
static int count_sample(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
			bool is_unknown, struct tl_error *err)
{
	const uint64_t unkept = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
				PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_AUX | PERF_SAMPLE_RAW |
				PERF_SAMPLE_WEIGHT_STRUCT;
	int ret = TL_OK;

	if (is_unknown)
		ret = perf_tally_add(p, PERF_TALLY_UNKNOWN_ID, 0, 1, raw->offset, err);
	if (ret == TL_OK && p->events.list[event].attr.sample_type & unkept)
		ret = count_unkept(p, raw, event, err);
	if (ret == TL_OK && p->uses[event].is_sampled)
		ret = perf_tally_add(p, PERF_TALLY_SAMPLED, event, 1, raw->offset, err);
	/* unknown bits were told with the event */
	if (ret == TL_OK && p->sample.unread_size &&
	    !(p->events.list[event].attr.sample_type & ~(uint64_t)PERF_SAMPLE_KNOWN))
		ret = perf_tally_add(p, PERF_TALLY_UNREAD, 0, 1, raw->offset, err);
	return ret;
}

int perf_sample_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
		       struct tl_error *err)
{
	bool is_unknown;
	uint64_t cookie;
	uint32_t event;
	int ret;

	if (!p->events.count) {
		ret = perf_tally_add(p, PERF_TALLY_NO_EVENT, 0, 1, raw->offset, err);
		return ret < 0 ? ret : TL_READ_MORE;
	}
	event = perf_events_of_sample(&p->events, raw, &is_unknown);
	ret = perf_sample_decode(raw, &p->events.list[event].attr, &p->sample, err);
	if (ret < 0)
		return TL_READ_SKIPPED;
	p->sample_count++;
	ret = count_sample(p, raw, event, is_unknown, err);
	if (ret < 0)
		return ret;
	if (p->has_deferred && is_deferred(&p->sample, raw->is_big_endian, &cookie))
		ret = perf_deferred_hold(p, raw, event, p->sample.tid, cookie, sink, err);
	else
		ret = deliver(p, raw, event, NULL, 0, sink, err);
	return ret < 0 ? ret : TL_READ_MORE;
}
