/*
 * csv_ascend.c - tables that the Ascend profilers write beside their traces: the split of each step,
 * the kernels, calls traced by preloading, and summaries, which no timeline can be made of.
 *
 * Columns are found by name: they differ between levels and versions of the profiler.
 */
#include "csv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "reader.h"

#define MICROSECOND_NS 1000

static bool has_columns(const struct csv_record *names, const char *const *wanted)
{
	for (; *wanted; wanted++)
		if (csv_column(names, *wanted) < 0)
			return false;
	return true;
}

static const struct csv_field *field_of(const struct csv_record *values, int column)
{
	const struct csv_field *field =
		column >= 0 && (size_t)column < values->count ? &values->fields[column] : NULL;

	return field && !csv_is_missing(field) ? field : NULL;
}

static int fail_field(const struct csv_table *t, const struct csv_field *field, const char *what,
		      struct tl_error *err)
{
	char shown[64] = "";

	if (field)
		tl_printable(shown, sizeof(shown), field->text,
			     field->length < 60 ? field->length : 60);
	tl_fail_line(err, TL_FORMAT, t->line, "'%s' is no %s", shown, what);
	return TL_READ_SKIPPED;
}

static int emit_exact_clock(struct csv_table *t, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	if (!t->events)
		return TL_OK;
	ev.clock.name = "realtime";
	ev.clock.method = TL_CLOCK_EXACT;
	ev.clock.why = "Unix time in the table";
	return sink->emit(sink, &ev, err);
}

static void release(struct csv_table *t)
{
	free(t->state);
}

/* ---- step_trace_time.csv -------------------------------------------------------------------- */

enum { DEVICES = 256 };

struct step_trace {
	int step, device, computing, communication, free_;
	bool used[CSV_FIELDS_MAX];
	bool is_device_rank;
	/* rows without a number, of each device; more devices than these share counters */
	int64_t counted[DEVICES];
	uint64_t without_number, first_without;
};

static bool is_step_trace(const struct csv_record *names)
{
	return has_columns(names,
			   (const char *const[]) { "Step", "Computing",
						   "Communication(Not Overlapped)", "Free", NULL });
}

static int begin_step_trace(struct csv_table *t, struct tl_error *err)
{
	struct step_trace *s = t->state ? t->state : tl_alloc(1, sizeof(*s), err);

	t->state = s;
	if (!s)
		return TL_NOMEM;
	s->step = csv_column(&t->names, "Step");
	s->device = csv_column(&t->names, "Device_id");
	s->computing = csv_column(&t->names, "Computing");
	s->communication = csv_column(&t->names, "Communication(Not Overlapped)");
	s->free_ = csv_column(&t->names, "Free");
	s->used[s->step] = true;
	return TL_OK;
}

/* Computing, communication that nothing hides, and what is free are the whole step. */
static bool step_length(const struct step_trace *s, const struct csv_record *values, int64_t *ns)
{
	const int parts[] = { s->computing, s->communication, s->free_ };

	*ns = 0;
	for (size_t i = 0; i < 3; i++) {
		const struct csv_field *field = field_of(values, parts[i]);
		int64_t part;

		if (!field || !csv_time(field, MICROSECOND_NS, &part) ||
		    __builtin_add_overflow(*ns, part, ns))
			return false;
	}
	return *ns >= 0;
}

/* As every split of a step is kept: see struct tl_event_step. */
static void add_parts(struct csv_table *t, const struct csv_record *values)
{
	static const struct {
		const char *column, *key;
	} parts[] = {
		{ "Computing", "computing_ns" },
		{ "Communication", "communication_ns" },
		{ "Communication(Not Overlapped)", "exposed_ns" },
		{ "Free", "free_ns" },
		{ "Stage", "stage_ns" },
		{ "Preparing", "preparing_ns" },
	};

	if (t->detail.length < 2)
		return;
	t->detail.length--; /* the closing brace comes back */
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct csv_field *field =
			field_of(values, csv_column(&t->names, parts[i].column));
		int64_t ns;

		if (field && csv_time(field, MICROSECOND_NS, &ns))
			tl_text_printf(&t->detail, ",\"%s\":%lld", parts[i].key, (long long)ns);
	}
	tl_text_puts(&t->detail, "}");
}

