/*
 * call_blocks_test.c - calls by column: what is put in comes out, whatever the bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calls.h"

#define BLOCKS_MAX 16

static struct tl_call_block put[BLOCKS_MAX];
static size_t put_count;
static struct tl_error err;
static const struct tl_call_key key = { .thread_id = 3, .name_id = 4 };

static int keep_block(void *payload, const struct tl_call_block *block, struct tl_error *error)
{
	char *copy = malloc(block->length);

	(void)payload;
	(void)error;
	assert_true(put_count < BLOCKS_MAX);
	assert_non_null(copy);
	memcpy(copy, block->bytes, block->length);
	put[put_count] = *block;
	put[put_count++].bytes = copy;
	return TL_OK;
}

static int teardown(void **state)
{
	(void)state;
	while (put_count)
		free((char *)(uintptr_t)put[--put_count].bytes);
	memset(&err, 0, sizeof(err));
	return 0;
}

static void write_all(const struct tl_call_entry *calls, size_t count, bool has_ts)
{
	struct tl_call_blocks blocks = { .put = keep_block };

	for (size_t i = 0; i < count; i++)
		assert_int_equal(tl_call_blocks_add(&blocks, &key, has_ts, &calls[i], NULL, &err),
				 TL_OK);
	assert_int_equal(tl_call_blocks_flush(&blocks, &err), TL_OK);
	tl_call_blocks_release(&blocks);
}

static void calls_come_out_as_they_went_in(void **state)
{
	const struct tl_call_entry calls[] = {
		{ 1700000000000000000, 0, 0 },
		{ 1700000000000000000, 12345, TL_CALL_ERROR },
		{ 1699999999999999000, 50000000, TL_CALL_TIMER },
		{ INT64_MAX, INT64_MAX >> 2, TL_CALL_ERROR | TL_CALL_TIMER },
		{ INT64_MIN, 1, 0 },
	};
	struct tl_call_entry read[5];

	(void)state;
	write_all(calls, 5, true);
	assert_int_equal(put_count, 1);
	assert_int_equal(put[0].count, 5);
	assert_true(put[0].first_ts == INT64_MIN && put[0].last_ts == INT64_MAX);
	assert_int_equal(tl_call_block_read(&put[0], read, &err), TL_OK);
	for (int i = 0; i < 5; i++) {
		assert_true(read[i].ts == calls[i].ts);
		assert_true(read[i].duration_ns == calls[i].duration_ns);
		assert_int_equal(read[i].flags, calls[i].flags);
	}
}

static void a_block_is_full_after_so_many_calls(void **state)
{
	struct tl_call_entry *calls = calloc(TL_CALL_BLOCK_MAX + 1, sizeof(*calls));

	(void)state;
	assert_non_null(calls);
	for (unsigned i = 0; i <= TL_CALL_BLOCK_MAX; i++)
		calls[i] = (struct tl_call_entry) { i * 1000, i, 0 };
	write_all(calls, TL_CALL_BLOCK_MAX + 1, true);
	assert_int_equal(put_count, 2);
	assert_int_equal(put[0].count, TL_CALL_BLOCK_MAX);
	assert_int_equal(put[1].count, 1);
	assert_int_equal(put[1].base_ts, TL_CALL_BLOCK_MAX * 1000);
	assert_int_equal(put[1].duration_sum_ns, TL_CALL_BLOCK_MAX);
	free(calls);
}

static void calls_without_times_have_durations_only(void **state)
{
	const struct tl_call_entry calls[] = { { 0, 5, 0 }, { 0, 6, 0 } };
	struct tl_call_entry read[2];

	(void)state;
	write_all(calls, 2, false);
	assert_false(put[0].has_times);
	assert_int_equal(tl_call_block_read(&put[0], read, &err), TL_OK);
	assert_int_equal(read[1].duration_ns, 6);
}

static void a_block_of_untimed_calls_has_no_durations(void **state)
{
	struct tl_call_entry calls[] = { { 7, -1, TL_CALL_ERROR } };
	struct tl_call_block block;

	(void)state;
	write_all(calls, 1, true);
	block = put[0];
	block.key.timing = TL_CALL_UNTIMED;
	assert_int_equal(tl_call_block_read(&block, calls, &err), TL_OK);
	assert_true(calls[0].duration_ns == -1);
	assert_int_equal(calls[0].flags, TL_CALL_ERROR);
	assert_int_equal(calls[0].ts, 7);
}

/* Cut at every byte, and with every byte replaced: refused, or read within bounds. */
static void damaged_blocks_are_refused_or_read_within_bounds(void **state)
{
	const struct tl_call_entry calls[] = { { 1000, 5000000, 0 }, { 9000000, 1, 1 } };
	struct tl_call_entry read[2];

	(void)state;
	write_all(calls, 2, true);
	for (size_t length = 0; length < put[0].length; length++) {
		struct tl_call_block cut = put[0];
		char *bytes = malloc(length ? length : 1);

		memcpy(bytes, put[0].bytes, length);
		cut.bytes = bytes;
		cut.length = length;
		assert_int_equal(tl_call_block_read(&cut, read, NULL), TL_STORE);
		free(bytes);
	}
	for (size_t at = 0; at < put[0].length; at++) {
		for (int value = 0; value < 256; value++) {
			struct tl_call_block changed = put[0];
			char *bytes = malloc(put[0].length);
			int ret;

			memcpy(bytes, put[0].bytes, put[0].length);
			bytes[at] = (char)value;
			changed.bytes = bytes;
			ret = tl_call_block_read(&changed, read, NULL);
			assert_true(ret == TL_OK || ret == TL_STORE);
			free(bytes);
		}
	}
}

