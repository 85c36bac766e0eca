/*
 * explain_names.c - the words for states and causes of parts of a step. Declared in explain_parts.h.
 */
#include "explain_parts.h"

const char *tl_part_state_name(enum tl_part_state state)
{
	static const char *const names[TL_PART_STATE_COUNT] = {
		"running", "runnable", "sleeping", "uninterruptible", "off", "wall", "unknown"
	};

	return names[state];
}

static const struct {
	const char *name, *words;
} causes[TL_CAUSE_COUNT] = {
	[TL_CAUSE_USER_CODE] = { "user_code", "the program's own code" },
	[TL_CAUSE_LAUNCH_GAP] = { "launch_gap", "launch gap: between the profiler's spans" },
	[TL_CAUSE_OUTSIDE] = { "outside_operators",
			       "the program's own code, outside of operators" },
	[TL_CAUSE_OPERATOR] = { "operator", "operators of the profiler" },
	[TL_CAUSE_SYSCALL] = { "syscall", "system calls" },
	[TL_CAUSE_MEMORY_CALL] = { "memory_call", "mapping memory and giving it back" },
	[TL_CAUSE_PAGE_FAULT] = { "page_fault", "page faults" },
	[TL_CAUSE_HUGE_FAULT] = { "huge_page_fault", "page faults that make huge pages" },
	[TL_CAUSE_HUGE_PAGE] = { "huge_page", "splitting and joining huge pages" },
	[TL_CAUSE_COMPACTION] = { "compaction", "direct compaction" },
	[TL_CAUSE_RECLAIM] = { "direct_reclaim", "direct reclaim: memory is short" },
	[TL_CAUSE_MMAP_LOCK] = { "mmap_lock", "waiting for mmap_lock" },
	[TL_CAUSE_KERNEL_LOCK] = { "kernel_lock", "waiting for other locks of the kernel" },
	[TL_CAUSE_FUTEX] = { "futex", "waiting for locks of the program (futex)" },
	[TL_CAUSE_MIGRATION] = { "page_migration", "waiting for pages that are being moved" },
	[TL_CAUSE_WRITEBACK] = { "writeback", "being throttled: too many dirty pages" },
	[TL_CAUSE_STORAGE] = { "storage", "waiting for storage" },
	[TL_CAUSE_PIPE] = { "pipe", "waiting for pipes" },
	[TL_CAUSE_SOCKET] = { "socket", "waiting for sockets" },
	[TL_CAUSE_POLL] = { "poll", "waiting for events (poll)" },
	[TL_CAUSE_TIMER] = { "timer", "sleeping for a time it asked for" },
	[TL_CAUSE_CHILD] = { "child", "waiting for a child" },
	[TL_CAUSE_COMPLETION] = { "completion", "waiting for work of the kernel" },
	[TL_CAUSE_INTERRUPT] = { "interrupt", "interrupts" },
	[TL_CAUSE_KERNEL] = { "kernel", "the kernel, elsewhere" },
	[TL_CAUSE_CPU_KHUGEPAGED] = { "cpu_khugepaged", "waiting for its CPU behind khugepaged" },
	[TL_CAUSE_CPU_KCOMPACTD] = { "cpu_kcompactd", "waiting for its CPU behind kcompactd" },
	[TL_CAUSE_CPU_KSWAPD] = { "cpu_kswapd", "waiting for its CPU behind kswapd" },
	[TL_CAUSE_CPU_OWN] = { "cpu_own", "waiting for its CPU behind threads of its own process" },
	[TL_CAUSE_CPU_FAMILY] = { "cpu_family",
				  "waiting for its CPU behind processes of the same job" },
	[TL_CAUSE_CPU_KERNEL] = { "cpu_kernel", "waiting for its CPU behind kernel threads" },
	[TL_CAUSE_CPU_OTHER] = { "cpu_other", "waiting for its CPU behind other processes" },
	[TL_CAUSE_CPU_UNSEEN] = { "cpu_unseen", "waiting for its CPU, nobody was seen on it" },
	[TL_CAUSE_STOPPED] = { "stopped", "stopped, traced or parked" },
	[TL_CAUSE_RUNNING] = { "running", "running: where was not sampled" },
	[TL_CAUSE_WAITING] = { "waiting", "off the CPU: what for was not recorded" },
	[TL_CAUSE_UNKNOWN] = { "unknown", "not recorded" },
};

const char *tl_part_cause_name(enum tl_part_cause cause)
{
	return causes[cause].name;
}

const char *tl_part_cause_words(enum tl_part_cause cause)
{
	return causes[cause].words;
}
