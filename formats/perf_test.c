/*
 * perf_test.c - whole recordings put together by hand, and the events they must become.
 */
#include "perf_made.h"

#include <zstd.h>

static const struct perf_attr clock_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.sample_period = 1000,
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.flags = PERF_ATTR_SAMPLE_ID_ALL | PERF_ATTR_EXCLUDE_GUEST,
};

static const struct perf_attr chain_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.sample_period = 1000,
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
	.flags = PERF_ATTR_SAMPLE_ID_ALL | PERF_ATTR_EXCLUDE_GUEST,
};

static void finish(struct made *data, uint32_t type, unsigned misc, struct made *body)
{
	made_record(data, type, misc, body);
	made_release(body);
}

static void add_sample(struct made *data, uint64_t ip, uint64_t ns)
{
	struct made body = { 0 };

	made_u64(&body, ip);
	made_u32(&body, 100), made_u32(&body, 101);
	made_u64(&body, ns);
	finish(data, PERF_RECORD_SAMPLE, 2, &body);
}

/* The sample id of clock_attr and chain_attr. */
static void put_trailer(struct made *body, int tid, uint64_t ns)
{
	made_u32(body, 100), made_u32(body, (uint32_t)tid);
	made_u64(body, ns);
}

static void add_comm(struct made *data, const char *name, uint64_t ns)
{
	struct made body = { 0 };

	made_u32(&body, 100), made_u32(&body, 101);
	made_text(&body, name, 16);
	put_trailer(&body, 101, ns);
	finish(data, PERF_RECORD_COMM, 0, &body);
}

static void add_chain(struct made *data, int tid, uint64_t ns, const uint64_t *ips, size_t count)
{
	struct made body = { 0 };

	made_u32(&body, 100), made_u32(&body, (uint32_t)tid);
	made_u64(&body, ns);
	made_u64(&body, count);
	for (size_t i = 0; i < count; i++)
		made_u64(&body, ips[i]);
	finish(data, PERF_RECORD_SAMPLE, 1, &body);
}

static char *file_events(const struct perf_attr *attrs, size_t count, const struct made *data)
{
	struct made m = { 0 };
	char *events;

	made_file(&m, attrs, count, data, NULL, 0);
	events = made_events(&m);
	made_release(&m);
	return events;
}

#define FILE_DATA 248 /* where the data of a file with one event begin */

/* ---- order ---- */

static void sideband_at_the_end_comes_before_the_samples(void **state)
{
	struct made data = { 0 };
	char *events;

	(void)state;
	add_sample(&data, 0x400100, 5000);
	add_comm(&data, "late", 0);
	events = file_events(&clock_attr, 1, &data);
	made_expect(events, "comm task=100/101 name=\"late\"");
	assert_true(strstr(events, "\ncomm ") < strstr(events, "\nsideband-end"));
	assert_true(strstr(events, "\nsideband-end") < strstr(events, "\nsample "));
	free(events);
	made_release(&data);
}

static void samples_keep_the_order_of_the_file(void **state)
{
	struct made data = { 0 };
	char *events;

	(void)state;
	add_sample(&data, 1, 5000);
	add_sample(&data, 2, 4000);
	events = file_events(&clock_attr, 1, &data);
	assert_true(strstr(events, "sample ts=5000") < strstr(events, "sample ts=4000"));
	free(events);
	made_release(&data);
}

static void record_without_a_time_happened_behind_the_sample_before_it(void **state)
{
	struct perf_attr attr = clock_attr;
	struct made data = { 0 }, first = { 0 }, second = { 0 };
	char *events;

	(void)state;
	attr.flags &= ~PERF_ATTR_SAMPLE_ID_ALL;
	made_u32(&first, 100), made_u32(&first, 101), made_text(&first, "first", 8);
	finish(&data, PERF_RECORD_COMM, 0, &first);
	add_sample(&data, 1, 5000);
	made_u32(&second, 100), made_u32(&second, 101), made_text(&second, "second", 8);
	finish(&data, PERF_RECORD_COMM, 0, &second);
	add_sample(&data, 1, 6000);
	events = file_events(&attr, 1, &data);
	made_expect(events, "comm task=100/101 name=\"first\"");
	made_expect(events, "comm ts=5001 task=100/101 name=\"second\"");
	free(events);
	made_release(&data);
}

