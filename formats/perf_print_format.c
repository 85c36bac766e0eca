/*
 * perf_print_format.c - a "print fmt" to the fields that it shows by name.
 *
 * A recursive reader with a bounded depth. Whatever it cannot give a value is left unnamed. Must not
 * know what a payload looks like.
 */
#include "perf_print_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "perf_print_private.h"

/* ---- expressions --------------------------------------------------------------------------- */

static uint32_t parse_condition(struct perf_print_parser *p);

/* One or more string tokens in a row, joined, escapes undone, into the common pool. */
static void take_string(struct perf_print_parser *p, uint64_t *offset, uint32_t *length)
{
	struct tl_text *pool = &p->format->strings;

	*offset = pool->length;
	for (; p->token == T_STRING; perf_print_next(p))
		for (size_t i = 0; i < p->length; i++) {
			char c = p->text[i];

			if (c == '\\' && i + 1 < p->length) {
				c = p->text[++i];
				c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
			}
			tl_text_add(pool, &c, 1);
		}
	*length = pool->length - *offset;
	if (pool->failed)
		p->status = tl_fail(p->err, TL_NOMEM, "out of memory");
}

static uint32_t parse_string(struct perf_print_parser *p)
{
	struct perf_print_node node = { .kind = TEXT, .field = FIELD_NONE, .is_text = true };

	take_string(p, &node.value, &node.length);
	return perf_print_add(p, node);
}

/*
 * { 1, "one" }: false if it has no constant value, so that names cannot be trusted. Empty ones, and
 * the terminator { 0, ((void *)0) }, name nothing.
 */
static bool parse_entry(struct perf_print_parser *p, const struct perf_print_node *table)
{
	struct perf_print_format *f = p->format;
	struct perf_print_entry entry = { 0 };
	uint64_t offset = 0;

	if (perf_print_is_op(p, '}'))
		return true;
	uint32_t value = parse_condition(p);
	bool is_constant = perf_print_node(f, value)->kind == CONSTANT;
	entry.value = perf_print_node(f, value)->value;
	perf_print_expect(p, ',');
	if (p->token != T_STRING) {
		const struct perf_print_node *text =
			perf_print_node(f, p->failed ? 0 : parse_condition(p));

		return text->kind == CONSTANT && text->value == 0;
	}
	take_string(p, &offset, &entry.length);
	entry.text = offset;
	if (f->entry_count - table->b >= ENTRIES_MAX)
		p->failed = true;
	if (p->status == TL_OK)
		p->status = tl_grow(&f->entries, &f->entry_capacity, f->entry_count + 1, p->err);
	if (p->status == TL_OK)
		f->entries[f->entry_count++] = entry;
	return is_constant;
}

static bool parse_entries(struct perf_print_parser *p, struct perf_print_node *table)
{
	bool is_known = true;

	table->b = p->format->entry_count;
	while (perf_print_is_op(p, '{') && !p->failed && p->status == TL_OK) {
		perf_print_next(p);
		is_known &= parse_entry(p, table);
		perf_print_expect(p, '}');
		if (!perf_print_is_op(p, ','))
			break;
		perf_print_next(p);
	}
	table->c = p->format->entry_count - table->b;
	return is_known && !p->failed;
}

/* Behind "__print_flags(" or "__print_symbolic(". */
static uint32_t parse_table(struct perf_print_parser *p, enum perf_print_kind kind)
{
	struct perf_print_node node = { .kind = kind, .is_text = true, .has_table = true };

	node.a = parse_condition(p);
	perf_print_expect(p, ',');
	if (kind == FLAGS) {
		if (p->token == T_STRING)
			take_string(p, &node.value, &node.length);
		perf_print_expect(p, ',');
	}
	bool is_known = !p->failed && parse_entries(p, &node);
	perf_print_expect(p, ')');

	const struct perf_print_node *value = perf_print_node(p->format, node.a);
	if (!is_known || value->kind == OPAQUE || value->is_text || value->height >= HEIGHT_MAX)
		return 0;
	node.field = value->field;
	node.height = value->height + 1;
	return perf_print_add(p, node);
}

static uint32_t parse_field(struct perf_print_parser *p)
{
	if (perf_print_is_op(p, ')')) /* (REC)->x */
		perf_print_next(p);
	perf_print_expect(p, OP_ARROW);
	if (p->token != T_WORD) {
		p->failed = true;
		return 0;
	}
	uint32_t node = 0;
	for (size_t i = 0; i < p->field_count; i++)
		if (perf_print_is_word(p, p->fields[i].name)) {
			if (p->fields[i].is_integer)
				node = perf_print_add(
					p, (struct perf_print_node) { .kind = FIELD, .field = i });
			break;
		}
	perf_print_next(p);
	return node;
}

