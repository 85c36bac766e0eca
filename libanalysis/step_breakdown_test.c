/*
 * step_breakdown_test.c - splits of steps and comparisons of ranks, of traces so small that they are
 * counted by hand.
 */
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "source_example.h"

static struct tl_steps steps;
static struct tl_steps_breakdown parts;

enum { HOST, STREAM, OTHER_STREAM, SPLIT };

static int setup(void **state)
{
	memset(&steps, 0, sizeof(steps));
	memset(&parts, 0, sizeof(parts));
	return setup_store(state);
}

static int teardown(void **state)
{
	tl_steps_breakdown_release(&parts);
	tl_steps_release(&steps);
	return teardown_store(state);
}

static void track(uint32_t index, enum tl_track_kind kind, int32_t tid, int32_t device)
{
	struct tl_event ev = { .kind = TL_EVENT_TRACK };

	ev.track.index = index;
	ev.track.kind = kind;
	ev.track.task = (struct tl_task) { tid, tid };
	ev.track.device = device;
	ev.track.stream = -1;
	emit(&ev);
}

static void begin(const char *path, const char *rank)
{
	begin_source(path);
	if (rank)
		emit(&(struct tl_event) { .kind = TL_EVENT_META, .meta = { "rank", rank } });
	track(HOST, TL_TRACK_THREAD, 4242, -1);
	track(STREAM, TL_TRACK_DEVICE, TL_ID_NONE, 0);
	track(OTHER_STREAM, TL_TRACK_DEVICE, TL_ID_NONE, 0);
	track(SPLIT, TL_TRACK_OTHER, TL_ID_NONE, 0);
}

/* correlation 0: none */
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

static void step(int64_t number, int64_t from, int64_t to)
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

static void arrow(uint32_t on, enum tl_flow_phase phase, int64_t ts, uint64_t id,
		  const char *category)
{
	struct tl_event ev = { .kind = TL_EVENT_FLOW, .has_ts = true, .ts = ts };

	ev.flow.track = on;
	ev.flow.phase = phase;
	ev.flow.id = id;
	ev.flow.category = category;
	ev.flow.category_length = strlen(category);
	emit(&ev);
}

static const struct tl_step_parts *break_down(size_t count)
{
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_steps_break_down(store, &steps, &parts, &err), TL_OK);
	assert_int_equal(parts.count, count);
	return parts.parts;
}

static void the_parts_of_a_step_add_up(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	begin("trace.json", NULL);
	step(7, 1000, 2000);
	slice(HOST, TL_SLICE_RUNTIME, 1050, 1060, 1, "launch");
	slice(STREAM, TL_SLICE_KERNEL, 1100, 1200, 1, "k"); /* idle 1000: late 50, launched 50 */
	slice(HOST, TL_SLICE_RUNTIME, 1300, 1310, 2, "launch");
	slice(OTHER_STREAM, TL_SLICE_COMMUNICATION, 1320, 1500, 2, "nccl"); /* late 100, 20 */
	slice(HOST, TL_SLICE_RUNTIME, 1330, 1345, 3, "launch");
	slice(STREAM, TL_SLICE_KERNEL, 1400, 1600, 3, "k"); /* hides 100 of it */
	slice(HOST, TL_SLICE_RUNTIME, 1400, 1410, 4, "copy");
	slice(OTHER_STREAM, TL_SLICE_MEMORY_COPY, 1590, 1650, 4, "copy"); /* 50 alone */
	slice(HOST, TL_SLICE_RUNTIME, 1500, 1510, 99, "nothing came of it");
	commit_source();
	p = break_down(1);
	assert_true(p->has_work);
	assert_false(p->has_told);
	assert_int_equal(p->device, 0);
	assert_int_equal(p->work.computing_ns, 300);
	assert_int_equal(p->work.communication_ns, 180);
	assert_int_equal(p->work.exposed_ns, 80);
	assert_int_equal(p->copying_ns, 50);
	assert_int_equal(p->busy_ns, 430);
	assert_int_equal(p->idle_late_ns, 150);
	assert_int_equal(p->idle_launched_ns, 70);
	assert_int_equal(p->idle_other_ns, 350); /* nothing follows */
	assert_int_equal(p->work.preparing_ns, 100);
	assert_int_equal(p->work.stage_ns, 500);
	assert_int_equal(p->work.free_ns, 120);
	assert_int_equal(p->task_count, 4);
	assert_int_equal(p->launch_count, 4);
	assert_int_equal((int)p->launch_gap_ns, 55); /* 240 20 55 */
	assert_int_equal((int)p->launch_gap_max_ns, 240);
	assert_int_equal((int)p->delay_ns, 60); /* 50 20 70 190 */
	assert_int_equal((int)p->delay_max_ns, 190);
	assert_int_equal(p->early_count, 0);
}

