/*
 * strace_log_test.c - logs as texts, and the events they become: what the lines of tracers that are
 * rarely seen together mean. Expected events are read off the logs by hand.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "formats.h"
#include "perf_trace_text.h"
#include "reader.h"
#include "strace.h"

struct printer {
	struct tl_sink sink;
	FILE *out;
};

static int print_event(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct printer *p = (struct printer *)sink;

	(void)err;
	tl_event_print(p->out, ev);
	fputc('\n', p->out);
	return TL_OK;
}

/* The events of a log, a line each; the importer is the one that its begin asks for. */
static char *events_of(const char *text, size_t len)
{
	struct printer p = { .sink.emit = print_event };
	const struct tl_importer *importer = tl_importer_probe((const uint8_t *)text, len);
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;
	char *out = NULL;
	size_t size;
	int ret;

	assert_non_null(importer);
	p.out = open_memstream(&out, &size);
	assert_int_equal(tl_input_open_memory(&in, "log", (const uint8_t *)text, len, &err), TL_OK);
	ret = tl_import(importer, in, NULL, &p.sink, &result, &err);
	tl_input_close(in);
	if (ret != TL_OK)
		fprintf(p.out, "refused: %s\n", err.text);
	fclose(p.out);
	return out;
}

static void check(const char *text, bool is_wanted, const char *part)
{
	char *events = events_of(text, strlen(text));

	if (!strstr(events, part) == is_wanted)
		fail_msg("%s \"%s\" in:\n%s", is_wanted ? "no" : "there is a", part, events);
	free(events);
}

static void check_has(const char *text, const char *part)
{
	check(text, true, part);
}

static void check_has_not(const char *text, const char *part)
{
	check(text, false, part);
}

/* ---- numbers instead of names --------------------------------------------------------------- */

#define AT "7 1700000000.000000 "

static void raw_futex_operations_have_names(void **state)
{
	(void)state;
	check_has(AT "futex(0x7f9900, 0x189, 0, NULL, FUTEX_BITSET_MATCH_ANY) = 0 <0.001456>\n",
		  "operation=\"FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME\"");
	check_has(AT "futex(0x7f9900, 0x81, 0x1) = 0x1 <0.001456>\n",
		  "operation=\"FUTEX_WAKE_PRIVATE\"");
}

static void verbose_operations_are_what_the_remark_says(void **state)
{
	(void)state;
	check_has(AT "futex(0x7f9900, 0x80 /* FUTEX_WAIT_PRIVATE */, 2, NULL) = 0 <0.001456>\n",
		  "operation=\"FUTEX_WAIT_PRIVATE\"");
	check_has(AT "ioctl(1, 0x5413 /* TIOCGWINSZ */, 0x7ff) = 0 <0.000001>\n",
		  "operation=\"TIOCGWINSZ\"");
}

static void a_remark_without_a_name_leaves_the_number(void **state)
{
	(void)state;
	check_has(AT "ioctl(1, 0xabcd /* IOC_??? */, 0x7ff) = 0 <0.000001>\n",
		  "operation=\"0xabcd /* IOC_??? */\"");
	check_has(AT "ioctl(1, 0xabcd, 0x7ff) = 0 <0.000001>\n", "operation=\"0xabcd\"");
}

static void raw_descriptors_and_timeouts_are_numbers(void **state)
{
	(void)state;
	check_has(AT "read(0x11, 0x7ff, 0x40) = 0x40 <0.000001>\n", "fd=17");
	check_has(AT "poll(0x7ff, 0x1, 0x3e8) = 0 <1.000001>\n", "timeout=1000000000");
	check_has(AT "poll(0x7ff, 0x1, 0xffffffff) = 0x1 <1.000001>\n",
		  "timeout=9223372036854775807");
}