static uint32_t parse_word(struct perf_print_parser *p)
{
	uint32_t node = 0;

	if (perf_print_is_word(p, "REC")) {
		perf_print_next(p);
		return parse_field(p);
	}
	bool is_flags = perf_print_is_word(p, "__print_flags") ||
			perf_print_is_word(p, "__print_flags_u64");
	bool is_symbol = perf_print_is_word(p, "__print_symbolic") ||
			 perf_print_is_word(p, "__print_symbolic_u64");
	bool is_expect = perf_print_is_word(p, "__builtin_expect");
	perf_print_next(p);
	if (!perf_print_is_op(p, '('))
		return 0; /* a name that the kernel did not resolve */
	perf_print_next(p);
	if (is_flags || is_symbol)
		return parse_table(p, is_flags ? FLAGS : SYMBOL);
	if (is_expect)
		node = parse_condition(p);
	perf_print_skip_to_close(p);
	return node;
}

struct type {
	uint64_t bits; /* 64 for what does not change a value */
	bool is_signed;
};

static struct type type_of_words(struct perf_print_parser *p)
{
	static const struct {
		const char *word;
		struct type type;
	} known[] = { { "u8", { 8, false } },	    { "__u8", { 8, false } },
		      { "u16", { 16, false } },	    { "__u16", { 16, false } },
		      { "u32", { 32, false } },	    { "__u32", { 32, false } },
		      { "s8", { 8, true } },	    { "char", { 8, true } },
		      { "s16", { 16, true } },	    { "short", { 16, true } },
		      { "s32", { 32, true } },	    { "int", { 32, true } },
		      { "unsigned", { 32, false } } };
	struct type type = { 64, false };
	bool is_unsigned = false, is_pointer = false;
	unsigned longs = 0;

	for (; p->token == T_WORD || perf_print_is_op(p, '*'); perf_print_next(p)) {
		is_pointer |= p->token != T_WORD;
		is_unsigned |= perf_print_is_word(p, "unsigned");
		longs += perf_print_is_word(p, "long");
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (perf_print_is_word(p, known[i].word) && known[i].type.bits < type.bits)
				type = known[i].type;
	}
	if (longs)
		type = (struct type) { longs == 1 ? 8 * p->long_size : 64, true };
	if (is_pointer)
		type.bits = 64;
	if (is_unsigned)
		type.is_signed = false;
	return type;
}

/* Behind "(": a cast if only words and stars follow to ")". */
static bool parse_cast(struct perf_print_parser *p, struct type *type)
{
	struct perf_print_parser saved = *p;

	if (p->token != T_WORD || perf_print_is_word(p, "REC"))
		return false;
	*type = type_of_words(p);
	if (perf_print_is_op(p, ')')) {
		perf_print_next(p);
		/* (NAME) + 1 is no cast, (NAME) - 1 might be one: what follows decides */
		if (p->token == T_NUMBER || p->token == T_WORD || p->token == T_STRING ||
		    perf_print_is_op(p, '(') || perf_print_is_op(p, '~') ||
		    perf_print_is_op(p, '!') || perf_print_is_op(p, '-'))
			return true;
	}
	saved.status = p->status;
	*p = saved;
	return false;
}

static uint32_t parse_unary(struct perf_print_parser *p);

static uint32_t parse_paren(struct perf_print_parser *p)
{
	struct type type;
	uint32_t node;

	perf_print_next(p);
	if (perf_print_is_word(p, "REC")) {
		struct perf_print_parser saved = *p;

		perf_print_next(p);
		if (perf_print_is_op(p, ')'))
			return parse_field(p);
		*p = saved;
	}
	if (parse_cast(p, &type)) {
		node = parse_unary(p);
		return perf_print_add_unary(
			p, (struct perf_print_node) { .kind = CAST,
						      .a = node,
						      .value = type.bits,
						      .is_signed = type.is_signed });
	}
	node = parse_condition(p);
	perf_print_expect(p, ')');
	return node;
}

