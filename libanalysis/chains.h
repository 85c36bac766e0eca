/*
 * chains.h - private: distinct frames, and call chains as a prefix tree, numbered from 0 in the
 * order met. Their memory grows with what is distinct, never with the number of samples.
 */
#ifndef TL_CHAINS_H
#define TL_CHAINS_H

#include "memory.h"

#define TL_NO_NODE UINT32_MAX

struct tl_chain_frame {
	uint64_t address; /* offset in the DSO, or the ip where there is none */
	uint32_t dso;	  /* the caller's number; UINT32_MAX: nothing mapped */
	uint32_t symbol; /* interned name, where the source gave one; UINT32_MAX: to be looked up */
	uint32_t line;	 /* interned file:line; UINT32_MAX none */
	uint8_t context; /* enum tl_context */
};

struct tl_chain_node {
	uint32_t parent; /* TL_NO_NODE for the outermost frame */
	uint32_t frame;
	uint32_t depth; /* from 1 */
};

struct tl_chains {
	struct tl_chain_frame *frames;
	size_t frame_count, frame_capacity;
	struct tl_index frame_index;
	struct tl_chain_node *nodes;
	size_t node_count, node_capacity;
	struct tl_index node_index;
};

int tl_chains_frame(struct tl_chains *chains, const struct tl_chain_frame *frame, uint32_t *id,
		    struct tl_error *err);
/* The chain that goes on from `parent` into `frame`. */
int tl_chains_push(struct tl_chains *chains, uint32_t parent, uint32_t frame, uint32_t *node,
		   struct tl_error *err);
void tl_chains_release(struct tl_chains *chains);

#endif
