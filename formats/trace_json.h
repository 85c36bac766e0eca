/*
 * trace_json.h - JSON as it lies in memory: one value at a time, checked and made compact, and
 * tolerant where producers are known to write what is no JSON. Knows nothing of trace events and
 * nothing of files.
 */
#ifndef TRACE_JSON_H
#define TRACE_JSON_H

#include "memory.h"

/* What was met that is no JSON, and how it is read all the same. */
enum js_oddity {
	JS_ODD_CONTROL,	  /* a raw control character in a string: taken literally */
	JS_ODD_ESCAPE,	  /* an unknown escape: the backslash is taken literally */
	JS_ODD_UTF8,	  /* bytes that are no UTF-8: U+FFFD */
	JS_ODD_QUOTE,	  /* a quote inside a string that is not escaped: taken literally */
	JS_ODD_NAN,	  /* NaN, Infinity: null */
	JS_ODD_WORD,	  /* a value that is no JSON (N/A, -1.-500): null */
	JS_ODD_COMMA,	  /* a comma too many, or one missing */
	JS_ODD_DUPLICATE, /* a key that the object has already: the last one counts */
	JS_ODD_DEEP,	  /* nested too deeply: null */
	JS_ODDITIES
};

enum js_fault {
	JS_FINE,
	JS_SHORT, /* the value goes on behind the end of what is there */
	JS_BAD	  /* no way to tell what this is */
};

struct js_reader {
	const char *at, *end; /* *end is readable, and 0 */
	bool is_last;	      /* nothing will ever follow `end` */
	bool is_lenient;      /* a quote ends a string only where one can end */
	enum js_fault fault;
	unsigned oddities; /* 1 << enum js_oddity */
};

enum js_kind {
	JS_NONE,
	JS_STRING,
	JS_NUMBER,
	JS_WORD, /* true, false */
	JS_NULL, /* null, or what is read as null */
	JS_ARRAY,
	JS_OBJECT
};

/* A scalar where it lies; strings without their quotes, escapes not yet decoded. */
struct js_scalar {
	const char *text;
	uint32_t length;
	uint8_t kind;	 /* enum js_kind; ARRAY, OBJECT: text is the whole of it */
	bool is_encoded; /* a string that has to be decoded, or cleaned */
	bool is_odd;	 /* JS_NULL: it was a word or number that is no JSON */
};

/* One member of an object made compact: offsets into the text it was put into. */
struct js_member {
	uint32_t key, key_length;     /* without quotes */
	uint32_t value, value_length; /* strings without quotes */
	uint8_t kind;
};

struct js_members {
	struct js_member *items;
	size_t count, capacity;
};

static inline bool js_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline void js_blank(struct js_reader *r)
{
	const char *p = r->at;

	while (js_is_blank(*p))
		p++;
	r->at = p;
}

/* A string, or any scalar, or (skipped over) an array or object. False: see r->fault. */
bool js_string(struct js_reader *r, struct js_scalar *out);
bool js_value(struct js_reader *r, struct js_scalar *out);
/*
 * Any value, appended to `out` as valid JSON without white space. The second one wants an object
 * and notes its members, unless `members` is NULL. False: see r->fault, or out->failed.
 */
bool js_copy(struct js_reader *r, struct tl_text *out);
bool js_copy_object(struct js_reader *r, struct tl_text *out, struct js_members *members);
/* Appends what a string means, as UTF-8. */
void js_decode(const struct js_scalar *string, struct tl_text *out);
/* Whether the text is a number as JSON has them. */
bool js_is_number(const char *text, size_t length);

#endif
