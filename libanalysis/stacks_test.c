/*
 * stacks_test.c - folded stacks of a case that is written here sample by sample. Expected lines and
 * weights are counted by hand.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "source_example.h"

enum { CLOCK, FAULTS }; /* events of the case: periods in ns, and without a unit of time */

/* ---- writing ---- */

static void type(uint32_t index, const char *name, const char *unit)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_TYPE,
				  .type = { .index = index, .name = name, .unit = unit } });
}

/* Threads of the process 1000, and processes of one thread from 10000 on. */
static struct tl_task task_of(int32_t tid)
{
	return (struct tl_task) { tid < 10000 ? 1000 : tid, tid };
}

static void comm(int32_t tid, const char *name)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_COMM,
				  .ts = INT64_MIN,
				  .comm = { .task = task_of(tid), .name = name } });
}

static void begin(bool aggregate_only)
{
	const struct tl_source_description source = { .path = "test", .importer = "test" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true,
					       .aggregate_only = aggregate_only };

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	type(CLOCK, "cpu-clock:u", "ns");
	type(FAULTS, "page-faults", "events");
}

/* `frames`: "leaf caller outermost"; "k:name" is kernel code, "?" has no name. */
static void sample(uint32_t event, int64_t ts, int32_t tid, uint64_t period, const char *frames)
{
	struct tl_frame chain[256];
	struct tl_frame_text texts[256] = { 0 };
	char words[600], *save = NULL;
	size_t count = 0;
	struct tl_event ev = { .kind = TL_EVENT_SAMPLE, .has_ts = ts >= 0, .ts = ts };

	snprintf(words, sizeof(words), "%s", frames);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		bool is_kernel = !strncmp(w, "k:", 2);

		w += is_kernel ? 2 : 0;
		chain[count] = (struct tl_frame) { .ip = 0x10 + count,
						   .context = is_kernel ? TL_CONTEXT_KERNEL
									: TL_CONTEXT_USER };
		texts[count].symbol = strcmp(w, "?") != 0 ? w : NULL;
		texts[count++].dso = is_kernel ? "[kernel.kallsyms]" : "/bin/prog";
	}
	ev.sample.type_index = event;
	ev.sample.task = task_of(tid);
	ev.sample.real_tid = TL_ID_NONE;
	ev.sample.cpu = -1;
	ev.sample.period = period;
	ev.sample.frames = chain;
	ev.sample.texts = texts;
	ev.sample.frame_count = count;
	ev.sample.has_callchain = true;
	emit(&ev);
}

/* ---- asking ---- */

/* The lines of the answer, or "STATUS: message". */
static char *ask(const struct tl_fold_options *opt, struct tl_folded *folded)
{
	static char text[4096];
	size_t used = 0;
	int ret;

	memset(&err, 0, sizeof(err));
	ret = tl_fold(store, opt, folded, &err);
	if (ret < 0) {
		snprintf(text, sizeof(text), "%d: %s", ret, err.text);
		return text;
	}
	text[0] = '\0';
	for (size_t i = 0; i < folded->line_count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %llu\n",
					 folded->lines[i].text,
					 (unsigned long long)folded->lines[i].weight);
	return text;
}

static void assert_folds(struct tl_fold_options opt, const char *expected)
{
	struct tl_folded folded;

	assert_string_equal(ask(&opt, &folded), expected);
	tl_folded_release(&folded);
}

/* Two threads, two events, three stacks. */
static void write_small(bool aggregate_only)
{
	begin(aggregate_only);
	comm(1001, "main loop");
	comm(1002, "x;y");
	sample(FAULTS, 500, 1002, 1, "touch main");
	sample(CLOCK, 100, 1001, 1000, "spin main");
	sample(CLOCK, 200, 1001, 1000, "spin main");
	sample(CLOCK, 300, 1001, 3500, "k:schedule spin main");
	sample(CLOCK, 400, 1002, 1000, "? main");
	commit_source();
}

