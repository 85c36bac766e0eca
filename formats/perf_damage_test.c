/*
 * perf_damage_test.c - recordings of testdata/perf cut short and with bytes flipped: each ends well, or
 * with a message, and within its memory.
 *
 * All cuts of the first 64 KiB and all flips of headers with DAMAGE=all; otherwise a sample of them
 * that takes some seconds, others for each file.
 */
#include <glob.h>
#include <sys/resource.h>

#include "perf_made.h"

#define CUT_BYTES_MAX	 65536u
#define HEADER_BYTES_MAX 65536u
#define MEMORY_MAX_KIB	 (256u << 10)

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

/* Of each file and kind, when not all are tried. */
#ifdef IS_SANITIZED
#define SAMPLED_TRIES 80u
#else
#define SAMPLED_TRIES 250u
#endif

struct watch {
	struct tl_sink sink;
	size_t complaints; /* damaged, truncated */
};

static int watch_event(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct watch *w = (struct watch *)sink;

	(void)err;
	if (ev->kind == TL_EVENT_DIAGNOSTIC) {
		assert_true(ev->diagnostic.what[0] != '\0');
		w->complaints += ev->diagnostic.kind == TL_DIAGNOSTIC_DAMAGED ||
				 ev->diagnostic.kind == TL_DIAGNOSTIC_TRUNCATED;
	}
	return TL_OK;
}

/* True if somebody was told that something is wrong. */
static bool import(const char *path, const uint8_t *data, size_t size)
{
	struct watch w = { .sink.emit = watch_event };
	struct tl_import_result result;
	struct tl_error err = { 0 };
	struct tl_input *in;
	int ret;

	assert_int_equal(tl_input_open_memory(&in, path, data, size, &err), TL_OK);
	ret = tl_import(&perf_importer, in, NULL, &w.sink, &result, &err);
	tl_input_close(in);
	if (ret < 0) {
		assert_int_equal(err.status, ret);
		assert_true(err.text[0] != '\0');
		assert_null(strchr(err.text, '\n'));
	} else {
		assert_int_equal(err.status, TL_OK);
	}
	return ret < 0 || w.complaints;
}

static size_t step_for(size_t tries)
{
	const char *damage = getenv("DAMAGE");

	if (damage && !strcmp(damage, "all"))
		return 1;
	return tries / SAMPLED_TRIES + 1;
}

static void check_memory(const char *path)
{
#ifndef IS_SANITIZED
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	if (usage.ru_maxrss > MEMORY_MAX_KIB)
		fail_msg("%s: %ld KiB in use", path, usage.ru_maxrss);
#else
	(void)path;
#endif
}

static uint64_t header_u64(const uint8_t *data, size_t at)
{
	return perf_load_u64(data + at, data[0] == '2');
}

static bool is_pipe(const uint8_t *data)
{
	return header_u64(data, 8) == 16;
}

/* A copy of its own size, so that a sanitizer sees the first byte read behind it. */
static void try_cut(const char *path, const uint8_t *data, size_t cut, bool must_be_told)
{
	uint8_t *copy = malloc(cut ? cut : 1);
	bool is_told;

	assert_non_null(copy);
	memcpy(copy, data, cut);
	is_told = import(path, copy, cut);
	free(copy);
	if (must_be_told && !is_told)
		fail_msg("%s cut at %zu: nobody was told", path, cut);
}

static void cut_everywhere(const char *path, const uint8_t *data, size_t size)
{
	size_t most = size < CUT_BYTES_MAX ? size : CUT_BYTES_MAX;
	bool is_file = size >= 104 && !is_pipe(data);

	for (size_t cut = 0, step = step_for(most); cut < most; cut += step)
		try_cut(path, data, cut, is_file || cut < 16);
}

static void flip(const char *path, uint8_t *data, size_t size, size_t at)
{
	const uint8_t masks[] = { 0xff, 0x01, 0x80 };

	for (size_t i = 0; i < sizeof(masks); i++) {
		data[at] ^= masks[i];
		import(path, data, size);
		data[at] ^= masks[i];
	}
}

static void flip_range(const char *path, uint8_t *data, size_t size, uint64_t begin, uint64_t end)
{
	if (end > size)
		end = size;
	if (begin < end && end - begin > HEADER_BYTES_MAX)
		end = begin + HEADER_BYTES_MAX;
	for (size_t at = begin, step = step_for(end - begin); at < end; at += step)
		flip(path, data, size, at);
}

/* What is in front of the data and behind them; of a pipe its first records. */
static void flip_headers(const char *path, const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size);
	uint64_t begin, end;

	assert_non_null(copy);
	memcpy(copy, data, size);
	if (size < 104 || is_pipe(data)) {
		flip_range(path, copy, size, 0, 4096);
	} else {
		begin = header_u64(data, 40);
		end = begin + header_u64(data, 48);
		flip_range(path, copy, size, 0, begin);
		flip_range(path, copy, size, end, size);
	}
	free(copy);
}

typedef void (*try_fn)(const char *path, const uint8_t *data, size_t size);

static void for_file(const char *path, try_fn try)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data;
	size_t size;
	long end;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	end = ftell(file);
	assert_true(end >= 0);
	size = (size_t)end;
	rewind(file);
	data = malloc(size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, size, file), size);
	fclose(file);
	try(path, data, size);
	free(data);
	check_memory(path);
}

static void for_all(try_fn try)
{
	const char *patterns[] = { "testdata/perf/*/perf.data", "testdata/perf/*/perf.data/data" };
	size_t count = 0;

	for (size_t i = 0; i < 2; i++) {
		glob_t found;

		if (glob(patterns[i], GLOB_MARK, NULL, &found))
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++) {
			const char *path = found.gl_pathv[j];

			if (path[strlen(path) - 1] == '/')
				continue; /* a directory: the next pattern looks into it */
			for_file(path, try);
			count++;
		}
		globfree(&found);
	}
	if (!count)
		skip();
}

static void recordings_cut_short_end_well(void **state)
{
	(void)state;
	for_all(cut_everywhere);
}

static void recordings_with_flipped_header_bytes_end_well(void **state)
{
	(void)state;
	for_all(flip_headers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings_cut_short_end_well),
		cmocka_unit_test(recordings_with_flipped_header_bytes_end_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
