/*
 * csv_test.c - tables as people and profilers write them, and what becomes of them, worked out by
 * hand.
 */
#include "csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader.h"

#define NOON INT64_C(1714564800000000000) /* 2024-05-01 12:00:00 UTC */

enum { EVENTS_MAX = 32 };

struct taken {
	struct tl_sink sink;
	struct tl_event events[EVENTS_MAX];
	char texts[EVENTS_MAX][512];
	size_t count;
	struct tl_import_result result;
	struct tl_error err;
	int ret;
};

static int take(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct taken *t = (struct taken *)sink;
	const char *text = ev->kind == TL_EVENT_STEP	     ? ev->step.detail
			   : ev->kind == TL_EVENT_DIAGNOSTIC ? ev->diagnostic.what
			   : ev->kind == TL_EVENT_CLOCK	     ? ev->clock.why
			   : ev->kind == TL_EVENT_SLICE	     ? ev->slice.arguments
							     : NULL;

	if (t->count == EVENTS_MAX)
		return tl_fail(err, TL_USAGE, "more events than the test has room for");
	t->events[t->count] = *ev;
	snprintf(t->texts[t->count++], sizeof(t->texts[0]), "%s", text ? text : "");
	return TL_OK;
}

static void import_named(struct taken *t, const char *name, const char *text, size_t len,
			 const struct tl_import_options *opt)
{
	struct tl_input *in;

	memset(t, 0, sizeof(*t));
	t->sink.emit = take;
	assert_int_equal(tl_input_open_memory(&in, name, (const uint8_t *)text, len, NULL), 0);
	t->ret = tl_import(&csv_importer, in, opt, &t->sink, &t->result, &t->err);
	tl_input_close(in);
}

static void import_with(struct taken *t, const char *text, size_t len,
			const struct tl_import_options *opt)
{
	import_named(t, "t.csv", text, len, opt);
}

static void import(struct taken *t, const char *text)
{
	import_with(t, text, strlen(text), NULL);
}

static const struct tl_event *nth(const struct taken *t, enum tl_event_kind kind, size_t i)
{
	for (size_t k = 0; k < t->count; k++)
		if (t->events[k].kind == kind && i-- == 0)
			return &t->events[k];
	fail_msg("no such event");
	return NULL;
}

static const char *text_of(const struct taken *t, const struct tl_event *ev)
{
	return t->texts[ev - t->events];
}

static void headers_are_found_by_any_of_their_names(void **state)
{
	/* one step, number 7, from NOON for a quarter of a second */
	static const char *const tables[] = {
		"step,start,duration\n7,1714564800,0.25\n",
		"start,step,duration\n1714564800,7,0.25\n",
		"Iteration;Begin Time;Step Time (ms)\n7;2024-05-01T12:00:00Z;250\n",
		"iter\tstart_us\tdur_ns\n7\t1714564800000000\t250000000\n",
		"step,timestamp,elapsed_ms\n7,1714564800250,250.0\n",
		"ts,dur,step\n1714564800,.25,7\n",
		"globalStep,startTime,stepTimeMs\n7.0,1714564800000000000,250\n",
		"step,start,end\n7,1714564800.0,1714564800.25\n",
		"step,end,duration_us\n7,1714564800.25,250000\n",
		"step,time,duration_s\n7,2024-05-01 14:00:00.25+02:00,.25\n",
		("\xef\xbb\xbf# of last night\r\n\r\n\"step\",\"start\",\"duration\"\r\n"
		 "\"7\",\"1714564800\",\"0.25\"\r\n"),
		"{\"step\":7,\"start\":1714564800,\"duration\":0.25}\n",
		/* a logger writes when the step has ended */
		"{\"_step\":7,\"_timestamp\":1714564800.25,\"train/step_time\":0.25,\"_runtime\":9}\n",
		"{\"step\":7,\"metrics\":{\"step_time\":0.25},\"ts\":\"2024-05-01T12:00:00.250Z\"}\n",
		"{\"step\":7,\"train_step_time_ms\":250,\"timestamp\":1714564800.25}\n",
		"{\"step\":7,\"step_time\":\"0.25 s\",\"time\":1714564800.25}\n",
		"{\"step\":7,\"time/step\":\"250ms\",\"time\":1714564800.25}\n",
		"{\"step\":7,\"step_time\":\"0:00:00.25\",\"wall_time\":1714564800.25}\n",
		"{\"trainer/global_step\":7,\"_step\":70,\"train/steps_per_second\":4,\"@timestamp\":1714564800.25}\n",
		"step;end;step_time_s\n7;1714564800.25;0,25\n",
		"epoch,step,time/iteration_ms,eval/step_time,wall_time\n0,7,250,9,1714564800.25\n",
		"run_id,key,value,timestamp,step\na,train/step_time,0.25,1714564800250,7\n",
	};
	struct taken t;

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct tl_event *step;

		assert_int_equal(csv_importer.probe((const uint8_t *)tables[i], strlen(tables[i])),
				 85);
		import(&t, tables[i]);
		if (t.ret != TL_OK || t.result.events[TL_EVENT_STEP] != 1)
			fail_msg("%d, %s: %s", t.ret, t.err.text, tables[i]);
		step = nth(&t, TL_EVENT_STEP, 0);
		if (step->step.number != 7 || !step->has_ts || step->ts != NOON ||
		    step->step.duration_ns != 250000000)
			fail_msg("step %lld at %lld for %lld: %s", (long long)step->step.number,
				 (long long)step->ts, (long long)step->step.duration_ns, tables[i]);
	}
}

