/*
 * perf_facts.c - what a recording says of itself, as events: host and kernel, clock, kinds of samples,
 * build-ids, symbols. Told when the first pass is over, because pipes say it in between and times
 * are known only then.
 */
#include "perf_import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_MAX (64u << 20) /* of one feature: more is cut, and said so */

/* ---- reading ---- */

static int tell_damage(struct tl_sink *sink, const char *feature, struct tl_error *damage,
		       struct tl_error *err)
{
	char what[64], message[sizeof(damage->text) + sizeof(what) + 2];
	int ret;

	snprintf(what, sizeof(what), "header feature %s", feature);
	if (strstr(damage->text, feature))
		snprintf(message, sizeof(message), "%s", damage->text);
	else
		snprintf(message, sizeof(message), "%s: %s", what, damage->text);
	ret = perf_tell(sink,
			damage->status == TL_UNSUPPORTED ? TL_DIAGNOSTIC_UNSUPPORTED
							 : TL_DIAGNOSTIC_DAMAGED,
			what, 1, "features",
			damage->position_kind == TL_POSITION_BYTE ? damage->position : UINT64_MAX,
			message, err);
	tl_error_clear(damage);
	return ret;
}

int perf_tracing_data(struct perf_import *p, const uint8_t *data, size_t len, uint64_t offset,
		      struct tl_sink *sink, struct tl_error *err)
{
	struct tl_error damage = { 0 };
	const char *text;
	uint64_t position = 0;
	int ret;

	if (p->tracepoints)
		return TL_OK; /* told twice */
	ret = perf_tracepoints_open(&p->tracepoints, data, len, &damage);
	if (ret == TL_FORMAT || ret == TL_UNSUPPORTED) {
		damage.position_kind = TL_POSITION_BYTE;
		damage.position = offset;
		return tell_damage(sink, "TRACING_DATA", &damage, err);
	}
	if (ret < 0) {
		*err = damage;
		return ret;
	}
	text = perf_tracepoints_damage(p->tracepoints, &position);
	if (!text)
		return TL_OK;
	return perf_tell(sink, TL_DIAGNOSTIC_DAMAGED, "header feature TRACING_DATA", 1, "features",
			 offset + position, text, err);
}

static int read_feature(struct perf_import *p, unsigned feature, struct perf_section section,
			struct tl_sink *sink, struct tl_error *err)
{
	const char *known = perf_feature_name(feature);
	struct tl_error damage = { 0 };
	struct tl_cursor c;
	char name[24];
	uint8_t *data;
	size_t len;
	int ret = perf_section_read(p->main, section, SECTION_MAX, &data, &len, err);

	if (ret < 0)
		return ret;
	if (known)
		snprintf(name, sizeof(name), "%s", known);
	else
		snprintf(name, sizeof(name), "%u", feature);
	if (len < section.size)
		tl_fail_at(&damage, TL_FORMAT, section.offset,
			   "%zu of its %" PRIu64 " bytes are there", len, section.size);
	if (feature == HEADER_TRACING_DATA) {
		ret = perf_tracing_data(p, data, len, section.offset, sink, err);
	} else {
		tl_cursor_init(&c, data, len, section.offset, p->header.is_big_endian);
		ret = perf_feature_decode(&p->facts, feature, &c, &damage);
		if (ret == TL_FORMAT || ret == TL_UNSUPPORTED)
			ret = TL_OK;
		else if (ret < 0)
			*err = damage;
	}
	if (ret == TL_OK && damage.status != TL_OK)
		ret = tell_damage(sink, name, &damage, err);
	free(data);
	return ret;
}

/* What the tables before the records lack. */
static int tell_lack(const char *what, const char *unit, struct perf_lack *lack,
		     struct tl_sink *sink, struct tl_error *err)
{
	if (!lack->count)
		return TL_OK;
	return perf_tell(sink, TL_DIAGNOSTIC_DAMAGED, what, lack->count, unit, lack->first.position,
			 lack->first.text, err);
}