/* ---- call chains ---- */

static void markers_become_contexts_but_unknown_ones_stay(void **state)
{
	const uint64_t ips[] = { PERF_CONTEXT_KERNEL,
				 0xffffffff81000100,
				 0xffffffff81000200,
				 PERF_CONTEXT_USER,
				 0x400100,
				 0x400200,
				 (uint64_t)-3000,
				 0x77 };
	struct made data = { 0 };
	char *events;

	(void)state;
	add_chain(&data, 101, 5000, ips, 8);
	events = file_events(&chain_attr, 1, &data);
	made_expect(events, "sample ts=5000 type=0 task=100/101 period=1000 chain=6 "
			    "k:ffffffff81000100 k:ffffffff81000200 u:400100 u:400200 "
			    "?:fffffffffffff448 ?:77");
	free(events);
	made_release(&data);
}

static void empty_chain_is_a_chain_of_no_frames(void **state)
{
	const uint64_t markers[] = { PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER };
	struct made data = { 0 };
	char *events;

	(void)state;
	add_chain(&data, 101, 5000, NULL, 0);
	add_chain(&data, 101, 6000, markers, 2);
	events = file_events(&chain_attr, 1, &data);
	made_expect(events, "sample ts=5000 type=0 task=100/101 period=1000 chain=0");
	made_expect(events, "sample ts=6000 type=0 task=100/101 period=1000 chain=0");
	free(events);
	made_release(&data);
}

static void add_deferred(struct made *data, int tid, uint64_t cookie, uint64_t ip)
{
	struct made body = { 0 };

	made_u64(&body, cookie);
	made_u64(&body, 2);
	made_u64(&body, PERF_CONTEXT_USER);
	made_u64(&body, ip);
	put_trailer(&body, tid, 9000);
	finish(data, PERF_RECORD_CALLCHAIN_DEFERRED, 0, &body);
}

static void deferred_half_is_joined_by_thread_and_cookie(void **state)
{
	const uint64_t ips[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000100,
				 PERF_CONTEXT_USER_DEFERRED, 7 };
	struct made data = { 0 };
	char *events;

	(void)state;
	add_chain(&data, 101, 5000, ips, 4);
	add_chain(&data, 101, 5500, ips, 4);
	add_chain(&data, 102, 6000, ips, 4);
	add_deferred(&data, 101, 8, 0x400900); /* another cookie */
	add_deferred(&data, 101, 7, 0x400100);
	events = file_events(&chain_attr, 1, &data);
	made_expect(events, "sample ts=5000 type=0 task=100/101 period=1000 chain=2 "
			    "k:ffffffff81000100 u:400100");
	made_expect(events, "sample ts=5500 type=0 task=100/101 period=1000 chain=2 "
			    "k:ffffffff81000100 u:400100");
	made_expect(events, "sample ts=6000 type=0 task=100/102 period=1000 chain=1 "
			    "k:ffffffff81000100");
	made_expect(events, "diagnostic lost count=1 what=\"user halves of call chains that never "
			    "arrived\"...");
	free(events);
	made_release(&data);
}

/* ---- several events ---- */

static void sample_without_a_known_id_is_kept_and_counted(void **state)
{
	struct perf_attr attrs[2] = { clock_attr, clock_attr };
	struct made data = { 0 };
	char *events;

	(void)state;
	attrs[0].sample_type = attrs[1].sample_type |= PERF_SAMPLE_IDENTIFIER;
	attrs[1].config = 1;
	for (int i = 0; i < 3; i++) {
		struct made body = { 0 };

		made_u64(&body, i == 0 ? 21 : i == 1 ? 0 : 99);
		made_u64(&body, 0x400100);
		put_trailer(&body, 101, 5000 + (uint64_t)i);
		finish(&data, PERF_RECORD_SAMPLE, 2, &body);
	}
	events = file_events(attrs, 2, &data);
	made_expect(events, "sample ts=5000 type=1...");
	made_expect(events, "sample ts=5001 type=0...");
	made_expect(events, "sample ts=5002 type=0...");
	made_expect(events, "diagnostic damaged count=1 what=\"samples with an id of no event, "
			    "counted to the first event\"...");
	free(events);
	made_release(&data);
}

