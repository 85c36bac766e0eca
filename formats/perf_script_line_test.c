/*
 * perf_script_line_test.c - lines of perf script text one by one: first lines of samples, frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "perf_script.h"

/* ---- first lines of samples -------------------------------------------------------------------- */

static struct perf_script_sample_line parse(const char *text)
{
	struct perf_script_columns columns = { 5 };
	struct perf_script_sample_line line;

	if (!perf_script_sample_line(&columns, text, strlen(text), &line))
		fail_msg("not a sample: %s", text);
	return line;
}

static void check_line(const char *text, const char *comm, int32_t pid, int32_t tid, int32_t cpu,
		       int64_t ts, int64_t period, const char *event, const char *rest)
{
	struct perf_script_sample_line line = parse(text);

	assert_true(perf_span_is(line.comm, comm));
	assert_int_equal(line.pid, pid);
	assert_int_equal(line.tid, tid);
	assert_int_equal(line.cpu, cpu);
	assert_int_equal(line.has_ts, ts >= 0);
	assert_int_equal(line.ts, ts >= 0 ? ts : 0);
	assert_int_equal(line.has_period, period >= 0);
	if (period >= 0)
		assert_int_equal(line.period, period);
	assert_int_equal(line.has_event, event != NULL);
	if (event)
		assert_true(perf_span_is(line.event, event));
	assert_true(perf_span_is(line.rest, rest));
}

static void check_no_line(const char *text)
{
	struct perf_script_columns columns = { 5 };
	struct perf_script_sample_line line;

	if (perf_script_sample_line(&columns, text, strlen(text), &line))
		fail_msg("taken for a sample: %s", text);
}

static void first_lines_come_with_and_without_each_field(void **state)
{
	(void)state;
	check_line("load 22933 [001]   157.167718:    1001001 cpu-clock: ", "load", TL_ID_NONE,
		   22933, 1, 157167718000, 1001001, "cpu-clock", "");
	check_line("load 22933/22940    157.167718436:    1001001 cpu-clock/freq=5000/: ", "load",
		   22933, 22940, -1, 157167718436, 1001001, "cpu-clock/freq=5000/", "");
	check_line("load 22933   157.167718: cycles:ppp: ", "load", TL_ID_NONE, 22933, -1,
		   157167718000, -1, "cycles:ppp", "");
	check_line("            load 22933   157.167718: sched:x: a=1 ", "load", TL_ID_NONE, 22933,
		   -1, 157167718000, -1, "sched:x", "a=1");
	check_line("load 22933/22940     1001001 cpu-clock: ", "load", 22933, 22940, -1, -1,
		   1001001, "cpu-clock", "");
	check_line("load 22933 [000] cpu-clock: ", "load", TL_ID_NONE, 22933, 0, -1, -1,
		   "cpu-clock", "");
	check_line("load 22933 K       157.167718: cpu-clock: ", "load", TL_ID_NONE, 22933, -1,
		   157167718000, -1, "cpu-clock", "");
	check_line("            load   157.167718: ", "load", TL_ID_NONE, TL_ID_NONE, -1,
		   157167718000, -1, NULL, "");
}

static void comms_may_hold_anything(void **state)
{
	static const char *const comms[] = {
		"x",	  "worker 7",	"12345",     "x/1",	"99.5:",      "#hash",
		"a b  c", "comm [000]", "1.000001:", "(paren)", "semi;colon", "data loader (0)",
		"",	  "  lead",	"bad\xff",   "tab\tx"
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(comms) / sizeof(*comms); i++) {
		snprintf(text, sizeof(text),
			 "%s 22933 [001]   157.167718:       10 cycles: ", comms[i]);
		check_line(text, comms[i], TL_ID_NONE, 22933, 1, 157167718000, 10, "cycles", "");
		snprintf(text, sizeof(text), "%s 22933/22934   157.167718: cycles: ", comms[i]);
		check_line(text, comms[i], 22933, 22934, -1, 157167718000, -1, "cycles", "");
	}
}

static void an_exited_thread_has_the_id_minus_one(void **state)
{
	(void)state;
	check_line(":-1    -1/-1    [000]   157.167718: cycles: ", ":-1", -1, -1, 0, 157167718000,
		   -1, "cycles", "");
	check_line(":-1    -1   157.167718: cycles: ", ":-1", TL_ID_NONE, -1, -1, 157167718000, -1,
		   "cycles", "");
}

static void blanks_behind_a_comm_are_told_from_the_columns_padding(void **state)
{
	struct perf_script_columns columns = { 7 };
	struct perf_script_sample_line line;
	const char *narrow = "load  2933   157.167718: cycles: ";
	const char *trail = "trail   2933   157.167718: cycles: ";

	(void)state;
	assert_true(perf_script_sample_line(&columns, narrow, strlen(narrow), &line));
	assert_int_equal(columns.pid_width, 5);
	assert_true(perf_span_is(line.comm, "load"));
	assert_true(perf_script_sample_line(&columns, trail, strlen(trail), &line));
	assert_true(perf_span_is(line.comm, "trail "));
}

