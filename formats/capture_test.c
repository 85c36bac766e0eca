/*
 * capture_test.c - the files of a recorded folder, written by hand, and what becomes of them.
 */
#include "capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats.h"

struct taken {
	struct tl_sink sink;
	FILE *out;
	char *text; /* the events, a line each */
	size_t length;
	struct tl_import_result result;
	struct tl_error err;
	int ret;
};

static int take(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct taken *t = (struct taken *)sink;

	(void)err;
	tl_event_print(t->out, ev);
	fputc('\n', t->out);
	return TL_OK;
}

static void import_input(struct taken *t, const struct tl_importer *importer, struct tl_input *in)
{
	memset(t, 0, sizeof(*t));
	t->sink.emit = take;
	t->out = open_memstream(&t->text, &t->length);
	assert_non_null(t->out);
	t->ret = tl_import(importer, in, NULL, &t->sink, &t->result, &t->err);
	fclose(t->out);
}

static void import(struct taken *t, const struct tl_importer *importer, const char *text)
{
	struct tl_input *in;

	assert_int_equal(tl_input_open_memory(&in, "t", (const uint8_t *)text, strlen(text), NULL),
			 0);
	import_input(t, importer, in);
	tl_input_close(in);
}

static const struct tl_importer *probe(const char *text)
{
	return tl_importer_probe((const uint8_t *)text, strlen(text));
}

static void release(struct taken *t)
{
	free(t->text);
}

#define HAS(t, line)	 assert_non_null(strstr((t).text, line "\n"))
#define HAS_NOT(t, part) assert_null(strstr((t).text, part))

#define REALTIME                                                                                \
	"clock name=\"realtime\" method=exact offset=0 residual=0 why=\"the wall clock of the " \
	"machine\""

/* ---- clocks ---- */

static void snapshots_become_anchors(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_clocks_importer,
	       "anchor begin monotonic 1700000000000000100 5000 40\n"
	       "anchor begin sched_clock 1700000000000000200 -7 600\n");
	assert_int_equal(t.ret, TL_OK);
	assert_string_equal(t.text, REALTIME
			    "\n"
			    "clock-anchor ts=1700000000000000100 clock=\"monotonic\" value=5000 "
			    "width=40\n"
			    "clock-anchor ts=1700000000000000200 clock=\"sched_clock\" value=-7 "
			    "width=600\n");
	release(&t);
}

static void a_marker_is_kept_with_its_name(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_clocks_importer, "marker end tl~abc 1700000000000000100 6\n");
	HAS(t, "log ts=1700000000000000100 level=\"marker\" text=\"tl~abc\" line=1");
	release(&t);
}

static void an_absent_clock_is_told_with_its_reason(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_clocks_importer,
	       "absent begin sched_clock perf_event_open: Permission denied\n");
	HAS(t, "diagnostic note count=1 what=\"no snapshots of sched_clock\" unit=\"lines\" line=1 "
	       "message=\"perf_event_open: Permission denied\"");
	release(&t);
}

static void a_damaged_anchor_is_counted_and_the_next_one_read(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_clocks_importer,
	       "anchor begin monotonic 17000 5000\n"
	       "anchor begin monotonic 17000 5000 -4\n"
	       "anchor begin monotonic 99999999999999999999 5000 4\n"
	       "anchor begin monotonic 17000 5000 4 x\n"
	       "nonsense\n"
	       "anchor begin monotonic 17000 5000 4\n");
	assert_int_equal(t.result.damaged, 5);
	assert_int_equal(t.result.first_damage.position, 1);
	assert_int_equal(t.result.events[TL_EVENT_CLOCK_ANCHOR], 1);
	release(&t);
}

static void a_last_line_that_was_cut_is_not_believed(void **state)
{
	struct taken t;

	(void)state;
	/* the width was 40 */
	import(&t, &capture_clocks_importer, "anchor begin monotonic 17000 5000 4");
	assert_int_equal(t.result.events[TL_EVENT_CLOCK_ANCHOR], 0);
	HAS(t, "diagnostic truncated count=1 what=\"the last line has no end\" unit=\"lines\" "
	       "line=1");
	release(&t);
}

