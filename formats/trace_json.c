/*
 * trace_json.c - JSON as it lies in memory. Every loop ends at r->end, where a 0 lies; nothing is
 * allocated but room in the text that a value is copied to.
 */
#include "trace_json.h"

#include <string.h>

#define DEPTH_MAX  256 /* nobody nests deeper, and a few words of bits are enough to remember it */
#define WORD_MAX   64  /* of a value that is no JSON */
#define ROOM_SLACK 64  /* what a scalar may need beyond its own length: quotes, null for N */

/* ---- bytes --------------------------------------------------------------------------------- */

#define ONES  0x0101010101010101u
#define HIGHS 0x8080808080808080u

static inline bool is_stop(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\' || c >= 0x80;
}

/* The first byte of a string that is not simply part of it; the 0 at the end is one. */
static inline const char *skip_plain(const char *p, const char *end)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	while (end - p >= 8) {
		uint64_t x, quote, backslash, stops;

		memcpy(&x, p, sizeof(x));
		quote = x ^ ONES * '"';
		backslash = x ^ ONES * '\\';
		/* the lowest bit set is exact; above it there may be false ones */
		stops = ((x - ONES * 0x20) & ~x) | ((quote - ONES) & ~quote) |
			((backslash - ONES) & ~backslash) | x;
		stops &= HIGHS;
		if (stops)
			return p + (__builtin_ctzll(stops) >> 3);
		p += 8;
	}
#endif
	while (p < end && !is_stop((unsigned char)*p))
		p++;
	return p;
}

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool fault(struct js_reader *r, enum js_fault what)
{
	r->fault = what;
	return false;
}

/* What stands here cannot be; at the end of what is there, more may tell. */
static bool unexpected(struct js_reader *r)
{
	return fault(r, r->at >= r->end ? JS_SHORT : JS_BAD);
}

static void odd(struct js_reader *r, enum js_oddity what)
{
	r->oddities |= 1u << what;
}

/* ---- strings ------------------------------------------------------------------------------- */

struct span {
	const char *text;
	size_t length;
	bool has_escapes; /* to be decoded */
	bool is_dirty;	  /* no JSON string as it is */
};

/* Bytes of the escape at p, 0 if there is none by that name. */
static size_t escape_length(const char *p, const char *end)
{
	switch (p[1]) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return 2;
	case 'u':
		if (end - p < 6)
			return 0;
		return is_hex(p[2]) && is_hex(p[3]) && is_hex(p[4]) && is_hex(p[5]) ? 6 : 0;
	}
	return 0;
}

/* Could a string end with the quote before p? Only asked of what could not be read otherwise. */
static bool can_end_before(const char *p)
{
	while (js_is_blank(*p))
		p++;
	if (*p == ':' || *p == '}' || *p == ']')
		return true;
	if (*p != ',')
		return false;
	p++;
	while (js_is_blank(*p))
		p++;
	return *p == '"' || *p == '{' || *p == '[' || *p == '-' || is_digit(*p);
}

/* The special byte at p, inside a string: its length, or 0 with a fault. */
static size_t special_length(struct js_reader *r, struct span *s, const char *p)
{
	size_t length = 1;

	if (p >= r->end) {
		r->fault = JS_SHORT;
		return 0;
	}
	if (*p == '"') {
		odd(r, JS_ODD_QUOTE);
		s->is_dirty = true;
	} else if (*p == '\\') {
		length = escape_length(p, r->end);
		if (length == 0 && r->end - p < 6 && !r->is_last) {
			r->fault = JS_SHORT;
			return 0;
		}
		s->has_escapes = true;
		if (length == 0) {
			odd(r, JS_ODD_ESCAPE);
			s->is_dirty = true;
			length = 1;
		}
	} else if ((unsigned char)*p >= 0x80) {
		length = tl_utf8_length(p, (size_t)(r->end - p));
		if (length == 0 && r->end - p < 4 && !r->is_last) {
			r->fault = JS_SHORT;
			return 0;
		}
		if (length == 0) {
			odd(r, JS_ODD_UTF8);
			s->is_dirty = true;
			length = 1;
		}
	} else {
		odd(r, JS_ODD_CONTROL);
		s->is_dirty = true;
	}
	return length;
}

