/*
 * perf_header_test.c - headers, features and names, from bytes put down by hand. What perf calls an
 * event was noted from perf evlist.
 */
#include "perf_made.h"

static const struct perf_attr simple = {
	.type = PERF_TYPE_SOFTWARE,
	.sample_period = 1000,
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.flags = PERF_ATTR_SAMPLE_ID_ALL | PERF_ATTR_EXCLUDE_GUEST,
};

static void add_sample(struct made *data, uint64_t ip, uint64_t ns)
{
	struct made body = { .is_big_endian = data->is_big_endian };

	made_u64(&body, ip);
	made_u32(&body, 100), made_u32(&body, 101);
	made_u64(&body, ns);
	made_record(data, PERF_RECORD_SAMPLE, 2, &body);
	made_release(&body);
}

static void add_string_feature(struct made_feature *f, unsigned bit, const char *text, bool is_be)
{
	f->bit = bit;
	f->content = (struct made) { .is_big_endian = is_be };
	made_u32(&f->content, 64);
	made_text(&f->content, text, 64);
}

/* A file with one sample and the feature that is given. */
static char *events_with_feature(struct made_feature *f)
{
	struct made data = { .is_big_endian = f->content.is_big_endian }, m = data;
	char *events;

	add_sample(&data, 0x400100, 5000);
	made_file(&m, &simple, 1, &data, f, 1);
	events = made_events(&m);
	made_release(&data);
	made_release(&m);
	made_release(&f->content);
	return events;
}

/* ---- the file header ---- */

static void version_1_is_refused_in_words(void **state)
{
	char *events = made_events_of((const uint8_t *)"PERFFILE\x68\0\0\0\0\0\0\0", 16, 0);

	(void)state;
	assert_string_equal(events,
			    "error: made: perf.data of version 1, which only the first perf "
			    "wrote, is not supported; version 2 is\n");
	free(events);
}

static void header_cut_anywhere_is_an_error_in_words(void **state)
{
	struct made data = { 0 }, m = { 0 };

	(void)state;
	add_sample(&data, 1, 1);
	made_file(&m, &simple, 1, &data, NULL, 0);
	for (size_t size = 8; size < 104 + 16 + 128; size++) {
		char *events = made_events_of(m.bytes, size, 0);

		assert_int_equal(made_count(events, "error: made: byte "), 1);
		free(events);
	}
	made_release(&data);
	made_release(&m);
}

static void header_of_unknown_size_is_refused(void **state)
{
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	add_sample(&data, 1, 1);
	made_file(&m, &simple, 1, &data, NULL, 0);
	m.bytes[8] = 80;
	events = made_events(&m);
	assert_string_equal(events, "error: made: byte 8: size of the header is 80, expected 104 "
				    "(file) or 16 (pipe)\n");
	free(events);
	made_release(&data);
	made_release(&m);
}

static void attributes_of_absurd_size_are_refused(void **state)
{
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	add_sample(&data, 1, 1);
	made_file(&m, &simple, 1, &data, NULL, 0);
	memset(m.bytes + 16, 0xff, 8);
	events = made_events(&m);
	made_expect(events, "error: made: byte 16: size of an attribute is 18446744073709551615, "
			    "expected 80 to 4096");
	free(events);
	made_release(&data);
	made_release(&m);
}

static void events_of_different_layout_without_identifier_are_refused(void **state)
{
	struct perf_attr attrs[2] = { simple, simple };
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	attrs[1].sample_type |= PERF_SAMPLE_PERIOD;
	add_sample(&data, 1, 1);
	made_file(&m, attrs, 2, &data, NULL, 0);
	events = made_events(&m);
	made_expect(events, "error: made: the 2 events have different sample types and no common "
			    "place for their id: their records cannot be told apart");
	free(events);
	made_release(&data);
	made_release(&m);
}

/* ---- features ---- */

