/*
 * ascend_test.c - what Ascend's traces become: layers, streams, threads, counters, arrows.
 */
#include "trace_example.h"

#define NAME(pid, name)                                        \
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" pid \
	",\"tid\":0,\"args\":{\"name\":\"" name "\"}}"

static void run(struct example *e, const char *json)
{
	example_run_named(e, "ascend", "x", json, strlen(json), NULL);
	assert_int_equal(e->status, TL_OK);
}

static void times_as_strings_are_unix_times(void **state)
{
	struct example e;

	(void)state;
	run(&e, "[{\"ph\":\"X\",\"name\":\"aten::empty\",\"pid\":9000,\"tid\":9000,\"ts\":"
		"\"1736408883688177.930\",\"dur\":145.57,\"cat\":\"cpu_op\"}]");
	assert_has(&e, "method=exact offset=0");
	assert_has(&e, "slice ts=1736408883688177930 track=0 operator duration=145570");
	example_release(&e);
}

/* 9000 << 10 | 7 << 5 is the layer CANN of process 9000. */
static void layers_of_software_are_on_the_threads_that_ran_them(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"X\",\"name\":\"aten::empty\",\"pid\":9000,\"tid\":9001,\"ts\":"
	    "\"1736408883688177.930\",\"dur\":1,\"cat\":\"cpu_op\"}," NAME(
		    "9216224",
		    "CANN") ","
			    "{\"ph\":\"X\",\"name\":\"AscendCL@aclrtMemcpyAsync\",\"pid\":9216224,\"tid\":9001,"
			    "\"ts\":\"1736408883688180\",\"dur\":1,\"args\":{\"Mode\":\"ACL_RTS\",\"connection_id\":936}},"
			    "{\"ph\":\"X\",\"name\":\"AscendCL@aclrtSynchronizeStream\",\"pid\":9216224,\"tid\":9002,"
			    "\"ts\":\"1736408883688190\",\"dur\":1}]");
	assert_has(&e, "track index=1 thread task=9000/9001 process=\"CANN\" pid=\"9216224\"");
	assert_has(&e, "track=1 runtime duration=1000 name=\"AscendCL@aclrtMemcpyAsync\" "
		       "correlation=936");
	assert_has(&e, "track index=2 thread task=9000/9002");
	assert_has(&e, "track=2 sync duration=1000");
	example_release(&e);
}

static void hardware_rows_are_streams_of_a_device(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[" NAME(
		    "9216418",
		    "Ascend Hardware") ","
				       "{\"ph\":\"X\",\"name\":\"aclnnMatmul_MatMulV3\",\"pid\":9216418,\"tid\":2,\"ts\":"
				       "\"1764246878000300.004\",\"dur\":55.161,\"args\":{\"Task Type\":\"AI_CORE\","
				       "\"Physic Stream Id\":2,\"connection_id\":77}},"
				       "{\"ph\":\"X\",\"name\":\"MEMCPY_ASYNC\",\"pid\":9216418,\"tid\":2,\"ts\":"
				       "\"1764246878000400\",\"dur\":1,\"args\":{\"Task Type\":\"PCIE_DMA_SQE\"}},"
				       "{\"ph\":\"X\",\"name\":\"EVENT_WAIT\",\"pid\":9216418,\"tid\":2,\"ts\":"
				       "\"1764246878000500\",\"dur\":1,\"args\":{\"Task Type\":\"EVENT_WAIT_SQE\"}}]");
	assert_has(&e, "track index=0 device process=\"Ascend Hardware\" pid=\"9216418\" tid=\"2\" "
		       "device=2 stream=2");
	assert_has(&e,
		   "kernel duration=55161 name=\"aclnnMatmul_MatMulV3\" correlation=77 stream=2");
	assert_has(&e, "memory_copy duration=1000 name=\"MEMCPY_ASYNC\"");
	assert_has(&e, "sync duration=1000 name=\"EVENT_WAIT\"");
	example_release(&e);
}

static void rows_whose_layer_is_named_later_are_known_by_content(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"X\",\"name\":\"k\",\"pid\":800,\"tid\":3,\"ts\":\"1704161511422904.204\","
	    "\"dur\":1.35,\"args\":{\"Task Type\":\"Other\",\"Stream Id\":3}},"
	    "{\"ph\":\"X\",\"name\":\"Computing\",\"pid\":4376751100,\"tid\":0,\"ts\":"
	    "\"1704161511422904.204\",\"dur\":1.35},"
	    "{\"ph\":\"X\",\"name\":\"hcom_allReduce__586_0_1\",\"pid\":900,\"tid\":0,\"ts\":"
	    "\"1704161511422904.204\",\"dur\":1.35,\"args\":{\"alg_type\":\"MESH\"}}," NAME(
		    "800", "Ascend Hardware") "," NAME("4376751100", "Overlap Analysis") "]");
	assert_has(&e, "kernel duration=1350 name=\"k\" stream=3");
	assert_has(&e, "overlap duration=1350 name=\"Computing\"");
	assert_has(&e, "communication duration=1350 name=\"hcom_allReduce__586_0_1\"");
	assert_has(&e, "process=\"Overlap Analysis\" pid=\"4376751100\"");
	example_release(&e);
}

