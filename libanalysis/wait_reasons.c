/*
 * wait_reasons.c - names of kernel functions, what they mean, and how meanings add up along a chain.
 *
 * Knows no database. A semaphore does not say what it protects; the functions that take it do: so the
 * lock that a semaphore would be is carried along the chain and named when a thread waits for one.
 */
#include "wait_reasons.h"

#include <string.h>

enum meaning {
	MEANS_NOTHING,
	/* where the thread came in */
	ENTERS_SYSCALL,
	ENTERS_MEMORY_SYSCALL, /* one that takes the mmap_lock */
	ENTERS_FAULT,
	ENTERS_INTERRUPT,
	/* which lock a semaphore below it is */
	USES_MMAP_LOCK,
	USES_RMAP_LOCK,
	USES_OTHER_LOCK,
	/* taking one: nothing yet, unless it goes on to wait */
	TAKES_MMAP_LOCK,
	TAKES_VMA_LOCK,
	TAKES_RWSEM,
	TAKES_MUTEX,
	/* waiting for what is being taken */
	WAITS_FOR_RWSEM,
	SPINS_FOR_RWSEM,
	SPINS_FOR_MUTEX,
	SPINS_FOR_EITHER,
	SPINS_FOR_SPINLOCK,
	LEAVES_CPU
};

/* A function may mean one of each: bits 0-7 a meaning, 8-15 a reason, 16-23 work; and whom it is for. */
#define WAIT(reason) ((unsigned)TL_WAIT_##reason << 8)
#define WORK(work)   ((unsigned)TL_MEMORY_##work << 16)
#define FOR_HUGETLB  (1u << 24)
#define FOR_MEMCG    (1u << 25)

struct group {
	unsigned meaning;
	const char *names; /* separated by blanks */
};

