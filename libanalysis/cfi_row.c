/*
 * cfi_row.c - one entry of .eh_frame or .debug_frame (an FDE and its CIE), and its instructions run
 * up to an address: the row of rules that holds there. Knows no ELF and evaluates no expression.
 */
#include "cfi.h"

#include <string.h>

/* DWARF 5, 7.24, and the LSB's additions. */
#define DW_CFA_advance_loc		    0x40
#define DW_CFA_offset			    0x80
#define DW_CFA_restore			    0xc0
#define DW_CFA_nop			    0x00
#define DW_CFA_set_loc			    0x01
#define DW_CFA_advance_loc1		    0x02
#define DW_CFA_advance_loc2		    0x03
#define DW_CFA_advance_loc4		    0x04
#define DW_CFA_offset_extended		    0x05
#define DW_CFA_restore_extended		    0x06
#define DW_CFA_undefined		    0x07
#define DW_CFA_same_value		    0x08
#define DW_CFA_register			    0x09
#define DW_CFA_remember_state		    0x0a
#define DW_CFA_restore_state		    0x0b
#define DW_CFA_def_cfa			    0x0c
#define DW_CFA_def_cfa_register		    0x0d
#define DW_CFA_def_cfa_offset		    0x0e
#define DW_CFA_def_cfa_expression	    0x0f
#define DW_CFA_expression		    0x10
#define DW_CFA_offset_extended_sf	    0x11
#define DW_CFA_def_cfa_sf		    0x12
#define DW_CFA_def_cfa_offset_sf	    0x13
#define DW_CFA_val_offset		    0x14
#define DW_CFA_val_offset_sf		    0x15
#define DW_CFA_val_expression		    0x16
#define DW_CFA_AARCH64_negate_ra_state	    0x2d
#define DW_CFA_GNU_args_size		    0x2e
#define DW_CFA_GNU_negative_offset_extended 0x2f

#define DW_EH_PE_absptr	  0x00
#define DW_EH_PE_uleb128  0x01
#define DW_EH_PE_udata2	  0x02
#define DW_EH_PE_udata4	  0x03
#define DW_EH_PE_udata8	  0x04
#define DW_EH_PE_sleb128  0x09
#define DW_EH_PE_sdata2	  0x0a
#define DW_EH_PE_sdata4	  0x0b
#define DW_EH_PE_sdata8	  0x0c
#define DW_EH_PE_pcrel	  0x10
#define DW_EH_PE_indirect 0x80
#define DW_EH_PE_omit	  0xff
#define ENCODING_FORMAT	  0x0f
#define ENCODING_RELATION 0x70

#define LENGTH_64_BIT 0xffffffffu
/* Compilers remember a state or two at a time; a hostile file does so for ever. */
#define REMEMBERED_MAX 16

/* ---- numbers ----------------------------------------------------------------------------- */

static void fail(struct tl_cursor *c)
{
	tl_skip(c, UINT64_MAX);
}

static uint64_t leb128(struct tl_cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = tl_get_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 70);
	if (byte & 0x80)
		fail(c); /* longer than any 64-bit number */
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return c->failed ? 0 : value;
}

uint64_t tl_cfi_uleb128(struct tl_cursor *c)
{
	return leb128(c, false);
}

int64_t tl_cfi_sleb128(struct tl_cursor *c)
{
	return (int64_t)leb128(c, true);
}

uint64_t tl_cfi_pointer(struct tl_cursor *c, uint8_t encoding, uint64_t window_address)
{
	uint64_t place = window_address + c->position, value = 0;

	switch (encoding & ENCODING_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = tl_get_u64(c);
		break;
	case DW_EH_PE_udata4:
		value = tl_get_u32(c);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int64_t)(int32_t)tl_get_u32(c);
		break;
	case DW_EH_PE_udata2:
		value = tl_get_u16(c);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int64_t)(int16_t)tl_get_u16(c);
		break;
	case DW_EH_PE_uleb128:
		value = tl_cfi_uleb128(c);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)tl_cfi_sleb128(c);
		break;
	default:
		fail(c);
	}
	if ((encoding & ENCODING_RELATION) == DW_EH_PE_pcrel)
		value += place;
	else if (encoding & (ENCODING_RELATION | DW_EH_PE_indirect))
		fail(c);
	return c->failed ? 0 : value;
}

/* ---- entries ----------------------------------------------------------------------------- */

struct head {
	struct tl_cursor body; /* after the id, up to the end of the entry; knows its positions */
	uint64_t id;
	size_t id_position; /* in the window */
	bool is_64_bit;
	bool is_end; /* a length of zero */
};

