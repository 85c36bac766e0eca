/*
 * perf_print_tree.c - the nodes of expressions, and the numbers and texts they give.
 *
 * A node without a value poisons what is made of it and nothing else. Trees are kept low, so that
 * going down one cannot exhaust the stack.
 */
#include "perf_print_private.h"

/* ---- the tree ------------------------------------------------------------------------------ */

uint32_t perf_print_add(struct perf_print_parser *p, struct perf_print_node node)
{
	struct perf_print_format *f = p->format;

	if (p->status == TL_OK)
		p->status = tl_grow(&f->nodes, &f->node_capacity, f->node_count + 1, p->err);
	if (p->status < 0)
		return 0;
	f->nodes[f->node_count] = node;
	return f->node_count++;
}

uint32_t perf_print_add_constant(struct perf_print_parser *p, uint64_t value)
{
	return perf_print_add(p, (struct perf_print_node) {
					 .kind = CONSTANT, .value = value, .field = FIELD_NONE });
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

uint32_t perf_print_add_unary(struct perf_print_parser *p, struct perf_print_node node)
{
	const struct perf_print_node *a = perf_print_node(p->format, node.a);

	if (a->kind == OPAQUE || a->is_text || a->height >= HEIGHT_MAX)
		return 0;
	if (a->kind == CONSTANT)
		return perf_print_add_constant(
			p, node.kind == CAST ? cast(a->value, node.value, node.is_signed)
					     : unary(node.op, a->value));
	node.field = a->field;
	node.height = a->height + 1;
	return perf_print_add(p, node);
}

uint32_t perf_print_add_binary(struct perf_print_parser *p, int op, uint32_t left, uint32_t right)
{
	const struct perf_print_node *a = perf_print_node(p->format, left),
				     *b = perf_print_node(p->format, right);
	uint16_t height = a->height > b->height ? a->height : b->height;
	uint64_t value;

	if (a->kind == OPAQUE || b->kind == OPAQUE || a->is_text || b->is_text ||
	    height >= HEIGHT_MAX)
		return 0;
	if (a->kind == CONSTANT && b->kind == CONSTANT)
		return compute(op, a->value, b->value, &value) ? perf_print_add_constant(p, value)
							       : 0;
	return perf_print_add(p,
			      (struct perf_print_node) { .kind = BINARY,
							 .op = op,
							 .a = left,
							 .b = right,
							 .field = merge_field(a->field, b->field),
							 .height = height + 1 });
}

uint32_t perf_print_add_condition(struct perf_print_parser *p, uint32_t test, uint32_t yes,
				  uint32_t no)
{
	const struct perf_print_node *t = perf_print_node(p->format, test),
				     *a = perf_print_node(p->format, yes),
				     *b = perf_print_node(p->format, no);
	uint16_t height = a->height > b->height ? a->height : b->height;

	if (t->height > height)
		height = t->height;
	if (t->kind == OPAQUE || t->is_text || a->kind == OPAQUE || b->kind == OPAQUE ||
	    a->is_text != b->is_text || height >= HEIGHT_MAX)
		return 0;
	if (t->kind == CONSTANT)
		return t->value ? yes : no;
	return perf_print_add(
		p, (struct perf_print_node) {
			   .kind = CONDITION,
			   .a = test,
			   .b = yes,
			   .c = no,
			   .field = merge_field(t->field, merge_field(a->field, b->field)),
			   .height = height + 1,
			   .is_text = a->is_text,
			   .has_table = a->has_table || b->has_table });
}

/* ---- values -------------------------------------------------------------------------------- */

static bool number_of(const struct perf_print_format *f, uint32_t i, uint64_t field, uint64_t *out)
{
	const struct perf_print_node *n = perf_print_node(f, i);
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

static void flags_text(const struct perf_print_format *f, const struct perf_print_node *n,
		       uint64_t value, struct tl_text *out)
{
	bool is_first = true;

	for (uint32_t i = 0; i < n->c && value; i++) {
		const struct perf_print_entry *e = &f->entries[n->b + i];

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

static void symbol_text(const struct perf_print_format *f, const struct perf_print_node *n,
			uint64_t value, struct tl_text *out)
{
	for (uint32_t i = 0; i < n->c; i++) {
		const struct perf_print_entry *e = &f->entries[n->b + i];

		if (e->value == value) {
			tl_text_add(out, f->strings.data + e->text, e->length);
			return;
		}
	}
	tl_text_printf(out, "0x%llx", (unsigned long long)value);
}

bool perf_print_text(const struct perf_print_format *f, uint32_t i, uint64_t field,
		     struct tl_text *out)
{
	const struct perf_print_node *n = perf_print_node(f, i);
	uint64_t value;

	switch (n->kind) {
	case TEXT:
		tl_text_add(out, f->strings.data + n->value, n->length);
		return true;
	case CONDITION:
		return number_of(f, n->a, field, &value) &&
		       perf_print_text(f, value ? n->b : n->c, field, out);
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
