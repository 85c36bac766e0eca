/*
 * trace_tracks.c - the rows of a timeline: keyed by pid and tid as numbers or texts and by what
 * kind of row it is, so that stream 7 of device 0 and thread 7 of process 0 never meet; and their
 * names, which metadata may tell before or after the events.
 */
#include "trace_import.h"

#include <stdlib.h>
#include <string.h>

#define TRACK_MAX     65536u /* no machine has so many; a file may claim it */
#define NAME_MAX      262144u
#define LIKELY_TID    300 /* processes of the system begin about here */
#define LINUX_PID_MAX (1 << 22)

int trace_tracks_id(struct trace_tracks *tracks, const struct js_scalar *s, struct trace_id *id,
		    struct tl_error *err)
{
	id->text = 0;
	id->number = 0;
	id->is_number = (s->kind == JS_NUMBER || s->kind == JS_STRING) && s->length &&
			trace_id_number(s->text, s->length, &id->number);
	if (id->is_number)
		return TL_OK;
	return tl_intern(&tracks->strings, s->length ? s->text : "", s->length, &id->text, err);
}

static bool same_id(const struct trace_id *a, const struct trace_id *b)
{
	return a->is_number == b->is_number && a->number == b->number && a->text == b->text;
}

static uint64_t hash_ids(const struct trace_id *pid, const struct trace_id *tid, uint64_t seed)
{
	uint64_t hash = tl_hash_u64((uint64_t)pid->number, pid->text * 2u + pid->is_number + seed);

	return tl_hash_u64(hash, (uint64_t)tid->number * 31 + tid->text * 2u + tid->is_number);
}

static int64_t find_track(struct trace_tracks *s, const struct trace_id *pid,
			  const struct trace_id *tid, enum trace_domain domain)
{
	uint64_t hash = hash_ids(pid, tid, (uint64_t)domain * 1000003);
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&s->index, hash, &probe)) >= 0) {
		const struct trace_track *track = &s->items[found];

		if (track->domain == domain && same_id(&track->pid, pid) &&
		    same_id(&track->tid, tid))
			return found;
	}
	return -1;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const struct trace_id no_tid;

static struct trace_name *find_name(struct trace_tracks *s, const struct trace_id *pid,
				    const struct trace_id *tid)
{
	uint64_t hash = hash_ids(pid, tid ? tid : &no_tid, tid ? 17 : 19);
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&s->name_index, hash, &probe)) >= 0) {
		struct trace_name *n = &s->names[found];

		if (n->has_tid == (tid != NULL) && same_id(&n->pid, pid) &&
		    (!tid || same_id(&n->tid, tid)))
			return n;
	}
	return NULL;
}

static int set_name(struct trace_tracks *s, const struct trace_id *pid, const struct trace_id *tid,
		    uint32_t text, struct tl_error *err)
{
	struct trace_name *n = find_name(s, pid, tid);
	int ret;

	if (n) {
		n->text = text + 1;
		return TL_OK;
	}
	if (s->name_count == NAME_MAX)
		return TL_OK;
	ret = tl_grow(&s->names, &s->name_capacity, s->name_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&s->name_index,
				   hash_ids(pid, tid ? tid : &no_tid, tid ? 17 : 19),
				   (uint32_t)s->name_count, err);
	if (ret < 0)
		return ret;
	n = &s->names[s->name_count++];
	n->pid = *pid;
	n->tid = tid ? *tid : no_tid;
	n->has_tid = tid != NULL;
	n->text = text + 1;
	return TL_OK;
}

/* The argument that metadata is about, as a string where it lies. */
static bool find_argument(const struct trace_event *ev, const char *key, struct js_scalar *value)
{
	size_t length = strlen(key);

	for (size_t i = 0; ev->arguments && i < ev->members->count; i++) {
		const struct js_member *m = &ev->members->items[i];

		if (m->key_length != length || memcmp(ev->arguments + m->key, key, length) != 0)
			continue;
		*value = (struct js_scalar) { .text = ev->arguments + m->value,
					      .length = m->value_length,
					      .kind = m->kind };
		return true;
	}
	return false;
}

int trace_tracks_metadata(struct trace_import *t, const struct trace_event *ev,
			  struct tl_error *err)
{
	struct trace_tracks *s = &t->tracks;
	bool is_thread = trace_text_is(&ev->name, "thread_name");
	struct js_scalar value;
	struct trace_id pid, tid;
	uint32_t text;
	int ret;

