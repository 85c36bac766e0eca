/*
 * ascend_db.c - ascend_pytorch_profiler_*.db and msprof_*.db: calls, tasks and steps of an Ascend
 * profile as tracks and slices. How tables are read is the library's business (foreign.h).
 */
#include "ascend_db.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "reader.h"

#define STEP_NAME "ProfilerStep#"

struct track {
	int layer;    /* index of the table */
	int64_t a, b; /* globalTid; or device and stream */
};

struct profile {
	struct tl_foreign *db;
	struct tl_import_options opt;
	struct ascend_texts strings, api_types;
	/* by globalTaskId: names of kernels and of the parts of collectives; bytes of the latter */
	struct ascend_ids kernel_names, communication_names, communication_bytes;
	struct ascend_ids connections; /* the first one of an operator */
	struct track *tracks;
	size_t track_count, track_capacity;
	struct tl_index track_index;
	size_t table; /* being read */
	struct tl_foreign_rows *rows;
	uint64_t row, events;
	bool has_begun, has_step_slices;
	struct tl_text text, unread;
	uint64_t unread_count;
};

/* Every table is read by the same columns, where it has them. */
enum column {
	COL_START,
	COL_END,
	COL_TID,
	COL_CONNECTION,
	COL_NAME,
	COL_TYPE,
	COL_DEVICE,
	COL_STREAM,
	COL_TASK,
	COL_ID,
	COL_COUNT
};

struct table {
	const char *name;
	const char *columns[COL_COUNT];
	const char *process; /* of its tracks */
	int (*row)(struct profile *p, const struct table *t, struct tl_sink *sink,
		   struct tl_error *err);
};

#define NO_COLUMN "" /* no table has it */

static int emit(struct profile *p, struct tl_sink *sink, const struct tl_event *ev,
		struct tl_error *err)
{
	p->events++;
	return sink->emit(sink, ev, err);
}

/* ---- tracks --------------------------------------------------------------------------------- */

static int find_track(struct profile *p, int64_t a, int64_t b, uint32_t *track, bool *is_new,
		      struct tl_error *err)
{
	uint64_t hash = tl_hash_u64(tl_hash_u64((uint64_t)a, (uint64_t)b), p->table);
	size_t probe = 0;
	int64_t found;

	*is_new = false;
	while ((found = tl_index_find(&p->track_index, hash, &probe)) >= 0) {
		const struct track *t = &p->tracks[found];

		*track = (uint32_t)found;
		if (t->layer == (int)p->table && t->a == a && t->b == b)
			return TL_OK;
	}
	if (tl_grow(&p->tracks, &p->track_capacity, p->track_count + 1, err) < 0 ||
	    tl_index_add(&p->track_index, hash, (uint32_t)p->track_count, err) < 0)
		return TL_NOMEM;
	p->tracks[p->track_count] = (struct track) { (int)p->table, a, b };
	*track = (uint32_t)p->track_count++;
	*is_new = true;
	return TL_OK;
}

/* globalTid is pid << 32 | tid */
static struct tl_task task_of(int64_t global_tid)
{
	int64_t pid = global_tid >> 32, tid = global_tid & UINT32_MAX;

	return (struct tl_task) { pid > 0 && pid <= INT32_MAX ? (int32_t)pid : TL_ID_NONE,
				  tid <= INT32_MAX ? (int32_t)tid : TL_ID_NONE };
}

static int thread_track(struct profile *p, const struct table *t, int64_t global_tid,
			struct tl_sink *sink, uint32_t *track, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_TRACK };
	char key_pid[24], key_tid[24];
	bool is_new;
	int ret = find_track(p, global_tid, 0, track, &is_new, err);

	if (ret < 0 || !is_new)
		return ret;
	snprintf(key_pid, sizeof(key_pid), "%" PRId64, global_tid >> 32);
	snprintf(key_tid, sizeof(key_tid), "%" PRId64, global_tid & UINT32_MAX);
	ev.track.index = *track;
	ev.track.kind = TL_TRACK_THREAD;
	ev.track.task = task_of(global_tid);
	if (ev.track.task.tid == TL_ID_NONE)
		ev.track.kind = TL_TRACK_OTHER;
	ev.track.process = t->process;
	ev.track.key_pid = key_pid;
	ev.track.key_tid = key_tid;
	ev.track.device = ev.track.stream = -1;
	return emit(p, sink, &ev, err);
}

