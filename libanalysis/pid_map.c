/*
 * pid_map.c - from the numbers of a pid namespace to those of the host.
 */
#include "pid_map.h"

#include <stdlib.h>
#include <string.h>

#include "reader.h"

#define PID_MAX 4194304 /* of Linux, PID_MAX_LIMIT */

static struct tl_pid_pair *find(const struct tl_pid_map *map, int32_t inner)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&map->index, tl_hash_u64((uint32_t)inner, 8), &probe)) >= 0)
		if (map->pairs[found].inner == inner)
			return &map->pairs[found];
	return NULL;
}

static int add_pair(struct tl_pid_map *map, uint64_t inner, uint64_t host, struct tl_error *err)
{
	const struct tl_pid_pair *known;
	int ret;

	if (!inner || inner > PID_MAX || !host || host > PID_MAX)
		return tl_fail(err, TL_USAGE, "%llu:%llu are no numbers of a process",
			       (unsigned long long)inner, (unsigned long long)host);
	known = find(map, (int32_t)inner);
	if (known && known->host == (int32_t)host)
		return TL_OK;
	if (known)
		return tl_fail(
			err, TL_USAGE,
			"%d is both %d and %d outside: several containers need an import each",
			known->inner, known->host, (int)host);
	ret = tl_grow(&map->pairs, &map->capacity, map->count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&map->index, tl_hash_u64((uint32_t)inner, 8),
				   (uint32_t)map->count, err);
	if (ret == TL_OK)
		map->pairs[map->count++] =
			(struct tl_pid_pair) { .inner = (int32_t)inner, .host = (int32_t)host };
	return ret;
}

/* "12:4711,13:4712" and nothing else. */
static int add_list(struct tl_pid_map *map, const char *text, size_t length, struct tl_error *err)
{
	size_t at = 0;
	int ret = TL_OK;

	while (at < length && ret == TL_OK) {
		uint64_t inner = 0, host = 0;
		size_t used = tl_parse_u64(text + at, length - at, 10, &inner), more = 0;

		if (used && at + used < length && text[at + used] == ':')
			more = tl_parse_u64(text + at + used + 1, length - at - used - 1, 10,
					    &host);
		at += used + 1 + more;
		if (!more || (at < length && text[at] != ','))
			return tl_fail(err, TL_USAGE, "'%.*s' is no list like 12:4711,13:4712",
				       length > 100 ? 100 : (int)length, text);
		at += at < length;
		ret = add_pair(map, inner, host, err);
	}
	return ret;
}

/* "NSpid:\t4711\t12": how many numbers, the host's and the innermost. */
static size_t parse_line(const char *line, size_t length, uint64_t *first, uint64_t *last)
{
	static const char key[] = "NSpid:";
	const char *at = memmem(line, length, key, sizeof(key) - 1);
	size_t numbers = 0;

	if (!at)
		return 0;
	at += sizeof(key) - 1;
	while (at < line + length) {
		size_t used = tl_parse_u64(at, (size_t)(line + length - at), 10, last);

		if (used && !numbers++)
			*first = *last;
		at += used ? used : 1;
	}
	return numbers;
}

static int add_line(struct tl_pid_map *map, const char *line, size_t length, struct tl_error *err)
{
	uint64_t first = 0, last = 0;

	return parse_line(line, length, &first, &last) > 1 ? add_pair(map, last, first, err)
							   : TL_OK;
}

static bool is_list(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr("0123456789:,", text[i]) || !text[i])
			return false;
	return length > 0;
}

int tl_pid_map_add(struct tl_pid_map *map, const char *text, size_t length, struct tl_error *err)
{
	size_t before = map->count;
	int ret = TL_OK;

	if (is_list(text, length))
		return add_list(map, text, length, err);
	for (size_t at = 0; at < length && ret == TL_OK;) {
		const char *end = memchr(text + at, '\n', length - at);
		size_t line = end ? (size_t)(end - text) - at : length - at;

		ret = add_line(map, text + at, line, err);
		at += line + 1;
	}
	if (ret == TL_OK && map->count == before)
		ret = tl_fail(err, TL_USAGE,
			      "holds no line 'NSpid: HOST ... INNER' with two numbers or more");
	return ret;
}