static void rows_that_tell_no_duration_last_from_row_to_row(void **state)
{
	const struct tl_event *step;
	struct taken t;

	(void)state;
	import(&t, "{\"step\":1,\"timestamp\":1714564800.001}\n"
		   "{\"step\":2,\"timestamp\":1714564800.501}\n"
		   "{\"step\":4,\"timestamp\":1714564801.501}\n");
	assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->step.duration_ns, -1);
	step = nth(&t, TL_EVENT_STEP, 1);
	assert_int_equal(step->step.number, 2);
	assert_int_equal(step->ts, NOON + 1000000);
	assert_int_equal(step->step.duration_ns, 500000000);
	step = nth(&t, TL_EVENT_STEP, 2);
	assert_int_equal(step->step.number, 4);
	assert_int_equal(step->step.count, 2);
	assert_int_equal(step->step.duration_ns, 1000000000);
}

static void a_start_lasts_to_the_next(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step,start\n1,1714564800.001\n2,1714564800.501\n3,1714564801.501\n");
	assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->step.number, 1);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->ts, NOON + 1000000);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->step.duration_ns, 500000000);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 1)->step.number, 2);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 1)->step.duration_ns, 1000000000);
}

static void rows_between_steps_are_none(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "{\"config\":{\"lr\":1}}\n{\"step\":1,\"step_time\":0.5}\n"
		   "{\"step\":1,\"eval_loss\":2}\n{\"step\":2,\"step_time\":0.25}\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 2);
	assert_int_equal(t.result.damaged, 0);
	import(&t, "step,train_loss,val_loss,step_time\n1,2.5,,0.5\n1,,2.6,\n2,2.4,,0.25\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 2);
	assert_int_equal(t.result.damaged, 0);
}

static void of_rows_for_each_metric_one_is_the_duration(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "key,value,step,timestamp\nloss,2,1,1714564800000\nloss,2,2,1714564801000\n"
		   "step_time,0.5,1,1714564800000\nstep_time,0.75,2,1714564801000\n"
		   "eval/step_time,7,2,1714564801000\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 2);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 1)->step.duration_ns, 750000000);
}

static void the_name_of_a_file_of_tensorboard_tells_the_metric(void **state)
{
	static const char text[] =
		"Wall time,Step,Value\n1714564800.5,1,0.25\n1714564801.5,2,0.5\n";
	struct taken t;

	(void)state;
	import_named(&t, "run-train-tag-perf_step_time.csv", text, strlen(text), NULL);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 1)->step.duration_ns, 500000000);
	import_named(&t, "run-train-tag-loss.csv", text, strlen(text), NULL);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 1)->step.duration_ns, 1000000000);
}

