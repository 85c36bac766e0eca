/*
 * trace_ops_test.c - self time of spans, counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis.h"

static struct tl_store *store;
static struct tl_writer *writer;
static struct tl_error err;

static void emit(const struct tl_event *ev)
{
	struct tl_sink *sink = tl_writer_sink(writer);

	assert_int_equal(sink->emit(sink, ev, &err), TL_OK);
}

/* Rows 1 to 4, empty until a test fills them: a stream without a name, async spans, two of a layer. */
static void tell_rows(void)
{
	struct tl_event ev = { .kind = TL_EVENT_TRACK };

	ev.track = (struct tl_event_track) { .index = 1,
					     .kind = TL_TRACK_DEVICE,
					     .key_pid = "1",
					     .key_tid = "20",
					     .device = 1,
					     .stream = 20 };
	emit(&ev);
	ev.track = (struct tl_event_track) { .index = 2,
					     .kind = TL_TRACK_ASYNC,
					     .process = "app",
					     .key_pid = "12",
					     .key_tid = "net",
					     .device = -1,
					     .stream = -1 };
	emit(&ev);
	for (uint32_t i = 3; i < 5; i++) {
		ev.track = (struct tl_event_track) { .index = i,
						     .kind = TL_TRACK_OTHER,
						     .process = i == 3 ? "app" : NULL,
						     .key_pid = "12",
						     .key_tid = "x",
						     .device = -1,
						     .stream = -1 };
		emit(&ev);
	}
}

static struct tl_event slice(uint32_t track, int64_t ts, int64_t duration, const char *name)
{
	struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true, .ts = ts };

	ev.slice.track = track;
	ev.slice.name = name;
	ev.slice.name_length = strlen(name);
	ev.slice.duration_ns = duration;
	ev.slice.stream = -1;
	return ev;
}

static int begin(void)
{
	const struct tl_source_description source = { .path = "trace.json", .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true };

	memset(&err, 0, sizeof(err));
	assert_int_equal(tl_store_open_temporary(&store, &err), TL_OK);
	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	return 0;
}

static void commit(void)
{
	const struct tl_import_result result = { .records = 1 };

	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
}

static void span(uint32_t track, int64_t ts, int64_t duration, const char *name)
{
	const struct tl_event ev = slice(track, ts, duration, name);

	emit(&ev);
}

static int setup(void **state)
{
	struct tl_event track = { .kind = TL_EVENT_TRACK };

	(void)state;
	begin();
	emit(&(struct tl_event) { .kind = TL_EVENT_META, .meta = { "rank", "3" } });
	track.track.kind = TL_TRACK_DEVICE;
	track.track.name = "stream 7";
	track.track.device = track.track.stream = -1;
	emit(&track);
	tell_rows();
	span(0, 2000, 3000,
	     "child;1"); /* written out of order, with a name that must be made safe */
	span(0, 1000, 9000, "parent");
	span(0, 3000, 1000, "leaf");
	span(0, 9000, 4000, "late"); /* overlaps the parent's end by 1000 */
	commit();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tl_store_close(store);
	return 0;
}

static uint64_t weight_of(const struct tl_folded *folded, const char *text)
{
	for (size_t i = 0; i < folded->line_count; i++)
		if (!strcmp(folded->lines[i].text, text))
			return folded->lines[i].weight;
	return 0;
}

static void self_time_is_what_no_child_covers(void **state)
{
	const struct tl_fold_ops_options opt = { .weight = TL_WEIGHT_NS };
	struct tl_folded folded;

	(void)state;
	assert_int_equal(tl_fold_ops(store, &opt, &folded, &err), TL_OK);
	assert_int_equal(weight_of(&folded, "rank 3;stream 7;parent"), 9000 - 3000 - 1000);
	assert_int_equal(weight_of(&folded, "rank 3;stream 7;parent;child:1"), 2000);
	assert_int_equal(weight_of(&folded, "rank 3;stream 7;parent;child:1;leaf"), 1000);
	assert_int_equal(weight_of(&folded, "rank 3;stream 7;late"), 4000);
	/* every instant counts once: 1000 to 13000 */
	assert_int_equal(folded.total_weight, 12000);
	assert_int_equal(folded.sample_count, 4);
	tl_folded_release(&folded);
}