/* The parts stay as they are written too, in microseconds: step_mark.detail -> '$.Computing'. */
static int step_trace_row(struct csv_table *t, const struct csv_record *values,
			  struct tl_sink *sink, struct tl_error *err)
{
	struct step_trace *s = t->state;
	struct tl_event ev = { .kind = TL_EVENT_STEP };
	const struct csv_field *number = field_of(values, s->step);
	const struct csv_field *device = field_of(values, s->device);
	int64_t device_id;

	if (number && !csv_integer(number, &ev.step.number))
		return fail_field(t, number, "step number", err);
	ev.step.rank = t->opt->has_rank ? t->opt->rank : -1;
	if (!device || !csv_integer(device, &device_id) || device_id > INT32_MAX)
		device_id = -1;
	if (!t->opt->has_rank && device_id >= 0) {
		ev.step.rank = (int32_t)device_id;
		s->is_device_rank = true;
	}
	if (!step_length(s, values, &ev.step.duration_ns))
		return fail_field(t, field_of(values, s->computing), "split of a step", err);
	/* without a schedule there is one row for all that was recorded; several are steps in order */
	if (!number) {
		ev.step.number = s->counted[(uint64_t)device_id % DEVICES]++;
		if (!s->without_number++)
			s->first_without = t->line;
	}
	csv_detail(&t->detail, &t->names, values, s->used);
	add_parts(t, values);
	if (t->detail.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ev.step.detail = t->detail.length ? t->detail.data : NULL;
	return csv_emit(t, sink, &ev, err);
}

static int emit_without_number(const struct step_trace *s, struct tl_sink *sink,
			       struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic.kind = TL_DIAGNOSTIC_NOTE;
	ev.diagnostic.what = "rows without a step number: counted from 0, device by device";
	ev.diagnostic.count = s->without_number;
	ev.diagnostic.unit = "rows";
	ev.diagnostic.position_kind = TL_POSITION_LINE;
	ev.diagnostic.position = s->first_without;
	return sink->emit(sink, &ev, err);
}

static int end_step_trace(struct csv_table *t, struct tl_sink *sink, struct tl_error *err)
{
	const struct step_trace *s = t->state;
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };
	int ret = s->without_number > 1 ? emit_without_number(s, sink, err) : TL_OK;

	if (ret < 0 || !s->is_device_rank)
		return ret;
	ev.diagnostic.kind = TL_DIAGNOSTIC_NOTE;
	ev.diagnostic.what = "device ids taken for ranks; --rank tells another";
	ev.diagnostic.count = t->events;
	ev.diagnostic.unit = "steps";
	return sink->emit(sink, &ev, err);
}

const struct csv_kind csv_step_trace = {
	.what = "the split of steps of an Ascend profile",
	.is_header = is_step_trace,
	.begin = begin_step_trace,
	.row = step_trace_row,
	.end = end_step_trace,
	.release = release,
};

/* ---- kernel_details.csv ---------------------------------------------------------------------- */

struct stream {
	int64_t device, stream;
};

struct kernels {
	int name, type, core, device, stream, start, duration;
	bool used[CSV_FIELDS_MAX];
	struct stream *streams; /* by number of track */
	size_t stream_count, stream_capacity;
	struct tl_index index;
};

static bool is_kernels(const struct csv_record *names)
{
	return has_columns(names, (const char *const[]) { "Name", "Start Time(us)", "Duration(us)",
							  NULL }) &&
	       (csv_column(names, "Accelerator Core") >= 0 || csv_column(names, "Task ID") >= 0 ||
		csv_column(names, "Type") >= 0);
}

