/*
 * perf_record_test.c - records decoded from bytes put down by hand, in both byte orders.
 */
#include "perf_made.h"

static struct perf_raw raw_of(const struct made *body, uint32_t type, uint16_t misc)
{
	struct perf_raw raw = { .type = type,
				.misc = misc,
				.body = body->bytes,
				.body_size = body->size,
				.offset = 1000,
				.is_big_endian = body->is_big_endian };

	return raw;
}

/* ---- attributes ---- */

static struct perf_attr decode_attr(const struct made *m)
{
	struct perf_attr attr;
	struct tl_cursor c;

	tl_cursor_init(&c, m->bytes, m->size, 0, m->is_big_endian);
	perf_attr_decode(&c, &attr);
	assert_false(c.failed);
	return attr;
}

static void attribute_of_64_bytes_leaves_newer_fields_zero(void **state)
{
	struct made m = { 0 };
	struct perf_attr attr;

	(void)state;
	made_u32(&m, PERF_TYPE_SOFTWARE);
	made_u32(&m, 0); /* the first layout: says nothing of its size */
	made_u64(&m, 1);
	made_u64(&m, 4000);
	made_u64(&m, 0x107);
	made_u64(&m, 4);
	made_u64(&m, PERF_ATTR_FREQ);
	made_zeros(&m, 16);
	made_u64(&m, 0xdeadbeef); /* belongs to whatever follows */
	attr = decode_attr(&m);
	assert_int_equal(attr.size, 64);
	assert_int_equal(attr.sample_period, 4000);
	assert_int_equal(attr.sample_type, 0x107);
	assert_int_equal(attr.flags, PERF_ATTR_FREQ);
	assert_int_equal(attr.config2, 0);
	assert_int_equal(attr.sample_regs_user, 0);
	made_release(&m);
}

static void attribute_newer_than_known_is_passed_whole(void **state)
{
	struct perf_attr in = { .sample_type = 7, .clockid = 4, .sample_regs_user = 0xff }, attr;
	struct made m = { 0 };
	struct tl_cursor c;

	(void)state;
	made_attr(&m, &in);
	made_zeros(&m, 200 - 112);
	m.bytes[4] = 200;
	tl_cursor_init(&c, m.bytes, m.size, 0, false);
	perf_attr_decode(&c, &attr);
	assert_int_equal(c.position, 200);
	assert_int_equal(attr.sample_regs_user, 0xff);
	assert_int_equal(attr.clockid, 4);
	made_release(&m);
}

static void flags_of_big_endian_attributes_are_mirrored(void **state)
{
	struct made m = { .is_big_endian = true };
	struct perf_attr attr;

	(void)state;
	made_u32(&m, 0);
	made_u32(&m, 64);
	made_zeros(&m, 32);
	/* disabled is the first bit declared, sample_id_all the 19th: 0x80, ..., bit 18 from left */
	made_bytes(&m, "\x80\x00\x20\x00\x00\x00\x00\x00", 8);
	made_zeros(&m, 16);
	attr = decode_attr(&m);
	assert_int_equal(attr.flags, 1 | PERF_ATTR_SAMPLE_ID_ALL);
	made_release(&m);
}

/* ---- samples ---- */

static void put_every_field(struct made *m)
{
	made_u64(m, 77);		  /* IDENTIFIER */
	made_u64(m, 0x400100);		  /* IP */
	made_u32(m, 12), made_u32(m, 13); /* TID */
	made_u64(m, 5000);		  /* TIME */
	made_u64(m, 0x7f00);		  /* ADDR */
	made_u64(m, 77);		  /* ID */
	made_u64(m, 78);		  /* STREAM_ID */
	made_u32(m, 3), made_u32(m, 0);	  /* CPU */
	made_u64(m, 100);		  /* PERIOD */
	made_u64(m, 41);		  /* READ: one value, its id */
	made_u64(m, 77);
	made_u64(m, 2), made_u64(m, 0x400100), made_u64(m, 0x400200); /* CALLCHAIN */
	made_u32(m, 12), made_bytes(m, "twelve bytes", 12);	      /* RAW */
	made_u64(m, 1), made_u64(m, 9), made_zeros(m, 24);	      /* BRANCH_STACK with hw_idx */
	made_u64(m, 2), made_u64(m, 0x11), made_u64(m, 0x22);	      /* REGS_USER: two of them */
	made_u64(m, 16), made_bytes(m, "0123456789abcdef", 16), made_u64(m, 8); /* STACK_USER */
	made_u64(m, 60);							/* WEIGHT */
	made_u64(m, 0x142);							/* DATA_SRC */
	made_u64(m, 6);								/* TRANSACTION */
	made_u64(m, 0);			/* REGS_INTR: none */
	made_u64(m, 0x1000);		/* PHYS_ADDR */
	made_u64(m, 8);			/* CGROUP */
	made_u64(m, 4096);		/* DATA_PAGE_SIZE */
	made_u64(m, 2097152);		/* CODE_PAGE_SIZE */
	made_u64(m, 4), made_u32(m, 1); /* AUX */
}

