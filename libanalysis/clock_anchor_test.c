/*
 * clock_anchor_test.c - lines through snapshots of clocks whose course is known because it was made up,
 * and the sources that they hold for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock_anchor.h"
#include "random.h"
#include "store_example.h"

#define UNIX INT64_C(1700000000000000000)
#define BOOT INT64_C(13770000000000) /* what the clock shows at UNIX */
#define S    INT64_C(1000000000)

/* The true course: so many ppm fast or slow against the wall clock. */
static int64_t true_realtime(int64_t value, double ppm)
{
	int64_t since = value - BOOT;

	return UNIX + since + llround((double)since * ppm / 1e6);
}

static struct tl_clock_anchor anchor(int64_t seconds, double ppm, int64_t error, int64_t width)
{
	int64_t value = BOOT + seconds * S;

	return (struct tl_clock_anchor) { true_realtime(value, ppm) + error, value, width };
}

static int64_t error_at(const struct tl_clock_fit *fit, int64_t seconds, double ppm)
{
	int64_t value = BOOT + seconds * S;

	return llabs(tl_clock_unix(fit->line, value) - true_realtime(value, ppm));
}

static void one_snapshot_gives_an_offset(void **state)
{
	struct tl_clock_anchor a = anchor(0, 0, 0, 40);
	struct tl_clock_fit fit;

	(void)state;
	assert_true(tl_clock_fit(&a, 1, &fit));
	assert_true(fit.line.slope == 1);
	assert_int_equal(fit.line.offset_ns, UNIX - BOOT);
	assert_int_equal(fit.residual_ns, 20);
}

/* 100 ppm, as crystals may, of ten seconds. */
static void one_snapshot_says_nothing_of_the_rate(void **state)
{
	struct tl_clock_anchor a = anchor(0, 0, 0, 40);
	struct tl_clock_fit fit;

	(void)state;
	assert_true(tl_clock_fit(&a, 1, &fit));
	assert_int_equal(tl_clock_fit_residual(&fit, BOOT, BOOT), 20);
	assert_int_equal(tl_clock_fit_residual(&fit, BOOT - 10 * S, BOOT), 20 + 1000000);
}

static void two_snapshots_give_the_drift(void **state)
{
	struct tl_clock_anchor a[2] = { anchor(0, 12.5, 0, 40), anchor(60, 12.5, 0, 40) };
	struct tl_clock_fit fit;

	(void)state;
	assert_true(tl_clock_fit(a, 2, &fit));
	assert_true(fabs((fit.line.slope - 1) * 1e6 - 12.5) < 0.001);
	assert_true(error_at(&fit, 30, 12.5) <= 1);
	assert_true(error_at(&fit, 3600, 12.5) <= 10);
}

static void snapshots_too_near_to_each_other_give_no_drift(void **state)
{
	struct tl_clock_anchor a[2] = { { UNIX, BOOT, 40 },
					{ UNIX + 1000030, BOOT + 1000000, 40 } };
	struct tl_clock_fit fit;

	(void)state;
	assert_true(tl_clock_fit(a, 2, &fit));
	assert_true(fit.line.slope == 1);
}

/* One in ten seconds, each wrong by up to half of its width. */
static void an_hour_with_drift_is_mapped_within_the_widths(void **state)
{
	struct tl_clock_anchor a[361];
	struct tl_random random = { 7 };
	struct tl_clock_fit fit;

	(void)state;
	for (int i = 0; i <= 360; i++) {
		int64_t width = 400 + (int64_t)(tl_random_u64(&random) % 400);

		a[i] = anchor(i * 10, -38, (int64_t)(tl_random_u64(&random) % 400) - 200, width);
	}
	assert_true(tl_clock_fit(a, 361, &fit));
	assert_int_equal(fit.miss_ns, 0);
	assert_true(fit.residual_ns >= 200 && fit.residual_ns <= 400);
	for (int64_t second = 0; second <= 3600; second += 7)
		assert_true(error_at(&fit, second, -38) <= fit.residual_ns);
}

static void a_snapshot_that_was_disturbed_counts_little(void **state)
{
	struct tl_clock_anchor a[3] = { anchor(0, 5, 0, 40), anchor(5, 5, 2000000, 4000000),
					anchor(10, 5, 0, 40) };
	struct tl_clock_fit fit;

	(void)state;
	assert_true(tl_clock_fit(a, 3, &fit));
	assert_true(error_at(&fit, 5, 5) < 50);
	assert_int_equal(fit.miss_ns, 0);
	assert_int_equal(fit.residual_ns, 20);
}

