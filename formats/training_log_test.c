/*
 * training_log_test.c - lines as programs print them, and what they say, read by hand.
 */
#include "training_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader.h"

/* 2024-05-01 12:00:00 UTC */
#define NOON INT64_C(1714564800000000000)

enum { EVENTS_MAX = 64 };

struct taken {
	struct tl_sink sink;
	struct tl_event events[EVENTS_MAX];
	char details[EVENTS_MAX][256];
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
							     : NULL;

	if (t->count == EVENTS_MAX)
		return tl_fail(err, TL_USAGE, "more events than the test has room for");
	t->events[t->count] = *ev;
	if (text)
		snprintf(t->details[t->count], sizeof(t->details[0]), "%s", text);
	if (ev->kind == TL_EVENT_LOG)
		snprintf(t->details[t->count], sizeof(t->details[0]), "%s %.*s", ev->log.level,
			 (int)ev->log.text_length, ev->log.text);
	t->count++;
	return TL_OK;
}

static void import_with(struct taken *t, const char *text, size_t len,
			const struct tl_import_options *opt)
{
	struct tl_input *in;

	memset(t, 0, sizeof(*t));
	t->sink.emit = take;
	assert_int_equal(tl_input_open_memory(&in, "train.log", (const uint8_t *)text, len, NULL),
			 0);
	t->ret = tl_import(&training_log_importer, in, opt, &t->sink, &t->result, &t->err);
	tl_input_close(in);
}

static void import(struct taken *t, const char *text)
{
	import_with(t, text, strlen(text), NULL);
}

/* The i-th step. */
static const struct tl_event *step_at(const struct taken *t, size_t i)
{
	for (size_t k = 0; k < t->count; k++)
		if (t->events[k].kind == TL_EVENT_STEP && i-- == 0)
			return &t->events[k];
	fail_msg("no such step");
	return NULL;
}

static const char *detail_of(const struct taken *t, const struct tl_event *ev)
{
	return t->details[ev - t->events];
}

static const struct tl_event *find(const struct taken *t, enum tl_event_kind kind, const char *text)
{
	for (size_t k = 0; k < t->count; k++)
		if (t->events[k].kind == kind && (!text || strstr(t->details[k], text)))
			return &t->events[k];
	return NULL;
}

static void check_line(const char *line, int64_t number, int64_t duration_ns, int32_t rank)
{
	struct taken t;
	char text[1024];

	snprintf(text, sizeof(text), "%s\n", line);
	import(&t, text);
	if (t.ret != TL_OK || t.result.events[TL_EVENT_STEP] != 1)
		fail_msg("%d steps (%s) in: %s", (int)t.result.events[TL_EVENT_STEP], t.err.text,
			 line);
	if (step_at(&t, 0)->step.number != number ||
	    step_at(&t, 0)->step.duration_ns != duration_ns || step_at(&t, 0)->step.rank != rank)
		fail_msg("step %lld of %lld ns, rank %d in: %s",
			 (long long)step_at(&t, 0)->step.number,
			 (long long)step_at(&t, 0)->step.duration_ns, step_at(&t, 0)->step.rank,
			 line);
}

static void lines_of_known_programs_are_steps(void **state)
{
	(void)state;
	check_line(
		" [2024-05-01 12:00:10] iteration      100/  500000 | consumed samples: 12800 | "
		"elapsed time per iteration (ms): 1234.5 | learning rate: 1.500E-04 | global batch "
		"size:   128 | lm loss: 1.0557E+01 | number of skipped iterations:   0 |",
		100, 1234500000, -1);
	check_line("worker-1: steps: 10 loss: 8.1234 iter time (s): 0.512 samples/sec: 31.250", 10,
		   512000000, -1);
	check_line(
		"2024-05-01 12:00:00,123 - mindformers[mindformers/core/callback.py:529] - INFO - { "
		"Epoch:[  1/  1], step:[    2/  100], loss: 10.6, per_step_time: 1234ms, lr: 1e-05",
		2, 1234000000, -1);
	check_line("iter 100: loss 3.2000, time 123.45ms, mfu 12.31%", 100, 123450000, -1);
	check_line(
		"step   10/100 | loss 4.1 (+nanz)| norm 2.0 (+nanz)| lr 6.00e-04 | 123.45 ms | 40.1% "
		"bf16 MFU | 300000 tok/s",
		10, 123450000, -1);
	check_line(
		"[03/14 12:00:00 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 1.2  time: "
		"0.3456  data_time: 0.0123  lr: 0.001",
		19, 345600000, -1);
	check_line(
		"2024/05/01 12:00:00 - mmengine - INFO - Epoch(train)  [1][  50/1000]  lr: 1.0e-02  "
		"eta: 1:00:00  time: 0.2345  data_time: 0.01 loss: 1.2",
		50, 234500000, -1);
	check_line(
		"Epoch: [0]  [  10/1251]  eta: 0:10:00  lr: 0.1  loss: 6.9 (6.9)  time: 0.5123  data: "
		"0.1",
		10, 512300000, -1);
	check_line(
		"Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.91)  Time: 0.321s,  797.10/s  (0.40s,  "
		"640.0/s)  LR: 1.0e-3",
		50, 321000000, -1);
	check_line("global step 100, epoch: 1, batch: 99, loss: 10.1, avg_reader_cost: 0.0001 sec, "
		   "avg_batch_cost: 0.2000 sec, ips: 40 sequences/sec",
		   100, 200000000, -1);
	check_line("Epoch 49:  50%|5 | 50/1000 [01:40<31:40, 2.00s/it, v_num=0, global_step=49.00, "
		   "train_step_timing in s=1.950]",
		   49, 1950000000, -1);
	check_line("completed step: 7, seconds: 0.512, TFLOP/s/device: 180.1, loss: 2.345", 7,
		   512000000, -1);
	check_line(
		"2024-05-01 12:00:00 | INFO | train_inner | epoch 001:    7 / 100 loss=9.1, wps=1000, "
		"ups=4.00, wpb=1, num_updates=7, lr=1e-05, train_wall=5, wall=60",
		7, 250000000, -1);
	check_line("Step 7/100 - loss: 2.3 (0.512s)", 7, 512000000, -1);
	check_line("step 7: 1.5 s/it", 7, 1500000000, -1);
	check_line("step 7: 4 it/s", 7, 250000000, -1);
	check_line("{'loss': 2.3, 'step': 1,234, 'step_time': 0.5}", 1234, 500000000, -1);
}

