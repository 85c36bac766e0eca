/*
 * event.c - names of events, and one line of text for each: stable, for golden files.
 */
#include "analysis.h"

#include <inttypes.h>
#include <string.h>

static const char *const kind_names[TL_EVENT_KIND_COUNT] = {
	[TL_EVENT_META] = "meta",
	[TL_EVENT_CLOCK] = "clock",
	[TL_EVENT_TYPE] = "type",
	[TL_EVENT_DSO] = "dso",
	[TL_EVENT_DSO_SYMBOLS] = "dso-symbols",
	[TL_EVENT_FORK] = "fork",
	[TL_EVENT_EXIT] = "exit",
	[TL_EVENT_COMM] = "comm",
	[TL_EVENT_MMAP] = "mmap",
	[TL_EVENT_KSYMBOL] = "ksymbol",
	[TL_EVENT_NAMESPACE] = "namespace",
	[TL_EVENT_CGROUP] = "cgroup",
	[TL_EVENT_SIDEBAND_END] = "sideband-end",
	[TL_EVENT_SAMPLE] = "sample",
	[TL_EVENT_SWITCH] = "switch",
	[TL_EVENT_WAKEUP] = "wakeup",
	[TL_EVENT_SYSCALL] = "syscall",
	[TL_EVENT_TRACK] = "track",
	[TL_EVENT_SLICE] = "slice",
	[TL_EVENT_FLOW] = "flow",
	[TL_EVENT_COUNTER] = "counter",
	[TL_EVENT_CALL_SUMMARY] = "call-summary",
	[TL_EVENT_STEP] = "step",
	[TL_EVENT_LOG] = "log",
	[TL_EVENT_CLOCK_ANCHOR] = "clock-anchor",
	[TL_EVENT_GAP] = "gap",
	[TL_EVENT_DIAGNOSTIC] = "diagnostic",
};

const char *tl_event_kind_name(enum tl_event_kind kind)
{
	return (unsigned)kind < TL_EVENT_KIND_COUNT ? kind_names[kind] : "unknown";
}

const char *tl_diagnostic_kind_name(enum tl_diagnostic_kind kind)
{
	switch (kind) {
	case TL_DIAGNOSTIC_LOST:
		return "lost";
	case TL_DIAGNOSTIC_DAMAGED:
		return "damaged";
	case TL_DIAGNOSTIC_TRUNCATED:
		return "truncated";
	case TL_DIAGNOSTIC_UNSUPPORTED:
		return "unsupported";
	case TL_DIAGNOSTIC_SKIPPED:
		return "skipped";
	case TL_DIAGNOSTIC_NOTE:
		return "note";
	}
	return "unknown";
}

const char *tl_clock_method_name(enum tl_clock_method method)
{
	switch (method) {
	case TL_CLOCK_EXACT:
		return "exact";
	case TL_CLOCK_ANCHORED:
		return "anchored";
	case TL_CLOCK_MATCHED:
		return "matched";
	case TL_CLOCK_TOLD:
		return "told";
	case TL_CLOCK_ASSUMED:
		return "assumed";
	}
	return "unknown";
}

const char *tl_switch_state_name(enum tl_switch_state state)
{
	switch (state) {
	case TL_SWITCH_UNKNOWN:
		return "unknown";
	case TL_SWITCH_RUNNABLE:
		return "runnable";
	case TL_SWITCH_SLEEPING:
		return "sleeping";
	case TL_SWITCH_UNINTERRUPTIBLE:
		return "uninterruptible";
	case TL_SWITCH_STOPPED:
		return "stopped";
	case TL_SWITCH_EXITING:
		return "exiting";
	case TL_SWITCH_PARKED:
		return "parked";
	case TL_SWITCH_IDLE:
		return "idle";
	}
	return "unknown";
}

static void print_quoted(FILE *out, const char *key, const char *text)
{
	char safe[512];

	if (!text)
		return;
	tl_printable(safe, sizeof(safe), text, strlen(text));
	fprintf(out, " %s=\"%s\"", key, safe);
}

static void print_build_id(FILE *out, const struct tl_build_id *id)
{
	if (!id->size)
		return;
	fputs(" build_id=", out);
	for (unsigned i = 0; i < id->size && i < TL_BUILD_ID_MAX; i++)
		fprintf(out, "%02x", id->data[i]);
}