static void flags_of_a_raw_clone_tell_threads_from_processes(void **state)
{
	(void)state;
	check_has(AT "getpid() = 0x7 <0.000001>\n" AT
		     "clone3({flags=0x3d0f00, exit_signal=0} => {parent_tid=[8]}, 0x58) = 0x8 "
		     "<0.000100>\n",
		  "child=7/8");
	check_has(AT "getpid() = 0x7 <0.000001>\n" AT "clone(0x1200011, 0, 0, 0x7f) = 0x8 "
		     "<0.000100>\n",
		  "child=8/8");
}

static void flags_behind_a_pointer_are_not_guessed(void **state)
{
	(void)state;
	check_has_not(AT "getpid() = 0x7 <0.000001>\n" AT "clone3(0x7ffd10, 0x58) = 0x8 <0.0001>\n"
			 "8 1700000000.100000 getppid() = 0x1 <0.000001>\n",
		      "8/8");
}

static void a_verbose_prctl_names_its_thread(void **state)
{
	(void)state;
	check_has(AT "prctl(0xf /* PR_SET_NAME */, \"worker\") = 0 <0.000020>\n",
		  "name=\"worker\"");
}

/* ---- ltrace --------------------------------------------------------------------------------- */

static void errors_of_ltrace_have_names(void **state)
{
	(void)state;
	check_has(AT "SYS_access(\"/etc/ld.so.preload\", 04) = -2 <0.000063>\n",
		  "error=\"ENOENT\"");
	check_has_not(AT "malloc(1) = 0x10 <0.000063>\n" AT
			 "strcmp(\"a\", \"c\") = -2 <0.000063>\n",
		      "error=");
}

static void waits_of_ltrace_have_their_operation(void **state)
{
	(void)state;
	check_has(AT "SYS_futex(0x55778994b100, 128, 2, 0) = 0 <0.050000>\n",
		  "operation=\"FUTEX_WAIT_PRIVATE\"");
}

static void names_of_functions_tell_ltrace_from_strace(void **state)
{
	(void)state;
	check_has_not(AT "sigaction(SIGALRM, 0x10, nil) = 0 <0.000170>\n" AT
			 "strlen(\"abc\") = 3 <0.000100>\n",
		      "system");
	check_has(AT "sigaction(SIGALRM, 0x10, NULL) = 0 <0.000170>\n" AT
		     "memfd_create(\"abc\", 0) = 3 <0.000100>\n",
		  "value=\"strace\"");
}

static void what_the_c_library_complains_of_is_no_call_of_ltrace(void **state)
{
	static const char log[] = AT "close(5) = 0 <0.000165>\n"
				     "free(): invalid pointer\n" AT "close(5) = 0 <0.000165>\n" AT
				     "close(6) = 0 <0.000165>\n";

	(void)state;
	check_has(log, "value=\"strace\"");
	check_has(log, "name=\"close\" measured");
}

static void a_program_that_ltrace_sees_executed_has_returned_to_nobody(void **state)
{
	(void)state;
	check_has_not("7 1700000000.000000 execl(0x55, 0x56, 0, 0 <no return ...>\n"
		      "7 1700000000.000250 --- Called exec() ---\n"
		      "7 1700000000.100000 +++ exited (status 0) +++\n",
		      "damaged");
	check_has("7 1700000000.000000 execl(0x55, 0x56, 0, 0 <no return ...>\n"
		  "7 1700000000.000250 --- Called exec() ---\n",
		  "name=\"execl\" library derived returned duration=250000 result=0");
}

/* ---- threads -------------------------------------------------------------------------------- */

static void a_leader_ends_in_the_exec_of_another_thread(void **state)
{
	static const char log[] =
		"100 1700000000.000000 futex(0x1, FUTEX_WAIT, 2, NULL <unfinished ...>\n"
		"101 1700000000.003000 execve(\"/bin/sh\", [\"sh\"], 0x1 /* 1 var */ <unfinished "
		"...>\n"
		"100 1700000000.005000 +++ superseded by execve in pid 101 +++\n"
		"100 1700000000.005100 <... execve resumed>) = 0 <0.002000>\n"
		"100 1700000000.100100 +++ exited with 0 +++\n";

	(void)state;
	check_has(log, "exit ts=1700000000005000000 task=?/100");
	check_has(log, "exit ts=1700000000100100000 task=100/100");
}

