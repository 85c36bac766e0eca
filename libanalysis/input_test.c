/*
 * input_test.c - windows, lines, and compressed inputs made here with the libraries themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "reader.h"

static char path[64];

static void write_file(const void *data, size_t len)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/input_test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void windows_show_any_part(void **state)
{
	struct tl_input *in;
	struct tl_error err = { 0 };
	const uint8_t *data;
	size_t len = 3 << 20;
	uint8_t *big = malloc(len);
	uint64_t size;

	(void)state;
	for (size_t i = 0; i < len; i++)
		big[i] = (uint8_t)(i * 7 >> 3);
	write_file(big, len);
	assert_int_equal(tl_input_open(&in, path, &err), TL_OK);
	assert_int_equal(tl_input_size(in, &size, &err), TL_OK);
	assert_int_equal(size, len);
	for (uint64_t at = 0; at < len; at += 99991) {
		size_t got;

		assert_int_equal(tl_input_window(in, at, 5000, &data, &got, &err), TL_OK);
		assert_int_equal(got, len - at < 5000 ? len - at : 5000);
		assert_memory_equal(data, big + at, got);
	}
	assert_int_equal(tl_input_window(in, 10, 100, &data, &len, &err), TL_OK); /* backwards */
	assert_memory_equal(data, big + 10, 100);
	assert_int_equal(tl_input_window(in, size, 100, &data, &len, &err), TL_OK);
	assert_int_equal(len, 0);
	tl_input_close(in);
	unlink(path);
	free(big);
}

static void check_lines(struct tl_input *in)
{
	struct tl_error err = { 0 };
	struct tl_line line;

	assert_int_equal(tl_input_line(in, &line, &err), 1);
	assert_int_equal(line.length, 5);
	assert_memory_equal(line.text, "first", 5);
	assert_int_equal(line.number, 1);
	assert_int_equal(tl_input_line(in, &line, &err), 1);
	assert_int_equal(line.length, 0);
	assert_int_equal(line.offset, 7); /* after CR LF */
	assert_int_equal(tl_input_line(in, &line, &err), 1);
	assert_memory_equal(line.text, "cut", 3);
	assert_int_equal(line.length, 3);
	assert_false(line.has_newline);
	assert_int_equal(line.number, 3);
	assert_int_equal(tl_input_line(in, &line, &err), 0);
	assert_int_equal(tl_input_line(in, &line, &err), 0);
}

static const char three_lines[] = "first\r\n\ncut";

static void lines_end_with_or_without_newline(void **state)
{
	struct tl_input *in;

	(void)state;
	assert_int_equal(
		tl_input_open_memory(&in, "memory", (const uint8_t *)three_lines, 11, NULL), TL_OK);
	check_lines(in);
	tl_input_close(in);
}

static void a_line_beyond_the_limit_comes_in_pieces(void **state)
{
	size_t len = 2 * (size_t)TL_INPUT_LINE_MAX + 5;
	char *text = malloc(len);
	struct tl_input *in;
	struct tl_line line;
	size_t total = 0;

	(void)state;
	memset(text, 'x', len);
	text[len - 2] = '\n';
	assert_int_equal(tl_input_open_memory(&in, "memory", (const uint8_t *)text, len, NULL),
			 TL_OK);
	do {
		assert_int_equal(tl_input_line(in, &line, NULL), 1);
		assert_int_equal(line.number, 1);
		total += line.length;
	} while (line.is_partial);
	assert_int_equal(total, len - 2);
	assert_int_equal(tl_input_line(in, &line, NULL), 1);
	assert_int_equal(line.number, 2);
	assert_int_equal(line.length, 1);
	tl_input_close(in);
	free(text);
}

static size_t gzip(uint8_t *out, size_t room, const void *data, size_t len)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)len;
	z.next_out = out;
	z.avail_out = (uInt)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return room - z.avail_out;
}

static void compressed_files_read_as_plain_ones(void **state)
{
	uint8_t packed[256];
	struct tl_input *in;
	size_t len = gzip(packed, sizeof(packed), three_lines, 5);

	(void)state;
	/* two gzip members, as `cat a.gz b.gz` makes them */
	len += gzip(packed + len, sizeof(packed) - len, three_lines + 5, 6);
	write_file(packed, len);
	assert_int_equal(tl_input_open(&in, path, NULL), TL_OK);
	assert_true(tl_input_is_compressed(in));
	check_lines(in);
	assert_null(tl_input_damage(in));
	tl_input_close(in);
	unlink(path);

	len = ZSTD_compress(packed, sizeof(packed), three_lines, 11, 1);
	write_file(packed, len);
	assert_int_equal(tl_input_open(&in, path, NULL), TL_OK);
	check_lines(in);
	tl_input_close(in);
	unlink(path);
}

static void a_cut_gzip_gives_what_inflates_and_says_so(void **state)
{
	size_t len = 100000, packed_len;
	char *text = malloc(len);
	uint8_t *packed = malloc(len);
	struct tl_input *in;
	uint64_t size;
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < len; i++)
		text[i] = (char)((seed = seed * 1103515245 + 12345) >> 24);
	packed_len = gzip(packed, len, text, len / 2);
	write_file(packed, packed_len / 2);
	assert_int_equal(tl_input_open(&in, path, NULL), TL_OK);
	assert_int_equal(tl_input_size(in, &size, NULL), TL_OK);
	assert_true(size > 0 && size < len / 2);
	assert_non_null(tl_input_damage(in));
	tl_input_close(in);
	unlink(path);
	free(text);
	free(packed);
}

