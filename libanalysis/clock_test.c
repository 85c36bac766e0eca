/*
 * clock_test.c - lines from source time to Unix time, which claim is in force, what moves with it, and
 * whether sources may be joined. The expected values are counted by hand.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "store_example.h"
#include "writer.h"

/* A source with samples at 1000 and 1000000000000 of its own clock. */
static void import(const char *name, enum tl_clock_method method, int64_t offset, int64_t residual)
{
	const struct tl_source_description source = { .path = name, .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true };
	const struct tl_import_result result = { 0 };
	struct tl_event ev = { .kind = TL_EVENT_CLOCK };
	struct tl_writer *writer;
	struct tl_sink *sink;

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	sink = tl_writer_sink(writer);
	ev.clock = (struct tl_event_clock) { "test", method, offset, residual, "why" };
	assert_int_equal(sink->emit(sink, &ev, &err), TL_OK);
	for (int i = 0; i < 2; i++) {
		ev = (struct tl_event) { .kind = TL_EVENT_SAMPLE, .has_ts = true };
		ev.ts = i ? INT64_C(1000000000000) : 1000;
		ev.sample.task = (struct tl_task) { 7, 7 };
		ev.sample.real_tid = TL_ID_NONE;
		ev.sample.period = 1;
		assert_int_equal(sink->emit(sink, &ev, &err), TL_OK);
	}
	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
}

static void claim(int64_t source, enum tl_clock_method method, int64_t offset, double slope,
		  int64_t residual, int64_t reference)
{
	const struct tl_clock_claim c = { .source_id = source,
					  .method = method,
					  .line = { offset, slope },
					  .residual_ns = residual,
					  .reference_id = reference,
					  .match_count = -1,
					  .rival_ratio = -1,
					  .why = "test" };

	assert_int_equal(tl_clock_claim_put(store, &c, &err), TL_OK);
}

static void times_come_back_from_a_line(void **state)
{
	static const struct tl_clock_line lines[] = { { 5, 1 },
						      { INT64_C(1700000000000000000), 1.00002 },
						      { INT64_MAX, 1 },
						      { -7, 1.0005 } };
	static const int64_t times[] = { 0, 1, -1, 1000000007, INT64_C(86400000000123), INT64_MAX };

	(void)state;
	for (size_t l = 0; l < sizeof(lines) / sizeof(lines[0]); l++)
		for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++)
			if (lines[l].slope == 1 || times[t] < INT64_C(1000000000000000))
				assert_int_equal(
					tl_clock_source_time(lines[l],
							     tl_clock_unix(lines[l], times[t])),
					times[t]);
}

static void a_slope_of_20_ppm_is_20_us_a_second(void **state)
{
	(void)state;
	assert_int_equal(tl_clock_unix((struct tl_clock_line) { 100, 1.00002 }, 1000000000),
			 1000020100);
}

static void lines_compose(void **state)
{
	struct tl_clock_line inner = { 1000, 1.0001 }, outer = { 50, 1.0002 };
	int64_t time = 123456789012;

	(void)state;
	assert_true(llabs(tl_clock_unix(tl_clock_compose(outer, inner), time) -
			  tl_clock_unix(outer, tl_clock_unix(inner, time))) <= 2);
}

static void the_surest_claim_is_in_force(void **state)
{
	(void)state;
	import("a", TL_CLOCK_ASSUMED, 500, -1);
	assert_int_equal(value("SELECT min(ts) FROM sample"), 1500);
	claim(1, TL_CLOCK_MATCHED, 2000, 1, 10, 0);
	claim(1, TL_CLOCK_ANCHORED, 3000, 1, 1, 0);
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
	assert_int_equal(value("SELECT min(ts) FROM sample"), 4000);
	assert_int_equal(value("SELECT base_ts FROM sample_block"), 4000);
	assert_int_equal(value("SELECT clock_method = 'anchored' FROM source"), 1);
	assert_int_equal(value("SELECT clock_residual_ns FROM source"), 1);
}

