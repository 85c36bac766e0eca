/*
 * torch_test.c - what PyTorch's traces become: clocks, tracks, classes, ids, steps.
 */
#include "torch.h"

#include "ascend.h"
#include "chrome.h"
#include "trace_example.h"

#define HOST "\"pid\":4242,\"tid\":4243"
#define BASE "1711964646000000000"

static void run(struct example *e, const char *name, const char *json)
{
	example_run_named(e, "torch", name, json, strlen(json), NULL);
	assert_int_equal(e->status, TL_OK);
}

#define EVENT                                                   \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," HOST \
	",\"ts\":4458676388068.751,\"dur\":1.5}"

/* ---- clocks ---------------------------------------------------------------------------------- */

static void a_base_before_the_events_is_exact(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"baseTimeNanoseconds\": " BASE ", \"traceEvents\": [{\"ph\":\"X\",\"cat\":"
	    "\"cpu_op\",\"name\":\"a\"," HOST ",\"ts\":4458676388068.751,\"dur\":1.5}]}");
	assert_has(&e, "clock name=\"trace\" method=exact offset=" BASE);
	assert_has(&e, "slice ts=4458676388068751 track=0 operator duration=1500 name=\"a\"");
	assert_int_equal(example_count(&e, "clock "), 1);
	example_release(&e);
}

static void a_base_behind_the_events_is_found_before_them(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," HOST
	    ",\"ts\":4458676388068.751,\"dur\":1.5}], \"baseTimeNanoseconds\": " BASE "}");
	assert_has(&e, "clock name=\"trace\" method=exact offset=" BASE);
	assert_int_equal(example_count(&e, "clock "), 1);
	assert_true(strstr(e.text, "clock ") < strstr(e.text, "slice "));
	example_release(&e);
}

static void a_base_may_be_a_string_among_any_white_space(void **state)
{
	static const char *const documents[] = {
		"{\"baseTimeNanoseconds\"\t:\n\t\"" BASE "\"\t,\"traceEvents\": [" EVENT "]}",
		"{\"traceEvents\": [" EVENT "],\r\n\"baseTimeNanoseconds\"\t:\n\t\"" BASE "\"\t}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		struct example e;

		run(&e, "x", documents[i]);
		assert_has(&e, "clock name=\"trace\" method=exact offset=" BASE);
		assert_int_equal(example_count(&e, "clock "), 1);
		example_release(&e);
	}
}

static void unix_times_need_no_base(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"a\"," HOST
	    ",\"ts\":1623142623460111,\"dur\":25}]}");
	assert_has(&e, "method=exact offset=0 residual=1000 why=\"the times are Unix time\"");
	assert_has(&e, "slice ts=1623142623460111000");
	example_release(&e);
}

/* 217 * 7889238 s = 1711964646 s; the name's time lies 1 s behind the event. */
static void a_missing_base_is_recovered_from_the_name_and_said_so(void **state)
{
	struct example e;

	(void)state;
	run(&e, "dir/host_12.1716423323388.pt.trace.json",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," HOST
	    ",\"ts\":4458676388068.751,\"dur\":1.5}]}");
	assert_has(&e, "method=assumed offset=" BASE " residual=-1 why=\"no baseTimeNanoseconds");
	example_release(&e);
}

static void without_any_hint_no_clock_is_told(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," HOST
	    ",\"ts\":4458676388068.751,\"dur\":1.5}]}");
	assert_lacks(&e, "clock ");
	example_release(&e);
}

static void times_are_read_digit_by_digit(void **state)
{
	static const struct {
		const char *text, *ns;
	} times[] = {
		{ "4458676388068.751", "4458676388068751" },
		{ "1712195495519689.001", "1712195495519689001" }, /* a double would not do */
		{ "\"1736412474712651.500\"", "1736412474712651500" },
		{ "\"1736408883973810\"", "1736408883973810000" },
		{ "\"1736412474730135.222\\t\"", "1736412474730135222" },
		{ "12.77012757357446", "12770" },
		{ "1.5e3", "1500000" },
		{ "0.0005", "1" },
		{ "12", "12000" },
		{ "7.5", "7500" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct tl_text json = { 0 }, line = { 0 };
		struct example e;

		tl_text_printf(&json, "{\"traceEvents\":[{\"ph\":\"i\",\"name\":\"a\",\"ts\":%s}]}",
			       times[i].text);
		tl_text_printf(&line, "slice ts=%s track", times[i].ns);
		run(&e, "x", json.data);
		assert_has(&e, line.data);
		example_release(&e);
		tl_text_release(&json);
		tl_text_release(&line);
	}
}

/* ---- tracks ---------------------------------------------------------------------------------- */

static void a_tid_is_the_same_as_number_and_as_text(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"a\",\"pid\":25738,"
	    "\"tid\":\"25738\",\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"s\",\"id\":1,\"pid\":25738,\"tid\":25738,\"ts\":1,\"cat\":\"async\"},"
	    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":25738.0,\"tid\":25738,\"ts\":2}]}");
	assert_int_equal(example_count(&e, "track index="), 1);
	assert_has(&e, "track index=0 thread task=25738/25738 pid=\"25738\" tid=\"25738\"");
	example_release(&e);
}

