/*
 * torch.c - the importer of what PyTorch's profiler (kineto) writes, 2021 to now: what its
 * categories mean. The walk and everything that other producers share lie elsewhere.
 */
#include "torch.h"

#include <string.h>
#include <strings.h>

#include "trace_events.h"

/* kineto: libkineto/src/ActivityType.cpp; the capitalised ones are those of 2021. */
#define NAME(text) text, sizeof(text) - 1
static const struct {
	const char *name;
	size_t length;
	enum trace_domain domain;
	enum tl_slice_class class_;
} categories[] = {
	{ NAME("cpu_op"), TRACE_HOST, TL_SLICE_OPERATOR },
	{ NAME("cuda_runtime"), TRACE_HOST, TL_SLICE_RUNTIME },
	{ NAME("kernel"), TRACE_DEVICE, TL_SLICE_KERNEL },
	{ NAME("ac2g"), TRACE_HOST, TL_SLICE_OTHER },
	{ NAME("python_function"), TRACE_HOST, TL_SLICE_PYTHON },
	{ NAME("user_annotation"), TRACE_HOST, TL_SLICE_ANNOTATION },
	{ NAME("gpu_user_annotation"), TRACE_DEVICE, TL_SLICE_DEVICE_ANNOTATION },
	{ NAME("gpu_memcpy"), TRACE_DEVICE, TL_SLICE_MEMORY_COPY },
	{ NAME("gpu_memset"), TRACE_DEVICE, TL_SLICE_MEMORY_COPY },
	{ NAME("cuda_driver"), TRACE_HOST, TL_SLICE_RUNTIME },
	{ NAME("fwdbwd"), TRACE_HOST, TL_SLICE_OTHER },
	{ NAME("operator"), TRACE_HOST, TL_SLICE_OPERATOR },
	{ NAME("runtime"), TRACE_HOST, TL_SLICE_RUNTIME },
	{ NAME("memcpy"), TRACE_DEVICE, TL_SLICE_MEMORY_COPY },
	{ NAME("memset"), TRACE_DEVICE, TL_SLICE_MEMORY_COPY },
	{ NAME("async"), TRACE_HOST, TL_SLICE_OTHER },
	{ NAME("async_gpu"), TRACE_HOST, TL_SLICE_OTHER },
	{ NAME("async_cpu_to_gpu"), TRACE_HOST, TL_SLICE_OTHER },
	{ NAME("cpu_instant_event"), TRACE_HOST, TL_SLICE_OTHER },
	{ NAME("memory"), TRACE_HOST, TL_SLICE_OTHER },
	{ NAME("overhead"), TRACE_OTHER, TL_SLICE_OVERHEAD },
	{ NAME("trace"), TRACE_OTHER, TL_SLICE_OVERLAP }, /* one span for the whole recording */
	{ NAME("external_correlation"), TRACE_HOST, TL_SLICE_OTHER },
	{ NAME("cuda_sync"), TRACE_DEVICE, TL_SLICE_SYNC },
	{ NAME("cuda_event"), TRACE_DEVICE, TL_SLICE_SYNC },
	{ NAME("cuda_profiler_range"), TRACE_DEVICE, TL_SLICE_OTHER },
	{ NAME("glow_runtime"), TRACE_HOST, TL_SLICE_RUNTIME },
	{ NAME("mtia_runtime"), TRACE_HOST, TL_SLICE_RUNTIME },
	{ NAME("mtia_ccp_events"), TRACE_DEVICE, TL_SLICE_KERNEL },
	{ NAME("mtia_insight"), TRACE_DEVICE, TL_SLICE_OTHER },
	{ NAME("mtia_counters"), TRACE_COUNTERS, TL_SLICE_OTHER },
	{ NAME("hpu_op"), TRACE_DEVICE, TL_SLICE_KERNEL },
	{ NAME("xpu_runtime"), TRACE_HOST, TL_SLICE_RUNTIME },
	{ NAME("xpu_driver"), TRACE_HOST, TL_SLICE_RUNTIME },
	{ NAME("xpu_sync"), TRACE_DEVICE, TL_SLICE_SYNC },
	{ NAME("xpu_scope_profiler"), TRACE_DEVICE, TL_SLICE_OTHER },
	{ NAME("collective_comm"), TRACE_DEVICE, TL_SLICE_COMMUNICATION },
	{ NAME("privateuse1_runtime"), TRACE_HOST, TL_SLICE_RUNTIME },
	{ NAME("privateuse1_driver"), TRACE_HOST, TL_SLICE_RUNTIME },
	{ NAME("hardware_counters"), TRACE_COUNTERS, TL_SLICE_OTHER },
};

bool trace_torch_category(const struct js_scalar *category, struct trace_row *row)
{
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
		if (category->length != categories[i].length || category->kind != JS_STRING ||
		    strncasecmp(category->text, categories[i].name, category->length) != 0)
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
	return len && memmem(head, len, text, strlen(text)) != NULL;
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
			return is_object ? 92 : 91;
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