/* Reads length and id; *next is set as soon as the length is known to fit. */
static bool read_head(const struct tl_cfi_window *window, size_t position, struct head *head,
		      size_t *next)
{
	struct tl_cursor c;
	uint64_t length;

	memset(head, 0, sizeof(*head));
	tl_cursor_init(&c, window->data, window->size, 0, false);
	tl_skip(&c, position);
	length = tl_get_u32(&c);
	head->is_64_bit = length == LENGTH_64_BIT;
	if (head->is_64_bit)
		length = tl_get_u64(&c);
	if (c.failed || length > tl_cursor_left(&c))
		return false;
	head->is_end = length == 0;
	head->id_position = c.position;
	*next = c.position + (size_t)length;
	/* Cut at the entry's end, with positions that are still the window's. */
	c.size = *next;
	head->id = head->is_64_bit ? tl_get_u64(&c) : tl_get_u32(&c);
	head->body = c;
	return head->is_end || !c.failed;
}

static bool is_cie(const struct tl_cfi_window *window, const struct head *head)
{
	if (!window->is_debug_frame)
		return head->id == 0;
	return head->id == (head->is_64_bit ? UINT64_MAX : UINT32_MAX);
}

static const uint8_t *rest(struct tl_cursor *c, size_t *size)
{
	*size = tl_cursor_left(c);
	return tl_get_bytes(c, *size);
}

/* The letters after 'z', with their data; unknown ones end it, as their size is known. */
static bool read_augmentation(struct tl_cursor *c, const char *text,
			      const struct tl_cfi_window *window, struct tl_cfi_entry *e)
{
	for (; *text; text++) {
		uint8_t encoding;

		switch (*text) {
		case 'L':
			tl_get_u8(c);
			break;
		case 'R':
			e->pointer_encoding = tl_get_u8(c);
			break;
		case 'P': /* the value is not needed: only how long it is */
			encoding = tl_get_u8(c) & ENCODING_FORMAT;
			tl_cfi_pointer(c, encoding, window->address);
			break;
		case 'S':
			e->is_signal_frame = true;
			break;
		case 'B': /* aarch64: signed with key B; makes no difference to us */
			break;
		default:
			return true;
		}
	}
	return !c->failed;
}

static bool read_cie(const struct tl_cfi_window *window, size_t position, struct tl_cfi_entry *e,
		     bool *has_augmentation_size)
{
	char augmentation[16];
	struct head head;
	struct tl_cursor c;
	uint8_t version, byte;
	size_t next, n = 0;

	if (!read_head(window, position, &head, &next) || head.is_end || !is_cie(window, &head))
		return false;
	c = head.body;
	version = tl_get_u8(&c);
	if (version != 1 && version != 3 && version != 4)
		return false;
	while ((byte = tl_get_u8(&c)) && n < sizeof(augmentation) - 1)
		augmentation[n++] = (char)byte;
	if (byte)
		return false;
	augmentation[n] = '\0';
	if (version == 4 && (tl_get_u8(&c) != 8 || tl_get_u8(&c) != 0))
		return false; /* address and segment selector size */
	e->code_align = tl_cfi_uleb128(&c);
	e->data_align = tl_cfi_sleb128(&c);
	e->return_register = version == 1 ? tl_get_u8(&c) : (uint8_t)tl_cfi_uleb128(&c);
	e->pointer_encoding = DW_EH_PE_absptr;
	*has_augmentation_size = augmentation[0] == 'z';
	if (*has_augmentation_size) {
		uint64_t size = tl_cfi_uleb128(&c);
		struct tl_cursor data = c;

		if (c.failed || size > tl_cursor_left(&c))
			return false;
		data.size = data.position + (size_t)size;
		if (!read_augmentation(&data, augmentation + 1, window, e))
			return false;
		tl_skip(&c, size);
	} else if (augmentation[0]) {
		return false; /* "eh" of the last century: where its data ends is unknown */
	}
	e->initial = rest(&c, &e->initial_size);
	return !c.failed && e->return_register < TL_CFI_REGISTERS;
}

enum tl_cfi_parsed tl_cfi_parse(const struct tl_cfi_window *window, size_t position,
				struct tl_cfi_entry *e, size_t *next)
{
	struct head head;
	struct tl_cursor c;
	uint64_t cie, range;
	bool has_augmentation_size;

	memset(e, 0, sizeof(*e));
	*next = 0;
	if (!read_head(window, position, &head, next))
		return TL_CFI_IS_DAMAGED;
	if (head.is_end || is_cie(window, &head))
		return TL_CFI_IS_OTHER;
	cie = window->is_debug_frame ? head.id : head.id_position - head.id;
	if (cie >= window->size || !read_cie(window, (size_t)cie, e, &has_augmentation_size))
		return TL_CFI_IS_DAMAGED;
	c = head.body;
	e->start = tl_cfi_pointer(&c, e->pointer_encoding, window->address);
	range = tl_cfi_pointer(&c, e->pointer_encoding & ENCODING_FORMAT, 0);
	if (has_augmentation_size)
		tl_skip(&c, tl_cfi_uleb128(&c));
	e->program = rest(&c, &e->program_size);
	if (c.failed || range > UINT64_MAX - e->start)
		return TL_CFI_IS_DAMAGED;
	e->end = e->start + range;
	return TL_CFI_IS_ENTRY;
}