static void streams_never_meet_threads_of_the_same_numbers(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":7,"
	    "\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":7,\"ts\":1,\"dur\":1,"
	    "\"args\":{\"device\":1,\"stream\":7,\"correlation\":5}},"
	    "{\"ph\":\"s\",\"id\":5,\"pid\":1,\"tid\":7,\"ts\":1,\"cat\":\"ac2g\"},"
	    "{\"ph\":\"f\",\"id\":5,\"pid\":1,\"tid\":7,\"ts\":1,\"cat\":\"ac2g\",\"bp\":\"e\"}]}");
	assert_has(&e, "track index=0 thread task=1/7");
	assert_has(&e, "track index=1 device pid=\"1\" tid=\"7\" device=1 stream=7");
	assert_has(&e, "flow ts=1000 track=0 begin id=5 category=\"ac2g\"");
	assert_has(&e, "flow ts=1000 track=1 end id=5 category=\"ac2g\"");
	example_release(&e);
}

static void streams_of_2021_are_texts(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"f\",\"id\":9,\"pid\":0,\"tid\":\"stream 7\",\"ts\":3,"
	    "\"cat\":\"async\"},"
	    "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream 7\","
	    "\"ts\":3,\"dur\":2,\"args\":{\"device\":0,\"stream\":7,\"external id\":5,"
	    "\"correlation\":9}}]}");
	assert_int_equal(example_count(&e, "track index="), 1);
	assert_has(&e,
		   "track index=0 device name=\"stream 7\" pid=\"0\" tid=\"stream 7\" device=0");
	assert_has(&e, "kernel duration=2000 name=\"k\" category=\"Kernel\" correlation=9 "
		       "external_id=5 stream=7");
	example_release(&e);
}

static void names_may_come_behind_the_events(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," HOST
	    ",\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":\"4242\",\"tid\":0,\"args\":{\"name\":"
	    "\"python3\"}},"
	    "{\"ph\":\"M\",\"name\":\"thread_name\"," HOST ",\"args\":{\"name\":\"t\\u00e4\"}},"
	    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"args\":{\"name\":\"unused\"}}]}");
	assert_has(&e, "name=\"t\xc3\xa4\" process=\"python3\" pid=\"4242\" tid=\"4243\"");
	assert_lacks(&e, "unused");
	example_release(&e);
}

