/*
 * perf_sideband.c - the first pass: every record that is not a sample becomes an event of what was
 * where and when, or a fact about the recording, or is counted.
 */
#include "perf_import.h"

#include <stdlib.h>
#include <string.h>

int perf_decode_into(struct perf_import *p, const struct perf_raw *raw, uint32_t *event,
		     struct tl_error *err)
{
	const struct perf_attr *attr = NULL;

	*event = 0;
	if (p->events.count) {
		*event = perf_events_of_record(&p->events, raw);
		attr = &p->events.list[*event].attr;
	}
	return perf_record_decode(raw, attr, &p->record, err);
}

/*
 * Recorders before 2.6.38 wrote times into samples only: what else happened, happened where it
 * stands in the file, behind the sample before it.
 */
static bool has_no_trailer(const struct perf_import *p, uint32_t event)
{
	return p->events.count && !(p->events.list[event].attr.flags & PERF_ATTR_SAMPLE_ID_ALL);
}

static void set_time(struct perf_import *p, const struct perf_raw *raw, uint32_t event,
		     struct tl_event *ev)
{
	uint64_t ns = p->record.trailer.time;

	if (!ns && (raw->type == PERF_RECORD_FORK || raw->type == PERF_RECORD_EXIT))
		ns = p->record.task.time;
	if (perf_is_time(ns))
		perf_note_time(p, ns);
	else if (has_no_trailer(p, event) && p->previous_ns)
		ns = p->previous_ns + 1;
	ev->has_ts = perf_is_time(ns);
	ev->ts = ev->has_ts ? (int64_t)ns : 0;
}

/* ---- records to events ---- */

static void set_mmap(struct perf_import *p, const struct perf_raw *raw, struct tl_event *ev)
{
	const uint32_t prot_exec = 4;
	const struct perf_record *r = &p->record;
	struct tl_event_mmap *m = &ev->mmap;
	const char *path = r->mmap.path, *bracket;

	ev->kind = TL_EVENT_MMAP;
	m->task.pid = r->mmap.pid;
	m->task.tid = r->mmap.tid;
	m->context = perf_context_of_misc(raw->misc);
	if (r->mmap.pid == -1 && m->context != TL_CONTEXT_GUEST_KERNEL)
		m->context = TL_CONTEXT_KERNEL;
	m->start = r->mmap.start;
	m->length = r->mmap.length;
	m->file_offset = r->mmap.file_offset;
	m->is_exec = !(raw->misc & PERF_RECORD_MISC_MMAP_DATA);
	if (r->mmap.protection && m->context == TL_CONTEXT_USER &&
	    !(r->mmap.protection & prot_exec))
		m->is_exec = false;
	if (p->facts.is_simpleperf)
		m->is_exec = true; /* chains hold places in interpreted code, mapped as data */
	if (r->mmap.protection & PERF_AUX_PROT_JIT_SYMFILE_MAP) {
		/* symbols lie at absolute addresses: the offset given is that of simpleperf's copy */
		m->file_offset = m->start;
	}
	m->path = path;
	m->build_id = r->mmap.build_id;
	m->has_inode = r->mmap.has_inode;
	m->major = r->mmap.major;
	m->minor = r->mmap.minor;
	m->inode = r->mmap.inode;
	m->inode_generation = r->mmap.inode_generation;
	/* "[kernel.kallsyms]_text": the offset is the address of _text */
	bracket = strchr(path, ']');
	if ((m->context == TL_CONTEXT_KERNEL || m->context == TL_CONTEXT_GUEST_KERNEL) &&
	    strstr(path, "kernel.kallsyms") && bracket && bracket[1])
		m->reference_symbol = bracket + 1;
}

static void set_task(const struct perf_raw *raw, const struct perf_record *r, struct tl_event *ev)
{
	if (raw->type == PERF_RECORD_FORK) {
		ev->kind = TL_EVENT_FORK;
		ev->fork.child.pid = r->task.pid;
		ev->fork.child.tid = r->task.tid;
		ev->fork.parent.pid = r->task.parent_pid;
		ev->fork.parent.tid = r->task.parent_tid;
	} else {
		ev->kind = TL_EVENT_EXIT;
		ev->exit.task.pid = r->task.pid;
		ev->exit.task.tid = r->task.tid;
	}
}

