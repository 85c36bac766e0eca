/*
 * tar.h - private: the members of a tar archive one after the other, as an input streams them.
 * ustar, the older form without a magic, GNU long names, pax paths and sizes.
 */
#ifndef TL_TAR_H
#define TL_TAR_H

#include "reader.h"

enum tl_tar_kind {
	TL_TAR_FILE,
	TL_TAR_HARD_LINK, /* `link` is another member */
	TL_TAR_LINK,	  /* symbolic */
	TL_TAR_DIRECTORY,
	TL_TAR_SPARSE,	/* a file with holes, packed in a way of its own: data is not the file */
	TL_TAR_SPECIAL, /* device or FIFO */
	TL_TAR_UNKNOWN
};

/* The kind of a member is known by more than one letter; the letter is for messages. */
struct tl_tar_member {
	enum tl_tar_kind kind;
	const char *name, *link; /* as the archive has them; "" none; valid until the next call */
	uint64_t size;		 /* of its data */
	uint64_t offset;	 /* of its header, in the inflated archive */
	char type;
};

struct tl_tar;

/* Does an inflated file that begins so begin with the header of a member? Any form has its checksum. */
bool tl_tar_probe(const uint8_t *head, size_t length);

/* Borrows the input. `progress` may be NULL; it counts members. */
int tl_tar_open(struct tl_tar **out, struct tl_input *in, tl_progress_fn progress,
		void *progress_payload, struct tl_error *err);
void tl_tar_close(struct tl_tar *tar); /* accepts NULL */
/*
 * 1: a member, 0: the end mark; TL_FORMAT: no header where one must be, or the archive ends too
 * early; after that there is nothing more. What was not read of the member before is skipped.
 */
int tl_tar_next(struct tl_tar *tar, struct tl_tar_member *member, struct tl_error *err);
/* The next piece of the member's data, borrowed until the next call; *len 0 behind the last. */
int tl_tar_read(struct tl_tar *tar, const uint8_t **data, size_t *len, struct tl_error *err);

#endif