static void a_wall_clock_that_was_set_is_told(void **state)
{
	struct taken t;

	(void)state;
	/* ten seconds on, but the wall clock only seven */
	import(&t, &capture_clocks_importer,
	       "anchor a monotonic 1700000000000000000 1000000000 40\n"
	       "anchor b monotonic 1700000007000000000 11000000000 40\n");
	assert_non_null(strstr(t.text, "the wall clock was set back by 3.000000 s"));
	release(&t);
}

static void a_wall_clock_that_is_steered_is_not_set(void **state)
{
	struct taken t;

	(void)state;
	/* 400 ppm over 100 s, as NTP may */
	import(&t, &capture_clocks_importer,
	       "anchor a monotonic 1700000000000000000 1000000000 40\n"
	       "anchor b monotonic 1700000100040000000 101000000000 40\n");
	HAS_NOT(t, "was set");
	release(&t);
}

/* ---- system ---- */

static void vmstat_has_levels_and_what_only_grows(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer,
	       "@ 1700000000.25\n"
	       "/proc/vmstat:nr_free_pages 7\n"
	       "/proc/vmstat:thp_fault_alloc 3\n"
	       "/proc/vmstat:nr_written 4\n");
	assert_string_equal(t.text, REALTIME
			    "\n"
			    "track index=0 counter name=\"vmstat\" process=\"system\"\n"
			    "counter ts=1700000000250000000 track=0 value=7 name=\"nr_free_pages\" "
			    "unit=\"pages\"\n"
			    "counter ts=1700000000250000000 track=0 value=3 "
			    "name=\"thp_fault_alloc\" unit=\"events since boot\"\n"
			    "counter ts=1700000000250000000 track=0 value=4 name=\"nr_written\" "
			    "unit=\"pages since boot\"\n");
	release(&t);
}

static void a_value_is_told_when_it_changes_and_just_before(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer,
	       "@ 1700000001\n/proc/vmstat:pgfault 5\n"
	       "@ 1700000002\n/proc/vmstat:pgfault 5\n"
	       "@ 1700000003\n/proc/vmstat:pgfault 5\n"
	       "@ 1700000004\n/proc/vmstat:pgfault 9\n"
	       "@ 1700000005\n/proc/vmstat:pgfault 9\n");
	assert_int_equal(t.result.events[TL_EVENT_COUNTER], 4);
	HAS(t,
	    "counter ts=1700000001000000000 track=0 value=5 name=\"pgfault\" unit=\"events since "
	    "boot\"");
	HAS(t,
	    "counter ts=1700000003000000000 track=0 value=5 name=\"pgfault\" unit=\"events since "
	    "boot\"");
	HAS(t,
	    "counter ts=1700000004000000000 track=0 value=9 name=\"pgfault\" unit=\"events since "
	    "boot\"");
	HAS(t,
	    "counter ts=1700000005000000000 track=0 value=9 name=\"pgfault\" unit=\"events since "
	    "boot\"");
	release(&t);
}

static void meminfo_is_in_bytes_but_for_counts(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer,
	       "@ 1700000001\n"
	       "/proc/meminfo:MemFree:          12 kB\n"
	       "/proc/meminfo:HugePages_Total:   3\n");
	HAS(t,
	    "counter ts=1700000001000000000 track=0 value=12288 name=\"MemFree\" unit=\"bytes\"");
	HAS(t, "counter ts=1700000001000000000 track=0 value=3 name=\"HugePages_Total\" "
	       "unit=\"pages\"");
	release(&t);
}

static void buddyinfo_has_a_track_a_zone_and_a_counter_an_order(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer,
	       "@ 1700000001\n"
	       "/proc/buddyinfo:Node 0, zone      DMA      1      0 \n"
	       "/proc/buddyinfo:Node 1, zone   Normal      2      9 \n");
	HAS(t, "track index=1 counter name=\"buddyinfo node 1 zone Normal\" process=\"system\"");
	HAS(t, "counter ts=1700000001000000000 track=1 value=9 name=\"order 1\" unit=\"blocks\"");
	assert_int_equal(t.result.events[TL_EVENT_COUNTER], 4);
	release(&t);
}

