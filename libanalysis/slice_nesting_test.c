/*
 * slice_nesting_test.c - spans that overlap in part are counted, against a comparison of every pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis.h"
#include "store.h"

struct span {
	int64_t begin, duration;
};

static struct tl_error err;

static int64_t counted(const struct span *spans, size_t count, enum tl_track_kind kind)
{
	const struct tl_source_description source = { .path = "trace.json", .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true };
	const struct tl_import_result result = { .records = 1 };
	struct tl_event track = { .kind = TL_EVENT_TRACK };
	struct tl_writer *writer;
	struct tl_store *store;
	struct tl_sink *sink;
	int64_t crossed;

	assert_int_equal(tl_store_open_temporary(&store, &err), TL_OK);
	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	sink = tl_writer_sink(writer);
	for (uint32_t i = 0; i < 2; i++) {
		track.track.index = i;
		track.track.kind = kind;
		track.track.task = (struct tl_task) { 4242, 4242 + (int32_t)i };
		track.track.device = track.track.stream = -1;
		assert_int_equal(sink->emit(sink, &track, &err), TL_OK);
	}
	for (size_t i = 0; i < count; i++) {
		struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true };

		ev.ts = spans[i].begin;
		ev.slice.duration_ns = spans[i].duration;
		ev.slice.track = i % 2;
		ev.slice.name = "x";
		ev.slice.name_length = 1;
		ev.slice.stream = -1;
		assert_int_equal(sink->emit(sink, &ev, &err), TL_OK);
	}
	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
	assert_int_equal(
		tl_store_value(store, "SELECT count FROM lost WHERE what LIKE '%overlap another%'",
			       0, &crossed, &err),
		TL_OK);
	tl_store_close(store);
	return crossed;
}

static void spans_that_nest_are_no_news(void **state)
{
	/* every second one is on another row */
	const struct span spans[] = { { 0, 100 }, { 0, 100 }, { 10, 20 },   { 99, 3 },
				      { 10, 5 },  { 100, 1 }, { 100, 200 }, { 120, 5 } };

	(void)state;
	assert_int_equal(counted(spans, 7, TL_TRACK_THREAD), 1); /* 99 to 102 in 0 to 100 */
	assert_int_equal(counted(spans, 3, TL_TRACK_THREAD), 0);
	assert_int_equal(counted(spans, 7, TL_TRACK_OTHER), 1); /* they are folded as stacks, too */
}

static void any_overlap_in_part_is_counted_once(void **state)
{
	enum { COUNT = 400 };
	struct span spans[COUNT];
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 30; round++) {
		int64_t wanted = 0;

		for (size_t i = 0; i < COUNT; i++) {
			seed = seed * 1664525 + 1013904223;
			spans[i].begin = seed >> 8 & 1023;
			seed = seed * 1664525 + 1013904223;
			spans[i].duration = 1 + (seed >> 8) % (round % 3 ? 20 : 300);
		}
		for (size_t i = 0; i < COUNT; i++) {
			const struct span *a = &spans[i];
			bool is_crossed = false;

			for (size_t j = i % 2; j < COUNT; j += 2) {
				const struct span *b = &spans[j];

				is_crossed |= b->begin < a->begin &&
					      b->begin + b->duration > a->begin &&
					      b->begin + b->duration < a->begin + a->duration;
			}
			wanted += is_crossed;
		}
		assert_int_equal(counted(spans, COUNT, TL_TRACK_DEVICE), wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_that_nest_are_no_news),
		cmocka_unit_test(any_overlap_in_part_is_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
