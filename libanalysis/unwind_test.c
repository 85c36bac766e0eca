/*
 * unwind_test.c - stacks of a real recording against what perf printed for them, and hand-made
 * ones of both machines.
 */
#include "unwind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cfi_example.h"

#define GOLDEN	 "testdata/unwind/signal/"
#define MAX	 127
#define UNMAPPED 0x10 /* an address that no test maps */

/* ---- a process --------------------------------------------------------------------------- */

struct process {
	struct tl_symbols *symbols;
	struct tl_unwinder *unwinder;
	struct tl_unwind_map maps[8]; /* later ones hide earlier ones */
	size_t map_count;
	char path[64]; /* of a hand-made image, or "" */
};

static bool look_up(uint64_t address, struct tl_unwind_map *map, void *payload)
{
	const struct process *p = payload;

	for (size_t i = p->map_count; i-- > 0;) {
		if (address >= p->maps[i].start && address - p->maps[i].start < p->maps[i].length) {
			*map = p->maps[i];
			return true;
		}
	}
	return false;
}

static void begin(struct process *p, const char *arch, enum tl_unwind_scope scope)
{
	struct tl_symbol_options options = { .no_default_dirs = true };
	struct tl_recording recording = { .arch = arch, .end_unix_ns = INT64_MAX - 1 };
	struct tl_error err = { 0 };

	memset(p, 0, sizeof(*p));
	assert_int_equal(tl_symbols_open(&p->symbols, &options, &recording, &err), TL_OK);
	assert_int_equal(tl_unwinder_open(&p->unwinder, arch, scope, &err), TL_OK);
}

static void end(struct process *p)
{
	tl_unwinder_close(p->unwinder);
	tl_symbols_close(p->symbols);
	if (p->path[0])
		unlink(p->path);
}

static struct tl_symbols_dso *open_file(struct process *p, const char *path,
					const char build_id[static 20])
{
	struct tl_dso_description description = { .kind = TL_DSO_FILE, .path = path };
	struct tl_error err = { 0 };
	struct tl_symbols_dso *dso;

	description.build_id.size = 20;
	memcpy(description.build_id.data, build_id, 20);
	assert_int_equal(tl_symbols_dso(p->symbols, &description, &dso, &err), TL_OK);
	assert_non_null(tl_symbols_image(dso));
	return dso;
}

static struct tl_symbols_dso *open_golden(struct process *p)
{
	char *path = realpath(GOLDEN "program", NULL);
	struct tl_symbols_dso *dso;

	assert_non_null(path);
	dso = open_file(p, path,
			"\x63\x21\xc4\x88\xbc\xe7\x37\x55\xbe\xbb"
			"\x79\x64\x61\x45\x29\xf2\x56\xc4\x2d\x1e");
	free(path);
	return dso;
}

static void map_image(struct process *p, const struct example *e, uint64_t start)
{
	int fd;

	snprintf(p->path, sizeof(p->path), "/tmp/unwind_test.XXXXXX");
	fd = mkstemp(p->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, e->bytes, sizeof(e->bytes)), sizeof(e->bytes));
	close(fd);
	p->maps[p->map_count++] =
		(struct tl_unwind_map) { open_file(p, p->path, "BBBBBBBBBBBBBBBBBBBB"), start,
					 sizeof(e->bytes), 0 };
}

static int unwind(struct process *p, const struct tl_user_stack *stack, struct tl_frame *frames,
		  size_t max)
{
	struct tl_error err = { 0 };
	int n = tl_unwind(p->unwinder, stack, look_up, p, frames, max, &err);

	assert_int_equal(err.status, 0);
	return n;
}

static struct tl_unwind_counts counts_of(const struct process *p)
{
	struct tl_unwind_counts counts;

	tl_unwind_counts(p->unwinder, &counts);
	return counts;
}

/* ---- a recording ------------------------------------------------------------------------- */

