/*
 * perf_tracepoint_test.c - formats and hits against perf's own reading of them, and against formats
 * of old kernels and of another byte order worked out by hand.
 */
#include "perf_tracepoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory.h"

#define GOLDEN "testdata/tracepoint/kernel-6.18/"

/* ---- making blobs --------------------------------------------------------------------------- */

struct blob {
	struct tl_text text;
	bool is_big_endian;
};

static void put(struct blob *b, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++) {
		char c = value >> 8 * (b->is_big_endian ? size - 1 - i : i);

		tl_text_add(&b->text, &c, 1);
	}
}

static void put_text(struct blob *b, const char *text)
{
	put(b, strlen(text), 8);
	tl_text_puts(&b->text, text);
}

/* A blob of one system with `count` formats. */
static void make_blob(struct blob *b, bool is_big_endian, unsigned long_size, const char *system,
		      const char *const *formats, size_t count)
{
	memset(b, 0, sizeof(*b));
	b->is_big_endian = is_big_endian;
	tl_text_add(&b->text, "\x17\x08\x44tracing0.6", 14);
	put(b, is_big_endian, 1);
	put(b, long_size, 1);
	put(b, 4096, 4);
	tl_text_add(&b->text, "header_page", 12);
	put_text(b, "x");
	tl_text_add(&b->text, "header_event", 13);
	put_text(b, "y");
	put(b, 0, 4);
	put(b, 1, 4);
	tl_text_add(&b->text, system, strlen(system) + 1);
	put(b, count, 4);
	for (size_t i = 0; i < count; i++)
		put_text(b, formats[i]);
	put(b, 0, 4);
	put(b, 0, 4);
	put(b, 0, 8);
}

static struct perf_tracepoints *open_blob(const struct tl_text *text)
{
	struct perf_tracepoints *tp = NULL;
	struct tl_error err = { 0 };

	assert_int_equal(
		perf_tracepoints_open(&tp, (const uint8_t *)text->data, text->length, &err), TL_OK);
	return tp;
}

static struct perf_tracepoints *open_formats(bool is_big_endian, unsigned long_size,
					     const char *system, const char *const *formats,
					     size_t count)
{
	struct blob b;

	make_blob(&b, is_big_endian, long_size, system, formats, count);
	struct perf_tracepoints *tp = open_blob(&b.text);
	tl_text_release(&b.text);
	return tp;
}

static struct perf_tracepoint_hit decode(struct perf_tracepoints *tp, uint64_t config,
					 const struct blob *raw)
{
	struct perf_tracepoint_hit hit;
	struct tl_error err = { 0 };
	uint8_t *copy = malloc(raw->text.length + 1); /* exact, for the sanitizer */

	copy = realloc(copy, raw->text.length ? raw->text.length : 1);
	memcpy(copy, raw->text.data ? raw->text.data : "", raw->text.length);
	assert_int_equal(
		perf_tracepoint_decode(tp, config, copy, raw->text.length, true, &hit, &err),
		TL_OK);
	free(copy);
	return hit;
}

#define COMMON                                                                         \
	"format:\n"                                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static void put_common(struct blob *raw, unsigned id, int pid)
{
	put(raw, id, 2);
	put(raw, 0, 2);
	put(raw, (uint32_t)pid, 4);
}

