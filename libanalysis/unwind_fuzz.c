/*
 * unwind_fuzz.c - any call frame instructions, registers and stack bytes, on both machines.
 */
#include "unwind.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi_example.h"

#define CODE	  0x400000
#define MAX	  127
#define REGISTERS 33

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static const uint8_t *take(struct input *in, size_t want, size_t *got)
{
	const uint8_t *at = in->data;

	*got = want < in->size ? want : in->size;
	in->data += *got;
	in->size -= *got;
	return at;
}

/* The image at CODE; unknown memory where the stack may lie. */
static bool look_up(uint64_t address, struct tl_unwind_map *map, void *payload)
{
	if (address - CODE < EXAMPLE_SIZE)
		*map = (struct tl_unwind_map) { payload, CODE, EXAMPLE_SIZE, 0 };
	else if (address >> 32)
		*map = (struct tl_unwind_map) { NULL, UINT64_C(1) << 32, UINT64_C(1) << 63, 0 };
	else
		return false;
	return true;
}

static struct tl_symbols_dso *open_image(struct tl_symbols *symbols, const struct example *e)
{
	char path[] = "/tmp/unwind_fuzz.XXXXXX";
	struct tl_dso_description description = { .kind = TL_DSO_FILE, .path = path };
	struct tl_symbols_dso *dso = NULL;
	struct tl_error err = { 0 };
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	description.build_id.size = 20;
	memset(description.build_id.data, 0x42, 20);
	if (write(fd, e->bytes, sizeof(e->bytes)) != sizeof(e->bytes) ||
	    tl_symbols_dso(symbols, &description, &dso, &err) < 0 || !tl_symbols_image(dso))
		abort();
	close(fd);
	unlink(path);
	return dso;
}

static void unwind(struct tl_unwinder *unwinder, struct tl_symbols_dso *dso, struct input in)
{
	struct tl_frame frames[MAX];
	uint64_t regs[REGISTERS] = { 0 };
	struct tl_user_stack stack = { .abi = 2, .regs = regs };
	struct tl_error err = { 0 };
	size_t got;
	const uint8_t *bytes = take(&in, sizeof(regs), &got);
	int n;

	memcpy(regs, bytes, got);
	stack.mask = (UINT64_C(1) << REGISTERS) - 1;
	stack.bytes = in.data;
	stack.size = in.size;
	n = tl_unwind(unwinder, &stack, look_up, dso, frames, MAX, &err);
	if (n < 0 || n > MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct tl_symbol_options options = { .no_default_dirs = true };
	struct tl_recording recording = { 0 };
	struct tl_symbols *symbols = NULL;
	struct tl_unwinder *unwinder = NULL;
	struct tl_error err = { 0 };
	struct example e;
	size_t got;
	const uint8_t *head = take(&in, 2, &got), *program;
	bool is_aarch64;

	if (got < 2)
		return 0;
	is_aarch64 = head[0] & 1;
	recording.arch = is_aarch64 ? "aarch64" : "x86_64";
	program = take(&in, head[1], &got);
	example_tabled(&e, is_aarch64 ? EM_AARCH64 : EM_X86_64, head[0] & 2 ? "zRS" : "zR", 1,
		       is_aarch64 ? 30 : 16, "\x0c\x07\x08\x90\x01", 5, (const char *)program, got);
	if (head[0] & 4)
		example_put_at(&e, EXAMPLE_END, UINT64_C(0xd4000001d2801168), 8);
	if (tl_symbols_open(&symbols, &options, &recording, &err) < 0 ||
	    tl_unwinder_open(&unwinder, recording.arch, TL_UNWIND_ALL_RULES, &err) < 0)
		abort();
	unwind(unwinder, open_image(symbols, &e), in);
	tl_unwinder_close(unwinder);
	tl_symbols_close(symbols);
	return 0;
}