struct golden {
	struct process process;
	uint64_t regs[64], words[512];
	struct tl_user_stack stack;
	size_t samples, frames;
};

static void check_frames(struct golden *g, char *text)
{
	struct tl_frame frames[MAX];
	int n = unwind(&g->process, &g->stack, frames, MAX);
	char *save, *word = strtok_r(text, " \n", &save);

	for (int i = 0; i < n; i++, word = strtok_r(NULL, " \n", &save)) {
		struct tl_unwind_map map = { 0 };

		assert_non_null(word);
		look_up(frames[i].ip, &map, &g->process);
		assert_int_equal(frames[i].ip - map.start + map.file_offset, strtoull(word, 0, 16));
		assert_int_equal(frames[i].context, TL_CONTEXT_USER);
	}
	assert_null(word);
	g->samples++;
	g->frames += (size_t)n;
}

static void read_registers(struct golden *g, char *text)
{
	memset(&g->stack, 0, sizeof(g->stack));
	memset(g->words, 0, sizeof(g->words));
	g->stack.abi = 2;
	g->stack.mask = strtoull(text, &text, 16);
	g->stack.regs = g->regs;
	for (int i = 0; i < __builtin_popcountll(g->stack.mask); i++)
		g->regs[i] = strtoull(text, &text, 16);
}

static void read_words(struct golden *g, char *text)
{
	for (;;) {
		char *after;
		size_t at = strtoull(text, &after, 10);

		if (after == text)
			return;
		assert_true(at < 512 && *after == ':');
		g->words[at] = strtoull(after + 1, &text, 16);
	}
}

static void read_line(struct golden *g, char *line)
{
	struct process *p = &g->process;
	unsigned long start, length, offset, size;

	if (sscanf(line, "map %lx %lx %lx", &start, &length, &offset) == 3)
		p->maps[p->map_count++] =
			(struct tl_unwind_map) { open_golden(p), start, length, offset };
	else if (sscanf(line, "unnamed %lx %lx", &start, &length) == 2)
		p->maps[p->map_count++] = (struct tl_unwind_map) { NULL, start, length, 0 };
	else if (strncmp(line, "registers ", 10) == 0)
		read_registers(g, line + 10);
	else if (sscanf(line, "bytes %lu", &size) == 1) {
		assert_true(size <= sizeof(g->words));
		g->stack.bytes = (const uint8_t *)g->words;
		g->stack.size = size;
	} else if (strncmp(line, "words ", 6) == 0)
		read_words(g, line + 6);
	else if (strncmp(line, "frames ", 7) == 0)
		check_frames(g, line + 7);
}

static void read_golden(struct golden *g)
{
	char line[1024];
	FILE *f = fopen(GOLDEN "stacks.txt", "r");

	assert_non_null(f);
	begin(&g->process, "x86_64", TL_UNWIND_AS_PERF);
	while (fgets(line, sizeof(line), f))
		read_line(g, line);
	fclose(f);
}

static void recorded_stacks_are_those_of_perf(void **state)
{
	struct golden g = { 0 };

	(void)state;
	read_golden(&g);
	assert_int_equal(g.samples, 8);
	assert_int_equal(g.frames, 1 + 13 + 8 + 10 + 10 + 7 + 6 + 7);
	assert_int_equal(counts_of(&g.process).frames, g.frames);
	/* Twice in the function without rules; once after the end of one that does not return, to
	 * address one: there perf shows no frame. */
	assert_int_equal(counts_of(&g.process).guessed, 3);
	end(&g.process);
}

/* The last sample once more: main program in a function without rules. */
static void only_callers_are_adjusted(void **state)
{
	struct tl_frame frames[MAX];
	struct golden g = { 0 };
	int n;

	(void)state;
	read_golden(&g);
	n = unwind(&g.process, &g.stack, frames, MAX);
	assert_int_equal(n, 7);
	assert_int_equal(frames[0].is_marked, 0);
	for (int i = 1; i < n; i++)
		assert_int_equal(frames[i].is_marked, TL_FRAME_ADJUSTED);
	end(&g.process);
}