static void stacks_are_summed_by_period_and_sorted(void **state)
{
	(void)state;
	write_small(true);
	assert_folds((struct tl_fold_options) { 0 }, "main_loop;main;spin 2000\n"
						     "main_loop;main;spin;schedule 3500\n"
						     "x:y;main;[prog] 1000\n");
}

static void the_first_event_in_time_is_folded_unless_told(void **state)
{
	struct tl_fold_options opt = { .event = "page-faults" };

	(void)state;
	write_small(true);
	assert_folds(opt, "x:y;main;touch 1\n");
	opt.event = "cpu-clock"; /* short for cpu-clock:u */
	opt.weight = TL_WEIGHT_COUNT;
	assert_folds(opt, "main_loop;main;spin 2\nmain_loop;main;spin;schedule 1\n"
			  "x:y;main;[prog] 1\n");
}

static void an_unknown_event_is_told_with_those_there_are(void **state)
{
	const struct tl_fold_options opt = { .event = "cycles" };

	(void)state;
	write_small(true);
	assert_folds(opt,
		     "-7: no samples of an event 'cycles'; there are: cpu-clock:u, page-faults");
}

static void an_empty_case_answers_nothing(void **state)
{
	(void)state;
	assert_folds((struct tl_fold_options) { 0 }, "-7: the case holds no samples");
}

static void time_is_only_made_of_periods_that_are_time(void **state)
{
	struct tl_fold_options opt = { .weight = TL_WEIGHT_US };
	struct tl_folded folded;

	(void)state;
	write_small(true);
	assert_folds(opt, "main_loop;main;spin 2\nmain_loop;main;spin;schedule 3\n"
			  "x:y;main;[prog] 1\n");
	opt.event = "page-faults";
	ask(&opt, &folded);
	assert_int_equal(err.status, TL_USAGE);
	assert_non_null(strstr(err.text, "count events, not time"));
}

static void the_answer_counts_what_it_says(void **state)
{
	const struct tl_time_range range = { 150, 400 };
	const struct tl_fold_options opt = { .ranges = &range, .range_count = 1, .tids = NULL };
	struct tl_folded folded;

	(void)state;
	write_small(false);
	assert_string_equal(ask(&opt, &folded), "main_loop;main;spin 1000\n"
						"main_loop;main;spin;schedule 3500\n");
	assert_int_equal(folded.sample_count, 2);
	assert_int_equal(folded.outside_count, 2); /* at 100, and at 400: ends are outside */
	assert_int_equal(folded.total_weight, 4500);
	assert_int_equal(folded.begin_ns, 200);
	assert_int_equal(folded.end_ns, 300);
	assert_string_equal(folded.unit, "ns");
	assert_string_equal(folded.event, "cpu-clock:u");
	tl_folded_release(&folded);
}

static void overlapping_ranges_count_a_sample_once(void **state)
{
	const struct tl_time_range ranges[] = { { 250, 350 }, { 90, 110 }, { 290, 310 } };
	const struct tl_fold_options opt = { .ranges = ranges, .range_count = 3 };

	(void)state;
	write_small(false);
	assert_folds(opt, "main_loop;main;spin 1000\nmain_loop;main;spin;schedule 3500\n");
}

static void a_case_of_sums_has_no_times(void **state)
{
	const struct tl_time_range range = { 150, 400 };
	const struct tl_fold_options opt = { .ranges = &range, .range_count = 1 };

	(void)state;
	write_small(true);
	assert_folds(opt,
		     "-4: a time range: the case holds sums per stack, not the single samples");
}

static void nothing_inside_is_told(void **state)
{
	const struct tl_time_range range = { 4000, 5000 };
	const struct tl_fold_options opt = { .ranges = &range, .range_count = 1 };

	(void)state;
	write_small(false);
	assert_folds(opt, "-7: nothing of cpu-clock:u lies inside the times asked for (4 outside)");
}