/* ---- against perf ---------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;

	*len = 0;
	if (f == NULL)
		return NULL;
	fseek(f, 0, SEEK_END);
	*len = ftell(f);
	rewind(f);
	data = calloc(*len + 1, 1);
	assert_int_equal(fread(data, 1, *len, f), *len);
	fclose(f);
	return data;
}

static size_t from_hex(const char *text, uint8_t *out)
{
	size_t n = 0;
	unsigned byte;

	while (sscanf(text + 2 * n, "%2x", &byte) == 1)
		out[n++] = byte;
	return n;
}

static void recorded_hits_read_as_perf_reads_them(void **state)
{
	size_t len, lines = 0;
	char *blob = read_file(GOLDEN "tracing_data.bin", &len);
	FILE *hits = fopen(GOLDEN "hits.txt", "r"), *expected = fopen(GOLDEN "expected.txt", "r");
	struct perf_tracepoints *tp;
	struct tl_error err = { 0 };
	char hex[4096], want[4096], got[4096];
	unsigned long long config;
	uint8_t raw[2048];

	(void)state;
	assert_non_null(blob);
	assert_int_equal(perf_tracepoints_open(&tp, (uint8_t *)blob, len, &err), TL_OK);
	free(blob);
	assert_null(perf_tracepoints_damage(tp, NULL));
	while (fscanf(hits, "%llu %4095s", &config, hex) == 2) {
		struct perf_tracepoint_hit hit;
		size_t size = from_hex(hex, raw);

		assert_non_null(fgets(want, sizeof(want), expected));
		want[strcspn(want, "\n")] = '\0';
		assert_int_equal(perf_tracepoint_decode(tp, config, raw, size, true, &hit, &err),
				 TL_OK);
		if (hit.payload.json == NULL) /* equal to one before */
			continue;
		snprintf(got, sizeof(got), "%s %d %s", perf_tracepoints_name(tp, config),
			 hit.common_pid, hit.payload.json);
		assert_string_equal(got, want);
		lines++;
	}
	assert_true(lines >= 20);
	fclose(hits);
	fclose(expected);
	perf_tracepoints_close(tp);
}

/* ---- scheduler ------------------------------------------------------------------------------ */

#define SWITCH_FIELDS                                                    \
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;\n"  \
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"      \
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"       \
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"     \
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:1;\n" \
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"      \
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"

/* Linux 3.10: letters in another order than today's, 1024 means preempted. */
static const char switch_3_10[] =
	"name: sched_switch\nID: 310\n" COMMON SWITCH_FIELDS
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s "
	"next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, "
	"REC->prev_state & (1024-1) ? __print_flags(REC->prev_state & (1024-1), \"|\", { 1, \"S\"} "
	", { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, { 64, \"x\" }, "
	"{ 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }) : \"R\", REC->prev_state & 1024 ? \"+\" : "
	"\"\", REC->next_comm, REC->next_pid, REC->next_prio\n";

/* Linux 4.14 and later: 8 states reported, bit 8 means preempted. */
static const char switch_4_19[] =
	"name: sched_switch\nID: 310\n" COMMON SWITCH_FIELDS
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s "
	"next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, "
	"(REC->prev_state & ((((0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | "
	"0x0040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x0000 | 0x0001 | 0x0002 | "
	"0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) - 1), \"|\", { 0x0001, \"S\" }, { "
	"0x0002, \"D\" }, { 0x0004, \"T\" }, { 0x0008, \"t\" }, { 0x0010, \"X\" }, { 0x0020, \"Z\" "
	"}, { 0x0040, \"P\" }, { 0x0080, \"I\" }) : \"R\", REC->prev_state & (((0x0000 | 0x0001 | "
	"0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040) + 1) << 1) ? \"+\" : \"\", "
	"REC->next_comm, REC->next_pid, REC->next_prio\n";

static void put_switch(struct blob *raw, uint64_t prev_state)
{
	put_common(raw, 310, 77);
	tl_text_add(&raw->text, "python3\0\0\0\0\0\0\0\0\0", 16);
	put(raw, 77, 4);
	put(raw, 120, 4);
	put(raw, prev_state, 8);
	tl_text_add(&raw->text, "swapper/1\0\0\0\0\0\0\0", 16);
	put(raw, 0, 4);
	put(raw, 120, 4);
}

static void check_state(const char *format, uint64_t value, enum tl_switch_state want,
			const char *text)
{
	struct perf_tracepoints *tp = open_formats(false, 8, "sched", &format, 1);
	struct blob raw = { 0 };
	char name[64];

	put_switch(&raw, value);
	struct perf_tracepoint_hit hit = decode(tp, 310, &raw);
	assert_int_equal(hit.what, PERF_TRACEPOINT_SWITCH);
	assert_int_equal(hit.prev_pid, 77);
	assert_int_equal(hit.next_pid, 0);
	assert_int_equal(hit.common_pid, 77);
	assert_int_equal(hit.prev_state, want);
	snprintf(name, sizeof(name), "\"prev_state_name\":\"%s\"", text);
	assert_non_null(strstr(hit.payload.json, name));
	tl_text_release(&raw.text);
	perf_tracepoints_close(tp);
}