static void lines_in_objects_are_lines(void **state)
{
	struct taken t;

	(void)state;
	check_line("{\"log\":\"step 3 time: 0.5 s\\n\",\"stream\":\"stdout\",\"time\":"
		   "\"2024-05-01T12:00:00.5Z\"}",
		   3, 500000000, -1);
	check_line(
		"{\"asctime\": \"2024-05-01 12:00:00,123\", \"levelname\": \"INFO\", \"rank\": 2, "
		"\"message\": \"step 3 \\\"a\\\" time: 0.5 s\"}",
		3, 500000000, 2);
	import(&t,
	       "{\"log\":\"\\r 1/9 [00:00<00:25,  4.00it/s]\\r 2/9 [00:00<00:25,  2.00it/s]\"}\n"
	       "{\"msg\":\"slow disk\",\"level\":\"ERROR\",\"ts\":1714564800.5}\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 2);
	assert_int_equal(step_at(&t, 1)->step.duration_ns, 500000000);
	assert_non_null(find(&t, TL_EVENT_LOG, "ERROR slow disk"));
	assert_int_equal(find(&t, TL_EVENT_LOG, "ERROR slow disk")->ts, NOON + 500000000);
}

static void units_are_what_they_say(void **state)
{
	(void)state;
	check_line("step 1 took 500 msec", 1, 500000000, -1);
	check_line("step 1 took 500 usec", 1, 500000, -1);
	check_line("step 1 took 300 \xc2\xb5s", 1, 300000, -1);
	check_line("step 1 took 300\xce\xbcs", 1, 300000, -1);
	check_line("step 1 took 1m 2.00s", 1, INT64_C(62000000000), -1);
	check_line("step 1 time per step: 1 min 5 s", 1, INT64_C(65000000000), -1);
	check_line("step 1 took 1h 2m 3s", 1, INT64_C(3723000000000), -1);
	check_line("step 1 took 2 min", 1, INT64_C(120000000000), -1);
	check_line("step 1 time 0,5000s", 1, 500000000, -1);
	check_line("step 1 took 0,5s", 1, 500000000, -1);
	check_line("step 1 took 0,123 s", 1, 123000000, -1);
	check_line("step 1 took 1,234 ms", 1, 1234000000, -1);
	check_line("step 1 took 1,234.5 ms", 1, 1234500000, -1);
}

static void fronts_of_lines_are_understood(void **state)
{
	(void)state;
	check_line("7: step 12 time: 0.5 s", 12, 500000000, 7);
	check_line("[rank3]: step 12 time: 0.5 s", 12, 500000000, 3);
	check_line("[Rank 11] step 12 time: 0.5 s", 12, 500000000, 11);
	check_line("(RankID 3) step 12 time: 0.5 s", 12, 500000000, 3);
	check_line("[default2]:2024-05-01 12:00:00 INFO step 12 time: 0.5 s", 12, 500000000, 2);
	check_line("[1,5]<stdout>:step 12 time: 0.5 s", 12, 500000000, 5);
	check_line("\033[32m[2024-05-01 12:00:00]\033[0m \033[1mstep 12\033[0m time: 0.5 s", 12,
		   500000000, -1);
	check_line("INFO:root:step 12 time: 0.5 s", 12, 500000000, -1);
}

static void a_line_is_printed_when_its_step_has_ended(void **state)
{
	static const struct {
		const char *front;
		int64_t ns;
	} fronts[] = {
		{ "2024-05-01T12:00:00Z ", NOON },
		{ "2024-05-01T14:00:00.250+02:00 ", NOON + 250000000 },
		{ "2024-05-01 12:00:00,123 ", NOON + 123000000 },
		{ "[2024-05-01 12:00:00] ", NOON },
		{ "1714564800.5 ", NOON + 500000000 },
		{ "1714564800500 ", NOON + 500000000 },
		{ "05/01/2024 12:00:00 - INFO - ", NOON },
	};
	struct taken t;
	char line[128];

	(void)state;
	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
		snprintf(line, sizeof(line), "%sstep 3 time: 2 s\n", fronts[i].front);
		import(&t, line);
		assert_true(step_at(&t, 0)->has_ts);
		assert_int_equal(step_at(&t, 0)->ts, fronts[i].ns - 2000000000);
	}
}