static void no_more_frames_than_asked_for(void **state)
{
	struct tl_frame frames[4] = { [3] = { .ip = 0x5afe } };
	struct golden g = { 0 };

	(void)state;
	read_golden(&g);
	assert_int_equal(unwind(&g.process, &g.stack, frames, 3), 3);
	assert_int_equal(frames[3].ip, 0x5afe);
	assert_int_equal(counts_of(&g.process).depth_limit, 1);
	end(&g.process);
}

/* ---- x86_64, by hand --------------------------------------------------------------------- */

#define RIP   16
#define CODE  0x400000 /* where the hand-made image lies */
#define STACK 0x7ffe00001000
#define FUNC  (CODE + EXAMPLE_CODE)
/* CFA = rsp+8, return address at CFA-8; after one byte CFA = rsp+16, rbp at CFA-16 */
#define INITIAL "\x0c\x07\x08\x90\x01"
#define PUSHES	"\x41\x0e\x10\x86\x02"

struct machine_state {
	uint64_t regs[64];
	struct tl_user_stack stack;
};

/* Mask ff0fff, the kernel's order: ax bx cx dx si di bp sp ip flags cs ss r8..r15 */
static void sample_x86_64(struct machine_state *m, uint64_t ip, uint64_t bp, const uint64_t *words,
			  size_t word_count)
{
	memset(m, 0, sizeof(*m));
	m->regs[6] = bp;
	m->regs[7] = STACK;
	m->regs[8] = ip;
	m->stack = (struct tl_user_stack) { .abi = 2,
					    .mask = 0xff0fff,
					    .regs = m->regs,
					    .bytes = (const uint8_t *)words,
					    .size = word_count * 8 };
}

static void begin_x86_64(struct process *p)
{
	struct example e;

	begin(p, "x86_64", TL_UNWIND_AS_PERF);
	example_tabled(&e, EM_X86_64, "zR", 1, RIP, INITIAL, 5, PUSHES, 5);
	map_image(p, &e, CODE);
}

static void a_return_address_of_zero_ends_it(void **state)
{
	const uint64_t words[] = { 0, FUNC + 5, 0, 0, 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	begin_x86_64(&p);
	sample_x86_64(&m, FUNC + 1, 0, words, 5);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 3);
	assert_int_equal(frames[0].ip, FUNC + 1);
	assert_int_equal(frames[1].ip, FUNC + 4);
	assert_int_equal(frames[2].ip, UINT64_MAX); /* as perf shows it */
	assert_int_equal(counts_of(&p).complete, 1);
	end(&p);
}

static void the_last_word_is_not_read(void **state)
{
	const uint64_t words[] = { 0, FUNC + 5 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	begin_x86_64(&p);
	sample_x86_64(&m, FUNC + 1, 0, words, 2);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 1);
	assert_int_equal(counts_of(&p).short_stack, 1);
	end(&p);
}

static void memory_that_is_mapped_but_unknown_reads_as_zero(void **state)
{
	const uint64_t words[] = { 0, FUNC + 5 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	begin_x86_64(&p);
	p.maps[p.map_count++] = (struct tl_unwind_map) { NULL, STACK, 0x1000, 0 };
	sample_x86_64(&m, FUNC + 1, 0, words, 2);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 2);
	assert_int_equal(frames[1].ip, UINT64_MAX);
	assert_int_equal(counts_of(&p).short_stack, 1);
	end(&p);
}

static void the_caller_is_looked_up_at_its_call(void **state)
{
	/* The return address is the first byte after the function: the call was its last. */
	const uint64_t words[] = { CODE + EXAMPLE_END, 0, UNMAPPED, 0, 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	begin_x86_64(&p);
	sample_x86_64(&m, FUNC, 0, words, 5);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 3);
	assert_int_equal(frames[1].ip, CODE + EXAMPLE_END - 1);
	assert_int_equal(frames[2].ip, UNMAPPED - 1);
	assert_int_equal(counts_of(&p).no_map, 1);
	end(&p);
}