static bool is_read_later(unsigned feature)
{
	return feature == SIMPLEPERF_FEATURE_FILE || feature == SIMPLEPERF_FEATURE_FILE2;
}

/* The section of event names that files before Linux 3.x have. */
static int read_event_types(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	struct perf_section section = p->header.event_types;
	struct tl_error damage = { 0 };
	struct tl_cursor c;
	uint8_t *data;
	size_t len;
	int ret;

	if (!section.size)
		return TL_OK;
	ret = perf_section_read(p->main, section, SECTION_MAX, &data, &len, err);
	if (ret == TL_OK && len < section.size)
		tl_fail_at(&damage, TL_FORMAT, section.offset,
			   "the table of event types: %zu of its %" PRIu64 " bytes are there", len,
			   section.size);
	tl_cursor_init(&c, data, len, section.offset, p->header.is_big_endian);
	while (ret == TL_OK && tl_cursor_left(&c))
		ret = perf_event_type_decode(&p->facts, &c, &damage);
	free(data);
	if (ret < 0 && ret != TL_FORMAT) {
		*err = damage;
		return ret;
	}
	/* names only: others are made */
	return damage.status == TL_OK ? TL_OK : tell_damage(sink, "EVENT_TYPE", &damage, err);
}

/* Those that a cut file has lost, in one line. */
static int tell_missing(struct perf_import *p, uint64_t count, const char *first,
			struct tl_sink *sink, struct tl_error *err)
{
	char message[200];

	snprintf(message, sizeof(message),
		 "%" PRIu64 " features of the header lie behind the end of the file at byte "
		 "%" PRIu64 ", %s first",
		 count, p->header.file_size, first);
	return perf_tell(sink, TL_DIAGNOSTIC_TRUNCATED, "header features", count, "features",
			 UINT64_MAX, message, err);
}

int perf_facts_read(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	int ret = read_event_types(p, sink, err);
	const char *first_missing = NULL;
	uint64_t missing = 0;

	if (ret == TL_OK)
		ret = tell_lack("table of events", "tables", &p->header.attrs_lack, sink, err);
	if (ret == TL_OK)
		ret = tell_lack("ids of events", "events", &p->header.ids_lack, sink, err);
	for (size_t i = 0; ret == TL_OK && i < p->header.feature_count; i++) {
		unsigned feature = p->header.features[i].feature;
		struct perf_section section = p->header.features[i].section;

		if (feature >= SIMPLEPERF_FEATURE_FILE && feature <= SIMPLEPERF_FEATURE_FILE2)
			p->facts.is_simpleperf = true;
		if (section.size && section.offset >= p->header.file_size) {
			if (!missing++)
				first_missing = perf_feature_name(feature);
		} else if (!is_read_later(feature)) {
			ret = read_feature(p, feature, section, sink, err);
		}
	}
	if (ret == TL_OK && missing)
		ret = tell_missing(p, missing, first_missing ? first_missing : "an unknown one",
				   sink, err);
	return ret;
}

/* ---- names ---- */

static int apply_name(struct perf_import *p, const struct perf_event_name *name,
		      struct tl_error *err)
{
	struct perf_events *events = &p->events;
	size_t len = strlen(name->name);
	int64_t index = name->id ? perf_events_find(events, name->id) : -1;
	int ret = TL_OK;

	if (index < 0 && name->index < events->count &&
	    (!name->has_config || events->list[name->index].attr.config == name->config))
		index = name->index;
	if (index >= 0)
		return perf_events_rename(events, (uint32_t)index, name->source, name->name, len,
					  err);
	for (uint32_t i = 0; name->has_config && ret == TL_OK && i < events->count; i++) {
		const struct perf_event *event = &events->list[i];

		if (event->attr.config == name->config && event->name_source < name->source &&
		    (name->type == UINT32_MAX || name->type == event->attr.type))
			ret = perf_events_rename(events, i, name->source, name->name, len, err);
	}
	return ret;
}

