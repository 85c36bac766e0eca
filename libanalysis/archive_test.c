/*
 * archive_test.c - which file of an archive a build-id finds; what hostile archives come to.
 */
#include "archive.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "spool.h"
#include "tar_example.h"

#define ID   "0123456789abcdef0123456789abcdef01234567"
#define LINK ".build-id/01/23456789abcdef0123456789abcdef01234567"

static struct tar_example example;
static struct tl_archive *archive;
static struct tl_error err;

static int setup(void **state)
{
	(void)state;
	memset(&example, 0, sizeof(example));
	memset(&err, 0, sizeof(err));
	archive = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tl_archive_close(archive);
	free(example.bytes);
	return 0;
}

static int read_example(void)
{
	struct tl_input *in;
	int ret;

	assert_int_equal(tl_input_open_memory(&in, "x.tar", example.bytes, example.size, &err),
			 TL_OK);
	ret = tl_archive_read(&archive, in, NULL, NULL, &err);
	tl_input_close(in);
	return ret;
}

static void read_whole(void)
{
	tar_example_end(&example);
	assert_int_equal(read_example(), TL_OK);
}

static const struct tl_archive_file *find(const char *leaf)
{
	int64_t at = TL_ARCHIVE_FIRST;

	return tl_archive_find(archive, ID, leaf, &at);
}

static void finds(const char *leaf, const char *name, const char *text)
{
	const struct tl_archive_file *file = find(leaf);
	char data[100];

	assert_non_null(file);
	assert_string_equal(file->name, name);
	assert_int_equal(file->size, strlen(text));
	assert_int_equal(tl_spool_read(file->fd, file->offset, data, (size_t)file->size, &err),
			 TL_OK);
	assert_memory_equal(data, text, strlen(text));
}

static void notes_are(const char *const *notes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_non_null(tl_archive_note(archive, i));
		assert_string_equal(tl_archive_note(archive, i), notes[i]);
	}
	assert_null(tl_archive_note(archive, count));
}

static void note_is(const char *note)
{
	notes_are(&note, 1);
}

/* ---- layouts ---- */

static void a_link_leads_to_the_directory_of_a_program(void **state)
{
	(void)state;
	tar_example_link(&example, LINK, "../../usr/bin/p/" ID);
	tar_example_header(&example, "usr/bin/p/" ID "/", '5', "", 0);
	tar_example_file(&example, "usr/bin/p/" ID "/elf", "program");
	tar_example_file(&example, "usr/bin/p/" ID "/debug", "its debug file");
	read_whole();
	finds("elf", "x.tar:usr/bin/p/" ID "/elf", "program");
	finds("debug", "x.tar:usr/bin/p/" ID "/debug", "its debug file");
	assert_null(find("vdso"));
	notes_are(NULL, 0);
}

static void a_link_of_old_perf_leads_to_the_program_itself(void **state)
{
	(void)state;
	tar_example_link(&example, LINK, "../../usr/bin/p/" ID);
	tar_example_file(&example, "usr/bin/p/" ID, "program");
	read_whole();
	finds("elf", "x.tar:usr/bin/p/" ID, "program");
	finds("kallsyms", "x.tar:usr/bin/p/" ID, "program"); /* perf puts these there too */
	assert_null(find("debug"));
}

static void a_file_may_stand_where_the_link_would(void **state)
{
	(void)state;
	tar_example_file(&example, LINK, "program");
	tar_example_file(&example, LINK ".debug", "its debug file");
	read_whole();
	finds("elf", "x.tar:" LINK, "program");
	finds("debug", "x.tar:" LINK ".debug", "its debug file");
}

static void links_may_lead_to_names_without_a_build_id(void **state)
{
	(void)state;
	tar_example_link(&example, LINK, "../../objects/p");
	tar_example_link(&example, "objects", "/store");
	tar_example_link(&example, "store/p", "./../pool/1");
	tar_example_file(&example, "pool/1", "program");
	read_whole();
	finds("elf", "x.tar:pool/1", "program");
}

static void the_cache_may_lie_below_other_directories(void **state)
{
	(void)state;
	tar_example_link(&example, "./root/.debug/" LINK, "../../usr/bin/p/" ID);
	tar_example_file(&example, "/root/.debug/usr/bin/p/" ID "/elf", "program");
	read_whole();
	finds("elf", "x.tar:root/.debug/usr/bin/p/" ID "/elf", "program");
}

static void without_the_links_directories_are_enough(void **state)
{
	(void)state;
	tar_example_file(&example, "[kernel.kallsyms]/" ID "/kallsyms", "0 T _text");
	read_whole();
	finds("kallsyms", "x.tar:[kernel.kallsyms]/" ID "/kallsyms", "0 T _text");
}

static void a_link_that_became_text_is_followed(void **state)
{
	(void)state;
	tar_example_file(&example, LINK, "../../usr/bin/p/" ID "\r\n");
	tar_example_file(&example, "usr/bin/p/" ID "/elf", "program");
	read_whole();
	finds("elf", "x.tar:usr/bin/p/" ID "/elf", "program");
}