static void pressure_has_averages_and_a_total(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer,
	       "@ 1700000001\n"
	       "/proc/pressure/memory:some avg10=1.50 avg60=0.00 avg300=0.00 total=42\n");
	HAS(t, "track index=0 counter name=\"pressure memory\" process=\"system\"");
	HAS(t, "counter ts=1700000001000000000 track=0 value=1.5 name=\"some avg10\" unit=\"%\"");
	HAS(t,
	    "counter ts=1700000001000000000 track=0 value=42 name=\"some total\" unit=\"us since "
	    "boot\"");
	release(&t);
}

static void a_setting_is_the_word_in_brackets(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer,
	       "@ 1700000001\n"
	       "/sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never\n"
	       "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag:1\n"
	       "/proc/sys/vm/swappiness:60\n");
	HAS(t, "meta key=\"thp.enabled\" value=\"madvise\"");
	HAS(t, "meta key=\"thp.khugepaged.defrag\" value=\"1\"");
	HAS(t, "meta key=\"vm.swappiness\" value=\"60\"");
	assert_int_equal(t.result.events[TL_EVENT_META], 3);
	release(&t);
}

static void a_changed_setting_is_a_line_of_the_log(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer,
	       "@ 1700000001\n/sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never\n"
	       "@ 1700000002\n/sys/kernel/mm/transparent_hugepage/enabled:[always] madvise never\n"
	       "@ 1700000003\n/sys/kernel/mm/transparent_hugepage/enabled:[always] madvise never\n");
	HAS(t, "log ts=1700000002000000000 level=\"setting\" text=\"thp.enabled: always, was "
	       "madvise\" line=4");
	assert_int_equal(t.result.events[TL_EVENT_LOG], 1);
	assert_int_equal(t.result.events[TL_EVENT_META], 1);
	release(&t);
}

static void what_khugepaged_did_is_counted_not_set(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer,
	       "@ 1700000001\n"
	       "/sys/kernel/mm/transparent_hugepage/khugepaged/pages_collapsed:12\n");
	HAS(t, "counter ts=1700000001000000000 track=0 value=12 name=\"pages_collapsed\" "
	       "unit=\"events since boot\"");
	assert_int_equal(t.result.events[TL_EVENT_META], 0);
	release(&t);
}

static void a_loop_of_date_and_vmstat_is_understood(void **state)
{
	static const char text[] = "1700000001.5\nnr_free_pages 7\nthp_fault_alloc 3\n\n"
				   "1700000002.5\nnr_free_pages 8\nthp_fault_alloc 3\n\n";
	struct taken t;

	(void)state;
	assert_ptr_equal(probe(text), &capture_system_importer);
	import(&t, &capture_system_importer, text);
	assert_int_equal(t.result.damaged, 0);
	HAS(t, "counter ts=1700000002500000000 track=0 value=8 name=\"nr_free_pages\" "
	       "unit=\"pages\"");
	release(&t);
}

static void lines_of_no_known_file_are_damage(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer,
	       "@ 1700000001\n"
	       "/etc/passwd:root\n"
	       "/proc/vmstat:pgfault many\n"
	       "/proc/vmstat:pgfault 1 2\n"
	       "/proc/meminfo:MemFree 3\n"
	       "/proc/buddyinfo:Node 0, zone\n"
	       "/proc/buddyinfo:Node 0, zone DMA\n"
	       "/proc/pressure/memory:sum avg10=0\n"
	       "/proc/loadavg:0.1 0.2\n"
	       "/proc/vmstat:inf inf\n");
	assert_int_equal(t.result.damaged, 9);
	release(&t);
}

static void lines_before_the_first_time_are_told(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_system_importer, "/proc/vmstat:pgfault 1\n@ 1700000001\n");
	HAS(t, "diagnostic skipped count=1 what=\"lines before the first time\" unit=\"lines\"");
	release(&t);
}

/* ---- dmesg ---- */

