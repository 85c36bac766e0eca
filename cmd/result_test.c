/*
 * result_test.c - result files appear whole or not at all. Works in a directory of its own.
 */
#include "output.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/traceloom-result-test.XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder);
}

static int leave_folder(void **state)
{
	(void)state;
	unlink("result");
	unlink("link");
	unlink("target");
	return chdir("/") || rmdir(folder);
}

static int file_count(void)
{
	DIR *dir = opendir(".");
	int count = 0;

	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void write_result(const char *path, const char *text, bool is_good)
{
	struct tl_error err = { 0 };
	struct result_file result;

	assert_int_equal(result_open(&result, path, &err), TL_OK);
	fputs(text, result.file);
	assert_int_equal(result_close(&result, is_good, &err), TL_OK);
}

static void assert_content(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, expected);
}

static void good_result_has_its_name_and_nothing_else_is_left(void **state)
{
	(void)state;
	write_result("result", "one", true);
	assert_content("result", "one");
	assert_int_equal(file_count(), 1);
}

static void bad_result_leaves_the_old_one(void **state)
{
	(void)state;
	write_result("result", "one", true);
	write_result("result", "two", false);
	assert_content("result", "one");
	assert_int_equal(file_count(), 1);
}

static void result_has_the_rights_of_a_new_file(void **state)
{
	mode_t mask = umask(027);
	struct stat st;

	(void)state;
	write_result("result", "one", true);
	umask(mask);
	assert_int_equal(stat("result", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void link_is_written_through(void **state)
{
	struct stat st;

	(void)state;
	write_result("target", "old", true);
	assert_int_equal(symlink("target", "link"), 0);
	write_result("link", "new", true);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_content("target", "new");
}

static void missing_folder_is_told(void **state)
{
	struct tl_error err = { 0 };
	struct result_file result;
	char text[256];

	(void)state;
	assert_int_equal(result_open(&result, "no/such/file", &err), TL_IO);
	assert_string_equal(tl_error_format(&err, text, sizeof(text)),
			    "no/such/file: cannot be created: No such file or directory");
	assert_int_equal(result_close(&result, false, &err), TL_OK);
}

static void full_device_is_told(void **state)
{
	struct tl_error err = { 0 };
	struct result_file result;

	(void)state;
	if (access("/dev/full", W_OK) != 0)
		skip();
	assert_int_equal(result_open(&result, "/dev/full", &err), TL_OK);
	fputs("text", result.file);
	assert_int_equal(result_close(&result, true, &err), TL_IO);
	assert_string_equal(err.text, "cannot be written: No space left on device");
}

static void dash_is_standard_output(void **state)
{
	struct tl_error err = { 0 };
	struct result_file result;

	(void)state;
	assert_int_equal(result_open(&result, "-", &err), TL_OK);
	assert_ptr_equal(result.file, stdout);
	assert_int_equal(result_close(&result, true, &err), TL_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_result_has_its_name_and_nothing_else_is_left),
		cmocka_unit_test(bad_result_leaves_the_old_one),
		cmocka_unit_test(result_has_the_rights_of_a_new_file),
		cmocka_unit_test(link_is_written_through),
		cmocka_unit_test(missing_folder_is_told),
		cmocka_unit_test(full_device_is_told),
		cmocka_unit_test(dash_is_standard_output),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
