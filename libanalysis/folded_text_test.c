/*
 * folded_text_test.c - names native and as the two collapsers write them. What the collapsers make
 * of a text was noted from running them, not from this code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "folded_text.h"

/* ---- native ---- */

static void assert_native_frame(const char *symbol, const char *dso, bool annotate, bool addresses,
				const char *expected)
{
	struct tl_folded_rules rules = { .annotate_kernel = annotate,
					 .annotate_jit = annotate,
					 .show_addresses = addresses };
	struct tl_folded_frame frame = { .symbol = symbol, .dso = dso, .address = 0x7f12 };
	struct tl_text out = { 0 };

	tl_native_frame(&out, &rules, &frame);
	assert_string_equal(out.data, expected);
	tl_text_release(&out);
}

static void assert_native_root(const char *comm, const char *expected)
{
	struct tl_folded_rules rules = { .root = TL_ROOT_COMM };
	struct tl_folded_sample sample = { .comm = comm, .comm_length = strlen(comm) };
	struct tl_text out = { 0 };

	tl_native_root(&out, &rules, &sample);
	assert_string_equal(out.data, expected);
	tl_text_release(&out);
}

static void native_frames_keep_every_part_of_a_name(void **state)
{
	(void)state;
	assert_native_frame("(anonymous namespace)::leaf", "/x", false, false,
			    "(anonymous namespace)::leaf");
	assert_native_frame("std::_Function_handler<void (int), f()::{lambda()#1}>::_M_invoke",
			    "/x", false, false,
			    "std::_Function_handler<void (int), f()::{lambda()#1}>::_M_invoke");
	assert_native_frame("P::operator->", "/x", false, false, "P::operator->");
	assert_native_frame("operator\"\" _ms", "/x", false, false, "operator\"\" _ms");
}

static void native_frames_without_a_name_are_called_by_their_binary(void **state)
{
	(void)state;
	assert_native_frame(NULL, "/usr/lib/libc.so.6", false, false, "[libc.so.6]");
	assert_native_frame(NULL, "/usr/lib/libc.so.6", false, true, "[libc.so.6 <7f12>]");
	assert_native_frame(NULL, "[vdso]", false, false, "[[vdso]]");
	assert_native_frame(NULL, "//anon", false, false, "[anon]");
	assert_native_frame(NULL, NULL, false, false, "[unknown]");
	assert_native_frame(NULL, NULL, false, true, "[unknown <7f12>]");
	assert_native_frame(NULL, "/tmp/gone (deleted)", false, false, "[gone]");
	assert_native_frame(NULL, "/tmp/perf-12.map", false, false, "[perf-12.map]");
}

static void native_frames_are_annotated_by_their_binary(void **state)
{
	(void)state;
	assert_native_frame("f", "[kernel.kallsyms]", true, false, "f_[k]");
	assert_native_frame("f", "[nf_conntrack]", true, false, "f_[k]");
	assert_native_frame("f", "/lib/modules/6.1/x.ko", true, false, "f_[k]");
	assert_native_frame("f", "/boot/vmlinux-6.1", true, false, "f_[k]");
	assert_native_frame("f", "[vdso]", true, false, "f");
	assert_native_frame(NULL, NULL, true, false, "[unknown]");
	assert_native_frame("f", "/tmp/perf-77.map", true, false, "f_[j]");
	assert_native_frame("f", "/tmp/jitted-77-12.so", true, false, "f_[j]");
	assert_native_frame("f", "/tmp/perf-x.map", true, false, "f");
}

static void native_frames_hold_nothing_that_a_reader_could_misread(void **state)
{
	(void)state;
	assert_native_frame("a;b", "/x", false, false, "a:b");
	assert_native_frame("a\tb\nc\x7f", "/x", false, false, "a?b?c?");
	assert_native_frame("", "/x", false, false, "[empty]");
	assert_native_frame("a\xff"
			    "b",
			    "/x", false, false,
			    "a\xef\xbf\xbd"
			    "b");
	assert_native_frame("\xe2\x80\xa8\xc2\x85", "/x", false, false, "??");
	assert_native_frame("\xef\xbf\xbf", "/x", false, false, "\xef\xbf\xbd");
	assert_native_frame("caf\xc3\xa9", "/x", false, false, "caf\xc3\xa9");
}