static void a_bomb_is_refused(void **state)
{
	/* 4 GiB of zeros in zstd frames of a few bytes per megabyte */
	size_t len = 1 << 22, packed_len, at = 0;
	char *zeros = calloc(1, len);
	uint8_t frame[4096], *packed = malloc(1024 * sizeof(frame));
	struct tl_error err = { 0 };
	struct tl_input *in;
	uint64_t size;

	(void)state;
	packed_len = ZSTD_compress(frame, sizeof(frame), zeros, len, 19);
	assert_false(ZSTD_isError(packed_len));
	for (int i = 0; i < 1024; i++, at += packed_len)
		memcpy(packed + at, frame, packed_len);
	write_file(packed, at);
	assert_int_equal(tl_input_open(&in, path, &err), TL_OK);
	assert_int_equal(tl_input_size(in, &size, &err), TL_FORMAT);
	assert_non_null(strstr(err.text, "refused"));
	tl_input_close(in);
	unlink(path);
	free(zeros);
	free(packed);
}

static void what_cannot_be_opened_is_said(void **state)
{
	struct tl_error err = { 0 };
	struct tl_input *in;
	char text[400];

	(void)state;
	assert_int_equal(tl_input_open(&in, "/nonexistent/x", &err), TL_IO);
	assert_null(in);
	assert_string_equal(tl_error_format(&err, text, sizeof(text)),
			    "/nonexistent/x: cannot open: No such file or directory");
}

static void a_directory_opens_its_members(void **state)
{
	struct tl_input *dir, *in;
	char *name;

	(void)state;
	write_file(three_lines, 11);
	name = strrchr(path, '/') + 1;
	assert_int_equal(tl_input_open(&dir, "/tmp", NULL), TL_OK);
	assert_true(tl_input_is_directory(dir));
	assert_int_equal(tl_input_open_beside(&in, dir, name, NULL), TL_OK);
	check_lines(in);
	tl_input_close(in);
	tl_input_close(dir);
	unlink(path);
}

static void windows_and_fingerprints_do_not_disturb_lines(void **state)
{
	struct tl_input *in;
	struct tl_line line;
	const uint8_t *data;
	size_t len = (3 << 20) + 1, got;
	char *text = malloc(len);
	uint64_t hash, again;

	(void)state;
	memset(text, 'x', len);
	for (size_t i = 9; i < len; i += 10)
		text[i] = '\n';
	write_file(text, len);
	assert_int_equal(tl_input_open(&in, path, NULL), TL_OK);
	assert_int_equal(tl_input_fingerprint(in, &hash, NULL), TL_OK);
	for (uint64_t i = 1; i <= len / 10; i++) {
		assert_int_equal(tl_input_line(in, &line, NULL), 1);
		assert_int_equal(line.number, i);
		assert_int_equal(line.offset, (i - 1) * 10);
		assert_int_equal(line.length, 9);
		if (i % 50000 == 0)
			assert_int_equal(tl_input_window(in, len - 5, 5, &data, &got, NULL), TL_OK);
	}
	assert_int_equal(tl_input_fingerprint(in, &again, NULL), TL_OK);
	assert_true(hash == again && hash);
	tl_input_close(in);
	unlink(path);
	free(text);
}

/* A plain file, a compressed one, and memory. */
static void bytes_come_in_order_without_spooling(void **state)
{
	const size_t size = 3000001;
	uint8_t *data = malloc(size), *back = malloc(size);
	struct tl_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 7 >> 3);
	for (int how = 0; how < 3; how++) {
		struct tl_input *in = NULL;
		size_t got, at = 0;

		if (how == 0)
			write_file(data, size);
		if (how == 1) {
			gzFile gz = gzopen(path, "wb");

			gzwrite(gz, data, (unsigned)size);
			gzclose(gz);
		}
		assert_int_equal(how < 2 ? tl_input_open(&in, path, &err)
					 : tl_input_open_memory(&in, "m", data, size, &err),
				 TL_OK);
		assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0); /* spooling would fail */
		do {
			assert_int_equal(tl_input_read(in, back + at, 700000, &got, &err), TL_OK);
			at += got;
		} while (got == 700000 && at + 700000 <= size);
		assert_true(tl_input_fraction(in) > 0.8 && tl_input_fraction(in) <= 1);
		assert_int_equal(tl_input_read(in, back + at, size - at, &got, &err), TL_OK);
		assert_int_equal(at + got, size);
		assert_int_equal(tl_input_read(in, &(uint8_t) { 0 }, 1, &got, &err), TL_OK);
		assert_int_equal(got, 0);
		assert_memory_equal(data, back, size);
		unsetenv("TMPDIR");
		tl_input_close(in);
	}
	unlink(path);
	free(data);
	free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_show_any_part),
		cmocka_unit_test(lines_end_with_or_without_newline),
		cmocka_unit_test(a_line_beyond_the_limit_comes_in_pieces),
		cmocka_unit_test(compressed_files_read_as_plain_ones),
		cmocka_unit_test(a_cut_gzip_gives_what_inflates_and_says_so),
		cmocka_unit_test(a_bomb_is_refused),
		cmocka_unit_test(what_cannot_be_opened_is_said),
		cmocka_unit_test(a_directory_opens_its_members),
		cmocka_unit_test(windows_and_fingerprints_do_not_disturb_lines),
		cmocka_unit_test(bytes_come_in_order_without_spooling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