static void print_task(FILE *out, const char *key, const struct tl_task *task)
{
	fprintf(out, " %s=", key);
	if (task->pid == TL_ID_NONE)
		fputs("?", out);
	else
		fprintf(out, "%" PRId32, task->pid);
	if (task->tid == TL_ID_NONE)
		fputs("/?", out);
	else
		fprintf(out, "/%" PRId32, task->tid);
}

static void print_frame(FILE *out, const struct tl_frame *frame, const struct tl_frame_text *text)
{
	static const char contexts[] = "?ukhgG"; /* enum tl_context */

	fprintf(out, " %c:%" PRIx64, contexts[frame->context % 6], frame->ip);
	if (!text)
		return;
	print_quoted(out, "symbol", text->symbol);
	print_quoted(out, "dso", text->dso);
	print_quoted(out, "line", text->source_line);
	if (text->is_inlined)
		fputs(" inlined", out);
}

static void print_sample(FILE *out, const struct tl_event_sample *s)
{
	fprintf(out, " type=%" PRIu32, s->type_index);
	print_task(out, "task", &s->task);
	if (s->real_tid != TL_ID_NONE)
		fprintf(out, " real_tid=%" PRId32, s->real_tid);
	print_quoted(out, "comm", s->comm);
	if (s->cpu >= 0)
		fprintf(out, " cpu=%" PRId32, s->cpu);
	fprintf(out, " period=%" PRIu64, s->period);
	if (s->has_ip)
		fprintf(out, " ip=%" PRIx64, s->ip);
	if (s->has_address)
		fprintf(out, " address=%" PRIx64, s->address);
	if (s->has_physical)
		fprintf(out, " physical=%" PRIx64, s->physical_address);
	if (s->has_data_source)
		fprintf(out, " data_source=%" PRIx64, s->data_source);
	if (s->has_weight)
		fprintf(out, " weight=%" PRIu64, s->weight);
	if (s->has_transaction)
		fprintf(out, " transaction=%" PRIx64, s->transaction);
	if (s->has_cgroup)
		fprintf(out, " cgroup=%" PRIu64, s->cgroup);
	if (s->has_data_page_size)
		fprintf(out, " data_page_size=%" PRIu64, s->data_page_size);
	if (s->has_code_page_size)
		fprintf(out, " code_page_size=%" PRIu64, s->code_page_size);
	if (s->user_stack)
		fprintf(out, " user_stack=%zu", s->user_stack->size);
	if (s->payload && s->payload->json)
		fprintf(out, " payload=%" PRIu64 ":%.*s", s->payload->key,
			(int)s->payload->json_length, s->payload->json);
	else if (s->payload)
		fprintf(out, " payload=%" PRIu64, s->payload->key);
	if (s->has_callchain)
		fprintf(out, " chain=%zu", s->frame_count);
	for (size_t i = 0; i < s->frame_count; i++)
		print_frame(out, &s->frames[i], s->texts ? &s->texts[i] : NULL);
}

static void print_mmap(FILE *out, const struct tl_event_mmap *m)
{
	print_task(out, "task", &m->task);
	fprintf(out, " start=%" PRIx64 " length=%" PRIx64 " offset=%" PRIx64 "%s%s", m->start,
		m->length, m->file_offset, m->is_exec ? " exec" : "",
		m->context == TL_CONTEXT_KERNEL ? " kernel" : "");
	print_quoted(out, "path", m->path);
	print_build_id(out, &m->build_id);
	if (m->has_inode)
		fprintf(out, " inode=%" PRIu64, m->inode);
	print_quoted(out, "reference", m->reference_symbol);
}

static void print_switch(FILE *out, const struct tl_event_switch *s)
{
	if (s->cpu >= 0)
		fprintf(out, " cpu=%" PRId32, s->cpu);
	if (s->has_prev) {
		print_task(out, "prev", &s->prev);
		fprintf(out, " state=%s", tl_switch_state_name(s->prev_state));
	}
	if (s->has_next)
		print_task(out, "next", &s->next);
	if (s->is_sampled)
		fputs(" sampled", out);
}

static void print_wakeup(FILE *out, const struct tl_event_wakeup *w)
{
	if (w->cpu >= 0)
		fprintf(out, " cpu=%" PRId32, w->cpu);
	print_task(out, "waker", &w->waker);
	fprintf(out, " wakee=%" PRId32, w->wakee_tid);
	if (w->target_cpu >= 0)
		fprintf(out, " target_cpu=%" PRId32, w->target_cpu);
	if (w->is_sampled)
		fputs(" sampled", out);
}