static const struct group groups[] = {
	{ ENTERS_SYSCALL, "do_syscall_64 do_syscall_x64 x64_sys_call el0_svc_common do_el0_svc "
			  "invoke_syscall do_int80_syscall_32 do_fast_syscall_32 "
			  "system_call_fastpath entry_SYSCALL_64_after_hwframe" },
	{ ENTERS_FAULT, "asm_exc_page_fault exc_page_fault do_user_addr_fault do_page_fault "
			"__do_page_fault page_fault async_page_fault handle_mm_fault "
			"do_translation_fault do_mem_abort el0_da el0_ia" },
	{ ENTERS_INTERRUPT,
	  "asm_sysvec_apic_timer_interrupt asm_common_interrupt asm_sysvec_reschedule_ipi "
	  "asm_sysvec_call_function asm_sysvec_call_function_single asm_sysvec_irq_work "
	  "apic_timer_interrupt smp_apic_timer_interrupt do_IRQ common_interrupt "
	  "el1_interrupt el0_interrupt el1_irq el0_irq gic_handle_irq call_on_irq_stack" },

	/* mm/: everything that takes mm->mmap_lock (mmap_sem before 5.8) */
	{ USES_MMAP_LOCK,
	  "vm_mmap_pgoff ksys_mmap_pgoff vm_brk_flags __vm_munmap vm_munmap do_madvise "
	  "madvise_lock madvise_do_behavior do_mprotect_pkey do_mlock do_munlock "
	  "lock_mm_and_find_vma find_extend_vma_locked dup_mm dup_mmap exit_mmap exit_mm "
	  "__mmput mmput mm_populate __mm_populate populate_vma_page_range "
	  "get_user_pages get_user_pages_fast get_user_pages_unlocked __get_user_pages_locked "
	  "__gup_longterm_locked pin_user_pages pin_user_pages_fast pin_user_pages_unlocked "
	  "internal_get_user_pages_fast gup_fast_fallback get_user_pages_remote "
	  "pin_user_pages_remote access_remote_vm __access_remote_vm process_vm_rw_core "
	  "do_move_pages do_pages_move do_pages_stat kernel_mbind do_mbind kernel_migrate_pages "
	  "do_migrate_pages task_numa_work do_shmat ksys_shmdt userfaultfd_register "
	  "m_start show_smap show_smaps_rollup show_map pagemap_read clear_refs_write "
	  "proc_pid_cmdline_read khugepaged_scan_mm_slot collapse_huge_page madvise_collapse "
	  "khugepaged_do_scan hpage_collapse_scan_pmd khugepaged_scan_pmd __khugepaged_exit "
	  "ksm_scan_thread unmerge_ksm_pages" },
	{ USES_RMAP_LOCK,
	  "unlink_anon_vmas anon_vma_clone anon_vma_fork __anon_vma_prepare vma_prepare "
	  "__vma_adjust __split_vma vma_complete unlink_file_vma unlink_file_vma_batch_process "
	  "unlink_file_vma_batch_final vma_link vma_link_file rmap_walk rmap_walk_anon "
	  "rmap_walk_file rmap_walk_locked __rmap_walk_file folio_lock_anon_vma_read "
	  "page_lock_anon_vma_read try_to_unmap try_to_migrate page_referenced folio_referenced "
	  "move_page_tables take_rmap_locks zap_page_range_single" },
	{ USES_OTHER_LOCK,
	  "vfs_read vfs_write vfs_writev vfs_iter_write vfs_fsync_range vfs_fallocate vfs_statx "
	  "filemap_fault filemap_read generic_file_write_iter __generic_file_write_iter "
	  "do_sys_openat2 path_openat lookup_slow iterate_dir do_unlinkat do_renameat2 "
	  "cgroup_attach_task cgroup_procs_write exec_mmap "
	  "iterate_supers sync_inodes_sb writeback_sb_inodes copy_creds "
	  "uprobe_mmap perf_event_open unregister_shrinker shrink_slab" },

	{ TAKES_MMAP_LOCK, "mmap_read_lock mmap_read_lock_killable mmap_write_lock "
			   "mmap_write_lock_killable mmap_write_lock_nested " },
	{ TAKES_VMA_LOCK, "__vma_start_write vma_start_write __vma_enter_locked vma_mark_detached "
			  "vma_mark_detached_with_retry" },
	{ TAKES_RWSEM, "down_read down_read_killable down_read_interruptible down_read_nested "
		       "down_write down_write_killable down_write_nested __down_read_common "
		       "__down_write_common __down_read __down_write "
		       "call_rwsem_down_read_failed call_rwsem_down_write_failed" },
	{ TAKES_MUTEX, "mutex_lock mutex_lock_killable mutex_lock_interruptible mutex_lock_io "
		       "mutex_lock_nested __mutex_lock __mutex_lock_slowpath ww_mutex_lock "
		       "__mutex_lock_killable_slowpath __mutex_lock_interruptible_slowpath "
		       "__ww_mutex_lock_slowpath __mutex_lock_common" },
	{ WAITS_FOR_RWSEM,
	  "rwsem_down_read_slowpath rwsem_down_write_slowpath __rwsem_down_read_failed "
	  "__rwsem_down_write_failed rwsem_down_read_failed rwsem_down_write_failed "
	  "rwsem_down_read_failed_killable rwsem_down_write_failed_killable "
	  "rwsem_down_read_failed_interruptible __rwsem_down_read_failed_common "
	  "__rwsem_down_write_failed_common" },
	{ SPINS_FOR_RWSEM, "rwsem_spin_on_owner rwsem_optimistic_spin" },
	{ SPINS_FOR_MUTEX, "mutex_spin_on_owner mutex_optimistic_spin" },
	{ SPINS_FOR_EITHER, "osq_lock" },
	{ SPINS_FOR_SPINLOCK,
	  "native_queued_spin_lock_slowpath queued_spin_lock_slowpath "
	  "__pv_queued_spin_lock_slowpath __raw_callee_save___pv_queued_spin_lock_slowpath "
	  "queued_read_lock_slowpath queued_write_lock_slowpath pv_wait kvm_wait "
	  "" },
	{ LEAVES_CPU,
	  "__schedule schedule schedule_preempt_disabled schedule_timeout schedule_rtlock" },

	{ WAIT(MUTEX), "rt_mutex_slowlock __rt_mutex_slowlock rt_mutex_slowlock_block "
		       "__down __down_common down_killable" },
	{ WAIT(RWSEM), "percpu_rwsem_wait percpu_down_write __percpu_down_read" },
	{ WAIT(FUTEX), "do_futex futex_wait __futex_wait futex_wait_queue futex_wait_queue_me "
		       "futex_do_wait futex_lock_pi futex_wait_requeue_pi futex_wait_multiple "
		       "futex_wait_multiple_setup futex_unqueue_multiple" },
	{ WAIT(MIGRATION), "migration_entry_wait migration_entry_wait_on_locked "
			   "__migration_entry_wait pmd_migration_entry_wait "
			   "migration_entry_wait_huge put_and_wait_on_page_locked "
			   "folio_put_wait_locked softleaf_entry_wait_on_locked" },
	{ WAIT(RECLAIM), "throttle_direct_reclaim reclaim_throttle congestion_wait "
			 "wait_iff_congested mem_cgroup_handle_over_high "
			 "__mem_cgroup_handle_over_high try_to_free_mem_cgroup_pages" },
	{ WAIT(DIRTY), "balance_dirty_pages balance_dirty_pages_ratelimited "
		       "balance_dirty_pages_ratelimited_flags wbt_wait __wbt_wait rq_qos_wait" },
	{ WAIT(COMMIT), "jbd2_log_wait_commit jbd2_complete_transaction ext4_sync_file "
			"xfs_log_force xfs_log_force_lsn xfs_log_force_seq xfs_file_fsync "
			"xlog_wait xlog_wait_on_iclog btrfs_sync_log btrfs_sync_file "
			"f2fs_sync_file file_write_and_wait_range filemap_write_and_wait_range "
			"__filemap_fdatawait_range file_fdatawait_range filemap_fdatawait_range "
			"do_fsync vfs_fsync vfs_fsync_range ksys_sync sync_filesystem "
			"wait_transaction_locked wait_current_trans start_this_handle" },
	{ WAIT(IO), "io_schedule io_schedule_timeout bit_wait_io folio_wait_bit_common "
		    "wait_on_page_bit_common __wait_on_page_bit folio_wait_bit "
		    "folio_wait_bit_killable folio_wait_writeback wait_on_page_writeback "
		    "__folio_lock __folio_lock_killable __folio_lock_or_retry __lock_page "
		    "__lock_page_killable __lock_page_or_retry wait_on_page_bit "
		    "wait_on_page_bit_killable submit_bio_wait blk_mq_get_tag __wait_on_buffer "
		    "blkdev_issue_flush read_events do_io_getevents io_cqring_wait" },
	{ WAIT(POLL), "ep_poll do_epoll_wait do_epoll_pwait do_select do_poll do_sys_poll "
		      "core_sys_select poll_schedule_timeout eventfd_read" },
	{ WAIT(PIPE), "pipe_read pipe_write pipe_wait anon_pipe_read anon_pipe_write "
		      "pipe_wait_readable pipe_wait_writable fifo_open n_tty_read" },
	{ WAIT(SOCKET), "sk_wait_data sk_stream_wait_memory unix_stream_read_generic "
			"unix_stream_data_wait tcp_recvmsg tcp_recvmsg_locked inet_csk_accept "
			"inet_csk_wait_for_connect __skb_wait_for_more_packets "
			"sock_alloc_send_pskb unix_wait_for_peer netlink_recvmsg" },
	{ WAIT(TIMER), "hrtimer_nanosleep do_nanosleep common_nsleep msleep "
		       "msleep_interruptible usleep_range_state usleep_range do_sigtimedwait" },
	{ WAIT(CHILD), "do_wait kernel_wait4 kernel_waitid wait_for_vfork_done "
		       "zap_pid_ns_processes do_coredump" },
	{ WAIT(COMPLETION),
	  "wait_for_completion wait_for_completion_killable wait_for_completion_state "
	  "wait_for_completion_timeout wait_for_completion_interruptible __wait_for_common "
	  "synchronize_rcu synchronize_rcu_expedited __wait_rcu_gp __flush_work flush_work "
	  "__flush_workqueue synchronize_srcu lru_add_drain_all __lru_add_drain_all "
	  "smp_call_function_many_cond smp_call_function_single stop_one_cpu stop_machine "
	  "__wait_on_bit out_of_line_wait_on_bit" },
	{ WAIT(STOPPED), "do_signal_stop ptrace_stop ptrace_notify do_freezer_trap "
			 "__refrigerator do_jobctl_trap" },

	{ WORK(UNMAP), "unmap_vmas unmap_region unmap_page_range zap_page_range "
		       "zap_page_range_single zap_page_range_single_batched zap_huge_pmd "
		       "exit_mmap tlb_finish_mmu tlb_flush_mmu "
		       "madvise_dontneed_free madvise_dontneed_free_valid_vma "
		       "madvise_dontneed_single_vma madvise_free_single_vma "
		       "do_munmap __do_munmap do_vmi_munmap do_vmi_align_munmap "
		       "vms_complete_munmap_vmas free_pgtables release_pages" },
	{ WORK(HUGE_FAULT),
	  "do_huge_pmd_anonymous_page __do_huge_pmd_anonymous_page do_huge_pmd_wp_page "
	  "vma_alloc_anon_folio_pmd clear_huge_page folio_zero_user copy_user_huge_page "
	  "copy_user_large_folio create_huge_pmd" },
	{ WORK(HUGE_SPLIT),
	  "__split_huge_pmd __split_huge_pmd_address "
	  "split_huge_page_to_list split_huge_page_to_list_to_order "
	  "__split_huge_page deferred_split_scan __folio_split folio_split __split_unmapped_folio "
	  "" },
	{ WORK(HUGE_COLLAPSE),
	  "collapse_huge_page hpage_collapse_scan_pmd khugepaged_scan_pmd madvise_collapse "
	  "collapse_pte_mapped_thp collapse_file hpage_collapse_scan_file khugepaged_scan_file "
	  "khugepaged_scan_mm_slot __collapse_huge_page_copy" },
	{ WORK(MIGRATION), "migrate_pages migrate_pages_batch migrate_misplaced_page "
			   "migrate_misplaced_folio move_pages_and_store_status" },
	{ WORK(RECLAIM), "__alloc_pages_direct_reclaim __perform_reclaim try_to_free_pages "
			 "do_try_to_free_pages shrink_node shrink_zones shrink_lruvec "
			 "shrink_node_memcgs shrink_inactive_list shrink_folio_list "
			 "shrink_page_list node_reclaim __node_reclaim zone_reclaim "
			 "try_to_free_mem_cgroup_pages shrink_slab do_shrink_slab balance_pgdat "
			 "" },
	{ FOR_MEMCG, "try_to_free_mem_cgroup_pages mem_cgroup_handle_over_high "
		     "__mem_cgroup_handle_over_high" },
	/* names without "hugetlb" in them: before 6.1 chiefly */
	{ FOR_HUGETLB, "alloc_huge_page alloc_buddy_huge_page __alloc_buddy_huge_page "
		       "alloc_fresh_huge_page alloc_surplus_huge_page alloc_pool_huge_page "
		       "alloc_pool_huge_folio alloc_migrate_huge_page gather_surplus_pages "
		       "dequeue_huge_page_vma" },
	{ WORK(COMPACTION),
	  "__alloc_pages_direct_compact try_to_compact_pages compact_zone "
	  "compact_zone_order isolate_migratepages_block isolate_migratepages "
	  "__compact_zone isolate_freepages_block isolate_freepages compaction_alloc "
	  "kcompactd_do_work proactive_compact_node compact_node "
	  "compact_nodes kcompactd" },
};