static void samples_without_time_are_counted_apart(void **state)
{
	const struct tl_time_range range = { 0, 1000 };
	const struct tl_fold_options opt = { .ranges = &range, .range_count = 1 };
	struct tl_folded folded;

	(void)state;
	begin(false);
	comm(1001, "a");
	sample(CLOCK, 100, 1001, 10, "f");
	sample(CLOCK, -1, 1001, 10, "f");
	commit_source();
	assert_string_equal(ask(&opt, &folded), "a;f 10\n");
	assert_int_equal(folded.without_time_count, 1);
	assert_int_equal(folded.outside_count, 0);
	tl_folded_release(&folded);
	assert_folds((struct tl_fold_options) { 0 }, "a;f 20\n");
}

static void threads_can_be_chosen(void **state)
{
	const int32_t tid = 1002;
	struct tl_fold_options opt = { .tids = &tid, .tid_count = 1 };
	struct tl_folded folded;

	(void)state;
	write_small(true);
	assert_string_equal(ask(&opt, &folded), "x:y;main;[prog] 1000\n");
	assert_int_equal(folded.excluded_count, 3);
	tl_folded_release(&folded);
	opt = (struct tl_fold_options) { .comm_pattern = "^main" };
	assert_folds(opt, "main_loop;main;spin 2000\nmain_loop;main;spin;schedule 3500\n");
	opt.comm_pattern = "(";
	ask(&opt, &folded);
	assert_int_equal(err.status, TL_USAGE);
}

static void the_idle_task_can_be_left_out(void **state)
{
	(void)state;
	begin(true);
	comm(0, "swapper");
	comm(1001, "a");
	sample(CLOCK, 1, 0, 7, "k:idle");
	sample(CLOCK, 2, 1001, 1, "f");
	commit_source();
	assert_folds((struct tl_fold_options) { 0 }, "a;f 1\nswapper;idle 7\n");
	assert_folds((struct tl_fold_options) { .no_idle = true }, "a;f 1\n");
}

static void frames_can_be_chosen(void **state)
{
	const char *const patterns[] = { "^sched" };

	(void)state;
	write_small(true);
	assert_folds((struct tl_fold_options) { .user_only = true },
		     "main_loop;main;spin 5500\nx:y;main;[prog] 1000\n");
	assert_folds((struct tl_fold_options) { .kernel_only = true }, "main_loop;schedule 3500\n");
	assert_folds((struct tl_fold_options) { .max_depth = 1 },
		     "main_loop;main 5500\nx:y;main 1000\n");
	assert_folds((struct tl_fold_options) { .exclude_patterns = patterns, .exclude_count = 1 },
		     "main_loop;main;spin 2000\nx:y;main;[prog] 1000\n");
	assert_folds((struct tl_fold_options) { .min_weight = 2000 },
		     "main_loop;main;spin 2000\nmain_loop;main;spin;schedule 3500\n");
}

static void roots_can_be_chosen(void **state)
{
	(void)state;
	write_small(true);
	assert_folds((struct tl_fold_options) { .root = TL_ROOT_NONE, .max_depth = 1 },
		     "main 6500\n");
	assert_folds((struct tl_fold_options) { .root = TL_ROOT_PID, .max_depth = 1 },
		     "main_loop-1000;main 5500\nx:y-1000;main 1000\n");
	assert_folds((struct tl_fold_options) { .root = TL_ROOT_TID, .max_depth = 1 },
		     "main_loop-1000/1001;main 5500\nx:y-1000/1002;main 1000\n");
}

static void names_of_kernel_and_unnamed_frames_can_be_marked(void **state)
{
	(void)state;
	write_small(true);
	assert_folds((struct tl_fold_options) { .annotate_kernel = true, .show_addresses = true },
		     "main_loop;main;spin 2000\nmain_loop;main;spin;schedule_[k] 3500\n"
		     "x:y;main;[prog <10>] 1000\n");
}

