/*
 * capture_damage_test.c - the files of a recorded folder cut at every byte and with every byte
 * replaced: each import ends well, or is refused in words; nothing that is cut is taken for whole.
 */
#include "capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char clocks[] = "anchor begin monotonic 1796058355568523555 13770169951282 40\n"
			     "marker begin tl~dn8pjty5eko8 1796058355582691872 6180\n"
			     "absent begin sched_clock perf_event_open: Permission denied\n"
			     "anchor end monotonic 1796058365568523555 13780169951282 40\n";

static const char system_log[] =
	"@ 1796058560.023986087\n"
	"/proc/vmstat:nr_free_pages 4625456\n"
	"/proc/vmstat:thp_fault_alloc 12\n"
	"/proc/meminfo:MemFree:          183 kB\n"
	"/proc/buddyinfo:Node 0, zone   Normal      1      2      3 \n"
	"/proc/loadavg:0.52 0.58 0.59 2/345 6789\n"
	"/proc/pressure/memory:some avg10=0.00 avg60=0.00 avg300=0.00 total=42\n"
	"/sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never\n"
	"@ 1796058561.023986087\n"
	"/proc/vmstat:nr_free_pages 4625457\n"
	"/sys/kernel/mm/transparent_hugepage/enabled:[always] madvise never\n";

static const char dmesg[] = "<6>[    0.000001] Linux version\n"
			    "<30>[   12.500000] systemd: x\n"
			    "<4>no time\n";

static const char manifest[] =
	"{\"traceloom_capture\": 1, \"state\": \"complete\", \"host\": {\"hostname\": \"a\"},"
	"\"files\": [{\"role\": \"clocks\", \"path\": \"clocks.txt\"},"
	"{\"role\": \"process-status\", \"path\": \"process/1.status.begin\"}],"
	"\"missing\": [{\"what\": \"perf\", \"why\": \"none\"}]}";

struct counting {
	struct tl_sink sink;
	uint64_t events, letters;
};

/* Reads everything an event points to: the sanitizers look on. */
static int count(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct counting *c = (struct counting *)sink;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	(void)err;
	assert_non_null(out);
	tl_event_print(out, ev);
	fclose(out);
	c->events += ev->kind != TL_EVENT_DIAGNOSTIC && ev->kind != TL_EVENT_CLOCK;
	c->letters += length;
	free(text);
	return TL_OK;
}

static uint64_t import(const struct tl_importer *importer, const char *data, size_t len)
{
	struct counting c = { .sink.emit = count };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;
	/* of exactly that size: a byte too far is seen */
	uint8_t *copy = malloc(len ? len : 1);
	int ret;

	assert_non_null(copy);
	memcpy(copy, data, len);
	assert_int_equal(tl_input_open_memory(&in, "file", copy, len, &err), TL_OK);
	ret = tl_import(importer, in, NULL, &c.sink, &result, &err);
	if (ret != TL_OK) {
		assert_true(ret == TL_FORMAT || ret == TL_UNSUPPORTED);
		assert_int_not_equal(err.text[0], '\0');
	}
	tl_input_close(in);
	free(copy);
	return c.events;
}

static void cut_everywhere(const struct tl_importer *importer, const char *text)
{
	uint64_t whole = import(importer, text, strlen(text));

	for (size_t len = 0; len < strlen(text); len++)
		assert_true(import(importer, text, len) < whole);
}

static void replace_everywhere(const struct tl_importer *importer, const char *text)
{
	static const char others[] = { '\0', '\n', ' ', '9', '-', '\xff' };
	size_t len = strlen(text);
	char *copy = malloc(len + 1);

	assert_non_null(copy);
	for (size_t i = 0; i < len; i++)
		for (size_t k = 0; k < sizeof(others); k++) {
			memcpy(copy, text, len);
			copy[i] = others[k];
			import(importer, copy, len);
		}
	free(copy);
}

static void clocks_cut_at_every_byte_are_fewer(void **state)
{
	(void)state;
	cut_everywhere(&capture_clocks_importer, clocks);
}

static void samples_cut_at_every_byte_are_fewer(void **state)
{
	(void)state;
	cut_everywhere(&capture_system_importer, system_log);
}

static void kernel_logs_cut_at_every_byte_are_shorter(void **state)
{
	(void)state;
	cut_everywhere(&capture_dmesg_importer, dmesg);
}

static void manifests_cut_at_every_byte_are_refused(void **state)
{
	(void)state;
	cut_everywhere(&capture_manifest_importer, manifest);
}

static void any_byte_may_be_another(void **state)
{
	(void)state;
	replace_everywhere(&capture_clocks_importer, clocks);
	replace_everywhere(&capture_system_importer, system_log);
	replace_everywhere(&capture_dmesg_importer, dmesg);
	replace_everywhere(&capture_manifest_importer, manifest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_cut_at_every_byte_are_fewer),
		cmocka_unit_test(samples_cut_at_every_byte_are_fewer),
		cmocka_unit_test(kernel_logs_cut_at_every_byte_are_shorter),
		cmocka_unit_test(manifests_cut_at_every_byte_are_refused),
		cmocka_unit_test(any_byte_may_be_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
