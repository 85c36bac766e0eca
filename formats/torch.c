/*
 * torch.c - the importer of what PyTorch's profiler (kineto) writes, 2021 to now: what its
 * categories mean. The walk and everything that other producers share lie elsewhere.
 */
#include "torch.h"

#include <string.h>

#include "trace_events.h"

/* kineto: libkineto/src/ActivityType.cpp; the capitalised ones are those of 2021. */
static const struct {
	const char *name;
	enum trace_domain domain;
	enum tl_slice_class class_;
} categories[] = {
	{ "cpu_op", TRACE_HOST, TL_SLICE_OPERATOR },
	{ "cuda_runtime", TRACE_HOST, TL_SLICE_RUNTIME },
	{ "kernel", TRACE_DEVICE, TL_SLICE_KERNEL },
	{ "ac2g", TRACE_HOST, TL_SLICE_OTHER },
	{ "python_function", TRACE_HOST, TL_SLICE_PYTHON },
	{ "user_annotation", TRACE_HOST, TL_SLICE_ANNOTATION },
	{ "gpu_user_annotation", TRACE_DEVICE, TL_SLICE_DEVICE_ANNOTATION },
	{ "gpu_memcpy", TRACE_DEVICE, TL_SLICE_MEMORY_COPY },
	{ "gpu_memset", TRACE_DEVICE, TL_SLICE_MEMORY_COPY },
	{ "cuda_driver", TRACE_HOST, TL_SLICE_RUNTIME },
	{ "fwdbwd", TRACE_HOST, TL_SLICE_OTHER },
	{ "operator", TRACE_HOST, TL_SLICE_OPERATOR },
	{ "runtime", TRACE_HOST, TL_SLICE_RUNTIME },
	{ "memcpy", TRACE_DEVICE, TL_SLICE_MEMORY_COPY },
	{ "memset", TRACE_DEVICE, TL_SLICE_MEMORY_COPY },
	{ "async", TRACE_HOST, TL_SLICE_OTHER },
	{ "async_gpu", TRACE_HOST, TL_SLICE_OTHER },
	{ "async_cpu_to_gpu", TRACE_HOST, TL_SLICE_OTHER },
	{ "cpu_instant_event", TRACE_HOST, TL_SLICE_OTHER },
	{ "memory", TRACE_HOST, TL_SLICE_OTHER },
	{ "overhead", TRACE_OTHER, TL_SLICE_OVERHEAD },
	{ "trace", TRACE_OTHER, TL_SLICE_OTHER },
	{ "external_correlation", TRACE_HOST, TL_SLICE_OTHER },
	{ "cuda_sync", TRACE_DEVICE, TL_SLICE_SYNC },
	{ "cuda_event", TRACE_DEVICE, TL_SLICE_SYNC },
	{ "cuda_profiler_range", TRACE_DEVICE, TL_SLICE_OTHER },
	{ "glow_runtime", TRACE_HOST, TL_SLICE_RUNTIME },
	{ "mtia_runtime", TRACE_HOST, TL_SLICE_RUNTIME },
	{ "mtia_ccp_events", TRACE_DEVICE, TL_SLICE_KERNEL },
	{ "mtia_insight", TRACE_DEVICE, TL_SLICE_OTHER },
	{ "mtia_counters", TRACE_COUNTERS, TL_SLICE_OTHER },
	{ "hpu_op", TRACE_DEVICE, TL_SLICE_KERNEL },
	{ "xpu_runtime", TRACE_HOST, TL_SLICE_RUNTIME },
	{ "xpu_driver", TRACE_HOST, TL_SLICE_RUNTIME },
	{ "xpu_sync", TRACE_DEVICE, TL_SLICE_SYNC },
	{ "xpu_scope_profiler", TRACE_DEVICE, TL_SLICE_OTHER },
	{ "collective_comm", TRACE_DEVICE, TL_SLICE_COMMUNICATION },
	{ "privateuse1_runtime", TRACE_HOST, TL_SLICE_RUNTIME },
	{ "privateuse1_driver", TRACE_HOST, TL_SLICE_RUNTIME },
	{ "hardware_counters", TRACE_COUNTERS, TL_SLICE_OTHER },
};