static void a_hard_link_is_what_it_names(void **state)
{
	(void)state;
	tar_example_file(&example, "pool/1", "program");
	tar_example_header(&example, "usr/bin/p/" ID "/elf", '1', "pool/1", 0);
	read_whole();
	finds("elf", "x.tar:usr/bin/p/" ID "/elf", "program");
}

static void a_hard_link_to_a_link_leads_where_that_does(void **state)
{
	(void)state;
	tar_example_link(&example, LINK, "../../usr/bin/p/1");
	tar_example_header(&example, "other/" ID, '1', LINK, 0);
	tar_example_file(&example, "usr/bin/p/1/elf", "program");
	read_whole();
	finds("elf", "x.tar:usr/bin/p/1/elf", "program");
}

static void what_was_packed_twice_is_kept(void **state)
{
	(void)state;
	tar_example_link(&example, LINK, "../../usr/bin/p/" ID);
	tar_example_file(&example, "usr/bin/p/" ID "/elf", "program");
	tar_example_header(&example, LINK, '1', LINK, 0);
	tar_example_header(&example, "usr/bin/p/" ID "/elf", '1', "usr/bin/p/" ID "/elf", 0);
	read_whole();
	finds("elf", "x.tar:usr/bin/p/" ID "/elf", "program");
	notes_are(NULL, 0);
}

static void the_later_of_two_members_of_one_name_counts(void **state)
{
	(void)state;
	tar_example_file(&example, "usr/bin/p/" ID "/elf", "program");
	tar_example_file(&example, "./usr//bin/p/" ID "/elf", "newer");
	read_whole();
	finds("elf", "x.tar:usr/bin/p/" ID "/elf", "newer");
}

static void all_files_of_a_build_id_are_found(void **state)
{
	int64_t at = TL_ARCHIVE_FIRST;
	int count = 0;

	(void)state;
	tar_example_file(&example, "a/" ID "/elf", "1");
	tar_example_file(&example, "b/" ID "/elf", "2");
	tar_example_file(&example, "c/" ID "/debug", "3");
	read_whole();
	while (tl_archive_find(archive, ID, "elf", &at))
		count++;
	assert_int_equal(count, 2);
}

static void another_build_id_finds_nothing(void **state)
{
	int64_t at = TL_ARCHIVE_FIRST;

	(void)state;
	tar_example_file(&example, "a/" ID "/elf", "1");
	read_whole();
	assert_null(tl_archive_find(archive, "0123456789abcdef", "elf", &at));
}

/* ---- hostile ---- */

static void names_that_lead_elsewhere_are_left_out(void **state)
{
	char name[5000];

	(void)state;
	memset(name, 'n', sizeof(name));
	tar_example_file(&example, "../" ID "/elf", "evil");
	tar_example_file(&example, "a/../../" ID "/elf", "evil");
	tar_example_extra(&example, 'L', name, sizeof(name));
	tar_example_file(&example, "nnn", "evil");
	read_whole();
	assert_null(find("elf"));
	notes_are((const char *const[]) { "byte 0: 3 members left out: the name leads elsewhere "
					  "or is too long",
					  "holds no file that is named by a build-id" },
		  2);
}

static void links_out_of_the_archive_lead_nowhere(void **state)
{
	(void)state;
	tar_example_link(&example, LINK, "../../../../../../etc/passwd");
	tar_example_link(&example, "a/" ID, "/etc/passwd");
	read_whole();
	assert_null(find("elf"));
}

static void links_in_a_circle_lead_nowhere(void **state)
{
	(void)state;
	tar_example_link(&example, LINK, "../../a");
	tar_example_link(&example, "a", "b/c");
	tar_example_link(&example, "b", "a");
	tar_example_link(&example, "b/" ID "/elf", "elf");
	read_whole();
	assert_null(find("elf"));
}

static void a_link_that_grows_as_it_is_followed_leads_nowhere(void **state)
{
	char target[100];

	(void)state;
	memset(target, 'x', sizeof(target));
	memcpy(target, "a/", 2);
	tar_example_link(&example, LINK, "../../a");
	tar_example_link(&example, "a", target);
	read_whole();
	assert_null(find("elf"));
}

static void devices_holes_and_strangers_are_left_out(void **state)
{
	(void)state;
	tar_example_header(&example, "a/" ID "/elf", '3', "", 0);
	tar_example_header(&example, "b/" ID "/elf", 'S', "", 0);
	tar_example_header(&example, "c/" ID "/elf", 'M', "", 0);
	tar_example_header(&example, "d/" ID "/elf", '1', "later", 0);
	tar_example_file(&example, "later", "");
	read_whole();
	assert_null(find("elf"));
	notes_are(
		(const char *const[]) {
			"byte 512: 1 member left out: stored with holes (tar --sparse)",
			"byte 0: 1 member left out: a device or a FIFO",
			"byte 1024: 1 member left out: of an unknown type",
			"byte 1536: 1 member left out: a hard link to nothing before it",
			"holds no file that is named by a build-id" },
		5);
}