static void set_event(struct perf_import *p, const struct perf_raw *raw, struct tl_event *ev)
{
	const struct perf_record *r = &p->record;

	switch (raw->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		set_mmap(p, raw, ev);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		set_task(raw, r, ev);
		break;
	case PERF_RECORD_COMM:
		ev->kind = TL_EVENT_COMM;
		ev->comm.task.pid = r->comm.pid;
		ev->comm.task.tid = r->comm.tid;
		ev->comm.name = r->comm.name;
		ev->comm.is_exec = raw->misc & PERF_RECORD_MISC_COMM_EXEC;
		break;
	case PERF_RECORD_KSYMBOL:
		ev->kind = TL_EVENT_KSYMBOL;
		ev->ksymbol.address = r->ksymbol.address;
		ev->ksymbol.length = r->ksymbol.length;
		ev->ksymbol.name = r->ksymbol.name;
		ev->ksymbol.is_removed = r->ksymbol.flags & PERF_RECORD_KSYMBOL_UNREGISTER;
		ev->ksymbol.is_bpf = r->ksymbol.type == PERF_RECORD_KSYMBOL_TYPE_BPF;
		break;
	case PERF_RECORD_NAMESPACES:
		ev->kind = TL_EVENT_NAMESPACE;
		ev->ns.task.pid = r->namespaces.pid;
		ev->ns.task.tid = r->namespaces.tid;
		ev->ns.inner_pid = TL_ID_NONE;
		ev->ns.pid_namespace_inode = r->namespaces.pid_inode;
		break;
	case PERF_RECORD_CGROUP:
		ev->kind = TL_EVENT_CGROUP;
		ev->cgroup.id = r->cgroup.id;
		ev->cgroup.path = r->cgroup.path;
		break;
	}
}

