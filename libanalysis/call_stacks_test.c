/*
 * call_stacks_test.c - folded lines of time in calls; lines and weights are counted by hand.
 */
#include "syscalls_example.h"

static struct tl_folded folded;

static int fold_teardown(void **state)
{
	tl_folded_release(&folded);
	return teardown(state);
}

static int fold(const struct tl_fold_options *opt)
{
	struct tl_fold_options all = opt ? *opt : (struct tl_fold_options) { 0 };

	all.what = TL_FOLD_CALLS;
	tl_folded_release(&folded);
	memset(&err, 0, sizeof(err));
	return tl_fold(store, &all, &folded, &err);
}

/* The weight of a line; 0: there is none. */
static uint64_t weight_of(const char *text)
{
	for (size_t i = 0; i < folded.line_count; i++)
		if (!strcmp(folded.lines[i].text, text))
			return folded.lines[i].weight;
	return 0;
}

static void stack_call(int32_t tid, const char *name, int64_t ts, int64_t duration_ns,
		       const char *inner)
{
	struct tl_event ev = made(tid, name, NULL, ts, duration_ns);
	const struct tl_frame frames[] = { { .ip = 1, .context = TL_CONTEXT_USER },
					   { .ip = 2, .context = TL_CONTEXT_USER } };
	const struct tl_frame_text texts[] = { { .symbol = inner, .dso = "/lib/x.so" },
					       { .symbol = "main", .dso = "/bin/x" } };

	ev.syscall.frames = frames;
	ev.syscall.texts = texts;
	ev.syscall.frame_count = 2;
	emit(&ev);
}

static void names(void)
{
	comm(100, 100, "main prog");
	comm(100, 101, "worker");
}

static void lines_are_process_thread_call_and_stack(void **state)
{
	(void)state;
	begin_source("a", false);
	names();
	stack_call(101, "read", 0, 5 * US, "fread");
	stack_call(101, "read", 10 * US, 7 * US, "fread");
	stack_call(101, "read", 20 * US, 3 * US, "getc");
	call(101, "read", NULL, 30 * US, 2 * US); /* without a stack */
	call(100, "poll", NULL, 0, 50 * US);
	end_source();
	assert_int_equal(fold(NULL), TL_OK);
	assert_int_equal(folded.line_count, 4);
	assert_int_equal(weight_of("main_prog;worker;read;main;fread"), 12);
	assert_int_equal(weight_of("main_prog;worker;read;main;getc"), 3);
	assert_int_equal(weight_of("main_prog;worker;read"), 2);
	assert_int_equal(weight_of("main_prog;main_prog;poll"), 50);
	assert_int_equal(folded.sample_count, 5);
	assert_string_equal(folded.unit, "us");
}

static void weights_are_ns_us_or_calls(void **state)
{
	(void)state;
	begin_source("a", false);
	call(100, "read", NULL, 0, 1500);
	call(100, "read", NULL, 5000, 700);
	end_source();
	assert_int_equal(fold(&(struct tl_fold_options) { .weight = TL_WEIGHT_NS }), TL_OK);
	assert_int_equal(weight_of(":100;:100;read"), 2200);
	assert_int_equal(fold(&(struct tl_fold_options) { .weight = TL_WEIGHT_COUNT }), TL_OK);
	assert_int_equal(weight_of(":100;:100;read"), 2);
	assert_string_equal(folded.unit, "calls");
}

static void roots_have_ids_or_nothing(void **state)
{
	(void)state;
	begin_source("a", false);
	names();
	call(101, "read", NULL, 0, 10 * US);
	end_source();
	assert_int_equal(fold(&(struct tl_fold_options) { .root = TL_ROOT_TID }), TL_OK);
	assert_int_equal(weight_of("main_prog-100;worker-101;read"), 10);
	assert_int_equal(fold(&(struct tl_fold_options) { .root = TL_ROOT_PID }), TL_OK);
	assert_int_equal(weight_of("main_prog-100;worker;read"), 10);
	assert_int_equal(fold(&(struct tl_fold_options) { .root = TL_ROOT_NONE }), TL_OK);
	assert_int_equal(weight_of("read"), 10);
	assert_int_equal(fold(&(struct tl_fold_options) { .root = TL_ROOT_CGROUP }), TL_USAGE);
}

