/*
 * perf_events.c - the events of a recording, their ids, and which of them a record belongs to.
 *
 * Knows attributes, not files; perf_header.c and perf.c fill it.
 */
#include "perf.h"

#include <stdlib.h>
#include <string.h>

/* Events of a file: far more than any recorder opens, and few enough to search. */
#define EVENT_COUNT_MAX 16384u

static void update_layout(struct perf_events *events)
{
	const struct perf_event *first = &events->list[0];
	bool same_type = true, same_id = true, same_trailer = true;

	events->time_position = first->time_position;
	events->id_position = first->id_position;
	events->has_identifier = true;
	for (size_t i = 0; i < events->count; i++) {
		const struct perf_event *event = &events->list[i];
		uint64_t behind_id = PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID;

		same_type &= event->attr.sample_type == first->attr.sample_type;
		same_id &= event->id_position == first->id_position;
		same_trailer &= !((event->attr.sample_type ^ first->attr.sample_type) & behind_id);
		if (!(event->attr.sample_type & PERF_SAMPLE_IDENTIFIER))
			events->has_identifier = false;
		if (event->time_position != events->time_position)
			events->time_position = PERF_POSITION_DIFFERS;
	}
	if (!same_id)
		events->id_position = -1;
	events->is_ambiguous = !events->has_identifier && !same_type &&
			       (!same_id || events->id_position < 0 || !same_trailer);
}

int perf_events_add(struct perf_events *events, const struct perf_attr *attr, struct tl_error *err)
{
	struct perf_event *event;
	int ret;

	if (events->count >= EVENT_COUNT_MAX)
		return tl_fail(err, TL_UNSUPPORTED, "more than %u events", EVENT_COUNT_MAX);
	ret = tl_grow(&events->list, &events->capacity, events->count + 1, err);
	if (ret < 0)
		return ret;
	event = &events->list[events->count++];
	memset(event, 0, sizeof(*event));
	event->attr = *attr;
	event->time_position = perf_sample_time_position(attr);
	event->id_position = perf_sample_id_position(attr);
	update_layout(events);
	return TL_OK;
}

int perf_events_add_id(struct perf_events *events, uint64_t id, uint32_t event,
		       struct tl_error *err)
{
	int ret;

	if (perf_events_find(events, id) >= 0)
		return TL_OK; /* listed twice: the first stays, as in perf */
	ret = tl_grow(&events->ids, &events->id_capacity, events->id_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&events->id_index, tl_hash_u64(id, 0),
				   (uint32_t)events->id_count, err);
	if (ret < 0)
		return ret;
	events->ids[events->id_count].id = id;
	events->ids[events->id_count].event = event;
	events->id_count++;
	return TL_OK;
}

int64_t perf_events_find(struct perf_events *events, uint64_t id)
{
	uint64_t hash;
	size_t probe = 0;
	int64_t found;

	if (events->has_last && events->last_id == id)
		return events->last_event;
	hash = tl_hash_u64(id, 0);
	while ((found = tl_index_find(&events->id_index, hash, &probe)) >= 0)
		if (events->ids[found].id == id)
			break;
	if (found < 0)
		return -1;
	events->has_last = true;
	events->last_id = id;
	events->last_event = events->ids[found].event;
	return events->last_event;
}

int perf_events_check(const struct perf_events *events, struct tl_error *err)
{
	if (events->is_ambiguous)
		return tl_fail(err, TL_UNSUPPORTED,
			       "the %zu events have different sample types and no common place for "
			       "their id: their records cannot be told apart",
			       events->count);
	return TL_OK;
}

int perf_events_rename(struct perf_events *events, uint32_t index, enum perf_name_source source,
		       const char *name, size_t len, struct tl_error *err)
{
	struct perf_event *event = &events->list[index];
	const char *copy;

	if (event->name_source > source || !len)
		return TL_OK;
	copy = tl_arena_copy(&events->arena, name, len, err);
	if (!copy)
		return TL_NOMEM;
	event->name = copy;
	event->name_source = source;
	return TL_OK;
}

static uint32_t event_of_id(struct perf_events *events, uint64_t id, bool *is_unknown)
{
	int64_t found = perf_events_find(events, id);

	*is_unknown = found < 0 && id; /* the recorder's own records carry 0 */
	return found < 0 ? 0 : (uint32_t)found;
}

uint32_t perf_events_of_sample(struct perf_events *events, const struct perf_raw *raw,
			       bool *is_unknown)
{
	*is_unknown = false;
	if (events->count == 1 || events->id_position < 0 ||
	    raw->body_size < (size_t)events->id_position + 8)
		return 0;
	return event_of_id(events,
			   perf_load_u64(raw->body + events->id_position, raw->is_big_endian),
			   is_unknown);
}

uint32_t perf_events_of_record(struct perf_events *events, const struct perf_raw *raw)
{
	size_t from_end = 8;
	bool is_unknown;
	uint64_t type;

	if (events->count == 1)
		return 0;
	type = events->list[0].attr.sample_type;
	if (!events->has_identifier) {
		if (!(type & PERF_SAMPLE_ID))
			return 0;
		from_end += type & PERF_SAMPLE_CPU ? 8 : 0;
		from_end += type & PERF_SAMPLE_STREAM_ID ? 8 : 0;
	}
	if (raw->body_size < from_end)
		return 0;
	return event_of_id(events,
			   perf_load_u64(raw->body + raw->body_size - from_end, raw->is_big_endian),
			   &is_unknown);
}

void perf_events_release(struct perf_events *events)
{
	free(events->list);
	free(events->ids);
	tl_index_release(&events->id_index);
	tl_arena_release(&events->arena);
	memset(events, 0, sizeof(*events));
}