static void spans_are_clipped_to_ranges(void **state)
{
	const struct tl_time_range range = { 1500, 2500 };
	const struct tl_fold_ops_options opt = { .weight = TL_WEIGHT_NS,
						 .ranges = &range,
						 .range_count = 1 };
	struct tl_folded folded;

	(void)state;
	assert_int_equal(tl_fold_ops(store, &opt, &folded, &err), TL_OK);
	assert_int_equal(weight_of(&folded, "rank 3;stream 7;parent"), 500);
	assert_int_equal(weight_of(&folded, "rank 3;stream 7;parent;child:1"), 500);
	assert_int_equal(folded.total_weight, 1000);
	assert_int_equal(folded.outside_count, 2);
	tl_folded_release(&folded);
}

static void another_rank_has_nothing(void **state)
{
	const struct tl_fold_ops_options opt = { .has_rank = true, .rank = 4 };
	struct tl_folded folded;

	(void)state;
	assert_int_equal(tl_fold_ops(store, &opt, &folded, &err), TL_NOTHING);
}

/* Lines and their weights as one text, of what a test put between setup_rows and here. */
static void assert_folds(const struct tl_fold_ops_options *opt, const char *expected)
{
	struct tl_folded folded;
	char text[2048] = "";

	commit();
	assert_int_equal(tl_fold_ops(store, opt, &folded, &err), TL_OK);
	for (size_t i = 0; i < folded.line_count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %llu\n",
			 folded.lines[i].text, (unsigned long long)folded.lines[i].weight);
	assert_string_equal(text, expected);
	tl_folded_release(&folded);
}

static int setup_rows(void **state)
{
	(void)state;
	begin();
	tell_rows();
	return 0;
}

static const struct tl_fold_ops_options in_ns = { .weight = TL_WEIGHT_NS };

static void sums_are_rounded_not_spans(void **state)
{
	const struct tl_fold_ops_options opt = { .weight = TL_WEIGHT_US };
	struct tl_folded folded;

	(void)state;
	for (int i = 0; i < 3; i++)
		span(3, i * 1000, 900, "often"); /* 2700 ns */
	span(3, 5000, 500, "half");
	span(3, 6000, 499, "less");
	commit();
	assert_int_equal(tl_fold_ops(store, &opt, &folded, &err), TL_OK);
	assert_int_equal(folded.line_count, 2);
	assert_int_equal(weight_of(&folded, "app-12/x;often"), 3);
	assert_int_equal(weight_of(&folded, "app-12/x;half"), 1);
	assert_int_equal(folded.below_min_count, 1);
	tl_folded_release(&folded);
}

static void lines_that_are_all_too_small_are_no_missing_trace(void **state)
{
	const struct tl_fold_ops_options opt = { .weight = TL_WEIGHT_US };
	struct tl_folded folded;

	(void)state;
	span(3, 0, 300, "a");
	span(3, 1000, 300, "b");
	commit();
	assert_int_equal(tl_fold_ops(store, &opt, &folded, &err), TL_NOTHING);
	assert_non_null(strstr(err.text, "each of 2 lines counts less than 1 us"));
}

static void spans_are_counted_where_that_is_asked(void **state)
{
	const struct tl_fold_ops_options opt = { .weight = TL_WEIGHT_COUNT };

	(void)state;
	span(3, 0, 100, "a");
	span(3, 10, 5, "b");
	span(3, 20, 5, "b");
	assert_folds(&opt, "app-12/x;a 1\napp-12/x;a;b 2\n");
}

static void rows_without_a_name_are_told_apart(void **state)
{
	(void)state;
	span(1, 0, 10, "k");
	span(3, 0, 10, "k");
	span(4, 0, 10, "k");
	assert_folds(&in_ns, "app-12/x;k 10\ndevice 1 stream 20;k 10\nprocess 12/x;k 10\n");
}