static void states_follow_the_letters_of_an_old_kernel(void **state)
{
	(void)state;
	check_state(switch_3_10, 0, TL_SWITCH_RUNNABLE, "R");
	check_state(switch_3_10, 1, TL_SWITCH_SLEEPING, "S");
	check_state(switch_3_10, 2, TL_SWITCH_UNINTERRUPTIBLE, "D");
	check_state(switch_3_10, 2 | 128, TL_SWITCH_UNINTERRUPTIBLE, "D|K");
	check_state(switch_3_10, 8, TL_SWITCH_STOPPED, "t");
	check_state(switch_3_10, 16, TL_SWITCH_EXITING, "Z");
	check_state(switch_3_10, 64, TL_SWITCH_EXITING, "x");
	check_state(switch_3_10, 512, TL_SWITCH_PARKED, "P");
	check_state(switch_3_10, 1024, TL_SWITCH_RUNNABLE, "R+");
	check_state(switch_3_10, 1024 | 1, TL_SWITCH_RUNNABLE, "S+");
}

static void states_follow_the_letters_of_a_new_kernel(void **state)
{
	(void)state;
	check_state(switch_4_19, 0, TL_SWITCH_RUNNABLE, "R");
	check_state(switch_4_19, 4, TL_SWITCH_STOPPED, "T");
	check_state(switch_4_19, 16, TL_SWITCH_EXITING, "X");
	check_state(switch_4_19, 64, TL_SWITCH_PARKED, "P");
	check_state(switch_4_19, 128, TL_SWITCH_IDLE, "I");
	check_state(switch_4_19, 256, TL_SWITCH_RUNNABLE, "R+");
}

static void state_without_letters_is_unknown(void **state)
{
	const char *format = "name: sched_switch\nID: 310\n" COMMON SWITCH_FIELDS
			     "print fmt: \"%ld\", REC->prev_state\n";
	struct perf_tracepoints *tp = open_formats(false, 8, "sched", &format, 1);
	struct blob raw = { 0 };

	(void)state;
	put_switch(&raw, 1);
	struct perf_tracepoint_hit hit = decode(tp, 310, &raw);
	assert_int_equal(hit.what, PERF_TRACEPOINT_SWITCH);
	assert_int_equal(hit.prev_state, TL_SWITCH_UNKNOWN);
	tl_text_release(&raw.text);
	perf_tracepoints_close(tp);
}

#define WAKEUP_FIELDS                                              \
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:1;\n" \
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"     \
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"

static struct perf_tracepoint_hit wake(const char *format, int success)
{
	struct perf_tracepoints *tp = open_formats(false, 8, "sched", &format, 1);
	struct blob raw = { 0 };

	put_common(&raw, 5, 12);
	tl_text_add(&raw.text, "sleeper\0\0\0\0\0\0\0\0\0", 16);
	put(&raw, 4711, 4);
	put(&raw, 120, 4);
	if (success >= 0)
		put(&raw, success, 4);
	put(&raw, 3, 4);
	struct perf_tracepoint_hit hit = decode(tp, 5, &raw);
	hit.payload.json = NULL;
	tl_text_release(&raw.text);
	perf_tracepoints_close(tp);
	return hit;
}

static void wakeups_tell_whom_and_where(void **state)
{
	struct perf_tracepoint_hit hit =
		wake("name: sched_waking\nID: 5\n" COMMON WAKEUP_FIELDS
		     "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n",
		     -1);

	(void)state;
	assert_int_equal(hit.what, PERF_TRACEPOINT_WAKING);
	assert_int_equal(hit.wakee_pid, 4711);
	assert_int_equal(hit.target_cpu, 3);
	assert_int_equal(hit.common_pid, 12);
	assert_int_equal(hit.prev_pid, TL_ID_NONE);
}

static void a_wakeup_without_success_is_none(void **state)
{
	const char *format = "name: sched_wakeup\nID: 5\n" COMMON WAKEUP_FIELDS
			     "\tfield:int success;\toffset:32;\tsize:4;\tsigned:1;\n"
			     "\tfield:int target_cpu;\toffset:36;\tsize:4;\tsigned:1;\n\n"
			     "print fmt: \"\"\n";

	(void)state;
	assert_int_equal(wake(format, 1).what, PERF_TRACEPOINT_WAKEUP);
	assert_int_equal(wake(format, 1).target_cpu, 3);
	assert_int_equal(wake(format, 0).what, PERF_TRACEPOINT_OTHER);
}