static void without_an_entry_the_frame_pointer_is_tried(void **state)
{
	const uint64_t words[] = { 7, 7, STACK + 32, FUNC + 5, 0, 0, 0, 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	begin_x86_64(&p);
	sample_x86_64(&m, CODE + EXAMPLE_END, STACK + 16, words, 8);
	assert_true(unwind(&p, &m.stack, frames, MAX) >= 2);
	assert_int_equal(frames[1].ip, FUNC + 4);
	assert_int_equal(counts_of(&p).guessed, 1);
	end(&p);
}

static void a_frame_pointer_far_off_is_not_believed(void **state)
{
	static const uint64_t wrong[] = { 0, STACK - 8, STACK + 0x4008, 1 };
	static uint64_t words[0x1000];
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	begin_x86_64(&p);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sample_x86_64(&m, CODE + EXAMPLE_END, wrong[i], words, 0x1000);
		assert_int_equal(unwind(&p, &m.stack, frames, MAX), 1);
	}
	assert_int_equal(counts_of(&p).no_rule, 4);
	assert_int_equal(counts_of(&p).guessed, 0);
	end(&p);
}

static void without_a_table_nothing_is_guessed(void **state)
{
	const uint64_t words[] = { STACK + 32, FUNC + 5, 0, 0, 0, 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct example e;
	struct process p;

	(void)state;
	begin(&p, "x86_64", TL_UNWIND_AS_PERF);
	example_begin(&e, EM_X86_64, 2);
	map_image(&p, &e, CODE);
	sample_x86_64(&m, FUNC, STACK, words, 6);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 1);
	assert_int_equal(counts_of(&p).no_rule, 1);
	end(&p);
}

static void unwind_untabled(enum tl_unwind_scope scope, int frame_count, uint64_t not_tabled)
{
	const uint64_t words[] = { UNMAPPED, 0, 0, 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct example e;
	struct process p;

	begin(&p, "x86_64", scope);
	example_tabled(&e, EM_X86_64, "zR", 1, RIP, INITIAL, 5, PUSHES, 5);
	example_put_at(&e, EXAMPLE_HDR, 0, 4);
	example_section(&e, ".eh_frame", EXAMPLE_FRAME, 0x100);
	map_image(&p, &e, CODE);
	sample_x86_64(&m, FUNC, 0, words, 4);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), frame_count);
	assert_int_equal(counts_of(&p).not_tabled, not_tabled);
	end(&p);
}

static void rules_without_a_table_are_used_only_if_wanted(void **state)
{
	(void)state;
	unwind_untabled(TL_UNWIND_AS_PERF, 1, 1);
	unwind_untabled(TL_UNWIND_ALL_RULES, 2, 0);
}

static void a_stack_that_does_not_climb_ends(void **state)
{
	/* rbp + 16 is the CFA; the saved rbp is its own address. */
	const uint64_t words[] = { STACK, FUNC + 5, 0, 0, 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct example e;
	struct process p;

	(void)state;
	begin(&p, "x86_64", TL_UNWIND_AS_PERF);
	example_tabled(&e, EM_X86_64, "zR", 1, RIP, "\x0c\x06\x10\x90\x01\x86\x02", 7, "", 0);
	map_image(&p, &e, CODE);
	sample_x86_64(&m, FUNC, STACK, words, 5);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 2);
	assert_int_equal(counts_of(&p).looped, 1);
	end(&p);
}

