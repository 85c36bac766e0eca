/*
 * unwind.c - walks user stacks from sampled registers and bytes by the rules that cfi.c finds, and
 * remembers the rules. Knows the registers of x86_64 and aarch64; reads nothing but the sampled
 * bytes and what the files hold read-only.
 *
 * Where there is a choice it is the one that perf makes with libunwind, so that stacks are equal.
 */
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

#include "cfi.h"
#include "memory.h"
#include "unwind_rules.h"

#define ABI_64 2 /* PERF_SAMPLE_REGS_ABI_64, linux/perf_event.h */

#define X86_64_RBP 6
#define X86_64_RSP 7
#define X86_64_RIP 16
#define AARCH64_LR 30
#define AARCH64_SP 31
#define AARCH64_PC 32

#define NO_REGISTER 0xff

struct machine {
	const char *arch;
	/* From the kernel's numbers (asm/perf_regs.h of the machine) to DWARF's. */
	const uint8_t *registers;
	size_t register_count;
	uint8_t ip, sp;
	bool is_aarch64;
};

/* AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS R8..R15 */
static const uint8_t x86_64_registers[] = { 0,		 3,	      2,	   1,
					    4,		 5,	      X86_64_RBP,  X86_64_RSP,
					    X86_64_RIP,	 NO_REGISTER, NO_REGISTER, NO_REGISTER,
					    NO_REGISTER, NO_REGISTER, NO_REGISTER, NO_REGISTER,
					    8,		 9,	      10,	   11,
					    12,		 13,	      14,	   15 };

/* X0..X29 LR SP PC */
static const uint8_t aarch64_registers[] = { 0,	 1,  2,	 3,  4,	 5,  6,	 7,  8,	 9,  10,
					     11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					     22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };

static const struct machine machines[] = {
	{ "x86_64", x86_64_registers, sizeof(x86_64_registers), X86_64_RIP, X86_64_RSP, false },
	{ "aarch64", aarch64_registers, sizeof(aarch64_registers), AARCH64_PC, AARCH64_SP, true },
};

struct tl_unwinder {
	const struct machine *machine;
	struct tl_unwind_rules rules;
	struct tl_unwind_counts counts;
};

int tl_unwinder_open(struct tl_unwinder **out, const char *arch, enum tl_unwind_scope scope,
		     struct tl_error *err)
{
	const struct machine *machine = NULL;
	struct tl_unwinder *u;
	int ret;

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (arch && strcmp(arch, machines[i].arch) == 0)
			machine = &machines[i];
	if (!machine)
		return tl_fail(
			err, TL_UNSUPPORTED,
			"user stacks of machine %s cannot be unwound, only x86_64 and aarch64",
			arch ? arch : "(unknown)");
	u = tl_alloc(1, sizeof(*u), err);
	if (!u)
		return TL_NOMEM;
	u->machine = machine;
	ret = tl_unwind_rules_init(&u->rules, err);
	u->rules.only_tabled = scope == TL_UNWIND_AS_PERF;
	if (ret < 0) {
		tl_unwinder_close(u);
		return ret;
	}
	*out = u;
	return TL_OK;
}

void tl_unwinder_close(struct tl_unwinder *u)
{
	if (!u)
		return;
	tl_unwind_rules_release(&u->rules);
	free(u);
}

void tl_unwind_counts(const struct tl_unwinder *u, struct tl_unwind_counts *counts)
{
	*counts = u->counts;
}

/* ---- one walk ---------------------------------------------------------------------------- */

/* Where the value of a register is. Memory is read only when the value is asked for. */
struct place {
	enum { PLACE_LOST, PLACE_NOT_SAMPLED, PLACE_VALUE, PLACE_MEMORY } kind;
	uint64_t value; /* or address */
};

enum end {
	END_GOES_ON,
	END_COMPLETE,
	END_NO_MAP,
	END_NO_RULE,
	END_NOT_TABLED,
	END_BAD_RULE,
	END_UNREADABLE,
	END_LOOPED,
	END_FAILED /* err says why */
};