static void a_kernel_log_has_levels_and_times(void **state)
{
	static const char text[] = "<6>[    0.000001] a\n<30>[   12.500000] b: c\n<4>no time\n";
	struct taken t;

	(void)state;
	assert_ptr_equal(probe(text), &capture_dmesg_importer);
	import(&t, &capture_dmesg_importer, text);
	HAS(t, "log ts=1000 level=\"info\" text=\"a\" line=1");
	HAS(t, "log ts=12500000000 level=\"info\" text=\"b: c\" line=2");
	HAS(t, "log level=\"warning\" text=\"no time\" line=3");
	HAS(t,
	    "clock name=\"sched_clock\" method=assumed offset=0 residual=-1 why=\"neither the file "
	    "nor its date says when it was: times are left as they are\"");
	release(&t);
}

static void decoded_levels_are_levels(void **state)
{
	static const char text[] =
		"kern  :info  : [    0.000001] a: b\nuser  :warn  : [    1.5] b\n"
		"kern  :what  : [    2.0] c\n";
	struct taken t;

	(void)state;
	import(&t, &capture_dmesg_importer, text);
	HAS(t, "log ts=1000 level=\"info\" text=\"a: b\" line=1");
	HAS(t, "log ts=1500000000 level=\"warning\" text=\"b\" line=2");
	assert_int_equal(t.result.damaged, 1);
	release(&t);
}

/* As kernels print where memory went, and dmesg indents it. */
static void lines_of_one_message_have_its_time(void **state)
{
	static const char text[] = "  before all\n"
				   "<6>[    1.000000] active:63\n"
				   "                  unevictable:5\n"
				   "\t  dirty:17\n"
				   "what is not indented\n";
	struct taken t;

	(void)state;
	assert_ptr_equal(probe("<6>[    1.000000] a\n    b\n"), &capture_dmesg_importer);
	import(&t, &capture_dmesg_importer, text);
	HAS(t, "log ts=1000000000 level=\"info\" text=\"unevictable:5\" line=3");
	HAS(t, "log ts=1000000000 level=\"info\" text=\"dirty:17\" line=4");
	/* the first and the last line */
	assert_int_equal(t.result.damaged, 2);
	release(&t);
}

static void times_of_a_kernel_log_are_whole_microseconds(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_dmesg_importer, "<6>[    0.000001] a\n");
	HAS(t, "meta key=\"clock.resolution_ns\" value=\"1000\"");
	release(&t);
}

static void plain_dmesg_has_no_levels(void **state)
{
	static const char text[] = "[    0.5] a\n[    1.5] b\n";
	struct taken t;

	(void)state;
	assert_ptr_equal(probe(text), &capture_dmesg_importer);
	import(&t, &capture_dmesg_importer, text);
	HAS(t, "log ts=500000000 text=\"a\" line=1");
	release(&t);
}

/* ---- the manifest ---- */

static void the_manifest_tells_of_the_machine_and_what_is_missing(void **state)
{
	static const char text[] =
		"{\n\t\"traceloom_capture\": 1, \"state\": \"complete\", \"command\": \"./job\",\n"
		"\"host\": {\"hostname\": \"node7\", \"boot_id\": \"b-1\"},\n"
		"\"settings_changed\": [\"/proc/sys/vm/swappiness=1\"],\n"
		"\"missing\": [{\"what\": \"perf\", \"why\": \"not there\"}]}";
	struct taken t;

	(void)state;
	assert_ptr_equal(probe(text), &capture_manifest_importer);
	import(&t, &capture_manifest_importer, text);
	assert_int_equal(t.ret, TL_OK);
	assert_string_equal(t.text, REALTIME
			    "\n"
			    "meta key=\"hostname\" value=\"node7\"\n"
			    "meta key=\"boot_id\" value=\"b-1\"\n"
			    "meta key=\"cmdline\" value=\"./job\"\n"
			    "meta key=\"capture.state\" value=\"complete\"\n"
			    "meta key=\"capture.set\" value=\"/proc/sys/vm/swappiness=1\"\n"
			    "diagnostic note count=1 what=\"not recorded: perf\" "
			    "unit=\"items\" message=\"not recorded: perf: not there\"\n");
	release(&t);
}

static void a_capture_that_was_killed_is_told(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_manifest_importer,
	       "{\"traceloom_capture\": 1, \"state\": \"recording\"}");
	assert_non_null(strstr(t.text, "diagnostic truncated"));
	release(&t);
}

