/*
 * memory.c - checked growth, arena, hash index, interner, text buffer. Knows nothing of events.
 */
#include "memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY	16
#define ARENA_BLOCK_MIN (16u << 10) /* small cases stay small ... */
#define ARENA_BLOCK_MAX (1u << 20)  /* ... and large ones make few blocks */

static int no_memory(struct tl_error *err, size_t bytes)
{
	return tl_fail(err, TL_NOMEM, "out of memory: %zu bytes wanted", bytes);
}

int tl_grow_(void **array, size_t *capacity, size_t need, size_t item_size, struct tl_error *err)
{
	size_t old = *capacity, next, bytes;
	void *data;

	if (need <= old)
		return TL_OK;
	next = old + old / 2;
	if (next < need)
		next = need;
	if (next < FIRST_CAPACITY)
		next = FIRST_CAPACITY;
	if (__builtin_mul_overflow(next, item_size, &bytes))
		return no_memory(err, SIZE_MAX);
	data = realloc(*array, bytes);
	if (!data)
		return no_memory(err, bytes);
	memset((char *)data + old * item_size, 0, bytes - old * item_size);
	*array = data;
	*capacity = next;
	return TL_OK;
}

void *tl_alloc(size_t count, size_t size, struct tl_error *err)
{
	void *data = calloc(count ? count : 1, size ? size : 1);

	if (!data)
		no_memory(err, count > SIZE_MAX / (size ? size : 1) ? SIZE_MAX : count * size);
	return data;
}

char *tl_strdup_n(const char *text, size_t len, struct tl_error *err)
{
	char *copy = tl_alloc(len + 1, 1, err);

	if (copy && len)
		memcpy(copy, text, len);
	return copy;
}

/* ---- arena ---- */

struct tl_arena_block {
	struct tl_arena_block *next;
	max_align_t data[];
};

void *tl_arena_alloc(struct tl_arena *arena, size_t size, struct tl_error *err)
{
	size_t rounded;
	void *result;

	if (size > SIZE_MAX / 2) {
		no_memory(err, size);
		return NULL;
	}
	rounded = (size + 7) & ~(size_t)7;
	if (!arena->head || arena->size - arena->used < rounded) {
		size_t block = arena->total < ARENA_BLOCK_MIN	? ARENA_BLOCK_MIN
			       : arena->total < ARENA_BLOCK_MAX ? arena->total
								: ARENA_BLOCK_MAX;
		struct tl_arena_block *head;

		if (block < rounded)
			block = rounded;
		head = malloc(sizeof(*head) + block);
		if (!head) {
			no_memory(err, block);
			return NULL;
		}
		head->next = arena->head;
		arena->head = head;
		arena->used = 0;
		arena->size = block;
		arena->total += block;
	}
	result = (char *)arena->head->data + arena->used;
	arena->used += rounded;
	return result;
}

char *tl_arena_copy(struct tl_arena *arena, const char *text, size_t len, struct tl_error *err)
{
	char *copy = tl_arena_alloc(arena, len + 1, err);

	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void tl_arena_release(struct tl_arena *arena)
{
	struct tl_arena_block *block = arena->head;

	while (block) {
		struct tl_arena_block *next = block->next;

		free(block);
		block = next;
	}
	memset(arena, 0, sizeof(*arena));
}

/* ---- hash ---- */

static inline uint64_t load64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	/* a 64 x 64 -> 128 bit product spreads every input bit; __int128 is a gcc/clang extension */
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t tl_hash(const void *data, size_t len, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ 0x9e3779b97f4a7c15u ^ len * 0xc2b2ae3d27d4eb4fu;
	uint64_t tail = 0;

	for (; len >= 16; p += 16, len -= 16)
		h = mix(load64(p) ^ h, load64(p + 8) ^ 0xe7037ed1a0b428dbu);
	if (len >= 8) {
		h = mix(load64(p) ^ h, 0x8ebc6af09c88c6e3u);
		p += 8;
		len -= 8;
	}
	if (len)
		memcpy(&tail, p, len);
	return mix(h ^ tail, 0x589965cc75374cc3u ^ h >> 32);
}

/* ---- index ---- */

int64_t tl_index_find(const struct tl_index *index, uint64_t hash, size_t *probe)
{
	size_t mask = index->capacity - 1;

	if (!index->capacity)
		return -1;
	while (*probe < index->capacity) {
		const struct tl_index_slot *slot = &index->slots[(hash + *probe) & mask];

		if (!slot->index_plus_1)
			return -1;
		++*probe;
		if (slot->hash == hash)
			return slot->index_plus_1 - 1;
	}
	return -1;
}

static void insert_slot(struct tl_index *index, uint64_t hash, uint32_t index_plus_1)
{
	size_t mask = index->capacity - 1, at = hash & mask;

	while (index->slots[at].index_plus_1)
		at = (at + 1) & mask;
	index->slots[at].hash = hash;
	index->slots[at].index_plus_1 = index_plus_1;
}

int tl_index_add(struct tl_index *index, uint64_t hash, uint32_t value, struct tl_error *err)
{
	if ((index->count + 1) * 10 > index->capacity * 7) {
		size_t next = index->capacity ? index->capacity * 2 : 64;
		struct tl_index_slot *old = index->slots;
		size_t old_capacity = index->capacity;
		struct tl_index_slot *slots = tl_alloc(next, sizeof(*slots), err);

		if (!slots)
			return TL_NOMEM;
		index->slots = slots;
		index->capacity = next;
		for (size_t i = 0; i < old_capacity; i++)
			if (old[i].index_plus_1)
				insert_slot(index, old[i].hash, old[i].index_plus_1);
		free(old);
	}
	if (value == UINT32_MAX)
		return tl_fail(err, TL_NOMEM, "more than 4294967295 distinct items");
	insert_slot(index, hash, value + 1);
	index->count++;
	return TL_OK;
}

void tl_index_release(struct tl_index *index)
{
	free(index->slots);
	memset(index, 0, sizeof(*index));
}

/* ---- interner ---- */

/* Told by length and ends: cheaper than a hash of all, and often enough right. */
static size_t memo_slot(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	uint64_t head = 0, tail = 0;

	if (len >= 8) {
		head = load64(p);
		tail = load64(p + len - 8);
	} else if (len) {
		memcpy(&head, p, len);
	}
	return (size_t)(mix(head ^ len * 0x9e3779b97f4a7c15u, tail ^ 0xe7037ed1a0b428dbu) %
			TL_INTERNER_MEMO);
}

/* By the index alone. */
static bool find_interned(const struct tl_interner *in, uint64_t hash, const char *text, size_t len,
			  uint32_t *id)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&in->index, hash, &probe)) >= 0) {
		const struct tl_interned *s = &in->strings[found];

		if (s->length == len && !memcmp(s->text, text, len)) {
			*id = (uint32_t)found;
			return true;
		}
	}
	return false;
}