static void an_elapsed_time_that_grows_is_when(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step,elapsed\n1,0.5\n2,1.001\n3,1.501\n4,2.5\n");
	assert_int_equal(nth(&t, TL_EVENT_STEP, 1)->step.duration_ns, 501000000);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 3)->step.duration_ns, 999000000);
	import(&t, "step,elapsed\n1,0.5\n2,0.501\n3,0.49\n4,0.5\n");
	assert_int_equal(nth(&t, TL_EVENT_STEP, 1)->step.duration_ns, 501000000);
}

static void rows_of_every_tenth_step_stand_for_ten(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step,step_time\n10,0.5\n20,0.5\n30,0.75\n");
	assert_int_equal(nth(&t, TL_EVENT_STEP, 2)->step.count, 10);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 2)->step.duration_ns, 7500000000);
}

static void rows_out_of_order_are_put_in_the_order_of_their_steps(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step,step_time\n1,0.1\n10,1.0\n2,0.2\n3,0.3\n9,0.9\n4,0.4\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 6);
	for (size_t i = 0; i < 6; i++) {
		const struct tl_event_step *step = &nth(&t, TL_EVENT_STEP, i)->step;

		assert_int_equal(step->number, i < 4 ? i + 1 : i + 5);
		assert_int_equal(step->duration_ns, step->number * 100000000);
	}
	import(&t, "step,timestamp\n3,1714564803.001\n1,1714564801.001\n2,1714564801.501\n");
	assert_int_equal(nth(&t, TL_EVENT_STEP, 2)->step.number, 3);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 2)->step.duration_ns, 1500000000);
	import(&t, "step,rank,step_time\n1,0,1\n1,1,2\n3,0,1\n2,1,2\n2,0,1\n3,1,2\n");
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(nth(&t, TL_EVENT_STEP, i)->step.count, 1);
		assert_int_equal(nth(&t, TL_EVENT_STEP, i)->step.duration_ns,
				 (1 + nth(&t, TL_EVENT_STEP, i)->step.rank) * INT64_C(1000000000));
	}
}

static void epochs_and_restarts_are_no_disorder(void **state)
{
	static const char *const tables[] = {
		"step,step_time\n1,1\n2,2\n3,3\n1,4\n2,5\n3,6\n",
		/* times go on */
		"step,end,step_time\n10,10,1\n20,30,2\n15,60,3\n25,100,4\n35,150,5\n45,210,6\n",
	};
	struct taken t;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		import(&t, tables[k]);
		for (int i = 0; i < 6; i++) {
			const struct tl_event_step *step = &nth(&t, TL_EVENT_STEP, (size_t)i)->step;

			assert_int_equal(step->duration_ns,
					 (i + 1) * INT64_C(1000000000) *
						 (step->count > 1 ? step->count : 1));
		}
	}
}

static void steps_of_a_trace_without_numbers_are_counted(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "Device_id,Step,Computing,Communication(Not Overlapped),Free\n"
		   "0,,8,1,1\n1,,9,1,1\n0,,6,1,1\n1,,7,1,1\n");
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(nth(&t, TL_EVENT_STEP, i)->step.number, i / 2);
		assert_int_equal(nth(&t, TL_EVENT_STEP, i)->step.rank, i % 2);
	}
	assert_int_equal(nth(&t, TL_EVENT_DIAGNOSTIC, 0)->diagnostic.count, 4);
}

static void a_quote_between_tabs_is_a_byte_where_that_fits(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step\tdur_ms\tnote\n1\t5\t\"x\n2\t5\t\"y\n3\t5\t\"a\tb\"\n4\t5\t\"z\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 4);
	assert_string_equal(text_of(&t, nth(&t, TL_EVENT_STEP, 1)), "{\"note\":\"\\\"y\"}");
	assert_string_equal(text_of(&t, nth(&t, TL_EVENT_STEP, 2)), "{\"note\":\"a\\tb\"}");
}