static void a_time_range_cuts_calls_at_its_ends(void **state)
{
	const struct tl_time_range range = { 10 * US, 20 * US };
	const struct tl_fold_options opt = { .ranges = &range, .range_count = 1 };

	for (int has_stack = 0; has_stack < 2; has_stack++) {
		begin_source("a", false);
		stack_call(100, has_stack ? "write" : "read", 5 * US, 8 * US, "f");
		call(101, "poll", NULL, 19 * US, 100 * US);
		call(101, "poll", NULL, 500 * US, 100 * US);
		end_source();
		assert_int_equal(fold(&opt), TL_OK);
		assert_int_equal(
			weight_of(has_stack ? ":100;:100;write;main;f" : ":100;:100;read;main;f"),
			3);
		assert_int_equal(weight_of(":100;:101;poll"), 1);
		teardown(state);
		setup(state);
	}
}

static void a_call_that_two_sources_tell_of_is_folded_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin_source(i ? "b" : "a", false);
		stack_call(100, "read", 10 * US, 5 * US, i ? "second" : "first");
		stack_call(100, "read", 30 * US, 5 * US, i ? "second" : "first");
		end_source();
	}
	assert_int_equal(fold(NULL), TL_OK);
	assert_int_equal(folded.line_count, 1);
	assert_int_equal(weight_of(":100;:100;read;main;first"), 10);
}

static void threads_and_frames_choose(void **state)
{
	const char *const exclude = "^getc$";
	const int32_t tid = 101;

	(void)state;
	begin_source("a", false);
	names();
	stack_call(101, "read", 20 * US, 3 * US, "getc");
	stack_call(101, "read", 30 * US, 4 * US, "fread");
	call(100, "poll", NULL, 0, 50 * US);
	end_source();
	assert_int_equal(fold(&(struct tl_fold_options) { .tids = &tid,
							  .tid_count = 1,
							  .exclude_patterns = &exclude,
							  .exclude_count = 1 }),
			 TL_OK);
	assert_int_equal(folded.line_count, 1);
	assert_int_equal(weight_of("main_prog;worker;read;main;fread"), 4);
	assert_int_equal(folded.excluded_thread_count, 1);
	assert_int_equal(folded.excluded_frame_count, 1);
}

static void calls_without_an_end_are_told(void **state)
{
	struct tl_event ev = made(101, "read", NULL, 0, -1);

	(void)state;
	begin_source("a", false);
	call(100, "poll", NULL, 0, 50 * US);
	ev.syscall.outcome = TL_CALL_OPEN;
	emit(&ev);
	end_source();
	assert_int_equal(fold(NULL), TL_OK);
	assert_int_equal(folded.without_end_count, 1);
	assert_int_equal(folded.line_count, 1);
}

static void a_case_without_calls_says_so(void **state)
{
	(void)state;
	assert_int_equal(fold(NULL), TL_NOTHING);
	assert_non_null(strstr(err.text, "no system calls"));
}

#define FOLD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fold_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLD_TEST(lines_are_process_thread_call_and_stack),
		FOLD_TEST(weights_are_ns_us_or_calls),
		FOLD_TEST(roots_have_ids_or_nothing),
		FOLD_TEST(a_time_range_cuts_calls_at_its_ends),
		FOLD_TEST(a_call_that_two_sources_tell_of_is_folded_once),
		FOLD_TEST(threads_and_frames_choose),
		FOLD_TEST(calls_without_an_end_are_told),
		FOLD_TEST(a_case_without_calls_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
