/*
 * wait_reasons_test.c - call chains as kernels record them, and what a reader of them would say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wait_reasons.h"

static struct tl_wait_names names;

static int setup(void **state)
{
	(void)state;
	return tl_wait_names_init(&names, NULL);
}

static int teardown(void **state)
{
	(void)state;
	tl_wait_names_release(&names);
	return 0;
}

/* The chain as perf report prints it folded: outermost first, separated by semicolons. */
static struct tl_chain_traits judge(const char *chain)
{
	struct tl_chain_traits t = { 0 };

	while (*chain) {
		size_t length = strcspn(chain, ";");

		tl_chain_step(&t, tl_wait_function(&names, chain, length));
		chain += length + (chain[length] == ';');
	}
	return t;
}

static void expect_reason(const char *chain, enum tl_wait_reason reason, bool is_spinning)
{
	struct tl_chain_traits t = judge(chain);

	assert_string_equal(tl_wait_reason_name(t.reason), tl_wait_reason_name(reason));
	assert_int_equal(t.is_spinning, is_spinning);
}

static void expect_work(const char *chain, enum tl_memory_work work)
{
	struct tl_chain_traits t = judge(chain);

	assert_string_equal(tl_memory_work_name(t.work), tl_memory_work_name(work));
}

#define SYSCALL "entry_SYSCALL_64_after_hwframe;do_syscall_64;"
#define FAULT	"asm_exc_page_fault;exc_page_fault;do_user_addr_fault;"

static void a_writer_that_spins_below_mmap_waits_for_the_mmap_lock(void **state)
{
	(void)state;
	expect_reason(SYSCALL "vm_mmap_pgoff;down_write_killable;rwsem_down_write_slowpath;"
			      "rwsem_spin_on_owner",
		      TL_WAIT_MMAP_LOCK, true);
	expect_reason(SYSCALL "__x64_sys_munmap;__vm_munmap;down_write_killable;"
			      "rwsem_down_write_slowpath;osq_lock",
		      TL_WAIT_MMAP_LOCK, true);
}

static void a_writer_that_sleeps_below_munmap_waits_for_the_mmap_lock(void **state)
{
	(void)state;
	expect_reason(SYSCALL "__x64_sys_munmap;__vm_munmap;down_write_killable;"
			      "rwsem_down_write_slowpath;schedule_preempt_disabled;schedule;"
			      "__schedule",
		      TL_WAIT_MMAP_LOCK, false);
}

static void a_reader_below_a_page_fault_waits_for_the_mmap_lock(void **state)
{
	(void)state;
	expect_reason(FAULT "lock_mm_and_find_vma;down_read_killable;rwsem_down_read_slowpath;"
			    "schedule_preempt_disabled;schedule;__schedule",
		      TL_WAIT_MMAP_LOCK, false);
}

static void huge_pages_of_hugetlbfs_are_told_from_transparent_ones(void **state)
{
	struct tl_chain_traits t;

	(void)state;
	t = judge(FAULT "handle_mm_fault;hugetlb_fault;hugetlb_no_page;folio_zero_user");
	assert_true(t.is_hugetlb);
	t = judge(FAULT "handle_mm_fault;hugetlb_no_page;alloc_huge_page;alloc_fresh_huge_page;"
			"__alloc_pages;__alloc_pages_direct_compact;compact_zone");
	assert_true(t.is_hugetlb);
	assert_int_equal(t.work, TL_MEMORY_COMPACTION);
	t = judge(FAULT "handle_mm_fault;__handle_mm_fault;do_huge_pmd_anonymous_page;"
			"folio_zero_user");
	assert_false(t.is_hugetlb);
	assert_true(t.is_huge);
}

static void reclaim_for_a_control_group_is_told_from_that_of_the_machine(void **state)
{
	(void)state;
	assert_true(judge(FAULT "handle_mm_fault;try_charge_memcg;try_to_free_mem_cgroup_pages;"
				"shrink_node")
			    .is_memcg);
	assert_false(judge(FAULT "handle_mm_fault;__alloc_pages;__alloc_pages_direct_reclaim;"
				 "shrink_node")
			     .is_memcg);
}

static void a_fault_inside_a_system_call_is_a_fault(void **state)
{
	struct tl_chain_traits t;

	(void)state;
	t = judge(SYSCALL "__x64_sys_read;vfs_read;filemap_read;_copy_to_user;" FAULT
			  "lock_mm_and_find_vma;down_read;rwsem_down_read_slowpath;schedule");
	assert_true(t.is_syscall && t.is_fault);
	assert_int_equal(t.reason, TL_WAIT_MMAP_LOCK);
}

