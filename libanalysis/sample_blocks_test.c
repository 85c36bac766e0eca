/*
 * sample_blocks_test.c - samples by column: what is put in comes out, whatever the numbers and bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample_blocks.h"

static const struct tl_sample_entry samples[] = {
	{ .ts = 1700000000000000000, .sum_id = 1, .period = 5025125 },
	{ .ts = 1700000000005025125, .sum_id = 2, .period = 5025125 },
	{ .ts = 1699999999999999999, .sum_id = 1, .period = 0 }, /* out of order */
	{ .ts = INT64_MIN, .sum_id = (INT64_C(1) << 28), .period = UINT64_MAX },
	{ .ts = INT64_MAX, .sum_id = 7, .period = 1 },
};

enum { COUNT = sizeof(samples) / sizeof(*samples) };

static struct tl_sample_blocks blocks;

static int teardown(void **state)
{
	(void)state;
	tl_sample_blocks_release(&blocks);
	return 0;
}

static struct tl_sample_block write_all(void)
{
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(tl_sample_blocks_add(&blocks, &samples[i], NULL), TL_OK);
	return tl_sample_blocks_take(&blocks);
}

static void what_is_put_in_comes_out(void **state)
{
	struct tl_sample_entry read[COUNT];
	struct tl_sample_block block = write_all();

	(void)state;
	assert_int_equal(block.count, COUNT);
	assert_int_equal(block.base_ts, 1700000000000000000);
	assert_true(block.first_ts == INT64_MIN && block.last_ts == INT64_MAX);
	assert_int_equal(tl_sample_block_read(&block, read, NULL), TL_OK);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(read[i].ts, samples[i].ts);
		assert_int_equal(read[i].sum_id, samples[i].sum_id);
		assert_int_equal(read[i].period, samples[i].period);
	}
}

static void a_block_stands_alone(void **state)
{
	struct tl_sample_entry read;
	struct tl_sample_block block;

	(void)state;
	write_all();
	assert_int_equal(tl_sample_blocks_add(&blocks, &samples[4], NULL), TL_OK);
	block = tl_sample_blocks_take(&blocks);
	assert_int_equal(block.count, 1);
	assert_int_equal(tl_sample_block_read(&block, &read, NULL), TL_OK);
	assert_int_equal(read.ts, INT64_MAX);
	assert_int_equal(read.period, 1);
	assert_int_equal(tl_sample_blocks_take(&blocks).count, 0);
}

/* A time and a sum of one byte each: two bytes a sample where the period stays the same. */
static void a_usual_sample_takes_few_bytes(void **state)
{
	const struct tl_sample_entry usual = { .ts = 99, .sum_id = 60, .period = 1 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(tl_sample_blocks_add(&blocks, &usual, NULL), TL_OK);
	assert_int_equal(tl_sample_blocks_take(&blocks).length, 1 + 1000 * 2 + 1);
}

static void a_full_block_is_told(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TL_SAMPLE_BLOCK_MAX; i++) {
		assert_false(tl_sample_blocks_is_full(&blocks));
		assert_int_equal(tl_sample_blocks_add(&blocks, &samples[i % COUNT], NULL), TL_OK);
	}
	assert_true(tl_sample_blocks_is_full(&blocks));
}

static void other_bytes_are_refused(void **state)
{
	struct tl_sample_block block = write_all();
	struct tl_sample_entry read[COUNT + 1];
	char *copy = malloc(block.length + 1);

	(void)state;
	assert_non_null(copy);
	memcpy(copy, block.bytes, block.length);
	copy[block.length] = 0;
	for (size_t cut = 0; cut < block.length; cut++) {
		struct tl_sample_block short_one = block;
		char *exact = malloc(cut ? cut : 1); /* for a sanitizer to guard */

		assert_non_null(exact);
		memcpy(exact, copy, cut);
		short_one.bytes = exact;
		short_one.length = cut;
		assert_int_equal(tl_sample_block_read(&short_one, read, NULL), TL_STORE);
		free(exact);
	}
	block.bytes = copy;
	block.length++; /* one more than there are samples */
	assert_int_equal(tl_sample_block_read(&block, read, NULL), TL_STORE);
	block.length--;
	copy[0] = 1; /* another version */
	assert_int_equal(tl_sample_block_read(&block, read, NULL), TL_STORE);
	free(copy);
}

#define BLOCK_TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BLOCK_TEST(what_is_put_in_comes_out),	    BLOCK_TEST(a_block_stands_alone),
		BLOCK_TEST(a_usual_sample_takes_few_bytes), BLOCK_TEST(a_full_block_is_told),
		BLOCK_TEST(other_bytes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