static void unknown_feature_still_takes_a_slot_in_the_table(void **state)
{
	struct made_feature features[3] = { { .bit = 100 } };
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	made_text(&features[0].content, "whatever", 8);
	add_string_feature(&features[1], 129, "", false);
	made_release(&features[1].content);
	made_bytes(&features[1].content, "app\0name\0", 9);
	/* in ascending order: HOSTNAME, 100, 129 */
	features[2] = features[1];
	features[1] = features[0];
	add_string_feature(&features[0], HEADER_HOSTNAME, "bigbox", false);
	add_sample(&data, 1, 1);
	made_file(&m, &simple, 1, &data, features, 3);
	events = made_events(&m);
	made_expect(events, "meta key=\"hostname\" value=\"bigbox\"");
	made_expect(events, "meta key=\"simpleperf_app\" value=\"name\"");
	free(events);
	for (int i = 0; i < 3; i++)
		made_release(&features[i].content);
	made_release(&data);
	made_release(&m);
}

static void bitmap_of_a_32_bit_big_endian_recorder_is_understood(void **state)
{
	struct made data = { .is_big_endian = true }, m = data;
	struct made_feature f;
	char *events;

	(void)state;
	add_string_feature(&f, HEADER_HOSTNAME, "router", true);
	add_sample(&data, 1, 1);
	made_file(&m, &simple, 1, &data, &f, 1);
	/* two longs of 32 bits: the first is the lower half */
	memmove(m.bytes + 72, m.bytes + 76, 4);
	memset(m.bytes + 76, 0, 4);
	events = made_events(&m);
	made_expect(events, "meta key=\"hostname\" value=\"router\"");
	free(events);
	made_release(&f.content);
	made_release(&data);
	made_release(&m);
}

static void put_build_id(struct made *m, unsigned misc, bool has_pid, const char *id,
			 unsigned id_size, const char *path, size_t path_size)
{
	made_u32(m, 67);
	made_u16(m, misc);
	made_u16(m, (unsigned)(8 + (has_pid ? 4 : 0) + 24 + path_size));
	if (has_pid)
		made_u32(m, 0xffffffff);
	made_text(m, id, 20);
	made_bytes(m, &(uint8_t) { (uint8_t)id_size }, 1);
	made_zeros(m, 3);
	made_text(m, path, path_size);
}

static void build_id_has_the_size_that_its_flag_makes_valid(void **state)
{
	struct made_feature f = { .bit = HEADER_BUILD_ID };
	char *events;

	(void)state;
	put_build_id(&f.content, 2 | PERF_RECORD_MISC_BUILD_ID_SIZE, true, "ABCDEFGH", 8, "/a", 8);
	put_build_id(&f.content, 1, true, "ABCDEFGHIJKLMNOPQRST", 8, "[kernel.kallsyms]", 24);
	events = events_with_feature(&f);
	made_expect(events, "dso path=\"/a\" build_id=4142434445464748 pid=-1");
	made_expect(events, "dso path=\"[kernel.kallsyms]\" "
			    "build_id=4142434445464748494a4b4c4d4e4f5051525354 pid=-1");
	free(events);
}

static void build_ids_without_pid_are_known_by_the_chopped_kernel(void **state)
{
	struct made_feature f = { .bit = HEADER_BUILD_ID };
	char *events;

	(void)state;
	put_build_id(&f.content, 1, false, "ABCDEFGHIJKLMNOPQRST", 0, "[kernel.kallsyms]", 24);
	put_build_id(&f.content, 2, false, "TSRQPONMLKJIHGFEDCBA", 0, "/lib/libc.so", 16);
	events = events_with_feature(&f);
	made_expect(events, "dso path=\"[kernel.kallsyms]\" "
			    "build_id=4142434445464748494a4b4c4d4e4f5051525354 pid=-1");
	made_expect(events, "dso path=\"/lib/libc.so\" "
			    "build_id=54535251504f4e4d4c4b4a494847464544434241 pid=-1");
	free(events);
}

static void command_line_is_quoted_as_for_a_shell(void **state)
{
	struct made_feature f = { .bit = HEADER_CMDLINE };
	char *events;

	(void)state;
	made_u32(&f.content, 3);
	made_u32(&f.content, 8), made_text(&f.content, "perf", 8);
	made_u32(&f.content, 8), made_text(&f.content, "a b", 8);
	made_u32(&f.content, 8), made_text(&f.content, "it's", 8);
	events = events_with_feature(&f);
	made_expect(events, "meta key=\"cmdline\" value=\"perf 'a b' 'it'\\''s'\"");
	free(events);
}