static int make_name(struct perf_import *p, uint32_t index, struct tl_error *err)
{
	const struct perf_attr *attr = &p->events.list[index].attr;
	struct tl_text text = { 0 };
	int ret;

	perf_name_event(&text, attr, perf_facts_pmu(&p->facts, attr->type),
			perf_tracepoints_name(p->tracepoints, attr->config));
	ret = text.failed ? tl_fail(err, TL_NOMEM, "out of memory")
			  : perf_events_rename(&p->events, index, PERF_NAME_EVENT_TYPE, text.data,
					       text.length, err);
	tl_text_release(&text);
	return ret;
}

static int name_events(struct perf_import *p, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; ret == TL_OK && i < p->facts.name_count; i++)
		ret = apply_name(p, &p->facts.names[i], err);
	for (uint32_t i = 0; ret == TL_OK && i < p->events.count; i++)
		if (!p->events.list[i].name)
			ret = make_name(p, i, err);
	return ret;
}

static bool is_hidden(const struct perf_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

/*
 * Bits that this program does not know may move the fields behind theirs: what the known ones say is
 * taken, as far as it goes.
 */
static int tell_unknown_bits(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	const size_t sample_type_at = 24, read_format_at = 32; /* in perf_event_attr */
	uint64_t sample_type = 0, read_format = 0, type_at = 0, format_at = 0;
	uint64_t type_count = 0, format_count = 0;
	char message[100];
	int ret = TL_OK;

	for (size_t i = 0; i < p->events.count; i++) {
		const struct perf_attr *attr = &p->events.list[i].attr;

		if (attr->sample_type & ~(uint64_t)PERF_SAMPLE_KNOWN && !type_count++)
			type_at = attr->position + sample_type_at;
		if (attr->read_format & ~(uint64_t)PERF_FORMAT_KNOWN && !format_count++)
			format_at = attr->position + read_format_at;
		sample_type |= attr->sample_type & ~(uint64_t)PERF_SAMPLE_KNOWN;
		read_format |= attr->read_format & ~(uint64_t)PERF_FORMAT_KNOWN;
	}
	snprintf(message, sizeof(message),
		 "sample_type bits 0x%" PRIx64 " are unknown: their fields are not read",
		 sample_type);
	if (type_count)
		ret = perf_tell(sink, TL_DIAGNOSTIC_UNSUPPORTED, "bits of sample_type", type_count,
				"events", type_at, message, err);
	snprintf(message, sizeof(message),
		 "read_format bits 0x%" PRIx64 " are unknown: their values are not read",
		 read_format);
	if (ret == TL_OK && format_count)
		ret = perf_tell(sink, TL_DIAGNOSTIC_UNSUPPORTED, "bits of read_format",
				format_count, "events", format_at, message, err);
	return ret;
}

static int prepare_uses(struct perf_import *p, struct tl_error *err)
{
	p->uses = tl_alloc(p->events.count, sizeof(*p->uses), err);
	if (!p->uses)
		return TL_NOMEM;
	for (uint32_t i = 0; i < p->events.count; i++) {
		const struct perf_attr *attr = &p->events.list[i].attr;
		bool is_every = !(attr->flags & PERF_ATTR_FREQ) && attr->sample_period <= 1;
		int ret;

		p->uses[i].is_tracepoint = attr->type == PERF_TYPE_TRACEPOINT;
		p->uses[i].is_sampled = p->uses[i].is_tracepoint && !is_every;
		if (!p->uses[i].is_tracepoint || !(attr->sample_type & PERF_SAMPLE_RAW) ||
		    perf_tracepoints_name(p->tracepoints, attr->config))
			continue;
		ret = perf_tally_add(p, PERF_TALLY_NO_FORMAT, 0, 1, UINT64_MAX, err);
		if (ret < 0)
			return ret;
	}
	return TL_OK;
}

/* ---- events ---- */

static int emit_metas(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_META };
	char text[24];
	int ret = TL_OK;

	if (!p->facts.has_sample_time && p->last_ns) {
		snprintf(text, sizeof(text), "%" PRIu64, p->first_ns);
		ret = perf_facts_meta(&p->facts, "first_ts", text, sizeof(text), err);
		snprintf(text, sizeof(text), "%" PRIu64, p->last_ns);
		if (ret == TL_OK)
			ret = perf_facts_meta(&p->facts, "last_ts", text, sizeof(text), err);
	}
	for (size_t i = 0; ret == TL_OK && i < p->facts.meta_count; i++) {
		ev.meta.key = p->facts.metas[i].key;
		ev.meta.value = p->facts.metas[i].value;
		ret = sink->emit(sink, &ev, err);
	}
	return ret;
}

