/*
 * steps_join_test.c - steps of one rank in several files, by hand: what is one series, what stays apart,
 * and that each step keeps its source.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "source_example.h"
#include "step_view.h"

enum { HOST, STREAM };

static struct tl_steps steps;

static int setup(void **state)
{
	memset(&steps, 0, sizeof(steps));
	return setup_store(state);
}

static int teardown(void **state)
{
	tl_steps_release(&steps);
	return teardown_store(state);
}

static void load(void)
{
	tl_steps_release(&steps);
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
}

/* ---- logs ---- */

static void mark(int64_t number, int64_t ts, int64_t duration)
{
	struct tl_event ev = { .kind = TL_EVENT_STEP, .has_ts = ts >= 0, .ts = ts };

	ev.step.number = number;
	ev.step.rank = -1;
	ev.step.duration_ns = duration;
	emit(&ev);
}

/* Steps first to last, every stride; the begin of the first is at ts, or there are no times. */
static void log_of(const char *path, int64_t first, int64_t last, int64_t stride, int64_t ts)
{
	begin_source(path);
	for (int64_t i = first; i <= last; i += stride) {
		int64_t duration =
			100000000 + i * 7919 % 13 * 200000 + (i >= 50 && i < 60 ? 30000000 : 0);

		mark(i, ts, duration);
		ts += ts >= 0 ? duration : 0;
	}
	end_source();
}

static void check_rotated(void)
{
	struct tl_steps_part part;

	load();
	assert_int_equal(steps.series_count, 1);
	assert_int_equal(steps.series[0].count, 100);
	assert_string_equal(steps.series[0].source, "train.log.1");
	assert_int_equal(steps.series[0].more_count, 1);
	part = tl_steps_part(&steps.series[0], 1);
	assert_string_equal(part.source, "train.log");
	assert_int_equal(part.first, 49);
	assert_int_equal(part.end, 100);
	for (int64_t i = 0; i < 100; i++)
		assert_int_equal(steps.series[0].steps[i].number, i + 1);
}

static void rotated_logs_are_one_series(void **state)
{
	(void)state;
	log_of("train.log.1", 1, 49, 1, -1);
	log_of("train.log", 50, 100, 1, -1);
	check_rotated();
}

static void the_order_of_import_plays_no_part(void **state)
{
	(void)state;
	log_of("train.log", 50, 100, 1, -1);
	log_of("train.log.1", 1, 49, 1, -1);
	check_rotated();
}

static void a_slow_begin_of_the_second_file_is_no_warm_up(void **state)
{
	(void)state;
	log_of("train.log.1", 1, 49, 1, -1);
	log_of("train.log", 50, 100, 1, -1);
	load();
	assert_true(steps.series[0].is_alarm);
	assert_int_equal(steps.series[0].episodes[0].first, 49);
	assert_int_equal(steps.series[0].episodes[0].last, 58);
}

static void each_stored_step_keeps_its_source(void **state)
{
	(void)state;
	log_of("train.log", 50, 100, 1, -1);
	log_of("train.log.1", 1, 49, 1, -1);
	assert_int_equal(value("SELECT count(DISTINCT series) FROM step"), 1);
	assert_int_equal(value("SELECT count(*) FROM step_view WHERE source = 'train.log.1'"), 49);
	assert_int_equal(value("SELECT min(number) FROM step_view WHERE source = 'train.log'"), 50);
	assert_int_equal(value("SELECT count(*) FROM step WHERE position = number - 1"), 100);
}

static void three_files_in_any_order_are_one_series(void **state)
{
	(void)state;
	log_of("train.log.1", 41, 80, 1, 500000000000);
	log_of("train.log", 81, 100, 1, 900000000000);
	log_of("train.log.2", 1, 40, 1, 100000000000);
	load();
	assert_int_equal(steps.series_count, 1);
	assert_int_equal(steps.series[0].more_count, 2);
	assert_string_equal(tl_steps_part(&steps.series[0], 0).source, "train.log.2");
	assert_string_equal(tl_steps_part(&steps.series[0], 1).source, "train.log.1");
	assert_string_equal(tl_steps_part(&steps.series[0], 2).source, "train.log");
}

static void numbers_go_on_by_the_usual_stride(void **state)
{
	(void)state;
	log_of("train.log.1", 10, 490, 10, -1);
	log_of("train.log", 500, 1000, 10, -1);
	load();
	assert_int_equal(steps.series_count, 1);
	assert_int_equal(steps.series[0].count, 100);
}

