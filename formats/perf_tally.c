/*
 * perf_tally.c - counts what the importer could not keep, and tells it once, in words.
 */
#include "perf_import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ITEM_COUNT_MAX 512u /* distinct things to tell; a file of random types has more */
#define TYPE_OTHERS    UINT64_MAX

int perf_tally_add(struct perf_import *p, enum perf_tally_what what, uint64_t number,
		   uint64_t count, uint64_t position, struct tl_error *err)
{
	struct perf_tally *t = &p->tally;
	int ret;

	for (size_t i = 0; i < t->count; i++) {
		if (t->items[i].what == what && t->items[i].number == number) {
			t->items[i].count += count;
			return TL_OK;
		}
	}
	if (t->count >= ITEM_COUNT_MAX && number != TYPE_OTHERS)
		return perf_tally_add(p, what, TYPE_OTHERS, count, position, err);
	ret = tl_grow(&t->items, &t->capacity, t->count + 1, err);
	if (ret < 0)
		return ret;
	t->items[t->count].what = what;
	t->items[t->count].number = number;
	t->items[t->count].count = count;
	t->items[t->count].position = position;
	t->count++;
	return TL_OK;
}

int perf_tell(struct tl_sink *sink, enum tl_diagnostic_kind kind, const char *what, uint64_t count,
	      const char *unit, uint64_t position, const char *message, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic.kind = kind;
	ev.diagnostic.what = what;
	ev.diagnostic.count = count;
	ev.diagnostic.unit = unit;
	if (position != UINT64_MAX) {
		ev.diagnostic.position_kind = TL_POSITION_BYTE;
		ev.diagnostic.position = position;
	}
	ev.diagnostic.message = message;
	return sink->emit(sink, &ev, err);
}

static const char *trace_kind(uint64_t kind)
{
	switch (kind) { /* enum auxtrace_type */
	case 1:
		return "Intel PT";
	case 2:
		return "Intel BTS";
	case 3:
		return "ARM CoreSight";
	case 4:
		return "ARM SPE";
	case 5:
		return "s390 CPU-MF";
	case 6:
		return "HiSilicon PTT";
	}
	return "hardware";
}

struct words {
	enum tl_diagnostic_kind kind;
	const char *unit;
	char what[160], message[256]; /* no message: "" */
};

static void say(struct words *w, enum tl_diagnostic_kind kind, const char *unit, const char *what)
{
	w->kind = kind;
	w->unit = unit;
	snprintf(w->what, sizeof(w->what), "%s", what);
}

static void say_record_type(struct words *w, const struct perf_tally_item *item)
{
	const char *name =
		item->number < TYPE_OTHERS ? perf_record_name((uint32_t)item->number) : NULL;

	w->kind = name ? TL_DIAGNOSTIC_SKIPPED : TL_DIAGNOSTIC_UNSUPPORTED;
	w->unit = "records";
	if (name)
		snprintf(w->what, sizeof(w->what), "%s records", name);
	else if (item->number == TYPE_OTHERS)
		snprintf(w->what, sizeof(w->what), "records of further unknown types");
	else
		snprintf(w->what, sizeof(w->what), "records of unknown type %" PRIu64,
			 item->number);
}

static void say_sampled(struct perf_import *p, struct words *w, const struct perf_tally_item *item)
{
	const struct perf_event *event = &p->events.list[item->number];
	char name[100];

	say(w, TL_DIAGNOSTIC_NOTE, "samples", "");
	tl_printable(name, sizeof(name), event->name, strlen(event->name));
	snprintf(w->what, sizeof(w->what), "sampled tracepoint %s", name);
	snprintf(w->message, sizeof(w->message),
		 "%s was recorded one in many (%s %" PRIu64
		 "): weigh it by its period; times between hits mean nothing",
		 name, event->attr.flags & PERF_ATTR_FREQ ? "frequency" : "period",
		 event->attr.sample_period);
}

static void put_words(struct perf_import *p, struct words *w, const struct perf_tally_item *item)
{
	switch (item->what) {
	case PERF_TALLY_RECORD_TYPE:
		say_record_type(w, item);
		break;
	case PERF_TALLY_UNKNOWN_ID:
		say(w, TL_DIAGNOSTIC_DAMAGED, "samples",
		    "samples with an id of no event, counted to the first event");
		break;
	case PERF_TALLY_NO_EVENT:
		say(w, TL_DIAGNOSTIC_DAMAGED, "samples", "samples before any event was described");
		break;
	case PERF_TALLY_BRANCH_STACK:
		say(w, TL_DIAGNOSTIC_SKIPPED, "samples", "branch stacks");
		break;
	case PERF_TALLY_REGISTERS:
		say(w, TL_DIAGNOSTIC_SKIPPED, "samples", "registers without a stack");
		break;
	case PERF_TALLY_AUX_SAMPLE:
		say(w, TL_DIAGNOSTIC_SKIPPED, "samples", "hardware trace inside samples");
		break;
	case PERF_TALLY_RAW:
		say(w, TL_DIAGNOSTIC_SKIPPED, "samples",
		    "raw data of events that are no tracepoints");
		break;
	case PERF_TALLY_WEIGHTS:
		say(w, TL_DIAGNOSTIC_SKIPPED, "samples", "second and third part of weights");
		break;
	case PERF_TALLY_HARDWARE_TRACE:
		say(w, TL_DIAGNOSTIC_SKIPPED, "bytes", "hardware trace");
		snprintf(w->message, sizeof(w->message),
			 "%" PRIu64 " bytes of %s trace skipped, not decoded", item->count,
			 trace_kind(p->aux_kind));
		break;
	case PERF_TALLY_SAMPLED:
		say_sampled(p, w, item);
		break;
	case PERF_TALLY_DEFERRED_MISSING:
		say(w, TL_DIAGNOSTIC_LOST, "call chains",
		    "user halves of call chains that never arrived");
		break;
	case PERF_TALLY_LOST:
		say(w, TL_DIAGNOSTIC_LOST, p->is_lost_superseded ? "samples" : "records",
		    "lost by the recorder");
		break;
	case PERF_TALLY_FILTERED:
		say(w, TL_DIAGNOSTIC_SKIPPED, "samples", "samples left out by a BPF filter");
		break;
	case PERF_TALLY_COUNTER_BACK:
		say(w, TL_DIAGNOSTIC_DAMAGED, "values", "counters that went back");
		break;
	case PERF_TALLY_NO_FORMAT:
		say(w, TL_DIAGNOSTIC_UNSUPPORTED, "events",
		    "tracepoints without a format: their fields are kept as bytes");
		break;
	case PERF_TALLY_ODD_BUILD_ID:
		say(w, TL_DIAGNOSTIC_DAMAGED, "records",
		    "build-ids of MMAP2 records with a size above 20");
		break;
	case PERF_TALLY_UNREAD:
		say(w, TL_DIAGNOSTIC_UNSUPPORTED, "samples",
		    "samples with bytes behind their last known field");
		break;
	}
}

int perf_tally_emit(struct perf_import *p, struct tl_sink *sink, struct tl_error *err)
{
	for (size_t i = 0; i < p->tally.count; i++) {
		const struct perf_tally_item *item = &p->tally.items[i];
		struct words w = { .message = "" };
		int ret;

		put_words(p, &w, item);
		ret = perf_tell(sink, w.kind, w.what, item->count, w.unit, item->position,
				w.message[0] ? w.message : NULL, err);
		if (ret < 0)
			return ret;
	}
	return TL_OK;
}