static void work_that_crosses_a_step_counts_in_both(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	begin("trace.json", NULL);
	step(1, 1000, 2000);
	step(2, 2000, 3000);
	slice(STREAM, TL_SLICE_KERNEL, 1900, 2300, 0, "k");
	slice(STREAM, TL_SLICE_KERNEL, 2200, 2250, 0, "inside of it");
	commit_source();
	p = break_down(2);
	assert_int_equal(p[0].busy_ns, 100);
	assert_int_equal(p[1].busy_ns, 300);
	assert_int_equal(p[0].idle_other_ns, 900);
	assert_int_equal(p[1].idle_other_ns, 700);
	assert_int_equal(p[1].work.preparing_ns, 0);
}

static void the_next_work_tells_why_the_end_of_a_step_is_idle(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	begin("trace.json", NULL);
	step(1, 1000, 2000);
	slice(HOST, TL_SLICE_RUNTIME, 1900, 1910, 5, "launch");
	slice(STREAM, TL_SLICE_KERNEL, 2100, 2200, 5, "k");
	commit_source();
	p = break_down(1);
	assert_int_equal(p->idle_late_ns, 900);
	assert_int_equal(p->idle_launched_ns, 100);
	assert_int_equal(p->busy_ns, 0);
	assert_int_equal(p->work.preparing_ns, -1);
}

static void arrows_stand_for_launches_that_are_not_in_the_trace(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	begin("trace.json", NULL);
	step(1, 1000, 2000);
	arrow(HOST, TL_FLOW_BEGIN, 1100, 7, "wish");
	arrow(HOST, TL_FLOW_BEGIN, 1150, 7, "launch");
	slice(STREAM, TL_SLICE_KERNEL, 1200, 1300, 0, "k");
	arrow(STREAM, TL_FLOW_END, 1200, 7, "wish");
	arrow(STREAM, TL_FLOW_END, 1200, 7, "launch");
	arrow(OTHER_STREAM, TL_FLOW_END, 1200, 7, "elsewhere");
	commit_source();
	p = break_down(1);
	assert_int_equal(p->launch_count, 1);
	assert_int_equal((int)p->delay_ns, 50);
	assert_int_equal(p->idle_late_ns, 150);
	assert_int_equal(p->idle_launched_ns, 50);
}

static void an_id_that_is_used_again_belongs_to_the_last_launch_before(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	begin("trace.json", NULL);
	step(1, 1000, 2000);
	slice(HOST, TL_SLICE_RUNTIME, 1010, 1020, 5, "launch");
	slice(STREAM, TL_SLICE_KERNEL, 1030, 1100, 5, "k");
	slice(HOST, TL_SLICE_RUNTIME, 1510, 1520, 5, "launch");
	slice(STREAM, TL_SLICE_KERNEL, 1530, 1600, 5, "k");
	commit_source();
	p = break_down(1);
	assert_int_equal(p->launch_count, 2);
	assert_int_equal((int)p->delay_max_ns, 20);
}

static void launches_after_their_work_are_counted(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	begin("trace.json", NULL);
	step(1, 1000, 2000);
	slice(HOST, TL_SLICE_RUNTIME, 1110, 1120, 5, "launch");
	slice(STREAM, TL_SLICE_KERNEL, 1100, 1200, 5, "k");
	commit_source();
	p = break_down(1);
	assert_int_equal(p->early_count, 1);
	assert_int_equal((int)p->delay_ns, -10);
	assert_int_equal(p->idle_late_ns, 100); /* not more than there is */
}

/*
 * Two steps, the device half a step behind: a span is of the step whose work the device was doing when
 * it began, whole.
 */