static void sample_types_may_differ_when_the_id_comes_first(void **state)
{
	struct perf_attr attrs[2] = { clock_attr, clock_attr };
	struct made data = { 0 }, body = { 0 };
	char *events;

	(void)state;
	attrs[0].sample_type |= PERF_SAMPLE_IDENTIFIER;
	attrs[1].sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	made_u64(&body, 20);
	made_u64(&body, 6000);
	made_u64(&body, 123);
	finish(&data, PERF_RECORD_SAMPLE, 2, &body);
	events = file_events(attrs, 2, &data);
	made_expect(events, "sample ts=6000 type=1 task=?/? period=123");
	free(events);
	made_release(&data);
}

static void simpleperf_may_tell_ids_later(void **state)
{
	struct perf_attr attrs[2] = { clock_attr, clock_attr };
	struct made data = { 0 }, ids = { 0 }, body = { 0 };
	char *events;

	(void)state;
	attrs[0].sample_type = attrs[1].sample_type |= PERF_SAMPLE_IDENTIFIER;
	made_u64(&ids, 1);
	made_u64(&ids, 1), made_u64(&ids, 99);
	finish(&data, SIMPLE_PERF_RECORD_EVENT_ID, 0, &ids);
	made_u64(&body, 99);
	made_u64(&body, 0x400100);
	put_trailer(&body, 101, 5000);
	finish(&data, PERF_RECORD_SAMPLE, 2, &body);
	events = file_events(attrs, 2, &data);
	made_expect(events, "sample ts=5000 type=1...");
	assert_int_equal(made_count(events, "diagnostic "), 0);
	free(events);
	made_release(&data);
}

