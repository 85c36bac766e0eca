/*
 * ascend.c - the importer of Ascend's traces (trace_view.json of torch_npu, msprof_*.json): an
 * array whose rows belong to layers, named by metadata that may come after the rows. Layers of
 * software and hardware have made-up pids; threads keep the system's tids.
 */
#include "ascend.h"

#include <string.h>

#include "trace_events.h"

enum layer {
	LAYER_UNKNOWN,
	LAYER_PYTHON,
	LAYER_CANN,
	LAYER_HARDWARE,
	LAYER_COMMUNICATION,
	LAYER_OVERLAP,
	LAYER_OS,
	LAYER_GC,
	LAYER_OTHER
};

static enum layer layer_of_name(const char *name)
{
	static const struct {
		const char *name;
		enum layer layer;
	} layers[] = {
		{ "Python", LAYER_PYTHON },
		{ "CANN", LAYER_CANN },
		{ "Ascend Hardware", LAYER_HARDWARE },
		{ "Communication", LAYER_COMMUNICATION },
		{ "HCCL", LAYER_COMMUNICATION }, /* until 2025 */
		{ "Overlap Analysis", LAYER_OVERLAP },
		{ "OS Runtime API", LAYER_OS },
		{ "Python GC", LAYER_GC },
	};

	if (!name)
		return LAYER_UNKNOWN;
	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
		if (!strcmp(layers[i].name, name))
			return layers[i].layer;
	return LAYER_OTHER;
}

static bool has_member(const struct trace_event *ev, const char *key)
{
	size_t length = strlen(key);

	for (size_t i = 0; ev->arguments && i < ev->members->count; i++)
		if (ev->members->items[i].key_length == length &&
		    !memcmp(ev->arguments + ev->members->items[i].key, key, length))
			return true;
	return false;
}

/* Rows whose layer was not named yet are known by what they hold. */
static enum layer layer_of_event(const struct trace_event *ev, const char *name, size_t length)
{
	static const char *const overlap[] = { "Computing", "Communication",
					       "Communication(Not Overlapped)", "Free" };

	if (ev->category.kind == JS_STRING && ev->category.length)
		return LAYER_PYTHON;
	if (has_member(ev, "Mode") && has_member(ev, "level"))
		return LAYER_CANN;
	if (has_member(ev, "Task Type"))
		return LAYER_HARDWARE;
	if (has_member(ev, "transport type") || has_member(ev, "alg_type") ||
	    trace_starts_with(name, length, "hcom_"))
		return LAYER_COMMUNICATION;
	for (size_t i = 0; i < sizeof(overlap) / sizeof(overlap[0]); i++)
		if (strlen(overlap[i]) == length && !memcmp(overlap[i], name, length))
			return LAYER_OVERLAP;
	return LAYER_UNKNOWN;
}

/* (pid << 10) | (layer << 5) | device, 31 being the host; the older, decimal ones do not tell. */
static int32_t device_of_pid(const struct trace_event *ev)
{
	uint64_t pid;

	if (ev->pid.kind != JS_NUMBER || tl_parse_u64(ev->pid.text, ev->pid.length, 10, &pid) == 0)
		return -1;
	if (pid >> 10 < 2 || pid >> 32 || (pid & 31) == 31)
		return -1;
	return (int32_t)(pid & 31);
}

static void describe_python(const struct trace_event *ev, struct trace_row *row)
{
	if (trace_text_is(&ev->category, "enqueue") || trace_text_is(&ev->category, "dequeue"))
		row->class_ = TL_SLICE_RUNTIME;
	else if (trace_text_is(&ev->category, "GC"))
		row->class_ = TL_SLICE_GARBAGE_COLLECTION;
	else
		trace_torch_category(&ev->category, row);
	row->domain = TRACE_HOST;
}

static bool is_member_text(const struct trace_event *ev, const char *key, const char *part)
{
	size_t length = strlen(key);

	for (size_t i = 0; ev->arguments && i < ev->members->count; i++) {
		const struct js_member *m = &ev->members->items[i];

		if (m->key_length == length && !memcmp(ev->arguments + m->key, key, length))
			return trace_contains(ev->arguments + m->value, m->value_length, part);
	}
	return false;
}

