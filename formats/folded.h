/*
 * folded.h - the importer of folded stacks as py-spy writes them.
 */
#ifndef FOLDED_H
#define FOLDED_H

#include "analysis.h"

extern const struct tl_importer folded_importer;

#endif
