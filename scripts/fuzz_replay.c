/*
 * fuzz_replay.c - main() of the fuzzers where no fuzzing compiler is at hand: runs the same function
 * over files, and over what is in directories. Options of libFuzzer are passed by.
 *
 * With --cuts each file is also run cut off at every byte of its first 64 KiB, with --flips also
 * with each of its first 4 KiB, where headers are, inverted, and with its lowest bit so.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CUTS_MAX = 64 << 10, FLIPS_MAX = 4 << 10 };

static size_t run_count;
static bool wants_cuts, wants_flips;

/* In a block of exactly its size, so that a read behind its end is found. */
static void run_bytes(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	run_count++;
}

static void run_variants(uint8_t *data, size_t size)
{
	run_bytes(data, size);
	for (size_t cut = 0; wants_cuts && cut < size && cut < CUTS_MAX; cut++)
		run_bytes(data, cut);
	for (size_t at = 0; wants_flips && at < size && at < FLIPS_MAX; at++) {
		data[at] ^= 0xff;
		run_bytes(data, size);
		data[at] ^= 0xff ^ 0x01;
		run_bytes(data, size);
		data[at] ^= 0x01;
	}
}

static int run_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);
	FILE *file = fopen(path, "rb");
	int failed = !data || !file;

	if (!failed) {
		size = fread(data, 1, size, file);
		run_variants(data, size);
	} else {
		perror(path);
	}
	if (file)
		fclose(file);
	free(data);
	return failed;
}

static int run_path(const char *path)
{
	struct dirent *entry;
	struct stat st;
	int failed = 0;
	DIR *dir;

	if (stat(path, &st) < 0) {
		perror(path);
		return 1;
	}
	if (!S_ISDIR(st.st_mode))
		return run_file(path, (size_t)st.st_size);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char member[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(member, sizeof(member), "%s/%s", path, entry->d_name);
		failed |= run_path(member);
	}
	if (dir)
		closedir(dir);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		wants_cuts |= !strcmp(argv[i], "--cuts");
		wants_flips |= !strcmp(argv[i], "--flips");
	}
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-')
			failed |= run_path(argv[i]);
	}
	fprintf(stderr, "%zu inputs run\n", run_count);
	return failed;
}
