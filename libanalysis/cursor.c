/*
 * cursor.c - bounds-checked reads of bytes we did not write, and decimal times.
 */
#include "reader.h"

#include <string.h>

void tl_cursor_init(struct tl_cursor *c, const uint8_t *data, size_t size, uint64_t base,
		    bool is_big_endian)
{
	memset(c, 0, sizeof(*c));
	c->data = data;
	c->size = size;
	c->base = base;
	c->is_big_endian = is_big_endian;
}

/* The only place that moves a position. */
static const uint8_t *take(struct tl_cursor *c, size_t size)
{
	const uint8_t *at;

	if (c->failed || size > c->size - c->position) {
		if (!c->failed) {
			c->failed = true;
			c->failed_at = c->position;
			c->failed_want = size;
		}
		return NULL;
	}
	if (!c->data)
		return NULL; /* nothing of nothing: no pointer to add to */
	at = c->data + c->position;
	c->position += size;
	return at;
}

struct tl_cursor tl_cursor_sub(struct tl_cursor *c, size_t size)
{
	uint64_t base = c->base + c->position;
	const uint8_t *data = take(c, size);
	struct tl_cursor child;

	tl_cursor_init(&child, data, data ? size : 0, base, c->is_big_endian);
	child.failed = !data;
	return child;
}

int tl_cursor_check(const struct tl_cursor *c, const char *what, struct tl_error *err)
{
	if (!c->failed)
		return TL_OK;
	return tl_fail_at(err, TL_FORMAT, c->base + c->failed_at,
			  "%s ends too early: %zu bytes wanted, %zu left", what, c->failed_want,
			  c->size - c->failed_at);
}

uint8_t tl_get_u8(struct tl_cursor *c)
{
	const uint8_t *p = take(c, 1);

	return p ? *p : 0;
}

uint16_t tl_get_u16(struct tl_cursor *c)
{
	const uint8_t *p = take(c, sizeof(uint16_t));
	uint16_t v;

	if (!p)
		return 0;
	memcpy(&v, p, sizeof(v));
	return c->is_big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v
									    : __builtin_bswap16(v);
}

uint32_t tl_get_u32(struct tl_cursor *c)
{
	const uint8_t *p = take(c, sizeof(uint32_t));
	uint32_t v;

	if (!p)
		return 0;
	memcpy(&v, p, sizeof(v));
	return c->is_big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v
									    : __builtin_bswap32(v);
}

uint64_t tl_get_u64(struct tl_cursor *c)
{
	const uint8_t *p = take(c, sizeof(uint64_t));
	uint64_t v;

	if (!p)
		return 0;
	memcpy(&v, p, sizeof(v));
	return c->is_big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v
									    : __builtin_bswap64(v);
}

const uint8_t *tl_get_bytes(struct tl_cursor *c, size_t size)
{
	return take(c, size);
}

const uint8_t *tl_get_array(struct tl_cursor *c, uint64_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX; /* more than any input has: take() refuses it */
	return take(c, bytes);
}

void tl_get_struct(struct tl_cursor *c, void *out, size_t out_size, size_t file_size)
{
	const uint8_t *p = take(c, file_size);
	size_t known = file_size < out_size ? file_size : out_size;

	memset(out, 0, out_size);
	if (p && known)
		memcpy(out, p, known);
}

const char *tl_get_text(struct tl_cursor *c, size_t size, char *buf, size_t buf_size)
{
	const uint8_t *p = take(c, size);
	size_t len = p ? strnlen((const char *)p, size) : 0;

	if (len >= buf_size)
		len = buf_size - 1;
	if (len)
		memcpy(buf, p, len);
	buf[len] = '\0';
	return buf;
}

void tl_skip(struct tl_cursor *c, uint64_t size)
{
	take(c, size > SIZE_MAX ? SIZE_MAX : (size_t)size);
}

/* ---- decimals ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t tl_parse_u64(const char *text, size_t len, unsigned base, uint64_t *value)
{
	uint64_t v = 0;
	size_t at = 0;

	for (; at < len; at++) {
		char c = text[at];
		unsigned digit = is_digit(c)		? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
				 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
							: 99;

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return 0;
	}
	*value = v;
	return at;
}

struct decimal {
	uint64_t digits; /* the significant digits as one integer, at most 19 of them */
	int exponent;	 /* value = digits * 10^exponent */
	bool negative, overflow;
};

__extension__ typedef unsigned __int128 u128; /* a gcc and clang extension */

/* Bytes used, 0 if text does not start with a number. */
static size_t scan_decimal(const char *text, size_t len, struct decimal *d)
{
	size_t at = 0, digit_count = 0;
	bool seen_point = false;

	memset(d, 0, sizeof(*d));
	if (at < len && (text[at] == '-' || text[at] == '+'))
		d->negative = text[at++] == '-';
	for (; at < len; at++) {
		if (text[at] == '.' && !seen_point) {
			seen_point = true;
			continue;
		}
		if (!is_digit(text[at]))
			break;
		digit_count++;
		if (d->digits < UINT64_MAX / 10 - 1) {
			d->digits = d->digits * 10 + (uint64_t)(text[at] - '0');
			d->exponent -= seen_point;
		} else { /* further digits only move the point */
			d->exponent += !seen_point;
		}
	}
	if (!digit_count)
		return 0;
	if (at + 1 < len && (text[at] == 'e' || text[at] == 'E')) {
		size_t e = at + 1;
		bool minus = text[e] == '-';
		uint64_t power;
		size_t used;

		if (text[e] == '-' || text[e] == '+')
			e++;
		used = tl_parse_u64(text + e, len - e, 10, &power);
		if (used && power < 100) {
			d->exponent += minus ? -(int)power : (int)power;
			at = e + used;
		} else if (used || (e < len && is_digit(text[e]))) {
			d->overflow = true;
		}
	}
	return at;
}

size_t tl_parse_time(const char *text, size_t len, int64_t unit_ns, int64_t *ns)
{
	struct decimal d;
	size_t used = scan_decimal(text, len, &d);
	u128 value;

	if (!used || d.overflow || unit_ns <= 0)
		return 0;
	value = (u128)d.digits * (uint64_t)unit_ns;
	for (; d.exponent > 0 && value; d.exponent--) {
		if (value > (u128)INT64_MAX)
			return 0;
		value *= 10;
	}
	if (d.exponent < 0 && value) {
		unsigned last = 0; /* the digit just dropped decides the rounding */

		for (; d.exponent < 0 && (value || last); d.exponent++) {
			last = (unsigned)(value % 10);
			value /= 10;
		}
		if (d.exponent == 0 && last >= 5)
			value++;
	}
	if (value > (u128)INT64_MAX)
		return 0;
	*ns = d.negative ? -(int64_t)value : (int64_t)value;
	return used;
}
