/*
 * perf_script_call_test.c - texts of the tracepoints of system calls, as perf 6.1 and the kernel's
 * print formats write them, and the fields they become.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "perf_script.h"

static void check(const char *event, const char *text, const char *json)
{
	struct tl_text out = { 0 };
	bool is_call =
		perf_script_call_json(event, (struct perf_span) { text, strlen(text) }, &out);

	assert_int_equal(is_call, json != NULL);
	if (json) {
		tl_text_add(&out, "", 1);
		assert_string_equal(out.data, json);
	}
	tl_text_release(&out);
}

static void a_raw_begin_has_number_and_arguments(void **state)
{
	(void)state;
	check("raw_syscalls:sys_enter", "NR 257 (ffffff9c, 7fcacef7b0b1, 80000, 0, 0, 5589)",
	      "{\"text\":\"NR 257 (ffffff9c, 7fcacef7b0b1, 80000, 0, 0, 5589)\",\"id\":257,"
	      "\"args\":[4294967196,140509032460465,524288,0,0,21897]}");
}

static void a_raw_end_has_a_result_with_its_sign(void **state)
{
	(void)state;
	check("raw_syscalls:sys_exit", "NR 257 = -2",
	      "{\"text\":\"NR 257 = -2\",\"id\":257,\"ret\":-2}");
}

static void a_named_begin_has_arguments_by_name(void **state)
{
	(void)state;
	check("syscalls:sys_enter_futex", "uaddr: 0x7f01, op: 0x00000080, val: 0x00000002",
	      "{\"text\":\"uaddr: 0x7f01, op: 0x00000080, val: 0x00000002\",\"uaddr\":32513,"
	      "\"op\":128,\"val\":2}");
}

static void a_named_end_has_a_result_with_its_sign(void **state)
{
	(void)state;
	check("syscalls:sys_exit_futex", "0xffffffffffffff92",
	      "{\"text\":\"0xffffffffffffff92\",\"ret\":-110}");
}

static void other_texts_are_left_to_others(void **state)
{
	(void)state;
	check("raw_syscalls:sys_enter", "id=257 args=0", NULL);
	check("raw_syscalls:sys_exit", "NR 257", NULL);
	check("sched:sched_switch", "NR 257 = -2", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_raw_begin_has_number_and_arguments),
		cmocka_unit_test(a_raw_end_has_a_result_with_its_sign),
		cmocka_unit_test(a_named_begin_has_arguments_by_name),
		cmocka_unit_test(a_named_end_has_a_result_with_its_sign),
		cmocka_unit_test(other_texts_are_left_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
