/*
 * archive.h - private: a build-id cache that is packed into a tar archive, as `perf archive` does. Its
 * files lie in a spool without a name, one behind the other; nothing is ever written under a name
 * that the archive chose, and links are followed inside the archive only.
 */
#ifndef TL_ARCHIVE_H
#define TL_ARCHIVE_H

#include "reader.h"

struct tl_archive_file {
	const char *name; /* "archive.tar.bz2:member", for people; lives as long as the archive */
	int fd;		  /* of the spool */
	uint64_t offset;  /* in it; a multiple of the page size */
	uint64_t size;
};

/* As tl_archive_open, from an input, which is borrowed until this returns. */
int tl_archive_read(struct tl_archive **out, struct tl_input *in, tl_progress_fn progress,
		    void *progress_payload, struct tl_error *err);
/*
 * The next file of a build-id, in hexadecimal, that is named `leaf` ("elf", "debug", ...) or by the
 * build-id alone; NULL when there are no more. *at says where to go on; it starts as below.
 */
#define TL_ARCHIVE_FIRST INT64_C(-2)
const struct tl_archive_file *tl_archive_find(const struct tl_archive *archive, const char *id,
					      const char *leaf, int64_t *at);

#endif