/* ---- perf trace ------------------------------------------------------------------------------ */

static void results_in_words_are_results(void **state)
{
	static const char log[] =
		"    58.634 ( 0.012 ms): cmp/10818 fcntl(cmd: GETFD)   = CLOEXEC\n"
		"    58.657 ( 0.011 ms): cmp/10818 poll(ufds: 0x7f, nfds: 1)  "
		"= 0 Timeout\n"
		"    59.000 ( 0.011 ms): cmp/10818 wait4(upid: -1)   = 10819 (sh)\n";

	(void)state;
	check_has_not(log, "damaged");
	check_has(log, "name=\"fcntl\" measured returned duration=12000 operation");
	check_has(log, "result=0");
	check_has(log, "result=10819");
}

static void texts_of_call_tracepoints_have_numbers_and_results(void **state)
{
	static const char log[] =
		"mt  9528/9528  [000] 15243.048906829: raw_syscalls:sys_enter: NR 257 (ffffff9c, 7f)\n"
		"mt  9528/9528  [000] 15243.048914010:  raw_syscalls:sys_exit: NR 257 = -2\n";

	(void)state;
	check_has(log, "\"id\":257,\"args\":[4294967196,127]");
	check_has(log, "\"id\":257,\"ret\":-2");
}

/* ---- what others put into a log --------------------------------------------------------------- */

static void output_that_looks_like_an_end_is_none_if_the_call_goes_on(void **state)
{
	static const char log[] =
		"[pid  7987] 1796059805.530983 write(1, \"a = 1) = 7 <0.000001>\\n\", 25a = 1) = 7 "
		"<0.000001>\n <unfinished ...>\n"
		"[pid  7986] 1796059805.531018 getppid() = 1 <0.000134>\n"
		"[pid  7987] 1796059805.531067 <... write resumed>) = 25 <0.000074>\n";

	(void)state;
	check_has(log, "name=\"write\" measured returned duration=74000 result=25 fd=1");
	check_has_not(log, "result=7");
	check_has_not(log, "damaged");
}

static void output_that_looks_like_an_end_is_none_before_the_real_one(void **state)
{
	check_has("1796059805.530983 write(1, \"a) = 7 <0.000001>\\n\", 20a) = 7 <0.000001>\n"
		  ") = 20 <0.000091>\n",
		  "returned duration=91000 result=20 fd=1");
	(void)state;
}

static void a_first_line_without_its_front_decides_nothing(void **state)
{
	static const char log[] = "000000.000000 close(5) = 0 <0.000001>\n"
				  "201 1700000000.001000 close(5) = 0 <0.000001>\n"
				  "202 1700000000.002000 close(5) = 0 <0.000001>\n";

	(void)state;
	check_has(log, "method=exact");
	check_has(log, "truncated count=1");
	check_has(log, "syscall ts=1700000000002000000");
}

static void fronts_of_containers_are_left_out(void **state)
{
	check_has("2026-11-30T17:28:13.890Z 7 1796059693.890056 close(5) = 0 <0.000165>\n",
		  "ts=1796059693890056000 task=?/7 name=\"close\"");
	check_has("trainer-1  | 2026-11-30T17:28:13.890Z 7 1796059693.890056 close(5) = 0 <0.1>\n",
		  "ts=1796059693890056000 task=?/7 name=\"close\"");
	check_has("[pod/trainer-0/main] 7 1796059693.890056 close(5) = 0 <0.000165>\n",
		  "ts=1796059693890056000 task=?/7 name=\"close\"");
	check_has("2026-11-30T17:28:13+08:00 stdout F 7 1796059693.890056 close(5) = 0 <0.1>\n",
		  "ts=1796059693890056000 task=?/7 name=\"close\"");
	check_has("    7 1796059693.890056 close(5) = 0 <0.000165>\n",
		  "ts=1796059693890056000 task=?/7 name=\"close\"");
	(void)state;
}