static const struct perf_attr every_field = {
	.sample_type = 0xffffff, /* all but WEIGHT_STRUCT, which is WEIGHT otherwise read */
	.read_format = PERF_FORMAT_ID,
	.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX,
	.sample_regs_user = 0x3,
	.sample_regs_intr = 0x7,
};

static void check_every_field(bool is_big_endian)
{
	struct made m = { .is_big_endian = is_big_endian };
	struct perf_sample s;
	struct perf_raw raw;

	put_every_field(&m);
	raw = raw_of(&m, PERF_RECORD_SAMPLE, 2);
	assert_int_equal(perf_sample_decode(&raw, &every_field, &s, NULL), TL_OK);
	assert_int_equal(s.id, 77);
	assert_int_equal(s.ip, 0x400100);
	assert_int_equal(s.pid, 12);
	assert_int_equal(s.tid, 13);
	assert_int_equal(s.time, 5000);
	assert_int_equal(s.address, 0x7f00);
	assert_int_equal(s.stream_id, 78);
	assert_int_equal(s.cpu, 3);
	assert_int_equal(s.period, 100);
	assert_int_equal(perf_load_u64(s.read_values, is_big_endian), 41);
	assert_int_equal(s.chain_count, 2);
	assert_int_equal(perf_load_u64(s.chain + 8, is_big_endian), 0x400200);
	assert_int_equal(s.raw_size, 12);
	assert_memory_equal(s.raw, "twelve bytes", 12);
	assert_int_equal(s.branch_count, 1);
	assert_int_equal(perf_load_u64(s.user_regs + 8, is_big_endian), 0x22);
	assert_int_equal(s.stack_size, 8);
	assert_memory_equal(s.stack, "01234567", 8);
	assert_int_equal(s.weight, 60);
	assert_int_equal(s.data_source, 0x142);
	assert_int_equal(s.transaction, 6);
	assert_int_equal(s.physical_address, 0x1000);
	assert_int_equal(s.cgroup, 8);
	assert_int_equal(s.data_page_size, 4096);
	assert_int_equal(s.code_page_size, 2097152);
	assert_int_equal(s.aux_size, 4);
	made_release(&m);
}

static void every_field_is_found_in_its_order(void **state)
{
	(void)state;
	check_every_field(false);
}

static void every_field_is_found_in_big_endian(void **state)
{
	(void)state;
	check_every_field(true);
}

static void sample_cut_anywhere_is_an_error(void **state)
{
	struct made m = { 0 };
	struct perf_sample s;
	size_t whole;

	(void)state;
	put_every_field(&m);
	whole = m.size;
	for (m.size = 0; m.size < whole; m.size++) {
		struct perf_raw raw = raw_of(&m, PERF_RECORD_SAMPLE, 2);
		struct tl_error err = { 0 };

		assert_int_equal(perf_sample_decode(&raw, &every_field, &s, &err), TL_FORMAT);
		assert_int_equal(err.position_kind, TL_POSITION_BYTE);
		assert_true(err.position >= 1008 && err.position <= 1008 + m.size);
	}
	made_release(&m);
}

static void chain_count_that_overflows_is_an_error(void **state)
{
	const struct perf_attr attr = { .sample_type = PERF_SAMPLE_CALLCHAIN };
	struct perf_sample s;
	struct made m = { 0 };
	struct perf_raw raw;

	(void)state;
	made_u64(&m, 0x2000000000000001u); /* times eight is 8 */
	made_u64(&m, 1);
	raw = raw_of(&m, PERF_RECORD_SAMPLE, 2);
	assert_int_equal(perf_sample_decode(&raw, &attr, &s, NULL), TL_FORMAT);
	made_release(&m);
}

static void period_of_the_attribute_counts_when_the_sample_has_none(void **state)
{
	const struct perf_attr attr = { .sample_type = PERF_SAMPLE_IP, .sample_period = 1000000 };
	struct perf_sample s;
	struct made m = { 0 };
	struct perf_raw raw;

	(void)state;
	made_u64(&m, 1);
	raw = raw_of(&m, PERF_RECORD_SAMPLE, 2);
	assert_int_equal(perf_sample_decode(&raw, &attr, &s, NULL), TL_OK);
	assert_int_equal(s.period, 1000000);
	made_release(&m);
}

