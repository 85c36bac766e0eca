/*
 * perf_corpus_test.c - public recordings of many recorders, when they are at hand, and what others
 * counted in them: perf report --stats and an independent reader, as noted beside the files.
 */
#include <errno.h>

#include "perf_made.h"

struct counts {
	struct tl_sink sink;
	uint64_t events[TL_EVENT_KIND_COUNT];
	uint64_t samples_by_type[16];
	size_t deepest;
	int64_t first_ns, last_ns;
	struct tl_event_diagnostic damage; /* the last that is no note; texts are not kept */
	uint64_t skipped_bytes;
	bool is_exact;
	char names[256]; /* of all types, with commas */
};

static int count_event(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct counts *c = (struct counts *)sink;

	(void)err;
	c->events[ev->kind]++;
	if (ev->kind == TL_EVENT_SAMPLE) {
		c->samples_by_type[ev->sample.type_index % 16]++;
		if (ev->sample.frame_count > c->deepest)
			c->deepest = ev->sample.frame_count;
		if (ev->has_ts && (!c->first_ns || ev->ts < c->first_ns))
			c->first_ns = ev->ts;
		if (ev->has_ts && ev->ts > c->last_ns)
			c->last_ns = ev->ts;
	} else if (ev->kind == TL_EVENT_DIAGNOSTIC) {
		if (ev->diagnostic.kind == TL_DIAGNOSTIC_DAMAGED ||
		    ev->diagnostic.kind == TL_DIAGNOSTIC_TRUNCATED)
			c->damage = ev->diagnostic;
		if (!strcmp(ev->diagnostic.unit, "bytes"))
			c->skipped_bytes += ev->diagnostic.count;
	} else if (ev->kind == TL_EVENT_CLOCK) {
		c->is_exact = ev->clock.method == TL_CLOCK_EXACT;
	} else if (ev->kind == TL_EVENT_TYPE) {
		size_t at = strlen(c->names);

		snprintf(c->names + at, sizeof(c->names) - at, "%s,", ev->type.name);
	}
	return TL_OK;
}

/* Skips the test when the recordings are not there. */
static struct counts count_file(const char *name)
{
	const char *shared = getenv("TRACELOOM_SHARED");
	struct counts c = { .sink.emit = count_event };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;
	char path[1024];

	snprintf(path, sizeof(path), "%s/corpus/perf/%s", shared ? shared : "../shared", name);
	if (tl_input_open(&in, path, &err) < 0) {
		if (strstr(err.text, strerror(ENOENT)))
			skip();
		fail_msg("%s: %s", path, err.text);
	}
	if (tl_import(&perf_importer, in, NULL, &c.sink, &result, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	tl_input_close(in);
	return c;
}

static void pipe_with_zstd_from_arm64(void **state)
{
	struct counts c = count_file("sleep.compressed.pipe.data");

	(void)state;
	assert_int_equal(c.events[TL_EVENT_SAMPLE], 8);
	assert_int_equal(c.first_ns, 405307462931);
	assert_int_equal(c.last_ns, 405308418372);
	assert_int_equal(c.events[TL_EVENT_KSYMBOL], 15);
	assert_true(c.is_exact);
}

static void pipe_of_newer_compressed_records_that_span_chunks(void **state)
{
	struct counts c = count_file("fibo.compressed2.pipe.data");

	(void)state;
	assert_int_equal(c.events[TL_EVENT_SAMPLE], 547);
	assert_int_equal(c.events[TL_EVENT_FORK], 19);
	assert_int_equal(c.events[TL_EVENT_EXIT], 17);
	assert_int_equal(c.events[TL_EVENT_COMM], 23);
	assert_int_equal(c.events[TL_EVENT_MMAP], 814 + 165);
	assert_int_equal(c.damage.count, 0);
}

static void linux_3_4_with_deep_chains(void **state)
{
	struct counts c = count_file("quipper.callgraph-3.4.data");

	(void)state;
	assert_int_equal(c.events[TL_EVENT_SAMPLE], 1548);
	assert_int_equal(c.events[TL_EVENT_MMAP], 2061);
	assert_int_equal(c.events[TL_EVENT_COMM], 249);
	assert_true(c.deepest >= 127); /* as many as perf shows */
}

static void linux_4_4_with_lost_samples(void **state)
{
	struct counts c = count_file("quipper.lost_samples-4.4.data");

	(void)state;
	assert_int_equal(c.samples_by_type[0], 97);
	assert_int_equal(c.samples_by_type[1], 80);
	assert_int_equal(c.samples_by_type[2], 14);
	assert_int_equal(c.events[TL_EVENT_GAP], 2);
}

static void linux_4_14_with_intel_pt(void **state)
{
	struct counts c = count_file("quipper.intel_pt-4.14.data");

	(void)state;
	assert_int_equal(c.events[TL_EVENT_SAMPLE], 15);
	assert_int_equal(c.events[TL_EVENT_SWITCH], 152);
	assert_true(c.skipped_bytes > 0);
	assert_int_equal(c.damage.count, 0);
}

static void linux_3_8_pipe_with_names_in_records(void **state)
{
	struct counts c = count_file("quipper.piped.target-3.8.data");
	const uint64_t expected[] = { 922, 798, 874, 943, 796, 885 }; /* by name, as perf script */

	(void)state;
	assert_int_equal(c.events[TL_EVENT_SAMPLE], 5218);
	for (int i = 0; i < 6; i++)
		assert_int_equal(c.samples_by_type[i], expected[i]);
	assert_string_equal(c.names, "cycles,instructions,cache-misses,cache-references,branches,"
				     "branch-misses,");
}

static void linux_3_2_pipe_with_a_record_of_size_0(void **state)
{
	struct counts c = count_file("quipper.piped.corrupted.zero_size_sample-3.2.data");

	(void)state;
	assert_int_equal(c.events[TL_EVENT_MMAP], 468);
	assert_int_equal(c.events[TL_EVENT_COMM], 100);
	assert_int_equal(c.damage.kind, TL_DIAGNOSTIC_DAMAGED);
	assert_int_equal(c.damage.position, 49104);
}

static void simpleperf_with_two_events(void **state)
{
	struct counts c = count_file("simpleperf.perf_with_two_event_types.data");

	(void)state;
	assert_int_equal(c.samples_by_type[0], 8);
	assert_int_equal(c.samples_by_type[1], 2);
}

static void simpleperf_with_symbols_inside(void **state)
{
	struct counts c = count_file("simpleperf.perf_with_jit_symbol.data");

	(void)state;
	assert_int_equal(c.events[TL_EVENT_SAMPLE], 151);
	assert_int_equal(c.events[TL_EVENT_MMAP], 1586 + 1);
	assert_true(c.events[TL_EVENT_DSO_SYMBOLS] > 0);
	assert_string_equal(c.names, "cpu-cycles,");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipe_with_zstd_from_arm64),
		cmocka_unit_test(pipe_of_newer_compressed_records_that_span_chunks),
		cmocka_unit_test(linux_3_4_with_deep_chains),
		cmocka_unit_test(linux_4_4_with_lost_samples),
		cmocka_unit_test(linux_4_14_with_intel_pt),
		cmocka_unit_test(linux_3_8_pipe_with_names_in_records),
		cmocka_unit_test(linux_3_2_pipe_with_a_record_of_size_0),
		cmocka_unit_test(simpleperf_with_two_events),
		cmocka_unit_test(simpleperf_with_symbols_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