/* ---- kinds of fields ------------------------------------------------------------------------ */

static const char kinds[] =
	"name: kinds\nID: 9\n" COMMON "\tfield:u8 byte;\toffset:8;\tsize:1;\tsigned:0;\n"
	"\tfield:s16 half;\toffset:10;\tsize:2;\tsigned:1;\n"
	"\tfield:void * pointer;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:u64 big;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long args[2];\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:u8 mac[3];\toffset:32;\tsize:3;\tsigned:0;\n"
	"\tfield:struct timespec when;\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:1;\n"
	"\tfield:__rel_loc u16[] list;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u8[] bytes;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:int kind;\toffset:52;\tsize:4;\tsigned:1;\n"
	"\tfield:int kind_name;\toffset:56;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"%s %d\", __print_symbolic(REC->kind, { -1, \"none\" }, { 2, \"a\" \"b\" }), "
	"REC->kind_name\n";

/* The dynamic part begins at 60. */
static void put_kinds(struct blob *raw)
{
	put_common(raw, 9, 1);
	put(raw, 200, 1);
	put(raw, 0, 1);
	put(raw, 0xfffe, 2);
	put(raw, 0xdeadbeef, 4);
	put(raw, 0xffffffffffffffff, 8);
	put(raw, 7, 4);
	put(raw, 8, 4);
	tl_text_add(&raw->text, "\x01\x02\xff\0", 4);
	put(raw, 0xaabbccdd, 4);
	put(raw, 5 << 16 | 60, 4);
	put(raw, 4 << 16 | (66 - 48), 4);
	put(raw, 2 << 16 | 70, 4);
	put(raw, 2, 4);
	put(raw, 5, 4);
	tl_text_add(&raw->text,
		    "a\"\xff"
		    "b\0\0",
		    6);
	put(raw, 300, 2);
	put(raw, 301, 2);
	tl_text_add(&raw->text, "\x0a\x0b", 2);
}

#define KINDS_JSON                                                                       \
	"{\"byte\":200,\"half\":-2,\"pointer\":3735928559,\"big\":18446744073709551615," \
	"\"args\":[7,8],\"mac\":[1,2,255],\"when\":\"%s\",\"name\":\"a\\\"\xef\xbf\xbd"  \
	"b\","                                                                           \
	"\"list\":[300,301],\"bytes\":\"0a0b\",\"kind\":2,\"kind_name_2\":\"ab\",\"kind_name\":5}"

static void check_kinds(bool is_big_endian, const char *when)
{
	const char *format = kinds;
	struct perf_tracepoints *tp = open_formats(is_big_endian, 4, "test", &format, 1);
	struct blob raw = { .is_big_endian = is_big_endian };
	char want[512];

	put_kinds(&raw);
	struct perf_tracepoint_hit hit = decode(tp, 9, &raw);
	snprintf(want, sizeof(want), KINDS_JSON, when);
	assert_string_equal(hit.payload.json, want);
	assert_int_equal(hit.payload.json_length, strlen(want));
	assert_false(hit.payload.is_raw);
	tl_text_release(&raw.text);
	perf_tracepoints_close(tp);
}

static void every_kind_of_field_is_read_little_endian(void **state)
{
	(void)state;
	check_kinds(false, "ddccbbaa");
}

static void every_kind_of_field_is_read_big_endian(void **state)
{
	(void)state;
	check_kinds(true, "aabbccdd");
}

static void a_dynamic_part_outside_makes_the_payload_raw(void **state)
{
	const char *format = kinds;
	struct perf_tracepoints *tp = open_formats(false, 4, "test", &format, 1);
	struct blob raw = { 0 };

	(void)state;
	put_kinds(&raw);
	raw.text.length--; /* the last byte of "bytes" */
	struct perf_tracepoint_hit hit = decode(tp, 9, &raw);
	assert_true(hit.payload.is_raw);
	assert_int_equal(strncmp(hit.payload.json, "{\"raw\":\"0900", 12), 0);
	tl_text_release(&raw.text);
	perf_tracepoints_close(tp);
}