static void damaged_feature_is_told_and_the_rest_kept(void **state)
{
	struct made_feature f = { .bit = HEADER_CMDLINE };
	char *events;

	(void)state;
	made_u32(&f.content, 2);
	made_u32(&f.content, 8), made_text(&f.content, "perf", 8);
	made_u32(&f.content, 4000);
	events = events_with_feature(&f);
	made_expect(events, "meta key=\"cmdline\" value=\"perf\"");
	made_expect(events, "diagnostic damaged count=1 what=\"header feature CMDLINE\" "
			    "unit=\"features\" byte=316 message=\"CMDLINE ends too early: 4000 "
			    "bytes wanted, 0 left\"");
	made_expect(events, "sample ts=5000...");
	free(events);
}

static void name_comes_from_the_event_description(void **state)
{
	struct made_feature f = { .bit = HEADER_EVENT_DESC };
	char *events;

	(void)state;
	made_u32(&f.content, 1), made_u32(&f.content, 112);
	made_attr(&f.content, &simple);
	made_u32(&f.content, 2);
	made_u32(&f.content, 64), made_text(&f.content, "cpu-clock/freq=5000/", 64);
	made_u64(&f.content, 10), made_u64(&f.content, 11);
	events = events_with_feature(&f);
	made_expect(events, "type index=0 name=\"cpu-clock/freq=5000/\"...");
	free(events);
}

static void feature_table_behind_the_end_is_told(void **state)
{
	struct made data = { 0 }, m = { 0 };
	struct made_feature f;
	char *events;

	(void)state;
	add_string_feature(&f, HEADER_HOSTNAME, "bigbox", false);
	add_sample(&data, 1, 1);
	made_file(&m, &simple, 1, &data, &f, 1);
	m.size -= f.content.size + 16; /* the table and what it names */
	events = made_events(&m);
	made_expect(events, "diagnostic truncated count=1 what=\"header features\"...");
	made_expect(events, "sample ts=1...");
	free(events);
	made_release(&f.content);
	made_release(&data);
	made_release(&m);
}

/* ---- the clock ---- */

static void clock_data_give_unix_time(void **state)
{
	struct made_feature f = { .bit = HEADER_CLOCK_DATA };
	struct perf_attr attr = simple;
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	made_u32(&f.content, 1), made_u32(&f.content, 1); /* version, CLOCK_MONOTONIC */
	made_u64(&f.content, 1700000000000001000u), made_u64(&f.content, 1000);
	attr.flags |= PERF_ATTR_USE_CLOCKID;
	attr.clockid = 1;
	add_sample(&data, 1, 5000);
	made_file(&m, &attr, 1, &data, &f, 1);
	events = made_events(&m);
	made_expect(events, "clock name=\"monotonic\" method=exact offset=1700000000000000000 "
			    "residual=1000 why=\"CLOCK_DATA of the file\"");
	free(events);
	made_release(&f.content);
	made_release(&data);
	made_release(&m);
}

/* 100 ppm of 2 s, and the microsecond of the wall clock. */
static void a_clock_that_nobody_steers_grows_unsure(void **state)
{
	struct made_feature f = { .bit = HEADER_CLOCK_DATA };
	struct perf_attr attr = simple;
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	made_u32(&f.content, 1), made_u32(&f.content, 4); /* version, CLOCK_MONOTONIC_RAW */
	made_u64(&f.content, 1700000000000001000u), made_u64(&f.content, 1000);
	attr.flags |= PERF_ATTR_USE_CLOCKID;
	attr.clockid = 4;
	add_sample(&data, 1, 2000001000);
	made_file(&m, &attr, 1, &data, &f, 1);
	events = made_events(&m);
	made_expect(events, "clock name=\"monotonic_raw\" method=exact offset=1700000000000000000 "
			    "residual=201000 why=\"CLOCK_DATA of the file\"");
	free(events);
	made_release(&f.content);
	made_release(&data);
	made_release(&m);
}