static void describe_hardware(const struct trace_event *ev, const char *name, size_t length,
			      struct trace_row *row)
{
	row->domain = TRACE_DEVICE;
	row->class_ = TL_SLICE_KERNEL;
	if (trace_starts_with(name, length, "memcpy") ||
	    trace_starts_with(name, length, "memset") || is_member_text(ev, "Task Type", "DMA"))
		row->class_ = TL_SLICE_MEMORY_COPY;
	else if (trace_starts_with(name, length, "hcom_"))
		row->class_ = TL_SLICE_COMMUNICATION;
	else if (trace_contains(name, length, "_WAIT") || trace_contains(name, length, "Wait") ||
		 trace_starts_with(name, length, "EVENT_") ||
		 trace_starts_with(name, length, "Notify") ||
		 trace_starts_with(name, length, "Write Value"))
		row->class_ = TL_SLICE_SYNC;
	else if (trace_starts_with(name, length, "PROFILING_"))
		row->class_ = TL_SLICE_OVERHEAD;
}

/* Whole collectives, and on the planes below the tasks that they are made of. */
static void describe_communication(const struct trace_event *ev, const char *name, size_t length,
				   struct trace_row *row)
{
	row->domain = TRACE_DEVICE;
	row->class_ = TL_SLICE_COMMUNICATION;
	if (!has_member(ev, "task type") && !has_member(ev, "transport type"))
		return;
	if (trace_starts_with(name, length, "Memcpy"))
		row->class_ = TL_SLICE_MEMORY_COPY;
	else if (trace_starts_with(name, length, "Notify") || trace_contains(name, length, "Wait"))
		row->class_ = TL_SLICE_SYNC;
}

static void ascend_describe(struct trace_import *t, const struct trace_event *ev, const char *name,
			    size_t length, struct trace_row *row)
{
	enum layer layer = layer_of_name(trace_process_name(t, ev));

	if (layer == LAYER_UNKNOWN)
		layer = layer_of_event(ev, name, length);
	row->is_layer = layer != LAYER_PYTHON && layer != LAYER_UNKNOWN;
	if (row->is_layer && row->device < 0)
		row->device = device_of_pid(ev);
	switch (layer) {
	case LAYER_PYTHON:
		describe_python(ev, row);
		break;
	case LAYER_CANN:
		row->class_ = trace_contains(name, length, "Synchronize") ? TL_SLICE_SYNC
									  : TL_SLICE_RUNTIME;
		break;
	case LAYER_HARDWARE:
		describe_hardware(ev, name, length, row);
		break;
	case LAYER_COMMUNICATION:
		describe_communication(ev, name, length, row);
		break;
	case LAYER_OVERLAP:
		row->domain = TRACE_OTHER;
		row->class_ = TL_SLICE_OVERLAP;
		break;
	case LAYER_OS:
		row->class_ = TL_SLICE_OS_CALL;
		break;
	case LAYER_GC:
		row->class_ = TL_SLICE_GARBAGE_COLLECTION;
		break;
	case LAYER_UNKNOWN:
	case LAYER_OTHER:
		row->domain = TRACE_OTHER;
		break;
	}
}

static const struct trace_producer producer = {
	.describe = ascend_describe,
};

static bool has(const uint8_t *head, size_t len, const char *text)
{
	return len && memmem(head, len, text, strlen(text)) != NULL;
}

/*
 * An array, or what tools make of it, an object with the events only, whose times are strings of Unix time, or
 * that names the layers.
 */
static int ascend_probe(const uint8_t *head, size_t len)
{
	/* the last two are names that others use in their objects, too */
	static const char *const layers[] = { "\"CANN\"",
					      "\"Ascend Hardware\"",
					      "\"Overlap Analysis\"",
					      "\"OS Runtime API\"",
					      "\"AI Core Freq\"",
					      "\"NPU\"",
					      "\"HCCL\"" };
	size_t first = trace_probe_start(head, len), count = sizeof(layers) / sizeof(layers[0]);
	bool is_object = first < len && head[first] == '{';

	if (first == len || (head[first] != '[' && !is_object) ||
	    !trace_probe_has_events(head, len))
		return 0;
	if (is_object && has(head, len, "\"schemaVersion\"")) /* PyTorch's own */
		return 0;
	for (size_t i = 0; i < count - (is_object ? 2 : 0); i++)
		if (has(head, len, layers[i]))
			return 93;
	if ((has(head, len, "\"ts\": \"1") || has(head, len, "\"ts\":\"1")) &&
	    (has(head, len, "\"cpu_op\"") || has(head, len, "\"enqueue\"") ||
	     has(head, len, "\"dequeue\"") || has(head, len, "\"python_function\"")))
		return 93;
	return 0;
}

static int ascend_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		       struct tl_error *err)
{
	return trace_import_open(state, &producer, in, opt, err);
}

const struct tl_importer ascend_importer = {
	.name = "ascend",
	.summary = "traces of Ascend's profiler, JSON",
	.probe = ascend_probe,
	.open = ascend_open,
	.read = trace_import_read,
	.close = trace_import_close,
};