/* Whatever a file system does below here, its semaphores are not those of memory. */
static const char *const other_prefixes[] = { "ext4_",	"xfs_",	 "btrfs_", "f2fs_", "nfs_",
					      "nfs4_",	"fuse_", "ovl_",   "jbd2_", "ceph_",
					      "nilfs_", "gfs2_", "cifs_",  "smb2_" };

static const char *const syscall_prefixes[] = { "__x64_sys_",	"__ia32_sys_", "__arm64_sys_",
						"__riscv_sys_", "__se_sys_",   "__do_sys_",
						"__sys_",	"ksys_",       "SyS_",
						"sys_" };
/* System calls that take the mmap_lock themselves; clone and fork copy the address space. */
static const char memory_syscalls[] =
	"mmap mmap_pgoff munmap brk mremap madvise process_madvise mprotect pkey_mprotect mlock "
	"mlock2 munlock mlockall munlockall msync mincore remap_file_pages mbind migrate_pages "
	"move_pages set_mempolicy shmat shmdt process_mrelease process_vm_readv "
	"process_vm_writev map_shadow_stack mseal";

static const char *const reason_names[TL_WAIT_REASON_COUNT] = {
	[TL_WAIT_UNKNOWN] = "unknown",
	[TL_WAIT_MMAP_LOCK] = "mmap_lock",
	[TL_WAIT_VMA_LOCK] = "vma lock",
	[TL_WAIT_RMAP_LOCK] = "rmap lock",
	[TL_WAIT_RWSEM] = "semaphore",
	[TL_WAIT_MUTEX] = "mutex",
	[TL_WAIT_SPINLOCK] = "spinlock",
	[TL_WAIT_FUTEX] = "futex",
	[TL_WAIT_MIGRATION] = "page migration",
	[TL_WAIT_COMPACTION] = "compaction",
	[TL_WAIT_RECLAIM] = "reclaim",
	[TL_WAIT_DIRTY] = "writeback throttling",
	[TL_WAIT_COMMIT] = "fsync",
	[TL_WAIT_IO] = "input/output",
	[TL_WAIT_POLL] = "poll",
	[TL_WAIT_PIPE] = "pipe",
	[TL_WAIT_SOCKET] = "socket",
	[TL_WAIT_TIMER] = "timer",
	[TL_WAIT_CHILD] = "child",
	[TL_WAIT_COMPLETION] = "completion",
	[TL_WAIT_STOPPED] = "stopped",
};