static void a_log_may_begin_behind_a_screen_of_text(void **state)
{
	static const char words[] = "loading module of the app, please wait\n";
	struct tl_text log = { 0 };
	char *events;

	(void)state;
	for (int i = 0; i < 3000; i++)
		tl_text_puts(&log, words);
	for (int i = 0; i < 300; i++)
		tl_text_puts(&log, AT "close(5) = 0 <0.000165>\n");
	events = events_of(log.data, log.length);
	assert_non_null(strstr(events, "name=\"close\""));
	assert_non_null(strstr(events, "damaged count=3000"));
	free(events);
	tl_text_release(&log);
}

static void calls_between_lines_of_a_training_are_told(void **state)
{
	static const char log[] = "2026-11-30 17:00:01 INFO step 1 took 0.5 s\n"
				  "2026-11-30 17:00:02 INFO step 2 took 0.5 s\n"
				  "2026-11-30 17:00:03 INFO step 3 took 0.5 s\n" AT
				  "close(5) = 0 <0.000165>\n" AT "close(6) = 0 <0.000165>\n";

	(void)state;
	check_has(log, " number=3 rank");
	check_has(log, "skipped count=2 what=\"line of strace's");
}

static void nothing_is_no_log(void **state)
{
	struct tl_import_result result;
	struct printer p = { .sink.emit = print_event };
	struct tl_error err = { 0 };
	struct tl_input *in;

	(void)state;
	assert_int_equal(tl_input_open_memory(&in, "log", NULL, 0, &err), TL_OK);
	assert_int_equal(tl_import(&strace_importer, in, NULL, &p.sink, &result, &err), TL_FORMAT);
	tl_input_close(in);
}

static void colours_around_names_are_left_out(void **state)
{
	(void)state;
	check_has("7 1796059693.890056 \033[33mclose\033[0m(5) = 0 <0.000165>\n",
		  "task=?/7 name=\"close\"");
}

static void a_byte_order_mark_is_no_part_of_the_first_line(void **state)
{
	(void)state;
	check_has("\xef\xbb\xbf" AT "close(5) = 0 <0.000165>\n", "task=?/7 name=\"close\"");
	check_has_not("\xef\xbb\xbf"
		      "    58.634 ( 0.012 ms): cmp/10818 close(fd: 3)   = 0\n"
		      "    58.734 ( 0.012 ms): cmp/10818 close(fd: 3)   = 0\n"
		      "    58.834 ( 0.012 ms): cmp/10818 close(fd: 3)   = 0\n",
		      "damaged");
}

static void other_logs_are_refused_by_name(void **state)
{
	static const char wide[] = "\xff\xfe"
				   "c\0l\0o\0s\0e\0(\0"
				   "5\0)\0 \0=\0 \0"
				   "0\0\n";
	char *events = events_of(wide, sizeof(wide));

	(void)state;
	assert_non_null(strstr(events, "UTF-16"));
	free(events);
	check_has("1 01:40:19.601363716 0 httpd (7513) < accept fd=3(<4t>1:39996) tuple=1\n"
		  "2 01:40:19.601374197 0 httpd (7513) > read fd=3 size=80\n",
		  "sysdig");
	check_has("PID/THRD  SYSCALL(args) \t\t = return\n7/0x1:  close(0x3)\t\t = 0 0\n",
		  "dtruss");
}

/* ---- tables, durations, times ----------------------------------------------------------------- */

