/*
 * perf_script_record.c - "PERF_RECORD_..." lines of --show-task-events, --show-mmap-events,
 * --show-switch-events and their like, to events. Text goes into the caller's scratch.
 */
#include <stdlib.h>
#include <string.h>

#include "perf_script.h"
#include "reader.h"

/* A reader of one line: every function returns false and moves no further once something failed. */
struct record_text {
	const char *at, *end;
	struct tl_text *scratch;
};

static bool take(struct record_text *r, const char *word)
{
	size_t len = strlen(word);

	while (r->at < r->end && *r->at == ' ' && *word != ' ')
		r->at++;
	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

static bool take_i32(struct record_text *r, int32_t *value)
{
	bool is_negative = take(r, "-");
	uint64_t n;

	while (r->at < r->end && *r->at == ' ')
		r->at++;
	size_t used = tl_parse_u64(r->at, r->end - r->at, 10, &n);
	r->at += used;
	*value = is_negative ? -(int32_t)n : (int32_t)n;
	return used > 0 && n <= INT32_MAX;
}

static bool take_number(struct record_text *r, unsigned base, uint64_t *value)
{
	while (r->at < r->end && *r->at == ' ')
		r->at++;
	if (r->end - r->at > 2 && r->at[0] == '0' && r->at[1] == 'x') {
		base = 16;
		r->at += 2;
	}
	size_t used = tl_parse_u64(r->at, r->end - r->at, base, value);
	r->at += used;
	return used > 0;
}

/* The rest of the line, terminated, in scratch. */
static const char *take_rest(struct record_text *r)
{
	while (r->at < r->end && *r->at == ' ')
		r->at++;
	while (r->end > r->at && r->end[-1] == ' ')
		r->end--;
	r->scratch->length = 0;
	tl_text_add(r->scratch, r->at, r->end - r->at);
	r->at = r->end;
	return r->scratch->failed ? "" : r->scratch->data;
}

/* "exec: load:2953/2953", ": worker 0:2953/2955" */
static bool read_comm(struct record_text *r, struct tl_event *out)
{
	struct record_text task = *r;
	const char *colon;

	out->kind = TL_EVENT_COMM;
	out->comm.is_exec = take(r, "exec");
	if (!take(r, ":"))
		return false;
	if (r->at < r->end && *r->at == ' ')
		r->at++;
	colon = r->at < r->end ? memrchr(r->at, ':', r->end - r->at) : NULL;
	if (colon == NULL)
		return false;
	task.at = colon + 1;
	if (!take_i32(&task, &out->comm.task.pid) || !take(&task, "/") ||
	    !take_i32(&task, &out->comm.task.tid))
		return false;
	r->scratch->length = 0;
	tl_text_add(r->scratch, r->at, colon - r->at);
	out->comm.name = r->scratch->failed ? "" : r->scratch->data;
	return true;
}

static bool read_task(struct record_text *r, const char *open, const char *between,
		      struct tl_task *task)
{
	return take(r, open) && take_i32(r, &task->pid) && take(r, between) &&
	       take_i32(r, &task->tid);
}

/* "(2953:2955):(2953:2953)" */
static bool read_fork(struct record_text *r, struct tl_event *out)
{
	out->kind = TL_EVENT_FORK;
	return read_task(r, "(", ":", &out->fork.child) && take(r, ")") && take(r, ":") &&
	       read_task(r, "(", ":", &out->fork.parent) && take(r, ")");
}

static bool read_exit(struct record_text *r, struct tl_event *out)
{
	out->kind = TL_EVENT_EXIT;
	return read_task(r, "(", ":", &out->exit.task) && take(r, ")");
}

/* " maj:min ino generation", or a build-id in angle brackets or bare */
static bool read_identity(struct record_text *r, struct tl_event_mmap *m)
{
	struct record_text saved = *r;
	uint64_t major, minor;

	if (take_number(r, 16, &major) && take(r, ":") && take_number(r, 16, &minor) &&
	    take_number(r, 10, &m->inode) && take_number(r, 10, &m->inode_generation)) {
		m->major = (uint32_t)major;
		m->minor = (uint32_t)minor;
		m->has_inode = true;
		return true;
	}
	*r = saved;
	take(r, "<");
	while (r->at < r->end && *r->at == ' ')
		r->at++;
	for (uint64_t byte; m->build_id.size < TL_BUILD_ID_MAX && r->end - r->at >= 2 &&
			    tl_parse_u64(r->at, 2, 16, &byte) == 2;
	     r->at += 2)
		m->build_id.data[m->build_id.size++] = (uint8_t)byte;
	take(r, ">");
	return m->build_id.size > 0;
}

/* "2953/2953: [0x558cfaf92000(0x4000) @ 0x2000 fe:00 9978003 1609456438]: r-xp /tmp/load" */
static bool read_mmap(struct record_text *r, bool is_2, struct tl_event *out)
{
	struct tl_event_mmap *m = &out->mmap;

	out->kind = TL_EVENT_MMAP;
	if (!read_task(r, "", "/", &m->task) || !take(r, ":") || !take(r, "[") ||
	    !take_number(r, 16, &m->start) || !take(r, "(") || !take_number(r, 16, &m->length) ||
	    !take(r, ")") || !take(r, "@") || !take_number(r, 16, &m->file_offset))
		return false;
	if (is_2 && !read_identity(r, m))
		return false;
	if (!take(r, "]") || !take(r, ":"))
		return false;
	while (r->at < r->end && *r->at == ' ')
		r->at++;
	const char *blank = memchr(r->at, ' ', r->end - r->at);
	if (blank == NULL)
		return false;
	m->is_exec = memchr(r->at, 'x', blank - r->at) != NULL;
	r->at = blank;
	m->context = m->task.pid == -1 ? TL_CONTEXT_KERNEL : TL_CONTEXT_USER;
	m->path = take_rest(r);
	return true;
}

/* "OUT", "OUT preempt", "IN"; of a CPU-wide one also "IN  prev pid/tid: 1/1". */
static bool read_switch(struct record_text *r, const struct perf_script_sample_line *line,
			struct tl_event *out)
{
	struct tl_event_switch *s = &out->sched_switch;
	struct tl_task task = { line->pid, line->tid }, other = { TL_ID_NONE, TL_ID_NONE };
	bool is_out = take(r, "OUT");

	if (!is_out && !take(r, "IN"))
		return false;
	out->kind = TL_EVENT_SWITCH;
	s->cpu = line->cpu;
	s->prev_state = is_out && take(r, "preempt") ? TL_SWITCH_RUNNABLE : TL_SWITCH_UNKNOWN;
	bool has_other = take(r, is_out ? "next" : "prev") && take(r, "pid/tid:") &&
			 read_task(r, "", "/", &other);
	s->is_arrival = !is_out;
	s->has_prev = is_out || has_other;
	s->has_next = !is_out || has_other;
	s->prev = is_out ? task : other;
	s->next = is_out ? other : task;
	return true;
}

static bool read_lost(struct record_text *r, enum tl_gap_kind kind, int32_t cpu,
		      struct tl_event *out)
{
	out->kind = TL_EVENT_GAP;
	out->gap.kind = kind;
	out->gap.cpu = cpu;
	out->gap.type_index = UINT32_MAX;
	return take(r, "lost") && take_number(r, 10, &out->gap.count);
}

/* "addr ffffffffc04fa2e0 len 2048 type 1 flags 0x0 name bpf_prog_..." */
static bool read_ksymbol(struct record_text *r, struct tl_event *out)
{
	uint64_t type, flags;

	out->kind = TL_EVENT_KSYMBOL;
	if (!take(r, "addr") || !take_number(r, 16, &out->ksymbol.address) || !take(r, "len") ||
	    !take_number(r, 10, &out->ksymbol.length) || !take(r, "type") ||
	    !take_number(r, 10, &type) || !take(r, "flags") || !take_number(r, 16, &flags) ||
	    !take(r, "name"))
		return false;
	out->ksymbol.is_bpf = type == 1;
	out->ksymbol.is_removed = flags & 1;
	out->ksymbol.name = take_rest(r);
	return true;
}

/* "cgroup: 1 /path" */
static bool read_cgroup(struct record_text *r, struct tl_event *out)
{
	out->kind = TL_EVENT_CGROUP;
	if (!take(r, "cgroup:") || !take_number(r, 10, &out->cgroup.id))
		return false;
	out->cgroup.path = take_rest(r);
	return true;
}

bool perf_script_record(const struct perf_script_sample_line *line, struct tl_text *scratch,
			struct tl_event *out)
{
	struct record_text r = { line->event.text, line->event.text + line->event.length, scratch };

	*out = (struct tl_event) { .has_ts = line->has_ts && line->ts != 0, .ts = line->ts };
	if (take(&r, "PERF_RECORD_COMM"))
		return read_comm(&r, out);
	if (take(&r, "PERF_RECORD_FORK"))
		return read_fork(&r, out);
	if (take(&r, "PERF_RECORD_EXIT"))
		return read_exit(&r, out);
	if (take(&r, "PERF_RECORD_MMAP2 "))
		return read_mmap(&r, true, out);
	if (take(&r, "PERF_RECORD_MMAP "))
		return read_mmap(&r, false, out);
	if (take(&r, "PERF_RECORD_SWITCH_CPU_WIDE ") || take(&r, "PERF_RECORD_SWITCH "))
		return read_switch(&r, line, out);
	if (take(&r, "PERF_RECORD_LOST_SAMPLES "))
		return read_lost(&r, TL_GAP_LOST_SAMPLES, line->cpu, out);
	if (take(&r, "PERF_RECORD_LOST "))
		return read_lost(&r, TL_GAP_LOST, line->cpu, out);
	if (take(&r, "PERF_RECORD_KSYMBOL "))
		return read_ksymbol(&r, out);
	if (take(&r, "PERF_RECORD_CGROUP "))
		return read_cgroup(&r, out);
	return false;
}