static void native_roots_are_one_word_each(void **state)
{
	(void)state;
	assert_native_root("worker 7", "worker_7");
	assert_native_root("  lead", "__lead");
	assert_native_root("trail  ", "trail__");
	assert_native_root("tab\tx", "tab_x");
	assert_native_root("semi;colon", "semi:colon");
	assert_native_root("#hash", "#hash");
	assert_native_root("", "[empty]");
}

static void native_roots_can_carry_ids(void **state)
{
	struct tl_folded_rules rules = { .root = TL_ROOT_TID };
	struct tl_folded_sample sample = { .comm = "a b", .comm_length = 3, .pid = 7, .tid = 9 };
	struct tl_text out = { 0 };

	(void)state;
	tl_native_root(&out, &rules, &sample);
	assert_string_equal(out.data, "a_b-7/9");
	out.length = 0;
	rules.root = TL_ROOT_PID;
	tl_native_root(&out, &rules, &sample);
	assert_string_equal(out.data, "a_b-7");
	tl_text_release(&out);
}

static void a_line_that_ends_like_a_count_is_guarded(void **state)
{
	static const char *const cases[][2] = {
		{ "main;worker 7", "main;worker_7" }, { "main;v 7.5", "main;v_7.5" },
		{ "main;v 7.", "main;v_7." },	      { "main;v7", "main;v7" },
		{ "main;v .5", "main;v .5" },	      { "7", "7" },
		{ "main;v x7", "main;v x7" },	      { "", "" },
		{ "main;v 7.5.1", "main;v 7.5.1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *line = strdup(cases[i][0]);

		tl_native_guard(line, strlen(line));
		assert_string_equal(line, cases[i][1]);
		free(line);
	}
}

/* ---- the collapsers, from the text of perf script ---- */

static int note_line(const char *text, size_t len, uint64_t weight, void *payload,
		     struct tl_error *err)
{
	struct tl_text *out = payload;

	(void)err;
	tl_text_add(out, text, len);
	tl_text_printf(out, " %llu\n", (unsigned long long)weight);
	return TL_OK;
}

static void assert_folds(struct tl_folded_rules rules, const char *script, const char *expected)
{
	struct tl_text out = { 0 };
	struct tl_folded_reader reader = { .rules = rules, .emit = note_line, .payload = &out };
	struct tl_error err = { 0 };

	while (*script) {
		size_t len = strcspn(script, "\n");

		assert_int_equal(tl_folded_read_line(&reader, script, len, &err), TL_OK);
		script += len + (script[len] == '\n');
	}
	assert_int_equal(tl_folded_read_end(&reader, &err), TL_OK);
	assert_string_equal(out.data ? out.data : "", expected);
	tl_text_release(&out);
	tl_folded_reader_release(&reader);
}

static const struct tl_folded_rules perl = { .compat = TL_COMPAT_PERL };
static const struct tl_folded_rules inferno = { .compat = TL_COMPAT_INFERNO };

#define HEAD "load 12345/12346  1.000000001:  100 cpu-clock: \n"

static void the_perl_drops_frames_that_begin_with_a_parenthesis(void **state)
{
	(void)state;
	assert_folds(perl,
		     HEAD
		     "\t1 (anonymous namespace)::f (/x)\n\t2 ns::(anonymous namespace)::g (/x)\n\n",
		     "load;ns::(anonymous namespace)::g 100\n");
}

static void the_perl_cuts_at_the_first_parenthesis_but_not_go_methods(void **state)
{
	(void)state;
	assert_folds(perl,
		     HEAD "\t1 std::function<void (int)>::operator() (/x)\n"
			  "\t2 net/http.(*Client).Do (/x)\n\n",
		     "load;net/http.(*Client).Do;std::function<void  100\n");
}

static void the_perl_splits_names_at_arrows(void **state)
{
	(void)state;
	assert_folds(perl, HEAD "\t1 P::operator->* (/x)\n\t2 P::operator-> (/x)\n\n",
		     "load;P::operator;P::operator;*_[i] 100\n");
	assert_folds(inferno, HEAD "\t2 P::operator-> (/x)\n\n", "load;P::operator;_[i] 100\n");
}

static void the_perl_deletes_quotes_and_inferno_keeps_them(void **state)
{
	(void)state;
	assert_folds(perl, HEAD "\t1 RegExp:[&\"\\'] (/x)\n\n", "load;RegExp:[&\\] 100\n");
	assert_folds(inferno, HEAD "\t1 RegExp:[&\"\\'] (/x)\n\n", "load;RegExp:[&\"\\'] 100\n");
}

static void deleted_binaries_break_the_name_in_both(void **state)
{
	(void)state;
	assert_folds(perl, HEAD "\t1 rawfunc+0x12 (/tmp/x (deleted))\n\n",
		     "load;rawfunc+0x12  100\n");
	assert_folds(inferno, HEAD "\t1 rawfunc+0x12 (/tmp/x (deleted))\n\n",
		     "load;rawfunc+0x12  100\n");
}

static void a_name_that_ends_in_a_number_is_cut_by_both(void **state)
{
	(void)state;
	assert_folds(perl, "worker 7 12345/12346  1.5:  100 cpu-clock: \n\t1 f (/x)\n\n",
		     "worker;f 100\n");
	assert_folds(inferno, "worker 7 12345/12346  1.5:  100 cpu-clock: \n\t1 f (/x)\n\n",
		     "worker;f 100\n");
}

static void a_one_letter_name_becomes_a_phantom_of_the_perl(void **state)
{
	(void)state;
	assert_folds(perl, "x 12345/12346  1.500000000:  100 cpu-clock: \n\t1 f (/x)\n\n",
		     "x_12345/12346__1.500000000:;f 100\n");
	assert_folds(perl, "x   123/123    1.500000000:  100 cpu-clock: \n\t1 f (/x)\n\n",
		     "x_;f 100\n");
}

static void the_perl_loses_comments_and_names_that_begin_with_a_blank(void **state)
{
	(void)state;
	assert_folds(perl,
		     "#hash 12345/12346  1.5:  100 cpu-clock: \n\t1 f (/x)\n\n"
		     "  lead 12345/12346  1.5:  100 cpu-clock: \n\t1 g (/x)\n\n",
		     "");
	assert_folds(inferno, "  lead 12345/12346  1.5:  100 cpu-clock: \n\t1 g (/x)\n\n",
		     "lead;g 100\n");
}

static void the_first_event_becomes_the_filter(void **state)
{
	static const char script[] = HEAD "\t1 f (/x)\n\n"
					  "load 1/2  1.6:  7 page-faults: \n\t1 g (/x)\n\n";

	(void)state;
	assert_folds(perl, script, "load;f 100\n");
	assert_folds(inferno, script, "load;f 100\n");
}

static void tracepoint_fields_pass_the_filter_of_the_perl_with_weight_one(void **state)
{
	(void)state;
	assert_folds(perl,
		     "load  2909  1.5:  200000 cpu-clock: \n\t1 f (/x)\n\n"
		     "load  2909 [001]  1.6: sched:sched_switch: prev_comm=load ==> next_comm=x\n"
		     "\t1 g (/x)\n\n",
		     "load;f 200000\nload;g 1\n");
}

static void samples_without_call_chains_are_lost_by_the_perl_only(void **state)
{
	static const char script[] =
		"            load  2925/2925    1.5:    2000000 cpu-clock:u:      7fd3 f (/x)\n"
		"            load  2925/2925    1.6:    2000000 cpu-clock:u:      7fd4 g (/x)\n";

	(void)state;
	assert_folds(perl, script, "");
	assert_folds(inferno, script, "load;f 2000000\nload;g 2000000\n");
}

static void the_last_stack_needs_an_empty_line_only_for_the_perl(void **state)
{
	(void)state;
	assert_folds(perl, HEAD "\t1 f (/x)\n", "");
	assert_folds(inferno, HEAD "\t1 f (/x)\n", "load;f 100\n");
}

static void an_empty_stack_is_a_bare_name_for_the_perl_and_nothing_for_inferno(void **state)
{
	(void)state;
	assert_folds(perl, HEAD "\n", "load 100\n");
	assert_folds(inferno, HEAD "\n", "");
}

static void java_names_lose_their_signature(void **state)
{
	static const char script[] = "java 1/2  1.5:  3 cycles: \n"
				     "\t1 Lorg/x/MemberBox;.<init>(Ljava/M;)V->Lorg/x/Y;::run "
				     "(/tmp/perf-1.map)\n\n";

	(void)state;
	assert_folds(perl, script, "java;org/x/MemberBox:.<init>;org/x/Y:::run_[i] 3\n");
	assert_folds(inferno, script, "java;org/x/MemberBox:.<init>;org/x/Y:::run_[i] 3\n");
}

static void inferno_repairs_old_rust_names(void **state)
{
	(void)state;
	assert_folds(inferno,
		     HEAD "\t1 _$LT$std..fs..ReadDir$u20$as$u20$core..iter..Iterator$GT$::next::"
			  "hc14f1750ca79129b (/x)\n\n",
		     "load;<std::fs::ReadDir as core::iter::Iterator>::next 100\n");
}

static void annotations_follow_the_module(void **state)
{
	struct tl_folded_rules p = perl, i = inferno;
	static const char script[] = HEAD "\t1 a ([vdso])\n\t2 b (/lib/x.ko)\n"
					  "\t3 c (/tmp/jitted-1-2.so)\n\t4 d ([unknown])\n\n";

	(void)state;
	p.annotate_kernel = p.annotate_jit = i.annotate_kernel = i.annotate_jit = true;
	assert_folds(p, script, "load;d;c;b;a_[k] 100\n");
	assert_folds(i, script, "load;d;c_[j];b_[k];a_[k] 100\n");
}

static void the_idle_task_has_no_process_id_for_the_perl(void **state)
{
	struct tl_folded_rules p = perl;

	(void)state;
	p.root = TL_ROOT_TID;
	assert_folds(p, "swapper     0/0  1.5:  3 cycles: \n\t1 f (/x)\n\n", "swapper-?/0;f 3\n");
}

/* ---- the short way gives what the text gives ---- */

static void assert_head_equals_text(enum tl_fold_compat compat, const char *comm, bool has_chain)
{
	struct tl_folded_rules rules = { .compat = compat, .root = TL_ROOT_TID };
	struct tl_folded_sample sample = { .comm = comm,
					   .comm_length = strlen(comm),
					   .pid = 12345,
					   .tid = 7,
					   .cpu = -1,
					   .time_ns = 1500000000,
					   .period = 250,
					   .event = "cpu-clock:u",
					   .event_width = 11,
					   .has_callchain = has_chain };
	struct tl_folded_frame frame = { .symbol = "f", .dso = "/x", .address = 16 };
	struct tl_text script = { 0 }, frames = { 0 }, root = { 0 }, expected = { 0 }, got = { 0 };
	struct tl_folded_reader reader = { .rules = rules,
					   .emit = note_line,
					   .payload = &expected };
	enum tl_folded_head head;
	bool uses_period;
	char *line, *next;

	tl_script_head(&script, compat, &sample);
	if (has_chain)
		tl_text_puts(&script, "\n");
	tl_script_frame(&script, compat, has_chain, &frame);
	tl_text_puts(&script, has_chain ? "\n\n" : "\n");
	for (line = script.data; (next = strchr(line, '\n')); line = next + 1)
		tl_folded_read_line(&reader, line, (size_t)(next - line), NULL);
	head = tl_compat_head(&rules, NULL, &sample, &root, &uses_period);
	if (head == TL_HEAD_STACK && tl_compat_frame(&frames, &rules, &sample, &frame, false)) {
		tl_text_printf(&got, "%s;%s %d\n", root.data, frames.data, uses_period ? 250 : 1);
	}
	if (head != TL_HEAD_PER_SAMPLE)
		assert_string_equal(got.data ? got.data : "", expected.data ? expected.data : "");
	tl_folded_reader_release(&reader);
	tl_text_release(&script);
	tl_text_release(&frames);
	tl_text_release(&root);
	tl_text_release(&expected);
	tl_text_release(&got);
}

static void heads_are_the_same_with_and_without_text(void **state)
{
	static const char *const names[] = { "plain",	"worker 7", "GC Thread#0", "#hash",
					     "  lead",	"trail  ",  "a b  c",	   "12345",
					     "x/1",	"tab\tx",   "\xff",	   "",
					     "99.5:",	"x",	    "1:2",	   "12 34",
					     "e: 5 f:", "p: 12",    "a\nb",	   "-1 x",
					     "a 1/2 b", "a 7 c:d",  "nb\xc2\xa0sp" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_head_equals_text(TL_COMPAT_PERL, names[i], true);
		assert_head_equals_text(TL_COMPAT_PERL, names[i], false);
		assert_head_equals_text(TL_COMPAT_PERL_TRACE, names[i], true);
		assert_head_equals_text(TL_COMPAT_INFERNO, names[i], true);
		assert_head_equals_text(TL_COMPAT_INFERNO, names[i], false);
	}
}

static void only_odd_names_need_each_sample(void **state)
{
	struct tl_folded_rules rules = { .compat = TL_COMPAT_PERL };
	struct tl_folded_sample sample = { .comm = "x",
					   .comm_length = 1,
					   .pid = 12345,
					   .tid = 12345,
					   .event = "cycles",
					   .has_callchain = true };
	struct tl_text root = { 0 };
	bool uses_period;

	(void)state;
	assert_int_equal(tl_compat_head(&rules, NULL, &sample, &root, &uses_period),
			 TL_HEAD_PER_SAMPLE);
	sample.comm = "xy";
	sample.comm_length = 2;
	assert_int_equal(tl_compat_head(&rules, NULL, &sample, &root, &uses_period), TL_HEAD_STACK);
	assert_true(uses_period);
	assert_int_equal(tl_compat_head(&rules, "instructions", &sample, &root, &uses_period),
			 TL_HEAD_FILTERED);
	tl_text_release(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_frames_keep_every_part_of_a_name),
		cmocka_unit_test(native_frames_without_a_name_are_called_by_their_binary),
		cmocka_unit_test(native_frames_are_annotated_by_their_binary),
		cmocka_unit_test(native_frames_hold_nothing_that_a_reader_could_misread),
		cmocka_unit_test(native_roots_are_one_word_each),
		cmocka_unit_test(native_roots_can_carry_ids),
		cmocka_unit_test(a_line_that_ends_like_a_count_is_guarded),
		cmocka_unit_test(the_perl_drops_frames_that_begin_with_a_parenthesis),
		cmocka_unit_test(the_perl_cuts_at_the_first_parenthesis_but_not_go_methods),
		cmocka_unit_test(the_perl_splits_names_at_arrows),
		cmocka_unit_test(the_perl_deletes_quotes_and_inferno_keeps_them),
		cmocka_unit_test(deleted_binaries_break_the_name_in_both),
		cmocka_unit_test(a_name_that_ends_in_a_number_is_cut_by_both),
		cmocka_unit_test(a_one_letter_name_becomes_a_phantom_of_the_perl),
		cmocka_unit_test(the_perl_loses_comments_and_names_that_begin_with_a_blank),
		cmocka_unit_test(the_first_event_becomes_the_filter),
		cmocka_unit_test(tracepoint_fields_pass_the_filter_of_the_perl_with_weight_one),
		cmocka_unit_test(samples_without_call_chains_are_lost_by_the_perl_only),
		cmocka_unit_test(the_last_stack_needs_an_empty_line_only_for_the_perl),
		cmocka_unit_test(
			an_empty_stack_is_a_bare_name_for_the_perl_and_nothing_for_inferno),
		cmocka_unit_test(java_names_lose_their_signature),
		cmocka_unit_test(inferno_repairs_old_rust_names),
		cmocka_unit_test(annotations_follow_the_module),
		cmocka_unit_test(the_idle_task_has_no_process_id_for_the_perl),
		cmocka_unit_test(heads_are_the_same_with_and_without_text),
		cmocka_unit_test(only_odd_names_need_each_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
