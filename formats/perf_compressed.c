/*
 * perf_compressed.c - the bytes inside COMPRESSED and COMPRESSED2 records: one zstd stream over all of
 * them, whose records may begin in one and end in another.
 *
 * Knows nothing of records but the size of the largest; holds a bounded piece of the stream, however
 * well it was compressed.
 */
#include "perf.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define BUFFER_SIZE (256u << 10) /* some records, and still inside the second level cache */
/*
 * Samples differ at least in their time: zstd makes them some 5 to 30 times smaller. A stream that
 * goes on growing this much was made to keep us busy.
 */
#define RATIO_MAX    1000u
#define RATIO_IGNORE (64u << 20) /* bytes that may come out before the ratio counts */

struct perf_inflater {
	ZSTD_DStream *zstd;
	ZSTD_inBuffer in;
	bool has_output; /* zstd holds more output than there was room for */
	uint64_t in_total, out_total;
	size_t begin, end; /* of what is inflated and not yet taken */
	uint8_t buffer[BUFFER_SIZE];
};

int perf_inflater_open(struct perf_inflater **out, struct tl_error *err)
{
	struct perf_inflater *inflater = malloc(sizeof(*inflater));

	*out = NULL;
	if (!inflater)
		return tl_fail(err, TL_NOMEM, "out of memory");
	memset(inflater, 0, offsetof(struct perf_inflater, buffer));
	inflater->zstd = ZSTD_createDStream();
	if (!inflater->zstd) {
		free(inflater);
		return tl_fail(err, TL_NOMEM, "out of memory");
	}
	*out = inflater;
	return TL_OK;
}

void perf_inflater_close(struct perf_inflater *inflater)
{
	if (!inflater)
		return;
	ZSTD_freeDStream(inflater->zstd);
	free(inflater);
}

void perf_inflater_feed(struct perf_inflater *inflater, const uint8_t *data, size_t len)
{
	inflater->in.src = data;
	inflater->in.size = len;
	inflater->in.pos = 0;
	inflater->in_total += len;
}

/* Inflates into the free room. */
static int inflate_more(struct perf_inflater *inflater, struct tl_error *err)
{
	ZSTD_outBuffer out;
	size_t left = inflater->end - inflater->begin, code;

	if (left && inflater->begin)
		memmove(inflater->buffer, inflater->buffer + inflater->begin, left);
	inflater->begin = 0;
	out.dst = inflater->buffer;
	out.size = sizeof(inflater->buffer);
	out.pos = left;
	code = ZSTD_decompressStream(inflater->zstd, &out, &inflater->in);
	inflater->has_output = out.pos == out.size;
	inflater->out_total += out.pos - left;
	inflater->end = out.pos;
	if (ZSTD_isError(code))
		return tl_fail(err, TL_FORMAT, "compressed records are damaged: %s",
			       ZSTD_getErrorName(code));
	if (inflater->out_total > RATIO_IGNORE &&
	    inflater->out_total / RATIO_MAX > inflater->in_total)
		return tl_fail(err, TL_FORMAT,
			       "compressed records are more than %u times larger inflated",
			       RATIO_MAX);
	return TL_OK;
}

int64_t perf_inflater_peek(struct perf_inflater *inflater, size_t want, const uint8_t **data,
			   struct tl_error *err)
{
	while (inflater->end - inflater->begin < want) {
		int ret;

		if (inflater->in.pos == inflater->in.size && !inflater->has_output)
			return 0;
		ret = inflate_more(inflater, err);
		if (ret < 0)
			return ret;
	}
	*data = inflater->buffer + inflater->begin;
	return (int64_t)(inflater->end - inflater->begin);
}

void perf_inflater_skip(struct perf_inflater *inflater, size_t len)
{
	inflater->begin += len;
}

size_t perf_inflater_rest(const struct perf_inflater *inflater)
{
	return inflater->end - inflater->begin;
}