static void arm64_faults_and_calls_are_known(void **state)
{
	(void)state;
	expect_reason(
		"el0t_64_sync;el0t_64_sync_handler;el0_svc;do_el0_svc;el0_svc_common.constprop.0;"
		"invoke_syscall;__arm64_sys_munmap;__vm_munmap;down_write_killable;"
		"rwsem_down_write_slowpath;rwsem_optimistic_spin",
		TL_WAIT_MMAP_LOCK, true);
	expect_reason("el0_da;do_mem_abort;do_translation_fault;do_page_fault;down_read;"
		      "rwsem_down_read_slowpath;schedule",
		      TL_WAIT_MMAP_LOCK, false);
}

static void before_5_8_the_semaphore_had_another_slow_path(void **state)
{
	(void)state;
	expect_reason(
		"system_call_fastpath;sys_munmap;vm_munmap;down_write_killable;"
		"call_rwsem_down_write_failed_killable;rwsem_down_write_failed_killable;schedule",
		TL_WAIT_MMAP_LOCK, false);
}

static void semaphores_of_files_and_reverse_maps_are_others(void **state)
{
	(void)state;
	expect_reason(SYSCALL "__x64_sys_write;ksys_write;vfs_write;ext4_file_write_iter;"
			      "ext4_buffered_write_iter;down_write;rwsem_down_write_slowpath;"
			      "rwsem_spin_on_owner",
		      TL_WAIT_RWSEM, true);
	expect_reason(SYSCALL "__x64_sys_munmap;__vm_munmap;do_vmi_munmap;free_pgtables;"
			      "unlink_anon_vmas;down_write;rwsem_down_write_slowpath;schedule",
		      TL_WAIT_RMAP_LOCK, false);
	expect_reason(FAULT "handle_mm_fault;__do_fault;filemap_fault;down_read;"
			    "rwsem_down_read_slowpath;schedule",
		      TL_WAIT_RWSEM, false);
}

static void a_mapping_may_be_locked_alone(void **state)
{
	(void)state;
	expect_reason(SYSCALL
		      "__x64_sys_mprotect;do_mprotect_pkey;mprotect_fixup;__vma_start_write;"
		      "schedule",
		      TL_WAIT_VMA_LOCK, false);
}

static void a_semaphore_that_was_free_is_no_wait(void **state)
{
	(void)state;
	expect_reason(SYSCALL "__x64_sys_munmap;__vm_munmap;down_write_killable", TL_WAIT_UNKNOWN,
		      false);
}

static void an_interrupt_on_top_does_not_end_the_wait(void **state)
{
	struct tl_chain_traits t;

	(void)state;
	t = judge(SYSCALL "vm_mmap_pgoff;down_write_killable;rwsem_down_write_slowpath;"
			  "rwsem_spin_on_owner;asm_sysvec_apic_timer_interrupt;"
			  "sysvec_apic_timer_interrupt;__irq_exit_rcu;handle_softirqs;rcu_core");
	assert_int_equal(t.reason, TL_WAIT_MMAP_LOCK);
	assert_true(t.is_spinning && t.is_interrupt);
}

static void mutexes_spin_with_the_same_queue(void **state)
{
	(void)state;
	expect_reason(SYSCALL "__x64_sys_ioctl;__mutex_lock.constprop.0;osq_lock", TL_WAIT_MUTEX,
		      true);
	expect_reason(SYSCALL "__x64_sys_ioctl;__mutex_lock.constprop.0;schedule_preempt_disabled;"
			      "schedule",
		      TL_WAIT_MUTEX, false);
}

static void what_is_telling_outside_is_kept_inside(void **state)
{
	(void)state;
	expect_reason(SYSCALL
		      "__x64_sys_fsync;do_fsync;ext4_sync_file;file_write_and_wait_range;"
		      "__filemap_fdatawait_range;folio_wait_writeback;folio_wait_bit_common;"
		      "io_schedule;schedule",
		      TL_WAIT_COMMIT, false);
	expect_reason(SYSCALL "__x64_sys_write;ksys_write;vfs_write;ext4_buffered_write_iter;"
			      "generic_perform_write;balance_dirty_pages_ratelimited_flags;"
			      "balance_dirty_pages;io_schedule_timeout;schedule_timeout;schedule",
		      TL_WAIT_DIRTY, false);
	expect_reason(FAULT "handle_mm_fault;do_swap_page;migration_entry_wait;"
			    "migration_entry_wait_on_locked;io_schedule;schedule",
		      TL_WAIT_MIGRATION, false);
	expect_reason(FAULT "handle_mm_fault;do_anonymous_page;__alloc_pages_slowpath;"
			    "try_to_free_pages;throttle_direct_reclaim;schedule",
		      TL_WAIT_RECLAIM, false);
}

