/*
 * call_numbers.h - private to the toolkit: names of system calls, of their errors and of what they
 * operate with, by number, which is all that some recordings tell.
 */
#ifndef TL_CALL_NUMBERS_H
#define TL_CALL_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The name of a system call, not terminated; NULL: none is known. `arch` is what uname -m says.
 */
const char *tl_call_number_name(const char *arch, int64_t number, size_t *length);
const char *tl_call_error_name(int64_t number); /* NULL: none is known */
bool tl_call_is_restart(int64_t number);	/* ERESTARTSYS and its like */
/*
 * What a call operates with, as strace prints it: "FUTEX_WAIT_PRIVATE", "F_GETFD"; NULL: that is no
 * number of this call, or has no name. `name` is not terminated.
 */
const char *tl_call_operation_name(const char *name, size_t length, uint64_t operation);

#endif