static void manifests_of_other_versions_are_refused(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_manifest_importer, "{\"traceloom_capture\": 2}");
	assert_int_equal(t.ret, TL_UNSUPPORTED);
	assert_string_equal(t.err.text, "is a manifest of version 2; this program knows 1");
	release(&t);
	import(&t, &capture_manifest_importer, "{\"traceloom_capture\": \"1\"}");
	assert_int_equal(t.ret, TL_FORMAT);
	release(&t);
}

static void a_manifest_that_is_no_json_is_refused_with_the_line(void **state)
{
	struct taken t;

	(void)state;
	import(&t, &capture_manifest_importer, "{\"traceloom_capture\": 1,\n\n x}");
	assert_int_equal(t.ret, TL_FORMAT);
	assert_int_equal(t.err.position, 3);
	release(&t);
}

static void paths_that_lead_out_of_the_folder_are_not_followed(void **state)
{
	static const char *const paths[] = { "/etc/passwd", "../x", "a/../../x", "..",
					     "a/..",	    "./..", "x/../y" };
	struct tl_capture capture;
	struct tl_input *in;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"traceloom_capture\": 1, \"files\": [{\"role\": \"perf\", \"path\": "
			 "\"%s\"}]}",
			 paths[i]);
		assert_int_equal(
			tl_input_open_memory(&in, "m", (const uint8_t *)text, strlen(text), NULL),
			TL_OK);
		assert_int_equal(tl_capture_load(in, &capture, NULL), TL_OK);
		assert_int_equal(capture.file_count, 0);
		tl_capture_release(&capture);
		tl_input_close(in);
	}
}

static void the_manifest_lists_its_files(void **state)
{
	static const char text[] =
		"{\"traceloom_capture\": 1, \"host\": {\"hostname\": \"h\", \"arch\": 7}, "
		"\"timezone\": \"+0530\", \"files\": ["
		"{\"role\": \"perf\", \"path\": \"perf.data\"},"
		"{\"role\": \"message\", \"path\": \"perf.err\"}, 3, {\"role\": \"perf\"}]}";
	struct tl_capture capture;
	struct tl_input *in;

	(void)state;
	assert_int_equal(tl_input_open_memory(&in, "m", (const uint8_t *)text, strlen(text), NULL),
			 TL_OK);
	assert_int_equal(tl_capture_load(in, &capture, NULL), TL_OK);
	assert_string_equal(capture.hostname, "h");
	assert_null(capture.arch);
	assert_string_equal(capture.timezone, "+0530");
	assert_int_equal(capture.file_count, 2);
	assert_string_equal(capture.files[0].path, "perf.data");
	assert_true(capture.files[0].is_recording);
	assert_false(capture.files[1].is_recording);
	tl_capture_release(&capture);
	tl_input_close(in);
}

/* ---- processes ---- */

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void remove_file(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
}

static void what_proc_said_of_a_process_is_kept(void **state)
{
	char folder[] = "/tmp/traceloom-test.XXXXXX", path[256];
	struct tl_input *in;
	struct taken t;

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_file(folder, "42.status.begin",
		   "Name:\tjob\nUmask:\t0022\nNSpid:\t42\t7\nVmRSS:\t     123 kB\nThreads:\t5\n");
	write_file(folder, "42.numa_maps.end",
		   "55d0 default file=/bin/x mapped=3 N0=2 N1=1 kernelpagesize_kB=4\n"
		   "7f00 default anon=5 N1=5\n");
	write_file(folder, "manifest.json",
		   "{\"traceloom_capture\": 1, \"state\": \"complete\", \"files\": ["
		   "{\"role\": \"process-status\", \"path\": \"42.status.begin\"},"
		   "{\"role\": \"process-status\", \"path\": \"42.status.end\"},"
		   "{\"role\": \"process-numa_maps\", \"path\": \"42.numa_maps.end\"}]}");
	snprintf(path, sizeof(path), "%s/manifest.json", folder);
	assert_int_equal(tl_input_open(&in, path, NULL), TL_OK);
	import_input(&t, &capture_manifest_importer, in);
	tl_input_close(in);
	assert_string_equal(t.text, REALTIME
			    "\n"
			    "meta key=\"capture.state\" value=\"complete\"\n"
			    "comm task=42/42 name=\"job\"\n"
			    "meta key=\"process.42.begin.Name\" value=\"job\"\n"
			    "namespace task=42/42 inner_pid=7 pid_namespace=0\n"
			    "meta key=\"process.42.begin.VmRSS\" value=\"123 kB\"\n"
			    "meta key=\"process.42.begin.Threads\" value=\"5\"\n"
			    "diagnostic note count=1 what=\"a file of the manifest is not there\" "
			    "unit=\"items\"\n"
			    "meta key=\"process.42.end.numa_pages_node0\" value=\"2\"\n"
			    "meta key=\"process.42.end.numa_pages_node1\" value=\"6\"\n");
	release(&t);
	remove_file(folder, "42.status.begin");
	remove_file(folder, "42.numa_maps.end");
	remove_file(folder, "manifest.json");
	rmdir(folder);
}

