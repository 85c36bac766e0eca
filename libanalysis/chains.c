/*
 * chains.c - interning of frames and of prefix tree nodes.
 */
#include "chains.h"

#include <stdlib.h>
#include <string.h>

static bool same_frame(const struct tl_chain_frame *a, const struct tl_chain_frame *b)
{
	return a->address == b->address && a->dso == b->dso && a->symbol == b->symbol &&
	       a->line == b->line && a->context == b->context;
}

int tl_chains_frame(struct tl_chains *chains, const struct tl_chain_frame *frame, uint32_t *id,
		    struct tl_error *err)
{
	uint64_t hash = tl_hash_u64(frame->address, (uint64_t)frame->dso << 32 | frame->symbol);
	size_t probe = 0;
	int64_t found;
	int ret;

	hash = tl_hash_u64(hash, (uint64_t)frame->line << 8 | frame->context);
	while ((found = tl_index_find(&chains->frame_index, hash, &probe)) >= 0) {
		if (same_frame(&chains->frames[found], frame)) {
			*id = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&chains->frames, &chains->frame_capacity, chains->frame_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&chains->frame_index, hash, (uint32_t)chains->frame_count, err);
	if (ret < 0)
		return ret;
	*id = (uint32_t)chains->frame_count;
	chains->frames[chains->frame_count++] = *frame;
	return TL_OK;
}

int tl_chains_push(struct tl_chains *chains, uint32_t parent, uint32_t frame, uint32_t *node,
		   struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)parent << 32 | frame, 2);
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&chains->node_index, hash, &probe)) >= 0) {
		const struct tl_chain_node *n = &chains->nodes[found];

		if (n->parent == parent && n->frame == frame) {
			*node = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&chains->nodes, &chains->node_capacity, chains->node_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&chains->node_index, hash, (uint32_t)chains->node_count, err);
	if (ret < 0)
		return ret;
	*node = (uint32_t)chains->node_count;
	chains->nodes[chains->node_count++] = (struct tl_chain_node) {
		.parent = parent,
		.frame = frame,
		.depth = parent == TL_NO_NODE ? 1 : chains->nodes[parent].depth + 1,
	};
	return TL_OK;
}

void tl_chains_release(struct tl_chains *chains)
{
	free(chains->frames);
	free(chains->nodes);
	tl_index_release(&chains->frame_index);
	tl_index_release(&chains->node_index);
	memset(chains, 0, sizeof(*chains));
}