static void times_on_the_wall_clock_need_no_offset(void **state)
{
	struct perf_attr attr = simple;
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	attr.flags |= PERF_ATTR_USE_CLOCKID;
	attr.clockid = 0;
	add_sample(&data, 1, 1700000000000000000u);
	made_file(&m, &attr, 1, &data, NULL, 0);
	events = made_events(&m);
	made_expect(events, "clock name=\"realtime\" method=exact offset=0...");
	free(events);
	made_release(&data);
	made_release(&m);
}

static void without_clock_data_and_date_times_are_left_alone(void **state)
{
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	add_sample(&data, 1, 5000);
	made_file(&m, &simple, 1, &data, NULL, 0);
	events = made_events(&m); /* memory has no date */
	made_expect(events, "clock name=\"sched_clock\" method=assumed offset=0 residual=-1 "
			    "why=\"neither the file nor its date says when it was: times are left "
			    "as recorded\"");
	free(events);
	made_release(&data);
	made_release(&m);
}

/* ---- names ---- */

static void assert_name(uint32_t type, uint64_t config, uint64_t flags, const char *expected)
{
	struct perf_attr attr = { .type = type, .config = config, .flags = flags };
	struct tl_text text = { 0 };

	perf_name_event(&text, &attr, NULL, NULL);
	assert_string_equal(text.data, expected);
	tl_text_release(&text);
}

static void names_are_made_as_perf_makes_them(void **state)
{
	const uint64_t no_guest = PERF_ATTR_EXCLUDE_GUEST;

	(void)state;
	assert_name(PERF_TYPE_HARDWARE, 0, no_guest, "cycles");
	assert_name(PERF_TYPE_SOFTWARE, 0, no_guest, "cpu-clock");
	assert_name(PERF_TYPE_SOFTWARE, 9, 0, "dummy:HG");
	assert_name(PERF_TYPE_SOFTWARE, 0, PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV,
		    "cpu-clock:u");
	assert_name(PERF_TYPE_SOFTWARE, 0,
		    no_guest | PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV, "cpu-clock:uH");
	assert_name(PERF_TYPE_HARDWARE, 1, no_guest | 2ull << PERF_ATTR_PRECISE_SHIFT,
		    "instructions:ppH");
	assert_name(PERF_TYPE_HW_CACHE, 0x10003, no_guest, "dTLB-load-misses");
	assert_name(PERF_TYPE_HW_CACHE, 0x00100, no_guest, "L1-dcache-stores");
	assert_name(PERF_TYPE_RAW, 0x1a8, no_guest, "raw 0x1a8");
	assert_name(PERF_TYPE_TRACEPOINT, 372, 0, "tracepoint:372");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_is_refused_in_words),
		cmocka_unit_test(header_cut_anywhere_is_an_error_in_words),
		cmocka_unit_test(header_of_unknown_size_is_refused),
		cmocka_unit_test(attributes_of_absurd_size_are_refused),
		cmocka_unit_test(events_of_different_layout_without_identifier_are_refused),
		cmocka_unit_test(unknown_feature_still_takes_a_slot_in_the_table),
		cmocka_unit_test(bitmap_of_a_32_bit_big_endian_recorder_is_understood),
		cmocka_unit_test(build_id_has_the_size_that_its_flag_makes_valid),
		cmocka_unit_test(build_ids_without_pid_are_known_by_the_chopped_kernel),
		cmocka_unit_test(command_line_is_quoted_as_for_a_shell),
		cmocka_unit_test(damaged_feature_is_told_and_the_rest_kept),
		cmocka_unit_test(name_comes_from_the_event_description),
		cmocka_unit_test(feature_table_behind_the_end_is_told),
		cmocka_unit_test(clock_data_give_unix_time),
		cmocka_unit_test(a_clock_that_nobody_steers_grows_unsure),
		cmocka_unit_test(times_on_the_wall_clock_need_no_offset),
		cmocka_unit_test(without_clock_data_and_date_times_are_left_alone),
		cmocka_unit_test(names_are_made_as_perf_makes_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