struct walk {
	struct tl_unwinder *u;
	const struct tl_user_stack *stack;
	tl_unwind_lookup_fn lookup;
	void *payload;
	struct tl_error *err;

	uint64_t bottom; /* address of the first sampled byte */
	uint64_t ip, sp; /* sp is the CFA of the callee */
	struct place places[TL_CFI_REGISTERS];
	/* ip is a return address: rules are those of the call before it. */
	bool is_after_call;
	/* The frame now unwound. */
	struct tl_symbols_dso *dso;
	bool is_past_bytes;   /* a word was wanted that lies above the sampled bytes */
	bool is_zero_assumed; /* it is mapped, so it was taken for zero */
};

static uint64_t load_u64(const uint8_t *at) /* both machines are little-endian */
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* What is mapped at an address, and the file's offset of it. */
static bool find_map(const struct walk *w, uint64_t address, struct tl_symbols_dso **dso,
		     uint64_t *offset)
{
	struct tl_unwind_map map = { 0 };

	if (!w->lookup(address, &map, w->payload) || address < map.start ||
	    address - map.start >= map.length)
		return false;
	*dso = map.dso;
	*offset = address - map.start + map.file_offset;
	return true;
}

static bool get_file_memory(struct walk *w, struct tl_symbols_dso *dso, uint64_t offset,
			    uint64_t *value)
{
	const struct tl_cfi *cfi;
	uint64_t address;

	return dso && tl_unwind_rules_cfi(&w->u->rules, dso, &cfi, w->err) == TL_OK && cfi &&
	       tl_symbols_address(dso, offset, &address) && tl_cfi_get_memory(cfi, address, value);
}

/*
 * perf 6.1 reads no word that touches the last sampled byte, and takes words that are mapped but
 * unknown for zero.
 */
static bool get_memory(void *payload, uint64_t address, uint64_t *value)
{
	struct walk *w = payload;
	uint64_t above = address - w->bottom, offset;
	struct tl_symbols_dso *dso;

	if (address >= w->bottom && above < w->stack->size && w->stack->size - above > 8) {
		*value = load_u64(w->stack->bytes + above);
		return true;
	}
	w->is_past_bytes = address >= w->bottom;
	if (!find_map(w, address, &dso, &offset))
		return false;
	if (!get_file_memory(w, dso, offset, value)) {
		w->is_zero_assumed = true;
		*value = 0;
	}
	return true;
}

static bool get_place(struct walk *w, const struct place *place, uint64_t *value)
{
	switch (place->kind) {
	case PLACE_LOST:
	case PLACE_NOT_SAMPLED:
		return false;
	case PLACE_VALUE:
		*value = place->value;
		return true;
	case PLACE_MEMORY:
		return get_memory(w, place->value, value);
	}
	return false;
}

static bool get_register(void *payload, unsigned number, uint64_t *value)
{
	struct walk *w = payload;

	if (number == w->u->machine->sp) {
		*value = w->sp;
		return true;
	}
	return number < TL_CFI_REGISTERS && get_place(w, &w->places[number], value);
}

static bool evaluate(struct walk *w, const struct tl_cfi_rule *rule, uint64_t initial,
		     uint64_t *result, bool *is_register)
{
	const struct tl_cfi_context context = { get_register, get_memory, w };
	const struct tl_cfi *cfi;

	return tl_unwind_rules_cfi(&w->u->rules, w->dso, &cfi, w->err) == TL_OK && cfi &&
	       tl_cfi_evaluate(cfi, rule, initial, &context, result, is_register);
}

static bool compute_cfa(struct walk *w, const struct tl_cfi_rule *rule, uint64_t *cfa)
{
	bool is_register;

	if (rule->how == TL_CFI_EXPRESSION)
		return evaluate(w, rule, 0, cfa, &is_register) && !is_register;
	if (!get_register(w, rule->reg, cfa))
		return false;
	*cfa += (uint64_t)(int64_t)rule->value;
	return true;
}

static struct place register_place(const struct walk *w, uint64_t number)
{
	if (number == w->u->machine->sp)
		return (struct place) { PLACE_VALUE, w->sp };
	if (number >= TL_CFI_REGISTERS)
		return (struct place) { PLACE_LOST, 0 };
	return w->places[number];
}