static void units_are_told_by_names_of_columns(void **state)
{
	static const struct {
		const char *table;
		int64_t duration_ns;
	} cases[] = {
		{ "step,forward_ms,backward_ms,step_ms\n1,100,200,500\n", 500000000 },
		{ "step,step_ms,step_time_s\n1,7,0.5\n", 500000000 },
		{ "step,step_time_min\n1,0.25\n", INT64_C(15000000000) },
		{ "step,step_time_min,step_time_max,step_time_s\n1,3,4,0.5\n", 500000000 },
		{ "step,avg_step_time_ms,cur_time_ms\n1,400,500\n", 500000000 },
	};
	struct taken t;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		import(&t, cases[i].table);
		assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->step.duration_ns, cases[i].duration_ns);
	}
}

static void rows_may_be_objects_of_an_array(void **state)
{
	static const char text[] =
		"[\n  {\n    \"step\": 1,\n    \"step_time_s\": 0.5,\n    \"n\": "
		"\"}\\\"{\"\n  },\n  {\"step\": 2, \"step_time_s\": 0.25}, {\"config\": "
		"{\"a\": []}}, {\"step\": 3, \"step_time_s\": 1}\n]\n";
	static const char events[] =
		"[{\"name\":\"a\",\"ph\":\"X\",\"ts\":1,\"dur\":2,\"step\":3}]";
	struct taken t;

	(void)state;
	assert_int_equal(csv_importer.probe((const uint8_t *)text, sizeof(text) - 1), 85);
	assert_int_equal(csv_importer.probe((const uint8_t *)events, sizeof(events) - 1), 0);
	import(&t, text);
	assert_int_equal(t.result.events[TL_EVENT_STEP], 3);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->step.duration_ns, 500000000);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 2)->step.number, 3);
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		import_with(&t, text, len, NULL);
		assert_true(t.result.events[TL_EVENT_STEP] <= 3);
	}
}

static void other_columns_are_kept(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step,duration_ms,loss,note\n1,5,2.50,\"a \"\"b\"\", c\"\n2,5,N/A,\n");
	assert_string_equal(text_of(&t, nth(&t, TL_EVENT_STEP, 0)),
			    "{\"loss\":2.50,\"note\":\"a \\\"b\\\", c\"}");
	assert_string_equal(text_of(&t, nth(&t, TL_EVENT_STEP, 1)), "");
}

static void ranks_of_rows_win_over_the_one_told(void **state)
{
	const struct tl_import_options opt = { .has_rank = true, .rank = 9 };
	const char text[] = "step,rank,dur_ms\n1,3,5\n1,,5\n";
	struct taken t;

	(void)state;
	import_with(&t, text, strlen(text), &opt);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->step.rank, 3);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 1)->step.rank, 9);
}

static void starts_from_an_unknown_beginning_are_no_unix_time(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step,start,duration_s\n1,0.5,0.25\n");
	assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->ts, 500000000);
	assert_int_equal(nth(&t, TL_EVENT_CLOCK, 0)->clock.method, TL_CLOCK_ASSUMED);
}

static void damaged_rows_are_counted_with_their_line(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step,duration_ms\n1,5\nx,5\n3,5,6\n4\n5,-1\n6,N/A\n7,5\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 2);
	assert_int_equal(t.result.damaged, 4); /* the sixth says nothing, which is no damage */
	assert_int_equal(t.result.first_damage.position, 3);
}

static void a_quoted_newline_is_part_of_its_field(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step,duration_ms,stack\n1,5,\"a.py\nb.py\"\n2,6,c\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 2);
	assert_string_equal(text_of(&t, nth(&t, TL_EVENT_STEP, 0)), "{\"stack\":\"a.py\\nb.py\"}");
}

static void a_last_row_that_may_be_cut_is_not_believed(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step,duration_ms\n1,5\n2,12");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 1);
	assert_int_equal(nth(&t, TL_EVENT_DIAGNOSTIC, 0)->diagnostic.kind, TL_DIAGNOSTIC_TRUNCATED);
}

static void the_split_of_a_step_keeps_its_digits(void **state)
{
	struct taken t;

	(void)state;
	import(&t,
	       "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,"
	       "Bubble\n50,8873.756000000001,101963.203,4028.6750000000175,105991.87800000001,"
	       "25744.050000000003,136581.0,0\n");
	/* 8873.756 + 101963.203 + 25744.050 us */
	assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->step.duration_ns, 136581009);
	assert_non_null(
		strstr(text_of(&t, nth(&t, TL_EVENT_STEP, 0)), "\"Computing\":8873.756000000001,"));
}

