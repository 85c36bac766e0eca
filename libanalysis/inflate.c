/*
 * inflate.c - gzip, zstd, xz and bzip2 streams, also several of them one after the other.
 */
#include "inflate.h"

#include <stdlib.h>
#include <string.h>

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "memory.h"

#define CHUNK	 (128u << 10)
#define PEEK_MAX (256u << 10)
/* Text logs reach some 100:1, zeros in gzip 1000:1; zstd and xz can make terabytes of nothing. */
#define RATIO_MAX	    2000u
#define RATIO_FREE_BYTES    (64u << 20) /* below this no ratio is judged */
#define XZ_MEMORY_MAX	    (256u << 20)
#define ZSTD_WINDOW_LOG_MAX 27 /* 128 MiB, the format's own limit for level 22 --long=27 */

struct tl_inflater {
	enum tl_compression kind;
	tl_inflater_pull_fn pull;
	void *payload;
	uint8_t in[CHUNK];
	size_t in_used, in_length;
	bool in_end; /* pull has no more */

	uint8_t peeked[PEEK_MAX];
	size_t peeked_used, peeked_length;

	bool is_open;  /* the codec is inside a stream */
	bool is_ended; /* nothing more comes */
	const char *damage;
	uint64_t total_in, total_out;

	z_stream gzip;
	ZSTD_DStream *zstd;
	lzma_stream xz;
	bz_stream bzip2;
};

enum tl_compression tl_compression_of(const uint8_t *head, size_t len)
{
	if (len >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8)
		return TL_COMPRESSION_GZIP;
	if (len >= 4 && !memcmp(head, "\x28\xb5\x2f\xfd", 4))
		return TL_COMPRESSION_ZSTD;
	if (len >= 4 && (head[0] & 0xf0) == 0x50 && !memcmp(head + 1, "\x2a\x4d\x18", 3))
		return TL_COMPRESSION_ZSTD; /* skippable frame first */
	if (len >= 6 && !memcmp(head,
				"\xfd"
				"7zXZ\0",
				6))
		return TL_COMPRESSION_XZ;
	if (len >= 4 && !memcmp(head, "BZh", 3) && head[3] >= '1' && head[3] <= '9')
		return TL_COMPRESSION_BZIP2;
	return TL_COMPRESSION_NONE;
}

static int codec_open(struct tl_inflater *f, struct tl_error *err)
{
	bool ok = false;

	switch (f->kind) {
	case TL_COMPRESSION_NONE:
		break;
	case TL_COMPRESSION_GZIP:
		memset(&f->gzip, 0, sizeof(f->gzip));
		ok = inflateInit2(&f->gzip, 15 + 16) == Z_OK; /* 15: largest window, 16: gzip */
		break;
	case TL_COMPRESSION_ZSTD:
		if (!f->zstd)
			f->zstd = ZSTD_createDStream();
		ok = f->zstd && !ZSTD_isError(ZSTD_initDStream(f->zstd)) &&
		     !ZSTD_isError(ZSTD_DCtx_setParameter(f->zstd, ZSTD_d_windowLogMax,
							  ZSTD_WINDOW_LOG_MAX));
		break;
	case TL_COMPRESSION_XZ:
		f->xz = (lzma_stream)LZMA_STREAM_INIT;
		ok = lzma_stream_decoder(&f->xz, XZ_MEMORY_MAX, 0) == LZMA_OK;
		break;
	case TL_COMPRESSION_BZIP2:
		memset(&f->bzip2, 0, sizeof(f->bzip2));
		ok = BZ2_bzDecompressInit(&f->bzip2, 0, 0) == BZ_OK;
		break;
	}
	f->is_open = ok;
	return ok ? TL_OK : tl_fail(err, TL_NOMEM, "out of memory for decompression");
}

static void codec_close(struct tl_inflater *f)
{
	if (!f->is_open)
		return;
	f->is_open = false;
	switch (f->kind) {
	case TL_COMPRESSION_NONE:
	case TL_COMPRESSION_ZSTD: /* kept for the next frame */
		break;
	case TL_COMPRESSION_GZIP:
		inflateEnd(&f->gzip);
		break;
	case TL_COMPRESSION_XZ:
		lzma_end(&f->xz);
		break;
	case TL_COMPRESSION_BZIP2:
		BZ2_bzDecompressEnd(&f->bzip2);
		break;
	}
}

enum step { STEP_MORE, STEP_STREAM_END, STEP_BAD };

