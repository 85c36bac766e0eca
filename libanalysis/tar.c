/*
 * tar.c - the blocks of a tar archive to members. Writes nothing and opens nothing; what names mean
 * and whether they are safe is for others to say.
 */
#include "tar.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum {
	BLOCK = 512,
	PIECE = 256 << 10,
	TEXT_MAX = 1 << 20, /* of a long name, or of a set of pax records: a path has 4096 */
	DIGITS_MAX = 20,    /* of a 64-bit number */
	PROGRESS_STEP = 1 << 20,
};

struct tl_tar {
	struct tl_input *in;
	tl_progress_fn progress; /* may be NULL */
	void *progress_payload;
	uint64_t progress_at;
	uint64_t member_count;
	uint64_t position;	/* in the inflated archive */
	uint64_t left, padding; /* of the member's data */
	uint64_t member_offset;
	uint8_t *piece; /* PIECE bytes */
	struct tl_text name, link, text;
	/* what extended headers say of the next member */
	bool has_name, has_link, has_size, is_sparse;
	uint64_t size;
};

/* One header block, decoded. */
struct header {
	char name[101], link[101], prefix[156], magic[9];
	uint64_t size;
	char type;
	bool is_extended; /* GNU sparse: blocks of hole lists follow */
};

/* Every byte comes through here. */
static int pull(struct tl_tar *tar, void *out, size_t want, size_t *got, struct tl_error *err)
{
	int ret = tl_input_read(tar->in, out, want, got, err);

	tar->position += *got;
	if (ret < 0 || !tar->progress || tar->position < tar->progress_at)
		return ret;
	tar->progress_at = tar->position + PROGRESS_STEP;
	if (tar->progress(tl_input_fraction(tar->in), tar->member_count, tar->progress_payload))
		return tl_fail(err, TL_STOPPED, "stopped");
	return TL_OK;
}

static int read_exactly(struct tl_tar *tar, void *out, size_t want, const char *what,
			struct tl_error *err)
{
	size_t got;
	int ret = pull(tar, out, want, &got, err);

	if (ret == TL_OK && got < want)
		ret = tl_fail_at(err, TL_FORMAT, tar->position,
				 "the archive ends inside %s: %zu bytes are missing", what,
				 want - got);
	return ret;
}

/* Data is padded to whole blocks; members that end behind the last byte there is are cut. */
static int skip_data(struct tl_tar *tar, struct tl_error *err)
{
	int ret = TL_OK;

	while (ret == TL_OK && tar->left) {
		const uint8_t *data;
		size_t len;

		ret = tl_tar_read(tar, &data, &len, err);
	}
	if (ret == TL_OK && tar->padding)
		ret = read_exactly(tar, tar->piece, (size_t)tar->padding, "the padding of a member",
				   err);
	tar->padding = 0;
	return ret;
}

static void expect_data(struct tl_tar *tar, uint64_t size)
{
	tar->left = size;
	tar->padding = (BLOCK - size % BLOCK) % BLOCK;
}

int tl_tar_read(struct tl_tar *tar, const uint8_t **data, size_t *len, struct tl_error *err)
{
	size_t want = tar->left < PIECE ? (size_t)tar->left : PIECE, got;
	int ret;

	*data = tar->piece;
	*len = 0;
	if (!want)
		return TL_OK;
	ret = pull(tar, tar->piece, want, &got, err);
	if (ret < 0)
		return ret;
	if (got < want)
		return tl_fail_at(err, TL_FORMAT, tar->position,
				  "the archive ends inside the member of byte %llu: %llu bytes are "
				  "missing",
				  (unsigned long long)tar->member_offset,
				  (unsigned long long)(tar->left - got));
	tar->left -= got;
	*len = got;
	return TL_OK;
}

/* ---- header blocks ---- */

/* Octal digits, or, when that is too small, a big-endian integer whose first bit is set. */
static bool get_number(struct tl_cursor *c, size_t size, uint64_t *value)
{
	struct tl_cursor field = tl_cursor_sub(c, size);
	uint8_t byte = tl_get_u8(&field);
	bool has_digit = false;

	*value = 0;
	if (byte & 0x80) {
		*value = byte & 0x7f;
		while (tl_cursor_left(&field)) {
			if (*value > INT64_MAX >> 8)
				return false;
			*value = *value << 8 | tl_get_u8(&field);
		}
		return true;
	}
	while (byte == ' ' && tl_cursor_left(&field))
		byte = tl_get_u8(&field);
	for (; byte >= '0' && byte <= '7'; byte = tl_cursor_left(&field) ? tl_get_u8(&field) : 0) {
		*value = *value << 3 | (uint64_t)(byte - '0');
		has_digit = true;
	}
	return (byte == ' ' || byte == '\0') && (has_digit || byte == '\0');
}