static void waits_of_programs_have_names(void **state)
{
	(void)state;
	expect_reason(SYSCALL
		      "__x64_sys_futex;do_futex;futex_wait;__futex_wait;futex_do_wait;schedule;"
		      "__schedule",
		      TL_WAIT_FUTEX, false);
	expect_reason(SYSCALL "__x64_sys_epoll_wait;do_epoll_wait;ep_poll;schedule_hrtimeout_range;"
			      "schedule",
		      TL_WAIT_POLL, false);
	expect_reason(SYSCALL
		      "__x64_sys_clock_nanosleep;common_nsleep;hrtimer_nanosleep;do_nanosleep;"
		      "schedule",
		      TL_WAIT_TIMER, false);
	expect_reason(SYSCALL "__x64_sys_read;ksys_read;vfs_read;anon_pipe_read;schedule",
		      TL_WAIT_PIPE, false);
	expect_reason(SYSCALL "__x64_sys_wait4;kernel_wait4;do_wait;schedule", TL_WAIT_CHILD,
		      false);
	expect_reason(SYSCALL
		      "__x64_sys_read;ksys_read;vfs_read;filemap_read;folio_wait_bit_common;"
		      "io_schedule;schedule",
		      TL_WAIT_IO, false);
}

static void compaction_outranks_the_fault_that_needs_it(void **state)
{
	(void)state;
	expect_work(FAULT "handle_mm_fault;__handle_mm_fault;do_huge_pmd_anonymous_page;"
			  "vma_alloc_folio_noprof;__alloc_pages_slowpath.constprop.0;"
			  "__alloc_pages_direct_compact;try_to_compact_pages;compact_zone;"
			  "migrate_pages;migrate_pages_batch;copy_page",
		    TL_MEMORY_COMPACTION);
	expect_work(FAULT "handle_mm_fault;__handle_mm_fault;do_huge_pmd_anonymous_page;"
			  "clear_huge_page;clear_page_erms",
		    TL_MEMORY_HUGE_FAULT);
	expect_work(FAULT "handle_mm_fault;do_anonymous_page;clear_page_erms", TL_MEMORY_FAULT);
	expect_work(FAULT "handle_mm_fault;do_anonymous_page;__alloc_pages_slowpath;"
			  "__alloc_pages_direct_reclaim;try_to_free_pages;shrink_node",
		    TL_MEMORY_RECLAIM);
}

static void compaction_for_a_huge_page_is_told_from_others(void **state)
{
	(void)state;
	assert_true(judge(FAULT "do_huge_pmd_anonymous_page;try_to_compact_pages").is_huge);
	assert_false(judge(SYSCALL "__x64_sys_ioctl;alloc_pages;try_to_compact_pages").is_huge);
}

static void madvise_that_frees_splits_huge_pages(void **state)
{
	(void)state;
	expect_work(SYSCALL "__x64_sys_madvise;do_madvise;zap_page_range_single;unmap_page_range;"
			    "__split_huge_pmd",
		    TL_MEMORY_HUGE_SPLIT);
	expect_work(SYSCALL "__x64_sys_madvise;do_madvise;zap_page_range_single;unmap_page_range",
		    TL_MEMORY_UNMAP);
}

static void khugepaged_collapses(void **state)
{
	(void)state;
	expect_work("ret_from_fork;kthread;khugepaged;khugepaged_scan_mm_slot;"
		    "hpage_collapse_scan_pmd;collapse_huge_page;copy_mc_enhanced_fast_string",
		    TL_MEMORY_HUGE_COLLAPSE);
}

static void what_a_compiler_adds_does_not_matter(void **state)
{
	(void)state;
	assert_int_equal(tl_wait_function(&names, "compact_zone.isra.0.cold", 24),
			 tl_wait_function(&names, "compact_zone", 12));
	assert_int_not_equal(tl_wait_function(&names, "compact_zone", 12), 0);
	assert_int_equal(tl_wait_function(&names, "compact_zones", 13), 0);
	assert_int_equal(tl_wait_function(&names, "", 0), 0);
	assert_int_equal(tl_wait_function(&names, ".", 1), 0);
}

static void every_reason_and_work_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < TL_WAIT_REASON_COUNT; i++)
		assert_non_null(tl_wait_reason_name((enum tl_wait_reason)i));
	for (int i = 0; i < TL_MEMORY_WORK_COUNT; i++)
		assert_non_null(tl_memory_work_name((enum tl_memory_work)i));
}

/* ---- over a case ---- */

static int add(struct tl_store *store, const char *sql)
{
	return tl_store_execute(store, sql, NULL);
}

