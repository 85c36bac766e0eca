/*
 * perf_tracepoint_fuzz.c - any bytes as tracing data, and as hits of every format in them.
 */
#include "perf_tracepoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_tracepoints *tp;
	struct tl_error err = { 0 };
	struct perf_tracepoint_hit hit;
	size_t tail = size < 256 ? size : 256;

	if (perf_tracepoints_open(&tp, data, size, &err) < 0)
		return 0;
	for (uint64_t id = 0; id < 2048; id++)
		if (perf_tracepoints_name(tp, id))
			for (size_t len = 0; len <= tail; len += 1 + len / 4)
				perf_tracepoint_decode(tp, id, data + size - tail, len, true, &hit,
						       &err);
	perf_tracepoint_decode(tp, 70000, data, size, true, &hit, &err);
	perf_tracepoints_close(tp);
	return 0;
}
