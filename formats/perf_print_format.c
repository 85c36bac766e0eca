/*
 * perf_print_format.c - expressions of a "print fmt" to a small tree, and the names it gives.
 *
 * A recursive reader with a bounded depth. Whatever it cannot give a value becomes an OPAQUE node,
 * which poisons what is made of it and nothing else. Must not know what a payload looks like.
 */
#include "perf_print_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

#define DEPTH_MAX	256 /* of nested brackets, two each; real ones stay below 60 */
#define HEIGHT_MAX	200 /* of a tree: what _text may recurse */
#define NAME_LENGTH_MAX 512 /* of what _text gives: gfp flags have up to 300 */
#define FIELD_NONE	UINT32_MAX
#define FIELD_MANY	(UINT32_MAX - 1)
#define ENTRIES_MAX	4096 /* of one table */
#define SHOWN_MAX	16

enum node_kind { OPAQUE, CONSTANT, FIELD, UNARY, BINARY, CAST, CONDITION, TEXT, FLAGS, SYMBOL };

/* Operators of more than one character. */
enum { OP_SHL = 128, OP_SHR, OP_LE, OP_GE, OP_EQ, OP_NE, OP_AND, OP_OR, OP_ARROW };

struct node {
	enum node_kind kind;
	int op;
	uint32_t a, b, c; /* children; FLAGS, SYMBOL: a value, b first entry, c entries */
	uint64_t value;	  /* CONSTANT; CAST: bits; TEXT and delimiter: offset in strings */
	uint32_t length;  /* of that text */
	uint32_t field;	  /* the one field below, or FIELD_NONE, FIELD_MANY */
	uint16_t height;
	bool is_signed, is_text, has_table;
};

struct entry {
	uint64_t value;
	uint32_t text, length;
};

struct shown {
	uint32_t field, first, count; /* parts: node numbers */
};

struct perf_print_format {
	struct node *nodes;
	size_t node_count, node_capacity;
	struct entry *entries;
	size_t entry_count, entry_capacity;
	struct shown *shown;
	size_t shown_count, shown_capacity;
	uint32_t *parts;
	size_t part_count, part_capacity;
	struct tl_text strings;
};

enum token { T_END, T_NUMBER, T_WORD, T_STRING, T_OPERATOR };

struct parser {
	struct perf_print_format *format;
	const struct perf_print_field *fields;
	size_t field_count;
	unsigned long_size, depth;
	const char *at, *end; /* behind the token */
	enum token token;
	const char *text; /* of the token; STRING: without quotes */
	size_t length;
	uint64_t number;
	int op;
	bool failed; /* no sense in the rest of this argument */
	int status;  /* out of memory */
	struct tl_error *err;
};

/* ---- tokens -------------------------------------------------------------------------------- */

static void next_number(struct parser *p)
{
	size_t len = p->end - p->at, digits = 0, used;
	unsigned base = 10;

	p->token = T_NUMBER;
	if (len > 2 && p->at[0] == '0' && (p->at[1] | 32) == 'x') {
		digits = 2;
		base = 16;
	}
	used = tl_parse_u64(p->at + digits, len - digits, base, &p->number);
	if (used == 0)
		p->failed = true;
	if (base == 10 && p->at[0] == '0' && used > 1) { /* octal */
		p->number = 0;
		for (size_t i = 0; i < used && i < 22; i++)
			p->number = p->number << 3 | ((unsigned)(p->at[i] - '0') & 7);
	}
	p->at += digits + used;
	while (p->at < p->end && (isalnum((unsigned char)*p->at) || *p->at == '_'))
		p->at++; /* suffix: UL, ULL */
}

static void next_string(struct parser *p, char quote)
{
	p->text = ++p->at;
	while (p->at < p->end && *p->at != quote)
		p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
	p->length = p->at - p->text;
	if (p->at == p->end)
		p->failed = true;
	else
		p->at++;
}

