/*
 * perf_payload.h - the bytes of a tracepoint hit to JSON, by a small program made once per format;
 * and the dictionary that gives equal payloads one number.
 *
 * Private to perf_tracepoint.c. Knows neither libtraceevent nor which tracepoint it is.
 */
#ifndef PERF_PAYLOAD_H
#define PERF_PAYLOAD_H

#include "perf_print_format.h"

enum perf_field_kind {
	PERF_FIELD_INTEGER,   /* of 1, 2, 4 or 8 bytes */
	PERF_FIELD_TEXT,      /* up to the first NUL */
	PERF_FIELD_ARRAY,     /* of integers */
	PERF_FIELD_BYTES,     /* in hex */
	PERF_FIELD_REST_TEXT, /* from offset to the end of the payload */
	PERF_FIELD_REST_BYTES
};

struct perf_field {
	enum perf_field_kind kind;
	bool is_signed;
	bool is_dynamic;  /* at offset stands where it is: __data_loc */
	bool is_relative; /* ... counted from the end of this field: __rel_loc */
	uint32_t offset, size;
	uint32_t element_size;		   /* ARRAY */
	uint32_t shown_first, shown_count; /* in perf_program.shown */
	char *key;			   /* "\"name\":" */
};

/* How one format's payloads are read. */
struct perf_program {
	struct perf_field *fields;
	size_t field_count;
	struct perf_shown {
		uint32_t index; /* in print_format */
		char *key;	/* ",\"name_name\":" */
	} * shown;		/* sorted by field */
	size_t shown_count;
	struct perf_print_format *print_format;
	uint32_t header_size;  /* of the common fields */
	uint32_t minimum_size; /* all fields end by then */
	bool is_big_endian;
};

void perf_program_release(struct perf_program *program);

/* `size` (1, 2, 4, 8) bytes at `data` as a number. */
uint64_t perf_load(const uint8_t *data, uint32_t size, bool is_signed, bool is_big_endian);

/*
 * The JSON object of a payload; `scratch` is for names. False if a field ends outside: then `out`
 * holds nothing of use.
 */
bool perf_program_run(const struct perf_program *program, const uint8_t *raw, size_t len,
		      struct tl_text *scratch, struct tl_text *out);
/* {"raw":"<hex>"} */
void perf_payload_raw(const uint8_t *raw, size_t len, struct tl_text *out);

/*
 * Numbers distinct payloads. Bounded: when full it forgets all and goes on with fresh numbers, so
 * that a payload may get a second one.
 */
struct perf_dictionary {
	struct tl_index index;
	struct perf_dictionary_entry {
		uint64_t key;
		uint32_t id, offset, length;
	} * entries;
	size_t count, capacity;
	uint8_t *bytes;
	size_t used, size;
	uint64_t next_key;
};
/* 1: new, 0: met before, negative: no memory. */
int perf_dictionary_find(struct perf_dictionary *d, uint32_t id, const uint8_t *data, size_t len,
			 uint64_t *key, struct tl_error *err);
void perf_dictionary_release(struct perf_dictionary *d);

#endif
