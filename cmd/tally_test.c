/*
 * tally_test.c - what is told of a source: counts by kind and unit, and the first of each finding.
 */
#include "tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int passed_on;

static int count_event(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	(void)sink, (void)ev, (void)err;
	passed_on++;
	return TL_OK;
}

static struct tl_sink counter = { .emit = count_event };

static void diagnose(struct tally *tally, enum tl_diagnostic_kind kind, const char *what,
		     uint64_t count, const char *unit, uint64_t byte)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };
	struct tl_error err = { 0 };

	ev.diagnostic.kind = kind;
	ev.diagnostic.what = what;
	ev.diagnostic.count = count;
	ev.diagnostic.unit = unit;
	ev.diagnostic.position_kind = TL_POSITION_BYTE;
	ev.diagnostic.position = byte;
	assert_int_equal(tally->sink.emit(&tally->sink, &ev, &err), TL_OK);
}

static char told[4096];

/* What `tell` printed; stderr is a file meanwhile. */
static const char *listen(void (*speak)(const struct tally *), const struct tally *tally)
{
	int real = dup(STDERR_FILENO);
	FILE *file = tmpfile();
	size_t length;

	dup2(fileno(file), STDERR_FILENO);
	speak(tally);
	fflush(stderr);
	dup2(real, STDERR_FILENO);
	close(real);
	rewind(file);
	length = fread(told, 1, sizeof(told) - 1, file);
	told[length] = '\0';
	fclose(file);
	return told;
}

static void speak_counts(const struct tally *tally)
{
	struct tl_import_result result = { .records = 10 };

	result.events[TL_EVENT_SAMPLE] = 5;
	result.events[TL_EVENT_MMAP] = 3;
	result.events[TL_EVENT_DIAGNOSTIC] = 2;
	tally_tell_counts(tally, "x.data", "perf", &result);
}

static void speak_findings(const struct tally *tally)
{
	tally_tell_findings(tally, "x.data");
}

static void everything_is_passed_on(void **state)
{
	struct tally tally;

	(void)state;
	passed_on = 0;
	tally_init(&tally, &counter);
	diagnose(&tally, TL_DIAGNOSTIC_LOST, "ring buffer full", 3, "samples", 8);
	diagnose(&tally, TL_DIAGNOSTIC_NOTE, "sampled tracepoint", 1, "events", 16);
	assert_int_equal(passed_on, 2);
}

static void clean_source_says_so(void **state)
{
	struct tally tally;

	(void)state;
	tally_init(&tally, &counter);
	assert_false(tally_has_trouble(&tally));
	assert_string_equal(listen(speak_counts, &tally),
			    "traceloom: x.data: 10 records of perf read, 8 events (5 samples); "
			    "nothing lost, damaged or skipped\n");
}

static void counts_are_summed_by_kind_and_unit(void **state)
{
	struct tally tally;

	(void)state;
	tally_init(&tally, &counter);
	diagnose(&tally, TL_DIAGNOSTIC_LOST, "a", 3, "samples", 8);
	diagnose(&tally, TL_DIAGNOSTIC_LOST, "b", 4, "samples", 16);
	diagnose(&tally, TL_DIAGNOSTIC_DAMAGED, "c", 1, "records", 24);
	assert_true(tally_has_trouble(&tally));
	assert_string_equal(listen(speak_counts, &tally),
			    "traceloom: x.data: 10 records of perf read, 8 events (5 samples); "
			    "lost 7 samples, damaged 1 record\n");
}

static void equal_findings_are_told_once_with_the_first_place(void **state)
{
	struct tally tally;

	(void)state;
	tally_init(&tally, &counter);
	diagnose(&tally, TL_DIAGNOSTIC_DAMAGED, "record of size 4", 1, "records", 4096);
	diagnose(&tally, TL_DIAGNOSTIC_DAMAGED, "record of size 4", 1, "records", 8192);
	assert_string_equal(listen(speak_findings, &tally),
			    "traceloom: x.data: byte 4096: damaged: record of size 4 (2 records in "
			    "all)\n");
}

static void number_that_the_words_have_is_not_repeated(void **state)
{
	struct tally tally;

	(void)state;
	tally_init(&tally, &counter);
	diagnose(&tally, TL_DIAGNOSTIC_SKIPPED, "1234 bytes of trace skipped", 1234, "bytes", 8);
	assert_string_equal(listen(speak_findings, &tally),
			    "traceloom: x.data: byte 8: skipped: 1234 bytes of trace skipped\n");
}

static void note_is_no_trouble(void **state)
{
	struct tally tally;

	(void)state;
	tally_init(&tally, &counter);
	diagnose(&tally, TL_DIAGNOSTIC_NOTE, "sampled tracepoint", 1, "events", 0);
	assert_false(tally_has_trouble(&tally));
}

static void too_many_findings_are_counted(void **state)
{
	struct tally tally;
	char what[32];

	(void)state;
	tally_init(&tally, &counter);
	for (int i = 0; i < TALLY_FINDING_MAX + 5; i++) {
		snprintf(what, sizeof(what), "trouble %d", i);
		diagnose(&tally, TL_DIAGNOSTIC_DAMAGED, what, 1, "records", 0);
	}
	assert_non_null(
		strstr(listen(speak_findings, &tally), "x.data: 5 more findings are in the case"));
}

static void control_bytes_are_made_visible(void **state)
{
	struct tally tally;

	(void)state;
	tally_init(&tally, &counter);
	diagnose(&tally, TL_DIAGNOSTIC_DAMAGED, "name \033[2J", 1, "records", 0);
	assert_null(strchr(listen(speak_findings, &tally), '\033'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_passed_on),
		cmocka_unit_test(clean_source_says_so),
		cmocka_unit_test(counts_are_summed_by_kind_and_unit),
		cmocka_unit_test(equal_findings_are_told_once_with_the_first_place),
		cmocka_unit_test(number_that_the_words_have_is_not_repeated),
		cmocka_unit_test(note_is_no_trouble),
		cmocka_unit_test(too_many_findings_are_counted),
		cmocka_unit_test(control_bytes_are_made_visible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
