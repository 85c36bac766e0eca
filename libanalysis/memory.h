/*
 * memory.h - private: checked growth of arrays, an arena for strings, hash maps and the hash
 * itself. Allocation failure is TL_NOMEM like any other error.
 */
#ifndef TL_MEMORY_H
#define TL_MEMORY_H

#include "analysis.h"

/*
 * Makes room for `need` items of `item_size` in *array, growing by half; *capacity in items.
 * New items are zeroed.
 */
int tl_grow_(void **array, size_t *capacity, size_t need, size_t item_size, struct tl_error *err);
#define tl_grow(array, capacity, need, err) \
	tl_grow_((void **)(array), (capacity), (need), sizeof(**(array)), (err))

/* Zeroed; NULL with err filled when there is no memory. */
void *tl_alloc(size_t count, size_t size, struct tl_error *err);
char *tl_strdup_n(const char *text, size_t len, struct tl_error *err);

/* Bump allocator: freed all at once. */
struct tl_arena {
	struct tl_arena_block *head;
	size_t used, size; /* of the head block */
	size_t total;	   /* bytes of all blocks */
};
void *tl_arena_alloc(struct tl_arena *arena, size_t size, struct tl_error *err); /* 8-aligned */
char *tl_arena_copy(struct tl_arena *arena, const char *text, size_t len,
		    struct tl_error *err); /* terminated */
void tl_arena_release(struct tl_arena *arena);

/* 64-bit hash of bytes, the same on every machine of one byte order. */
uint64_t tl_hash(const void *data, size_t len, uint64_t seed);
static inline uint64_t tl_hash_u64(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/*
 * Open-addressing map from a 64-bit hash to a 32-bit index of the caller's own array; the caller
 * compares keys. Slots hold (hash, index + 1).
 */
struct tl_index {
	struct tl_index_slot {
		uint64_t hash;
		uint32_t index_plus_1;
	} * slots;
	size_t capacity, count; /* capacity is a power of two, or 0 */
};
/* Iterates candidates of a hash: start with *probe = 0; returns the index or -1 when none is left. */
int64_t tl_index_find(const struct tl_index *index, uint64_t hash, size_t *probe);
int tl_index_add(struct tl_index *index, uint64_t hash, uint32_t value, struct tl_error *err);
void tl_index_release(struct tl_index *index);

/* Interned strings: equal text, equal number; numbers from 0 in the order met. */
#define TL_INTERNER_MEMO 1024
struct tl_interner {
	uint32_t memo[TL_INTERNER_MEMO]; /* a number + 1 met lately, by the ends of its text */
	struct tl_arena arena;
	struct tl_index index;
	struct tl_interned {
		const char *text; /* terminated, may hold NULs */
		uint32_t length;
	} * strings;
	size_t count, capacity;
};
int tl_intern(struct tl_interner *in, const char *text, size_t len, uint32_t *id,
	      struct tl_error *err);
/* Is it interned already? */
bool tl_interned(const struct tl_interner *in, const char *text, size_t len, uint32_t *id);
void tl_interner_release(struct tl_interner *in);

/* Growing text buffer; append functions do nothing after a failure, check at the end. */
struct tl_text {
	char *data; /* terminated when length > 0 */
	size_t length, capacity;
	bool failed; /* out of memory */
};
void tl_text_add(struct tl_text *t, const char *text, size_t len);
void tl_text_puts(struct tl_text *t, const char *text);
void tl_text_printf(struct tl_text *t, const char *fmt, ...) TL_PRINTF(2, 3);
void tl_text_u64(struct tl_text *t, uint64_t value);
void tl_text_i64(struct tl_text *t, int64_t value);
/* A JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void tl_text_json(struct tl_text *t, const char *text, size_t len);
void tl_text_release(struct tl_text *t);

#endif