static void an_undefined_return_address_is_the_end(void **state)
{
	const uint64_t words[4] = { 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct example e;
	struct process p;

	(void)state;
	begin(&p, "x86_64", TL_UNWIND_AS_PERF);
	example_tabled(&e, EM_X86_64, "zR", 1, RIP, INITIAL, 5, "\x07\x10", 2);
	map_image(&p, &e, CODE);
	sample_x86_64(&m, FUNC, 0, words, 4);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 1);
	assert_int_equal(counts_of(&p).complete, 1);
	end(&p);
}

static void damaged_rules_end_it(void **state)
{
	const uint64_t words[4] = { 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct example e;
	struct process p;

	(void)state;
	begin(&p, "x86_64", TL_UNWIND_AS_PERF);
	example_tabled(&e, EM_X86_64, "zR", 1, RIP, INITIAL, 5, "\x3f", 1);
	map_image(&p, &e, CODE);
	sample_x86_64(&m, FUNC, 0, words, 4);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 1);
	assert_int_equal(counts_of(&p).bad_rule, 1);
	end(&p);
}

static void what_was_not_sampled_gives_no_frames(void **state)
{
	const uint64_t words[4] = { 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	begin_x86_64(&p);
	sample_x86_64(&m, FUNC, 0, words, 0); /* no bytes */
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 0);
	sample_x86_64(&m, FUNC, 0, words, 4);
	m.stack.mask = 0x0f; /* no ip, no sp */
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 0);
	sample_x86_64(&m, FUNC, 0, words, 4);
	m.stack.abi = 0; /* no registers */
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 0);
	assert_int_equal(counts_of(&p).no_registers, 3);
	sample_x86_64(&m, FUNC, 0, words, 4);
	m.stack.abi = 1;
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 0);
	assert_int_equal(counts_of(&p).is_32_bit, 1);
	end(&p);
}

static void other_machines_are_refused_in_words(void **state)
{
	struct tl_unwinder *u;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(tl_unwinder_open(&u, "s390x", TL_UNWIND_AS_PERF, &err), TL_UNSUPPORTED);
	assert_non_null(strstr(err.text, "s390x"));
}

/* ---- aarch64, by hand -------------------------------------------------------------------- */

#define AARCH64_MASK ((UINT64_C(1) << 33) - 1)
/* sp+0; from +4 on sp+16, x29 at CFA-16, x30 at CFA-8 */
#define AARCH64_INITIAL "\x0c\x1f\x00"
#define AARCH64_PUSHES	"\x41\x0e\x10\x9d\x02\x9e\x01"

static void sample_aarch64(struct machine_state *m, uint64_t pc, uint64_t lr, const uint64_t *words,
			   size_t word_count)
{
	memset(m, 0, sizeof(*m));
	m->regs[30] = lr;
	m->regs[31] = STACK;
	m->regs[32] = pc;
	m->stack = (struct tl_user_stack) { .abi = 2,
					    .mask = AARCH64_MASK,
					    .regs = m->regs,
					    .bytes = (const uint8_t *)words,
					    .size = word_count * 8 };
}

static void begin_aarch64(struct process *p, const char *program, size_t size, uint64_t code)
{
	struct example e;

	begin(p, "aarch64", TL_UNWIND_AS_PERF);
	example_tabled(&e, EM_AARCH64, "zR", 4, 30, AARCH64_INITIAL, 3, program, size);
	example_put_at(&e, EXAMPLE_END, code, 8);
	map_image(p, &e, CODE);
}

static void aarch64_returns_by_lr_and_then_by_the_stack(void **state)
{
	const uint64_t words[] = { 0, FUNC + 0x20, 0, UNMAPPED, 0, 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	begin_aarch64(&p, AARCH64_PUSHES, 7, 0);
	/* A leaf that has pushed nothing yet, called from FUNC + 0xc, called from FUNC + 0x1c. */
	sample_aarch64(&m, FUNC, FUNC + 0x10, words, 6);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 4);
	assert_int_equal(frames[0].ip, FUNC);
	assert_int_equal(frames[1].ip, FUNC + 0xf);
	assert_int_equal(frames[2].ip, FUNC + 0x1f);
	assert_int_equal(frames[3].ip, UNMAPPED - 1);
	end(&p);
}