static void kernels_lie_on_their_streams(void **state)
{
	const struct tl_event *ev;
	struct taken t;

	(void)state;
	import(&t, "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,"
		   "Start Time(us),Duration(us),Input Shapes\n"
		   ",0,1,1,2,aclnnMatmul,MatMulV3,AI_CORE,\"1736412474730135.222\t\",55.161,"
		   "\"\"\"32,3\"\"\"\n"
		   "50,0,1,N/A,N/A,hcom_allReduce_,hcom_allReduce_,HCCL,1736412474730136.5\t,"
		   "12.7701,N/A\n"
		   "50,0,1,3,2,add,Add,AI_CORE,1736412474730140.000\t,1,\n");
	assert_int_equal(t.result.events[TL_EVENT_TRACK], 2);
	assert_int_equal(t.result.events[TL_EVENT_SLICE], 3);
	ev = nth(&t, TL_EVENT_SLICE, 0);
	assert_int_equal(ev->ts, INT64_C(1736412474730135222));
	assert_int_equal(ev->slice.duration_ns, 55161);
	assert_int_equal(ev->slice.class_, TL_SLICE_KERNEL);
	assert_non_null(strstr(text_of(&t, ev), "\"Input Shapes\":\"\\\"32,3\\\"\""));
	ev = nth(&t, TL_EVENT_SLICE, 1);
	assert_int_equal(ev->slice.class_, TL_SLICE_COMMUNICATION);
	assert_int_equal(ev->slice.track, 1);
	assert_int_equal(nth(&t, TL_EVENT_SLICE, 2)->slice.track, 0);
}

static void preloaded_calls_are_calls(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "Pid,Tid,Function,StartTime(ns),Duration(ns)\n"
		   "10,11,ioctl,1714564800000000001,12000000\n"
		   "10,12,pthread_mutex_lock,1714564800000000002,13000000\n");
	assert_int_equal(nth(&t, TL_EVENT_SYSCALL, 0)->syscall.kind, TL_CALL_SYSTEM);
	assert_int_equal(nth(&t, TL_EVENT_SYSCALL, 0)->ts, NOON + 1);
	assert_int_equal(nth(&t, TL_EVENT_SYSCALL, 0)->syscall.task.tid, 11);
	assert_int_equal(nth(&t, TL_EVENT_SYSCALL, 1)->syscall.kind, TL_CALL_LIBRARY);
	assert_int_equal(nth(&t, TL_EVENT_SYSCALL, 1)->syscall.duration_ns, 13000000);
}

static void sums_of_calls_are_kept_as_sums(void **state)
{
	const struct tl_event_call_summary *c;
	struct taken t;

	(void)state;
	import(&t,
	       "Device_id,Process ID,Thread ID,Name,Time(%),Time(us),Count,Avg(us),Max(us),Min(us)\n"
	       "0,4242,4250,nanosleep,0.985,102423000.12,97090,1055,2000.5,N/A\n");
	assert_int_equal(t.ret, TL_OK);
	c = &nth(&t, TL_EVENT_CALL_SUMMARY, 0)->call_summary;
	assert_int_equal(c->task.tid, 4250);
	assert_int_equal(c->kind, TL_CALL_SYSTEM);
	assert_int_equal(c->count, 97090);
	assert_int_equal(c->total_ns, 102423000120);
	assert_int_equal(c->max_ns, 2000500);
	assert_int_equal(c->min_ns, -1);
}

static void other_summaries_are_refused_in_words(void **state)
{
	static const char *const headers[] = {
		"Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n",
		"OP Type,Core Type,Count,Total Time(us),Min Time(us)\n",
	};
	struct taken t;

	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		import(&t, headers[i]);
		assert_int_equal(t.ret, TL_NOTHING);
		assert_non_null(strstr(t.err.text, "summary"));
	}
}

static void other_tables_are_not_claimed(void **state)
{
	static const char *const tables[] = { "name,value\na,1\n", "step,loss\n1,2\n", "hello\n",
					      "{\"traceEvents\":[{}]}\n", "{\"step\":1,\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		assert_int_equal(csv_importer.probe((const uint8_t *)tables[i], strlen(tables[i])),
				 0);
}