static void what_the_profiler_says_is_of_the_step_that_asked_for_it(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	begin("trace.json", NULL);
	step(1, 1000, 2000);
	step(2, 2000, 3000);
	arrow(HOST, TL_FLOW_BEGIN, 1100, 1, "a");
	slice(STREAM, TL_SLICE_KERNEL, 1500, 1700, 0, "k1");
	arrow(STREAM, TL_FLOW_END, 1500, 1, "a");
	arrow(HOST, TL_FLOW_BEGIN, 1200, 2, "a");
	slice(STREAM, TL_SLICE_COMMUNICATION, 2100, 2400, 0, "c1"); /* step 1 lasts to 2400 here */
	arrow(STREAM, TL_FLOW_END, 2100, 2, "a");
	arrow(HOST, TL_FLOW_BEGIN, 2200, 3, "a");
	slice(STREAM, TL_SLICE_KERNEL, 2500, 3300, 0, "k2"); /* step 2: 2500 to 3300 */
	arrow(STREAM, TL_FLOW_END, 2500, 3, "a");
	slice(SPLIT, TL_SLICE_OVERLAP, 1500, 1700, 0, "Computing");
	slice(SPLIT, TL_SLICE_OVERLAP, 1700, 2100, 0, "Free");
	slice(SPLIT, TL_SLICE_OVERLAP, 2100, 2400, 0, "Communication");
	slice(SPLIT, TL_SLICE_OVERLAP, 2100, 2400, 0, "Communication(Not Overlapped)");
	slice(SPLIT, TL_SLICE_OVERLAP, 2400, 2500, 0, "Free"); /* of neither */
	slice(SPLIT, TL_SLICE_OVERLAP, 2500, 3300, 0, "Computing");
	slice(SPLIT, TL_SLICE_OVERLAP, 2600, 2700, 0, "something else");
	commit_source();
	p = break_down(2);
	assert_true(p[0].has_told && p[1].has_told);
	assert_int_equal(p[0].told.computing_ns, 200);
	assert_int_equal(p[0].told.free_ns, 400);
	assert_int_equal(p[0].told.communication_ns, 300);
	assert_int_equal(p[0].told.exposed_ns, 300);
	assert_int_equal(p[0].told.stage_ns, 900);
	assert_int_equal(p[0].told.preparing_ns, 500);
	assert_int_equal(p[1].told.computing_ns, 800);
	assert_int_equal(p[1].told.free_ns, 0);
	assert_int_equal(p[1].told.stage_ns, 800);
	assert_int_equal(p[1].told.preparing_ns, 500);
	assert_int_equal(p[0].work.communication_ns, 0); /* none ran during the host's step */
}

static void a_device_that_is_only_told_of_has_no_work(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	begin("trace.json", NULL);
	track(SPLIT, TL_TRACK_OTHER, TL_ID_NONE, 1);
	step(1, 1000, 2000);
	slice(STREAM, TL_SLICE_KERNEL, 1500, 1700, 0, "k1");
	slice(SPLIT, TL_SLICE_OVERLAP, 1500, 1700, 0, "Computing");
	commit_source();
	p = break_down(2);
	assert_int_equal(p[0].device, 0);
	assert_true(p[0].has_work && !p[0].has_told);
	assert_int_equal(p[1].device, 1);
	assert_true(!p[1].has_work && p[1].has_told);
}

static void mark(int64_t number, int32_t rank, int64_t ts, int64_t duration, const char *detail)
{
	struct tl_event ev = { .kind = TL_EVENT_STEP, .has_ts = ts >= 0, .ts = ts };

	ev.step.number = number;
	ev.step.rank = rank;
	ev.step.duration_ns = duration;
	ev.step.detail = detail;
	emit(&ev);
}

static void a_table_that_splits_steps_is_believed(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	begin("step_trace_time.csv", NULL);
	mark(50, -1, -1, 900, NULL);
	mark(51, -1, -1, 1000,
	     "{\"computing_ns\":600,\"communication_ns\":300,\"exposed_ns\":250,\"free_ns\":150}");
	commit_source();
	p = break_down(1);
	assert_false(p->has_work);
	assert_int_equal(steps.series[0].steps[p->step].number, 51);
	assert_int_equal(p->told.computing_ns, 600);
	assert_int_equal(p->told.free_ns, 150);
	assert_int_equal(p->told.preparing_ns, -1);
}

static void steps_of_a_log_are_split_by_the_trace_of_their_rank(void **state)
{
	const struct tl_step_parts *p;

	(void)state;
	for (int rank = 0; rank < 2; rank++) {
		begin(rank ? "rank1.json" : "rank0.json", rank ? "1" : "0");
		slice(STREAM, TL_SLICE_KERNEL, 900, 1100, 0, "k");
		slice(STREAM, TL_SLICE_KERNEL, 1500, rank ? 2600 : 2100, 0, "k");
		commit_source();
	}
	begin("train.log", NULL);
	mark(1, 1, 0, 1000, NULL); /* only half of it is in the trace */
	mark(2, 1, 1000, 1000, NULL);
	commit_source();
	p = break_down(1);
	assert_int_equal(steps.series[p->series].steps[p->step].number, 2);
	assert_int_equal(p->busy_ns, 600);
}