	if (!is_thread && !trace_text_is(&ev->name, "process_name"))
		return TL_OK; /* labels and the order in a viewer */
	if (!find_argument(ev, "name", &value))
		return TL_OK;
	t->scratch.length = 0;
	js_decode(&value, &t->scratch);
	if (t->scratch.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ret = trace_tracks_id(s, &ev->pid, &pid, err);
	if (ret == TL_OK && is_thread)
		ret = trace_tracks_id(s, &ev->tid, &tid, err);
	if (ret == TL_OK)
		ret = tl_intern(&s->strings, t->scratch.data ? t->scratch.data : "",
				t->scratch.length, &text, err);
	return ret < 0 ? ret : set_name(s, &pid, is_thread ? &tid : NULL, text, err);
}

const char *trace_process_name(struct trace_import *t, const struct trace_event *ev)
{
	struct trace_tracks *s = &t->tracks;
	struct trace_id pid;
	const struct trace_name *n;

	if (trace_tracks_id(s, &ev->pid, &pid, NULL) < 0)
		return NULL;
	n = find_name(s, &pid, NULL);
	return n ? s->strings.strings[n->text - 1].text : NULL;
}

/* ---- tracks ---------------------------------------------------------------------------------- */

static const char *text_of(const struct trace_tracks *s, uint32_t text_plus_1)
{
	return text_plus_1 ? s->strings.strings[text_plus_1 - 1].text : NULL;
}

static int tell(const struct trace_tracks *s, uint32_t index, struct tl_sink *sink,
		struct tl_error *err)
{
	const struct trace_track *track = &s->items[index];
	struct tl_event ev = { .kind = TL_EVENT_TRACK };