static void a_size_that_nobody_has_room_for_is_left_out(void **state)
{
	(void)state;
	tar_example_file(&example, "a/" ID "/elf", "program");
	tar_example_header(&example, "b/" ID "/elf", '0', "", UINT64_C(1) << 62);
	assert_int_equal(read_example(), TL_OK);
	finds("elf", "x.tar:a/" ID "/elf", "program");
	notes_are(
		(const char *const[]) {
			"byte 1536: the archive ends inside the member of byte 1024: "
			"4611686018427387904 bytes are missing; the members before it are used",
			"byte 1024: 1 member left out: no room (16 GiB at most, and half of "
			"what is free in TMPDIR)" },
		2);
}

static void a_size_that_is_not_there_takes_no_room(void **state)
{
	(void)state;
	tar_example_header(&example, "b/" ID "/elf", '0', "", 1 << 30);
	tar_example_block(&example);
	assert_int_equal(read_example(), TL_OK);
	assert_null(find("elf"));
	notes_are(
		(const char *const[]) {
			"byte 1024: the archive ends inside the member of byte 0: 1073741312 "
			"bytes are missing; the members before it are used",
			"holds no file that is named by a build-id" },
		2);
}

static void members_before_damage_are_used(void **state)
{
	(void)state;
	tar_example_file(&example, "a/" ID "/elf", "program");
	tar_example_header(&example, "b", '0', "", 0)[5] = 'x';
	assert_int_equal(read_example(), TL_OK);
	finds("elf", "x.tar:a/" ID "/elf", "program");
	note_is("byte 1024: expected the header of a tar member, found a block whose checksum is "
		"wrong; the members before it are used");
}

static void what_is_no_archive_is_refused(void **state)
{
	char other[512] = "PERFILE2 is no tar archive";

	(void)state;
	tar_example_data(&example, other, sizeof(other));
	assert_int_equal(read_example(), TL_FORMAT);
	assert_non_null(strstr(err.text, "is no tar archive"));
	assert_null(archive);
}

static void an_archive_of_other_things_is_told(void **state)
{
	(void)state;
	tar_example_file(&example, "perf.data", "PERFILE2");
	read_whole();
	note_is("holds no file that is named by a build-id");
}

static void of_one_build_id_a_bounded_number_is_looked_at(void **state)
{
	int64_t at = TL_ARCHIVE_FIRST;
	int count = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		char name[100];

		snprintf(name, sizeof(name), "%d/" ID "/elf", i);
		tar_example_file(&example, name, "");
	}
	read_whole();
	while (tl_archive_find(archive, ID, "elf", &at))
		count++;
	assert_int_equal(count, 64);
	note_is("byte 32768: 936 members left out: beyond the first 64 of one build-id");
}

static void no_file_is_left_behind(void **state)
{
	char directory[] = "/tmp/traceloom-archive-XXXXXX";
	struct dirent *entry;
	int count = 0;
	DIR *dir;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(setenv("TMPDIR", directory, 1), 0);
	tar_example_file(&example, "a/" ID "/elf", "program");
	read_whole();
	unsetenv("TMPDIR");
	dir = opendir(directory);
	while ((entry = readdir(dir))) /* none while it is open, either */
		count += entry->d_name[0] != '.';
	closedir(dir);
	assert_int_equal(count, 0);
	assert_int_equal(rmdir(directory), 0);
	finds("elf", "x.tar:a/" ID "/elf", "program");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_link_leads_to_the_directory_of_a_program),
		TEST(a_link_of_old_perf_leads_to_the_program_itself),
		TEST(a_file_may_stand_where_the_link_would),
		TEST(links_may_lead_to_names_without_a_build_id),
		TEST(the_cache_may_lie_below_other_directories),
		TEST(without_the_links_directories_are_enough),
		TEST(a_link_that_became_text_is_followed),
		TEST(a_hard_link_is_what_it_names),
		TEST(a_hard_link_to_a_link_leads_where_that_does),
		TEST(what_was_packed_twice_is_kept),
		TEST(the_later_of_two_members_of_one_name_counts),
		TEST(all_files_of_a_build_id_are_found),
		TEST(another_build_id_finds_nothing),
		TEST(names_that_lead_elsewhere_are_left_out),
		TEST(links_out_of_the_archive_lead_nowhere),
		TEST(links_in_a_circle_lead_nowhere),
		TEST(a_link_that_grows_as_it_is_followed_leads_nowhere),
		TEST(devices_holes_and_strangers_are_left_out),
		TEST(a_size_that_nobody_has_room_for_is_left_out),
		TEST(a_size_that_is_not_there_takes_no_room),
		TEST(members_before_damage_are_used),
		TEST(what_is_no_archive_is_refused),
		TEST(an_archive_of_other_things_is_told),
		TEST(of_one_build_id_a_bounded_number_is_looked_at),
		TEST(no_file_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