static void without_device_work_it_is_said_what_is_missing(void **state)
{
	(void)state;
	begin("train.log", NULL);
	mark(1, 0, 0, 1000, NULL);
	commit_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_steps_break_down(store, &steps, &parts, &err), TL_NOTHING);
	assert_non_null(strstr(err.text, "no device work"));
}

static void times_at_the_limits_of_a_clock_do_no_harm(void **state)
{
	(void)state;
	begin("trace.json", NULL);
	step(1, INT64_MAX - 10, INT64_MAX);
	step(2, INT64_MIN + 1, -10);
	slice(HOST, TL_SLICE_RUNTIME, INT64_MIN + 2, INT64_MIN + 3, 5, "launch");
	slice(STREAM, TL_SLICE_KERNEL, INT64_MAX - 5, INT64_MAX, 5, "k");
	slice(STREAM, TL_SLICE_KERNEL, INT64_MIN, INT64_MIN + 5, 6, "k");
	slice(SPLIT, TL_SLICE_OVERLAP, INT64_MAX - 5, INT64_MAX, 0, "Computing");
	slice(SPLIT, TL_SLICE_OVERLAP, INT64_MIN, INT64_MIN + 5, 0, "Computing");
	arrow(HOST, TL_FLOW_BEGIN, INT64_MIN + 2, 6, "a");
	arrow(STREAM, TL_FLOW_END, INT64_MAX - 5, 6, "a");
	commit_source();
	if (tl_steps_load(store, NULL, &steps, &err) == TL_OK)
		tl_steps_break_down(store, &steps, &parts, &err);
}

/* ---- ranks ---- */

/* One step of 1000; a collective launched at its end takes `collective`, into the next step. */
static void rank_trace(const char *path, const char *rank, int64_t duration, int64_t collective)
{
	begin(path, rank);
	step(3, 1000, 1000 + duration);
	step(4, 5000, 5000 + duration);
	for (int64_t i = 0; i < 2; i++) {
		int64_t at = 4000 * i + 900 + duration;

		slice(HOST, TL_SLICE_RUNTIME, at, at + 5, 10 + i, "launch");
		slice(STREAM, TL_SLICE_COMMUNICATION, at + 50, at + 50 + collective, 10 + i,
		      "nccl");
		slice(OTHER_STREAM, TL_SLICE_COMMUNICATION, at + 50, at + 60, 10 + i, "within it");
	}
	commit_source();
}

static void who_waits_least_is_late(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	rank_trace("r1.json", "1", 1000, 700);
	rank_trace("r0.json", "0", 1010, 800);
	rank_trace("r2.json", "2", 1040, 100);
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_int_equal(ranks.rank_count, 3);
	assert_int_equal(ranks.ranks[1].rank, 1);
	assert_int_equal((int)ranks.ranks[1].collective_ns, 700); /* what overlaps counts once */
	assert_int_equal((int)ranks.ranks[1].waiting_ns, 600);
	assert_int_equal(ranks.step_count, 2);
	assert_int_equal(ranks.steps[0].number, 3);
	assert_int_equal(ranks.steps[0].slowest_rank, 2);
	assert_int_equal(ranks.steps[0].fastest_rank, 1);
	assert_int_equal(ranks.steps[0].late_rank, 2);
	assert_int_equal(ranks.steps[0].late_ns, 650); /* than 750 of the others */
	assert_int_equal(ranks.steps[1].most_ns, 800);
	assert_true(ranks.late.is_known);
	assert_int_equal(ranks.late.rank, 2);
	assert_non_null(strstr(ranks.verdict, "rank 2 is late"));
	/* any of 3 in both of 2 steps: 3 (1/3)^2 */
	assert_true(fabs(ranks.late.p - 1.0 / 3) < 1e-12);
	assert_non_null(strstr(ranks.verdict, "too few steps to call it a habit"));
	tl_ranks_release(&ranks);
}

static void one_of_two_ranks_is_late_by_all_that_the_other_waits(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	rank_trace("r0.json", "0", 1000, 180);
	rank_trace("r1.json", "1", 1000, 100);
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_int_equal(ranks.steps[0].late_ns, 80);
	assert_true(ranks.late.is_known); /* 8 % of a step */
	assert_int_equal(ranks.late.rank, 1);
	tl_ranks_release(&ranks);
}