/* One call of the codec; *used and *made are bytes taken and given. */
static enum step codec_step(struct tl_inflater *f, uint8_t *out, size_t room, size_t *used,
			    size_t *made)
{
	uint8_t *in = f->in + f->in_used;
	size_t left = f->in_length - f->in_used;
	enum step step = STEP_BAD;
	int ret;

	*used = *made = 0;
	switch (f->kind) {
	case TL_COMPRESSION_NONE:
		break;
	case TL_COMPRESSION_GZIP:
		f->gzip.next_in = in;
		f->gzip.avail_in = (uInt)left;
		f->gzip.next_out = out;
		f->gzip.avail_out = (uInt)room;
		ret = inflate(&f->gzip, Z_NO_FLUSH);
		*used = left - f->gzip.avail_in;
		*made = room - f->gzip.avail_out;
		step = ret == Z_STREAM_END		   ? STEP_STREAM_END
		       : ret == Z_OK || ret == Z_BUF_ERROR ? STEP_MORE
							   : STEP_BAD;
		break;
	case TL_COMPRESSION_ZSTD: {
		ZSTD_inBuffer zin = { in, left, 0 };
		ZSTD_outBuffer zout = { out, room, 0 };
		size_t hint = ZSTD_decompressStream(f->zstd, &zout, &zin);

		*used = zin.pos;
		*made = zout.pos;
		step = ZSTD_isError(hint) ? STEP_BAD : hint == 0 ? STEP_STREAM_END : STEP_MORE;
		break;
	}
	case TL_COMPRESSION_XZ:
		f->xz.next_in = in;
		f->xz.avail_in = left;
		f->xz.next_out = out;
		f->xz.avail_out = room;
		ret = (int)lzma_code(&f->xz, LZMA_RUN);
		*used = left - f->xz.avail_in;
		*made = room - f->xz.avail_out;
		step = ret == LZMA_STREAM_END			 ? STEP_STREAM_END
		       : ret == LZMA_OK || ret == LZMA_BUF_ERROR ? STEP_MORE
								 : STEP_BAD;
		break;
	case TL_COMPRESSION_BZIP2:
		f->bzip2.next_in = (char *)in;
		f->bzip2.avail_in = (unsigned)left;
		f->bzip2.next_out = (char *)out;
		f->bzip2.avail_out = (unsigned)room;
		ret = BZ2_bzDecompress(&f->bzip2);
		*used = left - f->bzip2.avail_in;
		*made = room - f->bzip2.avail_out;
		step = ret == BZ_STREAM_END ? STEP_STREAM_END : ret == BZ_OK ? STEP_MORE : STEP_BAD;
		break;
	}
	return step;
}

static int refill(struct tl_inflater *f, struct tl_error *err)
{
	int ret;

	if (f->in_used < f->in_length || f->in_end)
		return TL_OK;
	f->in_used = 0;
	ret = f->pull(f->payload, f->in, CHUNK, &f->in_length, err);
	f->in_end = f->in_length < CHUNK;
	return ret;
}

/* Between two streams: is there another one, or the end, or garbage? */
static int next_stream(struct tl_inflater *f, struct tl_error *err)
{
	size_t left = f->in_length - f->in_used;

	if (!left && f->in_end) {
		f->is_ended = true;
		return TL_OK;
	}
	if (left < 6 && !f->in_end) { /* the magic may be split: bring it together */
		size_t got;
		int ret;

		memmove(f->in, f->in + f->in_used, left);
		f->in_used = 0;
		ret = f->pull(f->payload, f->in + left, CHUNK - left, &got, err);
		if (ret < 0)
			return ret;
		f->in_length = left + got;
		f->in_end = f->in_length < CHUNK;
		return TL_OK;
	}
	if (tl_compression_of(f->in + f->in_used, left) != f->kind) {
		/* padding with zeros is what tape tools and xz do */
		bool is_padding = true;

		for (size_t i = f->in_used; i < f->in_length; i++)
			is_padding &= f->in[i] == 0;
		if (!is_padding || !f->in_end)
			f->damage = "the compressed data is followed by bytes that are not";
		f->is_ended = true;
		return TL_OK;
	}
	return codec_open(f, err);
}

int tl_inflater_read(struct tl_inflater *f, uint8_t *out, size_t want, size_t *got,
		     struct tl_error *err)
{
	*got = 0;
	while (f->peeked_used < f->peeked_length && *got < want)
		out[(*got)++] = f->peeked[f->peeked_used++];
	while (*got < want && !f->is_ended) {
		size_t used, made;
		enum step step;
		int ret = refill(f, err);

		if (ret < 0)
			return ret;
		if (!f->is_open) {
			ret = next_stream(f, err);
			if (ret < 0)
				return ret;
			continue;
		}
		step = codec_step(f, out + *got, want - *got, &used, &made);
		f->in_used += used;
		*got += made;
		f->total_in += used;
		f->total_out += made;
		if (f->total_out > RATIO_FREE_BYTES && f->total_out / RATIO_MAX > f->total_in)
			return tl_fail(err, TL_FORMAT,
				       "inflates to more than %u times its size: refused",
				       RATIO_MAX);
		if (step == STEP_BAD) {
			f->damage = "the compressed data is damaged: what inflates was read";
			f->is_ended = true;
		} else if (step == STEP_STREAM_END) {
			codec_close(f);
		} else if (!used && !made && f->in_end && f->in_used == f->in_length) {
			f->damage = "the compressed data ends too early: what inflates was read";
			f->is_ended = true;
		}
	}
	return TL_OK;
}

int tl_inflater_peek(struct tl_inflater *f, size_t want, const uint8_t **data, size_t *len,
		     struct tl_error *err)
{
	int ret = TL_OK;

	if (!f->peeked_length) {
		size_t got;

		if (want > PEEK_MAX)
			want = PEEK_MAX;
		ret = tl_inflater_read(f, f->peeked, want, &got, err);
		f->peeked_length = got;
	}
	*data = f->peeked;
	*len = f->peeked_length;
	return ret;
}

const char *tl_inflater_damage(const struct tl_inflater *f)
{
	return f->damage;
}

int tl_inflater_open(struct tl_inflater **out, enum tl_compression kind, const uint8_t *head,
		     size_t head_length, tl_inflater_pull_fn pull, void *payload,
		     struct tl_error *err)
{
	struct tl_inflater *f = tl_alloc(1, sizeof(*f), err);
	int ret;

	*out = NULL;
	if (!f)
		return TL_NOMEM;
	f->kind = kind;
	f->pull = pull;
	f->payload = payload;
	f->in_length = head_length < CHUNK ? head_length : CHUNK;
	memcpy(f->in, head, f->in_length);
	ret = codec_open(f, err);
	if (ret < 0) {
		tl_inflater_close(f);
		return ret;
	}
	*out = f;
	return TL_OK;
}

void tl_inflater_close(struct tl_inflater *f)
{
	if (!f)
		return;
	codec_close(f);
	ZSTD_freeDStream(f->zstd);
	free(f);
}
