/*
 * stack_tree.h - private: the call chains of a case as a tree of folded text. Every distinct chain
 * is named once, and chains that read the same share a node. Knows what frames are called, not who
 * ran them.
 */
#ifndef TL_STACK_TREE_H
#define TL_STACK_TREE_H

#include "frame_names.h"

struct tl_stack_tree;

struct tl_tree_options {
	struct tl_frame_options frames;
	uint32_t max_depth;		     /* 0: all; keeps the outermost */
	const char *const *exclude_patterns; /* Perl regular expressions */
	size_t exclude_count;
};

#define TL_TREE_TOP 0u /* no frame */

int tl_tree_open(struct tl_stack_tree **out, struct tl_store *store,
		 const struct tl_tree_options *opt, struct tl_error *err);
void tl_tree_close(struct tl_stack_tree *tree); /* accepts NULL */

/* Names all chains of the case in one pass: for those who want most of them. */
int tl_tree_load(struct tl_stack_tree *tree, bool is_java, struct tl_error *err);
/* `is_java`: compat rules name frames otherwise below a first frame "java...". */
int tl_tree_node(struct tl_stack_tree *tree, int64_t stack_id, bool is_java, uint32_t *node,
		 struct tl_error *err);
/* A frame on the way to the node matches an exclude pattern. */
bool tl_tree_is_excluded(const struct tl_stack_tree *tree, uint32_t node);
/* So does this text. */
bool tl_tree_excludes_text(const struct tl_stack_tree *tree, const char *text);

/* ";outer;inner"; nothing for TL_TREE_TOP. */
void tl_tree_text(struct tl_stack_tree *tree, uint32_t node, struct tl_text *out);
/* ";inner_[w];outer_[w]": the chain of a waker, which meets the sleeper's leaf to leaf. */
void tl_tree_waker_text(const struct tl_stack_tree *tree, uint32_t node, struct tl_text *out);
/* The lines that perf script prints for the chain. */
int tl_tree_script(struct tl_stack_tree *tree, int64_t stack_id, bool has_callchain,
		   struct tl_text *out, struct tl_error *err);

#endif