static void calls_that_are_among_the_longest_are_notable(void **state)
{
	struct tl_call_blocks blocks = { .put = keep_block };
	bool is_notable;

	(void)state;
	for (unsigned i = 0; i < TL_CALL_LONGEST; i++) {
		const struct tl_call_entry call = { 0, 5000000, 0 };

		tl_call_blocks_add(&blocks, &key, true, &call, &is_notable, &err);
		assert_true(is_notable);
	}
	tl_call_blocks_add(&blocks, &key, true, &(struct tl_call_entry) { 0, 5000000, 0 },
			   &is_notable, &err);
	assert_false(is_notable);
	tl_call_blocks_add(&blocks, &key, true, &(struct tl_call_entry) { 0, 5000001, 0 },
			   &is_notable, &err);
	assert_true(is_notable);
	tl_call_blocks_add(&blocks, &(struct tl_call_key) { .name_id = 9 }, true,
			   &(struct tl_call_entry) { 0, 0, 0 }, &is_notable, &err);
	assert_true(is_notable); /* however short: it is the longest of its group */
	tl_call_blocks_release(&blocks);
}

/* ---- traits --------------------------------------------------------------------------------------- */

static struct tl_event_syscall call_of(const char *name, const char *operation)
{
	return (struct tl_event_syscall) { .name = name,
					   .name_length = strlen(name),
					   .operation = operation,
					   .operation_length = operation ? strlen(operation) : 0,
					   .has_result = true };
}

static bool is_wait(const struct tl_event_syscall *c)
{
	return tl_call_is_wait(tl_call_traits(c->name, c->name_length), c);
}

static bool is_timer_end(const struct tl_event_syscall *c)
{
	return tl_call_is_timer_end(tl_call_traits(c->name, c->name_length), c);
}

static void waits_are_known_by_name_and_operation(void **state)
{
	struct tl_event_syscall c = call_of("epoll_wait", NULL);

	(void)state;
	assert_true(is_wait(&c));
	c = call_of("futex", "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME");
	assert_true(is_wait(&c));
	c = call_of("futex", "FUTEX_WAKE_PRIVATE");
	assert_false(is_wait(&c));
	c = call_of("ioctl", "TCGETS");
	assert_false(is_wait(&c));
	c = call_of("epoll_ctl", NULL);
	assert_false(is_wait(&c));
	c = call_of("SYS_poll", NULL); /* ltrace's ways to write it */
	assert_true(is_wait(&c));
	c = call_of("poll@libc.so.6", NULL);
	assert_true(is_wait(&c));
	c = call_of("prog->sem_wait", NULL);
	assert_true(is_wait(&c));
}

static void reads_wait_for_what_is_no_disk(void **state)
{
	struct tl_event_syscall c = call_of("read", NULL);

	(void)state;
	assert_false(is_wait(&c)); /* nobody says what the descriptor is */
	c.path = "/data/file";
	c.path_length = strlen(c.path);
	assert_false(is_wait(&c));
	c.path = "pipe:[4711]";
	c.path_length = strlen(c.path);
	assert_true(is_wait(&c));
	c.path = "anon_inode:[eventfd]";
	c.path_length = strlen(c.path);
	assert_true(is_wait(&c));
}