static void tables_are_tables_whatever_their_columns(void **state)
{
	static const char log[] =
		AT "close(5) = 0 <0.000165>\n"
		   "syscall           longest shortest  usecs/call     calls    errors % time\n"
		   "---------------- -------- -------- ----------- --------- --------- ------\n"
		   "close            0.000165 0.000165         165         1         1 100.00\n"
		   "write            0.000165 0.000165         165         1           100.00\n"
		   "---------------- -------- -------- ----------- --------- --------- ------\n"
		   "total            1.000792 0.000006        1628       738        34 100.00\n" AT
		   "close(5) = 0 <0.000165>\n";

	(void)state;
	check_has_not(log, "damaged");
	check_has(log, "skipped count=6");
}

static void a_table_alone_is_refused_in_the_name_of_its_tracer(void **state)
{
	(void)state;
	check_has("% time     seconds  usecs/call     calls      function\n"
		  "------ ----------- ----------- --------- --------------------\n"
		  " 66.06    0.004869        4869         1 wait\n",
		  "summary (ltrace -c)");
}

static void a_duration_without_sense_leaves_its_call(void **state)
{
	(void)state;
	check_has(AT "read(3, \"\", 1) = 0 <99999999999999999999.5>\n",
		  "name=\"read\" untimed returned result=0 fd=3");
	check_has(AT "read(3, \"\", 1) = 0 <-0.5>\n", "what=\"duration that makes no sense\"");
}

static void times_of_no_clock_are_no_times(void **state)
{
	(void)state;
	check_has("7 25:61:61.9 close(1) = 0 <0.1>\n7 23:59:60.8 close(2) = 0 <0.1>\n",
		  "damaged count=1");
}

static void lateness_is_told_across_midnight(void **state)
{
	(void)state;
	check_has("10 23:59:59.900000 close(3) = 0 <0.000500>\n"
		  "11 00:00:00.100000 close(3) = 0 <0.000500>\n"
		  "10 23:59:59.950000 close(3) = 0 <0.200500>\n",
		  "by up to 150 ms");
}

/* Unix time of 2026-11-29 00:00:00 UTC */
#define TOLD_DATE_NS (INT64_C(1795910400) * 1000000000)
#define HOUR_NS	     (INT64_C(3600) * 1000000000)

static void settle(int64_t modified_ns, int64_t last_ns, bool has_timezone,
		   struct tl_event_clock *out)
{
	const struct strace_clock clock = { .kind = STRACE_TIME_OF_DAY, .digits = 6 };
	const struct tl_import_options opt = { .has_date = true,
					       .date_ns = TOLD_DATE_NS,
					       .has_timezone = has_timezone,
					       .timezone_ns = has_timezone ? 8 * HOUR_NS : 0 };

	strace_clock_settle(&clock, &opt, modified_ns, last_ns, out);
}

static void a_file_begun_after_midnight_is_of_the_next_day(void **state)
{
	const int64_t last_ns = HOUR_NS / 60, next_day_ns = TOLD_DATE_NS + 24 * HOUR_NS;
	struct tl_event_clock clock;

	(void)state;
	settle(next_day_ns + last_ns, last_ns, false, &clock); /* in UTC */
	assert_int_equal(clock.offset_ns, next_day_ns);
	settle(next_day_ns - 8 * HOUR_NS + last_ns, last_ns, true, &clock);
	assert_int_equal(clock.offset_ns, next_day_ns - 8 * HOUR_NS);
}

static void a_file_of_the_told_day_stays_there(void **state)
{
	const int64_t last_ns = 23 * HOUR_NS;
	struct tl_event_clock clock;

	(void)state;
	settle(TOLD_DATE_NS - 8 * HOUR_NS + last_ns, last_ns, true, &clock);
	assert_int_equal(clock.offset_ns, TOLD_DATE_NS - 8 * HOUR_NS);
	settle(TOLD_DATE_NS + 9 * HOUR_NS + last_ns, last_ns, false, &clock); /* UTC-9 */
	assert_int_equal(clock.offset_ns, TOLD_DATE_NS + 9 * HOUR_NS);
	settle(TOLD_DATE_NS + 40 * HOUR_NS + 123456789123, last_ns, true, &clock); /* a copy */
	assert_int_equal(clock.offset_ns, TOLD_DATE_NS - 8 * HOUR_NS);
}