static bool apply_rule(struct walk *w, const struct tl_cfi_rule *rule, uint64_t cfa,
		       struct place *place)
{
	uint64_t offset = (uint64_t)(int64_t)rule->value, result;
	bool is_register;

	switch ((enum tl_cfi_how)rule->how) {
	case TL_CFI_SAME: /* not in a row */
	case TL_CFI_UNDEFINED:
		*place = (struct place) { PLACE_LOST, 0 };
		return true;
	case TL_CFI_AT_OFFSET:
		*place = (struct place) { PLACE_MEMORY, cfa + offset };
		return true;
	case TL_CFI_IS_OFFSET:
		*place = (struct place) { PLACE_VALUE, cfa + offset };
		return true;
	case TL_CFI_REGISTER:
		*place = register_place(w, offset);
		return true;
	case TL_CFI_EXPRESSION:
	case TL_CFI_VAL_EXPRESSION:
		if (!evaluate(w, rule, cfa, &result, &is_register))
			return false;
		if (is_register)
			*place = register_place(w, result);
		else
			*place = (struct place) { rule->how == TL_CFI_EXPRESSION ? PLACE_MEMORY
										 : PLACE_VALUE,
						  result };
		return true;
	}
	return false;
}

/*
 * aarch64: bits 48 and up of a signed return address hold its authentication code. User addresses
 * have 48 bits unless a process asks for more by hint.
 */
static uint64_t strip_authentication(uint64_t ip)
{
	return ip & ((UINT64_C(1) << 48) - 1);
}

/*
 * Frames must climb. One that uses no stack is only possible where the sample was taken or a
 * signal came; a signal frame may lie on another stack than what it interrupted.
 */
static bool does_climb(const struct walk *w, uint64_t cfa, bool is_signal_frame)
{
	return cfa > w->sp || is_signal_frame || (cfa == w->sp && !w->is_after_call);
}

/* From a frame to its caller's registers. */
static enum end apply_row(struct walk *w, const struct tl_cfi_row *row)
{
	struct place new_places[TL_CFI_REGISTERS];
	uint64_t cfa, ip;

	/* A CFA made of words that were not recorded leads nowhere. */
	if (!compute_cfa(w, &row->cfa, &cfa) || w->is_zero_assumed)
		return END_UNREADABLE;
	if (!does_climb(w, cfa, row->is_signal_frame))
		return END_LOOPED;
	for (size_t i = 0; i < row->rule_count; i++)
		if (!apply_rule(w, &row->rules[i], cfa, &new_places[i]))
			return END_UNREADABLE;
	for (size_t i = 0; i < row->rule_count; i++)
		w->places[row->rules[i].reg] = new_places[i];

	if (w->places[row->return_register].kind == PLACE_LOST)
		return END_COMPLETE;
	if (!get_place(w, &w->places[row->return_register], &ip))
		return END_UNREADABLE;
	if (row->is_return_signed)
		ip = strip_authentication(ip);
	/* The ABI's other mark of the outermost frame. */
	if (!w->u->machine->is_aarch64 && w->places[X86_64_RBP].kind == PLACE_LOST)
		return END_COMPLETE;
	if (ip == w->ip && cfa == w->sp)
		return END_LOOPED;
	w->places[w->u->machine->ip] = (struct place) { PLACE_VALUE, ip };
	w->ip = ip;
	w->sp = cfa;
	w->is_after_call = !row->is_signal_frame;
	return END_GOES_ON;
}

/* ---- frames without rules ---------------------------------------------------------------- */

/* jmp *x(%rip); push $n; jmp: a stub of a procedure linkage table. */
static bool is_plt_stub(struct walk *w)
{
	uint64_t first, second;

	return get_memory(w, w->ip, &first) && get_memory(w, w->ip + 8, &second) &&
	       (first & 0xffff) == 0x25ff && (first >> 48 & 0xff) == 0x68 &&
	       (second >> 24 & 0xff) == 0xe9;
}

