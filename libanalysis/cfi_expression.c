/*
 * cfi_expression.c - evaluates the DWARF expressions that call frame information uses: those of
 * PLT stubs, of signal trampolines and of functions that align their stack.
 */
#include "cfi.h"

/* DWARF 5, 7.7.1. */
#define DW_OP_deref	  0x06
#define DW_OP_const1u	  0x08
#define DW_OP_const1s	  0x09
#define DW_OP_const2u	  0x0a
#define DW_OP_const2s	  0x0b
#define DW_OP_const4u	  0x0c
#define DW_OP_const4s	  0x0d
#define DW_OP_const8u	  0x0e
#define DW_OP_const8s	  0x0f
#define DW_OP_constu	  0x10
#define DW_OP_consts	  0x11
#define DW_OP_dup	  0x12
#define DW_OP_drop	  0x13
#define DW_OP_over	  0x14
#define DW_OP_pick	  0x15
#define DW_OP_swap	  0x16
#define DW_OP_rot	  0x17
#define DW_OP_abs	  0x19
#define DW_OP_and	  0x1a
#define DW_OP_div	  0x1b
#define DW_OP_minus	  0x1c
#define DW_OP_mod	  0x1d
#define DW_OP_mul	  0x1e
#define DW_OP_neg	  0x1f
#define DW_OP_not	  0x20
#define DW_OP_or	  0x21
#define DW_OP_plus	  0x22
#define DW_OP_plus_uconst 0x23
#define DW_OP_shl	  0x24
#define DW_OP_shr	  0x25
#define DW_OP_shra	  0x26
#define DW_OP_xor	  0x27
#define DW_OP_bra	  0x28
#define DW_OP_eq	  0x29
#define DW_OP_ge	  0x2a
#define DW_OP_gt	  0x2b
#define DW_OP_le	  0x2c
#define DW_OP_lt	  0x2d
#define DW_OP_ne	  0x2e
#define DW_OP_skip	  0x2f
#define DW_OP_lit0	  0x30
#define DW_OP_lit31	  0x4f
#define DW_OP_reg0	  0x50
#define DW_OP_reg31	  0x6f
#define DW_OP_breg0	  0x70
#define DW_OP_breg31	  0x8f
#define DW_OP_regx	  0x90
#define DW_OP_bregx	  0x92
#define DW_OP_deref_size  0x94
#define DW_OP_nop	  0x96

/* Real expressions need four places and a dozen operations; branches could go on for ever. */
#define STACK_MAX 64
#define STEPS_MAX 1000

struct machine {
	const struct tl_cfi_context *context;
	struct tl_cursor c;
	uint64_t stack[STACK_MAX];
	size_t depth;
	bool failed;
};

static void push(struct machine *m, uint64_t value)
{
	if (m->depth == STACK_MAX)
		m->failed = true;
	else
		m->stack[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (!m->depth) {
		m->failed = true;
		return 0;
	}
	return m->stack[--m->depth];
}

static void pick(struct machine *m, size_t from_top)
{
	if (from_top >= m->depth)
		m->failed = true;
	else
		push(m, m->stack[m->depth - 1 - from_top]);
}

static void push_register(struct machine *m, uint64_t number, int64_t offset)
{
	uint64_t value = 0;

	if (number >= TL_CFI_REGISTERS ||
	    !m->context->get_register(m->context->payload, (unsigned)number, &value))
		m->failed = true;
	push(m, value + (uint64_t)offset);
}

static void dereference(struct machine *m, unsigned size)
{
	uint64_t value = 0;

	if (size < 1 || size > 8 || !m->context->get_memory(m->context->payload, pop(m), &value)) {
		m->failed = true;
		return;
	}
	push(m, size == 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1));
}

/* Both ways within the expression. */
static void jump(struct machine *m, bool is_taken)
{
	int64_t delta = (int16_t)tl_get_u16(&m->c);
	int64_t to = (int64_t)m->c.position + delta;

	if (!is_taken || m->c.failed)
		return;
	if (to < 0 || to > (int64_t)m->c.size) {
		m->failed = true;
		return;
	}
	tl_cursor_init(&m->c, m->c.data, m->c.size, 0, false);
	tl_skip(&m->c, (uint64_t)to);
}

static void run_constant(struct machine *m, uint8_t op)
{
	struct tl_cursor *c = &m->c;

	switch (op) {
	case DW_OP_const1u:
		push(m, tl_get_u8(c));
		break;
	case DW_OP_const1s:
		push(m, (uint64_t)(int64_t)(int8_t)tl_get_u8(c));
		break;
	case DW_OP_const2u:
		push(m, tl_get_u16(c));
		break;
	case DW_OP_const2s:
		push(m, (uint64_t)(int64_t)(int16_t)tl_get_u16(c));
		break;
	case DW_OP_const4u:
		push(m, tl_get_u32(c));
		break;
	case DW_OP_const4s:
		push(m, (uint64_t)(int64_t)(int32_t)tl_get_u32(c));
		break;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(m, tl_get_u64(c));
		break;
	case DW_OP_constu:
		push(m, tl_cfi_uleb128(c));
		break;
	case DW_OP_consts:
		push(m, (uint64_t)tl_cfi_sleb128(c));
		break;
	}
}