static int begin_kernels(struct csv_table *t, struct tl_error *err)
{
	struct kernels *k = t->state ? t->state : tl_alloc(1, sizeof(*k), err);

	t->state = k;
	if (!k)
		return TL_NOMEM;
	k->name = csv_column(&t->names, "Name");
	k->type = csv_column(&t->names, "Type");
	k->core = csv_column(&t->names, "Accelerator Core");
	k->device = csv_column(&t->names, "Device_id");
	k->stream = csv_column(&t->names, "Stream ID");
	k->start = csv_column(&t->names, "Start Time(us)");
	k->duration = csv_column(&t->names, "Duration(us)");
	memset(k->used, 0, sizeof(k->used));
	k->used[k->name] = k->used[k->start] = k->used[k->duration] = true;
	return TL_OK;
}

static int stream_track(struct csv_table *t, struct kernels *k, int64_t device, int64_t stream,
			struct tl_sink *sink, uint32_t *track, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_TRACK };
	uint64_t hash = tl_hash_u64((uint64_t)device, (uint64_t)stream);
	char name[48], key_pid[24], key_tid[24];
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&k->index, hash, &probe)) >= 0) {
		if (k->streams[found].device == device && k->streams[found].stream == stream) {
			*track = (uint32_t)found;
			return TL_OK;
		}
	}
	if (tl_grow(&k->streams, &k->stream_capacity, k->stream_count + 1, err) < 0 ||
	    tl_index_add(&k->index, hash, (uint32_t)k->stream_count, err) < 0)
		return TL_NOMEM;
	k->streams[k->stream_count] = (struct stream) { device, stream };
	*track = (uint32_t)k->stream_count++;
	if (stream >= 0)
		snprintf(name, sizeof(name), "stream %lld", (long long)stream);
	snprintf(key_pid, sizeof(key_pid), "%lld", (long long)device);
	snprintf(key_tid, sizeof(key_tid), "%lld", (long long)stream);
	ev.track.index = *track;
	ev.track.kind = TL_TRACK_DEVICE;
	ev.track.task.pid = ev.track.task.tid = TL_ID_NONE;
	ev.track.name = stream >= 0 ? name : NULL;
	ev.track.process = "Ascend Hardware";
	ev.track.key_pid = device >= 0 ? key_pid : NULL;
	ev.track.key_tid = stream >= 0 ? key_tid : NULL;
	ev.track.device = device >= 0 && device <= INT32_MAX ? (int32_t)device : -1;
	ev.track.stream = stream >= 0 && stream <= INT32_MAX ? (int32_t)stream : -1;
	return csv_emit(t, sink, &ev, err);
}

static bool starts_with(const struct csv_field *field, const char *word)
{
	size_t n = strlen(word);

	return field && field->length >= n && !strncasecmp(field->text, word, n);
}

static enum tl_slice_class class_of(const struct csv_field *name, const struct csv_field *type,
				    const struct csv_field *core)
{
	if (starts_with(core, "HCCL") || starts_with(core, "COMMUNICATION") ||
	    starts_with(name, "hcom_") || starts_with(type, "hcom_"))
		return TL_SLICE_COMMUNICATION;
	return TL_SLICE_KERNEL;
}