static int device_track(struct profile *p, const struct table *t, int64_t device, int64_t stream,
			const char *name, struct tl_sink *sink, uint32_t *track,
			struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_TRACK };
	char stream_name[32];
	bool is_new;
	int ret = find_track(p, device, stream, track, &is_new, err);

	if (ret < 0 || !is_new)
		return ret;
	snprintf(stream_name, sizeof(stream_name), "stream %" PRId64, stream);
	ev.track.index = *track;
	ev.track.kind = TL_TRACK_DEVICE;
	ev.track.task.pid = ev.track.task.tid = TL_ID_NONE;
	ev.track.name = name ? name : stream >= 0 ? stream_name : NULL;
	ev.track.process = t->process;
	ev.track.device = device >= 0 && device <= INT32_MAX ? (int32_t)device : -1;
	ev.track.stream = stream >= 0 && stream <= INT32_MAX ? (int32_t)stream : -1;
	return emit(p, sink, &ev, err);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int fail_row(const struct profile *p, const struct table *t, const char *what,
		    struct tl_error *err)
{
	tl_fail(err, TL_FORMAT, "table %s: row %" PRIu64 " has no usable %s", t->name, p->row,
		what);
	return TL_READ_SKIPPED;
}

static bool read_span(const struct profile *p, struct tl_event *ev, int64_t *duration_ns)
{
	int64_t end;

	*duration_ns = -1;
	if (!tl_foreign_integer(p->rows, COL_START, &ev->ts))
		return false;
	ev->has_ts = true;
	if (tl_foreign_integer(p->rows, COL_END, &end) &&
	    __builtin_sub_overflow(end, ev->ts, duration_ns))
		return false;
	return true;
}

static void set_duration(struct tl_event_slice *s, int64_t duration_ns, bool has_end)
{
	s->is_suspect = has_end && duration_ns < 0;
	s->duration_ns = duration_ns < 0 ? -1 : duration_ns;
}

static int start_slice(const struct profile *p, const struct table *t, struct tl_event *ev,
		       struct tl_error *err)
{
	int64_t duration, end;

	memset(ev, 0, sizeof(*ev));
	ev->kind = TL_EVENT_SLICE;
	ev->slice.stream = -1;
	if (!read_span(p, ev, &duration))
		return fail_row(p, t, "time", err);
	set_duration(&ev->slice, duration, tl_foreign_integer(p->rows, COL_END, &end));
	return TL_OK;
}

static void set_name(const struct profile *p, struct tl_event_slice *s, bool has_id, int64_t id)
{
	const struct ascend_text *text = has_id ? ascend_text(&p->strings, id) : NULL;

	s->name = text ? text->text : "";
	s->name_length = text ? text->length : 0;
}

static bool has_prefix(const struct tl_event_slice *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s->name_length >= n && !memcmp(s->name, prefix, n);
}

static bool has_part(const struct tl_event_slice *s, const char *part)
{
	return memmem(s->name, s->name_length, part, strlen(part)) != NULL;
}

static void take_step(struct profile *p, struct tl_event_slice *s)
{
	size_t n = strlen(STEP_NAME);
	uint64_t number;

	if (!has_prefix(s, STEP_NAME) ||
	    tl_parse_u64(s->name + n, s->name_length - n, 10, &number) != s->name_length - n ||
	    number > INT64_MAX)
		return;
	s->class_ = TL_SLICE_ANNOTATION;
	s->has_step = p->has_step_slices = true;
	s->step = (int64_t)number;
}

/* ENUM_API_TYPE of both layers of software. */
static enum tl_slice_class class_of_api(int64_t type)
{
	switch (type) {
	case 50001:
		return TL_SLICE_OPERATOR;
	case 50003:
		return TL_SLICE_PYTHON;
	case 50004:
		return TL_SLICE_ANNOTATION;
	default:
		return TL_SLICE_RUNTIME;
	}
}

/* PYTORCH_API, CANN_API, MSTX_EVENTS, GC_RECORD: something that a thread did. */
static int thread_row(struct profile *p, const struct table *t, struct tl_sink *sink,
		      struct tl_error *err)
{
	struct tl_event ev;
	struct tl_event_slice *s = &ev.slice;
	const struct ascend_text *type_name;
	int64_t tid, name, type, connection;
	bool has_name = tl_foreign_integer(p->rows, COL_NAME, &name);
	int ret = start_slice(p, t, &ev, err);

