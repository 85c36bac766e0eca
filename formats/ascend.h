/*
 * ascend.h - the importer of Ascend's profiler traces.
 */
#ifndef ASCEND_H
#define ASCEND_H

#include "analysis.h"

extern const struct tl_importer ascend_importer;

#endif