/* ---- instructions ------------------------------------------------------------------------ */

struct state {
	struct tl_cfi_rule cfa, rules[TL_CFI_REGISTERS];
	bool is_return_signed;
};

struct run {
	const struct tl_cfi_window *window;
	const struct tl_cfi_entry *entry;
	struct tl_cursor c;
	uint64_t location, target;
	struct state now, initial, remembered[REMEMBERED_MAX];
	size_t remembered_count;
	bool failed;
};

static void set_rule(struct run *r, uint64_t reg, enum tl_cfi_how how, int64_t value)
{
	if (value < INT32_MIN || value > INT32_MAX) {
		r->failed = true;
		return;
	}
	if (reg < TL_CFI_REGISTERS) /* others (vectors) are of no use to us */
		r->now.rules[reg] = (struct tl_cfi_rule) { .how = (uint8_t)how,
							   .reg = (uint8_t)reg,
							   .value = (int32_t)value };
}

static int64_t factored(const struct run *r, uint64_t operand)
{
	return (int64_t)(operand * (uint64_t)r->entry->data_align);
}

static void set_cfa(struct run *r, uint64_t reg, int64_t offset)
{
	if (reg >= TL_CFI_REGISTERS || offset < INT32_MIN || offset > INT32_MAX) {
		r->failed = true;
		return;
	}
	r->now.cfa = (struct tl_cfi_rule) { .how = TL_CFI_REGISTER,
					    .reg = (uint8_t)reg,
					    .value = (int32_t)offset };
}

/* A block: length, then the bytes, which stay in the image. */
static struct tl_cfi_rule expression(struct run *r, uint64_t reg, enum tl_cfi_how how)
{
	uint64_t size = tl_cfi_uleb128(&r->c);
	const uint8_t *bytes;
	struct tl_cfi_rule rule = { 0 };
	uint64_t offset;

	if (size > UINT16_MAX)
		fail(&r->c);
	bytes = tl_get_bytes(&r->c, (size_t)size);
	if (!bytes)
		return rule;
	offset = r->window->image_offset + (uint64_t)(bytes - r->window->data);
	if (offset > UINT32_MAX) {
		r->failed = true;
		return rule;
	}
	rule.how = (uint8_t)how;
	rule.reg = (uint8_t)(reg < TL_CFI_REGISTERS ? reg : 0);
	rule.size = (uint16_t)size;
	rule.value = (int32_t)(uint32_t)offset;
	return rule;
}

static void set_expression(struct run *r, enum tl_cfi_how how)
{
	uint64_t reg = tl_cfi_uleb128(&r->c);
	struct tl_cfi_rule rule = expression(r, reg, how);

	if (reg < TL_CFI_REGISTERS)
		r->now.rules[reg] = rule;
}

static void restore(struct run *r, uint64_t reg)
{
	if (reg < TL_CFI_REGISTERS)
		r->now.rules[reg] = r->initial.rules[reg];
}

static void advance(struct run *r, uint64_t delta)
{
	r->location += delta * r->entry->code_align;
}

static void remember(struct run *r)
{
	if (r->remembered_count == REMEMBERED_MAX)
		r->failed = true;
	else
		r->remembered[r->remembered_count++] = r->now;
}

static void recall(struct run *r)
{
	if (!r->remembered_count)
		r->failed = true;
	else
		r->now = r->remembered[--r->remembered_count];
}

static void run_cfa_instruction(struct run *r, uint8_t op)
{
	struct tl_cursor *c = &r->c;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = tl_cfi_uleb128(c);
		set_cfa(r, reg, (int64_t)tl_cfi_uleb128(c));
		break;
	case DW_CFA_def_cfa_sf:
		reg = tl_cfi_uleb128(c);
		set_cfa(r, reg, factored(r, (uint64_t)tl_cfi_sleb128(c)));
		break;
	case DW_CFA_def_cfa_register:
		set_cfa(r, tl_cfi_uleb128(c), r->now.cfa.value);
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa(r, r->now.cfa.reg, (int64_t)tl_cfi_uleb128(c));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(r, r->now.cfa.reg, factored(r, (uint64_t)tl_cfi_sleb128(c)));
		break;
	case DW_CFA_def_cfa_expression:
		r->now.cfa = expression(r, 0, TL_CFI_EXPRESSION);
		break;
	}
}