static void next_operator(struct parser *p)
{
	static const struct {
		char text[3];
		int op;
	} pairs[] = { { "<<", OP_SHL }, { ">>", OP_SHR }, { "<=", OP_LE },
		      { ">=", OP_GE },	{ "==", OP_EQ },  { "!=", OP_NE },
		      { "&&", OP_AND }, { "||", OP_OR },  { "->", OP_ARROW } };

	p->token = T_OPERATOR;
	if (p->end - p->at > 1)
		for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
			if (p->at[0] == pairs[i].text[0] && p->at[1] == pairs[i].text[1]) {
				p->op = pairs[i].op;
				p->at += 2;
				return;
			}
	p->op = (unsigned char)*p->at++;
}

static void next(struct parser *p)
{
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
	p->op = 0;
	if (p->at == p->end) {
		p->token = T_END;
		return;
	}
	unsigned char c = (unsigned char)*p->at;
	if (isdigit(c)) {
		next_number(p);
	} else if (isalpha(c) || c == '_') {
		p->token = T_WORD;
		p->text = p->at;
		while (p->at < p->end && (isalnum((unsigned char)*p->at) || *p->at == '_'))
			p->at++;
		p->length = p->at - p->text;
	} else if (c == '"') {
		p->token = T_STRING;
		next_string(p, '"');
	} else if (c == '\'') {
		next_string(p, '\'');
		p->token = T_NUMBER;
		p->number = p->length == 1 ? (unsigned char)p->text[0] : 0;
		p->failed |= p->length != 1;
	} else {
		next_operator(p);
	}
}

static bool is_op(const struct parser *p, int op)
{
	return p->token == T_OPERATOR && p->op == op;
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->token == T_WORD && p->length == strlen(word) &&
	       memcmp(p->text, word, p->length) == 0;
}

static void expect(struct parser *p, int op)
{
	if (is_op(p, op))
		next(p);
	else
		p->failed = true;
}

/* Over everything up to the bracket that closes the one just passed. */
static void skip_to_close(struct parser *p)
{
	unsigned depth = 1;

	while (p->token != T_END) {
		if (is_op(p, '(') || is_op(p, '[') || is_op(p, '{'))
			depth++;
		if ((is_op(p, ')') || is_op(p, ']') || is_op(p, '}')) && --depth == 0)
			break;
		next(p);
	}
	if (p->token == T_END)
		p->failed = true;
	else
		next(p);
}

/* ---- the tree ------------------------------------------------------------------------------ */

static struct node *node_at(const struct perf_print_format *f, uint32_t i)
{
	return &f->nodes[i];
}

/* Node 0 is OPAQUE, and what is returned when there is no memory. */
static uint32_t add_node(struct parser *p, struct node node)
{
	struct perf_print_format *f = p->format;

	if (p->status == TL_OK)
		p->status = tl_grow(&f->nodes, &f->node_capacity, f->node_count + 1, p->err);
	if (p->status < 0)
		return 0;
	f->nodes[f->node_count] = node;
	return f->node_count++;
}

static uint32_t add_constant(struct parser *p, uint64_t value)
{
	return add_node(p, (struct node) { .kind = CONSTANT, .value = value, .field = FIELD_NONE });
}

static uint32_t merge_field(uint32_t a, uint32_t b)
{
	if (a == FIELD_NONE || a == b)
		return b;
	return b == FIELD_NONE ? a : FIELD_MANY;
}

static bool compute(int op, uint64_t a, uint64_t b, uint64_t *out)
{
	switch (op) {
	case '+':
		*out = a + b;
		return true;
	case '-':
		*out = a - b;
		return true;
	case '*':
		*out = a * b;
		return true;
	case '/':
	case '%':
		if (b == 0)
			return false;
		*out = op == '/' ? a / b : a % b;
		return true;
	case '&':
		*out = a & b;
		return true;
	case '|':
		*out = a | b;
		return true;
	case '^':
		*out = a ^ b;
		return true;
	case OP_SHL:
	case OP_SHR:
		if (b > 63)
			return false;
		*out = op == OP_SHL ? a << b : a >> b;
		return true;
	case OP_AND:
		*out = a && b;
		return true;
	case OP_OR:
		*out = a || b;
		return true;
	case OP_EQ:
		*out = a == b;
		return true;
	case OP_NE:
		*out = a != b;
		return true;
	case '<':
		*out = (int64_t)a < (int64_t)b;
		return true;
	case '>':
		*out = (int64_t)a > (int64_t)b;
		return true;
	case OP_LE:
		*out = (int64_t)a <= (int64_t)b;
		return true;
	case OP_GE:
		*out = (int64_t)a >= (int64_t)b;
		return true;
	}
	return false;
}