	if (ret != TL_OK)
		return ret;
	if (!tl_foreign_integer(p->rows, COL_TID, &tid))
		return fail_row(p, t, "thread", err);
	ret = thread_track(p, t, tid, sink, &s->track, err);
	if (ret < 0)
		return ret;
	set_name(p, s, has_name, name);
	s->class_ = TL_SLICE_OTHER;
	if (!strcmp(t->name, "GC_RECORD")) {
		s->class_ = TL_SLICE_GARBAGE_COLLECTION;
	} else if (!strcmp(t->name, "MSTX_EVENTS")) {
		s->class_ = TL_SLICE_ANNOTATION;
	} else if (tl_foreign_integer(p->rows, COL_TYPE, &type)) {
		s->class_ = class_of_api(type);
		type_name = ascend_text(&p->api_types, type);
		s->category = type_name ? type_name->text : NULL;
		s->category_length = type_name ? type_name->length : 0;
	}
	if (s->class_ == TL_SLICE_RUNTIME && has_part(s, "Synchronize"))
		s->class_ = TL_SLICE_SYNC;
	take_step(p, s);
	if (tl_foreign_integer(p->rows, COL_CONNECTION, &connection)) {
		if (!strcmp(t->name, "PYTORCH_API")) {
			/* queue entries are joined by it as it is, operators with tasks by a list */
			s->has_external_id =
				ascend_ids_find(&p->connections, connection, &s->external_id);
		} else {
			s->has_correlation = true;
			s->correlation = connection;
		}
	}
	return emit(p, sink, &ev, err);
}

/* Of a task that is neither a known kernel nor part of a known collective. */
static enum tl_slice_class class_of_task(const struct profile *p, const struct tl_event_slice *s)
{
	if (has_part(s, "MEMCPY") || has_part(s, "DMA") || has_prefix(s, "Memcpy"))
		return TL_SLICE_MEMORY_COPY;
	if (has_part(s, "_WAIT") || has_part(s, "Wait") || has_prefix(s, "EVENT_") ||
	    has_part(s, "Notify") || has_part(s, "Write Value"))
		return TL_SLICE_SYNC;
	if (has_prefix(s, "PROFILING_"))
		return TL_SLICE_OVERHEAD;
	/* where kernels are listed, what is not among them is a carrier of others */
	return p->kernel_names.count ? TL_SLICE_OTHER : TL_SLICE_KERNEL;
}

static int task_row(struct profile *p, const struct table *t, struct tl_sink *sink,
		    struct tl_error *err)
{
	struct tl_event ev;
	struct tl_event_slice *s = &ev.slice;
	int64_t device = -1, stream = -1, type, task = 0, name;
	const struct ascend_text *type_name;
	int ret = start_slice(p, t, &ev, err);

	if (ret != TL_OK)
		return ret;
	tl_foreign_integer(p->rows, COL_DEVICE, &device);
	tl_foreign_integer(p->rows, COL_STREAM, &stream);
	ret = device_track(p, t, device, stream, NULL, sink, &s->track, err);
	if (ret < 0)
		return ret;
	type_name = tl_foreign_integer(p->rows, COL_TYPE, &type) ? ascend_text(&p->strings, type)
								 : NULL;
	set_name(p, s, type_name != NULL, type);
	s->category = type_name ? type_name->text : NULL;
	s->category_length = type_name ? type_name->length : 0;
	s->class_ = class_of_task(p, s);
	if (tl_foreign_integer(p->rows, COL_TASK, &task)) {
		if (ascend_ids_find(&p->kernel_names, task, &name)) {
			set_name(p, s, true, name);
			s->class_ = TL_SLICE_KERNEL;
		} else if (ascend_ids_find(&p->communication_names, task, &name)) {
			set_name(p, s, true, name);
			/* waiting for others and moving bytes are parts of a collective */
			s->class_ = TL_SLICE_COMMUNICATION;
			s->has_bytes = ascend_ids_find(&p->communication_bytes, task, &s->bytes);
		}
	}
	s->stream = stream >= 0 && stream <= INT32_MAX ? (int32_t)stream : -1;
	s->has_correlation = tl_foreign_integer(p->rows, COL_CONNECTION, &s->correlation);
	s->has_external_id = s->has_correlation;
	s->external_id = s->correlation;
	return emit(p, sink, &ev, err);
}

/* Whole collectives; their tasks are on the streams too. */
static int collective_row(struct profile *p, const struct table *t, struct tl_sink *sink,
			  struct tl_error *err)
{
	struct tl_event ev;
	const struct ascend_text *group;
	int64_t name, group_id = -1;
	bool has_name = tl_foreign_integer(p->rows, COL_NAME, &name);
	int ret = start_slice(p, t, &ev, err);