static int kernel_row(struct csv_table *t, const struct csv_record *values, struct tl_sink *sink,
		      struct tl_error *err)
{
	struct kernels *k = t->state;
	struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true };
	const struct csv_field *name = field_of(values, k->name);
	const struct csv_field *core = field_of(values, k->core);
	const struct csv_field *start = field_of(values, k->start);
	const struct csv_field *duration = field_of(values, k->duration);
	const struct csv_field *device = field_of(values, k->device);
	const struct csv_field *stream = field_of(values, k->stream);
	int64_t device_id = -1, stream_id = -1;
	int ret;

	if (!start || !csv_time(start, MICROSECOND_NS, &ev.ts))
		return fail_field(t, start, "start of a kernel", err);
	ev.slice.duration_ns = -1;
	if (duration && !csv_time(duration, MICROSECOND_NS, &ev.slice.duration_ns))
		return fail_field(t, duration, "duration of a kernel", err);
	if (device && !csv_integer(device, &device_id))
		return fail_field(t, device, "device", err);
	if (stream && !csv_integer(stream, &stream_id))
		return fail_field(t, stream, "stream", err);
	ret = stream_track(t, k, device_id, stream_id, sink, &ev.slice.track, err);
	if (ret < 0)
		return ret;
	if (duration && ev.slice.duration_ns < 0) {
		ev.slice.duration_ns = -1;
		ev.slice.is_suspect = true;
	}
	csv_detail(&t->detail, &t->names, values, k->used);
	if (t->detail.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ev.slice.class_ = class_of(name, field_of(values, k->type), core);
	ev.slice.name = name ? name->text : "";
	ev.slice.name_length = name ? name->length : 0;
	ev.slice.category = core ? core->text : NULL;
	ev.slice.category_length = core ? core->length : 0;
	ev.slice.stream = stream_id <= INT32_MAX ? (int32_t)stream_id : -1;
	ev.slice.arguments = t->detail.length ? t->detail.data : NULL;
	ev.slice.arguments_length = t->detail.length;
	return csv_emit(t, sink, &ev, err);
}

static void release_kernels(struct csv_table *t)
{
	struct kernels *k = t->state;

	if (!k)
		return;
	tl_index_release(&k->index);
	free(k->streams);
	free(k);
}

const struct csv_kind csv_kernels = {
	.what = "the kernels of an Ascend profile",
	.is_header = is_kernels,
	.begin = begin_kernels,
	.row = kernel_row,
	.end = emit_exact_clock,
	.release = release_kernels,
};

/* ---- msosrt_trace_*.csv ----------------------------------------------------------------------- */

struct calls {
	int pid, tid, name, start, duration;
};

static bool is_calls(const struct csv_record *names)
{
	return has_columns(names, (const char *const[]) { "Pid", "Tid", "Function", "StartTime(ns)",
							  "Duration(ns)", NULL });
}

static int begin_calls(struct csv_table *t, struct tl_error *err)
{
	struct calls *c = t->state ? t->state : tl_alloc(1, sizeof(*c), err);

	t->state = c;
	if (!c)
		return TL_NOMEM;
	c->pid = csv_column(&t->names, "Pid");
	c->tid = csv_column(&t->names, "Tid");
	c->name = csv_column(&t->names, "Function");
	c->start = csv_column(&t->names, "StartTime(ns)");
	c->duration = csv_column(&t->names, "Duration(ns)");
	return TL_OK;
}

bool csv_is_system_call(const struct csv_field *name)
{
	static const char *const names[] = {
		"accept",
		"accept4",
		"access",
		"bind",
		"brk",
		"chdir",
		"chmod",
		"chown",
		"clock_nanosleep",
		"clone",
		"close",
		"connect",
		"copy_file_range",
		"dup",
		"dup2",
		"dup3",
		"epoll_create",
		"epoll_create1",
		"epoll_ctl",
		"epoll_pwait",
		"epoll_wait",
		"eventfd",
		"execve",
		"fallocate",
		"fcntl",
		"fdatasync",
		"flock",
		"fork",
		"fstat",
		"fsync",
		"ftruncate",
		"futex",
		"getdents",
		"getdents64",
		"inotify_add_watch",
		"ioctl",
		"kill",
		"link",
		"listen",
		"lseek",
		"lstat",
		"madvise",
		"mkdir",
		"mlock",
		"mlockall",
		"mmap",
		"mmap64",
		"mount",
		"mprotect",
		"mremap",
		"msgctl",
		"msgget",
		"msgrcv",
		"msgsnd",
		"msync",
		"munlock",
		"munlockall",
		"munmap",
		"nanosleep",
		"open",
		"open64",
		"openat",
		"openat64",
		"pause",
		"pipe",
		"pipe2",
		"poll",
		"ppoll",
		"prctl",
		"pread",
		"pread64",
		"preadv",
		"pselect",
		"pwrite",
		"pwrite64",
		"pwritev",
		"read",
		"readahead",
		"readv",
		"recv",
		"recvfrom",
		"recvmmsg",
		"recvmsg",
		"rename",
		"rmdir",
		"sched_setaffinity",
		"sched_yield",
		"select",
		"semctl",
		"semget",
		"semop",
		"semtimedop",
		"send",
		"sendfile",
		"sendmmsg",
		"sendmsg",
		"sendto",
		"shmat",
		"shmctl",
		"shmdt",
		"shmget",
		"shutdown",
		"socket",
		"socketpair",
		"splice",
		"stat",
		"symlink",
		"sync",
		"sync_file_range",
		"syncfs",
		"syscall",
		"tee",
		"timerfd_create",
		"truncate",
		"umount",
		"unlink",
		"vfork",
		"vmsplice",
		"wait4",
		"waitid",
		"waitpid",
		"write",
		"writev",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == name->length && !memcmp(names[i], name->text, name->length))
			return true;
	return false;
}

