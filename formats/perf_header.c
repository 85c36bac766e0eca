/*
 * perf_header.c - the beginning of a perf.data file: which kind it is, its events with their ids, and
 * where its features lie.
 *
 * What a feature says is known to perf_feature.c, what records say to perf_record.c.
 */
#include "perf.h"

#include <stdlib.h>
#include <string.h>

#define FILE_HEADER_SIZE     104u /* perf_file_header with the bitmap of features */
#define OLD_FILE_HEADER_SIZE 72u  /* of the first version 2 files, without it */
#define PIPE_HEADER_SIZE     16u
#define ATTR_SIZE_MIN	     64u
#define ATTR_SIZE_MAX	     4096u /* the kernel itself accepts attributes of up to a page */
#define ID_SECTION_SIZE	     16u   /* {offset, size} behind each attribute */
#define BITMAP_WORDS	     4

static bool begins_with(const uint8_t *head, size_t len, const char *magic)
{
	return len >= 8 && !memcmp(head, magic, 8);
}

int perf_header_probe(const uint8_t *head, size_t len)
{
	if (begins_with(head, len, "PERFILE2") || begins_with(head, len, "2ELIFREP"))
		return 100;
	/* version 1 is ours too: to be refused in words */
	if (begins_with(head, len, "PERFFILE") || begins_with(head, len, "ELIFFREP"))
		return 100;
	return 0;
}

int perf_section_read(struct tl_input *in, struct perf_section section, size_t limit,
		      uint8_t **data, size_t *len, struct tl_error *err)
{
	uint64_t file_size;
	size_t want;
	int ret = tl_input_size(in, &file_size, err);

	*data = NULL;
	*len = 0;
	if (ret < 0 || section.offset >= file_size)
		return ret;
	if (section.size > file_size - section.offset)
		section.size = file_size - section.offset;
	want = section.size > limit ? limit : (size_t)section.size;
	*data = tl_alloc(want, 1, err);
	if (!*data)
		return TL_NOMEM;
	while (*len < want) {
		const uint8_t *window;
		size_t got;

		ret = tl_input_window(in, section.offset + *len, want - *len, &window, &got, err);
		if (ret < 0 || !got)
			break;
		memcpy(*data + *len, window, got);
		*len += got;
	}
	if (ret < 0) {
		free(*data);
		*data = NULL;
	}
	return ret;
}

/* ---- events ---- */

/* `position` is where the file says where the ids of the last event lie. */
static void note_ids_lack(struct perf_header *header, struct perf_section ids, uint64_t position,
			  uint64_t read_count, size_t event_count)
{
	if (read_count * 8 == ids.size)
		return;
	if (!header->ids_lack.count++)
		tl_fail_at(
			&header->ids_lack.first, TL_FORMAT, position,
			"ids of event %zu: %llu of their %llu bytes at byte %llu are there, expected "
			"whole ids of 8 inside the file of %llu",
			event_count, (unsigned long long)read_count * 8,
			(unsigned long long)ids.size, (unsigned long long)ids.offset,
			(unsigned long long)header->file_size);
}

/*
 * `budget` is what ids are left to read: all of them cannot be more than the file has room for.
 * *read_count of them were there.
 */
static int read_ids(struct tl_input *in, struct perf_section section, bool is_big_endian,
		    struct perf_events *events, uint64_t *budget, uint64_t *read_count,
		    struct tl_error *err)
{
	uint32_t event = (uint32_t)events->count - 1;
	uint64_t count = section.size / 8, done = 0;

	if (count > *budget)
		count = *budget;
	*budget -= count;
	*read_count = 0;
	while (done < count) {
		uint64_t rest = (count - done) * 8;
		const uint8_t *window;
		size_t got;
		int ret = tl_input_window(in, section.offset + done * 8,
					  rest > TL_INPUT_WINDOW_MAX ? TL_INPUT_WINDOW_MAX
								     : (size_t)rest,
					  &window, &got, err);

		if (ret < 0)
			return ret;
		if (got < 8)
			break;
		for (size_t at = 0; at + 8 <= got; at += 8, done++) {
			ret = perf_events_add_id(events, perf_load_u64(window + at, is_big_endian),
						 event, err);
			if (ret < 0)
				return ret;
		}
		*read_count = done;
	}
	return TL_OK;
}