	if (ret != TL_OK)
		return ret;
	group = tl_foreign_integer(p->rows, COL_TYPE, &group_id)
			? ascend_text(&p->strings, group_id)
			: NULL;
	ret = device_track(p, t, -1, group_id, group ? group->text : "collectives", sink,
			   &ev.slice.track, err);
	if (ret < 0)
		return ret;
	set_name(p, &ev.slice, has_name, name);
	ev.slice.class_ = TL_SLICE_COMMUNICATION;
	ev.slice.has_correlation =
		tl_foreign_integer(p->rows, COL_CONNECTION, &ev.slice.correlation);
	return emit(p, sink, &ev, err);
}

/* A step is a row of PYTORCH_API too, where the thread is known; one of them is enough. */
static int step_row(struct profile *p, const struct table *t, struct tl_sink *sink,
		    struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_STEP };

	if (p->has_step_slices)
		return TL_OK;
	ev.step.rank = p->opt.has_rank ? p->opt.rank : -1;
	if (!read_span(p, &ev, &ev.step.duration_ns))
		return fail_row(p, t, "time", err);
	if (!tl_foreign_integer(p->rows, COL_ID, &ev.step.number))
		return fail_row(p, t, "step number", err);
	ev.step.duration_ns = ev.step.duration_ns < 0 ? -1 : ev.step.duration_ns;
	return emit(p, sink, &ev, err);
}

static int call_row(struct profile *p, const struct table *t, struct tl_sink *sink,
		    struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_SYSCALL };
	const struct ascend_text *text;
	struct csv_field field;
	int64_t tid, name;

	if (!read_span(p, &ev, &ev.syscall.duration_ns))
		return fail_row(p, t, "time", err);
	text = tl_foreign_integer(p->rows, COL_NAME, &name) ? ascend_text(&p->strings, name) : NULL;
	if (!text)
		return fail_row(p, t, "name", err);
	if (!tl_foreign_integer(p->rows, COL_TID, &tid))
		return fail_row(p, t, "thread", err);
	field = (struct csv_field) { text->text, text->length };
	ev.syscall.task = task_of(tid);
	ev.syscall.kind = csv_is_system_call(&field) ? TL_CALL_SYSTEM : TL_CALL_LIBRARY;
	ev.syscall.duration_ns = ev.syscall.duration_ns < 0 ? -1 : ev.syscall.duration_ns;
	ev.syscall.timing = ev.syscall.duration_ns < 0 ? TL_CALL_UNTIMED : TL_CALL_MEASURED;
	ev.syscall.outcome = TL_CALL_RETURNED;
	ev.syscall.name = text->text;
	ev.syscall.name_length = text->length;
	ev.syscall.position = p->row;
	return emit(p, sink, &ev, err);
}

/* In the order of `enum column`: start, end, tid, connection, name, type, device, stream, task, id. */
static const struct table tables[] = {
	{ "PYTORCH_API",
	  { "startNs", "endNs", "globalTid", "connectionId", "name", "type", NO_COLUMN, NO_COLUMN,
	    NO_COLUMN, NO_COLUMN },
	  "Python",
	  thread_row },
	{ "CANN_API",
	  { "startNs", "endNs", "globalTid", "connectionId", "name", "type", NO_COLUMN, NO_COLUMN,
	    NO_COLUMN, NO_COLUMN },
	  "CANN",
	  thread_row },
	{ "MSTX_EVENTS",
	  { "startNs", "endNs", "globalTid", "connectionId", "message", "eventType", NO_COLUMN,
	    NO_COLUMN, NO_COLUMN, NO_COLUMN },
	  "MSTX",
	  thread_row },
	{ "GC_RECORD",
	  { "startNs", "endNs", "globalTid", NO_COLUMN, "name", NO_COLUMN, NO_COLUMN, NO_COLUMN,
	    NO_COLUMN, NO_COLUMN },
	  "Python GC",
	  thread_row },
	{ "TASK",
	  { "startNs", "endNs", NO_COLUMN, "connectionId", NO_COLUMN, "taskType", "deviceId",
	    "streamId", "globalTaskId", NO_COLUMN },
	  "Ascend Hardware",
	  task_row },
	{ "COMMUNICATION_OP",
	  { "startNs", "endNs", NO_COLUMN, "connectionId", "opName", "groupName", NO_COLUMN,
	    NO_COLUMN, NO_COLUMN, NO_COLUMN },
	  "Communication",
	  collective_row },
	{ "OSRT_API",
	  { "startNs", "endNs", "globalTid", NO_COLUMN, "name", NO_COLUMN, NO_COLUMN, NO_COLUMN,
	    NO_COLUMN, NO_COLUMN },
	  NULL,
	  call_row },
	{ "STEP_TIME",
	  { "startNs", "endNs", NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN,
	    NO_COLUMN, "id" },
	  NULL,
	  step_row },
};