const char *tl_call_timing_name(enum tl_call_timing timing)
{
	switch (timing) {
	case TL_CALL_MEASURED:
		return "measured";
	case TL_CALL_DERIVED:
		return "derived";
	case TL_CALL_UNTIMED:
		return "untimed";
	}
	return "unknown";
}

const char *tl_call_outcome_name(enum tl_call_outcome outcome)
{
	switch (outcome) {
	case TL_CALL_RETURNED:
		return "returned";
	case TL_CALL_RESTARTED:
		return "restarted";
	case TL_CALL_NO_RETURN:
		return "no_return";
	case TL_CALL_KILLED:
		return "killed";
	case TL_CALL_OPEN:
		return "open";
	case TL_CALL_DETACHED:
		return "detached";
	case TL_CALL_UNAVAILABLE:
		return "unavailable";
	case TL_CALL_LOST:
		return "lost";
	}
	return "unknown";
}

static void print_text(FILE *out, const char *key, const char *text, size_t len)
{
	char safe[512];

	if (!text)
		return;
	tl_printable(safe, sizeof(safe), text, len);
	fprintf(out, " %s=\"%s\"", key, safe);
}

static void print_syscall(FILE *out, const struct tl_event_syscall *c)
{
	print_task(out, "task", &c->task);
	print_text(out, "name", c->name, c->name_length);
	fprintf(out, "%s %s %s", c->kind == TL_CALL_LIBRARY ? " library" : "",
		tl_call_timing_name(c->timing), tl_call_outcome_name(c->outcome));
	if (c->has_end)
		fputs(" end-only", out);
	if (c->duration_ns >= 0)
		fprintf(out, " duration=%" PRId64, c->duration_ns);
	if (c->has_result)
		fprintf(out, " result=%" PRId64, c->result);
	print_text(out, "error", c->error, c->error_length);
	print_text(out, "operation", c->operation, c->operation_length);
	if (c->has_fd)
		fprintf(out, " fd=%" PRId32, c->fd);
	print_text(out, "path", c->path, c->path_length);
	if (c->has_timeout)
		fprintf(out, " timeout=%" PRId64, c->timeout_ns);
	print_text(out, "arguments", c->arguments, c->arguments_length);
	fprintf(out, " length=%" PRIu64 " line=%" PRIu64, c->arguments_full_length, c->position);
	for (size_t i = 0; i < c->frame_count; i++)
		print_frame(out, &c->frames[i], c->texts ? &c->texts[i] : NULL);
}

const char *tl_track_kind_name(enum tl_track_kind kind)
{
	switch (kind) {
	case TL_TRACK_THREAD:
		return "thread";
	case TL_TRACK_DEVICE:
		return "device";
	case TL_TRACK_COUNTER:
		return "counter";
	case TL_TRACK_OTHER:
		return "other";
	case TL_TRACK_ASYNC:
		return "async";
	}
	return "unknown";
}

const char *tl_slice_class_name(enum tl_slice_class class_)
{
	switch (class_) {
	case TL_SLICE_OTHER:
		return "other";
	case TL_SLICE_OPERATOR:
		return "operator";
	case TL_SLICE_ANNOTATION:
		return "annotation";
	case TL_SLICE_RUNTIME:
		return "runtime";
	case TL_SLICE_KERNEL:
		return "kernel";
	case TL_SLICE_COMMUNICATION:
		return "communication";
	case TL_SLICE_MEMORY_COPY:
		return "memory_copy";
	case TL_SLICE_DEVICE_ANNOTATION:
		return "device_annotation";
	case TL_SLICE_SYNC:
		return "sync";
	case TL_SLICE_PYTHON:
		return "python";
	case TL_SLICE_OS_CALL:
		return "os_call";
	case TL_SLICE_OVERLAP:
		return "overlap";
	case TL_SLICE_OVERHEAD:
		return "overhead";
	case TL_SLICE_GARBAGE_COLLECTION:
		return "garbage_collection";
	}
	return "unknown";
}