/*
 * What libunwind does on x86_64 when a file has a search table that leaves out the address: first
 * a PLT stub is looked for, then rbp is tried as a frame pointer, if it points a little above.
 */
static enum end guess_x86_64(struct walk *w)
{
	uint64_t rbp, saved, ip;

	if (is_plt_stub(w)) {
		if (!get_memory(w, w->sp, &ip))
			return END_UNREADABLE;
		w->sp += 8;
		w->ip = ip;
		w->places[X86_64_RIP] = (struct place) { PLACE_VALUE, ip };
		return END_GOES_ON;
	}
	if (w->places[X86_64_RBP].kind == PLACE_LOST)
		return END_NO_RULE;
	if (!get_place(w, &w->places[X86_64_RBP], &rbp))
		return END_UNREADABLE;
	if (!rbp || !get_memory(w, rbp, &saved) || rbp < w->sp || rbp - w->sp > 0x4000)
		return END_NO_RULE;
	if (!get_memory(w, rbp + 8, &ip))
		return END_UNREADABLE;
	memset(w->places, 0, sizeof(w->places));
	w->places[X86_64_RBP] = (struct place) { PLACE_MEMORY, rbp };
	w->places[X86_64_RIP] = (struct place) { PLACE_VALUE, ip };
	w->sp += 16; /* sic: not rbp + 16 */
	w->ip = ip;
	w->is_after_call = true;
	return END_GOES_ON;
}

/* In the innermost frame without a rule (a PLT stub, assembly) lr still holds the caller. */
static enum end guess_aarch64(struct walk *w)
{
	uint64_t ip;

	if (w->is_after_call || !get_register(w, AARCH64_LR, &ip) || ip == w->ip)
		return END_NO_RULE;
	w->ip = strip_authentication(ip);
	w->places[AARCH64_LR].kind = PLACE_LOST;
	w->places[AARCH64_PC] = (struct place) { PLACE_VALUE, w->ip };
	w->is_after_call = true;
	return END_GOES_ON;
}

/* mov x8, #139; svc #0 */
#define AARCH64_SIGRETURN UINT64_C(0xd4000001d2801168)
/* From sp to the saved x0: siginfo_t, ucontext_t up to uc_mcontext, fault_address. */
#define AARCH64_SAVED_X0 (128 + 176 + 8)

static bool is_sigreturn(struct walk *w)
{
	uint64_t code;

	return w->u->machine->is_aarch64 && get_memory(w, w->ip, &code) &&
	       code == AARCH64_SIGRETURN;
}

/* The kernel's vdso has no rules for its signal trampoline; the saved registers are on the stack. */
static enum end return_from_signal(struct walk *w)
{
	uint64_t at = w->sp + AARCH64_SAVED_X0, sp, pc;

	if (!get_memory(w, at + 8 * AARCH64_SP, &sp) || !get_memory(w, at + 8 * AARCH64_PC, &pc))
		return END_UNREADABLE;
	for (unsigned i = 0; i <= AARCH64_LR; i++)
		w->places[i] = (struct place) { PLACE_MEMORY, at + 8 * i };
	w->sp = sp;
	w->ip = pc;
	w->places[AARCH64_PC] = (struct place) { PLACE_VALUE, pc };
	w->is_after_call = false;
	return END_GOES_ON;
}

/* ---- steps ------------------------------------------------------------------------------- */

static enum end guess(struct walk *w)
{
	enum end end = w->u->machine->is_aarch64 ? guess_aarch64(w) : guess_x86_64(w);

	w->u->counts.guessed += end == END_GOES_ON;
	return end;
}

static enum end step(struct walk *w)
{
	const struct tl_cfi_row *row;
	uint64_t offset;
	int found;