static void indented_calls_of_ltrace_are_calls(void **state)
{
	(void)state;
	check_has("7 1700000000.000000 malloc(10 <unfinished ...>\n"
		  "7 1700000000.000100   SYS_brk(0) = 0x5000 <0.000011>\n"
		  "7 1700000000.000200 <... malloc resumed> ) = 0x10 <0.000211>\n",
		  "name=\"SYS_brk\" measured returned duration=11000");
}

static void stacks_below_calls_of_perf_trace_are_no_damage(void **state)
{
	static const char log[] =
		"     0.056 ( 0.066 ms): lng/29114 brk()          = 0x5637a799d000\n"
		"                                       __brk (inlined)\n"
		"                                       _dl_start (/usr/lib/ld-linux-x86-64.so.2)\n"
		"     0.363 ( 0.021 ms): lng/29114 brk()          = 0x5637a799d000\n";

	(void)state;
	check_has(log, "skipped count=2");
	check_has_not(log, "damaged");
}

#define LOG_TEST(test) cmocka_unit_test(test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG_TEST(raw_futex_operations_have_names),
		LOG_TEST(verbose_operations_are_what_the_remark_says),
		LOG_TEST(a_remark_without_a_name_leaves_the_number),
		LOG_TEST(raw_descriptors_and_timeouts_are_numbers),
		LOG_TEST(flags_of_a_raw_clone_tell_threads_from_processes),
		LOG_TEST(flags_behind_a_pointer_are_not_guessed),
		LOG_TEST(a_verbose_prctl_names_its_thread),
		LOG_TEST(errors_of_ltrace_have_names),
		LOG_TEST(waits_of_ltrace_have_their_operation),
		LOG_TEST(names_of_functions_tell_ltrace_from_strace),
		LOG_TEST(what_the_c_library_complains_of_is_no_call_of_ltrace),
		LOG_TEST(a_program_that_ltrace_sees_executed_has_returned_to_nobody),
		LOG_TEST(a_leader_ends_in_the_exec_of_another_thread),
		LOG_TEST(results_in_words_are_results),
		LOG_TEST(texts_of_call_tracepoints_have_numbers_and_results),
		LOG_TEST(output_that_looks_like_an_end_is_none_if_the_call_goes_on),
		LOG_TEST(output_that_looks_like_an_end_is_none_before_the_real_one),
		LOG_TEST(a_first_line_without_its_front_decides_nothing),
		LOG_TEST(fronts_of_containers_are_left_out),
		LOG_TEST(a_log_may_begin_behind_a_screen_of_text),
		LOG_TEST(calls_between_lines_of_a_training_are_told),
		LOG_TEST(nothing_is_no_log),
		LOG_TEST(colours_around_names_are_left_out),
		LOG_TEST(a_byte_order_mark_is_no_part_of_the_first_line),
		LOG_TEST(other_logs_are_refused_by_name),
		LOG_TEST(tables_are_tables_whatever_their_columns),
		LOG_TEST(a_table_alone_is_refused_in_the_name_of_its_tracer),
		LOG_TEST(a_duration_without_sense_leaves_its_call),
		LOG_TEST(times_of_no_clock_are_no_times),
		LOG_TEST(lateness_is_told_across_midnight),
		LOG_TEST(a_file_begun_after_midnight_is_of_the_next_day),
		LOG_TEST(a_file_of_the_told_day_stays_there),
		LOG_TEST(indented_calls_of_ltrace_are_calls),
		LOG_TEST(stacks_below_calls_of_perf_trace_are_no_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