static void print_track(FILE *out, const struct tl_event_track *t)
{
	fprintf(out, " index=%" PRIu32 " %s", t->index, tl_track_kind_name(t->kind));
	if (t->kind == TL_TRACK_THREAD)
		print_task(out, "task", &t->task);
	print_quoted(out, "name", t->name);
	print_quoted(out, "process", t->process);
	print_quoted(out, "pid", t->key_pid);
	print_quoted(out, "tid", t->key_tid);
	if (t->device >= 0)
		fprintf(out, " device=%" PRId32, t->device);
	if (t->stream >= 0)
		fprintf(out, " stream=%" PRId32, t->stream);
}

static void print_slice(FILE *out, const struct tl_event_slice *s)
{
	fprintf(out, " track=%" PRIu32 " %s%s%s", s->track, tl_slice_class_name(s->class_),
		s->is_instant ? " instant" : "", s->is_suspect ? " suspect" : "");
	if (s->duration_ns >= 0)
		fprintf(out, " duration=%" PRId64, s->duration_ns);
	print_text(out, "name", s->name, s->name_length);
	print_text(out, "category", s->category, s->category_length);
	if (s->has_correlation)
		fprintf(out, " correlation=%" PRId64, s->correlation);
	if (s->has_external_id)
		fprintf(out, " external_id=%" PRId64, s->external_id);
	if (s->has_bytes)
		fprintf(out, " bytes=%" PRId64, s->bytes);
	if (s->has_step)
		fprintf(out, " step=%" PRId64, s->step);
	if (s->stream >= 0)
		fprintf(out, " stream=%" PRId32, s->stream);
	print_text(out, "arguments", s->arguments, s->arguments_length);
}

static void print_diagnostic(FILE *out, const struct tl_event_diagnostic *d)
{
	fprintf(out, " %s count=%" PRIu64, tl_diagnostic_kind_name(d->kind), d->count);
	print_quoted(out, "what", d->what);
	print_quoted(out, "unit", d->unit);
	if (d->position_kind != TL_POSITION_NONE)
		fprintf(out, " %s=%" PRIu64, d->position_kind == TL_POSITION_BYTE ? "byte" : "line",
			d->position);
	print_quoted(out, "message", d->message);
}

static void print_type(FILE *out, const struct tl_event_type *t)
{
	fprintf(out, " index=%" PRIu32, t->index);
	print_quoted(out, "name", t->name);
	fprintf(out, " type=%" PRIu32 " config=%" PRIx64 " period=%" PRIu64 " freq=%" PRIu64,
		t->type, t->config, t->period, t->freq);
	print_quoted(out, "unit", t->unit);
	fprintf(out, "%s%s", t->is_tracepoint ? " tracepoint" : "", t->is_hidden ? " hidden" : "");
	print_quoted(out, "detail", t->detail);
}