static void snapshots_know_better_than_a_look_that_grew_old(void **state)
{
	(void)state;
	import("a", TL_CLOCK_EXACT, 500, 1000);
	import("b", TL_CLOCK_EXACT, 500, 6000000);
	import("c", TL_CLOCK_EXACT, 500, 6000000);
	claim(1, TL_CLOCK_ANCHORED, 3000, 1, 300, 0);
	claim(2, TL_CLOCK_ANCHORED, 3000, 1, 300, 0);
	claim(3, TL_CLOCK_MATCHED, 3000, 1, 300, 0);
	assert_int_equal(tl_clock_apply(store, NULL, &err), TL_OK);
	assert_int_equal(value("SELECT clock_method = 'exact' FROM source WHERE source_id = 1"), 1);
	assert_int_equal(value("SELECT clock_method = 'anchored' FROM source WHERE source_id = 2"),
			 1);
	assert_int_equal(value("SELECT clock_method = 'exact' FROM source WHERE source_id = 3"), 1);
}

static void what_a_person_says_is_kept_until_it_is_released(void **state)
{
	const struct tl_clock_setting setting = { .source_id = 1,
						  .offset_ns = 70,
						  .residual_ns = -1 };

	(void)state;
	import("a", TL_CLOCK_EXACT, 500, 0);
	assert_int_equal(tl_clock_set(store, &setting, &err), TL_OK);
	assert_int_equal(value("SELECT min(ts) FROM sample"), 1070);
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
	assert_int_equal(value("SELECT min(ts) FROM sample"), 1070);
	assert_int_equal(tl_clock_release(store, 0, &err), TL_OK);
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
	assert_int_equal(value("SELECT min(ts) FROM sample"), 1500);
}

static void a_slope_moves_the_times_inside_blocks_too(void **state)
{
	struct tl_time_range window = { INT64_C(1000020000400), INT64_C(1000020000600) };
	const struct tl_fold_options opt = { .weight = TL_WEIGHT_COUNT,
					     .ranges = &window,
					     .range_count = 1 };
	struct tl_folded folded;

	(void)state;
	import("a", TL_CLOCK_ASSUMED, 0, -1);
	claim(1, TL_CLOCK_ANCHORED, 500, 1.00002, 1, 0);
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
	assert_int_equal(value("SELECT max(ts) FROM sample"), INT64_C(1000020000500));
	assert_int_equal(value("SELECT last_ts FROM sample_block"), INT64_C(1000020000500));
	assert_int_equal(tl_fold(store, &opt, &folded, &err), TL_OK);
	assert_int_equal(folded.sample_count, 1);
	tl_folded_release(&folded);
}

static void a_reference_takes_along_what_rests_on_it(void **state)
{
	(void)state;
	import("a", TL_CLOCK_ASSUMED, 0, -1);
	import("b", TL_CLOCK_ASSUMED, 0, -1);
	claim(2, TL_CLOCK_MATCHED, 25, 1, 10, 1);
	claim(1, TL_CLOCK_ANCHORED, 5000, 1, 3, 0);
	assert_int_equal(tl_clock_apply(store, NULL, &err), TL_OK);
	assert_int_equal(value("SELECT first_ts FROM source WHERE source_id = 1"), 6000);
	assert_int_equal(value("SELECT first_ts FROM source WHERE source_id = 2"), 6025);
}

static void what_is_told_against_a_source_is_no_measure_for_it(void **state)
{
	const struct tl_clock_setting setting = {
		.source_id = 2, .reference_id = 1, .offset_ns = 70, .residual_ns = -1
	};

	(void)state;
	import("a", TL_CLOCK_ASSUMED, 100, -1);
	import("b", TL_CLOCK_EXACT, 0, 0);
	assert_int_equal(tl_clock_set(store, &setting, &err), TL_OK);
	assert_int_equal(value("SELECT first_ts FROM source WHERE source_id = 1"), 1100);
	assert_int_equal(value("SELECT first_ts FROM source WHERE source_id = 2"), 1170);
}

static void what_is_told_in_a_circle_is_refused(void **state)
{
	const struct tl_clock_setting
		first = { .source_id = 2, .reference_id = 1, .offset_ns = 70 },
		second = { .source_id = 3, .reference_id = 2, .offset_ns = 5 },
		circle = { .source_id = 1, .reference_id = 3, .offset_ns = 7 };

	(void)state;
	import("a", TL_CLOCK_ASSUMED, 100, -1);
	import("b", TL_CLOCK_ASSUMED, 200, -1);
	import("c", TL_CLOCK_ASSUMED, 200, -1);
	assert_int_equal(tl_clock_set(store, &first, &err), TL_OK);
	assert_int_equal(tl_clock_set(store, &second, &err), TL_OK);
	assert_int_equal(tl_clock_set(store, &circle, &err), TL_USAGE);
	assert_non_null(strstr(err.text, "told against source 1"));
	assert_int_equal(value("SELECT group_concat(source_id, '') FROM clock_claim WHERE is_set"),
			 23);
	/* what is at the end may be told otherwise */
	assert_int_equal(tl_clock_set(store, &first, &err), TL_OK);
}