static void rows_that_are_no_threads_are_none(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"t\",\"pid\":\"Spans\","
	    "\"tid\":\"PyTorch Profiler\",\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"o\",\"pid\":-1,\"tid\":0,\"ts\":1,"
	    "\"dur\":1},"
	    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":4242,\"tid\":-549452224,"
	    "\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"i\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\",\"ts\":9}]}");
	assert_int_equal(example_count(&e, " other "), 5); /* four tracks, one class */
	assert_lacks(&e, " thread ");
	assert_has(&e, "overhead duration=1000 name=\"o\"");
	assert_has(&e, "instant suspect name=\"Record Window End\"");
	example_release(&e);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void classes_follow_category_and_name(void **state)
{
	static const struct {
		const char *category, *name, *class_;
	} rows[] = {
		{ "cpu_op", "aten::mm", "operator" },
		{ "Operator", "aten::mm", "operator" },
		{ "user_annotation", "nccl:all_reduce", "annotation" },
		{ "gpu_user_annotation", "nccl:all_reduce", "device_annotation" },
		{ "cuda_runtime", "cudaLaunchKernel", "runtime" },
		{ "cuda_runtime", "cudaDeviceSynchronize", "sync" },
		{ "Runtime", "hipMemcpyWithStream", "runtime" },
		{ "kernel", "ampere_sgemm", "kernel" },
		{ "KERNEL", "ncclKernel_AllReduce", "communication" },
		{ "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication" },
		{ "gpu_memcpy", "Memcpy HtoD", "memory_copy" },
		{ "Memset", "Memset (Device)", "memory_copy" },
		{ "python_function", "f.py(1): g", "python" },
		{ "cuda_sync", "Stream Sync", "sync" },
		{ "overhead", "o", "overhead" },
		{ "something_new", "s", "other" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tl_text json = { 0 }, line = { 0 };
		struct example e;

		tl_text_printf(&json,
			       "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\","
			       "\"pid\":3,\"tid\":4,\"ts\":1,\"dur\":1}]}",
			       rows[i].category, rows[i].name);
		tl_text_printf(&line, "track=0 %s duration=1000 name=\"%s\"", rows[i].class_,
			       rows[i].name);
		run(&e, "x", json.data);
		assert_has(&e, line.data);
		example_release(&e);
		tl_text_release(&json);
		tl_text_release(&line);
	}
}

static void steps_are_those_of_the_host(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#500\"," HOST
	    ",\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep # 501\"," HOST
	    ",\"ts\":2,\"dur\":1},"
	    "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"ProfilerStep#500\",\"pid\":0,"
	    "\"tid\":7,\"ts\":1,\"dur\":1},"
	    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"ProfilerStep*\"," HOST
	    ",\"ts\":2,\"dur\":1}]}");
	assert_int_equal(example_count(&e, " step="), 2);
	assert_has(&e, "annotation duration=1000 name=\"ProfilerStep#500\" category="
		       "\"user_annotation\" step=500");
	assert_has(&e, "annotation duration=1000 name=\"ProfilerStep # 501\" category=\"Operator\" "
		       "step=501");
	example_release(&e);
}

static void ids_are_exact(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"a\"," HOST
	    ",\"ts\":1,\"dur\":1,\"args\":{\"correlation\":-5,\"External id\":9007199254740993}},"
	    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"b\"," HOST
	    ",\"ts\":1,\"dur\":1,\"args\":{\"correlation\":\"9007199254740995\",\"External id\":"
	    "18446744073709551615}},"
	    "{\"ph\":\"s\",\"id\":1736412474725417508,\"ts\":1," HOST ",\"cat\":\"async_npu\"},"
	    "{\"ph\":\"s\",\"id\":\"0x1f\",\"ts\":1," HOST ",\"cat\":\"x\"},"
	    "{\"ph\":\"s\",\"id\":\"abc\",\"ts\":1," HOST ",\"cat\":\"y\"},"
	    "{\"ph\":\"f\",\"id\":\"abc\",\"ts\":2," HOST ",\"cat\":\"y\"}]}");
	assert_has(&e, "correlation=-5 external_id=9007199254740993");
	assert_has(&e, "correlation=9007199254740995 external_id=-1");
	assert_has(&e, "begin id=1736412474725417508");
	assert_has(&e, "begin id=31 category=\"x\"");
	{
		const char *begin = strstr(e.text, "begin id="), *end = strstr(e.text, "end id=");

		while (!strstr(begin, "category=\"y\"") ||
		       strchr(begin, '\n') < strstr(begin, "\"y\""))
			begin = strstr(begin + 1, "begin id=");
		assert_int_equal(strtoull(begin + 9, NULL, 10), strtoull(end + 7, NULL, 10));
	}
	example_release(&e);
}

static void bytes_of_a_collective_follow_from_its_elements(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_x\",\"pid\":0,"
	    "\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"In msg nelems\":1000,\"dtype\":\"BFloat16\"}},"
	    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"m\",\"pid\":0,\"tid\":7,\"ts\":1,"
	    "\"dur\":1,\"args\":{\"bytes\":4096}}]}");
	assert_has(&e, "communication duration=1000 name=\"ncclDevKernel_x\" category=\"kernel\" "
		       "bytes=2000");
	assert_has(&e, "bytes=4096");
	example_release(&e);
}