/* As perf script prints them: code of programs by its place in the file, the kernel's by address. */
static void unnamed_code_of_modules_is_shown_at_its_address(void **state)
{
	const struct tl_frame chain[] = {
		{ .ip = 0xffffffffa0000123, .context = TL_CONTEXT_KERNEL },
		{ .ip = 0x401456, .context = TL_CONTEXT_USER },
	};
	struct tl_event ev = { .kind = TL_EVENT_MMAP, .ts = INT64_MIN };

	(void)state;
	begin(false);
	comm(1000, "ab");
	ev.mmap = (struct tl_event_mmap) { .task = { -1, 0 },
					   .context = TL_CONTEXT_KERNEL,
					   .start = 0xffffffffa0000000,
					   .length = 0x1000,
					   .is_exec = true,
					   .path = "/lib/modules/6.1/net.ko" };
	emit(&ev);
	ev.mmap = (struct tl_event_mmap) { .task = task_of(1000),
					   .context = TL_CONTEXT_USER,
					   .start = 0x401000,
					   .length = 0x1000,
					   .file_offset = 0x1000,
					   .is_exec = true,
					   .path = "/bin/prog" };
	emit(&ev);
	ev = (struct tl_event) { .kind = TL_EVENT_SAMPLE, .has_ts = true, .ts = 1 };
	ev.sample.task = task_of(1000);
	ev.sample.real_tid = TL_ID_NONE;
	ev.sample.cpu = -1;
	ev.sample.period = 5;
	ev.sample.frames = chain;
	ev.sample.frame_count = 2;
	ev.sample.has_callchain = true;
	emit(&ev);
	commit_source();
	assert_folds((struct tl_fold_options) { .show_addresses = true },
		     "ab;[prog <1456>];[[net] <ffffffffa0000123>] 5\n");
	assert_folds((struct tl_fold_options) { .show_addresses = true, .compat = TL_COMPAT_PERL },
		     "ab;[prog <1456>];[[net] <ffffffffa0000123>] 5\n");
}

static void an_empty_chain_is_a_bare_name(void **state)
{
	(void)state;
	begin(true);
	comm(1001, "a");
	sample(CLOCK, 1, 1001, 5, "");
	commit_source();
	assert_folds((struct tl_fold_options) { 0 }, "a 5\n");
	assert_folds((struct tl_fold_options) { .root = TL_ROOT_NONE }, "[no stack] 5\n");
	assert_folds((struct tl_fold_options) { .compat = TL_COMPAT_PERL }, "a_ 5\n");
}

static void a_line_that_ends_like_a_count_is_guarded_before_lines_are_merged(void **state)
{
	(void)state;
	begin(true);
	comm(1001, "a");
	sample(CLOCK, 1, 1001, 5, "f");
	commit_source();
	assert_int_equal(
		tl_store_execute(store, "UPDATE string SET text = 'run 7' WHERE text = 'f'", &err),
		TL_OK);
	assert_folds((struct tl_fold_options) { 0 }, "a;run_7 5\n");
}

static void lines_are_sorted_with_their_counts(void **state)
{
	(void)state;
	begin(true);
	comm(1001, "a");
	sample(CLOCK, 1, 1001, 9, "f");
	sample(CLOCK, 1, 1001, 5, "fx");
	commit_source();
	/* as LC_ALL=C sort compares "a;f 9" with "a;f 1x 5" */
	assert_int_equal(
		tl_store_execute(store, "UPDATE string SET text = 'f 1x' WHERE text = 'fx'", &err),
		TL_OK);
	assert_folds((struct tl_fold_options) { 0 }, "a;f 1x 5\na;f 9\n");
}