static const char *const work_names[TL_MEMORY_WORK_COUNT] = {
	[TL_MEMORY_NONE] = "none",
	[TL_MEMORY_UNMAP] = "unmapping",
	[TL_MEMORY_FAULT] = "page fault",
	[TL_MEMORY_HUGE_FAULT] = "huge page fault",
	[TL_MEMORY_HUGE_SPLIT] = "huge page split",
	[TL_MEMORY_HUGE_COLLAPSE] = "huge page collapse",
	[TL_MEMORY_MIGRATION] = "page migration",
	[TL_MEMORY_RECLAIM] = "reclaim",
	[TL_MEMORY_COMPACTION] = "compaction",
};

const char *tl_wait_reason_name(enum tl_wait_reason reason)
{
	return reason_names[reason];
}

const char *tl_memory_work_name(enum tl_memory_work work)
{
	return work_names[work];
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Index values: the offset of the word in its group's names, and the group. */
#define GROUP_BITS 6

static int add_group(struct tl_wait_names *names, size_t group, struct tl_error *err)
{
	const char *words = groups[group].names;
	int ret = TL_OK;

	for (const char *word = words; *word && ret == TL_OK;) {
		size_t length = strcspn(word, " ");
		uint32_t value = (uint32_t)(word - words) << GROUP_BITS | (uint32_t)group;

		ret = tl_index_add(&names->index, tl_hash(word, length, 0), value, err);
		word += length + strspn(word + length, " ");
	}
	return ret;
}

int tl_wait_names_init(struct tl_wait_names *names, struct tl_error *err)
{
	int ret = TL_OK;

	_Static_assert(sizeof(groups) / sizeof(*groups) <= 1u << GROUP_BITS, "more bits");
	*names = (struct tl_wait_names) { 0 };
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups) && ret == TL_OK; i++)
		ret = add_group(names, i, err);
	if (ret < 0)
		tl_wait_names_release(names);
	return ret;
}