static void arguments_are_compact_json_or_left_out(void **state)
{
	static const char json[] =
		"{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," HOST
		",\"ts\":1,\"dur\":1,\"args\":{\n   \"Input Dims\": [[1, 2], []],\t\"External id\": 7 }}]}";
	struct tl_import_options none = { .argument_bytes = -2 }, few = { .argument_bytes = 10 };
	struct example e;

	(void)state;
	run(&e, "x", json);
	assert_has(&e, "arguments=\"{\"Input Dims\":[[1,2],[]],\"External id\":7}\"");
	example_release(&e);
	example_run_named(&e, "torch", "x", json, sizeof(json) - 1, &none);
	assert_has(&e, "external_id=7");
	assert_lacks(&e, "arguments=");
	assert_lacks(&e, "diagnostic");
	example_release(&e);
	example_run_named(&e, "torch", "x", json, sizeof(json) - 1, &few);
	assert_lacks(&e, "arguments=");
	assert_has(&e, "diagnostic skipped count=1 what=\"arguments longer than asked for\"");
	example_release(&e);
}

static void only_steps_are_emitted_when_only_they_are_wanted(void **state)
{
	static const char json[] =
		"{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#5\"," HOST
		",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," HOST
		",\"ts\":1,\"dur\":1},{\"ph\":\"s\",\"id\":1,\"ts\":1," HOST ",\"cat\":\"x\"},"
		"{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1,\"args\":{\"v\":1}}]}";
	struct tl_import_options opt = { .want = TL_WANT_STEPS };
	struct example e;

	(void)state;
	example_run_named(&e, "torch", "x", json, sizeof(json) - 1, &opt);
	assert_int_equal(e.result.events[TL_EVENT_SLICE], 1);
	assert_int_equal(e.result.events[TL_EVENT_FLOW], 0);
	assert_int_equal(e.result.events[TL_EVENT_COUNTER], 0);
	example_release(&e);
}

/* ---- what the trace says of itself ------------------------------------------------------------ */

static void facts_beside_the_events_are_kept(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [], \"host_name\": \"node\\u002d7\", \"roctracer_version\": 4.1,"
	    "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": \"8\"},"
	    "\"deviceProperties\": [ {\"id\": 0} ]}");
	assert_has(&e, "meta key=\"hostname\" value=\"node-7\"");
	assert_has(&e, "meta key=\"roctracer_version\" value=\"4.1\"");
	assert_has(&e, "meta key=\"deviceProperties\" value=\"[{\"id\":0}]\"");
	assert_has(&e, "meta key=\"rank\" value=\"3\"\nmeta key=\"rank_from\" value=\"the file\"\n"
		       "meta key=\"world_size\" value=\"8\"");
	example_release(&e);
}

static void a_rank_comes_from_the_user_or_the_name_where_the_file_has_none(void **state)
{
	static const char json[] = "{\"schemaVersion\":1,\"traceEvents\":[]}";
	static const struct {
		const char *name, *rank;
	} names[] = { { "d/rank-34.trace.json", "\"34\"" },
		      { "worker7_step_12.json", "\"7\"" },
		      { "Rank0_x.json", "\"0\"" },
		      { "rank_12/t.json", NULL },
		      { "frank.json", NULL } };
	struct tl_import_options opt = { .has_rank = true, .rank = 5 };
	struct example e;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		run(&e, names[i].name, json);
		if (names[i].rank) {
			assert_has(&e, names[i].rank);
			assert_has(&e, "value=\"the file name\"");
		} else {
			assert_lacks(&e, "key=\"rank\"");
		}
		example_release(&e);
	}
	example_run_named(&e, "torch", "rank3.json", json, sizeof(json) - 1, &opt);
	assert_has(&e, "meta key=\"rank\" value=\"5\"\nmeta key=\"rank_from\" value=\"the user\"");
	example_release(&e);
}

static void counts_by_phase_are_kept(void **state)
{
	struct example e;

	(void)state;
	run(&e, "x",
	    "{\"traceEvents\": [{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"M\"},"
	    "{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}");
	assert_has(&e, "meta key=\"events_by_phase\" value=\"{\"M\":1,\"X\":2}\"");
	example_release(&e);
}

/* ---- the probe ------------------------------------------------------------------------------- */

static const char *probed(const char *json)
{
	const struct tl_importer *found = tl_importer_probe((const uint8_t *)json, strlen(json));

	return found ? found->name : "";
}