/* r->at is at the opening quote, then behind the closing one. */
static inline bool scan_string(struct js_reader *r, struct span *s)
{
	const char *p = r->at + 1;

	s->text = p;
	s->has_escapes = s->is_dirty = false;
	for (;;) {
		size_t length;

		p = skip_plain(p, r->end);
		if (*p == '"' && p < r->end && (!r->is_lenient || can_end_before(p + 1)))
			break;
		length = special_length(r, s, p);
		if (length == 0)
			return false;
		p += length;
	}
	s->length = (size_t)(p - s->text);
	r->at = p + 1;
	return true;
}

bool js_string(struct js_reader *r, struct js_scalar *out)
{
	struct span s;

	if (*r->at != '"')
		return unexpected(r);
	if (!scan_string(r, &s))
		return false;
	if (s.length > UINT32_MAX)
		return fault(r, JS_BAD);
	out->text = s.text;
	out->length = (uint32_t)s.length;
	out->kind = JS_STRING;
	out->is_encoded = s.has_escapes || s.is_dirty;
	out->is_odd = false;
	return true;
}

static unsigned hex_value(const char *p)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];
		unsigned digit =
			is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10);

		value = value << 4 | digit;
	}
	return value;
}

static void put_utf8(struct tl_text *out, unsigned c)
{
	char b[4];
	size_t n;

	if (c < 0x80) {
		b[0] = (char)c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (char)(0xc0 | c >> 6);
		b[1] = (char)(0x80 | (c & 0x3f));
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (char)(0xe0 | c >> 12);
		b[1] = (char)(0x80 | (c >> 6 & 0x3f));
		b[2] = (char)(0x80 | (c & 0x3f));
		n = 3;
	} else {
		b[0] = (char)(0xf0 | c >> 18);
		b[1] = (char)(0x80 | (c >> 12 & 0x3f));
		b[2] = (char)(0x80 | (c >> 6 & 0x3f));
		b[3] = (char)(0x80 | (c & 0x3f));
		n = 4;
	}
	tl_text_add(out, b, n);
}