static uint64_t cast(uint64_t value, uint64_t bits, bool is_signed)
{
	if (bits >= 64)
		return value;
	value &= (UINT64_C(1) << bits) - 1;
	if (is_signed && value >> (bits - 1))
		value |= ~UINT64_C(0) << bits;
	return value;
}

static uint64_t unary(int op, uint64_t a)
{
	return op == '!' ? !a : op == '~' ? ~a : op == '-' ? 0 - a : a;
}

static uint32_t add_unary(struct parser *p, struct node node)
{
	const struct node *a = node_at(p->format, node.a);

	if (a->kind == OPAQUE || a->is_text || a->height >= HEIGHT_MAX)
		return 0;
	if (a->kind == CONSTANT)
		return add_constant(p, node.kind == CAST
					       ? cast(a->value, node.value, node.is_signed)
					       : unary(node.op, a->value));
	node.field = a->field;
	node.height = a->height + 1;
	return add_node(p, node);
}

static uint32_t add_binary(struct parser *p, int op, uint32_t left, uint32_t right)
{
	const struct node *a = node_at(p->format, left), *b = node_at(p->format, right);
	uint16_t height = a->height > b->height ? a->height : b->height;
	uint64_t value;

	if (a->kind == OPAQUE || b->kind == OPAQUE || a->is_text || b->is_text ||
	    height >= HEIGHT_MAX)
		return 0;
	if (a->kind == CONSTANT && b->kind == CONSTANT)
		return compute(op, a->value, b->value, &value) ? add_constant(p, value) : 0;
	return add_node(p, (struct node) { .kind = BINARY,
					   .op = op,
					   .a = left,
					   .b = right,
					   .field = merge_field(a->field, b->field),
					   .height = height + 1 });
}

static uint32_t add_condition(struct parser *p, uint32_t test, uint32_t yes, uint32_t no)
{
	const struct node *t = node_at(p->format, test), *a = node_at(p->format, yes),
			  *b = node_at(p->format, no);
	uint16_t height = a->height > b->height ? a->height : b->height;

	if (t->height > height)
		height = t->height;
	if (t->kind == OPAQUE || t->is_text || a->kind == OPAQUE || b->kind == OPAQUE ||
	    a->is_text != b->is_text || height >= HEIGHT_MAX)
		return 0;
	if (t->kind == CONSTANT)
		return t->value ? yes : no;
	return add_node(
		p, (struct node) { .kind = CONDITION,
				   .a = test,
				   .b = yes,
				   .c = no,
				   .field = merge_field(t->field, merge_field(a->field, b->field)),
				   .height = height + 1,
				   .is_text = a->is_text,
				   .has_table = a->has_table || b->has_table });
}

/* ---- expressions --------------------------------------------------------------------------- */

static uint32_t parse_condition(struct parser *p);