static int sideband_event(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
			  struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_COMM };
	uint32_t event;
	int ret = perf_decode_into(p, raw, &event, err);

	if (ret < 0)
		return TL_READ_SKIPPED;
	set_time(p, raw, event, &ev);
	set_event(p, raw, &ev);
	if (ev.kind == TL_EVENT_MMAP && p->record.mmap.has_odd_build_id)
		ret = perf_tally_add(p, PERF_TALLY_ODD_BUILD_ID, 0, 1, raw->offset, err);
	if (ret == TL_OK && ev.kind == TL_EVENT_COMM)
		ret = perf_hearsay_announce(&p->hearsay, ev.comm.task.tid, err);
	if (ret == TL_OK && ev.kind == TL_EVENT_FORK)
		ret = perf_hearsay_fork(&p->hearsay, ev.fork.child.tid, ev.fork.parent.tid, err);
	if (ret == TL_OK)
		ret = sink->emit(sink, &ev, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

/* ---- records that tell what a header tells ---- */

static int header_attr(struct perf_import *p, struct tl_cursor *c, struct tl_error *err)
{
	struct perf_attr attr;
	int ret;

	if (!p->header.is_pipe && p->events.count)
		return TL_OK; /* the header of the file has them */
	perf_attr_decode(c, &attr);
	ret = tl_cursor_check(c, "HEADER_ATTR", err);
	if (ret == TL_OK)
		ret = perf_events_add(&p->events, &attr, err);
	while (ret == TL_OK && tl_cursor_left(c) >= 8)
		ret = perf_events_add_id(&p->events, tl_get_u64(c), (uint32_t)p->events.count - 1,
					 err);
	if (ret == TL_OK && tl_cursor_left(c))
		return tl_fail_at(err, TL_FORMAT, c->base + c->position,
				  "HEADER_ATTR ends with %zu bytes, expected ids of 8 bytes each",
				  tl_cursor_left(c));
	return ret;
}

static int header_feature(struct perf_import *p, struct tl_cursor *c, struct tl_error *err)
{
	uint64_t feature = tl_get_u64(c);
	struct tl_cursor content = tl_cursor_sub(c, tl_cursor_left(c));
	int ret = tl_cursor_check(c, "HEADER_FEATURE", err);

	if (ret < 0)
		return ret;
	if (feature >= PERF_FEATURE_MAX)
		return tl_fail_at(err, TL_UNSUPPORTED, c->base,
				  "HEADER_FEATURE of feature %llu, expected less than %d",
				  (unsigned long long)feature, PERF_FEATURE_MAX);
	return perf_feature_decode(&p->facts, (unsigned)feature, &content, err);
}

/* In a pipe the formats follow the record; simpleperf has them inside. */
static int header_tracing_data(struct perf_import *p, const struct perf_raw *raw,
			       struct tl_cursor *c, struct tl_sink *sink, struct tl_error *err)
{
	const size_t limit = 64u << 20; /* old recorders put all of kallsyms in */
	struct perf_section payload = { raw->payload_offset, raw->payload_size };
	uint32_t size = tl_get_u32(c);
	uint8_t *data = NULL;
	size_t len = 0;
	int ret;

	if (!payload.size) {
		size_t left = tl_cursor_left(c);

		if (size < left)
			left = size;
		if (!left)
			return TL_OK;
		return perf_tracing_data(p, tl_get_bytes(c, left), left, raw->offset, sink, err);
	}
	ret = perf_section_read(p->stream.in, payload, limit, &data, &len, err);
	p->stream.window = NULL; /* reading has moved it */
	if (ret == TL_OK)
		ret = perf_tracing_data(p, data, len < size ? len : size, payload.offset, sink,
					err);
	free(data);
	return ret;
}

/* simpleperf tells the ids of events that it opened late: u64 count, {u64 event, u64 id}. */
static int event_ids(struct perf_import *p, struct tl_cursor *c, struct tl_error *err)
{
	uint64_t count = tl_get_u64(c), unknown_count = 0, unknown = 0, unknown_at = 0;
	int ret = TL_OK;

	for (uint64_t i = 0; ret == TL_OK && i < count && !c->failed; i++) {
		uint64_t position = c->base + c->position;
		uint64_t event = tl_get_u64(c), id = tl_get_u64(c);

		if (c->failed)
			break;
		if (event < p->events.count) {
			ret = perf_events_add_id(&p->events, id, (uint32_t)event, err);
		} else if (!unknown_count++) {
			unknown = event;
			unknown_at = position;
		}
	}
	if (ret < 0)
		return ret;
	if (unknown_count && !c->failed)
		return tl_fail_at(err, TL_FORMAT, unknown_at,
				  "simpleperf EVENT_ID names event %llu, expected one of %zu: %llu "
				  "ids are not used",
				  (unsigned long long)unknown, p->events.count,
				  (unsigned long long)unknown_count);
	return tl_cursor_check(c, "simpleperf EVENT_ID", err);
}

static int header_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
			 struct tl_error *err)
{
	struct tl_cursor c;
	int ret = TL_OK;

	tl_cursor_init(&c, raw->body, raw->body_size, raw->offset + PERF_RECORD_HEADER_SIZE,
		       raw->is_big_endian);
	switch (raw->type) {
	case PERF_RECORD_HEADER_ATTR:
		ret = header_attr(p, &c, err);
		break;
	case PERF_RECORD_HEADER_EVENT_TYPE:
		ret = perf_event_type_decode(&p->facts, &c, err);
		break;
	case PERF_RECORD_HEADER_TRACING_DATA:
	case SIMPLE_PERF_RECORD_TRACING_DATA:
		ret = header_tracing_data(p, raw, &c, sink, err);
		break;
	case SIMPLE_PERF_RECORD_EVENT_ID:
		ret = event_ids(p, &c, err);
		break;
	case PERF_RECORD_HEADER_BUILD_ID:
		ret = perf_build_id_decode(&p->facts, &c, raw->misc, true, err);
		break;
	case PERF_RECORD_EVENT_UPDATE:
		ret = perf_event_update_decode(&p->facts, &c, err);
		break;
	case PERF_RECORD_HEADER_FEATURE:
		ret = header_feature(p, &c, err);
		break;
	}
	if (ret == TL_FORMAT || ret == TL_UNSUPPORTED)
		return TL_READ_SKIPPED;
	return ret < 0 ? ret : TL_READ_MORE;
}

/* ---- records that are only counted ---- */