static void inlined_functions_stand_inside_their_frame(void **state)
{
	struct tl_fold_options opt = { .event = "page-faults", .show_inlined = true };

	(void)state;
	write_small(true);
	assert_int_equal(
		tl_store_execute(store,
				 "INSERT INTO string(string_id, text) VALUES(900, 'in'), (901, "
				 "'deep');"
				 "INSERT INTO frame_inline(frame_id, depth, name_id) "
				 "SELECT frame_id, 1, 900 FROM frame JOIN symbol USING (symbol_id) "
				 "JOIN string n ON n.string_id = symbol.name_id WHERE text = "
				 "'touch';"
				 "INSERT INTO frame_inline(frame_id, depth, name_id) "
				 "SELECT frame_id, 0, 901 FROM frame_inline",
				 &err),
		TL_OK);
	assert_folds(opt, "x:y;main;touch;in_[i];deep_[i] 1\n");
	opt.show_inlined = false;
	assert_folds(opt, "x:y;main;touch 1\n");
}

static void a_damaged_tree_is_told(void **state)
{
	struct tl_folded folded;

	(void)state;
	write_small(true);
	assert_int_equal(tl_store_execute(store, "UPDATE stack SET parent_id = stack_id", &err),
			 TL_OK);
	ask(&(struct tl_fold_options) { 0 }, &folded);
	assert_int_equal(err.status, TL_STORE);
}

static void a_damaged_block_of_samples_is_told(void **state)
{
	static const char *const damages[] = {
		"UPDATE sample_block SET samples = substr(samples, 2)",
		"UPDATE sample_block SET sample_count = sample_count + 1",
		"UPDATE sample_block SET sample_count = 1000000000",
		"DELETE FROM stack_sum WHERE sum_id > 1",
	};
	const struct tl_fold_options opt = { .ranges = &(struct tl_time_range) { 0, 1000 },
					     .range_count = 1 };
	struct tl_folded folded;

	(void)state;
	write_small(false);
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		assert_int_equal(tl_store_execute(store, "SAVEPOINT whole", &err), TL_OK);
		assert_int_equal(tl_store_execute(store, damages[i], &err), TL_OK);
		ask(&opt, &folded);
		if (err.status != TL_STORE)
			fail_msg("not told: %s", damages[i]);
		memset(&err, 0, sizeof(err));
		assert_int_equal(tl_store_execute(store, "ROLLBACK TO whole", &err), TL_OK);
	}
}

/* ---- compat ---- */

static void compat_filters_by_the_first_event(void **state)
{
	const struct tl_fold_options opt = { .compat = TL_COMPAT_PERL };

	(void)state;
	write_small(true);
	/* ';' stays and splits the name */
	assert_folds(opt, "main_loop;main;spin 2000\nmain_loop;main;spin;schedule 3500\n"
			  "x;y;main;[prog] 1000\n");
}

/* "leaf x x ... outermost", `count` of them. */
static const char *long_chain(char *buf, const char *leaf, size_t count, const char *outermost)
{
	char *at = stpcpy(buf, leaf);

	for (size_t i = 2; i < count; i++)
		at = stpcpy(at, " x");
	snprintf(at, 32, " %s", outermost);
	return buf;
}

/* perf script shows 127 addresses of a chain: the thread, 126 frames named x, the innermost. */
static void compat_shows_the_innermost_127_frames(void **state)
{
	char chain[600], line[600], *at;

	(void)state;
	begin(false);
	comm(1000, "main");
	sample(CLOCK, 1, 1000, 5, long_chain(chain, "leaf", 127, "kept"));
	sample(CLOCK, 2, 1000, 6, long_chain(chain, "leaf", 128, "cut"));
	sample(CLOCK, 3, 1000, 7, long_chain(chain, "leaf", 250, "cut"));
	commit_source();
	at = stpcpy(line, "main;kept");
	for (int i = 0; i < 125; i++)
		at = stpcpy(at, ";x");
	at = stpcpy(at, ";leaf 5\nmain");
	for (int i = 0; i < 126; i++)
		at = stpcpy(at, ";x");
	stpcpy(at, ";leaf 13\n");
	assert_folds((struct tl_fold_options) { .compat = TL_COMPAT_PERL }, line);
	assert_folds((struct tl_fold_options) { .compat = TL_COMPAT_INFERNO }, line);
	assert_folds((struct tl_fold_options) { .compat = TL_COMPAT_PERL,
						.ranges = &(struct tl_time_range) { 0, 9 },
						.range_count = 1 },
		     line);
}