static void a_row_without_a_duration_is_no_gap(void **state)
{
	(void)state;
	begin_source("train.log.1");
	for (int64_t i = 1; i <= 20; i++)
		mark(i, i * 1000,
		     i < 20 ? 1000 : -1); /* what follows the last is in the next file */
	end_source();
	begin_source("train.log");
	for (int64_t i = 21; i <= 40; i++)
		mark(i, i * 1000, 1000);
	end_source();
	load();
	assert_int_equal(steps.series_count, 1);
	assert_int_equal(steps.series[0].count, 39);
	assert_int_equal(steps.series[0].left_out, 1);
}

static void logs_with_a_gap_between_them_are_apart(void **state)
{
	(void)state;
	log_of("train.log.1", 1, 49, 1, -1);
	log_of("train.log", 51, 100, 1, -1);
	load();
	assert_int_equal(steps.series_count, 2);
}

static void logs_whose_times_go_back_are_apart(void **state)
{
	(void)state;
	log_of("a.log", 1, 49, 1, 7200000000000);
	log_of("b.log", 50, 100, 1, 100000000000);
	load();
	assert_int_equal(steps.series_count, 2);
}

static void where_two_could_go_on_none_does(void **state)
{
	(void)state;
	log_of("train.log.1", 1, 49, 1, -1);
	log_of("train.log", 50, 100, 1, -1);
	log_of("other.log", 50, 90, 1, -1);
	load();
	assert_int_equal(steps.series_count, 3);
}

static void where_two_could_come_before_none_does(void **state)
{
	(void)state;
	log_of("train.log.1", 1, 49, 1, -1);
	log_of("other.log.1", 20, 49, 1, -1);
	log_of("train.log", 50, 100, 1, -1);
	load();
	assert_int_equal(steps.series_count, 3);
}

static void a_log_of_something_else_does_not_matter(void **state)
{
	(void)state;
	log_of("train.log.1", 1, 49, 1, -1);
	log_of("other.log", 1, 80, 1, -1);
	log_of("train.log", 50, 100, 1, -1);
	load();
	assert_int_equal(steps.series_count, 2);
	assert_int_equal(steps.series[0].count, 100);
	assert_int_equal(steps.series[1].count, 80);
}

/* ---- profilers ---- */

static void slice(uint32_t on, enum tl_slice_class class_, int64_t from, int64_t to,
		  int64_t correlation, const char *name)
{
	struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true, .ts = from };

	ev.slice.track = on;
	ev.slice.class_ = class_;
	ev.slice.duration_ns = to - from;
	ev.slice.name = name;
	ev.slice.name_length = strlen(name);
	ev.slice.has_correlation = correlation != 0;
	ev.slice.correlation = correlation;
	ev.slice.stream = -1;
	emit(&ev);
}

static void begin_trace(const char *path, const char *rank, int32_t tid)
{
	struct tl_event ev = { .kind = TL_EVENT_TRACK };

	begin_source(path);
	/* a clock that is known is not moved to where the happenings look alike */
	emit(&(struct tl_event) { .kind = TL_EVENT_CLOCK,
				  .clock = { "test", TL_CLOCK_EXACT, 0, 1000, "why" } });
	if (rank)
		emit(&(struct tl_event) { .kind = TL_EVENT_META, .meta = { "rank", rank } });
	ev.track.kind = TL_TRACK_THREAD;
	ev.track.task = (struct tl_task) { tid, tid };
	ev.track.device = ev.track.stream = -1;
	emit(&ev);
	ev.track.index = STREAM;
	ev.track.kind = TL_TRACK_DEVICE;
	ev.track.task = (struct tl_task) { TL_ID_NONE, TL_ID_NONE };
	ev.track.device = 0;
	emit(&ev);
}

static void profiler_step(int64_t number, int64_t from, int64_t to)
{
	struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true, .ts = from };

	ev.slice.track = HOST;
	ev.slice.class_ = TL_SLICE_ANNOTATION;
	ev.slice.duration_ns = to - from;
	ev.slice.name = "ProfilerStep";
	ev.slice.name_length = strlen(ev.slice.name);
	ev.slice.has_step = true;
	ev.slice.step = number;
	ev.slice.stream = -1;
	emit(&ev);
}

/*
 * Steps first to last of 1000 ns each, at ts 1000 times the number. Each launches work of `busy` ns at
 * its begin; 0: none.
 */
static void cycle(const char *path, const char *rank, int32_t tid, int64_t first, int64_t last,
		  enum tl_slice_class class_, int64_t busy)
{
	begin_trace(path, rank, tid);
	for (int64_t i = first; i <= last; i++) {
		profiler_step(i, 1000 * i, 1000 * (i + 1));
		if (!busy)
			continue;
		/* correlations begin anew in each file */
		slice(HOST, TL_SLICE_RUNTIME, 1000 * i + 10, 1000 * i + 20, 1 + i - first,
		      "launch");
		slice(STREAM, class_, 1000 * i + 100, 1000 * i + 100 + busy, 1 + i - first, "work");
	}
	end_source();
}