static void of_ranks_that_spend_the_same_none_is_late(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	rank_trace("r0.json", "0", 1000, 100);
	rank_trace("r1.json", "1", 1000, 100);
	rank_trace("r2.json", "2", 1000, 700);
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_int_equal(ranks.steps[0].late_rank, -1);
	assert_int_equal(ranks.ranks[0].late_count, 0);
	assert_false(ranks.late.is_known);
	tl_ranks_release(&ranks);
}

static void who_is_late_in_slow_steps_is_found_among_them_alone(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	rank_trace("r0.json", "0", 1000, 180);
	rank_trace("r1.json", "1", 1000, 100);
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(steps.series[1].count, 2);
	steps.series[1].steps[1].class_ = "slow";
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_int_equal(ranks.late.step_count, 2);
	assert_int_equal(ranks.slow_late.step_count, 1);
	assert_true(ranks.slow_late.is_known);
	assert_int_equal(ranks.slow_late.rank, 1);
	assert_null(strstr(ranks.verdict, "slow")); /* the same one as in all of them */
	tl_ranks_release(&ranks);
}

static void ranks_that_take_the_same_are_not_slowest(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	begin("train.log", NULL);
	for (int64_t i = 0; i < 4; i++) {
		mark(i, 0, -1, 1000, NULL);
		mark(i, 1, -1, 1000, NULL);
	}
	commit_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_int_equal(ranks.steps[0].slowest_rank, -1);
	assert_int_equal(ranks.ranks[0].slowest_count, 0);
	assert_non_null(strstr(ranks.verdict, "no rank is slowest alone"));
	tl_ranks_release(&ranks);
}

static void ranks_that_wait_alike_have_no_late_one(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	rank_trace("r0.json", "0", 1000, 700);
	rank_trace("r1.json", "1", 1000, 690);
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_false(ranks.late.is_known);
	assert_non_null(strstr(ranks.verdict, "no rank is late"));
	tl_ranks_release(&ranks);
}

static void logs_tell_who_is_slowest_but_not_who_is_late(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	begin("train.log", NULL);
	for (int64_t i = 0; i < 4; i++) {
		mark(i, 0, -1, 1000, NULL);
		if (i != 2) /* a line that is missing */
			mark(i, 1, -1, 1100, NULL);
	}
	commit_source();
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_OK);
	assert_int_equal(ranks.step_count, 3);
	assert_int_equal(ranks.ranks[1].slowest_count, 3);
	assert_int_equal(ranks.steps[2].number, 3);
	assert_false(ranks.late.is_known);
	assert_non_null(strstr(ranks.verdict, "rank 1 is slowest in 3 of 3 steps"));
	assert_non_null(strstr(ranks.verdict, "cannot be told"));
	tl_ranks_release(&ranks);
}

static void one_rank_is_not_compared(void **state)
{
	struct tl_ranks ranks;

	(void)state;
	rank_trace("r0.json", "0", 1000, 700);
	assert_int_equal(tl_steps_load(store, NULL, &steps, &err), TL_OK);
	assert_int_equal(tl_ranks_load(store, &steps, 0, &ranks, &err), TL_NOTHING);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_parts_of_a_step_add_up),
		TEST(work_that_crosses_a_step_counts_in_both),
		TEST(the_next_work_tells_why_the_end_of_a_step_is_idle),
		TEST(arrows_stand_for_launches_that_are_not_in_the_trace),
		TEST(an_id_that_is_used_again_belongs_to_the_last_launch_before),
		TEST(launches_after_their_work_are_counted),
		TEST(what_the_profiler_says_is_of_the_step_that_asked_for_it),
		TEST(a_device_that_is_only_told_of_has_no_work),
		TEST(a_table_that_splits_steps_is_believed),
		TEST(steps_of_a_log_are_split_by_the_trace_of_their_rank),
		TEST(without_device_work_it_is_said_what_is_missing),
		TEST(times_at_the_limits_of_a_clock_do_no_harm),
		TEST(who_waits_least_is_late),
		TEST(one_of_two_ranks_is_late_by_all_that_the_other_waits),
		TEST(of_ranks_that_spend_the_same_none_is_late),
		TEST(who_is_late_in_slow_steps_is_found_among_them_alone),
		TEST(ranks_that_take_the_same_are_not_slowest),
		TEST(ranks_that_wait_alike_have_no_late_one),
		TEST(logs_tell_who_is_slowest_but_not_who_is_late),
		TEST(one_rank_is_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