static void weight_struct_gives_its_first_part(void **state)
{
	const struct perf_attr attr = { .sample_type = PERF_SAMPLE_WEIGHT_STRUCT };
	struct perf_sample s;
	struct made m = { 0 };
	struct perf_raw raw;

	(void)state;
	made_u32(&m, 123);
	made_u16(&m, 5);
	made_u16(&m, 0);
	raw = raw_of(&m, PERF_RECORD_SAMPLE, 2);
	assert_int_equal(perf_sample_decode(&raw, &attr, &s, NULL), TL_OK);
	assert_int_equal(s.weight, 123);
	assert_true(s.has_more_weights);
	made_release(&m);
}

static void registers_and_stack_may_be_absent(void **state)
{
	const struct perf_attr attr = { .sample_type = PERF_SAMPLE_REGS_USER |
						       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT,
					.sample_regs_user = 0xff0fff };
	struct perf_sample s;
	struct made m = { 0 };
	struct perf_raw raw;

	(void)state;
	made_u64(&m, 0); /* no abi: no registers follow */
	made_u64(&m, 0); /* no bytes: neither they nor their count follow */
	made_u64(&m, 7);
	raw = raw_of(&m, PERF_RECORD_SAMPLE, 2);
	assert_int_equal(perf_sample_decode(&raw, &attr, &s, NULL), TL_OK);
	assert_null(s.user_regs);
	assert_null(s.stack);
	assert_int_equal(s.weight, 7);
	made_release(&m);
}

static void group_read_has_times_once_and_values_with_id_and_lost(void **state)
{
	const struct perf_attr attr = { .sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN,
					.read_format = 0x1f };
	struct perf_sample s;
	struct made m = { 0 };
	struct perf_raw raw;

	(void)state;
	made_u64(&m, 2);
	made_u64(&m, 900), made_u64(&m, 800);
	made_u64(&m, 10), made_u64(&m, 1), made_u64(&m, 0);
	made_u64(&m, 20), made_u64(&m, 2), made_u64(&m, 0);
	made_u64(&m, 0); /* an empty chain */
	raw = raw_of(&m, PERF_RECORD_SAMPLE, 2);
	assert_int_equal(perf_sample_decode(&raw, &attr, &s, NULL), TL_OK);
	assert_int_equal(s.read_count, 2);
	assert_int_equal(perf_load_u64(s.read_values + 24, false), 20);
	assert_int_equal(s.chain_count, 0);
	made_release(&m);
}

/* ---- other records ---- */

static const struct perf_attr with_trailer = {
	.sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
	.flags = PERF_ATTR_SAMPLE_ID_ALL,
};

static void put_trailer(struct made *m)
{
	made_u32(m, 21), made_u32(m, 22);
	made_u64(m, 6000);
	made_u32(m, 1), made_u32(m, 0);
	made_u64(m, 99);
}

static struct perf_record *decode(const struct made *body, uint32_t type, uint16_t misc)
{
	struct perf_record *r = malloc(sizeof(*r));
	struct perf_raw raw = raw_of(body, type, misc);

	assert_non_null(r);
	assert_int_equal(perf_record_decode(&raw, &with_trailer, r, NULL), TL_OK);
	return r;
}

static void trailer_is_counted_from_the_end(void **state)
{
	struct made m = { 0 };
	struct perf_record *r;

	(void)state;
	made_u32(&m, 21), made_u32(&m, 22);
	made_text(&m, "worker", 8);
	put_trailer(&m);
	r = decode(&m, PERF_RECORD_COMM, 0);
	assert_string_equal(r->comm.name, "worker");
	assert_int_equal(r->trailer.time, 6000);
	assert_int_equal(r->trailer.cpu, 1);
	assert_int_equal(r->trailer.id, 99);
	free(r);
	made_release(&m);
}

static void name_without_an_end_does_not_run_into_the_trailer(void **state)
{
	struct made m = { 0 };
	struct perf_record *r;

	(void)state;
	made_u32(&m, 21), made_u32(&m, 22);
	made_bytes(&m, "12345678", 8);
	put_trailer(&m);
	r = decode(&m, PERF_RECORD_COMM, 0);
	assert_string_equal(r->comm.name, "12345678");
	free(r);
	made_release(&m);
}