void tl_event_print(FILE *out, const struct tl_event *ev)
{
	fputs(tl_event_kind_name(ev->kind), out);
	if (ev->has_ts)
		fprintf(out, " ts=%" PRId64, ev->ts);
	switch (ev->kind) {
	case TL_EVENT_META:
		print_quoted(out, "key", ev->meta.key);
		print_quoted(out, "value", ev->meta.value);
		break;
	case TL_EVENT_CLOCK:
		print_quoted(out, "name", ev->clock.name);
		fprintf(out, " method=%s offset=%" PRId64 " residual=%" PRId64,
			tl_clock_method_name(ev->clock.method), ev->clock.offset_ns,
			ev->clock.residual_ns);
		print_quoted(out, "why", ev->clock.why);
		break;
	case TL_EVENT_TYPE:
		print_type(out, &ev->type);
		break;
	case TL_EVENT_DSO:
		print_quoted(out, "path", ev->dso.path);
		print_build_id(out, &ev->dso.build_id);
		fprintf(out, " pid=%" PRId32, ev->dso.pid);
		break;
	case TL_EVENT_DSO_SYMBOLS:
		print_quoted(out, "path", ev->dso_symbols.path);
		fprintf(out, " symbols=%zu", ev->dso_symbols.symbol_count);
		break;
	case TL_EVENT_FORK:
		print_task(out, "child", &ev->fork.child);
		print_task(out, "parent", &ev->fork.parent);
		break;
	case TL_EVENT_EXIT:
		print_task(out, "task", &ev->exit.task);
		break;
	case TL_EVENT_COMM:
		print_task(out, "task", &ev->comm.task);
		print_quoted(out, "name", ev->comm.name);
		fputs(ev->comm.is_exec ? " exec" : "", out);
		fputs(ev->comm.is_hearsay ? " hearsay" : "", out);
		break;
	case TL_EVENT_MMAP:
		print_mmap(out, &ev->mmap);
		break;
	case TL_EVENT_KSYMBOL:
		print_quoted(out, "name", ev->ksymbol.name);
		fprintf(out, " address=%" PRIx64 " length=%" PRIx64 "%s%s", ev->ksymbol.address,
			ev->ksymbol.length, ev->ksymbol.is_removed ? " removed" : "",
			ev->ksymbol.is_bpf ? " bpf" : "");
		break;
	case TL_EVENT_NAMESPACE:
		print_task(out, "task", &ev->ns.task);
		if (ev->ns.inner_pid != TL_ID_NONE)
			fprintf(out, " inner_pid=%" PRId32, ev->ns.inner_pid);
		fprintf(out, " pid_namespace=%" PRIu64, ev->ns.pid_namespace_inode);
		break;
	case TL_EVENT_CGROUP:
		fprintf(out, " id=%" PRIu64, ev->cgroup.id);
		print_quoted(out, "path", ev->cgroup.path);
		break;
	case TL_EVENT_SIDEBAND_END:
		break;
	case TL_EVENT_SAMPLE:
		print_sample(out, &ev->sample);
		break;
	case TL_EVENT_SWITCH:
		print_switch(out, &ev->sched_switch);
		break;
	case TL_EVENT_WAKEUP:
		print_wakeup(out, &ev->wakeup);
		break;
	case TL_EVENT_SYSCALL:
		print_syscall(out, &ev->syscall);
		break;
	case TL_EVENT_TRACK:
		print_track(out, &ev->track);
		break;
	case TL_EVENT_SLICE:
		print_slice(out, &ev->slice);
		break;
	case TL_EVENT_FLOW:
		fprintf(out, " track=%" PRIu32 " %s id=%" PRIu64, ev->flow.track,
			ev->flow.phase == TL_FLOW_BEGIN	 ? "begin"
			: ev->flow.phase == TL_FLOW_STEP ? "step"
							 : "end",
			ev->flow.id);
		print_text(out, "category", ev->flow.category, ev->flow.category_length);
		break;
	case TL_EVENT_COUNTER:
		fprintf(out, " track=%" PRIu32 " value=%.17g", ev->counter.track,
			ev->counter.value);
		print_text(out, "name", ev->counter.name, ev->counter.name_length);
		print_quoted(out, "unit", ev->counter.unit);
		break;
	case TL_EVENT_CALL_SUMMARY:
		print_task(out, "task", &ev->call_summary.task);
		fprintf(out, " %s count=%" PRId64 " total=%" PRId64 " min=%" PRId64 " max=%" PRId64,
			ev->call_summary.kind == TL_CALL_SYSTEM ? "system" : "library",
			ev->call_summary.count, ev->call_summary.total_ns, ev->call_summary.min_ns,
			ev->call_summary.max_ns);
		print_text(out, "name", ev->call_summary.name, ev->call_summary.name_length);
		break;
	case TL_EVENT_STEP:
		fprintf(out, " number=%" PRId64 " rank=%" PRId32 " duration=%" PRId64,
			ev->step.number, ev->step.rank, ev->step.duration_ns);
		if (ev->step.count > 1)
			fprintf(out, " count=%" PRId64, ev->step.count);
		print_quoted(out, "detail", ev->step.detail);
		break;
	case TL_EVENT_LOG:
		print_quoted(out, "level", ev->log.level);
		print_text(out, "text", ev->log.text, ev->log.text_length);
		fprintf(out, " line=%" PRIu64, ev->log.position);
		break;
	case TL_EVENT_CLOCK_ANCHOR:
		print_quoted(out, "clock", ev->clock_anchor.clock);
		fprintf(out, " value=%" PRId64 " width=%" PRId64, ev->clock_anchor.value_ns,
			ev->clock_anchor.width_ns);
		break;
	case TL_EVENT_GAP:
		fprintf(out, " kind=%d cpu=%" PRId32 " type=%" PRId64 " count=%" PRIu64,
			(int)ev->gap.kind, ev->gap.cpu,
			ev->gap.type_index == UINT32_MAX ? -1 : (int64_t)ev->gap.type_index,
			ev->gap.count);
		break;
	case TL_EVENT_DIAGNOSTIC:
		print_diagnostic(out, &ev->diagnostic);
		break;
	case TL_EVENT_KIND_COUNT:
		break;
	}
}