static void a_step_without_a_time_has_no_begin(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "iteration 3/ 10 | elapsed time per iteration (ms): 82.380\n");
	assert_false(step_at(&t, 0)->has_ts);
	assert_null(find(&t, TL_EVENT_CLOCK, NULL));
}

static void what_stands_beside_the_step_is_kept(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step 3 | time: 2 s | lm loss: 1.05E+01 | lr: .5 | grad norm: nan\n");
	assert_string_equal(detail_of(&t, step_at(&t, 0)),
			    "{\"lm loss\":1.05E+01,\"lr\":0.5,\"grad norm\":null}");
}

static void talk_about_steps_is_none(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "saving checkpoint at iteration 100 took 5.3 s\n"
		   " validation loss at iteration 100 | lm loss value: 6.2E+00 | time: 3 s\n"
		   "Loading checkpoint shards: 100%|###| 2/2 [00:05<00:00,  2.5s/it]\n"
		   "resuming from step 500, time: 3 s\n"
		   "total steps: 100000, time limit: 30 min\n");
	assert_int_equal(t.ret, TL_NOTHING);
	assert_int_equal(t.result.events[TL_EVENT_STEP], 0);
}

static void progress_that_is_drawn_over_itself_counts_once_a_step(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "Sanity Checking: 100%|##| 2/2 [00:00<00:00, 5.00it/s]\r"
		   "Epoch 0:  0%|  | 0/9 [00:00<?, ?it/s]\r"
		   "Epoch 0: 11%|# | 1/9 [00:00<00:25,  4.00it/s, loss=0.5]\r"
		   "Epoch 0: 22%|# | 2/9 [00:00<00:25,  2.00it/s, loss=0.4]\r"
		   "Epoch 0: 22%|# | 2/9 [00:00<00:25,  2.00it/s, loss=0.4]\r"
		   "Epoch 0: 33%|# | 3/9 [00:00<00:25,  2.50s/it, loss=0.4]\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 3);
	assert_int_equal(step_at(&t, 0)->step.duration_ns, 250000000);
	assert_int_equal(step_at(&t, 1)->step.duration_ns, 500000000);
	assert_int_equal(step_at(&t, 2)->step.duration_ns, 2500000000);
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "the same step again"));
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "something else than training"));
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "from a rate"));
}

static void interleaved_ranks_stay_apart(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "[rank0]: step 1 time: 1 s\n[rank1]: step 1 time: 2 s\n"
		   "[rank1]: step 2 time: 2 s\n[rank0]: step 2 time: 1 s\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(step_at(&t, i)->step.duration_ns,
				 (1 + step_at(&t, i)->step.rank) * INT64_C(1000000000));
	assert_null(find(&t, TL_EVENT_DIAGNOSTIC, NULL));
}

static void a_rank_beside_the_step_is_its(void **state)
{
	(void)state;
	check_line("rank=3 step 12 took 0.5 s", 12, 500000000, 3);
	check_line("rank 3 step 12 took 0.5 s", 12, 500000000, 3);
	check_line("rank: 3, step: 12, time: 0.5 s", 12, 500000000, 3);
	check_line("global_rank=3 local_rank=1 step 12 took 0.5 s", 12, 500000000, 3);
	check_line("local_rank=1 global_rank=3 step 12 took 0.5 s", 12, 500000000, 3);
	check_line("GPU3: step 12 took 0.5 s", 12, 500000000, 3);
	check_line("worker 3 step 12 took 0.5 s", 12, 500000000, 3);
	check_line("step 12 took 0.5 s rank=3", 12, 500000000, 3);
	check_line("INFO trainer rank=3 step=12 step_time_ms=500", 12, 500000000, 3);
	/* ranks of other things */
	check_line("lora rank=8 step 12 took 0.5 s", 12, 500000000, -1);
	check_line("step 12 took 0.5 s | gpu 45 | tp_rank 1", 12, 500000000, -1);
}

static void processes_without_a_rank_stay_apart(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "(Worker pid=100, ip=10.0.0.0) step 1 took 1 s\n"
		   "(Worker pid=101, ip=10.0.0.1) step 1 took 2 s\n"
		   "(Worker pid=101, ip=10.0.0.1) step 2 took 2 s\n"
		   "(Worker pid=100, ip=10.0.0.0) step 2 took 1 s\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(step_at(&t, i)->step.duration_ns,
				 (1 + step_at(&t, i)->step.rank) * INT64_C(1000000000));
	assert_int_equal(find(&t, TL_EVENT_DIAGNOSTIC, "by their pid")->diagnostic.count, 2);
}