static void references_in_a_circle_are_passed_over(void **state)
{
	(void)state;
	import("a", TL_CLOCK_ASSUMED, 100, -1);
	import("b", TL_CLOCK_ASSUMED, 200, -1);
	claim(1, TL_CLOCK_MATCHED, 25, 1, 10, 2);
	claim(2, TL_CLOCK_MATCHED, 25, 1, 10, 1);
	assert_int_equal(tl_clock_apply(store, NULL, &err), TL_OK);
	assert_int_equal(value("SELECT count(*) FROM source WHERE clock_method = 'matched'"), 1);
}

static void times_that_overflow_wrap_and_come_back(void **state)
{
	(void)state;
	import("a", TL_CLOCK_ASSUMED, INT64_MAX - 5, -1);
	assert_int_equal(value("SELECT typeof(ts) = 'integer' FROM sample"), 1);
	claim(1, TL_CLOCK_ANCHORED, 0, 1, 1, 0);
	assert_int_equal(tl_clock_settle(store, &err), TL_OK);
	assert_int_equal(value("SELECT min(ts) FROM sample"), 1000);
}

/* ---- joining ---- */

static void join(int64_t effect, struct tl_clock_join *out)
{
	assert_int_equal(tl_clock_join(store, NULL, 0, effect, out, &err), TL_OK);
}

static void one_source_may_always_be_asked(void **state)
{
	struct tl_clock_join j;

	(void)state;
	import("a", TL_CLOCK_ASSUMED, 0, -1);
	join(1, &j);
	assert_true(j.is_allowed);
}

static void an_unknown_residual_forbids_to_join(void **state)
{
	struct tl_clock_join j;

	(void)state;
	import("a", TL_CLOCK_ASSUMED, 0, -1);
	import("b", TL_CLOCK_EXACT, 0, 1000);
	join(1000000000, &j);
	assert_false(j.is_allowed);
	assert_int_equal(j.method, TL_CLOCK_ASSUMED);
	assert_non_null(strstr(j.text, "unknown amount"));
	join(0, &j);
	assert_true(j.is_allowed);
}

static void the_residual_may_be_a_tenth_of_the_effect(void **state)
{
	struct tl_clock_join j;

	(void)state;
	import("a", TL_CLOCK_EXACT, 0, 400);
	import("b", TL_CLOCK_EXACT, 0, 600);
	join(10000, &j);
	assert_true(j.is_allowed);
	assert_int_equal(j.residual_ns, 1000);
	join(9999, &j);
	assert_false(j.is_allowed);
}

static void a_match_joins_though_nobody_knows_the_date(void **state)
{
	struct tl_clock_join j;

	(void)state;
	import("a", TL_CLOCK_ASSUMED, 0, -1);
	import("b", TL_CLOCK_ASSUMED, 0, -1);
	claim(2, TL_CLOCK_MATCHED, 25, 1, 10, 1);
	assert_int_equal(tl_clock_apply(store, NULL, &err), TL_OK);
	join(100, &j);
	assert_true(j.is_allowed);
	assert_int_equal(j.method, TL_CLOCK_MATCHED);
	assert_int_equal(j.residual_ns, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_come_back_from_a_line),
		cmocka_unit_test(a_slope_of_20_ppm_is_20_us_a_second),
		cmocka_unit_test(lines_compose),
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_store, teardown_store)
		TEST(the_surest_claim_is_in_force),
		TEST(snapshots_know_better_than_a_look_that_grew_old),
		TEST(what_a_person_says_is_kept_until_it_is_released),
		TEST(a_slope_moves_the_times_inside_blocks_too),
		TEST(a_reference_takes_along_what_rests_on_it),
		TEST(what_is_told_against_a_source_is_no_measure_for_it),
		TEST(what_is_told_in_a_circle_is_refused),
		TEST(references_in_a_circle_are_passed_over),
		TEST(times_that_overflow_wrap_and_come_back),
		TEST(one_source_may_always_be_asked),
		TEST(an_unknown_residual_forbids_to_join),
		TEST(the_residual_may_be_a_tenth_of_the_effect),
		TEST(a_match_joins_though_nobody_knows_the_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