static void system_calls_are_on_threads(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[" NAME(
		    "9216000",
		    "OS Runtime API") ",{\"name\":\"ioctl\",\"pid\":9216000,\"tid\":9001,"
				      "\"ts\":\"1704161511422904.204\",\"dur\":7.5,\"ph\":\"X\"}]");
	assert_has(&e, "track index=0 thread");
	assert_has(&e, "os_call duration=7500 name=\"ioctl\"");
	example_release(&e);
}

static void a_counter_has_its_unit_and_its_labels(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[" NAME(
		    "9216640",
		    "HBM") ",{\"name\":\"HBM 0/Read\",\"ts\":\"1704161511422904.204\","
			   "\"pid\":9216640,\"tid\":0,\"args\":{\"Read(MB/s)\":2.5},\"ph\":\"C\"},"
			   "{\"name\":\"AI Core Freq\",\"ts\":\"1704161511422904.204\",\"pid\":5,\"tid\":0,"
			   "\"args\":{\"MHz\":1800},\"ph\":\"C\"},"
			   "{\"name\":\"read_bandwidth\",\"ts\":\"1704161511422904.204\",\"pid\":6,\"tid\":0,"
			   "\"args\":{\"value\":3,\"acc_id\":1},\"ph\":\"C\"}]");
	assert_has(&e, "track index=0 counter process=\"HBM\"");
	assert_has(&e, "track=0 value=2.5 name=\"HBM 0/Read\" unit=\"MB/s\"");
	assert_has(&e, "value=1800 name=\"AI Core Freq\" unit=\"MHz\"");
	assert_has(&e, "value=3 name=\"read_bandwidth acc_id=1\"");
	assert_int_equal(e.result.events[TL_EVENT_COUNTER], 3);
	example_release(&e);
}

static void arrows_of_numbers_and_texts_keep_their_ids(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"s\",\"bp\":\"e\",\"name\":\"torch_to_npu\",\"id\":1764246878000300004,"
	    "\"pid\":9000,\"tid\":9000,\"ts\":\"1764246878000100.000\",\"cat\":\"async_npu\"},"
	    "{\"name\":\"HostToDevice77\",\"ph\":\"f\",\"id\":\"77\",\"ts\":\"1764246878000300.004\","
	    "\"cat\":\"HostToDevice\",\"pid\":9216448,\"tid\":2,\"bp\":\"e\"}]");
	assert_has(&e, "begin id=1764246878000300004 category=\"async_npu\"");
	assert_has(&e, "end id=77 category=\"HostToDevice\"");
	example_release(&e);
}

static void queues_and_steps_of_the_python_layer(void **state)
{
	struct example e;

	(void)state;
	run(&e,
	    "[{\"ph\":\"X\",\"name\":\"Enqueue\",\"pid\":9000,\"tid\":9000,\"ts\":\"1764246878000100\","
	    "\"dur\":1,\"cat\":\"enqueue\",\"args\":{\"correlation_id\":8226}},"
	    "{\"ph\":\"X\",\"name\":\"ProfilerStep#50\",\"pid\":9000,\"tid\":9000,\"ts\":"
	    "\"1764246878000100\",\"dur\":1,\"cat\":\"cpu_op\"},"
	    "{\"ph\":\"X\",\"name\":\"GC\",\"pid\":9000,\"tid\":9000,\"ts\":\"1764246878000100\","
	    "\"dur\":1,\"cat\":\"GC\"}]");
	assert_has(&e,
		   "runtime duration=1000 name=\"Enqueue\" category=\"enqueue\" external_id=8226");
	assert_has(&e,
		   "annotation duration=1000 name=\"ProfilerStep#50\" category=\"cpu_op\" step=50");
	assert_has(&e, "garbage_collection duration=1000 name=\"GC\"");
	example_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_as_strings_are_unix_times),
		cmocka_unit_test(layers_of_software_are_on_the_threads_that_ran_them),
		cmocka_unit_test(hardware_rows_are_streams_of_a_device),
		cmocka_unit_test(rows_whose_layer_is_named_later_are_known_by_content),
		cmocka_unit_test(system_calls_are_on_threads),
		cmocka_unit_test(a_counter_has_its_unit_and_its_labels),
		cmocka_unit_test(arrows_of_numbers_and_texts_keep_their_ids),
		cmocka_unit_test(queues_and_steps_of_the_python_layer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
