/*
 * thp_test.c - verdicts over cases whose cause is planted. Shares are counted by hand; where they have
 * intervals, those are of an independent implementation fed with the same numbers.
 */
#include "near_test.h"
#include "thp_example.h"

#include <math.h>

static struct tl_thp thp;

static void judge(void)
{
	static const struct tl_thp_options all = { 0 };

	assert_int_equal(tl_thp(store, &all, &thp, &err), TL_OK);
}

static void refuse(void)
{
	static const struct tl_thp_options all = { 0 };

	assert_int_equal(tl_thp(store, &all, &thp, &err), TL_NOTHING);
}

static int finish(void **state)
{
	tl_thp_release(&thp);
	return teardown_store(state);
}

static const struct tl_thp_evidence *line(const char *part)
{
	for (size_t i = 0; i < thp.evidence_count; i++) {
		if (strstr(thp.evidence[i].what, part))
			return &thp.evidence[i];
	}
	return NULL;
}

static bool contradicts(const char *part)
{
	for (size_t i = 0; i < thp.contradiction_count; i++) {
		if (strstr(thp.contradictions[i], part))
			return true;
	}
	return false;
}

static bool misses(const char *part)
{
	for (size_t i = 0; i < thp.missing_count; i++) {
		if (strstr(thp.missing[i].command, part))
			return true;
	}
	return false;
}

static bool advises(const char *part)
{
	for (size_t i = 0; i < thp.advice_count; i++) {
		if (strstr(thp.advice[i].advice, part))
			return true;
	}
	return false;
}

/* ---- locks ---- */

static void spin_in_collapses(int64_t i, int64_t begin)
{
	if (!is_slow(i))
		return;
	collapse(begin + 20 * MS, begin + 40 * MS);
	does(begin + 20 * MS, begin + 40 * MS, SPINNING);
}

static void waits_on_the_cpu_for_a_collapse_are_confirmed(void **state)
{
	(void)state;
	make_case(spin_in_collapses, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_int_equal(thp.slow_count, 16);
	/* 20 ms of 25 and a little noise: four samples of 5 ms; see the head of this file */
	assert_near(thp.share, 0.8024072216649965, 1e-9);
	assert_near(thp.share_low, 0.789887274756339, 1e-9);
	assert_near(thp.share_high, 0.8149271685736539, 1e-9);
	assert_near(thp.excess_ns, 398.8e6, 1e-3);
	assert_near(thp.mechanism_share[TL_THP_LOCK], thp.share, 1e-9);
	assert_near(line("spinning")->slow_ns, 20e6, 1e-6);
	assert_int_equal(line("spinning")->count, 64);
	assert_string_equal(line("spinning")->event, "cpu-clock");
	assert_string_equal(line("spinning")->source, "perf.data");
	assert_true(advises("PR_SET_THP_DISABLE"));
	assert_int_equal(thp.missing_count, 0);
}

/* khugepaged's switches are not recorded: only that collapses ended. */
static void collapse_unseen(int64_t i, int64_t begin)
{
	if (!is_slow(i))
		return;
	hit(COLLAPSE, KHUGEPAGED, begin + 40 * MS, "{\"status_name\":\"succeeded\"}");
	does(begin + 20 * MS, begin + 40 * MS, SPINNING);
}

static void ends_of_collapses_are_activity_of_unknown_length(void **state)
{
	(void)state;
	ends_only = true;
	make_case(collapse_unseen, HAS_POINTS);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_POSSIBLE);
	assert_int_equal(line("for how long was not recorded")->count, SLOW_LAST - SLOW_FIRST + 1);
	assert_true(isnan(line("for how long was not recorded")->slow_ns));
	/* 20 ms of 25, and nobody knows whose lock */
	assert_near(line("held by whom is not known")->share, 0.8, 0.05);
	assert_true(misses("mm_collapse_huge_page_isolate"));
	assert_null(strstr(thp.text, "No daemon"));
}