static void lines_of_one_step_that_differ_are_left_out_and_counted(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step 1 took 1 s\nstep 1 took 2 s\nstep 2 took 1 s\nstep 2 took 2 s\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 2);
	assert_int_equal(find(&t, TL_EVENT_DIAGNOSTIC, "same step again")->diagnostic.count, 2);
	assert_int_equal(find(&t, TL_EVENT_DIAGNOSTIC, "same step again")->diagnostic.kind,
			 TL_DIAGNOSTIC_SKIPPED);
}

static void a_steps_own_time_goes_before_a_mean(void **state)
{
	(void)state;
	check_line("step 1/9 avg_time 0.512s cur_time 0.650s", 1, 650000000, -1);
	check_line("step 1/9 cur_time 0.650s avg_time 0.512s", 1, 650000000, -1);
	check_line("step 1: loss 2.31, step time 0.5 s (avg), last 0.506 s", 1, 506000000, -1);
	check_line("step 1: loss 2.31, step time 0.5 s (avg)", 1, 500000000, -1);
	check_line("step 1 mean step time 0.512s | last step time 0.650s", 1, 650000000, -1);
	check_line("step 1 smoothed_step_time: 0.512s time: 0.650s", 1, 512000000, -1);
	check_line("step 1 smoothed_step_time: 0.512s inst_time: 0.650s", 1, 650000000, -1);
}

static void a_total_that_grows_is_no_duration(void **state)
{
	static const char *const forms[] = { "step %d loss 2.1 (%d.500 sec)\n",
					     "step %d elapsed %d.500s\n",
					     "step %d total time: %d.500 s\n",
					     "step %d time %d.500s\n" };
	struct taken t;

	(void)state;
	for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
		char text[800];
		size_t n = 0;

		for (int i = 1; i <= 9; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, forms[k], i,
					      i < 6 ? i : i + 1);
		import(&t, text);
		/* the first one's begin is not known */
		assert_int_equal(t.result.events[TL_EVENT_STEP], 9);
		assert_int_equal(step_at(&t, 0)->step.duration_ns, -1);
		assert_int_equal(step_at(&t, 4)->step.duration_ns, 1000000000);
		assert_int_equal(step_at(&t, 5)->step.duration_ns, 2000000000);
		assert_non_null(find(&t, TL_EVENT_CLOCK, "file date"));
	}
	import(&t, "step 1 time 1 s\nstep 2 time 1.1 s\nstep 3 time 1.2 s\nstep 4 time 9 s\n");
	assert_int_equal(step_at(&t, 3)->step.duration_ns, INT64_C(9000000000));
}

static void check_step(const struct taken *t, size_t i, int64_t number, int64_t count,
		       int64_t duration_ns)
{
	const struct tl_event_step *step = &step_at(t, i)->step;

	if (step->number != number || (step->count > 1 ? step->count : 1) != count ||
	    step->duration_ns != duration_ns)
		fail_msg("step %lld of %lld steps, %lld ns", (long long)step->number,
			 (long long)step->count, (long long)step->duration_ns);
}

static void a_line_for_several_steps_counts_for_all(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step 10 time: 1 s\nstep 20 time: 1 s\nstep 30 time: 2 s\n");
	check_step(&t, 0, 10, 10, 10000000000);
	check_step(&t, 1, 20, 10, 10000000000);
	check_step(&t, 2, 30, 10, 20000000000);
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "several steps"));
	assert_int_equal(find(&t, TL_EVENT_DIAGNOSTIC, "several steps")->diagnostic.count, 3);
}

static void a_line_for_several_steps_begins_with_the_first(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "2024-05-01T12:00:00.000Z step 10 time: 500 ms\n"
		   "2024-05-01T12:00:05.010Z step 20 time: 500 ms\n");
	assert_int_equal(step_at(&t, 1)->ts, NOON + 10000000);
}

static void the_first_line_stands_for_what_can_have_been(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step 1 time: 1 s\nstep 10 time: 1 s\nstep 20 time: 1 s\n");
	check_step(&t, 0, 1, 1, 1000000000);
	check_step(&t, 1, 10, 9, 9000000000);
	import(&t, "step 0 time: 1 s\nstep 10 time: 1 s\n");
	check_step(&t, 0, 0, 1, 1000000000);
	/* counted from 0: 49 ends the first 50 */
	import(&t, "step 49 time: 1 s\nstep 99 time: 1 s\n");
	check_step(&t, 0, 49, 50, 50000000000);
	/* resumed at 5000 */
	import(&t, "step 5010 time: 1 s\nstep 5020 time: 1 s\n");
	check_step(&t, 0, 5010, 10, 10000000000);
}

