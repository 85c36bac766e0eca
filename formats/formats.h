/*
 * formats.h - the table of importers, and finding the one for a file. Everything else about a
 * format is private to its own files.
 */
#ifndef TL_FORMATS_H
#define TL_FORMATS_H

#include "analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The importer that is surest of the first bytes (4 KiB or all there is, decompressed), or NULL
 * when none knows them.
 */
const struct tl_importer *tl_importer_probe(const uint8_t *head, size_t len);

/* All importers, ended by NULL. */
extern const struct tl_importer *const tl_importers[];

#ifdef __cplusplus
}
#endif
#endif