/* ---- what was watched ---- */

static int watch_line(struct tl_pid_map *map, struct tl_pid_watch *watch, const char *line,
		      size_t length, struct tl_error *err)
{
	uint64_t first = 0, last = 0;
	/* a process may have a name that looks like it */
	bool is_line = length > 6 && !memcmp(line, "NSpid:", 6);
	size_t numbers = is_line ? parse_line(line, length, &first, &last) : 0;
	int ret;

	if (!numbers || !first || first > PID_MAX || !last || last > PID_MAX)
		return TL_OK;
	ret = tl_grow(&watch->outside, &watch->capacity, watch->count + 1, err);
	if (ret < 0)
		return ret;
	watch->outside[watch->count++] = (int32_t)first;
	if (numbers == 1)
		return TL_OK;
	ret = add_pair(map, last, first, err);
	if (ret != TL_USAGE)
		return ret;
	memset(err, 0, sizeof(*err));
	watch->is_shared = true;
	return TL_OK;
}

int tl_pid_map_watch(struct tl_pid_map *map, struct tl_pid_watch *watch, const char *text,
		     size_t length, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t at = 0; at < length && ret == TL_OK;) {
		const char *end = memchr(text + at, '\n', length - at);
		size_t line = end ? (size_t)(end - text) - at : length - at;

		ret = watch_line(map, watch, text + at, line, err);
		at += line + 1;
	}
	return ret;
}

void tl_pid_map_watched(struct tl_pid_map *map, struct tl_pid_watch *watch)
{
	for (size_t i = 0; i < watch->count; i++) {
		struct tl_pid_pair *pair = find(map, watch->outside[i]);

		if (pair && pair->host != watch->outside[i])
			pair->is_ambiguous = true;
	}
	for (size_t i = 0; i < map->count && watch->is_shared; i++)
		map->pairs[i].is_ambiguous = true;
	free(watch->outside);
	memset(watch, 0, sizeof(*watch));
}

void tl_pid_map_release(struct tl_pid_map *map)
{
	free(map->pairs);
	tl_index_release(&map->index);
	memset(map, 0, sizeof(*map));
}

/* ---- the sink ---- */

struct turning {
	struct tl_pid_map_sink *sink;
	const struct tl_event *event;
	bool is_unknown, is_ambiguous;
	int status;
};

/* So that the case knows both numbers of a process. */
static int tell(struct turning *t, struct tl_pid_pair *pair, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_NAMESPACE,
			       .has_ts = t->event->has_ts,
			       .ts = t->event->ts };

	if (pair->is_told)
		return TL_OK;
	pair->is_told = true;
	ev.ns.task = (struct tl_task) { pair->host, pair->host };
	ev.ns.inner_pid = pair->inner;
	return t->sink->to->emit(t->sink->to, &ev, err);
}

static int32_t turn(struct turning *t, int32_t number, bool is_pid, struct tl_error *err)
{
	struct tl_pid_pair *pair;

	if (number <= 0) /* idle, exited, unknown */
		return number;
	pair = find(t->sink->map, number);
	if (!pair) {
		t->is_unknown = true;
		return number;
	}
	if (pair->is_ambiguous) {
		t->is_ambiguous = true;
		return number;
	}
	if (is_pid && t->status == TL_OK)
		t->status = tell(t, pair, err);
	return pair->host;
}

static void turn_task(struct turning *t, struct tl_task *task, struct tl_error *err)
{
	const struct tl_pid_pair *process = task->pid > 0 ? find(t->sink->map, task->pid) : NULL;

	task->pid = turn(t, task->pid, true, err);
	/* a thread is where its process is */
	if (!process || !process->is_ambiguous)
		task->tid = turn(t, task->tid, false, err);
}

