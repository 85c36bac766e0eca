/*
 * rank_join_test.c - which threads of two logs are one row: by number, machine and rank.
 */
#include <stdint.h>
#include <string.h>

#include "lives.h"
#include "store_example.h"

/* A log of one call of thread 7, and what it says of itself: one key, or NULL. */
static void add_log(const char *name, const char *key, const char *value)
{
	const struct tl_source_description source = {
		.path = name, .importer = "test", .size_bytes = 100, .fingerprint = (uint8_t)name[0]
	};
	const struct tl_writer_options opt = { .symbols.no_symbols = true };
	const struct tl_import_result result = { .records = 1 };
	struct tl_event ev = { .kind = TL_EVENT_SYSCALL, .has_ts = true, .ts = 1000000 };
	struct tl_event meta = { .kind = TL_EVENT_META, .meta = { key, value } };
	struct tl_writer *writer;
	struct tl_sink *sink;

	assert_int_equal(tl_writer_begin(&writer, store, &source, &opt, &err), TL_OK);
	sink = tl_writer_sink(writer);
	if (key)
		assert_int_equal(sink->emit(sink, &meta, &err), TL_OK);
	ev.syscall.task = (struct tl_task) { TL_ID_NONE, 7 };
	ev.syscall.name = "write";
	ev.syscall.name_length = 5;
	ev.syscall.duration_ns = 1000;
	assert_int_equal(sink->emit(sink, &ev, &err), TL_OK);
	assert_int_equal(tl_writer_commit(writer, &result, &err), TL_OK);
}

static int64_t threads(void)
{
	int64_t count;

	assert_int_equal(tl_hosts_join(store, &err), TL_OK);
	assert_int_equal(tl_threads_join(store, &err), TL_OK);
	assert_int_equal(tl_store_value(store,
					"SELECT count(DISTINCT thread_id) FROM syscall WHERE "
					"thread_id IN (SELECT thread_id FROM thread)",
					-1, &count, &err),
			 TL_OK);
	return count;
}

static void one_number_in_two_logs_of_the_only_machine_is_one_thread(void **state)
{
	(void)state;
	add_log("a", NULL, NULL);
	add_log("b", NULL, NULL);
	assert_int_equal(threads(), 1);
}

static void one_number_on_two_machines_is_two_threads(void **state)
{
	(void)state;
	add_log("a", "hostname", "node1");
	add_log("b", "hostname", "node2");
	assert_int_equal(threads(), 2);
}

static void one_number_in_two_ranks_is_two_threads(void **state)
{
	(void)state;
	add_log("a", "rank", "0");
	add_log("b", "rank", "1");
	assert_int_equal(threads(), 2);
}

static void one_number_in_two_logs_of_one_rank_is_one_thread(void **state)
{
	(void)state;
	add_log("a", "rank", "1");
	add_log("b", "rank", "1");
	assert_int_equal(threads(), 1);
}

static void a_log_without_a_rank_may_be_of_any(void **state)
{
	(void)state;
	add_log("a", "rank", "1");
	add_log("b", NULL, NULL);
	assert_int_equal(threads(), 1);
}

#define JOIN_TEST(name) cmocka_unit_test_setup_teardown(name, setup_store, teardown_store)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOIN_TEST(one_number_in_two_logs_of_the_only_machine_is_one_thread),
		JOIN_TEST(one_number_on_two_machines_is_two_threads),
		JOIN_TEST(one_number_in_two_ranks_is_two_threads),
		JOIN_TEST(one_number_in_two_logs_of_one_rank_is_one_thread),
		JOIN_TEST(a_log_without_a_rank_may_be_of_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