bool trace_torch_category(const struct js_scalar *category, struct trace_row *row)
{
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
		if (!trace_text_is(category, categories[i].name))
			continue;
		row->domain = categories[i].domain;
		row->class_ = categories[i].class_;
		return true;
	}
	return false;
}

/* ncclKernel_..., ncclDevKernel_... (RCCL too), oneccl, hccl: collectives run as kernels. */
static bool is_collective(const char *name, size_t length)
{
	static const char *const starts[] = { "nccl", "rccl", "hccl", "oneccl", "xccl", "msccl" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (trace_starts_with(name, length, starts[i]))
			return true;
	return false;
}

void trace_torch_refine(const char *name, size_t length, struct trace_row *row)
{
	if (row->class_ == TL_SLICE_KERNEL && is_collective(name, length))
		row->class_ = TL_SLICE_COMMUNICATION;
	else if (row->class_ == TL_SLICE_RUNTIME && trace_contains(name, length, "Synchronize"))
		row->class_ = TL_SLICE_SYNC;
}

/* The end of a launch arrow lies on a device, whose numbers are small; the rest on threads. */
static void describe_flow(const struct trace_event *ev, struct trace_row *row)
{
	bool is_launch = row->domain == TRACE_HOST && ev->phase == 'f' &&
			 !trace_text_is(&ev->category, "fwdbwd");

	if (is_launch &&
	    (ev->pid.length <= 2 || trace_starts_with(ev->tid.text, ev->tid.length, "stream")))
		row->domain = TRACE_DEVICE;
}

static void torch_describe(struct trace_import *t, const struct trace_event *ev, const char *name,
			   size_t name_length, struct trace_row *row)
{
	(void)t;
	if (ev->category.kind == JS_NONE) {
		/* [memory] of a thread; marks of the profiler on rows of their own */
		if (ev->pid.kind == JS_STRING)
			row->domain = TRACE_OTHER;
		return;
	}
	if (!trace_torch_category(&ev->category, row) && ev->pid.kind == JS_STRING)
		row->domain = TRACE_OTHER;
	if (ev->phase == 's' || ev->phase == 't' || ev->phase == 'f')
		describe_flow(ev, row);
	trace_torch_refine(name, name_length, row);
}

static const struct trace_producer producer = {
	.describe = torch_describe,
	.has_quarter_base = true,
	.is_zero_unknown = true,
};

static bool has(const uint8_t *head, size_t len, const char *text)
{
	return memmem(head, len, text, strlen(text)) != NULL;
}

/* A top-level object with keys, or events with categories, that only this profiler writes. */
static int torch_probe(const uint8_t *head, size_t len)
{
	static const char *const keys[] = { "\"deviceProperties\"", "\"computeProperties\"",
					    "\"distributedInfo\"",  "\"record_shapes\"",
					    "\"cupti_version\"",    "\"cuda_runtime_version\"",
					    "\"roctracer_version\"" };
	static const char *const values[] = { "\"cpu_op\"",	  "\"user_annotation\"",
					      "\"cuda_runtime\"", "\"ac2g\"",
					      "\"gpu_memcpy\"",	  "\"External id\"",
					      "\"external id\"",  "\"python_function\"",
					      "\"cuda_driver\"",  "ProfilerStep#" };
	size_t first = trace_probe_start(head, len);
	bool is_object = first < len && head[first] == '{';
	bool has_string_times = has(head, len, "\"ts\": \"") || has(head, len, "\"ts\":\"");

	if (first == len || (head[first] != '{' && head[first] != '['))
		return 0;
	for (size_t i = 0; is_object && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (has(head, len, keys[i]))
			return 95;
	if (!trace_probe_has_events(head, len))
		return is_object && has(head, len, "\"schemaVersion\"") &&
				       has(head, len, "\"traceName\"")
			       ? 90
			       : 0;
	if (is_object && has(head, len, "\"schemaVersion\""))
		return 90;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && !has_string_times; i++)
		if (has(head, len, values[i]))
			return is_object ? 85 : 75;
	return 0;
}

static int torch_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		      struct tl_error *err)
{
	return trace_import_open(state, &producer, in, opt, err);
}

const struct tl_importer torch_importer = {
	.name = "torch",
	.summary = "traces of PyTorch's profiler (kineto), JSON",
	.probe = torch_probe,
	.open = torch_open,
	.read = trace_import_read,
	.close = trace_import_close,
};