static uint64_t divide(uint64_t a, uint64_t b)
{
	if (!b)
		return 0;
	return b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
}

/* Operations on the two topmost values, `a` below `b`. */
static void run_binary(struct machine *m, uint8_t op)
{
	uint64_t b = pop(m), a = pop(m), value = 0;
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case DW_OP_and:
		value = a & b;
		break;
	case DW_OP_div:
		value = divide(a, b);
		break;
	case DW_OP_minus:
		value = a - b;
		break;
	case DW_OP_mod:
		value = b ? a % b : 0;
		break;
	case DW_OP_mul:
		value = a * b;
		break;
	case DW_OP_or:
		value = a | b;
		break;
	case DW_OP_plus:
		value = a + b;
		break;
	case DW_OP_shl:
		value = b < 64 ? a << b : 0;
		break;
	case DW_OP_shr:
		value = b < 64 ? a >> b : 0;
		break;
	case DW_OP_shra:
		value = (uint64_t)(x >> (b < 64 ? b : 63));
		break;
	case DW_OP_xor:
		value = a ^ b;
		break;
	case DW_OP_eq:
		value = x == y;
		break;
	case DW_OP_ge:
		value = x >= y;
		break;
	case DW_OP_gt:
		value = x > y;
		break;
	case DW_OP_le:
		value = x <= y;
		break;
	case DW_OP_lt:
		value = x < y;
		break;
	case DW_OP_ne:
		value = x != y;
		break;
	default:
		m->failed = true;
	}
	push(m, value);
}

static void run_stack(struct machine *m, uint8_t op)
{
	uint64_t a, b, c;

	switch (op) {
	case DW_OP_dup:
		pick(m, 0);
		break;
	case DW_OP_drop:
		pop(m);
		break;
	case DW_OP_over:
		pick(m, 1);
		break;
	case DW_OP_pick:
		pick(m, tl_get_u8(&m->c));
		break;
	case DW_OP_swap:
		a = pop(m);
		b = pop(m);
		push(m, a);
		push(m, b);
		break;
	case DW_OP_rot:
		a = pop(m);
		b = pop(m);
		c = pop(m);
		push(m, a);
		push(m, c);
		push(m, b);
		break;
	}
}

static void run_other(struct machine *m, uint8_t op)
{
	uint64_t a;

	switch (op) {
	case DW_OP_deref:
		dereference(m, 8);
		break;
	case DW_OP_deref_size:
		dereference(m, tl_get_u8(&m->c));
		break;
	case DW_OP_abs:
		a = pop(m);
		push(m, a >> 63 ? -a : a);
		break;
	case DW_OP_neg:
		push(m, -pop(m));
		break;
	case DW_OP_not:
		push(m, ~pop(m));
		break;
	case DW_OP_plus_uconst:
		push(m, pop(m) + tl_cfi_uleb128(&m->c));
		break;
	case DW_OP_bra:
		jump(m, pop(m) != 0);
		break;
	case DW_OP_skip:
		jump(m, true);
		break;
	case DW_OP_bregx:
		a = tl_cfi_uleb128(&m->c);
		push_register(m, a, tl_cfi_sleb128(&m->c));
		break;
	case DW_OP_nop:
		break;
	default:
		run_binary(m, op);
	}
}

static void run(struct machine *m, uint8_t op)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		push(m, op - DW_OP_lit0);
	else if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		push_register(m, op - DW_OP_breg0, tl_cfi_sleb128(&m->c));
	else if (op >= DW_OP_const1u && op <= DW_OP_consts)
		run_constant(m, op);
	else if (op >= DW_OP_dup && op <= DW_OP_rot)
		run_stack(m, op);
	else
		run_other(m, op);
}

bool tl_cfi_evaluate(const struct tl_cfi *cfi, const struct tl_cfi_rule *rule, uint64_t initial,
		     const struct tl_cfi_context *context, uint64_t *result, bool *is_register)
{
	struct machine m = { .context = context };

	m.c = tl_cfi_bytes(cfi, (uint32_t)rule->value, rule->size);
	*is_register = false;
	push(&m, initial);
	for (unsigned steps = 0; tl_cursor_left(&m.c); steps++) {
		uint8_t op = tl_get_u8(&m.c);

		if (steps == STEPS_MAX)
			return false;
		if ((op >= DW_OP_reg0 && op <= DW_OP_reg31) || op == DW_OP_regx) {
			*result =
				op == DW_OP_regx ? tl_cfi_uleb128(&m.c) : (uint64_t)op - DW_OP_reg0;
			*is_register = true;
			return !m.c.failed && *result < TL_CFI_REGISTERS;
		}
		run(&m, op);
		if (m.failed || m.c.failed)
			return false;
	}
	*result = pop(&m);
	return !m.failed && !m.c.failed;
}