	ev.track = (struct tl_event_track) { .index = index,
					     .kind = track->kind,
					     .task = track->task,
					     .name = text_of(s, track->name),
					     .process = text_of(s, track->process),
					     .key_pid = s->strings.strings[track->key_pid].text,
					     .key_tid = s->strings.strings[track->key_tid].text,
					     .device = track->device,
					     .stream = track->stream };
	return sink->emit(sink, &ev, err);
}

/* Names as metadata has them now; a text as tid is a name too. */
static void name_track(struct trace_tracks *s, struct trace_track *track)
{
	const struct trace_name *thread = find_name(s, &track->pid, &track->tid);
	const struct trace_name *process = find_name(s, &track->pid, NULL);

	if (thread && track->domain != TRACE_COUNTERS)
		track->name = thread->text;
	else if (!track->name && !track->tid.is_number && s->strings.strings[track->key_tid].length)
		track->name = track->key_tid + 1;
	if (process)
		track->process = process->text;
	else if (!track->process && !track->pid.is_number &&
		 s->strings.strings[track->key_pid].length)
		track->process = track->key_pid + 1;
}

static bool is_thread_id(const struct trace_id *id)
{
	return id->is_number && id->number > 0 && id->number <= INT32_MAX;
}

/* 7 of 7, and of "stream 7" */
static int32_t stream_of(const struct trace_tracks *s, const struct trace_track *track)
{
	const char *text = s->strings.strings[track->key_tid].text;
	int64_t number = track->tid.number;

	if (!track->tid.is_number && (strncmp(text, "stream ", 7) != 0 ||
				      !trace_id_number(text + 7, strlen(text + 7), &number)))
		return -1;
	return number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

static void set_kind(struct trace_tracks *s, struct trace_track *track, const struct trace_row *row)
{
	track->task = (struct tl_task) { TL_ID_NONE, TL_ID_NONE };
	track->device = track->stream = -1;
	switch (track->domain) {
	case TRACE_HOST:
		track->kind = TL_TRACK_OTHER;
		if (!is_thread_id(&track->tid) || (!is_thread_id(&track->pid) && !row->is_layer))
			break;
		track->kind = TL_TRACK_THREAD;
		track->task.tid = (int32_t)track->tid.number;
		if (!row->is_layer)
			s->host_pid = (int32_t)track->pid.number;
		track->task.pid = s->host_pid ? s->host_pid : TL_ID_NONE;
		break;
	case TRACE_DEVICE:
		track->kind = TL_TRACK_DEVICE;
		track->device = row->device;
		track->stream = row->slice.stream;
		if (track->device < 0 && !row->is_layer && track->pid.is_number &&
		    track->pid.number >= 0 && track->pid.number < LIKELY_TID)
			track->device = (int32_t)track->pid.number;
		if (track->stream < 0 && !row->is_layer)
			track->stream = stream_of(s, track);
		break;
	case TRACE_COUNTERS:
		track->kind = TL_TRACK_COUNTER;
		break;
	case TRACE_OTHER:
		track->kind = TL_TRACK_OTHER;
		if (row->is_layer) /* what is said of a device */
			track->device = row->device;
		break;
	case TRACE_ASYNC:
		track->kind = TL_TRACK_ASYNC;
		break;
	case TRACE_DOMAINS:
		track->kind = TL_TRACK_OTHER;
		break;
	}
}

/* Text of an id as written, into the interned strings. */
static int keep_key(struct trace_tracks *s, const struct js_scalar *key, uint32_t *text,
		    struct tl_error *err)
{
	return tl_intern(&s->strings, key->length ? key->text : "", key->length, text, err);
}

static int add_track(struct trace_import *t, const struct trace_event *ev,
		     const struct trace_row *row, const struct trace_id *pid,
		     const struct trace_id *tid, const struct js_scalar *tid_text,
		     struct tl_sink *sink, uint32_t *index, struct tl_error *err)
{
	struct trace_tracks *s = &t->tracks;
	struct trace_track *track;
	int ret;

	if (s->count >= TRACK_MAX) {
		trace_note(t, TRACE_NOTE_MANY_TRACKS, ev);
		*index = (uint32_t)s->count - 1;
		return TL_OK;
	}
	ret = tl_grow(&s->items, &s->capacity, s->count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&s->index, hash_ids(pid, tid, (uint64_t)row->domain * 1000003),
				   (uint32_t)s->count, err);
	if (ret < 0)
		return ret;
	*index = (uint32_t)s->count;
	track = &s->items[s->count++];
	memset(track, 0, sizeof(*track));
	track->pid = *pid;
	track->tid = *tid;
	track->domain = row->domain;
	ret = keep_key(s, &ev->pid, &track->key_pid, err);
	if (ret == TL_OK)
		ret = keep_key(s, tid_text, &track->key_tid, err);
	if (ret < 0)
		return ret;
	set_kind(s, track, row);
	name_track(s, track);
	return tell(s, *index, sink, err);
}

static struct trace_memo *memo_of(struct trace_tracks *s, const struct trace_event *ev,
				  enum trace_domain domain)
{
	uint32_t a = 0, b = 0;
	size_t pid = ev->pid.length, tid = ev->tid.length;

	if (pid + tid > sizeof(s->memo->keys))
		return NULL;
	memcpy(&a, ev->pid.text + (pid > 4 ? pid - 4 : 0), pid > 4 ? 4 : pid);
	memcpy(&b, ev->tid.text + (tid > 4 ? tid - 4 : 0), tid > 4 ? 4 : tid);
	return &s->memo[(a * 0x9e3779b1u + b * 0x85ebca6bu + (uint32_t)domain * 0xc2b2ae35u) >> 26];
}

static bool memo_matches(const struct trace_memo *m, const struct trace_event *ev,
			 enum trace_domain domain)
{
	return m->is_used && m->domain == domain && m->pid_length == ev->pid.length &&
	       m->tid_length == ev->tid.length && !memcmp(m->keys, ev->pid.text, ev->pid.length) &&
	       !memcmp(m->keys + ev->pid.length, ev->tid.text, ev->tid.length);
}

static void write_memo(struct trace_memo *m, const struct trace_event *ev, enum trace_domain domain,
		       uint32_t track, size_t track_count)
{
	m->is_used = 1;
	m->domain = (uint8_t)domain;
	m->pid_length = (uint8_t)ev->pid.length;
	m->tid_length = (uint8_t)ev->tid.length;
	memcpy(m->keys, ev->pid.text, ev->pid.length);
	memcpy(m->keys + ev->pid.length, ev->tid.text, ev->tid.length);
	m->track = track;
	m->track_count = (uint32_t)track_count;
}

bool trace_tracks_recall(struct trace_import *t, const struct trace_event *ev, uint32_t *track)
{
	const struct trace_memo *m =
		ev->pid.text && ev->tid.text ? memo_of(&t->tracks, ev, TRACE_DOMAINS) : NULL;

	if (!m || m->track_count != t->tracks.count || !memo_matches(m, ev, TRACE_DOMAINS))
		return false;
	*track = m->track;
	return true;
}

void trace_tracks_remember(struct trace_import *t, const struct trace_event *ev, uint32_t track)
{
	struct trace_memo *m =
		ev->pid.text && ev->tid.text ? memo_of(&t->tracks, ev, TRACE_DOMAINS) : NULL;

	if (m)
		write_memo(m, ev, TRACE_DOMAINS, track, t->tracks.count);
}

int trace_tracks_find(struct trace_import *t, const struct trace_event *ev,
		      const struct trace_row *row, struct tl_sink *sink, uint32_t *track,
		      struct tl_error *err)
{
	static const struct js_scalar none = { .text = "", .kind = JS_STRING };
	struct trace_tracks *s = &t->tracks;
	bool has_ids = ev->pid.text && ev->tid.text;
	struct trace_memo *memo = NULL;
	/* what has a process only, and what is told apart by its category */
	const struct js_scalar *key = row->domain == TRACE_COUNTERS ? &none
				      : row->domain == TRACE_ASYNC  ? &ev->category
								    : &ev->tid;
	struct trace_id pid, tid;
	int64_t found;
	int ret;

	if (has_ids && key == &ev->tid)
		memo = memo_of(s, ev, row->domain);
	if (memo && memo_matches(memo, ev, row->domain)) {
		*track = memo->track;
		return TL_OK;
	}
	ret = trace_tracks_id(s, &ev->pid, &pid, err);
	if (ret == TL_OK)
		ret = trace_tracks_id(s, key, &tid, err);
	if (ret < 0)
		return ret;
	found = find_track(s, &pid, &tid, row->domain);
	if (found >= 0)
		*track = (uint32_t)found;
	else
		ret = add_track(t, ev, row, &pid, &tid, key, sink, track, err);
	if (ret == TL_OK && memo)
		write_memo(memo, ev, row->domain, *track, s->count);
	return ret;
}

int trace_tracks_has(struct trace_import *t, const struct trace_event *ev, enum trace_domain domain,
		     bool *has, struct tl_error *err)
{
	struct trace_tracks *s = &t->tracks;
	struct trace_id pid, tid;
	int ret = trace_tracks_id(s, &ev->pid, &pid, err);

	if (ret == TL_OK)
		ret = trace_tracks_id(s, &ev->tid, &tid, err);
	*has = ret == TL_OK && find_track(s, &pid, &tid, domain) >= 0;
	return ret;
}

/* ---- at the end ------------------------------------------------------------------------------ */

/* Ids of the system: the main thread is there, or they are as large as the system's are. */
static bool has_real_ids(struct trace_tracks *s, const struct trace_track *track)
{
	if (track->task.pid > LINUX_PID_MAX || track->task.tid > LINUX_PID_MAX)
		return false;
	if (track->task.pid >= LIKELY_TID && track->task.tid >= LIKELY_TID)
		return true;
	return find_track(s, &track->pid, &track->pid, TRACE_HOST) >= 0;
}

int trace_tracks_finish(struct trace_import *t, struct tl_sink *sink, struct tl_error *err)
{
	struct trace_tracks *s = &t->tracks;
	int ret = TL_OK;

	for (uint32_t i = 0; i < s->count && ret == TL_OK; i++) {
		struct trace_track *track = &s->items[i], before = *track;

		name_track(s, track);
		if (t->producer->has_guessed_threads && track->kind == TL_TRACK_THREAD &&
		    !has_real_ids(s, track))
			track->kind = TL_TRACK_OTHER;
		if (track->name != before.name || track->process != before.process ||
		    track->kind != before.kind)
			ret = tell(s, i, sink, err);
	}
	return ret;
}

void trace_tracks_release(struct trace_tracks *tracks)
{
	tl_interner_release(&tracks->strings);
	tl_index_release(&tracks->index);
	tl_index_release(&tracks->name_index);
	free(tracks->items);
	free(tracks->names);
}