static void run_extended(struct run *r, uint8_t op)
{
	struct tl_cursor *c = &r->c;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		r->location = tl_cfi_pointer(c, r->entry->pointer_encoding, r->window->address);
		break;
	case DW_CFA_advance_loc1:
		advance(r, tl_get_u8(c));
		break;
	case DW_CFA_advance_loc2:
		advance(r, tl_get_u16(c));
		break;
	case DW_CFA_advance_loc4:
		advance(r, tl_get_u32(c));
		break;
	case DW_CFA_offset_extended:
		reg = tl_cfi_uleb128(c);
		set_rule(r, reg, TL_CFI_AT_OFFSET, factored(r, tl_cfi_uleb128(c)));
		break;
	case DW_CFA_offset_extended_sf:
		reg = tl_cfi_uleb128(c);
		set_rule(r, reg, TL_CFI_AT_OFFSET, factored(r, (uint64_t)tl_cfi_sleb128(c)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		reg = tl_cfi_uleb128(c);
		set_rule(r, reg, TL_CFI_AT_OFFSET, factored(r, -tl_cfi_uleb128(c)));
		break;
	case DW_CFA_val_offset:
		reg = tl_cfi_uleb128(c);
		set_rule(r, reg, TL_CFI_IS_OFFSET, factored(r, tl_cfi_uleb128(c)));
		break;
	case DW_CFA_val_offset_sf:
		reg = tl_cfi_uleb128(c);
		set_rule(r, reg, TL_CFI_IS_OFFSET, factored(r, (uint64_t)tl_cfi_sleb128(c)));
		break;
	case DW_CFA_restore_extended:
		restore(r, tl_cfi_uleb128(c));
		break;
	case DW_CFA_undefined:
		set_rule(r, tl_cfi_uleb128(c), TL_CFI_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		set_rule(r, tl_cfi_uleb128(c), TL_CFI_SAME, 0);
		break;
	case DW_CFA_register:
		reg = tl_cfi_uleb128(c);
		set_rule(r, reg, TL_CFI_REGISTER, (int64_t)(tl_cfi_uleb128(c) & INT32_MAX));
		break;
	case DW_CFA_remember_state:
		remember(r);
		break;
	case DW_CFA_restore_state:
		recall(r);
		break;
	case DW_CFA_expression:
		set_expression(r, TL_CFI_EXPRESSION);
		break;
	case DW_CFA_val_expression:
		set_expression(r, TL_CFI_VAL_EXPRESSION);
		break;
	case DW_CFA_AARCH64_negate_ra_state:
		r->now.is_return_signed = !r->now.is_return_signed;
		break;
	case DW_CFA_GNU_args_size:
		tl_cfi_uleb128(c);
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		run_cfa_instruction(r, op);
		break;
	default:
		r->failed = true;
	}
}

static void run_program(struct run *r, const uint8_t *bytes, size_t size)
{
	/* Positions are the window's, for pointers relative to their place. */
	tl_cursor_init(&r->c, r->window->data, (size_t)(bytes - r->window->data) + size, 0, false);
	tl_skip(&r->c, (uint64_t)(bytes - r->window->data));
	while (!r->failed && tl_cursor_left(&r->c) && r->location <= r->target) {
		uint8_t op = tl_get_u8(&r->c), operand = op & 0x3f;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			advance(r, operand);
			break;
		case DW_CFA_offset:
			set_rule(r, operand, TL_CFI_AT_OFFSET, factored(r, tl_cfi_uleb128(&r->c)));
			break;
		case DW_CFA_restore:
			restore(r, operand);
			break;
		default:
			run_extended(r, op);
		}
		if (r->c.failed)
			r->failed = true;
	}
}

bool tl_cfi_run(const struct tl_cfi_window *window, const struct tl_cfi_entry *entry,
		uint64_t address, struct tl_cfi_row *row)
{
	struct run r;

	r.window = window;
	r.entry = entry;
	r.failed = false;
	memset(&r.now, 0, sizeof(r.now)); /* all registers SAME */
	r.initial = r.now;
	r.remembered_count = 0;
	r.location = 0;
	r.target = UINT64_MAX; /* the CIE's instructions hold everywhere */
	run_program(&r, entry->initial, entry->initial_size);
	r.initial = r.now;
	r.remembered_count = 0;
	r.location = entry->start;
	r.target = address;
	run_program(&r, entry->program, entry->program_size);
	if (r.failed || r.now.cfa.how == TL_CFI_SAME)
		return false;

	memset(row, 0, sizeof(*row));
	row->cfa = r.now.cfa;
	row->return_register = entry->return_register;
	row->is_signal_frame = entry->is_signal_frame;
	row->is_return_signed = r.now.is_return_signed;
	for (size_t i = 0; i < TL_CFI_REGISTERS; i++)
		if (r.now.rules[i].how != TL_CFI_SAME)
			row->rules[row->rule_count++] = r.now.rules[i];
	return true;
}