/* ---- recognising ---- */

static void other_files_are_none_of_these(void **state)
{
	static const char *const texts[] = { "",
					     "{\"schemaVersion\": 1, \"traceEvents\": []}",
					     "1700000000.1 read(3) = 0 <0.1>\n",
					     "[    0.5] a\n",
					     "[1, 2]\n[3, 4]\n",
					     "1700000000.5\nstep 1\n",
					     "anchors\n",
					     "@ 17\n/proc/vmstat:a 1\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct tl_importer *importer = probe(texts[i]);

		assert_ptr_not_equal(importer, &capture_manifest_importer);
		assert_ptr_not_equal(importer, &capture_clocks_importer);
		assert_ptr_not_equal(importer, &capture_system_importer);
		assert_ptr_not_equal(importer, &capture_dmesg_importer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots_become_anchors),
		cmocka_unit_test(a_marker_is_kept_with_its_name),
		cmocka_unit_test(an_absent_clock_is_told_with_its_reason),
		cmocka_unit_test(a_damaged_anchor_is_counted_and_the_next_one_read),
		cmocka_unit_test(a_last_line_that_was_cut_is_not_believed),
		cmocka_unit_test(a_wall_clock_that_was_set_is_told),
		cmocka_unit_test(a_wall_clock_that_is_steered_is_not_set),
		cmocka_unit_test(vmstat_has_levels_and_what_only_grows),
		cmocka_unit_test(a_value_is_told_when_it_changes_and_just_before),
		cmocka_unit_test(meminfo_is_in_bytes_but_for_counts),
		cmocka_unit_test(buddyinfo_has_a_track_a_zone_and_a_counter_an_order),
		cmocka_unit_test(pressure_has_averages_and_a_total),
		cmocka_unit_test(a_setting_is_the_word_in_brackets),
		cmocka_unit_test(a_changed_setting_is_a_line_of_the_log),
		cmocka_unit_test(what_khugepaged_did_is_counted_not_set),
		cmocka_unit_test(a_loop_of_date_and_vmstat_is_understood),
		cmocka_unit_test(lines_of_no_known_file_are_damage),
		cmocka_unit_test(lines_before_the_first_time_are_told),
		cmocka_unit_test(a_kernel_log_has_levels_and_times),
		cmocka_unit_test(decoded_levels_are_levels),
		cmocka_unit_test(lines_of_one_message_have_its_time),
		cmocka_unit_test(times_of_a_kernel_log_are_whole_microseconds),
		cmocka_unit_test(plain_dmesg_has_no_levels),
		cmocka_unit_test(the_manifest_tells_of_the_machine_and_what_is_missing),
		cmocka_unit_test(a_capture_that_was_killed_is_told),
		cmocka_unit_test(manifests_of_other_versions_are_refused),
		cmocka_unit_test(a_manifest_that_is_no_json_is_refused_with_the_line),
		cmocka_unit_test(paths_that_lead_out_of_the_folder_are_not_followed),
		cmocka_unit_test(the_manifest_lists_its_files),
		cmocka_unit_test(what_proc_said_of_a_process_is_kept),
		cmocka_unit_test(other_files_are_none_of_these),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