static void a_payload_cut_at_every_byte_is_raw(void **state)
{
	const char *format = kinds;
	struct perf_tracepoints *tp = open_formats(false, 4, "test", &format, 1);
	struct blob raw = { 0 };

	(void)state;
	put_kinds(&raw);
	size_t len = raw.text.length;
	for (raw.text.length = 0; raw.text.length < len; raw.text.length++) {
		struct perf_tracepoint_hit hit = decode(tp, 9, &raw);

		assert_true(hit.payload.is_raw);
		assert_int_equal(hit.payload.json_length, 10 + 2 * raw.text.length);
	}
	tl_text_release(&raw.text);
	perf_tracepoints_close(tp);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The JSON of a hit of one int field "v" (value as given) under this print fmt. */
static void check_name(const char *print_format, int value, const char *want)
{
	char text[4096];
	const char *format = text;

	snprintf(text, sizeof(text),
		 "name: v\nID: 1\n" COMMON "\tfield:int v;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\tfield:int w;\toffset:12;\tsize:4;\tsigned:1;\n\nprint fmt: %s\n",
		 print_format);
	struct perf_tracepoints *tp = open_formats(false, 8, "test", &format, 1);
	struct blob raw = { 0 };
	put_common(&raw, 1, 1);
	put(&raw, (uint32_t)value, 4);
	put(&raw, 0, 4);
	struct perf_tracepoint_hit hit = decode(tp, 1, &raw);
	assert_string_equal(hit.payload.json, want);
	tl_text_release(&raw.text);
	perf_tracepoints_close(tp);
}

static void flags_are_joined_and_the_rest_is_hex(void **state)
{
	(void)state;
	check_name(
		"\"%s\", __print_flags(REC->v, \"|\", { 1UL << 0, \"A\" }, { (1<<1)|4, \"BC\" })",
		0x17, "{\"v\":23,\"v_name\":\"A|BC|0x10\",\"w\":0}");
	check_name("\"%s\", __print_flags(REC->v, \"|\", { 1, \"A\" }, { 0, ((void *)0) })", 0,
		   "{\"v\":0,\"w\":0}");
}

static void symbols_without_a_match_are_hex(void **state)
{
	(void)state;
	check_name("\"%s\", __print_symbolic((REC)->v, { 1, \"one\" })", 2,
		   "{\"v\":2,\"v_name\":\"0x2\",\"w\":0}");
}

static void a_part_of_a_field_can_be_named(void **state)
{
	(void)state;
	check_name("\"%d:%-8s\", REC->w, __print_symbolic((((REC->v) >> 13) & (8 - 1)), { 2, "
		   "\"be\" })",
		   2 << 13 | 1, "{\"v\":16385,\"v_name\":\"be\",\"w\":0}");
}

static void names_of_two_fields_together_are_left_out(void **state)
{
	(void)state;
	check_name("\"%s\", __print_flags(REC->w ? REC->v : 0, \"|\", { 1, \"A\" })", 1,
		   "{\"v\":1,\"w\":0}");
}

static void unresolved_constants_name_nothing(void **state)
{
	(void)state;
	check_name("\"%s\", __print_symbolic(REC->v, { HI_SOFTIRQ, \"HI\" })", 0,
		   "{\"v\":0,\"w\":0}");
}

static void an_argument_not_understood_spoils_no_other(void **state)
{
	(void)state;
	check_name("\"%s %s\", ({ what(REC->w); }), __print_symbolic(REC->v, { 1, \"one\" })", 1,
		   "{\"v\":1,\"v_name\":\"one\",\"w\":0}");
	check_name("\"%s %s\", jiffies_to_msecs(REC->w), __print_symbolic(REC->v, { 1, \"one\" })",
		   1, "{\"v\":1,\"v_name\":\"one\",\"w\":0}");
}

static void division_by_zero_is_no_name(void **state)
{
	(void)state;
	check_name("\"%s\", __print_symbolic(REC->v / (1 - 1), { 1, \"one\" })", 1,
		   "{\"v\":1,\"w\":0}");
	check_name("\"%s\", __print_symbolic(1 / REC->v, { 1, \"one\" })", 0, "{\"v\":0,\"w\":0}");
}

static void deep_nesting_is_refused_not_followed(void **state)
{
	char text[4000] = "\"%s\", ";

	(void)state;
	memset(text + 6, '(', 3900);
	check_name(text, 1, "{\"v\":1,\"w\":0}");
	memset(text + 6, '!', 3900);
	check_name(text, 1, "{\"v\":1,\"w\":0}");
}

/* ---- numbering ------------------------------------------------------------------------------ */

static void equal_payloads_share_a_key_and_json_comes_once(void **state)
{
	const char *format = switch_4_19;
	struct perf_tracepoints *tp = open_formats(false, 8, "sched", &format, 1);
	struct blob a = { 0 }, b = { 0 };

	(void)state;
	put_switch(&a, 1);
	put_switch(&b, 2);
	struct perf_tracepoint_hit first = decode(tp, 310, &a);
	assert_int_equal(first.payload.key, 0);
	assert_non_null(first.payload.json);
	a.text.data[2] = 1; /* common_flags do not count */
	struct perf_tracepoint_hit again = decode(tp, 310, &a);
	assert_int_equal(again.payload.key, 0);
	assert_null(again.payload.json);
	assert_int_equal(again.prev_state, TL_SWITCH_SLEEPING);
	assert_int_equal(decode(tp, 310, &b).payload.key, 1);
	assert_int_equal(decode(tp, 311, &b).payload.key, 2); /* another id, unknown */
	tl_text_release(&a.text);
	tl_text_release(&b.text);
	perf_tracepoints_close(tp);
}

static void a_full_dictionary_starts_again_with_fresh_keys(void **state)
{
	struct perf_tracepoints *tp = open_blob(&(struct tl_text) { 0 });
	struct perf_tracepoint_hit hit;
	struct tl_error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 200000; i++) {
		assert_int_equal(perf_tracepoint_decode(tp, 1, (uint8_t *)&i, 4, true, &hit, &err),
				 TL_OK);
		assert_int_equal(hit.payload.key, i);
		assert_non_null(hit.payload.json);
	}
	uint32_t last = 199999, first = 0;
	perf_tracepoint_decode(tp, 1, (uint8_t *)&last, 4, true, &hit, &err);
	assert_int_equal(hit.payload.key, 199999);
	perf_tracepoint_decode(tp, 1, (uint8_t *)&first, 4, true, &hit, &err);
	assert_int_equal(hit.payload.key, 200000);
	perf_tracepoints_close(tp);
}