static bool task_id(const struct csv_field *field, int32_t *id)
{
	int64_t value;

	if (!field || !csv_integer(field, &value) || value > INT32_MAX)
		return false;
	*id = (int32_t)value;
	return true;
}

static int call_row(struct csv_table *t, const struct csv_record *values, struct tl_sink *sink,
		    struct tl_error *err)
{
	const struct calls *c = t->state;
	struct tl_event ev = { .kind = TL_EVENT_SYSCALL, .has_ts = true };
	const struct csv_field *name = field_of(values, c->name);
	const struct csv_field *start = field_of(values, c->start);
	const struct csv_field *duration = field_of(values, c->duration);

	if (!name)
		return fail_field(t, name, "function", err);
	if (!task_id(field_of(values, c->pid), &ev.syscall.task.pid) ||
	    !task_id(field_of(values, c->tid), &ev.syscall.task.tid))
		return fail_field(t, field_of(values, c->tid), "thread", err);
	if (!start || !csv_time(start, 1, &ev.ts))
		return fail_field(t, start, "start of a call", err);
	if (!duration || !csv_time(duration, 1, &ev.syscall.duration_ns) ||
	    ev.syscall.duration_ns < 0)
		return fail_field(t, duration, "duration of a call", err);
	ev.syscall.kind = csv_is_system_call(name) ? TL_CALL_SYSTEM : TL_CALL_LIBRARY;
	ev.syscall.timing = TL_CALL_MEASURED;
	ev.syscall.outcome = TL_CALL_RETURNED;
	ev.syscall.name = name->text;
	ev.syscall.name_length = name->length;
	ev.syscall.position = t->line;
	return csv_emit(t, sink, &ev, err);
}

/* What is shorter than the tool's threshold is not in the table. */
static int end_calls(struct csv_table *t, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };
	int ret = emit_exact_clock(t, sink, err);

	if (ret < 0 || !t->events)
		return ret;
	ev.diagnostic.kind = TL_DIAGNOSTIC_NOTE;
	ev.diagnostic.what = "only calls above the recorder's threshold are in such a table (10 ms "
			     "unless told otherwise): counts and sums are of these alone";
	ev.diagnostic.count = t->events;
	ev.diagnostic.unit = "calls";
	return sink->emit(sink, &ev, err);
}

const struct csv_kind csv_calls = {
	.what = "calls traced by preloading",
	.is_header = is_calls,
	.begin = begin_calls,
	.row = call_row,
	.end = end_calls,
	.release = release,
};

/* ---- summaries ------------------------------------------------------------------------------ */

static bool is_call_summary(const struct csv_record *names)
{
	return has_columns(names, (const char *const[]) { "Process ID", "Thread ID", "Name",
							  "Time(us)", "Count", NULL });
}

static bool is_api_summary(const struct csv_record *names)
{
	return has_columns(names, (const char *const[]) { "API Name", "Time(us)", "Count", NULL });
}