/* The sum of all bytes with those of the sum itself as blanks; some wrote it with signed bytes. */
static bool checksum_fits(const uint8_t *block, uint64_t recorded)
{
	enum { SUM_AT = 148, SUM_END = 156 };
	int64_t sum = 0, signed_sum = 0;

	for (int i = 0; i < BLOCK; i++) {
		uint8_t byte = i >= SUM_AT && i < SUM_END ? ' ' : block[i];

		sum += byte;
		signed_sum += (int8_t)byte;
	}
	return (int64_t)recorded == sum || (int64_t)recorded == signed_sum;
}

bool tl_tar_probe(const uint8_t *head, size_t length)
{
	struct tl_cursor c;
	uint64_t checksum;

	if (length < BLOCK || !head[0])
		return false;
	tl_cursor_init(&c, head, BLOCK, 0, false);
	tl_skip(&c, 100 + 3 * 8 + 12 + 12);
	return get_number(&c, 8, &checksum) && checksum_fits(head, checksum);
}

static int parse_header(struct tl_tar *tar, const uint8_t *block, struct header *h,
			struct tl_error *err)
{
	const uint64_t offset = tar->position - BLOCK;
	struct tl_cursor c;
	uint64_t checksum;
	bool has_size, has_checksum;

	memset(h, 0, sizeof(*h));
	tl_cursor_init(&c, block, BLOCK, offset, false);
	tl_get_text(&c, 100, h->name, sizeof(h->name));
	tl_skip(&c, 3 * 8); /* mode, user, group */
	has_size = get_number(&c, 12, &h->size);
	tl_skip(&c, 12); /* time of modification */
	has_checksum = get_number(&c, 8, &checksum);
	h->type = (char)tl_get_u8(&c);
	tl_get_text(&c, 100, h->link, sizeof(h->link));
	tl_get_text(&c, 8, h->magic, sizeof(h->magic));
	tl_skip(&c, 32 + 32 + 8 + 8); /* names of user and group, device numbers */
	tl_get_text(&c, 155, h->prefix, sizeof(h->prefix));
	h->is_extended = block[482] == 1;
	if (!has_checksum || !checksum_fits(block, checksum))
		return tl_fail_at(err, TL_FORMAT, offset,
				  "expected the header of a tar member, found a block whose "
				  "checksum is wrong");
	if (!has_size || h->size > INT64_MAX - BLOCK)
		return tl_fail_at(err, TL_FORMAT, offset,
				  "a tar member has a size that is no number");
	return tl_cursor_check(&c, "tar header", err);
}

/* 1: a header, 0: the end mark, a block of zeros. */
static int read_header(struct tl_tar *tar, struct header *h, struct tl_error *err)
{
	uint8_t block[BLOCK];
	size_t got;
	int ret = pull(tar, block, BLOCK, &got, err);

	if (ret < 0)
		return ret;
	if (got == 0)
		return tl_fail_at(err, TL_FORMAT, tar->position,
				  "the archive ends without its end mark: members may be missing");
	if (got < BLOCK)
		return tl_fail_at(err, TL_FORMAT, tar->position,
				  "the archive ends inside a header: %zu bytes are missing",
				  BLOCK - got);
	if (block[0] == 0 && memcmp(block, block + 1, BLOCK - 1) == 0)
		return 0;
	ret = parse_header(tar, block, h, err);
	return ret < 0 ? ret : 1;
}

/* ---- extended headers ---- */

/* A name or a set of records that is a member's data. */
static int read_text(struct tl_tar *tar, uint64_t size, struct tl_text *text, struct tl_error *err)
{
	int ret = TL_OK;

	if (size > TEXT_MAX)
		return tl_fail_at(err, TL_FORMAT, tar->member_offset,
				  "a name of %llu bytes, expected at most %d",
				  (unsigned long long)size, TEXT_MAX);
	text->length = 0;
	expect_data(tar, size);
	while (ret == TL_OK && tar->left) {
		const uint8_t *data;
		size_t len;

		ret = tl_tar_read(tar, &data, &len, err);
		if (ret == TL_OK)
			tl_text_add(text, (const char *)data, len);
	}
	if (ret == TL_OK && text->failed)
		ret = tl_fail(err, TL_NOMEM, "out of memory: a name of %llu bytes",
			      (unsigned long long)size);
	return ret < 0 ? ret : skip_data(tar, err);
}

