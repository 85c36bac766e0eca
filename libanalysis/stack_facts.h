/*
 * stack_facts.h - private: what stacks of a case say, read when they are asked for, each frame once:
 * why time passes there (wait_reasons.h), the system call, the functions.
 */
#ifndef TL_STACK_FACTS_H
#define TL_STACK_FACTS_H

#include "wait_reasons.h"

struct tl_stack_facts {
	struct tl_chain_traits traits;
	bool is_kernel;	   /* the innermost frame is the kernel's */
	bool is_short;	   /* allocating when memory is short: the slow path of the allocator */
	bool is_named;	   /* some frame of the kernel has a name */
	uint32_t call;	   /* name of the system call it is in + 1, 0: none */
	uint32_t function; /* innermost function + 1, 0 unknown */
	uint32_t blocked;  /* innermost one that is none of the scheduler's + 1 */
};

struct tl_stacks;

int tl_stacks_open(struct tl_stacks **out, struct tl_store *store, struct tl_error *err);
void tl_stacks_close(struct tl_stacks *stacks); /* accepts NULL */
/* Of a row of table stack; all zero for 0. */
int tl_stacks_facts(struct tl_stacks *stacks, int64_t stack_id, struct tl_stack_facts *facts,
		    struct tl_error *err);
/* Text of call - 1, function - 1 or blocked - 1; borrowed until close. */
const char *tl_stack_name(const struct tl_stacks *stacks, uint32_t name);

#endif