/* What was recorded: one entry of pid -1 for all CPUs, or the processes that were attached to. */
static int thread_map(struct perf_import *p, const struct perf_raw *raw, struct tl_error *err)
{
	struct tl_cursor c;
	uint64_t count;
	bool is_all;
	int ret;

	tl_cursor_init(&c, raw->body, raw->body_size, raw->offset, raw->is_big_endian);
	count = tl_get_u64(&c);
	is_all = tl_get_u64(&c) == UINT64_MAX;
	if (raw->body_size >= sizeof(count) && !count)
		return TL_READ_MORE;
	if (tl_cursor_check(&c, "THREAD_MAP", err) < 0)
		return TL_READ_SKIPPED;
	ret = perf_facts_meta(&p->facts, "target", is_all ? "all_cpus" : "tasks", is_all ? 8 : 5,
			      err);
	return ret < 0 ? ret : TL_READ_MORE;
}

static int hardware_trace(struct perf_import *p, const struct perf_raw *raw, struct tl_error *err)
{
	struct tl_cursor c;

	if (raw->type == PERF_RECORD_AUXTRACE)
		return perf_tally_add(p, PERF_TALLY_HARDWARE_TRACE, 0, raw->payload_size,
				      raw->offset, err);
	tl_cursor_init(&c, raw->body, raw->body_size, raw->offset, raw->is_big_endian);
	p->aux_kind = tl_get_u32(&c);
	return TL_OK;
}

/*
 * Recorders since 6.1 read how much each event lost when they end, besides the LOST records that
 * the kernel wrote into the buffers: the same losses, told twice.
 */
static int note_lost(struct perf_import *p, const struct perf_raw *raw, struct tl_error *err)
{
	uint32_t event;

	if (raw->type != PERF_RECORD_LOST_SAMPLES || !p->events.count)
		return TL_OK;
	if (perf_decode_into(p, raw, &event, err) < 0) {
		tl_error_clear(err); /* the second pass will say it */
		return TL_OK;
	}
	if (p->events.list[event].attr.read_format & PERF_FORMAT_LOST &&
	    !(raw->misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF))
		p->is_lost_superseded = true;
	return TL_OK;
}

static int counted(int ret)
{
	return ret < 0 ? ret : TL_READ_MORE;
}

int perf_sideband_record(struct perf_import *p, const struct perf_raw *raw, struct tl_sink *sink,
			 struct tl_error *err)
{
	if (raw->type >= SIMPLE_PERF_RECORD_KERNEL_SYMBOL && raw->type <= SIMPLE_PERF_RECORD_MAX)
		p->facts.is_simpleperf = true;
	switch (raw->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_CGROUP:
		return sideband_event(p, raw, sink, err);
	case PERF_RECORD_HEADER_ATTR:
	case PERF_RECORD_HEADER_EVENT_TYPE:
	case PERF_RECORD_HEADER_TRACING_DATA:
	case PERF_RECORD_HEADER_BUILD_ID:
	case PERF_RECORD_EVENT_UPDATE:
	case PERF_RECORD_HEADER_FEATURE:
	case SIMPLE_PERF_RECORD_TRACING_DATA:
	case SIMPLE_PERF_RECORD_EVENT_ID:
		return header_record(p, raw, sink, err);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return counted(note_lost(p, raw, err));
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		p->has_deferred = true;
		return TL_READ_MORE;
	case PERF_RECORD_THREAD_MAP:
		return thread_map(p, raw, err);
	case PERF_RECORD_AUXTRACE_INFO:
	case PERF_RECORD_AUXTRACE:
		return counted(hardware_trace(p, raw, err));
	case PERF_RECORD_THROTTLE: /* the second pass has them, in the order of the samples */
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return TL_READ_MORE;
	case PERF_RECORD_FINISHED_ROUND: /* book-keeping of the recorder, no data */
	case PERF_RECORD_ID_INDEX:
	case PERF_RECORD_CPU_MAP:
	case PERF_RECORD_TIME_CONV:
	case PERF_RECORD_FINISHED_INIT:
		return TL_READ_MORE;
	}
	return counted(perf_tally_add(p, PERF_TALLY_RECORD_TYPE, raw->type, 1, raw->offset, err));
}