static void other_logs_are_no_samples(void **state)
{
	(void)state;
	check_no_line("1234  10:11:12.123456 read(3, \"\", 10) = 0 <0.000010>");
	check_no_line("1234  1700000000.123456 read(3, \"\", 10) = 0");
	check_no_line("main;foo;bar 12");
	check_no_line("{\"ts\": 12.123456, \"name\": \"x\"}");
	check_no_line("[   12.345678] usb 1-1: new device");
	check_no_line("     0.000 ( 0.012 ms): ls/123 openat(dfd: CWD) = 3");
	check_no_line("load 22933   157.167718 cycles: ");
	check_no_line("load 22933   157.16771: cycles: ");
	check_no_line("");
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void check_frame(const char *text, uint64_t address, const char *symbol, const char *dso)
{
	struct perf_script_frame_line f;

	assert_true(perf_script_frame_line(text, strlen(text), &f));
	assert_int_equal(f.address, address);
	if (symbol ? !f.symbol.text || !perf_span_is(f.symbol, symbol) : f.symbol.text != NULL)
		fail_msg("symbol of %s: %.*s", text, (int)f.symbol.length, f.symbol.text);
	if (dso ? !f.dso.text || !perf_span_is(f.dso, dso) : f.dso.text != NULL)
		fail_msg("dso of %s: %.*s", text, (int)f.dso.length, f.dso.text);
}

static void frames_may_hold_anything(void **state)
{
	(void)state;
	check_frame("\tffffffff815f0b8b ksys_mmap_pgoff+0x2b ([kernel.kallsyms])",
		    0xffffffff815f0b8b, "ksys_mmap_pgoff", "[kernel.kallsyms]");
	check_frame("\t            4f5b (anonymous namespace)::leaf+0x1b (/tmp/load)", 0x4f5b,
		    "(anonymous namespace)::leaf", "/tmp/load");
	check_frame("\t            4f5b std::function<void (int)>::operator() (/tmp/load)", 0x4f5b,
		    "std::function<void (int)>::operator()", "/tmp/load");
	check_frame("\t            4f5b foo+0x12 (/tmp/my prog (deleted))", 0x4f5b, "foo",
		    "/tmp/my prog (deleted)");
	check_frame("\t            4f5b foo (/opt/App (x86)/bin/a)", 0x4f5b, "foo",
		    "/opt/App (x86)/bin/a");
	check_frame("\t            4f5b foo (/opt/a)b)", 0x4f5b, "foo", "/opt/a)b");
	check_frame("\t            4f5b [unknown] (/usr/lib/libc.so.6)", 0x4f5b, NULL,
		    "/usr/lib/libc.so.6");
	check_frame("\t               0 [unknown] ([unknown])", 0, NULL, NULL);
	check_frame("\t            4f5b a->b+c ([JIT app cache])", 0x4f5b, "a->b+c",
		    "[JIT app cache]");
	check_frame("\t            4f5b main", 0x4f5b, "main", NULL);
	check_frame("\t            4f5b (/bin/y)", 0x4f5b, NULL, "/bin/y");
	check_frame("\tmain (/bin/y)", 0, "main", "/bin/y");
	check_frame("\tadd (/bin/y)", 0, "add", "/bin/y");
	check_frame("\t    7f0011223344 add+0x1 (/bin/y)", 0x7f0011223344, "add", "/bin/y");
	check_frame("    7f0011223344 main (/bin/y)", 0x7f0011223344, "main", "/bin/y");
}

static void contexts_follow_the_binary(void **state)
{
	static const struct {
		const char *text;
		enum tl_context context;
	} cases[] = { { "\t 4f5b a ([kernel.kallsyms])", TL_CONTEXT_KERNEL },
		      { "\t 4f5b a ([nf_conntrack])", TL_CONTEXT_KERNEL },
		      { "\t 4f5b a (/lib/modules/6.1/kernel/x.ko)", TL_CONTEXT_KERNEL },
		      { "\t 4f5b a (/usr/lib/debug/boot/vmlinux-6.1)", TL_CONTEXT_KERNEL },
		      { "\t 4f5b a (bpf_prog_6deef7357e7b4530_x)", TL_CONTEXT_KERNEL },
		      { "\t 4f5b a ([guest.kernel.kallsyms])", TL_CONTEXT_GUEST_KERNEL },
		      { "\t 4f5b a ([vdso])", TL_CONTEXT_USER },
		      { "\t 4f5b a (/tmp/perf-12.map)", TL_CONTEXT_USER },
		      { "\t 4f5b a (//anon)", TL_CONTEXT_USER },
		      { "\t 4f5b [unknown] ([unknown])", TL_CONTEXT_USER },
		      { "\tffffffff815f0b8b [unknown] ([unknown])", TL_CONTEXT_KERNEL } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perf_script_frame_line f;

		assert_true(perf_script_frame_line(cases[i].text, strlen(cases[i].text), &f));
		assert_int_equal(perf_script_context(&f, TL_CONTEXT_UNKNOWN), cases[i].context);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_lines_come_with_and_without_each_field),
		cmocka_unit_test(comms_may_hold_anything),
		cmocka_unit_test(an_exited_thread_has_the_id_minus_one),
		cmocka_unit_test(blanks_behind_a_comm_are_told_from_the_columns_padding),
		cmocka_unit_test(other_logs_are_no_samples),
		cmocka_unit_test(frames_may_hold_anything),
		cmocka_unit_test(contexts_follow_the_binary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