	w->is_past_bytes = w->is_zero_assumed = false;
	if (!find_map(w, w->ip - w->is_after_call, &w->dso, &offset))
		return END_NO_MAP;
	if (!w->dso)
		return END_NO_RULE;
	found = tl_unwind_rules_find(&w->u->rules, w->dso, offset, &row, w->err);
	if (found < 0)
		return END_FAILED;
	switch ((enum tl_cfi_found)found) {
	case TL_CFI_FOUND:
		return apply_row(w, row);
	case TL_CFI_NO_ENTRY:
		return is_sigreturn(w) ? return_from_signal(w) : guess(w);
	case TL_CFI_NO_TABLE:
		return is_sigreturn(w) ? return_from_signal(w) : END_NO_RULE;
	case TL_CFI_NOT_TABLED:
		return END_NOT_TABLED;
	case TL_CFI_DAMAGED:
		return END_BAD_RULE;
	}
	return END_BAD_RULE;
}

static bool begin(struct walk *w)
{
	const struct machine *machine = w->u->machine;
	size_t taken = 0;

	for (size_t i = 0; i < TL_CFI_REGISTERS; i++)
		w->places[i].kind = PLACE_NOT_SAMPLED;
	for (unsigned bit = 0; bit < 64; bit++) {
		if (!(w->stack->mask >> bit & 1))
			continue;
		if (bit < machine->register_count && machine->registers[bit] != NO_REGISTER)
			w->places[machine->registers[bit]] =
				(struct place) { PLACE_VALUE, w->stack->regs[taken] };
		taken++;
	}
	w->ip = w->places[machine->ip].value;
	w->sp = w->bottom = w->places[machine->sp].value;
	return w->stack->size && w->places[machine->ip].kind == PLACE_VALUE &&
	       w->places[machine->sp].kind == PLACE_VALUE;
}

static void count_end(const struct walk *w, enum end end, bool is_full)
{
	struct tl_unwind_counts *c = &w->u->counts;

	if (is_full) {
		c->depth_limit++;
		return;
	}
	switch (end) {
	case END_GOES_ON:
	case END_FAILED:
		break;
	case END_COMPLETE:
		c->complete++;
		break;
	case END_NO_MAP:
		c->no_map++;
		break;
	case END_NO_RULE:
		c->no_rule++;
		break;
	case END_NOT_TABLED:
		c->not_tabled++;
		break;
	case END_BAD_RULE:
		c->bad_rule++;
		break;
	case END_UNREADABLE:
		if (w->is_past_bytes)
			c->short_stack++;
		else
			c->bad_memory++;
		break;
	case END_LOOPED:
		c->looped++;
		break;
	}
}

static size_t add_frame(struct tl_frame *frames, size_t count, uint64_t ip, bool is_after_call)
{
	/* perf shows no frame at address zero. */
	if (ip - is_after_call)
		frames[count++] = (struct tl_frame) {
			.ip = ip - is_after_call,
			.context = TL_CONTEXT_USER,
			.is_marked = is_after_call ? TL_FRAME_ADJUSTED : 0,
		};
	return count;
}

int tl_unwind(struct tl_unwinder *u, const struct tl_user_stack *stack, tl_unwind_lookup_fn lookup,
	      void *payload, struct tl_frame *frames, size_t max, struct tl_error *err)
{
	struct walk w = {
		.u = u, .stack = stack, .lookup = lookup, .payload = payload, .err = err
	};
	enum end end = END_GOES_ON;
	size_t count, depth;

	u->counts.stacks++;
	if (stack->abi != ABI_64 && stack->abi) {
		u->counts.is_32_bit++;
		return 0;
	}
	if (!stack->abi || !max || !begin(&w)) {
		u->counts.no_registers++;
		return 0;
	}
	count = add_frame(frames, 0, w.ip, false);
	for (depth = 1; depth < max && w.ip; depth++) {
		end = step(&w);
		if (end != END_GOES_ON)
			break;
		count = add_frame(frames, count, w.ip, w.is_after_call);
	}
	if (end == END_FAILED)
		return err ? err->status : TL_NOMEM;
	if (end == END_GOES_ON && depth == 1)
		end = w.ip ? END_GOES_ON : END_NO_MAP;
	else if (end == END_GOES_ON && !w.ip) /* a return address of zero, recorded or assumed */
		end = w.is_zero_assumed ? END_UNREADABLE : END_COMPLETE;
	count_end(&w, end, end == END_GOES_ON);
	u->counts.frames += count;
	return (int)count;
}
