/*
 * capture_counters.c - many values of a machine, sampled again and again, as counter events. Does not
 * know where they come from.
 */
#include "capture_counters.h"

#include <stdlib.h>
#include <string.h>

#define COUNTERS_MAX 65536 /* a machine has some hundred */
#define TRACKS_MAX   4096

static int find_track(struct capture_counters *s, const char *name, size_t length,
		      struct tl_sink *sink, uint32_t *track, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_TRACK };
	uint32_t interned;
	int ret = tl_intern(&s->names, name, length, &interned, err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < s->track_count; i++)
		if (s->tracks[i] == interned) {
			*track = (uint32_t)i;
			return TL_OK;
		}
	ret = tl_grow(&s->tracks, &s->track_capacity, s->track_count + 1, err);
	if (ret < 0)
		return ret;
	*track = (uint32_t)s->track_count;
	s->tracks[s->track_count++] = interned;
	ev.track.index = *track;
	ev.track.kind = TL_TRACK_COUNTER;
	ev.track.task = (struct tl_task) { TL_ID_NONE, TL_ID_NONE };
	ev.track.name = s->names.strings[interned].text;
	ev.track.process = "system";
	ev.track.device = ev.track.stream = -1;
	return sink->emit(sink, &ev, err);
}

static int emit_counter(struct capture_counters *s, struct capture_counter *c, int64_t time_ns,
			double value, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_COUNTER, .has_ts = true, .ts = time_ns };

	ev.counter.track = c->track;
	ev.counter.name = s->names.strings[c->name].text;
	ev.counter.name_length = s->names.strings[c->name].length;
	ev.counter.value = value;
	ev.counter.unit = c->unit;
	c->told_ns = time_ns;
	return sink->emit(sink, &ev, err);
}

static struct capture_counter *find_counter(const struct capture_counters *s, uint64_t hash,
					    uint32_t track, uint32_t name)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&s->index, hash, &probe)) >= 0)
		if (s->list[found].track == track && s->list[found].name == name)
			return &s->list[found];
	return NULL;
}

static int add_counter(struct capture_counters *s, uint64_t hash, const struct capture_counter *c,
		       struct tl_error *err)
{
	int ret = tl_grow(&s->list, &s->capacity, s->count + 1, err);

	if (ret == TL_OK)
		ret = tl_index_add(&s->index, hash, (uint32_t)s->count, err);
	if (ret == TL_OK)
		s->list[s->count++] = *c;
	return ret;
}

int capture_count(struct capture_counters *s, int64_t time_ns, const char *track_name,
		  struct capture_span name, const char *unit, double value, struct tl_sink *sink,
		  struct tl_error *err)
{
	struct capture_counter fresh = { .unit = unit }, *c;
	uint64_t hash;
	int ret;

	/* nothing that a machine says: names without end */
	if (s->count >= COUNTERS_MAX || s->track_count >= TRACKS_MAX) {
		s->left_out_count++;
		return TL_OK;
	}
	ret = find_track(s, track_name, strlen(track_name), sink, &fresh.track, err);
	if (ret == TL_OK)
		ret = tl_intern(&s->names, name.text, name.length, &fresh.name, err);
	if (ret < 0)
		return ret;
	hash = tl_hash_u64(fresh.track, fresh.name);
	c = find_counter(s, hash, fresh.track, fresh.name);
	if (!c) {
		ret = add_counter(s, hash, &fresh, err);
		if (ret < 0)
			return ret;
		c = &s->list[s->count - 1];
	} else if (c->value == value) {
		c->seen_ns = time_ns;
		return TL_OK;
	} else if (c->told_ns != c->seen_ns) { /* until then it stood still */
		ret = emit_counter(s, c, c->seen_ns, c->value, sink, err);
	}
	c->value = value;
	c->seen_ns = time_ns;
	return ret < 0 ? ret : emit_counter(s, c, time_ns, value, sink, err);
}

int capture_counters_finish(struct capture_counters *s, struct tl_sink *sink, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < s->count && ret == TL_OK; i++) {
		struct capture_counter *c = &s->list[i];

		if (c->told_ns != c->seen_ns)
			ret = emit_counter(s, c, c->seen_ns, c->value, sink, err);
	}
	return ret;
}

void capture_counters_release(struct capture_counters *s)
{
	tl_interner_release(&s->names);
	tl_index_release(&s->index);
	free(s->list);
	free(s->tracks);
}
