/*
 * bpfload.c - loads and unloads small BPF programs by the bpf system call: `bpfload N`. Each is two
 * instructions and has a name, so that a recording holds KSYMBOL and BPF_EVENT records.
 */
#include "tiny.h"

#include <linux/bpf.h>

int tiny_main(int argc, char **argv)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	long n = argc > 1 ? tiny_number(argv[1]) : 3;

	for (long i = 0; i < n; i++) {
		union bpf_attr attr = { 0 };
		long fd;

		attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
		attr.insn_cnt = sizeof(code) / sizeof(code[0]);
		attr.insns = (uint64_t)(uintptr_t)code;
		attr.license = (uint64_t)(uintptr_t) "GPL";
		attr.prog_name[0] = 't';
		attr.prog_name[1] = '_';
		tiny_format(attr.prog_name + 2, (unsigned long)i);
		fd = SYS3(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
		if (fd < 0)
			return 1;
		tiny_sleep_us(2000);
		SYS1(SYS_close, fd);
		tiny_sleep_us(2000);
	}
	return 0;
}