static void compat_asks_for_samples_when_names_depend_on_them(void **state)
{
	const struct tl_fold_options opt = { .compat = TL_COMPAT_PERL };

	(void)state;
	begin(true);
	comm(10001, "x"); /* one letter before five digits: the time becomes part of the name */
	sample(CLOCK, 1500000000, 10001, 5, "f");
	commit_source();
	assert_folds(opt, "-4: names that the rules make of times: the case holds sums per stack, "
			  "not the single samples");
}

static void compat_makes_names_of_times(void **state)
{
	const struct tl_fold_options opt = { .compat = TL_COMPAT_PERL };

	(void)state;
	begin(false);
	comm(12345, "x");
	comm(1001, "ab");
	sample(CLOCK, 1500000000, 1001, 5, "f");
	sample(CLOCK, 1500000000, 12345, 5, "f");
	commit_source();
	assert_folds(opt, "ab;f 5\nx_12345/12345_____1.500000000:;f 5\n");
}

/* ---- windows ---- */

static int note_window(const struct tl_folded *folded, const struct tl_time_range *window,
		       uint64_t number, void *payload, struct tl_error *error)
{
	struct tl_text *out = payload;

	(void)error;
	tl_text_printf(out, "%llu [%lld,%lld)", (unsigned long long)number,
		       (long long)window->begin_ns, (long long)window->end_ns);
	for (size_t i = 0; i < folded->line_count; i++)
		tl_text_printf(out, " %s=%llu", folded->lines[i].text,
			       (unsigned long long)folded->lines[i].weight);
	tl_text_puts(out, "\n");
	return TL_OK;
}

static void assert_windows(struct tl_fold_options opt, int64_t width_ns, const char *expected)
{
	struct tl_text out = { 0 };

	memset(&err, 0, sizeof(err));
	assert_int_equal(tl_fold_windows(store, &opt, width_ns, note_window, &out, &err), TL_OK);
	assert_string_equal(out.data ? out.data : "", expected);
	tl_text_release(&out);
}

static void windows_begin_with_the_case_and_empty_ones_are_left_out(void **state)
{
	(void)state;
	write_small(false);
	assert_windows((struct tl_fold_options) { .max_depth = 1 }, 150,
		       "0 [100,250) main_loop;main=2000\n"
		       "1 [250,400) main_loop;main=3500\n"
		       "2 [400,550) x:y;main=1000\n");
	assert_windows((struct tl_fold_options) { .event = "page-faults" }, 150,
		       "2 [400,550) x:y;main;touch=1\n");
}

/* ---- off the CPU ---- */

static void go(int64_t ts, int32_t cpu, int32_t prev, enum tl_switch_state state, int32_t next)
{
	struct tl_event ev = { .kind = TL_EVENT_SWITCH, .has_ts = true, .ts = ts };

	ev.sched_switch.cpu = cpu;
	ev.sched_switch.has_prev = ev.sched_switch.has_next = true;
	ev.sched_switch.prev = (struct tl_task) { TL_ID_NONE, prev };
	ev.sched_switch.next = (struct tl_task) { TL_ID_NONE, next };
	ev.sched_switch.prev_state = state;
	ev.sched_switch.has_sample = true;
	emit(&ev);
}