static void assume_clock(const struct perf_import *p, struct tl_event_clock *clock)
{
	int64_t modified_ns = tl_input_modified_ns(p->main);
	uint64_t last = p->facts.has_sample_time ? p->facts.last_ns : p->last_ns;

	clock->method = TL_CLOCK_ASSUMED;
	clock->residual_ns = -1;
	if (!perf_is_time(last)) {
		clock->why = "no record has a time";
	} else if (!modified_ns ||
		   __builtin_sub_overflow(modified_ns, (int64_t)last, &clock->offset_ns)) {
		clock->offset_ns = 0;
		clock->why = "neither the file nor its date says when it was: times are left as "
			     "recorded";
	} else {
		clock->why = "the file's date taken as the time of the last record; record with "
			     "-k CLOCK_MONOTONIC to know it";
	}
}

/*
 * CLOCK_DATA is one look at both clocks. Nobody steers CLOCK_MONOTONIC_RAW: until the last record it went
 * off by as much as crystals and NTP make.
 */
static int64_t clock_data_residual(const struct perf_import *p)
{
	const int64_t resolution_ns = 1000; /* its wall clock is gettimeofday() */
	const uint64_t drift_part = 10000;  /* 100 ppm */
	const uint32_t clock_monotonic_raw = 4;
	uint64_t last = p->facts.has_sample_time ? p->facts.last_ns : p->last_ns;

	if (p->facts.clock_id != clock_monotonic_raw || last <= p->facts.clock_ns)
		return resolution_ns;
	return resolution_ns + (int64_t)((last - p->facts.clock_ns) / drift_part);
}

/* The event whose clock counts: the first that is not only there for the sideband. */
static const struct perf_attr *clock_attr(const struct perf_events *events)
{
	for (size_t i = 0; i < events->count; i++)
		if (!is_hidden(&events->list[i].attr))
			return &events->list[i].attr;
	return events->count ? &events->list[0].attr : NULL;
}

static int emit_clock(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	const int clock_realtime = 0;
	const struct perf_attr *attr = clock_attr(&p->events);
	bool is_chosen = attr && attr->flags & PERF_ATTR_USE_CLOCKID;
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	ev.clock.name = attr ? perf_clock_name(attr) : "sched_clock";
	if (is_chosen && attr->clockid == clock_realtime) {
		ev.clock.method = TL_CLOCK_EXACT;
		ev.clock.why = "recorded on CLOCK_REALTIME";
	} else if (is_chosen && p->facts.has_clock_data &&
		   p->facts.clock_id == (uint32_t)attr->clockid) {
		ev.clock.method = TL_CLOCK_EXACT;
		ev.clock.offset_ns = (int64_t)(p->facts.wall_clock_ns - p->facts.clock_ns);
		ev.clock.residual_ns = clock_data_residual(p);
		ev.clock.why = "CLOCK_DATA of the file";
	} else {
		assume_clock(p, &ev.clock);
	}
	return sink->emit(sink, &ev, err);
}