static void without_tracing_data_everything_is_raw(void **state)
{
	struct perf_tracepoints *tp = open_blob(&(struct tl_text) { 0 });
	struct perf_tracepoint_hit hit;
	struct tl_error err = { 0 };

	(void)state;
	assert_null(perf_tracepoints_name(tp, 310));
	perf_tracepoint_decode(tp, 310, (const uint8_t *)"\x01\xab", 2, true, &hit, &err);
	assert_string_equal(hit.payload.json, "{\"raw\":\"01ab\"}");
	assert_true(hit.payload.is_raw);
	assert_int_equal(hit.common_pid, TL_ID_NONE);
	assert_null(perf_tracepoints_name(NULL, 310));
	perf_tracepoint_decode(NULL, 310, (const uint8_t *)"\x01\xab", 2, true, &hit, &err);
	assert_null(hit.payload.json);
	perf_tracepoints_close(tp);
}

/* ---- damage --------------------------------------------------------------------------------- */

static void foreign_bytes_are_refused(void **state)
{
	struct perf_tracepoints *tp;
	struct tl_error err = { 0 };

	(void)state;
	assert_int_equal(perf_tracepoints_open(&tp, (const uint8_t *)"tracing", 7, &err),
			 TL_FORMAT);
	assert_null(tp);
}