static int read_attrs(struct perf_header *header, struct perf_section attrs, uint64_t stride,
		      struct perf_events *events, struct tl_input *in, struct tl_error *err)
{
	uint64_t id_budget = header->file_size / 8, id_count = 0;

	if (stride < ATTR_SIZE_MIN + ID_SECTION_SIZE || stride > ATTR_SIZE_MAX)
		return tl_fail_at(err, TL_FORMAT, 16,
				  "size of an attribute is %llu, expected 80 to %u",
				  (unsigned long long)stride, ATTR_SIZE_MAX);
	if (attrs.size % stride) {
		header->attrs_lack.count = 1;
		tl_fail_at(&header->attrs_lack.first, TL_FORMAT, 32,
			   "the table of events has %llu bytes, expected a multiple of %llu",
			   (unsigned long long)attrs.size, (unsigned long long)stride);
	}
	for (uint64_t at = 0; at + stride <= attrs.size; at += stride) {
		struct perf_section ids;
		struct perf_attr attr;
		const uint8_t *window;
		struct tl_cursor c, body;
		size_t got;
		int ret;

		if (attrs.offset + at < at)
			break;
		ret = tl_input_window(in, attrs.offset + at, (size_t)stride, &window, &got, err);
		if (ret < 0)
			return ret;
		if (got < stride)
			return tl_fail_at(err, TL_FORMAT, attrs.offset + at,
					  "the file ends at byte %llu, inside its events",
					  (unsigned long long)header->file_size);
		tl_cursor_init(&c, window, got, attrs.offset + at, header->is_big_endian);
		body = tl_cursor_sub(&c, (size_t)stride - ID_SECTION_SIZE);
		perf_attr_decode(&body, &attr);
		ids.offset = tl_get_u64(&c);
		ids.size = tl_get_u64(&c);
		ret = tl_cursor_check(&body, "event attribute", err);
		if (ret == TL_OK)
			ret = perf_events_add(events, &attr, err);
		if (ret == TL_OK)
			ret = read_ids(in, ids, header->is_big_endian, events, &id_budget,
				       &id_count, err);
		if (ret < 0)
			return ret;
		note_ids_lack(header, ids, attrs.offset + at + stride - ID_SECTION_SIZE, id_count,
			      events->count);
	}
	return TL_OK;
}

/* ---- features ---- */

static bool has_bit(const uint64_t *bitmap, unsigned bit)
{
	return bitmap[bit / 64] >> (bit % 64) & 1;
}

/*
 * The bitmap is an array of unsigned long. A 32-bit big-endian recorder has the halves the other
 * way round, which nothing says: HOSTNAME, always there, tells. Without it even then the bitmap is
 * of no use, but a table of build-ids may be there.
 */
static void repair_bitmap(uint64_t *bitmap)
{
	if (has_bit(bitmap, HEADER_HOSTNAME))
		return;
	for (int i = 0; i < BITMAP_WORDS; i++)
		bitmap[i] = bitmap[i] >> 32 | bitmap[i] << 32;
	if (has_bit(bitmap, HEADER_HOSTNAME))
		return;
	memset(bitmap, 0, BITMAP_WORDS * sizeof(*bitmap));
	bitmap[0] = 1u << HEADER_BUILD_ID;
}

/* One {offset, size} for each bit that is set, also for those that we do not know. */
static int read_feature_table(struct perf_header *header, const uint64_t *bitmap,
			      struct tl_input *in, struct tl_error *err)
{
	uint64_t offset = header->data.offset + header->data.size;
	const uint8_t *window;
	struct tl_cursor c;
	size_t got, count = 0;
	int ret;