static void steps_of_lines_that_are_missing_are_nobodys(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step 1 time: 1 s\nstep 2 time: 1 s\nstep 60 time: 1 s\nstep 61 time: 1 s\n");
	check_step(&t, 2, 60, 1, 1000000000);
	assert_int_equal(find(&t, TL_EVENT_DIAGNOSTIC, "no line tells of")->diagnostic.count, 57);
	import(&t, "step 1 time: 1 s\nstep 2 time: 1 s\nstep 4 time: 1 s\nstep 5 time: 1 s\n");
	check_step(&t, 2, 4, 1, 1000000000);
	import(&t, "step 10 time: 1 s\nstep 20 time: 1 s\nstep 40 time: 1 s\nstep 50 time: 1 s\n");
	check_step(&t, 2, 40, 10, 10000000000);
	assert_int_equal(find(&t, TL_EVENT_DIAGNOSTIC, "no line tells of")->diagnostic.count, 10);
}

static void after_a_restart_lines_stand_for_as_many_steps(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step 50 time: 1 s\nstep 60 time: 1 s\nstep 50 time: 1 s\nstep 60 time: 1 s\n");
	for (size_t i = 0; i < 4; i++)
		check_step(&t, i, i % 2 ? 60 : 50, 10, 10000000000);
	assert_int_equal(find(&t, TL_EVENT_DIAGNOSTIC, "go back")->diagnostic.count, 1);
}

static void lines_out_of_order_stand_for_one_step_each(void **state)
{
	static const int orders[][8] = {
		{ 1, 2, 4, 3, 5, 6, 7, 8 }, /* two lines swapped */
		{ 2, 1, 4, 3, 6, 5, 8, 7 },
		{ 71, 41, 11, 82, 52, 22, 93, 63 }, /* as a hash table has them */
		{ 1, 10, 100, 11, 12, 13, 2, 20 },  /* sorted as text */
		{ 8, 7, 6, 5, 4, 3, 2, 1 },
	};
	struct taken t;

	(void)state;
	for (size_t k = 0; k < sizeof(orders) / sizeof(orders[0]); k++) {
		char text[400] = "";

		for (size_t i = 0, n = 0; i < 8; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "step %d time: 1 s\n",
					      orders[k][i]);
		import(&t, text);
		assert_int_equal(t.result.events[TL_EVENT_STEP], 8);
		for (size_t i = 0; i < 8; i++)
			check_step(&t, i, orders[k][i], 1, 1000000000);
	}
}

static void a_time_for_all_steps_of_a_line_is_told_by_the_times_of_lines(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "2024-05-01 12:00:05.000 step 10 time: 5.0 s\n"
		   "2024-05-01 12:00:10.100 step 20 time: 5.0 s\n"
		   "2024-05-01 12:00:15.100 step 30 time: 5.0 s\n");
	check_step(&t, 0, 10, 10, 5000000000);
	check_step(&t, 1, 20, 10, 5100000000);
	check_step(&t, 2, 30, 10, 5000000000);
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "too long for one step"));
}

static void a_time_in_parentheses_is_since_the_line_before(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "loss = 2.3, step = 100 (8.0 sec)\nloss = 2.2, step = 200 (9.0 sec)\n");
	check_step(&t, 1, 200, 100, 9000000000);
}

static void lines_of_coarse_times_are_joined_until_they_tell(void **state)
{
	char text[4096] = "";
	struct taken t;

	(void)state;
	/* half a second each: 41 lines, the last at 20 s */
	for (int i = 0; i <= 40; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "2024-05-01 12:00:%02d step %d loss 2.0\n", i / 2, i + 1);
	import(&t, text);
	assert_int_equal(t.result.events[TL_EVENT_STEP], 3);
	check_step(&t, 0, 1, 1, -1);
	check_step(&t, 1, 21, 20, 10000000000);
	check_step(&t, 2, 41, 20, 10000000000);
	assert_int_equal(step_at(&t, 2)->ts, NOON + 10000000000);
	assert_int_equal(find(&t, TL_EVENT_DIAGNOSTIC, "too coarse")->diagnostic.count, 40);
}

static void means_since_the_epoch_began_are_taken_apart(void **state)
{
	struct taken t;

	(void)state;
	/* 100, 100, 400, 100 and 100 ms */
	import(&t, "Epoch 1/2\n1/5 [..] - 1s 100ms/step - loss: 0.5\r2/5 [..] - 1s 100ms/step\r"
		   "3/5 [..] - 1s 200ms/step\r4/5 [..] - 1s 175ms/step\r5/5 [..] - 1s 160ms/step\n"
		   "Epoch 2/2\n5/5 [==] - 1s 120ms/step - loss: 0.3\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 6);
	check_step(&t, 0, 1, 1, 100000000);
	check_step(&t, 2, 3, 1, 400000000);
	check_step(&t, 3, 4, 1, 100000000);
	check_step(&t, 4, 5, 1, 100000000);
	check_step(&t, 5, 10, 5, 600000000);
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "means since an epoch began"));
}

static void rounded_means_are_joined_until_they_tell(void **state)
{
	struct taken t;

	(void)state;
	/* 10 ms a step, known to 0.5 ms times 1 and 1 + 2: the first takes the second in */
	import(&t, "1/2 [..] - 1s 10ms/step\r2/2 [..] - 1s 10ms/step\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 1);
	check_step(&t, 0, 2, 2, 20000000);
	/* half a second each way of one */
	import(&t, "9/9 [..] - 9s 1s/step\n");
	check_step(&t, 0, 9, 9, -1);
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "rounded too much"));
}