static void a_bad_format_leaves_the_others_usable(void **state)
{
	static const char *const formats[] = {
		"name: bad\nID: 3\nformat:\n\tfield:int x;\toffset:0;\tsize:99999;\tsigned:1;\n\n"
		"print fmt: \"\"\n",
		switch_4_19, "ID: 4\n"
	};
	struct perf_tracepoints *tp = open_formats(false, 8, "sched", formats, 3);

	(void)state;
	assert_string_equal(perf_tracepoints_name(tp, 310), "sched:sched_switch");
	assert_null(perf_tracepoints_name(tp, 3));
	assert_string_equal(perf_tracepoints_damage(tp, NULL),
			    "format of sched:bad: a field that is not \"field:TYPE NAME; offset:N; "
			    "size:N;\"; 1 like it");
	perf_tracepoints_close(tp);
}

static void a_cut_blob_keeps_what_came_before(void **state)
{
	static const char *const formats[] = { switch_4_19, kinds };
	struct perf_tracepoints *tp;
	struct tl_error err = { 0 };
	uint64_t position;
	struct blob b;

	(void)state;
	make_blob(&b, false, 8, "sched", formats, 2);
	for (size_t len = 10; len < b.text.length; len++) {
		uint8_t *copy = malloc(len);

		memcpy(copy, b.text.data, len);
		assert_int_equal(perf_tracepoints_open(&tp, copy, len, &err), TL_OK);
		assert_non_null(perf_tracepoints_damage(tp, &position));
		assert_true(position <= len);
		perf_tracepoints_close(tp);
		free(copy);
	}
	tp = open_blob(&(struct tl_text) { b.text.data, b.text.length - 40, 0, false });
	assert_string_equal(perf_tracepoints_name(tp, 310), "sched:sched_switch");
	perf_tracepoints_close(tp);
	tl_text_release(&b.text);
}

static void odd_declarations_keep_their_place_as_bytes(void **state)
{
	const char *format =
		"name: odd\nID: 2\n" COMMON
		"\tfield:char grid[2][2];\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:const char __attribute__((btf_type_tag(\"user\"))) * path;\toffset:16;"
		"\tsize:8;\tsigned:0;\n"
		"\tfield:int after;\toffset:24;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
	struct perf_tracepoints *tp = open_formats(false, 8, "test", &format, 1);
	struct blob raw = { 0 };

	(void)state;
	put_common(&raw, 2, 1);
	put(&raw, 0x44332211, 4);
	put(&raw, 0, 4);
	put(&raw, 4096, 8);
	put(&raw, 6, 4);
	assert_string_equal(decode(tp, 2, &raw).payload.json,
			    "{\"grid\":\"11223344\",\"path\":4096,\"after\":6}");
	tl_text_release(&raw.text);
	perf_tracepoints_close(tp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_hits_read_as_perf_reads_them),
		cmocka_unit_test(states_follow_the_letters_of_an_old_kernel),
		cmocka_unit_test(states_follow_the_letters_of_a_new_kernel),
		cmocka_unit_test(state_without_letters_is_unknown),
		cmocka_unit_test(wakeups_tell_whom_and_where),
		cmocka_unit_test(a_wakeup_without_success_is_none),
		cmocka_unit_test(every_kind_of_field_is_read_little_endian),
		cmocka_unit_test(every_kind_of_field_is_read_big_endian),
		cmocka_unit_test(a_dynamic_part_outside_makes_the_payload_raw),
		cmocka_unit_test(a_payload_cut_at_every_byte_is_raw),
		cmocka_unit_test(flags_are_joined_and_the_rest_is_hex),
		cmocka_unit_test(symbols_without_a_match_are_hex),
		cmocka_unit_test(a_part_of_a_field_can_be_named),
		cmocka_unit_test(names_of_two_fields_together_are_left_out),
		cmocka_unit_test(unresolved_constants_name_nothing),
		cmocka_unit_test(an_argument_not_understood_spoils_no_other),
		cmocka_unit_test(division_by_zero_is_no_name),
		cmocka_unit_test(deep_nesting_is_refused_not_followed),
		cmocka_unit_test(equal_payloads_share_a_key_and_json_comes_once),
		cmocka_unit_test(a_full_dictionary_starts_again_with_fresh_keys),
		cmocka_unit_test(without_tracing_data_everything_is_raw),
		cmocka_unit_test(foreign_bytes_are_refused),
		cmocka_unit_test(a_bad_format_leaves_the_others_usable),
		cmocka_unit_test(a_cut_blob_keeps_what_came_before),
		cmocka_unit_test(odd_declarations_keep_their_place_as_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
