/*
 * lives.h - private: which machine each source is of, and which threads of different sources are one.
 * Both are made anew from what each source says, so that neither the order of imports nor a clock
 * that was not known yet has a say in it.
 */
#ifndef TL_LIVES_H
#define TL_LIVES_H

#include "store.h"

/* host_join.c: rows of table host, and source.host_id. Within the caller's transaction. */
int tl_hosts_join(struct tl_store *store, struct tl_error *err);
/* thread_join.c: rows of thread and process from thread_life; rows of others that name them follow. */
int tl_threads_join(struct tl_store *store, struct tl_error *err);

#endif