static void group_values_become_samples_of_what_each_member_gained(void **state)
{
	struct perf_attr attrs[2] = { clock_attr, clock_attr };
	struct made data = { 0 };
	char *events;

	(void)state;
	for (int i = 0; i < 2; i++) {
		attrs[i].sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_IDENTIFIER;
		attrs[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
		attrs[i].config = (uint64_t)i;
	}
	for (uint64_t i = 1; i <= 2; i++) {
		struct made body = { 0 };

		made_u64(&body, 10);
		made_u64(&body, 0x400100);
		put_trailer(&body, 101, 5000 * i);
		made_u64(&body, 2);
		made_u64(&body, 1000 * i), made_u64(&body, 10);
		made_u64(&body, 7), made_u64(&body, 20); /* does not move after the first */
		finish(&data, PERF_RECORD_SAMPLE, 2, &body);
	}
	events = file_events(attrs, 2, &data);
	assert_int_equal(made_count(events, "sample "), 3);
	made_expect(events, "sample ts=5000 type=0 task=100/101 period=1000 ip=400100");
	made_expect(events, "sample ts=5000 type=1 task=100/101 period=7 ip=400100");
	made_expect(events, "sample ts=10000 type=0 task=100/101 period=1000 ip=400100");
	free(events);
	made_release(&data);
}

/* ---- switches and losses ---- */

static void add_switch(struct made *data, unsigned misc, uint64_t ns)
{
	struct made body = { 0 };

	made_u32(&body, 200), made_u32(&body, 201);
	put_trailer(&body, 101, ns);
	finish(data, PERF_RECORD_SWITCH_CPU_WIDE, misc, &body);
}

static void other_task_is_the_next_on_the_way_out_and_the_previous_on_the_way_in(void **state)
{
	struct made data = { 0 };
	char *events;

	(void)state;
	add_switch(&data, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_PREEMPT, 5000);
	add_switch(&data, 0, 6000);
	events = file_events(&clock_attr, 1, &data);
	made_expect(events, "switch ts=5000 prev=100/101 state=runnable next=200/201");
	made_expect(events, "switch ts=6000 prev=200/201 state=unknown next=100/101");
	free(events);
	made_release(&data);
}

static void switches_are_left_out_when_nobody_wants_them(void **state)
{
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	add_switch(&data, 0, 5000);
	made_file(&m, &clock_attr, 1, &data, NULL, 0);
	events = made_events_of(m.bytes, m.size, TL_WANT_SAMPLES);
	made_refuse(events, "switch ...");
	free(events);
	made_release(&data);
	made_release(&m);
}

static void add_losses(struct made *data, bool has_lost_samples)
{
	struct made lost = { 0 }, samples = { 0 };

	made_u64(&lost, 10), made_u64(&lost, 30);
	put_trailer(&lost, 101, 5000);
	finish(data, PERF_RECORD_LOST, 0, &lost);
	if (!has_lost_samples)
		return;
	made_u64(&samples, 33);
	put_trailer(&samples, 101, 0);
	finish(data, PERF_RECORD_LOST_SAMPLES, 0, &samples);
}

static void losses_told_twice_are_counted_once(void **state)
{
	struct perf_attr attr = clock_attr;
	struct made data = { 0 };
	char *events;

	(void)state;
	attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	add_losses(&data, true);
	events = file_events(&attr, 1, &data);
	made_expect(events, "gap ts=5000 kind=0 cpu=-1 type=0 count=0");
	made_expect(events, "gap kind=1 cpu=-1 type=0 count=33");
	made_expect(events, "diagnostic lost count=33...");
	free(events);
	made_release(&data);
}

static void losses_told_once_are_counted(void **state)
{
	struct made data = { 0 };
	char *events;

	(void)state;
	add_losses(&data, false);
	events = file_events(&clock_attr, 1, &data);
	made_expect(events, "gap ts=5000 kind=0 cpu=-1 type=0 count=30");
	made_expect(events, "diagnostic lost count=30...");
	free(events);
	made_release(&data);
}

static void tracepoint_by_frequency_is_said_to_be_sampled(void **state)
{
	struct perf_attr attr = clock_attr;
	struct made data = { 0 };
	char *events;

	(void)state;
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = 372;
	attr.sample_period = 99;
	attr.flags |= PERF_ATTR_FREQ;
	add_sample(&data, 1, 5000);
	events = file_events(&attr, 1, &data);
	made_expect(events,
		    "diagnostic note count=1 what=\"sampled tracepoint tracepoint:372\"...");
	free(events);
	made_release(&data);
}

/* ---- what cannot be read ---- */

static void record_of_size_0_ends_the_data_and_keeps_what_came_before(void **state)
{
	struct made data = { 0 };
	char *events;

	(void)state;
	add_sample(&data, 1, 5000);
	made_zeros(&data, 64);
	events = file_events(&clock_attr, 1, &data);
	made_expect(events, "sample ts=5000...");
	made_expect(events, "diagnostic damaged count=1 what=\"record that cannot be passed\" "
			    "unit=\"places\" byte=280 message=\"record size 0 is smaller than its "
			    "header; 1 samples before it were kept\"");
	free(events);
	made_release(&data);
}

static void file_that_ends_inside_a_record_says_so(void **state)
{
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	add_sample(&data, 1, 5000);
	add_sample(&data, 2, 6000);
	made_file(&m, &clock_attr, 1, &data, NULL, 0);
	events = made_events_of(m.bytes, m.size - 10, 0);
	made_expect(events, "sample ts=5000...");
	made_expect(events, "diagnostic truncated count=1 what=\"end of the data\" unit=\"places\" "
			    "byte=280 message=\"the file ends inside a record: 22 of its 32 bytes "
			    "are there; 1 samples before it were kept\"");
	free(events);
	made_release(&data);
	made_release(&m);
}

static void nothing_that_can_be_read_is_an_error(void **state)
{
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	add_sample(&data, 1, 5000);
	made_file(&m, &clock_attr, 1, &data, NULL, 0);
	events = made_events_of(m.bytes, FILE_DATA + 10, 0);
	made_expect(events, "error: made: byte 248: the file ends inside a record: 10 of its 32 "
			    "bytes are there");
	free(events);
	made_release(&data);
	made_release(&m);
}

static void killed_recorder_leaves_its_records(void **state)
{
	struct made data = { 0 }, m = { 0 };
	char *events;

	(void)state;
	add_sample(&data, 1, 5000);
	made_file(&m, &clock_attr, 1, &data, NULL, 0);
	memset(m.bytes + 48, 0, 8); /* data.size */
	m.bytes[72] = 0xfe;	    /* features that were never written */
	events = made_events(&m);
	made_expect(events, "sample ts=5000...");
	made_expect(events, "diagnostic truncated count=1 what=\"recorder killed\"...");
	free(events);
	made_release(&data);
	made_release(&m);
}

static void damaged_record_is_skipped_and_the_next_one_read(void **state)
{
	struct made data = { 0 }, body = { 0 };
	char *events;

	(void)state;
	made_u64(&body, 1);
	finish(&data, PERF_RECORD_SAMPLE, 2, &body);
	add_sample(&data, 2, 6000);
	events = file_events(&clock_attr, 1, &data);
	made_expect(events, "sample ts=6000...");
	made_expect(events, "diagnostic damaged count=1 what=\"sample ends too early: 4 bytes "
			    "wanted, 0 left\"...");
	free(events);
	made_release(&data);
}

static void unknown_records_are_counted_by_type(void **state)
{
	struct made data = { 0 }, body = { 0 };
	char *events;

	(void)state;
	made_zeros(&body, 24);
	made_record(&data, 40, 0, &body);
	made_record(&data, 40, 0, &body);
	made_record(&data, PERF_RECORD_TEXT_POKE, 0, &body);
	events = file_events(&clock_attr, 1, &data);
	made_expect(events, "diagnostic unsupported count=2 what=\"records of unknown type 40\" "
			    "unit=\"records\" byte=248");
	made_expect(events, "diagnostic skipped count=1 what=\"TEXT_POKE records\"...");
	free(events);
	made_release(&body);
	made_release(&data);
}

static void hardware_trace_behind_its_record_is_passed(void **state)
{
	struct made data = { 0 }, info = { 0 }, trace = { 0 };
	char *events;

	(void)state;
	made_u32(&info, 1), made_u32(&info, 0);
	finish(&data, PERF_RECORD_AUXTRACE_INFO, 0, &info);
	made_u64(&trace, 100);
	made_zeros(&trace, 32);
	finish(&data, PERF_RECORD_AUXTRACE, 0, &trace);
	for (int i = 0; i < 100; i++)
		made_bytes(&data, "\xff", 1);
	add_sample(&data, 1, 5000);
	events = file_events(&clock_attr, 1, &data);
	made_expect(events, "sample ts=5000...");
	made_expect(events,
		    "diagnostic skipped count=100 what=\"hardware trace\" unit=\"bytes\" "
		    "byte=264 message=\"100 bytes of Intel PT trace skipped, not decoded\"");
	free(events);
	made_release(&data);
}

/* ---- pipes ---- */

static void begin_pipe(struct made *m)
{
	struct made body = { 0 };

	made_pipe(m);
	made_attr(&body, &clock_attr);
	made_u64(&body, 10);
	finish(m, PERF_RECORD_HEADER_ATTR, 0, &body);
}

static void pipe_tells_its_events_and_features_in_records(void **state)
{
	struct made m = { 0 }, body = { 0 };
	char *events;

	(void)state;
	begin_pipe(&m);
	made_u64(&body, HEADER_OSRELEASE);
	made_u32(&body, 64), made_text(&body, "6.1.0-18", 64);
	finish(&m, PERF_RECORD_HEADER_FEATURE, 0, &body);
	add_sample(&m, 0x400100, 5000);
	events = made_events(&m);
	made_expect(events, "meta key=\"os_release\" value=\"6.1.0-18\"");
	made_expect(events, "type index=0 name=\"cpu-clock\"...");
	made_expect(events, "sample ts=5000 type=0 task=100/101 period=1000 ip=400100");
	free(events);
	made_release(&m);
}

static void text_of_the_terminal_behind_a_pipe_is_told(void **state)
{
	const char *text = "[ perf record: Woken up 1 times to write data ]\n";
	struct made m = { 0 };
	char *events;

	(void)state;
	begin_pipe(&m);
	add_sample(&m, 1, 5000);
	made_bytes(&m, text, strlen(text));
	events = made_events(&m);
	made_expect(events, "sample ts=5000...");
	made_expect(events, "diagnostic damaged count=1 what=\"text behind the records\"...");
	free(events);
	made_release(&m);
}

static void samples_before_any_event_are_counted(void **state)
{
	struct made m = { 0 };
	char *events;

	(void)state;
	made_pipe(&m);
	add_sample(&m, 1, 5000);
	events = made_events(&m);
	made_refuse(events, "sample ...");
	made_expect(events, "diagnostic damaged count=1 what=\"samples before any event was "
			    "described\"...");
	free(events);
	made_release(&m);
}

/* ---- compressed ---- */

/* `plain` as one zstd stream, cut into records of `piece` bytes. */
static void add_compressed(struct made *m, const struct made *plain, size_t piece, bool is_newer)
{
	size_t room = ZSTD_compressBound(plain->size);
	uint8_t *packed = malloc(room);
	size_t len = ZSTD_compress(packed, room, plain->bytes, plain->size, 1);

	assert_false(ZSTD_isError(len));
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		struct made body = { 0 };

		if (is_newer)
			made_u64(&body, n);
		made_bytes(&body, packed + at, n);
		if (is_newer)
			made_zeros(&body, (8 - n % 8) % 8);
		finish(m, is_newer ? PERF_RECORD_COMPRESSED2 : PERF_RECORD_COMPRESSED, 0, &body);
	}
	free(packed);
}

