/*
 * formats.h - the table of importers, and finding the one for a file. Everything else about a
 * format is private to its own files.
 */
#ifndef TL_FORMATS_H
#define TL_FORMATS_H

#include "analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The importer that is surest of the first bytes (4 KiB or all there is, decompressed), or NULL
 * when none knows them.
 */
const struct tl_importer *tl_importer_probe(const uint8_t *head, size_t len);

/* All importers, ended by NULL. */
extern const struct tl_importer *const tl_importers[];

/* ---- a folder that scripts/capture.sh recorded ------------------------------------------------ */

/* What the manifest says of one file of the folder; `path` is below it, and leads nowhere else. */
struct tl_capture_file {
	const char *role; /* clocks, system, perf, strace, dmesg, added, ...; see capture.sh */
	const char *path;
	bool is_recording; /* to be imported: the others are for people, or for naming addresses */
};

/* Facts of the machine that files of the folder do not repeat; NULL where it does not say. */
struct tl_capture {
	const char *hostname, *os_release, *arch, *boot_id;
	const char *timezone; /* of the job: what its local time is ahead of UTC, "+0800" */
	struct tl_capture_file *files;
	size_t file_count;
	void *memory;
};

/* Of an open manifest; TL_FORMAT when it is none. Release what it returns. */
struct tl_input;
int tl_capture_load(struct tl_input *manifest, struct tl_capture *out, struct tl_error *err);
void tl_capture_release(struct tl_capture *capture);

#ifdef __cplusplus
}
#endif
#endif
