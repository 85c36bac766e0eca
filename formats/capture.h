/*
 * capture.h - what the readers of a recorded folder (scripts/capture.sh) share. Each file of the folder
 * is a source of its own; formats.h tells what the manifest says of them.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "analysis.h"
#include "reader.h"

extern const struct tl_importer capture_manifest_importer; /* manifest.json */
extern const struct tl_importer capture_clocks_importer;   /* clocks.txt */
extern const struct tl_importer capture_system_importer;   /* system.log */
extern const struct tl_importer capture_dmesg_importer;	   /* dmesg.txt */

/* A piece of a line; not terminated. */
struct capture_span {
	const char *text;
	size_t length;
};

/* The next word, blanks and tabs left out; of length 0 at the end. Steps over it. */
struct capture_span capture_word(struct capture_span *line);
bool capture_is(struct capture_span span, const char *text);
bool capture_starts(struct capture_span span, const char *text);
/* The whole of it is one integer of 64 bits, or one number. */
bool capture_integer(struct capture_span span, int64_t *value);
bool capture_number(struct capture_span span, double *value);

/*
 * The next whole line: 1, 0 at the end, or a negative status. A last line without its newline was cut:
 * that is told to the sink, and it is not given. Lines that are too long are told, too.
 */
int capture_line(struct tl_input *in, struct tl_line *line, struct tl_sink *sink,
		 struct tl_error *err);

/* Times of the source are those of the wall clock. */
int capture_emit_realtime(struct tl_sink *sink, const char *why, struct tl_error *err);
int capture_emit_note(struct tl_sink *sink, enum tl_diagnostic_kind kind, const char *what,
		      uint64_t line, const char *message, struct tl_error *err);

/* capture_process.c: what /proc/PID/status and numa_maps said, as facts of the source. */
int capture_process(struct tl_input *manifest, const char *path, struct tl_sink *sink,
		    struct tl_error *err);

#endif