/* One or more string tokens in a row, joined, escapes undone, into the common pool. */
static void take_string(struct parser *p, uint64_t *offset, uint32_t *length)
{
	struct tl_text *pool = &p->format->strings;

	*offset = pool->length;
	for (; p->token == T_STRING; next(p))
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

static uint32_t parse_string(struct parser *p)
{
	struct node node = { .kind = TEXT, .field = FIELD_NONE, .is_text = true };

	take_string(p, &node.value, &node.length);
	return add_node(p, node);
}

/*
 * { 1, "one" }: false if it has no constant value, so that names cannot be trusted. Empty ones, and
 * the terminator { 0, ((void *)0) }, name nothing.
 */
static bool parse_entry(struct parser *p, const struct node *table)
{
	struct perf_print_format *f = p->format;
	struct entry entry = { 0 };
	uint64_t offset = 0;

	if (is_op(p, '}'))
		return true;
	uint32_t value = parse_condition(p);
	bool is_constant = node_at(f, value)->kind == CONSTANT;
	entry.value = node_at(f, value)->value;
	expect(p, ',');
	if (p->token != T_STRING) {
		const struct node *text = node_at(f, p->failed ? 0 : parse_condition(p));

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

static bool parse_entries(struct parser *p, struct node *table)
{
	bool is_known = true;

	table->b = p->format->entry_count;
	while (is_op(p, '{') && !p->failed && p->status == TL_OK) {
		next(p);
		is_known &= parse_entry(p, table);
		expect(p, '}');
		if (!is_op(p, ','))
			break;
		next(p);
	}
	table->c = p->format->entry_count - table->b;
	return is_known && !p->failed;
}

/* Behind "__print_flags(" or "__print_symbolic(". */
static uint32_t parse_table(struct parser *p, enum node_kind kind)
{
	struct node node = { .kind = kind, .is_text = true, .has_table = true };

	node.a = parse_condition(p);
	expect(p, ',');
	if (kind == FLAGS) {
		if (p->token == T_STRING)
			take_string(p, &node.value, &node.length);
		expect(p, ',');
	}
	bool is_known = !p->failed && parse_entries(p, &node);
	expect(p, ')');

	const struct node *value = node_at(p->format, node.a);
	if (!is_known || value->kind == OPAQUE || value->is_text || value->height >= HEIGHT_MAX)
		return 0;
	node.field = value->field;
	node.height = value->height + 1;
	return add_node(p, node);
}

static uint32_t parse_field(struct parser *p)
{
	if (is_op(p, ')')) /* (REC)->x */
		next(p);
	expect(p, OP_ARROW);
	if (p->token != T_WORD) {
		p->failed = true;
		return 0;
	}
	uint32_t node = 0;
	for (size_t i = 0; i < p->field_count; i++)
		if (is_word(p, p->fields[i].name)) {
			if (p->fields[i].is_integer)
				node = add_node(p, (struct node) { .kind = FIELD, .field = i });
			break;
		}
	next(p);
	return node;
}

static uint32_t parse_word(struct parser *p)
{
	uint32_t node = 0;

	if (is_word(p, "REC")) {
		next(p);
		return parse_field(p);
	}
	bool is_flags = is_word(p, "__print_flags") || is_word(p, "__print_flags_u64");
	bool is_symbol = is_word(p, "__print_symbolic") || is_word(p, "__print_symbolic_u64");
	bool is_expect = is_word(p, "__builtin_expect");
	next(p);
	if (!is_op(p, '('))
		return 0; /* a name that the kernel did not resolve */
	next(p);
	if (is_flags || is_symbol)
		return parse_table(p, is_flags ? FLAGS : SYMBOL);
	if (is_expect)
		node = parse_condition(p);
	skip_to_close(p);
	return node;
}

struct type {
	uint64_t bits; /* 64 for what does not change a value */
	bool is_signed;
};

static struct type type_of_words(struct parser *p)
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

	for (; p->token == T_WORD || is_op(p, '*'); next(p)) {
		is_pointer |= p->token != T_WORD;
		is_unsigned |= is_word(p, "unsigned");
		longs += is_word(p, "long");
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (is_word(p, known[i].word) && known[i].type.bits < type.bits)
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
static bool parse_cast(struct parser *p, struct type *type)
{
	struct parser saved = *p;

	if (p->token != T_WORD || is_word(p, "REC"))
		return false;
	*type = type_of_words(p);
	if (is_op(p, ')')) {
		next(p);
		/* (NAME) + 1 is no cast, (NAME) - 1 might be one: what follows decides */
		if (p->token == T_NUMBER || p->token == T_WORD || p->token == T_STRING ||
		    is_op(p, '(') || is_op(p, '~') || is_op(p, '!') || is_op(p, '-'))
			return true;
	}
	saved.status = p->status;
	*p = saved;
	return false;
}

static uint32_t parse_unary(struct parser *p);

static uint32_t parse_paren(struct parser *p)
{
	struct type type;
	uint32_t node;

	next(p);
	if (is_word(p, "REC")) {
		struct parser saved = *p;

		next(p);
		if (is_op(p, ')'))
			return parse_field(p);
		*p = saved;
	}
	if (parse_cast(p, &type)) {
		node = parse_unary(p);
		return add_unary(p, (struct node) { .kind = CAST,
						    .a = node,
						    .value = type.bits,
						    .is_signed = type.is_signed });
	}
	node = parse_condition(p);
	expect(p, ')');
	return node;
}

static uint32_t parse_primary(struct parser *p)
{
	uint32_t node = 0;

	if (p->token == T_NUMBER) {
		node = add_constant(p, p->number);
		next(p);
	} else if (p->token == T_STRING) {
		node = parse_string(p);
	} else if (p->token == T_WORD) {
		node = parse_word(p);
	} else if (is_op(p, '(')) {
		node = parse_paren(p);
	} else {
		p->failed = true;
	}
	while (!p->failed && (is_op(p, '[') || is_op(p, OP_ARROW) || is_op(p, '.'))) {
		bool is_index = is_op(p, '[');

		node = 0; /* elements and members are not followed */
		next(p);
		if (is_index)
			skip_to_close(p);
		else
			next(p);
	}
	return node;
}

static uint32_t parse_unary(struct parser *p)
{
	uint32_t node = 0;

	if (p->failed || p->status < 0 || p->depth >= DEPTH_MAX) {
		p->failed = true;
		return 0;
	}
	p->depth++;
	if (is_op(p, '!') || is_op(p, '~') || is_op(p, '-') || is_op(p, '+')) {
		int op = p->op;

		next(p);
		node = parse_unary(p);
		node = add_unary(p, (struct node) { .kind = UNARY, .op = op, .a = node });
	} else if (is_op(p, '&') || is_op(p, '*')) {
		next(p);
		parse_unary(p);
	} else {
		node = parse_primary(p);
	}
	p->depth--;
	return p->failed ? 0 : node;
}

static int precedence(const struct parser *p)
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

static uint32_t parse_binary(struct parser *p, int lowest)
{
	uint32_t left = parse_unary(p);
	int level;

	while (!p->failed && (level = precedence(p)) >= lowest && level > 0) {
		int op = p->op;

		next(p);
		left = add_binary(p, op, left, parse_binary(p, level + 1));
	}
	return left;
}

static uint32_t parse_condition(struct parser *p)
{
	if (p->depth >= DEPTH_MAX) {
		p->failed = true;
		return 0;
	}
	p->depth++;
	uint32_t node = parse_binary(p, 1);
	if (!p->failed && is_op(p, '?')) {
		next(p);
		uint32_t yes = parse_condition(p);
		expect(p, ':');
		uint32_t no = p->failed ? 0 : parse_condition(p);
		node = add_condition(p, node, yes, no);
	}
	p->depth--;
	return p->failed ? 0 : node;
}

/* ---- the arguments ------------------------------------------------------------------------- */

/* One argument; whatever it was, the next token is "," or the end afterwards. */
static uint32_t parse_argument(struct parser *p)
{
	uint32_t node = parse_condition(p);

	if (!p->failed && (p->token == T_END || is_op(p, ',')))
		return node;
	p->failed = false;
	p->depth = 0;
	for (unsigned depth = 0; p->token != T_END && !(depth == 0 && is_op(p, ',')); next(p)) {
		if (is_op(p, '(') || is_op(p, '{') || is_op(p, '['))
			depth++;
		else if ((is_op(p, ')') || is_op(p, '}') || is_op(p, ']')) && depth > 0)
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
static void add_shown(struct parser *p, uint32_t node, bool *is_open, bool continues)
{
	struct perf_print_format *f = p->format;
	const struct node *n = node_at(f, node);
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
			(struct shown) { .field = n->field, .first = f->part_count };
	f->parts[f->part_count++] = node;
	f->shown[f->shown_count - 1].count++;
	*is_open = true;
}

static void parse_all(struct parser *p)
{
	uint64_t offset = 0;
	uint32_t length = 0;

	add_node(p, (struct node) { .kind = OPAQUE, .field = FIELD_NONE });
	if (p->status < 0)
		return;
	next(p);
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

	while (p->status == TL_OK && is_op(p, ',')) {
		bool is_text = false, is_adjacent = false;
		unsigned uses = next_conversion(&at, end, &is_text, &is_adjacent);
		uint32_t node = 0;

		for (unsigned i = 0; i < (uses ? uses : 1) && is_op(p, ','); i++) {
			next(p);
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
	struct parser p = { .format = format,
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

static bool number_of(const struct perf_print_format *f, uint32_t i, uint64_t field, uint64_t *out)
{
	const struct node *n = node_at(f, i);
	uint64_t a, b;

	switch (n->kind) {
	case CONSTANT:
		*out = n->value;
		return true;
	case FIELD:
		*out = field;
		return true;
	case UNARY:
	case CAST:
		if (!number_of(f, n->a, field, &a))
			return false;
		*out = n->kind == CAST ? cast(a, n->value, n->is_signed) : unary(n->op, a);
		return true;
	case BINARY:
		return number_of(f, n->a, field, &a) && number_of(f, n->b, field, &b) &&
		       compute(n->op, a, b, out);
	case CONDITION:
		return number_of(f, n->a, field, &a) && number_of(f, a ? n->b : n->c, field, out);
	case OPAQUE:
	case TEXT:
	case FLAGS:
	case SYMBOL:
		break;
	}
	return false;
}

static void flags_text(const struct perf_print_format *f, const struct node *n, uint64_t value,
		       struct tl_text *out)
{
	bool is_first = true;

	for (uint32_t i = 0; i < n->c && value; i++) {
		const struct entry *e = &f->entries[n->b + i];

		if (e->value == 0 || (value & e->value) != e->value)
			continue;
		if (!is_first)
			tl_text_add(out, f->strings.data + n->value, n->length);
		tl_text_add(out, f->strings.data + e->text, e->length);
		is_first = false;
		value &= ~e->value;
	}
	if (value && !is_first)
		tl_text_add(out, f->strings.data + n->value, n->length);
	if (value)
		tl_text_printf(out, "0x%llx", (unsigned long long)value);
}

static void symbol_text(const struct perf_print_format *f, const struct node *n, uint64_t value,
			struct tl_text *out)
{
	for (uint32_t i = 0; i < n->c; i++) {
		const struct entry *e = &f->entries[n->b + i];

		if (e->value == value) {
			tl_text_add(out, f->strings.data + e->text, e->length);
			return;
		}
	}
	tl_text_printf(out, "0x%llx", (unsigned long long)value);
}

static bool text_of(const struct perf_print_format *f, uint32_t i, uint64_t field,
		    struct tl_text *out)
{
	const struct node *n = node_at(f, i);
	uint64_t value;

	switch (n->kind) {
	case TEXT:
		tl_text_add(out, f->strings.data + n->value, n->length);
		return true;
	case CONDITION:
		return number_of(f, n->a, field, &value) &&
		       text_of(f, value ? n->b : n->c, field, out);
	case FLAGS:
	case SYMBOL:
		if (!number_of(f, n->a, field, &value))
			return false;
		if (n->kind == FLAGS)
			flags_text(f, n, value, out);
		else
			symbol_text(f, n, value, out);
		return true;
	case OPAQUE:
	case CONSTANT:
	case FIELD:
	case UNARY:
	case BINARY:
	case CAST:
		break;
	}
	return false;
}

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
	const struct shown *s = &format->shown[i];

	out->length = 0;
	for (uint32_t k = 0; k < s->count; k++)
		if (!text_of(format, format->parts[s->first + k], value, out))
			return false;
	return out->length > 0 && out->length <= NAME_LENGTH_MAX;
}
