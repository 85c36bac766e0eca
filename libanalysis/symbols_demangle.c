/*
 * symbols_demangle.c - linkage names to names for people, as perf 6.x on Debian shows them: Rust
 * and C++ by libiberty without parameters, the leftovers of Rust, OCaml and Java.
 *
 * Names come from foreign files. A name of 300 bytes can ask for a text of gigabytes, and
 * libiberty has no way to be told to stop, so its callback leaves with longjmp when the text
 * passes a limit. That loses nothing: with a callback it works on the stack alone, but for the
 * punycode of Rust v0 names, a few bytes.
 */
#include "symbols.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "memory.h"

#define NAME_MAX_BYTES	(64u << 10)
#define SHOWN_MAX_BYTES (256u << 10)

struct collector {
	struct tl_text text;
	jmp_buf too_long;
};

static void collect(const char *text, size_t len, void *payload)
{
	struct collector *c = payload;

	tl_text_add(&c->text, text, len);
	if (c->text.length > SHOWN_MAX_BYTES || c->text.failed)
		longjmp(c->too_long, 1);
}

typedef int (*demangler_fn)(const char *mangled, int options, demangle_callbackref callback,
			    void *payload);

/* `c` is the caller's, because what setjmp's own function holds is lost by the jump. */
static char *demangle_with(demangler_fn demangler, const char *name, struct collector *c)
{
	memset(&c->text, 0, sizeof(c->text));
	if (setjmp(c->too_long) || !demangler(name, DMGL_NO_OPTS, collect, c) || !c->text.data) {
		tl_text_release(&c->text);
		return NULL;
	}
	return c->text.data;
}

/* ---- Rust: what is left of a legacy name that was read as C++ ---- */

#define RUST_HASH_DIGITS 16

/* "::h" and sixteen digits, of which a hash has at least five different ones. */
static bool has_rust_hash(const char *name, size_t len)
{
	unsigned seen = 0;
	int distinct = 0;
	const char *p;

	if (len <= 3 + RUST_HASH_DIGITS)
		return false;
	p = name + len - RUST_HASH_DIGITS;
	if (memcmp(p - 3, "::h", 3) != 0)
		return false;
	for (int i = 0; i < RUST_HASH_DIGITS; i++) {
		if (!isdigit((unsigned char)p[i]) && !(p[i] >= 'a' && p[i] <= 'f'))
			return false;
		seen |= 1u << (isdigit((unsigned char)p[i]) ? p[i] - '0' : p[i] - 'a' + 10);
	}
	for (; seen; seen &= seen - 1)
		distinct++;
	return distinct >= 5;
}

static const struct {
	const char *code;
	char shown;
} rust_codes[] = {
	{ "$SP$", '@' },   { "$BP$", '*' },  { "$RF$", '&' },  { "$LT$", '<' },	 { "$GT$", '>' },
	{ "$LP$", '(' },   { "$RP$", ')' },  { "$C$", ',' },   { "$u7e$", '~' }, { "$u20$", ' ' },
	{ "$u27$", '\'' }, { "$u3d$", '=' }, { "$u5b$", '[' }, { "$u5d$", ']' }, { "$u7b$", '{' },
	{ "$u7d$", '}' },  { "$u3b$", ';' }, { "$u2b$", '+' }, { "$u22$", '"' },
};

static bool rust_code(const char *p, char *shown, size_t *len)
{
	for (size_t i = 0; i < sizeof(rust_codes) / sizeof(rust_codes[0]); i++) {
		size_t n = strlen(rust_codes[i].code);

		if (!strncmp(p, rust_codes[i].code, n)) {
			*shown = rust_codes[i].shown;
			*len = n;
			return true;
		}
	}
	return false;
}

/* A name of Rust has no other '$' than those of the codes, and plain characters. */
static bool looks_like_rust(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char shown;
		size_t n;

		if (name[i] == '$') {
			if (!rust_code(name + i, &shown, &n))
				return false;
			i += n - 1;
		} else if (!isalnum((unsigned char)name[i]) && !strchr("_.:", name[i])) {
			return false;
		}
	}
	return true;
}