static void check_compressed(bool is_newer)
{
	struct made plain = { 0 };
	size_t samples = 200;

	for (size_t i = 0; i < samples; i++)
		add_sample(&plain, 0x400000 + i * i * 7919 % 65536, 5000 + i);
	for (size_t piece = 1; piece < 2000; piece = piece * 3 + 1) {
		struct made m = { 0 };
		char *events;

		begin_pipe(&m);
		add_compressed(&m, &plain, piece, is_newer);
		events = made_events(&m);
		assert_int_equal(made_count(events, "sample "), samples);
		assert_int_equal(made_count(events, "diagnostic "), 0);
		free(events);
		made_release(&m);
	}
	made_release(&plain);
}

static void compressed_records_may_be_cut_anywhere(void **state)
{
	(void)state;
	check_compressed(false);
}

static void padding_of_newer_compressed_records_is_no_data(void **state)
{
	(void)state;
	check_compressed(true);
}

static void compressed_bytes_that_make_no_sense_are_told(void **state)
{
	struct made m = { 0 }, body = { 0 };
	char *events;

	(void)state;
	begin_pipe(&m);
	add_sample(&m, 1, 5000);
	made_text(&body, "this was never compressed", 32);
	finish(&m, PERF_RECORD_COMPRESSED, 0, &body);
	events = made_events(&m);
	made_expect(events, "sample ts=5000...");
	made_expect(events, "diagnostic damaged count=1 what=\"record that cannot be passed\" "
			    "unit=\"places\" byte=176 message=\"compressed records are damaged: "
			    "Unknown frame descriptor; 1 samples before it were kept\"");
	free(events);
	made_release(&m);
}