static void cycles_of_a_known_rank_may_have_a_gap_between_them(void **state)
{
	(void)state;
	cycle("b.json", "0", 7, 103, 132, TL_SLICE_KERNEL, 0);
	cycle("a.json", "0", 7, 3, 32, TL_SLICE_KERNEL, 0);
	cycle("c.json", "0", 7, 203, 232, TL_SLICE_KERNEL, 0);
	load();
	assert_int_equal(steps.series_count, 1);
	assert_int_equal(steps.series[0].count, 90);
	assert_string_equal(steps.series[0].source, "a.json");
	assert_string_equal(tl_steps_part(&steps.series[0], 2).source, "c.json");
	assert_int_equal(steps.series[0].steps[30].number, 103);
}

static void cycles_of_an_unknown_rank_may_not(void **state)
{
	(void)state;
	cycle("a.json", NULL, 7, 3, 32, TL_SLICE_KERNEL, 0);
	cycle("b.json", NULL, 7, 103, 132, TL_SLICE_KERNEL, 0);
	cycle("c.json", NULL, 7, 133, 162, TL_SLICE_KERNEL, 0);
	load();
	assert_int_equal(steps.series_count, 2);
	assert_int_equal(steps.series[0].count, 30);
	assert_int_equal(steps.series[1].count, 60);
}

static void cycles_of_other_ranks_and_threads_are_apart(void **state)
{
	(void)state;
	cycle("a.json", "0", 7, 3, 32, TL_SLICE_KERNEL, 0);
	cycle("b.json", "1", 7, 103, 132, TL_SLICE_KERNEL, 0);
	cycle("c.json", "0", 8, 203, 232, TL_SLICE_KERNEL, 0);
	load();
	assert_int_equal(steps.series_count, 3);
}

static void a_log_does_not_go_on_where_a_profiler_ends(void **state)
{
	(void)state;
	cycle("a.json", NULL, 7, 3, 32, TL_SLICE_KERNEL, 0);
	log_of("train.log", 33, 60, 1, 33000);
	load();
	assert_int_equal(steps.series_count, 2);
}

static void cycles_that_overlap_are_apart_and_others_are_not(void **state)
{
	(void)state;
	cycle("a.json", "0", 7, 3, 32, TL_SLICE_KERNEL, 0);
	cycle("again.json", "0", 7, 20, 40, TL_SLICE_KERNEL, 0);
	cycle("b.json", "0", 7, 103, 132, TL_SLICE_KERNEL, 0);
	cycle("c.json", "0", 7, 203, 232, TL_SLICE_KERNEL, 0);
	load();
	assert_int_equal(steps.series_count, 3);
	assert_int_equal(steps.series[0].count, 30);
	assert_int_equal(steps.series[1].count, 21);
	assert_int_equal(steps.series[2].count, 60);
}

static void a_cycle_inside_another_one_hides_behind_none(void **state)
{
	(void)state;
	cycle("a.json", "0", 7, 3, 100, TL_SLICE_KERNEL, 0);
	cycle("b.json", "0", 7, 10, 20, TL_SLICE_KERNEL, 0);
	cycle("c.json", "0", 7, 50, 60, TL_SLICE_KERNEL, 0);
	load();
	assert_int_equal(steps.series_count, 3);
}

/* ---- what is asked of the device, of each source ---- */

static void each_step_is_broken_down_by_its_own_source(void **state)
{
	struct tl_steps_breakdown parts;

	(void)state;
	cycle("b.json", "0", 7, 103, 132, TL_SLICE_KERNEL, 700);
	cycle("a.json", "0", 7, 3, 32, TL_SLICE_KERNEL, 400);
	load();
	assert_int_equal(tl_steps_break_down(store, &steps, &parts, &err), TL_OK);
	assert_int_equal(parts.count, 60);
	for (size_t i = 0; i < 60; i++) {
		assert_int_equal(parts.parts[i].step, i);
		assert_int_equal(parts.parts[i].busy_ns, i < 30 ? 400 : 700);
		assert_int_equal(parts.parts[i].launch_count, 1);
	}
	tl_steps_breakdown_release(&parts);
}

