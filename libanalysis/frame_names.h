/*
 * frame_names.h - private: the frames of a case as folded text: each is named once, and frames that
 * read the same share their text. Knows no chains.
 */
#ifndef TL_FRAME_NAMES_H
#define TL_FRAME_NAMES_H

#include "folded_text.h"
#include "store.h"

struct tl_frame_names;

struct tl_frame_options {
	struct tl_folded_rules rules;
	bool user_only, kernel_only, show_inlined;
};

int tl_frame_names_open(struct tl_frame_names **out, struct tl_store *store,
			const struct tl_frame_options *opt, struct tl_error *err);
void tl_frame_names_close(struct tl_frame_names *names); /* accepts NULL */

/* Reads all frames in one pass: for those who want most of them. */
int tl_frame_names_load(struct tl_frame_names *names, struct tl_error *err);
/*
 * The texts of a frame, outermost first, as numbers of tl_frame_text: none if it is not wanted or
 * dropped by the rules, more than one with inlined functions. Borrowed until the next call.
 * *is_marker: it is no frame but a context marker that nobody knows, as garbage in a chain looks.
 */
int tl_frame_names_path(struct tl_frame_names *names, int64_t frame_id, bool is_java,
			const uint32_t **path, size_t *count, bool *is_marker,
			struct tl_error *err);
const struct tl_interned *tl_frame_text(const struct tl_frame_names *names, uint32_t text);
size_t tl_frame_text_count(const struct tl_frame_names *names);
/* The frame as it is recorded; borrowed until close. */
int tl_frame_names_describe(struct tl_frame_names *names, int64_t frame_id,
			    struct tl_folded_frame *out, struct tl_error *err);

#endif
