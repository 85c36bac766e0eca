/*
 * csv_array.c - finds where the objects of a JSON array begin and end. What is in them is not known
 * here, nor whether it is JSON.
 */
#include "csv_array.h"

#include <string.h>

enum { OBJECT_MAX = 1 << 20 };

struct nesting {
	size_t depth;
	bool in_string, is_escaped;
};

/* True: the byte ends the object. */
static bool is_end(struct nesting *n, char c)
{
	if (n->in_string) {
		n->in_string = n->is_escaped || c != '"';
		n->is_escaped = !n->is_escaped && c == '\\';
	} else if (c == '"') {
		n->in_string = true;
	} else if (c == '{' || c == '[') {
		n->depth++;
	} else if ((c == '}' || c == ']') && n->depth) {
		return --n->depth == 0;
	}
	return false;
}

size_t csv_array_object_length(const char *text, size_t len)
{
	struct nesting n = { 0 };

	for (size_t i = 0; i < len; i++)
		if (is_end(&n, text[i]))
			return i + 1;
	return 0;
}

static int next_line(struct csv_array *a, struct tl_input *in, struct tl_error *err)
{
	bool is_whole = !a->line.is_partial;
	int ret = tl_input_line(in, &a->line, err);

	a->at = 0;
	if (ret > 0 && is_whole && a->object.length)
		tl_text_puts(&a->object, " ");
	return ret;
}

/* To the next brace between objects. */
static int find_begin(struct csv_array *a, struct tl_input *in, struct tl_error *err)
{
	for (;;) {
		const char *from = a->line.text + a->at;
		const char *brace =
			a->at < a->line.length ? memchr(from, '{', a->line.length - a->at) : NULL;
		int ret;

		if (brace) {
			a->at += (size_t)(brace - from);
			return 1;
		}
		ret = next_line(a, in, err);
		if (ret <= 0)
			return ret;
	}
}

/* 1: it is whole, 0: the file ends in it. */
static int read_object(struct csv_array *a, struct tl_input *in, bool *is_too_long,
		       struct tl_error *err)
{
	struct nesting n = { 0 };
	int ret = 1;

	while (ret > 0) {
		size_t start = a->at;
		bool has_ended = false;

		while (a->at < a->line.length && !has_ended)
			has_ended = is_end(&n, a->line.text[a->at++]);
		*is_too_long |= a->object.length + (a->at - start) > OBJECT_MAX;
		if (!*is_too_long)
			tl_text_add(&a->object, a->line.text + start, a->at - start);
		if (a->object.failed)
			return tl_fail(err, TL_NOMEM, "out of memory");
		if (has_ended)
			return 1;
		ret = next_line(a, in, err);
	}
	return ret;
}

int csv_array_next(struct csv_array *a, struct tl_input *in, uint64_t *number, struct tl_error *err)
{
	for (;;) {
		bool is_too_long = false;
		int ret;

		a->object.length = 0;
		ret = find_begin(a, in, err);
		if (ret <= 0)
			return ret;
		*number = a->line.number;
		ret = read_object(a, in, &is_too_long, err);
		a->is_cut = ret == 0;
		if (ret <= 0 || !is_too_long)
			return ret;
		if (!a->too_long++)
			a->first_too_long = *number;
	}
}

void csv_array_release(struct csv_array *a)
{
	tl_text_release(&a->object);
}