static int emit_type(struct perf_import *p, uint32_t index, struct tl_sink *sink,
		     struct tl_error *err)
{
	const struct perf_event *event = &p->events.list[index];
	const struct perf_attr *attr = &event->attr;
	bool is_clock =
		attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						     attr->config == PERF_COUNT_SW_TASK_CLOCK);
	struct tl_event ev = { .kind = TL_EVENT_TYPE };
	struct tl_text detail = { 0 };
	int ret;

	ev.type.index = index;
	ev.type.name = event->name;
	ev.type.type = attr->type;
	ev.type.config = attr->config;
	if (attr->flags & PERF_ATTR_FREQ)
		ev.type.freq = attr->sample_period;
	else
		ev.type.period = attr->sample_period;
	ev.type.is_tracepoint = p->uses[index].is_tracepoint;
	ev.type.is_hidden = is_hidden(attr);
	ev.type.unit = is_clock ? "ns" : "events";
	perf_name_detail(&detail, attr);
	ev.type.detail = detail.data;
	ret = detail.failed ? tl_fail(err, TL_NOMEM, "out of memory") : sink->emit(sink, &ev, err);
	tl_text_release(&detail);
	return ret;
}

static int emit_dsos(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DSO };
	int ret = TL_OK;

	for (size_t i = 0; ret == TL_OK && i < p->facts.build_id_count; i++) {
		ev.dso.path = p->facts.build_ids[i].path;
		ev.dso.build_id = p->facts.build_ids[i].build_id;
		ev.dso.context = p->facts.build_ids[i].context;
		ev.dso.pid = p->facts.build_ids[i].pid;
		ret = sink->emit(sink, &ev, err);
	}
	return ret;
}

static int emit_symbols(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; ret == TL_OK && i < p->header.feature_count; i++) {
		struct perf_section section = p->header.features[i].section;
		unsigned feature = p->header.features[i].feature;
		struct tl_error damage = { 0 }, refusal = { 0 };
		uint8_t *data;
		size_t len;

		if (!is_read_later(feature))
			continue;
		ret = perf_section_read(p->main, section, SECTION_MAX, &data, &len, err);
		if (ret < 0)
			break;
		if (len < section.size && section.offset < p->header.file_size)
			tl_fail_at(&damage, TL_FORMAT, section.offset,
				   "%zu of its %" PRIu64 " bytes are there", len, section.size);
		ret = perf_symbols_emit(data, len, section.offset, feature, sink, &refusal);
		free(data);
		if (damage.status == TL_OK)
			damage = refusal;
		if (ret == TL_FORMAT && refusal.position_kind == TL_POSITION_BYTE)
			ret = TL_OK;
		else if (ret < 0)
			*err = refusal;
		if (ret == TL_OK && damage.status != TL_OK)
			ret = tell_damage(sink, perf_feature_name(feature), &damage, err);
	}
	return ret;
}

int perf_facts_emit(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event end = { .kind = TL_EVENT_SIDEBAND_END };
	int ret = name_events(p, err);

	if (ret == TL_OK && !p->tracepoints)
		ret = perf_tracepoints_open(&p->tracepoints, NULL, 0, err);
	if (ret == TL_OK)
		ret = prepare_uses(p, err);
	if (ret == TL_OK)
		ret = tell_unknown_bits(p, sink, err);
	if (ret == TL_OK)
		ret = emit_metas(p, sink, err);
	if (ret == TL_OK)
		ret = emit_clock(p, sink, err);
	for (uint32_t i = 0; ret == TL_OK && i < p->events.count; i++)
		ret = emit_type(p, i, sink, err);
	if (ret == TL_OK)
		ret = emit_dsos(p, sink, err);
	if (ret == TL_OK)
		ret = emit_symbols(p, sink, err);
	return ret == TL_OK ? sink->emit(sink, &end, err) : ret;
}