static void wake(int64_t ts, int32_t waker, int32_t wakee)
{
	struct tl_event ev = { .kind = TL_EVENT_WAKEUP, .has_ts = true, .ts = ts };

	ev.wakeup.cpu = ev.wakeup.target_cpu = 0;
	ev.wakeup.waker = (struct tl_task) { TL_ID_NONE, waker };
	ev.wakeup.wakee_tid = wakee;
	ev.wakeup.is_waking = true;
	ev.wakeup.has_sample = true;
	emit(&ev);
}

/*
 * Thread 1001 sleeps from 1000 us until 1002 woke it at 4000 us, waits for the CPU until 4500 us, is
 * pushed off it from 5000 to 5250 us, and then for good.
 */
static void write_switches(void)
{
	begin(true);
	comm(1001, "sleeper");
	comm(1002, "waker");
	comm(0, "swapper");
	sample(FAULTS, 1000000, 1001, 1, "k:schedule nap main");
	go(1000000, 0, 1001, TL_SWITCH_SLEEPING, 1002);
	sample(FAULTS, 4000000, 1002, 1, "k:wake poke main");
	wake(4000000, 1002, 1001);
	sample(FAULTS, 4500000, 1002, 1, "k:schedule poke main");
	go(4500000, 0, 1002, TL_SWITCH_RUNNABLE, 1001);
	sample(FAULTS, 5000000, 1001, 1, "k:schedule work main");
	go(5000000, 0, 1001, TL_SWITCH_RUNNABLE, 1002);
	sample(FAULTS, 5250000, 1002, 1, "k:schedule poke main");
	go(5250000, 0, 1002, TL_SWITCH_SLEEPING, 1001);
	sample(FAULTS, 6000000, 1001, 1, "k:schedule work main");
	go(6000000, 0, 1001, TL_SWITCH_UNINTERRUPTIBLE, 0);
	commit_source();
}

static void time_off_the_cpu_is_counted_where_the_thread_left_it(void **state)
{
	struct tl_fold_options opt = { .what = TL_FOLD_OFFCPU };
	struct tl_folded folded;

	(void)state;
	write_switches();
	assert_string_equal(ask(&opt, &folded), "sleeper;main;nap;schedule 3500\n"
						"sleeper;main;work;schedule 250\n"
						"waker;main;poke;schedule 500\n");
	assert_int_equal(folded.sample_count, 4); /* a sleep, two waits, and one of the waker */
	/* of the sleeper after 6000, and of the waker after 5250 */
	assert_int_equal(folded.without_end_count, 2);
	assert_string_equal(folded.unit, "us");
	tl_folded_release(&folded);
}

static void states_are_told_apart(void **state)
{
	const struct tl_fold_options opt = { .what = TL_FOLD_OFFCPU,
					     .show_state = true,
					     .weight = TL_WEIGHT_NS,
					     .comm_pattern = "sleeper" };

	(void)state;
	write_switches();
	assert_folds(opt, "sleeper;main;nap;schedule;[R] 500000\n"
			  "sleeper;main;nap;schedule;[S] 3000000\n"
			  "sleeper;main;work;schedule;[R] 250000\n");
}

static void intervals_are_clipped_to_the_ranges(void **state)
{
	const struct tl_time_range ranges[] = { { 2000000, 3000000 }, { 4250000, 5100000 } };
	const struct tl_fold_options opt = { .what = TL_FOLD_OFFCPU,
					     .ranges = ranges,
					     .range_count = 2,
					     .comm_pattern = "sleeper" };

	(void)state;
	write_switches();
	/* 1000 of the sleep; 250 of the wait that ends at 4500, 100 of the one from 5000 */
	assert_folds(opt, "sleeper;main;nap;schedule 1250\nsleeper;main;work;schedule 100\n");
}

static void an_interval_goes_on_through_windows(void **state)
{
	const struct tl_fold_options opt = { .what = TL_FOLD_OFFCPU, .max_depth = 2 };

	(void)state;
	write_switches();
	assert_windows(opt, 1500000,
		       "0 [1000000,2500000) sleeper;main;nap=1500\n"
		       "1 [2500000,4000000) sleeper;main;nap=1500\n"
		       "2 [4000000,5500000) sleeper;main;nap=500 sleeper;main;work=250 "
		       "waker;main;poke=500\n");
}

