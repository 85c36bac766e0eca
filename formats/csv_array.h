/*
 * csv_array.h - the objects of a JSON array, one after another, in bounded memory.
 */
#ifndef CSV_ARRAY_H
#define CSV_ARRAY_H

#include "memory.h"
#include "reader.h"

/* All zero at first, but for the line that the array begins in. */
struct csv_array {
	struct tl_line line;
	size_t at;		 /* in the line */
	struct tl_text object;	 /* its line breaks are blanks */
	bool is_cut;		 /* the file ended inside an object */
	uint64_t too_long;	 /* objects left out for their size */
	uint64_t first_too_long; /* the line it began in */
};

/* 1: array->object is the next one, which began in line *number; 0: there is none; negative. */
int csv_array_next(struct csv_array *array, struct tl_input *in, uint64_t *number,
		   struct tl_error *err);
/* Bytes of the object that `text` begins with; 0: its end is not there. */
size_t csv_array_object_length(const char *text, size_t len);
void csv_array_release(struct csv_array *array);

#endif
