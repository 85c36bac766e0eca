/*
 * fuzz_replay.c - main() of the fuzzers where no fuzzing compiler is at hand: runs the same function
 * over files, and over what is in directories. Options of libFuzzer are passed by.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t run_count;

static int run_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);
	FILE *file = fopen(path, "rb");
	int failed = !data || !file;

	if (!failed) {
		size = fread(data, 1, size, file);
		LLVMFuzzerTestOneInput(data, size);
		run_count++;
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
		if (argv[i][0] != '-')
			failed |= run_path(argv[i]);
	}
	fprintf(stderr, "%zu inputs run\n", run_count);
	return failed;
}