	for (unsigned bit = 0; bit < PERF_FEATURE_MAX; bit++)
		count += has_bit(bitmap, bit);
	header->features_expected = count;
	if (!header->data.size || offset < header->data.size)
		return TL_OK; /* a killed recorder has set the bits, but not written the table */
	ret = tl_input_window(in, offset, count * 16, &window, &got, err);
	if (ret < 0)
		return ret;
	tl_cursor_init(&c, window, got, offset, header->is_big_endian);
	for (unsigned bit = 0; bit < PERF_FEATURE_MAX && tl_cursor_left(&c) >= 16; bit++) {
		if (!has_bit(bitmap, bit))
			continue;
		header->features[header->feature_count].feature = bit;
		header->features[header->feature_count].section.offset = tl_get_u64(&c);
		header->features[header->feature_count].section.size = tl_get_u64(&c);
		header->feature_count++;
	}
	return TL_OK;
}

/* ---- the whole ---- */

static int read_file_header(struct perf_header *header, struct tl_cursor *c, uint64_t header_size,
			    struct perf_events *events, struct tl_input *in, struct tl_error *err)
{
	uint64_t bitmap[BITMAP_WORDS] = { 0 };
	uint64_t stride = tl_get_u64(c);
	struct perf_section attrs;
	int ret;

	attrs.offset = tl_get_u64(c);
	attrs.size = tl_get_u64(c);
	header->data.offset = tl_get_u64(c);
	header->data.size = tl_get_u64(c);
	header->event_types.offset = tl_get_u64(c);
	header->event_types.size = tl_get_u64(c);
	if (header_size >= FILE_HEADER_SIZE)
		for (int i = 0; i < BITMAP_WORDS; i++)
			bitmap[i] = tl_get_u64(c);
	ret = tl_cursor_check(c, "file header", err);
	if (ret == TL_OK)
		ret = read_attrs(header, attrs, stride, events, in, err);
	if (ret == TL_OK)
		ret = perf_events_check(events, err);
	if (ret < 0)
		return ret;
	if (header->is_big_endian && header_size >= FILE_HEADER_SIZE)
		repair_bitmap(bitmap);
	return read_feature_table(header, bitmap, in, err);
}

int perf_header_read(struct perf_header *header, struct perf_events *events, struct tl_input *in,
		     struct tl_error *err)
{
	uint64_t header_size;
	const uint8_t *head;
	struct tl_cursor c;
	size_t len;
	int ret;

	memset(header, 0, sizeof(*header));
	ret = tl_input_size(in, &header->file_size, err);
	if (ret == TL_OK)
		ret = tl_input_window(in, 0, FILE_HEADER_SIZE, &head, &len, err);
	if (ret < 0)
		return ret;
	if (begins_with(head, len, "PERFFILE") || begins_with(head, len, "ELIFFREP"))
		return tl_fail(err, TL_UNSUPPORTED,
			       "perf.data of version 1, which only the first perf wrote, is not "
			       "supported; version 2 is");
	if (!perf_header_probe(head, len))
		return tl_fail_at(err, TL_FORMAT, 0,
				  "not a perf.data file: it does not begin with PERFILE2");
	header->is_big_endian = head[0] == '2';
	tl_cursor_init(&c, head, len, 0, header->is_big_endian);
	tl_skip(&c, 8);
	header_size = tl_get_u64(&c);
	ret = tl_cursor_check(&c, "file header", err);
	if (ret < 0)
		return ret;
	if (header_size == PIPE_HEADER_SIZE) {
		header->is_pipe = true;
		header->data.offset = PIPE_HEADER_SIZE;
		return TL_OK;
	}
	if (header_size != OLD_FILE_HEADER_SIZE && header_size < FILE_HEADER_SIZE)
		return tl_fail_at(err, TL_FORMAT, 8,
				  "size of the header is %llu, expected 104 (file) or 16 (pipe)",
				  (unsigned long long)header_size);
	return read_file_header(header, &c, header_size, events, in, err);
}
