/*
 * chrome.c - the importer of trace events of any producer that is not known by name: browsers,
 * viztracer, JAX, py-spy, PyTorch's autograd profiler of old. Says little of what rows are, because
 * little is known.
 */
#include "chrome.h"

#include <string.h>

#include "trace_events.h"

static void chrome_describe(struct trace_import *t, const struct trace_event *ev, const char *name,
			    size_t name_length, struct trace_row *row)
{
	int64_t device;

	(void)t;
	if (trace_text_is(&ev->pid, "CPU functions")) { /* autograd profiler, until PyTorch 1.8 */
		row->domain = TRACE_OTHER;
		row->class_ = TL_SLICE_OPERATOR;
	} else if (trace_text_is(&ev->pid, "CUDA functions")) {
		row->domain = TRACE_DEVICE;
		row->class_ = TL_SLICE_KERNEL;
		row->is_layer = true; /* rows are devices, not streams */
		if (!trace_number_of(ev->tid.text, ev->tid.length, ev->tid.kind, &device) ||
		    device < 0 || device > INT32_MAX)
			device = -1;
		row->device = (int32_t)device;
	} else if (trace_text_is(&ev->category, "py-spy")) {
		row->class_ = TL_SLICE_PYTHON;
	} else if (!trace_torch_category(&ev->category, row) && ev->pid.kind == JS_STRING) {
		row->domain = TRACE_OTHER;
	}
	trace_torch_refine(name, name_length, row);
}

static const struct trace_producer producer = {
	.describe = chrome_describe,
	.has_guessed_threads = true,
};

static int chrome_probe(const uint8_t *head, size_t len)
{
	size_t first = trace_probe_start(head, len);

	if (first == len || (head[first] != '{' && head[first] != '['))
		return 0;
	if (!trace_probe_has_events(head, len))
		return 0;
	/* a table of steps may be an array of objects too, but no object of it has a phase */
	return memmem(head, len, "\"ph\"", 4) ? 88 : 60;
}

static int chrome_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		       struct tl_error *err)
{
	return trace_import_open(state, &producer, in, opt, err);
}

const struct tl_importer chrome_importer = {
	.name = "chrome",
	.summary = "trace events of any producer, JSON",
	.probe = chrome_probe,
	.open = chrome_open,
	.read = trace_import_read,
	.close = trace_import_close,
};
