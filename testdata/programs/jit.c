/*
 * jit.c - code that is in no file.
 *   jit map MS    two functions in anonymous executable memory, named in /tmp/perf-PID.map
 *   jit none MS   the same without a map
 *   jit dump MS   the same, named in ./jit-PID.dump (jitdump version 1), where the first is later
 *                 replaced by another at the same address
 */
#include "tiny.h"

/*
 * void spin(long n): push %rbp; mov %rsp,%rbp; 1: dec %rdi; jnz 1b; pop %rbp; ret
 * with a frame pointer, so that the caller is in the chain.
 */
static const uint8_t spin_code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xff,
				     0xcf, 0x75, 0xfb, 0x5d, 0xc3 };

#define SLOT 64

static uint8_t *code;
static volatile unsigned long sink;

static long pid_of_self(void)
{
	return SYS1(SYS_getpid, 0);
}

static char *append(char *out, const char *text)
{
	while (*text)
		*out++ = *text++;
	*out = 0;
	return out;
}

static char *append_hex(char *out, unsigned long n)
{
	int shift = 60;

	while (shift && !(n >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*out++ = "0123456789abcdef"[n >> shift & 15];
	*out = 0;
	return out;
}

static void copy(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
}

NOINLINE void call_for_ms(uint8_t *function, long ms)
{
	int64_t end = tiny_cpu_ns() + ms * 1000000;

	while (tiny_cpu_ns() < end)
		((void (*)(long))(uintptr_t)function)(200000);
	sink++;
}

static void write_map(void)
{
	static const char *const lines[] = { "jitted first", "jitted::second(int)" };
	char path[64], line[128], *p;
	long fd;

	p = append(path, "/tmp/perf-");
	p = tiny_format(p, (unsigned long)pid_of_self());
	append(p, ".map");
	fd = SYS3(SYS_open, path, 0x241 /* O_WRONLY|O_CREAT|O_TRUNC */, 0644);
	for (int i = 0; i < 2; i++) {
		p = append_hex(line, (unsigned long)(code + i * SLOT));
		p = append(p, " ");
		p = append_hex(p, sizeof(spin_code));
		p = append(p, " ");
		p = append(p, lines[i]);
		p = append(p, "\n");
		SYS3(SYS_write, fd, line, p - line);
	}
	SYS1(SYS_close, fd);
}

/* jitdump: see tools/perf/Documentation/jitdump-specification.txt of the kernel */
struct jit_header {
	uint32_t magic, version, total_size, elf_mach, pad1, pid;
	uint64_t timestamp, flags;
};

struct jit_load {
	uint32_t id, total_size;
	uint64_t timestamp;
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
};

static long dump_fd;

static void dump_open(void)
{
	struct jit_header header = { 0x4A695444,
				     1,
				     sizeof(header),
				     62 /* EM_X86_64 */,
				     0,
				     (uint32_t)pid_of_self(),
				     (uint64_t)tiny_now_ns(),
				     0 };
	char path[64], *p;

	p = append(path, "jit-");
	p = tiny_format(p, (unsigned long)pid_of_self());
	append(p, ".dump");
	dump_fd = SYS3(SYS_open, path, 0x242 /* O_RDWR|O_CREAT|O_TRUNC */, 0644);
	SYS3(SYS_write, dump_fd, &header, sizeof(header));
	/* the mark that perf looks for: an executable map of the dump */
	SYS6(SYS_mmap, 0, 4096, 5 /* PROT_READ|PROT_EXEC */, 2 /* MAP_PRIVATE */, dump_fd, 0);
}

static void dump_load(const char *name, uint8_t *address, uint64_t index)
{
	struct jit_load load = { 0 };
	uint8_t buffer[256];
	size_t name_size = tiny_strlen(name) + 1;

	load.total_size = (uint32_t)(sizeof(load) + name_size + sizeof(spin_code));
	load.timestamp = (uint64_t)tiny_now_ns();
	load.pid = load.tid = (uint32_t)pid_of_self();
	load.vma = load.code_addr = (uint64_t)(uintptr_t)address;
	load.code_size = sizeof(spin_code);
	load.code_index = index;
	copy(buffer, &load, sizeof(load));
	copy(buffer + sizeof(load), name, name_size);
	copy(buffer + sizeof(load) + name_size, spin_code, sizeof(spin_code));
	SYS3(SYS_write, dump_fd, buffer, load.total_size);
}

int tiny_main(int argc, char **argv)
{
	long ms = argc > 2 ? tiny_number(argv[2]) : 20;
	char how = argc > 1 ? argv[1][0] : 'm';

	/* PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS */
	code = (uint8_t *)SYS6(SYS_mmap, 0, 8192, 7, 0x22, -1, 0);
	copy(code, spin_code, sizeof(spin_code));
	copy(code + SLOT, spin_code, sizeof(spin_code));
	if (how == 'm')
		write_map();
	if (how == 'd') {
		dump_open();
		dump_load("jitted first", code, 0);
		dump_load("jitted::second(int)", code + SLOT, 1);
	}
	call_for_ms(code, ms);
	call_for_ms(code + SLOT, ms);
	if (how == 'd') {
		dump_load("jitted third", code, 2);
		call_for_ms(code, ms);
	}
	return 0;
}