void tl_wait_names_release(struct tl_wait_names *names)
{
	tl_index_release(&names->index);
}

static bool is_word(const char *word, const char *name, size_t length)
{
	return !strncmp(word, name, length) && (word[length] == ' ' || !word[length]);
}

static bool is_among(const char *words, const char *name, size_t length)
{
	for (const char *word = words; *word;) {
		if (is_word(word, name, length))
			return true;
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	return false;
}

/* The length without what a compiler adds: everything from the first dot that is not in front. */
static size_t plain_length(const char *name, size_t length)
{
	const char *dot = length ? memchr(name + 1, '.', length - 1) : NULL;

	return dot ? (size_t)(dot - name) : length;
}

static bool has_prefix(const char *name, size_t length, const char *prefix, size_t *rest)
{
	size_t n = strlen(prefix);

	*rest = length - n;
	return length > n && !memcmp(name, prefix, n);
}

static unsigned by_prefix(const char *name, size_t length)
{
	size_t rest;

	for (size_t i = 0; i < sizeof(syscall_prefixes) / sizeof(*syscall_prefixes); i++) {
		if (!has_prefix(name, length, syscall_prefixes[i], &rest))
			continue;
		return is_among(memory_syscalls, name + length - rest, rest) ? ENTERS_MEMORY_SYSCALL
									     : ENTERS_SYSCALL;
	}
	for (size_t i = 0; i < sizeof(other_prefixes) / sizeof(*other_prefixes); i++) {
		if (has_prefix(name, length, other_prefixes[i], &rest))
			return USES_OTHER_LOCK;
	}
	return MEANS_NOTHING;
}

/* hugetlb_fault, alloc_hugetlb_folio, __hugetlb_zap_begin, hugetlbfs_fallocate, ... */
static bool is_of_hugetlb(const char *name, size_t length)
{
	static const char word[] = "hugetlb";
	const size_t n = sizeof(word) - 1;

	for (size_t i = 0; i + n <= length; i++) {
		if (!memcmp(name + i, word, n))
			return true;
	}
	return false;
}

unsigned tl_wait_function(const struct tl_wait_names *names, const char *name, size_t length)
{
	unsigned meanings = 0;
	size_t probe = 0;
	int64_t found;
	uint64_t hash;

	length = plain_length(name, length);
	hash = tl_hash(name, length, 0);
	while ((found = tl_index_find(&names->index, hash, &probe)) >= 0) {
		const struct group *g = &groups[found & ((1u << GROUP_BITS) - 1)];

		if (is_word(g->names + (found >> GROUP_BITS), name, length))
			meanings |= g->meaning;
	}
	if (!meanings)
		meanings = by_prefix(name, length);
	return meanings | (is_of_hugetlb(name, length) ? FOR_HUGETLB : 0);
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Reasons that say more than what is waited for inside of them. */
static bool is_telling(uint8_t reason)
{
	return reason == TL_WAIT_MIGRATION || reason == TL_WAIT_COMPACTION ||
	       reason == TL_WAIT_RECLAIM || reason == TL_WAIT_DIRTY || reason == TL_WAIT_COMMIT ||
	       reason == TL_WAIT_MMAP_LOCK || reason == TL_WAIT_VMA_LOCK ||
	       reason == TL_WAIT_RMAP_LOCK || reason == TL_WAIT_FUTEX;
}

static void set_reason(struct tl_chain_traits *t, uint8_t reason)
{
	if (is_telling(t->reason) && !is_telling(reason))
		return;
	t->reason = reason;
	t->is_spinning = false;
}

static void set_work(struct tl_chain_traits *t, uint8_t work)
{
	t->is_huge |= work == TL_MEMORY_HUGE_FAULT;
	if (work <= t->work)
		return;
	t->work = work;
	if (work == TL_MEMORY_COMPACTION)
		set_reason(t, TL_WAIT_COMPACTION);
	if (work == TL_MEMORY_RECLAIM)
		set_reason(t, TL_WAIT_RECLAIM);
}

/* The semaphore being taken is that of the last function that uses one. */
static uint8_t semaphore(const struct tl_chain_traits *t)
{
	return t->lock ? t->lock : TL_WAIT_RWSEM;
}

static void spin(struct tl_chain_traits *t, uint8_t lock)
{
	set_reason(t, lock);
	t->is_spinning = t->reason == lock;
}

static void leave_cpu(struct tl_chain_traits *t)
{
	if (t->acquire)
		set_reason(t, t->acquire);
	t->is_spinning = false;
}

static void enter(struct tl_chain_traits *t, bool is_syscall, uint8_t lock)
{
	t->is_syscall |= is_syscall;
	t->is_fault |= !is_syscall;
	t->lock = lock;
	if (!is_syscall)
		set_work(t, TL_MEMORY_FAULT);
}

static void apply(struct tl_chain_traits *t, enum meaning meaning)
{
	switch (meaning) {
	case MEANS_NOTHING:
		break;
	case ENTERS_SYSCALL:
		enter(t, true, TL_WAIT_RWSEM);
		break;
	case ENTERS_MEMORY_SYSCALL:
		enter(t, true, TL_WAIT_MMAP_LOCK);
		break;
	case ENTERS_FAULT:
		enter(t, false, TL_WAIT_MMAP_LOCK);
		break;
	case ENTERS_INTERRUPT:
		t->is_interrupt = true;
		break;
	case USES_MMAP_LOCK:
		t->lock = TL_WAIT_MMAP_LOCK;
		break;
	case USES_RMAP_LOCK:
		t->lock = TL_WAIT_RMAP_LOCK;
		break;
	case USES_OTHER_LOCK:
		t->lock = TL_WAIT_RWSEM;
		break;
	case TAKES_MMAP_LOCK:
		t->lock = t->acquire = TL_WAIT_MMAP_LOCK;
		break;
	case TAKES_VMA_LOCK:
		t->lock = t->acquire = TL_WAIT_VMA_LOCK;
		break;
	case TAKES_RWSEM:
		t->acquire = semaphore(t);
		break;
	case TAKES_MUTEX:
		t->acquire = TL_WAIT_MUTEX;
		break;
	case WAITS_FOR_RWSEM:
	case SPINS_FOR_RWSEM:
		t->acquire = semaphore(t);
		spin(t, t->acquire);
		break;
	case SPINS_FOR_MUTEX:
		spin(t, TL_WAIT_MUTEX);
		break;
	case SPINS_FOR_EITHER:
		spin(t, t->acquire ? t->acquire : TL_WAIT_MUTEX);
		break;
	case SPINS_FOR_SPINLOCK:
		if (!t->reason)
			spin(t, TL_WAIT_SPINLOCK);
		break;
	case LEAVES_CPU:
		leave_cpu(t);
		break;
	}
}

void tl_chain_step(struct tl_chain_traits *t, unsigned function)
{
	uint8_t reason = function >> 8 & 0xff, work = function >> 16 & 0xff;

	apply(t, (enum meaning)(function & 0xff));
	t->is_hugetlb |= (function & FOR_HUGETLB) != 0;
	t->is_memcg |= (function & FOR_MEMCG) != 0;
	if (reason)
		set_reason(t, reason);
	if (work)
		set_work(t, work);
}