static void a_wall_clock_that_was_set_shows_in_the_residual(void **state)
{
	struct tl_clock_anchor a[4] = { anchor(0, 0, 0, 40), anchor(10, 0, 0, 40),
					anchor(20, 0, 3 * S, 40), anchor(30, 0, 3 * S, 40) };
	struct tl_clock_fit fit;

	(void)state;
	assert_true(tl_clock_fit(a, 4, &fit));
	/* no line is nearer to all of them than half of the jump */
	assert_true(fit.miss_ns >= S);
	assert_true(tl_clock_fit_residual(&fit, BOOT, BOOT + 30 * S) >= S);
}

static void any_values_are_survived(void **state)
{
	static const int64_t odd[] = { INT64_MIN, INT64_MIN + 1, -1,	   0, 1,
				       S,	  INT64_MAX - 1, INT64_MAX };
	struct tl_random random = { 7 };

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct tl_clock_anchor a[4];
		struct tl_clock_fit fit;

		for (int i = 0; i < 4; i++) {
			a[i].realtime_ns = odd[tl_random_u64(&random) % 8];
			a[i].value_ns = odd[tl_random_u64(&random) % 8];
			a[i].width_ns = odd[3 + tl_random_u64(&random) % 5];
		}
		if (tl_clock_fit(a, 1 + tl_random_u64(&random) % 4, &fit))
			assert_true(tl_clock_fit_residual(&fit, odd[round % 8],
							  odd[round / 8 % 8]) >= 0);
	}
}

static void nothing_is_fitted_through_nothing(void **state)
{
	struct tl_clock_fit fit;

	(void)state;
	assert_false(tl_clock_fit(NULL, 0, &fit));
}

/* ---- sources ---- */

static void emit(struct tl_writer *writer, const struct tl_event *ev)
{
	struct tl_sink *sink = tl_writer_sink(writer);

	assert_int_equal(sink->emit(sink, ev, &err), TL_OK);
}

static struct tl_writer *begin(const char *name, const char *host)
{
	const struct tl_source_description source = { .path = name, .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true };
	struct tl_event ev = { .kind = TL_EVENT_META };
	struct tl_writer *writer;

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	ev.meta = (struct tl_event_meta) { "hostname", host };
	emit(writer, &ev);
	return writer;
}

static void end(struct tl_writer *writer)
{
	const struct tl_import_result result = { 0 };

	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
}

/* Snapshots of a clock at two moments, 10 s apart, `ppm` fast. */
static void import_snapshots(const char *host, int64_t from, double ppm, int64_t width)
{
	struct tl_writer *writer = begin("clocks", host);
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	ev.clock = (struct tl_event_clock) { "realtime", TL_CLOCK_EXACT, 0, 0, "why" };
	emit(writer, &ev);
	for (int64_t i = 0; i <= 10; i += 10) {
		struct tl_clock_anchor a = anchor(from + i, ppm, 0, width);

		ev = (struct tl_event) { .kind = TL_EVENT_CLOCK_ANCHOR,
					 .has_ts = true,
					 .ts = a.realtime_ns };
		ev.clock_anchor =
			(struct tl_event_clock_anchor) { "sched_clock", a.value_ns, a.width_ns };
		emit(writer, &ev);
	}
	end(writer);
}

/* A source with one sample, `seconds` on its way, that knows no better than an offset of 5. */
static void import_source(const char *host, const char *clock, enum tl_clock_method method,
			  int64_t seconds)
{
	struct tl_writer *writer = begin("perf", host);
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };

	ev.clock = (struct tl_event_clock) { clock, method, 5, -1, "why" };
	emit(writer, &ev);
	ev = (struct tl_event) { .kind = TL_EVENT_SAMPLE,
				 .has_ts = true,
				 .ts = BOOT + seconds * S };
	ev.sample.task = (struct tl_task) { 7, 7 };
	ev.sample.real_tid = TL_ID_NONE;
	ev.sample.period = 1;
	emit(writer, &ev);
	end(writer);
}

static void settle(void)
{
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
}

static void a_source_is_mapped_by_the_snapshots_of_its_host(void **state)
{
	(void)state;
	import_snapshots("a", 0, 20, 600);
	import_source("a", "sched_clock", TL_CLOCK_ASSUMED, 5);
	settle();
	/* 20 ppm of 5 s are 100 us */
	assert_int_equal(value("SELECT ts FROM sample"), UNIX + 5 * S + 100000);
	assert_int_equal(value("SELECT clock_method = 'anchored' FROM source WHERE source_id = 2"),
			 1);
	assert_int_equal(value("SELECT clock_residual_ns FROM source WHERE source_id = 2"), 300);
	assert_int_equal(value("SELECT clock_reference_id FROM source WHERE source_id = 2"), 1);
}

static void it_does_not_matter_which_came_first(void **state)
{
	(void)state;
	import_source("a", "sched_clock", TL_CLOCK_ASSUMED, 5);
	settle();
	assert_int_equal(value("SELECT ts FROM sample"), BOOT + 5 * S + 5);
	import_snapshots("a", 0, 20, 600);
	settle();
	settle();
	assert_int_equal(value("SELECT ts FROM sample"), UNIX + 5 * S + 100000);
	assert_int_equal(value("SELECT count(*) FROM clock_claim WHERE method = 'anchored'"), 1);
}