static void a_ring_waits_if_completions_are_asked_for(void **state)
{
	struct tl_event_syscall c = call_of("io_uring_enter", NULL);

	(void)state;
	c.arguments = "4, 1, 0, 0, NULL, 8";
	c.arguments_length = strlen(c.arguments);
	assert_false(is_wait(&c));
	c.arguments = "4, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8";
	c.arguments_length = strlen(c.arguments);
	assert_true(is_wait(&c));
	c.arguments = "0x4, 0x1, 0xa, 0x1, 0, 0x8"; /* strace -X raw */
	c.arguments_length = strlen(c.arguments);
	assert_true(is_wait(&c));
}

static void sleeps_end_by_timer_within_a_fifth_or_a_tenth_of_a_millisecond(void **state)
{
	static const struct {
		int64_t asked, took;
		bool is_end;
	} cases[] = {
		{ 1000, 101000, true },	      { 1000, 101001, false },
		{ 10000000, 12000000, true }, { 10000000, 12000001, false },
		{ 10000000, 7999999, false }, { INT64_MAX, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tl_event_syscall c = call_of("nanosleep", NULL);

		c.has_timeout = true;
		c.timeout_ns = cases[i].asked;
		c.duration_ns = cases[i].took;
		assert_int_equal(is_timer_end(&c), cases[i].is_end);
	}
}

static void polls_that_return_0_and_etimedout_are_ends_by_timer(void **state)
{
	struct tl_event_syscall c = call_of("poll", NULL);

	(void)state;
	assert_true(is_timer_end(&c));
	c.result = 1;
	assert_false(is_timer_end(&c));
	c = call_of("futex", "FUTEX_WAIT");
	assert_false(is_timer_end(&c)); /* it was woken */
	c.error = "ETIMEDOUT";
	c.error_length = strlen(c.error);
	c.result = -1;
	assert_true(is_timer_end(&c));
	c = call_of("read", NULL);
	assert_false(is_timer_end(&c));
}

static void numbers_have_the_names_of_their_machine(void **state)
{
	static const struct {
		const char *arch;
		int64_t number;
		const char *name;
	} cases[] = {
		{ "x86_64", 0, "read" },
		{ "x86_64", 202, "futex" },
		{ "x86_64", 334, "rseq" },
		{ "x86_64", 435, "clone3" },
		{ "x86_64", 449, "futex_waitv" },
		{ "aarch64", 63, "read" },
		{ "aarch64", 98, "futex" },
		{ "aarch64", 29, "ioctl" },
		{ "aarch64", 260, "wait4" },
		{ "aarch64", 435, "clone3" },
		{ "x86_64", 335, NULL },
		{ "x86_64", 99999, NULL },
		{ "x86_64", -1, NULL },
		{ "aarch64", 244, NULL },
		{ "s390x", 3, NULL },
		{ NULL, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t length;
		const char *name = tl_call_number_name(cases[i].arch, cases[i].number, &length);

		if (!cases[i].name) {
			assert_null(name);
			continue;
		}
		assert_non_null(name);
		assert_int_equal(length, strlen(cases[i].name));
		assert_memory_equal(name, cases[i].name, length);
	}
}

#define BLOCK_TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BLOCK_TEST(calls_come_out_as_they_went_in),
		BLOCK_TEST(a_block_is_full_after_so_many_calls),
		BLOCK_TEST(calls_without_times_have_durations_only),
		BLOCK_TEST(a_block_of_untimed_calls_has_no_durations),
		BLOCK_TEST(damaged_blocks_are_refused_or_read_within_bounds),
		BLOCK_TEST(calls_that_are_among_the_longest_are_notable),
		BLOCK_TEST(waits_are_known_by_name_and_operation),
		BLOCK_TEST(reads_wait_for_what_is_no_disk),
		BLOCK_TEST(a_ring_waits_if_completions_are_asked_for),
		BLOCK_TEST(sleeps_end_by_timer_within_a_fifth_or_a_tenth_of_a_millisecond),
		BLOCK_TEST(polls_that_return_0_and_etimedout_are_ends_by_timer),
		BLOCK_TEST(numbers_have_the_names_of_their_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
