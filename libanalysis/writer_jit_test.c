/*
 * writer_jit_test.c - names of code made at run time, as a case has them. Which code was at an address
 * at what time is put down by hand in a jitdump.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis.h"
#include "memory.h"
#include "store.h"

static char directory[64], path[96];
static struct tl_store *store;
static struct tl_error err;

static void put(struct tl_text *out, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		tl_text_add(out, &(char) { (char)(value >> 8 * i) }, 1);
}

/* JIT_CODE_LOAD of sixteen bytes at 0x1000 */
static void put_load(struct tl_text *out, uint64_t time, uint64_t index, const char *name)
{
	put(out, 0, 4);
	put(out, 16 + 8 + 32 + strlen(name) + 1 + 16, 4);
	put(out, time, 8);
	put(out, 77, 4);
	put(out, 77, 4);
	put(out, 0x1000, 8);
	put(out, 0x1000, 8);
	put(out, 16, 8);
	put(out, index, 8);
	tl_text_add(out, name, strlen(name) + 1);
	put(out, 0, 8);
	put(out, 0, 8);
}

/* "early" is at 0x1000 from 1000 on, "late" from 5000 on. */
static void write_jitdump(void)
{
	struct tl_text out = { 0 };
	FILE *file = fopen(path, "wb");

	put(&out, 0x4a695444, 4);
	put(&out, 1, 4);
	put(&out, 40, 4);
	put(&out, 62, 4);
	put(&out, 0, 4);
	put(&out, 77, 4);
	put(&out, 1, 8);
	put(&out, 0, 8);
	put_load(&out, 1000, 1, "early");
	put_load(&out, 5000, 2, "late");
	assert_non_null(file);
	assert_int_equal(fwrite(out.data, 1, out.length, file), out.length);
	assert_int_equal(fclose(file), 0);
	tl_text_release(&out);
}

static int setup(void **state)
{
	(void)state;
	memset(&err, 0, sizeof(err));
	snprintf(directory, sizeof(directory), "/tmp/writer_jit_test-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/tmp", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/tmp/jit-77.dump", directory);
	write_jitdump();
	return tl_store_open_temporary(&store, &err);
}

static int teardown(void **state)
{
	(void)state;
	tl_store_close(store);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	return rmdir(directory);
}

static struct tl_event map(const char *name, uint64_t start)
{
	return (struct tl_event) {
		.kind = TL_EVENT_MMAP,
		.has_ts = true,
		.ts = 10,
		.mmap = { .task = { 77, 77 },
			  .path = name,
			  .start = start,
			  .length = 0x1000,
			  .is_exec = true,
			  .context = TL_CONTEXT_USER },
	};
}

/* How a sample at 0x1008 is named at the time 2000 of a clock. */
static int64_t is_named(const char *clock, const char *name)
{
	const struct tl_source_description source = { .path = "a", .importer = "test" };
	const struct tl_writer_options opt = { .symbols = { .symfs = directory } };
	const struct tl_import_result result = { .records = 1 };
	const struct tl_frame frame = { .ip = 0x1008, .context = TL_CONTEXT_USER };
	struct tl_event events[] = {
		{ .kind = TL_EVENT_CLOCK, .clock = { .name = clock } },
		map("/tmp/jit-77.dump", 0x900000),
		map("//anon", 0x1000),
		{ .kind = TL_EVENT_SAMPLE,
		  .has_ts = true,
		  .ts = 2000,
		  .sample = { .task = { 77, 77 },
			      .real_tid = TL_ID_NONE,
			      .cpu = -1,
			      .frames = &frame,
			      .frame_count = 1,
			      .has_callchain = true } },
	};
	struct tl_writer *writer;
	struct tl_sink *sink;
	char sql[200];
	int64_t count = -1;

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	sink = tl_writer_sink(writer);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		assert_int_equal(sink->emit(sink, &events[i], &err), TL_OK);
	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM frame JOIN symbol USING (symbol_id) JOIN string ON "
		 "string_id = name_id WHERE text = '%s'",
		 name);
	assert_int_equal(tl_store_value(store, sql, -1, &count, &err), TL_OK);
	return count;
}

static void times_of_the_monotonic_clock_choose_the_code(void **state)
{
	(void)state;
	assert_int_equal(is_named("monotonic", "early"), 1);
	assert_int_equal(is_named("monotonic", "late"), 0);
}

static void times_of_other_clocks_do_not(void **state)
{
	(void)state;
	assert_int_equal(is_named("sched_clock", "late"), 1);
	assert_int_equal(is_named("sched_clock", "early"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(times_of_the_monotonic_clock_choose_the_code, setup,
						teardown),
		cmocka_unit_test_setup_teardown(times_of_other_clocks_do_not, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