static void set_text(struct tl_text *out, bool *has, const char *text, size_t len)
{
	out->length = 0;
	tl_text_add(out, text, len);
	*has = true;
}

/* GNU: the text ends at a NUL. */
static int read_long_name(struct tl_tar *tar, uint64_t size, struct tl_text *out, bool *has,
			  struct tl_error *err)
{
	int ret = read_text(tar, size, &tar->text, err);

	if (ret < 0 || !tar->text.length)
		return ret;
	set_text(out, has, tar->text.data, strnlen(tar->text.data, tar->text.length));
	return TL_OK;
}

static bool key_is(const char *record, size_t key_len, const char *key)
{
	return strlen(key) == key_len && memcmp(record, key, key_len) == 0;
}

/* Keys that say nothing of where the data is or what it is called are of no interest. */
static bool take_record(struct tl_tar *tar, const char *record, size_t len)
{
	const char *equals = memchr(record, '=', len), *value;
	size_t key_len, value_len;

	if (!equals)
		return false;
	key_len = (size_t)(equals - record);
	value = equals + 1;
	value_len = len - key_len - 1;
	if (key_is(record, key_len, "path")) {
		set_text(&tar->name, &tar->has_name, value, value_len);
		return !memchr(value, '\0', value_len); /* readers would differ in what it names */
	}
	if (key_is(record, key_len, "linkpath")) {
		set_text(&tar->link, &tar->has_link, value, value_len);
		return !memchr(value, '\0', value_len);
	}
	if (key_is(record, key_len, "size")) {
		tar->has_size = true;
		return value_len && tl_parse_u64(value, value_len, 10, &tar->size) == value_len &&
		       tar->size <= INT64_MAX - BLOCK;
	}
	if (key_len > 10 && !memcmp(record, "GNU.sparse", 10))
		tar->is_sparse = true;
	return true;
}

/* "27 path=a/name\n": the number counts itself and the newline. */
static bool get_record(struct tl_tar *tar, struct tl_cursor *c)
{
	uint64_t length = 0;
	size_t used = 0;
	const uint8_t *record;
	uint8_t byte;

	while ((byte = tl_get_u8(c)) >= '0' && byte <= '9' && used < DIGITS_MAX - 1) {
		length = length * 10 + (uint64_t)(byte - '0');
		used++;
	}
	if (c->failed || !used || byte != ' ' || length <= used + 1 ||
	    length - used - 1 > tl_cursor_left(c))
		return false;
	record = tl_get_bytes(c, (size_t)length - used - 1);
	return record && record[length - used - 2] == '\n' &&
	       take_record(tar, (const char *)record, (size_t)length - used - 2);
}

static int read_pax(struct tl_tar *tar, uint64_t size, struct tl_error *err)
{
	const uint64_t base = tar->position;
	struct tl_cursor c;
	int ret = read_text(tar, size, &tar->text, err);

	if (ret < 0)
		return ret;
	tl_cursor_init(&c, (const uint8_t *)tar->text.data, tar->text.length, base, false);
	while (tl_cursor_left(&c)) {
		const size_t at = c.position;

		if (!get_record(tar, &c))
			return tl_fail_at(err, TL_FORMAT, base + at,
					  "expected a pax record 'LENGTH KEY=VALUE'");
	}
	return TL_OK;
}

/* Lists of holes that did not fit into the header: blocks whose last flag says that more follow. */
static int skip_hole_lists(struct tl_tar *tar, struct tl_error *err)
{
	uint8_t block[BLOCK];
	int ret;

	do
		ret = read_exactly(tar, block, BLOCK, "a list of holes", err);
	while (ret == TL_OK && block[504] == 1);
	return ret;
}

/* ---- members ---- */

static enum tl_tar_kind kind_of(const struct header *h)
{
	size_t len = strlen(h->name);