static struct tl_store *case_of_one_chain(void)
{
	struct tl_store *store;

	assert_int_equal(tl_store_open_temporary(&store, NULL), TL_OK);
	assert_int_equal(
		add(store,
		    "INSERT INTO string(string_id, text) VALUES(1, 'vm_mmap_pgoff'), "
		    "(2, 'down_write_killable'), (3, 'rwsem_down_write_slowpath'), (4, 'main');"
		    "INSERT INTO symbol(symbol_id, name_id) VALUES(1, 1), (2, 2), (3, 3), (4, 4);"
		    "INSERT INTO frame(frame_id, symbol_id, context) VALUES(1, 4, 'user'), "
		    "(2, 1, 'kernel'), (3, 2, 'kernel'), (4, 3, 'kernel'), (5, 3, 'user');"
		    "INSERT INTO stack(stack_id, parent_id, frame_id, depth) VALUES(1, NULL, 1, 1), "
		    "(2, 1, 2, 2), (3, 2, 3, 3), (4, 3, 4, 4), (5, 3, 5, 4)"),
		TL_OK);
	return store;
}

static void each_stack_of_a_case_is_judged(void **state)
{
	struct tl_store *store = case_of_one_chain();
	struct tl_chain_traits *traits;
	size_t count;

	(void)state;
	assert_int_equal(tl_chain_traits_load(&traits, &count, store, NULL), TL_OK);
	assert_int_equal(count, 6);
	assert_int_equal(traits[3].reason, TL_WAIT_UNKNOWN);
	assert_int_equal(traits[4].reason, TL_WAIT_MMAP_LOCK);
	free(traits);
	tl_store_close(store);
}

static void a_program_may_call_its_functions_like_the_kernel(void **state)
{
	struct tl_store *store = case_of_one_chain();
	struct tl_chain_traits *traits;
	size_t count;

	(void)state;
	assert_int_equal(tl_chain_traits_load(&traits, &count, store, NULL), TL_OK);
	assert_int_equal(traits[5].reason, TL_WAIT_UNKNOWN);
	free(traits);
	tl_store_close(store);
}

static void a_caller_behind_its_callee_is_damage(void **state)
{
	struct tl_store *store = case_of_one_chain();
	struct tl_chain_traits *traits;
	struct tl_error err = { 0 };
	size_t count;

	(void)state;
	assert_int_equal(add(store, "UPDATE stack SET parent_id = 4 WHERE stack_id = 2"), TL_OK);
	assert_int_equal(tl_chain_traits_load(&traits, &count, store, &err), TL_STORE);
	assert_string_equal(err.text, "stack 2 has the caller 4, expected a smaller id");
	assert_null(traits);
	tl_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_writer_that_spins_below_mmap_waits_for_the_mmap_lock),
		cmocka_unit_test(a_writer_that_sleeps_below_munmap_waits_for_the_mmap_lock),
		cmocka_unit_test(a_reader_below_a_page_fault_waits_for_the_mmap_lock),
		cmocka_unit_test(huge_pages_of_hugetlbfs_are_told_from_transparent_ones),
		cmocka_unit_test(reclaim_for_a_control_group_is_told_from_that_of_the_machine),
		cmocka_unit_test(a_fault_inside_a_system_call_is_a_fault),
		cmocka_unit_test(arm64_faults_and_calls_are_known),
		cmocka_unit_test(before_5_8_the_semaphore_had_another_slow_path),
		cmocka_unit_test(semaphores_of_files_and_reverse_maps_are_others),
		cmocka_unit_test(a_mapping_may_be_locked_alone),
		cmocka_unit_test(a_semaphore_that_was_free_is_no_wait),
		cmocka_unit_test(an_interrupt_on_top_does_not_end_the_wait),
		cmocka_unit_test(mutexes_spin_with_the_same_queue),
		cmocka_unit_test(what_is_telling_outside_is_kept_inside),
		cmocka_unit_test(waits_of_programs_have_names),
		cmocka_unit_test(compaction_outranks_the_fault_that_needs_it),
		cmocka_unit_test(compaction_for_a_huge_page_is_told_from_others),
		cmocka_unit_test(madvise_that_frees_splits_huge_pages),
		cmocka_unit_test(khugepaged_collapses),
		cmocka_unit_test(what_a_compiler_adds_does_not_matter),
		cmocka_unit_test(every_reason_and_work_has_a_name),
		cmocka_unit_test(each_stack_of_a_case_is_judged),
		cmocka_unit_test(a_program_may_call_its_functions_like_the_kernel),
		cmocka_unit_test(a_caller_behind_its_callee_is_damage),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