static void ranks_are_compared_over_all_cycles(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	cycle("a0.json", "0", 7, 3, 12, TL_SLICE_COMMUNICATION, 400);
	cycle("b1.json", "1", 8, 103, 112, TL_SLICE_COMMUNICATION, 100);
	cycle("a1.json", "1", 8, 3, 12, TL_SLICE_COMMUNICATION, 400);
	cycle("b0.json", "0", 7, 103, 112, TL_SLICE_COMMUNICATION, 500);
	load();
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_int_equal(ranks.rank_count, 2);
	assert_int_equal(ranks.step_count, 20);
	assert_int_equal(ranks.steps[9].late_rank, -1);
	assert_int_equal(ranks.steps[10].number, 103);
	assert_int_equal(ranks.steps[10].late_rank, 1);
	assert_int_equal(ranks.steps[10].late_ns, 400);
	assert_int_equal((int)ranks.ranks[0].collective_ns, 450);
	tl_ranks_release(&ranks);
}

static void a_cycle_without_collectives_makes_nobody_late(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	cycle("a0.json", "0", 7, 3, 12, TL_SLICE_COMMUNICATION, 400);
	cycle("a1.json", "1", 8, 3, 12, TL_SLICE_COMMUNICATION, 300);
	cycle("b0.json", "0", 7, 103, 112, TL_SLICE_COMMUNICATION, 500);
	cycle("b1.json", "1", 8, 103, 112, TL_SLICE_COMMUNICATION, 0);
	load();
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_int_equal(ranks.step_count, 20);
	assert_true(ranks.steps[9].has_collectives);
	assert_false(ranks.steps[10].has_collectives);
	assert_int_equal(ranks.late.step_count, 10);
	assert_int_equal(ranks.late.late_count, 10);
	assert_non_null(strstr(ranks.verdict, "of 10 more steps not all collectives are known"));
	tl_ranks_release(&ranks);
}

static void what_is_not_compared_is_told(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	cycle("a0.json", "0", 7, 3, 12, TL_SLICE_KERNEL, 0);
	cycle("again0.json", "0", 7, 8, 17, TL_SLICE_KERNEL,
	      0); /* as long: the earlier one counts */
	cycle("a1.json", "1", 8, 3, 12, TL_SLICE_KERNEL, 0);
	load();
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_int_equal(ranks.step_count, 10);
	assert_non_null(strstr(ranks.verdict, "1 more series of these ranks is not compared"));
	tl_ranks_release(&ranks);
}

static void a_view_of_the_steps_sees_all_their_sources(void **state)
{
	struct tl_step_view view;

	(void)state;
	cycle("b.json", "0", 7, 103, 132, TL_SLICE_KERNEL, 700);
	cycle("a.json", "0", 7, 3, 32, TL_SLICE_KERNEL, 400);
	assert_int_equal(tl_step_view_load(&view, store, NULL, &err), TL_OK);
	assert_int_equal(view.step_count, 60);
	assert_string_equal(view.step_source, "a.json and 1 more");
	assert_int_equal(view.own_count, 2);
	assert_int_equal(view.op_count, 60);
	assert_int_equal(view.kernel_count, 60);
	for (size_t i = 0; i < 60; i++)
		assert_int_equal(view.kernels[i].launch_ns, view.steps[i].begin_ns + 10);
	tl_step_view_release(&view);
}

#define JOIN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOIN_TEST(rotated_logs_are_one_series),
		JOIN_TEST(the_order_of_import_plays_no_part),
		JOIN_TEST(a_slow_begin_of_the_second_file_is_no_warm_up),
		JOIN_TEST(each_stored_step_keeps_its_source),
		JOIN_TEST(three_files_in_any_order_are_one_series),
		JOIN_TEST(numbers_go_on_by_the_usual_stride),
		JOIN_TEST(a_row_without_a_duration_is_no_gap),
		JOIN_TEST(logs_with_a_gap_between_them_are_apart),
		JOIN_TEST(logs_whose_times_go_back_are_apart),
		JOIN_TEST(where_two_could_go_on_none_does),
		JOIN_TEST(where_two_could_come_before_none_does),
		JOIN_TEST(a_log_of_something_else_does_not_matter),
		JOIN_TEST(cycles_of_a_known_rank_may_have_a_gap_between_them),
		JOIN_TEST(cycles_of_an_unknown_rank_may_not),
		JOIN_TEST(cycles_of_other_ranks_and_threads_are_apart),
		JOIN_TEST(a_log_does_not_go_on_where_a_profiler_ends),
		JOIN_TEST(cycles_that_overlap_are_apart_and_others_are_not),
		JOIN_TEST(a_cycle_inside_another_one_hides_behind_none),
		JOIN_TEST(each_step_is_broken_down_by_its_own_source),
		JOIN_TEST(ranks_are_compared_over_all_cycles),
		JOIN_TEST(a_cycle_without_collectives_makes_nobody_late),
		JOIN_TEST(what_is_not_compared_is_told),
		JOIN_TEST(a_view_of_the_steps_sees_all_their_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