static void clean_rust(char *name)
{
	size_t len = strlen(name), to = 0;

	if (!has_rust_hash(name, len) || !looks_like_rust(name, len - 3 - RUST_HASH_DIGITS))
		return;
	len -= 3 + RUST_HASH_DIGITS;
	for (size_t i = 0; i < len;) {
		bool begins = i == 0 || name[i - 1] == ':';
		char shown;
		size_t n;

		if (begins && name[i] == '_' && i + 1 < len && name[i + 1] == '$') {
			i++; /* only there because a name may not begin with '$' */
		} else if (name[i] == '$' && rust_code(name + i, &shown, &n)) {
			name[to++] = shown;
			i += n;
		} else if (name[i] == '.' && i + 1 < len && name[i + 1] == '.') {
			name[to++] = ':';
			name[to++] = ':';
			i += 2;
		} else {
			name[to++] = name[i++];
		}
	}
	name[to] = '\0';
}

/* ---- OCaml ---- */

/* camlStdlib__List__map_123 -> Stdlib.List.map_123; "$xx" is a character by its hex code. */
static char *demangle_ocaml(const char *name)
{
	size_t len = strlen(name), to = 0;
	char *out;

	if (strncmp(name, "caml", 4) != 0 || !isupper((unsigned char)name[4]))
		return NULL;
	out = malloc(len + 1);
	if (!out)
		return NULL;
	for (size_t i = 4; i < len;) {
		if (name[i] == '_' && name[i + 1] == '_') {
			out[to++] = '.';
			i += 2;
		} else if (name[i] == '$' && isxdigit((unsigned char)name[i + 1]) &&
			   isxdigit((unsigned char)name[i + 2])) {
			char hex[3] = { name[i + 1], name[i + 2], '\0' };

			out[to++] = (char)strtol(hex, NULL, 16);
			i += 3;
		} else {
			out[to++] = name[i++];
		}
	}
	out[to] = '\0';
	return out;
}

/* ---- Java ---- */

static const char *java_type(char code)
{
	switch (code) {
	case 'B':
		return "byte";
	case 'C':
		return "char";
	case 'D':
		return "double";
	case 'F':
		return "float";
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'S':
		return "short";
	case 'V':
		return "void";
	case 'Z':
		return "boolean";
	default:
		return NULL;
	}
}

/* "java/lang/Object;" up to the semicolon, with dots; NULL: there is none. */
static const char *add_java_class(struct tl_text *text, const char *p)
{
	for (; *p && *p != ';' && *p != '(' && *p != ')' && *p != '['; p++)
		tl_text_add(text, *p == '/' ? "." : p, 1);
	return *p == ';' ? p + 1 : NULL;
}

static const char *add_java_types(struct tl_text *text, const char *p)
{
	for (int count = 0; *p != ')'; count++) {
		const char *type;
		size_t dimensions = strspn(p, "[");

		p += dimensions;
		if (count)
			tl_text_puts(text, ", ");
		type = java_type(*p);
		if (type) {
			tl_text_puts(text, type);
			p++;
		} else if (*p != 'L' || !(p = add_java_class(text, p + 1))) {
			return NULL;
		}
		for (; dimensions; dimensions--)
			tl_text_puts(text, "[]");
	}
	return p;
}

/* Lcom/foo/Bar;baz([I)V, as agents of the JVM write it -> com.foo.Bar.baz(int[]) */
static char *demangle_java(const char *name)
{
	struct tl_text text = { 0 };
	const char *p = name;
	size_t len;

	if (*p != 'L' || !strchr(name, ')'))
		return NULL;
	p = add_java_class(&text, p + 1);
	if (p && isalpha((unsigned char)*p))
		tl_text_puts(&text, ".");
	if (p) {
		len = strcspn(p, "()[;/");
		tl_text_add(&text, p, len);
		p = p[len] == '(' ? p + len + 1 : NULL;
		tl_text_puts(&text, "(");
	}
	if (p)
		p = add_java_types(&text, p);
	if (!p || text.failed) {
		tl_text_release(&text);
		return NULL;
	}
	tl_text_puts(&text, ")");
	return text.data;
}

char *tl_demangle(const char *name)
{
	struct collector c;
	char *shown;

	if (strlen(name) > NAME_MAX_BYTES)
		return NULL;
	shown = demangle_with(rust_demangle_callback, name, &c);
	if (!shown)
		shown = demangle_with(cplus_demangle_v3_callback, name, &c);
	if (!shown)
		shown = demangle_ocaml(name);
	else
		clean_rust(shown);
	if (!shown)
		shown = demangle_java(name);
	return shown;
}