static void epochs_of_one_line_each_are_all_there(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "Epoch 1/2\n40/40 - 20s - loss: 0.3 - 20s/epoch - 500ms/step\n"
		   "Epoch 2/2\n40/40 - 24s - loss: 0.3 - 24s/epoch - 600ms/step\n");
	check_step(&t, 0, 40, 40, 20000000000);
	check_step(&t, 1, 80, 40, 24000000000);
}

static void a_duration_below_the_step_is_its(void **state)
{
	struct taken t;

	(void)state;
	/* MindSpore: the mean of all steps of the epoch, or of the one */
	import(&t, "epoch: 1 step: 40, loss is 2.3\n"
		   "Train epoch time: 20000.000 ms, per step time: 500.000 ms\n"
		   "epoch: 2 step: 40, loss is 2.2\n"
		   "Train epoch time: 24000.000 ms, per step time: 600.000 ms\n");
	check_step(&t, 0, 40, 40, 20000000000);
	check_step(&t, 1, 80, 40, 24000000000);
	import(&t, "epoch: 1 step: 1, loss is 2.3\nper step time: 500.000 ms\n"
		   "epoch: 1 step: 2, loss is 2.2\nper step time: 600.000 ms\n");
	check_step(&t, 0, 1, 1, 500000000);
	check_step(&t, 1, 2, 1, 600000000);
	/* Composer */
	import(&t,
	       "[batch=1/90]:\n\t Train time/batch: 0\n\t Train throughput/batches_per_sec: 2\n"
	       "[batch=2/90]:\n\t Train time/batch: 1\n\t Train throughput/batches_per_sec: 4\n");
	check_step(&t, 0, 1, 1, 500000000);
	check_step(&t, 1, 2, 1, 250000000);
	import(&t, "step 1 loss 2\nstep 2 time 1 s loss 2\nmean step time: 3 s\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 1);
}

static void a_step_that_is_done_ends_then(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "2026-03-01 23:59:00,100 step 1 done\n2026-03-01 23:59:00,600 step 2 done.\n"
		   "2026-03-01 23:59:01,350 step 3 finished\n");
	assert_int_equal(step_at(&t, 1)->step.duration_ns, 500000000);
	assert_int_equal(step_at(&t, 2)->step.duration_ns, 750000000);
	check_line("step 1 | data 12.0 ms | fwd 152.2 ms | total 507.3 ms", 1, 507300000, -1);
	import(&t, "2026-03-01 23:59:00,100 step 1 done nothing\n"
		   "2026-03-01 23:59:00,600 checkpoint of step 2 done\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 0);
}

static void what_is_too_short_at_the_end_joins_the_row_before(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "2024-05-01 12:00:00 step 1 loss 2.0\n2024-05-01 12:00:12 step 2 loss 2.0\n"
		   "2024-05-01 12:00:24 step 3 loss 2.0\n2024-05-01 12:00:26 step 4 loss 2.0\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 3);
	check_step(&t, 1, 2, 1, 12000000000);
	check_step(&t, 2, 4, 2, 14000000000);
}

static void a_step_that_is_long_enough_is_not_joined_with_short_ones(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "2024-05-01 12:00:00 step 1 loss 2.0\n2024-05-01 12:00:10 step 2 loss 2.0\n"
		   "2024-05-01 12:00:12 step 3 loss 2.0\n2024-05-01 12:01:12 step 4 loss 2.0\n");
	check_step(&t, 1, 3, 2, 12000000000);
	check_step(&t, 2, 4, 1, 60000000000);
}

static void steps_without_durations_last_from_line_to_line(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "2024-05-01 12:00:00.000 step: 1  loss:  7.1\n"
		   "2024-05-01 12:00:01.500 step: 2  loss:  7.0\n"
		   "2024-05-01 12:00:07.500 step: 4  loss:  6.9\n");
	assert_int_equal(step_at(&t, 0)->step.duration_ns, -1);
	assert_int_equal(step_at(&t, 1)->step.duration_ns, 1500000000);
	assert_int_equal(step_at(&t, 1)->ts, NOON);
	check_step(&t, 2, 4, 2, 6000000000);
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "times of the lines"));
}

static void a_duration_that_is_told_wins_over_times_of_lines(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "[2024-05-01 12:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, "
		   "skipped=0, lr=[0.0001]\n"
		   "steps: 10 loss: 8.1 iter time (s): 0.512 samples/sec: 31.2\n"
		   "[2024-05-01 12:00:05,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, "
		   "skipped=0, lr=[0.0001]\n"
		   "steps: 20 loss: 8.0 iter time (s): 0.5 samples/sec: 31.2\n");
	assert_int_equal(t.result.events[TL_EVENT_STEP], 2);
	check_step(&t, 0, 10, 10, 5120000000);
	check_step(&t, 1, 20, 10, 5000000000);
}