static void other_hosts_are_left_alone(void **state)
{
	(void)state;
	import_snapshots("a", 0, 20, 600);
	import_source("b", "sched_clock", TL_CLOCK_ASSUMED, 5);
	settle();
	assert_int_equal(value("SELECT ts FROM sample"), BOOT + 5 * S + 5);
}

static void other_clocks_are_left_alone(void **state)
{
	(void)state;
	import_snapshots("a", 0, 20, 600);
	import_source("a", "monotonic", TL_CLOCK_ASSUMED, 5);
	settle();
	assert_int_equal(value("SELECT ts FROM sample"), BOOT + 5 * S + 5);
}

static void recordings_of_another_time_are_left_alone(void **state)
{
	(void)state;
	import_snapshots("a", 0, 20, 600);
	import_source("a", "sched_clock", TL_CLOCK_ASSUMED, 71);
	settle();
	assert_int_equal(value("SELECT ts FROM sample"), BOOT + 71 * S + 5);
}

static void outside_of_the_snapshots_the_residual_grows(void **state)
{
	(void)state;
	import_snapshots("a", 0, 20, 600);
	import_source("a", "sched_clock", TL_CLOCK_ASSUMED, 60);
	settle();
	/* the rate is known to 600 ns in 10 s: 300 + 50 * 60 */
	assert_int_equal(value("SELECT clock_residual_ns FROM source WHERE source_id = 2"), 3300);
}

static void what_times_are_cut_off_by_is_in_the_residual(void **state)
{
	struct tl_writer *writer;
	struct tl_event ev = { .kind = TL_EVENT_META };

	(void)state;
	import_snapshots("a", 0, 20, 600);
	writer = begin("log", "a");
	ev.meta = (struct tl_event_meta) { TL_META_RESOLUTION, "1000" };
	emit(writer, &ev);
	ev = (struct tl_event) { .kind = TL_EVENT_CLOCK };
	ev.clock = (struct tl_event_clock) { "sched_clock", TL_CLOCK_ASSUMED, 5, -1, "why" };
	emit(writer, &ev);
	ev = (struct tl_event) { .kind = TL_EVENT_LOG, .has_ts = true, .ts = BOOT + 5 * S };
	ev.log.text = "x";
	ev.log.text_length = 1;
	emit(writer, &ev);
	end(writer);
	settle();
	assert_int_equal(value("SELECT clock_residual_ns FROM source WHERE source_id = 2"), 1300);
}

static void what_is_exact_stays_exact(void **state)
{
	(void)state;
	import_snapshots("a", 0, 20, 600);
	import_source("a", "sched_clock", TL_CLOCK_EXACT, 5);
	settle();
	assert_int_equal(value("SELECT ts FROM sample"), BOOT + 5 * S + 5);
}

static void of_two_folders_the_one_recorded_with_it_counts(void **state)
{
	(void)state;
	import_snapshots("a", 0, 20, 600);
	import_snapshots("a", 40, 20, 600);
	import_source("a", "sched_clock", TL_CLOCK_ASSUMED, 45);
	settle();
	assert_int_equal(value("SELECT clock_reference_id FROM source WHERE source_id = 3"), 2);
	assert_int_equal(value("SELECT clock_residual_ns FROM source WHERE source_id = 3"), 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_snapshot_gives_an_offset),
		cmocka_unit_test(one_snapshot_says_nothing_of_the_rate),
		cmocka_unit_test(two_snapshots_give_the_drift),
		cmocka_unit_test(snapshots_too_near_to_each_other_give_no_drift),
		cmocka_unit_test(an_hour_with_drift_is_mapped_within_the_widths),
		cmocka_unit_test(a_snapshot_that_was_disturbed_counts_little),
		cmocka_unit_test(a_wall_clock_that_was_set_shows_in_the_residual),
		cmocka_unit_test(any_values_are_survived),
		cmocka_unit_test(nothing_is_fitted_through_nothing),
#define ON_A_CASE(name) cmocka_unit_test_setup_teardown(name, setup_store, teardown_store)
		ON_A_CASE(a_source_is_mapped_by_the_snapshots_of_its_host),
		ON_A_CASE(it_does_not_matter_which_came_first),
		ON_A_CASE(other_hosts_are_left_alone),
		ON_A_CASE(other_clocks_are_left_alone),
		ON_A_CASE(recordings_of_another_time_are_left_alone),
		ON_A_CASE(outside_of_the_snapshots_the_residual_grows),
		ON_A_CASE(what_times_are_cut_off_by_is_in_the_residual),
		ON_A_CASE(what_is_exact_stays_exact),
		ON_A_CASE(of_two_folders_the_one_recorded_with_it_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