static void async_spans_of_one_id_nest_and_others_stand_beside_them(void **state)
{
	static const struct {
		int64_t id, ts, duration;
		const char *name;
	} spans[] = {
		{ 1, 0, 100, "request" },
		{ 2, 50, 100, "request" }, /* overlaps the other one */
		{ 1, 60, 20, "read" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		struct tl_event ev = slice(2, spans[i].ts, spans[i].duration, spans[i].name);

		ev.slice.has_external_id = true;
		ev.slice.external_id = spans[i].id;
		emit(&ev);
	}
	assert_folds(&in_ns, "app-12;async net;request 180\napp-12;async net;request;read 20\n");
}

static void steps_are_folded_without_their_number(void **state)
{
	static const char *const names[] = { "ProfilerStep#7", "ProfilerStep#8", "train_step 12",
					     "Iteration 3",    "iter:9",	 "global-step=1" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		span(3, (int64_t)i * 100, 10, names[i]);
	assert_folds(&in_ns, "app-12/x;Iteration 10\napp-12/x;ProfilerStep 20\n"
			     "app-12/x;global-step 10\napp-12/x;iter 10\napp-12/x;train_step 10\n");
}

static void other_numbers_are_parts_of_names(void **state)
{
	static const char *const names[] = { "layer_12", "misstep 3", "step", "42",
					     "step 4 of 5 a" };
	struct tl_event ev = slice(3, 9000, 10, "aten::step_2");

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		span(3, (int64_t)i * 100, 10, names[i]);
	ev.slice.class_ = TL_SLICE_OPERATOR;
	emit(&ev);
	assert_folds(&in_ns,
		     "app-12/x;42 10\napp-12/x;aten::step_2 10\napp-12/x;layer_12 10\n"
		     "app-12/x;misstep_3 10\napp-12/x;step 10\napp-12/x;step 4 of 5 a 10\n");
}

static void what_is_left_out_is_counted(void **state)
{
	struct tl_event ev = slice(1, 0, 10, "ProfilerStep#1");
	struct tl_folded folded;

	(void)state;
	span(1, 0, 10, "k");
	ev.slice.class_ = TL_SLICE_DEVICE_ANNOTATION;
	emit(&ev);
	ev = slice(1, 20, -1, "open");
	emit(&ev);
	ev = slice(1, 30, INT64_C(90000000000000), "a day and more");
	ev.slice.is_suspect = true;
	emit(&ev);
	commit();
	assert_int_equal(tl_fold_ops(store, &in_ns, &folded, &err), TL_OK);
	assert_int_equal(folded.repeated_count, 1);
	assert_int_equal(folded.without_end_count, 1);
	assert_int_equal(folded.suspect_count, 1);
	assert_int_equal(folded.sample_count, 1);
	tl_folded_release(&folded);
}

static void frames_and_rows_are_chosen_by_patterns_and_depth(void **state)
{
	const char *const excludes[] = { "^secret$" };
	const struct tl_fold_ops_options opt = { .weight = TL_WEIGHT_NS,
						 .thread_pattern = "^app",
						 .exclude_patterns = excludes,
						 .exclude_count = 1,
						 .max_depth = 2 };

	(void)state;
	span(1, 0, 100, "other row");
	span(3, 0, 100, "a");
	span(3, 10, 50, "b");
	span(3, 20, 10, "c"); /* beyond the depth: its time is b's */
	span(3, 80, 10, "secret");
	span(3, 82, 2, "below it");
	assert_folds(&opt, "app-12/x;a 40\napp-12/x;a;b 50\n");
}

static void another_rank_is_told_which_ones_there_are(void **state)
{
	const struct tl_fold_ops_options opt = { .has_rank = true, .rank = 9 };
	struct tl_folded folded;

	(void)state;
	emit(&(struct tl_event) { .kind = TL_EVENT_META, .meta = { "rank", "3" } });
	span(3, 0, 10, "a");
	commit();
	assert_int_equal(tl_fold_ops(store, &opt, &folded, &err), TL_NOTHING);
	assert_string_equal(err.text, "nothing is of rank 9: the case has rank 3");
}

#define OPS_TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)
#define ROWS_TEST(name) cmocka_unit_test_setup_teardown(name, setup_rows, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TEST(self_time_is_what_no_child_covers),
		OPS_TEST(spans_are_clipped_to_ranges),
		OPS_TEST(another_rank_has_nothing),
		ROWS_TEST(sums_are_rounded_not_spans),
		ROWS_TEST(lines_that_are_all_too_small_are_no_missing_trace),
		ROWS_TEST(spans_are_counted_where_that_is_asked),
		ROWS_TEST(rows_without_a_name_are_told_apart),
		ROWS_TEST(async_spans_of_one_id_nest_and_others_stand_beside_them),
		ROWS_TEST(steps_are_folded_without_their_number),
		ROWS_TEST(other_numbers_are_parts_of_names),
		ROWS_TEST(what_is_left_out_is_counted),
		ROWS_TEST(frames_and_rows_are_chosen_by_patterns_and_depth),
		ROWS_TEST(another_rank_is_told_which_ones_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
