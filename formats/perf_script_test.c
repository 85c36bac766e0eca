/*
 * perf_script_test.c - whole texts: golden ones folded against an independent folder, what each kind
 * of line becomes, and damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats.h"
#include "perf_script.h"
#include "reader.h"

#define GOLDEN "testdata/perf_script/"

/* ---- running the importer -------------------------------------------------------------------- */

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

static int import_bytes(const char *text, size_t len, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_input *in;
	struct tl_import_result result;
	char *copy = malloc(len ? len : 1); /* exact, for the sanitizer */

	memcpy(copy, text, len);
	assert_int_equal(tl_input_open_memory(&in, "text", (uint8_t *)copy, len, err), TL_OK);
	int ret = tl_import(&perf_script_importer, in, NULL, sink, &result, err);
	tl_input_close(in);
	free(copy);
	return ret;
}

/* The events of a text, printed one a line. The caller frees. */
static char *events_of(const char *text, size_t len)
{
	struct printer p = { .sink.emit = print_event };
	struct tl_error err = { 0 };
	char *out = NULL;
	size_t size;

	p.out = open_memstream(&out, &size);
	assert_int_equal(import_bytes(text, len, &p.sink, &err), TL_OK);
	fclose(p.out);
	return out;
}

static void check_events(const char *text, const char *want)
{
	char *got = events_of(text, strlen(text));

	assert_string_equal(got, want);
	free(got);
}

static void check_has(const char *text, const char *want)
{
	char *got = events_of(text, strlen(text));

	if (strstr(got, want) == NULL)
		fail_msg("no \"%s\" in:\n%s", want, got);
	free(got);
}

static void check_has_not(const char *text, const char *unwanted)
{
	char *got = events_of(text, strlen(text));

	if (strstr(got, unwanted) != NULL)
		fail_msg("\"%s\" in:\n%s", unwanted, got);
	free(got);
}

/* ---- folding, by the rules of the independent folder ------------------------------------------ */

struct folder {
	struct tl_sink sink;
	struct tl_interner stacks;
	uint64_t *weights;
	size_t capacity;
};

static void add_frame_name(struct tl_text *out, const struct tl_frame_text *t)
{
	const char *name = t->symbol, *base;

	tl_text_add(out, ";", 1);
	if (name == NULL && t->dso) {
		base = strrchr(t->dso, '/');
		tl_text_add(out, "[", 1);
		tl_text_puts(out, base ? base + 1 : t->dso);
		tl_text_add(out, "]", 1);
		return;
	}
	for (name = name ? name : "[unknown]"; *name; name++)
		tl_text_add(out, *name == ';' ? ":" : name, 1);
}