static void warnings_and_errors_are_kept_with_their_time(void **state)
{
	const struct tl_event *ev;
	struct taken t;

	(void)state;
	import(&t, "step 1 time: 1 s\n"
		   "2024-05-01 12:00:00 - root - WARNING - slow disk\n"
		   "2024-05-01 12:00:00 - root - INFO - all is well\n"
		   "[rank3]: Traceback (most recent call last):\n"
		   "[rank3]:   File \"x.py\", line 3, in <module>\n"
		   "[rank3]: RuntimeError: boom\n"
		   "n1:7:9 [0] misc/socket.cc:50 NCCL WARN socket closed\n");
	assert_int_equal(t.result.events[TL_EVENT_LOG], 3);
	ev = find(&t, TL_EVENT_LOG, "WARNING slow disk");
	assert_non_null(ev);
	assert_int_equal(ev->ts, NOON);
	assert_int_equal(ev->log.position, 2);
	ev = find(&t, TL_EVENT_LOG,
		  "ERROR Traceback (most recent call last):\n  File \"x.py\", line 3, in "
		  "<module>\nRuntimeError: boom");
	assert_non_null(ev);
	assert_false(ev->has_ts);
	assert_non_null(find(&t, TL_EVENT_LOG, "NCCL WARN socket closed"));
}

static void a_pattern_names_the_parts_of_a_step(void **state)
{
	const struct tl_import_options opt = {
		.log_pattern =
			"r(?<rank>\\d) at (?<ts>\\S+): (?<step>\\d+) took (?<time_ms>[\\d.]+), "
			"(?<phase>\\w+)",
	};
	const char text[] = "r2 at 1714564801.5: 7 took 500.25, warm\nstep 8 time: 1 s\n";
	struct taken t;

	(void)state;
	import_with(&t, text, strlen(text), &opt);
	assert_int_equal(t.result.events[TL_EVENT_STEP], 1);
	assert_int_equal(step_at(&t, 0)->step.rank, 2);
	assert_int_equal(step_at(&t, 0)->step.number, 7);
	assert_int_equal(step_at(&t, 0)->step.duration_ns, 500250000);
	assert_int_equal(step_at(&t, 0)->ts, NOON + 1500000000 - 500250000);
	assert_string_equal(detail_of(&t, step_at(&t, 0)), "{\"phase\":\"warm\"}");
}

static void a_pattern_without_a_step_counts(void **state)
{
	const struct tl_import_options opt = { .log_pattern = "^(?<time>[\\d.]+)$" };
	const char text[] = "0.5\n0.25\n";
	struct taken t;

	(void)state;
	import_with(&t, text, strlen(text), &opt);
	assert_int_equal(step_at(&t, 0)->step.number, 0);
	assert_int_equal(step_at(&t, 1)->step.number, 1);
	assert_int_equal(step_at(&t, 1)->step.duration_ns, 250000000);
}

static void a_pattern_that_cannot_work_is_refused(void **state)
{
	static const char *const patterns[] = { "step (", "step \\d+", "(?<loss>\\d+)" };
	struct taken t;

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const struct tl_import_options opt = { .log_pattern = patterns[i] };

		import_with(&t, "step 1\n", 7, &opt);
		assert_int_equal(t.ret, TL_USAGE);
	}
}

static void the_rank_that_is_told_is_that_of_lines_without(void **state)
{
	const struct tl_import_options opt = { .has_rank = true, .rank = 5 };
	const char text[] = "step 1 time: 1 s\n[rank3]: step 1 time: 1 s\n";
	struct taken t;

	(void)state;
	import_with(&t, text, strlen(text), &opt);
	assert_int_equal(step_at(&t, 0)->step.rank, 5);
	assert_int_equal(step_at(&t, 1)->step.rank, 3);
}

static void date_and_zone_place_times_of_day(void **state)
{
	const struct tl_import_options opt = {
		.has_date = true,
		.date_ns = NOON - 12 * INT64_C(3600000000000),
		.has_timezone = true,
		.timezone_ns = 2 * INT64_C(3600000000000),
	};
	const char text[] = "23:59:59 step 1 time: 1 s\n00:00:01 step 2 time: 1 s\n";
	const struct tl_event *clock;
	struct taken t;

	(void)state;
	import_with(&t, text, strlen(text), &opt);
	clock = find(&t, TL_EVENT_CLOCK, "told");
	assert_non_null(clock);
	assert_int_equal(clock->clock.method, TL_CLOCK_TOLD);
	/* midnight of the next day, local, is 22:00 UTC of the first */
	assert_int_equal(step_at(&t, 1)->ts + clock->clock.offset_ns,
			 NOON + 10 * INT64_C(3600000000000));
}

static void a_number_that_may_be_cut_is_not_believed(void **state)
{
	struct taken t;

	(void)state;
	import(&t, "step 1 time (ms): 1234.5\nstep 2 time (ms): 12");
	assert_int_equal(t.ret, TL_OK);
	assert_int_equal(t.result.events[TL_EVENT_STEP], 1);
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "cut"));
}