static void cut_anywhere_it_ends_well(void **state)
{
	static const char *const texts[] = {
		"# c\nstep,start,\"dura\"\"tion\",duration_ms\r\n1,2024-05-01T12:00:00Z,\"a\nb\",5\r\n",
		"{\"step\":1,\"duration\":0.5,\"x\":[{\"a\":\"}\"}],\"s\":\"q\\\"z\"}\n{\"step\":2}\n",
		"Name,Type,Start Time(us),Duration(us),Stream ID\nx,y,1.5\t,2,3\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (size_t len = 0; len <= strlen(texts[i]); len++) {
			char *copy = malloc(len ? len : 1); /* exact, for the sanitizer */
			struct taken t;

			assert_non_null(copy);
			memcpy(copy, texts[i], len);
			csv_importer.probe((const uint8_t *)copy, len);
			import_with(&t, copy, len, NULL);
			free(copy);
			assert_true(t.ret == TL_OK || t.ret == TL_FORMAT || t.ret == TL_NOTHING);
		}
	}
}

static void step_trace_time_of_a_real_run_is_exact(void **state)
{
	const char *shared = getenv("TRACELOOM_SHARED");
	struct tl_input *in;
	struct taken t;
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/corpus/profiler/ascend.level1-rank0.step_trace_time.csv",
		 shared ? shared : "../shared");
	if (tl_input_open(&in, path, NULL) < 0)
		skip();
	memset(&t, 0, sizeof(t));
	t.sink.emit = take;
	t.ret = tl_import(&csv_importer, in, NULL, &t.sink, &t.result, &t.err);
	tl_input_close(in);
	assert_int_equal(t.ret, TL_OK);
	assert_int_equal(nth(&t, TL_EVENT_STEP, 0)->step.number, 50);
	assert_non_null(
		strstr(text_of(&t, nth(&t, TL_EVENT_STEP, 0)), "\"Computing\":8873.756000000001,"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_found_by_any_of_their_names),
		cmocka_unit_test(rows_of_every_tenth_step_stand_for_ten),
		cmocka_unit_test(the_name_of_a_file_of_tensorboard_tells_the_metric),
		cmocka_unit_test(an_elapsed_time_that_grows_is_when),
		cmocka_unit_test(of_rows_for_each_metric_one_is_the_duration),
		cmocka_unit_test(rows_between_steps_are_none),
		cmocka_unit_test(a_start_lasts_to_the_next),
		cmocka_unit_test(rows_that_tell_no_duration_last_from_row_to_row),
		cmocka_unit_test(rows_out_of_order_are_put_in_the_order_of_their_steps),
		cmocka_unit_test(epochs_and_restarts_are_no_disorder),
		cmocka_unit_test(steps_of_a_trace_without_numbers_are_counted),
		cmocka_unit_test(a_quote_between_tabs_is_a_byte_where_that_fits),
		cmocka_unit_test(units_are_told_by_names_of_columns),
		cmocka_unit_test(rows_may_be_objects_of_an_array),
		cmocka_unit_test(other_columns_are_kept),
		cmocka_unit_test(ranks_of_rows_win_over_the_one_told),
		cmocka_unit_test(starts_from_an_unknown_beginning_are_no_unix_time),
		cmocka_unit_test(damaged_rows_are_counted_with_their_line),
		cmocka_unit_test(a_quoted_newline_is_part_of_its_field),
		cmocka_unit_test(a_last_row_that_may_be_cut_is_not_believed),
		cmocka_unit_test(the_split_of_a_step_keeps_its_digits),
		cmocka_unit_test(kernels_lie_on_their_streams),
		cmocka_unit_test(preloaded_calls_are_calls),
		cmocka_unit_test(sums_of_calls_are_kept_as_sums),
		cmocka_unit_test(other_summaries_are_refused_in_words),
		cmocka_unit_test(other_tables_are_not_claimed),
		cmocka_unit_test(cut_anywhere_it_ends_well),
		cmocka_unit_test(step_trace_time_of_a_real_run_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
