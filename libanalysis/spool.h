/*
 * spool.h - private: a temporary file without a name, in $TMPDIR. Nobody else can find it, and it is
 * gone when it is closed, however the process ends.
 */
#ifndef TL_SPOOL_H
#define TL_SPOOL_H

#include "analysis.h"

int tl_spool_open(struct tl_error *err); /* a descriptor, or <0 */
int tl_spool_write(int fd, uint64_t offset, const void *data, size_t len, struct tl_error *err);
int tl_spool_read(int fd, uint64_t offset, void *out, size_t len, struct tl_error *err);
/* Bytes that the file system of the spool has left; UINT64_MAX: unknown. */
uint64_t tl_spool_room(int fd);

#endif