static void where_khugepaged_ran_tells_as_much_as_where_collapses_began(void **state)
{
	(void)state;
	ends_only = true;
	make_case(spin_in_collapses, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_near(line("spinning")->slow_ns, 20e6, 1e-6);
}

static void spin_without_collapses(int64_t i, int64_t begin)
{
	if (is_slow(i))
		does(begin + 20 * MS, begin + 45 * MS, SPINNING);
}

static void the_same_waits_without_collapses_are_the_jobs_own(void **state)
{
	(void)state;
	make_case(spin_without_collapses, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_true(contradicts("held by no collapse"));
	assert_int_equal(thp.advice_count, 0);
}

/* khugepaged is busy half of the time, but not when the thread waits more than otherwise. */
static void spin_beside_collapses(int64_t i, int64_t begin)
{
	if (!is_slow(i))
		return;
	does(begin + 20 * MS, begin + 45 * MS, SPINNING);
	for (int64_t at = i % 2 * 10 * MS; at < 110 * MS; at += 20 * MS)
		collapse(begin + at, begin + at + 10 * MS);
}

static void waits_that_meet_collapses_by_chance_do_not_count(void **state)
{
	(void)state;
	make_case(spin_beside_collapses, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_true(contradicts("no more than by chance"));
	assert_near(thp.share, 0, 1e-9);
}

static void sleep_until_collapse_ends(int64_t i, int64_t begin)
{
	if (!is_slow(i))
		return;
	collapse(begin + 20 * MS, begin + 45 * MS);
	sleep_for(begin + 22 * MS, begin + 45 * MS, ASLEEP, KHUGEPAGED);
}

static void waits_asleep_are_exact(void **state)
{
	(void)state;
	make_case(sleep_until_collapse_ends, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_near(line("asleep")->slow_ns, 23e6, 1e-6);
	assert_int_equal(line("asleep")->count, 16);
}

static void sleep_on_a_futex(int64_t i, int64_t begin)
{
	if (!is_slow(i))
		return;
	collapse(begin + 20 * MS, begin + 45 * MS);
	sleep_for(begin + 20 * MS, begin + 45 * MS, IN_FUTEX, HOG);
}

static void locks_of_the_program_are_not_those_of_memory(void **state)
{
	(void)state;
	make_case(sleep_on_a_futex, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_true(contradicts("lock of the program"));
}

/* ---- direct ---- */

static int planted_order;

static void compact_in_slow_steps(int64_t i, int64_t begin)
{
	if (is_slow(i))
		compact(begin + 10 * MS, begin + 33 * MS, planted_order);
}

static void compaction_for_a_huge_page_is_confirmed(void **state)
{
	(void)state;
	planted_order = 9;
	make_case(compact_in_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_near(line("compacting")->slow_ns, 23e6, 1e-6);
	assert_near(thp.share, 0.9227683049147459, 1e-9);
	assert_near(thp.share_low, 0.9083703659697899, 1e-9);
	assert_near(thp.mechanism_share[TL_THP_DIRECT], thp.share, 1e-9);
	assert_true(advises("defrag=defer+madvise"));
}

static void compaction_for_another_order_is_not_huge_pages(void **state)
{
	(void)state;
	planted_order = 3;
	make_case(compact_in_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_true(contradicts("compacting memory, not for huge pages"));
	assert_true(advises("posix_fadvise"));
}

#define IN_HUGETLB \
	"k:asm_exc_page_fault k:exc_page_fault k:handle_mm_fault k:hugetlb_fault k:hugetlb_no_page "

static void fault_hugetlb_in_slow_steps(int64_t i, int64_t begin)
{
	if (is_slow(i))
		does(begin + 10 * MS, begin + 33 * MS, IN_HUGETLB "k:folio_zero_user");
}

static void huge_pages_of_hugetlbfs_are_not_transparent(void **state)
{
	(void)state;
	make_case(fault_hugetlb_in_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	/* of 23 ms four samples or five, 5 ms each */
	assert_near(line("hugetlbfs")->slow_ns, 22.5e6, 2.5e6);
	assert_true(contradicts("hugetlbfs"));
	assert_true(advises("vm.nr_hugepages"));
}

/* The tracepoints have no chain: the samples between them tell for what it was. */
static void compact_for_hugetlb_in_slow_steps(int64_t i, int64_t begin)
{
	compact_in_slow_steps(i, begin);
	if (is_slow(i))
		does(begin, begin + 40 * MS,
		     IN_HUGETLB "k:alloc_hugetlb_folio k:__alloc_pages_direct_compact "
				"k:compact_zone");
}

static void compaction_for_hugetlbfs_is_not_for_a_transparent_huge_page(void **state)
{
	(void)state;
	planted_order = 9;
	make_case(compact_for_hugetlb_in_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_null(line("for its own huge page"));
	assert_true(contradicts("hugetlbfs"));
}

static void reclaim_in_slow_steps(int64_t i, int64_t begin)
{
	if (is_slow(i))
		reclaim(begin + 10 * MS, begin + 33 * MS, planted_order);
}

static void reclaim_of_small_pages_is_not_huge_pages(void **state)
{
	(void)state;
	planted_order = 0;
	make_case(reclaim_in_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_true(contradicts("reclaiming memory, not for huge pages"));
}

static void reclaim_for_a_group_in_slow_steps(int64_t i, int64_t begin)
{
	if (!is_slow(i))
		return;
	hit(MEMCG_BEGIN, SELF, begin + 10 * MS, "{\"order\":0}");
	hit(MEMCG_END, SELF, begin + 33 * MS, "{\"nr_reclaimed\":32}");
}

static void reclaim_for_a_control_group_is_told_as_such(void **state)
{
	(void)state;
	make_case(reclaim_for_a_group_in_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_near(line("control group")->slow_ns, 23e6, 1e-6);
	assert_string_equal(line("control group")->event, "vmscan:mm_vmscan_memcg_reclaim_begin");
	assert_null(line("reclaiming memory, not for"));
	assert_true(advises("memory.high"));
	assert_false(advises("vm.min_free_kbytes"));
}

static void reclaim_for_huge_pages_is_confirmed(void **state)
{
	(void)state;
	planted_order = 9;
	make_case(reclaim_in_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
}

/* ---- stolen ---- */

static int32_t planted_thief;

static void steal_in_slow_steps(int64_t i, int64_t begin)
{
	if (is_slow(i))
		wait_behind(begin + 10 * MS, begin + 20 * MS, planted_thief);
}

static void a_cpu_that_khugepaged_takes_contributes(void **state)
{
	(void)state;
	planted_thief = KHUGEPAGED;
	make_case(steal_in_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONTRIBUTING);
	/* 10 ms of 25 */
	assert_near(thp.share, 0.4012036108324982, 1e-9);
	assert_near(thp.share_high, 0.40746358428682694, 1e-9);
	assert_near(thp.mechanism_share[TL_THP_STOLEN], thp.share, 1e-9);
}

static void a_cpu_that_others_take_does_not(void **state)
{
	(void)state;
	planted_thief = HOG;
	make_case(steal_in_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_true(contradicts("CPU that others have"));
}

/* ---- what was not recorded ---- */

static void nothing(int64_t i, int64_t begin)
{
	(void)i;
	(void)begin;
}

static void a_recording_of_one_process_cannot_show_khugepaged(void **state)
{
	(void)state;
	make_case(spin_without_collapses, HAS_SWITCHES);
	judge();
	assert_false(thp.sees_activity);
	assert_false(thp.is_seen[TL_THP_LOCK]);
	assert_true(misses("-e huge_memory:mm_collapse_huge_page"));
	assert_true(misses("-a -g"));
	/* 25 ms of 25: what it waits for is known, but not who had it */
	assert_int_equal(thp.answer, TL_THP_IS_POSSIBLE);
	assert_near(line("held by whom is not known")->share, 1, 0.02);
	assert_int_equal(thp.contradiction_count, 0);
}

/* So much asleep that its samples are too few to exclude compaction. */
static void sleep_for_the_program(int64_t i, int64_t begin)
{
	sleep_for(begin + 10 * MS, begin + (is_slow(i) ? 95 : 70) * MS, IN_FUTEX, HOG);
}

static void what_others_leave_is_an_upper_bound(void **state)
{
	(void)state;
	make_case(sleep_for_the_program, HAS_SWITCHES | HAS_ALL_CPUS);
	judge();
	assert_false(thp.is_seen[TL_THP_DIRECT]);
	assert_true(thp.is_seen[TL_THP_LOCK]);
	/* 25 ms of 25 */
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_non_null(strstr(thp.text, "leaves at most"));
}

static void a_trace_alone_shows_nothing(void **state)
{
	(void)state;
	write_trace();
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_OBSERVABLE);
	assert_true(isnan(thp.share));
	assert_true(misses("sched:sched_switch"));
}

static void write_calls(int64_t slow_ns)
{
	begin_recording("strace.log");
	for (int64_t i = 0; i < STEPS; i++) {
		struct tl_event ev = { .kind = TL_EVENT_SYSCALL,
				       .has_ts = true,
				       .ts = begin_of(i) + 10 * MS };

		ev.syscall.task = (struct tl_task) { SELF, SELF };
		ev.syscall.duration_ns = is_slow(i) ? slow_ns : MS;
		ev.syscall.name = "munmap";
		ev.syscall.name_length = 6;
		emit(&ev);
	}
	end_source();
}

static void long_calls_in_a_tracers_log_are_possible_at_most(void **state)
{
	(void)state;
	write_trace();
	write_calls(24 * MS);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_POSSIBLE);
	/* 23 ms of 25 */
	assert_near(line("whatever they wait for")->share, 0.92, 0.01);
	assert_false(line("whatever they wait for")->is_counted);
}

static void short_calls_in_a_tracers_log_say_nothing(void **state)
{
	(void)state;
	write_trace();
	write_calls(MS);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_OBSERVABLE);
}

/* ---- calls and counters, where stacks say nothing ---- */

/* munmap takes 1 ms, and ends with the collapse that it meets. */
static void write_calls_behind_collapses(void)
{
	begin_recording("strace.log");
	for (int64_t i = 0; i < STEPS; i++) {
		struct tl_event ev = { .kind = TL_EVENT_SYSCALL,
				       .has_ts = true,
				       .ts = begin_of(i) + 19 * MS };

		ev.syscall.task = (struct tl_task) { SELF, SELF };
		ev.syscall.duration_ns = is_slow(i) ? 21 * MS : MS;
		ev.syscall.name = "munmap";
		ev.syscall.name_length = 6;
		emit(&ev);
	}
	end_source();
}

static void collapse_in_slow_steps(int64_t i, int64_t begin)
{
	if (is_slow(i))
		collapse(begin + 20 * MS, begin + 40 * MS);
}

static void calls_that_collapses_prolong_are_lock_waits(void **state)
{
	(void)state;
	user_only = true;
	make_case(collapse_in_slow_steps, HAS_ALL);
	write_calls_behind_collapses();
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_false(thp.is_seen[TL_THP_LOCK]); /* page faults wait unseen */
	assert_near(line("longer than usual")->slow_ns, 20e6, 1);
}

static void spin_beside_sampled_collapses(int64_t i, int64_t begin)
{
	if (!is_slow(i))
		return;
	does(begin + 20 * MS, begin + 40 * MS, SPINNING);
	for (int64_t at = 20; at <= 40; at += 4)
		sample(CLOCK, KHUGEPAGED, begin + at * MS,
		       "k:kthread k:khugepaged k:collapse_huge_page k:copy_page", NULL);
}

static void daemons_are_seen_in_samples_of_all_cpus(void **state)
{
	(void)state;
	make_case(spin_beside_sampled_collapses, HAS_ALL_CPUS);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_true(thp.sees_activity);
	assert_false(thp.is_seen[TL_THP_LOCK]); /* who sleeps is not sampled */
	assert_near(line("spinning")->slow_ns, 20e6, 1);
	assert_true(misses("sched:sched_switch"));
}

static void samples_of_all_cpus_without_daemons_are_no_activity(void **state)
{
	(void)state;
	make_case(spin_without_collapses, HAS_ALL_CPUS);
	judge();
	assert_true(thp.sees_activity);
	assert_int_not_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_true(contradicts("held by no collapse"));
	assert_null(strstr(thp.text, "No daemon"));
	assert_non_null(strstr(thp.text, "No sample met a daemon"));
}

static void steps_that_may_be_slow_by_chance_are_not_explained(void **state)
{
	(void)state;
	make_case(spin_in_collapses, HAS_ALL);
	assert_int_equal(tl_store_execute(store,
					  "UPDATE step SET class = 'spike' WHERE class = 'slow'",
					  &err),
			 TL_OK);
	judge();
	assert_int_equal(thp.slow_count, 0);
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
}

static void where_few_steps_are_good_and_none_is_slow_there_is_nothing_to_answer(void **state)
{
	(void)state;
	make_case(spin_in_collapses, HAS_ALL);
	assert_int_equal(tl_store_execute(store,
					  "UPDATE step SET class = 'spike' WHERE class = 'slow' OR "
					  "position % 2",
					  &err),
			 TL_OK);
	refuse();
	assert_non_null(strstr(err.text, "slow alone or perhaps by chance"));
}

/* A second between readings; what happened in between is spread evenly. */
static void write_counters(bool is_busy)
{
	static const char *const names[] = { "thp_fault_alloc", "thp_collapse_alloc",
					     "compact_stall", "allocstall_normal" };
	struct tl_event track = { .kind = TL_EVENT_TRACK };
	double value = 1000;

	begin_recording("vmstat.log");
	track.track.kind = TL_TRACK_COUNTER;
	track.track.task = (struct tl_task) { TL_ID_NONE, TL_ID_NONE };
	track.track.name = "vmstat";
	track.track.process = "system";
	track.track.device = track.track.stream = -1;
	emit(&track);
	for (int64_t ts = 0; ts < begin_of(STEPS) + 1000 * MS; ts += 100 * MS) {
		bool is_in = ts > begin_of(SLOW_FIRST) && ts <= begin_of(SLOW_LAST + 1);

		value += is_busy && is_in ? 7 : 0;
		for (size_t i = 0; i < 4; i++) {
			struct tl_event ev = { .kind = TL_EVENT_COUNTER, .has_ts = true, .ts = ts };

			ev.counter.name = names[i];
			ev.counter.name_length = strlen(names[i]);
			ev.counter.value = i == 1 ? value : 5;
			ev.counter.unit = "events since boot";
			emit(&ev);
		}
	}
	end_source();
}

static const struct tl_thp_counter *counter(const char *name)
{
	for (size_t i = 0; i < thp.counter_count; i++) {
		if (!strcmp(thp.counters[i].name, name))
			return &thp.counters[i];
	}
	return NULL;
}

static void counters_that_move_with_slow_steps_leave_it_undecided(void **state)
{
	(void)state;
	write_trace();
	write_counters(true);
	judge();
	assert_true(thp.sees_activity);
	assert_int_equal(thp.answer, TL_THP_IS_UNDECIDED);
	/* 7 in 100 ms */
	assert_near(counter("thp_collapse_alloc")->slow_rate, 70, 4);
	assert_true(counter("thp_collapse_alloc")->good_rate < 2);
	assert_true(counter("thp_collapse_alloc")->p < 0.05);
}

static void with_long_calls_beside_them_it_is_possible(void **state)
{
	(void)state;
	write_trace();
	write_counters(true);
	write_calls(24 * MS);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_POSSIBLE);
}

static void counters_that_stand_still_refute(void **state)
{
	(void)state;
	write_trace();
	write_counters(false);
	write_calls(24 * MS);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_near(counter("compact_stall")->slow_rate, 0, 1e-12);
}

/* ---- which steps ---- */

static void spin_in_most_slow_steps(int64_t i, int64_t begin)
{
	if (i != SLOW_FIRST)
		spin_in_collapses(i, begin);
}

static void a_step_that_is_far_slower_is_set_apart(void **state)
{
	(void)state;
	checkpoint_ns = 400 * MS;
	make_case(spin_in_most_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_int_equal(thp.apart_count, 1);
	assert_int_equal(thp.slow_count, 15);
	assert_near(thp.share, 0.8, 0.02);
}

static const struct tl_thp_epoch *epoch(int offset)
{
	for (size_t i = 0; i < thp.epoch_count; i++)
		if (thp.epochs[i].offset == offset)
			return &thp.epochs[i];
	fail_msg("there is no offset %d", offset);
	return NULL;
}

static void checkpoints_are_laid_over_each_other(void **state)
{
	double spun = 0;

	(void)state;
	checkpoint_every = 20;
	make_case(spin_in_collapses, HAS_ALL);
	judge();
	assert_int_equal(epoch(0)->checkpoint_count, (STEPS + 19) / 20);
	assert_int_equal(epoch(19)->checkpoint_count, STEPS / 20);
	assert_int_equal(thp.epochs[0].offset, -5);
	assert_int_equal(thp.epochs[thp.epoch_count - 1].offset, 19); /* not into the next */
	for (int k = 0; k < 20; k++)
		spun += epoch(k)->mechanism_ns * (double)epoch(k)->checkpoint_count;
	/* 20 ms in each slow step, that of a checkpoint too */
	assert_near(spun, (SLOW_LAST - SLOW_FIRST + 1) * 20e6, 1e6);
}

/* The recording, cut before the slow steps, says nothing of them: not that they are without cause. */
static void slow_steps_that_were_not_recorded_are_not_observable(void **state)
{
	(void)state;
	recorded_steps = SLOW_FIRST;
	make_case(spin_in_collapses, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_OBSERVABLE);
	assert_non_null(strstr(thp.text, "lie outside of what"));
	assert_true(isnan(thp.share));
}

static void losses_in(int64_t first, int64_t end)
{
	char sql[200];

	for (int64_t i = first; i < end; i++) {
		snprintf(
			sql, sizeof(sql),
			"INSERT INTO gap(source_id, ts, kind, count) SELECT source_id, %lld, 'lost', 0 "
			"FROM source WHERE path = 'perf.data'",
			(long long)begin_of(i) + MS);
		assert_int_equal(tl_store_execute(store, sql, &err), TL_OK);
	}
}

/* Nothing was seen in the slow steps; but records of most of them are lost. */
static void what_was_lost_is_not_taken_for_nothing(void **state)
{
	(void)state;
	planted_order = 3;
	make_case(compact_in_slow_steps, HAS_ALL);
	losses_in(SLOW_FIRST, SLOW_LAST);
	judge();
	assert_int_not_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_false(thp.is_seen[TL_THP_STOLEN]);
	assert_non_null(strstr(thp.text, "lost records in 15 of 16 slow steps"));
}

static void run_shortly(int64_t i, int64_t begin)
{
	if (is_slow(i))
		collapse(begin + 20 * MS, begin + 20 * MS + MS / 100);
}

/* 10 us of daemons do not go together with 25 ms. */
static void trivial_activity_is_no_reason(void **state)
{
	(void)state;
	make_case(run_shortly, HAS_ALL);
	losses_in(SLOW_FIRST, SLOW_LAST + 1);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_OBSERVABLE);
}

/* What was seen of it is enough, whatever else was lost. */
static void losses_do_not_unmake_what_was_seen(void **state)
{
	(void)state;
	make_case(spin_in_collapses, HAS_ALL);
	losses_in(SLOW_FIRST, SLOW_LAST + 1);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_true(thp.share > 0.78 && thp.share < 0.82);
	assert_non_null(strstr(thp.text, "at least 80 %"));
}

static void a_loss_here_and_there_changes_no_verdict(void **state)
{
	(void)state;
	make_case(spin_in_collapses, HAS_ALL);
	losses_in(SLOW_FIRST, SLOW_FIRST + 2);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_CONFIRMED);
	assert_non_null(strstr(thp.text, "lost records in 2 of 16 slow steps"));
}

static void one_checkpoint_is_no_epoch(void **state)
{
	(void)state;
	checkpoint_every = STEPS;
	make_case(spin_in_collapses, HAS_ALL);
	judge();
	assert_int_equal(thp.epoch_count, 0);
}

static void without_slow_steps_nothing_is_supported(void **state)
{
	(void)state;
	excess_ns = 0;
	make_case(spin_in_most_slow_steps, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_string_equal(thp.reason, "there are no slow steps to explain");
	assert_true(isnan(thp.share));
}

static void clocks_that_are_only_assumed_give_no_answer(void **state)
{
	static const struct tl_thp_options all = { 0 };

	(void)state;
	clock_method = TL_CLOCK_ASSUMED;
	make_case(spin_in_collapses, HAS_ALL);
	assert_int_equal(tl_thp(store, &all, &thp, &err), TL_NOTHING);
	assert_non_null(strstr(err.text, "assumed"));
}

static void slow_steps_without_activity_are_not_supported(void **state)
{
	(void)state;
	make_case(nothing, HAS_ALL);
	judge();
	assert_int_equal(thp.answer, TL_THP_IS_NOT_SUPPORTED);
	assert_string_equal(thp.reason, "nothing of it happened");
}

static void without_steps_there_is_no_answer(void **state)
{
	static const struct tl_thp_options all = { 0 };

	(void)state;
	assert_int_equal(tl_thp(store, &all, &thp, &err), TL_NOTHING);
	assert_non_null(strstr(err.text, "no training steps"));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(waits_on_the_cpu_for_a_collapse_are_confirmed),
		CASE(ends_of_collapses_are_activity_of_unknown_length),
		CASE(where_khugepaged_ran_tells_as_much_as_where_collapses_began),
		CASE(the_same_waits_without_collapses_are_the_jobs_own),
		CASE(waits_that_meet_collapses_by_chance_do_not_count),
		CASE(waits_asleep_are_exact),
		CASE(locks_of_the_program_are_not_those_of_memory),
		CASE(compaction_for_a_huge_page_is_confirmed),
		CASE(compaction_for_another_order_is_not_huge_pages),
		CASE(huge_pages_of_hugetlbfs_are_not_transparent),
		CASE(compaction_for_hugetlbfs_is_not_for_a_transparent_huge_page),
		CASE(reclaim_of_small_pages_is_not_huge_pages),
		CASE(reclaim_for_a_control_group_is_told_as_such),
		CASE(reclaim_for_huge_pages_is_confirmed),
		CASE(a_cpu_that_khugepaged_takes_contributes),
		CASE(a_cpu_that_others_take_does_not),
		CASE(a_recording_of_one_process_cannot_show_khugepaged),
		CASE(what_others_leave_is_an_upper_bound),
		CASE(trivial_activity_is_no_reason),
		CASE(a_trace_alone_shows_nothing),
		CASE(long_calls_in_a_tracers_log_are_possible_at_most),
		CASE(short_calls_in_a_tracers_log_say_nothing),
		CASE(calls_that_collapses_prolong_are_lock_waits),
		CASE(daemons_are_seen_in_samples_of_all_cpus),
		CASE(samples_of_all_cpus_without_daemons_are_no_activity),
		CASE(steps_that_may_be_slow_by_chance_are_not_explained),
		CASE(counters_that_move_with_slow_steps_leave_it_undecided),
		CASE(with_long_calls_beside_them_it_is_possible),
		CASE(counters_that_stand_still_refute),
		CASE(a_step_that_is_far_slower_is_set_apart),
		CASE(checkpoints_are_laid_over_each_other),
		CASE(what_was_lost_is_not_taken_for_nothing),
		CASE(losses_do_not_unmake_what_was_seen),
		CASE(a_loss_here_and_there_changes_no_verdict),
		CASE(one_checkpoint_is_no_epoch),
		CASE(slow_steps_that_were_not_recorded_are_not_observable),
		CASE(without_slow_steps_nothing_is_supported),
		CASE(where_few_steps_are_good_and_none_is_slow_there_is_nothing_to_answer),
		CASE(clocks_that_are_only_assumed_give_no_answer),
		CASE(slow_steps_without_activity_are_not_supported),
		CASE(without_steps_there_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