static void turn_event(struct turning *t, struct tl_event *ev, struct tl_error *err)
{
	switch (ev->kind) {
	case TL_EVENT_FORK:
		turn_task(t, &ev->fork.parent, err);
		turn_task(t, &ev->fork.child, err);
		break;
	case TL_EVENT_EXIT:
		turn_task(t, &ev->exit.task, err);
		break;
	case TL_EVENT_COMM:
		turn_task(t, &ev->comm.task, err);
		break;
	case TL_EVENT_MMAP:
		turn_task(t, &ev->mmap.task, err);
		break;
	case TL_EVENT_NAMESPACE:
		turn_task(t, &ev->ns.task, err);
		break;
	case TL_EVENT_SAMPLE:
		turn_task(t, &ev->sample.task, err);
		ev->sample.real_tid = turn(t, ev->sample.real_tid, false, err);
		break;
	case TL_EVENT_SWITCH:
		turn_task(t, &ev->sched_switch.prev, err);
		turn_task(t, &ev->sched_switch.next, err);
		break;
	case TL_EVENT_WAKEUP:
		turn_task(t, &ev->wakeup.waker, err);
		ev->wakeup.wakee_tid = turn(t, ev->wakeup.wakee_tid, false, err);
		break;
	case TL_EVENT_SYSCALL:
		turn_task(t, &ev->syscall.task, err);
		break;
	case TL_EVENT_TRACK:
		if (ev->track.kind == TL_TRACK_THREAD)
			turn_task(t, &ev->track.task, err);
		break;
	case TL_EVENT_CALL_SUMMARY:
		turn_task(t, &ev->call_summary.task, err);
		break;
	case TL_EVENT_DSO:
		ev->dso.pid = turn(t, ev->dso.pid, true, err);
		break;
	case TL_EVENT_META:
	case TL_EVENT_CLOCK:
	case TL_EVENT_CLOCK_ANCHOR:
	case TL_EVENT_TYPE:
	case TL_EVENT_DSO_SYMBOLS:
	case TL_EVENT_KSYMBOL:
	case TL_EVENT_CGROUP:
	case TL_EVENT_SIDEBAND_END:
	case TL_EVENT_SLICE:
	case TL_EVENT_FLOW:
	case TL_EVENT_COUNTER:
	case TL_EVENT_STEP:
	case TL_EVENT_LOG:
	case TL_EVENT_GAP:
	case TL_EVENT_DIAGNOSTIC:
	case TL_EVENT_KIND_COUNT:
		break;
	}
}

static int emit(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct tl_pid_map_sink *s = (struct tl_pid_map_sink *)sink;
	struct turning t = { .sink = s, .event = ev };
	struct tl_event turned = *ev;

	turn_event(&t, &turned, err);
	s->unknown_count += t.is_unknown;
	s->ambiguous_count += t.is_ambiguous;
	return t.status < 0 ? t.status : s->to->emit(s->to, &turned, err);
}

void tl_pid_map_sink_init(struct tl_pid_map_sink *s, struct tl_pid_map *map, struct tl_sink *to)
{
	*s = (struct tl_pid_map_sink) { .sink.emit = emit, .to = to, .map = map };
	for (size_t i = 0; i < map->count; i++)
		map->pairs[i].is_told = false;
}

static int tell_ambiguous(const struct tl_pid_map_sink *s, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic = (struct tl_event_diagnostic) {
		.kind = TL_DIAGNOSTIC_NOTE,
		.what = "threads whose numbers may mean two",
		.count = s->ambiguous_count,
		.unit = "events",
		.message =
			"inside a container these numbers are of other threads than outside, or than "
			"inside another, of which this may be as well: they are left as recorded; "
			"--pid-map tells, in an import of this file alone, and --host keeps it apart",
	};
	return s->ambiguous_count ? s->to->emit(s->to, &ev, err) : TL_OK;
}

int tl_pid_map_sink_finish(struct tl_pid_map_sink *s, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };
	int ret = tell_ambiguous(s, err);

	if (ret < 0 || !s->unknown_count)
		return ret;
	ev.diagnostic = (struct tl_event_diagnostic) {
		.kind = TL_DIAGNOSTIC_NOTE,
		.what = "threads that the pid map does not have",
		.count = s->unknown_count,
		.unit = "events",
		.message =
			"numbers of threads that the pid map does not have are left as recorded: "
			"outside they may be those of other threads",
	};
	return s->to->emit(s->to, &ev, err);
}