	switch (h->type) {
	case '\0':
	case '0':
	case '7': /* contiguous */
		return len && h->name[len - 1] == '/' ? TL_TAR_DIRECTORY : TL_TAR_FILE;
	case '1':
		return TL_TAR_HARD_LINK;
	case '2':
		return TL_TAR_LINK;
	case '3':
	case '4':
	case '6':
		return TL_TAR_SPECIAL;
	case '5':
	case 'D': /* GNU: with a list of what is in it */
		return TL_TAR_DIRECTORY;
	case 'S':
		return TL_TAR_SPARSE;
	default:
		return TL_TAR_UNKNOWN;
	}
}

static bool has_data(enum tl_tar_kind kind, char type)
{
	switch (kind) {
	case TL_TAR_FILE:
	case TL_TAR_SPARSE:
	case TL_TAR_UNKNOWN:
		return true;
	case TL_TAR_DIRECTORY: /* a file by its type whose name ends in a slash may have */
		return type != '5';
	case TL_TAR_HARD_LINK:
	case TL_TAR_LINK:
	case TL_TAR_SPECIAL:
		return false; /* sizes are there, of what is linked */
	}
	return false;
}

static int finish_member(struct tl_tar *tar, const struct header *h, struct tl_tar_member *m,
			 struct tl_error *err)
{
	/* GNU tar has other things where ustar has the prefix */
	bool has_prefix = h->prefix[0] && !strcmp(h->magic, "ustar");

	if (!tar->has_name) {
		tar->name.length = 0;
		if (has_prefix) {
			tl_text_puts(&tar->name, h->prefix);
			tl_text_puts(&tar->name, "/");
		}
		tl_text_puts(&tar->name, h->name);
	}
	if (!tar->has_link)
		set_text(&tar->link, &tar->has_link, h->link, strlen(h->link));
	if (tar->name.failed || tar->link.failed)
		return tl_fail(err, TL_NOMEM, "out of memory: a name");
	m->kind = kind_of(h);
	if (tar->is_sparse && m->kind == TL_TAR_FILE)
		m->kind = TL_TAR_SPARSE;
	m->type = h->type;
	m->name = tar->name.length ? tar->name.data : "";
	m->link = tar->link.length ? tar->link.data : "";
	m->size = !has_data(m->kind, h->type) ? 0 : tar->has_size ? tar->size : h->size;
	if (h->type == 'S' && h->is_extended) {
		int ret = skip_hole_lists(tar, err);

		if (ret < 0)
			return ret;
	}
	expect_data(tar, m->size);
	tar->member_count++;
	return 1;
}

int tl_tar_next(struct tl_tar *tar, struct tl_tar_member *member, struct tl_error *err)
{
	int ret = skip_data(tar, err);

	tar->has_name = tar->has_link = tar->has_size = tar->is_sparse = false;
	memset(member, 0, sizeof(*member));
	while (ret == TL_OK) {
		struct header h;

		ret = read_header(tar, &h, err);
		if (ret <= 0)
			return ret;
		member->offset = tar->member_offset = tar->position - BLOCK;
		switch (h.type) {
		case 'L':
			ret = read_long_name(tar, h.size, &tar->name, &tar->has_name, err);
			break;
		case 'K':
			ret = read_long_name(tar, h.size, &tar->link, &tar->has_link, err);
			break;
		case 'x':
		case 'X':
			ret = read_pax(tar, h.size, err);
			break;
		case 'g': /* of all members: dates and comments, as git writes them */
		case 'V': /* the name of the volume */
			expect_data(tar, h.size);
			ret = skip_data(tar, err);
			break;
		default:
			return finish_member(tar, &h, member, err);
		}
	}
	return ret;
}

/* ---- opening ---- */

int tl_tar_open(struct tl_tar **out, struct tl_input *in, tl_progress_fn progress,
		void *progress_payload, struct tl_error *err)
{
	struct tl_tar *tar = tl_alloc(1, sizeof(*tar), err);

	*out = NULL;
	if (!tar)
		return TL_NOMEM;
	tar->in = in;
	tar->progress = progress;
	tar->progress_payload = progress_payload;
	tar->piece = tl_alloc(PIECE, 1, err);
	if (!tar->piece) {
		free(tar);
		return TL_NOMEM;
	}
	*out = tar;
	return TL_OK;
}

void tl_tar_close(struct tl_tar *tar)
{
	if (!tar)
		return;
	tl_text_release(&tar->name);
	tl_text_release(&tar->link);
	tl_text_release(&tar->text);
	free(tar->piece);
	free(tar);
}