static void cut_anywhere_it_ends_well(void **state)
{
	static const char text[] =
		"[2024-05-01 12:00:10] [INFO] [rank 3]: iteration 1/ 9 | elapsed time per iteration "
		"(ms): 1234.5 | lm loss: 1.05E+01 |\r\n\033[1mEpoch 0: 11%|\xe2\x96\x88| 1/9 "
		"[00:00<00:25,  4.00it/s, loss=nan]\r\bI0501 12:00:00.123 17 a.py:3] step 2 0.5s/it\n";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		struct taken t;
		char *copy = malloc(len ? len : 1); /* exact, for the sanitizer */

		assert_non_null(copy);
		memcpy(copy, text, len);
		training_log_importer.probe((const uint8_t *)copy, len);
		import_with(&t, copy, len, NULL);
		assert_true(t.ret == TL_OK || t.ret == TL_NOTHING);
		free(copy);
	}
}

static void a_line_without_end_is_skipped_and_said(void **state)
{
	size_t len = 3 << 20;
	char *text = malloc(len);
	struct taken t;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	memcpy(text + len - 18, "\nstep 1 time: 1 s\n", 18);
	import_with(&t, text, len, NULL);
	assert_int_equal(t.result.events[TL_EVENT_STEP], 1);
	assert_non_null(find(&t, TL_EVENT_DIAGNOSTIC, "longer than"));
	free(text);
}

static void other_texts_are_not_claimed(void **state)
{
	static const char *const texts[] = {
		"{\"schemaVersion\": 1, \"traceEvents\": [\n",
		"[{\"ph\":\"X\",\"name\":\"ProfilerStep#1\",\"dur\":3}]",
		"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(
			training_log_importer.probe((const uint8_t *)texts[i], strlen(texts[i])),
			0);
	/* plain text may be a log whose steps come later: claimed, but anyone else is surer */
	assert_in_range(training_log_importer.probe((const uint8_t *)"hello\n", 6), 1, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_known_programs_are_steps),
		cmocka_unit_test(lines_in_objects_are_lines),
		cmocka_unit_test(units_are_what_they_say),
		cmocka_unit_test(fronts_of_lines_are_understood),
		cmocka_unit_test(a_line_is_printed_when_its_step_has_ended),
		cmocka_unit_test(a_step_without_a_time_has_no_begin),
		cmocka_unit_test(what_stands_beside_the_step_is_kept),
		cmocka_unit_test(talk_about_steps_is_none),
		cmocka_unit_test(progress_that_is_drawn_over_itself_counts_once_a_step),
		cmocka_unit_test(interleaved_ranks_stay_apart),
		cmocka_unit_test(a_rank_beside_the_step_is_its),
		cmocka_unit_test(processes_without_a_rank_stay_apart),
		cmocka_unit_test(lines_of_one_step_that_differ_are_left_out_and_counted),
		cmocka_unit_test(a_steps_own_time_goes_before_a_mean),
		cmocka_unit_test(a_total_that_grows_is_no_duration),
		cmocka_unit_test(a_line_for_several_steps_counts_for_all),
		cmocka_unit_test(a_line_for_several_steps_begins_with_the_first),
		cmocka_unit_test(the_first_line_stands_for_what_can_have_been),
		cmocka_unit_test(steps_of_lines_that_are_missing_are_nobodys),
		cmocka_unit_test(after_a_restart_lines_stand_for_as_many_steps),
		cmocka_unit_test(lines_out_of_order_stand_for_one_step_each),
		cmocka_unit_test(a_time_for_all_steps_of_a_line_is_told_by_the_times_of_lines),
		cmocka_unit_test(a_time_in_parentheses_is_since_the_line_before),
		cmocka_unit_test(lines_of_coarse_times_are_joined_until_they_tell),
		cmocka_unit_test(means_since_the_epoch_began_are_taken_apart),
		cmocka_unit_test(rounded_means_are_joined_until_they_tell),
		cmocka_unit_test(epochs_of_one_line_each_are_all_there),
		cmocka_unit_test(a_duration_below_the_step_is_its),
		cmocka_unit_test(a_step_that_is_done_ends_then),
		cmocka_unit_test(what_is_too_short_at_the_end_joins_the_row_before),
		cmocka_unit_test(a_step_that_is_long_enough_is_not_joined_with_short_ones),
		cmocka_unit_test(steps_without_durations_last_from_line_to_line),
		cmocka_unit_test(a_duration_that_is_told_wins_over_times_of_lines),
		cmocka_unit_test(warnings_and_errors_are_kept_with_their_time),
		cmocka_unit_test(a_pattern_names_the_parts_of_a_step),
		cmocka_unit_test(a_pattern_without_a_step_counts),
		cmocka_unit_test(a_pattern_that_cannot_work_is_refused),
		cmocka_unit_test(the_rank_that_is_told_is_that_of_lines_without),
		cmocka_unit_test(date_and_zone_place_times_of_day),
		cmocka_unit_test(a_number_that_may_be_cut_is_not_believed),
		cmocka_unit_test(cut_anywhere_it_ends_well),
		cmocka_unit_test(a_line_without_end_is_skipped_and_said),
		cmocka_unit_test(other_texts_are_not_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
