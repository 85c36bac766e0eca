/*
 * captured.h - a folder that scripts/capture.sh recorded, as the walk through directories sees it.
 */
#ifndef CAPTURED_H
#define CAPTURED_H

#include "formats.h"
#include "pid_map.h"

struct captured {
	struct tl_capture capture;
	char *path, *cache; /* the folder; perf's build-id cache in it, NULL: none */
	/* from the numbers that the recorded processes have inside their containers; empty where they are
	 * in none */
	struct tl_pid_map pid_map;
};

/* 1: it is one; 0: it is a mere folder; < 0: failure. A manifest that is damaged makes none. */
int captured_open(struct captured *c, const char *path, struct tl_error *err);
void captured_close(struct captured *c);

/* Files, and directories that hold nothing else, for people or for names. `c` NULL: none are. */
bool captured_is_for_people(const struct captured *c, const char *entry);
/* The map for a file of the folder that the job itself wrote, which knows only its own numbers; or NULL. */
struct tl_pid_map *captured_pid_map(struct captured *c, const struct tl_importer *importer,
				    const char *path);
/* What local time is ahead of UTC in a file that the job itself wrote; false where that is not known. */
bool captured_timezone(const struct captured *c, const char *path, int64_t *ahead_ns);
/* Tells the sink of which machine a file of the folder is, as far as it does not say so itself. */
int captured_tell_host(const struct captured *c, const struct tl_importer *importer,
		       const char *path, struct tl_sink *sink, struct tl_error *err);

#endif
