/*
 * perf_fuzz.c - any bytes as a perf.data recording: every event that comes of them is read to its
 * last byte, so that a sanitizer sees what a store would read.
 */
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "perf.h"
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t seen;

static void touch(const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t sum = 0;

	for (size_t i = 0; p && i < size; i++)
		sum += p[i];
	seen += sum;
}

static void touch_text(const char *text)
{
	touch(text, text ? strlen(text) + 1 : 0);
}

static void touch_type(const struct tl_event_type *type)
{
	touch_text(type->name);
	touch_text(type->unit);
	touch_text(type->detail);
	touch(&type->config, sizeof(type->config));
}

static void touch_symbols(const struct tl_event_dso_symbols *table)
{
	touch_text(table->path);
	for (size_t i = 0; i < table->symbol_count; i++) {
		touch(&table->symbols[i], sizeof(table->symbols[i]));
		touch_text(table->symbols[i].name);
	}
}

static void touch_sample(const struct tl_event_sample *sample)
{
	touch(sample, sizeof(*sample));
	for (size_t i = 0; i < sample->frame_count; i++) {
		touch(&sample->frames[i].ip, sizeof(sample->frames[i].ip));
		seen += sample->frames[i].context + sample->frames[i].is_marked;
	}
	if (sample->user_stack) {
		const struct tl_user_stack *stack = sample->user_stack;

		touch(stack->regs,
		      (size_t)__builtin_popcountll(stack->mask) * sizeof(*stack->regs));
		touch(stack->bytes, stack->size);
	}
	if (sample->payload) {
		touch(&sample->payload->key, sizeof(sample->payload->key));
		if (sample->payload->json)
			touch(sample->payload->json, sample->payload->json_length);
	}
}

static int touch_event(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	(void)sink;
	(void)err;
	seen += (uint64_t)ev->has_ts + (ev->has_ts ? (uint64_t)ev->ts : 0);
	switch (ev->kind) {
	case TL_EVENT_META:
		touch_text(ev->meta.key);
		touch_text(ev->meta.value);
		break;
	case TL_EVENT_CLOCK:
		touch(&ev->clock.offset_ns, sizeof(ev->clock.offset_ns));
		touch_text(ev->clock.name);
		touch_text(ev->clock.why);
		break;
	case TL_EVENT_TYPE:
		touch_type(&ev->type);
		break;
	case TL_EVENT_DSO:
		touch_text(ev->dso.path);
		touch(ev->dso.build_id.data, ev->dso.build_id.size);
		break;
	case TL_EVENT_DSO_SYMBOLS:
		touch_symbols(&ev->dso_symbols);
		break;
	case TL_EVENT_FORK:
		touch(&ev->fork, sizeof(ev->fork));
		break;
	case TL_EVENT_EXIT:
		touch(&ev->exit, sizeof(ev->exit));
		break;
	case TL_EVENT_COMM:
		touch_text(ev->comm.name);
		break;
	case TL_EVENT_MMAP:
		touch_text(ev->mmap.path);
		touch_text(ev->mmap.reference_symbol);
		touch(ev->mmap.build_id.data, ev->mmap.build_id.size);
		touch(&ev->mmap.start, sizeof(ev->mmap.start));
		break;
	case TL_EVENT_KSYMBOL:
		touch_text(ev->ksymbol.name);
		break;
	case TL_EVENT_NAMESPACE:
		touch(&ev->ns, sizeof(ev->ns));
		break;
	case TL_EVENT_CGROUP:
		touch_text(ev->cgroup.path);
		break;
	case TL_EVENT_SIDEBAND_END:
		break;
	case TL_EVENT_SAMPLE:
		touch_sample(&ev->sample);
		break;
	case TL_EVENT_SWITCH:
		touch(&ev->sched_switch, sizeof(ev->sched_switch));
		break;
	case TL_EVENT_WAKEUP:
		touch(&ev->wakeup, sizeof(ev->wakeup));
		break;
	case TL_EVENT_GAP:
		touch(&ev->gap, sizeof(ev->gap));
		break;
	case TL_EVENT_DIAGNOSTIC:
		touch_text(ev->diagnostic.what);
		touch_text(ev->diagnostic.unit);
		touch_text(ev->diagnostic.message);
		break;
	default: /* those of other formats, of which there will be more */
		abort();
	}
	return TL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_import_result result;
	struct tl_sink sink = { .emit = touch_event };
	struct tl_error err = { 0 };
	struct tl_input *in;
	char message[1024];

	if (tl_input_open_memory(&in, "fuzz", data, size, &err) < 0)
		return 0;
	if (tl_import(&perf_importer, in, NULL, &sink, &result, &err) < 0)
		touch_text(tl_error_format(&err, message, sizeof(message)));
	tl_input_close(in);
	return 0;
}