bool tl_interned(const struct tl_interner *in, const char *text, size_t len, uint32_t *id)
{
	return find_interned(in, tl_hash(text, len, 0), text, len, id);
}

/* By the index; added if need be. */
static int intern_indexed(struct tl_interner *in, const char *text, size_t len, uint32_t *id,
			  struct tl_error *err)
{
	uint64_t hash = tl_hash(text, len, 0);
	char *copy;
	int ret;

	if (find_interned(in, hash, text, len, id))
		return TL_OK;
	if (len >= UINT32_MAX)
		return tl_fail(err, TL_UNSUPPORTED, "a string of %zu bytes", len);
	ret = tl_grow(&in->strings, &in->capacity, in->count + 1, err);
	if (ret < 0)
		return ret;
	copy = tl_arena_copy(&in->arena, text, len, err);
	if (!copy)
		return TL_NOMEM;
	ret = tl_index_add(&in->index, hash, (uint32_t)in->count, err);
	if (ret < 0)
		return ret;
	in->strings[in->count].text = copy;
	in->strings[in->count].length = (uint32_t)len;
	*id = (uint32_t)in->count++;
	return TL_OK;
}

int tl_intern(struct tl_interner *in, const char *text, size_t len, uint32_t *id,
	      struct tl_error *err)
{
	uint32_t *memo = &in->memo[memo_slot(text, len)];
	int ret;

	if (*memo) {
		const struct tl_interned *s = &in->strings[*memo - 1];

		if (s->length == len && !memcmp(s->text, text, len)) {
			*id = *memo - 1;
			return TL_OK;
		}
	}
	ret = intern_indexed(in, text, len, id, err);
	if (ret == TL_OK)
		*memo = *id + 1;
	return ret;
}

void tl_interner_release(struct tl_interner *in)
{
	tl_arena_release(&in->arena);
	tl_index_release(&in->index);
	free(in->strings);
	memset(in, 0, sizeof(*in));
}

/* ---- text ---- */

static bool text_room(struct tl_text *t, size_t more)
{
	size_t need;

	if (t->failed)
		return false;
	if (__builtin_add_overflow(t->length, more, &need) ||
	    __builtin_add_overflow(need, 1, &need) ||
	    tl_grow_((void **)&t->data, &t->capacity, need, 1, NULL) < 0) {
		t->failed = true;
		return false;
	}
	return true;
}

void tl_text_add(struct tl_text *t, const char *text, size_t len)
{
	if (!text_room(t, len))
		return;
	if (len)
		memcpy(t->data + t->length, text, len);
	t->length += len;
	t->data[t->length] = '\0';
}

void tl_text_puts(struct tl_text *t, const char *text)
{
	tl_text_add(t, text, strlen(text));
}

void tl_text_printf(struct tl_text *t, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0 || !text_room(t, (size_t)len))
		return;
	va_start(args, fmt);
	vsnprintf(t->data + t->length, (size_t)len + 1, fmt, args);
	va_end(args);
	t->length += (size_t)len;
}

void tl_text_u64(struct tl_text *t, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	tl_text_add(t, digits + at, sizeof(digits) - at);
}

void tl_text_i64(struct tl_text *t, int64_t value)
{
	if (value < 0)
		tl_text_add(t, "-", 1);
	tl_text_u64(t, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void tl_text_json(struct tl_text *t, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t plain = 0; /* start of the run that needs no escape */

	tl_text_add(t, "\"", 1);
	for (size_t at = 0; at < len;) {
		size_t n = tl_utf8_length(text + at, len - at);

		if (n > 1 || (n == 1 && p[at] >= 0x20 && p[at] != '"' && p[at] != '\\')) {
			at += n;
			continue;
		}
		tl_text_add(t, text + plain, at - plain);
		if (!n)
			tl_text_add(t, "\xef\xbf\xbd", 3);
		else if (p[at] == '"' || p[at] == '\\')
			tl_text_printf(t, "\\%c", p[at]);
		else if (p[at] == '\n')
			tl_text_add(t, "\\n", 2);
		else if (p[at] == '\t')
			tl_text_add(t, "\\t", 2);
		else
			tl_text_printf(t, "\\u%04x", p[at]);
		plain = ++at;
	}
	tl_text_add(t, text + plain, len - plain);
	tl_text_add(t, "\"", 1);
}

void tl_text_release(struct tl_text *t)
{
	free(t->data);
	memset(t, 0, sizeof(*t));
}