static uint32_t parse_primary(struct perf_print_parser *p)
{
	uint32_t node = 0;

	if (p->token == T_NUMBER) {
		node = perf_print_add_constant(p, p->number);
		perf_print_next(p);
	} else if (p->token == T_STRING) {
		node = parse_string(p);
	} else if (p->token == T_WORD) {
		node = parse_word(p);
	} else if (perf_print_is_op(p, '(')) {
		node = parse_paren(p);
	} else {
		p->failed = true;
	}
	while (!p->failed && (perf_print_is_op(p, '[') || perf_print_is_op(p, OP_ARROW) ||
			      perf_print_is_op(p, '.'))) {
		bool is_index = perf_print_is_op(p, '[');

		node = 0; /* elements and members are not followed */
		perf_print_next(p);
		if (is_index)
			perf_print_skip_to_close(p);
		else
			perf_print_next(p);
	}
	return node;
}

static uint32_t parse_unary(struct perf_print_parser *p)
{
	uint32_t node = 0;

	if (p->failed || p->status < 0 || p->depth >= DEPTH_MAX) {
		p->failed = true;
		return 0;
	}
	p->depth++;
	if (perf_print_is_op(p, '!') || perf_print_is_op(p, '~') || perf_print_is_op(p, '-') ||
	    perf_print_is_op(p, '+')) {
		int op = p->op;

		perf_print_next(p);
		node = parse_unary(p);
		node = perf_print_add_unary(
			p, (struct perf_print_node) { .kind = UNARY, .op = op, .a = node });
	} else if (perf_print_is_op(p, '&') || perf_print_is_op(p, '*')) {
		perf_print_next(p);
		parse_unary(p);
	} else {
		node = parse_primary(p);
	}
	p->depth--;
	return p->failed ? 0 : node;
}

static int precedence(const struct perf_print_parser *p)
{
	if (p->token != T_OPERATOR)
		return 0;
	switch (p->op) {
	case '*':
	case '/':
	case '%':
		return 10;
	case '+':
	case '-':
		return 9;
	case OP_SHL:
	case OP_SHR:
		return 8;
	case '<':
	case '>':
	case OP_LE:
	case OP_GE:
		return 7;
	case OP_EQ:
	case OP_NE:
		return 6;
	case '&':
		return 5;
	case '^':
		return 4;
	case '|':
		return 3;
	case OP_AND:
		return 2;
	case OP_OR:
		return 1;
	}
	return 0;
}

static uint32_t parse_binary(struct perf_print_parser *p, int lowest)
{
	uint32_t left = parse_unary(p);
	int level;

	while (!p->failed && (level = precedence(p)) >= lowest && level > 0) {
		int op = p->op;

		perf_print_next(p);
		left = perf_print_add_binary(p, op, left, parse_binary(p, level + 1));
	}
	return left;
}

static uint32_t parse_condition(struct perf_print_parser *p)
{
	if (p->depth >= DEPTH_MAX) {
		p->failed = true;
		return 0;
	}
	p->depth++;
	uint32_t node = parse_binary(p, 1);
	if (!p->failed && perf_print_is_op(p, '?')) {
		perf_print_next(p);
		uint32_t yes = parse_condition(p);
		perf_print_expect(p, ':');
		uint32_t no = p->failed ? 0 : parse_condition(p);
		node = perf_print_add_condition(p, node, yes, no);
	}
	p->depth--;
	return p->failed ? 0 : node;
}

/* ---- the arguments ------------------------------------------------------------------------- */

/* One argument; whatever it was, the next token is "," or the end afterwards. */
static uint32_t parse_argument(struct perf_print_parser *p)
{
	uint32_t node = parse_condition(p);

	if (!p->failed && (p->token == T_END || perf_print_is_op(p, ',')))
		return node;
	p->failed = false;
	p->depth = 0;
	for (unsigned depth = 0; p->token != T_END && !(depth == 0 && perf_print_is_op(p, ','));
	     perf_print_next(p)) {
		if (perf_print_is_op(p, '(') || perf_print_is_op(p, '{') ||
		    perf_print_is_op(p, '['))
			depth++;
		else if ((perf_print_is_op(p, ')') || perf_print_is_op(p, '}') ||
			  perf_print_is_op(p, ']')) &&
			 depth > 0)
			depth--;
	}
	p->failed = false;
	return 0;
}

/*
 * Steps over the next conversion of the format text. *is_text: a %s; *is_adjacent: nothing stood
 * before it. Returns how many arguments it uses, 0 at the end.
 */
static unsigned next_conversion(const char **at, const char *end, bool *is_text, bool *is_adjacent)
{
	const char *start = *at, *c = start;
	unsigned stars = 0;

	while (c < end && !(c[0] == '%' && c + 1 < end && c[1] != '%'))
		c += c[0] == '%' ? 2 : 1;
	if (c >= end)
		return 0;
	*is_adjacent = c == start;
	c++;
	while (c < end && (memchr("-+ #0.*hlLqjzt", *c, 14) || isdigit((unsigned char)*c)))
		stars += *c++ == '*';
	*is_text = c < end && *c == 's';
	if (c < end && *c == 'p')
		while (c + 1 < end && isalnum((unsigned char)c[1]))
			c++;
	*at = c < end ? c + 1 : end;
	return 1 + stars;
}