static void wakers_follow_leaf_first(void **state)
{
	const struct tl_fold_options opt = { .what = TL_FOLD_WAKEUP };

	(void)state;
	write_switches();
	assert_folds(opt,
		     "sleeper;main;nap;schedule;--;wake_[w];poke_[w];main_[w];waker_[w] 3000\n");
}

static void without_switches_there_is_no_time_off_the_cpu(void **state)
{
	struct tl_folded folded;

	(void)state;
	write_small(true);
	ask(&(struct tl_fold_options) { .what = TL_FOLD_OFFCPU }, &folded);
	assert_int_equal(err.status, TL_NOTHING);
	assert_non_null(strstr(err.text, "perf record -a -g -e sched:sched_switch"));
}

static void what_makes_no_sense_is_refused(void **state)
{
	const struct tl_fold_options senseless[] = {
		{ .compat = TL_COMPAT_PERL, .what = TL_FOLD_OFFCPU },
		{ .compat = TL_COMPAT_PERL, .root = TL_ROOT_NONE },
		{ .compat = TL_COMPAT_INFERNO, .weight = TL_WEIGHT_COUNT },
		{ .compat = TL_COMPAT_PERL, .show_inlined = true },
		{ .what = TL_FOLD_OFFCPU, .event = "cycles" },
		{ .show_state = true },
		{ .user_only = true, .kernel_only = true },
	};
	struct tl_folded folded;

	(void)state;
	write_small(true);
	for (size_t i = 0; i < sizeof(senseless) / sizeof(*senseless); i++) {
		ask(&senseless[i], &folded);
		assert_int_equal(err.status, TL_USAGE);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_store, teardown_store)
	const struct CMUnitTest tests[] = {
		TEST(stacks_are_summed_by_period_and_sorted),
		TEST(the_first_event_in_time_is_folded_unless_told),
		TEST(an_unknown_event_is_told_with_those_there_are),
		TEST(an_empty_case_answers_nothing),
		TEST(time_is_only_made_of_periods_that_are_time),
		TEST(the_answer_counts_what_it_says),
		TEST(overlapping_ranges_count_a_sample_once),
		TEST(a_case_of_sums_has_no_times),
		TEST(nothing_inside_is_told),
		TEST(samples_without_time_are_counted_apart),
		TEST(threads_can_be_chosen),
		TEST(the_idle_task_can_be_left_out),
		TEST(frames_can_be_chosen),
		TEST(roots_can_be_chosen),
		TEST(names_of_kernel_and_unnamed_frames_can_be_marked),
		TEST(unnamed_code_of_modules_is_shown_at_its_address),
		TEST(an_empty_chain_is_a_bare_name),
		TEST(a_line_that_ends_like_a_count_is_guarded_before_lines_are_merged),
		TEST(lines_are_sorted_with_their_counts),
		TEST(inlined_functions_stand_inside_their_frame),
		TEST(a_damaged_tree_is_told),
		TEST(a_damaged_block_of_samples_is_told),
		TEST(compat_filters_by_the_first_event),
		TEST(compat_shows_the_innermost_127_frames),
		TEST(compat_asks_for_samples_when_names_depend_on_them),
		TEST(compat_makes_names_of_times),
		TEST(windows_begin_with_the_case_and_empty_ones_are_left_out),
		TEST(time_off_the_cpu_is_counted_where_the_thread_left_it),
		TEST(states_are_told_apart),
		TEST(intervals_are_clipped_to_the_ranges),
		TEST(an_interval_goes_on_through_windows),
		TEST(wakers_follow_leaf_first),
		TEST(without_switches_there_is_no_time_off_the_cpu),
		TEST(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