/* \uXXXX, or two of them that make one character; half of a pair is U+FFFD. Bytes used. */
static size_t decode_unicode(const char *p, const char *end, struct tl_text *out)
{
	unsigned c = hex_value(p + 2), low;

	if (c >= 0xd800 && c < 0xdc00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u' &&
	    escape_length(p + 6, end) == 6) {
		low = hex_value(p + 8);
		if (low >= 0xdc00 && low < 0xe000) {
			put_utf8(out, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
			return 12;
		}
	}
	put_utf8(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return 6;
}

static size_t decode_escape(const char *p, const char *end, struct tl_text *out)
{
	static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
	size_t length = end - p < 2 ? 0 : escape_length(p, end);
	const char *name;

	if (length == 0) { /* no escape: the backslash itself */
		tl_text_add(out, p, 1);
		return 1;
	}
	if (length == 6)
		return decode_unicode(p, end, out);
	name = strchr(names, p[1]);
	tl_text_add(out, name ? &values[name - names] : &p[1], 1);
	return 2;
}

void js_decode(const struct js_scalar *string, struct tl_text *out)
{
	const char *p = string->text, *end = p + string->length;

	while (p < end) {
		const char *plain = p;
		size_t length;

		p = skip_plain(p, end);
		tl_text_add(out, plain, (size_t)(p - plain));
		if (p == end)
			break;
		if (*p == '\\') {
			p += decode_escape(p, end, out);
			continue;
		}
		length = tl_utf8_length(p, (size_t)(end - p));
		if (length)
			tl_text_add(out, p, length);
		else
			tl_text_add(out, "\xef\xbf\xbd", 3);
		p += length ? length : 1;
	}
}

/* ---- scalars that are no strings ----------------------------------------------------------- */

/* The end of the number at p, or NULL if there is none. */
static inline const char *number_end(const char *p)
{
	if (*p == '-')
		p++;
	if (*p == '0') {
		p++;
	} else {
		if (!is_digit(*p))
			return NULL;
		while (is_digit(*p))
			p++;
	}
	if (*p == '.') {
		p++;
		if (!is_digit(*p))
			return NULL;
		while (is_digit(*p))
			p++;
	}
	if (*p == 'e' || *p == 'E') {
		p++;
		if (*p == '+' || *p == '-')
			p++;
		if (!is_digit(*p))
			return NULL;
		while (is_digit(*p))
			p++;
	}
	return p;
}

bool js_is_number(const char *text, size_t length)
{
	char copy[WORD_MAX];

	if (length == 0 || length >= sizeof(copy))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return number_end(copy) == copy + length;
}

static inline bool ends_value(char c)
{
	return c == ',' || c == '}' || c == ']' || js_is_blank(c);
}

/* A value is missing, or is a word: up to what can follow a value. */
static bool scan_word(struct js_reader *r, struct js_scalar *out)
{
	const char *p = r->at, *last;

	while (p < r->end && *p != ',' && *p != '}' && *p != ']' && *p != '\n' &&
	       (unsigned char)*p >= 0x20 && *p != '"' && *p != '{' && *p != '[' && *p != ':' &&
	       p - r->at < WORD_MAX)
		p++;
	if (p >= r->end && (!r->is_last || p == r->at))
		return fault(r, JS_SHORT);
	if (p < r->end && !ends_value(*p))
		return fault(r, JS_BAD);
	for (last = p; last > r->at && js_is_blank(last[-1]); last--)
		;
	out->text = r->at;
	out->length = (uint32_t)(last - r->at);
	out->is_encoded = out->is_odd = false;
	out->kind = JS_NULL;
	r->at = p;
	if ((out->length == 4 && !memcmp(out->text, "true", 4)) ||
	    (out->length == 5 && !memcmp(out->text, "false", 5))) {
		out->kind = JS_WORD;
	} else if (out->length != 4 || memcmp(out->text, "null", 4) != 0) {
		bool is_nan = (out->length == 3 && !memcmp(out->text, "NaN", 3)) ||
			      (out->length == 8 && !memcmp(out->text, "Infinity", 8)) ||
			      (out->length == 9 && !memcmp(out->text, "-Infinity", 9));

		out->is_odd = true;
		odd(r, is_nan ? JS_ODD_NAN : JS_ODD_WORD);
	}
	return true;
}

static inline bool scan_plain(struct js_reader *r, struct js_scalar *out)
{
	const char *end = number_end(r->at);

	if (end && (end >= r->end ? r->is_last : ends_value(*end))) {
		out->text = r->at;
		out->length = (uint32_t)(end - r->at);
		out->kind = JS_NUMBER;
		out->is_encoded = out->is_odd = false;
		r->at = end;
		return true;
	}
	return scan_word(r, out);
}

/* ---- nested values ------------------------------------------------------------------------- */

/* Which of the open brackets are braces. */
struct nesting {
	uint64_t is_object[DEPTH_MAX / 64];
	unsigned depth;
};

static void push(struct nesting *n, bool is_object)
{
	uint64_t bit = (uint64_t)1 << n->depth % 64;

	if (is_object)
		n->is_object[n->depth / 64] |= bit;
	else
		n->is_object[n->depth / 64] &= ~bit;
	n->depth++;
}

static inline bool in_object(const struct nesting *n)
{
	return n->is_object[(n->depth - 1) / 64] >> (n->depth - 1) % 64 & 1;
}

/* Steps over what nests too deeply: brackets are counted, whatever they are, strings respected. */
static bool skip_deep(struct js_reader *r)
{
	uint64_t depth = 0;
	struct span s;

	odd(r, JS_ODD_DEEP);
	do {
		char c = *r->at;

		if (c == '"') {
			if (!scan_string(r, &s))
				return false;
			continue;
		}
		if (r->at >= r->end)
			return fault(r, JS_SHORT);
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		r->at++;
	} while (depth);
	return true;
}

/* Room for all that is left, should it be clean: then nothing below has to ask again. */
static inline bool make_room(const struct js_reader *r, struct tl_text *out, size_t extra)
{
	size_t need = out->length + (size_t)(r->end - r->at) + extra + ROOM_SLACK;

	if (out->failed || (need > out->capacity &&
			    tl_grow_((void **)&out->data, &out->capacity, need, 1, NULL) < 0)) {
		out->failed = true;
		return false;
	}
	return true;
}

static inline void put(struct tl_text *out, char c)
{
	out->data[out->length++] = c;
}

static inline void put_bytes(struct tl_text *out, const char *text, size_t length)
{
	memcpy(out->data + out->length, text, length);
	out->length += length;
}

/* The inside of a string that is no JSON as it is, six bytes for one at most. */
static void put_cleaned(struct tl_text *out, const struct span *s)
{
	static const char digits[] = "0123456789abcdef";
	const char *p = s->text, *end = p + s->length;

	while (p < end) {
		const char *plain = p;
		size_t length = 1;

		p = skip_plain(p, end);
		put_bytes(out, plain, (size_t)(p - plain));
		if (p == end)
			break;
		if (*p == '"' || (*p == '\\' && (end - p < 2 || !escape_length(p, end)))) {
			put(out, '\\');
			put(out, *p);
		} else if (*p == '\\') {
			length = escape_length(p, end);
			put_bytes(out, p, length);
		} else if ((unsigned char)*p < 0x20) {
			put_bytes(out, "\\u00", 4);
			put(out, digits[(unsigned char)*p >> 4]);
			put(out, digits[*p & 15]);
		} else {
			length = tl_utf8_length(p, (size_t)(end - p));
			put_bytes(out, length ? p : "\xef\xbf\xbd", length ? length : 3);
			length = length ? length : 1;
		}
		p += length;
	}
}

static inline bool copy_string(struct js_reader *r, struct tl_text *out)
{
	const char *start = r->at;
	struct span s;

	if (!scan_string(r, &s))
		return false;
	if (!s.is_dirty) {
		put_bytes(out, start, s.length + 2);
		return true;
	}
	if (!make_room(r, out, 6 * s.length))
		return false;
	put(out, '"');
	put_cleaned(out, &s);
	put(out, '"');
	return true;
}

static inline bool copy_plain(struct js_reader *r, struct tl_text *out, struct js_scalar *value)
{
	if (!scan_plain(r, value))
		return false;
	if (value->is_odd) {
		if (!make_room(r, out, 0))
			return false;
		put_bytes(out, "null", 4);
		return true;
	}
	put_bytes(out, value->text, value->length);
	return true;
}

/* "key": of an object; r->at is then at the value. */
static inline bool copy_key(struct js_reader *r, struct tl_text *out)
{
	if (*r->at != '"')
		return unexpected(r);
	if (!copy_string(r, out))
		return false;
	js_blank(r);
	if (*r->at != ':')
		return unexpected(r);
	r->at++;
	put(out, ':');
	js_blank(r);
	return true;
}

/* The comma before a value or a closing bracket, seen so far or not. */
struct comma {
	bool is_due;   /* a value stands before */
	bool was_seen; /* behind it */
};

static inline void take_comma(struct js_reader *r, struct comma *c)
{
	if (!c->is_due || c->was_seen)
		odd(r, JS_ODD_COMMA);
	c->was_seen = true;
	r->at++;
}

static inline bool put_comma(struct js_reader *r, struct tl_text *out, struct comma *c)
{
	if (c->is_due) {
		if (!c->was_seen) {
			odd(r, JS_ODD_COMMA);
			if (!make_room(r, out, 0))
				return false;
		}
		put(out, ',');
	}
	c->is_due = c->was_seen = false;
	return true;
}

static bool copy_deep(struct js_reader *r, struct tl_text *out)
{
	if (!skip_deep(r) || !make_room(r, out, 0))
		return false;
	put_bytes(out, "null", 4);
	return true;
}

static bool copy_nested(struct js_reader *r, struct tl_text *out)
{
	struct nesting n = { .depth = 0 };
	struct comma comma = { false, false };

	do {
		struct js_scalar value;
		char c;

		js_blank(r);
		c = *r->at;
		if (c == ',' && n.depth) {
			take_comma(r, &comma);
			continue;
		}
		if (n.depth && c == (in_object(&n) ? '}' : ']')) {
			if (comma.was_seen)
				odd(r, JS_ODD_COMMA);
			put(out, c);
			r->at++;
			n.depth--;
			comma = (struct comma) { .is_due = true };
			continue;
		}
		if (n.depth) {
			if (c == '}' || c == ']')
				return fault(r, JS_BAD);
			if (!put_comma(r, out, &comma))
				return false;
			if (in_object(&n) && !copy_key(r, out))
				return false;
			c = *r->at;
		}
		if ((c == '{' || c == '[') && n.depth < DEPTH_MAX) {
			push(&n, c == '{');
			put(out, c);
			r->at++;
			comma = (struct comma) { false, false };
			continue;
		}
		if (c == '{' || c == '[' ? !copy_deep(r, out)
		    : c == '"'		 ? !copy_string(r, out)
					 : !copy_plain(r, out, &value))
			return false;
		comma.is_due = true;
	} while (n.depth);
	return true;
}

static inline bool copy_value(struct js_reader *r, struct tl_text *out)
{
	struct js_scalar value;

	if (*r->at == '"')
		return copy_string(r, out);
	if (*r->at == '{' || *r->at == '[')
		return copy_nested(r, out);
	return copy_plain(r, out, &value);
}

bool js_copy(struct js_reader *r, struct tl_text *out)
{
	js_blank(r);
	return make_room(r, out, 0) && copy_value(r, out);
}

static enum js_kind kind_of(const char *value)
{
	switch (*value) {
	case '"':
		return JS_STRING;
	case '{':
		return JS_OBJECT;
	case '[':
		return JS_ARRAY;
	case 't':
	case 'f':
		return JS_WORD;
	case 'n':
		return JS_NULL;
	}
	return JS_NUMBER;
}

/* Takes an earlier member out of the text, with the comma behind it. */
static void remove_member(struct tl_text *out, struct js_members *members, size_t index,
			  size_t next_key)
{
	struct js_member *m = members->items + index;
	size_t start = m->key - 1;
	size_t stop = index + 1 < members->count ? m[1].key - 1 : next_key;

	memmove(out->data + start, out->data + stop, out->length - stop);
	out->length -= stop - start;
	members->count--;
	for (size_t i = index; i < members->count; i++) {
		members->items[i] = members->items[i + 1];
		members->items[i].key -= (uint32_t)(stop - start);
		members->items[i].value -= (uint32_t)(stop - start);
	}
}

/* The key at `key` of the text, just written: has the object one like it? */
static void drop_duplicate(struct js_reader *r, struct tl_text *out, struct js_members *members,
			   size_t *key, size_t key_length)
{
	for (size_t i = 0; i < members->count; i++) {
		const struct js_member *m = &members->items[i];
		size_t before = out->length;

		if (m->key_length != key_length ||
		    memcmp(out->data + m->key, out->data + *key, key_length) != 0)
			continue;
		odd(r, JS_ODD_DUPLICATE);
		remove_member(out, members, i, *key - 1);
		*key -= before - out->length;
		return;
	}
}

static bool copy_member(struct js_reader *r, struct tl_text *out, struct js_members *members,
			uint64_t *keys_seen)
{
	struct js_member *m;
	size_t key = out->length + 1, key_length, value;
	uint64_t bit;

	if (!copy_key(r, out))
		return false;
	if (!members)
		return copy_value(r, out);
	key_length = out->length - key - 2;
	bit = (uint64_t)1 << (key_length * 7 + (unsigned char)out->data[key] * 5u +
			      (key_length ? (unsigned char)out->data[key + key_length - 1] : 0)) %
				     64;
	if (*keys_seen & bit)
		drop_duplicate(r, out, members, &key, key_length);
	*keys_seen |= bit;
	value = out->length;
	if (!copy_value(r, out))
		return false;
	if (tl_grow(&members->items, &members->capacity, members->count + 1, NULL) < 0) {
		out->failed = true;
		return false;
	}
	m = &members->items[members->count++];
	m->kind = (uint8_t)kind_of(out->data + value);
	m->key = (uint32_t)key;
	m->key_length = (uint32_t)key_length;
	m->value = (uint32_t)value;
	m->value_length = (uint32_t)(out->length - value);
	if (m->kind == JS_STRING) {
		m->value++;
		m->value_length -= 2;
	}
	return true;
}

bool js_copy_object(struct js_reader *r, struct tl_text *out, struct js_members *members)
{
	struct comma comma = { false, false };
	uint64_t keys_seen = 0;

	js_blank(r);
	if (*r->at != '{')
		return unexpected(r);
	if (!make_room(r, out, 0))
		return false;
	put(out, '{');
	r->at++;
	for (;;) {
		js_blank(r);
		if (*r->at == '}')
			break;
		if (*r->at == ',') {
			take_comma(r, &comma);
			continue;
		}
		if (!put_comma(r, out, &comma) || !copy_member(r, out, members, &keys_seen))
			return false;
		if (out->length > UINT32_MAX / 2)
			return fault(r, JS_BAD);
		comma.is_due = true;
	}
	if (comma.was_seen)
		odd(r, JS_ODD_COMMA);
	r->at++;
	put(out, '}');
	return true;
}

/* Steps over an array or object: brackets are counted, strings respected. */
static bool skip_nested(struct js_reader *r)
{
	struct nesting n = { .depth = 0 };
	struct span s;

	do {
		char c = *r->at;

		if (c == '{' || c == '[') {
			if (n.depth == DEPTH_MAX) {
				if (!skip_deep(r))
					return false;
				continue;
			}
			push(&n, c == '{');
		} else if (c == '}' || c == ']') {
			if (c != (in_object(&n) ? '}' : ']'))
				return fault(r, JS_BAD);
			n.depth--;
		} else if (c == '"') {
			if (!scan_string(r, &s))
				return false;
			continue;
		} else if (r->at >= r->end) {
			return fault(r, JS_SHORT);
		}
		r->at++;
	} while (n.depth);
	return true;
}

bool js_value(struct js_reader *r, struct js_scalar *out)
{
	const char *start;

	js_blank(r);
	start = r->at;
	if (*start == '"')
		return js_string(r, out);
	if (*start != '{' && *start != '[')
		return scan_plain(r, out);
	if (!skip_nested(r))
		return false;
	if (r->at - start > (ptrdiff_t)UINT32_MAX)
		return fault(r, JS_BAD);
	out->text = start;
	out->length = (uint32_t)(r->at - start);
	out->kind = *start == '{' ? JS_OBJECT : JS_ARRAY;
	out->is_encoded = out->is_odd = false;
	return true;
}