/* Adds argument `node` to what is shown, if it names a field. */
static void add_shown(struct perf_print_parser *p, uint32_t node, bool *is_open, bool continues)
{
	struct perf_print_format *f = p->format;
	const struct perf_print_node *n = perf_print_node(f, node);
	bool is_name = n->is_text && n->field < FIELD_MANY;
	bool joins =
		continues && *is_open && is_name && f->shown[f->shown_count - 1].field == n->field;

	if (!joins && !(is_name && n->has_table)) {
		*is_open = false;
		return;
	}
	if (!joins && f->shown_count >= SHOWN_MAX)
		return;
	if (p->status == TL_OK)
		p->status = tl_grow(&f->parts, &f->part_capacity, f->part_count + 1, p->err);
	if (p->status == TL_OK)
		p->status = tl_grow(&f->shown, &f->shown_capacity, f->shown_count + 1, p->err);
	if (p->status < 0)
		return;
	if (!joins)
		f->shown[f->shown_count++] =
			(struct perf_print_shown) { .field = n->field, .first = f->part_count };
	f->parts[f->part_count++] = node;
	f->shown[f->shown_count - 1].count++;
	*is_open = true;
}

static void parse_all(struct perf_print_parser *p)
{
	uint64_t offset = 0;
	uint32_t length = 0;

	perf_print_add(p, (struct perf_print_node) { .kind = OPAQUE, .field = FIELD_NONE });
	if (p->status < 0)
		return;
	perf_print_next(p);
	if (p->token != T_STRING)
		return;
	/* Escapes are undone here: no matter, only what stands between conversions counts. */
	take_string(p, &offset, &length);
	char *copy = p->status == TL_OK
			     ? tl_strdup_n(p->format->strings.data + offset, length, p->err)
			     : NULL;
	if (copy == NULL) {
		p->status = length ? TL_NOMEM : p->status;
		return;
	}
	const char *at = copy, *end = copy + length;
	bool is_open = false;

	while (p->status == TL_OK && perf_print_is_op(p, ',')) {
		bool is_text = false, is_adjacent = false;
		unsigned uses = next_conversion(&at, end, &is_text, &is_adjacent);
		uint32_t node = 0;

		for (unsigned i = 0; i < (uses ? uses : 1) && perf_print_is_op(p, ','); i++) {
			perf_print_next(p);
			node = parse_argument(p);
		}
		add_shown(p, is_text ? node : 0, &is_open, is_adjacent);
	}
	free(copy);
}

int perf_print_format_parse(struct perf_print_format **out, const char *text, size_t len,
			    const struct perf_print_field *fields, size_t field_count,
			    unsigned long_size, struct tl_error *err)
{
	struct perf_print_format *format = tl_alloc(1, sizeof(*format), err);

	*out = NULL;
	if (format == NULL)
		return TL_NOMEM;
	text = text ? text : ""; /* of no length: a pointer that may be added to */
	struct perf_print_parser p = { .format = format,
				       .fields = fields,
				       .field_count = field_count,
				       .long_size = long_size == 4 ? 4 : 8,
				       .at = text,
				       .end = text + len,
				       .err = err };
	parse_all(&p);
	if (p.status < 0) {
		perf_print_format_free(format);
		return p.status;
	}
	*out = format;
	return TL_OK;
}

void perf_print_format_free(struct perf_print_format *format)
{
	if (format == NULL)
		return;
	free(format->nodes);
	free(format->entries);
	free(format->shown);
	free(format->parts);
	tl_text_release(&format->strings);
	free(format);
}

/* ---- values -------------------------------------------------------------------------------- */

size_t perf_print_format_count(const struct perf_print_format *format)
{
	return format ? format->shown_count : 0;
}

uint32_t perf_print_format_field(const struct perf_print_format *format, size_t i)
{
	return format->shown[i].field;
}

bool perf_print_format_text(const struct perf_print_format *format, size_t i, uint64_t value,
			    struct tl_text *out)
{
	const struct perf_print_shown *s = &format->shown[i];

	out->length = 0;
	for (uint32_t k = 0; k < s->count; k++)
		if (!perf_print_text(format, format->parts[s->first + k], value, out))
			return false;
	return out->length > 0 && out->length <= NAME_LENGTH_MAX;
}