enum { TABLE_COUNT = sizeof(tables) / sizeof(tables[0]) };

/* ---- the file ------------------------------------------------------------------------------- */

/* Tables that are not events are names, or counters and derived things that are left out. */
static int note_table(const char *name, void *payload, struct tl_error *err)
{
	static const char *const names[] = { "STRING_IDS",	  "CONNECTION_IDS",
					     "COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO",
					     "RANK_DEVICE_MAP",	  "HOST_INFO",
					     "META_DATA",	  "NPU_INFO",
					     "SESSION_TIME_INFO" };
	struct profile *p = payload;

	(void)err;
	if (!strncmp(name, "ENUM_", 5))
		return TL_OK;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return TL_OK;
	for (size_t i = 0; i < TABLE_COUNT; i++)
		if (!strcmp(name, tables[i].name))
			return TL_OK;
	p->unread_count++;
	if (p->unread.length < 300) {
		char shown[64];

		tl_printable(shown, sizeof(shown), name, strlen(name));
		tl_text_printf(&p->unread, "%s%s", p->unread.length ? ", " : "", shown);
	}
	return TL_OK;
}

static int load_names(struct profile *p, struct tl_error *err)
{
	int ret = ascend_texts_load(&p->strings, p->db, "STRING_IDS", "id", "value", err);

	if (ret == TL_OK)
		ret = ascend_texts_load(&p->api_types, p->db, "ENUM_API_TYPE", "id", "name", err);
	if (ret == TL_OK)
		ret = ascend_ids_load(&p->kernel_names, p->db, "COMPUTE_TASK_INFO", "globalTaskId",
				      "name", err);
	if (ret == TL_OK)
		ret = ascend_ids_load(&p->communication_names, p->db, "COMMUNICATION_TASK_INFO",
				      "globalTaskId", "taskType", err);
	if (ret == TL_OK)
		ret = ascend_ids_load(&p->communication_bytes, p->db, "COMMUNICATION_TASK_INFO",
				      "globalTaskId", "size", err);
	if (ret == TL_OK)
		ret = ascend_ids_load(&p->connections, p->db, "CONNECTION_IDS", "id",
				      "connectionId", err);
	return ret;
}

static int emit_meta(struct profile *p, struct tl_sink *sink, const char *key, const char *text,
		     size_t len, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META };

	p->text.length = 0;
	tl_text_add(&p->text, text, len);
	if (p->text.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ev.meta.key = key;
	ev.meta.value = len ? p->text.data : "";
	return sink->emit(sink, &ev, err);
}

/* The only row of a table of facts. */
static int emit_fact(struct profile *p, struct tl_sink *sink, const char *table, const char *column,
		     const char *key, struct tl_error *err)
{
	struct tl_foreign_rows *rows;
	int ret = tl_foreign_rows_open(&rows, p->db, table, &column, 1, err);

	if (rows && ret == TL_OK)
		ret = tl_foreign_next(rows, err);
	if (rows && ret > 0) {
		size_t len;
		const char *text = tl_foreign_text(rows, 0, &len);

		ret = text ? emit_meta(p, sink, key, text, len, err) : TL_OK;
	}
	tl_foreign_rows_close(rows);
	return ret;
}

static int emit_rank(struct profile *p, struct tl_sink *sink, struct tl_error *err)
{
	char text[16];

	if (!p->opt.has_rank)
		return emit_fact(p, sink, "RANK_DEVICE_MAP", "rankId", "rank", err);
	snprintf(text, sizeof(text), "%d", (int)p->opt.rank);
	return emit_meta(p, sink, "rank", text, strlen(text), err);
}

static int begin(struct profile *p, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };
	int ret = load_names(p, err);

	p->has_begun = true;
	ev.clock.name = "realtime";
	ev.clock.method = TL_CLOCK_EXACT;
	ev.clock.residual_ns = -1; /* one offset for the whole profile: drift is not told */
	ev.clock.why = "Unix time in the database";
	if (ret == TL_OK)
		ret = sink->emit(sink, &ev, err);
	if (ret == TL_OK)
		ret = emit_rank(p, sink, err);
	if (ret == TL_OK)
		ret = emit_fact(p, sink, "HOST_INFO", "hostName", "hostname", err);
	return ret;
}

