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

static void span(uint32_t track, int64_t ts, int64_t duration, const char *name)
{
	struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true, .ts = ts };

	ev.slice.track = track;
	ev.slice.name = name;
	ev.slice.name_length = strlen(name);
	ev.slice.duration_ns = duration;
	ev.slice.stream = -1;
	emit(&ev);
}

static int setup(void **state)
{
	const struct tl_source_description source = { .path = "trace.json", .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true };
	const struct tl_import_result result = { .records = 1 };
	struct tl_event track = { .kind = TL_EVENT_TRACK };

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_int_equal(tl_store_open_temporary(&store, &err), TL_OK);
	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	emit(&(struct tl_event) { .kind = TL_EVENT_META, .meta = { "rank", "3" } });
	track.track.kind = TL_TRACK_DEVICE;
	track.track.name = "stream 7";
	track.track.device = track.track.stream = -1;
	emit(&track);
	span(0, 2000, 3000,
	     "child;1"); /* written out of order, with a name that must be made safe */
	span(0, 1000, 9000, "parent");
	span(0, 3000, 1000, "leaf");
	span(0, 9000, 4000, "late"); /* overlaps the parent's end by 1000 */
	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
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

#define OPS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TEST(self_time_is_what_no_child_covers),
		OPS_TEST(spans_are_clipped_to_ranges),
		OPS_TEST(another_rank_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