static void authentication_codes_are_stripped(void **state)
{
	const uint64_t words[] = { 0, (FUNC + 0x20) | UINT64_C(0x7f3a) << 48, 0, 0, 0, 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	/* paciasp: negate_ra_state, then the pushes */
	begin_aarch64(&p, "\x41\x2d" AARCH64_PUSHES, 9, 0);
	sample_aarch64(&m, FUNC + 8, 0, words, 6);
	assert_true(unwind(&p, &m.stack, frames, MAX) >= 2);
	assert_int_equal(frames[1].ip, FUNC + 0x1f);
	end(&p);
}

static void an_aarch64_signal_trampoline_is_known_by_its_code(void **state)
{
	/* siginfo, ucontext, fault address, x0..x30, sp, pc */
	static uint64_t words[16 + 22 + 1 + 33 + 4];
	const size_t x0 = 16 + 22 + 1;
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	words[x0 + 30] = UNMAPPED;
	words[x0 + 31] = STACK + sizeof(words) - 16;
	words[x0 + 32] = FUNC; /* interrupted at its first instruction: lr is its caller */
	begin_aarch64(&p, AARCH64_PUSHES, 7, UINT64_C(0xd4000001d2801168));
	sample_aarch64(&m, CODE + EXAMPLE_END, 0, words, sizeof(words) / 8);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 3);
	assert_int_equal(frames[1].ip, FUNC);
	assert_int_equal(frames[1].is_marked, 0);
	assert_int_equal(frames[2].ip, UNMAPPED - 1);
	end(&p);
}

static void an_aarch64_stub_without_rules_returns_to_lr(void **state)
{
	const uint64_t words[] = { 0, UNMAPPED, 0, 0 };
	struct tl_frame frames[MAX];
	struct machine_state m;
	struct process p;

	(void)state;
	begin_aarch64(&p, AARCH64_PUSHES, 7, 0);
	sample_aarch64(&m, CODE + EXAMPLE_END, FUNC + 0x10, words, 4);
	assert_int_equal(unwind(&p, &m.stack, frames, MAX), 3);
	assert_int_equal(frames[1].ip, FUNC + 0xf);
	assert_int_equal(frames[2].ip, UNMAPPED - 1);
	assert_int_equal(counts_of(&p).guessed, 1);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_stacks_are_those_of_perf),
		cmocka_unit_test(only_callers_are_adjusted),
		cmocka_unit_test(no_more_frames_than_asked_for),
		cmocka_unit_test(a_return_address_of_zero_ends_it),
		cmocka_unit_test(the_last_word_is_not_read),
		cmocka_unit_test(memory_that_is_mapped_but_unknown_reads_as_zero),
		cmocka_unit_test(the_caller_is_looked_up_at_its_call),
		cmocka_unit_test(without_an_entry_the_frame_pointer_is_tried),
		cmocka_unit_test(a_frame_pointer_far_off_is_not_believed),
		cmocka_unit_test(without_a_table_nothing_is_guessed),
		cmocka_unit_test(rules_without_a_table_are_used_only_if_wanted),
		cmocka_unit_test(a_stack_that_does_not_climb_ends),
		cmocka_unit_test(an_undefined_return_address_is_the_end),
		cmocka_unit_test(damaged_rules_end_it),
		cmocka_unit_test(what_was_not_sampled_gives_no_frames),
		cmocka_unit_test(other_machines_are_refused_in_words),
		cmocka_unit_test(aarch64_returns_by_lr_and_then_by_the_stack),
		cmocka_unit_test(authentication_codes_are_stripped),
		cmocka_unit_test(an_aarch64_signal_trampoline_is_known_by_its_code),
		cmocka_unit_test(an_aarch64_stub_without_rules_returns_to_lr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