static int finish(struct profile *p, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };
	char words[420];
	int ret;

	if (!p->unread_count)
		return TL_READ_END;
	snprintf(words, sizeof(words), "tables of counters, and derived ones: %s%s",
		 p->unread.data ? p->unread.data : "", p->unread.length >= 300 ? ", ..." : "");
	ev.diagnostic.kind = TL_DIAGNOSTIC_SKIPPED;
	ev.diagnostic.what = "tables of counters, and derived ones";
	ev.diagnostic.message = words;
	ev.diagnostic.count = p->unread_count;
	ev.diagnostic.unit = "tables";
	ret = sink->emit(sink, &ev, err);
	return ret < 0 ? ret : TL_READ_END;
}

/* What a damaged page hides of a table is lost, the other tables may be whole. */
static int skip_table(struct profile *p, struct tl_error *err)
{
	struct tl_error why = *err;

	if (err->status == TL_NOMEM)
		return TL_NOMEM;
	tl_error_clear(err);
	tl_fail(err, TL_FORMAT, "table %s after row %" PRIu64 ": %s", tables[p->table].name, p->row,
		why.text);
	tl_foreign_rows_close(p->rows);
	p->rows = NULL;
	p->table++;
	p->row = 0;
	return TL_READ_SKIPPED;
}

static int profile_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct profile *p = state;
	int ret = p->has_begun ? TL_OK : begin(p, sink, err);

	if (ret < 0)
		return ret;
	for (; p->table < TABLE_COUNT; p->table++, p->row = 0) {
		const struct table *t = &tables[p->table];

		if (!p->rows &&
		    tl_foreign_rows_open(&p->rows, p->db, t->name, t->columns, COL_COUNT, err) < 0)
			return skip_table(p, err);
		if (!p->rows)
			continue;
		ret = tl_foreign_next(p->rows, err);
		if (ret < 0)
			return skip_table(p, err);
		if (ret > 0) {
			p->row++;
			ret = t->row(p, t, sink, err);
			return ret == TL_OK ? TL_READ_MORE : ret;
		}
		tl_foreign_rows_close(p->rows);
		p->rows = NULL;
	}
	return finish(p, sink, err);
}

static void profile_close(void *state)
{
	struct profile *p = state;

	if (!p)
		return;
	tl_foreign_rows_close(p->rows);
	tl_foreign_close(p->db);
	ascend_texts_release(&p->strings);
	ascend_texts_release(&p->api_types);
	ascend_ids_release(&p->kernel_names);
	ascend_ids_release(&p->communication_names);
	ascend_ids_release(&p->communication_bytes);
	ascend_ids_release(&p->connections);
	tl_index_release(&p->track_index);
	tl_text_release(&p->text);
	tl_text_release(&p->unread);
	free(p->tracks);
	free(p);
}

static int count_known(const char *name, void *payload, struct tl_error *err)
{
	size_t *known = payload;

	(void)err;
	for (size_t i = 0; i < TABLE_COUNT; i++)
		*known += !strcmp(name, tables[i].name);
	return TL_OK;
}

static int profile_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
			struct tl_error *err)
{
	struct profile *p = tl_alloc(1, sizeof(*p), err);
	size_t known = 0;
	int ret;

	*state = p;
	if (!p)
		return TL_NOMEM;
	if (opt)
		p->opt = *opt;
	ret = tl_foreign_open(&p->db, in, err);
	if (ret == TL_OK)
		ret = tl_foreign_tables(p->db, count_known, &known, err);
	if (ret == TL_OK && !known)
		ret = tl_fail(
			err, TL_NOTHING,
			"is an SQLite file, but neither a case nor an Ascend profile: none of "
			"its tables is PYTORCH_API, CANN_API, TASK or the like");
	if (ret == TL_OK)
		ret = tl_foreign_tables(p->db, note_table, p, err);
	return ret;
}

static int profile_probe(const uint8_t *head, size_t len)
{
	return tl_foreign_probe(head, len) ? 60 : 0;
}

const struct tl_importer ascend_db_importer = {
	.name = "ascend-db",
	.summary = "ascend_pytorch_profiler_*.db and msprof_*.db",
	.probe = profile_probe,
	.open = profile_open,
	.read = profile_read,
	.close = profile_close,
};