static void stream_that_ends_inside_a_record_is_told(void **state)
{
	struct made m = { 0 }, plain = { 0 };
	char *events;

	(void)state;
	add_sample(&plain, 1, 5000);
	add_sample(&plain, 2, 6000);
	plain.size -= 4;
	begin_pipe(&m);
	add_compressed(&m, &plain, 60000, false);
	events = made_events(&m);
	made_expect(events, "sample ts=5000...");
	made_refuse(events, "sample ts=6000...");
	made_expect(events, "diagnostic truncated count=1 what=\"end of the data\" unit=\"places\" "
			    "byte=144 message=\"the compressed records end inside a record: 28 "
			    "bytes of it are there; 1 samples before it were kept\"");
	free(events);
	made_release(&plain);
	made_release(&m);
}

static void stream_that_grows_without_end_is_refused(void **state)
{
	const size_t size = 256u << 20;
	struct made m = { 0 }, plain = { 0 };
	uint8_t *all;
	char *events;

	(void)state;
	made_zeros(&plain, 65528 - 8);
	begin_pipe(&m);
	all = malloc(size);
	assert_non_null(all);
	{
		struct made record = { 0 };

		finish(&record, PERF_RECORD_FINISHED_INIT, 0, &plain);
		for (size_t at = 0; at < size; at += record.size)
			memcpy(all + at, record.bytes,
			       size - at < record.size ? size - at : record.size);
		made_release(&record);
	}
	plain.bytes = all;
	plain.size = size;
	add_compressed(&m, &plain, 60000, false);
	free(all);
	events = made_events(&m);
	made_expect(events, "diagnostic damaged count=1 what=\"record that cannot be passed\" "
			    "unit=\"places\" byte=144 message=\"compressed records are more than "
			    "1000 times larger inflated; 0 samples before it were kept\"");
	free(events);
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sideband_at_the_end_comes_before_the_samples),
		cmocka_unit_test(samples_keep_the_order_of_the_file),
		cmocka_unit_test(record_without_a_time_happened_behind_the_sample_before_it),
		cmocka_unit_test(markers_become_contexts_but_unknown_ones_stay),
		cmocka_unit_test(empty_chain_is_a_chain_of_no_frames),
		cmocka_unit_test(deferred_half_is_joined_by_thread_and_cookie),
		cmocka_unit_test(sample_without_a_known_id_is_kept_and_counted),
		cmocka_unit_test(sample_types_may_differ_when_the_id_comes_first),
		cmocka_unit_test(simpleperf_may_tell_ids_later),
		cmocka_unit_test(group_values_become_samples_of_what_each_member_gained),
		cmocka_unit_test(
			other_task_is_the_next_on_the_way_out_and_the_previous_on_the_way_in),
		cmocka_unit_test(switches_are_left_out_when_nobody_wants_them),
		cmocka_unit_test(losses_told_twice_are_counted_once),
		cmocka_unit_test(losses_told_once_are_counted),
		cmocka_unit_test(tracepoint_by_frequency_is_said_to_be_sampled),
		cmocka_unit_test(record_of_size_0_ends_the_data_and_keeps_what_came_before),
		cmocka_unit_test(file_that_ends_inside_a_record_says_so),
		cmocka_unit_test(nothing_that_can_be_read_is_an_error),
		cmocka_unit_test(killed_recorder_leaves_its_records),
		cmocka_unit_test(damaged_record_is_skipped_and_the_next_one_read),
		cmocka_unit_test(unknown_records_are_counted_by_type),
		cmocka_unit_test(hardware_trace_behind_its_record_is_passed),
		cmocka_unit_test(pipe_tells_its_events_and_features_in_records),
		cmocka_unit_test(text_of_the_terminal_behind_a_pipe_is_told),
		cmocka_unit_test(samples_before_any_event_are_counted),
		cmocka_unit_test(compressed_records_may_be_cut_anywhere),
		cmocka_unit_test(padding_of_newer_compressed_records_is_no_data),
		cmocka_unit_test(compressed_bytes_that_make_no_sense_are_told),
		cmocka_unit_test(stream_that_ends_inside_a_record_is_told),
		cmocka_unit_test(stream_that_grows_without_end_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
