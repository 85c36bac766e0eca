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
	const struct tl_importer *importer =
		tl_importer_probe((const uint8_t *)text, len < 4096 ? len : 4096);
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
		LOG_TEST(a_program_that_ltrace_sees_executed_has_returned_to_nobody),
		LOG_TEST(a_leader_ends_in_the_exec_of_another_thread),
		LOG_TEST(results_in_words_are_results),
		LOG_TEST(texts_of_call_tracepoints_have_numbers_and_results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