static void the_producer_is_known_by_content(void **state)
{
	(void)state;
	assert_string_equal(probed("{ \"schemaVersion\": 1, \"deviceProperties\": [ {"), "torch");
	assert_string_equal(probed("\xef\xbb\xbf\n{\"distributedInfo\": {\"rank\": 0},"), "torch");
	assert_string_equal(probed("{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\""), "torch");
	assert_string_equal(probed("{\"metadata\":{}, \"traceEvents\": [ {\"ph\": \"X\", \"cat\": "
				   "\"kernel\", \"args\": {\"External id\": 5"),
			    "torch");
	assert_string_equal(probed("[{\"ph\": \"X\", \"name\": \"aten::empty\", \"ts\": "
				   "\"1736408883688177.930\", \"cat\": \"cpu_op\""),
			    "ascend");
	assert_string_equal(
		probed("[{\"name\":\"process_name\",\"args\":{\"name\":\"Ascend Hardware\"},"
		       "\"ph\":\"M\"}"),
		"ascend");
	assert_string_equal(
		probed("{\"traceEvents\": [{\"name\":\"process_name\",\"args\":{\"name\":"
		       "\"Ascend Hardware\"},\"ph\":\"M\"}"),
		"ascend");
	assert_string_equal(
		probed("{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"aten::empty\", \"ts\": "
		       "\"1736408883688177.930\", \"cat\": \"cpu_op\""),
		"ascend");
	assert_string_equal(
		probed("{\"schemaVersion\": 1, \"traceEvents\": [{\"name\":\"process_name\","
		       "\"args\":{\"name\":\"CANN\"},\"ph\":\"M\"}"),
		"torch");
	assert_string_equal(
		probed("{\"traceEvents\": [{\"name\":\"process_name\",\"args\":{\"name\":"
		       "\"NPU\"},\"ph\":\"M\"}"),
		"chrome");
	assert_string_equal(probed("[{\"name\":\"a\",\"ph\":\"B\",\"ts\":1}"), "chrome");
	assert_string_equal(probed("{\"traceEvents\":["), "chrome");
	assert_string_equal(probed("{\"ph\":\"B\",\"ts\":1}\n{\"ph\":\"E\",\"ts\":2}\n"), "chrome");
}

static void other_texts_are_not_claimed(void **state)
{
	static const char *const texts[] = {
		"{\"name\":\"x\",\"version\":\"1.0\"}",
		"{\"schemaVersion\":1,\"nodes\":[]}",
		"[1,2,3]",
		"{\"step\":1,\"start\":2.5,\"duration\":0.5}\n",
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"profiles\":[]}",
		"step,start,duration\n1,2,3\n",
		"12:00:01.5 ioctl(3, \"ph\", {\"traceEvents\"}) = 0 <0.1>\n",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const uint8_t *head = (const uint8_t *)texts[i];

		assert_int_equal(torch_importer.probe(head, strlen(texts[i])), 0);
		assert_int_equal(ascend_importer.probe(head, strlen(texts[i])), 0);
		assert_int_equal(chrome_importer.probe(head, strlen(texts[i])), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_base_before_the_events_is_exact),
		cmocka_unit_test(a_base_behind_the_events_is_found_before_them),
		cmocka_unit_test(a_base_may_be_a_string_among_any_white_space),
		cmocka_unit_test(unix_times_need_no_base),
		cmocka_unit_test(a_missing_base_is_recovered_from_the_name_and_said_so),
		cmocka_unit_test(without_any_hint_no_clock_is_told),
		cmocka_unit_test(times_are_read_digit_by_digit),
		cmocka_unit_test(a_tid_is_the_same_as_number_and_as_text),
		cmocka_unit_test(streams_never_meet_threads_of_the_same_numbers),
		cmocka_unit_test(streams_of_2021_are_texts),
		cmocka_unit_test(names_may_come_behind_the_events),
		cmocka_unit_test(rows_that_are_no_threads_are_none),
		cmocka_unit_test(classes_follow_category_and_name),
		cmocka_unit_test(steps_are_those_of_the_host),
		cmocka_unit_test(ids_are_exact),
		cmocka_unit_test(bytes_of_a_collective_follow_from_its_elements),
		cmocka_unit_test(arguments_are_compact_json_or_left_out),
		cmocka_unit_test(only_steps_are_emitted_when_only_they_are_wanted),
		cmocka_unit_test(facts_beside_the_events_are_kept),
		cmocka_unit_test(a_rank_comes_from_the_user_or_the_name_where_the_file_has_none),
		cmocka_unit_test(counts_by_phase_are_kept),
		cmocka_unit_test(the_producer_is_known_by_content),
		cmocka_unit_test(other_texts_are_not_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