static bool is_operator_summary(const struct csv_record *names)
{
	return has_columns(names,
			   (const char *const[]) { "OP Type", "Count", "Total Time(us)", NULL }) ||
	       has_columns(names, (const char *const[]) { "Name", "Host Self Duration(us)",
							  "Host Total Duration(us)", NULL });
}

static const char sums_tell_no_times[] =
	"sums over the whole recording have no place on a timeline; import trace_view.json, "
	"msprof_*.json or the .db beside it";

struct sums {
	int pid, tid, name, total, count, min, max;
};

static int begin_sums(struct csv_table *t, struct tl_error *err)
{
	struct sums *s = t->state ? t->state : tl_alloc(1, sizeof(*s), err);

	t->state = s;
	if (!s)
		return TL_NOMEM;
	s->pid = csv_column(&t->names, "Process ID");
	s->tid = csv_column(&t->names, "Thread ID");
	s->name = csv_column(&t->names, "Name");
	s->total = csv_column(&t->names, "Time(us)");
	s->count = csv_column(&t->names, "Count");
	s->min = csv_column(&t->names, "Min(us)");
	s->max = csv_column(&t->names, "Max(us)");
	return TL_OK;
}

static int64_t time_or_unknown(const struct csv_field *field)
{
	int64_t ns;

	return field && csv_time(field, MICROSECOND_NS, &ns) && ns >= 0 ? ns : -1;
}

/* Time(%) is what the rest of the table says already. */
static int sums_row(struct csv_table *t, const struct csv_record *values, struct tl_sink *sink,
		    struct tl_error *err)
{
	const struct sums *s = t->state;
	struct tl_event ev = { .kind = TL_EVENT_CALL_SUMMARY };
	struct tl_event_call_summary *c = &ev.call_summary;
	const struct csv_field *name = field_of(values, s->name);
	const struct csv_field *count = field_of(values, s->count);

	if (!name)
		return fail_field(t, name, "function", err);
	if (!task_id(field_of(values, s->pid), &c->task.pid) ||
	    !task_id(field_of(values, s->tid), &c->task.tid))
		return fail_field(t, field_of(values, s->tid), "thread", err);
	if (!count || !csv_integer(count, &c->count) || c->count <= 0)
		return fail_field(t, count, "number of calls", err);
	c->total_ns = time_or_unknown(field_of(values, s->total));
	if (c->total_ns < 0)
		return fail_field(t, field_of(values, s->total), "time of calls", err);
	c->min_ns = time_or_unknown(field_of(values, s->min));
	c->max_ns = time_or_unknown(field_of(values, s->max));
	c->kind = csv_is_system_call(name) ? TL_CALL_SYSTEM : TL_CALL_LIBRARY;
	c->name = name->text;
	c->name_length = name->length;
	return csv_emit(t, sink, &ev, err);
}

static int end_sums(struct csv_table *t, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	if (!t->events)
		return TL_OK;
	ev.diagnostic.kind = TL_DIAGNOSTIC_NOTE;
	ev.diagnostic.what = "sums over the whole recording: they have no place on the timeline";
	ev.diagnostic.count = t->events;
	ev.diagnostic.unit = "sums";
	return sink->emit(sink, &ev, err);
}

static const struct csv_kind call_summary = {
	.what = "a summary of system calls",
	.is_header = is_call_summary,
	.begin = begin_sums,
	.row = sums_row,
	.end = end_sums,
	.release = release,
};

static const struct csv_kind api_summary = {
	.what = "a summary of runtime calls",
	.is_header = is_api_summary,
	.why_not = sums_tell_no_times,
};

static const struct csv_kind operator_summary = {
	.what = "a summary of operators",
	.is_header = is_operator_summary,
	.why_not = sums_tell_no_times,
};

/* ---- all kinds ------------------------------------------------------------------------------- */

const struct csv_kind *csv_find_kind(const struct csv_record *names)
{
	static const struct csv_kind *const kinds[] = {
		&csv_calls,	   &csv_step_trace, &call_summary, &api_summary,
		&operator_summary, &csv_kernels,    &csv_steps,
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i]->is_header(names))
			return kinds[i];
	return NULL;
}