static int fold_event(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct folder *f = (struct folder *)sink;
	const struct tl_event_sample *s = &ev->sample;
	struct tl_text line = { 0 };
	uint32_t id;

	if (ev->kind != TL_EVENT_SAMPLE || s->type_index != 0)
		return TL_OK;
	for (const char *c = s->comm; *c; c++)
		tl_text_add(&line, *c == ';' ? ":" : strchr(" \t\n\v\f\r", *c) ? "_" : c, 1);
	for (size_t i = s->frame_count; i-- > 0;)
		add_frame_name(&line, &s->texts[i]);
	size_t before = f->stacks.count;
	assert_int_equal(tl_intern(&f->stacks, line.data ? line.data : "", line.length, &id, err),
			 TL_OK);
	assert_int_equal(tl_grow(&f->weights, &f->capacity, f->stacks.count, err), TL_OK);
	f->weights[id] = s->period + (f->stacks.count > before ? 0 : f->weights[id]);
	tl_text_release(&line);
	return TL_OK;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The folded stacks of the first event of a file, sorted. The caller frees. */
static char *folded_file(const char *path)
{
	struct folder f = { .sink.emit = fold_event };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;
	struct tl_text out = { 0 };

	assert_int_equal(tl_input_open(&in, path, &err), TL_OK);
	int ret = tl_import(&perf_script_importer, in, NULL, &f.sink, &result, &err);
	if (ret < 0)
		fail_msg("%s: %s", path, err.text);
	tl_input_close(in);
	char **lines = calloc(f.stacks.count + 1, sizeof(*lines));
	for (size_t i = 0; i < f.stacks.count; i++) {
		size_t size = f.stacks.strings[i].length + 32;

		lines[i] = malloc(size);
		snprintf(lines[i], size, "%s %llu\n", f.stacks.strings[i].text,
			 (unsigned long long)f.weights[i]);
	}
	qsort(lines, f.stacks.count, sizeof(*lines), compare_lines);
	tl_text_puts(&out, "");
	for (size_t i = 0; i < f.stacks.count; i++) {
		tl_text_puts(&out, lines[i]);
		free(lines[i]);
	}
	free(lines);
	tl_interner_release(&f.stacks);
	free(f.weights);
	return out.data;
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct tl_text text = { 0 };
	char buf[4096];
	size_t n;

	assert_non_null(f);
	tl_text_puts(&text, "");
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		tl_text_add(&text, buf, n);
	fclose(f);
	return text.data;
}

static void odd_names_fold_as_an_independent_folder_folds_them(void **state)
{
	char *got = folded_file(GOLDEN "corner/input.txt");
	char *want = read_file(GOLDEN "corner/folded.txt");

	(void)state;
	assert_string_equal(got, want);
	free(got);
	free(want);
}

static int probe(const char *text)
{
	return perf_script_importer.probe((const uint8_t *)text, strlen(text));
}

/* ---- whole texts ------------------------------------------------------------------------------- */

#define LOAD  "load 22933   157.167718:    1001001 cpu-clock: \n"
#define FRAME "\tffffffff815f0b8b ksys_mmap_pgoff+0x2b ([kernel.kallsyms])\n"
#define TYPE                                                                            \
	"type index=0 name=\"cpu-clock\" type=0 config=0 period=0 freq=0 unit=\"ns\"\n" \
	"comm ts=157167718000 task=?/22933 name=\"load\"\n"
#define SAMPLE                                                                       \
	"sample ts=157167718000 type=0 task=?/22933 comm=\"load\" period=1001001 "   \
	"ip=ffffffff815f0b8b chain=1 k:ffffffff815f0b8b symbol=\"ksys_mmap_pgoff\" " \
	"dso=\"[kernel.kallsyms]\"\n"

static void a_sample_becomes_type_comm_and_sample(void **state)
{
	(void)state;
	check_events(LOAD FRAME "\n", "sideband-end\n" TYPE SAMPLE);
}

static void a_stack_may_end_without_a_blank_line(void **state)
{
	(void)state;
	check_events(LOAD FRAME, "sideband-end\n" TYPE SAMPLE);
	check_events(LOAD FRAME LOAD FRAME, "sideband-end\n" TYPE SAMPLE SAMPLE);
	check_events("load 22933   157.167718:    1001001 cpu-clock: \n"
		     "\tffffffff815f0b8b ksys_mmap_pgoff+0x2b ([kernel.kallsyms])",
		     "sideband-end\n" TYPE SAMPLE);
}

static void lines_may_end_as_on_windows(void **state)
{
	(void)state;
	check_events("load 22933   157.167718:    1001001 cpu-clock: \r\n"
		     "\tffffffff815f0b8b ksys_mmap_pgoff+0x2b ([kernel.kallsyms])\r\n\r\n",
		     "sideband-end\n" TYPE SAMPLE);
}

static void a_sample_without_call_chain_has_its_address_on_the_line(void **state)
{
	(void)state;
	check_has("        worker 2 22929   154.074687:    2000000 cpu-clock:u:      5637eb294a86 "
		  "(anonymous namespace)::leaf+0x26 (/tmp/rec/load)\n",
		  "sample ts=154074687000 type=0 task=?/22929 comm=\"worker 2\" period=2000000 "
		  "ip=5637eb294a86 u:5637eb294a86 symbol=\"(anonymous namespace)::leaf\" "
		  "dso=\"/tmp/rec/load\"\n");
}

static void frames_that_lost_their_tab_are_frames(void **state)
{
	(void)state;
	check_events(LOAD "ffffffff815f0b8b ksys_mmap_pgoff+0x2b ([kernel.kallsyms])\n\n",
		     "sideband-end\n" TYPE SAMPLE);
	check_events(LOAD "    ffffffff815f0b8b ksys_mmap_pgoff+0x2b ([kernel.kallsyms])\n\n",
		     "sideband-end\n" TYPE SAMPLE);
	assert_true(probe("java 19983 cycles:\nffffffff8103d0ca a ([kernel.kallsyms])\n") >= 70);
	assert_true(probe("node 31912 cpu-clock: \n            13a8 RegExp:[&<>] (/a.map)\n") >=
		    70);
}

static void an_inlined_frame_is_in_the_binary_of_the_next_outer_one(void **state)
{
	(void)state;
	check_has(LOAD "\t            40f0 std::map<a, b>::operator[]+0x2f0 (inlined)\n"
		       "\t            40f0 mapwork+0x2f0 (/tmp/rec/load)\n\n",
		  "chain=2 u:40f0 symbol=\"std::map<a, b>::operator[]\" dso=\"/tmp/rec/load\" "
		  "inlined u:40f0 symbol=\"mapwork\" dso=\"/tmp/rec/load\"\n");
}

static void source_lines_belong_to_the_frame_above(void **state)
{
	(void)state;
	check_has(LOAD "\t            40f0 std::map<a, b>::operator[]+0x2f0\n"
		       "  stl_map.h:530 (inlined)\n"
		       "\t            40f0 mapwork+0x2f0 (/tmp/rec/load)\n"
		       "  load.cpp:34\n"
		       "\t           27249 main+0x79 (/usr/lib/libc.so.6)\n"
		       "  libc.so.6[27249]\n\n",
		  "chain=3 u:40f0 symbol=\"std::map<a, b>::operator[]\" dso=\"/tmp/rec/load\" "
		  "line=\"stl_map.h:530\" inlined u:40f0 symbol=\"mapwork\" dso=\"/tmp/rec/load\" "
		  "line=\"load.cpp:34\" u:27249 symbol=\"main\" dso=\"/usr/lib/libc.so.6\"\n");
}

static void a_thread_is_named_again_only_when_its_name_changes(void **state)
{
	const char *text = "a 22933   1.000001: cycles: \n\n"
			   "a 22933   1.000002: cycles: \n\n"
			   "b 22933   1.000003: cycles: \n\n";

	(void)state;
	check_events(
		text,
		"sideband-end\n"
		"type index=0 name=\"cycles\" type=0 config=0 period=0 freq=0 unit=\"samples\"\n"
		"comm ts=1000001000 task=?/22933 name=\"a\"\n"
		"sample ts=1000001000 type=0 task=?/22933 comm=\"a\" period=1\n"
		"sample ts=1000002000 type=0 task=?/22933 comm=\"a\" period=1\n"
		"comm ts=1000003000 task=?/22933 name=\"b\"\n"
		"sample ts=1000003000 type=0 task=?/22933 comm=\"b\" period=1\n");
}

#define SWITCH_LINE                                                                            \
	":-1    -1/-1    [001]   10.000001: sched:sched_switch: prev_comm=a b prev_pid=22933 " \
	"prev_prio=120 prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120\n"

static void switch_text_becomes_a_switch_and_a_payload(void **state)
{
	(void)state;
	check_has(SWITCH_LINE,
		  "sample ts=10000001000 type=0 task=-1/-1 real_tid=22933 comm=\":-1\" cpu=1 "
		  "period=1 payload=0:{\"text\":\"prev_comm=a b prev_pid=22933 prev_prio=120 "
		  "prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120\",\"prev_comm\":"
		  "\"a b\",\"prev_pid\":22933,\"prev_prio\":120,\"prev_state_name\":\"X\","
		  "\"next_comm\":\"swapper/1\",\"next_pid\":0,\"next_prio\":120}\n"
		  "switch ts=10000001000 cpu=1 prev=?/22933 state=exiting next=?/0\n");
}

static void the_plugins_switch_text_says_the_same(void **state)
{
	(void)state;
	check_has("a 22933 [001]   10.000001: sched:sched_switch: a b:22933 [120] R+ ==> "
		  "swapper/1:0 [120]\n",
		  "switch ts=10000001000 cpu=1 prev=?/22933 state=runnable next=?/0\n");
	check_has("a 22933 [001]   10.000001: sched:sched_wakeup: x:y:77 [120] success=1 CPU:003\n",
		  "wakeup ts=10000001000 cpu=1 waker=?/22933 wakee=77 target_cpu=3\n");
}

static void wakeup_text_becomes_a_wakeup(void **state)
{
	(void)state;
	check_has("a 22933/22934 [001]   10.000001: sched:sched_waking: comm=x pid=77 prio=1 "
		  "target_cpu=002\n",
		  "\"comm\":\"x\",\"pid\":77,\"prio\":1,\"target_cpu\":2}\n"
		  "wakeup ts=10000001000 cpu=1 waker=22933/22934 wakee=77 target_cpu=2\n");
}

static void equal_texts_share_a_payload(void **state)
{
	(void)state;
	check_has(SWITCH_LINE SWITCH_LINE, "period=1 payload=0\nswitch");
}

static void pairs_are_taken_only_where_they_are_plain(void **state)
{
	(void)state;
	check_has("a 22933   1.000001: huge_memory:mm_khugepaged_scan_pmd: mm=0x10, "
		  "referenced=1, status=succeeded, note=two words unmapped=0 mode=0644\n",
		  "\",\"mm\":16,\"referenced\":1,\"status_name\":\"succeeded\",\"unmapped\":0,"
		  "\"mode\":\"0644\"}\n");
	check_has("a 22933   1.000001: x:y: text=1 a=1 a=2 1b=3 c-d=4\n",
		  "{\"text\":\"text=1 a=1 a=2 1b=3 c-d=4\",\"a\":1}\n");
}

static void header_lines_become_facts_and_the_clock(void **state)
{
	(void)state;
	check_events(
		"# ========\n"
		"# captured on    : Mon Nov 30 13:18:54 2026\n"
		"# hostname : vm\n"
		"# total memory : 24684092 kB\n"
		"# cmdline : /usr/bin/perf record -g ./load: x \n"
		"# event : name = cpu-clock/freq=5000/, , id = { 12, 13 }, type = 1, size = 128, "
		"{ sample_period, sample_freq } = 5000, sample_type = IP|TID, freq = 1\n"
		"# time of first sample : 88.777704\n"
		"# reference time: 2026-11-30 13:17:54.115486 = 1796044674.115486 (TOD) = "
		"88.716916586 (monotonic)\n"
		"# ========\n#\n"
		"a 22933   88.777704:     200000 cpu-clock/freq=5000/: \n",
		"meta key=\"captured_on\" value=\"Mon Nov 30 13:18:54 2026\"\n"
		"meta key=\"hostname\" value=\"vm\"\n"
		"meta key=\"memory_kib\" value=\"24684092\"\n"
		"meta key=\"cmdline\" value=\"/usr/bin/perf record -g ./load: x\"\n"
		"meta key=\"first_ts\" value=\"88777704000\"\n"
		"clock name=\"monotonic\" method=exact offset=1796044585398569414 residual=1000 "
		"why=\"reference time of the header\"\n"
		"sideband-end\n"
		"type index=0 name=\"cpu-clock/freq=5000/\" type=1 config=0 period=0 freq=5000 "
		"unit=\"ns\"\n"
		"comm ts=88777704000 task=?/22933 name=\"a\"\n"
		"sample ts=88777704000 type=0 task=?/22933 comm=\"a\" period=200000\n");
}

/* The last that is said of the clock counts. */
static void check_last_clock(const char *text, const char *want)
{
	char *got = events_of(text, strlen(text)), *last = got;

	for (char *at = got; (at = strstr(at, "clock name=")) != NULL; at++)
		last = at;
	last[strcspn(last, "\n")] = '\0';
	if (strstr(last, want) == NULL)
		fail_msg("no \"%s\" in: %s", want, last);
	free(got);
}

static void a_clock_that_nobody_steers_is_less_sure_the_longer_it_ran(void **state)
{
	static const char header[] = "# reference time: 2026-11-30 13:17:54.115486 = "
				     "1796044674.000000 (TOD) = 88.000000000 (monotonic_raw)\n";
	char text[400];

	(void)state;
	/* 12 s later at 100 ppm: 1.2 ms, and the 1 us of the print */
	snprintf(text, sizeof(text), "%sa 7    88.000000: 1 x: \na 7   100.000000: 1 x: \n",
		 header);
	check_last_clock(text, "residual=1201000 ");
	snprintf(text, sizeof(text), "%sa 7    80.000000: 1 x: \n", header);
	check_last_clock(text, "residual=1000 ");
}

static void record_lines_become_events(void **state)
{
	(void)state;
	check_events(
		"swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1209988) "
		"@ "
		"0xffffffff81000000]: x [kernel.kallsyms]_text\n"
		"load 22953   1.000001: PERF_RECORD_COMM exec: a:b:22953/22954\n"
		"load 22953   1.000002: PERF_RECORD_MMAP2 22953/22953: [0x558cfaf92000(0x4000) @ "
		"0x2000 fe:00 9978003 1609456438]: r-xp /tmp/my prog (deleted)\n"
		"load 22953   1.000003: PERF_RECORD_MMAP2 22953/22953: [0x1000(0x1000) @ 0 "
		"<00ff10>]: r--p /tmp/a\n"
		"load 22953   1.000004: PERF_RECORD_FORK(22953:22955):(22953:22953)\n"
		"load 22953   1.000005: PERF_RECORD_EXIT(22953:22955):(22953:22953)\n"
		"load 22953   1.000006: PERF_RECORD_SWITCH OUT preempt\n"
		"load 22953 [001]   1.000007: PERF_RECORD_SWITCH_CPU_WIDE IN           prev "
		"pid/tid: "
		"   12/13   \n"
		"load 22953   1.000008: PERF_RECORD_LOST lost 7\n",
		"sideband-end\n"
		"mmap task=-1/0 start=ffffffff81000000 length=1209988 offset=ffffffff81000000 exec "
		"kernel path=\"[kernel.kallsyms]_text\"\n"
		"comm ts=1000001000 task=22953/22954 name=\"a:b\" exec\n"
		"mmap ts=1000002000 task=22953/22953 start=558cfaf92000 length=4000 offset=2000 "
		"exec "
		"path=\"/tmp/my prog (deleted)\" inode=9978003\n"
		"mmap ts=1000003000 task=22953/22953 start=1000 length=1000 offset=0 "
		"path=\"/tmp/a\" "
		"build_id=00ff10\n"
		"fork ts=1000004000 child=22953/22955 parent=22953/22953\n"
		"exit ts=1000005000 task=22953/22955\n"
		"switch ts=1000006000 prev=?/22953 state=runnable\n"
		"switch ts=1000007000 cpu=1 prev=12/13 state=unknown next=?/22953\n"
		"gap ts=1000008000 kind=0 cpu=-1 type=-1 count=7\n"
		"diagnostic lost count=7 what=\"records lost while recording\" unit=\"records\"\n");
}

/* ---- damage ------------------------------------------------------------------------------------ */

static void noise_is_counted_by_kind_with_its_first_line(void **state)
{
	const char *text = "$ perf script\nhello\n" LOAD FRAME "\n" FRAME
			   "load 22933   157.167719: PERF_RECORD_AUX x\n";

	(void)state;
	check_has(text, SAMPLE);
	check_has(text, "diagnostic damaged count=2 what=\"line that is no sample, frame or "
			"record\" unit=\"lines\" line=1\n");
	check_has(text, "diagnostic damaged count=1 what=\"frame without a sample\" "
			"unit=\"lines\" line=6\n");
	check_has(text, "diagnostic unsupported count=1 what=\"PERF_RECORD line of another kind\" "
			"unit=\"lines\" line=7\n");
}

static void a_sample_cut_in_its_stack_is_left_out(void **state)
{
	const char *cut = LOAD FRAME "\n"
				     "load 22933   157.167719:    1001001 cpu-clock: \n" FRAME
				     "\tffffffff821ed511 do_sys";

	(void)state;
	check_has(cut, SAMPLE "diagnostic truncated count=1 what=\"last sample, cut in the "
			      "middle\" unit=\"samples\" line=6\n");
	check_has_not(cut, "157167719");
	check_has_not(LOAD FRAME "\nload 22933   157.167719:    1001001 cpu-clock:", "157167719");
	check_has(LOAD FRAME "\nload 22933   157.16", "what=\"last line, cut in the middle\"");
}

static void a_text_cut_anywhere_gives_no_wrong_stack(void **state)
{
	const char *text = LOAD "\tffffffff815f0b8b in (a)\n\tffffffff815f0b8c out (b)\n\n";

	(void)state;
	for (size_t len = 0; len < strlen(LOAD); len++) {
		struct printer p = { .sink.emit = print_event };
		struct tl_error err = { 0 };
		char *out;
		size_t size;

		p.out = open_memstream(&out, &size);
		import_bytes(text, len, &p.sink, &err);
		fclose(p.out);
		assert_null(strstr(out, "chain="));
		free(out);
	}
}

static void what_is_no_perf_script_text_is_refused_with_its_first_line(void **state)
{
	struct printer p = { .sink.emit = print_event };
	struct tl_error err = { 0 };
	char *out;
	size_t size;

	(void)state;
	p.out = open_memstream(&out, &size);
	assert_int_equal(import_bytes("\n\x1b[31mmain;foo 12\nbar 3\n", 23, &p.sink, &err),
			 TL_FORMAT);
	assert_string_equal(err.text, "\"?[31mmain;foo 12\" is no perf script text: expected "
				      "\"comm pid time: event:\"");
	assert_int_equal(err.position, 2);
	tl_error_clear(&err);
	assert_int_equal(import_bytes("", 0, &p.sink, &err), TL_FORMAT);
	fclose(p.out);
	free(out);
}

static void a_long_foreign_text_is_refused_early(void **state)
{
	struct printer p = { .sink.emit = print_event };
	struct tl_error err = { 0 };
	struct tl_text text = { 0 };
	char *out;
	size_t size;

	(void)state;
	for (int i = 0; i < 1000; i++)
		tl_text_puts(&text, "main;foo 12\n");
	tl_text_puts(&text, LOAD FRAME "\n");
	p.out = open_memstream(&out, &size);
	assert_int_equal(import_bytes(text.data, text.length, &p.sink, &err), TL_FORMAT);
	fclose(p.out);
	free(out);
	tl_text_release(&text);
}

/* Found by the fuzzer: a path of NULs, twice. */
static void holes_in_a_text_are_shown(void **state)
{
	static const char text[] = LOAD "\t            40f0 a\0b (/tmp\0\0)\n"
					"\t            40f0 c (/tmp\0\0)\n\n";
	char *got = events_of(text, sizeof(text) - 1);

	(void)state;
	assert_non_null(strstr(got, "symbol=\"a?b\" dso=\"/tmp??\" u:40f0 symbol=\"c\" "
				    "dso=\"/tmp??\"\n"));
	free(got);
}

static void endless_stacks_are_bounded(void **state)
{
	struct printer p = { .sink.emit = print_event };
	struct tl_error err = { 0 };
	struct tl_text text = { 0 };
	char *out;
	size_t size;

	(void)state;
	tl_text_puts(&text, LOAD);
	for (int i = 0; i < 20000; i++)
		tl_text_puts(&text, FRAME);
	p.out = open_memstream(&out, &size);
	assert_int_equal(import_bytes(text.data, text.length, &p.sink, &err), TL_OK);
	fclose(p.out);
	assert_non_null(strstr(out, " chain=16384 "));
	assert_non_null(strstr(out, "damaged count=3616 what=\"frame beyond"));
	free(out);
	tl_text_release(&text);
}

/* ---- probe --------------------------------------------------------------------------------------- */

static void the_probe_knows_its_own_and_leaves_the_others(void **state)
{
	(void)state;
	assert_true(probe("$ perf script | head\n" LOAD FRAME "\n") >= 90);
	assert_true(probe("# ========\n# captured on    : Mon Nov 30 13:18:54 2026\n") >= 90);
	assert_true(probe(SWITCH_LINE SWITCH_LINE) >= 80);
	assert_true(probe("load 22953   1.000004: PERF_RECORD_FORK(1:2):(1:1)\n") > 0);
	assert_int_equal(probe("1234  10:11:12.123456 read(3, \"\", 10) = 0 <0.000010>\n"
			       "1234  1700000000.123456 +++ exited with 0 +++\n"),
			 0);
	assert_int_equal(probe("main;foo;bar 12\nmain;foo 3\n"), 0);
	assert_int_equal(probe("{\"traceEvents\": [\n{\"ts\": 1.123456, \"name\": \"a:\"}\n]}\n"),
			 0);
	assert_int_equal(probe("            bash-1977  [000] 17284.993652: sys_close: fd: 3\n"
			       "          <idle>-0     [001] 17284.993653: sched_switch: x\n"),
			 0);
	assert_int_equal(probe(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odd_names_fold_as_an_independent_folder_folds_them),
		cmocka_unit_test(a_sample_becomes_type_comm_and_sample),
		cmocka_unit_test(a_stack_may_end_without_a_blank_line),
		cmocka_unit_test(lines_may_end_as_on_windows),
		cmocka_unit_test(a_sample_without_call_chain_has_its_address_on_the_line),
		cmocka_unit_test(frames_that_lost_their_tab_are_frames),
		cmocka_unit_test(an_inlined_frame_is_in_the_binary_of_the_next_outer_one),
		cmocka_unit_test(source_lines_belong_to_the_frame_above),
		cmocka_unit_test(a_thread_is_named_again_only_when_its_name_changes),
		cmocka_unit_test(switch_text_becomes_a_switch_and_a_payload),
		cmocka_unit_test(the_plugins_switch_text_says_the_same),
		cmocka_unit_test(wakeup_text_becomes_a_wakeup),
		cmocka_unit_test(equal_texts_share_a_payload),
		cmocka_unit_test(pairs_are_taken_only_where_they_are_plain),
		cmocka_unit_test(header_lines_become_facts_and_the_clock),
		cmocka_unit_test(a_clock_that_nobody_steers_is_less_sure_the_longer_it_ran),
		cmocka_unit_test(record_lines_become_events),
		cmocka_unit_test(noise_is_counted_by_kind_with_its_first_line),
		cmocka_unit_test(a_sample_cut_in_its_stack_is_left_out),
		cmocka_unit_test(a_text_cut_anywhere_gives_no_wrong_stack),
		cmocka_unit_test(what_is_no_perf_script_text_is_refused_with_its_first_line),
		cmocka_unit_test(a_long_foreign_text_is_refused_early),
		cmocka_unit_test(holes_in_a_text_are_shown),
		cmocka_unit_test(endless_stacks_are_bounded),
		cmocka_unit_test(the_probe_knows_its_own_and_leaves_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