static void put_mmap2(struct made *m, bool has_build_id)
{
	made_u32(m, 21), made_u32(m, 21);
	made_u64(m, 0x400000), made_u64(m, 0x2000), made_u64(m, 0x1000);
	if (has_build_id) {
		made_bytes(m, "\x10\0\0\0", 4);
		made_bytes(m, "ABCDEFGHIJKLMNOP\0\0\0\0", 20);
	} else {
		made_u32(m, 8), made_u32(m, 1), made_u64(m, 4711), made_u64(m, 3);
	}
	made_u32(m, 5), made_u32(m, 2);
	made_text(m, "/srv/prog", 16);
	put_trailer(m);
}

static void mmap2_has_an_inode(void **state)
{
	struct made m = { 0 };
	struct perf_record *r;

	(void)state;
	put_mmap2(&m, false);
	r = decode(&m, PERF_RECORD_MMAP2, 2);
	assert_int_equal(r->mmap.file_offset, 0x1000);
	assert_true(r->mmap.has_inode);
	assert_int_equal(r->mmap.inode, 4711);
	assert_int_equal(r->mmap.inode_generation, 3);
	assert_int_equal(r->mmap.build_id.size, 0);
	assert_int_equal(r->mmap.protection, 5);
	assert_string_equal(r->mmap.path, "/srv/prog");
	free(r);
	made_release(&m);
}

static void mmap2_has_a_build_id_when_its_flag_says_so(void **state)
{
	struct made m = { 0 };
	struct perf_record *r;

	(void)state;
	put_mmap2(&m, true);
	r = decode(&m, PERF_RECORD_MMAP2, 2 | PERF_RECORD_MISC_MMAP_BUILD_ID);
	assert_false(r->mmap.has_inode);
	assert_int_equal(r->mmap.build_id.size, 16);
	assert_memory_equal(r->mmap.build_id.data, "ABCDEFGHIJKLMNOP", 16);
	assert_string_equal(r->mmap.path, "/srv/prog");
	free(r);
	made_release(&m);
}

static void record_smaller_than_its_trailer_is_an_error(void **state)
{
	struct made m = { 0 };
	struct perf_record *r = malloc(sizeof(*r));
	struct tl_error err = { 0 };
	struct perf_raw raw;

	(void)state;
	assert_non_null(r);
	made_zeros(&m, 16);
	raw = raw_of(&m, PERF_RECORD_EXIT, 0);
	assert_int_equal(perf_record_decode(&raw, &with_trailer, r, &err), TL_FORMAT);
	assert_string_equal(err.text,
			    "EXIT record of 24 bytes has no room for its sample id of 32");
	free(r);
	made_release(&m);
}

static void positions_in_samples_count_the_fields_before(void **state)
{
	const struct perf_attr plain = { .sample_type = 0x3 | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
							PERF_SAMPLE_ID };
	const struct perf_attr identified = { .sample_type =
						      PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME };

	(void)state;
	assert_int_equal(perf_sample_time_position(&plain), 16);
	assert_int_equal(perf_sample_id_position(&plain), 32);
	assert_int_equal(perf_sample_time_position(&identified), 8);
	assert_int_equal(perf_sample_id_position(&identified), 0);
}

static void unknown_marker_is_a_marker(void **state)
{
	enum tl_context context = TL_CONTEXT_KERNEL;

	(void)state;
	assert_true(perf_context_of_marker((uint64_t)-1234, &context));
	assert_int_equal(context, TL_CONTEXT_UNKNOWN);
	assert_false(perf_context_of_marker((uint64_t)-4096, &context));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attribute_of_64_bytes_leaves_newer_fields_zero),
		cmocka_unit_test(attribute_newer_than_known_is_passed_whole),
		cmocka_unit_test(flags_of_big_endian_attributes_are_mirrored),
		cmocka_unit_test(every_field_is_found_in_its_order),
		cmocka_unit_test(every_field_is_found_in_big_endian),
		cmocka_unit_test(sample_cut_anywhere_is_an_error),
		cmocka_unit_test(chain_count_that_overflows_is_an_error),
		cmocka_unit_test(period_of_the_attribute_counts_when_the_sample_has_none),
		cmocka_unit_test(weight_struct_gives_its_first_part),
		cmocka_unit_test(registers_and_stack_may_be_absent),
		cmocka_unit_test(group_read_has_times_once_and_values_with_id_and_lost),
		cmocka_unit_test(trailer_is_counted_from_the_end),
		cmocka_unit_test(name_without_an_end_does_not_run_into_the_trailer),
		cmocka_unit_test(mmap2_has_an_inode),
		cmocka_unit_test(mmap2_has_a_build_id_when_its_flag_says_so),
		cmocka_unit_test(record_smaller_than_its_trailer_is_an_error),
		cmocka_unit_test(positions_in_samples_count_the_fields_before),
		cmocka_unit_test(unknown_marker_is_a_marker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
